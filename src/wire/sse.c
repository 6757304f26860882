/* Server-sent events as bytes. Daemon. */
#include "wire/sse.h"

static size_t line_length(const char *s, size_t len)
{
    size_t n = 0;
    while (n < len && s[n] != '\n' && s[n] != '\r')
        n++;
    return n;
}

/* What separates the line before it from the next: nothing at the end, CRLF counts as one. */
static size_t line_end(const char *s, size_t len)
{
    if (len >= 2 && s[0] == '\r' && s[1] == '\n')
        return 2;
    return len > 0;
}

void sse_append(struct buf *out, const char *name, const char *data, size_t len)
{
    buf_printf(out, "event: %s\n", name);
    size_t separator;
    do {
        size_t n = line_length(data, len);
        buf_append(out, "data: ", 6);
        buf_append(out, data, n);
        buf_append_char(out, '\n');
        separator = line_end(data + n, len - n);
        data += n + separator;
        len -= n + separator;
    } while (separator > 0);
    buf_append_char(out, '\n');
}
