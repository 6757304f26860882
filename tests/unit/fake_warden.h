/* A warden without jails for tests of the rooms above it: an interpreter is an ordinary child that
 * runs the real driver. Include it once; it defines the functions of jail/warden.h. */
#pragma once

#include "jail/warden.h"
#include "jail/witness.h"
#include "unit.h"

#include <errno.h>
#include <signal.h>
#include <sys/wait.h>
#include <uv.h>

enum { FAKE_HEADS_MAX = 64, FAKE_ASKED_MAX = 256 };

static struct {
    uv_loop_t *loop;
    uv_timer_t timer; /* events come from the loop, never from inside a call */
    uv_signal_t child;
    warden_on_event on_event;
    void *context;
    struct {
        uint64_t number, jail;
        pid_t pid; /* 0: gone */
        bool is_destroyed;
        uint32_t oom_kills;
        unsigned n_signals; /* not reported yet */
    } heads[FAKE_HEADS_MAX];
    size_t n_heads;
    uint32_t zygotes[16]; /* that were asked for and have not answered */
    size_t n_zygotes;
    bool is_zygote_broken; /* the next ones end at once */
    bool is_full;          /* the next jails are refused */
    uint64_t refused[16];
    size_t n_refused;
    struct {
        uint64_t ticket;
        enum warden_event_type type;
    } archived[16]; /* not reported yet */
    size_t n_archived;
    unsigned n_started, n_watches, n_signals;
    /* What was asked for; each is answered from the loop, in order. */
    struct {
        enum warden_event_type answer;
        uint64_t jail, head, since;
        enum warden_kind kind;
        pid_t pid;
        const char *text;
    } asked[FAKE_ASKED_MAX];
    size_t n_asked, n_answered;
    uint64_t bytes;      /* of the next answers */
    char removed[8][64]; /* workspaces */
    size_t n_removed;
} fake;

static void fake_reap(void)
{
    for (size_t i = 0; i < fake.n_heads; i++) {
        int status;
        if (fake.heads[i].pid == 0 || waitpid(fake.heads[i].pid, &status, WNOHANG) <= 0)
            continue;
        pid_t pid = fake.heads[i].pid;
        fake.heads[i].pid = 0;
        if (!fake.heads[i].is_destroyed)
            fake.on_event(fake.context, &(struct warden_event){.type = WARDEN_EXITED,
                                                               .jail = fake.heads[i].jail,
                                                               .head = fake.heads[i].number,
                                                               .pid = pid,
                                                               .status = status,
                                                               .oom_kills = fake.heads[i].oom_kills,
                                                               .text = ""});
    }
}

static void fake_on_child(uv_signal_t *uv, int signum)
{
    (void)uv;
    (void)signum;
    fake_reap();
}

static void fake_tell_archived(void)
{
    static const char recorded[] =
        "{\"manifest\":\"0e5751c026e543b2e8ab2eb06099daa1d1e5df47778f7787faab45cdf12fe3a8\","
        "\"files\":1,\"bytes\":0,\"new_bytes\":0,\"skipped\":0,\"torn\":false,\"over_budget\":"
        "false,"
        "\"reason\":null}";
    static const char restored[] = "{\"changed\":0,\"removed\":0,\"created\":0,\"errors\":[]}";
    for (size_t i = 0; i < fake.n_archived; i++) {
        struct warden_event event = {
            .type = fake.archived[i].type, .head = fake.archived[i].ticket, .text = restored};
        if (event.type == WARDEN_RECORDED)
            event.text = recorded;
        fake.on_event(fake.context, &event);
    }
    fake.n_archived = 0;
}

static void fake_on_timer(uv_timer_t *uv)
{
    (void)uv;
    while (fake.n_zygotes > 0) {
        struct warden_event event = {.zygote = fake.zygotes[--fake.n_zygotes],
                                     .type = WARDEN_ZYGOTE_READY,
                                     .text = "{\"ready\":true,\"python\":\"3\",\"skipped\":[]}"};
        if (fake.is_zygote_broken) {
            event.type = WARDEN_ZYGOTE_EXITED;
            event.status = 1 << 8;
            event.text = "ImportError: broken";
        }
        fake.on_event(fake.context, &event);
    }
    for (size_t i = 0; i < fake.n_heads; i++)
        for (; fake.heads[i].n_signals > 0; fake.heads[i].n_signals--)
            fake.on_event(fake.context, &(struct warden_event){.type = WARDEN_SIGNALED,
                                                               .jail = fake.heads[i].jail,
                                                               .head = fake.heads[i].number,
                                                               .text = ""});
    for (; fake.n_answered < fake.n_asked; fake.n_answered++)
        fake.on_event(fake.context,
                      &(struct warden_event){.type = fake.asked[fake.n_answered].answer,
                                             .jail = fake.asked[fake.n_answered].jail,
                                             .head = fake.asked[fake.n_answered].head,
                                             .pid = fake.asked[fake.n_answered].pid,
                                             .bytes = fake.bytes,
                                             .text = fake.asked[fake.n_answered].text});
    while (fake.n_refused > 0)
        fake.on_event(fake.context, &(struct warden_event){.type = WARDEN_REFUSED,
                                                           .head = fake.refused[--fake.n_refused],
                                                           .text = "no room"});
    fake_tell_archived();
}

static void fake_archived(uint64_t ticket, enum warden_event_type type)
{
    assert_true(fake.n_archived < ARRAY_LEN(fake.archived));
    fake.archived[fake.n_archived].ticket = ticket;
    fake.archived[fake.n_archived++].type = type;
    uv_timer_start(&fake.timer, fake_on_timer, 0, 0);
}

void warden_attach(struct warden *w, uv_loop_t *loop, warden_on_event on_event, void *context)
{
    (void)w;
    fake.loop = loop;
    fake.on_event = on_event;
    fake.context = context;
    uv_timer_init(loop, &fake.timer);
    uv_signal_init(loop, &fake.child);
    uv_signal_start(&fake.child, fake_on_child, SIGCHLD);
    uv_unref((uv_handle_t *)&fake.child);
}

static void fake_close(void)
{
    uv_close((uv_handle_t *)&fake.timer, NULL);
    uv_close((uv_handle_t *)&fake.child, NULL);
    for (size_t i = 0; i < fake.n_heads; i++) {
        if (fake.heads[i].pid == 0)
            continue;
        kill(-fake.heads[i].pid, SIGKILL);
        waitpid(fake.heads[i].pid, NULL, 0);
    }
}

int warden_start_zygote(struct warden *w, uint32_t zygote, const char *const *argv, struct err *e)
{
    (void)w;
    (void)argv;
    (void)e;
    fake.n_started++;
    fake.zygotes[fake.n_zygotes++] = zygote;
    uv_timer_start(&fake.timer, fake_on_timer, 0, 0);
    return 0;
}

int warden_stop_zygote(struct warden *w, uint32_t zygote, struct err *e)
{
    (void)w;
    (void)zygote;
    (void)e;
    return 0;
}

static void fake_become_driver(int sock)
{
    char number[16];
    setpgid(0, 0);
    int fd = dup(sock);
    snprintf(number, sizeof(number), "%d", fd);
    /* Compiling the driver takes far longer than all the rest of its start. */
    setenv("PYTHONPYCACHEPREFIX", BUILD_ROOT "/driver-bytecode", 1);
    unsetenv("PYTHONDONTWRITEBYTECODE");
    if (chdir("/tmp") == 0)
        execl("/usr/bin/python3", "python3", "-s", SOURCE_ROOT "/src/drivers/python/standalone.py",
              number, "{\"name\":\"min\",\"preload\":[]}", (char *)NULL);
    _exit(127);
}

int warden_enter(struct warden *w, uint64_t jail, uint64_t head, uint32_t zygote,
                 const char *workspace, const struct jail_limits *limits, int session_sock,
                 struct err *e)
{
    (void)w;
    (void)zygote;
    (void)workspace;
    (void)limits;
    (void)e;
    if (fake.is_full) {
        fake.refused[fake.n_refused++] = head;
        uv_timer_start(&fake.timer, fake_on_timer, 0, 0);
        return 0;
    }
    pid_t pid = fork();
    if (pid == 0)
        fake_become_driver(session_sock);
    setpgid(pid, pid);
    assert_true(pid > 0 && fake.n_heads < FAKE_HEADS_MAX);
    fake.heads[fake.n_heads].jail = jail;
    fake.heads[fake.n_heads].number = head;
    fake.heads[fake.n_heads++].pid = pid;
    return 0;
}

static size_t fake_find(uint64_t head)
{
    for (size_t i = 0; i < fake.n_heads; i++)
        if (fake.heads[i].number == head)
            return i;
    return FAKE_HEADS_MAX;
}

int warden_signal(struct warden *w, uint64_t head, int sig, struct err *e)
{
    (void)w;
    (void)e;
    size_t i = fake_find(head);
    fake.n_signals++;
    if (i < FAKE_HEADS_MAX && fake.heads[i].pid > 0) {
        kill(-fake.heads[i].pid, sig);
        fake.heads[i].n_signals++;
        uv_timer_start(&fake.timer, fake_on_timer, 0, 0);
    }
    return 0;
}

int warden_changed_at(const struct warden *w, const char *workspace, struct timespec *ret)
{
    (void)w;
    (void)workspace;
    (void)ret;
    return -ENOENT;
}

int warden_watch(struct warden *w, uint64_t jail, bool is_busy, struct err *e)
{
    (void)w;
    (void)jail;
    (void)is_busy;
    (void)e;
    fake.n_watches++;
    return 0;
}

int warden_destroy(struct warden *w, uint64_t jail, bool keep_workspace, struct err *e)
{
    (void)keep_workspace;
    for (size_t i = 0; i < fake.n_heads; i++) {
        if (fake.heads[i].jail != jail)
            continue;
        fake.heads[i].is_destroyed = true;
        warden_signal(w, fake.heads[i].number, SIGKILL, e);
    }
    return 0;
}

/* Nobody's files change here: every record finds the same, every restore nothing to do. */
int warden_record(struct warden *w, uint64_t ticket, const char *workspace, const char *base,
                  const struct archive_budget *budget, struct err *e)
{
    (void)w;
    (void)workspace;
    (void)base;
    (void)budget;
    (void)e;
    fake_archived(ticket, WARDEN_RECORDED);
    return 0;
}

int warden_file(struct warden *w, uint64_t ticket, const char *workspace,
                const struct warden_file_order *order, int out, struct err *e)
{
    (void)w;
    (void)ticket;
    (void)workspace;
    (void)order;
    (void)out;
    return err_set(e, ERR_UNAVAILABLE, "this warden keeps no files");
}

int warden_restore(struct warden *w, uint64_t ticket, const char *workspace, const char *manifest,
                   struct err *e)
{
    (void)w;
    (void)workspace;
    (void)manifest;
    (void)e;
    fake_archived(ticket, WARDEN_RESTORED);
    return 0;
}

static void fake_ask(enum warden_event_type answer, uint64_t jail, uint64_t head, uint64_t since)
{
    assert_true(fake.n_asked < FAKE_ASKED_MAX);
    size_t i = fake.n_asked++;
    fake.asked[i].answer = answer;
    fake.asked[i].jail = jail;
    fake.asked[i].head = head;
    fake.asked[i].since = since;
    fake.asked[i].text = "";
    uv_timer_start(&fake.timer, fake_on_timer, 0, 0);
}

/* A copy that a driver made of itself is a child of ours, as it is the warden's. */
int warden_adopt(struct warden *w, uint64_t jail, uint64_t head, enum warden_kind kind, int channel,
                 struct err *e)
{
    (void)w;
    (void)e;
    pid_t pid = fake.is_full ? -1 : witness_byte(channel);
    fake_ask(pid > 0 ? WARDEN_ENTERED : WARDEN_REFUSED, jail, head, 0);
    fake.asked[fake.n_asked - 1].kind = kind;
    fake.asked[fake.n_asked - 1].pid = pid;
    if (pid <= 0) {
        fake.asked[fake.n_asked - 1].text = "no copy";
        return 0;
    }
    assert_true(fake.n_heads < FAKE_HEADS_MAX);
    fake.heads[fake.n_heads].jail = jail;
    fake.heads[fake.n_heads].number = head;
    fake.heads[fake.n_heads++].pid = pid;
    return 0;
}

int warden_clear(struct warden *w, uint64_t head, uint64_t jail, uint64_t since, struct err *e)
{
    (void)w;
    (void)e;
    size_t i = fake_find(head);
    if (i < FAKE_HEADS_MAX && fake.heads[i].pid > 0)
        kill(-fake.heads[i].pid, SIGKILL);
    fake_ask(WARDEN_CLEARED, jail, head, since);
    return 0;
}

int warden_clear_holding(struct warden *w, uint64_t head, uint64_t jail, uint64_t since,
                         struct err *e)
{
    (void)w;
    (void)e;
    size_t i = fake_find(head);
    if (i < FAKE_HEADS_MAX && fake.heads[i].pid > 0)
        kill(fake.heads[i].pid, SIGSTOP);
    fake_ask(WARDEN_CLEARED, jail, head, since);
    return 0;
}

int warden_measure(struct warden *w, uint64_t head, struct err *e)
{
    (void)w;
    (void)e;
    fake_ask(WARDEN_MEASURED, 0, head, 0);
    return 0;
}

int warden_terminate(struct warden *w, uint64_t jail, struct err *e)
{
    (void)w;
    (void)jail;
    (void)e;
    return 0;
}

int warden_look(struct warden *w, uint64_t jail, uint64_t ticket, struct err *e)
{
    (void)w;
    (void)e;
    fake_ask(WARDEN_LOOKED, jail, ticket, 0);
    return 0;
}

int warden_make_socket(struct warden *w, uint64_t jail, uint64_t ticket, int family, struct err *e)
{
    (void)w;
    (void)e;
    fake_ask(WARDEN_SOCKET, jail, ticket, (uint64_t)family);
    return 0;
}

int warden_weigh(struct warden *w, uint64_t jail, uint64_t ticket, struct err *e)
{
    (void)w;
    (void)e;
    fake_ask(WARDEN_WEIGHED, jail, ticket, 0);
    return 0;
}

int warden_remove_workspace(struct warden *w, const char *name, struct err *e)
{
    (void)w;
    (void)e;
    assert_true(fake.n_removed < ARRAY_LEN(fake.removed));
    snprintf(fake.removed[fake.n_removed++], sizeof(fake.removed[0]), "%s", name);
    return 0;
}

/* There are no rooms here. */
int warden_make_room(struct warden *w, uint64_t source, uint64_t jail, const char *workspace,
                     const struct jail_limits *limits, struct err *e)
{
    (void)w;
    (void)source;
    (void)jail;
    (void)workspace;
    (void)limits;
    return err_set(e, ERR_UNAVAILABLE, "this warden has no rooms");
}
