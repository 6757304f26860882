/* Tools of callers, in the daemon: the lists, and the calls that wait for an answer. Owns
 * session->handed; how calls are made and answered is handed_calls.c. */
#include "session/handed.h"

#include "base/buf.h"
#include "loop/loop.h"
#include "session/exec.h"
#include "session/session.h"
#include "toolbox/toolbox.h"

/* ---- lists ----------------------------------------------------------------------------------- */

size_t handed_bytes(const json_t *value)
{
    return json_dumpb(value, NULL, 0, JSON_COMPACT | JSON_ENCODE_ANY);
}

static int handed_check_name(const json_t *list, size_t i, struct err *e)
{
    const char *name = json_string_value(json_object_get(json_array_get(list, i), "name"));
    const struct tool_entry *there = toolbox_find(name);
    if (!toolbox_is_name(name)) {
        err_set(e, ERR_INVALID, "\"%.80s\" cannot be the name of a tool", name);
        return err_advise(e, "Use up to %d letters, digits, \"_\", \".\" and \"-\".",
                          TOOLBOX_NAME_MAX);
    }
    if (there != NULL && there->maker != TOOLBOX_UNSET) {
        err_set(e, ERR_CONFLICT, "there is a tool %s already", name);
        return err_advise(e,
                          "Hand it in under another name; toolbox.list has those that are taken.");
    }
    for (size_t k = 0; k < i; k++)
        if (strcmp(json_string_value(json_object_get(json_array_get(list, k), "name")), name) == 0)
            return err_set(e, ERR_INVALID, "the tool %s is handed in twice", name);
    return 0;
}

int handed_check(const json_t *list, struct err *e)
{
    size_t bytes = handed_bytes(list);
    if (json_array_size(list) > HANDED_TOOLS_MAX || bytes > HANDED_LIST_BYTES) {
        err_set(e, ERR_TOO_LARGE, "%zu tools in %zu bytes are handed in", json_array_size(list),
                bytes);
        return err_advise(e, "At most %d in %d bytes are taken.", HANDED_TOOLS_MAX,
                          HANDED_LIST_BYTES);
    }
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *tool = json_array_get(list, i);
        if (handed_check_name(list, i, e) < 0 ||
            toolbox_check_handed(json_object_get(tool, "parameters"),
                                 json_object_get(tool, "allowed_callers"), e) < 0)
            return err_context(e, "tool %zu of the list", i);
    }
    return 0;
}

struct handed_tools *handed_make(const json_t *list, uint32_t deadline_ms)
{
    struct handed_tools *tools = mem_alloc(sizeof(*tools));
    *tools =
        (struct handed_tools){.list = json_deep_copy(list),
                              .deadline_ms = deadline_ms > 0 ? deadline_ms : HANDED_DEADLINE_MS};
    for (size_t i = 0; i < MIN(json_array_size(list), (size_t)HANDED_TOOLS_MAX); i++)
        tools->entries[tools->n++] = toolbox_new_handed(json_array_get(tools->list, i));
    return tools;
}

void handed_release(struct handed_tools *tools)
{
    if (tools == NULL)
        return;
    for (size_t i = 0; i < tools->n; i++)
        toolbox_let_go(tools->entries[i]);
    json_decref(tools->list);
    free(tools);
}

size_t handed_list(const struct session *session,
                   const struct tool_entry *ret[2 * HANDED_TOOLS_MAX])
{
    size_t n = 0;
    const struct handed_tools *all[] = {session->running != NULL ? session->running->tools : NULL,
                                        session->handed.tools};
    for (size_t i = 0; i < ARRAY_LEN(all); i++)
        for (size_t k = 0; all[i] != NULL && k < all[i]->n; k++)
            if (handed_find(session, all[i]->entries[k]->name) == all[i]->entries[k])
                ret[n++] = all[i]->entries[k];
    return n;
}

struct tool_entry *handed_find(const struct session *session, const char *name)
{
    const struct handed_tools *all[] = {session->running != NULL ? session->running->tools : NULL,
                                        session->handed.tools};
    for (size_t i = 0; i < ARRAY_LEN(all); i++)
        for (size_t k = 0; all[i] != NULL && k < all[i]->n; k++)
            if (strcmp(all[i]->entries[k]->name, name) == 0)
                return all[i]->entries[k];
    return NULL;
}

/* ---- calls ----------------------------------------------------------------------------------- */

/* The call is nobody's any more; the clock of a cell that waits for nothing else goes on. */
static void handed_free_call(struct handed_call *call)
{
    struct session *session = call->session;
    list_remove(&call->node);
    session->handed.n_calls--;
    toolbox_let_go(call->entry);
    json_decref(call->args);
    free(call);
    if (session->handed.n_calls == 0 && session->running != NULL &&
        session->running->question == NULL)
        exec_resume(session->running);
}

void handed_forget(struct handed_call *call)
{
    handed_free_call(call);
}

void handed_finish(struct handed_call *call, json_t *result, const struct err *e)
{
    const struct handed_listener *listener = call->listener;
    void *context = call->context;
    handed_free_call(call);
    if (e != NULL)
        listener->on_failed(context, e);
    else
        listener->on_done(context, result);
}

void handed_name(const struct handed_call *call, char out[HANDED_NAMED_SIZE])
{
    snprintf(out, HANDED_NAMED_SIZE, "%s (%s)", call->entry->name, call->id);
}

void handed_withdraw(struct session *session, const char *why)
{
    char named[HANDED_NAMED_SIZE];
    struct err e;
    size_t n = session->handed.n_calls; /* not those that are made because of this */
    for (; n > 0 && !list_is_empty(&session->handed.calls); n--) {
        struct handed_call *call =
            CONTAINER_OF(list_first(&session->handed.calls), struct handed_call, node);
        handed_name(call, named);
        err_set(&e, ERR_TIMEOUT, "nobody answered %s: %s", named, why);
        handed_finish(call, NULL, &e);
    }
}

/* ---- told ------------------------------------------------------------------------------------ */

json_t *handed_told(const struct session *session)
{
    json_t *told = json_array();
    LIST_EACH(&session->handed.calls, node) {
        const struct handed_call *call = CONTAINER_OF(node, struct handed_call, node);
        json_array_append_new(told, json_pack("{s:s, s:s, s:O}", "id", call->id, "name",
                                              call->entry->name, "args", call->args));
    }
    return told;
}

void handed_describe(const struct session *session, struct buf *out)
{
    char named[HANDED_NAMED_SIZE];
    LIST_EACH(&session->handed.calls, node) {
        handed_name(CONTAINER_OF(node, struct handed_call, node), named);
        buf_printf(out, "%s%s", out->len > 0 ? ", " : "", named);
    }
}

/* ---- life ------------------------------------------------------------------------------------ */

void handed_init(struct session *session)
{
    list_init(&session->handed.calls);
}

void handed_free(struct session *session)
{
    struct handed *h = &session->handed;
    loop_timer_close(take_ptr(h->tell), NULL);
    loop_timer_close(take_ptr(h->deadline), NULL);
    handed_release(take_ptr(h->tools));
}
