/* Bytes that an operation sends to a tool: read by a worker thread, as far as the tool wants them.
 * Daemon; on the loop, and the worker. */
#include "ops/tool_call.h"
#include "session/engine.h"

#include <errno.h>
#include <poll.h>
#include <uv.h>

enum { READ_STEP = 64 * 1024, READ_PATIENCE_MS = 30 * 1000 };

/* Outlives its call if a worker has it. */
struct tool_reading {
    uv_work_t uv;
    struct call *call; /* NULL if the client went away */
    int fd;
    uint64_t total; /* bytes of the file */
    size_t wanted;
    struct buf bytes;
    int status; /* 0, or -errno */
};

static void tool_read_read_in_worker(uv_work_t *uv)
{
    struct tool_reading *r = CONTAINER_OF(uv, struct tool_reading, uv);
    struct pollfd ready = {.fd = r->fd, .events = POLLIN};
    while (r->bytes.len < r->wanted) {
        size_t step = MIN(r->wanted - r->bytes.len, (size_t)READ_STEP);
        int n_ready = poll(&ready, 1, READ_PATIENCE_MS);
        if (n_ready == 0) {
            r->status = -ETIMEDOUT;
            return;
        }
        buf_reserve(&r->bytes, step);
        ssize_t n = n_ready > 0 ? read(r->fd, r->bytes.data + r->bytes.len, step) : -1;
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            r->status = -errno;
        if (n <= 0)
            return;
        r->bytes.len += (size_t)n;
    }
}

static void tool_read_on_read(uv_work_t *uv, int status)
{
    (void)status;
    struct tool_reading *r = CONTAINER_OF(uv, struct tool_reading, uv);
    struct call *call = r->call;
    _buf_ struct buf bytes = r->bytes;
    uint64_t total = r->total;
    int failure = r->status < 0 ? r->status : bytes.len < r->wanted ? -EIO : 0;
    close(r->fd);
    free(r);
    if (call == NULL)
        return;
    call->on_gone = NULL;
    if (failure < 0) {
        struct err e;
        err_errno(&e, ERR_UNAVAILABLE, failure, "the file could not be read");
        err_advise(&e, "Try again: it may have changed meanwhile.");
        call_fail(call, &e);
        return;
    }
    call->tool->on_bytes(call, &bytes, total);
}

static void tool_read_on_gone(struct call *call)
{
    struct tool_reading *r = call->op_state;
    r->call = NULL;
}

void tool_read(struct call *call, const struct call_file *file)
{
    struct tool_reading *r = mem_alloc(sizeof(*r));
    uint64_t bytes = (uint64_t)MAX(file->bytes, 0);
    *r = (struct tool_reading){
        .call = call,
        .fd = file->fd,
        .total = file->is_part ? (uint64_t)file->total : bytes,
        .wanted = (size_t)MIN(bytes, (uint64_t)call->tool->bytes_max),
        .bytes = BUF_INIT(SIZE_MAX / 4),
    };
    call->op_state = r;
    call->on_gone = tool_read_on_gone;
    uv_queue_work(engine_loop(call->engine), &r->uv, tool_read_read_in_worker, tool_read_on_read);
}
