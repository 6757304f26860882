/* notebook.import: a stranger's file, read by a worker thread, then put into the store cell by
 * cell. Daemon; on the loop, and the worker. */
#include "notebook/formats.h"
#include "ops/notebook_call.h"
#include "policy/policy.h"
#include "session/spec.h"
#include "wire/json.h"

#include <uv.h>

#define NOTEBOOK_IMPORT_CONTENT_MAX (128 * MIB)

static const char *const notebook_import_formats[] = {"ipynb", "cells-json", NULL};

static const struct op_param notebook_import_params[] = {
    {.name = "content",
     .type = OP_FILE,
     .is_required = true,
     .min = 1,
     .max = NOTEBOOK_IMPORT_CONTENT_MAX,
     .doc = "The notebook: the text of the file, or the object that is in it."},
    {.name = "format",
     .type = OP_CHOICE,
     .choices = notebook_import_formats,
     .doc = "What it is; default: what it looks like."},
    OP_PARAM_TITLE,
    {.name = "runtime",
     .type = OP_CHOICE,
     .choices = runtime_names,
     .doc = "What will run it; default: what its language says."},
    {.name = "profile",
     .type = OP_TEXT,
     .min = 1,
     .max = 64,
     .doc = "What is already imported then, by the name of a profile of the configuration."},
    {.name = "agent",
     .type = OP_TEXT,
     .is_nullable = true,
     .min = 1,
     .max = CONFIG_AGENT_BYTES,
     .means = OP_MEANS_SPEAKER,
     .doc = "Whose it is, by a name of the configuration; without it the agent \"default\"'s."},
    {0},
};

/* Files are read by a worker thread. The call waits for it whatever happens: its arguments are what
 * is read. */
struct importing {
    uv_work_t uv;
    struct call *call;
    struct document *doc; /* NULL if there is none; `err` says why */
    struct task *under_way;
    struct err err;
};

static void importing_free(struct importing *i)
{
    notebook_free(i->doc);
    free(i);
}

static int read_text(const char *format, const char *text, size_t len, struct document **ret,
                     struct err *e)
{
    if (format == NULL)
        return notebook_read(text, len, ret, e);
    bool is_ipynb = strcmp(format, "ipynb") == 0;
    return is_ipynb ? notebook_read_ipynb(text, len, ret, e)
                    : notebook_read_cells_json(text, len, ret, e);
}

static int read_object(const char *format, json_t *root, struct document **ret, struct err *e)
{
    bool is_ipynb =
        format != NULL ? strcmp(format, "ipynb") == 0 : json_object_get(root, "nbformat") != NULL;
    return is_ipynb ? notebook_parse_ipynb(root, ret, e) : notebook_parse_cells_json(root, ret, e);
}

static void notebook_import_read_in_worker(uv_work_t *uv)
{
    struct importing *i = CONTAINER_OF(uv, struct importing, uv);
    const char *format = call_text(i->call, "format", NULL);
    json_t *content = json_object_get(i->call->args, "content");
    int rc = json_is_object(content) ? read_object(format, content, &i->doc, &i->err)
                                     : read_text(format, json_string_value(content),
                                                 json_string_length(content), &i->doc, &i->err);
    if (rc < 0)
        i->doc = NULL;
}

static void notebook_import_on_row(void *context, const struct store_notebook *row,
                                   const struct err *e)
{
    struct importing *i = context;
    struct call *call = i->call;
    if (e != NULL) {
        importing_free(i);
        call_fail(call, e);
        return;
    }
    _buf_ struct buf out = BUF_INIT(CALL_REPLY_MAX);
    struct json_out json = JSON_OUT(&out);
    json_put_object(&json);
    notebook_put(&json, row, NULL);
    json_put_member_int(&json, "renamed_ids", (int64_t)i->doc->n_renamed);
    json_put_object_end(&json);
    importing_free(i);
    call_reply(call, 201, &out);
}

static void on_imported(void *context, const char *id, uint64_t n_cells, const struct err *e)
{
    struct importing *i = context;
    struct call *call = i->call;
    (void)n_cells;
    if (e == NULL) {
        store_get_notebook(engine_store(call->engine), id, notebook_import_on_row, i);
        return;
    }
    importing_free(i);
    call_fail(call, e);
}

/* What will run it. A language that Cella does not have gives no spec: such a notebook can be read
 * and written. */
static int write_spec(struct call *call, const struct document *doc, char **ret_spec, struct err *e)
{
    const char *given = call_text(call, "runtime", doc->runtime);
    struct agents_claim claim = {.agent = call->agent};
    struct agents_grant grant;
    if (agents_resolve(call->policy->config, &claim, &grant, e) < 0)
        return -1;
    struct session_request request = {
        .runtime = given != NULL ? runtime_by_name(given) : NULL,
        .profile = call_text(call, "profile", NULL),
        .agent = claim.agent,
        .limits = &grant.limits,
        .max_output_bytes = grant.repl.max_output_bytes,
    };
    *ret_spec = NULL;
    if (request.runtime == NULL)
        return 0;
    return spec_write_request(engine_config_of(call->engine), &request, ret_spec, e);
}

static void notebook_import_on_read(uv_work_t *uv, int status)
{
    (void)status;
    struct importing *i = CONTAINER_OF(uv, struct importing, uv);
    struct call *call = i->call;
    _free_ char *spec = NULL;
    struct err e = i->err;
    if (i->doc == NULL || write_spec(call, i->doc, &spec, &e) < 0) {
        if (e.advice[0] == '\0')
            err_advise(&e, "Save it with Jupyter, or export it again, and send that.");
        importing_free(i);
        call_fail(call, &e);
        return;
    }
    const char *title = call_text(call, "title", NULL);
    if (title != NULL)
        notebook_set_text(&i->doc->title, title);
    documents_import(call->documents, i->doc, spec, call_owner(call), on_imported, i);
}

static void notebook_import_run(struct call *call)
{
    if (!call_has_notebooks(call))
        return;
    struct importing *i = mem_alloc(sizeof(*i));
    *i = (struct importing){.call = call};
    uv_queue_work(engine_loop(call->engine), &i->uv, notebook_import_read_in_worker,
                  notebook_import_on_read);
}

const struct op op_notebook_import = {
    .name = "notebook.import",
    .method = "POST",
    .path = "/v1/notebooks/import",
    .subject = OP_ON_NOTEBOOK,
    .flags = OP_MUTATING | OP_LARGE,
    .params = notebook_import_params,
    .doc = "Makes a notebook of a file: an ipynb of Jupyter's, or a cells.json.",
    .run = notebook_import_run,
    .result = &shape_notebook,
    .status = 201,
    .errors = OP_ERR(NOT_FOUND),
    .example = "{\"content\": {\"nbformat\": 4, \"nbformat_minor\": 5, \"metadata\": {}, "
               "\"cells\": []}, \"title\": \"Imported\"}",
};
