/* Public keys of issuers of tokens, read from files: JWK sets (RFC 7517) or PEM. Nothing is ever
 * fetched. */
#pragma once

#include "policy/config.h"
#include "policy/crypto.h"

enum {
    OAUTH_KEYS_FILE_MAX = 256 * 1024,
    OAUTH_KEYS_MAX = 64, /* of one issuer */
    OAUTH_KID_MAX = 256, /* bytes */
    OAUTH_RSA_BITS_MIN = 2048,
    OAUTH_RSA_BITS_MAX = 8192, /* checking takes longer with the square of them */
};

struct oauth_key {
    EVP_PKEY *pkey;
    enum config_algorithm algorithm; /* the only one it is used with */
    char *kid;                       /* NULL if the file gives it no name */
};

struct oauth_keys {
    struct oauth_key list[OAUTH_KEYS_MAX];
    size_t n;
};

/* Adds those of the file that can check tokens by one of these algorithms. None at all is an error,
 * and so is a private key, or a file that others could have written. */
int oauth_keys_read(struct oauth_keys *keys, const char *path, unsigned algorithms, struct err *e);
void oauth_keys_free(struct oauth_keys *keys);
