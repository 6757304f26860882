/* One cell: from the queue to its last answer, and beyond it as long as its pipes are open.
 *
 *   queued --begins--> running --verdict or the session's end--> ended
 *
 * A caller waits for one answer. An answer before the end (the caller's patience is over) says
 * so; the next caller gets what is new since. An end without a caller is kept for a while. */
#pragma once

#include "cell/cell.h"
#include "runtime/head.h"
#include "session/handed.h"
#include "session/pipe.h"
#include "session/session.h"

struct cell_record;
struct chain_record;
struct exec_outcome;
struct exec_pending;
struct spill;

enum {
    EXEC_QUEUE_MAX = 16,
    EXEC_LINE_MAX = 64 * 1024, /* bytes of a line for a cell that waits for one */
    EXEC_DENIED_MAX = 16,      /* different system calls in one answer */
    EXEC_KEPT_MAX = 16,        /* ended cells of a session whose answer was not fetched */
};

/* A text that was cut to fit: valid UTF-8. */
struct exec_text {
    const char *text;
    size_t len;
    uint64_t omitted; /* bytes */
};

struct exec_error {
    const char *name;
    struct exec_text message;
    const char *advice;         /* NULL if none */
    struct exec_text traceback; /* text NULL if none */
    const json_t *line;         /* of a SyntaxError, else NULL */
    const json_t *column;
};

/* What a cell asks for when it waits for a line. */
struct exec_question {
    bool is_password; /* not to be shown while it is typed */
    size_t len;
    char prompt[]; /* UTF-8, may be empty */
};

/* System calls that the sandbox denied since the last answer. */
struct exec_denied {
    size_t n;
    struct {
        char call[32];
        uint64_t count;
    } calls[EXEC_DENIED_MAX];
};

/* The answer: what is new since the one before. Borrowed for the callback, and the JSON of outputs
 * until that does something with the session. */
struct exec_result {
    uint64_t exec_id;
    enum cell_state status; /* the last answer if the cell has ended */
    bool is_queued;         /* CELL_RUNNING: it waits for the cells before it */
    struct exec_text streams[OUTPUT_STREAMS];
    struct transcript_news value; /* its output is NULL if there is none */
    const struct transcript_news *outputs;
    size_t n_outputs;
    struct exec_text script; /* all of that in the order in which it came; NULL if not asked for */
    const char *code;        /* of the cell */
    size_t code_len;
    uint64_t omitted_output_bytes;  /* of value and outputs */
    const struct exec_error *error; /* NULL if none */
    const char *advice;             /* about what it wrote, if there is no error; NULL if none */
    const struct exec_question *question; /* CELL_INPUT */
    const json_t *tool_calls;         /* CELL_TOOLS: those that wait, see handed.h; NULL if none */
    const json_t *names;              /* what became of the session's names; NULL if not told */
    const struct exec_denied *denied; /* NULL if none */
    bool has_last_status;
    int last_status;    /* of a shell's last command */
    int command_status; /* of the last command that a cell of Python ran and that failed; 0: none */
    bool has_exit_code;
    int exit_code;
    double duration_ms;
    bool is_truncated;
    uint64_t checkpoint;    /* that holds, or will hold, what it did; 0: none */
    uint64_t saved_through; /* the last cell that is safe on disk; 0: none */
    bool is_rolled_back;    /* its interpreter ended, and the session went back */
    uint64_t rolled_back_to;
    const json_t
        *final; /* how the cell ended the agent's task: see exploring.h; NULL if it did not */
    const json_t *spill; /* the file that has its output: see spill.h; NULL if the answer has it */
    const json_t *extra; /* an object whose members belong to the answer; NULL if none */
    const char *cell;    /* the notebook's, by its id; NULL if it is in none */
    uint64_t cell_number;
    const char
        *unrecorded; /* why the notebook does not have the cell; NULL if it does or need not */
};

/* on_accepted, on_output, on_display and on_clear may be NULL. on_result or on_failed is the last
 * that is said.
 */
struct exec_listener {
    /* The cell was accepted: its id ("" if the notebook does not have it) and its number. */
    void (*on_accepted)(void *context, const struct cell *cell);
    /* Whole characters, as far as the bytes are text. */
    void (*on_output)(void *context, enum output_stream stream, const char *bytes, size_t len);
    void (*on_display)(void *context, const json_t *output, bool is_update);
    void (*on_clear)(void *context, bool waits);
    void (*on_result)(void *context, const struct exec_result *result);
    void (*on_failed)(void *context, const struct err *e); /* the cell never ran */
};

/* A caller that waits for an answer. */
struct exec_wait {
    const struct exec_listener *listener;
    void *context;
    size_t budget;     /* bytes of text in the answer */
    size_t pictures;   /* bytes of pictures beside it; what is over that counts as text does */
    bool has_yield;    /* then it is answered after yield_ms, also if the cell still runs */
    uint32_t yield_ms; /* counts from the call, also while the cell is queued */
    bool cancels;      /* by going away it interrupts the cell, or takes it from the queue */
    bool
        is_streamed; /* the listener takes texts and outputs as they come: the answer is the rest */
    bool is_lean;    /* texts are folded and cut at lines, tracebacks without their message */
    bool wants_script;   /* the answer is read as one text */
    size_t preview;      /* bytes of text if there is more than the budget; 0: the budget */
    bool has_tools;      /* see struct transcript */
    bool takes_tools;    /* it can answer calls of tools that were handed in */
    const char *session; /* likewise; copied. NULL if it need not be named */
};

struct exec_request {
    const char *code; /* copied */
    size_t code_len;
    uint32_t timeout_ms;   /* of running, not of waiting */
    enum head_names names; /* what the last answer says about the session's names */
    bool echoes;        /* value and error go to the streams too, as a terminal would show them */
    bool is_script;     /* see struct head_cell */
    bool is_durable;    /* the answer waits until what the cell did is safe on disk */
    bool is_trial;      /* see trial.h */
    bool is_structured; /* see chains.h */
    /* The notebook's cell that it runs, whose code this is; NULL if it becomes a new one. */
    const char *cell;
    uint64_t cell_number;
    bool has_inline_images;    /* the answers have pictures in them, not only where they are */
    bool has_html;             /* and the markup of what has a text, too */
    bool wants_files;          /* the answer waits until it is known which files the cell changed */
    const json_t *tools;       /* that the caller hands in: handed.h; NULL if none */
    uint32_t tool_deadline_ms; /* 0: the usual one */
    struct exec_wait wait;
};

struct exec {
    struct list node; /* in the session's queue or among its late ones */
    struct list kept; /* in the session's list of answers that were not fetched */
    struct session *session;
    uint64_t id;       /* counts from 1 in each session */
    struct cell *cell; /* with all that it has shown; the notebook's record may share it */
    uint32_t timeout_ms;
    enum head_names names;
    bool echoes;
    bool is_script;

    bool is_structured;
    struct chain_record *chain; /* its calls, if it is structured and has some; else NULL */

    bool is_durable;
    bool is_trial;
    bool wants_files; /* the answer waits for what the cell's checkpoint says of them */
    bool knows_files; /* what was there before is known: */
    char files_before[STORE_HASH_SIZE]; /* its manifest; "": nothing */

    /* The caller that waits for the next answer. */
    const struct exec_listener *listener; /* NULL if no caller waits */
    void *context;
    struct loop_timer *yield; /* NULL if it waits to the end */
    bool cancels;
    bool is_streamed, is_lean, wants_script; /* see exec_wait */
    size_t preview;

    struct timing_moment came;         /* when the cell was accepted */
    uint64_t started_ns;               /* monotonic */
    uint64_t others_ns;                /* how long all cells together had run by then */
    struct handed_tools *tools;        /* NULL if none but its session's */
    bool takes_tools;                  /* see exec_wait; of the last caller that waited */
    char late_tool[HANDED_NAMED_SIZE]; /* the call that nobody answered in time; "": none */
    uint32_t late_tool_ms;
    struct exec_question *question; /* the cell waits for a line; else NULL */
    bool stands;        /* its clock, because it waits for its caller: a line or a tool's result */
    uint64_t asked_ns;  /* since when */
    uint64_t waited_ns; /* before: no part of its time */
    bool is_timed_out;  /* the interrupt was sent */
    bool is_superseded; /* another cell was sent in its place: likewise */
    unsigned n_interrupts; /* sent while it ran */
    unsigned n_repeats;    /* of them, because it went on; see timing.c */
    bool is_watched;       /* the warden looks after its files */
    bool is_unwanted;      /* the caller cancelled the cell: the end is not kept */
    bool is_interrupted;   /* before it could begin: as soon as it does */
    struct exec_pipe pipes[OUTPUT_STREAMS];
    uint64_t late_from[OUTPUT_STREAMS]; /* bytes that were told, or written before its end */
    struct exec_denied *denied;         /* NULL if none */
    struct exec_outcome *outcome;       /* how the cell ended, if that is kept for a caller */
    bool is_held;                       /* the outcome is not to be told yet */
    struct death *certificate; /* of the interpreter that it ended; NULL if it ended none */
    uint64_t checkpoint;       /* see exec_result */
    bool is_rolled_back;
    uint64_t rolled_back_to;
    json_t *extra;
    struct spill *spill; /* what it writes, kept whole because its session explores; NULL if not */
    char *replaced; /* what the code would be without, if it does not compile; NULL if nothing */

    struct cell_record *record; /* NULL if the cell is not recorded, or not any more */
    bool runs_given_cell;       /* a cell that the notebook had before */
    bool has_recorded_value;    /* the row has the value in the form that the answer has */
    bool has_inline_images;
    bool has_html;
    bool has_no_row;              /* the notebook does not have the cell after all */
    char *unrecorded;             /* see exec_result */
    struct head_verdict *verdict; /* the cell has ended, and is not concluded yet; else NULL */
    struct err *refusal; /* where session_exec wants to know why it cannot begin; NULL later */
    struct exec_pending *pending; /* a picture that is on its way to the store; NULL if none is */
};

/* Runs the cell now or queues it. A failure to begin ends the session and is told to the listener,
 * maybe before this returns. `ret_exec` is valid until the listener heard the last. */
int session_exec(struct session *session, const struct exec_request *request,
                 struct exec **ret_exec, struct err *e);
/* The number of a cell by its number, or by the id of one that waits, runs or has an answer for
 * somebody; 0 if there is none. */
uint64_t session_cell_number(const struct session *session, const char *name);
/* Waits for the next answer of a cell that has answered before, or whose caller went away.
 * `ret_exec` is NULL if the listener has been answered already. */
int session_continue(struct session *session, uint64_t exec_id, const struct exec_wait *wait,
                     struct exec **ret_exec, struct err *e);
/* The line that a cell waits for, without its newline; NULL if there will be no line. With
 * `exec_id` 0 the cell that runs is meant. Then as session_continue. */
int session_input(struct session *session, uint64_t exec_id, const char *text, size_t len,
                  const struct exec_wait *wait, struct exec **ret_exec, struct err *e);
/* The caller went away. The cell goes on, unless the caller said otherwise. */
void exec_forget(struct exec *exec);

/* What a reader of the whole session has not had yet; both streams have such a mark of their own.
 * `ret_dropped` counts bytes that were pushed out before they were taken. */
void session_take_new(struct session *session, enum output_stream stream, struct buf *out,
                      uint64_t *ret_dropped);
/* Another cell is to run in place of the running one, which is interrupted, and killed if it does
 * not end within a second. False if none runs. */
bool session_supersede(struct session *session);

/* ---- for the rest of the room ---------------------------------------------------------------- */

void exec_on_denied(struct session *session, const char *call);
/* The running cell has ended, and all that it showed was taken: the session concludes it. */
void exec_conclude(struct session *session, const struct head_verdict *verdict);
/* What a terminal would show of a value, an output or an error. */
void exec_echo(struct exec *exec, enum output_stream stream, const char *text);
/* The session's timer, for the alarms that concern cells. */
void exec_on_alarm(struct session *session, enum session_alarm alarm);
bool exec_interrupt(struct session *session);
void exec_on_signaled(struct session *session);
void exec_on_awake(struct session *session); /* the idle interpreter has answered */
/* For the next answer. The reference is taken. */
void exec_add_news(struct session *session, json_t *news);
/* The end of what the running cell wrote to stderr has these words. */
bool exec_has_said(struct session *session, const char *words);
/* What to do about what the end of a cell's output says; NULL if there is nothing to do. */
const char *exec_advise_output(const struct exec *exec);
/* Called by a pipe that reached its end. */
void exec_pipe_ended(struct exec *exec);

void exec_drain(struct exec *exec);  /* takes what its pipes hold now */
void exec_cancel(struct exec *exec); /* the answer is unwanted; `exec` may be gone afterwards */
double exec_elapsed_ms(const struct exec *exec); /* of running */
/* The clock of the running cell stands while it waits for its caller: for a line (`question` is set
 * before) or a tool's result. */
void exec_pause(struct exec *exec);
void exec_resume(struct exec *exec); /* if it stands; there is no question any more */
/* A caller kept the running cell waiting for too long: it ends as if its own time were over. */
void exec_expire(struct session *session);
void exec_watch_pipes(struct session *session); /* of the running cell, from now on by the loop */
void exec_leave_queue(struct exec *exec);
void exec_detach(struct exec *exec); /* the caller does not wait any more */
/* If it has ended and nothing of it is needed any more, it is freed in the next round of settle.c.
 */
void exec_free_if_over(struct exec *exec);
