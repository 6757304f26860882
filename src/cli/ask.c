/* A cell's question, answered from the terminal or a pipe. Command line tool. */
#include "cli/ask.h"

#include "cli/terminal.h"

enum { PROMPT_MAX = 64 << 10 };

enum cli_line cli_ask(struct cli_asker *asker, const char *prompt, size_t len, bool is_secret,
                      struct buf *ret_line)
{
    buf_clear(ret_line);
    /* Not before it is needed: a program in the background must not touch the terminal. */
    if (asker->lines == NULL && asker->has_stdin) {
        asker->lines = cli_lines_new(NULL);
        asker->is_own = true;
        if (asker->on_wait != NULL)
            cli_lines_while_waiting(asker->lines, asker->on_wait, asker->context);
    }
    if (asker->lines != NULL && cli_lines_is_interactive(asker->lines)) {
        /* The editor draws its prompt again and again, so it gets the last line of it, made
         * harmless. */
        const char *line_end = len > 0 ? memrchr(prompt, '\n', len) : NULL;
        size_t head = line_end != NULL ? (size_t)(line_end - prompt) + 1 : 0;
        _buf_ struct buf last = BUF_INIT(PROMPT_MAX);
        cli_append_safe(&last, prompt + head, len - head, false);
        if (asker->show != NULL)
            cli_show_stream(asker->show, false, prompt, head);
        else if (head > 0)
            cli_say(STDERR_FILENO, "%.*s", (int)MIN(head, (size_t)PROMPT_MAX), prompt);
        enum cli_line got = cli_lines_ask(asker->lines, buf_str(&last), is_secret, ret_line);
        if (asker->show != NULL)
            asker->show->is_out_mid_line = false; /* the line end was typed */
        return got;
    }
    /* As a program that reads from a pipe does: the prompt is part of its output. */
    if (asker->show != NULL)
        cli_show_stream(asker->show, false, prompt, len);
    return asker->lines != NULL ? cli_lines_read(asker->lines, "", ret_line) : CLI_LINE_END;
}

void cli_asker_free(struct cli_asker *asker)
{
    if (asker->is_own)
        cli_lines_free(asker->lines);
    asker->lines = NULL;
}
