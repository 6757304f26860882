/* `cella mcp --print-config CLIENT`: how clients of the Model Context Protocol are told to start
 * `cella mcp`. Command line tool; needs no daemon. */
#include "cli/mcp_config.h"

#include "base/fd.h"
#include "cli/terminal.h"
#include "cli/verb.h"
#include "wire/json.h"

#include <errno.h>
#include <limits.h>

enum { MCP_CONFIG_MAX = 64 << 10 };

/* The same words open most files. */
#define ENTRY_IN(servers, more)                                                                    \
    "{\n"                                                                                          \
    "  \"" servers "\": {\n"                                                                       \
    "    \"cella\": {" more "\"command\": %P, \"args\": [%A]}\n"                                   \
    "  }\n"                                                                                        \
    "}\n"

const struct mcp_config_client mcp_config_clients[] = {
    {"claude-code", "Claude Code", "run this; for one project, put claude-desktop's into .mcp.json",
     "claude mcp add --scope user cella -- %S\n"},
    {"claude-desktop", "Claude Desktop",
     "into claude_desktop_config.json (Settings, Developer, Edit Config)",
     ENTRY_IN("mcpServers", "")},
    {"codex", "Codex", "into ~/.codex/config.toml",
     "[mcp_servers.cella]\n"
     "command = %P\n"
     "args = [%A]\n"
     "tool_timeout_sec = 600\n"},
    {"cursor", "Cursor", "into ~/.cursor/mcp.json, or .cursor/mcp.json of a project",
     ENTRY_IN("mcpServers", "")},
    {"vscode", "VS Code", "into .vscode/mcp.json of a project, or the user's mcp.json",
     ENTRY_IN("servers", "\"type\": \"stdio\", ")},
    {"librechat", "LibreChat", "into librechat.yaml",
     "mcpServers:\n"
     "  cella:\n"
     "    type: stdio\n"
     "    command: %P\n"
     "    args: [%A]\n"
     "    timeout: 600000\n"
     "    serverInstructions: true\n"},
    {"inspector", "MCP Inspector", "run this", "npx @modelcontextprotocol/inspector %S\n"},
    {"typescript", "TypeScript SDK", "npm install @modelcontextprotocol/sdk",
     "import { Client } from \"@modelcontextprotocol/sdk/client/index.js\";\n"
     "import { StdioClientTransport } from \"@modelcontextprotocol/sdk/client/stdio.js\";\n"
     "\n"
     "const client = new Client({ name: \"mine\", version: \"1.0.0\" });\n"
     "await client.connect(new StdioClientTransport({ command: %P, args: [%A] }));\n"
     "console.log(await client.callTool({ name: \"run\", arguments: { code: \"1 + 1\" } }));\n"
     "await client.close();\n"},
    {"python", "Python SDK", "pip install mcp",
     "import asyncio\n"
     "from mcp import ClientSession, StdioServerParameters\n"
     "from mcp.client.stdio import stdio_client\n"
     "\n"
     "async def main():\n"
     "    server = StdioServerParameters(command=%P, args=[%A])\n"
     "    async with stdio_client(server) as (read, write), ClientSession(read, write) as "
     "session:\n"
     "        await session.initialize()\n"
     "        print(await session.call_tool(\"run\", {\"code\": \"1 + 1\"}))\n"
     "\n"
     "asyncio.run(main())\n"},
    {"openai-agents", "OpenAI Agents SDK", "pip install openai-agents",
     "import asyncio\n"
     "from agents import Agent, Runner\n"
     "from agents.mcp import MCPServerStdio\n"
     "\n"
     "async def main():\n"
     "    async with MCPServerStdio(params={\"command\": %P, \"args\": [%A]},\n"
     "                              client_session_timeout_seconds=600) as cella:\n"
     "        agent = Agent(name=\"analyst\", instructions=\"Compute with run.\", "
     "mcp_servers=[cella])\n"
     "        print((await Runner.run(agent, \"What is 2 to the 100?\")).final_output)\n"
     "\n"
     "asyncio.run(main())\n"},
    {"claude-agent-sdk", "Claude Agent SDK", "pip install claude-agent-sdk",
     "import asyncio\n"
     "from claude_agent_sdk import ClaudeAgentOptions, query\n"
     "\n"
     "async def main():\n"
     "    options = ClaudeAgentOptions(\n"
     "        mcp_servers={\"cella\": {\"command\": %P, \"args\": [%A]}},\n"
     "        allowed_tools=[\"mcp__cella__run\"])\n"
     "    async for message in query(prompt=\"What is 2 to the 100?\", options=options):\n"
     "        print(message)\n"
     "\n"
     "asyncio.run(main())\n"},
    {0},
};

/* JSON's strings are also those of TOML, YAML, JavaScript and Python. */
static void append_quoted(struct buf *out, const char *text)
{
    struct json_out json = JSON_OUT(out);
    json_put_str(&json, text);
}

static void append_for_shell(struct buf *out, const char *text)
{
    static const char plain[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./,:=@%+";
    if (text[0] != '\0' && text[strspn(text, plain)] == '\0') {
        buf_append_str(out, text);
        return;
    }
    buf_append_char(out, '\'');
    for (; *text != '\0'; text++)
        if (*text == '\'')
            buf_append_str(out, "'\\''");
        else
            buf_append_char(out, *text);
    buf_append_char(out, '\'');
}

static void append_arguments(struct buf *out, const char *const *arguments, const char *between,
                             void (*append)(struct buf *out, const char *text))
{
    append(out, "mcp");
    for (; *arguments != NULL; arguments++) {
        buf_append_str(out, between);
        append(out, *arguments);
    }
}

void mcp_config_append(const struct mcp_config_client *client, const char *program,
                       const char *const *arguments, struct buf *out)
{
    for (const char *at = client->entry; *at != '\0'; at++) {
        if (at[0] != '%') {
            buf_append_char(out, *at);
            continue;
        }
        at++;
        if (*at == 'P') {
            append_quoted(out, program);
        } else if (*at == 'A') {
            append_arguments(out, arguments, ", ", append_quoted);
        } else {
            append_for_shell(out, program);
            buf_append_char(out, ' ');
            append_arguments(out, arguments, " ", append_for_shell);
        }
    }
}

static int mcp_config_refuse(const char *client, struct err *e)
{
    _buf_ struct buf known = BUF_INIT(KIB);
    for (const struct mcp_config_client *c = mcp_config_clients; c->name != NULL; c++)
        buf_printf(&known, "%s%s", c == mcp_config_clients ? "" : ", ", c->name);
    err_set(e, ERR_INVALID, "there is no entry for '%.32s'", client);
    return err_advise(e, "one of these: %s; docs/CONNECT.md tells how others are told",
                      buf_str(&known));
}

int mcp_config_print(const char *client, const char *const *arguments, struct err *e)
{
    const struct mcp_config_client *c = mcp_config_clients;
    while (c->name != NULL && strcmp(c->name, client) != 0)
        c++;
    if (c->name == NULL)
        return mcp_config_refuse(client, e);
    char program[PATH_MAX];
    ssize_t len = readlink("/proc/self/exe", program, sizeof(program) - 1);
    if (len < 0)
        return err_errno(e, ERR_UNAVAILABLE, errno, "the path of this program");
    program[len] = '\0';
    _buf_ struct buf out = BUF_INIT(MCP_CONFIG_MAX);
    mcp_config_append(c, program, arguments, &out);
    cli_say(STDERR_FILENO, "%s: %s\n", c->title, c->where);
    return fd_write_all(STDOUT_FILENO, buf_str(&out), out.len) < 0 ? CLI_EXIT_PIPE : 0;
}
