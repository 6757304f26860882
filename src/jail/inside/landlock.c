/* The rules of Landlock. Runs in whoever walks into a jail, before its last wall. */
#include "jail/inside/landlock.h"

#include "jail/spec.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <sys/syscall.h>

/* Newer than this libc's headers. */
struct ruleset_attr {
    uint64_t handled_access_fs;
    uint64_t handled_access_net;
    uint64_t scoped;
};

enum {
    FS_REFER = 1 << 13,
    FS_TRUNCATE = 1 << 14,
    FS_IOCTL_DEV = 1 << 15,
    SCOPE_ABSTRACT_UNIX_SOCKET = 1 << 0,
    SCOPE_SIGNAL = 1 << 1,
};

#define FS_READ                                                                                    \
    (LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR)
#define FS_ALL_V1 ((LANDLOCK_ACCESS_FS_MAKE_SYM << 1) - 1)
#define FS_DEVICES (LANDLOCK_ACCESS_FS_MAKE_CHAR | LANDLOCK_ACCESS_FS_MAKE_BLOCK)

int landlock_abi(void)
{
    long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
    return abi < 0 ? 0 : (int)abi;
}

static uint64_t handled_fs(int abi)
{
    uint64_t fs = FS_ALL_V1;
    if (abi >= 2)
        fs |= FS_REFER;
    if (abi >= 3)
        fs |= FS_TRUNCATE;
    if (abi >= 5)
        fs |= FS_IOCTL_DEV;
    return fs;
}

static int allow(int ruleset, const char *path, uint64_t access)
{
    _fd_ int fd = open(path, O_PATH | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    struct landlock_path_beneath_attr rule = {.allowed_access = access, .parent_fd = fd};
    if (syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0) < 0)
        return -errno;
    return 0;
}

/* In a branch's room /workspace, /tmp, /dev/shm and /proc are other mounts, whose roots no rule
 * made here can name, and above a mount's root the kernel goes on at the parent of its mount point.
 * So who may have branches gets its rights to them at those parents. What else is below is mounted
 * read-only, and belongs to somebody else. */
static int add_rules(int ruleset, uint64_t fs, bool may_branch)
{
    const uint64_t own = fs & ~(uint64_t)(FS_DEVICES | FS_IOCTL_DEV);
    const uint64_t use = (LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR |
                          LANDLOCK_ACCESS_FS_WRITE_FILE | FS_TRUNCATE | FS_IOCTL_DEV) &
                         fs;
    const struct {
        const char *path;
        uint64_t access;
    } rules[] = {
        {"/", may_branch ? own : FS_READ},
        {JAIL_WORKSPACE, own},
        {"/tmp", own},
        {"/dev/shm", own},
        {"/dev", use},
        {"/proc", use},
    };
    for (size_t i = 0; i < ARRAY_LEN(rules); i++) {
        int r = allow(ruleset, rules[i].path, rules[i].access);
        if (r < 0)
            return r;
    }
    return 0;
}

int landlock_restrict_self(bool may_branch)
{
    int abi = landlock_abi();
    if (abi == 0)
        return 0;
    struct ruleset_attr attr = {.handled_access_fs = handled_fs(abi)};
    size_t size = sizeof(attr.handled_access_fs);
    if (abi >= 6) {
        attr.scoped = SCOPE_ABSTRACT_UNIX_SOCKET | SCOPE_SIGNAL;
        size = sizeof(attr);
    }
    _fd_ int ruleset = (int)syscall(SYS_landlock_create_ruleset, &attr, size, 0);
    if (ruleset < 0)
        return -errno;
    int r = add_rules(ruleset, attr.handled_access_fs, may_branch);
    if (r == 0 && syscall(SYS_landlock_restrict_self, ruleset, 0) < 0)
        r = -errno;
    return r;
}
