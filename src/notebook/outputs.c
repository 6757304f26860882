/* The outputs of a cell: a list read, each written in the form that it has. Daemon and command line
 * tool. */
#include "notebook/outputs.h"

#include "wire/base64.h"

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
