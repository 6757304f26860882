#include "notebook/formats.h"
#include "notebook/output.h"
#include "notebook/text.h"
#include "wire/base64.h"

/* ---- blocks ------------------------------------------------------------------------------------
 */

/* Blocks are apart by an empty line. */
static void begin_block(struct buf *out)
{
    if (out->len == 0)
        return;
    if (out->data[out->len - 1] != '\n')
        buf_append_char(out, '\n');
    buf_append_char(out, '\n');
}

/* A fence that is longer than any in the text cannot be closed by it. */
static void put_fenced(struct buf *out, const char *info, const char *text, size_t len)
{
    char fence[64];
    size_t n = text_longest_run(text, len, '`') + 1;
    if (n >= sizeof(fence)) { /* nobody writes that; an indented block has no end to forge */
        begin_block(out);
        text_append_prefixed(out, "    ", text, len);
        return;
    }
    n = MAX(n, (size_t)3);
    memset(fence, '`', n);
    fence[n] = '\0';
    begin_block(out);
    buf_printf(out, "%s%s\n", fence, info);
    buf_append(out, text, len);
    if (len > 0 && text[len - 1] != '\n')
        buf_append_char(out, '\n');
    buf_printf(out, "%s\n", fence);
}

static void put_plain(struct buf *out, const char *text, size_t len)
{
    begin_block(out);
    buf_append(out, text, len);
    if (len > 0 && text[len - 1] != '\n')
        buf_append_char(out, '\n');
}

/* ---- outputs -----------------------------------------------------------------------------------
 */

static void put_picture(struct buf *out, const char *mime, const char *data, size_t len)
{
    size_t start = out->len;
    begin_block(out);
    buf_printf(out, "![output](data:%s;base64,", mime);
    if (text_append_base64(out, data, len))
        buf_append_str(out, ")\n");
    else
        out->len = start;
}

static void put_described(struct buf *out, const json_t *typed)
{
    _buf_ struct buf text = BUF_INIT(out->max);
    output_describe(&text, typed);
    if (text.len > 0)
        put_fenced(out, "text", text.data, text.len);
}

static void put_image(struct buf *out, const json_t *typed)
{
    char buffer[48];
    size_t len;
    const char *mime = output_image_mime(typed, buffer), *data = output_text(typed, "data", &len);
    if (mime != NULL && data != NULL)
        put_picture(out, mime, data, len);
    else
        put_described(out, typed);
}

static void put_svg(struct buf *out, const json_t *typed)
{
    size_t len;
    const char *svg = output_text(typed, "svg", &len);
    _buf_ struct buf data = BUF_INIT(out->max);
    base64_encode(&data, svg != NULL ? svg : "", len);
    put_picture(out, "image/svg+xml", buf_str(&data), data.len);
}

static void put_json(struct buf *out, const json_t *typed)
{
    const json_t *value = json_object_get(typed, "json");
    _free_ char *text = value != NULL ? json_dumps(value, JSON_INDENT(2) | JSON_ENCODE_ANY) : NULL;
    if (text != NULL)
        put_fenced(out, "json", text, strlen(text));
}

/* Text is what reads well in a text file; HTML is shown as source, and not handed to whoever
 * renders the file. */
static void put_output(struct buf *out, const json_t *typed)
{
    size_t len, html_len;
    const char *text = output_text(typed, "text", &len);
    const char *html = output_text(typed, "html", &html_len);
    switch (output_type(typed)) {
    case OUTPUT_IMAGE:
        put_image(out, typed);
        break;
    case OUTPUT_SVG:
        put_svg(out, typed);
        break;
    case OUTPUT_JSON:
        put_json(out, typed);
        break;
    case OUTPUT_MARKDOWN:
    case OUTPUT_LATEX:
        if (text != NULL)
            put_plain(out, text, len);
        break;
    case OUTPUT_HTML:
    case OUTPUT_DATAFRAME:
        if (len == 0 && html_len > 0)
            put_fenced(out, "html", html, html_len);
        else
            put_described(out, typed);
        break;
    case OUTPUT_TEXT:
    case OUTPUT_ERROR:
        put_described(out, typed);
        break;
    }
}

/* ---- cells -------------------------------------------------------------------------------------
 */

/* The first image of an attachment as an address that holds it. */
static bool put_attachment(struct buf *out, const struct notebook_cell *cell, const char *name,
                           size_t len)
{
    _buf_ struct buf key = BUF_INIT(len + 1);
    buf_append(&key, name, len);
    json_t *bundle = json_object_get(cell->attachments, buf_str(&key)), *data;
    const char *mime;
    json_object_foreach(bundle, mime, data)
    {
        size_t start = out->len;
        if (strncmp(mime, "image/", 6) != 0 || strpbrk(mime, " \n\t()<>") != NULL ||
            !json_is_string(data))
            continue;
        buf_printf(out, "data:%s;base64,", mime);
        if (text_append_base64(out, json_string_value(data), json_string_length(data)))
            return true;
        out->len = start;
    }
    return false;
}

static void put_prose(struct buf *out, const struct notebook_cell *cell)
{
    static const char mark[] = "(attachment:";
    const char *at = cell->source, *end = at + cell->source_len;
    begin_block(out);
    while (cell->attachments != NULL) {
        const char *found = memmem(at, (size_t)(end - at), mark, sizeof(mark) - 1);
        if (found == NULL)
            break;
        const char *name = found + sizeof(mark) - 1, *stop = name;
        while (stop < end && strchr(") \n\t\"", *stop) == NULL)
            stop++;
        buf_append(out, at, (size_t)(found + 1 - at));
        if (!put_attachment(out, cell, name, (size_t)(stop - name)))
            buf_append(out, found + 1, (size_t)(stop - found - 1));
        at = stop;
    }
    buf_append(out, at, (size_t)(end - at));
    buf_append_char(out, '\n');
}

static void put_cell(struct buf *out, const struct document *doc, const struct notebook_cell *cell)
{
    if (cell->kind == CELL_MARKDOWN) {
        put_prose(out, cell);
        return;
    }
    put_fenced(out, cell->kind == CELL_CODE ? notebook_language_name(doc) : "", cell->source,
               cell->source_len);
    size_t i;
    const json_t *output;
    json_array_foreach(cell->outputs, i, output)
    {
        put_output(out, output);
    }
}

void notebook_write_markdown(const struct document *doc, struct buf *out)
{
    if (doc->title != NULL)
        buf_printf(out, "# %.*s\n", (int)strcspn(doc->title, "\n"), doc->title);
    for (size_t i = 0; i < doc->n_cells && !out->overflowed; i++)
        put_cell(out, doc, &doc->cells[i]);
}
