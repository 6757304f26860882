/* Workspaces recorded and made again, by the functions that the archivist calls. The manifest is
 * the witness: a workspace that is recorded with the same manifest is the same, names, bytes,
 * permissions, times and links. */
#include "base/fd.h"
#include "jail/archive.h"
#include "jail/tree.h"
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

static const struct archive_budget plenty = {
    .files = 20000, .bytes = 1 << 30, .new_bytes = 1 << 30};

/* One test's world. */
static struct {
    char dir[64];
    int top;       /* dir itself */
    int workspace; /* dir/ws */
    int store;
    struct archive archive; /* as the archivist has it: knows the last time */
    struct archive_recorded recorded;
    struct archive_restored restored;
} here;

static void run_rm(const char *path)
{
    pid_t pid = fork();
    if (pid == 0)
        _exit(execl("/bin/rm", "rm", "-rf", path, (char *)NULL));
    waitpid(pid, NULL, 0);
}

static int set_up_in(const char *parent)
{
    struct err e;
    memset(&here, 0, sizeof(here));
    snprintf(here.dir, sizeof(here.dir), "%s/cella-archive-XXXXXX", parent);
    assert_non_null(mkdtemp(here.dir));
    here.top = open(here.dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_int_equal(mkdirat(here.top, "ws", 0700), 0);
    here.workspace = tree_open(here.top, "ws", O_RDONLY | O_DIRECTORY, 0);
    assert_true(here.workspace >= 0);
    assert_int_equal(blob_open_store(here.dir, &here.store, &e), 0);
    signal(SIGIO, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN);
    return 0;
}

static int set_up(void **state)
{
    (void)state;
    const char *parent = getenv("CELLA_TEST_DISK"); /* to try another file system */
    return set_up_in(parent == NULL ? "/tmp" : parent);
}

/* In memory: a disk's file system would take longer to make many files than we to record them, and
 * the rules about mapped files are others. */
static int set_up_memory(void **state)
{
    (void)state;
    return set_up_in("/dev/shm");
}

static int tear_down(void **state)
{
    (void)state;
    archive_forget(&here.archive);
    close(here.store);
    close(here.workspace);
    close(here.top);
    run_rm(here.dir);
    return 0;
}

/* ---- what tests say -------------------------------------------------------------------------- */

static void put(const char *path, const char *text)
{
    assert_int_equal(fd_create_file(here.workspace, path, text, strlen(text), 0644), 0);
}

static void put_bytes(const char *path, size_t len)
{
    _free_ char *data = mem_alloc(len);
    memset(data, 'x', len);
    assert_int_equal(fd_create_file(here.workspace, path, data, len, 0644), 0);
}

static void has(const char *path, const char *text)
{
    _free_ char *found = NULL;
    assert_int_equal(fd_read_file(here.workspace, path, MIB, &found, NULL), 0);
    assert_string_equal(found, text);
}

static bool exists(const char *path)
{
    return faccessat(here.workspace, path, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

static struct stat stat_of(const char *path)
{
    struct stat st;
    assert_int_equal(fstatat(here.workspace, path, &st, AT_SYMLINK_NOFOLLOW), 0);
    return st;
}

/* Beyond what a clock's tick could hide, so that files count as known. */
static void let_settle(void)
{
    clock_nanosleep(CLOCK_MONOTONIC, 0, &(struct timespec){.tv_nsec = 25 * 1000 * 1000}, NULL);
}

static struct blob_hash record(void)
{
    archive_record(&here.archive, here.workspace, here.store, NULL, &plenty, &here.recorded);
    if (!here.recorded.has_manifest)
        fail_msg("%s", here.recorded.reason);
    return here.recorded.manifest;
}

/* By somebody who knows nothing and so reads everything. */
static struct blob_hash record_anew(void)
{
    struct archive fresh = {0};
    struct archive_recorded recorded;
    archive_record(&fresh, here.workspace, here.store, NULL, &plenty, &recorded);
    if (!recorded.has_manifest)
        fail_msg("%s", recorded.reason);
    archive_forget(&fresh);
    return recorded.manifest;
}

static void restore_with_errors(struct blob_hash manifest)
{
    archive_restore(&here.archive, here.workspace, here.store, &manifest, &here.restored);
}

static void restore(struct blob_hash manifest)
{
    restore_with_errors(manifest);
    if (here.restored.n_errors > 0)
        fail_msg("%s", here.restored.errors[0]);
}

static void same(struct blob_hash a, struct blob_hash b)
{
    assert_true(blob_is_same(&a, &b));
}

static void restored_is(uint64_t changed, uint64_t removed, uint64_t created)
{
    assert_int_equal(here.restored.changed, changed);
    assert_int_equal(here.restored.removed, removed);
    assert_int_equal(here.restored.created, created);
}

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
    archive_forget(&here.archive);
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

/* ---- anything at all --------------------------------------------------------------------------
 */

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
            archive_forget(&here.archive);
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
    archive_forget(&here.archive);
    assert_int_equal(mkdirat(here.top, "branch", 0700), 0);
    here.workspace = tree_open(here.top, "branch", O_RDONLY | O_DIRECTORY, 0);
    restore(all);
    same(record_anew(), all);
}

/* ---- what goes wrong ------------------------------------------------------------------------- */

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
    archive_forget(&here.archive);
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
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
#define IN_MEMORY(name) cmocka_unit_test_setup_teardown(name, set_up_memory, tear_down)
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
        TEST(no_link_leads_out),
        IN_MEMORY(a_race_with_links_does_not_lead_out),
        TEST(hard_links_are_files_of_their_own),
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
