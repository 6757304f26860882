/* tar archives. Archivist and command line tool; also fed by tests/fuzz/fuzz_tar.c. */
#include "wire/tar.h"

#include <stdio.h>
#include <string.h>

/* One header, as it lies in the archive. */
struct tar_head {
    char name[100], mode[8], uid[8], gid[8], size[12], mtime[12], sum[8];
    char type;
    char linkname[100], magic[6], version[2], uname[32], gname[32], devmajor[8], devminor[8];
    char prefix[155], unused[12];
};
_Static_assert(sizeof(struct tar_head) == TAR_BLOCK, "a header is one block");

static const char tar_zeros[2 * TAR_BLOCK];

size_t tar_padding(uint64_t size)
{
    return (size_t)((TAR_BLOCK - size % TAR_BLOCK) % TAR_BLOCK);
}

/* The sum of all bytes, its own place counted as blanks. */
static unsigned tar_sum(const struct tar_head *head)
{
    const unsigned char *bytes = (const void *)head;
    unsigned sum = 0;
    for (size_t i = 0; i < TAR_BLOCK; i++) {
        bool is_own = i >= offsetof(struct tar_head, sum) &&
                      i < offsetof(struct tar_head, sum) + sizeof(head->sum);
        sum += is_own ? ' ' : bytes[i];
    }
    return sum;
}

/* ---- writing --------------------------------------------------------------------------------- */

/* Octal digits; a larger number is cut here, and stands in a pax record. */
static void tar_put_number(char *field, size_t size, uint64_t value)
{
    for (size_t i = size - 1; i-- > 0; value /= 8)
        field[i] = (char)('0' + value % 8);
    field[size - 1] = '\0';
}

static void tar_put_block(struct buf *out, char type, const struct tar_entry *entry,
                          const char *name, uint64_t size)
{
    struct tar_head head = {.type = type, .magic = "ustar", .version = {'0', '0'}};
    memcpy(head.name, name, MIN(strlen(name), sizeof(head.name)));
    memcpy(head.linkname, entry->target, MIN(strlen(entry->target), sizeof(head.linkname)));
    tar_put_number(head.mode, sizeof(head.mode), entry->mode & 07777);
    tar_put_number(head.uid, sizeof(head.uid), 0);
    tar_put_number(head.gid, sizeof(head.gid), 0);
    tar_put_number(head.size, sizeof(head.size), size);
    tar_put_number(head.mtime, sizeof(head.mtime), (uint64_t)MAX(entry->mtime_s, 0));
    snprintf(head.sum, sizeof(head.sum), "%06o", tar_sum(&head));
    head.sum[7] = ' ';
    buf_append(out, &head, sizeof(head));
}

/* "27 path=..." whose number counts itself. */
static void tar_put_record(struct buf *out, const char *key, const char *value)
{
    size_t rest = strlen(key) + strlen(value) + 3, len = rest, before;
    char digits[24];
    do {
        before = len;
        len = rest + (size_t)snprintf(digits, sizeof(digits), "%zu", before);
    } while (len != before);
    buf_printf(out, "%zu %s=", len, key);
    buf_append_str(out, value); /* may be longer than a formatted line */
    buf_append_char(out, '\n');
}

void tar_put_head(struct buf *out, const struct tar_entry *entry)
{
    static const char types[] = {[TAR_FILE] = '0', [TAR_DIR] = '5', [TAR_LINK] = '2'};
    char name[TAR_PATH_MAX + 2];
    snprintf(name, sizeof(name), "%s%s", entry->path, entry->type == TAR_DIR ? "/" : "");
    _buf_ struct buf records = BUF_INIT(TAR_EXTENSION_MAX);
    if (strlen(name) > sizeof((struct tar_head){0}.name))
        tar_put_record(&records, "path", name);
    if (strlen(entry->target) > sizeof((struct tar_head){0}.linkname))
        tar_put_record(&records, "linkpath", entry->target);
    if (entry->size >= (uint64_t)1 << 33) {
        char digits[24];
        snprintf(digits, sizeof(digits), "%llu", (unsigned long long)entry->size);
        tar_put_record(&records, "size", digits);
    }
    if (records.len > 0) {
        const struct tar_entry plain = {.mode = 0644, .mtime_s = entry->mtime_s};
        tar_put_block(out, 'x', &plain, "pax_header", records.len);
        buf_append(out, records.data, records.len);
        buf_append(out, tar_zeros, tar_padding(records.len));
    }
    tar_put_block(out, types[entry->type], entry, name, entry->size);
}

void tar_put_end(struct buf *out)
{
    buf_append(out, tar_zeros, sizeof(tar_zeros));
}

/* ---- reading --------------------------------------------------------------------------------- */

void tar_reader_init(struct tar_reader *r, const struct tar_listener *listener, void *context)
{
    *r = (struct tar_reader){
        .listener = listener, .context = context, .records = BUF_INIT(TAR_EXTENSION_MAX)};
}

void tar_reader_free(struct tar_reader *r)
{
    buf_free(&r->records);
}

static int tar_refuse(struct tar_reader *r, const char *why)
{
    r->wrong = why;
    return -1;
}

/* Octal digits between blanks, or GNU's binary form. */
static bool tar_number(const char *field, size_t size, uint64_t *ret)
{
    uint64_t value = 0;
    if ((unsigned char)field[0] == 0x80) {
        for (size_t i = 1; i < size; i++) {
            if (value >> 53 != 0)
                return false;
            value = value << 8 | (unsigned char)field[i];
        }
        *ret = value;
        return value <= TAR_SIZE_MAX;
    }
    size_t i = 0;
    while (i < size && field[i] == ' ')
        i++;
    for (; i < size && field[i] >= '0' && field[i] <= '7'; i++)
        value = value * 8 + (uint64_t)(field[i] - '0');
    for (; i < size; i++)
        if (field[i] != ' ' && field[i] != '\0')
            return false;
    *ret = value; /* at most twelve digits */
    return true;
}

static bool tar_text(const char *from, size_t len, char out[TAR_PATH_MAX + 1])
{
    if (len > TAR_PATH_MAX || memchr(from, '\0', len) != NULL)
        return false;
    memcpy(out, from, len);
    out[len] = '\0';
    return true;
}

/* "27 path=...\n" and so on. Those that say nothing about names and sizes are passed over. */
static int tar_take_records(struct tar_reader *r)
{
    const char *at = buf_str(&r->records), *end = at + r->records.len;
    bool is_global = r->extension == 'g';
    while (at < end) {
        char *blank;
        unsigned long len = strtoul(at, &blank, 10);
        if (*at < '1' || *at > '9' || *blank != ' ' || len > (size_t)(end - at) ||
            at + len <= blank + 1 || at[len - 1] != '\n')
            return tar_refuse(r, "a pax record in it is broken");
        const char *key = blank + 1, *stop = at + len - 1;
        const char *equals = memchr(key, '=', (size_t)(stop - key));
        if (equals == NULL)
            return tar_refuse(r, "a pax record in it is broken");
        size_t key_len = (size_t)(equals - key), value_len = (size_t)(stop - equals - 1);
        const char *value = equals + 1;
        bool is_path = key_len == 4 && memcmp(key, "path", 4) == 0;
        bool is_target = key_len == 8 && memcmp(key, "linkpath", 8) == 0;
        bool is_size = key_len == 4 && memcmp(key, "size", 4) == 0;
        bool is_sparse = key_len >= 10 && memcmp(key, "GNU.sparse", 10) == 0;
        if (is_sparse || (is_global && (is_path || is_target || is_size)))
            return tar_refuse(r, "it has sparse files, or names for all of its files");
        if (is_path && !tar_text(value, value_len, r->long_path))
            return tar_refuse(r, "a path in it is too long");
        if (is_target && !tar_text(value, value_len, r->long_target))
            return tar_refuse(r, "a link in it is too long");
        if (is_size) {
            char *rest;
            r->long_size = strtoull(value, &rest, 10);
            r->has_long_size = true;
            if (*value < '0' || *value > '9' || rest != stop || r->long_size > TAR_SIZE_MAX)
                return tar_refuse(r, "the size of a file in it makes no sense");
        }
        at += len;
    }
    return 0;
}

/* A field that ends with a NUL or with its place. */
static void tar_field(char *out, const char *field, size_t size)
{
    size_t len = strnlen(field, size);
    memcpy(out, field, len);
    out[len] = '\0';
}

static enum tar_type tar_type_of(char type)
{
    switch (type) {
    case '0':
    case '7':
    case '\0':
        return TAR_FILE;
    case '1':
        return TAR_HARD_LINK;
    case '2':
        return TAR_LINK;
    case '5':
        return TAR_DIR;
    default:
        return TAR_OTHER;
    }
}

static int tar_begin_entry(struct tar_reader *r, const struct tar_head *head, uint64_t size)
{
    struct tar_entry *entry = &r->entry;
    uint64_t mode = 0, mtime = 0;
    bool is_ustar = memcmp(head->magic, "ustar\0", 6) == 0;
    *entry = (struct tar_entry){.type = tar_type_of(head->type)};
    if (!tar_number(head->mode, sizeof(head->mode), &mode) ||
        !tar_number(head->mtime, sizeof(head->mtime), &mtime))
        return tar_refuse(r, "a header in it is broken");
    entry->mode = (uint32_t)(mode & 07777);
    entry->mtime_s = (int64_t)mtime;
    if (r->long_path[0] != '\0') {
        memcpy(entry->path, r->long_path, sizeof(entry->path));
    } else if (is_ustar && head->prefix[0] != '\0') {
        char prefix[sizeof(head->prefix) + 1], name[sizeof(head->name) + 1];
        tar_field(prefix, head->prefix, sizeof(head->prefix));
        tar_field(name, head->name, sizeof(head->name));
        snprintf(entry->path, sizeof(entry->path), "%s/%s", prefix, name);
    } else {
        tar_field(entry->path, head->name, sizeof(head->name));
    }
    if (r->long_target[0] != '\0')
        memcpy(entry->target, r->long_target, sizeof(entry->target));
    else
        tar_field(entry->target, head->linkname, sizeof(head->linkname));
    size_t len = strlen(entry->path);
    if (entry->type == TAR_FILE && len > 0 && entry->path[len - 1] == '/')
        entry->type = TAR_DIR; /* of before ustar */
    while (entry->type == TAR_DIR && len > 1 && entry->path[len - 1] == '/')
        entry->path[--len] = '\0';
    if (r->has_long_size)
        size = r->long_size;
    entry->size = entry->type == TAR_FILE ? size : 0;
    r->long_path[0] = r->long_target[0] = '\0';
    r->has_long_size = false;
    /* Only files have bytes; links say how long what they lead to is. */
    r->left = entry->type == TAR_FILE || entry->type == TAR_OTHER ? size : 0;
    r->padding = tar_padding(r->left);
    r->is_in_file = entry->type == TAR_FILE;
    int status = r->listener->on_entry(r->context, entry);
    if (status == 0 && r->is_in_file && r->left == 0) {
        r->is_in_file = false;
        status = r->listener->on_end(r->context);
    }
    return status;
}

static int tar_take_block(struct tar_reader *r)
{
    struct tar_head head;
    uint64_t sum, size;
    memcpy(&head, r->block, sizeof(head));
    if (memcmp(r->block, tar_zeros, TAR_BLOCK) == 0) {
        r->n_zeros++;
        return 0;
    }
    if (r->n_zeros >= 2)
        return tar_refuse(r, "there is something behind its end");
    r->n_zeros = 0;
    if (memcmp(head.magic, "ustar", 5) != 0 || !tar_number(head.sum, sizeof(head.sum), &sum) ||
        sum != tar_sum(&head))
        return tar_refuse(r, "it is no tar archive, or damaged");
    if (!tar_number(head.size, sizeof(head.size), &size))
        return tar_refuse(r, "the size of a file in it makes no sense");
    bool is_extension = strchr("xgLK", head.type) != NULL && head.type != '\0';
    if (!is_extension)
        return tar_begin_entry(r, &head, size);
    if (size == 0 || size > TAR_EXTENSION_MAX)
        return tar_refuse(r, "a name in it is too long");
    r->extension = head.type;
    r->left = size;
    r->padding = tar_padding(size);
    return 0;
}

/* Bytes of a file, of an extension, or of something that is passed over. */
static int tar_take_bytes(struct tar_reader *r, const char *data, size_t len)
{
    int status = 0;
    r->left -= len;
    if (r->extension != '\0')
        buf_append(&r->records, data, len);
    else if (r->is_in_file)
        status = r->listener->on_data(r->context, data, len);
    if (status != 0 || r->left > 0)
        return status;
    if (r->extension != '\0') {
        size_t text_len = strnlen(buf_str(&r->records), r->records.len);
        if (r->extension == 'x' || r->extension == 'g')
            status = tar_take_records(r);
        else if (!tar_text(buf_str(&r->records), text_len,
                           r->extension == 'L' ? r->long_path : r->long_target))
            status = tar_refuse(r, "a path in it is too long");
        r->extension = '\0';
        buf_clear(&r->records);
        return status;
    }
    if (!r->is_in_file)
        return 0;
    r->is_in_file = false;
    return r->listener->on_end(r->context);
}

int tar_read(struct tar_reader *r, const char *data, size_t len)
{
    int status = r->wrong != NULL ? -1 : 0;
    while (len > 0 && status == 0) {
        size_t n;
        if (r->left > 0) {
            n = (size_t)MIN((uint64_t)len, r->left);
            status = tar_take_bytes(r, data, n);
        } else if (r->padding > 0) {
            n = MIN(len, r->padding);
            r->padding -= n;
        } else {
            n = MIN(len, TAR_BLOCK - r->n_block);
            memcpy(r->block + r->n_block, data, n);
            r->n_block += n;
            if (r->n_block == TAR_BLOCK) {
                r->n_block = 0;
                status = tar_take_block(r);
            }
        }
        data += n;
        len -= n;
    }
    return status;
}

/* All writers end it with two empty blocks; what has none was cut off. */
int tar_read_end(struct tar_reader *r)
{
    if (r->wrong != NULL)
        return -1;
    if (r->left > 0 || r->padding > 0 || r->n_block > 0 || r->n_zeros == 0)
        return tar_refuse(r, "it ends too early: a part of it is missing");
    return 0;
}
