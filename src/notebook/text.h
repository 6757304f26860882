/* Text as the formats have it: lines, references of HTML, what a terminal would show. */
#pragma once

#include "base/buf.h"
#include "base/err.h"

#include <jansson.h>

/* nbformat's multi-line string, a string or a list of strings, as one string; NULL if it is
 * neither. The caller owns the result. */
json_t *text_join(const json_t *multiline);
/* The other way: a list of lines, each with its newline. */
json_t *text_lines(const char *text, size_t len);
json_t *text_without_spaces(const json_t *text); /* base64, which may come in lines */

/* As content or between double quotes of an attribute. Characters that HTML cannot hold become
 * U+FFFD. */
void text_append_html(struct buf *out, const char *text, size_t len);

/* What stays on a terminal: without escape sequences, and of a line that was written over by a
 * carriage return only its last form. */
void text_append_settled(struct buf *out, const char *text, size_t len);

/* Each line behind a prefix, "# "; the end has a newline if there was any text. */
void text_append_prefixed(struct buf *out, const char *prefix, const char *text, size_t len);
/* Takes one prefix off each line. False if a line has none. */
bool text_append_unprefixed(struct buf *out, const char *prefix, const char *text, size_t len);

/* Lines as comments of a script, none of which marks a cell ("# %%"): one that would is a comment
 * twice. The other way round `text` is what text_append_unprefixed gave. */
void text_append_commented(struct buf *out, const char *prefix, const char *text, size_t len);
void text_append_uncommented(struct buf *out, const char *prefix, const char *text, size_t len);

/* Length of the longest run of a character. */
size_t text_longest_run(const char *text, size_t len, char c);

/* Base64 of a stranger without its white space, for a place between quotes. False, and nothing is
 * appended, if another character is in it. */
bool text_append_base64(struct buf *out, const char *text, size_t len);
/* The first image of an attachment as an address that holds it, for a place between quotes or
 * parentheses. False, and nothing is appended, if it has none. */
bool text_append_attachment(struct buf *out, const json_t *attachments, const char *name);
