/* Terminals of a session: programs at a pseudo-terminal inside its sandbox, as its user and with
 * all its walls, for a client at the other end of a connection.
 *
 * A terminal walks in as a joined interpreter does. What it shows arrives on a socket that only it
 * and the daemon have, and is read no faster than its owner takes it. It counts as use of the
 * session. It ends with its program or its owner, with the session, when the session is suspended
 * or goes back to a time before the terminal was opened. */
#pragma once

#include "base/err.h"
#include "base/list.h"

struct session;
struct terminal;
struct warden_event;

enum {
    TERMINALS_SESSION_MAX = 8,
    TERMINALS_DAEMON_MAX = 256,
    TERMINALS_INPUT_MAX = 64 * 1024, /* unsent bytes before the owner should send no more */
};

struct terminals {
    struct list open; /* of struct terminal */
    size_t n_open;
};

struct terminal_request {
    uint16_t rows, columns;
    const char *kind;    /* "xterm-256color" */
    const char *command; /* a line for bash; NULL for an interactive bash */
};

struct terminal_end {
    bool has_status; /* the program ended by itself, or by a signal */
    int status;      /* as waitpid gives it */
    const char *why; /* else, in words; "" */
};

/* on_ended ends the terminal; else its owner does, by terminal_close. */
struct terminal_listener {
    void (*on_opened)(void *context); /* the program runs, or will say why not */
    void (*on_output)(void *context, const char *data, size_t len);
    void (*on_drained)(void *context); /* all that was typed is sent */
    void (*on_ended)(void *context, const struct terminal_end *end);
};

/* The listener is told later, never before this returns. NULL with the error. */
struct terminal *terminal_open(struct session *session, const struct terminal_request *request,
                               const struct terminal_listener *listener, void *context,
                               struct err *e);
void terminal_type(struct terminal *t, const char *data, size_t len);
void terminal_resize(struct terminal *t, uint16_t rows, uint16_t columns);
size_t terminal_unsent(const struct terminal *t);
void terminal_want_output(struct terminal *t, bool is_wanted);
void terminal_close(struct terminal *t); /* hangs up; takes NULL */

/* ---- for the rest of the room ---------------------------------------------------------------- */

struct engine;

void terminals_init(struct session *session);
bool terminals_are_open(const struct session *session);
/* Ends terminals that were opened after that time (wall clock, ms); their owners are told `why`. */
void terminals_end_since(struct session *session, uint64_t at_ms, const char *why);
/* What starts them: true if the event was about that. */
bool terminals_on_event(struct engine *engine, const struct warden_event *event);
void terminals_stop(struct engine *engine);
