/* A state written back as a stream, on a worker or, if it is small and the socket takes it without
 * waiting, on the loop. A body is checked as a whole before its first byte is sent: what is read
 * must never be half of something else. One that is damaged becomes "lost" records for its names,
 * so that the rest still comes back. Daemon. */
#include "base/channel.h"
#include "base/clock.h"
#include "base/fd.h"
#include "store/internal.h"
#include "store/stream.h"
#include "wire/json.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>

enum { EXPORT_LOOK_MS = 100, DAMAGED_MAX = 100, RECORD_LENGTHS = 3 * 4 };
#define SEND_CHUNK (256 * KIB)
#define DAMAGED_BYTES (256 * KIB)

struct outgoing {
    struct store_call call;
    int fd;
    uint32_t limit_ms;
    uint64_t deadline_ms; /* monotonic */
    struct buf out;       /* what is not sent yet: small records go together */
    bool is_written;      /* all of it is in there or was sent */
    uint64_t bytes;
    size_t n_damaged;
    struct buf damaged; /* JSON, of the first ones */
    struct json_out damaged_json;
};

/* ---- sending --------------------------------------------------------------------------------- */

static int send_all(struct outgoing *ex, const char *data, size_t len, struct err *e)
{
    while (len > 0) {
        ssize_t n = write(ex->fd, data, len);
        if (n >= 0) {
            ex->bytes += (uint64_t)n;
            data += n;
            len -= (size_t)n;
            continue;
        }
        if (errno != EAGAIN && errno != EINTR)
            return err_errno(e, ERR_UNAVAILABLE, errno, "giving the interpreter its saved state");
        struct pollfd p = {.fd = ex->fd, .events = POLLOUT};
        uint64_t now = clock_mono_ms();
        if (atomic_load(&ex->call.is_cut))
            return err_set(e, ERR_UNAVAILABLE, "restoring the state was given up");
        if (now >= ex->deadline_ms)
            return err_set(e, ERR_TIMEOUT,
                           "the interpreter did not take its saved state within %u ms",
                           ex->limit_ms);
        if (poll(&p, 1, (int)MIN(ex->deadline_ms - now, (uint64_t)EXPORT_LOOK_MS)) < 0 &&
            errno != EINTR)
            return err_errno(e, ERR_UNAVAILABLE, errno, "waiting for the interpreter");
    }
    return 0;
}

static int flush(struct outgoing *ex, struct err *e)
{
    int rc = send_all(ex, ex->out.data, ex->out.len, e);
    buf_clear(&ex->out);
    return rc;
}

static int export_put(struct outgoing *ex, const void *data, size_t len, struct err *e)
{
    if (ex->out.len + len > SEND_CHUNK && flush(ex, e) < 0)
        return -1;
    if (len > SEND_CHUNK)
        return send_all(ex, data, len, e);
    buf_append(&ex->out, data, len);
    return 0;
}

static int put_length(struct outgoing *ex, size_t len, struct err *e)
{
    unsigned char b[4] = {len & 255, len >> 8 & 255, len >> 16 & 255, len >> 24 & 255};
    return export_put(ex, b, sizeof(b), e);
}

static int put_framed(struct outgoing *ex, const void *data, size_t len, struct err *e)
{
    return put_length(ex, len, e) < 0 ? -1 : export_put(ex, data, len, e);
}

/* ---- what cannot be read any more ------------------------------------------------------------ */

static void write_lost(struct json_out *o, const char *name, const char *kind, bool with_rec)
{
    char advice[160];
    snprintf(advice, sizeof(advice),
             "Note: '%.60s' was saved, but its bytes on disk are damaged - compute it again", name);
    json_put_object(o);
    if (with_rec)
        json_put_member_str(o, "rec", "lost");
    json_put_member_str(o, "name", name);
    json_put_member_str(o, "type", kind);
    json_put_member_str(o, "advice", advice);
    json_put_object_end(o);
}

static int tell_lost(struct outgoing *ex, const char *name, const char *kind, struct err *e)
{
    _buf_ struct buf text = BUF_INIT(STREAM_HEADER_MAX);
    struct json_out o = JSON_OUT(&text);
    write_lost(&o, name, kind, true);
    if (ex->n_damaged++ < DAMAGED_MAX)
        write_lost(&ex->damaged_json, name, kind, false);
    return text.overflowed ? 0 : put_framed(ex, text.data, text.len, e);
}

static int replace_by_lost(struct outgoing *ex, const struct store_record *r, struct err *e)
{
    _json_ json_t *header = NULL;
    if (json_read_object(r->header, r->header_len, &header, e) < 0)
        return -1;
    const char *kind = json_string_value(json_object_get(header, "kind"));
    const json_t *names = json_object_get(header, "names");
    kind = kind == NULL ? "blob" : kind;
    if (json_array_size(names) == 0)
        return tell_lost(ex, kind, kind, e);
    for (size_t i = 0; i < json_array_size(names); i++) {
        const char *name = json_string_value(json_array_get(names, i));
        if (name != NULL && tell_lost(ex, name, kind, e) < 0)
            return -1;
    }
    return 0;
}

/* ---- records --------------------------------------------------------------------------------- */

static bool is_intact(const struct store_record *r)
{
    struct blob_hash want, have;
    blob_hash_of(r->data, (size_t)r->bytes, &have);
    return blob_parse_hex(r->hash, &want) == 0 && blob_is_same(&want, &have);
}

static int export_put_blob(struct outgoing *ex, const struct store_record *r, struct err *e)
{
    struct blob_hash hash;
    int rc = blob_parse_hex(r->hash, &hash);
    _fd_ int fd = rc < 0 ? rc : blob_open_checked(ex->call.store->blobs, &hash);
    /* Out of descriptors or memory is not damage: that passes. */
    if (fd == -EMFILE || fd == -ENFILE || fd == -ENOMEM || fd == -EACCES)
        return err_errno(e, ERR_UNAVAILABLE, fd, "reading the saved state");
    if (fd >= 0) {
        /* The length of a chunk goes before what was really read: a file that shrinks now ends the
         * stream early, and nothing of it counts. */
        _free_ char *chunk = mem_alloc(SEND_CHUNK);
        uint64_t left = r->bytes;
        if (put_framed(ex, r->header, r->header_len, e) < 0)
            return -1;
        while (left > 0) {
            ssize_t n = pread(fd, chunk, MIN(left, (uint64_t)SEND_CHUNK), (off_t)(r->bytes - left));
            if (n < 0 && errno == EINTR)
                continue;
            if (n <= 0)
                return err_errno(e, ERR_UNAVAILABLE, n < 0 ? errno : EIO,
                                 "reading the saved state");
            if (put_framed(ex, chunk, (size_t)n, e) < 0)
                return -1;
            left -= (uint64_t)n;
        }
        return put_length(ex, 0, e);
    }
    bodies_drop_damaged(ex->call.store, r->hash);
    return replace_by_lost(ex, r, e);
}

static int put_record(struct outgoing *ex, const struct store_record *r, struct err *e)
{
    if (!r->has_body)
        return put_framed(ex, r->header, r->header_len, e);
    if (r->data == NULL)
        return export_put_blob(ex, r, e);
    if (is_intact(r)) {
        if (put_framed(ex, r->header, r->header_len, e) < 0)
            return -1;
        if (r->bytes > 0 && put_framed(ex, r->data, (size_t)r->bytes, e) < 0)
            return -1;
        return put_length(ex, 0, e);
    }
    bodies_drop_damaged(ex->call.store, r->hash);
    return replace_by_lost(ex, r, e);
}

/* ---- the job --------------------------------------------------------------------------------- */

static int write_records(struct outgoing *ex, struct err *e)
{
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < ex->call.state->n_records; i++)
        rc = put_record(ex, &ex->call.state->records[i], e);
    json_put_array_end(&ex->damaged_json);
    ex->is_written = true;
    return rc;
}

static int export_apply(struct store *store, struct store_call *call, struct err *e)
{
    struct outgoing *ex = CONTAINER_OF(call, struct outgoing, call);
    (void)store;
    int rc = ex->is_written ? 0 : write_records(ex, e);
    if (rc == 0)
        rc = flush(ex, e);
    buf_free(&ex->out);
    channel_close(take_fd(&ex->fd)); /* the reader sees the end now */
    return rc;
}

static void export_deliver(struct store_call *call, const struct err *e)
{
    const struct outgoing *ex = CONTAINER_OF(call, struct outgoing, call);
    struct store_exported result = {
        .bytes = ex->bytes,
        .n_damaged = ex->n_damaged,
        .damaged = ex->damaged.overflowed ? "[]" : buf_str(&ex->damaged),
    };
    ((store_exported_fn)call->fn)(call->context, &result, e);
}

static void export_release(struct store_call *call)
{
    struct outgoing *ex = CONTAINER_OF(call, struct outgoing, call);
    if (ex->fd >= 0)
        channel_close(ex->fd);
    buf_free(&ex->out);
    buf_free(&ex->damaged);
}

static const struct call_type export_type = {
    .apply = export_apply, .deliver = export_deliver, .release = export_release};

/* Nothing has to be read or replaced, and it is less than goes out in one piece. */
static bool is_small(const struct store_state *state)
{
    size_t bytes = 0;
    for (size_t i = 0; i < state->n_records && bytes <= SMALL_MAX; i++) {
        const struct store_record *r = &state->records[i];
        if (r->has_body && (r->data == NULL || !is_intact(r)))
            return false;
        bytes += r->header_len + (size_t)r->bytes + RECORD_LENGTHS;
    }
    return bytes <= SMALL_MAX;
}

struct store_call *store_export(struct store *store, struct store_state *state, int fd,
                                uint32_t deadline_ms, store_exported_fn fn, void *context)
{
    struct outgoing *ex = call_new(store, &export_type, sizeof(*ex), NULL);
    ex->call.state = store_state_ref(state);
    ex->fd = fd;
    ex->limit_ms = deadline_ms == 0 ? STREAM_DEADLINE_MS : deadline_ms;
    ex->deadline_ms = clock_mono_ms() + ex->limit_ms;
    ex->call.fn = (void *)fn;
    ex->call.context = context;
    fd_set_nonblocking(fd, true);
    ex->out = BUF_INIT(2 * SEND_CHUNK);
    ex->damaged = BUF_INIT(DAMAGED_BYTES);
    ex->damaged_json = JSON_OUT(&ex->damaged);
    json_put_array(&ex->damaged_json);
    if (!is_small(state))
        return call_job(&ex->call);
    struct err e;
    int rc = write_records(ex, &e);
    assert(rc == 0 && ex->bytes == 0); /* see is_small() */
    (void)rc;
    ssize_t n = write(fd, ex->out.data, ex->out.len);
    ex->bytes = n > 0 ? (uint64_t)n : 0; /* an error is the worker's to meet */
    buf_consume(&ex->out, (size_t)ex->bytes);
    /* What the socket did not take is left for a worker. */
    return ex->out.len == 0 ? call_now(&ex->call) : call_job(&ex->call);
}
