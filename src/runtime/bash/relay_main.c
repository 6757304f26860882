/* relay BASH FILE: the head of a session where the shell cannot load our builtin. It speaks with
 * the daemon on descriptor 3, and types into an interactive shell of its own, whose half of this is
 * FILE (plain.bash). The shell opens a cell's streams by name, /proc/PID/fd/N, and the daemon's
 * pipes belong to another user: so each cell has pipes of ours, from which we copy for as long as
 * somebody writes.
 *
 * What is different from the builtin: `read` finds the end of the file and asks nobody; set -e and
 * `exec prog` end the interpreter; an error inside the cell other than of syntax is only a status;
 * messages have no line numbers; there are no names; `$_` and PIPESTATUS do not outlive a cell;
 * functions called `exec` or `local` break it; `$-` has an i, and so `exit`, jobs in the
 * background, interrupts, PS1 and set -x leave traces of that on stderr. */
#include "runtime/bash/channel.h"
#include "runtime/bash/request.h"
#include "wire/json.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>

enum {
    SESSION_FD = 3,
    CODE_FD = 250,
    RESULT_FD = 251,
    LINE_BYTES_MAX = 128,
    STREAMS_MAX = 64, /* of cells that are over too; then the oldest are cut off */
    CHUNK_BYTES = 64 * 1024,
};

#define ANSWER_MAX (64 * KIB)

/* What the shell writes, and where it goes. */
struct stream {
    int from;
    int to;
};

static struct {
    struct channel channel;
    struct request request;
    struct buf answer;
    pid_t shell;
    int typing;                         /* its stdin */
    int code;                           /* its CODE_FD */
    int results;                        /* its RESULT_FD */
    struct stream streams[STREAMS_MAX]; /* oldest first */
    size_t n_streams;
    char line[LINE_BYTES_MAX];
    size_t line_len;
    long long last_id; /* of the result before */
    sigset_t waiting;  /* the mask while we wait: nothing is blocked */
} relay;

static volatile sig_atomic_t is_hit;
static bool has_stray; /* the shell was hit while no cell ran, and may not know yet */

/* What the shell said of a cell. */
struct result {
    long long id;
    int status;
    bool is_syntax;
    bool is_exit;
};

static void on_sigint(int sig)
{
    (void)sig;
    is_hit = 1;
}

static void on_sigchld(int sig)
{
    (void)sig; /* it ends the wait */
}

/* One that came together with what we waited for has not been delivered. */
static void take_pending_signals(void)
{
    sigset_t old;
    sigprocmask(SIG_SETMASK, &relay.waiting, &old);
    sigprocmask(SIG_SETMASK, &old, NULL);
}

/* ---- the daemon --------------------------------------------------------------------------------
 */

static struct json_out begin_answer(const char *event)
{
    buf_clear(&relay.answer);
    struct json_out json = JSON_OUT(&relay.answer);
    json_put_object(&json);
    json_put_member_str(&json, "ev", event);
    return json;
}

static void end_answer(struct json_out *json)
{
    json_put_object_end(json);
    if (channel_send(&relay.channel, &relay.answer) < 0)
        _exit(1);
}

static void answer_done(const struct result *result)
{
    take_pending_signals();
    bool is_interrupted = is_hit && result->status == 128 + SIGINT;
    char message[64] = "";
    const char *name = NULL;
    if (is_interrupted) {
        name = "Interrupted";
        snprintf(message, sizeof(message), "the cell was interrupted");
    } else if (result->is_syntax) {
        name = "SyntaxError";
        snprintf(message, sizeof(message), "a syntax error; stderr says where");
    } else if (result->is_exit && result->status != 0) {
        name = "SystemExit";
        snprintf(message, sizeof(message), "%d", result->status);
    }
    struct json_out json = begin_answer("done");
    json_put_member_int(&json, "id", result->id);
    json_put_member_str(&json, "status",
                        is_interrupted ? "interrupted"
                        : name != NULL ? "error"
                                       : "ok");
    json_put_member_null(&json, "value");
    json_put_key(&json, "error");
    if (name != NULL) {
        json_put_object(&json);
        json_put_member_str(&json, "name", name);
        json_put_member_str(&json, "message", message);
        json_put_object_end(&json);
    } else {
        json_put_null(&json);
    }
    json_put_member_int(&json, "last_status", result->status);
    if (result->is_exit)
        json_put_member_int(&json, "exit_code", result->status);
    end_answer(&json);
}

/* ---- the streams -------------------------------------------------------------------------------
 */

static bool write_all(int fd, const char *data, size_t len)
{
    while (len > 0) {
        ssize_t n = write(fd, data, len);
        if (n < 0 && errno != EINTR)
            return false;
        data += MAX(n, (ssize_t)0);
        len -= (size_t)MAX(n, (ssize_t)0);
    }
    return true;
}

static void close_stream(size_t i)
{
    close(relay.streams[i].from);
    close(relay.streams[i].to);
    relay.n_streams--;
    memmove(relay.streams + i, relay.streams + i + 1,
            (relay.n_streams - i) * sizeof(relay.streams[0]));
}

/* All that is there now. False if it has come to its end and is gone. */
static bool copy_stream(size_t i)
{
    static char chunk[CHUNK_BYTES];
    const struct stream *s = &relay.streams[i];
    ssize_t n;
    while ((n = read(s->from, chunk, sizeof(chunk))) > 0)
        if (!write_all(s->to, chunk, (size_t)n))
            break;
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return true;
    close_stream(i);
    return false;
}

static void copy_streams(void)
{
    size_t i = 0;
    while (i < relay.n_streams)
        if (copy_stream(i))
            i++;
}

/* Returns the end to write into, or -1. */
static int open_stream(int to)
{
    int ends[2];
    if (relay.n_streams == STREAMS_MAX)
        close_stream(0);
    if (pipe2(ends, O_CLOEXEC) < 0) {
        close(to);
        return -1;
    }
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
    relay.streams[relay.n_streams++] = (struct stream){ends[0], to};
    return ends[1];
}

/* ---- the shell ---------------------------------------------------------------------------------
 */

_Noreturn static void end_as(int status)
{
    copy_streams();
    if (WIFSIGNALED(status)) {
        signal(WTERMSIG(status), SIG_DFL);
        raise(WTERMSIG(status));
    }
    _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 1);
}

static void end_with_shell(int wait_options)
{
    int status;
    if (waitpid(relay.shell, &status, wait_options) == relay.shell)
        end_as(status);
}

/* Waits until the shell has a result (a cell runs) or the daemon something to say (none does);
 * copies meanwhile. Ends with the shell, or with the daemon. */
static bool wait_for(bool is_running)
{
    struct pollfd fds[2 + STREAMS_MAX] = {
        {.fd = is_running ? relay.results : -1, .events = POLLIN},
        {.fd = relay.channel.fd, .events = is_running ? POLLRDHUP : POLLIN | POLLRDHUP}};
    for (size_t i = 0; i < relay.n_streams; i++)
        fds[2 + i] = (struct pollfd){.fd = relay.streams[i].from, .events = POLLIN};
    int n = ppoll(fds, 2 + relay.n_streams, NULL, &relay.waiting);
    end_with_shell(WNOHANG);
    if (n <= 0)
        return false;
    copy_streams();
    if (fds[1].revents & (POLLRDHUP | POLLHUP | POLLERR))
        _exit(0);
    return fds[is_running ? 0 : 1].revents != 0;
}

static bool take_result(struct result *ret)
{
    char *newline = memchr(relay.line, '\n', relay.line_len);
    if (newline == NULL)
        return false;
    *newline = '\0';
    char kind[8] = "";
    if (sscanf(relay.line, "%lld %d %7s", &ret->id, &ret->status, kind) != 3)
        _exit(1);
    ret->is_syntax = strcmp(kind, "syntax") == 0;
    ret->is_exit = strcmp(kind, "exited") == 0;
    relay.last_id = ret->id;
    relay.line_len -= (size_t)(newline + 1 - relay.line);
    memmove(relay.line, newline + 1, relay.line_len);
    return true;
}

static void read_result(struct result *ret)
{
    while (!take_result(ret)) {
        if (!wait_for(true))
            continue;
        ssize_t got =
            read(relay.results, relay.line + relay.line_len, sizeof(relay.line) - relay.line_len);
        if (got <= 0)
            end_with_shell(0);
        if (got <= 0)
            _exit(1);
        relay.line_len += (size_t)got;
    }
}

/* An interrupt of the time before may still be on its way to the shell, which would forget the line
 * that is typed meanwhile. So nothing is typed before the shell has answered a mark; marks are
 * negative, and go down. Each interrupt makes the shell prompt once more with the number that it
 * had, and may have taken the last mark with it: then there is another. */
static void settle_shell(void)
{
    static long long mark;
    bool may_be_lost = true;
    while (has_stray) {
        long long before = relay.last_id;
        if (may_be_lost) {
            char text[48];
            int n = snprintf(text, sizeof(text), "__cella_settle %lld\n", --mark);
            write_all(relay.typing, text, (size_t)n);
        }
        struct result result;
        read_result(&result);
        may_be_lost = result.id == before;
        has_stray = result.id != mark;
    }
}

/* Runs code with these streams. A prompt that belongs to an interrupt of the time before has the
 * number of an earlier cell; if the interrupt took our line with it, this one never runs. */
static struct result run(long long id, const char *out, const char *err, const char *code)
{
    char text[96];
    settle_shell();
    if (is_hit)
        return (struct result){.id = id, .status = 128 + SIGINT};
    int n = snprintf(text, sizeof(text),
                     "__cella_begin %lld; builtin eval \"$__cella_code\" </dev/null\n", id);
    write_all(relay.typing, text, (size_t)n);
    n = snprintf(text, sizeof(text), "%lld", id);
    write_all(relay.code, text, (size_t)n + 1);
    write_all(relay.code, out, strlen(out) + 1);
    write_all(relay.code, err, strlen(err) + 1);
    write_all(relay.code, relay.request.exit_ends ? "1" : "", relay.request.exit_ends ? 2 : 1);
    write_all(relay.code, code, strlen(code) + 1);
    struct result result;
    do
        read_result(&result);
    while (result.id != id && !is_hit);
    if (result.id != id)
        result = (struct result){.id = id, .status = 128 + SIGINT};
    return result;
}

static void become_shell(const char *bash, const char *file, const int typing[2], const int code[2],
                         const int results[2])
{
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (dup2(typing[0], 0) < 0 || dup2(null, 1) < 0 || dup2(null, 2) < 0 ||
        dup2(code[0], CODE_FD) < 0 || dup2(results[1], RESULT_FD) < 0)
        _exit(126);
    signal(SIGINT, SIG_DFL);
    signal(SIGPIPE, SIG_DFL);
    sigprocmask(SIG_SETMASK, &relay.waiting, NULL);
    execl(bash, "bash", "--noprofile", "--rcfile", file, "-i", (char *)NULL);
    _exit(127);
}

static bool start_shell(const char *bash, const char *file)
{
    int typing[2], code[2], results[2];
    if (pipe2(typing, O_CLOEXEC) < 0 || pipe2(code, O_CLOEXEC) < 0 || pipe2(results, O_CLOEXEC) < 0)
        return false;
    relay.shell = fork();
    if (relay.shell < 0)
        return false;
    if (relay.shell == 0)
        become_shell(bash, file, typing, code, results);
    close(typing[0]);
    close(code[0]);
    close(results[1]);
    relay.typing = typing[1];
    relay.code = code[1];
    relay.results = results[0];
    return true;
}

/* ---- requests ----------------------------------------------------------------------------------
 */

static void exec(void)
{
    int pipes[2];
    if (!channel_take_fds(&relay.channel, pipes, 2) || relay.request.code.data == NULL)
        _exit(1);
    char paths[2][48];
    int ends[2];
    for (int i = 0; i < 2; i++) {
        ends[i] = open_stream(pipes[i]);
        snprintf(paths[i], sizeof(paths[i]), "/proc/%d/fd/%d", (int)getpid(), ends[i]);
    }
    struct result result = run(relay.request.id, paths[0], paths[1], relay.request.code.data);
    close(ends[0]);
    close(ends[1]);
    copy_streams(); /* whole before the verdict */
    answer_done(&result);
}

static void append_quoted(struct buf *code, const char *text)
{
    buf_append_char(code, '\'');
    for (; *text != '\0'; text++) {
        if (*text == '\'')
            buf_append_str(code, "'\\'");
        buf_append_char(code, *text);
    }
    buf_append_char(code, '\'');
}

static void set_up(void)
{
    struct request *r = &relay.request;
    _buf_ struct buf code = BUF_INIT(MIB);
    for (size_t i = 0; i < r->n_env; i++) {
        buf_printf(&code, "export %s=", r->env[i].name.data);
        append_quoted(&code, r->env[i].value.data);
        buf_append_char(&code, '\n');
    }
    if (r->cwd.data != NULL) {
        buf_append_str(&code, "command mkdir -p -- ");
        append_quoted(&code, r->cwd.data);
        buf_append_str(&code, " && builtin cd -- ");
        append_quoted(&code, r->cwd.data);
    }
    struct result result = run(0, "/dev/null", "/dev/null", buf_str(&code));
    struct json_out json = begin_answer(result.status == 0 ? "set" : "fatal");
    if (result.status != 0) {
        char text[512];
        snprintf(text, sizeof(text), "cannot use as cwd %s", r->cwd.data);
        json_put_member_str(&json, "message", text);
    }
    end_answer(&json);
    if (result.status != 0)
        _exit(1);
}

static void answer_names(void)
{
    struct json_out json = begin_answer("names");
    json_put_key(&json, "names");
    json_put_object(&json);
    json_put_member_int(&json, "total", 0);
    json_put_object_end(&json);
    end_answer(&json);
}

static void answer_declarations(void)
{
    static const char *const lists[] = {"imports", "definitions", "lost"};
    struct json_out json = begin_answer("declarations");
    for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
        json_put_key(&json, lists[i]);
        json_put_array(&json);
        json_put_array_end(&json);
    }
    end_answer(&json);
}

static void answer_checkpoint(void)
{
    int sock;
    if (!channel_take_fds(&relay.channel, &sock, 1))
        _exit(1);
    close(sock);
    struct json_out json = begin_answer("checkpoint");
    json_put_member_int(&json, "id", relay.request.id);
    json_put_member_bool(&json, "forked", false);
    json_put_member_int(&json, "threads", 0); /* not now, and never */
    json_put_member_str(&json, "reason",
                        "this bash cannot load the builtin that copies it: install the version of "
                        "bash that Cella was built for");
    end_answer(&json);
}

/* A stream of one record; a load is answered. */
static void refuse_state(void)
{
    static const char why[] = "this bash cannot load the builtin that knows its state";
    int sock;
    if (!channel_take_fds(&relay.channel, &sock, 1))
        _exit(1);
    if (relay.request.op == REQUEST_SAVE) {
        char text[128];
        int n =
            snprintf(text + 5, sizeof(text) - 5, "{\"rec\":\"failed\",\"message\":\"%s\"}", why);
        memcpy(text, (char[]){'s', (char)n, 0, 0, 0}, 5);
        write_all(sock, text, (size_t)n + 5);
    } else {
        struct json_out json = begin_answer("loaded");
        json_put_member_int(&json, "id", relay.request.id);
        json_put_member_int(&json, "restored", 0);
        json_put_key(&json, "lost");
        json_put_array(&json);
        json_put_array_end(&json);
        json_put_member_str(&json, "message", why);
        end_answer(&json);
    }
    close(sock);
}

static void serve_one(void)
{
    char *payload;
    size_t len;
    while (!channel_has_unread(&relay.channel) && !wait_for(false))
        continue;
    take_pending_signals();
    has_stray |= is_hit; /* what came before was for no cell */
    is_hit = 0;
    if (channel_receive(&relay.channel, &payload, &len) < 0)
        _exit(0);
    if (!request_read(&relay.request, payload, len))
        _exit(1);
    switch (relay.request.op) {
    case REQUEST_EXEC:
        exec();
        break;
    case REQUEST_SETUP:
        set_up();
        break;
    case REQUEST_NAMES:
        answer_names();
        break;
    case REQUEST_DECLARATIONS:
        answer_declarations();
        break;
    case REQUEST_CHECKPOINT:
        answer_checkpoint();
        break;
    case REQUEST_SAVE:
    case REQUEST_LOAD:
        refuse_state();
        break;
    case REQUEST_WAKE:
    case REQUEST_INPUT:
    case REQUEST_OTHER:
        break;
    }
}

/* Both signals come only while we wait. */
static void take_signals(void)
{
    sigset_t held;
    sigemptyset(&held);
    sigaddset(&held, SIGINT);
    sigaddset(&held, SIGCHLD);
    sigemptyset(&relay.waiting);
    sigprocmask(SIG_SETMASK, &held, NULL);
    sigaction(SIGINT, &(struct sigaction){.sa_handler = on_sigint}, NULL);
    sigaction(SIGCHLD, &(struct sigaction){.sa_handler = on_sigchld}, NULL);
    signal(SIGPIPE, SIG_IGN);
}

int main(int argc, char **argv)
{
    if (argc != 3) {
        fprintf(stderr, "usage: relay BASH FILE\n");
        return 2;
    }
    relay.answer = BUF_INIT(ANSWER_MAX);
    channel_open(&relay.channel, SESSION_FD);
    take_signals();
    if (!start_shell(argv[1], argv[2]))
        return 1;
    struct result first;
    read_result(&first); /* its first prompt */
    struct json_out json = begin_answer("ready");
    end_answer(&json);
    for (;;)
        serve_one();
}
