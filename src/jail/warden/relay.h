/* The warden's side of the archivist: starts it, hands orders on, knows who waits for an answer,
 * and answers for it when it has ended. */
#pragma once

#include "base/list.h"
#include "jail/message.h"
#include "jail/warden/outbox.h"

typedef void (*relay_tell)(const struct report *report, const char *text);

struct relay {
    int workspaces, store;
    int sock; /* -1: no archivist runs; the next order starts one */
    struct outbox out;
    pid_t pid;           /* of the last one; 0 once it was reaped */
    struct list waiting; /* for an answer */
    size_t n_waiting;
    relay_tell tell;
};

void relay_init(struct relay *r, int workspaces, int store, relay_tell tell);
/* `file`: of a REQUEST_FILE, else NULL; `out` goes along with it, or is -1. */
void relay_order(struct relay *r, const struct request *request,
                 const struct warden_file_order *file, int out);
void relay_drop(struct relay *r, const char *workspace); /* it is removed */
/* When `sock` is readable, and writable while something waits in `out`. */
void relay_read(struct relay *r);
void relay_flush(struct relay *r);
/* True if it was the archivist that ended. */
bool relay_reaped(struct relay *r, pid_t pid);
