#include "jail/files/archive.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool claim)
{
    if (!claim)
        abort();
}

static void count(void *context, enum manifest_change change, const struct manifest_entry *entry)
{
    (void)change;
    require(entry != NULL && entry->path_len > 0);
    *(size_t *)context += 1;
}

/* What a restore relies on. */
static void check_entry(const struct manifest *m, size_t i)
{
    const struct manifest_entry *entry = &m->entries[i];
    require(strlen(entry->path) == entry->path_len && entry->mode <= 07777);
    require(strlen(entry->target) == entry->target_len);
    require((entry->type == MANIFEST_LINK) == (entry->target_len > 0));
    require(manifest_find(m, entry->path, entry->path_len) == entry);
    require(manifest_after(m, i) > i && manifest_after(m, i) <= m->n_entries);
    require(entry->path[0] != '/' && strstr(entry->path, "//") == NULL);
    require(strcmp(entry->path, "..") != 0 && strncmp(entry->path, "../", 3) != 0);
    require(strstr(entry->path, "/../") == NULL);
    const char *slash = strrchr(entry->path, '/');
    const struct manifest_entry *parent =
        manifest_find(m, entry->path, slash == NULL ? 0 : (size_t)(slash - entry->path));
    require(parent != NULL && parent->type == MANIFEST_DIR);
}

static void check_manifest(const struct manifest *m, const uint8_t *data, size_t size)
{
    _buf_ struct buf out = BUF_INIT(MANIFEST_BYTES_MAX);
    manifest_begin(&out);
    for (size_t i = 0; i < m->n_entries; i++) {
        check_entry(m, i);
        manifest_append(&out, &m->entries[i]);
    }
    manifest_end(&out, m->n_entries);
    require(out.len == size && memcmp(out.data, data, size) == 0);
    size_t n = 0;
    manifest_diff(m, m, count, &n);
    require(n == 0);
    manifest_diff(m, NULL, count, &n);
    manifest_diff(NULL, m, count, &n);
    require(n == 2 * (m->n_entries - 1));
}

/* Whatever a manifest holds, a file put into it makes another, and the file can be taken out. */
static void check_amending(const struct manifest *m, const char *path)
{
    _buf_ struct buf with = BUF_INIT(MANIFEST_BYTES_MAX), without = BUF_INIT(MANIFEST_BYTES_MAX);
    struct manifest_entry file = {
        .type = MANIFEST_FILE, .mode = 0644, .path = path, .path_len = strlen(path), .target = ""};
    struct manifest *there = NULL, *gone = NULL;
    struct err e = {0};
    manifest_amend(m, &(struct manifest_changes){.added = &file, .n_added = 1}, &with);
    require(manifest_parse(with.data, with.len, &there, &e) == 0);
    const struct manifest_entry *found = manifest_find(there, path, file.path_len);
    require(found != NULL && found->type == MANIFEST_FILE && found->mode == 0644);
    manifest_amend(there, &(struct manifest_changes){.removed = {path}}, &without);
    require(manifest_parse(without.data, without.len, &gone, &e) == 0);
    require(manifest_find(gone, path, file.path_len) == NULL);
    require(gone->n_entries == there->n_entries - 1);
    manifest_free(there);
    manifest_free(gone);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct manifest *m = NULL;
    struct err e = {0};
    if (manifest_parse((const char *)data, size, &m, &e) < 0)
        require(e.code != ERR_NONE && e.message[0] != '\0' && m == NULL);
    else
        check_manifest(m, data, size);
    for (size_t i = 1; m != NULL && i < m->n_entries; i++)
        if (archive_check_path(m->entries[i].path, &e) == 0)
            check_amending(m, m->entries[i].path);
    if (m != NULL)
        check_amending(m, "a/b/c");
    manifest_free(m);
    return 0;
}
