/* Characters as Python counts them, of bytes that may be anything: what is not UTF-8 counts as one
 * U+FFFD for each maximal subpart. */
#pragma once

#include "base/buf.h"

/* The character at s, of which there is at least one byte. Returns the bytes that it takes. */
size_t chars_next(const char *s, size_t len, uint32_t *ret_char);

/* The bytes of the first `max` characters; all of them if there are fewer. */
size_t chars_prefix(const char *s, size_t len, size_t max, size_t *ret_chars);

bool chars_is_word(uint32_t c); /* \w, but for rare signs, which count as letters */

/* Whether it is valid UTF-8 of at most `max` characters, none of them a control character. */
bool chars_is_line(const char *s, size_t len, size_t max);

/* Appends up to `max` characters as valid UTF-8 that fits into one line: control characters become
 * spaces. Returns the bytes that were taken. */
size_t chars_append_line(struct buf *out, const char *s, size_t len, size_t max);

/* The same, with "..." if there was more. */
void chars_append_preview(struct buf *out, const char *s, size_t len, size_t max);

/* Appends up to `max` characters, runs of white space and control characters being one space each
 * and none at the beginning or the end. Returns whether there was more. */
bool chars_append_squeezed(struct buf *out, const char *s, size_t len, size_t max);
