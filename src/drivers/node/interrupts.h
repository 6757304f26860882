/* SIGINT, and how it stops a cell.
 *
 * 1. The signal handler notes which cell the signal is for: the one that runs, or the one whose
 * frame waits unread. Otherwise it is ignored: it came too late. (The daemon sends a cell only
 * after every interrupt of the one before has been delivered.)
 * 2. The watcher, a thread, knocks at the event loop. A loop that turns answers at once: the cell
 *    waits for something, and is simply declared over.
 * 3. A loop that does not turn is busy with JavaScript, which V8 is told to terminate, again and
 *    again until the loop turns. Termination unwinds everything down to the loop and can be caught
 *    by nobody; what user code defined stays.
 * 4. When the last frame of JavaScript is gone, what Node.js keeps about its stack is put in order.
 * 5. Nothing is terminated while the driver itself works (the shield), nor after the loop has
 * turned.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct uv_loop_s;

/* `socket` is where cells arrive. `interrupted` is called in the event loop, with nothing else on
 * the stack, once for each cell that is to end. False if this Node.js cannot be interrupted. */
bool interrupts_start(struct uv_loop_s *loop, int socket, void (*interrupted)(void));

/* Node.js keeps a stack of async ids, which JavaScript that is terminated leaves in disorder, and
 * aborts when it finds it so. These are its fields. */
struct interrupts_async {
    uint32_t *checks; /* 0: disorder is tolerated */
    uint32_t *depth;
    double *execution_id;
    double *trigger_id;
};
void interrupts_tidy(const struct interrupts_async *async);

/* Frames are about to be read: an interrupt is now for the cell that is perhaps among them. */
void interrupts_take(void);
/* They were read, and there was none, or it is already over. */
void interrupts_take_nothing(void);
/* False if the cell that was taken is already to end. */
bool interrupts_begin_cell(void);
bool interrupts_is_running(void);
/* Is the cell that runs to end? `interrupted` will be called, if it is not over before. */
bool interrupts_is_asked(void);
/* As if a signal had come for the cell that runs, which called this itself: JavaScript ends when it
 * returns. */
void interrupts_ask(void);
void interrupts_end_cell(void);

void interrupts_shield(bool is_shielded);
