/* The builtin `cella`: turns the shell that calls it into a session, and never returns. In the
 * shell's process.
 *
 *     receive -> begin (pipes onto 1 and 2) -> run (cell.c) -> done -> receive ...
 *
 * main.bash loads it; then it removes itself from the list of builtins. */
/* clang-format off */
#include "drivers/bash/shell.h"
/* clang-format on */

#include "drivers/bash/cell.h"
#include "drivers/bash/channel.h"
#include "drivers/bash/children.h"
#include "drivers/bash/completeness.h"
#include "drivers/bash/completion.h"
#include "drivers/bash/explore.h"
#include "drivers/bash/imports.h"
#include "drivers/bash/input.h"
#include "drivers/bash/interrupts.h"
#include "drivers/bash/load.h"
#include "drivers/bash/messages.h"
#include "drivers/bash/names.h"
#include "drivers/bash/notes.h"
#include "drivers/bash/request.h"
#include "drivers/bash/save.h"
#include "drivers/bash/sleeper.h"
#include "jail/inside/sibling.h"
#include "wire/json.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>

#define EXPORT __attribute__((visibility("default")))

enum { SESSION_FD = 3, RESERVED_FDS = 8 };

#define ANSWER_MAX (256 * KIB)

static struct {
    struct channel channel;
    struct bash_request request;
    struct buf answer;
    bool has_begun;            /* the first cell */
    struct rlimit users_limit; /* of descriptors, while the reserve is open */
} session;

static void answer(void)
{
    if (channel_send(&session.channel, &session.answer) < 0)
        exit_shell(1);
}

static struct json_out begin_answer(const char *event)
{
    buf_clear(&session.answer);
    struct json_out json = JSON_OUT(&session.answer);
    json_put_object(&json);
    json_put_member_str(&json, "ev", event);
    return json;
}

static void answer_event(const char *event)
{
    struct json_out json = begin_answer(event);
    json_put_object_end(&json);
    answer();
}

/* ---- a reserve of descriptors ------------------------------------------------------------------
 *
 * A few that user code cannot use up, so that a cell which took all it could get is followed by one
 * that can close them: the limit is theirs while a cell runs, and ours while its pipes arrive. */

static void keep_reserve(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_max <= RESERVED_FDS)
        return;
    limit.rlim_cur = MIN(limit.rlim_cur, limit.rlim_max - RESERVED_FDS);
    setrlimit(RLIMIT_NOFILE, &limit);
}

static void open_reserve(void)
{
    if (getrlimit(RLIMIT_NOFILE, &session.users_limit) < 0)
        return;
    struct rlimit all = {session.users_limit.rlim_max, session.users_limit.rlim_max};
    setrlimit(RLIMIT_NOFILE, &all);
}

static void close_reserve(void)
{
    setrlimit(RLIMIT_NOFILE, &session.users_limit);
}

/* ---- setup: where the session starts, and with which variables ------------------------------- */

static int make_directories(char *path)
{
    for (char *slash = path + 1; (slash = strchr(slash, '/')) != NULL; slash++) {
        *slash = '\0';
        int r = mkdir(path, 0777);
        *slash = '/';
        if (r < 0 && errno != EEXIST)
            return -errno;
    }
    return mkdir(path, 0777) < 0 && errno != EEXIST ? -errno : 0;
}

static void go_to(char *path)
{
    int r = make_directories(path);
    if (r == 0 && chdir(path) < 0)
        r = -errno;
    if (r < 0) {
        char text[512];
        snprintf(text, sizeof(text), "cannot use as cwd %s: %s", path, strerror(-r));
        struct json_out json = begin_answer("fatal");
        json_put_member_str(&json, "message", text);
        json_put_object_end(&json);
        answer();
        exit_shell(1);
    }
    set_working_directory(path);
    set_pwd();
}

static void set_up(void)
{
    struct bash_request *r = &session.request;
    for (size_t i = 0; i < r->n_env; i++) {
        SHELL_VAR *variable = bind_variable(r->env[i].name.data, r->env[i].value.data, 0);
        if (variable != NULL)
            set_auto_export(variable);
        stupidly_hack_special_variables(r->env[i].name.data);
    }
    if (r->cwd.data != NULL)
        go_to(r->cwd.data);
    answer_event("set");
}

/* ---- cells ----------------------------------------------------------------------------------- */

static void put_error(struct json_out *json, const struct cell_verdict *verdict)
{
    json_put_key(json, "error");
    if (verdict->name == NULL) {
        json_put_null(json);
        return;
    }
    json_put_object(json);
    json_put_member_str(json, "name", verdict->name);
    json_put_member_str(json, "message", verdict->message);
    if (verdict->line > 0)
        json_put_member_int(json, "line", verdict->line);
    json_put_object_end(json);
}

static void answer_done(int64_t id, const struct cell_verdict *verdict)
{
    static const char *const statuses[] = {
        [CELL_OK] = "ok", [CELL_ERROR] = "error", [CELL_INTERRUPTED] = "interrupted"};
    struct json_out json = begin_answer("done");
    json_put_member_int(&json, "id", id);
    json_put_member_str(&json, "status", statuses[verdict->status]);
    json_put_member_null(&json, "value");
    put_error(&json, verdict);
    json_put_member_int(&json, "last_status", verdict->last_status);
    if (verdict->has_exited)
        json_put_member_int(&json, "exit_code", verdict->last_status);
    names_put_cell(&json);
    json_put_object_end(&json);
    answer();
}

static enum names_wish wish_of(const struct request_text *text)
{
    if (text->data == NULL)
        return NAMES_NONE;
    if (strcmp(text->data, "full") == 0)
        return NAMES_FULL;
    return strcmp(text->data, "changes") == 0 ? NAMES_CHANGES : NAMES_NONE;
}

static void begin_names(void)
{
    if (!session.has_begun)
        names_begin_session(); /* what the setup made is not the user's */
    session.has_begun = true;
}

static void answer_names(void)
{
    begin_names();
    struct json_out json = begin_answer("names");
    names_put_all(&json, session.request.max);
    json_put_object_end(&json);
    answer();
}

static void answer_declarations(void)
{
    begin_names();
    struct json_out json = begin_answer("declarations");
    save_put_functions(&json);
    json_put_object_end(&json);
    answer();
}

static void answer_is_complete(void)
{
    const char *code = session.request.code.data;
    const char *status = completeness_of(code != NULL ? code : "");
    struct json_out json = begin_answer("is_complete");
    json_put_member_str(&json, "status", status);
    json_put_object_end(&json);
    answer();
}

static void answer_about(const char *event)
{
    const struct bash_request *r = &session.request;
    const char *code = r->code.data != NULL ? r->code.data : "";
    begin_names();
    struct json_out json = begin_answer(event);
    if (r->op == REQUEST_COMPLETE)
        completion_put(&json, code, r->cursor);
    else
        completion_put_meaning(&json, code, r->cursor, r->detail > 0);
    json_put_object_end(&json);
    answer();
}

static void exec(void)
{
    struct cell_verdict verdict;
    int64_t id = session.request.id;
    int pipes[2];
    if (!channel_take_fds(&session.channel, pipes, 2) || session.request.code.data == NULL)
        exit_shell(1);
    /* The user may have closed 1 and 2: then the pipes themselves have these numbers. */
    int out = pipes[0] > 2 ? pipes[0] : fcntl(pipes[0], F_DUPFD_CLOEXEC, 3);
    int err = pipes[1] > 2 ? pipes[1] : fcntl(pipes[1], F_DUPFD_CLOEXEC, 3);
    dup2(out, STDOUT_FILENO);
    dup2(err, STDERR_FILENO);
    close(out);
    close(err);
    for (int i = 0; i < 2; i++)
        if (pipes[i] == 0)
            close(pipes[i]);
    clearerr(stdout);
    close_reserve();
    children_notice();
    input_begin_cell(id);
    begin_names();
    if (session.request.explores)
        explore_install(&session.channel);
    explore_begin_cell(id);
    names_begin_cell(wish_of(&session.request.names));
    cell_run(session.request.code.data, session.request.exit_ends, &verdict);
    explore_end_cell();
    answer_done(id, &verdict);
}

/* Until the first cell brings its pipes. */
static int detach_output(void)
{
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (null < 0)
        return -errno;
    for (int fd = 1; fd <= 2; fd++)
        if (dup2(null, fd) < 0)
            return -errno;
    if (null > 2)
        close(null);
    return 0;
}

/* ---- copies ---------------------------------------------------------------------------------- */

static void answer_checkpoint(int64_t id, pid_t pid, int threads, const char *tracer)
{
    char reason[200] = "a loaded builtin has started threads";
    if (tracer[0] != '\0')
        snprintf(reason, sizeof(reason), "the interpreter was traced by %s", tracer);
    else if (threads == 1 && pid < 0)
        snprintf(reason, sizeof(reason), "the shell cannot be copied: %s", strerror(-pid));
    struct json_out json = begin_answer("checkpoint");
    json_put_member_int(&json, "id", id);
    json_put_member_bool(&json, "forked", pid > 0);
    json_put_member_int(&json, "threads", threads);
    if (pid < 0)
        json_put_member_str(&json, "reason", reason);
    json_put_object_end(&json);
    answer();
}

static void checkpoint(void)
{
    int64_t id = session.request.id;
    int sock;
    if (!channel_take_fds(&session.channel, &sock, 1))
        exit_shell(1);
    begin_names();
    fflush(stdout);
    fflush(stderr);
    int threads = MAX(sibling_count_threads(), 1); /* of a builtin that somebody loaded */
    char tracer[SIBLING_TRACER_SIZE] = "";
    bool is_alone = threads == 1 && !(session.request.has_debug && sibling_is_traced(tracer));
    pid_t pid = is_alone ? sleeper_fork(&session.channel, sock) : -EBUSY;
    if (!is_alone)
        close(sock);
    close_reserve();
    if (pid == 0) {
        struct json_out json = begin_answer("woken");
        notes_put(&json);
        json_put_object_end(&json);
        answer();
    } else {
        answer_checkpoint(id, pid, threads, tracer);
    }
}

static void save(void)
{
    begin_names();
    fflush(stdout);
    fflush(stderr);
    sleeper_save(&session.channel, &session.request);
    close_reserve();
}

/* What it prints goes nowhere: the next cell brings its pipes. */
static void load(void)
{
    int64_t id = session.request.id;
    int sock;
    if (!channel_take_fds(&session.channel, &sock, 1) || detach_output() < 0)
        exit_shell(1);
    close_reserve();
    begin_names();
    struct json_out json = begin_answer("loaded");
    json_put_member_int(&json, "id", id);
    load_read(sock, &json);
    json_put_object_end(&json);
    close(sock);
    answer();
}

/* ---- its life -------------------------------------------------------------------------------- */

static void serve_one(void)
{
    char *payload;
    size_t len;
    while (channel_wait(&session.channel, -1, NULL) == -EINTR)
        CHECK_TERMSIG;
    interrupts_take_cell();
    open_reserve();
    if (channel_receive(&session.channel, &payload, &len) < 0)
        exit_shell(0);
    if (!request_read(&session.request, payload, len))
        exit_shell(1);
    if (session.request.op != REQUEST_EXEC)
        interrupts_drop_cell();
    switch (session.request.op) {
    case REQUEST_EXEC:
        exec();
        break;
    case REQUEST_SETUP:
        close_reserve();
        set_up();
        break;
    case REQUEST_NAMES:
        close_reserve();
        answer_names();
        break;
    case REQUEST_DECLARATIONS:
        close_reserve();
        answer_declarations();
        break;
    case REQUEST_IS_COMPLETE:
        close_reserve();
        answer_is_complete();
        break;
    case REQUEST_COMPLETE:
    case REQUEST_INSPECT:
        close_reserve();
        answer_about(session.request.op == REQUEST_COMPLETE ? "complete" : "inspect");
        break;
    case REQUEST_CHECKPOINT:
        checkpoint();
        break;
    case REQUEST_SAVE:
        save();
        break;
    case REQUEST_LOAD:
        load();
        break;
    case REQUEST_WAKE:  /* we are awake */
    case REQUEST_INPUT: /* its cell is over */
    case REQUEST_RESULT:
    case REQUEST_OTHER:
        close_reserve();
        break;
    }
}

static void hide_from_list(const char *name)
{
    for (int i = 0; i < num_shell_builtins; i++) {
        if (strcmp(shell_builtins[i].name, name) != 0)
            continue;
        num_shell_builtins--;
        memmove(shell_builtins + i, shell_builtins + i + 1,
                (size_t)(num_shell_builtins - i) * sizeof(*shell_builtins));
        return;
    }
}

static int serve(WORD_LIST *args)
{
    (void)args;
    session.answer = BUF_INIT(ANSWER_MAX);
    channel_open(&session.channel, SESSION_FD);
    if (detach_output() < 0 || input_open() < 0)
        exit_shell(1);
    keep_reserve();
    cell_prepare();
    hide_from_list("cella");
    messages_install();
    interrupts_install(&session.channel);
    input_install(&session.channel);
    children_install();
    answer_event("ready");
    for (;;)
        serve_one();
}

/* Bash asks this before it takes the builtin. Between versions its structures change; and a shell
 * that is linked in another way has no calls that we could replace. */
EXPORT int cella_builtin_load(char *name);

int cella_builtin_load(char *name)
{
    (void)name;
    return strcmp(dist_version, DISTVERSION) == 0 && imports_has("sigaction") &&
           imports_has("read") && imports_has("fflush") && imports_has("waitpid");
}

static char *documentation[] = {NULL};

EXPORT struct builtin cella_struct = {
    .name = (char *)(uintptr_t) "cella",
    .function = serve,
    .flags = BUILTIN_ENABLED,
    .long_doc = documentation,
    .short_doc = "cella",
};
