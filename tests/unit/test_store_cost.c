#include "store_world.h"

/* What cells cost, the first and the ten-thousandth: printed, and asserted to be of one kind. */

#define ONE "11111111-2222-4333-8444-555555555555"

enum { MANY = 10000, FEW = 20, SAMPLES = 201 };

static double samples[SAMPLES];

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static double median(void)
{
    qsort(samples, SAMPLES, sizeof(samples[0]), by_value);
    return samples[SAMPLES / 2];
}

static double now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
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

static double worst, mean; /* of the last that were timed */

static double time_changes(struct world *w, const struct store_change *change)
{
    for (int i = 0; i < SAMPLES; i++) {
        double begin = now_us();
        store_change_cells(w->store, ONE, change, on_changed, w);
        world_wait(w);
        samples[i] = now_us() - begin;
        world_ok(w);
    }
    mean = 0;
    for (int i = 0; i < SAMPLES; i++)
        mean += samples[i] / SAMPLES;
    median();
    worst = samples[SAMPLES - 1];
    return samples[SAMPLES / 2];
}

static double time_gets(struct world *w, const char *name)
{
    for (int i = 0; i < SAMPLES; i++) {
        double begin = now_us();
        store_get_cell(w->store, ONE, name, on_cell, w);
        world_wait(w);
        samples[i] = now_us() - begin;
        world_ok(w);
    }
    return median();
}

struct costs {
    double put, committed, append, insert, insert_mean, insert_worst, move, edit, get, get_end;
};

/* With about n cells in it; their number afterwards is what it was. */
static void measure(struct world *w, uint64_t n, struct costs *ret)
{
    char middle[24];
    struct store_cell cell = {.source = source, .source_len = sizeof(source) - 1};
    struct store_cell text = {.kind = -1, .metadata = "{}", .metadata_len = 2};
    snprintf(middle, sizeof(middle), "%d", (int)n / 2);
    for (int i = 0; i < SAMPLES; i++) {
        double begin = now_us();
        put(w, n / 2, false);
        samples[i] = now_us() - begin;
    }
    ret->put = median();
    for (int i = 0; i < SAMPLES; i++) { /* nobody waits for it, except who asks for the cell */
        double begin = now_us();
        put(w, n / 2, false);
        store_get_cell(w->store, ONE, "-1", on_cell, w);
        world_wait(w);
        samples[i] = now_us() - begin;
    }
    ret->committed = median();
    struct store_change change = {.what = CHANGE_INSERT, .at = STORE_AT_END, .to = &cell};
    ret->append = time_changes(w, &change);
    change.at = n / 2;
    ret->insert = time_changes(w, &change);
    ret->insert_mean = mean;
    ret->insert_worst = worst;
    change = (struct store_change){.what = CHANGE_MOVE, .cell = middle, .at = STORE_AT_END};
    ret->move = time_changes(w, &change);
    change = (struct store_change){.what = CHANGE_EDIT, .cell = middle, .to = &text};
    ret->edit = time_changes(w, &change);
    ret->get = time_gets(w, middle);
    ret->get_end = time_gets(w, "-1");
}

static void show(const char *what, const struct costs *c)
{
    print_message("%-12s put %5.1f us; until the answer: put %4.0f, append %4.0f, insert %4.0f "
                  "(mean %4.0f, worst %5.0f), "
                  "move %4.0f, edit %4.0f, get %4.0f (the last %4.0f) us\n",
                  what, c->put, c->committed, c->append, c->insert, c->insert_mean, c->insert_worst,
                  c->move, c->edit, c->get, c->get_end);
}

/* Only what grows with the number would show here. */
static bool is_of_one_kind(const struct costs *few, const struct costs *many)
{
    return many->put < 10 * few->put + 50 && many->append < 10 * few->append + 1000;
}

static void the_last_costs_what_the_first_did(void **state)
{
    (void)state;
    struct world *w = world_new();
    struct costs few, many;
    double begin, first = 0, last = 0;
    world_put_notebook(w, ONE);
    for (uint64_t n = 1; n <= FEW; n++)
        put(w, n, true);
    measure(w, FEW, &few);
    for (uint64_t n = FEW + 1; n <= MANY; n++) {
        begin = now_us();
        put(w, n, true);
        put(w, n, false);
        *(n < MANY / 2 ? &first : &last) += now_us() - begin;
        if (n % 100 == 0)
            world_barrier(w, NULL);
    }
    show("20 cells:", &few);
    bool is_good = false;
    for (int i = 0; i < 3 && !is_good; i++) { /* other programs may be busy */
        measure(w, MANY, &many);
        show("10000 cells:", &many);
        is_good = is_of_one_kind(&few, &many);
    }
    print_message("the loop's part of new cells: %.1f us each, then %.1f us\n", first / (MANY / 2),
                  last / (MANY / 2));
    assert_true(is_good);
    world_free(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_last_costs_what_the_first_did),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
