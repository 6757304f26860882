/* Operations called by the code of a cell, in the daemon. Each is about the session that it runs
 * in, passes the same gate as all others, and answers into the interpreter. Owns the calls that are
 * under way. */
#include "ops/code_call.h"

#include "ops/chain_function.h"
#include "ops/ops.h"
#include "ops/toolbox_call.h"
#include "session/calls.h"
#include "session/chains.h"
#include "session/session.h"
#include "wire/json.h"

#include <string.h>

struct code_visit {
    struct call call;
    struct code_call *from; /* NULL if the code waits no more */
    char *agent;
    bool is_step;               /* of a structured cell, */
    struct toolbox_chain place; /* there */
};

static struct code_visit *code_visit_of(struct call *call)
{
    return CONTAINER_OF(call, struct code_visit, call);
}

/* A structured cell whose code is run after all: its calls are told apart from others, too. */
static void code_visit_join_chain(struct code_visit *visit)
{
    struct call *call = &visit->call;
    struct chain_record *record = chain_record_of(visit->from->session);
    if (record == NULL || !chain_function_has_op(call->op->name) || call_bool(call, "quiet", false))
        return;
    visit->is_step = true;
    visit->place.index = record->n_calls++;
    memcpy(visit->place.id, record->id, sizeof(record->id));
    if (record->is_chain)
        call->chain = &visit->place;
}

static void code_visit_leave_chain(struct code_visit *visit, const struct err *e)
{
    struct chain_record *record =
        visit->from != NULL ? chain_record_of(visit->from->session) : NULL;
    if (record != NULL && visit->is_step)
        record->has_failed |= e != NULL;
}

static void code_visit_end(struct code_visit *visit, const struct buf *json, const struct err *e)
{
    code_visit_leave_chain(visit, e);
    if (visit->from != NULL)
        code_call_end(visit->from, json != NULL ? buf_str(json) : NULL,
                      json != NULL ? json->len : 0, e);
    json_decref(visit->call.args);
    arena_free(&visit->call.arena);
    free(visit->agent);
    free(visit);
}

void code_call_read_refusal(const json_t *answer, struct err *ret)
{
    const json_t *error = json_object_get(answer, "error");
    const char *message = json_string_value(json_object_get(error, "message"));
    const char *advice = json_string_value(json_object_get(error, "advice"));
    err_set(ret, ERR_CONFLICT, "%s", message != NULL ? message : "the call was refused");
    err_advise(ret, "%s", advice != NULL ? advice : "");
}

/* A refusal that has more members than its error (plan mode) is an error to code. */
static void code_visit_on_reply(struct call *call, int http_status, const struct buf *json)
{
    struct err e, unread;
    _json_ json_t *answer = NULL;
    if (http_status < 400) {
        code_visit_end(code_visit_of(call), json, NULL);
        return;
    }
    json_read_object(buf_str(json), json->len, &answer, &unread);
    code_call_read_refusal(answer, &e);
    code_visit_end(code_visit_of(call), NULL, &e);
}

static void code_visit_on_fail(struct call *call, const struct err *e)
{
    code_visit_end(code_visit_of(call), NULL, e);
}

static const struct call_sink code_visit_sink = {
    .reply = code_visit_on_reply,
    .fail = code_visit_on_fail,
};

/* The cell was interrupted, or has ended. An operation that does not listen for that answers
 * nobody. */
static void code_visit_on_gone(struct code_call *from)
{
    struct code_visit *visit = from->context;
    visit->from = NULL;
    if (visit->call.on_gone == NULL)
        return;
    visit->call.on_gone(&visit->call);
    code_visit_end(visit, NULL, NULL);
}

static const struct op *code_call_find(const char *name, struct err *e)
{
    const struct op *op = op_find(name);
    if (op != NULL && (op->flags & OP_FROM_CODE) != 0)
        return op;
    err_set(e, ERR_NOT_FOUND, "code cannot call \"%.64s\"", name);
    return NULL;
}

void code_call_run(void *context, struct code_call *from)
{
    const struct code_surface *surface = context;
    struct err e;
    const struct op *op = code_call_find(from->op, &e);
    _json_ json_t *args = json_copy(from->args);
    json_object_set_new(args, "session_id", json_string(from->session->id));
    if (op == NULL || op_check(op, args, &e) < 0) {
        code_call_end(from, NULL, 0, &e);
        return;
    }
    struct code_visit *visit = mem_alloc(sizeof(*visit));
    visit->from = from;
    visit->agent = from->session->agent != NULL ? mem_strdup(from->session->agent) : NULL;
    visit->call = (struct call){
        .op = op,
        .engine = surface->engine,
        .policy = surface->policy,
        .documents = surface->documents,
        .boxes = surface->boxes,
        .agent = visit->agent,
        .is_from_code = true,
        .args = json_incref(args),
        .body_bytes = -1,
        .sink = &code_visit_sink,
    };
    code_visit_join_chain(visit);
    from->context = visit;
    from->on_gone = code_visit_on_gone;
    op_run(&visit->call);
}
