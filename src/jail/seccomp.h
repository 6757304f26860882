/* The system call filter: compiled once by the guardian, handed on as plain BPF. */
#pragma once

#include "base/err.h"

/* Two programs: the list of what is allowed, and what is refused whatever else is (values that only
 * a mask can compare). The kernel takes the stricter answer. */
enum { SECCOMP_PROGRAMS = 2, SECCOMP_MAX_BYTES = 64 * 1024 };

struct seccomp_blob {
    uint32_t sizes[SECCOMP_PROGRAMS]; /* bytes of each program, one after the other below */
    unsigned char code[SECCOMP_MAX_BYTES];
};

int seccomp_compile(struct seccomp_blob *ret_blob, struct err *e);
int seccomp_install(const struct seccomp_blob *blob); /* needs no_new_privs; 0 or -errno */
