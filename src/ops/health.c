/* health: from counters alone, so that it answers while everything else is busy. Daemon; on the
 * loop. */
#include "ops/ops.h"
#include "session/engine.h"
#include "wire/json.h"

static const struct op_param health_params[] = {{0}};

static void health_run(struct call *call)
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

static const struct op_member health_members[] = {
    {"status", OP_TEXT, .is_always = true, .doc = "ok or starting."},
    {"version", OP_TEXT, .is_always = true, .doc = "Of the daemon."},
    {"sessions", OP_INT, .doc = "How many there are."},
    {"pooled", OP_INT, .doc = "Interpreters that are ready."},
    {0},
};
static const struct op_shape shape_health = {"health", health_members,
                                             "Whether the daemon is ready."};

static const struct op_verb health_verb = {
    .words = "health",
    .summary = "say whether the daemon is ready",
    .examples = "cella health",
};

const struct op op_health = {
    .name = "health",
    .method = "GET",
    .path = "/health",
    .subject = OP_ON_DAEMON,
    .flags = OP_READ_ONLY | OP_PUBLIC,
    .params = health_params,
    .doc = "Whether the daemon is ready to run code.",
    .run = health_run,
    .result = &shape_health,
    .example = "{}",
    .verb = &health_verb,
};
