/* The request of an operation: method, path, query and body by what the table of operations says of
 * its parameters. Command line tool. */
#include "base/clock.h"
#include "cli/op.h"

#include <ctype.h>

enum {
    OP_REQUEST_PATH_BYTES = 64 << 10,
    OP_REQUEST_BODY_BYTES = 256 << 20,
    OP_REQUEST_CALL_MS = 120 * 1000, /* undo, branch: a snapshot may have to come from disk */
};

static void append_value(struct buf *out, const json_t *value, bool keeps_slashes)
{
    if (json_is_string(value)) {
        const char *text = json_string_value(value);
        for (; *text != '\0'; text++) {
            bool is_plain = isalnum((unsigned char)*text) || strchr("-._~", *text) != NULL ||
                            (keeps_slashes && *text == '/');
            if (is_plain)
                buf_append_char(out, *text);
            else
                buf_printf(out, "%%%02X", (unsigned char)*text);
        }
    } else if (json_is_integer(value))
        buf_printf(out, "%lld", (long long)json_integer_value(value));
    else
        buf_append_str(out, json_is_true(value) ? "true" : "false");
}

int cli_op_request(const struct op *op, const json_t *args, struct buf *path, struct buf *body,
                   struct cli_request *ret, struct err *e)
{
    bool has_body = strcmp(op->method, "GET") != 0 && strcmp(op->method, "DELETE") != 0;
    for (const char *at = op->path; *at != '\0';) {
        if (*at != '{') {
            buf_append_char(path, *at++);
            continue;
        }
        char name[64];
        size_t len = strcspn(at, "}");
        snprintf(name, sizeof(name), "%.*s", (int)len - 1, at + 1);
        const json_t *value = json_object_get(args, name);
        const char *text = json_string_value(value);
        if (value == NULL || (text != NULL && text[0] == '\0'))
            return err_set(e, ERR_INVALID, "%s needs %s", op->name, name);
        at += len + 1;
        append_value(path, value, op->flags & OP_HAS_TAIL && *at == '\0');
    }
    char sign = '?';
    for (const struct op_param *p = op->params; p->name != NULL; p++) {
        const json_t *value = json_object_get(args, p->name);
        if (p->place != OP_IN_QUERY || value == NULL)
            continue;
        buf_printf(path, "%c%s=", sign, p->name);
        append_value(path, value, false);
        sign = '&';
    }
    if (path->overflowed)
        return err_set(e, ERR_TOO_LARGE, "the arguments are too long");
    if (has_body && !(op->flags & OP_TAKES_BYTES)) {
        struct json_out out = JSON_OUT(body);
        json_put_object(&out);
        for (const struct op_param *p = op->params; p->name != NULL; p++) {
            const json_t *value = json_object_get(args, p->name);
            if (p->place != OP_IN_BODY || value == NULL)
                continue;
            json_put_key(&out, p->name);
            json_put_value(&out, value);
        }
        json_put_object_end(&out);
    }
    if (body->overflowed)
        return err_set(e, ERR_TOO_LARGE, "the arguments are too long");
    *ret = (struct cli_request){
        .method = op->method,
        .path = buf_str(path),
        .body = has_body ? buf_str(body) : NULL,
        .body_len = has_body ? body->len : 0,
        /* The daemon keeps the time of code. */
        .deadline_ms = op->flags & OP_RUNS_CODE ? 0 : clock_mono_ms() + OP_REQUEST_CALL_MS,
    };
    return 0;
}

int cli_op_ask(struct cli_client *c, const char *name, const json_t *args, json_t **ret_answer,
               struct err *e)
{
    _buf_ struct buf path = BUF_INIT(OP_REQUEST_PATH_BYTES), body = BUF_INIT(OP_REQUEST_BODY_BYTES);
    struct cli_request request;
    if (cli_op_request(op_find(name), args, &path, &body, &request, e) < 0)
        return -1;
    return cli_api_call(c, &request, ret_answer, e);
}
