/* The functions of libc as the shell calls them. */
#pragma once

#include "base/base.h"

/* Lets the program that we are loaded into call `function` where it calls `name` of a library.
 * False if it does not call that, or if it cannot be changed. */
bool imports_replace(const char *name, void *function);
