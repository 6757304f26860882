/* What cells wrote. A session keeps the last bytes of each stream in a ring, each byte credited to
 * the cell whose pipe it came through, so that late output of an earlier cell stays its own. One
 * answer is cut to a budget: its first and its last bytes, with the number left out between.
 *
 * Invariants of a ring: kept bytes == sum of the segments' lengths == end - start; bytes of one
 * cell have rising offsets in that cell's stream; no memory before the first byte. */
#pragma once

#include "base/buf.h"

enum output_stream { OUTPUT_STDOUT, OUTPUT_STDERR, OUTPUT_STREAMS };

const char *output_stream_name(enum output_stream stream);

struct output_segment {
    uint64_t exec_id;
    uint64_t exec_offset; /* of its first byte in that cell's stream */
    size_t len;
};

struct output_ring {
    char *data;
    size_t cap;     /* grows by doubling up to max */
    size_t max;     /* bytes kept at most */
    size_t first;   /* index of the oldest byte */
    uint64_t start; /* its offset in the session's stream: what came before was dropped */
    uint64_t end;   /* bytes ever written */
    struct output_segment *segments;
    size_t segments_cap; /* a power of two */
    size_t segments_first;
    size_t segments_len;
};

void output_ring_init(struct output_ring *ring, size_t max);
void output_ring_free(struct output_ring *ring);
size_t output_ring_kept(const struct output_ring *ring); /* bytes */

/* Bytes of one cell, which wrote `exec_offset` bytes to this stream before. */
void output_ring_append(struct output_ring *ring, uint64_t exec_id, uint64_t exec_offset,
                        const char *data, size_t len);

/* What a reader gets. All numbers count bytes; with exec_id 0 they are offsets in the session's
 * stream, else in that cell's. */
struct output_range {
    uint64_t offset;      /* of the first byte returned: later than asked if that was dropped */
    uint64_t next_offset; /* where to go on */
    uint64_t end;         /* bytes written so far */
    uint64_t dropped;     /* bytes between what was asked for and what is still there */
};

/* Appends at most `limit` raw bytes to `out`. A limit that would cut a character gives a few bytes
 * less, unless nothing would be left. */
void output_ring_read(const struct output_ring *ring, uint64_t exec_id, uint64_t offset,
                      size_t limit, struct buf *out, struct output_range *ret);

/* What a cell wrote to one stream since it last answered: the first bytes; the last ones are still
 * in the ring when it answers again. */
struct output_capture {
    struct buf head; /* raw bytes, from `told` on */
    size_t head_max;
    uint64_t told;  /* bytes that earlier answers were about */
    uint64_t total; /* bytes written so far */
};

/* `budget` is the answer's; the ring keeps at most `ring_max` of what the head does not. */
void output_capture_init(struct output_capture *capture, size_t budget, size_t ring_max);
/* The next answer has another budget. */
void output_capture_resize(struct output_capture *capture, size_t budget, size_t ring_max);
void output_capture_free(struct output_capture *capture);
uint64_t output_capture_new(const struct output_capture *capture); /* bytes */
void output_capture_append(struct output_capture *capture, const char *data, size_t len);

/* Writes what is new in the stream of a cell as valid UTF-8 within `share` bytes of raw text to
 * `out`; returns the number of bytes left out. */
uint64_t output_capture_write(const struct output_capture *capture, const struct output_ring *ring,
                              uint64_t exec_id, size_t share, struct buf *out);

/* For an answer that is not the last: the beginning of a character at the end of the stream is put
 * aside, and given back when the capture starts again behind what was told. */
struct output_rest {
    char bytes[4];
    size_t len;
};
void output_capture_set_aside(struct output_capture *capture, const struct output_ring *ring,
                              uint64_t exec_id, struct output_rest *ret);
void output_capture_restart(struct output_capture *capture, const struct output_rest *rest);

/* The next answer begins `offset` bytes into the stream, if that is later than it would. */
void output_capture_forget(struct output_capture *capture, const struct output_ring *ring,
                           uint64_t exec_id, uint64_t offset);

/* Cuts text to `share` bytes, head and tail, as above. */
uint64_t output_cut_text(const char *text, size_t len, size_t share, struct buf *out);

/* Length of the longest beginning that does not end inside a character. */
size_t output_whole_prefix(const char *text, size_t len);
