/* Terminals of sessions, in the daemon. Owns their sockets, and the zygote that starts them. */
#include "session/terminals.h"

#include "base/channel.h"
#include "base/clock.h"
#include "jail/terminal.h"
#include "loop/loop.h"
#include "runtime/denials.h"
#include "runtime/pool.h"
#include "runtime/zygote.h"
#include "session/engine_state.h"
#include "session/session.h"
#include "session/tickets.h"
#include "wire/frame.h"
#include "wire/json.h"

#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <sys/socket.h>

enum {
    TERMINALS_START_MS = 15 * 1000,
    TERMINALS_REST_MS = 2000, /* for the end of the output after that of the program, and back */
    TERMINALS_READ_BYTES = 16 * 1024,
    TERMINALS_OUT_MAX = 256 * 1024,
};

/*   WAITING for the zygote --> ENTERING --its first frame--> OPEN --the program's end--> over */
enum terminal_state { TERMINAL_WAITING, TERMINAL_ENTERING, TERMINAL_IS_OPEN };

struct terminal {
    struct list node; /* in session->terminals.open */
    struct session *session;
    const struct terminal_listener *listener;
    void *context;
    enum terminal_state state;
    uint64_t opened_at_ms;  /* wall clock */
    uint64_t head;          /* its number in the warden; 0: it has no process, or none any more */
    int sock;               /* -1: it has none yet */
    struct loop_poll *poll; /* NULL likewise, or if it shows nothing any more */
    struct loop_timer *timer;
    struct denials *denials;
    struct frame_reader first; /* until it is OPEN */
    int given;                 /* the listener of its filter, until its first frame; or -1 */
    struct buf out;
    bool is_wanted; /* what it shows */
    bool has_status;
    int status;
};

/* What starts them: one for all, from the first on. */
struct terminals_starter {
    struct runtime_zygote zygote;
};

void terminals_init(struct session *session)
{
    list_init(&session->terminals.open);
}

bool terminals_are_open(const struct session *session)
{
    return session->terminals.n_open > 0;
}

static void terminal_move(struct terminal *t, enum terminal_state to)
{
    static const bool is_legal[][TERMINAL_IS_OPEN + 1] = {
        [TERMINAL_WAITING] = {[TERMINAL_ENTERING] = true},
        [TERMINAL_ENTERING] = {[TERMINAL_IS_OPEN] = true},
        [TERMINAL_IS_OPEN] = {0},
    };
    assert(is_legal[t->state][to]);
    t->state = to;
}

/* ---- the end --------------------------------------------------------------------------------- */

/* A process that is left has lost its terminal, which most programs do not survive; the one that
 * the terminal was opened for is ended in any case. */
void terminal_close(struct terminal *t)
{
    if (t == NULL)
        return;
    struct err ignored;
    struct session *session = t->session;
    struct engine *engine = session->engine;
    loop_poll_close(take_ptr(t->poll), NULL);
    if (t->sock >= 0)
        channel_close(take_fd(&t->sock));
    if (t->head != 0) {
        tickets_forget(engine, t->head);
        warden_signal(engine->warden, t->head, SIGKILL, &ignored);
    }
    cleanup_fd(&t->given);
    denials_drop(t->denials);
    loop_timer_close(t->timer, NULL);
    frame_reader_free(&t->first);
    buf_free(&t->out);
    list_remove(&t->node);
    session->terminals.n_open--;
    engine->n_terminals--;
    session_restart_idle(session);
    free(t);
}

static void terminal_end(struct terminal *t, const char *why)
{
    const struct terminal_listener *listener = t->listener;
    void *context = t->context;
    const struct terminal_end end = {
        .has_status = t->has_status && why[0] == '\0', .status = t->status, .why = why};
    terminal_close(t);
    listener->on_ended(context, &end);
}

void terminals_end_since(struct session *session, uint64_t at_ms, const char *why)
{
    LIST_EACH(&session->terminals.open, node) {
        struct terminal *t = CONTAINER_OF(node, struct terminal, node);
        if (t->opened_at_ms >= at_ms)
            terminal_end(t, why);
    }
}

/* Its program and its output end independently of each other; both have to. The socket stays open
 * until then: to close it is to hang up, on a program that may have closed its files and not ended
 * yet. */
static void terminal_settle(struct terminal *t)
{
    bool is_silent = t->poll == NULL;
    if (t->has_status && is_silent)
        terminal_end(t, "");
    else if (t->has_status || is_silent)
        loop_timer_set(t->timer, clock_scaled_ms(TERMINALS_REST_MS));
}

static void terminal_on_timer(void *context)
{
    struct terminal *t = context;
    if (t->has_status && !t->is_wanted)
        loop_timer_set(t->timer, clock_scaled_ms(TERMINALS_REST_MS)); /* its owner is slow */
    else if (t->has_status)
        terminal_end(t, "");
    else
        terminal_end(t, t->state == TERMINAL_IS_OPEN ? "the terminal was closed from inside"
                                                     : "the terminal did not open in time");
}

/* ---- its socket ------------------------------------------------------------------------------ */

static void terminal_want_events(struct terminal *t)
{
    if (t->poll == NULL)
        return;
    bool reads = t->state != TERMINAL_IS_OPEN || t->is_wanted;
    loop_poll_want(t->poll, (reads ? LOOP_READ : 0) | (t->out.len > 0 ? LOOP_WRITE : 0));
}

void terminal_want_output(struct terminal *t, bool is_wanted)
{
    t->is_wanted = is_wanted;
    terminal_want_events(t);
}

static void terminal_flush(struct terminal *t)
{
    size_t sent = 0;
    while (t->sock >= 0 && sent < t->out.len) {
        ssize_t n =
            send(t->sock, t->out.data + sent, t->out.len - sent, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n <= 0)
            break; /* if it is gone the next read tells */
        sent += (size_t)n;
    }
    buf_consume(&t->out, sent);
    terminal_want_events(t);
}

static void terminal_send(struct terminal *t, enum terminal_message_type type, const void *data,
                          size_t len)
{
    const struct terminal_message head = {.type = type, .len = (uint32_t)len};
    if (t->out.len + sizeof(head) + len > TERMINALS_OUT_MAX)
        return; /* its owner was told, by terminal_unsent */
    buf_append(&t->out, &head, sizeof(head));
    buf_append(&t->out, data, len);
    if (t->state == TERMINAL_IS_OPEN)
        terminal_flush(t);
}

void terminal_type(struct terminal *t, const char *data, size_t len)
{
    for (size_t at = 0, n; at < len; at += n) {
        n = MIN(len - at, (size_t)TERMINAL_MESSAGE_MAX);
        terminal_send(t, TERMINAL_DATA, data + at, n);
    }
}

void terminal_resize(struct terminal *t, uint16_t rows, uint16_t columns)
{
    const struct terminal_size size = {rows, columns};
    terminal_send(t, TERMINAL_RESIZE, &size, sizeof(size));
}

size_t terminal_unsent(const struct terminal *t)
{
    return t->out.len;
}

/* The first frame says that it walked in, or why it could not. False if the terminal has ended. */
static bool terminal_read_first(struct terminal *t)
{
    struct err e;
    const char *payload;
    size_t len;
    _json_ json_t *frame = NULL;
    ssize_t n = frame_fill_with(&t->first, t->sock, &t->given);
    if (n == -EAGAIN)
        return true;
    int r = n <= 0 ? -1 : frame_next(&t->first, &payload, &len, &e);
    if (r == 0)
        return true;
    if (r > 0 && json_read_object(payload, len, &frame, &e) == 0) {
        const char *event = json_string_value(json_object_get(frame, "ev"));
        const char *message = json_string_value(json_object_get(frame, "message"));
        if (event != NULL && strcmp(event, "entered") == 0) {
            /* All its walls stand. What follows this frame in the socket is what the terminal
             * shows. */
            uint64_t network = (uint64_t)json_integer_value(json_object_get(frame, "net"));
            if (t->given >= 0)
                t->denials = denials_new(t->session->engine->loop, take_fd(&t->given), network);
            channel_refuse_descriptors(t->sock);
            terminal_move(t, TERMINAL_IS_OPEN);
            loop_timer_clear(t->timer);
            terminal_flush(t);
            t->listener->on_opened(t->context);
            return true;
        }
        terminal_end(t, message != NULL ? message : "the terminal cannot be opened");
        return false;
    }
    terminal_end(t, "the terminal cannot be opened");
    return false;
}

static void terminal_on_socket(void *context, int events)
{
    static char data[TERMINALS_READ_BYTES];
    struct terminal *t = context;
    if (t->state != TERMINAL_IS_OPEN) {
        if (events & LOOP_READ)
            terminal_read_first(t);
        return;
    }
    if (events & LOOP_WRITE)
        terminal_flush(t);
    bool is_drained = events & LOOP_WRITE && t->out.len == 0;
    bool reads = events & LOOP_READ && t->is_wanted;
    ssize_t n = reads ? channel_recv(t->sock, data, sizeof(data), NULL) : -EAGAIN;
    if (n > 0 && t->has_status)
        loop_timer_set(t->timer, clock_scaled_ms(TERMINALS_REST_MS));
    if (n > 0)
        t->listener->on_output(t->context, data, (size_t)n);
    if (n <= 0 && n != -EAGAIN) {
        loop_poll_close(take_ptr(t->poll), NULL);
        terminal_settle(t);
    } else if (is_drained) {
        t->listener->on_drained(t->context); /* last: it may end the terminal */
    }
}

/* ---- its process ----------------------------------------------------------------------------- */

static void terminal_on_event(void *context, const struct warden_event *event)
{
    struct terminal *t = context;
    if (event->type == WARDEN_REFUSED) {
        tickets_forget(t->session->engine, t->head);
        t->head = 0;
        terminal_end(t, event->text);
    } else if (event->type == WARDEN_EXITED) {
        tickets_forget(t->session->engine, t->head);
        t->head = 0;
        t->has_status = true;
        t->status = event->status;
        if (t->state == TERMINAL_IS_OPEN)
            terminal_settle(t);
        else
            terminal_end(t, "the terminal cannot be opened");
    }
}

static int terminal_enter(struct terminal *t, struct err *e)
{
    struct engine *engine = t->session->engine;
    struct room *room = t->session->room;
    int socks[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, socks) < 0)
        return err_errno(e, ERR_UNAVAILABLE, errno, "cannot make a socket");
    t->sock = socks[0];
    _fd_ int theirs = socks[1];
    t->poll = loop_poll_new(engine->loop, t->sock, terminal_on_socket, t);
    if (t->poll == NULL)
        return err_set(e, ERR_UNAVAILABLE, "the daemon cannot watch another socket");
    terminal_move(t, TERMINAL_ENTERING);
    t->head = pool_new_number(engine->pool);
    tickets_expect_all(engine, t->head, terminal_on_event, t);
    loop_poll_want(t->poll, LOOP_READ);
    return warden_join(engine->warden, room->jail, t->head, engine->terminals->zygote.number,
                       theirs, e);
}

/* ---- what starts them ------------------------------------------------------------------------ */

static const struct runtime_profile terminals_profile = {.runtime = &runtime_terminal,
                                                         .name = "terminal"};

static void terminals_enter_waiting(struct runtime_zygote *zygote)
{
    struct engine *engine = zygote->owner;
    LIST_EACH(&engine->live, at) {
        struct session *session = CONTAINER_OF(at, struct session, node);
        LIST_EACH(&session->terminals.open, node) {
            struct err e;
            struct terminal *t = CONTAINER_OF(node, struct terminal, node);
            if (t->state == TERMINAL_WAITING && terminal_enter(t, &e) < 0)
                terminal_end(t, e.message);
        }
    }
}

static void terminals_end_waiting(struct runtime_zygote *zygote)
{
    struct engine *engine = zygote->owner;
    LIST_EACH(&engine->live, at) {
        struct session *session = CONTAINER_OF(at, struct session, node);
        LIST_EACH(&session->terminals.open, node) {
            struct terminal *t = CONTAINER_OF(node, struct terminal, node);
            if (t->state == TERMINAL_WAITING)
                terminal_end(t, zygote->failure);
        }
    }
}

static const struct runtime_zygote_listener terminals_zygote_listener = {
    .on_ready = terminals_enter_waiting, .on_ended = terminals_end_waiting};

bool terminals_on_event(struct engine *engine, const struct warden_event *event)
{
    if (engine->terminals == NULL)
        return false;
    struct runtime_zygote *zygote = &engine->terminals->zygote;
    if (event->type == WARDEN_LOST)
        runtime_zygote_lose(zygote);
    else if (event->type == WARDEN_BACK)
        runtime_zygote_resume(zygote);
    bool is_ours = (event->type == WARDEN_ZYGOTE_READY || event->type == WARDEN_ZYGOTE_EXITED) &&
                   event->zygote == zygote->number;
    if (is_ours)
        runtime_zygote_on_event(zygote, event);
    return is_ours;
}

void terminals_stop(struct engine *engine)
{
    if (engine->terminals == NULL)
        return;
    runtime_zygote_close(&engine->terminals->zygote);
    free(take_ptr(engine->terminals));
}

/* ---- the beginning --------------------------------------------------------------------------- */

static int terminals_check(const struct session *session, struct err *e)
{
    const struct engine *engine = session->engine;
    if (session_refuse_if_dead(session, e) < 0)
        return -1;
    if (session->state == SESSION_SUSPENDED) {
        err_set(e, ERR_CONFLICT, "the session is suspended: no process of it runs");
        return err_advise(e, "Run a cell, which brings the session back, and try again.");
    }
    if (session->state == SESSION_STARTING || session->state == SESSION_RESTORING ||
        session->room == NULL) {
        err_set(e, ERR_CONFLICT, "the session is being started or restored");
        return err_advise(e, "Try again in a moment.");
    }
    if (session->terminals.n_open < TERMINALS_SESSION_MAX &&
        engine->n_terminals < TERMINALS_DAEMON_MAX)
        return 0;
    bool is_session = session->terminals.n_open >= TERMINALS_SESSION_MAX;
    err_set(e, ERR_LIMIT, "%d terminals of %s are open, as many as there may be",
            is_session ? TERMINALS_SESSION_MAX : TERMINALS_DAEMON_MAX,
            is_session ? "this session" : "sessions");
    return err_advise(e, "Close those that are not needed.");
}

static void terminal_send_request(struct terminal *t, const struct terminal_request *request)
{
    static const char shell[] = "/bin/bash\0-i", line[] = "/bin/bash\0-c";
    const struct terminal_size size = {request->rows, request->columns};
    const char *cwd = t->session->cwd[0] != '\0' ? t->session->cwd : JAIL_WORKSPACE;
    _buf_ struct buf open = BUF_INIT(TERMINAL_MESSAGE_MAX);
    buf_append(&open, &size, sizeof(size));
    buf_append(&open, request->kind, strlen(request->kind) + 1);
    buf_append(&open, cwd, strlen(cwd) + 1);
    if (request->command == NULL) {
        buf_append(&open, shell, sizeof(shell));
    } else {
        buf_append(&open, line, sizeof(line));
        buf_append(&open, request->command, strlen(request->command) + 1);
    }
    terminal_send(t, TERMINAL_OPEN, open.data, open.len);
}

struct terminal *terminal_open(struct session *session, const struct terminal_request *request,
                               const struct terminal_listener *listener, void *context,
                               struct err *e)
{
    struct engine *engine = session->engine;
    if (terminals_check(session, e) < 0)
        return NULL;
    if (engine->terminals == NULL) {
        engine->terminals = mem_alloc(sizeof(*engine->terminals));
        runtime_zygote_init(&engine->terminals->zygote, &terminals_profile, engine->warden,
                            engine->loop, &terminals_zygote_listener, engine);
    }
    if (runtime_zygote_want(&engine->terminals->zygote, e) < 0)
        return NULL;
    struct terminal *t = mem_alloc(sizeof(*t));
    *t = (struct terminal){.session = session,
                           .listener = listener,
                           .context = context,
                           .opened_at_ms = clock_wall_ms(),
                           .sock = -1,
                           .given = -1,
                           .first = FRAME_READER_INIT,
                           .out = BUF_INIT(TERMINALS_OUT_MAX),
                           .is_wanted = true};
    list_append(&session->terminals.open, &t->node);
    session->terminals.n_open++;
    engine->n_terminals++;
    session_restart_idle(session);
    t->timer = loop_timer_new(engine->loop, terminal_on_timer, t);
    loop_timer_set(t->timer, TERMINALS_START_MS);
    terminal_send_request(t, request);
    if (engine->terminals->zygote.state == ZYGOTE_READY && terminal_enter(t, e) < 0) {
        terminal_close(t);
        return NULL;
    }
    return t;
}
