#include "session/showing.h"

#include "loop/loop.h"
#include "session/recorder.h"

/* What the recorder is keeping. */
struct exec_pending {
    json_t *output;
    bool is_update;
    bool is_value; /* then the verdict waits, and its values are ours */
    struct head_verdict verdict;
};

void showing_abandon(struct exec *exec)
{
    struct exec_pending *pending = take_ptr(exec->pending);
    if (pending == NULL)
        return;
    json_decref(pending->output);
    json_decref(pending->verdict.error);
    json_decref(pending->verdict.names);
    free(pending);
}

static void wait_for_recorder(struct exec *exec, json_t *output, bool is_update,
                              const struct head_verdict *verdict)
{
    struct exec_pending *pending = mem_alloc(sizeof(*pending));
    pending->output = json_incref(output);
    pending->is_update = is_update;
    if (verdict != NULL) {
        pending->is_value = true;
        pending->verdict = *verdict;
        json_incref(verdict->error);
        json_incref(verdict->names);
    }
    exec->pending = pending;
}

/* What a terminal shows of a formula or of marked text, or NULL: of other types it is the text, and
 * "<... object>" says nothing. */
static json_t *words_of(const json_t *output)
{
    const char *type = json_string_value(json_object_get(output, "type"));
    json_t *plain = json_object_get(json_object_get(output, "mime"), "text/plain");
    const char *words = json_string_value(plain);
    if (type == NULL || words == NULL || words[0] == '<' ||
        (strcmp(type, "latex") != 0 && strcmp(type, "markdown") != 0))
        return NULL;
    return plain;
}

/* The notebook has all forms of an output, and what is known of them; an answer one, unless it is
 * to have all that is shown in it. */
static void leave_one_form(const struct exec *exec, json_t *output)
{
    if (exec->has_inline_images)
        return;
    json_t *words = words_of(output);
    if (words != NULL) { /* its source goes by the name of its type */
        const char *type = json_string_value(json_object_get(output, "type"));
        json_object_set(output, type, json_object_get(output, "text"));
        json_object_set(output, "text", words);
    }
    json_object_del(output, "mime");
    json_object_del(output, "metadata");
}

static void show(struct exec *exec, json_t *output, bool is_update)
{
    leave_one_form(exec, output);
    if (exec->listener != NULL && exec->listener->on_display != NULL)
        exec->listener->on_display(exec->context, output, is_update);
    if (!is_update || !answer_update_output(exec, output))
        answer_add_output(exec, output);
    answer_clear_pending(exec);
}

/* An interpreter that does not wait for the acknowledgement: then neither do we. */
static void hurry(struct exec *exec)
{
    if (exec->pending == NULL)
        return;
    show(exec, exec->pending->output, exec->pending->is_update);
    showing_abandon(exec);
}

void showing_on_display(struct session *session, json_t *output, bool is_update)
{
    struct exec *exec = session->running;
    hurry(exec);
    exec_drain(exec);
    const json_t *words = words_of(output);
    exec_echo(exec, OUTPUT_STDOUT,
              json_string_value(words ? words : json_object_get(output, "text")));
    if (recorder_display(exec, output, is_update ? RECORDER_UPDATED : RECORDER_SHOWN)) {
        wait_for_recorder(exec, output, is_update, NULL);
        return;
    }
    show(exec, output, is_update);
    head_ack(session->head);
}

void showing_on_clear(struct session *session, bool waits)
{
    struct exec *exec = session->running;
    hurry(exec);
    exec_drain(exec);
    recorder_clear(exec, waits);
    if (exec->listener != NULL && exec->listener->on_clear != NULL)
        exec->listener->on_clear(exec->context, waits);
    answer_clear(exec, waits);
    head_ack(session->head);
}

void showing_on_verdict(struct session *session, const struct head_verdict *verdict)
{
    if (session->ending.wish != DEATH_UNWISHED)
        return; /* it was killed meanwhile: its end is the answer */
    struct exec *exec = session->running;
    hurry(exec);
    exec_drain(exec);
    if (verdict->value != NULL && recorder_display(exec, verdict->value, RECORDER_VALUE)) {
        wait_for_recorder(exec, verdict->value, false, verdict);
        /* It has ended: its time is not to end it once more. */
        session->alarm = ALARM_NONE;
        loop_timer_clear(session->timer);
        return;
    }
    leave_one_form(exec, verdict->value);
    exec_conclude(session, verdict);
}

void exec_displayed(struct exec *exec, const json_t *shown, json_t *output)
{
    if (exec->pending == NULL || exec->pending->output != shown)
        return; /* the interpreter was in a hurry: another one is waited for, or none */
    struct exec_pending *pending = take_ptr(exec->pending);
    struct session *session = exec->session;
    if (!pending->is_value) {
        show(exec, output, pending->is_update);
        head_ack(session->head);
    } else if (session->ending.wish == DEATH_UNWISHED) {
        leave_one_form(exec, output);
        pending->verdict.value = output;
        exec_conclude(session, &pending->verdict);
    }
    json_decref(pending->output);
    json_decref(pending->verdict.error);
    json_decref(pending->verdict.names);
    free(pending);
}
