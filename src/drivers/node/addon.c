/* What the Node.js driver cannot do in JavaScript: receive descriptors, write without delay, and be
 * interrupted. In the interpreter's process: one session, one thread; every function is called by
 * the driver's modules alone. */
#include "drivers/node/channel.h"
#include "drivers/node/interrupts.h"
#include "drivers/node/napi.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <uv.h>

enum {
    ARGS_MAX = 4,
    SHORT_TEXT = 8 * 1024,
    NULL_TYPE = 1,     /* napi_null */
    UINT8_ARRAY = 1,   /* napi_uint8_array */
    UINT32_ARRAY = 6,  /* napi_uint32_array */
    FLOAT64_ARRAY = 8, /* napi_float64_array */
};

static napi_env env;
static struct node_channel channel;
static napi_ref frame_callback;
static napi_ref interrupt_callback;

/* ---- values ---------------------------------------------------------------------------------- */

static napi_value undefined(void)
{
    napi_value value = NULL;
    napi_get_undefined(env, &value);
    return value;
}

static napi_value number(int32_t n)
{
    napi_value value = NULL;
    napi_create_int32(env, n, &value);
    return value;
}

/* Missing arguments are undefined. */
static void get_args(napi_callback_info info, napi_value args[ARGS_MAX])
{
    size_t n = ARGS_MAX;
    napi_get_cb_info(env, info, &n, args, NULL, NULL);
}

static int int_arg(napi_value value)
{
    int32_t n = -1;
    napi_get_value_int32(env, value, &n);
    return n;
}

/* A text as UTF-8, with room in front. Short ones need no memory of their own. */
struct utf8 {
    char room[SHORT_TEXT];
    char *data;
    size_t len; /* after the room in front */
};

static bool utf8_get(struct utf8 *text, napi_value value, size_t front)
{
    text->data = text->room;
    size_t room = SHORT_TEXT - front;
    if (napi_get_value_string_utf8(env, value, text->room + front, room, &text->len) != 0)
        return false;
    if (text->len + 4 < room) /* all of it: a cut leaves no more than a character's room */
        return true;
    size_t len;
    napi_get_value_string_utf8(env, value, NULL, 0, &len);
    text->data = malloc(front + len + 1);
    if (text->data == NULL)
        abort();
    napi_get_value_string_utf8(env, value, text->data + front, len + 1, &text->len);
    return true;
}

static void utf8_free(struct utf8 *text)
{
    if (text->data != text->room)
        free(text->data);
}

/* ---- what the event loop calls --------------------------------------------------------------- */

/* What comes out is of ticks and promises that ran after the call: an uncaught exception like any
 * other. After a termination it is null. */
static void call(napi_ref function, size_t argc, const napi_value *argv)
{
    napi_value resource, callee, result, thrown;
    napi_create_object(env, &resource); /* a new one: what is hung on it dies with the call */
    napi_get_reference_value(env, function, &callee);
    if (napi_make_callback(env, NULL, resource, callee, argc, argv, &result) == 0)
        return;
    int type = NULL_TYPE;
    if (napi_get_and_clear_last_exception(env, &thrown) == 0)
        napi_typeof(env, thrown, &type);
    if (type != NULL_TYPE)
        napi_fatal_exception(env, thrown);
}

static void deliver_frames(void)
{
    const char *payload;
    size_t len;
    while (channel_next(&channel, &payload, &len)) {
        napi_handle_scope scope;
        napi_open_handle_scope(env, &scope);
        napi_value text;
        napi_create_string_utf8(env, payload, len, &text);
        call(frame_callback, 1, &text);
        napi_close_handle_scope(env, scope);
    }
}

static void on_readable(uv_poll_t *poll, int status, int events)
{
    (void)poll;
    (void)events;
    if (status < 0)
        _exit(0);
    interrupts_take();
    channel_fill(&channel, NULL);
    deliver_frames();
    interrupts_take_nothing();
}

static void on_interrupted(void)
{
    napi_handle_scope scope;
    napi_open_handle_scope(env, &scope);
    /* What an earlier termination left behind may be in the way of the first call. */
    for (int i = 0; i < 2 && interrupts_is_running(); i++)
        call(interrupt_callback, 0, NULL);
    napi_close_handle_scope(env, scope);
}

static bool watch_channel(uv_loop_t *loop)
{
    uv_poll_t *poll = malloc(uv_handle_size(UV_POLL));
    return poll != NULL && uv_poll_init(loop, poll, channel.fd) == 0 &&
           uv_poll_start(poll, UV_READABLE, on_readable) == 0;
}

/* ---- what the driver calls ------------------------------------------------------------------- */

/* start(fd, onFrame(text), onInterrupt()): true if it can be interrupted */
static napi_value js_start(napi_env unused, napi_callback_info info)
{
    (void)unused;
    napi_value args[ARGS_MAX], result;
    get_args(info, args);
    channel_open(&channel, int_arg(args[0]));
    napi_create_reference(env, args[1], 1, &frame_callback);
    napi_create_reference(env, args[2], 1, &interrupt_callback);
    uv_loop_t *loop = NULL;
    napi_get_uv_event_loop(env, &loop);
    bool is_good = watch_channel(loop) && interrupts_start(loop, channel.fd, on_interrupted);
    napi_get_boolean(env, is_good, &result);
    return result;
}

static void *array_arg(napi_value value, int wanted_type, size_t *len)
{
    int type = -1;
    void *data = NULL;
    napi_get_typedarray_info(env, value, &type, len, &data, NULL, NULL);
    return type == wanted_type ? data : NULL;
}

/* tidy(hookFields, idFields, [checks, depth, execution id, trigger id]): see interrupts_tidy; the
 * last are indices */
static napi_value js_tidy(napi_env unused, napi_callback_info info)
{
    (void)unused;
    napi_value args[ARGS_MAX];
    get_args(info, args);
    size_t n_fields = 0, n_ids = 0, n = 0;
    uint32_t *fields = array_arg(args[0], UINT32_ARRAY, &n_fields);
    double *ids = array_arg(args[1], FLOAT64_ARRAY, &n_ids);
    const uint32_t *at = array_arg(args[2], UINT32_ARRAY, &n);
    if (fields == NULL || ids == NULL || at == NULL || n != 4 || at[0] >= n_fields ||
        at[1] >= n_fields || at[2] >= n_ids || at[3] >= n_ids)
        return undefined();
    interrupts_tidy(&(struct interrupts_async){
        .checks = &fields[at[0]],
        .depth = &fields[at[1]],
        .execution_id = &ids[at[2]],
        .trigger_id = &ids[at[3]],
    });
    return undefined();
}

/* send(text) */
static napi_value js_send(napi_env unused, napi_callback_info info)
{
    (void)unused;
    napi_value args[ARGS_MAX];
    get_args(info, args);
    struct utf8 text;
    if (utf8_get(&text, args[0], CHANNEL_HEADER)) {
        channel_send(&channel, text.data, text.len);
        utf8_free(&text);
    }
    return undefined();
}

/* The next frame's text, or undefined. */
static napi_value receive(bool (*gives_up)(void))
{
    const char *payload;
    size_t len;
    while (!channel_next(&channel, &payload, &len))
        if (!channel_fill(&channel, gives_up))
            return undefined();
    napi_value text = NULL;
    napi_create_string_utf8(env, payload, len, &text);
    return text;
}

/* receive(): the next frame's text; waits for it */
static napi_value js_receive(napi_env unused, napi_callback_info info)
{
    (void)unused;
    (void)info;
    return receive(NULL);
}

/* receiveInCell(): likewise; undefined if the cell that runs is to end. A signal that comes right
 * before the wait is repeated by the watcher. */
static napi_value js_receive_in_cell(napi_env unused, napi_callback_info info)
{
    (void)unused;
    (void)info;
    return receive(interrupts_is_asked);
}

/* User code had closed 1 or 2, and the pipes took their places. */
static int move_up(int fd)
{
    if (fd > STDERR_FILENO)
        return fd;
    int moved = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    close(fd);
    return moved;
}

/* beginCell(): [stdout, stderr, may run], the pipes of the cell whose frame came last; they are its
 * standard streams now, and the driver's to close */
static napi_value js_begin_cell(napi_env unused, napi_callback_info info)
{
    (void)unused;
    (void)info;
    int pipes[2];
    channel_take_fds(&channel, pipes, 2);
    int out = move_up(pipes[0]), err = move_up(pipes[1]);
    dup2(out, STDOUT_FILENO); /* inherited: by the children of the cell */
    dup2(err, STDERR_FILENO); /* inherited: likewise */
    bool may_run = interrupts_begin_cell();
    napi_value result, flag;
    napi_create_array_with_length(env, 3, &result);
    napi_set_element(env, result, 0, number(out));
    napi_set_element(env, result, 1, number(err));
    napi_get_boolean(env, may_run, &flag);
    napi_set_element(env, result, 2, flag);
    return result;
}

static napi_value js_end_cell(napi_env unused, napi_callback_info info)
{
    (void)unused;
    (void)info;
    interrupts_end_cell();
    return undefined();
}

/* isInterrupted(): is the cell that runs to end? */
static napi_value js_is_interrupted(napi_env unused, napi_callback_info info)
{
    (void)unused;
    (void)info;
    napi_value result = NULL;
    napi_get_boolean(env, interrupts_is_asked(), &result);
    return result;
}

static napi_value js_abort(napi_env unused, napi_callback_info info)
{
    (void)unused;
    (void)info;
    abort();
}

/* stopCell(): the cell that runs, and calls this, is to end */
static napi_value js_stop_cell(napi_env unused, napi_callback_info info)
{
    (void)unused;
    (void)info;
    interrupts_ask();
    return undefined();
}

/* shield(is_shielded): keeps interrupts away from what the driver does next */
static napi_value js_shield(napi_env unused, napi_callback_info info)
{
    (void)unused;
    napi_value args[ARGS_MAX];
    get_args(info, args);
    bool is_shielded = false;
    napi_get_value_bool(env, args[0], &is_shielded);
    interrupts_shield(is_shielded);
    return undefined();
}

/* write(fd, text or typed array): 0 or -errno */
static napi_value js_write(napi_env unused, napi_callback_info info)
{
    (void)unused;
    napi_value args[ARGS_MAX];
    get_args(info, args);
    int fd = int_arg(args[0]), type, rc = -EINVAL;
    struct utf8 text;
    size_t len;
    void *data;
    if (utf8_get(&text, args[1], 0)) {
        rc = channel_write_all(fd, text.data, text.len);
        utf8_free(&text);
    } else if (napi_get_typedarray_info(env, args[1], &type, &len, &data, NULL, NULL) == 0) {
        rc = channel_write_all(fd, data, len); /* of bytes: then len is in bytes */
    }
    return number(rc);
}

/* takeDescriptor(): the one that came with the frame at hand */
static napi_value js_take_descriptor(napi_env unused, napi_callback_info info)
{
    (void)unused;
    (void)info;
    int fd;
    channel_take_fds(&channel, &fd, 1);
    return number(move_up(fd));
}

/* read(fd, bytes): fills the array; how many there were, or -errno */
static napi_value js_read(napi_env unused, napi_callback_info info)
{
    (void)unused;
    napi_value args[ARGS_MAX];
    get_args(info, args);
    size_t len = 0;
    char *data = array_arg(args[1], UINT8_ARRAY, &len);
    return number(data == NULL && len > 0 ? -EINVAL
                                          : (int32_t)channel_read_all(int_arg(args[0]), data, len));
}

static napi_value js_close(napi_env unused, napi_callback_info info)
{
    (void)unused;
    napi_value args[ARGS_MAX];
    get_args(info, args);
    close(int_arg(args[0]));
    return undefined();
}

/* workedMs(): for how long this thread has had a processor */
static napi_value js_worked_ms(napi_env unused, napi_callback_info info)
{
    (void)unused;
    (void)info;
    struct timespec t;
    napi_value result = NULL;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    napi_create_double(env, (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6, &result);
    return result;
}

/* exit(status): at once, without a word to user code */
static napi_value js_exit(napi_env unused, napi_callback_info info)
{
    (void)unused;
    napi_value args[ARGS_MAX];
    get_args(info, args);
    _exit(int_arg(args[0]));
}

napi_value napi_register_module_v1(napi_env environment, napi_value exports);

__attribute__((visibility("default"))) napi_value napi_register_module_v1(napi_env environment,
                                                                          napi_value exports)
{
    static const struct {
        const char *name;
        napi_callback call;
    } functions[] = {
        {"start", js_start},
        {"tidy", js_tidy},
        {"send", js_send},
        {"receive", js_receive},
        {"receiveInCell", js_receive_in_cell},
        {"beginCell", js_begin_cell},
        {"endCell", js_end_cell},
        {"stopCell", js_stop_cell},
        {"shield", js_shield},
        {"write", js_write},
        {"takeDescriptor", js_take_descriptor},
        {"read", js_read},
        {"close", js_close},
        {"workedMs", js_worked_ms},
        {"exit", js_exit},
        {"abort", js_abort},
        {"isInterrupted", js_is_interrupted},
    };
    env = environment;
    for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
        napi_value function;
        napi_create_function(env, functions[i].name, NAPI_AUTO_LENGTH, functions[i].call, NULL,
                             &function);
        napi_set_named_property(env, exports, functions[i].name, function);
    }
    return exports;
}
