#include "cli/pipe_frames.h"
#include "unit.h"

#define FRAME(json) PIPE_REQUEST_START "\n" json "\n" PIPE_REQUEST_END "\n"

/* What a reader makes of a text that arrives in pieces: "[body]" for a request, "!" for one that is
 * too large, "?" for one that was cut off. */
static void expect(const char *input, size_t step, const char *expected)
{
    struct pipe_reader r = PIPE_READER_INIT(64);
    _buf_ struct buf seen = BUF_INIT(KIB);
    size_t len = strlen(input);
    for (size_t at = 0; at < len; at += step) {
        size_t n = MIN(step, len - at), done = 0;
        while (done < n) {
            size_t used;
            enum pipe_event event = pipe_feed(&r, input + at + done, n - done, &used);
            assert_true(used > 0 || event != PIPE_MORE);
            done += used;
            if (event == PIPE_REQUEST)
                buf_printf(&seen, "[%s]", buf_str(&r.body));
            else if (event != PIPE_MORE)
                buf_append_str(&seen, event == PIPE_TOO_LARGE ? "!" : "?");
        }
    }
    if (pipe_end(&r) == PIPE_CUT_OFF)
        buf_append_str(&seen, "?");
    pipe_reader_free(&r);
    if (strcmp(buf_str(&seen), expected) != 0)
        fail_msg("in steps of %zu: %s instead of %s", step, buf_str(&seen), expected);
}

static void expect_in_any_pieces(const char *input, const char *expected)
{
    for (size_t step = 1; step <= strlen(input); step++)
        expect(input, step, expected);
}

static void a_request_stands_between_two_marks(void **state)
{
    (void)state;
    expect_in_any_pieces(FRAME("{\"code\":\"1\"}"), "[\n{\"code\":\"1\"}\n]");
    expect_in_any_pieces(FRAME("a") FRAME("b") "\n\n" FRAME("c"), "[\na\n][\nb\n][\nc\n]");
    expect_in_any_pieces(FRAME("{\n \"code\":\n 1}"), "[\n{\n \"code\":\n 1}\n]");
    expect_in_any_pieces("", "");
}

static void what_is_between_requests_is_skipped(void **state)
{
    (void)state;
    expect_in_any_pieces("noise\n>>> \n>>> REQUEST_ST\n" FRAME("a") "more\n>>> REQUEST_END <<<\n",
                         "[\na\n]");
    expect_in_any_pieces("noise " FRAME("a"), "");
}

static void a_mark_counts_at_the_beginning_of_a_line_only(void **state)
{
    (void)state;
    expect_in_any_pieces(FRAME("\"" PIPE_REQUEST_END "\""), "[\n\"" PIPE_REQUEST_END "\"\n]");
    expect_in_any_pieces(FRAME("\"" PIPE_REQUEST_START "\""), "[\n\"" PIPE_REQUEST_START "\"\n]");
    expect_in_any_pieces(FRAME(">>> REQUEST\n>>"), "[\n>>> REQUEST\n>>\n]");
}

static void a_mark_counts_before_its_line_ends(void **state)
{
    (void)state;
    expect_in_any_pieces(PIPE_REQUEST_START "a\n" PIPE_REQUEST_END, "[a\n]");
    expect_in_any_pieces(PIPE_REQUEST_START "\r\na\r\n" PIPE_REQUEST_END "\r\n", "[\r\na\r\n]");
}

static void what_does_not_fit_is_dropped_to_its_end(void **state)
{
    (void)state;
    static const char fits[] = "012345678901234567890123456789012345678901234567890123456789";
    char input[512];
    snprintf(input, sizeof(input), FRAME("%s%s\nand more\n") FRAME("a"), fits, fits);
    expect_in_any_pieces(input, "![\na\n]");
}

static void what_was_cut_off_is_told(void **state)
{
    (void)state;
    expect_in_any_pieces(PIPE_REQUEST_START "\na\n" FRAME("b"), "?[\nb\n]");
    expect_in_any_pieces(FRAME("a") PIPE_REQUEST_START "\nb", "[\na\n]?");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_request_stands_between_two_marks),
        cmocka_unit_test(what_is_between_requests_is_skipped),
        cmocka_unit_test(a_mark_counts_at_the_beginning_of_a_line_only),
        cmocka_unit_test(a_mark_counts_before_its_line_ends),
        cmocka_unit_test(what_does_not_fit_is_dropped_to_its_end),
        cmocka_unit_test(what_was_cut_off_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
