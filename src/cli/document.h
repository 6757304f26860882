/* Notebooks as files: which format a name means, and reading and writing them. */
#pragma once

#include "notebook/formats.h"

/* By its name, as "html"; `is_read`: only formats that can be read. */
int cli_format_find(const char *name, bool is_read, enum notebook_format *ret, struct err *e);
const char *cli_format_name(enum notebook_format format);

/* By the suffix of a file's name; false if it says nothing. `ret_runtime` is that of a script, else
 * NULL. */
bool cli_format_of_file(const char *path, enum notebook_format *ret, const char **ret_runtime);

struct cli_document_source {
    const char *path; /* "-": standard input */
    bool has_format;  /* else by the suffix of a script, or by what the file holds */
    enum notebook_format format;
    const char *runtime; /* of a script whose name does not say it; NULL for python */
};
int cli_document_read_bytes(const char *path, struct buf *text, struct err *e);
int cli_document_read(const struct cli_document_source *source, struct document **ret,
                      struct err *e);

/* All of it or nothing: an existing file is replaced in one step, a link stays a link. "-" is
 * standard output. 0 or -errno. */
int cli_document_write(const char *path, const struct buf *text);
