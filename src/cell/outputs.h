/* The outputs of a stored row as the text that they are: the JSON array that a transcript has
 * written. Walked without making values of it, which would take many times its bytes. */
#pragma once

#include "wire/json.h"

/* Members that stored outputs alone have, in this order and as the last of their object: the blob
 * of a picture, and what the output updates (enum transcript_updates). */
#define OUTPUT_HASH ",\"hash\":\""
#define OUTPUT_UPDATES ",\"updates\":"

/* As it stands there, between the quotes if it has some. */
struct output_text {
    const char *data; /* NULL if there is none */
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

/* It takes the place of what other cells show under its id. */
bool output_is_update(const struct output_view *view);
/* The output up to what it updates, without its closing brace. */
struct output_text output_unmarked(const struct output_view *update);
/* The stored output shows what the update does. A picture is the same if its bytes are, whatever
 * its name. */
bool output_is_same(const struct output_view *stored, const struct output_view *update);
/* A stored array as callers see it: without the names of blobs. */
void output_put_public(struct json_out *json, const char *outputs, size_t len);
