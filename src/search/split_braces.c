/* Code whose blocks are in braces: C, Java, JavaScript, Go, Rust and their like, and shells. What
 * stands before a brace says what it opens. In a box, and in tests. */
#include "search/split_parts.h"

#include <string.h>

enum { BRACE_HEAD_MAX = 4096 }; /* bytes before a brace that are looked at */

struct brace_open {
    size_t span; /* SIZE_MAX: a block that is no unit */
    bool is_in_function;
    size_t head, round; /* of the parentheses that it is in, if it is in some: they go on */
};

struct braces {
    struct split *s;
    struct brace_open open[SPLIT_DEPTH_MAX];
    size_t n_open;
    size_t beyond;            /* braces that are open deeper than that */
    size_t head;              /* where what stands before the next brace began */
    size_t round;             /* parentheses that are open */
    size_t last_comment_line; /* whose comments have been looked for */
};

/* ---- what stands before a brace -------------------------------------------------------------- */

struct brace_head {
    const struct split *s;
    size_t from, to;
    size_t paren, assign; /* the first of each that is not in another bracket; `to`: none */
    size_t arrow;         /* likewise => */
    bool has_paren, has_assign, has_arrow;
};

static size_t brace_skip_name(const struct split *s, size_t at, size_t to)
{
    while (at < to && (split_is_name(s->code[at]) || s->code[at] == '~' ||
                       (s->code[at] == ':' && at + 2 < to && s->code[at + 1] == ':' &&
                        (split_is_name(s->code[at + 2]) || s->code[at + 2] == '~')) ||
                       (s->code[at] == ':' && at > 0 && s->code[at - 1] == ':')))
        at++;
    return at;
}

static size_t brace_skip_space(const struct split *s, size_t at, size_t to)
{
    while (at < to && (unsigned char)s->code[at] <= ' ')
        at++;
    return at;
}

/* The name that ends right before `at`, space aside; false if there is none. */
static bool brace_name_before(const struct brace_head *h, size_t at, struct split_span *ret)
{
    const struct split *s = h->s;
    while (at > h->from && (unsigned char)s->code[at - 1] <= ' ')
        at--;
    size_t end = at;
    while (at > h->from &&
           (split_is_name(s->code[at - 1]) || s->code[at - 1] == '~' ||
            (s->code[at - 1] == ':' &&
             ((at - 1 > h->from && s->code[at - 2] == ':') || (at < end && s->code[at] == ':')))))
        at--;
    while (at < end && s->code[at] == ':')
        at++;
    ret->name = at;
    ret->name_len = end - at;
    return end > at && !(s->code[at] >= '0' && s->code[at] <= '9');
}

static size_t brace_skip_group(const struct split *s, size_t at, size_t to)
{
    size_t depth = 0;
    for (; at < to; at++) {
        depth += s->code[at] == '(' || s->code[at] == '[';
        if (s->code[at] == ')' || s->code[at] == ']')
            if (--depth == 0)
                return at + 1;
    }
    return to;
}

/* Annotations and attributes before it are no part of what is looked at: @Test(x), __attribute__.
 */
static size_t brace_skip_annotations(const struct split *s, size_t at, size_t to)
{
    for (;;) {
        size_t begin = at = brace_skip_space(s, at, to);
        bool is_one =
            at < to && (s->code[at] == '@' || split_has_word(s->code, at, to, "__attribute__") ||
                        (s->code[at] == '#' && at + 1 < to && s->code[at + 1] == '['));
        if (!is_one)
            return begin;
        at++;
        while (at < to && (split_is_name(s->code[at]) || s->code[at] == '.'))
            at++;
        if (split_has_word(s->code, begin, to, "@interface"))
            return begin;
        size_t group = brace_skip_space(s, at, to);
        if (group < to && (s->code[group] == '(' || s->code[group] == '['))
            at = brace_skip_group(s, group, to);
    }
}

static void brace_look(struct brace_head *h)
{
    size_t depth = 0;
    const char *code = h->s->code;
    h->paren = h->assign = h->arrow = h->to;
    for (size_t i = h->from; i < h->to; i++) {
        char c = code[i], next = i + 1 < h->to ? code[i + 1] : ' ';
        char before = i > h->from ? code[i - 1] : ' ';
        if (c == '(' && depth == 0 && !h->has_paren) {
            h->has_paren = true;
            h->paren = i;
        }
        depth += c == '(' || c == '[';
        if ((c == ')' || c == ']') && depth > 0)
            depth--;
        if (c != '=' || depth > 0)
            continue;
        if (next == '>') {
            h->has_arrow = true;
            h->arrow = i;
        } else if (next != '=' && strchr("=!<>+-*/%&|^~", before) == NULL && !h->has_assign) {
            h->has_assign = true;
            h->assign = i;
        }
    }
}

struct brace_word {
    const char *word;
    bool may_return; /* a type of C, which a function may return */
};

static bool brace_is_container(const struct brace_head *h, struct split_span *ret)
{
    static const struct brace_word words[] = {
        {"class", false},     {"interface", false}, {"trait", false},  {"impl", false},
        {"namespace", false}, {"module", false},    {"object", false}, {"protocol", false},
        {"extension", false}, {"record", false},    {"mod", false},    {"service", false},
        {"message", false},   {"struct", true},     {"union", true},   {"enum", true},
        {"package", false},
    };
    const struct split *s = h->s;
    size_t until = MIN(h->paren, h->assign);
    for (size_t at = h->from; at < until;) {
        size_t end = brace_skip_name(s, at, until);
        if (end == at) {
            at++;
            continue;
        }
        for (size_t i = 0; i < ARRAY_LEN(words); i++) {
            if (!split_has_word(s->code, at, end, words[i].word) ||
                strlen(words[i].word) != end - at)
                continue;
            if (words[i].may_return && (h->has_paren || h->has_assign))
                return false;
            size_t name = brace_skip_space(s, end, h->to);
            if (words[i].word[0] == 'i' && words[i].word[1] == 'm' && name < h->to &&
                s->code[name] == '<') { /* impl<T> Trait for Type */
                while (name < h->to && s->code[name] != '>')
                    name++;
                name = brace_skip_space(s, MIN(name + 1, h->to), h->to);
            }
            size_t name_end = brace_skip_name(s, name, h->to);
            /* enum class X */
            if (split_has_word(s->code, name, h->to, "class")) {
                name = brace_skip_space(s, name_end, h->to);
                name_end = brace_skip_name(s, name, h->to);
            }
            if (name_end == name)
                break; /* Go: the name is before it */
            ret->type = words[i].word;
            ret->is_container = true;
            ret->name = name;
            ret->name_len = name_end - name;
            return true;
        }
        at = end;
    }
    /* Go: type Name struct { */
    if (split_has_word(s->code, h->from, h->to, "type")) {
        size_t name = brace_skip_space(s, h->from + 4, h->to);
        ret->type = "type";
        ret->is_container = true;
        ret->name = name;
        ret->name_len = brace_skip_name(s, name, h->to) - name;
        return ret->name_len > 0;
    }
    return false;
}

/* fn name(, func (r T) name(, function name( */
static bool brace_has_keyword(const struct brace_head *h, struct split_span *ret,
                              bool *ret_is_nameless)
{
    static const char *const words[] = {"fn", "func", "fun", "function", "def", "sub"};
    const struct split *s = h->s;
    *ret_is_nameless = false;
    for (size_t at = h->from; at < h->to;) {
        size_t end = brace_skip_name(s, at, h->to);
        if (end == at) {
            at++;
            continue;
        }
        for (size_t i = 0; i < ARRAY_LEN(words); i++) {
            if (strlen(words[i]) != end - at || !split_has_word(s->code, at, end, words[i]))
                continue;
            size_t name = brace_skip_space(s, end, h->to);
            while (name < h->to && s->code[name] == '*')
                name = brace_skip_space(s, name + 1, h->to);
            bool has_receiver = name < h->to && s->code[name] == '(';
            if (has_receiver)
                name = brace_skip_space(s, brace_skip_group(s, name, h->to), h->to);
            ret->name = name;
            ret->name_len = brace_skip_name(s, name, h->to) - name;
            *ret_is_nameless = ret->name_len == 0;
            return true;
        }
        at = end;
    }
    return false;
}

static bool brace_is_control(const struct split *s, const struct split_span *name)
{
    static const char *const words[] = {"if",     "for",  "while",  "switch",  "catch",
                                        "else",   "do",   "try",    "return",  "sizeof",
                                        "using",  "lock", "with",   "match",   "when",
                                        "select", "elif", "until",  "foreach", "synchronized",
                                        "guard",  "new",  "unless", "typeof",  "defer"};
    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        if (strlen(words[i]) == name->name_len &&
            memcmp(s->code + name->name, words[i], name->name_len) == 0)
            return true;
    return false;
}

static bool brace_is_function(const struct brace_head *h, struct split_span *ret)
{
    bool is_nameless;
    ret->type = "function";
    ret->is_function = true;
    if (brace_has_keyword(h, ret, &is_nameless) && !is_nameless)
        return true;
    if (is_nameless || h->has_arrow) {
        /* const name = (x) => {, name: function () {, this.name = function () { */
        const char *colon = memchr(h->s->code + h->from, ':', h->to - h->from);
        size_t at = h->has_assign   ? h->assign
                    : colon != NULL ? (size_t)(colon - h->s->code)
                                    : h->to;
        return at < h->to && brace_name_before(h, at, ret) && !brace_is_control(h->s, ret);
    }
    if (!h->has_paren || h->has_assign)
        return false;
    if (!brace_name_before(h, h->paren, ret) || brace_is_control(h->s, ret))
        return false;
    size_t after = brace_skip_space(h->s, brace_skip_group(h->s, h->paren, h->to), h->to);
    char before = ret->name > h->from ? h->s->code[ret->name - 1] : ' ';
    return before != '.' && (after == h->to || h->s->code[after] != ',');
}

/* ---- the braces ------------------------------------------------------------------------------ */

static void brace_begin(struct braces *b, size_t at)
{
    struct split *s = b->s;
    size_t parent = SIZE_MAX;
    bool is_in_function = b->n_open > 0 && b->open[b->n_open - 1].is_in_function;
    struct split_span found = {0}, *span = NULL;
    if (b->n_open == SPLIT_DEPTH_MAX) {
        b->beyond++;
        return;
    }
    for (size_t i = b->n_open; i-- > 0 && parent == SIZE_MAX;)
        parent = b->open[i].span;
    struct brace_head h = {
        .s = s, .from = MAX(b->head, at > BRACE_HEAD_MAX ? at - BRACE_HEAD_MAX : 0), .to = at};
    h.from = brace_skip_annotations(s, h.from, at);
    if (!is_in_function && h.from < at && b->round == 0) {
        brace_look(&h);
        bool is_one = brace_is_container(&h, &found);
        if (!is_one) {
            found = (struct split_span){0};
            is_one = brace_is_function(&h, &found);
        }
        if (is_one)
            span = split_add(s);
    }
    if (span != NULL) {
        *span = found;
        span->parent = parent;
        if (span->is_function && parent != SIZE_MAX)
            span->type = "method";
        span->head = h.from;
        span->head_end = at;
        size_t line = split_line_of(s, h.from);
        span->first = line > b->last_comment_line
                          ? MAX(split_comment_above(s, line), b->last_comment_line)
                          : line;
        b->last_comment_line = line + 1;
        span->last = s->n_lines - 1;
    }
    b->open[b->n_open++] = (struct brace_open){
        .head = b->head,
        .round = b->round,
        .span = span != NULL ? s->n_spans - 1 : SIZE_MAX,
        .is_in_function = is_in_function || (span != NULL && span->is_function)};
}

static void brace_end(struct braces *b, size_t at)
{
    if (b->beyond > 0) {
        b->beyond--;
        return;
    }
    if (b->n_open == 0)
        return;
    const struct brace_open *open = &b->open[--b->n_open];
    if (open->span != SIZE_MAX)
        b->s->spans[open->span].last = split_line_of(b->s, at);
    b->round = open->round;
    if (open->round > 0)
        b->head = open->head;
}

/* A function's own brace at the left of a line: whatever was left open in it by branches of a
 * preprocessor is closed. */
static void brace_end_at_left(struct braces *b, size_t at)
{
    b->beyond = 0;
    while (b->n_open > 1 && b->open[b->n_open - 1].is_in_function &&
           b->open[b->n_open - 2].is_in_function)
        brace_end(b, at);
    brace_end(b, at);
}

void split_by_braces(struct split *s)
{
    struct braces b = {.s = s};
    for (size_t i = 0; i < s->len; i++) {
        bool is_left = i == 0 || s->code[i - 1] == '\n';
        switch (s->code[i]) {
        case '{':
            brace_begin(&b, i);
            b.head = i + 1;
            b.round = 0;
            break;
        case '}':
            b.head = i + 1;
            b.round = 0;
            if (is_left)
                brace_end_at_left(&b, i);
            else
                brace_end(&b, i);
            break;
        case '(':
            b.round++;
            break;
        case ')':
            b.round -= b.round > 0;
            break;
        case ';':
            if (b.round == 0)
                b.head = i + 1;
            break;
        default:
            break;
        }
    }
    while (b.n_open > 0 || b.beyond > 0)
        brace_end(&b, s->len - 1);
}
