/* The box's side. Each wall is one that the kernel holds after this code was taken over. */
#include "loop/walls.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <seccomp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>

static int walls_set_limit(int resource, rlim_t most)
{
    return setrlimit((__rlimit_resource_t)resource, &(struct rlimit){most, most});
}

int walls_limit(const struct walls_limits *limits)
{
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0 ||
        prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
        syscall(SYS_close_range, limits->n_fds, ~0U, 0) < 0)
        return -errno;
    alarm(limits->seconds);
    if (walls_set_limit(RLIMIT_CPU, limits->seconds) < 0 || walls_set_limit(RLIMIT_CORE, 0) < 0 ||
        walls_set_limit(RLIMIT_FSIZE, limits->file_bytes) < 0)
        return -errno;
    if (!WALLS_SANITIZED && walls_set_limit(RLIMIT_AS, limits->memory) < 0)
        return -errno;
    return 0;
}

/* ---- files ----------------------------------------------------------------------------------- */

/* Newer than this libc's headers. */
struct walls_ruleset {
    uint64_t handled_access_fs;
    uint64_t handled_access_net;
    uint64_t scoped;
};

enum { WALLS_REFER = 1 << 13, WALLS_TRUNCATE = 1 << 14, WALLS_IOCTL_DEV = 1 << 15 };

static int walls_add_path(int ruleset, const struct walls_path *path, long abi)
{
    struct stat st;
    uint64_t access = LANDLOCK_ACCESS_FS_READ_FILE;
    _fd_ int fd = open(path->path, O_PATH | O_CLOEXEC);
    if (fd < 0)
        return errno == ENOENT || errno == EACCES ? 0 : -errno;
    if (fstat(fd, &st) < 0)
        return -errno;
    if (path->access == WALLS_EXECUTE)
        access |= LANDLOCK_ACCESS_FS_EXECUTE;
    if (path->access == WALLS_WRITE)
        access |= LANDLOCK_ACCESS_FS_WRITE_FILE | (abi >= 3 ? WALLS_TRUNCATE : 0);
    if (path->access == WALLS_WRITE && S_ISDIR(st.st_mode))
        access |= LANDLOCK_ACCESS_FS_MAKE_REG | LANDLOCK_ACCESS_FS_REMOVE_FILE;
    if (S_ISDIR(st.st_mode))
        access |= LANDLOCK_ACCESS_FS_READ_DIR;
    struct landlock_path_beneath_attr rule = {.allowed_access = access, .parent_fd = fd};
    return syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0) < 0
               ? -errno
               : 0;
}

int walls_files(const struct walls_path *paths, size_t n_paths)
{
    enum { SCOPE_ABSTRACT_UNIX_SOCKET = 1 << 0, SCOPE_SIGNAL = 1 << 1 };
    long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
    if (abi < 1)
        return -ENOSYS;
    struct walls_ruleset attr = {
        .handled_access_fs = ((LANDLOCK_ACCESS_FS_MAKE_SYM << 1) - 1) |
                             (abi >= 2 ? WALLS_REFER : 0) | (abi >= 3 ? WALLS_TRUNCATE : 0) |
                             (abi >= 5 ? WALLS_IOCTL_DEV : 0),
        .scoped = SCOPE_ABSTRACT_UNIX_SOCKET | SCOPE_SIGNAL,
    };
    size_t size = abi >= 6 ? sizeof(attr) : sizeof(attr.handled_access_fs);
    _fd_ int ruleset = (int)syscall(SYS_landlock_create_ruleset, &attr, size, 0);
    if (ruleset < 0)
        return -errno;
    for (size_t i = 0; i < n_paths; i++) {
        int error = walls_add_path(ruleset, &paths[i], abi);
        if (error < 0)
            return error;
    }
    return syscall(SYS_landlock_restrict_self, ruleset, 0) < 0 ? -errno : 0;
}

/* ---- system calls ---------------------------------------------------------------------------- */

struct walls_filter walls_filter(bool is_mild)
{
    struct walls_filter f = {
        .context = seccomp_init(is_mild ? SCMP_ACT_ERRNO(EPERM) : SCMP_ACT_KILL_PROCESS)};
    f.error = f.context == NULL ? -ENOMEM : 0;
    return f;
}

void walls_allow(struct walls_filter *f, const int *calls, size_t n_calls)
{
    for (size_t i = 0; f->error == 0 && i < n_calls; i++)
        f->error = seccomp_rule_add(f->context, SCMP_ACT_ALLOW, calls[i], 0);
}

void walls_allow_on(struct walls_filter *f, int call, int fd)
{
    if (f->error == 0)
        f->error = seccomp_rule_add(f->context, SCMP_ACT_ALLOW, call, 1,
                                    SCMP_A0(SCMP_CMP_EQ, (scmp_datum_t)fd, 0));
}

void walls_allow_memory(struct walls_filter *f)
{
    static const int calls[] = {SCMP_SYS(brk), SCMP_SYS(munmap), SCMP_SYS(mremap),
                                SCMP_SYS(madvise), SCMP_SYS(exit_group)};
    if (f->error == 0)
        f->error = seccomp_rule_add(f->context, SCMP_ACT_ALLOW, SCMP_SYS(mmap), 2,
                                    SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0),
                                    SCMP_A3(SCMP_CMP_MASKED_EQ, MAP_ANONYMOUS, MAP_ANONYMOUS));
    walls_allow(f, calls, ARRAY_LEN(calls));
    if (WALLS_SANITIZED) /* looks where the stack is, before the end */
        walls_allow(f, (const int[]){SCMP_SYS(sigaltstack)}, 1);
}

void walls_allow_mapping(struct walls_filter *f)
{
    if (f->error == 0)
        f->error = seccomp_rule_add(f->context, SCMP_ACT_ALLOW, SCMP_SYS(mmap), 1,
                                    SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0));
    if (f->error == 0)
        f->error = seccomp_rule_add(f->context, SCMP_ACT_ALLOW, SCMP_SYS(mmap), 2,
                                    SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_WRITE, 0),
                                    SCMP_A3(SCMP_CMP_MASKED_EQ, MAP_ANONYMOUS, 0));
    if (f->error == 0)
        f->error = seccomp_rule_add(f->context, SCMP_ACT_ALLOW, SCMP_SYS(mprotect), 1,
                                    SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0));
}

void walls_allow_opening(struct walls_filter *f)
{
    if (f->error == 0)
        f->error = seccomp_rule_add(
            f->context, SCMP_ACT_ALLOW, SCMP_SYS(openat), 1,
            SCMP_A2(SCMP_CMP_MASKED_EQ, O_WRONLY | O_RDWR | O_CREAT | O_TRUNC | O_APPEND, 0));
}

int walls_load(struct walls_filter *f)
{
    if (f->error == 0)
        f->error = seccomp_load(f->context);
    seccomp_release(f->context);
    return f->error;
}

int walls_forbid(int call, int error)
{
    struct walls_filter f = {.context = seccomp_init(SCMP_ACT_ALLOW)};
    f.error = f.context == NULL
                  ? -ENOMEM
                  : seccomp_rule_add(f.context, SCMP_ACT_ERRNO((uint32_t)error), call, 0);
    return walls_load(&f);
}
