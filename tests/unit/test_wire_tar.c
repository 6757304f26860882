/* tar archives, written and read. What other programs write is read in tests/e2e. */
#include "unit.h"
#include "wire/tar.h"

#include <string.h>

static int on_entry(void *context, const struct tar_entry *entry)
{
    buf_printf(context, "%d %o %llu %s", (int)entry->type, entry->mode,
               (unsigned long long)entry->size, entry->path);
    if (entry->target[0] != '\0')
        buf_printf(context, " -> %s", entry->target);
    buf_append_char(context, entry->type == TAR_FILE ? ':' : '\n');
    return strcmp(entry->path, "stop") == 0 ? 7 : 0;
}

static int on_data(void *context, const char *data, size_t len)
{
    buf_append(context, data, len);
    return 0;
}

static int on_end(void *context)
{
    buf_append_char(context, '\n');
    return 0;
}

static const struct tar_listener listener = {on_entry, on_data, on_end};

static int read_archive(const struct buf *archive, size_t len, size_t step, struct buf *out,
                        const char **ret_wrong)
{
    struct tar_reader r;
    int status = 0;
    buf_clear(out);
    tar_reader_init(&r, &listener, out);
    for (size_t i = 0; i < len && status == 0; i += step)
        status = tar_read(&r, archive->data + i, MIN(step, len - i));
    if (status == 0)
        status = tar_read_end(&r);
    *ret_wrong = r.wrong;
    tar_reader_free(&r);
    return status;
}

static void put(struct buf *out, enum tar_type type, const char *path, const char *text)
{
    static struct tar_entry entry;
    entry = (struct tar_entry){.type = type, .mode = 0640, .mtime_s = 1};
    snprintf(entry.path, sizeof(entry.path), "%s", path);
    snprintf(entry.target, sizeof(entry.target), "%s", type == TAR_LINK ? text : "");
    entry.size = type == TAR_FILE ? strlen(text) : 0;
    tar_put_head(out, &entry);
    if (type != TAR_FILE)
        return;
    buf_append_str(out, text);
    for (size_t i = tar_padding(entry.size); i > 0; i--)
        buf_append_char(out, '\0');
}

static void what_is_written_is_read(void **state)
{
    (void)state;
    _buf_ struct buf archive = BUF_INIT(MIB), out = BUF_INIT(MIB), expected = BUF_INIT(MIB);
    char name[301];
    const char *wrong;
    memset(name, 'n', 300);
    name[300] = '\0';
    put(&archive, TAR_DIR, "d", "");
    put(&archive, TAR_FILE, "d/a", "hello");
    put(&archive, TAR_FILE, "empty", "");
    put(&archive, TAR_LINK, "l", "d/a");
    put(&archive, TAR_FILE, name, name);
    put(&archive, TAR_LINK, name, name);
    put(&archive, TAR_DIR, name, "");
    tar_put_end(&archive);
    buf_printf(&expected,
               "1 640 0 d\n0 640 5 d/a:hello\n0 640 0 empty:\n2 640 0 l -> d/a\n"
               "0 640 300 %s:%s\n2 640 0 %s -> %s\n1 640 0 %s\n",
               name, name, name, name, name);
    for (size_t step = 1; step < 3000; step += 97) {
        assert_int_equal(read_archive(&archive, archive.len, step, &out, &wrong), 0);
        assert_string_equal(buf_str(&out), buf_str(&expected));
    }
    for (size_t cut = 1; cut < archive.len - TAR_BLOCK; cut += 61) {
        assert_int_equal(read_archive(&archive, cut, 512, &out, &wrong), -1);
        assert_non_null(wrong);
    }
}

static void a_large_size_stands_in_a_record(void **state)
{
    (void)state;
    _buf_ struct buf archive = BUF_INIT(MIB), out = BUF_INIT(MIB);
    static struct tar_entry entry = {.type = TAR_FILE, .path = "big", .size = (uint64_t)5 << 40};
    const char *wrong;
    tar_put_head(&archive, &entry);
    assert_int_equal(read_archive(&archive, archive.len, 512, &out, &wrong), -1);
    assert_string_equal(buf_str(&out), "0 0 5497558138880 big:");
}

static void what_is_no_archive_is_refused(void **state)
{
    (void)state;
    _buf_ struct buf archive = BUF_INIT(MIB), out = BUF_INIT(MIB);
    const char *wrong;
    put(&archive, TAR_FILE, "stop", "x");
    tar_put_end(&archive);
    assert_int_equal(read_archive(&archive, archive.len, 512, &out, &wrong), 7);
    for (size_t i = 0; i < TAR_BLOCK; i += 13) {
        archive.data[i] ^= 1; /* its sum is wrong, or says so */
        assert_int_equal(read_archive(&archive, archive.len, 512, &out, &wrong), -1);
        assert_non_null(wrong);
        archive.data[i] ^= 1;
    }
    put(&archive, TAR_FILE, "late", "x");
    archive.data[0] = 's';
    assert_int_equal(read_archive(&archive, archive.len, 512, &out, &wrong), 7);
    _buf_ struct buf late = BUF_INIT(MIB);
    tar_put_end(&late);
    put(&late, TAR_FILE, "late", "x");
    assert_int_equal(read_archive(&late, late.len, 512, &out, &wrong), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_written_is_read),
        cmocka_unit_test(a_large_size_stands_in_a_record),
        cmocka_unit_test(what_is_no_archive_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
