#include "base/utf8.h"
#include "notebook/formats.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool claim)
{
    if (!claim)
        abort();
}

/* As a script it reads as the same cells; other formats can be written, and Jupyter's read. */
static void check(const struct document *doc, const char *runtime)
{
    struct err e = {0};
    _buf_ struct buf script = BUF_INIT(64 * MIB), ipynb = BUF_INIT(64 * MIB);
    _document_ struct document *again = NULL, *other = NULL;
    notebook_write_script(doc, &script);
    notebook_write_ipynb(doc, &ipynb);
    if (doc->n_cells == 0 || script.overflowed || ipynb.overflowed)
        return;
    require(utf8_is_valid(script.data, script.len));
    require(notebook_read_script(script.data, script.len, runtime, &again, &e) == 0);
    require(again->n_cells == doc->n_cells);
    for (size_t i = 0; i < doc->n_cells; i++)
        require(again->cells[i].kind == doc->cells[i].kind);
    require(notebook_read_ipynb(ipynb.data, ipynb.len, &other, &e) == 0);
    require(other->n_cells == doc->n_cells && other->n_renamed == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const runtimes[] = {"python", "node", "bash"};
    json_object_seed(1);
    for (size_t i = 0; i < ARRAY_LEN(runtimes); i++) {
        struct err e = {0};
        _document_ struct document *doc = NULL;
        if (notebook_read_script((const char *)data, size, runtimes[i], &doc, &e) == 0)
            check(doc, runtimes[i]);
        else
            require(doc == NULL && e.code != ERR_NONE && e.message[0] != '\0');
    }
    return 0;
}
