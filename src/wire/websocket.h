/* WebSockets as a server speaks them (RFC 6455): the handshake's answer, frames of a client that is
 * not trusted, frames to it. Messages are bounded and handed over whole; extensions are not
 * offered. */
#pragma once

#include "base/buf.h"
#include "base/err.h"

#define WEBSOCKET_MESSAGE_MAX (64 * KIB) /* of a client, all its fragments together */
enum {
    WEBSOCKET_CONTROL_MAX = 125, /* bytes of a ping, pong or close */
    WEBSOCKET_HEAD_MAX = 14,
    WEBSOCKET_ACCEPT_SIZE = 29, /* with the NUL */
};

enum websocket_opcode {
    WEBSOCKET_CONTINUATION = 0,
    WEBSOCKET_TEXT = 1,
    WEBSOCKET_BINARY = 2,
    WEBSOCKET_CLOSE = 8,
    WEBSOCKET_PING = 9,
    WEBSOCKET_PONG = 10,
};

/* Why a connection is closed, as both sides say it. */
enum websocket_code {
    WEBSOCKET_NORMAL = 1000,
    WEBSOCKET_GOING_AWAY = 1001,
    WEBSOCKET_PROTOCOL_ERROR = 1002,
    WEBSOCKET_NO_CODE = 1005, /* the client gave none; never sent */
    WEBSOCKET_NOT_TEXT = 1007,
    WEBSOCKET_POLICY = 1008,
    WEBSOCKET_TOO_BIG = 1009,
    WEBSOCKET_FAILED = 1011,
};

/* What a client sends. */
struct websocket_reader {
    unsigned char head[WEBSOCKET_HEAD_MAX]; /* of the current frame, as far as it has come */
    size_t head_len;
    uint64_t left;      /* bytes of the current frame that have not come */
    size_t unmasked;    /* bytes of it that have */
    bool is_in_frame;   /* its head is complete */
    struct buf message; /* of the current message, fragments so far */
    struct buf control; /* of the current control frame, which may come between fragments */
    int opcode;         /* of the current message; 0: none has begun */
    int code;           /* after WEBSOCKET_BROKEN: what to close with. After a close: its code */
    const char *why;    /* the same in words */
};

enum websocket_event {
    WEBSOCKET_MORE,      /* all was used */
    WEBSOCKET_IS_TEXT,   /* `message`: valid UTF-8; until the next call */
    WEBSOCKET_IS_BINARY, /* likewise, bytes */
    WEBSOCKET_IS_PING,   /* `control`: to be sent back as a pong */
    WEBSOCKET_IS_PONG,
    WEBSOCKET_IS_CLOSE, /* `code`; nothing may follow */
    WEBSOCKET_BROKEN,   /* for good: close with `code` */
};

void websocket_reader_init(struct websocket_reader *r);
void websocket_reader_free(struct websocket_reader *r);
/* Reads from `data`, up to the end of a message; `ret_used` says how much. */
enum websocket_event websocket_feed(struct websocket_reader *r, const char *data, size_t len,
                                    size_t *ret_used);

/* The head of a frame to a client, whose payload follows. Returns its length. */
size_t websocket_head(unsigned char head[WEBSOCKET_HEAD_MAX], enum websocket_opcode opcode,
                      size_t len);
/* Whole small frames. */
void websocket_put(struct buf *out, enum websocket_opcode opcode, const void *data, size_t len);
void websocket_put_close(struct buf *out, int code, const char *why);

/* The value of Sec-WebSocket-Accept for a Sec-WebSocket-Key. -1 if the key is not valid. */
int websocket_accept(const char *key, char ret[WEBSOCKET_ACCEPT_SIZE]);
