/* The calls of a structured cell, in the daemon:
 *
 *   chain_run -> the analyst -> chain_decide -> refused
 *                                            -> the interpreter runs the code
 *                                            -> steps, wave by wave -> chain_finish
 *
 * On the loop. Owns the calls that are under way. */
#include "ops/chain.h"

#include "base/clock.h"
#include "ops/chain_function.h"
#include "ops/chain_plan.h"
#include "ops/ops.h"
#include "ops/toolbox_call.h"
#include "policy/config.h"
#include "policy/policy.h"
#include "session/analyst.h"
#include "session/chains.h"
#include "session/session.h"
#include "wire/json.h"

#include <string.h>

enum { CHAIN_MESSAGE_SIZE = 1024 };

/* A call of the code: what the analyst has found, checked. */
struct chain_site {
    const struct chain_function *function;
    const char *target; /* the tool that it names; NULL if none, or not known yet */
    int64_t line;
    enum chain_kind kind;
};

/* A step that is under way, or has its result. */
struct chain_work {
    const struct chain_site *site;
    const json_t *step; /* as the analyst tells it */
    struct chain_call *call;
    bool has_begun;
    json_t *value; /* NULL if it has none yet */
    json_t *shown;
};

struct chain {
    struct chain_turn *turn; /* NULL if the session waits no more */
    const struct code_surface *surface;
    struct analysis *analysis; /* NULL if it has answered */
    json_t *told;              /* by the analyst */
    struct chain_site *sites;
    size_t n_sites;
    struct chain_step steps[CHAIN_STEPS_MAX];
    struct chain_work work[CHAIN_STEPS_MAX];
    size_t n;
    unsigned wave, n_waves;
    unsigned n_under_way;
    bool is_going; /* chain_go_on is further up the stack */
};

/* It may outlive its chain: an operation that does not listen for that answers nobody. */
struct chain_call {
    struct call call;
    struct toolbox_chain place;
    struct chain *chain; /* NULL if nobody waits for it */
    size_t index;        /* of its step */
    uint64_t begun_us;
    char *agent;
};

static void chain_go_on(struct chain *chain);

static void chain_free(struct chain *chain)
{
    for (size_t i = 0; i < chain->n; i++) {
        json_decref(chain->work[i].value);
        json_decref(chain->work[i].shown);
    }
    json_decref(chain->told);
    free(chain->sites);
    free(chain);
}

/* ---- calls ----------------------------------------------------------------------------------- */

static void chain_call_free(struct chain_call *call)
{
    json_decref(call->call.args);
    arena_free(&call->call.arena);
    free(call->agent);
    free(call);
}

/* What is no tool of the toolbox is in its log all the same, if it is part of a chain. */
static void chain_call_log(const struct chain_call *call, const json_t *value, const struct err *e)
{
    const struct chain_work *work = &call->chain->work[call->index];
    _json_ json_t *args = json_copy(call->call.args);
    const struct toolbox_record record = {.tool = work->site->function->name,
                                          .args = args,
                                          .chain = call->call.chain,
                                          .elapsed_us = clock_mono_ns() / 1000 - call->begun_us,
                                          .result = value,
                                          .err = e};
    json_object_del(args, "session_id");
    json_object_del(args, "toon");
    if (call->call.chain != NULL && strcmp(call->call.op->name, "toolbox.call") != 0)
        toolbox_log_put(call->chain->turn->session, &record);
}

/* One of both is NULL. */
static void chain_call_end(struct chain_call *call, json_t *answer, const struct err *e)
{
    struct chain *chain = call->chain;
    if (chain == NULL) {
        chain_call_free(call);
        return;
    }
    struct chain_work *work = &chain->work[call->index];
    work->value = answer != NULL ? chain_function_value(work->site->function, answer, &work->shown)
                                 : chain_function_error(work->site->function, e);
    if (work->value == NULL)
        work->value = json_null();
    chain_record_of(chain->turn->session)->has_failed |= e != NULL;
    chain_call_log(call, e == NULL ? work->value : NULL, e);
    work->call = NULL;
    chain->n_under_way--;
    chain_call_free(call);
    chain_go_on(chain);
}

static void chain_on_reply(struct call *call, int http_status, const struct buf *json)
{
    struct err e;
    _json_ json_t *answer = NULL;
    struct chain_call *mine = CONTAINER_OF(call, struct chain_call, call);
    if (json_read_object(buf_str(json), json->len, &answer, &e) == 0 && http_status < 400) {
        chain_call_end(mine, answer, NULL);
        return;
    }
    if (answer != NULL)
        code_call_read_refusal(answer, &e);
    chain_call_end(mine, NULL, &e);
}

static void chain_on_fail(struct call *call, const struct err *e)
{
    const struct err kept = *e;
    chain_call_end(CONTAINER_OF(call, struct chain_call, call), NULL, &kept);
}

static const struct call_sink chain_sink = {.reply = chain_on_reply, .fail = chain_on_fail};

static void chain_cancel(struct chain *chain)
{
    if (chain->analysis != NULL)
        analysis_forget(take_ptr(chain->analysis));
    for (size_t i = 0; i < chain->n; i++) {
        struct chain_call *call = take_ptr(chain->work[i].call);
        if (call == NULL)
            continue;
        call->chain = NULL;
        if (call->call.on_gone == NULL)
            continue;
        call->call.on_gone(&call->call);
        chain_call_free(call);
    }
}

/* ---- steps ----------------------------------------------------------------------------------- */

/* Puts the results that a call uses where it does. */
static void chain_fill_in(const struct chain *chain, const json_t *step, json_t *args)
{
    size_t i;
    json_t *ref;
    json_array_foreach(json_object_get(step, "refs"), i, ref) {
        const json_t *at = json_object_get(ref, "at");
        size_t depth = json_array_size(at);
        json_t *place = args, *key = NULL;
        json_t *value = chain->work[json_integer_value(json_object_get(ref, "step"))].value;
        for (size_t k = 0; k < depth; k++) {
            key = json_array_get(at, k);
            if (k + 1 < depth)
                place = json_is_string(key)
                            ? json_object_get(place, json_string_value(key))
                            : json_array_get(place, (size_t)json_integer_value(key));
        }
        if (json_is_string(key))
            json_object_set(place, json_string_value(key), value);
        else
            json_array_set(place, (size_t)json_integer_value(key), value);
    }
}

/* One call is no chain: it is as any other code's. */
static void chain_place(struct chain_call *call, struct chain_record *record)
{
    call->place.index = record->n_calls++;
    memcpy(call->place.id, record->id, sizeof(record->id));
    if (record->is_chain)
        call->call.chain = &call->place;
}

static void chain_begin_step(struct chain *chain, size_t index)
{
    struct err e;
    struct chain_work *work = &chain->work[index];
    struct session *session = chain->turn->session;
    struct chain_record *record = chain_record_of(session);
    const struct op *op = op_find(work->site->function->op);
    _json_ json_t *given = json_deep_copy(json_object_get(work->step, "args"));
    chain_fill_in(chain, work->step, given);
    json_t *args = chain_function_args(work->site->function, work->site->target, given,
                                       json_is_true(json_object_get(work->step, "whole")));
    json_object_set_new(args, "session_id", json_string(session->id));
    struct chain_call *call = mem_alloc(sizeof(*call));
    call->chain = chain;
    call->index = index;
    call->begun_us = clock_mono_ns() / 1000;
    call->agent = session->agent != NULL ? mem_strdup(session->agent) : NULL;
    call->call = (struct call){.op = op,
                               .engine = chain->surface->engine,
                               .policy = chain->surface->policy,
                               .documents = chain->surface->documents,
                               .boxes = chain->surface->boxes,
                               .agent = call->agent,
                               .args = args,
                               .body_bytes = -1,
                               .is_from_code = true,
                               .sink = &chain_sink};
    chain_place(call, record);
    work->has_begun = true;
    work->call = call;
    chain->n_under_way++;
    if (op_check(op, args, &e) < 0)
        chain_call_end(call, NULL, &e);
    else
        op_run(&call->call);
}

/* What the interpreter is told of the steps that have their results. */
static json_t *chain_order(const struct chain *chain, bool is_interrupted)
{
    json_t *steps = json_array();
    for (size_t i = 0; i < chain->n; i++) {
        const struct chain_work *work = &chain->work[i];
        const char *name = chain->steps[i].name;
        if (work->value == NULL)
            continue;
        const char *what =
            work->site->target != NULL ? work->site->target : work->site->function->name;
        json_t *told =
            json_pack("{s:s, s:O}", "label", name != NULL ? name : what, "value", work->value);
        if (name != NULL)
            json_object_set_new(told, "name", json_string(name));
        if (work->shown != NULL)
            json_object_set(told, "shown", work->shown);
        json_array_append_new(steps, told);
    }
    return json_pack("{s:o, s:b}", "steps", steps, "interrupted", is_interrupted);
}

static void chain_finish(struct chain *chain, json_t *order)
{
    struct chain_turn *turn = take_ptr(chain->turn);
    chain_free(chain);
    chain_end(turn, order);
}

/* The next step of this wave; -1: all have begun. */
static int chain_next(const struct chain *chain)
{
    for (size_t i = 0; i < chain->n; i++)
        if (chain->steps[i].wave == chain->wave && !chain->work[i].has_begun)
            return (int)i;
    return -1;
}

/* Level-triggered: begins what can begin. */
static void chain_go_on(struct chain *chain)
{
    if (chain->is_going)
        return;
    chain->is_going = true;
    while (chain->turn != NULL && chain->wave < chain->n_waves) {
        int next = chain->n_under_way < CHAIN_TOGETHER ? chain_next(chain) : -1;
        if (next >= 0)
            chain_begin_step(chain, (size_t)next);
        else if (chain->n_under_way > 0)
            break;
        else
            chain->wave++;
    }
    chain->is_going = false;
    if (chain->turn == NULL)
        chain_free(chain);
    else if (chain->wave == chain->n_waves) {
        chain_record_of(chain->turn->session)->is_over = true;
        chain_finish(chain, chain_order(chain, false));
    }
}

/* ---- what may be ----------------------------------------------------------------------------- */

static void chain_refuse(struct chain *chain, const struct err *e)
{
    _buf_ struct buf text = BUF_INIT(4 * CHAIN_MESSAGE_SIZE);
    buf_printf(&text, "%s%s%s", e->message, e->advice[0] != '\0' ? ". " : "", e->advice);
    chain_finish(chain, json_pack("{s:[], s:{s:s, s:s}}", "steps", "refused", "name",
                                  "ToolChainRefused", "message", buf_str(&text)));
}

static const struct config_chains *chain_settings(const struct chain *chain)
{
    static const struct config_chains usual = {.mode = CONFIG_CHAIN_SEQ, .parallel_reads = true};
    return chain->surface->policy != NULL ? &chain->surface->policy->config->chains : &usual;
}

static const char *chain_site_name(const struct chain_site *site)
{
    return site->target != NULL ? site->target : site->function->name;
}

static int chain_gate(const struct chain *chain, struct err *e)
{
    bool is_legacy = chain_settings(chain)->mode == CONFIG_CHAIN_LEGACY;
    for (size_t i = 0; i < chain->n_sites; i++) {
        const struct chain_site *site = &chain->sites[i];
        const char *name = chain_site_name(site);
        if (site->kind == CHAIN_ROUTES) {
            err_set(e, ERR_FORBIDDEN, "line %lld: %s cannot be called by structured code",
                    (long long)site->line, name);
            return err_advise(e, "It hands the whole task over: do that in a turn of its own, "
                                 "outside of the cell.");
        }
        if (chain->n_sites > 1 && site->kind == CHAIN_ALONE) {
            err_set(e, ERR_FORBIDDEN, "line %lld: %s cannot be called beside other tools",
                    (long long)site->line, name);
            return err_advise(e, "It neither only reads nor allows chains. Call it in a cell of "
                                 "its own; nothing of this one was run.");
        }
        if (chain->n_sites > 1 && is_legacy && site->kind != CHAIN_READS) {
            err_set(e, ERR_FORBIDDEN, "line %lld: %s does more than read, and chain_mode is legacy",
                    (long long)site->line, name);
            return err_advise(e, "Call it in a cell of its own, or set toolbox: {chain_mode: seq}; "
                                 "nothing of this cell was run.");
        }
    }
    return 0;
}

/* ---- what the analyst has found -------------------------------------------------------------- */

static void chain_read_sites(struct chain *chain)
{
    size_t i;
    json_t *call;
    const json_t *calls = json_object_get(chain->told, "calls");
    chain->sites = mem_alloc((json_array_size(calls) + 1) * sizeof(*chain->sites));
    json_array_foreach(calls, i, call) {
        struct chain_site *site = &chain->sites[i];
        site->function = chain_function_find(json_string_value(json_object_get(call, "function")));
        if (site->function == NULL)
            break;
        site->target = json_string_value(json_object_get(call, "target"));
        site->line = json_integer_value(json_object_get(call, "line"));
        const char *tool = site->function->tool != NULL ? site->function->tool : site->target;
        const struct tool_entry *entry =
            tool != NULL ? toolbox_entry_of(chain->turn->session, tool) : NULL;
        site->kind = chain_function_kind(site->function, entry, json_object_get(call, "args"));
        chain->n_sites++;
    }
}

/* The analyst is ours, and its answer is held against what it can be all the same. */
static bool chain_read_refs(const json_t *step, size_t index, uint64_t *ret_uses)
{
    size_t i;
    json_t *ref;
    *ret_uses = 0;
    json_array_foreach(json_object_get(step, "refs"), i, ref) {
        json_int_t used = json_integer_value(json_object_get(ref, "step"));
        const json_t *at = json_object_get(ref, "at");
        if (!json_is_integer(json_object_get(ref, "step")) || used < 0 || (size_t)used >= index ||
            json_array_size(at) == 0)
            return false;
        *ret_uses |= (uint64_t)1 << used;
    }
    return true;
}

/* False: the interpreter has to run the code. */
static bool chain_read_steps(struct chain *chain)
{
    size_t i;
    json_t *step;
    const json_t *steps = json_object_get(chain->told, "steps");
    if (json_array_size(steps) == 0 || json_array_size(steps) > CHAIN_STEPS_MAX)
        return false;
    json_array_foreach(steps, i, step) {
        json_int_t at = json_integer_value(json_object_get(step, "call"));
        const json_t *args = json_object_get(step, "args");
        uint64_t uses;
        if (at < 0 || (size_t)at >= chain->n_sites || !json_is_object(args) ||
            !chain_read_refs(step, i, &uses))
            return false;
        const struct chain_site *site = &chain->sites[at];
        if (site->function->is_unplanned || site->kind == CHAIN_UNKNOWN)
            return false;
        chain->work[i] = (struct chain_work){.site = site, .step = step};
        chain->steps[i] =
            (struct chain_step){.name = json_string_value(json_object_get(step, "name")),
                                .uses = uses,
                                .changes = site->kind != CHAIN_READS,
                                .may_meet = chain_function_may_meet(chain_site_name(site)),
                                .target = json_string_value(json_object_get(args, "path"))};
    }
    chain->n = json_array_size(steps);
    return true;
}

static const char *chain_plan(struct chain *chain)
{
    const struct config_chains *settings = chain_settings(chain);
    bool is_dep = settings->mode == CONFIG_CHAIN_DEP;
    bool only_reads = true;
    for (size_t i = 0; i < chain->n; i++)
        only_reads &= !chain->steps[i].changes;
    chain->n_waves = chain_plan_waves(chain->steps, chain->n, settings->parallel_mutations);
    if (only_reads && chain->n > 1 && chain->n_waves == 1 && settings->parallel_reads)
        return "parallel_read_only";
    if (is_dep && chain->n > 1)
        return "dep";
    chain->n_waves = chain_plan_in_order(chain->steps, chain->n);
    return "seq";
}

static void chain_record(struct chain *chain, bool is_planned)
{
    const struct config_chains *settings = chain_settings(chain);
    struct chain_record *record = chain_record_new(chain->turn->session);
    record->is_chain = chain->n_sites > 1;
    record->requested = config_chain_modes[settings->mode];
    record->used = is_planned ? chain_plan(chain) : "seq";
    record->has_fallen_back = !is_planned;
    record->has_parallel_mutations = settings->parallel_mutations;
    record->waves = chain->n_waves;
    for (size_t i = 0; i < chain->n_sites; i++)
        json_array_append_new(record->tools, json_string(chain_site_name(&chain->sites[i])));
}

static void chain_decide(struct chain *chain)
{
    struct err e;
    chain_read_sites(chain);
    if (chain->n_sites == 0) {
        chain_finish(chain, NULL);
        return;
    }
    if (chain_gate(chain, &e) < 0) {
        chain_refuse(chain, &e);
        return;
    }
    bool is_planned = chain_read_steps(chain);
    chain_record(chain, is_planned);
    if (is_planned)
        chain_go_on(chain);
    else
        chain_finish(chain, NULL);
}

/* ---- the turn -------------------------------------------------------------------------------- */

static void chain_on_told(void *context, json_t *told)
{
    struct chain *chain = context;
    chain->analysis = NULL;
    chain->told = json_incref(told);
    chain_decide(chain);
}

static void chain_on_untold(void *context, const struct err *e)
{
    struct chain *chain = context;
    chain->analysis = NULL;
    chain_refuse(chain, e);
}

static const struct analysis_listener chain_analysis_listener = {.on_done = chain_on_told,
                                                                 .on_failed = chain_on_untold};

static void chain_on_gone(struct chain_turn *turn)
{
    struct chain *chain = turn->context;
    chain->turn = NULL;
    chain_cancel(chain);
    if (!chain->is_going)
        chain_free(chain);
}

static void chain_on_interrupted(struct chain_turn *turn)
{
    struct chain *chain = turn->context;
    json_t *order = chain_order(chain, true);
    chain_on_gone(turn);
    chain_end(turn, order);
}

void chain_run(void *context, struct chain_turn *turn)
{
    struct err e;
    struct chain *chain = mem_alloc(sizeof(*chain));
    chain->turn = turn;
    chain->surface = context;
    turn->context = chain;
    turn->on_gone = chain_on_gone;
    turn->on_interrupted = chain_on_interrupted;
    if (turn->code_len > ANALYST_CODE_MAX || turn->plain_len > ANALYST_CODE_MAX) {
        err_set(&e, ERR_TOO_LARGE, "structured code has at most %d bytes", ANALYST_CODE_MAX);
        err_advise(&e, "Put data into files of the workspace, or send it without structured mode.");
        chain_refuse(chain, &e);
        return;
    }
    json_t *args =
        json_pack("{s:s%, s:o, s:o}", "code", turn->code, turn->code_len, "plain",
                  turn->plain != NULL ? json_stringn(turn->plain, turn->plain_len) : json_null(),
                  "functions", chain_function_params());
    chain->analysis = analyst_ask(chain->surface->engine, "find_calls", args,
                                  &chain_analysis_listener, chain, &e);
    if (chain->analysis == NULL)
        chain_refuse(chain, &e);
}
