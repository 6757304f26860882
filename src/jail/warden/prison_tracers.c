/* Tracing (ptrace), which sessions with `debug` may do among their own processes. Who traces a
 * process hears of its end before its parent does, and until then nobody can reap it. So a tracer
 * could hold back the end of an interpreter that the warden ended, and the end of a whole room. One
 * that has not listened after a moment is ended itself. */
#include "base/clock.h"
#include "base/fd.h"
#include "jail/warden/prison.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>

enum { LISTEN_MS = 50 };

/* Who traces the thread whose directory this is; 0: nobody, or nobody below the warden. */
static pid_t tracer_of(int dir, bool *ret_is_over)
{
    static const char tracer[] = "\nTracerPid:", state[] = "\nState:\t";
    _free_ char *status = NULL;
    *ret_is_over = false;
    if (fd_read_file(dir, "status", 64 * KIB, &status, NULL) < 0)
        return 0;
    const char *is_over = strstr(status, state), *pid = strstr(status, tracer);
    *ret_is_over =
        is_over != NULL && (is_over[strlen(state)] == 'Z' || is_over[strlen(state)] == 'X');
    return pid != NULL ? (pid_t)strtol(pid + strlen(tracer), NULL, 10) : 0;
}

/* Those of its threads that have ended and are still there. The warden itself traces nobody for
 * long (warden_main.c). */
static void end_tracers_of(pid_t pid)
{
    char path[64];
    struct dirent *entry;
    snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
    DIR *tasks = opendir(path);
    while (tasks != NULL && (entry = readdir(tasks)) != NULL) {
        bool is_over;
        _fd_ int dir = isdigit((unsigned char)entry->d_name[0])
                           ? openat(dirfd(tasks), entry->d_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
                           : -1;
        pid_t tracer = dir >= 0 ? tracer_of(dir, &is_over) : 0;
        if (tracer > 0 && tracer != getpid() && is_over)
            kill(tracer, SIGKILL);
    }
    if (tasks != NULL)
        closedir(tasks);
}

static void look_soon(void)
{
    prison.tracers_at_ms = clock_mono_ms() + LISTEN_MS;
}

void prison_expect_end(struct inmate *i)
{
    if (i->jail->limits.debug == 0 || !list_is_empty(&i->expected))
        return;
    list_append(&prison.expected_ends, &i->expected);
    look_soon();
}

void prison_expect_end_of_room(struct jail *j)
{
    if (j->limits.debug == 0 || j->source == NULL || j->init_pid == 0 ||
        !list_is_empty(&j->expected))
        return;
    j->namespace = census_namespace(j->init_pid);
    list_append(&prison.expected_rooms, &j->expected);
    look_soon();
}

int64_t prison_end_tracers(void)
{
    if (list_is_empty(&prison.expected_ends) && list_is_empty(&prison.expected_rooms))
        return -1;
    uint64_t now_ms = clock_mono_ms();
    if (now_ms < prison.tracers_at_ms)
        return (int64_t)(prison.tracers_at_ms - now_ms);
    LIST_EACH(&prison.expected_ends, at)
        end_tracers_of(CONTAINER_OF(at, struct inmate, expected)->pid);
    LIST_EACH(&prison.expected_rooms, at) {
        /* A room's own /proc went with its init, so all processes are looked at. Only those can be
         * meant whose namespace is the room's. */
        struct dirent *entry;
        DIR *proc = opendir("/proc");
        while (proc != NULL && (entry = readdir(proc)) != NULL) {
            pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);
            if (pid > 0 &&
                census_namespace(pid) == CONTAINER_OF(at, struct jail, expected)->namespace)
                end_tracers_of(pid);
        }
        if (proc != NULL)
            closedir(proc);
    }
    look_soon();
    return LISTEN_MS;
}

bool prison_is_traced(const struct jail *j, pid_t pid)
{
    char path[64];
    bool is_over;
    if (j->limits.debug == 0)
        return false;
    snprintf(path, sizeof(path), "/proc/%d", (int)pid);
    _fd_ int dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return dir >= 0 && tracer_of(dir, &is_over) > 0;
}
