/* A growing run of bytes with a mandatory maximum. What does not fit is refused and remembered
 * (`overflowed`), so that a caller may append many times and check once. */
#pragma once

#include "base/base.h"

struct buf {
    char *data; /* always NUL-terminated once something was appended; the NUL is not counted */
    size_t len;
    size_t cap;
    size_t max; /* bytes */
    bool overflowed;
};

#define BUF_INIT(max_bytes) ((struct buf){.max = (max_bytes)})

void buf_free(struct buf *b); /* the buffer is empty and reusable afterwards */
void buf_clear(struct buf *b);
bool buf_reserve(struct buf *b, size_t extra); /* room for `extra` more bytes at data + len */
bool buf_append(struct buf *b, const void *data, size_t len);
bool buf_append_str(struct buf *b, const char *s);
bool buf_append_char(struct buf *b, char c);
bool buf_printf(struct buf *b, const char *fmt, ...) PRINTF_LIKE(2, 3);
void buf_consume(struct buf *b, size_t len); /* drops bytes from the front */
const char *buf_str(const struct buf *b);    /* never NULL */

#define _buf_ __attribute__((unused, cleanup(buf_free)))
