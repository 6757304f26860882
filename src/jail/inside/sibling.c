/* Forks whose child is the warden's. Runs in a jail. */
#include "jail/inside/sibling.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>

enum {
    /* A thread that was joined a moment ago is still on its way out of the kernel. */
    LEAVING_TRIES = 10,
    LEAVING_WAIT_NS = 100 * 1000,
};

/* clone3 would say it better, and is refused by the filter: its arguments cannot be checked. Who
 * traces the caller and what it starts does not trace the copy. */
static long clone_sibling(int *tid_address)
{
    unsigned long flags =
        CLONE_PARENT | CLONE_UNTRACED | CLONE_CHILD_SETTID | CLONE_CHILD_CLEARTID | SIGCHLD;
#if defined(__x86_64__)
    return syscall(SYS_clone, flags, 0L, NULL, tid_address, 0L);
#else
    return syscall(SYS_clone, flags, 0L, NULL, 0L, tid_address);
#endif
}

pid_t sibling_fork(void)
{
    int *tid_address = NULL;
    struct robust_list_head *robust = NULL;
    size_t robust_size = 0;
    /* What libc's fork does besides: the thread id that it keeps becomes the child's, and the list
     * of robust mutexes, which no child inherits, is told to the kernel again. */
    if (prctl(PR_GET_TID_ADDRESS, &tid_address, 0, 0, 0) < 0)
        return -errno;
    if (syscall(SYS_get_robust_list, 0, &robust, &robust_size) < 0)
        robust = NULL;
    /* From its first moment on nobody may look into the copy. */
    int was_dumpable = prctl(PR_GET_DUMPABLE, 0, 0, 0, 0);
    if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
        return -errno;
    long pid = clone_sibling(tid_address);
    int errnum = errno;
    if (pid != 0 && was_dumpable == 1)
        prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
    if (pid == 0 && robust != NULL)
        syscall(SYS_set_robust_list, robust, robust_size);
    return pid < 0 ? -errnum : (pid_t)pid;
}

/* The links of the directory are two and its threads: cheaper than listing them. */
static int count_tasks(void)
{
    struct stat st;
    return stat("/proc/self/task", &st) < 0 ? -errno : (int)st.st_nlink - 2;
}

int sibling_count_threads(void)
{
    int count = count_tasks();
    for (int i = 0; count > 1 && i < LEAVING_TRIES; i++) {
        nanosleep(&(struct timespec){.tv_nsec = LEAVING_WAIT_NS}, NULL);
        count = count_tasks();
    }
    return count;
}

/* The beginning of a file of /proc as text; "" if it cannot be read. */
static void read_text(const char *path, char *out, size_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, out, size - 1);
    if (fd >= 0)
        close(fd);
    out[MAX(n, 0)] = '\0';
}

bool sibling_is_traced(char ret_tracer[SIBLING_TRACER_SIZE])
{
    static const char member[] = "\nTracerPid:";
    char status[1024], path[64], name[32];
    read_text("/proc/self/status", status, sizeof(status)); /* it is among the first lines */
    const char *line = strstr(status, member);
    long pid = line != NULL ? strtol(line + strlen(member), NULL, 10) : 0;
    if (pid == 0)
        return false;
    snprintf(path, sizeof(path), "/proc/%ld/comm", pid);
    read_text(path, name, sizeof(name));
    name[strcspn(name, "\n")] = '\0';
    for (char *c = name; *c != '\0'; c++) /* a process may have any name */
        *c = *c >= ' ' && *c <= '~' ? *c : '?';
    snprintf(ret_tracer, SIBLING_TRACER_SIZE, "%s (process %ld)", name, pid);
    return true;
}
