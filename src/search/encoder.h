/* Vectors of texts from what the configuration names: a command of the operator's, which is run for
 * each batch, or a server, which a box asks (explore/fetch.h). What comes back is handed on as it
 * came: it is read in the box of the index. Daemon; on the loop. */
#pragma once

#include "base/err.h"

#include <jansson.h>

typedef struct uv_loop_s uv_loop_t;

struct search_encoding;

enum {
    ENCODER_BATCH = 16,      /* texts of a request */
    ENCODER_TEXT_MAX = 1200, /* bytes of a text */
    ENCODER_MS = 60000,      /* of one request */
};

/* Ends what is under way, before the loop ends. */
void search_encoder_stop(void);

/* `answer`: the descriptor of a file with JSON, borrowed; -1 on error. */
typedef void (*search_encoded_fn)(void *context, int answer, const struct err *e);

/* `texts` is taken. The callback comes later from the loop. NULL with the error. */
struct search_encoding *search_encode(uv_loop_t *loop, const json_t *setting, json_t *texts,
                                      bool is_question, search_encoded_fn fn, void *context,
                                      struct err *e);
/* The callback will not come; takes NULL. */
void search_encoding_forget(struct search_encoding *encoding);
