/* Finds the frames of `cella pipe` in a stream of bytes. Command line tool; owns what was read of a
 * frame. */
#include "cli/pipe_frames.h"

static void pipe_frames_take(struct pipe_reader *r, const char *data, size_t len)
{
    if (!r->is_inside || r->is_too_large)
        return;
    if (!buf_append(&r->body, data, len)) {
        r->is_too_large = true;
        buf_free(&r->body);
    }
}

static bool may_become(const struct pipe_reader *r, const char *mark)
{
    return strncmp(mark, r->mark, r->mark_len) == 0;
}

/* What looked like a mark is not one. */
static void give_up_mark(struct pipe_reader *r)
{
    pipe_frames_take(r, r->mark, r->mark_len);
    r->mark_len = 0;
    r->is_mid_line = true;
}

/* One byte of a line's beginning. A mark counts as soon as it is whole: who sends it may wait for
 * the answer and end the line later. */
static enum pipe_event match(struct pipe_reader *r, char byte)
{
    r->mark[r->mark_len++] = byte;
    bool is_start = may_become(r, PIPE_REQUEST_START), is_end = may_become(r, PIPE_REQUEST_END);
    if (is_end && r->mark_len == sizeof(PIPE_REQUEST_END) - 1) {
        r->mark_len = 0;
        r->is_mid_line = true;
        if (!r->is_inside)
            return PIPE_MORE;
        r->is_inside = false;
        return r->is_too_large ? PIPE_TOO_LARGE : PIPE_REQUEST;
    }
    if (is_start && r->mark_len == sizeof(PIPE_REQUEST_START) - 1) {
        bool was_inside = r->is_inside;
        r->mark_len = 0;
        r->is_mid_line = true;
        r->is_inside = true;
        r->is_too_large = false;
        buf_clear(&r->body);
        r->body.overflowed = false;
        return was_inside ? PIPE_CUT_OFF : PIPE_MORE;
    }
    if (!is_start && !is_end)
        give_up_mark(r);
    return PIPE_MORE;
}

/* The rest of a line, with its end. */
static size_t pipe_frames_take_line(struct pipe_reader *r, const char *data, size_t len)
{
    const char *end = memchr(data, '\n', len);
    size_t n = end != NULL ? (size_t)(end - data) + 1 : len;
    pipe_frames_take(r, data, n);
    r->is_mid_line = end == NULL;
    return n;
}

enum pipe_event pipe_feed(struct pipe_reader *r, const char *data, size_t len, size_t *ret_used)
{
    enum pipe_event event = PIPE_MORE;
    size_t at = 0;
    while (at < len && event == PIPE_MORE) {
        bool is_empty_line = r->mark_len == 0 && data[at] == '\n';
        if (r->is_mid_line || is_empty_line)
            at += pipe_frames_take_line(r, data + at, len - at);
        else if (data[at] == '\n' || data[at] == '\0')
            give_up_mark(r);
        else
            event = match(r, data[at++]);
    }
    *ret_used = at;
    return event;
}

enum pipe_event pipe_end(struct pipe_reader *r)
{
    bool was_inside = r->is_inside;
    r->is_inside = false;
    return was_inside ? PIPE_CUT_OFF : PIPE_MORE;
}

void pipe_reader_free(struct pipe_reader *r)
{
    buf_free(&r->body);
}
