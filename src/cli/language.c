/* The table of runtimes as the tool knows them. Command line tool. */
#include "cli/language.h"

static const char *const python_suffixes[] = {".py", NULL};
static const char *const node_suffixes[] = {".js", ".mjs", ".cjs", NULL};
static const char *const bash_suffixes[] = {".sh", ".bash", NULL};

/* In a Python session these end the cell only; here they are how people leave. */
static const char *const python_farewells[] = {"exit", "quit", "exit()", "quit()", NULL};
static const char *const node_farewells[] = {".exit", NULL};
static const char *const bash_farewells[] = {"exit", "logout", NULL};
static const char *const python_exits[] = {"exit(", "quit(", NULL};
static const char *const node_exits[] = {"process.exit(", NULL};
static const char *const bash_exits[] = {"exit ", NULL};
static const char *const python_continuations[] = {"else", "elif", "except", "finally", NULL};

const struct cli_language cli_languages[] = {
    {
        .runtime = "python",
        .name = "Python",
        .suffixes = python_suffixes,
        .prompt = ">>> ",
        .more_prompt = "... ",
        .farewells = python_farewells,
        .exits = python_exits,
        .has_indented_blocks = true,
        .continuations = python_continuations,
    },
    {
        .runtime = "node",
        .name = "Node.js",
        .suffixes = node_suffixes,
        .prompt = "> ",
        .more_prompt = "... ",
        .farewells = node_farewells,
        .exits = node_exits,
    },
    {
        .runtime = "bash",
        .name = "bash",
        .suffixes = bash_suffixes,
        .prompt = "$ ",
        .more_prompt = "> ",
        .farewells = bash_farewells,
        .exits = bash_exits,
    },
};
const size_t cli_n_languages = ARRAY_LEN(cli_languages);

const struct cli_language *cli_language_find(const char *runtime)
{
    for (size_t i = 0; i < cli_n_languages; i++)
        if (strcmp(cli_languages[i].runtime, runtime) == 0)
            return &cli_languages[i];
    return NULL;
}

static bool ends_in(const char *text, const char *end)
{
    size_t len = strlen(text), end_len = strlen(end);
    return len > end_len && strcmp(text + len - end_len, end) == 0;
}

const struct cli_language *cli_language_of_file(const char *path)
{
    for (size_t i = 0; i < cli_n_languages; i++)
        for (const char *const *suffix = cli_languages[i].suffixes; *suffix != NULL; suffix++)
            if (ends_in(path, *suffix))
                return &cli_languages[i];
    return NULL;
}
