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

static void put_count(struct json_out *json, const char *key, uint64_t count)
{
    if (count > 0)
        json_put_member_int(json, key, (int64_t)count);
    else
        json_put_member_null(json, key);
}

static void put_raw_member(struct json_out *json, const char *key, const char *text, size_t len,
                           const char *fallback)
{
    json_put_key(json, key);
    if (text != NULL && len > 0)
        json_put_raw(json, text, len);
    else
        json_put_raw(json, fallback, strlen(fallback));
}

void book_put_cell(struct json_out *json, const char *notebook, const struct store_cell *cell,
                   bool with_outputs)
{
    (void)notebook;
    json_put_object(json);
    json_put_member_str(json, "id", cell->id);
    json_put_member_int(json, "number", (int64_t)cell->number);
    json_put_member_str(json, "kind", notebook_kind_name((enum cell_kind)cell->kind));
    if (cell->source != NULL)
        json_put_member_text(json, "source", cell->source, cell->source_len);
    json_put_member_str(json, "state", cell->state != NULL ? cell->state : "idle");
    if (cell->is_undone)
        json_put_member_bool(json, "undone", true);
    put_count(json, "execution_count", cell->count);
    put_count(json, "exec_id", cell->exec_id);
    put_time(json, "created_at", cell->created_ms);
    put_time(json, "executed_at", cell->executed_ms);
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
        put_raw_member(json, "metadata", cell->metadata, cell->metadata_len, "{}");
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
    json_put_member_int(json, "execution_count", (int64_t)row->count);
    put_time(json, "created_at", row->created_ms);
    put_time(json, "updated_at", row->updated_ms);
    if (row->metadata != NULL)
        put_raw_member(json, "metadata", row->metadata, strlen(row->metadata), "{}");
}
