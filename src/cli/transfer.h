/* Files between here and a session's workspace: streamed, whatever their size. */
#pragma once

#include "cli/client.h"

#include <jansson.h>

/* "ID:path": a path in a session's workspace; or a path here. */
struct cli_place {
    const char *text; /* as it was given */
    char *session; /* the session's id, name or the beginning of the id; NULL if the path is here */
    char *path;    /* there: below /workspace, "" for all of it */
    bool is_folder; /* it ends in a slash */
};

struct cli_place cli_place_of(const char *word);
void cli_place_free(struct cli_place *place);

/* A line on the terminal while something takes long. */
struct cli_transfer {
    bool shows;           /* a person looks at stderr */
    const char *name;     /* what is on its way */
    uint64_t done, total; /* bytes; a total of 0 is not known */
    uint64_t shown_ms;    /* when it was last told; 0: never */
    int left_by;          /* the signal that ended it, or 0 */
};

void cli_transfer_begin(struct cli_transfer *t, const char *name, uint64_t total);

/* Appends a path as a part of a URL; `in_query`: slashes are encoded, too. */
void cli_append_path(struct buf *out, const char *path, bool in_query);
/* "/v1/sessions/ID/WHAT/PATH" */
void cli_session_path(struct buf *out, const char *session_id, const char *what, const char *path);

/* What there is at a path: its entry. ERR_NOT_FOUND if there is nothing. */
int cli_file_stat(struct cli_client *c, const char *session_id, const char *path,
                  json_t **ret_entry, struct err *e);
/* All entries below a folder, page by page; `query` begins with '&' or is "". */
int cli_file_list(struct cli_client *c, const char *session_id, const char *path, const char *query,
                  json_t **ret_entries, struct err *e);

/* A stream of any length, or a regular file. */
int cli_file_put(struct cli_client *c, const char *session_id, int fd, const char *path,
                 struct cli_transfer *t, struct err *e);
/* To a descriptor. */
int cli_file_get(struct cli_client *c, const char *session_id, const char *path, int fd,
                 struct cli_transfer *t, struct err *e);
/* To a file here, which is there as a whole or not at all; its folder is made. */
int cli_file_get_to(struct cli_client *c, const char *session_id, const char *path,
                    const char *local, uint32_t mode, struct cli_transfer *t, struct err *e);
/* A folder, with all files and folders in it: links and the like are named on stderr and left out.
 */
int cli_folder_put(struct cli_client *c, const char *session_id, const char *local,
                   const char *path, struct cli_transfer *t, struct err *e);
int cli_folder_get(struct cli_client *c, const char *session_id, const char *path,
                   const char *local, struct cli_transfer *t, struct err *e);
/* As a tar archive, to a descriptor. */
int cli_folder_get_packed(struct cli_client *c, const char *session_id, const char *path, int fd,
                          struct cli_transfer *t, struct err *e);
