/* libcrypto, by name. Daemon at its start and on SIGHUP, and `cella config`; never unloaded. */
#include "policy/crypto.h"

#include <dlfcn.h>

#define CRYPTO_LIBRARY "libcrypto.so.3"

struct crypto crypto;

static int crypto_refuse(struct err *e)
{
    const char *why = dlerror();
    err_set(e, ERR_UNAVAILABLE, "tokens cannot be checked: %.200s",
            why != NULL ? why : CRYPTO_LIBRARY " is incomplete");
    return err_advise(e, "Install OpenSSL 3 (Debian: libssl3), or remove the issuers from `oauth` "
                         "in the configuration.");
}

int crypto_load(struct err *e)
{
    static bool is_loaded;
    if (is_loaded)
        return 0;
    void *library = dlopen(CRYPTO_LIBRARY, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL)
        return crypto_refuse(e);
#define FIND(name)                                                                                 \
    *(void **)(void *)&crypto.name = dlsym(library, #name);                                        \
    if (crypto.name == NULL)                                                                       \
        return crypto_refuse(e);
    CRYPTO_EACH(FIND)
#undef FIND
    /* The machine's openssl.cnf could load what nobody here asked for. */
    crypto.OPENSSL_init_crypto(OPENSSL_INIT_NO_LOAD_CONFIG, NULL);
    is_loaded = true;
    return 0;
}
