/* Pictures in a terminal: which can show them, and the bytes that do. Command line tool. */
#include "cli/picture.h"

#include "base/clock.h"
#include "base/fd.h"
#include "cli/terminal.h"
#include "image/image.h"
#include "wire/base64.h"

#include <poll.h>
#include <strings.h>
#include <sys/ioctl.h>
#include <termios.h>

enum {
    KITTY_CHUNK = 4096, /* of base64 in one command */
    ASKING_MS = 500,
    SIXEL_WIDTH = 800, /* of a terminal that does not say how large it is, in pixels */
    SIXEL_HEIGHT = 480,
    ATTRIBUTE_SIXELS = 4, /* of a terminal: it draws them */
};

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

/* The answer to "what are you": ESC [ ? 64 ; 4 ; 22 c. */
static bool has_sixels(const char *answer)
{
    const char *at = strstr(answer, "\033[?");
    if (at == NULL)
        return false;
    for (at += 3; *at >= '0' && *at <= '9';) {
        char *end;
        if (strtoul(at, &end, 10) == ATTRIBUTE_SIXELS)
            return true;
        at = *end == ';' ? end + 1 : end;
    }
    return false;
}

bool cli_picture_by_asking(enum cli_picture_way *ret)
{
    static const char question[] = "\033[c";
    char answer[128] = "";
    struct termios before, raw;
    size_t n = 0;
    struct pollfd typed = {.fd = STDIN_FILENO, .events = POLLIN};
    if (poll(&typed, 1, 0) != 0)
        return false;
    *ret = CLI_PICTURE_NONE;
    if (tcgetattr(STDIN_FILENO, &before) < 0)
        return true;
    raw = before;
    raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
    tcsetattr(STDIN_FILENO, TCSANOW, &raw);
    fd_write_all(STDOUT_FILENO, question, strlen(question));
    uint64_t deadline_ms = clock_mono_ms() + ASKING_MS;
    while (n < sizeof(answer) - 1 && strchr(answer, 'c') == NULL &&
           cli_wait(STDIN_FILENO, POLLIN, deadline_ms) > 0) {
        ssize_t got = read(STDIN_FILENO, answer + n, sizeof(answer) - 1 - n);
        if (got <= 0)
            break;
        n += (size_t)got;
        answer[n] = '\0';
    }
    tcsetattr(STDIN_FILENO, TCSANOW, &before);
    if (has_sixels(answer))
        *ret = CLI_PICTURE_SIXEL;
    return true;
}

static bool append_sixels(struct buf *out, const void *bytes, size_t len)
{
    struct winsize size = {0};
    struct image_size most = {SIXEL_WIDTH, SIXEL_HEIGHT};
    /* As wide as the terminal, and not so high that its beginning scrolls away. */
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_xpixel > 0 && size.ws_ypixel > 3)
        most = (struct image_size){MIN(size.ws_xpixel, IMAGE_SIDE_MAX),
                                   MIN(size.ws_ypixel * 3 / 4, IMAGE_SIDE_MAX)};
    return image_sixels(bytes, len, most, out) == 0;
}

bool cli_picture_append(struct buf *out, enum cli_picture_way way, const char *format,
                        const void *bytes, size_t len)
{
    bool is_png = strcmp(format, "png") == 0;
    bool is_shown = is_png || strcmp(format, "jpeg") == 0 || strcmp(format, "jpg") == 0 ||
                    strcmp(format, "gif") == 0 || strcmp(format, "webp") == 0;
    _buf_ struct buf text = BUF_INIT(2 * len + KIB);
    if (way == CLI_PICTURE_SIXEL)
        return append_sixels(out, bytes, len) && buf_append_char(out, '\n');
    if (len == 0 || !base64_encode(&text, bytes, len))
        return false;
    if (way == CLI_PICTURE_KITTY && is_png) {
        for (size_t at = 0; at < text.len; at += KITTY_CHUNK) {
            size_t n = MIN(text.len - at, (size_t)KITTY_CHUNK);
            bool is_last = at + n == text.len;
            buf_printf(out, "\033_G%sm=%d;", at == 0 ? "a=T,f=100,q=2," : "", is_last ? 0 : 1);
            buf_append(out, text.data + at, n);
            buf_append_str(out, "\033\\");
        }
    } else if (way == CLI_PICTURE_ITERM && is_shown) {
        buf_printf(out, "\033]1337;File=inline=1;size=%zu:", len);
        buf_append(out, text.data, text.len);
        buf_append_char(out, '\a');
    } else {
        return false;
    }
    return buf_append_char(out, '\n');
}
