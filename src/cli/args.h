/* Arguments of a verb, parsed by its table of flags. */
#pragma once

#include "cli/verb.h"

struct cli_given {
    const struct cli_flag *flag;
    const char *value; /* "" for a switch; points into argv */
};

struct cli_args {
    const struct cli_verb *verb;
    struct cli_given *given;
    size_t n_given;
    const char **words; /* what is not a flag, in order; points into argv */
    size_t n_words;
    /* Runs another command line, for verbs that offer others; set by the caller of the verb. */
    int (*run_line)(int argc, char **argv);
};

/* `argv` starts behind the verb. Flags may stand before and after words; "--" ends them. */
int cli_args_parse(const struct cli_verb *verb, size_t argc, char **argv, struct cli_args *ret,
                   struct err *e);
void cli_args_free(struct cli_args *args);

bool cli_has(const struct cli_args *args, const char *name);
const char *cli_value(const struct cli_args *args, const char *name); /* NULL if not given */
/* The values of a flag that may be given again and again, one by one: *at counts them from 0; NULL
 * behind the last. Of a flag with two values both come, one after the other. */
const char *cli_value_next(const struct cli_args *args, const char *name, size_t *at);

bool cli_parse_number(const char *text, int64_t min, int64_t *ret); /* all of it is one */
/* The value of a flag that is a number; left alone if it was not given. */
int cli_number_flag(const struct cli_args *args, const char *name, int64_t min, int64_t *ret,
                    struct err *e);
int cli_parse_duration(const char *text, int64_t *ret_ms, struct err *e); /* 30, 30s, 500ms, 2m */
int cli_parse_size(const char *text, int64_t *ret_bytes, struct err *e);  /* 65536, 64k, 1m */

/* The candidate that was probably meant, or NULL if none is near. */
const char *cli_nearest(const char *word, const char *const *candidates, size_t n);
