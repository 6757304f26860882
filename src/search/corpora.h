/* Indexes of the folders that the configuration names: one for all who search there. Daemon; on the
 * loop. */
#pragma once

#include "search/library.h"

/* Where they lie; borrowed until corpora_stop. */
void corpora_use(uv_loop_t *loop, int folder);
void corpora_stop(void); /* ends their processes; nobody is called back */
/* NULL, with the error, if there is none of this name. */
struct search_library *corpora_find(const char *name, struct err *e);
