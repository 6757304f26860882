/* What every operation uses: arguments by name, answers, failures, the session or store that a call
 * is about. Daemon; on the loop; a call owns its arena. */
#include "ops/ops.h"
#include "session/session.h"
#include "store/store.h"
#include "wire/json.h"

#include <strings.h>

enum { PAGE_DEFAULT = 100 };

const char *call_text(const struct call *call, const char *name, const char *fallback)
{
    const char *text = json_string_value(json_object_get(call->args, name));
    return text != NULL ? text : fallback;
}

size_t call_text_len(const struct call *call, const char *name)
{
    return json_string_length(json_object_get(call->args, name));
}

int64_t call_int(const struct call *call, const char *name, int64_t fallback)
{
    const json_t *value = json_object_get(call->args, name);
    return json_is_integer(value) ? json_integer_value(value) : fallback;
}

bool call_bool(const struct call *call, const char *name, bool fallback)
{
    const json_t *value = json_object_get(call->args, name);
    return json_is_boolean(value) ? json_is_true(value) : fallback;
}

uint64_t call_offset(const struct call *call)
{
    return (uint64_t)call_int(call, "offset", 0);
}

uint32_t call_limit(const struct call *call)
{
    return (uint32_t)call_int(call, "limit", PAGE_DEFAULT);
}

void call_reply(struct call *call, int http_status, const struct buf *json)
{
    call->on_gone = NULL;
    if (!json->overflowed) {
        call->sink->reply(call, http_status, json);
        return;
    }
    struct err e;
    err_set(&e, ERR_INTERNAL, "the answer does not fit into %zu bytes", json->max);
    err_advise(&e, "Ask with a smaller budget or limit.");
    call->sink->fail(call, &e);
}

void call_fail(struct call *call, const struct err *e)
{
    call->on_gone = NULL;
    call->sink->fail(call, e);
}

void call_failed(void *call, const struct err *e)
{
    call_fail(call, e);
}

void call_send_file(struct call *call, const struct call_file *file)
{
    call->on_gone = NULL;
    call->sink->send_file(call, file);
}

/* What a browser or a client may want to know; everything else is bytes. */
const char *call_type_of_file(const char *name)
{
    static const struct {
        const char *suffix, *type;
    } types[] = {
        {".csv", "text/csv; charset=utf-8"},
        {".gif", "image/gif"},
        {".html", "text/html; charset=utf-8"},
        {".jpeg", "image/jpeg"},
        {".jpg", "image/jpeg"},
        {".json", "application/json"},
        {".md", "text/markdown; charset=utf-8"},
        {".mp3", "audio/mpeg"},
        {".mp4", "video/mp4"},
        {".pdf", "application/pdf"},
        {".png", "image/png"},
        {".svg", "image/svg+xml"},
        {".txt", "text/plain; charset=utf-8"},
        {".wav", "audio/wav"},
        {".xlsx", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"},
        {".zip", "application/zip"},
    };
    const char *suffix = strrchr(name, '.');
    for (size_t i = 0; suffix != NULL && i < ARRAY_LEN(types); i++)
        if (strcasecmp(suffix, types[i].suffix) == 0)
            return types[i].type;
    return "application/octet-stream";
}

struct store *call_store(struct call *call)
{
    struct err e;
    struct store *store = engine_store(call->engine);
    if (store == NULL) {
        err_set(&e, ERR_UNAVAILABLE, "this daemon keeps nothing beyond its own life");
        call_fail(call, &e);
    }
    return store;
}

static void forget_asked(struct call *call)
{
    store_forget(call->op_state);
}

void call_await(struct call *call, struct store_call *asked)
{
    call->op_state = asked;
    call->on_gone = forget_asked;
}

void reply_deleted(struct call *call, const char *member, const char *name, const struct err *e)
{
    if (e != NULL) {
        call_fail(call, e);
        return;
    }
    _buf_ struct buf out = BUF_INIT(CALL_REPLY_MAX);
    struct json_out json = JSON_OUT(&out);
    json_put_object(&json);
    json_put_member_str(&json, member, name);
    json_put_member_bool(&json, "deleted", true);
    json_put_object_end(&json);
    call_reply(call, 200, &out);
}

struct session *call_session(struct call *call)
{
    struct err e;
    struct session *session = session_find(call->engine, call_text(call, "session_id", ""), &e);
    if (session == NULL)
        call_fail(call, &e);
    else
        session_restart_idle(session);
    return session;
}
