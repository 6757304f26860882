/* What a server sent, as text: its kind and its character set, by what the server says, the page
 * says, or the bytes look like. Runs in the box that fetched it. */
#pragma once

#include "base/err.h"
#include "wire/json.h"

/* Puts the members "title" (of HTML), "text", "chars" and "is_cut". `type`: the Content-Type, or
 * NULL. -1 if it is no text. */
int page_put_text(struct json_out *out, const char *body, size_t len, const char *type,
                  size_t max_chars, struct err *e);
