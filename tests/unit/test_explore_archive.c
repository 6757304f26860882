/* Archives by real boxes: what is read, and what a stranger may try. */
#include "base/fd.h"
#include "explore/archive.h"
#include "explore/archive_walk.h"
#include "loop/loop.h"
#include "unit.h"
#include "wire/tar.h"

#include <archive.h>
#include <archive_entry.h>
#include <fcntl.h>
#include <locale.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

struct world {
    uv_loop_t loop;
    struct explore_boxes *boxes;
};

struct answer {
    int n;
    json_t *result;
    struct err err;
};

static int setup(void **state)
{
    struct world *w = mem_alloc(sizeof(*w));
    uv_loop_init(&w->loop);
    w->boxes = explore_boxes_new(&w->loop);
    *state = w;
    return 0;
}

static int teardown(void **state)
{
    struct world *w = *state;
    explore_boxes_free(w->boxes);
    uv_run(&w->loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&w->loop), 0);
    free(w);
    return 0;
}

static void on_answer(void *context, json_t *result, const struct err *e)
{
    struct answer *answer = context;
    answer->n++;
    answer->result = json_incref(result);
    if (e != NULL)
        answer->err = *e;
}

/* ---- making archives ------------------------------------------------------------------------- */

typedef int (*make_fn)(struct archive *a);

struct kind {
    const char *name;
    make_fn format, filter;
};

static const struct kind zip = {"zip", archive_write_set_format_zip, archive_write_add_filter_none};
static const struct kind tar = {"tar", archive_write_set_format_pax_restricted,
                                archive_write_add_filter_none};
static const struct kind tar_gz = {"tar.gz", archive_write_set_format_pax_restricted,
                                   archive_write_add_filter_gzip};
static const struct kind seven = {"7z", archive_write_set_format_7zip,
                                  archive_write_add_filter_none};
static const struct kind gz = {"gz", archive_write_set_format_raw, archive_write_add_filter_gzip};
static const struct kind kinds[] = {
    {"zip", archive_write_set_format_zip, archive_write_add_filter_none},
    {"7z", archive_write_set_format_7zip, archive_write_add_filter_none},
    {"tar", archive_write_set_format_pax_restricted, archive_write_add_filter_none},
    {"tar.gz", archive_write_set_format_pax_restricted, archive_write_add_filter_gzip},
    {"tar.bz2", archive_write_set_format_pax_restricted, archive_write_add_filter_bzip2},
    {"tar.xz", archive_write_set_format_pax_restricted, archive_write_add_filter_xz},
    {"tar.zstd", archive_write_set_format_pax_restricted, archive_write_add_filter_zstd},
    {"gz", archive_write_set_format_raw, archive_write_add_filter_gzip},
};

struct maker {
    struct archive *a;
    int fd;
};

static struct maker begin(const struct kind *kind)
{
    struct maker m = {.a = archive_write_new(), .fd = memfd_create("archive", MFD_CLOEXEC)};
    assert_int_equal(kind->format(m.a), ARCHIVE_OK);
    assert_true(kind->filter(m.a) <= 0);
    assert_int_equal(archive_write_open_fd(m.a, m.fd), ARCHIVE_OK);
    return m;
}

static void add_entry(struct maker *m, const char *name, unsigned type, const char *link,
                      const void *data, size_t len)
{
    struct archive_entry *entry = archive_entry_new();
    archive_entry_set_pathname_utf8(entry, name);
    archive_entry_set_filetype(entry, type);
    archive_entry_set_perm(entry, 0644);
    archive_entry_set_mtime(entry, 1700000000, 0);
    archive_entry_set_size(entry, (la_int64_t)len);
    if (link != NULL && type == AE_IFLNK)
        archive_entry_set_symlink(entry, link);
    else if (link != NULL)
        archive_entry_set_hardlink(entry, link);
    if (archive_write_header(m->a, entry) != ARCHIVE_OK)
        fail_msg("%s: %s", name, archive_error_string(m->a));
    if (len > 0)
        assert_int_equal(archive_write_data(m->a, data, len), len);
    archive_entry_free(entry);
}

static void add(struct maker *m, const char *name, const char *text)
{
    add_entry(m, name, AE_IFREG, NULL, text, strlen(text));
}

static int finish(struct maker *m)
{
    assert_int_equal(archive_write_close(m->a), ARCHIVE_OK);
    archive_write_free(m->a);
    return m->fd;
}

/* Spaces, so many of them, in so many members. */
static int make_spaces(const struct kind *kind, size_t members, size_t len)
{
    static char spaces[MIB];
    memset(spaces, ' ', sizeof(spaces));
    struct maker m = begin(kind);
    for (size_t i = 0; i < members; i++) {
        char name[32];
        snprintf(name, sizeof(name), "spaces-%zu", i);
        struct archive_entry *entry = archive_entry_new();
        archive_entry_set_pathname(entry, name);
        archive_entry_set_filetype(entry, AE_IFREG);
        archive_entry_set_size(entry, (la_int64_t)len);
        assert_int_equal(archive_write_header(m.a, entry), ARCHIVE_OK);
        archive_entry_free(entry);
        for (size_t left = len; left > 0;) {
            size_t n = MIN(left, sizeof(spaces));
            assert_int_equal(archive_write_data(m.a, spaces, n), n);
            left -= n;
        }
    }
    return finish(&m);
}

static int make_simple(const struct kind *kind)
{
    struct maker m = begin(kind);
    if (strcmp(kind->name, "gz") != 0) {
        add_entry(&m, "docs", AE_IFDIR, NULL, NULL, 0);
        add(&m, "docs/ünïcode.txt", "one\nTwo needles\nthree\n");
    }
    add(&m, "notes.txt", "a Needle in hay\nhay\n");
    return finish(&m);
}

static size_t file_bytes(int fd, void **ret)
{
    struct stat st;
    assert_int_equal(fstat(fd, &st), 0);
    *ret = mem_alloc((size_t)st.st_size + 1);
    assert_int_equal(pread(fd, *ret, (size_t)st.st_size, 0), st.st_size);
    return (size_t)st.st_size;
}

static int file_of(const void *data, size_t len)
{
    int fd = memfd_create("file", MFD_CLOEXEC);
    assert_int_equal(fd_write_all(fd, data, len), 0);
    return fd;
}

/* ---- asking ---------------------------------------------------------------------------------- */

static struct answer wait_for(struct world *w, struct answer *answer)
{
    assert_int_equal(answer->n, 0);
    uv_run(&w->loop, UV_RUN_DEFAULT);
    assert_int_equal(answer->n, 1);
    return *answer;
}

static struct answer list(struct world *w, int fd)
{
    struct answer answer = {0};
    struct err e;
    assert_non_null(archive_list(w->boxes, fd, NULL, on_answer, &answer, &e));
    return wait_for(w, &answer);
}

static struct answer search(struct world *w, int fd, const char *query, size_t most)
{
    struct answer answer = {0};
    struct err e;
    assert_non_null(archive_search(w->boxes, fd, query, most, on_answer, &answer, &e));
    return wait_for(w, &answer);
}

static struct answer read_member(struct world *w, int fd, const char *member, uint64_t most, int to)
{
    struct answer answer = {0};
    struct err e;
    assert_non_null(archive_read(w->boxes, fd, member, most, dup(to), on_answer, &answer, &e));
    return wait_for(w, &answer);
}

static void require_text(const struct answer *answer, const char *path, const char *text)
{
    _free_ char *all = answer->result == NULL ? NULL : json_dumps(answer->result, JSON_COMPACT);
    if (all == NULL || strstr(all, text) == NULL)
        fail_msg("%s: no %s in %s", path, text, all == NULL ? answer->err.message : all);
}

static void require_error(struct answer answer, enum err_code code, const char *text)
{
    assert_null(answer.result);
    if (answer.err.code != code || strstr(answer.err.message, text) == NULL ||
        answer.err.advice[0] == '\0')
        fail_msg("%s: %s | %s", err_code_name(answer.err.code), answer.err.message,
                 answer.err.advice);
}

/* ---- what is read ---------------------------------------------------------------------------- */

static void every_format_is_listed_read_and_searched(void **state)
{
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        bool is_raw = strcmp(kinds[i].name, "gz") == 0;
        _fd_ int fd = make_simple(&kinds[i]);
        struct answer answer = list(*state, dup(fd));
        char format[32];
        snprintf(format, sizeof(format), "\"format\":\"%s\"", kinds[i].name);
        require_text(&answer, kinds[i].name, format);
        require_text(&answer, kinds[i].name, "\"size\":20,\"type\":\"file\"");
        if (!is_raw)
            require_text(&answer, kinds[i].name, "\"docs/ünïcode.txt\"");
        json_decref(answer.result);

        answer = search(*state, dup(fd), "nEEdle", 0);
        require_text(&answer, kinds[i].name, "\"line\":1,\"match\":\"a Needle in hay\"");
        if (!is_raw)
            require_text(&answer, kinds[i].name,
                         "{\"file\":\"docs/ünïcode.txt\",\"line\":2,\"match\":\"Two needles\"}");
        json_decref(answer.result);

        _fd_ int to = memfd_create("to", MFD_CLOEXEC);
        answer = read_member(*state, dup(fd), is_raw ? "data" : "notes.txt", 0, to);
        require_text(&answer, kinds[i].name, "{\"bytes\":20,\"is_cut\":false}");
        json_decref(answer.result);
        char text[64] = "";
        assert_int_equal(pread(to, text, sizeof(text), 0), 20);
        assert_string_equal(text, "a Needle in hay\nhay\n");
    }
}

static void a_part_of_a_member_goes_into_a_pipe(void **state)
{
    int ends[2];
    char text[64] = "";
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    struct answer answer = read_member(*state, make_simple(&zip), "notes.txt", 8, ends[1]);
    require_text(&answer, "zip", "{\"bytes\":8,\"is_cut\":true}");
    json_decref(answer.result);
    assert_int_equal(read(ends[0], text, sizeof(text)), 8);
    assert_string_equal(text, "a Needle");
    close(ends[0]);
    /* Nobody reads what is unpacked. */
    answer = read_member(*state, make_simple(&zip), "notes.txt", 0, ends[1]);
    close(ends[1]);
    assert_null(answer.result);
    assert_int_equal(answer.err.code, ERR_GONE);
}

static void what_is_not_there_is_told(void **state)
{
    require_error(read_member(*state, make_simple(&zip), "other.txt", 0, STDERR_FILENO),
                  ERR_NOT_FOUND, "the archive has no other.txt");
    require_error(read_member(*state, make_simple(&tar), "docs/", 0, STDERR_FILENO), ERR_INVALID,
                  "docs/ is no file but a folder");
    require_error(list(*state, file_of("plain text\n", 11)), ERR_INVALID, "no archive");
    require_error(list(*state, file_of("", 0)), ERR_INVALID, "no archive");
}

static void hits_are_bounded_and_long_lines_are_cut(void **state)
{
    struct maker m = begin(&tar_gz);
    _buf_ struct buf text = BUF_INIT(8 * MIB);
    for (int i = 0; i < 80; i++)
        buf_append_str(&text, "x\nNEEDLE\n");
    uint32_t noise = 1;
    for (int i = 0; i < 3 * 1024 * 1024; i++)
        buf_append_char(&text, (char)('a' + (noise = noise * 1664525 + 1013904223) % 13 / 2));
    buf_append_str(&text, "needle behind ünï");
    add(&m, "many", buf_str(&text));
    int fd = finish(&m);
    struct answer answer = search(*state, dup(fd), "needle", 0);
    assert_int_equal(json_array_size(json_object_get(answer.result, "hits")), 50);
    require_text(&answer, "tar.gz", "{\"file\":\"many\",\"line\":100,\"match\":\"NEEDLE\"}");
    require_text(&answer, "tar.gz", "\"is_cut\":true");
    json_decref(answer.result);
    answer = search(*state, fd, "needle behind", 3);
    assert_int_equal(json_array_size(json_object_get(answer.result, "hits")), 1);
    require_text(&answer, "tar.gz", "\"line\":161");
    require_text(&answer, "tar.gz", "needle behind ünï");
    json_decref(answer.result);
}

static void archives_inside_are_two_deep(void **state)
{
    void *inner, *middle;
    _fd_ int inner_fd = make_simple(&tar_gz);
    size_t inner_len = file_bytes(inner_fd, &inner);
    struct maker m = begin(&zip);
    add_entry(&m, "in.tar.gz", AE_IFREG, NULL, inner, inner_len);
    _fd_ int middle_fd = finish(&m);
    size_t middle_len = file_bytes(middle_fd, &middle);
    struct answer answer = search(*state, dup(middle_fd), "needles", 0);
    require_text(&answer, "search", "{\"file\":\"in.tar.gz!/docs/ünïcode.txt\",\"line\":2");
    json_decref(answer.result);
    _fd_ int to = memfd_create("to", MFD_CLOEXEC);
    answer = read_member(*state, dup(middle_fd), "in.tar.gz!/notes.txt", 0, to);
    require_text(&answer, "read", "\"bytes\":20");
    json_decref(answer.result);
    struct err e;
    answer = (struct answer){0};
    archive_list(((struct world *)*state)->boxes, dup(middle_fd), "in.tar.gz", on_answer, &answer,
                 &e);
    answer = wait_for(*state, &answer);
    require_text(&answer, "list", "\"total\":3");
    json_decref(answer.result);

    m = begin(&zip);
    add_entry(&m, "deep.zip", AE_IFREG, NULL, middle, middle_len);
    _fd_ int outer_fd = finish(&m);
    require_error(read_member(*state, dup(outer_fd), "deep.zip!/in.tar.gz!/notes.txt", 0, to),
                  ERR_TOO_LARGE, "opened 2 deep");
    answer = search(*state, dup(outer_fd), "needles", 0);
    require_text(&answer, "search",
                 "\"skipped\":[{\"name\":\"deep.zip!/in.tar.gz\",\"note\":\"an archive too deep");
    json_decref(answer.result);
    free(inner);
    free(middle);
}

/* ---- what a stranger may try ----------------------------------------------------------------- */

static void bombs_are_refused(void **state)
{
    const struct kind *const all[] = {&zip, &tar_gz, &seven, &gz};
    for (size_t i = 0; i < ARRAY_LEN(all); i++) {
        _fd_ int fd = make_spaces(all[i], 1, 24 * MIB);
        require_error(list(*state, dup(fd)), ERR_TOO_LARGE, "more than 100 times its size");
        require_error(search(*state, dup(fd), "x", 0), ERR_TOO_LARGE, "more than 100 times");
        _fd_ int to = memfd_create("to", MFD_CLOEXEC);
        require_error(read_member(*state, dup(fd), all[i] == &gz ? "data" : "spaces-0", 0, to),
                      ERR_TOO_LARGE, "more than 100 times");
        struct stat st;
        fstat(to, &st);
        assert_true(st.st_size < (off_t)(16 * MIB));
    }
}

/* An archive of 16 archives, each of which is a bomb. */
static void bombs_inside_are_refused(void **state)
{
    void *bomb;
    _fd_ int bomb_fd = make_spaces(&zip, 1, 32 * MIB);
    size_t len = file_bytes(bomb_fd, &bomb);
    struct maker m = begin(&zip);
    for (int i = 0; i < 16; i++) {
        char name[32];
        snprintf(name, sizeof(name), "lib-%d.zip", i);
        add_entry(&m, name, AE_IFREG, NULL, bomb, len);
    }
    require_error(search(*state, finish(&m), "x", 0), ERR_TOO_LARGE, "more than 100 times");
    free(bomb);
}

static void put16(struct buf *b, unsigned v)
{
    buf_append(b, &(uint16_t){(uint16_t)v}, 2);
}

static void put32(struct buf *b, uint32_t v)
{
    buf_append(b, &v, 4);
}

/* 200 entries that all mean the same bytes: small by each, huge by all. */
static void overlapping_members_are_refused(void **state)
{
    void *made;
    enum { N = 200 };
    _fd_ int fd = make_spaces(&zip, 1, 8 * MIB);
    size_t len = file_bytes(fd, &made);
    const char *central = memmem(made, len, "PK\1\2", 4);
    size_t local = (size_t)(central - (char *)made);
    size_t entry = (const char *)memmem(made, len, "PK\5\6", 4) - central;
    _buf_ struct buf all = BUF_INIT(MIB);
    buf_append(&all, made, local);
    for (int i = 0; i < N; i++)
        buf_append(&all, central, entry);
    put32(&all, 0x06054b50);
    put32(&all, 0);
    put16(&all, N);
    put16(&all, N);
    put32(&all, (uint32_t)(N * entry));
    put32(&all, (uint32_t)local);
    put16(&all, 0);
    require_error(list(*state, file_of(all.data, all.len)), ERR_TOO_LARGE, "the archive unpacks");
    struct answer answer = search(*state, file_of(all.data, all.len), "x", 0);
    require_error(answer, ERR_TOO_LARGE, "the archive unpacks");
    free(made);
}

static void sizes_have_limits(void **state)
{
    _fd_ int to = memfd_create("to", MFD_CLOEXEC);
    _fd_ int one = make_spaces(&tar, 1, ARCHIVE_MEMBER_MAX + 1);
    require_error(read_member(*state, dup(one), "spaces-0", 0, to), ERR_TOO_LARGE,
                  "spaces-0 has more than 100 MiB");
    struct answer answer = list(*state, dup(one));
    require_text(&answer, "tar", "\"size\":104857601");
    json_decref(answer.result);
    answer = read_member(*state, dup(one), "spaces-0", 1000, to);
    require_text(&answer, "tar", "{\"bytes\":1000,\"is_cut\":true}");
    json_decref(answer.result);

    int huge = memfd_create("huge", MFD_CLOEXEC);
    assert_int_equal(ftruncate(huge, (off_t)ARCHIVE_BYTES_MAX + 1), 0);
    struct err e;
    assert_null(archive_list(((struct world *)*state)->boxes, huge, NULL, on_answer, NULL, &e));
    assert_int_equal(e.code, ERR_TOO_LARGE);
    assert_non_null(strstr(e.message, "500 MiB are the most"));
}

static void many_entries_are_refused(void **state)
{
    const struct kind *const all[] = {&zip, &tar, &seven};
    for (size_t i = 0; i < ARRAY_LEN(all); i++)
        require_error(list(*state, make_spaces(all[i], ARCHIVE_FILES_MAX + 1, 0)), ERR_TOO_LARGE,
                      "more than 1000 files");
    struct answer answer = list(*state, make_spaces(&tar, ARCHIVE_FILES_MAX, 0));
    assert_int_equal(json_integer_value(json_object_get(answer.result, "total")), 1000);
    json_decref(answer.result);
}

static uint32_t crc32_of(const void *data, size_t len)
{
    const unsigned char *at = data;
    uint32_t crc = ~0U;
    for (size_t i = 0; i < len; i++) {
        crc ^= at[i];
        for (int bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (crc & 1 ? 0xedb88320 : 0);
    }
    return ~crc;
}

/* A number as 7z writes it, of four bytes. */
static void put_7z_number(struct buf *b, uint32_t v)
{
    buf_append_char(b, (char)0xf0);
    put32(b, v);
}

/* Empty files, all of the same name: four bytes and two bits for each. */
static void a_million_entries_of_7z_are_refused(void **state)
{
    enum { N = 1000000 };
    _buf_ struct buf header = BUF_INIT(8 * MIB), start = BUF_INIT(KIB), all = BUF_INIT(9 * MIB);
    buf_append(&header, "\x01\x05", 2); /* a header, of files */
    put_7z_number(&header, N);
    for (char property = 0x0e; property <= 0x0f; property++) { /* without bytes, yet files */
        buf_append_char(&header, property);
        put_7z_number(&header, N / 8);
        for (int i = 0; i < N / 8; i++)
            buf_append_char(&header, (char)0xff);
    }
    buf_append_char(&header, 0x11);
    put_7z_number(&header, 1 + 4 * N);
    buf_append_char(&header, 0);
    for (int i = 0; i < N; i++)
        buf_append(&header, "a\0\0", 4);
    buf_append(&header, "\0", 2);
    put32(&start, 0); /* where the header begins: here */
    put32(&start, 0);
    put32(&start, (uint32_t)header.len);
    put32(&start, 0);
    put32(&start, crc32_of(header.data, header.len));
    buf_append(&all, "7z\xbc\xaf\x27\x1c\0\4", 8);
    put32(&all, crc32_of(start.data, start.len));
    buf_append(&all, start.data, start.len);
    buf_append(&all, header.data, header.len);
    require_error(list(*state, file_of(all.data, all.len)), ERR_TOO_LARGE, "more than 1000 files");
}

static int make_escapes(const struct kind *kind)
{
    struct maker m = begin(kind);
    add(&m, "../../etc/cron.d/job", "up");
    add(&m, "/etc/passwd", "absolute");
    add(&m, "a/../../b", "inside and out");
    add_entry(&m, "link", AE_IFLNK, "/etc/passwd", NULL, 0);
    if (kind != &zip && kind != &seven)
        add_entry(&m, "hard", AE_IFREG, "/etc/shadow", NULL, 0);
    add_entry(&m, "link/inside", AE_IFREG, NULL, "x", 1);
    if (kind == &tar)
        add_entry(&m, "pipe", AE_IFIFO, NULL, NULL, 0);
    add(&m, "good/file", "fine");
    return finish(&m);
}

static void names_that_lead_out_and_links_are_only_shown(void **state)
{
    _fd_ int fd = make_escapes(&tar);
    _fd_ int to = memfd_create("to", MFD_CLOEXEC);
    struct answer answer = list(*state, dup(fd));
    require_text(&answer, "tar",
                 "{\"name\":\"../../etc/cron.d/job\",\"size\":2,\"type\":\"file\","
                 "\"note\":\"its name leads out of the archive\"}");
    require_text(&answer, "tar", "\"note\":\"its name is an absolute path\"");
    require_text(&answer, "tar",
                 "{\"name\":\"link\",\"type\":\"link\",\"target\":\"/etc/passwd\","
                 "\"note\":\"a link, which is not followed\"}");
    require_text(&answer, "tar", "\"target\":\"/etc/shadow\"");
    require_text(&answer, "tar", "{\"name\":\"pipe\",\"type\":\"other\"");
    json_decref(answer.result);
    require_error(read_member(*state, dup(fd), "link", 0, to), ERR_FORBIDDEN,
                  "link is a link to /etc/passwd");
    require_error(read_member(*state, dup(fd), "hard", 0, to), ERR_FORBIDDEN,
                  "hard is a link to /etc/shadow");
    assert_int_equal(lseek(to, 0, SEEK_END), 0);
}

struct unpacked {
    char names[256];
    size_t n;
};

static int on_entry(void *context, const struct tar_entry *entry)
{
    struct unpacked *u = context;
    size_t len = strlen(u->names);
    snprintf(u->names + len, sizeof(u->names) - len, "%s;", entry->path);
    assert_true(entry->type == TAR_FILE || entry->type == TAR_DIR);
    return 0;
}

static int on_data(void *context, const char *data, size_t len)
{
    (void)data;
    ((struct unpacked *)context)->n += len;
    return 0;
}

static int on_entry_end(void *context)
{
    (void)context;
    return 0;
}

static void what_stays_inside_is_unpacked_as_tar(void **state)
{
    static const struct tar_listener listener = {on_entry, on_data, on_entry_end};
    const struct kind *const all[] = {&zip, &tar, &tar_gz, &seven};
    for (size_t i = 0; i < ARRAY_LEN(all); i++) {
        struct unpacked u = {0};
        struct tar_reader reader;
        struct err e;
        void *made;
        struct answer answer = {0};
        _fd_ int to = memfd_create("to", MFD_CLOEXEC);
        archive_unpack(((struct world *)*state)->boxes, make_escapes(all[i]), NULL, dup(to),
                       on_answer, &answer, &e);
        answer = wait_for(*state, &answer);
        require_text(&answer, all[i]->name, "\"files\":2,\"bytes\":5,");
        require_text(&answer, all[i]->name, "{\"name\":\"/etc/passwd\",\"note\":");
        json_decref(answer.result);
        size_t len = file_bytes(to, &made);
        tar_reader_init(&reader, &listener, &u);
        assert_int_equal(tar_read(&reader, made, len), 0);
        assert_int_equal(tar_read_end(&reader), 0);
        tar_reader_free(&reader);
        assert_string_equal(u.names, "link/inside;good/file;");
        assert_int_equal(u.n, 5);
        free(made);
    }
}

/* Cut off, and with bytes that are not theirs: an error or an answer, and the box lives. */
static void damage_is_told(void **state)
{
    size_t n_errors = 0;
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        void *made;
        _fd_ int fd = make_simple(&kinds[i]);
        size_t len = file_bytes(fd, &made);
        for (size_t cut = 1; cut <= 3; cut++) {
            struct answer answer = search(*state, file_of(made, len * cut / 4), "hay", 0);
            assert_true(answer.result != NULL || answer.err.code == ERR_CONFLICT ||
                        answer.err.code == ERR_INVALID);
            n_errors += answer.result == NULL;
            json_decref(answer.result);
        }
        for (size_t at = 8; at < len; at += len / 5 + 1) {
            ((unsigned char *)made)[at] ^= 0x5a;
            struct answer answer = search(*state, file_of(made, len), "hay", 0);
            assert_true(answer.result != NULL || answer.err.code == ERR_CONFLICT ||
                        answer.err.code == ERR_INVALID || answer.err.code == ERR_TOO_LARGE);
            n_errors += answer.result == NULL;
            json_decref(answer.result);
        }
        free(made);
    }
    assert_true(n_errors > 20);
}

/* ---- the queue ------------------------------------------------------------------------------- */

static void many_wait_and_who_is_forgotten_is_silent(void **state)
{
    struct world *w = *state;
    enum { N = EXPLORE_WAITING_MAX };
    struct answer answers[N] = {0};
    struct explore_job *jobs[N];
    struct err e;
    int ends[2];
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    /* The first one waits for a reader. */
    jobs[0] = archive_read(w->boxes, make_spaces(&tar, 1, MIB), "spaces-0", 0, ends[1], on_answer,
                           &answers[0], &e);
    for (size_t i = 1; i < N; i++)
        jobs[i] = archive_list(w->boxes, make_simple(&zip), NULL, on_answer, &answers[i], &e);
    assert_null(archive_list(w->boxes, make_simple(&zip), NULL, on_answer, NULL, &e));
    assert_int_equal(e.code, ERR_LIMIT);
    explore_job_forget(jobs[N - 1]);
    uv_run(&w->loop, UV_RUN_NOWAIT);
    explore_job_forget(jobs[0]); /* at work */
    explore_job_forget(NULL);
    uv_run(&w->loop, UV_RUN_DEFAULT);
    close(ends[0]);
    assert_int_equal(answers[0].n + answers[N - 1].n, 0);
    for (size_t i = 1; i < N - 1; i++) {
        assert_int_equal(answers[i].n, 1);
        assert_non_null(answers[i].result);
        json_decref(answers[i].result);
    }
}

static void the_end_ends_all(void **state)
{
    struct world *w = *state;
    struct answer answer = {0};
    struct err e;
    for (size_t i = 0; i < 4; i++)
        archive_list(w->boxes, make_simple(&zip), NULL, on_answer, &answer, &e);
    uv_run(&w->loop, UV_RUN_NOWAIT);
    explore_boxes_free(take_ptr(w->boxes));
    uv_run(&w->loop, UV_RUN_DEFAULT);
    assert_int_equal(answer.n, 0);
}

/* ---- the walls ------------------------------------------------------------------------------- */

static void walls_hold(void **state)
{
    (void)state;
    static const char *const tries[] = {"open", "socket", "fork", "exec-memory", "kill", "read"};
    for (size_t i = 0; i < ARRAY_LEN(tries); i++) {
        pid_t pid = fork();
        if (pid == 0) {
            execl("/proc/self/exe", "test", "walls", tries[i], NULL);
            _exit(99);
        }
        int status;
        assert_int_equal(waitpid(pid, &status, 0), pid);
        if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGSYS)
            fail_msg("%s was possible: status %x", tries[i], (unsigned)status);
    }
}

static int try_walls(const char *what)
{
    char byte;
    if (archive_box_close() < 0)
        return 98;
    if (strcmp(what, "open") == 0)
        open("/etc/passwd", O_RDONLY | O_CLOEXEC);
    else if (strcmp(what, "socket") == 0)
        socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    else if (strcmp(what, "fork") == 0)
        fork();
    else if (strcmp(what, "exec-memory") == 0)
        mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    else if (strcmp(what, "kill") == 0)
        kill(getppid(), 0);
    else if (strcmp(what, "read") == 0 && read(BOX_TO, &byte, 1) < 0)
        _exit(97);
    _exit(0);
}

int main(int argc, char **argv)
{
    int status = explore_boxes_main(argc - 1, argv + 1);
    if (status >= 0)
        return status;
    if (argc == 3)
        return try_walls(argv[2]);
    setlocale(LC_CTYPE, "C.UTF-8"); /* else the writer knows no names but those of ASCII */
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(every_format_is_listed_read_and_searched, setup, teardown),
        cmocka_unit_test_setup_teardown(a_part_of_a_member_goes_into_a_pipe, setup, teardown),
        cmocka_unit_test_setup_teardown(what_is_not_there_is_told, setup, teardown),
        cmocka_unit_test_setup_teardown(hits_are_bounded_and_long_lines_are_cut, setup, teardown),
        cmocka_unit_test_setup_teardown(archives_inside_are_two_deep, setup, teardown),
        cmocka_unit_test_setup_teardown(bombs_are_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(bombs_inside_are_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(overlapping_members_are_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(sizes_have_limits, setup, teardown),
        cmocka_unit_test_setup_teardown(many_entries_are_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(a_million_entries_of_7z_are_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(names_that_lead_out_and_links_are_only_shown, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(what_stays_inside_is_unpacked_as_tar, setup, teardown),
        cmocka_unit_test_setup_teardown(damage_is_told, setup, teardown),
        cmocka_unit_test_setup_teardown(many_wait_and_who_is_forgotten_is_silent, setup, teardown),
        cmocka_unit_test_setup_teardown(the_end_ends_all, setup, teardown),
        cmocka_unit_test(walls_hold),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
