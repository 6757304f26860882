/* The outputs of a cell as the text that they are: a JSON array of objects that this program has
 * written. Walked without making values of it, which would take many times its bytes. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* As it stands there, between the quotes if it has some. */
struct output_text {
    const char *data; /* NULL: there is none */
    size_t len;
};

struct output_view {
    struct output_text all; /* the object, with its braces */
    /* Members of the object itself that are strings or numbers. */
    struct output_text display_id, updates, hash, ref, url, format, width, height, bytes;
};

struct output_scan {
    const char *at, *end;
};

#define OUTPUT_SCAN(outputs, len) ((struct output_scan){.at = (outputs), .end = (outputs) + (len)})

/* The next of them; false at the end. */
bool output_next(struct output_scan *scan, struct output_view *ret);
bool output_text_is(struct output_text a, struct output_text b);
uint64_t output_number(struct output_text t); /* its digits, up to UINT32_MAX or so */
/* N of "notebook://SESSION/cell/CELL/image/N"; `otherwise` if there is none. */
uint64_t output_image_number(const struct output_view *view, uint64_t otherwise);
