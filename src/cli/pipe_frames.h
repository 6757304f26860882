/* The frames of `cella pipe`: a JSON text between two marks that stand at the beginning of a line.
 * JSON has no line end inside of a string, so that no text in it can be taken for a mark. What
 * stands between frames is skipped. */
#pragma once

#include "base/buf.h"

#define PIPE_REQUEST_START ">>> REQUEST_START <<<"
#define PIPE_REQUEST_END ">>> REQUEST_END <<<"
#define PIPE_RESPONSE_START ">>> RESPONSE_START <<<"
#define PIPE_RESPONSE_END ">>> RESPONSE_END <<<"

enum { PIPE_MARK_MAX = sizeof(PIPE_REQUEST_START) };

struct pipe_reader {
    bool is_inside;    /* of a frame */
    bool is_too_large; /* it is, and what comes of it is dropped */
    bool is_mid_line;  /* what comes cannot begin a mark */
    char mark[PIPE_MARK_MAX];
    size_t mark_len; /* bytes of a line that may still become a mark */
    struct buf body; /* of the frame; its maximum is the largest that is taken */
};

#define PIPE_READER_INIT(max_bytes) ((struct pipe_reader){.body = BUF_INIT(max_bytes)})

enum pipe_event {
    PIPE_MORE,      /* all was used and nothing is complete */
    PIPE_REQUEST,   /* `body` is one, until the next call */
    PIPE_TOO_LARGE, /* a request that does not fit has ended */
    PIPE_CUT_OFF,   /* one began before the one before it had ended, or the input ended in it */
};

/* Takes bytes up to the first event; `ret_used` says how many. */
enum pipe_event pipe_feed(struct pipe_reader *r, const char *data, size_t len, size_t *ret_used);
enum pipe_event pipe_end(struct pipe_reader *r); /* of the input: PIPE_MORE or PIPE_CUT_OFF */
void pipe_reader_free(struct pipe_reader *r);
