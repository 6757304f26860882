/* What the warden does with heads of all kinds; the world they live in is warden_world.h's. */
#include "jail/denied.h"
#include "warden_world.h"

/* ---- tests ----------------------------------------------------------------------------------- */

static void a_program_starts_in_a_clean_world(void **state)
{
    (void)state;
    uint32_t z =
        shell_zygote("echo \"cwd=$PWD umask=$(umask) uid=$UID pid1=$(ls -d /proc/1 2>&1)\" "
                     ">&3; ls -l /proc/self/fd | sed 's/.* \\([0-9]* ->\\)/\\1/' >&3;"
                     "grep -E 'Sig(Blk|Ign|Cgt)|NoNewPrivs|Seccomp:|CapEff' "
                     "/proc/self/status >&3; env | sort >&3; echo end >&3");
    struct head h = enter_usual(z, 0);
    const char *text = hear(&h, "end\n");
    assert_non_null(strstr(text, "cwd=/workspace umask=0022 uid=1000"));
    assert_non_null(strstr(text, "0 -> /dev/null"));
    assert_non_null(strstr(text, "2 -> /dev/null"));
    assert_null(strstr(text, "5 -> "));
    assert_non_null(strstr(text, "SigBlk:\t0000000000000000\n"));
    assert_non_null(strstr(text, "SigIgn:\t0000000000000000\n"));
    assert_non_null(strstr(text, "CapEff:\t0000000000000000\n"));
    assert_non_null(strstr(text, "NoNewPrivs:\t1\n"));
    assert_non_null(strstr(text, "Seccomp:\t2\n"));
    assert_non_null(strstr(text, "TERM=dumb\n"));
    assert_null(strstr(text, "NODE_PATH"));
    const struct heard *exited = await(WARDEN_EXITED, h.number);
    assert_int_equal(exited->event.status, 0);
    assert_int_equal(exited->event.jail, h.jail);
    destroy(h.jail);
    forget(&h);
}

static void a_program_that_is_missing_is_named(void **state)
{
    (void)state;
    uint32_t z = zygote_of((const char *[]){JAIL_LIB "/launch", "/usr/bin/no-such-node", NULL});
    const struct heard *exited = await(WARDEN_ZYGOTE_EXITED, z);
    assert_int_equal(WEXITSTATUS(exited->event.status), 127);
    assert_string_equal(exited->text,
                        "cannot start /usr/bin/no-such-node: No such file or directory\n");
}

static void a_program_that_cannot_be_started_says_so_on_its_socket(void **state)
{
    (void)state;
    uint32_t z =
        zygote_of((const char *[]){JAIL_LIB "/launch", JAIL_LIB "/python/zygote.py", NULL});
    await(WARDEN_ZYGOTE_READY, z);
    struct head h = enter_usual(z, 0);
    const struct heard *exited = await(WARDEN_EXITED, h.number);
    assert_int_equal(WEXITSTATUS(exited->event.status), 127);
    hear(&h, NULL);
    assert_string_equal(h.heard + 4, "{\"ev\":\"fatal\",\"message\":\"cannot start " JAIL_LIB
                                     "/python/zygote.py: Exec format error\"}");
    destroy(h.jail);
    forget(&h);
}

static void heads_share_a_jail_and_leave_it_one_by_one(void **state)
{
    (void)state;
    uint32_t z = shell_zygote("echo up >&3; read -u 3 line; eval \"$line\" >&3; echo done >&3;"
                              "read -u 3 line; exit 7");
    struct head first = enter_usual(z, 0);
    hear(&first, "up\n");
    await(WARDEN_ENTERED, first.number);
    struct head second = enter_usual(z, first.jail);
    struct head third = enter_usual(z, first.jail);
    hear(&second, "up\n");
    hear(&third, "up\n");
    assert_int_equal(await(WARDEN_ENTERED, second.number)->event.jail, first.jail);

    say(&first, "echo hello > note\n");
    hear(&first, "done\n");
    say(&second, "cat note; ls /proc | grep -c '^[0-9]'\n");
    assert_non_null(strstr(hear(&second, "done\n"), "hello\n"));
    say(&third, "true\n");
    hear(&third, "done\n");

    /* The founder goes, the others stay. */
    say(&first, "go\n");
    assert_int_equal(WEXITSTATUS(await(WARDEN_EXITED, first.number)->event.status), 7);
    assert_null(find(WARDEN_EXITED, second.number));

    /* One is signalled, the other is not. */
    struct err e;
    assert_int_equal(warden_signal(here.warden, second.number, SIGTERM, &e), 0);
    assert_int_equal(WTERMSIG(await(WARDEN_EXITED, second.number)->event.status), SIGTERM);
    assert_non_null(find(WARDEN_SIGNALED, second.number));
    assert_null(find(WARDEN_EXITED, third.number));

    /* A jail that was left by some can be joined by others. */
    struct head fourth = enter_usual(z, first.jail);
    hear(&fourth, "up\n");
    destroy(first.jail);
    assert_int_equal(WTERMSIG(find(WARDEN_EXITED, third.number)->event.status), SIGKILL);
    assert_int_equal(WTERMSIG(find(WARDEN_EXITED, fourth.number)->event.status), SIGKILL);
    struct head *heads[] = {&first, &second, &third, &fourth};
    for (size_t i = 0; i < ARRAY_LEN(heads); i++)
        forget(heads[i]);
}

static void an_empty_jail_can_be_joined_until_it_is_destroyed(void **state)
{
    (void)state;
    uint32_t z = shell_zygote("cat note >&3 2>/dev/null; echo $$ > note; echo up >&3");
    struct head first = enter_usual(z, 0);
    await(WARDEN_EXITED, first.number);
    struct head second = enter_usual(z, first.jail);
    assert_true(strlen(hear(&second, "up\n")) > strlen("up\n"));
    await(WARDEN_EXITED, second.number);
    destroy(first.jail);
    forget(&first);
    forget(&second);
}

static void who_cannot_join_is_refused_alone(void **state)
{
    (void)state;
    uint32_t z = shell_zygote("echo up >&3; read -u 3 line; echo still >&3; read -u 3 line");
    struct head first = enter_usual(z, 0);
    hear(&first, "up\n");
    struct head stranger = enter_usual(4711, first.jail); /* no such zygote */
    const struct heard *refused = await(WARDEN_REFUSED, stranger.number);
    assert_int_equal(refused->event.jail, first.jail);
    assert_true(refused->text[0] != '\0');
    say(&first, "\n");
    hear(&first, "still\n");

    /* The zygote ends with a fork under way: whatever comes of it, the jail stays. */
    uint32_t dying = shell_zygote("echo up >&3; read -u 3 line");
    struct err e;
    assert_int_equal(warden_stop_zygote(here.warden, dying, &e), 0);
    struct head late = enter_usual(dying, first.jail);
    await(WARDEN_ZYGOTE_EXITED, dying);
    while (!find(WARDEN_REFUSED, late.number) && !find(WARDEN_ENTERED, late.number))
        turn(50);
    assert_null(find(WARDEN_EXITED, first.number));
    destroy(first.jail);
    struct head *heads[] = {&first, &stranger, &late};
    for (size_t i = 0; i < ARRAY_LEN(heads); i++)
        forget(heads[i]);
}

static void a_head_that_ends_at_once_is_no_stranger(void **state)
{
    (void)state;
    uint32_t z = shell_zygote("exit 3");
    struct head keeper = enter_usual(shell_zygote("echo up >&3; read -u 3 line"), 0);
    hear(&keeper, "up\n");
    for (int i = 0; i < 20; i++) {
        struct head h = enter_usual(z, keeper.jail);
        assert_int_equal(WEXITSTATUS(await(WARDEN_EXITED, h.number)->event.status), 3);
        assert_non_null(find(WARDEN_ENTERED, h.number));
        forget(&h);
    }
    destroy(keeper.jail);
    forget(&keeper);
}

static void cpu_time_has_an_end(void **state)
{
    (void)state;
    if (geteuid() == 0)
        skip(); /* it has been shown as an ordinary user, and takes its time */
    struct jail_limits limits = JAIL_LIMITS_DEFAULT;
    limits.cpu_seconds = 1;
    uint32_t z = shell_zygote("ulimit -S -t >&3; ulimit -H -t >&3; while :; do :; done");
    struct head h = enter(z, 0, &limits);
    assert_string_equal(hear(&h, "1\n2\n"), "1\n2\n");
    assert_int_equal(WTERMSIG(await(WARDEN_EXITED, h.number)->event.status), SIGXCPU);
    destroy(h.jail);
    forget(&h);
}

/* ---- denied system calls --------------------------------------------------------------------- */

struct denials {
    unsigned count;
    char names[256]; /* the first ones, a blank after each */
};

static void on_denied(void *context, const char *call)
{
    struct denials *d = context;
    size_t len = strlen(d->names);
    d->count++;
    snprintf(d->names + len, sizeof(d->names) - len, "%s ", call);
}

#define PYTHON_CALL                                                                                \
    "import ctypes, errno, os, socket, threading, time\n"                                          \
    "libc = ctypes.CDLL(None, use_errno=True)\n"                                                   \
    "def call(*args):\n"                                                                           \
    "    r = libc.syscall(*args)\n"                                                                \
    "    return errno.errorcode[ctypes.get_errno()] if r < 0 else r\n"                             \
    "def say(*words): os.write(3, (' '.join(map(str, words)) + '\\n').encode())\n"

static void await_words(struct head *h, const char *words)
{
    uint64_t end = clock_mono_ms() + PATIENCE_MS;
    while (strstr(h->heard, words) == NULL && clock_mono_ms() < end) {
        turn(5);
        hear_more(h);
    }
    assert_non_null(strstr(h->heard, words));
}

static void what_is_denied_is_told_by_name(void **state)
{
    (void)state;
    uint32_t z = python_zygote(
        PYTHON_CALL "say('up', os.read(3, 1))\n"
                    "say(call(272, 0x10000000), call(165, 0, 0, 0, 0, 0), call(101, 0))\n"
                    "say(call(56, 0x10000011, 0, 0, 0, 0))\n"
                    "say(call(435, 0, 0), call(425, 1, 0), call(251, 1, 0, 0), 'done')\n"
                    "os.read(3, 1)\n"
                    "say('nobody', call(272, 0x10000000))\n");
    struct head h = enter_usual(z, 0);
    while (h.listener < 0)
        hear_more(&h);
    struct denials denials = {0};
    struct denied *d = denied_new(&here.loop, h.listener, 0, on_denied, &denials);
    assert_non_null(d);
    say(&h, "x");
    await_words(&h, "done\n");
    assert_non_null(strstr(h.heard, "EPERM EPERM EPERM\nEPERM\nENOSYS ENOSYS EPERM done"));
    assert_string_equal(denials.names, "unshare mount ptrace clone ");
    denied_free(d);
    say(&h, "x");
    await_words(&h, "nobody ENOSYS\n");
    await(WARDEN_EXITED, h.number);
    destroy(h.jail);
    close(h.sock);
}

/* Who asks again and again waits; who listens does not work. */
static void a_flood_of_denied_calls_is_slow(void **state)
{
    (void)state;
    uint32_t z =
        python_zygote(PYTHON_CALL "def ask():\n"
                                  "    while True: call(272, 0x10000000)\n"
                                  "for i in range(16): threading.Thread(target=ask).start()\n"
                                  "say('up')\n");
    struct head h = enter_usual(z, 0);
    while (h.listener < 0)
        hear_more(&h);
    struct denials denials = {0};
    uint64_t start = clock_mono_ms(), spent_ms = 0;
    struct denied *d = denied_new(&here.loop, h.listener, 0, on_denied, &denials);
    await_words(&h, "up\n");
    while (spent_ms < 700 || (denials.count < DENIED_BURST && spent_ms < PATIENCE_MS)) {
        turn(10);
        spent_ms = clock_mono_ms() - start;
    }
    assert_true(denials.count >= DENIED_BURST);
    assert_true(denials.count <= DENIED_BURST + (spent_ms + 1) * DENIED_PER_SECOND / 1000);
    /* Those who wait can be ended. */
    struct err e;
    assert_int_equal(warden_signal(here.warden, h.number, SIGKILL, &e), 0);
    assert_int_equal(WTERMSIG(await(WARDEN_EXITED, h.number)->event.status), SIGKILL);
    destroy(h.jail);
    turn(200);
    denied_free(d);
    close(h.sock);
}

static void only_a_listener_is_listened_to(void **state)
{
    (void)state;
    struct denials denials = {0};
    int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    assert_null(denied_new(&here.loop, null, 0, on_denied, &denials));
    assert_int_equal(fcntl(null, F_GETFD), -1);
}

/* Needs a cgroup, which an ordinary user may not have. */
static void an_end_tells_what_was_used_and_refused(void **state)
{
    (void)state;
    if (geteuid() != 0)
        skip();
    struct jail_limits limits = JAIL_LIMITS_DEFAULT;
    limits.pids = 8;
    uint32_t z = python_zygote("import os, time\n"
                               "used = bytearray(30 << 20)\n"
                               "try:\n"
                               "    for i in range(20):\n"
                               "        if os.fork() == 0: time.sleep(60)\n"
                               "except BlockingIOError: os.write(3, b'full after %d' % i)\n");
    struct head h = enter(z, 0, &limits);
    hear(&h, "full after 7");
    const struct heard *exited = await(WARDEN_EXITED, h.number);
    assert_true(exited->event.peak_bytes > 30 * MIB);
    assert_true(exited->event.peak_bytes < 512 * MIB);
    assert_int_equal(exited->event.pids_refused, 1);
    assert_int_equal(exited->event.oom_kills, 0);
    destroy(h.jail);
    forget(&h);
}

/* The only child of the only thread of a process. */
static pid_t child_of(pid_t pid)
{
    char path[64];
    _free_ char *text = NULL;
    snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)pid, (int)pid);
    assert_int_equal(fd_read_file(AT_FDCWD, path, 4 * KIB, &text, NULL), 0);
    pid_t child = (pid_t)strtol(text, NULL, 10);
    assert_true(child > 0);
    return child;
}

static void the_end_of_a_warden_is_followed_by_another(void **state)
{
    (void)state;
    struct err e;
    struct head h = enter_usual(shell_zygote("echo up >&3; read -u 3 line"), 0);
    hear(&h, "up\n");
    assert_int_equal(kill(child_of(child_of(getpid())), SIGKILL), 0);
    assert_false(await(WARDEN_LOST, 0)->event.is_final);
    hear(&h, NULL); /* its end */
    assert_int_equal(warden_watch(here.warden, h.jail, true, &e), -1);
    assert_int_equal(e.code, ERR_UNAVAILABLE);
    await(WARDEN_BACK, 0);

    /* It knows of nothing, and can do everything; what the old one left is ours to remove. */
    assert_int_equal(warden_signal(here.warden, h.number, SIGTERM, &e), 0);
    uint32_t z = shell_zygote("echo up >&3; read -u 3 line");
    struct head again = enter_usual(z, 0);
    hear(&again, "up\n");
    destroy(again.jail);
    char path[128];
    snprintf(path, sizeof(path), "%s/workspaces/ws-%llu", here.data, (unsigned long long)h.jail);
    assert_int_equal(access(path, F_OK), 0);
    assert_int_equal(rmdir(path), 0);
    forget(&again);
    forget(&h);
}

static int run(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_program_starts_in_a_clean_world),
        cmocka_unit_test(a_program_that_is_missing_is_named),
        cmocka_unit_test(a_program_that_cannot_be_started_says_so_on_its_socket),
        cmocka_unit_test(heads_share_a_jail_and_leave_it_one_by_one),
        cmocka_unit_test(an_empty_jail_can_be_joined_until_it_is_destroyed),
        cmocka_unit_test(who_cannot_join_is_refused_alone),
        cmocka_unit_test(a_head_that_ends_at_once_is_no_stranger),
        cmocka_unit_test(cpu_time_has_an_end),
        cmocka_unit_test(an_end_tells_what_was_used_and_refused),
        cmocka_unit_test(what_is_denied_is_told_by_name),
        cmocka_unit_test(a_flood_of_denied_calls_is_slow),
        cmocka_unit_test(only_a_listener_is_listened_to),
        cmocka_unit_test(the_end_of_a_warden_is_followed_by_another),
    };
    return cmocka_run_group_tests(tests, start, stop);
}

int main(void)
{
    return run_twice(run);
}
