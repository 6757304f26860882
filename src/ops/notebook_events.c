/* notebook.events: a watcher's events as server-sent events. Daemon; on the loop; a caller that
 * reads too slowly is told how many were dropped. */
#include "ops/notebook_call.h"
#include "session/session.h"
#include "wire/json.h"

static const struct op_param notebook_events_params[] = {OP_PARAM_NOTEBOOK, {0}};

/* In the call's arena. */
struct watching {
    struct call *call;
    struct store_call *look; /* whether there is such a notebook; NULL once that is known */
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

static void notebook_events_finish(struct watching *w)
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
    notebook_events_finish(w);
}

static void notebook_events_on_gone(struct call *call)
{
    struct watching *w = call->op_state;
    if (w->look != NULL)
        store_forget(w->look);
    if (w->watcher != NULL)
        watching_end(w->watcher);
}

static void notebook_events_begin(struct watching *w)
{
    struct err e;
    struct call *call = w->call;
    const char *id = call_text(call, "session_id", "");
    if (!call->wants_stream) { /* HEAD */
        notebook_events_finish(w);
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

static void notebook_events_on_row(void *context, const struct store_notebook *row,
                                   const struct err *e)
{
    struct watching *w = context;
    (void)row;
    w->look = NULL;
    if (e != NULL)
        call_fail(w->call, e);
    else
        notebook_events_begin(w);
}

static void notebook_events_run(struct call *call)
{
    if (!call_has_notebooks(call))
        return;
    const char *id = call_text(call, "session_id", "");
    struct watching *w = arena_alloc(&call->arena, sizeof(*w));
    w->call = call;
    call->op_state = w;
    call->on_gone = notebook_events_on_gone;
    if (notebook_session(call, id) != NULL)
        notebook_events_begin(w);
    else
        w->look = store_get_notebook(engine_store(call->engine), id, notebook_events_on_row, w);
}

static const struct op_member watching_members[] = {
    {"notebook_id", OP_TEXT, .is_always = true, .doc = "The notebook."},
    {0},
};
static const struct op_shape shape_watching = {"watching", watching_members,
                                               "The beginning of a stream."};

static const struct op_member lagged_members[] = {
    {"dropped", OP_INT, .is_always = true, .doc = "How many."},
    {0},
};
static const struct op_shape shape_lagged = {"lagged", lagged_members,
                                             "Events that the client was too slow for."};

static const struct op_member cell_event_members[] = {
    {"seq", OP_INT, .is_always = true, .doc = "Counts the events of a notebook."},
    {"cell", OP_OBJECT, .is_always = true, .shape = &shape_cell, .doc = "The cell."},
    {0},
};
static const struct op_shape shape_cell_event = {"cell_event", cell_event_members,
                                                 "A cell that is new or has changed."};

static const struct op_member id_event_members[] = {
    {"seq", OP_INT, .is_always = true, .doc = "Counts the events of a notebook."},
    {"cell_id", OP_TEXT, .doc = "The cell."},
    {"number", OP_INT, .doc = "Of its last run."},
    {"index", OP_INT, .doc = "Its new place."},
    {"wait", OP_BOOL, .doc = "Not before something takes its place."},
    {0},
};
static const struct op_shape shape_id_event = {"id_event", id_event_members,
                                               "Something happened to a cell."};

static const struct op_member notebook_output_members[] = {
    {"seq", OP_INT, .is_always = true, .doc = "Counts the events of a notebook."},
    {"cell_id", OP_TEXT, .is_always = true, .doc = "The cell."},
    {"number", OP_INT, .doc = "Of its run."},
    {"stream", OP_TEXT, .doc = "stdout or stderr."},
    {"text", OP_TEXT, .doc = "What was written."},
    {"output", OP_OBJECT, .shape = &shape_output, .doc = "What was shown."},
    {"value", OP_BOOL, .doc = "It is the value of the cell."},
    {"update", OP_BOOL, .doc = "It takes the place of what has its display_id."},
    {0},
};
static const struct op_shape shape_notebook_output = {"notebook_output", notebook_output_members,
                                                      "A cell showed something."};

static const struct op_member cells_cleared_members[] = {
    {"seq", OP_INT, .is_always = true, .doc = "Counts the events of a notebook."},
    {"what", OP_TEXT, .doc = "outputs or cells."},
    {0},
};
static const struct op_shape shape_cells_cleared = {"cells_cleared", cells_cleared_members,
                                                    "Something was removed."};

static const struct op_member notebook_changed_members[] = {
    {"seq", OP_INT, .is_always = true, .doc = "Counts the events of a notebook."},
    {"title", OP_TEXT, .doc = "What it is called."},
    {"metadata", OP_FREE, .doc = "What callers keep with it."},
    {0},
};
static const struct op_shape shape_notebook_changed = {"notebook_changed", notebook_changed_members,
                                                       "A notebook was described anew."};

static const struct op_member notebook_deleted_members[] = {
    {"seq", OP_INT, .is_always = true, .doc = "Counts the events of a notebook."},
    {0},
};
static const struct op_shape shape_notebook_deleted = {"notebook_deleted", notebook_deleted_members,
                                                       "The notebook is gone."};

static const struct op_member cells_undone_members[] = {
    {"seq", OP_INT, .is_always = true, .doc = "Counts the events of a notebook."},
    {"after", OP_INT, .is_always = true, .doc = "Cells with a larger number are undone,"},
    {"redone", OP_INT_LIST, .is_always = true, .doc = "but for these."},
    {0},
};
static const struct op_shape shape_cells_undone = {"cells_undone", cells_undone_members,
                                                   "What cells did was taken back."};

static const struct op_event notebook_events[] = {
    {"watching", &shape_watching, "First of all: changes are told from now on."},
    {"cell_added", &shape_cell_event, "There is a new cell."},
    {"cell_changed", &shape_cell_event, "A cell was edited, or runs, or has ended."},
    {"cell_moved", &shape_id_event, "A cell has another index."},
    {"cell_removed", &shape_id_event, "A cell is gone."},
    {"output", &shape_notebook_output, "A cell wrote or showed something."},
    {"output_cleared", &shape_id_event, "The outputs of a cell are gone."},
    {"cells_cleared", &shape_cells_cleared, "All outputs or all cells are gone."},
    {"cells_undone", &shape_cells_undone,
     "An undo or a crash took cells back, a redo brought some."},
    {"notebook_changed", &shape_notebook_changed, "Title or metadata changed."},
    {"lagged", &shape_lagged, "Events were dropped, because the client was too slow."},
    {"deleted", &shape_notebook_deleted, "The notebook is gone: the last event but one."},
    {0},
};

static const struct op_member watched_members[] = {
    {"notebook_id", OP_TEXT, .is_always = true, .doc = "The notebook."},
    {"events", OP_INT, .is_always = true, .doc = "How many events there were."},
    {0},
};
static const struct op_shape shape_watched = {"watched", watched_members,
                                              "The end of a stream of events."};

const struct op op_notebook_events = {
    .name = "notebook.events",
    .method = "GET",
    .path = "/v1/notebooks/{session_id}/events",
    .subject = OP_ON_NOTEBOOK,
    .flags = OP_READ_ONLY | OP_STREAMS | OP_ONLY_STREAMS,
    .params = notebook_events_params,
    .doc = "What happens to a notebook, as server-sent events, until it is deleted.",
    .run = notebook_events_run,
    .result = &shape_watched,
    .events = notebook_events,
    .errors = OP_ERR(LIMIT),
    .example = "{\"session_id\": \"$notebook\"}",
};
