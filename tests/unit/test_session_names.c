/* The names of a session: now, while it is busy, and when it ends. */
#include "session/names.h"
#include "session_world.h"

struct heard_names {
    bool is_over, has_failed, is_busy;
    json_int_t total;
    uint64_t as_of;
};

static void hear_names(void *context, const struct names_told *told)
{
    struct heard_names *h = context;
    h->is_over = true;
    h->is_busy = told->is_busy;
    h->as_of = told->as_of;
    h->total = json_integer_value(json_object_get(told->names, "total"));
}

static void hear_no_names(void *context, const struct err *e)
{
    (void)e;
    struct heard_names *h = context;
    h->is_over = h->has_failed = true;
}

static const struct names_listener names_listener = {.on_names = hear_names,
                                                     .on_failed = hear_no_names};

static void test_names(void **state)
{
    struct world *w = *state;
    struct heard h;
    struct err e;
    struct names_wait *wait;
    struct heard_names n = {0}, m = {0};
    struct session *s = create(w, NULL);
    run(w, s, "alpha = 1; beta = [1, 2]", &h);
    assert_int_equal(session_names(s, &names_listener, &n, &wait, &e), 0);
    assert_int_equal(session_names(s, &names_listener, &m, &wait, &e), 0);
    WAIT_FOR(w, n.is_over && m.is_over);
    assert_int_equal(n.total, 2);
    assert_int_equal(n.as_of, 1);
    assert_false(n.is_busy);
    begin(s, "gamma = 1; print('x', flush=True)\nwhile True: pass", 30000, 100, &h);
    WAIT_FOR(w, session_output_len(s) == 2);
    n = (struct heard_names){0};
    assert_int_equal(session_names(s, &names_listener, &n, &wait, &e), 0);
    assert_null(wait);
    assert_true(n.is_busy);
    assert_int_equal(n.total, 2);
    assert_int_equal(n.as_of, 1);
    session_interrupt(s);
    WAIT_FOR(w, h.is_over);
    WAIT_FOR(w, s->state == SESSION_IDLE);
    n = (struct heard_names){0};
    assert_int_equal(session_names(s, &names_listener, &n, &wait, &e), 0);
    names_forget(wait);
    assert_int_equal(session_names(s, &names_listener, &n, &wait, &e), 0);
    session_delete(s);
    assert_true(n.has_failed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_names, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
