/* What the tool knows of each runtime: which files are its code, how it is typed and left. */
#pragma once

#include "cli/block.h"

struct cli_language {
    const char *runtime;          /* as the daemon calls it */
    const char *name;             /* as people do */
    const char *const *suffixes;  /* of its files, NULL-terminated */
    const char *prompt;           /* of a first line */
    const char *more_prompt;      /* of others */
    const char *const *farewells; /* what people type to leave, NULL-terminated */
    const char *const *exits;     /* words that begin a line that leaves with a code */
    bool has_indented_blocks;
    enum cli_block (*look)(const char *text, size_t len);
    /* For input through a pipe; NULL: what is whole ends at once. See block.h. */
    bool (*ends_before)(const char *text, size_t len, const char *line, size_t line_len);
};

extern const struct cli_language cli_languages[]; /* the first is the default */
extern const size_t cli_n_languages;

const struct cli_language *cli_language_find(const char *runtime); /* NULL if there is none */
const struct cli_language *cli_language_of_file(const char *path); /* by its suffix; or NULL */
