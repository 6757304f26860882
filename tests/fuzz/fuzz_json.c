#include "base/utf8.h"
#include "wire/json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool claim)
{
    if (!claim)
        abort();
}

/* What was read and written again reads as the same. */
static void check_reading(const char *text, size_t len)
{
    struct err e = {0};
    _json_ json_t *value = NULL;
    if (json_read_object(text, len, &value, &e) < 0) {
        require(value == NULL && e.code != ERR_NONE && e.message[0] != '\0' && e.advice[0] != '\0');
        return;
    }
    _buf_ struct buf out = BUF_INIT(64 * MIB);
    struct json_out o = JSON_OUT(&out);
    json_put_value(&o, value);
    require(utf8_is_valid(out.data, out.len));
    _json_ json_t *again = NULL;
    require(json_read_object(out.data, out.len, &again, &e) == 0 && json_equal(value, again));
}

/* A text of which some bytes stand for long strings, which are read another way: what comes of it
 * is what the parser alone makes of it. */
static void check_long(const char *text, size_t len)
{
    enum { LONG = 17000, LONG_MAX_COUNT = 4 };
    static char filling[LONG];
    _buf_ struct buf all = BUF_INIT(MIB);
    unsigned n = 0;
    memset(filling, 'x', sizeof(filling));
    for (size_t i = 0; i < len; i++) {
        if (text[i] == '@' && n++ < LONG_MAX_COUNT)
            buf_append(&all, filling, sizeof(filling));
        else
            buf_append_char(&all, text[i]);
    }
    struct err e;
    json_error_t ignored;
    _json_ json_t *got = NULL;
    if (n == 0 || json_read_object(buf_str(&all), all.len, &got, &e) < 0)
        return;
    _json_ json_t *wanted =
        json_loadb(buf_str(&all), all.len, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &ignored);
    require(json_equal(wanted, got));
}

/* Any bytes become a JSON text; valid text comes back unchanged. */
static void check_writing(const char *bytes, size_t len)
{
    _buf_ struct buf out = BUF_INIT(64 * MIB);
    struct json_out o = JSON_OUT(&out);
    json_put_object(&o);
    json_put_member_text(&o, "text", bytes, len);
    json_put_object_end(&o);
    require(utf8_is_valid(out.data, out.len));
    struct err e;
    _json_ json_t *value = NULL;
    int r = json_read_object(out.data, out.len, &value, &e);
    if (len > 0 && memchr(bytes, '\0', len) != NULL)
        return; /* written as an escape, which the reader refuses */
    require(r == 0);
    const json_t *text = json_object_get(value, "text");
    if (utf8_is_valid(bytes, len))
        require(json_string_length(text) == len &&
                memcmp(json_string_value(text), bytes, len) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    json_object_seed(1);
    check_long((const char *)data, size);
    check_reading((const char *)data, size);
    check_writing((const char *)data, size);
    return 0;
}
