/* One run and nothing after it: an interpreter from the pool, the code, its answer, the end. It is
 * a session that no other caller finds. What it answers is what a program that was run would leave:
 * two streams, an exit code, one line about what failed; and if that is asked for the files it made
 * and its variables, for the next run to begin with.
 *
 *   FETCHING a state --> STARTING --> LOADING it --> RUNNING --> SAVING it and its files --> over
 */
#pragma once

#include "base/buf.h"
#include "session/exec.h"

#include <time.h>

enum {
    ONESHOT_TIMED_OUT = 124, /* exit codes, as shells and timeout(1) have them */
    ONESHOT_FAILED = 1,
    ONESHOT_FILES_MAX = 100, /* told in one answer */
};

struct oneshot;

/* A file that it left, as it can be had for a time. */
struct oneshot_file {
    char *path; /* below the workspace; UTF-8 */
    uint64_t bytes;
    char token[TOKEN_SIZE];
};

/* Borrowed for the callback. */
struct oneshot_answer {
    struct buf streams[OUTPUT_STREAMS]; /* with the value or the traceback at the end */
    struct buf error;                   /* one line; empty if the run succeeded */
    int exit_code;
    json_t *outputs;  /* an array of typed outputs; NULL if none */
    json_t *replaced; /* a text: the typographic signs without which it ran; NULL if none */
    bool is_truncated;
    double duration_ms;

    char *state; /* base64; NULL if none */
    size_t state_len;
    json_t *state_errors;   /* an array of texts: what could not be saved or loaded; NULL if none */
    uint64_t kept_bytes;    /* of the state that was kept under its name; 0: none was */
    uint64_t kept_until_ms; /* wall clock; 0: for ever */
    struct oneshot_file *files;
    size_t n_files;
    size_t n_files_omitted;
    char files_reason[256]; /* why they could not be had; "": they could */
};

/* on_output and on_display may be NULL; else the answer has what they were not told. Either of the
 * others is the last that is said. */
struct oneshot_listener {
    void (*on_output)(void *context, enum output_stream stream, const char *bytes, size_t len);
    void (*on_display)(void *context, const json_t *output, bool is_update);
    void (*on_done)(void *context, const struct oneshot_answer *answer);
    void (*on_failed)(void *context, const struct err *e); /* the code never ran */
};

struct oneshot_request {
    struct session_request session; /* the callbacks in it are ours */
    const char *code;               /* borrowed until it is over, like all texts here */
    size_t code_len;
    const char *input; /* what it reads from its standard input, line by line */
    size_t input_len;
    const json_t *files; /* an object of texts by path: put before it begins; NULL if none */
    bool has_html;       /* see struct exec_request */
    uint32_t timeout_ms;
    uint32_t limit_ms; /* of all of it, with the wait for an interpreter; 0: none */
    size_t budget;     /* bytes of text in the answer */
    size_t pictures;   /* see struct exec_wait */

    const char *owner; /* whose state and files they are; NULL if there will be none */
    const char *state; /* base64 of what an earlier run left; NULL if none */
    size_t state_len;
    const char *state_name; /* or the name that it was and will be kept under; NULL if none */
    uint64_t state_ttl_ms;  /* how long it is kept under its name; 0: for ever */
    bool captures;          /* the answer is to hold the state */
    uint64_t state_max_bytes;
    bool wants_files;
    uint64_t files_ttl_ms; /* how long they can be had */

    const struct oneshot_listener *listener;
    void *context;
};

/* `ret_oneshot` is NULL if the listener was told already. */
int oneshot_start(struct engine *engine, const struct oneshot_request *request,
                  struct oneshot **ret_oneshot, struct err *e);
/* The caller went away: the run ends. */
void oneshot_forget(struct oneshot *oneshot);
