#include "notebook/formats.h"
#include "unit.h"

static struct document *read_text(const char *text, const char *runtime)
{
    struct document *doc = NULL;
    struct err e = {0};
    assert_int_equal(notebook_read_script(text, strlen(text), runtime, &doc, &e), 0);
    return doc;
}

static void expect_cell(const struct document *doc, size_t i, enum cell_kind kind,
                        const char *source)
{
    assert_true(i < doc->n_cells);
    assert_int_equal(doc->cells[i].kind, kind);
    assert_string_equal(doc->cells[i].source, source);
}

static void marks_begin_cells(void **state)
{
    (void)state;
    _document_ struct document *doc = read_text(
        "\xef\xbb\xbf#!/usr/bin/python3\nx = 1\n\n\n# %%\n# %% [markdown] title\n# a\n#\n# b\n"
        "#%% tags=[\"t\"] more\ny\n# %%no\n# %%% no\n# %%",
        "python");
    assert_int_equal(doc->n_cells, 5);
    expect_cell(doc, 0, CELL_CODE, "#!/usr/bin/python3\nx = 1");
    expect_cell(doc, 1, CELL_CODE, "");
    expect_cell(doc, 2, CELL_MARKDOWN, "a\n\nb");
    expect_cell(doc, 3, CELL_CODE, "y\n# %%no\n# %%% no");
    expect_cell(doc, 4, CELL_CODE, "");
    const json_t *tags = json_object_get(doc->cells[3].metadata, "tags");
    assert_string_equal(json_string_value(json_array_get(tags, 0)), "t");
    assert_null(json_object_get(doc->cells[4].metadata, "tags"));
}

static void languages_have_their_comments(void **state)
{
    (void)state;
    _document_ struct document *doc = read_text("// %% [raw]\n// r\n# %%\n", "node");
    assert_int_equal(doc->n_cells, 1);
    expect_cell(doc, 0, CELL_RAW, "// r\n# %%"); /* not every line is a comment */
}

static void nothing_and_nonsense(void **state)
{
    (void)state;
    struct document *none = NULL;
    struct err e = {0};
    _document_ struct document *empty = read_text("", "bash");
    assert_int_equal(empty->n_cells, 0);
    assert_int_equal(notebook_read_script("a\xff", 2, "bash", &none, &e), -1);
    static const char *const texts[] = {"# %% tags=", "# %% tags=[1]", "# %% tags={}", "#", "# %"};
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        _document_ struct document *doc = read_text(texts[i], "python");
        assert_int_equal(doc->n_cells, 1);
        assert_null(json_object_get(doc->cells[0].metadata, "tags"));
    }
}

static void what_is_written_is_read(void **state)
{
    (void)state;
    static const char text[] = "# %%\nx = 1\n\n# %% [markdown]\n# # T\n#\n# t\n\n# %%\ny\n";
    _document_ struct document *doc = read_text(text, "python");
    _buf_ struct buf out = BUF_INIT(MIB);
    notebook_write_script(doc, &out);
    assert_string_equal(buf_str(&out), text);
}

/* Drawings of mermaid have "%%" before their comments. */
static void text_that_looks_like_a_mark_is_none(void **state)
{
    (void)state;
    static const char *const runtimes[] = {"python", "node", "bash"};
    static const char text[] = "%% a\n# %% b\n  %%\n// %% [raw]\n# # %% c\n%%d\n\n%%[";
    for (size_t i = 0; i < ARRAY_LEN(runtimes); i++) {
        _document_ struct document *doc = notebook_new();
        _buf_ struct buf out = BUF_INIT(KIB);
        notebook_set_text(&doc->runtime, runtimes[i]);
        notebook_set_source(notebook_add_cell(doc, CELL_MARKDOWN), text, strlen(text));
        notebook_set_source(notebook_add_cell(doc, CELL_CODE), "x", 1);
        notebook_write_script(doc, &out);
        _document_ struct document *again = read_text(buf_str(&out), runtimes[i]);
        assert_int_equal(again->n_cells, 2);
        expect_cell(again, 0, CELL_MARKDOWN, text);
        expect_cell(again, 1, CELL_CODE, "x");
    }
}

static void commands_do_not_become_marks(void **state)
{
    (void)state;
    _document_ struct document *doc = read_text("a\n%% #\n%%time\n# %%\n%%bash\n%% x\n", "python");
    _buf_ struct buf out = BUF_INIT(KIB);
    assert_int_equal(doc->n_cells, 2);
    notebook_write_script(doc, &out);
    _document_ struct document *again = read_text(buf_str(&out), "python");
    assert_int_equal(again->n_cells, 2);
    expect_cell(again, 0, CELL_CODE, "a\n# # %% #\n# %%time");
    expect_cell(again, 1, CELL_CODE, "# %%bash\n# # %% x");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(marks_begin_cells),
        cmocka_unit_test(languages_have_their_comments),
        cmocka_unit_test(nothing_and_nonsense),
        cmocka_unit_test(what_is_written_is_read),
        cmocka_unit_test(text_that_looks_like_a_mark_is_none),
        cmocka_unit_test(commands_do_not_become_marks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
