/* Notebooks and cells as the API has them. */
#include "base/clock.h"
#include "book/state.h"
#include "cell/outputs.h"
#include "session/session.h"

bool book_is_cell_id(const char *id, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        char c = id[i];
        bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
        if (!is_letter && !(c >= '0' && c <= '9') && c != '-' && c != '_')
            return false;
    }
    return len > 0 && len <= BOOK_CELL_ID_MAX;
}

static void put_time(struct json_out *json, const char *key, uint64_t at_ms)
{
    char time[CLOCK_RFC3339_SIZE];
    json_put_member_str(json, key, at_ms > 0 ? clock_rfc3339(at_ms, time) : NULL);
}

static void put_metadata(struct json_out *json, const char *text, size_t len)
{
    if (text == NULL || len == 0 || (len == 2 && memcmp(text, "{}", 2) == 0))
        return;
    json_put_key(json, "metadata");
    json_put_raw(json, text, len);
}

void book_put_cell(struct json_out *json, const char *notebook, const struct store_cell *cell,
                   bool with_outputs)
{
    (void)notebook;
    json_put_object(json);
    json_put_member_str(json, "cell_id", cell->id);
    json_put_member_some(json, "number", (int64_t)cell->exec_id);
    json_put_member_int(json, "index", (int64_t)cell->number);
    json_put_member_str(json, "kind", notebook_kind_name((enum cell_kind)cell->kind));
    if (cell->source != NULL)
        json_put_member_text(json, "code", cell->source, cell->source_len);
    json_put_member_str(json, "status", cell_status_of(cell->state));
    json_put_member_true(json, "undone", cell->is_undone);
    if (cell->exec_id == 0) /* it ran elsewhere: the number that it had there */
        json_put_member_some(json, "execution_count", (int64_t)cell->count);
    put_time(json, "created_at", cell->created_ms);
    put_time(json, "executed_at", cell->executed_ms);
    if (cell->executed_ms > 0)
        json_put_member_real(json, "duration_ms", (double)cell->duration_us / 1000, 3);
    json_put_member_some(json, "revision", (int64_t)cell->revision);
    if (with_outputs && cell->outputs != NULL && cell->outputs_len > strlen("[]")) {
        json_put_key(json, "outputs");
        output_put_public(json, cell->outputs, cell->outputs_len);
    }
    if (cell->source != NULL)
        put_metadata(json, cell->metadata, cell->metadata_len);
    json_put_object_end(json);
}

void book_put_notebook(struct json_out *json, const struct store_notebook *row,
                       const struct session *session)
{
    json_put_member_str(json, "notebook_id", row->id);
    json_put_member_str(json, "title", row->title);
    json_put_member_str(json, "user", row->user);
    json_put_member_str(json, "runtime", row->runtime);
    json_put_member_str(json, "state", session != NULL ? session_state_name(session->state) : NULL);
    json_put_member_int(json, "cell_count", (int64_t)row->n_cells);
    json_put_member_some(json, "execution_count", (int64_t)row->count);
    put_time(json, "created_at", row->created_ms);
    put_time(json, "updated_at", row->updated_ms);
    if (row->metadata != NULL)
        put_metadata(json, row->metadata, strlen(row->metadata));
}
