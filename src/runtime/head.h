/* A head: one live interpreter in its jail, as the daemon sees it. It has a control socket, takes
 * one cell at a time and answers with frames. Everything it sends is hostile: user code runs in the
 * same process. What no driver would send breaks the head, once and for good.
 *
 *   WAITING --(zygote is ready)--> ENTERING --ready frame--> IDLE <--run/done--> RUNNING
 *   WAITING --(a snapshot wakes it)--> WAKING --the warden knows it--> ENTERING
 *   IDLE --setup--> SETTING --set frame--> IDLE
 *   IDLE --load--> LOADING --loaded frame--> IDLE
 *   any of them --(refused, exited, broken)--> ENDED, told once; then its owner releases it
 */
#pragma once

#include "base/base.h"
#include "base/err.h"
#include "base/ids.h"
#include "base/list.h"
#include "cell/cell.h"
#include "jail/warden.h"
#include "runtime/denials.h"
#include "runtime/room.h"
#include "runtime/runtime.h"
#include "wire/frame.h"

#include <jansson.h>

struct head;
struct head_work;
struct loop_poll;

enum head_state {
    HEAD_WAITING,
    HEAD_WAKING,
    HEAD_ENTERING,
    HEAD_IDLE,
    HEAD_SETTING,
    HEAD_LOADING,
    HEAD_RUNNING,
    HEAD_ENDED,
};

/* What a verdict should say about the session's names. */
enum head_names { HEAD_NAMES_NONE, HEAD_NAMES_CHANGES, HEAD_NAMES_FULL };

/* The verdict on a cell. Borrowed for the callback; already checked. */
struct head_verdict {
    enum cell_state status; /* CELL_COMPLETED, CELL_ERROR or CELL_INTERRUPTED */
    json_t *value;          /* a typed output (display.h) or NULL */
    json_t *error;          /* {"name","message","traceback"?,"line"?,"column"?} or NULL */
    json_t *names;          /* a manifest (names.h) or NULL */
    bool has_last_status;
    int last_status; /* of a shell's last command */
    bool has_exit_code;
    int exit_code;      /* the cell ended by an exit, which its interpreter outlived */
    int command_status; /* of the last `!command` of Python that failed; 0: none did */
    bool ran_plain;     /* head_cell.plain was run in place of the code */
};

/* Why a head ended. */
enum head_end {
    HEAD_REFUSED, /* no jail or no interpreter; text */
    HEAD_EXITED,  /* status and the numbers after it */
    HEAD_BROKEN,  /* the channel is damaged or closed; text. The process may still live: signal it
                     and HEAD_EXITED follows */
};

struct head_end_facts {
    enum head_end how;
    int status;
    uint32_t oom_kills;    /* in its room since a head of it ended before */
    uint32_t pids_refused; /* forks that the limit of processes refused there, likewise */
    uint64_t peak_bytes;   /* of memory there; 0 if that is not known */
    bool is_closed;        /* HEAD_BROKEN: only closed, as by an exit; the exit status follows */
    const char *text;      /* never NULL */
};

/* Why an interpreter ended that was never ready. */
void head_describe_end(const struct head_end_facts *facts, char *out, size_t size);

/* Whether a text is a whole piece of code. */
enum head_completeness {
    HEAD_COMPLETE,
    HEAD_INCOMPLETE,
    HEAD_INVALID, /* nothing that follows would make it run */
    HEAD_UNSURE,
};
extern const char *const head_completeness_names[]; /* "complete"; ends with NULL */

/* What a head can be asked about a text, one thing at a time. */
enum head_topic {
    HEAD_ASKED_NOTHING,
    HEAD_ASKED_WHETHER_COMPLETE,
    HEAD_ASKED_COMPLETIONS, /* how it could go on at the cursor */
    HEAD_ASKED_MEANING,     /* what stands at the cursor */
};

struct head_question {
    enum head_topic topic;
    const char *code;
    size_t len;
    size_t cursor; /* characters before it */
    bool is_detailed;
};

struct head_judgement {
    json_t *hints; /* on completions or the meaning: hints.h; NULL if there are none to give */
    enum head_completeness status;
    bool goes_on;    /* complete, but what follows may belong to it: an indented block of Python */
    unsigned indent; /* columns that the next line is likely to begin at */
};

struct head_prompt {
    const char *text;
    size_t len;
    bool is_password; /* not to be shown while it is typed */
};

/* What came of head_checkpoint. */
struct head_fork {
    uint64_t id;
    bool is_forked;
    unsigned threads;   /* of the head at that moment; 0: it can never be copied */
    const char *reason; /* why not; NULL if it forked, or the driver did not say */
};

/* Callbacks may release the head. */
struct head_listener {
    /* `notes`: what a woken copy could not put right; NULL for a new interpreter. */
    void (*on_ready)(struct head *head, const json_t *notes);
    void (*on_forked)(struct head *head, const struct head_fork *fork);
    /* What head_load brought back, and what not. */
    void (*on_loaded)(struct head *head, const json_t *report);
    void (*on_set)(struct head *head); /* what head_setup asked for is in place */
    /* Answer both with head_ack. An update has a display_id. */
    void (*on_display)(struct head *head, json_t *output, bool is_update);
    /* What was shown so far is to be dropped: now, or once there is something in its place. */
    void (*on_clear)(struct head *head, bool waits);
    void (*on_done)(struct head *head, const struct head_verdict *verdict);
    /* The cell's code calls an operation: answer with head_result. A second call replaces the
     * first, for which the code waits no more. `args` is an object, valid during the callback. */
    void (*on_call)(struct head *head, const char *op, json_t *args);
    /* The cell waits for a line: answer with head_input. A second one replaces the first. */
    void (*on_input)(struct head *head, const struct head_prompt *prompt);
    void (*on_names)(struct head *head, json_t *names);   /* the answer to head_ask_names */
    void (*on_declared)(struct head *head, json_t *told); /* to head_ask_declarations */
    void (*on_judged)(struct head *head,
                      const struct head_judgement *judgement); /* to head_judge */
    /* To head_call_tool: an object with "result", or with "error", whose members are texts. NULL
     * where no tool is ever called. */
    void (*on_tool)(struct head *head, json_t *answer);
    void (*on_denied)(struct head *head, const char *call); /* a system call, by its name */
    void (*on_signaled)(struct head *head); /* a signal of head_signal reached the process */
    /* `why`: "", or what besides bytes it is over. */
    void (*on_over_quota)(struct head *head, uint64_t bytes, const char *why);
    void (*on_end)(struct head *head, const struct head_end_facts *facts);
};

/* Orders that take descriptors along. */
enum head_order { HEAD_ORDER_CELL, HEAD_ORDER_CHECKPOINT, HEAD_ORDER_SAVE, HEAD_ORDER_LOAD };

struct head {
    struct list node; /* the pool's: where it waits */
    const struct runtime_profile *profile;
    json_t **report; /* where its report on its profile is kept, if it loads the profile itself */
    void *owner;     /* a session, or a shelf of the pool */
    const struct head_listener *listener;
    struct warden *warden;
    uint64_t number;       /* the warden's name for it */
    char name[UUID_SIZE];  /* the id of the session that gets it */
    struct room *room;     /* NULL once released */
    struct list room_node; /* among the room's heads */
    enum head_state state;
    bool has_process;         /* the warden was asked for one and has not said that it ended */
    bool is_watched;          /* the warden looks after the files of its running cell */
    bool awaits_input;        /* its cell waits for head_input */
    bool awaits_result;       /* its cell waits for head_result */
    bool is_asked;            /* for its names */
    bool is_asked_declared;   /* for its declarations */
    enum head_topic judging;  /* a text, see head_judge */
    uint64_t tool_call;       /* the tool that runs in it, see head_call_tool; 0: none does */
    bool is_assistant;        /* runs tools, and no cells: belongs to no session */
    unsigned n_forks;         /* that it was asked for and has not answered */
    bool is_copy;             /* of a snapshot */
    int given;                /* the descriptor that came along with its first frame; -1 if none */
    struct denials *denied;   /* hears of denied system calls; NULL if the kernel cannot tell */
    struct list denials_node; /* among those that are told */

    int sock;
    struct loop_poll *poll;
    struct frame_reader in;
    struct list large_node; /* among those whose `in` is large */
    size_t large_bytes;     /* of it; 0 if it is not */
    struct buf out;         /* not sent yet */
    size_t out_sent;
    int out_fds[2];           /* go with the first byte of `out`; -1: none, or sent */
    enum head_order order;    /* what they belong to */
    uint64_t order_id;        /* the order's number, as the driver is told */
    struct loop_timer *again; /* tries once more to send them; NULL unless the kernel refused */
    uint64_t
        dropped_fork; /* the checkpoint whose order was dropped, which is not told yet; 0: none */
    uint64_t refused_ms; /* when the kernel first refused (monotonic); 0: it has not */
    uint64_t running_id; /* the cell; 0 if none */
    bool has_called;     /* an operation, in this turn of the loop */
    struct loop_timer
        *turn; /* the next one, in which other frames are read; NULL if none was needed */
    struct head_work *work; /* a long frame being read by a worker thread */
    uv_loop_t *loop;
    unsigned n_holds; /* functions that are using it */
    bool is_freed;    /* as soon as none does */
};

/* A head in a room, maybe one with others. */
struct head *head_new(struct room *room, uv_loop_t *loop, uint64_t number);
/* Lets a fork of the zygote walk in. */
int head_enter(struct head *head, uint32_t zygote, struct err *e);
/* Ends its process if it has one, and leaves the room; the owner hears nothing more. */
void head_free(struct head *head);
/* The head's process is the caller's to end from now on. */
void head_disown(struct head *head);
/* Hands the control socket to the caller, so that the interpreter does not see EOF; -1 if it is
 * closed. Nothing is read or sent any more. */
int head_take_channel(struct head *head);
void head_on_event(struct head *head, const struct warden_event *event);

/* Before the first cell: where it works (NULL if it stays as it is) and what its environment holds
 * besides (an object of strings, or NULL). */
int head_setup(struct head *head, const char *cwd, const json_t *env, struct err *e);

struct head_cell {
    uint64_t id;
    const char *code;
    size_t len;
    const char *plain; /* what is run instead if the code does not compile and this does; NULL if
                          there is nothing. Of Python */
    size_t plain_len;
    enum head_names names;
    bool is_script;      /* as a file that is run: its name is "<string>". Of Python */
    bool explores;       /* the code has the functions that explore contexts. Of Python */
    const json_t *chain; /* its calls were made: what came of them, see drivers/python/planned.py;
                            NULL if the code is run. Of Python */
    bool exit_ends; /* an exit of the code ends the interpreter, not only the cell. Of Node.js and
                       bash */
};

/* Runs a cell that writes to `out_fd` and `err_fd`; both are closed here in any case. */
int head_run(struct head *head, const struct head_cell *cell, int out_fd, int err_fd,
             struct err *e);
void head_ack(struct head *head);
/* The line that the cell waits for, without its newline; NULL if there will be no line. False if it
 * does not wait. */
bool head_input(struct head *head, const char *text, size_t len);
/* What came of the operation that the cell's code has called: its answer, which is JSON, or, if
 * that is NULL, why it failed. False if the cell does not wait for it. */
bool head_result(struct head *head, const char *json, size_t len, const struct err *e);
/* The interpreter must be idle. It lists at most `max` names. */
int head_ask_names(struct head *head, unsigned max, struct err *e);
/* The interpreter must be idle: declarations.h. */
int head_ask_declarations(struct head *head, struct err *e);
/* The interpreter must be idle, and judge nothing else. */
int head_judge(struct head *head, const struct head_question *question, struct err *e);
/* Lets an idle interpreter of Python run a tool of ours (drivers/python/tools/): one at a time,
 * `id` is not 0. `args` is borrowed. */
struct head_tool {
    uint64_t id;
    const char *name;
    const json_t *args;
    bool is_whole; /* the result is wanted in full, however long: not as a file of the workspace */
};

int head_call_tool(struct head *head, const struct head_tool *tool, struct err *e);

/* Lets an idle interpreter fork: the copy sleeps and speaks on `sock`, which is closed here in any
 * case. A cell may follow at once, and begins after the fork. */
int head_checkpoint(struct head *head, uint64_t id, int sock, struct err *e);
/* The head must be WAITING: it becomes a copy that a snapshot wakes, with that snapshot's filter.
 * Returns the socket that the copy is to speak on, or -1. */
int head_await(struct head *head, struct denials *denied, struct err *e);

enum head_save_format { HEAD_SAVE_STATE, HEAD_SAVE_NAMESPACE };

struct head_save {
    uint64_t id;
    enum head_save_format format;
    uint64_t max_bytes;
    bool is_last; /* the interpreter is not used afterwards: it may save without a copy */
};

/* An idle interpreter, or a copy of it, writes its state to `sock`, which is closed here in any
 * case. */
int head_save(struct head *head, const struct head_save *save, int sock, struct err *e);
void head_write_save(struct buf *out, const struct head_save *save);
/* An idle interpreter takes over the state that it reads from `fd`, which is closed here in any
 * case. */
int head_load(struct head *head, uint64_t id, int fd, struct err *e);

/* A Python that has run nothing yet gets ready for head_load and head_save; it says nothing, and
 * takes whatever follows after that. */
void head_rehearse(struct head *head);

/* A pair for what the warden has to adopt: the kernel tells who writes to socks[0]. */
int head_socketpair(int socks[2], struct err *e);

void head_signal(struct head *head, int sig);
void head_watch(struct head *head, bool is_busy);

/* ---- for the rest of the room ---------------------------------------------------------------- */

/* Every change of `state`, as the diagram above has it. */
void head_move(struct head *head, enum head_state to);
