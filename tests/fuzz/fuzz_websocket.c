/* Frames of WebSocket clients: the pieces in which they arrive must not change what they mean, and
 * nothing is handed over that is longer than it may be, or no text where text is promised. */
#include "base/utf8.h"
#include "wire/websocket.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool claim)
{
    if (!claim)
        abort();
}

static void parse(const char *data, size_t size, size_t step, struct buf *out)
{
    struct websocket_reader r;
    websocket_reader_init(&r);
    enum websocket_event event = WEBSOCKET_MORE;
    size_t at = 0;
    while (event != WEBSOCKET_BROKEN && event != WEBSOCKET_IS_CLOSE && at < size) {
        size_t used, n = MIN(step, size - at);
        event = websocket_feed(&r, data + at, n, &used);
        require(used <= n && (event != WEBSOCKET_MORE || used == n));
        require(r.message.len <= WEBSOCKET_MESSAGE_MAX && !r.message.overflowed);
        require(r.control.len <= WEBSOCKET_CONTROL_MAX && !r.control.overflowed);
        at += used;
        if (event == WEBSOCKET_MORE)
            continue;
        buf_printf(out, "%d %d:", (int)event, r.code);
        if (event == WEBSOCKET_IS_TEXT)
            require(utf8_is_valid(buf_str(&r.message), r.message.len));
        if (event == WEBSOCKET_IS_TEXT || event == WEBSOCKET_IS_BINARY)
            buf_append(out, r.message.data, r.message.len);
        else
            buf_append(out, r.control.data, r.control.len);
    }
    websocket_reader_free(&r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 1)
        return 0;
    _buf_ struct buf whole = BUF_INIT(64 * MIB);
    _buf_ struct buf pieces = BUF_INIT(64 * MIB);
    parse((const char *)data + 1, size - 1, size, &whole);
    parse((const char *)data + 1, size - 1, 1 + data[0] % 32, &pieces);
    require(whole.len == pieces.len);
    require(whole.len == 0 || memcmp(whole.data, pieces.data, whole.len) == 0);
    return 0;
}
