/* Completions, inspections and commands of a conversation. Command line tool. */
#include "cli/assist.h"

#include "base/clock.h"
#include "base/fd.h"
#include "cli/show.h"
#include "cli/terminal.h"

#include <ctype.h>

enum {
    PATIENCE_MS = 4000,
    ASSIST_WORDS_MAX = 16,
    ASSIST_LINE_MAX_BYTES = 4096,
    ASSIST_SHOWN_MAX = 64 * 1024
};

/* ---- asking the interpreter ------------------------------------------------------------------ */

static json_t *assist_ask(struct cli_client *c, const char *session_id, const char *what,
                          const char *code, size_t len, int64_t detail, struct err *e)
{
    char path[96];
    json_t *answer = NULL;
    _buf_ struct buf body = BUF_INIT(MIB);
    struct json_out out = JSON_OUT(&body);
    json_put_object(&out);
    json_put_member_text(&out, "code", code, len);
    if (detail > 0)
        json_put_member_int(&out, "detail", detail);
    json_put_object_end(&out);
    snprintf(path, sizeof(path), "/v1/sessions/%s/%s", session_id, what);
    return cli_api_post(c, path, &body, PATIENCE_MS, &answer, e) < 0 ? NULL : answer;
}

json_t *cli_assist_complete(struct cli_client *c, const char *session_id, const char *code,
                            size_t len)
{
    struct err ignored; /* a busy session, or one that is gone: running code tells */
    json_t *told = assist_ask(c, session_id, "complete", code, len, 0, &ignored);
    size_t i;
    json_t *match;
    json_array_foreach(json_object_get(told, "matches"), i, match) {
        if (cli_json_text(match, "text", NULL) == NULL) {
            json_decref(told);
            return NULL;
        }
    }
    return told;
}

/* ---- what a name is -------------------------------------------------------------------------- */

/* The name, and how many question marks stand around it; 0: the line is something else. */
static unsigned parse_question(const char *line, const char **ret_name, size_t *ret_len)
{
    size_t end = strlen(line), start = 0;
    unsigned n_marks = 0;
    while (end > 0 && isspace((unsigned char)line[end - 1]))
        end--;
    while (start < end && line[start] == '?' && n_marks < 2)
        start++, n_marks++;
    while (end > start && line[end - 1] == '?' && n_marks < 2)
        end--, n_marks++;
    for (size_t i = start; i < end; i++)
        if (!(isalnum((unsigned char)line[i]) || strchr("_.$%", line[i]) != NULL ||
              (unsigned char)line[i] >= 0x80))
            return 0;
    *ret_name = line + start;
    *ret_len = end - start;
    return end > start ? n_marks : 0;
}

bool cli_assist_is_question(const char *line)
{
    const char *name;
    size_t len;
    return parse_question(line, &name, &len) > 0;
}

void cli_assist_answer(struct cli_client *c, const char *session_id, const char *line,
                       bool is_coloured)
{
    struct err e;
    const char *name;
    size_t len;
    unsigned n_marks = parse_question(line, &name, &len);
    _json_ json_t *told = assist_ask(c, session_id, "inspect", name, len, n_marks > 1, &e);
    _buf_ struct buf out = BUF_INIT(MIB);
    if (told == NULL) {
        cli_say(STDERR_FILENO, "cella: %s\n", e.message);
        return;
    }
    if (json_is_true(json_object_get(told, "found"))) {
        static const struct {
            const char *member, *title;
        } rows[] = {{"signature", "Signature"}, {"type", "Type"},
                    {"text", "Value"},          {"doc", "Doc"},
                    {"file", "File"},           {"source", "Source"}};
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
            size_t text_len = 0;
            const char *text = cli_json_text(told, rows[i].member, &text_len);
            if (text != NULL && text_len > 0) {
                bool is_long = memchr(text, '\n', text_len) != NULL;
                buf_printf(&out, "%s%s:%s%s", is_coloured ? "\033[31m" : "", rows[i].title,
                           is_coloured ? "\033[0m" : "", is_long ? "\n" : " ");
                cli_append_safe(&out, text, text_len, true);
                buf_append_char(&out, '\n');
            }
            int64_t elements = cli_json_int(told, "len", -1);
            if (strcmp(rows[i].member, "text") == 0 && elements >= 0)
                buf_printf(&out, "%sLength:%s %lld\n", is_coloured ? "\033[31m" : "",
                           is_coloured ? "\033[0m" : "", (long long)elements);
        }
    } else {
        cli_append_safe(&out, name, len, false);
        buf_append_str(&out, " is not there\n");
    }
    fd_write_all(STDOUT_FILENO, buf_str(&out), out.len);
}

/* ---- commands -------------------------------------------------------------------------------- */

/* Verbs that take the session first, by the names that they have here. */
static const struct {
    const char *name, *verb, *doc;
} assist_commands[] = {
    {"undo", "undo", "take back what the last cell did; --to N: everything since checkpoint N"},
    {"redo", "redo", "return to where the last undo came from"},
    {"tree", "tree", "draw the checkpoints that can be gone back to"},
    {"names", "names", "show the variables, their types and sizes"},
    {"files", NULL, "list the files of the workspace"},
    {"branch", "branch", "make a live copy of the session, and tell its id"},
};

bool cli_assist_is_command(const char *line)
{
    return line[0] == ':' && isalpha((unsigned char)line[1]);
}

static void assist_files(struct cli_client *c, const char *session_id)
{
    struct err e;
    char path[96];
    size_t i;
    const json_t *entry;
    _json_ json_t *list = NULL;
    _buf_ struct buf out = BUF_INIT(MIB);
    snprintf(path, sizeof(path), "/v1/sessions/%s/files?recursive=true", session_id);
    if (cli_api_get(c, "GET", path, &list, &e) < 0) {
        cli_say(STDERR_FILENO, "cella: %s\n", e.message);
        return;
    }
    json_array_foreach(json_object_get(list, "entries"), i, entry) {
        size_t len = 0;
        const char *name = cli_json_text(entry, "path", &len);
        _buf_ struct buf size = BUF_INIT(64);
        cli_describe_size(&size, (uint64_t)MAX(cli_json_int(entry, "bytes", 0), (int64_t)0));
        buf_printf(&out, "%10s  ", buf_str(&size));
        cli_append_safe(&out, name != NULL ? name : "?", name != NULL ? len : 1, false);
        buf_append_char(&out, '\n');
    }
    if (cli_json_text(list, "next", NULL) != NULL)
        buf_append_str(&out, "and more\n");
    fd_write_all(STDOUT_FILENO, buf_str(&out), out.len);
}

/* The command line of the verb: where the daemon is, the session, what else was typed. */
static void run_command(const struct cli_args *args, const char *verb, const char *session_id,
                        char *rest)
{
    static const char *const places[] = {"data", "url", "key"};
    char flags[ARRAY_LEN(places)][16];
    const char *argv[ASSIST_WORDS_MAX + 8] = {"cella", verb, session_id};
    int argc = 3;
    for (size_t i = 0; i < ARRAY_LEN(places); i++) {
        const char *value = cli_value(args, places[i]);
        snprintf(flags[i], sizeof(flags[i]), "--%s", places[i]);
        if (value == NULL)
            continue;
        argv[argc++] = flags[i];
        argv[argc++] = value;
    }
    char *save = NULL;
    for (char *word = strtok_r(rest, " \t", &save); word != NULL && argc < ASSIST_WORDS_MAX + 7;
         word = strtok_r(NULL, " \t", &save))
        argv[argc++] = word;
    args->run_line(argc, (char **)(uintptr_t)argv);
}

void cli_assist_run(struct cli_client *c, const struct cli_args *args, const char *session_id,
                    const char *line)
{
    char text[ASSIST_LINE_MAX_BYTES];
    snprintf(text, sizeof(text), "%s", line + 1);
    size_t len = strcspn(text, " \t");
    char *rest = text + len + (text[len] != '\0');
    text[len] = '\0';
    for (size_t i = 0; i < ARRAY_LEN(assist_commands); i++) {
        if (strcmp(text, assist_commands[i].name) != 0)
            continue;
        if (assist_commands[i].verb == NULL)
            assist_files(c, session_id);
        else
            run_command(args, assist_commands[i].verb, session_id, rest);
        return;
    }
    if (strcmp(text, "help") != 0)
        cli_say(STDERR_FILENO, "cella: there is no command :%.32s\n", text);
    _buf_ struct buf out = BUF_INIT(ASSIST_SHOWN_MAX);
    for (size_t i = 0; i < ARRAY_LEN(assist_commands); i++)
        buf_printf(&out, ":%-8s %s\n", assist_commands[i].name, assist_commands[i].doc);
    buf_append_str(&out, ":help     this list\n"
                         "name?     what it is; name?? with its source\n"
                         "Tab       how the line could go on\n"
                         "Ctrl-C    interrupts a cell or clears the line, Ctrl-D ends this\n");
    fd_write_all(STDOUT_FILENO, buf_str(&out), out.len);
}
