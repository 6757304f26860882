#include "base/clock.h"
#include "ops/ops.h"
#include "session/plan.h"
#include "wire/json.h"

void put_plan(struct json_out *json, const struct plan *plan)
{
    char time[CLOCK_RFC3339_SIZE];
    if (plan == NULL || !plan_is_on(plan))
        return;
    json_put_key(json, "plan");
    json_put_object(json);
    json_put_member_str(json, "reason", plan->reason);
    json_put_member_str(json, "entered_at", clock_rfc3339(plan->entered_at_ms, time));
    json_put_object_end(json);
}

void reply_plan(struct call *call, const char *member, const struct plan *plan)
{
    _buf_ struct buf out = BUF_INIT(CALL_REPLY_MAX);
    struct json_out json = JSON_OUT(&out);
    json_put_object(&json);
    json_put_member_str(&json, member, call_text(call, member, ""));
    put_plan(&json, plan);
    json_put_object_end(&json);
    call_reply(call, 200, &out);
}
