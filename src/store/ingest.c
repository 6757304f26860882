/* A state stream from a sandbox, read on a worker; one that is small and has arrived as a whole, on
 * the loop. Bodies go to the blob room as they arrive; small ones stay in memory until they are
 * saved in the database. Daemon. */
#include "base/channel.h"
#include "base/clock.h"
#include "base/fd.h"
#include "store/internal.h"
#include "store/stream.h"

#include <errno.h>
#include <poll.h>
#include <sys/socket.h>

enum { INGEST_LOOK_MS = 100 }; /* how soon a job that was cut ends */

struct incoming {
    struct store_call call;
    int fd;
    struct store_limits limits;
    uint64_t deadline_ms; /* monotonic */

    size_t inline_bytes; /* of the state's small bodies so far */
    struct buf small;    /* of the present body, until it is too large for that */
    struct blob_writer *writer;
};

/* ---- in -------------------------------------------------------------------------------------- */

static ssize_t ingest_read_some(void *context, void *out, size_t len, struct err *e)
{
    struct incoming *in = context;
    for (;;) {
        struct pollfd p = {.fd = in->fd, .events = POLLIN};
        uint64_t now = clock_mono_ms();
        if (atomic_load(&in->call.is_cut))
            return err_set(e, ERR_UNAVAILABLE, "saving the state was given up");
        if (now >= in->deadline_ms) {
            err_set(e, ERR_TIMEOUT, "saving the state took longer than %u ms",
                    in->limits.deadline_ms);
            return err_advise(e, "Large or slowly pickled variables are the usual cause.");
        }
        int ready = poll(&p, 1, (int)MIN(in->deadline_ms - now, (uint64_t)INGEST_LOOK_MS));
        if (ready < 0 && errno != EINTR)
            return err_errno(e, ERR_UNAVAILABLE, errno, "waiting for the state");
        if (ready <= 0)
            continue;
        ssize_t n = channel_recv(in->fd, out, len, NULL);
        if (n >= 0)
            return n;
        if (n == -ECONNRESET)
            return 0;
        if (n == -EBADMSG)
            return err_set(e, ERR_FORBIDDEN, "a descriptor came with the state");
        if (n != -EAGAIN)
            return err_errno(e, ERR_UNAVAILABLE, (int)n, "reading the state");
    }
}

/* ---- out ------------------------------------------------------------------------------------- */

static int ingest_explain(int rc, struct err *e)
{
    err_errno(e, ERR_UNAVAILABLE, rc, "writing the state to the data directory");
    if (rc == -ENOSPC || rc == -EDQUOT)
        err_advise(e, "Free some space; what was saved before is still there.");
    return -1;
}

static int ingest_add_bytes(void *context, const void *data, size_t len, struct err *e)
{
    struct incoming *in = context;
    if (in->writer == NULL && in->small.len + len <= INLINE_MAX &&
        in->inline_bytes + in->small.len + len <= INLINE_TOTAL_MAX) {
        buf_append(&in->small, data, len);
        return 0;
    }
    int rc = 0;
    if (in->writer == NULL) {
        /* Too large for the database: what was gathered so far becomes the beginning of a blob. */
        rc = blob_writer_new(in->call.store->blobs, &in->writer);
        if (rc == 0 && in->small.len > 0)
            rc = blob_writer_add(in->writer, in->small.data, in->small.len);
        buf_free(&in->small);
    }
    if (rc == 0)
        rc = blob_writer_add(in->writer, data, len);
    return rc < 0 ? ingest_explain(rc, e) : 0;
}

static int end_body(void *context, struct store_record *record, struct err *e)
{
    struct incoming *in = context;
    struct blob_put put = {0};
    if (in->writer == NULL) {
        record->data = mem_alloc(in->small.len + 1);
        if (in->small.len > 0)
            memcpy(record->data, in->small.data, in->small.len);
        blob_hash_of(record->data, in->small.len, &put.hash);
        in->inline_bytes += in->small.len;
        buf_clear(&in->small);
    } else {
        int rc = blob_writer_finish(in->writer, &put);
        blob_writer_free(take_ptr(in->writer));
        if (rc < 0)
            return ingest_explain(rc, e);
    }
    blob_hex(&put.hash, record->hash);
    return 0;
}

/* ---- the job --------------------------------------------------------------------------------- */

static int take_stream(struct incoming *in, const struct stream_source *source, struct err *e)
{
    struct stream_sink sink = {.add = ingest_add_bytes, .end = end_body, .context = in};
    in->call.state = state_new();
    in->inline_bytes = 0;
    in->small = BUF_INIT(INLINE_MAX);
    int rc = stream_read(source, &sink, &in->limits, in->call.state, e);
    blob_writer_free(take_ptr(in->writer));
    buf_free(&in->small);
    return rc;
}

static int ingest_apply(struct store *store, struct store_call *call, struct err *e)
{
    struct incoming *in = CONTAINER_OF(call, struct incoming, call);
    struct stream_source source = {.read = ingest_read_some, .context = in};
    int rc = in->call.state != NULL ? 0 : take_stream(in, &source, e);
    if (rc == 0)
        state_publish(store, in->call.state);
    channel_close(take_fd(&in->fd)); /* now: the writer must not wait for the loop */
    return rc;
}

static void ingest_release(struct store_call *call)
{
    struct incoming *in = CONTAINER_OF(call, struct incoming, call);
    if (in->fd >= 0)
        channel_close(in->fd);
}

static const struct call_type ingest_type = {
    .apply = ingest_apply, .deliver = call_deliver_state, .release = ingest_release};

struct arrived {
    char data[SMALL_MAX];
    size_t len;
};

static ssize_t read_arrived(void *context, void *out, size_t len, struct err *e)
{
    struct arrived *arrived = context;
    size_t n = MIN(len, arrived->len);
    if (n == 0)
        return err_set(e, ERR_UNAVAILABLE, "the rest has not arrived yet");
    memcpy(out, arrived->data, n);
    arrived->len = 0; /* the reader takes more at a time than this has */
    return (ssize_t)n;
}

struct store_call *store_ingest(struct store *store, int fd, const struct store_limits *limits,
                                store_state_fn fn, void *context)
{
    struct incoming *in = call_new(store, &ingest_type, sizeof(*in), NULL);
    in->fd = fd;
    in->limits = *limits;
    if (in->limits.deadline_ms == 0)
        in->limits.deadline_ms = STREAM_DEADLINE_MS;
    in->limits.deadline_ms = MIN(in->limits.deadline_ms, (uint32_t)STREAM_DEADLINE_MAX_MS);
    in->deadline_ms = clock_mono_ms() + in->limits.deadline_ms;
    in->call.fn = (void *)fn;
    in->call.context = context;
    fd_set_nonblocking(fd, true);
    /* What is only looked at stays where it is: if it is not the whole state, or damaged, a worker
     * reads it from the beginning, and says what is wrong. */
    struct err ignored;
    struct arrived arrived;
    ssize_t n = recv(fd, arrived.data, sizeof(arrived.data), MSG_PEEK | MSG_DONTWAIT);
    arrived.len = n > 0 ? (size_t)n : 0;
    struct stream_source source = {.read = read_arrived, .context = &arrived};
    if (n > 0 && take_stream(in, &source, &ignored) == 0)
        return call_now(&in->call);
    store_state_unref(take_ptr(in->call.state));
    return call_job(&in->call);
}
