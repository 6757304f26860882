/* Tokens that OpenSSL made and signed here, taken and refused. */
#include "base/buf.h"
#include "policy/oauth.h"
#include "policy/oauth_keys.h"
#include "unit.h"
#include "wire/base64.h"

#include <fcntl.h>
#include <sys/stat.h>

enum { NOW = 1000000, LEEWAY = 60 };

static char folder[] = "/tmp/cella-unit-XXXXXX";
static EVP_PKEY *ed25519, *rsa, *other, *weak; /* weak: RSA of 1024 bits */
static struct config config;
static struct oauth *oauth;

/* ---- making them ----------------------------------------------------------------------------- */

static void append_url(struct buf *out, const void *data, size_t len)
{
    _buf_ struct buf text = BUF_INIT(64 * KIB);
    base64_encode(&text, data, len);
    for (size_t i = 0; i < text.len && text.data[i] != '='; i++)
        buf_append_char(out, text.data[i] == '+' ? '-' : text.data[i] == '/' ? '_' : text.data[i]);
}

static void write_file(const char *name, const char *text, mode_t mode)
{
    char path[128];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    unlink(path);
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    assert_true(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
    assert_int_equal(fchmod(fd, mode), 0);
    close(fd);
}

static char *public_pem(EVP_PKEY *key)
{
    char *text;
    BIO *bio = BIO_new(BIO_s_mem());
    PEM_write_bio_PUBKEY(bio, key);
    long len = BIO_get_mem_data(bio, &text);
    char *copy = mem_alloc((size_t)len + 1);
    memcpy(copy, text, (size_t)len);
    BIO_free(bio);
    return copy;
}

static void write_jwks(const char *name, const char *more)
{
    unsigned char x[32], bytes[512];
    size_t len = sizeof(x);
    BIGNUM *n = NULL;
    _buf_ struct buf text = BUF_INIT(64 * KIB);
    EVP_PKEY_get_raw_public_key(ed25519, x, &len);
    EVP_PKEY_get_bn_param(rsa, OSSL_PKEY_PARAM_RSA_N, &n);
    buf_append_str(&text, "{\"keys\":[{\"kty\":\"EC\",\"crv\":\"P-256\",\"x\":\"AA\",\"y\":\"AA\"},"
                          "{\"kty\":\"OKP\",\"crv\":\"Ed25519\",\"kid\":\"one\",\"x\":\"");
    append_url(&text, x, len);
    buf_append_str(&text, "\"},{\"kty\":\"RSA\",\"kid\":\"two\",\"use\":\"sig\",\"alg\":\"RS256\","
                          "\"key_ops\":[\"verify\"],\"e\":\"AQAB\",\"n\":\"");
    append_url(&text, bytes, (size_t)BN_bn2bin(n, bytes));
    buf_printf(&text, "\"}%s]}", more);
    BN_free(n);
    write_file(name, buf_str(&text), 0644);
}

/* HEADER.CLAIMS.SIGNATURE; the key signs by what it is. NULL if nobody signs. */
static const char *make_token(EVP_PKEY *key, const char *header, const char *claims)
{
    static struct buf token = BUF_INIT(64 * KIB);
    unsigned char signature[1024];
    size_t len = sizeof(signature);
    buf_clear(&token);
    append_url(&token, header, strlen(header));
    buf_append_char(&token, '.');
    append_url(&token, claims, strlen(claims));
    if (key != NULL) {
        EVP_MD_CTX *ctx = EVP_MD_CTX_new();
        bool is_rsa = EVP_PKEY_is_a(key, "RSA");
        assert_int_equal(EVP_DigestSignInit(ctx, NULL, is_rsa ? EVP_sha256() : NULL, NULL, key), 1);
        assert_int_equal(
            EVP_DigestSign(ctx, signature, &len, (unsigned char *)token.data, token.len), 1);
        EVP_MD_CTX_free(ctx);
    }
    buf_append_char(&token, '.');
    if (key != NULL)
        append_url(&token, signature, len);
    return buf_str(&token);
}

#define EDDSA "{\"alg\":\"EdDSA\"}"
#define RS256 "{\"alg\":\"RS256\",\"kid\":\"two\",\"typ\":\"at+jwt\"}"
#define CLAIMS(more)                                                                               \
    "{\"iss\":\"https://id\",\"aud\":\"us\",\"exp\":1000100,\"scope\":\"a run b\"" more "}"

static struct config parse(const char *text)
{
    struct config c;
    struct err e = {0};
    if (config_parse(text, strlen(text), "test.yaml", &c, &e) < 0)
        fail_msg("%s", e.message);
    return c;
}

static struct config parse_issuer(const char *more)
{
    char text[1024];
    snprintf(text, sizeof(text),
             "agents: [{id: ana, repl: {enabled: true}}]\n"
             "oauth: {leeway_secs: %d, issuers: [{issuer: https://id, audience: [us, we], "
             "keys: [%s/keys.jwks], scopes: [run]%s}, {issuer: other, audience: us, "
             "keys: %s/other.pem}]}",
             LEEWAY, folder, more, folder);
    return parse(text);
}

static int make_keys(void **state)
{
    (void)state;
    struct err e;
    if (mkdtemp(folder) == NULL)
        return -1;
    ed25519 = EVP_PKEY_Q_keygen(NULL, NULL, "ED25519");
    other = EVP_PKEY_Q_keygen(NULL, NULL, "ED25519");
    rsa = EVP_PKEY_Q_keygen(NULL, NULL, "RSA", (size_t)2048);
    weak = EVP_PKEY_Q_keygen(NULL, NULL, "RSA", (size_t)1024);
    _free_ char *pem = public_pem(other);
    write_file("other.pem", pem, 0644);
    write_jwks("keys.jwks", "");
    config = parse_issuer("");
    if (oauth_load(&config, &oauth, &e) < 0)
        fail_msg("%s", e.message);
    return 0;
}

static int remove_keys(void **state)
{
    (void)state;
    static const char *const names[] = {"keys.jwks", "other.pem", "bad"};
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        char path[128];
        snprintf(path, sizeof(path), "%s/%s", folder, names[i]);
        unlink(path);
    }
    oauth_free(oauth);
    config_free(&config);
    EVP_PKEY_free(ed25519);
    EVP_PKEY_free(other);
    EVP_PKEY_free(rsa);
    EVP_PKEY_free(weak);
    return rmdir(folder);
}

/* ---- taken and refused ----------------------------------------------------------------------- */

static int check_with(const struct oauth *o, const char *token, char agent[CONFIG_AGENT_BYTES + 1],
                      struct err *e)
{
    struct arena arena = {0};
    struct oauth_caller caller = {0};
    const char *const *scopes;
    int r = oauth_check(o, token, strlen(token), NOW, &arena, &caller, &scopes, e);
    assert_non_null(scopes);
    if (r == 0)
        snprintf(agent, CONFIG_AGENT_BYTES + 1, "%s", caller.agent);
    arena_free(&arena);
    return r;
}

static void is_taken(const char *token)
{
    struct err e;
    char agent[CONFIG_AGENT_BYTES + 1];
    if (check_with(oauth, token, agent, &e) < 0)
        fail_msg("%s: %s", token, e.message);
    assert_string_equal(agent, CONFIG_DEFAULT_AGENT);
}

static void is_refused(const char *token, const char *why)
{
    struct err e;
    char agent[CONFIG_AGENT_BYTES + 1];
    assert_int_equal(check_with(oauth, token, agent, &e), -1);
    assert_int_equal(e.code, ERR_UNAUTHORIZED);
    if (strstr(e.message, why) == NULL)
        fail_msg("%s, not %s", e.message, why);
    assert_true(e.advice[0] != '\0');
}

static void genuine_tokens_are_taken(void **state)
{
    (void)state;
    is_taken(make_token(ed25519, EDDSA, CLAIMS("")));
    is_taken(make_token(rsa, RS256, CLAIMS("")));
    is_taken(make_token(rsa, "{\"alg\":\"RS256\",\"typ\":\"JWT\"}", CLAIMS("")));
    is_taken(make_token(ed25519, EDDSA, CLAIMS(",\"nbf\":1000060,\"iat\":1000059.5")));
    is_taken(make_token(ed25519, EDDSA,
                        "{\"iss\":\"https://id\",\"aud\":[\"they\",\"we\"],\"exp\":999940.5,"
                        "\"scp\":[\"x\",\"run\"]}"));
    is_taken(make_token(other, EDDSA, "{\"iss\":\"other\",\"aud\":\"us\",\"exp\":1000100}"));
}

static void forged_tokens_are_refused(void **state)
{
    (void)state;
    static const char unsigned_[] = "no key of its issuer has signed it";
    static const char algorithm[] = "its algorithm is not one that its issuer uses";
    is_refused(make_token(NULL, "{\"alg\":\"none\"}", CLAIMS("")), algorithm);
    is_refused(make_token(NULL, "{\"alg\":\"None\"}", CLAIMS("")), algorithm);
    is_refused(make_token(NULL, "{}", CLAIMS("")), algorithm);
    is_refused(make_token(ed25519, "{\"alg\":\"HS256\"}", CLAIMS("")), algorithm);
    is_refused(make_token(rsa, "{\"alg\":\"PS256\"}", CLAIMS("")), algorithm);
    is_refused(make_token(NULL, EDDSA, CLAIMS("")), unsigned_);
    is_refused(make_token(other, EDDSA, CLAIMS("")), unsigned_); /* another issuer's key */
    is_refused(make_token(ed25519, EDDSA, "{\"iss\":\"other\",\"aud\":\"us\",\"exp\":1000100}"),
               unsigned_);
    is_refused(make_token(rsa, EDDSA, CLAIMS("")), unsigned_);
    is_refused(make_token(ed25519, RS256, CLAIMS("")), unsigned_);
    is_refused(make_token(ed25519, "{\"alg\":\"EdDSA\",\"kid\":\"two\"}", CLAIMS("")), unsigned_);
    /* A key that the token brings along counts for nothing. */
    is_refused(make_token(other, "{\"alg\":\"EdDSA\",\"jwk\":{\"kty\":\"OKP\"},\"jku\":\"x\"}",
                          CLAIMS("")),
               unsigned_);
}

/* Each byte of a token counts. */
static void tampered_tokens_are_refused(void **state)
{
    (void)state;
    _free_ char *token = mem_strdup(make_token(ed25519, EDDSA, CLAIMS("")));
    char agent[CONFIG_AGENT_BYTES + 1];
    for (size_t i = 0; token[i] != '\0'; i++) {
        struct err e;
        char was = token[i];
        token[i] = was == 'A' ? 'B' : 'A';
        assert_int_equal(check_with(oauth, token, agent, &e), -1);
        assert_int_equal(e.code, ERR_UNAUTHORIZED);
        token[i] = was;
    }
    is_taken(token);
}

static void malformed_tokens_are_refused(void **state)
{
    (void)state;
    static const char form[] = "not a well-formed JSON Web Token";
    is_refused("", "neither the API key nor");
    is_refused("x", "neither the API key nor");
    is_refused("a.b", "neither the API key nor");
    is_refused("..", form);
    is_refused("a.b.c", form);
    is_refused("e30=.e30=.", form);
    is_refused("e30.e30.a.b", form);
    is_refused(make_token(ed25519, "[]", CLAIMS("")), form);
    is_refused(make_token(ed25519, EDDSA, "{\"iss\":1,\"iss\":2}"), form);
    is_refused(make_token(ed25519, EDDSA, "{\"iss\":\"\\u0000\"}"), form);
    is_refused(make_token(ed25519, "{\"alg\":\"EdDSA\",\"kid\":1}", CLAIMS("")), form);
    is_refused(make_token(ed25519, "{\"alg\":\"EdDSA\",\"crit\":[\"b64\"]}", CLAIMS("")),
               "extensions");
    is_refused(make_token(ed25519, "{\"alg\":\"EdDSA\",\"typ\":\"logout+jwt\"}", CLAIMS("")),
               "not a token for access");
    _free_ char *huge = mem_alloc(OAUTH_TOKEN_MAX + 2);
    memset(huge, 'A', OAUTH_TOKEN_MAX + 1);
    is_refused(huge, "8192 bytes");
}

static void claims_that_do_not_hold_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *claims, *why;
    } cases[] = {
        {"{\"aud\":\"us\",\"exp\":1000100}", "its issuer"},
        {"{\"iss\":\"https://id/\",\"aud\":\"us\",\"exp\":1000100}", "its issuer"},
        {"{\"iss\":[\"https://id\"],\"aud\":\"us\",\"exp\":1000100}", "its issuer"},
        {"{\"iss\":\"https://id\",\"exp\":1000100}", "another server"},
        {"{\"iss\":\"https://id\",\"aud\":\"them\",\"exp\":1000100}", "another server"},
        {"{\"iss\":\"https://id\",\"aud\":[],\"exp\":1000100}", "another server"},
        {"{\"iss\":\"https://id\",\"aud\":{\"us\":1},\"exp\":1000100}", "another server"},
        {"{\"iss\":\"https://id\",\"aud\":\"us\"}", "when it expires"},
        {"{\"iss\":\"https://id\",\"aud\":\"us\",\"exp\":\"1000100\"}", "not numbers"},
        {"{\"iss\":\"https://id\",\"aud\":\"us\",\"exp\":-1}", "not numbers"},
        {"{\"iss\":\"https://id\",\"aud\":\"us\",\"exp\":999940}", "expired"},
        {CLAIMS(",\"nbf\":1000061"), "not valid yet"},
        {CLAIMS(",\"iat\":1000061"), "not valid yet"},
        {CLAIMS(",\"nbf\":true"), "not numbers"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        is_refused(make_token(ed25519, EDDSA, cases[i].claims), cases[i].why);
}

static void a_scope_that_is_missing_is_another_refusal(void **state)
{
    (void)state;
    static const char *const scopes[] = {"\"\"", "\"ru\"", "\"runs\"", "\"Run a\"", "[]", "7"};
    for (size_t i = 0; i < ARRAY_LEN(scopes); i++) {
        struct err e;
        char claims[256], agent[CONFIG_AGENT_BYTES + 1];
        snprintf(claims, sizeof(claims),
                 "{\"iss\":\"https://id\",\"aud\":\"us\",\"exp\":1000100,\"scope\":%s}", scopes[i]);
        assert_int_equal(check_with(oauth, make_token(ed25519, EDDSA, claims), agent, &e), -1);
        assert_int_equal(e.code, ERR_FORBIDDEN);
        assert_non_null(strstr(e.message, "\"run\""));
    }
}

static void a_claim_names_the_agent(void **state)
{
    (void)state;
    struct err e;
    char agent[CONFIG_AGENT_BYTES + 1];
    struct oauth *strict, *lenient;
    struct config one = parse_issuer(", agent_claim: who");
    struct config two = parse_issuer(", agent_claim: who, agent: ana");
    assert_int_equal(oauth_load(&one, &strict, &e), 0);
    assert_int_equal(oauth_load(&two, &lenient, &e), 0);
    const char *named = make_token(ed25519, EDDSA, CLAIMS(",\"who\":\"bob\""));
    assert_int_equal(check_with(strict, named, agent, &e), 0);
    assert_string_equal(agent, "bob");
    const char *nameless = make_token(ed25519, EDDSA, CLAIMS(""));
    assert_int_equal(check_with(strict, nameless, agent, &e), -1);
    assert_int_equal(e.code, ERR_UNAUTHORIZED);
    assert_int_equal(check_with(lenient, nameless, agent, &e), 0);
    assert_string_equal(agent, "ana");
    const char *wrong = make_token(ed25519, EDDSA, CLAIMS(",\"who\":{}"));
    assert_int_equal(check_with(lenient, wrong, agent, &e), -1);
    oauth_free(strict);
    oauth_free(lenient);
    config_free(&one);
    config_free(&two);
}

/* ---- key files ------------------------------------------------------------------------------- */

static int read_keys(const char *name, unsigned algorithms, struct err *e)
{
    char path[128];
    struct oauth_keys keys = {0};
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    int r = oauth_keys_read(&keys, path, algorithms, e);
    int n = (int)keys.n;
    oauth_keys_free(&keys);
    return r < 0 ? -1 : n;
}

static void keys_for_what_is_allowed_are_read(void **state)
{
    (void)state;
    struct err e;
    assert_int_equal(read_keys("keys.jwks", CONFIG_EDDSA | CONFIG_RS256, &e), 2);
    assert_int_equal(read_keys("keys.jwks", CONFIG_EDDSA, &e), 1);
    assert_int_equal(read_keys("other.pem", CONFIG_EDDSA, &e), 1);
    assert_int_equal(read_keys("other.pem", CONFIG_RS256, &e), -1);
    assert_non_null(strstr(e.message, "no key that could check a token"));
}

static void bad_key_files_are_refused(void **state)
{
    (void)state;
    struct err e;
    _free_ char *small = public_pem(weak), *good = public_pem(other);
    static const char *const texts[] = {
        "",
        "{}",
        "{\"keys\":[]}",
        "{\"keys\":[{\"kty\":\"oct\",\"k\":\"AAAA\"}]}",
        "{\"kty\":\"OKP\",\"crv\":\"Ed25519\",\"x\":\"AA\"}",
        "{\"kty\":\"OKP\",\"crv\":\"Ed25519\",\"x\":\"AA\",\"d\":\"AA\"}",
        "{\"kty\":\"RSA\",\"n\":\"AA\",\"e\":\"Ag\"}",
        "{\"kty\":\"RSA\",\"n\":\"AQAB\"}",
        "-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n",
        "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n",
        "not a key",
    };
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        write_file("bad", texts[i], 0600);
        assert_int_equal(read_keys("bad", CONFIG_EDDSA | CONFIG_RS256, &e), -1);
        assert_true(e.advice[0] != '\0');
    }
    write_file("bad", small, 0600);
    assert_int_equal(read_keys("bad", CONFIG_RS256, &e), -1);
    assert_non_null(strstr(e.message, "2048"));
    write_file("bad", good, 0664); /* whoever can write it can make tokens */
    assert_int_equal(read_keys("bad", CONFIG_EDDSA, &e), -1);
    assert_int_equal(read_keys("absent", CONFIG_EDDSA, &e), -1);
    write_jwks("bad", ",{\"kty\":\"RSA\",\"n\":\"AQAB\",\"e\":\"AQAB\",\"d\":\"AQ\"}");
    assert_int_equal(read_keys("bad", CONFIG_EDDSA, &e), -1);
    assert_non_null(strstr(e.message, "private key"));
}

static void the_server_is_called_as_the_client_does(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct config given = parse("oauth: {resource: \"https://cella.example.com:8443\"}");
    assert_string_equal(oauth_resource(&config, "127.0.0.1:80", &arena), "http://127.0.0.1:80");
    assert_string_equal(oauth_resource(&config, "x\"y", &arena), "http://localhost");
    assert_string_equal(oauth_resource(&config, NULL, &arena), "http://localhost");
    assert_string_equal(oauth_resource(&given, "x", &arena), "https://cella.example.com:8443");
    arena_free(&arena);
    config_free(&given);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(genuine_tokens_are_taken),
        cmocka_unit_test(forged_tokens_are_refused),
        cmocka_unit_test(tampered_tokens_are_refused),
        cmocka_unit_test(malformed_tokens_are_refused),
        cmocka_unit_test(claims_that_do_not_hold_are_refused),
        cmocka_unit_test(a_scope_that_is_missing_is_another_refusal),
        cmocka_unit_test(a_claim_names_the_agent),
        cmocka_unit_test(keys_for_what_is_allowed_are_read),
        cmocka_unit_test(bad_key_files_are_refused),
        cmocka_unit_test(the_server_is_called_as_the_client_does),
    };
    return cmocka_run_group_tests(tests, make_keys, remove_keys);
}
