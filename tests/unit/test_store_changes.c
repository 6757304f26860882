#include "notebook_world.h"

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

/* ---- any order of changes, against an array -------------------------------------------------- */

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cells_are_changed_by_id_and_by_number),
        cmocka_unit_test(an_edit_expects_a_revision),
        cmocka_unit_test(outputs_are_cleared),
        cmocka_unit_test(gaps_are_renewed),
        cmocka_unit_test(changes_in_any_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
