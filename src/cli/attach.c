/* attach: a terminal in a session, at the terminal of whoever calls. Command line tool; owns the
 * settings of that terminal while it runs, and puts them back whatever ends it. */
#include "base/fd.h"
#include "cli/api.h"
#include "cli/terminal.h"
#include "wire/base64.h"
#include "wire/websocket.h"

#include <endian.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/random.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <termios.h>

enum {
    ATTACH_READ = 16 * 1024,
    ATTACH_FRAME_MAX = 256 * 1024, /* of the daemon */
    ATTACH_OUT_MAX = 64 * 1024,    /* unsent bytes before the keyboard is not read */
    ATTACH_EOT = 4,
    ATTACH_PATH_MAX = 16 * 1024,
};

/* Where the escape is: it counts at the beginning of a line only. */
enum attach_escape { ESCAPE_LINE_START, ESCAPE_TILDE, ESCAPE_WITHIN };

struct attached {
    int sock, signals;
    bool is_terminal; /* stdin is one, and was set */
    struct termios before;
    bool has_input; /* stdin has not ended */
    enum attach_escape escape;
    struct buf in, out;
    bool is_over;
    bool was_left; /* by the escape */
    bool has_end;  /* the daemon told how it ended */
    int status;
    char reason[512];
};

/* ---- frames ---------------------------------------------------------------------------------- */

/* A client masks what it sends, so that no proxy on the way takes it for something else. */
static void attach_put(struct attached *a, enum websocket_opcode opcode, const char *data,
                       size_t len)
{
    unsigned char head[WEBSOCKET_HEAD_MAX], mask[4] = {0};
    if (getrandom(mask, sizeof(mask), 0) != (ssize_t)sizeof(mask))
        mask[0] = 1;
    size_t head_len = websocket_head(head, opcode, len);
    head[1] |= 0x80;
    buf_append(&a->out, head, head_len);
    buf_append(&a->out, mask, sizeof(mask));
    size_t at = a->out.len;
    if (!buf_append(&a->out, data, len))
        return;
    for (size_t i = 0; i < len; i++)
        a->out.data[at + i] = (char)((unsigned char)a->out.data[at + i] ^ mask[i % 4]);
}

static void attach_take_end(struct attached *a, const char *text, size_t len)
{
    struct err ignored;
    _json_ json_t *end = NULL;
    if (json_read_object(text, len, &end, &ignored) < 0)
        return;
    a->has_end = true;
    a->status = (int)cli_json_int(end, "status", CLI_EXIT_FAILED);
    if (json_object_get(end, "signal") != NULL)
        a->status = 128 + (int)cli_json_int(end, "signal", 0);
    size_t reason_len = 0;
    const char *reason = cli_json_text(end, "reason", &reason_len);
    if (reason == NULL)
        return;
    _buf_ struct buf safe = BUF_INIT(sizeof(a->reason) - 1);
    cli_append_safe(&safe, reason, MIN(reason_len, (size_t)200), false);
    snprintf(a->reason, sizeof(a->reason), "%s", buf_str(&safe));
}

/* Whole frames of the daemon, which sends none in pieces. False: what it sends makes no sense. */
static bool attach_take_frames(struct attached *a)
{
    while (!a->is_over && a->in.len >= 2) {
        const unsigned char *head = (const unsigned char *)a->in.data;
        size_t len = head[1], head_len = 2;
        uint64_t wide;
        if (len == 126 && a->in.len >= 4) {
            len = (size_t)head[2] << 8 | head[3];
            head_len = 4;
        } else if (len == 127 && a->in.len >= 10) {
            memcpy(&wide, head + 2, sizeof(wide));
            len = (size_t)be64toh(wide);
            head_len = 10;
        } else if (len >= 126) {
            return len <= 127;
        }
        if (len > ATTACH_FRAME_MAX || !(head[0] & 0x80))
            return false;
        if (a->in.len < head_len + len)
            return true;
        unsigned opcode = head[0] & 15;
        size_t done;
        if (opcode == WEBSOCKET_BINARY) {
            if (cli_write(STDOUT_FILENO, a->in.data + head_len, len, &done) < 0)
                a->is_over = true;
        } else if (opcode == WEBSOCKET_TEXT) {
            attach_take_end(a, a->in.data + head_len, len);
        } else if (opcode == WEBSOCKET_PING) {
            attach_put(a, WEBSOCKET_PONG, a->in.data + head_len, len);
        } else if (opcode == WEBSOCKET_CLOSE) {
            a->is_over = true;
        }
        buf_consume(&a->in, head_len + len);
    }
    return true;
}

/* ---- the keyboard ---------------------------------------------------------------------------- */

/* Enter, ~ and . in a row leave; Enter, ~ and ~ are one ~. What is typed after that is not sent. */
static void attach_type(struct attached *a, const char *keys, size_t len)
{
    _buf_ struct buf typed = BUF_INIT(2 * ATTACH_READ);
    for (size_t i = 0; i < len && !a->was_left; i++) {
        char key = keys[i];
        bool is_held = a->escape == ESCAPE_TILDE;
        if (a->is_terminal && a->escape == ESCAPE_LINE_START && key == '~') {
            a->escape = ESCAPE_TILDE;
            continue;
        }
        if (is_held && key == '.') {
            a->was_left = a->is_over = true;
            break;
        }
        if (is_held && key != '~')
            buf_append_char(&typed, '~');
        buf_append_char(&typed, key);
        a->escape = key == '\r' || key == '\n' ? ESCAPE_LINE_START : ESCAPE_WITHIN;
    }
    if (typed.len > 0)
        attach_put(a, WEBSOCKET_BINARY, typed.data, typed.len);
}

static void attach_read_keys(struct attached *a)
{
    char keys[ATTACH_READ];
    ssize_t n = read(STDIN_FILENO, keys, sizeof(keys));
    if (n > 0) {
        attach_type(a, keys, (size_t)n);
    } else if (n == 0 || (errno != EAGAIN && errno != EINTR)) {
        a->has_input = false;
        if (!a->is_terminal) /* the end of a file is the end of what is typed */
            attach_put(a, WEBSOCKET_BINARY, (char[]){ATTACH_EOT}, 1);
    }
}

/* ---- between them ---------------------------------------------------------------------------- */

/* Signals of the caller's terminal: its new size, Ctrl-C, and what ends this program. */
static void attach_read_signals(struct attached *a)
{
    struct signalfd_siginfo info;
    struct winsize size;
    char text[96];
    while (read(a->signals, &info, sizeof(info)) == (ssize_t)sizeof(info)) {
        if (info.ssi_signo == SIGINT && !a->is_terminal) {
            attach_put(a, WEBSOCKET_BINARY, "\x03", 1);
        } else if (info.ssi_signo != SIGWINCH) {
            a->was_left = a->is_over = true;
        } else if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row != 0 &&
                   size.ws_col != 0) {
            int len = snprintf(text, sizeof(text), "{\"type\":\"resize\",\"rows\":%u,\"cols\":%u}",
                               size.ws_row, size.ws_col);
            attach_put(a, WEBSOCKET_TEXT, text, (size_t)len);
        }
    }
}

static int attach_read_socket(struct attached *a, struct err *e)
{
    char data[ATTACH_READ];
    ssize_t n = recv(a->sock, data, sizeof(data), MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return 0;
    if (n <= 0)
        return err_set(e, ERR_UNAVAILABLE, "the connection to the daemon was lost");
    if (buf_append(&a->in, data, (size_t)n) && attach_take_frames(a))
        return 0;
    return err_set(e, ERR_INTERNAL, "the daemon's answer makes no sense");
}

static void attach_flush(struct attached *a)
{
    while (a->out.len > 0) {
        ssize_t n = send(a->sock, a->out.data, a->out.len, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n <= 0)
            return; /* if it is gone the next read tells */
        buf_consume(&a->out, (size_t)n);
    }
}

static int attach_relay(struct attached *a, struct err *e)
{
    while (!a->is_over) {
        bool reads_keys = a->has_input && a->out.len < ATTACH_OUT_MAX;
        struct pollfd waits[] = {
            {.fd = a->sock, .events = (short)(POLLIN | (a->out.len > 0 ? POLLOUT : 0))},
            {.fd = a->signals, .events = POLLIN},
            {.fd = reads_keys ? STDIN_FILENO : -1, .events = POLLIN},
        };
        if (poll(waits, ARRAY_LEN(waits), -1) < 0 && errno != EINTR)
            return err_errno(e, ERR_INTERNAL, errno, "waiting for the daemon");
        if (waits[1].revents != 0)
            attach_read_signals(a);
        if (waits[2].revents != 0)
            attach_read_keys(a);
        attach_flush(a);
        if (waits[0].revents & ~POLLOUT && attach_read_socket(a, e) < 0)
            return -1;
        attach_flush(a);
    }
    return 0;
}

static void attach_append_quoted(struct buf *out, const char *text)
{
    for (const char *c = text; *c != '\0'; c++) {
        bool is_plain = (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') ||
                        (*c >= '0' && *c <= '9') || strchr("-_.~", *c) != NULL;
        if (is_plain)
            buf_append_char(out, *c);
        else
            buf_printf(out, "%%%02X", (unsigned char)*c);
    }
}

static int attach_work(const struct cli_args *args, struct cli_client *c, void *context,
                       struct err *e)
{
    (void)context;
    struct cli_session session;
    unsigned char nonce[16] = {0};
    _buf_ struct buf path = BUF_INIT(ATTACH_PATH_MAX), key = BUF_INIT(64);
    if (cli_session_find(c, args->words[0], &session, e) < 0)
        return -1;
    struct winsize size = {0};
    const char *term = getenv("TERM");
    buf_printf(&path, "/v1/sessions/%s/terminal?term=", session.id);
    attach_append_quoted(&path, term != NULL && term[0] != '\0' ? term : "dumb");
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 0 && size.ws_col > 0)
        buf_printf(&path, "&rows=%u&cols=%u", size.ws_row, size.ws_col);
    for (size_t i = 1; i < args->n_words; i++) {
        buf_append_str(&path, i == 1 ? "&command=" : "%20");
        attach_append_quoted(&path, args->words[i]);
    }
    if (path.overflowed)
        return err_set(e, ERR_INVALID, "the command is too long");
    if (getrandom(nonce, sizeof(nonce), 0) < 0)
        nonce[0] = 1;
    base64_encode(&key, nonce, sizeof(nonce));
    if (cli_api_upgrade(c, buf_str(&path), buf_str(&key), e) < 0)
        return -1;
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGWINCH);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGHUP);
    sigaddset(&set, SIGINT);
    sigprocmask(SIG_BLOCK, &set, NULL);
    struct attached a = {.sock = c->fd,
                         .signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK),
                         .has_input = true,
                         .in = BUF_INIT(2 * ATTACH_FRAME_MAX),
                         .out = BUF_INIT(4 * ATTACH_OUT_MAX)};
    struct termios raw;
    a.is_terminal = tcgetattr(STDIN_FILENO, &a.before) == 0;
    if (a.is_terminal) {
        raw = a.before;
        cfmakeraw(&raw);
        tcsetattr(STDIN_FILENO, TCSADRAIN, &raw);
    }
    int r = attach_relay(&a, e);
    if (a.is_terminal)
        tcsetattr(STDIN_FILENO, TCSADRAIN, &a.before);
    close(a.signals);
    buf_free(&a.in);
    buf_free(&a.out);
    cli_client_close(c);
    if (r < 0)
        return -1;
    if (a.was_left)
        cli_say(STDERR_FILENO, "\ncella: left the terminal, which hung up\n");
    else if (a.reason[0] != '\0')
        cli_say(STDERR_FILENO, "cella: %s\n", a.reason);
    return a.was_left ? 0 : a.has_end ? a.status : CLI_EXIT_FAILED;
}

static int attach_run(const struct cli_args *args, struct err *e)
{
    if (args->n_words == 0) {
        err_set(e, ERR_INVALID, "name the session to attach to");
        return err_advise(e, "list the sessions with: cella ps");
    }
    return cli_client_with(args, false, attach_work, NULL, e);
}

const struct cli_verb cli_attach_verb = {
    .name = "attach",
    .summary = "open a terminal in a session: a shell, an editor, a debugger",
    .usage = "[OPTION...] ID [COMMAND...]",
    .about =
        "Runs COMMAND, or else an interactive bash, at a terminal inside the session, with its\n"
        "files and limits, while cells go on. The words are joined and read by bash, as ssh\n"
        "does. Ends with the status of the command. At the beginning of a line ~. leaves and\n"
        "hangs up, ~~ types a ~.",
    .is_client = true,
    .examples = "cella attach 0b9c\n"
                "cella attach 0b9c vim notes.txt\n"
                "cella attach 0b9c 'du -sh * | sort -h | less'",
    .run = attach_run,
};
