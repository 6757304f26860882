#include "wire/http1.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool claim)
{
    if (!claim)
        abort();
}

/* What a request came out as, in words. */
static void describe(struct buf *out, const struct http1_parser *p)
{
    buf_printf(out, "%s %s %zu %d%d%d\n", http1_method(p), http1_target(p), p->n_headers,
               p->is_keep_alive, p->has_body, p->expects_continue);
    for (size_t i = 0; i < p->n_headers; i++) {
        const struct http1_header *h = &p->headers[i];
        require(strlen(p->head.data + h->name.at) == h->name.len);
        require(strlen(p->head.data + h->value.at) == h->value.len);
        buf_printf(out, "%s=%s\n", p->head.data + h->name.at, p->head.data + h->value.at);
    }
    buf_append(out, p->body.data, p->body.len);
}

static void check_refusal(const struct http1_parser *p)
{
    require(p->refusal >= 400 && p->refusal <= 599);
    require(p->error.code != ERR_NONE && p->error.message[0] != '\0' && p->error.advice[0] != '\0');
}

static void parse(const char *data, size_t size, size_t step, struct buf *out)
{
    struct http1_parser p;
    http1_init(&p);
    enum http1_result result = HTTP1_MORE;
    size_t at = 0;
    while (result != HTTP1_BAD && (at < size || result != HTTP1_MORE)) {
        size_t used, n = MIN(step, size - at);
        result = http1_feed(&p, data + at, n, &used);
        require(used <= n && (result != HTTP1_MORE || used == n));
        at += used;
        if (result == HTTP1_DONE) {
            describe(out, &p);
            http1_next(&p);
        } else if (result == HTTP1_BAD) {
            check_refusal(&p);
            buf_append_str(out, "refused");
        }
        if (result == HTTP1_DONE && at == size)
            break;
    }
    http1_free(&p);
}

/* The pieces in which a request arrives must not change what it means. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 1)
        return 0;
    _buf_ struct buf whole = BUF_INIT(64 * MIB);
    _buf_ struct buf pieces = BUF_INIT(64 * MIB);
    parse((const char *)data + 1, size - 1, size, &whole);
    parse((const char *)data + 1, size - 1, 1 + data[0] % 32, &pieces);
    require(whole.len == pieces.len);
    require(whole.len == 0 || memcmp(whole.data, pieces.data, whole.len) == 0);
    return 0;
}
