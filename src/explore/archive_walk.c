/* The walk through an archive and archives inside it. Runs in the box, and in the fuzzer. */
#include "explore/archive_walk.h"

#include "base/utf8.h"
#include "explore/archive.h"
#include "explore/archive_lib.h"
#include "wire/json.h"
#include "wire/tar.h"

#include <errno.h>
#include <string.h>
#include <strings.h>

const struct archive_limits archive_limits = {.unpacked = ARCHIVE_UNPACKED_MAX,
                                              .member = ARCHIVE_MEMBER_MAX,
                                              .files = ARCHIVE_FILES_MAX,
                                              .ratio = ARCHIVE_RATIO_MAX,
                                              .depth = ARCHIVE_DEPTH_MAX};

enum {
    WALK_BLOCK = 64 << 10,
    WALK_SHOWN_CHARS = 100, /* of a name in an error */
};
#define WALK_LINE_MAX (1 * MIB) /* a longer line is searched in pieces */
#define WALK_FREE MIB           /* unpacked bytes before the ratio counts */

struct archive_walk {
    const struct archive_order *order;
    const struct archive_limits *limits;
    uint64_t outer_bytes; /* of the archive that was given */
    uint64_t unpacked;    /* so far, at all depths */
    uint64_t passed; /* sizes that members claim, of those that had to be unpacked on the way */
    size_t n_files, n_entries;
    size_t n_done; /* files that were searched or unpacked */
    size_t n_hits;
    uint64_t n_bytes; /* that were written */
    bool is_cut;
    struct json_out rows;  /* files, or hits */
    struct json_out notes; /* what was left out */
    struct err *e;
};

/* One archive under way. */
struct walk_archive {
    struct archive_walk *walk;
    struct archive *a;
    const struct archive_input *in;
    uint64_t at;
    int depth;       /* 1: the one that was given */
    struct buf name; /* of the current member, as it is shown */
    struct archive_entry *entry;
    char block[WALK_BLOCK];
};

/* ---- what is wrong --------------------------------------------------------------------------- */

static const char walk_advice[] =
    "Put the archive into the workspace and unpack it there with its own tools (unzip, tar, "
    "bsdtar), within the limits of the session.";

/* A name for a sentence: short, without control characters. */
static const char *walk_shown(const char *name, char *ret, size_t size)
{
    size_t len = 0;
    for (size_t chars = 0; name[len] != '\0' && len + 8 < size && chars < WALK_SHOWN_CHARS; len++) {
        unsigned char c = (unsigned char)name[len];
        ret[len] = c < ' ' || c == 0x7f ? '?' : name[len];
        chars += (c & 0xc0) != 0x80;
    }
    len = utf8_valid_prefix(ret, len);
    memcpy(ret + len, name[len] == '\0' ? "" : "…", name[len] == '\0' ? 1 : sizeof("…"));
    return ret;
}

static int walk_no_archive(struct archive_walk *walk)
{
    err_set(walk->e, ERR_INVALID, "the file is no archive that can be read");
    return err_advise(walk->e, "Archives are zip, tar and 7z, and whatever gzip, bzip2, xz or zstd "
                               "has packed.");
}

static int walk_damaged(struct walk_archive *sa)
{
    struct err *e = sa->walk->e;
    char why[512];
    int error = archive_lib.archive_errno(sa->a);
    const char *text = archive_lib.archive_error_string(sa->a);
    if (error == ENOMEM || (text != NULL && strcasestr(text, "memory") != NULL)) {
        err_set(e, ERR_TOO_LARGE, "the archive takes more memory to unpack than the box has");
        return err_advise(e, "%s", walk_advice);
    }
    if (text != NULL && strstr(text, "Unrecognized archive format") != NULL)
        return walk_no_archive(sa->walk); /* nothing at all is in it */
    walk_shown(text != NULL ? text : "it cannot be unpacked", why, sizeof(why));
    err_set(e, ERR_CONFLICT, "the archive is damaged, or is protected: %s", why);
    return err_advise(e, "Get the file again, and make sure that it is whole. Archives with a "
                         "password are not read.");
}

static int walk_too_large(struct archive_walk *walk, const char *name)
{
    char shown[512];
    err_set(walk->e, ERR_TOO_LARGE,
            "%s has more than %llu MiB, the most that is read from one file "
            "of an archive",
            walk_shown(name, shown, sizeof(shown)),
            (unsigned long long)(walk->limits->member / MIB));
    return err_advise(walk->e, "%s", walk_advice);
}

static int walk_too_much(struct archive_walk *walk)
{
    err_set(walk->e, ERR_TOO_LARGE,
            "the archive unpacks to more than %llu MiB, the most that is "
            "unpacked for one request",
            (unsigned long long)(walk->limits->unpacked / MIB));
    return err_advise(walk->e, "Read single files of it. %s", walk_advice);
}

static int walk_too_dense(struct archive_walk *walk)
{
    err_set(walk->e, ERR_TOO_LARGE,
            "the archive unpacks to more than %llu times its size, as "
            "archives do that are made to fill disks",
            (unsigned long long)walk->limits->ratio);
    return err_advise(walk->e, "If you trust it: put it into the workspace and unpack it there "
                               "with its own tools, within the limits of the session.");
}

static int walk_too_deep(struct archive_walk *walk, const char *name)
{
    char shown[512];
    err_set(walk->e, ERR_TOO_LARGE,
            "%s is an archive inside of %d archives, and they are opened "
            "%d deep",
            walk_shown(name, shown, sizeof(shown)), walk->limits->depth, walk->limits->depth);
    return err_advise(walk->e, "Read the archive that holds it, and open that by itself.");
}

static int walk_is_over(struct archive_walk *walk, uint64_t bytes)
{
    if (bytes > walk->limits->unpacked)
        return walk_too_much(walk);
    if (bytes > WALK_FREE && (bytes - WALK_FREE) / walk->limits->ratio > walk->outer_bytes)
        return walk_too_dense(walk);
    return 0;
}

/* ---- one archive ----------------------------------------------------------------------------- */

static la_ssize_t walk_read(struct archive *a, void *context, const void **ret)
{
    struct walk_archive *sa = context;
    (void)a;
    ssize_t n = sa->in->read_at(sa->in->context, sa->block, sizeof(sa->block), sa->at);
    sa->at += n > 0 ? (uint64_t)n : 0;
    *ret = sa->block;
    return n < 0 ? ARCHIVE_FATAL : n;
}

static la_int64_t walk_seek(struct archive *a, void *context, la_int64_t offset, int whence)
{
    struct walk_archive *sa = context;
    (void)a;
    int64_t base = whence == SEEK_SET   ? 0
                   : whence == SEEK_CUR ? (int64_t)sa->at
                                        : (int64_t)sa->in->size;
    int64_t to;
    if (__builtin_add_overflow(base, offset, &to) || to < 0 || (uint64_t)to > sa->in->size)
        return ARCHIVE_FATAL;
    sa->at = (uint64_t)to;
    return to;
}

static la_int64_t walk_skip(struct archive *a, void *context, la_int64_t len)
{
    struct walk_archive *sa = context;
    (void)a;
    if (len <= 0 || (uint64_t)len > sa->in->size - sa->at)
        return 0;
    sa->at += (uint64_t)len;
    return len;
}

static void walk_archive_free(struct walk_archive *sa)
{
    if (sa == NULL)
        return;
    archive_lib.archive_read_free(sa->a);
    buf_free(&sa->name);
    free(sa);
}

static void cleanup_walk_archive(struct walk_archive **sa)
{
    walk_archive_free(*sa);
}

#define _walk_archive_ __attribute__((cleanup(cleanup_walk_archive)))

/* Only what decompresses in this process: libarchive can also run programs. NULL if there is no
 * memory. */
static struct walk_archive *walk_archive_new(struct archive_walk *walk,
                                             const struct archive_input *in, int depth)
{
    struct walk_archive *sa = mem_alloc(sizeof(*sa));
    *sa = (struct walk_archive){
        .walk = walk, .in = in, .depth = depth, .name = BUF_INIT(4 * ARCHIVE_NAME_MAX)};
    sa->a = archive_lib.archive_read_new();
    if (sa->a == NULL)
        abort();
    archive_lib.archive_read_support_filter_gzip(sa->a);
    archive_lib.archive_read_support_filter_bzip2(sa->a);
    archive_lib.archive_read_support_filter_xz(sa->a);
    archive_lib.archive_read_support_filter_zstd(sa->a);
    archive_lib.archive_read_support_format_zip(sa->a);
    archive_lib.archive_read_support_format_tar(sa->a);
    archive_lib.archive_read_support_format_7zip(sa->a);
    archive_lib.archive_read_support_format_raw(sa->a);
    archive_lib.archive_read_set_read_callback(sa->a, walk_read);
    archive_lib.archive_read_set_seek_callback(sa->a, walk_seek);
    archive_lib.archive_read_set_skip_callback(sa->a, walk_skip);
    archive_lib.archive_read_set_callback_data(sa->a, sa);
    return sa;
}

/* Its filters beside the one that is always there. */
static int walk_filter(const struct walk_archive *sa)
{
    return archive_lib.archive_filter_count(sa->a) > 1 ? archive_lib.archive_filter_code(sa->a, 0)
                                                       : ARCHIVE_FILTER_NONE;
}

static bool walk_is_raw(const struct walk_archive *sa)
{
    return archive_lib.archive_format(sa->a) == ARCHIVE_FORMAT_RAW;
}

static void walk_take_name(struct walk_archive *sa)
{
    const char *name = archive_lib.archive_entry_pathname_utf8(sa->entry);
    if (name == NULL)
        name = archive_lib.archive_entry_pathname(sa->entry);
    if (name == NULL)
        name = "";
    buf_clear(&sa->name);
    utf8_append_lossy(&sa->name, name, strnlen(name, ARCHIVE_NAME_MAX));
}

static bool walk_is_file(const struct walk_archive *sa)
{
    return archive_lib.archive_entry_filetype(sa->entry) == AE_IFREG &&
           archive_lib.archive_entry_hardlink(sa->entry) == NULL;
}

/* What a list shows, and what has to be unpacked on the way to other members, counts by what it
 * claims, before the time for it is spent. */
static int walk_pass(struct walk_archive *sa)
{
    struct archive_walk *walk = sa->walk;
    int format = archive_lib.archive_format(sa->a) & ARCHIVE_FORMAT_BASE_MASK;
    bool is_unpacked = walk_filter(sa) != ARCHIVE_FILTER_NONE || format == ARCHIVE_FORMAT_7ZIP;
    if ((!is_unpacked && walk->order->op != ARCHIVE_LIST) ||
        !archive_lib.archive_entry_size_is_set(sa->entry))
        return 0;
    int64_t size = MAX(archive_lib.archive_entry_size(sa->entry), 0);
    walk->passed += MIN((uint64_t)size, walk->limits->unpacked + 1);
    return walk_is_over(walk, walk->passed);
}

/* The next member: 1, or 0 at the end. */
static int walk_next(struct walk_archive *sa)
{
    struct archive_walk *walk = sa->walk;
    int got = archive_lib.archive_read_next_header(sa->a, &sa->entry);
    if (got == ARCHIVE_EOF)
        return 0;
    if (got != ARCHIVE_OK && got != ARCHIVE_WARN)
        return walk_damaged(sa);
    if (walk_is_raw(sa) && walk_filter(sa) == ARCHIVE_FILTER_NONE)
        return walk_no_archive(walk);
    walk_take_name(sa);
    walk->n_entries++;
    walk->n_files += archive_lib.archive_entry_filetype(sa->entry) != AE_IFDIR;
    if (walk->n_files > walk->limits->files || walk->n_entries > 4 * walk->limits->files) {
        err_set(walk->e, ERR_TOO_LARGE, "the archive has more than %zu files",
                walk->n_files > walk->limits->files ? walk->limits->files
                                                    : 4 * walk->limits->files);
        return err_advise(walk->e, "%s", walk_advice);
    }
    return walk_pass(sa) < 0 ? -1 : 1;
}

static int walk_open(struct walk_archive *sa)
{
    return archive_lib.archive_read_open1(sa->a) == ARCHIVE_OK ? 0 : walk_damaged(sa);
}

/* ---- bytes of a member ----------------------------------------------------------------------- */

/* 0; 1: enough; -1: an error was set. */
typedef int (*walk_sink_fn)(void *context, const char *data, size_t len);

/* Unpacks the current member into the sink. -1, or 0; 1 if the sink had enough. */
static int walk_pull(struct walk_archive *sa, walk_sink_fn sink, void *context)
{
    struct archive_walk *walk = sa->walk;
    uint64_t bytes = 0;
    char block[WALK_BLOCK];
    if (archive_lib.archive_entry_size_is_set(sa->entry) &&
        archive_lib.archive_entry_size(sa->entry) > (int64_t)walk->limits->member &&
        walk->order->max_bytes == 0)
        return walk_too_large(walk, buf_str(&sa->name));
    for (;;) {
        la_ssize_t n = archive_lib.archive_read_data(sa->a, block, sizeof(block));
        if (n == 0)
            return 0;
        if (n < 0)
            return walk_damaged(sa);
        bytes += (uint64_t)n;
        walk->unpacked += (uint64_t)n;
        if (bytes > walk->limits->member)
            return walk_too_large(walk, buf_str(&sa->name));
        if (walk_is_over(walk, walk->unpacked) < 0)
            return -1;
        int done = sink(context, block, (size_t)n);
        if (done != 0)
            return done;
    }
}

static int walk_keep(void *context, const char *data, size_t len)
{
    buf_append(context, data, len); /* walk_pull has counted */
    return 0;
}

static ssize_t walk_read_kept(void *context, void *data, size_t len, uint64_t offset)
{
    const struct buf *kept = context;
    size_t n = offset >= kept->len ? 0 : MIN(len, kept->len - (size_t)offset);
    if (n > 0)
        memcpy(data, kept->data + offset, n);
    return (ssize_t)n;
}

typedef int (*walk_step_fn)(struct archive_walk *walk, const struct archive_input *in,
                            const char *what, int depth);

/* Goes on with the current member as an archive of its own. */
static int walk_enter(struct walk_archive *sa, walk_step_fn step, const char *what)
{
    struct archive_walk *walk = sa->walk;
    _buf_ struct buf kept = BUF_INIT(walk->limits->member + 1);
    if (sa->depth >= walk->limits->depth)
        return walk_too_deep(walk, buf_str(&sa->name));
    if (walk_pull(sa, walk_keep, &kept) < 0)
        return -1;
    struct archive_input in = {.read_at = walk_read_kept, .context = &kept, .size = kept.len};
    return step(walk, &in, what, sa->depth + 1);
}

/* ---- list ------------------------------------------------------------------------------------ */

/* Why a member of that name is not unpacked; NULL if its name stays inside. */
static const char *archive_name_note(const char *name)
{
    if (name[0] == '\0')
        return "it has no name";
    if (name[0] == '/' || name[0] == '\\' || (name[0] != '\0' && name[1] == ':'))
        return "its name is an absolute path";
    for (const char *at = name; at != NULL;) {
        size_t len = strcspn(at, "/\\");
        if (len == 2 && memcmp(at, "..", 2) == 0)
            return "its name leads out of the archive";
        at = at[len] == '\0' ? NULL : at + len + 1;
    }
    return NULL;
}

static const char *walk_type(const struct walk_archive *sa)
{
    if (archive_lib.archive_entry_hardlink(sa->entry) != NULL)
        return "link";
    switch (archive_lib.archive_entry_filetype(sa->entry)) {
    case AE_IFREG:
        return "file";
    case AE_IFDIR:
        return "folder";
    case AE_IFLNK:
        return "link";
    default:
        return "other";
    }
}

/* Where a link leads, or NULL. */
static const char *walk_target(const struct walk_archive *sa)
{
    const char *const all[] = {archive_lib.archive_entry_hardlink_utf8(sa->entry),
                               archive_lib.archive_entry_symlink_utf8(sa->entry),
                               archive_lib.archive_entry_hardlink(sa->entry),
                               archive_lib.archive_entry_symlink(sa->entry)};
    for (size_t i = 0; i < ARRAY_LEN(all); i++)
        if (all[i] != NULL)
            return all[i];
    return NULL;
}

/* Why it is not unpacked; NULL if it is. */
static const char *walk_note(const struct walk_archive *sa)
{
    const char *type = walk_type(sa);
    if (strcmp(type, "link") == 0)
        return "a link, which is not followed";
    if (strcmp(type, "other") == 0)
        return "neither file nor folder";
    if (archive_lib.archive_entry_is_encrypted(sa->entry))
        return "protected by a password";
    return archive_name_note(buf_str(&sa->name));
}

static const char *walk_format(const struct walk_archive *sa)
{
    static const struct {
        int filter;
        const char *alone, *of_tar;
    } packed[] = {{ARCHIVE_FILTER_GZIP, "gz", "tar.gz"},
                  {ARCHIVE_FILTER_BZIP2, "bz2", "tar.bz2"},
                  {ARCHIVE_FILTER_XZ, "xz", "tar.xz"},
                  {ARCHIVE_FILTER_ZSTD, "zstd", "tar.zstd"}};
    int format = archive_lib.archive_format(sa->a) & ARCHIVE_FORMAT_BASE_MASK;
    if (format == ARCHIVE_FORMAT_ZIP)
        return "zip";
    if (format == ARCHIVE_FORMAT_7ZIP)
        return "7z";
    for (size_t i = 0; i < ARRAY_LEN(packed); i++)
        if (packed[i].filter == walk_filter(sa))
            return format == ARCHIVE_FORMAT_TAR ? packed[i].of_tar : packed[i].alone;
    return "tar";
}

static int walk_count(void *context, const char *data, size_t len)
{
    (void)data;
    *(uint64_t *)context += len;
    return 0;
}

/* Sizes are claims; where the archive has none, there is one member, and it is unpacked. */
static int walk_list_one(struct walk_archive *sa)
{
    struct archive_walk *walk = sa->walk;
    bool is_file = walk_is_file(sa);
    bool has_size = is_file && archive_lib.archive_entry_size_is_set(sa->entry);
    uint64_t size = has_size ? (uint64_t)MAX(archive_lib.archive_entry_size(sa->entry), 0) : 0;
    const char *target = walk_target(sa), *note = walk_note(sa);
    if (walk_is_raw(sa)) {
        if (walk_pull(sa, walk_count, &size) < 0)
            return -1;
        has_size = true;
    }
    json_put_object(&walk->rows);
    json_put_member_text(&walk->rows, "name", buf_str(&sa->name), sa->name.len);
    if (has_size)
        json_put_member_int(&walk->rows, "size", (int64_t)size);
    json_put_member_str(&walk->rows, "type", walk_type(sa));
    if (target != NULL)
        json_put_member_text(&walk->rows, "target", target, strnlen(target, ARCHIVE_NAME_MAX));
    json_put_member_str(&walk->rows, "note", note);
    json_put_object_end(&walk->rows);
    return 0;
}

static int walk_list(struct archive_walk *walk, const struct archive_input *in, const char *what,
                     int depth)
{
    _walk_archive_ struct walk_archive *sa = walk_archive_new(walk, in, depth);
    const char *format = "tar";
    int got = walk_open(sa);
    (void)what;
    walk->n_files = walk->n_entries = 0; /* of archives on the way */
    while (got >= 0 && (got = walk_next(sa)) > 0) {
        format = walk_format(sa);
        got = walk_list_one(sa);
    }
    if (got < 0)
        return -1;
    json_put_array_end(&walk->rows);
    json_put_member_str(&walk->rows, "format", format);
    json_put_member_int(&walk->rows, "total", (int64_t)walk->n_entries);
    return 0;
}

/* ---- one member ------------------------------------------------------------------------------ */

static int walk_wrote(struct archive_walk *walk, int error)
{
    if (error == 0)
        return 0;
    err_errno(walk->e, ERR_GONE, -error, "what was unpacked could not be written");
    return -1;
}

static int walk_write(void *context, const char *data, size_t len)
{
    struct archive_walk *walk = context;
    const struct archive_order *order = walk->order;
    size_t n = order->max_bytes == 0 ? len : (size_t)MIN(len, order->max_bytes - walk->n_bytes);
    walk->n_bytes += n;
    if (walk_wrote(walk, order->write(order->context, data, n)) < 0)
        return -1;
    /* One byte more than was asked for: there is more. */
    walk->is_cut = n < len;
    return walk->is_cut ? 1 : 0;
}

static int walk_read_one(struct walk_archive *sa)
{
    char name[512], target[512];
    struct archive_walk *walk = sa->walk;
    walk_shown(buf_str(&sa->name), name, sizeof(name));
    if (walk_is_file(sa))
        return walk_pull(sa, walk_write, walk) < 0 ? -1 : 0;
    const char *leads_to = walk_target(sa);
    if (leads_to == NULL) {
        err_set(walk->e, ERR_INVALID, "%s is no file but a %s", name, walk_type(sa));
        return err_advise(walk->e, "The list of the archive says what is a file.");
    }
    err_set(walk->e, ERR_FORBIDDEN, "%s is a link to %s, and links of archives are not followed",
            name, walk_shown(leads_to, target, sizeof(target)));
    return err_advise(walk->e, "Read the file that it leads to, if the archive has it.");
}

/* ---- search ---------------------------------------------------------------------------------- */

struct walk_text {
    struct archive_walk *walk;
    const char *prefix, *name; /* shown as "prefix!/name" */
    struct buf carry;          /* what follows the last whole line */
    uint64_t line;             /* of its first byte */
    bool is_begun, is_binary;
};

static void walk_put_name(struct json_out *out, const char *key, const char *prefix,
                          const char *name)
{
    _buf_ struct buf whole = BUF_INIT(16 * ARCHIVE_NAME_MAX);
    buf_append_str(&whole, prefix);
    if (prefix[0] != '\0')
        buf_append_str(&whole, "!/");
    buf_append_str(&whole, name);
    json_put_member_text(out, key, buf_str(&whole), whole.len);
}

static void walk_put_note(struct archive_walk *walk, const char *prefix, const char *name,
                          const char *note)
{
    json_put_object(&walk->notes);
    walk_put_name(&walk->notes, "name", prefix, name);
    json_put_member_str(&walk->notes, "note", note);
    json_put_object_end(&walk->notes);
}

/* The part of a line that is shown: where it matches, ARCHIVE_MATCH_CHARS at most. */
static void walk_put_hit(struct walk_text *t, const char *line, size_t len, size_t hit)
{
    struct archive_walk *walk = t->walk;
    size_t from = hit > ARCHIVE_MATCH_CHARS * 3 / 4 ? hit - ARCHIVE_MATCH_CHARS / 4 : 0;
    while (from < hit && ((unsigned char)line[from] & 0xc0) == 0x80)
        from++;
    size_t to = from;
    for (size_t chars = 0; to < len; to++) {
        chars += ((unsigned char)line[to] & 0xc0) != 0x80;
        if (chars > ARCHIVE_MATCH_CHARS)
            break;
    }
    json_put_object(&walk->rows);
    walk_put_name(&walk->rows, "file", t->prefix, t->name);
    json_put_member_int(&walk->rows, "line", (int64_t)t->line);
    json_put_member_text(&walk->rows, "match", line + from, to - from);
    json_put_object_end(&walk->rows);
    walk->n_hits++;
}

/* Whole lines, or a piece of a long one. 1: enough hits. */
static int walk_search_lines(struct walk_text *t, char *text, size_t len)
{
    struct archive_walk *walk = t->walk;
    char after = text[len];
    char *at = text, *end = text + len;
    text[len] = '\0';
    for (char *zero = text; (zero = memchr(zero, '\0', (size_t)(end - zero))) != NULL;)
        *zero++ = ' ';
    while (at < end) {
        char *hit = strcasestr(at, walk->order->query);
        char *until = hit == NULL ? end : hit;
        for (char *nl; (nl = memchr(at, '\n', (size_t)(until - at))) != NULL; at = nl + 1)
            t->line++;
        if (hit == NULL)
            break;
        char *line_end = memchr(hit, '\n', (size_t)(end - hit));
        if (line_end == NULL)
            line_end = end;
        if (walk->n_hits >= walk->order->max_results) {
            walk->is_cut = true;
            break;
        }
        walk_put_hit(t, at, (size_t)(line_end - at), (size_t)(hit - at));
        at = line_end;
    }
    text[len] = after;
    return walk->is_cut ? 1 : 0;
}

static int walk_search_some(void *context, const char *data, size_t len)
{
    struct walk_text *t = context;
    if (!t->is_begun && memchr(data, '\0', MIN(len, 8 * KIB)) != NULL) {
        t->is_binary = true;
        return 1;
    }
    t->is_begun = true;
    buf_append(&t->carry, data, len);
    const char *nl = memrchr(t->carry.data, '\n', t->carry.len);
    size_t whole = nl != NULL                      ? (size_t)(nl - t->carry.data) + 1
                   : t->carry.len >= WALK_LINE_MAX ? t->carry.len
                                                   : 0;
    if (whole == 0)
        return 0;
    int done = walk_search_lines(t, t->carry.data, whole);
    buf_consume(&t->carry, whole);
    return done;
}

static int walk_search_text(struct walk_archive *sa, const char *prefix)
{
    struct archive_walk *walk = sa->walk;
    struct walk_text t = {.walk = walk,
                          .prefix = prefix,
                          .name = buf_str(&sa->name),
                          .carry = BUF_INIT(2 * WALK_LINE_MAX),
                          .line = 1};
    int done = walk_pull(sa, walk_search_some, &t);
    if (done == 0 && t.carry.len > 0)
        walk_search_lines(&t, t.carry.data, t.carry.len);
    if (t.is_binary)
        walk_put_note(walk, prefix, t.name, "no text");
    else
        walk->n_done++;
    buf_free(&t.carry);
    return done < 0 ? -1 : 0;
}

static bool walk_is_archive_name(const char *name)
{
    static const char *const ends[] = {".zip", ".jar", ".whl", ".tar", ".tgz", ".tbz2",
                                       ".txz", ".gz",  ".bz2", ".xz",  ".zst", ".7z"};
    size_t len = strlen(name);
    for (size_t i = 0; i < ARRAY_LEN(ends); i++) {
        size_t end = strlen(ends[i]);
        if (len > end && strcasecmp(name + len - end, ends[i]) == 0)
            return true;
    }
    return false;
}

/* `what`: where this archive is, or "". Limits end the search; a damaged archive inside is noted.
 */
static int walk_search(struct archive_walk *walk, const struct archive_input *in, const char *what,
                       int depth)
{
    _walk_archive_ struct walk_archive *sa = walk_archive_new(walk, in, depth);
    int got = walk_open(sa);
    while (got >= 0 && !walk->is_cut && (got = walk_next(sa)) > 0) {
        const char *name = buf_str(&sa->name);
        if (!walk_is_file(sa) || archive_lib.archive_entry_is_encrypted(sa->entry)) {
            if (archive_lib.archive_entry_filetype(sa->entry) != AE_IFDIR)
                walk_put_note(walk, what, name, walk_note(sa));
            continue;
        }
        if (!walk_is_archive_name(name)) {
            got = walk_search_text(sa, what);
            continue;
        }
        if (depth >= walk->limits->depth) {
            walk_put_note(walk, what, name, "an archive too deep inside others");
            continue;
        }
        _free_ char *inner = mem_strdup(name);
        got = walk_enter(sa, walk_search, inner);
        if (got < 0 && walk->e->code != ERR_TOO_LARGE) {
            walk_put_note(walk, what, inner, "an archive that cannot be read");
            got = 0;
        }
    }
    return got < 0 ? -1 : 0;
}

/* ---- unpack ---------------------------------------------------------------------------------- */

static int walk_write_tar(struct archive_walk *walk, const char *name, uint64_t mtime,
                          const struct buf *kept)
{
    static const char zeros[TAR_BLOCK];
    const struct archive_order *order = walk->order;
    struct tar_entry entry = {.type = kept == NULL ? TAR_DIR : TAR_FILE,
                              .mode = kept == NULL ? 0755 : 0644,
                              .size = kept == NULL ? 0 : kept->len,
                              .mtime_s = (int64_t)MIN(mtime, (uint64_t)1 << 33)};
    _buf_ struct buf head = BUF_INIT(64 * KIB);
    snprintf(entry.path, sizeof(entry.path), "%s", name);
    tar_put_head(&head, &entry);
    int error = order->write(order->context, head.data, head.len);
    if (error == 0 && kept != NULL && kept->len > 0)
        error = order->write(order->context, kept->data, kept->len);
    if (error == 0)
        error = order->write(order->context, zeros, tar_padding(entry.size));
    walk->n_bytes += entry.size;
    return walk_wrote(walk, error);
}

static int walk_unpack_one(struct walk_archive *sa)
{
    struct archive_walk *walk = sa->walk;
    int64_t mtime = archive_lib.archive_entry_mtime(sa->entry);
    const char *note = walk_note(sa);
    _buf_ struct buf kept = BUF_INIT(walk->limits->member + 1);
    if (note == NULL && sa->name.len > ARCHIVE_NAME_MAX)
        note = "its name is too long";
    if (note != NULL) {
        walk_put_note(walk, "", buf_str(&sa->name), note);
        return 0;
    }
    bool is_file = walk_is_file(sa);
    if (is_file && walk_pull(sa, walk_keep, &kept) < 0)
        return -1;
    walk->n_done += is_file;
    return walk_write_tar(walk, buf_str(&sa->name), (uint64_t)MAX(mtime, 0),
                          is_file ? &kept : NULL);
}

static int walk_unpack(struct archive_walk *walk, const struct archive_input *in, const char *what,
                       int depth)
{
    _walk_archive_ struct walk_archive *sa = walk_archive_new(walk, in, depth);
    _buf_ struct buf end = BUF_INIT(64 * KIB);
    int got = walk_open(sa);
    (void)what;
    while (got >= 0 && (got = walk_next(sa)) > 0)
        got = walk_unpack_one(sa);
    if (got < 0)
        return -1;
    tar_put_end(&end);
    return walk_wrote(walk, walk->order->write(walk->order->context, end.data, end.len));
}

/* ---- what was asked for ---------------------------------------------------------------------- */

static int walk_find(struct archive_walk *walk, const struct archive_input *in, const char *what,
                     int depth)
{
    _walk_archive_ struct walk_archive *sa = walk_archive_new(walk, in, depth);
    char shown[512];
    int got = walk_open(sa);
    while (got >= 0 && (got = walk_next(sa)) > 0) {
        const char *name = buf_str(&sa->name);
        bool is_inside = strncmp(what, name, sa->name.len) == 0;
        if (is_inside && what[sa->name.len] == '\0') {
            if (walk->order->op == ARCHIVE_READ)
                return walk_read_one(sa);
            return walk_enter(sa, walk->order->op == ARCHIVE_LIST ? walk_list : walk_unpack, NULL);
        }
        if (is_inside && sa->name.len > 0 && strncmp(what + sa->name.len, "!/", 2) == 0)
            return walk_enter(sa, walk_find, what + sa->name.len + 2);
    }
    if (got < 0)
        return -1;
    err_set(walk->e, ERR_NOT_FOUND, "the archive has no %s",
            walk_shown(what, shown, sizeof(shown)));
    return err_advise(walk->e, "List the archive: names are as they are written there; a file of "
                               "an archive inside is \"inner.zip!/name\".");
}

static int walk_start(struct archive_walk *walk, const struct archive_input *in)
{
    const struct archive_order *order = walk->order;
    switch (order->op) {
    case ARCHIVE_SEARCH:
        return walk_search(walk, in, "", 1);
    case ARCHIVE_READ:
        return walk_find(walk, in, order->member, 1);
    case ARCHIVE_LIST:
        return order->member != NULL ? walk_find(walk, in, order->member, 1)
                                     : walk_list(walk, in, NULL, 1);
    case ARCHIVE_UNPACK:
        return order->member != NULL ? walk_find(walk, in, order->member, 1)
                                     : walk_unpack(walk, in, NULL, 1);
    }
    abort();
}

/* What stands behind the rows. */
static void walk_put_rest(struct archive_walk *walk, const struct buf *notes)
{
    struct json_out *out = &walk->rows;
    switch (walk->order->op) {
    case ARCHIVE_LIST:
        return;
    case ARCHIVE_READ:
        json_put_member_int(out, "bytes", (int64_t)walk->n_bytes);
        json_put_member_bool(out, "is_cut", walk->is_cut);
        return;
    case ARCHIVE_SEARCH:
        json_put_array_end(out);
        json_put_member_bool(out, "is_cut", walk->is_cut);
        json_put_member_int(out, "files_searched", (int64_t)walk->n_done);
        json_put_key(out, "skipped");
        break;
    case ARCHIVE_UNPACK:
        json_put_member_int(out, "files", (int64_t)walk->n_done);
        json_put_member_int(out, "bytes", (int64_t)walk->n_bytes);
        json_put_key(out, "left_out");
        break;
    }
    json_put_raw(out, notes->data, notes->len);
}

int archive_walk(const struct archive_input *in, const struct archive_order *order,
                 struct buf *answer, struct err *e)
{
    _buf_ struct buf notes = BUF_INIT(answer->max / 2);
    struct archive_walk walk = {.order = order,
                                .limits = order->limits,
                                .outer_bytes = in->size,
                                .rows = JSON_OUT(answer),
                                .notes = JSON_OUT(&notes),
                                .e = e};
    json_put_object(&walk.rows);
    if (order->op == ARCHIVE_LIST || order->op == ARCHIVE_SEARCH) {
        json_put_key(&walk.rows, order->op == ARCHIVE_LIST ? "files" : "hits");
        json_put_array(&walk.rows);
    }
    json_put_array(&walk.notes);
    if (walk_start(&walk, in) < 0)
        return -1;
    json_put_array_end(&walk.notes);
    walk_put_rest(&walk, &notes);
    json_put_object_end(&walk.rows);
    if (answer->overflowed || notes.overflowed) {
        err_set(e, ERR_TOO_LARGE, "the names in the archive are too long to be shown");
        return err_advise(e, "%s", walk_advice);
    }
    return 0;
}
