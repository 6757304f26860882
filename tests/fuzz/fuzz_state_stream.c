#include "store/internal.h"
#include "store/stream.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool claim)
{
    if (!claim)
        abort();
}

struct memory {
    const uint8_t *data;
    size_t left;
    size_t step;
    uint64_t seen; /* bytes of bodies */
    uint64_t ended;
};

static ssize_t read_some(void *context, void *out, size_t len, struct err *e)
{
    struct memory *m = context;
    size_t n = MIN(MIN(len, m->left), m->step);
    (void)e;
    memcpy(out, m->data, n);
    m->data += n;
    m->left -= n;
    return (ssize_t)n;
}

static int add(void *context, const void *data, size_t len, struct err *e)
{
    struct memory *m = context;
    (void)data;
    (void)e;
    m->seen += len;
    return 0;
}

static int end(void *context, struct store_record *record, struct err *e)
{
    struct memory *m = context;
    (void)e;
    require(record->bytes == m->seen - m->ended);
    m->ended = m->seen;
    memset(record->hash, 'a', STORE_HASH_SIZE - 1);
    return 0;
}

static struct store_state *read_stream(const uint8_t *data, size_t size, size_t step,
                                       const struct store_limits *limits)
{
    struct memory m = {.data = data, .left = size, .step = step};
    struct stream_source source = {.read = read_some, .context = &m};
    struct stream_sink sink = {.add = add, .end = end, .context = &m};
    struct store_state *state = state_new();
    struct err e = {0};
    int rc = stream_read(&source, &sink, limits, state, &e);
    require(state->bytes <= limits->max_bytes && state->n_records <= limits->max_records);
    if (rc == 0) {
        require(state->bytes == m.seen);
        return state;
    }
    require(e.code != ERR_NONE && e.message[0] != '\0');
    store_state_unref(state);
    return NULL;
}

static bool is_same(const struct store_state *a, const struct store_state *b)
{
    if (a->n_records != b->n_records || a->n_lost != b->n_lost || a->bytes != b->bytes)
        return false;
    for (size_t i = 0; i < a->n_records; i++) {
        const struct store_record *x = &a->records[i], *y = &b->records[i];
        if (x->header_len != y->header_len || memcmp(x->header, y->header, x->header_len) != 0 ||
            x->has_body != y->has_body || x->bytes != y->bytes || strcmp(x->hash, y->hash) != 0)
            return false;
    }
    return true;
}

static void check_packing(struct store *store, const struct store_state *state)
{
    struct err e;
    struct store_state *again;
    _buf_ struct buf packed = BUF_INIT(PACKED_MAX);
    _buf_ struct buf lost = BUF_INIT(MIB);
    state_pack(state, &packed);
    require(state_unpack(store, packed.data, packed.len, &again, &e) == 0);
    require(is_same(state, again));
    store_state_put_lost(state, 100, &lost);
    store_state_unref(again);
}

static void ignore(void *context, const struct blob_hash *hash)
{
    (void)context;
    (void)hash;
}

/* A stream means the same in whatever pieces it arrives, keeps to its limits, and what was packed
 * for the database is read back as it was; any bytes may be found there. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct store store = {.lock = PTHREAD_MUTEX_INITIALIZER};
    static const struct store_limits limits = {
        .max_bytes = 4096, .max_records = 64, .max_names = 64};
    struct store_state *state;
    struct err e;
    if (size < 1)
        return 0;
    struct store_state *whole = read_stream(data + 1, size - 1, SIZE_MAX, &limits);
    struct store_state *pieces = read_stream(data + 1, size - 1, 1 + data[0] % 16, &limits);
    require((whole == NULL) == (pieces == NULL));
    if (whole != NULL) {
        require(is_same(whole, pieces));
        check_packing(&store, whole);
    }
    store_state_unref(whole);
    store_state_unref(pieces);
    state_each_hash(data, size, ignore, NULL);
    if (state_unpack(&store, data, size, &state, &e) == 0)
        store_state_unref(state);
    require(store.states == NULL);
    return 0;
}
