/* Tools that are functions of C. Daemon; on the loop, so what they are given is bounded: some 100
 * KB of text take a millisecond. */
#include "ops/toolbox_builtin.h"

#include "explore/embed.h"
#include "wire/json.h"

#include <stdlib.h>
#include <string.h>

enum { BUILTIN_TEXTS_BYTES = 256 * 1024 };

struct builtin_scored {
    size_t place;
    float score;
};

static int builtin_take(size_t *bytes, const json_t *text, struct err *e)
{
    *bytes += json_string_length(text);
    if (*bytes <= BUILTIN_TEXTS_BYTES)
        return 0;
    err_set(e, ERR_TOO_LARGE, "the texts have more than %d bytes together", BUILTIN_TEXTS_BYTES);
    return err_advise(e, "Give fewer or shorter texts at a time.");
}

static void builtin_embed(const json_t *text, int8_t ret[EMBED_DIM])
{
    embed_text(json_string_value(text), json_string_length(text), ret);
}

/* ---- embed_text ------------------------------------------------------------------------------ */

static json_t *builtin_embed_text(const json_t *args, struct err *e)
{
    size_t bytes = 0;
    int8_t vector[EMBED_DIM];
    const json_t *text = json_object_get(args, "text");
    if (builtin_take(&bytes, text, e) < 0)
        return NULL;
    builtin_embed(text, vector);
    json_t *numbers = json_array();
    for (size_t i = 0; i < EMBED_DIM; i++)
        json_array_append_new(numbers, json_integer(vector[i]));
    return json_pack("{s:o, s:i, s:s}", "embedding", numbers, "dimensions", (int)EMBED_DIM, "model",
                     "built-in");
}

/* ---- similarity_search ----------------------------------------------------------------------- */

static int builtin_by_score(const void *a, const void *b)
{
    const struct builtin_scored *x = a, *y = b;
    if (x->score != y->score)
        return x->score < y->score ? 1 : -1;
    return x->place < y->place ? -1 : x->place > y->place;
}

static json_t *builtin_similarity_search(const json_t *args, struct err *e)
{
    size_t bytes = 0;
    int8_t query[EMBED_DIM], vector[EMBED_DIM];
    const json_t *documents = json_object_get(args, "documents"), *text;
    size_t n = json_array_size(documents),
           limit = (size_t)json_integer_value(json_object_get(args, "limit"));
    double least = json_number_value(json_object_get(args, "min_score"));
    _free_ struct builtin_scored *scored = mem_alloc((n + 1) * sizeof(*scored));
    builtin_embed(json_object_get(args, "query"), query);
    for (size_t i = 0; i < n; i++) {
        text = json_array_get(documents, i);
        if (builtin_take(&bytes, text, e) < 0)
            return NULL;
        builtin_embed(text, vector);
        scored[i] = (struct builtin_scored){i, embed_cosine(query, vector)};
    }
    qsort(scored, n, sizeof(*scored), builtin_by_score);
    json_t *results = json_array();
    for (size_t i = 0; i < n && i < limit && scored[i].score >= least; i++)
        json_array_append_new(results,
                              json_pack("{s:I, s:f, s:O}", "index", (json_int_t)scored[i].place,
                                        "score", (double)((int)(scored[i].score * 1000)) / 1000.0,
                                        "text", json_array_get(documents, scored[i].place)));
    return json_pack("{s:o}", "results", results);
}

/* ---- classify_text --------------------------------------------------------------------------- */

/* How near the text is to a label: to its name, or to the nearest of its examples. */
static int builtin_nearness(const int8_t text[EMBED_DIM], const char *label, const json_t *examples,
                            size_t *bytes, float *ret, struct err *e)
{
    int8_t vector[EMBED_DIM];
    embed_text(label, strlen(label), vector);
    *ret = embed_cosine(text, vector);
    for (size_t i = 0; i < json_array_size(examples); i++) {
        const json_t *example = json_array_get(examples, i);
        if (builtin_take(bytes, example, e) < 0)
            return -1;
        builtin_embed(example, vector);
        *ret = MAX(*ret, embed_cosine(text, vector));
    }
    return 0;
}

static json_t *builtin_classify_text(const json_t *args, struct err *e)
{
    size_t bytes = 0;
    float best = -2;
    int8_t text[EMBED_DIM];
    const json_t *labels = json_object_get(args, "labels"),
                 *examples = json_object_get(args, "examples");
    const char *chosen = "";
    if (builtin_take(&bytes, json_object_get(args, "text"), e) < 0)
        return NULL;
    builtin_embed(json_object_get(args, "text"), text);
    _json_ json_t *scores = json_object();
    for (size_t i = 0; i < json_array_size(labels); i++) {
        float score;
        const char *label = json_string_value(json_array_get(labels, i));
        if (builtin_nearness(text, label, json_object_get(examples, label), &bytes, &score, e) < 0)
            return NULL;
        json_object_set_new(scores, label, json_real((double)((int)(score * 1000)) / 1000.0));
        if (score > best) {
            best = score;
            chosen = label;
        }
    }
    return json_pack("{s:s, s:f, s:O}", "label", chosen, "score",
                     (double)((int)(best * 1000)) / 1000.0, "scores", scores);
}

json_t *toolbox_builtin_run(const char *name, const json_t *args, struct err *e)
{
    static const struct {
        const char *name;
        json_t *(*run)(const json_t *args, struct err *e);
    } all[] = {{"embed_text", builtin_embed_text},
               {"similarity_search", builtin_similarity_search},
               {"classify_text", builtin_classify_text}};
    for (size_t i = 0; i < ARRAY_LEN(all); i++)
        if (strcmp(all[i].name, name) == 0)
            return all[i].run(args, e);
    err_set(e, ERR_INTERNAL, "no function runs %s", name);
    return NULL;
}
