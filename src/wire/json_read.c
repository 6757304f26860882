/* JSON in, within limits of depth and values, with errors one can act on. Daemon and command line
 * tool. */
#include "base/ids.h"
#include "wire/json.h"

/* One pass before the parser: counts what would cost memory without looking at what it is. Text
 * that is not JSON at all is left for the parser to complain about. */
struct shape {
    size_t depth;  /* deepest nesting */
    size_t values; /* at most this many, names included */
};

/* Where the string ends that begins at `at`. What lies between two of its special characters is
 * passed over at once. */
static size_t skip_string(const char *text, size_t len, size_t at)
{
    const char *quote = NULL; /* the next, which is looked for once: there may be many escapes */
    while (at < len) {
        if (quote == NULL || quote < text + at)
            quote = memchr(text + at, '"', len - at);
        if (quote == NULL)
            return len;
        const char *escape = memchr(text + at, '\\', (size_t)(quote - text) - at);
        if (escape == NULL)
            return (size_t)(quote - text);
        at = (size_t)(escape - text) + 2;
    }
    return len;
}

static struct shape measure(const char *text, size_t len)
{
    struct shape shape = {.values = 1};
    size_t depth = 0;
    for (size_t i = 0; i < len; i++) {
        switch (text[i]) {
        case '"':
            i = skip_string(text, len, i + 1);
            break;
        case '{':
        case '[':
            shape.values++;
            if (++depth > shape.depth)
                shape.depth = depth;
            break;
        case '}':
        case ']':
            depth -= depth > 0;
            break;
        case ',':
        case ':':
            shape.values++;
            break;
        default:
            break;
        }
    }
    return shape;
}

static const char *advice_for(enum json_error_code code)
{
    switch ((int)code) {
    case json_error_invalid_utf8:
        return "Encode the text as UTF-8, or escape what is not text.";
    case json_error_null_character:
    case json_error_null_byte_in_key:
        return "Remove the NUL character: text cannot hold one here.";
    case json_error_premature_end_of_input:
        return "The text ends too early: check that all of it was sent and every bracket and quote "
               "is closed.";
    case json_error_end_of_input_expected:
        return "Send one JSON object and nothing after it.";
    case json_error_duplicate_key:
        return "Give every name once.";
    default:
        return "Send one JSON object, for example {\"code\": \"1+1\"}; a JSON library writes it "
               "correctly.";
    }
}

/* The name that a number at the end of `text` was given to, or an empty span: the parser reports
 * only the digits. */
static const char *name_before(const char *text, size_t end, int *ret_len)
{
    size_t at = end;
    while (at > 0 && strchr("+-.0123456789eE \t\r\n", text[at - 1]) != NULL)
        at--;
    while (at > 0 && strchr(": \t\r\n", text[at - 1]) != NULL)
        at--;
    size_t close = at;
    *ret_len = 0;
    if (at == 0 || text[--at] != '"')
        return "";
    while (at > 0 && text[at - 1] != '"')
        at--;
    *ret_len = (int)MIN(close - 1 - at, (size_t)64);
    return text + at;
}

/* ---- long strings ------------------------------------------------------------------------------
 *
 * The parser looks at every byte several times, which is most of what a picture costs on its way.
 * So long strings in which nothing needs to be looked at are cut out before, and put in their place
 * afterwards. Until then a name stands there that whoever wrote the text cannot know. */

enum { LONG_STRING = 16 * 1024, CUTS_MAX = 64, NONCE_BYTES = 16 };

struct cut {
    size_t at, len; /* the inside of the string */
};

struct cuts {
    struct cut list[CUTS_MAX];
    size_t n;
    size_t n_left; /* not put back yet */
    char nonce[2 * NONCE_BYTES + 1];
};

/* ASCII without control characters; its quotes and escapes were looked for. */
static bool json_read_is_plain(const char *text, size_t len)
{
    uint64_t odd = 0; /* in the highest bit of each byte */
    size_t i = 0;
    for (; i + sizeof(uint64_t) <= len; i += sizeof(uint64_t)) {
        uint64_t eight;
        memcpy(&eight, text + i, sizeof(eight));
        odd |= eight | (eight - UINT64_C(0x2020202020202020));
    }
    for (; i < len; i++)
        odd |= (unsigned char)text[i] | (unsigned char)((unsigned char)text[i] - ' ');
    return (odd & UINT64_C(0x8080808080808080)) == 0;
}

/* A value, not a name. */
static bool is_value_end(const char *text, size_t len, size_t at)
{
    while (at < len && strchr(" \t\r\n", text[at]) != NULL && text[at] != '\0')
        at++;
    return at < len && (text[at] == ',' || text[at] == '}' || text[at] == ']');
}

static void find_cuts(const char *text, size_t len, struct cuts *cuts)
{
    for (size_t at = 0; cuts->n < CUTS_MAX && len - at > LONG_STRING;) {
        const char *quote = memchr(text + at, '"', len - at);
        if (quote == NULL)
            return;
        size_t start = (size_t)(quote - text) + 1, end = skip_string(text, len, start);
        bool is_long = end < len && end - start >= LONG_STRING;
        if (is_long && memchr(text + start, '\\', end - start) == NULL &&
            json_read_is_plain(text + start, end - start) && is_value_end(text, len, end + 1))
            cuts->list[cuts->n++] = (struct cut){start, end - start};
        at = MIN(end + 1, len);
    }
}

/* The string that was cut out here; NULL if none was. */
static json_t *cut_of(const json_t *value, const char *text, struct cuts *cuts)
{
    const char *name = json_string_value(value);
    size_t skipped = sizeof(cuts->nonce) - 1;
    if (name == NULL || strncmp(name, cuts->nonce, skipped) != 0)
        return NULL;
    size_t i = strtoul(name + skipped, NULL, 10);
    if (i >= cuts->n)
        return NULL;
    cuts->n_left--;
    return json_stringn_nocheck(text + cuts->list[i].at, cuts->list[i].len);
}

/* Recurses no deeper than the limits of the text's depth. */
static void put_back(json_t *value, const char *text, struct cuts *cuts)
{
    for (size_t i = 0; cuts->n_left > 0 && i < json_array_size(value); i++) {
        json_t *cut = cut_of(json_array_get(value, i), text, cuts);
        if (cut != NULL)
            json_array_set_new(value, i, cut);
        else
            put_back(json_array_get(value, i), text, cuts);
    }
    if (!json_is_object(value))
        return;
    for (void *at = json_object_iter(value); cuts->n_left > 0 && at != NULL;
         at = json_object_iter_next(value, at)) {
        json_t *cut = cut_of(json_object_iter_value(at), text, cuts);
        if (cut != NULL)
            json_object_iter_set_new(value, at, cut);
        else
            put_back(json_object_iter_value(at), text, cuts);
    }
}

/* NULL if there is nothing to cut, or if the text is not JSON: then the parser sees all of it, and
 * says where it is wrong. */
static json_t *load_cut(const char *text, size_t len, size_t flags)
{
    struct cuts cuts = {.n = 0};
    json_error_t ignored;
    find_cuts(text, len, &cuts);
    if (cuts.n == 0)
        return NULL;
    unsigned char bytes[NONCE_BYTES];
    ids_random(bytes, sizeof(bytes));
    for (size_t i = 0; i < sizeof(bytes); i++)
        snprintf(cuts.nonce + 2 * i, 3, "%02x", bytes[i]);
    cuts.n_left = cuts.n;
    _buf_ struct buf rest = BUF_INIT(len + CUTS_MAX * 2 * sizeof(cuts.nonce));
    size_t at = 0;
    for (size_t i = 0; i < cuts.n; i++) {
        buf_append(&rest, text + at, cuts.list[i].at - at);
        buf_printf(&rest, "%s%zu", cuts.nonce, i);
        at = cuts.list[i].at + cuts.list[i].len;
    }
    buf_append(&rest, text + at, len - at);
    json_t *value = json_loadb(buf_str(&rest), rest.len, flags, &ignored);
    put_back(value, text, &cuts);
    return value;
}

/* ---- reading --------------------------------------------------------------------------------- */

static int read_object(const char *text, size_t len, const struct json_limits *limits, size_t flags,
                       json_t **ret_object, struct err *e)
{
    struct shape shape = measure(text, len);
    if (shape.depth > limits->depth) {
        err_set(e, ERR_INVALID, "the JSON is nested deeper than %zu levels", limits->depth);
        return err_advise(e, "Send a flatter structure, or the data as text.");
    }
    if (shape.values > limits->values) {
        err_set(e, ERR_TOO_LARGE, "the JSON holds more than %zu values", limits->values);
        return err_advise(e, "Send the data as one text, or in several requests.");
    }
    json_error_t error;
    flags |= JSON_REJECT_DUPLICATES | JSON_DECODE_ANY;
    _json_ json_t *value = load_cut(text, len, flags);
    if (value == NULL)
        value = json_loadb(text, len, flags, &error);
    if (value == NULL) {
        /* jansson calls a raw NUL a control character; say what it is. */
        if (memchr(text, '\0', len) != NULL) {
            err_set(e, ERR_INVALID, "invalid JSON at line %d, column %d: it holds a NUL byte",
                    error.line, error.column);
            return err_advise(e, "Remove the NUL byte: JSON text cannot hold one.");
        }
        if (json_error_code(&error) == json_error_numeric_overflow) {
            int name_len;
            const char *name = name_before(text, (size_t)error.position, &name_len);
            err_set(e, ERR_INVALID,
                    "invalid JSON at line %d, column %d: the number of \"%.*s\" is too big",
                    error.line, error.column, name_len, name);
            return err_advise(e, "Use a number that fits 64 bits, or send it as text.");
        }
        /* jansson speaks of its flags. */
        bool is_null = json_error_code(&error) == json_error_null_character;
        err_set(e, ERR_INVALID, "invalid JSON at line %d, column %d: %s", error.line, error.column,
                is_null ? "\\u0000 cannot be part of a text" : error.text);
        return err_advise(e, "%s", advice_for(json_error_code(&error)));
    }
    if (!json_is_object(value)) {
        err_set(e, ERR_INVALID, "the JSON is not an object");
        return err_advise(e, "Wrap it in braces: {\"name\": value}.");
    }
    *ret_object = take_ptr(value);
    return 0;
}

int json_read_object(const char *text, size_t len, json_t **ret_object, struct err *e)
{
    static const struct json_limits limits = {JSON_DEPTH_MAX, JSON_VALUES_MAX};
    return read_object(text, len, &limits, 0, ret_object, e);
}

int json_read_file_object(const char *text, size_t len, const struct json_limits *limits,
                          json_t **ret_object, struct err *e)
{
    return read_object(text, len, limits, JSON_ALLOW_NUL, ret_object, e);
}
