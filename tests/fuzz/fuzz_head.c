/* A hostile driver: whatever it says, the head's owner hears only what makes sense, and the end at
 * most once. Each line of the input is the payload of a frame; a first line "woken" makes it a copy
 * of a checkpoint. */
#include "base/fd.h"
#include "cell/display.h"
#include "runtime/head.h"
#include "runtime/names.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <uv.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool claim)
{
    if (!claim)
        abort();
}

/* ---- a warden that hands the other end of the socket to us ----------------------------------- */

static int driver;

int warden_enter(struct warden *w, uint64_t jail, uint64_t head, uint32_t zygote,
                 const char *workspace, const struct jail_limits *limits, int session_sock,
                 struct err *e)
{
    (void)w;
    (void)jail;
    (void)head;
    (void)zygote;
    (void)workspace;
    (void)limits;
    (void)e;
    driver = fcntl(session_sock, F_DUPFD_CLOEXEC, 0);
    return 0;
}

int warden_signal(struct warden *w, uint64_t head, int sig, struct err *e)
{
    (void)w;
    (void)head;
    (void)sig;
    (void)e;
    return 0;
}

int warden_watch(struct warden *w, uint64_t jail, bool is_busy, struct err *e)
{
    (void)w;
    (void)jail;
    (void)is_busy;
    (void)e;
    return 0;
}

int warden_destroy(struct warden *w, uint64_t jail, bool keep_workspace, struct err *e)
{
    (void)w;
    (void)jail;
    (void)keep_workspace;
    (void)e;
    return 0;
}

int warden_adopt(struct warden *w, uint64_t jail, uint64_t head, enum warden_kind kind, int channel,
                 struct err *e)
{
    char byte;
    (void)w;
    (void)jail;
    (void)head;
    (void)e;
    require(kind == WARDEN_HEAD && recv(channel, &byte, 1, 0) == 1);
    return 0;
}

int warden_measure(struct warden *w, uint64_t head, struct err *e)
{
    (void)w;
    (void)head;
    (void)e;
    return 0;
}

/* ---- an owner that believes nothing ---------------------------------------------------------- */

static unsigned n_ends, n_done;

static void on_ready(struct head *head, const json_t *notes)
{
    struct err e;
    require(head->state == HEAD_IDLE && n_ends == 0 && head->is_copy == (notes != NULL));
    require(head_setup(head, "/workspace/x", NULL, &e) == 0);
}

static void run_cell(struct head *head)
{
    struct err e;
    int pipes[2];
    require(pipe2(pipes, O_CLOEXEC) == 0);
    struct head_cell cell = {.id = 1, .code = "x", .len = 1, .names = HEAD_NAMES_FULL};
    head_run(head, &cell, pipes[0], pipes[1], &e);
}

static void on_set(struct head *head)
{
    require(head->state == HEAD_IDLE && n_ends == 0);
    run_cell(head);
}

static void on_display(struct head *head, json_t *output, bool is_update)
{
    struct err e;
    require(head->state == HEAD_RUNNING && display_check(output, &e) == 0);
    const json_t *id = json_object_get(output, "display_id");
    require(id == NULL ? !is_update : json_string_length(id) <= 200);
    head_ack(head);
}

static void on_clear(struct head *head, bool waits)
{
    (void)waits;
    require(head->state == HEAD_RUNNING);
    head_ack(head);
}

static void on_done(struct head *head, const struct head_verdict *verdict)
{
    struct err e;
    enum head_topic topic = (enum head_topic)(HEAD_ASKED_WHETHER_COMPLETE + n_done % 3);
    require(head->state == HEAD_IDLE && !head->awaits_input);
    require(verdict->names == NULL || names_check(verdict->names, &e) == 0);
    require(!verdict->has_last_status || (verdict->last_status >= 0 && verdict->last_status < 256));
    switch (n_done++ % 4) {
    case 0:
        if (head_ask_names(head, 10, &e) == 0 &&
            (head->judging != HEAD_ASKED_NOTHING ||
             head_judge(head, &(struct head_question){.topic = topic, .code = "x", .len = 1}, &e) ==
                 0))
            run_cell(head);
        break;
    case 1:
        if (head_checkpoint(head, 7, open("/dev/null", O_RDWR | O_CLOEXEC), &e) == 0)
            run_cell(head);
        break;
    case 2:
        head_load(head, 8, open("/dev/null", O_RDONLY | O_CLOEXEC), &e);
        break;
    default:
        if (head_save(head, &(struct head_save){.max_bytes = 9},
                      open("/dev/null", O_RDWR | O_CLOEXEC), &e) == 0)
            run_cell(head);
    }
}

static void on_forked(struct head *head, const struct head_fork *fork)
{
    require(head->state != HEAD_ENDED && fork->threads < 1000000);
    require(fork->reason == NULL || strlen(fork->reason) <= 512);
}

static void on_loaded(struct head *head, const json_t *report)
{
    require(head->state == HEAD_IDLE && json_is_integer(json_object_get(report, "restored")));
    require(json_is_array(json_object_get(report, "lost")));
    run_cell(head);
}

static void on_input(struct head *head, const struct head_prompt *prompt)
{
    require(head->state == HEAD_RUNNING && prompt->text != NULL && prompt->len <= 4096);
    require(head_input(head, "a line", 6) && !head_input(head, NULL, 0));
}

static void on_names(struct head *head, json_t *names)
{
    struct err e;
    require(!head->is_asked && names_check(names, &e) == 0);
}

static void on_judged(struct head *head, const struct head_judgement *judgement)
{
    require(head->judging == HEAD_ASKED_NOTHING && judgement->status <= HEAD_UNSURE &&
            judgement->indent < 1000);
}

static void on_denied(struct head *head, const char *call)
{
    (void)head;
    (void)call;
}

static void on_signaled(struct head *head)
{
    (void)head;
}

static void on_over_quota(struct head *head, uint64_t bytes, const char *by)
{
    (void)head;
    (void)bytes;
    (void)by;
}

static void on_end(struct head *head, const struct head_end_facts *facts)
{
    require(head->state == HEAD_ENDED && facts->text != NULL && ++n_ends == 1);
}

static const struct head_listener listener = {
    .on_ready = on_ready,
    .on_forked = on_forked,
    .on_loaded = on_loaded,
    .on_set = on_set,
    .on_display = on_display,
    .on_clear = on_clear,
    .on_done = on_done,
    .on_input = on_input,
    .on_names = on_names,
    .on_judged = on_judged,
    .on_denied = on_denied,
    .on_signaled = on_signaled,
    .on_over_quota = on_over_quota,
    .on_end = on_end,
};

/* ---- the conversation ------------------------------------------------------------------------ */

static void say(uv_loop_t *loop, const char *payload, size_t len)
{
    _buf_ struct buf out = BUF_INIT(MIB);
    size_t mark = frame_begin(&out);
    buf_append(&out, payload, len);
    if (len > 0 && frame_end(&out, mark))
        require(fd_write_all(driver, out.data, out.len) == 0);
    uv_run(loop, UV_RUN_NOWAIT);
}

/* As the warden and a snapshot would. */
static void wake(struct head *head, uv_loop_t *loop)
{
    struct err e;
    driver = head_await(head, NULL, &e);
    require(driver >= 0 && write(driver, "h", 1) == 1);
    uv_run(loop, UV_RUN_NOWAIT);
    head_on_event(head, &(struct warden_event){.type = WARDEN_ENTERED, .text = ""});
    require(head->state == HEAD_ENTERING);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct err e;
    uv_loop_t loop = {0}; /* uv_loop_init leaves `data` as it is */
    json_object_seed(1);
    n_ends = n_done = 0;
    uv_loop_init(&loop);
    struct room *room = room_new(NULL, 1, "room", &JAIL_LIMITS_DEFAULT);
    struct head *head = head_new(room, &loop, 2);
    head->listener = &listener;
    static const char copy[] = "woken\n";
    const char *at = (const char *)data, *end = at + size;
    bool is_copy = size >= sizeof(copy) - 1 && memcmp(at, copy, sizeof(copy) - 1) == 0;
    if (is_copy)
        wake(head, &loop);
    else
        require(head_enter(head, 1, &e) == 0);
    while (at < end && n_ends == 0) {
        const char *line_end = memchr(at, '\n', (size_t)(end - at));
        if (line_end == NULL)
            line_end = end;
        say(&loop, at, (size_t)(line_end - at));
        at = line_end + 1;
    }
    close(driver);
    uv_run(&loop, UV_RUN_NOWAIT);
    if (n_ends == 0) { /* it was still walking in: how that ended, only the warden can say */
        require(head->state == HEAD_ENTERING);
        head_on_event(head, &(struct warden_event){.type = WARDEN_EXITED, .text = ""});
    }
    require(n_ends == 1);
    head_free(head);
    room_free(room);
    uv_run(&loop, UV_RUN_DEFAULT);
    require(uv_loop_close(&loop) == 0);
    return 0;
}
