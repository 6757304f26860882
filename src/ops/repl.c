/* The repl tool: one operation with five actions, whose members, answers and messages are those
 * that agents already know. Sessions made here are sessions like all others; what this adds is that
 * a caller sees output the way a terminal would show it, each byte once, and that an agent finds
 * only what is its own. Daemon; on the loop. */
#include "base/clock.h"
#include "ops/create_call.h"
#include "ops/exec_call.h"
#include "policy/policy.h"
#include "session/exec.h"
#include "wire/json.h"

enum {
    CELL_MAX_MS = 86400 * 1000,   /* one that goes on after its call was answered */
    STREAM_MAX = 8 * 1024 * 1024, /* bytes of one stream in one answer; the last ones */
};

static const struct op_param repl_params[] = {
    {.name = "action",
     .type = OP_TEXT,
     .is_required = true,
     .max = 64,
     .doc = "spawn, exec, read, kill or list."},
    {.name = "session_id",
     .type = OP_TEXT,
     .is_nullable = true,
     .max = 64,
     .means = OP_MEANS_SESSION,
     .doc = "The session; for exec, read and kill."},
    {.name = "runtime",
     .type = OP_TEXT,
     .is_nullable = true,
     .max = 64,
     .means = OP_MEANS_RUNTIME,
     .doc = "python, node or bash; for spawn."},
    {.name = "code",
     .type = OP_TEXT,
     .is_nullable = true,
     .max = EXEC_CODE_MAX,
     .doc = "What to run, or the line that running code asked for; for exec. At most 1 MiB."},
    {.name = "cwd",
     .type = OP_TEXT,
     .is_nullable = true,
     .max = SESSION_CWD_SIZE - 1,
     .doc = "Where to begin, in /workspace or /tmp; for spawn."},
    {.name = "limits",
     .type = OP_OBJECT,
     .members = session_limits,
     .means = OP_MEANS_LIMITS,
     .is_untold = true,
     .doc = "Limits of the session; what is not given is as the configuration says. For spawn."},
    {.name = "timeout_ms",
     .type = OP_INT,
     .is_nullable = true,
     .min = 1,
     .max = EXEC_YIELD_MAX_MS,
     .means = OP_MEANS_TIMEOUT,
     .is_untold = true,
     .doc = "How long the call waits for the code, which goes on afterwards; without it as long as "
            "the agent's timeout_secs says. For exec."},
    {.name = "agent",
     .type = OP_TEXT,
     .is_nullable = true,
     .min = 1,
     .max = CONFIG_AGENT_BYTES,
     .means = OP_MEANS_SPEAKER,
     .is_untold = true,
     .doc = "On whose behalf; without it the agent \"default\"."},
    {.name = "binding",
     .type = OP_TEXT,
     .is_nullable = true,
     .min = 1,
     .max = CONFIG_AGENT_BYTES,
     .means = OP_MEANS_BINDING,
     .is_untold = true,
     .doc = "The plugin through which the agent was asked."},
    {0},
};

/* One call. Lives in its arena. */
struct repl_call {
    struct call *call;
    const char *agent;               /* never NULL */
    const struct config_repl *rules; /* what holds for it */
    struct session *session;         /* exec, spawn: the one it is about */
    struct exec *exec;               /* exec: while it waits */
};

static void repl_fail(struct repl_call *repl, const struct err *e)
{
    call_fail(repl->call, e);
}

/* ---- what a session wrote -------------------------------------------------------------------- */

/* "key":text, with all that nobody has read yet. False if there was nothing. */
static bool put_new(struct json_out *json, const char *key, struct session *session,
                    enum output_stream stream, const char *more)
{
    uint64_t dropped;
    _buf_ struct buf fresh = BUF_INIT(SIZE_MAX);
    session_take_new(session, stream, &fresh, &dropped);
    size_t cut = fresh.len > STREAM_MAX ? fresh.len - STREAM_MAX : 0;
    while (cut > 0 && cut < fresh.len && (fresh.data[cut] & 0xc0) == 0x80)
        cut++; /* not inside a character */
    dropped += cut;
    _buf_ struct buf text = BUF_INIT(SIZE_MAX);
    if (dropped > 0)
        buf_printf(&text, "[%llu bytes dropped]\n", (unsigned long long)dropped);
    buf_append(&text, buf_str(&fresh) + cut, fresh.len - cut);
    buf_append_str(&text, more);
    json_put_member_text(json, key, buf_str(&text), text.len);
    return text.len > 0;
}

static bool put_streams(struct json_out *json, struct session *session, const char *last_words)
{
    bool has_out = put_new(json, "stdout", session, OUTPUT_STDOUT, "");
    bool has_err = put_new(json, "stderr", session, OUTPUT_STDERR, last_words);
    return has_out || has_err;
}

static void put_exit_code(struct json_out *json, const struct session *session)
{
    if (session->state == SESSION_DEAD && session->death.has_exit_code)
        json_put_member_int(json, "exit_code", session->death.exit_code);
    else
        json_put_member_null(json, "exit_code");
}

/* ---- sessions -------------------------------------------------------------------------------- */

/* NULL with the error. An id of somebody else's is as good as none. */
static struct session *find_own(const struct repl_call *repl, struct err *e)
{
    struct call *call = repl->call;
    const char *id = call_text(call, "session_id", "");
    if (id[0] == '\0') {
        err_set(e, ERR_INVALID, "'session_id' required for %s", call_text(call, "action", ""));
        err_advise(e, "Take it from the answer of spawn, or from list.");
        return NULL;
    }
    struct session *session = session_find(call->engine, id, e);
    if (session != NULL && strcmp(policy_agent_of(session), repl->agent) == 0)
        return session;
    err_set(e, ERR_NOT_FOUND, "session not found: %.64s", id);
    err_advise(e, "The action list shows the agent's sessions; spawn starts one.");
    return NULL;
}

static int refuse_dead(const struct session *session, struct err *e)
{
    if (session->state != SESSION_DEAD)
        return 0;
    const struct death *death = &session->death;
    if (death->has_exit_code)
        err_set(e, ERR_GONE, "session %s terminated (exit code %d)", session->id, death->exit_code);
    else
        err_set(e, ERR_GONE, "session %s terminated", session->id);
    return err_advise(e, "%s: %s", death->message, death->advice);
}

/* ---- spawn ----------------------------------------------------------------------------------- */

static void repl_on_started(void *context, struct session *session)
{
    struct repl_call *repl = context;
    if (session->state == SESSION_DEAD) {
        struct err e;
        bool is_own_fault = session->ending.wish == DEATH_BY_SETUP;
        err_set(&e, is_own_fault ? ERR_INVALID : ERR_UNAVAILABLE, "%s", session->death.message);
        err_advise(&e, "%s", session->death.advice);
        session_delete(session); /* its id was never told to anybody */
        repl_fail(repl, &e);
        return;
    }
    char message[64];
    snprintf(message, sizeof(message), "REPL session started (%s)", session->runtime->name);
    _buf_ struct buf out = BUF_INIT(CALL_REPLY_MAX);
    struct json_out json = JSON_OUT(&out);
    json_put_object(&json);
    json_put_member_str(&json, "session_id", session->id);
    json_put_member_str(&json, "runtime", session->runtime->name);
    json_put_member_str(&json, "message", message);
    json_put_object_end(&json);
    call_reply(repl->call, 200, &out);
}

static void on_spawner_gone(struct call *call)
{
    struct repl_call *repl = call->op_state;
    session_forget_starter(repl->session);
    session_delete(repl->session);
}

static int spawn(struct repl_call *repl, struct err *e)
{
    struct call *call = repl->call;
    const char *runtime = call_text(call, "runtime", "");
    const char *cwd = call_text(call, "cwd", "");
    if (runtime[0] == '\0') {
        err_set(e, ERR_INVALID, "'runtime' required for spawn");
        return err_advise(e, "Give python, node or bash.");
    }
    struct session_request request = {
        .runtime = runtime_by_name(runtime),
        .cwd = cwd[0] != '\0' ? cwd : NULL,
        .agent = call->agent,
        .binding = call_text(call, "binding", NULL),
        .limits = call_limits(call),
        .max_output_bytes = repl->rules->max_output_bytes,
        .on_started = repl_on_started,
        .context = repl,
        /* The tool promises that an interpreter which is left stays ended. One that crashes is
         * brought back, as in all sessions. */
        .exit_ends = true,
        .checkpoints = TIMELINE_AUTO,
        .durable = SAVING_AUTO,
    };
    struct session *session;
    if (session_create(call->engine, &request, &session, e) < 0)
        return -1;
    if (session->starter.on_started == NULL)
        return 0; /* it was answered already, and what belongs to the call is gone */
    repl->session = session;
    call->on_gone = on_spawner_gone;
    return 0;
}

/* ---- exec ------------------------------------------------------------------------------------ */

static bool has_been_ended(const struct exec_result *result)
{
    return result->status == CELL_DIED || result->status == CELL_TIMEOUT;
}

/* What ended the interpreter, or the code for its time, is said where an interpreter's last words
 * would be. A plain exit says all with its code. */
static void append_last_words(struct buf *words, const struct exec_result *result)
{
    const struct exec_error *error = result->error;
    if (!has_been_ended(result) || error == NULL || strcmp(error->name, "Exited") == 0)
        return;
    buf_printf(words, "%s: %.*s\n%s\n", error->name, (int)error->message.len, error->message.text,
               error->advice != NULL ? error->advice : "");
}

static void repl_put_image(struct json_out *json, const json_t *output, bool *has_any)
{
    static const char *const members[] = {"type", "format", "width", "height", "url"};
    if (output == NULL || json_object_get(output, "url") == NULL)
        return;
    if (!*has_any) {
        json_put_key(json, "images");
        json_put_array(json);
    }
    *has_any = true;
    json_put_object(json);
    for (size_t i = 0; i < ARRAY_LEN(members); i++) {
        const json_t *value = json_object_get(output, members[i]);
        if (value == NULL)
            continue;
        json_put_key(json, members[i]);
        json_put_value(json, value);
    }
    json_put_object_end(json);
}

/* What a terminal does not show: where pictures are, the status of a shell's last command, and what
 * became of the session. Nothing of that is in an answer that has none of it. */
static void repl_put_more(struct json_out *json, const struct exec_result *result)
{
    bool has_images = false;
    for (size_t i = 0; i < result->n_outputs; i++)
        repl_put_image(json, result->outputs[i].output, &has_images);
    repl_put_image(json, result->value.output, &has_images);
    if (has_images)
        json_put_array_end(json);
    if (result->has_last_status)
        json_put_member_int(json, "last_status", result->last_status);
    if (result->command_status != 0)
        json_put_member_int(json, "command_status", result->command_status);
    json_put_member_str(json, "advice", result->advice);
    exec_call_put_news(json, result);
}

static void repl_on_result(void *context, const struct exec_result *result)
{
    struct repl_call *repl = context;
    bool has_come_back = has_been_ended(result) && result->is_rolled_back;
    _buf_ struct buf words = BUF_INIT(16 * KIB);
    append_last_words(&words, result);
    _buf_ struct buf out = BUF_INIT(CALL_REPLY_MAX);
    struct json_out json = JSON_OUT(&out);
    json_put_object(&json);
    put_streams(&json, repl->session, buf_str(&words));
    json_put_member_bool(&json, "timed_out",
                         result->status == CELL_RUNNING || result->status == CELL_TIMEOUT);
    if (has_come_back && result->has_exit_code)
        json_put_member_int(&json, "exit_code", result->exit_code);
    else
        put_exit_code(&json, repl->session);
    repl_put_more(&json, result);
    json_put_object_end(&json);
    call_reply(repl->call, 200, &out);
}

static void repl_on_failed(void *context, const struct err *e)
{
    struct repl_call *repl = context;
    struct err own;
    repl_fail(repl, refuse_dead(repl->session, &own) < 0 ? &own : e);
}

static const struct exec_listener repl_listener = {.on_result = repl_on_result,
                                                   .on_failed = repl_on_failed};

static void on_waiter_gone(struct call *call)
{
    struct repl_call *repl = call->op_state;
    exec_forget(repl->exec);
}

static struct exec_wait wait_of(struct repl_call *repl)
{
    return (struct exec_wait){.listener = &repl_listener,
                              .context = repl,
                              .has_yield = true,
                              .yield_ms = call_timeout_ms(repl->call)};
}

/* A cell of this tool that outlived its call. One that was left to run through another door was
 * meant to: it is waited for. */
static bool has_leftover(const struct session *session)
{
    const struct exec *exec = session->running;
    return exec != NULL && exec->echoes && exec->listener == NULL;
}

/* The last answer ended with a question: what comes now is the line it asked for. A question that
 * nobody has seen yet was not answered by this. */
static bool has_asked(const struct session *session)
{
    bool has_seen_all = session->taken[OUTPUT_STDOUT] == session->rings[OUTPUT_STDOUT].end;
    return has_leftover(session) && session->running->question != NULL && has_seen_all;
}

static int give_line(struct repl_call *repl, const char *line, size_t len, struct err *e)
{
    if (len > 0 && line[len - 1] == '\n')
        len--;
    if (len > EXEC_LINE_MAX) {
        err_set(e, ERR_TOO_LARGE, "the running code asked for a line; this one has %zu bytes", len);
        return err_advise(e, "Give at most %d bytes.", EXEC_LINE_MAX);
    }
    struct exec_wait wait = wait_of(repl);
    return session_input(repl->session, 0, line, len, &wait, &repl->exec, e);
}

/* The tool promises that code goes on after its call was answered; not beyond a limit that was set
 * for that. */
static uint32_t cell_max_ms(const struct config_repl *rules)
{
    return rules->max_timeout_secs > 0 ? rules->max_timeout_secs * 1000 : CELL_MAX_MS;
}

static int run_code(struct repl_call *repl, const char *code, size_t len, struct err *e)
{
    struct session *session = repl->session;
    if (has_leftover(session))
        session_supersede(session);
    struct exec_request request = {.code = code,
                                   .code_len = len,
                                   .timeout_ms = cell_max_ms(repl->rules),
                                   .echoes = true,
                                   .has_html = true,
                                   .wait = wait_of(repl)};
    return session_exec(session, &request, &repl->exec, e);
}

static int exec(struct repl_call *repl, struct err *e)
{
    struct call *call = repl->call;
    const char *code = call_text(call, "code", NULL);
    struct session *session = find_own(repl, e);
    if (session == NULL)
        return -1;
    if (code == NULL) {
        err_set(e, ERR_INVALID, "'code' required for exec");
        return err_advise(e, "Give the code to run.");
    }
    if (refuse_dead(session, e) < 0)
        return -1;
    repl->session = session;
    size_t len = call_text_len(call, "code");
    int rc = has_asked(session) ? give_line(repl, code, len, e) : run_code(repl, code, len, e);
    if (rc < 0)
        return -1;
    call->on_gone = on_waiter_gone;
    call->must_notice_end = true; /* what is told to nobody would be lost for `read` */
    return 0;
}

/* ---- read, kill, list ------------------------------------------------------------------------ */

/* What a session wrote before it ended is still told, once. */
static int read_output(struct repl_call *repl, struct err *e)
{
    struct session *session = find_own(repl, e);
    if (session == NULL)
        return -1;
    _buf_ struct buf out = BUF_INIT(CALL_REPLY_MAX);
    struct json_out json = JSON_OUT(&out);
    json_put_object(&json);
    bool has_any = put_streams(&json, session, "");
    json_put_object_end(&json);
    if (!has_any && refuse_dead(session, e) < 0)
        return -1;
    call_reply(repl->call, 200, &out);
    return 0;
}

static int kill_session(struct repl_call *repl, struct err *e)
{
    struct session *session = find_own(repl, e);
    if (session == NULL)
        return -1;
    char message[128];
    snprintf(message, sizeof(message), "session %s terminated", session->id);
    _buf_ struct buf out = BUF_INIT(CALL_REPLY_MAX);
    struct json_out json = JSON_OUT(&out);
    json_put_object(&json);
    json_put_member_str(&json, "message", message);
    json_put_object_end(&json);
    session_delete(session);
    call_reply(repl->call, 200, &out);
    return 0;
}

static void put_listed(struct json_out *json, const struct session *session)
{
    char time[CLOCK_RFC3339_SIZE];
    json_put_object(json);
    json_put_member_str(json, "session_id", session->id);
    json_put_member_str(json, "runtime", session->runtime->name);
    json_put_member_str(json, "cwd", session->cwd);
    json_put_member_str(json, "spawned_at",
                        clock_rfc3339(session->life.spawned_at_us / 1000, time));
    json_put_member_int(json, "output_len", (int64_t)session_output_len(session));
    put_exit_code(json, session);
    json_put_object_end(json);
}

static int list(struct repl_call *repl, struct err *e)
{
    (void)e;
    struct engine *engine = repl->call->engine;
    _buf_ struct buf out = BUF_INIT(CALL_REPLY_MAX);
    struct json_out json = JSON_OUT(&out);
    int64_t count = 0;
    json_put_object(&json);
    json_put_key(&json, "sessions");
    json_put_array(&json);
    for (struct session *s = session_next(engine, NULL); s != NULL; s = session_next(engine, s)) {
        if (s->is_unlisted || strcmp(policy_agent_of(s), repl->agent) != 0)
            continue;
        put_listed(&json, s);
        count++;
    }
    json_put_array_end(&json);
    json_put_member_int(&json, "count", count);
    json_put_object_end(&json);
    call_reply(repl->call, 200, &out);
    return 0;
}

/* ---- the operation --------------------------------------------------------------------------- */

static const struct {
    const char *name;
    bool is_mutating;
    /* 0: it has answered, or will. -1: the error is the answer. */
    int (*run)(struct repl_call *repl, struct err *e);
    unsigned uses; /* see struct op */
} repl_actions[] = {
    {"spawn", true, spawn, OP_MAKES_SESSION},
    {"exec", true, exec, OP_RUNS_CODE},
    {"read", false, read_output, 0},
    {"kill", true, kill_session, 0},
    {"list", false, list, 0},
};

static size_t find_action(const struct call *call)
{
    size_t i = 0;
    while (i < ARRAY_LEN(repl_actions) &&
           strcmp(repl_actions[i].name, call_text(call, "action", "")) != 0)
        i++;
    return i;
}

static void repl_run(struct call *call)
{
    struct repl_call *repl = arena_alloc(&call->arena, sizeof(*repl));
    repl->call = call;
    repl->agent = call_owner(call);
    repl->rules = call->grant != NULL ? &call->grant->repl : NULL; /* NULL if no such action */
    call->op_state = repl;
    struct err e;
    size_t i = find_action(call);
    if (i == ARRAY_LEN(repl_actions)) {
        err_set(&e, ERR_INVALID, "unknown action '%s' — valid: spawn, exec, read, kill, list",
                call_text(call, "action", ""));
        err_advise(&e, "Use one of these.");
        repl_fail(repl, &e);
    } else if (repl_actions[i].run(repl, &e) < 0) {
        repl_fail(repl, &e);
    }
}

/* What does nothing because it does not exist is not kept from doing it. */
static bool repl_only_reads(const struct call *call)
{
    size_t i = find_action(call);
    return i == ARRAY_LEN(repl_actions) || !repl_actions[i].is_mutating;
}

/* Whoever asks for what does not exist, or forgets to name a runtime, is told so first. */
static unsigned repl_uses(const struct call *call)
{
    size_t i = find_action(call);
    if (i == ARRAY_LEN(repl_actions))
        return 0;
    bool is_complete = repl_actions[i].run != spawn || call_text(call, "runtime", "")[0] != '\0';
    return OP_NEEDS_AGENT | (is_complete ? repl_actions[i].uses : 0);
}

static const struct op_member listed_members[] = {
    {"session_id", OP_TEXT, .is_always = true, .doc = "Its id."},
    {"runtime", OP_TEXT, .is_always = true, .doc = "What runs in it."},
    {"cwd", OP_TEXT, .is_nullable = true, .doc = "Where it began."},
    {"spawned_at", OP_TIME, .doc = "When it was made."},
    {"output_len", OP_SIZE, .doc = "Bytes that it wrote."},
    {"exit_code", OP_INT, .is_nullable = true, .doc = "Of one that has ended."},
    {0},
};
static const struct op_shape shape_listed = {"listed", listed_members,
                                             "A session, as the repl tool lists it."};

static const struct op_member repl_answer_members[] = {
    {"session_id", OP_TEXT, .doc = "spawn: the session."},
    {"runtime", OP_TEXT, .doc = "spawn: what runs in it."},
    {"message", OP_TEXT, .doc = "spawn, kill: what was done."},
    {"stdout", OP_TEXT, .doc = "exec, read: what is new."},
    {"stderr", OP_TEXT, .doc = "exec, read: what is new."},
    {"timed_out", OP_BOOL, .doc = "exec: the code runs on."},
    {"exit_code", OP_INT, .is_nullable = true, .doc = "exec: if the interpreter ended."},
    {"images", OP_LIST, .shape = &shape_output, .doc = "exec: where pictures are."},
    {"last_status", OP_INT, .doc = "exec, bash: the status of the last command."},
    {"advice", OP_TEXT, .doc = "exec: what to do about what the code wrote."},
    {"command_status", OP_INT, .doc = "exec: of a !command that failed."},
    {"replaced", OP_TEXT, .doc = "exec: typographic signs without which the code ran."},
    {"rolled_back_to", OP_INT, .doc = "exec: the checkpoint that a crash led to."},
    {"rolled_back_cells", OP_INT_LIST, .doc = "exec: the cells that this undid."},
    {"restored_from", OP_TEXT, .doc = "exec: process or durable."},
    {"not_undone", OP_LIST, .shape = &shape_undone, .doc = "exec: what could not be taken back."},
    {"lost", OP_LIST, .shape = &shape_lost, .doc = "exec: what did not come back."},
    {"files_lost", OP_TEXT_LIST, .doc = "exec: files that are lost."},
    {"resumed", OP_OBJECT, .shape = &shape_resumed,
     .doc = "exec: the session came back from disk."},
    {"late", OP_LIST, .shape = &shape_late,
     .doc = "exec: what earlier cells wrote after their end."},
    {"sessions", OP_LIST, .shape = &shape_listed, .doc = "list: the sessions."},
    {"count", OP_INT, .doc = "list: how many there are."},
    {0},
};
static const struct op_shape shape_repl_answer = {
    "repl_answer", repl_answer_members,
    "An answer of the repl tool: each action has its own members."};

const struct op op_repl = {
    .name = "repl",
    .method = "POST",
    .path = "/v1/repl",
    .subject = OP_ON_CODE,
    .flags = OP_MUTATING | OP_MAKES_SESSION | OP_RUNS_CODE | OP_NEEDS_AGENT | OP_OWN_ONLY,
    .params = repl_params,
    .doc = "The repl tool: spawn, exec, read, kill and list sessions of an agent.",
    .run = repl_run,
    .only_reads = repl_only_reads,
    .uses = repl_uses,
    .tool = "Repl",
    .toolset = "repl",
    .tool_doc = "Persistent Python, Node.js and bash sessions: variables, imports and definitions "
                "survive across calls. spawn returns a session_id; exec runs code and returns only "
                "new output; read returns output without sending code; kill ends a session; list "
                "shows all.",
    .hints = OP_DESTROYS,
    .result = &shape_repl_answer,
    .errors = OP_ERR(CONFLICT) | OP_ERR(GONE) | OP_ERR(NOT_FOUND),
    .example = "{\"action\": \"list\"}",
};
