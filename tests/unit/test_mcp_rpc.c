#include "mcp/rpc.h"
#include "unit.h"

static void expect_fault(const char *text, enum rpc_code code)
{
    struct rpc_message m;
    struct rpc_fault fault;
    assert_int_equal(rpc_read(text, strlen(text), &m, &fault), -1);
    assert_int_equal(fault.code, code);
    assert_true(fault.message[0] != '\0');
    json_decref(m.root);
}

static struct rpc_message expect_read(const char *text, enum rpc_kind kind)
{
    struct rpc_message m;
    struct rpc_fault fault;
    assert_int_equal(rpc_read(text, strlen(text), &m, &fault), 0);
    assert_int_equal(m.kind, kind);
    return m;
}

static void messages_are_told_apart(void **state)
{
    (void)state;
    struct rpc_message m =
        expect_read("{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"a\",\"params\":{}}", RPC_REQUEST);
    assert_string_equal(m.method, "a");
    assert_int_equal(json_integer_value(m.id), 7);
    assert_true(json_is_object(m.params));
    json_decref(m.root);
    m = expect_read("{\"jsonrpc\":\"2.0\",\"method\":\"a\"}", RPC_NOTIFICATION);
    assert_null(m.id);
    json_decref(m.root);
    m = expect_read(" {\"jsonrpc\":\"2.0\",\"id\":\"x\",\"result\":1}", RPC_RESPONSE);
    assert_non_null(m.result);
    json_decref(m.root);
    m = expect_read("{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{}}", RPC_RESPONSE);
    assert_null(m.id);
    json_decref(m.root);
}

static void what_is_no_message_is_refused(void **state)
{
    (void)state;
    expect_fault("", RPC_PARSE_ERROR);
    expect_fault("{", RPC_PARSE_ERROR);
    expect_fault("1", RPC_PARSE_ERROR);
    expect_fault(" [ ]", RPC_INVALID_REQUEST);
    expect_fault("{}", RPC_INVALID_REQUEST);
    expect_fault("{\"jsonrpc\":\"2.1\",\"id\":1,\"method\":\"a\"}", RPC_INVALID_REQUEST);
    expect_fault("{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"a\"}", RPC_INVALID_REQUEST);
    expect_fault("{\"jsonrpc\":\"2.0\",\"id\":[],\"method\":\"a\"}", RPC_INVALID_REQUEST);
    expect_fault("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":null}", RPC_INVALID_REQUEST);
    expect_fault("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"a\",\"params\":[]}",
                 RPC_INVALID_REQUEST);
    expect_fault("{\"jsonrpc\":\"2.0\",\"id\":1}", RPC_INVALID_REQUEST);
    expect_fault("{\"jsonrpc\":\"2.0\",\"result\":1}", RPC_INVALID_REQUEST);
    expect_fault("{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":1,\"error\":{}}", RPC_INVALID_REQUEST);
}

static void ids_and_methods_are_bounded(void **state)
{
    (void)state;
    _buf_ struct buf text = BUF_INIT(4 * KIB);
    buf_printf(&text, "{\"jsonrpc\":\"2.0\",\"id\":\"%0*d\",\"method\":\"a\"}", RPC_ID_MAX + 1, 0);
    expect_fault(buf_str(&text), RPC_INVALID_REQUEST);
    buf_clear(&text);
    buf_printf(&text, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"%0*d\"}", RPC_METHOD_MAX + 1, 0);
    expect_fault(buf_str(&text), RPC_INVALID_REQUEST);
}

static void messages_are_bounded(void **state)
{
    (void)state;
    struct rpc_message m;
    struct rpc_fault fault;
    char *text = mem_alloc(RPC_MESSAGE_MAX + 2);
    memset(text, ' ', RPC_MESSAGE_MAX + 1);
    assert_int_equal(rpc_read(text, RPC_MESSAGE_MAX + 1, &m, &fault), -1);
    assert_int_equal(fault.code, RPC_INVALID_REQUEST);
    free(text);
}

static void errors_have_the_id_and_data(void **state)
{
    (void)state;
    struct rpc_fault fault;
    _buf_ struct buf out = BUF_INIT(KIB);
    rpc_fault_set(&fault, RPC_INVALID_PARAMS, "no \"%s\"", "x");
    fault.data = json_pack("{s:i}", "a", 1);
    json_t *id = json_string("q");
    rpc_put_error(&out, id, &fault);
    assert_string_equal(buf_str(&out),
                        "{\"jsonrpc\":\"2.0\",\"id\":\"q\",\"error\":{\"code\":-32602,"
                        "\"message\":\"no \\\"x\\\"\",\"data\":{\"a\":1}}}");
    json_decref(id);
    json_decref(fault.data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(messages_are_told_apart),
        cmocka_unit_test(what_is_no_message_is_refused),
        cmocka_unit_test(ids_and_methods_are_bounded),
        cmocka_unit_test(messages_are_bounded),
        cmocka_unit_test(errors_have_the_id_and_data),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
