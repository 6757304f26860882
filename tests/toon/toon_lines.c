/* What tests/toon/compare.py asks: each line of the input is ["encode", value] or
 * ["decode", "text"], each line of the output {"result": …} or {"error": "…"}. */
#include "wire/json.h"
#include "wire/toon.h"

#include <stdio.h>

static json_t *answer(const json_t *request)
{
    const json_t *subject = json_array_get(request, 1);
    struct err e = {0};
    if (strcmp(json_string_value(json_array_get(request, 0)), "decode") == 0) {
        json_t *value = toon_decode(json_string_value(subject), json_string_length(subject), &e);
        return value != NULL ? json_pack("{s:o}", "result", value)
                             : json_pack("{s:s}", "error", e.message);
    }
    _buf_ struct buf text = BUF_INIT(64 * MIB);
    if (!toon_encode(subject, &text))
        return json_pack("{s:s}", "error", "it does not fit");
    return json_pack("{s:o}", "result", json_stringn(buf_str(&text), text.len));
}

int main(void)
{
    _free_ char *line = NULL;
    size_t size = 0;
    ssize_t len;
    while ((len = getline(&line, &size, stdin)) > 0) {
        json_error_t error;
        _json_ json_t *request =
            json_loadb(line, (size_t)len, JSON_DECODE_ANY | JSON_ALLOW_NUL, &error);
        if (request == NULL) {
            fprintf(stderr, "%s: %.200s\n", error.text, line);
            return 1;
        }
        _json_ json_t *reply = answer(request);
        json_dumpf(reply, stdout, JSON_COMPACT | JSON_ENCODE_ANY);
        putchar('\n');
    }
    return 0;
}
