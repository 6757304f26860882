/* `cella mcp`: the Model Context Protocol on standard input and output. Command line tool: connects
 * its client with the daemon, which alone answers. */
#include "base/clock.h"
#include "base/fd.h"
#include "base/ids.h"
#include "cli/args.h"
#include "cli/client.h"
#include "cli/mcp_config.h"
#include "cli/mcp_pump.h"
#include "cli/terminal.h"
#include "wire/json.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

enum { MCP_HEAD_MAX = 8192, MCP_ANSWER_MS = 10000 };

static const struct cli_flag mcp_flags[] = {
    {"tools", 0, "SETS",
     "which tools: core (the default), explore, notebook, repl; with commas between"},
    {"agent", 'a', "NAME", "speak for this agent of the configuration"},
    {"print-config", 0, "CLIENT", "write the entry for this client's configuration, and end"},
    {0},
};

/* ---- the daemon's consent -------------------------------------------------------------------- */

static int mcp_write_all(int fd, const char *data, size_t len)
{
    size_t done = 0;
    return cli_write(fd, data, len, &done);
}

static bool mcp_is_word(const char *text)
{
    return text[strspn(
               text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.,")] == '\0';
}

static int mcp_ask(const struct cli_args *args, const char *token, const struct cli_client *c,
                   struct err *e)
{
    const struct cli_endpoint *p = c->endpoint;
    const char *tools = cli_value(args, "tools"), *agent = cli_value(args, "agent");
    _buf_ struct buf head = BUF_INIT(MCP_HEAD_MAX);
    if ((tools != NULL && !mcp_is_word(tools)) || (agent != NULL && !mcp_is_word(agent)))
        return err_set(e, ERR_INVALID, "names of tools and agents are letters, digits, - _ and .");
    buf_append_str(&head, "GET /mcp/stdio");
    if (tools != NULL)
        buf_printf(&head, "?tools=%s", tools);
    buf_append_str(&head, " HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: cella-mcp\r\nHost: ");
    if (p->host == NULL)
        buf_append_str(&head, "localhost\r\n");
    else
        buf_printf(&head, strchr(p->host, ':') != NULL ? "[%s]:%s\r\n" : "%s:%s\r\n", p->host,
                   p->port);
    if (p->host != NULL && p->key != NULL)
        buf_printf(&head, "Authorization: Bearer %s\r\n", p->key);
    if (agent != NULL)
        buf_printf(&head, "Cella-Agent: %s\r\n", agent);
    buf_printf(&head, "Cella-Client: %s\r\n\r\n", token);
    if (head.overflowed || mcp_write_all(c->fd, head.data, head.len) < 0)
        return err_set(e, ERR_UNAVAILABLE, "the daemon took no request");
    return 0;
}

/* What the daemon says instead of its consent: the message of its error. */
static int mcp_explain(const char *answer, struct err *e)
{
    const char *body = strstr(answer, "\r\n\r\n");
    struct err unread;
    _json_ json_t *json = NULL;
    if (body != NULL && json_read_object(body + 4, strlen(body + 4), &json, &unread) == 0) {
        const json_t *error = json_object_get(json, "error");
        const char *message = json_string_value(json_object_get(error, "message"));
        const char *advice = json_string_value(json_object_get(error, "advice"));
        err_set(e, ERR_INVALID, "%.400s", message != NULL ? message : "the daemon refuses");
        return err_advise(e, "%.400s", advice != NULL ? advice : "see: cella mcp --help");
    }
    return err_set(e, ERR_UNAVAILABLE, "the daemon does not speak MCP: %.*s",
                   (int)strcspn(answer, "\r\n"), answer);
}

static int mcp_await_consent(const struct cli_client *c, struct err *e)
{
    char answer[MCP_HEAD_MAX];
    size_t len = 0;
    while (len < sizeof(answer) - 1) {
        if (cli_wait(c->fd, POLLIN, clock_mono_ms() + MCP_ANSWER_MS) <= 0)
            return err_set(e, ERR_TIMEOUT, "the daemon does not answer");
        /* Nothing but the head may be taken: what follows is the client's. The daemon speaks first
         * only when it was asked something, so that there is nothing yet. */
        ssize_t n = recv(c->fd, answer + len, sizeof(answer) - 1 - len, 0);
        if (n <= 0)
            break;
        len += (size_t)n;
        answer[len] = '\0';
        bool is_whole = strstr(answer, "\r\n\r\n") != NULL;
        if (is_whole && strncmp(answer, "HTTP/1.1 101 ", 13) == 0)
            return 0;
        if (is_whole && strchr(strstr(answer, "\r\n\r\n"), '}') != NULL)
            break;
    }
    answer[len] = '\0';
    return mcp_explain(answer, e);
}

/* ---- the line -------------------------------------------------------------------------------- */

struct mcp_way {
    const struct cli_args *args;
    struct cli_client *client;
    char token[TOKEN_SIZE];
};

static int mcp_connect(void *context, struct err *e)
{
    const struct mcp_way *way = context;
    struct cli_client *c = way->client;
    if (c->fd < 0 && cli_client_open(c, c->endpoint, true, e) < 0)
        return -1;
    if (mcp_ask(way->args, way->token, c, e) < 0 || mcp_await_consent(c, e) < 0) {
        cli_client_close(c);
        return -1;
    }
    return take_fd(&c->fd);
}

static int mcp_work(const struct cli_args *args, struct cli_client *c, void *context, struct err *e)
{
    (void)context;
    struct mcp_way way = {.args = args, .client = c};
    ids_token(way.token);
    return mcp_pump(&(struct mcp_host){.connect = mcp_connect, .context = &way, .token = way.token},
                    e);
}

/* What was given with --print-config belongs into the entry. */
static int mcp_print_config(const struct cli_args *args, const char *client, struct err *e)
{
    static const char *const kept[] = {"tools", "agent", "data", "url"};
    const char *given[2 * ARRAY_LEN(kept) + 1];
    char flags_text[ARRAY_LEN(kept)][16];
    size_t n = 0;
    for (size_t i = 0; i < ARRAY_LEN(kept); i++) {
        const char *value = cli_value(args, kept[i]);
        if (value == NULL)
            continue;
        snprintf(flags_text[i], sizeof(flags_text[i]), "--%s", kept[i]);
        given[n++] = flags_text[i];
        given[n++] = value;
    }
    given[n] = NULL;
    return mcp_config_print(client, given, e);
}

static int mcp_run(const struct cli_args *args, struct err *e)
{
    const char *client = cli_value(args, "print-config");
    if (args->n_words > 0) {
        err_set(e, ERR_INVALID, "mcp takes no arguments");
        return err_advise(e, "messages come on standard input; see: cella mcp --help");
    }
    if (client != NULL)
        return mcp_print_config(args, client, e);
    cli_signals_take();
    return cli_client_with(args, true, mcp_work, NULL, e);
}

const struct cli_verb cli_mcp_verb = {
    .name = "mcp",
    .subject = OP_ON_TOOLS,
    .summary = "offer tools to a model's client, over standard input and output (MCP)",
    .usage = "[OPTION...]",
    .about =
        "A server of the Model Context Protocol, for clients that start one as a program:\n"
        "one JSON-RPC message on each line, both ways. Tools run code in live sessions of the\n"
        "daemon, which is started if none runs; sessions stay when the client goes. It ends\n"
        "with its input, after what was asked is answered. If the daemon ends, the next request\n"
        "has another; what was saved is there again. Over HTTP the same is at /mcp.\n"
        "\n"
        "Sets of tools: core (run, wait, back, look, file), notebook (cells of a notebook),\n"
        "repl (one tool with five actions).",
    .flags = mcp_flags,
    .is_client = true,
    .examples = "cella mcp\n"
                "cella mcp --tools core,notebook\n"
                "cella mcp --print-config claude-code",
    .run = mcp_run,
};
