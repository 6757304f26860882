/* Outputs that are too long for an answer, in the daemon's loop. Owns what a running cell has
 * written so far. Everything in it comes from a sandbox: sizes meet their limits here. */
#include "session/spill.h"

#include "base/utf8.h"
#include "cell/display.h"
#include "cell/prose.h"
#include "explore/chars.h"
#include "session/engine_state.h"
#include "session/exec.h"

/* That a preview is made of: enough for the longest, whatever its characters. */
enum { SPILL_HEAD_BYTES = 32 * 1024, SPILL_TAIL_BYTES = 16 * 1024 };

struct spill {
    int blobs;                  /* the store of blobs */
    struct buf head;            /* all of it before a file is begun, then its first bytes */
    struct buf tail;            /* the last bytes, and perhaps some before them */
    struct blob_writer *writer; /* NULL before the file is begun */
    int status;                 /* of writing: 0 or -errno */
    uint64_t bytes, chars, line_ends;
    bool ends_line; /* so far, with a whole line */
    struct {
        char bytes[4]; /* of a character that is not whole yet */
        size_t n;
    } held[OUTPUT_STREAMS];
    json_t *entry; /* what the state has of the file; NULL if it was not made */
    json_t *file;  /* what the answer has of it; NULL if the session does not have it */
    struct buf note;
};

static void spill_drop(struct spill *spill)
{
    buf_free(&spill->head);
    buf_free(&spill->tail);
    blob_writer_free(spill->writer);
    json_decref(spill->entry);
    json_decref(spill->file);
    buf_free(&spill->note);
    *spill = (struct spill){.blobs = spill->blobs,
                            .head = BUF_INIT(SPILL_MEMORY),
                            .tail = BUF_INIT(SIZE_MAX / 4),
                            .note = BUF_INIT(64 * KIB)};
}

/* ---- what comes ------------------------------------------------------------------------------ */

/* More than memory should hold: from now on it goes to a file. */
static void spill_write(struct spill *spill, const char *text, size_t len)
{
    if (spill->writer == NULL && spill->status == 0) {
        spill->status = blob_writer_new(spill->blobs, &spill->writer);
        if (spill->status == 0)
            spill->status = blob_writer_add(spill->writer, spill->head.data, spill->head.len);
        spill->head.len = MIN(spill->head.len, (size_t)SPILL_HEAD_BYTES);
    }
    size_t room = SPILL_BYTES_MAX - MIN((uint64_t)SPILL_BYTES_MAX, spill->bytes);
    if (len > room)
        len = output_whole_prefix(text, room);
    if (spill->status == 0)
        spill->status = blob_writer_add(spill->writer, text, len);
}

/* Whole characters, as far as the bytes are text. */
static void spill_add(struct spill *spill, const char *text, size_t len)
{
    if (len == 0)
        return;
    _buf_ struct buf valid = BUF_INIT(SIZE_MAX / 4);
    utf8_append_lossy(&valid, text, len);
    if (spill->writer != NULL || spill->status < 0 || spill->head.len + valid.len > SPILL_MEMORY)
        spill_write(spill, valid.data, valid.len);
    else
        buf_append(&spill->head, valid.data, valid.len);
    buf_append(&spill->tail, valid.data, valid.len);
    if (spill->tail.len > (size_t)2 * SPILL_TAIL_BYTES)
        buf_consume(&spill->tail, spill->tail.len - SPILL_TAIL_BYTES);
    spill->bytes += valid.len;
    for (size_t i = 0; i < valid.len; i++) {
        spill->chars += ((unsigned char)valid.data[i] & 0xc0) != 0x80;
        spill->line_ends += valid.data[i] == '\n';
    }
    spill->ends_line = valid.data[valid.len - 1] == '\n';
}

static void spill_on_text(void *context, enum output_stream stream, const char *bytes, size_t len)
{
    struct spill *spill = context;
    _buf_ struct buf joined = BUF_INIT(SIZE_MAX / 4);
    if (spill->held[stream].n > 0) {
        buf_append(&joined, spill->held[stream].bytes, spill->held[stream].n);
        buf_append(&joined, bytes, len);
        bytes = buf_str(&joined);
        len = joined.len;
    }
    size_t whole = output_whole_prefix(bytes, len);
    spill_add(spill, bytes, whole);
    spill->held[stream].n = len - whole;
    memcpy(spill->held[stream].bytes, bytes + whole, len - whole);
}

/* The words of a display or of the value, on lines of their own. */
static void spill_on_output(void *context, const json_t *output)
{
    struct spill *spill = context;
    _buf_ struct buf words = BUF_INIT(SIZE_MAX / 4);
    if (spill->bytes > 0 && !spill->ends_line)
        buf_append_char(&words, '\n');
    display_put_words(output, false, &words);
    buf_append_char(&words, '\n');
    spill_add(spill, words.data, words.len);
}

static void spill_on_clear(void *context)
{
    spill_drop(context);
}

void spill_begin(struct exec *exec)
{
    static const struct transcript_sink sink = {
        .on_text = spill_on_text, .on_output = spill_on_output, .on_clear = spill_on_clear};
    int blobs = exec->session->engine->blobs;
    if (blobs < 0)
        return;
    exec->spill = mem_alloc(sizeof(*exec->spill));
    exec->spill->blobs = blobs;
    spill_drop(exec->spill);
    transcript_tap(&exec->cell->transcript, &sink, exec->spill);
}

void spill_free(struct exec *exec)
{
    struct spill *spill = take_ptr(exec->spill);
    if (spill == NULL)
        return;
    transcript_tap(&exec->cell->transcript, NULL, NULL);
    spill_drop(spill);
    free(spill);
}

/* ---- the end --------------------------------------------------------------------------------- */

/* A progress bar has thousands of characters and is one line in the end. */
static bool spill_is_long(const struct spill *spill, size_t cap)
{
    size_t chars = 0;
    _buf_ struct buf folded = BUF_INIT(SIZE_MAX / 4);
    if (spill->chars <= cap || spill->writer != NULL)
        return spill->chars > cap;
    prose_fold(buf_str(&spill->head), spill->head.len, &folded);
    chars_prefix(buf_str(&folded), folded.len, SIZE_MAX, &chars);
    return chars > cap;
}

void spill_end(struct exec *exec)
{
    struct blob_put put;
    char name[32], hex[BLOB_HEX_SIZE];
    const struct engine *engine = exec->session->engine;
    struct spill *spill = exec->spill;
    if (spill == NULL)
        return;
    transcript_tap(&exec->cell->transcript, NULL, NULL);
    for (size_t i = 0; i < OUTPUT_STREAMS; i++) /* a character that was never finished */
        spill_add(spill, spill->held[i].bytes, spill->held[i].n);
    if (spill->status < 0 || !spill_is_long(spill, engine->config.output_cap))
        return;
    spill->status = spill->writer != NULL
                        ? blob_writer_finish(spill->writer, &put)
                        : blob_put_bytes(engine->blobs, spill->head.data, spill->head.len, &put);
    if (spill->status < 0)
        return;
    snprintf(name, sizeof(name), "turn_%llu.txt", (unsigned long long)exec->id);
    spill->entry =
        json_pack("{s:s, s:s, s:I, s:I, s:I}", "name", name, "hash", blob_hex(&put.hash, hex),
                  "bytes", (json_int_t)put.bytes, "chars", (json_int_t)spill->chars, "lines",
                  (json_int_t)(spill->line_ends + !spill->ends_line));
}

/* ---- the note -------------------------------------------------------------------------------- */

/* The bytes of the first lines, or of the first characters if that is less. */
static size_t spill_head_len(const struct buf *head, size_t n_lines, size_t n_chars)
{
    size_t chars, max = chars_prefix(buf_str(head), head->len, n_chars, &chars);
    for (size_t at = 0; at < max; at++)
        if (head->data[at] == '\n' && --n_lines == 0)
            return at + 1;
    return max;
}

static bool spill_is_inside(char byte)
{
    return ((unsigned char)byte & 0xc0) == 0x80; /* of a character, not its first */
}

/* Likewise of the last ones. */
static size_t spill_tail_len(const struct buf *tail, size_t n_lines, size_t n_chars)
{
    size_t at = tail->len;
    for (; at > 0; at--) {
        if (tail->data[at - 1] == '\n' && at < tail->len && --n_lines == 0)
            break;
        if (!spill_is_inside(tail->data[at - 1]) && n_chars-- == 0)
            break;
    }
    while (at < tail->len && spill_is_inside(tail->data[at]))
        at++;
    return tail->len - at;
}

static void spill_begin_line(struct buf *out)
{
    if (out->len > 0 && out->data[out->len - 1] != '\n')
        buf_append_char(out, '\n');
}

/* What stands for the output: its first and last lines. */
static void spill_put_summary(const struct spill *spill, size_t preview, struct buf *out)
{
    size_t end = preview / 3;
    bool has_lines = spill->line_ends + !spill->ends_line > SPILL_HEAD_LINES + SPILL_TAIL_LINES;
    size_t head_lines = has_lines ? SPILL_HEAD_LINES : SIZE_MAX, head_chars = 0, tail_chars = 0;
    size_t tail_lines = has_lines ? SPILL_TAIL_LINES : SIZE_MAX;
    if (!has_lines && spill->chars <= preview) {
        buf_append(out, spill->head.data, spill->head.len);
        return;
    }
    size_t head = spill_head_len(&spill->head, head_lines, preview - end);
    size_t tail = spill_tail_len(&spill->tail, tail_lines, end);
    const char *last = spill->tail.data + spill->tail.len - tail;
    chars_prefix(buf_str(&spill->head), head, SIZE_MAX, &head_chars);
    chars_prefix(last, tail, SIZE_MAX, &tail_chars);
    buf_append(out, spill->head.data, head);
    spill_begin_line(out);
    buf_printf(out, "[... %llu chars ...]\n",
               (unsigned long long)(spill->chars - head_chars - tail_chars));
    buf_append(out, last, tail);
}

void spill_enter(struct exec *exec)
{
    struct spill *spill = exec->spill;
    char path[EXPLORING_SPILL_PATH_SIZE];
    if (spill == NULL || spill->entry == NULL || spill->file != NULL)
        return;
    struct buf *out = &spill->note;
    json_t *chars = json_object_get(spill->entry, "chars");
    json_t *lines = json_object_get(spill->entry, "lines");
    exploring_spill_path(exec->session, spill->entry, path);
    _json_ json_t *dropped = exploring_add_spill(exec->session, json_incref(spill->entry));
    spill->file = json_pack("{s:s, s:O, s:O}", "path", path, "chars", chars, "lines", lines);
    buf_printf(out, "[Output: %lld chars, %lld lines → %s]\n", (long long)json_integer_value(chars),
               (long long)json_integer_value(lines), path);
    uint32_t preview = exec->session->engine->config.preview_chars;
    spill_put_summary(spill, preview > 0 ? preview : SPILL_PREVIEW_CHARS, out);
    spill_begin_line(out);
    if (spill->bytes > SPILL_BYTES_MAX)
        buf_printf(out, "[%s has the first %d MiB of it]\n", path, (int)(SPILL_BYTES_MAX / MIB));
    for (size_t i = 0; i < json_array_size(dropped); i++) {
        char old[EXPLORING_SPILL_PATH_SIZE];
        exploring_spill_path(exec->session, json_array_get(dropped, i), old);
        buf_printf(out, "[dropped: %s]\n", old);
    }
    buf_printf(out, "[peek(\"%s\") and grep(\"%s\", \"pattern\") look into it]\n", path, path);
}

bool spill_note(const struct exec *exec, struct spill_note *ret)
{
    const struct spill *spill = exec->spill;
    if (spill == NULL || spill->file == NULL)
        return false;
    *ret = (struct spill_note){.text = buf_str(&spill->note),
                               .len = spill->note.len,
                               .file = spill->file,
                               .bytes = spill->bytes};
    return true;
}
