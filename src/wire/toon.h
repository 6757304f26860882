/* TOON, Token-Oriented Object Notation, as its specification 4 has it: JSON values as indented text
 * that costs a model fewer tokens. Written as the reference encoder writes by default (commas, two
 * spaces, tables of objects, keyed tables), byte for byte; read strictly.
 *
 * Numbers: integers of 64 bits are exact. A real is written with the fewest digits that read as the
 * same number, without an exponent from 1e-6 up to 1e21, and -0 as 0. A number that has no point,
 * no exponent and fits 64 bits is read as an integer, others as reals; one that no double can hold
 * is a text, as the reference reads it. */
#pragma once

#include "base/buf.h"
#include "base/err.h"

#include <jansson.h>

enum {
    TOON_DEPTH_MAX = 128,      /* levels of indentation, or of groups of fields */
    TOON_VALUES_MAX = 1000000, /* that a text may hold */
};
/* Of memory for a text's values. A table's header names its fields once, the values name them in
 * each row, so that a small text may ask for much. */
#define TOON_MEMORY_MAX (256 * MIB)

/* Appends the text, without a line break at its end. False if the value is nested too deep or does
 * not fit; then the buffer is as it was, but for `overflowed`. */
bool toon_encode(const json_t *value, struct buf *out);

/* The same if it has fewer bytes than compact JSON; else false, and the buffer is as it was. */
bool toon_encode_if_shorter(const json_t *value, struct buf *out);

/* NULL with an error that names the line and what to do about it. A name that is given twice, a
 * NUL in a name and bytes that are not UTF-8 are refused; an empty text is an empty object. */
json_t *toon_decode(const char *text, size_t len, struct err *e);
