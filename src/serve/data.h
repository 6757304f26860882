/* The data directory: of one daemon at a time, closed to other users. */
#pragma once

#include "base/err.h"

struct data_dir {
    char *path; /* absolute */
    int fd;
    int lock_fd; /* holds the lock while it is open */
};

#define DATA_DIR_INIT ((struct data_dir){.fd = -1, .lock_fd = -1})

/* Makes the directory if need be and takes its lock. As root it is handed to the user that the
 * daemon will become. */
int data_open(const char *asked, struct data_dir *ret, struct err *e);
void data_close(struct data_dir *d);

/* A daemon changes the rights of its directory, so that must be new, empty or known from an earlier
 * start: never a home directory that was named by mistake. */
bool data_is_ours(int dir_fd);
