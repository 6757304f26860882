#include "explore/log.h"
#include "unit.h"

#include <stdio.h>
#include <string.h>

static void add(json_t **log, const char *function, size_t chars)
{
    json_t *next = explore_log_add(*log, function, chars);
    json_decref(*log);
    *log = next;
}

static void expect_put(const json_t *log, size_t result_chars, const char *json)
{
    _buf_ struct buf out = BUF_INIT(16 * KIB);
    struct json_out o = JSON_OUT(&out);
    explore_log_put(log, result_chars, &o);
    assert_string_equal(buf_str(&out), json);
}

static void test_calls_and_tokens_are_counted(void **state)
{
    (void)state;
    _json_ json_t *log = explore_log_new();
    expect_put(log, 0,
               "{\"strategy\":{\"total_events\":0,\"function_counts\":{},\"total_tokens\":0,"
               "\"strategy_type\":\"none\"},\"efficiency\":{\"exploration_tokens\":0,"
               "\"result_tokens\":0,\"efficiency_ratio\":0.000,\"total_events\":0}}");
    add(&log, "peek", 503);
    add(&log, "grep", 3);
    add(&log, "grep", 1600);
    expect_put(log, 700,
               "{\"strategy\":{\"total_events\":3,\"function_counts\":{\"peek\":1,\"grep\":2},"
               "\"total_tokens\":525,\"strategy_type\":\"search\"},\"efficiency\":{"
               "\"exploration_tokens\":525,\"result_tokens\":175,\"efficiency_ratio\":0.333,"
               "\"total_events\":3}}");
}

static void test_an_answer_out_of_nothing_has_no_ratio(void **state)
{
    (void)state;
    _json_ json_t *log = explore_log_new();
    add(&log, "file_info", 3);
    expect_put(log, 4,
               "{\"strategy\":{\"total_events\":1,\"function_counts\":{\"file_info\":1},"
               "\"total_tokens\":0,\"strategy_type\":\"mixed\"},\"efficiency\":{"
               "\"exploration_tokens\":0,\"result_tokens\":1,\"efficiency_ratio\":null,"
               "\"total_events\":1}}");
}

static void test_strategies(void **state)
{
    (void)state;
    static const struct {
        const char *calls[4], *strategy;
    } cases[] = {
        {{NULL}, "none"},
        {{"peek"}, "scan"},
        {{"grep", "peek"}, "mixed"},
        {{"grep", "peek", "peek"}, "scan"},
        {{"grep", "peek", "grep"}, "search"},
        {{"list_dir"}, "mixed"},
        {{"grep", "grep", "llm_call"}, "delegated"},
        {{"peek", "llm_batch"}, "delegated"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        _json_ json_t *log = explore_log_new();
        for (size_t k = 0; cases[i].calls[k] != NULL; k++)
            add(&log, cases[i].calls[k], 1);
        assert_string_equal(explore_log_strategy(log), cases[i].strategy);
    }
}

static void test_logs_do_not_change(void **state)
{
    (void)state;
    _json_ json_t *before = explore_log_new();
    add(&before, "grep", 100);
    _json_ json_t *copy = json_deep_copy(before);
    _json_ json_t *after = explore_log_add(before, "grep", 100);
    assert_true(json_equal(before, copy));
    assert_false(json_equal(after, before));
}

/* Names come from tools of the user's, too. */
static void test_names_are_bounded(void **state)
{
    (void)state;
    _json_ json_t *log = explore_log_new();
    char name[200];
    for (size_t i = 0; i < 2 * EXPLORE_LOG_NAMES; i++) {
        memset(name, 'x', sizeof(name));
        name[snprintf(name, sizeof(name), "f%zu\n", i)] = 'x';
        name[199] = '\0';
        add(&log, name, 4);
    }
    const json_t *counts = json_object_get(log, "function_counts");
    assert_int_equal(json_object_size(counts), EXPLORE_LOG_NAMES + 1);
    assert_int_equal(json_integer_value(json_object_get(counts, "other")), EXPLORE_LOG_NAMES);
    struct err e;
    _json_ json_t *again = explore_log_read(log, &e);
    assert_true(json_equal(log, again));
}

static void test_hostile_logs_are_refused(void **state)
{
    (void)state;
    static const char *const cases[] = {
        "{}",
        "{\"total_events\":0,\"function_counts\":[],\"total_tokens\":0}",
        "{\"total_events\":1,\"function_counts\":{},\"total_tokens\":0}",
        "{\"total_events\":0,\"function_counts\":{\"a\":0},\"total_tokens\":0}",
        "{\"total_events\":1,\"function_counts\":{\"a\\n\":1},\"total_tokens\":0}",
        "{\"total_events\":1,\"function_counts\":{\"a\":1},\"total_tokens\":-1}",
        "{\"total_events\":1,\"function_counts\":{\"a\":1},\"total_tokens\":1.5}",
        ("{\"total_events\":9223372036854775807,\"function_counts\":{\"a\":9223372036854775807},"
         "\"total_tokens\":0}"),
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct err e = {0};
        _json_ json_t *dict = NULL;
        assert_int_equal(json_read_object(cases[i], strlen(cases[i]), &dict, &e), 0);
        assert_null(explore_log_read(dict, &e));
        assert_int_equal(e.code, ERR_INVALID);
        assert_true(e.message[0] != '\0' && e.advice[0] != '\0');
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_calls_and_tokens_are_counted),
        cmocka_unit_test(test_an_answer_out_of_nothing_has_no_ratio),
        cmocka_unit_test(test_strategies),
        cmocka_unit_test(test_logs_do_not_change),
        cmocka_unit_test(test_names_are_bounded),
        cmocka_unit_test(test_hostile_logs_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
