#include "runtime/bash/notes.h"

#include <stdarg.h>
#include <stdio.h>

enum { NOTES_MAX = 50, DETAIL_BYTES = 256 };

struct note {
    const char *what; /* static */
    char detail[DETAIL_BYTES];
};

static struct note notes[NOTES_MAX];
static size_t n_notes;

void notes_add(const char *what, const char *format, ...)
{
    if (n_notes == NOTES_MAX)
        return;
    struct note *note = &notes[n_notes++];
    note->what = what;
    va_list args;
    va_start(args, format);
    vsnprintf(note->detail, sizeof(note->detail), format, args);
    va_end(args);
}

void notes_put(struct json_out *json)
{
    json_put_key(json, "notes");
    json_put_array(json);
    for (size_t i = 0; i < n_notes; i++) {
        json_put_object(json);
        json_put_member_str(json, "what", notes[i].what);
        json_put_member_str(json, "detail", notes[i].detail);
        json_put_object_end(json);
    }
    json_put_array_end(json);
}
