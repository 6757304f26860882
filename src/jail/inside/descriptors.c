/* What an interpreter has open, noted before a copy and put right in it. Runs in a jail. */
#include "jail/inside/descriptors.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>

/* What of F_GETFL is a property of the open file and may be asked for again. */
#define REOPENED_FLAGS (O_ACCMODE | O_APPEND | O_NONBLOCK | O_SYNC | O_DSYNC | O_DIRECT)

struct kernel_dirent {
    uint64_t inode;
    int64_t offset;
    unsigned short length;
    unsigned char type;
    char name[];
};

static void read_name(int fd, char *out, size_t size)
{
    char path[32];
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    ssize_t n = readlink(path, out, MIN(size, (size_t)PATH_MAX) - 1);
    out[MAX(n, 0)] = '\0';
}

static enum descriptor_kind kind_of(int fd, const struct stat *st)
{
    if (S_ISFIFO(st->st_mode))
        return DESCRIPTOR_PIPE;
    if (S_ISSOCK(st->st_mode))
        return DESCRIPTOR_SOCKET;
    if (S_ISDIR(st->st_mode)) /* who lists it has an offset too */
        return DESCRIPTOR_FILE;
    if (S_ISCHR(st->st_mode) && isatty(fd)) /* either end */
        return DESCRIPTOR_TERMINAL;
    if (S_ISCHR(st->st_mode) || S_ISBLK(st->st_mode))
        return DESCRIPTOR_PLAIN;
    /* epoll and its like; a pidfd has no state that two lines could dispute. */
    char name[32];
    read_name(fd, name, sizeof(name));
    if (strncmp(name, "anon_inode:", 11) == 0 && strcmp(name, "anon_inode:[pidfd]") != 0)
        return DESCRIPTOR_EVENT;
    return S_ISREG(st->st_mode) ? DESCRIPTOR_FILE : DESCRIPTOR_PLAIN;
}

/* Appends what `path` says, as far as it fits. Returns how much that was. */
static size_t append_file(struct descriptors *d, const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return 0;
    char *text = d->text + d->text_len;
    ssize_t n = read(fd, text, sizeof(d->text) - d->text_len - 1);
    close(fd);
    text[MAX(n, 0)] = '\0';
    return (size_t)MAX(n, 0);
}

static void note_name(struct descriptors *d, struct descriptor *one)
{
    size_t room = sizeof(d->text) - d->text_len;
    one->text_at = d->text_len;
    if (room < 2)
        return;
    read_name(one->fd, d->text + d->text_len, room);
    one->text_len = (uint32_t)strlen(d->text + d->text_len) + 1;
    d->text_len += one->text_len;
}

/* Of a file only its locks are worth keeping. */
static void note_info(struct descriptors *d, struct descriptor *one)
{
    char path[32];
    snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", one->fd);
    size_t n = append_file(d, path);
    if (one->kind == DESCRIPTOR_FILE && strstr(d->text + d->text_len, "lock:") == NULL)
        return;
    d->text_len += (uint32_t)n;
    one->text_len += (uint32_t)n;
}

static bool contains(const int *list, size_t n, int fd)
{
    for (size_t i = 0; i < n; i++)
        if (list[i] == fd)
            return true;
    return false;
}

static int note_one(struct descriptors *d, int fd, bool is_ours)
{
    struct stat st;
    if (fstat(fd, &st) < 0)
        return 0; /* closed: it was the listing's own */
    if (d->count == DESCRIPTORS_MAX)
        return -EMFILE;
    struct descriptor *one = &d->list[d->count++];
    *one = (struct descriptor){.fd = fd, .inode = st.st_ino};
    one->flags = fcntl(fd, F_GETFL);
    one->fd_flags = fcntl(fd, F_GETFD);
    one->kind = is_ours               ? DESCRIPTOR_OURS
                : one->flags & O_PATH ? DESCRIPTOR_PLAIN
                                      : kind_of(fd, &st);
    socklen_t size = sizeof(one->state);
    switch (one->kind) {
    case DESCRIPTOR_PLAIN:
        note_name(d, one);
        break;
    case DESCRIPTOR_FILE:
        one->offset = lseek(one->fd, 0, SEEK_CUR);
        note_name(d, one);
        note_info(d, one);
        break;
    case DESCRIPTOR_PIPE:
        if (ioctl(one->fd, FIONREAD, &one->state) < 0)
            one->state = 0;
        break;
    case DESCRIPTOR_SOCKET:
        if (getsockopt(one->fd, SOL_SOCKET, SO_ACCEPTCONN, &one->state, &size) < 0)
            one->state = 0;
        break;
    case DESCRIPTOR_EVENT:
        note_name(d, one);
        note_info(d, one);
        break;
    default:
        break;
    }
    if (one->kind == DESCRIPTOR_PIPE || one->kind == DESCRIPTOR_SOCKET ||
        one->kind == DESCRIPTOR_EVENT || one->kind == DESCRIPTOR_TERMINAL)
        d->has_streams = true;
    return 0;
}

int descriptors_note(struct descriptors *d, const int *ours, size_t n_ours, int kept)
{
    d->count = d->text_len = 0;
    d->has_streams = false;
    /* What a copy loses whatever it does: children and timers are those of one process. */
    char path[48];
    snprintf(path, sizeof(path), "/proc/self/task/%d/children", (int)getpid());
    d->text_len = d->children_len = (uint32_t)append_file(d, path);
    d->has_timer = false;
    for (int which = ITIMER_REAL; which <= ITIMER_PROF; which++) {
        struct itimerval timer = {0};
        getitimer(which, &timer);
        d->has_timer |= timer.it_value.tv_sec != 0 || timer.it_value.tv_usec != 0;
    }
    int dir = open("/proc/self/fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (dir < 0)
        return -errno;
    char buffer[4096] __attribute__((aligned(8)));
    int r = 0;
    long n;
    while (r == 0 && (n = syscall(SYS_getdents64, dir, buffer, sizeof(buffer))) > 0)
        for (long at = 0; r == 0 && at < n;) {
            const struct kernel_dirent *entry = (const void *)(buffer + at);
            at += entry->length;
            int fd = (int)strtol(entry->name, NULL, 10);
            if (entry->name[0] != '.' && fd != dir && fd != kept)
                r = note_one(d, fd, contains(ours, n_ours, fd));
        }
    close(dir);
    return r;
}

/* A socket that was never connected: reading says so, writing finds a broken pipe, nothing waits.
 */
static int open_refusal(void)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    return fd < 0 ? -errno : fd;
}

static int put(int replacement, const struct descriptor *one)
{
    int flags = one->fd_flags & FD_CLOEXEC ? O_CLOEXEC : 0;
    return dup3(replacement, one->fd, flags) < 0 ? -errno : 0;
}

static int reopen(const struct descriptor *one)
{
    char path[32];
    snprintf(path, sizeof(path), "/proc/self/fd/%d", one->fd);
    int fd = open(path, (one->flags & REOPENED_FLAGS) | O_NOCTTY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    int r = lseek(fd, MAX(one->offset, 0), SEEK_SET) < 0 ? -errno : put(fd, one);
    close(fd);
    return r;
}

void descriptors_reopen(struct descriptors *d)
{
    for (uint32_t i = 0; i < d->count; i++)
        if (d->list[i].kind == DESCRIPTOR_FILE)
            d->list[i].error = -reopen(&d->list[i]);
}

/* Offsets in a directory are the file system's own numbers, and mean nothing in another. */
static bool find_place(int fd, const struct descriptor *one)
{
    struct stat st;
    if (fstat(fd, &st) < 0)
        return false;
    if (one->kind == DESCRIPTOR_PLAIN)
        return !S_ISREG(st.st_mode);
    return S_ISDIR(st.st_mode) ||
           (S_ISREG(st.st_mode) && lseek(fd, MAX(one->offset, 0), SEEK_SET) >= 0);
}

static int open_by_name(const struct descriptors *d, const struct descriptor *one)
{
    const char *name = d->text + one->text_at;
    if (one->text_len == 0 || name[0] != '/')
        return -ENOENT;
    int fd = open(name, (one->flags & (REOPENED_FLAGS | O_PATH)) | O_NOCTTY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    if (find_place(fd, one))
        return fd;
    close(fd);
    return -ENOENT;
}

int descriptors_move(struct descriptors *d)
{
    int refusal = open_refusal();
    int r = refusal < 0 ? refusal : 0;
    for (uint32_t i = 0; r == 0 && i < d->count; i++) {
        struct descriptor *one = &d->list[i];
        if (one->kind != DESCRIPTOR_FILE && one->kind != DESCRIPTOR_PLAIN)
            continue;
        int fd = open_by_name(d, one);
        one->error = fd < 0 ? -fd : 0;
        r = put(fd < 0 ? refusal : fd, one);
        if (fd >= 0)
            close(fd);
    }
    if (refusal >= 0)
        close(refusal);
    return r;
}

static int replace(const struct descriptors *d, int null, int refusal)
{
    int r = 0;
    for (uint32_t i = 0; r == 0 && i < d->count; i++) {
        const struct descriptor *one = &d->list[i];
        if (one->kind == DESCRIPTOR_OURS)
            r = put(null, one);
        else if (one->kind != DESCRIPTOR_FILE && one->kind != DESCRIPTOR_PLAIN)
            r = put(refusal, one);
    }
    return r;
}

int descriptors_part(struct descriptors *d)
{
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    int refusal = open_refusal();
    int r = null < 0 || refusal < 0 ? -EMFILE : replace(d, null, refusal);
    if (null > 2) /* else the user had closed that number, and it may well be taken */
        close(null);
    if (refusal >= 0)
        close(refusal);
    descriptors_reopen(d);
    return r;
}
