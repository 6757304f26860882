/* Writes answers as text. Runs in the daemon's loop; owns nothing.
 *
 *   what earlier cells wrote since their answer
 *   what the cell wrote, displayed and gave, in order
 *   the error: frames, name and message, advice
 *   one line each, in brackets: how it ended, what was rolled back, names, files, what is lost
 *
 * Nothing that is empty is mentioned, and no name that stands in the code itself. */
#include "ops/exec_text.h"

#include "base/utf8.h"
#include "cell/redact.h"
#include "wire/json.h"

enum {
    EXEC_TEXT_LISTED_MAX = 8,   /* names or files of one kind */
    EXEC_TEXT_ARGS_SHOWN = 300, /* bytes of a call's arguments */
};

static void text_begin_line(struct buf *out)
{
    if (out->len > 0 && out->data[out->len - 1] != '\n')
        buf_append_char(out, '\n');
}

/* ---- the error ------------------------------------------------------------------------------- */

/* A line of nothing but marks under another one. */
static bool text_is_marks(const char *line, size_t len)
{
    size_t n = 0;
    for (size_t i = 0; i < len; i++) {
        if (strchr(" ^~\n", line[i]) == NULL)
            return false;
        n += line[i] == '^' || line[i] == '~';
    }
    return n > 0;
}

/* `  File "<cell 3>", line 1, in <module>` becomes `<cell 3> line 1`. */
static bool text_put_frame(struct buf *out, const char *line, size_t len)
{
    static const char begin[] = "  File \"<cell ", top[] = ", in <module>\n";
    size_t begin_len = strlen(begin), top_len = strlen(top);
    if (len <= begin_len || memcmp(line, begin, begin_len) != 0)
        return false;
    const char *name = line + strlen("  File \"");
    const char *quote = memchr(name, '"', len - (size_t)(name - line));
    if (quote == NULL || quote[1] != ',')
        return false;
    buf_append(out, name, (size_t)(quote - name));
    const char *rest = quote + 2;
    size_t rest_len = len - (size_t)(rest - line);
    if (rest_len >= top_len && memcmp(rest + rest_len - top_len, top, top_len) == 0) {
        buf_append(out, rest, rest_len - top_len);
        buf_append_char(out, '\n');
    } else {
        buf_append(out, rest, rest_len);
    }
    return true;
}

static void text_put_traceback(struct buf *out, const struct exec_error *error)
{
    static const char title[] = "Traceback (most recent call last):\n";
    bool has_marks = error->name != NULL && strcmp(error->name, "SyntaxError") == 0;
    const char *at = error->traceback.text, *end = at + error->traceback.len;
    while (at < end) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        size_t len = (size_t)((newline != NULL ? newline + 1 : end) - at);
        bool is_title = len == strlen(title) && memcmp(at, title, len) == 0;
        bool is_left_out = is_title || (!has_marks && text_is_marks(at, len));
        if (!is_left_out && !text_put_frame(out, at, len))
            buf_append(out, at, len);
        at += len;
    }
}

static void text_put_error(struct buf *out, const struct exec_error *error)
{
    if (error == NULL)
        return;
    text_begin_line(out);
    if (error->traceback.len > 0) {
        text_put_traceback(out, error);
    } else {
        buf_printf(out, "%s%s", error->name, error->message.len > 0 ? ": " : "");
        buf_append(out, error->message.text, error->message.len);
    }
    text_begin_line(out);
    if (error->advice != NULL)
        buf_printf(out, "%s\n", error->advice);
}

/* ---- in brackets ----------------------------------------------------------------------------- */

static bool text_has_word(const char *code, size_t len, const char *word)
{
    size_t width = strlen(word);
    const char *end = code + len;
    for (const char *at = code; (at = memmem(at, (size_t)(end - at), word, width)) != NULL; at++) {
        char before = at > code ? at[-1] : ' ', after = at + width < end ? at[width] : ' ';
        bool is_part = before == '_' || after == '_' || (before >= '0' && before <= '9') ||
                       (after >= '0' && after <= '9') ||
                       ((before | 32) >= 'a' && (before | 32) <= 'z') ||
                       ((after | 32) >= 'a' && (after | 32) <= 'z');
        if (!is_part)
            return true;
    }
    return false;
}

static const char *text_name_of(const json_t *item)
{
    const char *name =
        json_string_value(json_is_object(item) ? json_object_get(item, "name") : item);
    return name != NULL ? name : "?";
}

/* " +a, b, c and 57 more": what is not in the code already. False if nothing is left. */
static bool text_put_list(struct buf *out, const json_t *list, const char *sign,
                          const struct exec_result *known)
{
    size_t n = 0, i;
    const json_t *item;
    json_array_foreach(list, i, item) {
        const char *name = text_name_of(item);
        if (known != NULL && text_has_word(known->code, known->code_len, name))
            continue;
        if (n < EXEC_TEXT_LISTED_MAX)
            buf_printf(out, "%s%s%.80s", n > 0 ? ", " : " ", n > 0 ? "" : sign, name);
        n++;
    }
    if (n > EXEC_TEXT_LISTED_MAX)
        buf_printf(out, " and %zu more", n - EXEC_TEXT_LISTED_MAX);
    return n > 0;
}

/* "[names +a, b -c]": nothing if there is nothing to say. */
static void text_put_changes(struct buf *out, const char *what, const json_t *changes,
                             const struct exec_result *known)
{
    static const struct {
        const char *member, *sign;
    } kinds[] = {{"added", "+"}, {"changed", "~"}, {"removed", "-"}};
    size_t from = out->len;
    bool has_any = false;
    text_begin_line(out);
    buf_printf(out, "[%s", what);
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        bool is_evident = known != NULL && i < 2;
        has_any |= text_put_list(out, json_object_get(changes, kinds[i].member), kinds[i].sign,
                                 is_evident ? known : NULL);
    }
    if (has_any)
        buf_append_str(out, "]\n");
    else
        out->len = from;
}

void exec_text_put_changes(struct buf *out, const char *what, const json_t *changes)
{
    text_put_changes(out, what, changes, NULL);
}

void exec_text_put_named(struct buf *out, const char *what, const json_t *list)
{
    if (json_array_size(list) == 0)
        return;
    text_begin_line(out);
    buf_printf(out, "[%s", what);
    text_put_list(out, list, "", NULL);
    buf_append_str(out, "]\n");
}

static void text_put_reason(struct buf *out, const char *what, const json_t *reason)
{
    if (!json_is_string(reason))
        return;
    text_begin_line(out);
    buf_printf(out, "[%s: %.300s]\n", what, json_string_value(reason));
}

/* Cells that were undone: "[rolled back cells 3, 4]". */
static void text_put_rollback(struct buf *out, const struct exec_result *result)
{
    const json_t *cells = json_object_get(result->extra, "rolled_back_cells");
    size_t n = json_array_size(cells);
    if (!result->is_rolled_back)
        return;
    text_begin_line(out);
    buf_printf(out, "[rolled back%s", n == 0 ? "" : n > 1 ? " cells" : " cell");
    for (size_t i = 0; i < n && i < EXEC_TEXT_LISTED_MAX; i++)
        buf_printf(out, "%s %lld", i > 0 ? "," : "",
                   (long long)json_integer_value(json_array_get(cells, i)));
    buf_printf(out, "%s%s]\n", n > EXEC_TEXT_LISTED_MAX ? " ..." : "",
               result->rolled_back_to == 0 ? ", to the beginning" : "");
}

/* `, session="NAME"` if the session has to be named. */
static void exec_text_put_session(struct buf *out, const struct exec_reader *reader,
                                  const char *before)
{
    if (reader->session != NULL)
        buf_printf(out, "%ssession=\"%s\"", before, reader->session);
}

/* Calls of tools that were handed in, and how they are answered. */
static void text_put_tool_calls(struct buf *out, const struct exec_result *result,
                                const struct exec_reader *reader)
{
    size_t i;
    const json_t *call;
    json_array_foreach(result->tool_calls, i, call) {
        _free_ char *args = json_dumps(json_object_get(call, "args"), JSON_COMPACT);
        _buf_ struct buf safe = BUF_INIT(SIZE_MAX / 4);
        if (args != NULL)
            redact_text(args, strlen(args), &safe);
        size_t shown =
            utf8_valid_prefix(buf_str(&safe), MIN(safe.len, (size_t)EXEC_TEXT_ARGS_SHOWN));
        buf_printf(out, "[cell %llu calls %s, id %s: %.*s%s]\n",
                   (unsigned long long)result->exec_id,
                   json_string_value(json_object_get(call, "name")),
                   json_string_value(json_object_get(call, "id")), (int)shown, buf_str(&safe),
                   shown < safe.len ? "…" : "");
    }
    if (reader == NULL) {
        buf_printf(out, "[POST …/exec/%llu/tool_results]\n", (unsigned long long)result->exec_id);
        return;
    }
    buf_append_str(out, "[wait(results=[{id, result}]");
    exec_text_put_session(out, reader, ", ");
    buf_append_str(out, ")]\n");
}

/* What goes on, and how to hear of it. */
static void text_put_pending(struct buf *out, const struct exec_result *result,
                             const struct exec_reader *reader)
{
    unsigned long long number = result->exec_id;
    bool is_input = result->status == CELL_INPUT;
    buf_printf(out, "[cell %llu %s: ", number,
               is_input            ? "waits for a line"
               : result->is_queued ? "waits for its turn"
                                   : "still runs");
    if (reader != NULL) {
        buf_append_str(out, is_input ? "wait(input=…" : "wait(");
        exec_text_put_session(out, reader, is_input ? ", " : "");
        buf_append_str(out, ")]\n");
    } else if (is_input) {
        buf_append_str(out, "POST …/input]\n");
    } else {
        buf_printf(out, "POST …/exec/%llu/continue]\n", number);
    }
}

static void text_put_state(struct buf *out, const struct exec_result *result,
                           const struct exec_reader *reader)
{
    int status = result->has_exit_code     ? result->exit_code
                 : result->has_last_status ? result->last_status
                                           : result->command_status;
    text_begin_line(out);
    if (result->status == CELL_TOOLS)
        text_put_tool_calls(out, result, reader);
    else if (result->status == CELL_INPUT || result->status == CELL_RUNNING)
        text_put_pending(out, result, reader);
    /* Of an interpreter that ended the error says how. */
    if ((status != 0 || result->has_exit_code) && result->status != CELL_DIED)
        buf_printf(out, "[exit status %d]\n", status);
}

/* ---- all of it ------------------------------------------------------------------------------- */

static void text_put_late(struct buf *out, const json_t *late)
{
    static const char *const streams[] = {"stdout", "stderr"};
    size_t i;
    const json_t *entry;
    json_array_foreach(late, i, entry) {
        buf_printf(out, "[cell %lld wrote later]\n",
                   (long long)json_integer_value(json_object_get(entry, "number")));
        for (size_t k = 0; k < ARRAY_LEN(streams); k++) {
            const json_t *text = json_object_get(entry, streams[k]);
            buf_append(out, json_string_value(text), json_string_length(text));
            text_begin_line(out);
        }
    }
}

void exec_text_put(struct buf *out, const struct exec_result *result,
                   const struct exec_reader *reader)
{
    const json_t *extra = result->extra, *resumed = json_object_get(extra, "resumed");
    text_put_late(out, json_object_get(extra, "late"));
    buf_append(out, result->script.text, result->script.len);
    if (result->question != NULL)
        buf_append(out, result->question->prompt, result->question->len);
    text_put_error(out, result->error);
    if (result->advice != NULL) {
        text_begin_line(out);
        buf_printf(out, "[%s]\n", result->advice);
    }
    text_put_state(out, result, reader);
    text_put_rollback(out, result);
    if (reader != NULL && json_object_get(extra, "try_id") != NULL)
        buf_append_str(out, "[a try: back(action=\"keep\") or back(action=\"drop\")]\n");
    text_put_changes(out, "names", result->names, result);
    text_put_changes(out, "names", json_object_get(extra, "names"), NULL);
    text_put_changes(out, "files", json_object_get(extra, "files"), NULL);
    exec_text_put_named(out, "came back from disk without", json_object_get(resumed, "lost"));
    exec_text_put_named(out, "came back without", json_object_get(extra, "lost"));
    exec_text_put_named(out, "files lost", json_object_get(extra, "files_lost"));
    exec_text_put_named(out, "files lost", json_object_get(resumed, "files_lost"));
    text_put_reason(out, "the code did not compile", json_object_get(extra, "replaced"));
    text_put_reason(out, "not saved", json_object_get(extra, "durable_error"));
    text_put_reason(out, "files not saved", json_object_get(extra, "files_not_saved"));
    if (result->cell == NULL && result->unrecorded != NULL) {
        text_begin_line(out);
        buf_printf(out, "[not in the notebook: %.300s]\n", result->unrecorded);
    }
}
