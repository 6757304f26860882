/* What a notebook wrote into its workspace, and how it gets out of there. */
#pragma once

#include "cli/transfer.h"

/* All files of the session as they are now; NULL if they cannot be listed. */
json_t *cli_written_look(struct cli_client *c, const char *session_id);
/* Those that are new or changed since then, without caches and what is hidden: a list of
 * {"path", "bytes"}; empty if that cannot be told. */
json_t *cli_written_since(struct cli_client *c, const char *session_id, const json_t *before);
/* Into a folder here, by their paths. */
int cli_written_fetch(struct cli_client *c, const char *session_id, const json_t *written,
                      const char *folder, struct cli_transfer *t, struct err *e);
/* "results.csv (1.2 kB), plots/a.png (30.1 kB) and 4 more" */
void cli_written_describe(const json_t *written, struct buf *out);
