/* The drivers' part of a branch: a sleeping copy of a real session is woken in a room of its own.
 */
#include "warden_world.h"

struct session {
    uint64_t jail;
    int sock;
    char frame[HEARD_MAX]; /* the last one, JSON */
};

static void await_input(int fd)
{
    struct pollfd wait = {.fd = fd, .events = POLLIN};
    uint64_t end = clock_mono_ms() + PATIENCE_MS;
    while (poll(&wait, 1, 0) == 0) {
        if (clock_mono_ms() > end)
            fail_msg("nothing came");
        turn(10);
    }
}

static void take(int fd, void *data, size_t len)
{
    for (char *at = data; len > 0;) {
        await_input(fd);
        ssize_t n = read(fd, at, len);
        assert_true(n > 0);
        at += n;
        len -= (size_t)n;
    }
}

/* Frames until one that has these words. */
static void hear_frame(struct session *s, const char *words)
{
    do {
        unsigned char header[4];
        take(s->sock, header, sizeof(header));
        size_t len = header[0] | (size_t)header[1] << 8 | (size_t)header[2] << 16;
        assert_true(len < sizeof(s->frame));
        take(s->sock, s->frame, len);
        s->frame[len] = '\0';
    } while (strstr(s->frame, words) == NULL);
}

static void send_frame(int sock, const char *json, const int *fds, size_t n_fds)
{
    char frame[4096] = {(char)(strlen(json) & 0xff), (char)(strlen(json) >> 8)};
    memcpy(frame + 4, json, strlen(json));
    ssize_t len = (ssize_t)strlen(json) + 4;
    assert_int_equal(fd_send(sock, frame, (size_t)len, fds, n_fds), len);
}

static struct session begin(const char *const *argv)
{
    struct session s = {.jail = ++here.last_number};
    uint32_t zygote = zygote_of(argv);
    await(WARDEN_ZYGOTE_READY, zygote);
    struct head h = enter_usual(zygote, s.jail);
    await(WARDEN_ENTERED, h.number);
    assert_true(hear_entered(&h));
    cleanup_fd(&h.listener);
    s.sock = h.sock;
    hear_frame(&s, "\"ready\"");
    return s;
}

/* What it printed. */
static const char *run_cell(struct session *s, const char *code)
{
    static char said[256];
    char json[1024];
    int out[2], err[2];
    assert_int_equal(pipe2(out, O_CLOEXEC) | pipe2(err, O_CLOEXEC), 0);
    snprintf(json, sizeof(json), "{\"op\":\"exec\",\"id\":1,\"code\":\"%s\"}", code);
    send_frame(s->sock, json, (const int[]){out[1], err[1]}, 2);
    close(out[1]);
    close(err[1]);
    hear_frame(s, "\"done\"");
    fd_set_nonblocking(out[0], true);
    ssize_t n = read(out[0], said, sizeof(said) - 1);
    said[MAX(n, 0)] = '\0';
    close(out[0]);
    close(err[0]);
    return said;
}

static void make_channel(int *ret_ours, int *ret_theirs)
{
    int pair[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
    assert_int_equal(setsockopt(pair[0], SOL_SOCKET, SO_PASSCRED, &(int){1}, sizeof(int)), 0);
    *ret_ours = pair[0];
    *ret_theirs = pair[1];
}

static void adopt(uint64_t jail, enum warden_kind kind, int channel)
{
    struct err e;
    uint64_t number = ++here.last_number;
    await_input(channel);
    assert_int_equal(warden_adopt(here.warden, jail, number, kind, channel, &e), 0);
    while (find(WARDEN_ENTERED, number) == NULL) {
        if (find(WARDEN_REFUSED, number) != NULL)
            fail_msg("%s", find(WARDEN_REFUSED, number)->text);
        turn(10);
    }
    assert_int_equal(find(WARDEN_ENTERED, number)->event.jail, jail);
}

/* The channel of a copy that sleeps. */
static int fall_asleep(struct session *s)
{
    int ours, theirs;
    make_channel(&ours, &theirs);
    send_frame(s->sock, "{\"op\":\"checkpoint\",\"id\":1}", &theirs, 1);
    close(theirs);
    hear_frame(s, "\"forked\":true");
    adopt(s->jail, WARDEN_CHECKPOINT, ours);
    return ours;
}

static struct session wake_in_a_room(const struct session *source, int sleeper)
{
    struct session s = {.jail = ++here.last_number};
    int theirs;
    ask_room(source->jail, s.jail, &JAIL_LIMITS_DEFAULT);
    int key = await_room(s.jail);
    assert_true(key >= 0);
    make_channel(&s.sock, &theirs);
    send_frame(sleeper, "{\"op\":\"wake\",\"head\":9,\"room\":true}", (const int[]){theirs, key},
               2);
    close(theirs);
    close(key);
    adopt(s.jail, WARDEN_HEAD, s.sock);
    hear_frame(&s, "\"woken\"");
    return s;
}

static void branch_and_compare(const char *const *argv, const char *prepare, const char *look,
                               const char *seen, const char *in_source)
{
    struct session source = begin(argv);
    run_cell(&source, prepare);
    int sleeper = fall_asleep(&source);
    struct session branches[3];
    for (size_t i = 0; i < ARRAY_LEN(branches); i++)
        branches[i] = wake_in_a_room(&source, sleeper);
    for (size_t i = 0; i < ARRAY_LEN(branches); i++)
        assert_string_equal(run_cell(&branches[i], look), seen);
    assert_string_equal(run_cell(&source, look), in_source);
    close(sleeper);
    destroy(source.jail); /* first: they outlive it */
    close(source.sock);
    for (size_t i = 0; i < ARRAY_LEN(branches); i++) {
        run_cell(&branches[i], look);
        destroy(branches[i].jail);
        close(branches[i].sock);
    }
}

static void python_wakes_in_a_room(void **state)
{
    (void)state;
    branch_and_compare((const char *[]){"/usr/bin/python3", "-s", JAIL_LIB "/python/zygote.py",
                                        "{\"profile\":\"min\",\"preload\":[]}", NULL},
                       "import os; x = 41; f = open('note', 'w'); f.write('here'); f.flush()",
                       "x += 1; print(x, os.getcwd(), os.listdir(), os.getpid() < 9, "
                       "os.system('test -w . && test ! -w /usr'))",
                       "42 /workspace [] True 0\n", "42 /workspace ['note'] True 0\n");
}

static void bash_wakes_in_a_room(void **state)
{
    (void)state;
    if (access("/usr/include/bash/shell.h", F_OK) < 0)
        skip();
    branch_and_compare((const char *[]){JAIL_LIB "/launch", "/usr/bin/bash", "--norc",
                                        "--noprofile", JAIL_LIB "/bash/main.bash", NULL},
                       "x=41; f() { echo $((x += 1)); }; touch note",
                       "f; pwd; ls; test -w . && test ! -w /usr && echo walls",
                       "42\n/workspace\nwalls\n", "42\n/workspace\nnote\nwalls\n");
}

static int run(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(python_wakes_in_a_room),
        cmocka_unit_test(bash_wakes_in_a_room),
    };
    return cmocka_run_group_tests(tests, start, stop);
}

int main(void)
{
    return run_twice(run);
}
