/* What the operations share that give out pictures of cells: finding one, and having it at the size
 * that was asked for. */
#pragma once

#include "image/image.h"
#include "ops/notebook_call.h"

struct image_call;

/* Where a picture stands. */
struct image_place {
    const char *notebook;
    const char *cell; /* its id or number; its id once it was found */
    uint64_t n;
};

/* What it is. */
struct image_facts {
    const char *hash; /* of the bytes; 64 hexadecimal digits */
    enum image_format format;
    uint32_t width, height; /* 0: not known */
    uint64_t bytes;
};

/* The call is answered with the error if one of the following cannot be done; then the function is
 * not called. All of it is forgotten when the client goes away. */
typedef void (*image_found_fn)(struct image_call *ic);
void image_call_find(struct call *call, const struct image_place *place, image_found_fn fn);
struct call *image_call_of(const struct image_call *ic);
const struct image_place *image_call_place(const struct image_call *ic);
const struct image_facts *image_call_facts(const struct image_call *ic);

/* Its size if it is to fit into the call's "width" and "height"; false if none of that means
 * scaling it. */
bool image_call_fits(const struct image_call *ic, uint32_t *ret_width, uint32_t *ret_height);

/* The file, at that size; a descriptor that is the callee's, at its beginning. */
typedef void (*image_opened_fn)(struct image_call *ic, const struct image_scaled *file);
void image_call_open(struct image_call *ic, image_opened_fn fn);

/* The file is not needed. */
void image_call_close(struct image_call *ic);

/* The file as base64; its descriptor is taken over. */
typedef void (*image_text_fn)(struct image_call *ic, const char *text, size_t len);
void image_call_encode(struct image_call *ic, const struct image_scaled *file, image_text_fn fn);

/* The parameters "width" and "height". */
#define OP_PARAMS_SIZE                                                                             \
    {.name = "width",                                                                              \
     .type = OP_INT,                                                                               \
     .place = OP_IN_QUERY,                                                                         \
     .min = 1,                                                                                     \
     .max = IMAGE_SIDE_MAX,                                                                        \
     .doc =                                                                                        \
         "Pixels that it may be wide: a larger PNG or JPEG is scaled down and keeps its shape."},  \
    {                                                                                              \
        .name = "height", .type = OP_INT, .place = OP_IN_QUERY, .min = 1, .max = IMAGE_SIDE_MAX,   \
        .doc = "Pixels that it may be high."                                                       \
    }
