#include "notebook/mirror_files.h"
#include "unit.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#define ID "01234567-89ab-4cde-8f01-23456789abcd"
#define OTHER "11234567-89ab-4cde-8f01-23456789abcd"
#define MADE_MS 1700000000123u

struct world {
    char path[32];
    int dir;
};

static int setup(void **state)
{
    struct world *w = mem_alloc(sizeof(*w));
    snprintf(w->path, sizeof(w->path), "/tmp/mirror-XXXXXX");
    if (mkdtemp(w->path) == NULL)
        return -1;
    w->dir = open(w->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    *state = w;
    return mkdirat(w->dir, "workspaces", 0711);
}

/* Whatever a test did, its files are gone. */
static int teardown(void **state)
{
    struct world *w = *state;
    int left = unlinkat(w->dir, "workspaces", AT_REMOVEDIR);
    close(w->dir);
    left |= rmdir(w->path);
    free(w);
    return left;
}

static void write_for(const struct world *w, const char *user, const char *id, const char *text)
{
    _buf_ struct buf bytes = BUF_INIT(KIB);
    buf_append_str(&bytes, text);
    assert_int_equal(mirror_write(w->dir, user, id, &bytes, MADE_MS), 0);
}

static bool is_there(const struct world *w, const char *path)
{
    return faccessat(w->dir, path, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

/* ---- names ----------------------------------------------------------------------------------- */

static void expect_folder(const char *user, const char *folder)
{
    char got[MIRROR_FOLDER_SIZE];
    mirror_folder_of(user, got);
    assert_string_equal(got, folder);
}

static void test_a_plain_name_is_the_folder(void **state)
{
    (void)state;
    static const char *const names[] = {"default",      "a",       "Ann-Marie_3", "x.y",
                                        "bot:7@host+1", "grün",    "日本語",      "-rf",
                                        "not-an-id-",   "0123.old"};
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        expect_folder(names[i], names[i]);
}

static void test_no_name_leads_elsewhere(void **state)
{
    (void)state;
    expect_folder(".", "%2e");
    expect_folder("..", "%2e.");
    expect_folder(".old", "%2eold");
    expect_folder(".spare-0", "%2espare-0");
    expect_folder("../../etc", "%2e.%2f..%2fetc");
    expect_folder("/", "%2f");
    expect_folder("a b\n\x7f", "a%20b%0a%7f");
    expect_folder("%2e", "%252e");
    expect_folder("", "%");
    expect_folder(ID, "%301234567-89ab-4cde-8f01-23456789abcd");
}

static void test_names_that_are_too_long_stay_apart(void **state)
{
    (void)state;
    char a[2000], b[2000], folder_a[MIRROR_FOLDER_SIZE], folder_b[MIRROR_FOLDER_SIZE];
    for (size_t len = 1; len < sizeof(a) - 1; len++) {
        memset(a, len % 2 ? 'a' : '/', len);
        a[len] = '\0';
        memcpy(b, a, len + 1);
        b[len - 1] = 'b';
        mirror_folder_of(a, folder_a);
        mirror_folder_of(b, folder_b);
        assert_in_range(strlen(folder_a), 1, 255);
        assert_string_not_equal(folder_a, folder_b);
        assert_null(strchr(folder_a, '/'));
    }
}

/* ---- files ----------------------------------------------------------------------------------- */

static void note(void *context, const char *id, uint64_t at_ms)
{
    unsigned *seen = context;
    *seen += strcmp(id, ID) == 0 ? 1 : 100;
    assert_int_equal(at_ms, MADE_MS);
}

static void test_files_are_written_found_and_removed(void **state)
{
    const struct world *w = *state;
    struct stat st;
    unsigned seen = 0;
    write_for(w, "ann", ID, "one");
    write_for(w, "ann", ID, "two!");
    write_for(w, "..", OTHER, "three");
    assert_true(fstatat(w->dir, "workspaces/ann/" ID "/mcp_repl/cells.json", &st, 0) == 0);
    assert_int_equal(st.st_size, 4);
    assert_int_equal(st.st_mode & 0777, 0600);
    assert_true(is_there(w, "workspaces/%2e./" OTHER "/mcp_repl/cells.json"));
    mirror_each(w->dir, note, &seen);
    assert_int_equal(seen, 101);
    mirror_remove(w->dir, ID);
    assert_false(is_there(w, "workspaces/ann"));
    assert_true(is_there(w, "workspaces/%2e./" OTHER "/mcp_repl/cells.json"));
    mirror_remove(w->dir, ID);
    mirror_remove(w->dir, OTHER);
}

/* A session that has such files in its own workspace keeps them. */
static void test_workspaces_are_left_alone(void **state)
{
    const struct world *w = *state;
    static const char *const made[] = {
        "workspaces/" OTHER, "workspaces/" OTHER "/" ID, "workspaces/" OTHER "/" ID "/mcp_repl",
        "workspaces/.old",   "workspaces/.old/" ID,      "workspaces/.old/" ID "/mcp_repl"};
    unsigned seen = 0;
    for (size_t i = 0; i < ARRAY_LEN(made); i++)
        assert_int_equal(mkdirat(w->dir, made[i], 0700), 0);
    mirror_each(w->dir, note, &seen);
    assert_int_equal(seen, 0);
    mirror_remove(w->dir, ID);
    for (size_t i = ARRAY_LEN(made); i-- > 0;)
        assert_int_equal(unlinkat(w->dir, made[i], AT_REMOVEDIR), 0);
}

static void test_what_else_is_in_a_folder_stays(void **state)
{
    const struct world *w = *state;
    write_for(w, "ann", ID, "one");
    write_for(w, "ann", OTHER, "two");
    assert_int_equal(mkdirat(w->dir, "workspaces/ann/" ID "/notes", 0700), 0);
    mirror_remove(w->dir, ID);
    assert_true(is_there(w, "workspaces/ann/" ID "/notes"));
    assert_false(is_there(w, "workspaces/ann/" ID "/mcp_repl"));
    assert_true(is_there(w, "workspaces/ann/" OTHER "/mcp_repl/cells.json"));
    assert_int_equal(unlinkat(w->dir, "workspaces/ann/" ID "/notes", AT_REMOVEDIR), 0);
    assert_int_equal(unlinkat(w->dir, "workspaces/ann/" ID, AT_REMOVEDIR), 0);
    mirror_remove(w->dir, OTHER);
}

/* The folders are ours, but nobody is led astray by one who was faster. */
static void test_links_are_not_followed(void **state)
{
    const struct world *w = *state;
    _buf_ struct buf text = BUF_INIT(KIB);
    unsigned seen = 0;
    buf_append_str(&text, "x");
    assert_int_equal(mkdirat(w->dir, "elsewhere", 0700), 0);
    assert_int_equal(symlinkat("../elsewhere", w->dir, "workspaces/ann"), 0);
    assert_true(mirror_write(w->dir, "ann", ID, &text, MADE_MS) < 0);
    mirror_each(w->dir, note, &seen);
    mirror_remove(w->dir, ID);
    assert_int_equal(seen, 0);
    assert_int_equal(unlinkat(w->dir, "elsewhere", AT_REMOVEDIR), 0);
    assert_int_equal(unlinkat(w->dir, "workspaces/ann", 0), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_plain_name_is_the_folder),
        cmocka_unit_test(test_no_name_leads_elsewhere),
        cmocka_unit_test(test_names_that_are_too_long_stay_apart),
        cmocka_unit_test_setup_teardown(test_files_are_written_found_and_removed, setup, teardown),
        cmocka_unit_test_setup_teardown(test_workspaces_are_left_alone, setup, teardown),
        cmocka_unit_test_setup_teardown(test_what_else_is_in_a_folder_stays, setup, teardown),
        cmocka_unit_test_setup_teardown(test_links_are_not_followed, setup, teardown),
    };
    return cmocka_run_group_tests_name("book_mirror", tests, NULL, NULL);
}
