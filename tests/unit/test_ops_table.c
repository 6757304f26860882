/* The table that every surface is made from, and the check of arguments against it. */
#include "ops/ops.h"
#include "unit.h"
#include "wire/json.h"

static void check_params(const struct op_param *params)
{
    for (; params->name != NULL; params++) {
        assert_true(params->doc != NULL && params->doc[0] != '\0');
        if (params->type == OP_CHOICE)
            assert_true(params->choices != NULL && params->choices[0] != NULL);
        if (params->type == OP_OBJECT)
            check_params(params->members);
        if (params->type == OP_INT || params->type == OP_TEXT)
            assert_true(params->min <= params->max && params->max > 0);
    }
}

/* What others are told of an operation. */
static void check_answer(const struct op *op)
{
    assert_int_not_equal(op->subject, OP_ON_NOTHING);
    if ((op->result != NULL) == (op->sends != NULL))
        fail_msg("%s must declare either a result or what it sends", op->name);
    assert_true((op->flags & OP_STREAMS) == 0 || op->events != NULL);
    _json_ json_t *example = op->example != NULL ? json_loads(op->example, 0, NULL) : NULL;
    if (!json_is_object(example))
        fail_msg("%s has no example that is a JSON object", op->name);
    for (const struct op_param *p = op->params; p->name != NULL; p++)
        if (p->is_required && json_object_get(example, p->name) == NULL)
            fail_msg("the example of %s lacks %s", op->name, p->name);
    for (size_t i = 0; op->verb != NULL && op->verb->takes != NULL && op->verb->takes[i] != NULL;
         i++) {
        bool is_known = false;
        size_t len = strcspn(op->verb->takes[i], "?.");
        for (const struct op_param *p = op->params; p->name != NULL; p++)
            is_known = is_known ||
                       (strlen(p->name) == len && memcmp(p->name, op->verb->takes[i], len) == 0);
        if (!is_known)
            fail_msg("%s takes no %s", op->name, op->verb->takes[i]);
    }
}

static void test_every_operation_is_complete(void **state)
{
    (void)state;
    for (const struct op *const *op = op_table; *op != NULL; op++) {
        unsigned class = (*op)->flags & (OP_READ_ONLY | OP_MUTATING);
        if (class != OP_READ_ONLY && class != OP_MUTATING)
            fail_msg("%s must be either read-only or mutating", (*op)->name);
        assert_non_null((*op)->run);
        assert_true((*op)->doc != NULL && (*op)->doc[0] != '\0');
        assert_int_equal((*op)->path[0], '/');
        check_params((*op)->params);
        check_answer(*op);
    }
}

/* Pages and clients refer to shapes by their names. */
static void test_shapes_are_complete_and_their_names_unique(void **state)
{
    (void)state;
    _free_ const struct op_shape **shapes = op_shapes(op_table);
    for (size_t i = 0; shapes[i] != NULL; i++) {
        for (size_t k = i + 1; shapes[k] != NULL; k++)
            assert_string_not_equal(shapes[i]->name, shapes[k]->name);
        assert_true(shapes[i]->doc != NULL && shapes[i]->doc[0] != '\0');
        for (const struct op_member *m = shapes[i]->members; m->name != NULL; m++) {
            if (m->doc == NULL || m->doc[0] == '\0')
                fail_msg("%s.%s has no doc", shapes[i]->name, m->name);
            if ((m->type == OP_OBJECT || m->type == OP_LIST) != (m->shape != NULL))
                fail_msg("%s.%s: objects and lists have a shape", shapes[i]->name, m->name);
        }
    }
}

static void test_names_and_routes_are_unique(void **state)
{
    (void)state;
    for (const struct op *const *a = op_table; *a != NULL; a++) {
        for (const struct op *const *b = a + 1; *b != NULL; b++) {
            assert_string_not_equal((*a)->name, (*b)->name);
            assert_false(strcmp((*a)->path, (*b)->path) == 0 &&
                         strcmp((*a)->method, (*b)->method) == 0);
        }
    }
}

/* Every {name} of a path is a required parameter in the path, and the other way round. */
static void test_paths_and_parameters_agree(void **state)
{
    (void)state;
    for (const struct op *const *op = op_table; *op != NULL; op++) {
        size_t n_in_path = 0, n_braces = 0;
        for (const char *c = (*op)->path; *c != '\0'; c++)
            n_braces += *c == '{';
        for (const struct op_param *p = (*op)->params; p->name != NULL; p++) {
            if (p->place != OP_IN_PATH)
                continue;
            char braced[80];
            snprintf(braced, sizeof(braced), "{%s}", p->name);
            assert_non_null(strstr((*op)->path, braced));
            assert_true(p->is_required);
            n_in_path++;
        }
        assert_int_equal(n_in_path, n_braces);
    }
}

/* The gate asks what a parameter means. One that looks like another and means nothing would be a
 * way around a limit. */
static void test_parameters_mean_what_their_names_say(void **state)
{
    static const struct {
        const char *name;
        enum op_meaning means;
    } known[] = {
        {"session_id", OP_MEANS_SESSION}, {"join", OP_MEANS_JOINED},
        {"state_name", OP_MEANS_STATE},   {"token", OP_MEANS_FILE},
        {"agent", OP_MEANS_SPEAKER},      {"binding", OP_MEANS_BINDING},
        {"runtime", OP_MEANS_RUNTIME},    {"timeout_ms", OP_MEANS_TIMEOUT},
        {"budget", OP_MEANS_BUDGET},      {"limits", OP_MEANS_LIMITS},
    };
    (void)state;
    for (size_t i = 0; op_table[i] != NULL; i++) {
        const struct op *op = op_table[i];
        bool seen[OP_MEANINGS] = {false};
        for (const struct op_param *p = op->params; p->name != NULL; p++) {
            enum op_meaning expected = p->means;
            for (size_t k = 0; k < ARRAY_LEN(known); k++)
                if (strcmp(known[k].name, p->name) == 0)
                    expected = known[k].means;
            bool is_notebook = strncmp(op->path, "/v1/notebooks/", 14) == 0;
            if (expected == OP_MEANS_SESSION && is_notebook)
                expected = OP_MEANS_NOTEBOOK;
            if (expected == OP_MEANS_SPEAKER && p->place == OP_IN_PATH)
                expected = OP_MEANS_AGENT;
            if (op == &op_notebook_import && expected == OP_MEANS_RUNTIME)
                expected = OP_MEANS_NOTHING; /* it is asked when the notebook runs */
            if (op == &op_session_list && expected == OP_MEANS_RUNTIME)
                expected = OP_MEANS_NOTHING; /* which are listed */
            if (p->means != expected)
                fail_msg("%s: %s means %d, not %d", op->name, p->name, p->means, expected);
            assert_true(p->means == OP_MEANS_NOTHING || !seen[p->means]);
            seen[p->means] = true;
        }
        assert_true(!seen[OP_MEANS_TIMEOUT] || op->flags & (OP_RUNS_CODE | OP_MAKES_SESSION));
        assert_true(!seen[OP_MEANS_RUNTIME] || op->flags & OP_MAKES_SESSION);
        assert_true(!seen[OP_MEANS_LIMITS] || op->flags & OP_MAKES_SESSION);
        assert_true(!(op->flags & OP_USES) || op->flags & OP_MUTATING);
        for (const struct op_param *p = op->params; p->name != NULL; p++)
            assert_false(op->flags & OP_PUBLIC && p->place == OP_IN_BODY); /* none is read */
    }
}

static enum err_code check(const struct op *op, const char *text, struct err *e)
{
    _json_ json_t *args = NULL;
    assert_int_equal(json_read_object(text, strlen(text), &args, e), 0);
    return op_check(op, args, e) == 0 ? ERR_NONE : e->code;
}

static void test_good_arguments(void **state)
{
    (void)state;
    struct err e;
    assert_int_equal(check(&op_session_exec, "{\"session_id\":\"x\",\"code\":\"\"}", &e), ERR_NONE);
    assert_int_equal(check(&op_session_exec,
                           "{\"session_id\":\"x\",\"code\":\"1\",\"timeout_ms\":86400000,"
                           "\"budget\":0}",
                           &e),
                     ERR_NONE);
    assert_int_equal(check(&op_session_create, "{}", &e), ERR_NONE);
    assert_int_equal(check(&op_session_create,
                           "{\"runtime\":\"bash\",\"cwd\":null,\"env\":{\"ANY\":\"x\"},"
                           "\"join\":null,\"idle_timeout_secs\":0}",
                           &e),
                     ERR_NONE);
    assert_int_equal(
        check(&op_exec_continue, "{\"session_id\":\"x\",\"cell\":\"1\",\"yield_ms\":null}", &e),
        ERR_NONE);
    assert_int_equal(
        check(&op_session_create, "{\"runtime\":\"python\",\"limits\":{\"memory_mb\":64}}", &e),
        ERR_NONE);
    assert_int_equal(
        check(&op_notebook_create,
              "{\"cells\":[{\"code\":\"\"},{\"code\":\"x\",\"metadata\":{\"any\":[1]}}]}", &e),
        ERR_NONE);
    assert_int_equal(check(&op_notebook_import, "{\"content\":{\"nbformat\":4}}", &e), ERR_NONE);
    assert_int_equal(check(&op_notebook_import, "{\"content\":\"{}\"}", &e), ERR_NONE);
}

static void test_bad_arguments_are_named(void **state)
{
    static const struct {
        const struct op *op;
        const char *args;
        const char *words;
    } bad[] = {
        {&op_session_exec, "{\"session_id\":\"x\"}", "\"code\" is missing"},
        {&op_session_exec, "{\"session_id\":\"x\",\"code\":5}", "\"code\" must be a string"},
        {&op_session_exec, "{\"session_id\":\"x\",\"code\":\"\",\"timeout_ms\":0}",
         "\"timeout_ms\" must be a whole number from 1 to 86400000"},
        {&op_session_exec, "{\"session_id\":\"x\",\"code\":\"\",\"timeout_ms\":1.5}",
         "\"timeout_ms\""},
        {&op_session_exec, "{\"session_id\":\"x\",\"code\":\"\",\"timeout_ms\":true}",
         "\"timeout_ms\""},
        {&op_session_exec, "{\"session_id\":\"x\",\"code\":\"\",\"budget\":null}", "\"budget\""},
        {&op_session_exec, "{\"session_id\":\"x\",\"code\":\"\",\"cod\":1}",
         "unknown member \"cod\""},
        {&op_session_create, "{\"runtime\":\"cobol\"}", "must be one of: \"python\""},
        {&op_session_create, "{\"limits\":[]}", "\"limits\" must be an object"},
        {&op_session_create, "{\"limits\":{\"memory_mb\":-1}}", "\"limits.memory_mb\""},
        {&op_session_create, "{\"limits\":{\"memory_mb\":4194305}}",
         "\"limits.memory_mb\" must be a whole number from 16 to 4194304"},
        {&op_session_create, "{\"limits\":{\"ram\":1}}", "unknown member \"limits.ram\""},
        {&op_session_create, "{\"env\":[]}", "\"env\" must be an object of strings"},
        {&op_session_create, "{\"env\":{\"A\":1}}", "\"env\" must be an object of strings"},
        {&op_session_exec, "{\"session_id\":\"x\",\"code\":\"\",\"on_disconnect\":\"wait\"}",
         "must be one of: \"continue\" \"cancel\""},
        {&op_exec_continue, "{\"session_id\":\"x\",\"cell\":\"\"}", "\"cell\""},
        {&op_session_names, "{\"session_id\":\"x\",\"max\":1001}", "\"max\""},
        {&op_session_list, "{\"x\":1}", "unknown member \"x\""},
        {&op_session_output, "{\"session_id\":\"x\",\"stream\":\"both\"}", "\"stream\""},
        {&op_notebook_create, "{\"cells\":{}}", "\"cells\" must be a list of objects"},
        {&op_notebook_create, "{\"cells\":[1]}", "\"cells\" must be a list of objects"},
        {&op_notebook_create, "{\"cells\":[{\"code\":\"\"},{}]}", "\"cells[1].code\" is missing"},
        {&op_notebook_create, "{\"cells\":[{\"code\":\"\",\"x\":1}]}",
         "unknown member \"cells[0].x\""},
        {&op_notebook_create, "{\"metadata\":[]}", "\"metadata\" must be an object"},
        {&op_notebook_import, "{\"content\":[]}", "\"content\" must be a string"},
        {&op_notebook_import, "{\"content\":\"\"}", "\"content\" must have at least 1 bytes"},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        struct err e;
        assert_int_equal(check(bad[i].op, bad[i].args, &e), ERR_INVALID);
        if (strstr(e.message, bad[i].words) == NULL)
            fail_msg("\"%s\" is not in \"%s\"", bad[i].words, e.message);
        assert_true(e.advice[0] != '\0');
    }
}

static void test_code_that_is_too_long(void **state)
{
    (void)state;
    struct err e;
    _free_ char *code = mem_alloc(MIB + 2);
    memset(code, 'x', MIB + 1);
    _json_ json_t *args = json_pack("{ss ss}", "session_id", "x", "code", code);
    assert_int_equal(op_check(&op_session_exec, args, &e), -1);
    assert_int_equal(e.code, ERR_TOO_LARGE);
    assert_true(e.advice[0] != '\0');
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_operation_is_complete),
        cmocka_unit_test(test_shapes_are_complete_and_their_names_unique),
        cmocka_unit_test(test_names_and_routes_are_unique),
        cmocka_unit_test(test_paths_and_parameters_agree),
        cmocka_unit_test(test_parameters_mean_what_their_names_say),
        cmocka_unit_test(test_good_arguments),
        cmocka_unit_test(test_bad_arguments_are_named),
        cmocka_unit_test(test_code_that_is_too_long),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
