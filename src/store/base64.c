/* A state that travels as text: one "namespace" blob. Daemon; on a worker thread, or on the loop if
 * it is small. */
#include "wire/base64.h"

#include "store/internal.h"

struct text_call {
    struct store_call call;
    struct buf text;
    uint64_t max_bytes;
};

static void base64_release(struct store_call *call)
{
    struct text_call *c = CONTAINER_OF(call, struct text_call, call);
    buf_free(&c->text);
}

/* ---- in -------------------------------------------------------------------------------------- */

static int apply_decode(struct store *store, struct store_call *call, struct err *e)
{
    struct text_call *c = CONTAINER_OF(call, struct text_call, call);
    _buf_ struct buf bytes = BUF_INIT(base64_decoded_max(c->text.len));
    if (!base64_decode(&bytes, buf_str(&c->text), c->text.len)) {
        err_set(e, ERR_INVALID, "the state is not base64");
        return err_advise(e, "Send the text of `state` exactly as it was given.");
    }
    buf_free(&c->text);
    if (bytes.len > c->max_bytes) {
        err_set(e, ERR_TOO_LARGE, "the state has %.1f MB, more than %.1f MB",
                (double)bytes.len / (1024 * 1024), (double)c->max_bytes / (1024 * 1024));
        return err_advise(e, "Keep less in it, or raise the limit.");
    }
    static const char begin[] =
        "{\"rec\":\"begin\",\"format\":\"namespace\",\"runtime\":\"python\"}";
    static const char blob[] =
        "{\"rec\":\"blob\",\"kind\":\"namespace\",\"names\":[],\"body\":true}";
    static const char end[] = "{\"rec\":\"end\"}";
    struct blob_put put = {0};
    c->call.state = state_new();
    state_add(c->call.state, begin, sizeof(begin) - 1);
    struct store_record *r = state_add(c->call.state, blob, sizeof(blob) - 1);
    r->has_body = true;
    r->bytes = c->call.state->bytes = bytes.len;
    if (bytes.len <= INLINE_MAX) {
        r->data = mem_alloc(bytes.len + 1);
        memcpy(r->data, buf_str(&bytes), bytes.len);
        blob_hash_of(r->data, bytes.len, &put.hash);
    } else {
        int rc = blob_put_bytes(store->blobs, bytes.data, bytes.len, &put);
        if (rc < 0)
            return err_errno(e, ERR_UNAVAILABLE, rc, "writing the state to the data directory");
    }
    blob_hex(&put.hash, r->hash);
    state_add(c->call.state, end, sizeof(end) - 1);
    state_publish(store, c->call.state);
    return 0;
}

static const struct call_type decode_type = {
    .apply = apply_decode, .deliver = call_deliver_state, .release = base64_release};

struct store_call *store_decode(struct store *store, const char *text, size_t len,
                                uint64_t max_bytes, store_state_fn fn, void *context)
{
    struct text_call *c = call_new(store, &decode_type, sizeof(*c), NULL);
    c->text = BUF_INIT(len);
    buf_append(&c->text, text, len);
    c->max_bytes = max_bytes;
    c->call.fn = (void *)fn;
    c->call.context = context;
    return len <= SMALL_MAX ? call_now(&c->call) : call_job(&c->call);
}

/* ---- out ------------------------------------------------------------------------------------- */

static const struct store_record *only_body(const struct store_state *state)
{
    const struct store_record *found = NULL;
    for (size_t i = 0; i < state->n_records; i++) {
        if (!state->records[i].has_body)
            continue;
        if (found != NULL)
            return NULL;
        found = &state->records[i];
    }
    return found;
}

static int apply_encode(struct store *store, struct store_call *call, struct err *e)
{
    struct text_call *c = CONTAINER_OF(call, struct text_call, call);
    const struct store_record *r = only_body(c->call.state);
    if (r == NULL)
        return err_set(e, ERR_INTERNAL, "the state is not a single namespace");
    c->text = BUF_INIT(base64_encoded_len((size_t)r->bytes));
    if (r->data == NULL) {
        struct blob_hash hash;
        _free_ char *data = NULL;
        size_t len;
        int rc = blob_parse_hex(r->hash, &hash);
        if (rc == 0)
            rc = blob_read(store->blobs, &hash, (size_t)r->bytes, &data, &len);
        if (rc < 0) {
            err_errno(e, ERR_UNAVAILABLE, rc, "the saved state cannot be read back");
            return err_advise(e, "Its bytes on disk are damaged; compute it again.");
        }
        base64_encode(&c->text, data, len);
        return 0;
    }
    base64_encode(&c->text, r->data, (size_t)r->bytes);
    return 0;
}

static void deliver_encode(struct store_call *call, const struct err *e)
{
    const struct text_call *c = CONTAINER_OF(call, struct text_call, call);
    ((store_text_fn)call->fn)(call->context, e == NULL ? buf_str(&c->text) : NULL, c->text.len, e);
}

static const struct call_type encode_type = {
    .apply = apply_encode, .deliver = deliver_encode, .release = base64_release};

struct store_call *store_encode(struct store *store, struct store_state *state, store_text_fn fn,
                                void *context)
{
    struct text_call *c = call_new(store, &encode_type, sizeof(*c), NULL);
    c->call.state = store_state_ref(state);
    c->call.fn = (void *)fn;
    c->call.context = context;
    const struct store_record *r = only_body(state);
    bool is_small = r != NULL && r->data != NULL && r->bytes <= SMALL_MAX;
    return is_small ? call_now(&c->call) : call_job(&c->call);
}
