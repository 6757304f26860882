/* Turns, in the daemon: which sessions may make a checkpoint or save now. Owns engine->turns and
 * every struct turn. It decides nothing else: who has a place is settled, and settle.c begins. */
#include "session/turns.h"

#include "base/clock.h"
#include "loop/loop.h"
#include "session/engine_state.h"
#include "session/session.h"

#include <assert.h>

enum {
    TURNS_QUIET_MS = 2,     /* without a cell: then those that made way go on */
    TURNS_CROWDED_MS = 100, /* for that long they make way */
    TURNS_QUICK_MS = 500,   /* a place is kept for so long if others wait */
    TURNS_SLOW_MS = 10000,  /* likewise, of those that are known to be slow; at the least */
    TURNS_PASSED_OVER = 4,  /* times that a lane may be, before it is served */
    TURNS_TENANT_SHARE = 2, /* of the places of slow saves one tenant has no more than half */
};

void turns_init(struct engine *engine)
{
    struct turns *turns = &engine->turns;
    for (size_t i = 0; i < TURNS_N_LANES; i++)
        list_init(&turns->waiting[i]);
    list_init(&turns->working);
    turns->n_cores = MAX(uv_available_parallelism(), 1U);
}

void turns_stop(struct engine *engine)
{
    loop_timer_close(take_ptr(engine->turns.timer), NULL);
}

void turn_init(struct turn *turn, struct session *session)
{
    *turn = (struct turn){.session = session};
    list_init(&turn->node);
}

static void turn_move(struct turn *turn, enum turn_state to)
{
    static const bool is_legal[][TURN_OVER + 1] = {
        [TURN_NONE] = {[TURN_WAITING] = true},
        [TURN_WAITING] = {[TURN_WORKING] = true},
        [TURN_WORKING] = {[TURN_OVER] = true},
        [TURN_OVER] = {[TURN_WAITING] = true},
    };
    assert(to == TURN_NONE || is_legal[turn->state][to]);
    turn->state = to;
}

/* ---- places ---------------------------------------------------------------------------------- */

static struct turn *turns_of(struct list *node)
{
    return CONTAINER_OF(node, struct turn, node);
}

static bool turns_are_of_one_tenant(const struct turn *a, const struct turn *b)
{
    const char *x = a->session->agent, *y = b->session->agent;
    return x == y || (x != NULL && y != NULL && strcmp(x, y) == 0);
}

/* Places that are taken in the lane's share of them; of one tenant, unless that is NULL. */
static unsigned turns_n_working(const struct turns *turns, enum turns_lane lane,
                                const struct turn *tenant)
{
    unsigned n = 0;
    LIST_EACH(&turns->working, node) {
        const struct turn *other = turns_of(node);
        bool shares = (other->lane == TURNS_SLOW) == (lane == TURNS_SLOW);
        n += shares && (tenant == NULL || turns_are_of_one_tenant(other, tenant));
    }
    return n;
}

/* Cells run, or did so a moment ago, and this lane is behind them. */
static bool turns_is_behind_cells(const struct engine *engine, enum turns_lane lane,
                                  uint64_t now_ms)
{
    return (lane == TURNS_CHECKPOINTS || lane == TURNS_SAVES) && engine->draining == NULL &&
           (engine->n_running > 0 || now_ms - engine->counted.ns / 1000000 < TURNS_QUIET_MS);
}

static bool turns_has_place(const struct engine *engine, enum turns_lane lane, uint64_t now_ms)
{
    const struct turns *turns = &engine->turns;
    bool is_behind = turns_is_behind_cells(engine, lane, now_ms);
    unsigned n = is_behind ? (turns->n_cores + 1) / 2 : turns->n_cores;
    return turns_n_working(turns, lane, NULL) < n;
}

static bool turns_is_within_share(const struct turns *turns, const struct turn *turn)
{
    unsigned most = MAX(turns->n_cores / TURNS_TENANT_SHARE, 1U);
    return turns_n_working(turns, TURNS_SLOW, turn) < most;
}

static bool turns_makes_way(const struct engine *engine, const struct turn *turn, uint64_t now_ms)
{
    return now_ms - turn->since_ms < TURNS_CROWDED_MS &&
           turns_is_behind_cells(engine, turn->lane, now_ms);
}

/* A save that was stopped because it took long gets twice as much time when it is tried again. */
static void turns_begin(struct turns *turns, struct turn *turn)
{
    turn_move(turn, TURN_WORKING);
    turn->is_first = false;
    turn->since_ms = clock_mono_ms();
    turn->allowed_ms = clock_scaled_ms(TURNS_QUICK_MS);
    if (turn->lane == TURNS_SLOW)
        turn->allowed_ms = MAX(clock_scaled_ms(TURNS_SLOW_MS), 2 * turn->worked_ms);
    list_remove(&turn->node);
    list_append(&turns->working, &turn->node);
}

/* ---- the next one ---------------------------------------------------------------------------- */

/* Of a lane: the tenant with the fewest places, and of that who waits longest. NULL if nobody can
 * go on. */
static struct turn *turns_best(struct engine *engine, enum turns_lane lane, uint64_t now_ms)
{
    struct turns *turns = &engine->turns;
    struct turn *best = NULL;
    unsigned fewest = UINT_MAX;
    if (list_is_empty(&turns->waiting[lane]) || !turns_has_place(engine, lane, now_ms))
        return NULL;
    LIST_EACH(&turns->waiting[lane], node) {
        struct turn *turn = turns_of(node);
        if (turns_makes_way(engine, turn, now_ms))
            break; /* whoever came later does so, too */
        unsigned n = turns_n_working(turns, lane, turn);
        if (n >= fewest || (lane == TURNS_SLOW && !turns_is_within_share(turns, turn)))
            continue;
        best = turn;
        fewest = n;
        if (n == 0)
            break;
    }
    return best;
}

static struct turn *turns_next(struct engine *engine, uint64_t now_ms)
{
    struct turns *turns = &engine->turns;
    struct turn *next = NULL;
    for (enum turns_lane lane = 0; lane < TURNS_N_LANES; lane++) {
        struct turn *best = turns_best(engine, lane, now_ms);
        if (best == NULL)
            continue;
        bool is_passed_over = turns->n_passed[lane] >= TURNS_PASSED_OVER;
        if (next != NULL)
            turns->n_passed[lane]++;
        if (next == NULL || is_passed_over)
            next = best;
    }
    if (next != NULL)
        turns->n_passed[next->lane] = 0;
    return next;
}

/* ---- those that take too long ---------------------------------------------------------------- */

static bool turns_is_wanted(const struct turns *turns, enum turns_lane by)
{
    if (by == TURNS_SLOW)
        return !list_is_empty(&turns->waiting[TURNS_SLOW]);
    for (enum turns_lane lane = 0; lane < TURNS_SLOW; lane++)
        if (!list_is_empty(&turns->waiting[lane]))
            return true;
    return false;
}

/* Of those that have a place which others want, the first whose time is over; NULL if there is
 * none, with the time until there will be one. */
static struct turn *turns_expired(struct turns *turns, uint64_t now_ms, uint64_t *ret_next_ms)
{
    LIST_EACH(&turns->working, node) {
        struct turn *turn = turns_of(node);
        if (!turns_is_wanted(turns, turn->lane))
            continue;
        uint64_t worked_ms = now_ms - turn->since_ms;
        if (worked_ms >= turn->allowed_ms)
            return turn;
        *ret_next_ms = MIN(*ret_next_ms, turn->allowed_ms - worked_ms);
    }
    return NULL;
}

/* A checkpoint goes on: it is the session's own process that works. A save goes on in a place for
 * slow ones if there is one, and else is tried again later. */
static void turns_end_time(struct engine *engine, struct turn *turn, uint64_t now_ms)
{
    struct turns *turns = &engine->turns;
    bool is_save = turn->lane != TURNS_CHECKPOINTS;
    if (is_save && turn->lane != TURNS_SLOW && list_is_empty(&turns->waiting[TURNS_SLOW]) &&
        turns_has_place(engine, TURNS_SLOW, now_ms) && turns_is_within_share(turns, turn)) {
        turn->lane = TURNS_SLOW;
        turn->allowed_ms = clock_scaled_ms(TURNS_SLOW_MS);
        return;
    }
    list_remove(&turn->node);
    turn->worked_ms = now_ms - turn->since_ms;
    turn_move(turn, is_save ? TURN_OVER : TURN_NONE);
    if (is_save)
        session_changed(turn->session);
}

/* ---- asking and giving back ------------------------------------------------------------------ */

/* From the loop, so that no session is settled within the settling of another. */
static void turns_serve(void *context)
{
    struct engine *engine = context;
    struct turns *turns = &engine->turns;
    struct turn *turn;
    uint64_t now_ms = clock_mono_ms(), next_ms = UINT64_MAX;
    while ((turn = turns_expired(turns, now_ms, &next_ms)) != NULL)
        turns_end_time(engine, turn, now_ms);
    while ((turn = turns_next(engine, now_ms)) != NULL) {
        turns_begin(turns, turn);
        session_changed(turn->session);
    }
    next_ms = UINT64_MAX;
    (void)turns_expired(turns, clock_mono_ms(), &next_ms);
    for (enum turns_lane lane = TURNS_CHECKPOINTS; lane <= TURNS_SAVES; lane++) {
        struct list *first = list_first(&turns->waiting[lane]);
        if (first == NULL || !turns_makes_way(engine, turns_of(first), now_ms))
            continue;
        next_ms = MIN(next_ms, TURNS_CROWDED_MS - (now_ms - turns_of(first)->since_ms));
        if (engine->n_running == 0)
            next_ms = MIN(next_ms, (uint64_t)TURNS_QUIET_MS);
    }
    if (next_ms != UINT64_MAX && turns->timer != NULL)
        loop_timer_set(turns->timer, next_ms);
}

static void turns_serve_in(struct engine *engine, uint64_t in_ms)
{
    if (engine->turns.timer == NULL)
        engine->turns.timer = loop_timer_new(engine->loop, turns_serve, engine);
    loop_timer_set(engine->turns.timer, in_ms);
}

/* Somebody waits who would be served before one that comes now. */
static bool turns_has_others_before(const struct turns *turns, enum turns_lane lane)
{
    for (enum turns_lane i = lane == TURNS_SLOW ? TURNS_SLOW : 0; i <= lane; i++)
        if (!list_is_empty(&turns->waiting[i]))
            return true;
    return false;
}

bool turn_take(struct turn *turn, enum turns_lane lane)
{
    struct engine *engine = turn->session->engine;
    struct turns *turns = &engine->turns;
    uint64_t now_ms = clock_mono_ms();
    if (turn->state == TURN_WORKING)
        return true;
    if (turn->state == TURN_WAITING && turn->lane == lane)
        return false;
    if (turn->state != TURN_WAITING) {
        turn_move(turn, TURN_WAITING);
        turn->since_ms = now_ms;
    }
    turn->lane = lane;
    list_remove(&turn->node);
    if (!turns_has_others_before(turns, lane) && turns_has_place(engine, lane, now_ms) &&
        (lane == TURNS_AWAITED || lane == TURNS_SLOW || engine->n_running == 0) &&
        (lane != TURNS_SLOW || turns_is_within_share(turns, turn))) {
        turns_begin(turns, turn);
        return true;
    }
    list_append(turn->is_first ? turns->waiting[lane].next : &turns->waiting[lane], &turn->node);
    turns_serve_in(engine, 0);
    return false;
}

void turn_give(struct turn *turn)
{
    struct turns *turns = &turn->session->engine->turns;
    if (turn->state == TURN_NONE)
        return;
    if (turn->state == TURN_WORKING)
        turn->worked_ms = clock_mono_ms() - turn->since_ms;
    bool was_working = turn->state == TURN_WORKING;
    turn_move(turn, TURN_NONE);
    list_remove(&turn->node);
    bool is_awaited = turns_is_wanted(turns, TURNS_AWAITED) || turns_is_wanted(turns, TURNS_SLOW);
    if (was_working && is_awaited && turns->timer != NULL)
        loop_timer_set(turns->timer, 0);
}

void turn_pass(struct turn *turn)
{
    uint64_t worked_ms = turn->worked_ms;
    turn_give(turn);
    turn->worked_ms = worked_ms;
    turn->is_first = true;
}

bool turn_is_slow(const struct turn *turn)
{
    return turn->worked_ms >= clock_scaled_ms(TURNS_QUICK_MS);
}

void turns_on_quiet(struct engine *engine)
{
    const struct turns *turns = &engine->turns;
    bool makes_way = !list_is_empty(&turns->waiting[TURNS_CHECKPOINTS]) ||
                     !list_is_empty(&turns->waiting[TURNS_SAVES]);
    if (makes_way && turns_n_working(turns, TURNS_SAVES, NULL) == 0)
        turns_serve_in(engine, TURNS_QUIET_MS);
}

void turns_count(const struct engine *engine, size_t *ret_working, size_t *ret_waiting)
{
    *ret_working = *ret_waiting = 0;
    LIST_EACH(&engine->turns.working, node)
        ++*ret_working;
    for (size_t i = 0; i < TURNS_N_LANES; i++)
        LIST_EACH(&engine->turns.waiting[i], node)
            ++*ret_waiting;
}
