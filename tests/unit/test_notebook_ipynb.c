#include "notebook/formats.h"
#include "notebook/output.h"
#include "unit.h"

/* A notebook around the outputs of one cell. */
#define WITH_OUTPUTS(outputs)                                                                      \
    "{\"nbformat\":4,\"nbformat_minor\":5,\"metadata\":{},\"cells\":[{\"cell_type\":\"code\","     \
    "\"id\":\"a\",\"metadata\":{},\"execution_count\":3,\"source\":\"x\",\"outputs\":[" outputs    \
    "]}]}"

static struct document *read_ok(const char *text)
{
    struct err e = {0};
    struct document *doc = NULL;
    if (notebook_read(text, strlen(text), &doc, &e) < 0)
        fail_msg("refused: %s", e.message);
    return doc;
}

static void expect_refused(const char *text, const char *words)
{
    struct err e = {0};
    struct document *doc = NULL;
    assert_int_equal(notebook_read(text, strlen(text), &doc, &e), -1);
    assert_null(doc);
    if (strstr(e.message, words) == NULL && strstr(e.advice, words) == NULL)
        fail_msg("\"%s\" (%s) does not say \"%s\"", e.message, e.advice, words);
}

/* The typed form of one output, and that it is written as it was read. */
static void expect_output(const char *output, const char *typed)
{
    _buf_ struct buf text = BUF_INIT(64 * KIB), again = BUF_INIT(64 * KIB);
    buf_printf(&text, WITH_OUTPUTS("%s"), output);
    _document_ struct document *doc = read_ok(buf_str(&text));
    json_t *expected = json_loads(typed, 0, NULL), *original = json_loads(output, 0, NULL);
    json_t *found = json_array_get(doc->cells[0].outputs, 0);
    _free_ char *shown = json_dumps(found, 0);
    if (!json_equal(found, expected))
        fail_msg("%s is not %s", shown, typed);
    json_t *written = output_to_nbformat(found, 3);
    _free_ char *back = json_dumps(written, 0);
    if (!json_equal(written, original))
        fail_msg("%s was written as %s", output, back);
    json_decref(written);
    json_decref(expected);
    json_decref(original);
}

static void outputs_become_typed(void **state)
{
    (void)state;
    expect_output("{\"output_type\":\"stream\",\"name\":\"stderr\",\"text\":[\"a\\n\",\"b\"]}",
                  "{\"type\":\"text\",\"stream\":\"stderr\",\"text\":\"a\\nb\"}");
    expect_output("{\"output_type\":\"error\",\"ename\":\"E\",\"evalue\":\"v\","
                  "\"traceback\":[\"1\",\"2\",\"\"]}",
                  "{\"type\":\"error\",\"name\":\"E\",\"message\":\"v\","
                  "\"traceback\":\"1\\n2\\n\"}");
    expect_output("{\"output_type\":\"execute_result\",\"execution_count\":3,\"metadata\":{},"
                  "\"data\":{\"text/plain\":[\"45\"]}}",
                  "{\"type\":\"text\",\"text\":\"45\",\"value\":true}");
    expect_output("{\"output_type\":\"execute_result\",\"execution_count\":7,\"metadata\":{},"
                  "\"data\":{\"text/plain\":[\"45\"]}}",
                  "{\"type\":\"text\",\"text\":\"45\",\"value\":true,\"execution_count\":7}");
    expect_output("{\"output_type\":\"display_data\",\"metadata\":{\"image/png\":{\"width\":3,"
                  "\"height\":2}},\"data\":{\"image/png\":\"AAAA\",\"text/plain\":[\"f\"]}}",
                  "{\"type\":\"image\",\"format\":\"png\",\"width\":3,\"height\":2,"
                  "\"data\":\"AAAA\",\"text\":\"f\"}");
    expect_output("{\"output_type\":\"display_data\",\"metadata\":{},\"data\":{"
                  "\"text/html\":[\"<table class=\\\"dataframe\\\">\"],\"text/plain\":[\"f\"]}}",
                  "{\"type\":\"dataframe\",\"html\":\"<table class=\\\"dataframe\\\">\","
                  "\"text\":\"f\"}");
    expect_output("{\"output_type\":\"display_data\",\"metadata\":{\"x\":1},\"data\":{"
                  "\"application/x\":\"a\\nb\",\"application/vnd.y+json\":[1]}}",
                  "{\"type\":\"text\",\"mime\":{\"application/x\":\"a\\nb\","
                  "\"application/vnd.y+json\":[1]},\"metadata\":{\"x\":1}}");
    expect_output("{\"output_type\":\"display_data\",\"metadata\":{\"mcp_repl\":{"
                  "\"display_id\":\"d\"}},\"data\":{\"text/latex\":[\"$x$\"],"
                  "\"text/plain\":[\"x\"]}}",
                  "{\"type\":\"latex\",\"text\":\"$x$\",\"display_id\":\"d\","
                  "\"mime\":{\"text/plain\":\"x\"}}");
    expect_output("{\"output_type\":\"display_data\",\"metadata\":{},\"data\":{}}",
                  "{\"type\":\"text\"}");
}

static void mistakes_name_their_place(void **state)
{
    (void)state;
    expect_refused("{\"nbformat\":3,\"worksheets\":[]}", "--nbformat 4");
    expect_refused("{}", "no notebook");
    expect_refused("{\"nbformat\":4}", "no list of cells");
    expect_refused("{\"nbformat\":4,\"cells\":[{\"cell_type\":\"raw\",\"source\":\"\"},{}]}",
                   "cell 1 (counted from 0)");
    expect_refused(WITH_OUTPUTS("{\"output_type\":\"stream\"}"),
                   "cell 0 (counted from 0): output 0");
    expect_refused(WITH_OUTPUTS("{\"output_type\":\"display_data\",\"data\":{\"a/b\":{}}}"), "a/b");
    expect_refused(WITH_OUTPUTS("7"), "output_type");
    expect_refused("", "invalid JSON");
}

static void what_cella_wrote_is_read_again(void **state)
{
    (void)state;
    _document_ struct document *doc = notebook_new();
    notebook_set_text(&doc->user_id, "ana");
    notebook_set_text(&doc->title, "T");
    notebook_set_text(&doc->runtime, "bash");
    struct notebook_cell *cell = notebook_add_cell(doc, CELL_CODE);
    notebook_set_text(&cell->id, "c");
    notebook_set_source(cell, "a\nb\n", 4);
    cell->state = CELL_TIMEOUT;
    cell->execution_time = 0.1;
    _buf_ struct buf text = BUF_INIT(64 * KIB);
    notebook_write_ipynb(doc, &text);
    assert_non_null(strstr(buf_str(&text), "\"execution_time\": 0.1\n"));
    assert_non_null(strstr(buf_str(&text), "\"a\\n\",\n    \"b\\n\"\n"));
    _document_ struct document *again = read_ok(buf_str(&text));
    assert_string_equal(again->user_id, "ana");
    assert_string_equal(again->title, "T");
    assert_string_equal(again->runtime, "bash");
    assert_int_equal(again->cells[0].state, CELL_TIMEOUT);
    assert_true(again->cells[0].execution_time == 0.1);
    assert_int_equal(json_object_size(again->cells[0].metadata), 0);
}

static void nothing_is_not_exported(void **state)
{
    (void)state;
    _document_ struct document *doc = notebook_new();
    for (int format = NOTEBOOK_IPYNB; format <= NOTEBOOK_SCRIPT; format++) {
        struct err e = {0};
        _buf_ struct buf out = BUF_INIT(KIB);
        assert_int_equal(notebook_write(doc, (enum notebook_format)format, &out, &e), -1);
        assert_int_equal(e.code, ERR_INVALID);
        assert_int_equal(out.len, 0);
    }
    struct err e = {0};
    notebook_set_text(&notebook_add_cell(doc, CELL_CODE)->id, "a");
    _buf_ struct buf small = BUF_INIT(20);
    assert_int_equal(notebook_write(doc, NOTEBOOK_IPYNB, &small, &e), -1);
    assert_int_equal(e.code, ERR_TOO_LARGE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(outputs_become_typed),
        cmocka_unit_test(mistakes_name_their_place),
        cmocka_unit_test(what_cella_wrote_is_read_again),
        cmocka_unit_test(nothing_is_not_exported),
    };
    return cmocka_run_group_tests_name("notebook_ipynb", tests, NULL, NULL);
}
