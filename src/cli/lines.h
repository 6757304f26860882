/* Lines that a person types, with editing and history, or that come through a pipe. */
#pragma once

#include "base/buf.h"

#include <jansson.h>

struct cli_lines;

enum cli_line {
    CLI_LINE_READ,
    CLI_LINE_INTERRUPTED, /* Ctrl-C */
    CLI_LINE_TOO_LONG,
    CLI_LINE_END,
    CLI_LINE_LEFT, /* this program was told to end */
};

enum { CLI_LINE_MAX = 1 << 20 };

/* `history_path` may be NULL. */
struct cli_lines *cli_lines_new(const char *history_path);
/* Tab asks this how the line could go on, up to `len` bytes of it: {"start","end","matches"} as
 * session.complete has it, with what `end` counts ending at the cursor; NULL if that cannot be
 * told. */
typedef json_t *(*cli_complete_fn)(void *context, const char *line, size_t len);
void cli_lines_complete_with(struct cli_lines *l, cli_complete_fn fn, void *context);
/* While a line is waited for, `on_wait` is called from time to time. */
void cli_lines_while_waiting(struct cli_lines *l, void (*on_wait)(void *context), void *context);
bool cli_lines_is_interactive(const struct cli_lines *l); /* a person types */
/* The line without its end; the prompt is shown to people only. What was pasted may have line ends
 * inside. */
enum cli_line cli_lines_read(struct cli_lines *l, const char *prompt, struct buf *ret_line);
/* The next line that is not blank, which stays to be read. False if none is there already: then
 * a person types, and does not paste in a terminal that cannot tell. */
bool cli_lines_peek(struct cli_lines *l, struct buf *ret_line);
/* The same for an answer: it is kept out of the history, and a secret is not shown. */
enum cli_line cli_lines_ask(struct cli_lines *l, const char *prompt, bool is_secret,
                            struct buf *ret_line);
void cli_lines_free(struct cli_lines *l); /* saves the history */
