#include "blob/blob.h"
#include "notebook_world.h"

#include <fcntl.h>

static void on_put_image(void *context, const char *hash, uint64_t bytes, const struct err *e)
{
    struct world *w = context;
    world_note(w, e);
    w->count = bytes;
    buf_clear(&w->text);
    buf_append_str(&w->text, or_dash(hash));
}

static void on_image(void *context, const struct store_image *image, const struct err *e)
{
    struct world *w = context;
    world_note(w, e);
    buf_clear(&w->text);
    if (image != NULL)
        buf_printf(&w->text, "%s %s %dx%d %d", image->hash, image->format, (int)image->width,
                   (int)image->height, (int)image->bytes);
}

static void on_released(void *owner)
{
    ++*(int *)owner;
}

static void put_image(struct world *w, const char *text, bool is_base64, char hash[STORE_HASH_SIZE])
{
    int released = 0;
    struct store_picture picture = {.text = text,
                                    .len = strlen(text),
                                    .is_base64 = is_base64,
                                    .release = on_released,
                                    .owner = &released};
    store_put_image(w->store, &picture, on_put_image, w);
    world_wait(w);
    world_ok(w);
    while (released == 0)
        uv_run(&w->loop, UV_RUN_ONCE);
    assert_int_equal(released, 1);
    snprintf(hash, STORE_HASH_SIZE, "%s", buf_str(&w->text));
}

static const char *image(struct world *w, const char *cell, uint64_t n)
{
    store_get_image(w->store, ONE, cell, n, on_image, w);
    world_wait(w);
    return buf_str(&w->text);
}

/* Whether the blob is there after everything unused was removed. */
static bool survives(struct world *w, const char *hex)
{
    struct blob_hash hash;
    world_barrier(w, NULL);
    world_age_blobs(w);
    store_sweep(w->store, on_done, w);
    world_wait(w);
    world_ok(w);
    assert_int_equal(blob_parse_hex(hex, &hash), 0);
    return blob_has(store_blobs(w->store), &hash);
}

static void pictures_live_as_long_as_their_cells(void **state)
{
    (void)state;
    struct world *w = world_new();
    char png[STORE_HASH_SIZE], svg[STORE_HASH_SIZE], lost[STORE_HASH_SIZE], want[256];
    _buf_ struct buf outputs = BUF_INIT(MIB);
    put_image(w, "aGVsbG8=", true, png);
    assert_int_equal(w->count, 5);
    put_image(w, "<svg>\"}]{[\\\"</svg>", false, svg);
    memset(lost, 'a', sizeof(lost));
    lost[STORE_HASH_SIZE - 1] = '\0';
    buf_printf(&outputs,
               "[{\"type\":\"text\",\"text\":\"\\\"hash\\\": \\\\\"},"
               "{\"type\":\"json\",\"json\":{\"hash\":\"%s\",\"a\":[1,{\"hash\":\"%s\"}]}},"
               "{\"type\":\"image\", \"format\":\"png\",\"width\":640,\"height\":480,\"bytes\":5,"
               "\"hash\" : \"%s\"},"
               "{\"hash\":\"%s\",\"type\":\"image\"},"
               "{\"type\":\"svg\",\"format\":\"svg\",\"ref\":\"notebook://x/cell/c/image/7\","
               "\"bytes\":18,\"hash\":\"%s\"}]",
               lost, lost, png, lost, svg);
    world_put_notebook(w, ONE);
    put_text(w, "c", "running", "x");
    put_run(w, "c", "completed", 1, buf_str(&outputs));
    snprintf(want, sizeof(want), "%s png 640x480 5", png);
    assert_string_equal(image(w, "c", 0), want);
    snprintf(want, sizeof(want), "%s svg 0x0 18", svg);
    assert_string_equal(image(w, "0", 7), want);
    image(w, "c", 1); /* its bytes were never there */
    assert_int_equal(w->error.code, ERR_NOT_FOUND);
    assert_true(survives(w, png));
    assert_true(survives(w, svg));
    buf_clear(&outputs);
    buf_printf(&outputs, "[{\"type\":\"image\",\"format\":\"png\",\"hash\":\"%s\"}]", png);
    put_run(w, "c", "completed", 2, buf_str(&outputs));
    assert_true(survives(w, png));
    assert_false(survives(w, svg));
    image(w, "c", 7);
    assert_int_equal(w->error.code, ERR_NOT_FOUND);
    change(w, &(struct store_change){.what = CHANGE_CLEAR_OUTPUTS, .cell = "c"});
    assert_false(survives(w, png));
    store_put_image(w->store, &(struct store_picture){.text = "no?", .len = 3, .is_base64 = true},
                    on_put_image, w);
    world_wait(w);
    assert_int_equal(w->error.code, ERR_INVALID);
    world_free(w);
}

/* Whatever a removal is: the cell, all cells, the notebook. */
static void pictures_go_with_what_is_removed(void **state)
{
    (void)state;
    struct world *w = world_new();
    struct err e;
    char hash[STORE_HASH_SIZE];
    _buf_ struct buf outputs = BUF_INIT(MIB);
    for (int i = 0; i < 3; i++) {
        put_image(w, "cGljdHVyZQ==", true, hash);
        buf_clear(&outputs);
        buf_printf(&outputs, "[{\"type\":\"image\",\"hash\":\"%s\"}]", hash);
        world_put_notebook(w, ONE);
        put_text(w, "c", "running", "x");
        put_run(w, "c", "completed", 1, buf_str(&outputs));
        assert_true(survives(w, hash));
        if (i == 0)
            change(w, &(struct store_change){.what = CHANGE_REMOVE, .cell = "c"});
        else if (i == 1)
            change(w, &(struct store_change){.what = CHANGE_CLEAR_ALL});
        else
            store_delete_notebook(w->store, ONE, NULL, NULL, &e);
        assert_false(survives(w, hash));
    }
    world_free(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pictures_live_as_long_as_their_cells),
        cmocka_unit_test(pictures_go_with_what_is_removed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
