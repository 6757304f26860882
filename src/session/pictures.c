/* The pictures of a notebook, in the daemon: sent to the store, within a quota.
 *
 * They lie in the data directory, outside of every sandbox's own quota, so each notebook has one
 * for them: as much as its session has disk, or as the configuration says if that is less. Those
 * that its cells refer to may take that much; and no more than twice as much is written in a
 * quarter of an hour, because what was cleared, replaced or deleted is removed some minutes later
 * only. `bytes` of struct pictures grows with each of them; when it comes to the end of the quota,
 * the store and the cells that run are asked what is still there. */
#include "session/pictures.h"

#include "base/clock.h"
#include "image/image.h"
#include "session/engine_state.h"
#include "session/showing.h"

enum {
    STORING_MAX = 4,  /* of one cell: more come only from those that do not wait */
    RECOUNT_MS = 250, /* between two looks at what a full notebook has */
};

/* One on its way to the store. */
struct picture {
    struct task task;
    struct cell_record *record;
    uint64_t serial;
    json_t *data;   /* a string */
    json_t *shown;  /* as it came */
    json_t *output; /* with its reference instead of the data */
    bool is_svg;
    uint64_t bytes;
};

static void pictures_end(struct task *task)
{
    struct picture *picture = (struct picture *)task;
    json_decref(picture->data);
    json_decref(picture->shown);
    json_decref(picture->output);
}

static void pictures_release(void *owner)
{
    json_decref(owner);
}

static void pictures_copy_member(json_t *to, const json_t *from, const char *name)
{
    json_t *value = json_object_get(from, name);
    if (value != NULL)
        json_object_set(to, name, value);
}

static json_t *pictures_make_reference(struct cell_record *record, const json_t *shown,
                                       const json_t *data, bool is_svg, uint64_t bytes)
{
    const char *text = json_string_value(data);
    size_t len = json_string_length(data);
    unsigned long long n = record->n_images++;
    json_t *output = json_object();
    pictures_copy_member(output, shown, "type");
    if (is_svg)
        json_object_set_new(output, "format", json_string("svg"));
    else
        pictures_copy_member(output, shown, "format");
    /* What the picture's bytes say it is goes before what the sandbox says. */
    enum image_format format;
    uint32_t width, height;
    if (!is_svg && image_probe_base64(text, len, &format, &width, &height)) {
        json_object_set_new(output, "format", json_string(image_format_name(format)));
        json_object_set_new(output, "width", json_integer(width));
        json_object_set_new(output, "height", json_integer(height));
    }
    json_object_set_new(output, "bytes", json_integer((json_int_t)bytes));
    json_object_set_new(output, "ref",
                        json_sprintf(STORE_IMAGE_REF, record->notebook->id, record->cell->id, n));
    json_object_set_new(output, "url",
                        json_sprintf(STORE_IMAGE_URL, record->notebook->id, record->cell->id, n));
    pictures_copy_member(output, shown, "text");
    pictures_copy_member(output, shown, "display_id");
    pictures_copy_member(output, shown, "mime");
    pictures_copy_member(output, shown, "metadata");
    pictures_copy_member(output, shown, "late");
    return output;
}

static void pictures_on_kept(void *context, const char *hash, uint64_t bytes, const struct err *e)
{
    (void)bytes;
    struct picture *picture = context;
    struct cell_record *record = picture->record;
    struct live_notebook *notebook = record->notebook;
    picture->task.asked = NULL;
    record->is_dirty = true;
    if (e == NULL)
        transcript_name_blob(&record->cell->transcript, picture->serial, hash);
    else
        transcript_lose_blob(&record->cell->transcript, picture->serial, e->message);
    record->n_storing--;
    notebooks_hold(notebook);
    struct exec *exec = record->exec;
    if (exec != NULL) {
        if (exec->has_inline_images || e != NULL)
            json_object_set(picture->output, picture->is_svg ? "svg" : "data", picture->data);
        if (e != NULL) { /* as if there were no notebook */
            json_object_del(picture->output, "ref");
            json_object_del(picture->output, "url");
            json_object_del(picture->output, "bytes");
        }
        /* The cell may end by it, and the record with it. */
        exec_displayed(exec, picture->shown, picture->output,
                       e == NULL && !exec->has_inline_images);
    } else {
        if (!record->is_outrun) {
            recording_put(record);
            notebooks_changed(notebook->engine, notebook->id);
        }
        if (record->n_storing == 0)
            recording_free(record);
    }
    task_end(&picture->task);
    notebooks_let_go(notebook);
}

/* ---- the quota ------------------------------------------------------------------------------- */

static uint64_t pictures_quota_of(const struct live_notebook *notebook)
{
    struct err ignored;
    uint32_t mb = notebook->engine->config.notebooks.max_pictures_mb;
    const struct session *session = session_find(notebook->engine, notebook->id, &ignored);
    return (uint64_t)(session != NULL ? MIN(mb, session->limits.disk_mb) : mb) * MIB;
}

/* The entry of this minute, after those that are too old were forgotten. */
static uint64_t *pictures_this_minute(struct pictures *p)
{
    uint64_t now = clock_mono_ms() / (60 * 1000);
    if (now >= p->minute + PICTURES_MINUTES)
        memset(p->written, 0, sizeof(p->written));
    for (; p->minute < now; p->minute++)
        p->written[(p->minute + 1) % PICTURES_MINUTES] = 0;
    return &p->written[now % PICTURES_MINUTES];
}

static uint64_t pictures_written_lately(struct pictures *p)
{
    uint64_t bytes = 0;
    pictures_this_minute(p);
    for (size_t i = 0; i < PICTURES_MINUTES; i++)
        bytes += p->written[i];
    return bytes;
}

static void pictures_send(struct picture *picture)
{
    const char *text = json_string_value(picture->data);
    struct store_picture kept = {.text = text,
                                 .len = json_string_length(picture->data),
                                 .is_base64 = !picture->is_svg,
                                 .release = pictures_release,
                                 .owner = json_incref(picture->data)};
    *pictures_this_minute(&picture->record->notebook->pictures) += picture->bytes;
    picture->task.asked =
        store_put_image(picture->task.engine->store, &kept, pictures_on_kept, picture);
}

static void pictures_leave_out(struct picture *picture, uint64_t quota)
{
    struct err e;
    err_set(&e, ERR_LIMIT, "the notebook has as many bytes of images as it may, %llu MiB",
            (unsigned long long)(quota / MIB));
    picture->record->notebook->pictures.bytes -=
        MIN(picture->record->notebook->pictures.bytes, picture->bytes);
    pictures_on_kept(picture, NULL, 0, &e);
}

static void pictures_leave_out_later(struct task *task)
{
    struct picture *picture = (struct picture *)task;
    pictures_leave_out(picture, pictures_quota_of(picture->record->notebook));
}

/* What is still there: in the rows of cells that have ended, and of those that run. */
static void pictures_on_counted(void *context, uint64_t bytes, const struct err *e)
{
    struct picture *picture = context;
    struct live_notebook *notebook = picture->record->notebook;
    uint64_t quota = pictures_quota_of(notebook);
    picture->task.asked = NULL;
    LIST_EACH(&notebook->records, node) {
        bytes +=
            transcript_blob_bytes(&CONTAINER_OF(node, struct cell_record, node)->cell->transcript);
    }
    notebook->pictures.is_counted = e == NULL;
    notebook->pictures.bytes = bytes;
    bool fits = bytes <= quota &&
                pictures_written_lately(&notebook->pictures) + picture->bytes <= 2 * quota;
    notebook->pictures.full_ms = fits ? 0 : clock_mono_ms();
    if (fits)
        pictures_send(picture);
    else
        pictures_leave_out(picture, quota);
}

/* It is among the transcript's already. */
static void pictures_admit(struct picture *picture)
{
    struct live_notebook *notebook = picture->record->notebook;
    struct pictures *p = &notebook->pictures;
    uint64_t quota = pictures_quota_of(notebook);
    p->bytes += picture->bytes;
    bool fits = p->bytes <= quota && pictures_written_lately(p) + picture->bytes <= 2 * quota;
    if (p->is_counted && fits)
        pictures_send(picture);
    else if (p->full_ms > 0 && clock_mono_ms() - p->full_ms < RECOUNT_MS)
        task_later(&picture->task, pictures_leave_out_later, 0);
    else
        picture->task.asked =
            store_count_images(notebook->engine->store, notebook->id, pictures_on_counted, picture);
}

uint64_t pictures_keep(struct exec *exec, json_t *output, enum recording_place place)
{
    struct cell_record *record = exec->record;
    bool is_svg = strcmp(json_string_value(json_object_get(output, "type")), "svg") == 0;
    json_t *data = json_object_get(output, is_svg ? "svg" : "data");
    if (record->n_storing >= STORING_MAX || !json_is_string(data))
        return 0;
    struct picture *picture =
        task_new(&record->notebook->engine->notebooks.tasks, sizeof(*picture), pictures_end);
    picture->record = record;
    picture->is_svg = is_svg;
    picture->data = json_incref(data);
    picture->shown = json_incref(output);
    const char *text = json_string_value(data);
    size_t len = json_string_length(data);
    picture->bytes = is_svg ? len : len / 4 * 3;
    for (size_t i = 0; !is_svg && i < 2 && i < len && text[len - 1 - i] == '='; i++)
        picture->bytes--; /* base64 */
    picture->output = pictures_make_reference(record, output, data, is_svg, picture->bytes);
    struct transcript *t = &record->cell->transcript;
    uint64_t serial = place == RECORDING_VALUE
                          ? transcript_conclude(t, picture->output, true)
                          : transcript_show(t, picture->output, place == RECORDING_UPDATED);
    if (serial == 0) { /* the transcript is full: nobody will see the picture */
        task_end(&picture->task);
        return 0;
    }
    picture->serial = serial;
    transcript_await_blob(t, serial, picture->bytes);
    recording_tell(record, picture->output, place);
    record->is_dirty = true;
    record->n_storing++;
    pictures_admit(picture);
    return serial;
}
