/* What a new node refers to: ids that its content names, and earlier nodes that it resembles. In
 * the daemon. */
#include "explore/chars.h"
#include "explore/research_parts.h"

#include <string.h>

/* Of each earlier node: how much it is referred to. */
struct refs_found {
    float weights[RESEARCH_NODES_MAX]; /* 0: not at all; REFS_NAMED: by its id; else the cosine */
    size_t n;                          /* nodes that are referred to */
};

static const float REFS_NAMED = 2;

static void refs_put(struct refs_found *found, size_t place, float weight)
{
    if (found->weights[place] == 0)
        found->n++;
    found->weights[place] = MAX(found->weights[place], weight);
}

/* Ids are whole words, so `\bID\b` is a comparison of words. */
static void refs_by_name(struct refs_found *found, const json_t *nodes, const char *content,
                         size_t len)
{
    struct map places = {0};
    size_t from = 0, taken;
    for (size_t at = 0; at <= len; at += taken) {
        uint32_t c = ' ';
        taken = at < len ? chars_next(content + at, len - at, &c) : 1;
        if (chars_is_word(c))
            continue;
        if (research_is_id(content + from, at - from)) {
            char id[RESEARCH_ID_SIZE] = {0};
            size_t place;
            memcpy(id, content + from, at - from);
            if (places.count == 0)
                research_index(nodes, &places);
            if (research_find(&places, id, &place))
                refs_put(found, place, REFS_NAMED);
        }
        from = at + taken;
    }
    map_free(&places);
}

static bool refs_vector(const json_t *embedding, int8_t ret[EMBED_DIM])
{
    return embed_read(json_string_value(embedding), json_string_length(embedding), ret);
}

static void refs_by_resemblance(struct refs_found *found, const json_t *embeddings,
                                const json_t *embedding, float least)
{
    int8_t own[EMBED_DIM], other[EMBED_DIM];
    if (!refs_vector(embedding, own))
        return;
    size_t i;
    json_t *written;
    json_array_foreach(embeddings, i, written) {
        float cosine = refs_vector(written, other) ? embed_cosine(own, other) : 0;
        if (cosine >= least)
            refs_put(found, i, cosine);
    }
}

/* The strongest references in the order of nodes: those by name first, whatever the others are. */
static void refs_list(const struct refs_found *found, const json_t *nodes, json_t *refs)
{
    struct refs_found left = *found;
    bool is_kept[RESEARCH_NODES_MAX] = {false};
    size_t n = json_array_size(nodes);
    for (size_t k = 0; k < MIN(found->n, (size_t)RESEARCH_REFS_MAX); k++) {
        size_t best = 0;
        for (size_t i = 1; i < n; i++) {
            if (left.weights[i] > left.weights[best])
                best = i;
        }
        is_kept[best] = true;
        left.weights[best] = 0;
    }
    for (int is_named = 1; is_named >= 0; is_named--) {
        for (size_t i = 0; i < n; i++) {
            if (is_kept[i] && (found->weights[i] == REFS_NAMED) == is_named)
                json_array_append(refs, json_object_get(json_array_get(nodes, i), "id"));
        }
    }
}

void research_refer(json_t *node, const json_t *tree, const char *content, size_t len,
                    const json_t *embedding, float least)
{
    struct refs_found found = {0};
    const json_t *nodes = json_object_get(tree, "nodes");
    refs_by_name(&found, nodes, content, len);
    if (least <= 1)
        refs_by_resemblance(&found, json_object_get(tree, "embeddings"), embedding, least);
    json_t *refs = json_array();
    refs_list(&found, nodes, refs);
    json_object_set_new(node, "refs", refs);
    if (found.n > RESEARCH_REFS_MAX)
        json_object_set_new(node, "more_refs",
                            json_integer((json_int_t)found.n - RESEARCH_REFS_MAX));
}
