#include "cli/parameters.h"
#include "unit.h"

/* What `-p x VALUE` becomes in a language. */
static void expect_source(const char *runtime, const char *given, bool is_raw, const char *expected)
{
    char name[] = "x", flag[] = "-p", raw[] = "-r";
    _free_ char *value = mem_strdup(given);
    char *argv[] = {is_raw ? raw : flag, name, value};
    struct cli_args args;
    struct err e = {0};
    struct cli_parameters *parameters = mem_alloc(sizeof(*parameters));
    _document_ struct document *doc = notebook_new();
    _buf_ struct buf out = BUF_INIT(MIB);
    notebook_set_text(&doc->runtime, runtime);
    assert_int_equal(cli_args_parse(&cli_run_verb, 3, argv, &args, &e), 0);
    assert_int_equal(cli_parameters_read(&args, parameters, &e), 0);
    assert_int_equal(cli_parameters_write(parameters, doc, &out, &e), 0);
    const char *line = memchr(out.data, '\n', out.len);
    assert_non_null(line);
    if (strncmp(line + 1, expected, strlen(expected)) != 0)
        fail_msg("%s becomes %s", given, line + 1);
    assert_int_equal(out.len, (size_t)(line + 1 - out.data) + strlen(expected));
    cli_parameters_free(parameters);
    cli_args_free(&args);
    free(parameters);
}

static void values_are_written_in_each_language(void **state)
{
    (void)state;
    expect_source("python", "[true, null, \"a\\\"\\n\"]", false, "x = [True, None, \"a\\\"\\n\"]");
    expect_source("python", "{\"k\": 0.1}", false, "x = {\"k\": 0.1}");
    expect_source("python", "1e5", false, "x = 1e5");
    expect_source("python", "1e5", true, "x = \"1e5\"");
    expect_source("node", "{\"__proto__\": 1}", false, "let x = {[\"__proto__\"]: 1};");
    expect_source("node", "None", false, "let x = null;");
    expect_source("bash", "a'b", false, "x='a'\\''b'");
    expect_source("bash", "[1, null]", false, "unset -v x; x=('1' '')");
    expect_source("bash", "{\"a]\": true}", false, "unset -v x; declare -gA x=(['a]']='true' )");
    expect_source("bash", "-5", false, "x=-5");
    for (int c = 1; c < 256; c++) { /* what is no UTF-8 is refused, all else is quoted */
        char text[] = {(char)c, '\0'}, expected[32];
        if (c < 0x80 && c != '"' && c != '\\' && c != '\n' && c >= 0x20 && c != 0x7f) {
            snprintf(expected, sizeof(expected), "x = \"%c\"", c);
            expect_source("python", text, true, expected);
        }
    }
}

static void the_cell_goes_where_it_belongs(void **state)
{
    (void)state;
    char *argv[] = {(char[]){"-p"}, (char[]){"x"}, (char[]){"1"}};
    struct cli_args args;
    struct err e = {0};
    struct cli_parameters *parameters = mem_alloc(sizeof(*parameters));
    cli_args_parse(&cli_run_verb, 3, argv, &args, &e);
    assert_int_equal(cli_parameters_read(&args, parameters, &e), 0);
    _document_ struct document *doc = notebook_new();
    for (int i = 0; i < 3; i++)
        notebook_set_source(notebook_add_cell(doc, CELL_CODE), i == 1 ? "b" : "a", 1);
    json_object_set_new(doc->cells[1].metadata, "tags", json_pack("[is]", 5, "parameters"));
    assert_int_equal(cli_parameters_inject(parameters, doc, &e), 0);
    assert_int_equal(doc->n_cells, 4);
    assert_true(cell_has_tag(doc->cells[2].metadata, "injected-parameters"));
    assert_string_equal(doc->cells[1].source, "b");
    assert_string_equal(doc->cells[3].source, "a");
    assert_int_equal(cli_parameters_inject(parameters, doc, &e), 0);
    assert_int_equal(doc->n_cells, 4);
    cli_parameters_free(parameters);
    cli_args_free(&args);
    free(parameters);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_are_written_in_each_language),
        cmocka_unit_test(the_cell_goes_where_it_belongs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
