/* session.file_events: lines of the archivist's watch as server-sent events. Daemon; on the loop;
 * owns the pipe that they come through, which is not read while the caller is slow. */
#include "loop/loop.h"
#include "ops/session_file_call.h"
#include "session/engine.h"
#include "wire/json.h"

#include <errno.h>

enum { LINE_MAX_BYTES = 256 * 1024 };

static const struct op_param session_file_events_params[] = {
    OP_PARAM_SESSION, OP_PARAM_FOLDER, {0}};

/* What comes through the archivist's pipe, a line of JSON each. Nothing is read while the client
 * has not taken the last event: what changes meanwhile is told at once afterwards. */
struct file_watching {
    struct call *call;
    int pipe;
    struct loop_poll *poll;
    struct buf lines;
    uint64_t n_events;
};

static void watching_free(struct file_watching *w)
{
    loop_poll_close(w->poll, NULL);
    cleanup_fd(&w->pipe);
    buf_free(&w->lines);
    free(w);
}

static void watching_gone(struct call *call)
{
    watching_free(call->op_state);
}

/* The folder is gone, or the session. */
static void session_file_events_watching_end(struct file_watching *w)
{
    struct call *call = w->call;
    _buf_ struct buf out = BUF_INIT(KIB);
    struct json_out json = JSON_OUT(&out);
    json_put_object(&json);
    json_put_member_int(&json, "events", (int64_t)w->n_events);
    json_put_object_end(&json);
    watching_free(w);
    call_reply(call, 200, &out);
}

static void watching_pass_lines(struct file_watching *w)
{
    const char *end;
    while (w->lines.len > 0 && (end = memchr(w->lines.data, '\n', w->lines.len)) != NULL) {
        size_t len = (size_t)(end - w->lines.data);
        const char *name = w->n_events == 0 ? "watching" : "changed";
        if (!w->call->sink->event(w->call, name, w->lines.data, len)) {
            loop_poll_want(w->poll, 0); /* again when it has caught up */
            return;
        }
        w->n_events++;
        buf_consume(&w->lines, len + 1);
    }
    loop_poll_want(w->poll, LOOP_READ);
}

static void watching_read(void *context, int events)
{
    struct file_watching *w = context;
    (void)events;
    char piece[16 * 1024];
    ssize_t n = read(w->pipe, piece, sizeof(piece));
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n <= 0 || !buf_append(&w->lines, piece, (size_t)n)) {
        session_file_events_watching_end(w);
        return;
    }
    watching_pass_lines(w);
}

static void watching_drained(struct call *call)
{
    watching_pass_lines(call->op_state);
}

static void session_file_events_on_done(void *context, const struct file_result *result)
{
    struct call *call = context;
    struct err e;
    (void)result;
    struct file_watching *w = mem_alloc(sizeof(*w));
    *w = (struct file_watching){
        .call = call, .pipe = file_call_pipe(call), .lines = BUF_INIT(LINE_MAX_BYTES)};
    w->poll = loop_poll_new(engine_loop(call->engine), w->pipe, watching_read, w);
    if (w->poll == NULL) {
        watching_free(w);
        err_set(&e, ERR_UNAVAILABLE, "nothing more can be watched");
        call_fail(call, &e);
        return;
    }
    if (!call->wants_stream) { /* HEAD */
        session_file_events_watching_end(w);
        return;
    }
    call->op_state = w;
    call->on_gone = watching_gone;
    call->on_drained = watching_drained;
    call->must_notice_end = true; /* nobody else would */
    loop_poll_want(w->poll, LOOP_READ);
}

static const struct file_listener session_file_events_listener = {
    .on_done = session_file_events_on_done, .on_failed = file_call_unread};

static void session_file_events_run(struct call *call)
{
    struct warden_file_order what = file_call_what(call, WARDEN_FILE_WATCH);
    file_call_read(call, &what, &session_file_events_listener);
}

static const char *const file_changes[] = {"created", "changed", "deleted", NULL};
static const char *const changed_types[] = {"file", "folder", "other", NULL};

static const struct op_member file_change_members[] = {
    {"change", OP_CHOICE, .is_always = true, .choices = file_changes, .doc = "What happened."},
    {"path", OP_TEXT, .is_always = true, .doc = "Below /workspace."},
    {"type", OP_CHOICE, .is_always = true, .choices = changed_types, .doc = "What it is or was."},
    {"bytes", OP_SIZE, .doc = "Of a file that is there."},
    {0},
};
static const struct op_shape shape_file_change = {"file_change", file_change_members,
                                                  "One change of a file."};

static const struct op_member file_news_members[] = {
    {"changes", OP_LIST, .is_always = true, .shape = &shape_file_change, .doc = "200 at most."},
    {"left_out", OP_INT, .doc = "How many more there were."},
    {"too_many", OP_BOOL, .doc = "There are more names than are watched."},
    {0},
};
static const struct op_shape shape_file_news = {"file_news", file_news_members,
                                                "What changed since the last event."};

static const struct op_event file_event_list[] = {
    {"watching", &shape_file_news, "First of all: changes are told from now on."},
    {"changed", &shape_file_news, "Files were made, changed or deleted."},
    {0},
};

static const struct op_member files_watched_members[] = {
    {"events", OP_INT, .is_always = true, .doc = "How many there were."},
    {0},
};
static const struct op_shape shape_files_watched = {"files_watched", files_watched_members,
                                                    "The folder, or the session, is gone."};

const struct op op_session_file_events = {
    .name = "session.file_events",
    .method = "GET",
    .path = "/v1/sessions/{session_id}/changes",
    .subject = OP_ON_FILES,
    .flags = OP_READ_ONLY | OP_STREAMS | OP_ONLY_STREAMS,
    .params = session_file_events_params,
    .doc = "What changes in a folder of the workspace, as server-sent events, while it does.",
    .run = session_file_events_run,
    .result = &shape_files_watched,
    .events = file_event_list,
    .errors = OP_ERR(CONFLICT) | OP_ERR(GONE) | OP_ERR(LIMIT),
    .example = "{\"session_id\": \"$session\"}",
};
