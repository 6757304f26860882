/* Zygotes as the warden sees them: trusted interpreters with a profile's libraries imported, which
 * fork on request and never run a user's code. */
#pragma once

#include "base/list.h"
#include "jail/warden/jail.h"
#include "jail/warden/outbox.h"

struct zygote {
    struct list link;
    uint32_t id;
    pid_t pid;
    int sock; /* SEQPACKET: its report first, then forks and answers */
    struct outbox out;
    int errors; /* memfd: what it wrote to stdout and stderr */
    bool is_ready;
};

/* `argv` is the program and its arguments, NULL-terminated. */
int zygote_start(uint32_t id, const char *const *argv, const struct seccomp_blob *filter,
                 struct zygote **ret, struct err *e);
int zygote_ask_fork(struct zygote *z, const struct jail_factory *factory, struct jail *j,
                    uint64_t head, int session_sock);                    /* 0 or -errno */
void zygote_read_errors(const struct zygote *z, char *out, size_t size); /* the end of them */
void zygote_free(struct zygote *z); /* kills it; the caller has reaped or will */
