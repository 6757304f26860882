/* Peers that are programs of Python: lines of JSON to them and their times back. cella-bench; owns
 * their processes. */
#include "base/clock.h"
#include "bench/child.h"
#include "cli/terminal.h"
#include "jail/embedded.h"
#include "policy/profiles.h"
#include "wire/json.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>

enum {
    ANSWER_WITHIN_MS = 180000,
    LINE_MAX_BYTES = 4 << 20,
    END_WITHIN_MS = 10000,
    COLD_WORDS_MAX = 8
};

static const char python_path[] = "/usr/bin/python3";
static const char bwrap_path[] = "/usr/bin/bwrap";

extern const struct embedded_file bench_files[]; /* of this folder, put in by the build */

char *bench_data_imports(void)
{
    struct buf text = BUF_INIT(64 * KIB);
    for (size_t i = 0; i < profiles_n_built_in; i++) {
        if (strcmp(profiles_built_in[i].name, "data") != 0)
            continue;
        for (const char *const *item = profiles_built_in[i].preload; *item != NULL; item++)
            buf_printf(&text, "%s%s\n", strchr(*item, ' ') == NULL ? "import " : "", *item);
    }
    buf_append_str(&text, "");
    return text.data != NULL ? text.data : mem_strdup("");
}

/* --- lines from and to the peer --------------------------------------------------------------- */

static int read_line(struct bench_peer *p, char **ret_line, struct err *e)
{
    uint64_t deadline_ms = clock_mono_ms() + ANSWER_WITHIN_MS;
    char *end;
    while ((end = p->in.len > 0 ? memchr(p->in.data, '\n', p->in.len) : NULL) == NULL) {
        int ready = cli_wait(p->fd, POLLIN, deadline_ms);
        if (ready == -EINTR)
            return err_set(e, ERR_UNAVAILABLE, "interrupted");
        if (ready <= 0)
            return err_set(e, ERR_TIMEOUT, "%s does not answer", p->name);
        if (!buf_reserve(&p->in, 4096))
            return err_set(e, ERR_INTERNAL, "%s says too much", p->name);
        ssize_t n = read(p->fd, p->in.data + p->in.len, 4096);
        if (n <= 0)
            return err_set(e, ERR_UNAVAILABLE, "%s ended", p->name);
        p->in.len += (size_t)n;
    }
    size_t len = (size_t)(end - p->in.data);
    *ret_line = mem_alloc(len + 1);
    memcpy(*ret_line, p->in.data, len);
    buf_consume(&p->in, len + 1);
    return 0;
}

static int read_answer(struct bench_peer *p, json_t **ret, struct err *e)
{
    _free_ char *line = NULL;
    if (read_line(p, &line, e) < 0)
        return -1;
    return json_read_object(line, strlen(line), ret, e);
}

static int ask(struct bench_peer *p, const char *line, json_t **ret, struct err *e)
{
    size_t len = strlen(line);
    for (size_t sent = 0; sent < len;) {
        ssize_t n = send(p->fd, line + sent, len - sent, MSG_NOSIGNAL);
        if (n < 0)
            return err_errno(e, ERR_UNAVAILABLE, errno, "%s", p->name);
        sent += (size_t)n;
    }
    return read_answer(p, ret, e);
}

/* --- their start and end ---------------------------------------------------------------------- */

const char *bench_embedded_file(const char *name)
{
    const struct embedded_file *f = bench_files;
    while (strcmp(f->name, name) != 0)
        f++;
    return (const char *)f->data;
}

/* Runs the program of this folder that drives the peer, until it has said that it is ready. */
static int peer_start(struct bench *b, struct bench_peer *p, const char *name, const char *file,
                      const char *argument, json_t **ret_hello, struct err *e)
{
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
        return err_errno(e, ERR_UNAVAILABLE, errno, "no socket");
    _fd_ int theirs = pair[1];
    *p = (struct bench_peer){.name = name, .fd = pair[0], .in = BUF_INIT(LINE_MAX_BYTES)};
    const char *argv[] = {python_path, "-c", bench_embedded_file(file), argument, NULL};
    struct bench_child child = {.argv = argv, .stdio = theirs, .third = -1};
    if (bench_child_start(b, &child, &p->pid, e) < 0)
        return -1;
    close(take_fd(&theirs));
    return read_answer(p, ret_hello, e);
}

static void peer_stop(struct bench_peer *p)
{
    if (p->fd >= 0)
        close(p->fd); /* the end of its input: it ends what it drives */
    if (p->pid > 0)
        bench_child_end(p->pid, END_WITHIN_MS);
    buf_free(&p->in);
    *p = (struct bench_peer){.fd = -1};
}

void bench_peers_stop(struct bench *b)
{
    peer_stop(&b->ipython);
    peer_stop(&b->posit);
}

bool bench_need_ipython(struct bench *b)
{
    struct err e;
    _json_ json_t *hello = NULL;
    if (b->ipython.pid > 0 || b->is_ipython_absent)
        return b->ipython.pid > 0;
    if (peer_start(b, &b->ipython, "the IPython kernel", "peer_ipython", NULL, &hello, &e) < 0) {
        peer_stop(&b->ipython);
        b->is_ipython_absent = true;
        bench_note(b, "IPython kernel: %s (make bench installs it)", e.message);
        return false;
    }
    const char *version = json_string_value(json_object_get(hello, "ready"));
    snprintf(b->ipython_version, sizeof(b->ipython_version), "%s", version != NULL ? version : "");
    return true;
}

void bench_posit_give_up(struct bench *b, const struct err *e)
{
    peer_stop(&b->posit);
    b->is_posit_absent = true;
    bench_note(b, "posit-mcp-repl: %s (make bench installs it)", e->message);
}

bool bench_need_posit(struct bench *b)
{
    struct err e;
    _json_ json_t *hello = NULL;
    if (b->posit.pid > 0 || b->is_posit_absent)
        return b->posit.pid > 0;
    char path[PATH_MAX];
    int status = b->posit_path != NULL && realpath(b->posit_path, path) != NULL
                     ? peer_start(b, &b->posit, "posit-mcp-repl", "peer_posit", path, &hello, &e)
                     : err_set(&e, ERR_NOT_FOUND, "it is not installed");
    if (status < 0)
        bench_posit_give_up(b, &e);
    return status == 0;
}

/* --- what they are asked ---------------------------------------------------------------------- */

static int add_times(struct bench *b, enum bench_id id, const json_t *answer, struct err *e)
{
    const json_t *list = json_object_get(answer, "ns");
    if (json_array_size(list) == 0)
        return err_set(e, ERR_INTERNAL, "a peer gave no times");
    for (size_t i = 0; i < json_array_size(list); i++)
        bench_add(b, id, json_number_value(json_array_get(list, i)));
    return 0;
}

int bench_ipython_exec(struct bench *b, enum bench_id id, size_t n, unsigned pause_ms,
                       struct err *e)
{
    char line[64];
    snprintf(line, sizeof(line), "exec %zu %u\n", n, pause_ms);
    _json_ json_t *answer = NULL;
    if (ask(&b->ipython, line, &answer, e) < 0)
        return -1;
    return add_times(b, id, answer, e);
}

static int ask_with_code(struct bench_peer *p, const char *verb, const char *code, json_t **ret,
                         struct err *e)
{
    _buf_ struct buf line = BUF_INIT(64 * KIB);
    struct json_out out = JSON_OUT(&line);
    buf_printf(&line, "%s ", verb);
    json_put_str(&out, code);
    buf_append_char(&line, '\n');
    return ask(p, buf_str(&line), ret, e);
}

int bench_ipython_fresh(struct bench *b, enum bench_id id, struct err *e)
{
    _free_ char *imports = bench_data_imports();
    _json_ json_t *answer = NULL;
    if (ask_with_code(&b->ipython, "fresh", imports, &answer, e) < 0)
        return -1;
    return add_times(b, id, answer, e);
}

int bench_ipython_import(struct bench *b, const char *code, pid_t *ret_kernel, struct err *e)
{
    _json_ json_t *answer = NULL;
    if (ask_with_code(&b->ipython, "import", code, &answer, e) < 0)
        return -1;
    *ret_kernel = (pid_t)json_integer_value(json_object_get(answer, "pid"));
    return *ret_kernel > 0 ? 0 : err_set(e, ERR_INTERNAL, "the IPython kernel has no pid");
}

int bench_posit_import(struct bench *b, struct err *e)
{
    _free_ char *imports = bench_data_imports();
    _json_ json_t *answer = NULL;
    return ask_with_code(&b->posit, "import", imports, &answer, e);
}

int bench_posit_call(struct bench *b, enum bench_id id, size_t n, struct err *e)
{
    char line[64];
    snprintf(line, sizeof(line), "call %zu\n", n);
    _json_ json_t *answer = NULL;
    if (ask(&b->posit, line, &answer, e) < 0)
        return -1;
    return add_times(b, id, answer, e);
}

int bench_agent_script(json_t **ret_script, struct err *e)
{
    const char *text = bench_embedded_file("agent_cells");
    return json_read_object(text, strlen(text), ret_script, e);
}

int bench_peer_agent(struct bench *b, struct bench_peer *p, const json_t *script,
                     enum bench_id cell, enum bench_id all, struct err *e)
{
    _buf_ struct buf line = BUF_INIT(64 * KIB);
    struct json_out out = JSON_OUT(&line);
    _json_ json_t *answer = NULL;
    buf_append_str(&line, "agent ");
    json_put_value(&out, script);
    buf_append_char(&line, '\n');
    if (ask(p, buf_str(&line), &answer, e) < 0 || add_times(b, cell, answer, e) < 0)
        return -1;
    const json_t *list = json_object_get(answer, "ns");
    double sum = 0;
    for (size_t i = 0; i < json_array_size(list); i++)
        sum += json_number_value(json_array_get(list, i));
    bench_add(b, all, sum);
    return 0;
}

/* --- python3, alone and in bwrap -------------------------------------------------------------- */

/* The walls that bwrap has for this, and the same read-only system. Its caches are shown to it, or
 * it would pay for them at every start. */
#define BWRAP_WORDS                                                                                \
    "--unshare-all", "--die-with-parent", "--new-session", "--ro-bind", "/usr", "/usr",            \
        "--symlink", "usr/lib", "/lib", "--symlink", "usr/lib64", "/lib64", "--symlink",           \
        "usr/bin", "/bin", "--ro-bind", "/etc/alternatives", "/etc/alternatives", "--ro-bind-try", \
        "/etc/ld.so.cache", "/etc/ld.so.cache", "--ro-bind-try", "/etc/matplotlibrc",              \
        "/etc/matplotlibrc", "--ro-bind-try", "/etc/fonts", "/etc/fonts", "--proc", "/proc",       \
        "--dev", "/dev", "--tmpfs", "/tmp", "--tmpfs", "/workspace", "--chdir", "/workspace"

/* Waits for the line "2". The time that the interpreter takes to end is not counted. */
static int read_two(int fd, struct err *e)
{
    char text[16] = "";
    size_t len = 0;
    uint64_t deadline_ms = clock_mono_ms() + ANSWER_WITHIN_MS;
    while (len < sizeof(text) - 1 && strchr(text, '\n') == NULL) {
        int ready = cli_wait(fd, POLLIN, deadline_ms);
        if (ready == -EINTR)
            return err_set(e, ERR_UNAVAILABLE, "interrupted");
        ssize_t n = ready > 0 ? read(fd, text + len, sizeof(text) - 1 - len) : 0;
        if (n <= 0)
            break;
        len += (size_t)n;
    }
    if (strcmp(text, "2\n") == 0)
        return 0;
    err_set(e, ERR_UNAVAILABLE, "it gave no result");
    return err_advise(e, "make bench installs what is needed");
}

static int run_cold(struct bench *b, const char *const *argv, double *ret_ns, struct err *e)
{
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
        return err_errno(e, ERR_UNAVAILABLE, errno, "no socket");
    _fd_ int ours = ends[0], theirs = ends[1];
    struct bench_child child = {.argv = argv, .stdio = theirs, .third = -1};
    pid_t pid;
    uint64_t began_ns = clock_mono_ns();
    if (bench_child_start(b, &child, &pid, e) < 0)
        return -1;
    close(take_fd(&theirs));
    int status = read_two(ours, e);
    *ret_ns = (double)(clock_mono_ns() - began_ns);
    bench_child_end(pid, END_WITHIN_MS);
    return status;
}

int bench_cold(struct bench *b, const char *const *argv, bool is_boxed, double *ret_ns,
               struct err *e)
{
    static const char *const box[] = {bwrap_path, BWRAP_WORDS};
    char cache[PATH_MAX + 16];
    snprintf(cache, sizeof(cache), "%s/peers", b->dir);
    const char *boxed[ARRAY_LEN(box) + COLD_WORDS_MAX + 4];
    size_t n = 0;
    for (; n < ARRAY_LEN(box); n++)
        boxed[n] = box[n];
    boxed[n++] = "--bind";
    boxed[n++] = cache;
    boxed[n++] = cache;
    size_t n_words = 0;
    for (; argv[n_words] != NULL; n_words++) {
        assert(n_words < COLD_WORDS_MAX);
        boxed[n++] = argv[n_words];
    }
    boxed[n] = NULL;
    if (run_cold(b, is_boxed ? boxed : argv, ret_ns, e) < 0)
        return err_context(e, "%s%s", argv[0], is_boxed ? " in bwrap" : "");
    return 0;
}

int bench_python_cold(struct bench *b, bool is_boxed, double *ret_ns, struct err *e)
{
    _free_ char *imports = bench_data_imports();
    _buf_ struct buf code = BUF_INIT(64 * KIB);
    buf_printf(&code, "%sprint(1+1, flush=True)\n", imports);
    const char *argv[] = {python_path, "-s", "-c", buf_str(&code), NULL};
    return bench_cold(b, argv, is_boxed, ret_ns, e);
}

int bench_python_times(struct bench *b, const char *program, enum bench_id id, struct err *e)
{
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
        return err_errno(e, ERR_UNAVAILABLE, errno, "no socket");
    _fd_ int ours = ends[0], theirs = ends[1];
    const char *argv[] = {python_path, "-s", "-c", program, NULL};
    struct bench_child child = {.argv = argv, .stdio = theirs, .third = -1};
    struct bench_peer peer = {
        .name = bench_kinds[id].who, .fd = ours, .in = BUF_INIT(LINE_MAX_BYTES)};
    if (bench_child_start(b, &child, &peer.pid, e) < 0)
        return -1;
    close(take_fd(&theirs));
    _json_ json_t *answer = NULL;
    int status = read_answer(&peer, &answer, e);
    bench_child_end(peer.pid, END_WITHIN_MS);
    buf_free(&peer.in);
    if (status == 0)
        return add_times(b, id, answer, e);
    bench_note(b, "%s: %s (make bench installs it)", bench_kinds[id].who, e->message);
    return 0;
}

bool bench_has_bwrap(struct bench *b)
{
    double ignored_ns;
    struct err e;
    if (b->is_bwrap_absent || b->is_bwrap_tried)
        return !b->is_bwrap_absent;
    b->is_bwrap_tried = true;
    b->is_bwrap_absent = bench_python_cold(b, true, &ignored_ns, &e) < 0;
    if (b->is_bwrap_absent)
        bench_note(b, "bwrap: %s (make bench installs it)", e.message);
    return !b->is_bwrap_absent;
}
