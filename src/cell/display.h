/* Typed outputs as drivers send them: {"type":"text","text":"2"} and its relatives. */
#pragma once

#include "base/err.h"
#include "wire/json.h"

/* Checks that `output` is a typed output: a known type, its members present and of the right JSON
 * type; `display_id`, by which a later output may replace it, is short. Members that this version
 * does not know are removed, and so is `mime`, its other forms by media type, if it is no object of
 * these or too large. `late` is true or missing: it was shown after the cell's value. */
int display_check(json_t *output, struct err *e);

/* Bytes of all its strings and names: what counts against a budget. */
size_t display_size(const json_t *output);

/* An image or an svg: worthless when cut. */
bool display_is_picture(const json_t *output);
/* A form of the output that fits into `room` bytes, as far as that can be: without its markup, with
 * its text cut at lines, or only a note. `where` says how all of it is read; NULL if it does not.
 * Takes the reference and returns one; counts what was left out. */
json_t *display_fit(json_t *output, size_t room, const char *where, uint64_t *omitted);
/* The words of a formula or of marked text as a terminal shows them. NULL if the output has another
 * type, whose words are its text, or if "<... object>" is all that is said. */
json_t *display_words(const json_t *output);
/* An answer has one form of an output, the notebook all: the second name of a picture goes; unless
 * `has_html` the markup that says what the text says, with the rows and types of a table; unless
 * `has_forms` the forms by media type. False if there were none. */
bool display_leave_one_form(json_t *output, bool has_html, bool has_forms);
/* Appends what a reader sees: the text, or what a picture is; `has_url`: and where it can be had.
 */
void display_put_words(const json_t *output, bool has_url, struct buf *out);
