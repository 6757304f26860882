/* Manifests as bytes and as lists of names. Archivist, and the daemon where it reads one; owns the
 * entries of a parsed manifest. */
#include "jail/files/manifest.h"

#include <endian.h>
#include <errno.h>
#include <string.h>

/* On disk: the head, then for each entry its record, the hash of a file, the path, the target of a
 * link; both texts have a NUL after them, so that they can be used where they lie. All numbers are
 * little-endian. */
#define MAGIC "cella 1\n"

struct __attribute__((packed)) head {
    char magic[8];
    uint32_t n_entries;
    uint32_t zero;
};

struct __attribute__((packed)) record {
    uint8_t type;
    uint8_t zero;
    uint16_t mode;
    uint16_t path_len;
    uint16_t target_len;
    uint64_t size;
    uint64_t mtime_ns;
};

/* ---- writing --------------------------------------------------------------------------------- */

void manifest_begin(struct buf *out)
{
    struct head head = {.magic = MAGIC};
    buf_append(out, &head, sizeof(head));
}

void manifest_append(struct buf *out, const struct manifest_entry *entry)
{
    struct record record = {
        .type = (uint8_t)entry->type,
        .mode = htole16((uint16_t)entry->mode),
        .path_len = htole16((uint16_t)entry->path_len),
        .target_len = htole16((uint16_t)entry->target_len),
        .size = htole64(entry->size),
        .mtime_ns = htole64((uint64_t)entry->mtime_ns),
    };
    buf_append(out, &record, sizeof(record));
    if (entry->type == MANIFEST_FILE)
        buf_append(out, &entry->hash, sizeof(entry->hash));
    buf_append(out, entry->path, entry->path_len);
    buf_append_char(out, '\0');
    if (entry->type == MANIFEST_LINK) {
        buf_append(out, entry->target, entry->target_len);
        buf_append_char(out, '\0');
    }
}

void manifest_end(struct buf *out, size_t n_entries)
{
    struct head head = {.magic = MAGIC, .n_entries = htole32((uint32_t)n_entries)};
    if (!out->overflowed)
        memcpy(out->data, &head, sizeof(head));
}

/* ---- order ----------------------------------------------------------------------------------- */

/* A '/' sorts before every byte of a name, which is what keeps a directory and its contents
 * together. */
int manifest_order(const char *a, size_t a_len, const char *b, size_t b_len)
{
    size_t len = MIN(a_len, b_len), i = 0;
    while (i < len && a[i] == b[i])
        i++;
    if (i == len)
        return (a_len > b_len) - (a_len < b_len);
    unsigned x = a[i] == '/' ? 0 : (unsigned char)a[i];
    unsigned y = b[i] == '/' ? 0 : (unsigned char)b[i];
    return x < y ? -1 : 1;
}

static bool is_below(const struct manifest_entry *entry, const struct manifest_entry *dir)
{
    if (dir->path_len == 0)
        return entry->path_len > 0;
    return entry->path_len > dir->path_len && entry->path[dir->path_len] == '/' &&
           memcmp(entry->path, dir->path, dir->path_len) == 0;
}

/* ---- reading --------------------------------------------------------------------------------- */

struct manifest_reader {
    const char *at, *end;
    const char *wrong; /* what is not as it should be, once something is not */
};

static bool refuse(struct manifest_reader *r, const char *why)
{
    r->wrong = why;
    return false;
}

static bool take(struct manifest_reader *r, void *out, size_t len)
{
    if ((size_t)(r->end - r->at) < len)
        return refuse(r, "it ends too soon");
    memcpy(out, r->at, len);
    r->at += len;
    return true;
}

static bool take_text(struct manifest_reader *r, size_t len, const char **ret_text)
{
    if ((size_t)(r->end - r->at) < len + 1)
        return refuse(r, "it ends too soon");
    if (memchr(r->at, '\0', len + 1) != r->at + len)
        return refuse(r, "a name has a NUL in it");
    *ret_text = r->at;
    r->at += len + 1;
    return true;
}

static bool read_entry(struct manifest_reader *r, struct manifest_entry *entry)
{
    struct record record;
    if (!take(r, &record, sizeof(record)))
        return false;
    *entry = (struct manifest_entry){
        .type = (enum manifest_type)record.type,
        .mode = le16toh(record.mode),
        .size = le64toh(record.size),
        .mtime_ns = (int64_t)le64toh(record.mtime_ns),
        .path_len = le16toh(record.path_len),
        .target_len = le16toh(record.target_len),
        .target = "",
    };
    bool is_file = record.type == MANIFEST_FILE, is_link = record.type == MANIFEST_LINK;
    if (!is_file && !is_link && record.type != MANIFEST_DIR && record.type != MANIFEST_OTHER)
        return refuse(r, "there is no such type of file");
    if (record.zero != 0 || entry->mode > 07777 || entry->size > INT64_MAX ||
        (!is_file && entry->size != 0) || entry->path_len > MANIFEST_PATH_MAX)
        return refuse(r, "a number is out of range");
    if (is_link ? entry->target_len == 0 || entry->target_len > MANIFEST_PATH_MAX
                : entry->target_len != 0)
        return refuse(r, "a link leads nowhere");
    if (is_file && !take(r, &entry->hash, sizeof(entry->hash)))
        return false;
    return take_text(r, entry->path_len, &entry->path) &&
           (!is_link || take_text(r, entry->target_len, &entry->target));
}

static bool is_name(const char *name, size_t len)
{
    if (len == 0 || len > MANIFEST_NAME_MAX || memchr(name, '/', len) != NULL)
        return false;
    return !(name[0] == '.' && (len == 1 || (len == 2 && name[1] == '.')));
}

/* The directories from the workspace down to where the last entry was. */
struct ancestors {
    const struct manifest_entry *dirs[MANIFEST_DEPTH_MAX + 2];
    size_t n;
};

static bool check_place(struct manifest_reader *r, struct ancestors *a,
                        const struct manifest_entry *entry)
{
    if (a->n == 0) {
        if (entry->path_len != 0 || entry->type != MANIFEST_DIR)
            return refuse(r, "it does not start with the workspace");
        a->dirs[a->n++] = entry;
        return true;
    }
    while (a->n > 0 && !is_below(entry, a->dirs[a->n - 1]))
        a->n--;
    if (a->n == 0)
        return refuse(r, "names are out of order");
    size_t skipped = a->dirs[a->n - 1]->path_len;
    skipped += skipped > 0;
    if (!is_name(entry->path + skipped, entry->path_len - skipped))
        return refuse(r, "a name is invalid, or its directory is missing");
    if (entry->type != MANIFEST_DIR)
        return true;
    if (a->n > MANIFEST_DEPTH_MAX)
        return refuse(r, "directories lie too deep");
    a->dirs[a->n++] = entry;
    return true;
}

static bool read_entries(struct manifest_reader *r, struct manifest *m, size_t n_entries)
{
    struct ancestors ancestors = {0};
    const struct manifest_entry *last = NULL;
    for (; m->n_entries < n_entries; m->n_entries++) {
        struct manifest_entry *entry = &m->entries[m->n_entries];
        if (!read_entry(r, entry))
            return false;
        if (last != NULL &&
            manifest_order(last->path, last->path_len, entry->path, entry->path_len) >= 0)
            return refuse(r, "names are out of order");
        if (!check_place(r, &ancestors, entry))
            return false;
        last = entry;
    }
    return r->at == r->end || refuse(r, "more follows than it says");
}

int manifest_parse(const char *data, size_t len, struct manifest **ret_manifest, struct err *e)
{
    if (len > MANIFEST_BYTES_MAX)
        return err_set(e, ERR_TOO_LARGE, "not a manifest: it is too long");
    struct manifest *m = mem_alloc(sizeof(*m));
    m->data = mem_alloc(len + 1);
    memcpy(m->data, data, len);
    struct manifest_reader r = {.at = m->data, .end = m->data + len};
    struct head head;
    size_t n_entries = 0;
    if (take(&r, &head, sizeof(head))) {
        n_entries = le32toh(head.n_entries);
        if (memcmp(head.magic, MAGIC, sizeof(head.magic)) != 0 || head.zero != 0)
            refuse(&r, "it does not start like one");
        /* What is allocated is bounded by what is there. */
        else if (n_entries == 0 || n_entries > MANIFEST_ENTRIES_MAX ||
                 n_entries > len / sizeof(struct record))
            refuse(&r, "it has an impossible number of names");
    }
    if (r.wrong == NULL) {
        m->entries = mem_alloc(n_entries * sizeof(*m->entries));
        read_entries(&r, m, n_entries);
    }
    if (r.wrong != NULL) {
        manifest_free(m);
        return err_set(e, ERR_INVALID, "not a manifest: %s", r.wrong);
    }
    *ret_manifest = m;
    return 0;
}

int manifest_load(int store, const struct blob_hash *hash, struct manifest **ret_manifest,
                  struct err *e)
{
    _free_ char *data = NULL;
    size_t len;
    char hex[BLOB_HEX_SIZE];
    int r = blob_read(store, hash, MANIFEST_BYTES_MAX, &data, &len);
    if (r == -ENOENT)
        return err_set(e, ERR_NOT_FOUND, "the list of files %.12s is missing in the store",
                       blob_hex(hash, hex));
    if (r == -EBADMSG)
        return err_set(e, ERR_INTERNAL, "the list of files %.12s is damaged in the store",
                       blob_hex(hash, hex));
    if (r < 0)
        return err_errno(e, ERR_INTERNAL, r, "cannot read the list of files %.12s",
                         blob_hex(hash, hex));
    return manifest_parse(data, len, ret_manifest, e);
}

void manifest_free(struct manifest *m)
{
    if (m == NULL)
        return;
    free(m->entries);
    free(m->data);
    free(m);
}

const struct manifest_entry *manifest_find(const struct manifest *m, const char *path,
                                           size_t path_len)
{
    size_t low = 0, high = m->n_entries;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct manifest_entry *entry = &m->entries[middle];
        int order = manifest_order(entry->path, entry->path_len, path, path_len);
        if (order == 0)
            return entry;
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

size_t manifest_after(const struct manifest *m, size_t at)
{
    size_t next = at + 1;
    while (next < m->n_entries && is_below(&m->entries[next], &m->entries[at]))
        next++;
    return next;
}

/* ---- amending -------------------------------------------------------------------------------- */

struct amendment {
    struct manifest_entry entry;
    size_t rank; /* of two for one path the higher one holds: directories on the way have 0 */
};

static int amendment_order(const void *a, const void *b)
{
    const struct amendment *x = a, *y = b;
    int order = manifest_order(x->entry.path, x->entry.path_len, y->entry.path, y->entry.path_len);
    return order != 0 ? order : x->rank < y->rank ? 1 : x->rank > y->rank ? -1 : 0;
}

/* All that is added and the directories on the way there, in order, each path once. */
static struct amendment *list_amendments(const struct manifest_changes *changes, size_t *ret_n)
{
    size_t n = 0, cap = 0, kept = 0;
    struct amendment *list = NULL;
    for (size_t i = 0; i < changes->n_added; i++) {
        const struct manifest_entry *entry = &changes->added[i];
        if (cap < n + MANIFEST_DEPTH_MAX + 1) {
            cap = 2 * cap + MANIFEST_DEPTH_MAX + 1;
            list = mem_realloc(list, cap * sizeof(*list));
        }
        size_t depth = 0;
        for (const char *slash = memchr(entry->path, '/', entry->path_len);
             slash != NULL && depth < MANIFEST_DEPTH_MAX; depth++) {
            size_t len = (size_t)(slash - entry->path);
            list[n++].entry = (struct manifest_entry){.type = MANIFEST_DIR,
                                                      .mode = MANIFEST_DIR_MODE,
                                                      .mtime_ns = entry->mtime_ns,
                                                      .path = entry->path,
                                                      .path_len = len,
                                                      .target = ""};
            list[n - 1].rank = 0;
            slash = memchr(slash + 1, '/', entry->path_len - len - 1);
        }
        list[n++] = (struct amendment){.entry = *entry, .rank = i + 1};
    }
    if (n > 0)
        qsort(list, n, sizeof(*list), amendment_order);
    for (size_t i = 0; i < n; i++)
        if (i == 0 || manifest_order(list[i].entry.path, list[i].entry.path_len,
                                     list[kept - 1].entry.path, list[kept - 1].entry.path_len) != 0)
            list[kept++] = list[i];
    *ret_n = kept;
    return list;
}

static bool is_at_or_below(const struct manifest_entry *entry, const char *path, size_t len)
{
    return entry->path_len >= len && memcmp(entry->path, path, len) == 0 &&
           (entry->path_len == len || entry->path[len] == '/');
}

static bool is_removed(const struct manifest_entry *entry, const struct manifest_changes *changes)
{
    for (size_t i = 0; i < ARRAY_LEN(changes->removed); i++)
        if (changes->removed[i] != NULL &&
            is_at_or_below(entry, changes->removed[i], strlen(changes->removed[i])))
            return true;
    return false;
}

void manifest_amend(const struct manifest *m, const struct manifest_changes *changes,
                    struct buf *out)
{
    size_t n_added, i = 0, j = 0, n = 0;
    _free_ struct amendment *added = list_amendments(changes, &n_added);
    const struct manifest_entry *file = NULL; /* the last one added that is no directory */
    manifest_begin(out);
    while (i < m->n_entries || j < n_added) {
        const struct manifest_entry *old = i < m->n_entries ? &m->entries[i] : NULL;
        const struct manifest_entry *new = j < n_added ? &added[j].entry : NULL;
        int order = old == NULL ? 1
                    : new == NULL
                        ? -1
                        : manifest_order(old->path, old->path_len, new->path, new->path_len);
        i += order <= 0;
        j += order >= 0;
        bool stays = order <= 0 && !is_removed(old, changes) &&
                     (file == NULL || !is_at_or_below(old, file->path, file->path_len));
        if (order == 0 && (old->type != MANIFEST_DIR || new->type != MANIFEST_DIR))
            stays = false;
        if (!stays && order < 0)
            continue;
        if (!stays && new->type != MANIFEST_DIR)
            file = new;
        manifest_append(out, stays ? old : new);
        n++;
    }
    manifest_end(out, n);
}

void manifest_graft(const struct manifest *m, const char *from, const char *to, bool is_move,
                    struct buf *out)
{
    size_t from_len = strlen(from), to_len = strlen(to), n = 0, used = 0, size = 1;
    for (size_t i = 0; i < m->n_entries; i++)
        if (is_at_or_below(&m->entries[i], from, from_len)) {
            size += to_len + m->entries[i].path_len - from_len + 1;
            n++;
        }
    _free_ struct manifest_entry *added = mem_alloc((n + 1) * sizeof(*added));
    _free_ char *paths = mem_alloc(size);
    n = 0;
    for (size_t i = 0; i < m->n_entries; i++) {
        const struct manifest_entry *entry = &m->entries[i];
        size_t rest = entry->path_len - from_len;
        if (!is_at_or_below(entry, from, from_len) || to_len + rest > MANIFEST_PATH_MAX)
            continue;
        added[n] = *entry;
        added[n].path = paths + used;
        added[n].path_len = to_len + rest;
        memcpy(paths + used, to, to_len);
        memcpy(paths + used + to_len, entry->path + from_len, rest + 1);
        used += to_len + rest + 1;
        n++;
    }
    manifest_amend(m,
                   &(struct manifest_changes){
                       .removed = {to, is_move ? from : NULL}, .added = added, .n_added = n},
                   out);
}

/* ---- comparing ------------------------------------------------------------------------------- */

static bool is_changed(const struct manifest_entry *a, const struct manifest_entry *b)
{
    return a->type != b->type || (a->mode != b->mode && a->type != MANIFEST_LINK) ||
           !blob_is_same(&a->hash, &b->hash) || strcmp(a->target, b->target) != 0;
}

void manifest_diff(const struct manifest *old, const struct manifest *new,
                   manifest_on_change on_change, void *context)
{
    size_t i = 1, j = 1; /* past the workspace itself */
    size_t n_old = old == NULL ? 0 : old->n_entries, n_new = new == NULL ? 0 : new->n_entries;
    while (i < n_old || j < n_new) {
        const struct manifest_entry *a = i < n_old ? &old->entries[i] : NULL;
        const struct manifest_entry *b = j < n_new ? &new->entries[j] : NULL;
        int order = a == NULL   ? 1
                    : b == NULL ? -1
                                : manifest_order(a->path, a->path_len, b->path, b->path_len);
        if (order < 0)
            on_change(context, MANIFEST_DELETED, a);
        else if (order > 0)
            on_change(context, MANIFEST_CREATED, b);
        else if (is_changed(a, b))
            on_change(context, MANIFEST_CHANGED, b);
        i += order <= 0;
        j += order >= 0;
    }
}
