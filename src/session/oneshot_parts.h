/* What the files of a run share. oneshot.c has its course, oneshot_state.c the states that it
 * begins with and leaves, oneshot_given.c the files that it is given, oneshot_files.c those that it
 * leaves, oneshot_answer.c what is told of it. */
#pragma once

#include "session/oneshot.h"
#include "store/store.h"

enum { ONESHOT_ERROR_MAX = 64 * 1024 }; /* of the line about what failed */

struct oneshot {
    struct oneshot_request request;
    struct engine *engine;
    struct session *session;  /* NULL before it was made and once it was deleted */
    struct loop_timer *limit; /* of the whole; NULL if there is none */
    struct loop_timer *step;  /* of loading or saving; NULL if neither */
    struct store_call *call;  /* of the store, under way; NULL if none */
    struct store_call *export;
    struct store_state *state; /* that it begins with, then that it leaves; NULL if none */
    bool is_loading;
    size_t input_at; /* bytes of the input that were read */
    int sock;        /* that the state comes from, until the store has it; -1 */
    struct loop_poll *poll;
    bool is_watched;             /* while it saves: the warden looks after its files */
    struct timespec untouched;   /* see oneshot_files_expect() */
    struct oneshot_given *given; /* files that it was given; NULL if none */
    struct oneshot_files *files; /* being found; NULL if they are not */
    unsigned n_pending;          /* that the answer waits for: state, files */
    struct oneshot_answer answer;
    bool is_starting; /* a function further up the stack uses it, and frees it if need be */
    bool is_over;
};

/* ---- its course ------------------------------------------------------------------------------ */

void oneshot_run(struct oneshot *o);      /* the state is loaded, or there is none */
void oneshot_one_less(struct oneshot *o); /* that the answer waits for */
void oneshot_finish(struct oneshot *o);   /* answers, and ends it */

/* ---- states ---------------------------------------------------------------------------------- */

void oneshot_load(struct oneshot *o); /* oneshot_run follows, or the end */
void oneshot_on_loaded(void *oneshot, const json_t *report);
void oneshot_not_loaded(struct oneshot *o, const char *why);
void oneshot_save(struct oneshot *o); /* oneshot_one_less follows */
/* The run itself succeeded; only that its state is not to be had. */
void oneshot_not_saved(struct oneshot *o, const char *why);
void oneshot_stop_state(struct oneshot *o); /* whichever way it was going */

/* ---- its answer ------------------------------------------------------------------------------ */

void oneshot_take_result(struct oneshot_answer *answer, const struct oneshot_request *request,
                         const struct exec_result *result);
void oneshot_take_streams(struct oneshot_answer *answer, const struct exec_result *result);
void oneshot_take_timeout(struct oneshot_answer *answer, uint32_t timeout_ms);
void oneshot_add_state_error(struct oneshot_answer *answer, const char *text);
void oneshot_free_answer(struct oneshot_answer *answer);

/* ---- files that it is given ------------------------------------------------------------------ */

/* Puts files, texts by their paths, into the workspace of an idle session; `on_put` follows, with
 * the error if one could not be put. */
struct oneshot_given;
struct oneshot_given *oneshot_given_put(struct session *session, const json_t *files,
                                        void (*on_put)(void *context, const struct err *e),
                                        void *context);
/* Whether the file is one of them, as it was. */
bool oneshot_given_has(const struct oneshot_given *given, const char *path, const char *hash);
void oneshot_given_forget(struct oneshot_given *given); /* takes NULL */

/* ---- its files ------------------------------------------------------------------------------- */

/* Of a session in a new room, before its code begins; {0}: that cannot tell whether there will be
 * files. */
void oneshot_files_expect(const struct session *session, struct timespec *ret_untouched);
/* Whether nothing came into the workspace since. */
bool oneshot_files_are_none(const struct session *session, const struct timespec *untouched);

/* Finds the files of a session's workspace for the answer. NULL if they cannot be had, and the
 * answer says why; else `on_found` follows. */
struct oneshot_files;
struct oneshot_files *oneshot_files_find(struct session *session,
                                         const struct oneshot_request *request,
                                         const struct oneshot_given *given,
                                         struct oneshot_answer *answer,
                                         void (*on_found)(void *context), void *context);
void oneshot_files_forget(struct oneshot_files *files); /* takes NULL */
