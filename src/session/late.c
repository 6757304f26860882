#include "session/late.h"

#include "session/wait.h"

enum { LATE_MAX = 8 }; /* ended cells whose pipes stay open; the oldest are closed */

static bool is_ended(const struct exec *exec)
{
    return exec->pipes[OUTPUT_STDOUT].fd < 0 && exec->pipes[OUTPUT_STDERR].fd < 0;
}

void late_forget(struct exec *exec)
{
    exec->session->n_late--;
    list_remove(&exec->node);
    for (size_t i = 0; i < OUTPUT_STREAMS; i++)
        exec_pipe_close(&exec->pipes[i]);
    exec_free_if_over(exec);
}

void exec_pipe_ended(struct exec *exec)
{
    if (exec != exec->session->running && is_ended(exec))
        late_forget(exec);
}

void late_keep(struct exec *exec)
{
    struct session *session = exec->session;
    list_append(&session->late, &exec->node);
    if (++session->n_late > LATE_MAX)
        late_forget(CONTAINER_OF(list_first(&session->late), struct exec, node));
}

/* The driver let go of an earlier cell's pipes when it got the next one's: what is still open now
 * belongs to a process or thread that goes on writing. */
void late_tidy(struct session *session)
{
    LIST_EACH(&session->late, node)
    {
        struct exec *exec = CONTAINER_OF(node, struct exec, node);
        bool is_newest = node->next == &session->late;
        if (exec->outcome == NULL)
            answer_drop(exec);
        for (size_t i = 0; i < OUTPUT_STREAMS && !is_newest; i++)
            if (exec->pipes[i].poll == NULL && exec_pipe_drain(&exec->pipes[i]))
                exec_pipe_watch(&exec->pipes[i]);
        if (is_ended(exec))
            late_forget(exec);
    }
}

void late_watch(struct session *session)
{
    LIST_EACH(&session->late, node)
    {
        struct exec *exec = CONTAINER_OF(node, struct exec, node);
        for (size_t i = 0; i < OUTPUT_STREAMS; i++) {
            exec_pipe_watch(&exec->pipes[i]);
            exec_pipe_shrink(&exec->pipes[i]);
        }
    }
}

void session_take_new(struct session *session, enum output_stream stream, struct buf *out,
                      uint64_t *ret_dropped)
{
    session_touch(session);
    if (session->running != NULL)
        exec_drain(session->running);
    LIST_EACH(&session->late, node)
    exec_drain(CONTAINER_OF(node, struct exec, node));
    struct output_range range;
    size_t from = out->len;
    output_ring_read(&session->rings[stream], 0, session->taken[stream], SIZE_MAX, out, &range);
    /* The rest of a character may be on its way. */
    size_t whole = from + output_whole_prefix(buf_str(out) + from, out->len - from);
    if (session->state == SESSION_BUSY && whole < out->len) {
        range.next_offset -= out->len - whole;
        out->len = whole;
        out->data[whole] = '\0';
    }
    session->taken[stream] = range.next_offset;
    *ret_dropped = range.dropped;
}
