#include "book/transcript.h"

#include "runtime/display.h"
#include "session/output.h"
#include "store/notebooks.h"

enum {
    ITEMS_STEP = 8,
    TEXT_MIN = 1024,
    ESCAPED_MAX = 6, /* bytes of JSON that one byte may take */
    NOTE_MAX = 4 * 1024,
    CONCLUSION_MAX = 256 * 1024, /* for which there is room whatever came before */
};

void transcript_init(struct transcript *t, size_t text_max, size_t max)
{
    *t = (struct transcript){.text_max = MAX(text_max, (size_t)TEXT_MIN), .max = max};
    t->head_left = t->text_max / 4 * 3;
}

static void free_item(struct transcript_item *item)
{
    buf_free(&item->text);
    buf_free(&item->tail);
    free(item->display_id);
}

/* Nothing is there; serials go on. */
static void empty(struct transcript *t)
{
    for (size_t i = 0; i < t->n_items; i++)
        free_item(&t->items[i]);
    t->n_items = t->tail_len = t->typed_len = 0;
    t->n_left_out = 0;
    t->head_left = t->text_max / 4 * 3;
    t->clears = false;
}

/* Nothing is to be seen any more. */
static void clear(struct transcript *t)
{
    size_t n_kept = 0, kept_len = 0;
    for (size_t i = 0; i < t->n_items; i++) {
        struct transcript_item item = t->items[i];
        if (item.updates == 0) {
            free_item(&item);
            continue;
        }
        item.updates = STORE_UPDATES_GONE;
        kept_len += item.text.len;
        t->items[n_kept++] = item;
    }
    t->n_items = 0;
    empty(t);
    t->n_items = n_kept;
    t->typed_len = kept_len;
}

void transcript_free(struct transcript *t)
{
    empty(t);
    free(take_ptr(t->items));
    t->cap = 0;
}

void transcript_clear(struct transcript *t, bool waits)
{
    if (waits)
        t->clears = true;
    else
        clear(t);
}

static void clear_if_due(struct transcript *t)
{
    if (t->clears)
        clear(t);
}

static struct transcript_item *add_item(struct transcript *t)
{
    if (t->n_items == t->cap) {
        t->cap += ITEMS_STEP;
        t->items = mem_realloc(t->items, t->cap * sizeof(*t->items));
    }
    struct transcript_item *item = &t->items[t->n_items++];
    *item =
        (struct transcript_item){.text = BUF_INIT(SIZE_MAX / 4), .tail = BUF_INIT(SIZE_MAX / 4)};
    return item;
}

/* ---- text --------------------------------------------------------------------------------------
 */

static size_t tail_of(const struct transcript_item *item)
{
    return item->tail.len - item->tail_skip;
}

/* Takes the oldest bytes from the tails until they are within their quarter. */
static void trim_tails(struct transcript *t)
{
    size_t tail_max = t->text_max / 4;
    for (size_t i = 0; i < t->n_items && t->tail_len > tail_max; i++) {
        struct transcript_item *item = &t->items[i];
        size_t part = MIN(tail_of(item), t->tail_len - tail_max);
        item->tail_skip += part;
        item->omitted += part;
        t->tail_len -= part;
        if (item->tail_skip > tail_max) { /* so that each byte is moved once */
            buf_consume(&item->tail, item->tail_skip);
            item->tail_skip = 0;
        }
    }
}

/* Where text of the stream goes. Without room for more outputs it is the last of that stream. */
static struct transcript_item *item_for(struct transcript *t, unsigned stream)
{
    struct transcript_item *last = t->n_items > 0 ? &t->items[t->n_items - 1] : NULL;
    if (last != NULL && last->is_stream && last->stream == stream)
        return last;
    for (size_t i = t->n_items; t->n_items >= TRANSCRIPT_OUTPUTS_MAX && i-- > 0;)
        if (t->items[i].is_stream && t->items[i].stream == stream)
            return &t->items[i];
    if (t->n_items >= TRANSCRIPT_OUTPUTS_MAX)
        return NULL;
    struct transcript_item *item = add_item(t);
    item->is_stream = true;
    item->stream = stream;
    return item;
}

void transcript_write(struct transcript *t, unsigned stream, const char *bytes, size_t len)
{
    if (len == 0)
        return;
    clear_if_due(t);
    struct transcript_item *item = item_for(t, stream);
    if (item == NULL) {
        t->n_left_out++;
        return;
    }
    size_t head = item->tail.len == 0 ? MIN(len, t->head_left) : 0;
    buf_append(&item->text, bytes, head);
    t->head_left -= head;
    if (head == len)
        return;
    buf_append(&item->tail, bytes + head, len - head);
    t->tail_len += len - head;
    trim_tails(t);
}

/* ---- typed outputs -----------------------------------------------------------------------------
 */

/* The output as JSON; false if that takes more than `max` bytes. */
static bool write_typed(const json_t *output, size_t max, struct buf *out)
{
    struct json_out json = JSON_OUT(out);
    *out = BUF_INIT(max);
    if (display_size(output) <= max)
        json_put_value(&json, output);
    return out->len > 0 && !out->overflowed;
}

/* The item has this JSON, which ends with a brace, from now on. */
static void set_typed(struct transcript *t, struct transcript_item *item, const struct buf *text,
                      uint64_t serial)
{
    item->awaits_blob = false;
    item->blob_bytes = 0;
    t->typed_len -= item->text.len;
    buf_clear(&item->text);
    buf_append(&item->text, buf_str(text), text->len - 1);
    t->typed_len += item->text.len;
    item->serial = serial;
    item->hash[0] = '\0';
}

/* What stands for an output for which there is no room. */
static void write_note(const json_t *output, const char *text, struct buf *out)
{
    _json_ json_t *note = json_pack("{ss ss}", "type", "text", "text", text);
    json_t *id = json_object_get(output, "display_id");
    if (id != NULL)
        json_object_set(note, "display_id", id);
    buf_free(out);
    write_typed(note, NOTE_MAX, out);
}

static bool has_id(const struct transcript_item *item, const char *id)
{
    return item->display_id != NULL && strcmp(item->display_id, id) == 0;
}

/* Bytes that an output may have, which takes the place of each that has the id. NULL: of none. */
static size_t room_of(const struct transcript *t, const char *id)
{
    size_t taken = t->typed_len + t->text_max, n = 0;
    for (size_t i = 0; i < t->n_items && id != NULL; i++)
        if (has_id(&t->items[i], id)) {
            taken -= t->items[i].text.len;
            n++;
        }
    return (t->max - MIN(t->max, taken)) / MAX(n, (size_t)1);
}

static bool replace(struct transcript *t, const char *id, const struct buf *text, uint64_t serial)
{
    bool is_found = false;
    for (size_t i = 0; i < t->n_items; i++) {
        struct transcript_item *item = &t->items[i];
        if (!has_id(item, id))
            continue;
        set_typed(t, item, text, serial);
        item->updates = item->updates == 0                    ? STORE_UPDATES_ALSO
                        : item->updates == STORE_UPDATES_GONE ? STORE_UPDATES_OTHERS
                                                              : item->updates;
        is_found = true;
    }
    return is_found;
}

bool transcript_shows(const struct transcript *t, const json_t *output)
{
    const char *id = json_string_value(json_object_get(output, "display_id"));
    for (size_t i = 0; i < t->n_items && id != NULL; i++) {
        unsigned updates = t->items[i].updates;
        if (has_id(&t->items[i], id) && (updates == 0 || updates == STORE_UPDATES_ALSO))
            return true;
    }
    return false;
}

static uint64_t add_typed(struct transcript *t, const struct buf *text, const char *id)
{
    struct transcript_item *item = add_item(t);
    item->display_id = id != NULL ? mem_strdup(id) : NULL;
    set_typed(t, item, text, ++t->last_serial);
    return item->serial;
}

uint64_t transcript_show(struct transcript *t, const json_t *output, bool is_update)
{
    clear_if_due(t);
    const char *id = json_string_value(json_object_get(output, "display_id"));
    _buf_ struct buf text = BUF_INIT(0);
    bool fits = write_typed(output, room_of(t, is_update ? id : NULL), &text);
    if (!fits) {
        write_note(output, "[an output is left out: the cell has as much as a notebook keeps]",
                   &text);
        t->n_left_out++;
    }
    if (is_update && id != NULL && replace(t, id, &text, t->last_serial + 1)) {
        t->last_serial++;
        return fits ? t->last_serial : 0;
    }
    if (t->n_items >= TRANSCRIPT_OUTPUTS_MAX) {
        t->n_left_out++;
        return 0;
    }
    uint64_t serial = add_typed(t, &text, id);
    t->items[t->n_items - 1].is_late = json_is_true(json_object_get(output, "late"));
    if (is_update && id != NULL)
        t->items[t->n_items - 1].updates = STORE_UPDATES_OTHERS;
    return fits ? serial : 0;
}

/* The last item goes before those that were shown after the value. */
static void move_before_late(struct transcript *t)
{
    size_t last = t->n_items - 1, at = last;
    struct transcript_item item = t->items[last];
    while (at > 0 && t->items[at - 1].is_late)
        at--;
    memmove(&t->items[at + 1], &t->items[at], (last - at) * sizeof(item));
    t->items[at] = item;
}

uint64_t transcript_conclude(struct transcript *t, const json_t *output, bool is_value)
{
    clear_if_due(t);
    _buf_ struct buf text = BUF_INIT(0);
    bool fits = write_typed(output, MAX(room_of(t, NULL), (size_t)CONCLUSION_MAX), &text);
    if (!fits)
        write_note(output, "[left out: it is larger than what a notebook keeps]", &text);
    uint64_t serial = add_typed(t, &text, NULL);
    if (is_value) {
        buf_append_str(&t->items[t->n_items - 1].text, ",\"value\":true");
        move_before_late(t);
    }
    return fits ? serial : 0;
}

void transcript_await_blob(struct transcript *t, uint64_t serial, uint64_t bytes)
{
    for (size_t i = 0; i < t->n_items; i++)
        if (!t->items[i].is_stream && t->items[i].serial == serial) {
            t->items[i].awaits_blob = true;
            t->items[i].blob_bytes = bytes;
        }
}

uint64_t transcript_blob_bytes(const struct transcript *t)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < t->n_items; i++)
        bytes += t->items[i].blob_bytes;
    return bytes;
}

void transcript_name_blob(struct transcript *t, uint64_t serial, const char *hash)
{
    for (size_t i = 0; i < t->n_items; i++)
        if (!t->items[i].is_stream && t->items[i].serial == serial) {
            snprintf(t->items[i].hash, sizeof(t->items[i].hash), "%s", hash);
            t->items[i].awaits_blob = false;
        }
}

void transcript_lose_blob(struct transcript *t, uint64_t serial, const char *why)
{
    char text[300];
    snprintf(text, sizeof(text), "[an image could not be kept: %.240s]", why);
    for (size_t i = 0; i < t->n_items; i++) {
        struct transcript_item *item = &t->items[i];
        if (item->is_stream || item->serial != serial)
            continue;
        _json_ json_t *lost = json_object();
        if (item->display_id != NULL)
            json_object_set_new(lost, "display_id", json_string(item->display_id));
        _buf_ struct buf json = BUF_INIT(0);
        write_note(lost, text, &json);
        set_typed(t, item, &json, serial);
    }
}

/* ---- as JSON -----------------------------------------------------------------------------------
 */

/* Bytes at the beginning that are what is left of a character. */
static size_t skip_cut(const char *text, size_t len)
{
    size_t n = 0;
    while (n < len && n < 3 && ((unsigned char)text[n] & 0xc0) == 0x80)
        n++;
    return n;
}

/* The text of a stream within `share` bytes, which may be less than what is held. */
static uint64_t join_text(const struct transcript_item *item, size_t share, struct buf *out)
{
    const char *tail = buf_str(&item->tail) + item->tail_skip;
    size_t tail_len = tail_of(item), head_len = item->text.len;
    uint64_t omitted = item->omitted;
    if (omitted == 0 && head_len + tail_len <= share) {
        buf_append(out, buf_str(&item->text), head_len);
        buf_append(out, tail, tail_len);
        return 0;
    }
    size_t head = output_whole_prefix(buf_str(&item->text), MIN(head_len, share / 4 * 3));
    size_t skip = tail_len - MIN(tail_len, share / 4);
    if (tail_len == 0) { /* all of it came while there was room: the end is in the head, too */
        size_t rest = MIN(head_len - head, share / 4);
        tail = buf_str(&item->text) + head_len - rest;
        tail_len = rest;
        skip = 0;
    }
    skip += skip_cut(tail + skip, tail_len - skip);
    uint64_t total = item->omitted + head_len + tail_of(item);
    omitted = total - head - (tail_len - skip);
    buf_append(out, buf_str(&item->text), head);
    buf_printf(out, "\n[... %llu bytes left out ...]\n", (unsigned long long)omitted);
    buf_append(out, tail + skip, tail_len - skip);
    return omitted;
}

static void put_stream(struct json_out *json, const struct transcript_item *item, size_t share)
{
    _buf_ struct buf text = BUF_INIT(SIZE_MAX / 4);
    uint64_t omitted = join_text(item, share, &text);
    json_put_object(json);
    json_put_member_str(json, "type", "text");
    json_put_member_str(json, "stream", item->stream == 0 ? "stdout" : "stderr");
    json_put_member_text(json, "text", buf_str(&text), text.len);
    if (omitted > 0)
        json_put_member_int(json, "omitted", (int64_t)omitted);
    json_put_object_end(json);
}

static void put_typed(struct json_out *json, const struct transcript_item *item)
{
    if (item->awaits_blob)
        return;
    buf_append_str(json->buf, json->needs_comma ? "," : "");
    buf_append(json->buf, buf_str(&item->text), item->text.len);
    if (item->hash[0] != '\0')
        buf_printf(json->buf, ",\"hash\":\"%s\"", item->hash);
    if (item->updates != 0)
        buf_printf(json->buf, ",\"updates\":%u", item->updates);
    buf_append_char(json->buf, '}');
    json->needs_comma = true;
}

static void put_items(const struct transcript *t, size_t share, struct buf *out)
{
    struct json_out json = JSON_OUT(out);
    json_put_array(&json);
    for (size_t i = 0; i < t->n_items; i++)
        if (t->items[i].is_stream)
            put_stream(&json, &t->items[i], share);
        else
            put_typed(&json, &t->items[i]);
    json_put_array_end(&json);
}

void transcript_put(const struct transcript *t, struct buf *out)
{
    if (t->n_items == 0)
        return;
    size_t from = out->len;
    put_items(t, SIZE_MAX, out);
    if (out->len - from <= t->max)
        return;
    /* Bytes that are no text take more room as JSON. */
    out->len = from;
    put_items(t, MAX((t->max - MIN(t->max, t->typed_len)) / ESCAPED_MAX / t->n_items, (size_t)64),
              out);
}
