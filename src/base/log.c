/* Lines of the log. Every process that logs; owns the level and the format, which are set once. */
#include "base/log.h"

#include "base/buf.h"
#include "base/clock.h"

static enum log_level least_level = LOG_LEVEL_INFO;
static enum log_format line_format = LOG_FORMAT_TEXT;
static const char *const level_names[] = {"debug", "info", "warn", "error"};

void log_setup(enum log_level least, enum log_format format)
{
    least_level = least;
    line_format = format;
}

static void append_quoted(struct buf *line, const char *text)
{
    buf_append_char(line, '"');
    for (; *text != '\0'; text++) {
        unsigned char c = (unsigned char)*text;
        if (c == '"' || c == '\\')
            buf_printf(line, "\\%c", c);
        else if (c < 0x20 || c == 0x7f)
            buf_printf(line, "\\u%04x", c);
        else
            buf_append_char(line, (char)c);
    }
    buf_append_char(line, '"');
}

static bool is_plain(const char *text)
{
    if (*text == '\0')
        return false;
    for (; *text != '\0'; text++)
        if ((unsigned char)*text <= ' ' || *text == '"' || *text == '=' || *text == 0x7f)
            return false;
    return true;
}

static void append_field(struct buf *line, const char *key, const char *text, long long number)
{
    if (line_format == LOG_FORMAT_JSON)
        buf_printf(line, "%s\"%s\":", line->len > 1 ? "," : "", key);
    else
        buf_printf(line, "%s%s=", line->len > 0 ? " " : "", key);
    if (text == NULL)
        buf_printf(line, "%lld", number);
    else if (line_format == LOG_FORMAT_TEXT && is_plain(text))
        buf_append_str(line, text);
    else
        append_quoted(line, text);
}

void log_write(enum log_level level, const char *event, const struct log_field *fields)
{
    if (level < least_level)
        return;
    _buf_ struct buf line = BUF_INIT(16 * KIB);
    char now[CLOCK_RFC3339_SIZE];
    if (line_format == LOG_FORMAT_JSON)
        buf_append_char(&line, '{');
    append_field(&line, "time", clock_rfc3339(clock_wall_ms(), now), 0);
    append_field(&line, "level", level_names[level], 0);
    append_field(&line, "event", event, 0);
    for (; fields->key != NULL; fields++)
        append_field(&line, fields->key, fields->text, fields->number);
    buf_append_str(&line, line_format == LOG_FORMAT_JSON ? "}\n" : "\n");
    /* One write, so that lines of several processes do not mix. A full or closed stderr costs
     * the line, never the daemon. */
    ssize_t ignored = write(STDERR_FILENO, line.data, line.len);
    (void)ignored;
}
