/* The terminal: what may be written to it, its colours, signals, waiting. Command line tool. */
#include "cli/terminal.h"

#include "base/clock.h"
#include "base/fd.h"
#include "base/utf8.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <time.h>

enum { WRITE_STEP = 4096 };

static const int taken_signals[] = {SIGINT, SIGTERM, SIGHUP};
static volatile sig_atomic_t noted_signal;
static bool is_taking;
static sigset_t mask_before;

bool cli_is_coloured(int fd)
{
    const char *term = getenv("TERM"), *no_color = getenv("NO_COLOR");
    bool is_capable = term != NULL && term[0] != '\0' && strcmp(term, "dumb") != 0;
    return is_capable && (no_color == NULL || no_color[0] == '\0') && isatty(fd);
}

static void append_unsafe_char(struct buf *out, uint32_t c)
{
    buf_printf(out, c < 0x100 ? "\\x%02x" : "\\u%04x", c);
}

static uint32_t decode_short(const unsigned char *s, size_t len, size_t *ret_len)
{
    if (s[0] >= 0xc2 && s[0] <= 0xdf && len >= 2) {
        *ret_len = 2;
        return (uint32_t)(s[0] & 0x1f) << 6 | (s[1] & 0x3f);
    }
    if (s[0] >= 0xe0 && s[0] <= 0xef && len >= 3) {
        *ret_len = 3;
        return (uint32_t)(s[0] & 0x0f) << 12 | (uint32_t)(s[1] & 0x3f) << 6 | (s[2] & 0x3f);
    }
    *ret_len = 1;
    return s[0];
}

void cli_append_safe(struct buf *out, const char *text, size_t len, bool keep_lines)
{
    _buf_ struct buf valid = BUF_INIT(len > SIZE_MAX / 4 ? len : 3 * len);
    utf8_append_lossy(&valid, text, len);
    const unsigned char *s = (const unsigned char *)buf_str(&valid);
    for (size_t i = 0; i < valid.len;) {
        size_t n = 1;
        uint32_t c = s[i] < 0x80 ? s[i] : decode_short(s + i, valid.len - i, &n);
        bool is_control = s[i] < 0x20 || s[i] == 0x7f;
        /* Characters that rearrange the text around them, or are not seen at all. */
        bool is_deceptive =
            s[i] >= 0x80 && n > 1 &&
            ((c >= 0x80 && c <= 0x9f) || (c >= 0x200b && c <= 0x200f) ||
             (c >= 0x2028 && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069) || c == 0xfeff);
        if (is_control && !(keep_lines && (c == '\n' || c == '\t')))
            append_unsafe_char(out, c);
        else if (is_deceptive)
            append_unsafe_char(out, c);
        else
            buf_append(out, s + i, n);
        i += n;
    }
}

static void note_signal(int signo)
{
    noted_signal = signo;
}

void cli_signals_take(void)
{
    if (is_taking)
        return;
    is_taking = true;
    sigset_t taken;
    sigemptyset(&taken);
    for (size_t i = 0; i < ARRAY_LEN(taken_signals); i++) {
        /* No SA_RESTART: whatever waits must come back. */
        struct sigaction action = {.sa_handler = note_signal};
        sigaction(taken_signals[i], &action, NULL);
        sigaddset(&taken, taken_signals[i]);
    }
    sigprocmask(SIG_BLOCK, &taken, &mask_before);
    for (size_t i = 0; i < ARRAY_LEN(taken_signals); i++)
        sigdelset(&mask_before, taken_signals[i]);
}

void cli_signals_allow(bool allow)
{
    if (!is_taking)
        return;
    sigset_t taken;
    sigemptyset(&taken);
    for (size_t i = 0; i < ARRAY_LEN(taken_signals); i++)
        sigaddset(&taken, taken_signals[i]);
    sigprocmask(allow ? SIG_UNBLOCK : SIG_BLOCK, &taken, NULL);
}

void cli_signals_restore(void)
{
    for (size_t i = 0; i < ARRAY_LEN(taken_signals); i++)
        signal(taken_signals[i], SIG_DFL);
    signal(SIGPIPE, SIG_DFL);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

int cli_signal_taken(void)
{
    int signo = noted_signal;
    noted_signal = 0;
    return signo;
}

int cli_poll(struct pollfd *fds, size_t n)
{
    while (noted_signal == 0) {
        int ready = ppoll(fds, (nfds_t)n, NULL, is_taking ? &mask_before : NULL);
        if (ready > 0)
            return 0;
        if (ready < 0 && errno != EINTR)
            return -errno;
    }
    return -EINTR;
}

int cli_wait(int fd, short events, uint64_t deadline_ms)
{
    struct pollfd poll_fd = {.fd = fd, .events = events};
    for (;;) {
        if (noted_signal != 0)
            return -EINTR;
        uint64_t now = clock_mono_ms();
        if (deadline_ms != 0 && now >= deadline_ms)
            return 0;
        uint64_t left = deadline_ms - now;
        struct timespec timeout = {.tv_sec = (time_t)(left / 1000),
                                   .tv_nsec = (long)(left % 1000) * 1000000};
        int n =
            ppoll(&poll_fd, 1, deadline_ms != 0 ? &timeout : NULL, is_taking ? &mask_before : NULL);
        if (n > 0)
            return 1;
        if (n < 0 && errno != EINTR)
            return -errno;
    }
}

int cli_write(int fd, const char *data, size_t len, size_t *done)
{
    *done = 0;
    while (*done < len) {
        int ready = cli_wait(fd, POLLOUT, 0);
        if (ready < 0)
            return ready;
        /* What poll calls writable takes this much without blocking, so that Ctrl-C always finds
         * this program in cli_wait, also when nobody reads its output. */
        ssize_t n = write(fd, data + *done, MIN(len - *done, (size_t)WRITE_STEP));
        if (n < 0 && errno != EINTR && errno != EAGAIN)
            return -errno;
        if (n > 0)
            *done += (size_t)n;
    }
    return 0;
}

void cli_say(int fd, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    char *text = NULL;
    int n = vasprintf(&text, fmt, args);
    va_end(args);
    if (n > 0)
        fd_write_all(fd, text, (size_t)n);
    if (n >= 0)
        free(text);
}
