/* The gate: the one check that every operation passes before it runs, whichever surface it came
 * through. It asks the table what the parameters mean and what the operation uses, so that an
 * operation which is added there cannot forget a limit:
 *
 *   whom the call speaks for -> whose things it is about -> plan mode -> what the owner may use
 *
 * What a session needs to live (place among its agent's sessions, runtime, limits) is asked once
 * more by the engine when it is made or woken, through policy_admit: only then is its number
 * certain. Daemon; on the loop; owns nothing. */
#include "base/clock.h"
#include "base/ids.h"
#include "ops/create_call.h"
#include "ops/naming.h"
#include "ops/ops.h"
#include "ops/tool_call.h"
#include "policy/policy.h"
#include "session/spec.h"
#include "store/notebooks.h"
#include "wire/json.h"

/* Of the tool's own protocol, which is older than this daemon: not our words. */
#define TOOL_KIND "bash"
#define TOOL_HINT "Call ExitPlanMode { final_plan } when the plan is ready."

enum {
    TIMEOUT_DEFAULT_MS = 30 * 1000,
    PICTURES_DEFAULT = 4 * 1024 * 1024,
};

const char *const op_meanings[OP_MEANINGS] = {
    [OP_MEANS_NOTHING] = NULL,        [OP_MEANS_SESSION] = "session",
    [OP_MEANS_NOTEBOOK] = "notebook", [OP_MEANS_JOINED] = "joined_session",
    [OP_MEANS_STATE] = "state",       [OP_MEANS_FILE] = "file",
    [OP_MEANS_AGENT] = "agent",       [OP_MEANS_SPEAKER] = "speaker",
    [OP_MEANS_BINDING] = "binding",   [OP_MEANS_RUNTIME] = "runtime",
    [OP_MEANS_SESSIONS] = "sessions", [OP_MEANS_TIMEOUT] = "timeout",
    [OP_MEANS_BUDGET] = "budget",     [OP_MEANS_LIMITS] = "limits",
};

/* A call at the gate; in its arena. */
struct visit {
    struct call *call;
    unsigned uses;
    const struct op_param *by_meaning[OP_MEANINGS]; /* NULL if there is no such parameter */
    struct session *session; /* that it is about; NULL if it is about none, or none that exists */
    const struct session *joined; /* likewise */
    const char *owner;            /* of what it is about or makes */
    const char *runtime;          /* NULL if unknown, or the operation's to refuse */
};

/* Why a call may not run. */
struct obstacle {
    const struct plan *plan;
    const char *kind; /* "session", "agent" */
    const char *name;
};

/* The text that was given for what has this meaning; NULL if there is none. */
static const char *given(const struct visit *v, enum op_meaning meaning)
{
    const struct op_param *p = v->by_meaning[meaning];
    return p != NULL ? call_text(v->call, p->name, NULL) : NULL;
}

/* ---- whom it speaks for ---------------------------------------------------------------------- */

static int settle_speaker(struct visit *v, struct err *e)
{
    struct call *call = v->call;
    const char *named = given(v, OP_MEANS_SPEAKER);
    if (named != NULL && call->agent != NULL && strcmp(named, call->agent) != 0) {
        err_set(e, ERR_INVALID, "the request speaks for two agents, \"%.64s\" and \"%.64s\"",
                call->agent, named);
        return err_advise(e, "Name one of them only.");
    }
    if (named != NULL)
        call->agent = named;
    if (call->agent == NULL || config_find_agent(call->policy->config, call->agent) != NULL)
        return 0;
    struct agents_grant ignored;
    struct agents_claim claim = {.agent = call->agent};
    return agents_resolve(call->policy->config, &claim, &ignored, e); /* says that there is none */
}

/* ---- whose things it is about ---------------------------------------------------------------- */

bool call_sees(const struct call *call, const char *agent)
{
    return call->agent == NULL ||
           strcmp(call->agent, agent != NULL ? agent : CONFIG_DEFAULT_AGENT) == 0;
}

const char *call_owner(const struct call *call)
{
    return call->agent != NULL ? call->agent : CONFIG_DEFAULT_AGENT;
}

/* What is another agent's does not exist for this one. */
static bool is_hidden(const struct visit *v, const char *owner)
{
    const struct call *call = v->call;
    bool is_own_only = call->op->flags & OP_OWN_ONLY;
    return is_own_only ? strcmp(call_owner(call), owner) != 0 : !call_sees(call, owner);
}

static int refuse_hidden(const char *kind, const char *name, struct err *e)
{
    err_set(e, ERR_NOT_FOUND, "%s not found: %.64s", kind, name);
    return err_advise(e, "An agent finds only its own.");
}

/* Where a session's name was given its id stands from here on. What is neither is the operation's
 * to refuse. */
static int take_names(struct visit *v, struct err *e)
{
    static const enum op_meaning meanings[] = {OP_MEANS_SESSION, OP_MEANS_NOTEBOOK,
                                               OP_MEANS_JOINED};
    struct call *call = v->call;
    for (size_t i = 0; i < ARRAY_LEN(meanings); i++) {
        struct err unfound = {.code = ERR_NONE};
        const char *name = given(v, meanings[i]);
        if (name == NULL || ids_is_uuid(name, strlen(name)))
            continue;
        const struct session *session = naming_find(call, name, &unfound);
        if (session == NULL && unfound.code == ERR_CONFLICT) {
            *e = unfound;
            return -1;
        }
        if (session != NULL)
            json_object_set_new(call->args, v->by_meaning[meanings[i]]->name,
                                json_string(session->id));
    }
    return 0;
}

static int find_session(struct visit *v, struct err *e)
{
    struct err ignored;
    const char *id = given(v, OP_MEANS_SESSION);
    const char *kind = id != NULL ? "session" : "notebook";
    if (id == NULL)
        id = given(v, OP_MEANS_NOTEBOOK);
    v->session = id != NULL ? session_find(v->call->engine, id, &ignored) : NULL;
    if (v->session == NULL)
        return 0;
    v->owner = policy_agent_of(v->session);
    v->runtime = v->session->runtime->name;
    return is_hidden(v, v->owner) ? refuse_hidden(kind, id, e) : 0;
}

/* Whoever shares a sandbox sees its files: only an agent's own is joined. */
static int find_joined(struct visit *v, struct err *e)
{
    struct err ignored;
    const char *id = given(v, OP_MEANS_JOINED);
    v->joined = id != NULL ? session_find(v->call->engine, id, &ignored) : NULL;
    if (v->joined == NULL || strcmp(policy_agent_of(v->joined), v->owner) == 0)
        return 0;
    err_set(e, ERR_FORBIDDEN, "the session %s belongs to another agent", v->joined->id);
    return err_advise(e, "Join a session of the agent \"%s\".", v->owner);
}

static int find_subjects(struct visit *v, struct err *e)
{
    const char *agent = given(v, OP_MEANS_AGENT);
    v->owner = call_owner(v->call);
    v->runtime = v->by_meaning[OP_MEANS_RUNTIME] != NULL
                     ? call_text(v->call, v->by_meaning[OP_MEANS_RUNTIME]->name, "python")
                     : NULL;
    if (agent != NULL && is_hidden(v, agent))
        return refuse_hidden("agent", agent, e);
    return find_session(v, e) < 0 || find_joined(v, e) < 0 ? -1 : 0;
}

/* ---- plan mode ------------------------------------------------------------------------------- */

static bool agent_plans(const struct call *call, const char *agent, struct obstacle *ret)
{
    *ret = (struct obstacle){policy_plan_of(call->policy, agent), "agent", agent};
    return ret->plan != NULL;
}

static bool session_plans(const struct call *call, const struct session *session,
                          struct obstacle *ret)
{
    if (session == NULL)
        return false;
    if (agent_plans(call, policy_agent_of(session), ret))
        return true;
    *ret = (struct obstacle){&session->plan, "session", session->id};
    return plan_is_on(ret->plan);
}

static bool is_guarded(const struct call *call)
{
    const struct op *op = call->op;
    return op->flags & OP_MUTATING && !(op->flags & OP_PLANS) &&
           (op->only_reads == NULL || !op->only_reads(call));
}

static bool is_obstructed(const struct visit *v, struct obstacle *ret)
{
    const struct call *call = v->call;
    return is_guarded(call) &&
           (agent_plans(call, v->owner, ret) || session_plans(call, v->session, ret) ||
            session_plans(call, v->joined, ret));
}

static void refuse_planned(struct call *call, const struct obstacle *obstacle)
{
    const struct op *op = call->op;
    const char *tool = op->tool != NULL ? op->tool : op->name;
    struct err e;
    char time[CLOCK_RFC3339_SIZE];
    err_set(&e, ERR_CONFLICT, "the %s %s is in plan mode: %s was not run", obstacle->kind,
            obstacle->name, tool);
    err_advise(&e, "Reading is possible. DELETE /v1/%ss/%s/plan leaves plan mode.", obstacle->kind,
               obstacle->name);
    _buf_ struct buf out = BUF_INIT(CALL_REPLY_MAX);
    struct json_out json = JSON_OUT(&out);
    json_put_object(&json);
    json_put_member_error(&json, &e);
    json_put_key(&json, "refusal");
    json_put_object(&json);
    json_put_member_str(&json, "tool_name", tool);
    json_put_member_str(&json, "tool_kind", TOOL_KIND);
    json_put_member_str(&json, "hint", TOOL_HINT);
    json_put_member_str(&json, "entered_at", clock_rfc3339(obstacle->plan->entered_at_ms, time));
    json_put_key(&json, "entered_reason"); /* null without one: agents know these five members */
    json_put_str(&json, obstacle->plan->reason);
    json_put_object_end(&json);
    json_put_object_end(&json);
    call->wants_stream = false; /* a refusal is an answer with a status, never an event */
    call_reply(call, err_http_status(e.code), &out);
}

/* ---- what the owner may use ------------------------------------------------------------------ */

/* How many sessions there will be more. A notebook without a live session gets one to run in. */
static size_t count_new(const struct visit *v)
{
    const struct op_param *count = v->by_meaning[OP_MEANS_SESSIONS];
    bool is_reborn = v->by_meaning[OP_MEANS_NOTEBOOK] != NULL && v->uses & OP_RUNS_CODE &&
                     (v->session == NULL || v->session->state == SESSION_DEAD);
    if (is_reborn)
        return 1;
    if (!(v->uses & OP_MAKES_SESSION))
        return 0;
    return count != NULL ? (size_t)call_int(v->call, count->name, 1) : 1;
}

static int check_amounts(struct visit *v, const struct agents_grant *grant, struct err *e)
{
    struct call *call = v->call;
    const struct op_param *timeout = v->by_meaning[OP_MEANS_TIMEOUT];
    if (timeout != NULL &&
        agents_check_timeout(grant, (uint64_t)call_int(call, timeout->name, 0), e) < 0)
        return -1;
    if (v->by_meaning[OP_MEANS_LIMITS] != NULL &&
        agents_check_limits(grant, call_limits(call), e) < 0)
        return -1;
    /* A copy gets the limits of its source, which may be older than the ceiling. */
    if (v->session != NULL && v->uses & OP_MAKES_SESSION)
        return agents_check_limits(grant, &v->session->limits, e);
    /* Who joins has those of the sandbox. */
    return v->joined != NULL ? agents_check_limits(grant, &v->joined->limits, e) : 0;
}

static int check_runtime(const struct visit *v, const struct agents_grant *grant, struct err *e)
{
    bool is_notebook = v->by_meaning[OP_MEANS_NOTEBOOK] != NULL;
    if (v->runtime == NULL)
        return 0;
    if (is_notebook && runtime_by_name(v->runtime) == NULL) {
        err_set(e, ERR_CONFLICT, "the notebook's language is %.64s, which cannot be run here",
                v->runtime);
        return err_advise(e, "Export it, and import it with a \"runtime\".");
    }
    return agents_check_runtime(grant, v->runtime, e);
}

static int check_uses(struct visit *v, struct err *e)
{
    struct call *call = v->call;
    const char *binding = given(v, OP_MEANS_BINDING);
    struct agents_claim claim = {
        .agent = v->owner,
        .binding = binding != NULL || v->session == NULL ? binding : v->session->binding};
    struct agents_grant *grant = arena_alloc(&call->arena, sizeof(*grant));
    if (v->uses != 0 && agents_resolve(call->policy->config, &claim, grant, e) < 0)
        return -1;
    if (v->uses == 0 && !agents_look_up(call->policy->config, &claim, grant))
        return 0;
    call->grant = grant;
    size_t n_new = count_new(v);
    if (v->uses & (OP_MAKES_SESSION | OP_RUNS_CODE) && check_runtime(v, grant, e) < 0)
        return -1;
    if (n_new > 0 && policy_check_number(call->policy, call->engine, v->owner, grant, n_new, e) < 0)
        return -1;
    return check_amounts(v, grant, e);
}

/* ---- what it was given ----------------------------------------------------------------------- */

uint32_t call_timeout_ms(const struct call *call)
{
    uint32_t usual = TIMEOUT_DEFAULT_MS;
    const struct config_repl *repl = call->grant != NULL ? &call->grant->repl : NULL;
    bool is_left_running = json_object_get(call->args, "yield_ms") != NULL;
    if (repl != NULL && is_left_running && repl->max_timeout_secs > 0)
        usual = repl->max_timeout_secs * 1000;
    else if (call->usual != NULL && call->usual->timeout_ms > 0)
        usual = call->usual->timeout_ms;
    else if (repl != NULL)
        usual = repl->timeout_secs * 1000;
    return (uint32_t)call_int(call, "timeout_ms", usual);
}

/* What a tool was told, or the session or the agent has set; 0: nothing. */
static uint64_t set_budget(const struct call *call)
{
    uint64_t of_agent = call->grant != NULL ? call->grant->repl.budget : 0;
    if (call->tool != NULL && call->tool->budget > 0)
        return call->tool->budget;
    return call->usual != NULL && call->usual->budget > 0 ? call->usual->budget : of_agent;
}

size_t call_budget(const struct call *call, size_t usual)
{
    int64_t most = call->grant != NULL ? call->grant->repl.max_answer_bytes : INT64_MAX;
    uint64_t set = set_budget(call);
    return (size_t)MIN(call_int(call, "budget", set > 0 ? (int64_t)set : (int64_t)usual), most);
}

bool call_has_budget(const struct call *call)
{
    return json_is_integer(json_object_get(call->args, "budget")) || set_budget(call) > 0;
}

bool call_wants_images(const struct call *call)
{
    unsigned set = call->usual != NULL ? call->usual->images : 0;
    if (call->tool != NULL)
        return true;
    if (set == 0 && call->grant != NULL)
        set = call->grant->repl.images;
    return spec_index_of(spec_images,
                         call_text(call, "images", spec_images[set > 0 ? set - 1 : 0])) > 0;
}

/* Within what an answer may hold, too. */
size_t call_pictures(const struct call *call, size_t usual)
{
    int64_t most = call->grant != NULL ? call->grant->repl.max_answer_bytes : INT64_MAX;
    if (json_object_get(call->args, "budget") != NULL)
        return 0;
    return (size_t)MIN(most - (int64_t)call_budget(call, usual), PICTURES_DEFAULT);
}

const struct jail_limits *call_limits(struct call *call)
{
    const json_t *asked = json_object_get(call->args, "limits");
    struct jail_limits *limits = arena_alloc(&call->arena, sizeof(*limits));
    *limits = call->grant != NULL ? call->grant->limits : engine_config_of(call->engine)->limits;
#define READ(name, least, most, doc)                                                               \
    if (json_is_integer(json_object_get(asked, #name)))                                            \
        limits->name = (uint32_t)json_integer_value(json_object_get(asked, #name));
    JAIL_LIMITS_EACH(READ)
#undef READ
    limits->debug = call_bool(call, "debug", limits->debug != 0);
    return limits;
}

/* ---- through --------------------------------------------------------------------------------- */

/* What its cells have that ask for nothing else. Who explores has more time, as much of it as the
 * agent may ask for. */
static const struct session_usual *usual_of(struct call *call, const struct session *session)
{
    struct session_usual *usual = arena_copy(&call->arena, &session->usual, sizeof(session->usual));
    const struct config_explore *explore = &call->policy->config->explore;
    if (usual->timeout_ms > 0 || !session->exploring.is_on || call->grant == NULL)
        return usual;
    const struct config_repl *repl = &call->grant->repl;
    uint32_t most = repl->max_timeout_secs > 0 ? repl->max_timeout_secs : repl->timeout_secs;
    bool has_context = json_object_size(exploring_get(session, "contexts")) > 0;
    usual->timeout_ms =
        1000 * MIN(has_context ? explore->timeout_secs : explore->general_timeout_secs, most);
    return usual;
}

/* Whose it is, and what it is about, is known. */
static void pass(struct visit *v)
{
    struct call *call = v->call;
    struct obstacle obstacle;
    struct err e;
    bool was_waiting = call->is_at_gate;
    call->is_at_gate = false;
    if (is_obstructed(v, &obstacle)) {
        refuse_planned(call, &obstacle);
        return;
    }
    if (check_uses(v, &e) < 0) {
        call_fail(call, &e);
        return;
    }
    if (v->session != NULL && v->uses & OP_RUNS_CODE)
        session_restart_idle(v->session);
    if (v->session != NULL)
        call->usual = usual_of(call, v->session);
    if (was_waiting && call->wants_stream)
        call->sink->begin(call);
    call->op->run(call);
}

/* A notebook whose session is gone is still of the agent that had it, whom only the store knows.
 * One that does not exist is the operation's to refuse, or to make. */
static void gate_on_notebook(void *context, const struct store_notebook *row, const struct err *e)
{
    struct visit *v = context;
    struct call *call = v->call;
    struct err refusal;
    call->on_gone = NULL;
    call->op_state = NULL;
    if (e != NULL && call->op->flags & OP_MAKES_SESSION) {
        pass(v);
        return;
    }
    if (e != NULL) {
        call->is_at_gate = false;
        call->op->run(call);
        return;
    }
    if (row->user != NULL)
        v->owner = arena_strdup(&call->arena, row->user);
    if (row->runtime != NULL)
        v->runtime = arena_strdup(&call->arena, row->runtime);
    if (!is_hidden(v, v->owner))
        pass(v);
    else if (refuse_hidden("notebook", given(v, OP_MEANS_NOTEBOOK), &refusal) < 0)
        call_fail(call, &refusal);
}

/* The client went while the store was asked. */
struct asked {
    struct visit visit;
    struct store_call *under_way;
};

static void gate_on_gone(struct call *call)
{
    struct asked *asked = call->op_state;
    store_forget(asked->under_way);
}

void op_run(struct call *call)
{
    struct err e;
    if (call->op->prepare != NULL)
        call->op->prepare(call);
    if (call->policy == NULL) {
        call->op->run(call);
        return;
    }
    struct asked *asked = arena_alloc(&call->arena, sizeof(*asked));
    struct visit *v = &asked->visit;
    v->call = call;
    v->uses = call->op->uses != NULL ? call->op->uses(call) : call->op->flags & OP_USES;
    for (const struct op_param *p = call->op->params; p->name != NULL; p++)
        v->by_meaning[p->means] = p;
    if (settle_speaker(v, &e) < 0 || take_names(v, &e) < 0 || find_subjects(v, &e) < 0) {
        call_fail(call, &e);
        return;
    }
    bool is_notebook_alone = given(v, OP_MEANS_NOTEBOOK) != NULL && v->session == NULL;
    bool matters = is_guarded(call) || v->uses != 0 || call->agent != NULL;
    if (!is_notebook_alone || !matters || call->documents == NULL) {
        pass(v);
        return;
    }
    call->is_at_gate = true;
    call->op_state = asked;
    call->on_gone = gate_on_gone;
    asked->under_way = store_get_notebook(engine_store(call->engine), given(v, OP_MEANS_NOTEBOOK),
                                          gate_on_notebook, v);
}
