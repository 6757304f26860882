/* The arguments of a call from path, query and body, checked against the operation's schema.
 * Daemon; on the loop, long bodies on a worker thread. */
#include "serve/args.h"

#include "wire/http1.h"
#include "wire/json.h"

#include <errno.h>

static const char *const place_names[] = {
    [OP_IN_BODY] = "body", [OP_IN_PATH] = "path", [OP_IN_QUERY] = "query"};

static const struct op_param *args_find_param(const struct op *op, const char *name)
{
    for (const struct op_param *p = op->params; p != NULL && p->name != NULL; p++) {
        if (strcmp(p->name, name) == 0)
            return p;
    }
    return NULL;
}

static int args_check_place(const struct op_param *param, enum op_param_place place, struct err *e)
{
    if (param->place == place)
        return 0;
    err_set(e, ERR_INVALID, "\"%s\" belongs in the %s, not in the %s", param->name,
            place_names[param->place], place_names[place]);
    return err_advise(e, "Leave it out of the %s.", place_names[place]);
}

/* A path or query holds text only; a number or boolean becomes one if it reads as one, and what
 * does not is left as text for the schema's check to refuse. */
static json_t *typed_value(const struct op_param *param, const char *text)
{
    if (param != NULL && param->type == OP_INT) {
        char *end;
        errno = 0;
        long long value = strtoll(text, &end, 10);
        if (errno == 0 && *end == '\0' && (*text == '-' || (*text >= '0' && *text <= '9')))
            return json_integer(value);
    }
    if (param != NULL && param->type == OP_BOOL) {
        if (strcmp(text, "true") == 0 || strcmp(text, "1") == 0)
            return json_true();
        if (strcmp(text, "false") == 0 || strcmp(text, "0") == 0)
            return json_false();
    }
    return json_string(text);
}

static void add_path(const struct route *route, const struct target *target, json_t *args)
{
    bool has_tail = route->op->flags & OP_HAS_TAIL;
    for (size_t i = 0; i < route->n_segments; i++) {
        if (!route->segments[i].is_param)
            continue;
        const char *name = route->segments[i].text;
        if (!has_tail || i < route->n_segments - 1) {
            json_object_set_new(args, name,
                                typed_value(args_find_param(route->op, name), target->segments[i]));
            continue;
        }
        /* All segments from this one on, as they were before they were cut. */
        _buf_ struct buf tail = BUF_INIT(HTTP1_TARGET_MAX);
        for (size_t k = i; k < target->n_segments; k++) {
            if (k > i)
                buf_append_char(&tail, '/');
            buf_append_str(&tail, target->segments[k]);
        }
        json_object_set_new(args, name, json_string(buf_str(&tail)));
    }
}

int args_build(const struct route *route, const struct target *target, const struct buf *body,
               json_t **ret_args, struct err *e)
{
    _json_ json_t *args = NULL;
    if (body->len == 0 || route->op->flags & OP_TAKES_BYTES)
        args = json_object();
    else if (json_read_object(body->data, body->len, &args, e) < 0)
        return -1;
    /* Unknown names stay: the schema's check tells what would be right. */
    const char *name;
    json_t *value;
    json_object_foreach(args, name, value) {
        const struct op_param *param = args_find_param(route->op, name);
        if (param != NULL && args_check_place(param, OP_IN_BODY, e) < 0)
            return -1;
    }
    add_path(route, target, args);
    for (size_t i = 0; i < target->n_params; i++) {
        const struct target_param *given = &target->params[i];
        const struct op_param *param = args_find_param(route->op, given->name);
        if (param != NULL && args_check_place(param, OP_IN_QUERY, e) < 0)
            return -1;
        json_object_set_new(args, given->name, typed_value(param, given->value));
    }
    if (op_check(route->op, args, e) < 0)
        return -1;
    *ret_args = take_ptr(args);
    return 0;
}
