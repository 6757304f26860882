/* What one cell has shown, in order: text of its streams, typed outputs, its value, an error.
 * Neighbouring text of one stream is one output. Bounded: of text the first three quarters and the
 * last quarter of a maximum stay, with the number of bytes left out between; typed outputs stay as
 * long as there is room.
 *
 * Typed outputs are held as the JSON that they will be: written once, when they come. */
#pragma once

#include "base/buf.h"
#include "wire/json.h"

enum {
    TRANSCRIPT_OUTPUTS_MAX = 1024, /* value and error come on top */
    TRANSCRIPT_HASH_SIZE = 65,
};

struct transcript_item {
    bool is_stream;
    unsigned stream; /* 0 stdout, 1 stderr */
    struct buf text; /* typed: JSON without the closing brace. Stream: the first bytes */
    struct buf tail; /* stream: the last bytes, behind `tail_skip` of no use */
    size_t tail_skip;
    uint64_t omitted;                /* bytes between the two */
    char *display_id;                /* NULL: none */
    uint64_t serial;                 /* typed: which one it is; from 1 on */
    char hash[TRANSCRIPT_HASH_SIZE]; /* of its blob; "": none, or not known yet */
    bool awaits_blob;                /* it is not known yet */
    uint64_t blob_bytes;             /* of its blob, named or on its way; 0: none */
    bool is_late;                    /* it was shown after the value, which comes before it */
    unsigned updates;                /* enum store_updates; 0: it was shown and not updated */
};

struct transcript {
    struct transcript_item *items;
    size_t n_items, cap;
    size_t text_max;  /* bytes of stream text */
    size_t max;       /* bytes of all, as JSON */
    size_t head_left; /* bytes of text that still become first bytes */
    size_t tail_len;  /* bytes in all tails */
    size_t typed_len; /* bytes of typed outputs */
    uint64_t n_left_out;
    uint64_t last_serial;
    bool clears; /* what is there goes once something follows */
};

void transcript_init(struct transcript *t, size_t text_max, size_t max);
void transcript_free(struct transcript *t);

void transcript_write(struct transcript *t, unsigned stream, const char *bytes, size_t len);
/* One typed output: an object. With `is_update` it takes the place of those with its display_id, if
 * there are any; else it is meant for other cells, as the store decides. Returns its serial; 0 if
 * there was no room. */
uint64_t transcript_show(struct transcript *t, const json_t *output, bool is_update);
/* The cell itself shows something under the output's display_id. */
bool transcript_shows(const struct transcript *t, const json_t *output);
/* The value, or an error, also if there is no room for others: at the end, but for what is `late`.
 */
uint64_t transcript_conclude(struct transcript *t, const json_t *output, bool is_value);
/* Now, or once something follows. What updates outputs of other cells stays, for them. */
void transcript_clear(struct transcript *t, bool waits);
/* It has a blob that is on its way, and is not written down before that is there: a reference never
 * leads nowhere, also if the daemon ends just then. */
void transcript_await_blob(struct transcript *t, uint64_t serial, uint64_t bytes);
/* Of all blobs that it has or waits for. */
uint64_t transcript_blob_bytes(const struct transcript *t);
/* The blob of an image. Nothing happens if that is gone by now. */
void transcript_name_blob(struct transcript *t, uint64_t serial, const char *hash);
/* Its blob could not be kept: a note takes its place. */
void transcript_lose_blob(struct transcript *t, uint64_t serial, const char *why);

/* A JSON array; nothing at all if there is nothing. */
void transcript_put(const struct transcript *t, struct buf *out);
