/* Workspaces that are too large, change meanwhile or cannot be written: what of them is recorded
 * and made again. */
#include "archive_world.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/mount.h>
#include <sys/resource.h>

/* ---- limits ---------------------------------------------------------------------------------- */

static void refused(const struct archive_budget *budget, const char *why)
{
    archive_record(&here.archive, here.workspace, here.store, NULL, budget, &here.recorded);
    assert_false(here.recorded.has_manifest);
    if (strstr(here.recorded.reason, why) == NULL)
        fail_msg("%s", here.recorded.reason);
}

static void a_budget_is_kept(void **state)
{
    (void)state;
    struct archive_budget b = {.files = 3, .bytes = 4 << 20, .new_bytes = 2 << 20};
    put_bytes("1", MIB);
    put_bytes("2", MIB + 1);
    refused(&b, "more than 2 MB changed at once");
    assert_false(here.recorded.is_over_budget);
    /* What was kept already is not new, so the next one gets further. */
    archive_record(&here.archive, here.workspace, here.store, NULL, &b, &here.recorded);
    assert_true(here.recorded.has_manifest);
    put_bytes("3", 3 << 20);
    refused(&b, "more than 4 MB");
    put("3", "");
    record();
    put("4", "");
    refused(&b, "more than 3 files");
    assert_true(here.recorded.is_over_budget);
    assert_int_equal(unlinkat(here.workspace, "4", 0), 0);
    /* A terabyte of nothing costs nothing. */
    _fd_ int fd = openat(here.workspace, "3", O_RDWR | O_CLOEXEC);
    if (ftruncate(fd, (off_t)1 << 40) == 0)
        refused(&b, "more than 4 MB");
}

static void depth_is_bounded_and_deep_trees_are_removed(void **state)
{
    (void)state;
    struct blob_hash nothing = record();
    _fd_ int dir = openat(here.workspace, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    for (int i = 0; i < 700; i++) {
        assert_int_equal(mkdirat(dir, "d", 0700), 0);
        int next = openat(dir, "d", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        close(dir);
        dir = next;
    }
    refused(&plenty, "deep");
    restore(nothing);
    assert_int_equal(here.restored.removed, 700);
    same(record_anew(), nothing);
}

static void sparse_files_stay_sparse(void **state)
{
    (void)state;
    _fd_ int fd = openat(here.workspace, "f", O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    assert_int_equal(pwrite(fd, "data", 4, 1 << 20), 4);
    assert_int_equal(ftruncate(fd, 16 << 20), 0);
    struct blob_hash sparse = record();
    put_bytes("f", 20 << 20);
    restore(sparse);
    same(record_anew(), sparse);
    assert_int_equal(stat_of("f").st_size, 16 << 20);
    assert_true(stat_of("f").st_blocks * 512 < 1 << 20);
}

static void ten_thousand_files(void **state)
{
    (void)state;
    char name[32];
    for (int d = 0; d < 100; d++) {
        snprintf(name, sizeof(name), "d%d", d);
        assert_int_equal(mkdirat(here.workspace, name, 0755), 0);
        for (int f = 0; f < 100; f++) {
            snprintf(name, sizeof(name), "d%d/f%d", d, f);
            put(name, name);
        }
    }
    let_settle();
    struct blob_hash all = record();
    assert_int_equal(here.recorded.files, 10100);
    archive_record(&here.archive, here.workspace, here.store, &all, &plenty, &here.recorded);
    same(here.recorded.manifest, all);
    put("d7/f7", "changed");
    assert_true(tree_remove(here.workspace, "d50") == 101);
    restore(all);
    restored_is(1, 0, 101);
    same(record(), all);
    close(here.workspace);
    archive_drop(&here.archive);
    assert_int_equal(mkdirat(here.top, "branch", 0700), 0);
    here.workspace = tree_open(here.top, "branch", O_RDONLY | O_DIRECTORY, 0);
    restore(all);
    same(record_anew(), all);
}

/* ---- what goes wrong ------------------------------------------------------------------------- */

static atomic_bool is_racing;

static void *scribble(void *context)
{
    (void)context;
    _fd_ int fd = openat(here.workspace, "f", O_WRONLY | O_CLOEXEC);
    for (unsigned i = 0; atomic_load(&is_racing); i++)
        if (pwrite(fd, &i, sizeof(i), (i * 4096) % (8 << 20)) < 0)
            break;
    return NULL;
}

static void a_file_that_changes_meanwhile_is_told(void **state)
{
    (void)state;
    put_bytes("f", 8 << 20);
    pthread_t thread;
    atomic_store(&is_racing, true);
    assert_int_equal(pthread_create(&thread, NULL, scribble, NULL), 0);
    bool was_torn = false;
    for (int i = 0; i < 50 && !was_torn; i++) {
        record();
        was_torn = here.recorded.is_torn;
    }
    atomic_store(&is_racing, false);
    pthread_join(thread, NULL);
    assert_true(was_torn);
    same(record(), record_anew());
    assert_false(here.recorded.is_torn);
}

static void spoil(const char *text, const char *with)
{
    char path[256], hex[BLOB_HEX_SIZE];
    struct blob_hash hash;
    blob_hash_of(text, strlen(text), &hash);
    blob_hex(&hash, hex);
    snprintf(path, sizeof(path), "blobs/%.2s/%s", hex, hex + 2);
    assert_int_equal(unlinkat(here.top, path, 0), 0);
    if (with != NULL)
        assert_int_equal(fd_create_file(here.top, path, with, strlen(with), 0400), 0);
}

static void a_damaged_blob_is_named_and_the_rest_restored(void **state)
{
    (void)state;
    put("a", "aaaa");
    put("b", "bbbb");
    put("c", "cccc");
    put("d", "dddd");
    struct blob_hash all = record();
    put("a", "new a");
    put("b", "new b");
    put("d", "new d");
    assert_int_equal(unlinkat(here.workspace, "c", 0), 0);
    spoil("aaaa", "AAAA");
    spoil("bbbb", NULL);
    spoil("cccc", "ccc");
    restore_with_errors(all);
    assert_int_equal(here.restored.n_errors, 3);
    assert_string_equal(here.restored.errors[0], "a: its content is damaged in the store");
    assert_string_equal(here.restored.errors[1], "b: its content is missing in the store");
    assert_string_equal(here.restored.errors[2], "c: its content is damaged in the store");
    has("a", "new a");
    has("b", "new b");
    assert_false(exists("c"));
    has("d", "dddd");
    /* A manifest that is no more leaves everything as it is. */
    struct blob_hash none;
    blob_hash_of("none", 4, &none);
    restore_with_errors(none);
    assert_int_equal(here.restored.n_errors, 1);
    assert_non_null(strstr(here.restored.errors[0], "missing"));
    has("d", "dddd");
}

static void errors_are_bounded(void **state)
{
    (void)state;
    char name[16];
    for (int i = 0; i < 30; i++) {
        snprintf(name, sizeof(name), "f%d", i);
        put(name, name);
        record();
    }
    struct blob_hash all = record();
    for (int i = 0; i < 30; i++) {
        snprintf(name, sizeof(name), "f%d", i);
        spoil(name, NULL);
        put(name, "x");
    }
    restore_with_errors(all);
    assert_int_equal(here.restored.n_errors, ARCHIVE_ERRORS_MAX);
    assert_int_equal(here.restored.n_errors_dropped, 10);
}

/* The file size limit stands in for a full disk: it refuses in the same places. */
static void limit_file_size(rlim_t bytes)
{
    struct rlimit limit;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    limit.rlim_cur = bytes;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

static void a_full_disk_loses_nothing(void **state)
{
    (void)state;
    put_bytes("big", MIB);
    put("small", "small");
    struct blob_hash both = record();
    put("big", "now small");
    put("small", "changed");
    struct blob_hash small = record();
    limit_file_size(64 << 10);
    restore_with_errors(both);
    limit_file_size(RLIM_INFINITY);
    assert_int_equal(here.restored.n_errors, 1);
    assert_string_equal(here.restored.errors[0], "big: the disk is full");
    has("big", "now small");
    has("small", "small");
    restore(both);
    same(record_anew(), both);
    restore(small);
    put_bytes("other", MIB + 5);
    limit_file_size(64 << 10);
    refused(&plenty, "full");
    assert_false(here.recorded.is_over_budget);
    limit_file_size(RLIM_INFINITY);
    record();
}

/* The real thing, where one may mount: a disk of two megabytes. */
static void a_disk_that_is_really_full_loses_nothing(void **state)
{
    (void)state;
    char path[128];
    snprintf(path, sizeof(path), "%s/small", here.dir);
    assert_int_equal(mkdir(path, 0700), 0);
    if (mount("none", path, "tmpfs", 0, "size=2m") < 0)
        skip();
    put_bytes("big", 3 << 20);
    put("f", "text");
    struct blob_hash big = record();
    int normal = here.workspace;
    archive_drop(&here.archive);
    here.workspace = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    put("big", "what was there");
    restore_with_errors(big);
    assert_int_equal(here.restored.n_errors, 1);
    assert_string_equal(here.restored.errors[0], "big: the disk is full");
    has("big", "what was there");
    has("f", "text");
    /* And a store there. */
    struct err e;
    int store = here.store;
    assert_int_equal(blob_open_store(path, &here.store, &e), 0);
    close(here.workspace);
    here.workspace = normal;
    refused(&plenty, "full");
    close(here.store);
    here.store = store;
    /* A store that cannot be written to. */
    assert_int_equal(mount("none", path, NULL, MS_REMOUNT | MS_RDONLY, NULL), 0);
    int blobs = openat(AT_FDCWD, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    here.store = blobs;
    refused(&plenty, "read-only");
    here.store = store;
    close(blobs);
    assert_int_equal(umount2(path, MNT_DETACH), 0);
}

static void a_running_program_and_a_leased_file_are_replaced(void **state)
{
    (void)state;
    put("leased", "before");
    struct blob_hash before = record();
    put("leased", "after");
    _fd_ int fd = openat(here.workspace, "leased", O_RDONLY | O_CLOEXEC);
    assert_int_equal(fcntl(fd, F_SETLEASE, F_RDLCK), 0);
    restore(before);
    has("leased", "before");
    fcntl(fd, F_SETLEASE, F_UNLCK);
    same(record_anew(), before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_budget_is_kept),
        IN_MEMORY(depth_is_bounded_and_deep_trees_are_removed),
        TEST(sparse_files_stay_sparse),
        IN_MEMORY(ten_thousand_files),
        TEST(a_file_that_changes_meanwhile_is_told),
        TEST(a_damaged_blob_is_named_and_the_rest_restored),
        TEST(errors_are_bounded),
        TEST(a_full_disk_loses_nothing),
        TEST(a_disk_that_is_really_full_loses_nothing),
        TEST(a_running_program_and_a_leased_file_are_replaced),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
