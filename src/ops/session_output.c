/* session.output: a page of what a cell, or the session, wrote. Daemon; on the loop. */
#include "ops/ops.h"
#include "session/session.h"
#include "wire/json.h"

enum { SESSION_OUTPUT_LIMIT_DEFAULT = 64 * 1024, SESSION_OUTPUT_LIMIT_MAX = 16 * 1024 * 1024 };

static const char *const streams[] = {"stdout", "stderr", NULL};

static const struct op_param session_output_params[] = {
    OP_PARAM_SESSION,
    {.name = "number",
     .type = OP_INT,
     .place = OP_IN_QUERY,
     .min = 1,
     .max = INT64_MAX,
     .doc = "Only what the cell with this number wrote; without it the whole session's output."},
    {.name = "offset",
     .type = OP_INT,
     .place = OP_IN_QUERY,
     .min = 0,
     .max = INT64_MAX,
     .doc = "Where to begin, in bytes; default 0. Go on with the next_offset of the answer."},
    {.name = "limit",
     .type = OP_INT,
     .place = OP_IN_QUERY,
     .min = 1,
     .max = SESSION_OUTPUT_LIMIT_MAX,
     .doc = "Bytes at most; default 65536."},
    {.name = "stream",
     .type = OP_CHOICE,
     .place = OP_IN_QUERY,
     .choices = streams,
     .doc = "Which of the two; default stdout."},
    {0},
};

static void put_page(struct json_out *json, const struct call *call, const struct buf *text,
                     const struct output_range *range)
{
    json_put_object(json);
    json_put_member_str(json, "session_id", call_text(call, "session_id", ""));
    json_put_member_some(json, "number", call_int(call, "number", 0));
    json_put_member_str(json, "stream", call_text(call, "stream", "stdout"));
    json_put_member_text(json, "text", buf_str(text), text->len);
    json_put_member_int(json, "offset", (int64_t)range->offset);
    json_put_member_int(json, "next_offset", (int64_t)range->next_offset);
    json_put_member_int(json, "end", (int64_t)range->end);
    json_put_member_some(json, "dropped", (int64_t)range->dropped);
    json_put_object_end(json);
}

static void session_output_run(struct call *call)
{
    const struct session *session = call_session(call);
    if (session == NULL)
        return;
    uint64_t exec_id = (uint64_t)call_int(call, "number", 0);
    if (exec_id > session->n_execs) {
        struct err e;
        err_set(&e, ERR_NOT_FOUND, "the session has no cell %llu", (unsigned long long)exec_id);
        err_advise(&e, "Its cells are 1 to %llu.", (unsigned long long)session->n_execs);
        call_fail(call, &e);
        return;
    }
    bool is_stderr = strcmp(call_text(call, "stream", "stdout"), "stderr") == 0;
    struct output_range range;
    _buf_ struct buf text = BUF_INIT(SESSION_OUTPUT_LIMIT_MAX);
    output_ring_read(&session->rings[is_stderr ? OUTPUT_STDERR : OUTPUT_STDOUT], exec_id,
                     (uint64_t)call_int(call, "offset", 0),
                     (size_t)call_int(call, "limit", SESSION_OUTPUT_LIMIT_DEFAULT), &text, &range);
    _buf_ struct buf out = BUF_INIT(CALL_REPLY_MAX);
    struct json_out json = JSON_OUT(&out);
    put_page(&json, call, &text, &range);
    call_reply(call, 200, &out);
}

static const struct op_member output_page_members[] = {
    {"session_id", OP_TEXT, .is_always = true, .doc = "The session."},
    {"number", OP_INT, .doc = "The cell; left out: all of them."},
    {"stream", OP_TEXT, .is_always = true, .doc = "stdout or stderr."},
    {"text", OP_TEXT, .is_always = true, .doc = "What was written."},
    {"offset", OP_INT, .is_always = true, .doc = "Where the text begins."},
    {"next_offset", OP_INT, .is_always = true, .doc = "Where the next page begins."},
    {"end", OP_INT, .is_always = true, .doc = "How many bytes were written."},
    {"dropped", OP_INT, .doc = "Bytes that were asked for and are not kept any more."},
    {0},
};
static const struct op_shape shape_output_page = {"output_page", output_page_members,
                                                  "A page of output."};

static const struct op_verb session_output_verb = {
    .words = "output",
    .takes = (const char *const[]){"session_id", NULL},
    .summary = "print what the cells of a session wrote",
    .examples = "cella output 0b9c\n"
                "cella output 0b9c --exec-id 3 --stream stderr",
};

const struct op op_session_output = {
    .name = "session.output",
    .method = "GET",
    .path = "/v1/sessions/{session_id}/output",
    .subject = OP_ON_SESSION,
    .flags = OP_READ_ONLY,
    .params = session_output_params,
    .doc = "Reads what cells wrote, page by page; the oldest bytes may have been dropped.",
    .run = session_output_run,
    .result = &shape_output_page,
    .example = "{\"session_id\": \"$session\"}",
    .verb = &session_output_verb,
};
