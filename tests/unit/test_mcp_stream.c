#include "mcp/stream.h"
#include "unit.h"

/* A connection that notes what it is told: id=message; and "." at its end, "!" for an answer that
 * stands by itself. */
struct reader {
    struct mcp_link link;
    struct buf seen;
};

static bool on_event(struct mcp_link *link, const char *id, const char *json, size_t len)
{
    struct reader *r = CONTAINER_OF(link, struct reader, link);
    buf_printf(&r->seen, "%s=%.*s;", id, (int)len, json);
    return true;
}

static void on_answer(struct mcp_link *link, int status, const char *json, size_t len)
{
    struct reader *r = CONTAINER_OF(link, struct reader, link);
    buf_printf(&r->seen, "%d%.*s!", status, (int)len, json);
}

static void on_end(struct mcp_link *link)
{
    buf_append_char(&CONTAINER_OF(link, struct reader, link)->seen, '.');
}

static const struct mcp_link_ops ops = {.event = on_event, .answer = on_answer, .end = on_end};
#define READER ((struct reader){.link.ops = &ops, .seen = BUF_INIT(64 * KIB)})

static void an_answer_that_comes_alone_is_no_event(void **state)
{
    (void)state;
    struct reader r = READER;
    struct mcp_stream *s = stream_new(1, true);
    stream_attach(s, &r.link);
    stream_answer(s, 200, "A", 1); /* and the stream is gone */
    assert_string_equal(buf_str(&r.seen), "200A!");
    assert_null(r.link.stream);
    buf_free(&r.seen);
}

static void events_have_ids_and_an_end(void **state)
{
    (void)state;
    struct reader r = READER;
    struct mcp_stream *s = stream_new(3, true);
    stream_attach(s, &r.link);
    stream_put(s, "a", 1);
    stream_answer(s, 200, "b", 1);
    assert_string_equal(buf_str(&r.seen), "3-0=;3-1=a;3-2=b;.");
    stream_free(s);
    buf_free(&r.seen);
}

static void older_clients_get_no_empty_event(void **state)
{
    (void)state;
    struct reader r = READER;
    struct mcp_stream *s = stream_new(3, false);
    stream_attach(s, &r.link);
    stream_put(s, "a", 1);
    assert_string_equal(buf_str(&r.seen), "3-1=a;");
    stream_free(s);
    buf_free(&r.seen);
}

static void what_nobody_reads_waits(void **state)
{
    (void)state;
    struct reader first = READER, second = READER;
    struct mcp_stream *s = stream_new(1, true);
    stream_attach(s, &first.link);
    stream_put(s, "a", 1);
    stream_detach(s); /* the connection broke */
    stream_put(s, "b", 1);
    stream_resume(s, &second.link, 1);
    stream_answer(s, 200, "c", 1);
    assert_string_equal(buf_str(&first.seen), "1-0=;1-1=a;");
    assert_string_equal(buf_str(&second.seen), "1-2=b;1-3=;1-4=c;.");
    stream_free(s);
    buf_free(&first.seen);
    buf_free(&second.seen);
}

static void the_last_events_are_kept(void **state)
{
    (void)state;
    struct reader r = READER;
    struct mcp_stream *s = stream_new(1, true);
    for (int i = 0; i < MCP_EVENTS_MAX + 10; i++)
        stream_put(s, "x", 1);
    assert_int_equal(s->n_events, MCP_EVENTS_MAX);
    stream_resume(s, &r.link, 0);
    assert_non_null(strstr(buf_str(&r.seen), "1-11=x;"));
    assert_null(strstr(buf_str(&r.seen), "1-10=x;"));
    stream_free(s);
    buf_free(&r.seen);
}

static void bytes_are_bounded_too(void **state)
{
    (void)state;
    struct mcp_stream *s = stream_new(1, true);
    char *large = mem_alloc(MCP_STREAM_BYTES);
    for (int i = 0; i < 3; i++)
        stream_put(s, large, MCP_STREAM_BYTES - 1);
    assert_int_equal(s->n_events, 1);
    free(large);
    stream_free(s);
}

static void ids_are_read_strictly(void **state)
{
    (void)state;
    uint64_t stream, event;
    assert_true(stream_parse_id("12-7", &stream, &event));
    assert_int_equal(stream, 12);
    assert_int_equal(event, 7);
    const char *const bad[] = {"", "-", "1", "1-", "-1", "1-2x", " 1-2", "1--2", "a-b"};
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        assert_false(stream_parse_id(bad[i], &stream, &event));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_answer_that_comes_alone_is_no_event),
        cmocka_unit_test(events_have_ids_and_an_end),
        cmocka_unit_test(older_clients_get_no_empty_event),
        cmocka_unit_test(what_nobody_reads_waits),
        cmocka_unit_test(the_last_events_are_kept),
        cmocka_unit_test(bytes_are_bounded_too),
        cmocka_unit_test(ids_are_read_strictly),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
