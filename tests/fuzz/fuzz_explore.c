/* Requests to a box, one on each line; what is behind the last line is the text. */
#include "base/utf8.h"
#include "explore/desk.h"
#include "explore/explore.h"

#include <string.h>
#include <sys/mman.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool claim)
{
    if (!claim)
        abort();
}

static void check_answer(const struct buf *answer)
{
    static const struct json_limits limits = {.depth = 16, .values = JSON_VALUES_MAX};
    struct err e;
    _json_ json_t *value = NULL;
    require(!answer->overflowed && utf8_is_valid(answer->data, answer->len));
    require(json_read_file_object(answer->data, answer->len, &limits, &value, &e) == 0);
    const json_t *error = json_object_get(value, "error");
    require(json_is_object(json_object_get(value, "result")) != json_is_object(error));
    if (error != NULL)
        require(json_string_length(json_object_get(error, "message")) > 0 &&
                json_string_length(json_object_get(error, "advice")) > 0);
}

static void ask(struct desk *desk, const char *text, size_t len)
{
    static const struct json_limits limits = {.depth = 8, .values = 1000};
    struct err e;
    _json_ json_t *request = NULL;
    _buf_ struct buf answer = BUF_INIT(2 * EXPLORE_ANSWER_MAX);
    if (json_read_file_object(text, len, &limits, &request, &e) < 0)
        return;
    desk_answer(desk, request, &answer);
    check_answer(&answer);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *at = (const char *)data, *end = at + size;
    const char *last = size > 0 ? memrchr(at, '\n', size) : NULL;
    if (last == NULL || size > 4000)
        return 0;
    json_object_seed(1);
    struct desk *desk = desk_new(NULL);
    int fd = memfd_create("text", MFD_CLOEXEC);
    require(fd >= 0 && write(fd, last + 1, (size_t)(end - last - 1)) == end - last - 1);
    desk_map(desk, "k", fd);
    while (at < last) {
        const char *line_end = memchr(at, '\n', (size_t)(end - at));
        ask(desk, at, (size_t)(line_end - at));
        at = line_end + 1;
    }
    desk_free(desk);
    return 0;
}
