/* The process that has one index open. It was started by exec, so nothing of the daemon is in its
 * memory; before the first request is read it has given up all but the folder of the index, and
 * reading that of the corpus. Requests (explore/worker.h):
 *
 *   {"op":"list","source":K}        a manifest; -> {"need":[hash…],"left":n}
 *   {"op":"take","sources":[K…],"lost":[hash…]}   files that were needed; -> likewise
 *   {"op":"walk"}                   -> {"is_done":bool}
 *   {"op":"unencoded"}              -> {"units":[id…],"texts":[…],"pending":n}
 *   {"op":"encoded","units":[id…],"source":K}     an encoder's answer; -> likewise
 * "list" and "walk" name the encoder ("label").
 *   {"op":"search","source"?:K,"kind":"code"|"doc","query":…,"limit":n,"words_only":bool}
 *       -> {"results":[…],"files":n,"units":n,"skipped"?:{…}} */
#include "blob/blob.h"
#include "explore/worker.h"
#include "loop/walls.h"
#include "search/encoder.h"
#include "search/index.h"
#include "wire/json.h"

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <seccomp.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#define SEARCH_BOX_MEMORY (1536 * MIB) /* addresses, the program's included */

struct search_source {
    char key[BLOB_HEX_SIZE]; /* empty: this place is free */
    void *data;              /* NULL if it has no bytes, or could not be mapped */
    size_t len;
    bool is_lost;
};

struct search_desk {
    struct search_index *index;
    struct err trouble; /* why there is none */
    int corpus;         /* its folder; -1: none */
    struct search_source sources[EXPLORE_SOURCES_MAX];
};

/* ---- walls ----------------------------------------------------------------------------------- */

static int search_set_filter(void)
{
    static const int of_socket[] = {SCMP_SYS(recvmsg), SCMP_SYS(sendmsg)};
    static const int calls[] = {
        SCMP_SYS(openat),         SCMP_SYS(close),       SCMP_SYS(read),
        SCMP_SYS(pread64),        SCMP_SYS(write),       SCMP_SYS(pwrite64),
        SCMP_SYS(lseek),          SCMP_SYS(fstat),       SCMP_SYS(newfstatat),
        SCMP_SYS(stat),           SCMP_SYS(lstat),       SCMP_SYS(statx),
        SCMP_SYS(fsync),          SCMP_SYS(fdatasync),   SCMP_SYS(ftruncate),
        SCMP_SYS(unlink),         SCMP_SYS(access),      SCMP_SYS(fcntl),
        SCMP_SYS(getdents64),     SCMP_SYS(getcwd),      SCMP_SYS(readlink),
        SCMP_SYS(fallocate),      SCMP_SYS(getpid),      SCMP_SYS(geteuid),
        SCMP_SYS(getrandom),      SCMP_SYS(futex),       SCMP_SYS(clock_gettime),
        SCMP_SYS(rt_sigprocmask), SCMP_SYS(sched_yield), SCMP_SYS(clock_nanosleep),
    };
    struct walls_filter filter = walls_filter(true);
    for (size_t i = 0; i < ARRAY_LEN(of_socket); i++)
        walls_allow_on(&filter, of_socket[i], STDIN_FILENO);
    walls_allow(&filter, calls, ARRAY_LEN(calls));
    walls_allow_memory(&filter);
    /* Files that come along are mapped for reading. */
    if (filter.error == 0)
        filter.error = seccomp_rule_add(filter.context, SCMP_ACT_ALLOW, SCMP_SYS(mmap), 2,
                                        SCMP_A2(SCMP_CMP_EQ, PROT_READ, 0),
                                        SCMP_A3(SCMP_CMP_MASKED_EQ, MAP_SHARED, 0));
    return walls_load(&filter);
}

static int search_limit(__rlimit_resource_t resource, rlim_t most)
{
    return setrlimit(resource, &(struct rlimit){most, most}) < 0 ? -errno : 0;
}

/* The folders are named by their descriptors, which only a process that can be dumped may do. */
static int search_box_close(void)
{
    static const struct walls_path paths[] = {{"/proc/self/fd/3", WALLS_WRITE},
                                              {"/proc/self/fd/4", WALLS_READ}};
    bool has_corpus = fcntl(SEARCH_CORPUS, F_GETFD) >= 0;
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
        syscall(SYS_close_range, SEARCH_CORPUS + 1, ~0U, 0) < 0 || fchdir(SEARCH_FOLDER) < 0)
        return -errno;
    int error = search_limit(RLIMIT_CORE, 0);
    if (error == 0)
        error = search_limit(RLIMIT_FSIZE, SEARCH_INDEX_BYTES);
    if (error == 0 && !WALLS_SANITIZED)
        error = search_limit(RLIMIT_AS, SEARCH_BOX_MEMORY);
    if (error == 0)
        error = walls_files(paths, has_corpus ? 2 : 1);
    if (error == 0 && prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
        error = -errno;
    return error < 0 ? error : search_set_filter();
}

/* ---- files that come along ------------------------------------------------------------------- */

/* An empty key finds a free place. */
static struct search_source *search_find(struct search_desk *d, const char *key)
{
    for (size_t i = 0; i < ARRAY_LEN(d->sources); i++)
        if (strcmp(d->sources[i].key, key) == 0)
            return &d->sources[i];
    return NULL;
}

static void search_clear(struct search_source *s)
{
    if (s->data != NULL)
        munmap(s->data, s->len);
    *s = (struct search_source){0};
}

static void search_drop(void *context, const char *key)
{
    struct search_source *s = *key != '\0' ? search_find(context, key) : NULL;
    if (s != NULL)
        search_clear(s);
}

static void search_map(void *context, const char *key, int fd)
{
    struct stat st;
    _fd_ int own = fd;
    search_drop(context, key);
    struct search_source *s = search_find(context, "");
    if (s == NULL || *key == '\0' || strlen(key) >= sizeof(s->key))
        return;
    snprintf(s->key, sizeof(s->key), "%s", key);
    s->is_lost = syscall(SYS_fstat, own, &st) < 0 || !S_ISREG(st.st_mode);
    if (s->is_lost || st.st_size == 0)
        return;
    void *data = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, own, 0);
    s->is_lost = data == MAP_FAILED;
    if (s->is_lost)
        return;
    s->data = data;
    s->len = (size_t)st.st_size;
}

/* ---- requests -------------------------------------------------------------------------------- */

static int search_expect(struct search_desk *d, const json_t *request, struct err *e)
{
    const char *label = json_string_value(json_object_get(request, "label"));
    return index_expect(d->index, label != NULL ? label : "", e);
}

static const struct search_source *search_source_of(struct search_desk *d, const json_t *request)
{
    const char *key = json_string_value(json_object_get(request, "source"));
    return key != NULL && *key != '\0' ? search_find(d, key) : NULL;
}

static int search_list(struct search_desk *d, const json_t *request, struct json_out *o,
                       struct err *e)
{
    const struct search_source *s = search_source_of(d, request);
    if (s == NULL || s->data == NULL)
        return err_set(e, ERR_UNAVAILABLE, "the list of files did not come along");
    if (search_expect(d, request, e) < 0 || index_list(d->index, s->data, s->len, e) < 0)
        return -1;
    index_needs(d->index, o);
    return 0;
}

static int search_take(struct search_desk *d, const json_t *request, struct json_out *o,
                       struct err *e)
{
    const json_t *sources = json_object_get(request, "sources");
    for (size_t i = 0; i < MIN(json_array_size(sources), (size_t)SEARCH_BATCH_FILES); i++) {
        const char *key = json_string_value(json_array_get(sources, i));
        const struct search_source *s = key != NULL && *key != '\0' ? search_find(d, key) : NULL;
        bool is_there = s != NULL && !s->is_lost;
        const char *data = !is_there ? NULL : s->data != NULL ? s->data : "";
        if (key != NULL && index_take(d->index, key, data, is_there ? s->len : 0, e) < 0)
            return -1;
    }
    if (index_commit(d->index, e) < 0)
        return -1;
    index_needs(d->index, o);
    return 0;
}

static int search_walk(struct search_desk *d, const json_t *request, struct json_out *o,
                       struct err *e)
{
    bool is_done = false;
    if (d->corpus < 0) {
        err_set(e, ERR_NOT_FOUND, "the folder of the corpus cannot be opened");
        return err_advise(e, "Check search.corpora of the configuration: the daemon's user must be "
                             "able to read it.");
    }
    if (search_expect(d, request, e) < 0 || index_walk(d->index, d->corpus, &is_done, e) < 0)
        return -1;
    json_put_member_bool(o, "is_done", is_done);
    return 0;
}

static int search_unencoded(struct search_desk *d, const json_t *request, struct json_out *o,
                            struct err *e)
{
    (void)request;
    return index_unencoded(d->index, ENCODER_BATCH, o, e);
}

static int search_encoded(struct search_desk *d, const json_t *request, struct json_out *o,
                          struct err *e)
{
    int64_t units[ENCODER_BATCH];
    const json_t *list = json_object_get(request, "units");
    const struct search_source *s = search_source_of(d, request);
    size_t n = MIN(json_array_size(list), (size_t)ENCODER_BATCH);
    for (size_t i = 0; i < n; i++)
        units[i] = json_integer_value(json_array_get(list, i));
    if (s == NULL || s->data == NULL)
        return err_set(e, ERR_UPSTREAM, "the encoder answered nothing");
    if (index_encoded(d->index, units, n, s->data, s->len, e) < 0)
        return -1;
    return index_unencoded(d->index, ENCODER_BATCH, o, e);
}

static int search_search(struct search_desk *d, const json_t *request, struct json_out *o,
                         struct err *e)
{
    const json_t *query = json_object_get(request, "query");
    const char *kind = json_string_value(json_object_get(request, "kind"));
    json_int_t limit = json_integer_value(json_object_get(request, "limit"));
    const struct search_source *s = search_source_of(d, request);
    if (!json_is_string(query) || kind == NULL || limit < 1 || limit > SEARCH_RESULTS_MAX)
        return err_set(e, ERR_INVALID, "this is no question");
    struct index_question q = {.kind = strcmp(kind, "doc") == 0 ? SPLIT_DOCUMENT : SPLIT_CODE,
                               .query = json_string_value(query),
                               .len = json_string_length(query),
                               .limit = (size_t)limit,
                               .answer = s != NULL ? s->data : NULL,
                               .answer_len = s != NULL ? s->len : 0,
                               .words_only = json_is_true(json_object_get(request, "words_only"))};
    return index_search(d->index, &q, o, e);
}

static const struct {
    const char *name;
    int (*run)(struct search_desk *d, const json_t *request, struct json_out *o, struct err *e);
} search_ops[] = {
    {"list", search_list},           {"take", search_take},       {"walk", search_walk},
    {"unencoded", search_unencoded}, {"encoded", search_encoded}, {"search", search_search},
};

static int search_run(struct search_desk *d, const json_t *request, struct json_out *o,
                      struct err *e)
{
    const char *name = json_string_value(json_object_get(request, "op"));
    if (d->index == NULL) {
        *e = d->trouble;
        return -1;
    }
    for (size_t i = 0; name != NULL && i < ARRAY_LEN(search_ops); i++)
        if (strcmp(search_ops[i].name, name) == 0)
            return search_ops[i].run(d, request, o, e);
    return err_set(e, ERR_INVALID, "there is no such request");
}

static void search_answer(void *context, const json_t *request, struct buf *out)
{
    struct err e = {0};
    struct json_out o = JSON_OUT(out);
    size_t mark = out->len;
    json_put_object(&o);
    json_put_key(&o, "result");
    json_put_object(&o);
    if (search_run(context, request, &o, &e) == 0) {
        json_put_object_end(&o);
        json_put_object_end(&o);
        return;
    }
    out->len = mark;
    o = JSON_OUT(out);
    json_put_object(&o);
    json_put_key(&o, "error");
    json_put_object(&o);
    json_put_member_int(&o, "code", e.code);
    json_put_member_str(&o, "message", e.message);
    json_put_member_str(&o, "advice", e.advice);
    json_put_object_end(&o);
    json_put_object_end(&o);
}

/* ---- the process ----------------------------------------------------------------------------- */

int search_box_main(void)
{
    struct search_desk desk = {.corpus = -1};
    struct err ignored;
    json_t *object = NULL;
    mallopt(M_ARENA_MAX, 1);
    if (json_read_object("{\"a\":1}", 7, &object, &ignored) == 0)
        json_decref(object);  /* jansson has its seed now */
    signal(SIGXFSZ, SIG_IGN); /* SQLite says that the index is full */
    signal(SIGBUS, SIG_DFL);  /* of a file that became shorter: a sanitizer would catch it */
    if (search_box_close() < 0)
        return EXPLORE_END_NO_WALLS;
    desk.index = index_open("index.db", &desk.trouble);
    desk.corpus = openat(SEARCH_CORPUS, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct explore_box_desk serving = {
        .map = search_map, .drop = search_drop, .answer = search_answer, .context = &desk};
    /* At once: what others left to be done at the end of the program is not allowed here. */
    _exit(explore_box_serve(&serving));
}
