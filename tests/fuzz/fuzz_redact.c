#include "cell/redact.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool claim)
{
    if (!claim)
        abort();
}

/* The first byte says how long chunks are. However the rest is cut, it becomes the same; what it
 * became stays as it is; little is held back. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    const char *text = (const char *)data + 1;
    size_t step = data[0] + (size_t)1, len = size - 1;
    _buf_ struct buf whole = BUF_INIT(64 * MIB), out = BUF_INIT(64 * MIB);
    size_t count = redact_text(text, len, &whole);
    require(count > 0 || (whole.len == len && memcmp(buf_str(&whole), text, len) == 0));
    struct redactor r;
    redactor_init(&r);
    for (size_t at = 0; at < len; at += step) {
        redactor_add(&r, text + at, MIN(step, len - at), &out);
        require(r.held.len - r.at <= REDACT_HELD_MAX);
    }
    redactor_end(&r, &out);
    redactor_free(&r);
    require(out.len == whole.len && memcmp(buf_str(&out), buf_str(&whole), out.len) == 0);
    return 0;
}
