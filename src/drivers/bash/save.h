/* The state of the shell as shell source: variables, functions, aliases, traps, options, where it
 * is. Runs in a copy of the shell that ends afterwards. */
#pragma once

#include "drivers/bash/request.h"

/* Kinds of items, which are the first character of their names. They are put back in this order:
 * nothing that the user named after a builtin is there while builtins are needed. */
enum save_kind {
    SAVE_OPTION = 'o',   /* a command for builtins_run */
    SAVE_VARIABLE = 'v', /* source */
    SAVE_ARGUMENTS = 'p',
    SAVE_FUNCTION = 'f',
    SAVE_ALIAS = 'a',  /* its value */
    SAVE_FOLDER = 'd', /* a path */
    SAVE_TRAP = 't',
    SAVE_SWITCH = 's', /* of `set`, for builtins_run: with them other things fail */
    SAVE_STATUS = '?', /* $? */
};

void save_write(int fd, const struct bash_request *order);

/* The user's functions as "definitions", in the shell itself; imports and losses are lists of
 * nothing. */
struct json_out;
void save_put_functions(struct json_out *json);
