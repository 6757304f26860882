/* The archivist's process: orders in, a thread for each workspace, words out. Owns the workspaces'
 * memories and the threads. */
#include "jail/files/archivist.h"

#include "base/clock.h"
#include "base/fd.h"
#include "base/list.h"
#include "base/map.h"
#include "jail/files/archive.h"
#include "jail/files/tree.h"
#include "jail/inside/enter.h"
#include "jail/message.h"
#include "wire/json.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>

enum {
    ARCHIVIST_WORKERS_MAX = 16,
    KNOWN_MAX = 500 * 1000,   /* names in memory, of all workspaces together: about 100 MB */
    ARCHIVIST_ARENAS_MAX = 2, /* of malloc: threads are for waiting, not for speed */
    /* Processor time for one workspace: so much at once, and of each second later on. Nobody's
     * limits count it. */
    CPU_AT_ONCE_MS = 10000,
    CPU_PERCENT = 25,
};

#define NS_PER_MS 1000000ULL
#define NS_PER_S 1000000000ULL

struct queued_order {
    struct list link;
    struct archivist_order what;
    int fd; /* that came with the order, or -1 */
};

/* A workspace that is known or has orders. */
struct archivist_place {
    struct list link; /* in `ready` while it waits for a worker, in `late`, or in `resting` */
    struct list orders;
    bool is_busy;           /* a worker has it, or it waits for one */
    uint64_t cpu_ns;        /* used of what it may use at once */
    uint64_t cpu_since_ms;  /* when that was true */
    uint64_t not_before_ms; /* its next order has to wait until then */
    struct archive archive;
    size_t n_known;    /* names */
    bool is_forgotten; /* the workspace is gone: so is what it has used */
    char workspace[WORKSPACE_NAME_MAX];
};

static struct {
    int control, workspaces, store;
    pthread_mutex_t lock; /* everything below */
    pthread_cond_t has_work;
    struct list ready;
    struct list late;    /* have orders, and have used more processor time than they may */
    struct list resting; /* least lately used first */
    struct map places;
    size_t n_ready, n_idle, n_workers;
    size_t n_known;
} archivist = {.lock = PTHREAD_MUTEX_INITIALIZER, .has_work = PTHREAD_COND_INITIALIZER};

/* ---- answers --------------------------------------------------------------------------------- */

static void put_recorded(struct buf *out, const struct archive_recorded *recorded)
{
    char hex[BLOB_HEX_SIZE];
    struct json_out o = JSON_OUT(out);
    json_put_object(&o);
    json_put_member_str(&o, "manifest",
                        recorded->has_manifest ? blob_hex(&recorded->manifest, hex) : NULL);
    json_put_member_int(&o, "files", (int64_t)recorded->files);
    json_put_member_int(&o, "bytes", (int64_t)recorded->bytes);
    json_put_member_int(&o, "new_bytes", (int64_t)recorded->new_bytes);
    json_put_member_int(&o, "skipped", (int64_t)recorded->skipped);
    json_put_member_bool(&o, "torn", recorded->is_torn);
    json_put_member_bool(&o, "over_budget", recorded->is_over_budget);
    json_put_member_str(&o, "reason", recorded->has_manifest ? NULL : recorded->reason);
    json_put_object_end(&o);
}

static void put_restored(struct buf *out, const struct archive_restored *restored)
{
    struct json_out o = JSON_OUT(out);
    json_put_object(&o);
    json_put_member_int(&o, "changed", (int64_t)restored->changed);
    json_put_member_int(&o, "removed", (int64_t)restored->removed);
    json_put_member_int(&o, "created", (int64_t)restored->created);
    json_put_key(&o, "errors");
    json_put_array(&o);
    for (size_t i = 0; i < restored->n_errors; i++)
        json_put_str(&o, restored->errors[i]);
    json_put_array_end(&o);
    json_put_member_int(&o, "more_errors", (int64_t)restored->n_errors_dropped);
    json_put_key(&o, "lost");
    json_put_array(&o);
    for (size_t i = 0; i < restored->n_lost; i++)
        json_put_str(&o, restored->lost[i]);
    json_put_array_end(&o);
    json_put_object_end(&o);
}

static void put_filed(struct buf *out, const struct archive_filed *filed)
{
    char hash[BLOB_HEX_SIZE], manifest[BLOB_HEX_SIZE];
    struct json_out o = JSON_OUT(out);
    bool is_done = filed->err.code == ERR_NONE;
    json_put_object(&o);
    json_put_member_int(&o, "code", filed->err.code);
    json_put_member_str(&o, "message", filed->err.message);
    json_put_member_str(&o, "advice", filed->err.advice);
    json_put_member_str(&o, "hash", is_done ? blob_hex(&filed->hash, hash) : NULL);
    json_put_member_int(&o, "bytes", (int64_t)filed->bytes);
    json_put_member_bool(&o, "created", filed->is_new);
    json_put_member_str(&o, "manifest",
                        filed->has_manifest ? blob_hex(&filed->manifest, manifest) : NULL);
    json_put_key(&o, "details");
    if (filed->details.len > 0 && !filed->details.overflowed && filed->err.code == ERR_NONE)
        json_put_raw(&o, filed->details.data, filed->details.len);
    else
        json_put_null(&o);
    json_put_object_end(&o);
}

/* ---- one order ------------------------------------------------------------------------------- */

static void record(struct archivist_place *p, const struct archivist_order *order, struct buf *out)
{
    struct archive_recorded recorded = {0};
    struct blob_hash base;
    bool has_base = blob_parse_hex(order->manifest, &base) == 0;
    _fd_ int top = tree_open(archivist.workspaces, p->workspace, O_RDONLY | O_DIRECTORY, 0);
    if (top < 0)
        snprintf(recorded.reason, sizeof(recorded.reason), "the workspace cannot be opened: %s",
                 strerror(-top));
    else
        archive_record(&p->archive, top, archivist.store, has_base ? &base : NULL, &order->budget,
                       &recorded);
    put_recorded(out, &recorded);
}

static void restore(struct archivist_place *p, const struct archivist_order *order, struct buf *out)
{
    _free_ struct archive_restored *restored = mem_alloc(sizeof(*restored));
    struct blob_hash manifest;
    _fd_ int top = tree_open(archivist.workspaces, p->workspace, O_RDONLY | O_DIRECTORY, 0);
    bool has_manifest = blob_parse_hex(order->manifest, &manifest) == 0;
    if (top < 0)
        snprintf(restored->errors[restored->n_errors++], ARCHIVE_ERROR_SIZE,
                 "the workspace cannot be opened: %s", strerror(-top));
    else
        archive_restore(&p->archive, top, archivist.store, has_manifest ? &manifest : NULL,
                        restored);
    put_restored(out, restored);
}

static void file(struct archivist_place *p, const struct archivist_order *order, int fd,
                 struct buf *out)
{
    struct archive_filed filed = {0};
    _fd_ int top = tree_open(archivist.workspaces, p->workspace, O_RDONLY | O_DIRECTORY, 0);
    if (top < 0)
        err_errno(&filed.err, ERR_UNAVAILABLE, top, "the workspace cannot be opened");
    else
        archive_file(top, p->workspace, archivist.store, &order->file, fd, &filed);
    put_filed(out, &filed);
    buf_free(&filed.details);
}

static void carry_out(struct archivist_place *p, const struct archivist_order *order, int fd)
{
    _buf_ struct buf out = BUF_INIT(MESSAGE_TEXT_MAX);
    if (order->type == ARCHIVIST_FORGET) {
        archive_drop(&p->archive);
        p->is_forgotten = true;
        return;
    }
    if (order->type == ARCHIVIST_RECORD)
        record(p, order, &out);
    else if (order->type == ARCHIVIST_FILE)
        file(p, order, fd, &out);
    else
        restore(p, order, &out);
    char message[sizeof(struct archivist_word) + MESSAGE_TEXT_MAX];
    struct archivist_word word = {.type = order->type, .ticket = order->ticket};
    memcpy(message, &word, sizeof(word));
    memcpy(message + sizeof(word), out.data, out.len);
    if (fd_send(archivist.control, message, sizeof(word) + out.len, NULL, 0) < 0)
        _exit(0); /* the warden is gone */
}

/* ---- who does it ----------------------------------------------------------------------------- */

static void count_known(struct archivist_place *p)
{
    size_t n = p->archive.manifest == NULL ? 0 : p->archive.manifest->n_entries;
    archivist.n_known += n - p->n_known;
    p->n_known = n;
}

static void drop_place(struct archivist_place *p)
{
    archive_drop(&p->archive);
    count_known(p);
    map_remove(&archivist.places, p->workspace);
    list_remove(&p->link);
    free(p);
}

static void make_ready(struct archivist_place *p)
{
    list_remove(&p->link);
    list_append(&archivist.ready, &p->link);
    archivist.n_ready++;
}

/* It has orders: now, or when it may use the processor again. */
static void queue(struct archivist_place *p)
{
    if (p->not_before_ms <= clock_mono_ms()) {
        make_ready(p);
        return;
    }
    list_remove(&p->link);
    list_append(&archivist.late, &p->link);
}

/* Returns when the next of them is due, 0 for never. */
static uint64_t queue_late(void)
{
    uint64_t now_ms = clock_mono_ms(), next_ms = 0;
    LIST_EACH(&archivist.late, at) {
        struct archivist_place *p = CONTAINER_OF(at, struct archivist_place, link);
        if (p->not_before_ms <= now_ms)
            make_ready(p);
        else if (next_ms == 0 || p->not_before_ms < next_ms)
            next_ms = p->not_before_ms;
    }
    return next_ms;
}

/* The worker is done with one order. The others of this place have to wait for their turn. */
static void put_back(struct archivist_place *p)
{
    count_known(p);
    if (!list_is_empty(&p->orders)) {
        queue(p);
        return;
    }
    p->is_busy = false;
    list_append(&archivist.resting, &p->link);
    if (p->n_known == 0 && (p->is_forgotten || p->cpu_ns == 0))
        drop_place(p);
    /* What is forgotten costs its next record a reading of everything, and nothing else. */
    while (archivist.n_known > KNOWN_MAX && !list_is_empty(&archivist.resting))
        drop_place(CONTAINER_OF(list_first(&archivist.resting), struct archivist_place, link));
}

static uint64_t archivist_cpu_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_nsec;
}

static void wait_for_work(void)
{
    uint64_t next_ms = queue_late();
    while (list_is_empty(&archivist.ready)) {
        struct timespec until = {.tv_sec = (time_t)(next_ms / 1000),
                                 .tv_nsec = (long)(next_ms % 1000) * NS_PER_MS};
        archivist.n_idle++;
        if (next_ms == 0)
            pthread_cond_wait(&archivist.has_work, &archivist.lock);
        else
            pthread_cond_clockwait(&archivist.has_work, &archivist.lock, CLOCK_MONOTONIC, &until);
        archivist.n_idle--;
        next_ms = queue_late();
    }
}

static void *archivist_work(void *unused)
{
    (void)unused;
    pthread_mutex_lock(&archivist.lock);
    for (;;) {
        wait_for_work();
        struct archivist_place *p =
            CONTAINER_OF(list_first(&archivist.ready), struct archivist_place, link);
        struct queued_order *order =
            CONTAINER_OF(list_first(&p->orders), struct queued_order, link);
        list_remove(&p->link);
        archivist.n_ready--;
        list_remove(&order->link);
        pthread_mutex_unlock(&archivist.lock);
        uint64_t began_ns = archivist_cpu_ns();
        carry_out(p, &order->what, order->fd);
        cleanup_fd(&order->fd);
        free(order);
        uint64_t used_ns = archivist_cpu_ns() - began_ns;
        pthread_mutex_lock(&archivist.lock);
        /* A bucket that leaks. What has a share of its own is slow alone when it uses it up. */
        uint64_t now_ms = clock_mono_ms(), at_once_ns = clock_scaled_ms(CPU_AT_ONCE_MS) * NS_PER_MS;
        uint64_t leaked_ns = (now_ms - p->cpu_since_ms) * NS_PER_MS * CPU_PERCENT / 100;
        p->cpu_ns = (p->cpu_ns > leaked_ns ? p->cpu_ns - leaked_ns : 0) + used_ns;
        p->cpu_since_ms = now_ms;
        p->not_before_ms = now_ms;
        if (p->cpu_ns > at_once_ns)
            p->not_before_ms += (p->cpu_ns - at_once_ns) * 100 / CPU_PERCENT / NS_PER_MS;
        put_back(p);
    }
    return NULL;
}

static struct archivist_place *place_of(const char *workspace)
{
    struct archivist_place *p = map_get(&archivist.places, workspace);
    if (p != NULL)
        return p;
    p = mem_alloc(sizeof(*p));
    list_init(&p->link);
    list_init(&p->orders);
    snprintf(p->workspace, sizeof(p->workspace), "%s", workspace);
    map_set(&archivist.places, workspace, p);
    return p;
}

static void take_order(const struct archivist_order *what, int fd)
{
    struct queued_order *order = mem_alloc(sizeof(*order));
    order->what = *what;
    order->fd = fd;
    pthread_mutex_lock(&archivist.lock);
    struct archivist_place *p = place_of(what->workspace);
    list_append(&p->orders, &order->link);
    if (!p->is_busy) {
        p->is_busy = true;
        queue(p);
        if (archivist.n_ready > archivist.n_idle && archivist.n_workers < ARCHIVIST_WORKERS_MAX) {
            pthread_t thread;
            if (pthread_create(&thread, NULL, archivist_work, NULL) == 0) {
                pthread_detach(thread);
                archivist.n_workers++;
            } else if (archivist.n_workers == 0) {
                _exit(1); /* the warden tells who waits, and tries again */
            }
        }
        pthread_cond_signal(&archivist.has_work);
    }
    pthread_mutex_unlock(&archivist.lock);
}

/* ---- the process ----------------------------------------------------------------------------- */

/* It must read and write what belongs to any jail's user, and for a moment be that user. */
static int keep_needed_capabilities(void)
{
    static const int needed[] = {CAP_CHOWN,  CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH,
                                 CAP_FOWNER, CAP_FSETID,       CAP_SETUID};
    uint32_t set = 0;
    for (size_t i = 0; i < ARRAY_LEN(needed); i++)
        set |= 1U << needed[i];
    for (int cap = 0; cap <= 63; cap++)
        if (prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) < 0 && errno != EINVAL)
            return -errno;
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct sets[2] = {{.effective = set, .permitted = set}};
    if (syscall(SYS_capset, &header, sets) < 0)
        return -errno;
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ? -errno : 0;
}

_Noreturn void archivist_main(int sock, int workspaces, int store)
{
    prctl(PR_SET_NAME, "cella-archivist");
    mallopt(M_ARENA_MAX, ARCHIVIST_ARENAS_MAX);
    /* SIGIO: somebody wants a file on which we hold a lease for a moment. SIGXFSZ: the error code
     * says it better. */
    static const int ignored[] = {SIGIO, SIGXFSZ, SIGPIPE};
    for (size_t i = 0; i < ARRAY_LEN(ignored); i++)
        signal(ignored[i], SIG_IGN);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    umask(0077);
    if (keep_needed_capabilities() < 0)
        _exit(1);
    archivist.control = sock;
    archivist.workspaces = workspaces;
    archivist.store = store;
    list_init(&archivist.ready);
    list_init(&archivist.late);
    list_init(&archivist.resting);
    for (;;) {
        struct archivist_order order;
        int fd = -1;
        if (fd_recv(sock, &order, sizeof(order), &fd, 1, NULL) != sizeof(order))
            _exit(0); /* the warden is gone */
        order.workspace[WORKSPACE_NAME_MAX - 1] = '\0';
        order.manifest[BLOB_HEX_SIZE - 1] = '\0';
        order.file.path[sizeof(order.file.path) - 1] = '\0';
        order.file.other[sizeof(order.file.other) - 1] = '\0';
        order.file.pattern[sizeof(order.file.pattern) - 1] = '\0';
        order.file.range.tag[sizeof(order.file.range.tag) - 1] = '\0';
        take_order(&order, fd);
    }
}
