/* What the operations on a session's files share. */
#pragma once

#include "ops/ops.h"
#include "session/files.h"

#define OP_PARAM_FILE_PATH                                                                         \
    {                                                                                              \
        .name = "path", .type = OP_TEXT, .place = OP_IN_PATH, .is_required = true, .min = 1,       \
        .max = WARDEN_PATH_SIZE - 1,                                                               \
        .doc = "The file, below /workspace: data/points.csv. Slashes may stand as they are."       \
    }
/* Of what is about a folder: without it, about the whole workspace. */
#define OP_PARAM_FOLDER                                                                            \
    {                                                                                              \
        .name = "path", .type = OP_TEXT, .place = OP_IN_QUERY, .max = WARDEN_PATH_SIZE - 1,        \
        .doc = "A folder below /workspace; default: /workspace itself."                            \
    }

extern const struct op_shape shape_file_entry; /* session_file_list.c */

/* The order with this action and the call's path. */
struct warden_file_order file_call_what(const struct call *call, enum warden_file_action action);
/* Orders it, and leaves the answer to the listener, whose context is the call. `out`: see
 * warden_file; the caller's. */
void file_call_order(struct call *call, const struct warden_file_order *what, int out,
                     const struct file_listener *listener);
/* Likewise of what is read through a pipe: the listener takes its end with file_call_pipe, and has
 * file_call_unread for failures. */
void file_call_read(struct call *call, const struct warden_file_order *what,
                    const struct file_listener *listener);
int file_call_pipe(struct call *call);
void file_call_unread(void *context, const struct err *e);
void file_call_failed(void *context, const struct err *e); /* for listeners */
/* Answers with the members of `details`, or with its member of this name. */
void file_call_reply(struct call *call, int http_status, const json_t *details, const char *member);

/* Takes the body of the call into the store, of so many MiB at most, then goes on with its hash. */
typedef void (*call_kept_fn)(struct call *call, const char *hash);
void call_upload(struct call *call, uint32_t max_mb, call_kept_fn then);

/* Takes the body of the call into the store, piece by piece and as far as the session's disk limit
 * allows; then orders `what` with its hash. */
void file_call_upload(struct call *call, const struct warden_file_order *what,
                      const struct file_listener *listener);
