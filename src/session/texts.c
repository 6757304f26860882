/* Questions about texts, in the daemon: fetched from where they lie, unpacked, then asked about.
 * Owns the orders that are under way. */
#include "base/clock.h"
#include "base/fd.h"
#include "explore/archive.h"
#include "explore/fetch.h"
#include "explore/pdf.h"
#include "explore/worker.h"
#include "loop/loop.h"
#include "session/engine_state.h"
#include "session/exploring.h"
#include "session/files.h"
#include "session/session.h"
#include "wire/json.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <strings.h>
#include <sys/mman.h>

enum {
    TEXTS_PIECE = 1024 * 1024,  /* bytes of a file that are read at a time */
    TEXTS_PATIENCE_MS = 30000,  /* for the next of them */
    TEXTS_FETCHED_MAX = 200000, /* characters of a page */
};

/* One question on its way. Whatever the text is made of becomes a blob first, so that nobody can
 * change it while it is read:
 *
 *   a file of the workspace: the archivist sends it through a pipe ------\
 *   a page of the web: a box fetches it into a file in memory -----------+-> a worker thread puts
 *   a member of an archive, the text of a PDF: a box, likewise ----------/   it into the store
 *
 * and again, until it is what was asked for. Then the session's worker is asked, or a box lists,
 * searches or unpacks the archive. A context is in the store already. */
struct exploring_order {
    struct list node;
    struct session *session;
    struct engine *engine;
    json_t *request;
    uint64_t limit_ms;
    char name[EXPLORING_NAME_MAX + 1]; /* of the context that the text becomes; "": none */
    char hash[BLOB_HEX_SIZE];          /* what it is made of so far; "": nothing is there yet */
    int64_t recorded;                  /* bytes that a context or an output has; -1: others */
    char *member;                      /* of the archive, that is to be read next; else NULL */
    bool is_pdf;                       /* its text is to be read next */
    struct file_order *file;           /* the archivist is asked; else NULL */
    struct explore_job *job;           /* a box is; else NULL */
    struct explore_ask *ask;           /* the worker is; else NULL */
    int made;                          /* what a box writes to; -1: nothing */
    int source;                        /* what a worker thread reads; -1: nothing */
    json_t *given; /* or what it has at once, a string; NULL if it has none at once */
    uv_work_t uv;
    bool is_working; /* it does */
    int64_t bytes;   /* that it has to read */
    int status;      /* of it: 0 or -errno */
    struct blob_put put;
    json_t *left_out;                        /* of an archive that is being unpacked; or NULL */
    const struct explore_listener *listener; /* NULL if the caller went away */
    void *context;
};

/* ---- the end --------------------------------------------------------------------------------- */

static void texts_free(struct exploring_order *o)
{
    if (o->file != NULL)
        file_forget(o->file);
    explore_job_forget(o->job);
    explore_ask_forget(o->ask);
    list_remove(&o->node);
    cleanup_fd(&o->made);
    cleanup_fd(&o->source);
    json_decref(o->request);
    json_decref(o->left_out);
    json_decref(o->given);
    free(o->member);
    free(o);
}

void exploring_forget(struct exploring_order *o)
{
    o->listener = NULL;
    if (!o->is_working)
        texts_free(o);
}

static void texts_end(struct exploring_order *o, json_t *result, const struct err *e)
{
    const struct explore_listener *listener = o->listener;
    void *context = o->context;
    texts_free(o);
    if (listener == NULL)
        return;
    if (result != NULL)
        listener->on_done(context, result);
    else
        listener->on_failed(context, e);
}

void texts_end_all(struct session *session)
{
    struct list *orders = &session->exploring.orders;
    struct err e;
    err_set(&e, ERR_GONE, "the session has ended");
    while (!list_is_empty(orders)) {
        struct exploring_order *o = CONTAINER_OF(list_first(orders), struct exploring_order, node);
        const struct explore_listener *listener = take_ptr(o->listener);
        void *context = o->context;
        list_remove(&o->node);
        list_init(&o->node);
        if (!o->is_working)
            texts_free(o);
        if (listener != NULL)
            listener->on_failed(context, &e);
    }
}

/* ---- into the store -------------------------------------------------------------------------- */

static int texts_go_on(struct exploring_order *o, struct err *e);

/* Whoever sends can stop at any byte. */
static void texts_receive_in_worker(struct exploring_order *o, struct blob_writer *writer)
{
    _free_ char *piece = mem_alloc(TEXTS_PIECE);
    int64_t left = o->bytes;
    while (o->status == 0 && left > 0) {
        struct pollfd wait = {.fd = o->source, .events = POLLIN};
        ssize_t n = poll(&wait, 1, (int)clock_scaled_ms(TEXTS_PATIENCE_MS)) > 0
                        ? read(o->source, piece, (size_t)MIN(left, (int64_t)TEXTS_PIECE))
                        : -1;
        if (n < 0)
            o->status = -ETIMEDOUT;
        else if (n == 0)
            o->status = -EPIPE; /* it has become shorter meanwhile */
        else
            o->status = blob_writer_add(writer, piece, (size_t)n);
        left -= n;
    }
}

/* In a worker thread. */
static void texts_read_in_worker(uv_work_t *uv)
{
    struct exploring_order *o = CONTAINER_OF(uv, struct exploring_order, uv);
    struct blob_writer *writer;
    o->status = blob_writer_new(o->engine->blobs, &writer);
    if (o->status < 0)
        return;
    if (o->given != NULL)
        o->status = blob_writer_add(writer, json_string_value(o->given), (size_t)o->bytes);
    else
        texts_receive_in_worker(o, writer);
    if (o->status == 0)
        o->status = blob_writer_finish(writer, &o->put);
    blob_writer_free(writer);
}

static void texts_on_read(uv_work_t *uv, int status)
{
    struct exploring_order *o = CONTAINER_OF(uv, struct exploring_order, uv);
    struct err e;
    (void)status;
    o->engine->n_closing--;
    o->is_working = false;
    cleanup_fd(&o->source);
    o->source = -1;
    if (o->listener == NULL) {
        texts_free(o);
        return;
    }
    blob_hex(&o->put.hash, o->hash);
    if (o->status == 0 && texts_go_on(o, &e) == 0)
        return;
    if (o->status == -EPIPE) {
        err_set(&e, ERR_CONFLICT, "the file became shorter while it was read");
        err_advise(&e, "Ask again once nothing writes to it.");
    } else if (o->status < 0) {
        err_errno(&e, ERR_UNAVAILABLE, o->status, "the file could not be read");
    }
    texts_end(o, NULL, &e);
}

/* `bytes` come from `source`. */
static void texts_read(struct exploring_order *o, int source, int64_t bytes)
{
    o->source = source;
    o->bytes = bytes;
    o->is_working = true;
    o->engine->n_closing++; /* the blobs' directory stays open meanwhile */
    uv_queue_work(o->engine->loop, &o->uv, texts_read_in_worker, texts_on_read);
}

static int texts_check_size(const struct exploring_order *o, int64_t bytes, struct err *e)
{
    uint32_t most = o->engine->config.context_mb;
    if (bytes >= 0 && (uint64_t)bytes <= (uint64_t)most * MIB)
        return 0;
    err_set(e, ERR_TOO_LARGE, "the text has more than %u MiB", most);
    return err_advise(e, "Load it in parts, or raise explore.max_context_mb in cella.yaml.");
}

/* ---- a file of the workspace ----------------------------------------------------------------- */

static void texts_on_file(void *context, const struct file_result *result)
{
    struct exploring_order *o = context;
    struct err e;
    int64_t bytes = json_integer_value(json_object_get(result->details, "length"));
    o->file = NULL;
    if (texts_check_size(o, bytes, &e) < 0)
        texts_end(o, NULL, &e);
    else
        texts_read(o, take_fd(&o->source), bytes);
}

static void texts_on_no_file(void *context, const struct err *e)
{
    struct exploring_order *o = context;
    o->file = NULL;
    texts_end(o, NULL, e);
}

static const struct file_listener texts_file_listener = {.on_done = texts_on_file,
                                                         .on_failed = texts_on_no_file};

static int texts_get_file(struct exploring_order *o, const char *path, struct err *e)
{
    int ends[2];
    struct warden_file_order what = {.action = WARDEN_FILE_GET};
    size_t len = strlen(path);
    if (len >= sizeof(what.path))
        return err_set(e, ERR_INVALID, "the path of the file is too long");
    memcpy(what.path, path, len + 1);
    if (pipe2(ends, O_CLOEXEC) < 0)
        return err_errno(e, ERR_UNAVAILABLE, errno, "there is no way for the bytes");
    o->source = ends[0];
    struct file_order *file = NULL;
    int r = session_file(o->session, &what, ends[1], &texts_file_listener, o, &file, e);
    close(ends[1]);
    if (r == 0 && file != NULL)
        o->file = file;
    return r;
}

/* ---- boxes ----------------------------------------------------------------------------------- */

static struct explore_boxes *texts_boxes(struct engine *engine)
{
    if (engine->explore_boxes == NULL)
        engine->explore_boxes = explore_boxes_new(engine->loop);
    return engine->explore_boxes;
}

static bool texts_is_pdf(const char *name)
{
    size_t len = strlen(name);
    return len > 4 && strcasecmp(name + len - 4, ".pdf") == 0;
}

/* A box has made something of the text: that is read, and the order goes on with it. */
static void texts_on_made(void *context, json_t *result, const struct err *e)
{
    struct exploring_order *o = context;
    struct err lost;
    o->job = NULL;
    if (result == NULL) {
        texts_end(o, NULL, e);
        return;
    }
    json_t *left_out = json_object_get(result, "left_out");
    if (left_out != NULL)
        o->left_out = json_incref(left_out);
    int64_t bytes = lseek(o->made, 0, SEEK_END);
    if (bytes >= 0 && lseek(o->made, 0, SEEK_SET) == 0) {
        texts_read(o, take_fd(&o->made), bytes);
        return;
    }
    err_errno(&lost, ERR_UNAVAILABLE, errno, "what a box made cannot be read");
    texts_end(o, NULL, &lost);
}

static void texts_on_told(void *context, json_t *result, const struct err *e)
{
    struct exploring_order *o = context;
    o->job = NULL;
    texts_end(o, result, e);
}

static int texts_make_file(struct exploring_order *o, struct err *e)
{
    cleanup_fd(&o->made);
    o->made = memfd_create("cella-text", MFD_CLOEXEC);
    return o->made >= 0 ? 0 : err_errno(e, ERR_UNAVAILABLE, errno, "there is no place for it");
}

static int texts_open(const struct exploring_order *o, struct err *e)
{
    struct blob_hash hash;
    int fd = blob_parse_hex(o->hash, &hash) == 0 ? blob_open(o->engine->blobs, &hash) : -ENOENT;
    return fd >= 0 ? fd : err_errno(e, ERR_UNAVAILABLE, fd, "the text is not in the store");
}

/* The next thing to make of the bytes that are there: a member, the text of a PDF, a tar. */
static int texts_make(struct exploring_order *o, bool unpacks, struct err *e)
{
    struct explore_boxes *boxes = texts_boxes(o->engine);
    if (texts_make_file(o, e) < 0)
        return -1;
    int fd = texts_open(o, e), to = fd >= 0 ? fcntl(o->made, F_DUPFD_CLOEXEC, 0) : -1;
    if (fd < 0)
        return -1;
    if (o->member != NULL) {
        _free_ char *member = take_ptr(o->member);
        o->is_pdf = texts_is_pdf(member);
        o->job = archive_read(boxes, fd, member, 0, to, texts_on_made, o, e);
    } else if (unpacks) {
        o->job = archive_unpack(boxes, fd, NULL, to, texts_on_made, o, e);
    } else {
        o->is_pdf = false;
        o->job = pdf_text(boxes, fd, to, texts_on_made, o, e);
    }
    return o->job != NULL ? 0 : -1;
}

static int texts_fetch(struct exploring_order *o, const struct explore_place *place, struct err *e)
{
    json_int_t chars = json_integer_value(json_object_get(o->request, "max_chars"));
    bool is_kept = o->name[0] != '\0'; /* as a context: its bytes */
    struct fetch_request request = {.url = place->url,
                                    .domains = place->domains,
                                    .n_domains = place->n_domains,
                                    .body = json_string_value(json_object_get(o->request, "body")),
                                    .headers = json_object_get(o->request, "headers"),
                                    .max_chars = (size_t)MIN(chars, (json_int_t)TEXTS_FETCHED_MAX),
                                    .to = -1};
    if (is_kept && texts_make_file(o, e) < 0)
        return -1;
    if (is_kept)
        request.to = fcntl(o->made, F_DUPFD_CLOEXEC, 0);
    o->is_pdf = is_kept && texts_is_pdf(place->url);
    o->job =
        fetch_page(texts_boxes(o->engine), &request, is_kept ? texts_on_made : texts_on_told, o, e);
    return o->job != NULL ? 0 : -1;
}

/* ---- an archive that is unpacked ------------------------------------------------------------- */

static void texts_on_unpacked(void *context, const struct file_result *result)
{
    struct exploring_order *o = context;
    o->file = NULL;
    _json_ json_t *told = json_copy((json_t *)(uintptr_t)result->details);
    if (json_array_size(o->left_out) > 0)
        json_object_set(told, "left_out", o->left_out);
    texts_end(o, told, NULL);
}

static const struct file_listener texts_unpack_listener = {.on_done = texts_on_unpacked,
                                                           .on_failed = texts_on_no_file};

static int texts_put_tar(struct exploring_order *o, struct err *e)
{
    struct warden_file_order what = {.action = WARDEN_FILE_UNPACK};
    const char *to = json_string_value(json_object_get(o->request, "to"));
    struct file_order *file = NULL;
    snprintf(what.path, sizeof(what.path), "%s", to != NULL ? to : "");
    memcpy(what.blob, o->hash, sizeof(what.blob));
    int r = session_file(o->session, &what, -1, &texts_unpack_listener, o, &file, e);
    if (r == 0 && file != NULL)
        o->file = file;
    return r;
}

/* ---- the question ---------------------------------------------------------------------------- */

static int texts_check_number(const struct session *session, const char *name, struct err *e)
{
    const json_t *contexts = exploring_get(session, "contexts");
    if (json_object_size(contexts) < EXPLORING_CONTEXTS_MAX ||
        json_object_get(contexts, name) != NULL)
        return 0;
    err_set(e, ERR_LIMIT, "the session has %d contexts", EXPLORING_CONTEXTS_MAX);
    return err_advise(e, "Delete one first: context.delete.");
}

static void texts_on_answer(void *context, json_t *result, const struct err *e)
{
    struct exploring_order *o = context;
    struct err bad;
    o->ask = NULL;
    if (result == NULL || o->name[0] == '\0') {
        texts_end(o, result, e);
        return;
    }
    if (texts_check_number(o->session, o->name, &bad) < 0) { /* others may have been quicker */
        texts_end(o, NULL, &bad);
        return;
    }
    /* The text has been counted: from now on it is a context. */
    _json_ json_t *told = json_pack(
        "{s:s, s:O, s:O, s:O}", "hash", o->hash, "bytes", json_object_get(result, "bytes"), "chars",
        json_object_get(result, "chars"), "lines", json_object_get(result, "lines"));
    err_set(&bad, ERR_INTERNAL, "the characters of the context could not be counted");
    if (told != NULL) {
        exploring_put_context(o->session, o->name, json_incref(told));
        o->session->exploring.is_on = true;
    }
    texts_end(o, told, &bad);
}

/* A new context may not be too large; what was kept before has to be as it was. */
static int texts_check_bytes(const struct exploring_order *o, int64_t bytes, struct err *e)
{
    if (o->recorded < 0 || bytes == o->recorded)
        return o->name[0] != '\0' ? texts_check_size(o, bytes, e) : 0;
    err_set(e, ERR_CONFLICT, "the text became shorter on the disk: it has %lld bytes of %lld",
            (long long)bytes, (long long)o->recorded);
    return err_advise(e, "Load it once more.");
}

static int texts_ask(struct exploring_order *o, struct err *e)
{
    struct exploring *x = &o->session->exploring;
    struct explore_source source;
    _fd_ int fd = texts_open(o, e);
    if (fd < 0 || texts_check_bytes(o, lseek(fd, 0, SEEK_END), e) < 0)
        return -1;
    if (x->worker == NULL)
        x->worker = explore_worker_new(o->engine->loop);
    memcpy(source.key, o->hash, sizeof(source.key));
    source.fd = fd;
    json_object_set_new(o->request, "source", json_string(o->hash));
    o->ask = explore_ask(x->worker, take_ptr(o->request), &source, 1, o->limit_ms, texts_on_answer,
                         o, e);
    return o->ask != NULL ? 0 : -1;
}

static int texts_ask_archive(struct exploring_order *o, bool searches, struct err *e)
{
    struct explore_boxes *boxes = texts_boxes(o->engine);
    const char *query = json_string_value(json_object_get(o->request, "query"));
    json_int_t max = json_integer_value(json_object_get(o->request, "max_results"));
    int fd = texts_open(o, e);
    if (fd < 0)
        return -1;
    o->job = searches
                 ? archive_search(boxes, fd, query != NULL ? query : "", (size_t)max, texts_on_told,
                                  o, e)
                 : archive_list(boxes, fd, json_string_value(json_object_get(o->request, "inside")),
                                texts_on_told, o, e);
    return o->job != NULL ? 0 : -1;
}

/* The bytes are in the store: what is to be done with them next. */
static int texts_go_on(struct exploring_order *o, struct err *e)
{
    const char *op = json_string_value(json_object_get(o->request, "op"));
    bool unpacks = strcmp(op, "archive_unpack") == 0;
    if (o->member != NULL || o->is_pdf || (unpacks && o->left_out == NULL))
        return texts_make(o, unpacks, e);
    if (unpacks)
        return texts_put_tar(o, e);
    if (strcmp(op, "archive_list") == 0 || strcmp(op, "archive_search") == 0)
        return texts_ask_archive(o, strcmp(op, "archive_search") == 0, e);
    return texts_ask(o, e);
}

static int texts_start(struct exploring_order *o, const struct explore_place *place, struct err *e)
{
    const struct session *session = o->session;
    const char *hash = place->hash;
    size_t n = 0;
    LIST_EACH(&session->exploring.orders, node)
        n++;
    if (session_refuse_if_dead(session, e) < 0)
        return -1;
    if (session->engine->blobs < 0)
        return err_set(e, ERR_UNAVAILABLE, "this daemon keeps nothing beyond its own life");
    if (n > EXPLORING_ORDERS_MAX) {
        err_set(e, ERR_LIMIT, "the session answers %d questions about texts", EXPLORING_ORDERS_MAX);
        return err_advise(e, "Ask again in a moment.");
    }
    if (place->url != NULL)
        return texts_fetch(o, place, e);
    if (place->text != NULL) {
        o->given = json_incref((json_t *)(uintptr_t)place->text);
        texts_read(o, -1, (int64_t)json_string_length(place->text));
        return 0;
    }
    bool is_file = hash == NULL && place->context == NULL && place->file_path != NULL;
    const json_t *kept = NULL;
    if (is_file && !exploring_find_spill(session, place->file_path, &kept, e)) {
        o->is_pdf = place->member == NULL && texts_is_pdf(place->file_path);
        return texts_get_file(o, place->file_path, e);
    }
    if (hash == NULL && !is_file)
        kept = exploring_context(session,
                                 place->context != NULL ? place->context : EXPLORING_CONTEXT, e);
    if (hash == NULL) {
        hash = json_string_value(json_object_get(kept, "hash"));
        o->recorded =
            place->member == NULL ? json_integer_value(json_object_get(kept, "bytes")) : -1;
    }
    if (hash == NULL)
        return -1;
    snprintf(o->hash, sizeof(o->hash), "%s", hash);
    return texts_go_on(o, e);
}

static struct exploring_order *texts_begin(struct session *session, const char *name,
                                           const struct explore_place *place, json_t *request,
                                           const struct explore_listener *listener, void *context,
                                           struct err *e)
{
    struct exploring_order *o = mem_alloc(sizeof(*o));
    *o = (struct exploring_order){
        .session = session,
        .engine = session->engine,
        .request = request,
        .limit_ms = clock_scaled_ms(name != NULL ? EXPLORING_OPEN_MS : EXPLORING_LIMIT_MS),
        .member = place->member != NULL ? mem_strdup(place->member) : NULL,
        .recorded = -1,
        .made = -1,
        .source = -1,
        .listener = listener,
        .context = context};
    snprintf(o->name, sizeof(o->name), "%s", name != NULL ? name : "");
    list_append(&session->exploring.orders, &o->node);
    session_restart_idle(session);
    if (texts_start(o, place, e) == 0)
        return o;
    texts_free(o);
    return NULL;
}

struct exploring_order *session_explore(struct session *session, const struct explore_place *place,
                                        json_t *request, const struct explore_listener *listener,
                                        void *context, struct err *e)
{
    return texts_begin(session, NULL, place, request, listener, context, e);
}

struct exploring_order *session_load_context(struct session *session, const char *name,
                                             const struct explore_place *place,
                                             const struct explore_listener *listener, void *context,
                                             struct err *e)
{
    if (!exploring_is_name(name)) {
        err_set(e, ERR_INVALID, "\"%.64s\" is no name of a context", name);
        err_advise(e, "Use up to %d letters, digits, '_', '-' and '.'.", EXPLORING_NAME_MAX);
        return NULL;
    }
    if (texts_check_number(session, name, e) < 0)
        return NULL;
    return texts_begin(session, name, place, json_pack("{s:s}", "op", "open"), listener, context,
                       e);
}
