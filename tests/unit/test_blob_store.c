/* The content-addressed store by itself. */
#include "base/fd.h"
#include "blob/blob.h"
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

static struct {
    char data[64];
    int store;
} here;

static int open_store(void **state)
{
    (void)state;
    struct err e;
    snprintf(here.data, sizeof(here.data), "/tmp/cella-blob-XXXXXX");
    assert_non_null(mkdtemp(here.data));
    assert_int_equal(blob_open_store(here.data, &here.store, &e), 0);
    return 0;
}

static int close_store(void **state)
{
    (void)state;
    close(here.store);
    pid_t pid = fork();
    if (pid == 0)
        _exit(execl("/bin/rm", "rm", "-rf", here.data, (char *)NULL));
    waitpid(pid, NULL, 0);
    return 0;
}

static struct blob_put put(const char *text)
{
    struct blob_put p;
    assert_int_equal(blob_put_bytes(here.store, text, strlen(text), &p), 0);
    return p;
}

static void path_of(const struct blob_hash *hash, char out[192])
{
    char hex[BLOB_HEX_SIZE];
    blob_hex(hash, hex);
    snprintf(out, 192, "%s/blobs/%.2s/%s", here.data, hex, hex + 2);
}

static void set_age(const struct blob_hash *hash, time_t age_s)
{
    char path[192];
    path_of(hash, path);
    struct timespec times[2] = {{.tv_sec = time(NULL) - age_s}, {.tv_sec = time(NULL) - age_s}};
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

static void bytes_get_the_name_of_their_hash(void **state)
{
    (void)state;
    char hex[BLOB_HEX_SIZE];
    struct blob_put p = put("abc");
    /* b2sum -l 256 */
    assert_string_equal(blob_hex(&p.hash, hex),
                        "bddd813c634239723171ef3fee98579b94964e3bb1cb3e427262c8c068d52319");
    assert_true(p.is_new);
    assert_int_equal(p.bytes, 3);
    _free_ char *data = NULL;
    size_t len;
    assert_int_equal(blob_read(here.store, &p.hash, 100, &data, &len), 0);
    assert_string_equal(data, "abc");
    assert_false(put("abc").is_new);
    assert_int_equal(blob_sync(here.store, &p.hash), 0);
    assert_int_equal(blob_sync_all(here.store), 0);
}

static void names_are_read_strictly(void **state)
{
    (void)state;
    struct blob_hash hash;
    char hex[BLOB_HEX_SIZE];
    memset(hex, 'a', sizeof(hex) - 1);
    hex[BLOB_HEX_SIZE - 1] = '\0';
    assert_int_equal(blob_parse_hex(hex, &hash), 0);
    assert_false(blob_has(here.store, &hash));
    assert_int_equal(blob_open(here.store, &hash), -ENOENT);
    hex[5] = 'A';
    assert_int_equal(blob_parse_hex(hex, &hash), -EINVAL);
    hex[5] = '\0';
    assert_int_equal(blob_parse_hex(hex, &hash), -EINVAL);
    assert_int_equal(blob_parse_hex("../../../../etc/passwd", &hash), -EINVAL);
}

static void a_writer_takes_pieces_and_may_give_up(void **state)
{
    (void)state;
    struct blob_writer *w;
    struct blob_put p;
    assert_int_equal(blob_writer_new(here.store, &w), 0);
    assert_int_equal(blob_writer_add(w, "hello ", 6), 0);
    assert_int_equal(blob_writer_add(w, "blob", 4), 0);
    assert_int_equal(blob_writer_finish(w, &p), 0);
    blob_writer_free(w);
    struct blob_put again = put("hello blob");
    assert_true(blob_is_same(&p.hash, &again.hash));
    assert_false(again.is_new);
    assert_int_equal(blob_writer_new(here.store, &w), 0);
    assert_int_equal(blob_writer_add(w, "never", 5), 0);
    blob_writer_free(w);
    struct blob_hash never;
    blob_hash_of("never", 5, &never);
    assert_false(blob_has(here.store, &never));
}

static int scratch(const char *name)
{
    char path[192];
    snprintf(path, sizeof(path), "%s/%s", here.data, name);
    int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    return fd;
}

static void holes_stay_holes(void **state)
{
    (void)state;
    const off_t size = 32 << 20;
    _fd_ int fd = scratch("sparse");
    assert_int_equal(pwrite(fd, "middle", 6, 8 << 20), 6);
    assert_int_equal(ftruncate(fd, size), 0);
    struct blob_put p;
    assert_int_equal(blob_put_file(here.store, fd, (uint64_t)size, &p), 0);
    assert_int_equal(p.bytes, size);
    assert_int_equal(blob_put_file(here.store, fd, (uint64_t)size - 1, &p), -EFBIG);
    _fd_ int blob = blob_open_checked(here.store, &p.hash);
    assert_true(blob >= 0);
    _fd_ int copy = scratch("copy");
    assert_int_equal(blob_copy_file(blob, copy), 0);
    struct stat st;
    assert_int_equal(fstat(copy, &st), 0);
    assert_int_equal(st.st_size, size);
    assert_true(st.st_blocks * 512 < 1 << 20);
    struct blob_hash found;
    assert_int_equal(blob_hash_file(copy, UINT64_MAX, &found), 0);
    assert_true(blob_is_same(&found, &p.hash));
    /* A hole and zeros are the same bytes, so they have the same name. */
    _free_ char *zeros = mem_alloc((size_t)size);
    memcpy(zeros + (8 << 20), "middle", 6);
    blob_hash_of(zeros, (size_t)size, &found);
    assert_true(blob_is_same(&found, &p.hash));
}

static void damage_is_seen(void **state)
{
    (void)state;
    char path[192];
    struct blob_put p = put("precious");
    path_of(&p.hash, path);
    assert_int_equal(chmod(path, 0600), 0);
    _fd_ int fd = open(path, O_WRONLY | O_CLOEXEC);
    assert_int_equal(pwrite(fd, "P", 1, 0), 1);
    char *data;
    size_t len;
    assert_int_equal(blob_open_checked(here.store, &p.hash), -EBADMSG);
    assert_int_equal(blob_read(here.store, &p.hash, 100, &data, &len), -EBADMSG);
    /* A link in its place is not followed. */
    assert_int_equal(unlink(path), 0);
    assert_int_equal(symlink("/etc/passwd", path), 0);
    assert_int_equal(blob_open(here.store, &p.hash), -ELOOP);
    assert_int_equal(unlink(path), 0);
}

static int count_and_remove(void *context, const struct blob_hash *hash, uint64_t bytes)
{
    (void)bytes;
    *(int *)context += 1;
    int r = blob_remove_idle(here.store, hash, 600);
    assert_true(r == 0 || r == -EBUSY);
    return 0;
}

static void only_idle_blobs_are_removed(void **state)
{
    (void)state;
    struct blob_put young = put("young"), old = put("old"), touched = put("touched");
    set_age(&old.hash, 700);
    set_age(&touched.hash, 700);
    assert_false(put("touched").is_new);
    assert_int_equal(blob_remove_idle(here.store, &young.hash, 600), -EBUSY);
    int n = 0;
    assert_int_equal(blob_each(here.store, count_and_remove, &n), 0);
    assert_true(n >= 3);
    assert_true(blob_has(here.store, &young.hash));
    assert_true(blob_has(here.store, &touched.hash));
    assert_false(blob_has(here.store, &old.hash));
    assert_int_equal(blob_remove_idle(here.store, &old.hash, 600), -ENOENT);
}

static void what_was_never_finished_is_removed(void **state)
{
    (void)state;
    struct blob_writer *w;
    assert_int_equal(blob_writer_new(here.store, &w), 0);
    assert_int_equal(blob_remove_unfinished(here.store, 600), 0);
    assert_int_equal(blob_remove_unfinished(here.store, -1), 0);
    struct blob_put p;
    assert_int_equal(blob_writer_add(w, "orphan", 6), 0);
    assert_int_equal(blob_writer_finish(w, &p), -ENOENT);
    blob_writer_free(w);
}

/* The file size limit stands for a disk that is full: it fails in the same place. */
static void a_full_disk_leaves_nothing_half_written(void **state)
{
    (void)state;
    struct rlimit limit, less;
    _free_ char *data = mem_alloc(1 << 20);
    struct blob_put p;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    less = (struct rlimit){.rlim_cur = 64 << 10, .rlim_max = limit.rlim_max};
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &less), 0);
    int r = blob_put_bytes(here.store, data, 1 << 20, &p);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    assert_int_equal(r, -EFBIG);
    struct blob_hash hash;
    blob_hash_of(data, 1 << 20, &hash);
    assert_false(blob_has(here.store, &hash));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_get_the_name_of_their_hash),
        cmocka_unit_test(names_are_read_strictly),
        cmocka_unit_test(a_writer_takes_pieces_and_may_give_up),
        cmocka_unit_test(holes_stay_holes),
        cmocka_unit_test(damage_is_seen),
        cmocka_unit_test(only_idle_blobs_are_removed),
        cmocka_unit_test(what_was_never_finished_is_removed),
        cmocka_unit_test(a_full_disk_leaves_nothing_half_written),
    };
    return cmocka_run_group_tests(tests, open_store, close_store);
}
