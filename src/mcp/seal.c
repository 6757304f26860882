/* requestState: JSON with a keyed BLAKE2b over it and over what it is bound to. Daemon; owns the
 * key, which nobody outside has seen. The key ends with the daemon, as the cells do that a state
 * could lead to: nothing has to remember which seals were used before. A seal that was used is
 * remembered until it expires: when there is no room for another, none is opened. */
#include "mcp/seal.h"

#include "base/buf.h"
#include "base/ids.h"
#include "wire/base64.h"

#include <blake2.h>
#include <string.h>

enum { SEAL_MAC = 32 };

void seal_init(struct seal *s)
{
    *s = (struct seal){0};
    ids_random(s->key, sizeof(s->key));
}

static void seal_append(struct buf *out, const char *text)
{
    buf_append(out, text != NULL ? text : "", text != NULL ? strlen(text) : 0);
    buf_append_char(out, '\0'); /* so that no two bonds give the same bytes */
}

static void seal_mac(const struct seal *s, const struct seal_bond *bond, const char *payload,
                     unsigned char mac[SEAL_MAC])
{
    _buf_ struct buf bytes = BUF_INIT(SIZE_MAX);
    char *args = bond->args != NULL ? json_dumps(bond->args, JSON_COMPACT | JSON_SORT_KEYS) : NULL;
    seal_append(&bytes, bond->agent);
    seal_append(&bytes, bond->method);
    seal_append(&bytes, bond->name);
    seal_append(&bytes, args);
    seal_append(&bytes, payload);
    free(args);
    blake2b(mac, bytes.data, s->key, SEAL_MAC, bytes.len, sizeof(s->key));
}

char *seal_close(const struct seal *s, const struct seal_bond *bond, const json_t *state,
                 uint64_t now_ms)
{
    char nonce[TOKEN_SIZE];
    unsigned char mac[SEAL_MAC];
    ids_token(nonce);
    nonce[sizeof(s->used[0].nonce) - 1] = '\0';
    json_t *inner = json_pack("{s:s,s:I,s:O}", "n", nonce, "x", (json_int_t)(now_ms + SEAL_LIFE_MS),
                              "s", state);
    char *payload = json_dumps(inner, JSON_COMPACT);
    json_decref(inner);
    _buf_ struct buf text = BUF_INIT(SEAL_TEXT_MAX);
    seal_mac(s, bond, payload, mac);
    base64_encode(&text, payload, strlen(payload));
    buf_append_char(&text, '.');
    base64_encode(&text, mac, sizeof(mac));
    free(payload);
    return text.overflowed ? NULL : take_ptr(text.data);
}

/* Remembers the nonce. NULL, or why the seal is not opened. */
static const char *seal_use(struct seal *s, const char *nonce, uint64_t until_ms, uint64_t now_ms)
{
    struct seal_used *slot = NULL;
    for (size_t i = 0; i < SEAL_USED_MAX; i++) {
        struct seal_used *used = &s->used[i];
        if (used->until_ms < now_ms)
            slot = used; /* expired, or never used */
        else if (strcmp(used->nonce, nonce) == 0)
            return "it was used already";
    }
    if (slot == NULL)
        return "too many were used within the hour, and each is remembered: try again later";
    snprintf(slot->nonce, sizeof(slot->nonce), "%s", nonce);
    slot->until_ms = until_ms;
    return NULL;
}

static bool seal_is_ours(const struct seal *s, const struct seal_bond *bond, const char *payload,
                         const char *mac_text)
{
    unsigned char mac[SEAL_MAC];
    _buf_ struct buf given = BUF_INIT(SEAL_MAC);
    if (!base64_decode(&given, mac_text, strlen(mac_text)) || given.len != SEAL_MAC)
        return false;
    seal_mac(s, bond, payload, mac);
    unsigned char different = 0;
    for (size_t i = 0; i < SEAL_MAC; i++)
        different |= mac[i] ^ (unsigned char)given.data[i];
    return different == 0;
}

json_t *seal_open(struct seal *s, const struct seal_bond *bond, const char *text, uint64_t now_ms,
                  const char **ret_why)
{
    const char *dot = strchr(text, '.');
    _buf_ struct buf payload = BUF_INIT(SEAL_TEXT_MAX);
    *ret_why = "it was changed, belongs to another request, or the daemon has begun anew";
    if (strlen(text) > SEAL_TEXT_MAX || dot == NULL ||
        !base64_decode(&payload, text, (size_t)(dot - text)) ||
        strlen(buf_str(&payload)) != payload.len ||
        !seal_is_ours(s, bond, buf_str(&payload), dot + 1))
        return NULL;
    json_t *inner = json_loads(buf_str(&payload), JSON_ALLOW_NUL, NULL);
    uint64_t until_ms = (uint64_t)json_integer_value(json_object_get(inner, "x"));
    const char *nonce = json_string_value(json_object_get(inner, "n"));
    json_t *state = NULL;
    if (nonce == NULL || until_ms < now_ms)
        *ret_why = "it has expired";
    else
        *ret_why = seal_use(s, nonce, until_ms, now_ms);
    if (*ret_why == NULL)
        state = json_incref(json_object_get(inner, "s"));
    json_decref(inner);
    return state;
}
