/* What libcella_enter.so is to the zygote, without a jail: a fork for each message on the control
 * socket, with the descriptor that came along as the session's socket. */
#include "jail/inside/sibling.h"
#include "jail/inside/sleeper.h"
#include "jail/inside/zygote_identities.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

void PyOS_BeforeFork(void);
void PyOS_AfterFork_Parent(void);
void PyOS_AfterFork_Child(void);

static int receive_descriptor(int control_fd)
{
    char byte;
    union {
        char room[CMSG_SPACE(sizeof(int))];
        struct cmsghdr align;
    } control;
    struct iovec iov = {&byte, 1};
    struct msghdr msg = {.msg_iov = &iov,
                         .msg_iovlen = 1,
                         .msg_control = control.room,
                         .msg_controllen = sizeof(control.room)};
    int fd = -1;
    if (recvmsg(control_fd, &msg, 0) <= 0)
        return -1;
    memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&msg)), sizeof(fd));
    return fd;
}

void cella_place_arenas(void)
{
}

void cella_use_up_memory(void)
{
}

void *cella_identities_of(void *namespace)
{
    return zygote_identities_of(namespace);
}

int cella_zygote_serve(int control_fd)
{
    for (;;) {
        int fd = receive_descriptor(control_fd);
        if (fd < 0)
            return -1;
        while (waitpid(-1, NULL, WNOHANG) > 0) {
        }
        PyOS_BeforeFork();
        pid_t pid = fork();
        if (pid == 0) {
            PyOS_AfterFork_Child();
            close(control_fd);
            return fd;
        }
        PyOS_AfterFork_Parent();
        close(fd);
    }
}

void cella_unbuffer_stdio(void)
{
    setvbuf(stdout, NULL, _IONBF, 0);
    setvbuf(stderr, NULL, _IONBF, 0);
}

void cella_flush_stdio(void)
{
    fflush(NULL);
}

bool cella_is_traced(char ret_tracer[SIBLING_TRACER_SIZE])
{
    return sibling_is_traced(ret_tracer);
}

int cella_count_threads(void)
{
    return sibling_count_threads();
}

int cella_fork_awake(int kept, const int *ours, int n_ours)
{
    return sleeper_fork_awake(kept, ours, (size_t)n_ours);
}

int cella_checkpoint(int channel, const int *ours, int n_ours, struct sleeper_order *ret)
{
    return sleeper_fork(channel, ours, (size_t)n_ours, ret);
}

struct descriptors *cella_wake(bool has_moved)
{
    return sleeper_wake(has_moved);
}

/* Without jails the room is where we are. */
int cella_enter_room(int key)
{
    close(key);
    return sleeper_leave();
}
