/* The journal: what was put without waiting, until it is committed. Each put is one write(2) before
 * its call is queued, so a killed daemon finds it again at the next start; a power cut may take
 * what the database had not synced either.
 *
 * Invariants
 *  1. Records have growing numbers. The database has, in the transaction that applies them, the
 *     number of the last one that it has seen; only later ones are applied at the start.
 *  2. A file is emptied only when the last record in it is committed. There are two, used in turn;
 *     what is committed may stay in them, by invariant 1.
 *  3. A file's records count up to the first that is not whole. The sum begins with a number that
 *     only this database has: the journal of another one says nothing. */
#pragma once

#include "base/buf.h"
#include "base/err.h"
#include "store/record.h"

#include <stdatomic.h>

struct store;

enum { JOURNAL_FILES = 2 };
#define JOURNAL_TURN_BYTES MIB       /* then the other file is used, once all in it is committed */
#define JOURNAL_FILE_MAX (256 * MIB) /* then nothing more is written until that is so */

struct journal_file {
    int fd;
    size_t bytes;
    uint64_t last; /* number of its last record */
    bool is_torn;  /* its end is not whole and could not be cut off */
};

/* The loop's, but for `committed`, which the store's thread sets. */
struct journal {
    struct journal_file files[JOURNAL_FILES];
    unsigned current;
    uint64_t seq; /* the last number given out */
    uint64_t seed;
    _Atomic uint64_t committed;
};

/* Both before any thread starts. The first opens the files, the second (recover.c) applies what the
 * database has not seen, empties them, and marks cells that were queued or running as lost. */
int journal_open(struct store *store, struct err *e);
int journal_recover(struct store *store, struct err *e);
void journal_close(struct store *store); /* after the last thread has ended */

/* Gives the record its number and writes it. A disk that does not take it is no error: the call is
 * queued, as it would be without a journal. */
uint64_t journal_append(struct journal *journal, struct buf *record);

/* In a transaction: everything up to this number is in the database once it is committed. */
int journal_note(struct store *store, uint64_t seq, struct err *e);

uint64_t journal_sum(uint64_t seed, const char *data, size_t len);
