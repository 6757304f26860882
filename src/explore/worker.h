/* The daemon's side of a box: one for each session that explores. No process before the first
 * request, none after EXPLORE_IDLE_MS without any: a session that does not explore costs nothing.
 *
 * Requests are {"op":…} objects, which name texts by their keys ("source":KEY); numbers are of
 * characters, as Python counts them (explore/text.h). Texts of answers may hold NUL characters:
 * json_string_length counts.
 *
 *   {"op":"open","source":K}
 *       -> {"bytes","chars","lines","is_text"}
 *   {"op":"peek","source":K,"n":500,"offset":0}
 *       -> {"text","offset","chars"}, and "is_cut":true if the text is shorter than it should be,
 *          because an answer has at most EXPLORE_ANSWER_MAX bytes: "left" characters of those asked
 * for
 *   {"op":"grep","source":K,"pattern":…,"context_lines":2,"max_results":100,"is_literal":false,
 *    "is_cased":false,"threads":0}
 *       -> {"hits":[{"line","text","before":[…],"after":[…]}],"count","is_cut"}; lines from 1,
 * texts of at most EXPLORE_LINE_CHARS characters, "column" if a text begins inside its line;
 *          "is_cut" if there are more hits. What matches: explore/grep.h. ERR_INVALID with a
 *          position if the pattern is wrong, ERR_LIMIT if it is too expensive
 *   {"op":"chunk","source":K,"n_chunks":4,"overlap":200}
 *       -> {"chunks":[{"index","start","end","char_count"}]}, and with "is_described":true
 *          "line_count" and "first_line", the beginning of the first that is not empty; with
 *          "has_text":true "text", of at most "text_chars", and "is_cut":true if that is not all */
#pragma once

#include "base/buf.h"
#include "base/err.h"
#include "blob/blob.h"
#include "explore/explore.h"

#include <jansson.h>

typedef struct uv_loop_s uv_loop_t;

struct explore_worker;
struct explore_ask;

/* A file that a request names by its key. The bytes under a key never change. */
struct explore_source {
    char key[BLOB_HEX_SIZE];
    int fd; /* of a regular file; borrowed during explore_ask */
};

/* Which box it is, and what it is about, in sentences. Strings are borrowed. */
struct explore_worker_kind {
    const char *word;    /* the program's first argument */
    const char *subject; /* "texts" */
    const char *walls;   /* what it takes, if walls could not be built */
    const char *late;    /* advice if a request took too long */
    const char *ended;   /* advice if the process ended by itself */
    uint64_t idle_ms;    /* without requests, then the process ends */
    bool has_folders;    /* of its own: */
    int folders[2];      /* descriptors above 9, which it has as 3 and 4; -1: none */
};

struct explore_worker *explore_worker_new(uv_loop_t *loop);
/* Likewise another box, which is served by explore_box_serve. */
struct explore_worker *explore_worker_of(uv_loop_t *loop, const struct explore_worker_kind *kind);
/* Kills the process, without callbacks. Takes NULL; legal in a callback of the worker. */
void explore_worker_free(struct explore_worker *w);

/* `result` is NULL on error, and borrowed. */
typedef void (*explore_answer_fn)(void *context, json_t *result, const struct err *e);

/* Requests wait for each other. The request is stolen in any case; at most EXPLORE_SOURCES_MAX
 * sources, all of those that it names. The process is killed, and ERR_TIMEOUT told, if it works
 * longer than `limit_ms` on this one. The callback comes later from the loop. NULL if too many
 * requests wait (ERR_LIMIT), or if the request is too large. */
struct explore_ask *explore_ask(struct explore_worker *w, json_t *request,
                                const struct explore_source *sources, size_t n, uint64_t limit_ms,
                                explore_answer_fn fn, void *context, struct err *e);
/* The callback will not come. Legal until it was called; takes NULL. */
void explore_ask_forget(struct explore_ask *ask);

/* The box's side. */
struct explore_box_desk {
    void (*map)(void *context, const char *key, int fd); /* takes the descriptor */
    void (*drop)(void *context, const char *key);
    /* Appends {"result":{…}} or {"error":{"code","message","advice"}}. */
    void (*answer)(void *context, const json_t *request, struct buf *out);
    void *context;
};

/* Answers what comes from descriptor 0 until the daemon closes its end; returns the exit status. */
int explore_box_serve(const struct explore_box_desk *desk);

/* The process, for tests and figures; 0 if there is none. */
pid_t explore_worker_pid(const struct explore_worker *w);
