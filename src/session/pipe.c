/* Reading the pipes of cells. Runs in the daemon's loop; owns the reading ends. Bytes go to the
 * cell's transcript, then to those who hear of them at once: the watchers of the notebook and the
 * caller. */
#include "session/pipe.h"

#include "base/utf8.h"
#include "cell/redact.h"
#include "loop/loop.h"
#include "session/engine_state.h"
#include "session/exec.h"
#include "session/recording.h"
#include "session/session.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

enum {
    DRAIN_MAX = 1 << 20, /* of a turn */
    IDLE_PIPE_BYTES = 4096,
    PIPE_MODE = 0622,
};

static int pipe_make(struct spare_pipe *ret)
{
    int fds[2];
    if (pipe2(fds, O_CLOEXEC) < 0)
        return -errno;
    /* Only our end: the writer's must block, as every program expects of its stdout. Programs open
     * it again by name (/dev/stdout), for which the session's user needs a right of its own. */
    if (fcntl(fds[0], F_SETFL, O_NONBLOCK) < 0 || fchmod(fds[1], PIPE_MODE) < 0) {
        int errnum = errno;
        close(fds[0]);
        close(fds[1]);
        return -errnum;
    }
    *ret = (struct spare_pipe){.is_there = true, .read_fd = fds[0], .write_fd = fds[1]};
    return 0;
}

int exec_pipe_open(struct exec_pipe *pipe, struct exec *exec, enum output_stream stream,
                   int *ret_write_fd)
{
    struct spare_pipe *spare = &exec->session->engine->spare_pipes[stream], made = *spare;
    int rc = made.is_there ? 0 : pipe_make(&made);
    if (rc < 0)
        return rc;
    spare->is_there = false;
    pipe->exec = exec;
    pipe->stream = stream;
    pipe->fd = made.read_fd;
    if (exploring_redacts(exec->session)) {
        pipe->is_redacted = true;
        pipe->redactor = mem_alloc(sizeof(*pipe->redactor));
        redactor_init(pipe->redactor);
    }
    *ret_write_fd = made.write_fd;
    return 0;
}

void exec_pipes_spare(struct engine *engine)
{
    for (size_t i = 0; i < OUTPUT_STREAMS; i++)
        if (!engine->spare_pipes[i].is_there && pipe_make(&engine->spare_pipes[i]) < 0)
            return; /* whoever needs one says why there is none */
}

void exec_pipes_drop(struct engine *engine)
{
    for (size_t i = 0; i < OUTPUT_STREAMS; i++) {
        struct spare_pipe *spare = &engine->spare_pipes[i];
        if (!spare->is_there)
            continue;
        spare->is_there = false;
        close(spare->read_fd);
        close(spare->write_fd);
    }
}

/* To those who hear of text at once, as far as it ends with a whole character: the caller, and the
 * watchers unless the text is aside. `bytes` has room for held bytes before it. */
static void pipe_tell(struct exec_pipe *pipe, char *bytes, size_t len, bool is_aside)
{
    struct exec *exec = pipe->exec;
    bytes -= pipe->n_held;
    memcpy(bytes, pipe->held, pipe->n_held);
    len += pipe->n_held;
    size_t whole = output_whole_prefix(bytes, len);
    pipe->n_held = (uint8_t)(len - whole);
    memcpy(pipe->held, bytes + whole, pipe->n_held);
    if (whole == 0)
        return;
    if (!is_aside)
        recording_output(exec, pipe->stream, bytes, whole);
    if (exec->listener != NULL && exec->listener->on_output != NULL)
        exec->listener->on_output(exec->context, pipe->stream, bytes, whole);
}

void exec_pipe_flush_held(struct exec_pipe *pipe)
{
    const struct exec *exec = pipe->exec;
    if (pipe->n_held > 0 && exec->listener != NULL && exec->listener->on_output != NULL)
        exec->listener->on_output(exec->context, pipe->stream, pipe->held, pipe->n_held);
    pipe->n_held = 0;
}

/* Text that the cell wrote; in a place that has room for held bytes before it. */
static void pipe_take(struct exec_pipe *pipe, char *bytes, size_t len)
{
    struct exec *exec = pipe->exec;
    bool is_aside = exec->record == NULL;
    transcript_append(&exec->cell->transcript, pipe->stream, bytes, len, is_aside);
    pipe_tell(pipe, bytes, len, is_aside);
}

/* The same of what a redactor let pass. */
static void pipe_take_redacted(struct exec_pipe *pipe, const struct buf *text)
{
    char *room = pipe->exec->session->engine->scratch + sizeof(pipe->held);
    for (size_t at = 0, part; at < text->len; at += part) {
        part = MIN(text->len - at, (size_t)ENGINE_READ_BYTES);
        memcpy(room, text->data + at, part);
        pipe_take(pipe, room, part);
    }
}

void exec_pipe_release(struct exec_pipe *pipe)
{
    _buf_ struct buf rest = BUF_INIT(SIZE_MAX / 4);
    if (pipe->redactor == NULL)
        return;
    redactor_end(pipe->redactor, &rest);
    pipe_take_redacted(pipe, &rest);
}

void exec_pipe_close(struct exec_pipe *pipe)
{
    loop_poll_close(take_ptr(pipe->poll), NULL);
    if (pipe->fd >= 0)
        close(take_fd(&pipe->fd));
    if (pipe->redactor != NULL) {
        redactor_free(pipe->redactor);
        free(take_ptr(pipe->redactor));
    }
}

void exec_pipe_echo(struct exec_pipe *pipe, const char *text, size_t len)
{
    char *room = pipe->exec->session->engine->scratch + sizeof(pipe->held);
    for (size_t part; len > 0; text += part, len -= part) {
        part = MIN(len, (size_t)ENGINE_READ_BYTES);
        memcpy(room, text, part);
        transcript_append(&pipe->exec->cell->transcript, pipe->stream, room, part, true);
        pipe_tell(pipe, room, part, true);
    }
}

void exec_pipe_replay(struct exec_pipe *pipe)
{
    const struct exec *exec = pipe->exec;
    if (exec == NULL)
        return; /* the cell waits for its turn, and has written nothing */
    char *room = exec->session->engine->scratch + sizeof(pipe->held);
    const struct transcript_stream *written = &exec->cell->transcript.streams[pipe->stream];
    struct output_range range = {.next_offset = written->told};
    pipe->n_held = 0;
    for (bool has_more = written->total > written->told; has_more;) {
        _buf_ struct buf bytes = BUF_INIT(ENGINE_READ_BYTES);
        output_ring_read(&exec->session->rings[pipe->stream], exec->id, range.next_offset,
                         ENGINE_READ_BYTES, &bytes, &range);
        has_more = bytes.len > 0;
        memcpy(room, buf_str(&bytes), bytes.len);
        if (has_more)
            pipe_tell(pipe, room, bytes.len, true);
    }
}

/* One read. Bytes, 0 at the end, -EAGAIN when it is empty. */
static ssize_t pipe_read(struct exec_pipe *pipe)
{
    struct engine *engine = pipe->exec->session->engine;
    char *bytes = engine->scratch + sizeof(pipe->held);
    ssize_t n;
    do
        n = read(pipe->fd, bytes, ENGINE_READ_BYTES);
    while (n < 0 && errno == EINTR);
    int errnum = n < 0 ? errno : 0;
    if (n > 0 && pipe->redactor == NULL) {
        pipe_take(pipe, bytes, (size_t)n);
    } else if (n > 0) {
        _buf_ struct buf text = BUF_INIT(SIZE_MAX / 4);
        redactor_add(pipe->redactor, bytes, (size_t)n, &text);
        pipe_take_redacted(pipe, &text);
    }
    return n < 0 ? -errnum : n;
}

bool exec_pipe_drain(struct exec_pipe *pipe)
{
    size_t total = 0;
    while (pipe->fd >= 0 && total < (size_t)DRAIN_MAX) {
        ssize_t n = pipe_read(pipe);
        if (n == -EAGAIN)
            break;
        if (n <= 0) {
            exec_pipe_release(pipe);
            exec_pipe_close(pipe);
            break;
        }
        total += (size_t)n;
        if (n < ENGINE_READ_BYTES)
            break; /* it was empty then */
    }
    return pipe->fd >= 0;
}

static void pipe_on_readable(void *context, int events)
{
    (void)events;
    struct exec_pipe *pipe = context;
    ssize_t n = pipe_read(pipe);
    if (n > 0 || n == -EAGAIN)
        return;
    exec_pipe_release(pipe);
    exec_pipe_close(pipe);
    exec_pipe_ended(pipe->exec);
}

void exec_pipe_watch(struct exec_pipe *pipe)
{
    if (pipe->fd < 0 || pipe->poll != NULL)
        return;
    uv_loop_t *loop = pipe->exec->session->engine->loop;
    pipe->poll = loop_poll_read(loop, pipe->fd, pipe_on_readable, pipe);
    if (pipe->poll == NULL)
        exec_pipe_close(pipe);
}

void exec_pipe_shrink(struct exec_pipe *pipe)
{
    /* Refused while it holds more than that; then it is not idle either. */
    if (pipe->fd >= 0)
        fcntl(pipe->fd, F_SETPIPE_SZ, IDLE_PIPE_BYTES);
}
