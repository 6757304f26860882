/* What a head is told: cells and their input, checkpoints, saving and loading, questions. Daemon;
 * on the loop. */
#include "base/fd.h"
#include "runtime/head_parts.h"
#include "runtime/names.h"
#include "wire/json.h"

#include <assert.h>

static const char *const unread = "the driver does not read its control socket";

static int begin_request(struct head *head, struct err *e)
{
    assert(head->state == HEAD_IDLE);
    head_prefer_next(head);
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
    if (!frame_end(&head->out, mark) || !head_flush(head))
        return err_set(e, ERR_INVALID, "the control socket was closed");
    head_move(head, HEAD_SETTING);
    head_want_events(head);
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
    if (cell->explores)
        json_put_member_bool(&json, "explore", true);
    if (cell->exit_ends)
        json_put_member_bool(&json, "exit_ends", true);
    if (cell->chain != NULL) {
        json_put_key(&json, "chain");
        json_put_value(&json, cell->chain);
    }
    json_put_member_text(&json, "code", cell->code, cell->len);
    if (cell->plain != NULL)
        json_put_member_text(&json, "plain", cell->plain, cell->plain_len);
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
    head->order = HEAD_ORDER_CELL;
    head->order_id = cell->id;
    size_t mark = frame_begin(&head->out);
    write_cell(&head->out, cell);
    if (!frame_end(&head->out, mark) || !head_flush(head)) {
        head_close_fds(head);
        return err_set(e, ERR_INVALID, "the control socket was closed");
    }
    head_move(head, HEAD_RUNNING);
    head->running_id = cell->id;
    head_want_events(head);
    return 0;
}

/* One frame with a descriptor for an idle driver. */
static int send_with(struct head *head, enum head_order order, uint64_t id, size_t mark, int fd,
                     struct err *e)
{
    head->out_fds[0] = fd;
    head->order = order;
    head->order_id = id;
    if (!frame_end(&head->out, mark) || !head_flush(head)) {
        head_close_fds(head);
        return err_set(e, ERR_INVALID, "the control socket was closed");
    }
    head_want_events(head);
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
    buf_printf(&head->out, "{\"op\":\"checkpoint\",\"id\":%llu%s}", (unsigned long long)id,
               head->room->limits.debug != 0 ? ",\"debug\":true" : "");
    if (send_with(head, HEAD_ORDER_CHECKPOINT, id, mark, sock, e) < 0)
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
    return send_with(head, HEAD_ORDER_SAVE, save->id, mark, sock, e);
}

int head_load(struct head *head, uint64_t id, int fd, struct err *e)
{
    if (begin_request_with(head, fd, e) < 0)
        return -1;
    size_t mark = frame_begin(&head->out);
    buf_printf(&head->out, "{\"op\":\"load\",\"id\":%llu}", (unsigned long long)id);
    if (send_with(head, HEAD_ORDER_LOAD, id, mark, fd, e) < 0)
        return -1;
    head_move(head, HEAD_LOADING);
    return 0;
}

void head_rehearse(struct head *head)
{
    struct err ignored; /* who takes it will see */
    if (begin_request(head, &ignored) < 0)
        return;
    size_t mark = frame_begin(&head->out);
    buf_append_str(&head->out, "{\"op\":\"rehearse\"}");
    head_send(head, mark);
}

void head_ack(struct head *head)
{
    if (head->state != HEAD_RUNNING)
        return;
    size_t mark = frame_begin(&head->out);
    buf_printf(&head->out, "{\"op\":\"ack\",\"id\":%llu}", (unsigned long long)head->running_id);
    if (!head_send(head, mark))
        head_break(head, unread);
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
    if (!frame_end(&head->out, mark) || !head_flush(head))
        head_lose(head);
    else
        head_want_events(head);
    return true;
}

bool head_result(struct head *head, const char *json, size_t len, const struct err *e)
{
    if (!head->awaits_result)
        return false;
    head->awaits_result = false;
    size_t mark = frame_begin(&head->out);
    buf_printf(&head->out, "{\"op\":\"result\",\"id\":%llu,", (unsigned long long)head->running_id);
    if (json != NULL) {
        buf_append_str(&head->out, "\"result\":");
        buf_append(&head->out, json, len);
    } else {
        struct json_out out = JSON_OUT(&head->out);
        buf_append_str(&head->out, "\"error\":");
        json_put_object(&out);
        json_put_member_str(&out, "code", err_code_name(e->code));
        json_put_member_str(&out, "message", e->message);
        json_put_member_str(&out, "advice", e->advice);
        json_put_object_end(&out);
    }
    buf_append_str(&head->out, "}");
    if (!frame_end(&head->out, mark) || !head_flush(head))
        head_lose(head);
    else
        head_want_events(head);
    return true;
}

int head_ask_names(struct head *head, unsigned max, struct err *e)
{
    if (begin_request(head, e) < 0)
        return -1;
    size_t mark = frame_begin(&head->out);
    buf_printf(&head->out, "{\"op\":\"names\",\"max\":%u}", MIN(max, (unsigned)NAMES_MAX));
    if (!head_send(head, mark))
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
    if (!head_send(head, mark))
        return err_set(e, ERR_INVALID, "%s", unread);
    head->is_asked_declared = true;
    return 0;
}

int head_judge(struct head *head, const struct head_question *question, struct err *e)
{
    static const char *const ops[] = {[HEAD_ASKED_WHETHER_COMPLETE] = "is_complete",
                                      [HEAD_ASKED_COMPLETIONS] = "complete",
                                      [HEAD_ASKED_MEANING] = "inspect"};
    assert(head->judging == HEAD_ASKED_NOTHING);
    if (begin_request(head, e) < 0)
        return -1;
    size_t mark = frame_begin(&head->out);
    struct json_out json = JSON_OUT(&head->out);
    json_put_object(&json);
    json_put_member_str(&json, "op", ops[question->topic]);
    if (question->topic != HEAD_ASKED_WHETHER_COMPLETE)
        json_put_member_int(&json, "cursor", (int64_t)question->cursor);
    if (question->topic == HEAD_ASKED_MEANING)
        json_put_member_int(&json, "detail", question->is_detailed);
    json_put_member_text(&json, "code", question->code, question->len);
    json_put_object_end(&json);
    if (!frame_end(&head->out, mark) || !head_flush(head))
        return err_set(e, ERR_INVALID, "the control socket was closed");
    head->judging = question->topic;
    head_want_events(head);
    return 0;
}

int head_call_tool(struct head *head, const struct head_tool *tool, struct err *e)
{
    assert(head->tool_call == 0 && tool->id != 0);
    if (begin_request(head, e) < 0)
        return -1;
    size_t mark = frame_begin(&head->out);
    struct json_out json = JSON_OUT(&head->out);
    json_put_object(&json);
    json_put_member_str(&json, "op", "tool");
    json_put_member_int(&json, "id", (int64_t)tool->id);
    json_put_member_str(&json, "name", tool->name);
    json_put_member_true(&json, "whole", tool->is_whole);
    json_put_key(&json, "args");
    json_put_value(&json, tool->args);
    json_put_object_end(&json);
    if (!frame_end(&head->out, mark))
        return err_set(e, ERR_TOO_LARGE, "the arguments are too large for an interpreter");
    if (!head_flush(head))
        return err_set(e, ERR_INVALID, "the control socket was closed");
    head->tool_call = tool->id;
    head_want_events(head);
    return 0;
}
