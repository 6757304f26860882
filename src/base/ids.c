/* Random names, from the kernel. Every process that makes one; owns nothing. */
#include "base/ids.h"

#include <errno.h>
#include <sys/random.h>

void ids_random(void *out, size_t len)
{
    char *at = out;
    while (len > 0) {
        ssize_t n = getrandom(at, len, 0);
        if (n < 0) {
            if (errno == EINTR)
                continue;
            abort();
        }
        at += n;
        len -= (size_t)n;
    }
}

void ids_uuid(char out[UUID_SIZE])
{
    uint8_t b[16];
    ids_random(b, sizeof(b));
    b[6] = (uint8_t)((b[6] & 0x0f) | 0x40);
    b[8] = (uint8_t)((b[8] & 0x3f) | 0x80);
    snprintf(out, UUID_SIZE, "%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x",
             b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7], b[8], b[9], b[10], b[11], b[12], b[13],
             b[14], b[15]);
}

bool ids_is_uuid(const char *s, size_t len)
{
    if (len != UUID_SIZE - 1)
        return false;
    for (size_t i = 0; i < len; i++) {
        bool dash = i == 8 || i == 13 || i == 18 || i == 23;
        bool hex = (s[i] >= '0' && s[i] <= '9') || (s[i] >= 'a' && s[i] <= 'f');
        if (dash ? s[i] != '-' : !hex)
            return false;
    }
    return true;
}

void ids_token(char out[TOKEN_SIZE])
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    uint8_t raw[TOKEN_SIZE - 1];
    ids_random(raw, sizeof(raw));
    for (size_t i = 0; i < sizeof(raw); i++)
        out[i] = digits[raw[i] & 63];
    out[TOKEN_SIZE - 1] = '\0';
}

bool ids_equal_secret(const char *a, const char *b)
{
    size_t len_a = strlen(a), len_b = strlen(b);
    unsigned char differ = len_a != len_b;
    for (size_t i = 0; i < len_a; i++)
        differ |= (unsigned char)(a[i] ^ (len_b ? b[i % len_b] : 0));
    return differ == 0;
}
