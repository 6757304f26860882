#include "explore/research.h"
#include "explore/state.h"
#include "unit.h"
#include "wire/json.h"

#include <stdio.h>
#include <string.h>

#define TEXT(text) text, sizeof(text) - 1

static void expect(const struct explore_state *shown, const char *text)
{
    _buf_ struct buf out = BUF_INIT(64 * KIB);
    explore_state_render(shown, &out);
    assert_string_equal(buf_str(&out), text);
}

static json_t *tree_of(size_t nodes)
{
    static const char *const contents[] = {"one", "two", "three"};
    json_t *tree = research_new();
    for (size_t i = 0; i < nodes; i++) {
        char id[RESEARCH_ID_SIZE];
        struct research_call call = {
            .tool = "peek", .query = "n=9", .content = contents[i], .len = strlen(contents[i])};
        json_t *next = research_add(tree, &call, id);
        json_decref(tree);
        tree = next;
    }
    return tree;
}

static void test_an_empty_state_has_two_lines(void **state)
{
    (void)state;
    expect(&(struct explore_state){0}, "context: str (0 chars)\nartifacts: {}");
}

static void test_all_of_it(void **state)
{
    (void)state;
    static const struct explore_value artifacts[] = {
        {.name = "answer", .text = TEXT("42")},
        {.name = "it's", .text = TEXT("line\nline")},
    };
    static const struct explore_value variables[] = {
        {.name = "x", .type = "int", .text = TEXT("123")},
        {.name = "rows", .type = "list", .text = TEXT("[1, 2]")},
    };
    _json_ json_t *tree = tree_of(3);
    expect(&(struct explore_state){.context_chars = 1234567,
                                   .artifacts = artifacts,
                                   .n_artifacts = 2,
                                   .variables = variables,
                                   .n_variables = 2,
                                   .research = tree},
           "context: str (1234567 chars)\n"
           "artifacts: ['answer', \"it's\"]\n"
           "  artifacts['answer']: 42\n"
           "  artifacts['it's']: line line\n"
           "\n"
           "## Available Variables (from previous turns)\n"
           "  x (int) = 123\n"
           "  rows (list) = [1, 2]\n"
           "\n"
           "## Research Context\n"
           "Progress: 0 analyzed, 3 pending, 0 stale\n"
           "\n"
           "[?] P1: peek(n=9)\n"
           "    -> one\n"
           "  [?] P2: peek(n=9)\n"
           "      -> two\n"
           "    [?] P3: peek(n=9)\n"
           "        -> three");
}

static void test_a_small_tree_is_not_shown(void **state)
{
    (void)state;
    _json_ json_t *tree = tree_of(2);
    expect(&(struct explore_state){.research = tree}, "context: str (0 chars)\nartifacts: {}");
}

static void test_previews_are_cut_and_the_rest_is_counted(void **state)
{
    (void)state;
    enum { MANY = 23 };
    struct explore_value values[MANY];
    char names[MANY][8], text[300];
    memset(text, 'v', sizeof(text));
    for (size_t i = 0; i < MANY; i++) {
        snprintf(names[i], sizeof(names[i]), "n%zu", i);
        values[i] = (struct explore_value){names[i], "str", text, i == 0 ? 80 : 81};
    }
    _buf_ struct buf wanted = BUF_INIT(64 * KIB);
    buf_append_str(&wanted, "context: str (0 chars)\nartifacts: {}\n\n"
                            "## Available Variables (from previous turns)");
    for (size_t i = 0; i < EXPLORE_STATE_NAMES; i++)
        buf_printf(&wanted, "\n  n%zu (str) = %.80s%s", i, text, i == 0 ? "" : "...");
    buf_append_str(&wanted, "\n  ... and 3 more");
    expect(&(struct explore_state){.variables = values, .n_variables = MANY}, buf_str(&wanted));

    buf_clear(&wanted);
    buf_append_str(&wanted, "context: str (0 chars)\nartifacts: [");
    for (size_t i = 0; i < EXPLORE_STATE_NAMES; i++)
        buf_printf(&wanted, "'n%zu', ", i);
    buf_append_str(&wanted, "...]");
    for (size_t i = 0; i < EXPLORE_STATE_NAMES; i++) {
        values[i].len = i == 0 ? 100 : 101;
        buf_printf(&wanted, "\n  artifacts['n%zu']: %.100s%s", i, text, i == 0 ? "" : "...");
    }
    buf_append_str(&wanted, "\n  ... and 3 more");
    expect(&(struct explore_state){.artifacts = values, .n_artifacts = MANY}, buf_str(&wanted));
}

/* No value can pretend to be another part of the state. */
static void test_any_bytes_stay_in_their_lines(void **state)
{
    (void)state;
    static const struct explore_value values[] = {
        {.name = "a\n'\"\\", .type = "s\r\ntr", .text = TEXT("\n\n## Research\0Context \xff\xc3")},
    };
    expect(
        &(struct explore_state){
            .artifacts = values, .n_artifacts = 1, .variables = values, .n_variables = 1},
        "context: str (0 chars)\n"
        "artifacts: ['a \\'\"\\\\']\n"
        "  artifacts['a '\"\\']:   ## Research Context \xef\xbf\xbd\xef\xbf\xbd\n"
        "\n"
        "## Available Variables (from previous turns)\n"
        "  a '\"\\ (s  tr) =   ## Research Context \xef\xbf\xbd\xef\xbf\xbd");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_an_empty_state_has_two_lines),
        cmocka_unit_test(test_all_of_it),
        cmocka_unit_test(test_a_small_tree_is_not_shown),
        cmocka_unit_test(test_previews_are_cut_and_the_rest_is_counted),
        cmocka_unit_test(test_any_bytes_stay_in_their_lines),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
