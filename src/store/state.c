/* A saved state in memory: its records, counted references, how it is packed into a row. Daemon;
 * the references are shared between the loop and the threads. */
#include "base/buf.h"
#include "store/internal.h"
#include "wire/json.h"

#include <assert.h>

struct store_state *state_new(void)
{
    struct store_state *state = mem_alloc(sizeof(*state));
    state->refs = 1;
    return state;
}

void state_publish(struct store *store, struct store_state *state)
{
    state->store = store;
    pthread_mutex_lock(&store->lock);
    state->next = store->states;
    if (state->next != NULL)
        state->next->previous = state;
    store->states = state;
    pthread_mutex_unlock(&store->lock);
}

struct store_state *store_state_ref(struct store_state *state)
{
    __atomic_add_fetch(&state->refs, 1, __ATOMIC_RELAXED);
    return state;
}

void store_state_unref(struct store_state *state)
{
    if (state == NULL || __atomic_sub_fetch(&state->refs, 1, __ATOMIC_ACQ_REL) > 0)
        return;
    struct store *store = state->store;
    if (store != NULL) {
        pthread_mutex_lock(&store->lock);
        if (state->next != NULL)
            state->next->previous = state->previous;
        if (state->previous != NULL)
            state->previous->next = state->next;
        else
            store->states = state->next;
        pthread_mutex_unlock(&store->lock);
    }
    for (size_t i = 0; i < state->n_records; i++) {
        free(state->records[i].header);
        free(state->records[i].data);
    }
    free(state->records);
    free(state);
}

struct store_record *state_add(struct store_state *state, const char *header, size_t len)
{
    /* Room grows in powers of two, so that many records cost no more than their number. */
    if ((state->n_records & (state->n_records - 1)) == 0) {
        size_t room = state->n_records == 0 ? 1 : 2 * state->n_records;
        state->records = mem_realloc(state->records, room * sizeof(*state->records));
    }
    struct store_record *r = &state->records[state->n_records++];
    *r = (struct store_record){.header = mem_alloc(len + 1), .header_len = len};
    memcpy(r->header, header, len);
    return r;
}

size_t state_memory(const struct store_state *state)
{
    size_t bytes = sizeof(*state) + state->n_records * sizeof(*state->records);
    for (size_t i = 0; i < state->n_records; i++) {
        const struct store_record *r = &state->records[i];
        bytes += r->header_len + (r->data == NULL ? 0 : (size_t)r->bytes);
    }
    return bytes;
}

void store_state_put_lost(const struct store_state *state, size_t max, struct buf *out)
{
    struct json_out o = JSON_OUT(out);
    json_put_array(&o);
    for (size_t i = 0; i < state->n_records && max > 0 && state->n_lost > 0; i++) {
        const struct store_record *r = &state->records[i];
        struct err ignored;
        _json_ json_t *header = NULL;
        if (strstr(r->header, "\"lost\"") == NULL ||
            json_read_object(r->header, r->header_len, &header, &ignored) < 0)
            continue;
        const char *rec = json_string_value(json_object_get(header, "rec"));
        if (rec == NULL || strcmp(rec, "lost") != 0)
            continue;
        json_put_object(&o);
        static const char *const members[] = {"name", "type", "advice"};
        for (size_t m = 0; m < ARRAY_LEN(members); m++)
            json_put_member_str(&o, members[m],
                                json_string_value(json_object_get(header, members[m])));
        json_put_object_end(&o);
        max--;
    }
    json_put_array_end(&o);
}

const char *store_state_overview(const struct store_state *state, size_t *ret_len)
{
    for (size_t i = 0; i < state->n_records; i++) {
        const struct store_record *r = &state->records[i];
        struct err ignored;
        _json_ json_t *header = NULL;
        if (!r->has_body || strstr(r->header, "\"overview\"") == NULL ||
            json_read_object(r->header, r->header_len, &header, &ignored) < 0)
            continue;
        const char *kind = json_string_value(json_object_get(header, "kind"));
        if (kind == NULL || strcmp(kind, "overview") != 0)
            continue;
        *ret_len = (size_t)r->bytes;
        return r->data;
    }
    return NULL;
}

/* ---- packed ---------------------------------------------------------------------------------- */

/* u32 number of lost ones, then for each record: u32 length of the header, the header, u8 whether
 * there is a body, and if so u64 its bytes and its hash. Little-endian; a database does not travel
 * to machines that are not. */

static void pack_number(struct buf *out, uint64_t value, size_t size)
{
    buf_append(out, &value, size);
}

void state_pack(const struct store_state *state, struct buf *out)
{
    pack_number(out, state->n_lost, 4);
    for (size_t i = 0; i < state->n_records; i++) {
        const struct store_record *r = &state->records[i];
        struct blob_hash hash;
        pack_number(out, r->header_len, 4);
        buf_append(out, r->header, r->header_len);
        pack_number(out, r->has_body, 1);
        if (!r->has_body)
            continue;
        int rc = blob_parse_hex(r->hash, &hash);
        assert(rc == 0);
        (void)rc;
        pack_number(out, r->bytes, 8);
        buf_append(out, hash.bytes, sizeof(hash.bytes));
    }
}

struct cursor {
    const char *at;
    size_t left;
};

static bool state_take(struct cursor *c, void *out, size_t size)
{
    if (c->left < size)
        return false;
    memcpy(out, c->at, size);
    c->at += size;
    c->left -= size;
    return true;
}

struct packed_record {
    const char *header;
    size_t header_len;
    bool has_body;
    uint64_t bytes;
    struct blob_hash hash;
};

static bool state_take_record(struct cursor *c, struct packed_record *r)
{
    uint32_t len;
    uint8_t has_body;
    if (!state_take(c, &len, 4) || len > c->left)
        return false;
    r->header = c->at;
    r->header_len = len;
    c->at += len;
    c->left -= len;
    if (!state_take(c, &has_body, 1))
        return false;
    r->has_body = has_body != 0;
    return !r->has_body ||
           (state_take(c, &r->bytes, 8) && state_take(c, r->hash.bytes, BLOB_HASH_BYTES));
}

int state_unpack(struct store *store, const void *data, size_t len, struct store_state **ret,
                 struct err *e)
{
    struct cursor c = {.at = data, .left = len};
    struct store_state *state = state_new();
    bool is_good = state_take(&c, &state->n_lost, 4);
    while (is_good && c.left > 0) {
        struct packed_record p = {0};
        if (!(is_good = state_take_record(&c, &p)))
            break;
        struct store_record *r = state_add(state, p.header, p.header_len);
        r->has_body = p.has_body;
        r->bytes = p.bytes;
        if (p.has_body)
            blob_hex(&p.hash, r->hash);
        state->bytes += p.bytes;
    }
    if (!is_good) {
        store_state_unref(state);
        err_set(e, ERR_INTERNAL, "the saved state is damaged: its list of records ends early");
        return err_advise(e, "An older state or a fresh session is what is left.");
    }
    state_publish(store, state);
    *ret = state;
    return 0;
}

int state_each_hash(const void *data, size_t len,
                    void (*fn)(void *context, const struct blob_hash *hash), void *context)
{
    struct cursor c = {.at = data, .left = len};
    uint32_t n_lost;
    if (!state_take(&c, &n_lost, 4))
        return -1;
    while (c.left > 0) {
        struct packed_record p = {0};
        if (!state_take_record(&c, &p))
            return -1;
        if (p.has_body)
            fn(context, &p.hash);
    }
    return 0;
}
