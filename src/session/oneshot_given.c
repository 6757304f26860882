/* Files that a run is given, in the daemon: their bytes go into the store by a worker thread, then
 * into the workspace one by one, before its code begins. Owns what it knows of them until the run
 * is over. */
#include "jail/warden.h"
#include "session/engine_state.h"
#include "session/oneshot_parts.h"
#include "wire/base64.h"

#include <uv.h>

struct given_file {
    const char *path; /* in the object of files, like the text */
    const char *text;
    size_t len;
    char hash[BLOB_HEX_SIZE];
};

struct oneshot_given {
    uv_work_t uv;
    void (*on_put)(void *context, const struct err *e); /* NULL if the caller went away */
    void *context;
    struct session *session;
    struct engine *engine;
    int blobs;     /* a store of blobs; borrowed */
    json_t *files; /* a reference */
    struct given_file *items;
    size_t n, n_put;
    bool is_working;          /* a worker has it */
    struct file_order *order; /* under way; NULL if none */
    struct err err;           /* of the worker */
    bool is_bad;
};

static void given_free(struct oneshot_given *g)
{
    json_decref(g->files);
    free(g->items);
    free(g);
}

/* ---- into the store, in a worker ------------------------------------------------------------- */

/* "data:image/png;base64,iVBO...": what follows is to be decoded; NULL if it is no such text. */
static const char *given_encoded(const struct given_file *file)
{
    static const char begin[] = "data:", mark[] = ";base64,";
    enum { TYPE_MAX = 128 };
    if (file->len < strlen(begin) || memcmp(file->text, begin, strlen(begin)) != 0)
        return NULL;
    const char *found = memmem(file->text, MIN(file->len, (size_t)TYPE_MAX), mark, strlen(mark));
    return found != NULL ? found + strlen(mark) : NULL;
}

static int given_store(int blobs, struct given_file *file, struct err *e)
{
    _buf_ struct buf bytes = BUF_INIT(base64_decoded_max(file->len) + 1);
    struct blob_put put;
    const char *data = file->text, *encoded = given_encoded(file);
    size_t len = file->len;
    if (encoded != NULL) {
        if (!base64_decode(&bytes, encoded, file->len - (size_t)(encoded - file->text))) {
            err_set(e, ERR_INVALID, "the file %.128s is not base64", file->path);
            return err_advise(e, "Write data:;base64, and the bytes in base64, or plain text.");
        }
        data = buf_str(&bytes);
        len = bytes.len;
    }
    int r = blob_put_bytes(blobs, data, len, &put);
    if (r < 0) {
        err_errno(e, ERR_UNAVAILABLE, r, "the file %.128s cannot be kept", file->path);
        return err_advise(e, "Free some space where the daemon keeps its data.");
    }
    blob_hex(&put.hash, file->hash);
    return 0;
}

static void given_work(uv_work_t *uv)
{
    struct oneshot_given *g = CONTAINER_OF(uv, struct oneshot_given, uv);
    for (size_t i = 0; i < g->n && !g->is_bad; i++)
        g->is_bad = given_store(g->blobs, &g->items[i], &g->err) < 0;
}

/* ---- into the workspace ---------------------------------------------------------------------- */

static void given_put_next(struct oneshot_given *g);

static void given_on_put(void *context, const struct file_result *result)
{
    struct oneshot_given *g = context;
    (void)result;
    g->order = NULL;
    g->n_put++;
    given_put_next(g);
}

static void given_on_failed(void *context, const struct err *e)
{
    struct oneshot_given *g = context;
    g->order = NULL;
    g->on_put(g->context, e);
}

static const struct file_listener given_listener = {.on_done = given_on_put,
                                                    .on_failed = given_on_failed};

static void given_put_next(struct oneshot_given *g)
{
    struct err e;
    if (g->n_put == g->n) {
        g->on_put(g->context, NULL);
        return;
    }
    struct file_order *order;
    const struct given_file *file = &g->items[g->n_put];
    struct warden_file_order what = {.action = WARDEN_FILE_PUT};
    size_t len = strlen(file->path);
    snprintf(what.path, sizeof(what.path), "%.*s", (int)MIN(len, sizeof(what.path) - 1),
             file->path);
    memcpy(what.blob, file->hash, sizeof(what.blob));
    if (len >= sizeof(what.path)) {
        err_set(&e, ERR_INVALID, "a file's path has %zu bytes", len);
        err_advise(&e, "Give paths of less than %zu bytes.", sizeof(what.path));
        g->on_put(g->context, &e);
    } else if (session_file(g->session, &what, -1, &given_listener, g, &order, &e) < 0) {
        g->on_put(g->context, &e);
    } else if (order != NULL) { /* else the listener was told, and all of this may be gone */
        g->order = order;
    }
}

static void given_worked(uv_work_t *uv, int status)
{
    struct oneshot_given *g = CONTAINER_OF(uv, struct oneshot_given, uv);
    (void)status;
    g->engine->n_closing--;
    g->is_working = false;
    struct err e = g->err;
    if (g->on_put == NULL)
        given_free(g);
    else if (g->is_bad)
        g->on_put(g->context, &e);
    else
        given_put_next(g);
}

struct oneshot_given *oneshot_given_put(struct session *session, const json_t *given,
                                        void (*on_put)(void *context, const struct err *e),
                                        void *context)
{
    struct oneshot_given *g = mem_alloc(sizeof(*g));
    json_t *files = (json_t *)(uintptr_t)given, *text;
    const char *path;
    g->on_put = on_put;
    g->context = context;
    g->session = session;
    g->engine = session->engine;
    g->blobs = store_blobs(g->engine->store);
    g->files = json_incref(files);
    g->items = mem_alloc(json_object_size(files) * sizeof(*g->items));
    json_object_foreach(files, path, text) {
        g->items[g->n++] = (struct given_file){
            .path = path, .text = json_string_value(text), .len = json_string_length(text)};
    }
    g->is_working = true;
    g->engine->n_closing++; /* the blobs' directory stays open meanwhile */
    uv_queue_work(g->engine->loop, &g->uv, given_work, given_worked);
    return g;
}

bool oneshot_given_has(const struct oneshot_given *g, const char *path, const char *hash)
{
    for (size_t i = 0; g != NULL && i < g->n; i++)
        if (strcmp(g->items[i].path, path) == 0)
            return strcmp(g->items[i].hash, hash) == 0;
    return false;
}

void oneshot_given_forget(struct oneshot_given *g)
{
    if (g == NULL)
        return;
    g->on_put = NULL;
    if (g->order != NULL)
        file_forget(g->order);
    if (!g->is_working)
        given_free(g);
}
