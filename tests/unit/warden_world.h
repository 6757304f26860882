/* A real warden with real jails for tests: heads that come and go. The heads are programs that say
 * on their session's socket what they see. Include it once. */
#pragma once

#include "base/clock.h"
#include "base/fd.h"
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

enum { EVENTS_MAX = 256, HEARD_MAX = 8192, ORDINARY_UID = 54321 };

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

static inline void on_event(void *context, const struct warden_event *event)
{
    (void)context;
    assert_true(here.n_events < EVENTS_MAX);
    struct heard *h = &here.events[here.n_events++];
    h->event = *event;
    snprintf(h->text, sizeof(h->text), "%s", event->text);
}

static inline int start(void **state)
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

static inline void remove_empty(const char *path)
{
    DIR *dir = opendir(path);
    assert_non_null(dir);
    struct dirent *entry;
    while ((entry = readdir(dir)) != NULL)
        if (!fd_is_dots(entry->d_name))
            assert_int_equal(unlinkat(dirfd(dir), entry->d_name, AT_REMOVEDIR), 0);
    closedir(dir);
}

/* Blobs lie one directory deep. */
static inline void remove_blobs(void)
{
    char path[128], inner[512];
    snprintf(path, sizeof(path), "%s/blobs", here.data);
    DIR *dir = opendir(path);
    assert_non_null(dir);
    struct dirent *entry;
    while ((entry = readdir(dir)) != NULL) {
        if (fd_is_dots(entry->d_name))
            continue;
        snprintf(inner, sizeof(inner), "%s/%s", path, entry->d_name);
        DIR *blobs = opendir(inner);
        struct dirent *blob;
        while (blobs != NULL && (blob = readdir(blobs)) != NULL)
            if (!fd_is_dots(blob->d_name))
                unlinkat(dirfd(blobs), blob->d_name, 0);
        if (blobs == NULL)
            assert_int_equal(unlink(inner), 0); /* of an archivist that was killed */
        else
            closedir(blobs);
        rmdir(inner);
    }
    closedir(dir);
    assert_int_equal(rmdir(path), 0);
}

static inline int stop(void **state)
{
    (void)state;
    char path[128];
    warden_free(here.warden);
    uv_run(&here.loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&here.loop), 0);
    snprintf(path, sizeof(path), "%s/workspaces", here.data);
    remove_empty(path); /* of jails that nobody entered */
    assert_int_equal(rmdir(path), 0);
    remove_blobs();
    assert_int_equal(rmdir(here.data), 0);
    return 0;
}

static inline const struct heard *find(enum warden_event_type type, uint64_t number)
{
    for (size_t i = 0; i < here.n_events; i++) {
        const struct warden_event *event = &here.events[i].event;
        uint64_t named = type == WARDEN_GONE ? event->jail : event->head;
        if (event->type == type && (named == number || event->zygote == number))
            return &here.events[i];
    }
    return NULL;
}

static inline void turn(uint64_t for_ms)
{
    struct pollfd wait = {.fd = uv_backend_fd(&here.loop), .events = POLLIN};
    poll(&wait, 1, (int)for_ms);
    uv_run(&here.loop, UV_RUN_NOWAIT);
}

static inline const struct heard *await(enum warden_event_type type, uint64_t number)
{
    uint64_t end = clock_mono_ms() + PATIENCE_MS;
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

static inline uint32_t zygote_of(const char *const *argv)
{
    struct err e;
    uint32_t zygote = ++here.last_zygote;
    assert_int_equal(warden_start_zygote(here.warden, zygote, argv, &e), 0);
    return zygote;
}

static inline uint32_t shell_zygote(const char *script)
{
    uint32_t z = zygote_of((const char *[]){JAIL_LIB "/launch", "/bin/bash", "-c", script, NULL});
    const struct heard *ready = await(WARDEN_ZYGOTE_READY, z);
    assert_string_equal(ready->text, "{\"ready\":true}");
    return z;
}

/* Into that jail, or one of its own for 0. */
static inline struct head enter(uint32_t zygote, uint64_t jail, const struct jail_limits *limits)
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

static inline struct head enter_usual(uint32_t zygote, uint64_t jail)
{
    return enter(zygote, jail, &JAIL_LIMITS_DEFAULT);
}

/* Its first frame, which the program itself has not written. */
static inline bool hear_entered(struct head *h)
{
    static const char begin[] = "{\"ev\":\"entered\",\"net\":";
    uint32_t len = 0;
    char heard[64];
    size_t n_fds = 0;
    ssize_t n = fd_recv(h->sock, &len, sizeof(len), &h->listener, 1, &n_fds);
    if (n <= 0)
        return false;
    assert_int_equal(n_fds, 1);
    assert_int_equal(n, sizeof(len));
    assert_in_range(len, sizeof(begin), sizeof(heard));
    assert_int_equal(recv(h->sock, heard, len, MSG_WAITALL), len);
    assert_memory_equal(heard, begin, sizeof(begin) - 1);
    assert_int_equal(heard[len - 1], '}');
    return true;
}

static inline bool hear_more(struct head *h)
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
static inline void forget(struct head *h)
{
    close(h->sock);
    if (h->listener >= 0)
        close(take_fd(&h->listener));
}

/* Everything it said until these words, or until the end for NULL. */
static inline const char *hear(struct head *h, const char *words)
{
    uint64_t end = clock_mono_ms() + PATIENCE_MS;
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

static inline void say(const struct head *h, const char *line)
{
    assert_int_equal(fd_write_all(h->sock, line, strlen(line)), 0);
}

static inline void destroy(uint64_t jail)
{
    struct err e;
    assert_int_equal(warden_destroy(here.warden, jail, false, &e), 0);
    await(WARDEN_GONE, jail);
}

static inline uint32_t python_zygote(const char *script)
{
    uint32_t z =
        zygote_of((const char *[]){JAIL_LIB "/launch", "/usr/bin/python3", "-Ic", script, NULL});
    await(WARDEN_ZYGOTE_READY, z);
    return z;
}

/* ---- rooms ----------------------------------------------------------------------------------- */

static inline const struct heard *find_room(enum warden_event_type type, uint64_t jail)
{
    for (size_t i = 0; i < here.n_events; i++)
        if (here.events[i].event.type == type && here.events[i].event.jail == jail)
            return &here.events[i];
    return NULL;
}

static inline void ask_room(uint64_t source, uint64_t jail, const struct jail_limits *limits)
{
    struct err e;
    char workspace[32];
    snprintf(workspace, sizeof(workspace), "ws-%llu", (unsigned long long)jail);
    assert_int_equal(warden_make_room(here.warden, source, jail, workspace, limits, &e), 0);
}

/* Its key, or -1 if there is none. */
static inline int await_room(uint64_t jail)
{
    const struct heard *h;
    while ((h = find_room(WARDEN_ROOM, jail)) == NULL && find_room(WARDEN_REFUSED, jail) == NULL)
        turn(50);
    return h != NULL ? h->event.fd : -1;
}

static inline int run_as_ordinary_user(int (*run)(void))
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

/* Started by root the whole is shown twice, the first time as an ordinary user. */
static inline int run_twice(int (*run)(void))
{
    setvbuf(stdout, NULL, _IONBF, 0);
    /* First the other process: one that has had a loop must not start a warden. */
    int failed = geteuid() == 0 ? run_as_ordinary_user(run) : 0;
    return failed == 0 ? run() : failed;
}
