/* What formats do alike with the outputs of a cell: reading a list of them, and writing each in the
 * form that it has. */
#pragma once

#include "notebook/output.h"

/* Reads one output into a typed one; `execution_count` is that of the cell. */
typedef int (*outputs_read_fn)(const json_t *output, int64_t execution_count, json_t **ret,
                               struct err *e);
/* The list "outputs" of a cell; the error names the output. */
int outputs_read(const json_t *from, outputs_read_fn read, struct notebook_cell *cell,
                 struct err *e);

/* How a format writes the forms of outputs. All of them are given. */
struct outputs_writer {
    /* Text, streams, and whatever has nothing better. */
    void (*put_plain)(struct buf *out, const json_t *typed);
    void (*put_error)(struct buf *out, const json_t *typed);
    void (*put_html)(struct buf *out, const json_t *typed, const char *html, size_t len);
    void (*put_markdown)(struct buf *out, const char *text, size_t len);
    void (*put_latex)(struct buf *out, const char *text, size_t len);
    void (*put_json)(struct buf *out, const char *text, size_t len); /* indented */
    /* SVG too. False, and nothing written, if the data are no base64. */
    bool (*put_picture)(struct buf *out, const json_t *typed, const char *mime, const char *base64,
                        size_t len);
    void (*put_described)(struct buf *out, const json_t *typed); /* what cannot be shown */
};

void outputs_write(struct buf *out, const json_t *typed, const struct outputs_writer *w);
