/* Archives: a workspace recorded in the store of blobs, and made again from it. This is the work;
 * archivist.h is the process that does it, with the rights of all jails' users. Everything in a
 * workspace may change at any moment, by a process that would like to see a file outside
 * of it read or written:
 *
 * 1. Every name is opened below a directory that is held open, one step at a time, and never
 * through a link or onto another mount (tree_open). No path of more than one name is ever resolved.
 * 2. Nothing is opened that could make us wait: pipes and leases are refused by O_NONBLOCK.
 * 3. What was opened is looked at again (fstat) before it is believed to be what was listed.
 *
 * What is unchanged since the last time is not read again. Inode, size, mtime and ctime tell; the
 * ctime is the kernel's and cannot be set, so neither utime() nor a rename hides a change. Three
 * things could, and do not:
 *  - a change in the same tick of the kernel's clock as the last reading: what was young then is
 * read once more (archive_see);
 *  - a store into a page that a process has mapped and written to before: the page is made clean
 *    before the file is read, so that the next store is seen (record.c);
 *  - a write that began before the reading: the reading waits for it (record.c). */
#pragma once

#include "jail/files/manifest.h"
#include "jail/warden.h"

#include <sys/stat.h>

/* What is known of one workspace from the last record or restore. One caller at a time. */
struct archive {
    struct manifest *manifest; /* NULL if nothing is known */
    struct blob_hash hash;     /* of the manifest */
    struct archive_seen *seen; /* as the entries of the manifest */
    uint64_t touched_ms;       /* when all its blobs were last found in the store; 0: not known */
};

struct archive_seen {
    uint64_t inode; /* 0: look at it again */
    uint64_t size;
    int64_t mtime_ns;
    int64_t ctime_ns;
    bool is_settled; /* the same ctime will mean the same bytes */
    bool is_hole;    /* it had no data: all its bytes were zero */
};

void archive_drop(struct archive *a);
/* Takes over both. */
void archive_know(struct archive *a, struct manifest *m, const struct blob_hash *hash,
                  struct archive_seen *seen, uint64_t touched_ms);

struct archive_seen archive_see(const struct stat *st, int64_t at_ns); /* looked at then */
bool archive_is_same_stat(const struct archive_seen *seen, const struct stat *st);
/* The same bytes for certain. */
bool archive_is_unchanged(const struct archive_seen *seen, const struct stat *st);

struct archive_recorded {
    bool has_manifest;
    struct blob_hash manifest;
    uint64_t files;      /* names of any kind, the workspace itself not counted */
    uint64_t skipped;    /* those of them without content: pipes, sockets, devices */
    uint64_t bytes;      /* of all files */
    uint64_t new_bytes;  /* that the store did not have */
    bool is_torn;        /* something changed meanwhile */
    bool is_over_budget; /* there is no manifest, and will not be as long as the files are these */
    char reason[1024];   /* why there is no manifest; any bytes, for a path may be in it */
};

/* `base`: the manifest of the last record, or NULL; if it is ours and we looked for its blobs not
 * long ago, they are not looked for again. */
void archive_record(struct archive *a, int workspace, int store, const struct blob_hash *base,
                    const struct archive_budget *budget, struct archive_recorded *ret);

enum {
    ARCHIVE_ERRORS_MAX = 20,
    ARCHIVE_ERROR_SIZE = 400,
    ARCHIVE_LOST_MAX = 20,
    ARCHIVE_LOST_SIZE = 256, /* of a path, with the NUL; a longer one is cut */
};

struct archive_restored {
    uint64_t changed, removed, created; /* names */
    size_t n_errors;                    /* that were kept; one more says how many were not */
    uint64_t n_errors_dropped;
    char errors[ARCHIVE_ERRORS_MAX][ARCHIVE_ERROR_SIZE];
    size_t n_lost; /* of what is not there any more as it was: removed, or with other bytes */
    char lost[ARCHIVE_LOST_MAX][ARCHIVE_LOST_SIZE];
};

/* Crash in the middle: a file that exists keeps its inode, because a sleeping copy of an
 * interpreter may hold it open; so it is overwritten, and an archivist that is killed meanwhile
 * leaves it half done. That is harmless because a restore is not finished until it was answered: it
 * is given again, knows nothing, and compares every file with its hash. What can fail is done
 * first: the blob is read and checked, then the disk space is reserved, then bytes are replaced. A
 * file that does not exist, or whose inode has another name as well, is written beside and renamed
 * into place. */
void archive_restore(struct archive *a, int workspace, int store, const struct blob_hash *wanted,
                     struct archive_restored *ret); /* NULL if there are no files at all */
/* The manifest of a workspace without files, of which `top` is known. */
struct manifest *archive_no_files(const struct stat *top, struct blob_hash *ret_hash);

/* ---- files, for a caller outside of the jail ------------------------------------------------- */

enum {
    ARCHIVE_FILE_MODE =
        0644, /* of a new file; a file that replaces another keeps the mode of that */
    ARCHIVE_DETAILS_MAX = 56 * 1024,
};

struct archive_filed {
    struct err err; /* ERR_NONE: it is done */
    uint64_t bytes; /* of the file */
    struct blob_hash hash;
    bool is_new; /* there was none of this name */
    bool has_manifest;
    struct blob_hash manifest; /* the base with this change */
    struct buf details;        /* an object of JSON, or empty; the caller's to free */
};

/* Whether this can be the path of a file below a workspace. */
int archive_check_path(const char *path, struct err *e);
int archive_check_order(const struct warden_file_order *order, struct err *e);
/* No link is followed on the way to a file or at its end. What a file is put in place of stays what
 * it was for whoever has it open. `place`: the workspace's name; `bytes_out`: see warden_file. */
void archive_file(int workspace, const char *place, int store,
                  const struct warden_file_order *order, int bytes_out, struct archive_filed *ret);
