/* Declarations: what a driver would tell is taken, what no driver would tell is not. */
#include "runtime/declarations.h"
#include "unit.h"

#include <string.h>

static int check(const char *text, char **ret_text)
{
    struct err e;
    json_t *told = json_loads(text, 0, NULL);
    assert_non_null(told);
    int r = declarations_check(told, &e);
    if (ret_text != NULL)
        *ret_text = json_dumps(told, JSON_COMPACT | JSON_SORT_KEYS);
    json_decref(told);
    return r;
}

static void good_ones_are_taken(void **state)
{
    (void)state;
    assert_int_equal(check("{\"imports\":[],\"definitions\":[],\"lost\":[]}", NULL), 0);
    char *text;
    assert_int_equal(
        check("{\"ev\":\"declarations\",\"imports\":[\"import os\"],\"definitions\":[{\"name\":"
              "\"f\",\"kind\":\"function\",\"code\":\"def f(): 1\",\"odd\":[]}],\"lost\":[{"
              "\"name\":\"x\",\"type\":\"socket\",\"advice\":\"again\"}],\"more\":true,\"odd\":1}",
              &text),
        0);
    assert_string_equal(text, "{\"definitions\":[{\"code\":\"def f(): 1\",\"kind\":\"function\","
                              "\"name\":\"f\"}],\"imports\":[\"import os\"],\"lost\":[{\"advice\":"
                              "\"again\",\"name\":\"x\",\"type\":\"socket\"}],\"more\":true}");
    free(text);
}

static void bad_ones_are_refused(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "[]",
        "{}",
        "{\"imports\":[],\"definitions\":[]}",
        "{\"imports\":{},\"definitions\":[],\"lost\":[]}",
        "{\"imports\":[1],\"definitions\":[],\"lost\":[]}",
        "{\"imports\":[],\"definitions\":[\"f\"],\"lost\":[]}",
        "{\"imports\":[],\"definitions\":[{\"name\":\"f\",\"kind\":\"x\"}],\"lost\":[]}",
        "{\"imports\":[],\"definitions\":[],\"lost\":[{\"name\":\"x\",\"type\":1}]}",
        "{\"imports\":[],\"definitions\":[],\"lost\":[],\"more\":1}",
    };
    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        assert_int_equal(check(texts[i], NULL), -1);
}

static void long_lists_are_refused(void **state)
{
    (void)state;
    struct err e;
    json_t *told = json_pack("{s:[],s:[],s:[]}", "imports", "definitions", "lost");
    json_t *imports = json_object_get(told, "imports");
    for (int i = 0; i < DECLARATIONS_MAX; i++)
        json_array_append_new(imports, json_string("import os"));
    assert_int_equal(declarations_check(told, &e), 0);
    json_array_append_new(imports, json_string("import os"));
    assert_int_equal(declarations_check(told, &e), -1);
    assert_non_null(strstr(e.message, "imports"));
    json_decref(told);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(good_ones_are_taken),
        cmocka_unit_test(bad_ones_are_refused),
        cmocka_unit_test(long_lists_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
