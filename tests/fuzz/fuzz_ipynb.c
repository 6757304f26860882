#include "base/utf8.h"
#include "notebook/formats.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool claim)
{
    if (!claim)
        abort();
}

static void check_ids(const struct document *doc)
{
    _json_ json_t *seen = json_object();
    for (size_t i = 0; i < doc->n_cells; i++) {
        const char *id = doc->cells[i].id;
        require(id != NULL && id[0] != '\0' && strlen(id) <= CELL_ID_MAX);
        require(json_object_get(seen, id) == NULL);
        json_object_set_new(seen, id, json_true());
    }
}

/* Every format is written, as text; no page holds a script. */
static void check_writing(const struct document *doc)
{
    for (int format = NOTEBOOK_IPYNB; format <= NOTEBOOK_SCRIPT; format++) {
        struct err e = {0};
        _buf_ struct buf out = BUF_INIT(64 * MIB);
        if (notebook_write(doc, (enum notebook_format)format, &out, &e) < 0) {
            require(e.code == ERR_TOO_LARGE || doc->n_cells == 0);
            continue;
        }
        require(utf8_is_valid(out.data, out.len));
        if (format == NOTEBOOK_HTML)
            require(strcasestr(out.data, "<script") == NULL &&
                    strcasestr(out.data, "href=\"javascript:") == NULL);
        if (format == NOTEBOOK_CELLS_JSON) {
            _document_ struct document *again = NULL;
            require(notebook_read_cells_json(out.data, out.len, &again, &e) == 0);
        }
    }
}

/* What was written reads as the same. */
static void check_round_trip(const struct document *doc)
{
    struct err e = {0};
    _buf_ struct buf once = BUF_INIT(64 * MIB), twice = BUF_INIT(64 * MIB);
    _document_ struct document *again = NULL;
    notebook_write_ipynb(doc, &once);
    if (once.overflowed)
        return;
    require(notebook_read_ipynb(once.data, once.len, &again, &e) == 0);
    require(again->n_cells == doc->n_cells && again->n_renamed == 0);
    notebook_write_ipynb(again, &twice);
    require(twice.len == once.len && memcmp(twice.data, once.data, once.len) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    json_object_seed(1);
    struct err e = {0};
    _document_ struct document *doc = NULL;
    if (notebook_read((const char *)data, size, &doc, &e) < 0) {
        require(doc == NULL && e.code != ERR_NONE && e.message[0] != '\0');
        return 0;
    }
    check_ids(doc);
    check_writing(doc);
    check_round_trip(doc);
    return 0;
}
