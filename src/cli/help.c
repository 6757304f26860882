/* Help, made from the tables of the verbs. Command line tool. */
#include "cli/help.h"

#include "base/buf.h"
#include "base/fd.h"

enum { HELP_WIDTH = 96, DOC_COLUMN = 28 };

/* Words in lines that begin at a column. */
static void append_wrapped(struct buf *text, const char *words)
{
    size_t column = DOC_COLUMN;
    while (*words != '\0') {
        size_t len = strcspn(words, " ");
        if (column > DOC_COLUMN && column + 1 + len > HELP_WIDTH) {
            buf_printf(text, "\n%*s", DOC_COLUMN, "");
            column = DOC_COLUMN;
        } else if (column > DOC_COLUMN) {
            buf_append_char(text, ' ');
            column++;
        }
        buf_append(text, words, len);
        column += len;
        words += len + (words[len] == ' ');
    }
    buf_append_char(text, '\n');
}

static void append_flags(struct buf *text, const struct cli_flag *flags)
{
    for (const struct cli_flag *f = flags; f != NULL && f->name != NULL; f++) {
        if (f->doc == NULL)
            continue;
        char left[64], letter[] = {'-', f->letter, ',', ' ', '\0'};
        snprintf(left, sizeof(left), "%s--%s%s%s", f->letter != 0 ? letter : "    ", f->name,
                 f->value != NULL ? " " : "", f->value != NULL ? f->value : "");
        buf_printf(text, "  %-24s  ", left);
        if (strlen(left) > 24)
            buf_printf(text, "\n%*s", DOC_COLUMN, "");
        append_wrapped(text, f->doc);
    }
}

void cli_help_verb(const struct cli_verb *verb)
{
    _buf_ struct buf text = BUF_INIT(64 * KIB);
    buf_printf(&text, "cella %s: %s\n\nUsage: cella %s %s\n\n%s\n", verb->name, verb->summary,
               verb->name, verb->usage, verb->about);
    size_t before = text.len;
    /* The verbs of two words that begin with this one. */
    size_t word_len = strlen(verb->name);
    for (const struct cli_verb *const *other = cli_verbs(); *other != NULL; other++) {
        if (strncmp((*other)->name, verb->name, word_len) != 0 || (*other)->name[word_len] != ' ')
            continue;
        char left[160];
        const char *usage = strchr((*other)->usage, ']'); /* behind [OPTION...] */
        snprintf(left, sizeof(left), "%s%s", (*other)->name + word_len + 1,
                 usage != NULL ? usage + 1 : "");
        buf_printf(&text, "  %-24s  %s\n", left, (*other)->summary);
    }
    if (text.len > before)
        buf_append_str(&text, "  (each of these has --help of its own)\n");
    buf_append_str(&text, "\nOptions:\n");
    append_flags(&text, verb->flags);
    if (verb->is_client)
        append_flags(&text, cli_client_flags);
    append_flags(&text, cli_common_flags);
    buf_append_str(&text, "\nExamples:\n");
    const char *lines = verb->examples;
    while (*lines != '\0') {
        size_t len = strcspn(lines, "\n");
        buf_printf(&text, "  %.*s\n", (int)len, lines);
        lines += len + (lines[len] == '\n');
    }
    fd_write_all(STDOUT_FILENO, buf_str(&text), text.len);
}

/* ---- all of them ----------------------------------------------------------------------------- */

static const struct {
    const char *title;
    unsigned subjects; /* 1 << enum op_subject */
} chapters[] = {
    {"Run code", 1u << OP_ON_CODE | 1u << OP_ON_CELL},
    {"Sessions", 1u << OP_ON_SESSION | 1u << OP_ON_FILES},
    {"Back and forth in time", 1u << OP_ON_HISTORY},
    {"Notebooks", 1u << OP_ON_NOTEBOOK},
    {"Agents and states", 1u << OP_ON_AGENT | 1u << OP_ON_STATE},
    {"The daemon", 1u << OP_ON_DAEMON},
};

void cli_help_first(void)
{
    static const char text[] =
        "Cella gives programs and people live Python, Node.js and bash: sessions that start in a\n"
        "millisecond inside a sandbox, keep their state, and can be taken back in time.\n\n"
        "Three things to try:\n"
        "  cella demo                    a short tour on a daemon of its own, which leaves "
        "nothing\n"
        "  cella exec 'sum(range(10))'   run a line; starts the daemon if none runs\n"
        "  cella repl                    type Python; `cella repl -r node` and `-r bash`, too\n\n"
        "All commands: cella --help. The API: GET http://127.0.0.1:7300/v1 while the daemon "
        "runs.\n";
    fd_write_all(STDOUT_FILENO, text, sizeof(text) - 1);
}

void cli_help_all(int fd)
{
    _buf_ struct buf text = BUF_INIT(64 * KIB);
    buf_append_str(&text, "Cella: live, sandboxed interpreters that keep their state.\n\n"
                          "Usage: cella COMMAND [OPTION...] [ARGUMENT...]\n");
    for (size_t i = 0; i < ARRAY_LEN(chapters); i++) {
        buf_printf(&text, "\n%s:\n", chapters[i].title);
        for (const struct cli_verb *const *verb = cli_verbs(); *verb != NULL; verb++) {
            enum op_subject subject = (*verb)->op != NULL ? (*verb)->op->subject : (*verb)->subject;
            /* Those of a group that has a verb of its own are told by that. */
            char word[64];
            snprintf(word, sizeof(word), "%.*s", (int)strcspn((*verb)->name, " "), (*verb)->name);
            bool is_told = strchr((*verb)->name, ' ') != NULL && cli_verb_find(word) != NULL &&
                           cli_verb_find(word)->op == NULL;
            if (chapters[i].subjects & 1u << subject && !is_told)
                buf_printf(&text, "  %-13s  %s\n", (*verb)->name, (*verb)->summary);
        }
    }
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
