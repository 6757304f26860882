/* Landlock: the second wall around files, and the only one around abstract sockets and signals that
 * does not depend on a namespace. */
#pragma once

#include "base/base.h"

int landlock_abi(void); /* 0 where the kernel has none */

/* Restricts the calling process inside its jail, and its copies in rooms below it if `may_branch`,
 * for which the rules about files are wider. 0, or -errno. Does nothing at ABI 0: the
 * namespaces stand without it, and doctor says so. */
int landlock_restrict_self(bool may_branch);
