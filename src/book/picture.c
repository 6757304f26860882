/* Pictures that cells show: their bytes become blobs, what stays in the cell is where to find them.
 *
 * They lie in the data directory, outside of every sandbox's own quota, so each notebook has one
 * for them: as much as its session has disk, or as the configuration says if that is less. Those
 * that its cells refer to may take that much; and no more than twice as much is written in a
 * quarter of an hour, because what was cleared, replaced or deleted is removed some minutes later
 * only. `bytes` of struct pictures grows with each of them; when it comes to the end of the quota,
 * the store and the cells that run are asked what is still there. */
#include "base/clock.h"
#include "book/state.h"
#include "image/image.h"

enum {
    STORING_MAX = 4,  /* of one cell: more come only from those that do not wait */
    RECOUNT_MS = 250, /* between two looks at what a full notebook has */
};

/* One on its way to the store. */
struct picture {
    struct book_call call;
    struct cell_record *record;
    uint64_t serial;
    json_t *data;   /* a string */
    json_t *shown;  /* as it came */
    json_t *output; /* with its reference instead of the data */
    bool is_svg;
    uint64_t bytes;
};

static void end_picture(struct book_call *call)
{
    struct picture *picture = (struct picture *)call;
    json_decref(picture->data);
    json_decref(picture->shown);
    json_decref(picture->output);
}

static void release(void *owner)
{
    json_decref(owner);
}

static uint64_t decoded_size(const char *text, size_t len)
{
    uint64_t bytes = (uint64_t)len / 4 * 3;
    for (size_t i = 0; i < 2 && i < len && text[len - 1 - i] == '='; i++)
        bytes--;
    return bytes;
}

static void copy_member(json_t *to, const json_t *from, const char *name)
{
    json_t *value = json_object_get(from, name);
    if (value != NULL)
        json_object_set(to, name, value);
}

/* What its bytes say it is goes before what the sandbox says. */
static void describe(json_t *output, const json_t *shown, const char *data, size_t len)
{
    enum image_format format;
    uint32_t width, height;
    copy_member(output, shown, "format");
    if (!image_probe_base64(data, len, &format, &width, &height))
        return;
    json_object_set_new(output, "format", json_string(image_format_name(format)));
    json_object_set_new(output, "width", json_integer(width));
    json_object_set_new(output, "height", json_integer(height));
}

static json_t *make_reference(struct cell_record *record, const json_t *shown, const json_t *data,
                              bool is_svg, uint64_t bytes)
{
    const char *text = json_string_value(data);
    size_t len = json_string_length(data);
    unsigned long long n = record->n_images++;
    json_t *output = json_object();
    copy_member(output, shown, "type");
    if (is_svg)
        json_object_set_new(output, "format", json_string("svg"));
    else
        describe(output, shown, text, len);
    json_object_set_new(output, "bytes", json_integer((json_int_t)bytes));
    json_object_set_new(output, "ref",
                        json_sprintf(STORE_IMAGE_REF, record->book->id, record->cell->id, n));
    json_object_set_new(output, "url",
                        json_sprintf(STORE_IMAGE_URL, record->book->id, record->cell->id, n));
    copy_member(output, shown, "text");
    copy_member(output, shown, "display_id");
    copy_member(output, shown, "mime");
    copy_member(output, shown, "metadata");
    copy_member(output, shown, "late");
    return output;
}

static void tell_exec(struct picture *picture, bool is_kept)
{
    struct exec *exec = picture->record->exec;
    if (exec->has_inline_images || !is_kept)
        json_object_set(picture->output, picture->is_svg ? "svg" : "data", picture->data);
    if (!is_kept) { /* as if there were no notebook */
        json_object_del(picture->output, "ref");
        json_object_del(picture->output, "url");
        json_object_del(picture->output, "bytes");
    }
    exec_displayed(exec, picture->shown, picture->output, is_kept && !exec->has_inline_images);
}

static void on_kept(void *context, const char *hash, uint64_t bytes, const struct err *e)
{
    (void)bytes;
    struct picture *picture = context;
    struct cell_record *record = picture->record;
    struct book *book = record->book;
    picture->call.asked = NULL;
    record->is_dirty = true;
    if (e == NULL)
        transcript_name_blob(&record->cell->transcript, picture->serial, hash);
    else
        transcript_lose_blob(&record->cell->transcript, picture->serial, e->message);
    record->n_storing--;
    book_hold(book);
    if (record->exec != NULL) {
        tell_exec(picture, e == NULL); /* the cell may end by it, and the record with it */
    } else {
        if (!record->is_outrun) {
            record_put(record);
            mirror_changed(book->books, book->id);
        }
        if (record->n_storing == 0)
            record_free(record);
    }
    book_call_end(&picture->call);
    book_let_go(book);
}

/* ---- the quota ---------------------------------------------------------------------------------
 */

static uint64_t quota_of(const struct book *book)
{
    struct err ignored;
    uint32_t mb = book->books->config.max_pictures_mb;
    const struct session *session = session_find(book->books->engine, book->id, &ignored);
    return (uint64_t)(session != NULL ? MIN(mb, session->limits.disk_mb) : mb) * MIB;
}

/* The entry of this minute, after those that are too old were forgotten. */
static uint64_t *this_minute(struct pictures *p)
{
    uint64_t now = clock_mono_ms() / (60 * 1000);
    if (now >= p->minute + PICTURES_MINUTES)
        memset(p->written, 0, sizeof(p->written));
    for (; p->minute < now; p->minute++)
        p->written[(p->minute + 1) % PICTURES_MINUTES] = 0;
    return &p->written[now % PICTURES_MINUTES];
}

static uint64_t written_lately(struct pictures *p)
{
    uint64_t bytes = 0;
    this_minute(p);
    for (size_t i = 0; i < PICTURES_MINUTES; i++)
        bytes += p->written[i];
    return bytes;
}

static void send(struct picture *picture)
{
    const char *text = json_string_value(picture->data);
    struct store_picture kept = {.text = text,
                                 .len = json_string_length(picture->data),
                                 .is_base64 = !picture->is_svg,
                                 .release = release,
                                 .owner = json_incref(picture->data)};
    *this_minute(&picture->record->book->pictures) += picture->bytes;
    picture->call.asked = store_put_image(picture->call.books->store, &kept, on_kept, picture);
}

static void leave_out(struct picture *picture, uint64_t quota)
{
    struct err e;
    err_set(&e, ERR_LIMIT, "the notebook has as many bytes of images as it may, %llu MiB",
            (unsigned long long)(quota / MIB));
    picture->record->book->pictures.bytes -=
        MIN(picture->record->book->pictures.bytes, picture->bytes);
    on_kept(picture, NULL, 0, &e);
}

static void leave_out_later(struct book_call *call)
{
    struct picture *picture = (struct picture *)call;
    leave_out(picture, quota_of(picture->record->book));
}

/* What is still there: in the rows of cells that have ended, and of those that run. */
static void on_counted(void *context, uint64_t bytes, const struct err *e)
{
    struct picture *picture = context;
    struct book *book = picture->record->book;
    uint64_t quota = quota_of(book);
    picture->call.asked = NULL;
    LIST_EACH(&book->records, node) {
        bytes +=
            transcript_blob_bytes(&CONTAINER_OF(node, struct cell_record, node)->cell->transcript);
    }
    book->pictures.is_counted = e == NULL;
    book->pictures.bytes = bytes;
    bool fits = bytes <= quota && written_lately(&book->pictures) + picture->bytes <= 2 * quota;
    book->pictures.full_ms = fits ? 0 : clock_mono_ms();
    if (fits)
        send(picture);
    else
        leave_out(picture, quota);
}

/* It is among the transcript's already. */
static void admit(struct picture *picture)
{
    struct book *book = picture->record->book;
    struct pictures *p = &book->pictures;
    uint64_t quota = quota_of(book);
    p->bytes += picture->bytes;
    bool fits = p->bytes <= quota && written_lately(p) + picture->bytes <= 2 * quota;
    if (p->is_counted && fits)
        send(picture);
    else if (p->full_ms > 0 && clock_mono_ms() - p->full_ms < RECOUNT_MS)
        book_call_later(&picture->call, leave_out_later, 0);
    else
        picture->call.asked = store_count_images(book->books->store, book->id, on_counted, picture);
}

uint64_t picture_keep(struct cell_record *record, json_t *output, enum recorder_place place)
{
    bool is_svg = strcmp(json_string_value(json_object_get(output, "type")), "svg") == 0;
    json_t *data = json_object_get(output, is_svg ? "svg" : "data");
    if (record->n_storing >= STORING_MAX || !json_is_string(data))
        return 0;
    struct books *books = record->book->books;
    struct picture *picture = book_call_new(books, sizeof(*picture), end_picture);
    picture->record = record;
    picture->is_svg = is_svg;
    picture->data = json_incref(data);
    picture->shown = json_incref(output);
    picture->bytes = is_svg ? json_string_length(data)
                            : decoded_size(json_string_value(data), json_string_length(data));
    picture->output = make_reference(record, output, data, is_svg, picture->bytes);
    struct transcript *t = &record->cell->transcript;
    uint64_t serial = place == RECORDER_VALUE
                          ? transcript_conclude(t, picture->output, true)
                          : transcript_show(t, picture->output, place == RECORDER_UPDATED);
    if (serial == 0) { /* the transcript is full: nobody will see the picture */
        book_call_end(&picture->call);
        return 0;
    }
    picture->serial = serial;
    transcript_await_blob(t, serial, picture->bytes);
    book_tell_output(record, picture->output, place);
    record->is_dirty = true;
    record->n_storing++;
    admit(picture);
    return serial;
}
