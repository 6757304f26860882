/* What the tool knows of each runtime: which files are its code, how it is typed and left. */
#pragma once

#include "base/base.h"

struct cli_language {
    const char *runtime;          /* as the daemon calls it */
    const char *name;             /* as people do */
    const char *const *suffixes;  /* of its files, NULL-terminated */
    const char *prompt;           /* of a first line */
    const char *more_prompt;      /* of others */
    const char *const *farewells; /* what people type to leave, NULL-terminated */
    const char *const *exits;     /* words that begin a line that leaves with a code */
    bool has_indented_blocks;
    const char *const *continuations; /* words that go on with an indented block; NULL-terminated */
};

extern const struct cli_language cli_languages[]; /* the first is the default */
extern const size_t cli_n_languages;

const struct cli_language *cli_language_find(const char *runtime); /* NULL if there is none */
const struct cli_language *cli_language_of_file(const char *path); /* by its suffix; or NULL */
