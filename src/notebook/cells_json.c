/* cells.json, with the fields of the reference and no others. It knows code cells, five types of
 * outputs and five states: text of both streams is TEXT, Markdown, LaTeX and JSON likewise, SVG an
 * IMAGE, a cell that was interrupted or died an ERROR; Markdown and raw cells are comments, which
 * are recognised when they are read. Daemon and command line tool. */
#include "base/clock.h"
#include "base/utf8.h"
#include "notebook/formats.h"
#include "notebook/output.h"
#include "notebook/text.h"
#include "wire/base64.h"

#include <ctype.h>
#include <strings.h>

static const char *const comment_marks[] = {
    [CELL_MARKDOWN] = "# %% [markdown]\n", [CELL_RAW] = "# %% [raw]\n"};

/* ---- reading --------------------------------------------------------------------------------- */

static json_t *make_text_output(const char *type, const char *member, const char *text, size_t len)
{
    json_t *typed = json_pack("{s:s}", "type", type);
    json_object_set_new(typed, member, json_stringn_nocheck(text, len));
    return typed;
}

/* "Name: message", a blank line, "Traceback (user code):" and so on: the first line as name and
 * message, all of it as the traceback. */
static json_t *cells_json_read_error(const char *text, size_t len)
{
    size_t line = 0, name = 0;
    while (line < len && text[line] != '\n')
        line++;
    while (name < line &&
           (isalnum((unsigned char)text[name]) || text[name] == '_' || text[name] == '.'))
        name++;
    bool has_name = name > 0 && (name == line || text[name] == ':');
    size_t message = has_name ? name : 0;
    if (has_name && message < line)
        message++;
    while (message < line && text[message] == ' ')
        message++;
    json_t *typed = json_pack("{s:s}", "type", "error");
    json_object_set_new(typed, "name",
                        has_name ? json_stringn_nocheck(text, name) : json_string("Error"));
    json_object_set_new(typed, "message", json_stringn_nocheck(text + message, line - message));
    json_object_set_new(typed, "traceback", json_stringn_nocheck(text, len));
    return typed;
}

static void cells_json_copy_member(json_t *to, const json_t *from, const char *name, bool is_number)
{
    json_t *value = json_object_get(from, name);
    bool fits = is_number ? json_is_integer(value) && json_integer_value(value) >= 0
                          : json_is_string(value);
    if (fits)
        json_object_set(to, name, value);
}

/* NULL if the bytes are no SVG. */
static json_t *read_svg(const json_t *content)
{
    size_t len;
    const char *data = output_text(content, "data", &len);
    _buf_ struct buf bytes = BUF_INIT(NOTEBOOK_BYTES_MAX);
    if (data == NULL || !base64_decode(&bytes, data, len) ||
        !utf8_is_valid(buf_str(&bytes), bytes.len))
        return NULL;
    return make_text_output("svg", "svg", buf_str(&bytes), bytes.len);
}

static int cells_json_read_output(const json_t *from, int64_t execution_count, json_t **ret,
                                  struct err *e)
{
    const char *type = json_string_value(json_object_get(from, "output_type"));
    const json_t *content = json_object_get(from, "content");
    json_t *timestamp = json_object_get(from, "timestamp");
    (void)execution_count;
    if (type == NULL)
        return err_set(e, ERR_INVALID, "it has no \"output_type\"");
    if (strcasecmp(type, "IMAGE") == 0) {
        const char *format = json_string_value(json_object_get(content, "format"));
        if (!json_is_object(content))
            return err_set(e, ERR_INVALID, "its image is no object");
        json_t *typed = format != NULL && strcmp(format, "svg") == 0 ? read_svg(content) : NULL;
        if (typed == NULL) {
            typed =
                json_pack("{s:s, s:s}", "type", "image", "format", format != NULL ? format : "png");
            cells_json_copy_member(typed, content, "width", true);
            cells_json_copy_member(typed, content, "height", true);
            if (json_is_string(json_object_get(content, "data")))
                json_object_set_new(typed, "data",
                                    text_without_spaces(json_object_get(content, "data")));
            cells_json_copy_member(typed, content, "resource_uri", false);
            cells_json_copy_member(typed, content, "source", false);
            json_t *metadata = json_object_get(content, "metadata");
            if (json_is_object(metadata) && json_object_size(metadata) > 0)
                json_object_set(typed, "image_metadata", metadata);
        }
        *ret = typed;
    } else {
        const char *text = json_string_value(content);
        size_t len = json_string_length(content);
        if (text == NULL)
            return err_set(e, ERR_INVALID, "its \"content\" is no text");
        if (strcasecmp(type, "ERROR") == 0)
            *ret = cells_json_read_error(text, len);
        else if (strcasecmp(type, "HTML") == 0)
            *ret = make_text_output("html", "html", text, len);
        else if (strcasecmp(type, "DATAFRAME") == 0)
            *ret = make_text_output("dataframe", len > 0 && text[0] == '<' ? "html" : "text", text,
                                    len);
        else if (strcasecmp(type, "TEXT") == 0)
            *ret =
                json_pack("{s:s, s:s, s:O}", "type", "text", "stream", "stdout", "text", content);
        else
            return err_set(e, ERR_INVALID, "\"%.64s\" is no type of output", type);
    }
    if (json_is_string(timestamp))
        json_object_set(*ret, "timestamp", timestamp);
    return 0;
}

/* A comment that stands for a cell of another kind. */
static bool read_comment(struct notebook_cell *cell, enum cell_kind kind)
{
    const char *mark = comment_marks[kind];
    size_t len = strlen(mark);
    if (cell->source_len < len || memcmp(cell->source, mark, len) != 0)
        return false;
    _buf_ struct buf text = BUF_INIT(NOTEBOOK_BYTES_MAX);
    if (!text_append_unprefixed(&text, "# ", cell->source + len, cell->source_len - len))
        return false;
    if (text.len > 0 && text.data[text.len - 1] == '\n')
        text.len--;
    cell->kind = kind;
    notebook_set_source(cell, buf_str(&text), text.len);
    return true;
}

static int cells_json_read_cell(const json_t *from, struct document *doc, struct err *e)
{
    const json_t *code = json_object_get(from, "code"), *id = json_object_get(from, "id");
    const json_t *count = json_object_get(from, "execution_count");
    const json_t *time = json_object_get(from, "execution_time");
    if (!json_is_string(code))
        return err_set(e, ERR_INVALID, "its \"code\" is missing or no text");
    struct notebook_cell *cell = notebook_add_cell(doc, CELL_CODE);
    notebook_set_source(cell, json_string_value(code), json_string_length(code));
    notebook_set_text(&cell->id, json_string_value(id));
    cell_find_state(json_string_value(json_object_get(from, "state")), &cell->state);
    notebook_set_text(&cell->created_at, json_string_value(json_object_get(from, "created_at")));
    notebook_set_text(&cell->executed_at, json_string_value(json_object_get(from, "executed_at")));
    if (json_is_integer(count) && json_integer_value(count) > 0)
        cell->execution_count = json_integer_value(count);
    if (json_is_number(time) && json_number_value(time) >= 0)
        cell->execution_time = json_number_value(time);
    if (outputs_read(from, cells_json_read_output, cell, e) < 0)
        return -1;
    if (json_array_size(cell->outputs) == 0 && !read_comment(cell, CELL_MARKDOWN))
        read_comment(cell, CELL_RAW);
    return 0;
}

int notebook_parse_cells_json(json_t *root, struct document **ret, struct err *e)
{
    _document_ struct document *doc = notebook_new();
    const json_t *cells = json_object_get(root, "cells"), *cell;
    const json_t *count = json_object_get(root, "execution_count");
    if (!json_is_array(cells)) {
        err_set(e, ERR_INVALID, "this is no cells.json: it has no list of cells");
        return err_advise(e, "A notebook of Jupyter is expected, or a cells.json.");
    }
    if (json_array_size(cells) > NOTEBOOK_CELLS_MAX)
        return err_set(e, ERR_TOO_LARGE, "it has more than %d cells", NOTEBOOK_CELLS_MAX);
    notebook_set_text(&doc->user_id, json_string_value(json_object_get(root, "user_id")));
    notebook_set_text(&doc->session_id, json_string_value(json_object_get(root, "session_id")));
    notebook_set_text(&doc->created_at, json_string_value(json_object_get(root, "created_at")));
    notebook_set_text(&doc->updated_at, json_string_value(json_object_get(root, "updated_at")));
    if (json_is_integer(count) && json_integer_value(count) > 0)
        doc->execution_count = json_integer_value(count);
    size_t i;
    json_array_foreach(cells, i, cell) {
        if (cells_json_read_cell(cell, doc, e) < 0)
            return err_context(e, "cell %zu (counted from 0)", i);
    }
    notebook_settle_ids(doc);
    *ret = take_ptr(doc);
    return 0;
}

/* ---- writing --------------------------------------------------------------------------------- */

static void cells_json_put_number(struct json_out *o, const char *name, const json_t *typed)
{
    const json_t *value = json_object_get(typed, name);
    json_put_key(o, name);
    if (json_is_integer(value))
        json_put_int(o, json_integer_value(value));
    else
        json_put_null(o);
}

static void cells_json_put_image(struct json_out *o, const json_t *typed)
{
    size_t len;
    const char *data = output_text(typed, "data", &len);
    const char *format = json_string_value(json_object_get(typed, "format"));
    const char *source = json_string_value(json_object_get(typed, "source"));
    const json_t *metadata = json_object_get(typed, "image_metadata");
    _buf_ struct buf encoded = BUF_INIT(NOTEBOOK_BYTES_MAX);
    if (output_type(typed) == OUTPUT_SVG) {
        const char *svg = output_text(typed, "svg", &len);
        base64_encode(&encoded, svg != NULL ? svg : "", len);
        data = buf_str(&encoded);
        len = encoded.len;
        format = "svg";
    }
    json_put_member_str(o, "content_type", data != NULL ? "image" : "image_reference");
    json_put_key(o, "content");
    json_put_object(o);
    if (data != NULL)
        json_put_member_text(o, "data", data, len);
    else
        json_put_member_str(o, "resource_uri",
                            json_string_value(json_object_get(typed, "resource_uri")));
    json_put_member_str(o, "format", format != NULL ? format : "png");
    cells_json_put_number(o, "width", typed);
    cells_json_put_number(o, "height", typed);
    json_put_member_str(o, "source", source != NULL ? source : "display");
    json_put_key(o, "metadata");
    if (metadata != NULL) {
        json_put_value(o, metadata);
    } else {
        json_put_object(o);
        json_put_object_end(o);
    }
    json_put_object_end(o);
}

/* As the reference tells it: name and message first, the code that failed last. */
static void describe_error(struct buf *out, const json_t *typed)
{
    size_t name_len, message_len, len, code_len;
    const char *name = output_text(typed, "name", &name_len);
    const char *message = output_text(typed, "message", &message_len);
    const char *traceback = output_text(typed, "traceback", &len);
    const char *code = output_text(typed, "code", &code_len);
    _buf_ struct buf trace = BUF_INIT(NOTEBOOK_BYTES_MAX);
    text_append_settled(&trace, traceback, len);
    buf_append(out, name_len > 0 ? name : "Error", name_len > 0 ? name_len : 5);
    if (message_len > 0) {
        buf_append_str(out, ": ");
        text_append_settled(out, message, message_len);
    }
    if (trace.len >= out->len && memcmp(trace.data, out->data, out->len) == 0)
        buf_clear(out);
    else if (trace.len > 0)
        buf_append_str(out, "\n\nTraceback (user code):\n");
    buf_append(out, buf_str(&trace), trace.len);
    if (code == NULL)
        return;
    buf_append_str(out, trace.len > 0 && trace.data[trace.len - 1] == '\n' ? "\n" : "\n\n");
    buf_append_str(out, "Cell code:\n");
    buf_append(out, code, code_len);
}

static void cells_json_put_output(struct json_out *o, const json_t *typed, const char *default_time)
{
    static const struct {
        const char *name, *member;
    } types[] = {
        [OUTPUT_TEXT] = {"TEXT", "text"},
        [OUTPUT_ERROR] = {"ERROR", "traceback"},
        [OUTPUT_HTML] = {"HTML", "html"},
        [OUTPUT_MARKDOWN] = {"TEXT", "text"},
        [OUTPUT_LATEX] = {"TEXT", "text"},
        [OUTPUT_JSON] = {"TEXT", "text"},
        [OUTPUT_DATAFRAME] = {"DATAFRAME", "html"},
        [OUTPUT_IMAGE] = {"IMAGE", NULL},
        [OUTPUT_SVG] = {"IMAGE", NULL},
    };
    enum output_type type = output_type(typed);
    const char *time = json_string_value(json_object_get(typed, "timestamp"));
    json_put_object(o);
    json_put_member_str(o, "output_type", types[type].name);
    json_put_member_str(o, "timestamp", time != NULL ? time : default_time);
    if (types[type].member == NULL) {
        cells_json_put_image(o, typed);
    } else {
        /* Texts as they are, others as what describes them. */
        size_t len;
        const char *text = output_text(typed, types[type].member, &len);
        _buf_ struct buf described = BUF_INIT(NOTEBOOK_BYTES_MAX);
        if (type == OUTPUT_ERROR)
            describe_error(&described, typed);
        else if (text == NULL)
            output_describe(&described, typed);
        if (type == OUTPUT_ERROR || text == NULL) {
            text = buf_str(&described);
            len = described.len;
        }
        json_put_member_str(o, "content_type", "text");
        json_put_member_text(o, "content", text, len);
    }
    json_put_object_end(o);
}

static void cells_json_put_cell(struct json_out *o, const struct document *doc, size_t number,
                                const char *now)
{
    const struct notebook_cell *cell = &doc->cells[number];
    const char *created = cell->created_at != NULL ? cell->created_at : now;
    json_put_object(o);
    json_put_member_str(o, "id", cell->id);
    if (cell->kind == CELL_CODE) {
        json_put_member_text(o, "code", cell->source, cell->source_len);
    } else {
        _buf_ struct buf code = BUF_INIT(o->buf->max);
        buf_append_str(&code, comment_marks[cell->kind]);
        text_append_prefixed(&code, "# ", cell->source, cell->source_len);
        json_put_member_text(o, "code", buf_str(&code), code.len);
    }
    bool has_failed = cell->state == CELL_INTERRUPTED || cell->state == CELL_DIED;
    json_put_member_str(o, "state", cell_state_document(has_failed ? CELL_ERROR : cell->state));
    json_put_key(o, "execution_count");
    if (cell->execution_count > 0)
        json_put_int(o, cell->execution_count);
    else
        json_put_null(o);
    json_put_member_str(o, "created_at", created);
    json_put_key(o, "executed_at");
    json_put_str(o, cell->executed_at);
    json_put_key(o, "execution_time");
    if (cell->execution_time >= 0)
        json_put_real(o, cell->execution_time, 6);
    else
        json_put_null(o);
    json_put_member_int(o, "number", (int64_t)number);
    json_put_key(o, "outputs");
    json_put_array(o);
    size_t i;
    const json_t *output;
    json_array_foreach(cell->outputs, i, output) {
        cells_json_put_output(o, output, cell->executed_at != NULL ? cell->executed_at : created);
    }
    json_put_array_end(o);
    json_put_object_end(o);
}

/* The reference reads every time and name as text, so what is not known gets a value here. */
void notebook_write_cells_json(const struct document *doc, struct buf *out)
{
    char text[CLOCK_RFC3339_SIZE];
    const char *now = clock_rfc3339(clock_wall_ms(), text);
    const char *created = doc->created_at != NULL ? doc->created_at : now;
    struct json_out o = JSON_OUT(out);
    json_put_object(&o);
    json_put_member_str(&o, "user_id", doc->user_id != NULL ? doc->user_id : "default");
    json_put_member_str(&o, "session_id", doc->session_id != NULL ? doc->session_id : "default");
    json_put_member_int(&o, "execution_count", doc->execution_count);
    json_put_member_str(&o, "created_at", created);
    json_put_member_str(&o, "updated_at", doc->updated_at != NULL ? doc->updated_at : created);
    json_put_key(&o, "cells");
    json_put_array(&o);
    for (size_t i = 0; i < doc->n_cells && !out->overflowed; i++)
        cells_json_put_cell(&o, doc, i, created);
    json_put_array_end(&o);
    json_put_object_end(&o);
    buf_append_char(out, '\n');
}
