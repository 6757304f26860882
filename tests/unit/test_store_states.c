#include "store_world.h"

#define SESSION "11111111-2222-4333-8444-555555555555"

static void put_state(struct world *w, uint64_t checkpoint, uint64_t through)
{
    struct err e = {0};
    struct store_saved at = {.checkpoint = checkpoint, .through = through};
    if (store_put_state(w->store, SESSION, &at, w->state, on_done, w, &e) == NULL)
        fail_msg("put_state: %s", e.message);
    world_wait(w);
}

/* Small bodies live in the database, large ones are blobs; both come back as they were. */
static void comes_back_after_a_restart(void **state)
{
    (void)state;
    static const size_t sizes[] = {0, 1, 100, 65536, 65537, 700000};
    struct world *w = world_new();
    _buf_ struct buf sent = BUF_INIT(8 * MIB);
    _buf_ struct buf got = BUF_INIT(8 * MIB);
    put_stream(&sent, 7, sizes, ARRAY_LEN(sizes));
    world_put_session(w, SESSION);
    world_make_state(w, 7, sizes, ARRAY_LEN(sizes));
    put_state(w, 3, 12);
    world_ok(w);
    world_close(w);
    world_open(w);
    store_get_state(w->store, SESSION, STORE_RESUME, on_state, w);
    world_wait(w);
    world_ok(w);
    assert_int_equal(w->at.checkpoint, 3);
    assert_int_equal(w->at.through, 12);
    assert_int_equal(w->at.bytes, 0 + 1 + 100 + 65536 + 65537 + 700000);
    world_export(w, &got);
    world_ok(w);
    assert_int_equal(w->n_damaged, 0);
    /* Chunks may be cut elsewhere: read it again and compare what it means. */
    struct store_state *first = store_state_ref(w->state);
    struct store_limits limits;
    world_limits(&limits);
    world_ingest(w, &got, &limits);
    world_ok(w);
    assert_int_equal(w->state->n_records, ARRAY_LEN(sizes) + 2);
    for (size_t i = 0; i < first->n_records; i++)
        assert_string_equal(first->records[i].hash, w->state->records[i].hash);
    store_state_unref(first);
    world_free(w);
}

static void a_state_of_an_unknown_session_is_refused(void **state)
{
    (void)state;
    static const size_t sizes[] = {10};
    struct world *w = world_new();
    world_make_state(w, 1, sizes, 1);
    put_state(w, 1, 1);
    assert_true(w->has_failed);
    assert_int_equal(w->error.code, ERR_NOT_FOUND);
    world_barrier(w, SESSION); /* who was told is not told again */
    world_ok(w);
    world_free(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(comes_back_after_a_restart),
        cmocka_unit_test(a_state_of_an_unknown_session_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
