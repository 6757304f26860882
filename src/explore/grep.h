/* The search: which lines of a text match, as Python's re.search would find them line by line,
 * with re.IGNORECASE unless the pattern is cased. No match spans lines. No globals, no I/O.
 *
 * Where it differs from Python: the syntax is PCRE2's where it is larger (\h, possessive
 * quantifiers, recursion); letters of ASCII match letters of ASCII alone; what is not UTF-8 is
 * matched by nothing but by literals and dots of lines without any other character. */
#pragma once

#include "base/err.h"
#include "explore/crew.h"

struct grep;

/* NULL and what is wrong with the pattern, with its position. */
struct grep *grep_new(const char *pattern, size_t len, bool is_literal, bool is_cased,
                      struct err *e);
void grep_free(struct grep *g); /* takes NULL */

/* A line, from `start` to `end` without its line end, and the match in it, as places in the text.
 */
struct grep_hit {
    size_t start, end;
    size_t from, to;
};

struct grep_hits {
    struct grep_hit *hits; /* in order */
    size_t n;
    bool is_cut; /* there are more than were asked for */
};

/* The first `max` lines that match. -1 if the pattern takes too long or too much memory for a line.
 * `n_threads` of the crew, 0: all. */
int grep_run(const struct grep *g, const char *data, size_t len, size_t max, struct crew *crew,
             unsigned n_threads, struct grep_hits *ret, struct err *e);
void grep_hits_free(struct grep_hits *hits);
