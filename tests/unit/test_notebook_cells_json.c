#include "notebook/formats.h"
#include "unit.h"

static struct document *read_cells(const char *cells)
{
    struct err e = {0};
    struct document *doc = NULL;
    _buf_ struct buf text = BUF_INIT(64 * KIB);
    buf_printf(&text, "{\"user_id\":\"u\",\"session_id\":\"s\",\"cells\":[%s]}", cells);
    if (notebook_read(buf_str(&text), text.len, &doc, &e) < 0)
        fail_msg("refused: %s", e.message);
    return doc;
}

static const char *member(const struct document *doc, size_t output, const char *name)
{
    return json_string_value(json_object_get(json_array_get(doc->cells[0].outputs, output), name));
}

static void errors_are_taken_apart(void **state)
{
    (void)state;
    static const struct {
        const char *content, *name, *message;
    } cases[] = {
        {"ValueError: bad: value\\n\\nTraceback (user code):\\n x", "ValueError", "bad: value"},
        {"KeyboardInterrupt", "KeyboardInterrupt", ""},
        {"json.decoder.JSONDecodeError: x", "json.decoder.JSONDecodeError", "x"},
        {"Cell execution timed out after 30 seconds", "Error",
         "Cell execution timed out after 30 seconds"},
        {"", "Error", ""},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        _buf_ struct buf cell = BUF_INIT(KIB);
        buf_printf(&cell,
                   "{\"code\":\"\",\"outputs\":[{\"output_type\":\"ERROR\",\"content\":\"%s\"}]}",
                   cases[i].content);
        _document_ struct document *doc = read_cells(buf_str(&cell));
        assert_string_equal(member(doc, 0, "name"), cases[i].name);
        assert_string_equal(member(doc, 0, "message"), cases[i].message);
    }
}

static void states_beyond_the_five_are_errors(void **state)
{
    (void)state;
    _document_ struct document *doc = notebook_new();
    struct notebook_cell *cell = notebook_add_cell(doc, CELL_CODE);
    notebook_set_text(&cell->id, "a");
    cell->state = CELL_DIED;
    _buf_ struct buf text = BUF_INIT(64 * KIB);
    notebook_write_cells_json(doc, &text);
    assert_non_null(strstr(buf_str(&text), "\"state\":\"ERROR\""));
    assert_non_null(strstr(buf_str(&text), "\"executed_at\":null,\"execution_time\":null,"
                                           "\"number\":0,\"outputs\":[]"));
}

static void only_comments_that_are_whole_are_other_kinds(void **state)
{
    (void)state;
    _document_ struct document *doc =
        read_cells("{\"code\":\"# %% [markdown]\\n# a\\n#\\n# b\\n\"},"
                   "{\"code\":\"# %% [markdown]\\n# a\\nx = 1\"},"
                   "{\"code\":\"# %% [raw]\\n\"}");
    assert_int_equal(doc->cells[0].kind, CELL_MARKDOWN);
    assert_string_equal(doc->cells[0].source, "a\n\nb");
    assert_int_equal(doc->cells[1].kind, CELL_CODE);
    assert_int_equal(doc->cells[2].kind, CELL_RAW);
    assert_int_equal(doc->n_renamed, 3);
}

static void mistakes_name_their_cell(void **state)
{
    (void)state;
    static const char *const cases[] = {
        "7",
        "{}",
        "{\"code\":1}",
        "{\"code\":\"\",\"outputs\":1}",
        "{\"code\":\"\",\"outputs\":[{}]}",
        "{\"code\":\"\",\"outputs\":[{\"output_type\":\"X\",\"content\":\"\"}]}",
        "{\"code\":\"\",\"outputs\":[{\"output_type\":\"TEXT\",\"content\":{}}]}",
        "{\"code\":\"\",\"outputs\":[{\"output_type\":\"IMAGE\",\"content\":\"\"}]}",
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct err e = {0};
        struct document *doc = NULL;
        _buf_ struct buf text = BUF_INIT(KIB);
        buf_printf(&text, "{\"cells\":[{\"code\":\"\"},%s]}", cases[i]);
        assert_int_equal(notebook_read(buf_str(&text), text.len, &doc, &e), -1);
        assert_non_null(strstr(e.message, "cell 1 (counted from 0)"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(errors_are_taken_apart),
        cmocka_unit_test(states_beyond_the_five_are_errors),
        cmocka_unit_test(only_comments_that_are_whole_are_other_kinds),
        cmocka_unit_test(mistakes_name_their_cell),
    };
    return cmocka_run_group_tests_name("notebook_cells_json", tests, NULL, NULL);
}
