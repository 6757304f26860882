/* Pieces of text and the rings that share them. Runs in the daemon's loop; owns pieces by their
 * references, and cuts texts at whole characters. */
#include "cell/output.h"

#include "base/utf8.h"

enum {
    FIRST_SEGMENTS = 8,
    /* Two writers that alternate byte by byte make a segment of each byte: past this many the
     * oldest are dropped as if the ring were full. A power of two. */
    MAX_SEGMENTS = 4096,
    OUTPUT_UTF8_MAX = 4,
};

const char *output_stream_name(enum output_stream stream)
{
    return stream == OUTPUT_STDOUT ? "stdout" : "stderr";
}

struct output_piece *output_piece_new(size_t cap)
{
    struct output_piece *piece = mem_realloc(NULL, sizeof(*piece) + cap);
    *piece = (struct output_piece){.refs = 1, .cap = cap};
    list_init(&piece->node);
    return piece;
}

void output_piece_release(struct output_piece *piece)
{
    if (--piece->refs == 0)
        free(piece);
}

/* ---- rings ----------------------------------------------------------------------------------- */

void output_ring_init(struct output_ring *ring, size_t max)
{
    *ring = (struct output_ring){.max = MAX(max, (size_t)1)};
}

size_t output_ring_kept(const struct output_ring *ring)
{
    return (size_t)(ring->end - ring->start);
}

static struct output_segment *ring_segment(const struct output_ring *ring, size_t i)
{
    return &ring->segments[(ring->segments_first + i) & (ring->segments_cap - 1)];
}

static void ring_drop(struct output_ring *ring, size_t len)
{
    ring->start += len;
    while (len > 0) {
        struct output_segment *oldest = ring_segment(ring, 0);
        size_t part = MIN(len, oldest->len);
        oldest->len -= part;
        oldest->exec_offset += part;
        len -= part;
        if (oldest->len > 0)
            return;
        output_piece_release(oldest->piece);
        ring->segments_first = (ring->segments_first + 1) & (ring->segments_cap - 1);
        ring->segments_len--;
    }
}

void output_ring_free(struct output_ring *ring)
{
    ring_drop(ring, output_ring_kept(ring));
    free(ring->segments);
    output_ring_init(ring, ring->max);
}

static struct output_segment *ring_add_segment(struct output_ring *ring)
{
    if (ring->segments_len == MAX_SEGMENTS)
        ring_drop(ring, ring_segment(ring, 0)->len);
    if (ring->segments_len == ring->segments_cap) {
        size_t cap = ring->segments_cap ? ring->segments_cap * 2 : FIRST_SEGMENTS;
        struct output_segment *segments = mem_alloc(cap * sizeof(*segments));
        for (size_t i = 0; i < ring->segments_len; i++)
            segments[i] = *ring_segment(ring, i);
        free(ring->segments);
        ring->segments = segments;
        ring->segments_cap = cap;
        ring->segments_first = 0;
    }
    return ring_segment(ring, ring->segments_len++);
}

void output_ring_append(struct output_ring *ring, uint64_t exec_id, struct output_piece *piece,
                        size_t len)
{
    size_t skip = len - MIN(len, ring->max); /* only the end of it can stay */
    uint64_t offset = piece->offset + piece->len - len + skip;
    len -= skip;
    size_t need = output_ring_kept(ring) + len;
    if (need > ring->max)
        ring_drop(ring, need - ring->max);
    ring->start += skip;
    ring->end += skip;
    struct output_segment *last =
        ring->segments_len > 0 ? ring_segment(ring, ring->segments_len - 1) : NULL;
    if (last != NULL && last->piece == piece && last->exec_offset + last->len == offset) {
        last->len += len;
    } else {
        piece->refs++;
        *ring_add_segment(ring) = (struct output_segment){
            .exec_id = exec_id, .exec_offset = offset, .len = len, .piece = piece};
    }
    ring->end += len;
}

/* Gives back the bytes of a character that the limit cut in two. */
static void ring_trim_partial(struct buf *out, size_t from, struct output_range *range)
{
    for (size_t back = 1; back < OUTPUT_UTF8_MAX && back < out->len - from; back++) {
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
    for (size_t i = 0; i < ring->segments_len; at += ring_segment(ring, i)->len, i++) {
        const struct output_segment *s = ring_segment(ring, i);
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
        const struct output_piece *piece = s->piece;
        const char *bytes = piece->bytes + (s->exec_offset - piece->offset) + skip;
        memcpy(out->data + out->len, bytes, part);
        out->len += part;
        out->data[out->len] = '\0';
        range.next_offset += part;
    }
    if (is_cut)
        ring_trim_partial(out, from, &range);
    *ret = range;
}

/* ---- cutting --------------------------------------------------------------------------------- */

size_t output_whole_prefix(const char *text, size_t len)
{
    for (size_t back = 1; back < OUTPUT_UTF8_MAX && back <= len; back++) {
        size_t at = len - back;
        if (((unsigned char)text[at] & 0xc0) == 0x80)
            continue;
        return utf8_is_partial(text + at, back) ? at : len;
    }
    return len;
}

size_t output_cut_character(const char *text, size_t len)
{
    size_t n = 0;
    while (n < len && n < OUTPUT_UTF8_MAX - 1 && ((unsigned char)text[n] & 0xc0) == 0x80)
        n++;
    return n;
}

uint64_t output_write_cut(const char *head, size_t head_len, const char *tail, size_t tail_len,
                          uint64_t total, struct buf *out)
{
    head_len = output_whole_prefix(head, head_len);
    size_t skip = output_cut_character(tail, tail_len);
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
    return output_write_cut(text, share - tail_len, text + len - tail_len, tail_len, len, out);
}
