/* Frames of WebSockets, and the answer to a handshake. Daemon; owns nothing but the reader. */
#include "wire/websocket.h"

#include "base/utf8.h"
#include "wire/base64.h"

#include <endian.h>

#define WEBSOCKET_GUID "258EAFA5-E914-47DA-95CA-C5AB0DC85B11" /* RFC 6455, 1.3 */

enum { FIN = 0x80, RESERVED = 0x70, OPCODE = 0x0f, MASKED = 0x80, LENGTH = 0x7f };

void websocket_reader_init(struct websocket_reader *r)
{
    *r = (struct websocket_reader){.message = BUF_INIT(WEBSOCKET_MESSAGE_MAX),
                                   .control = BUF_INIT(WEBSOCKET_CONTROL_MAX)};
}

void websocket_reader_free(struct websocket_reader *r)
{
    buf_free(&r->message);
    buf_free(&r->control);
}

static enum websocket_event websocket_break(struct websocket_reader *r, int code, const char *why)
{
    r->code = code;
    r->why = why;
    return WEBSOCKET_BROKEN;
}

static bool websocket_is_control(int opcode)
{
    return opcode >= WEBSOCKET_CLOSE;
}

/* ---- the head of a frame --------------------------------------------------------------------- */

/* How long the head is, as far as its first bytes tell. */
static size_t websocket_head_size(const struct websocket_reader *r)
{
    if (r->head_len < 2)
        return 2;
    int length = r->head[1] & LENGTH;
    return 2 + (length == 126 ? 2 : length == 127 ? 8 : 0) + 4;
}

static uint64_t websocket_length(const struct websocket_reader *r)
{
    int length = r->head[1] & LENGTH;
    uint64_t wide;
    if (length < 126)
        return (uint64_t)length;
    if (length == 126)
        return (uint64_t)r->head[2] << 8 | r->head[3];
    memcpy(&wide, r->head + 2, sizeof(wide));
    return be64toh(wide);
}

/* Called with the first two bytes: the rest of nonsense is not waited for. */
static enum websocket_event websocket_check_start(struct websocket_reader *r)
{
    int opcode = r->head[0] & OPCODE;
    bool is_last = r->head[0] & FIN, is_control = websocket_is_control(opcode);
    if (r->head[0] & RESERVED)
        return websocket_break(r, WEBSOCKET_PROTOCOL_ERROR, "no extension was agreed on");
    if (!(r->head[1] & MASKED))
        return websocket_break(r, WEBSOCKET_PROTOCOL_ERROR, "a client masks its frames");
    if (opcode > WEBSOCKET_PONG || (opcode > WEBSOCKET_BINARY && !is_control))
        return websocket_break(r, WEBSOCKET_PROTOCOL_ERROR, "the opcode is not known");
    if (is_control && (!is_last || (r->head[1] & LENGTH) > WEBSOCKET_CONTROL_MAX))
        return websocket_break(r, WEBSOCKET_PROTOCOL_ERROR, "a control frame is short and whole");
    if (!is_control && (opcode == WEBSOCKET_CONTINUATION) != (r->opcode != 0))
        return websocket_break(r, WEBSOCKET_PROTOCOL_ERROR, "the fragments are out of order");
    return WEBSOCKET_MORE;
}

static enum websocket_event websocket_feed_head(struct websocket_reader *r, const char *data,
                                                size_t len, size_t *used)
{
    while (r->head_len < websocket_head_size(r)) {
        if (*used == len)
            return WEBSOCKET_MORE;
        r->head[r->head_len++] = (unsigned char)data[(*used)++];
        if (r->head_len == 2 && websocket_check_start(r) == WEBSOCKET_BROKEN)
            return WEBSOCKET_BROKEN;
    }
    int opcode = r->head[0] & OPCODE, length = r->head[1] & LENGTH;
    r->left = websocket_length(r);
    r->unmasked = 0;
    r->is_in_frame = true;
    if ((length == 126 && r->left < 126) || (length == 127 && r->left <= UINT16_MAX))
        return websocket_break(r, WEBSOCKET_PROTOCOL_ERROR, "a length has its shortest form");
    if (r->left > WEBSOCKET_MESSAGE_MAX - (websocket_is_control(opcode) ? 0 : r->message.len))
        return websocket_break(r, WEBSOCKET_TOO_BIG, "a message has 64 KiB at most");
    if (websocket_is_control(opcode))
        buf_clear(&r->control);
    else if (opcode != WEBSOCKET_CONTINUATION)
        r->opcode = opcode;
    return WEBSOCKET_MORE;
}

/* ---- its payload ----------------------------------------------------------------------------- */

static enum websocket_event websocket_end_frame(struct websocket_reader *r)
{
    int opcode = r->head[0] & OPCODE;
    bool is_last = r->head[0] & FIN;
    r->head_len = 0;
    r->is_in_frame = false;
    if (opcode == WEBSOCKET_CLOSE) {
        const struct buf *c = &r->control;
        r->code = WEBSOCKET_NO_CODE;
        if (c->len == 0)
            return WEBSOCKET_IS_CLOSE;
        int code = c->len < 2 ? 0 : (unsigned char)c->data[0] << 8 | (unsigned char)c->data[1];
        bool is_code = (code >= 1000 && code <= 1003) || (code >= 1007 && code <= 1014) ||
                       (code >= 3000 && code <= 4999);
        if (!is_code)
            return websocket_break(r, WEBSOCKET_PROTOCOL_ERROR, "there is no such reason to close");
        if (!utf8_is_valid(c->data + 2, c->len - 2))
            return websocket_break(r, WEBSOCKET_NOT_TEXT, "the reason to close is no text");
        r->code = code;
        return WEBSOCKET_IS_CLOSE;
    }
    if (websocket_is_control(opcode))
        return opcode == WEBSOCKET_PING ? WEBSOCKET_IS_PING : WEBSOCKET_IS_PONG;
    if (!is_last)
        return WEBSOCKET_MORE;
    bool is_text = r->opcode == WEBSOCKET_TEXT;
    r->opcode = 0;
    if (is_text && !utf8_is_valid(buf_str(&r->message), r->message.len))
        return websocket_break(r, WEBSOCKET_NOT_TEXT, "a text message is UTF-8");
    return is_text ? WEBSOCKET_IS_TEXT : WEBSOCKET_IS_BINARY;
}

enum websocket_event websocket_feed(struct websocket_reader *r, const char *data, size_t len,
                                    size_t *ret_used)
{
    enum websocket_event event = r->why != NULL ? WEBSOCKET_BROKEN : WEBSOCKET_MORE;
    *ret_used = 0;
    if (r->opcode == 0 && !r->is_in_frame)
        buf_clear(&r->message); /* the caller has seen the last one */
    while (event == WEBSOCKET_MORE) {
        if (!r->is_in_frame)
            event = websocket_feed_head(r, data, len, ret_used);
        if (event != WEBSOCKET_MORE || !r->is_in_frame)
            return event;
        size_t n = (size_t)MIN(r->left, (uint64_t)(len - *ret_used));
        bool is_control = websocket_is_control(r->head[0] & OPCODE);
        struct buf *into = is_control ? &r->control : &r->message;
        const unsigned char *mask = r->head + websocket_head_size(r) - 4;
        size_t at = into->len;
        buf_append(into, data + *ret_used, n);
        for (size_t i = 0; i < n; i++)
            into->data[at + i] = (char)(into->data[at + i] ^ mask[(r->unmasked + i) % 4]);
        r->unmasked += n;
        r->left -= n;
        *ret_used += n;
        if (r->left > 0)
            return WEBSOCKET_MORE;
        event = websocket_end_frame(r);
    }
    return event;
}

/* ---- to the client --------------------------------------------------------------------------- */

size_t websocket_head(unsigned char head[WEBSOCKET_HEAD_MAX], enum websocket_opcode opcode,
                      size_t len)
{
    head[0] = (unsigned char)(FIN | opcode);
    if (len < 126) {
        head[1] = (unsigned char)len;
        return 2;
    }
    if (len <= UINT16_MAX) {
        head[1] = 126;
        head[2] = (unsigned char)(len >> 8);
        head[3] = (unsigned char)len;
        return 4;
    }
    uint64_t wide = htobe64(len);
    head[1] = 127;
    memcpy(head + 2, &wide, sizeof(wide));
    return 10;
}

void websocket_put(struct buf *out, enum websocket_opcode opcode, const void *data, size_t len)
{
    unsigned char head[WEBSOCKET_HEAD_MAX];
    buf_append(out, head, websocket_head(head, opcode, len));
    buf_append(out, data, len);
}

void websocket_put_close(struct buf *out, int code, const char *why)
{
    char reason[WEBSOCKET_CONTROL_MAX];
    size_t len = MIN(strlen(why), sizeof(reason) - 2);
    len = utf8_valid_prefix(why, len);
    reason[0] = (char)(code >> 8);
    reason[1] = (char)code;
    memcpy(reason + 2, why, len);
    websocket_put(out, WEBSOCKET_CLOSE, reason, len + 2);
}

/* ---- the handshake --------------------------------------------------------------------------- */

/* SHA-1 (RFC 3174) of less than 56 bytes more than one block: all that the handshake needs, and no
 * secret depends on it. */
static uint32_t websocket_rotate(uint32_t x, unsigned by)
{
    return x << by | x >> (32 - by);
}

static void websocket_sha1_block(uint32_t h[5], const unsigned char *block)
{
    uint32_t w[80], a = h[0], b = h[1], c = h[2], d = h[3], e = h[4];
    for (size_t i = 0; i < 16; i++) {
        memcpy(&w[i], block + 4 * i, sizeof(w[i]));
        w[i] = be32toh(w[i]);
    }
    for (size_t i = 16; i < 80; i++)
        w[i] = websocket_rotate(w[i - 3] ^ w[i - 8] ^ w[i - 14] ^ w[i - 16], 1);
    for (size_t i = 0; i < 80; i++) {
        uint32_t f = i < 20   ? ((b & c) | (~b & d)) + 0x5a827999
                     : i < 40 ? (b ^ c ^ d) + 0x6ed9eba1
                     : i < 60 ? ((b & c) | (b & d) | (c & d)) + 0x8f1bbcdc
                              : (b ^ c ^ d) + 0xca62c1d6;
        uint32_t t = websocket_rotate(a, 5) + f + e + w[i];
        e = d;
        d = c;
        c = websocket_rotate(b, 30);
        b = a;
        a = t;
    }
    h[0] += a;
    h[1] += b;
    h[2] += c;
    h[3] += d;
    h[4] += e;
}

static void websocket_sha1(const char *text, size_t len, unsigned char ret[20])
{
    unsigned char blocks[128] = {0};
    uint32_t h[5] = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0};
    size_t size = len < 56 ? 64 : 128;
    memcpy(blocks, text, len);
    blocks[len] = 0x80;
    uint64_t bits = htobe64((uint64_t)len * 8);
    memcpy(blocks + size - sizeof(bits), &bits, sizeof(bits));
    for (size_t at = 0; at < size; at += 64)
        websocket_sha1_block(h, blocks + at);
    for (size_t i = 0; i < 5; i++) {
        uint32_t word = htobe32(h[i]);
        memcpy(ret + 4 * i, &word, sizeof(word));
    }
}

int websocket_accept(const char *key, char ret[WEBSOCKET_ACCEPT_SIZE])
{
    _buf_ struct buf nonce = BUF_INIT(64);
    _buf_ struct buf accept = BUF_INIT(WEBSOCKET_ACCEPT_SIZE);
    char text[24 + sizeof(WEBSOCKET_GUID)];
    unsigned char hash[20];
    if (strlen(key) != 24 || !base64_decode(&nonce, key, 24) || nonce.len != 16)
        return -1;
    int len = snprintf(text, sizeof(text), "%s" WEBSOCKET_GUID, key);
    websocket_sha1(text, (size_t)len, hash);
    base64_encode(&accept, hash, sizeof(hash));
    snprintf(ret, WEBSOCKET_ACCEPT_SIZE, "%s", buf_str(&accept));
    return 0;
}
