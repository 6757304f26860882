/* What a newcomer asks for first: the index of the API, and its description for programs. Both are
 * the same for everybody, and need no key. Daemon; on the loop. */
#include "ops/describe.h"
#include "ops/ops.h"
#include "wire/json.h"

static const struct op_param api_index_params[] = {{0}};

static void run_index(struct call *call)
{
    _buf_ struct buf out = BUF_INIT(CALL_REPLY_MAX);
    struct json_out json = JSON_OUT(&out);
    json_put_object(&json);
    json_put_member_str(&json, "name", "cella");
    json_put_member_str(&json, "version", CELLA_VERSION);
    json_put_member_str(&json, "about",
                        "Live, sandboxed Python, Node.js and bash that keep their state. Make a "
                        "session with POST /v1/sessions, run a cell with POST "
                        "/v1/sessions/{session_id}/exec. Send Authorization: Bearer KEY.");
    json_put_member_str(&json, "openapi", "/openapi.json");
    json_put_key(&json, "operations");
    json_put_array(&json);
    for (const struct op *const *op = op_table; *op != NULL; op++) {
        json_put_object(&json);
        json_put_member_str(&json, "name", (*op)->name);
        json_put_member_str(&json, "method", (*op)->method);
        json_put_member_str(&json, "path", (*op)->path);
        json_put_member_str(&json, "doc", (*op)->doc);
        json_put_object_end(&json);
    }
    json_put_array_end(&json);
    json_put_object_end(&json);
    call_reply(call, 200, &out);
}

/* For people, who come with a browser or curl -H 'Accept: text/plain'. */
static void run_root(struct call *call)
{
    static const char about[] = "Live, sandboxed Python, Node.js and bash for agents: sessions "
                                "keep their state, go back in "
                                "time and survive a crash.";
    static const char things[] =
        "cella exec 'print(6 * 7)'             run code once\n"
        "cella repl                            work in a session; :undo takes a cell back\n"
        "curl -H \"Authorization: Bearer $KEY\" -d '{}' http://HOST/v1/sessions   make one over "
        "HTTP\n";
    _buf_ struct buf out = BUF_INIT(CALL_REPLY_MAX);
    if (!call->wants_html && !call->wants_text) {
        run_index(call);
        return;
    }
    if (call->wants_html) {
        call->reply_type = "text/html; charset=utf-8";
        buf_printf(
            &out,
            "<!doctype html>\n<html lang=\"en\"><meta charset=\"utf-8\"><title>Cella</title>\n"
            "<h1>Cella %s</h1>\n<p>%s</p>\n<p>Three things to try:</p>\n<pre>%s</pre>\n"
            "<p><a href=\"/v1\">/v1</a> lists the operations, "
            "<a href=\"/openapi.json\">/openapi.json</a> describes them.</p>\n</html>\n",
            CELLA_VERSION, about, things);
    } else {
        call->reply_type = "text/plain; charset=utf-8";
        buf_printf(&out,
                   "Cella %s\n\n%s\n\nThree things to try:\n\n%s\n"
                   "GET /v1 lists the operations, GET /openapi.json describes them.\n",
                   CELLA_VERSION, about, things);
    }
    call_reply(call, 200, &out);
}

static void run_openapi(struct call *call)
{
    _buf_ struct buf out = BUF_INIT(CALL_REPLY_MAX);
    describe_openapi(op_table, &out);
    call_reply(call, 200, &out);
}

static const struct op_member index_entry_members[] = {
    {"name", OP_TEXT, .is_always = true, .column = "NAME", .doc = "Its name."},
    {"method", OP_TEXT, .is_always = true, .column = "METHOD", .doc = "Of HTTP."},
    {"path", OP_TEXT, .is_always = true, .column = "PATH", .doc = "Its path."},
    {"doc", OP_TEXT, .is_always = true, .doc = "What it does."},
    {0},
};
static const struct op_shape shape_index_entry = {"index_entry", index_entry_members,
                                                  "An operation, in short."};

static const struct op_member index_members[] = {
    {"name", OP_TEXT, .is_always = true, .doc = "cella."},
    {"version", OP_TEXT, .is_always = true, .doc = "Of the daemon."},
    {"about", OP_TEXT, .is_always = true, .doc = "How to begin."},
    {"openapi", OP_TEXT, .is_always = true, .doc = "Where the whole description is."},
    {"operations", OP_LIST, .is_always = true, .shape = &shape_index_entry,
     .doc = "What there is."},
    {0},
};
static const struct op_shape shape_index = {"index", index_members, "What there is, in short."};

static const struct op_member openapi_members[] = {
    {"openapi", OP_TEXT, .is_always = true, .doc = "3.1.0."},
    {"info", OP_FREE, .is_always = true, .doc = "Title and version."},
    {"servers", OP_ANY, .is_always = true, .doc = "This one."},
    {"security", OP_ANY, .is_always = true, .doc = "A key."},
    {"paths", OP_FREE, .is_always = true, .doc = "The operations."},
    {"components", OP_FREE, .is_always = true, .doc = "What they share."},
    {0},
};
static const struct op_shape shape_openapi = {"openapi", openapi_members,
                                              "A description of the API as OpenAPI has it."};

#define INDEX_DOC "What there is: every operation with its path, in short."

const struct op op_api_root = {
    .name = "api.root",
    .method = "GET",
    .path = "/",
    .subject = OP_ON_DAEMON,
    .flags = OP_READ_ONLY | OP_PUBLIC,
    .params = api_index_params,
    .doc = INDEX_DOC " A short page for people who accept text/html or text/plain.",
    .run = run_root,
    .result = &shape_index,
    .example = "{}",
};

const struct op op_api_index = {
    .name = "api.index",
    .method = "GET",
    .path = "/v1",
    .subject = OP_ON_DAEMON,
    .flags = OP_READ_ONLY | OP_PUBLIC,
    .params = api_index_params,
    .doc = INDEX_DOC,
    .run = run_index,
    .result = &shape_index,
    .example = "{}",
};

const struct op op_api_openapi = {
    .name = "api.openapi",
    .method = "GET",
    .path = "/openapi.json",
    .subject = OP_ON_DAEMON,
    .flags = OP_READ_ONLY | OP_PUBLIC,
    .params = api_index_params,
    .doc = "The API as OpenAPI 3.1: every operation, parameter and answer.",
    .run = run_openapi,
    .result = &shape_openapi,
    .example = "{}",
};
