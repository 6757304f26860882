/* A cell as the API has it: in answers and in what watchers are told. */
#pragma once

#include "store/notebooks.h"
#include "wire/json.h"

/* One object. Without outputs "outputs" is left out. */
void cell_json_put(struct json_out *json, const struct store_cell *cell, bool with_outputs);
/* Members, which are left out if there is nothing: a time as RFC 3339, the stored metadata. */
void cell_json_put_time(struct json_out *json, const char *key, uint64_t at_ms);
void cell_json_put_metadata(struct json_out *json, const char *text, size_t len);
