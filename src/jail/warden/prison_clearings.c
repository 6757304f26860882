/* Ending processes inside of jails: those that an undone cell started, or all of a jail whose rooms
 * go on. They may be many, and may multiply meanwhile. */
#include "base/clock.h"
#include "jail/warden/branch.h"
#include "jail/warden/prison.h"

#include <time.h>

enum {
    TURN_MS = 2,    /* of one clearing: most are done by then, and nobody else waits for longer */
    PAUSE_US = 100, /* for those that were hit */
};

struct clearing {
    struct list link; /* in prison.clearings */
    struct jail *jail;
    uint64_t head; /* whose end it is; 0: none */
    bool is_asked; /* by the daemon, who waits for the answer */
    struct census_clearing passes;
};

static void conclude(struct clearing *c, bool is_given_up)
{
    struct report report = {.type = WARDEN_CLEARED,
                            .jail = c->jail->id,
                            .head = c->head,
                            .bytes = is_given_up ? 0 : census_clearing_count(&c->passes)};
    if (is_given_up)
        jail_kill(c->jail);
    if (c->is_asked)
        prison_tell(&report,
                    is_given_up ? "its processes multiplied faster than they could be ended" : "");
    list_remove(&c->link);
    census_clearing_free(&c->passes);
    free(c);
}

/* Leaders are listed anew each time: another inmate may have come meanwhile. */
static void take_clearing_turn(struct clearing *c)
{
    uint64_t until_ms = clock_mono_ms() + TURN_MS;
    enum census_pass pass;
    do {
        _free_ pid_t *leaders = NULL;
        size_t n_leaders = 0;
        if (c->is_asked)
            n_leaders = prison_list_leaders(c->jail, prison_find_inmate(c->head), &leaders);
        pass = census_clearing_pass(&c->passes, leaders, n_leaders);
        if (pass == CENSUS_CLEARED || pass == CENSUS_GIVEN_UP) {
            conclude(c, pass == CENSUS_GIVEN_UP);
            return;
        }
        if (pass == CENSUS_WAIT)
            nanosleep(&(struct timespec){.tv_nsec = PAUSE_US * 1000L}, NULL);
    } while (clock_mono_ms() < until_ms);
    list_remove(&c->link); /* the others first */
    list_append(&prison.clearings, &c->link);
}

void prison_go_on_clearing(void)
{
    struct list *first = list_first(&prison.clearings);
    if (first != NULL)
        take_clearing_turn(CONTAINER_OF(first, struct clearing, link));
}

void prison_end_clearings(const struct jail *j)
{
    LIST_EACH(&prison.clearings, at) {
        struct clearing *c = CONTAINER_OF(at, struct clearing, link);
        if (c->jail == j)
            conclude(c, false);
    }
}

static struct clearing *new_clearing(struct jail *j)
{
    struct clearing *c = mem_alloc(sizeof(*c));
    *c = (struct clearing){.jail = j};
    list_init(&c->link);
    list_append(&prison.clearings, &c->link);
    return c;
}

void prison_clear(const struct request *r)
{
    struct jail *j = prison_find_jail(r->jail);
    if (j == NULL || j->is_ending || j->init_pid == 0) {
        prison_tell(&(struct report){.type = WARDEN_CLEARED, .jail = r->jail, .head = r->head}, "");
        return;
    }
    struct inmate *victim = prison_find_inmate(r->head);
    const struct inmate *since = prison_find_inmate(r->since);
    if (victim != NULL && victim->jail != j)
        victim = NULL;
    /* One that is traced may be told to go on by its tracer. */
    bool is_held = r->number == CLEAR_HOLDING && j->limits.debug == 0;
    if (victim != NULL)
        victim->is_held = is_held;
    if (victim != NULL && !is_held)
        prison_expect_end(victim);
    struct clearing *c = new_clearing(j);
    c->head = r->head;
    c->is_asked = true;
    census_clearing_begin(&c->passes, j->init_pid, victim != NULL ? prison_inner_pid(victim) : 0,
                          is_held, since != NULL && since->jail == j ? &since->census : NULL);
    take_clearing_turn(c);
}

void prison_empty(struct jail *j)
{
    cgroup_refuse_forks(&prison.factory->cgroups, &j->cgroup); /* without it this may take longer */
    struct clearing *c = new_clearing(j);
    census_clearing_begin(&c->passes, j->init_pid, 0, false, NULL);
    take_clearing_turn(c);
}
