/* Who may ask, decided from a request's head before its body is read. */
#pragma once

#include "base/err.h"
#include "wire/http1.h"

/* On a loopback listener Host and Origin must name this machine (DNS rebinding); elsewhere an
 * Origin must be the Host itself. */
int guard_check_browser(const struct http1_parser *request, bool is_loopback, struct err *e);
int guard_check_key(const struct http1_parser *request, const char *key, struct err *e);

/* True for localhost, 127.x.y.z and [::1], with or without a port. */
bool guard_is_loopback_host(const char *host);
