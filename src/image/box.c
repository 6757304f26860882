/* The other side of boxes.c: a process that decodes one picture. It was started by exec, so nothing
 * of the daemon is in its memory; it reads descriptor 0, writes descriptor 1, and before the first
 * byte is read it has given up all the rest. */
#include "image/image.h"
#include "image/scale.h"

#include <errno.h>
#include <seccomp.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#if defined(__SANITIZE_ADDRESS__)
#define HAS_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HAS_SANITIZER 1
#endif
#endif
#ifndef HAS_SANITIZER
#define HAS_SANITIZER 0
#endif

#define BOX_MEMORY (384 * MIB) /* addresses, the program and its libraries included */

/* ---- walls ----------------------------------------------------------------------------------- */

static int limit(int resource, rlim_t most)
{
    return setrlimit((__rlimit_resource_t)resource, &(struct rlimit){most, most});
}

static int allow(scmp_filter_ctx filter, int call)
{
    return seccomp_rule_add(filter, SCMP_ACT_ALLOW, call, 0);
}

/* Anonymous memory that cannot be executed. */
static int allow_memory(scmp_filter_ctx filter)
{
    static const int calls[] = {SCMP_SYS(brk), SCMP_SYS(munmap), SCMP_SYS(mremap),
                                SCMP_SYS(madvise)};
    int error = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(mmap), 2,
                                 SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0),
                                 SCMP_A3(SCMP_CMP_MASKED_EQ, MAP_ANONYMOUS, MAP_ANONYMOUS));
    for (size_t i = 0; error == 0 && i < ARRAY_LEN(calls); i++)
        error = allow(filter, calls[i]);
    return error;
}

/* Whatever is not named here ends the process. */
static int set_filter(void)
{
    scmp_filter_ctx filter = seccomp_init(SCMP_ACT_KILL_PROCESS);
    if (filter == NULL)
        return -ENOMEM;
    int error = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(read), 1,
                                 SCMP_A0(SCMP_CMP_EQ, STDIN_FILENO, 0));
    if (error == 0)
        error = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(write), 1,
                                 SCMP_A0(SCMP_CMP_EQ, STDOUT_FILENO, 0));
    if (error == 0)
        error = allow_memory(filter);
    if (error == 0)
        error = allow(filter, SCMP_SYS(exit_group));
    if (error == 0 && HAS_SANITIZER)
        error = allow(filter, SCMP_SYS(sigaltstack)); /* looks where the stack is, before the end */
    if (error == 0)
        error = seccomp_load(filter);
    seccomp_release(filter);
    return error;
}

int image_box_close(void)
{
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0 ||
        prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
        syscall(SYS_close_range, STDERR_FILENO + 1, ~0U, 0) < 0)
        return -errno;
    rlim_t seconds = IMAGE_BOX_MS / 1000 + 1;
    alarm((unsigned)seconds); /* should the daemon be gone */
    if (limit(RLIMIT_CPU, seconds) < 0 || limit(RLIMIT_CORE, 0) < 0 ||
        limit(RLIMIT_FSIZE, IMAGE_RESULT_MAX) < 0)
        return -errno;
    /* A sanitizer reserves terabytes of addresses. */
    if (!HAS_SANITIZER && limit(RLIMIT_AS, BOX_MEMORY) < 0)
        return -errno;
    return set_filter();
}

/* ---- the work -------------------------------------------------------------------------------- */

static ssize_t box_read(void *context, void *data, size_t len)
{
    (void)context;
    ssize_t n = read(STDIN_FILENO, data, len);
    return n < 0 ? -errno : n;
}

static int box_write(void *context, const void *data, size_t len)
{
    (void)context;
    for (const char *at = data; len > 0;) {
        ssize_t n = write(STDOUT_FILENO, at, len);
        if (n <= 0)
            return n < 0 ? -errno : -EIO;
        at += n;
        len -= (size_t)n;
    }
    return 0;
}

static bool parse_side(const char *text, uint32_t *ret)
{
    char *end;
    unsigned long side = strtoul(text, &end, 10);
    *ret = (uint32_t)side;
    return *text != '\0' && *end == '\0' && side <= IMAGE_SIDE_MAX;
}

int image_box_main(int argc, char **argv)
{
    struct scale_limits limits = {.max_pixels = IMAGE_PIXELS_MAX};
    const struct scale_io io = {.read = box_read, .write = box_write};
    if (argc < 2 || argc > 3 || !parse_side(argv[0], &limits.max_width) ||
        !parse_side(argv[1], &limits.max_height) ||
        (argc == 3 && strcmp(argv[2], IMAGE_BOX_SIXELS) != 0))
        return SCALE_MISUSED;
    limits.makes_sixels = argc == 3;
    if (image_box_close() < 0)
        return SCALE_NO_WALLS;
    /* At once: what others left to be done at the end of the program is not allowed here. */
    _exit((int)scale_picture(&io, &limits));
}
