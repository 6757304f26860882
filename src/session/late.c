/* Pipes of cells that have ended, in the daemon: what is still written to them is told with the
 * next answer. */
#include "session/late.h"

#include "session/wait.h"

enum {
    LATE_MAX = 8,         /* ended cells whose pipes stay open; the oldest are closed */
    LATE_TEXT_MAX = 2000, /* bytes of each stream that the next answer tells */
    LATE_ENTRIES_MAX = LATE_MAX,
};

static bool late_is_ended(const struct exec *exec)
{
    return exec->pipes[OUTPUT_STDOUT].fd < 0 && exec->pipes[OUTPUT_STDERR].fd < 0;
}

/* ---- what came after the answer -------------------------------------------------------------- */

/* The end of a stream: what came last matters most. NULL if nothing came. */
static json_t *late_read(struct exec *exec, enum output_stream stream, uint64_t *omitted)
{
    uint64_t from = exec->late_from[stream];
    uint64_t total = exec->cell->transcript.streams[stream].total;
    if (total <= from)
        return NULL;
    exec->late_from[stream] = total;
    uint64_t begin = MAX(from, total - MIN(total, (uint64_t)LATE_TEXT_MAX));
    _buf_ struct buf raw = BUF_INIT(LATE_TEXT_MAX), text = BUF_INIT(4 * LATE_TEXT_MAX);
    struct output_range range;
    output_ring_read(&exec->session->rings[stream], exec->id, begin, LATE_TEXT_MAX, &raw, &range);
    *omitted += total - from - raw.len;
    output_cut_text(buf_str(&raw), raw.len, LATE_TEXT_MAX, &text);
    return json_stringn(buf_str(&text), text.len);
}

/* For the next answer. */
static void late_tell_one(struct exec *exec)
{
    struct session *session = exec->session;
    uint64_t omitted = 0;
    json_t *texts[OUTPUT_STREAMS];
    for (size_t i = 0; i < OUTPUT_STREAMS; i++)
        texts[i] = late_read(exec, (enum output_stream)i, &omitted);
    if (texts[OUTPUT_STDOUT] == NULL && texts[OUTPUT_STDERR] == NULL)
        return;
    json_t *entry = json_pack("{sI}", "number", (json_int_t)exec->id);
    for (size_t i = 0; i < OUTPUT_STREAMS; i++)
        if (texts[i] != NULL)
            json_object_set_new(entry, output_stream_name((enum output_stream)i), texts[i]);
    if (omitted > 0)
        json_object_set_new(entry, "omitted_bytes", json_integer((json_int_t)omitted));
    json_t *list = json_object_get(session->news, "late");
    if (list == NULL) {
        exec_add_news(session, json_pack("{s[]}", "late"));
        list = json_object_get(session->news, "late");
    }
    if (json_array_size(list) >= LATE_ENTRIES_MAX)
        json_array_remove(list, 0);
    json_array_append_new(list, entry);
}

void late_tell(struct session *session)
{
    LIST_EACH(&session->late, node) {
        struct exec *exec = CONTAINER_OF(node, struct exec, node);
        exec_drain(exec);
        late_tell_one(exec);
    }
}

void late_drop(struct exec *exec)
{
    late_tell_one(exec);
    exec->session->n_late--;
    list_remove(&exec->node);
    for (size_t i = 0; i < OUTPUT_STREAMS; i++)
        exec_pipe_close(&exec->pipes[i]);
    exec_free_if_over(exec);
}

void late_drop_ended(struct session *session)
{
    LIST_EACH(&session->late, node) {
        struct exec *exec = CONTAINER_OF(node, struct exec, node);
        if (late_is_ended(exec))
            late_drop(exec);
    }
}

void late_keep(struct exec *exec)
{
    struct session *session = exec->session;
    for (size_t i = 0; i < OUTPUT_STREAMS; i++)
        exec->late_from[i] = exec->cell->transcript.streams[i].total;
    list_append(&session->late, &exec->node);
    if (++session->n_late > LATE_MAX)
        late_drop(CONTAINER_OF(list_first(&session->late), struct exec, node));
}

/* The driver let go of an earlier cell's pipes when it got the next one's: what is still open now
 * belongs to a process or thread that goes on writing. */
void late_tidy(struct session *session)
{
    LIST_EACH(&session->late, node) {
        struct exec *exec = CONTAINER_OF(node, struct exec, node);
        bool is_newest = node->next == &session->late;
        for (size_t i = 0; i < OUTPUT_STREAMS && !is_newest; i++)
            if (exec->pipes[i].poll == NULL && exec_pipe_drain(&exec->pipes[i]))
                exec_pipe_watch(&exec->pipes[i]);
        if (late_is_ended(exec))
            late_drop(exec);
    }
}

void late_watch(struct session *session)
{
    LIST_EACH(&session->late, node) {
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
    session_restart_idle(session);
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
