#include "cli/block.h"

#include <ctype.h>

enum { DEPTH_MAX = 512, HEREDOCS_MAX = 16, DELIMITER_MAX = 256 };

struct heredoc {
    char delimiter[DELIMITER_MAX];
    size_t len;
    bool strips_tabs; /* <<- */
};

/* On the stack: 'i' if, 'd' a loop, 'c' case, '{', '(', '$' for $( and <(,
 * 'a' an array's values, '[' for [[. */
struct bash_scan {
    const char *start, *at, *end;
    char stack[DEPTH_MAX];
    size_t depth;
    struct heredoc heredocs[HEREDOCS_MAX]; /* whose text begins at the next line */
    size_t n_heredocs;
    bool is_broken;    /* what bash will complain about */
    bool is_cut;       /* the text ends inside quotes, a here-document or behind a backslash */
    bool is_dangling;  /* behind &&, ||, | or the head of a function: a command must follow */
    bool is_command;   /* the next word is a command's first, where keywords are known */
    bool is_word;      /* the last character belongs to a word */
    bool is_name_next; /* behind `function` */
};

static char top(const struct bash_scan *s)
{
    return s->depth > 0 ? s->stack[s->depth - 1] : 0;
}

static void block_bash_push(struct bash_scan *s, char what)
{
    if (s->depth == DEPTH_MAX)
        s->is_broken = true;
    else
        s->stack[s->depth++] = what;
}

static void pop(struct bash_scan *s, char what)
{
    if (top(s) == what)
        s->depth--;
    else
        s->is_broken = true;
}

/* --- quotes ----------------------------------------------------------------------------------- */

/* From behind the opening quote to behind the closing one. */
static void skip_until(struct bash_scan *s, char quote, bool has_escapes)
{
    while (s->at < s->end) {
        char c = *s->at++;
        if (c == quote)
            return;
        if (c == '\\' && has_escapes && s->at < s->end)
            s->at++;
    }
    s->is_cut = true;
}

/* Brackets with whatever they hold, from behind the first ones: $(...) in a string, ${...},
 * ((...)). `quotes` are the characters that hide brackets there. */
static void skip_brackets(struct bash_scan *s, const char *brackets, const char *quotes,
                          size_t depth)
{
    while (s->at < s->end && depth > 0) {
        char c = *s->at++;
        if (c == '\\' && s->at < s->end)
            s->at++;
        else if (c != '\0' && strchr(quotes, c) != NULL)
            skip_until(s, c, c == '"');
        else if (c == brackets[0])
            depth++;
        else if (c == brackets[1])
            depth--;
    }
    s->is_cut = s->is_cut || depth > 0;
}

static void skip_double_quoted(struct bash_scan *s)
{
    while (s->at < s->end) {
        char c = *s->at++, next = s->at < s->end ? *s->at : 0;
        if (c == '"')
            return;
        if (c == '\\' && next != 0) {
            s->at++;
        } else if (c == '$' && next == '(') {
            s->at++;
            skip_brackets(s, "()", "'\"", 1);
        } else if (c == '$' && next == '{') {
            s->at++;
            skip_brackets(s, "{}", "\"", 1);
        } else if (c == '`') {
            skip_until(s, '`', true);
        }
    }
    s->is_cut = true;
}

/* --- here-documents --------------------------------------------------------------------------- */

/* Behind the <<: its word, quoted or not. */
static void take_delimiter(struct bash_scan *s)
{
    struct heredoc doc = {.strips_tabs = s->at < s->end && *s->at == '-'};
    s->at += doc.strips_tabs;
    while (s->at < s->end && (*s->at == ' ' || *s->at == '\t'))
        s->at++;
    char quote = 0;
    for (; s->at < s->end && *s->at != '\n'; s->at++) {
        char c = *s->at;
        if (quote == 0 && strchr(" \t;&|<>()", c) != NULL)
            break;
        if (c == quote || (quote == 0 && (c == '\'' || c == '"')))
            quote = quote == 0 ? c : 0;
        else if (c != '\\' && doc.len < DELIMITER_MAX)
            doc.delimiter[doc.len++] = c;
    }
    if (doc.len == 0 || doc.len == DELIMITER_MAX || s->n_heredocs == HEREDOCS_MAX)
        s->is_broken = true;
    else
        s->heredocs[s->n_heredocs++] = doc;
}

/* At the first line of a document: behind its last one, if it is there. */
static bool skip_document(struct bash_scan *s, const struct heredoc *doc)
{
    while (s->at < s->end) {
        const char *line = s->at;
        const char *line_end = memchr(line, '\n', (size_t)(s->end - line));
        s->at = line_end != NULL ? line_end + 1 : s->end;
        while (doc->strips_tabs && *line == '\t' && line + 1 < s->end)
            line++;
        size_t len = (size_t)((line_end != NULL ? line_end : s->end) - line);
        if (len == doc->len && memcmp(line, doc->delimiter, len) == 0)
            return true;
    }
    return false;
}

static void end_line(struct bash_scan *s)
{
    for (size_t i = 0; i < s->n_heredocs && !s->is_cut; i++)
        s->is_cut = !skip_document(s, &s->heredocs[i]);
    s->n_heredocs = 0;
    s->is_command = true;
    s->is_word = false;
}

/* --- words ------------------------------------------------------------------------------------ */

enum effect { OPENS, CLOSES, GOES_ON };

static const struct {
    const char *word;
    enum effect effect;
    char what;
    bool is_command_next;
} keywords[] = {
    {"if", OPENS, 'i', true},     {"fi", CLOSES, 'i', false},      {"while", OPENS, 'd', true},
    {"until", OPENS, 'd', true},  {"for", OPENS, 'd', false},      {"select", OPENS, 'd', false},
    {"done", CLOSES, 'd', false}, {"case", OPENS, 'c', false},     {"esac", CLOSES, 'c', false},
    {"{", OPENS, '{', true},      {"}", CLOSES, '{', false},       {"[[", OPENS, '[', false},
    {"then", GOES_ON, 0, true},   {"else", GOES_ON, 0, true},      {"elif", GOES_ON, 0, true},
    {"do", GOES_ON, 0, true},     {"!", GOES_ON, 0, true},         {"time", GOES_ON, 0, true},
    {"coproc", GOES_ON, 0, true}, {"function", GOES_ON, 0, false},
};

static bool take_keyword(struct bash_scan *s, const char *word, size_t len)
{
    for (size_t i = 0; i < ARRAY_LEN(keywords); i++) {
        if (strlen(keywords[i].word) != len || memcmp(keywords[i].word, word, len) != 0)
            continue;
        if (keywords[i].effect == OPENS)
            block_bash_push(s, keywords[i].what);
        else if (keywords[i].effect == CLOSES)
            pop(s, keywords[i].what);
        s->is_command = keywords[i].is_command_next;
        s->is_name_next = keywords[i].word[0] == 'f' && len == 8;
        return true;
    }
    return false;
}

static bool block_bash_is_plain(char c)
{
    return !isspace((unsigned char)c) && strchr("'\"`$\\;&|<>()", c) == NULL;
}

/* Characters of a word without quotes; a whole word may be a keyword. */
static void take_plain(struct bash_scan *s)
{
    const char *word = s->at;
    while (s->at < s->end && block_bash_is_plain(*s->at))
        s->at++;
    size_t len = (size_t)(s->at - word);
    bool is_whole = !s->is_word && (s->at == s->end || isspace((unsigned char)*s->at) ||
                                    strchr(";&|<>()", *s->at) != NULL);
    s->is_word = true;
    s->is_dangling = false;
    if (top(s) == 'a' || top(s) == '[') {
        if (top(s) == '[' && is_whole && len == 2 && memcmp(word, "]]", 2) == 0)
            s->depth--;
    } else if (is_whole && s->is_command && take_keyword(s, word, len)) {
        return;
    } else {
        s->is_command = s->is_name_next;
        s->is_name_next = false;
    }
}

static void take_quoted(struct bash_scan *s)
{
    char c = *s->at++, next = s->at < s->end ? *s->at : 0;
    s->is_word = true;
    s->is_command = false;
    s->is_dangling = false;
    if (c == '\'') {
        skip_until(s, '\'', false);
    } else if (c == '"') {
        skip_double_quoted(s);
    } else if (c == '`') {
        skip_until(s, '`', true);
    } else if (c == '$' && next == '\'') {
        s->at++;
        skip_until(s, '\'', true);
    } else if (c == '$' && next == '{') {
        s->at++;
        skip_brackets(s, "{}", "'\"", 1);
    } else if (c == '$' && next == '(' && s->at + 1 < s->end && s->at[1] == '(') {
        s->at += 2;
        skip_brackets(s, "()", "'\"", 2);
    } else if (c == '$' && next == '(') {
        s->at++;
        block_bash_push(s, '$');
        s->is_command = true;
        s->is_word = false;
    }
}

static void take_backslash(struct bash_scan *s)
{
    s->at++;
    bool is_line_end = s->at < s->end && *s->at == '\n';
    s->is_cut = s->at == s->end || (is_line_end && s->at + 1 == s->end);
    s->at += s->at < s->end;
    if (!is_line_end) {
        s->is_word = true;
        s->is_command = false;
        s->is_dangling = false;
    }
}

/* --- operators -------------------------------------------------------------------------------- */

static bool is_behind(const struct bash_scan *s, char c)
{
    return s->at > s->start && s->at[-1] == c;
}

static void open_bracket(struct bash_scan *s)
{
    bool is_array = s->is_word && is_behind(s, '=');
    bool is_file = is_behind(s, '<') || is_behind(s, '>');
    s->at++;
    const char *behind = s->at;
    while (behind < s->end && (*behind == ' ' || *behind == '\t'))
        behind++;
    s->is_dangling = false;
    s->is_word = false;
    if (top(s) == '[')
        return;
    if (is_array) {
        block_bash_push(s, 'a');
    } else if (s->at < s->end && *s->at == '(') {
        s->at++;
        skip_brackets(s, "()", "'\"", 2); /* arithmetic, or subshells: balanced either way */
        s->is_command = true;
    } else if (behind < s->end && *behind == ')') {
        s->at = behind + 1; /* the head of a function */
        s->is_dangling = true;
        s->is_command = true;
    } else {
        block_bash_push(s, is_file ? '$' : '(');
        s->is_command = true;
    }
}

static void block_bash_close_bracket(struct bash_scan *s)
{
    char closed = top(s);
    s->at++;
    s->is_word = closed == '$';
    if (closed == '[')
        return;
    s->is_command = closed != '$'; /* which is a part of a word */
    if (closed == '(' || closed == '$' || closed == 'a')
        s->depth--;
    else if (closed != 'c') /* there it ends a pattern */
        s->is_broken = true;
}

static void take_operator(struct bash_scan *s)
{
    char c = *s->at++, next = s->at < s->end ? *s->at : 0;
    s->is_word = false;
    if (top(s) == '[' || top(s) == 'a')
        return;
    if (c == '<' && next == '<') {
        s->at++;
        bool is_string = s->at < s->end && *s->at == '<';
        s->at += is_string;
        if (!is_string)
            take_delimiter(s);
        return;
    }
    if (c == '<' || c == '>') {
        s->at += next == '&' || next == '|';
        return;
    }
    if (c == '&' && next == '>') /* &> */
        return;
    s->is_command = true;
    s->is_dangling = c == '|' || (c == '&' && next == '&');
    s->at += next == c && c != ';'; /* a second ; changes nothing */
    s->at += c == '|' && next == '&';
}

static void block_bash_take(struct bash_scan *s)
{
    char c = *s->at;
    if (c == '\n') {
        s->at++;
        end_line(s);
    } else if (c == '\\') {
        take_backslash(s);
    } else if (isspace((unsigned char)c)) {
        s->at++;
        s->is_word = false;
    } else if (c == '#' && !s->is_word) {
        const char *line_end = memchr(s->at, '\n', (size_t)(s->end - s->at));
        s->at = line_end != NULL ? line_end : s->end;
    } else if (strchr("'\"`$", c) != NULL) {
        take_quoted(s);
    } else if (c == '(') {
        open_bracket(s);
    } else if (c == ')') {
        block_bash_close_bracket(s);
    } else if (strchr(";&|<>", c) != NULL) {
        take_operator(s);
    } else {
        take_plain(s);
    }
}

enum cli_block cli_block_bash(const char *text, size_t len)
{
    struct bash_scan s = {.start = text, .at = text, .end = text + len, .is_command = true};
    while (s.at < s.end && !s.is_broken)
        block_bash_take(&s);
    if (s.is_broken)
        return CLI_BLOCK_WHOLE;
    bool is_open = s.is_cut || s.depth > 0 || s.is_dangling || s.n_heredocs > 0;
    return is_open ? CLI_BLOCK_OPEN : CLI_BLOCK_WHOLE;
}
