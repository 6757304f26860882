#include "base/clock.h"
#include "cli/timeline.h"
#include "unit.h"
#include "wire/json.h"

static json_t *parse(const char *text)
{
    json_error_t problem;
    json_t *value = json_loads(text, 0, &problem);
    if (value == NULL)
        fail_msg("%s", problem.text);
    return value;
}

#define CHECKPOINT(id, parent, cells)                                                              \
    "{\"id\":" #id ",\"parent\":" #parent ",\"cells\":" cells ",\"at\":\"-\",\"memory_bytes\":"    \
    "null,\"files\":\"covered\",\"restore\":\"process\",\"saved\":false}"

static void expect_tree(const char *timeline, bool is_ascii, const char *expected)
{
    _json_ json_t *value = parse(timeline);
    _buf_ struct buf out = BUF_INIT(MIB);
    cli_draw_tree(&out, value, is_ascii);
    assert_string_equal(buf_str(&out), expected);
}

static void a_line_is_drawn_as_a_line(void **state)
{
    (void)state;
    expect_tree("{\"current\":2,\"checkpoints\":[" CHECKPOINT(1, 0, "[1,2,3]") "," CHECKPOINT(
                    2, 1, "[4]") "]}",
                false,
                "○ 0  the beginning\n"
                "○ 1  cells 1-3         -         -  with files, can be restored\n"
                "● 2  cell 4            -         -  with files, can be restored  ← here\n");
    expect_tree("{\"current\":0,\"checkpoints\":[]}", false, "● 0  the beginning  ← here\n");
}

static void what_was_done_in_another_way_is_a_branch(void **state)
{
    (void)state;
    static const char timeline[] =
        "{\"current\":4,\"checkpoints\":[" CHECKPOINT(1, 0, "[1]") "," CHECKPOINT(
            2, 1, "[2]") "," CHECKPOINT(3, 2,
                                        "[3]") "," CHECKPOINT(4, 1,
                                                              "[4,5]") "," CHECKPOINT(5, 0,
                                                                                      "[6]") "]}";
    expect_tree(timeline, false,
                "○ 0  the beginning\n"
                "├─○ 1  cell 1           -         -  with files, can be restored\n"
                "│ ├─○ 2  cell 2         -         -  with files, can be restored\n"
                "│ │ ○ 3  cell 3         -         -  with files, can be restored\n"
                "│ └─● 4  cells 4, 5     -         -  with files, can be restored  ← here\n"
                "└─○ 5  cell 6           -         -  with files, can be restored\n");
    expect_tree(timeline, true,
                "o 0  the beginning\n"
                "|-o 1  cell 1           -         -  with files, can be restored\n"
                "| |-o 2  cell 2         -         -  with files, can be restored\n"
                "| | o 3  cell 3         -         -  with files, can be restored\n"
                "| `-* 4  cells 4, 5     -         -  with files, can be restored  <- here\n"
                "`-o 5  cell 6           -         -  with files, can be restored\n");
}

static void what_a_daemon_should_not_say_does_no_harm(void **state)
{
    (void)state;
    /* Circles, unknown parents, the same number twice, other types. */
    expect_tree("{\"current\":9,\"checkpoints\":[" CHECKPOINT(1, 2, "[]") "," CHECKPOINT(
                    2, 1, "[\"x\"]") "," CHECKPOINT(2, 77, "7") ",{\"id\":3,\"parent\":[]}]}",
                true,
                "o 0  the beginning\n"
                "|-o 1                  -         -  with files, can be restored\n"
                "| o 2  cell 0          -         -  with files, can be restored\n"
                "|-o 2                  -         -  with files, can be restored\n"
                "`-o 3                  -         -  without files, cannot be restored\n");
}

static void expect_words(void (*describe)(struct buf *out, const json_t *object), const char *text,
                         const char *expected)
{
    _json_ json_t *value = parse(text);
    _buf_ struct buf out = BUF_INIT(MIB);
    describe(&out, value);
    assert_string_equal(buf_str(&out), expected);
}

static void cells_are_told_in_ranges(void **state)
{
    (void)state;
    expect_words(cli_describe_cells, "[]", "");
    expect_words(cli_describe_cells, "[7]", "cell 7");
    expect_words(cli_describe_cells, "[1,2]", "cells 1, 2");
    expect_words(cli_describe_cells, "[1,3,4,5,9]", "cells 1, 3-5, 9");
}

static void reasons_are_told(void **state)
{
    (void)state;
    expect_words(cli_describe_restore, "{\"restore\":\"process\",\"saved\":true}",
                 "can be restored, saved");
    expect_words(cli_describe_restore,
                 "{\"restore\":\"durable\",\"saved\":true,\"reason\":\"4 threads \\u001bran\"}",
                 "can be restored from disk (4 threads \\x1bran)");
    expect_words(cli_describe_restore, "{\"restore\":\"no\"}", "cannot be restored");
    expect_words(cli_describe_files, "{\"files\":\"none\",\"files_reason\":\"over 10000 files\"}",
                 "without files (over 10000 files)");
    expect_words(cli_describe_files, "{\"files\":\"torn\"}", "with files, perhaps half-written");
}

static void describe_undo(struct buf *out, const json_t *answer)
{
    cli_describe_rollback(out, "took back", answer);
}

static void an_undo_is_told(void **state)
{
    (void)state;
    expect_words(describe_undo,
                 "{\"from\":3,\"to\":0,\"cells\":[],\"restored_from\":\"beginning\"}",
                 "now at the beginning\n");
    expect_words(describe_undo, "{\"to\":1,\"cells\":[2],\"code\":\"x * 2\\n\"}",
                 "took back cell 2 (x * 2); now at checkpoint 1\n");
    expect_words(describe_undo, "{\"to\":1,\"cells\":[2],\"code\":\"for x in y:\\n    z\"}",
                 "took back cell 2 (for x in y:…); now at checkpoint 1\n");
    expect_words(
        describe_undo,
        "{\"to\":0,\"cells\":[2],\"code\":\"123456789 123456789 123456789 123456789 "
        "123456789 123456789 1\"}",
        "took back cell 2 (123456789 123456789 123456789 123456789 123456789 123456789 …); "
        "now at the beginning\n");
    expect_words(describe_undo,
                 "{\"from\":3,\"to\":1,\"cells\":[2,3,4],\"restored_from\":\"durable\","
                 "\"files\":\"restored\",\"files_changed\":1,\"files_lost\":[\"a\",\"b\"],"
                 "\"ended_processes\":2,"
                 "\"not_undone\":[{\"what\":\"socket\",\"detail\":\"to a server\"}],"
                 "\"lost\":[{\"name\":\"g\",\"type\":\"generator\",\"advice\":\"make a list\"}]}",
                 "took back cells 2-4; now at checkpoint 1\n"
                 "  restored from its saved copy\n"
                 "  1 file put back\n"
                 "  files that are lost: a, b\n"
                 "  2 processes ended\n"
                 "  not undone: socket: to a server\n"
                 "  lost: g (generator): make a list\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_line_is_drawn_as_a_line),
        cmocka_unit_test(what_was_done_in_another_way_is_a_branch),
        cmocka_unit_test(what_a_daemon_should_not_say_does_no_harm),
        cmocka_unit_test(cells_are_told_in_ranges),
        cmocka_unit_test(reasons_are_told),
        cmocka_unit_test(an_undo_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
