/* URLs, listed domains, public addresses. Daemon, and the box that fetches; owns nothing. */
#include "explore/fetch_url.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <netinet/in.h>
#include <string.h>
#include <strings.h>

/* ---- URLs ------------------------------------------------------------------------------------ */

static bool url_is_address(const char *host)
{
    unsigned char ignored[16];
    return inet_pton(AF_INET, host, ignored) == 1 || inet_pton(AF_INET6, host, ignored) == 1;
}

/* "127.1", "0x7f.0.0.1" and 2130706433 are addresses to some resolvers: nobody needs them. */
static bool url_is_odd_number(const char *host)
{
    const char *last = strrchr(host, '.');
    last = last == NULL ? host : last + 1;
    return isdigit((unsigned char)last[0]) && !url_is_address(host);
}

/* "host", "host:port", "[v6]:port" in `len` bytes. port stays as it is if there is none. */
static bool url_read_host(const char *text, size_t len, struct fetch_url *ret)
{
    bool is_v6 = len > 0 && text[0] == '[';
    const char *close = is_v6 ? memchr(text, ']', len) : memchr(text, ':', len);
    const char *from = text + is_v6;
    if (is_v6 && close == NULL)
        return false;
    size_t n = (size_t)((close == NULL ? text + len : close) - from);
    const char *rest = from + n + is_v6;
    if (n == 0 || n > FETCH_HOST_MAX)
        return false;
    for (size_t i = 0; i < n; i++) {
        char c = (char)tolower((unsigned char)from[i]);
        if (!isascii(c) ||
            (!isalnum((unsigned char)c) && c != '.' && c != (is_v6 ? ':' : '-') && c != '_'))
            return false;
        ret->host[i] = c;
    }
    ret->host[n] = '\0';
    if (!is_v6 && n > 1 && ret->host[n - 1] == '.')
        ret->host[n - 1] = '\0';
    if ((is_v6 && !url_is_address(ret->host)) || url_is_odd_number(ret->host) ||
        ret->host[0] == '.')
        return false;
    if (rest == text + len)
        return true;
    unsigned port = 0;
    for (const char *at = rest + 1; at < text + len; at++) {
        if (*at < '0' || *at > '9' || port > 65535)
            return false;
        port = port * 10 + (unsigned)(*at - '0');
    }
    ret->port = (uint16_t)port;
    return *rest == ':' && port > 0 && port <= 65535;
}

int fetch_url_parse(const char *url, struct fetch_url *ret, struct err *e)
{
    static const char advice[] = "Write it as https://host/path, without user name; a host that "
                                 "is not ASCII in its form that begins with xn--.";
    size_t len = strlen(url);
    *ret = (struct fetch_url){0};
    if (strncasecmp(url, "https://", 8) == 0)
        ret->is_tls = true;
    else if (strncasecmp(url, "http://", 7) != 0) {
        err_set(e, ERR_INVALID, "only http and https are fetched");
        return err_advise(e, "%s", advice);
    }
    ret->port = ret->is_tls ? 443 : 80;
    bool is_good = len <= FETCH_URL_MAX;
    for (size_t i = 0; is_good && i < len; i++)
        is_good = (unsigned char)url[i] > ' ' && url[i] != 0x7f && url[i] != '\\';
    const char *host = url + (ret->is_tls ? 8 : 7);
    if (!is_good || !url_read_host(host, strcspn(host, "/?#"), ret)) {
        err_set(e, ERR_INVALID, "the URL cannot be read");
        return err_advise(e, "%s", advice);
    }
    return 0;
}

/* ---- the list -------------------------------------------------------------------------------- */

/* The entry's host, its port (0: the usual ones), and whether it is about names below it. */
static bool url_read_entry(const char *entry, struct fetch_url *ret, bool *ret_is_below)
{
    *ret = (struct fetch_url){0};
    *ret_is_below = strncmp(entry, "*.", 2) == 0;
    entry += *ret_is_below ? 2 : 0;
    return url_read_host(entry, strlen(entry), ret) &&
           (!*ret_is_below || (strchr(ret->host, '.') != NULL && !url_is_address(ret->host)));
}

bool fetch_entry_is_valid(const char *entry)
{
    struct fetch_url ignored;
    bool is_below;
    return url_read_entry(entry, &ignored, &is_below);
}

static bool url_is_port(uint16_t listed, uint16_t port)
{
    return listed == 0 ? port == 80 || port == 443 : listed == port;
}

static bool url_is_same_address(const char *a, const char *b)
{
    unsigned char one[16], other[16];
    return (inet_pton(AF_INET, a, one) == 1 && inet_pton(AF_INET, b, other) == 1 &&
            memcmp(one, other, 4) == 0) ||
           (inet_pton(AF_INET6, a, one) == 1 && inet_pton(AF_INET6, b, other) == 1 &&
            memcmp(one, other, 16) == 0);
}

int fetch_check_host(const json_t *domains, const struct fetch_url *url, struct err *e)
{
    size_t i, len = strlen(url->host);
    json_t *value;
    json_array_foreach(domains, i, value) {
        struct fetch_url entry;
        bool is_below;
        if (!url_read_entry(json_string_value(value), &entry, &is_below) ||
            !url_is_port(entry.port, url->port))
            continue;
        size_t n = strlen(entry.host);
        if (is_below
                ? len > n + 1 && url->host[len - n - 1] == '.' &&
                      strcmp(url->host + len - n, entry.host) == 0
                : strcmp(url->host, entry.host) == 0 || url_is_same_address(url->host, entry.host))
            return 0;
    }
    err_set(e, ERR_FORBIDDEN, "%s:%u is not among the domains that may be fetched from", url->host,
            url->port);
    return err_advise(e,
                      "The list is `explore: web_domains:` of the configuration, for each agent: "
                      "\"example.org\", \"*.example.org\", \"example.org:8080\".");
}

/* ---- addresses ------------------------------------------------------------------------------- */

static bool url_is_public_v4(uint32_t a)
{
    static const struct {
        uint32_t net;
        int bits;
    } apart[] = {
        {0x00000000, 8},  /* this host */
        {0x0a000000, 8},  /* private */
        {0x64400000, 10}, /* of providers; 100.100.100.200 is a metadata service */
        {0x7f000000, 8},  /* loopback */
        {0xa9fe0000, 16}, /* link-local; 169.254.169.254 is a metadata service */
        {0xac100000, 12}, /* private */
        {0xc0000000, 24}, /* protocol assignments; 192.0.0.192 is a metadata service */
        {0xc0000200, 24}, /* for documentation */
        {0xc0586300, 24}, /* relays of 6to4 */
        {0xc0a80000, 16}, /* private */
        {0xc6120000, 15}, /* benchmarks */
        {0xc6336400, 24}, /* for documentation */
        {0xcb007100, 24}, /* for documentation */
        {0xe0000000, 3},  /* multicast, reserved, broadcast */
        {0xa83f8110, 32}, /* 168.63.129.16, the host of a virtual machine in a large cloud */
    };
    for (size_t i = 0; i < ARRAY_LEN(apart); i++)
        if ((a ^ apart[i].net) >> (32 - apart[i].bits) == 0)
            return false;
    return true;
}

/* Only 2000::/3 is given out. Addresses that hold one of IPv4 are as public as that. */
static bool url_is_public_v6(const unsigned char a[16])
{
    static const unsigned char mapped[12] = {[10] = 0xff, [11] = 0xff};
    static const unsigned char nat64[12] = {0x00, 0x64, 0xff, 0x9b};
    uint32_t last = (uint32_t)a[12] << 24 | (uint32_t)a[13] << 16 | (uint32_t)a[14] << 8 | a[15];
    uint32_t of_6to4 = (uint32_t)a[2] << 24 | (uint32_t)a[3] << 16 | (uint32_t)a[4] << 8 | a[5];
    if (memcmp(a, mapped, 12) == 0 || memcmp(a, nat64, 12) == 0)
        return url_is_public_v4(last);
    if (a[0] == 0x20 && a[1] == 0x02)
        return url_is_public_v4(of_6to4);
    bool is_special =
        a[0] == 0x20 && a[1] == 0x01 && (a[2] < 0x02 || (a[2] == 0x0d && a[3] == 0xb8));
    return (a[0] & 0xe0) == 0x20 && !is_special;
}

int fetch_check_address(const json_t *domains, const struct fetch_url *url,
                        const struct sockaddr *address, struct err *e)
{
    char text[INET6_ADDRSTRLEN] = "";
    bool is_public = false;
    if (address->sa_family == AF_INET) {
        const struct sockaddr_in *v4 = (const void *)address;
        is_public = url_is_public_v4(ntohl(v4->sin_addr.s_addr));
        inet_ntop(AF_INET, &v4->sin_addr, text, sizeof(text));
    } else if (address->sa_family == AF_INET6) {
        const struct sockaddr_in6 *v6 = (const void *)address;
        is_public = url_is_public_v6(v6->sin6_addr.s6_addr);
        inet_ntop(AF_INET6, &v6->sin6_addr, text, sizeof(text));
    }
    size_t i;
    json_t *value;
    json_array_foreach(domains, i, value) {
        struct fetch_url entry;
        bool is_below;
        if (url_read_entry(json_string_value(value), &entry, &is_below) &&
            url_is_port(entry.port, url->port) && url_is_same_address(entry.host, text))
            return 0;
    }
    if (is_public)
        return 0;
    err_set(e, ERR_FORBIDDEN, "%s is %s, which is no address of the public Internet", url->host,
            text);
    return err_advise(e, "Private, local and metadata addresses are fetched from only if the list "
                         "of domains has the address itself, such as \"127.0.0.1:8080\".");
}

bool fetch_header_is_fit(const char *header)
{
    static const char name[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_";
    size_t len = strspn(header, name), total = strlen(header);
    for (size_t i = 0; i < total; i++)
        if ((unsigned char)header[i] < 0x20 || (unsigned char)header[i] > 0x7e)
            return false;
    return len > 0 && len < 64 && header[len] == ':' && total < FETCH_HEADER_MAX;
}
