#include "session/death.h"
#include "unit.h"

#include <signal.h>

#define EXIT_STATUS(code) ((code) << 8)

static const struct {
    struct death_facts facts;
    const char *name;
    const char *words; /* in the message */
    int exit_code;     /* -1: none */
} cases[] = {
    {{.has_status = true, .status = EXIT_STATUS(3)}, "Exited", "exit code 3", 3},
    {{.has_status = true, .status = SIGSEGV}, "Crashed", "signal 11", 139},
    {{.has_status = true, .status = SIGKILL, .oom_kills = 1, .limits = {.memory_mb = 64}},
     "OutOfMemory",
     "more memory than its 64 MB (files in /tmp count) and was killed",
     137},
    {{.has_status = true,
      .status = SIGKILL,
      .oom_kills = 1,
      .peak_bytes = 512 * MIB,
      .limits = {.memory_mb = 512, .checkpoint_mb = 512}},
     "OutOfMemory",
     "its 512 MB (files in /tmp count) and was killed; its highest use was 512 MB",
     137},
    {{.has_status = true,
      .status = SIGKILL,
      .oom_kills = 1,
      .peak_bytes = 1024 * MIB - 1,
      .limits = {.memory_mb = 512, .checkpoint_mb = 512}},
     "OutOfMemory",
     "and 512 MB for checkpoints, and was killed; its highest use was 1024 MB",
     137},
    {{.has_status = true, .status = SIGABRT, .is_heap_exhausted = true},
     "OutOfMemory",
     "heap ran out of memory",
     134},
    {{.has_status = true, .status = SIGTRAP, .is_heap_exhausted = true},
     "OutOfMemory",
     "heap ran out of memory",
     133},
    {{.has_status = true, .status = SIGABRT, .pids_refused = 3, .limits = {.pids = 16}},
     "ProcessLimit",
     "limit of 16 processes",
     134},
    {{.has_status = true, .status = SIGABRT}, "Crashed", "SIGABRT", 134},
    {{.has_status = true, .status = SIGKILL}, "Killed", "from inside", 137},
    {{.has_status = true, .status = SIGSYS}, "ForbiddenCall", "system call", 159},
    {{.has_status = true, .status = SIGSYS, .denied = "unshare"}, "ForbiddenCall", "unshare", 159},
    {{.has_status = true, .status = SIGXCPU}, "CpuLimit", "processor", 152},
    {{.has_status = true, .status = SIGXFSZ, .limits = {.disk_mb = 5}},
     "DiskQuota",
     "limit of 5 MB",
     153},
    {{.has_status = true, .status = SIGBUS, .is_over_quota = true}, "DiskQuota", "/workspace", 135},
    {{.has_status = true, .status = SIGBUS}, "Crashed", "signal 7", 135},
    {{.wish = DEATH_BY_IDLENESS, .seconds = 600}, "IdleLimit", "for 600 s", -1},
    {{.wish = DEATH_BY_AGE, .seconds = 60}, "AgeLimit", "age of 60 s", -1},
    {{.wish = DEATH_BY_SETUP, .detail = "cannot use it"}, "NotStarted", "cannot use it", -1},
    {{.wish = DEATH_BY_SUCCESSOR, .has_status = true, .status = SIGKILL},
     "TimeLimit",
     "overdue",
     137},
    {{.wish = DEATH_BY_CALLER}, "Killed", "killed by its caller", -1},
    {{.wish = DEATH_BY_LIMIT, .has_status = true, .status = SIGKILL, .timeout_ms = 50},
     "TimeLimit",
     "time limit of 50 ms, ignored the interrupt and was killed (SIGKILL)",
     137},
    {{.wish = DEATH_BY_CHANNEL, .has_status = true, .status = SIGKILL, .detail = "garbage"},
     "ControlChannel",
     "damaged the control channel: garbage",
     137},
    {{.wish = DEATH_BY_CLOSING, .has_status = true, .status = SIGKILL}, "Killed", "inside", 137},
    /* An interpreter that exits closes its channel first. */
    {{.wish = DEATH_BY_CHANNEL, .has_status = true, .status = EXIT_STATUS(9)},
     "Exited",
     "exit code 9",
     9},
    {{.wish = DEATH_BY_CHANNEL, .has_status = true, .status = SIGKILL, .oom_kills = 2},
     "OutOfMemory",
     "memory",
     137},
    {{.wish = DEATH_BY_STOP}, "DaemonStop", "stopping", -1},
    {{.wish = DEATH_BY_REFUSAL, .detail = "no cgroup"}, "NotStarted", "no cgroup", -1},
    {{.wish = DEATH_BY_WARDEN, .detail = "it crashed"}, "SandboxLost", "it crashed", -1},
};

static void test_every_cause(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct death death;
        death_certify(&cases[i].facts, &death);
        assert_string_equal(death.name, cases[i].name);
        if (strstr(death.message, cases[i].words) == NULL)
            fail_msg("\"%s\" is not in \"%s\"", cases[i].words, death.message);
        assert_true(strlen(death.advice) > 10);
        assert_int_equal(death.has_exit_code ? death.exit_code : -1, cases[i].exit_code);
    }
}

/* Cells that fail because of a limit, and live. */
static void test_advice_for_a_cell(void **state)
{
    static const struct {
        const char *name, *message;
        bool has_denied;
        const char *words; /* NULL if no advice */
    } failures[] = {
        {"MemoryError", "", false, "memory_mb"},
        {"RangeError", "Array buffer allocation failed", false, "memory_mb"},
        {"OSError", "[Errno 28] No space left on device: 'x'", false, "disk_mb"},
        {"OSError", "[Errno 28] No space left on device: '/workspace/x'", false,
         "/workspace is at its limit. Delete"},
        {"OSError", "[Errno 28] No space left on device: '/tmp/x'", false, "/tmp is full"},
        {"OSError", "[Errno 28] No space left on device", false, "or /tmp, which holds 256 MB"},
        {"Error", "ENOSPC: no space left on device, open '/tmp/x'", false, "/tmp is full"},
        {"OSError", "[Errno 27] File too large", false, "disk_mb"},
        {"Error", "ENOSPC: no space left on device, write", false, "disk_mb"},
        {"BlockingIOError", "[Errno 11] Resource temporarily unavailable", false, "limits.pids"},
        {"RuntimeError", "can't start new thread", false, "limits.pids"},
        {"Error", "spawn ls EAGAIN", false, "limits.pids"},
        {"PermissionError", "[Errno 1] Operation not permitted", true, "denied"},
        {"PermissionError", "[Errno 1] Operation not permitted", false, NULL},
        {"ValueError", "invalid literal", true, NULL},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(failures); i++) {
        const char *advice =
            death_advise(failures[i].name, failures[i].message, failures[i].has_denied);
        assert_int_equal(advice != NULL, failures[i].words != NULL);
        if (advice != NULL)
            assert_non_null(strstr(advice, failures[i].words));
    }
}

static void test_advice_for_an_exit(void **state)
{
    (void)state;
    static const struct {
        const char *runtime, *words;
    } runtimes[] = {{"python", "sys.exit"}, {"node", "thrown"}, {"bash", "( ... )"}};
    for (size_t i = 0; i < ARRAY_LEN(runtimes); i++) {
        struct death_facts facts = {
            .has_status = true, .status = EXIT_STATUS(1), .runtime = runtimes[i].runtime};
        struct death death;
        death_certify(&facts, &death);
        assert_non_null(strstr(death.advice, runtimes[i].words));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_cause),
        cmocka_unit_test(test_advice_for_a_cell),
        cmocka_unit_test(test_advice_for_an_exit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
