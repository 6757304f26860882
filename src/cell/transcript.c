/* The transcript of a cell: one list of items and two streams of text, with what the row and the
 * answer want of them. Runs in the daemon's loop; owns its items, and shares its pieces of text
 * with the session's rings. Everything in it comes from a session and is hostile: sizes meet their
 * limits here. */
#include "cell/transcript.h"

#include "base/utf8.h"
#include "cell/display.h"
#include "cell/outputs.h"
#include "cell/prose.h"

enum {
    ITEMS_STEP = 4,
    TEXT_MIN = 1024,
    PIECE_MIN = 64,
    ESCAPED_MAX = 6, /* bytes of JSON that one byte may take */
    NOTE_MAX = 4 * 1024,
    CONCLUSION_MAX = 256 * 1024, /* for which there is room whatever came before */
    TRANSCRIPT_UTF8_MAX = 4,
};

void transcript_init(struct transcript *t, uint64_t exec_id, const char *cell_id,
                     struct output_ring *rings)
{
    *t = (struct transcript){.exec_id = exec_id, .cell_id = cell_id, .rings = rings};
    for (size_t i = 0; i < OUTPUT_STREAMS; i++)
        list_init(&t->streams[i].pieces);
}

void transcript_tap(struct transcript *t, const struct transcript_sink *sink, void *context)
{
    t->sink = sink;
    t->sink_context = context;
}

void transcript_record(struct transcript *t, size_t row_text, size_t row_bytes)
{
    t->row_text = MAX(row_text, (size_t)TEXT_MIN);
    t->row_bytes = row_bytes;
}

/* ---- text ------------------------------------------------------------------------------------ */

/* Bytes of the row's text that are its first, and where its last begin. */
static uint64_t row_head(const struct transcript *t)
{
    return t->row_text / 4 * 3;
}

static uint64_t row_tail_at(const struct transcript *t)
{
    return t->text_len - MIN(t->text_len, (uint64_t)t->row_text / 4);
}

/* Bytes of a stream that an answer begins with; the ring has those that it ends with. */
static size_t answer_head(const struct transcript *t, enum output_stream stream)
{
    return t->rings != NULL ? t->budget - MIN(t->budget / 2, t->rings[stream].max) : 0;
}

/* Lets go of what neither the row nor the next answer will tell. The newest piece stays: it may
 * have room for more. */
static void transcript_trim(struct transcript *t, enum output_stream stream)
{
    struct transcript_stream *s = &t->streams[stream];
    uint64_t head = row_head(t), tail_at = row_tail_at(t);
    uint64_t answer_end = s->told + answer_head(t, stream);
    LIST_EACH(&s->pieces, node) {
        struct output_piece *piece = CONTAINER_OF(node, struct output_piece, node);
        bool is_in_row = piece->item > 0 && t->row_text > 0 &&
                         (piece->at < head || piece->at + piece->len > tail_at);
        bool is_new = piece->offset < answer_end && piece->offset + piece->len > s->told;
        if (is_in_row || is_new || node->next == &s->pieces)
            continue;
        list_remove(&piece->node);
        output_piece_release(piece);
    }
}

/* The piece that the next bytes go to. */
static struct output_piece *transcript_piece(struct transcript *t, enum output_stream stream,
                                             uint64_t item, size_t len)
{
    struct transcript_stream *s = &t->streams[stream];
    size_t cap = PIECE_MIN;
    if (!list_is_empty(&s->pieces)) {
        struct output_piece *last = CONTAINER_OF(s->pieces.prev, struct output_piece, node);
        if (last->item == item && last->len < last->cap)
            return last;
        if (last->item == item)
            cap = 2 * last->cap;
    }
    cap = MIN(MAX(cap, len), (size_t)OUTPUT_PIECE_MAX);
    struct output_piece *piece = output_piece_new(cap);
    piece->item = item;
    piece->at = t->text_len;
    piece->offset = s->total;
    list_append(&s->pieces, &piece->node);
    transcript_trim(t, stream);
    return piece;
}

static struct transcript_item *transcript_add_item(struct transcript *t)
{
    if (t->n_items == t->cap) {
        t->cap += MAX(t->cap / 2, (size_t)ITEMS_STEP);
        t->items = mem_realloc(t->items, t->cap * sizeof(*t->items));
    }
    struct transcript_item *item = &t->items[t->n_items++];
    *item = (struct transcript_item){.serial = ++t->last_serial};
    return item;
}

/* The row's item that text of the stream goes to: the last one, else a new one. A row without room
 * for another takes the last of that stream. NULL if the row has no place for it. */
static struct transcript_item *transcript_item_for(struct transcript *t, enum output_stream stream)
{
    if (t->row_text == 0)
        return NULL;
    bool is_full = t->n_row >= TRANSCRIPT_ITEMS_MAX;
    for (size_t i = t->n_items; i-- > 0;) {
        struct transcript_item *item = &t->items[i];
        if (item->is_stream && item->stream == stream)
            return item;
        if (!is_full)
            break;
    }
    if (is_full)
        return NULL;
    struct transcript_item *item = transcript_add_item(t);
    item->is_stream = true;
    item->stream = stream;
    item->offset = t->streams[stream].total;
    t->n_row++;
    return item;
}

void transcript_append(struct transcript *t, enum output_stream stream, const char *bytes,
                       size_t len, bool is_aside)
{
    if (len == 0)
        return;
    transcript_clear_if_due(t);
    if (t->sink != NULL)
        t->sink->on_text(t->sink_context, stream, bytes, len);
    struct transcript_item *item = is_aside ? NULL : transcript_item_for(t, stream);
    for (const char *at = bytes; (at = memchr(at, '\n', len - (size_t)(at - bytes))) != NULL; at++)
        t->streams[stream].untold_lines++;
    while (len > 0) {
        struct output_piece *piece =
            transcript_piece(t, stream, item != NULL ? item->serial : 0, len);
        size_t part = MIN(len, piece->cap - piece->len);
        memcpy(piece->bytes + piece->len, bytes, part);
        piece->len += part;
        output_ring_append(&t->rings[stream], t->exec_id, piece, part);
        t->streams[stream].total += part;
        if (item != NULL) {
            item->len += part;
            t->text_len += part;
        }
        bytes += part;
        len -= part;
    }
}

/* ---- items ----------------------------------------------------------------------------------- */

/* What the answer would have had of it: the room is free for others. */
static void item_drop_news(struct transcript *t, struct transcript_item *item)
{
    if (item->news == NULL)
        return;
    size_t size = display_size(item->news);
    if (display_is_picture(item->news))
        t->pictures_left += size;
    else
        t->news_size -= MIN(t->news_size, size);
    json_decref(take_ptr(item->news));
    t->n_news--;
}

static void item_free(struct transcript *t, struct transcript_item *item)
{
    item_drop_news(t, item);
    t->typed_len -= item->text.len;
    t->n_row -= !item->is_aside;
    buf_free(&item->text);
    free(item->display_id);
    free(item->blob);
}

/* The item has this JSON from now on, which is taken. */
static void item_set_text(struct transcript *t, struct transcript_item *item, struct buf *text,
                          bool is_note)
{
    t->typed_len -= item->text.len;
    buf_free(&item->text);
    item->text = *text;
    *text = BUF_INIT(0);
    t->typed_len += item->text.len;
    item->is_note = is_note;
    free(take_ptr(item->blob));
}

/* Keeps the items that somebody wants: the row those that are not aside, the answer its news and
 * the value. */
static void transcript_prune(struct transcript *t)
{
    size_t n = 0;
    for (size_t i = 0; i < t->n_items; i++) {
        struct transcript_item *item = &t->items[i];
        bool is_in_row = t->row_text > 0 && !item->is_aside;
        bool is_untold = item->is_stream && t->budget > 0 &&
                         item->offset + item->len > t->streams[item->stream].told;
        if (is_in_row || is_untold || item->news != NULL || item->serial == t->value)
            t->items[n++] = *item;
        else
            item_free(t, item);
    }
    t->n_items = n;
}

void transcript_clear_if_due(struct transcript *t)
{
    if (t->clears)
        transcript_clear(t, false);
}

void transcript_clear_row(struct transcript *t)
{
    size_t n = 0;
    for (size_t i = 0; i < t->n_items; i++) {
        struct transcript_item *item = &t->items[i];
        bool is_for_others = item->updates != TRANSCRIPT_UPDATES_NONE && !item->is_aside;
        if (is_for_others) {
            item->updates = TRANSCRIPT_UPDATES_GONE;
        } else if (item->news == NULL) {
            item_free(t, item);
            continue;
        } else if (!item->is_aside) {
            item_set_text(t, item, &(struct buf){0}, false);
            item->is_same = false;
            item->is_aside = true;
            t->n_row--;
        }
        t->items[n++] = *item;
    }
    t->n_items = n;
    t->text_len = 0;
    for (size_t i = 0; i < OUTPUT_STREAMS; i++) {
        LIST_EACH(&t->streams[i].pieces, node) {
            CONTAINER_OF(node, struct output_piece, node)->item = 0;
        }
        transcript_trim(t, (enum output_stream)i);
    }
}

void transcript_clear(struct transcript *t, bool waits)
{
    t->clears = waits;
    if (waits)
        return;
    if (t->sink != NULL)
        t->sink->on_clear(t->sink_context);
    for (size_t i = 0; i < t->n_items; i++)
        item_drop_news(t, &t->items[i]);
    t->news_omitted = 0;
    for (size_t i = 0; i < OUTPUT_STREAMS; i++) {
        t->streams[i].told = t->streams[i].total;
        t->streams[i].untold_lines = 0;
    }
    transcript_clear_row(t);
}

void transcript_close(struct transcript *t)
{
    t->row_text = 0;
    transcript_prune(t);
    for (size_t i = 0; i < OUTPUT_STREAMS; i++)
        transcript_trim(t, (enum output_stream)i);
}

void transcript_detach(struct transcript *t)
{
    transcript_drop_answer(t);
    t->rings = NULL;
}

void transcript_free(struct transcript *t)
{
    for (size_t i = 0; i < t->n_items; i++)
        item_free(t, &t->items[i]);
    free(take_ptr(t->items));
    t->n_items = t->cap = 0;
    for (size_t i = 0; i < OUTPUT_STREAMS; i++)
        LIST_EACH(&t->streams[i].pieces, node) {
            list_remove(node);
            output_piece_release(CONTAINER_OF(node, struct output_piece, node));
        }
}

/* ---- typed outputs for the row --------------------------------------------------------------- */

/* The output as JSON; false if that takes more than `max` bytes. */
static bool typed_write(const json_t *output, size_t max, struct buf *out)
{
    struct json_out json = JSON_OUT(out);
    *out = BUF_INIT(max);
    if (display_size(output) <= max)
        json_put_value(&json, output);
    return out->len > 0 && !out->overflowed;
}

/* What stands for an output for which there is no room. */
static void typed_write_note(const char *id, const char *text, struct buf *out)
{
    _json_ json_t *note = json_pack("{ss ss}", "type", "text", "text", text);
    if (id != NULL)
        json_object_set_new(note, "display_id", json_string(id));
    buf_free(out);
    typed_write(note, NOTE_MAX, out);
}

static bool item_has_id(const struct transcript_item *item, const char *id)
{
    return item->display_id != NULL && strcmp(item->display_id, id) == 0;
}

/* Bytes that a new output may have in the row, with the room of those that it replaces (`id` is
 * NULL if it replaces none). */
static size_t row_room(const struct transcript *t, const char *id)
{
    size_t taken = t->typed_len + t->row_text, n = 0;
    for (size_t i = 0; i < t->n_items && id != NULL; i++)
        if (item_has_id(&t->items[i], id)) {
            taken -= t->items[i].text.len;
            n++;
        }
    return (t->row_bytes - MIN(t->row_bytes, taken)) / MAX(n, (size_t)1);
}

/* Each item with the id gets the text; false if there is none. */
static bool transcript_replace(struct transcript *t, const char *id, const struct buf *text,
                               bool is_note)
{
    bool is_found = false;
    for (size_t i = 0; i < t->n_items; i++) {
        struct transcript_item *item = &t->items[i];
        if (!item_has_id(item, id))
            continue;
        _buf_ struct buf copy = BUF_INIT(text->max);
        buf_append(&copy, buf_str(text), text->len);
        item_set_text(t, item, &copy, is_note);
        item->serial = t->last_serial + 1;
        item->is_same = false;
        if (item->updates == TRANSCRIPT_UPDATES_NONE)
            item->updates = TRANSCRIPT_UPDATES_ALSO;
        else if (item->updates == TRANSCRIPT_UPDATES_GONE)
            item->updates = TRANSCRIPT_UPDATES_OTHERS;
        is_found = true;
    }
    t->last_serial += is_found;
    return is_found;
}

uint64_t transcript_show(struct transcript *t, const json_t *output, bool is_update)
{
    transcript_clear_if_due(t);
    if (t->sink != NULL && !is_update)
        t->sink->on_output(t->sink_context, output);
    const char *id = json_string_value(json_object_get(output, "display_id"));
    const char *replaced = is_update ? id : NULL;
    _buf_ struct buf text = BUF_INIT(0);
    bool is_note = t->row_text > 0 && !typed_write(output, row_room(t, replaced), &text);
    if (is_note)
        typed_write_note(id, "[an output is left out: the cell has as much as a notebook keeps]",
                         &text);
    if (replaced != NULL && transcript_replace(t, id, &text, is_note))
        return t->last_serial;
    bool is_aside = t->row_text == 0 || t->n_row >= TRANSCRIPT_ITEMS_MAX;
    if (is_aside && t->n_news >= TRANSCRIPT_ITEMS_MAX)
        return 0;
    struct transcript_item *item = transcript_add_item(t);
    item->is_aside = is_aside;
    item->display_id = id != NULL ? mem_strdup(id) : NULL;
    if (is_aside)
        return item->serial;
    t->n_row++;
    item_set_text(t, item, &text, is_note);
    item->is_late = json_is_true(json_object_get(output, "late"));
    if (replaced != NULL)
        item->updates = TRANSCRIPT_UPDATES_OTHERS;
    return item->serial;
}

uint64_t transcript_conclude(struct transcript *t, const json_t *output, bool is_value)
{
    if (t->sink != NULL && is_value)
        t->sink->on_output(t->sink_context, output);
    if (t->row_text == 0)
        return 0;
    _buf_ struct buf text = BUF_INIT(0);
    bool fits = typed_write(output, MAX(row_room(t, NULL), (size_t)CONCLUSION_MAX), &text);
    if (!fits)
        typed_write_note(NULL, "[left out: it is larger than what a notebook keeps]", &text);
    struct transcript_item *item = transcript_add_item(t);
    item_set_text(t, item, &text, !fits);
    t->n_row++;
    if (!is_value)
        return item->serial;
    item->is_value = true;
    t->value = item->serial;
    /* It goes before what was shown after it. */
    size_t last = t->n_items - 1, at = last;
    while (at > 0 && t->items[at - 1].is_late)
        at--;
    if (at < last) {
        struct transcript_item value = t->items[last];
        memmove(&t->items[at + 1], &t->items[at], (last - at) * sizeof(value));
        t->items[at] = value;
    }
    return t->value;
}

bool transcript_shows(const struct transcript *t, const json_t *output)
{
    const char *id = json_string_value(json_object_get(output, "display_id"));
    for (size_t i = 0; i < t->n_items && id != NULL; i++) {
        enum transcript_updates updates = t->items[i].updates;
        bool is_shown = updates == TRANSCRIPT_UPDATES_NONE || updates == TRANSCRIPT_UPDATES_ALSO;
        if (is_shown && item_has_id(&t->items[i], id))
            return true;
    }
    return false;
}

/* ---- blobs ----------------------------------------------------------------------------------- */

void transcript_await_blob(struct transcript *t, uint64_t serial, uint64_t bytes)
{
    for (size_t i = 0; i < t->n_items; i++) {
        struct transcript_item *item = &t->items[i];
        if (item->serial != serial || item->is_stream || item->is_aside || item->is_note)
            continue;
        free(item->blob);
        item->blob = mem_alloc(sizeof(*item->blob));
        item->blob->bytes = bytes;
        item->blob->is_awaited = true;
    }
}

uint64_t transcript_blob_bytes(const struct transcript *t)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < t->n_items; i++)
        bytes += t->items[i].blob != NULL ? t->items[i].blob->bytes : 0;
    return bytes;
}

void transcript_name_blob(struct transcript *t, uint64_t serial, const char *hash)
{
    for (size_t i = 0; i < t->n_items; i++) {
        struct transcript_blob *blob = t->items[i].blob;
        if (blob == NULL || t->items[i].serial != serial)
            continue;
        snprintf(blob->hash, sizeof(blob->hash), "%s", hash);
        blob->is_awaited = false;
    }
}

void transcript_lose_blob(struct transcript *t, uint64_t serial, const char *why)
{
    char text[300];
    snprintf(text, sizeof(text), "[an image could not be kept: %.240s]", why);
    for (size_t i = 0; i < t->n_items; i++) {
        struct transcript_item *item = &t->items[i];
        if (item->serial != serial || item->blob == NULL)
            continue;
        _buf_ struct buf json = BUF_INIT(0);
        typed_write_note(item->display_id, text, &json);
        item_set_text(t, item, &json, true);
    }
}

/* ---- the row as JSON ------------------------------------------------------------------------- */

/* Writes the text of an item within `share` bytes, which may be less than what is held. Returns
 * the number of bytes left out. */
static uint64_t row_cut_text(const struct buf *head, const struct buf *tail, uint64_t total,
                             size_t share, struct buf *out)
{
    const char *end = buf_str(tail);
    size_t head_len = MIN(head->len, share / 4 * 3), end_len = MIN(tail->len, share / 4);
    end += tail->len - end_len;
    if (tail->len == 0) { /* all of it came while there was room: the end is in the head, too */
        end_len = MIN(head->len - head_len, share / 4);
        end = buf_str(head) + head->len - end_len;
    }
    return output_write_cut(buf_str(head), head_len, end, end_len, total, out);
}

/* The text of an item, whose pieces begin at `*node`; that is behind them afterwards. */
static void row_put_stream(const struct transcript *t, struct json_out *json,
                           const struct transcript_item *item, const struct list **node,
                           size_t share)
{
    uint64_t head_max = row_head(t), tail_at = row_tail_at(t), omitted = 0;
    _buf_ struct buf head = BUF_INIT(SIZE_MAX / 4), tail = BUF_INIT(SIZE_MAX / 4);
    const struct list *pieces = &t->streams[item->stream].pieces;
    for (; *node != pieces; *node = (*node)->next) {
        const struct output_piece *piece = CONTAINER_OF(*node, struct output_piece, node);
        if (piece->item > item->serial)
            break;
        if (piece->item < item->serial)
            continue;
        size_t first = (size_t)MIN(head_max - MIN(head_max, piece->at), (uint64_t)piece->len);
        size_t last = (size_t)MIN(tail_at - MIN(tail_at, piece->at), (uint64_t)piece->len);
        last = MAX(last, first);
        buf_append(&head, piece->bytes, first);
        buf_append(&tail, piece->bytes + last, piece->len - last);
    }
    if (head.len + tail.len == item->len && item->len <= share) {
        buf_append(&head, buf_str(&tail), tail.len);
    } else {
        _buf_ struct buf cut = BUF_INIT(SIZE_MAX / 4);
        omitted = row_cut_text(&head, &tail, item->len, share, &cut);
        buf_free(&head);
        head = cut;
        cut = BUF_INIT(0);
    }
    json_put_object(json);
    json_put_member_str(json, "type", "text");
    json_put_member_str(json, "stream", output_stream_name(item->stream));
    json_put_member_text(json, "text", buf_str(&head), head.len);
    if (omitted > 0)
        json_put_member_int(json, "omitted", (int64_t)omitted);
    json_put_object_end(json);
}

static void row_put_typed(struct json_out *json, const struct transcript_item *item)
{
    const struct transcript_blob *blob = item->blob;
    if (blob != NULL && blob->is_awaited)
        return;
    if (json->needs_comma)
        buf_append_char(json->buf, ',');
    buf_append(json->buf, buf_str(&item->text), item->text.len - 1); /* up to its brace */
    if (item->is_value)
        buf_append_str(json->buf, ",\"value\":true");
    if (blob != NULL)
        buf_printf(json->buf, OUTPUT_HASH "%s\"", blob->hash);
    if (item->updates != TRANSCRIPT_UPDATES_NONE)
        buf_printf(json->buf, OUTPUT_UPDATES "%u", (unsigned)item->updates);
    buf_append_char(json->buf, '}');
    json->needs_comma = true;
}

static void row_put_items(const struct transcript *t, size_t share, struct buf *out)
{
    struct json_out json = JSON_OUT(out);
    const struct list *nodes[OUTPUT_STREAMS];
    for (size_t i = 0; i < OUTPUT_STREAMS; i++)
        nodes[i] = t->streams[i].pieces.next;
    json_put_array(&json);
    for (size_t i = 0; i < t->n_items; i++) {
        const struct transcript_item *item = &t->items[i];
        if (item->is_stream)
            row_put_stream(t, &json, item, &nodes[item->stream], share);
        else if (!item->is_aside)
            row_put_typed(&json, item);
    }
    json_put_array_end(&json);
}

void transcript_put(const struct transcript *t, struct buf *out)
{
    if (t->n_row == 0)
        return;
    size_t from = out->len;
    row_put_items(t, SIZE_MAX, out);
    if (out->len - from <= t->row_bytes)
        return;
    /* Bytes that are no text take more room as JSON. */
    size_t share = (t->row_bytes - MIN(t->row_bytes, t->typed_len)) / ESCAPED_MAX / t->n_row;
    out->len = from;
    row_put_items(t, MAX(share, (size_t)64), out);
}

/* ---- the answer ------------------------------------------------------------------------------ */

bool transcript_takes_picture(struct transcript *t, const json_t *output)
{
    if (!display_is_picture(output))
        return false;
    size_t size = display_size(output);
    if (size > t->pictures_left)
        return false;
    t->pictures_left -= size;
    return true;
}

void transcript_say_where(const struct transcript *t, char where[TRANSCRIPT_WHERE_SIZE])
{
    bool is_named = t->session[0] != '\0';
    snprintf(where, TRANSCRIPT_WHERE_SIZE, "look(output=%llu%s%s%s)",
             (unsigned long long)t->exec_id, is_named ? ", session=\"" : "", t->session,
             is_named ? "\"" : "");
}

json_t *transcript_fit(const struct transcript *t, json_t *output, size_t room, uint64_t *omitted)
{
    char where[TRANSCRIPT_WHERE_SIZE];
    if (t->has_tools)
        transcript_say_where(t, where);
    else
        snprintf(where, sizeof(where), "GET /v1/notebooks/…/cells/%s", t->cell_id);
    return display_fit(output, room, t->cell_id[0] != '\0' ? where : NULL, omitted);
}

/* The item has this news, as far as there is room for it. The reference is taken. */
static void item_set_news(struct transcript *t, struct transcript_item *item, json_t *output,
                          bool is_same)
{
    if (!transcript_takes_picture(t, output)) {
        uint64_t omitted = t->news_omitted;
        output =
            transcript_fit(t, output, t->budget - MIN(t->budget, t->news_size), &t->news_omitted);
        t->news_size += display_size(output);
        is_same = is_same && omitted == t->news_omitted;
    }
    item->is_same = is_same && !item->is_aside && !item->is_note;
    item->news = output;
    t->n_news++;
}

void transcript_tell(struct transcript *t, uint64_t serial, json_t *output, bool is_same)
{
    struct transcript_item *first = NULL;
    bool is_told = false;
    for (size_t i = 0; i < t->n_items; i++) {
        struct transcript_item *item = &t->items[i];
        if (item->serial != serial || item->is_stream)
            continue;
        first = first != NULL ? first : item;
        if (item->news == NULL)
            continue;
        item_drop_news(t, item);
        item_set_news(t, item, json_copy(output), is_same);
        is_told = true;
    }
    if (serial == 0 || (first != NULL && !is_told && t->n_news >= TRANSCRIPT_ITEMS_MAX)) {
        t->news_omitted += display_size(output);
    } else if (first != NULL && !is_told) {
        item_set_news(t, first, json_incref(output), is_same);
        first->news_order = ++t->last_serial;
    }
    json_decref(output);
}

void transcript_begin_answer(struct transcript *t, bool is_last)
{
    transcript_prune(t); /* the JSON of the answer before is not needed any more */
    for (size_t i = 0; i < OUTPUT_STREAMS; i++) {
        struct transcript_stream *s = &t->streams[i];
        s->until = s->total;
        size_t len = (size_t)MIN(s->total - s->told, (uint64_t)TRANSCRIPT_UTF8_MAX - 1);
        if (is_last || len == 0)
            continue;
        _buf_ struct buf end = BUF_INIT(TRANSCRIPT_UTF8_MAX);
        struct output_range range;
        output_ring_read(&t->rings[i], t->exec_id, s->total - len, len, &end, &range);
        s->until -= end.len - output_whole_prefix(buf_str(&end), end.len);
    }
}

/* The first bytes of what is new: where they lie, or joined in `*joined`. Returns how many. */
static size_t answer_first_bytes(const struct transcript *t, enum output_stream stream,
                                 struct buf *joined, const char **ret_bytes)
{
    const struct transcript_stream *s = &t->streams[stream];
    uint64_t at = s->told, end = MIN(s->until, s->told + answer_head(t, stream));
    LIST_EACH(&s->pieces, node) {
        const struct output_piece *piece = CONTAINER_OF(node, struct output_piece, node);
        uint64_t piece_end = piece->offset + piece->len;
        if (piece->offset > at || piece_end <= at || at == end)
            continue;
        const char *bytes = piece->bytes + (at - piece->offset);
        if (at == s->told && piece_end >= s->until) { /* one piece has all of it */
            *ret_bytes = bytes;
            return (size_t)(s->until - s->told);
        }
        buf_append(joined, bytes, (size_t)(MIN(piece_end, end) - at));
        at = MIN(piece_end, end);
    }
    *ret_bytes = buf_str(joined);
    return joined->len;
}

/* Appends the bytes of a stream from `from` on; false if the ring does not have them any more. */
static bool answer_read(const struct transcript *t, enum output_stream stream, uint64_t from,
                        uint64_t len, struct buf *out)
{
    struct output_range range;
    size_t before = out->len;
    if (len == 0)
        return true;
    if (t->rings == NULL)
        return false;
    /* A little more, so that the limit cannot fall into a character. */
    output_ring_read(&t->rings[stream], t->exec_id, from, (size_t)len + TRANSCRIPT_UTF8_MAX, out,
                     &range);
    if (range.dropped > 0 || out->len - before < len)
        return false;
    out->len = before + (size_t)len;
    return true;
}

bool transcript_fold_text(const struct transcript *t, enum output_stream stream, struct buf *out)
{
    const struct transcript_stream *s = &t->streams[stream];
    _buf_ struct buf raw = BUF_INIT(TRANSCRIPT_FOLD_MAX + TRANSCRIPT_UTF8_MAX);
    if (s->until - s->told > TRANSCRIPT_FOLD_MAX ||
        !answer_read(t, stream, s->told, s->until - s->told, &raw))
        return false;
    prose_fold(buf_str(&raw), raw.len, out);
    return true;
}

uint64_t transcript_put_ends(const struct transcript *t, enum output_stream stream, size_t share,
                             const char *where, struct buf *out)
{
    const struct transcript_stream *s = &t->streams[stream];
    uint64_t total = s->until - s->told;
    _buf_ struct buf joined = BUF_INIT(SIZE_MAX / 4), tail = BUF_INIT(share + TRANSCRIPT_UTF8_MAX);
    const char *head;
    size_t tail_len = share / 2;
    size_t head_len = MIN(answer_first_bytes(t, stream, &joined, &head), share - tail_len);
    struct output_range range;
    output_ring_read(&t->rings[stream], t->exec_id, s->until - tail_len,
                     tail_len + TRANSCRIPT_UTF8_MAX, &tail, &range);
    tail.len = MIN(tail.len, tail_len);
    _buf_ struct buf first = BUF_INIT(SIZE_MAX / 4), last = BUF_INIT(SIZE_MAX / 4);
    prose_fold(head, head_len, &first);
    prose_fold(buf_str(&tail), tail.len, &last);
    /* What was folded counts as left out. */
    return prose_write_cut(buf_str(&first), first.len, buf_str(&last), last.len, total,
                           s->untold_lines, where, out);
}

static void script_begin_line(struct buf *out)
{
    if (out->len > 0 && out->data[out->len - 1] != '\n')
        buf_append_char(out, '\n');
}

static void script_put_output(const struct transcript *t, const json_t *output, struct buf *out)
{
    script_begin_line(out);
    display_put_words(output, !t->has_tools, out);
    script_begin_line(out);
}

bool transcript_put_script(const struct transcript *t, const json_t *value, struct buf *out)
{
    uint64_t new_text = 0, known = 0;
    bool has_value = value == NULL;
    _buf_ struct buf script = BUF_INIT(SIZE_MAX / 4);
    for (size_t i = 0; i < OUTPUT_STREAMS; i++)
        new_text += t->streams[i].until - t->streams[i].told;
    if (new_text > TRANSCRIPT_FOLD_MAX)
        return false;
    for (size_t i = 0; i < t->n_items; i++) {
        const struct transcript_item *item = &t->items[i];
        const struct transcript_stream *s = &t->streams[item->stream];
        if (item->is_stream) {
            uint64_t from = MAX(item->offset, s->told),
                     end = MIN(item->offset + item->len, s->until);
            if (from < end && !answer_read(t, item->stream, from, end - from, &script))
                return false;
            known += from < end ? end - from : 0;
        } else if (item->serial == t->value && t->value > 0 && !has_value) {
            script_put_output(t, value, &script);
            has_value = true;
        } else if (item->news != NULL) {
            script_put_output(t, item->news, &script);
        }
    }
    if (known < new_text)
        return false;
    if (!has_value)
        script_put_output(t, value, &script);
    prose_fold(buf_str(&script), script.len, out);
    return true;
}

uint64_t transcript_put_text(const struct transcript *t, enum output_stream stream, size_t share,
                             struct buf *out)
{
    const struct transcript_stream *s = &t->streams[stream];
    uint64_t total = s->until - s->told;
    _buf_ struct buf joined = BUF_INIT(SIZE_MAX / 4);
    const char *head;
    size_t head_len = answer_first_bytes(t, stream, &joined, &head);
    if (total == head_len)
        return output_cut_text(head, head_len, share, out);
    size_t tail_max = total <= share ? (size_t)total - head_len : share / 2;
    uint64_t tail_from = MAX(total - tail_max, (uint64_t)head_len);
    size_t tail_len = (size_t)(total - tail_from);
    _buf_ struct buf tail = BUF_INIT(tail_len + TRANSCRIPT_UTF8_MAX);
    struct output_range range;
    /* A little more, so that the limit cannot fall into a character. */
    output_ring_read(&t->rings[stream], t->exec_id, s->told + tail_from,
                     tail_len + TRANSCRIPT_UTF8_MAX, &tail, &range);
    tail.len = MIN(tail.len, tail_len - (size_t)MIN(range.dropped, (uint64_t)tail_len));
    if (range.dropped == 0 && total <= share) {
        /* Joined before it becomes text: the seam may be inside a character. */
        _buf_ struct buf whole = BUF_INIT(share);
        buf_append(&whole, head, head_len);
        buf_append(&whole, buf_str(&tail), tail.len);
        utf8_append_lossy(out, buf_str(&whole), whole.len);
        return 0;
    }
    head_len = MIN(head_len, share - MIN(share, tail_max));
    return output_write_cut(head, head_len, buf_str(&tail), tail.len, total, out);
}

struct transcript_news transcript_value(const struct transcript *t, json_t *value, bool is_same)
{
    struct transcript_news news = {.output = value};
    for (size_t i = t->n_items; i-- > 0 && is_same && t->value > 0;) {
        const struct transcript_item *item = &t->items[i];
        if (item->serial != t->value || item->is_note)
            continue;
        news.json = buf_str(&item->text);
        news.len = item->text.len;
    }
    return news;
}

static int news_compare(const void *a, const void *b)
{
    const struct transcript_news *one = a, *other = b;
    return (one->order > other->order) - (one->order < other->order);
}

size_t transcript_list_news(const struct transcript *t, struct transcript_news **ret_news)
{
    size_t n = 0;
    bool is_sorted = true;
    *ret_news = NULL;
    if (t->n_news == 0)
        return 0;
    struct transcript_news *news = mem_alloc(t->n_news * sizeof(*news));
    for (size_t i = 0; i < t->n_items; i++) {
        const struct transcript_item *item = &t->items[i];
        if (item->news == NULL)
            continue;
        news[n] = (struct transcript_news){.output = json_incref(item->news),
                                           .json = item->is_same ? buf_str(&item->text) : NULL,
                                           .len = item->text.len,
                                           .order = item->news_order};
        is_sorted = is_sorted && (n == 0 || news[n - 1].order < news[n].order);
        n++;
    }
    if (!is_sorted) /* an update of what an earlier answer told stands where the update came */
        qsort(news, n, sizeof(*news), news_compare);
    *ret_news = news;
    return n;
}

void transcript_free_news(struct transcript_news *news, size_t n)
{
    for (size_t i = 0; i < n; i++)
        json_decref(news[i].output);
    free(news);
}

void transcript_end_answer(struct transcript *t)
{
    for (size_t i = 0; i < t->n_items && t->n_news > 0; i++)
        item_drop_news(t, &t->items[i]);
    t->value = 0;
    t->news_size = 0;
    t->news_omitted = 0;
    for (size_t i = 0; i < OUTPUT_STREAMS; i++) {
        t->streams[i].told = t->streams[i].until;
        t->streams[i].untold_lines = 0;
        transcript_trim(t, (enum output_stream)i);
    }
}

void transcript_drop_answer(struct transcript *t)
{
    if (t->budget == 0 && t->n_items == 0)
        return;
    t->budget = 0;
    transcript_begin_answer(t, true);
    transcript_end_answer(t);
    transcript_prune(t);
}

size_t transcript_answer_bytes(const struct transcript *t)
{
    size_t bytes = 0;
    for (size_t i = 0; i < t->n_items; i++)
        bytes += display_size(t->items[i].news);
    for (size_t i = 0; i < OUTPUT_STREAMS; i++)
        LIST_EACH(&t->streams[i].pieces, node) {
            bytes += CONTAINER_OF(node, struct output_piece, node)->cap;
        }
    return bytes;
}
