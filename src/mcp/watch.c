/* Watched resources: the stream of a notebook's events, told as "it has changed". Daemon, on the
 * loop; owns the call that watches. */
#include "mcp/watch.h"

#include "mcp/resources.h"
#include "ops/ops.h"

enum { WATCH_EVERY_MS = 200 }; /* changes that come closer together are told once */

struct mcp_watch {
    struct mcp *mcp;
    struct call call;
    bool has_call, is_over;
    char *uri, *agent;
    struct loop_timer *timer;
    watch_fn fn;
    void *context;
};

static void watch_free(struct mcp_watch *w)
{
    json_decref(w->call.args);
    arena_free(&w->call.arena);
    free(w->uri);
    free(w->agent);
    free(w);
}

static struct mcp_watch *watch_of(struct call *call)
{
    return CONTAINER_OF(call, struct mcp_watch, call);
}

static void watch_called(struct mcp_watch *w)
{
    w->has_call = false;
    if (w->is_over)
        watch_free(w);
}

static void watch_on_reply(struct call *call, int status, const struct buf *json)
{
    (void)status;
    (void)json;
    watch_called(watch_of(call));
}

static void watch_on_fail(struct call *call, const struct err *e)
{
    (void)e;
    watch_called(watch_of(call));
}

static void watch_on_begin(struct call *call)
{
    (void)call;
}

static bool watch_on_event(struct call *call, const char *name, const char *json, size_t len)
{
    struct mcp_watch *w = watch_of(call);
    (void)json;
    (void)len;
    if (!w->is_over && strcmp(name, "watching") != 0 && !loop_timer_is_set(w->timer))
        loop_timer_set(w->timer, WATCH_EVERY_MS);
    return true;
}

static const struct call_sink watch_sink = {
    .reply = watch_on_reply,
    .fail = watch_on_fail,
    .begin = watch_on_begin,
    .event = watch_on_event,
};

static void watch_on_timer(void *context)
{
    struct mcp_watch *w = context;
    w->fn(w->context, w->uri);
}

struct mcp_watch *watch_new(struct mcp *mcp, const char *agent, const char *uri, watch_fn fn,
                            void *context)
{
    char session[RESOURCES_SESSION_SIZE];
    struct err ignored;
    struct mcp_watch *w = mem_alloc(sizeof(*w));
    const struct op *op = op_find("notebook.events");
    w->mcp = mcp;
    w->uri = mem_strdup(uri);
    w->agent = agent != NULL ? mem_strdup(agent) : NULL;
    w->fn = fn;
    w->context = context;
    w->timer = loop_timer_new(mcp->config.loop, watch_on_timer, w);
    json_t *args =
        resources_session(uri, session) ? json_pack("{s:s}", "session_id", session) : json_object();
    if (op_check(op, args, &ignored) < 0) {
        json_decref(args);
        return w;
    }
    w->has_call = true;
    w->call = (struct call){
        .op = op,
        .engine = mcp->config.engine,
        .policy = mcp->config.policy,
        .documents = mcp->config.documents,
        .boxes = mcp->config.boxes,
        .agent = w->agent,
        .args = args,
        .body_bytes = -1,
        .wants_stream = true,
        .sink = &watch_sink,
    };
    op_run(&w->call);
    return w;
}

void watch_end(struct mcp_watch *w)
{
    if (w == NULL)
        return;
    w->is_over = true;
    loop_timer_close(take_ptr(w->timer), NULL);
    if (w->has_call && w->call.on_gone != NULL) {
        w->has_call = false;
        w->call.on_gone(&w->call);
    }
    if (!w->has_call)
        watch_free(w);
}

void watch_end_all(struct map *watches)
{
    size_t at = 0;
    const char *uri;
    void *watch;
    while (map_next(watches, &at, &uri, &watch))
        watch_end(watch);
    map_free(watches);
}
