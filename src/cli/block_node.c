#include "cli/block.h"

#include <ctype.h>

enum { DEPTH_MAX = 512 };

/* What stands on the stack: an open bracket, or '`' for a template whose ${ is being read. */
struct node_scan {
    const char *at, *end;
    char stack[DEPTH_MAX];
    size_t depth;
    bool is_broken;    /* unbalanced or too deep: node will say so */
    bool is_cut;       /* the text ends inside a template or a comment */
    bool awaits_parts; /* behind `if` and the like: what stands in brackets is not all of it */
    bool needs_body;   /* `if (x)`, `else`: a statement must follow */
    bool needs_catch;  /* a `try` without one, at the outermost level */
    char last;         /* the last significant character, 'a' for a word, 0 if none */
    char before_last;
    bool is_operand_next; /* the last word was one like `return`: a slash begins a pattern */
};

static void block_node_note(struct node_scan *s, char c)
{
    s->before_last = s->last;
    s->last = c;
    s->is_operand_next = false;
    s->needs_body = false;
}

static void block_node_push(struct node_scan *s, char bracket)
{
    if (s->depth == DEPTH_MAX)
        s->is_broken = true;
    else
        s->stack[s->depth++] = bracket;
}

/* At the opening quote. A line end ends it too: node will say so. */
static void skip_quoted(struct node_scan *s)
{
    char quote = *s->at++;
    while (s->at < s->end && *s->at != quote && *s->at != '\n') {
        if (*s->at == '\\' && s->at + 1 < s->end) {
            s->at++;
            s->is_cut = *s->at == '\n' && s->at + 1 == s->end;
        }
        s->at++;
    }
    s->at += s->at < s->end && *s->at == quote;
    block_node_note(s, quote);
}

/* Inside a template: to its end, or into the ${ that is read like other code. */
static void skip_template(struct node_scan *s)
{
    while (s->at < s->end) {
        char c = *s->at++;
        if (c == '\\' && s->at < s->end) {
            s->at++;
        } else if (c == '`') {
            block_node_note(s, c);
            return;
        } else if (c == '$' && s->at < s->end && *s->at == '{') {
            s->at++;
            block_node_push(s, '`');
            block_node_note(s, '{');
            return;
        }
    }
    s->is_cut = true;
}

static void block_node_skip_comment(struct node_scan *s)
{
    bool is_line = s->at[1] == '/';
    const char *mark = is_line ? "\n" : "*/";
    const char *found = memmem(s->at + 2, (size_t)(s->end - s->at) - 2, mark, strlen(mark));
    s->is_cut = found == NULL && !is_line;
    s->at = found == NULL ? s->end : found + (is_line ? 0 : 2);
}

/* A slash divides behind a value and begins a pattern elsewhere. */
static bool begins_pattern(const struct node_scan *s)
{
    return s->is_operand_next || s->last == 0 || strchr("(,=:[!&|?{};+-*%~^<>", s->last) != NULL;
}

static void skip_pattern(struct node_scan *s)
{
    bool is_class = false;
    const char *at = s->at + 1;
    for (; at < s->end && *at != '\n' && (is_class || *at != '/'); at++) {
        if (*at == '\\' && at + 1 < s->end)
            at++;
        else if (*at == '[' || *at == ']')
            is_class = *at == '[';
    }
    s->at = at < s->end && *at == '/' ? at + 1 : s->at + 1;
    block_node_note(s, 'a');
}

static bool block_node_is_any(const char *word, size_t len, const char *const *words, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (strlen(words[i]) == len && memcmp(word, words[i], len) == 0)
            return true;
    return false;
}

/* Words that say that more must come. Members are not meant: `x.catch(...)`. */
static void look_at_word(struct node_scan *s, const char *word, size_t len)
{
    static const char *const with_parts[] = {"if", "for", "while", "switch", "with", "function"};
    static const char *const with_body[] = {"else", "do", "try", "finally"};
    static const char *const before_operand[] = {"return", "typeof", "case", "in",    "of",
                                                 "delete", "void",   "new",  "throw", "await",
                                                 "yield",  "else",   "do"};
    bool is_member = s->last == '.', is_behind_brace = s->last == '}';
    block_node_note(s, 'a');
    if (is_member)
        return;
    s->is_operand_next = block_node_is_any(word, len, before_operand, ARRAY_LEN(before_operand));
    if (s->depth > 0)
        return;
    bool is_do_while = is_behind_brace && len == 5 && memcmp(word, "while", 5) == 0;
    if (block_node_is_any(word, len, with_parts, ARRAY_LEN(with_parts)) && !is_do_while)
        s->awaits_parts = true;
    s->needs_body = block_node_is_any(word, len, with_body, ARRAY_LEN(with_body));
    if (len == 3 && memcmp(word, "try", 3) == 0)
        s->needs_catch = true;
    else if ((len == 5 && memcmp(word, "catch", 5) == 0) ||
             (len == 7 && memcmp(word, "finally", 7) == 0))
        s->needs_catch = false;
}

static bool is_word_char(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '$' || (unsigned char)c >= 0x80;
}

static void block_node_take_word(struct node_scan *s)
{
    const char *word = s->at;
    while (s->at < s->end && is_word_char(*s->at))
        s->at++;
    look_at_word(s, word, (size_t)(s->at - word));
}

static void block_node_close_bracket(struct node_scan *s, char c)
{
    static const char pairs[] = ")(][}{";
    char open = strchr(pairs, c)[1];
    char top = s->depth > 0 ? s->stack[s->depth - 1] : 0;
    if (top == '`' && c == '}') {
        s->depth--;
        skip_template(s);
        return;
    }
    if (top != open) {
        s->is_broken = true;
        return;
    }
    s->depth--;
    block_node_note(s, c);
    s->needs_body = s->awaits_parts && s->depth == 0 && c == ')';
    if (s->depth == 0)
        s->awaits_parts = false;
}

static void block_node_take_char(struct node_scan *s)
{
    char c = *s->at++;
    if (isspace((unsigned char)c))
        return;
    if (c == '(' || c == '[' || c == '{') {
        block_node_note(s, c);
        block_node_push(s, c);
    } else if (c == ')' || c == ']' || c == '}') {
        block_node_close_bracket(s, c);
    } else if (c == '`') {
        skip_template(s);
    } else {
        block_node_note(s, c);
    }
}

/* Behind an operator that needs a right side; `x++` and `x--` do not. */
static bool ends_in_operator(const struct node_scan *s)
{
    if ((s->last == '+' || s->last == '-') && s->before_last == s->last)
        return false;
    return s->last != 0 && strchr("=+-*/%&|^?:,.<>~!", s->last) != NULL;
}

enum cli_block cli_block_node(const char *text, size_t len)
{
    struct node_scan s = {.at = text, .end = text + len};
    while (s.at < s.end && !s.is_broken) {
        char c = *s.at, next = s.at + 1 < s.end ? s.at[1] : 0;
        if (c == '/' && (next == '/' || next == '*'))
            block_node_skip_comment(&s);
        else if (c == '/' && begins_pattern(&s))
            skip_pattern(&s);
        else if (c == '"' || c == '\'')
            skip_quoted(&s);
        else if (is_word_char(c))
            block_node_take_word(&s);
        else
            block_node_take_char(&s);
    }
    if (s.is_broken)
        return CLI_BLOCK_WHOLE;
    bool is_open = s.is_cut || s.depth > 0 || s.needs_body || s.needs_catch;
    return is_open || ends_in_operator(&s) ? CLI_BLOCK_OPEN : CLI_BLOCK_WHOLE;
}
