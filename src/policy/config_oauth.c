/* `oauth` of the configuration: who makes tokens, and what they must say. As config.c. Daemon, and
 * `cella config`. */
#include "policy/config_oauth.h"

#include <limits.h>

enum { LEEWAY_MAX_SECS = 3600, TEXT_MAX_BYTES = 512, CLAIM_MAX_BYTES = 64 };

/* ---- lists ----------------------------------------------------------------------------------- */

static int config_oauth_read_item(struct reader *r, const struct reader_field *f,
                                  const char **items, size_t *n)
{
    if (reader_expect_text(r, f->name, (size_t)f->max) < 0)
        return -1;
    const char *s = reader_scalar(r);
    if (strcmp(f->name, "keys") == 0 && s[0] != '/') {
        reader_fail(r, "keys: \"%.*s\" is not an absolute path", reader_shown(r), s);
        return err_advise(r->e, "Write the whole path of a JWK set or a PEM file.");
    }
    /* Words of a header: a scope (RFC 6749, 3.3) has neither blanks nor quotes. */
    if (strcmp(f->name, "scopes") == 0 && strpbrk(s, " \"\\") != NULL) {
        reader_fail(r, "scopes: \"%.*s\" is not one scope", reader_shown(r), s);
        return err_advise(r->e, "Write a list of words: [read, write].");
    }
    if (*n == CONFIG_ISSUER_LIST_MAX) {
        reader_fail(r, "%s has more than %d entries", f->name, CONFIG_ISSUER_LIST_MAX);
        return err_advise(r->e, "Remove those that are not used.");
    }
    items[(*n)++] = reader_keep(r);
    return 0;
}

/* A list of texts of at most `max` bytes, or one text. */
static int config_oauth_read_texts(struct reader *r, const struct reader_field *f, void *object)
{
    const char *items[CONFIG_ISSUER_LIST_MAX + 1] = {NULL};
    size_t n = 0;
    int more = 0;
    if (r->event.type == YAML_SEQUENCE_START_EVENT) {
        while ((more = reader_next_item(r)) > 0)
            if (config_oauth_read_item(r, f, items, &n) < 0)
                return -1;
    } else if (config_oauth_read_item(r, f, items, &n) < 0) {
        return -1;
    }
    if (more < 0)
        return -1;
    *(const char *const **)(void *)((char *)object + f->offset) =
        arena_copy(&r->config->arena, items, (n + 1) * sizeof(*items));
    return 0;
}

static int config_oauth_read_algorithms(struct reader *r, const struct reader_field *f,
                                        void *object)
{
    struct config_issuer *issuer = object;
    if (reader_expect_list(r, f->name, "[EdDSA, RS256], or one of them") < 0)
        return -1;
    issuer->algorithms = 0;
    int more;
    while ((more = reader_next_item(r)) > 0) {
        if (reader_expect_text(r, "an item of algorithms", READER_NAME_MAX) < 0)
            return -1;
        if (strcmp(reader_scalar(r), "EdDSA") == 0) {
            issuer->algorithms |= CONFIG_EDDSA;
        } else if (strcmp(reader_scalar(r), "RS256") == 0) {
            issuer->algorithms |= CONFIG_RS256;
        } else {
            reader_fail(r, "algorithms: \"%.*s\" is not possible here", reader_shown(r),
                        reader_scalar(r));
            return err_advise(r->e, "Possible here: EdDSA, RS256.");
        }
    }
    if (more < 0 || issuer->algorithms != 0)
        return more;
    reader_fail(r, "algorithms is empty");
    return err_advise(r->e, "Name EdDSA or RS256, or leave it out for both.");
}

/* ---- issuers --------------------------------------------------------------------------------- */

static int config_oauth_read_text(struct reader *r, const struct reader_field *f, void *object)
{
    if (reader_expect_text(r, f->name, (size_t)f->max) < 0)
        return -1;
    *(const char **)(void *)((char *)object + f->offset) = reader_keep(r);
    return 0;
}

static const struct reader_field issuer_fields[] = {
    {"issuer", config_oauth_read_text, offsetof(struct config_issuer, issuer), 0, TEXT_MAX_BYTES},
    {"audience", config_oauth_read_texts, offsetof(struct config_issuer, audiences), 0,
     TEXT_MAX_BYTES},
    {"keys", config_oauth_read_texts, offsetof(struct config_issuer, keys), 0, PATH_MAX - 1},
    {"algorithms", config_oauth_read_algorithms, 0, 0, 0},
    {"scopes", config_oauth_read_texts, offsetof(struct config_issuer, scopes), 0, CLAIM_MAX_BYTES},
    {"agent_claim", config_oauth_read_text, offsetof(struct config_issuer, agent_claim), 0,
     CLAIM_MAX_BYTES},
    {"agent", reader_id, offsetof(struct config_issuer, agent), 0, 0},
    {NULL, NULL, 0, 0, 0},
};

static int config_oauth_check_issuer(struct reader *r, const struct config_oauth *oauth,
                                     const struct config_issuer *issuer, int line)
{
    const char *missing = issuer->issuer == NULL         ? "issuer"
                          : issuer->audiences[0] == NULL ? "audience"
                          : issuer->keys[0] == NULL      ? "keys"
                                                         : NULL;
    if (missing != NULL) {
        reader_fail_at(r, line, "an issuer has no %s", missing);
        return err_advise(r->e, "Write - {issuer: TEXT, audience: TEXT, keys: [FILE]}.");
    }
    for (size_t i = 0; i < oauth->n_issuers; i++) {
        if (strcmp(oauth->issuers[i].issuer, issuer->issuer) != 0)
            continue;
        reader_fail_at(r, line, "the issuer \"%.64s\" is given twice", issuer->issuer);
        return err_advise(r->e, "Keep one of the two; it may have several keys and audiences.");
    }
    return 0;
}

static int config_oauth_read_issuer(struct reader *r, struct config_oauth *oauth)
{
    static const char *const none[] = {NULL};
    struct config_issuer issuer = {
        .audiences = none, .keys = none, .scopes = none, .algorithms = CONFIG_EDDSA | CONFIG_RS256};
    int line = reader_line(r);
    if (oauth->n_issuers == CONFIG_ISSUERS_MAX) {
        reader_fail(r, "more than %d issuers", CONFIG_ISSUERS_MAX);
        return err_advise(r->e, "Remove those that are not used.");
    }
    if (reader_mapping(r, "an item of issuers", issuer_fields, &issuer) < 0 ||
        config_oauth_check_issuer(r, oauth, &issuer, line) < 0)
        return -1;
    if (issuer.agent == NULL && issuer.agent_claim == NULL)
        issuer.agent = CONFIG_DEFAULT_AGENT;
    oauth->issuers[oauth->n_issuers++] = issuer;
    return 0;
}

static int config_oauth_read_issuers(struct reader *r, const struct reader_field *f, void *object)
{
    struct config_oauth *oauth = object;
    if (reader_expect_list(r, f->name, "[{issuer: TEXT, audience: TEXT, keys: [FILE]}]") < 0)
        return -1;
    oauth->issuers = arena_alloc(&r->config->arena, CONFIG_ISSUERS_MAX * sizeof(*oauth->issuers));
    int more;
    while ((more = reader_next_item(r)) > 0)
        if (config_oauth_read_issuer(r, oauth) < 0)
            return -1;
    return more;
}

/* ---- the whole ------------------------------------------------------------------------------- */

/* A scheme, a host and perhaps a port: paths of the server are put after it, and it is written
 * into headers. */
static int config_oauth_read_resource(struct reader *r, const struct reader_field *f, void *object)
{
    static const char letters[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-.:[]";
    if (reader_expect_text(r, f->name, TEXT_MAX_BYTES) < 0)
        return -1;
    const char *s = reader_scalar(r);
    size_t scheme = strncmp(s, "https://", 8) == 0 ? 8 : strncmp(s, "http://", 7) == 0 ? 7 : 0;
    if (scheme == 0 || s[scheme] == '\0' || s[scheme + strspn(s + scheme, letters)] != '\0') {
        reader_fail(r, "resource: \"%.*s\" is not a server's URL", reader_shown(r), s);
        return err_advise(r->e, "Write https://HOST or https://HOST:PORT, without a path.");
    }
    ((struct config_oauth *)object)->resource = reader_keep(r);
    return 0;
}

static const struct reader_field oauth_fields[] = {
    {"resource", config_oauth_read_resource, 0, 0, 0},
    {"leeway_secs", reader_u32, offsetof(struct config_oauth, leeway_secs), 0, LEEWAY_MAX_SECS},
    {"issuers", config_oauth_read_issuers, 0, 0, 0},
    {NULL, NULL, 0, 0, 0},
};

int config_read_oauth(struct reader *r, const struct reader_field *f, void *object)
{
    return reader_mapping(r, f->name, oauth_fields, (char *)object + f->offset);
}
