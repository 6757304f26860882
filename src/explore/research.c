/* The research tree as a value: nodes are added, marked and listed. In the daemon. */
#include "explore/research.h"

#include "explore/chars.h"
#include "explore/research_parts.h"

#include <stdio.h>
#include <string.h>

/* ---- names ----------------------------------------------------------------------------------- */

static const char *research_prefix(const char *tool)
{
    static const struct {
        const char *tool, *prefix;
    } prefixes[] = {
        {"grep", "G"},         {"peek", "P"},           {"llm_call", "L"},  {"TOOL", "T"},
        {"list_dir", "D"},     {"web_fetch", "W"},      {"recall", "R"},    {"code_search", "CS"},
        {"doc_search", "DS"},  {"llm_batch", "B"},      {"CALL", "C"},      {"file_info", "F"},
        {"ocr_document", "O"}, {"analyze_figure", "A"}, {"run_shell", "S"},
    };
    for (size_t i = 0; i < ARRAY_LEN(prefixes); i++) {
        if (strcmp(tool, prefixes[i].tool) == 0)
            return prefixes[i].prefix;
    }
    return "X";
}

size_t research_prefix_length(const char *s, size_t len)
{
    size_t n = 0;
    while (n < len && s[n] >= 'A' && s[n] <= 'Z')
        n++;
    return n;
}

bool research_is_id(const char *s, size_t len)
{
    size_t prefix = research_prefix_length(s, len), i = prefix;
    while (i < len && s[i] >= '0' && s[i] <= '9')
        i++;
    return prefix >= 1 && prefix <= 2 && prefix < len && s[prefix] != '0' && i == len &&
           len < RESEARCH_ID_SIZE;
}

static const char *const research_statuses[] = {
    [RESEARCH_UNANALYZED] = "unanalyzed",
    [RESEARCH_ANALYZED] = "analyzed",
    [RESEARCH_STALE] = "stale",
};

const char *research_status_name(enum research_status status)
{
    return research_statuses[status];
}

bool research_status_find(const char *name, enum research_status *ret_status)
{
    for (size_t i = 0; i < ARRAY_LEN(research_statuses); i++) {
        if (strcmp(name, research_statuses[i]) == 0) {
            *ret_status = (enum research_status)i;
            return true;
        }
    }
    return false;
}

/* ---- places ---------------------------------------------------------------------------------- */

const char *research_text(const json_t *node, const char *member)
{
    return json_string_value(json_object_get(node, member));
}

void research_index(const json_t *nodes, struct map *ret_places)
{
    size_t i;
    json_t *node;
    json_array_foreach(nodes, i, node)
        map_set(ret_places, research_text(node, "id"), (void *)(uintptr_t)(i + 1));
}

bool research_find(const struct map *places, const char *id, size_t *ret_place)
{
    uintptr_t place = (uintptr_t)map_get(places, id);
    if (place == 0)
        return false;
    *ret_place = place - 1;
    return true;
}

/* From the end, because callers mostly ask for what is new. */
static int research_place(const json_t *nodes, const char *id, size_t *ret_place, struct err *e)
{
    for (size_t i = json_array_size(nodes); i-- > 0;) {
        if (strcmp(research_text(json_array_get(nodes, i), "id"), id) == 0) {
            *ret_place = i;
            return 0;
        }
    }
    _buf_ struct buf name = BUF_INIT(KIB);
    chars_append_preview(&name, id, strlen(id), RESEARCH_ID_SIZE);
    err_set(e, ERR_NOT_FOUND, "no research node %s", buf_str(&name));
    return err_advise(e,
                      "The tree in get_state() and get_unanalyzed() have the ids; at most %d "
                      "nodes are kept.",
                      RESEARCH_NODES_MAX);
}

/* ---- values ---------------------------------------------------------------------------------- */

json_t *research_new(void)
{
    return json_pack("{si s[] s{} s[]}", "version", 1, "nodes", "counters", "embeddings");
}

size_t research_size(const json_t *tree)
{
    return json_array_size(json_object_get(tree, "nodes"));
}

/* A string of up to `max` characters, in one line. */
static json_t *research_line(const char *s, size_t len, size_t max)
{
    _buf_ struct buf out = BUF_INIT(4 * max + 1);
    chars_append_line(&out, s, len, max);
    return json_stringn(buf_str(&out), out.len);
}

/* The beginning of a result, cut after a word unless that would be half of it. */
static json_t *research_summary(const char *content, size_t len)
{
    _buf_ struct buf out = BUF_INIT(4 * RESEARCH_SUMMARY_CHARS + sizeof("..."));
    if (chars_append_squeezed(&out, content, len, RESEARCH_SUMMARY_CHARS)) {
        const char *space = memrchr(out.data, ' ', out.len);
        size_t before = 0;
        if (space != NULL)
            chars_prefix(out.data, (size_t)(space - out.data), SIZE_MAX, &before);
        if (before > RESEARCH_SUMMARY_CHARS / 2)
            out.len = (size_t)(space - out.data);
        buf_append_str(&out, "...");
    }
    return out.len == 0 ? json_string("[empty]") : json_stringn(out.data, out.len);
}

json_t *research_embedding(const char *query, const char *content, size_t len)
{
    _buf_ struct buf text =
        BUF_INIT(4 * (RESEARCH_QUERY_CHARS + RESEARCH_EMBED_CHARS) + sizeof(" "));
    chars_append_line(&text, query, strlen(query), RESEARCH_QUERY_CHARS);
    buf_append_char(&text, ' ');
    chars_append_line(&text, content, len, RESEARCH_EMBED_CHARS);
    int8_t vector[EMBED_DIM];
    char written[EMBED_DIM + 1];
    embed_text(text.data, text.len, vector);
    embed_write(vector, written);
    return json_stringn_nocheck(written, EMBED_DIM);
}

/* The next number of that prefix: the counters with it, and the id. */
static json_t *research_count(const json_t *counters, const char *prefix,
                              char ret_id[RESEARCH_ID_SIZE])
{
    json_t *counted = json_copy((json_t *)(uintptr_t)counters);
    json_int_t number = json_integer_value(json_object_get(counters, prefix)) + 1;
    json_object_set_new(counted, prefix, json_integer(number));
    /* A limit that no session reaches; the compiler wants to know that an id has room. */
    unsigned long long limit = 10000000000000;
    snprintf(ret_id, RESEARCH_ID_SIZE, "%.2s%llu", prefix, (unsigned long long)number % limit);
    return counted;
}

/* A copy of the list without its first `skipped` entries, sharing them, with one more, stolen. */
static json_t *research_append(const json_t *list, size_t skipped, json_t *entry)
{
    json_t *longer = json_array();
    for (size_t i = skipped; i < json_array_size(list); i++)
        json_array_append(longer, json_array_get(list, i));
    json_array_append_new(longer, entry);
    return longer;
}

static json_t *research_node(const json_t *tree, const struct research_call *call, const char *id,
                             const json_t *embedding)
{
    const json_t *nodes = json_object_get(tree, "nodes");
    size_t n = json_array_size(nodes), chars;
    size_t len = chars_prefix(call->content, call->len, RESEARCH_CONTENT_CHARS, &chars);
    json_t *parent = n > 0 ? json_object_get(json_array_get(nodes, n - 1), "id") : NULL;
    json_t *node = json_pack(
        "{ss so so so sI sO?}", "id", id, "tool",
        research_line(call->tool, strlen(call->tool), RESEARCH_TOOL_CHARS), "query",
        research_line(call->query, strlen(call->query), RESEARCH_QUERY_CHARS), "summary",
        research_summary(call->content, len), "size", (json_int_t)chars, "parent_id", parent);
    research_refer(node, tree, call->content, len, embedding,
                   call->similar > 0 ? call->similar : RESEARCH_SIMILAR);
    json_object_set_new(node, "status", json_string(research_status_name(RESEARCH_UNANALYZED)));
    if (call->timestamp > 0)
        json_object_set_new(node, "timestamp", json_real(call->timestamp));
    return node;
}

json_t *research_add(const json_t *tree, const struct research_call *call,
                     char ret_id[RESEARCH_ID_SIZE])
{
    json_t *counters =
        research_count(json_object_get(tree, "counters"), research_prefix(call->tool), ret_id);
    json_t *embedding = research_embedding(call->query, call->content, call->len);
    json_t *node = research_node(tree, call, ret_id, embedding);
    size_t surplus = research_size(tree) >= RESEARCH_NODES_MAX ? 1 : 0;
    json_int_t dropped = json_integer_value(json_object_get(tree, "dropped")) + (json_int_t)surplus;
    json_t *added = json_pack(
        "{si so so so}", "version", 1, "nodes",
        research_append(json_object_get(tree, "nodes"), surplus, node), "counters", counters,
        "embeddings", research_append(json_object_get(tree, "embeddings"), surplus, embedding));
    if (dropped > 0)
        json_object_set_new(added, "dropped", json_integer(dropped));
    return added;
}

json_t *research_mark(const json_t *tree, const char *id, enum research_status status,
                      struct err *e)
{
    json_t *nodes = json_object_get(tree, "nodes");
    size_t place;
    if (research_place(nodes, id, &place, e) < 0)
        return NULL;
    json_t *node = json_copy(json_array_get(nodes, place));
    json_object_set_new(node, "status", json_string(research_status_name(status)));
    json_t *others = json_copy(nodes);
    json_array_set_new(others, place, node);
    json_t *marked = json_copy((json_t *)(uintptr_t)tree);
    json_object_set_new(marked, "nodes", others);
    return marked;
}

/* ---- lists ----------------------------------------------------------------------------------- */

json_t *research_unanalyzed(const json_t *tree)
{
    json_t *ids = json_array();
    const char *wanted = research_status_name(RESEARCH_UNANALYZED);
    size_t i;
    json_t *node;
    json_array_foreach(json_object_get(tree, "nodes"), i, node) {
        if (strcmp(research_text(node, "status"), wanted) == 0)
            json_array_append(ids, json_object_get(node, "id"));
    }
    return ids;
}

/* Parents are before their children, so one walk to the front meets all of them in turn. */
json_t *research_lineage(const json_t *tree, const char *id, struct err *e)
{
    const json_t *nodes = json_object_get(tree, "nodes");
    size_t place;
    if (research_place(nodes, id, &place, e) < 0)
        return NULL;
    json_t *ids = json_array();
    const char *wanted = id;
    for (size_t i = place + 1; i-- > 0 && wanted != NULL;) {
        const json_t *node = json_array_get(nodes, i);
        if (strcmp(research_text(node, "id"), wanted) == 0) {
            json_array_insert(ids, 0, json_object_get(node, "id"));
            wanted = research_text(node, "parent_id");
        }
    }
    return ids;
}

json_t *research_dict(const json_t *tree)
{
    json_t *by_id = json_object();
    size_t i;
    json_t *node;
    json_array_foreach(json_object_get(tree, "nodes"), i, node)
        json_object_set(by_id, research_text(node, "id"), node);
    json_t *dict = json_copy((json_t *)(uintptr_t)tree);
    json_object_set_new(dict, "nodes", by_id);
    json_object_del(dict, "embeddings");
    return dict;
}
