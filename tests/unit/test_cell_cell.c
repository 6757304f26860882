#include "cell/cell.h"
#include "unit.h"

static void test_states_are_found_in_any_case(void **state)
{
    (void)state;
    enum cell_state found;
    for (int i = 0; i < CELL_STATES; i++) {
        const char *name = cell_state_document((enum cell_state)i);
        if (name == NULL) /* of a cell that waits: documents have none */
            continue;
        assert_true(cell_find_state(name, &found));
        assert_int_equal(found, i);
        assert_true(cell_find_state(cell_state_name((enum cell_state)i), &found));
        assert_int_equal(found, i);
    }
    assert_false(cell_find_state("queued", &found));
    assert_false(cell_find_state("done", &found));
    assert_false(cell_find_state(NULL, &found));
}

static void test_answers_and_rows_have_words_of_their_own(void **state)
{
    (void)state;
    assert_string_equal(cell_state_status(CELL_COMPLETED), "ok");
    assert_string_equal(cell_state_name(CELL_COMPLETED), "completed");
    assert_string_equal(cell_state_status(CELL_INPUT), "input_required");
    assert_string_equal(cell_state_name(CELL_INPUT), "running");
    assert_string_equal(cell_status_of("completed"), "ok");
    assert_string_equal(cell_status_of("idle"), "idle");
    assert_string_equal(cell_status_of(NULL), "idle");
    for (int i = 0; i < CELL_STATES; i++) {
        assert_non_null(cell_state_name((enum cell_state)i));
        assert_non_null(cell_state_status((enum cell_state)i));
        assert_int_equal(cell_has_ended((enum cell_state)i), i >= CELL_COMPLETED);
    }
}

/* The notebook's record may need the cell when its session, and the rings with it, are gone. */
static void test_a_cell_outlives_its_session(void **state)
{
    (void)state;
    struct output_ring *rings = mem_alloc(OUTPUT_STREAMS * sizeof(*rings));
    for (size_t i = 0; i < OUTPUT_STREAMS; i++)
        output_ring_init(&rings[i], 100);
    struct cell *cell = cell_new(7, "1 + 1", 5, rings), *record = cell_ref(cell);
    transcript_record(&cell->transcript, 1024, 64 * KIB);
    cell->transcript.budget = 1000;
    transcript_append(&cell->transcript, OUTPUT_STDERR, "text", 4, false);
    cell_leave(cell);
    for (size_t i = 0; i < OUTPUT_STREAMS; i++)
        output_ring_free(&rings[i]);
    free(rings);
    _buf_ struct buf row = BUF_INIT(1024);
    transcript_put(&record->transcript, &row);
    assert_string_equal(buf_str(&row),
                        "[{\"type\":\"text\",\"stream\":\"stderr\",\"text\":\"text\"}]");
    assert_memory_equal(record->source, "1 + 1", record->source_len);
    transcript_close(&record->transcript);
    cell_release(record);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_states_are_found_in_any_case),
        cmocka_unit_test(test_answers_and_rows_have_words_of_their_own),
        cmocka_unit_test(test_a_cell_outlives_its_session),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
