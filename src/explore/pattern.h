/* What can be known of a regular expression before it is compiled: literals that every line that
 * matches has, and a form that may be run over many lines at once. The syntax is Python's; the
 * form is for PCRE2. */
#pragma once

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"

enum { PATTERN_NEEDLES_MAX = 8 };

struct pattern_needle {
    const char *text; /* in lower case unless it is cased; in the pattern's arena */
    size_t len;
};

struct pattern {
    struct arena arena;
    struct buf text;   /* for PCRE2 */
    bool is_quoted;    /* `text` stands for itself */
    bool is_cased;     /* upper and lower case are not the same */
    bool is_blockwise; /* no match has a line end in it or looks beyond one, and ^ and $ mean lines,
                        * so that it may be run over many lines; else over one line at a time */
    bool has_non_ascii; /* it can be compiled as UTF-8 only */
    bool is_exact;      /* a line that has one of the needles matches */
    size_t n_needles;   /* a line that matches has one of these; 0: nothing is known */
    struct pattern_needle needles[PATTERN_NEEDLES_MAX];
};

/* 0, or -1 and what is wrong: too long, or with something that only PCRE2 has and that is not
 * allowed here. */
int pattern_read(struct pattern *p, const char *text, size_t len, bool is_literal, bool is_cased,
                 struct err *e);
void pattern_free(struct pattern *p);
