/* Answers to requests, in a box: each operation is a function of the table at the end. */
#include "explore/desk.h"

#include "blob/blob.h"
#include "explore/explore.h"
#include "explore/grep.h"
#include "explore/text.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>

struct desk_source {
    char key[BLOB_HEX_SIZE]; /* empty: this place is free */
    void *data;              /* NULL if there are no bytes, or if it could not be mapped */
    size_t len;
    int error;    /* errno of mapping, or 0 */
    bool is_open; /* `text` was counted */
    struct explore_text text;
};

struct desk {
    struct crew *crew;
    struct desk_source sources[EXPLORE_SOURCES_MAX];
    bool is_unmapped; /* of the request at hand: its text could not be mapped */
};

/* ---- texts ----------------------------------------------------------------------------------- */

struct desk *desk_new(struct crew *crew)
{
    struct desk *desk = mem_alloc(sizeof(*desk));
    desk->crew = crew;
    return desk;
}

static void desk_clear(struct desk_source *s)
{
    if (s->is_open)
        explore_text_close(&s->text);
    if (s->data != NULL)
        munmap(s->data, s->len);
    *s = (struct desk_source){0};
}

void desk_free(struct desk *desk)
{
    if (desk == NULL)
        return;
    for (size_t i = 0; i < ARRAY_LEN(desk->sources); i++)
        desk_clear(&desk->sources[i]);
    free(desk);
}

/* An empty key finds a free place. */
static struct desk_source *desk_find(struct desk *desk, const char *key)
{
    for (size_t i = 0; i < ARRAY_LEN(desk->sources); i++)
        if (strcmp(desk->sources[i].key, key) == 0)
            return &desk->sources[i];
    return NULL;
}

void desk_drop(struct desk *desk, const char *key)
{
    struct desk_source *s = *key != '\0' ? desk_find(desk, key) : NULL;
    if (s != NULL)
        desk_clear(s);
}

/* Not fstat() of libc, which is a call that could also look at paths. */
static int desk_map_file(struct desk_source *s, int fd)
{
    struct stat st;
    if (syscall(SYS_fstat, fd, &st) < 0)
        return errno;
    if (!S_ISREG(st.st_mode))
        return EINVAL;
    s->len = (size_t)st.st_size;
    if (s->len == 0)
        return 0;
    void *data = mmap(NULL, s->len, PROT_READ, MAP_PRIVATE, fd, 0);
    if (data == MAP_FAILED)
        return errno;
    s->data = data;
    return 0;
}

void desk_map(struct desk *desk, const char *key, int fd)
{
    desk_drop(desk, key);
    struct desk_source *s = desk_find(desk, "");
    if (s != NULL && *key != '\0' && strlen(key) < sizeof(s->key)) {
        snprintf(s->key, sizeof(s->key), "%s", key);
        s->error = desk_map_file(s, fd);
    }
    close(fd);
}

/* ---- members of requests --------------------------------------------------------------------- */

static int desk_number(const json_t *request, const char *name, uint64_t usual, uint64_t most,
                       uint64_t *ret, struct err *e)
{
    const json_t *value = json_object_get(request, name);
    *ret = usual;
    if (value == NULL || json_is_null(value))
        return 0;
    if (!json_is_integer(value) || json_integer_value(value) < 0 ||
        (uint64_t)json_integer_value(value) > most) {
        err_set(e, ERR_INVALID, "%s must be a whole number from 0 to %llu", name,
                (unsigned long long)most);
        return err_advise(e, "Leave %s out to have the usual: %llu.", name,
                          (unsigned long long)usual);
    }
    *ret = (uint64_t)json_integer_value(value);
    return 0;
}

/* The text that the request is about, counted. */
static struct explore_text *desk_text(struct desk *desk, const json_t *request, struct err *e)
{
    const char *key = json_string_value(json_object_get(request, "source"));
    struct desk_source *s = key != NULL && *key != '\0' ? desk_find(desk, key) : NULL;
    if (s == NULL) {
        err_set(e, ERR_NOT_FOUND, "there is no text %.16s", key != NULL ? key : "without a key");
        err_advise(e, "Name a source that came along.");
        return NULL;
    }
    if (s->error != 0) {
        err_errno(e, ERR_UNAVAILABLE, s->error, "the text cannot be mapped");
        err_advise(e, "Ask again; if it is larger than some gigabytes, split it.");
        desk->is_unmapped = true;
        desk_clear(s);
        return NULL;
    }
    if (!s->is_open) {
        explore_text_open(&s->text, s->data != NULL ? s->data : "", s->len, desk->crew);
        s->is_open = true;
    }
    return &s->text;
}

/* ---- operations ------------------------------------------------------------------------------ */

static int desk_open(struct desk *desk, const json_t *request, struct json_out *o, struct err *e)
{
    const struct explore_text *t = desk_text(desk, request, e);
    if (t == NULL)
        return -1;
    json_put_member_int(o, "bytes", (int64_t)t->len);
    json_put_member_int(o, "chars", (int64_t)t->chars);
    json_put_member_int(o, "lines", (int64_t)t->lines);
    json_put_member_bool(o, "is_text", t->is_text);
    return 0;
}

static int desk_peek(struct desk *desk, const json_t *request, struct json_out *o, struct err *e)
{
    uint64_t n, offset;
    const struct explore_text *t = desk_text(desk, request, e);
    if (t == NULL || desk_number(request, "n", 500, INT64_MAX, &n, e) < 0 ||
        desk_number(request, "offset", 0, INT64_MAX, &offset, e) < 0)
        return -1;
    _buf_ struct buf text = BUF_INIT(EXPLORE_ANSWER_MAX);
    size_t room = EXPLORE_ANSWER_MAX - KIB;
    offset = MIN(offset, t->chars);
    n = MIN(n, t->chars - offset);
    size_t from = explore_text_seek(t, offset);
    size_t end = explore_text_copy(t, from, t->len, n, &room, &text);
    json_put_member_text(o, "text", buf_str(&text), text.len);
    json_put_member_int(o, "offset", (int64_t)offset);
    json_put_member_int(o, "chars", (int64_t)t->chars);
    uint64_t shown = explore_text_chars(t, end);
    json_put_member_true(o, "is_cut", shown < offset + n);
    if (shown < offset + n)
        json_put_member_int(o, "left", (int64_t)(offset + n - shown));
    return 0;
}

/* What can be said of a piece without reading all of it. */
static void desk_describe(const struct explore_text *t, uint64_t start, uint64_t end,
                          struct json_out *o)
{
    enum { LOOKED_AT = 64 * 1024, SHOWN = 200 };
    size_t from = explore_text_seek(t, start), to = explore_text_seek(t, end), room = 8 * SHOWN;
    bool is_open = to > from && t->data[to - 1] != '\n'; /* it ends inside a line */
    json_put_member_int(o, "line_count",
                        (int64_t)(explore_text_line_ends(t, to) - explore_text_line_ends(t, from)) +
                            is_open);
    size_t at = from, last = MIN(to, from + LOOKED_AT);
    while (at < last && strchr(" \t\r\n", t->data[at]) != NULL && t->data[at] != '\0')
        at++;
    const char *line_end = at < last ? memchr(t->data + at, '\n', last - at) : NULL;
    _buf_ struct buf line = BUF_INIT(8 * SHOWN);
    explore_text_copy(t, at, line_end != NULL ? (size_t)(line_end - t->data) : last, SHOWN, &room,
                      &line);
    json_put_member_text(o, "first_line", buf_str(&line), line.len);
}

/* The text of a piece, as far as it is wanted and there is room for it. */
static void desk_put_piece(const struct explore_text *t, uint64_t start, uint64_t end,
                           uint64_t most, size_t *room, struct json_out *o)
{
    _buf_ struct buf text = BUF_INIT(EXPLORE_ANSWER_MAX);
    size_t from = explore_text_seek(t, start);
    size_t stop = explore_text_copy(t, from, t->len, MIN(end - start, most), room, &text);
    json_put_member_text(o, "text", buf_str(&text), text.len);
    json_put_member_true(o, "is_cut", explore_text_chars(t, stop) < end);
}

static int desk_chunk(struct desk *desk, const json_t *request, struct json_out *o, struct err *e)
{
    uint64_t n, overlap, text_chars;
    const struct explore_text *t = desk_text(desk, request, e);
    if (t == NULL || desk_number(request, "n_chunks", 4, EXPLORE_CHUNKS_MAX, &n, e) < 0 ||
        desk_number(request, "overlap", 200, INT64_MAX, &overlap, e) < 0 ||
        desk_number(request, "text_chars", INT64_MAX, INT64_MAX, &text_chars, e) < 0)
        return -1;
    bool is_described = json_is_true(json_object_get(request, "is_described"));
    bool has_text = json_is_true(json_object_get(request, "has_text"));
    size_t room = EXPLORE_ANSWER_MAX - 64 * KIB; /* for the texts of all of them */
    n = MIN(MAX(n, 1), MAX(t->chars, 1));
    uint64_t size = (t->chars + n - 1) / n;
    json_put_key(o, "chunks");
    json_put_array(o);
    for (uint64_t i = 0; i < n && (i == 0 || i * size < t->chars); i++) {
        uint64_t start = i * size, whole = MIN(start + size, t->chars);
        uint64_t end = whole + MIN(overlap, t->chars - whole);
        json_put_object(o);
        json_put_member_int(o, "index", (int64_t)i);
        json_put_member_int(o, "start", (int64_t)start);
        json_put_member_int(o, "end", (int64_t)end);
        if (has_text)
            desk_put_piece(t, start, end, text_chars, &room, o);
        json_put_member_int(o, "char_count", (int64_t)(end - start));
        if (is_described)
            desk_describe(t, start, end, o);
        json_put_object_end(o);
    }
    json_put_array_end(o);
    return 0;
}

/* ---- grep ------------------------------------------------------------------------------------ */

/* What is written of a search, and how much room its answer still has. */
struct desk_listing {
    const struct explore_text *t;
    struct json_out *o;
    size_t room;
    bool is_full;
    struct buf scratch;
};

/* A part of a line as a text of the answer; what the value itself costs is counted, too. */
static void desk_put_line(struct desk_listing *l, size_t from, size_t end)
{
    enum { VALUE = 16 };
    if (l->room < VALUE) {
        l->is_full = true;
        return;
    }
    l->room -= VALUE;
    buf_clear(&l->scratch);
    size_t room = l->room;
    size_t stop = explore_text_copy(l->t, from, end, EXPLORE_LINE_CHARS, &l->room, &l->scratch);
    l->is_full = stop < end && room < 6 * EXPLORE_LINE_CHARS;
    json_put_text(l->o, buf_str(&l->scratch), l->scratch.len);
}

static size_t desk_line_end(const struct explore_text *t, size_t at)
{
    const char *found = memchr(t->data + at, '\n', t->len - at);
    return found != NULL ? (size_t)(found - t->data) : t->len;
}

static size_t desk_without_return(const struct explore_text *t, size_t start, size_t end)
{
    return end > start && t->data[end - 1] == '\r' ? end - 1 : end;
}

static void desk_put_before(struct desk_listing *l, size_t at, uint64_t n)
{
    size_t starts[EXPLORE_CONTEXT_MAX];
    size_t count = 0, end = at;
    for (; count < n && end > 0; count++) {
        const char *found = memrchr(l->t->data, '\n', end - 1);
        end = found != NULL ? (size_t)(found - l->t->data) + 1 : 0;
        starts[count] = end;
    }
    json_put_key(l->o, "before");
    json_put_array(l->o);
    while (count-- > 0 && !l->is_full) {
        size_t start = starts[count], stop = desk_line_end(l->t, start);
        desk_put_line(l, start, desk_without_return(l->t, start, stop));
    }
    json_put_array_end(l->o);
}

static void desk_put_after(struct desk_listing *l, size_t at, uint64_t n)
{
    json_put_key(l->o, "after");
    json_put_array(l->o);
    for (size_t end = desk_line_end(l->t, at); n > 0 && end + 1 < l->t->len && !l->is_full; n--) {
        size_t start = end + 1;
        end = desk_line_end(l->t, start);
        desk_put_line(l, start, desk_without_return(l->t, start, end));
    }
    json_put_array_end(l->o);
}

/* Of a line that is longer than what is shown, the part around its match. */
static size_t desk_window(const struct explore_text *t, const struct grep_hit *hit)
{
    enum { LEAD = 100 }; /* bytes before the match */
    if (hit->end - hit->start <= EXPLORE_LINE_CHARS || hit->to - hit->start <= EXPLORE_LINE_CHARS)
        return hit->start;
    size_t from = MIN(hit->from, hit->end - MIN(hit->end, (size_t)EXPLORE_LINE_CHARS));
    return explore_text_boundary(t, MAX(from, hit->start + LEAD) - LEAD);
}

/* False if there was no room for all of it; then it is not in the answer. */
static bool desk_put_hit(struct desk_listing *l, const struct grep_hit *hit, uint64_t context_lines)
{
    struct buf *out = l->o->buf;
    struct json_out before = *l->o;
    size_t mark = out->len, from = desk_window(l->t, hit);
    l->room -= MIN(l->room, (size_t)100);
    json_put_object(l->o);
    json_put_member_int(l->o, "line", (int64_t)explore_text_line_ends(l->t, hit->start) + 1);
    if (from > hit->start)
        json_put_member_int(
            l->o, "column",
            (int64_t)(explore_text_chars(l->t, from) - explore_text_chars(l->t, hit->start)));
    json_put_key(l->o, "text");
    desk_put_line(l, from, hit->end);
    desk_put_before(l, hit->start, context_lines);
    desk_put_after(l, hit->end, context_lines);
    json_put_object_end(l->o);
    if (l->is_full) {
        out->len = mark;
        *l->o = before;
    }
    return !l->is_full;
}

static void desk_put_hits(const struct explore_text *t, const struct grep_hits *hits,
                          uint64_t context_lines, struct json_out *o)
{
    struct desk_listing l = {.t = t,
                             .o = o,
                             .room = EXPLORE_ANSWER_MAX - 4 * KIB,
                             .scratch = BUF_INIT(16 * EXPLORE_LINE_CHARS)};
    size_t n = 0;
    json_put_key(o, "hits");
    json_put_array(o);
    while (n < hits->n && desk_put_hit(&l, &hits->hits[n], context_lines))
        n++;
    json_put_array_end(o);
    json_put_member_int(o, "count", (int64_t)n);
    json_put_member_bool(o, "is_cut", hits->is_cut || n < hits->n);
    buf_free(&l.scratch);
}

static int desk_grep(struct desk *desk, const json_t *request, struct json_out *o, struct err *e)
{
    uint64_t context_lines, max, threads;
    struct grep_hits hits;
    const json_t *pattern = json_object_get(request, "pattern");
    const struct explore_text *t = desk_text(desk, request, e);
    if (t == NULL ||
        desk_number(request, "context_lines", 2, EXPLORE_CONTEXT_MAX, &context_lines, e) < 0 ||
        desk_number(request, "max_results", 100, EXPLORE_HITS_MAX, &max, e) < 0 ||
        desk_number(request, "threads", 0, EXPLORE_THREADS_MAX, &threads, e) < 0)
        return -1;
    if (!json_is_string(pattern)) {
        err_set(e, ERR_INVALID, "pattern must be text");
        return err_advise(e, "Give a regular expression, or a text and \"literal\".");
    }
    struct grep *g = grep_new(json_string_value(pattern), json_string_length(pattern),
                              json_is_true(json_object_get(request, "is_literal")),
                              json_is_true(json_object_get(request, "is_cased")), e);
    if (g == NULL)
        return -1;
    int status = grep_run(g, t->data, t->len, (size_t)max, desk->crew, (unsigned)threads, &hits, e);
    grep_free(g);
    if (status < 0)
        return -1;
    desk_put_hits(t, &hits, context_lines, o);
    grep_hits_free(&hits);
    return 0;
}

/* ---- answers --------------------------------------------------------------------------------- */

typedef int (*desk_fn)(struct desk *desk, const json_t *request, struct json_out *o, struct err *e);

static const struct desk_op {
    const char *name;
    desk_fn run; /* writes the members of the result */
} desk_ops[] = {
    {"open", desk_open},
    {"peek", desk_peek},
    {"grep", desk_grep},
    {"chunk", desk_chunk},
};

static int desk_run(struct desk *desk, const json_t *request, struct json_out *o, struct err *e)
{
    const char *name = json_string_value(json_object_get(request, "op"));
    for (size_t i = 0; name != NULL && i < ARRAY_LEN(desk_ops); i++)
        if (strcmp(desk_ops[i].name, name) == 0)
            return desk_ops[i].run(desk, request, o, e);
    err_set(e, ERR_INVALID, "there is no operation %.32s", name != NULL ? name : "without a name");
    return err_advise(e, "open, peek, grep and chunk are all.");
}

static void desk_put_error(struct desk *desk, const struct err *e, struct buf *out)
{
    struct json_out o = JSON_OUT(out);
    json_put_object(&o);
    json_put_key(&o, "error");
    json_put_object(&o);
    json_put_member_int(&o, "code", e->code);
    json_put_member_str(&o, "message", e->message);
    json_put_member_str(&o, "advice", e->advice);
    json_put_object_end(&o);
    json_put_member_true(&o, "is_unmapped", desk->is_unmapped);
    json_put_object_end(&o);
}

void desk_answer(struct desk *desk, const json_t *request, struct buf *out)
{
    struct err e;
    struct json_out o = JSON_OUT(out);
    size_t mark = out->len;
    desk->is_unmapped = false;
    json_put_object(&o);
    json_put_key(&o, "result");
    json_put_object(&o);
    if (desk_run(desk, request, &o, &e) == 0) {
        json_put_object_end(&o);
        json_put_object_end(&o);
        return;
    }
    out->len = mark;
    desk_put_error(desk, &e, out);
}
