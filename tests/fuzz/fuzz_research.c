/* A research tree from outside: what is read can be rendered, marked, added to, and read again as
 * the same. */
#include "base/utf8.h"
#include "explore/research.h"
#include "explore/state.h"
#include "wire/json.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool claim)
{
    if (!claim)
        abort();
}

static void check_rendering(const json_t *tree)
{
    _buf_ struct buf out = BUF_INIT(4 * MIB);
    explore_state_render(&(struct explore_state){.research = tree}, &out);
    buf_append_char(&out, '\n');
    research_render(tree, &out);
    require(!out.overflowed && utf8_is_valid(out.data, out.len));
}

static void check_tree(const json_t *tree)
{
    struct err e = {0};
    _json_ json_t *again = research_read(tree, &e);
    require(again != NULL && json_equal(tree, again));
    _json_ json_t *dict = research_dict(tree);
    _json_ json_t *by_dict = research_read(dict, &e);
    require(by_dict != NULL && research_size(by_dict) == research_size(tree));
    check_rendering(tree);
    size_t i;
    json_t *id;
    _json_ json_t *ids = research_unanalyzed(tree);
    json_array_foreach(ids, i, id) {
        _json_ json_t *lineage = research_lineage(tree, json_string_value(id), &e);
        require(json_array_size(lineage) >= 1);
        require(json_equal(json_array_get(lineage, json_array_size(lineage) - 1), id));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    json_object_seed(1);
    const char *text = (const char *)data;
    struct err e = {0};
    _json_ json_t *dict = NULL, *tree = NULL;
    if (json_read_object(text, size, &dict, &e) == 0) {
        tree = research_read(dict, &e);
        require(tree != NULL || (e.code != ERR_NONE && e.message[0] != '\0'));
    }
    if (tree == NULL)
        tree = research_new();
    check_tree(tree);
    /* The same bytes as a result. */
    _json_ json_t *before = json_deep_copy(tree);
    char id[RESEARCH_ID_SIZE];
    struct research_call call = {.tool = "grep", .query = "q", .content = text, .len = size};
    _json_ json_t *added = research_add(tree, &call, id);
    check_tree(added);
    _json_ json_t *marked = research_mark(added, id, RESEARCH_STALE, &e);
    require(marked != NULL && json_equal(tree, before));
    check_tree(marked);
    return 0;
}
