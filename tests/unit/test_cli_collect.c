#include "cli/collect.h"
#include "unit.h"

static json_t *parse(const char *text)
{
    json_error_t problem;
    json_t *value = json_loads(text, 0, &problem);
    assert_non_null(value);
    return value;
}

static bool tell(struct cli_collect *c, const char *name, const char *event)
{
    _json_ json_t *value = parse(event);
    return cli_collect_event(c, name, value);
}

static void end(struct cli_collect *c, const char *answer)
{
    _json_ json_t *value = parse(answer);
    cli_collect_end(c, value, NULL);
}

static void expect_outputs(const struct cli_collect *c, size_t number, const char *expected)
{
    _free_ char *dumped = json_dumps(c->doc->cells[number].outputs, JSON_COMPACT | JSON_SORT_KEYS);
    assert_string_equal(dumped, expected);
}

/* Of an output of the cell that is collected. */
static const char *text_of(const struct cli_collect *c, size_t number)
{
    const json_t *output = json_array_get(c->doc->cells[c->number].outputs, number);
    const char *text = json_string_value(json_object_get(output, "text"));
    assert_non_null(text);
    return text;
}

static struct document *two_cells(void)
{
    struct document *doc = notebook_new();
    notebook_add_cell(doc, CELL_CODE);
    notebook_add_cell(doc, CELL_CODE);
    return doc;
}

static void streams_are_joined_while_they_go_on(void **state)
{
    (void)state;
    _document_ struct document *doc = two_cells();
    struct cli_collect c;
    cli_collect_begin(&c, doc, 0, MIB);
    assert_true(tell(&c, "output", "{\"stream\":\"stdout\",\"text\":\"a\"}"));
    assert_true(tell(&c, "output", "{\"stream\":\"stdout\",\"text\":\"b\"}"));
    assert_true(tell(&c, "output", "{\"stream\":\"stderr\",\"text\":\"c\"}"));
    assert_true(tell(&c, "of the future", "{}"));
    assert_false(tell(&c, "output", "{\"stream\":\"stdout\"}"));
    end(&c, "{\"status\":\"ok\",\"value\":{\"type\":\"text\",\"text\":\"v\"}}");
    expect_outputs(&c, 0,
                   "[{\"stream\":\"stdout\",\"text\":\"ab\",\"type\":\"text\"},"
                   "{\"stream\":\"stderr\",\"text\":\"c\",\"type\":\"text\"},"
                   "{\"text\":\"v\",\"type\":\"text\",\"value\":true}]");
}

static void updates_reach_earlier_cells(void **state)
{
    (void)state;
    _document_ struct document *doc = two_cells();
    struct cli_collect c;
    cli_collect_begin(&c, doc, 0, MIB);
    tell(&c, "display", "{\"type\":\"text\",\"text\":\"1\",\"display_id\":\"k\"}");
    end(&c, "{\"status\":\"ok\"}");
    cli_collect_begin(&c, doc, 1, MIB);
    tell(&c, "update", "{\"type\":\"text\",\"text\":\"2\",\"display_id\":\"k\"}");
    tell(&c, "update", "{\"type\":\"text\",\"text\":\"3\",\"display_id\":\"other\"}");
    end(&c, "{\"status\":\"ok\"}");
    expect_outputs(&c, 0, "[{\"display_id\":\"k\",\"text\":\"2\",\"type\":\"text\"}]");
    expect_outputs(&c, 1, "[]"); /* what is nowhere is not updated: so it is in Jupyter */
}

static void the_value_comes_before_what_was_shown_after_it(void **state)
{
    (void)state;
    _document_ struct document *doc = two_cells();
    struct cli_collect c;
    cli_collect_begin(&c, doc, 0, MIB);
    tell(&c, "display", "{\"type\":\"text\",\"text\":\"1\"}");
    tell(&c, "display", "{\"type\":\"text\",\"text\":\"3\",\"late\":true}");
    end(&c, "{\"status\":\"ok\",\"value\":{\"type\":\"text\",\"text\":\"2\"}}");
    expect_outputs(&c, 0,
                   "[{\"text\":\"1\",\"type\":\"text\"},"
                   "{\"text\":\"2\",\"type\":\"text\",\"value\":true},"
                   "{\"late\":true,\"text\":\"3\",\"type\":\"text\"}]");
}

static void clearing_waits_if_it_shall(void **state)
{
    (void)state;
    _document_ struct document *doc = two_cells();
    struct cli_collect c;
    cli_collect_begin(&c, doc, 0, MIB);
    tell(&c, "output", "{\"stream\":\"stdout\",\"text\":\"a\"}");
    tell(&c, "clear", "{\"wait\":true}");
    end(&c, "{\"status\":\"ok\",\"value\":null}");
    expect_outputs(&c, 0, "[{\"stream\":\"stdout\",\"text\":\"a\",\"type\":\"text\"}]");
    cli_collect_begin(&c, doc, 0, MIB);
    tell(&c, "output", "{\"stream\":\"stdout\",\"text\":\"a\"}");
    tell(&c, "clear", "{\"wait\":true}");
    tell(&c, "output", "{\"stream\":\"stdout\",\"text\":\"b\"}");
    tell(&c, "output", "{\"stream\":\"stdout\",\"text\":\"c\"}");
    end(&c, "{\"status\":\"ok\"}");
    expect_outputs(&c, 0, "[{\"stream\":\"stdout\",\"text\":\"bc\",\"type\":\"text\"}]");
    cli_collect_begin(&c, doc, 0, MIB);
    tell(&c, "display", "{\"type\":\"text\",\"text\":\"1\"}");
    tell(&c, "clear", "{\"wait\":false}");
    end(&c, "{\"status\":\"ok\"}");
    expect_outputs(&c, 0, "[]");
}

static void the_answer_has_what_events_lost(void **state)
{
    (void)state;
    _document_ struct document *doc = two_cells();
    struct cli_collect c;
    cli_collect_begin(&c, doc, 0, MIB);
    tell(&c, "output", "{\"stream\":\"stdout\",\"text\":\"a\"}");
    end(&c, "{\"status\":\"ok\",\"dropped_bytes\":5,\"stdout\":\"ab\",\"stderr\":\"\","
            "\"outputs\":[{\"type\":\"html\",\"html\":\"<b>\"}]}");
    expect_outputs(&c, 0,
                   "[{\"stream\":\"stdout\",\"text\":\"ab\",\"type\":\"text\"},"
                   "{\"html\":\"<b>\",\"type\":\"html\"}]");
}

static void there_is_no_more_than_fits(void **state)
{
    (void)state;
    _document_ struct document *doc = two_cells();
    struct cli_collect c;
    cli_collect_begin(&c, doc, 0, 100);
    for (int i = 0; i < 100; i++)
        tell(&c, "output", "{\"stream\":\"stdout\",\"text\":\"\u00fc\u00fc\u00fc\"}");
    end(&c, "{\"status\":\"error\",\"error\":{\"name\":\"E\",\"message\":\"m\"}}");
    assert_int_equal(json_array_size(doc->cells[0].outputs), 3);
    size_t kept = strlen(text_of(&c, 0)); /* what came first is there, and no half character */
    assert_true(kept > 0 && kept % 2 == 0 && kept <= 100);
    assert_non_null(strstr(text_of(&c, 1), "bytes of output were left out"));
    assert_int_equal(c.omitted_bytes, 600 - kept);
}

static void a_value_that_does_not_fit_is_counted(void **state)
{
    (void)state;
    _document_ struct document *doc = two_cells();
    struct cli_collect c;
    cli_collect_begin(&c, doc, 0, 20);
    end(&c, "{\"status\":\"ok\",\"value\":{\"type\":\"text\",\"text\":\"a long value\"}}");
    assert_int_equal(json_array_size(doc->cells[0].outputs), 1);
    assert_non_null(strstr(text_of(&c, 0), "bytes of output were left out"));
}

static const char shown[] = "{\"type\":\"text\",\"text\":\"0123456789\",\"display_id\":\"k\"}";

static void what_was_taken_back_leaves_its_room(void **state)
{
    (void)state;
    _document_ struct document *doc = two_cells();
    struct cli_collect c;
    cli_collect_begin(&c, doc, 0, 120);
    for (int i = 0; i < 100; i++) {
        tell(&c, "clear", i % 2 == 0 ? "{\"wait\":true}" : "{\"wait\":false}");
        tell(&c, "display", shown);
        tell(&c, "update", shown);
        tell(&c, "output", "{\"stream\":\"stdout\",\"text\":\"a\"}");
    }
    end(&c, "{\"status\":\"ok\"}");
    assert_int_equal(c.omitted_bytes, 0);
    assert_string_equal(text_of(&c, 0), "0123456789");
    assert_string_equal(text_of(&c, 1), "a");
}

static void each_copy_of_an_update_needs_room(void **state)
{
    (void)state;
    _document_ struct document *doc = two_cells();
    struct cli_collect c;
    cli_collect_begin(&c, doc, 0, 120);
    tell(&c, "display", "{\"type\":\"text\",\"text\":\"\",\"display_id\":\"k\"}");
    tell(&c, "display", "{\"type\":\"text\",\"text\":\"\",\"display_id\":\"k\"}");
    tell(&c, "update",
         "{\"type\":\"text\",\"display_id\":\"k\",\"text\":\"01234567890123456789012345678901234567"
         "8901234567890123456789\"}");
    end(&c, "{\"status\":\"ok\"}");
    assert_int_equal(strlen(text_of(&c, 0)), 60);
    assert_string_equal(text_of(&c, 1), "");
    assert_non_null(strstr(text_of(&c, 2), "bytes of output were left out"));
}

static void errors_have_a_traceback(void **state)
{
    (void)state;
    _document_ struct document *doc = two_cells();
    struct cli_collect c;
    cli_collect_begin(&c, doc, 0, MIB);
    end(&c, "{\"status\":\"died\",\"error\":{\"name\":\"E\",\"message\":\"m\",\"advice\":\"a\"}}");
    expect_outputs(&c, 0,
                   "[{\"advice\":\"a\",\"message\":\"m\",\"name\":\"E\","
                   "\"traceback\":\"E: m\\na\",\"type\":\"error\"}]");
    cli_collect_begin(&c, doc, 0, MIB);
    end(&c, "{\"status\":\"ok\",\"error\":null,\"last_status\":3}");
    expect_outputs(&c, 0,
                   "[{\"message\":\"the last command ended with 3\",\"name\":\"ExitStatus\","
                   "\"traceback\":\"ExitStatus: the last command ended with 3\","
                   "\"type\":\"error\"}]");
    struct err e = {0};
    err_set(&e, ERR_UNAVAILABLE, "gone");
    cli_collect_begin(&c, doc, 0, MIB);
    cli_collect_end(&c, NULL, &e);
    assert_int_equal(json_array_size(doc->cells[0].outputs), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(streams_are_joined_while_they_go_on),
        cmocka_unit_test(updates_reach_earlier_cells),
        cmocka_unit_test(the_value_comes_before_what_was_shown_after_it),
        cmocka_unit_test(clearing_waits_if_it_shall),
        cmocka_unit_test(the_answer_has_what_events_lost),
        cmocka_unit_test(there_is_no_more_than_fits),
        cmocka_unit_test(a_value_that_does_not_fit_is_counted),
        cmocka_unit_test(what_was_taken_back_leaves_its_room),
        cmocka_unit_test(each_copy_of_an_update_needs_room),
        cmocka_unit_test(errors_have_a_traceback),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
