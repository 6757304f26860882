/* Who wrote a byte, by the kernel's word. Daemon and warden; owns nothing. */
#include "jail/witness.h"

#include "base/channel.h"
#include "base/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/pidfd.h>

pid_t witness_byte(int sock)
{
    char byte;
    pid_t writer = 0;
    ssize_t n = channel_recv(sock, &byte, 1, &writer);
    if (n <= 0)
        return n < 0 ? (pid_t)n : -EPIPE;
    return writer > 0 ? writer : -ESRCH;
}

int witness_writer(int sock)
{
    pid_t pid = witness_byte(sock);
    if (pid < 0)
        return pid;
    int pidfd = pidfd_open(pid, 0);
    return pidfd < 0 ? -errno : pidfd;
}

pid_t witness_pid(int pidfd)
{
    char path[64];
    _free_ char *info = NULL;
    snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", pidfd);
    if (fd_read_file(AT_FDCWD, path, 4 * KIB, &info, NULL) < 0)
        return 0;
    const char *line = strstr(info, "Pid:");
    return line != NULL ? (pid_t)strtol(line + strlen("Pid:"), NULL, 10) : 0;
}
