/* Cells that answer more than once: patience that ends, asking on, ends that nobody waited for. */
#include "session_world.h"

#include <fcntl.h>

/* A plain caller, who does not listen to the stream. */
static const struct exec_listener plain = {.on_result = hear_result, .on_failed = hear_failure};

static struct exec_wait impatient(uint32_t yield_ms, struct heard *h)
{
    memset(h, 0, sizeof(*h));
    return (struct exec_wait){
        .budget = 4000, .has_yield = true, .yield_ms = yield_ms, .listener = &plain, .context = h};
}

static struct exec_wait patient(struct heard *h)
{
    struct exec_wait wait = impatient(0, h);
    wait.has_yield = false;
    return wait;
}

static struct exec *submit(struct session *s, const char *code, const struct exec_wait *wait)
{
    struct err e;
    struct exec *exec;
    struct exec_request request = {
        .code = code, .code_len = strlen(code), .timeout_ms = 30000, .wait = *wait};
    assert_int_equal(session_exec(s, &request, &exec, &e), 0);
    return exec;
}

static enum err_code ask_on(struct session *s, uint64_t exec_id, const struct exec_wait *wait)
{
    struct err e;
    struct exec *exec;
    return session_continue(s, exec_id, wait, &exec, &e) == 0 ? ERR_NONE : e.code;
}

static void continue_to_end(struct world *w, struct session *s, uint64_t exec_id, struct heard *h)
{
    struct exec_wait wait = patient(h);
    assert_int_equal(ask_on(s, exec_id, &wait), ERR_NONE);
    WAIT_FOR(w, h->is_over);
}

/* A file that cells wait for: nothing here depends on how fast anything is. */
static char gate[64];

static int set_up_gate(void **state)
{
    snprintf(gate, sizeof(gate), "/tmp/cella-test-gate-%d", (int)getpid());
    return set_up(state);
}

static int tear_down_gate(void **state)
{
    unlink(gate);
    return tear_down(state);
}

static void open_gate(void)
{
    int fd = open(gate, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    close(fd);
}

/* `before`, then the gate, then `after`. */
static const char *gated(const char *before, const char *after, struct buf *code)
{
    buf_clear(code);
    buf_printf(code,
               "import os, time; path = '%s'\n%s\n"
               "while not os.path.exists(path): time.sleep(0.005)\n%s",
               gate, before, after);
    return buf_str(code);
}

/* Asks on until an answer had output: the cell may not have come so far. */
static void poll_new(struct world *w, struct session *s, uint64_t exec_id, struct heard *h)
{
    while (h->out[0] == '\0') {
        struct exec_wait wait = impatient(5, h);
        assert_int_equal(ask_on(s, exec_id, &wait), ERR_NONE);
        WAIT_FOR(w, h->is_over);
        assert_int_equal(h->status, CELL_RUNNING);
    }
}

static void test_yields_and_goes_on(void **state)
{
    struct world *w = *state;
    struct heard h;
    _buf_ struct buf code = BUF_INIT(MIB);
    struct session *s = create(w, NULL);
    struct exec_wait wait = impatient(0, &h);
    submit(s, gated("display('first'); print('a', flush=True)", "print('b'); 42", &code), &wait);
    WAIT_FOR(w, h.is_over);
    assert_int_equal(h.status, CELL_RUNNING);
    assert_false(h.is_queued);
    poll_new(w, s, 1, &h);
    assert_string_equal(h.out, "a\n");
    assert_string_equal(h.value, "");
    assert_int_equal(s->state, SESSION_BUSY);

    wait = impatient(1, &h);
    assert_int_equal(ask_on(s, 1, &wait), ERR_NONE);
    WAIT_FOR(w, h.is_over);
    assert_int_equal(h.status, CELL_RUNNING);
    assert_string_equal(h.out, "");
    assert_int_equal(h.n_outputs, 0);

    open_gate();
    continue_to_end(w, s, 1, &h);
    assert_int_equal(h.status, CELL_COMPLETED);
    assert_string_equal(h.out, "b\n");
    assert_string_equal(h.value, "42");
    wait = patient(&h);
    assert_int_equal(ask_on(s, 1, &wait), ERR_CONFLICT);
}

static void test_ends_between_answers(void **state)
{
    struct world *w = *state;
    struct heard h;
    _buf_ struct buf code = BUF_INIT(MIB);
    struct session *s = create(w, NULL);
    struct exec_wait wait = impatient(0, &h);
    submit(s, gated("print('a', flush=True)", "display('x'); print('b'); 42", &code), &wait);
    WAIT_FOR(w, h.is_over);
    poll_new(w, s, 1, &h);
    open_gate(); /* it ends while nobody waits */
    WAIT_FOR(w, s->n_kept == 1);
    continue_to_end(w, s, 1, &h);
    assert_string_equal(h.out, "b\n");
    assert_string_equal(h.value, "42");
    assert_int_equal(h.n_outputs, 1);
    assert_int_equal(s->n_kept, 0);
    assert_int_equal(s->kept_bytes, 0);
}

static void test_a_character_is_not_cut_by_an_answer(void **state)
{
    struct world *w = *state;
    struct heard h;
    _buf_ struct buf code = BUF_INIT(MIB);
    struct session *s = create(w, NULL);
    struct exec_wait wait = impatient(0, &h);
    submit(s, gated("os.write(1, b'x\\xe2\\x82')", "os.write(1, b'\\xacy')", &code), &wait);
    WAIT_FOR(w, h.is_over);
    poll_new(w, s, 1, &h);
    assert_string_equal(h.out, "x");
    open_gate();
    continue_to_end(w, s, 1, &h);
    assert_string_equal(h.out, "\xe2\x82\xacy");
}

static void test_much_output_between_answers(void **state)
{
    struct world *w = *state;
    struct heard h;
    struct session *s = create(w, NULL);
    struct exec_wait wait = impatient(0, &h);
    submit(s, "for i in range(100000): print(i)", &wait); /* the first answer may have some of it */
    WAIT_FOR(w, h.is_over);
    assert_int_equal(h.status, CELL_RUNNING);
    WAIT_FOR(w, s->n_kept == 1);
    continue_to_end(w, s, 1, &h);
    assert_true(h.is_truncated);
    assert_non_null(strstr(h.out, "bytes left out"));
    assert_string_equal(h.out + strlen(h.out) - 6, "99999\n");
}

static void test_an_end_is_kept_for_a_caller_that_left(void **state)
{
    struct world *w = *state;
    struct heard h;
    struct session *s = create(w, NULL);
    struct exec_wait wait = patient(&h);
    exec_forget(submit(s, "print('hello'); 6 * 7", &wait));
    WAIT_FOR(w, s->n_kept == 1);
    assert_false(h.is_over);
    struct heard other;
    run(w, s, "1", &other);
    continue_to_end(w, s, 1, &h);
    assert_int_equal(h.status, CELL_COMPLETED);
    assert_string_equal(h.out, "hello\n");
    assert_string_equal(h.value, "42");
}

static void test_a_canceller_stops_the_cell(void **state)
{
    struct world *w = *state;
    struct heard running, queued, h;
    struct session *s = create(w, NULL);
    struct exec_wait wait = patient(&running);
    wait.cancels = true;
    struct exec *first =
        submit(s, "n = 1; print('x', flush=True)\nimport time; time.sleep(30)", &wait);
    struct exec_wait wait_too = patient(&queued);
    wait_too.cancels = true;
    struct exec *second = submit(s, "n = 2", &wait_too);
    exec_forget(second);
    assert_int_equal(s->n_queued, 0);
    WAIT_FOR(w, session_output_len(s) == 2);
    exec_forget(first);
    run(w, s, "n", &h);
    assert_string_equal(h.value, "1");
    assert_int_equal(s->n_kept, 0);
    wait = patient(&h);
    assert_int_equal(ask_on(s, 1, &wait), ERR_NOT_FOUND);
}

static void test_one_caller_at_a_time(void **state)
{
    struct world *w = *state;
    struct heard h, other;
    struct session *s = create(w, NULL);
    struct exec_wait wait = patient(&h), second = patient(&other);
    submit(s, "import time; time.sleep(0.05)", &wait);
    assert_int_equal(ask_on(s, 1, &second), ERR_CONFLICT);
    assert_int_equal(ask_on(s, 2, &second), ERR_NOT_FOUND);
    WAIT_FOR(w, h.is_over);
    assert_int_equal(ask_on(s, 1, &second), ERR_CONFLICT);
}

static void test_a_queued_cell_yields_too(void **state)
{
    struct world *w = *state;
    struct heard first, h;
    struct session *s = create(w, NULL);
    struct exec_wait wait = patient(&first), impatient_wait = impatient(5, &h);
    _buf_ struct buf code = BUF_INIT(MIB);
    submit(s, gated("", "", &code), &wait);
    submit(s, "'second'", &impatient_wait);
    WAIT_FOR(w, h.is_over);
    assert_int_equal(h.status, CELL_RUNNING);
    assert_true(h.is_queued);
    open_gate();
    continue_to_end(w, s, 2, &h);
    assert_string_equal(h.value, "'second'");
}

static void test_the_last_ends_are_kept(void **state)
{
    struct world *w = *state;
    struct heard h;
    struct session *s = create(w, NULL);
    for (int i = 0; i < EXEC_KEPT_MAX + 2; i++) {
        struct exec_wait wait = patient(&h);
        exec_forget(submit(s, "1", &wait));
        WAIT_FOR(w, s->state == SESSION_IDLE);
    }
    assert_int_equal(s->n_kept, EXEC_KEPT_MAX);
    struct exec_wait wait = patient(&h);
    assert_int_equal(ask_on(s, 2, &wait), ERR_NOT_FOUND);
    continue_to_end(w, s, 3, &h);
    assert_string_equal(h.value, "1");
}

static void test_kept_bytes_are_bounded(void **state)
{
    struct world *w = *state;
    struct heard h;
    struct session *s = create(w, NULL);
    for (int i = 0; i < 5; i++) {
        struct exec_wait wait = patient(&h);
        wait.budget = 3 * MIB;
        exec_forget(
            submit(s, "class Long:\n  def __repr__(self): return 'x' * (5 << 19)\ndisplay(Long())",
                   &wait));
        WAIT_FOR(w, s->state == SESSION_IDLE);
    }
    assert_in_range(s->n_kept, 1, 5);
    assert_in_range(s->kept_bytes, 1, 8 * MIB);
}

static void test_an_end_by_death_is_kept(void **state)
{
    struct world *w = *state;
    struct heard h, queued;
    _buf_ struct buf code = BUF_INIT(MIB);
    struct session *s = create(w, NULL);
    struct exec_wait wait = impatient(0, &h), queued_wait = impatient(0, &queued);
    submit(s, gated("", "os.write(1, b'x\\n'); os._exit(3)", &code), &wait);
    submit(s, "1", &queued_wait);
    WAIT_FOR(w, h.is_over && queued.is_over);
    open_gate();
    WAIT_FOR(w, s->state == SESSION_DEAD);
    continue_to_end(w, s, 1, &h);
    assert_int_equal(h.status, CELL_DIED);
    assert_string_equal(h.error, "Exited");
    assert_int_equal(h.exit_code, 3);
    assert_string_equal(h.out, "x\n");
    assert_int_equal(ask_on(s, 2, &queued_wait), ERR_GONE);
}

static void test_a_stream_begins_with_what_is_new(void **state)
{
    struct world *w = *state;
    struct heard h;
    _buf_ struct buf code = BUF_INIT(MIB);
    struct session *s = create(w, NULL);
    struct exec_wait wait = impatient(0, &h);
    _buf_ struct buf first = BUF_INIT(MIB);
    gated("", "os.unlink(path); print('a', flush=True)", &first);
    submit(s, gated(buf_str(&first), "print('d', end='')", &code), &wait);
    WAIT_FOR(w, h.is_over);
    open_gate(); /* for what comes after the first answer */
    WAIT_FOR(w, session_output_len(s) == 2);
    memset(&h, 0, sizeof(h));
    struct exec_wait stream = {.budget = 4000, .listener = &listener, .context = &h};
    assert_int_equal(ask_on(s, 1, &stream), ERR_NONE);
    assert_string_equal(h.streamed, "stdout:a\n;");
    open_gate();
    WAIT_FOR(w, h.is_over);
    assert_string_equal(h.streamed, "stdout:a\nd;");
    assert_string_equal(h.out, "a\nd");
}

/* ---- the tool that reads a session as a whole ------------------------------------------------ */

static const char *take(struct session *s, enum output_stream stream, struct buf *buf)
{
    uint64_t dropped;
    buf_clear(buf);
    session_take_new(s, stream, buf, &dropped);
    return buf_str(buf);
}

static void test_echo_and_take_new(void **state)
{
    struct world *w = *state;
    struct heard h;
    struct err e;
    struct exec *exec;
    _buf_ struct buf buf = BUF_INIT(MIB);
    struct session *s = create(w, NULL);
    struct exec_request request = {.timeout_ms = 30000, .echoes = true};
    static const char *const cells[] = {"print('x'); 1 + 1", "None", "1/0"};
    for (size_t i = 0; i < ARRAY_LEN(cells); i++) {
        request.code = cells[i];
        request.code_len = strlen(cells[i]);
        request.wait = patient(&h);
        assert_int_equal(session_exec(s, &request, &exec, &e), 0);
        WAIT_FOR(w, h.is_over);
        if (i == 0)
            assert_string_equal(take(s, OUTPUT_STDOUT, &buf), "x\n2\n");
    }
    assert_string_equal(take(s, OUTPUT_STDOUT, &buf), "");
    assert_non_null(strstr(take(s, OUTPUT_STDERR, &buf), "ZeroDivisionError: division by zero\n"));
    assert_string_equal(take(s, OUTPUT_STDERR, &buf), "");
}

static void test_take_new_counts_what_was_dropped(void **state)
{
    struct world *w = *state;
    struct heard h;
    struct session *session, *s = NULL;
    struct err e;
    struct session_request request = {.runtime = &runtime_python,
                                      .checkpoints = TIMELINE_OFF,
                                      .agent = "a",
                                      .binding = "b",
                                      .max_output_bytes = 1000,
                                      .on_started = note_started,
                                      .context = &s};
    assert_int_equal(session_create(w->engine, &request, &session, &e), 0);
    WAIT_FOR(w, s != NULL);
    assert_string_equal(s->agent, "a");
    assert_string_equal(s->binding, "b");
    run(w, s, "print('x' * 2999)", &h);
    uint64_t dropped;
    _buf_ struct buf buf = BUF_INIT(MIB);
    session_take_new(s, OUTPUT_STDOUT, &buf, &dropped);
    assert_int_equal(dropped, 2000);
    assert_int_equal(buf.len, 1000);
}

static void test_supersede(void **state)
{
    struct world *w = *state;
    struct heard h, next;
    struct session *s = create(w, NULL);
    assert_false(session_supersede(s));
    struct exec_wait wait = impatient(0, &h);
    submit(s, "k = 1; print('x', flush=True)\nwhile True: pass", &wait);
    WAIT_FOR(w, session_output_len(s) == 2);
    assert_true(session_supersede(s));
    run(w, s, "k", &next);
    assert_string_equal(next.value, "1");
    wait = impatient(0, &h);
    submit(s,
           "import signal; signal.signal(2, signal.SIG_IGN); print('x', flush=True)\n"
           "while True: pass",
           &wait);
    WAIT_FOR(w, session_output_len(s) == 4);
    assert_true(session_supersede(s));
    run(w, s, "k", &next);
    assert_true(next.has_failed);
    assert_string_equal(s->death.name, "TimeLimit");
    assert_non_null(strstr(s->death.message, "ignored the interrupt"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up_gate, tear_down_gate)
        TEST(test_yields_and_goes_on),
        TEST(test_ends_between_answers),
        TEST(test_a_character_is_not_cut_by_an_answer),
        TEST(test_much_output_between_answers),
        TEST(test_an_end_is_kept_for_a_caller_that_left),
        TEST(test_a_canceller_stops_the_cell),
        TEST(test_one_caller_at_a_time),
        TEST(test_a_queued_cell_yields_too),
        TEST(test_the_last_ends_are_kept),
        TEST(test_kept_bytes_are_bounded),
        TEST(test_an_end_by_death_is_kept),
        TEST(test_a_stream_begins_with_what_is_new),
        TEST(test_echo_and_take_new),
        TEST(test_take_new_counts_what_was_dropped),
        TEST(test_supersede),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
