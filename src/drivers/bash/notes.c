/* What a copy of the shell could not take along, as notes for the daemon. In the shell's process;
 * owns the list. */
#include "drivers/bash/notes.h"

#include <stdarg.h>
#include <stdio.h>

enum { NOTES_MAX = 50, SUBJECT_BYTES = 100, DETAIL_BYTES = 256 };

struct note {
    const char *what; /* static */
    char subject[SUBJECT_BYTES];
    char detail[DETAIL_BYTES];
};

static struct note notes[NOTES_MAX];
static size_t n_notes;

void notes_clear(void)
{
    n_notes = 0;
}

void notes_add(const char *what, const char *subject, const char *format, ...)
{
    if (n_notes == NOTES_MAX)
        return;
    struct note *note = &notes[n_notes++];
    note->what = what;
    snprintf(note->subject, sizeof(note->subject), "%s", subject);
    va_list args;
    va_start(args, format);
    vsnprintf(note->detail, sizeof(note->detail), format, args);
    va_end(args);
}

void notes_change(const char *what, const char *detail)
{
    for (size_t i = 0; i < n_notes; i++)
        if (strcmp(notes[i].what, what) == 0)
            snprintf(notes[i].detail, sizeof(notes[i].detail), "%s", detail);
}

void notes_put(struct json_out *json)
{
    json_put_key(json, "notes");
    json_put_array(json);
    for (size_t i = 0; i < n_notes; i++) {
        char text[SUBJECT_BYTES + DETAIL_BYTES];
        int n = snprintf(text, sizeof(text), "%s %s", notes[i].subject, notes[i].detail);
        json_put_object(json);
        json_put_member_str(json, "what", notes[i].what);
        json_put_member_text(json, "detail", text, MIN((size_t)n, sizeof(text) - 1));
        json_put_object_end(json);
    }
    json_put_array_end(json);
}

void notes_each(void (*visit)(const char *what, const char *subject, void *context), void *context)
{
    for (size_t i = 0; i < n_notes; i++)
        visit(notes[i].what, notes[i].subject, context);
}
