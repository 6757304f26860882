/* One zygote: started, asked to fork, freed. Warden; owns its socket and its errors' pipe. */
#include "jail/warden/zygote.h"

#include "base/fd.h"
#include "jail/inside/zygote_serve.h"
#include "jail/syscalls.h"
#include "jail/warden/image.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>

enum { EXIT_CANNOT_EXEC = 127 };

/* All that an interpreter of ours knows of the world. One thread for BLAS and OpenMP: a process
 * with threads cannot be forked safely. A session may ask for more (drivers/python/parallel.py);
 * launch_main.c has as many as there are. */
static char *const zygote_environment[] = {
    "PATH=/usr/local/bin:/usr/bin:/bin",
    "HOME=" JAIL_WORKSPACE,
    "USER=cella",
    "LOGNAME=cella",
    "SHELL=/bin/bash",
    "LANG=C.UTF-8",
    "TMPDIR=/tmp",
    "XDG_CACHE_HOME=/tmp/.cache",
    "MPLBACKEND=Agg",
    "MPLCONFIGDIR=/tmp/.cache/matplotlib",
    "PYTHONDONTWRITEBYTECODE=1",
    /* There is no network: pip and npm say so at once, and install from files into the home. */
    "PIP_BREAK_SYSTEM_PACKAGES=1",
    "PIP_DISABLE_PIP_VERSION_CHECK=1",
    "PIP_RETRIES=0",
    "npm_config_fetch_retries=0",
    "npm_config_update_notifier=false",
    "OPENBLAS_NUM_THREADS=1",
    "OMP_NUM_THREADS=1",
    "MKL_NUM_THREADS=1",
    "NUMEXPR_NUM_THREADS=1",
    "BLIS_NUM_THREADS=1",
    "NUMBA_NUM_THREADS=1",
    "LSAN_OPTIONS=detect_leaks=0", /* it needs ptrace, and a program without it ends in an error */
    NULL,
};

/* The image with a /tmp, a /proc and a /dev/shm of its own: import-time code expects them. joblib,
 * for one, tries a named semaphore when it is imported, and works serially ever after without.
 * It becomes the root of a mount namespace, and not of a process only: what interpreters map here
 * has the same name in /proc/self/maps and /proc/self/exe of a session, in a tree of its own. */
static int enter_image(void)
{
    if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
        mount("tmp", IMAGE_ROOT "/tmp", "tmpfs", MS_NOSUID | MS_NODEV, "mode=1777,size=256m") < 0 ||
        mount("shm", IMAGE_ROOT "/dev/shm", "tmpfs", MS_NOSUID | MS_NODEV, "mode=1777,size=1m") <
            0 ||
        mount("proc", IMAGE_ROOT "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) < 0)
        return -errno;
    return image_become_root();
}

/* Moves the descriptors to their places; sources are first lifted above all of them. */
static int place_descriptors(int sock, int filter, int errors)
{
    int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    const int sources[] = {null, errors,
                           errors, [ZYGOTE_CONTROL_FD] = sock, [ZYGOTE_FILTER_FD] = filter};
    int lifted[ARRAY_LEN(sources)];
    for (size_t i = 0; i < ARRAY_LEN(sources); i++)
        if ((lifted[i] = fcntl(sources[i], F_DUPFD, 16)) < 0)
            return -errno;
    for (size_t i = 0; i < ARRAY_LEN(sources); i++)
        if (dup2(lifted[i], (int)i) < 0)
            return -errno;
    return sys_close_from(ARRAY_LEN(sources));
}

static _Noreturn void zygote_main(const char *const *argv, int sock, int filter, int errors)
{
    /* What our line of processes ignores, a user's programs must not inherit. Asked of the kernel
     * itself: libc would not touch the two signals that it keeps for its own use, and its
     * posix_spawn is where one of them may have come to be ignored. */
    static const char no_action[64]; /* the kernel's struct sigaction, all zero: SIG_DFL */
    for (int sig = 1; sig < NSIG; sig++)
        syscall(SYS_rt_sigaction, sig, no_action, NULL, (NSIG - 1) / 8);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    setsid();
    int r = enter_image();
    if (r == 0)
        r = place_descriptors(sock, filter, errors);
    if (r == 0) {
        execve(argv[0], (char *const *)(uintptr_t)argv, zygote_environment);
        r = -errno;
    }
    dprintf(errors, "cannot start %s: %s\n", argv[0], strerror(-r));
    _exit(EXIT_CANNOT_EXEC);
}

static int filter_as_file(const struct seccomp_blob *filter)
{
    int fd = memfd_create("filter", MFD_CLOEXEC);
    if (fd < 0)
        return -errno;
    int r = fd_write_all(fd, filter, sizeof(*filter));
    if (r < 0) {
        close(fd);
        return r;
    }
    return fd;
}

int zygote_start(uint32_t id, const char *const *argv, const struct seccomp_blob *filter,
                 struct zygote **ret, struct err *e)
{
    _fd_ int filter_fd = filter_as_file(filter);
    _fd_ int errors = memfd_create("errors", MFD_CLOEXEC);
    int pair[2];
    if (filter_fd < 0 || errors < 0 ||
        socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
        return err_errno(e, ERR_UNAVAILABLE, errno, "cannot make a zygote's descriptors");
    _fd_ int ours = pair[0];
    _fd_ int theirs = pair[1];
    pid_t pid = fork();
    if (pid == 0)
        zygote_main(argv, theirs, filter_fd, errors);
    if (pid < 0)
        return err_errno(e, ERR_UNAVAILABLE, errno, "cannot fork a zygote");
    struct zygote *z = mem_alloc(sizeof(*z));
    *z = (struct zygote){.id = id, .pid = pid, .sock = take_fd(&ours), .errors = take_fd(&errors)};
    list_init(&z->link);
    fd_set_nonblocking(z->sock, true);
    outbox_init(&z->out, z->sock);
    *ret = z;
    return 0;
}

int zygote_ask_fork(struct zygote *z, const struct jail_factory *factory, struct jail *j,
                    uint64_t head, int session_sock)
{
    struct zygote_fork order = {
        .head = head,
        .limits = j->limits,
        .cgroup_version = factory->cgroups.version,
        .has_memory_limit = factory->cgroups.has[CGROUP_MEMORY],
        .has_pids_limit = factory->cgroups.has[CGROUP_PIDS],
    };
    int r = cgroup_open_join_fds(&factory->cgroups, &j->cgroup);
    if (r < 0)
        return r;
    int fds[2 + CGROUP_CONTROLLERS] = {j->init_pidfd, session_sock};
    memcpy(fds + 2, j->cgroup.join_fds, j->cgroup.n_join_fds * sizeof(int));
    r = outbox_send(&z->out, &order, sizeof(order), fds, 2 + j->cgroup.n_join_fds);
    cgroup_close_join_fds(&j->cgroup); /* a thousand jails would hold too many */
    return r;
}

void zygote_read_errors(const struct zygote *z, char *out, size_t size)
{
    struct stat st;
    off_t start =
        fstat(z->errors, &st) == 0 && st.st_size >= (off_t)size ? st.st_size - (off_t)size + 1 : 0;
    ssize_t n = pread(z->errors, out, size - 1, start);
    out[MAX(n, 0)] = '\0';
}

void zygote_free(struct zygote *z)
{
    if (z == NULL)
        return;
    if (z->pid > 0)
        kill(z->pid, SIGKILL);
    outbox_free(&z->out);
    close(z->sock);
    close(z->errors);
    list_remove(&z->link);
    free(z);
}
