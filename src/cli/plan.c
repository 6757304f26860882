/* `cella plan`: put a session or an agent in plan mode, or end it. Command line tool. */
#include "base/clock.h"
#include "cli/api.h"
#include "cli/show.h"
#include "cli/terminal.h"

#include <ctype.h>

enum { NAME_MAX_BYTES = 256, REASON_MAX_BYTES = 64 << 10 };

static const struct cli_flag flags[] = {
    {"agent", 0, "NAME", "not a session but an agent, with all its sessions"},
    {"leave", 0, NULL, "leave plan mode"},
    {0},
};

static void append_path_part(struct buf *path, const char *name)
{
    for (; *name != '\0'; name++) {
        if (isalnum((unsigned char)*name) || strchr("-._~", *name) != NULL)
            buf_append_char(path, *name);
        else
            buf_printf(path, "%%%02X", (unsigned char)*name);
    }
}

/* What the request is about, and how it is told afterwards. */
static int find_subject(const struct cli_args *args, struct cli_client *c, struct buf *path,
                        struct buf *subject, struct err *e)
{
    const char *agent = cli_value(args, "agent");
    struct cli_session session;
    if (agent != NULL) {
        buf_append_str(path, "/v1/agents/");
        append_path_part(path, agent);
        buf_append_str(subject, "agent ");
        cli_append_safe(subject, agent, strlen(agent), false);
    } else {
        if (cli_session_find(c, args->words[0], &session, e) < 0)
            return -1;
        buf_printf(path, "/v1/sessions/%s", session.id);
        buf_printf(subject, "session %s", session.id);
    }
    buf_append_str(path, "/plan");
    return path->overflowed ? err_set(e, ERR_INVALID, "the name of the agent is too long") : 0;
}

static void write_reason(struct buf *body, const char *reason)
{
    struct json_out out = JSON_OUT(body);
    json_put_object(&out);
    if (reason != NULL)
        json_put_member_str(&out, "reason", reason);
    json_put_object_end(&out);
}

static int change(const struct cli_args *args, struct cli_client *c, void *context, struct err *e)
{
    const char *reason = context;
    bool leaves = cli_has(args, "leave");
    _buf_ struct buf path = BUF_INIT(4 * NAME_MAX_BYTES), subject = BUF_INIT(4 * KIB);
    _buf_ struct buf body = BUF_INIT(8 * REASON_MAX_BYTES);
    if (find_subject(args, c, &path, &subject, e) < 0)
        return -1;
    write_reason(&body, reason);
    struct cli_request request = {
        .method = leaves ? "DELETE" : "PUT",
        .path = buf_str(&path),
        .body = leaves ? NULL : buf_str(&body),
        .body_len = leaves ? 0 : body.len,
        .deadline_ms = clock_mono_ms() + CLI_DEADLINE_SHORT_MS,
    };
    _json_ json_t *answer = NULL;
    if (cli_api_call(c, &request, &answer, e) < 0)
        return -1;
    if (cli_has(args, "json"))
        return cli_print_json(answer) ? 0 : CLI_EXIT_PIPE;
    cli_say(STDOUT_FILENO, "%s %s plan mode\n", buf_str(&subject), leaves ? "left" : "is in");
    return 0;
}

static int plan_run(const struct cli_args *args, struct err *e)
{
    size_t n_names = cli_has(args, "agent") ? 0 : 1;
    size_t n_reasons = args->n_words > n_names ? args->n_words - n_names : 0;
    if (args->n_words < n_names || n_reasons > 1 || (n_reasons > 0 && cli_has(args, "leave"))) {
        err_set(e, ERR_INVALID, "name one session or one agent, and a reason to enter plan mode");
        return err_advise(e, "quote the reason: cella plan 0b9c 'only looking'");
    }
    char *reason = n_reasons > 0 ? (char *)(uintptr_t)args->words[n_names] : NULL;
    if (reason != NULL && strlen(reason) > REASON_MAX_BYTES)
        return err_set(e, ERR_TOO_LARGE, "the reason is too long");
    return cli_client_with(args, false, change, reason, e);
}

const struct cli_verb cli_plan_verb = {
    .name = "plan",
    .summary = "put a session or an agent in plan mode, or end it",
    .usage = "[OPTION...] SESSION [REASON] | --agent NAME [REASON]",
    .about = "In plan mode nothing that changes a session runs: it can be looked at, and whoever\n"
             "tries more is told why it was refused.",
    .flags = flags,
    .is_client = true,
    .examples = "cella plan 0b9c 'the plan is not approved yet'\n"
                "cella plan 0b9c --leave\n"
                "cella plan --agent ana 'only looking'",
    .run = plan_run,
};
