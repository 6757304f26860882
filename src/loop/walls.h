/* What a box gives up before it reads the first byte of a stranger. Runs in the box, which has
 * nothing to lose yet: whatever cannot be given up is a reason to end. All return 0 or -errno. */
#pragma once

#include "base/base.h"

#include <sys/resource.h>

/* Whether this is a build that reserves terabytes of addresses. */
#if defined(__SANITIZE_ADDRESS__)
#define WALLS_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define WALLS_SANITIZED 1
#endif
#endif
#ifndef WALLS_SANITIZED
#define WALLS_SANITIZED 0
#endif

struct walls_limits {
    unsigned seconds;  /* of processor time, and of life should the daemon be gone */
    rlim_t memory;     /* addresses, the program and its libraries included */
    rlim_t file_bytes; /* of each file that is written */
    unsigned n_fds;    /* descriptors from 0 on that stay open */
};

/* Dies with the daemon, gets no privilege by exec, leaves no core, has these limits. */
int walls_limit(const struct walls_limits *limits);

/* ---- files, by Landlock ---------------------------------------------------------------------- */

struct walls_path {
    const char *path; /* it and all below */
    enum walls_access {
        WALLS_READ,
        WALLS_EXECUTE, /* and read */
        WALLS_WRITE,   /* and read; files may be made and removed there */
    } access;
};

/* From now on no files but these can be opened, for writing only where it says so. Paths that do
 * not exist are passed over. -ENOSYS without Landlock. */
int walls_files(const struct walls_path *paths, size_t n_paths);

/* ---- system calls, by seccomp ---------------------------------------------------------------- */

struct walls_filter {
    void *context; /* of libseccomp */
    int error;     /* the first one; then nothing is added */
};

/* What is not allowed below ends the process, or, if `is_mild`, fails with EPERM: for libraries
 * that look for what they can do without. */
struct walls_filter walls_filter(bool is_mild);
void walls_allow(struct walls_filter *f, const int *calls, size_t n_calls);
void walls_allow_on(struct walls_filter *f, int call, int fd); /* its first argument */
void walls_allow_memory(struct walls_filter *f); /* anonymous, never to be executed; exit_group */
/* Besides: libraries and other files may be mapped, and executed where they are not written. */
void walls_allow_mapping(struct walls_filter *f);
void walls_allow_opening(struct walls_filter *f); /* openat, for reading only */
int walls_load(struct walls_filter *f);

/* Later: this one fails with `error` from now on, whatever was allowed before. */
int walls_forbid(int call, int error);
