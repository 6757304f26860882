/* Where things lie in a store; for this room alone. */
#pragma once

#include "blob/blob.h"

#define STORE_TEMP_PREFIX "tmp-"

enum { STORE_PATH_SIZE = BLOB_HEX_SIZE + 1, STORE_TEMP_SIZE = 64 };

const char *store_path(const struct blob_hash *hash, char out[STORE_PATH_SIZE]); /* ab/cdef... */
/* A name that no other writer has, in this process or another. */
const char *store_temp_name(char out[STORE_TEMP_SIZE]);
