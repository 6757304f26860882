/* What the files about callers' orders share. files.c has one file at a time, files_tree.c what is
 * about many (lists, copies, archives), streams.c what is sent while the next orders are carried
 * out. */
#pragma once

#include "jail/files/archive.h"
#include "jail/files/tree.h"

struct json_out;

/* One order under way. */
struct file_job {
    int workspace, store;
    int bytes_out;     /* where bytes go to; -1: nowhere. The caller's */
    const char *place; /* the workspace's name */
    const struct warden_file_order *order;
    struct stat top; /* the workspace, whose owner owns everything in it */
    struct archive_filed *out;
};

/* ---- files.c --------------------------------------------------------------------------------- */

int file_refuse(const struct file_job *j, const char *path, const char *what, const char *advice);
int file_refuse_errno(const struct file_job *j, const char *path, int errnum);

/* The directory that the path's last part is in; `makes`: and those on the way. -errno */
int file_open_parent(const struct file_job *j, const char *path, bool makes, const char **ret_name);
/* The directory itself; "" is the workspace. -errno */
int file_open_dir(const struct file_job *j, const char *path, bool makes);
/* Bytes on the disk that may still be used; 0 if there are too many names. */
uint64_t file_space_left(const struct file_job *j);
int file_refuse_space(const struct file_job *j, uint64_t bytes, uint64_t left);
uint64_t file_on_disk(uint64_t bytes); /* whole blocks */

enum { FILE_TEMP_SIZE = 48 };
const char *file_temp_name(char out[FILE_TEMP_SIZE]);
/* A copy of an open file, with an owner and a mode, under a name that is new; -errno, and then
 * there is none. */
int file_make(const struct file_job *j, int dir, const char *name, int from, mode_t mode,
              struct stat *ret_st);

/* Puts what is in the store into place, by all these rules. */
int file_put_blob(const struct file_job *j, const char *path, const struct blob_hash *hash,
                  mode_t mode, struct manifest_entry *ret);

/* The list of files to which the session would go back, if there is one; else NULL. -1: refused */
int file_load_base(const struct file_job *j, struct manifest **ret);
int file_keep_manifest(const struct file_job *j, const struct buf *manifest);
int file_amend(const struct file_job *j, const struct manifest_changes *changes);

/* {"path","type",...} of what has the name `name` in `dir`, as listed. */
void file_put_entry(struct json_out *o, const char *path, int dir, const char *name,
                    const struct stat *st);

/* ---- files_tree.c ---------------------------------------------------------------------------- */

int file_list(const struct file_job *j);
int file_copy(const struct file_job *j);
int file_unpack(const struct file_job *j);
/* '*', '?' and '[a-z]' stop at slashes, '**' does not. */
bool file_matches(const char *pattern, const char *text);

/* ---- streams.c ------------------------------------------------------------------------------- */

enum file_stream_kind { FILE_STREAM_BYTES, FILE_STREAM_PACK, FILE_STREAM_WATCH };

/* A thread of its own sends it to a copy of `bytes_out` until that is closed or all is sent; takes
 * `source` over in any case. Refused if there are too many. */
int file_stream(const struct file_job *j, enum file_stream_kind kind, int source, uint64_t first,
                uint64_t length);
