#include "store_world.h"

#include <signal.h>

/* Streams that sandboxes write: everything in them is a claim. */

static void ingest(struct world *w, const struct buf *bytes)
{
    struct store_limits limits;
    world_limits(&limits);
    world_ingest(w, bytes, &limits);
}

static void assert_refused(struct world *w, const struct buf *bytes, enum err_code code,
                           const char *text)
{
    ingest(w, bytes);
    assert_true(w->has_failed);
    assert_null(w->state);
    if (w->error.code != code || strstr(w->error.message, text) == NULL)
        fail_msg("wanted \"%s\", got %d \"%s\"", text, w->error.code, w->error.message);
}

static void what_was_lost_is_told(void **state)
{
    (void)state;
    struct world *w = world_new();
    _buf_ struct buf b = BUF_INIT(MIB);
    put_header(&b, BEGIN);
    put_header(&b,
               "{\"rec\":\"lost\",\"name\":\"g\",\"type\":\"generator\",\"advice\":\"Note: x\"}");
    put_header(&b, END);
    ingest(w, &b);
    world_ok(w);
    assert_int_equal(w->state->n_lost, 1);
    store_state_put_lost(w->state, 10, &w->text);
    assert_string_equal(buf_str(&w->text),
                        "[{\"name\":\"g\",\"type\":\"generator\",\"advice\":\"Note: x\"}]");
    world_free(w);
}

static void a_cut_stream_is_nothing(void **state)
{
    (void)state;
    static const size_t sizes[] = {20, 0, 3};
    struct world *w = world_new();
    _buf_ struct buf whole = BUF_INIT(MIB);
    put_stream(&whole, 1, sizes, ARRAY_LEN(sizes));
    for (size_t len = 0; len < whole.len; len += 7) {
        struct buf part = {.data = whole.data, .len = len};
        ingest(w, &part);
        assert_true(w->has_failed);
        assert_int_equal(w->error.code, ERR_UNAVAILABLE);
    }
    world_free(w);
}

static void a_saver_that_failed_says_why(void **state)
{
    (void)state;
    struct world *w = world_new();
    _buf_ struct buf b = BUF_INIT(MIB);
    put_header(&b, BEGIN);
    put_blob(&b, "x", "123", 3);
    put_header(&b, "{\"rec\":\"failed\",\"message\":\"State is 61 MB\"}");
    assert_refused(w, &b, ERR_TOO_LARGE, "State is 61 MB");
    world_free(w);
}

static void refuses_what_is_not_a_state(void **state)
{
    (void)state;
    static const struct {
        const char *headers[3];
        enum err_code code;
        const char *text;
    } cases[] = {
        {{END}, ERR_INVALID, "no beginning"},
        {{BEGIN, BEGIN}, ERR_INVALID, "begins twice"},
        {{"{\"rec\":\"begin\",\"format\":\"zip\",\"runtime\":\"x\"}"}, ERR_INVALID, "format"},
        {{BEGIN, "{\"rec\":\"pickle\"}"}, ERR_INVALID, "unknown kind"},
        {{BEGIN, "{\"rec\":5}"}, ERR_INVALID, "unknown kind"},
        {{BEGIN, "{}"}, ERR_INVALID, "unknown kind"},
        {{BEGIN, "[]"}, ERR_INVALID, "record"},
        {{BEGIN, "{\"rec\":\"end\",\"rec\":\"end\"}"}, ERR_INVALID, "record"},
        {{BEGIN, "{\"rec\":\"e\xff\"}"}, ERR_INVALID, "record"},
        {{BEGIN, "{\"rec\":\"blob\",\"kind\":\"variables\",\"names\":[1],\"body\":true}"},
         ERR_INVALID,
         "name"},
        {{BEGIN, "{\"rec\":\"blob\",\"kind\":\"variables\",\"body\":true}"}, ERR_INVALID, "names"},
        {{BEGIN, "{\"rec\":\"blob\",\"kind\":\"variables\",\"names\":[]}"}, ERR_INVALID, "body"},
        {{BEGIN, "{\"rec\":\"blob\",\"kind\":\"x\",\"names\":[],\"body\":true}"},
         ERR_INVALID,
         "kind"},
        {{BEGIN, "{\"rec\":\"lost\",\"name\":\"x\"}"}, ERR_INVALID, "type"},
    };
    struct world *w = world_new();
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        _buf_ struct buf b = BUF_INIT(MIB);
        for (size_t k = 0; k < 3 && cases[i].headers[k] != NULL; k++)
            put_header(&b, cases[i].headers[k]);
        assert_refused(w, &b, cases[i].code, cases[i].text);
    }
    world_free(w);
}

static void lengths_are_claims(void **state)
{
    (void)state;
    struct world *w = world_new();
    _buf_ struct buf b = BUF_INIT(MIB);
    put_u32(&b, 64 * KIB + 1);
    assert_refused(w, &b, ERR_INVALID, "longer than allowed");
    buf_clear(&b);
    put_u32(&b, 0);
    assert_refused(w, &b, ERR_INVALID, "longer than allowed");
    buf_clear(&b);
    put_header(&b, BEGIN);
    put_header(&b, "{\"rec\":\"blob\",\"kind\":\"variables\",\"names\":[],\"body\":true}");
    put_u32(&b, MIB + 1);
    assert_refused(w, &b, ERR_INVALID, "chunk");
    world_free(w);
}

static void limits_hold(void **state)
{
    (void)state;
    static const size_t sizes[] = {1000, 1000, 1000};
    struct world *w = world_new();
    _buf_ struct buf b = BUF_INIT(MIB);
    put_stream(&b, 1, sizes, ARRAY_LEN(sizes));
    struct store_limits limits;
    world_limits(&limits);
    limits.max_bytes = 3000;
    world_ingest(w, &b, &limits);
    world_ok(w);
    limits.max_bytes = 2999;
    world_ingest(w, &b, &limits);
    assert_int_equal(w->error.code, ERR_TOO_LARGE);
    world_limits(&limits);
    limits.max_records = 4;
    world_ingest(w, &b, &limits);
    assert_int_equal(w->error.code, ERR_TOO_LARGE);
    world_limits(&limits);
    limits.max_names = 2;
    world_ingest(w, &b, &limits);
    assert_int_equal(w->error.code, ERR_TOO_LARGE);
    world_free(w);
}

static void silence_has_a_deadline(void **state)
{
    (void)state;
    int in[2], out[2];
    static const size_t sizes[] = {5 * MIB};
    struct world *w = world_new();
    struct store_limits limits;
    world_limits(&limits);
    limits.deadline_ms = 50;
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, in), 0);
    store_ingest(w->store, in[0], &limits, on_state, w);
    world_wait(w);
    assert_int_equal(w->error.code, ERR_TIMEOUT);
    close(in[1]);
    /* A reader that does not read. */
    world_make_state(w, 1, sizes, 1);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, out), 0);
    store_export(w->store, w->state, out[0], 50, on_exported, w);
    world_wait(w);
    assert_int_equal(w->error.code, ERR_TIMEOUT);
    close(out[1]);
    /* One that goes away. */
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, out), 0);
    close(out[1]);
    store_export(w->store, w->state, out[0], 5000, on_exported, w);
    world_wait(w);
    assert_int_equal(w->error.code, ERR_UNAVAILABLE);
    world_free(w);
}

static const size_t small_sizes[] = {1000, 500};

/* What is there as a whole is taken at once, and given away at once. */
static void small_ones_wait_for_nobody(void **state)
{
    (void)state;
    int in[2], out[2];
    struct world *w = world_new();
    struct store_limits limits;
    _buf_ struct buf b = BUF_INIT(MIB);
    put_stream(&b, 1, small_sizes, ARRAY_LEN(small_sizes));
    world_limits(&limits);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, in), 0);
    assert_int_equal(fd_write_all(in[1], b.data, b.len), 0);
    store_ingest(w->store, in[0], &limits, on_state, w);
    assert_int_equal(w->calls, 0); /* but told later, like all that is asked of a store */
    world_wait(w);
    world_ok(w);
    close(in[1]);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, out), 0);
    store_export(w->store, w->state, out[0], 5000, on_exported, w);
    char bytes[4096];
    assert_int_equal(recv(out[1], bytes, sizeof(bytes), MSG_DONTWAIT), b.len);
    assert_memory_equal(bytes, b.data, b.len);
    world_wait(w);
    world_ok(w);
    close(out[1]);
    world_free(w);
}

/* One whose end is still missing, and a reader whose socket is full: neither stops the loop. */
static void small_ones_may_take_long(void **state)
{
    (void)state;
    int in[2], out[2];
    struct world *w = world_new();
    struct store_limits limits;
    _buf_ struct buf b = BUF_INIT(MIB);
    put_stream(&b, 1, small_sizes, ARRAY_LEN(small_sizes));
    world_limits(&limits);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, in), 0);
    assert_int_equal(fd_write_all(in[1], b.data, b.len - 3), 0);
    store_ingest(w->store, in[0], &limits, on_state, w);
    assert_int_equal(fd_write_all(in[1], b.data + b.len - 3, 3), 0);
    world_wait(w);
    world_ok(w);
    close(in[1]);
    static const char filler[1024];
    size_t filled = 0;
    ssize_t n;
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, out), 0);
    while ((n = send(out[0], filler, sizeof(filler), MSG_DONTWAIT)) > 0)
        filled += (size_t)n;
    store_export(w->store, w->state, out[0], 5000, on_exported, w);
    for (char byte; filled > 0; filled--)
        assert_int_equal(read(out[1], &byte, 1), 1);
    _free_ char *bytes = mem_alloc(b.len + 1);
    assert_int_equal(recv(out[1], bytes, b.len + 1, MSG_WAITALL), b.len);
    assert_memory_equal(bytes, b.data, b.len);
    world_wait(w);
    world_ok(w);
    close(out[1]);
    world_free(w);
}

/* More streams than workers; those that say nothing are cut when the store is closed. */
static void many_at_once(void **state)
{
    (void)state;
    enum { STREAMS = 20 };
    int pairs[STREAMS][2];
    static const size_t sizes[] = {100, 80000};
    struct world *w = world_new();
    struct store_limits limits;
    _buf_ struct buf b = BUF_INIT(MIB);
    put_stream(&b, 1, sizes, ARRAY_LEN(sizes));
    world_limits(&limits);
    for (int i = 0; i < STREAMS; i++) {
        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pairs[i]), 0);
        store_ingest(w->store, pairs[i][0], &limits, on_state, w);
    }
    for (int i = 0; i < STREAMS; i++) {
        assert_int_equal(fd_write_all(pairs[i][1], b.data, b.len), 0);
        close(pairs[i][1]);
    }
    while (w->calls < STREAMS) {
        world_wait(w);
        world_ok(w);
    }
    int silent[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, silent), 0);
    store_ingest(w->store, silent[0], &limits, on_state, w);
    world_close(w);
    assert_int_equal(w->calls, STREAMS + 1);
    assert_int_equal(w->error.code, ERR_UNAVAILABLE);
    close(silent[1]);
    world_free(w);
}

static void on_text(void *context, const char *text, size_t len, const struct err *e)
{
    struct world *w = context;
    world_note(w, e);
    buf_clear(&w->text);
    if (text != NULL)
        buf_append(&w->text, text, len);
}

static void travels_as_text(void **state)
{
    (void)state;
    static const size_t sizes[] = {1, 1000, 3000000};
    struct world *w = world_new();
    for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
        _free_ char *text = mem_alloc(sizes[i] * 4 + 1);
        memset(text, 'Q', sizes[i] * 4);
        store_decode(w->store, text, sizes[i] * 4, 16 * MIB, on_state, w);
        world_wait(w);
        world_ok(w);
        assert_int_equal(w->state->bytes, sizes[i] * 3);
        store_encode(w->store, w->state, on_text, w);
        world_wait(w);
        world_ok(w);
        assert_string_equal(buf_str(&w->text), text);
    }
    store_decode(w->store, "not!base", 8, MIB, on_state, w);
    world_wait(w);
    assert_int_equal(w->error.code, ERR_INVALID);
    store_decode(w->store, "QQQQQQQQ", 8, 5, on_state, w);
    world_wait(w);
    assert_int_equal(w->error.code, ERR_TOO_LARGE);
    world_free(w);
}

int main(void)
{
    signal(SIGPIPE, SIG_IGN);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_lost_is_told),
        cmocka_unit_test(a_cut_stream_is_nothing),
        cmocka_unit_test(a_saver_that_failed_says_why),
        cmocka_unit_test(refuses_what_is_not_a_state),
        cmocka_unit_test(lengths_are_claims),
        cmocka_unit_test(limits_hold),
        cmocka_unit_test(silence_has_a_deadline),
        cmocka_unit_test(small_ones_wait_for_nobody),
        cmocka_unit_test(small_ones_may_take_long),
        cmocka_unit_test(many_at_once),
        cmocka_unit_test(travels_as_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
