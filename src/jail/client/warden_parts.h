/* What the files of the daemon's side share. warden.c has the warden's life and the socket to it,
 * warden_requests.c what is asked of it. */
#pragma once

#include "jail/warden.h"

/* One message, and a copy of `fd` with it unless that is -1. */
int warden_send(struct warden *w, const void *data, size_t len, int fd, struct err *e);
