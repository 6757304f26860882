/* A body by its type and character set, as text. In the box that fetched the page. */
#include "explore/page.h"

#include "base/utf8.h"
#include "explore/html.h"

#include <ctype.h>
#include <errno.h>
#include <iconv.h>
#include <string.h>
#include <strings.h>

enum { PAGE_CHARSET_SIZE = 41, PAGE_LOOKED_AT = 1024 };

/* The name behind "charset=", in quotes or not; "" if there is none. */
static void page_find_charset(const char *text, size_t len, char ret[PAGE_CHARSET_SIZE])
{
    static const char word[] = "charset=";
    ret[0] = '\0';
    for (size_t i = 0; i + sizeof(word) <= len; i++) {
        if (strncasecmp(text + i, word, sizeof(word) - 1) != 0)
            continue;
        const char *at = text + i + sizeof(word) - 1, *end = text + len;
        size_t n = 0;
        if (at < end && (*at == '"' || *at == '\''))
            at++;
        /* No '/': to iconv that begins options, or a path. */
        for (; at < end && n < PAGE_CHARSET_SIZE - 1 &&
               (isalnum((unsigned char)*at) || strchr("_:.-", *at) != NULL) && *at != '\0';
             at++)
            ret[n++] = *at;
        ret[n] = '\0';
        return;
    }
}

/* What is no character of its set becomes U+FFFD. False if nobody knows the set. */
static bool page_convert(const char *charset, const char *body, size_t len, struct buf *out)
{
    iconv_t converter = iconv_open("UTF-8", charset);
    if (converter == (iconv_t)-1)
        return false;
    char *in = (char *)(uintptr_t)body;
    while (len > 0 && buf_reserve(out, 64 * KIB)) {
        char *to = out->data + out->len;
        size_t room = 64 * KIB;
        size_t done = iconv(converter, &in, &len, &to, &room);
        int error = errno;
        out->len = (size_t)(to - out->data);
        if (done != (size_t)-1 || error == E2BIG)
            continue;
        buf_append_str(out, "\xef\xbf\xbd");
        in++;
        len--;
    }
    iconv_close(converter);
    return true;
}

static void page_to_utf8(const char *body, size_t len, const char *type, bool is_html,
                         struct buf *out)
{
    char charset[PAGE_CHARSET_SIZE];
    page_find_charset(type, strlen(type), charset);
    if (len >= 3 && memcmp(body, "\xef\xbb\xbf", 3) == 0) {
        snprintf(charset, sizeof(charset), "utf-8");
        body += 3;
        len -= 3;
    } else if (len >= 2 && (memcmp(body, "\xff\xfe", 2) == 0 || memcmp(body, "\xfe\xff", 2) == 0)) {
        snprintf(charset, sizeof(charset), "UTF-16");
    }
    if (charset[0] == '\0' && is_html)
        page_find_charset(body, MIN(len, (size_t)PAGE_LOOKED_AT), charset);
    if (charset[0] == '\0' && !utf8_is_valid(body, len))
        snprintf(charset, sizeof(charset), "windows-1252");
    bool is_utf8 =
        charset[0] == '\0' || strcasecmp(charset, "utf-8") == 0 || strcasecmp(charset, "utf8") == 0;
    if (is_utf8 || !page_convert(charset, body, len, out))
        utf8_append_lossy(out, body, len);
}

static bool page_is(const char *type, const char *what)
{
    return strcasestr(type, what) != NULL;
}

int page_put_text(struct json_out *out, const char *body, size_t len, const char *type,
                  size_t max_chars, struct err *e)
{
    if (type == NULL)
        type = "";
    bool is_html = page_is(type, "html") ||
                   (type[0] == '\0' && len > 0 && body[strspn(body, " \t\r\n")] == '<');
    bool is_text = is_html || strncasecmp(type, "text/", 5) == 0 || page_is(type, "json") ||
                   page_is(type, "xml") || page_is(type, "javascript") || page_is(type, "yaml") ||
                   (type[0] == '\0' && memchr(body == NULL ? "" : body, '\0', len) == NULL);
    if (!is_text) {
        err_set(e, ERR_CONFLICT, "the page is no text but %.100s",
                type[0] != '\0' ? type : "unknown bytes");
        return err_advise(e, "Load it as a file, and look into that.");
    }
    /* Each byte may become a character of three. */
    _buf_ struct buf utf8 = BUF_INIT(3 * len + 64 * KIB + 4);
    struct html_text text = {
        .text = BUF_INIT(4 * max_chars + 4), .title = BUF_INIT(4 * KIB), .max_chars = max_chars};
    page_to_utf8(body == NULL ? "" : body, len, type, is_html, &utf8);
    for (char *at = utf8.data;
         at != NULL && (at = memchr(at, '\0', utf8.len - (size_t)(at - utf8.data))) != NULL;)
        *at++ = ' ';
    if (is_html)
        html_to_text(buf_str(&utf8), utf8.len, &text);
    else
        html_take_text(&text, buf_str(&utf8), utf8.len);
    if (text.title.len > 0)
        json_put_member_text(out, "title", buf_str(&text.title), text.title.len);
    json_put_member_text(out, "text", buf_str(&text.text), text.text.len);
    json_put_member_int(out, "chars", (int64_t)text.n_chars);
    json_put_member_bool(out, "is_cut", text.n_chars > max_chars);
    buf_free(&text.text);
    buf_free(&text.title);
    return 0;
}
