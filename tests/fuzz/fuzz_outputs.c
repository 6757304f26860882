/* The outputs of a stored row, whatever wrote them: views stay within the text. */
#include "cell/outputs.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct output_view *view, struct output_text text)
{
    if (text.data != NULL &&
        (text.data < view->all.data || text.data + text.len > view->all.data + view->all.len))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    _free_ char *text = mem_copy(data, size);
    _buf_ struct buf out = BUF_INIT(size + 16);
    struct json_out json = JSON_OUT(&out);
    struct output_scan scan = OUTPUT_SCAN(text, size);
    struct output_view view;
    while (output_next(&scan, &view)) {
        check(&view, view.display_id);
        check(&view, view.updates);
        check(&view, view.hash);
        check(&view, view.ref);
        output_image_number(&view, 0);
        if (output_is_update(&view)) {
            check(&view, output_unmarked(&view));
            output_is_same(&view, &view);
        }
    }
    output_put_public(&json, text, size);
    return 0;
}
