/* The names that the user made, variables and functions, and what a cell did to them.
 *
 * Found by comparison before and after: of a text's length, beginning and end, of an array's length
 * and its first elements, of a function's identity. Large namespaces are only counted. */
#pragma once

#include "wire/json.h"

struct variable; /* of bash */

enum names_wish { NAMES_NONE, NAMES_CHANGES, NAMES_FULL };

enum { NAMES_ITEMS_MAX = 1000 };

/* What there is now is not the user's. */
void names_begin_session(void);

void names_begin_cell(enum names_wish wish);

/* The manifest after a cell, as the member "names", if it was wished for. */
void names_put_cell(struct json_out *json);

/* What there is to be saved, in the order of names: variables that the user made or changed, and
 * the names of those that were there in the beginning and are gone. */
void names_each_variable(void (*visit)(struct variable *variable),
                         void (*visit_gone)(const char *name));
void names_each_function(void (*visit)(struct variable *function));

/* The members that tell of a variable or a function, without those that bash would have to run code
 * for. False if there is none of that name. */
bool names_put_about(struct json_out *json, const char *name);

/* The manifest as of now. */
void names_put_all(struct json_out *json, int64_t max_items);

/* At most `max_items` of the user's names, in short: a list of {name, type, text}. */
void names_put_short(struct json_out *json, int64_t max_items);
