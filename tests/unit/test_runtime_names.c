/* Manifests of names: what a driver would send is taken, what no driver would send is not. */
#include "runtime/names.h"
#include "unit.h"

static int check(const char *text, json_t **ret_names)
{
    struct err e;
    json_t *names = json_loads(text, 0, NULL);
    assert_non_null(names);
    int r = names_check(names, &e);
    if (ret_names != NULL)
        *ret_names = names;
    else
        json_decref(names);
    return r;
}

static void good_ones_are_taken(void **state)
{
    (void)state;
    assert_int_equal(check("{\"total\":0}", NULL), 0);
    assert_int_equal(check("{\"total\":1,\"items\":[{\"name\":\"df\",\"type\":\"DataFrame\","
                           "\"shape\":[3,2],\"len\":3,\"bytes\":100,\"text\":\"x\"}],"
                           "\"added\":[\"df\"],\"changed\":[],\"removed\":[\"y\"],\"more\":true}",
                           NULL),
                     0);
}

static void bad_ones_are_refused(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "[]",
        "{}",
        "{\"total\":-1}",
        "{\"total\":\"1\"}",
        "{\"total\":1,\"items\":{}}",
        "{\"total\":1,\"items\":[1]}",
        "{\"total\":1,\"items\":[{\"name\":\"x\"}]}",
        "{\"total\":1,\"items\":[{\"name\":\"x\",\"type\":1}]}",
        "{\"total\":1,\"items\":[{\"name\":\"x\",\"type\":\"t\",\"shape\":[-1]}]}",
        "{\"total\":1,\"items\":[{\"name\":\"x\",\"type\":\"t\",\"shape\":3}]}",
        "{\"total\":1,\"added\":[1]}",
        "{\"total\":1,\"more\":1}",
    };
    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        assert_int_equal(check(texts[i], NULL), -1);
}

static void unknown_members_are_removed(void **state)
{
    (void)state;
    json_t *names;
    assert_int_equal(check("{\"total\":1,\"x\":1,\"items\":[{\"name\":\"a\",\"type\":\"t\","
                           "\"evil\":[]}]}",
                           &names),
                     0);
    assert_null(json_object_get(names, "x"));
    assert_null(json_object_get(json_array_get(json_object_get(names, "items"), 0), "evil"));
    json_decref(names);
}

static void empty_lists_are_removed(void **state)
{
    (void)state;
    json_t *names;
    assert_int_equal(check("{\"total\":1,\"added\":[\"a\"],\"changed\":[],\"items\":[]}", &names),
                     0);
    assert_non_null(json_object_get(names, "added"));
    assert_null(json_object_get(names, "changed"));
    assert_non_null(json_object_get(names, "items"));
    json_decref(names);
}

static void limits_hold(void **state)
{
    (void)state;
    struct err e;
    json_t *names = json_pack("{s:i, s:o}", "total", 1, "added", json_array());
    json_t *added = json_object_get(names, "added");
    for (int i = 0; i < NAMES_CHANGED_MAX; i++)
        json_array_append_new(added, json_string("x"));
    assert_int_equal(names_check(names, &e), 0);
    json_array_append_new(added, json_string("x"));
    assert_int_equal(names_check(names, &e), -1);
    json_decref(names);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(good_ones_are_taken),
        cmocka_unit_test(bad_ones_are_refused),
        cmocka_unit_test(unknown_members_are_removed),
        cmocka_unit_test(empty_lists_are_removed),
        cmocka_unit_test(limits_hold),
    };
    return cmocka_run_group_tests_name("runtime_names", tests, NULL, NULL);
}
