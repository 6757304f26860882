/* Help, made from the tables of the verbs. */
#pragma once

#include "cli/verb.h"

void cli_help_first(void); /* `cella` alone */
void cli_help_all(int fd);
void cli_help_verb(const struct cli_verb *verb); /* to stdout */
