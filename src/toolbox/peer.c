/* A child process that is spoken to in lines. Daemon; on the loop; owns the process and the socket
 * that is its standard input and output. */
#include "toolbox/peer.h"

#include "base/buf.h"
#include "base/fd.h"
#include "loop/loop.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>

enum { PEER_ARGS_MAX = 64 };

struct peer {
    uv_process_t process;
    struct loop_stream *stream;
    struct buf in; /* a line that has not come to its end */
    const struct peer_events *events;
    void *context;
    bool is_running;
    bool is_ended;   /* peer_end was called: the owner hears nothing more */
    bool has_told;   /* on_end was called */
    unsigned n_held; /* functions that are using it */
};

static void peer_free_soon(struct peer *peer);

static void peer_tell_end(struct peer *peer, const char *why)
{
    if (peer->has_told || peer->is_ended)
        return;
    peer->has_told = true;
    peer->events->on_end(peer->context, why);
}

/* ---- lines ----------------------------------------------------------------------------------- */

static void peer_take_lines(struct peer *peer)
{
    size_t at = 0;
    while (!peer->is_ended && !peer->has_told) {
        const char *begin = buf_str(&peer->in) + at;
        const char *end = memchr(begin, '\n', peer->in.len - at);
        if (end == NULL)
            break;
        at += (size_t)(end - begin) + 1;
        if (end > begin)
            peer->events->on_line(peer->context, begin, (size_t)(end - begin));
    }
    buf_consume(&peer->in, at);
}

static void peer_on_data(void *context, const char *data, size_t len)
{
    struct peer *peer = context;
    peer->n_held++;
    if (!buf_append(&peer->in, data, len))
        peer_tell_end(peer, "it sent a line of more than 8 MiB");
    else
        peer_take_lines(peer);
    peer->n_held--;
    peer_free_soon(peer);
}

static void peer_on_closed_stream(void *context, int error)
{
    struct peer *peer = context;
    (void)error;
    peer->n_held++;
    peer_tell_end(peer, "it has closed its output");
    peer->n_held--;
    peer_free_soon(peer);
}

static void peer_on_drained(void *context)
{
    (void)context;
}

static const struct loop_stream_events peer_stream_events = {
    .on_data = peer_on_data, .on_end = peer_on_closed_stream, .on_drained = peer_on_drained};

int peer_send(struct peer *peer, const char *line, size_t len, struct err *e)
{
    struct iovec parts[] = {{(void *)(uintptr_t)line, len}, {(void *)(uintptr_t) "\n", 1}};
    if (loop_stream_queued(peer->stream) > PEER_QUEUE_MAX) {
        err_set(e, ERR_UPSTREAM, "the server does not read what it is sent");
        return err_advise(e, "It is overloaded or hangs; try again later.");
    }
    int r = loop_stream_write(peer->stream, parts, ARRAY_LEN(parts));
    return r < 0 ? err_errno(e, ERR_UPSTREAM, -r, "the server cannot be written to") : 0;
}

/* ---- life ------------------------------------------------------------------------------------ */

static void peer_on_freed(uv_handle_t *handle)
{
    struct peer *peer = CONTAINER_OF((uv_process_t *)handle, struct peer, process);
    buf_free(&peer->in);
    free(peer);
}

static void peer_free_soon(struct peer *peer)
{
    if (peer->is_ended && !peer->is_running && peer->n_held == 0 &&
        !uv_is_closing((uv_handle_t *)&peer->process))
        uv_close((uv_handle_t *)&peer->process, peer_on_freed);
}

static void peer_on_exit(uv_process_t *process, int64_t status, int signal_number)
{
    struct peer *peer = CONTAINER_OF(process, struct peer, process);
    char why[96];
    peer->is_running = false;
    if (signal_number != 0)
        snprintf(why, sizeof(why), "it was ended by signal %d (%s)", signal_number,
                 strsignal(signal_number));
    else
        snprintf(why, sizeof(why), "it ended with exit code %lld", (long long)status);
    peer->n_held++;
    peer_tell_end(peer, why);
    peer->n_held--;
    peer_free_soon(peer);
}

static void peer_list(const json_t *texts, const char **list, size_t max)
{
    size_t n = 0;
    while (list[n] != NULL)
        n++;
    for (size_t i = 0; i < json_array_size(texts) && n + 1 < max; i++)
        list[n++] = json_string_value(json_array_get(texts, i));
    list[n] = NULL;
}

static int peer_spawn(struct peer *peer, uv_loop_t *loop, int theirs, const json_t *command,
                      const json_t *environment)
{
    const char *args[PEER_ARGS_MAX] = {NULL},
               *given[PEER_ARGS_MAX] = {"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=/",
                                        "LANG=C.UTF-8", NULL};
    uv_stdio_container_t stdio[] = {{.flags = UV_INHERIT_FD, .data.fd = theirs},
                                    {.flags = UV_INHERIT_FD, .data.fd = theirs},
                                    {.flags = UV_IGNORE}};
    peer_list(command, args, ARRAY_LEN(args));
    peer_list(environment, given, ARRAY_LEN(given));
    const uv_process_options_t options = {.exit_cb = peer_on_exit,
                                          .file = args[0],
                                          .args = (char **)(uintptr_t)args,
                                          .env = (char **)(uintptr_t)given,
                                          .cwd = "/",
                                          .flags = UV_PROCESS_DETACHED, /* a group of its own */
                                          .stdio = stdio,
                                          .stdio_count = ARRAY_LEN(stdio)};
    return uv_spawn(loop, &peer->process, &options);
}

struct peer *peer_start(uv_loop_t *loop, const json_t *command, const json_t *environment,
                        const struct peer_events *events, void *context, struct err *e)
{
    int socks[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, socks) < 0) {
        err_errno(e, ERR_UNAVAILABLE, errno, "making a socket for a server");
        return NULL;
    }
    _fd_ int theirs = socks[1];
    struct peer *peer = mem_alloc(sizeof(*peer));
    *peer = (struct peer){.in = BUF_INIT(PEER_LINE_MAX), .events = events, .context = context};
    int r = peer_spawn(peer, loop, theirs, command, environment);
    peer->stream = loop_stream_open(loop, socks[0], &peer_stream_events, peer);
    if (r == 0 && peer->stream != NULL && loop_stream_read(peer->stream, true) == 0) {
        peer->is_running = true;
        return peer;
    }
    err_errno(e, ERR_UNAVAILABLE, r < 0 ? -r : ENOSPC, "the program %.200s cannot be started",
              json_string_value(json_array_get(command, 0)));
    err_advise(e, "Is it there, and may the daemon's user run it?");
    if (peer->stream == NULL)
        close(socks[0]);
    peer->is_running = r == 0;
    peer_end(peer);
    return NULL;
}

void peer_end(struct peer *peer)
{
    if (peer == NULL || peer->is_ended)
        return;
    peer->is_ended = true;
    loop_stream_close(take_ptr(peer->stream), NULL);
    if (peer->is_running)
        kill(-peer->process.pid, SIGKILL);
    peer_free_soon(peer);
}
