/* What the files of the splitter share. */
#pragma once

#include "search/split.h"

enum split_how { SPLIT_INDENTED, SPLIT_BRACES, SPLIT_HEADINGS, SPLIT_WINDOWS };

struct split_language {
    const char *suffixes; /* with a space before and after each; or whole names of files */
    enum split_kind kind;
    enum split_how how;
    const char *comments[2]; /* to the end of the line; or NULL */
    const char *block[2];    /* a comment that is closed; or NULL */
    const char *quotes;      /* of strings that end with their line */
    const char *long_quotes; /* of strings that do not; tripled where has_triples */
    bool has_triples;
    bool has_directives; /* lines that begin with # are not code */
    bool has_ends;       /* blocks by indentation have a last line "end" */
};

/* A place for a unit, before it is told. */
struct split_span {
    const char *type;
    size_t name, name_len; /* bytes of the file */
    size_t head, head_end; /* the signature, likewise */
    size_t first, last;    /* lines, from 0 */
    size_t parent;         /* its index; SIZE_MAX: none */
    bool is_function, is_container;
};

struct split_line {
    size_t from, to; /* bytes, without the line end */
};

struct split {
    const char *path;
    const struct split_language *language;
    const char *data;
    size_t len;
    char *code; /* as `data`, with spaces for comments and the insides of strings */
    struct split_line *lines;
    size_t n_lines;
    struct split_span *spans;
    size_t n_spans, cap_spans;
};

/* NULL if there are SPLIT_UNITS_MAX already. Valid until the next one is added. */
struct split_span *split_add(struct split *s);
size_t split_line_of(const struct split *s, size_t at);
/* The first of the lines of comments right above this one, or it. */
size_t split_comment_above(const struct split *s, size_t line);
/* Whether the line has nothing but space, in the file or in its code. */
bool split_is_blank(const char *text, const struct split_line *line);
bool split_is_name(char c); /* may be in an identifier */
/* Whether the word at `at` is this one. */
bool split_has_word(const char *code, size_t at, size_t len, const char *word);

void split_by_indentation(struct split *s); /* split_indent.c */
void split_by_braces(struct split *s);      /* split_braces.c */
void split_by_headings(struct split *s);    /* split_headings.c */
