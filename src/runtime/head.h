/* A head: one live interpreter in its jail, as the daemon sees it. It has a control socket, takes
 * one cell at a time and answers with frames. Everything it sends is hostile: user code runs in the
 * same process. What no driver would send breaks the head, once and for good.
 *
 *   WAITING --(zygote is ready)--> ENTERING --ready frame--> IDLE <--run/done--> RUNNING
 *   any of them --(refused, exited, broken)--> ENDED, told once; then its owner releases it
 */
#pragma once

#include "base/base.h"
#include "base/err.h"
#include "base/ids.h"
#include "base/list.h"
#include "jail/warden.h"
#include "runtime/runtime.h"
#include "wire/frame.h"

#include <jansson.h>

struct head;
struct head_work;
struct loop_poll;

enum head_state { HEAD_WAITING, HEAD_ENTERING, HEAD_IDLE, HEAD_RUNNING, HEAD_ENDED };

enum head_status { HEAD_OK, HEAD_ERROR, HEAD_INTERRUPTED };

/* The verdict on a cell. Borrowed for the callback; already checked. */
struct head_verdict {
    enum head_status status;
    json_t *value; /* a typed output (display.h) or NULL */
    json_t *error; /* {"name","message","traceback"?,"line"?,"column"?} or NULL */
};

/* Why a head ended. */
enum head_end {
    HEAD_REFUSED, /* no jail or no interpreter; text */
    HEAD_EXITED,  /* status, oom_kills */
    HEAD_BROKEN,  /* the channel is damaged or closed; text. The process may still live: signal it
                     and HEAD_EXITED follows */
};

struct head_end_facts {
    enum head_end how;
    int status;
    uint32_t oom_kills;
    const char *text; /* never NULL */
};

/* For one that ended before it was ready: why. */
void head_describe_end(const struct head_end_facts *facts, char *out, size_t size);

/* Callbacks may release the head. */
struct head_listener {
    void (*on_ready)(struct head *head);
    void (*on_display)(struct head *head, json_t *output); /* answer with head_ack */
    void (*on_done)(struct head *head, const struct head_verdict *verdict);
    void (*on_signaled)(struct head *head); /* one head_signal reached the process */
    void (*on_over_quota)(struct head *head, uint64_t bytes);
    void (*on_end)(struct head *head, const struct head_end_facts *facts);
};

struct head {
    struct list node; /* the pool's: where it waits */
    void *owner;      /* a session, or a shelf of the pool */
    const struct head_listener *listener;
    struct warden *warden;
    uint64_t jail;
    char name[UUID_SIZE]; /* of its workspace; the id of the session that gets it */
    struct jail_limits limits;
    enum head_state state;
    bool has_jail; /* the warden was asked for one and has not said that it is gone */

    int sock;
    struct loop_poll *poll;
    struct frame_reader in;
    struct buf out; /* not sent yet */
    size_t out_sent;
    int out_fds[2];         /* go with the first byte of `out`; -1 when sent */
    uint64_t running_id;    /* the cell; 0 if none */
    struct head_work *work; /* a long frame being read by a worker thread */
    uv_loop_t *loop;
    unsigned n_holds; /* functions that are using it */
    bool is_freed;    /* as soon as none does */
};

struct head *head_new(struct warden *warden, uv_loop_t *loop, uint64_t jail,
                      const struct jail_limits *limits);
/* Lets a fork of the zygote walk in. */
int head_enter(struct head *head, uint32_t zygote, struct err *e);
/* Ends the jail if there is one; the owner hears nothing more. */
void head_free(struct head *head);
void head_on_event(struct head *head, const struct warden_event *event);

/* Runs a cell that writes to `out_fd` and `err_fd`; both are closed here in any case. */
int head_run(struct head *head, uint64_t id, const char *code, size_t len, int out_fd, int err_fd,
             struct err *e);
void head_ack(struct head *head);
void head_signal(struct head *head, int sig);
void head_watch(struct head *head, bool is_busy);
