/* What explorations taught: values of memories, and which of them fit a task. In the daemon; the
 * search runs on the store's thread. */
#include "explore/memory.h"

#include "explore/log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MEMORY_ACTION_NAMES = 5 };

const char *const memory_outcomes[] = {
    [MEMORY_OPEN] = "open",       [MEMORY_SUCCESS] = "success", [MEMORY_PARTIAL] = "partial",
    [MEMORY_FAILURE] = "failure", [MEMORY_FAILURE + 1] = NULL,
};

/* ---- values ---------------------------------------------------------------------------------- */

double memory_reward(enum memory_outcome outcome, int64_t gate_failures, int64_t escalations)
{
    static const double worth[] = {
        [MEMORY_OPEN] = 0, [MEMORY_SUCCESS] = 1, [MEMORY_PARTIAL] = 0.3, [MEMORY_FAILURE] = -0.5};
    return worth[outcome] - 0.1 * (double)gate_failures - 0.15 * (double)escalations;
}

double memory_learn(double q, double reward)
{
    double learnt = q + 0.1 * (reward - q);
    return MAX(0.0, MIN(1.0, learnt));
}

double memory_score(double q, double similarity)
{
    return 0.7 * q + 0.3 * similarity;
}

/* ---- names ----------------------------------------------------------------------------------- */

/* FNV-1a; each text counts with the zero at its end. */
void memory_id(const char *agent, const char *user, const char *task, const char *action,
               char ret[MEMORY_ID_SIZE])
{
    const char *const texts[] = {agent, user, task, action};
    uint64_t h = 14695981039346656037u;
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        size_t len = strlen(texts[i]) + 1;
        for (size_t k = 0; k < len; k++)
            h = (h ^ (unsigned char)texts[i][k]) * 1099511628211u;
    }
    snprintf(ret, MEMORY_ID_SIZE, "%016llx", (unsigned long long)h);
}

struct memory_count {
    const char *name;
    json_int_t n;
};

static int memory_by_count(const void *a, const void *b)
{
    const struct memory_count *x = a, *y = b;
    if (x->n != y->n)
        return x->n < y->n ? 1 : -1;
    return strcmp(x->name, y->name);
}

void memory_action(const json_t *log, struct buf *out)
{
    struct memory_count counts[EXPLORE_LOG_NAMES + 1];
    size_t n = 0;
    const char *name;
    json_t *value;
    json_object_foreach(json_object_get(log, "function_counts"), name, value) {
        /* Looking into the memory is no way to explore. */
        if (n < ARRAY_LEN(counts) && strcmp(name, "recall") != 0)
            counts[n++] = (struct memory_count){name, json_integer_value(value)};
    }
    qsort(counts, n, sizeof(*counts), memory_by_count);
    buf_append_str(out, n == 0 ? "none" : explore_log_strategy(log));
    for (size_t i = 0; i < MIN(n, (size_t)MEMORY_ACTION_NAMES); i++)
        buf_printf(out, "%s%s %lld", i == 0 ? ": " : ", ", counts[i].name, (long long)counts[i].n);
}

/* ---- finding --------------------------------------------------------------------------------- */

void memory_find_add(struct memory_finding *finding, uint64_t key, double q, double similarity)
{
    struct memory_found *nearest = finding->nearest;
    if (similarity < MEMORY_SIMILAR)
        return;
    if (finding->n == MEMORY_CANDIDATES && similarity <= nearest[finding->n - 1].similarity)
        return;
    size_t at = finding->n < MEMORY_CANDIDATES ? finding->n++ : finding->n - 1;
    for (; at > 0 && nearest[at - 1].similarity < similarity; at--)
        nearest[at] = nearest[at - 1];
    nearest[at] = (struct memory_found){key, similarity, memory_score(q, similarity)};
}

static int memory_by_score(const void *a, const void *b)
{
    const struct memory_found *x = a, *y = b;
    if (x->score != y->score)
        return x->score < y->score ? 1 : -1;
    return x->key < y->key ? 1 : x->key > y->key ? -1 : 0;
}

size_t memory_find_end(struct memory_finding *finding)
{
    qsort(finding->nearest, finding->n, sizeof(*finding->nearest), memory_by_score);
    return MIN(finding->n, (size_t)MEMORY_RESULTS);
}
