/* Three ways to search, the fastest that the pattern allows: for literals, and a regular expression
 * only on lines that have one; with the expression over many lines at once; line by line. Large
 * texts are searched in pieces by several threads. In a box, and in tests. */
#define PCRE2_CODE_UNIT_WIDTH 8

#include "explore/grep.h"

#include "explore/explore.h"
#include "explore/pattern.h"
#include "explore/scan.h"

#include <pcre2.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

enum {
    GREP_PIECE = 1 << 20,        /* bytes that a thread takes at a time */
    GREP_BLOCK = 128 * 1024,     /* bytes that an expression is run over at once */
    GREP_MATCH_LIMIT = 10000000, /* steps of PCRE2 on one line */
    GREP_HEAP_LIMIT = 32 * 1024, /* KiB */
    GREP_DEPTH_LIMIT = 100000,
    GREP_STACK_LEAST = 32 * 1024, /* bytes, of compiled expressions */
    GREP_STACK_MOST = 8 << 20,
    GREP_RARE = 30, /* scan_rarity() of two bytes that are worth looking for */
};

struct grep {
    struct pattern pattern;
    struct scan_needle needles[PATTERN_NEEDLES_MAX];
    size_t n_needles;  /* 0: not searched for */
    pcre2_code *ascii; /* for lines that are ASCII; NULL if `utf8` is for all */
    pcre2_code *utf8;  /* NULL if literals are enough */
};

/* ---- patterns -------------------------------------------------------------------------------- */

static int grep_refuse(int code, size_t at, struct err *e)
{
    PCRE2_UCHAR message[200];
    if (code == PCRE2_ERROR_PATTERN_TOO_LARGE) {
        err_set(e, ERR_INVALID, "the pattern is too large to be compiled");
        return err_advise(e, "Search for parts of it, one after the other.");
    }
    pcre2_get_error_message(code, message, sizeof(message));
    err_set(e, ERR_INVALID, "the pattern is wrong at position %zu: %s", at, (const char *)message);
    return err_advise(e, "Correct it, or ask with \"literal\" to search for the text as it is.");
}

static pcre2_code *grep_compile(const struct pattern *p, uint32_t options, int *ret_error,
                                size_t *ret_at)
{
    pcre2_compile_context *context = pcre2_compile_context_create(NULL);
    pcre2_set_newline(context, PCRE2_NEWLINE_LF);
    if (!p->is_cased)
        options |= PCRE2_CASELESS;
    if (p->is_quoted)
        options = PCRE2_LITERAL | (options & ~(uint32_t)(PCRE2_UCP | PCRE2_NEVER_UTF));
    else
        options |= PCRE2_NEVER_BACKSLASH_C | PCRE2_ALT_BSUX;
    if (p->is_blockwise && !p->is_quoted)
        options |= PCRE2_MULTILINE | PCRE2_ALT_CIRCUMFLEX;
    pcre2_code *code = pcre2_compile((PCRE2_SPTR)buf_str(&p->text), p->text.len, options, ret_error,
                                     ret_at, context);
    pcre2_compile_context_free(context);
    /* What is too large to be compiled to machine code is interpreted. */
    if (code != NULL)
        pcre2_jit_compile(code, PCRE2_JIT_COMPLETE);
    return code;
}

/* Positions are those of the pattern as it was given. */
static int grep_explain(const char *pattern, size_t len, int code, size_t at, struct err *e)
{
    int own_code;
    size_t own_at;
    struct pattern as_given = {.text = BUF_INIT(EXPLORE_PATTERN_MAX)};
    buf_append(&as_given.text, pattern, len);
    pcre2_code *compiled = grep_compile(&as_given, PCRE2_UTF | PCRE2_UCP, &own_code, &own_at);
    pcre2_code_free(compiled);
    buf_free(&as_given.text);
    return compiled == NULL ? grep_refuse(own_code, own_at, e) : grep_refuse(code, at, e);
}

static void grep_set_needles(struct grep *g)
{
    const struct pattern *p = &g->pattern;
    for (size_t i = 0; i < p->n_needles; i++) {
        const struct pattern_needle *needle = &p->needles[i];
        bool is_common = needle->len < 3 && scan_rarity(needle->text, needle->len) < GREP_RARE;
        if (is_common && !p->is_exact)
            return;
        scan_needle_set(&g->needles[i], needle->text, needle->len, p->is_cased);
    }
    g->n_needles = p->n_needles;
}

struct grep *grep_new(const char *pattern, size_t len, bool is_literal, bool is_cased,
                      struct err *e)
{
    struct grep *g = mem_alloc(sizeof(*g));
    int code;
    size_t at;
    if (pattern_read(&g->pattern, pattern, len, is_literal, is_cased, e) < 0) {
        grep_free(g);
        return NULL;
    }
    grep_set_needles(g);
    if (g->pattern.is_exact)
        return g;
    g->utf8 =
        grep_compile(&g->pattern, PCRE2_UTF | PCRE2_UCP | PCRE2_MATCH_INVALID_UTF, &code, &at);
    if (g->utf8 == NULL) {
        grep_explain(pattern, len, code, at, e);
        grep_free(g);
        return NULL;
    }
    if (!g->pattern.has_non_ascii)
        g->ascii = grep_compile(&g->pattern, PCRE2_NEVER_UTF, &code, &at);
    return g;
}

void grep_free(struct grep *g)
{
    if (g == NULL)
        return;
    pcre2_code_free(g->ascii);
    pcre2_code_free(g->utf8);
    pattern_free(&g->pattern);
    free(g);
}

/* ---- one piece ------------------------------------------------------------------------------- */

/* Lines that begin in one piece of the text, which one thread searches. */
struct grep_piece {
    struct grep_hit *hits;
    size_t n, cap;
    bool is_done;
    int error;       /* of PCRE2, or 0 */
    size_t error_at; /* the line */
};

struct grep_work {
    const struct grep *g;
    const char *data;
    size_t len, max;
    struct grep_piece *pieces;
    size_t n_pieces;
    pthread_mutex_t lock;
    size_t n_in_order, hits_in_order; /* pieces that are done from the first on, and their hits */
    atomic_bool is_enough;
};

/* What a thread needs to match. */
struct grep_hand {
    const struct grep_work *work;
    struct grep_piece *piece;
    pcre2_match_data *match;
    pcre2_match_context *context;
    pcre2_jit_stack *stack;
};

static void grep_hand_open(struct grep_hand *hand)
{
    if (hand->work->g->utf8 == NULL)
        return;
    hand->match = pcre2_match_data_create(1, NULL);
    hand->context = pcre2_match_context_create(NULL);
    hand->stack = pcre2_jit_stack_create(GREP_STACK_LEAST, GREP_STACK_MOST, NULL);
    pcre2_set_match_limit(hand->context, GREP_MATCH_LIMIT);
    pcre2_set_heap_limit(hand->context, GREP_HEAP_LIMIT);
    pcre2_set_depth_limit(hand->context, GREP_DEPTH_LIMIT);
    pcre2_jit_stack_assign(hand->context, NULL, hand->stack);
}

static void grep_hand_close(struct grep_hand *hand)
{
    pcre2_match_data_free(hand->match);
    pcre2_match_context_free(hand->context);
    pcre2_jit_stack_free(hand->stack);
}

static bool grep_is_full(const struct grep_hand *hand)
{
    return hand->piece->n > hand->work->max || hand->piece->error != 0;
}

static void grep_add(struct grep_hand *hand, struct grep_hit hit)
{
    struct grep_piece *piece = hand->piece;
    if (piece->n == piece->cap) {
        piece->cap = piece->cap > 0 ? piece->cap * 2 : 16;
        piece->hits = mem_realloc(piece->hits, piece->cap * sizeof(*piece->hits));
    }
    piece->hits[piece->n++] = hit;
}

/* Where the line ends that begins at or before `at`, without its line end. */
static size_t grep_line_end(const struct grep_work *work, size_t at)
{
    const char *found = memchr(work->data + at, '\n', work->len - at);
    return found != NULL ? (size_t)(found - work->data) : work->len;
}

static size_t grep_line_start(const struct grep_work *work, size_t from, size_t at)
{
    const char *found = memrchr(work->data + from, '\n', at - from);
    return found != NULL ? (size_t)(found - work->data) + 1 : from;
}

static size_t grep_without_return(const struct grep_work *work, size_t start, size_t end)
{
    return end > start && work->data[end - 1] == '\r' ? end - 1 : end;
}

/* 1 if there is a match at or after `offset`, 0 if there is none, or a negative code of PCRE2. */
static int grep_match(struct grep_hand *hand, const pcre2_code *code, size_t start, size_t len,
                      size_t offset)
{
    PCRE2_SPTR subject = (PCRE2_SPTR)hand->work->data + start;
    int found = pcre2_match(code, subject, len, offset, 0, hand->match, hand->context);
    if (found == PCRE2_ERROR_JIT_STACKLIMIT)
        found = pcre2_match(code, subject, len, offset, PCRE2_NO_JIT, hand->match, hand->context);
    return found == PCRE2_ERROR_NOMATCH ? 0 : found >= 0 ? 1 : found;
}

/* A line by itself: from `start` to `end`. */
static void grep_try_line(struct grep_hand *hand, size_t start, size_t end)
{
    const struct grep *g = hand->work->g;
    end = grep_without_return(hand->work, start, end);
    const pcre2_code *code = g->utf8;
    if (g->ascii != NULL && scan_is_ascii(hand->work->data + start, end - start))
        code = g->ascii;
    int found = grep_match(hand, code, start, end - start, 0);
    if (found < 0) {
        hand->piece->error = found;
        hand->piece->error_at = start;
    } else if (found > 0) {
        const size_t *places = pcre2_get_ovector_pointer(hand->match);
        size_t from = start + MIN(places[0], places[1]), to = start + places[1];
        grep_add(hand, (struct grep_hit){start, end, from, to});
    }
}

static void grep_by_lines(struct grep_hand *hand, size_t from, size_t until)
{
    for (size_t at = from; at < until && !grep_is_full(hand);) {
        size_t end = grep_line_end(hand->work, at);
        grep_try_line(hand, at, end);
        at = end + 1;
    }
}

/* The expression over all lines of a block at once; `until` is behind a line end, or the end of the
 * text. If it takes too long that way, a line may be to blame, or their number: one by one. */
static void grep_by_block(struct grep_hand *hand, size_t from, size_t until)
{
    const struct grep_work *work = hand->work;
    const struct grep *g = work->g;
    size_t len = until - from - (work->data[until - 1] == '\n');
    if (memchr(work->data + from, '\r', len) != NULL) {
        grep_by_lines(hand, from, until);
        return;
    }
    bool is_ascii = g->ascii != NULL && scan_is_ascii(work->data + from, len);
    const pcre2_code *code = is_ascii ? g->ascii : g->utf8;
    for (size_t at = 0; at <= len && !grep_is_full(hand);) {
        int found = grep_match(hand, code, from, len, at);
        if (found == 0)
            return;
        if (found < 0) {
            grep_by_lines(hand, from + at, until);
            return;
        }
        const size_t *places = pcre2_get_ovector_pointer(hand->match);
        size_t match = from + MIN(places[0], places[1]), to = from + places[1];
        size_t start = grep_line_start(work, from + at, match), end = grep_line_end(work, match);
        grep_add(hand, (struct grep_hit){start, end, match, to});
        at = end + 1 - from;
    }
}

/* Lines that have one of the literals. */
static void grep_by_needles(struct grep_hand *hand, size_t from, size_t until)
{
    const struct grep_work *work = hand->work;
    const struct grep *g = work->g;
    size_t next[PATTERN_NEEDLES_MAX] = {0}; /* where each is, from `at` on; `until`: nowhere */
    bool is_known[PATTERN_NEEDLES_MAX] = {0};
    for (size_t at = from; at < until && !grep_is_full(hand);) {
        size_t first = 0;
        for (size_t i = 0; i < g->n_needles; i++) {
            if (!is_known[i] || next[i] < at)
                next[i] = at + scan_find(&g->needles[i], work->data + at, until - at);
            is_known[i] = true;
            if (next[i] < next[first])
                first = i;
        }
        size_t found = next[first];
        if (found >= until)
            return;
        size_t start = grep_line_start(work, at, found), end = grep_line_end(work, found);
        if (g->pattern.is_exact)
            grep_add(hand, (struct grep_hit){start, grep_without_return(work, start, end), found,
                                             found + g->needles[first].len});
        else
            grep_try_line(hand, start, end);
        at = end + 1;
    }
}

/* Where the first line begins that begins at or after `at`, if it does before `until`. */
static size_t grep_first_line(const struct grep_work *work, size_t at, size_t until)
{
    if (at == 0 || at >= until)
        return MIN(at, until);
    const char *found = memchr(work->data + at - 1, '\n', until - at + 1);
    return found != NULL ? MIN((size_t)(found - work->data) + 1, until) : until;
}

static void grep_search(struct grep_hand *hand, size_t from, size_t until)
{
    const struct grep_work *work = hand->work;
    if (work->g->n_needles > 0)
        grep_by_needles(hand, from, until);
    else if (work->g->pattern.is_blockwise)
        grep_by_block(hand, from, until);
    else
        grep_by_lines(hand, from, until);
}

/* Pieces that are done become part of the order; when that has enough, nobody goes on. */
static void grep_finish_piece(struct grep_work *work, struct grep_piece *piece)
{
    pthread_mutex_lock(&work->lock);
    piece->is_done = true;
    while (work->n_in_order < work->n_pieces && work->pieces[work->n_in_order].is_done) {
        const struct grep_piece *next = &work->pieces[work->n_in_order++];
        work->hits_in_order += next->n;
        if (work->hits_in_order > work->max || next->error != 0)
            atomic_store(&work->is_enough, true);
    }
    pthread_mutex_unlock(&work->lock);
}

static void grep_do_piece(void *context, size_t number)
{
    struct grep_work *work = context;
    struct grep_hand hand = {.work = work, .piece = &work->pieces[number]};
    size_t from = number * GREP_PIECE, until = MIN(from + GREP_PIECE, work->len);
    if (atomic_load(&work->is_enough))
        return;
    grep_hand_open(&hand);
    /* Lines that begin here, to their ends, which may be far away. */
    for (size_t at = grep_first_line(work, from, until); at < until && !grep_is_full(&hand);) {
        size_t least = MIN(at + GREP_BLOCK, until);
        size_t end = grep_line_end(work, least - 1);
        size_t after = MIN(end + 1, work->len);
        grep_search(&hand, at, after);
        at = after;
    }
    grep_hand_close(&hand);
    grep_finish_piece(work, hand.piece);
}

/* ---- the whole text -------------------------------------------------------------------------- */

static int grep_blame(const struct grep_piece *piece, struct err *e)
{
    PCRE2_UCHAR message[200];
    pcre2_get_error_message(piece->error, message, sizeof(message));
    err_set(e, ERR_LIMIT, "the pattern is too expensive for the line at byte %zu: %s",
            piece->error_at, (const char *)message);
    return err_advise(e,
                      "Make it simpler: no quantifier inside of a quantified group, as in (a+)+, "
                      "and a literal part that lines must have.");
}

/* The hits of all pieces, as far as they were asked for. */
static int grep_gather(const struct grep_work *work, struct grep_hits *ret, struct err *e)
{
    *ret = (struct grep_hits){
        .hits = mem_alloc((MIN(work->hits_in_order, work->max) + 1) * sizeof(*ret->hits))};
    for (size_t i = 0; i < work->n_in_order && !ret->is_cut; i++) {
        const struct grep_piece *piece = &work->pieces[i];
        size_t n = MIN(piece->n, work->max - ret->n);
        if (n > 0)
            memcpy(ret->hits + ret->n, piece->hits, n * sizeof(*ret->hits));
        ret->n += n;
        ret->is_cut = n < piece->n;
        if (piece->error != 0 && !ret->is_cut) {
            grep_hits_free(ret);
            return grep_blame(piece, e);
        }
    }
    return 0;
}

int grep_run(const struct grep *g, const char *data, size_t len, size_t max, struct crew *crew,
             unsigned n_threads, struct grep_hits *ret, struct err *e)
{
    struct grep_work work = {.g = g, .data = data, .len = len, .max = max};
    work.n_pieces = (len + GREP_PIECE - 1) / GREP_PIECE;
    work.pieces = mem_alloc((work.n_pieces + 1) * sizeof(*work.pieces));
    pthread_mutex_init(&work.lock, NULL);
    crew_run(crew, n_threads, work.n_pieces, grep_do_piece, &work);
    pthread_mutex_destroy(&work.lock);
    int status = grep_gather(&work, ret, e);
    for (size_t i = 0; i < work.n_pieces; i++)
        free(work.pieces[i].hits);
    free(work.pieces);
    return status;
}

void grep_hits_free(struct grep_hits *hits)
{
    free(hits->hits);
    *hits = (struct grep_hits){0};
}
