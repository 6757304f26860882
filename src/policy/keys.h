/* The API key of the TCP listeners: one line in a file that only its owner may read. */
#pragma once

#include "base/err.h"

#define KEYS_FILE "key" /* in the data directory */

enum { KEYS_LENGTH_MIN = 32, KEYS_LENGTH_MAX = 128, KEYS_SIZE = KEYS_LENGTH_MAX + 1 };

/* Reads the key in the directory; keys_ensure makes one at the first start. */
int keys_read(int data_dir_fd, char ret_key[KEYS_SIZE], struct err *e);
int keys_ensure(int data_dir_fd, char ret_key[KEYS_SIZE], struct err *e);

/* The value of an Authorization header ("Bearer KEY") against the key. */
bool keys_match(const char *key, const char *header, size_t header_len);
