/* Server-sent events, cut out of bytes as they arrive. Command line tool. */
#include "cli/sse.h"

void cli_sse_init(struct cli_sse *s, cli_on_event on_event, void *context)
{
    *s = (struct cli_sse){
        .on_event = on_event,
        .context = context,
        .line = BUF_INIT(CLI_SSE_LINE_MAX),
        .name = BUF_INIT(CLI_SSE_NAME_MAX),
        .data = BUF_INIT(CLI_SSE_LINE_MAX),
    };
}

static bool sse_take_line(struct cli_sse *s)
{
    if (s->line.len == 0) {
        bool goes_on = true;
        if (s->has_data)
            goes_on = s->on_event(s->context, s->name.len > 0 ? buf_str(&s->name) : "message",
                                  buf_str(&s->data), s->data.len);
        buf_clear(&s->name);
        buf_clear(&s->data);
        s->has_data = false;
        return goes_on;
    }
    const char *line = s->line.data;
    const char *colon = memchr(line, ':', s->line.len);
    size_t name_len = colon != NULL ? (size_t)(colon - line) : s->line.len;
    size_t skip = colon != NULL ? name_len + 1 : name_len;
    if (skip < s->line.len && line[skip] == ' ')
        skip++;
    bool is_ok = true;
    if (name_len == 4 && memcmp(line, "data", 4) == 0) {
        is_ok = (!s->has_data || buf_append_char(&s->data, '\n')) &&
                buf_append(&s->data, line + skip, s->line.len - skip);
        s->has_data = true;
    } else if (name_len == 5 && memcmp(line, "event", 5) == 0) {
        buf_clear(&s->name);
        is_ok = buf_append(&s->name, line + skip, s->line.len - skip);
    }
    buf_clear(&s->line);
    return is_ok;
}

bool cli_sse_feed(struct cli_sse *s, const char *data, size_t len)
{
    while (len > 0) {
        if (s->was_cr && *data == '\n') {
            s->was_cr = false;
            data++;
            len--;
            continue;
        }
        s->was_cr = false;
        size_t n = 0; /* of the line, or what is here of it */
        while (n < len && data[n] != '\n' && data[n] != '\r')
            n++;
        if (!buf_append(&s->line, data, n))
            return false;
        if (n < len) {
            s->was_cr = data[n] == '\r';
            if (!sse_take_line(s))
                return false;
            n++;
        }
        data += n;
        len -= n;
    }
    return true;
}

void cli_sse_free(struct cli_sse *s)
{
    buf_free(&s->line);
    buf_free(&s->name);
    buf_free(&s->data);
}
