/* The daemon's side of boxes that do one piece of work, and what these have in common inside. */
#include "explore/boxes.h"

#include "base/clock.h"
#include "base/fd.h"
#include "explore/archive.h"
#include "explore/fetch.h"
#include "explore/pdf.h"
#include "loop/box.h"
#include "wire/json.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>

struct explore_boxes {
    struct loop_boxes *files, *fetches;
};

struct explore_job {
    struct explore_boxes *boxes;
    struct explore_order order;
    struct loop_box *box; /* the newest; NULL once the caller was told */
    size_t n_boxes;       /* whose on_freed is to come */
    int answer;
    uint64_t until_ms; /* by the loop's clock */
};

struct explore_boxes *explore_boxes_new(uv_loop_t *loop)
{
    static const struct loop_boxes_limits files = {.at_work = EXPLORE_JOBS_MAX,
                                                   .waiting = EXPLORE_WAITING_MAX,
                                                   .queue_ms = EXPLORE_WAIT_MS},
                                          fetches = {.at_work = EXPLORE_FETCHES_MAX,
                                                     .waiting = EXPLORE_WAITING_MAX,
                                                     .queue_ms = EXPLORE_WAIT_MS};
    struct explore_boxes *boxes = mem_alloc(sizeof(*boxes));
    boxes->files = loop_boxes_new(loop, &files);
    boxes->fetches = loop_boxes_new(loop, &fetches);
    return boxes;
}

void explore_boxes_free(struct explore_boxes *boxes)
{
    if (boxes == NULL)
        return;
    loop_boxes_free(boxes->files);
    loop_boxes_free(boxes->fetches);
    free(boxes);
}

static struct loop_boxes *job_queue(const struct explore_job *job)
{
    return job->order.kind->fetches ? job->boxes->fetches : job->boxes->files;
}

static void job_close(struct explore_job *job)
{
    json_decref(job->order.request);
    cleanup_fd(&job->order.in);
    cleanup_fd(&job->order.to);
    cleanup_fd(&job->answer);
    free(job);
}

static void job_on_freed(void *context)
{
    struct explore_job *job = context;
    if (--job->n_boxes == 0)
        job_close(job);
}

/* ---- how it begins --------------------------------------------------------------------------- */

static int job_on_start(void *context, pid_t *ret_pid)
{
    struct explore_job *job = context;
    if (job->until_ms == 0)
        job->until_ms = uv_now(loop_boxes_loop(job_queue(job))) + clock_scaled_ms(EXPLORE_JOB_MS);
    _free_ char *request = json_dumps(job->order.request, JSON_COMPACT);
    _fd_ int request_fd = memfd_create("cella-request", MFD_CLOEXEC);
    cleanup_fd(&job->answer);
    job->answer = memfd_create("cella-answer", MFD_CLOEXEC);
    if (request == NULL || request_fd < 0 || job->answer < 0)
        return -ENOMEM;
    int error = fd_write_all(request_fd, request, strlen(request));
    if (error < 0)
        return error;
    if (lseek(request_fd, 0, SEEK_SET) < 0)
        return -errno;
    char word[32];
    snprintf(word, sizeof(word), "%s", job->order.kind->word);
    char *argv[] = {(char[]){"cella"}, word, NULL};
    const int fds[BOX_N_FDS] = {[BOX_IN] = job->order.in,
                                [BOX_ANSWER] = job->answer,
                                [BOX_TO] = job->order.to,
                                [BOX_REQUEST] = request_fd};
    return loop_box_spawn(argv, fds, BOX_N_FDS, ret_pid);
}

static void job_on_end(void *context, const struct loop_box_end *end);

static bool job_enqueue(struct explore_job *job, uint64_t work_ms)
{
    static const struct loop_box_events events = {
        .start = job_on_start, .on_end = job_on_end, .on_freed = job_on_freed};
    job->box = loop_box_new(job_queue(job), work_ms, &events, job);
    if (job->box != NULL)
        job->n_boxes++;
    return job->box != NULL;
}

/* What waits in the same queue, in words. */
static const char *job_others(const struct explore_kind *kind)
{
    return kind->fetches ? "web pages" : "archives and PDFs";
}

static int job_refuse(const struct explore_kind *kind, struct err *e)
{
    err_set(e, ERR_LIMIT, "%d %s wait to be read", EXPLORE_WAITING_MAX, job_others(kind));
    return err_advise(e, "Ask again in a moment.");
}

struct explore_job *explore_order(struct explore_boxes *boxes, const struct explore_order *order,
                                  struct err *e)
{
    struct explore_job *job = mem_alloc(sizeof(*job));
    *job = (struct explore_job){.boxes = boxes, .order = *order, .answer = -1};
    if (job_enqueue(job, clock_scaled_ms(EXPLORE_JOB_MS)))
        return job;
    job_refuse(order->kind, e);
    job_close(job);
    return NULL;
}

void explore_job_forget(struct explore_job *job)
{
    if (job != NULL)
        loop_box_forget(job->box);
}

/* ---- how it ends ----------------------------------------------------------------------------- */

static enum err_code job_code(const char *name)
{
    for (enum err_code code = ERR_INVALID; code < ERR_INTERNAL; code++)
        if (strcmp(err_code_name(code), name) == 0)
            return code;
    return ERR_INTERNAL;
}

int explore_read_report(const struct explore_outcome *outcome, json_t **ret, struct err *e)
{
    struct err ignored;
    const char *code = NULL, *message = NULL, *advice = NULL;
    _json_ json_t *report = NULL;
    if (json_read_object(outcome->text, outcome->len, &report, &ignored) < 0)
        return err_set(e, ERR_INTERNAL, "the box answered something that is no answer");
    if (json_unpack(report, "{s:{s:s,s:s,s?s}}", "error", "code", &code, "message", &message,
                    "advice", &advice) < 0) {
        *ret = take_ptr(report);
        return 0;
    }
    err_set(e, job_code(code), "%s", message);
    if (advice != NULL)
        err_advise(e, "%s", advice);
    return -1;
}

/* Ends that no box tells of itself. */
static int job_describe(const struct explore_kind *kind, const struct loop_box_end *end,
                        struct err *e)
{
    bool is_late = end->how == BOX_LATE ||
                   (end->how == BOX_KILLED && (end->value == SIGXCPU || end->value == SIGALRM));
    if (is_late) {
        err_set(e, ERR_TIMEOUT, "%s was not read within %d s", kind->subject,
                EXPLORE_JOB_MS / 1000);
        return err_advise(e, "%s", kind->late);
    }
    if (end->how == BOX_KILLED && end->value == SIGXFSZ) {
        err_set(e, ERR_TOO_LARGE, "%s", kind->large);
        return err_advise(e, "%s", kind->late);
    }
    if (end->how == BOX_KILLED) {
        err_set(e, ERR_CONFLICT, "%s ended the process that read it (signal %d)", kind->subject,
                end->value);
        return err_advise(e, "%s", kind->killed);
    }
    if (end->how == BOX_CROWDED) {
        err_set(e, ERR_TIMEOUT, "other %s were read for %d s", job_others(kind),
                EXPLORE_WAIT_MS / 1000);
        return err_advise(e, "Ask again later.");
    }
    if (end->how == BOX_FAILED)
        return err_errno(e, ERR_UNAVAILABLE, -end->value, "cannot start a process that reads %s",
                         kind->subject);
    if (end->value == BOX_NO_WALLS) {
        err_set(e, ERR_UNAVAILABLE, "%s cannot be read safely on this machine", kind->subject);
        return err_advise(e, "It takes %s: `cella doctor` shows what there is.", kind->walls);
    }
    if (end->value == BOX_NO_LIBRARY) {
        err_set(e, ERR_UNAVAILABLE, "%s cannot be read: a program that it takes is not installed",
                kind->subject);
        return err_advise(e, "%s", kind->install);
    }
    return err_set(e, ERR_INTERNAL, "the box of %s was misused", kind->subject);
}

/* What is beyond EXPLORE_REPORT_MAX is no answer, and need not be read. 0 or -errno. */
static int job_read_answer(int fd, struct buf *ret)
{
    struct stat st;
    if (fstat(fd, &st) < 0)
        return -errno;
    size_t len = MIN((size_t)st.st_size, ret->max);
    if (!buf_reserve(ret, len))
        return -EFBIG;
    ssize_t n = pread(fd, ret->data, len, 0);
    if (n < 0)
        return -errno;
    ret->len = (size_t)n;
    return 0;
}

/* As conclude. */
static int job_conclude(const struct explore_job *job, const struct loop_box_end *end, json_t **ret,
                        struct err *e)
{
    const struct explore_kind *kind = job->order.kind;
    bool is_own = end->how == BOX_EXITED && end->value != BOX_NO_WALLS &&
                  end->value != BOX_MISUSED && end->value != BOX_NO_LIBRARY;
    if (!is_own)
        return job_describe(kind, end, e);
    _buf_ struct buf answer = BUF_INIT(EXPLORE_REPORT_MAX);
    int error = job_read_answer(job->answer, &answer);
    if (error < 0)
        return err_errno(e, ERR_INTERNAL, -error, "the answer about %s", kind->subject);
    struct explore_outcome outcome = {.request = job->order.request,
                                      .status = end->value,
                                      .text = buf_str(&answer),
                                      .len = answer.len,
                                      .to = job->order.to};
    return kind->conclude(&outcome, ret, e);
}

static void job_on_end(void *context, const struct loop_box_end *end)
{
    struct explore_job *job = context;
    uint64_t now_ms = uv_now(loop_boxes_loop(job_queue(job)));
    struct err e;
    json_t *ret = NULL;
    int done = job_conclude(job, end, &ret, &e);
    if (done == 1 && now_ms < job->until_ms) {
        json_decref(job->order.request);
        job->order.request = ret;
        if (job_enqueue(job, job->until_ms - now_ms))
            return;
        ret = NULL;
        done = job_refuse(job->order.kind, &e);
    } else if (done == 1) {
        done = job_describe(job->order.kind, &(struct loop_box_end){.how = BOX_LATE}, &e);
    }
    job->box = NULL;
    job->order.fn(job->order.context, done == 0 ? ret : NULL, done == 0 ? NULL : &e);
    json_decref(ret);
}

/* ---- inside a box ---------------------------------------------------------------------------- */

void explore_box_warm_up(void)
{
    json_object_seed(0);
    setenv("TZ", "UTC0", 1); /* times of members do not look for /etc/localtime */
    tzset();
}

json_t *explore_box_request(void)
{
    struct err ignored;
    json_t *request = NULL;
    _buf_ struct buf text = BUF_INIT(EXPLORE_REQUEST_MAX);
    ssize_t n;
    do {
        if (!buf_reserve(&text, 4 * KIB))
            return NULL;
        n = read(BOX_REQUEST, text.data + text.len, 4 * KIB);
        text.len += n > 0 ? (size_t)n : 0;
    } while (n > 0);
    return n == 0 && json_read_object(text.data, text.len, &request, &ignored) == 0 ? request
                                                                                    : NULL;
}

int explore_box_write(int fd, const void *data, size_t len)
{
    for (const char *at = data; len > 0;) {
        ssize_t n = write(fd, at, len);
        if (n <= 0)
            return n < 0 ? -errno : -EIO;
        at += n;
        len -= (size_t)n;
    }
    return 0;
}

/* At once: what others left to be done at the end of the program is not allowed here. */
void explore_box_answer(const struct buf *answer)
{
    bool is_whole =
        !answer->overflowed && explore_box_write(BOX_ANSWER, buf_str(answer), answer->len) == 0;
    _exit(is_whole ? BOX_DONE : BOX_MISUSED);
}

void explore_box_fail(const struct err *e)
{
    struct buf text = BUF_INIT(16 * KIB);
    struct json_out out = JSON_OUT(&text);
    json_put_object(&out);
    json_put_member_error(&out, e);
    json_put_object_end(&out);
    explore_box_answer(&text);
}

int explore_boxes_main(int argc, char **argv)
{
    if (argc != 1)
        return -1;
    if (strcmp(argv[0], ARCHIVE_BOX_WORD) == 0)
        return archive_box_main();
    if (strcmp(argv[0], PDF_BOX_WORD) == 0)
        return pdf_box_main();
    if (strcmp(argv[0], FETCH_BOX_WORD) == 0)
        return fetch_box_main();
    return -1;
}
