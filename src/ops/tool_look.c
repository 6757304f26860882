/* The tool `look`: what there is, without running code. Each thing to look at is another operation,
 * whose answer is put into a few words. Daemon; on the loop. */
#include "base/utf8.h"
#include "cell/display.h"
#include "ops/session_file_call.h"
#include "ops/tool_call.h"

enum {
    SEARCH_MAX = 256,
    VALUE_MAX = 100, /* bytes of a value in a list */
    SHORT_MAX = 24,  /* bytes of one that shares its line with others of its type */
    DETAIL_MAX = 3 * 1024,
    PLACE_MAX = 64 * 1024,
    SESSIONS_MAX = 50,
    WHOLE_MAX = 64 * 1024 * 1024, /* bytes of a cell's text that are looked through */
};

static const char *const tool_look_whats[] = {"names", "files", "sessions", NULL};

static const struct op_param tool_look_params[] = {
    {.name = "what",
     .type = OP_CHOICE,
     .is_nullable = true,
     .choices = tool_look_whats,
     .doc = "Default names."},
    {.name = "name",
     .type = OP_TEXT,
     .is_nullable = true,
     .min = 1,
     .max = PLACE_MAX,
     .doc = "One name in detail."},
    {.name = "output",
     .type = OP_INT,
     .is_nullable = true,
     .min = 1,
     .max = INT64_MAX,
     .doc = "All output of this cell."},
    {.name = "offset",
     .type = OP_INT,
     .is_nullable = true,
     .max = INT64_MAX,
     .doc = "Bytes of output to skip."},
    {.name = "search",
     .type = OP_TEXT,
     .is_nullable = true,
     .min = 1,
     .max = SEARCH_MAX,
     .doc = "Only lines, names or files with this text."},
    TOOL_PARAM_SESSION,
    TOOL_PARAM_TOKENS,
    {0},
};

static bool is_what(const struct call *call, const char *what)
{
    return strcmp(call_text(call, "what", tool_look_whats[0]), what) == 0;
}

static bool is_sought(const struct call *call, const char *text, size_t len)
{
    const char *search = call->tool->search;
    return search == NULL || memmem(text, len, search, strlen(search)) != NULL;
}

static const char *text_of(const json_t *object, const char *member)
{
    const char *text = json_string_value(json_object_get(object, member));
    return text != NULL ? text : "";
}

/* Room for one more line, and what is said of the rest. */
static bool has_room(const struct call *call, const struct buf *out)
{
    return out->len < tool_text_max(call);
}

static void say_list(struct call *call, struct buf *text, size_t n_left, const char *nothing)
{
    if (n_left > 0)
        buf_printf(text, "[%zu more: search for some]\n", n_left);
    if (text->len == 0)
        buf_printf(text, "[%s]", nothing);
    tool_reply_text(call, text);
}

/* ---- names ----------------------------------------------------------------------------------- */

/* "3x2" of a table or an array, else how many elements; nothing if neither is known. */
static void put_extent(struct buf *out, const json_t *item)
{
    const json_t *shape = json_object_get(item, "shape"), *len = json_object_get(item, "len");
    size_t i;
    const json_t *side;
    json_array_foreach(shape, i, side)
        buf_printf(out, "%s%lld", i > 0 ? "x" : " ", (long long)json_integer_value(side));
    if (json_array_size(shape) == 0 && json_is_integer(len))
        buf_printf(out, " of %lld", (long long)json_integer_value(len));
}

static void put_name(struct buf *out, const json_t *item)
{
    const char *text = text_of(item, "text");
    size_t line = strcspn(text, "\n");
    size_t len = output_whole_prefix(text, MIN(line, (size_t)VALUE_MAX));
    buf_printf(out, "%s %s", text_of(item, "name"), text_of(item, "type"));
    put_extent(out, item);
    if (len > 0)
        buf_printf(out, " = %.*s%s", (int)len, text, text[len] != '\0' ? "…" : "");
    buf_append_char(out, '\n');
}

/* A value that is told whole in a word: a number, a short text. What can be called, and what has
 * elements, has a line of its own. */
static bool is_short(const json_t *item)
{
    const char *text = text_of(item, "text");
    size_t len = strlen(text);
    bool is_quoted = text[0] == '\'' || text[0] == '"';
    bool is_word = len > 0 && len <= SHORT_MAX && strpbrk(text, " \n(") == NULL &&
                   json_object_get(item, "shape") == NULL && json_object_get(item, "len") == NULL;
    return is_word || (is_quoted && len <= SHORT_MAX && strchr(text, '\n') == NULL);
}

/* Names of one type in a row, whose values are short: "int: a=1 b=2". Returns how many; fewer than
 * two are none. */
static size_t put_short_names(const struct call *call, struct buf *out, const json_t *items,
                              size_t first)
{
    const char *type = text_of(json_array_get(items, first), "type");
    size_t n = 0, from = out->len;
    for (size_t i = first; i < json_array_size(items); i++) {
        const json_t *item = json_array_get(items, i);
        if (strcmp(text_of(item, "type"), type) != 0 || !is_short(item) || !has_room(call, out))
            break;
        if (n == 0)
            buf_printf(out, "%s:", type);
        buf_printf(out, " %s=%s", text_of(item, "name"), text_of(item, "text"));
        n++;
    }
    buf_append_char(out, '\n');
    if (n < 2)
        out->len = from;
    return n < 2 ? 0 : n;
}

static void tool_look_on_names(struct call *call, const json_t *answer)
{
    size_t i, n_left = 0;
    json_t *item;
    _json_ json_t *sought = json_array();
    _buf_ struct buf text = BUF_INIT(CALL_REPLY_MAX);
    json_array_foreach(json_object_get(answer, "items"), i, item) {
        const char *name = text_of(item, "name");
        if (is_sought(call, name, strlen(name)))
            json_array_append(sought, item);
    }
    for (i = 0; i < json_array_size(sought);) {
        if (!has_room(call, &text)) {
            n_left = json_array_size(sought) - i;
            break;
        }
        size_t n = put_short_names(call, &text, sought, i);
        if (n == 0)
            put_name(&text, json_array_get(sought, i));
        i += MAX(n, (size_t)1);
    }
    if (json_is_true(json_object_get(answer, "busy")))
        buf_printf(&text, "[a cell runs: as of cell %lld]\n",
                   (long long)json_integer_value(json_object_get(answer, "as_of")));
    say_list(call, &text, n_left, "no names");
}

static void on_meaning(struct call *call, const json_t *answer)
{
    static const char *const members[] = {"signature", "preview", "text", "doc", "source"};
    bool is_callable = text_of(answer, "signature")[0] != '\0';
    bool has_preview = text_of(answer, "preview")[0] != '\0';
    size_t max = call->tool->budget > 0 ? tool_text_max(call) : DETAIL_MAX;
    _buf_ struct buf text = BUF_INIT(CALL_REPLY_MAX);
    if (!json_is_true(json_object_get(answer, "found"))) {
        say_list(call, &text, 0, "nothing has this name");
        return;
    }
    buf_append_str(&text, text_of(answer, "type"));
    put_extent(&text, answer);
    for (size_t i = 0; i < ARRAY_LEN(members); i++) {
        const char *value = text_of(answer, members[i]);
        size_t len = strlen(value), room = max - MIN(max, text.len);
        /* Of a value the documentation is that of its type, and its text the begin of the preview;
         * of what can be called the text is the signature once more. */
        bool is_value = !is_callable && strcmp(text_of(answer, "type"), "module") != 0;
        bool is_text = strcmp(members[i], "text") == 0, is_doc = strcmp(members[i], "doc") == 0;
        bool is_told = (is_text && (is_callable || has_preview)) || (is_doc && is_value);
        if (len == 0 || room == 0 || is_told)
            continue;
        size_t shown = output_whole_prefix(value, MIN(len, room));
        tool_begin_line(&text);
        buf_append(&text, value, shown);
        if (shown < len)
            buf_printf(&text, "\n[%zu bytes more of its %s]", len - shown, members[i]);
    }
    tool_reply_text(call, &text);
}

/* ---- files and sessions ---------------------------------------------------------------------- */

void tool_say_files(struct call *call, const json_t *answer)
{
    size_t i, n_left = 0;
    const json_t *entry;
    _buf_ struct buf text = BUF_INIT(CALL_REPLY_MAX);
    json_array_foreach(json_object_get(answer, "entries"), i, entry) {
        const char *path = text_of(entry, "path"), *type = text_of(entry, "type");
        if (!is_sought(call, path, strlen(path)))
            continue;
        if (!has_room(call, &text))
            n_left++;
        else if (strcmp(type, "file") == 0)
            buf_printf(&text, "%s %lld\n", path,
                       (long long)json_integer_value(json_object_get(entry, "bytes")));
        else
            buf_printf(&text, "%s%s\n", path, strcmp(type, "folder") == 0 ? "/" : " (link)");
    }
    if (json_object_get(answer, "next") != NULL)
        buf_append_str(&text, "[there are more: name a folder as path]\n");
    say_list(call, &text, n_left, "no files");
}

static void on_sessions(struct call *call, const json_t *answer)
{
    size_t i;
    const json_t *session;
    _buf_ struct buf text = BUF_INIT(CALL_REPLY_MAX);
    json_array_foreach(json_object_get(answer, "sessions"), i, session) {
        const char *name = text_of(session, "name");
        name = name[0] != '\0' ? name : text_of(session, "session_id");
        if (is_sought(call, name, strlen(name)))
            buf_printf(&text, "%s %s %s, %lld cells\n", name, text_of(session, "runtime"),
                       text_of(session, "state"),
                       (long long)json_integer_value(json_object_get(session, "exec_count")));
    }
    json_int_t total = json_integer_value(json_object_get(answer, "total"));
    say_list(call, &text, total > SESSIONS_MAX ? (size_t)total - SESSIONS_MAX : 0, "no sessions");
}

/* ---- output ---------------------------------------------------------------------------------- */

static void tool_look_put_output(struct buf *out, const json_t *output)
{
    const char *type = text_of(output, "type");
    if (strcmp(type, "error") == 0) {
        const char *traceback = text_of(output, "traceback");
        tool_begin_line(out);
        if (traceback[0] != '\0')
            buf_append_str(out, traceback);
        else
            buf_printf(out, "%s: %s\n", text_of(output, "name"), text_of(output, "message"));
        return;
    }
    if (json_object_get(output, "stream") == NULL)
        tool_begin_line(out);
    display_put_words(output, false, out);
    if (json_object_get(output, "stream") == NULL)
        tool_begin_line(out);
}

void tool_put_outputs(struct buf *out, const json_t *outputs)
{
    size_t i;
    const json_t *output;
    json_array_foreach(outputs, i, output)
        tool_look_put_output(out, output);
}

/* The lines that have the text, with their numbers. */
static void put_found(struct call *call, const struct buf *whole, struct buf *out)
{
    size_t n_line = 0, n_found = 0, n_left = 0;
    const char *at = buf_str(whole), *end = at + whole->len;
    while (at < end) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        size_t len = (size_t)((newline != NULL ? newline : end) - at);
        n_line++;
        if (is_sought(call, at, len)) {
            n_found++;
            if (has_room(call, out)) {
                size_t shown = output_whole_prefix(at, MIN(len, tool_text_max(call) - out->len));
                buf_printf(out, "%zu: ", n_line);
                buf_append(out, at, shown);
                buf_append_char(out, '\n');
            } else {
                n_left++;
            }
        }
        at += len + 1;
    }
    buf_printf(out, "[%zu of %zu lines%s", n_found, n_line, n_left > 0 ? "" : "]");
    if (n_left > 0)
        buf_printf(out, ", the last %zu are not shown]", n_left);
}

static void put_slice(struct call *call, const struct buf *whole, struct buf *out)
{
    size_t first = (size_t)MIN((uint64_t)call->tool->offset, (uint64_t)whole->len);
    first += output_cut_character(buf_str(whole) + first, whole->len - first);
    size_t len = MIN(whole->len - first, tool_text_max(call));
    len = output_whole_prefix(buf_str(whole) + first, len);
    buf_append(out, buf_str(whole) + first, len);
    if (first + len == whole->len)
        return;
    tool_begin_line(out);
    buf_printf(out, "[%zu bytes more: offset=%zu]", whole->len - first - len, first + len);
}

/* A notebook keeps the ends of a long text; the session that ran the cell may have all of it still.
 * False: it has not, or the text is in several pieces. */
static bool put_from_ring(const struct call *call, const json_t *answer, const json_t *output,
                          struct buf *out)
{
    struct err ignored;
    const struct session *session =
        session_find(call->engine, call_text(call, "session_id", ""), &ignored);
    uint64_t number = (uint64_t)json_integer_value(json_object_get(answer, "number"));
    const char *stream = text_of(output, "stream");
    size_t i, n = 0;
    const json_t *other;
    json_array_foreach(json_object_get(answer, "outputs"), i, other)
        n += strcmp(text_of(other, "stream"), stream) == 0;
    if (session == NULL || stream[0] == '\0' || n != 1 || number == 0)
        return false;
    struct output_range range;
    _buf_ struct buf text = BUF_INIT(CALL_REPLY_MAX);
    bool is_stderr = strcmp(stream, "stderr") == 0;
    output_ring_read(&session->rings[is_stderr ? OUTPUT_STDERR : OUTPUT_STDOUT], number, 0,
                     WHOLE_MAX, &text, &range);
    if (range.dropped > 0 || range.next_offset < range.end)
        return false;
    buf_append(out, buf_str(&text), text.len);
    return true;
}

/* Returns the bytes that nobody has any more. */
static int64_t put_whole(const struct call *call, const json_t *answer, struct buf *out)
{
    int64_t gone = 0;
    size_t i;
    const json_t *output;
    json_array_foreach(json_object_get(answer, "outputs"), i, output) {
        json_int_t omitted = json_integer_value(json_object_get(output, "omitted"));
        if (omitted > 0 && put_from_ring(call, answer, output, out))
            continue;
        gone += omitted;
        tool_look_put_output(out, output);
    }
    return gone;
}

static void tool_look_on_cell(struct call *call, const json_t *answer)
{
    _buf_ struct buf whole = BUF_INIT(CALL_REPLY_MAX), text = BUF_INIT(CALL_REPLY_MAX);
    int64_t gone = put_whole(call, answer, &whole);
    if (whole.len == 0)
        buf_append_str(&text, "[it showed nothing]");
    else if (call->tool->search != NULL)
        put_found(call, &whole, &text);
    else
        put_slice(call, &whole, &text);
    if (gone > 0) {
        tool_begin_line(&text);
        buf_printf(&text, "[%lld bytes of its middle are not kept]", (long long)gone);
    }
    tool_reply_text(call, &text);
}

/* ---- the tool -------------------------------------------------------------------------------- */

static void tool_look_look_at(struct call *call, const struct session *session)
{
    json_t *args = json_pack("{s:s}", "session_id", session->id);
    const char *name = call_text(call, "name", NULL);
    int64_t number = call_int(call, "output", 0);
    if (name != NULL) {
        json_object_set_new(args, "code", json_string(name));
        json_object_set_new(args, "detail", json_integer(1));
        tool_become(call, &op_session_inspect, args, on_meaning);
    } else if ((uint64_t)number > session->n_execs) {
        struct err e;
        err_set(&e, ERR_NOT_FOUND, "the session has no cell %lld", (long long)number);
        err_advise(&e, "Its cells are 1 to %llu.", (unsigned long long)session->n_execs);
        json_decref(args);
        call_fail(call, &e);
    } else if (number > 0) {
        char cell[32];
        snprintf(cell, sizeof(cell), "#%lld", (long long)number);
        json_object_set_new(args, "cell", json_string(cell));
        tool_become(call, &op_cell_get, args, tool_look_on_cell);
    } else if (is_what(call, "files")) {
        const char *search = call->tool->search;
        json_object_set_new(args, "recursive", json_true());
        json_object_set_new(args, "limit", json_integer(WARDEN_PAGE_MAX));
        if (search != NULL && strpbrk(search, "/*?[\\") == NULL) {
            /* There may be more files than one page has. */
            json_object_set_new(args, "pattern", json_sprintf("*%s*", search));
        }
        tool_become(call, &op_session_file_list, args, tool_say_files);
    } else {
        tool_become(call, &op_session_names, args, tool_look_on_names);
    }
}

static void tool_look_run(struct call *call)
{
    const char *search = call_text(call, "search", NULL);
    call->tool->search = search != NULL ? arena_strdup(&call->arena, search) : NULL;
    call->tool->offset = call_int(call, "offset", 0);
    if (is_what(call, "sessions")) {
        tool_become(call, &op_session_list,
                    json_pack("{s:s, s:i}", "state", "living", "limit", SESSIONS_MAX), on_sessions);
        return;
    }
    const struct session *session = tool_found(call);
    if (session != NULL)
        tool_look_look_at(call, session);
}

const struct op op_tool_look = {
    .name = "tool.look",
    .method = "POST",
    .path = "/v1/tools/look",
    .subject = OP_ON_TOOLS,
    .flags = OP_READ_ONLY,
    .params = tool_look_params,
    .doc = "Shows what there is: names, one of them in detail, files, sessions, the output of an "
           "earlier cell or lines of it.",
    .tool = "look",
    .toolset = "core",
    .tool_doc =
        "See names, files, sessions, one name, or an earlier cell's output, without running "
        "code.",
    .prepare = tool_prepare,
    .run = tool_look_run,
    .result = &shape_tool_result,
    .errors = OP_ERR(CONFLICT) | OP_ERR(GONE),
    .example = "{\"session\": \"$session\"}",
};
