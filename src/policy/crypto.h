/* OpenSSL's libcrypto, loaded when the configuration names issuers of tokens and not before: it
 * would take half of the time in which the command line tool starts. */
#pragma once

#include "base/err.h"

#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/param_build.h>
#include <openssl/pem.h>

#define CRYPTO_EACH(F)                                                                             \
    F(BIO_free)                                                                                    \
    F(BIO_new_mem_buf)                                                                             \
    F(BN_bin2bn)                                                                                   \
    F(BN_free)                                                                                     \
    F(BN_is_odd)                                                                                   \
    F(BN_is_one)                                                                                   \
    F(ERR_clear_error)                                                                             \
    F(EVP_DigestVerify)                                                                            \
    F(EVP_DigestVerifyInit)                                                                        \
    F(EVP_MD_CTX_free)                                                                             \
    F(EVP_MD_CTX_new)                                                                              \
    F(EVP_PKEY_CTX_free)                                                                           \
    F(EVP_PKEY_CTX_new_from_name)                                                                  \
    F(EVP_PKEY_free)                                                                               \
    F(EVP_PKEY_fromdata)                                                                           \
    F(EVP_PKEY_fromdata_init)                                                                      \
    F(EVP_PKEY_get_bits)                                                                           \
    F(EVP_PKEY_is_a)                                                                               \
    F(EVP_PKEY_new_raw_public_key)                                                                 \
    F(EVP_sha256)                                                                                  \
    F(OPENSSL_init_crypto)                                                                         \
    F(OSSL_PARAM_BLD_free)                                                                         \
    F(OSSL_PARAM_BLD_new)                                                                          \
    F(OSSL_PARAM_BLD_push_BN)                                                                      \
    F(OSSL_PARAM_BLD_to_param)                                                                     \
    F(OSSL_PARAM_free)                                                                             \
    F(PEM_read_bio_PUBKEY)

struct crypto {
#define MEMBER(name) __typeof__(&(name)) name;
    CRYPTO_EACH(MEMBER)
#undef MEMBER
};

extern struct crypto crypto;

/* Once, before anything of it is used; again is harmless. */
int crypto_load(struct err *e);
