/* A document becomes a notebook, in the daemon: cell by cell, each image to the store before its
 * cell. */
#include "base/clock.h"
#include "cell/display.h"
#include "image/image.h"
#include "notebook/documents.h"
#include "notebook/output.h"
#include "session/notebooks.h"
#include "store/notebooks.h"

#include <time.h>

enum { CELLS_AT_ONCE = 200, COUNT_MAX = 1 << 30, SECONDS_MAX = 1 << 30 };
#define BYTES_AT_ONCE (4 * MIB)
#define OUTPUTS_BYTES_MAX (4 * MIB)
#define UNKEPT_BYTES_MAX (256 * KIB) /* of an image that the store refused */

struct import_task {
    struct task task;
    char id[UUID_SIZE];
    struct document *doc; /* ours: sources copied, JSON shared */
    size_t at;            /* index of the present cell */
    size_t output;        /* index of its next output */
    uint64_t n_images;    /* of the cell, so far */
    json_t *outputs;      /* of the cell, as they will be stored; NULL if not begun */
    json_t *shown;        /* the image that is on its way to the store */
    size_t n_put;         /* since the store was last waited for */
    uint64_t bytes_put;
    struct err refusal;
    documents_imported_fn fn;
    void *context;
};

static void import_end(struct task *task)
{
    struct import_task *i = (struct import_task *)task;
    json_decref(i->outputs);
    json_decref(i->shown);
    notebook_free(i->doc);
}

static void import_finish(struct import_task *i, const struct err *e)
{
    struct err ignored;
    if (e != NULL)
        store_delete_notebook(engine_store(i->task.engine), i->id, NULL, NULL, &ignored);
    else
        notebooks_changed(i->task.engine, i->id);
    if (!i->task.is_forgotten)
        i->fn(i->context, e == NULL ? i->id : NULL, i->at, e);
    task_end(&i->task);
}

uint64_t documents_time(const char *text)
{
    struct tm tm = {0};
    const char *rest = text != NULL ? strptime(text, "%Y-%m-%dT%H:%M:%S", &tm) : NULL;
    time_t at = rest != NULL ? timegm(&tm) : 0;
    uint64_t ms = 0;
    if (rest != NULL && *rest == '.') {
        rest++;
        for (unsigned unit = 100; unit > 0 && *rest >= '0' && *rest <= '9'; unit /= 10)
            ms += unit * (unsigned)(*rest++ - '0');
    }
    return at > 0 ? (uint64_t)at * 1000 + ms : 0;
}

/* 0 for numbers that no run can have had: execution counts go on from here. */
static uint64_t import_count_of(int64_t count)
{
    return count > 0 && count <= COUNT_MAX ? (uint64_t)count : 0;
}

/* ---- a cell ---------------------------------------------------------------------------------- */

/* Returns how many bytes the outputs have as JSON, even if they are too many to be kept. */
static size_t import_put_outputs(const struct import_task *i, struct buf *out)
{
    struct json_out json = JSON_OUT(out);
    if (json_array_size(i->outputs) == 0)
        return 0;
    if (display_size(i->outputs) <= OUTPUTS_BYTES_MAX)
        json_put_value(&json, i->outputs);
    size_t written = out->len;
    if (written > 0 && written <= OUTPUTS_BYTES_MAX && !out->overflowed)
        return written;
    buf_clear(out);
    buf_append_str(out,
                   "[{\"type\":\"text\",\"text\":\"[outputs are left out: they are larger than "
                   "what a notebook keeps]\"}]");
    return written;
}

static int import_refuse_metadata(struct err *e)
{
    err_set(e, ERR_TOO_LARGE, "there are more metadata than can be saved");
    return err_advise(e, "Remove what is large from them.");
}

static int import_put_cell(struct import_task *i, struct err *e)
{
    const struct notebook_cell *cell = &i->doc->cells[i->at];
    _buf_ struct buf outputs = BUF_INIT(STORE_CELL_BYTES);
    _buf_ struct buf metadata = BUF_INIT(STORE_CELL_BYTES);
    size_t written = import_put_outputs(i, &outputs);
    struct json_out json = JSON_OUT(&metadata);
    _json_ json_t *merged = json_object();
    if (cell->metadata != NULL)
        json_object_update(merged, cell->metadata);
    if (cell->attachments != NULL)
        json_object_set(merged, "attachments", cell->attachments);
    if (json_object_size(merged) > 0)
        json_put_value(&json, merged);
    if (metadata.overflowed)
        return import_refuse_metadata(e);
    uint64_t created_ms = documents_time(cell->created_at);
    struct store_cell row = {
        .id = cell->id,
        .place = (int64_t)(i->at + 1) * STORE_PLACE_GAP,
        .kind = (int)cell->kind,
        .state = cell_state_name(cell->state == CELL_RUNNING ? CELL_IDLE : cell->state),
        .source = cell->source,
        .source_len = cell->source_len,
        .count = import_count_of(cell->execution_count),
        .created_ms = created_ms > 0 ? created_ms : clock_wall_ms(),
        .executed_ms = documents_time(cell->executed_at),
        .duration_us = cell->execution_time > 0 && cell->execution_time <= SECONDS_MAX
                           ? (uint64_t)(cell->execution_time * 1e6)
                           : 0,
        .outputs = outputs.len > 0 ? buf_str(&outputs) : NULL,
        .outputs_len = outputs.len,
        .metadata = metadata.len > 0 ? buf_str(&metadata) : NULL,
        .metadata_len = metadata.len,
    };
    i->n_put++;
    i->bytes_put += cell->source_len + MAX(written, outputs.len) + metadata.len;
    return store_put_cell(engine_store(i->task.engine), i->id, &row, e) < 0
               ? err_context(e, "cell %zu", i->at)
               : 0;
}

/* ---- images ---------------------------------------------------------------------------------- */

static void import_go_on(struct task *task);

static void import_describe(json_t *output, const char *data, size_t len)
{
    enum image_format format;
    uint32_t width, height;
    _json_ json_t *size = json_object();
    static const char *const members[] = {"width", "height"};
    for (size_t i = 0; i < ARRAY_LEN(members); i++) {
        json_t *value = json_object_get(output, members[i]);
        if (value != NULL)
            json_object_set(size, members[i], value);
        json_object_del(output, members[i]);
    }
    if (!image_probe_base64(data, len, &format, &width, &height))
        return;
    json_object_set_new(output, "format", json_string(image_format_name(format)));
    json_object_set_new(output, "width", json_integer(width));
    json_object_set_new(output, "height", json_integer(height));
    /* A file has the size in which an image is to be shown, which need not be its own. */
    char buffer[48];
    const char *mime = output_image_mime(output, buffer);
    json_t *w = json_object_get(size, "width"), *h = json_object_get(size, "height");
    if (mime == NULL || (w == NULL && h == NULL) ||
        (json_integer_value(w) == width && json_integer_value(h) == height))
        return;
    json_t *metadata = json_object_get(output, "metadata");
    if (metadata == NULL) {
        metadata = json_object();
        json_object_set_new(output, "metadata", metadata);
    }
    json_t *own = json_object_get(metadata, mime);
    if (json_is_object(own))
        json_object_update(own, size);
    else
        json_object_set(metadata, mime, size);
}

static void import_on_kept(void *context, const char *hash, uint64_t bytes, const struct err *e)
{
    struct import_task *i = context;
    json_t *output = i->shown;
    const char *cell = i->doc->cells[i->at].id;
    bool is_svg = output_type(output) == OUTPUT_SVG;
    unsigned long long n = i->n_images;
    i->task.asked = NULL;
    if (e == NULL) {
        i->n_images++;
        json_object_del(output, is_svg ? "svg" : "data");
        if (is_svg)
            json_object_set_new(output, "format", json_string("svg"));
        json_object_set_new(output, "bytes", json_integer((json_int_t)bytes));
        json_object_set_new(output, "ref", json_sprintf(STORE_IMAGE_REF, i->id, cell, n));
        json_object_set_new(output, "url", json_sprintf(STORE_IMAGE_URL, i->id, cell, n));
        json_object_set_new(output, "hash", json_string(hash));
    } else {
        /* An image that is no base64 stays as it is, unless it is so large that the cell would
         * lose all its outputs. */
        size_t len = 0;
        output_text(i->shown, output_type(i->shown) == OUTPUT_SVG ? "svg" : "data", &len);
        if (len > UNKEPT_BYTES_MAX) {
            json_decref(i->shown);
            i->shown = json_pack("{ss so}", "type", "text", "text",
                                 json_sprintf("[an image is left out: %s]", e->message));
        }
    }
    json_array_append_new(i->outputs, take_ptr(i->shown));
    import_go_on(&i->task);
}

/* True if the output is an image and on its way to the store; else it is among the outputs. */
static bool import_take_output(struct import_task *i, const json_t *given)
{
    json_t *output = json_copy((json_t *)(uintptr_t)given);
    enum output_type type = output_type(output);
    json_object_del(output, "hash"); /* both mean something to the store */
    json_object_del(output, "updates");
    json_object_del(output, "ref");
    json_object_del(output, "url");
    size_t len;
    const char *data = output_text(output, type == OUTPUT_SVG ? "svg" : "data", &len);
    if ((type != OUTPUT_IMAGE && type != OUTPUT_SVG) || data == NULL) {
        json_array_append_new(i->outputs, output);
        return false;
    }
    if (type == OUTPUT_IMAGE)
        import_describe(output, data, len);
    i->shown = output;
    struct store_picture picture = {.text = data, .len = len, .is_base64 = type == OUTPUT_IMAGE};
    i->task.asked = store_put_image(engine_store(i->task.engine), &picture, import_on_kept, i);
    return true;
}

/* ---- one after another ----------------------------------------------------------------------- */

/* The store has written what came before. */
static void import_on_written(void *context, const struct store_notebook *row, const struct err *e)
{
    struct import_task *i = context;
    (void)row;
    i->task.asked = NULL;
    i->n_put = 0;
    i->bytes_put = 0;
    if (e != NULL || i->at == i->doc->n_cells)
        import_finish(i, e);
    else
        import_go_on(&i->task);
}

static void import_go_on(struct task *task)
{
    struct import_task *i = (struct import_task *)task;
    struct err e;
    while (i->at < i->doc->n_cells && i->n_put < CELLS_AT_ONCE && i->bytes_put < BYTES_AT_ONCE) {
        const struct notebook_cell *cell = &i->doc->cells[i->at];
        if (i->outputs == NULL)
            i->outputs = json_array();
        while (i->output < json_array_size(cell->outputs)) {
            const json_t *output = json_array_get(cell->outputs, i->output++);
            if (json_is_object(output) && import_take_output(i, output))
                return;
        }
        if (import_put_cell(i, &e) < 0) {
            import_finish(i, &e);
            return;
        }
        i->at++;
        i->output = 0;
        i->n_images = 0;
        json_decref(take_ptr(i->outputs));
    }
    i->task.asked = store_get_notebook(engine_store(i->task.engine), i->id, import_on_written, i);
}

static int import_put_row(struct import_task *i, const struct document *doc, const char *spec,
                          const char *user, struct err *e)
{
    _buf_ struct buf metadata = BUF_INIT(STORE_ROW_BYTES);
    struct json_out json = JSON_OUT(&metadata);
    if (doc->metadata != NULL)
        json_put_value(&json, doc->metadata);
    uint64_t count = import_count_of(doc->execution_count);
    for (size_t c = 0; c < doc->n_cells; c++)
        count = MAX(count, import_count_of(doc->cells[c].execution_count));
    struct store_notebook row = {.id = i->id,
                                 .user = user,
                                 .title = doc->title,
                                 .runtime = doc->runtime,
                                 .metadata = metadata.len > 0 ? buf_str(&metadata) : NULL,
                                 .spec = spec,
                                 .count = count};
    uint64_t max_cells = engine_config_of(i->task.engine)->notebooks.max_cells;
    if (metadata.overflowed)
        return import_refuse_metadata(e);
    if (doc->n_cells > max_cells) {
        err_set(e, ERR_TOO_LARGE, "the document has %zu cells, a notebook has at most %llu",
                doc->n_cells, (unsigned long long)max_cells);
        return err_advise(e, "Split it, or raise notebook.max_cells.");
    }
    return store_put_notebook(engine_store(i->task.engine), &row, e);
}

static void import_on_refused(struct task *task)
{
    struct import_task *i = (struct import_task *)task;
    import_finish(i, &i->refusal);
}

struct task *documents_import(struct documents *documents, const struct document *doc,
                              const char *spec, const char *user, documents_imported_fn fn,
                              void *context)
{
    struct import_task *i = task_new(&documents->tasks, sizeof(*i), import_end);
    ids_uuid(i->id);
    i->fn = fn;
    i->context = context;
    /* Sources are copied, JSON is shared: the caller may free its document now. */
    struct document *copy = notebook_new();
    for (size_t at = 0; at < doc->n_cells; at++) {
        const struct notebook_cell *from = &doc->cells[at];
        struct notebook_cell *to = notebook_add_cell(copy, from->kind);
        notebook_set_text(&to->id, from->id);
        notebook_set_source(to, from->source, from->source_len);
        notebook_set_text(&to->created_at, from->created_at);
        notebook_set_text(&to->executed_at, from->executed_at);
        to->state = from->state;
        to->execution_count = from->execution_count;
        to->execution_time = from->execution_time;
        json_decref(to->outputs);
        json_decref(to->metadata);
        to->outputs = json_incref(from->outputs);
        to->metadata = json_incref(from->metadata);
        to->attachments = json_incref(from->attachments);
    }
    notebook_settle_ids(copy);
    i->doc = copy;
    bool is_refused = import_put_row(i, doc, spec, user, &i->refusal) < 0;
    task_later(&i->task, is_refused ? import_on_refused : import_go_on, 0);
    return &i->task;
}
