/* Files that are split, words, and answers of encoders: any bytes. Units lie in their file, in
 * order, and what they show is valid UTF-8 in one line. */
#include "base/utf8.h"
#include "search/matrix.h"
#include "search/split.h"
#include "search/words.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool claim)
{
    if (!claim)
        abort();
}

struct fuzz_seen {
    size_t lines, n;
};

static void on_unit(void *context, const struct split_unit *unit)
{
    struct fuzz_seen *seen = context;
    seen->n++;
    require(unit->first >= 1 && unit->first <= unit->last && unit->last <= seen->lines);
    require(unit->len <= SPLIT_TEXT_MAX && strlen(unit->name) <= SPLIT_NAME_MAX);
    require(utf8_is_valid(unit->name, strlen(unit->name)));
    require(utf8_is_valid(unit->signature, strlen(unit->signature)));
    require(strchr(unit->signature, '\n') == NULL && strchr(unit->name, '\n') == NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const names[] = {"a.py", "a.rb",  "a.c",   "a.js",  "a.rs",  "a.sh",
                                        "a.md", "a.rst", "a.tex", "a.org", "a.sql", "a.php"};
    char *exact = size > 0 ? mem_copy(data, size) : NULL;
    struct fuzz_seen seen = {.lines = 1};
    for (size_t i = 0; i < size; i++)
        seen.lines += data[i] == '\n';
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        split_file(names[i], exact, size, on_unit, &seen);
    _buf_ struct buf words = BUF_INIT(4 * KIB), query = BUF_INIT(16 * KIB);
    words_of(exact, size, &words);
    words_query(exact, size, &query);
    require(!query.overflowed);
    struct matrix list[2] = {0};
    struct err e;
    if (matrix_read(exact, size, list, 2, &e) == 0)
        for (size_t i = 0; i < 2; i++) {
            require(list[i].rows <= MAXSIM_ROWS_MAX && list[i].dims % MAXSIM_STEP == 0);
            free(list[i].data);
        }
    free(exact);
    return 0;
}
