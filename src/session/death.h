/* Death certificates: whatever ends a session early is classed here and nowhere else, in words that
 * an agent can act on. */
#pragma once

#include "base/base.h"
#include "jail/spec.h"

/* What the daemon itself did to the session before it ended. */
enum death_wish {
    DEATH_UNWISHED,     /* nothing: it came from inside */
    DEATH_BY_CALLER,    /* deleted */
    DEATH_BY_LIMIT,     /* ignored the interrupt after its time limit */
    DEATH_BY_SUCCESSOR, /* ignored the interrupt that made room for another cell */
    DEATH_BY_CHANNEL,   /* sent what no driver sends, or closed the control socket */
    DEATH_BY_STOP,      /* the daemon stops */
    DEATH_BY_REFUSAL,   /* no jail or no interpreter came to be */
    DEATH_BY_WARDEN,    /* the warden ended */
};

/* Evidence. */
struct death_facts {
    enum death_wish wish;
    bool has_status;
    int status;          /* as waitpid gives it */
    uint32_t oom_kills;  /* in its jail */
    bool is_over_quota;  /* /workspace */
    uint32_t timeout_ms; /* DEATH_BY_LIMIT */
    const char *detail;  /* DEATH_BY_CHANNEL, DEATH_BY_REFUSAL, DEATH_BY_WARDEN: what happened */
    struct jail_limits limits;
};

struct death {
    const char *name; /* "OutOfMemory": stable, part of the API */
    char message[320];
    const char *advice;
    bool has_exit_code;
    int exit_code; /* 128 + signal for one that was killed, as shells say it */
};

void death_certify(const struct death_facts *facts, struct death *ret);
