/* image: pictures that come out of sandboxes. Promises: no byte of a picture is decoded in the
 * daemon; whatever is, is decoded by a process of its own that can do nothing but read the picture,
 * write the result and end, within limits of time and memory. What a header claims is read here by
 * a small parser that believes nothing. Owns those processes. May call wire, loop and base. */
#pragma once

#include "base/buf.h"
#include "base/err.h"

typedef struct uv_loop_s uv_loop_t;

/* ---- what it is ------------------------------------------------------------------------------ */

enum image_format { IMAGE_UNKNOWN, IMAGE_PNG, IMAGE_JPEG, IMAGE_GIF, IMAGE_WEBP, IMAGE_SVG };

const char *image_format_name(enum image_format format); /* "png"; "" if it is not known */
const char *image_format_type(enum image_format format); /* "image/png", or that of any bytes */
enum image_format image_format_of_name(const char *name);

/* What the bytes are, by themselves: a picture of that size, neither side 0. Its header alone is
 * looked at: the first kilobyte of most, of JPEG whatever comes before its frame. False if it is
 * none of PNG, JPEG, GIF and WebP, is cut off or damaged there; then nothing is written. */
bool image_probe(const void *data, size_t len, enum image_format *ret_format, uint32_t *ret_width,
                 uint32_t *ret_height);

/* The same for a picture as base64, without line ends. At most IMAGE_PROBE_BYTES are decoded. */
bool image_probe_base64(const char *text, size_t len, enum image_format *ret_format,
                        uint32_t *ret_width, uint32_t *ret_height);

#define IMAGE_PROBE_BYTES (192 * KIB) /* a multiple of three */

/* ---- another size ---------------------------------------------------------------------------- */

enum {
    IMAGE_SIDE_MAX = 8192,     /* of what may be asked for */
    IMAGE_SOURCE_SIDE = 65535, /* of what may be scaled */
    IMAGE_BOXES_MAX = 2,       /* at work at a time */
    IMAGE_QUEUE_MAX = 32,      /* waiting for one; more are refused with ERR_LIMIT */
    IMAGE_BOX_MS = 10000,      /* of work, then the box is killed */
    IMAGE_QUEUE_MS = 20000,    /* of waiting */
};

#define IMAGE_RESULT_MAX (32 * MIB)
#define IMAGE_PIXELS_MAX ((uint64_t)64 * 1024 * 1024) /* of what may be scaled */

/* The size of a picture that is to fit into max_width times max_height (0: as large as it is) and
 * keeps its shape. Never larger than it is; neither side becomes 0. */
void image_fit(uint32_t width, uint32_t height, uint32_t max_width, uint32_t max_height,
               uint32_t *ret_width, uint32_t *ret_height);

struct image_boxes;
struct image_job;

struct image_boxes *image_boxes_new(uv_loop_t *loop);
uv_loop_t *image_boxes_loop(const struct image_boxes *boxes);
/* Kills the boxes at work, without callbacks. NULL is fine. */
void image_boxes_free(struct image_boxes *boxes);

/* The result, in the picture's own format. */
struct image_scaled {
    int fd; /* at its beginning; the callee's */
    uint64_t bytes;
    uint32_t width;
    uint32_t height;
};

/* `scaled` is NULL on error. */
typedef void (*image_scaled_fn)(void *context, const struct image_scaled *scaled,
                                const struct err *e);

/* The room that there is for a picture; 0: as much as it takes. */
struct image_size {
    uint32_t width, height;
};

bool image_can_scale(enum image_format format); /* PNG and JPEG */

/* Makes a picture of that format smaller. `fd` is a regular file at its beginning and is closed
 * here in any case. The callback comes later from the loop. NULL if too many pictures wait. */
struct image_job *image_scale(struct image_boxes *boxes, int fd, enum image_format format,
                              struct image_size most, image_scaled_fn fn, void *context,
                              struct err *e);
/* The callback will not come. Legal until it was called. */
void image_forget(struct image_job *job);

/* A PNG or JPEG as sixels for a terminal, within that room: waits for a box. -errno; -EBADMSG if
 * it is neither, or if the box gave no sixels. */
int image_sixels(const void *picture, size_t len, struct image_size most, struct buf *out);

/* ---- as text --------------------------------------------------------------------------------- */

struct image_encoding;

/* `text` is NULL on error, and valid during the call. */
typedef void (*image_encoded_fn)(void *context, const char *text, size_t len, const struct err *e);

/* The file as base64, made by a worker. `fd` is closed here in any case. */
struct image_encoding *image_encode(struct image_boxes *boxes, int fd, uint64_t bytes,
                                    image_encoded_fn fn, void *context);
void image_encode_forget(struct image_encoding *encoding);

/* ---- the box --------------------------------------------------------------------------------- */

/* The program runs itself again with this as its first argument: whoever has a main() that links
 * this room and scales pictures calls image_box_main with what follows it. */
#define IMAGE_BOX_WORD "image-box"
#define IMAGE_BOX_SIXELS "sixels"          /* behind width and height: what is to be made */
int image_box_main(int argc, char **argv); /* the exit status; argv[0] is the width */
/* Closes the box: from now on this process can do next to nothing. 0 or -errno. */
int image_box_close(void);
