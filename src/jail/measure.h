/* What a workspace takes of the disk: everything that has a name in it, and the files without a
 * name that processes of its jail still hold, open or mapped. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct measure {
    uint64_t bytes;
    uint64_t entries;
    bool is_excessive; /* more files, or deeper directories, than a workspace may have */
    bool is_endless;   /* far more: the rest of it was not counted */
};

/* What was found mapped, kept from one measurement to the next: it takes long to read. */
struct measure_mapped {
    uint64_t bytes;
    uint64_t next_ms;
};

/* Of what has a name alone, and `workspace` is a descriptor of the directory. */
struct measure measure_named(int workspace, uint64_t entry_cost);
/* `workspace` and `proc` are descriptors of the directory and of the jail's /proc. Each entry
 * counts at least `entry_cost` bytes. */
struct measure measure_workspace(int workspace, int proc, uint64_t entry_cost,
                                 struct measure_mapped *mapped);

/* Whether a process that a jail's /proc lists lives in it, and not in a room below it. `init` is
 * what the first gives, or 0 if that is not known: then all do. */
ino_t measure_init_namespace(int proc);
bool measure_is_resident(int proc, const char *pid, ino_t init);
