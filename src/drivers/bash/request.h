/* What the daemon says, read from its JSON, and the headers of a saved state. It is trusted, and
 * its frames have few shapes; the scanner is strict all the same, and nothing in it grows with what
 * it reads. */
#pragma once

#include "base/base.h"

enum request_op {
    REQUEST_OTHER,
    REQUEST_SETUP,
    REQUEST_EXEC,
    REQUEST_INPUT,
    REQUEST_RESULT,
    REQUEST_NAMES,
    REQUEST_DECLARATIONS,
    REQUEST_IS_COMPLETE,
    REQUEST_COMPLETE,
    REQUEST_INSPECT,
    REQUEST_CHECKPOINT,
    REQUEST_WAKE,
    REQUEST_SAVE,
    REQUEST_LOAD,
};

enum { REQUEST_ENV_MAX = 256 };

/* A view into the frame: unescaped in place, NUL-terminated. `data` is NULL if it was absent or
 * null. */
struct request_text {
    char *data;
    size_t len;
};

struct bash_request {
    enum request_op op;
    int64_t id;
    int64_t max;
    int64_t max_bytes;
    int64_t cursor;
    int64_t detail;
    bool is_eof;
    bool exit_ends; /* of exec: `exit` ends the shell, not only the cell */
    bool has_body;  /* of a record */
    bool has_room;  /* of wake: the copy is a branch, with a room of its own to enter first */
    bool explores;  /* of exec: its code may call operations of the daemon */
    bool has_debug; /* of checkpoint: somebody may trace the shell */
    struct request_text code;
    struct request_text names; /* of exec: none, changes or full */
    struct request_text text;
    struct request_text cwd;
    struct request_text format;
    struct request_text rec; /* these are of the records of a saved state */
    struct request_text kind;
    struct request_text name;
    struct request_text type;
    struct request_text advice;
    struct request_text result; /* of a call: these two are JSON as it came, see below */
    struct request_text error;
    struct {
        struct request_text name;
        struct request_text value;
    } env[REQUEST_ENV_MAX];
    size_t n_env;
};

/* Changes the payload, of which the request is then a view. False if it is not one JSON object as
 * the daemon writes them. */
bool request_read(struct bash_request *r, char *payload, size_t len);

/* JSON that was left as it came is looked into with these; no text of it is NUL-terminated. */

/* The value of a member of an object. False if there is none. */
bool request_find(struct request_text object, const char *name, struct request_text *ret_value);
/* Takes the first value of a list out of it. False at its end. */
bool request_take(struct request_text *list, struct request_text *ret_value);
/* A string becomes its text, in place; other values stay what they are. */
void request_unquote(struct request_text *value);
