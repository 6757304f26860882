/* The codes of errors in words, for pages that are made from their table. */
#pragma once

#include "base/err.h"

const char *err_when(enum err_code code);   /* what it means */
const char *err_remedy(enum err_code code); /* what to do about it */
