/* The daemon's frames as requests, in place and without allocation. In the shell's process. */
#include "drivers/bash/request.h"

enum { DEPTH_MAX = 8 };

struct scanner {
    char *at;
    char *end;
};

static void skip_space(struct scanner *s)
{
    while (s->at < s->end && (*s->at == ' ' || *s->at == '\t' || *s->at == '\n' || *s->at == '\r'))
        s->at++;
}

static bool take(struct scanner *s, char c)
{
    skip_space(s);
    if (s->at == s->end || *s->at != c)
        return false;
    s->at++;
    return true;
}

static bool take_word(struct scanner *s, const char *word)
{
    skip_space(s);
    size_t len = strlen(word);
    if ((size_t)(s->end - s->at) < len || memcmp(s->at, word, len) != 0)
        return false;
    s->at += len;
    return true;
}

static bool take_hex(struct scanner *s, uint32_t *ret)
{
    if (s->end - s->at < 4)
        return false;
    uint32_t value = 0;
    for (int i = 0; i < 4; i++) {
        char c = *s->at++;
        uint32_t digit;
        if (c >= '0' && c <= '9')
            digit = (uint32_t)(c - '0');
        else if ((c | 32) >= 'a' && (c | 32) <= 'f')
            digit = (uint32_t)((c | 32) - 'a' + 10);
        else
            return false;
        value = value << 4 | digit;
    }
    *ret = value;
    return true;
}

/* A \u escape, both halves of a surrogate pair. A half alone becomes U+FFFD. */
static bool take_unicode(struct scanner *s, uint32_t *ret)
{
    uint32_t high, low;
    if (!take_hex(s, &high))
        return false;
    if (high < 0xd800 || high > 0xdfff) {
        *ret = high;
        return true;
    }
    *ret = 0xfffd;
    if (high > 0xdbff || s->end - s->at < 6 || s->at[0] != '\\' || s->at[1] != 'u')
        return true;
    char *before = s->at;
    s->at += 2;
    if (!take_hex(s, &low))
        return false;
    if (low >= 0xdc00 && low <= 0xdfff)
        *ret = 0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00);
    else
        s->at = before;
    return true;
}

static char *put_utf8(char *to, uint32_t c)
{
    if (c < 0x80) {
        *to++ = (char)c;
        return to;
    }
    int more = c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
    static const unsigned char lead[] = {0, 0xc0, 0xe0, 0xf0};
    *to++ = (char)(lead[more] | c >> (6 * more));
    while (more-- > 0)
        *to++ = (char)(0x80 | (c >> (6 * more) & 0x3f));
    return to;
}

static bool take_escape(struct scanner *s, char **to)
{
    static const char names[] = "\"\\/bfnrt", values[] = "\"\\/\b\f\n\r\t";
    if (s->at == s->end)
        return false;
    char c = *s->at++;
    if (c == 'u') {
        uint32_t code_point;
        if (!take_unicode(s, &code_point))
            return false;
        *to = put_utf8(*to, code_point);
        return true;
    }
    const char *found = c == '\0' ? NULL : strchr(names, c);
    if (found == NULL)
        return false;
    *(*to)++ = values[found - names];
    return true;
}

/* In place: no escape is shorter than what it stands for, and the NUL has the place of the quote.
 */
static bool take_string(struct scanner *s, struct request_text *ret)
{
    if (!take(s, '"'))
        return false;
    char *begin = s->at;
    char *to = s->at;
    while (s->at < s->end) {
        char c = *s->at++;
        if (c == '"') {
            *to = '\0';
            *ret = (struct request_text){begin, (size_t)(to - begin)};
            return true;
        }
        if ((unsigned char)c < 0x20 || (c == '\\' && !take_escape(s, &to)))
            return false;
        if (c != '\\')
            *to++ = c;
    }
    return false;
}

static bool take_text(struct scanner *s, struct request_text *ret)
{
    *ret = (struct request_text){0};
    return take_word(s, "null") || take_string(s, ret);
}

static bool take_int(struct scanner *s, int64_t *ret)
{
    skip_space(s);
    int64_t value = 0;
    char *begin = s->at;
    while (s->at < s->end && *s->at >= '0' && *s->at <= '9') {
        if (s->at - begin >= 18)
            return false;
        value = value * 10 + (*s->at++ - '0');
    }
    *ret = value;
    return s->at > begin;
}

static bool take_bool(struct scanner *s, bool *ret)
{
    *ret = take_word(s, "true");
    return *ret || take_word(s, "false");
}

static bool skip_value(struct scanner *s, int depth);

static bool skip_members(struct scanner *s, char closing, int depth)
{
    struct request_text key;
    if (take(s, closing))
        return true;
    do {
        if (closing == '}' && !(take_string(s, &key) && take(s, ':')))
            return false;
        if (!skip_value(s, depth))
            return false;
    } while (take(s, ','));
    return take(s, closing);
}

/* What a newer daemon may say that this driver does not know. */
static bool skip_value(struct scanner *s, int depth)
{
    struct request_text text;
    int64_t number;
    bool flag;
    if (depth == DEPTH_MAX)
        return false;
    if (take(s, '{'))
        return skip_members(s, '}', depth + 1);
    if (take(s, '['))
        return skip_members(s, ']', depth + 1);
    return take_text(s, &text) || take_bool(s, &flag) || take_int(s, &number);
}

/* A value as it stands there, up to the comma or bracket after it. */
static bool take_raw(struct scanner *s, struct request_text *ret)
{
    skip_space(s);
    char *begin = s->at;
    int depth = 0;
    bool is_in_string = false;
    for (; s->at < s->end; s->at++) {
        char c = *s->at;
        if (is_in_string) {
            if (c == '\\')
                s->at++;
            is_in_string = c != '"';
        } else if (c == '"') {
            is_in_string = true;
        } else if (c == '{' || c == '[') {
            depth++;
        } else if (depth == 0 && (c == ',' || c == '}' || c == ']')) {
            break;
        } else if (c == '}' || c == ']') {
            depth--;
        }
    }
    s->at = MIN(s->at, s->end);
    *ret = (struct request_text){begin, (size_t)(s->at - begin)};
    return s->at > begin && depth == 0 && !is_in_string;
}

bool request_find(struct request_text object, const char *name, struct request_text *ret_value)
{
    struct scanner s = {object.data, object.data + object.len};
    struct request_text key;
    size_t len = strlen(name);
    if (object.data == NULL || !take(&s, '{'))
        return false;
    do {
        skip_space(&s);
        key = (struct request_text){s.at, 0}; /* the daemon's names: no colon, nothing escaped */
        while (s.at < s.end && *s.at != ':')
            s.at++;
        key.len = (size_t)(s.at - key.data);
        if (!take(&s, ':') || !take_raw(&s, ret_value))
            return false;
        if (key.len == len + 2 && memcmp(key.data + 1, name, len) == 0)
            return true;
    } while (take(&s, ','));
    return false;
}

bool request_take(struct request_text *list, struct request_text *ret_value)
{
    struct scanner s = {list->data, list->data + list->len};
    if (!take(&s, '[') && !take(&s, ','))
        return false;
    if (!take_raw(&s, ret_value))
        return false;
    *list = (struct request_text){s.at, (size_t)(s.end - s.at)};
    return true;
}

void request_unquote(struct request_text *value)
{
    struct scanner s = {value->data, value->data + value->len};
    struct request_text text;
    if (value->len > 0 && *value->data == '"' && take_string(&s, &text))
        *value = text;
}

static bool take_env(struct scanner *s, struct bash_request *r)
{
    if (take_word(s, "null"))
        return true;
    if (!take(s, '{'))
        return false;
    if (take(s, '}'))
        return true;
    do {
        if (r->n_env == REQUEST_ENV_MAX || !take_string(s, &r->env[r->n_env].name) ||
            !take(s, ':') || !take_string(s, &r->env[r->n_env].value))
            return false;
        r->n_env++;
    } while (take(s, ','));
    return take(s, '}');
}

static enum request_op op_of(const struct request_text *name)
{
    static const char *const names[] = {
        [REQUEST_SETUP] = "setup",
        [REQUEST_EXEC] = "exec",
        [REQUEST_INPUT] = "input",
        [REQUEST_RESULT] = "result",
        [REQUEST_NAMES] = "names",
        [REQUEST_DECLARATIONS] = "declarations",
        [REQUEST_IS_COMPLETE] = "is_complete",
        [REQUEST_COMPLETE] = "complete",
        [REQUEST_INSPECT] = "inspect",
        [REQUEST_CHECKPOINT] = "checkpoint",
        [REQUEST_WAKE] = "wake",
        [REQUEST_SAVE] = "save",
        [REQUEST_LOAD] = "load",
    };
    for (size_t i = 1; i < ARRAY_LEN(names); i++)
        if (strcmp(names[i], name->data) == 0)
            return (enum request_op)i;
    return REQUEST_OTHER;
}

static bool take_member(struct scanner *s, struct bash_request *r)
{
    struct request_text key;
    if (!take_string(s, &key) || !take(s, ':'))
        return false;
    const struct {
        const char *name;
        struct request_text *text;
    } texts[] = {
        {"code", &r->code},     {"text", &r->text}, {"cwd", &r->cwd},
        {"format", &r->format}, {"rec", &r->rec},   {"kind", &r->kind},
        {"name", &r->name},     {"type", &r->type}, {"advice", &r->advice},
    };
    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        if (strcmp(texts[i].name, key.data) == 0)
            return take_text(s, texts[i].text);
    if (strcmp(key.data, "names") == 0) /* of a record it is a list, which we do not need */
        return take_text(s, &r->names) || skip_value(s, 0);
    if (strcmp(key.data, "op") == 0) {
        struct request_text name;
        if (!take_string(s, &name))
            return false;
        r->op = op_of(&name);
        return true;
    }
    if (strcmp(key.data, "id") == 0)
        return take_int(s, &r->id);
    if (strcmp(key.data, "max") == 0)
        return take_int(s, &r->max);
    if (strcmp(key.data, "cursor") == 0)
        return take_int(s, &r->cursor);
    if (strcmp(key.data, "detail") == 0)
        return take_int(s, &r->detail);
    if (strcmp(key.data, "max_bytes") == 0)
        return take_int(s, &r->max_bytes);
    if (strcmp(key.data, "room") == 0)
        return take_bool(s, &r->has_room);
    if (strcmp(key.data, "debug") == 0)
        return take_bool(s, &r->has_debug);
    if (strcmp(key.data, "eof") == 0)
        return take_bool(s, &r->is_eof);
    if (strcmp(key.data, "exit_ends") == 0)
        return take_bool(s, &r->exit_ends);
    if (strcmp(key.data, "explore") == 0)
        return take_bool(s, &r->explores);
    if (strcmp(key.data, "body") == 0)
        return take_bool(s, &r->has_body);
    if (strcmp(key.data, "env") == 0)
        return take_env(s, r);
    if (strcmp(key.data, "result") == 0)
        return take_raw(s, &r->result);
    if (strcmp(key.data, "error") == 0)
        return take_raw(s, &r->error);
    return skip_value(s, 0);
}

bool request_read(struct bash_request *r, char *payload, size_t len)
{
    struct scanner s = {payload, payload + len};
    memset(r, 0, offsetof(struct bash_request, env)); /* env is large and counted */
    r->n_env = 0;
    if (!take(&s, '{'))
        return false;
    if (!take(&s, '}')) {
        do {
            if (!take_member(&s, r))
                return false;
        } while (take(&s, ','));
        if (!take(&s, '}'))
            return false;
    }
    skip_space(&s);
    return s.at == s.end;
}
