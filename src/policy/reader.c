/* The configuration's YAML, event by event against tables of fields. As config.c. Daemon, and
 * `cella config`. */
#include "policy/reader.h"

#include "base/buf.h"
#include "base/utf8.h"

#include <limits.h>
#include <stdarg.h>

enum { SHOWN_BYTES = 40 };

int reader_line(const struct reader *r)
{
    return (int)r->event.start_mark.line + 1;
}

static int fail_at(struct reader *r, int line, const char *fmt, va_list args) PRINTF_LIKE(3, 0);

static int fail_at(struct reader *r, int line, const char *fmt, va_list args)
{
    char what[256];
    vsnprintf(what, sizeof(what), fmt, args);
    return err_set(r->e, ERR_INVALID, "%s:%d: %s", r->file, line, what);
}

int reader_fail(struct reader *r, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    fail_at(r, reader_line(r), fmt, args);
    va_end(args);
    return -1;
}

int reader_fail_at(struct reader *r, int line, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    fail_at(r, line, fmt, args);
    va_end(args);
    return -1;
}

int reader_next(struct reader *r)
{
    if (r->has_event)
        yaml_event_delete(&r->event);
    r->has_event = false;
    if (!yaml_parser_parse(&r->parser, &r->event)) {
        const yaml_parser_t *p = &r->parser;
        size_t line = p->problem_mark.line + 1;
        err_set(r->e, ERR_INVALID, "%s:%zu: not valid YAML: %s", r->file, line,
                p->problem != NULL ? p->problem : "unreadable");
        return err_advise(r->e,
                          "Check the indentation (spaces, no tabs), quotes and brackets in line "
                          "%zu and the one above.",
                          line);
    }
    r->has_event = true;
    if (r->event.type == YAML_ALIAS_EVENT) {
        reader_fail(r, "aliases (*name) are not read here");
        return err_advise(r->e, "Write the value out.");
    }
    return 0;
}

static const char *reader_kind(const struct reader *r)
{
    if (r->event.type == YAML_MAPPING_START_EVENT)
        return "a mapping";
    if (r->event.type == YAML_SEQUENCE_START_EVENT)
        return "a list";
    return r->event.data.scalar.length == 0 ? "nothing" : "a single value";
}

const char *reader_scalar(const struct reader *r)
{
    return (const char *)r->event.data.scalar.value;
}

int reader_shown(const struct reader *r)
{
    return (int)utf8_valid_prefix(reader_scalar(r),
                                  MIN(r->event.data.scalar.length, (size_t)SHOWN_BYTES));
}

/* Text that can be shown, stored and passed on: no NUL, no control characters. */
static bool reader_is_printable(const struct reader *r)
{
    for (size_t i = 0; i < r->event.data.scalar.length; i++) {
        unsigned char c = r->event.data.scalar.value[i];
        if (c < 0x20 || c == 0x7f)
            return false;
    }
    return true;
}

int reader_expect_text(struct reader *r, const char *name, size_t max)
{
    if (r->event.type != YAML_SCALAR_EVENT || r->event.data.scalar.length == 0) {
        reader_fail(r, "%s has %s, but text is expected", name, reader_kind(r));
        return err_advise(r->e, "Write %s: TEXT on one line.", name);
    }
    if (r->event.data.scalar.length > max || !reader_is_printable(r)) {
        reader_fail(r, "%s is longer than %zu bytes or has control characters", name, max);
        return err_advise(r->e, "Write it on one line.");
    }
    return 0;
}

static int reader_read_number(struct reader *r, const struct reader_field *f, uint64_t *ret_value)
{
    uint64_t value = 0;
    bool is_number = r->event.type == YAML_SCALAR_EVENT && r->event.data.scalar.length > 0 &&
                     r->event.data.scalar.length <= 18;
    for (size_t i = 0; is_number && i < r->event.data.scalar.length; i++) {
        unsigned digit = r->event.data.scalar.value[i] - (unsigned)'0';
        is_number = digit <= 9;
        value = value * 10 + digit;
    }
    if (!is_number || value < f->min || value > f->max) {
        if (r->event.type == YAML_SCALAR_EVENT && reader_is_printable(r))
            reader_fail(r, "%s: \"%.*s\" is not a whole number from %llu to %llu", f->name,
                        reader_shown(r), reader_scalar(r), (unsigned long long)f->min,
                        (unsigned long long)f->max);
        else
            reader_fail(r, "%s has %s, but a whole number is expected", f->name, reader_kind(r));
        return err_advise(r->e, "Write %s: N with N from %llu to %llu.", f->name,
                          (unsigned long long)f->min, (unsigned long long)f->max);
    }
    *ret_value = value;
    return 0;
}

int reader_u32(struct reader *r, const struct reader_field *f, void *object)
{
    uint64_t value;
    if (reader_read_number(r, f, &value) < 0)
        return -1;
    *(uint32_t *)(void *)((char *)object + f->offset) = (uint32_t)value;
    return 0;
}

int reader_u64(struct reader *r, const struct reader_field *f, void *object)
{
    return reader_read_number(r, f, (uint64_t *)(void *)((char *)object + f->offset));
}

const char *reader_keep(struct reader *r)
{
    return arena_copy(&r->config->arena, reader_scalar(r), r->event.data.scalar.length);
}

int reader_bool(struct reader *r, const struct reader_field *f, void *object)
{
    bool is_scalar = r->event.type == YAML_SCALAR_EVENT && reader_is_printable(r);
    bool is_true = is_scalar && strcmp(reader_scalar(r), "true") == 0;
    if (!is_true && !(is_scalar && strcmp(reader_scalar(r), "false") == 0)) {
        if (is_scalar)
            reader_fail(r, "%s: \"%.*s\" is neither true nor false", f->name, reader_shown(r),
                        reader_scalar(r));
        else
            reader_fail(r, "%s has %s, but true or false is expected", f->name, reader_kind(r));
        return err_advise(r->e, "Write %s: true or %s: false.", f->name, f->name);
    }
    *(bool *)(void *)((char *)object + f->offset) = is_true;
    return 0;
}

int reader_path(struct reader *r, const struct reader_field *f, void *object)
{
    if (reader_expect_text(r, f->name, PATH_MAX - 1) < 0)
        return -1;
    if (reader_scalar(r)[0] != '/') {
        reader_fail(r, "%s: \"%.*s\" is not an absolute path", f->name, reader_shown(r),
                    reader_scalar(r));
        return err_advise(r->e, "Write the whole path, like /usr/bin/%s%s.", f->name,
                          strcmp(f->name, "python") == 0 ? "3" : "");
    }
    *(const char **)(void *)((char *)object + f->offset) = reader_keep(r);
    return 0;
}

int reader_id(struct reader *r, const struct reader_field *f, void *object)
{
    static const char letters[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.:@+";
    if (reader_expect_text(r, f->name, CONFIG_AGENT_BYTES) < 0)
        return -1;
    if (strspn(reader_scalar(r), letters) != r->event.data.scalar.length) {
        reader_fail(r, "%s: \"%.*s\" has characters that a name cannot have", f->name,
                    reader_shown(r), reader_scalar(r));
        return err_advise(r->e, "Use letters, digits and _ - . : @ +");
    }
    *(const char **)(void *)((char *)object + f->offset) = reader_keep(r);
    return 0;
}

bool reader_is_name(const char *s, size_t len)
{
    static const char letters[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";
    return len >= 1 && len <= READER_NAME_MAX && strspn(s, letters) == len;
}

int reader_expect_mapping(struct reader *r, const char *what)
{
    if (r->event.type == YAML_MAPPING_START_EVENT)
        return 0;
    reader_fail(r, "%s has %s, but a mapping is expected", what, reader_kind(r));
    return err_advise(r->e, "Write NAME: VALUE lines, indented below it, or {}.");
}

int reader_next_key(struct reader *r)
{
    if (reader_next(r) < 0)
        return -1;
    if (r->event.type == YAML_MAPPING_END_EVENT)
        return 0;
    if (r->event.type == YAML_SCALAR_EVENT)
        return 1;
    reader_fail(r, "a field's name cannot be %s", reader_kind(r));
    return err_advise(r->e, "Write NAME: VALUE.");
}

int reader_repeated(struct reader *r, const char *name)
{
    reader_fail(r, "\"%s\" is given twice", name);
    return err_advise(r->e, "Keep one of the two.");
}

int reader_mapping(struct reader *r, const char *what, const struct reader_field *fields,
                   void *object)
{
    if (reader_expect_mapping(r, what) < 0)
        return -1;
    uint64_t seen = 0;
    int more;
    while ((more = reader_next_key(r)) > 0) {
        const struct reader_field *f = fields;
        while (f->name != NULL && strcmp(f->name, reader_scalar(r)) != 0)
            f++;
        if (f->name == NULL || strlen(reader_scalar(r)) != r->event.data.scalar.length) {
            if (reader_is_printable(r))
                reader_fail(r, "unknown field \"%.*s\"", reader_shown(r), reader_scalar(r));
            else
                reader_fail(r, "unknown field");
            _buf_ struct buf names = BUF_INIT(4 * KIB);
            for (; fields->name != NULL; fields++)
                buf_printf(&names, "%s%s", names.len > 0 ? ", " : "", fields->name);
            return err_advise(r->e, "Remove it or correct its name. Possible here: %s.",
                              buf_str(&names));
        }
        uint64_t bit = (uint64_t)1 << (f - fields);
        if (seen & bit)
            return reader_repeated(r, f->name);
        seen |= bit;
        if (reader_next(r) < 0 || f->read(r, f, object) < 0)
            return -1;
    }
    return more;
}

int reader_expect_list(struct reader *r, const char *what, const char *example)
{
    if (r->event.type == YAML_SEQUENCE_START_EVENT)
        return 0;
    reader_fail(r, "%s has %s, but a list is expected", what, reader_kind(r));
    return err_advise(r->e, "Write %s: %s.", what, example);
}

int reader_next_item(struct reader *r)
{
    if (reader_next(r) < 0)
        return -1;
    return r->event.type != YAML_SEQUENCE_END_EVENT;
}
