/* tar archives: headers out, entries in. ustar with the extensions that are met in practice: pax
 * records (Python, git, bsdtar) and the long names and large numbers of GNU tar. A reader of our
 * own because what it must understand is a hundred lines, it works on pieces of any size without
 * files and without memory that grows, and libarchive would bring a dozen formats and filters that
 * nobody asked for into a process that may write to all workspaces. */
#pragma once

#include "base/buf.h"

enum {
    TAR_BLOCK = 512,
    TAR_PATH_MAX = 4095,          /* bytes of a path and of a link's target */
    TAR_EXTENSION_MAX = 64 << 10, /* bytes of pax records, or of a long name, before an entry */
};
#define TAR_SIZE_MAX ((uint64_t)1 << 53)

enum tar_type { TAR_FILE, TAR_DIR, TAR_LINK, TAR_HARD_LINK, TAR_OTHER /* pipes, devices */ };

struct tar_entry {
    enum tar_type type;
    uint32_t mode; /* permissions */
    uint64_t size; /* FILE: bytes; else 0 */
    int64_t mtime_s;
    char path[TAR_PATH_MAX + 1];   /* as it stands there, the slash behind a directory left out */
    char target[TAR_PATH_MAX + 1]; /* LINK, HARD_LINK; else "" */
};

/* ---- writing: the head of each entry, its bytes, zeros up to a whole block; at last the end ----
 */

void tar_put_head(struct buf *out, const struct tar_entry *entry);
void tar_put_end(struct buf *out);
size_t tar_padding(uint64_t size); /* zeros that follow the bytes of a file */

/* ---- reading --------------------------------------------------------------------------------- */

struct tar_listener {
    /* An entry begins; of a FILE its bytes follow in pieces, then on_end. Not 0: stop. */
    int (*on_entry)(void *context, const struct tar_entry *entry);
    int (*on_data)(void *context, const char *data, size_t len);
    int (*on_end)(void *context);
};

struct tar_reader {
    const struct tar_listener *listener;
    void *context;
    char block[TAR_BLOCK];
    size_t n_block; /* bytes of it that are there */
    uint64_t left;  /* bytes of the current entry, or of an extension */
    size_t padding; /* zeros behind them */
    bool is_in_file;
    char extension;     /* type of the extension that is being read; 0: none */
    struct buf records; /* its bytes */
    char long_path[TAR_PATH_MAX + 1], long_target[TAR_PATH_MAX + 1]; /* of the next entry; or "" */
    uint64_t long_size;
    bool has_long_size;
    unsigned n_zeros; /* empty blocks at the end */
    struct tar_entry entry;
    const char *wrong; /* why the archive is refused; NULL while it is not */
};

void tar_reader_init(struct tar_reader *r, const struct tar_listener *listener, void *context);
void tar_reader_free(struct tar_reader *r);
/* 0; -1: see `wrong`; else what a listener returned. */
int tar_read(struct tar_reader *r, const char *data, size_t len);
/* All has been read: -1 if the archive ends in the middle of something. */
int tar_read_end(struct tar_reader *r);
