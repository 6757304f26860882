#include "ops/ops.h"
#include "session/engine.h"
#include "wire/json.h"

static const struct op_param params[] = {{0}};

static void run(struct call *call)
{
    struct engine_stats stats;
    engine_stats(call->engine, &stats);
    _buf_ struct buf out = BUF_INIT(CALL_REPLY_MAX);
    struct json_out json = JSON_OUT(&out);
    json_put_object(&json);
    json_put_member_str(&json, "status", stats.is_ready ? "ok" : "starting");
    json_put_member_str(&json, "version", CELLA_VERSION);
    json_put_member_int(&json, "sessions", stats.sessions);
    json_put_member_int(&json, "pooled", stats.pooled);
    json_put_object_end(&json);
    call_reply(call, 200, &out);
}

const struct op op_health = {
    .name = "health",
    .method = "GET",
    .path = "/health",
    .flags = OP_READ_ONLY | OP_PUBLIC,
    .params = params,
    .doc = "Whether the daemon is ready to run code.",
    .run = run,
};
