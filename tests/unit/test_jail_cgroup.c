/* Against a directory that looks like a cgroup: what is written where, and what is read from it.
 * The real thing is tested by tests/e2e and, for v2, by tests/vm. */
#include "base/fd.h"
#include "jail/warden/cgroup.h"
#include "unit.h"

#include <fcntl.h>
#include <sys/stat.h>

static const char *const files[] = {
    "memory.limit_in_bytes",
    "memory.memsw.limit_in_bytes",
    "memory.oom_control",
    "cpu.cfs_quota_us",
    "memory.max",
    "memory.swap.max",
    "memory.events",
    "memory.peak",
    "memory.max_usage_in_bytes",
    "pids.max",
    "pids.events",
    "cpu.max",
};

struct fixture {
    char path[64];
    struct cgroup_parent parent;
    struct cgroup group;
};

static void in_group(const char *file, char out[64])
{
    snprintf(out, 64, "jail-0/%s", file);
}

static int make(void **state)
{
    static struct fixture f;
    f = (struct fixture){.path = "/tmp/cella-cgroup-XXXXXX", .group = {.name = "jail-0"}};
    assert_non_null(mkdtemp(f.path));
    for (int c = 0; c < CGROUP_CONTROLLERS; c++) {
        f.parent.dirs[c] = open(f.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        assert_true(f.parent.dirs[c] >= 0);
        f.parent.has[c] = true;
    }
    assert_int_equal(mkdirat(f.parent.dirs[0], "jail-0", 0700), 0);
    for (size_t i = 0; i < ARRAY_LEN(files); i++) {
        char path[64];
        in_group(files[i], path);
        assert_int_equal(fd_create_file(f.parent.dirs[0], path, "", 0, 0600), 0);
    }
    *state = &f;
    return 0;
}

static int clean(void **state)
{
    struct fixture *f = *state;
    for (size_t i = 0; i < ARRAY_LEN(files); i++) {
        char path[64];
        in_group(files[i], path);
        unlinkat(f->parent.dirs[0], path, 0);
    }
    unlinkat(f->parent.dirs[0], "jail-0", AT_REMOVEDIR);
    for (int c = 0; c < CGROUP_CONTROLLERS; c++)
        close(f->parent.dirs[c]);
    return rmdir(f->path);
}

static void expect(const struct fixture *f, const char *file, const char *content)
{
    char path[64];
    _free_ char *text = NULL;
    in_group(file, path);
    assert_int_equal(fd_read_file(f->parent.dirs[0], path, 4096, &text, NULL), 0);
    assert_string_equal(text, content);
}

static const struct jail_limits limits = {.memory_mb = 4096, .cpu_percent = 250, .pids = 20};

static void v2_limits(void **state)
{
    struct fixture *f = *state;
    struct err e;
    f->parent.version = 2;
    assert_int_equal(cgroup_set_limits(&f->parent, &f->group, &limits, &e), 0);
    expect(f, "memory.max", "4294967296");
    expect(f, "memory.swap.max", "0");
    expect(f, "pids.max", "21"); /* and the jail's init */
    expect(f, "cpu.max", "250000 100000");
    expect(f, "memory.limit_in_bytes", "");
}

static void v1_limits(void **state)
{
    struct fixture *f = *state;
    struct err e;
    f->parent.version = 1;
    assert_int_equal(cgroup_set_limits(&f->parent, &f->group, &limits, &e), 0);
    expect(f, "memory.limit_in_bytes", "4294967296");
    expect(f, "memory.memsw.limit_in_bytes", "4294967296");
    expect(f, "pids.max", "21");
    expect(f, "cpu.cfs_quota_us", "250000");
    expect(f, "memory.max", "");
}

static void what_is_not_there_is_not_set(void **state)
{
    struct fixture *f = *state;
    struct err e;
    f->parent.version = 2;
    f->parent.has[CGROUP_MEMORY] = false;
    assert_int_equal(cgroup_set_limits(&f->parent, &f->group, &limits, &e), 0);
    expect(f, "memory.max", "");
    expect(f, "pids.max", "21");
    assert_int_equal(cgroup_oom_kills(&f->parent, &f->group), 0);
}

static void a_limit_that_cannot_be_set_is_an_error(void **state)
{
    struct fixture *f = *state;
    struct err e;
    f->parent.version = 2;
    assert_int_equal(unlinkat(f->parent.dirs[0], "jail-0/pids.max", 0), 0);
    assert_int_equal(cgroup_set_limits(&f->parent, &f->group, &limits, &e), -1);
    assert_non_null(strstr(e.message, "jail-0"));
}

/* No file of a cgroup appears in a plain directory, so the group is half made. */
static void a_half_made_group_is_removed(void **state)
{
    struct fixture *f = *state;
    struct cgroup group;
    struct err e;
    f->parent.version = 2;
    assert_int_equal(cgroup_make(&f->parent, "jail-1", &limits, &group, &e), -1);
    assert_int_equal(group.n_join_fds, 0);
    assert_string_equal(group.name, ""); /* nothing of it is left, or clean() says so */
}

/* Somebody may be in a group that exists; and what its name was, no other's is. */
static void no_group_has_the_name_of_another(void **state)
{
    struct fixture *f = *state;
    struct cgroup one, two;
    struct err e;
    f->parent.version = 2;
    for (int c = 0; c < CGROUP_CONTROLLERS; c++)
        f->parent.has[c] = false; /* no limits, which no file here would take */
    int spare[] = {f->parent.dirs[1], f->parent.dirs[2]};
    f->parent.dirs[1] = f->parent.dirs[2] = -1;
    assert_int_equal(cgroup_make(&f->parent, "jail-1", &limits, &one, &e), 0);
    assert_true(cgroup_remove(&f->parent, &one));
    assert_int_equal(cgroup_make(&f->parent, "jail-1", &limits, &one, &e), 0);
    unsigned long long number = strtoull(strrchr(one.name, '-') + 1, NULL, 10);
    char taken[32];
    snprintf(taken, sizeof(taken), "jail-1-%llu", number + 1);
    assert_int_equal(mkdirat(f->parent.dirs[0], taken, 0700), 0);
    assert_int_equal(cgroup_make(&f->parent, "jail-1", &limits, &two, &e), 0);
    assert_int_equal(strtoull(strrchr(two.name, '-') + 1, NULL, 10), number + 2);
    assert_true(cgroup_remove(&f->parent, &one));
    assert_true(cgroup_remove(&f->parent, &two));
    assert_int_equal(unlinkat(f->parent.dirs[0], taken, AT_REMOVEDIR), 0);
    f->parent.dirs[1] = spare[0];
    f->parent.dirs[2] = spare[1];
}

static void set(const struct fixture *f, const char *file, const char *text)
{
    char path[64];
    in_group(file, path);
    assert_int_equal(fd_create_file(f->parent.dirs[0], path, text, strlen(text), 0600), 0);
}

static void kills_are_counted(void **state)
{
    struct fixture *f = *state;
    f->parent.version = 2;
    set(f, "memory.events", "low 0\nhigh 0\nmax 40\noom 3\noom_kill 2\noom_group_kill 7\n");
    assert_int_equal(cgroup_oom_kills(&f->parent, &f->group), 2);
    f->parent.version = 1;
    set(f, "memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 5\n");
    assert_int_equal(cgroup_oom_kills(&f->parent, &f->group), 5);
    set(f, "memory.oom_control", "oom_kill_disable 0\nunder_oom 0\n"); /* before Linux 4.13 */
    assert_int_equal(cgroup_oom_kills(&f->parent, &f->group), 0);
}

static void use_and_refusals_are_counted(void **state)
{
    struct fixture *f = *state;
    f->parent.version = 2;
    set(f, "memory.peak", "5368709120\n");
    set(f, "pids.events", "max 12\n");
    assert_int_equal(cgroup_peak_bytes(&f->parent, &f->group), 5368709120);
    assert_int_equal(cgroup_pids_refused(&f->parent, &f->group), 12);
    f->parent.version = 1;
    set(f, "memory.max_usage_in_bytes", "4096\n");
    assert_int_equal(cgroup_peak_bytes(&f->parent, &f->group), 4096);
    assert_int_equal(cgroup_pids_refused(&f->parent, &f->group), 12);
    /* Kernels before 5.19 have no such file in v2. */
    f->parent.version = 2;
    assert_int_equal(unlinkat(f->parent.dirs[0], "jail-0/memory.peak", 0), 0);
    assert_int_equal(cgroup_peak_bytes(&f->parent, &f->group), 0);
    f->parent.has[CGROUP_PIDS] = false;
    assert_int_equal(cgroup_pids_refused(&f->parent, &f->group), 0);
}

static void without_groups_nothing_is_made(void **state)
{
    struct fixture *f = *state;
    struct cgroup group;
    struct err e;
    f->parent.version = 0;
    assert_int_equal(cgroup_make(&f->parent, "jail-1", &limits, &group, &e), 0);
    assert_string_equal(group.name, "");
    assert_int_equal(cgroup_open_warden_group(&f->parent), -1);
    cgroup_remove(&f->parent, &group);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(v2_limits, make, clean),
        cmocka_unit_test_setup_teardown(v1_limits, make, clean),
        cmocka_unit_test_setup_teardown(what_is_not_there_is_not_set, make, clean),
        cmocka_unit_test_setup_teardown(a_limit_that_cannot_be_set_is_an_error, make, clean),
        cmocka_unit_test_setup_teardown(a_half_made_group_is_removed, make, clean),
        cmocka_unit_test_setup_teardown(no_group_has_the_name_of_another, make, clean),
        cmocka_unit_test_setup_teardown(kills_are_counted, make, clean),
        cmocka_unit_test_setup_teardown(use_and_refusals_are_counted, make, clean),
        cmocka_unit_test_setup_teardown(without_groups_nothing_is_made, make, clean),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
