/* What the configuration says of searching. Daemon; on the loop. */
#pragma once

#include "base/base.h"

#include <jansson.h>

enum { SEARCH_CORPORA_MAX = 64, SEARCH_CORPUS_NAME_MAX = 64 };

struct search_corpus {
    const char *name, *path; /* absolute */
};

/* At most one of the first three. Lists end with NULL. */
struct search_encoder_settings {
    const char *const *command; /* reads and writes what a NextPLAID server does */
    const char *http;           /* the URL of such a server's /encode */
    const char *openai;         /* the URL of /v1/embeddings */
    const char *model;          /* of `openai` */
    const char *const *headers; /* of requests */
};

struct search_settings {
    struct search_encoder_settings encoder;
    struct search_corpus *corpora;
    size_t n_corpora;
};

/* Copied; takes the place of what was configured before. */
void search_configure(const struct search_settings *settings);
/* {"command":[…]} or {"http"|"openai":URL,"model","headers"}; NULL if there is none. Borrowed. */
json_t *search_encoder_setting(void);
const char *search_corpus_path(const char *name); /* NULL if there is none */
