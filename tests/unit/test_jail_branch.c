/* Rooms: a copy of a session moves into a jail below its own. What it finds there, what it has
 * lost, and what is left when either of them ends. */
#include "warden_world.h"

/* Runs what it is sent, as Python, like a session that copies itself; branch() is what a sleeping
 * copy does when it is woken in a room. */
#define AGENT                                                                                      \
    "import ctypes, os, signal, socket, subprocess, sys, time\n"                                   \
    "libc = ctypes.CDLL(None, use_errno=True)\n"                                                   \
    "enter = ctypes.CDLL('" JAIL_LIB "/libcella_enter.so').cella_enter_room\n"                     \
    "def say(*words): out.sendall((' '.join(map(str, words)) + '\\n').encode())\n"                 \
    "def status(name):\n"                                                                          \
    "    for line in open('/proc/self/status'):\n"                                                 \
    "        if line.startswith(name + ':'): return line.split()[1:]\n"                            \
    "def can_write(path):\n"                                                                       \
    "    try:\n"                                                                                   \
    "        with open(path + '/probe', 'w') as f: f.write('x')\n"                                 \
    "        return 'yes'\n"                                                                       \
    "    except OSError as error: return error.strerror\n"                                         \
    "def branch():\n"                                                                              \
    "    if libc.syscall(56, 0x8000 | 17, 0, 0, 0, 0) == 0:\n"                                     \
    "        r = enter(fds[1])\n"                                                                  \
    "        if r != 0: os.write(fds[0], b'x%d' % -r); os._exit(1)\n"                              \
    "        os.setsid(); libc.prctl(4, 1, 0, 0, 0)\n"                                             \
    "        os.write(fds[0], b'h')\n"                                                             \
    "        serve(fds[0])\n"                                                                      \
    "    for fd in fds: os.close(fd)\n"                                                            \
    "def background():\n"                                                                          \
    "    pid = os.fork()\n"                                                                        \
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

static struct head begin_with(const struct jail_limits *limits)
{
    static uint32_t zygote;
    if (zygote == 0)
        zygote = python_zygote(AGENT);
    struct head h = enter(zygote, 0, limits);
    await(WARDEN_ENTERED, h.number);
    return h;
}

static struct head begin(void)
{
    return begin_with(&JAIL_LIMITS_DEFAULT);
}

/* Has it done, and gives back what it said. */
static const char *order(struct head *h, const char *code)
{
    h->len = 0;
    h->heard[0] = '\0';
    say(h, code);
    return hear(h, "did it\n");
}

static bool says(struct head *h, const char *code, const char *words)
{
    const char *said = order(h, code);
    if (strstr(said, words) == NULL)
        print_error("not '%s' but '%s'\n", words, said);
    return strstr(said, words) != NULL;
}

static struct head wake_in(struct head *of, uint64_t jail, int key)
{
    struct head copy = {.number = ++here.last_number, .jail = jail, .listener = INT32_MAX};
    int pair[2];
    struct err e;
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
    assert_int_equal(setsockopt(pair[0], SOL_SOCKET, SO_PASSCRED, &(int){1}, sizeof(int)), 0);
    copy.sock = pair[0];
    of->len = 0;
    of->heard[0] = '\0';
    assert_true(fd_send(of->sock, "branch()", 8, (const int[]){pair[1], key}, 2) > 0);
    close(pair[1]);
    close(key);
    hear(of, "did it\n");
    struct pollfd wait = {.fd = copy.sock, .events = POLLIN};
    assert_int_equal(poll(&wait, 1, PATIENCE_MS), 1);
    assert_int_equal(warden_adopt(here.warden, jail, copy.number, WARDEN_HEAD, copy.sock, &e), 0);
    while (!find(WARDEN_ENTERED, copy.number)) {
        const struct heard *refused = find(WARDEN_REFUSED, copy.number);
        if (refused != NULL)
            fail_msg("%s", refused->text);
        turn(50);
    }
    assert_int_equal(find(WARDEN_ENTERED, copy.number)->event.jail, jail);
    return copy;
}

static struct head branch(struct head *of)
{
    uint64_t jail = ++here.last_number;
    ask_room(of->jail, jail, &JAIL_LIMITS_DEFAULT);
    int key = await_room(jail);
    if (key < 0)
        fail_msg("%s", find_room(WARDEN_REFUSED, jail)->text);
    return wake_in(of, jail, key);
}

static void drop(struct head *h)
{
    if (h->listener == INT32_MAX)
        h->listener = -1;
    forget(h);
}

/* ---- tests ----------------------------------------------------------------------------------- */

static void a_branch_has_the_state_and_a_jail_of_its_own(void **state)
{
    (void)state;
    struct head h = begin();
    order(&h, "x = [1, 2]; g = (n * n for n in range(9)); next(g); next(g)\n"
              "open('/workspace/mine', 'w').close(); open('/tmp/mine', 'w').close()\n"
              "server = socket.socket(); server.bind(('127.0.0.1', 7777)); server.listen()");
    struct head b = branch(&h);
    struct head c = branch(&h);
    /* State. */
    assert_true(says(&b, "x.append(3); say(x, next(g))", "[1, 2, 3] 4"));
    assert_true(says(&c, "say(x, next(g))", "[1, 2] 4"));
    assert_true(says(&h, "say(x, next(g))", "[1, 2] 4"));
    /* Files. */
    assert_true(says(&b, "say(os.getcwd(), os.listdir('/workspace') + os.listdir('/tmp'))",
                     "/workspace []"));
    order(&b, "open('theirs', 'w').close()");
    assert_true(says(&c, "say(os.listdir('/workspace'))", "[]"));
    assert_true(says(&h, "say(os.listdir('/workspace'))", "['mine']"));
    /* Processes: pid 1 is init's, and nobody else is there. */
    assert_true(says(&b, "say(sorted(p for p in os.listdir('/proc') if p.isdigit()), os.getppid())",
                     "['2'] 0"));
    /* The network. */
    assert_true(says(&b, "say(socket.socket().connect_ex(('127.0.0.1', 7777)))", "111"));
    struct head *all[] = {&b, &c, &h};
    for (size_t i = 0; i < ARRAY_LEN(all); i++) {
        destroy(all[i]->jail);
        drop(all[i]);
    }
}

static void the_walls_of_a_branch_stand(void **state)
{
    (void)state;
    struct head h = begin();
    struct head b = branch(&h);
    const char *marks = "for name in 'CapInh CapPrm CapEff CapBnd CapAmb NoNewPrivs Seccomp Uid"
                        "'.split(): say(name, *status(name)[:1])";
    assert_true(says(&b, marks,
                     "CapInh 0000000000000000\nCapPrm 0000000000000000\nCapEff 0000000000000000\n"
                     "CapBnd 0000000000000000\nCapAmb 0000000000000000\nNoNewPrivs 1\nSeccomp 2\n"
                     "Uid 1000\n"));
    /* Landlock's rules reach the room's own places and nothing else. */
    assert_true(says(&b,
                     "for path in '/workspace /tmp /dev/shm / /etc /usr/bin /dev /cella /proc /run'"
                     ".split(): say(path, can_write(path))",
                     "/workspace yes\n/tmp yes\n/dev/shm yes\n/ Read-only file system\n"
                     "/etc Read-only file system\n/usr/bin "));
    assert_null(strstr(b.heard, "bin yes"));
    assert_null(strstr(b.heard, "cella yes"));
    assert_null(strstr(b.heard, "run yes"));
    assert_true(says(&b,
                     "os.makedirs('/workspace/a/b'); os.rename('/workspace/a/b', '/workspace/c')\n"
                     "say(open('/dev/null', 'w').write('x'), open('/dev/urandom', 'rb').read(0),"
                     " subprocess.run(['ls', '/workspace'], capture_output=True).stdout)",
                     "1 b'' b'a\\nc\\nprobe\\n'"));
    /* It cannot go back up, nor over to another one. */
    order(&h, "up = [os.open(f'/proc/self/ns/{n}', os.O_RDONLY)"
              " for n in 'user pid mnt net ipc uts cgroup'.split()]");
    struct head c = branch(&h);
    assert_true(says(&c,
                     "for fd, flag in zip(up, (0x10000000, 0x20000000, 0x20000, 0x40000000,"
                     " 0x8000000, 0x4000000, 0x2000000)):\n"
                     "    say(libc.setns(fd, flag))\n"
                     "say(libc.setns(up[0], 0))",
                     "-1\n-1\n-1\n-1\n-1\n-1\n-1\n-1\n"));
    struct head *all[] = {&b, &c, &h};
    for (size_t i = 0; i < ARRAY_LEN(all); i++) {
        destroy(all[i]->jail);
        drop(all[i]);
    }
}

static void a_key_opens_one_room_once(void **state)
{
    (void)state;
    struct head h = begin();
    uint64_t jail = ++here.last_number;
    ask_room(h.jail, jail, &JAIL_LIMITS_DEFAULT);
    int key = await_room(jail);
    int again = fcntl(key, F_DUPFD_CLOEXEC, 0);
    struct head b = wake_in(&h, jail, key);
    int pair[2];
    char heard[16] = "";
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
    assert_true(fd_send(h.sock, "branch()", 8, (const int[]){pair[1], again}, 2) > 0);
    close(pair[1]);
    close(again);
    assert_true(recv(pair[0], heard, sizeof(heard) - 1, 0) > 1);
    assert_int_equal(heard[0], 'x');
    close(pair[0]);
    destroy(b.jail);
    destroy(h.jail);
    drop(&b);
    drop(&h);
}

static void a_branch_outlives_its_source(void **state)
{
    (void)state;
    struct head h = begin();
    order(&h, "pid = background()");
    struct head b = branch(&h);
    struct head c = branch(&b); /* a branch of a branch */
    destroy(h.jail);
    assert_int_equal(WTERMSIG(find(WARDEN_EXITED, h.number)->event.status), SIGKILL);
    assert_true(says(&b, "say(6 * 7, open('/workspace/x', 'w').write('x'))", "42 1"));
    destroy(b.jail);
    assert_true(says(&c, "say(6 * 7, open('/workspace/x', 'w').write('x'))", "42 1"));
    /* And can be branched itself. */
    struct head d = branch(&c);
    assert_true(says(&d, "say(6 * 7)", "42"));
    destroy(c.jail);
    destroy(d.jail);
    struct head *all[] = {&h, &b, &c, &d};
    for (size_t i = 0; i < ARRAY_LEN(all); i++)
        drop(all[i]);
}

static void clearing_a_source_spares_its_branches(void **state)
{
    (void)state;
    struct err e;
    struct head h = begin();
    struct head b = branch(&h);
    order(&h, "background()");
    assert_int_equal(warden_clear(here.warden, h.number, h.jail, 0, &e), 0);
    assert_int_equal(await(WARDEN_CLEARED, h.number)->event.bytes, 1);
    await(WARDEN_EXITED, h.number);
    assert_true(says(&b, "say(6 * 7)", "42"));
    order(&b, "background()");
    assert_int_equal(warden_clear(here.warden, b.number, b.jail, 0, &e), 0);
    assert_int_equal(await(WARDEN_CLEARED, b.number)->event.bytes, 1);
    destroy(b.jail);
    destroy(h.jail);
    drop(&h);
    drop(&b);
}

static void a_room_has_limits_of_its_own(void **state)
{
    (void)state;
    if (geteuid() != 0)
        skip(); /* it needs a cgroup */
    struct jail_limits limits = JAIL_LIMITS_DEFAULT;
    limits.pids = 12;
    limits.memory_mb = 64;
    struct head h = begin();
    order(&h, "for i in range(20): background()");
    uint64_t jail = ++here.last_number;
    ask_room(h.jail, jail, &limits);
    struct head b = wake_in(&h, jail, await_room(jail));
    assert_true(says(&b,
                     "try:\n"
                     "    for i in range(20): background()\n"
                     "except BlockingIOError: say('full after', i)",
                     "full after 11"));
    say(&b, "x = bytearray(100 << 20)\n");
    const struct heard *exited = await(WARDEN_EXITED, b.number);
    assert_int_equal(WTERMSIG(exited->event.status), SIGKILL);
    assert_true(exited->event.oom_kills > 0);
    assert_true(exited->event.pids_refused > 0);
    assert_true(says(&h, "say(background() > 0)", "True"));
    destroy(jail);
    destroy(h.jail);
    drop(&b);
    drop(&h);
}

/* Files without a name are found in /proc, where a source sees its branches too. */
static void a_branch_has_a_quota_of_its_own(void **state)
{
    (void)state;
    struct err e;
    struct jail_limits limits = JAIL_LIMITS_DEFAULT;
    limits.disk_mb = 16;
    struct head h = begin_with(&limits);
    uint64_t jail = ++here.last_number;
    ask_room(h.jail, jail, &limits);
    struct head b = wake_in(&h, jail, await_room(jail));
    order(&b,
          "files = [open(str(i), 'wb') for i in range(3)]\n"
          "for i, f in enumerate(files): os.unlink(str(i)); f.write(bytes(10 << 20)); f.flush()");
    assert_int_equal(warden_watch(here.warden, h.jail, true, &e), 0);
    assert_int_equal(warden_watch(here.warden, b.jail, true, &e), 0);
    while (find_room(WARDEN_OVER_QUOTA, b.jail) == NULL)
        turn(20);
    assert_true(find_room(WARDEN_OVER_QUOTA, b.jail)->event.bytes >= 30 * MIB);
    assert_null(find_room(WARDEN_OVER_QUOTA, h.jail));
    assert_true(says(&h, "say(open('/workspace/x', 'w').write('x'))", "1"));
    destroy(b.jail);
    destroy(h.jail);
    drop(&b);
    drop(&h);
}

static void rooms_that_nobody_enters_leave_nothing(void **state)
{
    (void)state;
    struct err e;
    struct head h = begin();
    uint64_t jail = ++here.last_number, gone = ++here.last_number, orphan = ++here.last_number;
    ask_room(h.jail, jail, &JAIL_LIMITS_DEFAULT);
    close(await_room(jail));
    destroy(jail);
    /* Destroyed while it is being built. */
    ask_room(h.jail, gone, &JAIL_LIMITS_DEFAULT);
    assert_int_equal(warden_destroy(here.warden, gone, false, &e), 0);
    await(WARDEN_GONE, gone);
    /* A source that is not there, or not any more. */
    ask_room(4711, orphan, &JAIL_LIMITS_DEFAULT);
    assert_int_equal(await_room(orphan), -1);
    destroy(h.jail);
    ask_room(h.jail, ++here.last_number, &JAIL_LIMITS_DEFAULT);
    assert_int_equal(await_room(here.last_number), -1);
    assert_int_equal(find_room(WARDEN_REFUSED, here.last_number)->event.head, 0);
    drop(&h);
}

static void branches_of_branches_have_an_end(void **state)
{
    (void)state;
    if (geteuid() == 0)
        skip(); /* it has been shown as an ordinary user */
    struct head heads[32];
    size_t n = 0;
    heads[n++] = begin();
    uint64_t jail;
    int key;
    for (;;) {
        jail = ++here.last_number;
        ask_room(heads[n - 1].jail, jail, &JAIL_LIMITS_DEFAULT);
        key = await_room(jail);
        if (key < 0)
            break;
        heads[n] = wake_in(&heads[n - 1], jail, key);
        n++;
    }
    assert_int_equal(n, 31);
    assert_non_null(strstr(find_room(WARDEN_REFUSED, jail)->text, "30 deep"));
    assert_true(says(&heads[n - 1], "say(6 * 7)", "42"));
    for (size_t i = 0; i < n; i++) /* from above: all but the last become hollow */
        destroy(heads[i].jail);
    for (size_t i = 0; i < n; i++)
        drop(&heads[i]);
}

/* Groups of jails in those of our child, the guardian; the path has its pid at the end. */
static size_t count_groups(const char *parent)
{
    size_t count = 0;
    DIR *dir = opendir(parent);
    struct dirent *entry;
    while (dir != NULL && (entry = readdir(dir)) != NULL)
        count += strncmp(entry->d_name, "jail-", 5) == 0;
    if (dir != NULL)
        closedir(dir);
    return count;
}

/* `ret_places`: how many folders there are for such groups. */
static size_t count_all_groups(size_t *ret_places)
{
    static const char *const mounts[] = {"/sys/fs/cgroup", "/sys/fs/cgroup/memory",
                                         "/sys/fs/cgroup/pids", "/sys/fs/cgroup/cpu"};
    char path[512], children[256] = "";
    size_t count = *ret_places = 0;
    snprintf(path, sizeof(path), "/proc/self/task/%d/children", (int)getpid());
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0 && read(fd, children, sizeof(children) - 1) > 0);
    close(fd);
    char *rest = NULL;
    for (char *pid = strtok_r(children, " ", &rest); pid; pid = strtok_r(NULL, " ", &rest))
        for (size_t i = 0; i < ARRAY_LEN(mounts); i++) {
            snprintf(path, sizeof(path), "%s/cella-%s", mounts[i], pid);
            count += count_groups(path);
            *ret_places += access(path, F_OK) == 0;
        }
    return count;
}

static void when_all_are_destroyed_nothing_is_left(void **state)
{
    (void)state;
    enum { USUAL = 1 + 2 }; /* a head's, and those that are made ahead when it is quiet */
    size_t places;
    struct head h = begin();
    struct head b = branch(&h);
    struct head c = branch(&b);
    uint64_t end = clock_mono_ms() + PATIENCE_MS;
    while (count_all_groups(&places) <= places * USUAL && geteuid() == 0) {
        assert_true(clock_mono_ms() < end);
        turn(20);
    }
    assert_true(places > 0 || geteuid() != 0);
    destroy(h.jail);
    destroy(b.jail);
    destroy(c.jail); /* the last one takes the inits of the others along */
    struct head again = begin();
    end = clock_mono_ms() + PATIENCE_MS;
    while (count_all_groups(&places) > places * USUAL) {
        assert_true(clock_mono_ms() < end);
        turn(20);
    }
    destroy(again.jail);
    struct head *all[] = {&h, &b, &c, &again};
    for (size_t i = 0; i < ARRAY_LEN(all); i++)
        drop(all[i]);
}

static int run(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_branch_has_the_state_and_a_jail_of_its_own),
        cmocka_unit_test(the_walls_of_a_branch_stand),
        cmocka_unit_test(a_key_opens_one_room_once),
        cmocka_unit_test(a_branch_outlives_its_source),
        cmocka_unit_test(clearing_a_source_spares_its_branches),
        cmocka_unit_test(a_room_has_limits_of_its_own),
        cmocka_unit_test(a_branch_has_a_quota_of_its_own),
        cmocka_unit_test(rooms_that_nobody_enters_leave_nothing),
        cmocka_unit_test(branches_of_branches_have_an_end),
        cmocka_unit_test(when_all_are_destroyed_nothing_is_left),
    };
    return cmocka_run_group_tests(tests, start, stop);
}

int main(void)
{
    return run_twice(run);
}
