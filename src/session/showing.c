/* What a running cell shows besides text, on its way into the transcript, the row and the
 * answer. Runs in the daemon's loop; owns the one picture that a cell waits for. */
#include "session/showing.h"

#include "cell/display.h"
#include "cell/redact.h"
#include "loop/loop.h"
#include "session/pictures.h"

/* A picture that is on its way to the store. */
struct exec_pending {
    uint64_t serial; /* in the transcript */
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

/* True if the output is kept first, because it is a picture. `verdict` is NULL if the
 * output is not the value. */
static bool showing_waits(struct exec *exec, json_t *output, enum recording_place place,
                          const struct head_verdict *verdict)
{
    if (exec->record == NULL || !display_is_picture(output))
        return false;
    uint64_t serial = pictures_keep(exec, output, place);
    if (serial == 0)
        return false;
    struct exec_pending *pending = mem_alloc(sizeof(*pending));
    pending->serial = serial;
    pending->output = json_incref(output);
    pending->is_update = place == RECORDING_UPDATED;
    if (verdict != NULL) {
        pending->is_value = true;
        pending->verdict = *verdict;
        json_incref(verdict->error);
        json_incref(verdict->names);
    }
    exec->pending = pending;
    return true;
}

/* A model reads the words of an output and sees its picture: other forms are nothing to it. */
static bool showing_has_forms(const struct exec *exec)
{
    return exec->has_inline_images && !exec->cell->transcript.has_tools;
}

/* To the caller, now and in the next answer. `is_same` if the output is what the row has. */
static void showing_tell(struct exec *exec, uint64_t serial, json_t *output, bool is_update,
                         bool is_same)
{
    if (display_leave_one_form(output, exec->has_html, showing_has_forms(exec)))
        is_same = false;
    if (exec->listener != NULL && exec->listener->on_display != NULL)
        exec->listener->on_display(exec->context, output, is_update);
    transcript_tell(&exec->cell->transcript, serial, json_incref(output), is_same);
}

/* An interpreter that does not wait for the acknowledgement: then neither do we. */
static void showing_hurry(struct exec *exec)
{
    if (exec->pending == NULL)
        return;
    showing_tell(exec, exec->pending->serial, exec->pending->output, exec->pending->is_update,
                 false);
    showing_abandon(exec);
}

void showing_on_display(struct session *session, json_t *output, bool is_update)
{
    struct exec *exec = session->running;
    enum recording_place place = is_update ? RECORDING_UPDATED : RECORDING_SHOWN;
    showing_hurry(exec);
    exec_drain(exec);
    if (exec->pipes[OUTPUT_STDOUT].is_redacted)
        redact_output(output);
    const json_t *words = display_words(output);
    exec_echo(exec, OUTPUT_STDOUT,
              json_string_value(words ? words : json_object_get(output, "text")));
    if (showing_waits(exec, output, place, NULL))
        return;
    uint64_t serial = transcript_show(&exec->cell->transcript, output, is_update);
    recording_shown(exec, output, place);
    showing_tell(exec, serial, output, is_update, true);
    head_ack(session->head);
}

void showing_on_clear(struct session *session, bool waits)
{
    struct exec *exec = session->running;
    showing_hurry(exec);
    exec_drain(exec);
    transcript_clear(&exec->cell->transcript, waits);
    recording_clear(exec, waits);
    if (exec->listener != NULL && exec->listener->on_clear != NULL)
        exec->listener->on_clear(exec->context, waits);
    head_ack(session->head);
}

void showing_on_verdict(struct session *session, const struct head_verdict *verdict)
{
    if (session->ending.wish != DEATH_UNWISHED)
        return; /* it was killed meanwhile: its end is the answer */
    struct exec *exec = session->running;
    struct transcript *t = &exec->cell->transcript;
    showing_hurry(exec);
    exec_drain(exec);
    if (exec->pipes[OUTPUT_STDOUT].is_redacted) {
        redact_output(verdict->value);
        redact_output(verdict->error);
        redact_output(verdict->names);
    }
    if (verdict->ran_plain && exec->replaced != NULL) {
        if (exec->extra == NULL)
            exec->extra = json_object();
        json_object_set_new(exec->extra, "replaced", json_string(exec->replaced));
    }
    if (verdict->value != NULL || verdict->error != NULL)
        transcript_clear_if_due(t);
    if (verdict->value != NULL) {
        if (showing_waits(exec, verdict->value, RECORDING_VALUE, verdict)) {
            /* It has ended: its time is not to end it once more. */
            session->alarm = ALARM_NONE;
            loop_timer_clear(session->timer);
            return;
        }
        transcript_conclude(t, verdict->value, true);
        recording_shown(exec, verdict->value, RECORDING_VALUE);
        exec->has_recorded_value =
            !display_leave_one_form(verdict->value, exec->has_html, showing_has_forms(exec));
    }
    exec_conclude(session, verdict);
}

void exec_displayed(struct exec *exec, const json_t *shown, json_t *output, bool is_same)
{
    if (exec->pending == NULL || exec->pending->output != shown)
        return; /* the interpreter was in a hurry: another one is waited for, or none */
    struct exec_pending *pending = exec->pending;
    struct session *session = exec->session;
    if (!pending->is_value) {
        showing_tell(exec, pending->serial, output, pending->is_update, is_same);
        showing_abandon(exec);
        head_ack(session->head);
        return;
    }
    struct head_verdict verdict = pending->verdict;
    exec->pending = NULL;
    if (session->ending.wish == DEATH_UNWISHED) {
        exec->has_recorded_value =
            !display_leave_one_form(output, exec->has_html, showing_has_forms(exec)) && is_same;
        verdict.value = output;
        exec_drain(exec);
        exec_conclude(session, &verdict);
    }
    json_decref(pending->output);
    json_decref(verdict.error);
    json_decref(verdict.names);
    free(pending);
}
