/* Parameters of a notebook: values given on the command line, as a cell of its language. */
#pragma once

#include "cli/args.h"
#include "notebook/model.h"

enum { CLI_PARAMETERS_MAX = 1000 };

struct cli_parameter {
    const char *name;   /* points into argv */
    const char *number; /* as it was written; NULL if the value is no number */
    json_t *value;      /* NULL for a number */
};

struct cli_parameters {
    struct cli_parameter all[CLI_PARAMETERS_MAX];
    size_t n;
};

/* From the flags "parameter" and "raw", each with a name and a value. A name that is given again
 * has the last value. */
int cli_parameters_read(const struct cli_args *args, struct cli_parameters *ret, struct err *e);
void cli_parameters_free(struct cli_parameters *p);

/* The cell's source in the language of the document. */
int cli_parameters_write(const struct cli_parameters *p, const struct document *doc,
                         struct buf *out, struct err *e);
/* In the place of the cell that is tagged "injected-parameters", or behind that tagged
 * "parameters", or at the beginning. Nothing if there are none. */
int cli_parameters_inject(const struct cli_parameters *p, struct document *doc, struct err *e);
