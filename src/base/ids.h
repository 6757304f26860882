/* Random names. */
#pragma once

#include "base/base.h"

enum { UUID_SIZE = 37, TOKEN_SIZE = 44 };

void ids_random(void *out, size_t len);              /* from the kernel, never fails */
void ids_uuid(char out[UUID_SIZE]);                  /* version 4, lower case */
bool ids_is_uuid(const char *s, size_t len);         /* as written by ids_uuid */
void ids_token(char out[TOKEN_SIZE]);                /* 256 bits, URL-safe characters */
bool ids_equal_secret(const char *a, const char *b); /* in time independent of the contents */
