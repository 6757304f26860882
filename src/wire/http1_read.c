/* Requests from bytes, through llhttp, within limits. Daemon; owns the head and body so far. */
#include "wire/http1.h"

#include <strings.h>

/* Chunk sizes, extensions and trailers are not kept, but reading them costs time. */
#define KEPT_BODY (64 * KIB) /* a larger body buffer is given back after its request */

static struct http1_parser *parser_of(llhttp_t *llhttp)
{
    return CONTAINER_OF(llhttp, struct http1_parser, llhttp);
}

static int refuse(struct http1_parser *p, int status, enum err_code code, const char *message,
                  const char *advice)
{
    if (p->state == HTTP1_REFUSED)
        return HPE_USER;
    p->state = HTTP1_REFUSED;
    p->refusal = p->is_answer ? 502 : status;
    if (p->is_answer) {
        err_set(&p->error, ERR_UPSTREAM, "the server in the session does not answer in HTTP: %s",
                message);
        err_advise(&p->error, "Is it an HTTP server that listens on this port?");
    } else {
        err_set(&p->error, code, "%s", message);
        err_advise(&p->error, "%s", advice);
    }
    return HPE_USER;
}

static int refuse_malformed(struct http1_parser *p, const char *message)
{
    return refuse(p, 400, ERR_INVALID, message, "Send HTTP/1.1 as an HTTP library writes it.");
}

static int refuse_large_head(struct http1_parser *p)
{
    return refuse(p, 431, ERR_TOO_LARGE, "the head is over 32 KiB or 100 headers",
                  "Send fewer or shorter headers; data belongs in the body.");
}

static int refuse_large_body(struct http1_parser *p)
{
    char what[64];
    if (p->body.max == 0)
        return refuse(p, 413, ERR_TOO_LARGE, "no body is taken here", "Leave it out.");
    size_t max = p->state == HTTP1_IN_HEAD ? HTTP1_BODY_LARGE_MAX : p->body.max;
    snprintf(what, sizeof(what), "the request's body is over %zu MiB", max / (size_t)MIB);
    buf_free(&p->body); /* nobody reads it, and the connection may linger */
    return refuse(
        p, 413, ERR_TOO_LARGE, what,
        "Send less at once: a large file as several, which a cell joins (cat part* > file).");
}

/* ---- the line ends of the head --------------------------------------------------------------- */

/* One byte of the head. llhttp accepts some lines that do not end in CRLF and headers without a
 * name, and a header may not be continued on a second line: all have been used to smuggle. */
static bool check_head_byte(struct http1_parser *p, char c)
{
    if (c == '\n')
        return p->last_byte == '\r';
    if (p->last_byte == '\r')
        return false;
    bool is_stray = c == ' ' || c == '\t' || c == ':';
    return !(is_stray && p->line_bytes == 0);
}

/* How much of `data` belongs to the head; `ret_is_end` if the head ends there. */
static size_t scan_head(struct http1_parser *p, const char *data, size_t len, bool *ret_is_end)
{
    size_t i = 0;
    *ret_is_end = false;
    while (i < len && !*ret_is_end) {
        char c = data[i++];
        if (!check_head_byte(p, c)) {
            refuse_malformed(p, "the head has a stray line end, blank or colon");
            break;
        }
        p->last_byte = c;
        if (c == '\n') {
            /* Empty lines before a request are allowed (RFC 9112, 2.2). */
            *ret_is_end = p->line_bytes == 0 && p->lines > 0;
            p->lines += p->line_bytes > 0;
            p->line_bytes = 0;
        } else if (c != '\r') {
            p->line_bytes++;
        }
    }
    p->head_bytes += i;
    return i;
}

/* ---- what llhttp tells ----------------------------------------------------------------------- */

/* Adds bytes to the span at the end of the head. */
static int extend(struct http1_parser *p, struct http1_span *span, const char *at, size_t len)
{
    if (!buf_append(&p->head, at, len))
        return refuse_large_head(p);
    span->len += (uint32_t)len;
    return 0;
}

static int open_span(struct http1_parser *p, struct http1_span *span)
{
    if (!buf_append(&p->head, "", 1))
        return refuse_large_head(p);
    *span = (struct http1_span){.at = (uint32_t)p->head.len};
    return 0;
}

static int on_url(llhttp_t *llhttp, const char *at, size_t len)
{
    struct http1_parser *p = parser_of(llhttp);
    if (p->target.len + len > HTTP1_TARGET_MAX)
        return refuse(p, 414, ERR_TOO_LARGE, "the request's target is over 8 KiB",
                      "Send the data in the body.");
    return extend(p, &p->target, at, len);
}

static int on_header_field(llhttp_t *llhttp, const char *at, size_t len)
{
    struct http1_parser *p = parser_of(llhttp);
    if (p->state != HTTP1_IN_HEAD)
        return 0; /* a trailer: read and forgotten */
    if (p->n_headers == 0 || p->has_name) {
        if (p->n_headers == HTTP1_HEADERS_MAX)
            return refuse_large_head(p);
        p->has_name = false;
        if (open_span(p, &p->headers[p->n_headers++].name) != 0)
            return HPE_USER;
    }
    return extend(p, &p->headers[p->n_headers - 1].name, at, len);
}

static int on_header_field_complete(llhttp_t *llhttp)
{
    struct http1_parser *p = parser_of(llhttp);
    if (p->state != HTTP1_IN_HEAD)
        return 0;
    p->has_name = true;
    return open_span(p, &p->headers[p->n_headers - 1].value);
}

static int on_header_value(llhttp_t *llhttp, const char *at, size_t len)
{
    struct http1_parser *p = parser_of(llhttp);
    if (p->state != HTTP1_IN_HEAD)
        return 0;
    return extend(p, &p->headers[p->n_headers - 1].value, at, len);
}

static void trim_value(struct http1_parser *p, struct http1_span *value)
{
    while (value->len > 0 && strchr(" \t", p->head.data[value->at + value->len - 1]) != NULL)
        value->len--;
    p->head.data[value->at + value->len] = '\0';
}

static size_t count_headers(const struct http1_parser *p, const char *name)
{
    size_t n = 0;
    for (size_t i = 0; i < p->n_headers; i++)
        n += strcasecmp(p->head.data + p->headers[i].name.at, name) == 0;
    return n;
}

static int check_version(struct http1_parser *p)
{
    if (p->llhttp.http_major != 1)
        return refuse(p, 505, ERR_INVALID, "only HTTP/1.1 and HTTP/1.0 are spoken here",
                      "Switch the client to HTTP/1.1.");
    p->is_http_1_1 = p->llhttp.http_minor == 1;
    if (!p->is_answer && p->is_http_1_1 && count_headers(p, "host") == 0)
        return refuse_malformed(p, "the Host header is missing");
    return 0;
}

/* Headers that decide who asks and where a request ends must not be open to interpretation. */
static int check_single(struct http1_parser *p)
{
    static const char *const single[] = {"host", "authorization", "origin", "transfer-encoding"};
    for (size_t i = 0; i < ARRAY_LEN(single); i++) {
        if (count_headers(p, single[i]) > 1)
            return refuse_malformed(p, "a header that may appear once appears several times");
    }
    return 0;
}

static int check_body(struct http1_parser *p)
{
    const char *encoding = http1_header(p, "transfer-encoding", NULL);
    if (encoding != NULL && !p->is_http_1_1)
        return refuse_malformed(p, "HTTP/1.0 has no Transfer-Encoding");
    if (encoding != NULL && strcasecmp(encoding, "chunked") != 0)
        return refuse(p, 501, ERR_INVALID, "the only Transfer-Encoding understood is \"chunked\"",
                      "Send the body as it is, without compression.");
    if (encoding != NULL && p->llhttp.flags & F_CONTENT_LENGTH)
        return refuse_malformed(p, "Content-Length and Transfer-Encoding exclude each other");
    p->has_body = encoding != NULL || p->llhttp.content_length > 0;
    p->body_announced = p->llhttp.content_length;
    return 0;
}

static int on_headers_complete(llhttp_t *llhttp)
{
    struct http1_parser *p = parser_of(llhttp);
    for (size_t i = 0; i < p->n_headers; i++)
        trim_value(p, &p->headers[i].value);
    if (llhttp->method == HTTP_CONNECT)
        return refuse(p, 501, ERR_INVALID, "CONNECT is not offered: this is not a proxy",
                      "Send the request directly.");
    if (check_version(p) != 0 || check_single(p) != 0 || check_body(p) != 0)
        return -1;
    const char *expect = http1_header(p, "expect", NULL);
    if (expect != NULL && strcasecmp(expect, "100-continue") != 0)
        return refuse(p, 417, ERR_INVALID, "the only Expect understood is \"100-continue\"",
                      "Leave the Expect header out.");
    p->expects_continue = expect != NULL && p->is_http_1_1 && p->has_body;
    /* An offer to change the protocol may be ignored (RFC 9110, 7.8). */
    llhttp->upgrade = 0;
    /* HTTP/1.0 could ask for another request, but would want that confirmed: it gets one. */
    p->is_keep_alive = p->is_http_1_1 && llhttp_should_keep_alive(llhttp);
    p->state = HTTP1_IN_BODY;
    return 0;
}

/* The length of a body that an answer may not have, to HEAD or with 304, is what a body would have;
 * such an answer ends with its head. */
static int on_answer_head(llhttp_t *llhttp)
{
    struct http1_parser *p = parser_of(llhttp);
    for (size_t i = 0; i < p->n_headers; i++)
        trim_value(p, &p->headers[i].value);
    if (check_version(p) != 0 || check_single(p) != 0 || check_body(p) != 0)
        return -1;
    if (llhttp->status_code < 100 || llhttp->status_code > 599)
        return refuse_malformed(p, "its status is not one of HTTP");
    llhttp->upgrade = 0; /* 101 ends with its head, too: what follows is the owner's to read */
    p->state = HTTP1_IN_BODY;
    bool has_none = llhttp->status_code < 200 || llhttp->status_code == 204 ||
                    llhttp->status_code == 304 || p->is_for_head;
    return has_none ? 1 : 0;
}

static int on_body(llhttp_t *llhttp, const char *at, size_t len)
{
    struct http1_parser *p = parser_of(llhttp);
    return buf_append(&p->body, at, len) ? 0 : refuse_large_body(p);
}

static int on_message_complete(llhttp_t *llhttp)
{
    parser_of(llhttp)->state = HTTP1_COMPLETE;
    return HPE_PAUSED;
}

static const llhttp_settings_t settings = {
    .on_url = on_url,
    .on_header_field = on_header_field,
    .on_header_field_complete = on_header_field_complete,
    .on_header_value = on_header_value,
    .on_headers_complete = on_headers_complete,
    .on_body = on_body,
    .on_message_complete = on_message_complete,
};

static const llhttp_settings_t answer_settings = {
    .on_header_field = on_header_field,
    .on_header_field_complete = on_header_field_complete,
    .on_header_value = on_header_value,
    .on_headers_complete = on_answer_head,
    .on_body = on_body,
    .on_message_complete = on_message_complete,
};

/* ---- the parser ------------------------------------------------------------------------------ */

void http1_init(struct http1_parser *p)
{
    memset(p, 0, sizeof(*p));
    p->head.max = 2 * HTTP1_HEAD_MAX; /* what is kept of the head, with a NUL after each span */
    p->body.max = HTTP1_BODY_MAX;
    llhttp_init(&p->llhttp, HTTP_REQUEST, &settings);
}

void http1_init_answer(struct http1_parser *p, bool is_for_head)
{
    memset(p, 0, sizeof(*p));
    p->is_answer = p->is_streamed = true;
    p->is_for_head = is_for_head;
    p->head.max = 2 * HTTP1_HEAD_MAX;
    p->body.max = HTTP1_BODY_MAX;
    llhttp_init(&p->llhttp, HTTP_RESPONSE, &answer_settings);
}

void http1_free(struct http1_parser *p)
{
    buf_free(&p->head);
    buf_free(&p->body);
}

void http1_next(struct http1_parser *p)
{
    buf_clear(&p->head);
    if (p->body.cap > KEPT_BODY)
        buf_free(&p->body);
    else
        buf_clear(&p->body);
    /* Everything but the buffers, without touching the large array of headers. */
    p->state = HTTP1_IN_HEAD;
    p->body.max = HTTP1_BODY_MAX;
    p->target = (struct http1_span){0};
    p->n_headers = p->head_bytes = p->line_bytes = p->lines = 0;
    p->body_wire_bytes = 0;
    p->last_byte = '\0';
    p->is_streamed = p->is_answer;
    p->has_name = p->is_keep_alive = p->is_http_1_1 = p->has_body = p->expects_continue = false;
    p->refusal = 0;
    llhttp_reset(&p->llhttp);
}

static enum http1_result explain(struct http1_parser *p, llhttp_errno_t error)
{
    if (error == HPE_INVALID_METHOD)
        refuse(p, 400, ERR_INVALID, "the request's method is not known",
               "Speak plain HTTP/1.1 here: GET, POST or DELETE, not TLS.");
    else if (error == HPE_INVALID_VERSION || error == HPE_PAUSED_H2_UPGRADE)
        refuse(p, 505, ERR_INVALID, "only HTTP/1.1 and HTTP/1.0 are spoken here",
               "Switch the client to HTTP/1.1.");
    else
        refuse_malformed(p, llhttp_get_error_reason(&p->llhttp));
    return HTTP1_BAD;
}

static enum http1_result feed_head(struct http1_parser *p, const char *data, size_t len,
                                   size_t *ret_used)
{
    bool is_end;
    size_t n = scan_head(p, data, len, &is_end);
    if (p->state == HTTP1_REFUSED)
        return HTTP1_BAD;
    llhttp_errno_t error = llhttp_execute(&p->llhttp, data, n);
    if (p->state == HTTP1_REFUSED)
        return HTTP1_BAD;
    if (error != HPE_OK && p->state != HTTP1_COMPLETE)
        return explain(p, error);
    if (is_end && !p->is_answer && p->llhttp.method == HTTP_PRI)
        return explain(p, HPE_PAUSED_H2_UPGRADE);
    if (is_end != (p->state != HTTP1_IN_HEAD)) {
        refuse_malformed(p, "it is not clear where the head ends");
        return HTTP1_BAD;
    }
    if (p->head_bytes > HTTP1_HEAD_MAX) {
        refuse_large_head(p);
        return HTTP1_BAD;
    }
    *ret_used = n;
    return is_end ? HTTP1_HEAD : HTTP1_MORE;
}

static enum http1_result feed_body(struct http1_parser *p, const char *data, size_t len,
                                   size_t *ret_used)
{
    llhttp_errno_t error = llhttp_execute(&p->llhttp, data, len);
    if (p->state == HTTP1_REFUSED)
        return HTTP1_BAD;
    if (p->state == HTTP1_COMPLETE) {
        *ret_used = (size_t)(llhttp_get_error_pos(&p->llhttp) - data);
        return HTTP1_DONE;
    }
    if (error != HPE_OK)
        return explain(p, error);
    p->body_wire_bytes += len;
    if (!p->is_streamed && p->body_wire_bytes > 2 * p->body.max) { /* with the framing of chunks */
        refuse_large_body(p);
        return HTTP1_BAD;
    }
    *ret_used = len;
    return HTTP1_MORE;
}

int http1_limit_body(struct http1_parser *p, size_t max)
{
    p->body.max = max;
    bool is_fine = max == 0
                       ? !p->has_body
                       : !(p->llhttp.flags & F_CONTENT_LENGTH) || p->llhttp.content_length <= max;
    if (is_fine)
        return 0;
    refuse_large_body(p);
    return -1;
}

void http1_stream_body(struct http1_parser *p)
{
    p->is_streamed = true;
    p->body.max = HTTP1_PIECE_MAX;
}

enum http1_result http1_finish(struct http1_parser *p)
{
    if (p->state == HTTP1_IN_BODY)
        llhttp_finish(&p->llhttp);
    if (p->state == HTTP1_COMPLETE)
        return HTTP1_DONE;
    refuse_malformed(p, "it ended in the middle");
    return HTTP1_BAD;
}

int64_t http1_body_bytes(const struct http1_parser *p)
{
    if (!p->has_body)
        return 0;
    bool is_known = p->llhttp.flags & F_CONTENT_LENGTH;
    return is_known ? (int64_t)MIN(p->body_announced, (uint64_t)INT64_MAX) : -1;
}

enum http1_result http1_feed(struct http1_parser *p, const char *data, size_t len, size_t *ret_used)
{
    *ret_used = 0;
    switch (p->state) {
    case HTTP1_IN_HEAD:
        return len > 0 ? feed_head(p, data, len, ret_used) : HTTP1_MORE;
    case HTTP1_IN_BODY:
        return len > 0 ? feed_body(p, data, len, ret_used) : HTTP1_MORE;
    case HTTP1_COMPLETE:
        return HTTP1_DONE;
    case HTTP1_REFUSED:
        break;
    }
    return HTTP1_BAD;
}

bool http1_is_untouched(const struct http1_parser *p)
{
    return p->state == HTTP1_IN_HEAD && p->head_bytes == 0;
}

const char *http1_method(const struct http1_parser *p)
{
    return llhttp_method_name(p->llhttp.method);
}

const char *http1_target(const struct http1_parser *p)
{
    return buf_str(&p->head) + p->target.at;
}

int http1_status(const struct http1_parser *p)
{
    return p->llhttp.status_code;
}

bool http1_has_length(const struct http1_parser *p)
{
    return p->llhttp.flags & F_CONTENT_LENGTH;
}

bool http1_lists(const struct http1_parser *p, const char *name, const char *word)
{
    size_t word_len = strlen(word);
    for (size_t i = 0; i < p->n_headers; i++) {
        const char *at = p->head.data + p->headers[i].value.at;
        if (strcasecmp(p->head.data + p->headers[i].name.at, name) != 0)
            continue;
        while (*at != '\0') {
            at += strspn(at, " \t,");
            size_t len = strcspn(at, ", \t");
            if (len == word_len && strncasecmp(at, word, len) == 0)
                return true;
            at += len;
        }
    }
    return false;
}

const char *http1_header(const struct http1_parser *p, const char *name, size_t *ret_len)
{
    size_t name_len = strlen(name);
    for (size_t i = 0; i < p->n_headers; i++) {
        const struct http1_header *h = &p->headers[i];
        if (h->name.len != name_len || strcasecmp(p->head.data + h->name.at, name) != 0)
            continue;
        if (ret_len != NULL)
            *ret_len = h->value.len;
        return p->head.data + h->value.at;
    }
    return NULL;
}
