/* What a process has open, and what it waits for: noted before it forks a copy of itself, put right
 * in the copy.
 *
 * 1. A descriptor that was open keeps its number, whatever becomes of it: the objects that know it
 *    by that number must neither close nor use another one.
 * 2. No two lines share the offset, flags or locks of a file: the copy opens it again.
 * 3. A copy that sleeps holds no end of a pipe, socket or terminal: who waits for the end of a
 * stream, or for a port to be free, would wait for it. What stands there instead refuses to be read
 * or written.
 */
#pragma once

#include "base/base.h"

enum { DESCRIPTORS_MAX = 4200, DESCRIPTORS_TEXT_MAX = 256 * 1024 };

enum descriptor_kind {
    DESCRIPTOR_PLAIN,  /* a device: may be shared */
    DESCRIPTOR_FILE,   /* or a directory: opened again */
    DESCRIPTOR_PIPE,   /* replaced */
    DESCRIPTOR_SOCKET, /* replaced */
    DESCRIPTOR_EVENT,  /* epoll, eventfd, timerfd, signalfd: replaced; its text tells what it was */
    DESCRIPTOR_OURS,   /* the driver's own: replaced */
    DESCRIPTOR_TERMINAL, /* replaced */
};

/* waking.py reads this as it lies in memory. */
struct descriptor {
    int32_t fd;
    int32_t kind;
    int32_t flags;    /* of fcntl(F_GETFL) */
    int32_t fd_flags; /* of fcntl(F_GETFD) */
    int64_t offset;   /* of a file */
    uint64_t inode;   /* both ends of a pipe have the same */
    int32_t state;    /* bytes that wait in a pipe; 1: a socket that listens */
    int32_t error;    /* errno, if the copy could not open it again and still shares it */
    uint32_t text_at; /* its name as /proc/self/fd tells it and a NUL; then, of an event and of a */
    uint32_t text_len; /* file on which locks are held, what /proc/self/fdinfo tells */
};

struct descriptors {
    uint32_t count;
    uint32_t text_len;
    uint32_t children_len; /* at the beginning of the text: pids, each with a space behind it */
    bool has_streams;      /* any pipe, socket or event of the user's */
    bool has_timer;        /* an interval timer that runs: no copy inherits it */
    struct descriptor list[DESCRIPTORS_MAX];
    char text[DESCRIPTORS_TEXT_MAX];
};

/* Before the fork. `ours` are descriptors of the driver's; `kept`, one of them, is left alone in
 * the copy. 0, or -errno: EMFILE for more than can be noted. */
int descriptors_note(struct descriptors *d, const int *ours, size_t n_ours, int kept);
/* In the copy that sleeps: gives up everything that is not its own. */
int descriptors_part(struct descriptors *d);
/* In every copy of that one: the files once more. Needs a process that may read its own /proc. */
void descriptors_reopen(struct descriptors *d);
/* Instead, in a copy that went into another jail: files, directories and devices of the same name
 * there. What has none is replaced, so that nothing leads back. */
int descriptors_move(struct descriptors *d);
