/* session.file_get: the archivist opens a file, the daemon sends it. Daemon; on the loop. */
#include "ops/session_file_call.h"
#include "wire/json.h"

#include <errno.h>

static const struct op_param session_file_get_params[] = {
    OP_PARAM_SESSION, OP_PARAM_FILE_PATH, {0}};

static void session_file_get_on_done(void *context, const struct file_result *result)
{
    struct call *call = context;
    const json_t *details = result->details;
    const char *path = call_text(call, "path", ""), *slash = strrchr(path, '/');
    const char *name = slash != NULL ? slash + 1 : path;
    const char *tag = json_string_value(json_object_get(details, "tag"));
    int64_t length = json_integer_value(json_object_get(details, "length"));
    if (length < 0) {
        struct err e;
        call->range_total = (int64_t)result->bytes;
        err_set(&e, ERR_RANGE, "%.200s has no such bytes: it has %llu", path,
                (unsigned long long)result->bytes);
        err_advise(&e, "Ask for bytes before that, or for all of them without a Range header.");
        file_call_unread(call, &e);
        return;
    }
    char version[WARDEN_TAG_SIZE + 2];
    snprintf(version, sizeof(version), "\"%s\"", tag != NULL ? tag : "");
    int pipe = file_call_pipe(call);
    call_send_file(
        call, &(struct call_file){.fd = pipe,
                                  .is_pipe = true,
                                  .bytes = length,
                                  .is_part = json_is_true(json_object_get(details, "is_partial")),
                                  .first = json_integer_value(json_object_get(details, "first")),
                                  .total = (int64_t)result->bytes,
                                  .version = version,
                                  .name = arena_strdup(&call->arena, name),
                                  .type = call_type_of_file(name)});
}

static const struct file_listener session_file_get_listener = {.on_done = session_file_get_on_done,
                                                               .on_failed = file_call_unread};

/* "bytes=0-99", "bytes=100-", "bytes=-50". Anything else, and several of them, is no range: all of
 * the file is sent, as RFC 9110 allows. */
static bool file_get_range(const char *text, struct warden_range *ret)
{
    int64_t numbers[2] = {-1, -1};
    if (text == NULL || strncmp(text, "bytes=", 6) != 0)
        return false;
    const char *at = text + 6;
    for (size_t i = 0; i < 2; i++) {
        char *end;
        errno = 0;
        if (*at >= '0' && *at <= '9') {
            numbers[i] = strtoll(at, &end, 10);
            at = end;
        }
        if (errno != 0 || *at != (i == 0 ? '-' : '\0'))
            return false;
        at += i == 0;
    }
    bool is_sane = numbers[0] >= 0 ? numbers[1] < 0 || numbers[1] >= numbers[0] : numbers[1] >= 0;
    ret->first = numbers[0];
    ret->last = numbers[1];
    return is_sane;
}

static void session_file_get_run(struct call *call)
{
    struct warden_file_order what = file_call_what(call, WARDEN_FILE_GET);
    what.range.is_given = file_get_range(call->range, &what.range);
    const char *tag = call->if_range;
    size_t len = tag != NULL ? strlen(tag) : 0;
    if (tag != NULL) /* a date, or what is too long, is of another file */
        snprintf(what.range.tag, sizeof(what.range.tag), "%.*s",
                 len >= 2 && tag[0] == '"' ? (int)MIN(len - 2, (size_t)WARDEN_TAG_SIZE) : 1,
                 len >= 2 && tag[0] == '"' ? tag + 1 : "?");
    file_call_read(call, &what, &session_file_get_listener);
}

const struct op op_session_file_get = {
    .name = "session.file_get",
    .method = "GET",
    .path = "/v1/sessions/{session_id}/files/{path}",
    .subject = OP_ON_FILES,
    .flags = OP_READ_ONLY | OP_HAS_TAIL,
    .params = session_file_get_params,
    .doc = "A file of the session's workspace, as it is now; parts of it by the Range header.",
    .run = session_file_get_run,
    .sends = "the bytes of the file",
    .status = 200,
    .other_status = 206,
    .errors = OP_ERR(CONFLICT) | OP_ERR(GONE) | OP_ERR(LIMIT) | OP_ERR(RANGE),
    .example = "{\"session_id\": \"$session\", \"path\": \"data.txt\"}",
};
