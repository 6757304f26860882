/* One file on its way to a client. Daemon; read by worker threads, written on the loop. */
#include "serve/download.h"

#include "serve/conn.h"

enum { PIECE = 256 * 1024 };

struct download {
    struct conn *conn; /* NULL: nobody waits any more */
    uv_fs_t uv;
    int fd;
    uint64_t at;
    uint64_t bytes;
    bool is_reading; /* a worker has it */
    char piece[PIECE];
};

static void download_free(struct download *d)
{
    close(d->fd);
    free(d);
}

static void download_end(struct download *d)
{
    struct conn *c = d->conn;
    c->download = NULL;
    download_free(d);
    conn_answered(c);
}

/* The client went away, and its connection with it; a worker may still have the piece. */
static void download_on_gone(struct call *call)
{
    struct conn *c = CONTAINER_OF(call, struct conn, call);
    struct download *d = take_ptr(c->download);
    d->conn = NULL;
    if (!d->is_reading)
        download_free(d);
}

/* The head said how many bytes come: one who gets fewer must see that the connection breaks. */
static void download_break_off(struct download *d)
{
    d->conn->is_keep_alive = false;
    d->conn->is_broken = true;
    download_end(d);
}

static void was_read(uv_fs_t *uv)
{
    struct download *d = CONTAINER_OF(uv, struct download, uv);
    ssize_t n = uv->result;
    uv_fs_req_cleanup(uv);
    d->is_reading = false;
    if (d->conn == NULL) {
        download_free(d);
    } else if (n <= 0) {
        download_break_off(d);
    } else {
        d->at += (uint64_t)n;
        conn_write(d->conn, &(struct iovec){d->piece, (size_t)n}, 1);
        download_go_on(d);
    }
}

void download_go_on(struct download *d)
{
    if (d->is_reading)
        return;
    if (d->conn->is_broken || d->at == d->bytes) {
        download_end(d);
        return;
    }
    if (loop_stream_queued(d->conn->stream) > 0)
        return; /* called again when it is sent */
    uv_buf_t into = uv_buf_init(d->piece, (unsigned)MIN((uint64_t)PIECE, d->bytes - d->at));
    d->is_reading = true;
    uv_fs_read(d->conn->server->config.loop, &d->uv, d->fd, &into, 1, (int64_t)d->at, was_read);
}

void download_start(struct conn *c, const struct call_file *file)
{
    struct buf *head = &c->server->head;
    buf_clear(head);
    bool is_known = file->fd < 0;
    http1_write_head(head,
                     &(struct http1_response){.status = is_known ? 304 : 200,
                                              .content_type = file->type,
                                              .content_length = is_known ? HTTP1_LENGTH_UNTIL_CLOSE
                                                                         : (int64_t)file->bytes,
                                              .is_keep_alive = c->is_keep_alive,
                                              .file_name = file->name,
                                              .tag = file->tag});
    conn_write(c, &(struct iovec){head->data, head->len}, 1);
    if (is_known) {
        conn_answered(c);
        return;
    }
    struct download *d = mem_alloc(sizeof(*d));
    d->conn = c;
    d->fd = file->fd;
    d->bytes = c->is_head_only ? 0 : file->bytes;
    c->download = d;
    c->call.on_gone = download_on_gone;
    download_go_on(d);
}
