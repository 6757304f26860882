/* A pattern, a NUL, a text: what is found in all of it is what is found line by line. */
#include "explore/grep.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool claim)
{
    if (!claim)
        abort();
}

static void check_hits(const struct grep_hits *hits, const char *text, size_t len)
{
    for (size_t i = 0; i < hits->n; i++) {
        const struct grep_hit *hit = &hits->hits[i];
        require(hit->start <= hit->from && hit->from <= hit->to && hit->to <= hit->end);
        require(hit->end <= len && (i == 0 || hits->hits[i - 1].end < hit->start));
        require(hit->start == 0 || text[hit->start - 1] == '\n');
        require(memchr(text + hit->start, '\n', hit->end - hit->start) == NULL);
    }
}

/* Each line alone, with its line end, so that an empty one is a line, too. */
static void check_lines(const struct grep *g, const struct grep_hits *hits, const char *text,
                        size_t len)
{
    size_t n = 0;
    for (size_t at = 0; at < len;) {
        const char *found = memchr(text + at, '\n', len - at);
        size_t after = found != NULL ? (size_t)(found - text) + 1 : len;
        struct grep_hits one;
        struct err e;
        if (grep_run(g, text + at, after - at, 1, NULL, 1, &one, &e) == 0) {
            bool is_hit = n < hits->n && hits->hits[n].start == at;
            require(is_hit == (one.n > 0));
            grep_hits_free(&one);
        }
        n += n < hits->n && hits->hits[n].start == at;
        at = after;
    }
    require(n == hits->n);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    enum { PATTERN_MAX = 200, TEXT_MAX = 2000 };
    const uint8_t *nul = size > 0 ? memchr(data, '\0', MIN(size, (size_t)PATTERN_MAX)) : NULL;
    if (nul == NULL || size > TEXT_MAX)
        return 0;
    size_t pattern_len = (size_t)(nul - data), len = size - pattern_len - 1;
    const char *text = (const char *)nul + 1;
    for (int way = 0; way < 4; way++) {
        struct err e = {0};
        struct grep_hits hits;
        struct grep *g = grep_new((const char *)data, pattern_len, way & 1, way & 2, &e);
        if (g == NULL) {
            require(e.code != ERR_NONE && e.message[0] != '\0' && e.advice[0] != '\0');
            continue;
        }
        if (grep_run(g, text, len, SIZE_MAX / 2, NULL, 1, &hits, &e) == 0) {
            check_hits(&hits, text, len);
            check_lines(g, &hits, text, len);
            grep_hits_free(&hits);
        } else {
            require(e.code == ERR_LIMIT && e.advice[0] != '\0');
        }
        grep_free(g);
    }
    return 0;
}
