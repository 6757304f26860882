/* Sockets that clients connect to, bound but not yet accepting. */
#pragma once

#include "base/err.h"

enum { LISTEN_URL_SIZE = 80 };

/* "HOST:PORT" or "[V6]:PORT"; `ret_url` is how this machine can reach it. */
int listen_tcp(const char *address, bool only_loopback, int *ret_fd, char ret_url[LISTEN_URL_SIZE],
               struct err *e);

/* Whether it is bound to all addresses of this machine. */
bool listen_is_everywhere(int fd);

/* SERVE_SOCKET in the directory, for its owner only; replaces what a dead daemon left there. */
int listen_unix(int dir_fd, int *ret_fd, struct err *e);
