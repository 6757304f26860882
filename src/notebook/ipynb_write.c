/* Jupyter's format, written. Daemon and command line tool. */
#include "notebook/formats.h"
#include "notebook/output.h"
#include "notebook/text.h"
#include "wire/json.h"

/* ---- metadata that nbformat's schema takes --------------------------------------------------- */

enum wanted { WANT_TEXT, WANT_BOOL, WANT_OBJECT, WANT_ARRAY, WANT_TAGS, WANT_SCROLLED, WANT_MODE };

struct rule {
    const char *name;
    enum wanted wanted;
};

static bool are_tags(const json_t *value)
{
    size_t i;
    const json_t *tag;
    _json_ json_t *seen = json_object();
    if (!json_is_array(value))
        return false;
    json_array_foreach(value, i, tag) {
        const char *text = json_string_value(tag);
        if (text == NULL || strlen(text) != json_string_length(tag) || text[0] == '\0' ||
            strpbrk(text, ",\n") != NULL || json_object_get(seen, text) != NULL)
            return false;
        json_object_set_new(seen, text, json_true());
    }
    return true;
}

static bool ipynb_write_is_wanted(const json_t *value, enum wanted wanted)
{
    const char *text = json_string_value(value);
    switch (wanted) {
    case WANT_TEXT:
        return text != NULL && text[0] != '\0' && text[0] != '\n';
    case WANT_BOOL:
        return json_is_boolean(value);
    case WANT_OBJECT:
        return json_is_object(value);
    case WANT_ARRAY:
        return json_is_array(value);
    case WANT_TAGS:
        return are_tags(value);
    case WANT_SCROLLED:
        return json_is_boolean(value) || (text != NULL && strcmp(text, "auto") == 0);
    case WANT_MODE:
        return text != NULL || json_is_object(value);
    }
    return false;
}

static void drop_unwanted(json_t *object, const struct rule *rules, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const json_t *value = json_object_get(object, rules[i].name);
        if (value != NULL && !ipynb_write_is_wanted(value, rules[i].wanted))
            json_object_del(object, rules[i].name);
    }
}

static bool has_text(const json_t *object, const char *name)
{
    return json_is_string(json_object_get(object, name));
}

/* ---- what the reference writes there --------------------------------------------------------- */

static json_t *own_object(json_t *metadata)
{
    json_t *own = json_object_get(metadata, "mcp_repl");
    if (!json_is_object(own)) {
        own = json_object();
        json_object_set_new(metadata, "mcp_repl", own);
    }
    return own;
}

static void ipynb_write_set_text(json_t *object, const char *name, const char *text)
{
    json_object_set_new(object, name, text != NULL ? json_string(text) : json_null());
}

static json_t *ipynb_write_make_metadata(const struct document *doc)
{
    static const struct rule rules[] = {{"authors", WANT_ARRAY}, {"title", WANT_TEXT}};
    static const struct rule info_rules[] = {{"codemirror_mode", WANT_MODE},
                                             {"file_extension", WANT_TEXT},
                                             {"mimetype", WANT_TEXT},
                                             {"pygments_lexer", WANT_TEXT}};
    json_t *metadata = json_deep_copy(doc->metadata);
    drop_unwanted(metadata, rules, ARRAY_LEN(rules));
    json_object_del(metadata, "orig_nbformat"); /* never written to a file */
    const struct notebook_language *l = notebook_language(doc);
    const json_t *kernel = json_object_get(metadata, "kernelspec");
    json_t *info = json_object_get(metadata, "language_info");
    bool has_kernel = has_text(kernel, "name") && has_text(kernel, "display_name");
    if (!has_kernel) {
        json_object_del(metadata, "kernelspec");
        if (l->name != NULL)
            json_object_set_new(metadata, "kernelspec",
                                json_pack("{s:s, s:s, s:s}", "display_name", l->display_name,
                                          "language", l->name, "name", l->kernel));
    }
    drop_unwanted(info, info_rules, ARRAY_LEN(info_rules));
    if (!has_text(info, "name")) {
        json_object_del(metadata, "language_info");
        if (l->name != NULL)
            json_object_set_new(metadata, "language_info",
                                json_pack("{s:s, s:s, s:s, s:s}", "file_extension", l->suffix,
                                          "mimetype", l->mime, "name", l->name, "pygments_lexer",
                                          l->lexer));
        else if (!has_kernel) /* else nothing says any more which language it is */
            json_object_set_new(metadata, "language_info",
                                json_pack("{s:s}", "name", doc->runtime));
    }
    if (doc->title != NULL)
        ipynb_write_set_text(metadata, "title", doc->title);
    if (notebook_is_ours(doc)) {
        json_t *own = own_object(metadata);
        ipynb_write_set_text(own, "user_id", doc->user_id);
        ipynb_write_set_text(own, "session_id", doc->session_id);
        ipynb_write_set_text(own, "created_at", doc->created_at);
        ipynb_write_set_text(own, "updated_at", doc->updated_at);
    }
    return metadata;
}

static json_t *make_cell_metadata(const struct document *doc, size_t number)
{
    static const struct rule all[] = {
        {"name", WANT_TEXT}, {"tags", WANT_TAGS}, {"jupyter", WANT_OBJECT}};
    static const struct rule code[] = {
        {"collapsed", WANT_BOOL}, {"scrolled", WANT_SCROLLED}, {"execution", WANT_OBJECT}};
    static const struct rule raw[] = {{"format", WANT_TEXT}};
    static const struct rule times[] = {{"iopub.execute_input", WANT_TEXT},
                                        {"iopub.status.busy", WANT_TEXT},
                                        {"shell.execute_reply", WANT_TEXT},
                                        {"shell.execute_reply.started", WANT_TEXT},
                                        {"iopub.status.idle", WANT_TEXT}};
    const struct notebook_cell *cell = &doc->cells[number];
    json_t *metadata = json_deep_copy(cell->metadata);
    drop_unwanted(metadata, all, ARRAY_LEN(all));
    if (cell->kind == CELL_CODE) {
        drop_unwanted(metadata, code, ARRAY_LEN(code));
        drop_unwanted(json_object_get(metadata, "execution"), times, ARRAY_LEN(times));
    } else if (cell->kind == CELL_RAW) {
        drop_unwanted(metadata, raw, ARRAY_LEN(raw));
    }
    if (notebook_is_ours(doc) && cell->kind == CELL_CODE) {
        json_t *own = own_object(metadata);
        json_object_set_new(own, "cell_number", json_integer((json_int_t)number));
        ipynb_write_set_text(own, "state", cell_state_document(cell->state));
        ipynb_write_set_text(own, "created_at", cell->created_at);
        ipynb_write_set_text(own, "executed_at", cell->executed_at);
        json_object_set_new(own, "execution_time",
                            cell->execution_time >= 0 ? json_real(cell->execution_time)
                                                      : json_null());
        if (cell->is_undone)
            json_object_set_new(own, "undone", json_true());
    }
    return metadata;
}

/* ---- cells ----------------------------------------------------------------------------------- */

static json_t *make_cell(const struct document *doc, size_t number)
{
    const struct notebook_cell *cell = &doc->cells[number];
    json_t *made = json_object();
    json_object_set_new(made, "cell_type", json_string(cell_kind_name(cell->kind)));
    if (cell->kind == CELL_CODE)
        json_object_set_new(made, "execution_count",
                            cell->execution_count > 0 ? json_integer(cell->execution_count)
                                                      : json_null());
    else if (cell->attachments != NULL)
        json_object_set(made, "attachments", cell->attachments);
    json_object_set_new(made, "id", json_string(cell->id));
    json_object_set_new(made, "metadata", make_cell_metadata(doc, number));
    if (cell->kind == CELL_CODE) {
        json_t *outputs = json_array(), *output;
        size_t i;
        json_array_foreach(cell->outputs, i, output) {
            json_array_append_new(outputs, output_to_nbformat(output, cell->execution_count));
        }
        json_object_set_new(made, "outputs", outputs);
    }
    json_object_set_new(made, "source", text_lines(cell->source, cell->source_len));
    return made;
}

/* ---- JSON as Jupyter lays it out ---------------------------------------------------------------
 * One space for each level, so that version control sees lines. */

static void ipynb_write_put_line(struct buf *out, int depth)
{
    buf_printf(out, "\n%*s", depth, "");
}

static void put_pretty(struct buf *out, const json_t *value, int depth)
{
    if (json_is_object(value)) {
        const char *name;
        json_t *member;
        bool is_first = true;
        buf_append_char(out, '{');
        json_object_foreach((json_t *)(uintptr_t)value, name, member) {
            if (!is_first)
                buf_append_char(out, ',');
            is_first = false;
            ipynb_write_put_line(out, depth + 1);
            buf_append_char(out, '"');
            json_append_escaped(out, name, strlen(name));
            buf_append_str(out, "\": ");
            put_pretty(out, member, depth + 1);
        }
        if (!is_first)
            ipynb_write_put_line(out, depth);
        buf_append_char(out, '}');
    } else if (json_is_array(value)) {
        size_t i;
        const json_t *item;
        buf_append_char(out, '[');
        json_array_foreach(value, i, item) {
            if (i > 0)
                buf_append_char(out, ',');
            ipynb_write_put_line(out, depth + 1);
            put_pretty(out, item, depth + 1);
        }
        if (json_array_size(value) > 0)
            ipynb_write_put_line(out, depth);
        buf_append_char(out, ']');
    } else if (json_is_real(value)) {
        json_append_real(out, json_real_value(value));
    } else {
        struct json_out scalar = JSON_OUT(out);
        json_put_value(&scalar, value);
    }
}

/* ---- the notebook ---------------------------------------------------------------------------- */

/* Cell by cell, so that not all of it is there twice. */
void notebook_write_ipynb(const struct document *doc, struct buf *out)
{
    buf_append_str(out, "{\n \"cells\": [");
    for (size_t i = 0; i < doc->n_cells && !out->overflowed; i++) {
        _json_ json_t *cell = make_cell(doc, i);
        buf_append_str(out, i > 0 ? ",\n  " : "\n  ");
        put_pretty(out, cell, 2);
    }
    _json_ json_t *metadata = ipynb_write_make_metadata(doc);
    buf_append_str(out, "\n ],\n \"metadata\": ");
    put_pretty(out, metadata, 1);
    buf_append_str(out, ",\n \"nbformat\": 4,\n \"nbformat_minor\": 5\n}\n");
}

int notebook_write(const struct document *doc, enum notebook_format format, struct buf *out,
                   struct err *e)
{
    static void (*const writers[])(const struct document *, struct buf *) = {
        [NOTEBOOK_IPYNB] = notebook_write_ipynb,
        [NOTEBOOK_CELLS_JSON] = notebook_write_cells_json,
        [NOTEBOOK_HTML] = notebook_write_html,
        [NOTEBOOK_MARKDOWN] = notebook_write_markdown,
        [NOTEBOOK_SCRIPT] = notebook_write_script,
    };
    if (doc->n_cells == 0) {
        err_set(e, ERR_INVALID, "the notebook is empty: there is nothing to export");
        return err_advise(e, "Run a cell first, or check that this is the right file.");
    }
    writers[format](doc, out);
    if (!out->overflowed)
        return 0;
    err_set(e, ERR_TOO_LARGE, "the export is larger than %zu MB", out->max / MIB);
    return err_advise(e, "Clear the largest outputs, or export to a format without them: script.");
}
