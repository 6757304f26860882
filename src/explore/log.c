/* The exploration log. In the daemon. */
#include "explore/log.h"

#include "explore/chars.h"

#include <math.h>
#include <string.h>

#define LOG_OTHER "other"

static json_int_t log_number(const json_t *log, const char *member)
{
    return json_integer_value(json_object_get(log, member));
}

static json_t *log_make(json_int_t events, json_t *counts, json_int_t tokens)
{
    return json_pack("{sI so sI}", "total_events", events, "function_counts", counts,
                     "total_tokens", tokens);
}

json_t *explore_log_new(void)
{
    return log_make(0, json_object(), 0);
}

json_t *explore_log_add(const json_t *log, const char *function, size_t chars)
{
    json_t *counts = json_copy(json_object_get(log, "function_counts"));
    _buf_ struct buf name = BUF_INIT(4 * EXPLORE_LOG_NAME_CHARS + 1);
    chars_append_line(&name, function, strlen(function), EXPLORE_LOG_NAME_CHARS);
    const char *key = buf_str(&name);
    if (json_object_get(counts, key) == NULL && json_object_size(counts) >= EXPLORE_LOG_NAMES)
        key = LOG_OTHER;
    json_int_t count = json_integer_value(json_object_get(counts, key));
    json_object_set_new(counts, key, json_integer(count + 1));
    return log_make(log_number(log, "total_events") + 1, counts,
                    log_number(log, "total_tokens") +
                        (json_int_t)(chars / EXPLORE_CHARS_PER_TOKEN));
}

const char *explore_log_strategy(const json_t *log)
{
    const json_t *counts = json_object_get(log, "function_counts");
    if (json_object_size(counts) == 0)
        return "none";
    if (log_number(counts, "llm_call") > 0 || log_number(counts, "llm_batch") > 0)
        return "delegated";
    json_int_t greps = log_number(counts, "grep"), peeks = log_number(counts, "peek");
    return greps > peeks ? "search" : peeks > greps ? "scan" : "mixed";
}

void explore_log_put(const json_t *log, size_t result_chars, struct json_out *out)
{
    json_int_t events = log_number(log, "total_events"), spent = log_number(log, "total_tokens");
    json_int_t result = (json_int_t)(result_chars / EXPLORE_CHARS_PER_TOKEN);
    json_put_object(out);
    json_put_key(out, "strategy");
    json_put_object(out);
    json_put_member_int(out, "total_events", events);
    json_put_key(out, "function_counts");
    json_put_value(out, json_object_get(log, "function_counts"));
    json_put_member_int(out, "total_tokens", spent);
    json_put_member_str(out, "strategy_type", explore_log_strategy(log));
    json_put_object_end(out);
    json_put_key(out, "efficiency");
    json_put_object(out);
    json_put_member_int(out, "exploration_tokens", spent);
    json_put_member_int(out, "result_tokens", result);
    double ratio = result == 0 ? 0 : spent > 0 ? (double)result / (double)spent : HUGE_VAL;
    json_put_member_real(out, "efficiency_ratio", ratio, 3);
    json_put_member_int(out, "total_events", events);
    json_put_object_end(out);
    json_put_object_end(out);
}

/* ---- from outside ---------------------------------------------------------------------------- */

static bool log_is_count(const json_t *value, json_int_t least)
{
    return json_is_integer(value) && json_integer_value(value) >= least &&
           json_integer_value(value) <= (json_int_t)1 << 53;
}

/* The counts with their sum, which is the number of all events. NULL if one is wrong. */
static json_t *log_read_counts(json_t *given, json_int_t *ret_events)
{
    _json_ json_t *counts = json_object();
    json_int_t events = 0;
    const char *name;
    json_t *value;
    if (!json_is_object(given) || json_object_size(given) > EXPLORE_LOG_NAMES + 1)
        return NULL;
    json_object_foreach(given, name, value) {
        if (!chars_is_line(name, strlen(name), EXPLORE_LOG_NAME_CHARS) || !log_is_count(value, 1))
            return NULL;
        json_object_set_new(counts, name, json_integer(json_integer_value(value)));
        events += json_integer_value(value);
    }
    *ret_events = events;
    return take_ptr(counts);
}

json_t *explore_log_read(const json_t *dict, struct err *e)
{
    const json_t *events = json_object_get(dict, "total_events");
    const json_t *tokens = json_object_get(dict, "total_tokens");
    json_int_t counted = 0;
    _json_ json_t *counts = log_read_counts(json_object_get(dict, "function_counts"), &counted);
    if (counts == NULL)
        err_set(e, ERR_INVALID, "the exploration log: function_counts is not an object of counts");
    else if (!log_is_count(events, 0) || json_integer_value(events) != counted)
        err_set(e, ERR_INVALID, "the exploration log: total_events is not the sum of the counts");
    else if (!log_is_count(tokens, 0))
        err_set(e, ERR_INVALID, "the exploration log: total_tokens is not a number of tokens");
    else
        return log_make(counted, json_incref(counts), json_integer_value(tokens));
    err_advise(e, "Pass a log as it was kept, unchanged.");
    return NULL;
}
