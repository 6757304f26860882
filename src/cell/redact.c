/* Credentials in what is shown, found while it streams by. Daemon.
 *
 * Two stages. The first looks for places where something may begin, sixteen at a time, by two or
 * three characters at fixed distances (redact_next). The second decides, by hand-written scanners
 * that never go back: whether it is a secret, is none, or needs more text than there is. A token
 * must begin where a word does, so that no run of characters is scanned by two of them. */
#include "cell/redact.h"

#include "wire/json.h"

#include <assert.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

enum {
    REDACT_AHEAD = 32,        /* bytes after a place that the first stage may read */
    REDACT_PREFIX_MAX = 16,   /* bytes by which a token is known */
    REDACT_HISTORY = 96,      /* bytes before a place that the second stage may read */
    REDACT_DECIDE = 128,      /* bytes of a token after which it is decided what it is */
    REDACT_DECIDE_JWT = 1024, /* likewise: its first part may be long */
    REDACT_SLICE = 32 * 1024,
};

/* Kinds of characters, as bits. */
enum redact_class {
    REDACT_UPPER = 1,        /* A-Z 0-9 */
    REDACT_ALNUM = 2,        /* A-Z a-z 0-9 */
    REDACT_WORD = 4,         /* and _ */
    REDACT_TOKEN = 8,        /* and - */
    REDACT_BEARER = 16,      /* and . ~ + / = */
    REDACT_VALUE = 32,       /* of a name among others: no space, quote, separator, bracket */
    REDACT_URL = 64,         /* no space, quote, angle bracket */
    REDACT_BODY = 128,       /* of a private key, with its headers and escaped line breaks */
    REDACT_BASE64 = 256,     /* A-Z a-z 0-9 + / = */
    REDACT_IN_DOUBLE = 512,  /* anything on a line but " */
    REDACT_IN_SINGLE = 1024, /* anything on a line but ' */
};

#define REDACT_LINE (REDACT_IN_DOUBLE | REDACT_IN_SINGLE)
#define REDACT_SIGN (REDACT_LINE | REDACT_URL)
#define REDACT_SMALL                                                                               \
    (REDACT_SIGN | REDACT_VALUE | REDACT_ALNUM | REDACT_WORD | REDACT_TOKEN | REDACT_BEARER |      \
     REDACT_BODY | REDACT_BASE64)
#define REDACT_LARGE (REDACT_SMALL | REDACT_UPPER)
#define REDACT_BASE (REDACT_SIGN | REDACT_VALUE | REDACT_BEARER | REDACT_BODY | REDACT_BASE64)

static const uint16_t redact_classes[256] = {
    ['0' ... '9'] = REDACT_LARGE,
    ['A' ... 'Z'] = REDACT_LARGE,
    ['a' ... 'z'] = REDACT_SMALL,
    ['_'] = REDACT_SIGN | REDACT_VALUE | REDACT_WORD | REDACT_TOKEN | REDACT_BEARER,
    ['-'] = REDACT_SIGN | REDACT_VALUE | REDACT_TOKEN | REDACT_BEARER | REDACT_BODY,
    ['.'] = REDACT_SIGN | REDACT_VALUE | REDACT_BEARER | REDACT_BODY,
    ['~'] = REDACT_SIGN | REDACT_VALUE | REDACT_BEARER,
    ['+'] = REDACT_BASE,
    ['/'] = REDACT_BASE,
    ['='] = REDACT_BASE,
    [':'] = REDACT_SIGN | REDACT_VALUE | REDACT_BODY,
    ['('] = REDACT_SIGN | REDACT_VALUE | REDACT_BODY,
    ['!'] = REDACT_SIGN | REDACT_VALUE,
    ['#' ... '%'] = REDACT_SIGN | REDACT_VALUE,
    ['*'] = REDACT_SIGN | REDACT_VALUE,
    ['?' ... '@'] = REDACT_SIGN | REDACT_VALUE,
    ['['] = REDACT_SIGN | REDACT_VALUE,
    ['^'] = REDACT_SIGN | REDACT_VALUE,
    ['{' ... '|'] = REDACT_SIGN | REDACT_VALUE,
    [0x80 ... 0xff] = REDACT_SIGN | REDACT_VALUE,
    ['&'] = REDACT_SIGN,
    [';'] = REDACT_SIGN,
    [']'] = REDACT_SIGN,
    ['}'] = REDACT_SIGN,
    [')'] = REDACT_SIGN | REDACT_BODY,
    [','] = REDACT_SIGN | REDACT_BODY,
    ['\\'] = REDACT_LINE | REDACT_BODY,
    [' '] = REDACT_LINE | REDACT_BODY,
    ['\t'] = REDACT_LINE | REDACT_BODY,
    ['\r'] = REDACT_BODY,
    ['\n'] = REDACT_BODY,
    ['"'] = REDACT_IN_SINGLE,
    ['\''] = REDACT_IN_DOUBLE,
    ['`'] = REDACT_LINE,
    ['<'] = REDACT_LINE,
    ['>'] = REDACT_LINE,
};

static const struct redact_format {
    const char *prefix, *category;
    size_t min, max; /* characters after the prefix; max 0: as many as come */
    enum redact_class class;
    bool needs_digit;
} redact_formats[] = {
    {"AKIA", "aws_access_key", 16, 16, REDACT_UPPER, false},
    {"ASIA", "aws_access_key", 16, 16, REDACT_UPPER, false},
    {"sk-ant-", "anthropic_key", 24, 0, REDACT_TOKEN, true},
    {"sk-proj-", "openai_key", 24, 0, REDACT_TOKEN, true},
    {"sk-svcacct-", "openai_key", 24, 0, REDACT_TOKEN, true},
    {"sk-admin-", "openai_key", 24, 0, REDACT_TOKEN, true},
    {"sk-", "openai_key", 32, 0, REDACT_ALNUM, true},
    {"AIza", "gcloud_key", 35, 35, REDACT_TOKEN, false},
    {"ghp_", "github_pat", 36, 0, REDACT_WORD, true},
    {"gho_", "github_oauth", 36, 0, REDACT_WORD, true},
    {"ghu_", "github_app", 36, 0, REDACT_WORD, true},
    {"ghs_", "github_app", 36, 0, REDACT_WORD, true},
    {"ghr_", "github_app", 36, 0, REDACT_WORD, true},
    {"github_pat_", "github_fine_grained", 50, 0, REDACT_WORD, true},
    {"xoxa-", "slack_token", 20, 0, REDACT_TOKEN, true},
    {"xoxb-", "slack_token", 20, 0, REDACT_TOKEN, true},
    {"xoxe-", "slack_token", 20, 0, REDACT_TOKEN, true},
    {"xoxo-", "slack_token", 20, 0, REDACT_TOKEN, true},
    {"xoxp-", "slack_token", 20, 0, REDACT_TOKEN, true},
    {"xoxr-", "slack_token", 20, 0, REDACT_TOKEN, true},
    {"xoxs-", "slack_token", 20, 0, REDACT_TOKEN, true},
    {"xapp-", "slack_token", 20, 0, REDACT_TOKEN, true},
    {"sk_live_", "stripe_key", 16, 0, REDACT_ALNUM, true},
    {"sk_test_", "stripe_key", 16, 0, REDACT_ALNUM, true},
    {"rk_live_", "stripe_key", 16, 0, REDACT_ALNUM, true},
    {"rk_test_", "stripe_key", 16, 0, REDACT_ALNUM, true},
};

/* Ends of names whose values are secret. Written small they are often names of variables and
 * fields, so that only the unmistakable ones count then. */
static const struct redact_name {
    const char *end;
    bool is_small_too;
    bool needs_more; /* it is no secret when it is the whole name */
} redact_names[] = {
    {"password", true, false},     {"passwd", true, false},         {"passphrase", true, false},
    {"pwd", false, true},          {"secret", false, false},        {"client_secret", true, false},
    {"clientsecret", true, false}, {"token", false, false},         {"access_token", true, false},
    {"accesstoken", true, false},  {"auth_token", true, false},     {"refresh_token", true, false},
    {"api_key", true, false},      {"apikey", true, false},         {"access_key", true, false},
    {"secret_key", true, false},   {"private_key", true, false},    {"account_key", true, false},
    {"accountkey", true, false},   {"auth_key", true, false},       {"master_key", true, false},
    {"signing_key", true, false},  {"encryption_key", true, false},
};

enum redact_verdict { REDACT_NO, REDACT_YES, REDACT_MORE };

/* What the second stage looks at: the text from `begin`, of which `at` is the place in question. */
struct redact_view {
    const char *begin, *at, *end;
    bool is_end; /* no more text will come */
};

struct redact_match {
    const char *begin, *end; /* of what is replaced */
    const char *category;
    int inside; /* class of what follows and is part of it, or 0 */
};

/* ---- the first stage ------------------------------------------------------------------------- */

/* True if something may begin here: all that the second stage can find, and little else. Reads
 * REDACT_AHEAD bytes. */
static bool redact_may_begin(const char *p)
{
    switch (p[0]) {
    case '=':
    case ':':
        return true;
    case 's':
    case 'r':
        return p[1] == 'k' && (p[2] == '-' || p[2] == '_');
    case 'g':
        return p[3] == '_' || p[6] == '_';
    case 'x':
        return p[4] == '-' && (p[2] == 'x' || p[2] == 'p');
    case 'A':
        return (p[2] == 'I' && p[3] == 'A') || (p[1] == 'I' && p[2] == 'z');
    case 'e':
        return p[2] == 'J';
    case '-':
        return p[5] == 'B';
    case 'B':
    case 'b':
        return (p[5] | 0x20) == 'r' && p[6] == ' ';
    default:
        return false;
    }
}

#ifdef __SSE2__
static __m128i redact_equal(__m128i v, char c)
{
    return _mm_cmpeq_epi8(v, _mm_set1_epi8(c));
}

static __m128i redact_either(__m128i a, __m128i b)
{
    return _mm_or_si128(a, b);
}

static __m128i redact_both(__m128i a, __m128i b)
{
    return _mm_and_si128(a, b);
}

static __m128i redact_load(const char *p)
{
    return _mm_loadu_si128((const __m128i *)(const void *)p);
}

/* The same for sixteen places: a bit for each. */
static unsigned redact_may_begin_16(const char *p)
{
    __m128i v0 = redact_load(p), v2 = redact_load(p + 2), v6 = redact_load(p + 6);
    __m128i hits = redact_either(redact_equal(v0, '='), redact_equal(v0, ':'));
    __m128i dash_2 = redact_equal(v2, '-'), low_2 = redact_equal(v2, '_');
    __m128i v1 = redact_load(p + 1);
    __m128i keys = redact_both(redact_equal(v1, 'k'), redact_either(dash_2, low_2));
    keys = redact_both(keys, redact_either(redact_equal(v0, 's'), redact_equal(v0, 'r')));
    __m128i v3 = redact_load(p + 3), v5 = redact_load(p + 5), small = _mm_set1_epi8(0x20);
    __m128i git = redact_both(redact_equal(v0, 'g'),
                              redact_either(redact_equal(v3, '_'), redact_equal(v6, '_')));
    __m128i slack =
        redact_both(redact_both(redact_equal(v0, 'x'), redact_equal(redact_load(p + 4), '-')),
                    redact_either(redact_equal(v2, 'x'), redact_equal(v2, 'p')));
    __m128i aws = redact_both(redact_equal(v2, 'I'), redact_equal(v3, 'A'));
    __m128i gcloud = redact_both(redact_equal(v1, 'I'), redact_equal(v2, 'z'));
    __m128i cloud = redact_both(redact_equal(v0, 'A'), redact_either(aws, gcloud));
    __m128i jwt = redact_both(redact_equal(v0, 'e'), redact_equal(v2, 'J'));
    __m128i key = redact_both(redact_equal(v0, '-'), redact_equal(v5, 'B'));
    __m128i bearer = redact_both(redact_equal(_mm_or_si128(v0, small), 'b'),
                                 redact_equal(_mm_or_si128(v5, small), 'r'));
    bearer = redact_both(bearer, redact_equal(v6, ' '));
    hits = redact_either(redact_either(hits, keys), redact_either(git, slack));
    hits = redact_either(redact_either(hits, cloud), redact_either(jwt, key));
    return (unsigned)_mm_movemask_epi8(redact_either(hits, bearer));
}
#endif

/* The next place before `stop` where something may begin, or `stop`. */
static const char *redact_next(const char *p, const char *stop)
{
#ifdef __SSE2__
    for (; stop - p >= 16; p += 16) {
        unsigned hits = redact_may_begin_16(p);
        if (hits != 0)
            return p + __builtin_ctz(hits);
    }
#endif
    while (p < stop && !redact_may_begin(p))
        p++;
    return p;
}

/* ---- the second stage ------------------------------------------------------------------------ */

static bool redact_is(char c, enum redact_class class)
{
    return (redact_classes[(unsigned char)c] & class) != 0;
}

static bool redact_is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* True if a token of these characters may begin here: the one before is of another kind, or ends an
 * escape, "\n" in quotes or a color of a terminal. */
static bool redact_is_boundary(const struct redact_view *v, const char *at, enum redact_class class)
{
    if (at == v->begin || !redact_is(at[-1], class))
        return true;
    if (at - v->begin >= 2 && at[-2] == '\\' && (at[-1] == 'n' || at[-1] == 'r' || at[-1] == 't'))
        return true;
    if (at[-1] != 'm')
        return false;
    const char *p = at - 1;
    while (p > v->begin && at - p < 20 && (redact_is_digit(p[-1]) || p[-1] == ';'))
        p--;
    return p - v->begin >= 2 && p[-1] == '[' && p[-2] == '\x1b';
}

/* A run of characters, as far as it is looked at to decide. */
struct redact_run {
    const char *begin, *end;
    bool has_digit, has_letter;
    enum redact_class all; /* classes that all its characters have */
    bool is_cut;           /* it goes on beyond what is looked at */
    bool is_open;          /* the text ends with it, and more may come */
};

static struct redact_run redact_scan(const struct redact_view *v, const char *at,
                                     enum redact_class class, size_t max)
{
    struct redact_run run = {.begin = at, .end = at, .all = class | REDACT_BASE64 | REDACT_URL};
    while (run.end < v->end && (size_t)(run.end - at) < max && redact_is(*run.end, class)) {
        run.all &= redact_classes[(unsigned char)*run.end];
        run.has_digit |= redact_is_digit(*run.end);
        run.has_letter |= redact_is(*run.end, REDACT_ALNUM) && !redact_is_digit(*run.end);
        run.end++;
    }
    run.is_cut = (size_t)(run.end - at) == max;
    run.is_open = !run.is_cut && run.end == v->end && !v->is_end;
    return run;
}

static bool redact_starts(const struct redact_view *v, const char *at, const char *prefix)
{
    size_t len = strlen(prefix);
    return (size_t)(v->end - at) >= len && memcmp(at, prefix, len) == 0;
}

static enum redact_verdict redact_yes(const struct redact_run *run, const char *begin,
                                      const char *category, enum redact_class class,
                                      struct redact_match *ret)
{
    *ret = (struct redact_match){begin, run->end, category, run->is_cut ? (int)class : 0};
    return REDACT_YES;
}

static enum redact_verdict redact_jwt(const struct redact_view *v, const char *at,
                                      struct redact_match *ret)
{
    if (!redact_is_boundary(v, at, REDACT_TOKEN))
        return REDACT_NO;
    struct redact_run head = redact_scan(v, at, REDACT_TOKEN, REDACT_DECIDE_JWT);
    if (head.is_open || (v->end - head.end < 4 && !v->is_end))
        return REDACT_MORE;
    if (head.end - at < 10 || !redact_starts(v, head.end, ".eyJ"))
        return REDACT_NO;
    /* The second part has a point after it. */
    struct redact_run rest = redact_scan(v, head.end + 1, REDACT_BEARER, REDACT_DECIDE_JWT);
    if (rest.is_open)
        return REDACT_MORE;
    size_t len = (size_t)(rest.end - rest.begin);
    if (!rest.is_cut && (len < 20 || memchr(rest.begin, '.', len) == NULL))
        return REDACT_NO;
    return redact_yes(&rest, at, "bearer_token", REDACT_BEARER, ret);
}

/* A token that is known by its beginning. */
static enum redact_verdict redact_token(const struct redact_view *v, const char *at,
                                        struct redact_match *ret)
{
    if (v->end - at < REDACT_PREFIX_MAX && !v->is_end)
        return REDACT_MORE;
    if (redact_starts(v, at, "eyJ"))
        return redact_jwt(v, at, ret);
    for (size_t i = 0; i < ARRAY_LEN(redact_formats); i++) {
        const struct redact_format *f = &redact_formats[i];
        if (at[0] != f->prefix[0] || at[1] != f->prefix[1]) /* most of them, at once */
            continue;
        if (!redact_starts(v, at, f->prefix) || !redact_is_boundary(v, at, f->class | REDACT_ALNUM))
            continue;
        const char *begin = at + strlen(f->prefix);
        struct redact_run run = redact_scan(v, begin, f->class, REDACT_DECIDE);
        if (run.is_open)
            return REDACT_MORE;
        size_t len = (size_t)(run.end - run.begin);
        bool is_whole = run.end == v->end || !redact_is(*run.end, REDACT_ALNUM);
        if (len >= f->min && (f->max == 0 || (len <= f->max && is_whole)) &&
            (run.has_digit || !f->needs_digit))
            return redact_yes(&run, at, f->category, f->class, ret);
    }
    return REDACT_NO;
}

static enum redact_verdict redact_bearer(const struct redact_view *v, struct redact_match *ret)
{
    const char *at = v->at + strlen("bearer");
    for (size_t i = 0; i < strlen("bearer"); i++)
        if ((v->at[i] | 0x20) != "bearer"[i])
            return REDACT_NO;
    if (!redact_is_boundary(v, v->at, REDACT_ALNUM))
        return REDACT_NO;
    while (at < v->end && *at == ' ' && at - v->at < 16)
        at++;
    /* A token with a name of its own keeps it. */
    enum redact_verdict verdict = redact_token(v, at, ret);
    if (verdict != REDACT_NO)
        return verdict;
    struct redact_run run = redact_scan(v, at, REDACT_BEARER, REDACT_DECIDE);
    if (run.is_open)
        return REDACT_MORE;
    if (run.end - run.begin < 16 || !run.has_digit)
        return REDACT_NO;
    return redact_yes(&run, at, "bearer_token", REDACT_BEARER, ret);
}

/* scheme://user:password@host… */
static enum redact_verdict redact_connection(const struct redact_view *v, struct redact_match *ret)
{
    enum { USER_MAX = 256 };
    const char *at = v->at + strlen("://"), *password = NULL, *p = at;
    if (v->at == v->begin || !redact_is(v->at[-1], REDACT_ALNUM))
        return REDACT_NO;
    for (; p < v->end && p - at < USER_MAX && redact_is(*p, REDACT_URL); p++) {
        if (*p == '/' || *p == '?' || *p == '#' || *p == '@')
            break;
        if (*p == ':' && password == NULL)
            password = p + 1;
    }
    if (p == v->end && !v->is_end && p - at < USER_MAX)
        return REDACT_MORE;
    if (p == v->end || *p != '@' || password == NULL || password == p ||
        memchr("$<{[*%", *password, 6) != NULL)
        return REDACT_NO;
    struct redact_run run = redact_scan(v, p, REDACT_URL, REDACT_DECIDE);
    if (run.is_open)
        return REDACT_MORE;
    return redact_yes(&run, at, "connection_string", REDACT_URL, ret);
}

/* Or a backslash, before the n or r of an escaped line break. */
static bool redact_is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == '\\';
}

/* -----BEGIN … PRIVATE KEY-----, and something after it that may be one. */
static enum redact_verdict redact_key(const struct redact_view *v, struct redact_match *ret)
{
    enum { TITLE_MAX = 64, PROOF = 16, PROOF_MAX = 128 };
    static const char begin[] = "-----BEGIN ", word[] = "PRIVATE KEY";
    if (memcmp(v->at, begin, sizeof(begin) - 1) != 0)
        return REDACT_NO;
    const char *title = v->at + sizeof(begin) - 1, *at = title;
    while (at < v->end && at - title < TITLE_MAX && (redact_is(*at, REDACT_UPPER) || *at == ' '))
        at++;
    if (v->end - at < 5 && !v->is_end)
        return REDACT_MORE;
    if (memmem(title, (size_t)(at - title), word, sizeof(word) - 1) == NULL ||
        !redact_starts(v, at, "-----"))
        return REDACT_NO;
    const char *body = at + 5;
    for (at = body; at < v->end && at - body < PROOF_MAX && redact_is_space(*at); at++)
        at += *at == '\\' && (at[1] == 'n' || at[1] == 'r');
    struct redact_run proof = redact_scan(v, at, REDACT_BEARER, PROOF);
    if (proof.is_open)
        return REDACT_MORE;
    bool is_header = proof.end < v->end && *proof.end == ':' && proof.end > proof.begin;
    if (!proof.is_cut && !is_header)
        return REDACT_NO;
    *ret = (struct redact_match){v->at, body, "ssh_private_key", REDACT_BODY};
    return REDACT_YES;
}

/* ---- values of names ------------------------------------------------------------------------- */

/* False for nearly all names, by their last two letters. */
static bool redact_may_end(const char *begin, const char *end)
{
    if (end - begin < 2)
        return false;
    char before = end[-2] | 0x20, last = end[-1] | 0x20;
    switch (last) {
    case 'd':
        return before == 'r' || before == 'w'; /* password, passwd */
    case 'e':
        return before == 's';
    case 'n':
    case 't':
    case 'y':
        return before == 'e'; /* token, secret, key */
    default:
        return false;
    }
}

/* The name that ends here, and what is told of it. NULL if its values are no secrets. */
static const struct redact_name *redact_find_name(const struct redact_view *v, const char *end,
                                                  bool *ret_is_small)
{
    enum { NAME_MAX_LEN = 48 };
    const char *begin = end;
    *ret_is_small = false;
    while (begin > v->begin && end - begin < NAME_MAX_LEN && redact_is(begin[-1], REDACT_TOKEN)) {
        begin--;
        *ret_is_small |= *begin >= 'a' && *begin <= 'z';
    }
    for (size_t i = 0; i < ARRAY_LEN(redact_names); i++) {
        const struct redact_name *name = &redact_names[i];
        size_t len = strlen(name->end), at = 0;
        if ((size_t)(end - begin) < len || (*ret_is_small && !name->is_small_too))
            continue;
        const char *tail = end - len;
        while (at < len && ((tail[at] | 0x20) == name->end[at] ||
                            (name->end[at] == '_' && (tail[at] == '_' || tail[at] == '-'))))
            at++;
        bool is_whole = tail == begin;
        if (at == len && (is_whole ? !name->needs_more : !redact_is(tail[-1], REDACT_ALNUM)))
            return name;
    }
    return NULL;
}

/* Things that stand for a value: variables, calls, words of programs, stars. */
static bool redact_is_placeholder(const char *s, size_t len)
{
    static const char *const words[] = {"os.",  "self.",     "process.", "None",
                                        "null", "undefined", "true",     "false",
                                        "your", "changeme",  "example",  "REDACTED"};
    if (len == 0 || memchr("$<{[*(%", s[0], 7) != NULL || memchr(s, '(', len) != NULL)
        return true;
    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        if (len >= strlen(words[i]) && strncasecmp(s, words[i], strlen(words[i])) == 0)
            return true;
    size_t same = 1;
    while (same < len && s[same] == s[0])
        same++;
    return same == len; /* xxxxxxxx */
}

struct redact_setting {
    bool is_small;  /* the name has small letters */
    bool is_colon;  /* else an equals sign */
    bool has_space; /* around that */
    bool is_quoted; /* the value */
};

/* What stands after such a name may be code or prose. NAME=value is a setting; in other forms the
 * value must be in quotes, or look as if nobody had thought of it. */
static bool redact_is_secret(const struct redact_setting *s, const struct redact_run *run)
{
    enum { LEN_MIN = 6, RANDOM_MIN = 12, LONG_MIN = 20 };
    size_t len = (size_t)(run->end - run->begin);
    bool is_one_word = (run->all & REDACT_URL) != 0;
    bool is_random = len >= RANDOM_MIN && run->has_digit && run->has_letter && is_one_word;
    bool is_key = is_random && len >= LONG_MIN && (run->all & REDACT_BASE64) != 0;
    bool is_bare = !s->is_colon && !s->has_space;
    if (len < LEN_MIN || redact_is_placeholder(run->begin, len))
        return false;
    if (s->is_small)
        return s->is_quoted || is_bare ? is_random : is_key;
    if (s->is_quoted)
        return is_one_word || !s->is_colon;
    return is_bare || (s->is_colon ? is_random : is_key);
}

/* NAME=value, "NAME": "value" and the like, at the sign between them. */
static enum redact_verdict redact_value(const struct redact_view *v, struct redact_match *ret)
{
    enum { SPACES_MAX = 4 };
    const char *name_end = v->at, *at = v->at + 1;
    bool is_colon = *v->at == ':', is_small, has_space = false;
    while (name_end > v->begin && v->at - name_end < SPACES_MAX &&
           (name_end[-1] == ' ' || name_end[-1] == '\t')) {
        name_end--;
        has_space = true;
    }
    bool is_named_in_quotes = name_end > v->begin && (name_end[-1] == '"' || name_end[-1] == '\'');
    name_end -= is_named_in_quotes;
    name_end -= is_named_in_quotes && name_end > v->begin && name_end[-1] == '\\';
    if (!redact_may_end(v->begin, name_end) || redact_find_name(v, name_end, &is_small) == NULL)
        return REDACT_NO;

    while (at < v->end && at - v->at <= SPACES_MAX && (*at == ' ' || *at == '\t'))
        at++;
    has_space |= at > v->at + 1;
    bool is_escaped = at < v->end && *at == '\\'; /* JSON in JSON */
    at += is_escaped;
    char quote = at < v->end && (*at == '"' || *at == '\'') ? *at : 0;
    at += quote != 0;
    if (at >= v->end)
        return v->is_end ? REDACT_NO : REDACT_MORE;
    if (*at == '=' || (is_colon && !has_space && quote == 0))
        return REDACT_NO; /* a comparison, or an address */
    enum redact_verdict verdict = redact_token(v, at, ret);
    if (verdict != REDACT_NO)
        return verdict == REDACT_YES ? REDACT_NO : REDACT_MORE; /* which is found in its place */

    struct redact_setting setting = {.is_small = is_small,
                                     .is_colon = is_colon,
                                     .has_space = has_space,
                                     .is_quoted = quote != 0};
    enum redact_class class = is_escaped || (quote == 0 && (is_small || is_colon)) ? REDACT_VALUE
                              : quote == '"'  ? REDACT_IN_DOUBLE
                              : quote == '\'' ? REDACT_IN_SINGLE
                                              : REDACT_URL;
    struct redact_run run = redact_scan(v, at, class, REDACT_DECIDE);
    if (run.is_open)
        return REDACT_MORE;
    if (!redact_is_secret(&setting, &run))
        return REDACT_NO;
    return redact_yes(&run, at, "env_secret", class, ret);
}

static enum redact_verdict redact_decide(const struct redact_view *v, struct redact_match *ret)
{
    switch (*v->at) {
    case ':':
        if (v->at[1] == '/' && v->at[2] == '/')
            return redact_connection(v, ret);
        return redact_value(v, ret);
    case '=':
        return redact_value(v, ret);
    case '-':
        return redact_key(v, ret);
    case 'B':
    case 'b':
        return redact_bearer(v, ret);
    default:
        return redact_token(v, v->at, ret);
    }
}

/* ---- the stream ------------------------------------------------------------------------------ */

void redactor_init(struct redactor *r)
{
    *r = (struct redactor){.held = BUF_INIT(REDACT_SLICE + REDACT_HELD_MAX + REDACT_AHEAD)};
}

void redactor_free(struct redactor *r)
{
    buf_free(&r->held);
}

/* Passes over what belongs to a secret whose beginning was replaced. Returns where it ends, or
 * where more text is needed to know. */
static const char *redact_pass(struct redactor *r, const struct redact_view *v)
{
    enum { END_MAX = 80 };
    const char *p = v->at;
    for (; p < v->end && redact_is(*p, (enum redact_class)r->inside); p++) {
        if (r->inside != REDACT_BODY)
            continue;
        if (++r->inside_bytes > REDACT_KEY_MAX)
            break;
        if (*p != '-')
            continue;
        if (v->end - p < END_MAX && !v->is_end) {
            r->inside_bytes--;
            return p; /* the line of the end may not be all there */
        }
        if (!redact_starts(v, p, "-----END "))
            continue;
        const char *title = p + strlen("-----END ");
        size_t reach = MIN((size_t)(v->end - title), (size_t)END_MAX - 9);
        const char *close = memmem(title, reach, "-----", 5);
        r->inside = 0;
        return close != NULL ? close + 5 : title;
    }
    if (p < v->end || v->is_end)
        r->inside = 0;
    return p;
}

/* Looks at what is held, and appends as much of it as is decided. */
static void redact_run_held(struct redactor *r, struct buf *out, bool is_end)
{
    struct buf *held = &r->held;
    if (!buf_reserve(held, REDACT_AHEAD))
        return;
    memset(held->data + held->len, 0, REDACT_AHEAD);
    struct redact_view v = {held->data, held->data + r->at, held->data + held->len, is_end};
    const char *shown = v.at; /* up to here it was appended or replaced */
    /* Of what is nearer to the end than this, the first stage does not see enough. */
    const char *stop = is_end ? v.end : v.end - MIN((size_t)(v.end - v.at), (size_t)REDACT_AHEAD);
    while (v.at < v.end) {
        struct redact_match match;
        if (r->inside != 0) {
            shown = v.at = redact_pass(r, &v);
            if (r->inside != 0)
                break;
        }
        v.at = redact_next(v.at, MAX(stop, v.at));
        if (v.at >= stop)
            break;
        enum redact_verdict verdict = redact_decide(&v, &match);
        if (verdict == REDACT_MORE)
            break;
        v.at++;
        if (verdict == REDACT_NO)
            continue;
        buf_append(out, shown, (size_t)(match.begin - shown));
        buf_printf(out, "[REDACTED:%s]", match.category);
        r->count++;
        shown = v.at = match.end;
        r->inside = match.inside;
        r->inside_bytes = 0;
    }
    buf_append(out, shown, (size_t)(v.at - shown));
    r->at = (size_t)(v.at - held->data);
    if (r->at > REDACT_HISTORY) {
        size_t passed = r->at - REDACT_HISTORY;
        buf_consume(held, passed);
        r->at -= passed;
    }
}

bool redactor_add(struct redactor *r, const char *data, size_t len, struct buf *out)
{
    while (len > 0) {
        size_t n = MIN(len, (size_t)REDACT_SLICE);
        bool has_room = buf_append(&r->held, data, n);
        assert(has_room); /* what waits for a decision is less than REDACT_HELD_MAX */
        (void)has_room;
        data += n;
        len -= n;
        redact_run_held(r, out, false);
    }
    return !out->overflowed;
}

bool redactor_end(struct redactor *r, struct buf *out)
{
    redact_run_held(r, out, true);
    buf_clear(&r->held);
    r->at = 0;
    r->inside = 0;
    return !out->overflowed;
}

size_t redact_text(const char *text, size_t len, struct buf *out)
{
    struct redactor r;
    redactor_init(&r);
    redactor_add(&r, text, len, out);
    redactor_end(&r, out);
    redactor_free(&r);
    return r.count;
}

static void redact_parts(json_t *value);

/* NULL if there is no secret in it. */
static json_t *redact_string(const char *text, size_t len)
{
    enum { SECRET_MIN = 6, SHORT_MAX = 256 }; /* bytes: what is shorter is none */
    _buf_ struct buf out = BUF_INIT(SIZE_MAX / 4);
    char padded[SHORT_MAX + REDACT_AHEAD];
    if (len < SECRET_MIN)
        return NULL;
    if (len <= SHORT_MAX) { /* lists have many of them */
        memcpy(padded, text, len);
        memset(padded + len, 0, REDACT_AHEAD);
        if (redact_next(padded, padded + len) == padded + len)
            return NULL;
    }
    if (redact_text(text, len, &out) == 0)
        return NULL;
    return json_stringn(buf_str(&out), out.len);
}

/* What takes the place of a value, or NULL if it stays, and its parts were seen to. */
static json_t *redact_value_of(json_t *value)
{
    if (json_is_string(value))
        return redact_string(json_string_value(value), json_string_length(value));
    redact_parts(value);
    return NULL;
}

/* A name may be a secret as well as a value. */
static void redact_member(json_t *object, const char *name, json_t *value)
{
    json_t *other = redact_value_of(value);
    _json_ json_t *renamed = redact_string(name, strlen(name));
    if (renamed == NULL) {
        if (other != NULL)
            json_object_set_new(object, name, other);
        return;
    }
    json_object_set_new(object, json_string_value(renamed),
                        other != NULL ? other : json_incref(value));
    json_object_del(object, name);
}

/* Lists and objects, all the way down. Names are taken first: what is renamed moves. */
static void redact_parts(json_t *value)
{
    size_t i, n = json_object_size(value);
    json_t *part;
    const char *name;
    json_array_foreach(value, i, part) {
        json_t *other = redact_value_of(part);
        if (other != NULL)
            json_array_set_new(value, i, other);
    }
    if (n == 0)
        return;
    const char **names = mem_alloc(n * sizeof(*names));
    i = 0;
    json_object_foreach(value, name, part)
        names[i++] = name;
    for (i = 0; i < n; i++)
        redact_member(value, names[i], json_object_get(value, names[i]));
    free(names);
}

/* Bytes of a picture and the like, as base64. */
static bool redact_is_bytes(const char *form)
{
    static const char *const kinds[] = {"image/", "audio/", "video/", "application/pdf"};
    bool is_bytes = false;
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
        is_bytes |= strncmp(form, kinds[i], strlen(kinds[i])) == 0;
    return is_bytes && strstr(form, "xml") == NULL;
}

static void redact_forms(json_t *forms)
{
    const char *name;
    json_t *form;
    json_object_foreach(forms, name, form) {
        json_t *other = redact_is_bytes(name) ? NULL : redact_value_of(form);
        if (other != NULL)
            json_object_set_new(forms, name, other); /* in its place: the loop goes on */
    }
}

void redact_output(json_t *output)
{
    const char *name;
    json_t *member;
    json_object_foreach(output, name, member) {
        if (strcmp(name, "type") == 0 || strcmp(name, "data") == 0 ||
            strcmp(name, "display_id") == 0)
            continue;
        json_t *other = NULL;
        if (strcmp(name, "mime") == 0)
            redact_forms(member);
        else
            other = redact_value_of(member);
        if (other != NULL)
            json_object_set_new(output, name, other);
    }
}
