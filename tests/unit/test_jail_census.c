/* Who lives in a pid namespace, told and ended from its own init: the test becomes one. */
#include "base/fd.h"
#include "jail/syscalls.h"
#include "jail/warden/census.h"
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/wait.h>

/* A process that waits, with the pid that is asked for. */
static pid_t sleeper(pid_t wanted, bool begins_session)
{
    struct clone_args args = {.exit_signal = SIGCHLD,
                              .set_tid = wanted != 0 ? (uintptr_t)&wanted : 0,
                              .set_tid_size = wanted != 0 ? 1 : 0};
    int ready[2];
    char byte;
    assert_int_equal(pipe(ready), 0);
    pid_t pid = (pid_t)syscall(SYS_clone3, &args, sizeof(args));
    if (pid == 0) {
        if (begins_session)
            setsid();
        close(ready[0]);
        close(ready[1]);
        for (;;)
            pause();
    }
    assert_true(pid > 0);
    close(ready[1]);
    assert_int_equal(read(ready[0], &byte, 1), 0);
    close(ready[0]);
    return pid;
}

static bool is_alive(pid_t pid)
{
    siginfo_t info = {0};
    return waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == 0;
}

/* Sooner or later: the last of its memory may still be given back. */
static void expect_ended(pid_t pid)
{
    siginfo_t info = {0};
    assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
}

/* All the passes at once. */
static int clear_all(bool holds_victim, pid_t victim, const pid_t *leaders, size_t n_leaders,
                     const struct census *spared)
{
    struct census_clearing clearing;
    census_clearing_begin(&clearing, 1, victim, holds_victim, spared);
    enum census_pass pass;
    do
        pass = census_clearing_pass(&clearing, leaders, n_leaders);
    while (pass == CENSUS_AGAIN || pass == CENSUS_WAIT);
    int count = (int)census_clearing_count(&clearing);
    census_clearing_free(&clearing);
    return pass == CENSUS_CLEARED ? count : -EAGAIN;
}

static void bury(pid_t pid)
{
    kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static void lists_who_is_there(void **state)
{
    (void)state;
    pid_t pids[] = {sleeper(0, false), sleeper(0, false), sleeper(0, true)};
    struct census census;
    census_take(1, NULL, 0, &census);
    assert_int_equal(census.count, 3);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(census.residents[i].pid, pids[i]);
        assert_int_equal(census_inner_pid(pids[i]), pids[i]);
        assert_true(census_is_same_jail(pids[i], 1));
        bury(pids[i]);
    }
    census_free(&census);
    assert_int_equal(census_inner_pid(pids[0]), 0);
    assert_false(census_is_same_jail(pids[0], 1));
    census_take(1, NULL, 0, &census);
    assert_int_equal(census.count, 0);
    pid_t skipped = sleeper(0, false), seen = sleeper(0, false);
    census_take(1, &skipped, 1, &census);
    assert_int_equal(census.count, 1);
    assert_int_equal(census.residents[0].pid, seen);
    bury(skipped);
    bury(seen);
    census_free(&census);
    census_take(4000, NULL, 0, &census); /* no such jail */
    assert_int_equal(census.count, 0);
}

static void forgets_those_who_came_later(void **state)
{
    (void)state;
    pid_t pids[] = {sleeper(0, false), sleeper(0, true), sleeper(0, false)};
    struct census census;
    census_take(1, &pids[1], 1, &census);
    assert_int_equal(census.count, 2);
    census_drop_younger(&census, 1, pids[1]);
    assert_int_equal(census.count, 1);
    assert_int_equal(census.residents[0].pid, pids[0]);
    census_free(&census);
    for (size_t i = 0; i < 3; i++)
        bury(pids[i]);
}

static char state_of(pid_t pid)
{
    char path[32], state = '?';
    snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    FILE *stat = fopen(path, "re");
    assert_non_null(stat);
    assert_int_equal(fscanf(stat, "%*d (%*[^)]) %c", &state), 1);
    fclose(stat);
    return state;
}

static void a_victim_is_held_if_it_is_to_be(void **state)
{
    (void)state;
    pid_t victim = sleeper(0, true), fresh = sleeper(0, false);
    assert_int_equal(clear_all(true, victim, NULL, 0, NULL), 1);
    assert_int_equal(state_of(victim), 'T');
    expect_ended(fresh);
    assert_int_equal(clear_all(false, victim, NULL, 0, NULL), 0);
    expect_ended(victim);
    bury(victim);
    bury(fresh);
}

static void ends_all_but_those_it_is_told_to_spare(void **state)
{
    (void)state;
    pid_t old = sleeper(0, false);
    struct census census;
    census_take(1, NULL, 0, &census);
    pid_t leader = sleeper(0, true), fresh = sleeper(0, false), victim = sleeper(0, true);
    assert_int_equal(clear_all(false, victim, &leader, 1, &census), 1);
    assert_true(is_alive(old));
    assert_true(is_alive(leader));
    expect_ended(fresh);
    expect_ended(victim);
    /* A victim is one though it was there before. */
    assert_int_equal(clear_all(false, old, &leader, 1, &census), 0);
    expect_ended(old);
    assert_int_equal(clear_all(false, 0, NULL, 0, NULL), 1);
    expect_ended(leader);
    assert_int_equal(clear_all(false, 0, NULL, 0, NULL), 0); /* the dead are not ended again */
    pid_t all[] = {old, leader, fresh, victim};
    for (size_t i = 0; i < ARRAY_LEN(all); i++)
        bury(all[i]);
    census_free(&census);
}

static void a_pid_that_came_back_is_a_stranger(void **state)
{
    (void)state;
    pid_t pid = sleeper(300, false);
    struct census census;
    census_take(1, NULL, 0, &census);
    bury(pid);
    usleep(20000); /* start times are counted in hundredths of a second */
    assert_int_equal(sleeper(300, false), 300);
    assert_int_equal(clear_all(false, 0, NULL, 0, &census), 1);
    expect_ended(300);
    bury(300);
    census_free(&census);
}

static void *wait_for_ever(void *context)
{
    (void)context;
    for (;;)
        pause();
    return NULL;
}

/* It looks like one that has ended, and has not. */
static void a_thread_does_not_outlive_the_clearing(void **state)
{
    (void)state;
    pid_t pid = fork();
    if (pid == 0) {
        pthread_t thread;
        pthread_create(&thread, NULL, wait_for_ever, NULL);
        syscall(SYS_exit, 0);
    }
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    for (bool is_zombie = false; !is_zombie;) {
        _free_ char *text = NULL;
        assert_int_equal(fd_read_file(AT_FDCWD, path, KIB, &text, NULL), 0);
        is_zombie = strstr(text, ") Z ") != NULL;
    }
    assert_true(is_alive(pid));
    assert_int_equal(clear_all(false, 0, NULL, 0, NULL), 1);
    expect_ended(pid);
    bury(pid);
}

static void what_cannot_be_dumped_is_ended_too(void **state)
{
    (void)state;
    assert_int_equal(prctl(PR_SET_DUMPABLE, 0), 0);
    pid_t pid = sleeper(0, false);
    assert_int_equal(prctl(PR_SET_DUMPABLE, 1), 0);
    assert_int_equal(clear_all(false, 0, NULL, 0, NULL), 1);
    expect_ended(pid);
    bury(pid);
}

static void a_name_cannot_lie_about_the_rest(void **state)
{
    (void)state;
    assert_int_equal(prctl(PR_SET_NAME, ") Z 0 0 0 0 0 4"), 0);
    pid_t pid = sleeper(0, false); /* inherits the name */
    assert_int_equal(clear_all(false, 0, NULL, 0, NULL), 1);
    expect_ended(pid);
    bury(pid);
}

static void namespaces_below_are_jails_of_their_own(void **state)
{
    (void)state;
    pid_t init = sys_clone3(CLONE_NEWPID, SIGCHLD, NULL, -1);
    if (init == 0)
        for (;;)
            pause();
    assert_true(init > 1);
    assert_false(census_is_same_jail(init, 1));
    assert_int_equal(census_inner_pid(init), 1);
    assert_int_equal(clear_all(false, 0, NULL, 0, NULL), 0);
    assert_true(is_alive(init));
    bury(init);
}

static int run(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lists_who_is_there),
        cmocka_unit_test(forgets_those_who_came_later),
        cmocka_unit_test(a_victim_is_held_if_it_is_to_be),
        cmocka_unit_test(ends_all_but_those_it_is_told_to_spare),
        cmocka_unit_test(a_pid_that_came_back_is_a_stranger),
        cmocka_unit_test(a_thread_does_not_outlive_the_clearing),
        cmocka_unit_test(what_cannot_be_dumped_is_ended_too),
        cmocka_unit_test(a_name_cannot_lie_about_the_rest),
        cmocka_unit_test(namespaces_below_are_jails_of_their_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

static int run_as_init(void)
{
    if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
        mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) < 0) {
        perror("cannot mount /proc");
        return 1;
    }
    return run();
}

int main(void)
{
    setvbuf(stdout, NULL, _IONBF, 0);
    pid_t pid = sys_clone3(CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNS, SIGCHLD, NULL, -1);
    if (pid == 0)
        _exit(run_as_init());
    int status;
    return pid > 0 && waitpid(pid, &status, 0) == pid && status == 0 ? 0 : 1;
}
