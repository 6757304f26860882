/* What is made from the tables of operations and verbs, for those who make the rest from it. */
#pragma once

#include "cli/verb.h"

/* `cella --dump WHAT`: writes it to stdout. The exit status, or -1 with the error. */
int cli_dump(const char *what, struct err *e);
