/* The zygote of a profile: started on first use, started again with growing pauses. Daemon; owns
 * its number in the warden and what it said about itself. */
#include "runtime/zygote.h"

#include "base/clock.h"
#include "loop/loop.h"
#include "wire/json.h"

#include <assert.h>
#include <signal.h>
#include <sys/wait.h>

enum {
    START_MS = 120 * 1000, /* unless the profile says otherwise */
    TELL_MS = 5 * 1000,    /* to say by itself what took so long */
    CROWDED_FACTOR = 8,    /* time in line for a processor does not count (zygote.py) */
    ZYGOTE_FIRST_PAUSE_MS = 100,
    LAST_PAUSE_MS = 30 * 1000,
    ZYGOTE_FAILURES_MAX = 6, /* then it waits until it is wanted again */
    /* One that lived this long did not end because of its profile. */
    STABLE_MS = 10 * 1000,
};

static void zygote_end(struct runtime_zygote *z);

/* The only place where the state changes. Asserts that the diagram has the move. */
static void zygote_move(struct runtime_zygote *z, enum runtime_zygote_state to)
{
    enum runtime_zygote_state from = z->state;
    assert(to == ZYGOTE_STARTING ? from == ZYGOTE_ASLEEP || from == ZYGOTE_PAUSED
           : to == ZYGOTE_READY  ? from == ZYGOTE_STARTING
                                 : from != ZYGOTE_ASLEEP);
    z->state = to;
}

static uint64_t start_limit_ms(const struct runtime_zygote *z)
{
    uint32_t secs = z->profile->warmup_secs;
    return secs > 0 ? (uint64_t)secs * 1000 * CROWDED_FACTOR + TELL_MS : START_MS;
}

static int zygote_start_process(struct runtime_zygote *z, struct err *e)
{
    static uint32_t last_number;
    struct arena arena = {0};
    z->number = ++last_number;
    int r = warden_start_zygote(z->warden, z->number,
                                z->profile->runtime->command(z->profile, &arena), e);
    arena_free(&arena);
    if (r < 0)
        return err_context(e, "starting the profile %s", z->profile->name);
    zygote_move(z, ZYGOTE_STARTING);
    z->started_at_ms = clock_mono_ms();
    loop_timer_set(z->timer, start_limit_ms(z));
    return 0;
}

static void on_timer(void *context)
{
    struct runtime_zygote *z = context;
    struct err e;
    if (z->state == ZYGOTE_STARTING) {
        snprintf(z->failure, sizeof(z->failure), "it was not ready after %u s",
                 (unsigned)(start_limit_ms(z) / 1000));
        warden_stop_zygote(z->warden, z->number, &e);
        zygote_end(z);
    } else if (z->state == ZYGOTE_PAUSED && zygote_start_process(z, &e) < 0) {
        snprintf(z->failure, sizeof(z->failure), "%.500s", e.message);
        zygote_end(z);
    }
}

void runtime_zygote_init(struct runtime_zygote *z, const struct runtime_profile *profile,
                         struct warden *warden, uv_loop_t *loop,
                         const struct runtime_zygote_listener *listener, void *owner)
{
    *z = (struct runtime_zygote){
        .profile = profile, .warden = warden, .listener = listener, .owner = owner};
    z->timer = loop_timer_new(loop, on_timer, z);
}

void runtime_zygote_close(struct runtime_zygote *z)
{
    loop_timer_close(take_ptr(z->timer), NULL);
    json_decref(take_ptr(z->report));
}

int runtime_zygote_want(struct runtime_zygote *z, struct err *e)
{
    if (z->profile->missing != NULL) {
        err_set(e, ERR_UNAVAILABLE, "%s is not available here: %s", z->profile->runtime->name,
                z->profile->missing);
        return err_advise(e,
                          "Install it, or name its program in the configuration (`%s:`), and "
                          "start the daemon again.",
                          z->profile->runtime->name);
    }
    if (z->state == ZYGOTE_ASLEEP)
        return zygote_start_process(z, e);
    if (z->state != ZYGOTE_PAUSED)
        return 0;
    err_set(e, ERR_UNAVAILABLE, "the profile %s is being started again because %s",
            z->profile->name, z->failure);
    return err_advise(e, "Try again in a few seconds; if it stays so, check the profile and its "
                         "interpreter in the configuration.");
}

static void zygote_end(struct runtime_zygote *z)
{
    bool was_stable =
        z->state == ZYGOTE_READY && clock_mono_ms() - z->ready_at_ms >= (uint64_t)STABLE_MS;
    z->failures = was_stable ? 1 : z->failures + 1;
    if (z->failures >= ZYGOTE_FAILURES_MAX) {
        zygote_move(z, ZYGOTE_ASLEEP);
        z->failures = ZYGOTE_FAILURES_MAX - 1; /* the next failure sends it back to sleep */
        loop_timer_clear(z->timer);
    } else {
        zygote_move(z, ZYGOTE_PAUSED);
        uint64_t pause_ms = (uint64_t)ZYGOTE_FIRST_PAUSE_MS << (2 * (z->failures - 1));
        loop_timer_set(z->timer, MIN(pause_ms, (uint64_t)LAST_PAUSE_MS));
    }
    z->listener->on_ended(z);
}

void runtime_zygote_on_event(struct runtime_zygote *z, const struct warden_event *event)
{
    if (event->type == WARDEN_ZYGOTE_EXITED &&
        (z->state == ZYGOTE_STARTING || z->state == ZYGOTE_READY)) {
        int status = event->status;
        char how[64];
        if (WIFSIGNALED(status))
            snprintf(how, sizeof(how), "it was ended by signal %d", WTERMSIG(status));
        else
            snprintf(how, sizeof(how), "it ended with exit code %d", WEXITSTATUS(status));
        snprintf(z->failure, sizeof(z->failure), "%s%s%.400s", how, event->text[0] ? ": " : "",
                 event->text);
        zygote_end(z);
    } else if (event->type == WARDEN_ZYGOTE_READY && z->state == ZYGOTE_STARTING) {
        struct err ignored; /* a report that cannot be read is one we do without */
        json_decref(take_ptr(z->report));
        json_read_object(event->text, strlen(event->text), &z->report, &ignored);
        loop_timer_clear(z->timer);
        zygote_move(z, ZYGOTE_READY);
        z->ready_at_ms = clock_mono_ms();
        z->listener->on_ready(z);
    }
}

void runtime_zygote_lose(struct runtime_zygote *z)
{
    if (z->state == ZYGOTE_ASLEEP)
        return;
    snprintf(z->failure, sizeof(z->failure), "the process that keeps the sandboxes ended");
    zygote_move(z, ZYGOTE_PAUSED);
    loop_timer_clear(z->timer);
    z->listener->on_ended(z);
}

void runtime_zygote_resume(struct runtime_zygote *z)
{
    if (z->state == ZYGOTE_PAUSED)
        loop_timer_set(z->timer, 0);
}
