/* How to make a session again, as JSON in the store, in the daemon. */
#include "session/spec.h"

#include "wire/json.h"

const char *const spec_isolations[] = {"shared", "per_cell", NULL};
const char *const spec_images[] = {"reference", "inline", NULL};

unsigned spec_index_of(const char *const names[], const char *name)
{
    for (unsigned i = 0; name != NULL && names[i] != NULL; i++)
        if (strcmp(names[i], name) == 0)
            return i;
    return 0;
}

static const struct {
    const char *name;
    size_t offset;
} limit_members[] = {
#define MEMBER(name, least, most, doc) {#name, offsetof(struct jail_limits, name)},
    JAIL_LIMITS_EACH(MEMBER)
#undef MEMBER
};

static uint32_t *spec_limit_of(struct jail_limits *limits, size_t i)
{
    return (uint32_t *)(void *)((char *)limits + limit_members[i].offset);
}

static void spec_put_limits(struct json_out *json, const struct jail_limits *given)
{
    struct jail_limits limits = *given;
    json_put_key(json, "limits");
    json_put_object(json);
    for (size_t i = 0; i < ARRAY_LEN(limit_members); i++)
        json_put_member_int(json, limit_members[i].name, *spec_limit_of(&limits, i));
    json_put_object_end(json);
    json_put_member_bool(json, "debug", limits.debug != 0);
}

/* What was left open stays so. */
static void spec_put_usual(struct json_out *json, const struct session_usual *usual)
{
    json_put_member_some(json, "timeout_ms", usual->timeout_ms);
    json_put_member_some(json, "budget", (int64_t)usual->budget);
    if (usual->images > 0)
        json_put_member_str(json, "images", spec_images[usual->images - 1]);
    json_put_member_true(json, "structured", usual->is_structured);
}

char *spec_write(const struct session *session)
{
    _buf_ struct buf out = BUF_INIT(STORE_ROW_BYTES);
    struct json_out json = JSON_OUT(&out);
    json_put_object(&json);
    json_put_member_str(&json, "runtime", session->runtime->name);
    json_put_member_str(&json, "profile", session->profile);
    json_put_member_str(&json, "agent", session->agent);
    json_put_member_str(&json, "binding", session->binding);
    if (session->person != NULL)
        json_put_member_str(&json, "user", session->person);
    if (session->name != NULL)
        json_put_member_str(&json, "name", session->name);
    if (session->labels != NULL) {
        json_put_key(&json, "labels");
        json_put_value(&json, session->labels);
    }
    /* The name that rows of older daemons have for it. */
    json_put_member_int(&json, "worked_at_ms", (int64_t)(session->life.last_cell_at_us / 1000));
    json_put_member_str(&json, "cwd", session->cwd);
    json_put_member_str(&json, "checkpoints", timeline_mode_name(session->timeline.mode));
    json_put_member_str(&json, "isolation", spec_isolations[session->saving.isolation]);
    if (session->exit_ends)
        json_put_member_bool(&json, "exit_ends", true);
    if (session->exploring.is_on)
        json_put_member_bool(&json, "explore", true);
    if (session->handed.tools != NULL) {
        json_put_key(&json, "tools");
        json_put_value(&json, session->handed.tools->list);
        json_put_member_int(&json, "tool_deadline_ms", session->handed.tools->deadline_ms);
    }
    if (plan_is_on(&session->plan)) {
        json_put_member_str(&json, "plan",
                            session->plan.reason != NULL ? session->plan.reason : "");
        json_put_member_int(&json, "plan_at_ms", (int64_t)session->plan.entered_at_ms);
    }
    json_put_member_int(&json, "idle_timeout_secs", session->life.idle_timeout_secs);
    json_put_member_int(&json, "max_age_secs", session->life.max_age_secs);
    json_put_member_int(&json, "max_output_bytes", (int64_t)session->rings[OUTPUT_STDOUT].max);
    spec_put_usual(&json, &session->usual);
    spec_put_limits(&json, &session->limits);
    if (session->env != NULL) {
        json_put_key(&json, "env");
        json_put_value(&json, session->env);
    }
    json_put_object_end(&json);
    return mem_strdup(buf_str(&out));
}

static uint32_t spec_given_or(const uint32_t *given, uint32_t usual)
{
    return given != NULL ? *given : usual;
}

/* The profile that a session of this request would have; NULL with the error. */
static const char *spec_profile_of(const struct engine_config *config,
                                   const struct session_request *request, struct err *e)
{
    bool is_python = request->runtime == &runtime_python;
    const char *usual = is_python ? config->default_profile : request->runtime->name;
    const char *name = request->profile != NULL ? request->profile : usual;
    for (size_t i = 0; i < config->n_profiles; i++)
        if (strcmp(config->profiles[i].name, name) == 0 &&
            config->profiles[i].runtime == request->runtime)
            return config->profiles[i].name;
    err_set(e, ERR_INVALID, "there is no profile \"%.64s\" of %s", name, request->runtime->name);
    err_advise(e, "Leave it out, or name one that the configuration has.");
    return NULL;
}

int spec_write_request(const struct engine_config *config, const struct session_request *request,
                       char **ret_text, struct err *e)
{
    const char *profile = spec_profile_of(config, request, e);
    if (profile == NULL)
        return -1;
    _buf_ struct buf out = BUF_INIT(STORE_ROW_BYTES);
    struct json_out json = JSON_OUT(&out);
    json_put_object(&json);
    json_put_member_str(&json, "runtime", request->runtime->name);
    json_put_member_str(&json, "profile", profile);
    json_put_member_str(&json, "agent", request->agent);
    json_put_member_str(&json, "binding", request->binding);
    if (request->person != NULL)
        json_put_member_str(&json, "user", request->person);
    json_put_member_str(&json, "checkpoints", timeline_mode_name(request->checkpoints));
    json_put_member_str(&json, "isolation", spec_isolations[request->isolation]);
    json_put_member_int(&json, "idle_timeout_secs",
                        spec_given_or(request->idle_timeout_secs, config->idle_timeout_secs));
    json_put_member_int(&json, "max_age_secs",
                        spec_given_or(request->max_age_secs, config->max_age_secs));
    json_put_member_int(&json, "max_output_bytes",
                        (int64_t)(request->max_output_bytes > 0 ? request->max_output_bytes
                                                                : config->max_output_bytes));
    spec_put_usual(&json, &request->usual);
    spec_put_limits(&json, request->limits != NULL ? request->limits : &config->limits);
    json_put_object_end(&json);
    *ret_text = mem_strdup(buf_str(&out));
    return 0;
}

void spec_read_plan(const json_t *spec, struct plan *plan)
{
    const char *reason = json_string_value(json_object_get(spec, "plan"));
    json_int_t at_ms = json_integer_value(json_object_get(spec, "plan_at_ms"));
    if (reason != NULL)
        plan_resume(plan, reason[0] != '\0' ? reason : NULL, at_ms > 0 ? (uint64_t)at_ms : 0);
}

uint64_t spec_last_cell_at_ms(const json_t *spec, uint64_t fallback_ms)
{
    json_int_t at_ms = json_integer_value(json_object_get(spec, "worked_at_ms"));
    return at_ms > 0 ? (uint64_t)at_ms : fallback_ms;
}

int spec_read(const char *text, struct session_request *ret_request, struct jail_limits *ret_limits,
              uint32_t ret_seconds[2], json_t **ret_json, struct err *e)
{
    _json_ json_t *spec = NULL;
    if (json_read_object(text, strlen(text), &spec, e) < 0)
        return -1;
    const char *runtime = json_string_value(json_object_get(spec, "runtime"));
    const char *images = json_string_value(json_object_get(spec, "images"));
    *ret_request = (struct session_request){
        .runtime = runtime != NULL ? runtime_by_name(runtime) : NULL,
        .profile = json_string_value(json_object_get(spec, "profile")),
        .agent = json_string_value(json_object_get(spec, "agent")),
        .binding = json_string_value(json_object_get(spec, "binding")),
        .person = json_string_value(json_object_get(spec, "user")),
        .name = json_string_value(json_object_get(spec, "name")),
        .labels = json_object_get(spec, "labels"),
        .cwd = json_string_value(json_object_get(spec, "cwd")),
        .env = json_object_get(spec, "env"),
        .isolation = (enum saving_isolation)spec_index_of(
            spec_isolations, json_string_value(json_object_get(spec, "isolation"))),
        .exit_ends = json_is_true(json_object_get(spec, "exit_ends")),
        .explores = json_is_true(json_object_get(spec, "explore")),
        .tools = json_object_get(spec, "tools"),
        .tool_deadline_ms = (uint32_t)json_integer_value(json_object_get(spec, "tool_deadline_ms")),
        .usual = {.timeout_ms = (uint32_t)json_integer_value(json_object_get(spec, "timeout_ms")),
                  .budget = (uint64_t)json_integer_value(json_object_get(spec, "budget")),
                  .images = images != NULL ? 1 + spec_index_of(spec_images, images) : 0,
                  .is_structured = json_is_true(json_object_get(spec, "structured"))},
        .checkpoints = (enum timeline_mode)spec_index_of(
            timeline_modes, json_string_value(json_object_get(spec, "checkpoints"))),
        .max_output_bytes = (size_t)json_integer_value(json_object_get(spec, "max_output_bytes")),
        .limits = ret_limits,
        .idle_timeout_secs = &ret_seconds[0],
        .max_age_secs = &ret_seconds[1],
    };
    if (ret_request->runtime == NULL || ret_request->profile == NULL)
        return err_set(e, ERR_INVALID, "it names no runtime or profile");
    const json_t *limits = json_object_get(spec, "limits");
    for (size_t i = 0; i < ARRAY_LEN(limit_members); i++)
        *spec_limit_of(ret_limits, i) =
            (uint32_t)json_integer_value(json_object_get(limits, limit_members[i].name));
    ret_limits->debug = json_is_true(json_object_get(spec, "debug"));
    ret_seconds[0] = (uint32_t)json_integer_value(json_object_get(spec, "idle_timeout_secs"));
    ret_seconds[1] = (uint32_t)json_integer_value(json_object_get(spec, "max_age_secs"));
    *ret_json = take_ptr(spec);
    return 0;
}
