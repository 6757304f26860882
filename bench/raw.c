/* The Python driver without a daemon: what a cell takes when all around it is left out.
 * cella-bench; owns the interpreter. */
#include "base/clock.h"
#include "base/fd.h"
#include "bench/child.h"
#include "jail/embedded.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>

enum { ANSWER_WITHIN_S = 60, END_WITHIN_MS = 5000, FRAME_BYTES = 4096 };

#define DRIVER "python/"

/* The Python driver's files, as a jail would show them. */
static int unpack_driver(const char *dir, struct err *e)
{
    if (access(dir, F_OK) == 0)
        return 0;
    if (cli_make_dirs(dir, e) < 0)
        return -1;
    _fd_ int dir_fd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
    mkdirat(dir_fd, DRIVER, 0700);
    mkdirat(dir_fd, DRIVER "__pycache__", 0700);
    for (const struct embedded_file *f = embedded_files; f->name != NULL; f++) {
        /* What lies in folders of its own is not the driver's: tools, which run elsewhere. */
        if (strncmp(f->name, DRIVER, strlen(DRIVER)) != 0 ||
            strchr(f->name + strlen(DRIVER), '/') != NULL)
            continue;
        int status = fd_create_file(dir_fd, f->name, f->data, f->size, 0600);
        if (status < 0)
            return err_errno(e, ERR_UNAVAILABLE, -status, "writing %s/%s", dir, f->name);
    }
    return 0;
}

static int receive_frame(int sock, char *in, size_t size, struct err *e)
{
    size_t len = 0;
    uint32_t payload = 0;
    while (len < 4 || len < 4 + payload) {
        ssize_t n = recv(sock, in + len, size - 1 - len, 0);
        if (n <= 0)
            return err_set(e, ERR_UNAVAILABLE, "the driver does not answer");
        len += (size_t)n;
        memcpy(&payload, in, MIN(len, sizeof(payload)));
        if (len >= 4 && payload > size - 5)
            return err_set(e, ERR_INTERNAL, "the driver says too much");
    }
    in[len] = '\0';
    return 0;
}

int bench_raw_start(struct bench *b, struct bench_raw *raw, struct err *e)
{
    char dir[PATH_MAX + 16], script[PATH_MAX + 48], hello[FRAME_BYTES];
    snprintf(dir, sizeof(dir), "%s/driver", b->dir);
    snprintf(script, sizeof(script), "%s/" DRIVER "standalone.py", dir);
    int pair[2];
    if (unpack_driver(dir, e) < 0)
        return -1;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
        return err_errno(e, ERR_UNAVAILABLE, errno, "no socket");
    *raw = (struct bench_raw){.sock = pair[0]};
    _fd_ int theirs = pair[1], null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    struct timeval within = {.tv_sec = ANSWER_WITHIN_S};
    setsockopt(raw->sock, SOL_SOCKET, SO_RCVTIMEO, &within, sizeof(within));
    const char *argv[] = {"/usr/bin/python3", "-s", script, "3", "{\"preload\":[]}", NULL};
    struct bench_child child = {.argv = argv, .stdio = null_fd, .third = theirs};
    if (bench_child_start(b, &child, &raw->pid, e) < 0)
        return -1;
    close(take_fd(&theirs));
    return receive_frame(raw->sock, hello, sizeof(hello), e) < 0 ? err_context(e, "its start") : 0;
}

static int send_cell(struct bench_raw *raw, int out, int error, struct err *e)
{
    char frame[128];
    int len =
        snprintf(frame + 4, sizeof(frame) - 4, "{\"op\":\"exec\",\"id\":%llu,\"code\":\"1+1\"}",
                 (unsigned long long)++raw->next_id);
    memcpy(frame, &(uint32_t){(uint32_t)len}, 4);
    ssize_t n = fd_send(raw->sock, frame, (size_t)len + 4, (int[]){out, error}, 2);
    return n == len + 4 ? 0 : err_set(e, ERR_UNAVAILABLE, "the driver takes no cell");
}

/* What the daemon does for a cell, and no more: pipes, a frame there, a frame back. */
int bench_raw_exec(struct bench_raw *raw, double *ret_ns, struct err *e)
{
    uint64_t began_ns = clock_mono_ns();
    int out[2], error[2];
    if (pipe2(out, O_CLOEXEC) < 0)
        return err_errno(e, ERR_UNAVAILABLE, errno, "no pipe");
    _fd_ int out_read = out[0], out_write = out[1];
    if (pipe2(error, O_CLOEXEC) < 0)
        return err_errno(e, ERR_UNAVAILABLE, errno, "no pipe");
    _fd_ int error_read = error[0], error_write = error[1];
    char answer[FRAME_BYTES];
    if (send_cell(raw, out_write, error_write, e) < 0)
        return -1;
    if (receive_frame(raw->sock, answer, sizeof(answer), e) < 0)
        return -1;
    *ret_ns = (double)(clock_mono_ns() - began_ns);
    if (strstr(answer + 4, "\"text\":\"2\"") == NULL)
        return err_set(e, ERR_INTERNAL, "the driver answered: %.200s", answer + 4);
    return 0;
}

void bench_raw_stop(struct bench_raw *raw)
{
    if (raw->sock >= 0)
        close(raw->sock);
    if (raw->pid > 0)
        bench_child_end(raw->pid, END_WITHIN_MS);
    *raw = (struct bench_raw){.sock = -1};
}
