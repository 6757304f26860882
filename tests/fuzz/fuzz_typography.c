#include "cell/typography.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool claim)
{
    if (!claim)
        abort();
}

static size_t count_lines(const char *s, size_t len)
{
    size_t n = 0;
    for (size_t i = 0; i < len; i++)
        n += s[i] == '\n';
    return n;
}

/* What is plain stays; what is replaced is told, and lines keep their numbers. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *code = (const char *)data;
    _buf_ struct buf out = BUF_INIT(64 * MIB);
    struct typography_note note;
    bool is_replaced = typography_replace(code, size, &out, &note);
    require(is_replaced == (note.count > 0) && is_replaced == (note.text[0] != '\0'));
    require(!is_replaced || !typography_is_plain(code, size));
    if (is_replaced)
        require(count_lines(code, size) == count_lines(out.data, out.len));
    else
        require(out.len == 0);
    return 0;
}
