/* The daemon's side of the boxes (loop/box.h). A box gets the picture and an empty file in memory;
 * its exit status is all that it says, and what it wrote is looked at as whatever a stranger wrote
 * is. */
#include "base/fd.h"
#include "image/image.h"
#include "image/scale.h"
#include "loop/box.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>

struct image_boxes {
    struct loop_boxes *boxes;
};

struct image_job {
    struct loop_box *box;
    int in, out; /* -1 once the box or the caller has them */
    enum image_format format;
    uint32_t max_width, max_height;
    image_scaled_fn fn;
    void *context;
};

struct image_boxes *image_boxes_new(uv_loop_t *loop)
{
    static const struct loop_boxes_limits limits = {
        .at_work = IMAGE_BOXES_MAX, .waiting = IMAGE_QUEUE_MAX, .queue_ms = IMAGE_QUEUE_MS};
    struct image_boxes *boxes = mem_alloc(sizeof(*boxes));
    boxes->boxes = loop_boxes_new(loop, &limits);
    return boxes;
}

uv_loop_t *image_boxes_loop(const struct image_boxes *boxes)
{
    return loop_boxes_loop(boxes->boxes);
}

void image_boxes_free(struct image_boxes *boxes)
{
    if (boxes == NULL)
        return;
    loop_boxes_free(boxes->boxes);
    free(boxes);
}

static void on_freed(void *context)
{
    struct image_job *job = context;
    cleanup_fd(&job->in);
    cleanup_fd(&job->out);
    free(job);
}

/* ---- how it ended ---------------------------------------------------------------------------- */

static int describe_end(const struct image_job *job, const struct loop_box_end *end, struct err *e)
{
    static const char as_it_is[] = "Ask without width and height: then it is sent as it is.";
    switch (end->how) {
    case BOX_LATE:
        err_set(e, ERR_TIMEOUT, "the picture could not be scaled within %d s", IMAGE_BOX_MS / 1000);
        return err_advise(e, "%s", as_it_is);
    case BOX_KILLED:
        err_set(e, ERR_CONFLICT, "the picture ended the process that decoded it (signal %d)",
                end->value);
        return err_advise(e, "%s", as_it_is);
    case BOX_CROWDED:
        err_set(e, ERR_TIMEOUT, "other pictures were scaled for %d s", IMAGE_QUEUE_MS / 1000);
        return err_advise(e, "Ask again later.");
    case BOX_FAILED:
        return err_errno(e, ERR_UNAVAILABLE, -end->value,
                         "cannot start a process that scales the picture");
    case BOX_EXITED:
        break;
    }
    switch (end->value) {
    case SCALE_DAMAGED:
        err_set(e, ERR_CONFLICT, "the picture is damaged or is no %s, and cannot be scaled",
                image_format_name(job->format));
        break;
    case SCALE_TOO_LARGE:
    case SCALE_NO_MEMORY:
        err_set(e, ERR_TOO_LARGE, "the picture has too many pixels to be scaled");
        break;
    case SCALE_NO_WALLS:
        err_set(e, ERR_UNAVAILABLE, "pictures cannot be decoded safely on this machine");
        return err_advise(e, "It takes seccomp. %s", as_it_is);
    default:
        err_set(e, ERR_UNAVAILABLE, "the picture could not be scaled (status %d)", end->value);
        break;
    }
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
        return err_set(e, ERR_INTERNAL, "the scaled picture is damaged or too large");
    if (format != job->format) {
        err_set(e, ERR_CONFLICT, "the picture is no %s", image_format_name(job->format));
        return err_advise(e, "Ask without width and height: then it is sent as it is.");
    }
    ret->fd = take_fd(&job->out);
    ret->bytes = (uint64_t)st.st_size;
    return 0;
}

static void on_end(void *context, const struct loop_box_end *end)
{
    struct image_job *job = context;
    struct image_scaled scaled;
    struct err e;
    bool is_good = end->how == BOX_EXITED && end->value == SCALE_DONE
                       ? check_result(job, &scaled, &e) == 0
                       : describe_end(job, end, &e) == 0;
    job->fn(job->context, is_good ? &scaled : NULL, is_good ? NULL : &e);
}

/* ---- how it begins --------------------------------------------------------------------------- */

static int spawn(int in, int out, struct image_size most, const char *form, pid_t *ret_pid)
{
    char width[16], height[16];
    snprintf(width, sizeof(width), "%u", most.width);
    snprintf(height, sizeof(height), "%u", most.height);
    char *argv[] = {
        (char[]){"cella"}, (char[]){IMAGE_BOX_WORD}, width, height, (char *)(uintptr_t)form, NULL};
    return loop_box_spawn(argv, (const int[]){in, out, -1}, 3, ret_pid);
}

static int on_start(void *context, pid_t *ret_pid)
{
    struct image_job *job = context;
    job->out = memfd_create("cella-picture", MFD_CLOEXEC);
    if (job->out < 0)
        return -errno;
    struct image_size most = {job->max_width, job->max_height};
    int error = spawn(job->in, job->out, most, NULL, ret_pid);
    if (error < 0)
        return error;
    cleanup_fd(&job->in);
    job->in = -1;
    return 0;
}

bool image_can_scale(enum image_format format)
{
    return format == IMAGE_PNG || format == IMAGE_JPEG;
}

struct image_job *image_scale(struct image_boxes *boxes, int fd, enum image_format format,
                              struct image_size most, image_scaled_fn fn, void *context,
                              struct err *e)
{
    static const struct loop_box_events events = {
        .start = on_start, .on_end = on_end, .on_freed = on_freed};
    struct image_job *job = mem_alloc(sizeof(*job));
    *job = (struct image_job){.in = fd,
                              .out = -1,
                              .format = format,
                              .max_width = MIN(most.width, (uint32_t)IMAGE_SIDE_MAX),
                              .max_height = MIN(most.height, (uint32_t)IMAGE_SIDE_MAX),
                              .fn = fn,
                              .context = context};
    job->box = loop_box_new(boxes->boxes, IMAGE_BOX_MS, &events, job);
    if (job->box == NULL) {
        on_freed(job);
        err_set(e, ERR_LIMIT, "%d pictures wait to be scaled", IMAGE_QUEUE_MAX);
        err_advise(e, "Ask again in a moment.");
        return NULL;
    }
    return job;
}

void image_forget(struct image_job *job)
{
    if (job != NULL)
        loop_box_forget(job->box);
}

/* ---- for a terminal -------------------------------------------------------------------------- */

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
