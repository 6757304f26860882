/* Boxes: this program, run again for one piece of work on a stranger's bytes. Who waits, who works,
 * how they end; what a box gives up before it reads the first byte is in loop/walls.h. */
#pragma once

#include "loop/loop.h"

#include <sys/types.h>

struct loop_boxes;
struct loop_box;

struct loop_boxes_limits {
    size_t at_work, waiting; /* boxes at a time */
    uint64_t queue_ms;       /* of waiting for one */
};

struct loop_box_end {
    enum loop_box_how {
        BOX_EXITED,  /* value: the exit status */
        BOX_KILLED,  /* value: the signal */
        BOX_LATE,    /* it took longer than it was given, and was killed */
        BOX_CROWDED, /* it never began: others were at work for queue_ms */
        BOX_FAILED,  /* it never began; value: -errno */
    } how;
    int value;
};

struct loop_box_events {
    /* It is its turn: starts the process (loop_box_spawn). 0 or -errno. */
    int (*start)(void *context, pid_t *ret_pid);
    /* Once, from the loop; never if the box was forgotten. */
    void (*on_end)(void *context, const struct loop_box_end *end);
    /* In any case, and the last: the process has ended, the context may be freed. */
    loop_fn on_freed;
};

struct loop_boxes *loop_boxes_new(uv_loop_t *loop, const struct loop_boxes_limits *limits);
uv_loop_t *loop_boxes_loop(const struct loop_boxes *boxes);
/* Kills the boxes at work and waits for their ends; on_freed of all comes later from the loop.
 * NULL is fine. */
void loop_boxes_free(struct loop_boxes *boxes);

/* Waits its turn, then works for work_ms at most. NULL if too many wait; then nothing is called. */
struct loop_box *loop_box_new(struct loop_boxes *boxes, uint64_t work_ms,
                              const struct loop_box_events *events, void *context);
/* on_end will not come; a box at work is killed. Legal until on_end was called. NULL is fine. */
void loop_box_forget(struct loop_box *box);

/* Runs this program with these arguments, without environment: its descriptors are `fds` as 0 to
 * n_fds - 1 (-1: /dev/null), each at most once, and none else that is close-on-exec. 0 or -errno.
 */
int loop_box_spawn(char *const *argv, const int *fds, size_t n_fds, pid_t *ret_pid);
