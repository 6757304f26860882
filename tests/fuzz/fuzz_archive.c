/* Archives, read in this process: whatever they hold, limits hold and answers are JSON. */
#include "explore/archive_lib.h"
#include "explore/archive_walk.h"
#include "wire/json.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct bytes {
    const uint8_t *data;
    size_t len;
};

static const struct archive_limits limits = {
    .unpacked = 4 * MIB, .member = MIB, .files = 50, .ratio = 100, .depth = 2};

static void require(bool claim)
{
    if (!claim)
        abort();
}

static ssize_t read_at(void *context, void *data, size_t len, uint64_t offset)
{
    const struct bytes *b = context;
    size_t n = offset >= b->len ? 0 : MIN(len, b->len - (size_t)offset);
    if (n > 0)
        memcpy(data, b->data + offset, n);
    return (ssize_t)n;
}

static int count(void *context, const void *data, size_t len)
{
    (void)data;
    *(uint64_t *)context += len;
    return 0;
}

static void scan(struct bytes *b, struct archive_order order)
{
    uint64_t written = 0;
    struct err e = {0};
    struct archive_input in = {.read_at = read_at, .context = b, .size = b->len};
    _buf_ struct buf answer = BUF_INIT(MIB);
    order.write = count;
    order.context = &written;
    order.limits = &limits;
    int error = archive_walk(&in, &order, &answer, &e);
    /* Heads of a tar and zeros between come on top of what was unpacked. */
    require(written <= limits.unpacked + 4 * limits.files * 8 * KIB);
    if (error < 0) {
        require(e.code != ERR_NONE && e.message[0] != '\0');
        return;
    }
    _json_ json_t *read = NULL;
    require(json_read_object(answer.data, answer.len, &read, &e) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct bytes b = {data, size};
    if (!archive_lib_load())
        return 0;
    scan(&b, (struct archive_order){.op = ARCHIVE_LIST});
    scan(&b, (struct archive_order){.op = ARCHIVE_SEARCH, .query = "e", .max_results = 5});
    scan(&b, (struct archive_order){.op = ARCHIVE_UNPACK});
    scan(&b, (struct archive_order){.op = ARCHIVE_READ, .member = "a", .max_bytes = 10});
    scan(&b, (struct archive_order){.op = ARCHIVE_READ, .member = "in.tar.gz!/a"});
    return 0;
}
