#include "session/output.h"

#include "base/utf8.h"

enum {
    FIRST_CAP = 4096,
    FIRST_SEGMENTS = 8,
    /* Two writers that alternate byte by byte make a segment of each byte: past this many the
     * oldest are dropped as if the ring were full. A power of two. */
    MAX_SEGMENTS = 4096,
    UTF8_MAX = 4,
};

const char *output_stream_name(enum output_stream stream)
{
    return stream == OUTPUT_STDOUT ? "stdout" : "stderr";
}

void output_ring_init(struct output_ring *ring, size_t max)
{
    *ring = (struct output_ring){.max = MAX(max, (size_t)1)};
}

void output_ring_free(struct output_ring *ring)
{
    free(ring->data);
    free(ring->segments);
    output_ring_init(ring, ring->max);
}

size_t output_ring_kept(const struct output_ring *ring)
{
    return (size_t)(ring->end - ring->start);
}

static struct output_segment *segment_at(const struct output_ring *ring, size_t i)
{
    return &ring->segments[(ring->segments_first + i) & (ring->segments_cap - 1)];
}

/* Copies `len` bytes that begin `at` bytes after the oldest one. */
static void copy_out(const struct output_ring *ring, size_t at, size_t len, char *out)
{
    size_t from = (ring->first + at) % ring->cap;
    size_t until_wrap = MIN(len, ring->cap - from);
    memcpy(out, ring->data + from, until_wrap);
    memcpy(out + until_wrap, ring->data, len - until_wrap);
}

static void copy_in(struct output_ring *ring, const char *data, size_t len)
{
    size_t to = (ring->first + output_ring_kept(ring)) % ring->cap;
    size_t until_wrap = MIN(len, ring->cap - to);
    memcpy(ring->data + to, data, until_wrap);
    memcpy(ring->data, data + until_wrap, len - until_wrap);
}

static void grow_data(struct output_ring *ring, size_t need)
{
    size_t cap = MAX(ring->cap, (size_t)FIRST_CAP);
    while (cap < need)
        cap *= 2;
    cap = MIN(cap, ring->max);
    if (cap <= ring->cap)
        return;
    char *data = mem_alloc(cap);
    if (ring->cap > 0)
        copy_out(ring, 0, output_ring_kept(ring), data);
    free(ring->data);
    ring->data = data;
    ring->cap = cap;
    ring->first = 0;
}

static void drop_segment(struct output_ring *ring)
{
    ring->segments_first = (ring->segments_first + 1) & (ring->segments_cap - 1);
    ring->segments_len--;
}

static void drop_oldest(struct output_ring *ring, size_t len)
{
    if (len == 0)
        return;
    ring->start += len;
    ring->first = (ring->first + len) % ring->cap;
    while (len > 0) {
        struct output_segment *oldest = segment_at(ring, 0);
        size_t part = MIN(len, oldest->len);
        oldest->len -= part;
        oldest->exec_offset += part;
        len -= part;
        if (oldest->len == 0)
            drop_segment(ring);
    }
}

static void grow_segments(struct output_ring *ring)
{
    size_t cap = ring->segments_cap ? ring->segments_cap * 2 : FIRST_SEGMENTS;
    struct output_segment *segments = mem_alloc(cap * sizeof(*segments));
    for (size_t i = 0; i < ring->segments_len; i++)
        segments[i] = *segment_at(ring, i);
    free(ring->segments);
    ring->segments = segments;
    ring->segments_cap = cap;
    ring->segments_first = 0;
}

static void credit(struct output_ring *ring, uint64_t exec_id, uint64_t exec_offset, size_t len)
{
    if (ring->segments_len > 0) {
        struct output_segment *last = segment_at(ring, ring->segments_len - 1);
        if (last->exec_id == exec_id && last->exec_offset + last->len == exec_offset) {
            last->len += len;
            return;
        }
    }
    if (ring->segments_len == MAX_SEGMENTS)
        drop_oldest(ring, segment_at(ring, 0)->len);
    if (ring->segments_len == ring->segments_cap)
        grow_segments(ring);
    ring->segments_len++;
    *segment_at(ring, ring->segments_len - 1) =
        (struct output_segment){.exec_id = exec_id, .exec_offset = exec_offset, .len = len};
}

void output_ring_append(struct output_ring *ring, uint64_t exec_id, uint64_t exec_offset,
                        const char *data, size_t len)
{
    if (len > ring->max) {
        /* Only the end of it can stay; what the ring held goes as well. */
        size_t skip = len - ring->max;
        drop_oldest(ring, output_ring_kept(ring));
        ring->start += skip;
        ring->end += skip;
        exec_offset += skip;
        data += skip;
        len = ring->max;
    }
    if (len == 0)
        return;
    size_t need = output_ring_kept(ring) + len;
    if (need > ring->cap)
        grow_data(ring, need);
    if (need > ring->cap)
        drop_oldest(ring, need - ring->cap);
    credit(ring, exec_id, exec_offset, len);
    copy_in(ring, data, len);
    ring->end += len;
}

/* Gives back the bytes of a character that the limit cut in two. */
static void trim_partial(struct buf *out, size_t from, struct output_range *range)
{
    for (size_t back = 1; back < UTF8_MAX && back < out->len - from; back++) {
        size_t at = out->len - back;
        if (((unsigned char)out->data[at] & 0xc0) == 0x80)
            continue;
        if (utf8_is_partial(out->data + at, back)) {
            out->len = at;
            out->data[at] = '\0';
            range->next_offset -= back;
        }
        return;
    }
}

void output_ring_read(const struct output_ring *ring, uint64_t exec_id, uint64_t offset,
                      size_t limit, struct buf *out, struct output_range *ret)
{
    struct output_range range = {.offset = offset, .next_offset = offset};
    if (exec_id == 0)
        range.end = ring->end;
    size_t from = out->len, at = 0;
    bool is_cut = false;
    for (size_t i = 0; i < ring->segments_len; at += segment_at(ring, i)->len, i++) {
        const struct output_segment *s = segment_at(ring, i);
        if (exec_id != 0 && s->exec_id != exec_id)
            continue;
        uint64_t begin = exec_id != 0 ? s->exec_offset : ring->start + at;
        range.end = MAX(range.end, begin + s->len);
        if (begin + s->len <= range.next_offset || is_cut)
            continue;
        if (begin > range.next_offset) {
            range.dropped += begin - range.next_offset;
            range.next_offset = begin;
            if (out->len == from)
                range.offset = begin;
        }
        size_t skip = (size_t)(range.next_offset - begin);
        size_t part = MIN(s->len - skip, limit - (out->len - from));
        is_cut = part < s->len - skip;
        if (part == 0 || !buf_reserve(out, part))
            continue;
        copy_out(ring, at + skip, part, out->data + out->len);
        out->len += part;
        out->data[out->len] = '\0';
        range.next_offset += part;
    }
    if (is_cut)
        trim_partial(out, from, &range);
    *ret = range;
}

void output_capture_init(struct output_capture *capture, size_t budget, size_t ring_max)
{
    size_t tail_max = MIN(budget / 2, ring_max);
    *capture = (struct output_capture){.head_max = budget - tail_max};
    capture->head = BUF_INIT(capture->head_max);
}

void output_capture_resize(struct output_capture *capture, size_t budget, size_t ring_max)
{
    size_t head_max = budget - MIN(budget / 2, ring_max);
    capture->head_max = MAX(head_max, capture->head.len);
    capture->head.max = capture->head_max;
}

void output_capture_free(struct output_capture *capture)
{
    buf_free(&capture->head);
}

uint64_t output_capture_new(const struct output_capture *capture)
{
    return capture->total - capture->told;
}

void output_capture_set_aside(struct output_capture *capture, const struct output_ring *ring,
                              uint64_t exec_id, struct output_rest *ret)
{
    size_t len = (size_t)MIN(output_capture_new(capture), (uint64_t)UTF8_MAX - 1);
    ret->len = 0;
    if (len == 0)
        return;
    _buf_ struct buf end = BUF_INIT(UTF8_MAX);
    struct output_range range;
    output_ring_read(ring, exec_id, capture->total - len, len, &end, &range);
    size_t whole = output_whole_prefix(buf_str(&end), end.len);
    ret->len = end.len - whole;
    memcpy(ret->bytes, buf_str(&end) + whole, ret->len);
    capture->total -= ret->len;
    capture->head.len = MIN(capture->head.len, (size_t)output_capture_new(capture));
}

void output_capture_restart(struct output_capture *capture, const struct output_rest *rest)
{
    capture->told = capture->total;
    buf_clear(&capture->head);
    if (rest->len > 0) /* appending nothing would make a buffer for it */
        output_capture_append(capture, rest->bytes, rest->len);
}

void output_capture_append(struct output_capture *capture, const char *data, size_t len)
{
    capture->total += len;
    size_t room = capture->head_max - capture->head.len;
    buf_append(&capture->head, data, MIN(len, room));
}

void output_capture_forget(struct output_capture *capture, const struct output_ring *ring,
                           uint64_t exec_id, uint64_t offset)
{
    if (offset <= capture->told)
        return;
    capture->told = MIN(offset, capture->total);
    capture->head_max = capture->head.max;
    buf_clear(&capture->head);
    if (capture->told == capture->total)
        return;
    struct output_range range;
    output_ring_read(ring, exec_id, capture->told, capture->head_max, &capture->head, &range);
    capture->told = MIN(capture->told + range.dropped, capture->total);
    /* What comes is behind what the head did not get: it takes no more. */
    if (output_capture_new(capture) > capture->head.len)
        capture->head_max = capture->head.len;
}

size_t output_whole_prefix(const char *text, size_t len)
{
    for (size_t back = 1; back < UTF8_MAX && back <= len; back++) {
        size_t at = len - back;
        if (((unsigned char)text[at] & 0xc0) == 0x80)
            continue;
        return utf8_is_partial(text + at, back) ? at : len;
    }
    return len;
}

/* Bytes to skip at the beginning of a tail: what is left of a character that was cut. */
static size_t cut_character(const char *text, size_t len)
{
    size_t n = 0;
    while (n < len && n < UTF8_MAX - 1 && ((unsigned char)text[n] & 0xc0) == 0x80)
        n++;
    return n;
}

static uint64_t write_cut(const char *head, size_t head_len, const char *tail, size_t tail_len,
                          uint64_t total, struct buf *out)
{
    head_len = output_whole_prefix(head, head_len);
    size_t skip = cut_character(tail, tail_len);
    uint64_t omitted = total - head_len - (tail_len - skip);
    utf8_append_lossy(out, head, head_len);
    buf_printf(out, "\n[... %llu bytes left out ...]\n", (unsigned long long)omitted);
    utf8_append_lossy(out, tail + skip, tail_len - skip);
    return omitted;
}

uint64_t output_cut_text(const char *text, size_t len, size_t share, struct buf *out)
{
    if (len <= share) {
        utf8_append_lossy(out, text, len);
        return 0;
    }
    size_t tail_len = share / 2;
    return write_cut(text, share - tail_len, text + len - tail_len, tail_len, len, out);
}

uint64_t output_capture_write(const struct output_capture *capture, const struct output_ring *ring,
                              uint64_t exec_id, size_t share, struct buf *out)
{
    const struct buf *head = &capture->head;
    uint64_t total = output_capture_new(capture);
    if (total == head->len)
        return output_cut_text(buf_str(head), head->len, share, out);
    size_t tail_max = total <= share ? (size_t)total - head->len : share / 2;
    uint64_t tail_from = MAX(total - tail_max, (uint64_t)head->len);
    size_t tail_len = (size_t)(total - tail_from);
    _buf_ struct buf tail = BUF_INIT(tail_len + UTF8_MAX);
    struct output_range range;
    /* A little more, so that the limit cannot fall into a character. */
    output_ring_read(ring, exec_id, capture->told + tail_from, tail_len + UTF8_MAX, &tail, &range);
    tail.len = MIN(tail.len, tail_len - (size_t)MIN(range.dropped, (uint64_t)tail_len));
    if (range.dropped == 0 && total <= share) {
        /* Joined before it becomes text: the seam may be inside a character. */
        _buf_ struct buf whole = BUF_INIT(share);
        buf_append(&whole, buf_str(head), head->len);
        buf_append(&whole, buf_str(&tail), tail.len);
        utf8_append_lossy(out, buf_str(&whole), whole.len);
        return 0;
    }
    size_t head_len = MIN(head->len, share - MIN(share, tail_max));
    return write_cut(buf_str(head), head_len, buf_str(&tail), tail.len, total, out);
}
