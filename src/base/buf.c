/* Buffers with a maximum. Every process. */
#include "base/buf.h"

#include <stdarg.h>

enum { FIRST_CAP = 256 };

void buf_free(struct buf *b)
{
    free(b->data);
    *b = BUF_INIT(b->max);
}

void buf_clear(struct buf *b)
{
    b->len = 0;
    b->overflowed = false;
    if (b->data != NULL)
        b->data[0] = '\0';
}

bool buf_reserve(struct buf *b, size_t extra)
{
    if (extra > b->max || b->len > b->max - extra) {
        b->overflowed = true;
        return false;
    }
    size_t need = b->len + extra + 1;
    if (need > b->cap) {
        size_t cap = b->cap ? b->cap : FIRST_CAP;
        while (cap < need)
            cap *= 2;
        b->data = mem_realloc(b->data, cap);
        b->cap = cap;
    }
    return true;
}

bool buf_append(struct buf *b, const void *data, size_t len)
{
    if (!buf_reserve(b, len))
        return false;
    if (len > 0)
        memcpy(b->data + b->len, data, len);
    b->len += len;
    b->data[b->len] = '\0';
    return true;
}

bool buf_append_str(struct buf *b, const char *s)
{
    return buf_append(b, s, strlen(s));
}

bool buf_append_char(struct buf *b, char c)
{
    return buf_append(b, &c, 1);
}

bool buf_printf(struct buf *b, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    va_list again;
    va_copy(again, args);
    int n = vsnprintf(NULL, 0, fmt, args);
    va_end(args);
    bool fits = n >= 0 && buf_reserve(b, (size_t)n);
    if (fits) {
        vsnprintf(b->data + b->len, (size_t)n + 1, fmt, again);
        b->len += (size_t)n;
    }
    va_end(again);
    return fits;
}

void buf_consume(struct buf *b, size_t len)
{
    if (len >= b->len) {
        buf_clear(b);
        return;
    }
    memmove(b->data, b->data + len, b->len - len);
    b->len -= len;
    b->data[b->len] = '\0';
}

const char *buf_str(const struct buf *b)
{
    return b->data ? b->data : "";
}
