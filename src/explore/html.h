/* HTML as readable text, in one pass and without a tree: headings, lists, paragraphs, cells of
 * tables, the text of links; no scripts and styles. Whatever the bytes are, the time is linear and
 * the text is bounded. Runs in the box that fetched the page. */
#pragma once

#include "base/buf.h"

struct html_text {
    struct buf text;  /* UTF-8 if the page is; at most max_chars characters */
    struct buf title; /* cut off where it is full */
    size_t max_chars;
    size_t n_chars; /* of the whole text; what is beyond max_chars is not in `text` */
};

void html_to_text(const char *html, size_t len, struct html_text *ret);

/* Appends plain text within max_chars. */
void html_take_text(struct html_text *t, const char *text, size_t len);
