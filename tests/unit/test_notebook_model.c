#include "notebook/model.h"
#include "unit.h"

static void add(struct document *doc, const char *id)
{
    notebook_set_text(&notebook_add_cell(doc, CELL_CODE)->id, id);
}

static void ids_that_hold_stay(void **state)
{
    (void)state;
    _document_ struct document *doc = notebook_new();
    static const char *const given[] = {"a", NULL, "a", "a-2", "b c", "", "cell-1"};
    for (size_t i = 0; i < ARRAY_LEN(given); i++)
        add(doc, given[i]);
    notebook_settle_ids(doc);
    assert_int_equal(doc->n_renamed, 4);
    assert_string_equal(doc->cells[0].id, "a");
    assert_string_equal(doc->cells[3].id, "a-2");
    assert_string_equal(doc->cells[6].id, "cell-1");
    for (size_t i = 0; i < doc->n_cells; i++)
        for (size_t k = 0; k < i; k++)
            assert_string_not_equal(doc->cells[i].id, doc->cells[k].id);
    notebook_settle_ids(doc);
    assert_int_equal(doc->n_renamed, 4);
}

static void long_ids_are_cut_and_differ(void **state)
{
    (void)state;
    _document_ struct document *doc = notebook_new();
    char id[CELL_ID_MAX + 2];
    memset(id, 'x', sizeof(id));
    id[CELL_ID_MAX] = '\0';
    for (int i = 0; i < 3; i++)
        add(doc, id);
    notebook_settle_ids(doc);
    assert_int_equal(strlen(doc->cells[0].id), CELL_ID_MAX);
    assert_string_not_equal(doc->cells[1].id, doc->cells[2].id);
    assert_true(strlen(doc->cells[2].id) <= CELL_ID_MAX);
}

static void languages_have_runtimes(void **state)
{
    (void)state;
    assert_string_equal(notebook_runtime_of("Python"), "python");
    assert_string_equal(notebook_runtime_of("javascript"), "node");
    assert_string_equal(notebook_runtime_of("bash"), "bash");
    assert_null(notebook_runtime_of("julia"));
    _document_ struct document *doc = notebook_new();
    assert_string_equal(notebook_language(doc)->kernel, "python3");
    notebook_set_text(&doc->runtime, "julia");
    assert_string_equal(notebook_language_name(doc), "julia");
    assert_string_equal(notebook_language(doc)->comment, "#");
}

static void documents_grow(void **state)
{
    (void)state;
    _document_ struct document *doc = notebook_new();
    for (int i = 0; i < 1000; i++)
        notebook_set_source(notebook_add_cell(doc, i % 2 ? CELL_CODE : CELL_RAW), "a\0b", 3);
    assert_int_equal(doc->n_cells, 1000);
    assert_int_equal(notebook_count(doc, CELL_RAW), 500);
    assert_int_equal(doc->cells[999].source_len, 3);
    assert_memory_equal(doc->cells[999].source, "a\0b", 4);
    assert_int_equal(notebook_count_outputs(doc), 0);
    notebook_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ids_that_hold_stay),
        cmocka_unit_test(long_ids_are_cut_and_differ),
        cmocka_unit_test(languages_have_runtimes),
        cmocka_unit_test(documents_grow),
    };
    return cmocka_run_group_tests_name("notebook_model", tests, NULL, NULL);
}
