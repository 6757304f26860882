/* Heads of HTTP answers. Daemon and tests; owns nothing. */
#include "wire/http1.h"

static const struct {
    int status;
    const char *line;
} status_lines[] = {
    {101, "HTTP/1.1 101 Switching Protocols\r\n"},
    {200, "HTTP/1.1 200 OK\r\n"},
    {201, "HTTP/1.1 201 Created\r\n"},
    {202, "HTTP/1.1 202 Accepted\r\n"},
    {204, "HTTP/1.1 204 No Content\r\n"},
    {206, "HTTP/1.1 206 Partial Content\r\n"},
    {304, "HTTP/1.1 304 Not Modified\r\n"},
    {400, "HTTP/1.1 400 Bad Request\r\n"},
    {401, "HTTP/1.1 401 Unauthorized\r\n"},
    {403, "HTTP/1.1 403 Forbidden\r\n"},
    {404, "HTTP/1.1 404 Not Found\r\n"},
    {405, "HTTP/1.1 405 Method Not Allowed\r\n"},
    {408, "HTTP/1.1 408 Request Timeout\r\n"},
    {409, "HTTP/1.1 409 Conflict\r\n"},
    {410, "HTTP/1.1 410 Gone\r\n"},
    {413, "HTTP/1.1 413 Content Too Large\r\n"},
    {414, "HTTP/1.1 414 URI Too Long\r\n"},
    {416, "HTTP/1.1 416 Range Not Satisfiable\r\n"},
    {417, "HTTP/1.1 417 Expectation Failed\r\n"},
    {429, "HTTP/1.1 429 Too Many Requests\r\n"},
    {431, "HTTP/1.1 431 Request Header Fields Too Large\r\n"},
    {500, "HTTP/1.1 500 Internal Server Error\r\n"},
    {501, "HTTP/1.1 501 Not Implemented\r\n"},
    {502, "HTTP/1.1 502 Bad Gateway\r\n"},
    {503, "HTTP/1.1 503 Service Unavailable\r\n"},
    {505, "HTTP/1.1 505 HTTP Version Not Supported\r\n"},
};

void http1_write_status(struct buf *out, int status)
{
    for (size_t i = 0; i < ARRAY_LEN(status_lines); i++) {
        if (status_lines[i].status == status) {
            buf_append_str(out, status_lines[i].line);
            return;
        }
    }
    buf_printf(out, "HTTP/1.1 %d Status\r\n", status);
}

static bool http1_write_is_plain(unsigned char c)
{
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
           (c != '\0' && strchr("!#$&+-.^_`|~", c) != NULL);
}

void http1_write_head(struct buf *out, const struct http1_response *response)
{
    http1_write_status(out, response->status);
    buf_append_str(out, "Content-Type: ");
    buf_append_str(out, response->content_type);
    buf_append_str(out, "\r\n");
    if (response->content_length >= 0)
        buf_printf(out, "Content-Length: %lld\r\n", (long long)response->content_length);
    else if (response->content_length == HTTP1_LENGTH_CHUNKED)
        buf_append_str(out, "Transfer-Encoding: chunked\r\n");
    if (!response->is_keep_alive)
        buf_append_str(out, "Connection: close\r\n");
    if (response->challenge != NULL)
        buf_printf(out, "WWW-Authenticate: %s\r\n", response->challenge);
    if (response->allow != NULL)
        buf_printf(out, "Allow: %s\r\n", response->allow);
    if (response->origin != NULL)
        buf_printf(out,
                   "Access-Control-Allow-Origin: %s\r\nVary: Origin\r\n"
                   "Access-Control-Expose-Headers: Content-Disposition, Content-Range, ETag, "
                   "Mcp-Session-Id, WWW-Authenticate\r\n",
                   response->origin);
    if (response->more != NULL)
        buf_append_str(out, response->more);
    if (response->file_name != NULL) {
        /* A browser shows the file as part of a page of ours only if it is a picture, and runs no
         * script of it: a stranger wrote it. The name comes twice, for clients that know RFC 5987
         * and for those that do not. */
        bool is_shown = response->tag != NULL;
        buf_printf(out, "Content-Disposition: %s; filename=\"", is_shown ? "inline" : "attachment");
        for (const char *c = response->file_name; *c != '\0'; c++)
            buf_append_char(out, http1_write_is_plain((unsigned char)*c) || *c == ' ' ? *c : '_');
        buf_append_str(out, "\"; filename*=UTF-8''");
        for (const char *c = response->file_name; *c != '\0'; c++) {
            if (http1_write_is_plain((unsigned char)*c))
                buf_append_char(out, *c);
            else
                buf_printf(out, "%%%02X", (unsigned char)*c);
        }
        buf_printf(out, "\r\nContent-Security-Policy: sandbox%s\r\n",
                   is_shown ? "; default-src 'none'; style-src 'unsafe-inline'; img-src data:"
                            : "");
    }
    if (response->version != NULL)
        buf_printf(out, "ETag: %s\r\nAccept-Ranges: bytes\r\n", response->version);
    if (response->is_part)
        buf_printf(out, "Content-Range: bytes %lld-%lld/%lld\r\n", (long long)response->first,
                   (long long)(response->first + response->content_length - 1),
                   (long long)response->total);
    else if (response->status == 416)
        buf_printf(out, "Content-Range: bytes */%lld\r\n", (long long)response->total);
    /* Answers are data of one caller: no cache may keep them, no browser may guess their type. What
     * has a tag its own client may keep, and ask whether it is still the same. */
    if (response->tag != NULL)
        buf_printf(out, "ETag: %s\r\nCache-Control: private, no-cache\r\n", response->tag);
    else
        buf_append_str(out, "Cache-Control: no-store\r\n");
    buf_append_str(out, "X-Content-Type-Options: nosniff\r\n\r\n");
}
