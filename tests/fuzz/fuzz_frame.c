#include "wire/frame.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool claim)
{
    if (!claim)
        abort();
}

/* Feeds in pieces and writes all frames again; false if the stream was refused in the end. */
static bool read_frames(const uint8_t *data, size_t size, size_t step, struct buf *out)
{
    struct frame_reader r = FRAME_READER_INIT;
    int got = 0;
    for (size_t at = 0; at < size && got >= 0; at += step) {
        require(frame_feed(&r, data + at, MIN(step, size - at)));
        const char *payload;
        size_t len;
        struct err e;
        while ((got = frame_next(&r, &payload, &len, &e)) == 1) {
            require(len >= 1 && len <= size);
            size_t mark = frame_begin(out);
            buf_append(out, payload, len);
            require(frame_end(out, mark));
        }
    }
    require(r.in.cap < 4 * size + 4096); /* whatever lengths were claimed */
    frame_reader_free(&r);
    return got >= 0;
}

/* Frames come out the same in whatever pieces they arrive, and are written as they were read. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 1)
        return 0;
    _buf_ struct buf whole = BUF_INIT(MIB);
    _buf_ struct buf pieces = BUF_INIT(MIB);
    bool is_whole_good = read_frames(data + 1, size - 1, size, &whole);
    bool is_good = read_frames(data + 1, size - 1, 1 + data[0] % 32, &pieces);
    require(is_whole_good == is_good && whole.len == pieces.len && whole.len <= size - 1);
    require(whole.len == 0 || memcmp(whole.data, pieces.data, whole.len) == 0);
    require(whole.len == 0 || memcmp(whole.data, data + 1, whole.len) == 0);
    return 0;
}
