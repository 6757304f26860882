/* Images of cells: found in the store, made smaller if that is wanted, opened or as text. Daemon;
 * on the loop; boxes decode the pictures. */
#include "ops/image_call.h"

#include "blob/blob.h"
#include "session/engine.h"
#include "session/notebooks.h"
#include "store/notebooks.h"

#include <errno.h>

enum { LOOKED_AT = 4096 }; /* bytes of a file, for what it is */

/* In the call's arena. At most one of the last three is under way. */
struct image_call {
    struct call *call;
    struct image_place place;
    struct image_facts facts;
    char hash[STORE_HASH_SIZE];
    int fd; /* the picture; -1: taken, or not open yet */
    image_found_fn on_found;
    image_opened_fn on_opened;
    image_text_fn on_text;
    struct store_call *asked;
    struct image_job *job;
    struct image_encoding *encoding;
};

struct call *image_call_of(const struct image_call *ic)
{
    return ic->call;
}

const struct image_place *image_call_place(const struct image_call *ic)
{
    return &ic->place;
}

const struct image_facts *image_call_facts(const struct image_call *ic)
{
    return &ic->facts;
}

static void image_call_fail(struct image_call *ic, const struct err *e)
{
    if (ic->fd >= 0)
        close(take_fd(&ic->fd));
    call_fail(ic->call, e);
}

static void image_call_on_gone(struct call *call)
{
    struct image_call *ic = call->op_state;
    if (ic->asked != NULL)
        store_forget(ic->asked);
    image_forget(ic->job);
    image_encode_forget(ic->encoding);
    if (ic->fd >= 0)
        close(ic->fd);
}

static bool is_size_asked(const struct image_call *ic)
{
    return call_int(ic->call, "width", 0) > 0 || call_int(ic->call, "height", 0) > 0;
}

/* ---- finding --------------------------------------------------------------------------------- */

/* What the bytes are is believed to them alone, and of what cannot be told (SVG, or a JPEG with a
 * long preface) to the row, as a name out of a short list. */
static void image_call_look_at(struct image_call *ic, const struct store_image *row)
{
    char head[LOOKED_AT];
    ssize_t n = pread(ic->fd, head, sizeof(head), 0);
    struct image_facts *facts = &ic->facts;
    if (n > 0 && image_probe(head, (size_t)n, &facts->format, &facts->width, &facts->height))
        return;
    facts->format = image_format_of_name(row->format != NULL ? row->format : "");
    facts->width = (uint32_t)MIN(row->width, (uint64_t)INT32_MAX);
    facts->height = (uint32_t)MIN(row->height, (uint64_t)INT32_MAX);
}

static void open_found(struct image_call *ic, const struct store_image *row)
{
    struct blob_hash hash;
    struct err e;
    int store = store_blobs(engine_store(ic->call->engine));
    ic->fd = blob_parse_hex(row->hash, &hash) == 0 ? blob_open(store, &hash) : -ENOENT;
    if (ic->fd < 0) {
        err_set(&e, ERR_GONE, "the bytes of this picture are not there any more");
        err_advise(&e, "Run the cell again.");
        image_call_fail(ic, &e);
        return;
    }
    memcpy(ic->hash, row->hash, sizeof(ic->hash));
    ic->facts.hash = ic->hash;
    ic->place.cell = arena_strdup(&ic->call->arena, row->cell);
    ic->facts.bytes = row->bytes;
    image_call_look_at(ic, row);
    ic->on_found(ic);
}

static void on_image(void *context, const struct store_image *image, const struct err *e)
{
    struct image_call *ic = context;
    ic->asked = NULL;
    if (e == NULL)
        open_found(ic, image);
    else
        image_call_fail(ic, e);
}

void image_call_find(struct call *call, const struct image_place *place, image_found_fn fn)
{
    if (call_store(call) == NULL)
        return;
    struct image_call *ic = arena_alloc(&call->arena, sizeof(*ic));
    *ic = (struct image_call){.call = call, .place = *place, .fd = -1, .on_found = fn};
    call->op_state = ic;
    call->on_gone = image_call_on_gone;
    call->must_notice_end = is_size_asked(ic); /* stop scaling when the client disconnects */
    notebooks_flush(call->engine, place->notebook);
    ic->asked = store_get_image(engine_store(call->engine), place->notebook, place->cell, place->n,
                                on_image, ic);
}

/* ---- its size -------------------------------------------------------------------------------- */

bool image_call_fits(const struct image_call *ic, uint32_t *ret_width, uint32_t *ret_height)
{
    const struct image_facts *facts = &ic->facts;
    *ret_width = facts->width;
    *ret_height = facts->height;
    if (!is_size_asked(ic) || facts->width == 0 || facts->height == 0)
        return false;
    image_fit(facts->width, facts->height, (uint32_t)call_int(ic->call, "width", 0),
              (uint32_t)call_int(ic->call, "height", 0), ret_width, ret_height);
    return *ret_width != facts->width || *ret_height != facts->height;
}

static int refuse_format(const struct image_call *ic, struct err *e)
{
    const char *name = image_format_name(ic->facts.format);
    if (image_can_scale(ic->facts.format))
        err_set(e, ERR_CONFLICT, "the picture is damaged, and cannot be scaled");
    else
        err_set(e, ERR_INVALID, "only PNG and JPEG are scaled, and this picture is %s",
                name[0] != '\0' ? name : "of an unknown format");
    return err_advise(e, "Ask without width and height: then it is sent as it is.");
}

static void image_call_on_scaled(void *context, const struct image_scaled *scaled,
                                 const struct err *e)
{
    struct image_call *ic = context;
    ic->job = NULL;
    if (e != NULL)
        image_call_fail(ic, e);
    else
        ic->on_opened(ic, scaled);
}

static struct image_size room_of(const struct image_call *ic)
{
    return (struct image_size){(uint32_t)call_int(ic->call, "width", 0),
                               (uint32_t)call_int(ic->call, "height", 0)};
}

static void scale(struct image_call *ic)
{
    struct err e;
    struct image_boxes *boxes = ic->call->boxes;
    if (boxes == NULL)
        err_set(&e, ERR_UNAVAILABLE, "this daemon scales no pictures");
    else
        ic->job = image_scale(boxes, take_fd(&ic->fd), ic->facts.format, room_of(ic),
                              image_call_on_scaled, ic, &e);
    if (ic->job == NULL)
        image_call_fail(ic, &e);
}

void image_call_open(struct image_call *ic, image_opened_fn fn)
{
    const struct image_facts *facts = &ic->facts;
    struct err e;
    uint32_t width, height;
    bool is_scaled = image_call_fits(ic, &width, &height);
    bool is_unclear = is_size_asked(ic) && (facts->width == 0 || facts->height == 0);
    ic->on_opened = fn;
    if (is_unclear || (is_scaled && !image_can_scale(facts->format))) {
        refuse_format(ic, &e);
        image_call_fail(ic, &e);
    } else if (is_scaled) {
        scale(ic);
    } else {
        struct image_scaled file = {take_fd(&ic->fd), facts->bytes, width, height};
        fn(ic, &file);
    }
}

void image_call_close(struct image_call *ic)
{
    if (ic->fd >= 0)
        close(take_fd(&ic->fd));
}

/* ---- as text --------------------------------------------------------------------------------- */

static void image_call_on_encoded(void *context, const char *text, size_t len, const struct err *e)
{
    struct image_call *ic = context;
    ic->encoding = NULL;
    if (e != NULL)
        image_call_fail(ic, e);
    else
        ic->on_text(ic, text, len);
}

void image_call_encode(struct image_call *ic, const struct image_scaled *file, image_text_fn fn)
{
    struct err e;
    ic->on_text = fn;
    if (ic->call->boxes != NULL) {
        ic->encoding =
            image_encode(ic->call->boxes, file->fd, file->bytes, image_call_on_encoded, ic);
        return;
    }
    close(file->fd);
    err_set(&e, ERR_UNAVAILABLE, "this daemon gives out no pictures as text");
    image_call_fail(ic, &e);
}
