#include "wire/json.h"

/* One pass before the parser: counts what would cost memory without looking at what it is. Text
 * that is not JSON at all is left for the parser to complain about. */
struct shape {
    size_t depth;  /* deepest nesting */
    size_t values; /* at most this many, names included */
};

static size_t skip_string(const char *text, size_t len, size_t at)
{
    for (; at < len && text[at] != '"'; at++) {
        if (text[at] == '\\')
            at++;
    }
    return at;
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

static int check_shape(const char *text, size_t len, const struct json_limits *limits,
                       struct err *e)
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
    return 0;
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

static int explain_overflow(const json_error_t *error, const char *text, struct err *e)
{
    int len;
    const char *name = name_before(text, (size_t)error->position, &len);
    err_set(e, ERR_INVALID, "invalid JSON at line %d, column %d: the number of \"%.*s\" is too big",
            error->line, error->column, len, name);
    return err_advise(e, "Use a number that fits 64 bits, or send it as text.");
}

static int explain(const json_error_t *error, const char *text, size_t len, struct err *e)
{
    /* jansson calls a raw NUL a control character; say what it is. */
    if (memchr(text, '\0', len) != NULL) {
        err_set(e, ERR_INVALID, "invalid JSON at line %d, column %d: it holds a NUL byte",
                error->line, error->column);
        return err_advise(e, "Remove the NUL byte: JSON text cannot hold one.");
    }
    if (json_error_code(error) == json_error_numeric_overflow)
        return explain_overflow(error, text, e);
    err_set(e, ERR_INVALID, "invalid JSON at line %d, column %d: %s", error->line, error->column,
            error->text);
    return err_advise(e, "%s", advice_for(json_error_code(error)));
}

static int read_object(const char *text, size_t len, const struct json_limits *limits, size_t flags,
                       json_t **ret_object, struct err *e)
{
    if (check_shape(text, len, limits, e) < 0)
        return -1;
    json_error_t error;
    flags |= JSON_REJECT_DUPLICATES | JSON_DECODE_ANY;
    _json_ json_t *value = json_loadb(text, len, flags, &error);
    if (value == NULL)
        return explain(&error, text, len, e);
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
