/* What the files that compile the filter share. seccomp.c turns all programs into BPF,
 * seccomp_allow.c has the rules of the first and seccomp_refuse.c its errors, seccomp_options.c
 * writes the beginning of the second and seccomp_deny.c has its rules; seccomp_install.c needs none
 * of it. */
#pragma once

#include "jail/seccomp.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <seccomp.h>

/* Whether the kernel can ask a listener (Linux 5.0). */
bool seccomp_can_ask(void);

/* 0 or -errno. */
int seccomp_add_allowed(scmp_filter_ctx ctx);
int seccomp_add_allowed_debug(scmp_filter_ctx ctx);
int seccomp_add_refused(scmp_filter_ctx ctx); /* to the first program */
int seccomp_add_denied(scmp_filter_ctx ctx);
/* Steps that answer for options of sockets, and pass every other call on to what follows them. The
 * number of them, or -E2BIG. */
int seccomp_write_options(struct sock_filter *code, size_t max);
