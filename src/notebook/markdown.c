/* A document as Markdown. Daemon and command line tool. */
#include "notebook/formats.h"
#include "notebook/output.h"
#include "notebook/text.h"

/* ---- blocks ---------------------------------------------------------------------------------- */

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

static void markdown_put_plain(struct buf *out, const char *text, size_t len)
{
    begin_block(out);
    buf_append(out, text, len);
    if (len > 0 && text[len - 1] != '\n')
        buf_append_char(out, '\n');
}

/* ---- outputs --------------------------------------------------------------------------------- */

static bool markdown_put_picture(struct buf *out, const json_t *typed, const char *mime,
                                 const char *base64, size_t len)
{
    size_t start = out->len;
    (void)typed;
    begin_block(out);
    buf_printf(out, "![output](data:%s;base64,", mime);
    if (text_append_base64(out, base64, len)) {
        buf_append_str(out, ")\n");
        return true;
    }
    out->len = start;
    return false;
}

static void markdown_put_described(struct buf *out, const json_t *typed)
{
    _buf_ struct buf text = BUF_INIT(out->max);
    output_describe(&text, typed);
    if (text.len > 0)
        put_fenced(out, "text", text.data, text.len);
}

/* Text is what reads well in a text file; HTML is shown as source, and not handed to whoever
 * renders the file. */
static void markdown_put_html(struct buf *out, const json_t *typed, const char *html, size_t len)
{
    size_t text_len;
    output_text(typed, "text", &text_len);
    if (text_len == 0)
        put_fenced(out, "html", html, len);
    else
        markdown_put_described(out, typed);
}

static void markdown_put_json(struct buf *out, const char *text, size_t len)
{
    put_fenced(out, "json", text, len);
}

static const struct outputs_writer markdown_writer = {
    .put_plain = markdown_put_described,
    .put_error = markdown_put_described,
    .put_html = markdown_put_html,
    .put_markdown = markdown_put_plain,
    .put_latex = markdown_put_plain,
    .put_json = markdown_put_json,
    .put_picture = markdown_put_picture,
    .put_described = markdown_put_described,
};

/* ---- cells ----------------------------------------------------------------------------------- */

static void markdown_put_cell(struct buf *out, const struct document *doc,
                              const struct notebook_cell *cell)
{
    if (cell->kind == CELL_MARKDOWN) {
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
            _buf_ struct buf key = BUF_INIT((size_t)(stop - name) + 1);
            buf_append(&key, name, (size_t)(stop - name));
            if (!text_append_attachment(out, cell->attachments, buf_str(&key)))
                buf_append(out, found + 1, (size_t)(stop - found - 1));
            at = stop;
        }
        buf_append(out, at, (size_t)(end - at));
        buf_append_char(out, '\n');
        return;
    }
    put_fenced(out, cell->kind == CELL_CODE ? notebook_language_name(doc) : "", cell->source,
               cell->source_len);
    size_t i;
    const json_t *output;
    json_array_foreach(cell->outputs, i, output) {
        outputs_write(out, output, &markdown_writer);
    }
}

void notebook_write_markdown(const struct document *doc, struct buf *out)
{
    if (doc->title != NULL)
        buf_printf(out, "# %.*s\n", (int)strcspn(doc->title, "\n"), doc->title);
    for (size_t i = 0; i < doc->n_cells && !out->overflowed; i++)
        markdown_put_cell(out, doc, &doc->cells[i]);
}
