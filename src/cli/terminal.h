/* What goes to the terminal, and the signals and waits of a program that sits at one. */
#pragma once

#include "base/buf.h"

/* Colours: only on a terminal that has them, never when NO_COLOR is set. */
bool cli_is_coloured(int fd);

/* Appends text of a stranger so that it cannot move the cursor, hide or reorder anything: control
 * characters and direction marks become \xNN or \uNNNN, invalid UTF-8 becomes U+FFFD. Line ends and
 * tabs stay when `keep_lines`. */
void cli_append_safe(struct buf *out, const char *text, size_t len, bool keep_lines);

/* From now on SIGINT, SIGTERM and SIGHUP are noted instead of ending the program, and are let in
 * only while cli_wait waits, so that none is missed between a check and a wait. */
void cli_signals_take(void);
void cli_signals_allow(bool allow); /* around a call that waits by itself */
void cli_signals_restore(void);     /* in a child, before exec */
int cli_signal_taken(void);         /* the signal noted last, and forgets it; 0 if none */

/* Waits until `fd` is ready: 1, 0 past the deadline (monotonic ms, 0: none), -EINTR when a signal
 * was noted, other -errno. fd may be -1. */
int cli_wait(int fd, short events, uint64_t deadline_ms);

/* Waits until one of several is ready: 0, -EINTR when a signal was noted, other -errno. */
struct pollfd;
int cli_poll(struct pollfd *fds, size_t n);

/* All of it, waiting with cli_wait: 0 or -errno (-EINTR: *done bytes were written before). */
int cli_write(int fd, const char *data, size_t len, size_t *done);

/* For what was made here and is small: text to a standard stream, errors ignored. */
void cli_say(int fd, const char *fmt, ...) PRINTF_LIKE(2, 3);
