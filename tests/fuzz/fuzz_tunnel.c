/* Answers of servers in sessions, as they arrive and as they are passed on: the pieces in which one
 * arrives must not change what it means, and what is written for the client must be an answer that
 * a strict reader takes, with the same status and length, and without what is not for it. */
#include "serve/tunnel_heads.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool claim)
{
    if (!claim)
        abort();
}

static void check_passed_on(const struct http1_parser *answer)
{
    static const char prefix[] = "/v1/sessions/x/ports/8000";
    const struct tunnel_way way = {
        .port = 8000, .prefix = prefix, .prefix_len = sizeof(prefix) - 1};
    _buf_ struct buf head = BUF_INIT(TUNNEL_HEAD_MAX);
    struct http1_parser again;
    size_t used;
    tunnel_write_answer(&head, answer, &way, true, true);
    require(!head.overflowed);
    http1_init_answer(&again, answer->is_for_head);
    enum http1_result result = http1_feed(&again, head.data, head.len, &used);
    /* What we add may be more than a head may have; it is never less strict. */
    bool is_full = head.len > HTTP1_HEAD_MAX || answer->n_headers + 5 > HTTP1_HEADERS_MAX;
    require(result == HTTP1_HEAD || is_full);
    if (result == HTTP1_HEAD) {
        require(used == head.len);
        require(http1_status(&again) == http1_status(answer));
        require(http1_header(&again, "set-cookie", NULL) == NULL);
        require(http1_header(&again, "content-security-policy", NULL) != NULL);
        bool is_bare = http1_status(answer) == 101 || http1_status(answer) == 204;
        require(is_bare || !http1_has_length(answer) ||
                again.llhttp.content_length == answer->llhttp.content_length);
    }
    http1_free(&again);
}

static void parse(const char *data, size_t size, size_t step, bool is_for_head, struct buf *out)
{
    struct http1_parser p;
    http1_init_answer(&p, is_for_head);
    enum http1_result result = HTTP1_MORE;
    size_t at = 0;
    while (result != HTTP1_BAD && result != HTTP1_DONE && (at < size || result == HTTP1_HEAD)) {
        size_t used, n = MIN(step, size - at);
        result = http1_feed(&p, data + at, n, &used);
        require(used <= n && (result != HTTP1_MORE || used == n));
        at += used;
        if (result == HTTP1_HEAD) {
            check_passed_on(&p);
            buf_printf(out, "%d %zu\n", http1_status(&p), p.n_headers);
        }
        buf_append(out, p.body.data, p.body.len);
        buf_clear(&p.body);
    }
    if (result == HTTP1_MORE)
        result = http1_finish(&p);
    require(result != HTTP1_BAD || p.refusal == 502);
    buf_append_str(out, result == HTTP1_DONE ? "complete" : "refused");
    http1_free(&p);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 1)
        return 0;
    _buf_ struct buf whole = BUF_INIT(64 * MIB);
    _buf_ struct buf pieces = BUF_INIT(64 * MIB);
    bool is_for_head = data[0] & 128;
    parse((const char *)data + 1, size - 1, size, is_for_head, &whole);
    parse((const char *)data + 1, size - 1, 1 + data[0] % 32, is_for_head, &pieces);
    require(whole.len == pieces.len && memcmp(whole.data, pieces.data, whole.len) == 0);
    return 0;
}
