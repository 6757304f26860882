/* Files that go along with a notebook or with code: into the workspace of its session, before the
 * first cell. */
#pragma once

#include "cli/args.h"
#include "cli/client.h"

enum {
    CLI_WITH_FILES_MAX = 1000,
};
#define CLI_WITH_BYTES_MAX ((uint64_t)1 << 40) /* of all of them: more is a mistake */

struct cli_with_file {
    char *path;  /* here */
    char *place; /* there: below /workspace */
    uint64_t bytes;
};

struct cli_with {
    char *home; /* the notebook's directory, absolute and without links */
    struct cli_with_file *files;
    size_t n, cap;
    uint64_t bytes;
    bool shows;  /* a person looks at stderr */
    int left_by; /* the signal that ended cli_with_put, or 0 */
};

/* Finds all that --with asks for. What lies below the notebook's directory keeps its path from
 * there, what does not has its own name; a directory stands for what is in it. */
int cli_with_read(const struct cli_args *args, const char *notebook, struct cli_with *ret,
                  struct err *e);
void cli_with_free(struct cli_with *with);

int cli_with_put(struct cli_with *with, struct cli_client *c, const char *session_id,
                 struct err *e);

/* A cell failed with this message. If it names a file that lies beside the notebook and did not go
 * along, says so on stderr, with the flag that would take it along. */
bool cli_with_advise(const struct cli_with *with, const char *notebook, const char *message,
                     size_t len);
