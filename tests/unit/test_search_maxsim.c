#include "search/matrix.h"
#include "unit.h"

#include <math.h>
#include <string.h>

/* The extremes, too: what an instruction could round or cut off. */
static void fill(int8_t *to, size_t n, unsigned kind)
{
    for (size_t i = 0; i < n; i++)
        to[i] = kind == 0   ? (int8_t)(rand() % 255 - 127)
                : kind == 1 ? 127
                            : (int8_t)(rand() % 2 ? 127 : -127);
}

static void test_every_way_gives_the_same_sum(void **state)
{
    (void)state;
    static const size_t rows[] = {1, 2, 3, 7, 8, 9, 16, 17, 31, 100, MAXSIM_ROWS_MAX};
    static const size_t dims[] = {32, 128, 384, MAXSIM_DIMS_MAX};
    for (size_t d = 0; d < ARRAY_LEN(dims); d++) {
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
            size_t other = rows[(i * 5 + 3) % ARRAY_LEN(rows)];
            if (rows[i] * other * dims[d] > 20000000)
                continue;
            _free_ int8_t *q = mem_alloc(rows[i] * dims[d]), *t = mem_alloc(other * dims[d]);
            fill(q, rows[i] * dims[d], (unsigned)i % 3);
            fill(t, other * dims[d], (unsigned)(i + d) % 3);
            struct maxsim_matrix question = {q, rows[i], dims[d]}, text = {t, other, dims[d]};
            int64_t plain, sum;
            assert_true(maxsim_by(MAXSIM_PLAIN, &question, &text, &plain));
            for (enum maxsim_way way = MAXSIM_AVX2; way <= MAXSIM_VNNI; way++)
                if (maxsim_by(way, &question, &text, &sum))
                    assert_int_equal(sum, plain);
            assert_int_equal(maxsim(&question, &text), plain);
        }
    }
}

static void test_what_cannot_be_compared_is_zero(void **state)
{
    (void)state;
    int8_t data[64] = {1};
    struct maxsim_matrix one = {data, 1, 32}, none = {data, 0, 32}, other = {data, 1, 64};
    assert_int_equal(maxsim(&one, &none), 0);
    assert_int_equal(maxsim(&none, &one), 0);
    assert_int_equal(maxsim(&one, &other), 0);
    assert_int_equal(maxsim(&one, &one), 1);
}

static void test_vectors_are_packed(void **state)
{
    (void)state;
    int8_t packed[32];
    assert_true(maxsim_pack((const float[]){3, -4}, 2, packed, 32));
    assert_int_equal(packed[0], 76);
    assert_int_equal(packed[1], -102);
    assert_int_equal(packed[2], 0);
    assert_false(maxsim_pack((const float[]){0, 0}, 2, packed, 32));
    assert_false(maxsim_pack((const float[]){NAN, 1}, 2, packed, 32));
    assert_false(maxsim_pack((const float[]){INFINITY, 1}, 2, packed, 32));
}

static void test_answers_of_encoders_are_read(void **state)
{
    (void)state;
    struct matrix list[2] = {0};
    struct err e;
    static const char plaid[] = "{\"num_texts\":2,\"embeddings\":[[[1,0],[0,2.5e0]],[[-1,0]]]}";
    static const char openai[] = "{\"data\":[{\"embedding\":[1,0],\"index\":0},"
                                 "{\"index\":1,\"embedding\":[0,1]}],\"usage\":{\"n\":[]}}";
    assert_int_equal(matrix_read(plaid, strlen(plaid), list, 2, &e), 0);
    assert_int_equal(list[0].rows, 2);
    assert_int_equal(list[0].dims, 32);
    assert_int_equal(list[1].data[0], -127);
    for (size_t i = 0; i < 2; i++)
        free(list[i].data);
    assert_int_equal(matrix_read(openai, strlen(openai), list, 2, &e), 0);
    assert_int_equal(list[1].rows, 1);
    assert_int_equal(list[1].data[1], 127);
    for (size_t i = 0; i < 2; i++)
        free(list[i].data);
}

static void test_what_is_no_answer_is_refused(void **state)
{
    (void)state;
    static const char *const bad[] = {"",
                                      "[[[1,2]]]",
                                      "[[[1,2]],[[1,2]],[[1,2]]]",
                                      "[[[1,2]],[[1,2]]",
                                      "[[[1,2]},[[1,2]]]",
                                      "[[[1,2]],[[1,--2]]]",
                                      "[[[1,[2]]],[[1,2]]]",
                                      "{\"error\":\"[[[1]],[[2]]]\"}"};
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        struct matrix list[2] = {0};
        struct err e;
        assert_int_equal(matrix_read(bad[i], strlen(bad[i]), list, 2, &e), -1);
        assert_int_equal(e.code, ERR_UPSTREAM);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_way_gives_the_same_sum),
        cmocka_unit_test(test_what_cannot_be_compared_is_zero),
        cmocka_unit_test(test_vectors_are_packed),
        cmocka_unit_test(test_answers_of_encoders_are_read),
        cmocka_unit_test(test_what_is_no_answer_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
