/* Bytes as text, RFC 4648 section 4: padded, without line breaks when written. */
#pragma once

#include "base/buf.h"

/* Room for the encoded form, without a NUL. */
size_t base64_encoded_len(size_t len);
bool base64_encode(struct buf *out, const void *data, size_t len); /* false: it does not fit */

/* At most this many bytes. */
size_t base64_decoded_max(size_t len);
/* False if the text is not base64 (padding, stray bits and characters are checked; line breaks are
 * skipped) or the result does not fit. */
bool base64_decode(struct buf *out, const char *text, size_t len);
/* The alphabet of section 5, without padding and line breaks, as tokens and JWKs have it. */
bool base64_decode_url(struct buf *out, const char *text, size_t len);
