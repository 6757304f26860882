/* An archive that a client sent: the first byte says in which steps the rest arrives. What comes
 * out is the same for every step, each file has the bytes that its head says, and what is written
 * of it is read as the same again. */
#include "wire/tar.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool is_true)
{
    if (!is_true)
        abort();
}

struct seen {
    struct tar_entry entry;
    uint64_t bytes;
    bool is_open;
    struct buf log; /* heads, written again, and bytes */
};

static int on_entry(void *context, const struct tar_entry *entry)
{
    struct seen *seen = context;
    require(!seen->is_open && entry->size <= TAR_SIZE_MAX);
    require(strlen(entry->path) <= TAR_PATH_MAX && strlen(entry->target) <= TAR_PATH_MAX);
    require(entry->type == TAR_FILE || entry->size == 0);
    seen->entry = *entry;
    seen->bytes = 0;
    seen->is_open = entry->type == TAR_FILE;
    if (entry->type == TAR_FILE || entry->type == TAR_DIR || entry->type == TAR_LINK)
        tar_put_head(&seen->log, entry);
    return 0;
}

static int on_data(void *context, const char *data, size_t len)
{
    struct seen *seen = context;
    require(seen->is_open && len > 0);
    seen->bytes += len;
    buf_append(&seen->log, data, len);
    return 0;
}

static int on_end(void *context)
{
    struct seen *seen = context;
    require(seen->is_open && seen->bytes == seen->entry.size);
    seen->is_open = false;
    for (size_t i = tar_padding(seen->bytes); i > 0; i--)
        buf_append_char(&seen->log, '\0');
    return 0;
}

static const struct tar_listener listener = {on_entry, on_data, on_end};

static int read_all(const char *data, size_t size, size_t step, struct buf *ret_log)
{
    struct tar_reader *reader = mem_alloc(sizeof(*reader));
    struct seen *seen = mem_alloc(sizeof(*seen));
    seen->log = BUF_INIT(4 * MIB);
    tar_reader_init(reader, &listener, seen);
    int status = 0;
    for (size_t i = 0; i < size && status == 0; i += step)
        status = tar_read(reader, data + i, MIN(step, size - i));
    if (status == 0)
        status = tar_read_end(reader);
    require((status == 0) == (reader->wrong == NULL));
    *ret_log = seen->log;
    tar_reader_free(reader);
    free(seen);
    free(reader);
    return status;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    _buf_ struct buf by_steps = BUF_INIT(0), at_once = BUF_INIT(0), again = BUF_INIT(0);
    const char *bytes = (const char *)data + 1;
    int status = read_all(bytes, size - 1, (size_t)data[0] + 1, &by_steps);
    require(read_all(bytes, size - 1, size, &at_once) == status);
    require(by_steps.len == at_once.len &&
            memcmp(buf_str(&by_steps), buf_str(&at_once), at_once.len) == 0);
    if (status != 0 || at_once.overflowed)
        return 0;
    tar_put_end(&at_once);
    require(read_all(at_once.data, at_once.len, 512, &again) == 0);
    require(again.len + 2 * TAR_BLOCK == at_once.len &&
            memcmp(buf_str(&again), at_once.data, again.len) == 0);
    return 0;
}
