/* The journal: two files into which puts of cells are written before they are queued, so that a
 * killed daemon loses none. Daemon; appended on the loop, opened at the start. */
#include "store/journal.h"

#include "store/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>

static const char *const journal_names[JOURNAL_FILES] = {"cells.journal", "cells.journal.2"};

/* ---- the sum --------------------------------------------------------------------------------- */

/* Must tell bytes that were never written, or only in part. No defence against forgery: only the
 * daemon writes here. */
static uint64_t journal_mix(uint64_t sum, uint64_t word)
{
    sum = (sum ^ word) * 0xff51afd7ed558ccdULL;
    return sum ^ sum >> 32;
}

static uint64_t journal_add_bytes(uint64_t sum, const char *data, size_t len)
{
    uint64_t word;
    for (; len >= sizeof(word); data += sizeof(word), len -= sizeof(word)) {
        memcpy(&word, data, sizeof(word));
        sum = journal_mix(sum, word);
    }
    word = 0;
    memcpy(&word, data, len);
    return journal_mix(journal_mix(sum, word), len);
}

uint64_t journal_sum(uint64_t seed, const char *data, size_t len)
{
    struct record_header header;
    memcpy(&header, data, sizeof(header));
    header.sum = seed;
    uint64_t sum = journal_add_bytes(seed, (const char *)&header, sizeof(header));
    return journal_add_bytes(sum, data + sizeof(header), len - sizeof(header));
}

/* ---- appending: on the loop ------------------------------------------------------------------ */

uint64_t journal_append(struct journal *journal, struct buf *record)
{
    struct journal_file *file = &journal->files[journal->current];
    struct journal_file *other = &journal->files[!journal->current];
    /* The files take turns: a full one is left for the other once all of that is committed. */
    if ((file->bytes >= JOURNAL_TURN_BYTES || file->is_torn) &&
        other->last <= atomic_load(&journal->committed) &&
        (other->bytes == 0 || ftruncate(other->fd, 0) == 0)) {
        other->bytes = 0;
        other->is_torn = false;
        journal->current = !journal->current;
        file = other;
    }
    uint64_t seq = ++journal->seq;
    if (file->is_torn || file->bytes + record->len > JOURNAL_FILE_MAX)
        return seq;
    struct record_header header;
    memcpy(&header, record->data, sizeof(header));
    header.seq = seq;
    memcpy(record->data, &header, sizeof(header));
    header.sum = journal_sum(journal->seed, record->data, record->len);
    memcpy(record->data, &header, sizeof(header));
    ssize_t n = write(file->fd, record->data, record->len);
    if (n == (ssize_t)record->len) {
        file->bytes += record->len;
        file->last = seq;
    } else if (n > 0) {
        file->is_torn = ftruncate(file->fd, (off_t)file->bytes) < 0;
    }
    return seq;
}

int journal_note(struct store *store, uint64_t seq, struct err *e)
{
    static const struct db_sql sql = {"UPDATE about SET value=?1 WHERE key='journal'"};
    return db_do(&store->db, &sql, e, DB_NUMBER(seq));
}

/* ---- opening --------------------------------------------------------------------------------- */

int journal_open(struct store *store, struct err *e)
{
    /* What the database knows of its journal; made with it. */
    static const struct db_sql make = {"INSERT OR IGNORE INTO about VALUES('journal', 0),"
                                       " ('journal seed', ?1)"},
                               read = {"SELECT (SELECT value FROM about WHERE key='journal'),"
                                       " (SELECT value FROM about WHERE key='journal seed')"};
    struct journal *journal = &store->journal;
    uint64_t seed;
    ids_random(&seed, sizeof(seed));
    sqlite3_stmt *s;
    int got = db_first(&store->db, &read, &s, e);
    if (got > 0 && db_text(s, 1) == NULL) {
        sqlite3_reset(s);
        /* SQLite's numbers have a sign. */
        got =
            db_do(&store->db, &make, e, DB_NUMBER(seed >> 1)) < 0 ? -1 : db_step(&store->db, s, e);
    }
    if (got <= 0)
        return -1;
    journal->seq = db_number(s, 0);
    journal->seed = db_number(s, 1);
    atomic_store(&journal->committed, journal->seq);
    sqlite3_reset(s);
    for (unsigned i = 0; i < JOURNAL_FILES; i++) {
        struct journal_file *file = &store->journal.files[i];
        char path[PATH_MAX];
        struct stat st;
        if (snprintf(path, sizeof(path), "%s/%s", store->path, journal_names[i]) >=
            (int)sizeof(path))
            return err_set(e, ERR_INVALID, "the path of the data directory is too long");
        file->fd = open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
        if (file->fd < 0 || fstat(file->fd, &st) < 0) {
            err_errno(e, ERR_UNAVAILABLE, errno, "opening %s in the data directory",
                      journal_names[i]);
            return err_advise(e, "Check that it belongs to the daemon's user.");
        }
        if (!S_ISREG(st.st_mode))
            return err_set(e, ERR_UNAVAILABLE, "%s in the data directory is not a file",
                           journal_names[i]);
        file->bytes = (size_t)st.st_size;
    }
    return 0;
}

void journal_close(struct store *store)
{
    struct journal *journal = &store->journal;
    bool is_done = atomic_load(&journal->committed) == journal->seq;
    for (unsigned i = 0; i < JOURNAL_FILES; i++) {
        struct journal_file *file = &journal->files[i];
        /* A file that cannot be emptied is not applied again either: invariant 1. */
        if (file->fd >= 0 && is_done && file->bytes > 0)
            file->is_torn = ftruncate(file->fd, 0) < 0;
        cleanup_fd(&file->fd);
    }
}
