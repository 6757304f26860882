/* Reads a stream of a state, which comes from a sandbox: lengths and texts are believed only after
 * a check. Daemon; on a worker thread, or on the loop if it is small. */
#include "store/stream.h"

#include "store/internal.h"
#include "wire/json.h"

enum { FAILED_SHOWN_MAX = 400 };
#define READ_AHEAD (64 * KIB)

struct stream_reader {
    const struct stream_source *source;
    const struct stream_sink *sink;
    const struct store_limits *limits;
    struct store_state *state;
    char *ahead; /* READ_AHEAD bytes: most records are small */
    size_t from, to;
    struct buf header;
    uint64_t header_bytes; /* of all records */
    size_t n_names;
    bool is_over;
};

static int broken(struct err *e, const char *what)
{
    err_set(e, ERR_INVALID, "the saved state cannot be used: %s", what);
    return err_advise(e, "The interpreter's side of saving is damaged; a new cell saves again.");
}

/* ---- bytes ----------------------------------------------------------------------------------- */

static int stream_fill(struct stream_reader *r, struct err *e)
{
    ssize_t n = r->source->read(r->source->context, r->ahead, READ_AHEAD, e);
    if (n < 0)
        return -1;
    if (n == 0) {
        err_set(e, ERR_UNAVAILABLE, "saving the state was cut short: its stream ended early");
        return err_advise(e, "What was saved before is still there; the next cell saves again.");
    }
    r->from = 0;
    r->to = (size_t)n;
    return 0;
}

static int stream_take(struct stream_reader *r, void *out, size_t len, struct err *e)
{
    char *at = out;
    while (len > 0) {
        if (r->from == r->to && stream_fill(r, e) < 0)
            return -1;
        size_t n = MIN(len, r->to - r->from);
        memcpy(at, r->ahead + r->from, n);
        r->from += n;
        at += n;
        len -= n;
    }
    return 0;
}

static int take_length(struct stream_reader *r, uint32_t *ret_len, struct err *e)
{
    unsigned char b[4];
    if (stream_take(r, b, sizeof(b), e) < 0)
        return -1;
    *ret_len = b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
    return 0;
}

/* ---- bodies ---------------------------------------------------------------------------------- */

static int take_body(struct stream_reader *r, struct store_record *record, struct err *e)
{
    for (;;) {
        uint32_t len;
        if (take_length(r, &len, e) < 0)
            return -1;
        if (len == 0)
            break;
        if (len > STREAM_CHUNK_MAX)
            return broken(e, "a chunk is longer than allowed");
        if (len > r->limits->max_bytes - r->state->bytes) {
            err_set(e, ERR_TOO_LARGE, "the state is larger than the limit of %.1f MB",
                    (double)r->limits->max_bytes / (1024 * 1024));
            return err_advise(e, "Delete large variables (del name), or raise the limit.");
        }
        /* Straight from what was read ahead: a chunk may be larger than that. */
        size_t left = len;
        while (left > 0) {
            if (r->from == r->to && stream_fill(r, e) < 0)
                return -1;
            size_t n = MIN(left, r->to - r->from);
            if (r->sink->add(r->sink->context, r->ahead + r->from, n, e) < 0)
                return -1;
            r->from += n;
            left -= n;
        }
        r->state->bytes += len;
        record->bytes += len;
    }
    record->has_body = true;
    return r->sink->end(r->sink->context, record, e);
}

/* ---- headers --------------------------------------------------------------------------------- */

static const char *stream_text_of(const json_t *header, const char *member)
{
    return json_string_value(json_object_get(header, member));
}

static bool stream_is_word(const char *text, const char *const *words)
{
    for (size_t i = 0; text != NULL && words[i] != NULL; i++) {
        if (strcmp(text, words[i]) == 0)
            return true;
    }
    return false;
}

static int check_begin(struct stream_reader *r, const json_t *header, struct err *e)
{
    static const char *const formats[] = {"state", "namespace", NULL};
    if (r->state->n_records != 0)
        return broken(e, "it begins twice");
    if (!stream_is_word(stream_text_of(header, "format"), formats) ||
        stream_text_of(header, "runtime") == NULL)
        return broken(e, "its format is unknown");
    return 0;
}

static int check_blob(struct stream_reader *r, const json_t *header, struct err *e)
{
    static const char *const kinds[] = {"declarations", "overview", "variables", "namespace", NULL};
    const json_t *names = json_object_get(header, "names");
    if (!stream_is_word(stream_text_of(header, "kind"), kinds) || !json_is_array(names) ||
        !json_is_true(json_object_get(header, "body")))
        return broken(e, "a blob has no kind, no names or no body");
    size_t i;
    const json_t *name;
    json_array_foreach(names, i, name) {
        if (!json_is_string(name))
            return broken(e, "a name is not text");
    }
    r->n_names += json_array_size(names);
    uint32_t most = r->limits->max_names == 0 ? STREAM_NAMES_MAX : r->limits->max_names;
    if (r->n_names > most)
        return err_set(e, ERR_TOO_LARGE, "the state has more than %u names", most);
    return 0;
}

static int check_lost(struct stream_reader *r, const json_t *header, struct err *e)
{
    if (stream_text_of(header, "name") == NULL || stream_text_of(header, "type") == NULL ||
        stream_text_of(header, "advice") == NULL)
        return broken(e, "something that was lost has no name, type or advice");
    r->state->n_lost++;
    return 0;
}

static int check_end(struct stream_reader *r, const json_t *header, struct err *e)
{
    (void)header;
    (void)e;
    r->is_over = true;
    return 0;
}

static int check_failed(struct stream_reader *r, const json_t *header, struct err *e)
{
    const char *message = stream_text_of(header, "message");
    (void)r;
    return err_set(e, ERR_TOO_LARGE, "%.*s", FAILED_SHOWN_MAX,
                   message == NULL || message[0] == '\0' ? "the state could not be saved"
                                                         : message);
}

static const struct {
    const char *rec;
    int (*check)(struct stream_reader *r, const json_t *header, struct err *e);
    bool has_body;
} kinds[] = {
    {"begin", check_begin, false}, {"blob", check_blob, true},      {"lost", check_lost, false},
    {"end", check_end, false},     {"failed", check_failed, false},
};

static int check_header(struct stream_reader *r, bool *ret_has_body, struct err *e)
{
    _json_ json_t *header = NULL;
    if (json_read_object(r->header.data, r->header.len, &header, e) < 0)
        return err_context(e, "a record of the saved state");
    const char *rec = stream_text_of(header, "rec");
    for (size_t i = 0; rec != NULL && i < ARRAY_LEN(kinds); i++) {
        if (strcmp(rec, kinds[i].rec) != 0)
            continue;
        if (r->state->n_records == 0 && kinds[i].check != check_begin &&
            kinds[i].check != check_failed)
            return broken(e, "it has no beginning");
        *ret_has_body = kinds[i].has_body;
        return kinds[i].check(r, header, e);
    }
    return broken(e, "it has a record of an unknown kind");
}

static int stream_take_record(struct stream_reader *r, struct err *e)
{
    bool has_body = false;
    uint32_t most = r->limits->max_records == 0 ? STREAM_RECORDS_MAX : r->limits->max_records;
    if (r->state->n_records >= most)
        return err_set(e, ERR_TOO_LARGE, "the state has more than %u parts", most);
    uint32_t len;
    if (take_length(r, &len, e) < 0)
        return -1;
    if (len == 0 || len > STREAM_HEADER_MAX)
        return broken(e, "a record is longer than allowed");
    r->header_bytes += len;
    if (r->header_bytes > HEADERS_MAX)
        return err_set(e, ERR_TOO_LARGE, "the names in the state are too long to be saved");
    buf_clear(&r->header);
    buf_reserve(&r->header, len); /* 64 KiB at most */
    if (stream_take(r, r->header.data, len, e) < 0)
        return -1;
    r->header.len = len;
    if (check_header(r, &has_body, e) < 0)
        return -1;
    struct store_record *record = state_add(r->state, r->header.data, r->header.len);
    return has_body ? take_body(r, record, e) : 0;
}

int stream_read(const struct stream_source *source, const struct stream_sink *sink,
                const struct store_limits *limits, struct store_state *state, struct err *e)
{
    struct stream_reader r = {
        .source = source,
        .sink = sink,
        .limits = limits,
        .state = state,
        .ahead = mem_alloc(READ_AHEAD),
        .header = BUF_INIT(STREAM_HEADER_MAX + 1),
    };
    int rc = 0;
    while (rc == 0 && !r.is_over)
        rc = stream_take_record(&r, e);
    buf_free(&r.header);
    free(r.ahead);
    return rc;
}
