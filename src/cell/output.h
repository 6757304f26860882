/* What cells wrote to their streams. The bytes of a cell lie in pieces, each written once and then
 * shared: by the cell's transcript, for as long as a row or an answer will tell of them, and by the
 * session's ring of that stream, which has the last bytes of all its cells for `/output`, each byte
 * credited to the cell whose pipe it came through: late output of an earlier cell stays its own.
 *
 * Invariants of a ring: kept bytes == sum of the segments' lengths == end - start <= max; bytes of
 * one cell have rising offsets in that cell's stream; no memory before the first byte. */
#pragma once

#include "base/buf.h"
#include "base/list.h"

enum output_stream { OUTPUT_STDOUT, OUTPUT_STDERR, OUTPUT_STREAMS };
enum { OUTPUT_PIECE_MAX = 16 * 1024 }; /* bytes of a piece */

const char *output_stream_name(enum output_stream stream);

/* Consecutive bytes of one stream of one cell. */
struct output_piece {
    struct list node; /* in the cell's transcript; linked to itself once that has no use for it */
    unsigned refs;
    uint64_t item;   /* the transcript's item that has it, by its serial; 0 if none has */
    uint64_t at;     /* bytes of text that the transcript's items had before it */
    uint64_t offset; /* of the first byte in the cell's stream */
    size_t len, cap;
    char bytes[];
};

struct output_piece *output_piece_new(size_t cap);
void output_piece_release(struct output_piece *piece);

struct output_segment {
    uint64_t exec_id;
    uint64_t exec_offset; /* of its first byte in that cell's stream */
    size_t len;
    struct output_piece *piece; /* has them all */
};

struct output_ring {
    size_t max;     /* bytes kept at most */
    uint64_t start; /* offset of the oldest byte in the session's stream */
    uint64_t end;   /* bytes ever written */
    struct output_segment *segments;
    size_t segments_cap; /* a power of two */
    size_t segments_first;
    size_t segments_len;
};

void output_ring_init(struct output_ring *ring, size_t max);
void output_ring_free(struct output_ring *ring);
size_t output_ring_kept(const struct output_ring *ring); /* bytes */

/* Shares the last `len` bytes of a cell's piece. */
void output_ring_append(struct output_ring *ring, uint64_t exec_id, struct output_piece *piece,
                        size_t len);

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

/* Appends a text of `total` bytes as valid UTF-8, of which only the first and the last are there:
 * cut at whole characters, with the number of bytes left out between them, which is returned. */
uint64_t output_write_cut(const char *head, size_t head_len, const char *tail, size_t tail_len,
                          uint64_t total, struct buf *out);
/* Likewise a text that is cut to `share` bytes, half of them its first; whole if it fits. */
uint64_t output_cut_text(const char *text, size_t len, size_t share, struct buf *out);

/* Bytes at the beginning of a tail that are left of a character that was cut. */
size_t output_cut_character(const char *text, size_t len);
/* Length of the longest beginning that does not end inside a character. */
size_t output_whole_prefix(const char *text, size_t len);
