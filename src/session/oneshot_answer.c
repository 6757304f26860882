/* What a run without a session answers, in the daemon. */
#include "session/oneshot_parts.h"

enum { SIGNALLED = 128 };

static void oneshot_append_text(struct buf *out, const struct exec_text *text)
{
    buf_append(out, text->text, text->len);
}

static bool oneshot_is_syntax_error(const struct exec_error *error)
{
    static const char *const names[] = {"SyntaxError", "IndentationError", "TabError"};
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (strcmp(error->name, names[i]) == 0)
            return json_is_integer(error->line);
    return false;
}

static void oneshot_take_line(struct oneshot_answer *a, const struct exec_error *error, size_t len)
{
    buf_append_str(&a->error, error->name);
    if (len > 0)
        buf_append_str(&a->error, ": ");
    buf_append(&a->error, error->message.text, len);
}

/* What stands at the end of stderr when a program fails, without a newline after it. */
static void oneshot_append_report(struct buf *stream, const char *text, size_t len)
{
    while (len > 0 && text[len - 1] == '\n')
        len--;
    if (stream->len > 0 && stream->data[stream->len - 1] != '\n')
        buf_append_char(stream, '\n');
    buf_append(stream, text, len);
}

static void oneshot_take_error(struct oneshot_answer *a, const struct exec_result *result)
{
    const struct exec_error *error = result->error;
    a->exit_code = result->has_exit_code ? result->exit_code : ONESHOT_FAILED;
    if (oneshot_is_syntax_error(error)) {
        /* "invalid syntax (<string>, line 1)" is the whole of what Python says; the place comes
         * extra. */
        static const char mark[] = " (<string>, line ";
        const char *text = error->message.text;
        const char *place = memmem(text, error->message.len, mark, sizeof(mark) - 1);
        oneshot_take_line(a, error, place != NULL ? (size_t)(place - text) : error->message.len);
        _buf_ struct buf line = BUF_INIT(ONESHOT_ERROR_MAX);
        buf_printf(&line, "%s (line %lld)", buf_str(&a->error),
                   (long long)json_integer_value(error->line));
        oneshot_append_report(&a->streams[OUTPUT_STDERR], buf_str(&line), line.len);
    } else if (strcmp(error->name, "SystemExit") == 0) {
        /* It left by an exit with a code or with words. */
        char *end;
        strtol(error->message.text, &end, 10);
        if (error->message.len > 0 && *end == '\0') {
            buf_printf(&a->error, "Exited with code %d", a->exit_code);
        } else {
            oneshot_append_text(&a->error, &error->message);
            oneshot_append_report(&a->streams[OUTPUT_STDERR], error->message.text,
                                  error->message.len);
        }
    } else {
        oneshot_take_line(a, error, error->message.len);
        bool has_traceback = error->traceback.text != NULL;
        oneshot_append_report(&a->streams[OUTPUT_STDERR],
                              has_traceback ? error->traceback.text : buf_str(&a->error),
                              has_traceback ? error->traceback.len : a->error.len);
    }
}

/* The interpreter ended before the code did: by an exit of its own, or by what its death
 * certificate says. */
static void oneshot_take_death(struct oneshot_answer *a, const struct exec_result *result)
{
    bool has_left = strcmp(result->error->name, "Exited") == 0;
    a->exit_code = result->has_exit_code ? result->exit_code : SIGNALLED;
    if (has_left && a->exit_code != 0)
        buf_printf(&a->error, "Exited with code %d", a->exit_code);
    if (has_left)
        return;
    oneshot_take_line(a, result->error, result->error->message.len);
    oneshot_append_report(&a->streams[OUTPUT_STDERR], buf_str(&a->error), a->error.len);
}

void oneshot_take_timeout(struct oneshot_answer *a, uint32_t timeout_ms)
{
    a->exit_code = ONESHOT_TIMED_OUT;
    buf_printf(&a->error, "Execution timed out after %g seconds", timeout_ms / 1000.0);
}

/* It came to its end, or left without an error: with a value, and with the status of a program. */
static void oneshot_take_end(struct oneshot_answer *a, const struct exec_result *result)
{
    const json_t *text = json_object_get(result->value.output, "text");
    if (json_is_string(text)) {
        buf_append(&a->streams[OUTPUT_STDOUT], json_string_value(text), json_string_length(text));
        buf_append_char(&a->streams[OUTPUT_STDOUT], '\n');
    }
    if (result->has_last_status)
        a->exit_code = result->last_status;
    if (result->has_exit_code)
        a->exit_code = result->exit_code;
    if (a->exit_code != 0)
        buf_printf(&a->error, "Exited with code %d", a->exit_code);
}

void oneshot_take_streams(struct oneshot_answer *a, const struct exec_result *result)
{
    for (size_t i = 0; i < OUTPUT_STREAMS; i++)
        oneshot_append_text(&a->streams[i], &result->streams[i]);
    a->duration_ms = result->duration_ms;
    a->is_truncated |= result->is_truncated;
    json_decref(a->replaced);
    a->replaced = json_incref(json_object_get(result->extra, "replaced"));
    for (size_t i = 0; i < result->n_outputs; i++) {
        if (a->outputs == NULL)
            a->outputs = json_array();
        json_array_append(a->outputs, result->outputs[i].output);
    }
}

void oneshot_take_result(struct oneshot_answer *a, const struct oneshot_request *request,
                         const struct exec_result *result)
{
    oneshot_take_streams(a, result);
    if (result->status == CELL_TIMEOUT)
        oneshot_take_timeout(a, request->timeout_ms);
    else if (result->status == CELL_DIED)
        oneshot_take_death(a, result);
    else if (result->error != NULL)
        oneshot_take_error(a, result);
    else
        oneshot_take_end(a, result);
}

void oneshot_add_state_error(struct oneshot_answer *a, const char *text)
{
    if (a->state_errors == NULL)
        a->state_errors = json_array();
    json_array_append_new(a->state_errors, json_string(text));
}

void oneshot_free_answer(struct oneshot_answer *a)
{
    for (size_t i = 0; i < OUTPUT_STREAMS; i++)
        buf_free(&a->streams[i]);
    buf_free(&a->error);
    json_decref(a->outputs);
    json_decref(a->replaced);
    json_decref(a->state_errors);
    free(a->state);
    for (size_t i = 0; i < a->n_files; i++)
        free(a->files[i].path);
    free(a->files);
}
