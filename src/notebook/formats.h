/* The formats of notebooks. Readers take bytes of any origin. Writers append to `out`, whose
 * maximum bounds them; a document without cells is refused: an empty export is a mistake. */
#pragma once

#include "notebook/model.h"

enum notebook_format {
    NOTEBOOK_IPYNB,
    NOTEBOOK_CELLS_JSON,
    NOTEBOOK_HTML,
    NOTEBOOK_MARKDOWN,
    NOTEBOOK_SCRIPT,
};

/* One of the first two, which can be told apart by what they hold. */
int notebook_read(const char *text, size_t len, struct document **ret, struct err *e);
int notebook_read_ipynb(const char *text, size_t len, struct document **ret, struct err *e);
int notebook_read_cells_json(const char *text, size_t len, struct document **ret, struct err *e);
/* A program of a language that Cella runs; cells begin at "# %%". */
int notebook_read_script(const char *text, size_t len, const char *runtime, struct document **ret,
                         struct err *e);

int notebook_write(const struct document *doc, enum notebook_format format, struct buf *out,
                   struct err *e);
void notebook_write_ipynb(const struct document *doc, struct buf *out);
void notebook_write_cells_json(const struct document *doc, struct buf *out);
void notebook_write_html(const struct document *doc, struct buf *out);
void notebook_write_markdown(const struct document *doc, struct buf *out);
void notebook_write_script(const struct document *doc, struct buf *out);

/* The same from JSON that was parsed already. */
int notebook_parse_ipynb(json_t *root, struct document **ret, struct err *e);
int notebook_parse_cells_json(json_t *root, struct document **ret, struct err *e);
