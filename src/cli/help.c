/* Help, made from the tables of the verbs. Command line tool. */
#include "cli/help.h"

#include "base/buf.h"
#include "base/fd.h"

static void append_flags(struct buf *text, const struct cli_flag *flags)
{
    for (const struct cli_flag *f = flags; f != NULL && f->name != NULL; f++) {
        char left[64], letter[] = {'-', f->letter, ',', ' ', '\0'};
        snprintf(left, sizeof(left), "%s--%s%s%s", f->letter != 0 ? letter : "    ", f->name,
                 f->value != NULL ? " " : "", f->value != NULL ? f->value : "");
        buf_printf(text, "  %-24s  %s\n", left, f->doc);
    }
}

static void append_indented(struct buf *text, const char *lines)
{
    while (*lines != '\0') {
        size_t len = strcspn(lines, "\n");
        buf_printf(text, "  %.*s\n", (int)len, lines);
        lines += len + (lines[len] == '\n');
    }
}

void cli_help_verb(const struct cli_verb *verb)
{
    _buf_ struct buf text = BUF_INIT(64 * KIB);
    buf_printf(&text, "cella %s: %s\n\nUsage: cella %s %s\n\n%s\n\nOptions:\n", verb->name,
               verb->summary, verb->name, verb->usage, verb->about);
    append_flags(&text, verb->flags);
    if (verb->is_client)
        append_flags(&text, cli_client_flags);
    append_flags(&text, cli_common_flags);
    buf_append_str(&text, "\nExamples:\n");
    append_indented(&text, verb->examples);
    fd_write_all(STDOUT_FILENO, buf_str(&text), text.len);
}

void cli_help_all(int fd)
{
    _buf_ struct buf text = BUF_INIT(64 * KIB);
    buf_append_str(&text, "Cella: live, sandboxed interpreters that keep their state.\n\n"
                          "Usage: cella COMMAND [OPTION...] [ARGUMENT...]\n\nCommands:\n");
    for (size_t i = 0; cli_verbs[i] != NULL; i++)
        buf_printf(&text, "  %-9s  %s\n", cli_verbs[i]->name, cli_verbs[i]->summary);
    buf_append_str(&text, "\nEvery command has --help, with examples, and --json, for programs.\n"
                          "The daemon is started when a command needs it and none runs.\n\n"
                          "Examples:\n"
                          "  cella exec 'sum(range(10))'\n"
                          "  cella exec --runtime bash 'ls /'\n"
                          "  cella repl --runtime node\n"
                          "  cella demo\n\n"
                          "  cella --version           what this is\n"
                          "  man cella                 all of it\n");
    fd_write_all(fd, buf_str(&text), text.len);
}
