/* What the operations on a session's files share: an order to the archivist, and the call that
 * waits for it. Daemon; on the loop. */
#include "ops/session_file_call.h"

#include "wire/json.h"

#include <errno.h>
#include <fcntl.h>

void file_call_failed(void *context, const struct err *e)
{
    call_fail(context, e);
}

static void file_call_gone(struct call *call)
{
    file_forget(call->op_state);
}

struct warden_file_order file_call_what(const struct call *call, enum warden_file_action action)
{
    struct warden_file_order what = {.action = action};
    const char *path = call_text(call, "path", "");
    while (path[0] == '/' && path[1] == '\0') /* the top, as people write it */
        path++;
    snprintf(what.path, sizeof(what.path), "%s", path);
    return what;
}

void file_call_order(struct call *call, const struct warden_file_order *what, int out,
                     const struct file_listener *listener)
{
    struct err e;
    struct file_order *order;
    struct session *session = call_session(call);
    if (session == NULL)
        return;
    if (session_file(session, what, out, listener, call, &order, &e) < 0) {
        call_fail(call, &e);
    } else if (order != NULL) {
        call->op_state = order;
        call->on_gone = file_call_gone;
    }
}

/* In the call's arena. */
struct file_reading {
    struct file_order *order; /* NULL once it was carried out */
    int pipe;
};

static void file_call_reader_gone(struct call *call)
{
    struct file_reading *reading = call->op_state;
    if (reading->order != NULL)
        file_forget(reading->order);
    cleanup_fd(&reading->pipe);
}

int file_call_pipe(struct call *call)
{
    struct file_reading *reading = call->op_state;
    call->on_gone = NULL;
    return take_fd(&reading->pipe);
}

void file_call_unread(void *context, const struct err *e)
{
    struct call *call = context;
    close(file_call_pipe(call));
    call_fail(call, e);
}

void file_call_read(struct call *call, const struct warden_file_order *what,
                    const struct file_listener *listener)
{
    struct err e;
    struct file_order *order;
    int ends[2];
    struct session *session = call_session(call);
    if (session == NULL)
        return;
    if (pipe2(ends, O_CLOEXEC) < 0) {
        err_errno(&e, ERR_UNAVAILABLE, errno, "there is no way for the bytes");
        call_fail(call, &e);
        return;
    }
    struct file_reading *reading = arena_alloc(&call->arena, sizeof(*reading));
    *reading = (struct file_reading){.pipe = ends[0]};
    call->op_state = reading;
    call->on_gone = file_call_reader_gone;
    int r = session_file(session, what, ends[1], listener, call, &order, &e);
    close(ends[1]);
    if (r < 0)
        file_call_unread(call, &e);
    else if (order != NULL)
        reading->order = order;
}

void file_call_reply(struct call *call, int http_status, const json_t *details, const char *member)
{
    _buf_ struct buf out = BUF_INIT(CALL_REPLY_MAX);
    struct json_out json = JSON_OUT(&out);
    json_put_value(&json, member != NULL ? json_object_get(details, member) : details);
    call_reply(call, http_status, &out);
}
