/* A research tree from outside: every part is checked and copied. In the daemon. */
#include "explore/chars.h"
#include "explore/research_parts.h"
#include "wire/json.h"

#include <string.h>

/* Of counters: so that ids stay short however many calls follow. */
#define READ_NUMBER_MAX 1000000000

/* What is known of a tree while it is read. */
struct read_tree {
    json_t *nodes; /* checked ones */
    struct map places;
    json_t *counters;
    struct err *e;
};

/* Where something is wrong: a member of the node that is read, NULL for the node itself. */
static int read_fail(struct read_tree *tree, const char *member, const char *what)
{
    err_set(tree->e, ERR_INVALID, "nodes[%zu]%s%s %s", json_array_size(tree->nodes),
            member != NULL ? "." : "", member != NULL ? member : "", what);
    return err_advise(tree->e, "Pass what to_dict() returned, unchanged.");
}

static int read_fail_tree(struct read_tree *tree, enum err_code code, const char *what)
{
    err_set(tree->e, code, "the research tree: %s", what);
    return err_advise(tree->e, "Pass what to_dict() returned, unchanged.");
}

static bool read_is_count(const json_t *value)
{
    return json_is_integer(value) && json_integer_value(value) >= 0 &&
           json_integer_value(value) <= READ_NUMBER_MAX;
}

static bool read_is_id(const json_t *value)
{
    return json_is_string(value) &&
           research_is_id(json_string_value(value), json_string_length(value));
}

static int read_copy_line(struct read_tree *tree, const json_t *from, const char *member,
                          size_t max, json_t *to)
{
    const json_t *value = json_object_get(from, member);
    if (!json_is_string(value) ||
        !chars_is_line(json_string_value(value), json_string_length(value), max))
        return read_fail(tree, member, "is not a line of text, or is too long");
    json_object_set_new(to, member,
                        json_stringn(json_string_value(value), json_string_length(value)));
    return 0;
}

/* An id of its own, that was counted: the next one of its prefix must not be the same. */
static int read_id(struct read_tree *tree, const json_t *from, json_t *to)
{
    const json_t *value = json_object_get(from, "id");
    if (!read_is_id(value))
        return read_fail(tree, "id", "is not an id, as G1 is");
    const char *id = json_string_value(value);
    size_t len = json_string_length(value), prefix = research_prefix_length(id, len), ignored;
    const json_t *counter = json_object_getn(tree->counters, id, prefix);
    if (strtoll(id + prefix, NULL, 10) > json_integer_value(counter))
        return read_fail(tree, "id", "is beyond its counter");
    if (research_find(&tree->places, id, &ignored))
        return read_fail(tree, "id", "is that of another node, too");
    json_object_set_new(to, "id", json_stringn(id, len));
    return 0;
}

/* A node that comes later cannot be the parent: there are no circles. */
static int read_parent(struct read_tree *tree, const json_t *from, const json_t *later, json_t *to)
{
    const json_t *value = json_object_get(from, "parent_id");
    size_t ignored;
    if (value == NULL || json_is_null(value))
        return json_object_set_new(to, "parent_id", json_null());
    if (!read_is_id(value))
        return read_fail(tree, "parent_id", "is not an id, as G1 is");
    if (json_object_get(later, json_string_value(value)) != NULL &&
        !research_find(&tree->places, json_string_value(value), &ignored))
        return read_fail(tree, "parent_id", "is the node itself or a later one");
    json_object_set_new(to, "parent_id", json_string(json_string_value(value)));
    return 0;
}

static int read_refs(struct read_tree *tree, const json_t *from, json_t *to)
{
    const json_t *value = json_object_get(from, "refs");
    json_t *refs = json_array();
    json_object_set_new(to, "refs", refs);
    if (value != NULL && !json_is_array(value))
        return read_fail(tree, "refs", "is not an array");
    json_int_t more = 0;
    size_t i;
    json_t *ref;
    json_array_foreach(value, i, ref) {
        if (!read_is_id(ref))
            return read_fail(tree, "refs", "has something that is not an id, as G1 is");
        if (i < RESEARCH_REFS_MAX)
            json_array_append_new(refs, json_string(json_string_value(ref)));
        else
            more++;
    }
    const json_t *told = json_object_get(from, "more_refs");
    if (told != NULL && !read_is_count(told))
        return read_fail(tree, "more_refs", "is not a number of references");
    more += json_integer_value(told);
    if (more > 0)
        json_object_set_new(to, "more_refs", json_integer(more));
    return 0;
}

static int read_rest(struct read_tree *tree, const json_t *from, json_t *to)
{
    const json_t *size = json_object_get(from, "size"), *time = json_object_get(from, "timestamp");
    const json_t *status = json_object_get(from, "status");
    enum research_status known = RESEARCH_UNANALYZED;
    if (!read_is_count(size))
        return read_fail(tree, "size", "is not a number of characters");
    json_object_set_new(to, "size", json_integer(json_integer_value(size)));
    if (status != NULL &&
        (!json_is_string(status) || !research_status_find(json_string_value(status), &known)))
        return read_fail(tree, "status", "is none of unanalyzed, analyzed and stale");
    json_object_set_new(to, "status", json_string(research_status_name(known)));
    if (time == NULL)
        return 0;
    if (!json_is_number(time) || !(json_number_value(time) >= 0 && json_number_value(time) < 1e12))
        return read_fail(tree, "timestamp", "is not a number of seconds");
    return json_object_set_new(to, "timestamp", json_real(json_number_value(time)));
}

static int read_no_others(struct read_tree *tree, const json_t *from, const json_t *to)
{
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)from, name, value) {
        if (json_object_get(to, name) == NULL && strcmp(name, "more_refs") != 0)
            return read_fail(tree, NULL, "has a member that nodes do not have");
    }
    return 0;
}

static int read_node(struct read_tree *tree, const json_t *from, const json_t *ids)
{
    _json_ json_t *node = json_object();
    if (!json_is_object(from))
        return read_fail(tree, NULL, "is not an object");
    if (read_id(tree, from, node) < 0 ||
        read_copy_line(tree, from, "tool", RESEARCH_TOOL_CHARS, node) < 0 ||
        read_copy_line(tree, from, "query", RESEARCH_QUERY_CHARS, node) < 0 ||
        read_copy_line(tree, from, "summary", RESEARCH_SUMMARY_CHARS + strlen("..."), node) < 0 ||
        read_parent(tree, from, ids, node) < 0 || read_refs(tree, from, node) < 0 ||
        read_rest(tree, from, node) < 0 || read_no_others(tree, from, node) < 0)
        return -1;
    map_set(&tree->places, research_text(node, "id"),
            (void *)(uintptr_t)(json_array_size(tree->nodes) + 1));
    return json_array_append(tree->nodes, node);
}

/* Ids of all nodes, unchecked, for questions about what comes later. */
static json_t *read_ids(const json_t *list)
{
    json_t *ids = json_object();
    size_t i;
    json_t *node;
    json_array_foreach(list, i, node) {
        const json_t *id = json_object_get(node, "id");
        if (read_is_id(id))
            json_object_set_new(ids, json_string_value(id), json_true());
    }
    return ids;
}

static int read_nodes(struct read_tree *tree, const json_t *dict)
{
    json_t *given = json_object_get(dict, "nodes");
    _json_ json_t *list = json_array();
    const char *name;
    size_t i;
    json_t *node;
    if (!json_is_array(given) && !json_is_object(given))
        return read_fail_tree(tree, ERR_INVALID, "nodes is neither an object nor an array");
    if (json_array_size(given) + json_object_size(given) > RESEARCH_NODES_MAX)
        return read_fail_tree(tree, ERR_TOO_LARGE, "there are more than 500 nodes");
    json_array_extend(list, given);
    json_object_foreach(given, name, node) {
        const char *id = json_string_value(json_object_get(node, "id"));
        if (id == NULL || strcmp(id, name) != 0)
            return read_fail_tree(tree, ERR_INVALID, "a node is not under its id");
        json_array_append(list, node);
    }
    _json_ json_t *ids = read_ids(list);
    json_array_foreach(list, i, node) {
        if (read_node(tree, node, ids) < 0)
            return -1;
    }
    return 0;
}

static int read_counters(struct read_tree *tree, const json_t *dict)
{
    json_t *given = json_object_get(dict, "counters");
    const char *prefix;
    json_t *value;
    if (!json_is_object(given))
        return read_fail_tree(tree, ERR_INVALID, "counters is not an object");
    json_object_foreach(given, prefix, value) {
        size_t len = strlen(prefix);
        if (len == 0 || len > 2 || research_prefix_length(prefix, len) != len ||
            !read_is_count(value))
            return read_fail_tree(tree, ERR_INVALID, "counters has something else than counts");
        json_object_set_new(tree->counters, prefix, json_integer(json_integer_value(value)));
    }
    return 0;
}

static json_t *read_embeddings(struct read_tree *tree, const json_t *dict)
{
    const json_t *given = json_object_get(dict, "embeddings");
    _json_ json_t *embeddings = json_array();
    int8_t ignored[EMBED_DIM];
    size_t i;
    json_t *node;
    if (given != NULL && json_array_size(given) != json_array_size(tree->nodes)) {
        read_fail_tree(tree, ERR_INVALID, "embeddings is not one for each node");
        return NULL;
    }
    json_array_foreach(tree->nodes, i, node) {
        const json_t *text = json_array_get(given, i);
        const char *summary = research_text(node, "summary");
        if (given == NULL) {
            json_array_append_new(embeddings, research_embedding(research_text(node, "query"),
                                                                 summary, strlen(summary)));
        } else if (json_is_string(text) &&
                   embed_read(json_string_value(text), json_string_length(text), ignored)) {
            json_array_append_new(embeddings, json_string(json_string_value(text)));
        } else {
            read_fail_tree(tree, ERR_INVALID, "embeddings has an item that is no embedding");
            return NULL;
        }
    }
    return take_ptr(embeddings);
}

static json_t *read_all(struct read_tree *tree, const json_t *dict)
{
    const json_t *version = json_object_get(dict, "version");
    const json_t *dropped = json_object_get(dict, "dropped");
    if (!json_is_integer(version) || json_integer_value(version) != 1) {
        read_fail_tree(tree, ERR_INVALID, "its version is not 1");
        return NULL;
    }
    if (dropped != NULL && !read_is_count(dropped)) {
        read_fail_tree(tree, ERR_INVALID, "dropped is not a number of nodes");
        return NULL;
    }
    if (read_counters(tree, dict) < 0 || read_nodes(tree, dict) < 0)
        return NULL;
    json_t *embeddings = read_embeddings(tree, dict);
    if (embeddings == NULL)
        return NULL;
    json_t *read = json_pack("{si sO sO so}", "version", 1, "nodes", tree->nodes, "counters",
                             tree->counters, "embeddings", embeddings);
    if (json_integer_value(dropped) > 0)
        json_object_set_new(read, "dropped", json_integer(json_integer_value(dropped)));
    return read;
}

json_t *research_read(const json_t *dict, struct err *e)
{
    struct read_tree tree = {.nodes = json_array(), .counters = json_object(), .e = e};
    json_t *read = read_all(&tree, dict);
    json_decref(tree.nodes);
    json_decref(tree.counters);
    map_free(&tree.places);
    return read;
}
