/* Death certificates: whatever ends a session or a cell early is classed here and nowhere else, in
 * words that an agent can act on. */
#pragma once

#include "base/base.h"
#include "jail/spec.h"

/* What the daemon itself did to the session before it ended. */
enum death_wish {
    DEATH_UNWISHED,     /* nothing: it came from inside */
    DEATH_BY_CALLER,    /* deleted */
    DEATH_BY_LIMIT,     /* ignored the interrupt after its time limit */
    DEATH_BY_SUCCESSOR, /* ignored the interrupt that made room for another cell */
    DEATH_BY_IDLENESS,  /* the session was unused for as long as it may be idle */
    DEATH_BY_AGE,       /* the session reached its greatest age */
    DEATH_BY_CLOSING,   /* nothing yet: its control socket was closed, and its end may follow */
    DEATH_BY_CHANNEL,   /* sent what no driver sends, or closed the control socket */
    DEATH_BY_STOP,      /* the daemon stops */
    DEATH_BY_SETUP,     /* the working directory or environment could not be had */
    DEATH_BY_REFUSAL,   /* no jail or no interpreter came to be */
    DEATH_BY_WARDEN,    /* the warden ended */
};

/* Evidence. */
struct death_facts {
    enum death_wish wish;
    bool has_status;
    int status;             /* as waitpid gives it */
    uint32_t oom_kills;     /* in its jail */
    uint32_t pids_refused;  /* forks in its jail that the limit of processes refused */
    uint64_t peak_bytes;    /* of memory in its jail; 0: not known */
    bool is_over_quota;     /* /workspace */
    char over_quota_by[96]; /* what besides bytes; "": nothing */
    bool is_heap_exhausted; /* the interpreter said so before it ended */
    char denied[32];        /* the last system call that was denied; "": none */
    uint32_t timeout_ms;    /* DEATH_BY_LIMIT */
    uint32_t seconds;       /* DEATH_BY_IDLENESS, DEATH_BY_AGE: the limit */
    const char *detail;     /* by CHANNEL, SETUP, REFUSAL, WARDEN: what happened */
    const char *runtime;    /* its name */
    struct jail_limits limits;
};

struct death {
    const char *name; /* "OutOfMemory": stable, part of the API */
    char message[320];
    char advice[512];
    bool costs_state; /* the interpreter was not meant to end, and its variables are gone */
    bool has_exit_code;
    int exit_code; /* 128 + signal for one that was killed, as shells say it */
};

void death_certify(const struct death_facts *facts, struct death *ret);
/* Adds to the advice what became of the session's state: `fate` is a sentence with a space before
 * it; NULL if it is lost. Once for each certificate. */
void death_conclude(struct death *death, const char *fate);

/* A cell that failed and whose session lives: what to do if a limit was the cause, else NULL.
 * `has_denied`: a system call was denied meanwhile. */
const char *death_advise(const char *name, const char *message, bool has_denied);
/* Likewise by what programs wrote that a cell ran, whatever became of them. */
const char *death_advise_text(const char *text, size_t len);

/* What a JavaScript engine writes before it gives up. */
#define DEATH_HEAP_EXHAUSTED "heap out of memory"
