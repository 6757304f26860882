/* Watched resources: the stream of a notebook's events, or of a folder's changes, told as "it has
 * changed". Where a folder cannot be watched (it is not there, the session sleeps), the notebook is
 * instead: whatever runs may have changed the file. Daemon, on the loop; owns the call that
 * watches. */
#include "mcp/watch.h"

#include "base/clock.h"
#include "mcp/resources.h"
#include "ops/ops.h"

enum {
    WATCH_EVERY_MS = 200,  /* changes that come closer together are told once */
    WATCH_AGAIN_MS = 1000, /* until what has ended is looked for, twice as long each time */
    WATCH_AGAIN_MAX = 9,   /* times: some eight minutes */
};

struct mcp_watch {
    struct mcp *mcp;
    struct call call;
    bool has_call, is_over;
    char *uri, *agent;
    char *session, *file; /* of the URI; `file` is NULL if it is a notebook's */
    const char *path;     /* the file; NULL if there is none, or the notebook is watched instead */
    unsigned n_again;     /* times that it was looked for in vain */
    bool has_news;        /* that are told when the timer is due */
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
    free(w->session);
    free(w->file);
    free(w);
}

static struct mcp_watch *watch_of(struct call *call)
{
    return CONTAINER_OF(call, struct mcp_watch, call);
}

static void watch_start(struct mcp_watch *w);

/* A notebook's events end with the notebook, or when their reader was too slow: there may be
 * another of this name, or the same one again. */
static void watch_called(struct mcp_watch *w)
{
    w->has_call = false;
    if (w->is_over) {
        watch_free(w);
    } else if (w->path == NULL) {
        w->has_news |= w->n_again == 0;
        if (w->n_again < WATCH_AGAIN_MAX)
            loop_timer_set(w->timer, clock_scaled_ms((uint64_t)WATCH_AGAIN_MS << w->n_again++));
    } else {
        w->path = NULL;
        w->has_news = true; /* the folder is gone or not there: whoever reads the file sees */
        loop_timer_set(w->timer, 0); /* starts anew from the loop: this call is not over yet */
    }
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

/* Changes of a folder: the file is among them, or may be. */
static bool watch_names(const struct mcp_watch *w, const char *json, size_t len)
{
    json_t *news = json_loadb(json, len, 0, NULL), *change;
    size_t i;
    bool is_named =
        json_object_get(news, "left_out") != NULL || json_object_get(news, "too_many") != NULL;
    json_array_foreach(json_object_get(news, "changes"), i, change) {
        const char *path = rpc_text(change, "path");
        is_named |= path != NULL && strcmp(path, w->path) == 0;
    }
    json_decref(news);
    return is_named;
}

static bool watch_on_event(struct call *call, const char *name, const char *json, size_t len)
{
    struct mcp_watch *w = watch_of(call);
    bool is_first = strcmp(name, "watching") == 0;
    /* A folder is watched a moment after the client was told so: its file may have changed. */
    bool is_news = w->path == NULL ? !is_first : is_first || watch_names(w, json, len);
    is_news |= w->n_again > 0; /* it is there again */
    w->n_again = 0;
    w->has_news |= is_news;
    if (!w->is_over && is_news && !loop_timer_is_set(w->timer))
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
    bool has_news = w->has_news;
    w->has_news = false;
    if (!w->has_call)
        watch_start(w);
    if (has_news)
        w->fn(w->context, w->uri);
}

/* The folder of a file, or the notebook. */
static json_t *watch_args(const struct mcp_watch *w)
{
    json_t *args = json_pack("{s:s}", "session_id", w->session);
    const char *slash = w->path != NULL ? strrchr(w->path, '/') : NULL;
    if (slash != NULL)
        json_object_set_new(args, "path", json_stringn(w->path, (size_t)(slash - w->path)));
    return args;
}

static void watch_start(struct mcp_watch *w)
{
    const struct op *op = op_find(w->path != NULL ? "session.file_events" : "notebook.events");
    const struct mcp_config *config = &w->mcp->config;
    struct err ignored;
    json_t *args = watch_args(w);
    if (op_check(op, args, &ignored) < 0) {
        json_decref(args);
        watch_called(w); /* no session is called so */
        return;
    }
    json_decref(w->call.args);
    arena_free(&w->call.arena);
    w->has_call = true;
    w->call = (struct call){
        .op = op,
        .engine = config->engine,
        .policy = config->policy,
        .documents = config->documents,
        .boxes = config->boxes,
        .agent = w->agent,
        .args = args,
        .body_bytes = -1,
        .wants_stream = true,
        .sink = &watch_sink,
    };
    op_run(&w->call);
}

struct mcp_watch *watch_new(struct mcp *mcp, const char *agent, const char *uri, watch_fn fn,
                            void *context, const char **ret_why)
{
    struct resources_uri parts;
    bool is_ours = resources_parse(uri, &parts, ret_why);
    if (!is_ours && mcp->more == NULL)
        return NULL;
    struct mcp_watch *w = mem_alloc(sizeof(*w));
    w->mcp = mcp;
    w->uri = mem_strdup(uri);
    w->agent = agent != NULL ? mem_strdup(agent) : NULL;
    w->fn = fn;
    w->context = context;
    w->timer = loop_timer_new(mcp->config.loop, watch_on_timer, w);
    if (!is_ours) /* a fixture's */
        return w;
    w->session = mem_strdup(parts.session);
    w->file = parts.file != NULL && parts.file[0] != '\0' ? mem_strdup(parts.file) : NULL;
    w->path = w->file;
    watch_start(w);
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
