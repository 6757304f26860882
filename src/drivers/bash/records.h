/* The stream of a saved state: records, each a length and JSON, some followed by a body in pieces,
 * each a length and bytes, which one without bytes ends. A body of ours is a list of names and
 * shell source, each ended by a NUL. */
#pragma once

#include "drivers/bash/request.h"
#include "wire/json.h"

enum { RECORD_HEADER_MAX = 64 * 1024, RECORD_PIECE_MAX = 1024 * 1024 };

/* A header is what json_put_* wrote into `header`; the body may be NULL. */
int records_put(int fd, const struct buf *header, const struct buf *body);

/* The next record: `r` is a view into `header`, and `body` has its body or nothing. -EPIPE at the
 * stream's end, -EBADMSG if it is not one of ours. */
int records_take(int fd, struct bash_request *r, struct buf *header, struct buf *body);
