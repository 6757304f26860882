/* The daemon's side of boxes, of whatever kind. Posix_spawn, so nothing of the daemon's memory goes
 * along. */
#include "loop/box.h"

#include "base/fd.h"
#include "base/list.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#ifndef P_PIDFD
#define P_PIDFD 3
#endif

enum { BOX_FDS_MAX = 8 };

struct loop_boxes {
    uv_loop_t *loop;
    struct loop_boxes_limits limits;
    struct list waiting; /* boxes, oldest first */
    struct list working;
    size_t n_waiting, n_working;
};

/*   WAITING --there is room--> WORKING --its process has ended--> told, freed
 *   WAITING --too long--> told, freed. WORKING --too long--> killed, then as above.
 *   WAITING --forgotten--> freed. WORKING --forgotten--> killed; freed at its end. */
struct loop_box {
    struct list node;
    struct loop_boxes *boxes;
    uint64_t work_ms;
    pid_t pid;   /* 0: WAITING */
    int process; /* pidfd */
    struct loop_poll *poll;
    struct loop_timer *timer;
    bool is_queued; /* box_due has seen it once */
    bool is_late;   /* killed because it took too long */
    bool is_mute;   /* forgotten, or told already */
    const struct loop_box_events *events;
    void *context;
};

struct loop_boxes *loop_boxes_new(uv_loop_t *loop, const struct loop_boxes_limits *limits)
{
    struct loop_boxes *boxes = mem_alloc(sizeof(*boxes));
    boxes->loop = loop;
    boxes->limits = *limits;
    list_init(&boxes->waiting);
    list_init(&boxes->working);
    return boxes;
}

uv_loop_t *loop_boxes_loop(const struct loop_boxes *boxes)
{
    return boxes->loop;
}

static void box_freed(void *context)
{
    struct loop_box *box = context;
    cleanup_fd(&box->process);
    box->events->on_freed(box->context);
    free(box);
}

/* Every box has a timer; the box is freed when that is closed. */
static void box_close(struct loop_box *box)
{
    size_t *count = box->pid == 0 ? &box->boxes->n_waiting : &box->boxes->n_working;
    list_remove(&box->node);
    (*count)--;
    loop_poll_close(take_ptr(box->poll), NULL);
    loop_timer_close(take_ptr(box->timer), box_freed);
}

static void box_tell(struct loop_box *box, enum loop_box_how how, int value)
{
    if (box->is_mute)
        return;
    box->is_mute = true;
    box->events->on_end(box->context, &(struct loop_box_end){how, value});
}

static void box_kill(const struct loop_box *box)
{
    syscall(SYS_pidfd_send_signal, box->process, SIGKILL, NULL, 0);
}

/* Ends a box whose end the loop cannot be told of. */
static void box_end_unheard(struct loop_box *box)
{
    kill(box->pid, SIGKILL);
    while (waitpid(box->pid, NULL, 0) < 0 && errno == EINTR)
        ;
}

/* ---- how it begins --------------------------------------------------------------------------- */

int loop_box_spawn(char *const *argv, const int *fds, size_t n_fds, pid_t *ret_pid)
{
    char *no_environment[] = {NULL};
    int moved[BOX_FDS_MAX];
    sigset_t all, none;
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    int error = 0;
    assert(n_fds <= BOX_FDS_MAX);
    /* Above all that is to be made, so that no dup2 overwrites one that another one needs. */
    for (size_t i = 0; i < n_fds; i++) {
        moved[i] = fds[i] < 0 ? -1 : fcntl(fds[i], F_DUPFD_CLOEXEC, BOX_FDS_MAX);
        if (fds[i] >= 0 && moved[i] < 0)
            error = errno;
    }
    sigfillset(&all);
    sigemptyset(&none);
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
    posix_spawnattr_setsigdefault(&attributes, &all);
    posix_spawnattr_setsigmask(&attributes, &none);
    for (size_t i = 0; error == 0 && i < n_fds; i++)
        error = moved[i] >= 0
                    ? posix_spawn_file_actions_adddup2(&actions, moved[i], (int)i)
                    : posix_spawn_file_actions_addopen(&actions, (int)i, "/dev/null", O_RDWR, 0);
    if (error == 0)
        error = posix_spawn(ret_pid, "/proc/self/exe", &actions, &attributes, argv, no_environment);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    for (size_t i = 0; i < n_fds; i++)
        cleanup_fd(&moved[i]);
    return -error;
}

static void box_ended(void *context, int events);

static int box_start(struct loop_box *box)
{
    struct loop_boxes *boxes = box->boxes;
    int error = box->events->start(box->context, &box->pid);
    if (error < 0) {
        box->pid = 0;
        return error;
    }
    box->process = (int)syscall(SYS_pidfd_open, box->pid, 0); /* close-on-exec by itself */
    box->poll = box->process < 0 ? NULL : loop_poll_new(boxes->loop, box->process, box_ended, box);
    if (box->poll == NULL) {
        box_end_unheard(box);
        box->pid = 0;
        return -EMFILE;
    }
    loop_poll_want(box->poll, LOOP_READ);
    loop_timer_set(box->timer, box->work_ms);
    list_remove(&box->node);
    list_append(&boxes->working, &box->node);
    boxes->n_waiting--;
    boxes->n_working++;
    return 0;
}

static void box_start_next(struct loop_boxes *boxes)
{
    while (boxes->n_working < boxes->limits.at_work && !list_is_empty(&boxes->waiting)) {
        struct loop_box *box = CONTAINER_OF(list_first(&boxes->waiting), struct loop_box, node);
        int error = box_start(box);
        if (error == 0)
            continue;
        box_close(box);
        box_tell(box, BOX_FAILED, error);
    }
}

/* ---- how it ends ----------------------------------------------------------------------------- */

static void box_ended(void *context, int events)
{
    struct loop_box *box = context;
    struct loop_boxes *boxes = box->boxes;
    siginfo_t info = {0};
    (void)events;
    if (waitid((idtype_t)P_PIDFD, (id_t)box->process, &info, WEXITED | WNOHANG) < 0 ||
        info.si_pid == 0)
        return;
    bool has_exited = info.si_code == CLD_EXITED;
    box_close(box);
    box_tell(box, has_exited ? BOX_EXITED : box->is_late ? BOX_LATE : BOX_KILLED, info.si_status);
    box_start_next(boxes);
}

/* A box that waits is first looked at from the loop, so nobody is called back from loop_box_new. */
static void box_due(void *context)
{
    struct loop_box *box = context;
    if (box->pid != 0) {
        box->is_late = true;
        box_kill(box);
    } else if (!box->is_queued) {
        box->is_queued = true;
        loop_timer_set(box->timer, box->boxes->limits.queue_ms);
        box_start_next(box->boxes);
    } else {
        box_close(box);
        box_tell(box, BOX_CROWDED, 0);
    }
}

struct loop_box *loop_box_new(struct loop_boxes *boxes, uint64_t work_ms,
                              const struct loop_box_events *events, void *context)
{
    if (boxes->n_waiting >= boxes->limits.waiting)
        return NULL;
    struct loop_box *box = mem_alloc(sizeof(*box));
    *box = (struct loop_box){
        .boxes = boxes, .work_ms = work_ms, .process = -1, .events = events, .context = context};
    box->timer = loop_timer_new(boxes->loop, box_due, box);
    loop_timer_set(box->timer, 0);
    list_append(&boxes->waiting, &box->node);
    boxes->n_waiting++;
    return box;
}

void loop_box_forget(struct loop_box *box)
{
    if (box == NULL)
        return;
    box->is_mute = true;
    if (box->pid != 0)
        box_kill(box); /* goes when it has ended */
    else
        box_close(box);
}

void loop_boxes_free(struct loop_boxes *boxes)
{
    if (boxes == NULL)
        return;
    LIST_EACH(&boxes->waiting, at)
        box_close(CONTAINER_OF(at, struct loop_box, node));
    LIST_EACH(&boxes->working, at) {
        struct loop_box *box = CONTAINER_OF(at, struct loop_box, node);
        box_end_unheard(box);
        box_close(box);
    }
    free(boxes);
}
