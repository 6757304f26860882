/* The clock of cells, in the daemon: one timer for each session, the pace of its caller. */
#include "session/timing.h"

#include "base/clock.h"
#include "runtime/names.h"
#include "session/chains.h"
#include "session/engine_state.h"
#include "session/exec.h"

#include <signal.h>

enum {
    /* Shorter cells are answered without the loop ever knowing their pipes, also when sixteen
     * sessions share two cores. */
    POLL_AFTER_MS = 5,
    WATCH_AFTER_MS = 20,
    REPEAT_MS = 500,            /* for an interrupt that had no effect */
    REPEAT_DOUBLED_MAX = 4,     /* its pauses grow fourfold as often: up to two minutes */
    GRACE_MS = 1000,            /* from the first one to the end */
    SETTLE_MS = 2000,           /* for a report that never comes */
    REST_MS = 2,                /* then a cell is not one of a burst */
    BURST_NS = 10000000,        /* a cell that follows another so soon is one of a burst */
    HURRIED_NS = 10000000,      /* a cell that follows a checkpoint so soon goes on with a burst */
    HURRIED_REST_MS = 24,       /* then a burst is over that a checkpoint was made within */
    HURRIED_MAX_NS = 500000000, /* from such a checkpoint to the next moment that will do */
    QUIET_MS = 25,
    CROWD_MAX = 10,               /* so many times longer it takes where many run, at the most */
    AWAKE_FOR_ANSWER_NS = 200000, /* a short cell's */
    AWAKE_FOR_NEXT_NS = 150000,   /* the next cell of a caller that does not think */
};

double exec_elapsed_ms(const struct exec *exec)
{
    if (exec->started_ns == 0)
        return 0;
    uint64_t now_ns = exec->stands ? exec->asked_ns : clock_mono_ns();
    return (double)(now_ns - exec->started_ns - exec->waited_ns) / 1e6;
}

/* The next step of a cell that runs `due_ms` after its begin, unless its time is over before. */
static void timing_arm(struct session *session, enum session_alarm alarm, uint32_t due_ms)
{
    const struct exec *exec = session->running;
    double passed_ms = alarm == ALARM_POLL ? 0 : exec_elapsed_ms(exec);
    if (due_ms >= exec->timeout_ms) {
        alarm = ALARM_DEADLINE;
        due_ms = exec->timeout_ms;
    }
    double wait_ms = (double)due_ms - passed_ms;
    session_set_alarm(session, alarm, wait_ms > 0 ? (uint64_t)wait_ms + (passed_ms > 0) : 0);
}

static uint64_t timing_worked_ns(const struct engine *engine, uint64_t now_ns)
{
    return engine->counted.worked_ns + engine->n_running * (now_ns - engine->counted.ns);
}

struct timing_moment timing_now(const struct engine *engine)
{
    uint64_t now_ns = clock_mono_ns();
    return (struct timing_moment){.ns = now_ns, .worked_ns = timing_worked_ns(engine, now_ns)};
}

/* So much of a time would have passed if every cell that ran in it had had a core: where more run
 * than there are cores they wait for each other, and callers for all of them. If that were taken
 * for work, or for thinking, there would be a checkpoint after every few cells, which makes all of
 * them wait longer, and so it would stay. */
static uint64_t timing_own_ns(const struct engine *engine, uint64_t ns, uint64_t worked_ns)
{
    uint64_t on_all_ns = ns * engine->turns.n_cores;
    if (worked_ns <= on_all_ns)
        return ns;
    double own_ns = (double)ns * (double)on_all_ns / (double)worked_ns;
    return MAX((uint64_t)own_ns, ns / CROWD_MAX);
}

/* Where many cells run they all last longer, and looking after each of them would make that worse.
 */
static uint32_t timing_crowded_ms(const struct engine *engine, uint32_t ms)
{
    uint32_t n = (uint32_t)(engine->n_running / engine->turns.n_cores);
    return ms * MIN(MAX(n, 1U), (uint32_t)CROWD_MAX);
}

/* After a pause of the caller's the interpreter takes longer than it pays to stay awake, and the
 * next cell will not come at once either. */
void timing_count(struct session *session, int change, bool is_quick, uint64_t now_ns)
{
    struct engine *engine = session->engine;
    engine->counted =
        (struct timing_moment){.ns = now_ns, .worked_ns = timing_worked_ns(engine, now_ns)};
    engine->n_running += (size_t)change;
    engine->awake_until_ns = 0;
    if (engine->has_cores && engine->n_running <= 1 && is_quick)
        engine->awake_until_ns =
            now_ns + (engine->n_running == 1 ? AWAKE_FOR_ANSWER_NS : AWAKE_FOR_NEXT_NS);
    if (engine->n_running == 0)
        turns_on_quiet(engine);
}

void timing_wait(struct session *session)
{
    session->pace.is_hurried |= session->pace.has_rested;
    session->pace.has_rested = false;
}

void timing_begin(struct exec *exec)
{
    struct session *session = exec->session;
    const struct timing_moment *ended = &session->pace.ended, *came = &exec->came;
    exec->started_ns = clock_mono_ns();
    session->pace.keeps_soon = false;
    session->pace.is_burst =
        came->ns < ended->ns || timing_own_ns(session->engine, came->ns - ended->ns,
                                              came->worked_ns - ended->worked_ns) < BURST_NS;
    timing_count(session, 1, session->pace.is_burst, exec->started_ns);
    exec->others_ns = session->engine->counted.worked_ns;
    const struct checkpoint *current = session->timeline.current;
    if (session->pace.has_rested)
        session->pace.is_hurried = exec->started_ns - session->pace.rested_ns < HURRIED_NS ||
                                   (current != NULL && !timeline_is_settled(current));
    session->pace.has_rested = false;
    timing_arm(session, ALARM_POLL, timing_crowded_ms(session->engine, POLL_AFTER_MS));
}

/* ---- between cells --------------------------------------------------------------------------- */

/* Asks for anything, to see that it goes on; false if that cannot be done. */
static bool timing_ask_stray(struct session *session)
{
    struct err e;
    return !session->head->is_asked && head_ask_names(session->head, NAMES_MAX, &e) == 0;
}

static void timing_become_idle(struct session *session)
{
    if (session->state != SESSION_IDLE) /* else an undo came to nothing */
        session_move(session, SESSION_IDLE);
    session->pace.keeps_soon = false;
    /* Where a caller's pauses are longer than it meant, because the machine is busy, each would be
     * taken for a rest, and every few cells would pay for a checkpoint that they do not need. */
    bool is_burst =
        session->pace.is_hurried && clock_mono_ns() - session->pace.rested_ns < HURRIED_MAX_NS;
    if (timeline_is_due(session))
        session_set_alarm(session, ALARM_REST, is_burst ? HURRIED_REST_MS : REST_MS);
    else
        session_set_alarm(session, ALARM_QUIET, QUIET_MS);
}

bool timing_is_to_keep(const struct session *session)
{
    return (session->pace.keeps_now || session->pace.keeps_soon) &&
           session->state == SESSION_IDLE && session->alarm != ALARM_SETTLE &&
           timeline_is_due(session);
}

void timing_keep(struct session *session)
{
    session->pace.keeps_now = session->pace.keeps_soon = false;
    session_set_alarm(session, ALARM_QUIET, QUIET_MS);
    session->pace.has_rested = true;
    session->pace.rested_ns = clock_mono_ns();
}

bool timing_is_pressing(const struct session *session)
{
    return session->pace.keeps_now &&
           (session->n_queued > 0 || !list_is_empty(&session->held) || session->trial.id != 0 ||
            !list_is_empty(&session->branches.ordered) || session->timeline.mode == TIMELINE_EVERY);
}

uint64_t timing_ran_ns(const struct exec *exec)
{
    struct session *session = exec->session;
    uint64_t ran_ns = (uint64_t)(exec_elapsed_ms(exec) * 1e6);
    uint64_t forked_ns = session->timeline.forked_ns;
    const struct timing_moment *ended = &session->pace.ended;
    session->pace.ended = timing_now(session->engine);
    uint64_t own_ns = timing_own_ns(session->engine, ended->ns - exec->started_ns,
                                    ended->worked_ns - exec->others_ns);
    if (forked_ns > exec->started_ns) /* until then the interpreter was busy with that */
        ran_ns = MIN(ran_ns, ended->ns - forked_ns);
    return MIN(ran_ns, own_ns);
}

uint64_t timing_end(const struct exec *exec, uint64_t ran_ns)
{
    struct session *session = exec->session;
    bool waits = exec->is_durable || exec->is_trial || exec->wants_files ||
                 session->timeline.mode == TIMELINE_EVERY;
    session->pace.keeps_now =
        waits || !session->pace.is_burst || timeline_is_worth(session, ran_ns);
    return session->pace.keeps_now ? timeline_next_id(session) : 0;
}

/* An interrupt that was sent too late must arrive between cells, where the driver ignores it: the
 * next cell waits until it has. That the signal was sent is no proof, since a busy machine may let
 * the process sleep: only an answer that it gives afterwards is. */
void timing_rest(struct session *session, bool has_stray)
{
    session->pace.has_stray = has_stray;
    if (session->pace.n_interrupts > 0 || (has_stray && timing_ask_stray(session)))
        session_set_alarm(session, ALARM_SETTLE, SETTLE_MS);
    else
        timing_become_idle(session);
}

/* ---- while one runs -------------------------------------------------------------------------- */

/* An interrupt that is followed by a kill. */
static bool timing_is_to_end(const struct exec *exec)
{
    return exec->is_timed_out || exec->is_superseded;
}

static void timing_interrupt(struct session *session)
{
    session->running->n_interrupts++;
    if (chains_are_planning(session)) { /* nothing of it is in the interpreter */
        chains_interrupt(session);
        return;
    }
    session->pace.n_interrupts++;
    head_signal(session->head, SIGINT);
}

/* Whatever the alarm was set for before is done now. */
static void timing_repeat_later(struct session *session)
{
    struct exec *exec = session->running;
    session->pace.is_lasting = true;
    if (!exec->is_watched)
        head_watch(session->head, true);
    exec->is_watched = true;
    session_set_alarm(session, ALARM_REPEAT, REPEAT_MS);
}

bool exec_interrupt(struct session *session)
{
    if (session->ending.wish != DEATH_UNWISHED)
        return false;
    if (session->running == NULL) {
        /* None runs, but one would if the session did not have something to finish first. */
        struct list *first = list_first(&session->queue);
        if (first == NULL || session->state == SESSION_STARTING)
            return false;
        CONTAINER_OF(first, struct exec, node)->is_interrupted = true;
        return true;
    }
    exec_resume(session->running); /* what waited for its caller does so no more */
    timing_interrupt(session);
    if (session->alarm != ALARM_REPEAT && !timing_is_to_end(session->running))
        timing_repeat_later(session);
    session_changed(session);
    return true;
}

bool session_interrupt(struct session *session)
{
    session_restart_idle(session);
    return exec_interrupt(session);
}

void exec_pause(struct exec *exec)
{
    struct session *session = exec->session;
    if (!exec->stands) {
        exec->asked_ns = clock_mono_ns();
        timing_count(session, -1, true, exec->asked_ns);
    }
    exec->stands = true;
    if (exec->is_watched)
        head_watch(session->head, false);
    exec->is_watched = false;
    session->pace.is_lasting = true;
    /* One that was told to stop may ask, but gets no more time by it. */
    if (!timing_is_to_end(exec))
        session_set_alarm(session, ALARM_QUIET, QUIET_MS);
}

void exec_resume(struct exec *exec)
{
    struct session *session = exec->session;
    free(take_ptr(exec->question));
    if (!exec->stands)
        return;
    uint64_t now_ns = clock_mono_ns();
    exec->stands = false;
    exec->waited_ns += now_ns - exec->asked_ns;
    timing_count(session, 1, true, now_ns);
    if (session->state == SESSION_BUSY && !timing_is_to_end(exec))
        timing_arm(session, ALARM_WATCH, (uint32_t)exec_elapsed_ms(exec) + WATCH_AFTER_MS);
}

bool session_supersede(struct session *session)
{
    struct exec *exec = session->running;
    if (exec == NULL || session->ending.wish != DEATH_UNWISHED)
        return false;
    if (timing_is_to_end(exec))
        return true;
    exec->is_superseded = true;
    exec_resume(exec);
    timing_interrupt(session);
    timing_repeat_later(session);
    session_changed(session);
    return true;
}

static void timing_on_settled(struct session *session)
{
    session->pace.n_interrupts = 0;
    session->pace.has_stray = false;
    timing_become_idle(session);
}

void exec_on_signaled(struct session *session)
{
    if (session->pace.n_interrupts > 0)
        session->pace.n_interrupts--;
    if (session->alarm != ALARM_SETTLE || session->pace.n_interrupts > 0)
        return;
    if (!session->pace.has_stray || !timing_ask_stray(session))
        timing_on_settled(session);
}

void exec_on_awake(struct session *session)
{
    if (session->alarm == ALARM_SETTLE && session->pace.n_interrupts == 0)
        timing_on_settled(session);
}

void timing_watch_background(struct session *session)
{
    uint64_t due_ms = background_due_ms(session);
    if (session->state == SESSION_IDLE && session->alarm == ALARM_NONE && due_ms > 0)
        session_set_alarm(session, ALARM_BACKGROUND, due_ms);
}

/* A cell that goes on after an interrupt. On a busy machine two may become one, and that one may
 * come just before the interpreter falls asleep: whoever interrupts sees that and does it again,
 * but nobody waits for a cell whose caller has gone. */
static void timing_after_repeat(struct session *session)
{
    struct exec *exec = session->running;
    exec->n_repeats++;
    uint32_t pause_ms = REPEAT_MS << 2 * MIN(exec->n_repeats, (unsigned)REPEAT_DOUBLED_MAX);
    if (timing_is_to_end(exec))
        session_set_alarm(session, ALARM_GRACE, GRACE_MS - REPEAT_MS);
    else if (exec->is_unwanted)
        timing_arm(session, ALARM_REPEAT, (uint32_t)exec_elapsed_ms(exec) + pause_ms);
    else
        timing_arm(session, ALARM_DEADLINE, exec->timeout_ms);
}

void exec_expire(struct session *session)
{
    struct exec *exec = session->running;
    if (timing_is_to_end(exec))
        return;
    exec->is_timed_out = true;
    exec_resume(exec);
    timing_interrupt(session);
    timing_repeat_later(session);
}

/* The time of the running cell is over. */
static void timing_on_deadline(struct session *session)
{
    struct exec *exec = session->running;
    if (exec_elapsed_ms(exec) < exec->timeout_ms) {
        /* The loop's clock is that of its last turn. */
        session_set_alarm(session, ALARM_DEADLINE, 1);
        return;
    }
    exec->is_timed_out = true;
    timing_interrupt(session);
    timing_repeat_later(session);
}

void exec_on_alarm(struct session *session, enum session_alarm alarm)
{
    struct exec *exec = session->running;
    if (alarm == ALARM_POLL) {
        session->pace.is_lasting = session->pace.is_quiet = true;
        timing_arm(session, ALARM_WATCH, timing_crowded_ms(session->engine, WATCH_AFTER_MS));
    } else if (alarm == ALARM_WATCH) {
        exec->is_watched = true;
        head_watch(session->head, true);
        timing_arm(session, ALARM_DEADLINE, exec->timeout_ms);
    } else if (alarm == ALARM_DEADLINE) {
        timing_on_deadline(session);
    } else if (alarm == ALARM_REPEAT) {
        /* One interrupt may get lost in an interpreter, or be caught by a cell that then goes on.
         */
        timing_interrupt(session);
        timing_after_repeat(session);
    } else if (alarm == ALARM_GRACE) {
        session_kill(session, exec->is_superseded ? DEATH_BY_SUCCESSOR : DEATH_BY_LIMIT, NULL);
    } else if (alarm == ALARM_SETTLE) {
        timing_on_settled(session);
    } else if (alarm == ALARM_REST) {
        /* A checkpoint that is made while others run cells is paid for by them, and by the next
         * cell of this session, which comes the later for it: with a few busy sessions every cell
         * would be followed by one. So it waits for its turn. */
        session->pace.keeps_soon = true;
        session_set_alarm(session, ALARM_QUIET, QUIET_MS);
    } else if (alarm == ALARM_QUIET) {
        session->pace.is_quiet = true;
    }
}
