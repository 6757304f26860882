/* Where an interpreter lives on the host: the directories that jails must see for it to work
 * there. */
#pragma once

#include "base/err.h"

enum { INTERPRETER_DIRS_MAX = 4 };

struct interpreter_dirs {
    char *paths[INTERPRETER_DIRS_MAX + 1]; /* NULL-terminated; owned */
    size_t count;
};

/* Finds the installation (and the virtual environment) that `program` belongs to, without running
 * it. What lies below /usr is in every jail already and not listed. */
int interpreter_find_dirs(const char *program, struct interpreter_dirs *ret, struct err *e);
void interpreter_free_dirs(struct interpreter_dirs *dirs);
