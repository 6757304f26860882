/* The keeper: a small process beside the warden that measures workspaces against their quota and
 * removes them, so that neither a huge tree nor a slow disk ever holds up the warden.
 *
 * There is no quota on a directory that an ordinary user could set, so it is measured: often while
 * a cell runs and the limit could be reached soon, seldom while processes linger, and when a jail
 * is at rest only if the disk's free space falls without a reason. Over the limit every write that
 * would grow a file fails with EFBIG (the soft file size limit of the jail's processes becomes 0)
 * until files were deleted; who lifts that limit and goes on filling the disk is killed.
 *
 * A session can prolong the look at it, so looks are taken by a crew of threads
 * (jail/warden/crew.h), each with a budget; the process's main thread takes orders and plans, and
 * waits for no process. */
#pragma once

/* Sets aside what a warden that was killed left behind of its own, jails that were never entered,
 * before the first jail is made; the keeper removes it in its own time. Workspaces with a name are
 * the daemon's to remove or to use again. */
void keeper_set_leftovers_aside(int workspaces);
/* Likewise with one unused workspace: its name is free at once. KEEPER_SWEEP follows. */
void keeper_set_aside(int workspaces, const char *name);

/* The keeper's whole life; `sock` carries struct keeper_order and struct keeper_word. */
_Noreturn void keeper_main(int sock, int workspaces);
