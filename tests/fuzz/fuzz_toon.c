#include "wire/json.h"
#include "wire/toon.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool claim)
{
    if (!claim)
        abort();
}

/* A text is refused with advice, or its value is written as a text that reads as the same value and
 * is written as the same text. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct err e = {0};
    json_object_seed(1);
    _json_ json_t *value = toon_decode((const char *)data, size, &e);
    if (value == NULL) {
        require(e.code != ERR_NONE && e.message[0] != '\0' && e.advice[0] != '\0');
        return 0;
    }
    _buf_ struct buf text = BUF_INIT(64 * MIB), again = BUF_INIT(64 * MIB);
    if (!toon_encode(value, &text))
        return 0; /* groups of fields may have become levels, one too many */
    _json_ json_t *second = toon_decode(buf_str(&text), text.len, &e);
    require(second != NULL && toon_encode(second, &again));
    require(text.len == again.len && memcmp(buf_str(&text), buf_str(&again), text.len) == 0);
    return 0;
}
