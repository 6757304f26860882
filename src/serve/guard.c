/* Who may ask: the peer's user on the UNIX socket, key and Host on TCP. Daemon; on the loop. */
#include "serve/guard.h"

#include "policy/keys.h"

#include <arpa/inet.h>
#include <strings.h>

static bool is_port_or_nothing(const char *s)
{
    if (*s == '\0')
        return true;
    size_t digits = strspn(s + 1, "0123456789");
    return *s == ':' && digits >= 1 && digits <= 5 && s[1 + digits] == '\0';
}

bool guard_is_loopback_host(const char *host)
{
    char name[64];
    size_t len = host[0] == '[' ? strcspn(host, "]") + 1 : strcspn(host, ":");
    if (len >= sizeof(name) || len > strlen(host) || !is_port_or_nothing(host + len))
        return false;
    memcpy(name, host, len);
    name[len] = '\0';
    struct in_addr v4;
    if (inet_pton(AF_INET, name, &v4) == 1)
        return ntohl(v4.s_addr) >> 24 == 127;
    return strcasecmp(name, "localhost") == 0 || strcmp(name, "[::1]") == 0;
}

/* Of an authority, "" if it names none. */
static const char *port_of(const char *authority)
{
    const char *colon = strrchr(authority, ':');
    return colon != NULL && strchr(colon, ']') == NULL ? colon + 1 : "";
}

/* On loopback the names may differ (localhost, 127.0.0.1) but not the port: what listens on another
 * one is another program, perhaps another user's. */
static bool is_own_origin(const char *origin, const char *host, bool is_loopback)
{
    const char *authority = strstr(origin, "://");
    if (authority == NULL)
        return false;
    authority += 3;
    if (host == NULL)
        return false;
    return is_loopback
               ? guard_is_loopback_host(authority) && strcmp(port_of(authority), port_of(host)) == 0
               : strcasecmp(authority, host) == 0;
}

int guard_check_browser(const struct http1_parser *request, bool is_loopback, struct err *e)
{
    const char *host = http1_header(request, "host", NULL);
    if (is_loopback && host != NULL && !guard_is_loopback_host(host)) {
        err_set(e, ERR_FORBIDDEN, "the Host header names another machine than this one");
        return err_advise(e, "Use http://127.0.0.1:PORT or http://localhost:PORT.");
    }
    const char *origin = http1_header(request, "origin", NULL);
    if (origin != NULL && !is_own_origin(origin, host, is_loopback)) {
        err_set(e, ERR_FORBIDDEN, "requests from pages of another origin are not taken");
        return err_advise(e, "Call from a program, or from a page of this server.");
    }
    return 0;
}

int guard_check_key(const struct http1_parser *request, const char *key, struct err *e)
{
    size_t len;
    const char *given = http1_header(request, "authorization", &len);
    if (given != NULL && keys_match(key, given, len))
        return 0;
    err_set(e, ERR_UNAUTHORIZED, given == NULL ? "no API key was given" : "the API key is wrong");
    return err_advise(e,
                      "Send \"Authorization: Bearer KEY\"; the key is in the file \"%s\" of the "
                      "data directory.",
                      KEYS_FILE);
}
