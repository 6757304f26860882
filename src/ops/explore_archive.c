/* Archives of the workspace, read without unpacking them by hand: explore.archive_open,
 * explore.archive_file, explore.archive_search, explore.archive_extract. Daemon; on the loop. */
#include "explore/archive.h"
#include "explore/chars.h"
#include "ops/explore_call.h"
#include "session/session.h"
#include "wire/json.h"

enum { ARCHIVE_PEEK_DEFAULT = 10000, ARCHIVE_PEEK_MAX = 1000000 };

#define OP_PARAM_ARCHIVE                                                                           \
    {                                                                                              \
        .name = "file_path", .type = OP_TEXT, .is_required = true, .min = 1, .max = 1024,          \
        .doc = "The archive, below /workspace: zip, tar, gz, bz2, xz, zstd or 7z; or a PDF."       \
    }
#define EXPLORE_ARCHIVE_ERRORS                                                                     \
    (OP_ERR(CONFLICT) | OP_ERR(GONE) | OP_ERR(LIMIT) | OP_ERR(TIMEOUT) | OP_ERR(TOO_LARGE) |       \
     OP_ERR(UNAVAILABLE) | OP_ERR(FORBIDDEN))

/* False if the session is gone, and the call was answered. */
static bool explore_archive_note(struct call *call, const char *tool, const char *what,
                                 const char *found)
{
    struct session *session = explore_call_session(call);
    _buf_ struct buf query = BUF_INIT(KIB * 8);
    if (session == NULL)
        return false;
    buf_printf(&query, "path='%s'%s", call_text(call, "file_path", ""), what);
    explore_call_note(call, session, tool, buf_str(&query), found != NULL ? found : "",
                      found != NULL ? strlen(found) : 0);
    return true;
}

/* ---- a PDF is an archive of one text --------------------------------------------------------- */

#define ARCHIVE_PDF_TEXT "text.txt"

static bool explore_archive_is_pdf(const struct call *call)
{
    const char *path = call_text(call, "file_path", "");
    size_t len = strlen(path);
    return len > 4 && strcasecmp(path + len - 4, ".pdf") == 0;
}

/* Its text is counted, as one that is peeked at. */
static void explore_archive_on_pdf(void *context, json_t *result)
{
    struct call *call = context;
    if (explore_archive_note(call, "archive_open", "", "1 file"))
        explore_call_reply(call, 200,
                           json_pack("{s:s, s:[{s:s, s:O, s:s}], s:i}", "format", "pdf", "files",
                                     "name", ARCHIVE_PDF_TEXT, "size",
                                     json_object_get(result, "bytes"), "type", "file", "total", 1));
}

static const struct explore_listener explore_archive_pdf_listener = {
    .on_done = explore_archive_on_pdf, .on_failed = explore_call_failed};

static void explore_archive_refuse_pdf(struct call *call, enum err_code code, const char *what)
{
    struct err e;
    err_set(&e, code, "a PDF has %s", what);
    err_advise(&e,
               "Its text is the file " ARCHIVE_PDF_TEXT ", and peek() and grep() read it, too.");
    call_fail(call, &e);
}

/* Lines of a search by the session's worker, as those of archives. */
static void explore_archive_take_pdf(json_t *result)
{
    json_t *hits = json_array(), *hit;
    size_t i;
    json_array_foreach(json_object_get(result, "hits"), i, hit) {
        const json_t *text = json_object_get(hit, "text");
        size_t ignored, len = chars_prefix(json_string_value(text), json_string_length(text),
                                           ARCHIVE_MATCH_CHARS, &ignored);
        json_array_append_new(hits, json_pack("{s:s, s:O, s:o}", "file", ARCHIVE_PDF_TEXT, "line",
                                              json_object_get(hit, "line"), "match",
                                              json_stringn(json_string_value(text), len)));
    }
    json_object_set_new(result, "hits", hits);
    json_object_set_new(result, "files_searched", json_integer(1));
    json_object_set_new(result, "skipped", json_array());
    json_object_del(result, "count");
}

/* ---- what is in it --------------------------------------------------------------------------- */

static const struct op_param explore_archive_open_params[] = {
    OP_PARAM_SESSION,
    OP_PARAM_ARCHIVE,
    {.name = "inside",
     .type = OP_TEXT,
     .min = 1,
     .max = 4096,
     .doc = "An archive inside of it, by its name: inner.zip"},
    OP_PARAM_QUIET,
    OP_PARAM_TOON,
    {0},
};

static void explore_archive_open_on_done(void *context, json_t *result)
{
    struct call *call = context;
    char found[64];
    snprintf(found, sizeof(found), "%lld files",
             (long long)json_integer_value(json_object_get(result, "total")));
    if (explore_archive_note(call, "archive_open", "", found))
        explore_call_reply(call, 200, json_copy(result));
}

static const struct explore_listener explore_archive_open_listener = {
    .on_done = explore_archive_open_on_done, .on_failed = explore_call_failed};

static void explore_archive_open_run(struct call *call)
{
    if (explore_archive_is_pdf(call)) {
        if (call_text(call, "inside", NULL) != NULL)
            explore_archive_refuse_pdf(call, ERR_INVALID, "no archives inside");
        else
            explore_call_ask(call, json_pack("{s:s}", "op", "open"), &explore_archive_pdf_listener);
        return;
    }
    json_t *request = json_pack("{s:s}", "op", "archive_list");
    if (call_text(call, "inside", NULL) != NULL)
        json_object_set_new(request, "inside", json_string(call_text(call, "inside", "")));
    explore_call_ask(call, request, &explore_archive_open_listener);
}

static const struct op_member explore_member_members[] = {
    {"name", OP_TEXT, .is_always = true, .doc = "As the archive has it."},
    {"size", OP_SIZE, .doc = "Bytes, as far as the archive says."},
    {"type", OP_TEXT, .is_always = true, .doc = "file, folder, link or other."},
    {"target", OP_TEXT, .doc = "Where a link leads to."},
    {"note", OP_TEXT, .doc = "Why it is not unpacked."},
    {0},
};
static const struct op_shape shape_archive_member = {"archive_member", explore_member_members,
                                                     "A file of an archive."};
static const struct op_member explore_archive_members[] = {
    {"format", OP_TEXT, .is_always = true, .doc = "zip, tar.gz and so on."},
    {"files", OP_LIST, .is_always = true, .shape = &shape_archive_member, .doc = "What is in it."},
    {"total", OP_INT, .is_always = true, .doc = "How many there are."},
    {"toon", OP_TEXT, .doc = "All of this as TOON."},
    {0},
};
static const struct op_shape shape_archive = {"archive", explore_archive_members,
                                              "What is in an archive."};

const struct op op_explore_archive_open = {
    .name = "explore.archive_open",
    .method = "POST",
    .path = "/v1/sessions/{session_id}/explore/archive_open",
    .subject = OP_ON_CONTEXT,
    .flags = OP_READ_ONLY | OP_FROM_CODE,
    .params = explore_archive_open_params,
    .doc = "Lists an archive of the workspace.",
    .run = explore_archive_open_run,
    .result = &shape_archive,
    .errors = EXPLORE_ARCHIVE_ERRORS,
    .example = "{\"session_id\": \"$archived\", \"file_path\": \"logs.tar\"}",
};

/* ---- one file -------------------------------------------------------------------------------- */

static const struct op_param explore_archive_file_params[] = {
    OP_PARAM_SESSION,
    OP_PARAM_ARCHIVE,
    {.name = "member",
     .type = OP_TEXT,
     .is_required = true,
     .min = 1,
     .max = ARCHIVE_NAME_MAX,
     .doc = "The file, as it is listed; of an archive inside: inner.zip!/notes.txt"},
    {.name = "n",
     .type = OP_INT,
     .max = ARCHIVE_PEEK_MAX,
     .doc = "How many characters; default 10000."},
    {.name = "offset", .type = OP_INT, .max = INT64_MAX, .doc = "How many come before; default 0."},
    OP_PARAM_QUIET,
    {0},
};

static void explore_archive_file_on_done(void *context, json_t *result)
{
    struct call *call = context;
    _buf_ struct buf what = BUF_INIT(KIB * 8);
    buf_printf(&what, ", name='%s'", call_text(call, "member", ARCHIVE_PDF_TEXT));
    if (!explore_archive_note(call, "archive_file", buf_str(&what),
                              json_string_value(json_object_get(result, "text"))))
        return;
    explore_call_note_rest(result, (uint64_t)json_integer_value(json_object_get(result, "offset")));
    explore_call_reply(call, 200, json_incref(result));
}

static const struct explore_listener explore_archive_file_listener = {
    .on_done = explore_archive_file_on_done, .on_failed = explore_call_failed};

static void explore_archive_file_run(struct call *call)
{
    if (explore_archive_is_pdf(call)) {
        if (strcmp(call_text(call, "member", ""), ARCHIVE_PDF_TEXT) != 0) {
            explore_archive_refuse_pdf(call, ERR_NOT_FOUND, "no such file");
            return;
        }
        json_object_del(call->args, "member");
    }
    explore_call_ask(call,
                     json_pack("{s:s, s:I, s:I}", "op", "peek", "n",
                               (json_int_t)call_int(call, "n", ARCHIVE_PEEK_DEFAULT), "offset",
                               (json_int_t)call_int(call, "offset", 0)),
                     &explore_archive_file_listener);
}

const struct op op_explore_archive_file = {
    .name = "explore.archive_file",
    .method = "POST",
    .path = "/v1/sessions/{session_id}/explore/archive_file",
    .subject = OP_ON_CONTEXT,
    .flags = OP_READ_ONLY | OP_FROM_CODE,
    .params = explore_archive_file_params,
    .doc = "Shows some characters of a file in an archive; of a PDF in it, of its text.",
    .run = explore_archive_file_run,
    .result = &shape_peek,
    .errors = EXPLORE_ARCHIVE_ERRORS,
    .example =
        "{\"session_id\": \"$archived\", \"file_path\": \"logs.tar\", \"member\": \"today.log\"}",
};

/* ---- all of them ----------------------------------------------------------------------------- */

static const struct op_param explore_archive_search_params[] = {
    OP_PARAM_SESSION,
    OP_PARAM_ARCHIVE,
    {.name = "query",
     .type = OP_TEXT,
     .is_required = true,
     .min = 1,
     .max = ARCHIVE_QUERY_MAX,
     .doc = "A text; upper and lower case are the same."},
    {.name = "max_results",
     .type = OP_INT,
     .min = 1,
     .max = ARCHIVE_HITS_MAX,
     .doc = "How many at most; default 50."},
    OP_PARAM_QUIET,
    OP_PARAM_TOON,
    {0},
};

/* What is not among the hits, as lines; nothing if all is. */
static void explore_archive_search_put_rest(const json_t *result, size_t n_hits, struct buf *out)
{
    enum { NAMED = 5 };
    const json_t *skipped = json_object_get(result, "skipped");
    size_t n = json_array_size(skipped);
    if (json_is_true(json_object_get(result, "is_cut")))
        buf_printf(out, "[... truncated at %zu results]", n_hits);
    for (size_t i = 0; i < MIN(n, (size_t)NAMED); i++) {
        const json_t *one = json_array_get(skipped, i);
        buf_printf(out, "%s%s (%s)",
                   i > 0          ? ", "
                   : out->len > 0 ? "\n[not searched: "
                                  : "[not searched: ",
                   json_string_value(json_object_get(one, "name")),
                   json_string_value(json_object_get(one, "note")));
    }
    if (n > NAMED)
        buf_printf(out, " and %zu more", n - NAMED);
    if (n > 0)
        buf_append_char(out, ']');
}

static void explore_archive_search_on_done(void *context, json_t *result)
{
    struct call *call = context;
    char found[64];
    _buf_ struct buf what = BUF_INIT(KIB * 8);
    if (explore_archive_is_pdf(call))
        explore_archive_take_pdf(result);
    json_t *hits = json_object_get(result, "hits"), *hit;
    size_t i;
    json_array_foreach(hits, i, hit)
        json_object_set_new(hit, "archive", json_string(call_text(call, "file_path", "")));
    buf_printf(&what, ", query='%s'", call_text(call, "query", ""));
    snprintf(found, sizeof(found), "%zu hits", json_array_size(hits));
    if (!explore_archive_note(call, "archive_search", buf_str(&what), found))
        return;
    _buf_ struct buf rest = BUF_INIT(16 * ARCHIVE_NAME_MAX);
    explore_archive_search_put_rest(result, json_array_size(hits), &rest);
    if (rest.len > 0)
        json_object_set_new(result, "note", json_stringn(buf_str(&rest), rest.len));
    explore_call_reply(call, 200, json_copy(result));
}

static const struct explore_listener explore_archive_search_listener = {
    .on_done = explore_archive_search_on_done, .on_failed = explore_call_failed};

static void explore_archive_search_run(struct call *call)
{
    json_int_t most = (json_int_t)call_int(call, "max_results", ARCHIVE_HITS_MAX);
    if (explore_archive_is_pdf(call)) {
        explore_call_ask(call,
                         json_pack("{s:s, s:s, s:i, s:I, s:b}", "op", "grep", "pattern",
                                   call_text(call, "query", ""), "context_lines", 0, "max_results",
                                   most, "is_literal", true),
                         &explore_archive_search_listener);
        return;
    }
    explore_call_ask(call,
                     json_pack("{s:s, s:s, s:I}", "op", "archive_search", "query",
                               call_text(call, "query", ""), "max_results", most),
                     &explore_archive_search_listener);
}

static const struct op_member explore_hit_members[] = {
    {"archive", OP_TEXT, .is_always = true, .doc = "The archive."},
    {"file", OP_TEXT, .is_always = true, .doc = "The file in it."},
    {"line", OP_INT, .is_always = true, .doc = "Its line, from 1 on."},
    {"match", OP_TEXT, .is_always = true, .doc = "That line, at most 200 characters."},
    {0},
};
static const struct op_shape shape_archive_hit = {"archive_hit", explore_hit_members,
                                                  "A line of a file in an archive."};
static const struct op_member explore_hits_members[] = {
    {"hits", OP_LIST, .is_always = true, .shape = &shape_archive_hit, .doc = "The lines."},
    {"is_cut", OP_BOOL, .is_always = true, .doc = "There are more."},
    {"files_searched", OP_INT, .is_always = true, .doc = "How many files are text."},
    {"skipped", OP_ANY, .is_always = true, .doc = "Those that were not searched, and why."},
    {"note", OP_TEXT, .doc = "What is not among the hits, as lines for a model."},
    {"toon", OP_TEXT, .doc = "All of this as TOON."},
    {0},
};
static const struct op_shape shape_archive_hits = {"archive_hits", explore_hits_members,
                                                   "What was found in an archive."};

const struct op op_explore_archive_search = {
    .name = "explore.archive_search",
    .method = "POST",
    .path = "/v1/sessions/{session_id}/explore/archive_search",
    .subject = OP_ON_CONTEXT,
    .flags = OP_READ_ONLY | OP_FROM_CODE,
    .params = explore_archive_search_params,
    .doc = "Searches the text files of an archive for a text.",
    .run = explore_archive_search_run,
    .result = &shape_archive_hits,
    .errors = EXPLORE_ARCHIVE_ERRORS,
    .example = "{\"session_id\": \"$archived\", \"file_path\": \"logs.tar\", \"query\": \"error\"}",
};

/* ---- into the workspace ---------------------------------------------------------------------- */

static const struct op_param explore_archive_extract_params[] = {
    OP_PARAM_SESSION,
    OP_PARAM_ARCHIVE,
    {.name = "to",
     .type = OP_TEXT,
     .max = 1000,
     .doc = "The folder below /workspace; default: /workspace itself."},
    OP_PARAM_QUIET,
    {0},
};

static void explore_archive_extract_on_done(void *context, json_t *result)
{
    struct call *call = context;
    char found[64];
    snprintf(found, sizeof(found), "%lld files",
             (long long)json_integer_value(json_object_get(result, "files")));
    if (explore_archive_note(call, "archive_extract", "", found))
        explore_call_reply(call, 200, json_incref(result));
}

static const struct explore_listener explore_archive_extract_listener = {
    .on_done = explore_archive_extract_on_done, .on_failed = explore_call_failed};

static void explore_archive_extract_run(struct call *call)
{
    if (explore_archive_is_pdf(call)) {
        explore_archive_refuse_pdf(call, ERR_INVALID, "nothing to unpack");
        return;
    }
    explore_call_ask(call,
                     json_pack("{s:s, s:s}", "op", "archive_unpack", "to",
                               explore_call_path(call_text(call, "to", ""))),
                     &explore_archive_extract_listener);
}

static const struct op_member explore_extracted_members[] = {
    {"files", OP_INT, .is_always = true, .doc = "How many were made."},
    {"folders", OP_INT, .is_always = true, .doc = "Likewise folders."},
    {"left_out", OP_ANY, .doc = "What was not unpacked, and why."},
    {0},
};
static const struct op_shape shape_extracted = {"extracted", explore_extracted_members,
                                                "An archive that was unpacked."};

const struct op op_explore_archive_extract = {
    .name = "explore.archive_extract",
    .method = "POST",
    .path = "/v1/sessions/{session_id}/explore/archive_extract",
    .subject = OP_ON_CONTEXT,
    .flags = OP_MUTATING | OP_FROM_CODE,
    .params = explore_archive_extract_params,
    .doc = "Unpacks an archive of the workspace into a folder of it.",
    .run = explore_archive_extract_run,
    .result = &shape_extracted,
    .errors = EXPLORE_ARCHIVE_ERRORS,
    .example = "{\"session_id\": \"$archived\", \"file_path\": \"logs.tar\", \"to\": \"logs\"}",
};
