#include "store_world.h"

#define ONE "11111111-2222-4333-8444-555555555555"
#define TWO "99999999-2222-4333-8444-555555555555"

static void put_cell(struct world *w, const char *session, uint64_t exec_id, const char *code)
{
    struct err e = {0};
    if (world_put_cell(w, session, exec_id, code, &e) < 0)
        fail_msg("put_cell: %s", e.message);
}

static void on_session(void *context, const struct store_session *row)
{
    struct world *w = context;
    w->count++;
    buf_printf(&w->text,
               "%.2s execs=%d checkpoints=%d resume=%d through=%d cells=%d states=%d %s\n", row->id,
               (int)row->n_execs, (int)row->n_checkpoints, (int)row->resume,
               (int)row->saved_through, (int)row->n_cells, (int)row->n_states, row->spec);
}

static const char *list_sessions(struct world *w)
{
    struct err e;
    w->count = 0;
    buf_clear(&w->text);
    assert_int_equal(store_each_session(w->store, on_session, w, &e), 0);
    return buf_str(&w->text);
}

static void on_cells(void *context, const struct store_cell *list, size_t n, uint64_t count,
                     const struct err *e)
{
    struct world *w = context;
    world_note(w, e);
    w->count = count;
    buf_clear(&w->text);
    for (size_t i = 0; i < n; i++)
        buf_printf(&w->text, "%d:%.*s ", (int)list[i].exec_id, (int)MIN(list[i].source_len, 20UL),
                   list[i].source);
}

static const char *list_cells(struct world *w, const char *session, uint64_t offset, uint32_t limit)
{
    store_list_cells(w->store, session, offset, limit, on_cells, w);
    world_wait(w);
    return buf_str(&w->text);
}

static void put_state(struct world *w, const char *session, uint64_t checkpoint, uint64_t through)
{
    static const size_t sizes[] = {10};
    struct err e = {0};
    struct store_saved at = {.checkpoint = checkpoint, .through = through};
    world_make_state(w, 1, sizes, 1);
    assert_non_null(store_put_state(w->store, session, &at, w->state, NULL, NULL, &e));
}

/* What the row does not know yet is counted from cells and states. */
static void sessions_come_back(void **state)
{
    (void)state;
    struct world *w = world_new();
    world_put_session(w, ONE);
    world_put_session(w, TWO);
    world_put_notebook(w, TWO);
    put_cell(w, TWO, 4, "x");
    put_cell(w, TWO, 5, "y");
    put_state(w, TWO, 2, 5);
    world_close(w);
    world_open(w);
    assert_string_equal(
        list_sessions(w),
        "11 execs=0 checkpoints=0 resume=0 through=0 cells=0 states=0 {\"runtime\":\"python\"}\n"
        "99 execs=5 checkpoints=2 resume=2 through=5 cells=2 states=1 {\"runtime\":\"python\"}\n");
    world_free(w);
}

static void a_deleted_session_is_gone(void **state)
{
    (void)state;
    struct err e = {0};
    struct world *w = world_new();
    world_put_session(w, ONE);
    world_put_notebook(w, ONE);
    put_cell(w, ONE, 1, "x");
    put_state(w, ONE, 1, 1);
    assert_int_equal(store_delete_session(w->store, ONE, &e), 0);
    assert_int_equal(store_delete_session(w->store, ONE, &e), 0);
    world_barrier(w, NULL);
    world_ok(w);
    assert_string_equal(list_sessions(w), "");
    put_cell(w, ONE, 2, "the notebook stays");
    world_barrier(w, ONE);
    world_ok(w);
    assert_string_equal(list_cells(w, ONE, 1, 1), "2:the notebook stays ");
    assert_non_null(store_delete_notebook(w->store, ONE, NULL, NULL, &e));
    put_cell(w, ONE, 2, "late"); /* nobody's trouble: a cell may run when its notebook goes */
    world_barrier(w, NULL);
    world_ok(w);
    put_state(w, ONE, 3, 3);
    world_barrier(w, TWO); /* not this one's trouble */
    world_ok(w);
    world_barrier(w, ONE);
    assert_true(w->has_failed);
    assert_int_equal(w->error.code, ERR_NOT_FOUND);
    world_barrier(w, ONE); /* told once */
    world_ok(w);
    /* In one group: a row that comes after the end is a new beginning. */
    world_put_session(w, ONE);
    assert_int_equal(store_delete_session(w->store, ONE, &e), 0);
    world_put_session(w, ONE);
    world_barrier(w, NULL);
    list_sessions(w);
    assert_int_equal(w->count, 1);
    world_free(w);
}

static void cells_are_listed_by_pages(void **state)
{
    (void)state;
    struct world *w = world_new();
    world_put_notebook(w, ONE);
    put_cell(w, ONE, 3, "c");
    put_cell(w, ONE, 1, "a");
    put_cell(w, ONE, 2, "b");
    put_cell(w, ONE, 3, "C"); /* again */
    assert_string_equal(list_cells(w, ONE, 0, 2), "1:a 2:b ");
    assert_int_equal(w->count, 3);
    assert_string_equal(list_cells(w, ONE, 2, 5), "3:C ");
    assert_string_equal(list_cells(w, ONE, 9, 5), "");
    assert_string_equal(list_cells(w, TWO, 0, 1), "");
    world_ok(w);
    world_free(w);
}

/* A page ends early rather than growing without bound. */
static void large_cells_make_small_pages(void **state)
{
    (void)state;
    struct world *w = world_new();
    _free_ char *code = mem_alloc(3 * MIB + 1);
    memset(code, 'x', 3 * MIB);
    world_put_notebook(w, ONE);
    for (uint64_t i = 1; i <= 5; i++)
        put_cell(w, ONE, i, code);
    list_cells(w, ONE, 0, 5);
    assert_int_equal(w->count, 5);
    assert_non_null(strstr(buf_str(&w->text), "3:xx"));
    assert_null(strstr(buf_str(&w->text), "4:xx"));
    struct err e;
    struct store_cell cell = {.id = "x", .source = code, .source_len = 9 * MIB};
    assert_int_equal(store_put_cell(w->store, ONE, &cell, &e), -1);
    assert_int_equal(e.code, ERR_TOO_LARGE);
    world_free(w);
}

static bool has_state(struct world *w, uint64_t checkpoint)
{
    store_get_state(w->store, ONE, checkpoint, on_state, w);
    world_wait(w);
    return !w->has_failed;
}

static uint64_t resumed(struct world *w)
{
    store_get_state(w->store, ONE, STORE_RESUME, on_state, w);
    world_wait(w);
    return w->has_failed ? 0 : w->at.checkpoint;
}

static void states_are_chosen_and_dropped(void **state)
{
    (void)state;
    struct err e = {0};
    struct world *w = world_new();
    world_put_session(w, ONE);
    for (uint64_t i = 1; i <= 6; i++)
        put_state(w, ONE, i, 10 * i);
    assert_int_equal(resumed(w), 6);
    store_resume_from(w->store, ONE, 4, &e);
    assert_int_equal(resumed(w), 4);
    static const uint64_t kept[] = {2};
    store_keep_states(w->store, ONE, kept, 1, 1, &e);
    for (uint64_t i = 1; i <= 6; i++) /* that which is kept, to be resumed, the newest */
        assert_int_equal(has_state(w, i), i == 2 || i == 4 || i == 6);
    store_resume_from(w->store, ONE, 3, &e); /* has none: the one before */
    assert_int_equal(resumed(w), 2);
    store_resume_from(w->store, ONE, 0, &e);
    assert_int_equal(resumed(w), 0);
    assert_int_equal(w->error.code, ERR_NOT_FOUND);
    world_free(w);
}

static void named_states_expire(void **state)
{
    (void)state;
    static const size_t sizes[] = {100};
    struct err e = {0};
    struct world *w = world_new();
    world_make_state(w, 1, sizes, 1);
    assert_non_null(store_put_named(w->store, "x", "ana", w->state, 0, on_done, w, &e));
    world_wait(w);
    world_ok(w);
    assert_non_null(
        store_put_named(w->store, "x", "old", w->state, clock_wall_ms() - 1, NULL, w, &e));
    assert_non_null(
        store_put_named(w->store, "x", "new", w->state, clock_wall_ms() + 60000, NULL, w, &e));
    store_get_named(w->store, "x", "ana", on_state, w);
    world_wait(w);
    world_ok(w);
    assert_int_equal(w->state->bytes, 100);
    store_get_named(w->store, "x", "new", on_state, w);
    world_wait(w);
    world_ok(w);
    store_get_named(w->store, "x", "old", on_state, w);
    world_wait(w);
    assert_int_equal(w->error.code, ERR_NOT_FOUND);
    assert_int_equal(store_delete_named(w->store, "x", "ana", &e), 0);
    store_get_named(w->store, "x", "ana", on_state, w);
    world_wait(w);
    assert_true(w->has_failed);
    world_make_state(w, 1, sizes, 1);
    assert_null(store_put_named(w->store, "x", "", w->state, 0, NULL, w, &e));
    assert_int_equal(e.code, ERR_INVALID);
    world_free(w);
}

static void on_shared(void *context, const struct store_shared *file, const struct err *e)
{
    struct world *w = context;
    world_note(w, e);
    buf_clear(&w->text);
    if (file != NULL)
        buf_printf(&w->text, "%s %d", file->name, (int)file->bytes);
}

static void shared_files_expire(void **state)
{
    (void)state;
    static const size_t sizes[] = {100000};
    struct err e = {0};
    struct world *w = world_new();
    world_make_state(w, 1, sizes, 1);
    struct store_shared file = {.token = "t1",
                                .owner = "x",
                                .name = "plot.png",
                                .bytes = 100000,
                                .expires_ms = clock_wall_ms() + 60000};
    snprintf(file.hash, sizeof(file.hash), "%s", w->state->records[1].hash);
    assert_int_equal(store_put_shared(w->store, &file, &e), 0);
    file.token = "t2";
    file.expires_ms = clock_wall_ms() - 1;
    assert_int_equal(store_put_shared(w->store, &file, &e), 0);
    store_get_shared(w->store, "t1", on_shared, w);
    world_wait(w);
    assert_string_equal(buf_str(&w->text), "plot.png 100000");
    store_get_shared(w->store, "t2", on_shared, w);
    world_wait(w);
    assert_int_equal(w->error.code, ERR_NOT_FOUND);
    world_barrier(w, NULL);
    world_ok(w);
    memset(file.hash, 'a', 64); /* no such blob: the row must not be there either */
    file.token = "t3";
    store_put_shared(w->store, &file, &e);
    world_barrier(w, NULL);
    assert_true(w->has_failed);
    world_free(w);
}

/* Called while the database is in use here, so that the store's thread can write nothing. */
static void fill_queue(void *context, const struct store_session *row)
{
    struct world *w = context;
    (void)row;
    for (w->count = 0; world_put_cell(w, ONE, w->count + 1, "x", &w->error) == 0; w->count++)
        assert_true(w->count <= 2 * STORE_QUEUE_MAX);
}

/* Ten thousand changes of one row wait as one; other things have a bound. */
static void the_queue_is_bounded(void **state)
{
    (void)state;
    struct err e = {0};
    struct world *w = world_new();
    struct store_health health;
    world_put_notebook(w, ONE);
    for (int i = 0; i < 10000; i++)
        world_put_session(w, ONE);
    store_health(w->store, &health);
    assert_true(health.queued <= 2);
    world_barrier(w, NULL);
    assert_int_equal(store_each_session(w->store, fill_queue, w, &e), 0);
    assert_int_equal(w->error.code, ERR_LIMIT);
    assert_true(w->count >= STORE_QUEUE_MAX);
    world_barrier(w, NULL);
    world_ok(w);
    put_cell(w, ONE, 2, "room again");
    assert_string_equal(list_cells(w, ONE, 1, 1), "2:room again ");
    world_free(w);
}

/* The callback does not come, what was queued is written all the same. */
static void a_forgotten_call_is_silent(void **state)
{
    (void)state;
    struct world *w = world_new();
    world_put_session(w, ONE);
    store_forget(store_barrier(w->store, NULL, on_done, w));
    store_forget(store_list_cells(w->store, ONE, 0, 1, on_cells, w));
    world_barrier(w, NULL);
    assert_int_equal(w->calls, 1);
    store_barrier(w->store, NULL, on_done, w);
    world_close(w); /* what is still to be told is told now */
    assert_int_equal(w->calls, 2);
    world_ok(w);
    world_free(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sessions_come_back),
        cmocka_unit_test(a_deleted_session_is_gone),
        cmocka_unit_test(cells_are_listed_by_pages),
        cmocka_unit_test(large_cells_make_small_pages),
        cmocka_unit_test(states_are_chosen_and_dropped),
        cmocka_unit_test(named_states_expire),
        cmocka_unit_test(shared_files_expire),
        cmocka_unit_test(the_queue_is_bounded),
        cmocka_unit_test(a_forgotten_call_is_silent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
