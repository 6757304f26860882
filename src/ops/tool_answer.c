/* Answers of tools, in the daemon: texts, pictures, and cells with both. On the loop. */
#include "cell/display.h"
#include "ops/tool_call.h"
#include "session/session.h"
#include "wire/base64.h"
#include "wire/json.h"

enum { PICTURE_REF_SIZE = 160, PICTURE_TYPE_SIZE = 32 };

size_t tool_text_max(const struct call *call)
{
    return call->tool->budget > 0 ? (size_t)call->tool->budget : TOOL_TEXT_MAX;
}

void tool_begin_line(struct buf *out)
{
    if (out->len > 0 && out->data[out->len - 1] != '\n')
        buf_append_char(out, '\n');
}

/* What a model reads first or last, without line ends that nobody needs. */
static void put_text_item(struct json_out *json, const struct call *call, const struct buf *text)
{
    size_t len = text->len;
    const char *made = call->tool->made;
    _buf_ struct buf whole = BUF_INIT(CALL_REPLY_MAX);
    while (len > 0 && text->data[len - 1] == '\n')
        len--;
    buf_append(&whole, buf_str(text), len);
    if (made != NULL)
        buf_printf(&whole, "%s[new %s %s]", len > 0 ? "\n" : "", tool_place(call), made);
    else if (len == 0)
        buf_append_str(&whole, "ok");
    json_put_object(json);
    json_put_member_str(json, "type", "text");
    json_put_member_text(json, "text", buf_str(&whole), whole.len);
    json_put_object_end(json);
}

static void tool_begin(struct json_out *json)
{
    json_put_object(json);
    json_put_key(json, "content");
    json_put_array(json);
}

static void tool_end(struct call *call, struct json_out *json)
{
    json_put_member_true(json, "isError", call->tool->is_error);
    json_put_object_end(json);
    tool_leave(call);
    call_reply(call, 200, json->buf);
}

static void tool_answer_put_image(struct json_out *json, const char *data, size_t len,
                                  const char *type)
{
    json_put_object(json);
    json_put_member_str(json, "type", "image");
    json_put_member_text(json, "data", data, len);
    json_put_member_str(json, "mimeType", type);
    json_put_object_end(json);
}

void tool_reply_text(struct call *call, const struct buf *text)
{
    _buf_ struct buf out = BUF_INIT(CALL_REPLY_MAX);
    struct json_out json = JSON_OUT(&out);
    tool_begin(&json);
    put_text_item(&json, call, text);
    json_put_array_end(&json);
    tool_end(call, &json);
}

void tool_reply_picture(struct call *call, const char *type, const struct buf *bytes)
{
    _buf_ struct buf out = BUF_INIT(CALL_REPLY_MAX), data = BUF_INIT(CALL_REPLY_MAX);
    struct json_out json = JSON_OUT(&out);
    base64_encode(&data, buf_str(bytes), bytes->len);
    tool_begin(&json);
    tool_answer_put_image(&json, buf_str(&data), data.len, type);
    json_put_array_end(&json);
    tool_end(call, &json);
}

int tool_fail(struct call *call, const char *message, const char *advice)
{
    struct err e;
    err_set(&e, ERR_INVALID, "%s", message);
    err_advise(&e, "%s", advice);
    call_fail(call, &e);
    return -1;
}

/* ---- pictures -------------------------------------------------------------------------------- */

/* Its name among resources, made of its address: /v1/notebooks/N/cells/C/images/I. */
static bool picture_ref(const json_t *output, char ref[PICTURE_REF_SIZE])
{
    char notebook[UUID_SIZE], cell[CELL_ID_SIZE];
    unsigned image;
    const char *url = json_string_value(json_object_get(output, "url"));
    if (url == NULL ||
        sscanf(url, "/v1/notebooks/%36[^/]/cells/%64[^/]/images/%u", notebook, cell, &image) != 3)
        return false;
    snprintf(ref, PICTURE_REF_SIZE, "notebook://%s/cell/%s/image/%u", notebook, cell, image);
    return true;
}

static void picture_type(const json_t *output, char type[PICTURE_TYPE_SIZE])
{
    const char *format = json_string_value(json_object_get(output, "format"));
    snprintf(type, PICTURE_TYPE_SIZE, "image/%.16s", format != NULL ? format : "svg+xml");
}

/* A model can look at it, and it fits. */
static bool picture_is_shown(const json_t *output)
{
    const json_t *data = json_object_get(output, "data");
    return json_object_get(output, "format") != NULL && json_is_string(data) &&
           json_string_length(data) <= TOOL_IMAGE_MAX;
}

/* The picture, or where it is. */
static void put_picture(struct json_out *json, const json_t *output)
{
    const json_t *data = json_object_get(output, "data");
    char type[PICTURE_TYPE_SIZE], ref[PICTURE_REF_SIZE];
    picture_type(output, type);
    if (picture_is_shown(output)) {
        tool_answer_put_image(json, json_string_value(data), json_string_length(data), type);
    } else if (picture_ref(output, ref)) {
        json_put_object(json);
        json_put_member_str(json, "type", "resource_link");
        json_put_member_str(json, "uri", ref);
        json_put_member_str(json, "name", strrchr(ref, '/') + 1);
        json_put_member_str(json, "mimeType", type);
        json_put_object_end(json);
    }
}

/* An answer while the first picture that is too large for it is made smaller: the picture comes
 * before the link to all of it. In the call's arena. */
struct tool_answer {
    const char *head, *tail;                             /* of the JSON */
    char uri[PICTURE_REF_SIZE], type[PICTURE_TYPE_SIZE]; /* of the picture; "": there is none */
    int side;                                            /* pixels */
};

static void put_pictures(struct json_out *json, const struct exec_result *result,
                         struct tool_answer *large, size_t *ret_at)
{
    for (size_t i = 0; i <= result->n_outputs; i++) {
        const json_t *output =
            i < result->n_outputs ? result->outputs[i].output : result->value.output;
        if (output == NULL || !display_is_picture(output))
            continue;
        bool is_first = large->uri[0] == '\0' && json_object_get(output, "format") != NULL;
        if (is_first && !picture_is_shown(output) && picture_ref(output, large->uri)) {
            picture_type(output, large->type);
            *ret_at = json->buf->len;
        }
        put_picture(json, output);
    }
}

static void kept_send(struct call *call, const char *data, size_t len)
{
    const struct tool_answer *kept = call->tool->kept;
    _buf_ struct buf out = BUF_INIT(CALL_REPLY_MAX);
    buf_append_str(&out, kept->head);
    if (data != NULL) {
        struct json_out json = {.buf = &out, .needs_comma = true};
        tool_answer_put_image(&json, data, len, kept->type);
    }
    buf_append_str(&out, kept->tail);
    tool_leave(call);
    call_reply(call, 200, &out);
}

void tool_reply_kept(struct call *call)
{
    kept_send(call, NULL, 0);
}

static void kept_scale(struct call *call);

static void tool_answer_on_scaled(struct call *call, const json_t *answer)
{
    struct tool_answer *kept = call->tool->kept;
    const json_t *data = json_object_get(answer, "data");
    size_t len = json_string_length(data);
    if (len <= TOOL_IMAGE_MAX) {
        kept_send(call, json_string_value(data), len);
    } else if (kept->side > TOOL_IMAGE_SIDE / 2) {
        kept->side = TOOL_IMAGE_SIDE / 2;
        kept_scale(call);
    } else {
        kept_send(call, NULL, 0);
    }
}

/* What cannot be scaled leads to sink_fail, and the answer is sent without it. */
static void kept_scale(struct call *call)
{
    const struct tool_answer *kept = call->tool->kept;
    char id[UUID_SIZE];
    snprintf(id, sizeof(id), "%s", kept->uri + strlen("notebook://"));
    tool_become(call, &op_notebook_reference,
                json_pack("{s:s, s:s, s:b, s:i, s:i}", "session_id", id, "uri", kept->uri, "data",
                          1, "width", kept->side, "height", kept->side),
                tool_answer_on_scaled);
}

/* ---- cells ----------------------------------------------------------------------------------- */

/* For the surface, which may ask on by itself. */
static void put_pending(struct json_out *json, const struct call *call,
                        const struct exec_result *result)
{
    struct err ignored;
    const char *id = call_text(call, "session_id", call_text(call, "session", ""));
    const struct session *session = session_find(call->engine, id, &ignored);
    bool is_input = result->status == CELL_INPUT;
    bool is_tools = result->status == CELL_TOOLS;
    if (session == NULL || (!is_input && !is_tools && result->status != CELL_RUNNING))
        return;
    json_put_key(json, "pending");
    json_put_object(json);
    json_put_member_str(json, "session", session->name != NULL ? session->name : session->id);
    json_put_member_int(json, "exec_id", (int64_t)result->exec_id);
    json_put_member_str(json, "kind", is_input ? "input" : is_tools ? "tools" : "running");
    if (is_input && result->question != NULL) {
        json_put_member_text(json, "prompt", result->question->prompt, result->question->len);
        json_put_member_true(json, "is_password", result->question->is_password);
    }
    if (is_tools) {
        json_put_key(json, "tool_calls");
        json_put_value(json, result->tool_calls);
    }
    json_put_object_end(json);
}

void tool_reply_cell(struct call *call, const struct exec_result *result)
{
    struct tool_call *tool = call->tool;
    struct exec_reader reader = {.session = tool->session};
    _buf_ struct buf text = BUF_INIT(CALL_REPLY_MAX), out = BUF_INIT(CALL_REPLY_MAX);
    struct json_out json = JSON_OUT(&out);
    exec_text_put(&text, result, &reader);
    if (result->cell != NULL && strcmp(tool_place(call), "notebook") == 0) {
        tool_begin_line(&text);
        buf_printf(&text, "[cell=%llu]", (unsigned long long)result->cell_number);
    }
    tool_begin(&json);
    put_text_item(&json, call, &text);
    struct tool_answer *large = arena_alloc(&call->arena, sizeof(*large));
    size_t at = 0;
    put_pictures(&json, result, large, &at);
    json_put_array_end(&json);
    put_pending(&json, call, result);
    json_put_member_true(&json, "isError", result->error != NULL);
    json_put_object_end(&json);
    if (large->uri[0] == '\0' || call->boxes == NULL) {
        tool_leave(call);
        call_reply(call, 200, &out);
        return;
    }
    large->head = arena_copy(&call->arena, buf_str(&out), at);
    large->tail = arena_copy(&call->arena, buf_str(&out) + at, out.len - at);
    large->side = TOOL_IMAGE_SIDE;
    tool->kept = large;
    kept_scale(call);
}

static const struct op_member content_members[] = {
    {"type", OP_TEXT, .is_always = true, .doc = "text, image or resource_link."},
    {"text", OP_TEXT, .doc = "What a model reads."},
    {"data", OP_TEXT, .doc = "An image, as base64."},
    {"mimeType", OP_TEXT, .doc = "What an image or a resource is."},
    {"uri", OP_TEXT, .doc = "Of a resource."},
    {"name", OP_TEXT, .doc = "Of a resource."},
    {0},
};
static const struct op_shape shape_content = {"tool_content", content_members,
                                              "A piece of a tool's answer, as MCP has it."};

static const struct op_member pending_members[] = {
    {"session", OP_TEXT, .is_always = true, .doc = "The session, by its name if it has one."},
    {"exec_id", OP_INT, .is_always = true, .doc = "The cell's number."},
    {"kind", OP_TEXT, .is_always = true, .doc = "running, input or tools."},
    {"prompt", OP_TEXT, .doc = "What the cell asks."},
    {"is_password", OP_BOOL, .doc = "Whether what is typed should not be seen."},
    {"tool_calls", OP_LIST, .shape = &shape_tool_call, .doc = "The calls that wait for results."},
    {0},
};
static const struct op_shape shape_pending = {"tool_pending", pending_members,
                                              "A cell that goes on."};

static const struct op_member tool_result_members[] = {
    {"content", OP_LIST, .is_always = true, .shape = &shape_content, .doc = "The answer."},
    {"isError", OP_BOOL, .doc = "The code failed."},
    {"pending", OP_OBJECT, .shape = &shape_pending, .doc = "What still runs or waits."},
    {0},
};
const struct op_shape shape_tool_result = {"tool_result", tool_result_members,
                                           "What a tool answers, as MCP has it."};
