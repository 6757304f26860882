/* A workspace, a store of blobs, and the functions that the archivist calls. The manifest is the
 * witness: a workspace that is recorded with the same manifest is the same, names, bytes,
 * permissions, times and links. */
#pragma once

#include "base/fd.h"
#include "jail/files/archive.h"
#include "jail/files/tree.h"
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
#define IN_MEMORY(name) cmocka_unit_test_setup_teardown(name, set_up_memory, tear_down)

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

static inline void run_rm(const char *path)
{
    pid_t pid = fork();
    if (pid == 0)
        _exit(execl("/bin/rm", "rm", "-rf", path, (char *)NULL));
    waitpid(pid, NULL, 0);
}

static inline int set_up_in(const char *parent)
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

static inline int set_up(void **state)
{
    (void)state;
    const char *parent = getenv("CELLA_TEST_DISK"); /* to try another file system */
    return set_up_in(parent == NULL ? "/tmp" : parent);
}

/* In memory: a disk's file system would take longer to make many files than we to record them, and
 * the rules about mapped files are others. */
static inline int set_up_memory(void **state)
{
    (void)state;
    return set_up_in("/dev/shm");
}

static inline int tear_down(void **state)
{
    (void)state;
    archive_drop(&here.archive);
    close(here.store);
    close(here.workspace);
    close(here.top);
    run_rm(here.dir);
    return 0;
}

static inline void put(const char *path, const char *text)
{
    assert_int_equal(fd_create_file(here.workspace, path, text, strlen(text), 0644), 0);
}

static inline void put_bytes(const char *path, size_t len)
{
    _free_ char *data = mem_alloc(len);
    memset(data, 'x', len);
    assert_int_equal(fd_create_file(here.workspace, path, data, len, 0644), 0);
}

static inline void has(const char *path, const char *text)
{
    _free_ char *found = NULL;
    assert_int_equal(fd_read_file(here.workspace, path, MIB, &found, NULL), 0);
    assert_string_equal(found, text);
}

static inline bool exists(const char *path)
{
    return faccessat(here.workspace, path, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

static inline struct stat stat_of(const char *path)
{
    struct stat st;
    assert_int_equal(fstatat(here.workspace, path, &st, AT_SYMLINK_NOFOLLOW), 0);
    return st;
}

/* Beyond what a clock's tick could hide, so that files count as known. */
static inline void let_settle(void)
{
    clock_nanosleep(CLOCK_MONOTONIC, 0, &(struct timespec){.tv_nsec = 25 * 1000 * 1000}, NULL);
}

static inline struct blob_hash record(void)
{
    archive_record(&here.archive, here.workspace, here.store, NULL, &plenty, &here.recorded);
    if (!here.recorded.has_manifest)
        fail_msg("%s", here.recorded.reason);
    return here.recorded.manifest;
}

/* By somebody who knows nothing and so reads everything. */
static inline struct blob_hash record_anew(void)
{
    struct archive fresh = {0};
    struct archive_recorded recorded;
    archive_record(&fresh, here.workspace, here.store, NULL, &plenty, &recorded);
    if (!recorded.has_manifest)
        fail_msg("%s", recorded.reason);
    archive_drop(&fresh);
    return recorded.manifest;
}

static inline void restore_with_errors(struct blob_hash manifest)
{
    archive_restore(&here.archive, here.workspace, here.store, &manifest, &here.restored);
}

static inline void restore(struct blob_hash manifest)
{
    restore_with_errors(manifest);
    if (here.restored.n_errors > 0)
        fail_msg("%s", here.restored.errors[0]);
}

static inline void same(struct blob_hash a, struct blob_hash b)
{
    assert_true(blob_is_same(&a, &b));
}

static inline void restored_is(uint64_t changed, uint64_t removed, uint64_t created)
{
    assert_int_equal(here.restored.changed, changed);
    assert_int_equal(here.restored.removed, removed);
    assert_int_equal(here.restored.created, created);
}
