/* Public keys of issuers, from files. Daemon at its start and on SIGHUP, and `cella config`. */
#include "policy/oauth_keys.h"

#include "base/fd.h"
#include "wire/base64.h"
#include "wire/json.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

enum { ED25519_BYTES = 32, NUMBER_BYTES = OAUTH_RSA_BITS_MAX / 8 };

static int oauth_keys_refuse(struct err *e, const char *path, const char *why, const char *remedy)
{
    crypto.ERR_clear_error();
    err_set(e, ERR_INVALID, "the key file %.256s is not used: %s", path, why);
    return err_advise(e, "%s", remedy);
}

/* ---- one key --------------------------------------------------------------------------------- */

/* Takes over `pkey`. 0: not one for these algorithms. */
static int oauth_keys_add(struct oauth_keys *keys, EVP_PKEY *pkey, const char *kid,
                          unsigned algorithms, const char *path, struct err *e)
{
    enum config_algorithm algorithm =
        crypto.EVP_PKEY_is_a(pkey, "RSA") ? CONFIG_RS256 : CONFIG_EDDSA;
    const char *why = NULL;
    bool is_used = algorithm & algorithms &&
                   (algorithm == CONFIG_RS256 || crypto.EVP_PKEY_is_a(pkey, "ED25519"));
    int bits = crypto.EVP_PKEY_get_bits(pkey);
    if (is_used && keys->n == OAUTH_KEYS_MAX)
        why = "the issuer has more than 64 keys";
    else if (is_used && algorithm == CONFIG_RS256 &&
             (bits < OAUTH_RSA_BITS_MIN || bits > OAUTH_RSA_BITS_MAX))
        why = "an RSA key has fewer than 2048 or more than 8192 bits";
    if (!is_used || why != NULL) {
        crypto.EVP_PKEY_free(pkey);
        return why == NULL ? 0
                           : oauth_keys_refuse(e, path, why, "Remove that key, or use another.");
    }
    keys->list[keys->n++] = (struct oauth_key){
        .pkey = pkey, .algorithm = algorithm, .kid = kid != NULL ? mem_strdup(kid) : NULL};
    return 1;
}

/* ---- JWK ------------------------------------------------------------------------------------- */

static bool oauth_keys_number(const json_t *jwk, const char *name, struct buf *bytes)
{
    const char *text = json_string_value(json_object_get(jwk, name));
    return text != NULL && base64_decode_url(bytes, text, strlen(text)) && bytes->len > 0;
}

static EVP_PKEY *oauth_keys_make_rsa(const json_t *jwk)
{
    _buf_ struct buf n = BUF_INIT(NUMBER_BYTES + 1), exponent = BUF_INIT(8);
    EVP_PKEY *pkey = NULL;
    if (!oauth_keys_number(jwk, "n", &n) || !oauth_keys_number(jwk, "e", &exponent))
        return NULL;
    BIGNUM *bn = crypto.BN_bin2bn((unsigned char *)n.data, (int)n.len, NULL);
    BIGNUM *be = crypto.BN_bin2bn((unsigned char *)exponent.data, (int)exponent.len, NULL);
    OSSL_PARAM_BLD *build = crypto.OSSL_PARAM_BLD_new();
    OSSL_PARAM *params = NULL;
    if (bn != NULL && be != NULL && crypto.BN_is_odd(bn) && crypto.BN_is_odd(be) &&
        !crypto.BN_is_one(be) && build != NULL &&
        crypto.OSSL_PARAM_BLD_push_BN(build, OSSL_PKEY_PARAM_RSA_N, bn) == 1 &&
        crypto.OSSL_PARAM_BLD_push_BN(build, OSSL_PKEY_PARAM_RSA_E, be) == 1)
        params = crypto.OSSL_PARAM_BLD_to_param(build);
    EVP_PKEY_CTX *ctx =
        params != NULL ? crypto.EVP_PKEY_CTX_new_from_name(NULL, "RSA", NULL) : NULL;
    if (ctx == NULL || crypto.EVP_PKEY_fromdata_init(ctx) != 1 ||
        crypto.EVP_PKEY_fromdata(ctx, &pkey, EVP_PKEY_PUBLIC_KEY, params) != 1)
        pkey = NULL;
    crypto.EVP_PKEY_CTX_free(ctx);
    crypto.OSSL_PARAM_free(params);
    crypto.OSSL_PARAM_BLD_free(build);
    crypto.BN_free(bn);
    crypto.BN_free(be);
    return pkey;
}

static EVP_PKEY *oauth_keys_make_ed25519(const json_t *jwk)
{
    _buf_ struct buf x = BUF_INIT(ED25519_BYTES);
    if (!oauth_keys_number(jwk, "x", &x) || x.len != ED25519_BYTES)
        return NULL;
    return crypto.EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, NULL, (unsigned char *)x.data,
                                              x.len);
}

static bool oauth_keys_is(const json_t *jwk, const char *name, const char *value)
{
    const char *text = json_string_value(json_object_get(jwk, name));
    return text != NULL && strcmp(text, value) == 0;
}

/* Whether the key says that it is for something else than signatures of this kind. */
static bool oauth_keys_is_for_others(const json_t *jwk, const char *alg)
{
    const json_t *use = json_object_get(jwk, "use"), *ops = json_object_get(jwk, "key_ops");
    if ((use != NULL && !oauth_keys_is(jwk, "use", "sig")) ||
        (json_object_get(jwk, "alg") != NULL && !oauth_keys_is(jwk, "alg", alg)))
        return true;
    bool verifies = ops == NULL;
    for (size_t i = 0; i < json_array_size(ops); i++) {
        const char *op = json_string_value(json_array_get(ops, i));
        verifies |= op != NULL && strcmp(op, "verify") == 0;
    }
    return !verifies;
}

/* 0: a key of another kind, which other readers of the file may want. */
static int oauth_keys_read_jwk(struct oauth_keys *keys, const json_t *jwk, unsigned algorithms,
                               const char *path, struct err *e)
{
    const char *kid = json_string_value(json_object_get(jwk, "kid"));
    bool is_rsa = oauth_keys_is(jwk, "kty", "RSA");
    bool is_ed25519 = oauth_keys_is(jwk, "kty", "OKP") && oauth_keys_is(jwk, "crv", "Ed25519");
    if (json_object_get(jwk, "d") != NULL || oauth_keys_is(jwk, "kty", "oct"))
        return oauth_keys_refuse(e, path, "it has a private key",
                                 "Write the public ones only: whoever reads this file could sign "
                                 "tokens. That key should be replaced.");
    if ((!is_rsa && !is_ed25519) || oauth_keys_is_for_others(jwk, is_rsa ? "RS256" : "EdDSA"))
        return 0;
    if (kid != NULL && strlen(kid) > OAUTH_KID_MAX)
        return oauth_keys_refuse(e, path, "a \"kid\" has more than 256 bytes",
                                 "Give the key a shorter name.");
    EVP_PKEY *pkey = is_rsa ? oauth_keys_make_rsa(jwk) : oauth_keys_make_ed25519(jwk);
    if (pkey == NULL)
        return oauth_keys_refuse(e, path, "a key in it is damaged",
                                 "Get the issuer's JWK set again, whole.");
    return oauth_keys_add(keys, pkey, kid, algorithms, path, e);
}

/* A set, or one key by itself. */
static int oauth_keys_read_json(struct oauth_keys *keys, const char *text, size_t len,
                                unsigned algorithms, const char *path, struct err *e)
{
    _json_ json_t *object = NULL;
    if (json_read_object(text, len, &object, e) < 0)
        return err_context(e, "the key file %.256s", path);
    const json_t *set = json_object_get(object, "keys");
    if (!json_is_array(set))
        return oauth_keys_read_jwk(keys, object, algorithms, path, e);
    int n = 0;
    for (size_t i = 0; i < json_array_size(set); i++) {
        int r = oauth_keys_read_jwk(keys, json_array_get(set, i), algorithms, path, e);
        if (r < 0)
            return -1;
        n += r;
    }
    return n;
}

/* ---- PEM ------------------------------------------------------------------------------------- */

static int oauth_keys_read_pem(struct oauth_keys *keys, const char *text, size_t len,
                               unsigned algorithms, const char *path, struct err *e)
{
    if (memmem(text, len, "PRIVATE KEY-----", 16) != NULL)
        return oauth_keys_refuse(e, path, "it has a private key",
                                 "Write the public one only (openssl pkey -pubout). That key "
                                 "should be replaced.");
    static const char begin[] = "-----BEGIN PUBLIC KEY-----";
    BIO *bio = crypto.BIO_new_mem_buf(text, (int)len);
    int n = 0, r = 0;
    for (const char *at = text; r >= 0 && (at = strstr(at, begin)) != NULL; at++) {
        EVP_PKEY *pkey = crypto.PEM_read_bio_PUBKEY(bio, NULL, NULL, NULL);
        r = pkey != NULL ? oauth_keys_add(keys, pkey, NULL, algorithms, path, e)
                         : oauth_keys_refuse(e, path, "a key in it is damaged",
                                             "Get it again, whole (openssl pkey -pubout).");
        n += r;
    }
    crypto.BIO_free(bio);
    return r < 0 ? -1 : n;
}

/* ---- files ----------------------------------------------------------------------------------- */

/* Whoever can write the file can make tokens. */
static int oauth_keys_check_file(const char *path, struct err *e)
{
    struct stat st;
    _fd_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0 || fstat(fd, &st) < 0) {
        err_errno(e, ERR_INVALID, errno, "cannot read the key file %.256s", path);
        return err_advise(e, "Check the path and that this user (%u) may read it.", geteuid());
    }
    if (!S_ISREG(st.st_mode))
        return oauth_keys_refuse(e, path, "it is not a regular file", "Name a file.");
    if ((st.st_uid != geteuid() && st.st_uid != 0) || (st.st_mode & 022) != 0)
        return oauth_keys_refuse(e, path, "other users may write it",
                                 "It must belong to root or to the user of the daemon; its mode "
                                 "0644 or less.");
    return 0;
}

int oauth_keys_read(struct oauth_keys *keys, const char *path, unsigned algorithms, struct err *e)
{
    _free_ char *text = NULL;
    size_t len;
    if (oauth_keys_check_file(path, e) < 0)
        return -1;
    int r = fd_read_file(AT_FDCWD, path, OAUTH_KEYS_FILE_MAX, &text, &len);
    if (r < 0) {
        err_errno(e, ERR_INVALID, r, "reading the key file %.256s", path);
        return err_advise(e, "It may have at most %d bytes.", OAUTH_KEYS_FILE_MAX);
    }
    size_t blank = strspn(text, " \t\r\n");
    int n = text[blank] == '{' ? oauth_keys_read_json(keys, text, len, algorithms, path, e)
                               : oauth_keys_read_pem(keys, text, len, algorithms, path, e);
    if (n == 0)
        return oauth_keys_refuse(e, path, "it has no key that could check a token",
                                 "A JWK set or PEM with Ed25519 (EdDSA) or RSA (RS256) keys is "
                                 "needed, of an algorithm that the issuer's `algorithms` allow.");
    return MIN(n, 0);
}

void oauth_keys_free(struct oauth_keys *keys)
{
    for (size_t i = 0; i < keys->n; i++) {
        crypto.EVP_PKEY_free(keys->list[i].pkey);
        free(keys->list[i].kid);
    }
    keys->n = 0;
}
