/* Arguments beside JSON Schemas: what fits, what is said of what does not, and schemas that are a
 * stranger's. */
#include "toolbox/schema.h"
#include "toolbox/toolbox.h"
#include "unit.h"
#include "wire/json.h"

#include <string.h>

static json_t *read_json(const char *text)
{
    struct err e;
    json_t *value = NULL;
    assert_true(json_read_object(text, strlen(text), &value, &e) == 0);
    return value;
}

static int check(const char *schema, const char *value, struct err *e)
{
    _json_ json_t *s = read_json(schema), *v = read_json(value);
    return schema_check(s, v, "args", e);
}

static void test_what_fits(void **state)
{
    (void)state;
    static const char *const pairs[][2] = {
        {"{}", "{\"a\": 1}"},
        {"{\"properties\": {\"n\": {\"type\": \"integer\"}}}", "{\"n\": 2.0}"},
        {"{\"properties\": {\"n\": {\"type\": [\"string\", \"null\"]}}}", "{\"n\": null}"},
        {"{\"properties\": {\"s\": {\"minLength\": 2, \"maxLength\": 2}}}",
         "{\"s\": \"\xc3\xa4\xc3\xb6\"}"},
        {"{\"properties\": {\"n\": {\"enum\": [1, \"x\"]}}}", "{\"n\": \"x\"}"},
        {"{\"properties\": {\"n\": {\"anyOf\": [{\"type\": \"string\"}, {\"minimum\": 3}]}}}",
         "{\"n\": 4}"},
        {"{\"$defs\": {\"t\": {\"type\": \"string\"}}, \"properties\": {\"a\": {\"$ref\": "
         "\"#/$defs/t\"}}}",
         "{\"a\": \"x\"}"},
    };
    for (size_t i = 0; i < ARRAY_LEN(pairs); i++) {
        struct err e;
        assert_true(check(pairs[i][0], pairs[i][1], &e) == 0);
    }
}

static void test_what_does_not(void **state)
{
    (void)state;
    static const char *const cases[][3] = {
        {"{\"required\": [\"a\"]}", "{}", "args needs the member \"a\""},
        {"{\"properties\": {\"n\": {\"type\": \"integer\"}}}", "{\"n\": 2.5}",
         "args.n must be a whole number"},
        {"{\"properties\": {\"l\": {\"items\": {\"type\": \"string\"}}}}", "{\"l\": [\"a\", 1]}",
         "args.l[1] must be a text"},
        {"{\"properties\": {\"n\": {\"maximum\": 20}}}", "{\"n\": 21}",
         "args.n must be at most 20"},
        {"{\"properties\": {\"n\": {\"exclusiveMinimum\": 0}}}", "{\"n\": 0}",
         "args.n must be more than 0"},
        {"{\"properties\": {}, \"additionalProperties\": false}", "{\"x\": 1}",
         "args has no member \"x\""},
        {"{\"properties\": {\"n\": {\"enum\": [1, \"x\"]}}}", "{\"n\": 2}",
         "args.n must be one of: 1, \"x\""},
        {"{\"properties\": {\"n\": {\"oneOf\": [{\"minimum\": 1}, {\"minimum\": 2}]}}}",
         "{\"n\": 3}", "args.n must be as one of the alternatives says, not several"},
        {"{\"properties\": {\"n\": {\"anyOf\": [{\"type\": \"string\"}, {\"minimum\": 3}]}}}",
         "{\"n\": 1}", "args.n must be at least 3"},
        {"{\"properties\": {\"n\": false}}", "{\"n\": 1}", "args.n must not be there"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct err e;
        assert_true(check(cases[i][0], cases[i][1], &e) == -1);
        assert_true(strcmp(e.message, cases[i][2]) == 0);
    }
}

static void test_defaults_are_filled_in(void **state)
{
    (void)state;
    struct err e;
    _json_ json_t *schema =
        read_json("{\"properties\": {\"limit\": {\"default\": 5, \"maximum\": 20}}}");
    _json_ json_t *value = read_json("{}");
    assert_true(schema_check(schema, value, "args", &e) == 0);
    assert_true(json_integer_value(json_object_get(value, "limit")) == 5);
}

/* Recursion without an end, and alternatives that multiply. */
static void test_schemas_of_strangers(void **state)
{
    (void)state;
    struct err e;
    assert_true(check("{\"$ref\": \"#\"}", "{}", &e) == -1);
    assert_true(strstr(e.message, "less deeply nested") != NULL);
    assert_true(check("{\"$ref\": \"https://example.org/x\", \"anyOf\": 3, \"enum\": {}, "
                      "\"type\": 7, \"required\": [1, {}], \"items\": 4}",
                      "{}", &e) == 0);
    assert_true(check("{\"$defs\": {\"a\": {\"anyOf\": [{\"$ref\": \"#/$defs/b\"}, "
                      "{\"$ref\": \"#/$defs/b\"}]}, \"b\": {\"anyOf\": [{\"$ref\": \"#/$defs/a\"}, "
                      "{\"$ref\": \"#/$defs/a\"}]}}, \"$ref\": \"#/$defs/a\"}",
                      "{}", &e) == -1);
}

static void test_the_table_is_whole(void **state)
{
    (void)state;
    size_t n;
    const struct tool_entry *const *entries = toolbox_entries(&n);
    assert_true(n == 47);
    for (size_t i = 0; i < n; i++) {
        const struct tool_entry *entry = entries[i];
        assert_true(toolbox_find(entry->name) == entry && toolbox_is_name(entry->name));
        assert_true(entry->category != NULL && entry->description != NULL && entry->effects != 0 &&
                    entry->permissions != 0 && entry->callers != 0);
        const json_t *examples = json_object_get(entry->told, "examples");
        assert_true(json_array_size(examples) > 0);
        for (size_t k = 0; k < json_array_size(examples); k++) {
            struct err e;
            _json_ json_t *args = json_deep_copy(json_array_get(examples, k));
            assert_true(schema_check(entry->schema, args, "args", &e) == 0);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_fits),
        cmocka_unit_test(test_what_does_not),
        cmocka_unit_test(test_defaults_are_filled_in),
        cmocka_unit_test(test_schemas_of_strangers),
        cmocka_unit_test(test_the_table_is_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
