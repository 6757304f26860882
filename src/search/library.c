/* Indexes, in the daemon: who waits for which, what a process is given next. */
#include "search/library.h"

#include "base/clock.h"
#include "base/fd.h"
#include "base/list.h"
#include "explore/worker.h"
#include "loop/loop.h"
#include "search/encoder.h"
#include "search/settings.h"
#include "wire/json.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

struct search_library {
    uv_loop_t *loop;
    int blobs;
    bool has_corpus;
    struct explore_worker_kind kind;
    struct explore_worker *worker;
    struct list orders; /* the first one is under way */
    size_t n_orders;
};

struct search_order {
    struct list node;
    struct search_library *library;
    json_t *question;
    char list[BLOB_HEX_SIZE];         /* "": the corpus */
    struct explore_ask *ask;          /* the process works on it; else NULL */
    struct loop_timer *start;         /* its turn has come */
    uint64_t until_ms;                /* monotonic; 0: it waits */
    json_t *setting;                  /* of the encoder that makes vectors for it; else NULL */
    struct search_encoding *encoding; /* it works; else NULL */
    json_t *units;                    /* what it makes vectors for; NULL if for the question */
    uint64_t encode_until_ms;         /* monotonic */
    int64_t pending;                  /* units without vectors */
    char trouble[400];                /* why there are none; "": there are */
    search_fn fn;
    void *context;
};

int search_open_folder(int parent, const char *name)
{
    if (mkdirat(parent, name, 0700) < 0 && errno != EEXIST)
        return -errno;
    int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    return fd < 0 ? -errno : fd;
}

/* Above the numbers that the process has them as. */
static int search_raise(int fd)
{
    int raised = fd >= 0 ? fcntl(fd, F_DUPFD_CLOEXEC, 10) : -1;
    cleanup_fd(&fd);
    return raised;
}

struct search_library *search_library_new(uv_loop_t *loop, const struct search_place *place,
                                          struct err *e)
{
    int folder = search_open_folder(place->parent, place->name), corpus = -1;
    if (folder < 0) {
        err_errno(e, ERR_UNAVAILABLE, -folder, "the folder of the index cannot be made");
        return NULL;
    }
    if (place->corpus != NULL)
        corpus = open(place->corpus, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (place->corpus != NULL && corpus < 0) {
        err_errno(e, ERR_NOT_FOUND, errno, "the folder %.200s of the corpus cannot be opened",
                  place->corpus);
        err_advise(e, "The daemon's user must be able to read it, and enter what is above it.");
        close(folder);
        return NULL;
    }
    struct search_library *l = mem_alloc(sizeof(*l));
    l->loop = loop;
    l->blobs = place->blobs;
    l->has_corpus = place->corpus != NULL;
    l->kind = (struct explore_worker_kind){
        .word = SEARCH_BOX_WORD,
        .subject = "an index",
        .walls = "seccomp and Landlock (Linux 5.13)",
        .late = "Ask again: what was read so far is kept.",
        .ended = "If it ends each time, one of the files ends it: search fewer of them.",
        .idle_ms = SEARCH_IDLE_MS,
        .has_folders = true,
        .folders = {search_raise(folder), search_raise(corpus)}};
    list_init(&l->orders);
    l->worker = explore_worker_of(loop, &l->kind);
    return l;
}

static void search_free_order(struct search_order *o)
{
    list_remove(&o->node);
    o->library->n_orders--;
    explore_ask_forget(take_ptr(o->ask));
    search_encoding_forget(take_ptr(o->encoding));
    json_decref(o->setting);
    json_decref(o->units);
    loop_timer_close(take_ptr(o->start), NULL);
    json_decref(o->question);
    free(o);
}

void search_library_free(struct search_library *l)
{
    if (l == NULL)
        return;
    LIST_EACH(&l->orders, at)
        search_free_order(CONTAINER_OF(at, struct search_order, node));
    explore_worker_free(l->worker);
    for (size_t i = 0; i < ARRAY_LEN(l->kind.folders); i++)
        cleanup_fd(&l->kind.folders[i]);
    free(l);
}

bool search_is_idle(const struct search_library *l)
{
    return l->n_orders == 0;
}

/* ---- the end --------------------------------------------------------------------------------- */

static void search_begin_next(struct search_library *l)
{
    struct list *first = list_first(&l->orders);
    struct search_order *o = first != NULL ? CONTAINER_OF(first, struct search_order, node) : NULL;
    if (o != NULL && o->until_ms == 0)
        loop_timer_set(o->start, 0);
}

void search_forget(struct search_order *o)
{
    if (o == NULL)
        return;
    struct search_library *l = o->library;
    search_free_order(o);
    search_begin_next(l);
}

static void search_end(struct search_order *o, json_t *result, const struct err *e)
{
    struct search_library *l = o->library;
    search_fn fn = o->fn;
    void *context = o->context;
    search_free_order(o);
    search_begin_next(l);
    fn(context, result, e); /* which may free the library */
}

/* ---- steps ----------------------------------------------------------------------------------- */

static int search_send(struct search_order *o, json_t *request,
                       const struct explore_source *sources, size_t n, explore_answer_fn fn,
                       struct err *e)
{
    if (clock_mono_ms() >= o->until_ms) {
        json_decref(request);
        err_set(e, ERR_TIMEOUT, "the files could not be read within %d s", SEARCH_LIMIT_MS / 1000);
        return err_advise(e, "Ask again: what was read so far is kept.");
    }
    o->ask = explore_ask(o->library->worker, request, sources, n, clock_scaled_ms(SEARCH_STEP_MS),
                         fn, o, e);
    return o->ask != NULL ? 0 : -1;
}

/* What the caller is told besides. */
static void search_add_notes(const struct search_order *o, json_t *result)
{
    _buf_ struct buf notes = BUF_INIT(2 * KIB);
    if (o->trouble[0] != '\0')
        buf_printf(&notes, "ranked without the encoder: %s", o->trouble);
    else if (o->pending > 0)
        buf_printf(&notes, "%lld parts have no vectors yet: ask again", (long long)o->pending);
    if (notes.len > 0)
        json_object_set_new(result, "notes", json_string(buf_str(&notes)));
}

static int search_for_it(struct search_order *o, int answer, struct err *e);

static void search_on_found(void *context, json_t *result, const struct err *e)
{
    struct search_order *o = context;
    struct err bad;
    o->ask = NULL;
    bool is_upstream = result == NULL && e->code == ERR_UPSTREAM && o->trouble[0] == '\0';
    if (is_upstream) { /* the question's own vectors are none */
        snprintf(o->trouble, sizeof(o->trouble), "%.390s", e->message);
        if (search_for_it(o, -1, &bad) < 0)
            search_end(o, NULL, &bad);
        return;
    }
    if (result != NULL)
        search_add_notes(o, result);
    search_end(o, result, e);
}

/* A name for a file that goes to the process once. */
static void search_name_source(struct explore_source *source)
{
    static uint64_t n;
    snprintf(source->key, sizeof(source->key), "answer-%llu", (unsigned long long)++n);
}

static int search_for_it(struct search_order *o, int answer, struct err *e)
{
    struct explore_source source = {.fd = answer};
    json_t *request = json_copy(o->question);
    search_name_source(&source);
    if (answer >= 0)
        json_object_set_new(request, "source", json_string(source.key));
    return search_send(o, request, &source, answer >= 0 ? 1 : 0, search_on_found, e);
}

/* ---- vectors --------------------------------------------------------------------------------- */

static void search_on_unencoded(void *context, json_t *result, const struct err *e);

/* Without the encoder's vectors there is still an answer. */
static int search_do_without(struct search_order *o, const struct err *why, struct err *e)
{
    snprintf(o->trouble, sizeof(o->trouble), "%.390s", why->message);
    return search_for_it(o, -1, e);
}

static void search_on_encoded(void *context, int answer, const struct err *e)
{
    struct search_order *o = context;
    struct explore_source source = {.fd = answer};
    struct err bad;
    int r;
    o->encoding = NULL;
    if (answer < 0) {
        r = search_do_without(o, e, &bad);
    } else if (o->units == NULL) {
        r = search_for_it(o, answer, &bad);
    } else {
        search_name_source(&source);
        json_t *request = json_pack("{s:s, s:o, s:s}", "op", "encoded", "units", take_ptr(o->units),
                                    "source", source.key);
        r = search_send(o, request, &source, 1, search_on_unencoded, &bad);
    }
    if (r < 0)
        search_end(o, NULL, &bad);
}

static int search_encode_some(struct search_order *o, const json_t *result, struct err *e)
{
    struct err why;
    json_t *units = json_object_get(result, "units"), *texts = json_object_get(result, "texts");
    o->pending = json_integer_value(json_object_get(result, "pending"));
    bool has_some =
        json_array_size(units) > 0 && json_is_array(texts) && clock_mono_ms() < o->encode_until_ms;
    if (has_some)
        o->units = json_incref(units);
    json_t *sent =
        has_some ? json_incref(texts) : json_pack("[O]", json_object_get(o->question, "query"));
    o->encoding =
        search_encode(o->library->loop, o->setting, sent, !has_some, search_on_encoded, o, &why);
    return o->encoding != NULL ? 0 : search_do_without(o, &why, e);
}

static void search_on_unencoded(void *context, json_t *result, const struct err *e)
{
    struct search_order *o = context;
    struct err bad;
    int r;
    o->ask = NULL;
    if (result == NULL && e->code != ERR_UPSTREAM) {
        search_end(o, NULL, e);
        return;
    }
    r = result != NULL ? search_encode_some(o, result, &bad) : search_do_without(o, e, &bad);
    if (r < 0)
        search_end(o, NULL, &bad);
}

/* The index is up to date. */
static int search_when_read(struct search_order *o, struct err *e)
{
    if (o->setting == NULL || json_is_true(json_object_get(o->question, "words_only")))
        return search_for_it(o, -1, e);
    o->encode_until_ms = clock_mono_ms() + clock_scaled_ms(SEARCH_ENCODE_MS);
    return search_send(o, json_pack("{s:s}", "op", "unencoded"), NULL, 0, search_on_unencoded, e);
}

/* ---- files ----------------------------------------------------------------------------------- */

static void search_on_read(void *context, json_t *result, const struct err *e);

/* The files that the process lacks: as many as it asks for, and as are in the store. */
static int search_give(struct search_order *o, const json_t *need, struct err *e)
{
    struct explore_source sources[SEARCH_BATCH_FILES];
    size_t n = 0;
    json_t *keys = json_array();
    for (size_t i = 0; i < MIN(json_array_size(need), ARRAY_LEN(sources)); i++) {
        const char *hex = json_string_value(json_array_get(need, i));
        struct blob_hash hash;
        if (hex == NULL || blob_parse_hex(hex, &hash) < 0)
            continue;
        json_array_append_new(keys, json_string(hex)); /* what does not come cannot be read */
        int fd = blob_open(o->library->blobs, &hash);
        if (fd < 0)
            continue;
        memcpy(sources[n].key, hex, sizeof(sources[n].key));
        sources[n++].fd = fd;
    }
    int r = search_send(o, json_pack("{s:s, s:o}", "op", "take", "sources", keys), sources, n,
                        search_on_read, e);
    while (n-- > 0)
        close(sources[n].fd);
    return r;
}

/* A request that says of which encoder vectors are: its setting, but no keys. */
static json_t *search_naming(const struct search_order *o, const char *op)
{
    char hex[BLOB_HEX_SIZE] = "";
    struct blob_hash hash;
    _json_ json_t *shown = o->setting != NULL ? json_copy(o->setting) : NULL;
    json_object_del(shown, "headers");
    _free_ char *text = shown != NULL ? json_dumps(shown, JSON_COMPACT | JSON_SORT_KEYS) : NULL;
    if (text != NULL) {
        blob_hash_of(text, strlen(text), &hash);
        blob_hex(&hash, hex);
    }
    return json_pack("{s:s, s:s}", "op", op, "label", hex);
}

static int search_go_on(struct search_order *o, const json_t *result, struct err *e)
{
    const json_t *need = json_object_get(result, "need"),
                 *done = json_object_get(result, "is_done");
    if (json_array_size(need) > 0)
        return search_give(o, need, e);
    if (json_is_false(done))
        return search_send(o, search_naming(o, "walk"), NULL, 0, search_on_read, e);
    return search_when_read(o, e);
}

static void search_on_read(void *context, json_t *result, const struct err *e)
{
    struct search_order *o = context;
    struct err bad;
    o->ask = NULL;
    if (result == NULL)
        search_end(o, NULL, e);
    else if (search_go_on(o, result, &bad) < 0)
        search_end(o, NULL, &bad);
}

static int search_begin(struct search_order *o, struct err *e)
{
    struct blob_hash hash;
    struct explore_source source;
    o->until_ms = clock_mono_ms() + clock_scaled_ms(SEARCH_LIMIT_MS);
    o->setting = json_incref(search_encoder_setting());
    if (o->library->has_corpus)
        return search_send(o, search_naming(o, "walk"), NULL, 0, search_on_read, e);
    _fd_ int fd =
        blob_parse_hex(o->list, &hash) == 0 ? blob_open(o->library->blobs, &hash) : -EINVAL;
    if (fd < 0)
        return err_errno(e, ERR_UNAVAILABLE, -fd, "the list of files is not in the store");
    memcpy(source.key, o->list, sizeof(source.key));
    source.fd = fd;
    json_t *request = search_naming(o, "list");
    json_object_set_new(request, "source", json_string(o->list));
    return search_send(o, request, &source, 1, search_on_read, e);
}

static void search_on_start(void *context)
{
    struct search_order *o = context;
    struct err e;
    if (search_begin(o, &e) < 0)
        search_end(o, NULL, &e);
}

/* ---- for others ------------------------------------------------------------------------------ */

struct search_order *search_ask(struct search_library *l, const struct search_question *question,
                                search_fn fn, void *context, struct err *e)
{
    if (l->n_orders >= SEARCH_QUEUE_MAX) {
        err_set(e, ERR_LIMIT, "%d questions about these files wait already", SEARCH_QUEUE_MAX);
        err_advise(e, "Ask again in a moment.");
        return NULL;
    }
    struct search_order *o = mem_alloc(sizeof(*o));
    *o = (struct search_order){.library = l, .fn = fn, .context = context};
    o->question = json_pack("{s:s, s:s, s:s, s:I, s:b}", "op", "search", "kind", question->kind,
                            "query", question->query, "limit", (json_int_t)question->limit,
                            "words_only", question->words_only);
    snprintf(o->list, sizeof(o->list), "%s", question->list != NULL ? question->list : "");
    o->start = loop_timer_new(l->loop, search_on_start, o);
    list_append(&l->orders, &o->node);
    l->n_orders++;
    search_begin_next(l);
    return o;
}

/* ---- folders --------------------------------------------------------------------------------- */

void search_remove(int parent, const char *name)
{
    static const char *const names[] = {"index.db", "index.db-wal", "index.db-shm",
                                        "index.db-journal"};
    _fd_ int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    for (size_t i = 0; fd >= 0 && i < ARRAY_LEN(names); i++)
        unlinkat(fd, names[i], 0);
    unlinkat(parent, name, AT_REMOVEDIR);
}

void search_remove_all(int parent)
{
    int fd = openat(parent, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
    struct dirent *entry;
    while (dir != NULL && (entry = readdir(dir)) != NULL)
        if (!fd_is_dots(entry->d_name))
            search_remove(parent, entry->d_name);
    if (dir != NULL)
        closedir(dir);
    else
        cleanup_fd(&fd);
}
