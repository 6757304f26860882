#include "ops/ops.h"
#include "session/session.h"
#include "wire/json.h"

static const struct op_param params[] = {{0}};

static void run(struct call *call)
{
    _buf_ struct buf out = BUF_INIT(CALL_REPLY_MAX);
    struct json_out json = JSON_OUT(&out);
    int64_t count = 0;
    json_put_object(&json);
    json_put_key(&json, "sessions");
    json_put_array(&json);
    for (struct session *s = session_next(call->engine, NULL); s != NULL;
         s = session_next(call->engine, s)) {
        if (s->is_unlisted || !call_sees(call, s->agent))
            continue;
        put_session(&json, s);
        count++;
    }
    json_put_array_end(&json);
    json_put_member_int(&json, "count", count);
    json_put_object_end(&json);
    call_reply(call, 200, &out);
}

static const struct op_verb verb = {
    .words = "ps",
    .summary = "list the sessions",
    .about =
        "Lists the daemon's sessions: id, state (plan: in plan mode), runtime, profile, agent,\n"
        "age, cells run, cells waiting, output, the exit code of one that ended, directory.",
    .examples = "cella ps\n"
                "cella ps --json | jq -r '.sessions[] | select(.runtime == \"bash\").session_id'",
};

const struct op op_session_list = {
    .name = "session.list",
    .method = "GET",
    .path = "/v1/sessions",
    .subject = OP_ON_SESSION,
    .flags = OP_READ_ONLY,
    .params = params,
    .doc = "Lists the sessions, live ones first; dead ones stay until they are deleted.",
    .run = run,
    .result = &shape_session_list,
    .example = "{}",
    .verb = &verb,
};
