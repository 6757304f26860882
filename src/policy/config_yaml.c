/* The configuration's YAML, read event by event against a table of fields. Nothing is built from
 * what the table does not name, and aliases are refused: so neither deep nesting nor a "billion
 * laughs" file can cost more than its own length. */
#include "base/utf8.h"
#include "policy/config.h"
#include "policy/profiles.h"

#include <limits.h>
#include <stdarg.h>
#include <yaml.h>

enum { NAME_MAX_BYTES = 32, ITEM_MAX_BYTES = 512, SHOWN_BYTES = 40, SECS_MAX = 365 * 86400 };

struct reader {
    yaml_parser_t parser;
    yaml_event_t event; /* the current one; owned */
    bool has_event;
    const char *file;
    struct config *config; /* being filled */
    int default_profile_line;
    struct err *e;
};

/* One member of a mapping: `read` finds the current event at the value and leaves it at the value's
 * last event. */
struct field {
    const char *name;
    int (*read)(struct reader *r, const struct field *f, void *object);
    size_t offset; /* in the object */
    uint64_t min, max;
};

static int fail(struct reader *r, const char *fmt, ...) PRINTF_LIKE(2, 3);

/* At the current event; the caller adds the remedy. */
static int fail(struct reader *r, const char *fmt, ...)
{
    char what[256];
    va_list args;
    va_start(args, fmt);
    vsnprintf(what, sizeof(what), fmt, args);
    va_end(args);
    return err_set(r->e, ERR_INVALID, "%s:%zu: %s", r->file, r->event.start_mark.line + 1, what);
}

static int fail_syntax(struct reader *r)
{
    const yaml_parser_t *p = &r->parser;
    size_t line = p->problem_mark.line + 1;
    err_set(r->e, ERR_INVALID, "%s:%zu: not valid YAML: %s", r->file, line,
            p->problem != NULL ? p->problem : "unreadable");
    return err_advise(r->e,
                      "Check the indentation (spaces, no tabs), quotes and brackets in line "
                      "%zu and the one above.",
                      line);
}

static int next(struct reader *r)
{
    if (r->has_event)
        yaml_event_delete(&r->event);
    r->has_event = false;
    if (!yaml_parser_parse(&r->parser, &r->event))
        return fail_syntax(r);
    r->has_event = true;
    if (r->event.type == YAML_ALIAS_EVENT) {
        fail(r, "aliases (*name) are not read here");
        return err_advise(r->e, "Write the value out.");
    }
    return 0;
}

static const char *kind(const struct reader *r)
{
    if (r->event.type == YAML_MAPPING_START_EVENT)
        return "a mapping";
    if (r->event.type == YAML_SEQUENCE_START_EVENT)
        return "a list";
    return r->event.data.scalar.length == 0 ? "nothing" : "a single value";
}

static const char *scalar(const struct reader *r)
{
    return (const char *)r->event.data.scalar.value;
}

/* How much of the scalar fits into a message, in whole characters. */
static int shown(const struct reader *r)
{
    return (int)utf8_valid_prefix(scalar(r), MIN(r->event.data.scalar.length, (size_t)SHOWN_BYTES));
}

/* Text that can be shown, stored and passed on: no NUL, no control characters. */
static bool is_printable(const struct reader *r)
{
    for (size_t i = 0; i < r->event.data.scalar.length; i++) {
        unsigned char c = r->event.data.scalar.value[i];
        if (c < 0x20 || c == 0x7f)
            return false;
    }
    return true;
}

static int expect_text(struct reader *r, const char *name, size_t max)
{
    if (r->event.type != YAML_SCALAR_EVENT || r->event.data.scalar.length == 0) {
        fail(r, "%s has %s, but text is expected", name, kind(r));
        return err_advise(r->e, "Write %s: TEXT on one line.", name);
    }
    if (r->event.data.scalar.length > max || !is_printable(r)) {
        fail(r, "%s is longer than %zu bytes or has control characters", name, max);
        return err_advise(r->e, "Write it on one line.");
    }
    return 0;
}

static int read_number(struct reader *r, const struct field *f, uint64_t *ret_value)
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
        if (r->event.type == YAML_SCALAR_EVENT && is_printable(r))
            fail(r, "%s: \"%.*s\" is not a whole number from %llu to %llu", f->name, shown(r),
                 scalar(r), (unsigned long long)f->min, (unsigned long long)f->max);
        else
            fail(r, "%s has %s, but a whole number is expected", f->name, kind(r));
        return err_advise(r->e, "Write %s: N with N from %llu to %llu.", f->name,
                          (unsigned long long)f->min, (unsigned long long)f->max);
    }
    *ret_value = value;
    return 0;
}

static int read_u32(struct reader *r, const struct field *f, void *object)
{
    uint64_t value;
    if (read_number(r, f, &value) < 0)
        return -1;
    *(uint32_t *)(void *)((char *)object + f->offset) = (uint32_t)value;
    return 0;
}

static int read_u64(struct reader *r, const struct field *f, void *object)
{
    return read_number(r, f, (uint64_t *)(void *)((char *)object + f->offset));
}

static const char *keep_scalar(struct reader *r)
{
    return arena_copy(&r->config->arena, scalar(r), r->event.data.scalar.length);
}

static int read_path(struct reader *r, const struct field *f, void *object)
{
    if (expect_text(r, f->name, PATH_MAX - 1) < 0)
        return -1;
    if (scalar(r)[0] != '/') {
        fail(r, "%s: \"%.*s\" is not an absolute path", f->name, shown(r), scalar(r));
        return err_advise(r->e, "Write the whole path, like /usr/bin/%s%s.", f->name,
                          strcmp(f->name, "python") == 0 ? "3" : "");
    }
    *(const char **)(void *)((char *)object + f->offset) = keep_scalar(r);
    return 0;
}

static bool is_name(const char *s, size_t len)
{
    static const char letters[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";
    return len >= 1 && len <= NAME_MAX_BYTES && strspn(s, letters) == len;
}

static int read_default_profile(struct reader *r, const struct field *f, void *object)
{
    (void)object;
    if (expect_text(r, f->name, NAME_MAX_BYTES) < 0)
        return -1;
    r->config->default_profile = keep_scalar(r);
    r->default_profile_line = (int)r->event.start_mark.line + 1;
    return 0;
}

/* Mappings. */

static int unknown_field(struct reader *r, const struct field *fields)
{
    if (is_printable(r))
        fail(r, "unknown field \"%.*s\"", shown(r), scalar(r));
    else
        fail(r, "unknown field");
    char names[320] = "";
    size_t used = 0;
    for (; fields->name != NULL && used < sizeof(names); fields++)
        used += (size_t)snprintf(names + used, sizeof(names) - used, "%s%s", used ? ", " : "",
                                 fields->name);
    return err_advise(r->e, "Remove it or correct its name. Possible here: %s.", names);
}

static int expect_mapping(struct reader *r, const char *what)
{
    if (r->event.type == YAML_MAPPING_START_EVENT)
        return 0;
    fail(r, "%s has %s, but a mapping is expected", what, kind(r));
    return err_advise(r->e, "Write NAME: VALUE lines, indented below it, or {}.");
}

/* Moves to the next key. 1: a key, 0: the mapping's end. */
static int next_key(struct reader *r)
{
    if (next(r) < 0)
        return -1;
    if (r->event.type == YAML_MAPPING_END_EVENT)
        return 0;
    if (r->event.type == YAML_SCALAR_EVENT)
        return 1;
    fail(r, "a field's name cannot be %s", kind(r));
    return err_advise(r->e, "Write NAME: VALUE.");
}

static int repeated(struct reader *r, const char *name)
{
    fail(r, "\"%s\" is given twice", name);
    return err_advise(r->e, "Keep one of the two.");
}

static int read_mapping(struct reader *r, const char *what, const struct field *fields,
                        void *object)
{
    if (expect_mapping(r, what) < 0)
        return -1;
    uint64_t seen = 0;
    int more;
    while ((more = next_key(r)) > 0) {
        const struct field *f = fields;
        while (f->name != NULL && strcmp(f->name, scalar(r)) != 0)
            f++;
        if (f->name == NULL || strlen(scalar(r)) != r->event.data.scalar.length)
            return unknown_field(r, fields);
        uint64_t bit = (uint64_t)1 << (f - fields);
        if (seen & bit)
            return repeated(r, f->name);
        seen |= bit;
        if (next(r) < 0 || f->read(r, f, object) < 0)
            return -1;
    }
    return more;
}

/* Profiles. */

/* "import x", "from x import y" or a bare dotted name: anything else would not be executed by the
 * zygote as its author meant it. */
static bool is_import(const char *s)
{
    if (strncmp(s, "import ", 7) == 0 || strncmp(s, "from ", 5) == 0)
        return strchr(s, ';') == NULL;
    bool at_start = true;
    for (; *s != '\0'; s++) {
        unsigned char c = (unsigned char)*s;
        bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c >= 0x80;
        bool is_digit = c >= '0' && c <= '9';
        if (!is_letter && (at_start || (!is_digit && c != '.')))
            return false;
        at_start = c == '.';
    }
    return !at_start;
}

static int read_preload_item(struct reader *r, size_t n, size_t *bytes)
{
    if (expect_text(r, "an item of preload", ITEM_MAX_BYTES) < 0)
        return -1;
    if (!is_import(scalar(r))) {
        fail(r, "preload: \"%.*s\" is not an import", shown(r), scalar(r));
        return err_advise(r->e, "Write an import statement (\"import numpy as np\") or a module's "
                                "name (\"json\").");
    }
    *bytes += r->event.data.scalar.length;
    if (n >= CONFIG_PRELOAD_MAX || *bytes > CONFIG_PRELOAD_BYTES) {
        fail(r, "preload has more than %d items or %d bytes", CONFIG_PRELOAD_MAX,
             CONFIG_PRELOAD_BYTES);
        return err_advise(r->e, "Import the rest in a module of your own and name that here.");
    }
    return 0;
}

static int read_preload(struct reader *r, const struct field *f, void *object)
{
    struct config_profile *profile = object;
    if (r->event.type != YAML_SEQUENCE_START_EVENT) {
        fail(r, "%s has %s, but a list is expected", f->name, kind(r));
        return err_advise(r->e, "Write %s: [json, \"import numpy as np\"], or [] for none.",
                          f->name);
    }
    const char *items[CONFIG_PRELOAD_MAX + 1] = {NULL};
    size_t n = 0, bytes = 0;
    for (;;) {
        if (next(r) < 0)
            return -1;
        if (r->event.type == YAML_SEQUENCE_END_EVENT)
            break;
        if (read_preload_item(r, n, &bytes) < 0)
            return -1;
        items[n++] = keep_scalar(r);
    }
    profile->preload = arena_copy(&r->config->arena, items, (n + 1) * sizeof(*items));
    profile->n_preload = n;
    return 0;
}

static const struct field profile_fields[] = {
    {"python", read_path, offsetof(struct config_profile, python), 0, 0},
    {"preload", read_preload, 0, 0, 0},
    {NULL, NULL, 0, 0, 0},
};

static struct config_profile *find_profile(struct config *c, const char *name)
{
    return (struct config_profile *)(uintptr_t)config_find_profile(c, name);
}

static int check_profile_name(struct reader *r)
{
    if (!is_name(scalar(r), r->event.data.scalar.length)) {
        fail(r, "a profile cannot have this name");
        return err_advise(r->e, "Use 1 to %d letters, digits, - and _.", NAME_MAX_BYTES);
    }
    if (r->config->n_profiles == CONFIG_PROFILES_MAX &&
        find_profile(r->config, scalar(r)) == NULL) {
        fail(r, "more than %d profiles", CONFIG_PROFILES_MAX);
        return err_advise(r->e, "Remove those that are not used.");
    }
    return 0;
}

/* A built-in profile of that name is the starting point, so that its list can be kept when only
 * the interpreter is changed. */
static int read_profile(struct reader *r, bool was_given[CONFIG_PROFILES_MAX])
{
    struct config *c = r->config;
    if (check_profile_name(r) < 0)
        return -1;
    struct config_profile *profile = find_profile(c, scalar(r));
    if (profile == NULL) {
        static const char *const nothing[] = {NULL};
        profile = &c->profiles[c->n_profiles++];
        *profile = (struct config_profile){.name = keep_scalar(r), .preload = nothing};
    }
    if (was_given[profile - c->profiles])
        return repeated(r, profile->name);
    was_given[profile - c->profiles] = true;
    if (next(r) < 0)
        return -1;
    return read_mapping(r, profile->name, profile_fields, profile);
}

static int read_profiles(struct reader *r, const struct field *f, void *object)
{
    (void)object;
    if (expect_mapping(r, f->name) < 0)
        return -1;
    bool was_given[CONFIG_PROFILES_MAX] = {false};
    int more;
    while ((more = next_key(r)) > 0)
        if (read_profile(r, was_given) < 0)
            return -1;
    return more;
}

static const struct field limit_fields[] = {
    {"memory_mb", read_u32, offsetof(struct jail_limits, memory_mb), 16, 1024 * 1024},
    {"cpu_percent", read_u32, offsetof(struct jail_limits, cpu_percent), 1, 100 * 1024},
    {"pids", read_u32, offsetof(struct jail_limits, pids), 4, 1024 * 1024},
    {"disk_mb", read_u32, offsetof(struct jail_limits, disk_mb), 1, 1024 * 1024},
    {NULL, NULL, 0, 0, 0},
};

static int read_limits(struct reader *r, const struct field *f, void *object)
{
    return read_mapping(r, f->name, limit_fields, (char *)object + f->offset);
}

static const struct field config_fields[] = {
    {"python", read_path, offsetof(struct config, python), 0, 0},
    {"node", read_path, offsetof(struct config, node), 0, 0},
    {"bash", read_path, offsetof(struct config, bash), 0, 0},
    {"default_profile", read_default_profile, 0, 0, 0},
    {"profiles", read_profiles, 0, 0, 0},
    {"pool", read_u32, offsetof(struct config, pool), 0, 1024},
    {"limits", read_limits, offsetof(struct config, limits), 0, 0},
    {"max_sessions", read_u32, offsetof(struct config, max_sessions), 1, 1000000},
    {"max_output_bytes", read_u64, offsetof(struct config, max_output_bytes), 64 * 1024,
     (uint64_t)1 << 30},
    {"idle_timeout_secs", read_u32, offsetof(struct config, idle_timeout_secs), 0, SECS_MAX},
    {"max_age_secs", read_u32, offsetof(struct config, max_age_secs), 0, SECS_MAX},
    {NULL, NULL, 0, 0, 0},
};

/* The whole file: nothing, or one document with a mapping. */

static int read_document(struct reader *r)
{
    if (next(r) < 0) /* the stream's start */
        return -1;
    if (next(r) < 0)
        return -1;
    if (r->event.type == YAML_STREAM_END_EVENT)
        return 0;
    if (next(r) < 0)
        return -1;
    bool is_empty = r->event.type == YAML_SCALAR_EVENT && r->event.data.scalar.length == 0;
    if (!is_empty && read_mapping(r, "the file", config_fields, r->config) < 0)
        return -1;
    if (next(r) < 0 || next(r) < 0) /* the document's end, and what follows */
        return -1;
    if (r->event.type == YAML_STREAM_END_EVENT)
        return 0;
    fail(r, "a second document begins here");
    return err_advise(r->e, "Remove the line with --- and what follows it, or join the two.");
}

static void set_defaults(struct config *c, const char *file)
{
    *c = (struct config){
        .python = "/usr/bin/python3",
        .node = "/usr/bin/node",
        .bash = "/usr/bin/bash",
        .default_profile = "data",
        .pool = 4,
        .max_sessions = 4096,
        .max_output_bytes = 4 * MIB,
        .idle_timeout_secs = 600,
        .max_age_secs = 86400,
        .limits = JAIL_LIMITS_DEFAULT,
    };
    if (file != NULL)
        c->file = arena_strdup(&c->arena, file);
    c->profiles = arena_alloc(&c->arena, CONFIG_PROFILES_MAX * sizeof(*c->profiles));
    memcpy(c->profiles, profiles_built_in, profiles_n_built_in * sizeof(*c->profiles));
    c->n_profiles = profiles_n_built_in;
}

static int finish(struct reader *r)
{
    struct config *c = r->config;
    for (size_t i = 0; i < c->n_profiles; i++)
        if (c->profiles[i].python == NULL)
            c->profiles[i].python = c->python;
    if (config_find_profile(c, c->default_profile) != NULL)
        return 0;
    err_set(r->e, ERR_INVALID, "%s:%d: default_profile: there is no profile \"%s\"", r->file,
            r->default_profile_line, c->default_profile);
    return err_advise(r->e, "Name min, data or one that is defined under profiles.");
}

int config_parse(const char *text, size_t len, const char *file, struct config *ret_config,
                 struct err *e)
{
    struct config config;
    set_defaults(&config, file);
    struct reader r = {.file = file != NULL ? file : "(defaults)", .config = &config, .e = e};
    if (!yaml_parser_initialize(&r.parser))
        abort(); /* only for want of memory */
    yaml_parser_set_encoding(&r.parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&r.parser, (const unsigned char *)text, len);
    int result = read_document(&r) < 0 || finish(&r) < 0 ? -1 : 0;
    if (r.has_event)
        yaml_event_delete(&r.event);
    yaml_parser_delete(&r.parser);
    if (result < 0)
        config_free(&config);
    else
        *ret_config = config;
    return result;
}
