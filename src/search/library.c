/* Indexes, in the daemon: who waits for which, what a process is given next. */
#include "search/library.h"

#include "base/clock.h"
#include "base/fd.h"
#include "base/list.h"
#include "explore/worker.h"
#include "loop/loop.h"

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
    char list[BLOB_HEX_SIZE]; /* "": the corpus */
    struct explore_ask *ask;  /* the process works on it; else NULL */
    struct loop_timer *start; /* its turn has come */
    uint64_t until_ms;        /* monotonic; 0: it waits */
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

static void search_on_found(void *context, json_t *result, const struct err *e)
{
    struct search_order *o = context;
    o->ask = NULL;
    search_end(o, result, e);
}

static int search_for_it(struct search_order *o, struct err *e)
{
    return search_send(o, json_incref(o->question), NULL, 0, search_on_found, e);
}

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

static int search_go_on(struct search_order *o, const json_t *result, struct err *e)
{
    const json_t *need = json_object_get(result, "need"),
                 *done = json_object_get(result, "is_done");
    if (json_array_size(need) > 0)
        return search_give(o, need, e);
    if (json_is_false(done))
        return search_send(o, json_pack("{s:s}", "op", "walk"), NULL, 0, search_on_read, e);
    return search_for_it(o, e);
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
    if (o->library->has_corpus)
        return search_send(o, json_pack("{s:s}", "op", "walk"), NULL, 0, search_on_read, e);
    _fd_ int fd =
        blob_parse_hex(o->list, &hash) == 0 ? blob_open(o->library->blobs, &hash) : -EINVAL;
    if (fd < 0)
        return err_errno(e, ERR_UNAVAILABLE, -fd, "the list of files is not in the store");
    memcpy(source.key, o->list, sizeof(source.key));
    source.fd = fd;
    return search_send(o, json_pack("{s:s, s:s}", "op", "list", "source", o->list), &source, 1,
                       search_on_read, e);
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
