/* The daemon's side of the warden: its life, events in, and messages out. Neither direction ever
 * blocks the loop: what the socket does not take is kept in order. */
#include "jail/warden.h"

#include "base/buf.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/list.h"
#include "jail/message.h"
#include "jail/warden/guardian.h"
#include "jail/witness.h"
#include "loop/loop.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

enum {
    START_TIMEOUT_MS = 15000,
    STOP_TIMEOUT_MS = 10000,
    EVENTS_PER_TURN = 64,
    AGAIN_MS = 10,     /* until a descriptor is tried again */
    REFUSED_MS = 1000, /* for that long */
    PATH_SIZE = 4096,
};

struct unsent {
    struct list link;
    uint64_t since_ms; /* monotonic */
    int fd;            /* goes along, or -1 */
    size_t len;
    char data[];
};

/*   UP --its end--> DOWN --the guardian sent a new socket--> STARTING --it reports--> UP
 *   DOWN, STARTING --the guardian's end--> OVER
 *   STARTING --its end--> DOWN
 */
enum warden_state { WARDEN_UP, WARDEN_DOWN, WARDEN_STARTING, WARDEN_OVER };

struct warden {
    int control;    /* -1 while DOWN and OVER */
    int lifeline;   /* its end tells the guardian that we are gone; new control sockets come from it
                     */
    int workspaces; /* directory */
    pid_t guardian;
    bool is_root;
    char id_note[1024];
    enum warden_state state;
    uv_loop_t *loop;
    struct loop_poll *poll; /* of control; NULL without it */
    struct loop_poll *guardian_poll;
    struct list unsent;
    struct loop_timer *again; /* tries once more; NULL until the kernel refused a descriptor */
    warden_on_event on_event;
    void *context;
};

/* ---- starting and ending --------------------------------------------------------------------- */

/* A directory of the data directory that the warden's world owns. */
static int make_dir(const char *path, mode_t mode, bool is_root, struct err *e)
{
    if (mkdir(path, mode) < 0 && errno != EEXIST)
        return err_errno(e, ERR_UNAVAILABLE, errno, "cannot make %s", path);
    /* The data directory belongs to a user with less rights than root, who must not have root give
     * away what a link leads to. */
    _fd_ int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    struct stat st;
    if (fd < 0 || fstat(fd, &st) < 0)
        return err_errno(e, ERR_UNAVAILABLE, errno, "cannot use %s", path);
    if (st.st_uid != geteuid() && !(is_root && st.st_uid == GUARDIAN_ID_BASE))
        return err_set(e, ERR_FORBIDDEN, "%s belongs to another user", path);
    if (fchmod(fd, mode) < 0 || (is_root && fchown(fd, GUARDIAN_ID_BASE, GUARDIAN_ID_BASE) < 0))
        return err_errno(e, ERR_UNAVAILABLE, errno, "cannot hand over %s", path);
    return 0;
}

static int warden_make_dirs(const char *data_dir, bool is_root, char workspaces[PATH_SIZE],
                            char blobs[PATH_SIZE], struct err *e)
{
    snprintf(workspaces, PATH_SIZE, "%s/workspaces", data_dir);
    snprintf(blobs, PATH_SIZE, "%s/blobs", data_dir);
    /* Jails' users pass through on the way to their own workspace, and see nothing. */
    return make_dir(workspaces, 0711, is_root, e) < 0 ? -1 : make_dir(blobs, 0700, is_root, e);
}

static int await_start(struct warden *w, struct err *e)
{
    char message[sizeof(struct report) + MESSAGE_TEXT_MAX + 1];
    struct pollfd wait = {.fd = w->control, .events = POLLIN};
    if (poll(&wait, 1, START_TIMEOUT_MS) != 1)
        return err_set(e, ERR_UNAVAILABLE, "the warden did not start in %d s",
                       START_TIMEOUT_MS / 1000);
    ssize_t n = recv(w->control, message, sizeof(message) - 1, 0);
    struct report report;
    if (n < (ssize_t)sizeof(report))
        return err_set(e, ERR_UNAVAILABLE, "the warden ended while starting");
    memcpy(&report, message, sizeof(report));
    message[n] = '\0';
    if (report.type == REPORT_STARTED) {
        snprintf(w->id_note, sizeof(w->id_note), "%.*s", (int)sizeof(w->id_note) - 1,
                 message + sizeof(report));
        return 0;
    }
    err_set(e, ERR_UNAVAILABLE, "cannot make a safe jail on this machine: %s",
            message + sizeof(report));
    return err_advise(e, "no code is run without it; `cella doctor` says what to change");
}

int warden_start(const struct warden_config *config, struct warden **ret_warden, struct err *e)
{
    /* Kept for the guardian's life, which has its own copy. */
    static struct seccomp_blob filter;
    char workspaces[PATH_SIZE], blobs[PATH_SIZE];
    bool is_root = geteuid() == 0;
    int control[2], lifeline[2];
    if (warden_make_dirs(config->data_dir, is_root, workspaces, blobs, e) < 0 ||
        seccomp_compile(&filter, e) < 0)
        return -1;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, control) < 0)
        return err_errno(e, ERR_UNAVAILABLE, errno, "cannot make a socket");
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, lifeline) < 0) {
        close(control[0]);
        close(control[1]);
        return err_errno(e, ERR_UNAVAILABLE, errno, "cannot make a socket");
    }
    struct guardian_args args = {
        .control = control[1],
        .lifeline = lifeline[0],
        .workspaces = workspaces,
        .blobs = blobs,
        .read_only_dirs = config->read_only_dirs,
        .filter = &filter,
    };
    struct warden *w = mem_alloc(sizeof(*w));
    *w = (struct warden){.control = control[0], .lifeline = lifeline[1], .is_root = is_root};
    list_init(&w->unsent);
    w->guardian = fork();
    if (w->guardian == 0)
        guardian_main(&args);
    close(control[1]);
    close(lifeline[0]);
    w->workspaces = open(workspaces, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (w->guardian < 0)
        err_errno(e, ERR_UNAVAILABLE, errno, "cannot fork");
    if (w->guardian < 0 || await_start(w, e) < 0) {
        warden_free(w);
        return -1;
    }
    const char word = GUARDIAN_STAY;
    fd_send(w->lifeline, &word, 1, NULL, 0); /* if it is gone we shall see */
    *ret_warden = w;
    return 0;
}

const char *warden_id_note(const struct warden *w)
{
    return w->id_note;
}

int warden_drop_privilege(const struct warden *w, struct err *e)
{
    if (!w->is_root)
        return 0;
    if (setgroups(0, NULL) < 0 ||
        setresgid(GUARDIAN_ID_BASE, GUARDIAN_ID_BASE, GUARDIAN_ID_BASE) < 0 ||
        setresuid(GUARDIAN_ID_BASE, GUARDIAN_ID_BASE, GUARDIAN_ID_BASE) < 0 ||
        prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
        return err_errno(e, ERR_UNAVAILABLE, errno, "cannot drop root's privileges");
    return 0;
}

static void free_unsent(struct unsent *u)
{
    list_remove(&u->link);
    if (u->fd >= 0)
        close(u->fd);
    free(u);
}

/* The guardian outlives the warden and its jails, so its end is the end of all of them. */
static void await_guardian(pid_t pid)
{
    for (int waited_ms = 0; waited_ms < STOP_TIMEOUT_MS; waited_ms += 5) {
        if (waitpid(pid, NULL, WNOHANG) != 0)
            return;
        poll(NULL, 0, 5);
    }
}

void warden_free(struct warden *w)
{
    if (w == NULL)
        return;
    loop_poll_close(w->poll, NULL);
    loop_poll_close(w->guardian_poll, NULL);
    loop_timer_close(w->again, NULL);
    close(w->lifeline); /* first: the warden's end is then no reason for another one */
    cleanup_fd(&w->control);
    cleanup_fd(&w->workspaces);
    if (w->guardian > 0)
        await_guardian(w->guardian);
    LIST_EACH(&w->unsent, at)
        free_unsent(CONTAINER_OF(at, struct unsent, link));
    free(w);
}

/* ---- events ---------------------------------------------------------------------------------- */

static void warden_tell(struct warden *w, enum warden_event_type type, bool is_final,
                        const char *text)
{
    w->on_event(w->context,
                &(struct warden_event){.type = type, .is_final = is_final, .fd = -1, .text = text});
}

static void warden_move(struct warden *w, enum warden_state to)
{
    static const bool is_legal[][WARDEN_OVER + 1] = {
        [WARDEN_UP] = {[WARDEN_DOWN] = true, [WARDEN_OVER] = true},
        [WARDEN_DOWN] = {[WARDEN_STARTING] = true, [WARDEN_OVER] = true},
        [WARDEN_STARTING] = {[WARDEN_UP] = true, [WARDEN_DOWN] = true, [WARDEN_OVER] = true},
        [WARDEN_OVER] = {0},
    };
    assert(is_legal[w->state][to]);
    w->state = to;
}

/* Requests that are on their way, and everything in the warden, end with it. */
static void lose(struct warden *w)
{
    bool was_up = w->state == WARDEN_UP;
    loop_poll_close(take_ptr(w->poll), NULL);
    cleanup_fd(&w->control);
    w->control = -1;
    LIST_EACH(&w->unsent, at)
        free_unsent(CONTAINER_OF(at, struct unsent, link));
    warden_move(w, WARDEN_DOWN);
    if (was_up)
        warden_tell(w, WARDEN_LOST, false, "it crashed or was killed, and is being started again");
}

/* What a new warden says of itself before anything else. */
static void on_first_report(struct warden *w, int type)
{
    if (type != REPORT_STARTED) {
        lose(w); /* the guardian tries again, or gives up */
        return;
    }
    warden_move(w, WARDEN_UP);
    warden_tell(w, WARDEN_BACK, false, "the process that keeps the sandboxes was started again");
}

static void deliver(struct warden *w, const char *message, int fd)
{
    struct report report;
    memcpy(&report, message, sizeof(report));
    if (w->state == WARDEN_STARTING) {
        on_first_report(w, report.type);
        return;
    }
    struct warden_event event = {
        .type = (enum warden_event_type)report.type,
        .zygote = report.zygote,
        .jail = report.jail,
        .head = report.head,
        .pid = report.pid,
        .status = report.status,
        .oom_kills = report.oom_kills,
        .pids_refused = report.pids_refused,
        .peak_bytes = report.peak_bytes,
        .bytes = report.bytes,
        .others = report.others,
        .ticks = report.ticks,
        .cpu_us = report.cpu_us,
        .fd = fd,
        .text = message + sizeof(report),
    };
    w->on_event(w->context, &event);
}

static void read_events(struct warden *w)
{
    static char message[sizeof(struct report) + MESSAGE_TEXT_MAX + 1];
    for (int i = 0; i < EVENTS_PER_TURN && w->control >= 0; i++) {
        int fd = -1;
        ssize_t n = fd_recv(w->control, message, sizeof(message) - 1, &fd, 1, NULL);
        if (n == -EAGAIN || n == -EINTR)
            return;
        if (n < (ssize_t)sizeof(struct report)) {
            cleanup_fd(&fd);
            lose(w);
            return;
        }
        message[n] = '\0';
        deliver(w, message, fd);
    }
}

static void send_unsent(void *context);

/* One whose descriptor cannot be sent goes without in the end, so that it is refused and those
 * behind it do not wait. */
static void send_unsent(void *context)
{
    struct warden *w = context;
    LIST_EACH(&w->unsent, at) {
        struct unsent *u = CONTAINER_OF(at, struct unsent, link);
        ssize_t n = fd_send(w->control, u->data, u->len, &u->fd, u->fd >= 0 ? 1 : 0);
        if (n == -ETOOMANYREFS && clock_mono_ms() - u->since_ms >= REFUSED_MS)
            n = fd_send(w->control, u->data, u->len, NULL, 0);
        if (n == -ETOOMANYREFS) {
            /* More descriptors are under way in sockets of this user than the kernel allows. That
             * passes, and nobody tells when. */
            if (w->again == NULL)
                w->again = loop_timer_new(w->loop, send_unsent, w);
            loop_timer_set(w->again, AGAIN_MS);
            loop_poll_want(w->poll, LOOP_READ);
            return;
        }
        if (n == -EAGAIN) {
            loop_poll_want(w->poll, LOOP_READ | LOOP_WRITE);
            return;
        }
        free_unsent(u);
    }
    if (w->poll != NULL)
        loop_poll_want(w->poll, LOOP_READ);
}

static void warden_on_poll(void *context, int events)
{
    struct warden *w = context;
    if (events & LOOP_WRITE)
        send_unsent(w);
    if (events & LOOP_READ)
        read_events(w);
}

static bool watch_control(struct warden *w)
{
    w->poll = loop_poll_new(w->loop, w->control, warden_on_poll, w);
    if (w->poll != NULL)
        loop_poll_want(w->poll, LOOP_READ);
    return w->poll != NULL;
}

static void on_guardian(void *context, int events)
{
    struct warden *w = context;
    (void)events;
    char word = 0;
    int control = -1;
    ssize_t n = fd_recv(w->lifeline, &word, 1, &control, 1, NULL);
    if (n == -EAGAIN || n == -EINTR)
        return;
    if (w->control >= 0)
        lose(w); /* whatever it still had to say is of no use */
    if (n == 1 && control >= 0) {
        w->control = control;
        warden_move(w, WARDEN_STARTING);
        if (watch_control(w))
            return;
        control = take_fd(&w->control);
    }
    cleanup_fd(&control);
    loop_poll_want(w->guardian_poll, 0);
    warden_move(w, WARDEN_OVER);
    warden_tell(w, WARDEN_LOST, true, "it ended and could not be started again");
}

void warden_attach(struct warden *w, uv_loop_t *loop, warden_on_event on_event, void *context)
{
    w->on_event = on_event;
    w->context = context;
    w->loop = loop;
    watch_control(w);
    w->guardian_poll = loop_poll_new(loop, w->lifeline, on_guardian, w);
    if (w->guardian_poll !=
        NULL) /* else nothing can be watched: there will be no listener either */
        loop_poll_want(w->guardian_poll, LOOP_READ);
}

/* ---- sending --------------------------------------------------------------------------------- */

static int keep_unsent(struct warden *w, const void *data, size_t len, int fd, struct err *e)
{
    int copy = fd >= 0 ? fcntl(fd, F_DUPFD_CLOEXEC, 0) : -1;
    if (fd >= 0 && copy < 0)
        return err_errno(e, ERR_UNAVAILABLE, errno, "cannot keep a descriptor for the warden");
    struct unsent *u = mem_alloc(sizeof(*u) + len);
    u->fd = copy;
    u->since_ms = clock_mono_ms();
    u->len = len;
    memcpy(u->data, data, len);
    bool is_first = list_is_empty(&w->unsent);
    list_append(&w->unsent, &u->link);
    if (is_first)
        send_unsent(w); /* finds out what it has to wait for */
    return 0;
}

static int warden_send(struct warden *w, const void *data, size_t len, int fd, struct err *e)
{
    if (w->state == WARDEN_OVER)
        return err_set(e, ERR_UNAVAILABLE, "the warden ended: no code can run any more");
    if (w->state != WARDEN_UP) {
        err_set(e, ERR_UNAVAILABLE, "the process that keeps the sandboxes is being started again");
        return err_advise(e, "Try again in a moment.");
    }
    if (!list_is_empty(&w->unsent))
        return keep_unsent(w, data, len, fd, e);
    ssize_t n = fd_send(w->control, data, len, &fd, fd >= 0 ? 1 : 0);
    if (n == -EAGAIN || n == -ETOOMANYREFS)
        return keep_unsent(w, data, len, fd, e);
    if (n < 0)
        return err_errno(e, ERR_UNAVAILABLE, (int)n, "the warden does not answer");
    return 0;
}

/* ---- workspaces ------------------------------------------------------------------------------ */

int warden_changed_at(const struct warden *w, const char *workspace, struct timespec *ret)
{
    struct stat st;
    if (fstatat(w->workspaces, workspace, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return -errno;
    *ret = st.st_ctim;
    return 0;
}

/* ---- requests -------------------------------------------------------------------------------- */

/* What the daemon asks of the warden, each a message. */

static int send_request(struct warden *w, const struct request *r, struct err *e)
{
    return warden_send(w, r, sizeof(*r), -1, e);
}

int warden_start_zygote(struct warden *w, uint32_t zygote, const char *const *argv, struct err *e)
{
    _buf_ struct buf message = BUF_INIT(sizeof(struct request) + MESSAGE_TEXT_MAX);
    struct request r = {.type = REQUEST_ZYGOTE_START, .zygote = zygote};
    buf_append(&message, &r, sizeof(r));
    size_t n_args = 0;
    for (; argv[n_args] != NULL; n_args++)
        buf_append(&message, argv[n_args], strlen(argv[n_args]) + 1);
    if (message.overflowed || n_args > ZYGOTE_ARGS_MAX)
        return err_set(e, ERR_INVALID, "the profile's list of imports is too long");
    return warden_send(w, message.data, message.len, -1, e);
}

int warden_stop_zygote(struct warden *w, uint32_t zygote, struct err *e)
{
    return send_request(w, &(struct request){.type = REQUEST_ZYGOTE_STOP, .zygote = zygote}, e);
}

static int name_workspace(struct request *r, const char *name, struct err *e)
{
    if (strlen(name) >= sizeof(r->workspace) || strchr(name, '/') || name[0] == '.' ||
        name[0] == '\0')
        return err_set(e, ERR_INVALID, "not a workspace's name: %.80s", name);
    snprintf(r->workspace, sizeof(r->workspace), "%s", name);
    return 0;
}

int warden_enter(struct warden *w, uint64_t jail, uint64_t head, uint32_t zygote,
                 const char *workspace, const struct jail_limits *limits, int session_sock,
                 struct err *e)
{
    struct request r = {
        .type = REQUEST_ENTER, .jail = jail, .head = head, .zygote = zygote, .limits = *limits};
    if (name_workspace(&r, workspace, e) < 0)
        return -1;
    return warden_send(w, &r, sizeof(r), session_sock, e);
}

int warden_join(struct warden *w, uint64_t jail, uint64_t head, uint32_t zygote, int session_sock,
                struct err *e)
{
    struct request r = {.type = REQUEST_ENTER,
                        .jail = jail,
                        .head = head,
                        .zygote = zygote,
                        .number = ENTER_JOINING};
    return warden_send(w, &r, sizeof(r), session_sock, e);
}

int warden_make_room(struct warden *w, uint64_t source, uint64_t jail, const char *workspace,
                     const struct jail_limits *limits, struct err *e)
{
    struct request r = {.type = REQUEST_ROOM, .jail = jail, .since = source, .limits = *limits};
    return name_workspace(&r, workspace, e) < 0 ? -1 : send_request(w, &r, e);
}

int warden_signal(struct warden *w, uint64_t head, int sig, struct err *e)
{
    return send_request(w, &(struct request){.type = REQUEST_SIGNAL, .head = head, .number = sig},
                        e);
}

int warden_adopt(struct warden *w, uint64_t jail, uint64_t head, enum warden_kind kind, int channel,
                 struct err *e)
{
    _fd_ int writer = witness_writer(channel);
    if (writer == -EBADMSG)
        return err_set(e, ERR_FORBIDDEN, "a copy sent a descriptor to the daemon");
    struct request r = {.type = REQUEST_ADOPT, .jail = jail, .head = head, .number = (int)kind};
    r.is_end = writer == -EPIPE || writer == -ESRCH;
    return warden_send(w, &r, sizeof(r), writer, e);
}

int warden_clear(struct warden *w, uint64_t head, uint64_t jail, uint64_t since, struct err *e)
{
    struct request r = {.type = REQUEST_CLEAR, .jail = jail, .head = head, .since = since};
    return send_request(w, &r, e);
}

int warden_clear_holding(struct warden *w, uint64_t head, uint64_t jail, uint64_t since,
                         struct err *e)
{
    struct request r = {
        .type = REQUEST_CLEAR, .jail = jail, .head = head, .since = since, .number = CLEAR_HOLDING};
    return send_request(w, &r, e);
}

int warden_look(struct warden *w, uint64_t jail, uint64_t ticket, struct err *e)
{
    struct request r = {.type = REQUEST_LOOK, .jail = jail, .head = ticket};
    return send_request(w, &r, e);
}

int warden_weigh(struct warden *w, uint64_t jail, uint64_t ticket, struct err *e)
{
    struct request r = {.type = REQUEST_WEIGH, .jail = jail, .head = ticket};
    return send_request(w, &r, e);
}

int warden_terminate(struct warden *w, uint64_t jail, struct err *e)
{
    return send_request(w, &(struct request){.type = REQUEST_TERMINATE, .jail = jail}, e);
}

int warden_measure(struct warden *w, uint64_t head, struct err *e)
{
    return send_request(w, &(struct request){.type = REQUEST_MEASURE, .head = head}, e);
}

int warden_make_socket(struct warden *w, uint64_t jail, uint64_t ticket, int family, struct err *e)
{
    struct request r = {.type = REQUEST_SOCKET, .jail = jail, .head = ticket, .number = family};
    return send_request(w, &r, e);
}

int warden_watch(struct warden *w, uint64_t jail, bool is_busy, struct err *e)
{
    struct request r = {.type = REQUEST_WATCH, .jail = jail, .number = is_busy};
    return send_request(w, &r, e);
}

int warden_destroy(struct warden *w, uint64_t jail, bool keep_workspace, struct err *e)
{
    struct request r = {.type = REQUEST_DESTROY, .jail = jail, .number = keep_workspace};
    return send_request(w, &r, e);
}

static int send_archive(struct warden *w, struct request *r, const char *workspace,
                        const char *manifest, struct err *e)
{
    struct blob_hash hash;
    if (name_workspace(r, workspace, e) < 0)
        return -1;
    if (manifest[0] != '\0' && blob_parse_hex(manifest, &hash) < 0)
        return err_set(e, ERR_INVALID, "not a manifest's name: %.80s", manifest);
    snprintf(r->manifest, sizeof(r->manifest), "%s", manifest);
    return send_request(w, r, e);
}

int warden_record(struct warden *w, uint64_t ticket, const char *workspace, const char *base,
                  const struct archive_budget *budget, struct err *e)
{
    struct request r = {.type = REQUEST_RECORD, .head = ticket, .budget = *budget};
    return send_archive(w, &r, workspace, base, e);
}

int warden_restore(struct warden *w, uint64_t ticket, const char *workspace, const char *manifest,
                   struct err *e)
{
    struct request r = {.type = REQUEST_RESTORE, .head = ticket};
    return send_archive(w, &r, workspace, manifest, e);
}

int warden_file(struct warden *w, uint64_t ticket, const char *workspace,
                const struct warden_file_order *order, int out, struct err *e)
{
    struct {
        struct request request;
        struct warden_file_order order;
    } message = {.request = {.type = REQUEST_FILE, .head = ticket}, .order = *order};
    if (name_workspace(&message.request, workspace, e) < 0)
        return -1;
    return warden_send(w, &message, sizeof(message), out, e);
}

int warden_remove_workspace(struct warden *w, const char *name, struct err *e)
{
    struct request r = {.type = REQUEST_REMOVE};
    return name_workspace(&r, name, e) < 0 ? -1 : send_request(w, &r, e);
}
