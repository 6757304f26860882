/* Bytes are not text until they were checked here. */
#pragma once

#include "base/buf.h"

/* Length of the longest prefix that is whole, valid UTF-8 (no surrogates, no overlong forms). */
size_t utf8_valid_prefix(const char *s, size_t len);
bool utf8_is_valid(const char *s, size_t len);

/* True if the invalid bytes at the end may still become a character with more input. */
bool utf8_is_partial(const char *s, size_t len);

/* How many characters, by their first bytes; the bytes need not be valid. */
size_t utf8_count(const char *s, size_t len);

/* Appends the bytes as valid UTF-8: what is not becomes U+FFFD, one for each byte. */
bool utf8_append_lossy(struct buf *out, const char *s, size_t len);
