/* One page that needs nothing else. Whose notebook it is does not matter: its policy lets no script
 * run and nothing be fetched, text is escaped, Markdown cannot bring HTML, links are of known
 * schemes, and HTML of outputs sits in frames that may do nothing but show it. Daemon and command
 * line tool. */
#include "notebook/formats.h"
#include "notebook/output.h"
#include "notebook/text.h"

#include <ctype.h>
#include <md4c-html.h>
#include <strings.h>

enum {
    MARKDOWN_MAX = 1 << 20, /* more is shown as it is */
    FRAME_HEIGHT_MIN = 64,  /* pixels */
    FRAME_HEIGHT_MAX = 640,
    ROW_HEIGHT = 28,
    LINE_HEIGHT = 22,
};

static const char style[] =
    ":root{color-scheme:light dark}"
    "body{font:16px/1.55 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;"
    "color:#1b1f24;background:#fff}"
    ".cell{margin:1.2rem 0}"
    ".code{display:grid;grid-template-columns:4rem minmax(0,1fr);column-gap:.6rem}"
    ".code>*{grid-column:2}"
    ".prompt{grid-column:1;text-align:right;color:#6a737d;font:13px/1.7 ui-monospace,monospace}"
    "pre{font:13px/1.5 ui-monospace,monospace;margin:.3rem 0;padding:.6rem .8rem;overflow-x:auto;"
    "border-radius:6px;white-space:pre-wrap;overflow-wrap:anywhere}"
    ".source,.text pre{background:#f4f6f8}"
    ".output pre{padding:.2rem .8rem}"
    ".stderr{background:#fff3e0}"
    ".error{background:#fdecea;color:#8c1d18}"
    ".note{color:#6a737d;font-size:13px}"
    "img{max-width:100%;height:auto}"
    "iframe{width:100%;border:1px solid #d8dee4;border-radius:6px;background:#fff;resize:vertical}"
    "table{border-collapse:collapse}th,td{border:1px solid #d8dee4;padding:.25rem .6rem}"
    ":not(pre)>code{font:.9em ui-monospace,monospace;background:#8881;padding:.1em .3em;"
    "border-radius:4px}"
    "blockquote{border-left:4px solid #d8dee4;margin-left:0;padding-left:1rem;color:#57606a}"
    "x-equation{font-family:ui-serif,serif;font-style:italic}"
    "x-equation[type=display]{display:block;text-align:center}"
    "@media(prefers-color-scheme:dark){body{color:#d6dbe1;background:#14171b}"
    ".source,.text pre{background:#1e2329}.stderr{background:#33270f}"
    ".error{background:#3a1a18;color:#ffb4ab}.prompt,.note,blockquote{color:#9aa4af}"
    ".output img{background:#fff}}"; /* figures are drawn for paper, and may be transparent */

static const char frame_head[] =
    "<!DOCTYPE html><meta charset=\"utf-8\"><style>"
    "body{font:14px/1.4 system-ui,sans-serif;margin:8px;color:#1b1f24;background:#fff}"
    "table{border-collapse:collapse;border:0}th,td{padding:3px 10px;text-align:right;border:0;"
    "border-bottom:1px solid #e4e8ec}</style>";

static void html_put_text(struct buf *out, const char *text, size_t len)
{
    text_append_html(out, text != NULL ? text : "", text != NULL ? len : 0);
}

/* ---- Markdown -------------------------------------------------------------------------------- */

static void collect(const MD_CHAR *text, MD_SIZE len, void *out)
{
    buf_append(out, text, len);
}

/* Relative, or of a scheme that fetches or runs nothing by itself. */
static bool is_harmless(const char *url, size_t len)
{
    static const char *const schemes[] = {"http", "https", "mailto"};
    size_t n = 0;
    while (n < len && strchr(":/?#", url[n]) == NULL)
        n++;
    if (n == len || url[n] != ':')
        return true;
    for (size_t i = 0; i < ARRAY_LEN(schemes); i++)
        if (strlen(schemes[i]) == n && strncasecmp(schemes[i], url, n) == 0)
            return true;
    return false;
}

static bool put_attachment(struct buf *out, const struct notebook_cell *cell, const char *url,
                           size_t len)
{
    static const char scheme[] = "attachment:";
    size_t n = sizeof(scheme) - 1;
    if (cell == NULL || cell->attachments == NULL || len <= n || memcmp(url, scheme, n) != 0)
        return false;
    _buf_ struct buf name = BUF_INIT(len);
    /* The name in an address as md4c writes it: %XX and &amp;. */
    const char *rest = url + n;
    size_t rest_len = len - n;
    for (size_t i = 0; i < rest_len; i++) {
        char hex[3] = {i + 2 < rest_len ? rest[i + 1] : '\0', i + 2 < rest_len ? rest[i + 2] : '\0',
                       '\0'};
        if (rest[i] == '%' && isxdigit((unsigned char)hex[0]) && isxdigit((unsigned char)hex[1])) {
            buf_append_char(&name, (char)strtol(hex, NULL, 16));
            i += 2;
        } else if (rest_len - i >= 5 && memcmp(rest + i, "&amp;", 5) == 0) {
            buf_append_char(&name, '&');
            i += 4;
        } else {
            buf_append_char(&name, rest[i]);
        }
    }
    return text_append_attachment(out, cell->attachments, buf_str(&name));
}

static void put_address(struct buf *out, const struct notebook_cell *cell, const char *url,
                        size_t len, bool is_image)
{
    static const char inline_image[] = "data:image/";
    size_t n = sizeof(inline_image) - 1;
    if (is_image && put_attachment(out, cell, url, len))
        return;
    if (is_harmless(url, len) || (is_image && len >= n && memcmp(url, inline_image, n) == 0))
        buf_append(out, url, len);
    else
        buf_append_char(out, '#');
}

static void put_markdown(struct buf *out, const struct notebook_cell *cell, const char *text,
                         size_t len)
{
    static const char link[] = "<a href=\"", image[] = "<img src=\"";
    const unsigned flags = MD_DIALECT_GITHUB | MD_FLAG_NOHTML | MD_FLAG_LATEXMATHSPANS;
    _buf_ struct buf html = BUF_INIT(out->max);
    if (len > MARKDOWN_MAX || md_html(text, (MD_SIZE)len, collect, &html, flags, 0) != 0) {
        buf_append_str(out, "<pre>");
        html_put_text(out, text, len);
        buf_append_str(out, "</pre>\n");
        return;
    }
    /* Rendered without raw HTML, every tag is md4c's and a "<" begins one; addresses are looked at
     * where they are written. */
    const char *at = buf_str(&html);
    size_t left = html.len;
    while (left > 0) {
        const char *tag = memchr(at, '<', left);
        size_t n = tag != NULL ? (size_t)(tag - at) : left;
        buf_append(out, at, n);
        at += n;
        left -= n;
        if (left == 0)
            return;
        bool is_image = left > sizeof(image) && memcmp(at, image, sizeof(image) - 1) == 0;
        bool is_link = left > sizeof(link) && memcmp(at, link, sizeof(link) - 1) == 0;
        n = is_image ? sizeof(image) - 1 : is_link ? sizeof(link) - 1 : 1;
        buf_append(out, at, n);
        at += n;
        left -= n;
        const char *end = is_image || is_link ? memchr(at, '"', left) : NULL;
        if (end == NULL)
            continue;
        put_address(out, cell, at, (size_t)(end - at), is_image);
        left -= (size_t)(end - at);
        at = end;
    }
}

/* ---- outputs --------------------------------------------------------------------------------- */

static void put_settled(struct buf *out, const char *class, const char *text, size_t len)
{
    _buf_ struct buf settled = BUF_INIT(out->max);
    text_append_settled(&settled, text != NULL ? text : "", text != NULL ? len : 0);
    buf_printf(out, "<pre class=\"%s\">", class);
    html_put_text(out, buf_str(&settled), settled.len);
    buf_append_str(out, "</pre>\n");
}

/* No script tells the height of what is in a frame: rows of a table or lines give a guess, and the
 * reader can pull the frame's corner. */
static size_t guess_height(const char *html, size_t len)
{
    size_t rows = 0, lines = 1;
    for (size_t i = 0; i < len; i++) {
        lines += html[i] == '\n';
        rows += i + 3 < len && html[i] == '<' && tolower((unsigned char)html[i + 1]) == 't' &&
                tolower((unsigned char)html[i + 2]) == 'r' && !isalpha((unsigned char)html[i + 3]);
    }
    size_t height = rows > 0 ? (rows + 1) * ROW_HEIGHT : (lines + 1) * LINE_HEIGHT;
    return MIN(MAX(height, (size_t)FRAME_HEIGHT_MIN), (size_t)FRAME_HEIGHT_MAX);
}

static void html_put_size(struct buf *out, const json_t *size, const char *name)
{
    const json_t *value = json_object_get(size, name);
    if (json_is_integer(value) && json_integer_value(value) > 0)
        buf_printf(out, " %s=\"%lld\"", name, (long long)json_integer_value(value));
}

static void html_put_described(struct buf *out, const json_t *typed)
{
    _buf_ struct buf text = BUF_INIT(out->max);
    output_describe(&text, typed);
    buf_append_str(out, "<p class=\"note\">");
    html_put_text(out, buf_str(&text), text.len);
    buf_append_str(out, "</p>\n");
}

static bool html_put_picture(struct buf *out, const json_t *typed, const char *mime,
                             const char *base64, size_t len)
{
    size_t start = out->len, text_len;
    buf_printf(out, "<img src=\"data:%s;base64,", mime);
    if (!text_append_base64(out, base64, len)) {
        out->len = start;
        return false;
    }
    const char *text = output_text(typed, "text", &text_len);
    buf_append_str(out, "\" alt=\"");
    html_put_text(out, text_len > 0 ? text : "image", text_len > 0 ? text_len : 5);
    buf_append_str(out, "\"");
    html_put_size(out, output_shown_size(typed), "width");
    html_put_size(out, output_shown_size(typed), "height");
    buf_append_str(out, ">\n");
    return true;
}

static void html_put_html(struct buf *out, const json_t *typed, const char *html, size_t len)
{
    (void)typed;
    buf_printf(out,
               "<iframe sandbox=\"\" title=\"HTML output\" loading=\"lazy\" height=\"%zu\" "
               "srcdoc=\"",
               guess_height(html, len));
    html_put_text(out, frame_head, sizeof(frame_head) - 1);
    html_put_text(out, html, len);
    buf_append_str(out, "\"></iframe>\n");
}

static void put_markdown_output(struct buf *out, const char *text, size_t len)
{
    put_markdown(out, NULL, text, len);
}

static void put_latex(struct buf *out, const char *text, size_t len)
{
    put_settled(out, "latex", text, len);
}

static void html_put_json(struct buf *out, const char *text, size_t len)
{
    put_settled(out, "json", text, len);
}

static void html_put_error(struct buf *out, const json_t *typed)
{
    _buf_ struct buf text = BUF_INIT(out->max);
    output_describe_error(&text, typed);
    put_settled(out, "error", buf_str(&text), text.len);
}

static void html_put_plain(struct buf *out, const json_t *typed)
{
    size_t len;
    const char *text = output_text(typed, "text", &len);
    const char *stream = json_string_value(json_object_get(typed, "stream"));
    bool is_stderr = stream != NULL && strcmp(stream, "stderr") == 0;
    if (text == NULL)
        html_put_described(out, typed);
    else
        put_settled(out, is_stderr ? "stderr" : "plain", text, len);
}

static const struct outputs_writer html_writer = {
    .put_plain = html_put_plain,
    .put_error = html_put_error,
    .put_html = html_put_html,
    .put_markdown = put_markdown_output,
    .put_latex = put_latex,
    .put_json = html_put_json,
    .put_picture = html_put_picture,
    .put_described = html_put_described,
};

/* ---- cells ----------------------------------------------------------------------------------- */

static void put_code_cell(struct buf *out, const struct document *doc,
                          const struct notebook_cell *cell)
{
    const char *language = notebook_language_name(doc);
    buf_append_str(out, "<section class=\"cell code\" id=\"");
    html_put_text(out, cell->id, strlen(cell->id));
    buf_append_str(out, "\">\n");
    buf_append_str(out, "<div class=\"prompt\">[");
    if (cell->execution_count > 0)
        buf_printf(out, "%lld", (long long)cell->execution_count);
    else
        buf_append_str(out, "&nbsp;");
    buf_append_str(out, "]</div>\n");
    buf_append_str(out, "<pre class=\"source\"><code class=\"language-");
    html_put_text(out, language, strlen(language));
    buf_append_str(out, "\">");
    html_put_text(out, cell->source, cell->source_len);
    buf_append_str(out, "</code></pre>\n");
    size_t i;
    const json_t *output;
    json_array_foreach(cell->outputs, i, output) {
        buf_append_str(out, "<div class=\"output\">\n");
        outputs_write(out, output, &html_writer);
        buf_append_str(out, "</div>\n");
    }
    /* What the outputs do not tell. */
    static const char *const fates[] = {[CELL_TIMEOUT] = "stopped by its time limit",
                                        [CELL_INTERRUPTED] = "interrupted",
                                        [CELL_DIED] = "its interpreter died",
                                        [CELL_RUNNING] = "was running when this was written"};
    const char *fate = cell->state < ARRAY_LEN(fates) ? fates[cell->state] : NULL;
    if (fate != NULL)
        buf_printf(out, "<p class=\"note\">%s</p>\n", fate);
    if (cell->is_undone)
        buf_append_str(out, "<p class=\"note\">undone</p>\n");
    buf_append_str(out, "</section>\n");
}

/* ---- the page -------------------------------------------------------------------------------- */

void notebook_write_html(const struct document *doc, struct buf *out)
{
    const char *title = doc->title != NULL ? doc->title : "Notebook";
    buf_append_str(out,
                   "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                   "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
                   "style-src 'unsafe-inline'; img-src data:; form-action 'none'; "
                   "base-uri 'none'\">\n"
                   "<meta name=\"viewport\" content=\"width=device-width\">\n"
                   "<meta name=\"referrer\" content=\"no-referrer\">\n<title>");
    html_put_text(out, title, strlen(title));
    buf_printf(out, "</title>\n<style>%s</style>\n</head>\n<body>\n<main>\n", style);
    if (doc->title != NULL) {
        buf_append_str(out, "<h1>");
        html_put_text(out, title, strlen(title));
        buf_append_str(out, "</h1>\n");
    }
    for (size_t i = 0; i < doc->n_cells && !out->overflowed; i++) {
        const struct notebook_cell *cell = &doc->cells[i];
        if (cell->kind == CELL_CODE) {
            put_code_cell(out, doc, cell);
            continue;
        }
        buf_append_str(out, "<section class=\"cell text\" id=\"");
        html_put_text(out, cell->id, strlen(cell->id));
        buf_append_str(out, "\">\n");
        if (cell->kind == CELL_MARKDOWN)
            put_markdown(out, cell, cell->source, cell->source_len);
        else
            put_settled(out, "raw", cell->source, cell->source_len);
        buf_append_str(out, "</section>\n");
    }
    buf_append_str(out, "</main>\n</body>\n</html>\n");
}
