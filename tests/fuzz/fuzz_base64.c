#include "wire/base64.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool claim)
{
    if (!claim)
        abort();
}

/* Any bytes come back as they were; any text that is taken is the one text of its bytes, line
 * breaks aside. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    _buf_ struct buf text = BUF_INIT(MIB);
    _buf_ struct buf bytes = BUF_INIT(MIB);
    require(base64_encode(&text, data, size) && text.len == base64_encoded_len(size));
    require(base64_decode(&bytes, buf_str(&text), text.len));
    require(bytes.len == size && (size == 0 || memcmp(bytes.data, data, size) == 0));

    _buf_ struct buf taken = BUF_INIT(base64_decoded_max(size));
    _buf_ struct buf again = BUF_INIT(MIB);
    if (!base64_decode(&taken, (const char *)data, size))
        return 0;
    require(base64_encode(&again, buf_str(&taken), taken.len));
    size_t at = 0;
    for (size_t i = 0; i < size; i++) {
        if (data[i] != '\r' && data[i] != '\n')
            require(at < again.len && again.data[at++] == (char)data[i]);
    }
    require(at == again.len);
    return 0;
}
