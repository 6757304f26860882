/* The session's socket: frames (a length of four bytes, then JSON) both ways, descriptors on the
 * way in. It blocks, whatever user code did to the flags of every descriptor it found. When the
 * daemon is gone, or what arrives is not its language, the process ends: nobody is left to tell. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

enum { CHANNEL_FDS_MAX = 16 };

struct node_channel {
    int fd;
    char *data; /* what has arrived */
    size_t len;
    size_t cap;
    size_t used;              /* of it by the frame that channel_next returned */
    int fds[CHANNEL_FDS_MAX]; /* in the order of the frames that they came with */
    size_t n_fds;
};

void channel_open(struct node_channel *channel, int fd);
/* Reads what is there, once; waits if nothing is. False, and nothing read, if `gives_up` (NULL if
 * never) says so, which is asked first and after each signal. */
bool channel_fill(struct node_channel *channel, bool (*gives_up)(void));
/* False if no whole frame has arrived. The payload is valid until the next call. */
bool channel_next(struct node_channel *channel, const char **payload, size_t *len);
/* `frame` has room for the header in front of its payload. */
void channel_send(struct node_channel *channel, char *frame, size_t payload_len);
enum { CHANNEL_HEADER = 4 };

/* The descriptors of the frame last returned, whose number follows from what it says: those of the
 * frames after it may have arrived too. The process ends if there are fewer. */
void channel_take_fds(struct node_channel *channel, int *ret_fds, size_t n);

/* Reads until `data` is full, also from a descriptor that does not block. Returns how many bytes
 * there were before the end, or -errno. */
ssize_t channel_read_all(int fd, char *data, size_t len);

/* Writes all of it, also to a descriptor that does not block. Returns 0 or -errno. */
int channel_write_all(int fd, const char *data, size_t len);
