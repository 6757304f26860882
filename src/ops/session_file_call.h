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

/* Orders it, and leaves the answer to the listener, whose context is the call. */
void file_call_order(struct call *call, enum warden_file_action action, const char *blob,
                     const struct file_listener *listener);
void file_call_failed(void *context, const struct err *e); /* for listeners */
