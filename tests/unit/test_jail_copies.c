/* Copies that heads make of themselves: who is adopted and who is not, what an undone line leaves
 * behind, which of them the kernel ends first. */
#include "jail/warden/guardian.h"
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
    assert_int_equal(poll(&wait, 1, PATIENCE_MS), 1);
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
              "    if os.fork() > 0: os._exit(0)\n"
              "    while True: signal.pause()\n"
              "os.wait()\n");
    /* A head that is killed leaves everybody for the clearing. */
    struct err e;
    assert_int_equal(warden_signal(here.warden, h.number, SIGKILL, &e), 0);
    assert_int_equal(WTERMSIG(await(WARDEN_EXITED, h.number)->event.status), SIGKILL);
    assert_int_equal(clear(&h, copy.number), 4);
    /* What was there is there; the rest is not, and it can be said again without effect. */
    assert_non_null(strstr(order(&copy, "say(os.kill(old, 0))"), "None"));
    assert_int_equal(clear(&h, copy.number), 0);
    assert_int_equal(clear(&h, 0), 1);
    assert_non_null(strstr(order(&copy, "try:\n"
                                        "    while True: os.kill(old, 0)\n"
                                        "except ProcessLookupError: say('gone')"),
                           "gone"));
    drop(&copy);
    leave(&h);
}

static void expect_refused(const struct head *copy, const char *words)
{
    const struct heard *refused = await(WARDEN_REFUSED, copy->number);
    assert_int_equal(refused->event.jail, copy->jail);
    if (strstr(refused->text, words) == NULL)
        fail_msg("'%s' is not '%s'", refused->text, words);
}

/* Whoever writes the byte, only a copy of that jail is adopted. */
static void nobody_is_adopted_in_place_of_a_copy(void **state)
{
    (void)state;
    static const struct {
        const char *code, *words;
    } attempts[] = {
        {"os.write(fds[0], b'c'); keep = fds[0]", "somebody else"},
        {"copy(0)", "or is no child"}, /* a child of the head */
        {"if os.fork() == 0:\n"        /* an orphan: init's, not the warden's */
         "    copy(0)\n"
         "    os._exit(0)\n"
         "os.wait()",
         "or is no child"},
        {"os.close(fds[0])", "ended before"},
        {"keep = fds[0]", "not said anything"},
        {"pid = clone()\n"
         "if pid == 0:\n"
         "    os.write(fds[0], b'c')\n"
         "    os._exit(7)\n"
         "while os.path.exists(f'/proc/{pid}'): time.sleep(0.001)",
         "ended before"},
    };
    struct head h = begin_usual();
    for (size_t i = 0; i < ARRAY_LEN(attempts); i++) {
        struct head copy = order_copy(&h, attempts[i].code);
        if (strstr(attempts[i].code, "keep = fds[0]") != attempts[i].code)
            await_byte(&copy);
        ask_adopt(&copy, WARDEN_CHECKPOINT);
        expect_refused(&copy, attempts[i].words);
        drop(&copy);
    }
    /* No copy has a descriptor to give. */
    struct err e;
    struct head copy = order_copy(&h, "if clone() == 0:\n"
                                      "    out = socket.socket(fileno=fds[0])\n"
                                      "    socket.send_fds(out, [b'c'], [0, 1, 2])\n"
                                      "    while True: signal.pause()\n"
                                      "os.close(fds[0])");
    await_byte(&copy);
    assert_int_equal(
        warden_adopt(here.warden, copy.jail, copy.number, WARDEN_CHECKPOINT, copy.sock, &e), -1);
    assert_int_equal(e.code, ERR_FORBIDDEN);
    drop(&copy);
    leave(&h);
}

static void a_copy_belongs_to_its_own_jail(void **state)
{
    (void)state;
    struct head h = begin_usual(), other = begin_usual();
    struct head copy = order_copy(&h, "copy()");
    await_byte(&copy);
    copy.jail = other.jail;
    ask_adopt(&copy, WARDEN_HEAD);
    expect_refused(&copy, "another jail");
    copy.jail = 4711;
    ask_adopt(&copy, WARDEN_HEAD);
    while (find_room(WARDEN_REFUSED, 4711) == NULL)
        turn(50);
    assert_string_equal(find_room(WARDEN_REFUSED, 4711)->text, "the jail has ended");
    /* Neither has harmed anybody. */
    order(&h, "pass");
    order(&other, "pass");
    drop(&copy);
    leave(&h);
    leave(&other);
}

static void others_in_a_jail_are_left_alone(void **state)
{
    (void)state;
    struct head h = begin_usual();
    struct head joined = begin(h.jail, &JAIL_LIMITS_DEFAULT);
    struct head asleep = make_copy(&h, WARDEN_CHECKPOINT);
    struct head saver = make_copy(&h, WARDEN_SAVER);
    order(&joined, "mine = background()");
    order(&h, "background()");
    assert_int_equal(clear(&h, asleep.number), 1);
    assert_non_null(strstr(order(&joined, "say(os.kill(mine, 0), os.waitpid(mine, os.WNOHANG))"),
                           "None (0, 0)"));
    order(&asleep, "pass");
    order(&saver, "pass");

    /* A copy of the copy becomes the head, and can itself be undone. */
    struct head woken = make_copy(&asleep, WARDEN_HEAD);
    order(&woken, "background()");
    assert_int_equal(clear(&woken, asleep.number), 1);
    assert_int_equal(WTERMSIG(await(WARDEN_EXITED, woken.number)->event.status), SIGKILL);
    order(&joined, "say(os.kill(mine, 0))");
    assert_int_equal(clear(&joined, 0), 1);
    order(&asleep, "pass");
    struct head *heads[] = {&asleep, &saver, &woken};
    for (size_t i = 0; i < ARRAY_LEN(heads); i++)
        drop(heads[i]);
    forget(&joined);
    leave(&h);
}

static void a_fork_bomb_ends_with_its_line(void **state)
{
    (void)state;
    struct jail_limits limits = JAIL_LIMITS_DEFAULT;
    limits.pids = 64;
    struct head h = begin(0, &limits);
    struct head asleep = make_copy(&h, WARDEN_CHECKPOINT);
    say(&h, "os.setsid\n"
            "def bomb():\n"
            "    while True:\n"
            "        try:\n"
            "            if os.fork() == 0: os.setsid()\n"
            "        except OSError: pass\n"
            "signal.signal(signal.SIGCHLD, signal.SIG_IGN)\n"
            "if os.fork() == 0: say('lit')\n" /* a child does: there is one to end */
            "bomb()\n");
    hear(&h, "lit\n");
    turn(20);
    assert_true(clear(&h, asleep.number) > 0);
    await(WARDEN_EXITED, h.number);
    /* Those that are still being buried are gone soon, and nobody comes after them. */
    assert_non_null(strstr(order(&asleep, "end = time.monotonic() + 10\n"
                                          "def others(): return {p for p in os.listdir('/proc')"
                                          " if p.isdigit()} - {'1', str(os.getpid())}\n"
                                          "while others() and time.monotonic() < end: pass\n"
                                          "say('others', others())"),
                           "others set()\n"));
    drop(&asleep);
    leave(&h);
}

static void limits_are_wider_from_the_first_checkpoint_on(void **state)
{
    (void)state;
    if (geteuid() != 0)
        skip(); /* needs a cgroup */
    struct jail_limits limits = JAIL_LIMITS_DEFAULT;
    limits.pids = 8;
    limits.memory_mb = 64;
    limits.checkpoint_mb = 64;
    struct head h = begin(0, &limits);
    static const char fill[] = "pids = []\n"
                               "try:\n"
                               "    while len(pids) < 99: pids.append(background())\n"
                               "except OSError: say('full', len(pids))\n"
                               "for p in pids: os.kill(p, 9)\n"
                               "for p in pids: os.waitpid(p, 0)\n";
    assert_non_null(strstr(order(&h, fill), "full 7\n"));
    order(&h, "a = bytearray(43 << 20)\n"
              "def write(n):\n"
              "    for i in range(0, len(a), 4096): a[i] = n\n"
              "write(1)");
    struct head asleep = make_copy(&h, WARDEN_CHECKPOINT);
    assert_non_null(strstr(order(&h, fill), "full 30\n"));
    order(&h, "write(2)"); /* twice 43 is more than the head alone may have */
    assert_non_null(strstr(order(&asleep, "say(a[0])"), "1\n"));

    /* Three times is too much: the old checkpoint goes, the head does not notice. */
    struct head second = make_copy(&h, WARDEN_CHECKPOINT);
    order(&h, "write(3)");
    const struct heard *ended = await(WARDEN_EXITED, asleep.number);
    assert_int_equal(WTERMSIG(ended->event.status), SIGKILL);
    assert_int_equal(ended->event.oom_kills, 1);

    /* Now the head itself wants too much; what it comes back from stays. */
    say(&h, "b = bytearray(200 << 20)\nfor i in range(0, len(b), 4096): b[i] = 1\n");
    assert_int_equal(await(WARDEN_EXITED, h.number)->event.oom_kills, 2);
    assert_non_null(strstr(order(&second, "say(a[0])"), "2\n"));
    drop(&asleep);
    drop(&second);
    leave(&h);
}

#define RANK "say('rank', open('/proc/self/oom_score_adj').read())"

static void who_is_ended_first_when_memory_runs_out(void **state)
{
    (void)state;
    struct head h = begin_usual();
    assert_non_null(strstr(order(&h, RANK), "rank 200\n"));
    struct head one = make_copy(&h, WARDEN_CHECKPOINT);
    assert_non_null(strstr(order(&one, RANK), "rank 100\n"));
    struct head two = make_copy(&h, WARDEN_CHECKPOINT);
    assert_non_null(strstr(order(&one, RANK), "rank 300\n"));
    assert_non_null(strstr(order(&two, RANK), "rank 100\n"));
    struct head woken = make_copy(&one, WARDEN_HEAD);
    assert_non_null(strstr(order(&woken, RANK), "rank 200\n"));
    struct head saver = make_copy(&two, WARDEN_SAVER);
    assert_non_null(strstr(order(&saver, RANK), "rank 400\n"));
    struct err e;
    assert_int_equal(warden_signal(here.warden, two.number, SIGKILL, &e), 0);
    await(WARDEN_EXITED, two.number);
    assert_non_null(strstr(order(&one, RANK), "rank 100\n"));
    assert_non_null(strstr(order(&h, RANK), "rank 200\n"));
    struct head *heads[] = {&one, &two, &woken, &saver};
    for (size_t i = 0; i < ARRAY_LEN(heads); i++)
        drop(heads[i]);
    leave(&h);
}

/* ---- workspaces that outlive their jail ------------------------------------------------------ */

static bool has_workspace(const char *name)
{
    char path[128];
    snprintf(path, sizeof(path), "%s/workspaces/%s", here.data, name);
    return access(path, F_OK) == 0;
}

static void await_no_workspace(const char *name)
{
    uint64_t end = clock_mono_ms() + PATIENCE_MS;
    while ((has_workspace(name) || has_workspace(".old")) && clock_mono_ms() < end)
        turn(5);
    assert_false(has_workspace(name) || has_workspace(".old"));
}

static struct head enter_named(uint32_t zygote, const char *workspace)
{
    struct head h = {.number = ++here.last_number, .listener = -1};
    struct err e;
    int pair[2];
    h.jail = h.number;
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
    assert_int_equal(warden_enter(here.warden, h.jail, h.number, zygote, workspace,
                                  &JAIL_LIMITS_DEFAULT, pair[1], &e),
                     0);
    close(pair[1]);
    h.sock = pair[0];
    return h;
}

static void destroy_keeping(struct head *h)
{
    struct err e;
    assert_int_equal(warden_destroy(here.warden, h->jail, true, &e), 0);
    await(WARDEN_GONE, h->jail);
    forget(h);
}

static void a_workspace_that_was_kept_is_used_again(void **state)
{
    (void)state;
    uint32_t z = python_zygote(AGENT);
    struct err e;
    struct head first = enter_named(z, "kept");
    order(&first, "open('note', 'w').write('here'); os.mkdir('d'); open('d/x', 'w').close()\n"
                  "os.symlink('/etc/passwd', 'link'); os.chmod('d', 0)");
    destroy_keeping(&first);
    assert_true(has_workspace("kept"));

    struct head again = enter_named(z, "kept");
    assert_non_null(strstr(order(&again, "say(open('note', 'a+').write('!'), os.getcwd())\n"
                                         "os.chmod('d', 0o700); os.unlink('d/x')\n"
                                         "say(os.lstat('link').st_uid, os.listdir('d'))"),
                           "1 /workspace\n1000 []\n"));
    /* Not from under those who use it, and not because a zygote is missing. */
    assert_int_equal(warden_remove_workspace(here.warden, "kept", &e), 0);
    order(&again, "say(open('note').read())");
    destroy_keeping(&again);
    struct head lost = enter_named(4711, "kept");
    await(WARDEN_REFUSED, lost.number);
    forget(&lost);
    assert_true(has_workspace("kept"));
    assert_int_equal(warden_remove_workspace(here.warden, "kept", &e), 0);
    await_no_workspace("kept");
    assert_int_equal(warden_remove_workspace(here.warden, "kept", &e), 0);
    assert_int_equal(warden_remove_workspace(here.warden, "../kept", &e), -1);
    assert_int_equal(warden_remove_workspace(here.warden, ".spare-0", &e), -1);
    assert_int_equal(warden_remove_workspace(here.warden, "", &e), -1);

    /* Wished while the jail is still ending. */
    struct head last = enter_named(z, "kept");
    order(&last, "open('note', 'w').close()");
    assert_int_equal(warden_destroy(here.warden, last.jail, true, &e), 0);
    assert_int_equal(warden_remove_workspace(here.warden, "kept", &e), 0);
    await(WARDEN_GONE, last.jail);
    await_no_workspace("kept");
    forget(&last);
}

/* The user of a slot that somebody else has by now: every file changes hands. */
static void a_workspace_of_another_user_is_handed_over(void **state)
{
    (void)state;
    if (geteuid() != 0)
        skip(); /* everybody is one user */
    uint32_t z = python_zygote(AGENT);
    struct head first = enter_named(z, "handed");
    order(&first, "os.mkdir('d'); open('d/x', 'w').close(); os.symlink('/etc/passwd', 'd/link')");
    destroy_keeping(&first);
    char path[128];
    static const char *const names[] = {"", "/d", "/d/x", "/d/link"};
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        snprintf(path, sizeof(path), "%s/workspaces/handed%s", here.data, names[i]);
        struct stat st;
        assert_int_equal(lstat(path, &st), 0);
        /* As if it had been made by a jail that never was. */
        assert_int_equal(lchown(path, GUARDIAN_ID_BASE + 1, GUARDIAN_ID_BASE + 1), 0);
    }
    struct stat passwd, now;
    assert_int_equal(stat("/etc/passwd", &passwd), 0);
    struct head again = enter_named(z, "handed");
    assert_non_null(strstr(order(&again, "say({os.lstat(p).st_uid for p in"
                                         " ('.', 'd', 'd/x', 'd/link')}, open('d/x', 'w'))"),
                           "{1000} "));
    assert_int_equal(stat("/etc/passwd", &now), 0);
    assert_int_equal(passwd.st_uid, now.st_uid);
    leave(&again);
    assert_false(has_workspace("handed"));
}

/* However many files it has: who comes after it is let in before. */
static void a_handover_holds_up_nobody(void **state)
{
    (void)state;
    if (geteuid() != 0)
        skip();
    char path[128];
    uint32_t z = python_zygote(AGENT);
    struct head first = enter_named(z, "many");
    order(&first, "any(open(f'f{i}', 'w').close() for i in range(30000))");
    destroy_keeping(&first);
    snprintf(path, sizeof(path), "%s/workspaces/many", here.data);
    assert_int_equal(lchown(path, GUARDIAN_ID_BASE + 1, GUARDIAN_ID_BASE + 1), 0);

    struct head many = enter_named(z, "many");
    struct head later = enter_usual(z, 0);
    const struct heard *entered = await(WARDEN_ENTERED, many.number);
    assert_true(await(WARDEN_ENTERED, later.number) < entered);
    order(&many, "assert {os.lstat(p).st_uid for p in os.listdir('.')} == {1000}");
    leave(&later);
    leave(&many);
    assert_false(has_workspace("many"));
}

static int run(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_copy_is_the_wardens_child_and_has_a_number),
        cmocka_unit_test(nobody_is_adopted_in_place_of_a_copy),
        cmocka_unit_test(a_copy_belongs_to_its_own_jail),
        cmocka_unit_test(an_undone_line_takes_along_what_it_started),
        cmocka_unit_test(others_in_a_jail_are_left_alone),
        cmocka_unit_test(a_fork_bomb_ends_with_its_line),
        cmocka_unit_test(who_is_ended_first_when_memory_runs_out),
        cmocka_unit_test(limits_are_wider_from_the_first_checkpoint_on),
        cmocka_unit_test(a_workspace_that_was_kept_is_used_again),
        cmocka_unit_test(a_workspace_of_another_user_is_handed_over),
        cmocka_unit_test(a_handover_holds_up_nobody),
    };
    return cmocka_run_group_tests(tests, start, stop);
}

int main(void)
{
    return run_twice(run);
}
