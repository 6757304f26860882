/* State that a client carries for us between two requests: it can read it, and not change it. A
 * seal is good for one agent, one request, a limited time, and once. */
#pragma once

#include "base/base.h"

#include <jansson.h>

enum {
    SEAL_LIFE_MS = 3600 * 1000,
    SEAL_USED_MAX = 8192, /* seals that are remembered as used */
    SEAL_TEXT_MAX = 64 * 1024,
};

struct seal_used {
    char nonce[23];
    uint64_t until_ms; /* then it is forgotten; 0: there is none here */
};

struct seal {
    unsigned char key[32]; /* of this daemon's life */
    struct seal_used used[SEAL_USED_MAX];
};

void seal_init(struct seal *s);
/* What a seal is bound to: whom the request speaks for and what it asks, so that the state of one
 * request cannot be given to another. */
struct seal_bond {
    const char *agent; /* NULL for nobody in particular */
    const char *method;
    const char *name;   /* of the tool or prompt; NULL if none */
    const json_t *args; /* NULL if none */
};
/* The text, which the caller frees. `state` is borrowed. NULL if it is too large. Times are of a
 * clock that does not go back. */
char *seal_close(const struct seal *s, const struct seal_bond *bond, const json_t *state,
                 uint64_t now_ms);
/* The state, which the caller owns; NULL with why not. A seal opens once. */
json_t *seal_open(struct seal *s, const struct seal_bond *bond, const char *text, uint64_t now_ms,
                  const char **ret_why);
