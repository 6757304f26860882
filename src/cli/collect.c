#include "cli/collect.h"

#include "cli/advice.h"
#include "cli/api.h"
#include "cli/cell.h"
#include "runtime/display.h"

enum { STREAM_BYTES = 64 }; /* of an output with the text of a stream, besides that */

static struct notebook_cell *cell_of(const struct cli_collect *c)
{
    return &c->doc->cells[c->number];
}

void cli_collect_begin(struct cli_collect *c, struct document *doc, size_t number, size_t room)
{
    room = MIN(room, (size_t)CLI_COLLECT_BYTES_MAX);
    *c = (struct cli_collect){
        .doc = doc,
        .number = number,
        .room = room,
        .room_max = room,
        .text = BUF_INIT(CLI_COLLECT_BYTES_MAX),
    };
    json_array_clear(cell_of(c)->outputs);
}

/* ---- adding ------------------------------------------------------------------------------------
 */

/* It goes, and leaves its room to what comes. */
static void give_back(struct cli_collect *c, const json_t *output)
{
    c->room = MIN(c->room + display_size(output), c->room_max);
}

/* Takes the reference. */
static void collect_add(struct cli_collect *c, json_t *output)
{
    json_t *outputs = cell_of(c)->outputs;
    size_t size = display_size(output);
    if (size > c->room || json_array_size(outputs) >= CLI_COLLECT_OUTPUTS_MAX) {
        c->omitted_bytes += size;
        json_decref(output);
        return;
    }
    c->room -= size;
    json_array_append_new(outputs, output);
}

static json_t *collect_make_stream(bool is_stderr, const char *text, size_t len)
{
    json_t *output = json_object();
    json_object_set_new(output, "type", json_string("text"));
    json_object_set_new(output, "stream", json_string(is_stderr ? "stderr" : "stdout"));
    json_object_set_new(output, "text", json_stringn_nocheck(text, len));
    return output;
}

/* The text of the stream that went on until now. */
static void end_text(struct cli_collect *c)
{
    if (c->text.len > 0)
        collect_add(c, collect_make_stream(c->is_stderr, c->text.data, c->text.len));
    buf_clear(&c->text);
}

static void collect_clear(struct cli_collect *c)
{
    json_t *outputs = cell_of(c)->outputs, *output;
    size_t i;
    json_array_foreach(outputs, i, output)
    {
        give_back(c, output);
    }
    json_array_clear(outputs);
    buf_clear(&c->text);
    c->is_clear_pending = false;
    c->omitted_bytes = 0;
}

static void clear_pending(struct cli_collect *c)
{
    if (c->is_clear_pending)
        collect_clear(c);
}

static void collect_add_text(struct cli_collect *c, bool is_stderr, const char *text, size_t len)
{
    clear_pending(c);
    if (is_stderr != c->is_stderr)
        end_text(c);
    c->is_stderr = is_stderr;
    size_t taken = c->text.len + STREAM_BYTES;
    size_t fits = MIN(len, c->room - MIN(c->room, taken));
    while (fits > 0 && fits < len && ((unsigned char)text[fits] & 0xc0) == 0x80)
        fits--; /* never half a character */
    buf_append(&c->text, text, fits);
    c->omitted_bytes += len - fits;
}

/* ---- events ------------------------------------------------------------------------------------
 */

static bool collect_take_text(struct cli_collect *c, const json_t *event)
{
    size_t len = 0;
    const char *stream = cli_json_text(event, "stream", NULL);
    const char *text = cli_json_text(event, "text", &len);
    if (stream == NULL || text == NULL)
        return false;
    if (len > 0)
        collect_add_text(c, strcmp(stream, "stderr") == 0, text, len);
    return true;
}

/* Each copy counts: a cell decides how many there are. */
static void collect_replace(struct cli_collect *c, json_t *outputs, size_t at, const json_t *output)
{
    size_t size = display_size(output);
    const json_t *old = json_array_get(outputs, at);
    if (size > c->room + display_size(old)) {
        c->omitted_bytes += size;
        return;
    }
    give_back(c, old);
    c->room -= MIN(size, c->room);
    json_array_set_new(outputs, at, json_deep_copy(output));
}

/* In the place of all that the notebook has under its id, in earlier cells too. What is not there
 * any more is not updated. */
static void update(struct cli_collect *c, const json_t *output)
{
    const char *id = cli_json_text(output, "display_id", NULL);
    for (size_t i = 0; id != NULL && i <= c->number; i++) {
        json_t *outputs = c->doc->cells[i].outputs;
        for (size_t k = 0; k < json_array_size(outputs); k++) {
            const char *theirs = cli_json_text(json_array_get(outputs, k), "display_id", NULL);
            if (theirs != NULL && strcmp(theirs, id) == 0)
                collect_replace(c, outputs, k, output);
        }
    }
}

static void take_display(struct cli_collect *c, json_t *output, bool is_update)
{
    clear_pending(c);
    end_text(c);
    if (is_update)
        update(c, output);
    else
        collect_add(c, json_incref(output));
}

static void take_clear(struct cli_collect *c, bool waits)
{
    clear_pending(c);
    if (waits)
        c->is_clear_pending = true;
    else
        collect_clear(c);
}

bool cli_collect_event(void *context, const char *name, json_t *event)
{
    struct cli_collect *c = context;
    if (strcmp(name, "output") == 0)
        return collect_take_text(c, event);
    if (strcmp(name, "display") == 0)
        take_display(c, event, false);
    else if (strcmp(name, "update") == 0)
        take_display(c, event, true);
    else if (strcmp(name, "clear") == 0)
        take_clear(c, json_is_true(json_object_get(event, "wait")));
    return true; /* events of the future are nobody's loss */
}

/* ---- the end -----------------------------------------------------------------------------------
 */

/* Some events were too large or too fast. The answer has what they told, without the order between
 * streams and displays. */
static void take_from_answer(struct cli_collect *c, const json_t *answer)
{
    static const char *const streams[] = {"stdout", "stderr"};
    collect_clear(c);
    for (size_t i = 0; i < ARRAY_LEN(streams); i++) {
        size_t len = 0;
        const char *text = cli_json_text(answer, streams[i], &len);
        if (text != NULL && len > 0)
            collect_add_text(c, i == 1, text, len);
    }
    end_text(c);
    json_t *outputs = json_object_get(answer, "outputs"), *output;
    size_t i;
    json_array_foreach(outputs, i, output)
    {
        collect_add(c, json_incref(output));
    }
}

static bool is_late(const json_t *output)
{
    return json_is_true(json_object_get(output, "late"));
}

/* Before the figures that were left open, which are shown when the cell is over. */
static void add_value(struct cli_collect *c, const json_t *value)
{
    if (!json_is_object(value))
        return;
    json_t *output = json_copy((json_t *)(uintptr_t)value);
    json_object_set_new(output, "value", json_true());
    json_t *outputs = cell_of(c)->outputs;
    size_t size = json_array_size(outputs), at = size;
    while (at > 0 && is_late(json_array_get(outputs, at - 1)))
        at--;
    json_incref(output);
    collect_add(c, output);
    if (json_array_size(outputs) > size) {
        json_array_remove(outputs, size);
        json_array_insert(outputs, at, output);
    }
    json_decref(output);
}

static void collect_set_text(json_t *object, const char *name, const char *text)
{
    json_object_set_new(object, name, json_string(text != NULL ? text : ""));
}

/* Jupyter shows the traceback and nothing else, so there is always one. */
static json_t *collect_make_error(const char *name, const char *message, const char *traceback,
                                  const char *advice)
{
    json_t *output = json_object();
    collect_set_text(output, "type", "error");
    collect_set_text(output, "name", name);
    collect_set_text(output, "message", message);
    size_t len = traceback != NULL ? strlen(traceback) : 0;
    while (len > 0 && traceback[len - 1] == '\n')
        len--; /* it becomes a list of lines */
    if (len > 0) {
        json_object_set_new(output, "traceback", json_stringn_nocheck(traceback, len));
    } else {
        bool has_advice = advice != NULL && advice[0] != '\0';
        json_object_set_new(output, "traceback",
                            json_sprintf("%s: %s%s%s", name, message, has_advice ? "\n" : "",
                                         has_advice ? advice : ""));
    }
    if (advice != NULL)
        collect_set_text(output, "advice", advice);
    return output;
}

static void collect_add_error(struct cli_collect *c, const json_t *answer)
{
    const json_t *error = json_object_get(answer, "error");
    const char *name = cli_json_text(error, "name", NULL);
    const char *message = cli_json_text(error, "message", NULL);
    int64_t last_status = cli_json_int(answer, "last_status", 0);
    json_t *output = NULL;
    if (json_is_object(error)) {
        size_t len = 0;
        const char *advice = cli_json_text(error, "advice", &len);
        _buf_ struct buf here = BUF_INIT(64 * KIB);
        if (advice != NULL)
            cli_append_advice(&here, advice, len);
        output = collect_make_error(name != NULL ? name : "Error", message != NULL ? message : "",
                                    cli_json_text(error, "traceback", NULL),
                                    advice != NULL ? buf_str(&here) : NULL);
    } else if (last_status != 0) {
        char text[64];
        snprintf(text, sizeof(text), "the last command ended with %lld", (long long)last_status);
        output = collect_make_error("ExitStatus", text, NULL, NULL);
    }
    if (output != NULL) /* there is always room for it: it says why the cell failed */
        json_array_append_new(cell_of(c)->outputs, output);
}

static void note_omitted(struct cli_collect *c)
{
    char text[160];
    if (c->omitted_bytes == 0)
        return;
    snprintf(text, sizeof(text),
             "[%llu bytes of output were left out: a cell has at most %d MiB, a notebook %d]\n",
             (unsigned long long)c->omitted_bytes, CLI_COLLECT_BYTES_MAX >> 20,
             CLI_COLLECT_NOTEBOOK_MAX >> 20);
    json_array_append_new(cell_of(c)->outputs, collect_make_stream(true, text, strlen(text)));
}

void cli_collect_end(struct cli_collect *c, const json_t *answer, const struct err *why)
{
    if (answer == NULL) {
        end_text(c);
        note_omitted(c);
        json_array_append_new(cell_of(c)->outputs,
                              collect_make_error("Lost", why->message, NULL, why->advice));
        buf_free(&c->text);
        return;
    }
    bool has_more = json_is_object(json_object_get(answer, "value")) ||
                    json_is_object(json_object_get(answer, "error"));
    if (c->is_clear_pending && has_more)
        collect_clear(c);
    if (cli_json_int(answer, "dropped_bytes", 0) > 0)
        take_from_answer(c, answer);
    end_text(c);
    add_value(c, json_object_get(answer, "value"));
    note_omitted(c);
    collect_add_error(c, answer);
    buf_free(&c->text);
}
