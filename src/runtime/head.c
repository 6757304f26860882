#include "runtime/head.h"

#include "base/fd.h"
#include "base/utf8.h"
#include "loop/loop.h"
#include "runtime/declarations.h"
#include "runtime/display.h"
#include "runtime/names.h"
#include "wire/json.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>

enum {
    /* Acks that a driver does not read pile up no further than this. */
    UNREAD_MAX = 64 * 1024,
    /* Frames longer than this are parsed by a worker thread: the loop serves others meanwhile. */
    LONG_FRAME = 256 * 1024,
    PROMPT_MAX = 4 * 1024,
    NOTE_MAX = 512, /* bytes of one text about what was lost */
    NOTES_MAX = 64,
    LOST_MAX = 128,
    ERROR_NAME_MAX = 256,
};

#define OUT_MAX (16 * MIB) /* a cell's code, escaped, is far below it */

/* A long frame on its way through a worker thread. It outlives the head if that goes first. */
struct head_work {
    uv_work_t uv;
    struct head *head; /* NULL: nobody waits any more */
    char *payload;
    size_t len;
    json_t *frame;
    struct err err;
    bool is_bad;
};

struct head *head_new(struct room *room, uv_loop_t *loop, uint64_t number)
{
    struct head *head = mem_alloc(sizeof(*head));
    list_init(&head->node);
    list_init(&head->denials_node);
    head->warden = room->warden;
    head->loop = loop;
    head->number = number;
    ids_uuid(head->name);
    head->room = room;
    list_append(&room->heads, &head->room_node);
    head->sock = head->out_fds[0] = head->out_fds[1] = head->given = -1;
    head->in = FRAME_READER_INIT;
    head->out = BUF_INIT(OUT_MAX);
    return head;
}

static void close_fds(struct head *head)
{
    for (size_t i = 0; i < ARRAY_LEN(head->out_fds); i++)
        if (head->out_fds[i] >= 0)
            close(take_fd(&head->out_fds[i]));
}

/* Nothing is read or sent any more. The socket stays open as long as the head: a driver that saw
 * its end would leave in its own way, and the way a head ends is evidence. */
static void close_channel(struct head *head)
{
    loop_poll_close(take_ptr(head->poll), NULL);
    close_fds(head);
    frame_reader_free(&head->in);
    buf_free(&head->out);
    head->out_sent = 0;
    if (head->work != NULL)
        take_ptr(head->work)->head = NULL;
}

static void close_denied(struct head *head)
{
    list_remove(&head->denials_node);
    denials_drop(take_ptr(head->denied));
    if (head->given >= 0)
        close(take_fd(&head->given));
}

void head_free(struct head *head)
{
    if (head == NULL)
        return;
    list_remove(&head->node);
    close_channel(head);
    close_denied(head);
    if (head->sock >= 0)
        close(take_fd(&head->sock));
    list_remove(&head->room_node);
    /* The last one's processes end with the room. */
    if (!room_is_deserted(head->room)) {
        head_signal(head, SIGKILL);
        head_watch(head, false);
    }
    head->room = NULL;
    head->is_freed = true;
    if (head->n_holds == 0)
        free(head);
}

void head_disown(struct head *head)
{
    head->has_process = false;
}

int head_keep_channel(const struct head *head)
{
    return head->sock >= 0 ? fcntl(head->sock, F_DUPFD_CLOEXEC, 0) : -1;
}

/* A callback may free the head while a function of ours still has it in hand. */
static void hold(struct head *head)
{
    head->n_holds++;
}

static void let_go(struct head *head)
{
    if (--head->n_holds == 0 && head->is_freed)
        free(head);
}

static void end(struct head *head, const struct head_end_facts *facts)
{
    if (head->state == HEAD_ENDED && facts->how != HEAD_EXITED)
        return;
    head->state = HEAD_ENDED;
    head->running_id = 0;
    head->awaits_input = head->is_asked = head->is_asked_declared = false;
    head->n_forks = 0;
    close_channel(head);
    head->listener->on_end(head, facts);
}

/* Nothing of the channel can be believed any more. */
static void break_head(struct head *head, const char *what)
{
    end(head, &(struct head_end_facts){.how = HEAD_BROKEN, .text = what});
}

/* Of one that is still walking in the warden knows more: how it ended, or that it never was. */
static void lose_head(struct head *head)
{
    if (head->state == HEAD_ENTERING) {
        close_channel(head);
        head_signal(head, SIGKILL);
        return;
    }
    end(head, &(struct head_end_facts){
                  .how = HEAD_BROKEN, .is_closed = true, .text = "the control socket was closed"});
}

/* ---- what it says ------------------------------------------------------------------------------
 */

static bool is_running(const struct head *head, const json_t *frame)
{
    const json_t *id = json_object_get(frame, "id");
    return head->state == HEAD_RUNNING && json_is_integer(id) &&
           (uint64_t)json_integer_value(id) == head->running_id;
}

static void on_entered(struct head *head, json_t *frame)
{
    (void)frame;
    if (head->state != HEAD_ENTERING || head->is_copy || head->denied != NULL) {
        break_head(head, "it said that it entered a second time");
        return;
    }
    if (head->given >= 0)
        head->denied = denials_new(head->loop, take_fd(&head->given));
    if (head->denied != NULL)
        denials_join(head->denied, head);
}

static void on_ready(struct head *head, json_t *frame)
{
    (void)frame;
    if (head->state != HEAD_ENTERING || head->is_copy) {
        break_head(head, "it said that it is ready a second time");
        return;
    }
    head->state = HEAD_IDLE;
    head->listener->on_ready(head, NULL);
}

/* A list of at most `max` objects whose members are short strings. */
static bool is_list_of_texts(const json_t *list, size_t max)
{
    size_t i;
    json_t *item;
    if (!json_is_array(list) || json_array_size(list) > max)
        return false;
    json_array_foreach(list, i, item)
    {
        const char *name;
        json_t *text;
        if (!json_is_object(item) || json_object_size(item) > 4)
            return false;
        json_object_foreach(item, name, text)
        {
            if (strlen(name) > 32 || !json_is_string(text) || json_string_length(text) > NOTE_MAX)
                return false;
        }
    }
    return true;
}

static void on_woken(struct head *head, json_t *frame)
{
    const json_t *notes = json_object_get(frame, "notes");
    if (head->state != HEAD_ENTERING || !head->is_copy) {
        break_head(head, "it said that it woke without being asked");
    } else if (!is_list_of_texts(notes, NOTES_MAX)) {
        break_head(head, "it woke with notes that are none");
    } else {
        head->state = HEAD_IDLE;
        head->listener->on_ready(head, notes);
    }
}

static void on_forked(struct head *head, json_t *frame)
{
    const json_t *id = json_object_get(frame, "id"), *threads = json_object_get(frame, "threads");
    const json_t *reason = json_object_get(frame, "reason");
    if (head->n_forks == 0 || !json_is_integer(id)) {
        break_head(head, "it spoke of a checkpoint that nobody asked for");
        return;
    }
    head->n_forks--;
    bool has_reason = json_is_string(reason) && json_string_length(reason) <= NOTE_MAX;
    json_int_t n = json_integer_value(threads);
    head->listener->on_forked(
        head, &(struct head_fork){.id = (uint64_t)json_integer_value(id),
                                  .is_forked = json_is_true(json_object_get(frame, "forked")),
                                  .threads = n > 0 && n < 1000000 ? (unsigned)n : 0,
                                  .reason = has_reason ? json_string_value(reason) : NULL});
}

static void on_loaded(struct head *head, json_t *frame)
{
    const json_t *message = json_object_get(frame, "message");
    bool is_sound = json_is_integer(json_object_get(frame, "restored")) &&
                    is_list_of_texts(json_object_get(frame, "lost"), LOST_MAX) &&
                    (message == NULL || json_is_null(message) ||
                     (json_is_string(message) && json_string_length(message) <= NOTE_MAX));
    if (head->state != HEAD_LOADING) {
        break_head(head, "it said that it loaded without being asked");
    } else if (!is_sound) {
        break_head(head, "a report of what was loaded that is none");
    } else {
        head->state = HEAD_IDLE;
        head->listener->on_loaded(head, frame);
    }
}

static void on_fatal(struct head *head, json_t *frame)
{
    const char *message = json_string_value(json_object_get(frame, "message"));
    bool is_starting = head->state == HEAD_ENTERING || head->state == HEAD_SETTING;
    if (!is_starting || message == NULL) {
        break_head(head, "a failure to start was reported after the start");
        return;
    }
    char text[256];
    snprintf(text, sizeof(text), "the driver could not start: %s", message);
    end(head, &(struct head_end_facts){.how = HEAD_REFUSED, .text = text});
}

static void on_set(struct head *head, json_t *frame)
{
    (void)frame;
    if (head->state != HEAD_SETTING) {
        break_head(head, "it said that it is set up without being asked");
        return;
    }
    head->state = HEAD_IDLE;
    head->listener->on_set(head);
}

static void on_display(struct head *head, json_t *frame)
{
    struct err e;
    json_t *output = json_object_get(frame, "output");
    bool is_update = json_is_true(json_object_get(frame, "update"));
    if (!is_running(head, frame))
        break_head(head, "an output for a cell that does not run");
    else if (display_check(output, &e) < 0)
        break_head(head, e.message);
    else if (is_update && json_object_get(output, "display_id") == NULL)
        break_head(head, "an update of an output without a display_id");
    else
        head->listener->on_display(head, output, is_update);
}

static void on_clear(struct head *head, json_t *frame)
{
    const json_t *waits = json_object_get(frame, "wait");
    if (!is_running(head, frame))
        break_head(head, "it cleared the outputs of a cell that does not run");
    else if (waits != NULL && !json_is_boolean(waits))
        break_head(head, "it cleared outputs, and whether at once is unclear");
    else
        head->listener->on_clear(head, json_is_true(waits));
}

static void on_input(struct head *head, json_t *frame)
{
    const json_t *prompt = json_object_get(frame, "prompt");
    if (!is_running(head, frame)) {
        break_head(head, "a question of a cell that does not run");
    } else if (!json_is_string(prompt) || json_string_length(prompt) > PROMPT_MAX) {
        break_head(head, "a question without a prompt, or with one that is too long");
    } else {
        struct head_prompt ask = {.text = json_string_value(prompt),
                                  .len = json_string_length(prompt),
                                  .is_password = json_is_true(json_object_get(frame, "password"))};
        head->awaits_input = true;
        head->listener->on_input(head, &ask);
    }
}

static void on_names(struct head *head, json_t *frame)
{
    struct err e;
    json_t *names = json_object_get(frame, "names");
    if (!head->is_asked) {
        break_head(head, "a list of names that nobody asked for");
    } else if (names_check(names, &e) < 0) {
        break_head(head, e.message);
    } else {
        head->is_asked = false;
        head->listener->on_names(head, names);
    }
}

static void on_declared(struct head *head, json_t *frame)
{
    struct err e;
    if (!head->is_asked_declared) {
        break_head(head, "declarations that nobody asked for");
    } else if (declarations_check(frame, &e) < 0) {
        break_head(head, e.message);
    } else {
        head->is_asked_declared = false;
        head->listener->on_declared(head, frame);
    }
}

/* A name is shown as it is, whatever the answer's budget. */
static void cut_name(json_t *error)
{
    const json_t *name = json_object_get(error, "name");
    if (json_string_length(name) <= ERROR_NAME_MAX)
        return;
    const char *text = json_string_value(name);
    size_t len = utf8_valid_prefix(text, ERROR_NAME_MAX);
    json_object_set_new(error, "name", json_stringn_nocheck(text, len));
}

static bool is_error(const json_t *error)
{
    const json_t *traceback = json_object_get(error, "traceback");
    const json_t *line = json_object_get(error, "line");
    const json_t *column = json_object_get(error, "column");
    return json_is_string(json_object_get(error, "name")) &&
           json_is_string(json_object_get(error, "message")) &&
           (traceback == NULL || json_is_string(traceback) || json_is_null(traceback)) &&
           (line == NULL || json_is_integer(line) || json_is_null(line)) &&
           (column == NULL || json_is_integer(column) || json_is_null(column));
}

static int read_last_status(const json_t *frame, struct head_verdict *verdict, struct err *e)
{
    const json_t *status = json_object_get(frame, "last_status");
    if (status == NULL)
        return 0;
    json_int_t value = json_integer_value(status);
    if (!json_is_integer(status) || value < 0 || value > 255)
        return err_set(e, ERR_INVALID, "a last status that no command can have");
    verdict->has_last_status = true;
    verdict->last_status = (int)value;
    return 0;
}

static int read_verdict(json_t *frame, struct head_verdict *verdict, struct err *e)
{
    static const char *const statuses[] = {
        [HEAD_OK] = "ok", [HEAD_ERROR] = "error", [HEAD_INTERRUPTED] = "interrupted"};
    const char *status = json_string_value(json_object_get(frame, "status"));
    size_t i = 0;
    while (i < ARRAY_LEN(statuses) && (status == NULL || strcmp(statuses[i], status) != 0))
        i++;
    if (i == ARRAY_LEN(statuses))
        return err_set(e, ERR_INVALID, "a verdict without a known status");
    verdict->status = (enum head_status)i;

    verdict->value = json_object_get(frame, "value");
    if (json_is_null(verdict->value))
        verdict->value = NULL;
    if (verdict->value != NULL && display_check(verdict->value, e) < 0)
        return -1;
    verdict->error = json_object_get(frame, "error");
    if (json_is_null(verdict->error))
        verdict->error = NULL;
    if (verdict->error != NULL && !is_error(verdict->error))
        return err_set(e, ERR_INVALID, "an error whose members have the wrong types");
    cut_name(verdict->error);
    verdict->names = json_object_get(frame, "names");
    if (verdict->names != NULL && names_check(verdict->names, e) < 0)
        return -1;
    return read_last_status(frame, verdict, e);
}

static void on_done(struct head *head, json_t *frame)
{
    struct err e;
    struct head_verdict verdict = {0};
    if (!is_running(head, frame)) {
        break_head(head, "a verdict on a cell that does not run");
    } else if (read_verdict(frame, &verdict, &e) < 0) {
        break_head(head, e.message);
    } else {
        head->state = HEAD_IDLE;
        head->running_id = 0;
        head->awaits_input = false;
        head->listener->on_done(head, &verdict);
    }
}

static void on_frame(struct head *head, json_t *frame)
{
    static const struct {
        const char *ev;
        void (*take)(struct head *head, json_t *frame);
    } events[] = {
        {"done", on_done},
        {"checkpoint", on_forked},
        {"display", on_display},
        {"input", on_input},
        {"names", on_names},
        {"ready", on_ready},
        {"set", on_set},
        {"entered", on_entered},
        {"woken", on_woken},
        {"fatal", on_fatal},
        {"loaded", on_loaded},
        {"clear", on_clear},
        {"declarations", on_declared},
    };
    const char *ev = json_string_value(json_object_get(frame, "ev"));
    for (size_t i = 0; ev != NULL && i < ARRAY_LEN(events); i++) {
        if (strcmp(events[i].ev, ev) == 0) {
            events[i].take(head, frame);
            return;
        }
    }
    break_head(head, "a frame of no known kind");
}

static void parse_in_worker(uv_work_t *uv)
{
    struct head_work *work = CONTAINER_OF(uv, struct head_work, uv);
    work->is_bad = json_read_object(work->payload, work->len, &work->frame, &work->err) < 0;
}

static void take_frames(struct head *head);
static void want_events(struct head *head);

static void parsed(uv_work_t *uv, int status)
{
    (void)status;
    struct head_work *work = CONTAINER_OF(uv, struct head_work, uv);
    struct head *head = work->head;
    if (head != NULL) {
        hold(head);
        head->work = NULL;
        if (work->is_bad)
            break_head(head, work->err.message);
        else
            on_frame(head, work->frame);
        take_frames(head);
        want_events(head);
        let_go(head);
    }
    json_decref(work->frame);
    free(work->payload);
    free(work);
}

static void parse_later(struct head *head, const char *payload, size_t len)
{
    struct head_work *work = mem_alloc(sizeof(*work));
    work->head = head;
    work->payload = mem_copy(payload, len);
    work->len = len;
    head->work = work;
    uv_queue_work(head->loop, &work->uv, parse_in_worker, parsed);
}

static void parse_now(struct head *head, const char *payload, size_t len)
{
    struct err e;
    _json_ json_t *frame = NULL;
    if (json_read_object(payload, len, &frame, &e) < 0)
        break_head(head, e.message);
    else
        on_frame(head, frame);
}

/* All that have arrived, up to one that a worker has to read first. */
static void take_frames(struct head *head)
{
    while (head->poll != NULL && head->work == NULL) {
        struct err e;
        const char *payload;
        size_t len;
        int rc = frame_next(&head->in, &payload, &len, &e);
        if (rc < 0)
            break_head(head, e.message);
        if (rc <= 0)
            return;
        if (len > LONG_FRAME)
            parse_later(head, payload, len);
        else
            parse_now(head, payload, len);
    }
}

/* ---- what it is told ---------------------------------------------------------------------------
 */

static void want_events(struct head *head)
{
    if (head->poll == NULL)
        return;
    int events = head->work == NULL ? LOOP_READ : 0;
    if (head->out.len > head->out_sent)
        events |= LOOP_WRITE;
    loop_poll_want(head->poll, events);
}

/* Sends what it can now; the rest goes when the socket has room. False if the channel is gone. */
static bool flush(struct head *head)
{
    while (head->out.len > head->out_sent) {
        size_t n_fds = (size_t)(head->out_fds[0] >= 0) + (head->out_fds[1] >= 0);
        ssize_t n = fd_send(head->sock, head->out.data + head->out_sent,
                            head->out.len - head->out_sent, head->out_fds, n_fds);
        if (n == -EAGAIN)
            return true;
        if (n < 0)
            return false;
        close_fds(head);
        head->out_sent += (size_t)n;
    }
    head->out_sent = 0;
    if (head->out.cap > UNREAD_MAX)
        buf_free(&head->out);
    else
        buf_clear(&head->out);
    return true;
}

/* What arrives while no cell runs would be kept without a limit of time. */
static void refuse_idle_talk(struct head *head)
{
    bool is_silent = head->state == HEAD_IDLE && !head->is_asked && !head->is_asked_declared &&
                     head->n_forks == 0;
    if (is_silent && head->work == NULL && frame_is_partial(&head->in))
        break_head(head, "it spoke while no cell ran");
}

/* Only what walks in has a descriptor to give, and only before it says anything else. */
static ssize_t fill(struct head *head)
{
    bool may_give =
        head->state == HEAD_ENTERING && !head->is_copy && head->denied == NULL && head->given < 0;
    return may_give ? frame_fill_with(&head->in, head->sock, &head->given)
                    : frame_fill(&head->in, head->sock);
}

/* The copy's first byte is for the warden, who learns from it who the copy is. */
static void on_first_byte(struct head *head)
{
    struct err e;
    char byte;
    ssize_t n = recv(head->sock, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    if (n < 0 && errno == EAGAIN)
        return;
    loop_poll_want(head->poll, 0);
    if (n != 1)
        err_set(&e, ERR_GONE, "the checkpoint did not wake");
    if (n != 1 ||
        warden_adopt(head->warden, head->room->jail, head->number, WARDEN_HEAD, head->sock, &e) < 0)
        end(head, &(struct head_end_facts){.how = HEAD_REFUSED, .text = e.message});
}

static void on_socket(void *context, int events)
{
    struct head *head = context;
    hold(head);
    if (head->state == HEAD_WAKING) {
        on_first_byte(head);
        let_go(head);
        return;
    }
    if ((events & LOOP_WRITE) && !flush(head))
        lose_head(head);
    if ((events & LOOP_READ) && head->poll != NULL && head->work == NULL) {
        ssize_t n = fill(head);
        if (n > 0) {
            take_frames(head);
            refuse_idle_talk(head);
        } else if (n != -EAGAIN) {
            lose_head(head);
        }
    }
    want_events(head);
    let_go(head);
}

/* Sends what was appended since `mark`. False if the channel is gone or the driver does not read.
 */
static bool send_frame(struct head *head, size_t mark)
{
    bool is_sent =
        frame_end(&head->out, mark) && flush(head) && head->out.len - head->out_sent <= UNREAD_MAX;
    if (is_sent)
        want_events(head);
    return is_sent;
}

static const char *const unread = "the driver does not read its control socket";

static int begin_request(struct head *head, struct err *e)
{
    assert(head->state == HEAD_IDLE);
    return head->out.len > 0 ? err_set(e, ERR_INVALID, "%s", unread) : 0;
}

int head_setup(struct head *head, const char *cwd, const json_t *env, struct err *e)
{
    if (begin_request(head, e) < 0)
        return -1;
    size_t mark = frame_begin(&head->out);
    struct json_out json = JSON_OUT(&head->out);
    json_put_object(&json);
    json_put_member_str(&json, "op", "setup");
    json_put_key(&json, "cwd");
    if (cwd != NULL)
        json_put_str(&json, cwd);
    else
        json_put_null(&json);
    json_put_key(&json, "env");
    if (env != NULL) {
        json_put_value(&json, env);
    } else {
        json_put_object(&json);
        json_put_object_end(&json);
    }
    json_put_object_end(&json);
    if (!frame_end(&head->out, mark) || !flush(head))
        return err_set(e, ERR_INVALID, "the control socket was closed");
    head->state = HEAD_SETTING;
    want_events(head);
    return 0;
}

static void write_cell(struct buf *out, const struct head_cell *cell)
{
    static const char *const names[] = {
        [HEAD_NAMES_NONE] = NULL, [HEAD_NAMES_CHANGES] = "changes", [HEAD_NAMES_FULL] = "full"};
    struct json_out json = JSON_OUT(out);
    json_put_object(&json);
    json_put_member_str(&json, "op", "exec");
    json_put_member_int(&json, "id", (int64_t)cell->id);
    if (names[cell->names] != NULL)
        json_put_member_str(&json, "names", names[cell->names]);
    if (cell->is_script)
        json_put_member_bool(&json, "script", true);
    json_put_member_text(&json, "code", cell->code, cell->len);
    json_put_object_end(&json);
}

int head_run(struct head *head, const struct head_cell *cell, int out_fd, int err_fd, struct err *e)
{
    if (begin_request(head, e) < 0) {
        close(out_fd);
        close(err_fd);
        return -1;
    }
    head->out_fds[0] = out_fd;
    head->out_fds[1] = err_fd;
    size_t mark = frame_begin(&head->out);
    write_cell(&head->out, cell);
    if (!frame_end(&head->out, mark) || !flush(head)) {
        close_fds(head);
        return err_set(e, ERR_INVALID, "the control socket was closed");
    }
    head->state = HEAD_RUNNING;
    head->running_id = cell->id;
    want_events(head);
    return 0;
}

/* One frame with a descriptor for an idle driver. */
static int send_with(struct head *head, size_t mark, int fd, struct err *e)
{
    head->out_fds[0] = fd;
    if (!frame_end(&head->out, mark) || !flush(head)) {
        close_fds(head);
        return err_set(e, ERR_INVALID, "the control socket was closed");
    }
    want_events(head);
    return 0;
}

static int begin_request_with(struct head *head, int fd, struct err *e)
{
    if (begin_request(head, e) == 0)
        return 0;
    close(fd);
    return -1;
}

int head_checkpoint(struct head *head, uint64_t id, int sock, struct err *e)
{
    if (begin_request_with(head, sock, e) < 0)
        return -1;
    size_t mark = frame_begin(&head->out);
    buf_printf(&head->out, "{\"op\":\"checkpoint\",\"id\":%llu}", (unsigned long long)id);
    if (send_with(head, mark, sock, e) < 0)
        return -1;
    head->n_forks++;
    return 0;
}

void head_write_save(struct buf *out, const struct head_save *save)
{
    static const char *const formats[] = {
        [HEAD_SAVE_STATE] = "state", [HEAD_SAVE_NAMESPACE] = "namespace"};
    buf_printf(out, "{\"op\":\"save\",\"id\":%llu,\"format\":\"%s\",\"max_bytes\":%llu%s}",
               (unsigned long long)save->id, formats[save->format],
               (unsigned long long)save->max_bytes, save->is_last ? ",\"last\":true" : "");
}

int head_save(struct head *head, const struct head_save *save, int sock, struct err *e)
{
    if (begin_request_with(head, sock, e) < 0)
        return -1;
    size_t mark = frame_begin(&head->out);
    head_write_save(&head->out, save);
    return send_with(head, mark, sock, e);
}

int head_load(struct head *head, uint64_t id, int fd, struct err *e)
{
    if (begin_request_with(head, fd, e) < 0)
        return -1;
    size_t mark = frame_begin(&head->out);
    buf_printf(&head->out, "{\"op\":\"load\",\"id\":%llu}", (unsigned long long)id);
    if (send_with(head, mark, fd, e) < 0)
        return -1;
    head->state = HEAD_LOADING;
    return 0;
}

void head_rehearse(struct head *head)
{
    struct err ignored; /* who takes it will see */
    if (begin_request(head, &ignored) < 0)
        return;
    size_t mark = frame_begin(&head->out);
    buf_append_str(&head->out, "{\"op\":\"rehearse\"}");
    send_frame(head, mark);
}

void head_ack(struct head *head)
{
    if (head->state != HEAD_RUNNING)
        return;
    size_t mark = frame_begin(&head->out);
    buf_printf(&head->out, "{\"op\":\"ack\",\"id\":%llu}", (unsigned long long)head->running_id);
    if (!send_frame(head, mark))
        break_head(head, unread);
}

bool head_input(struct head *head, const char *text, size_t len)
{
    if (!head->awaits_input)
        return false;
    head->awaits_input = false;
    size_t mark = frame_begin(&head->out);
    struct json_out json = JSON_OUT(&head->out);
    json_put_object(&json);
    json_put_member_str(&json, "op", "input");
    json_put_member_int(&json, "id", (int64_t)head->running_id);
    if (text != NULL)
        json_put_member_text(&json, "text", text, len);
    else
        json_put_member_bool(&json, "eof", true);
    json_put_object_end(&json);
    if (!frame_end(&head->out, mark) || !flush(head))
        lose_head(head);
    else
        want_events(head);
    return true;
}

int head_ask_names(struct head *head, unsigned max, struct err *e)
{
    if (begin_request(head, e) < 0)
        return -1;
    size_t mark = frame_begin(&head->out);
    buf_printf(&head->out, "{\"op\":\"names\",\"max\":%u}", MIN(max, (unsigned)NAMES_MAX));
    if (!send_frame(head, mark))
        return err_set(e, ERR_INVALID, "%s", unread);
    head->is_asked = true;
    return 0;
}

int head_ask_declarations(struct head *head, struct err *e)
{
    if (begin_request(head, e) < 0)
        return -1;
    size_t mark = frame_begin(&head->out);
    buf_append_str(&head->out, "{\"op\":\"declarations\"}");
    if (!send_frame(head, mark))
        return err_set(e, ERR_INVALID, "%s", unread);
    head->is_asked_declared = true;
    return 0;
}

void head_signal(struct head *head, int sig)
{
    struct err ignored; /* a lost warden is told to everybody in its own way */
    if (head->has_process)
        warden_signal(head->warden, head->number, sig, &ignored);
}

void head_watch(struct head *head, bool is_busy)
{
    head->is_watched = is_busy;
    room_watch(head->room);
}

/* ---- its life ----------------------------------------------------------------------------------
 */

void head_describe_end(const struct head_end_facts *facts, char *out, size_t size)
{
    if (facts->how != HEAD_EXITED)
        snprintf(out, size, "%s", facts->text);
    else if (facts->oom_kills > 0)
        snprintf(out, size, "the interpreter ran out of memory before it was ready");
    else if (WIFSIGNALED(facts->status))
        snprintf(out, size, "the interpreter was ended by signal %d (%s) before it was ready",
                 WTERMSIG(facts->status), strsignal(WTERMSIG(facts->status)));
    else
        snprintf(out, size, "the interpreter ended with exit code %d before it was ready",
                 WEXITSTATUS(facts->status));
}

static int make_pair(int socks[2], struct err *e)
{
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, socks) == 0)
        return 0;
    err_errno(e, ERR_UNAVAILABLE, errno, "making a control socket");
    return err_advise(e, "Raise the daemon's limit of open files, or end some sessions.");
}

int head_socketpair(int socks[2], struct err *e)
{
    const int yes = 1;
    if (make_pair(socks, e) < 0)
        return -1;
    if (setsockopt(socks[0], SOL_SOCKET, SO_PASSCRED, &yes, sizeof(yes)) == 0)
        return 0;
    err_errno(e, ERR_UNAVAILABLE, errno, "asking the kernel who writes to a socket");
    close(socks[0]);
    close(socks[1]);
    return -1;
}

int head_await(struct head *head, struct denials *denied, struct err *e)
{
    assert(head->state == HEAD_WAITING);
    int socks[2];
    if (head_socketpair(socks, e) < 0)
        return -1;
    head->sock = socks[0];
    head->is_copy = true;
    head->denied = denials_hold(denied);
    if (denied != NULL)
        denials_join(denied, head);
    head->state = HEAD_WAKING;
    head->poll = loop_poll_new(head->loop, head->sock, on_socket, head);
    loop_poll_want(head->poll, LOOP_READ);
    return socks[1];
}

/* The warden knows it now; from here on the socket is like any other. */
static void on_adopted(struct head *head)
{
    const int no = 0;
    setsockopt(head->sock, SOL_SOCKET, SO_PASSCRED, &no, sizeof(no));
    head->has_process = true;
    head->state = HEAD_ENTERING;
    want_events(head);
}

int head_enter(struct head *head, uint32_t zygote, struct err *e)
{
    assert(head->state == HEAD_WAITING);
    int socks[2];
    if (make_pair(socks, e) < 0)
        return -1;
    head->sock = socks[0];
    _fd_ int theirs = socks[1];
    struct room *room = head->room;
    if (warden_enter(head->warden, room->jail, head->number, zygote, room->name, &room->limits,
                     theirs, e) < 0)
        return -1;
    room->is_known = true;
    head->has_process = true;
    head->state = HEAD_ENTERING;
    head->poll = loop_poll_new(head->loop, head->sock, on_socket, head);
    want_events(head);
    return 0;
}

static void on_exited(struct head *head, const struct warden_event *event)
{
    struct room *room = head->room;
    struct head_end_facts facts = {.how = HEAD_EXITED,
                                   .status = event->status,
                                   .oom_kills = event->oom_kills - room->oom_kills,
                                   .pids_refused = event->pids_refused - room->pids_refused,
                                   .peak_bytes = event->peak_bytes,
                                   .text = ""};
    /* What ended one head of a room is not what ends the next. */
    room->oom_kills = event->oom_kills;
    room->pids_refused = event->pids_refused;
    end(head, &facts);
}

void head_on_event(struct head *head, const struct warden_event *event)
{
    hold(head);
    switch (event->type) {
    case WARDEN_REFUSED:
        head->has_process = false;
        end(head, &(struct head_end_facts){.how = HEAD_REFUSED, .text = event->text});
        break;
    case WARDEN_EXITED:
        head->has_process = false;
        on_exited(head, event);
        break;
    case WARDEN_SIGNALED:
        head->listener->on_signaled(head);
        break;
    case WARDEN_OVER_QUOTA:
        head->listener->on_over_quota(head, event->bytes);
        break;
    case WARDEN_GONE:
        head->has_process = false;
        end(head, &(struct head_end_facts){.how = HEAD_BROKEN, .text = "its jail is gone"});
        break;
    case WARDEN_ENTERED:
        if (head->state == HEAD_WAKING)
            on_adopted(head);
        break;
    case WARDEN_ROOM:
    case WARDEN_CLEARED:
    case WARDEN_MEASURED:
    case WARDEN_RECORDED:
    case WARDEN_RESTORED:
    case WARDEN_ZYGOTE_READY:
    case WARDEN_ZYGOTE_EXITED:
    case WARDEN_BACK:
        break;
    case WARDEN_LOST:
        head->has_process = false;
        end(head, &(struct head_end_facts){.how = HEAD_BROKEN,
                                           .text = "the process that keeps the sandboxes ended"});
        break;
    }
    let_go(head);
}
