/* Children that are not ours any more. A copy of the shell has the list of jobs, but is nobody's
 * parent: the kernel tells it nothing of those that still run, and bash would take them to have
 * exited with 0. Here they are watched through pidfds. They stay in the list, can be killed and
 * waited for as before; when they end their status is 127, which bash gives to what is no child of
 * it. */
#pragma once

#include "base/base.h"

/* The builtin `kill` takes the number `$$`, which stays what it was, for this shell's own. */
void children_install(void);

/* In the copy that goes to sleep: those that run become adopted ones. */
void children_part(void);

/* Whether adopted children are watched through this descriptor. */
bool children_is_watch(int fd);

/* In a copy of a checkpoint that becomes the shell, leader of its own process group. */
void children_renew(void);

/* In a copy that goes to a room of its own, where none of them is. */
void children_leave(void);

/* Before a cell: lets bash look at those that have ended since; no signal tells it. */
void children_notice(void);
