/* Credentials in what is shown: "[REDACTED:category]" stands where one was. Of a name with a value,
 * a header and an address only the secret part goes: "DB_PASSWORD=[REDACTED:env_secret]",
 * "Bearer [REDACTED:bearer_token]", "postgres://[REDACTED:connection_string]".
 *
 *   aws_access_key       AKIA…, ASIA…
 *   anthropic_key        sk-ant-…
 *   openai_key           sk-proj-…, sk-svcacct-…, sk-admin-…, sk-…
 *   gcloud_key           AIza…
 *   github_pat           ghp_…
 *   github_oauth         gho_…
 *   github_app           ghu_…, ghs_…, ghr_…
 *   github_fine_grained  github_pat_…
 *   ssh_private_key      -----BEGIN … PRIVATE KEY----- up to its END; of SSH, TLS and PGP
 *   bearer_token         Bearer …, and JSON web tokens
 *   connection_string    scheme://user:password@…
 *   slack_token          xoxb-…, xoxp-…, xapp-…
 *   stripe_key           sk_live_…, sk_test_…, rk_live_…, rk_test_…
 *   env_secret           the value of a name like API_KEY, DB_PASSWORD, client_secret
 *
 * Text comes in chunks; how it is cut does not change the result. A pass is linear in time, and
 * what is held back is bounded: a chunk's end waits until it is known what it is the beginning of.
 */
#pragma once

#include "base/buf.h"

#include <jansson.h>

enum {
    REDACT_HELD_MAX = 4096,     /* bytes, that a redactor holds back */
    REDACT_KEY_MAX = 64 * 1024, /* bytes of a private key; what is longer is none */
};

struct redactor {
    struct buf held;     /* some bytes that have passed, then those that are held back */
    size_t at;           /* where those begin */
    int inside;          /* of what kind of secret the stream is, whose beginning was replaced */
    size_t inside_bytes; /* of a private key */
    size_t count;        /* secrets replaced so far */
};

void redactor_init(struct redactor *r);
void redactor_free(struct redactor *r);

/* Appends what is known by now. False if it did not fit into the buffer. */
bool redactor_add(struct redactor *r, const char *data, size_t len, struct buf *out);
/* The end of the text: appends the rest. Another text may begin afterwards; `count` stays. */
bool redactor_end(struct redactor *r, struct buf *out);

/* The texts of a typed output or an error, an object, in place; pictures are left alone. */
void redact_output(json_t *output);

/* A whole text at once. Returns how many secrets it had; 0: it was appended as it is. */
size_t redact_text(const char *text, size_t len, struct buf *out);
