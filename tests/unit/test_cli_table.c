#include "cli/table.h"
#include "unit.h"
#include "wire/json.h"

static void columns_are_as_wide_as_what_is_in_them(void **state)
{
    (void)state;
    _json_ json_t *rows = json_pack("[[sss][sss][sss]]", "ID", "STATE", "N", "1", "suspended", "7",
                                    "écu", "idle", "1234");
    _buf_ struct buf out = BUF_INIT(KIB);
    cli_append_table(&out, rows, "llr");
    assert_string_equal(buf_str(&out), "ID  STATE        N\n"
                                       "1   suspended    7\n"
                                       "écu idle      1234\n");
}

static void strange_rows_do_no_harm(void **state)
{
    (void)state;
    _json_ json_t *rows = json_pack("[[ss][i][s]{}]", "A", "B", 7, "long");
    _buf_ struct buf out = BUF_INIT(KIB);
    cli_append_table(&out, rows, "ll");
    assert_string_equal(buf_str(&out), "A    B\n     \nlong \n     \n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(columns_are_as_wide_as_what_is_in_them),
        cmocka_unit_test(strange_rows_do_no_harm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
