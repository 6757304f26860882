/* Reads archives: the work of the box, over any source of bytes. Everything that an archive says of
 * itself is a claim; what counts is what was unpacked. */
#pragma once

#include "base/buf.h"
#include "base/err.h"

#include <sys/types.h>

struct archive_input {
    ssize_t (*read_at)(void *context, void *data, size_t len, uint64_t offset); /* or -errno */
    void *context;
    uint64_t size;
};

struct archive_limits {
    uint64_t unpacked, member; /* bytes */
    size_t files;
    uint64_t ratio;
    int depth;
};

extern const struct archive_limits archive_limits; /* those of archive.h */

struct archive_order {
    enum archive_op { ARCHIVE_LIST, ARCHIVE_READ, ARCHIVE_SEARCH, ARCHIVE_UNPACK } op;
    const char *member; /* READ; LIST and UNPACK: an archive inside, or NULL */
    const char *query;  /* SEARCH */
    size_t max_results;
    uint64_t max_bytes; /* READ; 0: the whole member */
    /* READ, UNPACK: where the bytes go; 0 or -errno. */
    int (*write)(void *context, const void *data, size_t len);
    void *context;
    const struct archive_limits *limits;
};

/* Appends the answer, one JSON object as archive.h has it. 0, or -1 and then no answer. Needs
 * archive_lib_load. */
int archive_walk(const struct archive_input *in, const struct archive_order *order,
                 struct buf *answer, struct err *e);
