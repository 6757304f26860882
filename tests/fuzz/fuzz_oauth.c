#include "base/fd.h"
#include "policy/oauth.h"

#include <fcntl.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Public keys whose private halves were thrown away. */
static const char keys[] =
    "{\"keys\":[{\"kty\":\"OKP\",\"crv\":\"Ed25519\",\"kid\":\"one\",\"x\":"
    "\"9Lg095uqqRrGNFs_xwnb8wYaWUEiFiV793OtaOiRArY\"},"
    "{\"kty\":\"RSA\",\"e\":\"AQAB\",\"n\":"
    "\"vpZ0mU-Aerza93Wa0B0pXX5K11Dbchyqmur-VJGfb5DGTV_1oljiTMuqpCEVTGPzYLcqKCDpdnTB5prm"
    "8RGq-ml2iJ2bZHz6N4y8Ospf2cKHdyVs01fG0eAasn56zP1WQ0hqmVHPef-wpdm3LYhRe1pUiDZX7xDr"
    "D2RlUtbDahw46csWx-jsEwxipyS-MgCX9KW8_k9BRR613oFFsCnL7BTSGxUM-dEz0wB9NPT-W4FZ96w9"
    "Hx5UcJZs4SJZwTbYIqyx0UXk28YKKEcAuixqKDeTDrwPImMBLD0gyEq-pJhSms0IR-4ETILAx4UsB_Q_"
    "ui1b4Ugr7a1UBPgRQ6Iblw\"}]}";

static struct oauth *load_keys(void)
{
    static struct config config;
    struct oauth *oauth;
    struct err e;
    char path[] = "/tmp/cella-fuzz-XXXXXX", text[512];
    int fd = mkstemp(path);
    if (fd < 0 || fd_write_all(fd, keys, strlen(keys)) < 0)
        abort();
    close(fd);
    snprintf(text, sizeof(text),
             "oauth: {issuers: [{issuer: a, audience: [us, we], keys: [%s], scopes: [run], "
             "agent_claim: sub}, {issuer: b, audience: us, keys: [%s]}]}",
             path, path);
    if (config_parse(text, strlen(text), "fuzz.yaml", &config, &e) < 0 ||
        oauth_load(&config, &oauth, &e) < 0)
        abort();
    unlink(path);
    return oauth;
}

/* Nobody can sign: whatever it is, it is refused as such, and says what to do. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct oauth *oauth;
    struct arena arena = {0};
    struct oauth_caller caller;
    const char *const *scopes = NULL;
    struct err e;
    if (oauth == NULL)
        oauth = load_keys();
    int r = oauth_check(oauth, (const char *)data, size, 1000, &arena, &caller, &scopes, &e);
    if (r == 0 || e.code != ERR_UNAUTHORIZED || e.advice[0] == '\0' || scopes == NULL)
        abort();
    arena_free(&arena);
    return 0;
}
