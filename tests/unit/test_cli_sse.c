#include "cli/sse.h"
#include "unit.h"

struct seen {
    struct buf text; /* name=data; for each event */
    size_t n;
    size_t leave_after; /* 0: never */
};

static bool take(void *context, const char *name, const char *data, size_t len)
{
    struct seen *seen = context;
    buf_printf(&seen->text, "%s=%.*s;", name, (int)len, data);
    seen->n++;
    return seen->n != seen->leave_after;
}

static void expect(const char *stream, const char *events)
{
    size_t len = strlen(stream);
    for (size_t step = 1; step <= len; step++) { /* cut everywhere */
        struct seen seen = {.text = BUF_INIT(4 * KIB)};
        struct cli_sse s;
        cli_sse_init(&s, take, &seen);
        for (size_t i = 0; i < len; i += step)
            assert_true(cli_sse_feed(&s, stream + i, MIN(step, len - i)));
        assert_string_equal(buf_str(&seen.text), events);
        cli_sse_free(&s);
        buf_free(&seen.text);
    }
}

static void events_are_named_and_in_order(void **state)
{
    (void)state;
    expect("event: output\ndata: {\"a\":1}\n\nevent: result\ndata: {}\n\n",
           "output={\"a\":1};result={};");
}

static void every_line_end_counts(void **state)
{
    (void)state;
    expect("event: a\r\ndata: 1\r\n\r\nevent: b\rdata: 2\r\revent: c\ndata: 3\n\n", "a=1;b=2;c=3;");
}

static void lines_of_data_are_joined(void **state)
{
    (void)state;
    expect("data: one\ndata:two\ndata\ndata:  three\n\n", "message=one\ntwo\n\n three;");
}

static void comments_unknown_fields_and_empty_events_are_passed_over(void **state)
{
    (void)state;
    expect(": keep-alive\n\nid: 7\nretry: 10\n\nevent: x\n\ndata: y\n\n", "message=y;");
}

static void an_event_that_has_not_ended_is_not_given(void **state)
{
    (void)state;
    expect("data: 1\n\ndata: 2\n", "message=1;");
}

static void the_reader_can_leave(void **state)
{
    (void)state;
    struct seen seen = {.text = BUF_INIT(1 * KIB), .leave_after = 1};
    struct cli_sse s;
    cli_sse_init(&s, take, &seen);
    const char *stream = "data: 1\n\ndata: 2\n\n";
    assert_false(cli_sse_feed(&s, stream, strlen(stream)));
    assert_int_equal(seen.n, 1);
    cli_sse_free(&s);
    buf_free(&seen.text);
}

static void what_grows_without_end_is_refused(void **state)
{
    (void)state;
    struct seen seen = {.text = BUF_INIT(1 * KIB)};
    struct cli_sse s;
    cli_sse_init(&s, take, &seen);
    s.line.max = 1000;
    char block[100];
    memset(block, 'x', sizeof(block));
    bool goes_on = true;
    for (int i = 0; goes_on && i < 100; i++)
        goes_on = cli_sse_feed(&s, block, sizeof(block));
    assert_false(goes_on);
    cli_sse_free(&s);

    cli_sse_init(&s, take, &seen);
    s.data.max = 1000; /* many lines of one event */
    goes_on = true;
    for (int i = 0; goes_on && i < 1000; i++)
        goes_on = cli_sse_feed(&s, "data: 123456789\n", 16);
    assert_false(goes_on);
    cli_sse_free(&s);

    cli_sse_init(&s, take, &seen);
    char name[200] = "event: ";
    memset(name + 7, 'n', 150);
    name[157] = '\n';
    assert_false(cli_sse_feed(&s, name, 158));
    cli_sse_free(&s);
    buf_free(&seen.text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(events_are_named_and_in_order),
        cmocka_unit_test(every_line_end_counts),
        cmocka_unit_test(lines_of_data_are_joined),
        cmocka_unit_test(comments_unknown_fields_and_empty_events_are_passed_over),
        cmocka_unit_test(an_event_that_has_not_ended_is_not_given),
        cmocka_unit_test(the_reader_can_leave),
        cmocka_unit_test(what_grows_without_end_is_refused),
    };
    return cmocka_run_group_tests_name("cli_sse", tests, NULL, NULL);
}
