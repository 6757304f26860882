/* What a head says: every frame is checked as if an enemy had written it. Daemon; on the loop. */
#include "base/channel.h"
#include "base/utf8.h"
#include "cell/display.h"
#include "runtime/declarations.h"
#include "runtime/head_parts.h"
#include "runtime/hints.h"
#include "runtime/names.h"
#include "wire/json.h"

enum {
    PROMPT_MAX = 4 * 1024,
    NOTE_MAX = 512, /* bytes of one text about what was lost */
    NOTES_MAX = 64,
    LOST_MAX = 128,
    MODULES_MAX = 256, /* of a profile */
    ERROR_NAME_MAX = 256,
    INDENT_MAX = 1000, /* columns */
    OP_NAME_MAX = 64,
};

static bool is_running(const struct head *head, const json_t *frame)
{
    const json_t *id = json_object_get(frame, "id");
    return head->state == HEAD_RUNNING && json_is_integer(id) &&
           (uint64_t)json_integer_value(id) == head->running_id;
}

static void on_entered(struct head *head, json_t *frame)
{
    json_int_t network = json_integer_value(json_object_get(frame, "net"));
    if (head->state != HEAD_ENTERING || head->is_copy || head->denied != NULL) {
        head_break(head, "it said that it entered a second time");
        return;
    }
    channel_refuse_descriptors(head->sock); /* the only one that may come has come */
    if (head->given >= 0)
        head->denied = denials_new(head->loop, take_fd(&head->given), (uint64_t)MAX(network, 0));
    if (head->denied != NULL)
        denials_join(head->denied, head);
}

/* A list of at most `max` objects whose members are short strings. */
static bool is_list_of_texts(const json_t *list, size_t max)
{
    size_t i;
    json_t *item;
    if (!json_is_array(list) || json_array_size(list) > max)
        return false;
    json_array_foreach(list, i, item) {
        const char *name;
        json_t *text;
        if (!json_is_object(item) || json_object_size(item) > 4)
            return false;
        json_object_foreach(item, name, text) {
            if (strlen(name) > 32 || !json_is_string(text) || json_string_length(text) > NOTE_MAX)
                return false;
        }
    }
    return true;
}

static bool is_list_of_strings(const json_t *list, size_t max)
{
    size_t i;
    json_t *item;
    if (!json_is_array(list) || json_array_size(list) > max)
        return false;
    json_array_foreach(list, i, item) {
        if (!json_is_string(item) || json_string_length(item) > NOTE_MAX)
            return false;
    }
    return true;
}

static bool is_report(const json_t *report)
{
    const json_t *python = json_object_get(report, "python");
    return json_object_size(report) == 4 && json_is_string(python) &&
           json_string_length(python) <= NOTE_MAX &&
           is_list_of_strings(json_object_get(report, "loaded"), MODULES_MAX) &&
           is_list_of_texts(json_object_get(report, "skipped"), MODULES_MAX) &&
           json_is_integer(json_object_get(report, "import_ms"));
}

static void on_ready(struct head *head, json_t *frame)
{
    if (head->state != HEAD_ENTERING || head->is_copy) {
        head_break(head, "it said that it is ready a second time");
        return;
    }
    json_t *report = json_object_get(frame, "report");
    if (head->report != NULL && is_report(report)) {
        json_decref(*head->report);
        *head->report = json_incref(report);
    }
    head_move(head, HEAD_IDLE);
    head->listener->on_ready(head, NULL);
}

static void on_woken(struct head *head, json_t *frame)
{
    const json_t *notes = json_object_get(frame, "notes");
    if (head->state != HEAD_ENTERING || !head->is_copy) {
        head_break(head, "it said that it woke without being asked");
    } else if (!is_list_of_texts(notes, NOTES_MAX)) {
        head_break(head, "its report of waking has malformed notes");
    } else {
        head_move(head, HEAD_IDLE);
        head->listener->on_ready(head, notes);
    }
}

static void on_forked(struct head *head, json_t *frame)
{
    const json_t *id = json_object_get(frame, "id"), *threads = json_object_get(frame, "threads");
    const json_t *reason = json_object_get(frame, "reason");
    if (head->n_forks == 0 || !json_is_integer(id)) {
        head_break(head, "it reported a checkpoint without being asked");
        return;
    }
    head->n_forks--;
    bool has_reason = json_is_string(reason) && json_string_length(reason) <= NOTE_MAX;
    json_int_t n = json_integer_value(threads);
    head->listener->on_forked(
        head, &(struct head_fork){.id = (uint64_t)json_integer_value(id),
                                  .is_forked = json_is_true(json_object_get(frame, "forked")),
                                  .threads = n > 0 && n < 1000000 ? (unsigned)n : 0,
                                  .reason = has_reason ? json_string_value(reason) : NULL});
}

static void on_loaded(struct head *head, json_t *frame)
{
    const json_t *message = json_object_get(frame, "message");
    bool is_sound = json_is_integer(json_object_get(frame, "restored")) &&
                    is_list_of_texts(json_object_get(frame, "lost"), LOST_MAX) &&
                    (message == NULL || json_is_null(message) ||
                     (json_is_string(message) && json_string_length(message) <= NOTE_MAX));
    if (head->state != HEAD_LOADING) {
        head_break(head, "it said that it loaded without being asked");
    } else if (!is_sound) {
        head_break(head, "its report of what was loaded is malformed");
    } else {
        head_move(head, HEAD_IDLE);
        head->listener->on_loaded(head, frame);
    }
}

static void on_fatal(struct head *head, json_t *frame)
{
    const char *message = json_string_value(json_object_get(frame, "message"));
    bool is_starting = head->state == HEAD_ENTERING || head->state == HEAD_SETTING;
    if (!is_starting || message == NULL) {
        head_break(head, "a failure to start was reported after the start");
        return;
    }
    char text[256];
    snprintf(text, sizeof(text), "the driver could not start: %s", message);
    head_ended(head, &(struct head_end_facts){.how = HEAD_REFUSED, .text = text});
}

static void on_set(struct head *head, json_t *frame)
{
    (void)frame;
    if (head->state != HEAD_SETTING) {
        head_break(head, "it said that it is set up without being asked");
        return;
    }
    head_move(head, HEAD_IDLE);
    head->listener->on_set(head);
}

static void on_display(struct head *head, json_t *frame)
{
    struct err e;
    json_t *output = json_object_get(frame, "output");
    bool is_update = json_is_true(json_object_get(frame, "update"));
    if (!is_running(head, frame))
        head_break(head, "an output for a cell that does not run");
    else if (display_check(output, &e) < 0)
        head_break(head, e.message);
    else if (is_update && json_object_get(output, "display_id") == NULL)
        head_break(head, "an update of an output without a display_id");
    else
        head->listener->on_display(head, output, is_update);
}

static void on_clear(struct head *head, json_t *frame)
{
    const json_t *waits = json_object_get(frame, "wait");
    if (!is_running(head, frame))
        head_break(head, "it cleared the outputs of a cell that does not run");
    else if (waits != NULL && !json_is_boolean(waits))
        head_break(head, "it cleared outputs, and \"wait\" is not a boolean");
    else
        head->listener->on_clear(head, json_is_true(waits));
}

static void on_input(struct head *head, json_t *frame)
{
    const json_t *prompt = json_object_get(frame, "prompt");
    if (!is_running(head, frame)) {
        head_break(head, "a question of a cell that does not run");
    } else if (!json_is_string(prompt) || json_string_length(prompt) > PROMPT_MAX) {
        head_break(head, "a question without a prompt, or with one that is too long");
    } else {
        struct head_prompt ask = {.text = json_string_value(prompt),
                                  .len = json_string_length(prompt),
                                  .is_password = json_is_true(json_object_get(frame, "password"))};
        head->awaits_input = true;
        head->listener->on_input(head, &ask);
    }
}

static void on_call(struct head *head, json_t *frame)
{
    const json_t *op = json_object_get(frame, "op");
    json_t *args = json_object_get(frame, "args");
    if (!is_running(head, frame)) {
        head_break(head, "a call of a cell that does not run");
    } else if (!json_is_string(op) || json_string_length(op) > OP_NAME_MAX ||
               !json_is_object(args)) {
        head_break(head, "a call without the name of an operation, or without arguments");
    } else {
        head->awaits_result = true;
        head->has_called = true;
        head->listener->on_call(head, json_string_value(op), args);
    }
}

static void on_names(struct head *head, json_t *frame)
{
    struct err e;
    json_t *names = json_object_get(frame, "names");
    if (!head->is_asked) {
        head_break(head, "it listed names without being asked");
    } else if (names_check(names, &e) < 0) {
        head_break(head, e.message);
    } else {
        head->is_asked = false;
        head->listener->on_names(head, names);
    }
}

static void on_declared(struct head *head, json_t *frame)
{
    struct err e;
    if (!head->is_asked_declared) {
        head_break(head, "it listed declarations without being asked");
    } else if (declarations_check(frame, &e) < 0) {
        head_break(head, e.message);
    } else {
        head->is_asked_declared = false;
        head->listener->on_declared(head, frame);
    }
}

const char *const head_completeness_names[] = {[HEAD_COMPLETE] = "complete",
                                               [HEAD_INCOMPLETE] = "incomplete",
                                               [HEAD_INVALID] = "invalid",
                                               [HEAD_UNSURE] = "unknown",
                                               NULL};

static void on_is_complete(struct head *head, json_t *frame)
{
    const char *status = json_string_value(json_object_get(frame, "status"));
    json_int_t indent = json_integer_value(json_object_get(frame, "indent"));
    const char *const *names = head_completeness_names;
    size_t i = 0;
    while (names[i] != NULL && (status == NULL || strcmp(names[i], status) != 0))
        i++;
    if (head->judging != HEAD_ASKED_WHETHER_COMPLETE) {
        head_break(head, "it judged a text without being asked");
    } else if (names[i] == NULL) {
        head_break(head, "it judged a text with an unknown status");
    } else {
        head->judging = HEAD_ASKED_NOTHING;
        head->listener->on_judged(
            head, &(struct head_judgement){
                      .status = (enum head_completeness)i,
                      .goes_on = json_is_true(json_object_get(frame, "goes_on")),
                      .indent = indent > 0 && indent < INDENT_MAX ? (unsigned)indent : 0,
                  });
    }
}

static void on_hints(struct head *head, json_t *frame)
{
    struct err e;
    bool is_meaning = head->judging == HEAD_ASKED_MEANING;
    const char *ev = json_string_value(json_object_get(frame, "ev"));
    bool is_answer = strcmp(ev, is_meaning ? "inspect" : "complete") == 0;
    if (!is_answer || (!is_meaning && head->judging != HEAD_ASKED_COMPLETIONS)) {
        head_break(head, "it judged a text without being asked");
    } else if ((is_meaning ? hints_check_meaning : hints_check_completions)(frame, &e) < 0) {
        head_break(head, e.message);
    } else {
        head->judging = HEAD_ASKED_NOTHING;
        head->listener->on_judged(head,
                                  &(struct head_judgement){.hints = frame, .status = HEAD_UNSURE});
    }
}

static bool is_tool_error(const json_t *error)
{
    return json_object_size(error) == 3 && json_is_string(json_object_get(error, "code")) &&
           json_is_string(json_object_get(error, "message")) &&
           json_is_string(json_object_get(error, "advice"));
}

static void on_tool(struct head *head, json_t *frame)
{
    const json_t *id = json_object_get(frame, "id"), *error = json_object_get(frame, "error");
    bool has_result = json_object_get(frame, "result") != NULL;
    if (head->tool_call == 0 || !json_is_integer(id) ||
        (uint64_t)json_integer_value(id) != head->tool_call) {
        head_break(head, "it gave the result of a tool that was not called");
    } else if (has_result == (error != NULL) || (error != NULL && !is_tool_error(error))) {
        head_break(head, "the answer of a tool is neither a result nor an error");
    } else {
        head->tool_call = 0;
        head->listener->on_tool(head, frame);
    }
}

static bool is_error(const json_t *error)
{
    const json_t *traceback = json_object_get(error, "traceback");
    const json_t *line = json_object_get(error, "line");
    const json_t *column = json_object_get(error, "column");
    return json_is_string(json_object_get(error, "name")) &&
           json_is_string(json_object_get(error, "message")) &&
           (traceback == NULL || json_is_string(traceback) || json_is_null(traceback)) &&
           (line == NULL || json_is_integer(line) || json_is_null(line)) &&
           (column == NULL || json_is_integer(column) || json_is_null(column));
}

/* A member that a verdict may have: the status of a process. */
static int read_status(const json_t *frame, const char *name, bool *ret_has, int *ret_status,
                       struct err *e)
{
    const json_t *status = json_object_get(frame, name);
    if (status == NULL)
        return 0;
    json_int_t value = json_integer_value(status);
    if (!json_is_integer(status) || value < 0 || value > 255)
        return err_set(e, ERR_INVALID, "a verdict with a %s that no process can have", name);
    *ret_has = true;
    *ret_status = (int)value;
    return 0;
}

static int read_verdict(json_t *frame, struct head_verdict *verdict, struct err *e)
{
    const char *status = json_string_value(json_object_get(frame, "status"));
    if (!cell_find_status(status, &verdict->status) ||
        (verdict->status != CELL_COMPLETED && verdict->status != CELL_ERROR &&
         verdict->status != CELL_INTERRUPTED))
        return err_set(e, ERR_INVALID, "a verdict without a known status");

    verdict->value = json_object_get(frame, "value");
    if (json_is_null(verdict->value))
        verdict->value = NULL;
    if (verdict->value != NULL && display_check(verdict->value, e) < 0)
        return -1;
    verdict->error = json_object_get(frame, "error");
    if (json_is_null(verdict->error))
        verdict->error = NULL;
    if (verdict->error != NULL && !is_error(verdict->error))
        return err_set(e, ERR_INVALID, "an error whose members have the wrong types");
    /* A name is shown as it is, whatever the answer's budget. */
    const json_t *name = json_object_get(verdict->error, "name");
    if (json_string_length(name) > ERROR_NAME_MAX) {
        const char *text = json_string_value(name);
        size_t len = utf8_valid_prefix(text, ERROR_NAME_MAX);
        json_object_set_new(verdict->error, "name", json_stringn_nocheck(text, len));
    }
    verdict->names = json_object_get(frame, "names");
    if (verdict->names != NULL && names_check(verdict->names, e) < 0)
        return -1;
    verdict->ran_plain = json_is_true(json_object_get(frame, "plain"));
    bool has_failed = false;
    if (read_status(frame, "exit_code", &verdict->has_exit_code, &verdict->exit_code, e) < 0 ||
        read_status(frame, "command_status", &has_failed, &verdict->command_status, e) < 0)
        return -1;
    return read_status(frame, "last_status", &verdict->has_last_status, &verdict->last_status, e);
}

static void on_done(struct head *head, json_t *frame)
{
    struct err e;
    struct head_verdict verdict = {0};
    if (!is_running(head, frame)) {
        head_break(head, "a verdict on a cell that does not run");
    } else if (read_verdict(frame, &verdict, &e) < 0) {
        head_break(head, e.message);
    } else {
        head_move(head, HEAD_IDLE);
        head->running_id = 0;
        head->awaits_input = head->awaits_result = false;
        head->listener->on_done(head, &verdict);
    }
}

/* As if the driver had said that it could not. Whoever waits for a save sees the end of its socket.
 */
void head_on_unsent(struct head *head, enum head_order order, uint64_t id)
{
    static const char why[] = "the kernel passes no more descriptors on for the daemon's user";
    if (order == HEAD_ORDER_CELL && head->state == HEAD_RUNNING) {
        _json_ json_t *error = json_pack("{s:s, s:s+}", "name", "Unavailable", "message", why,
                                         "; the cell was not run: try again in a moment");
        struct head_verdict verdict = {.status = CELL_ERROR, .error = error};
        head_move(head, HEAD_IDLE);
        head->running_id = 0;
        head->listener->on_done(head, &verdict);
    } else if (order == HEAD_ORDER_CHECKPOINT && head->n_forks > 0) {
        head->n_forks--;
        head->listener->on_forked(head, &(struct head_fork){.id = id, .threads = 1, .reason = why});
    } else if (order == HEAD_ORDER_LOAD && head->state == HEAD_LOADING) {
        head_break(head, why);
    }
}

void head_on_frame(struct head *head, json_t *frame)
{
    static const struct {
        const char *ev;
        void (*take)(struct head *head, json_t *frame);
    } events[] = {
        {"done", on_done},
        {"checkpoint", on_forked},
        {"display", on_display},
        {"tool", on_tool},
        {"input", on_input},
        {"call", on_call},
        {"names", on_names},
        {"ready", on_ready},
        {"set", on_set},
        {"entered", on_entered},
        {"woken", on_woken},
        {"fatal", on_fatal},
        {"loaded", on_loaded},
        {"clear", on_clear},
        {"declarations", on_declared},
        {"is_complete", on_is_complete},
        {"complete", on_hints},
        {"inspect", on_hints},
    };
    const char *ev = json_string_value(json_object_get(frame, "ev"));
    for (size_t i = 0; ev != NULL && i < ARRAY_LEN(events); i++) {
        if (strcmp(events[i].ev, ev) == 0) {
            events[i].take(head, frame);
            return;
        }
    }
    head_break(head, "a frame of no known kind");
}
