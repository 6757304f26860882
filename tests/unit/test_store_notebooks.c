#include "notebook_world.h"

#include <sqlite3.h>

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
                " (77, 1, 1, 1, 'ok', 'of nobody', NULL); ALTER TABLE shared DROP COLUMN owner; "
                "DROP TABLE tasks; DROP TABLE memories; DROP TABLE agent_plans;"
                " ALTER TABLE states DROP COLUMN explored;"
                " PRAGMA user_version=1");
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
    exec_sql(w, "DROP TABLE displays; ALTER TABLE cells DROP COLUMN undone;"
                " ALTER TABLE cells DROP COLUMN waits;"
                " ALTER TABLE shared DROP COLUMN owner; DROP TABLE tasks; DROP TABLE memories;"
                " DROP TABLE agent_plans; ALTER TABLE states DROP COLUMN explored;"
                " PRAGMA user_version=2");
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
        cmocka_unit_test(a_new_cell_takes_no_other_over),
        cmocka_unit_test(cells_of_the_first_version_become_notebooks),
        cmocka_unit_test(displays_of_the_second_version_can_be_updated),
        cmocka_unit_test(cells_are_undone_and_redone),
        cmocka_unit_test(pages_are_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
