/* The daemon's side of the boxes: who waits, who works, how they end. A box gets the picture and an
 * empty file in memory; its exit status is all that it says, and what it wrote is looked at as
 * whatever a stranger wrote is. */
#include "base/fd.h"
#include "base/list.h"
#include "image/image.h"
#include "image/scale.h"
#include "loop/loop.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#ifndef P_PIDFD
#define P_PIDFD 3
#endif

struct image_boxes {
    uv_loop_t *loop;
    struct list waiting; /* jobs, oldest first */
    struct list working;
    size_t n_waiting, n_working;
};

/*   WAITING --a box is free--> WORKING --its process has ended--> told, freed
 *   WAITING --too long--> told, freed. WORKING --too long--> killed, then as above.
 *   WAITING --forgotten--> freed. WORKING --forgotten--> killed; freed at its end. */
struct image_job {
    struct list node;
    struct image_boxes *boxes;
    int in, out; /* -1 once the box or the caller has them */
    enum image_format format;
    uint32_t max_width, max_height;
    pid_t pid;   /* 0: WAITING */
    int process; /* pidfd */
    struct loop_poll *poll;
    struct loop_timer *timer;
    bool is_queued;     /* on_due has seen it once */
    bool is_late;       /* the box was killed because it took too long */
    image_scaled_fn fn; /* NULL if the job was forgotten */
    void *context;
};

struct image_boxes *image_boxes_new(uv_loop_t *loop)
{
    struct image_boxes *boxes = mem_alloc(sizeof(*boxes));
    boxes->loop = loop;
    list_init(&boxes->waiting);
    list_init(&boxes->working);
    return boxes;
}

uv_loop_t *image_boxes_loop(const struct image_boxes *boxes)
{
    return boxes->loop;
}

static void job_free(void *context)
{
    struct image_job *job = context;
    cleanup_fd(&job->in);
    cleanup_fd(&job->out);
    cleanup_fd(&job->process);
    free(job);
}

/* Every job has a timer; the job is freed when that is closed. */
static void close_job(struct image_job *job)
{
    size_t *count = job->pid == 0 ? &job->boxes->n_waiting : &job->boxes->n_working;
    list_remove(&job->node);
    (*count)--;
    loop_poll_close(take_ptr(job->poll), NULL);
    loop_timer_close(take_ptr(job->timer), job_free);
}

static void tell(struct image_job *job, const struct image_scaled *scaled, const struct err *e)
{
    image_scaled_fn fn = job->fn;
    job->fn = NULL;
    if (fn != NULL)
        fn(job->context, scaled, e);
    else if (scaled != NULL)
        close(scaled->fd);
}

static void kill_box(const struct image_job *job)
{
    syscall(SYS_pidfd_send_signal, job->process, SIGKILL, NULL, 0);
}

/* ---- how it ended ---------------------------------------------------------------------------- */

static int describe_end(const struct image_job *job, const siginfo_t *info, struct err *e)
{
    static const char as_it_is[] = "Ask without width and height: then it is sent as it is.";
    int status = info->si_code == CLD_EXITED ? info->si_status : -1;
    switch (status) {
    case SCALE_DAMAGED:
        err_set(e, ERR_CONFLICT, "the picture is damaged or is no %s, and cannot be scaled",
                image_format_name(job->format));
        return err_advise(e, "%s", as_it_is);
    case SCALE_TOO_LARGE:
    case SCALE_NO_MEMORY:
        err_set(e, ERR_TOO_LARGE, "the picture has too many pixels to be scaled");
        return err_advise(e, "%s", as_it_is);
    case SCALE_NO_WALLS:
        err_set(e, ERR_UNAVAILABLE, "pictures cannot be decoded safely on this machine");
        return err_advise(e, "It takes seccomp. %s", as_it_is);
    default:
        break;
    }
    if (job->is_late)
        err_set(e, ERR_TIMEOUT, "the picture could not be scaled within %d s", IMAGE_BOX_MS / 1000);
    else if (status >= 0)
        err_set(e, ERR_UNAVAILABLE, "the picture could not be scaled (status %d)", status);
    else
        err_set(e, ERR_CONFLICT, "the picture ended the process that decoded it (signal %d)",
                info->si_status);
    return err_advise(e, "%s", as_it_is);
}

/* Also a box that was taken over can only give what was asked for. */
static int check_result(struct image_job *job, struct image_scaled *ret, struct err *e)
{
    unsigned char head[KIB];
    struct stat st;
    enum image_format format;
    ssize_t n = pread(job->out, head, sizeof(head), 0);
    if (fstat(job->out, &st) < 0 || n <= 0 || lseek(job->out, 0, SEEK_SET) != 0 ||
        !image_probe(head, (size_t)n, &format, &ret->width, &ret->height) ||
        ret->width > (job->max_width > 0 ? job->max_width : IMAGE_SOURCE_SIDE) ||
        ret->height > (job->max_height > 0 ? job->max_height : IMAGE_SOURCE_SIDE) ||
        (uint64_t)st.st_size > IMAGE_RESULT_MAX)
        return err_set(e, ERR_INTERNAL, "what came of scaling the picture is none");
    if (format != job->format) {
        err_set(e, ERR_CONFLICT, "the picture is no %s", image_format_name(job->format));
        return err_advise(e, "Ask without width and height: then it is sent as it is.");
    }
    ret->fd = take_fd(&job->out);
    ret->bytes = (uint64_t)st.st_size;
    return 0;
}

static void start_next(struct image_boxes *boxes);

static void on_ended(void *context, int events)
{
    struct image_job *job = context;
    struct image_boxes *boxes = job->boxes;
    struct image_scaled scaled;
    struct err e;
    siginfo_t info = {0};
    (void)events;
    if (waitid((idtype_t)P_PIDFD, (id_t)job->process, &info, WEXITED | WNOHANG) < 0 ||
        info.si_pid == 0)
        return;
    bool is_good = info.si_code == CLD_EXITED && info.si_status == SCALE_DONE
                       ? check_result(job, &scaled, &e) == 0
                       : describe_end(job, &info, &e) == 0;
    tell(job, is_good ? &scaled : NULL, is_good ? NULL : &e);
    close_job(job);
    start_next(boxes);
}

/* ---- how it begins --------------------------------------------------------------------------- */

static int spawn(int in, int out, struct image_size most, const char *form, pid_t *ret_pid)
{
    char width[16], height[16];
    snprintf(width, sizeof(width), "%u", most.width);
    snprintf(height, sizeof(height), "%u", most.height);
    char *argv[] = {
        (char[]){"cella"}, (char[]){IMAGE_BOX_WORD}, width, height, (char *)(uintptr_t)form, NULL};
    char *no_environment[] = {NULL};
    sigset_t all, none;
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigfillset(&all);
    sigemptyset(&none);
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
    posix_spawnattr_setsigdefault(&attributes, &all);
    posix_spawnattr_setsigmask(&attributes, &none);
    int error = posix_spawn_file_actions_adddup2(&actions, in, STDIN_FILENO);
    if (error == 0)
        error = posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
    if (error == 0)
        error = posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    if (error == 0)
        error = posix_spawn(ret_pid, "/proc/self/exe", &actions, &attributes, argv, no_environment);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    return -error;
}

/* Ends a box whose end the loop cannot be told of. */
static void end_unheard(struct image_job *job)
{
    kill(job->pid, SIGKILL);
    waitpid(job->pid, NULL, 0);
}

static int start(struct image_job *job)
{
    struct image_boxes *boxes = job->boxes;
    job->out = memfd_create("cella-picture", MFD_CLOEXEC);
    if (job->out < 0)
        return -errno;
    struct image_size most = {job->max_width, job->max_height};
    int error = spawn(job->in, job->out, most, NULL, &job->pid);
    if (error < 0) {
        job->pid = 0;
        return error;
    }
    cleanup_fd(&job->in);
    job->in = -1;
    job->process = (int)syscall(SYS_pidfd_open, job->pid, 0); /* close-on-exec by itself */
    job->poll = job->process < 0 ? NULL : loop_poll_new(boxes->loop, job->process, on_ended, job);
    if (job->poll == NULL) {
        end_unheard(job);
        job->pid = 0;
        return -EMFILE;
    }
    loop_poll_want(job->poll, LOOP_READ);
    loop_timer_set(job->timer, IMAGE_BOX_MS);
    list_remove(&job->node);
    list_append(&boxes->working, &job->node);
    boxes->n_waiting--;
    boxes->n_working++;
    return 0;
}

static void start_next(struct image_boxes *boxes)
{
    while (boxes->n_working < IMAGE_BOXES_MAX && !list_is_empty(&boxes->waiting)) {
        struct image_job *job = CONTAINER_OF(list_first(&boxes->waiting), struct image_job, node);
        struct err e;
        int error = start(job);
        if (error == 0)
            continue;
        err_errno(&e, ERR_UNAVAILABLE, -error, "cannot start a process that scales the picture");
        close_job(job);
        tell(job, NULL, &e);
    }
}

/* ---- for others ------------------------------------------------------------------------------ */

/* A job that waits is first looked at from the loop, so nobody is called back from image_scale. */
static void on_due(void *context)
{
    struct image_job *job = context;
    struct err e;
    if (job->pid != 0) {
        job->is_late = true;
        kill_box(job);
        return;
    }
    if (!job->is_queued) {
        job->is_queued = true;
        loop_timer_set(job->timer, IMAGE_QUEUE_MS);
        start_next(job->boxes);
        return;
    }
    err_set(&e, ERR_TIMEOUT, "other pictures were scaled for %d s", IMAGE_QUEUE_MS / 1000);
    err_advise(&e, "Ask again later.");
    close_job(job);
    tell(job, NULL, &e);
}

bool image_can_scale(enum image_format format)
{
    return format == IMAGE_PNG || format == IMAGE_JPEG;
}

struct image_job *image_scale(struct image_boxes *boxes, int fd, enum image_format format,
                              struct image_size most, image_scaled_fn fn, void *context,
                              struct err *e)
{
    if (boxes->n_waiting >= IMAGE_QUEUE_MAX) {
        close(fd);
        err_set(e, ERR_LIMIT, "%d pictures wait to be scaled", IMAGE_QUEUE_MAX);
        err_advise(e, "Ask again in a moment.");
        return NULL;
    }
    struct image_job *job = mem_alloc(sizeof(*job));
    *job = (struct image_job){.boxes = boxes,
                              .in = fd,
                              .out = -1,
                              .process = -1,
                              .format = format,
                              .max_width = MIN(most.width, (uint32_t)IMAGE_SIDE_MAX),
                              .max_height = MIN(most.height, (uint32_t)IMAGE_SIDE_MAX),
                              .fn = fn,
                              .context = context};
    job->timer = loop_timer_new(boxes->loop, on_due, job);
    loop_timer_set(job->timer, 0);
    list_append(&boxes->waiting, &job->node);
    boxes->n_waiting++;
    return job;
}

void image_forget(struct image_job *job)
{
    if (job == NULL)
        return;
    job->fn = NULL;
    if (job->pid != 0)
        kill_box(job); /* goes when it has ended */
    else
        close_job(job);
}

void image_boxes_free(struct image_boxes *boxes)
{
    if (boxes == NULL)
        return;
    LIST_EACH(&boxes->waiting, at)
        close_job(CONTAINER_OF(at, struct image_job, node));
    LIST_EACH(&boxes->working, at) {
        struct image_job *job = CONTAINER_OF(at, struct image_job, node);
        end_unheard(job);
        close_job(job);
    }
    free(boxes);
}

/* ---- for a terminal ---------------------------------------------------------------------------
 */

/* Also a box that was taken over can only draw: no other command to the terminal is in it. */
static bool is_sixels(const char *text, size_t len)
{
    if (len < 5 || memcmp(text, "\033P", 2) != 0 || memcmp(text + len - 2, "\033\\", 2) != 0)
        return false;
    for (size_t i = 2; i < len - 2; i++)
        if (text[i] <= ' ' || text[i] > '~')
            return false;
    return true;
}

int image_sixels(const void *picture, size_t len, struct image_size most, struct buf *out)
{
    pid_t pid;
    int status;
    struct stat st;
    _fd_ int in = memfd_create("cella-picture", MFD_CLOEXEC);
    _fd_ int made = memfd_create("cella-sixels", MFD_CLOEXEC);
    if (in < 0 || made < 0)
        return -errno;
    int error = fd_write_all(in, picture, len);
    if (error == 0 && lseek(in, 0, SEEK_SET) < 0)
        error = -errno;
    if (error == 0)
        error = spawn(in, made, most, IMAGE_BOX_SIXELS, &pid);
    if (error < 0)
        return error;
    while (waitpid(pid, &status, 0) < 0) /* it ends by itself after IMAGE_BOX_MS */
        if (errno != EINTR)
            return -errno;
    if (!WIFEXITED(status) || WEXITSTATUS(status) != SCALE_DONE || fstat(made, &st) < 0 ||
        (uint64_t)st.st_size > IMAGE_RESULT_MAX)
        return -EBADMSG;
    _free_ char *text = mem_alloc((size_t)st.st_size + 1);
    if (pread(made, text, (size_t)st.st_size, 0) != st.st_size ||
        !is_sixels(text, (size_t)st.st_size))
        return -EBADMSG;
    return buf_append(out, text, (size_t)st.st_size) ? 0 : -EFBIG;
}
