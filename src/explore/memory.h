/* What is remembered of explorations, as numbers: what an outcome is worth, what is learnt from it,
 * which memory fits a new task best. Without I/O; the rows are the store's (store/memories.h).
 *
 * A memory is a task, which is a text, and an action, which is how it was explored: the same task
 * explored in the same way is the same memory. Its value Q, 0 to 1, says how well that went. */
#pragma once

#include "base/buf.h"

#include <jansson.h>

enum {
    MEMORY_ID_SIZE = 17,
    MEMORY_TASK_MAX = 2000,    /* bytes */
    MEMORY_ACTION_MAX = 500,   /* bytes */
    MEMORY_CANDIDATES = 20,    /* the nearest tasks, of which the best are told: */
    MEMORY_RESULTS = 5,        /* so many */
    MEMORY_PENALTIES = 1000,   /* of each kind that one outcome may have */
    MEMORIES_OF_AGENT = 10000, /* of all its users */
};

#define MEMORY_SIMILAR 0.3 /* the least similarity of a candidate */
#define MEMORY_Q_FIRST 0.5

enum memory_outcome { MEMORY_OPEN, MEMORY_SUCCESS, MEMORY_PARTIAL, MEMORY_FAILURE };
extern const char *const memory_outcomes[]; /* names; NULL at the end */

/* What an outcome is worth: less for each gate that refused what was done, and for each time that
 * somebody else had to help. */
double memory_reward(enum memory_outcome outcome, int64_t gate_failures, int64_t escalations);
double memory_learn(double q, double reward);
double memory_score(double q, double similarity);

/* The same texts have the same id. */
void memory_id(const char *agent, const char *user, const char *task, const char *action,
               char ret[MEMORY_ID_SIZE]);

/* How it was explored, by the log: "search: grep 3, peek 1". */
void memory_action(const json_t *log, struct buf *out);

/* One of the nearest tasks. */
struct memory_found {
    uint64_t key; /* of its row */
    double similarity;
    double score;
};

/* The nearest so far, which memory_find_begin leaves empty. */
struct memory_finding {
    struct memory_found nearest[MEMORY_CANDIDATES]; /* the most similar first */
    size_t n;
};

void memory_find_add(struct memory_finding *finding, uint64_t key, double q, double similarity);
/* The best first; returns how many are to be told. */
size_t memory_find_end(struct memory_finding *finding);
