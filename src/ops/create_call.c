/* The members of a request that makes a session, read into a session_request. Daemon; on the
 * loop. */
#include "ops/create_call.h"

#include "ops/naming.h"
#include "policy/policy.h"

const struct op_param session_limits[] = {
#define LIMIT(member, least, most, what)                                                           \
    {.name = #member, .type = OP_INT, .min = least, .max = most, .doc = what},
    JAIL_LIMITS_EACH(LIMIT)
#undef LIMIT
        {0},
};

/* NULL if it was not given. */
static const uint32_t *read_seconds(struct call *call, const char *name)
{
    const json_t *value = json_object_get(call->args, name);
    if (!json_is_integer(value))
        return NULL;
    uint32_t *seconds = arena_alloc(&call->arena, sizeof(*seconds));
    *seconds = (uint32_t)json_integer_value(value);
    return seconds;
}

static int read_join(struct call *call, struct session_request *request, struct err *e)
{
    const char *id = call_text(call, "join", NULL);
    if (id == NULL)
        return 0;
    request->join = session_find(call->engine, id, e);
    if (json_object_get(call->args, "limits") == NULL)
        request->limits = NULL;
    if (request->join == NULL)
        return -1;
    bool has_debug = request->join->limits.debug != 0;
    if (call_bool(call, "debug", has_debug) == has_debug)
        return 0;
    err_set(e, ERR_INVALID, "whether it may be debugged is decided by the session that is joined");
    return err_advise(e, "Leave debug out: it belongs to the sandbox, which they share.");
}

static int check_isolation(const struct session_request *request, struct err *e)
{
    if (request->isolation == ISOLATION_SHARED ||
        (request->durable == SAVING_AUTO && request->join == NULL))
        return 0;
    err_set(e, ERR_INVALID, "\"isolation\": \"per_cell\" needs a state that is saved");
    return err_advise(e, "Leave out \"durable\" and \"join\".");
}

/* Of a session that does not say, its agent's. */
static enum timeline_mode read_checkpoints(const struct call *call)
{
    const char *wanted = call_text(call, "checkpoints", NULL);
    unsigned usual = call->grant->repl.checkpoints;
    if (wanted == NULL)
        return usual > 0 ? (enum timeline_mode)(usual - 1) : TIMELINE_AUTO;
    return (enum timeline_mode)spec_index_of(timeline_modes, wanted);
}

static struct session_usual read_usual(const struct call *call)
{
    const char *images = call_text(call, "images", NULL);
    return (struct session_usual){.timeout_ms = (uint32_t)call_int(call, "timeout_ms", 0),
                                  .budget = (uint64_t)call_int(call, "budget", 0),
                                  .images =
                                      images != NULL ? 1 + spec_index_of(spec_images, images) : 0,
                                  .is_structured = call_bool(call, "structured", false)};
}

static int read_naming(struct call *call, struct session_request *request, struct err *e)
{
    request->name = call_text(call, "name", NULL);
    request->labels = json_object_get(call->args, "labels");
    if (json_is_null(request->labels))
        request->labels = NULL;
    if (request->name != NULL && naming_check(call, call->agent, request->name, NULL, e) < 0)
        return -1;
    return naming_check_labels(request->labels, e);
}

/* Cells of structured sessions call what explores, and Python's syntax is what is looked at. */
static int check_structured(const struct session_request *request, struct err *e)
{
    if (!request->usual.is_structured || (request->explores && request->runtime == &runtime_python))
        return 0;
    err_set(e, ERR_INVALID, "\"structured\": true is for Python that explores");
    return err_advise(e, "Add \"explore\": true, and leave out \"runtime\".");
}

int create_call_read(struct call *call, struct session_request *ret_request, struct err *e)
{
    const json_t *env = json_object_get(call->args, "env");
    bool is_per_cell = strcmp(call_text(call, "isolation", "shared"), "per_cell") == 0;
    bool is_off = strcmp(call_text(call, "durable", "auto"), "off") == 0;
    *ret_request = (struct session_request){
        .runtime = runtime_by_name(call_text(call, "runtime", "python")),
        .profile = call_text(call, "profile", NULL),
        .limits = call_limits(call),
        .cwd = call_text(call, "cwd", NULL),
        .env = json_object_size(env) > 0 ? env : NULL,
        .agent = call->agent,
        .max_output_bytes = call->grant->repl.max_output_bytes,
        .binding = call_text(call, "binding", NULL),
        .person = call_text(call, "user", NULL),
        .usual = read_usual(call),
        .checkpoints = read_checkpoints(call),
        .isolation = is_per_cell ? ISOLATION_PER_CELL : ISOLATION_SHARED,
        .durable = is_off ? SAVING_OFF : SAVING_AUTO,
        .explores = call_bool(call, "explore", false),
        .idle_timeout_secs = read_seconds(call, "idle_timeout_secs"),
        .max_age_secs = read_seconds(call, "max_age_secs"),
    };
    if (read_join(call, ret_request, e) < 0 || read_naming(call, ret_request, e) < 0)
        return -1;
    return check_structured(ret_request, e) < 0 ? -1 : check_isolation(ret_request, e);
}

void create_call_explain(struct session *session, struct err *ret)
{
    bool is_own_fault = session->ending.wish == DEATH_BY_SETUP;
    err_set(ret, is_own_fault ? ERR_INVALID : ERR_UNAVAILABLE, "%s", session->death.message);
    err_advise(ret, "%s", session->death.advice);
    session_delete(session);
}
