#include "base/clock.h"
#include "unit.h"

static void monotonic_time_does_not_go_back(void **state)
{
    (void)state;
    uint64_t last = clock_mono_ns();
    for (int i = 0; i < 10000; i++) {
        uint64_t now = clock_mono_ns();
        assert_true(now >= last);
        last = now;
    }
    assert_true(clock_mono_ms() >= last / 1000000);
}

static void wall_time_as_people_read_it(void **state)
{
    (void)state;
    char text[CLOCK_RFC3339_SIZE];
    assert_string_equal(clock_rfc3339(0, text), "1970-01-01T00:00:00.000Z");
    assert_string_equal(clock_rfc3339(951782400123, text), "2000-02-29T00:00:00.123Z");
    assert_string_equal(clock_rfc3339(4102444799999, text), "2099-12-31T23:59:59.999Z");
    assert_int_equal(strlen(clock_rfc3339(clock_wall_ms(), text)), 24);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(monotonic_time_does_not_go_back),
        cmocka_unit_test(wall_time_as_people_read_it),
    };
    return cmocka_run_group_tests_name("base_clock", tests, NULL, NULL);
}
