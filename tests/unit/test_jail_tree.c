/* Removing trees of files. What jails do to them meanwhile is shown by tests/escape. */
#include "jail/files/tree.h"
#include "unit.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/wait.h>

enum { FORKS = 20, BLOCKS = 32, BLOCK_BYTES = 32 * KIB + 48 /* as much as opendir takes */ };

static atomic_bool is_over;

static void *allocate_on_and_on(void *unused)
{
    void *blocks[BLOCKS];
    (void)unused;
    while (!is_over) {
        for (size_t i = 0; i < BLOCKS; i++)
            blocks[i] = mem_alloc(BLOCK_BYTES);
        for (size_t i = 0; i < BLOCKS; i++)
            free(blocks[i]);
    }
    return NULL;
}

/* The keeper does this: its threads measure workspaces while it forks those that remove others. */
static void a_fork_of_a_process_with_threads_removes(void **state)
{
    (void)state;
    char path[] = "/tmp/cella-tree-XXXXXX";
    assert_non_null(mkdtemp(path));
    _fd_ int dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    pthread_t threads[2];
    for (size_t i = 0; i < ARRAY_LEN(threads); i++)
        assert_int_equal(pthread_create(&threads[i], NULL, allocate_on_and_on, NULL), 0);
    for (int i = 0; i < FORKS; i++) {
        assert_int_equal(mkdirat(dir, "below", 0700), 0);
        pid_t pid = fork();
        if (pid == 0) {
            alarm(PATIENCE_MS / 1000);
            tree_empty(dir);
            _exit(0);
        }
        int status;
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_int_equal(status, 0);
    }
    is_over = true;
    for (size_t i = 0; i < ARRAY_LEN(threads); i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(rmdir(path), 0);
}

/* More names than one look at a directory gives, and deeper than descriptors are held for. */
static void many_names_and_deep_ones(void **state)
{
    (void)state;
    char path[] = "/tmp/cella-tree-XXXXXX", name[16];
    assert_non_null(mkdtemp(path));
    _fd_ int dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    for (int i = 0; i < 1000; i++) {
        snprintf(name, sizeof(name), "%d", i);
        assert_int_equal(mkdirat(dir, name, 0700), 0);
    }
    int at = openat(dir, "7", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    for (int i = 0; i < 400; i++) {
        assert_int_equal(mkdirat(at, "deeper", 0700), 0);
        int below = openat(at, "deeper", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        close(at);
        at = below;
    }
    close(at);
    tree_empty(dir);
    assert_int_equal(rmdir(path), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_fork_of_a_process_with_threads_removes),
        cmocka_unit_test(many_names_and_deep_ones),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
