/* Showing what a cell gave: its streams as they are (they are the user's program's), typed outputs
 * as text or as a note, errors made safe. */
#pragma once

#include "base/err.h"
#include "wire/json.h"

struct cli_args;

struct cli_show {
    const char *image_dir; /* images are written here; NULL if they are only noted */
    /* Shows a picture at the terminal, true if it did; NULL if pictures are not shown. */
    bool (*on_picture)(void *context, const char *format, const struct buf *bytes);
    void *picture_context;
    bool is_coloured;     /* errors, on stderr */
    bool is_temporary;    /* the session goes with the cell: its end and advice are no news */
    bool is_out_mid_line; /* stdout does not end in a line end */
    unsigned n_images;
    int problem; /* the first -errno of writing to stdout or stderr */
    /* A signal arrived while our output was not read. False gives up. */
    bool (*on_signal)(void *context, int signo);
    void *context;
};

/* As --save-images and the terminal have it; refused if images could not be written there. */
int cli_show_read(const struct cli_args *args, struct cli_show *ret_show, struct err *e);

void cli_show_stream(struct cli_show *s, bool is_stderr, const char *text, size_t len);
void cli_show_output(struct cli_show *s, const json_t *output); /* a typed output or null */
/* As the interpreters show it: Python ends a traceback with the error, Node.js begins with it. */
void cli_describe_error(struct buf *text, const json_t *answer);
void cli_show_error(struct cli_show *s, const json_t *answer); /* what its status calls for */

/* Appends what a typed output is in text, or in one line between brackets. */
void cli_describe_output(struct buf *out, const json_t *output);
void cli_describe_size(struct buf *out, uint64_t bytes); /* "23 KB" */
/* How long ago a time of the daemon's is: "12s", "3m"; "-" if the text is no time. */
void cli_describe_age(struct buf *out, const char *rfc3339);

/* One line of JSON on stdout. False if it could not be written. */
bool cli_print_json(const json_t *value);
