/* A store in a directory of its own, a loop, and what its callbacks said. */
#pragma once

#include "base/buf.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/ids.h"
#include "blob/blob.h"
#include "store/notebooks.h"
#include "unit.h"

#include <fcntl.h>
#include <ftw.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <uv.h>

struct world {
    char dir[64];
    uv_loop_t loop;
    struct store *store;

    unsigned calls; /* callbacks so far */
    bool has_failed;
    struct err error; /* of the last one that failed */
    struct store_state *state;
    struct store_saved at;
    struct buf text; /* of whatever was listed, one per line */
    uint64_t count;
    size_t n_damaged;
};

static inline int world_remove_entry(const char *path, const struct stat *st, int flag,
                                     struct FTW *ftw)
{
    (void)st;
    (void)flag;
    (void)ftw;
    return remove(path);
}

static inline void world_open(struct world *w)
{
    struct err e = {0};
    if (store_open(w->dir, &w->loop, &w->store, &e) < 0)
        fail_msg("store_open: %s", e.message);
}

static inline void world_close(struct world *w)
{
    store_close(take_ptr(w->store));
    uv_run(&w->loop, UV_RUN_DEFAULT);
}

static inline struct world *world_new(void)
{
    struct world *w = mem_alloc(sizeof(*w));
    w->text = BUF_INIT(16 * MIB);
    snprintf(w->dir, sizeof(w->dir), "/tmp/cella-store-XXXXXX");
    assert_non_null(mkdtemp(w->dir));
    uv_loop_init(&w->loop);
    world_open(w);
    return w;
}

static inline void world_free(struct world *w)
{
    store_state_unref(w->state);
    if (w->store != NULL)
        world_close(w);
    uv_loop_close(&w->loop);
    nftw(w->dir, world_remove_entry, 16, FTW_DEPTH | FTW_PHYS);
    buf_free(&w->text);
    free(w);
}

/* Runs the loop until one more callback came. */
static inline void world_wait(struct world *w)
{
    unsigned before = w->calls;
    uint64_t give_up = clock_mono_ms() + PATIENCE_MS;
    while (w->calls == before) {
        uv_run(&w->loop, UV_RUN_ONCE);
        assert_true(clock_mono_ms() < give_up);
    }
}

static inline void world_note(struct world *w, const struct err *e)
{
    w->calls++;
    w->has_failed = e != NULL;
    if (e != NULL)
        w->error = *e;
}

static inline void on_done(void *context, const struct err *e)
{
    world_note(context, e);
}

static inline void on_state(void *context, struct store_state *state, const struct store_saved *at,
                            const struct err *e)
{
    struct world *w = context;
    world_note(w, e);
    store_state_unref(w->state);
    w->state = state;
    w->at = at == NULL ? (struct store_saved){0} : *at;
}

static inline void on_exported(void *context, const struct store_exported *result,
                               const struct err *e)
{
    struct world *w = context;
    world_note(w, e);
    w->n_damaged = result->n_damaged;
    buf_clear(&w->text);
    buf_append_str(&w->text, result->damaged);
}

static inline void world_barrier(struct world *w, const char *session)
{
    store_barrier(w->store, session, on_done, w);
    world_wait(w);
}

static inline void world_ok(const struct world *w)
{
    if (w->has_failed)
        fail_msg("failed: %s", w->error.message);
}

static inline void world_put_session(struct world *w, const char *id)
{
    struct err e = {0};
    struct store_session row = {
        .id = id, .spec = "{\"runtime\":\"python\"}", .created_ms = 1, .used_ms = 2};
    if (store_put_session(w->store, &row, &e) < 0)
        fail_msg("put_session: %s", e.message);
}

static inline void world_put_notebook(struct world *w, const char *id)
{
    struct err e = {0};
    struct store_notebook row = {.id = id, .runtime = "python", .spec = "{}", .created_ms = 1};
    if (store_put_notebook(w->store, &row, &e) < 0)
        fail_msg("put_notebook: %s", e.message);
}

/* One that has run; its id follows from the exec_id. */
static inline int world_put_cell(struct world *w, const char *notebook, uint64_t exec_id,
                                 const char *source, struct err *e)
{
    char id[24];
    snprintf(id, sizeof(id), "cell-%d", (int)exec_id);
    struct store_cell cell = {.id = id,
                              .exec_id = exec_id,
                              .count = exec_id,
                              .source = source,
                              .source_len = strlen(source),
                              .state = "completed",
                              .executed_ms = 5,
                              .duration_us = 7};
    return store_put_cell(w->store, notebook, &cell, e);
}

/* ---- streams --------------------------------------------------------------------------------- */

static inline void put_u32(struct buf *b, size_t n)
{
    unsigned char bytes[4] = {n & 255, n >> 8 & 255, n >> 16 & 255, n >> 24 & 255};
    buf_append(b, bytes, 4);
}

static inline void put_header(struct buf *b, const char *json)
{
    put_u32(b, strlen(json));
    buf_append_str(b, json);
}

static inline void put_body(struct buf *b, const void *data, size_t len)
{
    while (len > 0) {
        size_t n = MIN(len, (size_t)300000);
        put_u32(b, n);
        buf_append(b, data, n);
        data = (const char *)data + n;
        len -= n;
    }
    put_u32(b, 0);
}

static inline void put_blob(struct buf *b, const char *name, const void *data, size_t len)
{
    char header[256];
    snprintf(header, sizeof(header),
             "{\"rec\":\"blob\",\"kind\":\"variables\",\"names\":[\"%s\"],\"body\":true}", name);
    put_header(b, header);
    put_body(b, data, len);
}

#define BEGIN "{\"rec\":\"begin\",\"format\":\"state\",\"runtime\":\"python\",\"version\":\"3.11\"}"
#define END "{\"rec\":\"end\"}"

/* A stream of variables v0, v1, ... of these sizes; their bytes follow from `seed`. */
static inline void put_stream(struct buf *b, unsigned seed, const size_t *sizes, size_t n)
{
    put_header(b, BEGIN);
    for (size_t i = 0; i < n; i++) {
        char name[24];
        _free_ unsigned char *data = mem_alloc(sizes[i] + 1);
        unsigned x = seed * 2654435761u + (unsigned)i;
        for (size_t k = 0; k < sizes[i]; k++) {
            x = x * 1103515245 + 12345;
            data[k] = (unsigned char)(x >> 16);
        }
        snprintf(name, sizeof(name), "v%zu", i);
        put_blob(b, name, data, sizes[i]);
    }
    put_header(b, END);
}

struct feeder {
    uv_thread_t thread;
    int fd;
    const struct buf *bytes;
};

static inline void feeder_main(void *context)
{
    struct feeder *f = context;
    fd_write_all(f->fd, f->bytes->data, f->bytes->len);
    close(f->fd);
}

static inline void world_limits(struct store_limits *limits)
{
    *limits = (struct store_limits){.max_bytes = 64 * MIB, .deadline_ms = 10000};
}

/* Gives the bytes to store_ingest; the result is in w->state or w->error. */
static inline void world_ingest(struct world *w, const struct buf *bytes,
                                const struct store_limits *limits)
{
    int pair[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
    struct feeder f = {.fd = pair[1], .bytes = bytes};
    uv_thread_create(&f.thread, feeder_main, &f);
    store_ingest(w->store, pair[0], limits, on_state, w);
    world_wait(w);
    uv_thread_join(&f.thread);
}

static inline void world_make_state(struct world *w, unsigned seed, const size_t *sizes, size_t n)
{
    struct store_limits limits;
    _buf_ struct buf bytes = BUF_INIT(128 * MIB);
    world_limits(&limits);
    put_stream(&bytes, seed, sizes, n);
    world_ingest(w, &bytes, &limits);
    world_ok(w);
}

struct eater {
    uv_thread_t thread;
    int fd;
    struct buf bytes;
};

static inline void eater_main(void *context)
{
    struct eater *eat = context;
    ssize_t n;
    while (buf_reserve(&eat->bytes, 65536) &&
           (n = read(eat->fd, eat->bytes.data + eat->bytes.len, 65536)) > 0)
        eat->bytes.len += (size_t)n;
    close(eat->fd);
}

/* Everything that store_export writes of w->state. */
static inline void world_export(struct world *w, struct buf *out)
{
    int pair[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
    struct eater eat = {.fd = pair[1], .bytes = BUF_INIT(128 * MIB)};
    uv_thread_create(&eat.thread, eater_main, &eat);
    store_export(w->store, w->state, pair[0], 10000, on_exported, w);
    world_wait(w);
    uv_thread_join(&eat.thread);
    buf_append(out, eat.bytes.data, eat.bytes.len);
    buf_free(&eat.bytes);
}

static inline int world_age_blob(void *context, const struct blob_hash *hash, uint64_t bytes)
{
    const struct world *w = context;
    char hex[BLOB_HEX_SIZE], path[80];
    struct timespec old[2] = {{.tv_sec = 1000000000}, {.tv_sec = 1000000000}};
    (void)bytes;
    blob_hex(hash, hex);
    snprintf(path, sizeof(path), "%.2s/%s", hex, hex + 2);
    utimensat(store_blobs(w->store), path, old, 0); /* it may be gone by now */
    return 0;
}

/* As if eleven minutes had passed: what is unused may go. */
static inline void world_age_blobs(struct world *w)
{
    blob_each(store_blobs(w->store), world_age_blob, w);
}
