/* The keeper: a small process beside the warden that measures workspaces against their quota and
 * removes them, so that neither a huge tree nor a slow disk ever holds up the warden.
 *
 * There is no quota on a directory that an ordinary user could set, so it is measured: often while
 * a cell runs and the limit could be reached soon, seldom while processes linger, never when a jail
 * is at rest. Over the limit every write that would grow a file fails with EFBIG (the soft file
 * size limit of the jail's processes becomes 0) until files were deleted; who lifts that limit and
 * goes on filling the disk is killed. */
#pragma once

/* The keeper's whole life; `sock` carries struct keeper_order and struct keeper_word. */
_Noreturn void keeper_main(int sock, int workspaces);
