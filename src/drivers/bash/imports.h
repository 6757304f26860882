/* The functions of libc as the shell calls them. */
#pragma once

#include "base/base.h"

/* Does the program that we are loaded into call `name` of a library, in a way that can be changed?
 */
bool imports_has(const char *name);

/* Lets it call `function` there. */
bool imports_replace(const char *name, void *function);
