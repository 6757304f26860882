/* session.checkpoints: the timeline's tree, once the memory of its processes was measured. Daemon;
 * on the loop. */
#include "base/clock.h"
#include "ops/ops.h"
#include "runtime/snapshot.h"
#include "session/session.h"
#include "wire/json.h"

static const struct op_param checkpoint_list_params[] = {OP_PARAM_SESSION, {0}};

static void put_checkpoint(struct json_out *json, const struct checkpoint *checkpoint)
{
    char time[CLOCK_RFC3339_SIZE];
    bool is_awake = checkpoint->snapshot == NULL;
    json_put_object(json);
    json_put_member_int(json, "id", (int64_t)checkpoint->id);
    json_put_member_int(json, "parent",
                        checkpoint->parent != NULL ? (int64_t)checkpoint->parent->id : 0);
    json_put_member_int(json, "cell", (int64_t)checkpoint->last_cell);
    const struct timeline_cells *cells = &checkpoint->cells;
    json_put_key(json, "cells");
    json_put_array(json);
    for (size_t i = 0; i < cells->n; i++)
        json_put_int(json, (int64_t)cells->ids[i]);
    json_put_array_end(json);
    json_put_member_str(json, "at", clock_rfc3339(checkpoint->at_ms, time));
    if (checkpoint->memory_bytes != UINT64_MAX)
        json_put_member_int(json, "memory_bytes", (int64_t)checkpoint->memory_bytes);
    static const char *const names[] = {[FILES_NONE] = "none",
                                        [FILES_RECORDING] = "recording",
                                        [FILES_COVERED] = "covered",
                                        [FILES_TORN] = "torn"};
    const char *reason = checkpoint->files_reason;
    json_put_member_str(json, "files", names[checkpoint->files]);
    json_put_member_str(json, "files_reason", reason[0] != '\0' ? reason : NULL);
    const char *without = checkpoint->is_saved ? "durable" : "no";
    json_put_member_str(json, "restore", is_awake ? without : "process");
    json_put_member_str(json, "reason", is_awake ? checkpoint->reason : NULL);
    json_put_member_true(json, "saved", checkpoint->is_saved);
    if (checkpoint->threads > 1)
        json_put_member_int(json, "threads", checkpoint->threads);
    json_put_object_end(json);
}

static void checkpoint_list_reply(void *context)
{
    struct call *call = context;
    struct session *session = call_session(call);
    if (session == NULL)
        return;
    const struct timeline *timeline = &session->timeline;
    _buf_ struct buf out = BUF_INIT(CALL_REPLY_MAX);
    struct json_out json = JSON_OUT(&out);
    json_put_object(&json);
    json_put_key(&json, "checkpoints");
    json_put_array(&json);
    LIST_EACH(&timeline->checkpoints, node)
        put_checkpoint(&json, CONTAINER_OF(node, struct checkpoint, node));
    json_put_array_end(&json);
    json_put_member_int(&json, "current",
                        timeline->current != NULL ? (int64_t)timeline->current->id : 0);
    json_put_member_int(&json, "cells_since", (int64_t)timeline->since.n);
    json_put_member_int(&json, "count", (int64_t)timeline->n);
    json_put_object_end(&json);
    call_reply(call, 200, &out);
}

static void checkpoint_list_on_gone(struct call *call)
{
    timeline_census_forget(call->op_state);
}

static void checkpoint_list_run(struct call *call)
{
    struct session *session = call_session(call);
    if (session == NULL)
        return;
    struct timeline_census *census = timeline_measure(session, checkpoint_list_reply, call);
    if (census == NULL)
        return; /* and the call is over */
    call->op_state = census;
    call->on_gone = checkpoint_list_on_gone;
}

static const struct op_member checkpoint_members[] = {
    {"id", OP_INT, .is_always = true, .column = "ID", .doc = "Its number."},
    {"parent", OP_INT, .is_always = true, .column = "PARENT",
     .doc = "The one before it; 0: the beginning."},
    {"cell", OP_INT, .doc = "The last cell before it."},
    {"cells", OP_INT_LIST, .column = "CELLS", .doc = "The cells since its parent."},
    {"at", OP_TIME, .column = "AGE", .doc = "When it was made."},
    {"memory_bytes", OP_SIZE, .column = "MEMORY", .doc = "Memory that it holds."},
    {"files", OP_TEXT, .column = "FILES",
     .doc = "none, recording, covered or torn: whether it has the files."},
    {"files_reason", OP_TEXT, .doc = "Why it has not."},
    {"restore", OP_TEXT, .column = "RESTORE",
     .doc = "process, durable or no: how it can be gone back to."},
    {"reason", OP_TEXT, .doc = "Why it cannot."},
    {"saved", OP_BOOL, .doc = "Whether it is on disk."},
    {"threads", OP_INT, .doc = "How many threads ran."},
    {0},
};
static const struct op_shape shape_checkpoint = {"checkpoint", checkpoint_members,
                                                 "A point that a session can go back to."};

static const struct op_member checkpoint_list_members[] = {
    {"checkpoints", OP_LIST, .is_always = true, .shape = &shape_checkpoint,
     .doc = "The oldest first."},
    {"current", OP_INT, .is_always = true, .doc = "The one that the present state came from."},
    {"cells_since", OP_INT, .doc = "Cells that were run since."},
    {"count", OP_INT, .is_always = true, .doc = "How many there are."},
    {0},
};
static const struct op_shape shape_checkpoint_list = {"checkpoint_list", checkpoint_list_members,
                                                      "A session's checkpoints."};

static const struct op_verb checkpoint_list_verb = {
    .words = "checkpoints",
    .takes = (const char *const[]){"session_id", NULL},
    .summary = "list the checkpoints of a session",
    .about = "Lists the points that a session can be taken back to; * marks the one that its\n"
             "present state came from. `cella tree` draws them.",
    .examples = "cella checkpoints 0b9c",
};

const struct op op_checkpoint_list = {
    .name = "session.checkpoints",
    .method = "GET",
    .path = "/v1/sessions/{session_id}/checkpoints",
    .subject = OP_ON_HISTORY,
    .flags = OP_READ_ONLY,
    .params = checkpoint_list_params,
    .doc = "Lists the points of a session's history that it can go back to.",
    .run = checkpoint_list_run,
    .result = &shape_checkpoint_list,
    .example = "{\"session_id\": \"$session\"}",
    .verb = &checkpoint_list_verb,
};
