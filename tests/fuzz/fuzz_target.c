#include "base/utf8.h"
#include "wire/sse.h"
#include "wire/target.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool claim)
{
    if (!claim)
        abort();
}

static void check_text(const char *text)
{
    require(text != NULL && utf8_is_valid(text, strlen(text)));
}

static void check_target(const char *raw, size_t len)
{
    struct arena arena = {0};
    struct target t;
    struct err e = {0};
    if (target_parse(&arena, raw, len, &t, &e) < 0) {
        require(e.code != ERR_NONE && e.message[0] != '\0');
    } else {
        require(t.n_segments >= 1 && t.n_segments <= TARGET_SEGMENTS_MAX);
        require(t.n_params <= TARGET_PARAMS_MAX);
        for (size_t i = 0; i < t.n_segments; i++)
            check_text(t.segments[i]);
        for (size_t i = 0; i < t.n_params; i++) {
            check_text(t.params[i].name);
            check_text(t.params[i].value);
        }
    }
    arena_free(&arena);
}

/* Whatever the data, an event has one end, and every line of it is marked as data. */
static void check_event(const char *bytes, size_t len)
{
    _buf_ struct buf out = BUF_INIT(MIB);
    sse_append(&out, "name", bytes, len);
    require(out.len > 14 && memcmp(out.data, "event: name\n", 12) == 0);
    for (size_t i = 0; i + 1 < out.len; i++) {
        require(out.data[i] != '\r');
        if (out.data[i] == '\n' && i + 2 < out.len)
            require(out.len - i > 7 && memcmp(out.data + i + 1, "data: ", 6) == 0);
    }
    require(memcmp(out.data + out.len - 2, "\n\n", 2) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    check_target((const char *)data, size);
    check_event((const char *)data, size);
    return 0;
}
