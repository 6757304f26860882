/* What a run left in its workspace: recorded by the archivist, listed by a worker thread, and put
 * where it can be had for a time by whoever knows the token. Most runs leave nothing, and are not
 * kept waiting for that. */
#include "base/clock.h"
#include "base/utf8.h"
#include "jail/files/manifest.h"
#include "jail/warden.h"
#include "loop/loop.h"
#include "runtime/pool.h"
#include "session/engine_state.h"
#include "session/oneshot_parts.h"
#include "session/tickets.h"
#include "store/store.h"
#include "wire/json.h"

enum { RECORD_FILES = 20000, NAME_SHOWN_MAX = STORE_NAME_MAX };

/* What is that old has another time after the next change: clocks of filesystems tick. */
enum { SETTLED_MS = 100 };

struct found {
    char *path;
    char hash[STORE_HASH_SIZE];
    uint64_t bytes;
};

struct oneshot_files {
    uv_work_t uv;
    struct engine *engine;
    struct oneshot_answer *answer; /* NULL if the caller went away */
    void (*on_found)(void *context);
    void *context;
    uint64_t ttl_ms;
    const char *owner;                 /* the request's */
    const struct oneshot_given *given; /* what the run had before; NULL if nothing */
    uint64_t ticket;                   /* of the record; 0: it is there */
    int blobs;                         /* a store of blobs; borrowed */
    struct blob_hash manifest;
    struct err err;
    bool is_bad;
    struct found found[ONESHOT_FILES_MAX];
    size_t n_found, n_omitted;
};

static void oneshot_files_files_free(struct oneshot_files *f)
{
    for (size_t i = 0; i < f->n_found; i++)
        free(f->found[i].path);
    free(f);
}

/* ---- listing, in a worker -------------------------------------------------------------------- */

/* Caches and what is hidden is nobody's result. */
static bool oneshot_files_is_of_interest(const char *path)
{
    static const char *const dull[] = {"__pycache__", "node_modules"};
    for (const char *part = path; part != NULL;) {
        size_t len = strcspn(part, "/");
        if (part[0] == '.')
            return false;
        for (size_t i = 0; i < ARRAY_LEN(dull); i++)
            if (strlen(dull[i]) == len && strncmp(part, dull[i], len) == 0)
                return false;
        part = part[len] == '/' ? part + len + 1 : NULL;
    }
    return true;
}

static void oneshot_files_list_in_worker(uv_work_t *uv)
{
    struct oneshot_files *f = CONTAINER_OF(uv, struct oneshot_files, uv);
    struct manifest *manifest;
    if (manifest_load(f->blobs, &f->manifest, &manifest, &f->err) < 0) {
        f->is_bad = true;
        return;
    }
    for (size_t i = 0; i < manifest->n_entries; i++) {
        const struct manifest_entry *entry = &manifest->entries[i];
        if (entry->type != MANIFEST_FILE || !oneshot_files_is_of_interest(entry->path))
            continue;
        if (f->n_found == ONESHOT_FILES_MAX || !utf8_is_valid(entry->path, entry->path_len)) {
            f->n_omitted++;
            continue;
        }
        struct found *found = &f->found[f->n_found++];
        found->path = mem_strdup(entry->path);
        found->bytes = entry->size;
        blob_hex(&entry->hash, found->hash);
    }
    manifest_free(manifest);
}

/* ---- sharing --------------------------------------------------------------------------------- */

static void oneshot_files_share(struct oneshot_files *f, struct found *found)
{
    struct err e;
    struct oneshot_answer *a = f->answer;
    struct oneshot_file *file = &a->files[a->n_files];
    ids_token(file->token);
    /* The last part of the path, cut where a character begins. */
    const char *slash = strrchr(found->path, '/');
    const char *name = slash != NULL ? slash + 1 : found->path;
    if (strlen(name) > NAME_SHOWN_MAX)
        name += strlen(name) - NAME_SHOWN_MAX;
    while ((*name & 0xc0) == 0x80)
        name++; /* the end is kept: it says what kind of file it is */
    struct store_shared row = {.token = file->token,
                               .owner = f->owner,
                               .name = name,
                               .bytes = found->bytes,
                               .expires_ms = clock_wall_ms() + f->ttl_ms};
    memcpy(row.hash, found->hash, sizeof(row.hash));
    if (store_put_shared(f->engine->store, &row, &e) < 0) {
        snprintf(a->files_reason, sizeof(a->files_reason), "%.250s", e.message);
        a->n_files_omitted++;
        return;
    }
    file->path = take_ptr(found->path);
    file->bytes = found->bytes;
    a->n_files++;
}

static void oneshot_files_end(struct oneshot_files *f, const char *problem)
{
    struct oneshot_answer *a = f->answer;
    if (problem != NULL)
        snprintf(a->files_reason, sizeof(a->files_reason), "%.250s", problem);
    void (*on_found)(void *) = f->on_found;
    void *context = f->context;
    oneshot_files_files_free(f);
    on_found(context);
}

static void oneshot_files_listed(uv_work_t *uv, int status)
{
    (void)status;
    struct oneshot_files *f = CONTAINER_OF(uv, struct oneshot_files, uv);
    f->engine->n_closing--;
    if (f->answer == NULL) {
        oneshot_files_files_free(f);
        return;
    }
    if (f->is_bad) {
        oneshot_files_end(f, f->err.message);
        return;
    }
    f->answer->files = mem_alloc((f->n_found + 1) * sizeof(*f->answer->files));
    f->answer->n_files_omitted = f->n_omitted;
    for (size_t i = 0; i < f->n_found; i++)
        if (!oneshot_given_has(f->given, f->found[i].path, f->found[i].hash))
            oneshot_files_share(f, &f->found[i]);
    oneshot_files_end(f, NULL);
}

/* ---- whether there is anything --------------------------------------------------------------- */

void oneshot_files_expect(const struct session *session, struct timespec *ret_untouched)
{
    struct timespec at;
    bool is_known = warden_changed_at(session->engine->warden, session->room->name, &at) == 0 &&
                    at.tv_nsec != 0; /* 0: it counts in seconds */
    uint64_t at_ms = (uint64_t)at.tv_sec * 1000 + (uint64_t)at.tv_nsec / 1000000;
    bool is_settled = is_known && at_ms + SETTLED_MS < clock_wall_ms();
    *ret_untouched = is_settled ? at : (struct timespec){0};
}

bool oneshot_files_are_none(const struct session *session, const struct timespec *untouched)
{
    struct timespec at;
    return untouched->tv_sec != 0 &&
           warden_changed_at(session->engine->warden, session->room->name, &at) == 0 &&
           at.tv_sec == untouched->tv_sec && at.tv_nsec == untouched->tv_nsec;
}

/* ---- recording ------------------------------------------------------------------------------- */

static void oneshot_files_on_recorded(void *context, const struct warden_event *event)
{
    struct oneshot_files *f = context;
    struct err ignored;
    _json_ json_t *report = NULL;
    f->ticket = 0;
    if (event->type != WARDEN_RECORDED ||
        json_read_object(event->text, strlen(event->text), &report, &ignored) < 0) {
        oneshot_files_end(f, "the files could not be looked at");
        return;
    }
    const char *manifest = json_string_value(json_object_get(report, "manifest"));
    const char *reason = json_string_value(json_object_get(report, "reason"));
    if (manifest == NULL || blob_parse_hex(manifest, &f->manifest) < 0)
        oneshot_files_end(f, reason != NULL ? reason : "the files could not be recorded");
    else if (json_integer_value(json_object_get(report, "files")) == 0)
        oneshot_files_end(f, NULL);
    else {
        f->engine->n_closing++; /* the blobs' directory stays open meanwhile */
        uv_queue_work(f->engine->loop, &f->uv, oneshot_files_list_in_worker, oneshot_files_listed);
    }
}

struct oneshot_files *oneshot_files_find(struct session *session,
                                         const struct oneshot_request *request,
                                         const struct oneshot_given *given,
                                         struct oneshot_answer *answer,
                                         void (*on_found)(void *context), void *context)
{
    struct err e;
    struct engine *engine = session->engine;
    uint64_t bytes = (uint64_t)session->limits.disk_mb * MIB;
    struct archive_budget budget = {.files = RECORD_FILES, .bytes = bytes, .new_bytes = bytes};
    struct oneshot_files *f = mem_alloc(sizeof(*f));
    f->engine = engine;
    f->answer = answer;
    f->on_found = on_found;
    f->context = context;
    f->ttl_ms = request->files_ttl_ms;
    f->owner = request->owner;
    f->given = given;
    f->blobs = store_blobs(engine->store);
    f->ticket = pool_new_number(engine->pool);
    tickets_expect(engine, f->ticket, WARDEN_RECORDED, oneshot_files_on_recorded, f);
    if (warden_record(engine->warden, f->ticket, session->room->name, "", &budget, &e) == 0)
        return f;
    tickets_forget(engine, f->ticket);
    snprintf(answer->files_reason, sizeof(answer->files_reason), "%.250s", e.message);
    oneshot_files_files_free(f);
    return NULL;
}

void oneshot_files_forget(struct oneshot_files *f)
{
    if (f == NULL)
        return;
    f->answer = NULL;
    if (f->ticket == 0)
        return; /* a worker has it and will see */
    tickets_forget(f->engine, f->ticket);
    oneshot_files_files_free(f);
}
