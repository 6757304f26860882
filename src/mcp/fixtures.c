/* Tools, prompts and resources with the names and answers that the conformance suite of the
 * protocol asks for (docs/TESTING.md). They use nothing of the daemon but its MCP server. Daemon
 * with --mcp-fixtures only. */
#include "mcp/fixtures.h"

#include "mcp/ask.h"
#include "mcp/listen.h"
#include "mcp/tasks.h"

#include <string.h>

#define JSON_TEXT(...) #__VA_ARGS__

#define PNG                                                                                        \
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJg" \
    "gg=="
#define WAV "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YQAAAAA="

/* ---- what is listed -------------------------------------------------------------------------- */

#define PLAIN_SCHEMA "{\"type\":\"object\",\"properties\":{}}"

static const char fixtures_schema_2020[] = JSON_TEXT({
    "$schema" : "https://json-schema.org/draft/2020-12/schema",
    "type" : "object",
    "$defs" : {
        "address" : {
            "$anchor" : "addressDef",
            "type" : "object",
            "properties" : {"street" : {"type" : "string"}, "city" : {"type" : "string"}}
        }
    },
    "properties" : {
        "name" : {"type" : "string"},
        "address" : {"$ref" : "#/$defs/address"},
        "contactMethod" : {"type" : "string", "enum" : [ "phone", "email" ]},
        "phone" : {"type" : "string"},
        "email" : {"type" : "string"}
    },
    "allOf" : [ {"anyOf" : [ {"required" : ["phone"]}, {"required" : ["email"]} ]} ],
    "if" : {"properties" : {"contactMethod" : {"const" : "phone"}}, "required" : ["contactMethod"]},
    "then" : {"required" : ["phone"]},
    "else" : {"required" : ["email"]},
    "additionalProperties" : false
});

static const char fixtures_prompts[] = JSON_TEXT([
    {"name" : "test_simple_prompt", "description" : "A prompt without arguments"}, {
        "name" : "test_prompt_with_arguments",
        "description" : "A prompt with two arguments",
        "arguments" : [
            {"name" : "arg1", "description" : "First test argument", "required" : true},
            {"name" : "arg2", "description" : "Second test argument", "required" : true}
        ]
    },
    {
        "name" : "test_prompt_with_embedded_resource",
        "description" : "A prompt with a resource in it",
        "arguments" :
            [ {"name" : "resourceUri", "description" : "The resource to embed", "required" : true} ]
    },
    {"name" : "test_prompt_with_image", "description" : "A prompt with an image in it"},
    {"name" : "test_input_required_result_prompt", "description" : "A prompt that asks first"}
]);

static const char fixtures_resources[] = JSON_TEXT([
    {
        "uri" : "test://static-text",
        "name" : "static-text",
        "description" : "A text",
        "mimeType" : "text/plain"
    },
    {
        "uri" : "test://static-binary",
        "name" : "static-binary",
        "description" : "An image",
        "mimeType" : "image/png"
    },
    {
        "uri" : "test://watched-resource",
        "name" : "watched-resource",
        "description" : "A text that can be watched",
        "mimeType" : "text/plain"
    }
]);

static const char fixtures_templates[] = JSON_TEXT([ {
    "uriTemplate" : "test://template/{id}/data",
    "name" : "template",
    "description" : "A resource with a parameter",
    "mimeType" : "application/json"
} ]);

/* ---- answers --------------------------------------------------------------------------------- */

static void fixture_reply_text(struct mcp_request *rq, const char *text)
{
    request_reply_json(rq, json_pack("{s:[{s:s,s:s}]}", "content", "type", "text", "text", text));
}

static void fixture_reply_error(struct mcp_request *rq, const char *text)
{
    request_reply_json(rq, json_pack("{s:[{s:s,s:s}],s:b}", "content", "type", "text", "text", text,
                                     "isError", 1));
}

static void fixture_reply_raw(struct mcp_request *rq, const char *json)
{
    request_reply_json(rq, json_loads(json, 0, NULL));
}

/* An elicitation with this schema. */
static json_t *fixture_question(const char *message, const char *schema)
{
    return json_pack("{s:s,s:{s:s,s:o}}", "method", "elicitation/create", "params", "message",
                     message, "requestedSchema", json_loads(schema, 0, NULL));
}

#define SCHEMA_OF(member, type)                                                                    \
    "{\"type\":\"object\",\"properties\":{\"" member "\":{\"type\":\"" type                        \
    "\"}},\"required\":[\"" member "\"]}"

static json_t *fixture_sampling(const char *text, int tokens)
{
    return json_pack("{s:s,s:{s:[{s:s,s:{s:s,s:s}}],s:i}}", "method", "sampling/createMessage",
                     "params", "messages", "role", "user", "content", "type", "text", "text", text,
                     "maxTokens", tokens);
}

static json_t *fixture_roots(void)
{
    return json_pack("{s:s,s:{}}", "method", "roots/list", "params");
}

/* A member of what the client answered to a question. */
static const char *fixture_answer(const json_t *answers, const char *key, const char *member)
{
    return rpc_text(json_object_get(json_object_get(answers, key), "content"), member);
}

static const json_t *fixture_arguments(const struct mcp_request *rq)
{
    return json_object_get(rq->params, "arguments");
}

/* ---- answers that are always the same -------------------------------------------------------- */

#define SAY(text) "{\"content\":[{\"type\":\"text\",\"text\":\"" text "\"}]}"
#define FAIL(text) "{\"content\":[{\"type\":\"text\",\"text\":\"" text "\"}],\"isError\":true}"
#define SHOW(type, data, mime)                                                                     \
    "{\"content\":[{\"type\":\"" type "\",\"data\":\"" data "\",\"mimeType\":\"" mime "\"}]}"

static const char fixture_embedded[] =
    "{\"content\":[{\"type\":\"resource\",\"resource\":{"
    "\"uri\":\"test://embedded-resource\",\"mimeType\":\"text/plain\","
    "\"text\":\"This is an embedded resource content.\"}}]}";

static const char fixture_mixed[] =
    "{\"content\":[{\"type\":\"text\",\"text\":\"Multiple content types test:\"},"
    "{\"type\":\"image\",\"data\":\"" PNG "\",\"mimeType\":\"image/png\"},"
    "{\"type\":\"resource\",\"resource\":{\"uri\":\"test://mixed-content-resource\","
    "\"mimeType\":\"application/json\","
    "\"text\":\"{\\\"test\\\":\\\"data\\\",\\\"value\\\":123}\"}}]}";

/* ---- tools that do something ----------------------------------------------------------------- */

static void fx_logging(struct mcp_request *rq)
{
    static const char *const words[] = {"Tool execution started", "Tool processing data",
                                        "Tool execution completed"};
    request_log(rq, MCP_INFO, words[rq->step]);
    if (++rq->step < (int)ARRAY_LEN(words))
        request_after(rq, 50, fx_logging);
    else
        fixture_reply_text(rq, "Tool with logging executed successfully");
}

static void fx_progress(struct mcp_request *rq)
{
    request_progress(rq, 50.0 * rq->step, 100, NULL);
    if (++rq->step < 3)
        request_after(rq, 50, fx_progress);
    else
        fixture_reply_text(rq, "Tool with progress executed successfully");
}

static void fx_reconnection_end(struct mcp_request *rq)
{
    fixture_reply_text(rq, "Reconnection test completed");
}

static void fx_reconnection(struct mcp_request *rq)
{
    request_open_stream(rq);
    if (rq->stream != NULL)
        stream_pause(rq->stream);
    request_after(rq, 100, fx_reconnection_end);
}

static void fx_missing_capability(struct mcp_request *rq)
{
    if (rq->caps.samples)
        fixture_reply_text(rq, "The client can sample");
    else
        request_fail_with(rq, RPC_MISSING_CAPABILITY,
                          json_pack("{s:{s:{}}}", "requiredCapabilities", "sampling"),
                          "this tool needs a client that can sample");
}

static void fx_logging_tool(struct mcp_request *rq)
{
    request_log(rq, MCP_INFO, "a message");
    fixture_reply_text(rq, "Logged, if that was wanted");
}

static void fx_tool_change(struct mcp_request *rq)
{
    listen_tell_list(rq->mcp, "tools");
    fixture_reply_text(rq, "The list of tools has changed");
}

static void fx_prompt_change(struct mcp_request *rq)
{
    listen_tell_list(rq->mcp, "prompts");
    fixture_reply_text(rq, "The list of prompts has changed");
}

static void fx_greet(struct mcp_request *rq)
{
    const char *name = rpc_text(fixture_arguments(rq), "name");
    _buf_ struct buf text = BUF_INIT(KIB);
    buf_printf(&text, "Hello, %.200s!", name != NULL ? name : "World");
    fixture_reply_text(rq, buf_str(&text));
}

/* ---- questions of the older era -------------------------------------------------------------- */

static void fx_on_sampled(struct mcp_request *rq, const json_t *answers)
{
    const json_t *answer = json_object_get(answers, "sample");
    const char *text = rpc_text(json_object_get(answer, "content"), "text");
    _buf_ struct buf out = BUF_INIT(16 * KIB);
    buf_printf(&out, "LLM response: %.8000s", text != NULL ? text : "");
    fixture_reply_text(rq, buf_str(&out));
}

static void fx_sampling(struct mcp_request *rq)
{
    const char *prompt = rpc_text(fixture_arguments(rq), "prompt");
    if (!rq->caps.samples)
        fixture_reply_error(rq, "The client cannot sample");
    else
        ask(rq, json_pack("{s:o}", "sample", fixture_sampling(prompt != NULL ? prompt : "", 100)),
            NULL, fx_on_sampled);
}

static void fx_on_elicited(struct mcp_request *rq, const json_t *answers)
{
    const json_t *answer = json_object_get(answers, "form");
    const char *action = rpc_text(answer, "action");
    const json_t *content = json_object_get(answer, "content");
    char *dumped = content != NULL ? json_dumps(content, JSON_COMPACT) : NULL;
    _buf_ struct buf out = BUF_INIT(16 * KIB);
    buf_printf(&out, "Elicitation completed: action=%.20s, content=%.8000s",
               action != NULL ? action : "none", dumped != NULL ? dumped : "{}");
    free(dumped);
    fixture_reply_text(rq, buf_str(&out));
}

static void fixture_elicit(struct mcp_request *rq, const char *message, const char *schema)
{
    if (!rq->caps.elicits)
        fixture_reply_error(rq, "The client cannot elicit");
    else
        ask(rq, json_pack("{s:o}", "form", fixture_question(message, schema)), NULL,
            fx_on_elicited);
}

static void fx_elicitation(struct mcp_request *rq)
{
    const char *message = rpc_text(fixture_arguments(rq), "message");
    fixture_elicit(rq, message != NULL ? message : "", JSON_TEXT({
                       "type" : "object",
                       "properties" : {
                           "username" : {"type" : "string", "description" : "User's response"},
                           "email" : {"type" : "string", "description" : "User's email address"}
                       },
                       "required" : [ "username", "email" ]
                   }));
}

static void fx_defaults(struct mcp_request *rq)
{
    fixture_elicit(rq, "Please review the defaults", JSON_TEXT({
                       "type" : "object",
                       "properties" : {
                           "name" : {"type" : "string", "default" : "John Doe"},
                           "age" : {"type" : "integer", "default" : 30},
                           "score" : {"type" : "number", "default" : 95.5},
                           "status" : {
                               "type" : "string",
                               "enum" : [ "active", "inactive", "pending" ],
                               "default" : "active"
                           },
                           "verified" : {"type" : "boolean", "default" : true}
                       },
                       "required" : []
                   }));
}

static void fx_enums(struct mcp_request *rq)
{
    fixture_elicit(
        rq, "Please choose", JSON_TEXT({
            "type" : "object",
            "properties" : {
                "untitledSingle" :
                    {"type" : "string", "enum" : [ "option1", "option2", "option3" ]},
                "titledSingle" : {
                    "type" : "string",
                    "oneOf" : [
                        {"const" : "value1", "title" : "First Option"},
                        {"const" : "value2", "title" : "Second Option"},
                        {"const" : "value3", "title" : "Third Option"}
                    ]
                },
                "legacyEnum" : {
                    "type" : "string",
                    "enum" : [ "opt1", "opt2", "opt3" ],
                    "enumNames" : [ "Option One", "Option Two", "Option Three" ]
                },
                "untitledMulti" : {
                    "type" : "array",
                    "items" : {"type" : "string", "enum" : [ "option1", "option2", "option3" ]}
                },
                "titledMulti" : {
                    "type" : "array",
                    "items" : {
                        "anyOf" : [
                            {"const" : "value1", "title" : "First Choice"},
                            {"const" : "value2", "title" : "Second Choice"},
                            {"const" : "value3", "title" : "Third Choice"}
                        ]
                    }
                }
            },
            "required" : []
        }));
}

/* ---- questions of the modern era ------------------------------------------------------------- */

/* A question with one member; the answer makes the text. */
static void fixture_round(struct mcp_request *rq, const char *key, json_t *question,
                          const char *state,
                          bool (*reply)(struct mcp_request *rq, const json_t *answers))
{
    json_t *carried, *sent = state != NULL ? json_string(state) : NULL;
    const json_t *answers;
    if (ask_resume(rq, &carried, &answers)) {
        bool is_whole = json_object_get(answers, key) != NULL && (state == NULL || carried != NULL);
        if (!is_whole || !reply(rq, answers))
            ask(rq, json_pack("{s:O}", key, question), sent, NULL);
        json_decref(carried);
    }
    json_decref(question);
    json_decref(sent);
}

static bool fx_say_hello(struct mcp_request *rq, const json_t *answers)
{
    const char *name = fixture_answer(answers, "user_name", "name");
    _buf_ struct buf text = BUF_INIT(KIB);
    buf_printf(&text, "Hello, %.200s!", name != NULL ? name : "");
    if (name != NULL)
        fixture_reply_text(rq, buf_str(&text));
    return name != NULL;
}

static void fx_mrtr_elicitation(struct mcp_request *rq)
{
    fixture_round(rq, "user_name",
                  fixture_question("What is your name?", SCHEMA_OF("name", "string")), NULL,
                  fx_say_hello);
}

static void fx_streaming_elicitation(struct mcp_request *rq)
{
    request_open_stream(rq);
    fx_mrtr_elicitation(rq);
}

static bool fx_say_sampled(struct mcp_request *rq, const json_t *answers)
{
    const json_t *answer = json_object_get(answers, "capital_question");
    const char *text = rpc_text(json_object_get(answer, "content"), "text");
    if (text != NULL)
        fixture_reply_text(rq, text);
    return text != NULL;
}

static void fx_mrtr_sampling(struct mcp_request *rq)
{
    fixture_round(rq, "capital_question", fixture_sampling("What is the capital of France?", 100),
                  NULL, fx_say_sampled);
}

static bool fx_say_roots(struct mcp_request *rq, const json_t *answers)
{
    const json_t *roots = json_object_get(json_object_get(answers, "client_roots"), "roots");
    const char *uri = rpc_text(json_array_get(roots, 0), "uri");
    if (!json_is_array(roots))
        return false;
    fixture_reply_text(rq, uri != NULL ? uri : "no roots");
    return true;
}

static void fx_mrtr_roots(struct mcp_request *rq)
{
    fixture_round(rq, "client_roots", fixture_roots(), NULL, fx_say_roots);
}

static bool fx_say_state(struct mcp_request *rq, const json_t *answers)
{
    (void)answers;
    fixture_reply_text(rq, "state-ok");
    return true;
}

static void fx_mrtr_state(struct mcp_request *rq)
{
    fixture_round(rq, "confirm", fixture_question("Please confirm", SCHEMA_OF("ok", "boolean")),
                  "state", fx_say_state);
}

static void fx_mrtr_multiple(struct mcp_request *rq)
{
    json_t *carried, *state = json_string("multiple");
    const json_t *answers;
    if (ask_resume(rq, &carried, &answers)) {
        bool is_whole = carried != NULL && json_object_get(answers, "user_name") != NULL &&
                        json_object_get(answers, "greeting") != NULL &&
                        json_object_get(answers, "client_roots") != NULL;
        if (is_whole)
            fixture_reply_text(rq, "All answers have come");
        else
            ask(rq,
                json_pack("{s:o,s:o,s:o}", "user_name",
                          fixture_question("What is your name?", SCHEMA_OF("name", "string")),
                          "greeting", fixture_sampling("Generate a greeting", 50), "client_roots",
                          fixture_roots()),
                state, NULL);
        json_decref(carried);
    }
    json_decref(state);
}

static void fx_mrtr_rounds(struct mcp_request *rq)
{
    json_t *carried;
    const json_t *answers;
    if (!ask_resume(rq, &carried, &answers))
        return;
    json_int_t round = json_integer_value(json_object_get(carried, "round"));
    bool has_first = json_object_get(answers, "step1") != NULL;
    bool has_second = json_object_get(answers, "step2") != NULL;
    json_t *state = json_pack("{s:i}", "round", round >= 1 && has_first ? 2 : 1);
    if (round == 2 && has_second)
        fixture_reply_text(rq, "All rounds are over");
    else if (round >= 1 && has_first)
        ask(rq,
            json_pack("{s:o}", "step2",
                      fixture_question("Step 2: What is your favorite color?",
                                       SCHEMA_OF("color", "string"))),
            state, NULL);
    else
        ask(rq,
            json_pack("{s:o}", "step1",
                      fixture_question("Step 1: What is your name?", SCHEMA_OF("name", "string"))),
            state, NULL);
    json_decref(state);
    json_decref(carried);
}

static void fx_mrtr_capabilities(struct mcp_request *rq)
{
    json_t *questions = json_object();
    if (rq->caps.samples)
        json_object_set_new(questions, "sample", fixture_sampling("Say something", 50));
    if (rq->caps.elicits)
        json_object_set_new(questions, "form",
                            fixture_question("Say something", SCHEMA_OF("text", "string")));
    if (json_object_size(questions) > 0) {
        ask(rq, questions, NULL, NULL);
    } else {
        json_decref(questions);
        fixture_reply_text(rq, "The client can answer nothing");
    }
}

/* ---- tasks ----------------------------------------------------------------------------------- */

static void fx_slow_end(struct mcp_request *rq)
{
    fixture_reply_text(rq, "Computed");
}

static void fx_slow(struct mcp_request *rq)
{
    json_int_t seconds = json_integer_value(json_object_get(fixture_arguments(rq), "seconds"));
    if (seconds <= 0) {
        fx_slow_end(rq);
        return;
    }
    if (rq->caps.has_tasks)
        mcp_task_begin(rq);
    request_after(rq, (uint64_t)MIN(seconds, 3600) * 1000, fx_slow_end);
}

static void fx_failing_end(struct mcp_request *rq)
{
    fixture_reply_error(rq, "The job failed");
}

static void fx_failing(struct mcp_request *rq)
{
    if (!rq->caps.has_tasks) {
        mcp_task_refuse(rq);
        return;
    }
    mcp_task_begin(rq);
    request_after(rq, 500, fx_failing_end);
}

static void fx_protocol_error_end(struct mcp_request *rq)
{
    request_fail(rq, RPC_INTERNAL_ERROR, "The job broke");
}

static void fx_protocol_error(struct mcp_request *rq)
{
    if (rq->caps.has_tasks)
        mcp_task_begin(rq);
    request_after(rq, 100, fx_protocol_error_end);
}

static void fx_on_confirmed(struct mcp_request *rq, const json_t *answers)
{
    const json_t *content = json_object_get(json_object_get(answers, "confirm"), "content");
    fixture_reply_text(rq, json_is_true(json_object_get(content, "confirm")) ? "Deleted" : "Kept");
}

static void fx_confirm(struct mcp_request *rq)
{
    if (rq->caps.has_tasks)
        mcp_task_begin(rq);
    ask(rq,
        json_pack("{s:o}", "confirm",
                  fixture_question("Delete it?", SCHEMA_OF("confirm", "boolean"))),
        NULL, fx_on_confirmed);
}

static void fx_on_both(struct mcp_request *rq, const json_t *answers)
{
    (void)answers;
    fixture_reply_text(rq, "Both answers have come");
}

static void fx_multi_input(struct mcp_request *rq)
{
    if (rq->caps.has_tasks)
        mcp_task_begin(rq);
    ask(rq,
        json_pack("{s:o,s:o}", "first",
                  fixture_question("First name?", SCHEMA_OF("name", "string")), "second",
                  fixture_question("Second name?", SCHEMA_OF("name", "string"))),
        NULL, fx_on_both);
}

static void fx_with_task_end(struct mcp_request *rq)
{
    fx_say_hello(rq, rq->memory);
}

static bool fx_with_task_go_on(struct mcp_request *rq, const json_t *answers)
{
    if (fixture_answer(answers, "user_name", "name") == NULL)
        return false;
    rq->memory = json_deep_copy(answers);
    mcp_task_begin(rq);
    request_after(rq, 100, fx_with_task_end);
    return true;
}

static void fx_with_task(struct mcp_request *rq)
{
    if (!rq->caps.has_tasks) {
        mcp_task_refuse(rq);
        return;
    }
    fixture_round(rq, "user_name",
                  fixture_question("What is your name?", SCHEMA_OF("name", "string")), NULL,
                  fx_with_task_go_on);
}

/* ---- the table ------------------------------------------------------------------------------- */

#define ONE_ARGUMENT(name, type)                                                                   \
    "{\"type\":\"object\",\"properties\":{\"" name "\":{\"type\":\"" type "\"}}}"

static const struct fixture {
    const char *name;
    const char *doc;
    const char *schema; /* NULL if it takes no arguments */
    request_fn run;     /* NULL if the tool always answers the same: */
    const char *answer; /* JSON; NULL if `run` answers */
} fixture_tools[] = {
    {"test_simple_text", "Answers with a text", NULL,
     .answer = SAY("This is a simple text response for testing.")},
    {"test_image_content", "Answers with an image", NULL,
     .answer = SHOW("image", PNG, "image/png")},
    {"test_audio_content", "Answers with a sound", NULL, .answer = SHOW("audio", WAV, "audio/wav")},
    {"test_embedded_resource", "Answers with a resource", NULL, .answer = fixture_embedded},
    {"test_multiple_content_types", "Answers with several things", NULL, .answer = fixture_mixed},
    {"test_tool_with_logging", "Logs while it works", NULL, .run = fx_logging},
    {"test_tool_with_progress", "Tells its progress", NULL, .run = fx_progress},
    {"test_error_handling", "Fails", NULL,
     .answer = FAIL("This tool intentionally returns an error for testing")},
    {"test_sampling", "Samples", ONE_ARGUMENT("prompt", "string"), .run = fx_sampling},
    {"test_elicitation", "Elicits", ONE_ARGUMENT("message", "string"), .run = fx_elicitation},
    {"test_elicitation_sep1034_defaults", "Elicits with defaults", NULL, .run = fx_defaults},
    {"test_elicitation_sep1330_enums", "Elicits choices", NULL, .run = fx_enums},
    {"json_schema_2020_12_tool", "Tool with JSON Schema 2020-12 features", fixtures_schema_2020,
     .answer = SAY("ok")},
    {"test_reconnection", "Closes its stream and answers later", NULL, .run = fx_reconnection},
    {"test_missing_capability", "Needs sampling", NULL, .run = fx_missing_capability},
    {"test_streaming_elicitation", "Elicits on a stream", NULL, .run = fx_streaming_elicitation},
    {"test_logging_tool", "Logs if that is wanted", NULL, .run = fx_logging_tool},
    {"test_trigger_tool_change", "Tells that the tools have changed", NULL, .run = fx_tool_change},
    {"test_trigger_prompt_change", "Tells that the prompts have changed", NULL,
     .run = fx_prompt_change},
    {"test_header_argument", "Has an argument that a header repeats",
     "{\"type\":\"object\",\"properties\":{\"region\":{\"type\":\"string\",\"x-mcp-header\":"
     "\"Region\"}}}",
     .answer = SAY("ok")},
    {"test_input_required_result_elicitation", "Asks for a name", NULL, .run = fx_mrtr_elicitation},
    {"test_input_required_result_sampling", "Asks for a sample", NULL, .run = fx_mrtr_sampling},
    {"test_input_required_result_list_roots", "Asks for roots", NULL, .run = fx_mrtr_roots},
    {"test_input_required_result_request_state", "Asks with a state", NULL, .run = fx_mrtr_state},
    {"test_input_required_result_multiple_inputs", "Asks for three things", NULL,
     .run = fx_mrtr_multiple},
    {"test_input_required_result_multi_round", "Asks twice", NULL, .run = fx_mrtr_rounds},
    {"test_input_required_result_tampered_state", "Asks with a state", NULL, .run = fx_mrtr_state},
    {"test_input_required_result_capabilities", "Asks what the client can answer", NULL,
     .run = fx_mrtr_capabilities},
    {"greet", "Greets", ONE_ARGUMENT("name", "string"), .run = fx_greet},
    {"slow_compute", "Takes its time", ONE_ARGUMENT("seconds", "integer"), .run = fx_slow},
    {"failing_job", "Fails as a task", NULL, .run = fx_failing},
    {"protocol_error_job", "Breaks as a task", NULL, .run = fx_protocol_error},
    {"confirm_delete", "Asks as a task", ONE_ARGUMENT("filename", "string"), .run = fx_confirm},
    {"multi_input", "Asks for two things as a task", NULL, .run = fx_multi_input},
    {"test_tool_with_task", "Asks, then becomes a task", NULL, .run = fx_with_task},
};

static const struct fixture *fixtures_find(const char *name)
{
    for (size_t i = 0; name != NULL && i < ARRAY_LEN(fixture_tools); i++)
        if (strcmp(fixture_tools[i].name, name) == 0)
            return &fixture_tools[i];
    return NULL;
}

static const char *fixtures_schema_text(const struct fixture *f)
{
    return f->schema != NULL ? f->schema : PLAIN_SCHEMA;
}

static void fixtures_put_each(struct json_out *json, const char *text)
{
    json_t *list = json_loads(text, 0, NULL), *entry;
    size_t i;
    json_array_foreach(list, i, entry)
        json_put_value(json, entry);
    json_decref(list);
}

static void fixtures_list(struct mcp *mcp, const char *what, struct json_out *json)
{
    (void)mcp;
    if (strcmp(what, "prompts") == 0)
        fixtures_put_each(json, fixtures_prompts);
    if (strcmp(what, "resources") == 0)
        fixtures_put_each(json, fixtures_resources);
    if (strcmp(what, "resourceTemplates") == 0)
        fixtures_put_each(json, fixtures_templates);
    for (size_t i = 0; strcmp(what, "tools") == 0 && i < ARRAY_LEN(fixture_tools); i++) {
        const struct fixture *f = &fixture_tools[i];
        const char *schema = fixtures_schema_text(f);
        json_put_object(json);
        json_put_member_str(json, "name", f->name);
        json_put_member_str(json, "description", f->doc);
        json_put_key(json, "inputSchema");
        json_put_raw(json, schema, strlen(schema));
        json_put_object_end(json);
    }
}

static const json_t *fixtures_schema(struct mcp *mcp, const char *tool)
{
    const struct fixture *f = fixtures_find(tool);
    if (f == NULL)
        return NULL;
    if (mcp->fixtures == NULL)
        mcp->fixtures = json_object();
    if (json_object_get(mcp->fixtures, tool) == NULL)
        json_object_set_new(mcp->fixtures, tool, json_loads(fixtures_schema_text(f), 0, NULL));
    return json_object_get(mcp->fixtures, tool);
}

/* ---- prompts and resources ------------------------------------------------------------------- */

static bool fx_say_prompt(struct mcp_request *rq, const json_t *answers)
{
    const char *context = fixture_answer(answers, "user_context", "context");
    if (context == NULL)
        return false;
    request_reply_json(rq, json_pack("{s:[{s:s,s:{s:s,s:s}}]}", "messages", "role", "user",
                                     "content", "type", "text", "text", context));
    return true;
}

static bool fixtures_get_prompt(struct mcp_request *rq, const char *name)
{
    const json_t *args = fixture_arguments(rq);
    const char *arg1 = rpc_text(args, "arg1"), *arg2 = rpc_text(args, "arg2");
    const char *uri = rpc_text(args, "resourceUri");
    _buf_ struct buf text = BUF_INIT(16 * KIB);
    if (strcmp(name, "test_simple_prompt") == 0) {
        fixture_reply_raw(rq, "{\"messages\":[{\"role\":\"user\",\"content\":{\"type\":\"text\","
                              "\"text\":\"This is a simple prompt for testing.\"}}]}");
    } else if (strcmp(name, "test_prompt_with_arguments") == 0) {
        buf_printf(&text, "Prompt with arguments: arg1='%.4000s', arg2='%.4000s'",
                   arg1 != NULL ? arg1 : "", arg2 != NULL ? arg2 : "");
        request_reply_json(rq, json_pack("{s:[{s:s,s:{s:s,s:s}}]}", "messages", "role", "user",
                                         "content", "type", "text", "text", buf_str(&text)));
    } else if (strcmp(name, "test_prompt_with_embedded_resource") == 0) {
        request_reply_json(
            rq, json_pack("{s:[{s:s,s:{s:s,s:{s:s,s:s,s:s}}},{s:s,s:{s:s,s:s}}]}", "messages",
                          "role", "user", "content", "type", "resource", "resource", "uri",
                          uri != NULL ? uri : "test://none", "mimeType", "text/plain", "text",
                          "Embedded resource content for testing.", "role", "user", "content",
                          "type", "text", "text", "Please process the embedded resource above."));
    } else if (strcmp(name, "test_prompt_with_image") == 0) {
        fixture_reply_raw(rq, "{\"messages\":[{\"role\":\"user\",\"content\":{\"type\":\"image\","
                              "\"data\":\"" PNG "\",\"mimeType\":\"image/png\"}},"
                              "{\"role\":\"user\",\"content\":{\"type\":\"text\","
                              "\"text\":\"Please analyze the image above.\"}}]}");
    } else if (strcmp(name, "test_input_required_result_prompt") == 0) {
        fixture_round(
            rq, "user_context",
            fixture_question("What context should the prompt use?", SCHEMA_OF("context", "string")),
            NULL, fx_say_prompt);
    } else {
        return false;
    }
    return true;
}

static bool fixtures_read(struct mcp_request *rq, const char *uri)
{
    static const char start[] = "test://template/", end[] = "/data";
    size_t len = strlen(uri);
    json_t *content = NULL;
    if (strcmp(uri, "test://static-text") == 0 || strcmp(uri, "test://watched-resource") == 0)
        content = json_pack("{s:s,s:s,s:s}", "uri", uri, "mimeType", "text/plain", "text",
                            "This is the content of the static text resource.");
    else if (strcmp(uri, "test://static-binary") == 0)
        content = json_pack("{s:s,s:s,s:s}", "uri", uri, "mimeType", "image/png", "blob", PNG);
    else if (len > sizeof(start) + sizeof(end) - 2 && len < KIB &&
             strncmp(uri, start, sizeof(start) - 1) == 0 &&
             strcmp(uri + len - (sizeof(end) - 1), end) == 0) {
        int id_len = (int)(len - (sizeof(start) - 1) - (sizeof(end) - 1));
        const char *id = uri + sizeof(start) - 1;
        _buf_ struct buf text = BUF_INIT(4 * KIB);
        buf_printf(&text, "{\"id\":\"%.*s\",\"templateTest\":true,\"data\":\"Data for ID: %.*s\"}",
                   id_len, id, id_len, id);
        content = json_pack("{s:s,s:s,s:s}", "uri", uri, "mimeType", "application/json", "text",
                            buf_str(&text));
    }
    if (content == NULL)
        return false;
    json_t *result = json_pack("{s:[o]}", "contents", content);
    if (rq->era == MCP_MODERN) {
        json_object_set_new(result, "ttlMs", json_integer(0));
        json_object_set_new(result, "cacheScope", json_string("private"));
    }
    request_reply_json(rq, result);
    return true;
}

static bool fixtures_take(struct mcp_request *rq)
{
    const char *name = rpc_text(rq->params, "name"), *uri = rpc_text(rq->params, "uri");
    if (strcmp(rq->method, "resources/read") == 0)
        return uri != NULL && fixtures_read(rq, uri);
    if (strcmp(rq->method, "prompts/get") == 0)
        return name != NULL && fixtures_get_prompt(rq, name);
    const struct fixture *f = strcmp(rq->method, "tools/call") == 0 ? fixtures_find(name) : NULL;
    if (f == NULL)
        return false;
    if (f->run != NULL)
        f->run(rq);
    else
        fixture_reply_raw(rq, f->answer);
    return true;
}

const struct mcp_more fixtures = {
    .list = fixtures_list, .take = fixtures_take, .schema = fixtures_schema};
