/* Pages as text: whatever a server sends, the text is bounded, valid and part of an object. */
#include "base/utf8.h"
#include "explore/fetch_url.h"
#include "explore/html.h"
#include "explore/page.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool claim)
{
    if (!claim)
        abort();
}

static void check_html(const char *text, size_t len)
{
    enum { MOST = 50 };
    struct html_text t = {.text = BUF_INIT(4 * MOST), .title = BUF_INIT(KIB), .max_chars = MOST};
    html_to_text(text, len, &t);
    require(t.text.len <= 4 * MOST);
    if (utf8_is_valid(text, len)) {
        require(!t.text.overflowed);
        require(utf8_is_valid(buf_str(&t.text), t.text.len));
    }
    buf_free(&t.text);
    buf_free(&t.title);
}

/* As fetched, with a type of its own. */
static void check_page(const char *type, const char *text, size_t len)
{
    struct err e;
    _buf_ struct buf answer = BUF_INIT(MIB);
    struct json_out out = JSON_OUT(&answer);
    _json_ json_t *read = NULL;
    json_put_object(&out);
    if (page_put_text(&out, text, len, type, 1000, &e) < 0)
        return;
    json_put_object_end(&out);
    require(json_read_object(answer.data, answer.len, &read, &e) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    /* A copy with a NUL behind it, as bodies have; and an exact one, whose end is watched. */
    char *text = mem_alloc(size + 1);
    memcpy(text, data, size);
    char *exact = size > 0 ? mem_copy(data, size) : NULL;
    struct fetch_url url;
    struct err e;
    check_html(exact == NULL ? "" : exact, size);
    check_page("text/html", text, size);
    check_page("text/plain; charset=iso-8859-1", text, size);
    check_page(NULL, text, size);
    if (fetch_url_parse(text, &url, &e) == 0)
        require(url.host[0] != '\0' && url.port > 0 && strlen(url.host) <= FETCH_HOST_MAX);
    fetch_entry_is_valid(text);
    free(text);
    free(exact);
    return 0;
}
