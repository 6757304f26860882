#include "explore/embed.h"
#include "explore/research.h"
#include "unit.h"
#include "wire/json.h"

#include <stdio.h>
#include <string.h>

/* Adds a call and lets go of the tree before. */
static void add(json_t **tree, const char *tool, const char *query, const char *content)
{
    char id[RESEARCH_ID_SIZE];
    struct research_call call = {
        .tool = tool, .query = query, .content = content, .len = strlen(content)};
    json_t *next = research_add(*tree, &call, id);
    json_decref(*tree);
    *tree = next;
}

static void mark(json_t **tree, const char *id, enum research_status status)
{
    struct err e;
    json_t *next = research_mark(*tree, id, status, &e);
    assert_non_null(next);
    json_decref(*tree);
    *tree = next;
}

static json_t *node_of(const json_t *tree, size_t place)
{
    return json_array_get(json_object_get(tree, "nodes"), place);
}

static const char *text_of(const json_t *tree, size_t place, const char *member)
{
    return json_string_value(json_object_get(node_of(tree, place), member));
}

static json_t *value_of(const char *json)
{
    struct err e = {0};
    json_t *value = NULL;
    if (json_read_object(json, strlen(json), &value, &e) < 0)
        fail_msg("%s: %s", json, e.message);
    return value;
}

static void expect_rendering(const json_t *tree, const char *text)
{
    _buf_ struct buf out = BUF_INIT(2 * MIB);
    research_render(tree, &out);
    assert_string_equal(buf_str(&out), text);
}

static void expect_list(json_t *list, const char *json)
{
    _free_ char *text = json_dumps(list, JSON_COMPACT);
    assert_string_equal(text, json);
    json_decref(list);
}

/* ---- rendering ------------------------------------------------------------------------------- */

static void test_a_tree_is_rendered_as_it_is_documented(void **state)
{
    (void)state;
    struct err e = {0};
    _json_ json_t *dict =
        value_of("{\"version\":1,\"counters\":{\"G\":1,\"P\":1,\"CS\":1},\"nodes\":{"
                 "\"G1\":{\"id\":\"G1\",\"tool\":\"grep\",\"query\":\"pattern='error'\","
                 "\"summary\":\"Found 3 matches in log file...\",\"size\":30,\"parent_id\":null,"
                 "\"refs\":[],\"status\":\"analyzed\",\"timestamp\":1770000000.5},"
                 "\"P1\":{\"id\":\"P1\",\"tool\":\"peek\",\"query\":\"n=100\","
                 "\"summary\":\"Error at line 42: connection timeout...\",\"size\":39,"
                 "\"parent_id\":\"G1\",\"refs\":[\"G1\"],\"status\":\"unanalyzed\"},"
                 "\"CS1\":{\"id\":\"CS1\",\"tool\":\"code_search\",\"query\":\"retries\","
                 "\"summary\":\"[]\",\"size\":2,\"parent_id\":\"P1\"}}}");
    _json_ json_t *tree = research_read(dict, &e);
    assert_non_null(tree);
    expect_rendering(tree, "## Research Context\n"
                           "Progress: 1 analyzed, 2 pending, 0 stale\n"
                           "\n"
                           "[+] G1: grep(pattern='error')\n"
                           "    -> Found 3 matches in log file...\n"
                           "  [?] P1: peek(n=100)\n"
                           "      -> Error at line 42: connection timeout...\n"
                           "      refs: G1\n"
                           "    [?] CS1: code_search(retries)\n"
                           "        -> []");
    /* What was read is what is given. */
    _json_ json_t *again = research_dict(tree);
    json_object_set_new(json_object_get(json_object_get(dict, "nodes"), "CS1"), "refs",
                        json_array());
    json_object_set_new(json_object_get(json_object_get(dict, "nodes"), "CS1"), "status",
                        json_string("unanalyzed"));
    assert_true(json_equal(dict, again));
}

static void test_calls_become_a_chain(void **state)
{
    (void)state;
    _json_ json_t *tree = research_new();
    expect_rendering(tree, "[No research nodes]");
    add(&tree, "grep", "pattern='error'", "Found 3 matches\n\n  in log file");
    add(&tree, "peek", "n=100", "");
    mark(&tree, "G1", RESEARCH_STALE);
    mark(&tree, "P1", RESEARCH_ANALYZED);
    add(&tree, "grep", "pattern='x'", "as seen in P1, not in G12 or _G1 or G1b");
    expect_rendering(tree, "## Research Context\n"
                           "Progress: 1 analyzed, 1 pending, 1 stale\n"
                           "\n"
                           "[~] G1: grep(pattern='error')\n"
                           "    -> Found 3 matches in log file\n"
                           "  [+] P1: peek(n=100)\n"
                           "      -> [empty]\n"
                           "    [?] G2: grep(pattern='x')\n"
                           "        -> as seen in P1, not in G12 or _G1 or G1b\n"
                           "        refs: P1");
    struct err e;
    expect_list(research_unanalyzed(tree), "[\"G2\"]");
    expect_list(research_lineage(tree, "G2", &e), "[\"G1\",\"P1\",\"G2\"]");
    expect_list(research_lineage(tree, "G1", &e), "[\"G1\"]");
}

static void test_siblings_and_orphans(void **state)
{
    (void)state;
    struct err e = {0};
    static const char node[] = "{\"id\":\"%s\",\"tool\":\"t\",\"query\":\"\",\"summary\":\"s\","
                               "\"size\":1,\"parent_id\":%s}%s";
    static const char *const rows[][2] = {
        {"X1", "null"}, {"X2", "\"X1\""}, {"X3", "\"X2\""}, {"X4", "\"X1\""},
        {"X5", "null"}, {"X6", "\"G9\""}, {"X7", "\"X6\""},
    };
    _buf_ struct buf json = BUF_INIT(4 * KIB);
    buf_append_str(&json, "{\"version\":1,\"counters\":{\"X\":7},\"nodes\":[");
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        buf_printf(&json, node, rows[i][0], rows[i][1], i + 1 < ARRAY_LEN(rows) ? "," : "]}");
    _json_ json_t *dict = value_of(buf_str(&json));
    _json_ json_t *tree = research_read(dict, &e);
    assert_non_null(tree);
    expect_rendering(tree, "## Research Context\nProgress: 0 analyzed, 7 pending, 0 stale\n\n"
                           "[?] X1: t()\n    -> s\n"
                           "  [?] X2: t()\n      -> s\n"
                           "    [?] X3: t()\n        -> s\n"
                           "  [?] X4: t()\n      -> s\n"
                           "[?] X5: t()\n    -> s\n"
                           "\n(Orphaned nodes)\n"
                           "[?] X6: t()\n    -> s\n"
                           "  [?] X7: t()\n      -> s");
    expect_list(research_lineage(tree, "X7", &e), "[\"X6\",\"X7\"]");
}

/* ---- nodes ----------------------------------------------------------------------------------- */

static void test_each_tool_has_a_prefix(void **state)
{
    (void)state;
    static const char *const tools[][2] = {
        {"grep", "G1"},           {"peek", "P1"},           {"llm_call", "L1"},
        {"TOOL", "T1"},           {"list_dir", "D1"},       {"web_fetch", "W1"},
        {"recall", "R1"},         {"code_search", "CS1"},   {"doc_search", "DS1"},
        {"llm_batch", "B1"},      {"CALL", "C1"},           {"file_info", "F1"},
        {"ocr_document", "O1"},   {"analyze_figure", "A1"}, {"run_shell", "S1"},
        {"archive_search", "X1"}, {"something", "X2"},      {"grep", "G2"},
    };
    _json_ json_t *tree = research_new();
    for (size_t i = 0; i < ARRAY_LEN(tools); i++) {
        add(&tree, tools[i][0], "", "");
        assert_string_equal(text_of(tree, i, "id"), tools[i][1]);
        assert_string_equal(text_of(tree, i, "tool"), tools[i][0]);
        assert_string_equal(text_of(tree, i, "status"), "unanalyzed");
    }
}

static void test_a_summary_is_cut_at_a_word(void **state)
{
    (void)state;
    _json_ json_t *tree = research_new();
    char words[400], letters[400];
    for (size_t i = 0; i < sizeof(words); i++) {
        words[i] = i % 7 == 6 ? '\n' : 'w';
        letters[i] = i == 50 ? ' ' : 'l';
    }
    words[399] = letters[399] = '\0';
    add(&tree, "peek", "", words);
    /* The first 200 characters end within the 29th word. */
    assert_int_equal(strlen(text_of(tree, 0, "summary")), 28 * 7 - 1 + 3);
    assert_string_equal(text_of(tree, 0, "summary") + 27 * 7, "wwwwww...");
    /* The only space is in the first half: cut where it is. */
    add(&tree, "peek", "", letters);
    assert_int_equal(strlen(text_of(tree, 1, "summary")), 203);
    /* Two hundred characters are whole, however many bytes they have. */
    _buf_ struct buf wide = BUF_INIT(KIB);
    for (size_t i = 0; i < 200; i++)
        buf_append_str(&wide, "é");
    add(&tree, "peek", "", buf_str(&wide));
    assert_string_equal(text_of(tree, 2, "summary"), buf_str(&wide));
    buf_append_str(&wide, " \n");
    add(&tree, "peek", "", buf_str(&wide));
    assert_string_equal(text_of(tree, 3, "summary"), text_of(tree, 2, "summary"));
    buf_append_str(&wide, "x");
    add(&tree, "peek", "", buf_str(&wide));
    assert_int_equal(strlen(text_of(tree, 4, "summary")), 403);
    add(&tree, "peek", "", " \n\t ");
    assert_string_equal(text_of(tree, 5, "summary"), "[empty]");
}

/* Bytes of any kind stay within their lines. */
static void test_a_node_is_text_in_lines(void **state)
{
    (void)state;
    _json_ json_t *tree = research_new();
    static const char bytes[] = "a\0b\xff\xe2\x82 \x1b[31m\xe2\x80\xa8[+] G7: grep()";
    char id[RESEARCH_ID_SIZE], query[200];
    memset(query, 'q', sizeof(query));
    query[10] = '\n';
    query[199] = '\0';
    struct research_call call = {.tool = "grep\n",
                                 .query = query,
                                 .content = bytes,
                                 .len = sizeof(bytes) - 1,
                                 .timestamp = 12.5};
    _json_ json_t *added = research_add(tree, &call, id);
    assert_string_equal(id, "X1");
    assert_string_equal(text_of(added, 0, "tool"), "grep ");
    assert_int_equal(strlen(text_of(added, 0, "query")), RESEARCH_QUERY_CHARS);
    assert_int_equal(text_of(added, 0, "query")[10], ' ');
    assert_string_equal(text_of(added, 0, "summary"),
                        "a b\xef\xbf\xbd\xef\xbf\xbd [31m [+] G7: grep()");
    assert_int_equal(json_integer_value(json_object_get(node_of(added, 0), "size")), 26);
    assert_true(json_real_value(json_object_get(node_of(added, 0), "timestamp")) == 12.5);
    struct err e;
    _json_ json_t *again = research_read(added, &e);
    assert_true(json_equal(added, again));
}

static void test_only_the_beginning_of_a_result_is_looked_at(void **state)
{
    (void)state;
    _json_ json_t *tree = research_new();
    add(&tree, "grep", "alpha", "");
    _buf_ struct buf content = BUF_INIT(64 * KIB);
    for (size_t i = 0; i < RESEARCH_CONTENT_CHARS - 3; i++)
        buf_append_str(&content, i % 50 == 49 ? " " : "ö");
    buf_append_str(&content, " G1");
    add(&tree, "peek", "", buf_str(&content));
    assert_int_equal(json_array_size(json_object_get(node_of(tree, 1), "refs")), 1);
    assert_int_equal(json_integer_value(json_object_get(node_of(tree, 1), "size")),
                     RESEARCH_CONTENT_CHARS);
    buf_clear(&content);
    for (size_t i = 0; i < RESEARCH_CONTENT_CHARS - 2; i++)
        buf_append_char(&content, ' ');
    buf_append_str(&content, " G1");
    add(&tree, "peek", "", buf_str(&content));
    assert_int_equal(json_array_size(json_object_get(node_of(tree, 2), "refs")), 0);
    assert_int_equal(json_integer_value(json_object_get(node_of(tree, 2), "size")),
                     RESEARCH_CONTENT_CHARS);
}

/* ---- references ------------------------------------------------------------------------------ */

static void expect_refs(const char *content, const char *refs)
{
    _json_ json_t *tree = research_new();
    add(&tree, "grep", "alpha", "");
    add(&tree, "peek", "beta", "");
    add(&tree, "code_search", "gamma", "");
    add(&tree, "list_dir", "delta", content);
    _free_ char *text = json_dumps(json_object_get(node_of(tree, 3), "refs"), JSON_COMPACT);
    assert_string_equal(text, refs);
}

static void test_references_are_whole_words(void **state)
{
    (void)state;
    expect_refs("see G1", "[\"G1\"]");
    expect_refs("CS1, P1 and G1; G1 again", "[\"G1\",\"P1\",\"CS1\"]");
    expect_refs("G1", "[\"G1\"]");
    expect_refs("(G1)/P1-CS1", "[\"G1\",\"P1\",\"CS1\"]");
    expect_refs("\xe2\x80\x9cG1\xe2\x80\x9d \xe2\x86\x92P1", "[\"G1\",\"P1\"]");
    expect_refs("\xc3\xa9G1 P1\xc3\xa9 G1_ xG1 G11 G01 g1 G 1 S1 D1", "[]");
    expect_refs("\xffG1\xff", "[\"G1\"]");
}

static void test_results_that_resemble_each_other(void **state)
{
    (void)state;
    static const char timeout[] = "ERROR 2026-01-02 worker 7: connection to database timed out";
    _json_ json_t *tree = research_new();
    add(&tree, "grep", "pattern='timed out'", timeout);
    add(&tree, "list_dir", "path='/workspace'", "README.md setup.py src tests Makefile");
    add(&tree, "grep", "pattern='database'", timeout);
    _free_ char *refs = json_dumps(json_object_get(node_of(tree, 2), "refs"), JSON_COMPACT);
    assert_string_equal(refs, "[\"G1\"]");
    assert_int_equal(json_array_size(json_object_get(node_of(tree, 1), "refs")), 0);
    /* What is kept is enough for the next one, also when it was read without embeddings. */
    struct err e;
    _json_ json_t *dict = research_dict(tree);
    assert_null(json_object_get(dict, "embeddings"));
    json_t *read = research_read(dict, &e);
    add(&read, "grep", "pattern='worker'", timeout);
    _free_ char *later = json_dumps(json_object_get(node_of(read, 3), "refs"), JSON_COMPACT);
    assert_string_equal(later, "[\"G1\",\"G2\"]");
    json_decref(read);
}

static void test_named_references_come_before_similar_ones(void **state)
{
    (void)state;
    _json_ json_t *tree = research_new();
    for (size_t i = 0; i < 30; i++)
        add(&tree, "grep", "the same", "the same words over and over again, whatever happens");
    add(&tree, "peek", "the same", "the same words over and over again, whatever happens: G29 G30");
    const json_t *node = node_of(tree, 30), *refs = json_object_get(node, "refs");
    assert_int_equal(json_array_size(refs), RESEARCH_REFS_MAX);
    assert_int_equal(json_integer_value(json_object_get(node, "more_refs")), 10);
    assert_string_equal(json_string_value(json_array_get(refs, 0)), "G29");
    assert_string_equal(json_string_value(json_array_get(refs, 1)), "G30");
    assert_string_equal(json_string_value(json_array_get(refs, 2)), "G1");
    _buf_ struct buf out = BUF_INIT(2 * MIB);
    research_render(tree, &out);
    static const char end[] = "G17, G18, ... and 10 more";
    assert_string_equal(out.data + out.len - strlen(end), end);
    struct err e;
    _json_ json_t *again = research_read(tree, &e);
    assert_true(json_equal(tree, again));
}

/* ---- immutability ---------------------------------------------------------------------------- */

/* Every tree of a long row of changes is at its end what it was, and neighbours share nodes. */
static void test_trees_do_not_change(void **state)
{
    (void)state;
    enum { STEPS = 300 };
    static const char *const tools[] = {"grep", "peek", "TOOL", "other"};
    json_t *trees[STEPS + 1] = {research_new()};
    json_t *copies[STEPS + 1] = {json_deep_copy(trees[0])};
    unsigned random = 1;
    for (size_t i = 0; i < STEPS; i++) {
        random = random * 1103515245 + 12345;
        size_t n = research_size(trees[i]), at = n > 0 ? (random >> 8) % n : 0;
        char id[RESEARCH_ID_SIZE], content[64];
        struct err e;
        snprintf(content, sizeof(content), "found %u after G%u", random >> 20, random >> 8 & 63);
        struct research_call call = {.tool = tools[random >> 16 & 3],
                                     .query = "q",
                                     .content = content,
                                     .len = strlen(content)};
        if (n == 0 || random >> 28 < 10)
            trees[i + 1] = research_add(trees[i], &call, id);
        else
            trees[i + 1] = research_mark(trees[i], text_of(trees[i], at, "id"),
                                         (enum research_status)(random >> 24 & 1) + 1, &e);
        copies[i + 1] = json_deep_copy(trees[i + 1]);
        size_t shared = 0;
        for (size_t k = 0; k < n; k++)
            shared += node_of(trees[i], k) == node_of(trees[i + 1], k);
        assert_true(shared + 1 >= n);
        if (research_size(trees[i + 1]) > n)
            assert_int_equal(shared, n);
    }
    for (size_t i = 0; i <= STEPS; i++) {
        assert_true(json_equal(trees[i], copies[i]));
        struct err e;
        _json_ json_t *read = research_read(trees[i], &e);
        assert_true(json_equal(trees[i], read));
        json_decref(trees[i]);
        json_decref(copies[i]);
    }
}

static void test_what_is_not_there_cannot_be_marked(void **state)
{
    (void)state;
    struct err e = {0};
    _json_ json_t *tree = research_new();
    assert_null(research_mark(tree, "G1", RESEARCH_ANALYZED, &e));
    assert_int_equal(e.code, ERR_NOT_FOUND);
    assert_string_equal(e.message, "no research node G1");
    assert_non_null(strstr(e.advice, "get_unanalyzed()"));
    assert_null(research_lineage(tree, "a name that\nis far too long", &e));
    assert_string_equal(e.message, "no research node a name that is f...");
}

/* ---- limits ---------------------------------------------------------------------------------- */

static void test_the_oldest_nodes_are_dropped_and_counted(void **state)
{
    (void)state;
    _json_ json_t *tree = research_new();
    char content[32];
    for (size_t i = 0; i < RESEARCH_NODES_MAX + 2; i++) {
        snprintf(content, sizeof(content), "%zu", i * 7919);
        add(&tree, "grep", "", content);
    }
    assert_int_equal(research_size(tree), RESEARCH_NODES_MAX);
    assert_int_equal(json_array_size(json_object_get(tree, "embeddings")), RESEARCH_NODES_MAX);
    assert_string_equal(text_of(tree, 0, "id"), "G3");
    assert_string_equal(text_of(tree, RESEARCH_NODES_MAX - 1, "id"), "G502");
    _buf_ struct buf out = BUF_INIT(2 * MIB);
    research_render(tree, &out);
    assert_false(out.overflowed);
    static const char start[] = "## Research Context\n"
                                "Progress: 0 analyzed, 500 pending, 0 stale\n"
                                "Dropped: 2 oldest nodes (500 are kept)\n"
                                "Depth: 499 levels (indented up to 40)\n"
                                "\n\n(Orphaned nodes)\n"
                                "[?] G3: grep()\n"
                                "    -> 15838\n"
                                "  [?] G4: grep()\n";
    assert_memory_equal(out.data, start, strlen(start));
    _buf_ struct buf end = BUF_INIT(KIB);
    buf_printf(&end, "\n%80s[?] G502: grep()\n%80s    -> 3967419", "", "");
    assert_string_equal(out.data + out.len - end.len, buf_str(&end));
    struct err e;
    _json_ json_t *again = research_read(tree, &e);
    assert_true(json_equal(tree, again));
    assert_null(research_mark(tree, "G1", RESEARCH_STALE, &e));
    expect_list(research_lineage(tree, "G4", &e), "[\"G3\",\"G4\"]");
}

/* ---- from outside ---------------------------------------------------------------------------- */

#define NODE(id, more)                                                                             \
    "{\"id\":\"" id "\",\"tool\":\"grep\",\"query\":\"q\",\"summary\":\"s\",\"size\":1" more "}"
#define TREE(nodes) "{\"version\":1,\"counters\":{\"G\":2},\"nodes\":" nodes "}"

static void test_hostile_trees_are_refused(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"{}", "the research tree: its version is not 1"},
        {"{\"version\":2}", "the research tree: its version is not 1"},
        {"{\"version\":1}", "the research tree: counters is not an object"},
        {"{\"version\":1,\"counters\":{\"g\":1}}",
         "the research tree: counters has something else than counts"},
        {"{\"version\":1,\"counters\":{\"G\":-1}}",
         "the research tree: counters has something else than counts"},
        {"{\"version\":1,\"counters\":{\"G\":99999999999}}",
         "the research tree: counters has something else than counts"},
        {"{\"version\":1,\"counters\":{}}",
         "the research tree: nodes is neither an object nor an array"},
        {TREE("[7]"), "nodes[0] is not an object"},
        {TREE("[" NODE("G1", "") "," NODE("G3", "") "]"), "nodes[1].id is beyond its counter"},
        {TREE("[" NODE("P1", "") "]"), "nodes[0].id is beyond its counter"},
        {TREE("[" NODE("G1", "") "," NODE("G1", "") "]"),
         "nodes[1].id is that of another node, too"},
        {TREE("[" NODE("G0", "") "]"), "nodes[0].id is not an id, as G1 is"},
        {TREE("[" NODE("G1'\\n", "") "]"), "nodes[0].id is not an id, as G1 is"},
        {TREE("{\"G2\":" NODE("G1", "") "}"), "the research tree: a node is not under its id"},
        {TREE("[" NODE("G1", ",\"parent_id\":\"G1\"") "]"),
         "nodes[0].parent_id is the node itself or a later one"},
        {TREE("[" NODE("G1", ",\"parent_id\":\"G2\"") "," NODE("G2", ",\"parent_id\":\"G1\"") "]"),
         "nodes[0].parent_id is the node itself or a later one"},
        {TREE("[" NODE("G1", ",\"parent_id\":7") "]"), "nodes[0].parent_id is not an id, as G1 is"},
        {TREE("[" NODE("G1", ",\"refs\":\"G1\"") "]"), "nodes[0].refs is not an array"},
        {TREE("[" NODE("G1", ",\"refs\":[\"x\"]") "]"),
         "nodes[0].refs has something that is not an id, as G1 is"},
        {TREE("[" NODE("G1", ",\"status\":\"done\"") "]"),
         "nodes[0].status is none of unanalyzed, analyzed and stale"},
        {TREE("[" NODE("G1", ",\"timestamp\":-1") "]"),
         "nodes[0].timestamp is not a number of seconds"},
        {TREE("[" NODE("G1", ",\"colour\":1") "]"), "nodes[0] has a member that nodes do not have"},
        {TREE(
             "[{\"id\":\"G1\",\"tool\":\"grep\",\"query\":\"a\\nb\",\"summary\":\"\",\"size\":1}]"),
         "nodes[0].query is not a line of text, or is too long"},
        {TREE("[{\"id\":\"G1\",\"tool\":\"\\u001b[2J\",\"query\":\"\",\"summary\":\"\"}]"),
         "nodes[0].tool is not a line of text, or is too long"},
        {TREE("[{\"id\":\"G1\",\"tool\":\"grep\",\"query\":\"\",\"summary\":\"\"}]"),
         "nodes[0].size is not a number of characters"},
        {"{\"version\":1,\"counters\":{},\"nodes\":[],\"embeddings\":[\"x\"]}",
         "the research tree: embeddings is not one for each node"},
        {"{\"version\":1,\"counters\":{\"G\":1},\"nodes\":[" NODE("G1",
                                                                  "") "],"
                                                                      "\"embeddings\":[\"x\"]}",
         "the research tree: embeddings has an item that is no embedding"},
        {"{\"version\":1,\"counters\":{},\"nodes\":[],\"dropped\":-1}",
         "the research tree: dropped is not a number of nodes"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct err e = {0};
        _json_ json_t *dict = value_of(cases[i][0]);
        assert_null(research_read(dict, &e));
        assert_int_equal(e.code, ERR_INVALID);
        assert_string_equal(e.message, cases[i][1]);
        assert_string_equal(e.advice, "Pass what to_dict() returned, unchanged.");
    }
    struct err e = {0};
    assert_null(research_read(NULL, &e));
    assert_int_equal(e.code, ERR_INVALID);
}

static void test_too_many_nodes_are_refused(void **state)
{
    (void)state;
    _buf_ struct buf json = BUF_INIT(MIB);
    buf_append_str(&json, "{\"version\":1,\"counters\":{\"G\":501},\"nodes\":[");
    for (size_t i = 1; i <= RESEARCH_NODES_MAX + 1; i++)
        buf_printf(&json,
                   "{\"id\":\"G%zu\",\"tool\":\"grep\",\"query\":\"\",\"summary\":\"\","
                   "\"size\":1}%s",
                   i, i <= RESEARCH_NODES_MAX ? "," : "]}");
    struct err e = {0};
    _json_ json_t *dict = value_of(buf_str(&json));
    assert_null(research_read(dict, &e));
    assert_int_equal(e.code, ERR_TOO_LARGE);
    json_array_remove(json_object_get(dict, "nodes"), 0);
    _json_ json_t *tree = research_read(dict, &e);
    assert_int_equal(research_size(tree), RESEARCH_NODES_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_tree_is_rendered_as_it_is_documented),
        cmocka_unit_test(test_calls_become_a_chain),
        cmocka_unit_test(test_siblings_and_orphans),
        cmocka_unit_test(test_each_tool_has_a_prefix),
        cmocka_unit_test(test_a_summary_is_cut_at_a_word),
        cmocka_unit_test(test_a_node_is_text_in_lines),
        cmocka_unit_test(test_only_the_beginning_of_a_result_is_looked_at),
        cmocka_unit_test(test_references_are_whole_words),
        cmocka_unit_test(test_results_that_resemble_each_other),
        cmocka_unit_test(test_named_references_come_before_similar_ones),
        cmocka_unit_test(test_trees_do_not_change),
        cmocka_unit_test(test_what_is_not_there_cannot_be_marked),
        cmocka_unit_test(test_the_oldest_nodes_are_dropped_and_counted),
        cmocka_unit_test(test_hostile_trees_are_refused),
        cmocka_unit_test(test_too_many_nodes_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
