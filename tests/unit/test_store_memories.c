/* What agents remember: bounded, apart, there after the store was closed. */
#include "store/memories.h"
#include "store_world.h"

static void memories_on_learnt(void *context, const struct store_memory *row, uint64_t n_dropped,
                               const struct err *e)
{
    struct world *w = context;
    world_note(w, e);
    w->count = n_dropped;
    buf_clear(&w->text);
    if (row != NULL)
        buf_printf(&w->text, "%s %s %.3f %d", row->task, row->outcome, row->q,
                   (int)row->n_outcomes);
}

static const char *memories_learn(struct world *w, const char *user, const char *task,
                                  enum memory_outcome outcome, size_t keep)
{
    struct err e;
    struct store_lesson lesson = {.agent = "ana",
                                  .user = user,
                                  .session = "s",
                                  .task = task,
                                  .action = "grep",
                                  .log = "{}",
                                  .outcome = outcome,
                                  .reward = memory_reward(outcome, 0, 0),
                                  .keep = keep};
    assert_non_null(store_learn(w->store, &lesson, memories_on_learnt, w, &e));
    world_wait(w);
    world_ok(w);
    return buf_str(&w->text);
}

static void memories_on_list(void *context, const struct store_memory *list, size_t n,
                             uint64_t count, const struct err *e)
{
    struct world *w = context;
    world_note(w, e);
    w->count = count;
    buf_clear(&w->text);
    for (size_t i = 0; i < n; i++)
        buf_printf(&w->text, "%s:%s ", list[i].user, list[i].task);
}

static const char *memories_list(struct world *w, const char *agent, const char *user)
{
    store_list_memories(w->store, agent, user, 0, 1000, memories_on_list, w);
    world_wait(w);
    world_ok(w);
    return buf_str(&w->text);
}

static const char *memories_recall(struct world *w, const char *agent, const char *user,
                                   const char *query)
{
    store_recall(w->store, agent, user, query, memories_on_list, w);
    world_wait(w);
    world_ok(w);
    return buf_str(&w->text);
}

static void memories_on_forgotten(void *context, uint64_t n, const struct err *e)
{
    struct world *w = context;
    world_note(w, e);
    w->count = n;
}

static uint64_t memories_forget(struct world *w, const char *agent, const char *user,
                                const char *id)
{
    struct err e;
    assert_non_null(store_delete_memories(w->store, agent, user, id, memories_on_forgotten, w, &e));
    world_wait(w);
    world_ok(w);
    return w->count;
}

static void test_the_same_task_and_action_learn(void **state)
{
    (void)state;
    struct world *w = world_new();
    assert_string_equal(memories_learn(w, "", "count words", MEMORY_OPEN, 0),
                        "count words open 0.500 0");
    assert_string_equal(memories_learn(w, "", "count words", MEMORY_SUCCESS, 0),
                        "count words success 0.550 1");
    /* Nothing is learnt from an end that nobody has judged. */
    assert_string_equal(memories_learn(w, "", "count words", MEMORY_OPEN, 0),
                        "count words success 0.550 1");
    world_close(w);
    world_open(w);
    assert_string_equal(memories_learn(w, "", "count words", MEMORY_FAILURE, 0),
                        "count words failure 0.445 2");
    assert_string_equal(memories_list(w, "ana", NULL), ":count words ");
    world_free(w);
}

static void test_agents_and_users_are_apart(void **state)
{
    (void)state;
    struct world *w = world_new();
    memories_learn(w, "", "count words", MEMORY_SUCCESS, 0);
    memories_learn(w, "ada", "count words", MEMORY_SUCCESS, 0);
    assert_string_equal(memories_recall(w, "ana", "ada", "count the words"), "ada:count words ");
    assert_string_equal(memories_recall(w, "ana", "", "count the words"), ":count words ");
    assert_string_equal(memories_recall(w, "ana", "bob", "count the words"), "");
    assert_string_equal(memories_recall(w, "default", "ada", "count the words"), "");
    assert_string_equal(memories_list(w, "default", NULL), "");
    char id[MEMORY_ID_SIZE];
    memory_id("ana", "ada", "count words", "grep", id);
    assert_int_equal(memories_forget(w, "default", NULL, id), 0);
    assert_int_equal(memories_forget(w, "ana", NULL, id), 1);
    assert_int_equal(memories_forget(w, "ana", "ada", NULL), 0);
    assert_int_equal(memories_forget(w, "ana", NULL, NULL), 1);
    world_free(w);
}

/* The least valuable of the user with the most goes, never what is new; what went is counted. */
static void test_there_are_only_so_many(void **state)
{
    (void)state;
    struct world *w = world_new();
    memories_learn(w, "bob", "his only one", MEMORY_FAILURE, 4);
    memories_learn(w, "ada", "one", MEMORY_SUCCESS, 4);
    memories_learn(w, "ada", "two", MEMORY_FAILURE, 4);
    memories_learn(w, "ada", "three", MEMORY_PARTIAL, 4);
    assert_int_equal(w->count, 0);
    memories_learn(w, "ada", "four", MEMORY_FAILURE, 4);
    assert_int_equal(w->count, 1);
    assert_string_equal(memories_list(w, "ana", NULL),
                        "ada:four ada:three ada:one bob:his only one ");
    memories_learn(w, "eve", "hers", MEMORY_FAILURE, 2); /* the limit has become lower */
    assert_int_equal(w->count, 3);
    assert_string_equal(memories_list(w, "ana", NULL), "eve:hers bob:his only one ");
    memories_learn(w, "zoe", "hers", MEMORY_FAILURE, 2); /* all have the same: not the new one */
    assert_int_equal(w->count, 1);
    assert_string_equal(memories_list(w, "ana", "zoe"), "zoe:hers ");
    world_free(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_same_task_and_action_learn),
        cmocka_unit_test(test_agents_and_users_are_apart),
        cmocka_unit_test(test_there_are_only_so_many),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
