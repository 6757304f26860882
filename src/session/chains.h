/* Structured cells: code that is nothing but calls of tools is not run by the session's
 * interpreter, which its earlier code may have changed; the daemon makes the calls, and the
 * interpreter is told what came of them. From the cell's begin until then nothing of it is in the
 * interpreter: an interrupt ends the calls under way. */
#pragma once

#include "base/err.h"
#include "cell/output.h"

#include <jansson.h>

struct exec;
struct exec_outcome;
struct session;

enum { CHAIN_ID_SIZE = 13 };

/* The calls of one structured cell, as its answer tells of them: `tool_chains`. */
struct chain_record {
    char id[CHAIN_ID_SIZE]; /* twelve letters */
    bool is_chain;          /* it has several calls; else one, as any other code's */
    const char *requested;  /* the mode: static texts */
    const char *used;
    bool has_fallen_back; /* its code is run by the interpreter, one call after the other */
    bool has_parallel_mutations;
    bool has_failed; /* one of the calls has */
    bool is_over;    /* all calls that were planned have been made */
    json_t *tools;   /* their names, in the order of the code */
    unsigned waves;
    int64_t n_calls; /* made so far */
    uint64_t begun_ns, elapsed_ns;
};

/* A structured cell whose calls are looked for and made. */
struct chain_turn {
    struct session *session;
    const char *code; /* valid as long as the turn, as `plain` */
    size_t code_len;
    const char *plain; /* what is run if the code does not compile; NULL if nothing is */
    size_t plain_len;
    /* Set by who plans it. The session waits no more; the turn must not be ended afterwards. */
    void (*on_gone)(struct chain_turn *turn);
    /* It was interrupted: to be ended at once, with what there is. */
    void (*on_interrupted)(struct chain_turn *turn);
    void *context;

    /* For session/chains.c. */
    char *plain_kept;
    json_t *order;
    bool is_ended;
    int fds[OUTPUT_STREAMS]; /* the cell's ends of its pipes; -1: given away */
};

/* What its interpreter is told: `order` as drivers/python/planned.py has it, which is taken. NULL
 * if it is to run the code. */
void chain_end(struct chain_turn *turn, json_t *order);
/* The cell has calls, and this is known of them; it is its answer's from now on. */
struct chain_record *chain_record_new(struct session *session);

/* Of the running cell; NULL if it is not structured or has no calls. */
struct chain_record *chain_record_of(const struct session *session);

/* ---- for the rest of the room ---------------------------------------------------------------- */

/* Plans the running cell, which has these ends of its pipes: they are taken. `plain` is taken, and
 * may be NULL. */
void chains_begin(struct session *session, const int fds[OUTPUT_STREAMS], char *plain,
                  size_t plain_len);
bool chains_are_planning(const struct session *session); /* the running cell */
void chains_interrupt(struct session *session);
void chains_forget(struct session *session); /* its interpreter is gone */
/* The plan of the running cell is ready: it is to be sent. */
bool chains_are_ready(const struct session *session);
/* For the answer of a cell that has ended so. */
void chains_conclude(struct exec *exec, const struct exec_outcome *outcome);
void chain_record_free(struct chain_record *record);
void chain_turn_free(struct chain_turn *turn);
