#include "blob/blob.h"
#include "jail/files/manifest.h"
#include "store_world.h"

#include <fcntl.h>
#include <sqlite3.h>

#define SESSION "11111111-2222-4333-8444-555555555555"

static int blobs_of(struct world *w)
{
    int fd;
    struct err e;
    assert_int_equal(blob_open_store(w->dir, &fd, &e), 0);
    return fd;
}

static int count_one(void *context, const struct blob_hash *hash, uint64_t bytes)
{
    (void)hash;
    (void)bytes;
    ++*(size_t *)context;
    return 0;
}

static size_t count_blobs(struct world *w)
{
    int fd = blobs_of(w);
    size_t n = 0;
    blob_each(fd, count_one, &n);
    close(fd);
    return n;
}

static void sweep(struct world *w)
{
    store_sweep(w->store, on_done, w);
    world_wait(w);
    world_ok(w);
}

static void put(struct world *w, uint64_t checkpoint, unsigned seed, const char *files)
{
    static const size_t sizes[] = {100000, 50, 80000};
    struct err e = {0};
    struct store_saved at = {.checkpoint = checkpoint, .through = checkpoint};
    snprintf(at.files, sizeof(at.files), "%s", files);
    world_make_state(w, seed, sizes, ARRAY_LEN(sizes));
    assert_non_null(store_put_state(w->store, SESSION, &at, w->state, on_done, w, &e));
    world_wait(w);
    world_ok(w);
    store_state_unref(take_ptr(w->state));
}

/* A manifest of two files, one of them the same in every manifest. */
static void make_manifest(struct world *w, unsigned seed, char hex[BLOB_HEX_SIZE])
{
    char text[64];
    struct blob_put a, b, m;
    _buf_ struct buf out = BUF_INIT(MIB);
    int fd = blobs_of(w);
    snprintf(text, sizeof(text), "file %u", seed);
    assert_int_equal(blob_put_bytes(fd, "common", 6, &a), 0);
    assert_int_equal(blob_put_bytes(fd, text, strlen(text), &b), 0);
    struct manifest_entry entries[] = {
        {.type = MANIFEST_DIR, .mode = 0755, .path = "", .target = ""},
        {.type = MANIFEST_FILE,
         .mode = 0644,
         .size = 6,
         .hash = a.hash,
         .path = "a",
         .path_len = 1},
        {.type = MANIFEST_FILE,
         .mode = 0644,
         .size = strlen(text),
         .hash = b.hash,
         .path = "b",
         .path_len = 1},
    };
    manifest_begin(&out);
    for (size_t i = 0; i < ARRAY_LEN(entries); i++) {
        entries[i].target = "";
        manifest_append(&out, &entries[i]);
    }
    manifest_end(&out, ARRAY_LEN(entries));
    assert_int_equal(blob_put_bytes(fd, out.data, out.len, &m), 0);
    blob_hex(&m.hash, hex);
    close(fd);
}

static void what_is_referred_to_stays(void **state)
{
    (void)state;
    struct err e = {0};
    struct world *w = world_new();
    world_put_session(w, SESSION);
    put(w, 1, 1, "");
    put(w, 2, 2, "");
    put(w, 3, 1, ""); /* the same bytes as 1 */
    assert_int_equal(count_blobs(w), 4);
    world_age_blobs(w);
    sweep(w);
    assert_int_equal(count_blobs(w), 4);
    assert_int_equal(store_keep_states(w->store, SESSION, NULL, 0, 1, &e), 0);
    world_barrier(w, NULL);
    world_ok(w);
    sweep(w);
    assert_int_equal(count_blobs(w), 2);
    store_get_state(w->store, SESSION, 3, on_state, w);
    world_wait(w);
    world_ok(w);
    _buf_ struct buf out = BUF_INIT(MIB);
    world_export(w, &out);
    world_ok(w);
    assert_int_equal(w->n_damaged, 0);
    /* Deleted, but somebody still holds the state. */
    assert_int_equal(store_delete_session(w->store, SESSION, &e), 0);
    sweep(w);
    assert_int_equal(count_blobs(w), 2);
    store_state_unref(take_ptr(w->state));
    sweep(w);
    assert_int_equal(count_blobs(w), 0);
    world_free(w);
}

static void young_garbage_stays(void **state)
{
    (void)state;
    struct err e = {0};
    struct world *w = world_new();
    world_put_session(w, SESSION);
    put(w, 1, 1, "");
    assert_int_equal(store_delete_session(w->store, SESSION, &e), 0);
    sweep(w);
    assert_int_equal(count_blobs(w), 2);
    /* Whoever finds it meanwhile makes it young again, and it is whole. */
    world_age_blobs(w);
    world_put_session(w, SESSION);
    put(w, 1, 1, "");
    sweep(w);
    assert_int_equal(count_blobs(w), 2);
    world_free(w);
}

static void files_of_manifests_stay(void **state)
{
    (void)state;
    struct err e = {0};
    struct world *w = world_new();
    char first[BLOB_HEX_SIZE], second[BLOB_HEX_SIZE], third[BLOB_HEX_SIZE];
    make_manifest(w, 1, first);
    make_manifest(w, 2, second);
    make_manifest(w, 3, third);
    world_put_session(w, SESSION);
    put(w, 1, 1, first);
    store_pin(w->store, second);
    assert_int_equal(count_blobs(w), 2 + 1 + 2 * 3);
    world_age_blobs(w);
    sweep(w); /* the third is nobody's */
    assert_int_equal(count_blobs(w), 2 + 1 + 2 * 2);
    store_unpin(w->store, second);
    sweep(w);
    assert_int_equal(count_blobs(w), 2 + 1 + 2);
    assert_int_equal(store_delete_session(w->store, SESSION, &e), 0);
    sweep(w);
    assert_int_equal(count_blobs(w), 0);
    world_free(w);
}

static void set_boot(struct world *w, const char *boot)
{
    char command[256];
    snprintf(command, sizeof(command), "%s/cella.db", w->dir);
    sqlite3 *db;
    assert_int_equal(sqlite3_open(command, &db), SQLITE_OK);
    snprintf(command, sizeof(command), "UPDATE about SET value='%s' WHERE key='boot'", boot);
    assert_int_equal(sqlite3_exec(db, command, NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
}

/* After a power cut a blob that was never synced may be half there: it must not be found by who
 * saves the same bytes again. */
static void unsynced_blobs_do_not_outlive_the_machine(void **state)
{
    (void)state;
    static const size_t sizes[] = {100000};
    struct world *w = world_new();
    world_put_session(w, SESSION);
    put(w, 1, 1, "");
    world_make_state(w, 9, sizes, 1); /* never put */
    store_state_unref(take_ptr(w->state));
    assert_int_equal(count_blobs(w), 3);
    world_close(w);
    world_open(w);
    assert_int_equal(count_blobs(w), 3); /* the same boot: nothing was lost */
    world_close(w);
    set_boot(w, "another");
    world_open(w);
    assert_int_equal(count_blobs(w), 2);
    store_get_state(w->store, SESSION, 1, on_state, w);
    world_wait(w);
    world_ok(w);
    world_free(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_referred_to_stays),
        cmocka_unit_test(young_garbage_stays),
        cmocka_unit_test(files_of_manifests_stay),
        cmocka_unit_test(unsynced_blobs_do_not_outlive_the_machine),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
