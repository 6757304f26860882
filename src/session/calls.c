/* Operations that a cell's code calls, in the daemon: passed on to whoever knows them, and the
 * answer back to the interpreter. Owns session->call. */
#include "session/calls.h"

#include "runtime/head.h"
#include "session/engine_state.h"
#include "session/session.h"

void code_call_end(struct code_call *call, const char *json, size_t len, const struct err *e)
{
    struct session *session = call->session;
    session->call = NULL;
    free(call);
    if (session->head != NULL)
        head_result(session->head, json, len, e);
}

void calls_forget(struct session *session)
{
    struct code_call *call = session->call;
    if (call == NULL)
        return;
    session->call = NULL;
    if (call->on_gone != NULL)
        call->on_gone(call);
    free(call);
}

void calls_on_call(struct session *session, const char *op, json_t *args)
{
    struct engine *engine = session->engine;
    struct err e;
    calls_forget(session); /* of a wait that was interrupted */
    struct code_call *call = mem_alloc(sizeof(*call));
    *call = (struct code_call){.session = session, .op = op, .args = args};
    session->call = call;
    session_restart_idle(session);
    if (engine->run_call != NULL && session->ending.wish == DEATH_UNWISHED) {
        engine->run_call(engine->run_call_context, call);
        return;
    }
    err_set(&e, ERR_UNAVAILABLE, "this session cannot call operations");
    code_call_end(call, NULL, 0, &e);
}
