/* A session: an interpreter with an identity, a queue of cells and what they wrote.
 *
 *   STARTING --ready--> IDLE <--cell begins / ends--> BUSY
 *   IDLE, BUSY --crash or undo--> RESTORING --its interpreter is back--> IDLE
 *   IDLE --unused--> SUSPENDED --a cell comes--> RESTORING
 *   any of them --ended--> DEAD, which stays listed until it is deleted or pushed out by others
 */
#pragma once

#include "base/ids.h"
#include "base/list.h"
#include "cell/output.h"
#include "jail/spec.h"
#include "session/assistants.h"
#include "session/background.h"
#include "session/branch.h"
#include "session/death.h"
#include "session/declared.h"
#include "session/end.h"
#include "session/engine.h"
#include "session/exploring.h"
#include "session/files.h"
#include "session/handed.h"
#include "session/lifespan.h"
#include "session/names.h"
#include "session/plan.h"
#include "session/ports.h"
#include "session/restore.h"
#include "session/saving.h"
#include "session/searching.h"
#include "session/terminals.h"
#include "session/timeline.h"
#include "session/timing.h"
#include "session/trial.h"
#include "session/usage.h"

#include <jansson.h>

/* Of a working directory, with the NUL: what fits into the messages about it. */
enum { SESSION_CWD_SIZE = 256, SESSION_PERSON_MAX = 128 };

struct code_call;
struct exec;
struct head;
struct loop_timer;
struct session;

enum session_state {
    SESSION_STARTING,
    SESSION_IDLE,
    SESSION_BUSY,
    SESSION_RESTORING,
    SESSION_SUSPENDED, /* only its durable copy and its files are left */
    SESSION_DEAD,
};

/* What the session's one timer is set for. A cell goes through POLL, WATCH and DEADLINE as far as
 * it runs long enough. */
enum session_alarm {
    ALARM_NONE,
    ALARM_START,      /* the interpreter must be ready by now */
    ALARM_POLL,       /* let the loop read the cell's pipes */
    ALARM_WATCH,      /* let the warden look after its files */
    ALARM_DEADLINE,   /* interrupt it */
    ALARM_REPEAT,     /* interrupt it once more */
    ALARM_GRACE,      /* kill it */
    ALARM_CLOSED,     /* the channel is closed, but no end was reported: kill it */
    ALARM_KILLED,     /* the end of a killed interpreter was not reported */
    ALARM_SETTLE,     /* an interrupt that came too late must not hit the next cell */
    ALARM_REST,       /* idle: make a checkpoint */
    ALARM_QUIET,      /* idle: let the loop read late output */
    ALARM_BACKGROUND, /* idle: look at what processes and threads do that cells left */
    ALARM_RESTORE,    /* a step of a restoration takes too long */
};

/* The run for whose sake alone a session is there (oneshot.h). */
struct session_user {
    void (*on_loaded)(void *context, const json_t *report); /* a state that the user had loaded */
    void (*on_ended)(void *context);
};

/* The caller that asked for a session, until it has started. */
struct session_starter {
    void (*on_started)(void *context, struct session *session);
    void *context;
};

/* What settle.c is to look at. */
struct session_settling {
    bool is_under_way; /* session_settle is further up the stack */
    bool is_wanted;    /* something has changed that session_settle has not looked at */
    bool is_entered;   /* STARTING: the first interpreter has walked in */
    bool is_over;      /* the interpreter has ended, or there will be none */
    bool is_discarded; /* no caller is to hear of the session: once dead it is freed */
};

/* What its cells have that ask for nothing else. */
struct session_usual {
    uint32_t timeout_ms; /* 0: what holds for the agent; so do the others */
    uint64_t budget;     /* bytes of output in an answer */
    unsigned images;     /* 1 + the index in spec_images */
    bool is_structured;  /* see chains.h */
};

struct session {
    char id[UUID_SIZE];
    struct engine *engine;
    struct list node; /* in the engine's list of live, suspended or dead ones, oldest first */
    enum session_state state;
    struct session_starter starter;
    const struct session_user *user; /* NULL if the session is there for everybody */
    void *user_context;

    /* What it was asked to be. */
    const struct runtime *runtime;
    const char *profile;
    char *agent;    /* on whose behalf the session was made; NULL for nobody in particular */
    char *binding;  /* where that agent was asked; NULL if that is not known */
    char *person;   /* which of the agent's users; NULL if nobody in particular */
    char *name;     /* what callers may call it instead of its id; NULL if it has none */
    json_t *labels; /* an object of texts; NULL if there are none */
    struct plan plan;
    struct session_usual usual;
    struct jail_limits limits;
    char cwd[SESSION_CWD_SIZE]; /* where the interpreter began */
    json_t *env;                /* NULL if there is nothing to tell */
    char joined[UUID_SIZE];     /* the session whose jail it shares; "" if its jail is its own */
    bool is_unlisted;           /* callers cannot find the session */
    bool exit_ends;             /* an exit of the interpreter ends the session, and is not undone */

    struct head *head; /* NULL once dead, and while another takes its place */
    struct room *room; /* held as long as the session lives */
    bool is_set_up;    /* the interpreter, or the one it is a copy of, was told where it works */
    struct loop_timer *timer; /* NULL once the session is freed */
    enum session_alarm alarm;

    /* The aspects, each owned by the file that defines the struct. */
    struct session_settling settling;
    struct pace pace;
    struct timeline timeline;
    struct background background;
    struct saving saving;
    struct files files;
    struct names names;
    struct declarations declared;
    struct judging *judging; /* a caller asks about a text; else NULL */
    struct exploring exploring;
    struct searching searching;
    struct assistants assistants;
    struct handed handed;
    struct code_call *call; /* the operation that the running cell's code waits for; else NULL */
    struct chain_turn
        *chain; /* the running cell is structured, and its calls are planned; else NULL */
    struct trial trial;
    struct branches branches;
    struct lifespan life;
    struct ports ports;
    struct terminals terminals;
    struct suspension *suspension; /* a caller waits until the session is suspended; else NULL */
    struct usage usage;
    struct restore *restore; /* the restoration under way; NULL if there is none */
    struct restore_left left;
    struct session_end end;
    struct death_facts ending; /* evidence while it is ending */
    struct death death;        /* when dead */

    /* The cells. */
    struct exec *running;
    struct list queue; /* of struct exec, waiting */
    size_t n_queued;
    struct list late; /* of struct exec: ended, with pipes that processes may still write to */
    size_t n_late;
    bool has_ended_pipes; /* of late ones; until settle.c has passed it on */
    struct list spent;    /* of struct exec: over, to be freed */
    struct list kept;     /* of struct exec: ended, the answer not fetched; oldest first */
    size_t n_kept;
    size_t kept_bytes;
    size_t n_files_wanted;   /* of the held ones: that wait for their files */
    struct list held;        /* of struct exec: ended, and the answer has to wait for something */
    uint64_t forgotten_exec; /* the last one whose answer was given up; 0 if there is none */
    uint64_t n_execs;        /* accepted so far; the last exec_id */
    uint64_t ended_exec;     /* the last cell that ended; 0 if there is none */
    json_t *news;            /* for the next answer: what happened meanwhile; or NULL */
    bool was_rolled_back;    /* while no cell ran: for the next answer, too */
    uint64_t rolled_back_to;
    struct output_ring rings[OUTPUT_STREAMS];
    uint64_t taken[OUTPUT_STREAMS]; /* bytes of the stream, see session_take_new */
};

struct session_request {
    const struct runtime *runtime;
    const char *profile;              /* NULL for the default one */
    const struct jail_limits *limits; /* NULL for the usual ones */
    const char *agent;                /* copied; may be NULL */
    const char *binding;              /* likewise */
    const char *person;               /* likewise */
    const char *name;                 /* copied; NULL if none. Checked already, as labels are */
    const json_t *labels;             /* an object of texts; NULL if none */
    size_t max_output_bytes;          /* kept for each stream; 0: the usual */
    bool is_unlisted;                 /* only the requester finds the session */
    bool is_own;                      /* the daemon's own: no agent's limits apply */
    bool exit_ends;                   /* an exit of its interpreter is its end, and not undone */
    bool has_state;                   /* see struct pool_request */
    const char *cwd;                  /* NULL for /workspace */
    const json_t *env;                /* an object of strings; NULL if nothing besides the usual */
    struct session *join; /* whose jail and limits it shares; NULL for a jail of its own */
    const uint32_t *idle_timeout_secs; /* NULL for the usual; 0: never */
    const uint32_t *max_age_secs;      /* likewise */
    struct session_usual usual;
    enum timeline_mode checkpoints;
    enum saving_mode durable;
    enum saving_isolation isolation;
    bool explores;       /* its code has the functions of exploring.h from the first cell on */
    const json_t *tools; /* that the caller hands in: handed.h; NULL if none. Checked already */
    uint32_t tool_deadline_ms;                                  /* 0: the usual one */
    void (*on_started)(void *context, struct session *session); /* idle or dead by then */
    void *context;
};

/* on_started may be called before this returns. */
int session_create(struct engine *engine, const struct session_request *request,
                   struct session **ret_session, struct err *e);
/* The caller went away: on_started is not called. */
void session_forget_starter(struct session *session);
/* A session that is gone comes back under its id, without its variables: with its first cell, which
 * has a number above `n_execs`. `spec` is what spec.h wrote of it. NULL with the error. */
struct session *session_revive(struct engine *engine, const char *id, const char *spec,
                               uint64_t n_execs, struct err *e);

/* Ends the session and frees it; cells that run or wait are answered first. */
void session_delete(struct session *session);

/* A caller wants something of the session: its idle time begins anew. Not what `used_at` tells,
 * which is the time of the last cell (lifespan.h). */
void session_restart_idle(struct session *session);

/* Asks the running cell to stop; false if none runs. */
bool session_interrupt(struct session *session);

/* Something about the session is not as it was: what follows from that is decided in settle.c, now
 * or, if that is further up the stack, when it is done. The last that an event does: the session
 * may be dead afterwards, and what belongs to it gone; its own memory stays until the loop runs. */
void session_changed(struct session *session);
int session_refuse_if_dead(const struct session *session, struct err *e);

/* ---- for the rest of the room ---------------------------------------------------------------- */

void session_move(struct session *session, enum session_state to);
void session_set_alarm(struct session *session, enum session_alarm alarm, uint64_t in_ms);
/* Kills the interpreter; its end makes the session dead. `detail` may be NULL. */
void session_kill(struct session *session, enum death_wish wish, const char *detail);
void session_kill_now(struct session *session); /* for the reason that is noted already */
/* The control socket was closed. An interpreter that exits does that first, so its exit status gets
 * a moment to arrive. */
void session_lose_channel(struct session *session, const char *detail);
/* Why the session ends; the first reason counts. `detail` may be NULL. */
void session_note_ending(struct session *session, enum death_wish wish, const char *detail);
/* The interpreter has ended or never came to be, and `ending` says why: the session goes back to a
 * checkpoint, or ends. */
void session_conclude(struct session *session);
/* The caller that made the session hears that it started, or died. */
void session_tell_starter(struct session *session);
/* A copy of `source`, in a room that does not exist yet; the caller makes its interpreter. */
int session_make_branch(struct engine *engine, struct session *source,
                        const struct session_request *request, struct session **ret_session,
                        struct err *e);
/* A session that only the store knew so far. NULL if its profile is no more. */
struct session *session_make_suspended(struct engine *engine, const char *id,
                                       const struct session_request *request, struct err *e);

/* ---- for everybody --------------------------------------------------------------------------- */

struct session *session_find(struct engine *engine, const char *id, struct err *e);
const char *session_state_name(enum session_state state);
/* The last cell has ended, and an interrupt that came too late is still on its way: the session is
 * idle in a moment. */
static inline bool session_is_settling(const struct session *session)
{
    return session->state == SESSION_BUSY && session->running == NULL &&
           session->ending.wish == DEATH_UNWISHED;
}
uint64_t session_output_len(const struct session *session); /* bytes ever, both streams */

/* Walks live sessions, then suspended and dead ones, each oldest first, with those that are not
 * listed. Start with NULL; NULL at the end. */
struct session *session_next(struct engine *engine, struct session *previous);
