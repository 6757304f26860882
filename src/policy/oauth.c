/* Tokens, checked against the configuration and the keys of their issuers. Daemon; on the loop: a
 * check takes some 30 µs (RS256) to 130 µs (EdDSA) and waits for nothing.
 *
 * The order: what costs nothing first (size, form, names), then the signature, then what the signed
 * claims say. The key is looked for among those of the issuer that the token names, never among
 * all, so no issuer can speak for another. */
#include "policy/oauth.h"

#include "base/buf.h"
#include "policy/oauth_keys.h"
#include "wire/base64.h"
#include "wire/json.h"

#include <math.h>
#include <strings.h>

enum { SIGNATURE_MAX = OAUTH_RSA_BITS_MAX / 8 };

struct oauth_issuer {
    const struct config_issuer *says;
    struct oauth_keys keys;
};

struct oauth {
    uint32_t leeway_secs;
    struct oauth_issuer *issuers;
    size_t n_issuers;
};

/* ---- life ------------------------------------------------------------------------------------ */

int oauth_load(const struct config *config, struct oauth **ret_oauth, struct err *e)
{
    *ret_oauth = NULL;
    size_t n = config->oauth.n_issuers;
    if (n == 0)
        return 0;
    if (crypto_load(e) < 0)
        return -1;
    struct oauth *o = mem_alloc(sizeof(*o));
    *o = (struct oauth){.leeway_secs = config->oauth.leeway_secs,
                        .issuers = mem_alloc(n * sizeof(*o->issuers))};
    for (size_t i = 0; i < n; i++) {
        struct oauth_issuer *issuer = &o->issuers[o->n_issuers++];
        issuer->says = &config->oauth.issuers[i];
        for (const char *const *path = issuer->says->keys; *path != NULL; path++) {
            if (oauth_keys_read(&issuer->keys, *path, issuer->says->algorithms, e) < 0) {
                int status = err_context(e, "the issuer \"%.64s\"", issuer->says->issuer);
                oauth_free(o);
                return status;
            }
        }
    }
    *ret_oauth = o;
    return 0;
}

void oauth_free(struct oauth *o)
{
    if (o == NULL)
        return;
    for (size_t i = 0; i < o->n_issuers; i++)
        oauth_keys_free(&o->issuers[i].keys);
    free(o->issuers);
    free(o);
}

const char *const *oauth_usual_scopes(const struct oauth *o)
{
    for (size_t i = 0; i < o->n_issuers; i++)
        if (o->issuers[i].says->scopes[0] != NULL)
            return o->issuers[i].says->scopes;
    return o->issuers[0].says->scopes;
}

const char *oauth_resource(const struct config *config, const char *host, struct arena *arena)
{
    static const char letters[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-.:[]";
    if (config->oauth.resource != NULL)
        return config->oauth.resource;
    /* It is written into a header and into links: what is no host's name is not repeated. */
    bool is_host = host != NULL && host[0] != '\0' && host[strspn(host, letters)] == '\0';
    return arena_printf(arena, "http://%s", is_host ? host : "localhost");
}

/* ---- the parts of a token -------------------------------------------------------------------- */

struct oauth_token {
    const char *text;  /* as it came */
    size_t signed_len; /* of the text: header, dot, claims */
    json_t *header, *claims;
    struct buf signature;
};

static int oauth_refuse(struct err *e, const char *why)
{
    err_set(e, ERR_UNAUTHORIZED, "the token is not taken: %s", why);
    return err_advise(e, "Get a new one from the authorization server, for this server; the API "
                         "key goes as well.");
}

static json_t *oauth_read_part(const char *text, size_t len)
{
    struct err ignored;
    json_t *object = NULL;
    _buf_ struct buf json = BUF_INIT(OAUTH_TOKEN_MAX);
    if (!base64_decode_url(&json, text, len) ||
        json_read_object(buf_str(&json), json.len, &object, &ignored) < 0)
        return NULL;
    return object;
}

static int oauth_token_read(struct oauth_token *t, const char *text, size_t len, struct err *e)
{
    *t = (struct oauth_token){.text = text, .signature = BUF_INIT(SIGNATURE_MAX)};
    if (len > OAUTH_TOKEN_MAX)
        return oauth_refuse(e, "it has more than 8192 bytes");
    const char *first = memchr(text, '.', len);
    const char *second =
        first != NULL ? memchr(first + 1, '.', len - (size_t)(first + 1 - text)) : NULL;
    if (second == NULL)
        return oauth_refuse(e, "it is neither the API key nor a JSON Web Token");
    t->signed_len = (size_t)(second - text);
    t->header = oauth_read_part(text, (size_t)(first - text));
    t->claims = oauth_read_part(first + 1, (size_t)(second - first - 1));
    if (t->header == NULL || t->claims == NULL ||
        !base64_decode_url(&t->signature, second + 1, len - t->signed_len - 1))
        return oauth_refuse(e, "it is not a well-formed JSON Web Token");
    return 0;
}

static const char *oauth_text(const json_t *object, const char *name)
{
    return json_string_value(json_object_get(object, name));
}

/* ---- the signature --------------------------------------------------------------------------- */

static bool oauth_is_signed_by(const struct oauth_token *t, const struct oauth_key *key)
{
    EVP_MD_CTX *ctx = crypto.EVP_MD_CTX_new();
    const EVP_MD *digest = key->algorithm == CONFIG_RS256 ? crypto.EVP_sha256() : NULL;
    bool is_genuine = ctx != NULL &&
                      crypto.EVP_DigestVerifyInit(ctx, NULL, digest, NULL, key->pkey) == 1 &&
                      crypto.EVP_DigestVerify(ctx, (const unsigned char *)buf_str(&t->signature),
                                              t->signature.len, (const unsigned char *)t->text,
                                              t->signed_len) == 1;
    crypto.EVP_MD_CTX_free(ctx);
    crypto.ERR_clear_error();
    return is_genuine;
}

/* A token that names its key is checked by keys of that name and by those that have none. */
static int oauth_check_signature(const struct oauth_token *t, const struct oauth_issuer *issuer,
                                 struct err *e)
{
    const char *kid = oauth_text(t->header, "kid");
    const char *alg = oauth_text(t->header, "alg");
    unsigned algorithm = 0; /* none that is used here, "none" and HMAC among them */
    if (alg != NULL && strcmp(alg, "EdDSA") == 0)
        algorithm = CONFIG_EDDSA;
    else if (alg != NULL && strcmp(alg, "RS256") == 0)
        algorithm = CONFIG_RS256;
    if (!(algorithm & issuer->says->algorithms))
        return oauth_refuse(e, "its algorithm is not one that its issuer uses");
    for (size_t i = 0; i < issuer->keys.n; i++) {
        const struct oauth_key *key = &issuer->keys.list[i];
        bool is_meant = kid == NULL || key->kid == NULL || strcmp(kid, key->kid) == 0;
        if (key->algorithm == algorithm && is_meant && oauth_is_signed_by(t, key))
            return 0;
    }
    return oauth_refuse(e, "no key of its issuer has signed it");
}

/* What the header asks for beyond a plain token is refused, not overlooked (RFC 7515, 4.1.11). */
static int oauth_check_header(const struct oauth_token *t, struct err *e)
{
    const json_t *typ = json_object_get(t->header, "typ");
    const char *type = json_string_value(typ);
    const json_t *kid = json_object_get(t->header, "kid");
    if (json_object_get(t->header, "crit") != NULL)
        return oauth_refuse(e, "its header has extensions that are not known here");
    if (typ != NULL &&
        (type == NULL || (strcasecmp(type, "JWT") != 0 && strcasecmp(type, "at+jwt") != 0 &&
                          strcasecmp(type, "application/at+jwt") != 0)))
        return oauth_refuse(e, "it is not a token for access");
    if (kid != NULL && !json_is_string(kid))
        return oauth_refuse(e, "it is not a well-formed JSON Web Token");
    return 0;
}

/* ---- the claims ------------------------------------------------------------------------------ */

static bool oauth_is_among(const char *name, const char *const *names)
{
    for (; name != NULL && *names != NULL; names++)
        if (strcmp(name, *names) == 0)
            return true;
    return false;
}

static bool oauth_is_for_us(const json_t *aud, const char *const *audiences)
{
    if (json_is_string(aud))
        return oauth_is_among(json_string_value(aud), audiences);
    if (json_array_size(aud) > OAUTH_NAMES_MAX)
        return false;
    for (size_t i = 0; i < json_array_size(aud); i++)
        if (oauth_is_among(json_string_value(json_array_get(aud, i)), audiences))
            return true;
    return false;
}

/* Seconds since the epoch, perhaps with a fraction. False: it is there and is none. */
static bool oauth_time(const json_t *claims, const char *name, bool *ret_is_there, double *ret)
{
    const json_t *value = json_object_get(claims, name);
    *ret_is_there = value != NULL;
    *ret = json_number_value(value);
    return value == NULL || (json_is_number(value) && *ret >= 0 && isfinite(*ret));
}

static int oauth_check_times(const struct oauth *o, const json_t *claims, uint64_t now_secs,
                             struct err *e)
{
    bool has_exp, has_nbf, has_iat;
    double exp, nbf, iat, now = (double)now_secs, leeway = o->leeway_secs;
    if (!oauth_time(claims, "exp", &has_exp, &exp) || !oauth_time(claims, "nbf", &has_nbf, &nbf) ||
        !oauth_time(claims, "iat", &has_iat, &iat))
        return oauth_refuse(e, "its times are not numbers of seconds");
    if (!has_exp)
        return oauth_refuse(e, "it does not say when it expires");
    if (now >= exp + leeway)
        return oauth_refuse(e, "it has expired");
    if ((has_nbf && now + leeway < nbf) || (has_iat && now + leeway < iat))
        return oauth_refuse(e, "it is not valid yet");
    return 0;
}

/* Whether a text of words with one blank between them has this one. */
static bool oauth_has_word(const char *words, const char *word)
{
    size_t len = strlen(word);
    for (const char *at = words; at != NULL; at = strchr(at, ' ')) {
        at += *at == ' ';
        if (strncmp(at, word, len) == 0 && (at[len] == ' ' || at[len] == '\0'))
            return true;
    }
    return false;
}

/* "scope" is a text (RFC 8693); some servers send "scp", a text or a list. */
static bool oauth_has_scope(const json_t *claims, const char *scope)
{
    static const char *const members[] = {"scope", "scp"};
    for (size_t i = 0; i < ARRAY_LEN(members); i++) {
        const json_t *value = json_object_get(claims, members[i]);
        if (json_is_string(value) && oauth_has_word(json_string_value(value), scope))
            return true;
        for (size_t k = 0; k < MIN(json_array_size(value), (size_t)OAUTH_NAMES_MAX); k++) {
            const char *item = json_string_value(json_array_get(value, k));
            if (item != NULL && strcmp(item, scope) == 0)
                return true;
        }
    }
    return false;
}

static int oauth_read_agent(const struct config_issuer *says, const json_t *claims,
                            struct arena *arena, const char **ret_agent, struct err *e)
{
    const json_t *value =
        says->agent_claim != NULL ? json_object_get(claims, says->agent_claim) : NULL;
    const char *name = json_string_value(value);
    if (value != NULL && (name == NULL || name[0] == '\0' || strlen(name) > CONFIG_AGENT_BYTES))
        return oauth_refuse(e, "the claim that names its agent is no name");
    if (value == NULL && says->agent == NULL)
        return oauth_refuse(e, "it does not have the claim that names its agent");
    *ret_agent = arena_strdup(arena, name != NULL ? name : says->agent);
    return 0;
}

/* ---- the whole ------------------------------------------------------------------------------- */

static int oauth_check_token(const struct oauth *o, const struct oauth_token *t, uint64_t now_secs,
                             struct arena *arena, struct oauth_caller *ret_caller,
                             const char *const **ret_scopes, struct err *e)
{
    struct oauth_caller caller = {0};
    const struct oauth_issuer *issuer = NULL;
    const char *name = oauth_text(t->claims, "iss");
    for (size_t i = 0; name != NULL && issuer == NULL && i < o->n_issuers; i++)
        if (strcmp(o->issuers[i].says->issuer, name) == 0)
            issuer = &o->issuers[i];
    if (issuer == NULL)
        return oauth_refuse(e, "its issuer is not one of the configuration's");
    *ret_scopes = issuer->says->scopes;
    if (!oauth_is_for_us(json_object_get(t->claims, "aud"), issuer->says->audiences))
        return oauth_refuse(e, "it was made for another server (its \"aud\")");
    if (oauth_check_header(t, e) < 0 || oauth_check_signature(t, issuer, e) < 0 ||
        oauth_check_times(o, t->claims, now_secs, e) < 0 ||
        oauth_read_agent(issuer->says, t->claims, arena, &caller.agent, e) < 0)
        return -1;
    for (const char *const *scope = issuer->says->scopes; *scope != NULL; scope++) {
        if (oauth_has_scope(t->claims, *scope))
            continue;
        err_set(e, ERR_FORBIDDEN, "the token lacks the scope \"%s\"", *scope);
        return err_advise(e, "Ask the authorization server for a token with this scope.");
    }
    const char *subject = oauth_text(t->claims, "sub");
    caller.issuer = arena_strdup(arena, issuer->says->issuer);
    caller.subject = subject != NULL ? arena_strdup(arena, subject) : NULL;
    *ret_caller = caller;
    return 0;
}

int oauth_check(const struct oauth *o, const char *token, size_t len, uint64_t now_secs,
                struct arena *arena, struct oauth_caller *ret_caller,
                const char *const **ret_scopes, struct err *e)
{
    struct oauth_token t;
    *ret_scopes = oauth_usual_scopes(o);
    int r = oauth_token_read(&t, token, len, e);
    if (r == 0)
        r = oauth_check_token(o, &t, now_secs, arena, ret_caller, ret_scopes, e);
    json_decref(t.header);
    json_decref(t.claims);
    buf_free(&t.signature);
    return r;
}
