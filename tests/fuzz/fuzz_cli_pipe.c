#include "cli/pipe_frames.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { BODY_MAX = 256 };

static void require(bool claim)
{
    if (!claim)
        abort();
}

/* Writes down everything that the reader tells. */
static void read_all(const char *data, size_t size, size_t step, struct buf *out)
{
    struct pipe_reader r = PIPE_READER_INIT(BODY_MAX);
    for (size_t at = 0; at < size; at += step) {
        for (size_t n = MIN(step, size - at), done = 0; done < n;) {
            size_t used;
            enum pipe_event event = pipe_feed(&r, data + at + done, n - done, &used);
            require(used <= n - done && (used > 0 || event != PIPE_MORE));
            require(r.body.len <= BODY_MAX);
            done += used;
            if (event == PIPE_REQUEST)
                buf_append(out, buf_str(&r.body), r.body.len);
            if (event != PIPE_MORE)
                buf_append_char(out, (char)event);
        }
    }
    buf_append_char(out, (char)pipe_end(&r));
    pipe_reader_free(&r);
}

/* Requests are the same in whatever pieces they arrive. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 1)
        return 0;
    _buf_ struct buf whole = BUF_INIT(4 * MIB), pieces = BUF_INIT(4 * MIB);
    read_all((const char *)data + 1, size - 1, size, &whole);
    read_all((const char *)data + 1, size - 1, 1 + data[0] % 32, &pieces);
    require(whole.len == pieces.len && memcmp(whole.data, pieces.data, whole.len) == 0);
    return 0;
}
