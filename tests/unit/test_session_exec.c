/* Cells from the queue to their answers, with the real driver and a warden without jails. */
#include "session_world.h"

static int set_up_pool(void **state)
{
    return set_up_with(state, 2);
}

/* ---- cells ----------------------------------------------------------------------------------- */

static void test_value_and_state(void **state)
{
    struct world *w = *state;
    struct heard h;
    struct session *s = create(w, NULL);
    assert_true(w->is_ready);
    run(w, s, "x = 20", &h);
    assert_int_equal(h.status, CELL_COMPLETED);
    run(w, s, "print('out'); import sys; print('err', file=sys.stderr); x + 22", &h);
    assert_string_equal(h.value, "42");
    assert_string_equal(h.out, "out\n");
    assert_string_equal(h.err, "err\n");
    assert_int_equal(h.exec_id, 2);
    assert_true(h.duration_ms > 0);
    run(w, s, "1/0", &h);
    assert_int_equal(h.status, CELL_ERROR);
    assert_string_equal(h.error, "ZeroDivisionError");
    assert_int_equal(s->state, SESSION_IDLE);
    assert_int_equal(session_output_len(s), 8);
}

static void test_queue_keeps_order_and_is_bounded(void **state)
{
    struct world *w = *state;
    static struct heard h[EXEC_QUEUE_MAX + 2];
    struct session *s = create(w, NULL);
    begin(s, "n = 0", 30000, 100, &h[0]);
    for (size_t i = 1; i <= EXEC_QUEUE_MAX; i++)
        begin(s, "n += 1; n", 30000, 100, &h[i]);
    assert_int_equal(s->n_queued, EXEC_QUEUE_MAX);
    begin(s, "n", 30000, 100, &h[EXEC_QUEUE_MAX + 1]);
    assert_true(h[EXEC_QUEUE_MAX + 1].has_failed);
    WAIT_FOR(w, h[EXEC_QUEUE_MAX].is_over);
    for (size_t i = 1; i <= EXEC_QUEUE_MAX; i++) {
        char expected[16];
        snprintf(expected, sizeof(expected), "%zu", i);
        assert_string_equal(h[i].value, expected);
    }
}

static void test_much_output_is_cut_and_kept_in_the_ring(void **state)
{
    struct world *w = *state;
    struct heard h;
    struct session *s = create(w, NULL);
    run_with(w, s, "for i in range(200000): print(i)", 30000, 1000, &h);
    assert_true(h.is_truncated);
    assert_memory_equal(h.out, "0\n1\n2\n", 6);
    assert_non_null(strstr(h.out, "bytes left out"));
    assert_string_equal(h.out + strlen(h.out) - 7, "199999\n");
    assert_int_equal(output_ring_kept(&s->rings[0]), 64 * KIB);
    assert_int_equal(s->rings[0].end, 1288890);
    assert_true(h.omitted_out > 1287000);
}

static void test_display_keeps_its_place(void **state)
{
    struct world *w = *state;
    struct heard h;
    struct session *s = create(w, NULL);
    run(w, s, "print('a'); display('b'); print('c')", &h);
    assert_int_equal(h.n_outputs, 1);
    assert_string_equal(h.first_output, "'b'");
    assert_string_equal(h.streamed, "stdout:a\n;display:'b';stdout:c\n;");
}

static void test_displays_over_the_budget_are_counted(void **state)
{
    struct world *w = *state;
    struct heard h;
    struct session *s = create(w, NULL);
    run_with(w, s, "for i in range(1100): display('x' * 1000)", 30000, 2000, &h);
    assert_int_equal(h.status, CELL_COMPLETED);
    assert_int_equal(h.n_outputs, TRANSCRIPT_ITEMS_MAX);
    assert_true(h.is_truncated);
    assert_true(h.omitted_outputs > 1000 * 1000);
}

static void test_late_output_belongs_to_its_cell(void **state)
{
    struct world *w = *state;
    struct heard h;
    struct session *s = create(w, NULL);
    run(w, s, "import subprocess as s; p = s.Popen('read x; echo late', shell=True, stdin=s.PIPE)",
        &h);
    assert_string_equal(h.out, "");
    run(w, s, "print('now'); p.communicate(b'go')", &h);
    assert_string_equal(h.out, "now\n");
    _buf_ struct buf text = BUF_INIT(100);
    struct output_range range;
    WAIT_FOR(w, session_output_len(s) == 9);
    output_ring_read(&s->rings[0], 1, 0, 100, &text, &range);
    assert_string_equal(buf_str(&text), "late\n");
    WAIT_FOR(w, s->n_late == 1); /* only the last cell's pipes stay */
}

static void test_pipes_of_many_cells_do_not_pile_up(void **state)
{
    struct world *w = *state;
    struct heard h;
    struct session *s = create(w, NULL);
    for (int i = 0; i < 50; i++)
        run(w, s, "1", &h);
    assert_in_range(s->n_late, 1, 2);
    for (int i = 0; i < 12; i++)
        run(w, s, "import subprocess; subprocess.Popen(['sleep', '30'])", &h);
    assert_in_range(s->n_late, 1, 8);
}

static void test_a_detached_cell_goes_on(void **state)
{
    struct world *w = *state;
    struct heard h, next;
    struct session *s = create(w, NULL);
    exec_forget(begin(s, "y = 5", 30000, 100, &h));
    run(w, s, "y", &next);
    assert_string_equal(next.value, "5");
    assert_false(h.is_over);
}

/* ---- time ------------------------------------------------------------------------------------ */

static void test_time_limit_interrupts(void **state)
{
    struct world *w = *state;
    struct heard h;
    struct session *s = create(w, NULL);
    run(w, s, "z = 1", &h); /* not before the loop, which the limit may come before */
    int watches = (int)fake.n_watches;
    run_with(w, s, "while True: pass", 1000, 1000, &h);
    assert_int_equal(h.status, CELL_TIMEOUT);
    assert_string_equal(h.error, "TimeLimit");
    assert_string_equal(h.message, "stopped by SIGINT after its time limit of 1000 ms");
    assert_true(h.duration_ms >= 1000);
    assert_int_equal(fake.n_watches - watches, 2);
    run(w, s, "z", &h);
    assert_string_equal(h.value, "1");
}

static void test_ignored_interrupt_is_killed(void **state)
{
    struct world *w = *state;
    struct heard h, waiting, after;
    struct session *s = create(w, NULL);
    begin(s,
          "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN); print('x', flush=True)\n"
          "while True: pass",
          1000, 1000, &h); /* time enough for the first line */
    begin(s, "1", 1000, 1000, &waiting);
    WAIT_FOR(w, h.is_over);
    assert_int_equal(h.status, CELL_TIMEOUT);
    assert_string_equal(h.out, "x\n");
    assert_non_null(strstr(h.message, "ignored the interrupt and was killed"));
    assert_int_equal(h.exit_code, 128 + SIGKILL);
    assert_true(waiting.has_failed);
    assert_non_null(strstr(waiting.message, "before the cell could begin"));
    assert_int_equal(s->state, SESSION_DEAD);
    run(w, s, "1", &after);
    assert_true(after.has_failed);
    assert_non_null(strstr(after.message, "the session has ended"));
}

static void test_interrupt(void **state)
{
    struct world *w = *state;
    struct heard h;
    struct session *s = create(w, NULL);
    assert_false(session_interrupt(s));
    begin(s, "print('go', flush=True)\nimport time; time.sleep(30)", 30000, 1000, &h);
    WAIT_FOR(w, h.streamed[0] != '\0');
    assert_true(session_interrupt(s));
    WAIT_FOR(w, h.is_over);
    assert_int_equal(h.status, CELL_INTERRUPTED);
    run(w, s, "7", &h);
    assert_string_equal(h.value, "7");
}

/* ---- ends ------------------------------------------------------------------------------------ */

static void test_exit_and_signal(void **state)
{
    struct world *w = *state;
    struct heard h;
    struct session *s = create(w, NULL);
    run(w, s, "import os; os.write(1, b'bye'); os._exit(3)", &h);
    assert_int_equal(h.status, CELL_DIED);
    assert_string_equal(h.out, "bye");
    assert_string_equal(h.error, "Exited");
    assert_int_equal(h.exit_code, 3);
    s = create(w, NULL);
    run(w, s, "import os, signal; os.kill(os.getpid(), signal.SIGSEGV)", &h);
    assert_string_equal(h.error, "Crashed");
    assert_int_equal(h.exit_code, 128 + SIGSEGV);
}

static void test_a_heap_that_ran_full(void **state)
{
    struct world *w = *state;
    struct heard h;
    struct session *s = create(w, NULL);
    run(w, s,
        "import os\nos.write(2, b'FATAL ERROR: Reached heap limit Allocation failed - JavaScript "
        "heap "
        "out of memory\\n')\nos.abort()",
        &h);
    assert_string_equal(h.error, "OutOfMemory");
    assert_int_equal(h.exit_code, 128 + SIGABRT);
}

/* What closes its channel is exiting, or has lost its mind. */
static void test_a_closed_channel_gets_a_moment(void **state)
{
    struct world *w = *state;
    struct heard h;
    struct session *s = create(w, NULL);
    run(w, s, "import os, time; os.closerange(3, 100); time.sleep(0.02); os._exit(6)", &h);
    assert_string_equal(h.error, "Exited");
    assert_int_equal(h.exit_code, 6);
    s = create(w, NULL);
    run(w, s, "import os; os.kill(os.getpid(), 9)", &h);
    assert_string_equal(h.error, "Killed");
    assert_non_null(strstr(h.message, "from inside"));
}

static void test_damaged_channel(void **state)
{
    static const char *const attacks[] = {
        "import os; os.closerange(3, 100); import time; time.sleep(9)",
        "import os\nfor fd in range(3, 20):\n"
        "  try: os.write(fd, b'garbage' * 100)\n  except OSError: pass\nimport time; time.sleep(9)",
        "import os, struct\nfor fd in range(3, 20):\n"
        "  try: os.write(fd, struct.pack('<I', 14) + b'{\"ev\":\"ready\"}')\n"
        "  except OSError: pass\nimport time; time.sleep(9)",
    };
    struct world *w = *state;
    for (size_t i = 0; i < ARRAY_LEN(attacks); i++) {
        struct heard h;
        struct session *s = create(w, NULL);
        run(w, s, attacks[i], &h);
        assert_int_equal(h.status, CELL_DIED);
        assert_string_equal(h.error, "ControlChannel");
        assert_int_equal(s->state, SESSION_DEAD);
        session_delete(s);
    }
}

static void test_channel_damaged_between_cells(void **state)
{
    struct world *w = *state;
    struct heard h;
    struct session *s = create(w, NULL);
    run(w, s,
        "import os, struct\nfor fd in range(3, 20):\n"
        "  try: os.write(fd, struct.pack('<I', 34) + "
        "b'{\"ev\":\"done\",\"id\":1,\"status\":\"ok\"}')\n"
        "  except OSError: pass\n",
        &h);
    assert_int_equal(h.status,
                     CELL_COMPLETED); /* the forged verdict; the real one comes too late */
    WAIT_FOR(w, s->ending.wish != DEATH_UNWISHED || s->state == SESSION_DEAD);
    run(w, s, "1", &h);
    assert_true(h.has_failed);
    assert_int_equal(s->state, SESSION_DEAD);
    assert_string_equal(s->death.name, "ControlChannel");
}

static void test_delete_answers_everybody(void **state)
{
    struct world *w = *state;
    struct heard h, waiting;
    struct err e;
    char id[UUID_SIZE];
    struct session *s = create(w, NULL);
    memcpy(id, s->id, sizeof(id));
    begin(s, "import time; time.sleep(30)", 30000, 100, &h);
    begin(s, "1", 30000, 100, &waiting);
    session_delete(s);
    assert_int_equal(h.status, CELL_DIED);
    assert_true(waiting.has_failed);
    assert_null(session_find(w->engine, id, &e));
    assert_int_equal(e.code, ERR_NOT_FOUND);
}

static void test_stop_answers_everybody(void **state)
{
    struct world *w = *state;
    static struct heard h;
    struct session *s = create(w, NULL);
    begin(s, "import time; time.sleep(30)", 30000, 100, &h);
    tear_down(state);
    assert_true(h.is_over);
    assert_string_equal(h.error, "DaemonStop");
    set_up(state);
}

static void test_session_limit(void **state)
{
    struct world *w = *state;
    struct err e;
    struct session *s;
    struct session_request request = {.runtime = &runtime_python, .checkpoints = TIMELINE_OFF};
    for (int i = 0; i < 8; i++)
        create(w, NULL);
    assert_int_equal(session_create(w->engine, &request, &s, &e), -1);
    assert_int_equal(e.code, ERR_LIMIT);
    struct engine_stats stats;
    engine_stats(w->engine, &stats);
    assert_int_equal(stats.sessions, 8);
}

/* ---- the pool -------------------------------------------------------------------------------- */

static unsigned pooled(struct world *w)
{
    struct engine_stats stats;
    engine_stats(w->engine, &stats);
    return stats.pooled;
}

static void test_pool_fills_and_refills(void **state)
{
    struct world *w = *state;
    WAIT_FOR(w, pooled(w) == 2);
    struct err e;
    struct session *s;
    struct session_request request = {.runtime = &runtime_python, .checkpoints = TIMELINE_OFF};
    assert_int_equal(session_create(w->engine, &request, &s, &e), 0);
    assert_int_equal(s->state, SESSION_IDLE);
    assert_int_equal(pooled(w), 1);
    struct heard h;
    run(w, s, "1+1", &h);
    assert_string_equal(h.value, "2");
    WAIT_FOR(w, pooled(w) == 2);
    assert_int_equal(fake.n_heads, 3);
}

/* Its replacement comes after its end, or without that a little later; and is ready for states. */
static void test_pool_refills_after_what_is_brief(void **state)
{
    struct world *w = *state;
    WAIT_FOR(w, pooled(w) == 2);
    struct err e;
    struct session *s;
    struct session_request request = {.runtime = &runtime_python,
                                      .checkpoints = TIMELINE_OFF,
                                      .is_unlisted = true,
                                      .has_state = true};
    for (int i = 0; i < 3; i++) {
        assert_int_equal(session_create(w->engine, &request, &s, &e), 0);
        assert_int_equal(s->state, SESSION_IDLE);
        struct heard h;
        run(w, s, "1+1", &h);
        assert_string_equal(h.value, "2");
        if (i > 0)
            session_delete(s);
        WAIT_FOR(w, pooled(w) == 2);
    }
}

static void test_other_limits_do_not_come_from_the_pool(void **state)
{
    struct world *w = *state;
    WAIT_FOR(w, pooled(w) == 2);
    struct err e;
    struct session *s;
    struct jail_limits limits = JAIL_LIMITS_DEFAULT;
    limits.memory_mb = 64;
    struct session_request request = {
        .runtime = &runtime_python, .checkpoints = TIMELINE_OFF, .limits = &limits};
    assert_int_equal(session_create(w->engine, &request, &s, &e), 0);
    assert_int_equal(s->state, SESSION_STARTING);
    assert_int_equal(pooled(w), 2);
    WAIT_FOR(w, s->state == SESSION_IDLE);
}

static void test_dead_head_in_the_pool_is_replaced(void **state)
{
    struct world *w = *state;
    WAIT_FOR(w, pooled(w) == 2);
    kill(fake.heads[0].pid, SIGKILL);
    WAIT_FOR(w, pooled(w) == 1);
    WAIT_FOR(w, pooled(w) == 2);
}

static void test_refused_session_says_why(void **state)
{
    struct world *w = *state;
    fake.is_full = true;
    struct session *s = create(w, NULL);
    assert_int_equal(s->state, SESSION_DEAD);
    assert_non_null(strstr(s->death.message, "no room"));
    fake.is_full = false;
    s = create(w, NULL);
    assert_int_equal(s->state, SESSION_IDLE);
}

static void test_broken_profile_is_tried_again_and_then_rests(void **state)
{
    struct world *w = *state;
    WAIT_FOR(w, w->is_ready);
    fake.is_zygote_broken = true;
    unsigned before = fake.n_started;
    struct session *s = create(w, "other");
    assert_int_equal(s->state, SESSION_DEAD);
    assert_non_null(strstr(s->death.message, "ImportError: broken"));
    struct err e;
    struct session_request request = {
        .runtime = &runtime_python, .checkpoints = TIMELINE_OFF, .profile = "other"};
    assert_int_equal(session_create(w->engine, &request, &s, &e), -1);
    assert_int_equal(e.code, ERR_UNAVAILABLE);
    WAIT_FOR(w, fake.n_started == before + 3);
    fake.is_zygote_broken = false;
    WAIT_FOR(w, session_create(w->engine, &request, &s, &e) == 0);
    WAIT_FOR(w, s->state == SESSION_IDLE);
    assert_int_equal(
        session_create(w->engine,
                       &(struct session_request){.runtime = &runtime_python, .profile = "none"}, &s,
                       &e),
        -1);
    assert_int_equal(e.code, ERR_INVALID);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
#define TEST_POOL(name) cmocka_unit_test_setup_teardown(name, set_up_pool, tear_down)
        TEST(test_value_and_state),
        TEST(test_queue_keeps_order_and_is_bounded),
        TEST(test_much_output_is_cut_and_kept_in_the_ring),
        TEST(test_display_keeps_its_place),
        TEST(test_displays_over_the_budget_are_counted),
        TEST(test_late_output_belongs_to_its_cell),
        TEST(test_pipes_of_many_cells_do_not_pile_up),
        TEST(test_a_detached_cell_goes_on),
        TEST(test_time_limit_interrupts),
        TEST(test_ignored_interrupt_is_killed),
        TEST(test_interrupt),
        TEST(test_exit_and_signal),
        TEST(test_a_heap_that_ran_full),
        TEST(test_a_closed_channel_gets_a_moment),
        TEST(test_damaged_channel),
        TEST(test_channel_damaged_between_cells),
        TEST(test_delete_answers_everybody),
        TEST(test_stop_answers_everybody),
        TEST(test_session_limit),
        TEST_POOL(test_pool_fills_and_refills),
        TEST_POOL(test_pool_refills_after_what_is_brief),
        TEST_POOL(test_other_limits_do_not_come_from_the_pool),
        TEST_POOL(test_dead_head_in_the_pool_is_replaced),
        TEST(test_refused_session_says_why),
        TEST(test_broken_profile_is_tried_again_and_then_rests),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
