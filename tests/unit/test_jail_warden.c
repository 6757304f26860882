/* A real warden with real jails: heads that come and go. The heads are shell scripts that say on
 * their session's socket what they see; started by root the whole is shown twice, the first time as
 * an ordinary user. */
#include "base/clock.h"
#include "base/fd.h"
#include "jail/denied.h"
#include "jail/warden.h"
#include "loop/loop.h"
#include "unit.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <uv.h>

enum { WITHIN_MS = 20000, EVENTS_MAX = 256, HEARD_MAX = 8192, ORDINARY_UID = 54321 };

struct heard {
    struct warden_event event;
    char text[512];
};

static struct {
    char data[64];
    uv_loop_t loop;
    struct warden *warden;
    struct heard events[EVENTS_MAX]; /* all, oldest first */
    size_t n_events;
    uint64_t last_number; /* of jails and heads */
    uint32_t last_zygote;
} here;

/* ---- a warden for all tests ------------------------------------------------------------------ */

static void on_event(void *context, const struct warden_event *event)
{
    (void)context;
    assert_true(here.n_events < EVENTS_MAX);
    struct heard *h = &here.events[here.n_events++];
    h->event = *event;
    snprintf(h->text, sizeof(h->text), "%s", event->text);
}

static int start(void **state)
{
    (void)state;
    snprintf(here.data, sizeof(here.data), "/tmp/cella-warden-XXXXXX");
    assert_non_null(mkdtemp(here.data));
    struct warden_config config = {.data_dir = here.data, .read_only_dirs = (const char *[]){NULL}};
    struct err e;
    if (warden_start(&config, &here.warden, &e) < 0)
        fail_msg("%s", e.message);
    assert_int_equal(uv_loop_init(&here.loop), 0);
    warden_attach(here.warden, &here.loop, on_event, NULL);
    return 0;
}

static void remove_empty(const char *path)
{
    DIR *dir = opendir(path);
    assert_non_null(dir);
    struct dirent *entry;
    while ((entry = readdir(dir)) != NULL)
        if (!fd_is_dots(entry->d_name))
            assert_int_equal(unlinkat(dirfd(dir), entry->d_name, AT_REMOVEDIR), 0);
    closedir(dir);
}

static int stop(void **state)
{
    (void)state;
    char path[128];
    warden_free(here.warden);
    uv_run(&here.loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&here.loop), 0);
    snprintf(path, sizeof(path), "%s/workspaces", here.data);
    remove_empty(path); /* of jails that nobody entered */
    assert_int_equal(rmdir(path), 0);
    assert_int_equal(rmdir(here.data), 0);
    return 0;
}

static const struct heard *find(enum warden_event_type type, uint64_t number)
{
    for (size_t i = 0; i < here.n_events; i++) {
        const struct warden_event *event = &here.events[i].event;
        uint64_t named = type == WARDEN_GONE ? event->jail : event->head;
        if (event->type == type && (named == number || event->zygote == number))
            return &here.events[i];
    }
    return NULL;
}

static void turn(uint64_t for_ms)
{
    struct pollfd wait = {.fd = uv_backend_fd(&here.loop), .events = POLLIN};
    poll(&wait, 1, (int)for_ms);
    uv_run(&here.loop, UV_RUN_NOWAIT);
}

static const struct heard *await(enum warden_event_type type, uint64_t number)
{
    uint64_t end = clock_mono_ms() + WITHIN_MS;
    const struct heard *found;
    while ((found = find(type, number)) == NULL) {
        if (clock_mono_ms() > end)
            fail_msg("no event %d of %llu", (int)type, (unsigned long long)number);
        turn(50);
    }
    return found;
}

/* ---- heads ----------------------------------------------------------------------------------- */

struct head {
    uint64_t number, jail;
    int sock;
    int listener; /* came with its first frame; -1 before */
    char heard[HEARD_MAX];
    size_t len;
};

static uint32_t zygote_of(const char *const *argv)
{
    struct err e;
    uint32_t zygote = ++here.last_zygote;
    assert_int_equal(warden_start_zygote(here.warden, zygote, argv, &e), 0);
    return zygote;
}

static uint32_t shell_zygote(const char *script)
{
    uint32_t z = zygote_of((const char *[]){JAIL_LIB "/launch", "/bin/bash", "-c", script, NULL});
    const struct heard *ready = await(WARDEN_ZYGOTE_READY, z);
    assert_string_equal(ready->text, "{\"ready\":true}");
    return z;
}

/* Into that jail, or one of its own for 0. */
static struct head enter(uint32_t zygote, uint64_t jail, const struct jail_limits *limits)
{
    struct head h = {.number = ++here.last_number, .listener = -1};
    h.jail = jail ? jail : h.number;
    int pair[2];
    char workspace[32];
    struct err e;
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
    snprintf(workspace, sizeof(workspace), "ws-%llu", (unsigned long long)h.jail);
    if (warden_enter(here.warden, h.jail, h.number, zygote, workspace, limits, pair[1], &e) < 0)
        fail_msg("%s", e.message);
    close(pair[1]);
    h.sock = pair[0];
    return h;
}

static struct head enter_usual(uint32_t zygote, uint64_t jail)
{
    return enter(zygote, jail, &JAIL_LIMITS_DEFAULT);
}

/* Its first frame, which the program itself has not written. */
static bool hear_entered(struct head *h)
{
    static const char frame[] = "\x10\0\0\0{\"ev\":\"entered\"}";
    char heard[sizeof(frame) - 1];
    size_t n_fds = 0;
    ssize_t n = fd_recv(h->sock, heard, sizeof(heard), &h->listener, 1, &n_fds);
    if (n <= 0)
        return false;
    assert_int_equal(n_fds, 1);
    assert_int_equal(n, sizeof(heard));
    assert_memory_equal(heard, frame, sizeof(heard));
    return true;
}

static bool hear_more(struct head *h)
{
    struct pollfd wait = {.fd = h->sock, .events = POLLIN};
    if (poll(&wait, 1, 50) != 1)
        return true;
    if (h->listener < 0)
        return hear_entered(h);
    ssize_t n = recv(h->sock, h->heard + h->len, HEARD_MAX - 1 - h->len, 0);
    h->len += (size_t)MAX(n, 0);
    h->heard[h->len] = '\0';
    return n > 0;
}

/* It has no further use for its sockets. */
static void forget(struct head *h)
{
    close(h->sock);
    if (h->listener >= 0)
        close(take_fd(&h->listener));
}

/* Everything it said until these words, or until the end for NULL. */
static const char *hear(struct head *h, const char *words)
{
    uint64_t end = clock_mono_ms() + WITHIN_MS;
    while (words == NULL || strstr(h->heard, words) == NULL) {
        if (clock_mono_ms() > end)
            fail_msg("'%s' was not said, only '%s'", words ? words : "the end", h->heard);
        if (!hear_more(h)) {
            if (words == NULL)
                return h->heard;
            fail_msg("it ended without '%s': '%s'", words, h->heard);
        }
    }
    return h->heard;
}

static void say(const struct head *h, const char *line)
{
    assert_int_equal(fd_write_all(h->sock, line, strlen(line)), 0);
}

static void destroy(uint64_t jail)
{
    struct err e;
    assert_int_equal(warden_destroy(here.warden, jail, false, &e), 0);
    await(WARDEN_GONE, jail);
}

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

/* ---- denied system calls -----------------------------------------------------------------------
 */

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

static uint32_t python_zygote(const char *script)
{
    uint32_t z =
        zygote_of((const char *[]){JAIL_LIB "/launch", "/usr/bin/python3", "-Ic", script, NULL});
    await(WARDEN_ZYGOTE_READY, z);
    return z;
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
    uint64_t end = clock_mono_ms() + WITHIN_MS;
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
                    "say(call(435, 0, 0), call(425, 1, 0), call(126, 0, 0), 'done')\n"
                    "os.read(3, 1)\n"
                    "say('nobody', call(272, 0x10000000))\n");
    struct head h = enter_usual(z, 0);
    while (h.listener < 0)
        hear_more(&h);
    struct denials denials = {0};
    struct denied *d = denied_new(&here.loop, h.listener, on_denied, &denials);
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
    struct denied *d = denied_new(&here.loop, h.listener, on_denied, &denials);
    await_words(&h, "up\n");
    uint64_t start = clock_mono_ms(), spent_ms = 0;
    while (spent_ms < 700 || (denials.count < DENIED_BURST && spent_ms < WITHIN_MS)) {
        turn(10);
        spent_ms = clock_mono_ms() - start;
    }
    assert_true(denials.count >= DENIED_BURST);
    assert_true(denials.count <= DENIED_BURST + (spent_ms + 500) * DENIED_PER_SECOND / 1000 + 16);
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
    assert_null(denied_new(&here.loop, null, on_denied, &denials));
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
    };
    return cmocka_run_group_tests(tests, start, stop);
}

static int run_as_ordinary_user(void)
{
    pid_t pid = fork();
    if (pid == 0) {
        if (setgroups(0, NULL) < 0 || setresgid(ORDINARY_UID, ORDINARY_UID, ORDINARY_UID) < 0 ||
            setresuid(ORDINARY_UID, ORDINARY_UID, ORDINARY_UID) < 0 ||
            prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) < 0) /* as after an exec */
            _exit(1);
        exit(run());
    }
    int status;
    return pid > 0 && waitpid(pid, &status, 0) == pid && status == 0 ? 0 : 1;
}

int main(void)
{
    setvbuf(stdout, NULL, _IONBF, 0);
    /* First the other process: one that has had a loop must not start a warden. */
    int failed = geteuid() == 0 ? run_as_ordinary_user() : 0;
    return failed == 0 ? run() : failed;
}
