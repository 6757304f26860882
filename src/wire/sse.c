/* Server-sent events as bytes. Daemon. */
#include "wire/sse.h"

void sse_append(struct buf *out, const char *name, const char *data, size_t len)
{
    buf_printf(out, "event: %s\n", name);
    size_t separator;
    do {
        size_t n = 0;
        while (n < len && data[n] != '\n' && data[n] != '\r')
            n++;
        buf_append(out, "data: ", 6);
        buf_append(out, data, n);
        buf_append_char(out, '\n');
        /* Nothing follows the last line, and CRLF is one separator. */
        bool is_crlf = len - n >= 2 && data[n] == '\r' && data[n + 1] == '\n';
        separator = is_crlf ? 2 : n < len;
        data += n + separator;
        len -= n + separator;
    } while (separator > 0);
    buf_append_char(out, '\n');
}
