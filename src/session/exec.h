/* One cell: from the queue to its answer, and beyond it as long as its pipes are open. */
#pragma once

#include "session/output.h"
#include "session/pipe.h"
#include "session/session.h"

struct head_verdict;

enum {
    EXEC_QUEUE_MAX = 16,
    EXEC_OUTPUTS_MAX = 1024, /* typed outputs kept for one answer */
};

enum exec_status { EXEC_OK, EXEC_ERROR, EXEC_TIMEOUT, EXEC_INTERRUPTED, EXEC_DIED };

const char *exec_status_name(enum exec_status status);

/* A text that was cut to fit: valid UTF-8. */
struct exec_text {
    const char *text;
    size_t len;
    uint64_t omitted; /* bytes */
};

struct exec_error {
    const char *name;
    struct exec_text message;
    const char *advice;         /* NULL: none */
    struct exec_text traceback; /* text NULL: none */
    const json_t *line;         /* of a SyntaxError, else NULL */
    const json_t *column;
};

/* The answer. Borrowed for the callback. */
struct exec_result {
    uint64_t exec_id;
    enum exec_status status;
    struct exec_text streams[OUTPUT_STREAMS];
    const json_t *value; /* NULL: none */
    json_t *const *outputs;
    size_t n_outputs;
    uint64_t omitted_output_bytes;  /* of value and outputs */
    const struct exec_error *error; /* NULL: none */
    bool has_exit_code;
    int exit_code;
    double duration_ms;
    bool is_truncated;
};

/* on_output and on_display may be NULL. on_result or on_failed is the last that is said. */
struct exec_listener {
    /* Whole characters, as far as the bytes are text. */
    void (*on_output)(void *context, enum output_stream stream, const char *bytes, size_t len);
    void (*on_display)(void *context, const json_t *output);
    void (*on_result)(void *context, const struct exec_result *result);
    void (*on_failed)(void *context, const struct err *e); /* it never ran */
};

struct exec_request {
    const char *code; /* copied if the cell has to wait */
    size_t code_len;
    uint32_t timeout_ms; /* of running, not of waiting */
    size_t budget;       /* bytes of text in the answer */
    size_t pictures;     /* bytes of pictures beside it; what is over that counts as text does */
    const struct exec_listener *listener;
    void *context;
};

struct exec {
    struct list node; /* in the session's queue or among its late ones */
    struct session *session;
    uint64_t id;                          /* counts from 1 in each session */
    const struct exec_listener *listener; /* NULL: nobody listens */
    void *context;
    char *code; /* while it waits */
    size_t code_len;
    uint32_t timeout_ms;
    size_t budget;

    uint64_t started_ns; /* monotonic */
    bool is_timed_out;   /* the interrupt was sent */
    bool is_watched;     /* the warden looks after its files */
    struct exec_pipe pipes[OUTPUT_STREAMS];
    json_t **outputs; /* typed outputs so far, cut to the budget */
    size_t n_outputs;
    size_t outputs_size;  /* bytes within the budget, see display_size */
    size_t pictures_left; /* bytes of pictures that the budget does not count */
    uint64_t omitted_output_bytes;
};

/* Runs the cell now or queues it. A failure to begin ends the session and is told to the listener,
 * maybe before this returns. `ret_exec` is valid until the listener heard the last. */
int session_exec(struct session *session, const struct exec_request *request,
                 struct exec **ret_exec, struct err *e);
/* Nobody listens any more; the cell goes on. */
void exec_detach(struct exec *exec);

/* ---- for the rest of the room ------------------------------------------------------------------
 */

void exec_begin_next(struct session *session); /* if it is idle and a cell waits */
void exec_on_display(struct session *session, json_t *output);
void exec_on_verdict(struct session *session, const struct head_verdict *verdict);
/* The session's timer, for the alarms that concern cells. */
void exec_on_alarm(struct session *session, enum session_alarm alarm);
bool exec_interrupt(struct session *session);
void exec_on_signaled(struct session *session);
/* The session is dead: answers the running cell and those that wait, closes every pipe. */
void exec_end_all(struct session *session);
/* Called by a pipe that reached its end. */
void exec_pipe_ended(struct exec *exec);
