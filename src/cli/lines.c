/* Lines typed at a terminal (libedit) or read from a pipe. Command line tool; owns the editor and
 * the history file. */
#include "cli/lines.h"

#include "base/clock.h"
#include "cli/table.h"
#include "cli/terminal.h"
#include "wire/json.h"

#include <errno.h>
#include <histedit.h>
#include <locale.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <wchar.h>

enum {
    HISTORY_ENTRIES = 2000,
    MATCHES_SHOWN = 100,
    COLUMN_GAP = 2,
    WAIT_STEP_MS = 20000,
    READ_BYTES = 16 * KIB,
    PASTE_GAP_MS = 20, /* nobody types a line so soon after another */
    PASTE_MAX = CLI_LINE_MAX - 64 * KIB,
};

/* Asks the terminal to put marks around what is pasted; the second ends that. */
#define PASTES_MARKED "\033[?2004h"
#define PASTES_PLAIN "\033[?2004l"
#define PROMPT_MARK '\1' /* around what takes no place in a prompt */
#define PASTE_BEGIN "\033[200~"
#define PASTE_END "\033[201~"

struct cli_lines {
    bool is_interactive;
    const char *prompt;
    char shown_prompt[128]; /* with its colours, for the editor */
    bool is_coloured;
    char *history_path;
    EditLine *editor; /* NULL if lines are plain */
    History *history;
    bool is_answer;     /* not code: kept out of the history */
    struct buf pending; /* read and not yet given out */
    bool is_at_end;
    cli_complete_fn on_complete; /* NULL if Tab indents */
    void *complete_context;
    void (*on_wait)(void *context); /* NULL if there is nothing to do meanwhile */
    void *wait_context;
};

/* 1: there is more in `pending`, 0: the end, -EINTR, -EFBIG. */
static int fill_pending(struct cli_lines *l)
{
    /* As cli_wait for the standard input, without a deadline. */
    int ready;
    while ((ready = cli_wait(STDIN_FILENO, POLLIN,
                             l->on_wait != NULL ? clock_mono_ms() + WAIT_STEP_MS : 0)) == 0)
        l->on_wait(l->wait_context);
    if (ready < 0)
        return ready;
    if (!buf_reserve(&l->pending, READ_BYTES))
        return -EFBIG;
    char *more = l->pending.data + l->pending.len;
    ssize_t n = read(STDIN_FILENO, more, READ_BYTES);
    if (n <= 0)
        return n < 0 && errno == EINTR ? -EINTR : 0;
    /* The terminal does so only while it hands out lines, not while the editor has it. */
    for (ssize_t i = 0; l->is_interactive && i < n; i++)
        if (more[i] == '\r')
            more[i] = '\n';
    l->pending.len += (size_t)n;
    return 1;
}

/* ---- the editor ------------------------------------------------------------------------------ */

static struct cli_lines *lines_of(EditLine *editor)
{
    struct cli_lines *l = NULL;
    el_get(editor, EL_CLIENTDATA, &l);
    return l;
}

static char *give_prompt(EditLine *editor)
{
    return lines_of(editor)->shown_prompt;
}

/* One character for the editor. */
static int give_char(EditLine *editor, wchar_t *ret)
{
    struct cli_lines *l = lines_of(editor);
    mbstate_t state = {0};
    for (;;) {
        int status = l->pending.len > 0 ? 1 : fill_pending(l);
        if (status <= 0)
            return status < 0 ? -1 : 0;
        size_t used = mbrtowc(ret, l->pending.data, 1, &state);
        buf_consume(&l->pending, 1);
        if (used == (size_t)-1) {
            state = (mbstate_t){0};
            continue; /* no character: not typed */
        }
        if (used != (size_t)-2)
            return 1;
    }
}

/* The end of the paste that `pending` begins with, waited for; NULL if it does not come. Of what is
 * too long only the end is kept: its lines must not be taken for typed ones. */
static const char *find_paste_end(struct cli_lines *l, bool *ret_is_too_long)
{
    const size_t mark = strlen(PASTE_END);
    const char *end;
    while ((end = memmem(buf_str(&l->pending), l->pending.len, PASTE_END, mark)) == NULL) {
        if (l->pending.len > PASTE_MAX) {
            *ret_is_too_long = true;
            buf_consume(&l->pending, l->pending.len - mark);
        }
        if (fill_pending(l) <= 0)
            return NULL;
    }
    *ret_is_too_long |= end > l->pending.data + PASTE_MAX;
    return end;
}

/* Takes what is pasted into the line as it is, with its line ends: Enter sends all of it. */
static unsigned char take_paste(EditLine *editor, int key)
{
    (void)key;
    struct cli_lines *l = lines_of(editor);
    bool is_too_long = false;
    const char *end = find_paste_end(l, &is_too_long);
    if (end == NULL)
        return CC_EOF;
    size_t len = (size_t)(end - l->pending.data), kept = len;
    while (kept > 0 && l->pending.data[kept - 1] == '\n')
        kept--;
    _buf_ struct buf text = BUF_INIT(PASTE_MAX);
    bool is_taken = !is_too_long && buf_append(&text, l->pending.data, kept) &&
                    (kept == 0 || el_insertstr(editor, buf_str(&text)) == 0);
    buf_consume(&l->pending, len + strlen(PASTE_END));
    if (is_taken)
        return CC_REFRESH;
    cli_say(STDERR_FILENO, "\ncella: what was pasted is longer than a cell may be\n");
    return CC_REDISPLAY;
}

/* ---- Tab ------------------------------------------------------------------------------------- */

static const char *match_text(const json_t *matches, size_t i)
{
    return json_string_value(json_object_get(json_array_get(matches, i), "text"));
}

/* Below the line, in columns. */
static void show_matches(const json_t *matches)
{
    struct winsize size = {0};
    _buf_ struct buf out = BUF_INIT(MIB);
    size_t n = MIN(json_array_size(matches), (size_t)MATCHES_SHOWN), width = 1;
    ioctl(STDOUT_FILENO, TIOCGWINSZ, &size);
    for (size_t i = 0; i < n; i++)
        width = MAX(width, cli_width(match_text(matches, i)) + COLUMN_GAP);
    size_t per_row = MAX((size.ws_col > 0 ? size.ws_col : 80) / width, (size_t)1);
    buf_append_char(&out, '\n');
    for (size_t i = 0; i < n; i++) {
        const char *text = match_text(matches, i);
        bool is_last = (i + 1) % per_row == 0 || i + 1 == n;
        cli_append_safe(&out, text, strlen(text), false);
        buf_printf(&out, "%*s", is_last ? 0 : (int)(width - MIN(width, cli_width(text))), "");
        buf_append_str(&out, is_last ? "\n" : "");
    }
    if (json_array_size(matches) > n)
        buf_printf(&out, "and %zu more\n", json_array_size(matches) - n);
    fflush(stdout);
    cli_say(STDOUT_FILENO, "%s", buf_str(&out));
}

/* Where there is nothing before the cursor Tab indents. */
static bool is_at_indent(const char *line, size_t len)
{
    const char *newline = len > 0 ? memrchr(line, '\n', len) : NULL;
    const char *from = newline != NULL ? newline + 1 : line;
    return strspn(from, " \t") >= (size_t)(line + len - from);
}

static unsigned char take_tab(EditLine *editor, int key)
{
    (void)key;
    struct cli_lines *l = lines_of(editor);
    const LineInfo *info = el_line(editor);
    size_t len = (size_t)(info->cursor - info->buffer);
    if (l->is_answer || l->on_complete == NULL || is_at_indent(info->buffer, len))
        return el_insertstr(editor, "    ") == 0 ? CC_REFRESH : CC_ERROR;
    _json_ json_t *told = l->on_complete(l->complete_context, info->buffer, len);
    const json_t *matches = json_object_get(told, "matches");
    json_int_t n_replaced = json_integer_value(json_object_get(told, "end")) -
                            json_integer_value(json_object_get(told, "start"));
    if (json_array_size(matches) == 0 || n_replaced < 0 || n_replaced > (json_int_t)len)
        return CC_ERROR;
    /* How many bytes all matches begin with, in whole characters. */
    const char *first = match_text(matches, 0);
    size_t common = strlen(first);
    for (size_t i = 1; i < json_array_size(matches); i++) {
        const char *other = match_text(matches, i);
        size_t n = 0;
        while (n < common && first[n] == other[n])
            n++;
        common = n;
    }
    while (common > 0 && ((unsigned char)first[common] & 0xc0) == 0x80)
        common--;
    _buf_ struct buf text = BUF_INIT(64 * KIB);
    cli_append_safe(&text, first, common, false);
    if (json_array_size(matches) > 1 && cli_width(buf_str(&text)) <= (size_t)n_replaced) {
        show_matches(matches);
        return CC_REDISPLAY;
    }
    el_deletestr(editor, (int)n_replaced);
    return text.len == 0 || el_insertstr(editor, buf_str(&text)) == 0 ? CC_REFRESH : CC_ERROR;
}

static void open_editor(struct cli_lines *l)
{
    l->editor = el_init("cella", stdin, stdout, stderr);
    if (l->editor == NULL)
        return;
    el_set(l->editor, EL_CLIENTDATA, l);
    el_set(l->editor, EL_PROMPT_ESC, give_prompt, PROMPT_MARK);
    el_set(l->editor, EL_EDITOR, "emacs");
    el_set(l->editor, EL_GETCFN, give_char);
    el_set(l->editor, EL_BIND, "^R", "em-inc-search-prev", NULL);
    el_set(l->editor, EL_ADDFN, "cella-paste", "Take what is pasted", take_paste);
    el_set(l->editor, EL_BIND, PASTE_BEGIN, "cella-paste", NULL);
    el_set(l->editor, EL_ADDFN, "cella-complete", "Complete the line", take_tab);
    el_set(l->editor, EL_BIND, "^I", "cella-complete", NULL);
    l->history = history_init();
    if (l->history == NULL)
        return;
    HistEvent event;
    history(l->history, &event, H_SETSIZE, HISTORY_ENTRIES);
    history(l->history, &event, H_SETUNIQUE, 1);
    if (l->history_path != NULL)
        history(l->history, &event, H_LOAD, l->history_path);
    el_set(l->editor, EL_HIST, history, l->history);
}

struct cli_lines *cli_lines_new(const char *history_path)
{
    struct cli_lines *l = mem_alloc(sizeof(*l));
    l->pending = BUF_INIT(CLI_LINE_MAX + 64 * KIB);
    l->is_interactive = isatty(STDIN_FILENO);
    l->history_path = history_path != NULL ? mem_strdup(history_path) : NULL;
    const char *term = getenv("TERM");
    bool can_edit = term != NULL && term[0] != '\0' && strcmp(term, "dumb") != 0;
    if (!l->is_interactive || !isatty(STDOUT_FILENO) || !can_edit)
        return l;
    /* Only how characters are read: numbers stay as programs write them. */
    setlocale(LC_CTYPE, "");
    if (MB_CUR_MAX == 1)
        setlocale(LC_CTYPE, "C.UTF-8");
    l->is_coloured = cli_is_coloured(STDOUT_FILENO);
    open_editor(l);
    return l;
}

void cli_lines_complete_with(struct cli_lines *l, cli_complete_fn fn, void *context)
{
    l->on_complete = fn;
    l->complete_context = context;
}

void cli_lines_while_waiting(struct cli_lines *l, void (*on_wait)(void *context), void *context)
{
    l->on_wait = on_wait;
    l->wait_context = context;
}

bool cli_lines_is_interactive(const struct cli_lines *l)
{
    return l->is_interactive;
}

static enum cli_line line_after_signal(int signo)
{
    return signo == SIGINT ? CLI_LINE_INTERRUPTED : CLI_LINE_LEFT;
}

static enum cli_line read_edited(struct cli_lines *l, struct buf *ret_line)
{
    int len = 0;
    size_t width = strlen(l->prompt);
    /* libedit keeps what takes no place together with the character that follows. */
    if (l->is_coloured && !l->is_answer && width > 0)
        snprintf(l->shown_prompt, sizeof(l->shown_prompt), "\1\033[32m\1%.*s\1\033[0m\1%s",
                 (int)MIN(width - 1, (size_t)80), l->prompt, l->prompt + width - 1);
    else
        snprintf(l->shown_prompt, sizeof(l->shown_prompt), "%s", l->prompt);
    el_resize(l->editor);
    /* Before the prompt is shown: libedit would take the terminal over only after that, and a
     * Ctrl-D that comes in between would be a character. */
    el_set(l->editor, EL_PREP_TERM, 1);
    if (!l->is_answer)
        cli_say(STDOUT_FILENO, PASTES_MARKED);
    const char *text = el_gets(l->editor, &len);
    if (!l->is_answer)
        cli_say(STDOUT_FILENO, PASTES_PLAIN);
    int signo = cli_signal_taken();
    if (signo != 0) {
        el_reset(l->editor);
        cli_say(STDOUT_FILENO, "\n");
        return line_after_signal(signo);
    }
    if (text == NULL || len <= 0) {
        cli_say(STDOUT_FILENO, "\n");
        return CLI_LINE_END;
    }
    HistEvent event;
    if (l->history != NULL && !l->is_answer && text[strspn(text, " \t\n")] != '\0')
        history(l->history, &event, H_ENTER, text);
    size_t n = (size_t)len;
    while (n > 0 && (text[n - 1] == '\n' || text[n - 1] == '\r'))
        n--;
    return buf_append(ret_line, text, n) ? CLI_LINE_READ : CLI_LINE_TOO_LONG;
}

/* ---- without it ------------------------------------------------------------------------------ */

static enum cli_line read_plain(struct cli_lines *l, struct buf *ret_line)
{
    if (l->is_interactive)
        cli_say(STDERR_FILENO, "%s", l->prompt);
    const char *end = NULL;
    size_t searched = 0;
    while ((end = l->pending.len > searched
                      ? memchr(l->pending.data + searched, '\n', l->pending.len - searched)
                      : NULL) == NULL &&
           !l->is_at_end) {
        searched = l->pending.len;
        int status = fill_pending(l);
        if (status == -EINTR)
            return line_after_signal(cli_signal_taken());
        if (status == -EFBIG)
            return CLI_LINE_TOO_LONG;
        l->is_at_end = status <= 0;
    }
    if (end == NULL && l->pending.len == 0)
        return CLI_LINE_END;
    size_t len = end != NULL ? (size_t)(end - l->pending.data) : l->pending.len;
    size_t n = len > 0 && l->pending.data[len - 1] == '\r' ? len - 1 : len;
    bool fits = buf_append(ret_line, l->pending.data, n);
    buf_consume(&l->pending, end != NULL ? len + 1 : len);
    return fits ? CLI_LINE_READ : CLI_LINE_TOO_LONG;
}

enum cli_line cli_lines_read(struct cli_lines *l, const char *prompt, struct buf *ret_line)
{
    l->prompt = prompt;
    buf_clear(ret_line);
    return l->editor != NULL ? read_edited(l, ret_line) : read_plain(l, ret_line);
}

/* The first line of `pending` that is not blank; its end may be missing. NULL if there is none. */
static const char *find_code(const struct cli_lines *l, size_t *ret_len)
{
    const char *text = buf_str(&l->pending), *end = text + l->pending.len;
    while (text < end) {
        const char *newline = memchr(text, '\n', (size_t)(end - text));
        const char *line_end = newline != NULL ? newline : end;
        *ret_len = (size_t)(line_end - text);
        if (strspn(text, " \t") < *ret_len)
            return text;
        text = line_end + 1;
    }
    return NULL;
}

bool cli_lines_peek(struct cli_lines *l, struct buf *ret_line)
{
    size_t len = 0;
    const char *line;
    if (l->editor != NULL)
        el_set(l->editor, EL_PREP_TERM, 1); /* what has no line end yet comes too */
    while ((line = find_code(l, &len)) == NULL &&
           cli_wait(STDIN_FILENO, POLLIN, clock_mono_ms() + PASTE_GAP_MS) > 0 &&
           fill_pending(l) > 0)
        ;
    if (l->editor != NULL)
        el_set(l->editor, EL_PREP_TERM, 0);
    buf_clear(ret_line);
    return line != NULL && buf_append(ret_line, line, len);
}

/* Without the editor: it shows what is typed. */
static enum cli_line read_secret(struct cli_lines *l, struct buf *ret_line)
{
    struct termios before = {0}, quiet;
    bool is_terminal = tcgetattr(STDIN_FILENO, &before) == 0;
    quiet = before;
    quiet.c_lflag &= ~(tcflag_t)ECHO;
    if (is_terminal)
        tcsetattr(STDIN_FILENO, TCSAFLUSH, &quiet);
    enum cli_line got = read_plain(l, ret_line);
    if (is_terminal)
        tcsetattr(STDIN_FILENO, TCSAFLUSH, &before);
    if (l->is_interactive)
        cli_say(STDERR_FILENO, "\n");
    return got;
}

enum cli_line cli_lines_ask(struct cli_lines *l, const char *prompt, bool is_secret,
                            struct buf *ret_line)
{
    l->prompt = prompt;
    l->is_answer = true;
    buf_clear(ret_line);
    enum cli_line got = is_secret           ? read_secret(l, ret_line)
                        : l->editor != NULL ? read_edited(l, ret_line)
                                            : read_plain(l, ret_line);
    l->is_answer = false;
    l->is_at_end = false; /* at a terminal Ctrl-D ends one answer, not what is typed next */
    return got;
}

void cli_lines_free(struct cli_lines *l)
{
    if (l == NULL)
        return;
    HistEvent event;
    if (l->history != NULL && l->history_path != NULL)
        history(l->history, &event, H_SAVE, l->history_path);
    if (l->history != NULL)
        history_end(l->history);
    if (l->editor != NULL)
        el_end(l->editor);
    buf_free(&l->pending);
    free(l->history_path);
    free(l);
}
