/* What the operations that explore share. Daemon; on the loop. */
#include "ops/explore_call.h"

#include "explore/chars.h"
#include "policy/policy.h"
#include "session/session.h"
#include "wire/json.h"
#include "wire/toon.h"

#include <string.h>

enum { EXPLORE_CALL_TOON_MAX = 256 * 1024 };

void explore_call_failed(void *context, const struct err *e)
{
    call_fail(context, e);
}

static void explore_call_gone(struct call *call)
{
    exploring_forget(call->op_state);
}

struct session *explore_call_session(struct call *call)
{
    struct err e;
    call->on_gone = NULL;
    struct session *session = call_session(call);
    if (session == NULL || session_refuse_if_dead(session, &e) == 0)
        return session;
    call_fail(call, &e);
    return NULL;
}

const char *explore_call_path(const char *path)
{
    static const char top[] = "/workspace";
    size_t len = sizeof(top) - 1;
    if (strncmp(path, top, len) == 0 && (path[len] == '/' || path[len] == '\0'))
        path += len + (path[len] == '/');
    while (path[0] == '.' && path[1] == '/')
        path += 2;
    return strcmp(path, ".") == 0 || strcmp(path, "/") == 0 ? "" : path;
}

void explore_call_allow(struct call *call, const struct session *session,
                        struct explore_place *place)
{
    const struct config *config = call->policy != NULL ? call->policy->config : NULL;
    const struct config_agent *agent =
        config != NULL ? config_find_agent(config, policy_agent_of(session)) : NULL;
    if (agent == NULL)
        return;
    place->domains = agent->domains.names;
    place->n_domains = agent->domains.n;
}

const struct config_explore *explore_call_settings(const struct call *call)
{
    static const struct config_explore usual = {.max_grep_results = 100, .has_toon = true};
    return call->policy != NULL ? &call->policy->config->explore : &usual;
}

void explore_call_ask(struct call *call, json_t *request, const struct explore_listener *listener)
{
    struct err e;
    const char *path = call_text(call, "file_path", NULL);
    struct explore_place place = {.context = call_text(call, "context", NULL),
                                  .file_path = path != NULL ? explore_call_path(path) : NULL,
                                  .member = call_text(call, "member", NULL),
                                  .url = call_text(call, "url", NULL)};
    struct session *session = explore_call_session(call);
    if (session == NULL) {
        json_decref(request);
        return;
    }
    explore_call_allow(call, session, &place);
    struct exploring_order *order = session_explore(session, &place, request, listener, call, &e);
    if (order == NULL) {
        call_fail(call, &e);
        return;
    }
    call->op_state = order;
    call->on_gone = explore_call_gone;
}

void explore_call_note(struct call *call, struct session *session, const char *tool,
                       const char *query, const char *content, size_t len)
{
    if (call_bool(call, "quiet", false))
        return;
    exploring_note(session, tool, query, content, len);
    session_changed(session);
}

const char *explore_call_place(struct call *call)
{
    _buf_ struct buf out = BUF_INIT(KIB * 4);
    const char *path = call_text(call, "file_path", NULL);
    const char *name = call_text(call, "context", NULL);
    if (path != NULL)
        buf_printf(&out, ", file_path='%s'", path);
    else if (name != NULL)
        buf_printf(&out, ", context='%s'", name);
    return arena_strdup(&call->arena, buf_str(&out));
}

void explore_call_note_rest(json_t *told, uint64_t chars_before)
{
    size_t shown = 0;
    const json_t *text = json_object_get(told, "text");
    uint64_t chars = (uint64_t)json_integer_value(json_object_get(told, "chars"));
    chars_prefix(json_string_value(text), json_string_length(text), SIZE_MAX, &shown);
    if (chars_before + shown >= chars)
        return;
    json_object_set_new(told, "note",
                        json_sprintf("[... truncated at %zu of %llu characters]", shown,
                                     (unsigned long long)(chars - chars_before)));
}

void explore_call_reply(struct call *call, int http_status, json_t *told)
{
    _json_ json_t *answer = told;
    _buf_ struct buf out = BUF_INIT(CALL_REPLY_MAX), toon = BUF_INIT(EXPLORE_CALL_TOON_MAX);
    if (call_bool(call, "toon", false) && explore_call_settings(call)->has_toon &&
        toon_encode_if_shorter(answer, &toon))
        json_object_set_new(answer, "toon", json_stringn(buf_str(&toon), toon.len));
    struct json_out json = JSON_OUT(&out);
    json_put_value(&json, answer);
    call_reply(call, http_status, &out);
}
