/* One HTTP/1.1 response, read from bytes that a stranger may have written. */
#pragma once

#include "base/buf.h"

#include <llhttp.h>

enum {
    CLI_RESPONSE_HEAD_MAX = 64 << 10,
    CLI_RESPONSE_BODY_MAX = 256 << 20, /* of a response that is not a stream */
};

enum cli_response_state { CLI_RESPONSE_MORE, CLI_RESPONSE_DONE, CLI_RESPONSE_BROKEN };

/* A part of a stream's body. False ends the reading. */
typedef bool (*cli_on_stream)(void *context, const char *data, size_t len);

struct cli_response {
    llhttp_t parser;
    llhttp_settings_t settings;
    cli_on_stream on_stream; /* takes the body of a text/event-stream */
    cli_on_stream on_bytes;  /* of any other answer that is no error; NULL if `body` takes it */
    void *context;
    size_t head_bytes;
    bool is_head_over, is_over;
    bool is_stream;
    bool is_kept_alive;
    struct buf field, value; /* of the header being read, cut where no header of interest reaches */
    int status;
    struct buf body;
    const char *problem; /* why it is broken */
};

void cli_response_init(struct cli_response *r, cli_on_stream on_stream, void *context);
enum cli_response_state cli_response_feed(struct cli_response *r, const char *data, size_t len);
enum cli_response_state cli_response_end(struct cli_response *r); /* the connection was closed */
void cli_response_free(struct cli_response *r);
