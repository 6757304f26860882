/* A session as answers show it. Daemon; on the loop; reads the session and changes nothing. */
#include "base/clock.h"
#include "ops/ops.h"
#include "runtime/runtime.h"
#include "session/session.h"
#include "session/spec.h"
#include "wire/json.h"

static void put_limits(struct json_out *json, const struct jail_limits *limits)
{
    json_put_key(json, "limits");
    json_put_object(json);
#define PUT(name, least, most, doc) json_put_member_int(json, #name, limits->name);
    JAIL_LIMITS_EACH(PUT)
#undef PUT
    json_put_object_end(json);
}

void put_session(struct json_out *json, const struct session *session)
{
    char time[CLOCK_RFC3339_SIZE];
    bool is_dead = session->state == SESSION_DEAD;
    json_put_object(json);
    json_put_member_str(json, "session_id", session->id);
    if (session->name != NULL)
        json_put_member_str(json, "name", session->name);
    if (session->labels != NULL) {
        json_put_key(json, "labels");
        json_put_value(json, session->labels);
    }
    json_put_member_str(json, "runtime", session->runtime->name);
    json_put_member_str(json, "profile", session->profile);
    json_put_member_str(json, "cwd", session->cwd);
    json_put_member_str(json, "agent", session->agent);
    json_put_member_str(json, "binding", session->binding);
    if (session->person != NULL)
        json_put_member_str(json, "user", session->person);
    json_put_member_str(json, "joined", session->joined[0] != '\0' ? session->joined : NULL);
    json_put_member_str(json, "spawned_at",
                        clock_rfc3339(session->life.spawned_at_us / 1000, time));
    json_put_member_str(json, "used_at", clock_rfc3339(session->life.last_cell_at_us / 1000, time));
    if (session->head != NULL && session->usage.at_ms > 0) {
        json_put_member_int(json, "memory_bytes", (int64_t)session->usage.memory_bytes);
        json_put_member_int(json, "cpu_ms", (int64_t)(session->usage.cpu_us / 1000));
    }
    json_put_member_str(json, "state", session_state_name(session->state));
    json_put_member_int(json, "exec_count", (int64_t)session->n_execs);
    json_put_member_int(json, "output_len", (int64_t)session_output_len(session));
    if (is_dead && session->death.has_exit_code)
        json_put_member_int(json, "exit_code", session->death.exit_code);
    json_put_member_some(json, "queued", (int64_t)session->n_queued);
    put_limits(json, &session->limits);
    json_put_member_true(json, "debug", session->limits.debug != 0);
    json_put_member_int(json, "idle_timeout_secs", session->life.idle_timeout_secs);
    json_put_member_int(json, "max_age_secs", session->life.max_age_secs);
    json_put_member_str(json, "checkpoints", timeline_mode_name(session->timeline.mode));
    json_put_member_int(json, "checkpoint", (int64_t)timeline_next_id(session));
    json_put_member_some(json, "timeout_ms", session->usual.timeout_ms);
    json_put_member_some(json, "budget", (int64_t)session->usual.budget);
    if (session->usual.images > 0)
        json_put_member_str(json, "images", spec_images[session->usual.images - 1]);
    json_put_member_true(json, "explore", session->exploring.is_on);
    json_put_member_true(json, "structured", session->usual.is_structured);
    json_put_member_str(json, "isolation", spec_isolations[session->saving.isolation]);
    json_put_member_str(json, "durable", saving_modes[session->saving.mode]);
    json_put_member_some(json, "saved_through", (int64_t)session->saving.through);
    json_put_member_bool(json, "all_saved", saving_is_safe(session));
    if (session->saving.trouble[0] != '\0')
        json_put_member_str(json, "not_saved", session->saving.trouble);
    put_plan(json, &session->plan);
    if (is_dead)
        json_put_member_str(json, "reason", session->death.message);
    json_put_object_end(json);
}
