/* Jupyter's format, read: bytes of any origin to a document. Daemon and command line tool. */
#include "notebook/formats.h"
#include "notebook/output.h"
#include "notebook/text.h"

/* ---- what Cella wrote there ------------------------------------------------------------------ */

/* Moves a text, or the null that stands for one, out of an object. */
static void ipynb_read_take_text(json_t *from, const char *name, char **field)
{
    const json_t *value = json_object_get(from, name);
    if (!json_is_string(value) && !json_is_null(value))
        return;
    notebook_set_text(field, json_string_value(value));
    json_object_del(from, name);
}

static void drop_if_empty(json_t *parent, const char *name)
{
    const json_t *child = json_object_get(parent, name);
    if (json_is_object(child) && json_object_size(child) == 0)
        json_object_del(parent, name);
}

/* ---- cells ----------------------------------------------------------------------------------- */

static int find_kind(const json_t *cell, enum cell_kind *ret, struct err *e)
{
    const char *name = json_string_value(json_object_get(cell, "cell_type"));
    if (name == NULL)
        return err_set(e, ERR_INVALID, "it has no \"cell_type\"");
    for (int kind = CELL_CODE; kind <= CELL_RAW; kind++)
        if (strcmp(cell_kind_name((enum cell_kind)kind), name) == 0) {
            *ret = (enum cell_kind)kind;
            return 0;
        }
    return err_set(e, ERR_INVALID, "\"%.64s\" is no type of cell", name);
}

static int read_attachments(const json_t *from, struct notebook_cell *cell, struct err *e)
{
    json_t *given = json_object_get(from, "attachments");
    if (given == NULL || json_object_size(given) == 0)
        return json_is_object(given) || given == NULL
                   ? 0
                   : err_set(e, ERR_INVALID, "its \"attachments\" are no object");
    _json_ json_t *attachments = json_object();
    const char *name, *mime;
    json_t *bundle, *value;
    json_object_foreach(given, name, bundle) {
        if (!json_is_object(bundle))
            return err_set(e, ERR_INVALID, "its attachment \"%.64s\" is no object", name);
        json_t *joined = json_object();
        json_object_set_new(attachments, name, joined);
        json_object_foreach(bundle, mime, value) {
            json_t *text = output_is_json_mime(mime) ? json_incref(value) : text_join(value);
            if (text == NULL)
                return err_set(e, ERR_INVALID, "its attachment \"%.64s\" is no text", name);
            json_object_set_new(joined, mime, text);
        }
    }
    cell->attachments = take_ptr(attachments);
    return 0;
}

static int ipynb_read_cell(const json_t *from, struct document *doc, struct err *e)
{
    enum cell_kind kind = CELL_CODE;
    const json_t *metadata = json_object_get(from, "metadata");
    if (!json_is_object(from))
        return err_set(e, ERR_INVALID, "it is no object");
    if (find_kind(from, &kind, e) < 0)
        return -1;
    if (metadata != NULL && !json_is_object(metadata))
        return err_set(e, ERR_INVALID, "its \"metadata\" is no object");
    struct notebook_cell *cell = notebook_add_cell(doc, kind);
    notebook_set_text(&cell->id, json_string_value(json_object_get(from, "id")));
    _json_ json_t *source = text_join(json_object_get(from, "source"));
    if (source == NULL)
        return err_set(e, ERR_INVALID, "its \"source\" is neither text nor a list of lines");
    notebook_set_source(cell, json_string_value(source), json_string_length(source));
    if (metadata != NULL) {
        json_decref(cell->metadata);
        cell->metadata = json_deep_copy(metadata);
    }
    if (kind != CELL_CODE && read_attachments(from, cell, e) < 0)
        return -1;
    if (kind == CELL_CODE) {
        const json_t *count = json_object_get(from, "execution_count"), *output;
        if (json_is_integer(count) && json_integer_value(count) > 0)
            cell->execution_count = json_integer_value(count);
        if (outputs_read(from, output_from_nbformat, cell, e) < 0)
            return -1;
        /* What a cell of another program went through, as far as its outputs tell. */
        bool has_run = cell->execution_count > 0 || json_array_size(cell->outputs) > 0;
        cell->state = has_run ? CELL_COMPLETED : CELL_IDLE;
        size_t i;
        json_array_foreach(cell->outputs, i, output) {
            if (output_type(output) == OUTPUT_ERROR)
                cell->state = CELL_ERROR;
        }
    }
    /* What Cella wrote there. */
    json_t *own = json_object_get(cell->metadata, "mcp_repl");
    const json_t *time = json_object_get(own, "execution_time");
    ipynb_read_take_text(own, "created_at", &cell->created_at);
    ipynb_read_take_text(own, "executed_at", &cell->executed_at);
    if (cell_find_state(json_string_value(json_object_get(own, "state")), &cell->state))
        json_object_del(own, "state");
    if (json_is_number(time) && json_number_value(time) >= 0)
        cell->execution_time = json_number_value(time);
    if (json_is_number(time) || json_is_null(time))
        json_object_del(own, "execution_time");
    json_object_del(own, "cell_number"); /* said by the cell's place in the list */
    json_object_del(own, "undone");      /* in a session that is not this one */
    drop_if_empty(cell->metadata, "mcp_repl");
    doc->execution_count = MAX(doc->execution_count, cell->execution_count);
    return 0;
}

/* ---- the notebook ---------------------------------------------------------------------------- */

static const char *find_language(const json_t *metadata)
{
    static const char *const places[][2] = {
        {"language_info", "name"}, {"kernelspec", "language"}, {"kernelspec", "name"}};
    for (size_t i = 0; i < ARRAY_LEN(places); i++) {
        const json_t *object = json_object_get(metadata, places[i][0]);
        const char *name = json_string_value(json_object_get(object, places[i][1]));
        if (name != NULL && name[0] != '\0')
            return name;
    }
    return NULL;
}

int notebook_parse_ipynb(json_t *root, struct document **ret, struct err *e)
{
    _document_ struct document *doc = notebook_new();
    const json_t *version = json_object_get(root, "nbformat");
    long long major = json_integer_value(version);
    if (!json_is_integer(version)) {
        err_set(e, ERR_INVALID, "this is no notebook: it has no \"nbformat\"");
        return err_advise(e, "A notebook of Jupyter is expected, or a cells.json.");
    }
    if (major != 4) {
        err_set(e, ERR_INVALID, "this is a notebook of format %lld, and 4 is what can be read",
                major);
        if (major > 4)
            return err_advise(e, "Save it as format 4 with the program that wrote it.");
        return err_advise(e, "Open and save it in Jupyter, or: jupyter nbconvert --to notebook "
                             "--nbformat 4 FILE");
    }
    const json_t *metadata = json_object_get(root, "metadata");
    if (metadata != NULL && !json_is_object(metadata))
        return err_set(e, ERR_INVALID, "the notebook's \"metadata\" is no object");
    if (metadata != NULL) {
        json_decref(doc->metadata);
        doc->metadata = json_deep_copy(metadata);
    }
    const char *language = find_language(doc->metadata);
    if (language != NULL) {
        const char *runtime = notebook_runtime_of(language);
        notebook_set_text(&doc->runtime, runtime != NULL ? runtime : language);
    }
    json_t *own = json_object_get(doc->metadata, "mcp_repl");
    ipynb_read_take_text(own, "user_id", &doc->user_id);
    ipynb_read_take_text(own, "session_id", &doc->session_id);
    ipynb_read_take_text(own, "created_at", &doc->created_at);
    ipynb_read_take_text(own, "updated_at", &doc->updated_at);
    drop_if_empty(doc->metadata, "mcp_repl");
    ipynb_read_take_text(doc->metadata, "title", &doc->title);
    const json_t *cells = json_object_get(root, "cells"), *cell;
    if (!json_is_array(cells))
        return err_set(e, ERR_INVALID, "the notebook has no list of cells");
    if (json_array_size(cells) > NOTEBOOK_CELLS_MAX)
        return err_set(e, ERR_TOO_LARGE, "the notebook has more than %d cells", NOTEBOOK_CELLS_MAX);
    size_t i;
    json_array_foreach(cells, i, cell) {
        if (ipynb_read_cell(cell, doc, e) < 0)
            return err_context(e, "cell %zu (counted from 0)", i);
    }
    notebook_settle_ids(doc);
    *ret = take_ptr(doc);
    return 0;
}

/* ---- bytes ----------------------------------------------------------------------------------- */

static int ipynb_read_parse(const char *text, size_t len, json_t **ret, struct err *e)
{
    static const struct json_limits limits = {NOTEBOOK_DEPTH_MAX, NOTEBOOK_VALUES_MAX};
    static const char bom[] = "\xef\xbb\xbf";
    if (len > NOTEBOOK_BYTES_MAX) {
        err_set(e, ERR_TOO_LARGE, "the notebook is larger than %zu MB", NOTEBOOK_BYTES_MAX / MIB);
        return err_advise(e, "Clear the outputs of its largest cells and save it again.");
    }
    if (len >= 3 && memcmp(text, bom, 3) == 0) {
        text += 3;
        len -= 3;
    }
    if (json_read_file_object(text, len, &limits, ret, e) == 0)
        return 0;
    if (e->code == ERR_TOO_LARGE)
        return err_advise(e, "Clear the outputs of its largest cells and save it again.");
    return err_advise(e, "Check that it is a notebook, complete and without marks of a merge.");
}

int notebook_read_ipynb(const char *text, size_t len, struct document **ret, struct err *e)
{
    _json_ json_t *root = NULL;
    return ipynb_read_parse(text, len, &root, e) < 0 ? -1 : notebook_parse_ipynb(root, ret, e);
}

int notebook_read_cells_json(const char *text, size_t len, struct document **ret, struct err *e)
{
    _json_ json_t *root = NULL;
    return ipynb_read_parse(text, len, &root, e) < 0 ? -1 : notebook_parse_cells_json(root, ret, e);
}

int notebook_read(const char *text, size_t len, struct document **ret, struct err *e)
{
    _json_ json_t *root = NULL;
    if (ipynb_read_parse(text, len, &root, e) < 0)
        return -1;
    if (json_object_get(root, "nbformat") == NULL && json_object_get(root, "cells") != NULL)
        return notebook_parse_cells_json(root, ret, e);
    return notebook_parse_ipynb(root, ret, e);
}
