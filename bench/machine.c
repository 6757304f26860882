/* Which machine, kernel and libraries the figures are from. cella-bench. */
#include "base/fd.h"
#include "bench/bench.h"
#include "bench/child.h"
#include "cli/terminal.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/utsname.h>

enum { FILE_MAX = 1 << 20 };

/* What follows "name" and the separator in the first line that starts so. */
static void find_line(const char *path, const char *name, char *out, size_t size)
{
    _free_ char *text = NULL;
    out[0] = '\0';
    if (fd_read_file(AT_FDCWD, path, FILE_MAX, &text, NULL) < 0)
        return;
    for (char *line = text; line != NULL; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, name, strlen(name)) != 0)
            continue;
        line += strlen(name);
        line += strspn(line, " \t:=\"");
        snprintf(out, size, "%.*s", (int)strcspn(line, "\"\n"), line);
        return;
    }
}

/* The first line that a program prints about itself. */
static void ask_program(const struct bench *b, const char *const *argv, char *out, size_t size)
{
    int pair[2];
    out[0] = '\0';
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
        return;
    _fd_ int ours = pair[0], theirs = pair[1];
    struct bench_child child = {.argv = argv, .stdio = theirs, .third = -1};
    struct err ignored;
    pid_t pid;
    if (bench_child_start(b, &child, &pid, &ignored) < 0)
        return;
    close(take_fd(&theirs));
    bench_child_end(pid, 10000);
    ssize_t n = recv(ours, out, size - 1, MSG_DONTWAIT);
    out[n > 0 ? n : 0] = '\0';
    out[strcspn(out, "\n")] = '\0';
}

void bench_describe_machine(const struct bench *b, struct bench_machine *ret)
{
    *ret = (struct bench_machine){.cores = sysconf(_SC_NPROCESSORS_ONLN)};
    char total[64], flags[FILE_MAX / 256];
    struct utsname name;
    find_line("/proc/cpuinfo", "model name", ret->cpu, sizeof(ret->cpu));
    find_line("/proc/cpuinfo", "flags", flags, sizeof(flags));
    ret->is_virtual = strstr(flags, " hypervisor") != NULL;
    find_line("/proc/meminfo", "MemTotal", total, sizeof(total));
    ret->memory = strtod(total, NULL) * 1024;
    find_line("/etc/os-release", "PRETTY_NAME", ret->system, sizeof(ret->system));
    /* The version only: what comes after it may be the name of a place. */
    if (uname(&name) == 0)
        snprintf(ret->kernel, sizeof(ret->kernel), "%.*s",
                 (int)MIN(strspn(name.release, "0123456789."), sizeof(ret->kernel) - 1),
                 name.release);
    ask_program(b, (const char *[]){"/usr/bin/python3", "--version", NULL}, ret->python,
                sizeof(ret->python));
    ask_program(b, (const char *[]){"/usr/bin/node", "--version", NULL}, ret->node,
                sizeof(ret->node));
    ask_program(b, (const char *[]){"/usr/bin/bash", "--version", NULL}, ret->bash,
                sizeof(ret->bash));
    ret->bash[strcspn(ret->bash, "(")] = '\0'; /* the version only, not how it was built */
    ask_program(b, (const char *[]){"/usr/bin/bwrap", "--version", NULL}, ret->bwrap,
                sizeof(ret->bwrap));
    snprintf(ret->ipython, sizeof(ret->ipython), "%s", b->ipython_version);
}
