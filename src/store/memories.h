/* What agents remember of explorations: rows that belong to an agent and to one of its users, and
 * outlive sessions. What their numbers mean: explore/memory.h. */
#pragma once

#include "explore/embed.h"
#include "explore/memory.h"
#include "store/store.h"

struct store_memory {
    const char *id;
    const char *agent;
    const char *user; /* "" for nobody in particular */
    const char *session;
    const char *task;
    const char *action;
    const char *outcome; /* the last one, a name of memory_outcomes */
    const char *log;     /* JSON: what was called and what it cost; NULL if nothing was */
    double q;
    uint64_t n_outcomes;
    uint64_t created_ms, updated_ms; /* wall clock */
    double similarity, score;        /* of a search */
};

/* What became of an exploration. A memory of the same task and action, for the same user, learns
 * from it; else it is a new one. */
struct store_lesson {
    const char *agent, *user, *session, *task, *action;
    const char *log;             /* NULL if what is kept stays */
    enum memory_outcome outcome; /* MEMORY_OPEN: none yet, and nothing is learnt */
    double reward;
    size_t keep; /* memories of an agent; 0: MEMORIES_OF_AGENT */
};

/* `row` is the memory as it is now, NULL on error, and `n_dropped` how many were forgotten for it:
 * of the user who has the most, those of the least Q, of them the oldest. */
typedef void (*store_memory_fn)(void *context, const struct store_memory *row, uint64_t n_dropped,
                                const struct err *e);
/* `fn` is called when it is on disk. NULL if the queue is full. */
struct store_call *store_learn(struct store *store, const struct store_lesson *lesson,
                               store_memory_fn fn, void *context, struct err *e);

/* `count` is how many there are; the views are valid during the call. */
typedef void (*store_memories_fn)(void *context, const struct store_memory *list, size_t n,
                                  uint64_t count, const struct err *e);
/* The memories of this agent and user that fit the text best, at most MEMORY_RESULTS, the best
 * first. */
struct store_call *store_recall(struct store *store, const char *agent, const char *user,
                                const char *query, store_memories_fn fn, void *context);
/* The newest first, at most STORE_PAGE_MAX; NULL for all agents, all users. */
struct store_call *store_list_memories(struct store *store, const char *agent, const char *user,
                                       uint64_t offset, uint32_t limit, store_memories_fn fn,
                                       void *context);

/* How many were forgotten. `id` is NULL for all of this agent (NULL for every one) and user
 * (likewise).
 */
typedef void (*store_forgotten_fn)(void *context, uint64_t n, const struct err *e);
struct store_call *store_delete_memories(struct store *store, const char *agent, const char *user,
                                         const char *id, store_forgotten_fn fn, void *context,
                                         struct err *e);
