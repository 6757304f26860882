/* The configuration's YAML, read event by event against tables of fields. Nothing is built from
 * what no table names, and aliases are refused: so neither deep nesting nor a "billion laughs" file
 * can cost more than its own length. Functions that can fail return 0 or -1. */
#pragma once

#include "policy/config.h"

#include <yaml.h>

enum { READER_NAME_MAX = 32 };

struct reader {
    yaml_parser_t parser;
    yaml_event_t event; /* the current one; owned */
    bool has_event;
    const char *file;
    struct config *config; /* being filled */
    int default_profile_line;
    int *binding_lines; /* one for each binding; in the configuration's arena */
    struct err *e;
};

/* One member of a mapping: `read` finds the current event at the value and leaves it at the value's
 * last event. */
struct reader_field {
    const char *name; /* NULL ends the list */
    int (*read)(struct reader *r, const struct reader_field *f, void *object);
    size_t offset; /* in the object */
    uint64_t min, max;
};

/* At the current event, or at a line; the caller adds the remedy. */
int reader_fail(struct reader *r, const char *fmt, ...) PRINTF_LIKE(2, 3);
int reader_fail_at(struct reader *r, int line, const char *fmt, ...) PRINTF_LIKE(3, 4);
int reader_repeated(struct reader *r, const char *name);
int reader_line(const struct reader *r); /* of the current event, from 1 */

/* The current event, a scalar. */
const char *reader_scalar(const struct reader *r);
int reader_shown(const struct reader *r);  /* how much of it fits into a message */
const char *reader_keep(struct reader *r); /* with the life of the configuration */
int reader_expect_text(struct reader *r, const char *name, size_t max);
bool reader_is_name(const char *s, size_t len);

int reader_next(struct reader *r);
int reader_expect_mapping(struct reader *r, const char *what);
int reader_next_key(struct reader *r); /* 1: a key, 0: the mapping's end */
int reader_expect_list(struct reader *r, const char *what, const char *example);
int reader_next_item(struct reader *r); /* 1: an item, 0: the list's end */

/* A whole mapping. Unknown and repeated fields are mistakes. */
int reader_mapping(struct reader *r, const char *what, const struct reader_field *fields,
                   void *object);

/* Fields of these types. */
int reader_bool(struct reader *r, const struct reader_field *f, void *object);
int reader_u32(struct reader *r, const struct reader_field *f, void *object);
int reader_u64(struct reader *r, const struct reader_field *f, void *object);
int reader_path(struct reader *r, const struct reader_field *f, void *object);
/* A name of an agent or a plugin: it appears in paths of the API and in messages. */
int reader_id(struct reader *r, const struct reader_field *f, void *object);
