/* A small blocking HTTP/1.1 client: one connection, kept alive, to the daemon's UNIX socket or to
 * a TCP address. */
#pragma once

#include "base/buf.h"
#include "base/err.h"
#include "cli/args.h"
#include "cli/response.h"
#include "cli/sse.h"

struct cli_endpoint {
    char *data_dir; /* absolute; DIR/cella.sock is meant unless `host` is set */
    char *host;     /* NULL for the UNIX socket */
    char *port;
    char *key; /* NULL if none is known */
};

/* Where the daemon is, from --url, --data and --key and their variables. */
int cli_endpoint_from(const struct cli_args *args, struct cli_endpoint *ret, struct err *e);
void cli_endpoint_free(struct cli_endpoint *endpoint);
int cli_data_dir(const char *given, char **ret, struct err *e); /* `given` may be NULL */

struct cli_client {
    const struct cli_endpoint *endpoint; /* the caller's */
    int fd;                              /* -1: not connected */
};

struct cli_request {
    const char *method;
    const char *path;
    const char *body; /* JSON, or NULL */
    size_t body_len;
    /* Instead: its next bytes, 0 behind the last, -1 with the error. `body_total` of them, or -1.
     */
    ssize_t (*read_body)(void *context, char *data, size_t size, struct err *e);
    int64_t body_total;
    /* Takes the body of an answer that is no error, piece by piece. False ends it. */
    cli_on_stream take_body;
    uint64_t deadline_ms;  /* monotonic; 0 if there is no deadline */
    const char *upgrade;   /* to a WebSocket, with this key; NULL if not */
    cli_on_event on_event; /* if set a stream is asked for, and its events come here */
    /* A signal arrived while waiting. False gives up. NULL if every signal does. */
    bool (*on_signal)(void *context, int signo);
    /* Called about four times a second while nothing arrives. May be NULL. */
    void (*on_tick)(void *context);
    void *context; /* of all of them */
};

struct cli_reply {
    int status;
    struct buf body; /* empty after a stream, and if it was taken */
    bool was_stream;
};

enum { CLI_DEADLINE_SHORT_MS = 30000, CLI_DEADLINE_CONNECT_MS = 5000 };

/* True if something accepts connections there. On false *ret_errno says why not. */
bool cli_client_connect(struct cli_client *c, int *ret_errno);
/* Connects. Where no daemon runs: starts one if `may_start` and the UNIX socket is meant. */
int cli_client_open(struct cli_client *c, const struct cli_endpoint *endpoint, bool may_start,
                    struct err *e);
void cli_client_close(struct cli_client *c);

/* What a verb does once it is connected: an exit status, or -1 with the error. */
typedef int (*cli_work)(const struct cli_args *args, struct cli_client *c, void *context,
                        struct err *e);
/* Connects as the flags say, works, closes. */
int cli_client_with(const struct cli_args *args, bool may_start, cli_work work, void *context,
                    struct err *e);

int cli_client_ask(struct cli_client *c, const struct cli_request *request, struct cli_reply *ret,
                   struct err *e);
void cli_reply_free(struct cli_reply *reply);
