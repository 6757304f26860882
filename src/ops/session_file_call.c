#include "ops/session_file_call.h"

void file_call_failed(void *context, const struct err *e)
{
    call_fail(context, e);
}

static void on_gone(struct call *call)
{
    file_forget(call->op_state);
}

void file_call_order(struct call *call, enum warden_file_action action, const char *blob,
                     const struct file_listener *listener)
{
    struct err e;
    struct file_order *order;
    struct session *session = call_session(call);
    if (session == NULL)
        return;
    if (session_file(session, action, call_text(call, "path", ""), blob, listener, call, &order,
                     &e) < 0) {
        call_fail(call, &e);
    } else if (order != NULL) {
        call->op_state = order;
        call->on_gone = on_gone;
    }
}
