/* What one cell has shown, in order: text of its streams, typed outputs, its value, its error. One
 * object with two readers:
 *
 *   the row of the notebook   everything since the cell began (transcript_put)
 *   the answer of a caller    what is new since the last answer (transcript_new_text, _list_news)
 *
 * What comes is added once: append (bytes of a stream), show and tell (a typed output, for the row
 * and for the answer), conclude (the value, an error), clear.
 *
 * The row: neighbouring text of one stream is one item. Of text the first three quarters and the
 * last quarter of `row_text` bytes stay, with the number of bytes left out between; typed outputs
 * stay as long as there is room, as the JSON that they will be: written once, when they come.
 *
 * The answer: typed outputs as values, cut to the caller's budget when they come; of each stream
 * the first bytes of what is new, while the session's ring has the last. Text is kept once, in
 * pieces (cell/output.h) that both readers and the ring share.
 *
 * Bounds, whatever a session sends: TRANSCRIPT_ITEMS_MAX items of the row and as many outputs of
 * an answer; row_text + one piece of text, row_bytes of typed JSON; the budget of text for each
 * stream, the budget and the pictures' allowance of values. */
#pragma once

#include "cell/output.h"
#include "wire/json.h"

enum {
    TRANSCRIPT_ITEMS_MAX = 1024, /* of a row; value and error come on top. And outputs of an answer
                                  */
    TRANSCRIPT_HASH_SIZE = 65,
    TRANSCRIPT_SESSION_SIZE = 65,
    TRANSCRIPT_WHERE_SIZE = 128,
    TRANSCRIPT_FOLD_MAX = 1024 * 1024,
};

/* The last member of a stored output, "updates": it takes the place of whatever other cells of the
 * notebook show under its "display_id". (The newest cells, if they are many.) */
enum transcript_updates {
    TRANSCRIPT_UPDATES_NONE = 0,
    TRANSCRIPT_UPDATES_OTHERS = 1, /* its own cell keeps it if no other shows the id */
    TRANSCRIPT_UPDATES_ALSO = 2,   /* its own cell shows the id itself, and keeps it */
    TRANSCRIPT_UPDATES_GONE = 3,   /* its own cell shows it no more */
};

/* The bytes of a picture, which lie in the store of blobs. */
struct transcript_blob {
    uint64_t bytes;
    bool is_awaited;                 /* on its way: the row does not have the item before */
    char hash[TRANSCRIPT_HASH_SIZE]; /* "" while it is awaited */
};

struct transcript_item {
    uint64_t serial; /* which one it is, from 1 on; an update gives it another */
    bool is_stream;
    bool is_value;
    bool is_aside; /* for the answer alone, as an echo is, and all text of a cell that is not
                      recorded: the row has no place for it */
    bool is_note;  /* stands for an output that was too large */
    bool is_late;  /* it was shown after the value, which comes before it */
    bool is_same;  /* `text` is what `news` is, too */
    enum output_stream stream;
    enum transcript_updates updates;
    uint64_t len;                 /* of a stream: bytes of text, as far as they are for the row */
    uint64_t offset;              /* of a stream: where they begin in it */
    struct buf text;              /* of a typed output: the JSON of the row */
    char *display_id;             /* NULL if it has none */
    struct transcript_blob *blob; /* NULL if it has none */
    json_t *news;                 /* for the next answer; NULL if that was told */
    uint64_t news_order;          /* of news among others */
};

/* One stream. */
struct transcript_stream {
    struct list pieces;    /* of struct output_piece: what is still of use, and the newest */
    uint64_t total;        /* bytes written so far */
    uint64_t told;         /* bytes that earlier answers were about */
    uint64_t until;        /* the end of what the answer that is being made tells */
    uint64_t untold_lines; /* line ends in what is not told yet: each answer begins anew */
};

/* Who hears of all that the transcript is given, whatever of it the row and the answer keep. */
struct transcript_sink {
    void (*on_text)(void *context, enum output_stream stream, const char *bytes, size_t len);
    /* A typed output that was shown, not one that takes another's place; or the value. */
    void (*on_output)(void *context, const json_t *output);
    void (*on_clear)(void *context); /* what came before is shown no more */
};

struct transcript {
    const struct transcript_sink *sink; /* NULL if there is none */
    void *sink_context;
    uint64_t exec_id;
    const char *cell_id; /* of the cell, borrowed: where the row is found; "": there is none */
    struct output_ring *rings; /* the session's, borrowed: one for each stream */
    struct transcript_item *items;
    size_t n_items, cap;
    struct transcript_stream streams[OUTPUT_STREAMS];
    uint64_t last_serial;
    uint64_t value; /* the serial of the item that is the value; 0 if there is none */
    bool clears;    /* what is there goes once something follows */

    /* The row. */
    size_t row_text;   /* bytes of stream text; 0 if there is no row */
    size_t row_bytes;  /* bytes of all, as JSON */
    size_t n_row;      /* items of the row */
    uint64_t text_len; /* bytes of text that came for it */
    size_t typed_len;  /* bytes of typed outputs that it has */

    /* The answer. The caller sets the first four. */
    bool has_tools; /* its reader is a model with tools: it sees pictures and has no URLs */
    char session[TRANSCRIPT_SESSION_SIZE]; /* as it has to be named to them; "": it need not be */
    size_t budget;                         /* bytes of text and values */
    size_t pictures_left;                  /* bytes of pictures that the budget does not count */
    size_t n_news;
    size_t news_size; /* bytes of news within the budget */
    uint64_t news_omitted;
};

/* Answers alone are wanted of it, until it is recorded. */
void transcript_init(struct transcript *t, uint64_t exec_id, const char *cell_id,
                     struct output_ring *rings);
/* From now on this sink is told what comes, NULL if none is. Both are borrowed until the next. */
void transcript_tap(struct transcript *t, const struct transcript_sink *sink, void *context);
/* There will be a row. Before anything was shown. */
void transcript_record(struct transcript *t, size_t row_text, size_t row_bytes);
/* The row is written for the last time: what was kept for it goes. */
void transcript_close(struct transcript *t);
/* The session and its rings go: nothing will be appended or answered any more. */
void transcript_detach(struct transcript *t);
void transcript_free(struct transcript *t);

/* ---- what comes ------------------------------------------------------------------------------ */

/* With `is_aside` the row does not have it. */
void transcript_append(struct transcript *t, enum output_stream stream, const char *bytes,
                       size_t len, bool is_aside);
/* A typed output, an object: the row has it from now on. With `is_update` it takes the place of
 * those with its display_id, if there are any; else it is meant for other cells, as the store
 * decides. Returns its serial; 0 if neither the row nor an answer has a place for it. */
uint64_t transcript_show(struct transcript *t, const json_t *output, bool is_update);
/* The output as the next answer has it: as it was shown, or changed. The reference is taken, and
 * what does not fit is cut. `is_same` if it is as it was shown. */
void transcript_tell(struct transcript *t, uint64_t serial, json_t *output, bool is_same);
/* The value, or an error, for the row, also if there is no room for others: at the end, but for
 * what is `late`. */
uint64_t transcript_conclude(struct transcript *t, const json_t *output, bool is_value);
/* Now, or once something follows. What updates outputs of other cells stays in the row, for them.
 */
void transcript_clear(struct transcript *t, bool waits);
void transcript_clear_if_due(struct transcript *t); /* something follows */
/* Of the row alone: the next answer is as it would have been. */
void transcript_clear_row(struct transcript *t);

/* ---- the row --------------------------------------------------------------------------------- */

/* A JSON array; nothing at all if there is nothing. */
void transcript_put(const struct transcript *t, struct buf *out);
/* The cell itself shows something under the output's display_id. */
bool transcript_shows(const struct transcript *t, const json_t *output);
/* The output has a blob that is on its way, and is not written down before that is there: a
 * reference never leads nowhere, also if the daemon ends just then. A note has none. */
void transcript_await_blob(struct transcript *t, uint64_t serial, uint64_t bytes);
/* Of all blobs that it has or waits for. */
uint64_t transcript_blob_bytes(const struct transcript *t);
/* The blob of an image is there. Nothing happens if the output is gone by now. */
void transcript_name_blob(struct transcript *t, uint64_t serial, const char *hash);
/* The blob could not be kept: a note takes the output's place. */
void transcript_lose_blob(struct transcript *t, uint64_t serial, const char *why);

/* ---- the answer ------------------------------------------------------------------------------ */

/* An answer is made of what there is now. If it is not the last one, the beginning of a character
 * at the end of a stream is left for the next. */
void transcript_begin_answer(struct transcript *t, bool is_last);
/* Bytes of the stream that the answer is about. */
static inline uint64_t transcript_new_text(const struct transcript *t, enum output_stream stream)
{
    return t->streams[stream].until - t->streams[stream].told;
}

/* Appends what is new in the stream as valid UTF-8 within `share` bytes of raw text; returns the
 * number of bytes left out. */
uint64_t transcript_put_text(const struct transcript *t, enum output_stream stream, size_t share,
                             struct buf *out);
/* Appends all that is new in the stream, folded (cell/prose.h). False, and nothing is appended, if
 * that is more than TRANSCRIPT_FOLD_MAX bytes, or not there any more. */
bool transcript_fold_text(const struct transcript *t, enum output_stream stream, struct buf *out);
/* Likewise for what cannot be folded as a whole: its beginning and its end, cut at lines. */
uint64_t transcript_put_ends(const struct transcript *t, enum output_stream stream, size_t share,
                             const char *where, struct buf *out);
/* Where a model with tools reads on. */
void transcript_say_where(const struct transcript *t, char where[TRANSCRIPT_WHERE_SIZE]);
/* Appends everything that is new in the order in which it came, folded: text of both streams, and
 * of outputs and the value what display_put_words says. False as above, or if nobody knows the
 * order because there is no row. */
bool transcript_put_script(const struct transcript *t, const json_t *value, struct buf *out);

/* An output that is new. The JSON is the transcript's own, until something is done with it. */
struct transcript_news {
    uint64_t order;
    json_t *output;
    const char *json; /* NULL if the row does not have it in this form */
    size_t len;
};

/* The output as the row has it, if that is what `value` says; else without JSON. */
struct transcript_news transcript_value(const struct transcript *t, json_t *value, bool is_same);
/* See display_fit(): all of it is in the row. */
json_t *transcript_fit(const struct transcript *t, json_t *output, size_t room, uint64_t *omitted);
/* True if the output is a picture that the allowance has room for: it takes that. */
bool transcript_takes_picture(struct transcript *t, const json_t *output);
/* The new outputs in the order in which they came, in an array of the caller's (NULL if there are
 * none), with references. */
size_t transcript_list_news(const struct transcript *t, struct transcript_news **ret_news);
void transcript_free_news(struct transcript_news *news, size_t n);
/* The answer was made: the next one begins here. */
void transcript_end_answer(struct transcript *t);
/* There will be no answer. */
void transcript_drop_answer(struct transcript *t);
/* Bytes of memory that are kept for the answer, about. */
size_t transcript_answer_bytes(const struct transcript *t);
