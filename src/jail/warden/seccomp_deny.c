/* The second program: arguments that are refused whatever the first one allows. Guardian, and the
 * doctor. */
#include "jail/warden/seccomp_parts.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>

static const int families[] = {AF_INET, AF_INET6}; /* those with protocols */

static int deny_masked(scmp_filter_ctx ctx, int number, unsigned arg, uint64_t value, int errnum)
{
    /* The kernel looks at the low 32 bits of these arguments only, and so must the filter. */
    return seccomp_rule_add(ctx, SCMP_ACT_ERRNO((unsigned)errnum), number, 1,
                            SCMP_CMP(arg, SCMP_CMP_MASKED_EQ, 0xffffffff, value));
}

/* Arguments of which a single value is refused. */
static int deny_values(scmp_filter_ctx ctx)
{
    static const struct {
        int number;
        unsigned arg;
        uint64_t value;
    } values[] = {
        {SCMP_SYS(ioctl), 1, 0x5412 /* TIOCSTI */},
        {SCMP_SYS(ioctl), 1, 0x541c /* TIOCLINUX */},
        /* has the kernel load drivers of modems and radios, for any terminal */
        {SCMP_SYS(ioctl), 1, 0x5423 /* TIOCSETD */},
        /* kill(-1) would take the driver's relatives along */
        {SCMP_SYS(kill), 0, 0xffffffff},
        /* inotify's ancestor would tell what others do in /usr */
        {SCMP_SYS(fcntl), 1, 1026 /* F_NOTIFY */},
        /* a cookie of its own would keep others off the neighbouring hyperthread */
        {SCMP_SYS(prctl), 0, 62 /* PR_SCHED_CORE */},
        {SCMP_SYS(prctl), 0, 22 /* PR_SET_SECCOMP */},
        {SCMP_SYS(prctl), 0, 35 /* PR_SET_MM */},
    };
    int r = 0;
    for (size_t i = 0; r == 0 && i < ARRAY_LEN(values); i++)
        r = deny_masked(ctx, values[i].number, values[i].arg, values[i].value, EPERM);
    return r;
}

/* The pages of a cell's pipes are counted for the daemon, of all sessions. No pipe becomes larger
 * than it was when it was made; the error is the kernel's for who has reached the limit. */
static int deny_large_pipes(scmp_filter_ctx ctx)
{
    enum { PIPE_BYTES = 65536 };
    return seccomp_rule_add(ctx, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(fcntl), 2,
                            SCMP_A1(SCMP_CMP_MASKED_EQ, 0xffffffff, F_SETPIPE_SZ),
                            SCMP_A2(SCMP_CMP_GT, PIPE_BYTES, 0));
}

/* An unknown socket family must say so: ENOSYS would look like a kernel without sockets. */
static int deny_families(scmp_filter_ctx ctx)
{
    int r = 0;
    for (int family = 0; r == 0 && family < 64; family++)
        if (family != AF_UNIX && family != AF_INET && family != AF_INET6 && family != AF_NETLINK)
            r = deny_masked(ctx, SCMP_SYS(socket), 0, (uint64_t)family, EAFNOSUPPORT);
    return r;
}

/* The same for a protocol: programs then try a common one. */
static int deny_protocols(scmp_filter_ctx ctx)
{
    int r = 0;
    for (size_t i = 0; r == 0 && i < ARRAY_LEN(families); i++)
        r = seccomp_rule_add(ctx, SCMP_ACT_ERRNO(EPROTONOSUPPORT), SCMP_SYS(socket), 2,
                             SCMP_A0(SCMP_CMP_MASKED_EQ, 0xffffffff, (scmp_datum_t)families[i]),
                             SCMP_A2(SCMP_CMP_GT, IPPROTO_UDP, 0));
    if (r == 0)
        r = seccomp_rule_add(ctx, SCMP_ACT_ERRNO(EPROTONOSUPPORT), SCMP_SYS(socket), 2,
                             SCMP_A0(SCMP_CMP_MASKED_EQ, 0xffffffff, AF_INET),
                             SCMP_A2(SCMP_CMP_EQ, IPPROTO_ICMP, 0));
    if (r == 0) /* of netlink the one for routes and interfaces only */
        r = seccomp_rule_add(ctx, SCMP_ACT_ERRNO(EPROTONOSUPPORT), SCMP_SYS(socket), 2,
                             SCMP_A0(SCMP_CMP_MASKED_EQ, 0xffffffff, AF_NETLINK),
                             SCMP_A2(SCMP_CMP_GT, 0, 0));
    return r;
}

/* Streams and datagrams only. A branch that kept its capabilities could have raw ones, and one type
 * is another name for the family of packets. */
static int deny_socket_types(scmp_filter_ctx ctx)
{
    enum { TYPES = 16, PACKET = 10 }; /* above them are flags */
    int r = 0;
    for (int type = SOCK_RAW; type < TYPES; type++)
        for (size_t i = 0; r == 0 && i < ARRAY_LEN(families); i++) {
            uint16_t errnum = type == SOCK_RAW || type == PACKET ? EPERM : ESOCKTNOSUPPORT;
            r = seccomp_rule_add(ctx, SCMP_ACT_ERRNO(errnum), SCMP_SYS(socket), 2,
                                 SCMP_A0(SCMP_CMP_MASKED_EQ, 0xffffffff, (scmp_datum_t)families[i]),
                                 SCMP_A1(SCMP_CMP_MASKED_EQ, TYPES - 1, (scmp_datum_t)type));
        }
    return r;
}

/* A branch that keeps the capabilities which entering its room gave it (jail/inside/room.h) rules
 * over a network namespace. It gains nothing by that but a way to parts of the kernel that nobody
 * else in a jail can reach: routes, interfaces. */
static int deny_interfaces(scmp_filter_ctx ctx)
{
    /* SIOCADDRT to SIOCRTMSG, and what sets or adds: SIOCSIFLINK to SIOCDELDLCI. */
    static const int changes[] = {
        0x890b, 0x890c, 0x890d, 0x8911, 0x8914, 0x8916, 0x8918, 0x891a, 0x891c, 0x891e, 0x8920,
        0x8922, 0x8923, 0x8924, 0x8926, 0x8930, 0x8931, 0x8932, 0x8934, 0x8936, 0x8937, 0x8941,
        0x8943, 0x8948, 0x8949, 0x894a, 0x8953, 0x8955, 0x8960, 0x8962, 0x8971,
    };
    int r = 0;
    for (size_t i = 0; r == 0 && i < ARRAY_LEN(changes); i++)
        r = deny_masked(ctx, SCMP_SYS(ioctl), 1, (uint64_t)changes[i], EPERM);
    if (r == 0) /* SIOCETHTOOL: as by an interface that knows nothing of it, which psutil expects */
        r = deny_masked(ctx, SCMP_SYS(ioctl), 1, 0x8946, EOPNOTSUPP);
    if (r == 0) /* bridges, bonds, tunnels, whatever a driver likes */
        r = seccomp_rule_add(ctx, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(ioctl), 1,
                             SCMP_A1(SCMP_CMP_MASKED_EQ, 0xffffff80, 0x8980));
    return r;
}

static int deny_bit(scmp_filter_ctx ctx, int number, unsigned arg, uint64_t bit, int errnum)
{
    return seccomp_rule_add(ctx, SCMP_ACT_ERRNO((unsigned)errnum), number, 1,
                            SCMP_CMP(arg, SCMP_CMP_MASKED_EQ, bit, bit));
}

/* They come from a pool of the host's, which no limit of memory counts. The errors are those of a
 * host without a pool. */
static int deny_huge_pages(scmp_filter_ctx ctx)
{
    int r = deny_bit(ctx, SCMP_SYS(mmap), 3, 0x40000 /* MAP_HUGETLB */, ENOMEM);
    if (r == 0)
        r = deny_bit(ctx, SCMP_SYS(memfd_create), 1, 4 /* MFD_HUGETLB */, EINVAL);
    if (r == 0)
        r = deny_bit(ctx, SCMP_SYS(shmget), 2, 04000 /* SHM_HUGETLB */, EPERM);
    return r;
}

/* A program with these bits would run as the file's owner: who starts the daemon as an ordinary
 * user is that, on the host. openat2, whose mode lies in memory, is not allowed at all. */
static int deny_set_id_modes(scmp_filter_ctx ctx)
{
    static const struct {
        const char *call; /* not all are known everywhere */
        unsigned mode;
        unsigned flags; /* 0: the mode counts whatever the flags are */
    } calls[] = {
        {"chmod", 1, 0}, {"fchmod", 1, 0},  {"fchmodat", 2, 0}, {"fchmodat2", 2, 0},
        {"mkdir", 1, 0}, {"mkdirat", 2, 0}, {"mknod", 1, 0},    {"mknodat", 2, 0},
        {"creat", 1, 0}, {"open", 2, 1},    {"openat", 3, 2},
    };
    /* Without one of these there is no mode, and the register holds anything. */
    static const uint64_t creating[] = {O_CREAT, O_TMPFILE & ~O_DIRECTORY};
    static const uint64_t bits[] = {S_ISUID, S_ISGID};
    int r = 0;
    for (size_t i = 0; r == 0 && i < ARRAY_LEN(calls) * ARRAY_LEN(bits); i++) {
        uint64_t bit = bits[i % 2];
        unsigned flags = calls[i / 2].flags, mode = calls[i / 2].mode;
        int number = seccomp_syscall_resolve_name(calls[i / 2].call);
        if (number < 0)
            continue;
        if (flags == 0)
            r = deny_bit(ctx, number, mode, bit, EPERM);
        for (size_t c = 0; r == 0 && flags != 0 && c < ARRAY_LEN(creating); c++)
            r = seccomp_rule_add(ctx, SCMP_ACT_ERRNO(EPERM), number, 2,
                                 SCMP_CMP(flags, SCMP_CMP_MASKED_EQ, creating[c], creating[c]),
                                 SCMP_CMP(mode, SCMP_CMP_MASKED_EQ, bit, bit));
    }
    return r;
}

int seccomp_add_denied(scmp_filter_ctx ctx)
{
    static int (*const parts[])(scmp_filter_ctx) = {
        deny_values,       deny_large_pipes, deny_families,   deny_protocols,
        deny_socket_types, deny_interfaces,  deny_huge_pages, deny_set_id_modes,
    };
    int r = 0;
    for (size_t i = 0; r == 0 && i < ARRAY_LEN(parts); i++)
        r = parts[i](ctx);
    return r;
}
