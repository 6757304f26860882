/* The line that says which cell of `cella run` is running. Command line tool; draws on a terminal
 * only. */
#include "cli/progress.h"

#include "base/clock.h"
#include "cli/terminal.h"

#include <ctype.h>
#include <sys/ioctl.h>

enum { COLUMNS = 80, PROGRESS_SOURCE_MAX = 400 };

static size_t columns(void)
{
    struct winsize size = {0};
    if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) < 0 || size.ws_col == 0)
        return COLUMNS;
    return size.ws_col;
}

void cli_progress_draw(struct cli_progress *p)
{
    if (!p->is_on)
        return;
    char head[64], tail[64];
    uint64_t seconds = (clock_mono_ms() - p->started_ms) / 1000;
    int head_len = snprintf(head, sizeof(head), "cell %zu of %zu: ", p->at, p->n);
    int tail_len = snprintf(tail, sizeof(tail), "  %llus", (unsigned long long)seconds);
    size_t width = columns(), taken = (size_t)head_len + (size_t)tail_len + 1;
    _buf_ struct buf line = BUF_INIT(16 * KIB);
    buf_printf(&line, "\r\x1b[K%s", head);
    /* The first line that says something, cut so that the whole never wraps. */
    const char *text = p->source, *end = text + p->source_len;
    while (text < end && isspace((unsigned char)*text))
        text++;
    const char *newline = text < end ? memchr(text, '\n', (size_t)(end - text)) : NULL;
    size_t len = (size_t)((newline != NULL ? newline : end) - text);
    _buf_ struct buf safe = BUF_INIT(16 * KIB);
    cli_append_safe(&safe, text, MIN(len, (size_t)PROGRESS_SOURCE_MAX), false);
    size_t cut = 0, n = 0;
    for (; cut < safe.len && n < (width > taken ? width - taken : 0); cut++, n++)
        while (cut + 1 < safe.len && ((unsigned char)safe.data[cut + 1] & 0xc0) == 0x80)
            cut++;
    buf_append(&line, buf_str(&safe), cut);
    buf_append_str(&line, tail);
    cli_say(STDERR_FILENO, "%s", buf_str(&line));
    p->is_drawn = true;
}

void cli_progress_begin(struct cli_progress *p, const char *source, size_t len)
{
    p->at++;
    p->source = source;
    p->source_len = len;
    p->started_ms = clock_mono_ms();
    cli_progress_draw(p);
}

void cli_progress_end(struct cli_progress *p)
{
    if (p->is_drawn)
        cli_say(STDERR_FILENO, "\r\x1b[K");
    p->is_drawn = false;
}
