/* Structured cells, in the daemon: passed on to whoever plans their calls, and what came of that.
 * Owns session->chain and exec->chain. */
#include "session/chains.h"

#include "base/clock.h"
#include "base/fd.h"
#include "base/ids.h"
#include "session/answer.h"
#include "session/engine_state.h"
#include "session/exec.h"
#include "session/session.h"

/* ---- the turn -------------------------------------------------------------------------------- */

void chains_begin(struct session *session, const int fds[OUTPUT_STREAMS], char *plain,
                  size_t plain_len)
{
    struct engine *engine = session->engine;
    const struct cell *cell = session->running->cell;
    struct chain_turn *turn = mem_alloc(sizeof(*turn));
    *turn = (struct chain_turn){.session = session,
                                .code = cell->source,
                                .code_len = cell->source_len,
                                .plain = plain,
                                .plain_len = plain_len,
                                .plain_kept = plain};
    memcpy(turn->fds, fds, sizeof(turn->fds));
    session->chain = turn;
    if (engine->plan_chain != NULL)
        engine->plan_chain(engine->plan_chain_context, turn);
    else
        chain_end(turn, NULL);
}

void chain_end(struct chain_turn *turn, json_t *order)
{
    struct session *session = turn->session;
    struct chain_record *record = session->running->chain;
    turn->is_ended = true;
    turn->order = order;
    turn->on_gone = turn->on_interrupted = NULL;
    if (record != NULL && !record->has_fallen_back)
        record->elapsed_ns = clock_mono_ns() - record->begun_ns;
    session_changed(session);
}

bool chains_are_planning(const struct session *session)
{
    return session->chain != NULL;
}

bool chains_are_ready(const struct session *session)
{
    return session->chain != NULL && session->chain->is_ended;
}

void chains_interrupt(struct session *session)
{
    struct chain_turn *turn = session->chain;
    if (turn->is_ended)
        return;
    if (turn->on_interrupted != NULL)
        turn->on_interrupted(turn);
    else
        chain_end(turn, json_pack("{s:[], s:b}", "steps", "interrupted", 1));
}

void chain_turn_free(struct chain_turn *turn)
{
    for (size_t i = 0; i < OUTPUT_STREAMS; i++)
        cleanup_fd(&turn->fds[i]);
    json_decref(turn->order);
    free(turn->plain_kept);
    free(turn);
}

void chains_forget(struct session *session)
{
    struct chain_turn *turn = take_ptr(session->chain);
    if (turn == NULL)
        return;
    if (turn->on_gone != NULL)
        turn->on_gone(turn);
    chain_turn_free(turn);
}

/* ---- what the answer tells ------------------------------------------------------------------- */

struct chain_record *chain_record_new(struct session *session)
{
    unsigned char bytes[CHAIN_ID_SIZE / 2];
    struct chain_record *record = mem_alloc(sizeof(*record));
    ids_random(bytes, sizeof(bytes));
    for (size_t i = 0; i < sizeof(bytes); i++)
        snprintf(record->id + 2 * i, 3, "%02x", bytes[i]);
    record->tools = json_array();
    record->begun_ns = session->running->started_ns;
    session->running->chain = record;
    return record;
}

void chain_record_free(struct chain_record *record)
{
    if (record == NULL)
        return;
    json_decref(record->tools);
    free(record);
}

struct chain_record *chain_record_of(const struct session *session)
{
    return session->running != NULL ? session->running->chain : NULL;
}

void chains_conclude(struct exec *exec, const struct exec_outcome *outcome)
{
    struct chain_record *record = exec->chain;
    if (record == NULL)
        return;
    bool is_whole = record->has_fallen_back ? outcome->status == CELL_COMPLETED : record->is_over;
    if (record->elapsed_ns == 0)
        record->elapsed_ns = clock_mono_ns() - record->begun_ns;
    json_t *told = json_pack(
        "{s:s, s:s, s:O, s:f, s:b, s:s, s:s, s:b, s:b, s:I, s:I}", "chain_id", record->id,
        "caller_type", record->is_chain ? "chain" : "direct", "tools", record->tools, "elapsed_ms",
        (double)(record->elapsed_ns / 1000) / 1000.0, "success", is_whole && !record->has_failed,
        "mode_requested", record->requested, "mode_used", record->used, "fallback_to_seq",
        record->has_fallen_back, "parallel_mutations_enabled", record->has_parallel_mutations,
        "waves", (json_int_t)record->waves, "steps", (json_int_t)record->n_calls);
    if (exec->extra == NULL)
        exec->extra = json_object();
    json_object_set_new(exec->extra, "tool_chains", told);
}
