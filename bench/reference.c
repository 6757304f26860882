/* What the machine itself takes for work like Cella's, in a few lines of C: what has no peer stands
 * beside it, so that a slower machine is not taken for a slower Cella. cella-bench. */
#include "base/clock.h"
#include "bench/bench.h"

#include <errno.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

/* --- a fork ----------------------------------------------------------------------------------- */

int bench_ballast_take(struct bench_ballast *ballast, size_t size, bool is_huge, struct err *e)
{
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return err_errno(e, ERR_UNAVAILABLE, errno, "no memory to fork with");
    madvise(memory, size, is_huge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
    memset(memory, 1, size); /* a page that was never written costs a fork nothing */
    *ballast = (struct bench_ballast){.memory = memory, .size = size};
    return 0;
}

void bench_ballast_drop(struct bench_ballast *ballast)
{
    if (ballast->size > 0)
        munmap(ballast->memory, ballast->size);
    *ballast = (struct bench_ballast){0};
}

int bench_forks(struct bench *b, enum bench_id id, size_t n, struct err *e)
{
    for (size_t i = 0; i < n; i++) {
        uint64_t began_ns = clock_mono_ns();
        pid_t pid = fork();
        if (pid < 0)
            return err_errno(e, ERR_UNAVAILABLE, errno, "no process");
        if (pid == 0)
            _exit(0);
        waitpid(pid, NULL, 0);
        bench_add(b, id, (double)(clock_mono_ns() - began_ns));
    }
    return 0;
}

/* --- an echo ---------------------------------------------------------------------------------- */

enum { ECHO_BYTES = 256 }; /* about a request, about its answer */

static _Noreturn void reference_echo(int sock, pid_t parent)
{
    char text[ECHO_BYTES];
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    while (getppid() == parent) {
        ssize_t n = recv(sock, text, sizeof(text), MSG_WAITALL);
        if (n != sizeof(text) || send(sock, text, sizeof(text), MSG_NOSIGNAL) != n)
            break;
    }
    _exit(0);
}

int bench_echo_start(struct bench_echo *echo, struct err *e)
{
    int pair[2];
    *echo = (struct bench_echo){.sock = -1};
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
        return err_errno(e, ERR_UNAVAILABLE, errno, "no socket");
    _fd_ int ours = pair[0], theirs = pair[1];
    pid_t parent = getpid(), pid = fork();
    if (pid < 0)
        return err_errno(e, ERR_UNAVAILABLE, errno, "no process");
    if (pid == 0) {
        close(take_fd(&ours));
        reference_echo(theirs, parent);
    }
    *echo = (struct bench_echo){.pid = pid, .sock = take_fd(&ours)};
    return 0;
}

int bench_echo_exec(struct bench *b, struct bench_echo *echo, enum bench_id id, size_t n,
                    struct err *e)
{
    char text[ECHO_BYTES] = "";
    for (size_t i = 0; i < n; i++) {
        uint64_t began_ns = clock_mono_ns();
        if (send(echo->sock, text, sizeof(text), MSG_NOSIGNAL) != sizeof(text) ||
            recv(echo->sock, text, sizeof(text), MSG_WAITALL) != sizeof(text))
            return err_set(e, ERR_INTERNAL, "the echo ended");
        bench_add(b, id, (double)(clock_mono_ns() - began_ns));
    }
    return 0;
}

void bench_echo_stop(struct bench_echo *echo)
{
    if (echo->sock >= 0)
        close(echo->sock); /* the end of its input: it ends */
    if (echo->pid > 0)
        waitpid(echo->pid, NULL, 0);
    *echo = (struct bench_echo){.sock = -1};
}
