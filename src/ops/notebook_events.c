#include "ops/notebook_call.h"
#include "session/session.h"
#include "wire/json.h"

static const struct op_param params[] = {OP_PARAM_NOTEBOOK, {0}};

/* In the call's arena. */
struct watching {
    struct call *call;
    struct store_call *look; /* whether there is such a notebook; NULL: that is known */
    struct watcher *watcher;
    uint64_t n_events;
    uint64_t n_dropped; /* since it was last told */
};

/* What the client was too slow for is counted, and told as soon as it has caught up. */
static bool tell_dropped(struct watching *w)
{
    char text[64];
    if (w->n_dropped == 0)
        return true;
    int len = snprintf(text, sizeof(text), "{\"dropped\":%llu}", (unsigned long long)w->n_dropped);
    if (!w->call->sink->event(w->call, "lagged", text, (size_t)len))
        return false;
    w->n_dropped = 0;
    return true;
}

static void on_drained(struct call *call)
{
    tell_dropped(call->op_state);
}

static void finish(struct watching *w)
{
    struct call *call = w->call;
    _buf_ struct buf out = BUF_INIT(CALL_REPLY_MAX);
    struct json_out json = JSON_OUT(&out);
    json_put_object(&json);
    json_put_member_str(&json, "notebook_id", call_text(call, "session_id", ""));
    json_put_member_int(&json, "events", (int64_t)w->n_events);
    json_put_object_end(&json);
    call_reply(call, 200, &out);
}

static void on_event(void *context, const struct notebook_event *event)
{
    struct watching *w = context;
    w->n_events++;
    if (!tell_dropped(w) || !w->call->sink->event(w->call, event->name, event->json, event->len))
        w->n_dropped++;
    if (strcmp(event->name, "deleted") != 0)
        return;
    watching_end(take_ptr(w->watcher));
    finish(w);
}

static void on_gone(struct call *call)
{
    struct watching *w = call->op_state;
    if (w->look != NULL)
        store_forget(w->look);
    if (w->watcher != NULL)
        watching_end(w->watcher);
}

static void begin(struct watching *w)
{
    struct err e;
    struct call *call = w->call;
    const char *id = call_text(call, "session_id", "");
    if (!call->wants_stream) { /* HEAD */
        finish(w);
        return;
    }
    w->watcher = watching_begin(call->engine, id, on_event, w, &e);
    if (w->watcher == NULL) {
        call_fail(call, &e);
        return;
    }
    call->on_drained = on_drained;
    call->must_notice_end = true; /* nobody else would */
    _buf_ struct buf out = BUF_INIT(KIB);
    struct json_out json = JSON_OUT(&out);
    json_put_object(&json);
    json_put_member_str(&json, "notebook_id", id);
    json_put_object_end(&json);
    call->sink->event(call, "watching", buf_str(&out), out.len);
}

static void on_row(void *context, const struct store_notebook *row, const struct err *e)
{
    struct watching *w = context;
    (void)row;
    w->look = NULL;
    if (e != NULL)
        call_fail(w->call, e);
    else
        begin(w);
}

static void run(struct call *call)
{
    if (!call_has_notebooks(call))
        return;
    const char *id = call_text(call, "session_id", "");
    struct watching *w = arena_alloc(&call->arena, sizeof(*w));
    w->call = call;
    call->op_state = w;
    call->on_gone = on_gone;
    if (notebook_session(call, id) != NULL)
        begin(w);
    else
        w->look = store_get_notebook(engine_store(call->engine), id, on_row, w);
}

const struct op op_notebook_events = {
    .name = "notebook.events",
    .method = "GET",
    .path = "/v1/notebooks/{session_id}/events",
    .flags = OP_READ_ONLY | OP_STREAMS | OP_ONLY_STREAMS,
    .params = params,
    .doc = "What happens to a notebook, as server-sent events, until it is deleted.",
    .run = run,
};
