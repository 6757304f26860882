/* The daemon's side of the boxes that hold texts: who waits, what is sent, how a box ends. What
 * comes back is looked at as whatever a stranger wrote is. */
#include "explore/worker.h"

#include "base/channel.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/list.h"
#include "loop/loop.h"
#include "wire/frame.h"
#include "wire/json.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#ifndef P_PIDFD
#define P_PIDFD 3
#endif

/* A text that the process has mapped. */
struct worker_held {
    char key[BLOB_HEX_SIZE]; /* empty: none */
    uint64_t used;           /* number of the request that named it last */
};

/*   started --orders, answers--> … --killed, given up, or ended by itself--> reaped, freed
 * A process that was given up has no worker, and nobody hears of its end. */
struct worker_process {
    struct explore_worker *worker; /* NULL if given up */
    pid_t pid;
    int pidfd, sock; /* sock: -1 once it was given up */
    struct loop_poll *on_end, *on_sock;
    struct frame_reader in;
    struct buf out;
    size_t sent; /* of `out` */
    struct {
        size_t at; /* the byte of `out` with which it goes */
        int fd;
    } attached[EXPLORE_SOURCES_MAX];
    size_t n_attached, n_gone;
    struct worker_held held[EXPLORE_SOURCES_MAX];
};

struct explore_worker {
    uv_loop_t *loop;
    const struct explore_worker_kind *kind;
    struct worker_process *process; /* NULL if none */
    struct explore_ask *current;    /* that the process works on; NULL if none */
    struct list waiting;            /* asks, oldest first */
    size_t n_waiting;
    uint64_t n_asked;
    struct loop_timer *next;  /* begins the next request */
    struct loop_timer *clock; /* of the current request, or of idleness */
};

struct explore_ask {
    struct list node;
    struct explore_worker *worker;
    struct buf frame;
    struct explore_source *sources; /* descriptors of its own */
    size_t n_sources;
    uint64_t limit_ms;
    explore_answer_fn fn; /* NULL if the caller went away */
    void *context;
};

static void worker_free_ask(struct explore_ask *ask)
{
    for (size_t i = 0; i < ask->n_sources; i++)
        cleanup_fd(&ask->sources[i].fd);
    free(ask->sources);
    buf_free(&ask->frame);
    free(ask);
}

/* ---- the process ----------------------------------------------------------------------------- */

static int worker_spawn(const struct explore_worker_kind *kind, int sock, pid_t *ret_pid)
{
    char word[32];
    snprintf(word, sizeof(word), "%s", kind->word);
    char *argv[] = {(char[]){"cella"}, word, NULL};
    char *no_environment[] = {NULL};
    sigset_t all, none;
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigfillset(&all);
    sigemptyset(&none);
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
    posix_spawnattr_setsigdefault(&attributes, &all);
    posix_spawnattr_setsigmask(&attributes, &none);
    int error = posix_spawn_file_actions_adddup2(&actions, sock, STDIN_FILENO);
    for (int fd = STDOUT_FILENO; error == 0 && fd <= STDERR_FILENO; fd++)
        error = posix_spawn_file_actions_addopen(&actions, fd, "/dev/null", O_WRONLY, 0);
    for (int i = 0; error == 0 && kind->has_folders && i < (int)ARRAY_LEN(kind->folders); i++)
        if (kind->folders[i] >= 0)
            error =
                posix_spawn_file_actions_adddup2(&actions, kind->folders[i], STDERR_FILENO + 1 + i);
    if (error == 0)
        error = posix_spawn(ret_pid, "/proc/self/exe", &actions, &attributes, argv, no_environment);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    return -error;
}

static void worker_free_process(void *context)
{
    struct worker_process *p = context;
    cleanup_fd(&p->pidfd);
    frame_reader_free(&p->in);
    buf_free(&p->out);
    free(p);
}

static void worker_close_socket(struct worker_process *p)
{
    loop_poll_close(take_ptr(p->on_sock), NULL);
    if (p->sock >= 0)
        channel_close(take_fd(&p->sock));
    for (; p->n_gone < p->n_attached; p->n_gone++)
        close(p->attached[p->n_gone].fd);
}

static void worker_kill(const struct worker_process *p)
{
    syscall(SYS_pidfd_send_signal, p->pidfd, SIGKILL, NULL, 0);
}

/* From now on the worker has no process; this one ends, and is reaped when it has. */
static void worker_give_up(struct explore_worker *w)
{
    struct worker_process *p = take_ptr(w->process);
    if (p == NULL)
        return;
    p->worker = NULL;
    worker_close_socket(p);
    worker_kill(p);
}

static void worker_on_ended(void *context, int events);
static void worker_on_socket(void *context, int events);

static int worker_start(struct explore_worker *w)
{
    int ends[2];
    pid_t pid;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
        return -errno;
    int error = worker_spawn(w->kind, ends[1], &pid);
    close(ends[1]);
    if (error < 0) {
        close(ends[0]);
        return error;
    }
    struct worker_process *p = mem_alloc(sizeof(*p));
    *p = (struct worker_process){.worker = w,
                                 .pid = pid,
                                 .sock = ends[0],
                                 .in = {.in = BUF_INIT(3 * EXPLORE_ANSWER_MAX)},
                                 .out = BUF_INIT(2 * EXPLORE_REQUEST_MAX)};
    channel_refuse_descriptors(p->sock);
    p->pidfd = (int)syscall(SYS_pidfd_open, pid, 0); /* close-on-exec by itself */
    if (p->pidfd >= 0)
        p->on_end = loop_poll_new(w->loop, p->pidfd, worker_on_ended, p);
    if (p->on_end != NULL)
        p->on_sock = loop_poll_new(w->loop, p->sock, worker_on_socket, p);
    if (p->on_sock == NULL) {
        kill(pid, SIGKILL);
        waitpid(pid, NULL, 0);
        worker_close_socket(p);
        if (p->on_end != NULL)
            loop_poll_close(p->on_end, worker_free_process);
        else
            worker_free_process(p);
        return -EMFILE;
    }
    loop_poll_want(p->on_end, LOOP_READ);
    loop_poll_want(p->on_sock, LOOP_READ);
    w->process = p;
    return 0;
}

/* ---- what is sent ---------------------------------------------------------------------------- */

static struct worker_held *worker_find_held(struct worker_process *p, const char *key)
{
    for (size_t i = 0; i < ARRAY_LEN(p->held); i++)
        if (strcmp(p->held[i].key, key) == 0)
            return &p->held[i];
    return NULL;
}

static void worker_put_order(struct worker_process *p, const char *order, const char *key)
{
    size_t mark = frame_begin(&p->out);
    buf_printf(&p->out, "{\"%s\":\"%s\"}", order, key);
    frame_end(&p->out, mark);
}

/* A place for one more: the least recently used goes, which this request does not name. */
static struct worker_held *worker_make_place(struct worker_process *p)
{
    struct worker_held *oldest = &p->held[0];
    for (size_t i = 0; i < ARRAY_LEN(p->held); i++)
        if (p->held[i].used < oldest->used)
            oldest = &p->held[i];
    if (oldest->key[0] != '\0')
        worker_put_order(p, "drop", oldest->key);
    return oldest;
}

static void worker_put_request(struct explore_worker *w, struct explore_ask *ask)
{
    struct worker_process *p = w->process;
    buf_clear(&p->out);
    p->sent = p->n_attached = p->n_gone = 0;
    w->n_asked++;
    for (size_t i = 0; i < ask->n_sources; i++) {
        struct worker_held *held = worker_find_held(p, ask->sources[i].key);
        if (held != NULL)
            held->used = w->n_asked;
    }
    for (size_t i = 0; i < ask->n_sources; i++) {
        struct explore_source *source = &ask->sources[i];
        if (worker_find_held(p, source->key) != NULL)
            continue;
        struct worker_held *place = worker_make_place(p);
        snprintf(place->key, sizeof(place->key), "%s", source->key);
        place->used = w->n_asked;
        p->attached[p->n_attached].at = p->out.len;
        p->attached[p->n_attached++].fd = take_fd(&source->fd);
        worker_put_order(p, "map", source->key);
    }
    buf_append(&p->out, ask->frame.data, ask->frame.len);
}

/* As much as the socket takes; each descriptor goes with the first byte of its order. */
static int worker_send(struct worker_process *p)
{
    while (p->sent < p->out.len) {
        bool has_fd = p->n_gone < p->n_attached && p->attached[p->n_gone].at == p->sent;
        size_t following = p->n_gone + has_fd;
        size_t until = following < p->n_attached ? p->attached[following].at : p->out.len;
        int fd = has_fd ? p->attached[p->n_gone].fd : -1;
        ssize_t n = fd_send(p->sock, p->out.data + p->sent, until - p->sent, &fd, has_fd);
        if (n < 0)
            return n == -EAGAIN ? 0 : (int)n;
        p->sent += (size_t)n;
        if (has_fd) {
            close(fd);
            p->n_gone++;
        }
    }
    return 0;
}

static void worker_flush(struct worker_process *p)
{
    int error = worker_send(p);
    /* If the process is gone, its end is told in a moment. */
    bool is_waiting = error == 0 && p->sent < p->out.len;
    loop_poll_want(p->on_sock, LOOP_READ | (is_waiting ? LOOP_WRITE : 0));
    if (p->sent == p->out.len)
        buf_free(&p->out);
}

/* ---- how requests end ------------------------------------------------------------------------ */

static void worker_rest(struct explore_worker *w)
{
    loop_timer_clear(w->clock);
    if (!list_is_empty(&w->waiting))
        loop_timer_set(w->next, 0);
    else if (w->process != NULL)
        loop_timer_set(w->clock, clock_scaled_ms(w->kind->idle_ms));
}

/* The last thing that a caller does: the callback may free the worker. */
static void worker_tell(struct explore_worker *w, json_t *result, const struct err *e)
{
    struct explore_ask *ask = take_ptr(w->current);
    worker_rest(w);
    if (ask == NULL)
        return;
    explore_answer_fn fn = ask->fn;
    void *context = ask->context;
    worker_free_ask(ask);
    if (fn != NULL)
        fn(context, result, e);
}

/* The process broke a rule: it goes, and whoever waits for it is told. */
static void worker_break(struct explore_worker *w, const char *how)
{
    struct err e;
    worker_give_up(w);
    err_set(&e, ERR_INTERNAL, "the process that looks into %s %s", w->kind->subject, how);
    err_advise(&e, "Ask again: another one is started.");
    worker_tell(w, NULL, &e);
}

static int worker_describe_end(const struct explore_worker_kind *kind, const siginfo_t *info,
                               struct err *e)
{
    bool is_exit = info->si_code == CLD_EXITED;
    if (is_exit && info->si_status == EXPLORE_END_NO_WALLS) {
        err_set(e, ERR_UNAVAILABLE, "%s cannot be looked into safely on this machine",
                kind->subject);
        return err_advise(e, "It takes %s: cella doctor says what is missing.", kind->walls);
    }
    if (!is_exit && info->si_status == SIGBUS) {
        err_set(e, ERR_CONFLICT, "the text became shorter while it was read, or cannot be read");
        return err_advise(e, "Ask again when nobody writes to it.");
    }
    err_set(e, ERR_UNAVAILABLE, "the process that looks into %s has ended (%s %d)", kind->subject,
            is_exit ? "status" : "signal", info->si_status);
    return err_advise(e, "Ask again: another one is started. %s", kind->ended);
}

/* True if it was an answer, which may be an error that the box found. */
static bool worker_read_answer(struct worker_process *p, const json_t *answer, json_t **ret_result,
                               struct err *e)
{
    json_t *result = json_object_get(answer, "result");
    const json_t *error = json_object_get(answer, "error");
    *ret_result = result;
    if (json_is_object(result))
        return error == NULL;
    const char *message = json_string_value(json_object_get(error, "message"));
    const char *advice = json_string_value(json_object_get(error, "advice"));
    json_int_t code = json_integer_value(json_object_get(error, "code"));
    if (result != NULL || message == NULL || advice == NULL || code <= ERR_NONE ||
        code > ERR_INTERNAL)
        return false;
    err_set(e, (enum err_code)code, "%s", message);
    err_advise(e, "%s", advice);
    if (json_is_true(json_object_get(answer, "is_unmapped")))
        for (size_t i = 0; i < ARRAY_LEN(p->held); i++)
            if (p->held[i].used == p->worker->n_asked)
                p->held[i] = (struct worker_held){0};
    return true;
}

static void worker_on_answer(struct worker_process *p, const char *payload, size_t len)
{
    static const struct json_limits limits = {.depth = 16, .values = JSON_VALUES_MAX};
    struct explore_worker *w = p->worker;
    struct err e;
    _json_ json_t *answer = NULL;
    json_t *result;
    if (w->current == NULL || len > 2 * EXPLORE_ANSWER_MAX || frame_is_partial(&p->in) ||
        json_read_file_object(payload, len, &limits, &answer, &e) < 0 ||
        !worker_read_answer(p, answer, &result, &e)) {
        worker_break(w, "answered without being asked, and was ended");
        return;
    }
    worker_tell(w, result, result != NULL ? NULL : &e);
}

static void worker_on_socket(void *context, int events)
{
    struct worker_process *p = context;
    const char *payload;
    size_t len;
    struct err ignored;
    if (events & LOOP_WRITE)
        worker_flush(p);
    if (!(events & LOOP_READ))
        return;
    ssize_t n = frame_fill(&p->in, p->sock);
    if (n == -EAGAIN)
        return;
    if (n == 0 || n == -ECONNRESET) {
        loop_poll_want(p->on_sock, 0); /* its end is told in a moment */
        worker_kill(p);
        return;
    }
    int is_frame = n < 0 ? -1 : frame_next(&p->in, &payload, &len, &ignored);
    if (is_frame < 0)
        worker_break(p->worker, "broke the protocol, and was ended");
    else if (is_frame > 0)
        worker_on_answer(p, payload, len);
}

static void worker_on_ended(void *context, int events)
{
    struct worker_process *p = context;
    struct explore_worker *w = p->worker;
    struct err e;
    siginfo_t info = {0};
    (void)events;
    if (waitid((idtype_t)P_PIDFD, (id_t)p->pidfd, &info, WEXITED | WNOHANG) < 0 || info.si_pid == 0)
        return;
    worker_close_socket(p);
    loop_poll_close(take_ptr(p->on_end), worker_free_process);
    if (w == NULL)
        return;
    w->process = NULL;
    worker_describe_end(w->kind, &info, &e);
    worker_tell(w, NULL, &e);
}

/* ---- how requests begin ---------------------------------------------------------------------- */

/* Requests are begun from the loop, so that nobody is called back from explore_ask. */
static void worker_on_next(void *context)
{
    struct explore_worker *w = context;
    struct list *first = list_first(&w->waiting);
    if (w->current != NULL || first == NULL)
        return;
    struct explore_ask *ask = CONTAINER_OF(first, struct explore_ask, node);
    list_remove(&ask->node);
    w->n_waiting--;
    w->current = ask;
    int error = w->process == NULL ? worker_start(w) : 0;
    if (error < 0) {
        struct err e;
        err_errno(&e, ERR_UNAVAILABLE, -error, "cannot start a process that looks into %s",
                  w->kind->subject);
        err_advise(&e, "Ask again in a moment.");
        worker_tell(w, NULL, &e);
        return;
    }
    loop_timer_set(w->clock, ask->limit_ms);
    worker_put_request(w, ask);
    worker_flush(w->process);
}

static void worker_on_clock(void *context)
{
    struct explore_worker *w = context;
    struct err e;
    worker_give_up(w);
    if (w->current == NULL)
        return; /* long enough without requests */
    err_set(&e, ERR_TIMEOUT, "looking into %s took longer than %llu ms", w->kind->subject,
            (unsigned long long)w->current->limit_ms);
    err_advise(&e, "%s", w->kind->late);
    worker_tell(w, NULL, &e);
}

/* ---- for others ------------------------------------------------------------------------------ */

struct explore_worker *explore_worker_of(uv_loop_t *loop, const struct explore_worker_kind *kind)
{
    struct explore_worker *w = mem_alloc(sizeof(*w));
    w->loop = loop;
    w->kind = kind;
    list_init(&w->waiting);
    w->next = loop_timer_new(loop, worker_on_next, w);
    w->clock = loop_timer_new(loop, worker_on_clock, w);
    return w;
}

struct explore_worker *explore_worker_new(uv_loop_t *loop)
{
    static const struct explore_worker_kind texts = {
        .word = EXPLORE_BOX_WORD,
        .subject = "texts",
        .walls = "seccomp",
        .late = "Use a simpler pattern or one with a longer literal part, or look into a smaller "
                "text.",
        .ended = "If it ends each time, ask for less: a simpler pattern, or a smaller text.",
        .idle_ms = EXPLORE_IDLE_MS,
    };
    return explore_worker_of(loop, &texts);
}

static void worker_release(void *context)
{
    free(context);
}

void explore_worker_free(struct explore_worker *w)
{
    if (w == NULL)
        return;
    worker_give_up(w);
    if (w->current != NULL)
        worker_free_ask(take_ptr(w->current));
    LIST_EACH(&w->waiting, at)
        worker_free_ask(CONTAINER_OF(at, struct explore_ask, node));
    loop_timer_close(w->next, NULL);
    loop_timer_close(w->clock, worker_release);
}

/* Duplicates of the descriptors: the request may wait, and the process may have to be started
 * again. */
static int worker_take_sources(struct explore_ask *ask, const struct explore_source *sources,
                               size_t n, struct err *e)
{
    ask->sources = mem_alloc((n + 1) * sizeof(*sources));
    for (size_t i = 0; i < n; i++) {
        int fd = fcntl(sources[i].fd, F_DUPFD_CLOEXEC, 0);
        if (fd < 0)
            return err_errno(e, ERR_UNAVAILABLE, errno, "cannot take the text");
        ask->sources[i] = sources[i];
        ask->sources[i].fd = fd;
        ask->n_sources++;
    }
    return 0;
}

static int worker_take_request(struct explore_ask *ask, const json_t *request, struct err *e)
{
    ask->frame = BUF_INIT(EXPLORE_REQUEST_MAX);
    struct json_out o = JSON_OUT(&ask->frame);
    size_t mark = frame_begin(&ask->frame);
    json_put_value(&o, request);
    if (frame_end(&ask->frame, mark))
        return 0;
    err_set(e, ERR_TOO_LARGE, "the request has more than %zu bytes", EXPLORE_REQUEST_MAX);
    return err_advise(e, "Use a shorter pattern.");
}

struct explore_ask *explore_ask(struct explore_worker *w, json_t *request,
                                const struct explore_source *sources, size_t n, uint64_t limit_ms,
                                explore_answer_fn fn, void *context, struct err *e)
{
    _json_ json_t *stolen = request;
    if (n > EXPLORE_SOURCES_MAX) {
        err_set(e, ERR_LIMIT, "a request about %zu texts; %d are allowed", n, EXPLORE_SOURCES_MAX);
        err_advise(e, "Ask about some of them at a time.");
        return NULL;
    }
    if (w->n_waiting + (w->current != NULL) >= EXPLORE_QUEUE_MAX) {
        err_set(e, ERR_LIMIT, "%d requests of this session wait already", EXPLORE_QUEUE_MAX);
        err_advise(e, "Ask again in a moment.");
        return NULL;
    }
    struct explore_ask *ask = mem_alloc(sizeof(*ask));
    *ask = (struct explore_ask){.worker = w, .limit_ms = limit_ms, .fn = fn, .context = context};
    list_init(&ask->node);
    if (worker_take_request(ask, stolen, e) < 0 || worker_take_sources(ask, sources, n, e) < 0) {
        worker_free_ask(ask);
        return NULL;
    }
    list_append(&w->waiting, &ask->node);
    w->n_waiting++;
    if (w->current == NULL) {
        loop_timer_clear(w->clock);
        loop_timer_set(w->next, 0);
    }
    return ask;
}

void explore_ask_forget(struct explore_ask *ask)
{
    if (ask == NULL)
        return;
    struct explore_worker *w = ask->worker;
    ask->fn = NULL;
    if (w->current == ask) {
        worker_give_up(w); /* it may work on it for long */
        worker_tell(w, NULL, NULL);
        return;
    }
    list_remove(&ask->node);
    w->n_waiting--;
    worker_free_ask(ask);
    if (w->current == NULL)
        worker_rest(w); /* else an idle process would have no end */
}

pid_t explore_worker_pid(const struct explore_worker *w)
{
    return w->process != NULL ? w->process->pid : 0;
}
