/* The pump of `cella mcp`. Command line tool; one thread, which waits only in poll, for standard
 * output, and while it connects.
 *
 *   standard input ─▶ heard ─line─▶ outgoing ─▶ daemon ─▶ told ─line─▶ standard output
 *                              │                           │
 *                              └─▶ open: unanswered ◀──────┘
 *
 * When the daemon ends: what can be asked twice is asked again, of the rest the client is told that
 * nobody knows how far it came. Where nothing is open, the next message connects: a daemon that was
 * stopped is not started by clients that say nothing. */
#include "cli/mcp_pump.h"

#include "base/clock.h"
#include "base/fd.h"
#include "cli/args.h"
#include "cli/terminal.h"
#include "mcp/rpc.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    PUMP_PIECE = 64 * 1024,
    PUMP_OPEN_MAX = 1024,        /* requests without an answer, then no more are taken */
    PUMP_RESENT_MAX = 64 * 1024, /* bytes of a request that is kept to be asked again */
    PUMP_WATCHED_MAX = 64,       /* resources, as the daemon has it */
    PUMP_CONNECT_MS = 30 * 1000, /* in which a daemon must be there again */
    PUMP_PAUSE_MS = 200,         /* between two tries */
    PUMP_ENDS_MAX = 5,           /* of daemons in PUMP_ENDS_MS, then it is given up */
    PUMP_ENDS_MS = 60 * 1000,
};
#define PUMP_ANSWER_MAX (192 * MIB) /* more than the daemon's largest message */

/* A request that the daemon has, and has not answered. */
struct pump_open {
    json_t *id;
    char *line; /* to ask again; NULL if it must not be */
    bool is_call, is_modern, is_hello, is_listener;
};

struct pump {
    const struct mcp_host *host;
    int daemon;       /* -1: it has ended */
    bool hears;       /* the client may say more */
    struct buf heard; /* from `taken` on: not passed on yet */
    size_t taken;
    struct buf outgoing; /* of which the daemon has `sent` bytes */
    size_t sent;
    struct buf told; /* lines of the daemon, the last one not complete */
    struct pump_open open[PUMP_OPEN_MAX];
    size_t n_open;

    /* What another daemon has to know of a client with a handshake. */
    json_t *hello; /* its `initialize`; NULL if none */
    bool is_initialized;
    json_t *level;   /* its newest logging/setLevel; NULL if none */
    json_t *watched; /* URIs */

    uint64_t ended_ms[PUMP_ENDS_MAX]; /* when daemons ended, a ring */
    size_t n_ends;
};

/* ---- to the client --------------------------------------------------------------------------- */

/* 0, or an exit status: nobody reads, or a signal came. */
static int pump_say(const char *data, size_t len)
{
    size_t done = 0;
    int status = cli_write(STDOUT_FILENO, data, len, &done);
    if (status == -EINTR)
        return 128 + cli_signal_taken();
    return status < 0 ? CLI_EXIT_PIPE : 0;
}

static void pump_put_fault(struct buf *out, const struct pump_open *o, const char *why)
{
    struct rpc_fault fault;
    if (!o->is_call) {
        rpc_fault_set(&fault, RPC_BUSY, "the daemon has ended; %s", why);
        rpc_put_error(out, o->id, &fault);
        buf_append_char(out, '\n');
        return;
    }
    struct json_out json = JSON_OUT(out);
    _buf_ struct buf text = BUF_INIT(KIB);
    buf_printf(&text, "The daemon ended while this ran; %s", why);
    rpc_put_result_head(out, o->id);
    buf_printf(out, "{%s\"content\":[{\"type\":\"text\",\"text\":",
               o->is_modern ? "\"resultType\":\"complete\"," : "");
    json_put_str(&json, buf_str(&text));
    buf_append_str(out, "}],\"isError\":true}}\n");
}

/* ---- requests that are open ------------------------------------------------------------------ */

static void pump_close(struct pump *p, size_t i)
{
    json_decref(p->open[i].id);
    free(p->open[i].line);
    p->n_open--;
    memmove(&p->open[i], &p->open[i + 1], (p->n_open - i) * sizeof(p->open[0]));
}

static void pump_close_id(struct pump *p, const json_t *id)
{
    for (size_t i = 0; i < p->n_open; i++) {
        if (json_equal(p->open[i].id, id)) {
            pump_close(p, i);
            return;
        }
    }
}

static char *pump_copy(const char *line, size_t len)
{
    char *copy = mem_alloc(len + 2);
    memcpy(copy, line, len);
    copy[len] = '\n';
    copy[len + 1] = '\0';
    return copy;
}

/* A request must not be asked again if it may have done something, or if the client heard the
 * beginning of its answer. */
static void pump_note_request(struct pump *p, const struct rpc_message *m, const char *line,
                              size_t len)
{
    bool is_call = strcmp(m->method, "tools/call") == 0;
    bool is_listener = strcmp(m->method, "subscriptions/listen") == 0;
    bool is_once = is_call || is_listener;
    const json_t *meta = json_object_get(m->params, "_meta");
    p->open[p->n_open++] = (struct pump_open){
        .id = json_incref(m->id),
        .line = is_once || len > PUMP_RESENT_MAX ? NULL : pump_copy(line, len),
        .is_call = is_call,
        .is_modern = json_object_get(meta, "io.modelcontextprotocol/protocolVersion") != NULL,
        .is_hello = strcmp(m->method, "initialize") == 0,
        .is_listener = is_listener,
    };
}

/* What the daemon remembers of the client beyond the message. */
static void pump_note_state(struct pump *p, const struct rpc_message *m)
{
    const char *uri = rpc_text(m->params, "uri");
    if (strcmp(m->method, "initialize") == 0) {
        json_decref(p->hello);
        p->hello = json_incref(m->root);
    } else if (strcmp(m->method, "logging/setLevel") == 0) {
        json_decref(p->level);
        p->level = json_incref(m->root);
    } else if (strcmp(m->method, "resources/unsubscribe") == 0 && uri != NULL) {
        json_object_del(p->watched, uri);
    } else if (strcmp(m->method, "resources/subscribe") == 0 && uri != NULL &&
               json_object_size(p->watched) < PUMP_WATCHED_MAX) {
        json_object_set_new(p->watched, uri, json_true());
    }
}

/* True if an answer will come; what cannot be read is the daemon's to refuse. */
static bool pump_note(struct pump *p, const char *line, size_t len)
{
    struct rpc_message m;
    struct rpc_fault ignored;
    bool is_read = rpc_read(line, len, &m, &ignored) == 0;
    if (is_read && m.kind == RPC_REQUEST) {
        pump_note_request(p, &m, line, len);
        pump_note_state(p, &m);
    } else if (is_read && m.kind == RPC_NOTIFICATION) {
        p->is_initialized |= strcmp(m.method, "notifications/initialized") == 0;
        if (strcmp(m.method, "notifications/cancelled") == 0)
            pump_close_id(p, json_object_get(m.params, "requestId"));
    }
    json_decref(m.root);
    return !is_read || m.kind == RPC_REQUEST;
}

/* ---- from the client ------------------------------------------------------------------------- */

static void pump_hear(struct pump *p)
{
    buf_consume(&p->heard, p->taken);
    p->taken = 0;
    if (!buf_reserve(&p->heard, PUMP_PIECE))
        return;
    ssize_t n = read(STDIN_FILENO, p->heard.data + p->heard.len, PUMP_PIECE);
    if (n > 0) {
        p->heard.len += (size_t)n;
        p->heard.data[p->heard.len] = '\0';
    } else if (n == 0 || (errno != EINTR && errno != EAGAIN)) {
        p->hears = false;
        buf_append_char(&p->heard, '\n'); /* of the last line */
    }
}

/* The next whole line, without its end, or NULL. One that is too long keeps a byte too many, for
 * which the daemon refuses it. */
static const char *pump_next_line(struct pump *p, size_t *ret_len)
{
    const char *from = buf_str(&p->heard) + p->taken;
    size_t left = p->heard.len - p->taken;
    const char *end = memchr(from, '\n', left);
    if (end == NULL && left > RPC_MESSAGE_MAX)
        p->heard.len = p->taken + RPC_MESSAGE_MAX + 1;
    if (end == NULL)
        return NULL;
    p->taken += (size_t)(end - from) + 1;
    *ret_len = MIN((size_t)(end - from), (size_t)RPC_MESSAGE_MAX + 1);
    return from;
}

/* True if a line became outgoing. Without a daemon only requests are worth one. */
static bool pump_take_line(struct pump *p)
{
    size_t len;
    const char *line;
    while (p->n_open < PUMP_OPEN_MAX && (line = pump_next_line(p, &len)) != NULL) {
        bool is_blank = strspn(line, " \t\r") >= len;
        if (is_blank || (!pump_note(p, line, len) && p->daemon < 0))
            continue;
        buf_append(&p->outgoing, line, len);
        buf_append_char(&p->outgoing, '\n');
        return true;
    }
    return false;
}

/* ---- from the daemon ------------------------------------------------------------------------- */

/* The id of a message, as the daemon begins one; NULL if it has none. */
static json_t *pump_id_of(const char *line, size_t len, const char **ret_rest)
{
    static const char head[] = "{\"jsonrpc\":\"2.0\",\"id\":";
    size_t at = sizeof(head) - 1, from = at;
    if (len <= at || memcmp(line, head, at) != 0)
        return NULL;
    bool is_text = line[at] == '"';
    for (at++; at < len && (is_text ? line[at] != '"' : line[at] != ','); at++)
        at += line[at] == '\\';
    at += is_text;
    if (at >= len)
        return NULL;
    *ret_rest = line + at;
    return json_loadb(line + from, at - from, JSON_DECODE_ANY, NULL);
}

static int pump_tell(struct pump *p, const char *line, size_t len)
{
    const char *rest = "", *text;
    json_t *id = pump_id_of(line, len, &rest);
    bool is_answer = strncmp(rest, ",\"result\"", 9) == 0 || strncmp(rest, ",\"error\"", 8) == 0;
    text = json_string_value(id);
    bool is_own = is_answer && text != NULL && strcmp(text, p->host->token) == 0;
    if (is_answer && !is_own)
        pump_close_id(p, id);
    json_decref(id);
    return is_own ? 0 : pump_say(line, len + 1);
}

/* 0, an exit status, or -1: the daemon has ended. */
static int pump_read_daemon(struct pump *p)
{
    if (!buf_reserve(&p->told, PUMP_PIECE))
        return -1;
    size_t old = p->told.len, from = 0;
    ssize_t n = recv(p->daemon, p->told.data + old, PUMP_PIECE, MSG_DONTWAIT);
    if (n <= 0)
        return n < 0 && (errno == EINTR || errno == EAGAIN) ? 0 : -1;
    p->told.len += (size_t)n;
    p->told.data[p->told.len] = '\0';
    const char *end = memchr(p->told.data + old, '\n', (size_t)n);
    int status = 0;
    while (end != NULL && status == 0) {
        size_t len = (size_t)(end - p->told.data) - from;
        status = pump_tell(p, p->told.data + from, len);
        from += len + 1;
        end = memchr(p->told.data + from, '\n', p->told.len - from);
    }
    buf_consume(&p->told, from);
    if (p->told.len == 0 && p->told.cap > 16 * PUMP_PIECE)
        buf_free(&p->told);
    return status;
}

static void pump_send(struct pump *p)
{
    ssize_t n = send(p->daemon, p->outgoing.data + p->sent, p->outgoing.len - p->sent,
                     MSG_DONTWAIT | MSG_NOSIGNAL);
    if (n > 0)
        p->sent += (size_t)n; /* an error is one of reading, too */
    if (p->sent < p->outgoing.len)
        return;
    p->sent = 0;
    buf_clear(&p->outgoing);
    if (p->outgoing.cap > 16 * PUMP_PIECE)
        buf_free(&p->outgoing);
}

/* ---- another daemon -------------------------------------------------------------------------- */

static void pump_put_again(struct buf *out, json_t *message, const char *id)
{
    json_t *again = json_copy(message);
    json_object_set_new(again, "id", json_string(id));
    char *text = json_dumps(again, JSON_COMPACT);
    buf_append_str(out, text);
    buf_append_char(out, '\n');
    free(text);
    json_decref(again);
}

/* What the daemon before knew. Answers to what we ask carry our id. What is watched may have
 * changed meanwhile, or gone back. */
static int pump_introduce(struct pump *p, struct buf *out)
{
    const char *own = p->host->token, *uri;
    json_t *ignored;
    int status = 0;
    if (p->is_initialized)
        buf_append_str(out, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n");
    if (p->level != NULL)
        pump_put_again(out, p->level, own);
    json_object_foreach(p->watched, uri, ignored) {
        _buf_ struct buf news = BUF_INIT(RPC_MESSAGE_MAX);
        json_t *params = json_pack("{s:s}", "uri", uri);
        rpc_put_call(out, own, "resources/subscribe", params);
        buf_append_char(out, '\n');
        rpc_put_call(&news, NULL, "notifications/resources/updated", params);
        buf_append_char(&news, '\n');
        json_decref(params);
        if (status == 0)
            status = pump_say(buf_str(&news), news.len);
    }
    return status;
}

/* To every open request that cannot be asked again, or to all: why there is no answer. */
static int pump_answer_open(struct pump *p, const char *why, bool is_all)
{
    int status = 0;
    for (size_t i = 0; i < p->n_open && status == 0;) {
        if (p->open[i].line != NULL && !is_all) {
            i++;
            continue;
        }
        _buf_ struct buf out = BUF_INIT(64 * KIB);
        pump_put_fault(&out, &p->open[i], why);
        status = pump_say(buf_str(&out), out.len);
        pump_close(p, i);
    }
    return status;
}

/* A line that the daemon before has not begun to take goes to this one. */
static int pump_resume(struct pump *p)
{
    struct buf kept = p->outgoing;
    bool is_untouched = p->sent == 0, greets = p->hello != NULL;
    p->outgoing = BUF_INIT(kept.max);
    p->sent = 0;
    /* A request in `kept` is the newest of those that are open. */
    json_t *waiting = NULL;
    if (is_untouched && kept.len > 0) {
        struct rpc_message m;
        struct rpc_fault ignored;
        if (rpc_read(kept.data, kept.len - 1, &m, &ignored) == 0 && m.kind == RPC_REQUEST)
            waiting = json_incref(m.id);
        json_decref(m.root);
        pump_close_id(p, waiting);
    }
    json_decref(waiting);
    for (size_t i = 0; i < p->n_open; i++)
        greets &= !p->open[i].is_hello;
    if (greets)
        pump_put_again(&p->outgoing, p->hello, p->host->token);
    for (size_t i = 0; i < p->n_open; i++)
        if (p->open[i].line != NULL)
            buf_append_str(&p->outgoing, p->open[i].line);
    int status = pump_answer_open(
        p,
        "it has begun anew. Sessions are as they were last saved: look at what is there, then do "
        "this again.",
        false);
    if (status == 0)
        status = pump_introduce(p, &p->outgoing);
    if (is_untouched && kept.len > 0) {
        pump_note(p, kept.data, kept.len - 1);
        buf_append(&p->outgoing, kept.data, kept.len);
    }
    buf_free(&kept);
    return status;
}

static int pump_connect(struct pump *p, struct err *e)
{
    uint64_t deadline_ms = clock_mono_ms() + clock_scaled_ms(PUMP_CONNECT_MS);
    for (;;) {
        p->daemon = p->host->connect(p->host->context, e);
        if (p->daemon >= 0)
            return 0;
        bool may_pass = e->code == ERR_UNAVAILABLE || e->code == ERR_TIMEOUT;
        if (!may_pass || clock_mono_ms() >= deadline_ms ||
            cli_wait(-1, 0, clock_mono_ms() + PUMP_PAUSE_MS) != 0)
            return -1;
    }
}

/* Another daemon takes over: 0, an exit status, or -1 with the error, which every request that is
 * open was answered with. */
static int pump_begin_anew(struct pump *p, struct err *e)
{
    uint64_t now_ms = clock_mono_ms(), *slot = &p->ended_ms[p->n_ends++ % PUMP_ENDS_MAX];
    bool ends_often = *slot != 0 && now_ms - *slot < PUMP_ENDS_MS;
    *slot = now_ms;
    if (ends_often) {
        err_set(e, ERR_UNAVAILABLE, "the daemon has ended %d times in a minute", PUMP_ENDS_MAX);
        err_advise(e, "see daemon.log in its data directory, and run: cella doctor");
    } else if (pump_connect(p, e) == 0) {
        return pump_resume(p);
    }
    struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
    if (p->hears && poll(&input, 1, 0) > 0)
        pump_hear(p);
    while (pump_take_line(p)) /* what was asked meanwhile is answered, too */
        continue;
    _buf_ struct buf why = BUF_INIT(KIB);
    buf_printf(&why, "there is no other: %.600s", e->message);
    pump_answer_open(p, buf_str(&why), true);
    return -1;
}

/* 0: there is a daemon, or there is no need for one yet. */
static int pump_lost(struct pump *p, struct err *e)
{
    close(p->daemon);
    p->daemon = -1;
    buf_clear(&p->told);
    for (size_t i = p->n_open; i-- > 0 && !p->hears;)
        if (p->open[i].is_listener) /* these end with the client */
            pump_close(p, i);
    if (p->n_open == 0 && p->outgoing.len == 0)
        return 0;
    if (p->hears)
        return pump_begin_anew(p, e);
    int status = pump_answer_open(p, "do this again: its end is not known.", true);
    return status != 0 ? status : err_set(e, ERR_UNAVAILABLE, "the daemon has ended");
}

/* ---- the loop -------------------------------------------------------------------------------- */

/* Waits for a side and serves it: 0, an exit status, or -1 with the error. */
static int pump_turn(struct pump *p, struct err *e)
{
    bool has_more = p->sent < p->outgoing.len;
    bool wants_line = p->hears && !has_more && p->n_open < PUMP_OPEN_MAX;
    struct pollfd sides[] = {
        {.fd = wants_line ? STDIN_FILENO : -1, .events = POLLIN},
        {.fd = p->daemon, .events = (short)(POLLIN | (has_more ? POLLOUT : 0))},
        {.fd = STDOUT_FILENO},
    };
    if (cli_poll(sides, ARRAY_LEN(sides)) < 0)
        return 128 + cli_signal_taken();
    if (sides[2].revents & (POLLERR | POLLHUP | POLLNVAL))
        return CLI_EXIT_PIPE;
    if (sides[1].revents & ~POLLOUT) {
        int status = pump_read_daemon(p);
        return status < 0 ? pump_lost(p, e) : status;
    }
    if (has_more && sides[1].revents & POLLOUT)
        pump_send(p);
    else if (wants_line && sides[0].revents != 0)
        pump_hear(p);
    return 0;
}

static int pump_run(struct pump *p, struct err *e)
{
    p->daemon = p->host->connect(p->host->context, e);
    int status = p->daemon < 0 ? -1 : 0;
    bool is_told = false; /* the daemon knows that there is no more */
    while (status == 0) {
        bool has_line = p->outgoing.len > 0 || pump_take_line(p);
        bool is_over = !p->hears && !has_line && p->taken == p->heard.len;
        if (is_over && p->daemon < 0)
            return 0;
        if (is_over && !is_told)
            is_told = shutdown(p->daemon, SHUT_WR) == 0; /* what was asked is still answered */
        if (p->daemon < 0 && has_line)
            status = pump_begin_anew(p, e);
        else
            status = pump_turn(p, e);
    }
    return status;
}

int mcp_pump(const struct mcp_host *host, struct err *e)
{
    struct pump *p = mem_alloc(sizeof(*p));
    *p = (struct pump){.host = host,
                       .daemon = -1,
                       .hears = true,
                       .heard = BUF_INIT(RPC_MESSAGE_MAX + 2 * PUMP_PIECE),
                       .outgoing = BUF_INIT(PUMP_ANSWER_MAX),
                       .told = BUF_INIT(PUMP_ANSWER_MAX),
                       .watched = json_object()};
    int status = pump_run(p, e);
    if (p->daemon >= 0)
        close(p->daemon);
    while (p->n_open > 0)
        pump_close(p, p->n_open - 1);
    json_decref(p->hello);
    json_decref(p->level);
    json_decref(p->watched);
    buf_free(&p->heard);
    buf_free(&p->outgoing);
    buf_free(&p->told);
    free(p);
    return status;
}
