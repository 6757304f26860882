#include "cli/args.h"
#include "unit.h"

static const struct cli_flag flags[] = {
    {"file", 'f', "FILE", ""},
    {"timeout", 't', "DURATION", ""},
    {"all", 'a', NULL, ""},
    {0},
};
static const struct cli_verb verb = {.name = "try", .flags = flags, .is_client = true};

static int parse(struct cli_args *args, struct err *e, size_t n, const char *const *words)
{
    return cli_args_parse(&verb, n, (char **)(uintptr_t)words, args, e);
}

#define PARSE(args, e, ...)                                                                        \
    parse(args, e, ARRAY_LEN(((const char *const[]){__VA_ARGS__})),                                \
          (const char *const[]){__VA_ARGS__})

static void flags_and_words_may_be_mixed(void **state)
{
    (void)state;
    struct cli_args args;
    struct err e;
    assert_int_equal(
        PARSE(&args, &e, "one", "--file", "a", "-t5s", "two", "--all", "--data=/d", "-f", "b"), 0);
    assert_int_equal(args.n_words, 2);
    assert_string_equal(args.words[0], "one");
    assert_string_equal(args.words[1], "two");
    assert_string_equal(cli_value(&args, "file"), "b");
    assert_string_equal(cli_value(&args, "timeout"), "5s");
    assert_string_equal(cli_value(&args, "data"), "/d");
    assert_true(cli_has(&args, "all"));
    assert_false(cli_has(&args, "json"));
    cli_args_free(&args);
}

static void two_dashes_end_the_flags(void **state)
{
    (void)state;
    struct cli_args args;
    struct err e;
    assert_int_equal(PARSE(&args, &e, "--json", "--", "-1", "--all", "-"), 0);
    assert_int_equal(args.n_words, 3);
    assert_string_equal(args.words[0], "-1");
    assert_true(cli_has(&args, "json"));
    assert_false(cli_has(&args, "all"));
    cli_args_free(&args);
}

static void mistakes_are_named_with_what_was_meant(void **state)
{
    (void)state;
    struct cli_args args;
    struct err e;
    assert_int_equal(PARSE(&args, &e, "--timeuot", "5"), -1);
    assert_int_equal(e.code, ERR_INVALID);
    assert_non_null(strstr(e.message, "--timeuot"));
    assert_non_null(strstr(e.advice, "--timeout"));
    cli_args_free(&args);
    assert_int_equal(PARSE(&args, &e, "--zzz"), -1);
    assert_null(strstr(e.advice, "mean"));
    cli_args_free(&args);
    assert_int_equal(PARSE(&args, &e, "--file"), -1);
    assert_non_null(strstr(e.message, "FILE"));
    cli_args_free(&args);
    assert_int_equal(PARSE(&args, &e, "--all=yes"), -1);
    cli_args_free(&args);
    assert_int_equal(PARSE(&args, &e, "-x"), -1);
    cli_args_free(&args);
}

static void a_flag_may_be_given_again_and_again(void **state)
{
    (void)state;
    const char *words[100];
    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        words[i] = i % 2 == 0 ? "-f" : "x";
    words[1] = "first";
    words[99] = "last";
    struct cli_args args;
    struct err e;
    assert_int_equal(parse(&args, &e, ARRAY_LEN(words), words), 0);
    assert_string_equal(cli_value(&args, "file"), "last");
    size_t at = 0, n = 0;
    const char *value, *latest = NULL;
    while ((value = cli_value_next(&args, "file", &at)) != NULL) {
        if (n++ == 0)
            assert_string_equal(value, "first");
        latest = value;
    }
    assert_int_equal(n, 50);
    assert_string_equal(latest, "last");
    cli_args_free(&args);
}

static void durations_have_units(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int64_t ms;
    } good[] = {{"30", 30000}, {"30s", 30000}, {"500ms", 500}, {"2m", 120000}, {"1h", 3600000}};
    static const char *const bad[] = {
        "",    "s", "-1", "1.5s", "5 s", "1d", "1e3", "99999999999999999999", "9007199254740993h",
        "0x10"};
    int64_t ms;
    struct err e;
    for (size_t i = 0; i < ARRAY_LEN(good); i++) {
        assert_int_equal(cli_parse_duration(good[i].text, &ms, &e), 0);
        assert_int_equal(ms, good[i].ms);
    }
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        assert_int_equal(cli_parse_duration(bad[i], &ms, &e), -1);
}

static void sizes_have_units(void **state)
{
    (void)state;
    int64_t bytes;
    struct err e;
    assert_int_equal(cli_parse_size("64k", &bytes, &e), 0);
    assert_int_equal(bytes, 65536);
    assert_int_equal(cli_parse_size("1MiB", &bytes, &e), 0);
    assert_int_equal(bytes, 1048576);
    assert_int_equal(cli_parse_size("12", &bytes, &e), 0);
    assert_int_equal(bytes, 12);
    assert_int_equal(cli_parse_size("1t", &bytes, &e), -1);
    assert_int_equal(cli_parse_size("-5", &bytes, &e), -1);
}

static void the_nearest_word_is_found(void **state)
{
    (void)state;
    static const char *const words[] = {"exec", "repl", "serve", "stop", "doctor"};
    assert_string_equal(cli_nearest("exce", words, ARRAY_LEN(words)), "exec");
    assert_string_equal(cli_nearest("serv", words, ARRAY_LEN(words)), "serve");
    assert_string_equal(cli_nearest("docter", words, ARRAY_LEN(words)), "doctor");
    assert_string_equal(cli_nearest("st", words, ARRAY_LEN(words)), "stop");
    assert_null(cli_nearest("python", words, ARRAY_LEN(words)));
    assert_null(cli_nearest("", words, ARRAY_LEN(words)));
    char longest[1000];
    memset(longest, 'e', sizeof(longest));
    longest[999] = '\0';
    assert_null(cli_nearest(longest, words, ARRAY_LEN(words)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(flags_and_words_may_be_mixed),
        cmocka_unit_test(two_dashes_end_the_flags),
        cmocka_unit_test(mistakes_are_named_with_what_was_meant),
        cmocka_unit_test(a_flag_may_be_given_again_and_again),
        cmocka_unit_test(durations_have_units),
        cmocka_unit_test(sizes_have_units),
        cmocka_unit_test(the_nearest_word_is_found),
    };
    return cmocka_run_group_tests_name("cli_args", tests, NULL, NULL);
}
