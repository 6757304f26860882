/* health.detailed: runs a line of code, then tells of pools, zygotes, sessions and the store.
 * Daemon; on the loop. */
#include "base/clock.h"
#include "ops/ops.h"
#include "policy/policy.h"
#include "runtime/pool.h"
#include "session/oneshot.h"
#include "store/store.h"
#include "wire/json.h"

enum { CHECK_BUDGET = 4096 };

static const struct op_param health_detailed_params[] = {{0}};

/* Of one call; in its arena. */
struct health {
    struct call *call;
    struct engine_stats stats; /* before the check takes part in them */
    struct oneshot *oneshot;
};

/* What came of running a line of code. */
struct check {
    const char *failure; /* NULL if none */
    double ms;
};

static void put_report(struct json_out *json, const json_t *report)
{
    static const char *const members[] = {"python", "loaded", "skipped", "import_ms"};
    static const char *const names[] = {"python_version", "preloaded_modules", "skipped_modules",
                                        "import_ms"};
    for (size_t i = 0; i < ARRAY_LEN(members); i++) {
        const json_t *value = json_object_get(report, members[i]);
        if (value == NULL)
            continue;
        json_put_key(json, names[i]);
        json_put_value(json, value);
    }
}

static void put_profile(struct json_out *json, const struct pool_stats *stats)
{
    static const char *const states[] = {[ZYGOTE_ASLEEP] = "asleep",
                                         [ZYGOTE_STARTING] = "starting",
                                         [ZYGOTE_READY] = "ready",
                                         [ZYGOTE_PAUSED] = "failed"};
    const struct runtime_zygote *zygote = stats->zygote;
    json_put_object(json);
    json_put_member_str(json, "profile", zygote->profile->name);
    json_put_member_str(json, "runtime", zygote->profile->runtime->name);
    json_put_member_str(json, "state", states[zygote->state]);
    json_put_member_int(json, "size", stats->size);
    json_put_member_int(json, "ready", stats->ready);
    json_put_member_int(json, "hits", (int64_t)stats->hits);
    json_put_member_int(json, "misses", (int64_t)stats->misses);
    if (zygote->ready_at_ms >= zygote->started_at_ms && zygote->ready_at_ms > 0)
        json_put_member_int(json, "warmup_ms",
                            (int64_t)(zygote->ready_at_ms - zygote->started_at_ms));
    put_report(json, zygote->report);
    if (zygote->failure[0] != '\0')
        json_put_member_str(json, "failure", zygote->failure);
    if (zygote->profile->missing != NULL)
        json_put_member_str(json, "missing", zygote->profile->missing);
    json_put_object_end(json);
}

static void put_sandbox(struct json_out *json, const struct call *call)
{
    const struct config *config = call->policy->config;
    const struct pool *pool = engine_pool(call->engine);
    struct pool_stats one, all = {0};
    json_put_key(json, "sandbox");
    json_put_object(json);
    json_put_member_bool(json, "repl_enabled", config->is_warm);
    json_put_member_str(json, "default_profile", engine_config_of(call->engine)->default_profile);
    json_put_member_int(json, "warmup_timeout_secs", config->warmup_timeout_secs);
    json_put_key(json, "profiles");
    json_put_array(json);
    for (size_t i = 0; pool != NULL && pool_stats(pool, i, &one); i++) {
        bool is_in_use = one.zygote->state != ZYGOTE_ASLEEP || one.zygote->failure[0] != '\0';
        all.size += is_in_use ? one.size : 0;
        all.ready += one.ready;
        all.hits += one.hits;
        all.misses += one.misses;
        put_profile(json, &one);
    }
    json_put_array_end(json);
    json_put_member_int(json, "size", all.size);
    json_put_member_int(json, "ready", all.ready);
    json_put_member_int(json, "hits", (int64_t)all.hits);
    json_put_member_int(json, "misses", (int64_t)all.misses);
    json_put_object_end(json);
}

static void put_store(struct json_out *json, const struct call *call)
{
    struct store *store = engine_store(call->engine);
    if (store == NULL)
        return;
    struct store_health health;
    store_health(store, &health);
    json_put_key(json, "store");
    json_put_object(json);
    json_put_member_bool(json, "ok", !health.is_failing);
    json_put_member_str(json, "error", health.is_failing ? health.error.message : NULL);
    json_put_member_int(json, "queued", (int64_t)health.queued);
    json_put_member_int(json, "groups_written", (int64_t)health.groups);
    json_put_member_int(json, "database_bytes", (int64_t)health.db_bytes);
    json_put_member_int(json, "journal_bytes", (int64_t)health.journal_bytes);
    json_put_member_int(json, "memory_bytes", (int64_t)health.memory_bytes);
    json_put_object_end(json);
}

static void put_clients(struct json_out *json, const struct call_clients *clients)
{
    if (clients == NULL)
        return;
    json_put_key(json, "mcp");
    json_put_object(json);
    json_put_member_int(json, "sessions", (int64_t)clients->sessions);
    json_put_member_int(json, "listeners", (int64_t)clients->listeners);
    json_put_member_int(json, "tasks", (int64_t)clients->tasks);
    json_put_member_int(json, "task_bytes", (int64_t)clients->task_bytes);
    json_put_object_end(json);
}

static void health_detailed_answer(const struct health *health, const struct check *check)
{
    struct call *call = health->call;
    const struct engine_stats *stats = &health->stats;
    const char *healthy = stats->is_ready ? "ok" : "starting";
    _buf_ struct buf out = BUF_INIT(CALL_REPLY_MAX);
    struct json_out json = JSON_OUT(&out);
    json_put_object(&json);
    json_put_member_str(&json, "status",
                        stats->is_ready && check->failure != NULL ? "unhealthy" : healthy);
    json_put_member_str(&json, "version", CELLA_VERSION);
    json_put_member_int(&json, "sessions", stats->sessions);
    json_put_member_int(&json, "pooled", stats->pooled);
    json_put_member_int(&json, "copying", (int64_t)stats->copying);
    json_put_member_int(&json, "to_copy", (int64_t)stats->to_copy);
    json_put_member_int(&json, "heap_bytes", (int64_t)mem_in_use());
    json_put_key(&json, "check");
    json_put_object(&json);
    json_put_member_bool(&json, "ok", check->failure == NULL);
    json_put_member_int(&json, "timeout_secs", call->policy->config->health_check_timeout_secs);
    if (check->failure == NULL)
        json_put_member_real(&json, "execution_time_ms", check->ms, 3);
    json_put_member_str(&json, "error", check->failure);
    json_put_object_end(&json);
    put_sandbox(&json, call);
    put_store(&json, call);
    put_clients(&json, call->clients);
    json_put_object_end(&json);
    call_reply(call, 200, &out);
}

static void health_detailed_on_done(void *context, const struct oneshot_answer *ran)
{
    struct check check = {.ms = ran->duration_ms};
    if (ran->exit_code != 0)
        check.failure = buf_str(&ran->error);
    health_detailed_answer(context, &check);
}

static void health_detailed_on_failed(void *context, const struct err *e)
{
    health_detailed_answer(context, &(struct check){.failure = e->message});
}

static const struct oneshot_listener health_detailed_listener = {
    .on_done = health_detailed_on_done, .on_failed = health_detailed_on_failed};

static void health_detailed_on_gone(struct call *call)
{
    struct health *health = call->op_state;
    oneshot_forget(health->oneshot);
}

/* Being healthy is to run code: a line of it, in a sandbox from the pool. */
static void health_detailed_run(struct call *call)
{
    struct err e;
    struct health *health = arena_alloc(&call->arena, sizeof(*health));
    health->call = call;
    engine_stats(call->engine, &health->stats);
    uint32_t limit_ms = call->policy->config->health_check_timeout_secs * 1000;
    struct oneshot_request request = {.session = {.runtime = &runtime_python, .is_own = true},
                                      .code = "pass",
                                      .code_len = sizeof("pass") - 1,
                                      .timeout_ms = limit_ms,
                                      .limit_ms = limit_ms,
                                      .budget = CHECK_BUDGET,
                                      .listener = &health_detailed_listener,
                                      .context = health};
    if (!health->stats.is_ready) {
        health_detailed_answer(health,
                               &(struct check){.failure = "the default profile is being loaded"});
    } else if (oneshot_start(call->engine, &request, &health->oneshot, &e) < 0) {
        health_detailed_on_failed(health, &e);
    } else if (health->oneshot != NULL) {
        call->op_state = health;
        call->on_gone = health_detailed_on_gone;
    }
}

static const struct op_member health_detailed_check_members[] = {
    {"ok", OP_BOOL, .is_always = true, .doc = "Whether it ran."},
    {"timeout_secs", OP_INT, .doc = "How long it may take."},
    {"execution_time_ms", OP_NUMBER, .doc = "How long it took."},
    {"error", OP_TEXT, .doc = "Why it failed."},
    {0},
};
static const struct op_shape shape_check = {"check", health_detailed_check_members,
                                            "A line of code that was run."};

static const struct op_member profile_members[] = {
    {"profile", OP_TEXT, .is_always = true, .doc = "Its name."},
    {"runtime", OP_TEXT, .is_always = true, .doc = "What runs it."},
    {"state", OP_TEXT, .is_always = true, .doc = "asleep, starting, ready or failed."},
    {"size", OP_INT, .doc = "How many interpreters are to be ready."},
    {"ready", OP_INT, .doc = "How many are."},
    {"hits", OP_INT, .doc = "Sessions that got one at once."},
    {"misses", OP_INT, .doc = "Those that had to wait."},
    {"warmup_ms", OP_INT, .doc = "How long loading took."},
    {"python_version", OP_TEXT, .doc = "Of its Python."},
    {"preloaded_modules", OP_ANY, .doc = "What is imported."},
    {"skipped_modules", OP_ANY, .doc = "What could not be."},
    {"import_ms", OP_ANY, .doc = "How long that took."},
    {"failure", OP_TEXT, .doc = "Why it failed."},
    {"missing", OP_TEXT, .doc = "What this machine lacks for it."},
    {0},
};
static const struct op_shape shape_profile = {"profile", profile_members, "A profile."};

static const struct op_member sandbox_members[] = {
    {"repl_enabled", OP_BOOL, .is_always = true, .doc = "Whether interpreters are kept ready."},
    {"default_profile", OP_TEXT, .is_always = true, .doc = "Of sessions that name none."},
    {"warmup_timeout_secs", OP_INT, .doc = "How long loading may take."},
    {"profiles", OP_LIST, .is_always = true, .shape = &shape_profile, .doc = "The profiles."},
    {"size", OP_INT, .doc = "How many interpreters are to be ready."},
    {"ready", OP_INT, .doc = "How many are."},
    {"hits", OP_INT, .doc = "Sessions that got one at once."},
    {"misses", OP_INT, .doc = "Those that had to wait."},
    {0},
};
static const struct op_shape shape_sandbox = {"sandbox", sandbox_members,
                                              "What is ready to run code."};

static const struct op_member store_members[] = {
    {"ok", OP_BOOL, .is_always = true, .doc = "Whether writing works."},
    {"error", OP_TEXT, .doc = "Why not."},
    {"queued", OP_INT, .doc = "What waits to be written."},
    {"groups_written", OP_INT, .doc = "Transactions so far."},
    {"database_bytes", OP_SIZE, .doc = "Of the database."},
    {"journal_bytes", OP_SIZE, .doc = "Of its journal."},
    {"memory_bytes", OP_SIZE, .doc = "Of heap_bytes: the database's cache and statements."},
    {0},
};
static const struct op_shape shape_store = {"store", store_members, "How writing to disk goes."};

static const struct op_member clients_members[] = {
    {"sessions", OP_INT, .is_always = true, .doc = "Clients with a session, or a line."},
    {"listeners", OP_INT, .is_always = true, .doc = "Requests that hear of changes."},
    {"tasks", OP_INT, .is_always = true, .doc = "Under way, or to be fetched."},
    {"task_bytes", OP_SIZE, .is_always = true, .doc = "Of heap_bytes: what these tasks take."},
    {0},
};
static const struct op_shape shape_clients = {"mcp_clients", clients_members,
                                              "What is kept for clients of MCP."};

static const struct op_member health_detailed_members[] = {
    {"status", OP_TEXT, .is_always = true, .doc = "ok, starting or unhealthy."},
    {"version", OP_TEXT, .is_always = true, .doc = "Of the daemon."},
    {"sessions", OP_INT, .doc = "How many there are."},
    {"pooled", OP_INT, .doc = "Interpreters that are ready."},
    {"copying", OP_INT, .doc = "Sessions whose memory is being copied for a checkpoint or a save."},
    {"to_copy", OP_INT, .doc = "Those that wait for their turn."},
    {"heap_bytes", OP_SIZE, .doc = "Memory that the daemon has allocated."},
    {"check", OP_OBJECT, .is_always = true, .shape = &shape_check,
     .doc = "What came of running a line of code."},
    {"sandbox", OP_OBJECT, .is_always = true, .shape = &shape_sandbox, .doc = "What is ready."},
    {"store", OP_OBJECT, .shape = &shape_store, .doc = "How writing to disk goes."},
    {"mcp", OP_OBJECT, .shape = &shape_clients, .doc = "What is kept for clients of MCP."},
    {0},
};
static const struct op_shape shape_health_detailed = {"health_detailed", health_detailed_members,
                                                      "Whether code can be run, tried out."};

static const struct op_verb health_detailed_verb = {
    .words = "health check",
    .summary = "run a line of code, and say what is ready for more",
    .examples = "cella health check",
};

const struct op op_health_detailed = {
    .name = "health.detailed",
    .method = "GET",
    .path = "/health/detailed",
    .subject = OP_ON_DAEMON,
    .flags = OP_READ_ONLY,
    .params = health_detailed_params,
    .doc = "Runs a line of code, and tells what is ready for more and what is not.",
    .run = health_detailed_run,
    .result = &shape_health_detailed,
    .example = "{}",
    .verb = &health_detailed_verb,
};
