/* Rows of cells as JSON of the API. Runs in the daemon; owns nothing. */
#include "session/cell_json.h"

#include "base/clock.h"
#include "cell/outputs.h"

void cell_json_put_time(struct json_out *json, const char *key, uint64_t at_ms)
{
    char time[CLOCK_RFC3339_SIZE];
    json_put_member_str(json, key, at_ms > 0 ? clock_rfc3339(at_ms, time) : NULL);
}

static void cell_json_put_count(struct json_out *json, const char *key, uint64_t count)
{
    if (count > 0)
        json_put_member_int(json, key, (int64_t)count);
    else
        json_put_member_null(json, key);
}

void cell_json_put_raw(struct json_out *json, const char *key, const char *text, size_t len,
                       const char *fallback)
{
    json_put_key(json, key);
    if (text != NULL && len > 0)
        json_put_raw(json, text, len);
    else
        json_put_raw(json, fallback, strlen(fallback));
}

void cell_json_put(struct json_out *json, const struct store_cell *cell, bool with_outputs)
{
    json_put_object(json);
    json_put_member_str(json, "id", cell->id);
    json_put_member_int(json, "number", (int64_t)cell->number);
    json_put_member_str(json, "kind", cell_kind_name((enum cell_kind)cell->kind));
    if (cell->source != NULL)
        json_put_member_text(json, "source", cell->source, cell->source_len);
    json_put_member_str(json, "state", cell->state != NULL ? cell->state : "idle");
    if (cell->is_undone)
        json_put_member_bool(json, "undone", true);
    cell_json_put_count(json, "execution_count", cell->count);
    cell_json_put_count(json, "exec_id", cell->exec_id);
    cell_json_put_time(json, "created_at", cell->created_ms);
    cell_json_put_time(json, "executed_at", cell->executed_ms);
    if (cell->executed_ms > 0)
        json_put_member_real(json, "duration_ms", (double)cell->duration_us / 1000, 3);
    else
        json_put_member_null(json, "duration_ms");
    if (cell->revision > 0)
        json_put_member_int(json, "revision", (int64_t)cell->revision);
    if (with_outputs) {
        json_put_key(json, "outputs");
        if (cell->outputs != NULL)
            output_put_public(json, cell->outputs, cell->outputs_len);
        else
            json_put_raw(json, "[]", 2);
    }
    if (cell->source != NULL)
        cell_json_put_raw(json, "metadata", cell->metadata, cell->metadata_len, "{}");
    json_put_object_end(json);
}
