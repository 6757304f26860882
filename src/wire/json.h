/* JSON in and out. Writing appends to a struct buf and puts the commas itself; reading is jansson
 * behind limits. Names start with json_put_ and json_read because jansson owns the other json_*. */
#pragma once

#include "base/buf.h"
#include "base/err.h"

#include <jansson.h>

/* The writer's whole state. What does not fit into the buffer is remembered there (overflowed). */
struct json_out {
    struct buf *buf;
    bool needs_comma; /* a value was written at this level */
};

#define JSON_OUT(buffer) ((struct json_out){.buf = (buffer)})

void json_put_object(struct json_out *o);
void json_put_object_end(struct json_out *o);
void json_put_array(struct json_out *o);
void json_put_array_end(struct json_out *o);
void json_put_key(struct json_out *o, const char *key); /* a name of ours: written unescaped */

void json_put_text(struct json_out *o, const char *s, size_t len); /* any bytes */
void json_put_str(struct json_out *o, const char *s);              /* NULL gives null */
void json_put_int(struct json_out *o, int64_t value);
void json_put_real(struct json_out *o, double value, int decimals); /* 0..9; not finite: null */
void json_put_null(struct json_out *o);
void json_put_raw(struct json_out *o, const char *json, size_t len); /* one value, trusted */
void json_put_value(struct json_out *o, const json_t *value);        /* what json_read gave */

/* "key":value in one call. What is empty is left out of answers: a text that is NULL, and what the
 * caller says with _some (0) and _true (false). */
void json_put_member_text(struct json_out *o, const char *key, const char *s, size_t len);
void json_put_member_str(struct json_out *o, const char *key, const char *s);
void json_put_member_int(struct json_out *o, const char *key, int64_t value);
void json_put_member_real(struct json_out *o, const char *key, double value, int decimals);
void json_put_member_bool(struct json_out *o, const char *key, bool value);
void json_put_member_some(struct json_out *o, const char *key, int64_t value);
void json_put_member_true(struct json_out *o, const char *key, bool value);
void json_put_member_null(struct json_out *o, const char *key);

/* Bytes as the inside of a JSON string: quotes, backslashes and controls escaped, what is not UTF-8
 * replaced by U+FFFD. */
void json_append_escaped(struct buf *out, const char *s, size_t len);
/* The shortest form that reads as the same number; it must be finite, as jansson's all are. */
void json_append_real(struct buf *out, double value);

/* "error":{"code","message","advice"} in an object, or as the whole of one. */
void json_put_member_error(struct json_out *o, const struct err *e);
void json_put_error(struct json_out *o, const struct err *e);

/* A parsed value costs some 60 bytes whatever it was on the wire, so the number of values is what
 * bounds memory and time, not the number of bytes. */
enum { JSON_DEPTH_MAX = 64, JSON_VALUES_MAX = 200000 };

/* One JSON object and nothing after it. Duplicate names, invalid UTF-8, NUL characters, nesting
 * deeper than JSON_DEPTH_MAX and more than JSON_VALUES_MAX values are refused. The message says
 * line and column, the advice what to do. The caller owns the result (json_decref). */
int json_read_object(const char *text, size_t len, json_t **ret_object, struct err *e);

/* For files, which may hold more than a request: the same behind other limits (depth below
 * jansson's own 2048), and strings may hold NUL characters, so their lengths count. */
struct json_limits {
    size_t depth, values;
};
int json_read_file_object(const char *text, size_t len, const struct json_limits *limits,
                          json_t **ret_object, struct err *e);

static inline void cleanup_json(json_t **value)
{
    json_decref(*value);
}

#define _json_ __attribute__((cleanup(cleanup_json)))
