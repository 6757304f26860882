/* A cell that writes, shows, updates and clears as it likes, and callers who ask meanwhile: the row
 * is JSON within its limits, an answer is within its budget, and no byte is told twice. */
#include "cell/outputs.h"
#include "cell/transcript.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { ROW_TEXT = 2048, ROW_BYTES = 16 * 1024, BUDGET = 1000, RING = 1500 };

static void show(struct transcript *t, uint8_t byte, const char *text, size_t len)
{
    static const char *const types[] = {"text", "image", "html", "markdown"};
    json_t *output = json_pack("{ss}", "type", types[byte >> 2 & 3]);
    json_object_set_new(output, "text", json_stringn_nocheck(text, len));
    if (byte & 1)
        json_object_set_new(output, "display_id", json_string(byte & 16 ? "x" : "y"));
    uint64_t serial = transcript_show(t, output, byte & 2);
    if (byte & 32)
        transcript_await_blob(t, serial, len);
    if (byte & 64)
        transcript_name_blob(t, serial, "abc");
    if (byte & 128)
        transcript_lose_blob(t, serial, "why");
    transcript_tell(t, serial, output, true);
}

static void check_row(const struct transcript *t)
{
    _buf_ struct buf row = BUF_INIT(64 * MIB);
    transcript_put(t, &row);
    if (row.len == 0)
        return;
    json_t *list = json_loadb(buf_str(&row), row.len, 0, NULL);
    if (list == NULL || row.len > ROW_BYTES + 512 * KIB)
        abort();
    json_decref(list);
}

static void check_answer(struct transcript *t, bool is_last)
{
    struct transcript_news *news;
    transcript_begin_answer(t, is_last);
    for (size_t i = 0; i < OUTPUT_STREAMS; i++) {
        _buf_ struct buf out = BUF_INIT(MIB);
        uint64_t new = transcript_new_text(t, (enum output_stream)i);
        uint64_t omitted = transcript_put_text(t, (enum output_stream)i, BUDGET, &out);
        if (omitted > new || out.len > 3 * BUDGET + 64)
            abort();
    }
    size_t n = transcript_list_news(t, &news);
    for (size_t i = 0; i < n; i++)
        if (news[i].json != NULL) {
            json_t *same = json_loadb(news[i].json, news[i].len, 0, NULL);
            if (!json_equal(same, news[i].output))
                abort();
            json_decref(same);
        }
    transcript_free_news(news, n);
    transcript_end_answer(t);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct output_ring rings[OUTPUT_STREAMS];
    struct transcript t;
    char text[4096];
    for (size_t i = 0; i < OUTPUT_STREAMS; i++)
        output_ring_init(&rings[i], RING);
    transcript_init(&t, 1, "", rings);
    t.budget = BUDGET;
    t.pictures_left = 100;
    if (size > 0 && data[0] & 1)
        transcript_record(&t, ROW_TEXT, ROW_BYTES);
    for (size_t i = 1; i + 2 < size; i += 3) {
        size_t len = (size_t)data[i + 1] * 16;
        memset(text, data[i + 2] % 64 + ' ', sizeof(text));
        switch (data[i] & 7) {
        case 0:
        case 1:
            transcript_append(&t, (enum output_stream)(data[i] & 1), text, len, data[i] & 8);
            break;
        case 2:
        case 3:
            show(&t, data[i + 2], text, len);
            break;
        case 4:
            transcript_clear(&t, data[i] & 8);
            break;
        case 5:
            transcript_clear_row(&t);
            break;
        case 6:
            check_answer(&t, data[i] & 8);
            break;
        default:
            check_row(&t);
            break;
        }
    }
    check_row(&t);
    if (size > 0 && data[0] & 2)
        transcript_close(&t);
    check_answer(&t, true);
    transcript_drop_answer(&t);
    transcript_free(&t);
    for (size_t i = 0; i < OUTPUT_STREAMS; i++)
        output_ring_free(&rings[i]);
    return 0;
}
