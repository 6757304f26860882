/* explore.code_search, explore.doc_search: the session's files as they are now, found by what they
 * say. Daemon; on the loop. */
#include "ops/explore_call.h"
#include "search/corpora.h"
#include "search/settings.h"
#include "session/session.h"
#include "wire/json.h"

#include <string.h>

#define EXPLORE_PARAM_QUERY                                                                        \
    {                                                                                              \
        .name = "query", .type = OP_TEXT, .is_required = true, .min = 1, .max = SEARCH_QUERY_MAX,  \
        .doc = "What is looked for, in words or as names."                                         \
    }
#define EXPLORE_PARAM_LIMIT                                                                        \
    {                                                                                              \
        .name = "limit", .type = OP_INT, .min = 1, .max = SEARCH_RESULTS_MAX,                      \
        .doc = "How many results at most; default 5."                                              \
    }
#define EXPLORE_PARAM_WORDS_ONLY                                                                   \
    {                                                                                              \
        .name = "words_only", .type = OP_BOOL, .doc = "Ranks by words alone, without vectors."     \
    }
#define EXPLORE_PARAM_CORPUS                                                                       \
    {                                                                                              \
        .name = "corpus", .type = OP_TEXT, .min = 1, .max = SEARCH_CORPUS_NAME_MAX,                \
        .doc = "Instead of the session's files: a folder that the configuration names."            \
    }

static const struct op_param explore_search_params[] = {
    OP_PARAM_SESSION,     EXPLORE_PARAM_QUERY, EXPLORE_PARAM_LIMIT, EXPLORE_PARAM_WORDS_ONLY,
    EXPLORE_PARAM_CORPUS, OP_PARAM_TOON,       OP_PARAM_QUIET,      {0},
};

static bool explore_search_is_code(const struct call *call)
{
    return call->op == &op_explore_code_search ||
           (call->op == &op_search_find && strcmp(call_text(call, "kind", "code"), "code") == 0);
}

static void explore_search_note(struct call *call, struct session *session, const json_t *results)
{
    _buf_ struct buf query = BUF_INIT(KIB * 8), found = BUF_INIT(KIB * 64);
    buf_printf(&query, "query='%s'", call_text(call, "query", ""));
    for (size_t i = 0; i < json_array_size(results); i++) {
        const char *file = "", *lines = "", *unit = "", *signature = "";
        json_unpack(json_array_get(results, i), "{s:s, s:s, s:s, s:s}", "file", &file, "lines",
                    &lines, "unit", &unit, "signature", &signature);
        buf_printf(&found, "%s%s:%s %s %s", i > 0 ? "\n" : "", file, lines, unit, signature);
    }
    if (json_array_size(results) == 0)
        buf_append_str(&found, "Nothing found");
    explore_call_note(call, session, explore_search_is_code(call) ? "code_search" : "doc_search",
                      buf_str(&query), buf_str(&found), found.len);
}

static json_t *explore_search_told(struct call *call, json_t *result)
{
    json_t *told = json_pack("{s:O, s:s, s:s}", "results", json_object_get(result, "results"),
                             "index", explore_search_is_code(call) ? "code" : "docs", "query",
                             call_text(call, "query", ""));
    static const char *const besides[] = {"skipped", "notes"};
    for (size_t i = 0; i < ARRAY_LEN(besides); i++)
        if (json_object_get(result, besides[i]) != NULL)
            json_object_set(told, besides[i], json_object_get(result, besides[i]));
    return told;
}

static void explore_search_gone(struct call *call)
{
    searching_forget(call->op_state);
}

static void explore_search_on_found(void *context, json_t *result, const struct err *e)
{
    struct call *call = context;
    if (result == NULL) {
        call_fail(call, e);
        return;
    }
    if (call_text(call, "session_id", NULL) == NULL) {
        explore_call_reply(call, 200, explore_search_told(call, result));
        return;
    }
    struct session *session = explore_call_session(call);
    if (session == NULL)
        return;
    json_t *told = explore_search_told(call, result);
    explore_search_note(call, session, json_object_get(told, "results"));
    explore_call_reply(call, 200, told);
}

static void explore_search_corpus_gone(struct call *call)
{
    search_forget(call->op_state);
}

static void explore_search_ask_corpus(struct call *call, const struct search_question *question)
{
    struct err e;
    struct search_library *library = corpora_find(call_text(call, "corpus", ""), &e);
    struct search_order *order =
        library != NULL ? search_ask(library, question, explore_search_on_found, call, &e) : NULL;
    if (order == NULL) {
        call_fail(call, &e);
        return;
    }
    call->op_state = order;
    call->on_gone = explore_search_corpus_gone;
}

static void explore_search_run(struct call *call)
{
    struct err e;
    struct search_question question = {.kind = explore_search_is_code(call) ? "code" : "doc",
                                       .query = call_text(call, "query", ""),
                                       .limit = (uint64_t)call_int(call, "limit", SEARCH_RESULTS),
                                       .words_only = call_bool(call, "words_only", false)};
    bool has_session = call_text(call, "session_id", NULL) != NULL;
    struct session *session = has_session ? explore_call_session(call) : NULL;
    if (has_session && session == NULL)
        return;
    if (call_text(call, "corpus", NULL) != NULL) {
        explore_search_ask_corpus(call, &question);
        return;
    }
    if (session == NULL) {
        err_set(&e, ERR_INVALID, "nothing is said of what is to be searched");
        err_advise(&e, "Name a session, or a corpus of the configuration.");
        call_fail(call, &e);
        return;
    }
    struct searching_order *order =
        session_search(session, &question, explore_search_on_found, call, &e);
    if (order == NULL) {
        call_fail(call, &e);
        return;
    }
    call->op_state = order;
    call->on_gone = explore_search_gone;
}

static const struct op_member explore_found_members[] = {
    {"file", OP_TEXT, .is_always = true, .column = "FILE", .doc = "Where it is, below /workspace."},
    {"lines", OP_TEXT, .is_always = true, .column = "LINES",
     .doc = "Its first and last line: \"12-40\"."},
    {"score", OP_NUMBER, .is_always = true, .column = "SCORE",
     .doc = "How well it fits: comparable within one answer."},
    {"unit", OP_TEXT, .is_always = true, .column = "UNIT",
     .doc = "What it is: \"function:NAME\", \"method:CLASS.NAME\", \"class:NAME\", "
            "\"section:TITLE\", \"block:FILE\" and the like."},
    {"signature", OP_TEXT, .is_always = true, .column = "SIGNATURE",
     .doc = "How it begins, up to 100 characters; of a section the titles that lead to it."},
    {0},
};
static const struct op_shape shape_found = {"found", explore_found_members,
                                            "A part of a file that was found."};

static const struct op_member explore_skipped_members[] = {
    {"too_large", OP_INT, .doc = "Files of more than 1 MiB."},
    {"binary", OP_INT, .doc = "Files whose beginning has a NUL."},
    {"too_many", OP_INT, .doc = "Files beyond 20000, or beyond 512 MiB together."},
    {"unreadable", OP_INT, .doc = "Files that could not be read."},
    {0},
};
static const struct op_shape shape_search_skipped = {"search_skipped", explore_skipped_members,
                                                     "Files that were not searched."};

static const struct op_member explore_search_members[] = {
    {"results", OP_LIST, .is_always = true, .shape = &shape_found, .doc = "The best first."},
    {"index", OP_TEXT, .is_always = true, .doc = "What was searched: code or docs."},
    {"query", OP_TEXT, .is_always = true, .doc = "What was asked."},
    {"skipped", OP_OBJECT, .shape = &shape_search_skipped,
     .doc = "How many files were not searched, and why."},
    {"notes", OP_TEXT, .doc = "What the encoder of the configuration could not do."},
    {"toon", OP_TEXT, .doc = "All of it as TOON."},
    {0},
};
static const struct op_shape shape_search = {"search", explore_search_members,
                                             "What fits a question best."};

#define EXPLORE_SEARCH_ERRORS                                                                      \
    OP_ERR(CONFLICT) | OP_ERR(GONE) | OP_ERR(NOT_FOUND) | OP_ERR(LIMIT) | OP_ERR(TIMEOUT) |        \
        OP_ERR(UNAVAILABLE)

const struct op op_explore_code_search = {
    .name = "explore.code_search",
    .method = "POST",
    .path = "/v1/sessions/{session_id}/explore/code_search",
    .subject = OP_ON_CONTEXT,
    .flags = OP_READ_ONLY | OP_FROM_CODE,
    .params = explore_search_params,
    .doc = "Finds functions, classes and methods in the code of the workspace by what they say.",
    .run = explore_search_run,
    .result = &shape_search,
    .errors = EXPLORE_SEARCH_ERRORS,
    .example = "{\"session_id\": \"$session\", \"query\": \"parse the header\"}",
};

const struct op op_explore_doc_search = {
    .name = "explore.doc_search",
    .method = "POST",
    .path = "/v1/sessions/{session_id}/explore/doc_search",
    .subject = OP_ON_CONTEXT,
    .flags = OP_READ_ONLY | OP_FROM_CODE,
    .params = explore_search_params,
    .doc = "Finds sections in the documents of the workspace by what they say.",
    .run = explore_search_run,
    .result = &shape_search,
    .errors = EXPLORE_SEARCH_ERRORS,
    .example = "{\"session_id\": \"$session\", \"query\": \"how to install it\"}",
};

/* ---- without a session ----------------------------------------------------------------------- */

static const char *const search_find_kinds[] = {"code", "doc", NULL};

static const struct op_param search_find_params[] = {
    EXPLORE_PARAM_QUERY,
    {.name = "kind",
     .type = OP_CHOICE,
     .choices = search_find_kinds,
     .doc = "Code, or sections of documents; default code."},
    {.name = "corpus",
     .type = OP_TEXT,
     .min = 1,
     .max = SEARCH_CORPUS_NAME_MAX,
     .doc = "A folder that the configuration names in search.corpora."},
    {.name = "session_id",
     .type = OP_TEXT,
     .min = 1,
     .max = 64,
     .means = OP_MEANS_SESSION,
     .doc = "Or a session, whose files are searched."},
    EXPLORE_PARAM_LIMIT,
    EXPLORE_PARAM_WORDS_ONLY,
    {0},
};

static const struct op_verb search_find_verb = {
    .words = "search",
    .takes = (const char *const[]){"query", NULL},
    .summary = "find code or documents of a session or a corpus by what they say",
    .examples = "cella search 'parse the header' --session-id 0b9c\n"
                "cella search 'how to install it' --kind doc --corpus handbook",
};

const struct op op_search_find = {
    .name = "search.find",
    .method = "POST",
    .path = "/v1/search",
    .subject = OP_ON_CONTEXT,
    .flags = OP_READ_ONLY,
    .params = search_find_params,
    .doc = "Finds code, or sections of documents, in a corpus or in the files of a session.",
    .run = explore_search_run,
    .result = &shape_search,
    .errors = EXPLORE_SEARCH_ERRORS | OP_ERR(INVALID),
    .example = "{\"session_id\": \"$session\", \"query\": \"parse the header\"}",
    .verb = &search_find_verb,
};
