/* Turns: who may copy its interpreter now, of all sessions of the daemon. A checkpoint and a save
 * are forks with work behind them; if hundreds of sessions made theirs whenever they are due, the
 * machine would do nothing else. So there are as many places as the machine has cores, half of them
 * while cells run; a session that finds none waits in a lane, and its session is settled when it
 * has one.
 *
 *    NONE --asks, a place is free--> WORKING --gives it back--> NONE
 *    NONE --asks--> WAITING --a place is free--> WORKING
 *    WORKING --it has taken too long, and others wait--> OVER --gives it back--> NONE
 *
 * Lanes are served in their order, but none is passed over for ever. Within a lane the tenant (the
 * agent on whose behalf sessions were made) with the fewest places comes first, then the session
 * that waits longest. */
#pragma once

#include "base/base.h"
#include "base/list.h"

struct engine;
struct loop_timer;
struct session;

enum turns_lane {
    TURNS_AWAITED,     /* saves that a caller waits for */
    TURNS_CHECKPOINTS, /* they make way for cells, for a tenth of a second */
    TURNS_SAVES,       /* likewise */
    TURNS_SLOW,        /* saves of sessions whose last one took long; with places of their own */
    TURNS_N_LANES
};

enum turn_state { TURN_NONE, TURN_WAITING, TURN_WORKING, TURN_OVER };

struct turn {
    struct session *session;
    struct list node; /* WAITING: in its lane; WORKING: among those that have a place */
    enum turn_state state;
    enum turns_lane lane;
    bool is_first;       /* the session could not use its place: now it waits in front */
    uint64_t since_ms;   /* monotonic: it waits, or works, since then */
    uint64_t allowed_ms; /* WORKING: for how long, if others wait */
    uint64_t worked_ms;  /* how long it had its last place */
};

struct turns {
    struct list waiting[TURNS_N_LANES]; /* of struct turn */
    unsigned n_passed[TURNS_N_LANES];   /* times that another lane was served instead */
    struct list working;                /* of struct turn */
    unsigned n_cores;
    struct loop_timer *timer; /* NULL before anybody had to wait */
};

void turns_init(struct engine *engine);
void turns_stop(struct engine *engine);

void turn_init(struct turn *turn, struct session *session);
/* Whether there is a place for it; else it waits, and its session is settled when there is one.
 * A session that waits already changes its lane. */
bool turn_take(struct turn *turn, enum turns_lane lane);
/* In whatever state: the session waits and works no more. */
void turn_give(struct turn *turn);
/* The session has a place that it cannot use now: the next time it comes first. */
void turn_pass(struct turn *turn);

/* Its last save took so long that the next one belongs to TURNS_SLOW. */
bool turn_is_slow(const struct turn *turn);

/* The last cell that ran has ended: sessions that made way for cells may go on. */
void turns_on_quiet(struct engine *engine);
/* For health. */
void turns_count(const struct engine *engine, size_t *ret_working, size_t *ret_waiting);
