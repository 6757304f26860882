#include "cli/news.h"
#include "unit.h"
#include "wire/json.h"

static void expect_news(const char *answer, const char *expected)
{
    json_error_t problem;
    _json_ json_t *object = json_loads(answer, 0, &problem);
    if (object == NULL)
        fail_msg("%s: %s", answer, problem.text);
    _buf_ struct buf out = BUF_INIT(64 * KIB);
    cli_describe_news(&out, object);
    assert_string_equal(buf_str(&out), expected);
}

static void what_is_lost_is_named(void **state)
{
    (void)state;
    expect_news("{\"status\":\"ok\"}", "");
    expect_news("{\"status\":\"ok\",\"resumed\":{\"lost\":[]}}", "");
    expect_news("{\"resumed\":{\"lost\":[{\"name\":\"g\",\"type\":\"generator\",\"advice\":\"-\"},"
                "{\"name\":\"p\"}]}}",
                "cella: the session came back from disk without: g (generator), p\n");
    expect_news(
        "{\"resumed\":{\"lost\":[\"a\",\"b\",\"c\",\"d\",\"e\",\"f\",\"g\",\"h\",\"i\",\"j\",\"k\","
        "\"l\"]}}",
        "cella: the session came back from disk without: a, b, c, d, e, f, g, h, i, j and 2 "
        "more\n");
    expect_news("{\"lost\":[{\"name\":\"s\",\"type\":\"socket\"}]}",
                "cella: the session came back without: s (socket)\n");
}

static void files_are_told_too(void **state)
{
    (void)state;
    expect_news("{\"files_lost\":[\"model.bin\",\"a/b\"]}",
                "cella: files that are lost: model.bin, a/b\n");
    expect_news("{\"resumed\":{\"lost\":[],\"files_lost\":[\"f\"],\"files_reason\":\"no room\"}}",
                "cella: files that are lost: f: no room\n");
    expect_news("{\"files_reason\":\"the disk is full\"}",
                "cella: the files could not be put back: the disk is full\n");
    expect_news("{\"not_saved\":[{\"name\":\"g\"}],\"files_not_saved\":\"no room\"}",
                "cella: not saved: g\ncella: the files were not saved: no room\n");
}

static void undone_cells_are_told(void **state)
{
    (void)state;
    expect_news("{\"status\":\"ok\",\"rolled_back_cells\":[2,3,4]}",
                "cella: the interpreter ended since the last cell; undone: cells 2-4\n");
    expect_news("{\"status\":\"died\",\"rolled_back_cells\":[2,3,4]}",
                "cella: undone: cells 2-4\n");
}

static void strange_answers_do_no_harm(void **state)
{
    (void)state;
    expect_news("{\"resumed\":7,\"lost\":{},\"files_lost\":\"x\",\"rolled_back_cells\":null}", "");
    expect_news("{\"lost\":[3,{},{\"name\":\"\\u001b[2J\"}]}",
                "cella: the session came back without: ?, ?, \\x1b[2J\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_lost_is_named),
        cmocka_unit_test(files_are_told_too),
        cmocka_unit_test(undone_cells_are_told),
        cmocka_unit_test(strange_answers_do_no_harm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
