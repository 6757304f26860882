/* Where a page is, and whether it may be asked for. Nothing here is resolved or fetched. */
#pragma once

#include "base/err.h"

#include <jansson.h>
#include <sys/socket.h>

enum { FETCH_URL_MAX = 4096, FETCH_HOST_MAX = 253, FETCH_HEADER_MAX = 4096 };

struct fetch_url {
    char host[FETCH_HOST_MAX + 1]; /* lower case; an IPv6 address without brackets */
    uint16_t port;
    bool is_tls;
};

/* http and https, without user names; hosts are names of ASCII or addresses in their usual form. */
int fetch_url_parse(const char *url, struct fetch_url *ret, struct err *e);

/* An entry of a list of domains: "example.org", "*.example.org" (names below it), an address
 * ("10.0.0.5", "[::1]"), each with ":port" or else for ports 80 and 443. */
bool fetch_entry_is_valid(const char *entry);

/* `domains`: an array of such entries. -1 with ERR_FORBIDDEN if none is about this host and port.
 */
int fetch_check_host(const json_t *domains, const struct fetch_url *url, struct err *e);
/* -1 with ERR_FORBIDDEN if the address is not one of the public Internet and none of the entries is
 * that very address. */
int fetch_check_address(const json_t *domains, const struct fetch_url *url,
                        const struct sockaddr *address, struct err *e);

/* One line "Name: value", of plain characters: nothing that could begin a line of its own. */
bool fetch_header_is_fit(const char *header);
