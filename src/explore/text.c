/* Characters and lines of a text: counts for each block, made once, from which any place is found
 * by looking at one block. In a box, and in tests. */
#include "explore/text.h"

#include "explore/scan.h"

#include <string.h>

/* ---- characters ------------------------------------------------------------------------------ */

/* The bytes of the character that begins at s; of what is none, the maximal subpart, which is at
 * least one byte. `len` is not 0. */
static size_t text_unit(const unsigned char *s, size_t len, bool *ret_is_valid)
{
    unsigned char lead = s[0], low = 0x80, high = 0xbf; /* of the second byte */
    size_t n = lead < 0x80 ? 1 : lead < 0xc2 ? 0 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
    *ret_is_valid = false;
    if (n == 0 || lead > 0xf4)
        return 1;
    if (lead == 0xe0)
        low = 0xa0;
    else if (lead == 0xed)
        high = 0x9f;
    else if (lead == 0xf0)
        low = 0x90;
    else if (lead == 0xf4)
        high = 0x8f;
    for (size_t i = 1; i < n; i++) {
        if (i == len || s[i] < low || s[i] > high)
            return i;
        low = 0x80;
        high = 0xbf;
    }
    *ret_is_valid = true;
    return n;
}

static bool text_is_continuation(char byte)
{
    return ((unsigned char)byte & 0xc0) == 0x80;
}

/* A character has four bytes at the most, so three bytes before `at` tell whether it is inside of
 * one; what follows no character begins one. */
size_t explore_text_boundary(const struct explore_text *t, size_t at)
{
    bool ignored;
    if (at >= t->len || !text_is_continuation(t->data[at]))
        return MIN(at, t->len);
    for (size_t back = 1; back <= 3 && back <= at; back++) {
        size_t from = at - back;
        if (text_is_continuation(t->data[from]))
            continue;
        size_t n = text_unit((const unsigned char *)t->data + from, t->len - from, &ignored);
        return MAX(at, from + n);
    }
    return at;
}

/* Characters that begin in [from, until), where `from` begins one. */
static uint64_t text_count(const struct explore_text *t, size_t from, size_t until)
{
    const unsigned char *data = (const unsigned char *)t->data;
    uint64_t n = 0;
    bool ignored;
    while (from < until) {
        uint64_t word;
        while (until - from >= sizeof(word)) {
            memcpy(&word, data + from, sizeof(word));
            if (word & 0x8080808080808080u)
                break;
            from += sizeof(word);
            n += sizeof(word);
        }
        if (from == until)
            break;
        from += text_unit(data + from, t->len - from, &ignored);
        n++;
    }
    return n;
}

/* ---- the counts ------------------------------------------------------------------------------ */

/* What threads do together: many blocks in one job, so that taking jobs costs nothing. */
enum { TEXT_JOB_BLOCKS = 64 };

struct text_job {
    struct explore_text *t;
    uint64_t *chars, *lines; /* of each block */
};

static void text_count_block(struct text_job *job, size_t block)
{
    struct explore_text *t = job->t;
    size_t from = block * TEXT_BLOCK, until = MIN(from + TEXT_BLOCK, t->len);
    struct scan_counts counts;
    scan_measure(t->data + from, until - from, &counts);
    job->lines[block] = counts.newlines;
    job->chars[block] = until - from;
    if (counts.is_ascii)
        return;
    size_t first = explore_text_boundary(t, from), next = explore_text_boundary(t, until);
    if (next >= first && scan_is_utf8(t->data + first, next - first))
        job->chars[block] = until - from - counts.continuations;
    else
        job->chars[block] = text_count(t, first, until);
}

static void text_do_job(void *context, size_t number)
{
    struct text_job *job = context;
    size_t first = number * TEXT_JOB_BLOCKS;
    for (size_t i = first; i < MIN(first + TEXT_JOB_BLOCKS, job->t->n_blocks); i++)
        text_count_block(job, i);
}

/* Counts of each block become counts of all before it; returns the sum. */
static uint64_t text_add_up(uint64_t *counts, size_t n)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < n; i++) {
        uint64_t count = counts[i];
        counts[i] = sum;
        sum += count;
    }
    return sum;
}

void explore_text_open(struct explore_text *t, const char *data, size_t len, struct crew *crew)
{
    *t = (struct explore_text){.data = data, .len = len};
    t->n_blocks = (len + TEXT_BLOCK - 1) / TEXT_BLOCK;
    t->chars_before = mem_alloc((t->n_blocks + 1) * sizeof(uint64_t));
    t->lines_before = mem_alloc((t->n_blocks + 1) * sizeof(uint64_t));
    struct text_job job = {.t = t, .chars = t->chars_before, .lines = t->lines_before};
    crew_run(crew, 0, (t->n_blocks + TEXT_JOB_BLOCKS - 1) / TEXT_JOB_BLOCKS, text_do_job, &job);
    t->chars = text_add_up(t->chars_before, t->n_blocks);
    t->lines = text_add_up(t->lines_before, t->n_blocks) + (len > 0 && data[len - 1] != '\n');
    t->is_text = len == 0 || memchr(data, '\0', MIN(len, (size_t)TEXT_BLOCK)) == NULL;
    /* As many characters as bytes: then every byte is one, also of those that are not UTF-8. */
    t->is_bytewise = t->chars == len;
    if (t->is_bytewise) {
        free(t->chars_before);
        t->chars_before = NULL;
    }
}

void explore_text_close(struct explore_text *t)
{
    free(t->chars_before);
    free(t->lines_before);
    *t = (struct explore_text){0};
}

/* ---- places ---------------------------------------------------------------------------------- */

/* The block in which the character lies that has this many before it. */
static size_t text_block_of(const struct explore_text *t, uint64_t chars)
{
    size_t low = 0, high = t->n_blocks;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (t->chars_before[middle] <= chars)
            low = middle;
        else
            high = middle;
    }
    return low;
}

size_t explore_text_seek(const struct explore_text *t, uint64_t chars)
{
    bool ignored;
    if (chars >= t->chars)
        return t->len;
    if (t->is_bytewise)
        return (size_t)chars;
    size_t block = text_block_of(t, chars);
    size_t at = explore_text_boundary(t, block * TEXT_BLOCK);
    for (uint64_t left = chars - t->chars_before[block]; left > 0;) {
        uint64_t word;
        if (left >= sizeof(word) && t->len - at >= sizeof(word)) {
            memcpy(&word, t->data + at, sizeof(word));
            if ((word & 0x8080808080808080u) == 0) {
                at += sizeof(word);
                left -= sizeof(word);
                continue;
            }
        }
        at += text_unit((const unsigned char *)t->data + at, t->len - at, &ignored);
        left--;
    }
    return at;
}

uint64_t explore_text_chars(const struct explore_text *t, size_t at)
{
    if (at >= t->len)
        return t->chars;
    if (t->is_bytewise)
        return at;
    size_t block = at / TEXT_BLOCK, from = block * TEXT_BLOCK;
    return t->chars_before[block] + text_count(t, explore_text_boundary(t, from), at);
}

uint64_t explore_text_line_ends(const struct explore_text *t, size_t at)
{
    if (t->n_blocks == 0)
        return 0;
    size_t block = MIN(at / TEXT_BLOCK, t->n_blocks - 1), from = block * TEXT_BLOCK;
    return t->lines_before[block] + scan_count_newlines(t->data + from, MIN(at, t->len) - from);
}

/* What a character of n bytes takes in JSON at the most. */
static size_t text_json_size(unsigned char first, size_t n)
{
    bool is_plain = n > 1 || (first >= ' ' && first < 0x7f && first != '"' && first != '\\');
    return is_plain ? n : 6;
}

size_t explore_text_copy(const struct explore_text *t, size_t at, size_t end, uint64_t n,
                         size_t *room, struct buf *out)
{
    static const char replacement[] = "\xef\xbf\xbd";
    size_t run = at; /* where what is copied as it is began */
    for (; n > 0 && at < end; n--) {
        bool is_valid;
        size_t len = text_unit((const unsigned char *)t->data + at, end - at, &is_valid);
        size_t size = is_valid ? text_json_size((unsigned char)t->data[at], len) : 3;
        if (size > *room)
            break;
        *room -= size;
        if (!is_valid) {
            buf_append(out, t->data + run, at - run);
            buf_append(out, replacement, 3);
            run = at + len;
        }
        at += len;
    }
    buf_append(out, t->data + run, at - run);
    return at;
}
