/* The research tree as text. In the daemon. */
#include "explore/research_parts.h"

#include <string.h>

enum { RENDER_NONE = RESEARCH_NODES_MAX };

/* The tree by places of nodes; RENDER_NONE where there is none. */
struct render_tree {
    const json_t *nodes;
    size_t n;
    size_t parent[RESEARCH_NODES_MAX], first_child[RESEARCH_NODES_MAX],
        next_sibling[RESEARCH_NODES_MAX];
    size_t level[RESEARCH_NODES_MAX]; /* 0: a root or an orphan */
    size_t deepest;
};

static void render_link(struct render_tree *tree)
{
    struct map places = {0};
    size_t last_child[RESEARCH_NODES_MAX];
    research_index(tree->nodes, &places);
    for (size_t i = 0; i < tree->n; i++) {
        const char *parent_id = research_text(json_array_get(tree->nodes, i), "parent_id");
        size_t parent;
        tree->parent[i] = tree->first_child[i] = tree->next_sibling[i] = RENDER_NONE;
        tree->level[i] = 0;
        if (parent_id == NULL || !research_find(&places, parent_id, &parent))
            continue;
        if (tree->first_child[parent] == RENDER_NONE)
            tree->first_child[parent] = i;
        else
            tree->next_sibling[last_child[parent]] = i;
        last_child[parent] = i;
        tree->parent[i] = parent;
        tree->level[i] = tree->level[parent] + 1;
        tree->deepest = MAX(tree->deepest, tree->level[i]);
    }
    map_free(&places);
}

static void render_line(size_t level, const char *mark, const char *first, struct buf *out)
{
    char spaces[2 * RESEARCH_INDENT_MAX];
    memset(spaces, ' ', sizeof(spaces));
    buf_append_char(out, '\n');
    buf_append(out, spaces, 2 * MIN(level, (size_t)RESEARCH_INDENT_MAX));
    buf_append_str(out, mark);
    buf_append_str(out, first);
}

static void render_node(const json_t *node, size_t level, struct buf *out)
{
    static const char *const marks[] = {
        [RESEARCH_UNANALYZED] = "[?] ", [RESEARCH_ANALYZED] = "[+] ", [RESEARCH_STALE] = "[~] "};
    enum research_status status = RESEARCH_UNANALYZED;
    research_status_find(research_text(node, "status"), &status);
    render_line(level, marks[status], research_text(node, "id"), out);
    buf_append_str(out, ": ");
    buf_append_str(out, research_text(node, "tool"));
    buf_append_char(out, '(');
    buf_append_str(out, research_text(node, "query"));
    buf_append_char(out, ')');
    render_line(level, "    -> ", research_text(node, "summary"), out);
    json_int_t more = json_integer_value(json_object_get(node, "more_refs"));
    size_t i;
    json_t *ref;
    json_array_foreach(json_object_get(node, "refs"), i, ref) {
        if (i == 0)
            render_line(level, "    refs: ", "", out);
        else
            buf_append_str(out, ", ");
        buf_append_str(out, json_string_value(ref));
    }
    if (more > 0)
        buf_printf(out, ", ... and %lld more", (long long)more);
}

/* A node and all below it, without recursion: there may be hundreds of levels. */
static void render_from(const struct render_tree *tree, size_t top, struct buf *out)
{
    size_t at = top;
    for (;;) {
        render_node(json_array_get(tree->nodes, at), tree->level[at], out);
        if (tree->first_child[at] != RENDER_NONE) {
            at = tree->first_child[at];
            continue;
        }
        while (at != top && tree->next_sibling[at] == RENDER_NONE)
            at = tree->parent[at];
        if (at == top)
            return;
        at = tree->next_sibling[at];
    }
}

static void render_head(const struct render_tree *tree, json_int_t dropped, struct buf *out)
{
    size_t counts[RESEARCH_STALE + 1] = {0};
    for (size_t i = 0; i < tree->n; i++) {
        enum research_status status = RESEARCH_UNANALYZED;
        research_status_find(research_text(json_array_get(tree->nodes, i), "status"), &status);
        counts[status]++;
    }
    buf_printf(out, "## Research Context\nProgress: %zu analyzed, %zu pending, %zu stale\n",
               counts[RESEARCH_ANALYZED], counts[RESEARCH_UNANALYZED], counts[RESEARCH_STALE]);
    if (dropped > 0)
        buf_printf(out, "Dropped: %lld oldest nodes (%d are kept)\n", (long long)dropped,
                   RESEARCH_NODES_MAX);
    if (tree->deepest > RESEARCH_INDENT_MAX)
        buf_printf(out, "Depth: %zu levels (indented up to %d)\n", tree->deepest,
                   RESEARCH_INDENT_MAX);
}

void research_render(const json_t *tree, struct buf *out)
{
    struct render_tree linked = {.nodes = json_object_get(tree, "nodes"), .n = research_size(tree)};
    if (linked.n == 0) {
        buf_append_str(out, "[No research nodes]");
        return;
    }
    render_link(&linked);
    render_head(&linked, json_integer_value(json_object_get(tree, "dropped")), out);
    size_t orphans = 0;
    for (size_t i = 0; i < linked.n; i++) {
        bool has_parent = research_text(json_array_get(linked.nodes, i), "parent_id") != NULL;
        if (!has_parent)
            render_from(&linked, i, out);
        else if (linked.parent[i] == RENDER_NONE)
            orphans++;
    }
    if (orphans == 0)
        return;
    buf_append_str(out, "\n\n(Orphaned nodes)");
    for (size_t i = 0; i < linked.n; i++) {
        bool has_parent = research_text(json_array_get(linked.nodes, i), "parent_id") != NULL;
        if (has_parent && linked.parent[i] == RENDER_NONE)
            render_from(&linked, i, out);
    }
}
