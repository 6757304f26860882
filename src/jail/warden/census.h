/* Who lives in a jail. Processes are told apart by pid and start time, as the jail's own /proc
 * numbers them, and ended through a descriptor of their directory there: a pid that was given to
 * another process in the meantime is never hit. */
#pragma once

#include "base/base.h"

#include <sys/types.h>

struct resident {
    pid_t pid; /* in the jail */
    uint64_t started;
};

struct census {
    struct resident *residents; /* in the order of their pids */
    size_t count;
};

/* The jail is told by its init, as the warden's /proc numbers it. What cannot be read is empty.
 * `leaders` are left out: census_clear spares them anyway, if they are still there. */
void census_take(pid_t init_pid, const pid_t *leaders, size_t n_leaders, struct census *ret);
/* To everybody but init and the `spared`. */
void census_signal(pid_t init_pid, const pid_t *spared, size_t n_spared, int sig);
/* How many processes live there besides init and the `leaders`, and threads of these besides their
 * first; and the processor time that all have used, in ticks of the clock. */
size_t census_look(pid_t init_pid, const pid_t *leaders, size_t n_leaders, uint64_t *ret_ticks);
/* Memory that belongs to processes alone (neither of files nor shared memory; what copies share is
 * counted once for each), and their processor time; of all but init and the `skipped`. */
void census_use(pid_t init_pid, const pid_t *skipped, size_t n_skipped, uint64_t *ret_bytes,
                uint64_t *ret_ticks);
/* Without those that were born after `pid`, a process of that jail: the census came late. */
void census_drop_younger(struct census *c, pid_t init_pid, pid_t pid);
void census_free(struct census *c);
/* The number by which a process knows itself, 0 if it is gone. */
pid_t census_inner_pid(pid_t pid);
/* The number of the pid namespace that a process lives in, 0 if it cannot be told. */
ino_t census_namespace(pid_t pid);
/* Whether two processes live in the same one. */
bool census_is_same_jail(pid_t pid, pid_t init_pid);

/* Ends the `victim` (0: none) and everybody but init, the `spared`, and all in a session that one
 * of the leaders began; pass after pass, until no process is new and those that were hit run no
 * code any more. A session decides how many passes that takes, so each is a step of its own and
 * the warden does other things in between. Pids are the jail's. */
struct census_clearing {
    pid_t init_pid;
    ino_t namespace;
    pid_t victim;      /* is never spared */
    bool holds_victim; /* if it has one thread it is stopped, not ended */
    bool was_victim_hit;
    const pid_t *leaders; /* during a pass */
    size_t n_leaders;
    struct census spared;
    struct census ended;
    int n_tries;
    uint64_t quiet_since_ms;
};

enum census_pass {
    CENSUS_CLEARED,
    CENSUS_AGAIN,   /* a new process was there: make another pass */
    CENSUS_WAIT,    /* likewise, but in a moment: those that were hit have not felt it yet */
    CENSUS_GIVEN_UP /* they come faster than they can be ended */
};

void census_clearing_begin(struct census_clearing *ret, pid_t init_pid, pid_t victim,
                           bool holds_victim, const struct census *spared);
enum census_pass census_clearing_pass(struct census_clearing *c, const pid_t *leaders,
                                      size_t n_leaders);
size_t census_clearing_count(const struct census_clearing *c); /* who besides the victim was hit */
void census_clearing_free(struct census_clearing *c);
