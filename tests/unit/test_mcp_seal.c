#include "base/buf.h"
#include "mcp/seal.h"
#include "unit.h"

enum { NOW = 5000 };

static struct seal *make(void)
{
    struct seal *s = mem_alloc(sizeof(*s));
    seal_init(s);
    return s;
}

static void expect_refused(struct seal *s, const struct seal_bond *bond, const char *text)
{
    const char *why = NULL;
    assert_null(seal_open(s, bond, text, NOW, &why));
    assert_non_null(why);
}

static void a_state_comes_back_once(void **state)
{
    (void)state;
    struct seal *s = make();
    const struct seal_bond bond = {.agent = "ana", .method = "tools/call", .name = "run"};
    json_t *kept = json_pack("{s:i}", "a", 1);
    char *text = seal_close(s, &bond, kept, NOW);
    const char *why;
    json_t *back = seal_open(s, &bond, text, NOW, &why);
    assert_true(json_equal(kept, back));
    expect_refused(s, &bond, text);
    json_decref(back);
    json_decref(kept);
    free(text);
    free(s);
}

static void it_is_bound_to_its_request(void **state)
{
    (void)state;
    struct seal *s = make(), *other = make();
    json_t *args = json_pack("{s:s}", "code", "1"), *more = json_pack("{s:s}", "code", "2");
    json_t *kept = json_string("x");
    const struct seal_bond bond = {.agent = "ana", .method = "m", .name = "n", .args = args};
    char *text = seal_close(s, &bond, kept, NOW);
    expect_refused(s, &(struct seal_bond){.agent = "bob", .method = "m", .name = "n", .args = args},
                   text);
    expect_refused(s, &(struct seal_bond){.method = "m", .name = "n", .args = args}, text);
    expect_refused(s, &(struct seal_bond){.agent = "ana", .method = "m", .name = "n", .args = more},
                   text);
    expect_refused(s, &(struct seal_bond){.agent = "ana", .method = "mn", .name = "", .args = args},
                   text);
    expect_refused(other, &bond, text);
    json_decref(args);
    json_decref(more);
    json_decref(kept);
    free(text);
    free(s);
    free(other);
}

static void every_changed_byte_is_noticed(void **state)
{
    (void)state;
    struct seal *s = make();
    const struct seal_bond bond = {.method = "m"};
    json_t *kept = json_string("secret");
    char *text = seal_close(s, &bond, kept, NOW);
    for (size_t i = 0; text[i] != '\0'; i++) {
        char *forged = mem_strdup(text);
        forged[i] = forged[i] == 'A' ? 'B' : 'A';
        expect_refused(s, &bond, forged);
        free(forged);
    }
    expect_refused(s, &bond, "");
    expect_refused(s, &bond, ".");
    json_decref(kept);
    free(text);
    free(s);
}

static void what_is_too_large_is_not_carried(void **state)
{
    (void)state;
    struct seal *s = make();
    _buf_ struct buf large = BUF_INIT(2 * SEAL_TEXT_MAX);
    for (size_t i = 0; i < SEAL_TEXT_MAX; i++)
        buf_append_char(&large, 'x');
    json_t *kept = json_string(buf_str(&large));
    assert_null(seal_close(s, &(struct seal_bond){.method = "m"}, kept, NOW));
    json_decref(kept);
    free(s);
}

static char *used_at(struct seal *s, const struct seal_bond *bond, uint64_t now_ms)
{
    json_t *kept = json_string("x");
    const char *why;
    char *text = seal_close(s, bond, kept, now_ms);
    json_t *back = seal_open(s, bond, text, now_ms, &why);
    if (back == NULL) {
        assert_string_equal(why, "too many were used within the hour, and each is remembered: "
                                 "try again later");
        free(text);
        text = NULL;
    }
    json_decref(back);
    json_decref(kept);
    return text;
}

static void it_expires(void **state)
{
    (void)state;
    struct seal *s = make();
    const struct seal_bond bond = {.method = "m"};
    json_t *kept = json_string("x");
    char *text = seal_close(s, &bond, kept, NOW);
    const char *why;
    assert_null(seal_open(s, &bond, text, NOW + SEAL_LIFE_MS + 1, &why));
    assert_string_equal(why, "it has expired");
    json_t *back = seal_open(s, &bond, text, NOW + SEAL_LIFE_MS, &why);
    assert_non_null(back);
    json_decref(back);
    json_decref(kept);
    free(text);
    free(s);
}

/* However many are used after it, a used seal stays used; those that expired make room. */
static void no_use_is_forgotten_before_it_expires(void **state)
{
    (void)state;
    struct seal *s = make();
    const struct seal_bond bond = {.method = "m"};
    char *first = used_at(s, &bond, NOW), *text;
    const char *why;
    assert_non_null(first);
    for (size_t i = 1; i < SEAL_USED_MAX; i++) {
        text = used_at(s, &bond, NOW + 1);
        assert_non_null(text);
        free(text);
    }
    assert_null(used_at(s, &bond, NOW + 2));
    assert_null(seal_open(s, &bond, first, NOW + SEAL_LIFE_MS, &why));
    assert_string_equal(why, "it was used already");
    text = used_at(s, &bond, NOW + SEAL_LIFE_MS + 1); /* there is room for one */
    assert_non_null(text);
    free(text);
    assert_null(used_at(s, &bond, NOW + SEAL_LIFE_MS + 1));
    assert_null(seal_open(s, &bond, first, NOW + SEAL_LIFE_MS + 1, &why));
    assert_string_equal(why, "it has expired");
    free(first);
    free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_state_comes_back_once),
        cmocka_unit_test(it_is_bound_to_its_request),
        cmocka_unit_test(every_changed_byte_is_noticed),
        cmocka_unit_test(what_is_too_large_is_not_carried),
        cmocka_unit_test(it_expires),
        cmocka_unit_test(no_use_is_forgotten_before_it_expires),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
