/* A program whose cells are marked by comments, as the writer of scripts makes them and editors and
 * Jupytext know them: "# %%", "# %% [markdown]", "# %% tags=[\"parameters\"]". Without marks all of
 * it is one cell. Daemon and command line tool. */
#include "base/utf8.h"
#include "notebook/formats.h"
#include "notebook/text.h"

#include <ctype.h>

struct reading {
    struct document *doc;
    const char *comment; /* "#" */
    enum cell_kind kind; /* of the cell whose lines are read */
    json_t *tags;        /* of that cell; NULL if it has none */
    bool is_marked;      /* the cell began with a mark, so it counts even if it is empty */
};

/* What follows "# %%" on its line; NULL if the line is no mark. */
static const char *find_mark(const struct reading *r, const char *line, const char *end)
{
    size_t n = strlen(r->comment);
    if ((size_t)(end - line) < n || memcmp(line, r->comment, n) != 0)
        return NULL;
    line += n;
    while (line < end && *line == ' ')
        line++;
    if (end - line < 2 || line[0] != '%' || line[1] != '%')
        return NULL;
    line += 2;
    return line == end || isspace((unsigned char)*line) || *line == '[' ? line : NULL;
}

/* A list of texts behind "tags="; NULL if there is none. */
static json_t *read_tags(const char *rest, size_t len)
{
    static const char name[] = "tags=";
    const char *found = len > 0 ? memmem(rest, len, name, sizeof(name) - 1) : NULL;
    if (found == NULL)
        return NULL;
    found += sizeof(name) - 1;
    json_error_t problem;
    json_t *tags =
        json_loadb(found, len - (size_t)(found - rest), JSON_DISABLE_EOF_CHECK, &problem);
    bool is_fine = json_is_array(tags);
    for (size_t i = 0; i < json_array_size(tags); i++)
        is_fine = is_fine && json_is_string(json_array_get(tags, i));
    if (is_fine)
        return tags;
    json_decref(tags);
    return NULL;
}

/* Without the empty lines at its end, which stand there for the eye. */
static void end_cell(struct reading *r, const char *text, size_t len)
{
    while (len > 0 && isspace((unsigned char)text[len - 1]))
        len--;
    if (len == 0 && !r->is_marked)
        return;
    struct notebook_cell *cell = notebook_add_cell(r->doc, r->kind);
    if (r->tags != NULL)
        json_object_set(cell->metadata, "tags", r->tags);
    char prefix[8];
    snprintf(prefix, sizeof(prefix), "%s ", r->comment);
    _buf_ struct buf plain = BUF_INIT(NOTEBOOK_BYTES_MAX), once = BUF_INIT(NOTEBOOK_BYTES_MAX);
    if (r->kind == CELL_CODE || !text_append_unprefixed(&plain, prefix, text, len)) {
        notebook_set_source(cell, text, len);
        return;
    }
    text_append_uncommented(&once, prefix, buf_str(&plain), plain.len);
    notebook_set_source(cell, buf_str(&once), once.len);
}

static int script_read_cells(struct reading *r, const char *text, size_t len, struct err *e)
{
    const char *end = text + len, *begin = text;
    for (const char *line = text; line < end;) {
        const char *newline = memchr(line, '\n', (size_t)(end - line));
        const char *line_end = newline != NULL ? newline : end;
        const char *rest = find_mark(r, line, line_end);
        if (rest != NULL) {
            end_cell(r, begin, (size_t)(line - begin));
            size_t rest_len = (size_t)(line_end - rest);
            r->kind = CELL_CODE;
            if (rest_len > 0 && (memmem(rest, rest_len, "[markdown]", 10) != NULL ||
                                 memmem(rest, rest_len, "[md]", 4)))
                r->kind = CELL_MARKDOWN;
            else if (rest_len > 0 && memmem(rest, rest_len, "[raw]", 5) != NULL)
                r->kind = CELL_RAW;
            json_decref(r->tags);
            r->tags = read_tags(rest, rest_len);
            r->is_marked = true;
            begin = newline != NULL ? newline + 1 : end;
        }
        if (r->doc->n_cells >= NOTEBOOK_CELLS_MAX)
            return err_set(e, ERR_TOO_LARGE, "the script has more than %d cells",
                           NOTEBOOK_CELLS_MAX);
        line = newline != NULL ? newline + 1 : end;
    }
    end_cell(r, begin, (size_t)(end - begin));
    return 0;
}

int notebook_read_script(const char *text, size_t len, const char *runtime, struct document **ret,
                         struct err *e)
{
    static const char bom[] = "\xef\xbb\xbf";
    if (len >= 3 && memcmp(text, bom, 3) == 0) {
        text += 3;
        len -= 3;
    }
    if (!utf8_is_valid(text, len)) {
        err_set(e, ERR_INVALID, "the script is not UTF-8 at byte %zu",
                utf8_valid_prefix(text, len));
        return err_advise(e, "Save it as UTF-8.");
    }
    _document_ struct document *doc = notebook_new();
    notebook_set_text(&doc->runtime, runtime);
    struct reading r = {.doc = doc, .comment = notebook_language(doc)->comment};
    int status = script_read_cells(&r, text, len, e);
    json_decref(r.tags);
    if (status < 0)
        return -1;
    notebook_settle_ids(doc);
    *ret = take_ptr(doc);
    return 0;
}
