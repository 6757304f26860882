/* Boxes that do one piece of work and end: archives, PDFs, web pages. Archives and PDFs take the
 * processor and share a queue; pages mostly wait for the network and have one of their own. A box
 * gets the file, a request and empty files in memory; what it answers is checked as if an enemy had
 * written it. */
#pragma once

#include "base/buf.h"
#include "explore/worker.h"

struct explore_boxes;
struct explore_job;

enum {
    EXPLORE_JOBS_MAX = 2,     /* archives and PDFs at work at a time, */
    EXPLORE_FETCHES_MAX = 8,  /* and pages of the web */
    EXPLORE_WAITING_MAX = 32, /* more are refused with ERR_LIMIT */
    EXPLORE_JOB_MS = 30000,   /* of work, then the box is killed */
    EXPLORE_WAIT_MS = 60000,  /* of waiting */
};

struct explore_boxes *explore_boxes_new(uv_loop_t *loop);
/* Kills the boxes at work, without callbacks. NULL is fine. */
void explore_boxes_free(struct explore_boxes *boxes);
/* The callback will not come. Legal until it was called; takes NULL. */
void explore_job_forget(struct explore_job *job);

/* Runs the box whose word the first argument is, or returns -1. For a main() that links this room.
 */
int explore_boxes_main(int argc, char **argv);

/* ---- for archive.c, pdf.c and fetch.c -------------------------------------------------------- */

#define EXPLORE_REPORT_MAX (8 * MIB) /* bytes of what a box answers */

/* Descriptors of a box. */
enum {
    BOX_IN,      /* the stranger's file, or /dev/null */
    BOX_ANSWER,  /* an empty file for its answer */
    BOX_TO,      /* the caller's file for large results, or /dev/null */
    BOX_REQUEST, /* JSON */
    BOX_N_FDS,
};

/* Exit statuses. */
enum { BOX_DONE = 0, BOX_NO_WALLS = 120, BOX_MISUSED = 121, BOX_NO_LIBRARY = 122 };

struct explore_outcome {
    const json_t *request;
    int status;       /* the exit status of the box */
    const char *text; /* what it answered */
    size_t len;
    int to; /* BOX_TO, or -1 */
};

struct explore_kind {
    const char *word;    /* the program's first argument */
    const char *subject; /* "the archive": of sentences */
    const char *late;    /* advice if it took too long */
    const char *killed;  /* advice if it ended the box */
    const char *walls;   /* what it takes, if walls could not be built */
    const char *install; /* advice if a library or program is missing */
    const char *large;   /* the error if BOX_TO became too large */
    bool fetches;        /* the work is to wait for the network */
    /* The box has ended by itself. 0: *ret is the result; 1: *ret is another request, for the same
     * job; -1: `e` says why not. */
    int (*conclude)(const struct explore_outcome *outcome, json_t **ret, struct err *e);
};

struct explore_order {
    const struct explore_kind *kind;
    json_t *request; /* stolen */
    int in, to;      /* closed here in any case; -1: none */
    explore_answer_fn fn;
    void *context;
};

/* The callback comes later from the loop. NULL if too many jobs wait. */
struct explore_job *explore_order(struct explore_boxes *boxes, const struct explore_order *order,
                                  struct err *e);
/* The answer as an object, for conclude: 0, or -1 with the error that the box told. */
int explore_read_report(const struct explore_outcome *outcome, json_t **ret, struct err *e);

/* ---- inside a box ---------------------------------------------------------------------------- */

/* What libraries do once, with calls that are not allowed later. */
void explore_box_warm_up(void);
/* The request, or NULL. */
json_t *explore_box_request(void);
int explore_box_write(int fd, const void *data, size_t len); /* 0 or -errno */
/* Answers and ends the process. */
_Noreturn void explore_box_answer(const struct buf *answer);
_Noreturn void explore_box_fail(const struct err *e);
