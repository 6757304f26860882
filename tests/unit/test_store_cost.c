#include "store_world.h"

#include <sqlite3.h>
#include <stdatomic.h>

/* What cells cost, the first and the ten-thousandth, in steps of SQLite's machine: a count, which
 * no other program changes. */

#define ONE "11111111-2222-4333-8444-555555555555"

enum { MANY = 10000, FEW = 20, SAMPLES = 51 };

static atomic_ullong steps; /* of all statements that ended */

static int on_statement(unsigned what, void *context, void *statement, void *ns)
{
    (void)what;
    (void)context;
    (void)ns;
    steps += (unsigned long long)sqlite3_stmt_status(statement, SQLITE_STMTSTATUS_VM_STEP, 1);
    return 0;
}

/* For every connection that the store opens. */
static int count_steps(sqlite3 *db, char **ret_error, const struct sqlite3_api_routines *api)
{
    (void)ret_error;
    (void)api;
    return sqlite3_trace_v2(db, SQLITE_TRACE_PROFILE, on_statement, NULL);
}

static unsigned long long samples[SAMPLES];

static int by_value(const void *a, const void *b)
{
    unsigned long long x = *(const unsigned long long *)a, y = *(const unsigned long long *)b;
    return x < y ? -1 : x > y;
}

static const char source[] =
    "for i in range(10):\n    print(i, 'some text that a cell may have')\n";
static const char outputs[] = "[{\"type\":\"text\",\"stream\":\"stdout\",\"text\":\"0 some text "
                              "that a cell may have\\n1 some "
                              "text that a cell may have\\n2 some text that a cell may have\\n\"}]";

static void put(struct world *w, uint64_t n, bool is_new)
{
    char id[24];
    struct err e;
    snprintf(id, sizeof(id), "%08x", (unsigned)n);
    struct store_cell cell = {.id = id,
                              .exec_id = n,
                              .count = n,
                              .state = is_new ? "running" : "completed",
                              .source = is_new ? source : NULL,
                              .source_len = is_new ? sizeof(source) - 1 : 0,
                              .outputs = is_new ? NULL : outputs,
                              .outputs_len = sizeof(outputs) - 1};
    if (store_put_cell(w->store, ONE, &cell, &e) < 0)
        fail_msg("%s", e.message);
}

static void on_changed(void *context, const struct store_cell *now, uint64_t n_cells,
                       int64_t last_place, const struct err *e)
{
    struct world *w = context;
    (void)now;
    (void)last_place;
    world_note(w, e);
    w->count = n_cells;
}

static void on_cell(void *context, const struct store_cell *cell, const struct err *e)
{
    (void)cell;
    world_note(context, e);
}

/* The median: a gap between cells that is used up moves some of them, now and then. */
static unsigned long long median(void)
{
    qsort(samples, SAMPLES, sizeof(samples[0]), by_value);
    return samples[SAMPLES / 2];
}

static unsigned long long count_changes(struct world *w, const struct store_change *change)
{
    for (int i = 0; i < SAMPLES; i++) {
        unsigned long long begin = steps;
        store_change_cells(w->store, ONE, change, on_changed, w);
        world_wait(w);
        world_barrier(w, NULL);
        samples[i] = steps - begin;
        world_ok(w);
    }
    return median();
}

static unsigned long long count_gets(struct world *w, const char *name)
{
    for (int i = 0; i < SAMPLES; i++) {
        unsigned long long begin = steps;
        store_get_cell(w->store, ONE, name, on_cell, w);
        world_wait(w);
        samples[i] = steps - begin;
        world_ok(w);
    }
    return median();
}

struct costs {
    unsigned long long put, append, insert, insert_worst, move, edit, get, get_end;
};

/* With about n cells in it. */
static void measure(struct world *w, uint64_t n, struct costs *ret)
{
    char middle[24];
    struct store_cell cell = {.source = source, .source_len = sizeof(source) - 1};
    struct store_cell text = {.kind = -1, .metadata = "{}", .metadata_len = 2};
    snprintf(middle, sizeof(middle), "%d", (int)n / 2);
    for (int i = 0; i < SAMPLES; i++) {
        unsigned long long begin = steps;
        put(w, n / 2, false);
        world_barrier(w, NULL);
        samples[i] = steps - begin;
    }
    ret->put = median();
    struct store_change change = {.what = CHANGE_INSERT, .at = STORE_AT_END, .to = &cell};
    ret->append = count_changes(w, &change);
    change.at = n / 2;
    ret->insert = count_changes(w, &change);
    ret->insert_worst = samples[SAMPLES - 1];
    change = (struct store_change){.what = CHANGE_MOVE, .cell = middle, .at = STORE_AT_END};
    ret->move = count_changes(w, &change);
    change = (struct store_change){.what = CHANGE_EDIT, .cell = middle, .to = &text};
    ret->edit = count_changes(w, &change);
    ret->get = count_gets(w, middle);
    ret->get_end = count_gets(w, "-1");
    print_message("%6d cells, steps: put %llu, append %llu, insert %llu (worst %llu), move %llu, "
                  "edit %llu, get %llu (the last %llu)\n",
                  (int)n, ret->put, ret->append, ret->insert, ret->insert_worst, ret->move,
                  ret->edit, ret->get, ret->get_end);
}

static void the_last_costs_what_the_first_did(void **state)
{
    (void)state;
    struct world *w = world_new();
    struct costs few, many;
    world_put_notebook(w, ONE);
    for (uint64_t n = 1; n <= FEW; n++)
        put(w, n, true);
    measure(w, FEW, &few);
    for (uint64_t n = FEW + 1; n <= MANY; n++) {
        put(w, n, true);
        put(w, n, false);
        if (n % 100 == 0)
            world_barrier(w, NULL);
    }
    measure(w, MANY, &many);
    assert_true(few.put > 0 && few.append > 0 && few.get_end > 0);
    assert_int_equal(many.put, few.put);
    assert_int_equal(many.append, few.append);
    assert_int_equal(many.get_end, few.get_end);
    world_free(w);
}

int main(void)
{
    sqlite3_auto_extension((void (*)(void))count_steps);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_last_costs_what_the_first_did),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
