/* A file as units that can be searched: functions, methods and classes of code, sections of
 * documents, and windows of lines where neither is known. By tables and one pass over the bytes,
 * not by a grammar: code that does not compile is split like any other, and no input takes more
 * than time and memory in proportion to its bytes. Comments and strings are known, so braces in
 * them do not count. Any bytes may come. */
#pragma once

#include "base/buf.h"

enum {
    SPLIT_UNITS_MAX = 5000, /* of one file; what follows belongs to the last */
    SPLIT_DEPTH_MAX = 64,   /* units in units */
    SPLIT_NAME_MAX = 120,   /* bytes of a name */
    SPLIT_SIGNATURE_CHARS = 100,
    SPLIT_TEXT_MAX = 16 * 1024, /* bytes of a unit that are searched */
    SPLIT_WINDOW_LINES = 60,    /* of what has no structure */
};

enum split_kind { SPLIT_NEITHER, SPLIT_CODE, SPLIT_DOCUMENT };

/* What a file of this name is; SPLIT_NEITHER: not searched. */
enum split_kind split_kind_of(const char *path);

struct split_unit {
    const char *type;                              /* "function" */
    char name[SPLIT_NAME_MAX + 1];                 /* "Parser.parse"; valid UTF-8 */
    char signature[4 * SPLIT_SIGNATURE_CHARS + 1]; /* in one line; valid UTF-8 */
    size_t first, last;                            /* lines, from 1 */
    const char *text;                              /* without what is in units inside of it */
    size_t len;
};

typedef void (*split_fn)(void *context, const struct split_unit *unit);

/* Calls back for each unit, in order of their first lines. */
void split_file(const char *path, const char *data, size_t len, split_fn fn, void *context);
