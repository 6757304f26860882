/* What is in memory of live notebooks, for this room. */
#pragma once

#include "base/ids.h"
#include "base/list.h"
#include "base/map.h"
#include "book/book.h"
#include "session/recorder.h"

struct loop_timer;

/* Files that are to be written; mirror.c. */
struct mirrors {
    struct map by_id;
    struct list due;
    bool is_busy; /* one of them is at work */
};

struct books {
    struct engine *engine;
    struct store *store;
    uv_loop_t *loop;
    struct books_config config;
    struct map books;           /* by id: those with a session, and those that somebody watches */
    struct list calls;          /* of struct book_call: those under way */
    struct list asked_for;      /* of documents: those that wait for their turn */
    unsigned n_documents;       /* in memory, or being collected */
    struct loop_timer *keeping; /* puts what long cells have shown; NULL before the first */
    bool keeps_soon;            /* it is set to less than its usual time */
    struct loop_timer *tidy;    /* looks for notebooks whose time is over */
    struct mirrors mirrors;
    bool is_closing;
};

enum { PICTURES_MINUTES = 16 }; /* in which the store has removed what nobody refers to */

/* What the pictures of a notebook take. */
struct pictures {
    uint64_t bytes;   /* that its cells refer to, at most */
    bool is_counted;  /* the store was asked for those from before */
    uint64_t full_ms; /* monotonic: when they were last found to be too many; 0: never */
    uint64_t minute;  /* monotonic: of the newest entry below */
    uint64_t written[PICTURES_MINUTES]; /* bytes, minute by minute */
};

/* A notebook. Its cells are rows of the store; this is what the next one needs to know. */
struct book {
    struct books *books;
    char id[UUID_SIZE];
    bool has_session;
    bool has_row;
    uint64_t n_cells;    /* with those that are not put yet */
    int64_t last_place;  /* of the last of them */
    uint64_t last_ended; /* the exec id of the last cell that ended here; 0: not known */
    uint64_t n_appended; /* ever: what a change that was asked for before did not count */
    uint64_t last_record;
    struct list
        records; /* of struct cell_record: cells that wait or run, and whose images are kept */
    struct pictures pictures;
    struct list watchers;
    size_t n_watchers;
    uint64_t seq;
    unsigned n_holds; /* functions that are using it */
};

/* The row of a cell that waits or runs. */
struct cell_record {
    struct list node;
    struct book *book;
    struct exec *exec; /* NULL once it has ended */
    struct cell *cell; /* the run's own: the row is a view of it */
    uint64_t serial;   /* of the notebook's records */
    int64_t place;
    bool is_put;     /* its row was there, or has been put */
    bool is_lasting; /* it was put while it ran */
    bool is_dirty;   /* there is news of it since */
    bool is_known;   /* somebody may have seen that it waits */
    uint64_t n_images;
    unsigned n_storing; /* images that are on their way to the store */
    bool is_outrun;     /* its cell runs again, is text or gone: what it shows is not the cell's */
};

/* What somebody asked for and waits for. Embedded at the beginning of the real thing. */
struct book_call {
    struct list node;                       /* in the list of calls under way */
    struct books *books;                    /* NULL: gone, while a worker was busy with this */
    bool is_busy;                           /* a worker has it in hand: it ends itself */
    bool is_forgotten;                      /* nobody is to be told */
    struct store_call *asked;               /* NULL: none */
    struct loop_timer *later;               /* NULL: nothing is to be done later */
    void (*fn)(struct book_call *call);     /* what */
    void (*end)(struct book_call *call);    /* frees what it has beside itself; may be NULL */
    void (*forget)(struct book_call *call); /* it was forgotten just now; may be NULL */
};

/* ---- books.c -----------------------------------------------------------------------------------
 */

struct book *book_find(struct books *books, const char *id); /* NULL: nobody has to do with it */
struct book *book_ensure(struct books *books, const char *id);
void book_hold(struct book *book);
void book_let_go(struct book *book); /* it may be gone afterwards */
/* The store knows the notebook from now on, if it did not before. */
int book_put_row(struct book *book, const struct session *session, struct err *e);

void *book_call_new(struct books *books, size_t size, void (*end)(struct book_call *call));
void book_call_end(struct book_call *call);
/* From the loop. */
void book_call_later(struct book_call *call, void (*fn)(struct book_call *call), uint64_t in_ms);

/* ---- recording.c -------------------------------------------------------------------------------
 */

extern const struct recorder book_recorder;  /* its context is the struct books */
void record_put(struct cell_record *record); /* what there is of it so far */
void record_free(struct cell_record *record);
/* The cell as its row has it, without place and outputs. */
struct store_cell record_row(const struct cell_record *record, bool has_source);
struct cell_record *book_find_record(struct book *book, const char *cell); /* that has not ended */
void book_keep_soon(
    const struct cell_record *record); /* it is put before its end, if that is not near */

/* ---- changing.c --------------------------------------------------------------------------------
 */

/* The notebook of a session that has run nothing has a row from now on, if it can have one. */
void book_begin(struct books *books, const char *id);

/* ---- updating.c --------------------------------------------------------------------------------
 */

/* To watchers, if the output is this cell's. */
void book_tell_output(struct cell_record *record, const json_t *output, enum recorder_place place);
void book_on_shown(void *context, const char *notebook, const struct store_shown *shown);

/* ---- running.c ---------------------------------------------------------------------------------
 */

void book_on_left(void *context, const char *id); /* who waits for that goes on */

/* ---- picture.c ---------------------------------------------------------------------------------
 */

/* Sends a picture to the store and shows where it will be; see struct recorder's on_picture. */
uint64_t picture_keep(struct cell_record *record, json_t *output, enum recorder_place place);

/* ---- watching.c --------------------------------------------------------------------------------
 */

static inline bool book_is_watched(const struct book *book)
{
    return book->n_watchers > 0;
}

/* They hear nothing more. */
void book_drop_watchers(struct book *book);
/* `members` is the inside of an object; may be empty. */
void book_emit(struct book *book, const char *name, const struct buf *members);
void book_emit_cell(struct book *book, const char *name, const struct store_cell *cell);
void book_emit_record(struct cell_record *record, const char *name);
void book_emit_text(struct cell_record *record, enum output_stream stream, const char *bytes,
                    size_t len);
void book_emit_output(struct cell_record *record, const json_t *output, enum recorder_place place);
void book_emit_clear(struct cell_record *record, bool waits);
void book_emit_move(struct book *book, const struct recorder_move *move);

/* ---- mirror.c ----------------------------------------------------------------------------------
 */

/* cells.json is to be written soon; or removed, if the notebook is gone. */
void mirror_changed(struct books *books, const char *id);
/* Likewise all that are not as the store has them. */
void mirrors_compare(struct books *books);
void mirrors_init(struct mirrors *mirrors);
void mirrors_free(struct mirrors *mirrors);

/* ---- exporting.c -------------------------------------------------------------------------------
 */

/* As book_document; images are data up to that many bytes of them, the others have a
 * "resource_uri". */
struct book_call *book_read_document(struct books *books, const char *id, uint64_t max_image_bytes,
                                     book_document_fn fn, void *context);

/* ---- importing.c -------------------------------------------------------------------------------
 */

uint64_t book_time_of(const char *text); /* milliseconds; 0: none, or not written like one */
