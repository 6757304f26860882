/* Folding and cutting of text. Runs in the daemon's loop and in the command line tool; owns
 * nothing. What comes in is hostile: every pass is linear but for the search of repeated frames,
 * which is bounded by PERIOD_MAX. */
#include "cell/prose.h"

#include "base/utf8.h"
#include "cell/output.h"

#include <string.h>

enum {
    TRACEBACKS_MIN = 3,      /* that are folded */
    DISTINCT_MAX = 512,      /* lines that are remembered while folding */
    PERIOD_MAX = 16,         /* lines of a group of frames */
    FRAME_LINES_MAX = 20000, /* of a traceback; longer ones stay as they are */
    LINE_SHARE = 2,          /* a cut goes back to a line's end if this part of it is left */
};

static const char traceback_mark[] = "Traceback (most recent call last):";

struct prose_line {
    const char *at;
    size_t len; /* with its newline */
};

static bool line_next(const char **at, const char *end, struct prose_line *ret)
{
    if (*at == end)
        return false;
    const char *newline = memchr(*at, '\n', (size_t)(end - *at));
    *ret = (struct prose_line){*at, (size_t)((newline != NULL ? newline + 1 : end) - *at)};
    *at += ret->len;
    return true;
}

static bool line_is(const struct prose_line *line, const char *words)
{
    size_t len = strlen(words);
    return line->len >= len && memcmp(line->at, words, len) == 0;
}

static bool line_equals(const struct prose_line *a, const struct prose_line *b)
{
    return a->len == b->len && memcmp(a->at, b->at, a->len) == 0;
}

/* ---- overwritten lines ----------------------------------------------------------------------- */

/* The last state of a line that carriage returns begin anew. */
static void prose_put_state(const struct prose_line *line, struct buf *out)
{
    size_t len = line->len;
    bool has_newline = len > 0 && line->at[len - 1] == '\n';
    len -= has_newline;
    while (len > 0 && line->at[len - 1] == '\r')
        len--;
    const char *last = len > 0 ? memrchr(line->at, '\r', len) : NULL;
    const char *from = last != NULL ? last + 1 : line->at;
    buf_append(out, from, (size_t)(line->at + len - from));
    if (has_newline)
        buf_append_char(out, '\n');
}

static void prose_fold_returns(const char *text, size_t len, struct buf *out)
{
    struct prose_line line;
    for (const char *at = text, *end = text + len; line_next(&at, end, &line);)
        prose_put_state(&line, out);
}

/* ---- warnings -------------------------------------------------------------------------------- */

/* `<cell 3>:2: UserWarning: this is old`, which Python writes with the line of code below it. */
static bool line_is_warning(const struct prose_line *line)
{
    static const char kind[] = "Warning: ";
    return line_is(line, "<cell ") && memmem(line->at, line->len, kind, strlen(kind)) != NULL;
}

void prose_fold_warnings(const char *text, size_t len, const char *code, size_t code_len,
                         struct buf *out)
{
    static const char indent[] = "  ";
    struct prose_line line;
    bool is_below = false;
    for (const char *at = text, *end = text + len; line_next(&at, end, &line);) {
        size_t from = strlen(indent);
        bool is_known = is_below && line_is(&line, indent) && line.len > from + 1 &&
                        memmem(code, code_len, line.at + from, line.len - from - 1) != NULL;
        if (!is_known)
            buf_append(out, line.at, line.len);
        is_below = line_is_warning(&line);
    }
}

/* ---- many tracebacks ------------------------------------------------------------------------- */

/* Lines that differ only in their numbers are the same: "Process ForkProcess-7:". */
static uint64_t line_hash(const struct prose_line *line)
{
    uint64_t hash = 14695981039346656037u;
    for (size_t i = 0; i < line->len; i++) {
        char c = line->at[i];
        if (c >= '0' && c <= '9') {
            if (i > 0 && line->at[i - 1] >= '0' && line->at[i - 1] <= '9')
                continue;
            c = '0';
        }
        hash = (hash ^ (unsigned char)c) * 1099511628211u;
    }
    return hash != 0 ? hash : 1;
}

/* True if the line is there already; else it is from now on, if there is room. */
static bool lines_have(uint64_t *seen, uint64_t hash)
{
    for (size_t i = 0; i < DISTINCT_MAX; i++) {
        uint64_t *slot = &seen[(hash + i) % DISTINCT_MAX];
        if (*slot == hash)
            return true;
        if (*slot == 0) {
            *slot = hash;
            return false;
        }
    }
    return false;
}

static size_t prose_count(const char *text, size_t len, const char *words)
{
    size_t n = 0, width = strlen(words);
    for (const char *at = text, *end = text + len;
         (at = memmem(at, (size_t)(end - at), words, width)) != NULL; at += width)
        n++;
    return n;
}

/* Each line from the first traceback to the last is told once. What comes after the end of the last
 * one stays as it is. */
static void prose_fold_tracebacks(const char *text, size_t len, size_t n, struct buf *out)
{
    uint64_t seen[DISTINCT_MAX] = {0};
    size_t n_begun = 0, n_ended = 0, n_left_out = 0;
    struct prose_line line;
    for (const char *at = text, *end = text + len; line_next(&at, end, &line);) {
        bool is_mark = line_is(&line, traceback_mark), is_child = line_is(&line, "Process ");
        n_begun += is_mark;
        bool is_inside = n_begun > 0 && n_ended < n;
        bool is_known = (is_inside || is_child) && lines_have(seen, line_hash(&line));
        if (is_known)
            n_left_out++;
        else
            buf_append(out, line.at, line.len);
        /* Each ends with its error, which is not indented. */
        n_ended += is_inside && line.at[0] != ' ' && !is_mark && !is_child;
        if (is_inside && n_ended == n && n_left_out > 0)
            buf_printf(out, "[%zu tracebacks: %zu lines that were the same are left out]\n", n,
                       n_left_out);
    }
}

bool prose_fold(const char *text, size_t len, struct buf *out)
{
    bool has_returns = memchr(text, '\r', len) != NULL;
    bool has_tracebacks = prose_count(text, len, traceback_mark) >= TRACEBACKS_MIN;
    if (!has_returns && !has_tracebacks) {
        buf_append(out, text, len);
        return false;
    }
    _buf_ struct buf plain = BUF_INIT(len + 1);
    if (has_returns) {
        prose_fold_returns(text, len, &plain);
        text = buf_str(&plain);
        len = plain.len;
    }
    size_t n = prose_count(text, len, traceback_mark);
    if (n >= TRACEBACKS_MIN)
        prose_fold_tracebacks(text, len, n, out);
    else
        buf_append(out, text, len);
    return true;
}

/* ---- repeated frames ------------------------------------------------------------------------- */

static bool lines_repeat(const struct prose_line *a, const struct prose_line *b, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!line_equals(&a[i], &b[i]))
            return false;
    return true;
}

/* How often the group of `period` lines follows again. */
static size_t lines_count_repeats(const struct prose_line *lines, size_t n, size_t period)
{
    size_t repeats = 0;
    while ((repeats + 2) * period <= n &&
           lines_repeat(lines, lines + (repeats + 1) * period, period))
        repeats++;
    return repeats;
}

/* Python's own words for it, which count on. */
static size_t line_read_repeats(const struct prose_line *line)
{
    unsigned long n = 0;
    char text[64];
    snprintf(text, sizeof(text), "%.*s", (int)MIN(line->len, sizeof(text) - 1), line->at);
    return sscanf(text, " [Previous line repeated %lu more time", &n) == 1 ? n : 0;
}

static bool line_is_frame(const struct prose_line *line)
{
    size_t indent = 0;
    while (indent < line->len && line->at[indent] == ' ')
        indent++;
    return indent >= 2 && indent < line->len;
}

void prose_fold_frames(const char *text, size_t len, struct buf *out)
{
    size_t n = 0;
    struct prose_line line;
    for (const char *at = text, *end = text + len; line_next(&at, end, &line);)
        n++;
    if (n < 4 || n > FRAME_LINES_MAX) {
        buf_append(out, text, len);
        return;
    }
    _free_ struct prose_line *lines = mem_alloc(n * sizeof(*lines));
    n = 0;
    for (const char *at = text, *end = text + len; line_next(&at, end, &line);)
        lines[n++] = line;
    for (size_t i = 0; i < n;) {
        size_t period = 0, repeats = 0;
        for (size_t p = 1; p <= PERIOD_MAX && repeats == 0 && line_is_frame(&lines[i]); p++) {
            size_t found = lines_count_repeats(lines + i, n - i, p);
            if (found >= (p == 1 ? 2 : 1)) {
                period = p;
                repeats = found;
            }
        }
        if (repeats == 0) {
            buf_append(out, lines[i].at, lines[i].len);
            i++;
            continue;
        }
        for (size_t k = 0; k < period; k++)
            buf_append(out, lines[i + k].at, lines[i + k].len);
        i += period * (repeats + 1);
        size_t more = i < n ? line_read_repeats(&lines[i]) : 0;
        i += more > 0;
        buf_printf(out, "  [Previous %s repeated %zu more times]\n", period > 3 ? "frames" : "line",
                   repeats + more);
    }
}

/* ---- the message of a traceback -------------------------------------------------------------- */

/* The length without the last lines, if they say the message. */
static size_t prose_without_message(const char *traceback, size_t len, const char *name,
                                    const char *message, size_t message_len)
{
    size_t end = len, name_len = strlen(name);
    while (end > 0 && traceback[end - 1] == '\n')
        end--;
    size_t at = end;
    if (message_len > 0) {
        if (at < message_len + 2 || memcmp(traceback + at - message_len, message, message_len) != 0)
            return len;
        at -= message_len + 2;
        if (memcmp(traceback + at, ": ", 2) != 0)
            return len;
    }
    if (at < name_len || memcmp(traceback + at - name_len, name, name_len) != 0)
        return len;
    at -= name_len;
    /* Its module may stand before it. */
    while (at > 0 && traceback[at - 1] != '\n' && traceback[at - 1] != ' ')
        at--;
    return at == 0 || traceback[at - 1] == '\n' ? at : len;
}

/* The first lines, if they say the message. */
static size_t prose_message_before(const char *traceback, size_t len, const char *name,
                                   const char *message, size_t message_len)
{
    size_t name_len = strlen(name), n = name_len + 2 + message_len;
    bool is_said = message_len > 0 && len > n && memcmp(traceback, name, name_len) == 0 &&
                   memcmp(traceback + name_len, ": ", 2) == 0 &&
                   memcmp(traceback + name_len + 2, message, message_len) == 0 &&
                   traceback[n] == '\n';
    return is_said ? n + 1 : 0;
}

void prose_drop_message(const char **traceback, size_t *len, const char *name, const char *message,
                        size_t message_len)
{
    /* A SyntaxError says in its message where it is, the traceback does so above it. */
    const char *place = message_len > 0 ? memmem(message, message_len, " (<cell ", 8) : NULL;
    size_t before = prose_message_before(*traceback, *len, name, message, message_len);
    size_t end = prose_without_message(*traceback, *len, name, message, message_len);
    if (end == *len && place != NULL)
        end = prose_without_message(*traceback, *len, name, message, (size_t)(place - message));
    *traceback += before;
    *len = before > 0 ? *len - before : end;
}

bool prose_has_message(const char *traceback, size_t len, const char *name, const char *message,
                       size_t message_len)
{
    bool is_said = false;
    struct prose_line line;
    _buf_ struct buf words = BUF_INIT(message_len + strlen(name) + 8);
    const char *newline = message_len > 0 ? memchr(message, '\n', message_len) : NULL;
    buf_append_str(&words, name);
    buf_append_str(&words, message_len > 0 ? ": " : "\n");
    buf_append(&words, message, newline != NULL ? (size_t)(newline - message) : message_len);
    for (const char *at = traceback, *end = traceback + len; line_next(&at, end, &line);)
        is_said = !line_is(&line, traceback_mark) &&
                  (is_said || memmem(line.at, line.len, buf_str(&words), words.len) != NULL);
    return is_said;
}

/* ---- cutting --------------------------------------------------------------------------------- */

static uint64_t prose_count_lines(const char *text, size_t len)
{
    uint64_t n = 0;
    const char *end = text + len;
    for (const char *at = text; (at = memchr(at, '\n', (size_t)(end - at))) != NULL; at++)
        n++;
    return n;
}

uint64_t prose_write_cut(const char *head, size_t head_len, const char *tail, size_t tail_len,
                         uint64_t total, uint64_t n_lines, const char *where, struct buf *out)
{
    const char *newline = head_len > 0 ? memrchr(head, '\n', head_len) : NULL;
    bool is_at_line = newline != NULL && (size_t)(newline + 1 - head) >= head_len / LINE_SHARE;
    head_len = is_at_line ? (size_t)(newline + 1 - head) : output_whole_prefix(head, head_len);
    newline = tail_len > 0 ? memchr(tail, '\n', tail_len) : NULL;
    size_t skip = newline != NULL ? (size_t)(newline + 1 - tail) : tail_len;
    if (newline == NULL || tail_len - skip < tail_len / LINE_SHARE) {
        is_at_line = false;
        skip = output_cut_character(tail, tail_len);
    }
    uint64_t omitted = total - head_len - (tail_len - skip);
    uint64_t shown =
        prose_count_lines(head, head_len) + prose_count_lines(tail + skip, tail_len - skip);
    utf8_append_lossy(out, head, head_len);
    if (head_len > 0 && head[head_len - 1] != '\n')
        buf_append_char(out, '\n');
    if (is_at_line && n_lines > shown)
        buf_printf(out, "[... %llu lines, %llu bytes left out",
                   (unsigned long long)(n_lines - shown), (unsigned long long)omitted);
    else
        buf_printf(out, "[... %llu bytes left out", (unsigned long long)omitted);
    if (where != NULL)
        buf_printf(out, ": %s", where);
    buf_append_str(out, " ...]\n");
    utf8_append_lossy(out, tail + skip, tail_len - skip);
    return omitted;
}

uint64_t prose_cut(const char *text, size_t len, size_t share, const char *where, struct buf *out)
{
    if (len <= share) {
        utf8_append_lossy(out, text, len);
        return 0;
    }
    size_t tail_len = share / 2;
    return prose_write_cut(text, share - tail_len, text + len - tail_len, tail_len, len,
                           prose_count_lines(text, len), where, out);
}
