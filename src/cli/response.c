/* One HTTP response, read piece by piece within limits. Command line tool. */
#include "cli/response.h"

enum { FIELD_MAX = 32, VALUE_MAX = 128, FEED_STEP = 16 << 10 };

static struct cli_response *response_of(llhttp_t *parser)
{
    return parser->data;
}

static int response_break_off(struct cli_response *r, const char *problem)
{
    if (r->problem == NULL)
        r->problem = problem;
    return HPE_USER;
}

static int on_field(llhttp_t *parser, const char *at, size_t len)
{
    buf_append(&response_of(parser)->field, at, len);
    return 0;
}

static int on_value(llhttp_t *parser, const char *at, size_t len)
{
    buf_append(&response_of(parser)->value, at, len);
    return 0;
}

static int on_value_complete(llhttp_t *parser)
{
    struct cli_response *r = response_of(parser);
    if (strcasecmp(buf_str(&r->field), "content-type") == 0)
        r->is_stream = strncasecmp(buf_str(&r->value), "text/event-stream", 17) == 0;
    buf_clear(&r->field);
    buf_clear(&r->value);
    return 0;
}

static int on_head_complete(llhttp_t *parser)
{
    struct cli_response *r = response_of(parser);
    r->status = parser->status_code;
    if (r->status < 200 || r->status > 599)
        return response_break_off(r, "a status that no answer has");
    r->is_head_over = true;
    r->is_stream = r->is_stream && r->on_stream != NULL && r->status == 200;
    return 0;
}

static int response_on_body(llhttp_t *parser, const char *at, size_t len)
{
    struct cli_response *r = response_of(parser);
    if (r->is_stream)
        return r->on_stream(r->context, at, len) ? 0 : response_break_off(r, "the stream was left");
    if (r->on_bytes != NULL && r->status < 300)
        return r->on_bytes(r->context, at, len) ? 0 : response_break_off(r, "it was left");
    if (!buf_append(&r->body, at, len))
        return response_break_off(r, "a body larger than any answer");
    return 0;
}

static int on_complete(llhttp_t *parser)
{
    struct cli_response *r = response_of(parser);
    r->is_over = true;
    r->is_kept_alive = llhttp_should_keep_alive(parser);
    return HPE_PAUSED; /* what follows belongs to no request of ours */
}

void cli_response_init(struct cli_response *r, cli_on_stream on_stream, void *context)
{
    *r = (struct cli_response){
        .on_stream = on_stream,
        .context = context,
        .field = BUF_INIT(FIELD_MAX),
        .value = BUF_INIT(VALUE_MAX),
        .body = BUF_INIT(CLI_RESPONSE_BODY_MAX),
    };
    llhttp_settings_init(&r->settings);
    r->settings.on_header_field = on_field;
    r->settings.on_header_value = on_value;
    r->settings.on_header_value_complete = on_value_complete;
    r->settings.on_headers_complete = on_head_complete;
    r->settings.on_body = response_on_body;
    r->settings.on_message_complete = on_complete;
    llhttp_init(&r->parser, HTTP_RESPONSE, &r->settings);
    r->parser.data = r;
}

static enum cli_response_state feed_step(struct cli_response *r, const char *data, size_t len)
{
    bool was_in_head = !r->is_head_over;
    enum llhttp_errno code = llhttp_execute(&r->parser, data, len);
    if (r->is_over)
        return CLI_RESPONSE_DONE;
    if (code != HPE_OK) {
        response_break_off(r, "bytes that are not HTTP");
        return CLI_RESPONSE_BROKEN;
    }
    r->head_bytes += was_in_head ? len : 0;
    if (!r->is_head_over && r->head_bytes > CLI_RESPONSE_HEAD_MAX) {
        response_break_off(r, "headers larger than any answer's");
        return CLI_RESPONSE_BROKEN;
    }
    return CLI_RESPONSE_MORE;
}

enum cli_response_state cli_response_feed(struct cli_response *r, const char *data, size_t len)
{
    enum cli_response_state state = r->is_over ? CLI_RESPONSE_DONE : CLI_RESPONSE_MORE;
    while (state == CLI_RESPONSE_MORE && len > 0) {
        if (r->problem != NULL)
            return CLI_RESPONSE_BROKEN;
        size_t step = MIN(len, (size_t)FEED_STEP);
        state = feed_step(r, data, step);
        if (state == CLI_RESPONSE_DONE) {
            const char *end = llhttp_get_error_pos(&r->parser);
            if (end != NULL && end < data + len) /* surplus: the connection cannot be trusted */
                r->is_kept_alive = false;
        }
        data += step;
        len -= step;
    }
    return state;
}

enum cli_response_state cli_response_end(struct cli_response *r)
{
    if (r->is_over)
        return CLI_RESPONSE_DONE;
    if (r->problem == NULL && r->is_head_over && llhttp_message_needs_eof(&r->parser)) {
        llhttp_finish(&r->parser);
        if (r->is_over) {
            r->is_kept_alive = false;
            return CLI_RESPONSE_DONE;
        }
    }
    response_break_off(r, "the connection was closed in the middle of an answer");
    return CLI_RESPONSE_BROKEN;
}

void cli_response_free(struct cli_response *r)
{
    buf_free(&r->field);
    buf_free(&r->value);
    buf_free(&r->body);
}
