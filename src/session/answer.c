#include "session/answer.h"

#include "runtime/display.h"
#include "session/recorder.h"
#include "session/wait.h"
#include "wire/json.h"

enum {
    OUTPUTS_STEP = 8,
    KEPT_VALUE_MAX = 4 * 1024 * 1024, /* larger ones are cut before the caller is known */
};

/* ---- typed outputs -----------------------------------------------------------------------------
 */

static const char *string_of(const json_t *object, const char *name)
{
    const char *s = json_string_value(json_object_get(object, name));
    return s != NULL ? s : "";
}

/* Stands for an output that has no shorter form. */
static json_t *make_note(const json_t *output, size_t size)
{
    const json_t *width = json_object_get(output, "width");
    const json_t *height = json_object_get(output, "height");
    char shape[64] = "";
    if (width != NULL && height != NULL)
        snprintf(shape, sizeof(shape), " of %lld x %lld", (long long)json_integer_value(width),
                 (long long)json_integer_value(height));
    return json_pack("{ss so}", "type", "text", "text",
                     json_sprintf("[%.16s%s left out: %zu bytes are over the budget; ask with a "
                                  "larger budget to get it]",
                                  string_of(output, "type"), shape, size));
}

static void cut_text_member(json_t *output, size_t room)
{
    const json_t *text = json_object_get(output, "text");
    _buf_ struct buf cut = BUF_INIT(SIZE_MAX / 4);
    size_t others = display_size(output) - json_string_length(text);
    output_cut_text(json_string_value(text), json_string_length(text),
                    room > others ? room - others : 0, &cut);
    json_object_set_new(output, "text", json_stringn_nocheck(buf_str(&cut), cut.len));
}

static bool is_picture(const json_t *output)
{
    const char *type = string_of(output, "type");
    return strcmp(type, "image") == 0 || strcmp(type, "svg") == 0;
}

/* Pictures have an allowance of their own: cut they would be worthless, and as text they would take
 * all the room there is. */
static bool goes_beside_budget(struct exec *exec, const json_t *output)
{
    size_t size = display_size(output);
    if (!is_picture(output) || size > exec->pictures_left)
        return false;
    exec->pictures_left -= size;
    return true;
}

/* A form of the output that fits into `room` bytes, as far as that can be: without its markup, with
 * its text cut, or only a note. Takes the reference and returns one; counts what was left out. */
static json_t *fit_output(json_t *output, size_t room, uint64_t *omitted)
{
    size_t size = display_size(output);
    if (size <= room)
        return output;
    if (json_object_get(output, "ref") != NULL) { /* where it can be had is answer enough */
        json_object_del(output, "data");
        json_object_del(output, "svg");
        *omitted += size - display_size(output);
        return output;
    }
    if (is_picture(output) || !json_is_string(json_object_get(output, "text"))) {
        json_t *note = make_note(output, size);
        json_t *id = json_object_get(output, "display_id");
        if (id != NULL) /* an update may be shorter */
            json_object_set(note, "display_id", id);
        json_decref(output);
        *omitted += size;
        return note;
    }
    /* The text says the same as the markup in fewer bytes. */
    if (json_object_del(output, "html") == 0 || json_object_del(output, "json") == 0)
        if (json_object_get(output, "rows") == NULL)
            json_object_set_new(output, "type", json_string("text"));
    size_t left = display_size(output);
    if (left > room && json_object_del(output, "head") == 0)
        left = display_size(output);
    if (left > room && json_object_del(output, "dtypes") == 0)
        left = display_size(output);
    if (left > room)
        cut_text_member(output, room);
    *omitted += size - MIN(size, MIN(left, room));
    return output;
}

/* Takes the reference; the caller keeps what it gets. */
static json_t *admit(struct exec *exec, json_t *output)
{
    if (goes_beside_budget(exec, output))
        return output;
    size_t room = exec->budget - MIN(exec->budget, exec->outputs_size);
    output = fit_output(output, room, &exec->omitted_output_bytes);
    exec->outputs_size += display_size(output);
    return output;
}

/* What it took is free for others. */
static void release(struct exec *exec, json_t *output)
{
    size_t size = display_size(output);
    if (is_picture(output))
        exec->pictures_left += size;
    else
        exec->outputs_size -= MIN(exec->outputs_size, size);
    json_decref(output);
}

void answer_add_output(struct exec *exec, json_t *output)
{
    if (exec->n_outputs == EXEC_OUTPUTS_MAX) {
        exec->omitted_output_bytes += display_size(output);
        return;
    }
    if (exec->n_outputs % OUTPUTS_STEP == 0)
        exec->outputs =
            mem_realloc(exec->outputs, (exec->n_outputs + OUTPUTS_STEP) * sizeof(*exec->outputs));
    exec->outputs[exec->n_outputs++] = admit(exec, json_incref(output));
}

bool answer_update_output(struct exec *exec, const json_t *output)
{
    const char *id = string_of(output, "display_id");
    bool is_found = false;
    for (size_t i = 0; i < exec->n_outputs; i++) {
        const json_t *theirs = json_object_get(exec->outputs[i], "display_id");
        if (theirs == NULL || strcmp(json_string_value(theirs), id) != 0)
            continue;
        release(exec, exec->outputs[i]);
        exec->outputs[i] = admit(exec, json_copy((json_t *)(uintptr_t)output));
        is_found = true;
    }
    return is_found;
}

/* ---- clearing ----------------------------------------------------------------------------------
 */

static bool has_more(const struct exec *exec)
{
    bool has = exec->n_outputs > exec->clear.n_outputs;
    for (size_t i = 0; i < OUTPUT_STREAMS; i++)
        has = has || exec->pipes[i].capture.total > exec->clear.totals[i];
    return has;
}

static void drop_shown(struct exec *exec)
{
    size_t n = MIN(exec->clear.n_outputs, exec->n_outputs);
    exec->clear.is_pending = false;
    for (size_t i = 0; i < n; i++)
        release(exec, exec->outputs[i]);
    exec->n_outputs -= n;
    for (size_t i = 0; i < exec->n_outputs; i++)
        exec->outputs[i] = exec->outputs[i + n];
    if (exec->n_outputs == 0) { /* so that there is a place for every OUTPUTS_STEP-th */
        free(exec->outputs);
        exec->outputs = NULL;
        exec->outputs_size = 0;
    } else {
        size_t room = (exec->n_outputs + OUTPUTS_STEP - 1) / OUTPUTS_STEP * OUTPUTS_STEP;
        exec->outputs = mem_realloc(exec->outputs, room * sizeof(*exec->outputs));
    }
    exec->omitted_output_bytes = 0;
    for (size_t i = 0; i < OUTPUT_STREAMS; i++)
        output_capture_forget(&exec->pipes[i].capture, &exec->session->rings[i], exec->id,
                              exec->clear.totals[i]);
}

void answer_clear_pending(struct exec *exec)
{
    if (exec->clear.is_pending && has_more(exec))
        drop_shown(exec);
}

void answer_clear(struct exec *exec, bool waits)
{
    answer_clear_pending(exec);
    exec->clear = (struct exec_clear){.is_pending = true, .n_outputs = exec->n_outputs};
    for (size_t i = 0; i < OUTPUT_STREAMS; i++)
        exec->clear.totals[i] = exec->pipes[i].capture.total;
    if (!waits)
        drop_shown(exec);
}

/* ---- texts -------------------------------------------------------------------------------------
 */

enum claim { CLAIM_STDOUT, CLAIM_STDERR, CLAIM_TRACEBACK, CLAIM_MESSAGE, CLAIMS };

/* Small claims get all they ask for, the rest an equal share of what is left. */
static void share_fairly(size_t total, const uint64_t claims[CLAIMS], size_t shares[CLAIMS])
{
    bool is_served[CLAIMS] = {0};
    size_t n_open = CLAIMS;
    for (bool has_changed = true; has_changed && n_open > 0;) {
        has_changed = false;
        size_t share = total / n_open;
        for (size_t i = 0; i < CLAIMS; i++) {
            if (is_served[i] || claims[i] > share)
                continue;
            shares[i] = (size_t)claims[i];
            total -= shares[i];
            is_served[i] = has_changed = true;
            n_open--;
        }
    }
    for (size_t i = 0; i < CLAIMS; i++)
        if (!is_served[i])
            shares[i] = total / n_open;
}

/* The texts of an answer while it is made. */
struct texts {
    struct buf bufs[CLAIMS];
    struct exec_text cut[CLAIMS];
    json_t *value;
};

static struct exec_text as_text(const struct buf *buf, uint64_t omitted)
{
    return (struct exec_text){.text = buf_str(buf), .len = buf->len, .omitted = omitted};
}

static void cut_streams(const struct exec *exec, const size_t shares[CLAIMS], struct texts *texts)
{
    for (size_t i = 0; i < OUTPUT_STREAMS; i++) {
        const struct output_capture *capture = &exec->pipes[i].capture;
        struct buf *buf = &texts->bufs[i];
        uint64_t omitted = 0;
        if (output_capture_new(capture) > 0)
            omitted =
                output_capture_write(capture, &exec->session->rings[i], exec->id, shares[i], buf);
        texts->cut[i] = as_text(buf, omitted);
    }
}

static void cut_string(const char *s, size_t len, size_t share, struct buf *buf,
                       struct exec_text *ret)
{
    if (len <= share)
        *ret = (struct exec_text){.text = s, .len = len};
    else
        *ret = as_text(buf, output_cut_text(s, len, share, buf));
}

static void free_texts(struct texts *texts)
{
    for (size_t i = 0; i < CLAIMS; i++)
        buf_free(&texts->bufs[i]);
    json_decref(texts->value);
}

/* ---- the answer --------------------------------------------------------------------------------
 */

bool answer_error(const struct answer_facts *facts, struct exec_error *error)
{
    const json_t *driver = facts->error;
    if (driver == NULL && facts->death == NULL && facts->own_name == NULL)
        return false;
    *error = (struct exec_error){
        .name = string_of(driver, "name"),
        .message = {.text = string_of(driver, "message")},
        .traceback = {.text = json_string_value(json_object_get(driver, "traceback"))},
        .line = json_object_get(driver, "line"),
        .column = json_object_get(driver, "column"),
    };
    if (facts->death != NULL) {
        error->name = facts->death->name;
        error->message.text = facts->death->message;
        error->advice = facts->death->advice;
    }
    if (facts->own_name != NULL) {
        error->name = facts->own_name;
        error->message.text = facts->own_message;
    }
    if (facts->advice != NULL)
        error->advice = facts->advice;
    error->message.len = strlen(error->message.text);
    if (error->traceback.text != NULL)
        error->traceback.len = strlen(error->traceback.text);
    return true;
}

/* Returns the bytes that it takes of the budget. */
static size_t fit_value(struct exec *exec, const struct answer_facts *facts, uint64_t text_need,
                        struct exec_result *result, json_t **ret_value)
{
    *ret_value = json_incref(facts->value);
    if (facts->value == NULL || goes_beside_budget(exec, facts->value))
        return 0;
    size_t reserve = (size_t)MIN(text_need, (uint64_t)exec->budget / 4);
    size_t room = exec->budget - MIN(exec->budget, exec->outputs_size + reserve);
    *ret_value = fit_output(*ret_value, room, &result->omitted_output_bytes);
    return display_size(*ret_value);
}

/* Fills in everything that is text, each within its share of what the typed outputs left. A message
 * of ours, which has no claim, is short and stays whole. */
static void fit_texts(const struct exec *exec, size_t left, const uint64_t claims[CLAIMS],
                      struct texts *texts, struct exec_result *result, struct exec_error *error)
{
    size_t shares[CLAIMS] = {0};
    share_fairly(left, claims, shares);
    cut_streams(exec, shares, texts);
    memcpy(result->streams, texts->cut, sizeof(result->streams));
    if (result->error == NULL)
        return;
    if (claims[CLAIM_MESSAGE] > 0)
        cut_string(error->message.text, error->message.len, shares[CLAIM_MESSAGE],
                   &texts->bufs[CLAIM_MESSAGE], &error->message);
    if (error->traceback.text != NULL)
        cut_string(error->traceback.text, error->traceback.len, shares[CLAIM_TRACEBACK],
                   &texts->bufs[CLAIM_TRACEBACK], &error->traceback);
}

static bool is_truncated(const struct exec_result *result, const struct exec_error *error)
{
    return result->omitted_output_bytes > 0 || error->message.omitted > 0 ||
           error->traceback.omitted > 0 || result->streams[OUTPUT_STDOUT].omitted > 0 ||
           result->streams[OUTPUT_STDERR].omitted > 0;
}

static struct exec_result begin_result(const struct exec *exec, const struct answer_facts *facts)
{
    const struct death *death = facts->death;
    return (struct exec_result){
        .exec_id = exec->id,
        .status = facts->status,
        .is_queued = exec->started_ns == 0,
        .question = facts->status == EXEC_INPUT ? exec->question : NULL,
        .outputs = exec->outputs,
        .n_outputs = exec->n_outputs,
        .omitted_output_bytes = exec->omitted_output_bytes,
        .has_exit_code = death != NULL ? death->has_exit_code : facts->has_exit_code,
        .exit_code = death != NULL ? death->exit_code : facts->exit_code,
        .names = facts->names,
        .has_last_status = facts->has_last_status,
        .last_status = facts->last_status,
        .command_status = facts->command_status,
        .denied = exec->denied,
        .duration_ms = facts->duration_ms,
        .checkpoint = exec->checkpoint,
        .saved_through = exec->session->saving.through,
        .is_rolled_back = exec->is_rolled_back,
        .rolled_back_to = exec->rolled_back_to,
        .extra = exec->extra,
        .cell = exec->cell[0] != '\0' ? exec->cell : NULL,
        .cell_number = exec->cell_number,
        .unrecorded = exec->unrecorded,
    };
}

static void free_outputs(json_t **outputs, size_t n)
{
    for (size_t i = 0; i < n; i++)
        json_decref(outputs[i]);
    free(outputs);
}

/* The next answer begins with nothing but the rests. */
static void start_over(struct exec *exec, const struct output_rest rests[OUTPUT_STREAMS])
{
    exec->outputs = NULL;
    exec->n_outputs = exec->outputs_size = exec->clear.n_outputs = 0;
    exec->omitted_output_bytes = 0;
    exec->denied = NULL;
    for (size_t i = 0; i < OUTPUT_STREAMS; i++)
        output_capture_restart(&exec->pipes[i].capture, &rests[i]);
}

static void make_texts(struct exec *exec, const struct answer_facts *facts, struct texts *texts,
                       struct exec_result *result, struct exec_error *error)
{
    bool is_ours = facts->death != NULL || facts->own_name != NULL;
    uint64_t claims[CLAIMS] = {output_capture_new(&exec->pipes[OUTPUT_STDOUT].capture),
                               output_capture_new(&exec->pipes[OUTPUT_STDERR].capture),
                               error->traceback.len, is_ours ? 0 : error->message.len};
    uint64_t text_need = 0;
    for (size_t i = 0; i < CLAIMS; i++) {
        text_need += claims[i];
        texts->bufs[i] = BUF_INIT(SIZE_MAX / 4);
    }
    json_t *value;
    size_t typed = fit_value(exec, facts, text_need, result, &value) + exec->outputs_size;
    result->value = texts->value = value;
    size_t left = MAX(exec->budget - MIN(exec->budget, typed), exec->budget / 4);
    fit_texts(exec, left, claims, texts, result, error);
    result->is_truncated = is_truncated(result, error);
}

void answer_send(struct exec *exec, const struct answer_facts *facts)
{
    bool is_last = facts->status != EXEC_RUNNING && facts->status != EXEC_INPUT;
    if (!is_last)
        recorder_lasting(exec); /* the answer names its cell */
    if (exec->clear.is_pending && (facts->value != NULL || facts->error != NULL))
        drop_shown(exec);
    answer_clear_pending(exec);
    struct output_rest rests[OUTPUT_STREAMS] = {0};
    for (size_t i = 0; i < OUTPUT_STREAMS && !is_last; i++)
        output_capture_set_aside(&exec->pipes[i].capture, &exec->session->rings[i], exec->id,
                                 &rests[i]);
    struct exec_result result = begin_result(exec, facts);
    struct exec_error error = {0};
    if (answer_error(facts, &error))
        result.error = &error;
    struct texts texts = {0};
    make_texts(exec, facts, &texts, &result, &error);

    /* The listener may end the session, and the cell with it. */
    const struct exec_listener *listener = exec->listener;
    void *context = exec->context;
    json_t **outputs = exec->outputs;
    size_t n_outputs = exec->n_outputs;
    struct exec_denied *denied = exec->denied;
    json_t *extra = json_incref(exec->extra);
    exec_detach(exec);
    start_over(exec, rests);
    listener->on_result(context, &result);
    free_outputs(outputs, n_outputs);
    free_texts(&texts);
    free(denied);
    json_decref(extra);
}

/* ---- an answer that nobody waits for -----------------------------------------------------------
 */

void answer_drop(struct exec *exec)
{
    free_outputs(take_ptr(exec->outputs), exec->n_outputs);
    exec->n_outputs = 0;
    for (size_t i = 0; i < OUTPUT_STREAMS; i++)
        output_capture_free(&exec->pipes[i].capture);
}

static size_t bytes_kept(const struct exec *exec, const struct answer_facts *facts)
{
    size_t bytes = sizeof(*exec) + display_size(facts->value) + display_size(facts->error) +
                   display_size(facts->names);
    for (size_t i = 0; i < exec->n_outputs; i++)
        bytes += display_size(exec->outputs[i]);
    for (size_t i = 0; i < OUTPUT_STREAMS; i++)
        bytes += exec->pipes[i].capture.head.cap;
    return bytes;
}

struct exec_outcome *answer_keep(struct exec *exec, const struct answer_facts *facts)
{
    struct exec_outcome *outcome = mem_alloc(sizeof(*outcome));
    outcome->facts = *facts;
    json_incref(facts->value);
    if (facts->value != NULL && display_size(facts->value) > KEPT_VALUE_MAX)
        outcome->facts.value = fit_output(facts->value, exec->budget, &exec->omitted_output_bytes);
    json_incref(facts->error);
    json_incref(facts->names);
    if (facts->own_message != NULL)
        outcome->facts.own_message = outcome->own_message = mem_strdup(facts->own_message);
    outcome->bytes = bytes_kept(exec, &outcome->facts);
    return outcome;
}

void answer_forget(struct exec_outcome *outcome)
{
    json_decref(outcome->facts.value);
    json_decref(outcome->facts.error);
    json_decref(outcome->facts.names);
    free(outcome->own_message);
    free(outcome);
}
