/* A call that waits for a cell's answer: how it is written, as one object or as a stream of events.
 * The operations that run a cell and that ask on for one share it. */
#pragma once

#include "ops/ops.h"
#include "policy/config.h"
#include "session/exec.h"
#include "session/handed.h"
#include "session/spec.h"
#include "wire/json.h"

enum {
    EXEC_YIELD_MAX_MS = 86400 * 1000,
    EXEC_BUDGET_MAX = CONFIG_BUDGET_MAX,
    EXEC_BUDGET_USUAL =
        8 * 1024, /* bytes of output that come whole unless the caller says how much */
    EXEC_PREVIEW_USUAL = 3 * 1024, /* of its first and last lines, if there is more */
    EXEC_CODE_MAX = 1024 * 1024,
    EXEC_TIMEOUT_MAX_MS = 86400 * 1000,
};

#define EXEC_PARAM_CODE                                                                            \
    {                                                                                              \
        .name = "code", .type = OP_TEXT, .is_required = true, .max = EXEC_CODE_MAX,                \
        .doc = "The cell: source code, at most 1 MiB."                                             \
    }
/* The members of a request that say how it wants to wait. */
#define EXEC_PARAM_YIELD                                                                           \
    {                                                                                              \
        .name = "yield_ms", .type = OP_INT, .letter = 'y', .unit = OP_MS, .is_nullable = true,     \
        .max = EXEC_YIELD_MAX_MS,                                                                  \
        .doc = "Answer after this time with what there is so far, also if the cell still runs; "   \
               "without it the answer comes at the end."                                           \
    }
#define EXEC_PARAM_BUDGET                                                                          \
    {                                                                                              \
        .name = "budget", .type = OP_INT, .letter = 'b', .unit = OP_SIZED, .max = EXEC_BUDGET_MAX, \
        .means = OP_MEANS_BUDGET,                                                                  \
        .doc = "How many bytes of output the answer may hold; default: the session's or the "      \
               "agent's budget, else 8 KiB come whole, and of more the first and last lines, 3 "   \
               "KiB; pictures have up to 4 MiB beside that. At most the agent's "                  \
               "max_output_bytes."                                                                 \
    }
#define EXEC_PARAM_DISCONNECT                                                                      \
    {                                                                                              \
        .name = "on_disconnect", .type = OP_CHOICE, .choices = exec_disconnects,                   \
        .doc = "What becomes of the cell if the client goes away before the answer: continue "     \
               "(default; the answer is kept) or cancel. If it is given, a client that closes "    \
               "only its own side counts as gone too."                                             \
    }
#define EXEC_PARAM_TIMEOUT                                                                         \
    {                                                                                              \
        .name = "timeout_ms", .type = OP_INT, .letter = 't', .unit = OP_MS, .min = 1,              \
        .max = EXEC_TIMEOUT_MAX_MS, .means = OP_MEANS_TIMEOUT,                                     \
        .doc = "How long the cell may run before it is interrupted; default: the session's "       \
               "timeout_ms, else the agent's timeout_secs, 30 seconds if nothing else is "         \
               "configured; with yield_ms its max_timeout_secs, a day."                            \
    }
#define EXEC_PARAM_NAMES                                                                           \
    {                                                                                              \
        .name = "names", .type = OP_BOOL, .is_nullable = true,                                     \
        .doc = "true: the answer lists the session's names; false: it says nothing about them; "   \
               "without it, which ones the cell added, changed or removed."                        \
    }
#define EXEC_PARAM_DURABLE                                                                         \
    {                                                                                              \
        .name = "durable", .type = OP_BOOL,                                                        \
        .doc = "The answer comes when what the cell did is safe on disk."                          \
    }
#define EXEC_PARAM_IMAGES                                                                          \
    {                                                                                              \
        .name = "images", .type = OP_CHOICE, .choices = spec_images,                               \
        .doc = "reference (default): the answer says where images are kept, what they are and "    \
               "how large; inline: it has their data, too, within the budget."                     \
    }
#define EXEC_PARAM_HTML                                                                            \
    {                                                                                              \
        .name = "html", .type = OP_BOOL,                                                           \
        .doc = "true: outputs come with their HTML, tables with their types and first rows. "      \
               "Without it an output that has a text is that; the notebook has all of it."         \
    }
#define EXEC_PARAM_FORMAT                                                                          \
    {                                                                                              \
        .name = "format", .type = OP_CHOICE, .choices = exec_formats,                              \
        .doc = "json (default), or text: what a model should read, in the order in which it "      \
               "happened; so does Accept: text/plain."                                             \
    }
#define EXEC_PARAM_FILES                                                                           \
    {                                                                                              \
        .name = "files", .type = OP_BOOL,                                                          \
        .doc = "The answer says which files of /workspace the cell added, changed or removed; it " \
               "waits until they are recorded."                                                    \
    }
#define EXEC_PARAM_STRUCTURED                                                                      \
    {                                                                                              \
        .name = "structured", .type = OP_BOOL, .is_nullable = true,                                \
        .doc = "true: the code is looked at before it runs. If it is nothing but x = tool(...) "   \
               "and tool(...), the daemon makes the calls, those that only read at once, and "     \
               "writes what came of them; default: the session's. Python, in sessions that "       \
               "explore."                                                                          \
    }
/* What follows is of tools for models, too, who are not told of it. */
#define EXEC_PARAM_TOOLS(...)                                                                      \
    {                                                                                              \
        .name = "tools", .type = OP_LIST, .is_nullable = true, .max = HANDED_TOOLS_MAX,            \
        .members = exec_tool_members,                                                              \
        .doc = "Tools that the caller hands in: code calls them as those of the toolbox, the "     \
               "answer is tool_call_required then, and exec.tool_results answers them.",           \
        __VA_ARGS__                                                                                \
    }
#define EXEC_PARAM_TOOL_DEADLINE(...)                                                              \
    {                                                                                              \
        .name = "tool_deadline_ms", .type = OP_INT, .unit = OP_MS, .is_nullable = true, .min = 1,  \
        .max = HANDED_DEADLINE_MAX_MS,                                                             \
        .doc = "How long such a call may wait for its result before the cell is stopped; "         \
               "default: five minutes.",                                                           \
        __VA_ARGS__                                                                                \
    }
#define EXEC_PARAM_RESULTS(...)                                                                    \
    {                                                                                              \
        .name = "results", .type = OP_LIST, .max = HANDED_CALLS_MAX,                               \
        .members = exec_result_members,                                                            \
        .doc = "What became of calls, by their ids: of each a result or an error.", __VA_ARGS__    \
    }
extern const struct op_param exec_tool_members[];
extern const struct op_param exec_result_members[];
extern const char *const exec_disconnects[];
extern const char *const exec_formats[];

/* What the members above say, for session_exec and its relatives: all but the code. */
struct exec_request exec_call_request(struct call *call);
/* How this call waits; for session_exec and its relatives. */
struct exec_wait exec_call_wait(struct call *call);
/* Members for what happened to the session besides: gone back, brought back; none if nothing did.
 */
void exec_call_put_news(struct json_out *json, const struct exec_result *result);
/* Events of a stream. False if a slow client did not take it. */
bool exec_call_send_output(struct call *call, enum output_stream stream, const char *bytes,
                           size_t len);
bool exec_call_send_display(struct call *call, const json_t *output, bool is_update);
/* It waits for this cell, or was answered already (NULL). */
void exec_call_begun(struct call *call, struct exec *exec);
