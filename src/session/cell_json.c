/* Rows of cells as JSON of the API. Runs in the daemon; owns nothing. */
#include "session/cell_json.h"

#include "base/clock.h"
#include "cell/outputs.h"

void cell_json_put_time(struct json_out *json, const char *key, uint64_t at_ms)
{
    char time[CLOCK_RFC3339_SIZE];
    json_put_member_str(json, key, at_ms > 0 ? clock_rfc3339(at_ms, time) : NULL);
}

void cell_json_put_metadata(struct json_out *json, const char *text, size_t len)
{
    if (text == NULL || len == 0 || (len == 2 && memcmp(text, "{}", 2) == 0))
        return;
    json_put_key(json, "metadata");
    json_put_raw(json, text, len);
}

void cell_json_put(struct json_out *json, const struct store_cell *cell, bool with_outputs)
{
    json_put_object(json);
    json_put_member_str(json, "cell_id", cell->id);
    json_put_member_some(json, "number", (int64_t)cell->exec_id);
    json_put_member_int(json, "index", (int64_t)cell->number);
    json_put_member_str(json, "kind", cell_kind_name((enum cell_kind)cell->kind));
    if (cell->source != NULL)
        json_put_member_text(json, "code", cell->source, cell->source_len);
    json_put_member_str(json, "status", cell_status_of(cell->state));
    json_put_member_true(json, "undone", cell->is_undone);
    if (cell->exec_id == 0) /* it ran elsewhere: the number that it had there */
        json_put_member_some(json, "execution_count", (int64_t)cell->count);
    cell_json_put_time(json, "created_at", cell->created_ms);
    cell_json_put_time(json, "executed_at", cell->executed_ms);
    if (cell->executed_ms > 0)
        json_put_member_real(json, "duration_ms", (double)cell->duration_us / 1000, 3);
    json_put_member_some(json, "revision", (int64_t)cell->revision);
    if (with_outputs && cell->outputs != NULL && cell->outputs_len > strlen("[]")) {
        json_put_key(json, "outputs");
        output_put_public(json, cell->outputs, cell->outputs_len);
    }
    if (cell->source != NULL)
        cell_json_put_metadata(json, cell->metadata, cell->metadata_len);
    json_put_object_end(json);
}
