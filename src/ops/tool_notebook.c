/* The tools of the set `notebook`, which agents know from elsewhere: cells of the caller's
 * notebook, each being an operation on notebooks. Daemon; on the loop. */
#include "base/ids.h"
#include "cell/prose.h"
#include "ops/exec_call.h"
#include "ops/naming.h"
#include "ops/notebook_call.h"
#include "ops/session_file_call.h"
#include "ops/tool_call.h"

#include <ctype.h>

enum {
    SHOWN_CELLS_MAX = 1000,
    SHOWN_OUTPUT = 1024, /* bytes of each cell's outputs where all cells are shown */
};

#define EXPORT_MAX (64 * MIB)
#define SUFFIX ".ipynb"

#define PARAM_CELL                                                                                 \
    {                                                                                              \
        .name = "cell", .type = OP_INT, .is_required = true, .min = -1, .max = INT64_MAX,          \
        .doc = "Number from 0; -1: the last."                                                      \
    }
/* What models need not know, and callers may. */
#define PARAMS_RUN                                                                                 \
    {.name = "timeout_ms",                                                                         \
     .type = OP_INT,                                                                               \
     .is_nullable = true,                                                                          \
     .min = 1,                                                                                     \
     .max = EXEC_TIMEOUT_MAX_MS,                                                                   \
     .means = OP_MEANS_TIMEOUT,                                                                    \
     .is_untold = true,                                                                            \
     .doc = "Interrupt it then."},                                                                 \
    {                                                                                              \
        .name = "yield_ms", .type = OP_INT, .is_nullable = true, .max = EXEC_YIELD_MAX_MS,         \
        .is_untold = true, .doc = "Answer by then, default 25000; the tool wait goes on."          \
    }

/* The notebook that is meant, by its id; NULL if the call was answered with the error. Its session
 * may be gone: then only the store knows it. */
static const char *notebook_of(struct call *call)
{
    const char *id = call_text(call, "notebook", NULL);
    if (id != NULL && ids_is_uuid(id, strlen(id)))
        return id;
    const struct session *session = tool_found(call);
    return session != NULL ? session->id : NULL;
}

static json_t *args_of(const char *id)
{
    return json_pack("{s:s}", "session_id", id);
}

/* With the cell that is meant. */
static json_t *cell_args(const struct call *call, const char *id)
{
    char cell[32];
    snprintf(cell, sizeof(cell), "%lld", (long long)call_int(call, "cell", -1));
    return json_pack("{s:s, s:s}", "session_id", id, "cell", cell);
}

/* How the caller wants to wait. */
static void pass_patience(const struct call *call, json_t *args)
{
    json_object_set(args, "timeout_ms", json_object_get(call->args, "timeout_ms"));
    json_object_set(args, "yield_ms", json_object_get(call->args, "yield_ms"));
    if (json_is_null(json_object_get(args, "timeout_ms")))
        json_object_del(args, "timeout_ms");
}

static void say(struct call *call, const char *text)
{
    _buf_ struct buf said = BUF_INIT(16 * KIB);
    buf_append_str(&said, text);
    tool_reply_text(call, &said);
}

/* ---- running --------------------------------------------------------------------------------- */

static const struct op_param execute_params[] = {
    {.name = "code", .type = OP_TEXT, .is_required = true, .max = EXEC_CODE_MAX, .doc = "Source."},
    TOOL_PARAM_NOTEBOOK,
    PARAMS_RUN,
    {0},
};

static void execute_in(struct call *call, const char *id)
{
    json_t *args = args_of(id);
    json_object_set(args, "code", json_object_get(call->args, "code"));
    json_object_set_new(args, "run", json_true());
    pass_patience(call, args);
    tool_become(call, &op_cell_add, args, NULL);
}

static void on_session(struct call *call, struct session *session)
{
    execute_in(call, session->id);
}

static void execute_run(struct call *call)
{
    const char *id = call_text(call, "notebook", NULL);
    if (id != NULL && ids_is_uuid(id, strlen(id)))
        execute_in(call, id);
    else
        tool_session(call, on_session);
}

static unsigned execute_uses(const struct call *call)
{
    return OP_RUNS_CODE | (tool_makes_session(call) ? OP_MAKES_SESSION : 0);
}

const struct op op_tool_execute_cell = {
    .name = "tool.execute_cell",
    .method = "POST",
    .path = "/v1/tools/execute_cell",
    .subject = OP_ON_TOOLS,
    .flags = OP_MUTATING | OP_STREAMS | OP_MAKES_SESSION | OP_RUNS_CODE,
    .params = execute_params,
    .doc = "Adds a cell to a notebook and runs it.",
    .tool = "execute_cell",
    .toolset = "notebook",
    .tool_doc = "Add a cell to the notebook and run it; variables stay.",
    .hints = OP_DESTROYS,
    .prepare = tool_prepare,
    .run = execute_run,
    .uses = execute_uses,
    .result = &shape_tool_result,
    .events = exec_events,
    .errors = OP_ERR(CONFLICT) | OP_ERR(GONE),
    .example = "{\"notebook\": \"$notebook\", \"code\": \"x * 2\"}",
};

static const struct op_param rerun_params[] = {
    PARAM_CELL,
    {.name = "code",
     .type = OP_TEXT,
     .is_nullable = true,
     .max = EXEC_CODE_MAX,
     .doc = "To replace its code."},
    TOOL_PARAM_NOTEBOOK,
    PARAMS_RUN,
    {0},
};

/* Its code was replaced. */
static void on_edited(struct call *call, const json_t *answer)
{
    (void)answer;
    tool_become(call, &op_cell_run, json_incref(call->args), NULL);
}

static void rerun_run(struct call *call)
{
    const char *id = notebook_of(call);
    if (id == NULL)
        return;
    json_t *args = cell_args(call, id), *code = json_object_get(call->args, "code");
    pass_patience(call, args);
    if (json_is_string(code)) {
        json_object_set(args, "code", code);
        tool_become(call, &op_cell_edit, args, on_edited);
    } else {
        tool_become(call, &op_cell_run, args, NULL);
    }
}

const struct op op_tool_rerun_cell = {
    .name = "tool.rerun_cell",
    .method = "POST",
    .path = "/v1/tools/rerun_cell",
    .subject = OP_ON_TOOLS,
    .flags = OP_MUTATING | OP_STREAMS | OP_RUNS_CODE,
    .params = rerun_params,
    .doc = "Runs a cell of a notebook again, with other code if that is given.",
    .tool = "rerun_cell",
    .toolset = "notebook",
    .tool_doc = "Run a cell again.",
    .hints = OP_DESTROYS,
    .prepare = tool_prepare,
    .run = rerun_run,
    .result = &shape_tool_result,
    .events = exec_events,
    .errors = OP_ERR(CONFLICT) | OP_ERR(GONE),
    .example = "{\"notebook\": \"$notebook\", \"cell\": 1}",
};

/* ---- showing --------------------------------------------------------------------------------- */

/* "[0 ok]", the code, what it showed: up to `max` bytes of that. */
static void put_cell(struct buf *out, const json_t *cell, size_t max)
{
    const json_t *code = json_object_get(cell, "code");
    const char *kind = json_string_value(json_object_get(cell, "kind"));
    const char *status = json_string_value(json_object_get(cell, "status"));
    bool is_code = kind == NULL || strcmp(kind, "code") == 0;
    _buf_ struct buf shown = BUF_INIT(CALL_REPLY_MAX);
    tool_begin_line(out);
    buf_printf(out, "[%lld %s%s]\n", (long long)json_integer_value(json_object_get(cell, "index")),
               is_code ? status : kind,
               json_is_true(json_object_get(cell, "undone")) ? ", undone" : "");
    buf_append(out, json_string_value(code), json_string_length(code));
    tool_put_outputs(&shown, json_object_get(cell, "outputs"));
    if (shown.len == 0)
        return;
    tool_begin_line(out);
    buf_append_str(out, "->\n");
    prose_cut(buf_str(&shown), shown.len, max, NULL, out);
}

static void tool_notebook_on_cell(struct call *call, const json_t *answer)
{
    _buf_ struct buf text = BUF_INIT(CALL_REPLY_MAX);
    put_cell(&text, answer, tool_text_max(call));
    tool_reply_text(call, &text);
}

static void tool_notebook_on_notebook(struct call *call, const json_t *answer)
{
    const json_t *cells = json_object_get(answer, "cells");
    const char *title = json_string_value(json_object_get(answer, "title"));
    size_t n = json_array_size(cells), i = 0;
    _buf_ struct buf text = BUF_INIT(CALL_REPLY_MAX);
    if (title != NULL)
        buf_printf(&text, "# %.200s\n", title);
    for (; i < n && text.len < tool_text_max(call); i++)
        put_cell(&text, json_array_get(cells, i), SHOWN_OUTPUT);
    tool_begin_line(&text);
    size_t count = (size_t)json_integer_value(json_object_get(answer, "count"));
    if (count == 0)
        buf_append_str(&text, "[no cells]");
    else if (count > i)
        buf_printf(&text, "[%zu more cells: show_cell(cell=%zu)]", count - i, i);
    tool_reply_text(call, &text);
}

static const struct op_param cell_params[] = {PARAM_CELL, TOOL_PARAM_NOTEBOOK, {0}};
static const struct op_param tool_notebook_notebook_params[] = {TOOL_PARAM_NOTEBOOK, {0}};

static void show_cell_run(struct call *call)
{
    const char *id = notebook_of(call);
    if (id != NULL)
        tool_become(call, &op_cell_get, cell_args(call, id), tool_notebook_on_cell);
}

static void show_run(struct call *call)
{
    const char *id = notebook_of(call);
    if (id == NULL)
        return;
    json_t *args = args_of(id);
    json_object_set_new(args, "outputs", json_true());
    json_object_set_new(args, "limit", json_integer(SHOWN_CELLS_MAX));
    tool_become(call, &op_notebook_get, args, tool_notebook_on_notebook);
}

const struct op op_tool_show_cell = {
    .name = "tool.show_cell",
    .method = "POST",
    .path = "/v1/tools/show_cell",
    .subject = OP_ON_TOOLS,
    .flags = OP_READ_ONLY,
    .params = cell_params,
    .doc = "Shows a cell of a notebook: its code and what it showed.",
    .tool = "show_cell",
    .toolset = "notebook",
    .tool_doc = "A cell's code and output.",
    .prepare = tool_prepare,
    .run = show_cell_run,
    .result = &shape_tool_result,
    .example = "{\"notebook\": \"$notebook\", \"cell\": 1}",
};

const struct op op_tool_show_notebook = {
    .name = "tool.show_notebook",
    .method = "POST",
    .path = "/v1/tools/show_notebook",
    .subject = OP_ON_TOOLS,
    .flags = OP_READ_ONLY,
    .params = tool_notebook_notebook_params,
    .doc = "Shows all cells of a notebook.",
    .tool = "show_notebook",
    .toolset = "notebook",
    .tool_doc = "All cells with their code and output.",
    .prepare = tool_prepare,
    .run = show_run,
    .result = &shape_tool_result,
    .example = "{\"notebook\": \"$notebook\"}",
};

/* ---- changing -------------------------------------------------------------------------------- */

static void tool_notebook_on_deleted(struct call *call, const json_t *answer)
{
    _buf_ struct buf text = BUF_INIT(KIB);
    buf_printf(&text, "[deleted, %lld cells left]",
               (long long)json_integer_value(json_object_get(answer, "cell_count")));
    tool_reply_text(call, &text);
}

static void delete_run(struct call *call)
{
    const char *id = notebook_of(call);
    if (id != NULL)
        tool_become(call, &op_cell_delete, cell_args(call, id), tool_notebook_on_deleted);
}

static void on_cleared(struct call *call, const json_t *answer)
{
    (void)answer;
    say(call, "[cleared; variables stay]");
}

static void clear_run(struct call *call)
{
    const char *id = notebook_of(call);
    if (id == NULL)
        return;
    json_t *args = args_of(id);
    json_object_set_new(args, "what", json_string("cells"));
    tool_become(call, &op_notebook_clear, args, on_cleared);
}

const struct op op_tool_delete_cell = {
    .name = "tool.delete_cell",
    .method = "POST",
    .path = "/v1/tools/delete_cell",
    .subject = OP_ON_TOOLS,
    .flags = OP_MUTATING,
    .params = cell_params,
    .doc = "Removes a cell from a notebook; what it did stays done.",
    .tool = "delete_cell",
    .toolset = "notebook",
    .tool_doc = "Remove a cell; what it did stays.",
    .hints = OP_DESTROYS,
    .prepare = tool_prepare,
    .run = delete_run,
    .result = &shape_tool_result,
    .errors = OP_ERR(CONFLICT),
    .example = "{\"notebook\": \"$notebook\", \"cell\": 0}",
};

const struct op op_tool_clear_notebook = {
    .name = "tool.clear_notebook",
    .method = "POST",
    .path = "/v1/tools/clear_notebook",
    .subject = OP_ON_TOOLS,
    .flags = OP_MUTATING,
    .params = tool_notebook_notebook_params,
    .doc = "Removes all cells of a notebook; variables stay.",
    .tool = "clear_notebook",
    .toolset = "notebook",
    .tool_doc = "Remove all cells; variables stay.",
    .hints = OP_DESTROYS | OP_REPEATABLE,
    .prepare = tool_prepare,
    .run = clear_run,
    .result = &shape_tool_result,
    .errors = OP_ERR(CONFLICT),
    .example = "{\"notebook\": \"$notebook\"}",
};

/* ---- making and exporting -------------------------------------------------------------------- */

static const struct op_param create_params[] = {
    {.name = "name",
     .type = OP_TEXT,
     .is_required = true,
     .min = 1,
     .max = NOTEBOOK_TITLE_MAX,
     .doc = "Its title."},
    {0},
};

static void on_created(struct call *call, const json_t *answer)
{
    (void)answer;
    call->tool->made = arena_strdup(&call->arena, call_text(call, "name", ""));
    say(call, "");
}

/* What the title is as a session's name. */
static const char *tool_notebook_name_of(struct call *call, const char *title, struct err *e)
{
    char stem[NAMING_NAME_MAX / 2];
    size_t len = 0;
    for (; *title != '\0' && len + 1 < sizeof(stem); title++)
        if (isalnum((unsigned char)*title) || (len > 0 && strchr("._-", *title) != NULL))
            stem[len++] = *title;
        else if (len > 0 && stem[len - 1] != '-')
            stem[len++] = '-';
    stem[len] = '\0';
    return tool_new_name(call, len > 0 ? stem : "notebook", e);
}

static void create_run(struct call *call)
{
    struct err e;
    const char *title = call_text(call, "name", "");
    const char *name = tool_notebook_name_of(call, title, &e);
    if (name == NULL) {
        call_fail(call, &e);
        return;
    }
    tool_become(call, &op_notebook_create,
                json_pack("{s:s, s:s, s:o}", "title", title, "name", name, "labels",
                          tool_labels(call, true)),
                on_created);
}

const struct op op_tool_create_notebook = {
    .name = "tool.create_notebook",
    .method = "POST",
    .path = "/v1/tools/create_notebook",
    .subject = OP_ON_TOOLS,
    .flags = OP_MUTATING | OP_MAKES_SESSION,
    .params = create_params,
    .doc = "Makes a notebook, which is the caller's own from then on.",
    .tool = "create_notebook",
    .toolset = "notebook",
    .tool_doc = "Make a notebook and go on in it.",
    .prepare = tool_prepare_plain,
    .run = create_run,
    .result = &shape_tool_result,
    .errors = OP_ERR(CONFLICT) | OP_ERR(GONE),
    .example = "{\"name\": \"June\"}",
};

static const struct op_param export_params[] = {
    {.name = "path",
     .type = OP_TEXT,
     .is_required = true,
     .min = 1,
     .max = WARDEN_PATH_SIZE - 8,
     .doc = "In /workspace."},
    TOOL_PARAM_NOTEBOOK,
    {0},
};

static void tool_notebook_on_written(struct call *call, const json_t *answer)
{
    _buf_ struct buf text = BUF_INIT(16 * KIB);
    buf_printf(&text, "[wrote %s, %lld bytes]", json_string_value(json_object_get(answer, "path")),
               (long long)json_integer_value(json_object_get(answer, "bytes")));
    tool_reply_text(call, &text);
}

/* The document: it becomes a file of the session. */
static void tool_notebook_on_document(struct call *call, struct buf *bytes, uint64_t total)
{
    if (bytes->len < total) {
        tool_fail(call, "the notebook is too large for this", "Clear outputs of it first.");
        return;
    }
    tool_give_body(call, bytes);
    tool_become(call, &op_session_file_put, json_incref(call->args), tool_notebook_on_written);
}

static void export_run(struct call *call)
{
    const char *id = notebook_of(call), *path = tool_path(call_text(call, "path", ""));
    if (id == NULL)
        return;
    size_t len = strlen(path), suffix = strlen(SUFFIX);
    bool has_suffix = len > suffix && strcmp(path + len - suffix, SUFFIX) == 0;
    path = arena_printf(&call->arena, "%s%s", path, has_suffix ? "" : SUFFIX);
    call->tool->on_bytes = tool_notebook_on_document;
    call->tool->bytes_max = EXPORT_MAX;
    tool_become(call, &op_notebook_export, json_pack("{s:s, s:s}", "session_id", id, "path", path),
                NULL);
}

const struct op op_tool_export_ipynb = {
    .name = "tool.export_ipynb",
    .method = "POST",
    .path = "/v1/tools/export_ipynb",
    .subject = OP_ON_TOOLS,
    .flags = OP_MUTATING,
    .params = export_params,
    .doc = "Writes a notebook as .ipynb into its session's workspace.",
    .tool = "export_ipynb",
    .toolset = "notebook",
    .tool_doc = "Write the notebook as .ipynb.",
    .hints = OP_DESTROYS | OP_REPEATABLE,
    .prepare = tool_prepare,
    .run = export_run,
    .result = &shape_tool_result,
    .errors = OP_ERR(CONFLICT) | OP_ERR(GONE) | OP_ERR(LIMIT),
    .example = "{\"notebook\": \"$notebook\", \"path\": \"report\"}",
};
