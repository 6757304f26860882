#include "jail/manifest.h"

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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct manifest *m = NULL;
    struct err e = {0};
    if (manifest_parse((const char *)data, size, &m, &e) < 0)
        require(e.code != ERR_NONE && e.message[0] != '\0' && m == NULL);
    else
        check_manifest(m, data, size);
    manifest_free(m);
    return 0;
}
