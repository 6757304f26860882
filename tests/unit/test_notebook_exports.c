#include "notebook/formats.h"
#include "unit.h"

static struct document *one_cell(enum cell_kind kind, const char *source, const char *output)
{
    struct document *doc = notebook_new();
    struct notebook_cell *cell = notebook_add_cell(doc, kind);
    notebook_set_text(&cell->id, "c");
    notebook_set_source(cell, source, strlen(source));
    if (output != NULL) {
        json_t *typed = json_loads(output, 0, NULL);
        assert_non_null(typed);
        json_array_append_new(cell->outputs, typed);
    }
    return doc;
}

static void expect_written(enum notebook_format format, enum cell_kind kind, const char *source,
                           const char *output, const char *words)
{
    _document_ struct document *doc = one_cell(kind, source, output);
    _buf_ struct buf text = BUF_INIT(MIB);
    struct err e = {0};
    assert_int_equal(notebook_write(doc, format, &text, &e), 0);
    if (strstr(buf_str(&text), words) == NULL)
        fail_msg("%s\ndoes not hold %s", buf_str(&text), words);
    if (strstr(buf_str(&text), "<script") != NULL && format == NOTEBOOK_HTML)
        fail_msg("a script: %s", buf_str(&text));
}

static void html_shows_every_type(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"{\"type\":\"text\",\"text\":\"<script>\"}", "<pre class=\"plain\">&lt;script&gt;</pre>"},
        {"{\"type\":\"text\",\"stream\":\"stderr\",\"text\":\"w\"}",
         "<pre class=\"stderr\">w</pre>"},
        {"{\"type\":\"error\",\"name\":\"E\",\"message\":\"m\",\"traceback\":\"\"}",
         "<pre class=\"error\">E: m</pre>"},
        {"{\"type\":\"error\",\"name\":\"E\",\"message\":\"m\",\"traceback\":\"t\\nE: m\"}",
         "<pre class=\"error\">t\nE: m</pre>"},
        {"{\"type\":\"html\",\"html\":\"<script>\\\"\"}", "&lt;script&gt;&quot;\"></iframe>"},
        {"{\"type\":\"dataframe\",\"text\":\"t\",\"html\":\"\"}", "<pre class=\"plain\">t</pre>"},
        {"{\"type\":\"image\",\"format\":\"png\",\"data\":\"AA==\",\"width\":3}",
         "<img src=\"data:image/png;base64,AA==\" alt=\"image\" width=\"3\">"},
        {"{\"type\":\"image\",\"format\":\"png\",\"data\":\"AA==\",\"width\":3,\"height\":2,"
         "\"metadata\":{\"image/png\":{\"width\":9}}}",
         "<img src=\"data:image/png;base64,AA==\" alt=\"image\" width=\"9\">"},
        {"{\"type\":\"image\",\"format\":\"png\",\"data\":\"\\\"><script>\"}", "[an image]"},
        {"{\"type\":\"image\",\"format\":\"p\\\"ng\",\"data\":\"AA==\"}", "[an image]"},
        {"{\"type\":\"image\",\"format\":\"png\",\"resource_uri\":\"notebook://<\"}",
         "[an image: notebook://&lt;]"},
        {"{\"type\":\"svg\",\"svg\":\"<svg/>\"}", "data:image/svg+xml;base64,PHN2Zy8+"},
        {"{\"type\":\"markdown\",\"text\":\"**b**\"}", "<strong>b</strong>"},
        {"{\"type\":\"latex\",\"text\":\"$<$\"}", "<pre class=\"latex\">$&lt;$</pre>"},
        {"{\"type\":\"json\",\"json\":{\"a\":\"<\"}}", "&quot;a&quot;: &quot;&lt;&quot;"},
        {"{\"type\":\"text\",\"mime\":{\"x/<y\":1}}", "[x/&lt;y]"},
        {"{\"type\":\"of the future\"}", "<p class=\"note\"></p>"},
        {"{}", "<div class=\"output\">"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        expect_written(NOTEBOOK_HTML, CELL_CODE, "x", cases[i][0], cases[i][1]);
}

static void links_are_looked_at(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"[x](javascript:a)", "<a href=\"#\">x</a>"},
        {"[x](JAVASCRIPT:a)", "<a href=\"#\">x</a>"},
        {"[x](https://a/?b=1&c)", "<a href=\"https://a/?b=1&amp;c\">x</a>"},
        {"[x](mailto:a@b)", "<a href=\"mailto:a@b\">x</a>"},
        {"[x](#here)", "<a href=\"#here\">x</a>"},
        {"[x](a/b:c)", "<a href=\"a/b:c\">x</a>"},
        {"![x](data:image/png;base64,AA==)", "<img src=\"data:image/png;base64,AA==\" alt=\"x\">"},
        {"[x](data:image/svg+xml,a)", "<a href=\"#\">x</a>"},
        {"![x](attachment:none.png)", "<img src=\"#\" alt=\"x\">"},
        {"<script>alert(1)</script>", "&lt;script&gt;"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        expect_written(NOTEBOOK_HTML, CELL_MARKDOWN, cases[i][0], NULL, cases[i][1]);
}

static void markdown_shows_every_type(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"{\"type\":\"text\",\"text\":\"a\\u001b[1mb\"}", "```text\nab\n```\n"},
        {"{\"type\":\"html\",\"html\":\"<b>\"}", "```html\n<b>\n```\n"},
        {"{\"type\":\"html\",\"html\":\"<b>\",\"text\":\"```\"}", "````text\n```\n````\n"},
        {"{\"type\":\"image\",\"format\":\"jpg\",\"data\":\"AA==\"}",
         "![output](data:image/jpeg;base64,AA==)\n"},
        {"{\"type\":\"latex\",\"text\":\"$x$\"}", "\n\n$x$\n"},
        {"{\"type\":\"json\",\"json\":[]}", "```json\n[]\n```\n"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        expect_written(NOTEBOOK_MARKDOWN, CELL_CODE, "x", cases[i][0], cases[i][1]);
}

static void commands_of_ipython_are_comments(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"%time f()", "# %time f()\n"},
        {"  !ls", "  pass  # !ls\n"},
        {"x = !ls", "# x = !ls\n"},
        {"pip install x\ncd ..", "# pip install x\n# cd ..\n"},
        {"pip = 1\ncd -x\ncd (y)", "\npip = 1\ncd -x\ncd (y)\n"},
        {"x = 1 # why?", "\nx = 1 # why?\n"},
        {"x %= 2", "\nx %= 2\n"},
        {"a.b??", "# a.b??\n"},
        {"f(\n%x)", "f(\n%x)\n"},
        {"'''\n%x\n'''\n%y", "'''\n%x\n'''\n# %y\n"},
        {"a = b \\\n%c", "a = b \\\n%c\n"},
        {"x = '#' + \"'''\"\n%y", "\n# %y\n"},
        {"\n%%html\n<b>", "#\n# %%html\n# <b>\n"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        expect_written(NOTEBOOK_SCRIPT, CELL_CODE, cases[i][0], NULL, cases[i][1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(html_shows_every_type),
        cmocka_unit_test(links_are_looked_at),
        cmocka_unit_test(markdown_shows_every_type),
        cmocka_unit_test(commands_of_ipython_are_comments),
    };
    return cmocka_run_group_tests_name("notebook_exports", tests, NULL, NULL);
}
