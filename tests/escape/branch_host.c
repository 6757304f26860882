/* branch_host DATA_DIR dropped|kept|source: a warden with one session and a branch of it, for
 * probes.
 *
 * Takes programs on stdin and answers on stdout what they printed, both as a length (32 bits) and
 * text. They run in the branch: "dropped" is one that entered its room as drivers do, "kept" one
 * that kept the capabilities which that gave it. When a branch dies the answer is DIED, and the
 * next program finds another one. "source": they run in the session itself, and while one runs,
 * rooms are made below it, again and again. */
#include "base/base.h"
#include "base/fd.h"
#include "jail/denied.h"
#include "jail/warden.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <uv.h>

enum { TEXT_MAX = 1 << 20, TURN_MS = 20, WITHIN_TURNS = 1500, SOURCE = 1 };

/* Runs programs; b'B' with two descriptors is the order to branch. */
static const char agent[] =
    "import array, contextlib, ctypes, io, os, socket, struct, sys, traceback\n"
    "libc = ctypes.CDLL(None, use_errno=True)\n"
    "enter = ctypes.CDLL('" JAIL_LIB "/libcella_enter.so').cella_enter_room\n"
    "FLAGS = (0x10000000, 0x20000000, 0x20000, 0x40000000, 0x8000000, 0x4000000, 0x2000000)\n"
    "def clone(): return libc.syscall(56, 0x8000 | 17, 0, 0, 0, 0)\n"
    "def enter_hostile(key):\n"
    "    fds = socket.recv_fds(socket.socket(fileno=key), 1, 16)[1]\n"
    "    for fd in fds[len(FLAGS):]: os.write(fd, b'0')\n"
    "    for fd, flag in zip(fds[:2], FLAGS):\n"
    "        if libc.setns(fd, flag): os._exit(2)\n"
    "    if clone() != 0: os._exit(0)\n"
    "    for fd, flag in zip(fds[2:], FLAGS[2:]):\n"
    "        if libc.setns(fd, flag): os._exit(3)\n"
    "    os.chdir('/workspace')\n"
    "    for fd in fds: os.close(fd)\n"
    "def branch(kept, sock, key):\n"
    "    if clone() != 0:\n"
    "        os.close(sock); os.close(key); return\n"
    "    if kept: enter_hostile(key)\n"
    "    elif enter(key) != 0: os._exit(1)\n"
    "    os.setsid(); libc.prctl(4, 1, 0, 0, 0)\n"
    "    os.write(sock, b'h')\n"
    "    out.close()\n"
    "    serve(sock)\n"
    "def receive(size):\n"
    "    text = b''\n"
    "    while len(text) < size:\n"
    "        more = out.recv(size - len(text))\n"
    "        if not more: os._exit(0)\n"
    "        text += more\n"
    "    return text\n"
    "def run(code):\n"
    "    text = io.StringIO()\n"
    "    with contextlib.redirect_stdout(text):\n"
    "        try: exec(compile(code, 'probe', 'exec'), {'__name__': 'probe'})\n"
    "        except BaseException: print(traceback.format_exc())\n"
    "    return text.getvalue().encode('utf-8', 'replace')[:65536]\n"
    "def serve(fd):\n"
    "    global out\n"
    "    out = socket.socket(fileno=fd)\n"
    "    while True:\n"
    "        order, fds, _, _ = socket.recv_fds(out, 1, 2)\n"
    "        if not order: os._exit(0)\n"
    "        if fds: branch(order == b'K', *fds); continue\n"
    "        answer = run(receive(struct.unpack('I', receive(4))[0]))\n"
    "        out.sendall(struct.pack('I', len(answer)) + answer)\n"
    "serve(3)\n";

static struct {
    uv_loop_t loop;
    struct warden *warden;
    struct denied *denied;
    bool is_kept;
    bool is_source;
    int source;       /* its socket */
    int branch;       /* likewise; -1: there is none */
    uint64_t jail;    /* of the branch, and the number of its head */
    bool is_ready;    /* the zygote */
    bool is_inside;   /* whoever was asked for last */
    bool is_over;     /* the branch has died */
    bool is_answered; /* about a room */
    int key;
} host = {.source = -1, .branch = -1, .jail = SOURCE, .key = -1};

static _Noreturn void fail(const char *what, const char *why)
{
    fprintf(stderr, "branch_host: %s: %s\n", what, why);
    exit(1);
}

static void on_event(void *context, const struct warden_event *event)
{
    (void)context;
    if (event->type == WARDEN_ZYGOTE_READY)
        host.is_ready = true;
    else if (event->type == WARDEN_ENTERED)
        host.is_inside = true;
    else if (event->type == WARDEN_ROOM)
        host.key = event->fd;
    else if (event->type == WARDEN_EXITED && event->jail == host.jail)
        host.is_over = true;
    else if (event->type == WARDEN_REFUSED && !host.is_source)
        fail("refused", event->text);
    else if (event->type == WARDEN_LOST || event->type == WARDEN_ZYGOTE_EXITED)
        fail("lost", event->text);
    if (event->type == WARDEN_ROOM || event->type == WARDEN_REFUSED)
        host.is_answered = true;
}

static void on_denied(void *context, const char *call)
{
    (void)context;
    (void)call;
}

static void turn(void)
{
    struct pollfd wait = {.fd = uv_backend_fd(&host.loop), .events = POLLIN};
    int timeout = uv_backend_timeout(&host.loop);
    poll(&wait, 1, timeout < 0 ? TURN_MS : MIN(timeout, TURN_MS));
    uv_run(&host.loop, UV_RUN_NOWAIT);
}

static void await(const bool *what, const char *name)
{
    for (int i = 0; i < WITHIN_TURNS && !*what; i++)
        turn();
    if (!*what)
        fail(name, "it did not come");
}

static void check(int r, const struct err *e)
{
    if (r < 0)
        fail("the warden", e->message);
}

static void make_pair(int *ret_ours, int *ret_theirs)
{
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0 ||
        setsockopt(pair[0], SOL_SOCKET, SO_PASSCRED, &(int){1}, sizeof(int)) < 0)
        fail("socketpair", strerror(errno));
    *ret_ours = pair[0];
    *ret_theirs = pair[1];
}

static void begin(const char *data_dir)
{
    struct err e;
    struct warden_config config = {.data_dir = data_dir, .read_only_dirs = (const char *[]){NULL}};
    const char *argv[] = {JAIL_LIB "/launch", "/usr/bin/python3", "-Ic", agent, NULL};
    int theirs, listener = -1;
    char entered[64] = {0};
    check(warden_start(&config, &host.warden, &e), &e);
    uv_loop_init(&host.loop);
    warden_attach(host.warden, &host.loop, on_event, NULL);
    check(warden_start_zygote(host.warden, 1, argv, &e), &e);
    await(&host.is_ready, "the zygote");
    make_pair(&host.source, &theirs);
    check(warden_enter(host.warden, SOURCE, SOURCE, 1, "source", &JAIL_LIMITS_DEFAULT, theirs, &e),
          &e);
    close(theirs);
    await(&host.is_inside, "the session");
    if (fd_recv(host.source, entered, sizeof(entered) - 1, &listener, 1, NULL) <= 0)
        fail("the session", "it said nothing");
    const char *net = strstr(entered + sizeof(uint32_t), "\"net\":"); /* after the length */
    if (net == NULL)
        fail("the session", "it did not say in which network it is");
    uint64_t network = strtoull(net + strlen("\"net\":"), NULL, 10);
    host.denied = listener >= 0 ? denied_new(&host.loop, listener, network, on_denied, NULL) : NULL;
}

static void ask_room(void)
{
    struct err e;
    char workspace[32];
    snprintf(workspace, sizeof(workspace), "branch-%llu", (unsigned long long)++host.jail);
    host.is_answered = false;
    check(warden_make_room(host.warden, SOURCE, host.jail, workspace, &JAIL_LIMITS_DEFAULT, &e),
          &e);
}

static void make_branch(void)
{
    struct err e;
    int theirs;
    ask_room();
    await(&host.is_answered, "the room");
    make_pair(&host.branch, &theirs);
    if (fd_send(host.source, host.is_kept ? "K" : "B", 1, (const int[]){theirs, host.key}, 2) != 1)
        fail("the session", "it does not listen");
    close(theirs);
    close(host.key);
    host.is_inside = host.is_over = false;
    struct pollfd wait = {.fd = host.branch, .events = POLLIN};
    if (poll(&wait, 1, WITHIN_TURNS * TURN_MS) != 1)
        fail("the branch", "it did not come");
    check(warden_adopt(host.warden, host.jail, host.jail, WARDEN_HEAD, host.branch, &e), &e);
    await(&host.is_inside, "the branch");
}

static void end_branch(void)
{
    struct err e;
    close(host.branch);
    host.branch = -1;
    check(warden_destroy(host.warden, host.jail, false, &e), &e);
}

static bool take(int fd, void *data, size_t len)
{
    for (char *at = data; len > 0;) {
        ssize_t n = read(fd, at, len);
        if (n <= 0)
            return false;
        at += n;
        len -= (size_t)n;
    }
    return true;
}

/* While the session runs a program, a room is always on its way. */
static void make_and_end_rooms(void)
{
    struct err e;
    if (!host.is_answered)
        return;
    if (host.key >= 0) {
        close(host.key);
        check(warden_destroy(host.warden, host.jail, false, &e), &e);
    }
    host.key = -1;
    ask_room();
}

static bool await_answer(int sock)
{
    struct pollfd wait = {.fd = sock, .events = POLLIN};
    while (poll(&wait, 1, 0) == 0 && (!host.is_over || host.is_source)) {
        if (host.is_source)
            make_and_end_rooms();
        turn();
    }
    return poll(&wait, 1, 0) == 1;
}

static void answer(const char *text, uint32_t len)
{
    fwrite(&len, sizeof(len), 1, stdout);
    fwrite(text, len, 1, stdout);
    fflush(stdout);
}

int main(int argc, char **argv)
{
    static char text[TEXT_MAX];
    uint32_t len;
    if (argc != 3)
        fail("usage", "branch_host DATA_DIR dropped|kept|source");
    host.is_kept = strcmp(argv[2], "kept") == 0;
    host.is_source = strcmp(argv[2], "source") == 0;
    host.is_answered = host.is_source;
    begin(argv[1]);
    while (take(STDIN_FILENO, &len, sizeof(len)) && len < TEXT_MAX &&
           take(STDIN_FILENO, text, len)) {
        if (!host.is_source && host.branch < 0)
            make_branch();
        int sock = host.is_source ? host.source : host.branch;
        if (fd_write_all(sock, "R", 1) == 0 && fd_write_all(sock, &len, sizeof(len)) == 0 &&
            fd_write_all(sock, text, len) == 0 && await_answer(sock) &&
            take(sock, &len, sizeof(len)) && len < TEXT_MAX && take(sock, text, len)) {
            answer(text, len);
        } else {
            answer("DIED\n", 5);
            end_branch();
        }
    }
    denied_free(host.denied);
    warden_free(host.warden);
    uv_run(&host.loop, UV_RUN_DEFAULT);
    uv_loop_close(&host.loop);
    return 0;
}
