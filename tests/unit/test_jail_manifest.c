/* Manifests: written, read, searched and compared. */
#include "jail/files/manifest.h"
#include "unit.h"

#include <fcntl.h>

static struct manifest_entry entry(enum manifest_type type, const char *path)
{
    struct manifest_entry e = {.type = type,
                               .mode = type == MANIFEST_DIR ? 0755 : 0644,
                               .mtime_ns = -1,
                               .path = path,
                               .path_len = strlen(path),
                               .target = ""};
    if (type == MANIFEST_FILE)
        blob_hash_of(path, e.path_len, &e.hash);
    if (type == MANIFEST_LINK) {
        e.target = "../../etc/passwd";
        e.target_len = strlen(e.target);
    }
    return e;
}

static void write_all(struct buf *out, const struct manifest_entry *entries, size_t n)
{
    manifest_begin(out);
    for (size_t i = 0; i < n; i++)
        manifest_append(out, &entries[i]);
    manifest_end(out, n);
}

static struct manifest *parsed(const struct manifest_entry *entries, size_t n)
{
    _buf_ struct buf out = BUF_INIT(MIB);
    struct manifest *m = NULL;
    struct err e;
    write_all(&out, entries, n);
    if (manifest_parse(out.data, out.len, &m, &e) < 0)
        fail_msg("%s", e.message);
    return m;
}

static void refused(const struct manifest_entry *entries, size_t n, const char *why)
{
    _buf_ struct buf out = BUF_INIT(MIB);
    struct manifest *m = NULL;
    struct err e;
    write_all(&out, entries, n);
    assert_int_equal(manifest_parse(out.data, out.len, &m, &e), -1);
    if (strstr(e.message, why) == NULL)
        fail_msg("%s", e.message);
}

static void a_manifest_is_read_as_it_was_written(void **state)
{
    (void)state;
    const struct manifest_entry entries[] = {
        entry(MANIFEST_DIR, ""),       entry(MANIFEST_DIR, "a"),
        entry(MANIFEST_FILE, "a/x"),   entry(MANIFEST_FILE, "a-b"),
        entry(MANIFEST_FILE, "a.txt"), entry(MANIFEST_LINK, "l\xff\n"),
        entry(MANIFEST_OTHER, "pipe"),
    };
    struct manifest *m = parsed(entries, ARRAY_LEN(entries));
    assert_int_equal(m->n_entries, ARRAY_LEN(entries));
    for (size_t i = 0; i < m->n_entries; i++) {
        assert_string_equal(m->entries[i].path, entries[i].path);
        assert_string_equal(m->entries[i].target, entries[i].target);
        assert_int_equal(m->entries[i].mode, entries[i].mode);
        assert_int_equal(m->entries[i].mtime_ns, -1);
        assert_ptr_equal(manifest_find(m, entries[i].path, entries[i].path_len), &m->entries[i]);
    }
    assert_true(blob_is_same(&m->entries[2].hash, &entries[2].hash));
    assert_int_equal(manifest_after(m, 0), 7);
    assert_int_equal(manifest_after(m, 1), 3);
    assert_null(manifest_find(m, "a/y", 3));
    manifest_free(m);
}

#define REFUSED(why, ...)                                                                          \
    refused((struct manifest_entry[]){__VA_ARGS__},                                                \
            sizeof((struct manifest_entry[]){__VA_ARGS__}) / sizeof(struct manifest_entry), why)

static void what_could_lead_astray_is_refused(void **state)
{
    (void)state;
    const struct manifest_entry top = entry(MANIFEST_DIR, "");
    REFUSED("start with the workspace", entry(MANIFEST_FILE, "a"));
    REFUSED("start with the workspace", entry(MANIFEST_LINK, ""));
    REFUSED("out of order", top, entry(MANIFEST_FILE, "b"), entry(MANIFEST_FILE, "a"));
    REFUSED("out of order", top, entry(MANIFEST_FILE, "a"), entry(MANIFEST_FILE, "a"));
    REFUSED("out of order", top, top);
    REFUSED("a name is invalid", top, entry(MANIFEST_FILE, ".."));
    REFUSED("a name is invalid", top, entry(MANIFEST_FILE, "/etc"));
    REFUSED("a name is invalid", top, entry(MANIFEST_FILE, "missing/x"));
    REFUSED("a name is invalid", top, entry(MANIFEST_DIR, "a"), entry(MANIFEST_FILE, "a/../x"));
    REFUSED("a name is invalid", top, entry(MANIFEST_DIR, "a"), entry(MANIFEST_DIR, "a/"));
    /* Below a link, which would lead out. */
    REFUSED("a name is invalid", top, entry(MANIFEST_LINK, "a"), entry(MANIFEST_FILE, "a/x"));
    struct manifest_entry bad = entry(MANIFEST_FILE, "a");
    bad.mode = 0100644 & 0xffff;
    REFUSED("out of range", top, bad);
    bad = entry(MANIFEST_LINK, "a");
    bad.target_len = 0;
    REFUSED("leads nowhere", top, bad);
    bad = entry(MANIFEST_FILE, "a");
    bad.type = 'x';
    REFUSED("no such type", top, bad);
}

static void every_cut_is_refused(void **state)
{
    (void)state;
    const struct manifest_entry entries[] = {entry(MANIFEST_DIR, ""), entry(MANIFEST_FILE, "a"),
                                             entry(MANIFEST_LINK, "b")};
    _buf_ struct buf out = BUF_INIT(MIB);
    struct manifest *m = NULL;
    struct err e;
    write_all(&out, entries, 3);
    for (size_t len = 0; len < out.len; len++)
        assert_int_equal(manifest_parse(out.data, len, &m, &e), -1);
    buf_append_char(&out, 'x');
    assert_int_equal(manifest_parse(out.data, out.len, &m, &e), -1);
    assert_null(m);
}

static void depth_is_bounded(void **state)
{
    (void)state;
    char paths[MANIFEST_DEPTH_MAX + 2][2 * MANIFEST_DEPTH_MAX + 4];
    struct manifest_entry entries[MANIFEST_DEPTH_MAX + 2];
    for (size_t i = 0; i < ARRAY_LEN(entries); i++) {
        memset(paths[i], 'd', sizeof(paths[i]));
        for (size_t k = 1; k < 2 * i; k += 2)
            paths[i][k] = '/';
        paths[i][i == 0 ? 0 : 2 * i - 1] = '\0';
        entries[i] = entry(MANIFEST_DIR, paths[i]);
    }
    manifest_free(parsed(entries, MANIFEST_DEPTH_MAX + 1));
    refused(entries, MANIFEST_DEPTH_MAX + 2, "too deep");
}

static void tell_change(void *context, enum manifest_change change,
                        const struct manifest_entry *changed)
{
    buf_printf(context, "%c%s ", "+~-"[change], changed -> path);
}

static void two_manifests_are_compared(void **state)
{
    (void)state;
    struct manifest_entry old[] = {entry(MANIFEST_DIR, ""),        entry(MANIFEST_DIR, "a"),
                                   entry(MANIFEST_FILE, "a/gone"), entry(MANIFEST_FILE, "mode"),
                                   entry(MANIFEST_FILE, "same"),   entry(MANIFEST_FILE, "type")};
    struct manifest_entry new[] = {entry(MANIFEST_DIR, ""),       entry(MANIFEST_DIR, "a"),
                                   entry(MANIFEST_FILE, "a/new"), entry(MANIFEST_FILE, "mode"),
                                   entry(MANIFEST_FILE, "same"),  entry(MANIFEST_LINK, "type"),
                                   entry(MANIFEST_FILE, "zz")};
    new[3].mode = 0600;
    new[4].mtime_ns = 5;
    struct manifest *a = parsed(old, ARRAY_LEN(old)), *b = parsed(new, ARRAY_LEN(new));
    _buf_ struct buf out = BUF_INIT(KIB);
    manifest_diff(a, b, tell_change, &out);
    assert_string_equal(out.data, "-a/gone +a/new ~mode ~type +zz ");
    buf_clear(&out);
    manifest_diff(NULL, a, tell_change, &out);
    assert_string_equal(out.data, "+a +a/gone +mode +same +type ");
    manifest_free(a);
    manifest_free(b);
}

/* The names of `m` with this one put or, without a type, deleted. A manifest comes of it. */
static void amended(const struct manifest *m, const char *path, int type, const char *expected)
{
    _buf_ struct buf out = BUF_INIT(MIB), names = BUF_INIT(KIB);
    struct manifest_entry file = entry(MANIFEST_FILE, path);
    struct manifest *now = NULL;
    struct err e;
    struct manifest_changes changes = {
        .removed = {type == 0 ? path : NULL}, .added = &file, .n_added = type != 0 ? 1 : 0};
    manifest_amend(m, &changes, &out);
    if (manifest_parse(out.data, out.len, &now, &e) < 0)
        fail_msg("%s: %s", path, e.message);
    for (size_t i = 1; i < now->n_entries; i++)
        buf_printf(&names, "%c:%s ", (char)now->entries[i].type, now->entries[i].path);
    assert_string_equal(buf_str(&names), expected);
    if (type != 0) {
        const struct manifest_entry *found = manifest_find(now, path, strlen(path));
        assert_true(found != NULL && blob_is_same(&found->hash, &file.hash));
    }
    manifest_free(now);
}

static void a_file_is_put_and_deleted(void **state)
{
    (void)state;
    const struct manifest_entry entries[] = {
        entry(MANIFEST_DIR, ""),       entry(MANIFEST_DIR, "a"),    entry(MANIFEST_DIR, "a/b"),
        entry(MANIFEST_FILE, "a/b/c"), entry(MANIFEST_FILE, "a-b"), entry(MANIFEST_LINK, "l")};
    struct manifest *m = parsed(entries, ARRAY_LEN(entries));
    struct manifest *none = parsed(entries, 1);
    amended(none, "x", 'f', "f:x ");
    amended(none, "x/y/z", 'f', "d:x d:x/y f:x/y/z ");
    amended(none, "x", 0, "");
    amended(m, "0", 'f', "f:0 d:a d:a/b f:a/b/c f:a-b l:l ");
    amended(m, "z", 'f', "d:a d:a/b f:a/b/c f:a-b l:l f:z ");
    amended(m, "a/a", 'f', "d:a f:a/a d:a/b f:a/b/c f:a-b l:l ");
    amended(m, "a/c", 'f', "d:a d:a/b f:a/b/c f:a/c f:a-b l:l ");
    amended(m, "a/b/c", 'f', "d:a d:a/b f:a/b/c f:a-b l:l ");
    amended(m, "a/c/d", 'f', "d:a d:a/b f:a/b/c d:a/c f:a/c/d f:a-b l:l ");
    /* What is in the way goes: a directory for a file, a link or a file for a directory. */
    amended(m, "a/b", 'f', "d:a f:a/b f:a-b l:l ");
    amended(m, "l", 'f', "d:a d:a/b f:a/b/c f:a-b f:l ");
    amended(m, "l/x", 'f', "d:a d:a/b f:a/b/c f:a-b d:l f:l/x ");
    amended(m, "a-b/x/y", 'f', "d:a d:a/b f:a/b/c d:a-b d:a-b/x f:a-b/x/y l:l ");
    amended(m, "a/b/c", 0, "d:a d:a/b f:a-b l:l ");
    amended(m, "a", 0, "f:a-b l:l ");
    amended(m, "a/x", 0, "d:a d:a/b f:a/b/c f:a-b l:l ");
    amended(m, "l/x", 0, "d:a d:a/b f:a/b/c f:a-b l:l ");
    manifest_free(m);
    manifest_free(none);
}

static void grafted(const struct manifest *m, const char *from, const char *to, bool is_move,
                    const char *expected)
{
    _buf_ struct buf out = BUF_INIT(MIB), names = BUF_INIT(KIB);
    struct manifest *now = NULL;
    struct err e;
    manifest_graft(m, from, to, is_move, &out);
    if (manifest_parse(out.data, out.len, &now, &e) < 0)
        fail_msg("%s: %s", to, e.message);
    for (size_t i = 1; i < now->n_entries; i++)
        buf_printf(&names, "%c:%s ", (char)now->entries[i].type, now->entries[i].path);
    assert_string_equal(buf_str(&names), expected);
    manifest_free(now);
}

static void folders_are_moved_and_copied(void **state)
{
    (void)state;
    const struct manifest_entry entries[] = {
        entry(MANIFEST_DIR, ""),       entry(MANIFEST_DIR, "a"),    entry(MANIFEST_DIR, "a/b"),
        entry(MANIFEST_FILE, "a/b/c"), entry(MANIFEST_FILE, "a-b"), entry(MANIFEST_LINK, "l")};
    struct manifest *m = parsed(entries, ARRAY_LEN(entries));
    grafted(m, "a", "z", true, "f:a-b l:l d:z d:z/b f:z/b/c ");
    grafted(m, "a", "z", false, "d:a d:a/b f:a/b/c f:a-b l:l d:z d:z/b f:z/b/c ");
    grafted(m, "a/b", "b", true, "d:a f:a-b d:b f:b/c l:l ");
    grafted(m, "a/b/c", "x/y", true, "d:a d:a/b f:a-b l:l d:x f:x/y ");
    grafted(m, "a-b", "a/b/c", true, "d:a d:a/b f:a/b/c l:l ");
    grafted(m, "l", "a", true, "l:a f:a-b ");
    grafted(m, "none", "a-b", true, "d:a d:a/b f:a/b/c l:l ");
    manifest_free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_manifest_is_read_as_it_was_written),
        cmocka_unit_test(what_could_lead_astray_is_refused),
        cmocka_unit_test(every_cut_is_refused),
        cmocka_unit_test(depth_is_bounded),
        cmocka_unit_test(two_manifests_are_compared),
        cmocka_unit_test(a_file_is_put_and_deleted),
        cmocka_unit_test(folders_are_moved_and_copied),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
