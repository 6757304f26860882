#include "blob/blob.h"
#include "store_world.h"

#include <fcntl.h>
#include <sqlite3.h>

#define ONE "11111111-2222-4333-8444-555555555555"
#define TWO "99999999-2222-4333-8444-555555555555"

/* ---- what the callbacks say ------------------------------------------------------------------ */

static const char *or_dash(const char *s)
{
    return s == NULL ? "-" : s;
}

static void print_cell(struct world *w, const struct store_cell *cell)
{
    buf_printf(&w->text, "%d:%s:%s:%.*s ", (int)cell->number, cell->id, cell->state,
               (int)MIN(cell->source_len, 20UL), or_dash(cell->source));
}

static void on_cells(void *context, const struct store_cell *list, size_t n, uint64_t count,
                     const struct err *e)
{
    struct world *w = context;
    world_note(w, e);
    w->count = count;
    buf_clear(&w->text);
    for (size_t i = 0; i < n; i++)
        print_cell(w, &list[i]);
}

static const char *list(struct world *w)
{
    store_get_cells(w->store, ONE, 0, STORE_PAGE_MAX, true, on_cells, w);
    world_wait(w);
    return buf_str(&w->text);
}

static void on_cell(void *context, const struct store_cell *cell, const struct err *e)
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

static const char *get(struct world *w, const char *name)
{
    store_get_cell(w->store, ONE, name, on_cell, w);
    world_wait(w);
    return buf_str(&w->text);
}

static void on_changed(void *context, const struct store_cell *now, uint64_t n_cells,
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

static const char *change(struct world *w, const struct store_change *what)
{
    store_change_cells(w->store, ONE, what, on_changed, w);
    world_wait(w);
    return buf_str(&w->text);
}

static const char *insert(struct world *w, uint64_t at, const char *id, const char *source)
{
    struct store_cell cell = {.id = id, .source = source, .source_len = strlen(source)};
    return change(w, &(struct store_change){.what = CHANGE_INSERT, .at = at, .to = &cell});
}

static void put(struct world *w, const struct store_cell *cell)
{
    struct err e = {0};
    if (store_put_cell(w->store, ONE, cell, &e) < 0)
        fail_msg("put_cell: %s", e.message);
}

static void put_text(struct world *w, const char *id, const char *state, const char *source)
{
    put(w, &(struct store_cell){
               .id = id, .state = state, .source = source, .source_len = strlen(source)});
}

static void put_run(struct world *w, const char *id, const char *state, uint64_t exec_id,
                    const char *outputs)
{
    put(w, &(struct store_cell){.id = id,
                                .state = state,
                                .exec_id = exec_id,
                                .count = exec_id,
                                .outputs = outputs,
                                .outputs_len = outputs == NULL ? 0 : strlen(outputs)});
}

static void on_notebook(void *context, const struct store_notebook *row, const struct err *e)
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

static const char *describe(struct world *w, const char *id)
{
    store_get_notebook(w->store, id, on_notebook, w);
    world_wait(w);
    return buf_str(&w->text);
}

static void on_notebooks(void *context, const struct store_notebook *rows, size_t n, uint64_t count,
                         const struct err *e)
{
    struct world *w = context;
    world_note(w, e);
    w->count = count;
    buf_clear(&w->text);
    for (size_t i = 0; i < n; i++)
        buf_printf(&w->text, "%.2s:%s:%d ", rows[i].id, or_dash(rows[i].user),
                   (int)rows[i].n_cells);
}

static const char *list_notebooks(struct world *w, const char *user, uint64_t offset)
{
    store_list_notebooks(w->store, user, offset, 10, on_notebooks, w);
    world_wait(w);
    return buf_str(&w->text);
}

/* ---- notebooks ------------------------------------------------------------------------------- */

static void on_head(void *context, const struct store_notebook *row)
{
    struct world *w = context;
    buf_printf(&w->text, "%.2s:%d ", row->id, (int)row->n_cells);
}

static void notebooks_outlive_their_sessions(void **state)
{
    (void)state;
    struct err e = {0};
    struct world *w = world_new();
    struct store_notebook row = {.id = ONE,
                                 .user = "ana",
                                 .title = "first",
                                 .runtime = "python",
                                 .metadata = "{}",
                                 .spec = "{\"a\":1}",
                                 .count = 3};
    world_put_session(w, ONE);
    assert_int_equal(store_put_notebook(w->store, &row, &e), 0);
    put_run(w, "gone", "completed", 9, NULL); /* there is none that it could tell of */
    put_text(w, "a", "idle", "x");
    row.title = "second";
    row.count = 1;
    assert_int_equal(store_put_notebook(w->store, &row, &e), 0);
    put_run(w, "a", "completed", 7, NULL);
    world_put_notebook(w, TWO);
    assert_string_equal(describe(w, ONE), "11 ana second python {} {\"a\":1} cells=1 count=7 "
                                          "exec=7 session=1");
    assert_int_equal(store_delete_session(w->store, ONE, &e), 0);
    world_close(w);
    world_open(w);
    assert_string_equal(describe(w, ONE), "11 ana second python {} {\"a\":1} cells=1 count=7 "
                                          "exec=7 session=0");
    assert_string_equal(list_notebooks(w, NULL, 0), "99:-:0 11:ana:1 ");
    assert_string_equal(list_notebooks(w, NULL, 1), "11:ana:1 ");
    assert_int_equal(w->count, 2);
    assert_string_equal(list_notebooks(w, "ana", 0), "11:ana:1 ");
    assert_string_equal(list_notebooks(w, "bob", 0), "");
    assert_int_equal(w->count, 0);
    world_put_session(w, ONE);
    world_barrier(w, NULL);
    buf_clear(&w->text);
    assert_int_equal(store_each_notebook_head(w->store, on_head, w, &e), 0);
    assert_string_equal(buf_str(&w->text), "11:1 ");
    assert_non_null(store_delete_notebook(w->store, ONE, on_done, w, &e));
    world_wait(w);
    world_ok(w);
    describe(w, ONE);
    assert_int_equal(w->error.code, ERR_NOT_FOUND);
    world_free(w);
}

static void bad_rows_are_refused(void **state)
{
    (void)state;
    struct err e = {0};
    struct world *w = world_new();
    _free_ char *large = mem_alloc(2 * MIB);
    memset(large, 'x', 2 * MIB - 1);
    struct store_notebook row = {.id = "no id", .runtime = "python"};
    assert_int_equal(store_put_notebook(w->store, &row, &e), -1);
    assert_int_equal(e.code, ERR_INVALID);
    row = (struct store_notebook){.id = ONE, .metadata = large};
    assert_int_equal(store_put_notebook(w->store, &row, &e), -1);
    assert_int_equal(e.code, ERR_TOO_LARGE);
    static const char *const ids[] = {"", "a b", "a/b", "\xc3\xa4", NULL};
    for (size_t i = 0; i < ARRAY_LEN(ids); i++) {
        struct store_cell cell = {.id = ids[i], .source = "x", .source_len = 1};
        assert_int_equal(store_put_cell(w->store, ONE, &cell, &e), -1);
        assert_int_equal(e.code, ERR_INVALID);
    }
    world_put_notebook(w, ONE);
    assert_string_equal(insert(w, 0, "a b", "x"), "");
    assert_int_equal(w->error.code, ERR_INVALID);
    store_change_cells(w->store, TWO, &(struct store_change){.what = CHANGE_CLEAR_ALL}, on_changed,
                       w);
    world_wait(w);
    assert_int_equal(w->error.code, ERR_NOT_FOUND);
    world_free(w);
}

/* ---- puts ------------------------------------------------------------------------------------ */

static void a_put_tells_of_a_run_or_of_all(void **state)
{
    (void)state;
    struct world *w = world_new();
    world_put_notebook(w, ONE);
    put_text(w, "a", "queued", "1+1");
    put_text(w, "b", "idle", "2");
    put_run(w, "a", "running", 1, NULL);
    assert_string_equal(get(w, "a"), "0:a:running:1+1 kind=0 rev=1 count=1 exec=1 out=- meta=-");
    put_run(w, "a", "completed", 1, "[{\"type\":\"text\",\"text\":\"2\"}]");
    assert_string_equal(get(w, "0"), "0:a:completed:1+1 kind=0 rev=1 count=1 exec=1 "
                                     "out=[{\"type\":\"text\",\"text\":\"2\"}] meta=-");
    /* It runs while somebody edits it: the new text stays, and so does the result. */
    struct store_cell text = {.kind = -1, .source = "3", .source_len = 1};
    change(w, &(struct store_change){.what = CHANGE_EDIT, .cell = "a", .to = &text});
    put(w, &(struct store_cell){.id = "a",
                                .state = "completed",
                                .exec_id = 1,
                                .count = 2,
                                .source = "1+1",
                                .source_len = 3,
                                .revision = 1});
    assert_string_equal(get(w, "a"), "0:a:completed:3 kind=0 rev=2 count=2 exec=1 out=- meta=-");
    /* It is moved and it is removed while it runs. */
    change(w, &(struct store_change){.what = CHANGE_MOVE, .cell = "a", .at = 1});
    put(w, &(struct store_cell){.id = "a",
                                .place = 1,
                                .state = "error",
                                .source = "4",
                                .source_len = 1,
                                .revision = 2,
                                .metadata = "{\"m\":1}",
                                .metadata_len = 7});
    assert_string_equal(list(w), "0:b:idle:2 1:a:error:4 ");
    assert_string_equal(get(w, "-1"),
                        "1:a:error:4 kind=0 rev=2 count=0 exec=0 out=- meta={\"m\":1}");
    change(w, &(struct store_change){.what = CHANGE_REMOVE, .cell = "a"});
    put_run(w, "a", "completed", 3, NULL);
    assert_string_equal(list(w), "0:b:idle:2 ");
    /* It becomes text while it runs. */
    text.kind = 1;
    put_run(w, "b", "running", 4, "[{\"type\":\"text\"}]");
    change(w, &(struct store_change){.what = CHANGE_EDIT, .cell = "b", .to = &text});
    put_run(w, "b", "completed", 4, "[{\"type\":\"text\"}]");
    assert_string_equal(get(w, "b"), "0:b:idle:3 kind=1 rev=2 count=0 exec=0 out=- meta=-");
    world_free(w);
}

/* What waits for the disk is replaced by what is newer, but not beyond a change. */
static void queued_puts_are_replaced(void **state)
{
    (void)state;
    struct world *w = world_new();
    struct store_health health;
    world_put_notebook(w, ONE);
    put_text(w, "a", "queued", "x");
    for (int i = 0; i < 1000; i++)
        put_run(w, "a", "running", (uint64_t)i + 1, "[{\"type\":\"text\"}]");
    store_health(w->store, &health);
    assert_true(health.queued <= 4);
    store_forget(store_change_cells(
        w->store, ONE, &(struct store_change){.what = CHANGE_CLEAR_OUTPUTS, .cell = "a"},
        on_changed, w));
    put_run(w, "a", "completed", 5, "[{\"type\":\"html\"}]");
    assert_string_equal(get(w, "a"), "0:a:completed:x kind=0 rev=1 count=5 exec=5 "
                                     "out=[{\"type\":\"html\"}] meta=-");
    world_free(w);
}

/* ---- changes --------------------------------------------------------------------------------- */

static void cells_are_changed_by_id_and_by_number(void **state)
{
    (void)state;
    struct world *w = world_new();
    world_put_notebook(w, ONE);
    assert_string_equal(insert(w, STORE_AT_END, "a", "A"), "0:a rev=1");
    assert_string_equal(insert(w, 0, "b", "B"), "0:b rev=1");
    assert_string_equal(insert(w, 1, "c", "C"), "1:c rev=1");
    assert_string_equal(insert(w, 99, "1", "one"), "3:1 rev=1");
    assert_string_equal(list(w), "0:b:idle:B 1:c:idle:C 2:a:idle:A 3:1:idle:one ");
    assert_string_equal(get(w, "1"), "3:1:idle:one kind=0 rev=1 count=0 exec=0 out=- meta=-");
    assert_string_equal(get(w, "-4"), "0:b:idle:B kind=0 rev=1 count=0 exec=0 out=- meta=-");
    static const char *const missing[] = {"4", "-5", "-0", "x", "", "1x", "99999999999999999999"};
    for (size_t i = 0; i < ARRAY_LEN(missing); i++) {
        assert_string_equal(get(w, missing[i]), "");
        assert_int_equal(w->error.code, ERR_NOT_FOUND);
        assert_non_null(strstr(w->error.advice, "from 0 to 3"));
    }
    struct store_change move = {.what = CHANGE_MOVE, .cell = "b", .at = STORE_AT_END};
    assert_string_equal(change(w, &move), "3:b rev=1");
    move = (struct store_change){.what = CHANGE_MOVE, .cell = "-1", .at = 1};
    assert_string_equal(change(w, &move), "1:b rev=1");
    assert_string_equal(list(w), "0:c:idle:C 1:b:idle:B 2:a:idle:A 3:1:idle:one ");
    assert_string_equal(change(w, &(struct store_change){.what = CHANGE_REMOVE, .cell = "0"}),
                        "0:c rev=1");
    assert_int_equal(w->count, 3);
    insert(w, 0, "a", "again");
    assert_int_equal(w->error.code, ERR_CONFLICT);
    struct store_cell empty = {.kind = 1};
    struct store_change more = {
        .what = CHANGE_INSERT, .at = STORE_AT_END, .to = &empty, .max_cells = 4};
    change(w, &more);
    world_ok(w);
    assert_int_equal(strlen(buf_str(&w->text)), strlen("3:01234567 rev=1"));
    change(w, &more);
    assert_int_equal(w->error.code, ERR_LIMIT);
    assert_string_equal(change(w, &(struct store_change){.what = CHANGE_CLEAR_ALL}), "");
    world_ok(w);
    assert_int_equal(w->count, 0);
    assert_string_equal(list(w), "");
    world_free(w);
}

static void an_edit_expects_a_revision(void **state)
{
    (void)state;
    struct world *w = world_new();
    world_put_notebook(w, ONE);
    insert(w, 0, "a", "old");
    struct store_cell to = {.kind = -1, .source = "new", .source_len = 3};
    struct store_change edit = {.what = CHANGE_EDIT, .cell = "a", .revision = 1, .to = &to};
    assert_string_equal(change(w, &edit), "0:a rev=2");
    to.source = "mine";
    to.source_len = 4;
    assert_string_equal(change(w, &edit), "0:a rev=2"); /* told with the refusal */
    assert_int_equal(w->error.code, ERR_CONFLICT);
    assert_non_null(strstr(w->error.message, "revision is 2"));
    /* What is as it was is no change; metadata have no revisions. */
    edit.revision = 0;
    to = (struct store_cell){.kind = 0, .metadata = "{\"k\":1}", .metadata_len = 7};
    assert_string_equal(change(w, &edit), "0:a rev=2");
    assert_string_equal(get(w, "a"),
                        "0:a:idle:new kind=0 rev=2 count=0 exec=0 out=- meta={\"k\":1}");
    to = (struct store_cell){.kind = 2};
    assert_string_equal(change(w, &edit), "0:a rev=3");
    assert_string_equal(get(w, "a"),
                        "0:a:idle:new kind=2 rev=3 count=0 exec=0 out=- meta={\"k\":1}");
    world_free(w);
}

static void outputs_are_cleared(void **state)
{
    (void)state;
    struct world *w = world_new();
    world_put_notebook(w, ONE);
    for (const char *id = "abc"; *id != '\0'; id++) {
        char name[2] = {*id, '\0'};
        put_text(w, name, "idle", name);
        put_run(w, name, *id == 'c' ? "running" : "error", 4, "[{\"type\":\"error\"}]");
    }
    struct store_change clear = {.what = CHANGE_CLEAR_OUTPUTS, .cell = "0"};
    assert_string_equal(change(w, &clear), "0:a rev=1");
    assert_string_equal(get(w, "a"), "0:a:idle:a kind=0 rev=1 count=0 exec=4 out=- meta=-");
    assert_non_null(strstr(get(w, "b"), "out=[{"));
    clear.cell = NULL;
    assert_string_equal(change(w, &clear), "");
    world_ok(w);
    assert_string_equal(get(w, "b"), "1:b:idle:b kind=0 rev=1 count=0 exec=4 out=- meta=-");
    assert_string_equal(get(w, "c"), "2:c:running:c kind=0 rev=1 count=4 exec=4 out=- meta=-");
    world_free(w);
}

/* Always between the same two: the gap is used up every twenty times. */
static void gaps_are_renewed(void **state)
{
    (void)state;
    struct world *w = world_new();
    char id[16], first[32], second[32];
    world_put_notebook(w, ONE);
    insert(w, 0, "first", "");
    insert(w, 1, "last", "");
    for (int i = 0; i < 800; i++) {
        snprintf(id, sizeof(id), "c%d", i);
        insert(w, 1, id, "");
        world_ok(w);
    }
    for (int i = 0; i < 100; i++) /* and at both ends */
        insert(w, i % 2 == 0 ? 0 : STORE_AT_END, NULL, "");
    list(w);
    assert_int_equal(w->count, 902);
    for (int i = 1; i < 800; i++) {
        snprintf(first, sizeof(first), ":c%d:", i);
        snprintf(second, sizeof(second), ":c%d:", i - 1);
        assert_true(strstr(buf_str(&w->text), first) < strstr(buf_str(&w->text), second));
    }
    world_free(w);
}

/* ---- any order of changes, against an array ---------------------------------------------------
 */

enum { MODEL_MAX = 60, CHANGES = 4000, TOGETHER = 25 };

struct model {
    struct model_cell {
        unsigned id, text, revision;
    } cells[MODEL_MAX + 1];
    unsigned n, last_id, last_text;
};

/* What a call must answer, in the order of the calls. */
struct expected {
    unsigned id, number, revision, n;
    bool is_refused;
};

struct race {
    struct world *w;
    struct expected expected[TOGETHER];
    unsigned n_asked, n_told;
};

static void on_raced(void *context, const struct store_cell *now, uint64_t n_cells,
                     int64_t last_place, const struct err *e)
{
    struct race *race = context;
    const struct expected *want = &race->expected[race->n_told++];
    char id[16];
    (void)last_place;
    race->w->calls++;
    assert_int_equal(e != NULL, want->is_refused);
    if (want->is_refused)
        return;
    snprintf(id, sizeof(id), "c%u", want->id);
    assert_non_null(now);
    assert_string_equal(now->id, id);
    assert_int_equal(now->number, want->number);
    assert_int_equal(now->revision, want->revision);
    assert_int_equal(n_cells, want->n);
}

static unsigned below(unsigned n)
{
    uint32_t x;
    ids_random(&x, sizeof(x));
    return x % n;
}

static void model_insert(struct model *m, unsigned at, struct model_cell cell)
{
    memmove(&m->cells[at + 1], &m->cells[at], (m->n - at) * sizeof(cell));
    m->cells[at] = cell;
    m->n++;
}

static struct model_cell model_remove(struct model *m, unsigned at)
{
    struct model_cell cell = m->cells[at];
    m->n--;
    memmove(&m->cells[at], &m->cells[at + 1], (m->n - at) * sizeof(cell));
    return cell;
}

/* One change of the model; what the store is to do and to say. */
static enum store_change_kind choose(struct model *m, unsigned *at, unsigned *to,
                                     struct expected *want)
{
    enum store_change_kind what = (enum store_change_kind)below(4);
    *want = (struct expected){0};
    *at = m->n == 0 ? 0 : below(m->n);
    *to = below(m->n + 1);
    if (what != CHANGE_INSERT && m->n == 0)
        what = CHANGE_INSERT;
    if (what == CHANGE_INSERT && m->n == MODEL_MAX) {
        want->is_refused = true;
    } else if (what == CHANGE_INSERT) {
        model_insert(m, *to, (struct model_cell){++m->last_id, ++m->last_text, 1});
        *at = *to;
        want->number = *to;
    } else if (what == CHANGE_MOVE) {
        *to = MIN(*to, m->n - 1);
        model_insert(m, *to, model_remove(m, *at));
        want->number = *to;
    } else if (what == CHANGE_EDIT) {
        m->cells[*at].text = ++m->last_text;
        m->cells[*at].revision++;
        want->number = *at;
    }
    const struct model_cell *cell =
        &m->cells[what == CHANGE_INSERT || what == CHANGE_MOVE ? *to : *at];
    want->id = cell->id;
    want->revision = cell->revision;
    if (what == CHANGE_REMOVE) {
        model_remove(m, *at);
        want->number = *at;
    }
    want->n = m->n;
    return what;
}

static void ask(struct race *race, struct model *m)
{
    struct expected *want = &race->expected[race->n_asked];
    char name[16], id[16], source[16];
    unsigned at, to, old = 0;
    unsigned n_before = m->n;
    struct model before = *m;
    enum store_change_kind what = choose(m, &at, &to, want);
    if (what != CHANGE_INSERT)
        old = before.cells[at].id;
    snprintf(id, sizeof(id), "c%u", m->last_id);
    snprintf(source, sizeof(source), "%u", m->last_text);
    switch (below(3)) { /* by id, by number, from the end */
    case 0:
        snprintf(name, sizeof(name), "c%u", old);
        break;
    case 1:
        snprintf(name, sizeof(name), "%u", at);
        break;
    default:
        snprintf(name, sizeof(name), "-%u", n_before - at);
    }
    struct store_cell cell = {.id = what == CHANGE_INSERT ? id : NULL,
                              .kind = what == CHANGE_INSERT ? 0 : -1,
                              .source = source,
                              .source_len = strlen(source)};
    struct store_change change = {
        .what = what, .cell = name, .at = to, .to = &cell, .max_cells = MODEL_MAX};
    race->n_asked++;
    store_change_cells(race->w->store, ONE, &change, on_raced, race);
}

static void assert_same(struct world *w, const struct model *m)
{
    _buf_ struct buf want = BUF_INIT(MIB);
    for (unsigned i = 0; i < m->n; i++)
        buf_printf(&want, "%u:c%u:idle:%u ", i, m->cells[i].id, m->cells[i].text);
    assert_string_equal(list(w), buf_str(&want));
    assert_int_equal(w->count, m->n);
}

static void changes_in_any_order(void **state)
{
    (void)state;
    struct world *w = world_new();
    struct model m = {0};
    world_put_notebook(w, ONE);
    for (unsigned i = 0; i < CHANGES / TOGETHER; i++) {
        struct race race = {.w = w};
        for (unsigned k = 0; k < TOGETHER; k++)
            ask(&race, &m);
        while (race.n_told < race.n_asked)
            world_wait(w);
        assert_same(w, &m);
        if (i % 40 == 39) {
            world_close(w);
            world_open(w);
            assert_same(w, &m);
        }
    }
    world_free(w);
}

/* ---- pictures -------------------------------------------------------------------------------- */

static void on_put_image(void *context, const char *hash, uint64_t bytes, const struct err *e)
{
    struct world *w = context;
    world_note(w, e);
    w->count = bytes;
    buf_clear(&w->text);
    buf_append_str(&w->text, or_dash(hash));
}

static void on_image(void *context, const struct store_image *image, const struct err *e)
{
    struct world *w = context;
    world_note(w, e);
    buf_clear(&w->text);
    if (image != NULL)
        buf_printf(&w->text, "%s %s %dx%d %d", image->hash, image->format, (int)image->width,
                   (int)image->height, (int)image->bytes);
}

static void on_released(void *owner)
{
    ++*(int *)owner;
}

static void put_image(struct world *w, const char *text, bool is_base64, char hash[STORE_HASH_SIZE])
{
    int released = 0;
    struct store_picture picture = {.text = text,
                                    .len = strlen(text),
                                    .is_base64 = is_base64,
                                    .release = on_released,
                                    .owner = &released};
    store_put_image(w->store, &picture, on_put_image, w);
    world_wait(w);
    world_ok(w);
    while (released == 0)
        uv_run(&w->loop, UV_RUN_ONCE);
    assert_int_equal(released, 1);
    snprintf(hash, STORE_HASH_SIZE, "%s", buf_str(&w->text));
}

static const char *image(struct world *w, const char *cell, uint64_t n)
{
    store_get_image(w->store, ONE, cell, n, on_image, w);
    world_wait(w);
    return buf_str(&w->text);
}

static int age_one(void *context, const struct blob_hash *hash, uint64_t bytes)
{
    const int *fd = context;
    char hex[BLOB_HEX_SIZE], path[80];
    struct timespec old[2] = {{.tv_sec = 1000000000}, {.tv_sec = 1000000000}};
    (void)bytes;
    blob_hex(hash, hex);
    snprintf(path, sizeof(path), "%.2s/%s", hex, hex + 2);
    utimensat(*fd, path, old, 0);
    return 0;
}

/* Whether the blob is there after everything unused was removed. */
static bool survives(struct world *w, const char *hex)
{
    struct blob_hash hash;
    int fd = store_blobs(w->store);
    world_barrier(w, NULL);
    blob_each(fd, age_one, &fd);
    store_sweep(w->store, on_done, w);
    world_wait(w);
    world_ok(w);
    assert_int_equal(blob_parse_hex(hex, &hash), 0);
    return blob_has(fd, &hash);
}

static void pictures_live_as_long_as_their_cells(void **state)
{
    (void)state;
    struct world *w = world_new();
    char png[STORE_HASH_SIZE], svg[STORE_HASH_SIZE], lost[STORE_HASH_SIZE], want[256];
    _buf_ struct buf outputs = BUF_INIT(MIB);
    put_image(w, "aGVsbG8=", true, png);
    assert_int_equal(w->count, 5);
    put_image(w, "<svg>\"}]{[\\\"</svg>", false, svg);
    memset(lost, 'a', sizeof(lost));
    lost[STORE_HASH_SIZE - 1] = '\0';
    buf_printf(&outputs,
               "[{\"type\":\"text\",\"text\":\"\\\"hash\\\": \\\\\"},"
               "{\"type\":\"json\",\"json\":{\"hash\":\"%s\",\"a\":[1,{\"hash\":\"%s\"}]}},"
               "{\"type\":\"image\", \"format\":\"png\",\"width\":640,\"height\":480,\"bytes\":5,"
               "\"hash\" : \"%s\"},"
               "{\"hash\":\"%s\",\"type\":\"image\"},"
               "{\"type\":\"svg\",\"format\":\"svg\",\"ref\":\"notebook://x/cell/c/image/7\","
               "\"bytes\":18,\"hash\":\"%s\"}]",
               lost, lost, png, lost, svg);
    world_put_notebook(w, ONE);
    put_text(w, "c", "running", "x");
    put_run(w, "c", "completed", 1, buf_str(&outputs));
    snprintf(want, sizeof(want), "%s png 640x480 5", png);
    assert_string_equal(image(w, "c", 0), want);
    snprintf(want, sizeof(want), "%s svg 0x0 18", svg);
    assert_string_equal(image(w, "0", 7), want);
    image(w, "c", 1); /* its bytes were never there */
    assert_int_equal(w->error.code, ERR_NOT_FOUND);
    assert_true(survives(w, png));
    assert_true(survives(w, svg));
    buf_clear(&outputs);
    buf_printf(&outputs, "[{\"type\":\"image\",\"format\":\"png\",\"hash\":\"%s\"}]", png);
    put_run(w, "c", "completed", 2, buf_str(&outputs));
    assert_true(survives(w, png));
    assert_false(survives(w, svg));
    image(w, "c", 7);
    assert_int_equal(w->error.code, ERR_NOT_FOUND);
    change(w, &(struct store_change){.what = CHANGE_CLEAR_OUTPUTS, .cell = "c"});
    assert_false(survives(w, png));
    store_put_image(w->store, &(struct store_picture){.text = "no?", .len = 3, .is_base64 = true},
                    on_put_image, w);
    world_wait(w);
    assert_int_equal(w->error.code, ERR_INVALID);
    world_free(w);
}

/* Whatever a removal is: the cell, all cells, the notebook. */
static void pictures_go_with_what_is_removed(void **state)
{
    (void)state;
    struct world *w = world_new();
    struct err e;
    char hash[STORE_HASH_SIZE];
    _buf_ struct buf outputs = BUF_INIT(MIB);
    for (int i = 0; i < 3; i++) {
        put_image(w, "cGljdHVyZQ==", true, hash);
        buf_clear(&outputs);
        buf_printf(&outputs, "[{\"type\":\"image\",\"hash\":\"%s\"}]", hash);
        world_put_notebook(w, ONE);
        put_text(w, "c", "running", "x");
        put_run(w, "c", "completed", 1, buf_str(&outputs));
        assert_true(survives(w, hash));
        if (i == 0)
            change(w, &(struct store_change){.what = CHANGE_REMOVE, .cell = "c"});
        else if (i == 1)
            change(w, &(struct store_change){.what = CHANGE_CLEAR_ALL});
        else
            store_delete_notebook(w->store, ONE, NULL, NULL, &e);
        assert_false(survives(w, hash));
    }
    world_free(w);
}

static void a_new_cell_takes_no_other_over(void **state)
{
    (void)state;
    struct world *w = world_new();
    world_put_notebook(w, ONE);
    insert(w, STORE_AT_END, "8abcdef0", "somebody's");
    put(w, &(struct store_cell){.id = "8abcdef0",
                                .state = "completed",
                                .source = "run",
                                .source_len = 3,
                                .exec_id = 1,
                                .count = 1});
    assert_non_null(strstr(get(w, "8abcdef0"), "1:8abcdef0:completed:run "));
    assert_non_null(strstr(get(w, "0"), ":idle:somebody's "));
    list(w);
    assert_int_equal(w->count, 2);
    world_free(w);
}

/* ---- earlier versions ------------------------------------------------------------------------ */

static void exec_sql(struct world *w, const char *sql)
{
    char path[128];
    sqlite3 *db;
    snprintf(path, sizeof(path), "%s/cella.db", w->dir);
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    char *message = NULL;
    if (sqlite3_exec(db, sql, NULL, NULL, &message) != SQLITE_OK)
        fail_msg("%s", message);
    sqlite3_close(db);
}

static void on_run(void *context, const struct store_cell *cells, size_t n, uint64_t count,
                   const struct err *e)
{
    struct world *w = context;
    world_note(w, e);
    w->count = count;
    buf_clear(&w->text);
    for (size_t i = 0; i < n; i++)
        buf_printf(&w->text, "%d:%.*s:%s:%d:%d ", (int)cells[i].exec_id, (int)cells[i].source_len,
                   cells[i].source, cells[i].state, (int)cells[i].executed_ms,
                   (int)cells[i].duration_us);
}

static void cells_of_the_first_version_become_notebooks(void **state)
{
    (void)state;
    struct world *w = world_new();
    world_put_session(w, ONE);
    world_put_session(w, TWO);
    world_close(w);
    exec_sql(w, "DROP TABLE notebooks; DROP TABLE cells; DROP TABLE sources; DROP TABLE outputs;"
                "DROP TABLE images; DROP TABLE descriptions; DROP TABLE displays; DELETE FROM "
                "about WHERE key LIKE 'journal%';"
                "CREATE TABLE cells(session INTEGER NOT NULL, exec_id INTEGER NOT NULL,"
                " at_ms INTEGER NOT NULL, duration_us INTEGER NOT NULL, status TEXT NOT NULL,"
                " code TEXT NOT NULL, answer TEXT, UNIQUE(session, exec_id));"
                "INSERT INTO cells VALUES(2, 1, 10, 5, 'ok', 'two', NULL),"
                " (1, 9, 30, 7, 'error', 'late', NULL), (1, 3, 20, 6, 'ok', 'early', NULL),"
                " (77, 1, 1, 1, 'ok', 'of nobody', NULL); PRAGMA user_version=1");
    world_open(w);
    assert_string_equal(list(w), "0:00000003:completed:early 1:00000009:error:late ");
    assert_string_equal(describe(w, ONE), "11 - - python - {\"runtime\":\"python\"} cells=2 "
                                          "count=2 exec=9 session=1");
    assert_string_equal(describe(w, TWO), "99 - - python - {\"runtime\":\"python\"} cells=1 "
                                          "count=1 exec=1 session=1");
    store_list_cells(w->store, ONE, 0, 10, on_run, w);
    world_wait(w);
    assert_string_equal(buf_str(&w->text), "3:early:completed:20:6 9:late:error:30:7 ");
    assert_int_equal(w->count, 2);
    assert_string_equal(insert(w, 1, "new", "between"), "1:new rev=1");
    assert_string_equal(list(w),
                        "0:00000003:completed:early 1:new:idle:between 2:00000009:error:late ");
    world_free(w);
}

static void displays_of_the_second_version_can_be_updated(void **state)
{
    (void)state;
    struct world *w = world_new();
    world_put_notebook(w, ONE);
    put_text(w, "a", "completed", "a");
    put_run(w, "a", "completed", 1, "[{\"type\":\"text\",\"text\":\"old\",\"display_id\":\"x\"}]");
    put_text(w, "b", "completed", "b");
    list(w); /* it waits for them */
    world_close(w);
    exec_sql(w, "DROP TABLE displays; ALTER TABLE cells DROP COLUMN undone; PRAGMA user_version=2");
    world_open(w);
    put_run(w, "b", "completed", 2,
            "[{\"type\":\"text\",\"text\":\"new\",\"display_id\":\"x\",\"updates\":1}]");
    assert_non_null(
        strstr(get(w, "a"), "out=[{\"type\":\"text\",\"text\":\"new\",\"display_id\":\"x\"}]"));
    assert_non_null(strstr(get(w, "b"), "out=- "));
    world_free(w);
}

/* ---- what was undone ------------------------------------------------------------------------- */

static void on_undone(void *context, const struct store_cell *cells, size_t n, uint64_t count,
                      const struct err *e)
{
    struct world *w = context;
    (void)count;
    world_note(w, e);
    buf_clear(&w->text);
    for (size_t i = 0; i < n; i++)
        if (cells[i].is_undone)
            buf_append_str(&w->text, cells[i].id);
}

static const char *undone(struct world *w)
{
    store_get_cells(w->store, ONE, 0, 100, false, on_undone, w);
    world_wait(w);
    return buf_str(&w->text);
}

static void mark(struct world *w, uint64_t after, const uint64_t *redone, size_t n)
{
    struct err e;
    assert_int_equal(store_mark_undone(w->store, ONE, after, redone, n, &e), 0);
}

static void cells_are_undone_and_redone(void **state)
{
    static const uint64_t two_and_four[] = {2, 4};
    (void)state;
    struct world *w = world_new();
    mark(w, 0, NULL, 0); /* there is no notebook */
    world_put_notebook(w, ONE);
    for (const char *id = "abcdef"; *id != '\0'; id++) {
        char name[2] = {*id, '\0'};
        put_text(w, name, "idle", name);
        if (*id < 'f')
            put_run(w, name, *id == 'e' ? "died" : "completed", (uint64_t)(*id - 'a' + 1), NULL);
    }
    mark(w, 2, NULL, 0);
    assert_string_equal(undone(w), "cd");
    mark(w, 0, NULL, 0);
    assert_string_equal(undone(w), "abcd"); /* f never ran, e has its state */
    mark(w, 1, two_and_four, 2);
    assert_string_equal(undone(w), "ac");
    put_run(w, "c", "completed", 3, NULL); /* the same run, told once more */
    assert_string_equal(undone(w), "ac");
    put_run(w, "c", "running", 6, NULL);
    put_run(w, "a", "queued", 0, NULL);
    mark(w, 4, NULL, 0);
    assert_string_equal(undone(w), "");
    mark(w, 3, NULL, 0);
    world_close(w);
    world_open(w);
    assert_string_equal(undone(w), "d");
    world_free(w);
}

/* ---- pages ----------------------------------------------------------------------------------- */

static void pages_are_bounded(void **state)
{
    (void)state;
    struct world *w = world_new();
    _free_ char *outputs = mem_alloc(3 * MIB + 1);
    memset(outputs, ' ', 3 * MIB);
    outputs[0] = '[';
    outputs[3 * MIB - 1] = ']';
    world_put_notebook(w, ONE);
    for (const char *id = "abcdef"; *id != '\0'; id++) {
        char name[2] = {*id, '\0'};
        put_text(w, name, "completed", name);
        put_run(w, name, "completed", 1, outputs);
    }
    assert_string_equal(list(w), "0:a:completed:a 1:b:completed:b 2:c:completed:c ");
    assert_int_equal(w->count, 6);
    store_get_cells(w->store, ONE, 0, 100, false, on_cells, w);
    world_wait(w);
    assert_non_null(strstr(buf_str(&w->text), "5:f:"));
    store_get_cells(w->store, ONE, 4, 1, true, on_cells, w);
    world_wait(w);
    assert_string_equal(buf_str(&w->text), "4:e:completed:e ");
    store_get_cells(w->store, ONE, 6, 1, true, on_cells, w);
    world_wait(w);
    assert_string_equal(buf_str(&w->text), "");
    world_ok(w);
    world_free(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(notebooks_outlive_their_sessions),
        cmocka_unit_test(bad_rows_are_refused),
        cmocka_unit_test(a_put_tells_of_a_run_or_of_all),
        cmocka_unit_test(queued_puts_are_replaced),
        cmocka_unit_test(cells_are_changed_by_id_and_by_number),
        cmocka_unit_test(an_edit_expects_a_revision),
        cmocka_unit_test(outputs_are_cleared),
        cmocka_unit_test(gaps_are_renewed),
        cmocka_unit_test(changes_in_any_order),
        cmocka_unit_test(pictures_live_as_long_as_their_cells),
        cmocka_unit_test(pictures_go_with_what_is_removed),
        cmocka_unit_test(a_new_cell_takes_no_other_over),
        cmocka_unit_test(cells_of_the_first_version_become_notebooks),
        cmocka_unit_test(displays_of_the_second_version_can_be_updated),
        cmocka_unit_test(cells_are_undone_and_redone),
        cmocka_unit_test(pages_are_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
