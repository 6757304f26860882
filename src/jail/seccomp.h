/* The system call filter: compiled once by the guardian, handed on as plain BPF. */
#pragma once

#include "base/err.h"

/* Two programs of three: the list of what is allowed, with what debuggers need or without, and what
 * is refused whatever else is (options of sockets, values that only a mask can compare). The kernel
 * takes the stricter answer, and of two errors that of the second. */
enum seccomp_program { SECCOMP_ALLOW, SECCOMP_ALLOW_DEBUG, SECCOMP_DENY, SECCOMP_PROGRAMS };
enum { SECCOMP_MAX_BYTES = 64 * 1024 };

struct seccomp_blob {
    uint32_t sizes[SECCOMP_PROGRAMS]; /* bytes of each program, one after the other below */
    bool has_questions; /* lists ask a listener about some calls; no listener: ENOSYS */
    _Alignas(8) unsigned char code[SECCOMP_MAX_BYTES]; /* of struct sock_filter */
};

int seccomp_compile(struct seccomp_blob *ret_blob, struct err *e);
/* Needs no_new_privs. Returns 0 or -errno. Unless `ret_listener` is NULL it becomes the descriptor
 * that questions are read from (see jail/denied.h), or -1 if the filter has none. Until they are
 * read, the calls in question wait. */
int seccomp_install(const struct seccomp_blob *blob, bool has_debug, int *ret_listener);
