/* The shell's messages on stderr, passed on and remembered. In the shell's process; owns the first
 * and the last line. */
/* clang-format off */
#include "drivers/bash/shell.h"
/* clang-format on */

#include "drivers/bash/messages.h"

#include <errno.h>

enum { KEPT_BYTES = 1024 };

/* A message that is longer is cut. */
struct line {
    char text[KEPT_BYTES];
    size_t len;
    bool is_whole;
};

static struct line first, last;

static void add(struct line *line, const char *data, size_t len)
{
    const char *newline = memchr(data, '\n', len);
    size_t n = newline == NULL ? len : (size_t)(newline - data);
    n = MIN(n, sizeof(line->text) - 1 - line->len);
    memcpy(line->text + line->len, data, n);
    line->len += n;
    line->text[line->len] = '\0';
    line->is_whole = newline != NULL;
}

static void remember(const char *data, size_t len)
{
    while (len > 0) {
        const char *newline = memchr(data, '\n', len);
        size_t n = newline == NULL ? len : (size_t)(newline - data) + 1;
        if (last.is_whole)
            last = (struct line){0};
        add(&last, data, n);
        if (!first.is_whole)
            add(&first, data, n);
        data += n;
        len -= n;
    }
}

/* Descriptor 2 is whatever it is now: a cell's pipe, or where a redirection points. */
static ssize_t write_through(void *cookie, const char *data, size_t len)
{
    (void)cookie;
    remember(data, len);
    size_t done = 0;
    while (done < len) {
        ssize_t n = write(STDERR_FILENO, data + done, len - done);
        if (n < 0 && errno != EINTR)
            break;
        done += n > 0 ? (size_t)n : 0;
    }
    return (ssize_t)done;
}

void messages_install(void)
{
    FILE *tee = fopencookie(NULL, "w", (cookie_io_functions_t){.write = write_through});
    if (tee == NULL)
        return;
    setvbuf(tee, NULL, _IOLBF, 0);
    stderr = tee;
}

void messages_drop(void)
{
    first = last = (struct line){0};
}

/* Past "bash: line N: ", and the number; or the whole. */
static const char *past_place(const char *text, int *ret_line)
{
    *ret_line = 0;
    const char *number = strstr(text, ": line ");
    if (number == NULL)
        return text;
    number += strlen(": line ");
    char *end;
    long line = strtol(number, &end, 10);
    if (end == number || strncmp(end, ": ", 2) != 0 || line < 0 || line > INT32_MAX)
        return text;
    *ret_line = (int)line;
    return end + 2;
}

const char *messages_first(void)
{
    int line;
    return past_place(first.text, &line);
}

int messages_first_line(void)
{
    int line;
    past_place(first.text, &line);
    return line;
}

const char *messages_last(void)
{
    int line;
    return past_place(last.text, &line);
}
