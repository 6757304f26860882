/* A text by characters and lines, as Python counts them: what is not UTF-8 counts as one U+FFFD for
 * each maximal subpart, as bytes.decode("utf-8", "replace") has it. A line ends at "\n"; a "\r"
 * before it does not belong to the line. The bytes are the caller's and must not change. */
#pragma once

#include "base/buf.h"
#include "explore/crew.h"

enum { TEXT_BLOCK = 64 * 1024 }; /* bytes of which characters and lines are counted together */

struct explore_text {
    const char *data;
    size_t len;
    uint64_t chars, lines;
    bool is_bytewise; /* every byte is a character; ASCII, nearly always */
    bool is_text;     /* no NUL among the first TEXT_BLOCK bytes */
    size_t n_blocks;
    uint64_t *chars_before; /* each block: characters that begin before it; NULL if is_bytewise */
    uint64_t *lines_before; /* each block: line ends before it */
};

/* Counts all of it once, on the threads of `crew`. */
void explore_text_open(struct explore_text *t, const char *data, size_t len, struct crew *crew);
void explore_text_close(struct explore_text *t);

/* Where the character begins that has this many before it; `len` beyond the last. */
size_t explore_text_seek(const struct explore_text *t, uint64_t chars);
/* How many characters begin before this byte. */
uint64_t explore_text_chars(const struct explore_text *t, size_t at);
/* How many line ends there are before this byte. */
uint64_t explore_text_line_ends(const struct explore_text *t, size_t at);

/* Appends up to `n` characters from `at`, but before `end`, as valid UTF-8, as long as they take no
 * more than `*room` bytes as JSON; takes them off `*room`. Returns where it stopped. */
size_t explore_text_copy(const struct explore_text *t, size_t at, size_t end, uint64_t n,
                         size_t *room, struct buf *out);
/* The first place at or after `at` where a character begins. */
size_t explore_text_boundary(const struct explore_text *t, size_t at);
