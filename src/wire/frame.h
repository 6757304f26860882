/* Driver frames: a u32 little-endian length, then that many bytes of JSON. The peer is hostile: a
 * claimed length is only a claim, and memory grows with what has really arrived. */
#pragma once

#include "base/buf.h"
#include "base/err.h"

#include <sys/types.h>

#define FRAME_MAX (64 * MIB) /* bytes of payload */

struct frame_reader {
    struct buf in;
    size_t at;     /* consumed bytes at the front of `in` */
    size_t looked; /* bytes of the frame there that were looked at before all of it had come */
};

#define FRAME_READER_INIT ((struct frame_reader){.in = {.max = FRAME_MAX + MIB}})

void frame_reader_free(struct frame_reader *r);

/* One read from a channel (base/channel.h). Returns the number of bytes, 0 at the end of the
 * stream, -EAGAIN when there is nothing now, -EBADMSG if a descriptor came along, or another
 * -errno. Take all frames with frame_next before the next call: views into the reader end here. */
ssize_t frame_fill(struct frame_reader *r, int fd);
/* The same from a peer that is trusted so far, with at most one descriptor that came along;
 * `*ret_fd` is left as it is if none did. */
ssize_t frame_fill_with(struct frame_reader *r, int fd, int *ret_fd);

/* Frees the space of payloads that were read; views into the reader end here, too. */
void frame_compact(struct frame_reader *r);

/* The same from memory, for what did not come from a descriptor. */
bool frame_feed(struct frame_reader *r, const void *data, size_t len);

/* A payload is text: a NUL byte in a payload that is not complete belongs to the length of the next
 * frame, so the peer wrote only half of the first.
 *
 * 1 and a view of the next whole payload (not NUL-terminated), 0 if there is none yet, or -1 if the
 * peer broke the protocol; such a stream cannot be read any further. */
int frame_next(struct frame_reader *r, const char **ret_payload, size_t *ret_len, struct err *e);

/* The payload that frame_next gave just now, for longer: it lies in `ret_bytes`, which is the
 * caller's to free. Not copied if nothing has arrived after it. */
const char *frame_take(struct frame_reader *r, const char *payload, size_t len,
                       struct buf *ret_bytes);

/* True if the stream would end inside a frame. */
bool frame_is_partial(const struct frame_reader *r);

/* Writing: frame_begin leaves room for the length and returns where; append the payload; frame_end
 * fills the length in. False if the payload is too long or the buffer overflowed. */
size_t frame_begin(struct buf *out);
bool frame_end(struct buf *out, size_t mark);
