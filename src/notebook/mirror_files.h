/* cells.json, for tools that read notebooks as files: WORKSPACES/USER/SESSION/mcp_repl/cells.json.
 * The folders of users lie between the workspaces of sessions, which are named by their ids; no
 * user's folder has such a name, nor one that begins with a dot.
 *
 * A file's time is that of the last change that is in it, so that the next daemon can tell which of
 * them are not current. Everything here but the first function is for a worker, and only one at a
 * time works. */
#pragma once

#include "base/base.h"
#include "base/buf.h"

enum { MIRROR_FOLDER_SIZE = 256 };

/* The user's name, where it can be that of a folder. Else what cannot be in one is "%" and two
 * hexadecimal digits; the rest of a name that gets too long by it is "%-" and its hash. Two users
 * never have the same. */
void mirror_folder_of(const char *user, char out[MIRROR_FOLDER_SIZE]);

/* In one step: readers find the old file or the new one. `at_ms` is the time of the last change.
 * 0 or -errno. */
int mirror_write(int data_dir, const char *user, const char *id, const struct buf *text,
                 uint64_t at_ms);

/* Removes the notebook's file, of whichever user, and the folders that are empty without it. */
void mirror_remove(int data_dir, const char *id);

/* All files that there are. */
typedef void (*mirror_file_fn)(void *context, const char *id, uint64_t at_ms);
void mirror_each(int data_dir, mirror_file_fn fn, void *context);
