/* What a copy of the shell cannot have: told when it is woken, and in the list of what is lost when
 * a state is saved. */
#pragma once

#include "wire/json.h"

void notes_clear(void);

/* `what` is a word: pipe, process; `subject` names it: "descriptor 5". The rest is the detail. */
void notes_add(const char *what, const char *subject, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Another detail for all that are of a kind. */
void notes_change(const char *what, const char *detail);

/* The member "notes". */
void notes_put(struct json_out *json);

void notes_each(void (*visit)(const char *what, const char *subject, void *context), void *context);
