#include "session/recorder.h"

#include "session/engine_state.h"

void engine_use_recorder(struct engine *engine, const struct recorder *recorder, void *context)
{
    engine->recorder = recorder;
    engine->recorder_context = context;
}

/* Its recorder, if it has to do with the cell. */
static const struct recorder *recorder_of(const struct exec *exec, void **ret_context)
{
    const struct engine *engine = exec->session->engine;
    *ret_context = engine->recorder_context;
    return exec->record != NULL ? engine->recorder : NULL;
}

void recorder_tell(struct session *session, enum recorder_news news)
{
    const struct engine *engine = session->engine;
    if (engine->recorder != NULL && !session->is_unlisted)
        engine->recorder->on_session(engine->recorder_context, session, news);
}

void recorder_moved(struct session *session, const struct recorder_move *move)
{
    const struct engine *engine = session->engine;
    if (engine->recorder != NULL && !session->is_unlisted)
        engine->recorder->on_moved(engine->recorder_context, session, move);
}

void recorder_queued(struct exec *exec)
{
    const struct engine *engine = exec->session->engine;
    if (engine->recorder != NULL && !exec->session->is_unlisted)
        engine->recorder->on_queued(engine->recorder_context, exec);
}

void recorder_begun(struct exec *exec)
{
    void *context;
    const struct recorder *recorder = recorder_of(exec, &context);
    if (recorder != NULL)
        recorder->on_begun(context, exec);
}

void recorder_lasting(struct exec *exec)
{
    void *context;
    const struct recorder *recorder = recorder_of(exec, &context);
    if (recorder != NULL)
        recorder->on_lasting(context, exec);
}

void recorder_output(struct exec *exec, enum output_stream stream, const char *bytes, size_t len)
{
    void *context;
    const struct recorder *recorder = recorder_of(exec, &context);
    if (recorder != NULL)
        recorder->on_output(context, exec, stream, bytes, len);
}

uint64_t recorder_picture(struct exec *exec, json_t *output, enum recorder_place place)
{
    void *context;
    const struct recorder *recorder = recorder_of(exec, &context);
    return recorder != NULL ? recorder->on_picture(context, exec, output, place) : 0;
}

void recorder_shown(struct exec *exec, json_t *output, enum recorder_place place)
{
    void *context;
    const struct recorder *recorder = recorder_of(exec, &context);
    if (recorder != NULL)
        recorder->on_shown(context, exec, output, place);
}

void recorder_clear(struct exec *exec, bool waits)
{
    void *context;
    const struct recorder *recorder = recorder_of(exec, &context);
    if (recorder != NULL)
        recorder->on_clear(context, exec, waits);
}

void recorder_ended(struct exec *exec, const struct answer_facts *facts)
{
    void *context;
    exec->cell->state = facts->status;
    exec->cell->duration_us = (uint64_t)(facts->duration_ms * 1000);
    const struct recorder *recorder = recorder_of(exec, &context);
    if (recorder != NULL)
        recorder->on_ended(context, exec, facts);
    exec->record = NULL;
}

void recorder_dropped(struct exec *exec, const char *why)
{
    void *context;
    const struct recorder *recorder = recorder_of(exec, &context);
    if (recorder != NULL)
        recorder->on_dropped(context, exec, why);
    exec->record = NULL;
}
