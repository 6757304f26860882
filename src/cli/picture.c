/* Pictures in a terminal: which can show them, and the bytes that do. Command line tool. */
#include "cli/picture.h"

#include "wire/base64.h"

#include <strings.h>

enum { KITTY_CHUNK = 4096 }; /* of base64 in one command */

static bool is_set(const char *name)
{
    const char *value = getenv(name);
    return value != NULL && value[0] != '\0';
}

static bool is_one_of(const char *name, const char *const *values)
{
    const char *value = getenv(name);
    for (; value != NULL && *values != NULL; values++)
        if (strcasecmp(value, *values) == 0)
            return true;
    return false;
}

enum cli_picture_way cli_picture_by_environment(void)
{
    static const char *const kitty_terms[] = {"xterm-kitty", "xterm-ghostty", NULL};
    static const char *const kitty_programs[] = {"ghostty", NULL};
    static const char *const iterm_programs[] = {"iTerm.app", "WezTerm", "mintty", "vscode", NULL};
    static const char *const iterm_names[] = {"iTerm2", "WezTerm", NULL};
    const char *term = getenv("TERM");
    /* What stands between would have to let it through. */
    bool is_wrapped = is_set("TMUX") || is_set("STY") ||
                      (term != NULL && strncmp(term, "screen", strlen("screen")) == 0);
    if (is_wrapped)
        return CLI_PICTURE_NONE;
    if (is_set("KITTY_WINDOW_ID") || is_one_of("TERM", kitty_terms) ||
        is_one_of("TERM_PROGRAM", kitty_programs))
        return CLI_PICTURE_KITTY;
    if (is_one_of("TERM_PROGRAM", iterm_programs) || is_one_of("LC_TERMINAL", iterm_names))
        return CLI_PICTURE_ITERM;
    return CLI_PICTURE_NONE;
}

static void append_kitty(struct buf *out, const struct buf *text)
{
    for (size_t at = 0; at < text->len; at += KITTY_CHUNK) {
        size_t n = MIN(text->len - at, (size_t)KITTY_CHUNK);
        bool is_last = at + n == text->len;
        buf_printf(out, "\033_G%sm=%d;", at == 0 ? "a=T,f=100,q=2," : "", is_last ? 0 : 1);
        buf_append(out, text->data + at, n);
        buf_append_str(out, "\033\\");
    }
}

bool cli_picture_append(struct buf *out, enum cli_picture_way way, const char *format,
                        const void *bytes, size_t len)
{
    bool is_png = strcmp(format, "png") == 0;
    bool is_shown = is_png || strcmp(format, "jpeg") == 0 || strcmp(format, "jpg") == 0 ||
                    strcmp(format, "gif") == 0 || strcmp(format, "webp") == 0;
    _buf_ struct buf text = BUF_INIT(2 * len + KIB);
    if (len == 0 || !base64_encode(&text, bytes, len))
        return false;
    if (way == CLI_PICTURE_KITTY && is_png) {
        append_kitty(out, &text);
    } else if (way == CLI_PICTURE_ITERM && is_shown) {
        buf_printf(out, "\033]1337;File=inline=1;size=%zu:", len);
        buf_append(out, text.data, text.len);
        buf_append_char(out, '\a');
    } else {
        return false;
    }
    return buf_append_char(out, '\n');
}
