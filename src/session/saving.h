/* The durable copy of a session: what is there again after its interpreter, the daemon or the
 * machine went down. It is made in the background, a second after the first cell that is not
 * safe, from the last checkpoint; or at once for a cell whose caller waits for it.
 *
 *   a checkpoint (or the interpreter itself) forks a saver -> the store takes the stream in
 *   -> state, files and cells are on disk -> `through` says up to which cell
 */
#pragma once

#include "base/err.h"
#include "base/list.h"
#include "session/timeline.h"
#include "store/store.h"

#include <jansson.h>

struct engine;
struct exec;
struct loop_poll;
struct session;

enum saving_mode { SAVING_AUTO, SAVING_OFF };
extern const char *const saving_modes[]; /* NULL-terminated, for choices */

/* Whether cells share a process, or each has a fresh one with the state that was saved. */
enum saving_isolation { ISOLATION_SHARED, ISOLATION_PER_CELL };

enum {
    SAVING_AFTER_MS = 1000, /* the first cell that is not safe */
    SAVING_MB_DEFAULT = 1024,
};

/* The save under way:
 *
 *   NONE --begins--> FILES --/workspace is recorded--> FORKING --the saver speaks--> INGESTING
 *   NONE --begins, the checkpoint has the files--> FORKING
 *   INGESTING --the stream is whole--> STORING --it is on disk--> NONE
 *   any of them --(failed, given up)--> NONE
 */
enum saving_state { SAVING_NONE, SAVING_FILES, SAVING_FORKING, SAVING_INGESTING, SAVING_STORING };

struct saving {
    enum saving_mode mode;
    enum saving_isolation isolation;
    struct list node;            /* among the engine's sessions that are to be saved */
    uint64_t due_ms;             /* monotonic */
    bool is_due;                 /* as soon as the session rests */
    uint64_t through;            /* the last cell that is safe */
    uint64_t checkpoint;         /* whose state is safe; 0: none */
    bool is_current;             /* what is safe belongs to the present line */
    bool has_row;                /* the store knows the session */
    bool has_beginning;          /* the store has what callers put before the first cell */
    char files[STORE_HASH_SIZE]; /* the manifest that is safe; "": none */
    char trouble[256];           /* why the last one failed; "": it did not */
    bool has_news;               /* cells ended since the store was told of the session */
    bool looks_again;            /* at the files, once more, before the session is suspended */

    struct turn turn; /* for the save that is due, or under way */

    /* The one under way. */
    enum saving_state state;
    uint64_t next_through, next_checkpoint;
    char next_files[STORE_HASH_SIZE];
    char next_explored[STORE_HASH_SIZE]; /* see exploring.h */
    char next_files_reason[200];         /* why there are none; "": there are */
    uint64_t number;                     /* of the saver; 0: the interpreter itself saves */
    int sock;                            /* until the store has it; -1: none */
    struct loop_poll *poll;
    struct store_call *call;
    json_t *next_lost;  /* what cannot be saved: [{"name","type","advice"}]; NULL if nothing */
    json_t *lost;       /* the same of the last save that is safe; never NULL once there was one */
    uint64_t ticket;    /* of the order to record its files; 0: there is none */
    bool has_ended;     /* until settle.c has passed it on */
    bool has_succeeded; /* the save that has ended */
    uint64_t began_ms;
    uint64_t took_ms; /* the last one */
};

void saving_init(struct session *session, enum saving_mode mode);
void saving_free(struct session *session);
bool saving_is_on(const struct session *session);
bool saving_is_under_way(const struct session *session);

/* A cell has ended; `exec` may wait for its answer to be safe, and then is held. */
void saving_add_cell(struct session *session, const struct exec *exec);
/* A caller changed a file. */
void saving_add_file(struct session *session);
void saving_add_news(struct session *session); /* files have changed without a cell or a caller */
void saving_know(struct session *session);     /* tells the store of the session */
/* A save is due, and the session is in a state for it: its checkpoint is complete. */
bool saving_is_to_begin(struct session *session);
void saving_begin(struct session *session);
/* Where a save waits for its turn. */
enum turns_lane saving_lane(struct session *session);
/* The save has taken long, and others wait: it begins again later. Its callers wait on. */
void saving_put_off(struct session *session);
/* The session went back or forth: what is safe may be of another line now. */
void saving_on_restored(struct session *session);
/* The session came back from what was saved: files that callers put since are not safe yet. */
void saving_on_resumed(struct session *session);
/* There is something on disk that the session can be brought back from. */
bool saving_is_resumable(const struct session *session);
/* The session's processes are gone: the save under way fails. */
void saving_abort(struct session *session, const char *why);
/* The session is over for good: nothing of it is kept. */
void saving_drop(struct session *session);
/* Everything that is not safe is saved as soon as it can be. */
void saving_hurry(struct session *session);
/* The last cell and the files that callers put are safe, or never will be. */
bool saving_is_complete(const struct session *session);
bool saving_is_safe(const struct session *session); /* whether they are safe */
void saving_stop(struct engine *engine);
