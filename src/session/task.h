/* Work that a caller asked for and that takes several turns of the loop: a change of a notebook, a
 * run of its cells, an import. The caller may go away; the work ends with its owner. */
#pragma once

#include "base/list.h"
#include "store/store.h"

struct engine;
struct loop_timer;

/* All that one owner has under way. */
struct tasks {
    struct engine *engine;
    struct list under_way;
};

/* Embedded at the beginning of the real thing. */
struct task {
    struct list node;
    struct tasks *tasks;               /* NULL if they were closed while a worker had this one */
    struct engine *engine;             /* NULL likewise */
    bool is_busy;                      /* a worker has the task in hand and ends it */
    bool is_forgotten;                 /* the caller went away */
    struct store_call *asked;          /* of the store; NULL if nothing is */
    struct loop_timer *later;          /* NULL before the first task_later */
    void (*fn)(struct task *task);     /* what is done then */
    void (*end)(struct task *task);    /* frees what the task has beside itself; may be NULL */
    void (*forget)(struct task *task); /* called by task_forget; may be NULL */
};

void tasks_init(struct tasks *tasks, struct engine *engine);
void tasks_close(struct tasks *tasks); /* all of them end, and no caller is told */

void *task_new(struct tasks *tasks, size_t size, void (*end)(struct task *task));
void task_end(struct task *task);
/* Calls `fn` from the loop. */
void task_later(struct task *task, void (*fn)(struct task *task), uint64_t in_ms);
/* The caller went away and is not called back; what was asked for may still happen. Legal until the
 * caller was called back. NULL is fine. */
void task_forget(struct task *task);
