/* Lines that a cell waits for. */
#include "session_world.h"

static void answer_line(struct world *w, struct session *s, const char *text, struct heard *h)
{
    struct err e;
    struct exec *exec;
    struct exec_wait wait = {.budget = 4000, .listener = &listener, .context = h};
    memset(h, 0, sizeof(*h));
    if (session_input(s, 0, text, text != NULL ? strlen(text) : 0, &wait, &exec, &e) < 0)
        fail_msg("%s", e.message);
    WAIT_FOR(w, h->is_over);
}

static enum err_code refused_line(struct session *s, uint64_t exec_id)
{
    struct err e;
    struct exec *exec;
    struct exec_wait wait = {.listener = &listener};
    return session_input(s, exec_id, "x", 1, &wait, &exec, &e) < 0 ? e.code : ERR_NONE;
}

static void test_a_cell_waits_for_a_line(void **state)
{
    struct world *w = *state;
    struct heard h;
    struct session *s = create(w, NULL);
    assert_int_equal(refused_line(s, 0), ERR_CONFLICT);
    uint64_t began_ms = clock_mono_ms();
    run_with(w, s, "print('hi'); a = input('Name? '); print('go'); b = input(); (a, b)", 1000, 4000,
             &h);
    assert_int_equal(h.status, CELL_INPUT);
    assert_string_equal(h.prompt, "Name? ");
    assert_string_equal(h.out, "hi\n");
    assert_int_equal(refused_line(s, 7), ERR_CONFLICT);
    uint64_t until_ms = clock_mono_ms() + 1100; /* longer than its time limit */
    while (clock_mono_ms() < until_ms)
        uv_run(&w->loop, UV_RUN_NOWAIT);
    assert_int_equal(s->state, SESSION_BUSY);
    answer_line(w, s, "Ada", &h);
    assert_int_equal(h.status, CELL_INPUT);
    assert_string_equal(h.out, "go\n");
    assert_string_equal(h.prompt, "");
    answer_line(w, s, "", &h);
    assert_int_equal(h.status, CELL_COMPLETED);
    assert_string_equal(h.value, "('Ada', '')");
    /* Its waiting is no part of its time. The loop's clock may be late at either end of it. */
    assert_true(h.duration_ms <= (double)(clock_mono_ms() - began_ms - 550));
    assert_int_equal(refused_line(s, 0), ERR_CONFLICT);
}

static void test_the_end_of_input(void **state)
{
    struct world *w = *state;
    struct heard h;
    struct session *s = create(w, NULL);
    run(w, s, "input()", &h);
    assert_int_equal(h.status, CELL_INPUT);
    answer_line(w, s, NULL, &h);
    assert_int_equal(h.status, CELL_ERROR);
    assert_string_equal(h.error, "EOFError");
}

static void test_an_interrupt_ends_the_wait(void **state)
{
    struct world *w = *state;
    struct heard h;
    struct err e;
    struct exec *exec;
    struct session *s = create(w, NULL);
    run(w, s, "k = 3; input()", &h);
    assert_int_equal(h.status, CELL_INPUT);
    assert_true(session_interrupt(s));
    assert_int_equal(refused_line(s, 0), ERR_CONFLICT);
    struct exec_wait wait = {.budget = 4000, .listener = &listener, .context = &h};
    memset(&h, 0, sizeof(h));
    assert_int_equal(session_continue(s, 1, &wait, &exec, &e), 0);
    WAIT_FOR(w, h.is_over);
    assert_int_equal(h.status, CELL_INTERRUPTED);
    run(w, s, "k", &h);
    assert_string_equal(h.value, "3");
}

static void test_asking_on_tells_the_question_again(void **state)
{
    struct world *w = *state;
    struct heard h;
    struct err e;
    struct exec *exec;
    struct session *s = create(w, NULL);
    run(w, s, "print('x'); input('? ')", &h);
    struct exec_wait wait = {.budget = 4000, .listener = &listener, .context = &h};
    memset(&h, 0, sizeof(h));
    assert_int_equal(session_continue(s, 1, &wait, &exec, &e), 0);
    assert_null(exec);
    assert_int_equal(h.status, CELL_INPUT);
    assert_string_equal(h.prompt, "? ");
    assert_string_equal(h.out, "");
}

static void test_death_while_waiting(void **state)
{
    struct world *w = *state;
    struct heard h;
    struct err e;
    struct exec *exec;
    struct session *s = create(w, NULL);
    run(w, s,
        "import os, signal, threading\nsignal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])\n"
        "def end(): signal.sigwait([signal.SIGUSR1]); os._exit(4)\n"
        "threading.Thread(target=end).start()\ninput()",
        &h);
    assert_int_equal(h.status, CELL_INPUT);
    assert_int_equal(kill(fake.heads[0].pid, SIGUSR1), 0);
    WAIT_FOR(w, s->state == SESSION_DEAD);
    assert_int_equal(refused_line(s, 0), ERR_GONE);
    struct exec_wait wait = {.budget = 4000, .listener = &listener, .context = &h};
    memset(&h, 0, sizeof(h));
    assert_int_equal(session_continue(s, 1, &wait, &exec, &e), 0);
    assert_int_equal(h.status, CELL_DIED);
    assert_int_equal(h.exit_code, 4);
}

static void test_idle_while_waiting_for_a_line(void **state)
{
    struct world *w = *state;
    struct heard h;
    uint32_t one = 1;
    struct session *s = create_with(w, (struct session_request){.idle_timeout_secs = &one});
    run(w, s, "input()", &h);
    assert_int_equal(h.status, CELL_INPUT);
    WAIT_FOR(w, s->state == SESSION_DEAD);
    assert_string_equal(s->death.name, "IdleLimit");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
        TEST(test_a_cell_waits_for_a_line),    TEST(test_the_end_of_input),
        TEST(test_an_interrupt_ends_the_wait), TEST(test_asking_on_tells_the_question_again),
        TEST(test_death_while_waiting),        TEST(test_idle_while_waiting_for_a_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
