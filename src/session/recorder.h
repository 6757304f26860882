/* Who writes down what sessions do: the room above this one. It hears of every cell of a listed
 * session, from the moment it is accepted to its end, and of the sessions themselves.
 *
 *   on_queued -> on_begun -> (on_lasting, on_output, on_picture, on_shown, on_clear)... -> on_ended
 *   on_queued -> on_dropped, if it never began
 *
 * What the cell showed is in its transcript by then: a recorder accumulates nothing. One that has
 * nothing to do with a cell leaves its `record` NULL and hears no more of it. */
#pragma once

#include "session/answer.h"

enum recorder_news {
    RECORDER_BORN, /* it exists, maybe only in the store */
    RECORDER_GONE, /* it ended */
};

enum recorder_place {
    RECORDER_SHOWN,
    RECORDER_UPDATED, /* in the place of those with its display_id, if there are any */
    RECORDER_VALUE,   /* of the last expression */
};

/* Where a session went in its history. */
struct recorder_move {
    uint64_t after;         /* what cells with larger numbers did is not in it any more */
    const uint64_t *redone; /* but that of these is */
    size_t n_redone;
};

struct recorder {
    void (*on_session)(void *context, struct session *session, enum recorder_news news);
    void (*on_moved)(void *context, struct session *session, const struct recorder_move *move);
    /* Nothing is left of the one with this id that ended, or of a run that had no session. */
    void (*on_left)(void *context, const char *id);
    void (*on_queued)(void *context, struct exec *exec);
    void (*on_begun)(void *context, struct exec *exec);
    /* It is no short cell, or somebody is told of it before its end. */
    void (*on_lasting)(void *context, struct exec *exec);
    /* Whole characters, as far as the bytes are text. */
    void (*on_output)(void *context, struct exec *exec, enum output_stream stream,
                      const char *bytes, size_t len);
    /* A picture, which the recorder may show with a reference in place of its bytes: then the
     * serial in the transcript, and the cell goes on when exec_displayed was called, which must not
     * be from within. A cell that ends before is told by on_ended, and not to be called any more.
     * 0 if the picture is shown as it is. */
    uint64_t (*on_picture)(void *context, struct exec *exec, json_t *output,
                           enum recorder_place place);
    /* The transcript has the output. */
    void (*on_shown)(void *context, struct exec *exec, json_t *output, enum recorder_place place);
    void (*on_clear)(void *context, struct exec *exec, bool waits);
    void (*on_ended)(void *context, struct exec *exec, const struct answer_facts *facts);
    void (*on_dropped)(void *context, struct exec *exec, const char *why);
};

/* From now on; NULL: nobody. Both are borrowed. */
void engine_use_recorder(struct engine *engine, const struct recorder *recorder, void *context);

/* Files of a session that ended are still being removed: one of the same id would lose its own. */
bool engine_is_leaving(const struct engine *engine, const char *id);

/* The picture (the object that on_picture was given) is kept; `output` takes its place in the
 * answer, unless that had to go on without it. `is_same` if that is what the transcript shows. */
void exec_displayed(struct exec *exec, const json_t *shown, json_t *output, bool is_same);

/* ---- for the rest of the room ------------------------------------------------------------------
 */

void recorder_tell(struct session *session, enum recorder_news news);
void recorder_moved(struct session *session, const struct recorder_move *move);
void recorder_queued(struct exec *exec);
void recorder_begun(struct exec *exec);
void recorder_lasting(struct exec *exec);
void recorder_output(struct exec *exec, enum output_stream stream, const char *bytes, size_t len);
uint64_t recorder_picture(struct exec *exec, json_t *output, enum recorder_place place);
void recorder_shown(struct exec *exec, json_t *output, enum recorder_place place);
void recorder_clear(struct exec *exec, bool waits);
void recorder_ended(struct exec *exec, const struct answer_facts *facts);
void recorder_dropped(struct exec *exec, const char *why);
