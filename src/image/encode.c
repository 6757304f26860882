/* A picture as text for an answer: read, or made smaller first. Daemon; owns the call under way. */
#include "image/image.h"
#include "loop/loop.h"
#include "wire/base64.h"

#include <errno.h>
#include <string.h>

struct image_encoding {
    uv_work_t uv;
    int fd;
    uint64_t bytes;
    struct buf text;
    int error;           /* -errno */
    image_encoded_fn fn; /* NULL if the call was forgotten */
    void *context;
};

static void encode(uv_work_t *uv)
{
    struct image_encoding *encoding = CONTAINER_OF(uv, struct image_encoding, uv);
    size_t len = (size_t)encoding->bytes;
    _free_ char *data = mem_alloc(len + 1);
    for (size_t at = 0; at < len && encoding->error == 0;) {
        ssize_t n = pread(encoding->fd, data + at, len - at, (off_t)at);
        if (n <= 0)
            encoding->error = n < 0 ? -errno : -EIO; /* shorter than it should be */
        else
            at += (size_t)n;
    }
    if (encoding->error == 0 && !base64_encode(&encoding->text, data, len))
        encoding->error = -EFBIG;
}

static void encoded(uv_work_t *uv, int status)
{
    struct image_encoding *encoding = CONTAINER_OF(uv, struct image_encoding, uv);
    struct err e;
    (void)status;
    if (encoding->fn != NULL && encoding->error < 0) {
        err_errno(&e, ERR_UNAVAILABLE, -encoding->error, "cannot read the picture");
        encoding->fn(encoding->context, NULL, 0, &e);
    } else if (encoding->fn != NULL) {
        encoding->fn(encoding->context, buf_str(&encoding->text), encoding->text.len, NULL);
    }
    close(encoding->fd);
    buf_free(&encoding->text);
    free(encoding);
}

struct image_encoding *image_encode(struct image_boxes *boxes, int fd, uint64_t bytes,
                                    image_encoded_fn fn, void *context)
{
    struct image_encoding *encoding = mem_alloc(sizeof(*encoding));
    encoding->fd = fd;
    encoding->bytes = MIN(bytes, (uint64_t)IMAGE_RESULT_MAX + 1);
    encoding->text = BUF_INIT(base64_encoded_len(IMAGE_RESULT_MAX));
    encoding->fn = fn;
    encoding->context = context;
    uv_queue_work(image_boxes_loop(boxes), &encoding->uv, encode, encoded);
    return encoding;
}

void image_encode_forget(struct image_encoding *encoding)
{
    if (encoding != NULL)
        encoding->fn = NULL;
}
