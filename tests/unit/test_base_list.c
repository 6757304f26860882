#include "base/list.h"
#include "unit.h"

struct item {
    int number;
    struct list node;
};

static int sum(struct list *l)
{
    int total = 0;
    LIST_EACH(l, it)
        total = total * 10 + CONTAINER_OF(it, struct item, node)->number;
    return total;
}

static void keeps_the_order_of_arrival(void **state)
{
    (void)state;
    struct list l = LIST_INIT(l);
    struct item items[] = {{.number = 1}, {.number = 2}, {.number = 3}};
    assert_true(list_is_empty(&l));
    assert_null(list_first(&l));
    for (size_t i = 0; i < ARRAY_LEN(items); i++)
        list_append(&l, &items[i].node);
    assert_int_equal(sum(&l), 123);
    assert_ptr_equal(list_first(&l), &items[0].node);
}

static void nodes_leave_once_or_twice(void **state)
{
    (void)state;
    struct list l = LIST_INIT(l);
    struct item items[] = {{.number = 1}, {.number = 2}, {.number = 3}};
    for (size_t i = 0; i < ARRAY_LEN(items); i++)
        list_append(&l, &items[i].node);
    list_remove(&items[1].node);
    list_remove(&items[1].node);
    assert_int_equal(sum(&l), 13);
    list_append(&l, &items[1].node);
    assert_int_equal(sum(&l), 132);
}

static void the_current_node_may_leave_during_a_walk(void **state)
{
    (void)state;
    struct list l = LIST_INIT(l);
    struct item items[] = {{.number = 1}, {.number = 2}, {.number = 3}};
    for (size_t i = 0; i < ARRAY_LEN(items); i++)
        list_append(&l, &items[i].node);
    LIST_EACH(&l, it)
        list_remove(it);
    assert_true(list_is_empty(&l));
}

static void all_move_at_once(void **state)
{
    (void)state;
    struct list from = LIST_INIT(from), to = LIST_INIT(to);
    struct item items[] = {{.number = 1}, {.number = 2}, {.number = 3}};
    list_move_all(&from, &to);
    assert_true(list_is_empty(&to));
    list_append(&to, &items[0].node);
    list_append(&from, &items[1].node);
    list_append(&from, &items[2].node);
    list_move_all(&from, &to);
    assert_int_equal(sum(&to), 123);
    assert_true(list_is_empty(&from));
    list_remove(&items[1].node);
    assert_int_equal(sum(&to), 13);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keeps_the_order_of_arrival),
        cmocka_unit_test(nodes_leave_once_or_twice),
        cmocka_unit_test(the_current_node_may_leave_during_a_walk),
        cmocka_unit_test(all_move_at_once),
    };
    return cmocka_run_group_tests_name("base_list", tests, NULL, NULL);
}
