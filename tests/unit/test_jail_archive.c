/* Workspaces recorded and made again, whatever was done to them. */
#include "archive_world.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>

/* ---- undo ------------------------------------------------------------------------------------ */

static void a_file_written_changed_and_deleted_comes_back_each_time(void **state)
{
    (void)state;
    struct blob_hash nothing = record();
    put("f", "one");
    struct blob_hash one = record();
    put("f", "two");
    struct blob_hash two = record();
    assert_int_equal(unlinkat(here.workspace, "f", 0), 0);
    same(record_anew(), record());
    restore(two);
    has("f", "two");
    restored_is(0, 0, 1);
    same(record_anew(), two);
    ino_t inode = stat_of("f").st_ino;
    restore(one);
    has("f", "one");
    restored_is(1, 0, 0);
    assert_int_equal(stat_of("f").st_ino, inode);
    same(record_anew(), one);
    restore(nothing);
    assert_false(exists("f"));
    restored_is(0, 1, 0);
    same(record_anew(), nothing);
    restore(two);
    has("f", "two");
    same(record(), two);
}

static void a_whole_tree_comes_back(void **state)
{
    (void)state;
    assert_int_equal(mkdirat(here.workspace, "empty", 0711), 0);
    assert_int_equal(mkdirat(here.workspace, "d", 0755), 0);
    assert_int_equal(mkdirat(here.workspace, "d/e", 0700), 0);
    put("d/e/deep", "deep");
    put("d/a", "a");
    put("d-b", "between");
    put("\xff\xfe \n'\"", "any bytes");
    assert_int_equal(symlinkat("d/a", here.workspace, "link"), 0);
    assert_int_equal(symlinkat("/nowhere/at/all", here.workspace, "d/dangling"), 0);
    assert_int_equal(fchmodat(here.workspace, "d/a", 04751, 0), 0);
    assert_int_equal(mkfifoat(here.workspace, "pipe", 0600), 0);
    struct blob_hash all = record();
    assert_int_equal(here.recorded.files, 10);
    assert_int_equal(here.recorded.skipped, 1);
    assert_int_equal(here.recorded.bytes, 4 + 1 + 7 + 9);
    assert_int_equal(here.recorded.new_bytes, here.recorded.bytes);
    assert_false(here.recorded.is_torn);
    same(record_anew(), all);

    assert_true(tree_remove(here.workspace, "d") > 0);
    assert_int_equal(unlinkat(here.workspace, "empty", AT_REMOVEDIR), 0);
    put("d", "a file where a directory was");
    assert_int_equal(unlinkat(here.workspace, "link", 0), 0);
    assert_int_equal(mkdirat(here.workspace, "link", 0755), 0);
    put("link/surplus", "x");
    put("empty", "x");
    restore(all);
    same(record_anew(), all);
    assert_int_equal(stat_of("d/a").st_mode, S_IFREG | 04751);
    assert_int_equal(stat_of("empty").st_mode, S_IFDIR | 0711);
    assert_true(S_ISFIFO(stat_of("pipe").st_mode));

    /* A branch: an empty directory is filled. */
    close(here.workspace);
    archive_drop(&here.archive);
    assert_int_equal(mkdirat(here.top, "branch", 0700), 0);
    here.workspace = tree_open(here.top, "branch", O_RDONLY | O_DIRECTORY, 0);
    restore(all);
    assert_int_equal(here.restored.created, 9);
    assert_false(exists("pipe"));
    assert_int_equal(mkfifoat(here.workspace, "pipe", 0600), 0);
    struct stat top;
    assert_int_equal(fstatat(here.top, "ws", &top, 0), 0);
    const struct timespec times[2] = {top.st_mtim, top.st_mtim};
    struct timespec fifo[2];
    assert_int_equal(fstatat(here.top, "ws/pipe", &top, 0), 0);
    fifo[0] = fifo[1] = top.st_mtim;
    assert_int_equal(utimensat(here.workspace, "pipe", fifo, 0), 0);
    assert_int_equal(futimens(here.workspace, times), 0);
    same(record_anew(), all);
}

static void a_rename_is_undone(void **state)
{
    (void)state;
    put("old", "text");
    let_settle();
    struct blob_hash before = record();
    assert_int_equal(renameat(here.workspace, "old", here.workspace, "new"), 0);
    struct blob_hash after = record();
    same(after, record_anew());
    assert_int_equal(here.recorded.new_bytes, 0);
    restore(before);
    has("old", "text");
    assert_false(exists("new"));
    same(record_anew(), before);
    /* Two files that change places are not taken for each other. */
    put("a", "aaaa");
    put("b", "bbbb");
    let_settle();
    before = record();
    assert_int_equal(renameat2(here.workspace, "a", here.workspace, "b", RENAME_EXCHANGE), 0);
    record();
    restore(before);
    has("a", "aaaa");
    has("b", "bbbb");
    same(record_anew(), before);
}

static void modes_and_times_are_restored_alone(void **state)
{
    (void)state;
    put("f", "text");
    assert_int_equal(mkdirat(here.workspace, "d", 0755), 0);
    struct blob_hash before = record();
    const struct timespec long_ago[2] = {{.tv_sec = 5, .tv_nsec = 7}, {.tv_sec = 5, .tv_nsec = 7}};
    assert_int_equal(fchmodat(here.workspace, "f", 0600, 0), 0);
    /* Root may look into what is closed to everybody. */
    assert_int_equal(fchmodat(here.workspace, "d", geteuid() == 0 ? 0 : 0500, 0), 0);
    assert_int_equal(utimensat(here.workspace, "d", long_ago, 0), 0);
    assert_int_equal(utimensat(here.workspace, "f", long_ago, 0), 0);
    struct blob_hash after = record();
    same(after, record_anew());
    restore(before);
    same(record_anew(), before);
    restore(after);
    assert_int_equal(stat_of("f").st_mtim.tv_sec, 5);
    assert_int_equal(stat_of("f").st_mtim.tv_nsec, 7);
    same(record_anew(), after);
}

/* ---- anything at all ------------------------------------------------------------------------- */

static unsigned chance(unsigned n)
{
    static uint64_t seed = 4;
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(seed >> 33) % n;
}

static const char *any_name(char out[32])
{
    static const char *const dirs[] = {"", "", "d/", "d/e/", "d-/", "g/"};
    snprintf(out, 32, "%s%c", dirs[chance(ARRAY_LEN(dirs))], "abdeg"[chance(5)]);
    return out;
}

/* Many of these fail, as they would for a program that does not look. */
static int do_anything(void)
{
    char a[32], b[32], text[16];
    any_name(a);
    any_name(b);
    snprintf(text, sizeof(text), "%u", chance(100));
    const struct timespec times[2] = {{.tv_sec = chance(9)}, {.tv_sec = chance(9)}};
    switch (chance(11)) {
    case 0:
    case 1:
        return mkdirat(here.workspace, a, 0700 + chance(64));
    case 2:
        return renameat2(here.workspace, a, here.workspace, b, RENAME_EXCHANGE);
    case 3:
        return renameat(here.workspace, a, here.workspace, b);
    case 4:
        return linkat(here.workspace, a, here.workspace, b, 0);
    case 5:
        return symlinkat(b, here.workspace, a);
    case 6:
        return fchmodat(here.workspace, a, 0700 + chance(64), 0);
    case 7:
        return utimensat(here.workspace, a, times, AT_SYMLINK_NOFOLLOW);
    case 8:
        return tree_remove(here.workspace, a) < 0;
    default:
        return fd_create_file(here.workspace, a, text, strlen(text), 0644);
    }
}

static void whatever_was_done_is_undone(void **state)
{
    (void)state;
    struct blob_hash kept[40];
    for (size_t round = 0; round < 200; round++) {
        int n_failed = 0;
        for (int i = 0; i < 6; i++)
            n_failed += do_anything() != 0;
        (void)n_failed;
        size_t at = round % ARRAY_LEN(kept);
        kept[at] = record();
        same(kept[at], record_anew());
        if (chance(3) != 0)
            continue;
        struct blob_hash wanted = kept[chance((unsigned)MIN(round + 1, ARRAY_LEN(kept)))];
        if (chance(4) == 0)
            archive_drop(&here.archive);
        restore(wanted);
        same(record(), wanted);
        same(record_anew(), wanted);
    }
}

/* ---- changes that try to hide ---------------------------------------------------------------- */

static void a_change_with_its_time_set_back_is_seen(void **state)
{
    (void)state;
    put("f", "AAAA");
    let_settle();
    struct blob_hash before = record();
    struct stat st = stat_of("f");
    _fd_ int fd = openat(here.workspace, "f", O_WRONLY | O_CLOEXEC);
    assert_int_equal(pwrite(fd, "BBBB", 4, 0), 4);
    const struct timespec times[2] = {st.st_atim, st.st_mtim};
    assert_int_equal(futimens(fd, times), 0);
    struct blob_hash after = record();
    assert_false(blob_is_same(&before, &after));
    same(after, record_anew());
    restore(before);
    has("f", "AAAA");
}

/* In the same tick of the clock: nothing but the rule about young files tells. */
static void a_change_right_after_a_record_is_seen(void **state)
{
    (void)state;
    for (int i = 0; i < 20; i++) {
        put("f", i % 2 ? "AAAA" : "BBBB");
        record();
        put("f", i % 2 ? "aaaa" : "bbbb");
        same(record(), record_anew());
    }
}

static void a_store_into_mapped_memory_is_seen(void **state)
{
    (void)state;
    put_bytes("mapped", 3 * 4096);
    _fd_ int fd = openat(here.workspace, "mapped", O_RDWR | O_CLOEXEC);
    char *map = mmap(NULL, 3 * 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    assert_true(map != MAP_FAILED);
    close(take_fd(&fd));
    map[5000] = '1';
    let_settle();
    struct blob_hash one = record();
    same(one, record_anew());
    /* The page is dirty and mapped: without care this store would leave no trace. */
    map[5000] = '2';
    struct blob_hash two = record();
    assert_false(blob_is_same(&one, &two));
    same(two, record_anew());
    restore(one);
    assert_int_equal(map[5000], '1');
    munmap(map, 3 * 4096);
    same(record_anew(), one);
}

static void what_is_unchanged_is_not_read_again(void **state)
{
    (void)state;
    put("f", "text");
    let_settle();
    struct blob_hash first = record();
    struct stat st = stat_of("f");
    const struct timespec times[2] = {{.tv_sec = 1}, {.tv_sec = 1}};
    assert_int_equal(utimensat(here.workspace, "f", times, 0), 0);
    assert_int_equal(
        utimensat(here.workspace, "f", (struct timespec[2]){st.st_atim, st.st_mtim}, 0), 0);
    record();
    let_settle();
    same(record(), first);
    st = stat_of("f");
    for (int i = 0; i < 3; i++)
        same(record(), first);
    assert_int_equal(stat_of("f").st_atim.tv_nsec, st.st_atim.tv_nsec);
    assert_int_equal(here.recorded.new_bytes, 0);
    /* Blobs that nobody kept meanwhile are written again. */
    char path[256], hex[BLOB_HEX_SIZE];
    struct blob_hash text;
    blob_hash_of("text", 4, &text);
    blob_hex(&text, hex);
    snprintf(path, sizeof(path), "blobs/%.2s/%s", hex, hex + 2);
    assert_int_equal(unlinkat(here.top, path, 0), 0);
    same(record(), first);
    assert_true(blob_has(here.store, &text));
}

/* ---- links ----------------------------------------------------------------------------------- */

static uint64_t cpu_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* utime() costs a session nothing, and a gigabyte of zeros costs us a second. */
static void a_hole_is_hashed_once(void **state)
{
    (void)state;
    put("hole", "");
    int fd = openat(here.workspace, "hole", O_RDWR);
    assert_int_equal(ftruncate(fd, 256 << 20), 0);
    uint64_t began_ns = cpu_ns();
    struct blob_hash before = record();
    uint64_t first_ns = cpu_ns() - began_ns;
    assert_int_equal(futimens(fd, (struct timespec[]){{.tv_sec = 1}, {.tv_sec = 1}}), 0);
    began_ns = cpu_ns();
    struct blob_hash after = record();
    assert_true(cpu_ns() - began_ns < first_ns / 4);
    assert_false(blob_is_same(&before, &after)); /* the time */
    same(record_anew(), after);
    /* What is written into it is seen, by write() as by a page that is mapped. */
    assert_int_equal(pwrite(fd, "x", 1, 100 << 20), 1);
    struct blob_hash written = record();
    same(record_anew(), written);
    assert_int_equal(ftruncate(fd, 0), 0);
    assert_int_equal(ftruncate(fd, 256 << 20), 0);
    struct blob_hash empty = record();
    char *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    assert_true(page != MAP_FAILED);
    page[0] = 'x';
    struct blob_hash mapped = record();
    assert_false(blob_is_same(&empty, &mapped));
    same(record_anew(), mapped);
    munmap(page, 4096);
    close(fd);
}

static void no_link_leads_out(void **state)
{
    (void)state;
    assert_int_equal(fd_create_file(here.top, "secret", "secret", 6, 0600), 0);
    assert_int_equal(mkdirat(here.top, "outside", 0755), 0);
    assert_int_equal(fd_create_file(here.top, "outside/f", "outside", 7, 0644), 0);
    put("f", "inside");
    assert_int_equal(mkdirat(here.workspace, "d", 0755), 0);
    put("d/f", "inside");
    struct blob_hash before = record();

    assert_int_equal(unlinkat(here.workspace, "f", 0), 0);
    assert_true(tree_remove(here.workspace, "d") == 2);
    assert_int_equal(symlinkat("../secret", here.workspace, "f"), 0);
    assert_int_equal(symlinkat("../outside", here.workspace, "d"), 0);
    assert_int_equal(symlinkat("../outside", here.workspace, "surplus"), 0);
    struct blob_hash links = record();
    struct blob_hash secret;
    blob_hash_of("secret", 6, &secret);
    assert_false(blob_has(here.store, &secret));
    restore(before);
    has("f", "inside");
    has("d/f", "inside");
    _free_ char *outside = NULL;
    assert_int_equal(fd_read_file(here.top, "outside/f", 100, &outside, NULL), 0);
    assert_string_equal(outside, "outside");
    _free_ char *kept = NULL;
    assert_int_equal(fd_read_file(here.top, "secret", 100, &kept, NULL), 0);
    assert_string_equal(kept, "secret");
    restore(links);
    same(record_anew(), links);
}

static atomic_bool is_racing;

/* Exchanges a directory of the workspace and a link that leads out, as fast as it goes. */
static void *swap(void *context)
{
    (void)context;
    while (atomic_load(&is_racing)) {
        renameat2(here.workspace, "d", here.workspace, "evil", RENAME_EXCHANGE);
        renameat2(here.workspace, "f", here.workspace, "evil2", RENAME_EXCHANGE);
    }
    return NULL;
}

static void lead_out(const char *target, const char *name)
{
    if (symlinkat(target, here.workspace, name) < 0)
        assert_int_equal(errno, EEXIST);
}

static void a_race_with_links_does_not_lead_out(void **state)
{
    (void)state;
    assert_int_equal(mkdirat(here.top, "outside", 0755), 0);
    assert_int_equal(fd_create_file(here.top, "outside/f", "outside secret", 14, 0644), 0);
    assert_int_equal(fd_create_file(here.top, "secret", "outside secret", 14, 0644), 0);
    assert_int_equal(mkdirat(here.workspace, "d", 0755), 0);
    put("d/f", "inside");
    put("f", "inside");
    struct blob_hash before = record();
    struct blob_hash secret;
    blob_hash_of("outside secret", 14, &secret);
    pthread_t thread;
    atomic_store(&is_racing, true);
    assert_int_equal(pthread_create(&thread, NULL, swap, NULL), 0);
    for (int i = 0; i < 200; i++) {
        lead_out("../outside", "evil");
        lead_out("../secret", "evil2");
        archive_record(&here.archive, here.workspace, here.store, NULL, &plenty, &here.recorded);
        restore_with_errors(before);
        /* and from the other side: the manifest has a link where a directory may be */
        if (here.recorded.has_manifest)
            restore_with_errors(here.recorded.manifest);
    }
    atomic_store(&is_racing, false);
    pthread_join(thread, NULL);
    assert_false(blob_has(here.store, &secret));
    _free_ char *text = NULL;
    assert_int_equal(fd_read_file(here.top, "outside/f", 100, &text, NULL), 0);
    assert_string_equal(text, "outside secret");
    struct stat st;
    assert_int_equal(fstatat(here.top, "secret", &st, AT_SYMLINK_NOFOLLOW), 0);
    assert_int_equal(st.st_size, 14);
    assert_int_equal(st.st_mode, S_IFREG | 0644);
    restore(before);
    same(record_anew(), before);
}

static void hard_links_are_files_of_their_own(void **state)
{
    (void)state;
    put("a", "first");
    put("b", "other");
    struct blob_hash apart = record();
    assert_int_equal(unlinkat(here.workspace, "b", 0), 0);
    assert_int_equal(linkat(here.workspace, "a", here.workspace, "b", 0), 0);
    struct blob_hash linked = record();
    put("a", "changed both");
    restore(linked);
    has("a", "first");
    has("b", "first");
    same(record_anew(), linked);
    assert_int_equal(unlinkat(here.workspace, "b", 0), 0);
    assert_int_equal(linkat(here.workspace, "a", here.workspace, "b", 0), 0);
    restore(apart);
    has("a", "first");
    has("b", "other");
    same(record_anew(), apart);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_file_written_changed_and_deleted_comes_back_each_time),
        TEST(a_whole_tree_comes_back),
        TEST(a_rename_is_undone),
        TEST(modes_and_times_are_restored_alone),
        IN_MEMORY(whatever_was_done_is_undone),
        TEST(a_change_with_its_time_set_back_is_seen),
        TEST(a_change_right_after_a_record_is_seen),
        TEST(a_store_into_mapped_memory_is_seen),
        IN_MEMORY(a_store_into_mapped_memory_is_seen),
        TEST(what_is_unchanged_is_not_read_again),
        TEST(a_hole_is_hashed_once),
        TEST(no_link_leads_out),
        IN_MEMORY(a_race_with_links_does_not_lead_out),
        TEST(hard_links_are_files_of_their_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
