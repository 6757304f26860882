/* What goes on in a session between its cells: processes and threads that a cell left at work. The
 * files that they write are no cell's: they belong to the newest checkpoint, as those that callers
 * put, so that neither a suspension nor the undoing of a later cell takes them away.
 *
 * As long as a process is at work, /workspace is recorded again before the next cell begins,
 * before anything is undone, and now and then while the session rests. A session is not idle while
 * they use the processor, and for ten times as long as others while they only wait. */
#pragma once

#include "session/timeline.h"

struct checkpoint;
struct loop_timer;
struct session;

enum { BACKGROUND_PATIENCE = 10 };

struct background {
    bool is_on;      /* a process was at work when the newest checkpoint was made */
    bool is_awaited; /* a record is waited for that is newer than the wish for it */
    bool is_fresh;   /* the one under way is */
    bool is_seen;    /* it came; until the next cell has ended, or something was undone */
    bool is_wanted;  /* a record is due because time has passed */
    bool
        has_news; /* files have changed since, and are not saved; until settle.c has passed it on */
    uint64_t ticket; /* of the record under way; 0: none */
    uint64_t look;   /* of the look at who is there, likewise */
    uint64_t ticks;  /* of the processor that all had used at the last look */
    uint64_t pause_ms;
    struct loop_timer *patience;    /* a cell waits for the record; NULL if none did yet */
    char ended[TIMELINE_HASH_SIZE]; /* the manifest at the end of the last cell; "": not known */
    char now[TIMELINE_HASH_SIZE];   /* the last one since; "": none */
};

void background_free(struct session *session);
/* The newest checkpoint saw so many processes and threads besides its own. */
void background_on_checkpoint(struct session *session, uint64_t n_others);
void background_on_cell(struct session *session); /* a cell has ended */
void background_on_restored(struct session *session);
/* This is what /workspace is now, between two cells. False: that was known. */
bool background_note(struct session *session, const char *manifest);
/* Files may have been written since the last cell that no record has seen. */
bool background_is_unknown(const struct session *session);
void background_await(struct session *session);  /* a caller waits for a record of them */
bool background_blocks(struct session *session); /* a cell has to wait for it, though not long */
/* A record is wanted, and can be made unless a caller's change of a file is under way. */
bool background_is_to_record(const struct session *session);
void background_record(struct session *session);
/* The session rests: when it is to be looked at again; 0: never. */
uint64_t background_due_ms(const struct session *session);
void background_on_alarm(struct session *session);
/* The manifest `wanted` with what was written in the background since the last cell, in `ret`. */
void background_spare(struct session *session, const char *wanted, char ret[TIMELINE_HASH_SIZE]);
