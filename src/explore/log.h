/* The exploration log: how often a session called which function, and what the results would cost a
 * model. A value as the research tree is (explore/research.h): changed by making another one.
 *
 *   {"total_events":2,"function_counts":{"grep":1,"peek":1},"total_tokens":300}
 *
 * A token is four characters. At most EXPLORE_LOG_NAMES functions are counted by name, the others
 * together as "other". */
#pragma once

#include "wire/json.h"

enum { EXPLORE_LOG_NAMES = 64, EXPLORE_LOG_NAME_CHARS = 64, EXPLORE_CHARS_PER_TOKEN = 4 };

json_t *explore_log_new(void);
/* The log with one call more, whose result has that many characters. */
json_t *explore_log_add(const json_t *log, const char *function, size_t chars);

/* {"strategy":{"total_events","function_counts","total_tokens","strategy_type"},
 *  "efficiency":{"exploration_tokens","result_tokens","efficiency_ratio","total_events"}}
 * for an answer of that many characters. The ratio is null if something came of nothing. */
void explore_log_put(const json_t *log, size_t result_chars, struct json_out *out);

/* "none", "delegated", "search", "scan" or "mixed". */
const char *explore_log_strategy(const json_t *log);

/* A log from outside, hostile until checked here; shares nothing with it. NULL on error. */
json_t *explore_log_read(const json_t *dict, struct err *e);
