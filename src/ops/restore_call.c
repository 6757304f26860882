/* What a restoration came to, as an answer. Daemon; on the loop; a caller that goes away does not
 * stop the restoration. */
#include "ops/restore_call.h"

#include "ops/ops.h"
#include "session/session.h"
#include "wire/json.h"

static const char *files_name(enum restore_files files)
{
    static const char *const names[] = {[RESTORED_FILES] = "restored",
                                        [RESTORED_FILES_SAME] = "restored",
                                        [RESTORED_FILES_UNKNOWN] = "not_covered"};
    return names[files];
}

void restore_call_put(struct json_out *json, const struct restore_report *report)
{
    json_put_member_int(json, "from", (int64_t)report->from);
    json_put_member_int(json, "to", (int64_t)report->to);
    json_put_member_str(json, "restored_from", restore_source_name(report->source));
    if (report->cells.n > 0) {
        json_put_key(json, "cells");
        json_put_array(json);
        for (size_t i = 0; i < report->cells.n; i++)
            json_put_int(json, (int64_t)report->cells.ids[i]);
        json_put_array_end(json);
    }
    json_put_member_some(json, "more_cells", (int64_t)report->cells.n_more);
    json_put_member_str(json, "files", files_name(report->files));
    json_put_member_some(json, "files_changed", (int64_t)report->files_changed);
    if (report->files_reason[0] != '\0')
        json_put_member_str(json, "files_reason", report->files_reason);
    if (report->files_lost != NULL) {
        json_put_key(json, "files_lost");
        json_put_value(json, report->files_lost);
    }
    json_put_member_some(json, "ended_processes", (int64_t)report->ended_processes);
    if (report->names != NULL) {
        json_put_key(json, "names");
        json_put_value(json, report->names);
    }
    if (json_array_size(report->notes) > 0) {
        json_put_key(json, "not_undone");
        json_put_value(json, report->notes);
    }
}

static void restore_call_on_restored(void *context, const struct restore_report *report)
{
    struct call *call = context;
    _buf_ struct buf out = BUF_INIT(CALL_REPLY_MAX);
    struct json_out json = JSON_OUT(&out);
    json_put_object(&json);
    json_put_member_str(&json, "session_id", call_text(call, "session_id", ""));
    restore_call_put(&json, report);
    json_put_object_end(&json);
    call_reply(call, 200, &out);
}

const struct restore_listener restore_call_listener = {.on_restored = restore_call_on_restored,
                                                       .on_failed = call_failed};

static void restore_call_on_gone(struct call *call)
{
    restore_forget(call->op_state);
}

void restore_call_begun(struct call *call, struct session *session)
{
    if (session->restore == NULL)
        return; /* and the call is over */
    call->op_state = session->restore;
    call->on_gone = restore_call_on_gone;
}
