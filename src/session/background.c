/* What goes on between cells, in the daemon. Owns session->background. */
#include "session/background.h"

#include "jail/files/manifest.h"
#include "loop/loop.h"
#include "runtime/pool.h"
#include "session/engine_state.h"
#include "session/session.h"
#include "session/tickets.h"
#include "wire/json.h"

enum {
    BACKGROUND_PATIENCE_MS = 1000, /* of a cell that waits for the record */
    PAUSE_MS = 1000, /* between two looks; twice as long after each that finds nothing new */
    PAUSE_MAX_MS = 30 * 1000,
    /* Entries of manifests that are written for what is spared: each change writes all of them. */
    SPARE_WORK_MAX = 200 * 1000,
};

void background_free(struct session *session)
{
    struct background *background = &session->background;
    if (background->ticket != 0)
        tickets_forget(session->engine, background->ticket);
    if (background->look != 0)
        tickets_forget(session->engine, background->look);
    loop_timer_close(take_ptr(background->patience), NULL);
    timeline_hold_files(session, background->ended, "");
    timeline_hold_files(session, background->now, "");
    *background = (struct background){0};
}

void background_on_checkpoint(struct session *session, uint64_t n_others)
{
    session->background.is_on = n_others > 0 && !timeline_shares_files(session);
}

/* A record that is still under way began before the cell did, and saw its work or did not. */
void background_on_cell(struct session *session)
{
    struct background *background = &session->background;
    background->pause_ms = PAUSE_MS;
    background->is_wanted = false;
    background_on_restored(session);
    if (background->ticket != 0)
        tickets_forget(session->engine, background->ticket);
    background->ticket = 0;
}

void background_on_restored(struct session *session)
{
    struct background *background = &session->background;
    background->is_seen = background->is_awaited = false;
    timeline_hold_files(session, background->ended, "");
    timeline_hold_files(session, background->now, "");
}

/* ---- recording ------------------------------------------------------------------------------- */

/* What a session without checkpoints goes back to is what was saved. */
static const char *background_known_files(const struct session *session)
{
    const char *files = timeline_has_checkpoints(session)
                            ? timeline_files_at(session, session->timeline.current)
                            : session->saving.files;
    return files != NULL ? files : "";
}

bool background_note(struct session *session, const char *manifest)
{
    struct background *background = &session->background;
    if (strcmp(manifest, background_known_files(session)) == 0)
        return false;
    if (background->ended[0] == '\0')
        timeline_hold_files(session, background->ended, background_known_files(session));
    timeline_hold_files(session, background->now, manifest);
    timeline_hold_files(session, session->timeline.base, manifest);
    if (timeline_has_checkpoints(session))
        timeline_amend(session, session->timeline.current, manifest);
    background->pause_ms = PAUSE_MS;
    return true;
}

/* Those who wait need not any more. */
static void background_let_pass(struct background *background)
{
    background->is_seen = true;
    background->is_awaited = false;
    if (background->patience != NULL)
        loop_timer_clear(background->patience);
}

static void background_on_recorded(void *context, const struct warden_event *event)
{
    struct session *session = context;
    struct background *background = &session->background;
    struct err e;
    _json_ json_t *answer = NULL;
    background->ticket = 0;
    if (session->state == SESSION_IDLE) { /* else a cell has begun: what was seen may be its work */
        const char *manifest = NULL;
        if (json_read_object(event->text, strlen(event->text), &answer, &e) == 0)
            manifest = json_string_value(json_object_get(answer, "manifest"));
        if (manifest != NULL && strlen(manifest) == TIMELINE_HASH_SIZE - 1)
            background->has_news |= background_note(session, manifest);
        /* Whoever came while it was being made wants another. */
        if (background->is_awaited && background->is_fresh)
            background_let_pass(background);
    }
    session_changed(session);
}

/* The list of files that is amended must be known. */
bool background_is_to_record(const struct session *session)
{
    const struct background *background = &session->background;
    const struct checkpoint *current = session->timeline.current;
    bool is_wanted = background->is_wanted || (background->is_awaited && !background->is_seen);
    return is_wanted && session->state == SESSION_IDLE && background->ticket == 0 &&
           (current == NULL || current->ticket == 0);
}

void background_record(struct session *session)
{
    struct err e;
    struct background *background = &session->background;
    struct archive_budget budget = timeline_budget(session);
    background->is_wanted = false;
    background->is_fresh = background->is_awaited;
    background->ticket = pool_new_number(session->engine->pool);
    tickets_expect(session->engine, background->ticket, WARDEN_RECORDED, background_on_recorded,
                   session);
    if (warden_record(session->engine->warden, background->ticket, session->room->name,
                      session->timeline.base, &budget, &e) == 0)
        return;
    tickets_forget(session->engine, background->ticket);
    background->ticket = 0;
    background->is_seen = true;
    session_changed(session);
}

static void background_on_impatience(void *context)
{
    struct session *session = context;
    background_let_pass(&session->background);
    session_changed(session);
}

bool background_is_unknown(const struct session *session)
{
    return session->background.is_on && !session->background.is_seen;
}

void background_await(struct session *session)
{
    session->background.is_awaited = true;
}

bool background_blocks(struct session *session)
{
    struct background *background = &session->background;
    if (!background_is_unknown(session))
        return false;
    background_await(session);
    if (background->patience == NULL)
        background->patience =
            loop_timer_new(session->engine->loop, background_on_impatience, session);
    if (!loop_timer_is_set(background->patience))
        loop_timer_set(background->patience, BACKGROUND_PATIENCE_MS);
    return true;
}

/* ---- now and then ---------------------------------------------------------------------------- */

uint64_t background_due_ms(const struct session *session)
{
    return session->background.is_on ? session->background.pause_ms : 0;
}

static void background_on_looked(void *context, const struct warden_event *event)
{
    struct session *session = context;
    struct background *background = &session->background;
    background->look = 0;
    background->is_on = event->others > 0;
    if (background->is_on && event->ticks != background->ticks)
        session_restart_idle(session); /* they work */
    background->ticks = event->ticks;
    session->life.is_stale = true;
    session_changed(session);
}

/* Who is gone by now has written all there is before the record that follows the look. */
void background_on_alarm(struct session *session)
{
    struct err ignored; /* the next look finds out */
    struct background *background = &session->background;
    /* Often enough to tell whether the session is idle. */
    uint64_t half_ms = (uint64_t)session->life.idle_timeout_secs * 1000 / 2;
    uint64_t pause_max_ms =
        half_ms == 0 ? PAUSE_MAX_MS : MAX(PAUSE_MS, MIN(half_ms, (uint64_t)PAUSE_MAX_MS));
    background->pause_ms = MIN(2 * background->pause_ms, pause_max_ms);
    if (background->look == 0) {
        background->look = pool_new_number(session->engine->pool);
        tickets_expect(session->engine, background->look, WARDEN_LOOKED, background_on_looked,
                       session);
        warden_look(session->engine->warden, session->room->jail, background->look, &ignored);
    }
    background->is_wanted = true;
}

/* ---- what is spared -------------------------------------------------------------------------- */

struct sparing {
    struct manifest *manifest; /* as it is by now */
    size_t work;
};

static void background_spare_one(void *context, enum manifest_change change,
                                 const struct manifest_entry *entry)
{
    struct err e;
    struct sparing *sparing = context;
    struct manifest *next = NULL;
    _buf_ struct buf out = BUF_INIT(MANIFEST_BYTES_MAX);
    sparing->work += sparing->manifest->n_entries + 1;
    if (sparing->work > SPARE_WORK_MAX ||
        (entry->type == MANIFEST_DIR && change != MANIFEST_DELETED))
        return; /* directories come with the files in them */
    bool is_gone = change == MANIFEST_DELETED;
    struct manifest_changes changes = {
        .removed = {is_gone ? entry->path : NULL}, .added = entry, .n_added = is_gone ? 0 : 1};
    manifest_amend(sparing->manifest, &changes, &out);
    if (out.overflowed || manifest_parse(out.data, out.len, &next, &e) < 0)
        return;
    manifest_free(sparing->manifest);
    sparing->manifest = next;
}

static struct manifest *background_load(const struct session *session, const char *hex)
{
    struct err e;
    struct blob_hash hash;
    struct manifest *manifest = NULL;
    if (blob_parse_hex(hex, &hash) == 0)
        manifest_load(session->engine->blobs, &hash, &manifest, &e);
    return manifest;
}

void background_spare(struct session *session, const char *wanted, char ret[TIMELINE_HASH_SIZE])
{
    const struct background *background = &session->background;
    snprintf(ret, TIMELINE_HASH_SIZE, "%s", wanted);
    if (background->now[0] == '\0' || wanted[0] == '\0')
        return;
    struct manifest *old = background_load(session, background->ended),
                    *new = background_load(session, background->now);
    struct sparing sparing = {.manifest = background_load(session, wanted)};
    if (new != NULL && sparing.manifest != NULL) {
        _buf_ struct buf out = BUF_INIT(MANIFEST_BYTES_MAX);
        struct blob_put put;
        manifest_diff(old, new, background_spare_one, &sparing);
        manifest_begin(&out);
        for (size_t i = 0; i < sparing.manifest->n_entries; i++)
            manifest_append(&out, &sparing.manifest->entries[i]);
        manifest_end(&out, sparing.manifest->n_entries);
        if (!out.overflowed && blob_put_bytes(session->engine->blobs, out.data, out.len, &put) == 0)
            blob_hex(&put.hash, ret);
    }
    manifest_free(old);
    manifest_free(new);
    manifest_free(sparing.manifest);
}
