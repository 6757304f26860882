/* Cells and notebooks of a store, and what its callbacks said of them in a line of text. */
#pragma once

#include "store_world.h"

#define ONE "11111111-2222-4333-8444-555555555555"
#define TWO "99999999-2222-4333-8444-555555555555"

static inline const char *or_dash(const char *s)
{
    return s == NULL ? "-" : s;
}

static inline void print_cell(struct world *w, const struct store_cell *cell)
{
    buf_printf(&w->text, "%d:%s:%s:%.*s ", (int)cell->number, cell->id, cell->state,
               (int)MIN(cell->source_len, 20UL), or_dash(cell->source));
}

static inline void on_cells(void *context, const struct store_cell *list, size_t n, uint64_t count,
                            const struct err *e)
{
    struct world *w = context;
    world_note(w, e);
    w->count = count;
    buf_clear(&w->text);
    for (size_t i = 0; i < n; i++)
        print_cell(w, &list[i]);
}

static inline const char *list(struct world *w)
{
    store_get_cells(w->store, ONE, 0, STORE_PAGE_MAX, true, on_cells, w);
    world_wait(w);
    return buf_str(&w->text);
}

static inline void on_cell(void *context, const struct store_cell *cell, const struct err *e)
{
    struct world *w = context;
    world_note(w, e);
    buf_clear(&w->text);
    if (cell == NULL)
        return;
    print_cell(w, cell);
    buf_printf(&w->text, "kind=%d rev=%d count=%d exec=%d out=%s meta=%s", cell->kind,
               (int)cell->revision, (int)cell->count, (int)cell->exec_id, or_dash(cell->outputs),
               or_dash(cell->metadata));
}

static inline const char *get(struct world *w, const char *name)
{
    store_get_cell(w->store, ONE, name, on_cell, w);
    world_wait(w);
    return buf_str(&w->text);
}

static inline void on_changed(void *context, const struct store_cell *now, uint64_t n_cells,
                              int64_t last_place, const struct err *e)
{
    struct world *w = context;
    (void)last_place;
    world_note(w, e);
    w->count = n_cells;
    buf_clear(&w->text);
    if (now != NULL)
        buf_printf(&w->text, "%d:%s rev=%d", (int)now->number, now->id, (int)now->revision);
}

static inline const char *change(struct world *w, const struct store_change *what)
{
    store_change_cells(w->store, ONE, what, on_changed, w);
    world_wait(w);
    return buf_str(&w->text);
}

static inline const char *insert(struct world *w, uint64_t at, const char *id, const char *source)
{
    struct store_cell cell = {.id = id, .source = source, .source_len = strlen(source)};
    return change(w, &(struct store_change){.what = CHANGE_INSERT, .at = at, .to = &cell});
}

static inline void put(struct world *w, const struct store_cell *cell)
{
    struct err e = {0};
    if (store_put_cell(w->store, ONE, cell, &e) < 0)
        fail_msg("put_cell: %s", e.message);
}

static inline void put_text(struct world *w, const char *id, const char *state, const char *source)
{
    put(w, &(struct store_cell){
               .id = id, .state = state, .source = source, .source_len = strlen(source)});
}

static inline void put_run(struct world *w, const char *id, const char *state, uint64_t exec_id,
                           const char *outputs)
{
    put(w, &(struct store_cell){.id = id,
                                .state = state,
                                .exec_id = exec_id,
                                .count = exec_id,
                                .outputs = outputs,
                                .outputs_len = outputs == NULL ? 0 : strlen(outputs)});
}

static inline void on_notebook(void *context, const struct store_notebook *row, const struct err *e)
{
    struct world *w = context;
    world_note(w, e);
    buf_clear(&w->text);
    if (row != NULL)
        buf_printf(&w->text, "%.2s %s %s %s %s %s cells=%d count=%d exec=%d session=%d", row->id,
                   or_dash(row->user), or_dash(row->title), or_dash(row->runtime),
                   or_dash(row->metadata), or_dash(row->spec), (int)row->n_cells, (int)row->count,
                   (int)row->last_exec, row->has_session);
}

static inline const char *describe(struct world *w, const char *id)
{
    store_get_notebook(w->store, id, on_notebook, w);
    world_wait(w);
    return buf_str(&w->text);
}

static inline void on_notebooks(void *context, const struct store_notebook *rows, size_t n,
                                uint64_t count, const struct err *e)
{
    struct world *w = context;
    world_note(w, e);
    w->count = count;
    buf_clear(&w->text);
    for (size_t i = 0; i < n; i++)
        buf_printf(&w->text, "%.2s:%s:%d ", rows[i].id, or_dash(rows[i].user),
                   (int)rows[i].n_cells);
}

static inline const char *list_notebooks(struct world *w, const char *user, uint64_t offset)
{
    store_list_notebooks(w->store, user, offset, 10, on_notebooks, w);
    world_wait(w);
    return buf_str(&w->text);
}
