/* Heads of requests and answers on their way through a tunnel. Daemon; on the loop. Both are
 * written anew from what was parsed: no byte is passed on that two readers could take differently.
 */
#include "serve/tunnel_heads.h"

#include <strings.h>

/* Content that runs in a browser gets an origin of its own, which nobody shares: it is a stranger's
 * and must not act as the daemon's. */
#define TUNNEL_POLICY                                                                              \
    "Content-Security-Policy: sandbox allow-downloads allow-forms allow-modals allow-popups "      \
    "allow-scripts\r\n"

/* Of one connection, not of the message (RFC 9110, 7.6.1). */
static const char *const tunnel_hops[] = {"connection",
                                          "keep-alive",
                                          "proxy-authenticate",
                                          "proxy-authorization",
                                          "proxy-connection",
                                          "te",
                                          "trailer",
                                          "transfer-encoding",
                                          "upgrade",
                                          "http2-settings",
                                          "content-length",
                                          "expect",
                                          NULL};

/* Between the client and the daemon: the key, whom it speaks for, and what a browser has collected
 * for all servers of this machine, whatever their ports. What is said of the way is ours to say. */
static const char *const tunnel_own_of_request[] = {"authorization",
                                                    "cella-agent",
                                                    "cookie",
                                                    "cookie2",
                                                    "forwarded",
                                                    "host",
                                                    "origin",
                                                    "referer",
                                                    "x-forwarded-for",
                                                    "x-forwarded-host",
                                                    "x-forwarded-prefix",
                                                    "x-forwarded-proto",
                                                    NULL};

/* What would hold for the daemon's origin, or for everything on this machine. */
static const char *const tunnel_own_of_answer[] = {"alt-svc",
                                                   "clear-site-data",
                                                   "location", /* written anew */
                                                   "nel",
                                                   "public-key-pins",
                                                   "report-to",
                                                   "reporting-endpoints",
                                                   "service-worker-allowed",
                                                   "set-cookie",
                                                   "set-cookie2",
                                                   "strict-transport-security",
                                                   NULL};

static bool tunnel_is_in(const char *const *list, const char *name)
{
    for (; *list != NULL; list++)
        if (strcasecmp(*list, name) == 0)
            return true;
    return false;
}

static void tunnel_write_header(struct buf *out, const char *name, const char *value)
{
    buf_append_str(out, name);
    buf_append_str(out, ": ");
    buf_append_str(out, value);
    buf_append_str(out, "\r\n");
}

static void tunnel_copy_headers(struct buf *out, const struct http1_parser *from,
                                const char *const *own)
{
    for (size_t i = 0; i < from->n_headers; i++) {
        const char *name = from->head.data + from->headers[i].name.at;
        if (!tunnel_is_in(tunnel_hops, name) && !tunnel_is_in(own, name) &&
            !http1_lists(from, "connection", name))
            tunnel_write_header(out, name, from->head.data + from->headers[i].value.at);
    }
}

static void tunnel_write_length(struct buf *out, const struct http1_parser *from)
{
    buf_printf(out, "Content-Length: %llu\r\n", (unsigned long long)from->llhttp.content_length);
}

bool tunnel_asks_for_upgrade(const struct http1_parser *request)
{
    return request->is_http_1_1 && !request->has_body &&
           strcmp(http1_method(request), "GET") == 0 &&
           http1_lists(request, "connection", "upgrade") &&
           http1_lists(request, "upgrade", "websocket");
}

void tunnel_write_request(struct buf *out, const struct http1_parser *request,
                          const struct tunnel_way *way)
{
    const char *rest = http1_target(request) + way->prefix_len;
    const char *host = http1_header(request, "host", NULL);
    buf_printf(out, "%s %s", http1_method(request), rest[0] == '/' ? "" : "/");
    buf_append_str(out, rest);
    buf_printf(out, " HTTP/1.1\r\nHost: localhost:%u\r\n", way->port);
    tunnel_copy_headers(out, request, tunnel_own_of_request);
    buf_append_str(out, "X-Forwarded-Proto: http\r\nX-Forwarded-Prefix: ");
    buf_append(out, way->prefix, way->prefix_len);
    buf_append_str(out, "\r\n");
    if (host != NULL)
        tunnel_write_header(out, "X-Forwarded-Host", host);
    if (http1_header(request, "transfer-encoding", NULL) != NULL)
        buf_append_str(out, "Transfer-Encoding: chunked\r\n");
    else if (http1_has_length(request))
        tunnel_write_length(out, request);
    buf_append_str(out, tunnel_asks_for_upgrade(request)
                            ? "Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n"
                            : "Connection: close\r\n\r\n");
}

bool tunnel_has_body(const struct http1_parser *answer)
{
    int status = http1_status(answer);
    return !answer->is_for_head && status >= 200 && status != 204 && status != 304;
}

/* A path of the server is one below the prefix here. What leads elsewhere stays as it is: nobody
 * follows it but the client. */
static void tunnel_write_location(struct buf *out, const char *to, const struct tunnel_way *way)
{
    char own[40];
    size_t own_len = (size_t)snprintf(own, sizeof(own), "http://localhost:%u", way->port);
    if (strncasecmp(to, own, own_len) == 0 && (to[own_len] == '/' || to[own_len] == '\0'))
        to += own_len;
    bool is_path = to[0] == '\0' || (to[0] == '/' && to[1] != '/');
    buf_append_str(out, "Location: ");
    if (is_path)
        buf_append(out, way->prefix, way->prefix_len);
    buf_append_str(out, to);
    buf_append_str(out, "\r\n");
}

void tunnel_write_answer(struct buf *out, const struct http1_parser *answer,
                         const struct tunnel_way *way, bool is_chunked, bool is_keep_alive)
{
    const char *location = http1_header(answer, "location", NULL);
    int status = http1_status(answer);
    http1_write_status(out, status);
    tunnel_copy_headers(out, answer, tunnel_own_of_answer);
    if (location != NULL)
        tunnel_write_location(out, location, way);
    buf_append_str(out, TUNNEL_POLICY);
    if (status == 101) {
        buf_append_str(out, "Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n");
        return;
    }
    if (http1_has_length(answer) && status != 204)
        tunnel_write_length(out, answer);
    else if (tunnel_has_body(answer) && is_chunked)
        buf_append_str(out, "Transfer-Encoding: chunked\r\n");
    buf_append_str(out, is_keep_alive ? "\r\n" : "Connection: close\r\n\r\n");
}
