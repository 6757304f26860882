/* What a jail is made from. */
#pragma once

#include "base/base.h"

struct jail_limits {
    uint32_t memory_mb;
    uint32_t cpu_percent; /* 100 is one core */
    uint32_t pids;        /* processes and threads */
    uint32_t disk_mb;     /* of /workspace */
    uint32_t cpu_seconds; /* of each process; 0: as many as it likes */
    /* What copies on write may take on top of memory_mb from the first checkpoint on: a head that
     * changes what a sleeping copy shares needs it twice. 0: there will be no checkpoints. */
    uint32_t checkpoint_mb;
    /* No limit, but given and kept like one. 1: its processes may trace each other (ptrace). */
    uint32_t debug;
};

/* X(member, least, most, what it is): with the range that each may be given in, whether by a
 * request or in the configuration. First those that can have a ceiling: of cpu_seconds 0 is the
 * most. */
#define JAIL_CEILINGS_EACH(X)                                                                      \
    X(memory_mb, 16, 1 << 22, "Memory, in MiB.")                                                   \
    X(cpu_percent, 1, 100 * 1024, "Processor time; 100 is one core.")                              \
    X(pids, 4, 1 << 20, "Processes and threads.")                                                  \
    X(disk_mb, 1, 1 << 26, "/workspace, in MiB.")                                                  \
    X(checkpoint_mb, 0, 1 << 22,                                                                   \
      "Memory for checkpoints besides, in MiB; the oldest are given up first.")
#define JAIL_LIMITS_EACH(X)                                                                        \
    JAIL_CEILINGS_EACH(X)                                                                          \
    X(cpu_seconds, 0, 365 * 86400, "Processor time of each process, in seconds; 0 is no limit.")

enum { JAIL_CHECKPOINT_PIDS = 24 }; /* likewise on top of pids */

#define JAIL_LIMITS_DEFAULT                                                                        \
    ((struct jail_limits){                                                                         \
        .memory_mb = 512, .cpu_percent = 100, .pids = 128, .disk_mb = 1024, .checkpoint_mb = 512})

/* Inside every jail. */
#define JAIL_WORKSPACE "/workspace"
#define JAIL_LIB "/cella" /* our drivers and the library they call */
