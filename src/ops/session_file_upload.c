/* A body that becomes a file, or an archive that is unpacked: into the store piece by piece, by
 * worker threads, so that the daemon holds one piece of it whatever its size. Daemon; on the loop.
 */
#include "jail/files/archive.h"
#include "ops/session_file_call.h"
#include "session/engine.h"
#include "session/session.h"
#include "store/store.h"

#include <uv.h>

/* Outlives its call if a worker has it. */
struct file_upload {
    uv_work_t uv;
    struct call *call; /* NULL if the client went away */
    struct engine *engine;
    char session_id[UUID_SIZE];
    struct warden_file_order what;
    const struct file_listener *listener;
    call_kept_fn then;        /* takes the bytes instead of an order; NULL if the order does */
    struct file_order *space; /* asks how much is free; NULL once that is known */
    uint64_t free_bytes;      /* for all uploads to this session together */
    uint64_t bytes;           /* that came */
    struct blob_writer *writer;
    struct buf piece;
    bool is_working; /* a worker has the piece, or finishes */
    bool is_over;    /* all of the body came */
    int status;      /* of the worker */
    struct blob_put put;
};

/* The session by its id: it may be gone since the last piece. */
static struct session *upload_session(const struct file_upload *u)
{
    struct err ignored;
    return session_find(u->engine, u->session_id, &ignored);
}

static void upload_free(struct file_upload *u)
{
    struct session *session = upload_session(u);
    if (session != NULL)
        session->files.incoming -= MIN(u->bytes, session->files.incoming);
    blob_writer_free(u->writer); /* what was not finished is gone */
    buf_free(&u->piece);
    free(u);
}

static void upload_fail(struct file_upload *u, const struct err *e)
{
    struct call *call = u->call;
    upload_free(u);
    call_fail(call, e);
}

static void upload_gone(struct call *call)
{
    struct file_upload *u = call->op_state;
    u->call = NULL;
    if (u->space != NULL)
        file_forget(u->space);
    if (!u->is_working)
        upload_free(u);
}

static void upload_work(uv_work_t *uv)
{
    struct file_upload *u = CONTAINER_OF(uv, struct file_upload, uv);
    u->status = u->is_over ? blob_writer_finish(u->writer, &u->put)
                           : blob_writer_add(u->writer, u->piece.data, u->piece.len);
}

static void upload_finish(struct file_upload *u)
{
    struct call *call = u->call;
    struct warden_file_order what = u->what;
    const struct file_listener *listener = u->listener;
    call_kept_fn then = u->then;
    blob_hex(&u->put.hash, what.blob);
    upload_free(u);
    call->on_gone = NULL;
    if (then != NULL)
        then(call, what.blob);
    else
        file_call_order(call, &what, -1, listener);
}

static void upload_worked(uv_work_t *uv, int status)
{
    struct file_upload *u = CONTAINER_OF(uv, struct file_upload, uv);
    struct err e;
    (void)status;
    u->is_working = false;
    buf_free(&u->piece);
    if (u->call == NULL) {
        upload_free(u);
    } else if (u->status < 0) {
        err_errno(&e, ERR_UNAVAILABLE, u->status, "the file cannot be kept");
        err_advise(&e, "Free some space where the daemon keeps its data.");
        upload_fail(u, &e);
    } else if (u->is_over) {
        upload_finish(u);
    } else {
        u->call->sink->want_body(u->call);
    }
}

static void upload_start_work(struct file_upload *u)
{
    u->is_working = true;
    uv_queue_work(engine_loop(u->engine), &u->uv, upload_work, upload_worked);
}

/* What is there and what comes may not be more than the disk limit, while it comes too. */
static int upload_check_space(const struct file_upload *u, uint64_t more, struct err *e)
{
    const struct session *session = upload_session(u);
    if (session == NULL)
        return err_set(e, ERR_GONE, "the session ended while the file was sent");
    if (session->files.incoming + more <= u->free_bytes)
        return 0;
    if (u->then != NULL)
        return err_set(e, ERR_TOO_LARGE, "what is sent to the session has more than %llu MiB",
                       (unsigned long long)(u->free_bytes / MIB));
    err_set(e, ERR_TOO_LARGE,
            "the session's disk limit has no room for it: %llu MiB are free of %u",
            (unsigned long long)(u->free_bytes / MIB), session->limits.disk_mb);
    return err_advise(e, "Delete files of the session, or create one with a larger "
                         "limits.disk_mb.");
}

static void upload_take(struct call *call, struct buf *piece)
{
    struct file_upload *u = call->op_state;
    struct err e;
    struct session *session = upload_session(u);
    if (upload_check_space(u, piece->len, &e) < 0) {
        upload_fail(u, &e);
        return;
    }
    session_restart_idle(session);
    session->files.incoming += piece->len;
    u->bytes += piece->len;
    u->piece = *piece;
    *piece = BUF_INIT(0);
    upload_start_work(u);
}

static void upload_end(struct call *call)
{
    struct file_upload *u = call->op_state;
    u->is_over = true;
    upload_start_work(u);
}

static void upload_begin(void *context, const struct file_result *result)
{
    struct file_upload *u = context;
    struct call *call = u->call;
    struct err e;
    u->space = NULL;
    u->free_bytes = (uint64_t)json_integer_value(json_object_get(result->details, "free"));
    if (call == NULL) {
        upload_free(u);
        return;
    }
    int r = blob_writer_new(store_blobs(engine_store(u->engine)), &u->writer);
    if (r < 0)
        err_errno(&e, ERR_UNAVAILABLE, r, "the file cannot be kept");
    else if (call->body_bytes > 0 && upload_check_space(u, (uint64_t)call->body_bytes, &e) < 0)
        r = -1;
    if (r < 0)
        upload_fail(u, &e);
    else
        call->sink->want_body(call);
}

static void upload_refused(void *context, const struct err *e)
{
    struct file_upload *u = context;
    u->space = NULL;
    if (u->call != NULL)
        upload_fail(u, e);
    else
        upload_free(u);
}

static const struct file_listener upload_space = {.on_done = upload_begin,
                                                  .on_failed = upload_refused};

void file_call_upload(struct call *call, const struct warden_file_order *what,
                      const struct file_listener *listener)
{
    struct err e;
    struct session *session = call_session(call);
    if (session == NULL || call_store(call) == NULL)
        return;
    struct file_upload *u = mem_alloc(sizeof(*u));
    *u = (struct file_upload){
        .call = call, .engine = call->engine, .what = *what, .listener = listener};
    snprintf(u->session_id, sizeof(u->session_id), "%s", session->id);
    call->op_state = u;
    call->on_gone = upload_gone;
    call->on_body = upload_take;
    call->on_body_end = upload_end;
    struct warden_file_order space = *what;
    space.action = WARDEN_FILE_SPACE;
    if (what->action == WARDEN_FILE_UNPACK)
        space.path[0] = '\0'; /* it takes no file's place */
    struct file_order *order;
    if (archive_check_order(what, &e) < 0 ||
        session_file(session, &space, -1, &upload_space, u, &order, &e) < 0)
        upload_fail(u, &e);
    else if (order != NULL)
        u->space = order;
}

void call_upload(struct call *call, uint32_t max_mb, call_kept_fn then)
{
    struct err e;
    struct session *session = call_session(call);
    if (session == NULL || call_store(call) == NULL)
        return;
    struct file_upload *u = mem_alloc(sizeof(*u));
    *u = (struct file_upload){
        .call = call, .engine = call->engine, .then = then, .free_bytes = (uint64_t)max_mb * MIB};
    snprintf(u->session_id, sizeof(u->session_id), "%s", session->id);
    call->op_state = u;
    call->on_gone = upload_gone;
    call->on_body = upload_take;
    call->on_body_end = upload_end;
    int r = blob_writer_new(store_blobs(engine_store(u->engine)), &u->writer);
    if (r < 0)
        err_errno(&e, ERR_UNAVAILABLE, r, "the bytes cannot be kept");
    else if (call->body_bytes > (int64_t)u->free_bytes)
        r = err_set(&e, ERR_TOO_LARGE, "it has more than %u MiB", max_mb);
    if (r < 0)
        upload_fail(u, &e);
    else
        call->sink->want_body(call);
}
