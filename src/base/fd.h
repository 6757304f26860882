/* File descriptors: close-on-exec at birth, passed by name, read with a limit. */
#pragma once

#include "base/base.h"

#include <sys/types.h>

enum { FD_PASS_MAX = 16 }; /* descriptors in one message */

int fd_write_all(int fd, const void *data, size_t len); /* 0 or -errno */
int fd_set_nonblocking(int fd, bool nonblocking);

/* One sendmsg/recvmsg with descriptors attached. fd_recv writes at most `max_fds` descriptors,
 * close-on-exec, to `fds` and their number to `ret_n_fds`; surplus ones are closed. Both return
 * bytes or -errno. */
ssize_t fd_send(int sock, const void *data, size_t len, const int *fds, size_t n_fds);
ssize_t fd_recv(int sock, void *data, size_t len, int *fds, size_t max_fds, size_t *ret_n_fds);

/* Whole small files. `dir_fd` may be AT_FDCWD. The text is NUL-terminated and belongs to the
 * caller; files larger than `max` give -EFBIG. */
int fd_read_file(int dir_fd, const char *path, size_t max, char **ret_text, size_t *ret_len);
int fd_write_file(int dir_fd, const char *path, const char *text); /* existing file, one write */
int fd_create_file(int dir_fd, const char *path, const void *data, size_t len, mode_t mode);

/* "." and "..", which readdir lists and no walk wants. */
bool fd_is_dots(const char *name);
