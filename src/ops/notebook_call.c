/* What operations on notebooks share: kinds, metadata, a notebook's row as JSON, changes of cells.
 * Daemon; on the loop. */
#include "ops/notebook_call.h"

#include "policy/policy.h"
#include "wire/json.h"

const char *const notebook_kinds[] = {"code", "markdown", "raw", NULL};

bool call_has_notebooks(struct call *call)
{
    struct err e;
    if (engine_store(call->engine) != NULL)
        return true;
    err_set(&e, ERR_UNAVAILABLE, "this daemon keeps nothing beyond its own life");
    call_fail(call, &e);
    return false;
}

struct session *notebook_session(const struct call *call, const char *id)
{
    struct err ignored;
    struct session *session = session_find(call->engine, id, &ignored);
    return session != NULL && !session->is_unlisted ? session : NULL;
}

struct store_notebook notebook_unwritten(const struct session *session)
{
    return (struct store_notebook){
        .id = session->id,
        .user = policy_agent_of(session),
        .runtime = session->runtime->name,
        .created_ms = session->life.spawned_at_us / 1000,
        .updated_ms = session->life.spawned_at_us / 1000,
    };
}

int notebook_kind_of(const char *given, int fallback)
{
    for (int i = 0; given != NULL && notebook_kinds[i] != NULL; i++)
        if (strcmp(notebook_kinds[i], given) == 0)
            return i;
    return fallback;
}

int notebook_kind(const struct call *call, int fallback)
{
    return notebook_kind_of(call_text(call, "kind", NULL), fallback);
}

int notebook_metadata_of(struct call *call, const json_t *object, const char **ret_text,
                         struct err *e)
{
    const json_t *metadata = json_object_get(object, "metadata");
    *ret_text = NULL;
    if (metadata == NULL)
        return 0;
    _buf_ struct buf text = BUF_INIT(NOTEBOOK_METADATA_MAX);
    struct json_out json = JSON_OUT(&text);
    json_put_value(&json, metadata);
    if (text.overflowed) {
        err_set(e, ERR_TOO_LARGE, "\"metadata\" has more than %d bytes", NOTEBOOK_METADATA_MAX);
        return err_advise(e, "Keep large things in files, and their names here.");
    }
    *ret_text = arena_copy(&call->arena, buf_str(&text), text.len);
    return 0;
}

int notebook_metadata(struct call *call, const char **ret_text, struct err *e)
{
    return notebook_metadata_of(call, call->args, ret_text, e);
}

void notebook_put(struct json_out *json, const struct store_notebook *row,
                  const struct session *session)
{
    json_put_member_str(json, "notebook_id", row->id);
    json_put_member_str(json, "title", row->title);
    json_put_member_str(json, "user", row->user);
    json_put_member_str(json, "runtime", row->runtime);
    json_put_member_str(json, "state", session != NULL ? session_state_name(session->state) : NULL);
    json_put_member_int(json, "cell_count", (int64_t)row->n_cells);
    json_put_member_some(json, "execution_count", (int64_t)row->count);
    cell_json_put_time(json, "created_at", row->created_ms);
    cell_json_put_time(json, "updated_at", row->updated_ms);
    if (row->metadata != NULL)
        cell_json_put_metadata(json, row->metadata, strlen(row->metadata));
}

void reply_notebook(struct call *call, int http_status, const struct store_notebook *row)
{
    _buf_ struct buf out = BUF_INIT(CALL_REPLY_MAX);
    struct json_out json = JSON_OUT(&out);
    json_put_object(&json);
    notebook_put(&json, row, notebook_session(call, row->id));
    json_put_object_end(&json);
    call_reply(call, http_status, &out);
}

/* ---- changes --------------------------------------------------------------------------------- */

struct changing {
    struct call *call;
    struct task *under_way;
    int http_status;
    bool is_removal;
};

/* Whoever edited a cell that is not what they think it is needs to know what it is. */
static void fail_change(struct call *call, const struct store_cell *now, const struct err *e)
{
    if (now == NULL || e->code != ERR_CONFLICT) {
        call_fail(call, e);
        return;
    }
    _buf_ struct buf out = BUF_INIT(CALL_REPLY_MAX);
    struct json_out json = JSON_OUT(&out);
    json_put_object(&json);
    json_put_member_error(&json, e);
    json_put_member_int(&json, "revision", (int64_t)now->revision);
    json_put_object_end(&json);
    call_reply(call, err_http_status(e->code), &out);
}

static void on_changed(void *context, const struct store_cell *now, uint64_t n_cells,
                       const struct err *e)
{
    struct changing *changing = context;
    struct call *call = changing->call;
    const char *id = call_text(call, "session_id", "");
    if (e != NULL) {
        fail_change(call, now, e);
        return;
    }
    _buf_ struct buf out = BUF_INIT(CALL_REPLY_MAX);
    struct json_out json = JSON_OUT(&out);
    json_put_object(&json);
    json_put_member_str(&json, "notebook_id", id);
    if (now != NULL && changing->is_removal) {
        json_put_member_str(&json, "deleted_cell_id", now->id);
    } else if (now != NULL) {
        json_put_key(&json, "cell");
        cell_json_put(&json, now, false);
    }
    json_put_member_int(&json, "cell_count", (int64_t)n_cells);
    json_put_object_end(&json);
    call_reply(call, changing->http_status, &out);
}

static void notebook_call_on_gone(struct call *call)
{
    struct changing *changing = call->op_state;
    task_forget(changing->under_way);
}

void change_call(struct call *call, const struct store_change *change, int http_status)
{
    struct changing *changing = arena_alloc(&call->arena, sizeof(*changing));
    *changing = (struct changing){
        .call = call, .http_status = http_status, .is_removal = change->what == CHANGE_REMOVE};
    call->op_state = changing;
    call->on_gone = notebook_call_on_gone;
    changing->under_way =
        changes_make(call->engine, call_text(call, "session_id", ""), change, on_changed, changing);
}
