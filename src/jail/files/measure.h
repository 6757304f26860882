/* What a workspace takes of the disk: everything that has a name in it, and the files without a
 * name that processes of its jail still hold, open or mapped. Each part of it can be prolonged by
 * the session: names up to a limit, the others up to a budget of processor time. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct measure {
    uint64_t bytes;
    uint64_t entries;
    bool is_excessive;   /* more files, or deeper directories, than a workspace may have */
    bool is_endless;     /* far more: the rest of it was not counted */
    bool is_uncountable; /* its processes hold more than can be counted; `bytes` is a part of it */
};

/* What is known of the files that processes hold, from one measurement to the next. Zero it. */
struct measure_held {
    uint64_t mapped_bytes; /* takes long to find out */
    uint64_t next_ms;      /* when mappings are looked at again */
    unsigned n_unfinished; /* times in a row that the budget did not suffice */
};

/* Of what has a name alone, and `workspace` is a descriptor of the directory. */
struct measure measure_named(int workspace, uint64_t entry_cost);
/* `workspace` and `proc` are descriptors of the directory and of the jail's /proc. Each entry
 * counts at least `entry_cost` bytes. `held_cpu_ms`: processor time of this thread for what
 * processes hold. A jail for which that is too little again and again is excessive, then endless.
 */
struct measure measure_workspace(int workspace, int proc, uint64_t entry_cost, uint64_t held_cpu_ms,
                                 struct measure_held *held);

/* Whether a process that a jail's /proc lists lives in it, and not in a room below it. `init` is
 * what the first gives, or 0 if that is not known: then all do. */
ino_t measure_init_namespace(int proc);
bool measure_is_resident(int proc, const char *pid, ino_t init);
