/* A cell or a notebook's row as bytes, for the journal and the queue, and back: a header, N_NUMBERS
 * numbers, then texts, of each its length plus one (0: NULL), the bytes, a NUL. The last text is
 * there only if it is not NULL, as in journals of older daemons. Daemon; packed on
 * the loop, unpacked by the writer thread. */
#include "store/record.h"

#include <string.h>

enum { N_NUMBERS = 8, N_TEXTS = 7, N_TEXTS_ALWAYS = 6 };

struct text {
    const char *data; /* NULL if none */
    size_t len;
};

struct fields {
    uint64_t numbers[N_NUMBERS];
    struct text texts[N_TEXTS];
};

static struct text record_text_of(const char *s)
{
    return (struct text){.data = s, .len = s == NULL ? 0 : strlen(s)};
}

static void pack(struct buf *out, enum record_type type, const struct fields *fields)
{
    size_t bytes = sizeof(struct record_header) + sizeof(fields->numbers);
    size_t n_texts = fields->texts[N_TEXTS_ALWAYS].data != NULL ? N_TEXTS : N_TEXTS_ALWAYS;
    for (size_t i = 0; i < n_texts; i++)
        bytes += sizeof(uint32_t) + (fields->texts[i].data == NULL ? 0 : fields->texts[i].len + 1);
    struct record_header header = {.bytes = (uint32_t)bytes, .type = type};
    if (bytes > UINT32_MAX || !buf_reserve(out, bytes)) {
        out->overflowed = true;
        return;
    }
    buf_append(out, &header, sizeof(header));
    buf_append(out, fields->numbers, sizeof(fields->numbers));
    for (size_t i = 0; i < n_texts; i++) {
        const struct text *text = &fields->texts[i];
        uint32_t len = text->data == NULL ? 0 : (uint32_t)text->len + 1;
        buf_append(out, &len, sizeof(len));
        if (len > 0) {
            buf_append(out, text->data, text->len);
            buf_append_char(out, '\0');
        }
    }
}

void record_pack_notebook(struct buf *out, const struct store_notebook *row)
{
    const struct fields fields = {
        .numbers = {row->created_ms, row->count},
        .texts = {record_text_of(row->id), record_text_of(row->user), record_text_of(row->title),
                  record_text_of(row->runtime), record_text_of(row->metadata),
                  record_text_of(row->spec)},
    };
    pack(out, RECORD_NOTEBOOK, &fields);
}

void record_pack_cell(struct buf *out, const char *notebook, const struct store_cell *cell)
{
    const struct fields fields = {
        .numbers = {(uint64_t)cell->place, (uint64_t)cell->kind, cell->exec_id, cell->count,
                    cell->revision, cell->created_ms, cell->executed_ms, cell->duration_us},
        .texts = {record_text_of(notebook),
                  record_text_of(cell->id),
                  record_text_of(cell->state),
                  {cell->source, cell->source_len},
                  {cell->outputs, cell->outputs_len},
                  {cell->metadata, cell->metadata_len},
                  record_text_of(cell->waits)},
    };
    pack(out, RECORD_CELL, &fields);
}

/* ---- back ------------------------------------------------------------------------------------ */

static bool record_read_text(const char *data, size_t len, size_t *at, struct text *ret)
{
    uint32_t n;
    if (len - *at < sizeof(n))
        return false;
    memcpy(&n, data + *at, sizeof(n));
    *at += sizeof(n);
    *ret = (struct text){0};
    if (n == 0)
        return true;
    if (len - *at < n || data[*at + n - 1] != '\0')
        return false;
    *ret = (struct text){.data = data + *at, .len = n - 1};
    *at += n;
    return true;
}

bool record_unpack(const char *data, size_t len, struct record *ret)
{
    struct record_header header;
    struct fields fields = {0};
    size_t at = sizeof(header) + sizeof(fields.numbers);
    if (len < at)
        return false;
    memcpy(&header, data, sizeof(header));
    memcpy(fields.numbers, data + sizeof(header), sizeof(fields.numbers));
    for (size_t i = 0; i < N_TEXTS && (i < N_TEXTS_ALWAYS || at < len); i++) {
        if (!record_read_text(data, len, &at, &fields.texts[i]))
            return false;
    }
    *ret =
        (struct record){.type = header.type, .seq = header.seq, .notebook = fields.texts[0].data};
    if (at != len || ret->notebook == NULL || header.bytes != len)
        return false;
    if (header.type == RECORD_NOTEBOOK) {
        ret->row = (struct store_notebook){.id = fields.texts[0].data,
                                           .user = fields.texts[1].data,
                                           .title = fields.texts[2].data,
                                           .runtime = fields.texts[3].data,
                                           .metadata = fields.texts[4].data,
                                           .spec = fields.texts[5].data,
                                           .created_ms = fields.numbers[0],
                                           .count = fields.numbers[1]};
    } else if (header.type == RECORD_CELL && fields.texts[1].data != NULL) {
        ret->cell = (struct store_cell){.place = (int64_t)fields.numbers[0],
                                        .kind = (int)fields.numbers[1],
                                        .exec_id = fields.numbers[2],
                                        .count = fields.numbers[3],
                                        .revision = fields.numbers[4],
                                        .created_ms = fields.numbers[5],
                                        .executed_ms = fields.numbers[6],
                                        .duration_us = fields.numbers[7],
                                        .id = fields.texts[1].data,
                                        .state = fields.texts[2].data,
                                        .source = fields.texts[3].data,
                                        .source_len = fields.texts[3].len,
                                        .outputs = fields.texts[4].data,
                                        .outputs_len = fields.texts[4].len,
                                        .metadata = fields.texts[5].data,
                                        .metadata_len = fields.texts[5].len,
                                        .waits = fields.texts[6].data};
    } else {
        return false;
    }
    return true;
}
