/* The state stream: records of JSON, some with a body in chunks.
 *
 *   record = u32 length, JSON header; with "body":true then follow chunks (u32 length, bytes), the
 *   last of length zero. Numbers are little-endian.
 *
 * A sandbox writes it, so every length is a claim, and memory grows with what has arrived. */
#pragma once

#include "store/store.h"

enum {
    STREAM_RECORDS_MAX = 100000,
    STREAM_NAMES_MAX = 200000,
    STREAM_DEADLINE_MS = 60000,
    STREAM_DEADLINE_MAX_MS = 300000, /* less than the age of blobs that may be removed */
};
#define STREAM_HEADER_MAX (64 * KIB)
#define STREAM_CHUNK_MAX (1 * MIB)

/* Where bytes come from: as many as there are, up to `len`; 0 at the end, -1 with an error. */
struct stream_source {
    ssize_t (*read)(void *context, void *out, size_t len, struct err *e);
    void *context;
};

/* Where bodies go. `end` gives the record its hash, and the body itself if it is small. */
struct stream_sink {
    int (*add)(void *context, const void *data, size_t len, struct err *e);
    int (*end)(void *context, struct store_record *record, struct err *e);
    void *context;
};

/* Reads one whole stream into the state. On error nothing of the state counts. */
int stream_read(const struct stream_source *source, const struct stream_sink *sink,
                const struct store_limits *limits, struct store_state *state, struct err *e);
