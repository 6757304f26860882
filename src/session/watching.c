/* Watchers of notebooks, in the daemon: each is told every event, from within what changes the
 * notebook. */
#include "session/watching.h"

#include "session/cell_json.h"
#include "wire/json.h"

#define EVENT_BYTES_MAX (8 * MIB)

struct watcher {
    struct list node;
    struct live_notebook *notebook; /* NULL once that is gone */
    watching_fn fn;
    void *context;
};

struct watcher *watching_begin(struct engine *engine, const char *id, watching_fn fn, void *context,
                               struct err *e)
{
    struct live_notebook *notebook = notebooks_ensure(engine, id);
    if (notebook->n_watchers >= WATCHING_MAX) {
        err_set(e, ERR_LIMIT, "%d callers watch this notebook already", WATCHING_MAX);
        err_advise(e, "Close streams of events that nobody reads.");
        return NULL;
    }
    struct watcher *watcher = mem_alloc(sizeof(*watcher));
    watcher->notebook = notebook;
    watcher->fn = fn;
    watcher->context = context;
    list_append(&notebook->watchers, &watcher->node);
    notebook->n_watchers++;
    return watcher;
}

void watching_end(struct watcher *watcher)
{
    if (watcher == NULL)
        return;
    struct live_notebook *notebook = watcher->notebook;
    list_remove(&watcher->node);
    free(watcher);
    if (notebook == NULL)
        return;
    notebooks_hold(notebook);
    notebook->n_watchers--;
    notebooks_let_go(notebook);
}

void watching_drop(struct live_notebook *notebook)
{
    LIST_EACH(&notebook->watchers, node) {
        struct watcher *watcher = CONTAINER_OF(node, struct watcher, node);
        list_remove(&watcher->node);
        watcher->notebook = NULL;
    }
    notebook->n_watchers = 0;
}

void watching_tell(struct live_notebook *notebook, const char *name, const struct buf *members)
{
    if (!watching_is_on(notebook))
        return;
    _buf_ struct buf json = BUF_INIT(EVENT_BYTES_MAX);
    buf_printf(&json, "{\"seq\":%llu%s", (unsigned long long)++notebook->seq,
               members->len > 0 ? "," : "");
    buf_append(&json, buf_str(members), members->len);
    buf_append_char(&json, '}');
    struct notebook_event event = {
        .seq = notebook->seq, .name = name, .json = buf_str(&json), .len = json.len};
    notebooks_hold(notebook);
    LIST_EACH(&notebook->watchers, node) {
        const struct watcher *watcher = CONTAINER_OF(node, struct watcher, node);
        watcher->fn(watcher->context, &event);
    }
    notebooks_let_go(notebook);
}

void watching_tell_cell(struct live_notebook *notebook, const char *name,
                        const struct store_cell *cell)
{
    if (!watching_is_on(notebook))
        return;
    _buf_ struct buf members = BUF_INIT(EVENT_BYTES_MAX);
    struct json_out json = JSON_OUT(&members);
    json_put_key(&json, "cell");
    cell_json_put(&json, cell, false);
    watching_tell(notebook, name, &members);
}
