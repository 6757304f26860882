/* Copies that heads make of themselves: who is adopted and who is not, what an undone line leaves
 * behind, which of them the kernel ends first. */
#include "jail/spec.h"
#include "warden_world.h"

/* Runs what it is sent, as Python, in the head and in each copy. A copy is made with CLONE_PARENT
 * and speaks on the descriptor that came with the order. */
#define AGENT                                                                                      \
    "import ctypes, os, signal, socket, sys, time\n"                                               \
    "libc = ctypes.CDLL(None, use_errno=True)\n"                                                   \
    "def say(*words): out.sendall((' '.join(map(str, words)) + '\\n').encode())\n"                 \
    "def clone(flags=0x8000): return libc.syscall(56, flags | 17, 0, 0, 0, 0)\n"                   \
    "def copy(flags=0x8000):\n"                                                                    \
    "    if clone(flags) == 0:\n"                                                                  \
    "        os.setsid()\n"                                                                        \
    "        os.write(fds[0], b'c')\n"                                                             \
    "        serve(fds[0])\n"                                                                      \
    "    os.close(fds[0])\n"                                                                       \
    "def background(fork=os.fork):\n"                                                              \
    "    pid = fork()\n"                                                                           \
    "    while pid == 0: signal.pause()\n"                                                         \
    "    return pid\n"                                                                             \
    "def serve(fd):\n"                                                                             \
    "    global out, fds\n"                                                                        \
    "    out = socket.socket(fileno=fd)\n"                                                         \
    "    while True:\n"                                                                            \
    "        order, fds, _, _ = socket.recv_fds(out, 65536, 4)\n"                                  \
    "        if not order: os._exit(0)\n"                                                          \
    "        exec(order.decode(), globals())\n"                                                    \
    "        say('did it')\n"                                                                      \
    "serve(3)\n"

static struct head begin(uint64_t jail, const struct jail_limits *limits)
{
    static uint32_t zygote;
    static const struct warden *of;
    if (of != here.warden)
        zygote = python_zygote(AGENT);
    of = here.warden;
    struct head h = enter(zygote, jail, limits);
    await(WARDEN_ENTERED, h.number);
    return h;
}

static struct head begin_usual(void)
{
    return begin(0, &JAIL_LIMITS_DEFAULT);
}

/* Has it done, and gives back what it said. */
static const char *order(struct head *h, const char *code)
{
    h->len = 0;
    h->heard[0] = '\0';
    say(h, code);
    return hear(h, "did it\n");
}

/* The other end goes to the head with the order to copy itself. */
static struct head order_copy(struct head *of, const char *code)
{
    struct head copy = {.number = ++here.last_number, .jail = of->jail, .listener = INT32_MAX};
    int pair[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
    assert_int_equal(setsockopt(pair[0], SOL_SOCKET, SO_PASSCRED, &(int){1}, sizeof(int)), 0);
    copy.sock = pair[0];
    of->len = 0;
    of->heard[0] = '\0';
    assert_true(fd_send(of->sock, code, strlen(code), &pair[1], 1) > 0);
    close(pair[1]);
    hear(of, "did it\n");
    return copy;
}

static void ask_adopt(const struct head *copy, enum warden_kind kind)
{
    struct err e;
    assert_int_equal(warden_adopt(here.warden, copy->jail, copy->number, kind, copy->sock, &e), 0);
}

static void await_byte(const struct head *copy)
{
    struct pollfd wait = {.fd = copy->sock, .events = POLLIN};
    assert_int_equal(poll(&wait, 1, WITHIN_MS), 1);
}

static struct head make_copy(struct head *of, enum warden_kind kind)
{
    struct head copy = order_copy(of, "copy()");
    await_byte(&copy);
    ask_adopt(&copy, kind);
    const struct heard *entered = await(WARDEN_ENTERED, copy.number);
    assert_int_equal(entered->event.jail, of->jail);
    return copy;
}

static void drop(struct head *h)
{
    h->listener = -1;
    close(h->sock);
}

static void leave(struct head *first)
{
    destroy(first->jail);
    forget(first);
}

static uint64_t clear(const struct head *h, uint64_t since)
{
    struct err e;
    size_t before = here.n_events;
    assert_int_equal(warden_clear(here.warden, h->number, h->jail, since, &e), 0);
    for (;;) {
        for (size_t i = before; i < here.n_events; i++) {
            const struct warden_event *event = &here.events[i].event;
            if (event->type == WARDEN_CLEARED && event->head == h->number) {
                assert_string_equal(here.events[i].text, "");
                return event->bytes;
            }
        }
        turn(50);
    }
}

/* ---- tests ----------------------------------------------------------------------------------- */

static void a_copy_is_the_wardens_child_and_has_a_number(void **state)
{
    (void)state;
    struct head h = begin_usual();
    struct head copy = make_copy(&h, WARDEN_CHECKPOINT);
    const struct warden_event *entered = &find(WARDEN_ENTERED, copy.number)->event;
    if (geteuid() == 0)
        assert_in_range(entered->bytes, 1 * MIB, 512 * MIB);
    assert_true(entered->pid > 0);
    /* The head has no child to wait for, and the copy lives on without it. */
    assert_non_null(
        strstr(order(&h, "try: os.wait()\nexcept ChildProcessError: say('none')"), "none"));
    struct err e;
    assert_int_equal(warden_signal(here.warden, h.number, SIGKILL, &e), 0);
    await(WARDEN_EXITED, h.number);
    assert_non_null(strstr(order(&copy, "say('alive')"), "alive"));
    assert_int_equal(warden_measure(here.warden, copy.number, &e), 0);
    assert_in_range(await(WARDEN_MEASURED, copy.number)->event.bytes, 64 * KIB, 64 * MIB);
    /* One number is signalled and reaped like any other. */
    assert_int_equal(warden_signal(here.warden, copy.number, SIGTERM, &e), 0);
    assert_int_equal(WTERMSIG(await(WARDEN_EXITED, copy.number)->event.status), SIGTERM);
    assert_non_null(find(WARDEN_SIGNALED, copy.number));
    assert_int_equal(warden_measure(here.warden, 4711, &e), 0);
    assert_int_equal(await(WARDEN_MEASURED, 4711)->event.bytes, 0);
    drop(&copy);
    leave(&h);
}

static void an_undone_line_takes_along_what_it_started(void **state)
{
    (void)state;
    struct head h = begin_usual();
    order(&h, "old = background()");
    struct head copy = make_copy(&h, WARDEN_CHECKPOINT);
    order(&h, "for i in range(3): background()\n"
              "if os.fork() == 0:\n"
              "    os.setsid()\n"
              "    if os.fork() == 0: background()\n"
              "    os._exit(0)\n"
              "os.wait()\n");
    assert_int_equal(clear(&h, copy.number), 4);
    assert_int_equal(WTERMSIG(await(WARDEN_EXITED, h.number)->event.status), SIGKILL);
    /* What was there is there; the rest is not, and it can be said again without effect. */
    assert_non_null(strstr(order(&copy, "say(os.kill(old, 0))"), "None"));
    assert_int_equal(clear(&h, copy.number), 0);
    assert_int_equal(clear(&h, 0), 1);
    assert_non_null(strstr(order(&copy, "try: os.kill(old, 0)\n"
                                        "except ProcessLookupError: say('gone')"),
                           "gone"));
    drop(&copy);
    leave(&h);
}

static int run(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_copy_is_the_wardens_child_and_has_a_number),
        cmocka_unit_test(an_undone_line_takes_along_what_it_started),
    };
    return cmocka_run_group_tests(tests, start, stop);
}

int main(void)
{
    return run_twice(run);
}
