/* Outputs of cells: one output between its typed form and nbformat's, a list of them read, each
 * written in the form that it has. Daemon and command line tool. */
#include "notebook/output.h"

#include "notebook/text.h"
#include "wire/base64.h"

#include <ctype.h>

static const char *const type_names[] = {
    [OUTPUT_TEXT] = "text",           [OUTPUT_ERROR] = "error", [OUTPUT_HTML] = "html",
    [OUTPUT_MARKDOWN] = "markdown",   [OUTPUT_LATEX] = "latex", [OUTPUT_JSON] = "json",
    [OUTPUT_DATAFRAME] = "dataframe", [OUTPUT_IMAGE] = "image", [OUTPUT_SVG] = "svg",
};

/* What an output is, by the first of these that its bundle has. */
static const struct representation {
    const char *mime;
    enum output_type type;
    const char *member;
} representations[] = {
    {"text/html", OUTPUT_HTML, "html"},   {"image/svg+xml", OUTPUT_SVG, "svg"},
    {"image/png", OUTPUT_IMAGE, "data"},  {"image/jpeg", OUTPUT_IMAGE, "data"},
    {"image/gif", OUTPUT_IMAGE, "data"},  {"image/webp", OUTPUT_IMAGE, "data"},
    {"image/bmp", OUTPUT_IMAGE, "data"},  {"text/markdown", OUTPUT_MARKDOWN, "text"},
    {"text/latex", OUTPUT_LATEX, "text"}, {"application/json", OUTPUT_JSON, "json"},
    {"text/plain", OUTPUT_TEXT, "text"},
};

/* Members that nbformat has no place for: they go to metadata.mcp_repl. */
static const char *const own_members[] = {"display_id", "rows", "columns"};

enum output_type output_type(const json_t *typed)
{
    const char *name = json_string_value(json_object_get(typed, "type"));
    for (size_t i = 0; name != NULL && i < ARRAY_LEN(type_names); i++)
        if (strcmp(type_names[i], name) == 0)
            return (enum output_type)i;
    return OUTPUT_TEXT;
}

const char *output_text(const json_t *typed, const char *member, size_t *ret_len)
{
    const json_t *value = json_object_get(typed, member);
    *ret_len = json_string_length(value);
    return json_string_value(value);
}

const char *output_image_mime(const json_t *typed, char out[48])
{
    const char *format = json_string_value(json_object_get(typed, "format"));
    if (format == NULL || format[0] == '\0' || strlen(format) > 24)
        return NULL;
    for (const char *c = format; *c != '\0'; c++)
        if (!isalnum((unsigned char)*c) && *c != '-' && *c != '.' && *c != '+')
            return NULL;
    snprintf(out, 48, "image/%s", format);
    for (char *c = out; *c != '\0'; c++)
        *c = (char)tolower((unsigned char)*c);
    return strcmp(out, "image/jpg") == 0 ? "image/jpeg" : out;
}

const json_t *output_shown_size(const json_t *typed)
{
    char buffer[48];
    const char *mime = output_image_mime(typed, buffer);
    const json_t *own =
        mime == NULL ? NULL : json_object_get(json_object_get(typed, "metadata"), mime);
    return json_is_integer(json_object_get(own, "width")) ||
                   json_is_integer(json_object_get(own, "height"))
               ? own
               : typed;
}

bool output_is_json_mime(const char *mime)
{
    static const char prefix[] = "application/";
    size_t len = strlen(mime);
    if (strncmp(mime, prefix, sizeof(prefix) - 1) != 0)
        return false;
    return strcmp(mime, "application/json") == 0 ||
           (len >= sizeof(prefix) + 4 && strcmp(mime + len - 5, "+json") == 0);
}

/* ---- from nbformat --------------------------------------------------------------------------- */

/* Every representation as one value. */
static int join_bundle(const json_t *data, json_t **ret, struct err *e)
{
    _json_ json_t *bundle = json_object();
    const char *mime;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)data, mime, value) {
        if (output_is_json_mime(mime)) {
            json_object_set(bundle, mime, value);
            continue;
        }
        json_t *text = text_join(value);
        if (text == NULL)
            return err_set(e, ERR_INVALID, "its %.64s is neither text nor a list of lines", mime);
        json_object_set_new(bundle, mime, text);
    }
    *ret = take_ptr(bundle);
    return 0;
}

/* Moves the representation that says what the output is, and its plain text, out of the bundle. */
static void take_representation(json_t *typed, json_t *bundle, json_t *metadata)
{
    const struct representation *r = NULL;
    for (size_t i = 0; r == NULL && i < ARRAY_LEN(representations); i++)
        if (json_object_get(bundle, representations[i].mime) != NULL)
            r = &representations[i];
    enum output_type type = r == NULL ? OUTPUT_TEXT : r->type;
    const char *html = json_string_value(json_object_get(bundle, "text/html"));
    if (html != NULL && json_object_get(bundle, "text/plain") != NULL &&
        strstr(html, "class=\"dataframe") != NULL)
        type = OUTPUT_DATAFRAME;
    json_object_set_new(typed, "type", json_string(type_names[type]));
    if (r == NULL)
        return;
    json_t *value = json_object_get(bundle, r->mime);
    if (type == OUTPUT_IMAGE) {
        static const char *const members[] = {"width", "height"};
        json_object_set_new(typed, "format", json_string(strchr(r->mime, '/') + 1));
        json_t *own = json_object_get(metadata, r->mime);
        for (size_t i = 0; i < ARRAY_LEN(members); i++) {
            json_t *side = json_object_get(own, members[i]);
            if (!json_is_integer(side) || json_integer_value(side) < 0)
                continue;
            json_object_set(typed, members[i], side);
            json_object_del(own, members[i]);
        }
        if (json_is_object(own) && json_object_size(own) == 0)
            json_object_del(metadata, r->mime);
        json_object_set_new(typed, r->member, text_without_spaces(value));
    } else {
        json_object_set(typed, r->member, value);
    }
    json_object_del(bundle, r->mime);
    json_t *plain = json_object_get(bundle, "text/plain");
    if (plain != NULL && json_object_get(typed, "text") == NULL) {
        json_object_set(typed, "text", plain);
        json_object_del(bundle, "text/plain");
    }
}

static int read_display(const json_t *output, bool is_value, int64_t execution_count, json_t *typed,
                        struct err *e)
{
    const json_t *data = json_object_get(output, "data");
    const json_t *given = json_object_get(output, "metadata");
    if (!json_is_object(data))
        return err_set(e, ERR_INVALID, "its \"data\" is missing or no object");
    if (given != NULL && !json_is_object(given))
        return err_set(e, ERR_INVALID, "its \"metadata\" is no object");
    _json_ json_t *bundle = NULL;
    if (join_bundle(data, &bundle, e) < 0)
        return -1;
    _json_ json_t *metadata = given != NULL ? json_deep_copy(given) : json_object();
    take_representation(typed, bundle, metadata);
    json_t *own = json_object_get(metadata, "mcp_repl");
    for (size_t i = 0; i < ARRAY_LEN(own_members); i++) {
        json_t *value = json_object_get(own, own_members[i]);
        if (!json_is_string(value) && !json_is_integer(value))
            continue;
        json_object_set(typed, own_members[i], value);
        json_object_del(own, own_members[i]);
    }
    if (json_is_object(own) && json_object_size(own) == 0)
        json_object_del(metadata, "mcp_repl");
    if (is_value) {
        json_object_set_new(typed, "value", json_true());
        /* The cell's own count is not said twice; another one, or none, is. */
        const json_t *count = json_object_get(output, "execution_count");
        bool has_count = json_is_integer(count) && json_integer_value(count) >= 0;
        bool is_own = has_count
                          ? json_integer_value(count) == execution_count && execution_count > 0
                          : execution_count == 0;
        if (!is_own)
            json_object_set_new(typed, "execution_count",
                                has_count ? json_integer(json_integer_value(count)) : json_null());
    }
    if (json_object_size(bundle) > 0)
        json_object_set(typed, "mime", bundle);
    if (json_object_size(metadata) > 0)
        json_object_set(typed, "metadata", metadata);
    return 0;
}

static int output_read_stream(const json_t *output, json_t *typed, struct err *e)
{
    const json_t *name = json_object_get(output, "name");
    json_t *text = text_join(json_object_get(output, "text"));
    if (text == NULL)
        return err_set(e, ERR_INVALID, "its \"text\" is neither text nor a list of lines");
    json_object_set_new(typed, "type", json_string("text"));
    if (json_is_string(name))
        json_object_set(typed, "stream", (json_t *)(uintptr_t)name);
    else
        json_object_set_new(typed, "stream", json_string("stdout"));
    json_object_set_new(typed, "text", text);
    return 0;
}

static void set_string(json_t *typed, const char *member, const json_t *value)
{
    if (json_is_string(value))
        json_object_set(typed, member, (json_t *)(uintptr_t)value);
    else
        json_object_set_new(typed, member, json_string(""));
}

static int output_read_error(const json_t *output, json_t *typed, struct err *e)
{
    const json_t *traceback = json_object_get(output, "traceback"), *line;
    _buf_ struct buf text = BUF_INIT(NOTEBOOK_BYTES_MAX);
    size_t i;
    json_array_foreach(traceback, i, line) {
        if (!json_is_string(line))
            return err_set(e, ERR_INVALID, "its \"traceback\" is no list of lines");
        if (i > 0)
            buf_append_char(&text, '\n');
        buf_append(&text, json_string_value(line), json_string_length(line));
    }
    json_object_set_new(typed, "type", json_string("error"));
    set_string(typed, "name", json_object_get(output, "ename"));
    set_string(typed, "message", json_object_get(output, "evalue"));
    json_object_set_new(typed, "traceback", json_stringn_nocheck(buf_str(&text), text.len));
    return 0;
}

int output_from_nbformat(const json_t *output, int64_t execution_count, json_t **ret, struct err *e)
{
    const char *type = json_string_value(json_object_get(output, "output_type"));
    if (type == NULL)
        return err_set(e, ERR_INVALID, "it has no \"output_type\"");
    _json_ json_t *typed = json_object();
    int status;
    if (strcmp(type, "stream") == 0)
        status = output_read_stream(output, typed, e);
    else if (strcmp(type, "error") == 0)
        status = output_read_error(output, typed, e);
    else if (strcmp(type, "display_data") == 0 || strcmp(type, "execute_result") == 0)
        status = read_display(output, type[0] == 'e', execution_count, typed, e);
    else
        status = err_set(e, ERR_INVALID, "\"%.64s\" is no type of output", type);
    if (status == 0)
        *ret = take_ptr(typed);
    return status;
}

/* ---- to nbformat ----------------------------------------------------------------------------- */

/* As Jupyter does: what people may want to compare goes line by line. */
static bool is_split(const char *mime)
{
    return strncmp(mime, "text/", 5) == 0 || strcmp(mime, "image/svg+xml") == 0 ||
           strcmp(mime, "application/javascript") == 0;
}

static void put_representation(json_t *data, const char *mime, json_t *value)
{
    if (value == NULL || json_object_get(data, mime) != NULL)
        return;
    if (output_is_json_mime(mime))
        json_object_set(data, mime, value);
    else if (json_is_string(value) && is_split(mime))
        json_object_set_new(data, mime,
                            text_lines(json_string_value(value), json_string_length(value)));
    else if (json_is_string(value))
        json_object_set(data, mime, value);
}

static json_t *make_data(const json_t *typed)
{
    json_t *data = json_object(), *value, *mime = json_object_get(typed, "mime");
    enum output_type type = output_type(typed);
    char buffer[48];
    const char *name, *image = output_image_mime(typed, buffer);
    if (type == OUTPUT_IMAGE && image != NULL)
        put_representation(data, image, json_object_get(typed, "data"));
    for (size_t i = 0; i < ARRAY_LEN(representations); i++) {
        const struct representation *r = &representations[i];
        if (r->type == type && type != OUTPUT_IMAGE)
            put_representation(data, r->mime, json_object_get(typed, r->member));
    }
    size_t len;
    if (type == OUTPUT_DATAFRAME && output_text(typed, "html", &len) != NULL && len > 0)
        put_representation(data, "text/html", json_object_get(typed, "html"));
    if (type != OUTPUT_MARKDOWN && type != OUTPUT_LATEX)
        put_representation(data, "text/plain", json_object_get(typed, "text"));
    json_object_foreach(mime, name, value) {
        put_representation(data, name, value);
    }
    if (json_object_size(data) == 0 && type != OUTPUT_TEXT) {
        _buf_ struct buf note = BUF_INIT(NOTEBOOK_BYTES_MAX);
        output_describe(&note, typed);
        json_object_set_new(data, "text/plain", text_lines(buf_str(&note), note.len));
    }
    return data;
}

/* The object under a name, made if it is not there. */
static json_t *object_at(json_t *parent, const char *name)
{
    json_t *child = json_object_get(parent, name);
    if (!json_is_object(child)) {
        child = json_object();
        json_object_set_new(parent, name, child);
    }
    return child;
}

static json_t *output_make_metadata(const json_t *typed)
{
    const json_t *given = json_object_get(typed, "metadata");
    json_t *metadata = json_is_object(given) ? json_deep_copy(given) : json_object();
    char buffer[48];
    const char *mime = output_type(typed) == OUTPUT_IMAGE ? output_image_mime(typed, buffer) : NULL;
    json_t *width = json_object_get(typed, "width"), *height = json_object_get(typed, "height");
    bool has_size = output_shown_size(typed) != typed;
    if (mime != NULL && !has_size && json_is_integer(width))
        json_object_set(object_at(metadata, mime), "width", width);
    if (mime != NULL && !has_size && json_is_integer(height))
        json_object_set(object_at(metadata, mime), "height", height);
    for (size_t i = 0; i < ARRAY_LEN(own_members); i++) {
        json_t *value = json_object_get(typed, own_members[i]);
        if (value != NULL)
            json_object_set(object_at(metadata, "mcp_repl"), own_members[i], value);
    }
    return metadata;
}

static json_t *output_make_error(const json_t *typed)
{
    size_t len, name_len, advice_len;
    const char *text = output_text(typed, "traceback", &len);
    const char *name = output_text(typed, "name", &name_len);
    const char *advice = output_text(typed, "advice", &advice_len);
    json_t *traceback = json_array(), *made = json_object();
    _buf_ struct buf words = BUF_INIT(MIB);
    if (text == NULL) { /* Jupyter shows the traceback and nothing else, so there is always one */
        output_describe_error(&words, typed);
        if (advice_len > 0)
            buf_printf(&words, "\n%.*s", (int)MIN(advice_len, (size_t)4000), advice);
        text = buf_str(&words);
        len = words.len;
    }
    while (text != NULL && len > 0) {
        const char *end = memchr(text, '\n', len);
        size_t n = end != NULL ? (size_t)(end - text) : len;
        json_array_append_new(traceback, json_stringn_nocheck(text, n));
        if (end != NULL && n + 1 == len) /* a last line that is empty */
            json_array_append_new(traceback, json_string(""));
        n += end != NULL;
        text += n;
        len -= n;
    }
    json_object_set_new(made, "output_type", json_string("error"));
    json_object_set_new(made, "ename",
                        name != NULL ? json_stringn_nocheck(name, name_len) : json_string("Error"));
    set_string(made, "evalue", json_object_get(typed, "message"));
    json_object_set_new(made, "traceback", traceback);
    return made;
}

json_t *output_to_nbformat(const json_t *typed, int64_t execution_count)
{
    if (output_type(typed) == OUTPUT_TEXT && json_is_string(json_object_get(typed, "stream"))) {
        size_t len;
        const char *text = output_text(typed, "text", &len);
        return json_pack("{s:s, s:O, s:o}", "output_type", "stream", "name",
                         json_object_get(typed, "stream"), "text", text_lines(text, len));
    }
    if (output_type(typed) == OUTPUT_ERROR)
        return output_make_error(typed);
    json_t *made = json_object();
    bool is_value = json_is_true(json_object_get(typed, "value"));
    json_object_set_new(made, "output_type",
                        json_string(is_value ? "execute_result" : "display_data"));
    json_object_set_new(made, "data", make_data(typed));
    if (is_value) {
        json_t *own = json_object_get(typed, "execution_count");
        if (own != NULL)
            json_object_set(made, "execution_count", own);
        else
            json_object_set_new(made, "execution_count",
                                execution_count > 0 ? json_integer(execution_count) : json_null());
    }
    json_object_set_new(made, "metadata", output_make_metadata(typed));
    return made;
}

/* ---- as text --------------------------------------------------------------------------------- */

void output_describe_error(struct buf *out, const json_t *typed)
{
    size_t name_len, message_len, len;
    const char *name = output_text(typed, "name", &name_len);
    const char *message = output_text(typed, "message", &message_len);
    const char *traceback = output_text(typed, "traceback", &len);
    _buf_ struct buf trace = BUF_INIT(NOTEBOOK_BYTES_MAX), head = BUF_INIT(NOTEBOOK_BYTES_MAX);
    if (len > 0)
        text_append_settled(&trace, traceback, len);
    buf_append(&head, name_len > 0 ? name : "Error", name_len > 0 ? name_len : 5);
    if (message_len > 0) {
        buf_append_str(&head, ": ");
        text_append_settled(&head, message, message_len);
    }
    /* Tracebacks of Python end with it, those of IPython and Node.js hold it too. */
    if (trace.len == 0 || memmem(trace.data, trace.len, head.data, head.len) == NULL) {
        buf_append(out, head.data, head.len);
        if (trace.len > 0)
            buf_append_char(out, '\n');
    }
    buf_append(out, buf_str(&trace), trace.len);
}

void output_describe(struct buf *out, const json_t *typed)
{
    size_t len;
    const char *text = output_text(typed, "text", &len);
    if (output_type(typed) == OUTPUT_ERROR) {
        output_describe_error(out, typed);
    } else if (text != NULL) {
        text_append_settled(out, text, len);
    } else if (output_type(typed) == OUTPUT_IMAGE) {
        const char *uri = output_text(typed, "resource_uri", &len);
        buf_printf(out, "[an image%s%s]", uri != NULL ? ": " : "", uri != NULL ? uri : "");
    } else if (output_type(typed) == OUTPUT_JSON && json_object_get(typed, "json") != NULL) {
        struct json_out json = JSON_OUT(out);
        json_put_value(&json, json_object_get(typed, "json"));
    } else if (output_type(typed) == OUTPUT_TEXT) {
        const char *mime = json_object_iter_key(json_object_iter(json_object_get(typed, "mime")));
        if (mime != NULL)
            buf_printf(out, "[%s]", mime);
    } else {
        buf_printf(out, "[%s]", type_names[output_type(typed)]);
    }
}

/* ---- what formats do alike ------------------------------------------------------------------- */

int outputs_read(const json_t *from, outputs_read_fn read, struct notebook_cell *cell,
                 struct err *e)
{
    const json_t *outputs = json_object_get(from, "outputs"), *output;
    if (outputs != NULL && !json_is_array(outputs))
        return err_set(e, ERR_INVALID, "its \"outputs\" are no list");
    size_t i;
    json_array_foreach(outputs, i, output) {
        json_t *typed = NULL;
        if (read(output, cell->execution_count, &typed, e) < 0)
            return err_context(e, "output %zu", i);
        json_array_append_new(cell->outputs, typed);
    }
    return 0;
}

static void write_image(struct buf *out, const json_t *typed, const struct outputs_writer *w)
{
    char buffer[48];
    size_t len;
    const char *mime = output_image_mime(typed, buffer), *data = output_text(typed, "data", &len);
    if (mime == NULL || data == NULL || !w->put_picture(out, typed, mime, data, len))
        w->put_described(out, typed);
}

/* As an image, in which no script runs. */
static void write_svg(struct buf *out, const json_t *typed, const struct outputs_writer *w)
{
    size_t len;
    const char *svg = output_text(typed, "svg", &len);
    _buf_ struct buf data = BUF_INIT(out->max);
    base64_encode(&data, svg != NULL ? svg : "", len);
    if (svg == NULL || !w->put_picture(out, typed, "image/svg+xml", buf_str(&data), data.len))
        w->put_described(out, typed);
}

static void outputs_write_json(struct buf *out, const json_t *typed, const struct outputs_writer *w)
{
    const json_t *value = json_object_get(typed, "json");
    _free_ char *text = value != NULL ? json_dumps(value, JSON_INDENT(2) | JSON_ENCODE_ANY) : NULL;
    if (text != NULL)
        w->put_json(out, text, strlen(text));
    else
        w->put_described(out, typed);
}

/* Those with nothing but a text, by their type. */
static void outputs_write_text(struct buf *out, const json_t *typed, const struct outputs_writer *w,
                               void (*put)(struct buf *out, const char *text, size_t len))
{
    size_t len;
    const char *text = output_text(typed, "text", &len);
    if (text != NULL)
        put(out, text, len);
    else
        w->put_described(out, typed);
}

void outputs_write(struct buf *out, const json_t *typed, const struct outputs_writer *w)
{
    size_t len;
    const char *html = output_text(typed, "html", &len);
    switch (output_type(typed)) {
    case OUTPUT_TEXT:
        w->put_plain(out, typed);
        break;
    case OUTPUT_ERROR:
        w->put_error(out, typed);
        break;
    case OUTPUT_HTML:
    case OUTPUT_DATAFRAME:
        if (len > 0)
            w->put_html(out, typed, html, len);
        else
            w->put_plain(out, typed);
        break;
    case OUTPUT_MARKDOWN:
        outputs_write_text(out, typed, w, w->put_markdown);
        break;
    case OUTPUT_LATEX:
        outputs_write_text(out, typed, w, w->put_latex);
        break;
    case OUTPUT_JSON:
        outputs_write_json(out, typed, w);
        break;
    case OUTPUT_IMAGE:
        write_image(out, typed, w);
        break;
    case OUTPUT_SVG:
        write_svg(out, typed, w);
        break;
    }
}
