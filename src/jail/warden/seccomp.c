/* The programs of the filter, compiled to BPF. Guardian, and the doctor. */
#include "jail/seccomp.h"

#include "base/fd.h"
#include "jail/warden/seccomp_parts.h"

#include <errno.h>
#include <sys/mman.h>

/* Appends the compiled program at `used`; returns its size or -errno. */
static int export_program(uint32_t default_action, int (*build)(scmp_filter_ctx),
                          struct seccomp_blob *blob, size_t used)
{
    scmp_filter_ctx ctx = seccomp_init(default_action);
    if (ctx == NULL)
        return -ENOMEM;
    int r = seccomp_attr_set(ctx, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS);
    if (r == 0)
        r = build(ctx);
    _fd_ int fd = memfd_create("seccomp", MFD_CLOEXEC);
    if (r == 0)
        r = fd < 0 ? -errno : seccomp_export_bpf(ctx, fd);
    seccomp_release(ctx);
    if (r < 0)
        return r;
    ssize_t n = pread(fd, blob->code + used, sizeof(blob->code) - used, 0);
    return n < 0 ? -errno : (int)n;
}

static int export_allowed(struct seccomp_blob *blob, size_t used)
{
    return export_program(SCMP_ACT_ERRNO(ENOSYS), seccomp_add_allowed, blob, used);
}

static int export_allowed_debug(struct seccomp_blob *blob, size_t used)
{
    return export_program(SCMP_ACT_ERRNO(ENOSYS), seccomp_add_allowed_debug, blob, used);
}

/* One program and not two, because the kernel compiles each anew for every session. */
static int export_denied(struct seccomp_blob *blob, size_t used)
{
    struct sock_filter *code = (struct sock_filter *)(void *)(blob->code + used);
    int n = seccomp_write_options(code, (sizeof(blob->code) - used) / sizeof(*code));
    if (n < 0)
        return n;
    int n_bytes = n * (int)sizeof(*code);
    int rest = export_program(SCMP_ACT_ALLOW, seccomp_add_denied, blob, used + (size_t)n_bytes);
    return rest <= 0 ? rest : n_bytes + rest;
}

int seccomp_compile(struct seccomp_blob *ret_blob, struct err *e)
{
    static int (*const programs[SECCOMP_PROGRAMS])(struct seccomp_blob *, size_t) = {
        [SECCOMP_ALLOW] = export_allowed,
        [SECCOMP_ALLOW_DEBUG] = export_allowed_debug,
        [SECCOMP_DENY] = export_denied, /* last: it refuses further filters */
    };
    size_t used = 0;
    for (size_t i = 0; i < SECCOMP_PROGRAMS; i++) {
        int n = programs[i](ret_blob, used);
        if (n <= 0)
            return err_errno(e, ERR_INTERNAL, n, "cannot compile the system call filter");
        ret_blob->sizes[i] = (uint32_t)n;
        used += (size_t)n;
    }
    ret_blob->has_questions = seccomp_can_ask();
    return 0;
}
