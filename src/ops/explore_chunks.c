/* explore.chunks: a text in pieces. Daemon; on the loop; the text is divided in the session's box.
 */
#include "ops/explore_call.h"
#include "session/session.h"
#include "wire/json.h"

static const struct op_param explore_chunks_params[] = {
    OP_PARAM_SESSION,
    {.name = "n_chunks",
     .type = OP_INT,
     .min = 1,
     .max = CHUNKS_MAX,
     .doc = "How many; default 4."},
    {.name = "overlap",
     .type = OP_INT,
     .max = CHUNKS_OVERLAP_MAX,
     .doc = "How many characters two of them share; default 200."},
    {.name = "text", .type = OP_BOOL, .doc = "Each with its text, as far as an answer holds it."},
    OP_PARAM_CONTEXT,
    OP_PARAM_TEXT_FILE,
    OP_PARAM_QUIET,
    {0},
};

static void explore_chunks_on_done(void *context, json_t *result)
{
    struct call *call = context;
    struct session *session = explore_call_session(call);
    if (session == NULL)
        return;
    _buf_ struct buf query = BUF_INIT(KIB * 8), found = BUF_INIT(KIB);
    buf_printf(&query, "n_chunks=%lld, overlap=%lld%s",
               (long long)call_int(call, "n_chunks", CHUNKS_DEFAULT),
               (long long)call_int(call, "overlap", CHUNKS_OVERLAP), explore_call_place(call));
    buf_printf(&found, "%zu chunks", json_array_size(json_object_get(result, "chunks")));
    explore_call_note(call, session, "chunk_context", buf_str(&query), buf_str(&found), found.len);
    explore_call_reply(call, 200, json_incref(result));
}

static const struct explore_listener explore_chunks_listener = {.on_done = explore_chunks_on_done,
                                                                .on_failed = explore_call_failed};

static void explore_chunks_run(struct call *call)
{
    explore_call_ask(call,
                     json_pack("{s:s, s:I, s:I, s:b}", "op", "chunk", "n_chunks",
                               (json_int_t)call_int(call, "n_chunks", CHUNKS_DEFAULT), "overlap",
                               (json_int_t)call_int(call, "overlap", CHUNKS_OVERLAP), "has_text",
                               call_bool(call, "text", false)),
                     &explore_chunks_listener);
}

static const struct op_member explore_chunk_members[] = {
    {"index", OP_INT, .is_always = true, .doc = "Which one, from 0."},
    {"start", OP_INT, .is_always = true, .doc = "How many characters come before."},
    {"end", OP_INT, .is_always = true, .doc = "Where it ends, likewise."},
    {"text", OP_TEXT, .doc = "The piece, if it was asked for."},
    {"is_cut", OP_BOOL, .doc = "Only its beginning: an answer holds a megabyte in all."},
    {"char_count", OP_INT, .is_always = true, .doc = "How many characters it has."},
    {0},
};
static const struct op_shape shape_chunk = {
    "chunk", explore_chunk_members,
    "A piece of a text: explore.peek shows any of it, however long it is."};
static const struct op_member explore_chunks_members[] = {
    {"chunks", OP_LIST, .is_always = true, .shape = &shape_chunk, .doc = "The pieces, in order."},
    {0},
};
static const struct op_shape shape_chunks = {"chunks", explore_chunks_members,
                                             "A text in pieces of about the same size."};

const struct op op_explore_chunks = {
    .name = "explore.chunks",
    .method = "POST",
    .path = "/v1/sessions/{session_id}/explore/chunks",
    .subject = OP_ON_CONTEXT,
    .flags = OP_READ_ONLY | OP_FROM_CODE,
    .params = explore_chunks_params,
    .doc = "Divides a context, or a file of the workspace, into pieces of about the same size.",
    .run = explore_chunks_run,
    .result = &shape_chunks,
    .errors = OP_ERR(CONFLICT) | OP_ERR(GONE) | OP_ERR(LIMIT) | OP_ERR(TIMEOUT) | OP_ERR(TOO_LARGE),
    .example = "{\"session_id\": \"$explored\", \"n_chunks\": 2}",
};
