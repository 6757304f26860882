/* Who hears of the system calls that a filter denied. A head that walks in brings a filter of its
 * own; copies of it keep the filter, and with it the listener. So what listens is shared by a line
 * of heads and snapshots, and ends with the last of them. */
#pragma once

#include "base/list.h"
#include "jail/denied.h"

struct denials;
struct head;

/* Takes the descriptor. NULL if it is none. */
struct denials *denials_new(uv_loop_t *loop, int listener, uint64_t network);
struct denials *denials_hold(struct denials *denials); /* takes NULL and returns it */
void denials_drop(struct denials *denials);            /* takes NULL */
/* From now on the head is told what is denied, by its listener's on_denied, as long as it can only
 * be meant: of several copies it is not known which one made the call, unless one alone runs a
 * cell.
 */
void denials_join(struct denials *denials, struct head *head);
