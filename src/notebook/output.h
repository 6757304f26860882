/* Outputs of a cell: typed, as model.h describes them, and as nbformat has them; and what formats
 * do alike with them. */
#pragma once

#include "notebook/model.h"

/* What nbformat has, typed. `execution_count` is that of the cell. */
int output_from_nbformat(const json_t *output, int64_t execution_count, json_t **ret,
                         struct err *e);
/* Always valid by nbformat's schema. The caller owns the result. */
json_t *output_to_nbformat(const json_t *typed, int64_t execution_count);

enum output_type {
    OUTPUT_TEXT,
    OUTPUT_ERROR,
    OUTPUT_HTML,
    OUTPUT_MARKDOWN,
    OUTPUT_LATEX,
    OUTPUT_JSON,
    OUTPUT_DATAFRAME,
    OUTPUT_IMAGE,
    OUTPUT_SVG,
};
enum output_type output_type(const json_t *typed); /* what is not known is a text */

/* A member that is a string; NULL, and a length of 0, if there is none. */
const char *output_text(const json_t *typed, const char *member, size_t *ret_len);
/* "image/png" of an image, or NULL if its format is no word. */
const char *output_image_mime(const json_t *typed, char out[48]);
/* Where "width" and "height" say how large an image is to be shown: its metadata if they know one
 * of them, since the other follows from it; else itself. */
const json_t *output_shown_size(const json_t *typed);

/* What stands for an output where only text can: its text, or a note between brackets. */
void output_describe(struct buf *out, const json_t *typed);
/* "Name: message", and the traceback unless it says that itself. */
void output_describe_error(struct buf *out, const json_t *typed);

bool output_is_json_mime(const char *mime); /* holds any JSON, not only text */

/* ---- what formats do alike ------------------------------------------------------------------- */

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
