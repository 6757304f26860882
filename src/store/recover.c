/* What a daemon that was killed had put and not committed, and the cells that it was running.
 * Daemon, at its start. */
#include "base/clock.h"
#include "store/internal.h"
#include "store/journal.h"

#include <errno.h>

/* ---- reading --------------------------------------------------------------------------------- */

struct recover_reader {
    const struct journal *journal;
    int fd;
    size_t at;
    struct buf bytes; /* of the present record */
    struct record record;
    bool has_record;
};

static bool read_exactly(int fd, size_t at, void *out, size_t len)
{
    for (size_t done = 0; done < len;) {
        ssize_t n = pread(fd, (char *)out + done, len - done, (off_t)(at + done));
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        done += (size_t)n;
    }
    return true;
}

/* Reads the next record, if it is whole. */
static void read_next(struct recover_reader *r)
{
    struct record_header header;
    r->has_record = false;
    buf_clear(&r->bytes);
    if (!read_exactly(r->fd, r->at, &header, sizeof(header)) || header.bytes < sizeof(header) ||
        header.bytes > RECORD_BYTES_MAX || !buf_reserve(&r->bytes, header.bytes) ||
        !read_exactly(r->fd, r->at, r->bytes.data, header.bytes))
        return;
    memcpy(&header, r->bytes.data, sizeof(header));
    if (journal_sum(r->journal->seed, r->bytes.data, header.bytes) != header.sum ||
        !record_unpack(r->bytes.data, header.bytes, &r->record))
        return;
    r->at += header.bytes;
    r->has_record = true;
}

/* ---- applying -------------------------------------------------------------------------------- */

static int recover_replay(struct store *store, struct err *e)
{
    struct journal *journal = &store->journal;
    struct recover_reader readers[JOURNAL_FILES];
    for (unsigned i = 0; i < JOURNAL_FILES; i++) {
        readers[i] = (struct recover_reader){.journal = journal,
                                             .fd = journal->files[i].fd,
                                             .bytes = BUF_INIT(RECORD_BYTES_MAX + 1)};
        read_next(&readers[i]);
    }
    /* In the order of their numbers, whichever file they are in. A record that is refused for its
     * own sake would have been refused in its turn. */
    int rc = 0;
    while (rc == 0 && (readers[0].has_record || readers[1].has_record)) {
        bool is_second = !readers[0].has_record ||
                         (readers[1].has_record && readers[1].record.seq < readers[0].record.seq);
        struct recover_reader *r = &readers[is_second];
        const struct record *record = &r->record;
        if (record->seq > journal->seq) {
            int got = record->type == RECORD_NOTEBOOK
                          ? notebook_apply_put(store, &record->row, e)
                          : cell_apply_put(store, record->notebook, &record->cell, NULL, NULL, e);
            rc = got < 0 && store->db.is_broken ? -1 : 0;
            if (rc == 0)
                journal->seq = record->seq;
        }
        read_next(r);
    }
    for (unsigned i = 0; i < JOURNAL_FILES; i++)
        buf_free(&readers[i].bytes);
    bool is_news = journal->seq > atomic_load(&journal->committed);
    return rc == 0 && is_news ? journal_note(store, journal->seq, e) : rc;
}

/* Of a cell; of one that waited for its caller it says for what. */
#define LOST                                                                                       \
    "'[{\"type\":\"error\",\"name\":\"Lost\",\"message\":' ||"                                     \
    " json_quote(CASE WHEN waits IS NULL THEN 'the daemon ended while the cell ran'"               \
    " ELSE 'the daemon ended while the cell waited for ' || waits END) || '}]'"

/* ---- all of it ------------------------------------------------------------------------------- */

static int recover(struct store *store, struct err *e)
{
    if (recover_replay(store, e) < 0)
        return -1;
    char touch[192]; /* what has copies of a notebook must see that it changed */
    snprintf(touch, sizeof(touch),
             "UPDATE notebooks SET updated_ms=%llu WHERE key IN"
             " (SELECT notebook FROM cells WHERE state IN ('queued', 'running'))",
             (unsigned long long)clock_wall_ms());
    if (db_exec(&store->db, touch, e) < 0)
        return -1;
    if (db_exec(&store->db,
                "INSERT INTO outputs(cell, outputs) SELECT key, " LOST " FROM cells"
                " WHERE state IN ('queued', 'running') ON CONFLICT(cell) DO UPDATE SET"
                " outputs=CASE WHEN outputs.outputs LIKE '[%]' THEN"
                " substr(outputs.outputs, 1, length(outputs.outputs)-1) || ',' ||"
                " substr(excluded.outputs, 2) ELSE excluded.outputs END;"
                "UPDATE cells SET state='died', waits=NULL WHERE state IN ('queued', 'running')",
                e) < 0)
        return -1;
    if (bodies_sync(store, e) < 0)
        return -1;
    return db_exec(&store->db, "COMMIT", e);
}

int journal_recover(struct store *store, struct err *e)
{
    struct journal *journal = &store->journal;
    store->db.is_broken = false;
    if (db_exec(&store->db, "PRAGMA synchronous=FULL; BEGIN IMMEDIATE", e) < 0)
        return -1;
    if (recover(store, e) < 0) {
        sqlite3_exec(store->db.handle, "ROLLBACK", NULL, NULL, NULL);
        return err_context(e, "saving what the last daemon had left in its journal");
    }
    store->journalled = journal->seq;
    atomic_store(&journal->committed, journal->seq);
    for (unsigned i = 0; i < JOURNAL_FILES; i++) {
        struct journal_file *file = &journal->files[i];
        file->is_torn = file->bytes > 0 && ftruncate(file->fd, 0) < 0;
        file->bytes = file->is_torn ? file->bytes : 0;
    }
    return 0;
}
