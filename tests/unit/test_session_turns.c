/* Turns without interpreters: who is next, and what happens to those that take too long. */
#include "base/clock.h"
#include "session/engine_state.h"
#include "session/exec.h"
#include "session/session.h"
#include "session/turns.h"
#include "unit.h"

#include <stdlib.h>
#include <uv.h>

enum { N = 8 };

static struct {
    uv_loop_t loop;
    struct engine engine;
    struct session sessions[N];
    struct session *settled[64]; /* in this order */
    size_t n_settled;
} world;

static void note_settled(struct session *session)
{
    assert_true(world.n_settled < ARRAY_LEN(world.settled));
    world.settled[world.n_settled++] = session;
}

static const struct engine_hooks hooks = {.settle = note_settled};

static int begin(void **state)
{
    (void)state;
    setenv("CELLA_TEST_TIME_SCALE", "0.1",
           1); /* a place is kept for 50 ms, slow ones for a second */
    memset(&world, 0, sizeof(world));
    uv_loop_init(&world.loop);
    world.engine.loop = &world.loop;
    world.engine.hooks = &hooks;
    turns_init(&world.engine);
    world.engine.turns.n_cores = 1;
    for (size_t i = 0; i < N; i++) {
        world.sessions[i].engine = &world.engine;
        turn_init(&world.sessions[i].timeline.turn, &world.sessions[i]);
        turn_init(&world.sessions[i].saving.turn, &world.sessions[i]);
    }
    return 0;
}

static int end(void **state)
{
    (void)state;
    for (size_t i = 0; i < N; i++) {
        turn_give(&world.sessions[i].timeline.turn);
        turn_give(&world.sessions[i].saving.turn);
    }
    turns_stop(&world.engine);
    uv_run(&world.loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&world.loop), 0);
    return 0;
}

static struct turn *save_of(size_t i)
{
    return &world.sessions[i].saving.turn;
}

/* Whoever was settled next, with a place or without one any more. */
static struct session *next_settled(void)
{
    size_t before = world.n_settled;
    while (world.n_settled == before)
        uv_run(&world.loop, UV_RUN_NOWAIT); /* once: two rounds might settle another, too */
    return world.settled[before];
}

static void test_lanes(void **state)
{
    (void)state;
    assert_true(turn_take(save_of(0), TURNS_SAVES));
    assert_true(turn_take(save_of(0), TURNS_SAVES)); /* it has it */
    assert_false(turn_take(save_of(1), TURNS_SAVES));
    assert_false(turn_take(&world.sessions[2].timeline.turn, TURNS_CHECKPOINTS));
    assert_false(turn_take(save_of(3), TURNS_SAVES));
    assert_false(turn_take(save_of(3), TURNS_AWAITED)); /* somebody waits for it now */
    size_t working, waiting;
    turns_count(&world.engine, &working, &waiting);
    assert_int_equal(working, 1);
    assert_int_equal(waiting, 3);
    static const size_t order[] = {3, 2, 1};
    turn_give(save_of(0));
    for (size_t i = 0; i < ARRAY_LEN(order); i++) {
        struct session *next = next_settled();
        assert_ptr_equal(next, &world.sessions[order[i]]);
        turn_give(&next->timeline.turn);
        turn_give(&next->saving.turn);
    }
}

static void test_no_lane_is_passed_over_for_ever(void **state)
{
    (void)state;
    assert_true(turn_take(save_of(0), TURNS_AWAITED));
    assert_false(turn_take(save_of(1), TURNS_SAVES));
    bool was_served = false;
    for (size_t i = 0; i < 2 * N && !was_served; i++) {
        size_t other = 2 + i % 2;
        assert_false(turn_take(save_of(other), TURNS_AWAITED));
        turn_give(i == 0 ? save_of(0) : save_of(2 + (i + 1) % 2));
        was_served = next_settled() == &world.sessions[1];
    }
    assert_true(was_served);
}

/* Of two tenants each has its share, however many sessions one of them has. */
static void test_tenants(void **state)
{
    (void)state;
    static char many[] = "many";
    world.engine.turns.n_cores = 2;
    for (size_t i = 0; i < N; i++)
        world.sessions[i].agent = i < N - 1 ? many : NULL;
    assert_true(turn_take(save_of(0), TURNS_SAVES));
    assert_true(turn_take(save_of(1), TURNS_SAVES));
    for (size_t i = 2; i < N; i++)
        assert_false(turn_take(save_of(i), TURNS_SAVES));
    turn_give(save_of(0));
    assert_ptr_equal(next_settled(), &world.sessions[N - 1]);
}

static void test_cells_come_first(void **state)
{
    (void)state;
    world.engine.n_running = 1;
    world.engine.counted.ns = clock_mono_ns();
    assert_false(turn_take(save_of(0), TURNS_SAVES));
    assert_true(turn_take(save_of(1), TURNS_AWAITED)); /* a cell waits for this one, too */
    turn_give(save_of(1));
    uv_run(&world.loop, UV_RUN_NOWAIT);
    assert_int_equal(world.n_settled, 0);
    world.engine.n_running = 0;
    turns_on_quiet(&world.engine);
    assert_ptr_equal(next_settled(), &world.sessions[0]);
    turn_give(save_of(0));

    world.engine.n_running = 1; /* and never ends */
    assert_false(turn_take(save_of(0), TURNS_SAVES));
    assert_ptr_equal(next_settled(), &world.sessions[0]);
}

static void test_those_that_hang(void **state)
{
    (void)state;
    for (size_t i = 0; i < N; i++)
        assert_int_equal(turn_take(save_of(i), TURNS_SAVES), i == 0);
    /* The first goes on in the place for slow ones, the second finds that taken. */
    assert_ptr_equal(next_settled(), &world.sessions[1]);
    assert_int_equal(save_of(0)->lane, TURNS_SLOW);
    assert_int_equal(save_of(0)->state, TURN_WORKING);
    assert_int_equal(save_of(1)->state, TURN_WORKING);
    assert_ptr_equal(next_settled(), &world.sessions[1]);
    assert_int_equal(save_of(1)->state, TURN_OVER);
    turn_give(save_of(1));
    assert_true(turn_is_slow(save_of(1)));
    /* It is tried again when the place for slow ones is free: whoever has that loses it in time. */
    assert_false(turn_take(save_of(1), TURNS_SLOW));
    while (save_of(0)->state == TURN_WORKING) {
        struct session *next = next_settled();
        if (next->saving.turn.state == TURN_WORKING)
            turn_give(&next->saving.turn);
    }
    assert_int_equal(save_of(0)->state, TURN_OVER);
    turn_give(save_of(0));
    while (save_of(1)->state != TURN_WORKING)
        next_settled();
    assert_true(save_of(1)->allowed_ms >= 1000);
}

/* Who cannot use its place comes first the next time. */
static void test_passing(void **state)
{
    (void)state;
    assert_true(turn_take(save_of(0), TURNS_SAVES));
    assert_false(turn_take(save_of(1), TURNS_SAVES));
    assert_false(turn_take(save_of(2), TURNS_SAVES));
    turn_pass(save_of(0));
    assert_ptr_equal(next_settled(), &world.sessions[1]);
    assert_false(turn_take(save_of(0), TURNS_SAVES));
    turn_give(save_of(1));
    assert_ptr_equal(next_settled(), &world.sessions[0]);
}

/* Eight cells ran at once on one core, each for half of the time that the machine has run. */
static void test_waiting_for_others_is_no_work(void **state)
{
    (void)state;
    uint64_t now_ns = clock_mono_ns(), half_ns = now_ns / 2;
    struct exec exec = {.session = &world.sessions[0], .started_ns = now_ns - half_ns};
    world.engine.counted = (struct timing_moment){.ns = now_ns, .worked_ns = half_ns};
    assert_true(timing_ran_ns(&exec) >= half_ns); /* it ran alone */
    world.engine.counted.worked_ns = 8 * half_ns;
    uint64_t ran_ns = timing_ran_ns(&exec);
    assert_true(ran_ns > half_ns / 16 && ran_ns < half_ns / 4);
    world.engine.counted.worked_ns = 1000 * half_ns;
    assert_true(timing_ran_ns(&exec) >= half_ns / 10); /* what can be lost has a bound */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_lanes, begin, end),
        cmocka_unit_test_setup_teardown(test_no_lane_is_passed_over_for_ever, begin, end),
        cmocka_unit_test_setup_teardown(test_tenants, begin, end),
        cmocka_unit_test_setup_teardown(test_cells_come_first, begin, end),
        cmocka_unit_test_setup_teardown(test_those_that_hang, begin, end),
        cmocka_unit_test_setup_teardown(test_passing, begin, end),
        cmocka_unit_test_setup_teardown(test_waiting_for_others_is_no_work, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
