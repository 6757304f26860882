/* Makes answers: what is new in a cell's transcript, how the cell ended, and the texts of both in
 * fair shares of the caller's budget. Runs in the daemon's loop; owns what a kept end refers to. */
#include "session/answer.h"

#include "cell/display.h"
#include "cell/prose.h"
#include "session/recording.h"
#include "session/spill.h"
#include "session/wait.h"
#include "wire/json.h"

enum {
    KEPT_VALUE_MAX = 4 * 1024 * 1024, /* larger ones are cut before the caller is known */
    MESSAGE_PREVIEW = 1024,           /* bytes of an error's message, where nobody said how much */
    ERROR_PREVIEW = 2 * 1024,         /* likewise of all that is said of an error */
    ANSWER_LINES_WHOLE = 400,         /* of a text that comes whole, likewise */
};

/* ---- texts ----------------------------------------------------------------------------------- */

enum claim { CLAIM_STDOUT, CLAIM_STDERR, CLAIM_TRACEBACK, CLAIM_MESSAGE, CLAIMS };

/* The texts while they are made. */
struct answer_texts {
    struct buf cut[CLAIMS];    /* as the answer has them */
    struct buf folded[CLAIMS]; /* whole; of streams and the traceback */
    bool is_folded[CLAIMS];    /* else the stream was too long for that */
    struct buf script;
};

/* Small claims get all they ask for, the rest an equal share of what is left. */
static void answer_share_fairly(size_t total, const uint64_t claims[CLAIMS], size_t shares[CLAIMS])
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

static struct exec_text answer_text(const struct buf *buf, uint64_t omitted)
{
    return (struct exec_text){.text = buf_str(buf), .len = buf->len, .omitted = omitted};
}

static void answer_cut_string(const struct exec *exec, const char *s, size_t len, size_t share,
                              struct buf *buf, struct exec_text *ret)
{
    if (len <= share)
        *ret = (struct exec_text){.text = s, .len = len};
    else if (exec->is_lean)
        *ret = answer_text(buf, prose_cut(s, len, share, NULL, buf));
    else
        *ret = answer_text(buf, output_cut_text(s, len, share, buf));
}

/* How the rest of a stream is read. */
static void answer_say_where(const struct exec *exec, enum output_stream stream,
                             char where[TRANSCRIPT_WHERE_SIZE])
{
    unsigned long long number = exec->id;
    if (exec->cell->transcript.has_tools)
        transcript_say_where(&exec->cell->transcript, where);
    else
        snprintf(where, TRANSCRIPT_WHERE_SIZE, "GET …/output?number=%llu%s", number,
                 stream == OUTPUT_STDERR ? "&stream=stderr" : "");
}

/* ---- the answer ------------------------------------------------------------------------------ */

bool answer_error(const struct exec_outcome *outcome, struct exec_error *error)
{
    const json_t *driver = outcome->verdict.error;
    if (driver == NULL && outcome->death == NULL && outcome->own_name == NULL)
        return false;
    *error = (struct exec_error){
        .name = json_string_value(json_object_get(driver, "name")),
        .message = {.text = json_string_value(json_object_get(driver, "message"))},
        .traceback = {.text = json_string_value(json_object_get(driver, "traceback"))},
        .line = json_object_get(driver, "line"),
        .column = json_object_get(driver, "column"),
    };
    if (outcome->death != NULL) {
        error->name = outcome->death->name;
        error->message.text = outcome->death->message;
        error->advice = outcome->death->advice;
    }
    if (outcome->own_name != NULL) {
        error->name = outcome->own_name;
        error->message.text = outcome->own_message;
    }
    if (outcome->advice != NULL)
        error->advice = outcome->advice;
    error->message.len = strlen(error->message.text);
    if (error->traceback.text != NULL)
        error->traceback.len = strlen(error->traceback.text);
    return true;
}

/* The value, as far as it fits beside the outputs and `text_need` bytes of text. Returns the bytes
 * that it takes of the budget; the result's value is to be dropped. */
static size_t answer_fit_value(struct exec *exec, json_t *value, uint64_t text_need,
                               struct exec_result *result)
{
    struct transcript *t = &exec->cell->transcript;
    if (value == NULL)
        return 0;
    json_incref(value);
    if (transcript_takes_picture(t, value)) {
        result->value.output = value;
        return 0;
    }
    uint64_t omitted = result->omitted_output_bytes;
    size_t reserve = (size_t)MIN(text_need, (uint64_t)t->budget / 4);
    size_t shown = exec->is_streamed ? 0 : t->news_size;
    size_t room = t->budget - MIN(t->budget, shown + reserve);
    if (exec->preview > 0 && display_size(value) > room)
        room = MIN(room, exec->preview);
    value = transcript_fit(t, value, room, &result->omitted_output_bytes);
    bool is_whole = omitted == result->omitted_output_bytes;
    result->value = transcript_value(t, value, exec->has_recorded_value && is_whole);
    return display_size(value);
}

/* One stream within its share. */
static uint64_t answer_put_stream(const struct exec *exec, enum output_stream stream, size_t share,
                                  struct answer_texts *texts)
{
    const struct transcript *t = &exec->cell->transcript;
    const struct buf *folded = &texts->folded[stream];
    char where[TRANSCRIPT_WHERE_SIZE];
    bool is_whole = !texts->is_folded[stream] && transcript_new_text(t, stream) <= share;
    if (!exec->is_lean || is_whole)
        return transcript_put_text(t, stream, share, &texts->cut[stream]);
    answer_say_where(exec, stream, where);
    if (!texts->is_folded[stream])
        return transcript_put_ends(t, stream, share, where, &texts->cut[stream]);
    return prose_cut(buf_str(folded), folded->len, share, where, &texts->cut[stream]);
}

/* Everything that is text, each within its share of what the typed outputs left. A message of ours,
 * which has no claim, is short and stays whole. */
static void answer_fit_texts(const struct exec *exec, size_t left, const uint64_t claims[CLAIMS],
                             struct answer_texts *texts, struct exec_result *result,
                             struct exec_error *error)
{
    size_t shares[CLAIMS] = {0};
    answer_share_fairly(left, claims, shares);
    for (size_t i = 0; i < OUTPUT_STREAMS; i++) {
        uint64_t omitted = 0;
        if (claims[i] > 0)
            omitted = answer_put_stream(exec, (enum output_stream)i, shares[i], texts);
        result->streams[i] = answer_text(&texts->cut[i], omitted);
    }
    if (result->error == NULL)
        return;
    if (claims[CLAIM_MESSAGE] > 0)
        answer_cut_string(exec, error->message.text, error->message.len, shares[CLAIM_MESSAGE],
                          &texts->cut[CLAIM_MESSAGE], &error->message);
    if (error->traceback.text != NULL)
        answer_cut_string(exec, error->traceback.text, error->traceback.len,
                          shares[CLAIM_TRACEBACK], &texts->cut[CLAIM_TRACEBACK], &error->traceback);
}

/* A traceback without what the other members of the error say, and with repeated frames once. */
static void answer_fold_traceback(struct exec_error *error, bool has_message, struct buf *folded)
{
    const char *text = error->traceback.text;
    size_t len = error->traceback.len;
    if (!has_message && error->name != NULL)
        prose_drop_message(&text, &len, error->name, error->message.text, error->message.len);
    prose_fold_frames(text, len, folded);
    error->traceback = (struct exec_text){.text = buf_str(folded), .len = folded->len};
}

static size_t answer_count_lines(const struct buf *text)
{
    size_t n = 0;
    for (size_t i = 0; i < text->len; i++)
        n += text->data[i] == '\n';
    return n;
}

/* Everything in one text, in the order in which it came, the error excepted. A list of many short
 * lines has few bytes and costs a model as much as a long text. */
static void answer_fit_script(const struct exec *exec, const struct exec_outcome *outcome,
                              struct answer_texts *texts, struct exec_result *result)
{
    const struct transcript *t = &exec->cell->transcript;
    char where[TRANSCRIPT_WHERE_SIZE];
    _buf_ struct buf whole = BUF_INIT(SIZE_MAX / 4);
    answer_say_where(exec, OUTPUT_STDOUT, where);
    if (!transcript_put_script(t, outcome->verdict.value, &whole)) {
        buf_clear(&whole);
        for (size_t i = 0; i < OUTPUT_STREAMS; i++)
            buf_append(&whole, result->streams[i].text, result->streams[i].len);
        for (size_t i = 0; i < result->n_outputs; i++) {
            display_put_words(result->outputs[i].output, !t->has_tools, &whole);
            buf_append_char(&whole, '\n');
        }
        if (result->value.output != NULL)
            display_put_words(result->value.output, !t->has_tools, &whole);
    }
    _buf_ struct buf lean = BUF_INIT(SIZE_MAX / 4);
    prose_fold_warnings(buf_str(&whole), whole.len, exec->cell->source, exec->cell->source_len,
                        &lean);
    bool is_long = lean.len > t->budget || answer_count_lines(&lean) > ANSWER_LINES_WHOLE;
    size_t share = exec->preview > 0 && is_long ? exec->preview : t->budget;
    result->script = answer_text(&texts->script,
                                 prose_cut(buf_str(&lean), lean.len, share, where, &texts->script));
}

static struct exec_result answer_begin(const struct exec *exec, const struct exec_outcome *outcome)
{
    const struct death *death = outcome->death;
    return (struct exec_result){
        .exec_id = exec->id,
        .status = outcome->status,
        .is_queued = exec->started_ns == 0,
        .question = outcome->status == CELL_INPUT ? exec->question : NULL,
        .omitted_output_bytes = exec->is_streamed ? 0 : exec->cell->transcript.news_omitted,
        .has_exit_code = death != NULL ? death->has_exit_code : outcome->verdict.has_exit_code,
        .exit_code = death != NULL ? death->exit_code : outcome->verdict.exit_code,
        .names = outcome->verdict.names,
        .has_last_status = outcome->verdict.has_last_status,
        .last_status = outcome->verdict.last_status,
        .command_status = outcome->verdict.command_status,
        .denied = exec->denied,
        .duration_ms = outcome->duration_ms,
        .checkpoint = exec->checkpoint,
        .saved_through = exec->session->saving.through,
        .is_rolled_back = exec->is_rolled_back,
        .rolled_back_to = exec->rolled_back_to,
        .final = exploring_final_of(&exec->session->exploring, exec->id),
        .extra = exec->extra,
        .cell = exec->cell->id[0] != '\0' && !exec->has_no_row ? exec->cell->id : NULL,
        .cell_number = exec->cell->number,
        .unrecorded = exec->unrecorded,
        .code = exec->cell->source,
        .code_len = exec->cell->source_len,
    };
}

/* Fills in what the budget is shared by: the value, the streams and the error. */
static void answer_fit(struct exec *exec, const struct exec_outcome *outcome,
                       struct answer_texts *texts, struct exec_result *result,
                       struct exec_error *error)
{
    const struct transcript *t = &exec->cell->transcript;
    bool is_ours = outcome->death != NULL || outcome->own_name != NULL;
    for (size_t i = 0; i < CLAIMS; i++)
        texts->cut[i] = texts->folded[i] = BUF_INIT(SIZE_MAX / 4);
    texts->script = BUF_INIT(SIZE_MAX / 4);
    if (exec->is_lean && error->traceback.len > 0)
        answer_fold_traceback(error, exec->wants_script, &texts->folded[CLAIM_TRACEBACK]);
    uint64_t claims[CLAIMS] = {[CLAIM_TRACEBACK] = error->traceback.len,
                               [CLAIM_MESSAGE] = is_ours ? 0 : error->message.len};
    if (exec->preview > 0) {
        claims[CLAIM_MESSAGE] = MIN(claims[CLAIM_MESSAGE], (uint64_t)MESSAGE_PREVIEW);
        claims[CLAIM_TRACEBACK] = MIN(claims[CLAIM_TRACEBACK], (uint64_t)ERROR_PREVIEW);
    }
    uint64_t text_need = claims[CLAIM_TRACEBACK] + claims[CLAIM_MESSAGE];
    for (size_t i = 0; i < OUTPUT_STREAMS && !exec->is_streamed; i++) {
        claims[i] = transcript_new_text(t, (enum output_stream)i);
        if (exec->is_lean && claims[i] > 0)
            texts->is_folded[i] = transcript_fold_text(t, (enum output_stream)i, &texts->folded[i]);
        if (texts->is_folded[i])
            claims[i] = texts->folded[i].len;
        text_need += claims[i];
    }
    size_t typed = answer_fit_value(exec, outcome->verdict.value, text_need, result);
    typed += exec->is_streamed ? 0 : t->news_size;
    size_t left = MAX(t->budget - MIN(t->budget, typed), t->budget / 4);
    if (exec->preview > 0 && text_need > left)
        left = MIN(left, exec->preview);
    answer_fit_texts(exec, left, claims, texts, result, error);
    result->is_truncated = result->omitted_output_bytes > 0 || error->message.omitted > 0 ||
                           error->traceback.omitted > 0 ||
                           result->streams[OUTPUT_STDOUT].omitted > 0 ||
                           result->streams[OUTPUT_STDERR].omitted > 0;
}

/* The output is in a file: the answer says where, and has its pictures and a short value. */
static void answer_name_spill(const struct exec *exec, struct answer_texts *texts,
                              struct transcript_news *news, struct exec_result *result)
{
    struct spill_note note;
    if (!spill_note(exec, &note))
        return;
    result->spill = json_incref((json_t *)(uintptr_t)note.file);
    if (exec->is_streamed)
        return;
    size_t n = 0;
    for (size_t i = 0; i < result->n_outputs; i++) {
        struct transcript_news one = news[i];
        if (!display_is_picture(one.output))
            continue;
        news[i] = news[n];
        news[n++] = one;
    }
    result->n_outputs = n;
    json_t *value = result->value.output;
    if (value != NULL && !display_is_picture(value) && display_size(value) > SPILL_VALUE_BYTES) {
        json_decref(value);
        result->value = (struct transcript_news){0};
    }
    struct buf *text = &texts->cut[CLAIM_STDOUT];
    buf_clear(text);
    buf_append(text, note.text, note.len);
    if (exec->wants_script)
        result->script = answer_text(text, 0);
    result->streams[OUTPUT_STDOUT] = answer_text(text, note.bytes);
    result->streams[OUTPUT_STDERR] = (struct exec_text){.text = ""};
    result->omitted_output_bytes = 0;
    result->is_truncated = true;
}

void answer_send(struct exec *exec, const struct exec_outcome *outcome)
{
    bool is_last = cell_has_ended(outcome->status);
    struct cell *cell = cell_ref(exec->cell);
    struct transcript *t = &cell->transcript;
    if (!is_last)
        recording_lasting(exec); /* the answer names its cell */
    transcript_begin_answer(t, is_last);
    struct exec_result result = answer_begin(exec, outcome);
    _json_ json_t *calls = outcome->status == CELL_TOOLS ? handed_told(exec->session) : NULL;
    result.tool_calls = calls;
    struct exec_error error = {0};
    if (answer_error(outcome, &error))
        result.error = &error;
    else
        result.advice = outcome->advice;
    struct answer_texts texts = {0};
    answer_fit(exec, outcome, &texts, &result, &error);
    struct transcript_news *news;
    size_t n_news = transcript_list_news(t, &news);
    result.outputs = news;
    result.n_outputs = exec->is_streamed ? 0 : n_news;
    if (exec->wants_script)
        answer_fit_script(exec, outcome, &texts, &result);
    if (is_last)
        answer_name_spill(exec, &texts, news, &result);
    transcript_end_answer(t);

    /* The listener may end the session, and the cell with it. */
    const struct exec_listener *listener = exec->listener;
    void *context = exec->context;
    _free_ struct exec_denied *denied = take_ptr(exec->denied);
    json_t *extra = json_incref(exec->extra);
    exec_detach(exec);
    listener->on_result(context, &result);
    transcript_free_news(news, n_news);
    for (size_t i = 0; i < CLAIMS; i++) {
        buf_free(&texts.cut[i]);
        buf_free(&texts.folded[i]);
    }
    buf_free(&texts.script);
    json_decref(result.value.output);
    json_decref((json_t *)(uintptr_t)result.spill);
    json_decref(extra);
    if (is_last)
        transcript_drop_answer(t);
    cell_release(cell);
}

/* ---- an answer that nobody waits for --------------------------------------------------------- */

struct exec_outcome *answer_keep(struct exec *exec, const struct exec_outcome *outcome)
{
    struct transcript *t = &exec->cell->transcript;
    struct exec_outcome *kept = mem_copy(outcome, sizeof(*outcome));
    struct head_verdict *verdict = &kept->verdict;
    json_incref(verdict->value);
    json_incref(verdict->error);
    json_incref(verdict->names);
    if (verdict->value != NULL && display_size(verdict->value) > KEPT_VALUE_MAX) {
        verdict->value = transcript_fit(t, verdict->value, t->budget, &t->news_omitted);
        exec->has_recorded_value = false;
    }
    kept->bytes = sizeof(*exec) + display_size(verdict->value) + display_size(verdict->error) +
                  display_size(verdict->names) + transcript_answer_bytes(t);
    return kept;
}

void answer_drop(struct exec_outcome *outcome)
{
    json_decref(outcome->verdict.value);
    json_decref(outcome->verdict.error);
    json_decref(outcome->verdict.names);
    free(outcome);
}
