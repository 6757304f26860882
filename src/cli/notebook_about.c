/* What a notebook is called, and what its session's code declared. */
#include "base/fd.h"
#include "cli/notebook.h"
#include "cli/show.h"
#include "cli/terminal.h"

enum { TEXT_MAX = 16 << 20, NAMED_MAX = 8 };

int cli_notebook_title(const struct cli_args *args, struct cli_client *c, const char *const *words,
                       size_t n_words, struct err *e)
{
    (void)n_words;
    char id[CLI_NOTEBOOK_ID_SIZE], path[CLI_NOTEBOOK_PATH_SIZE];
    _json_ json_t *body = json_pack("{s:s}", "title", words[1]);
    if (body == NULL)
        return err_set(e, ERR_INVALID, "the title is not UTF-8");
    if (cli_notebook_find(c, words[0], id, e) < 0)
        return -1;
    snprintf(path, sizeof(path), "/v1/notebooks/%s", id);
    return cli_notebook_send(args, c, "PATCH", path, body, NULL, e);
}

/* ---- declarations ------------------------------------------------------------------------------
 */

static void notebook_about_append_member(struct buf *out, const json_t *item, const char *name)
{
    size_t len = 0;
    const char *text = name != NULL ? cli_json_text(item, name, &len) : json_string_value(item);
    if (text != NULL)
        cli_append_safe(out, text, name != NULL ? len : strlen(text), false);
}

static void append_imports(struct buf *out, const json_t *list)
{
    size_t i;
    const json_t *item;
    if (json_array_size(list) > 0)
        buf_append_str(out, "imports, done again:\n");
    json_array_foreach(list, i, item) {
        buf_append_str(out, "  ");
        notebook_about_append_member(out, item, NULL);
        buf_append_char(out, '\n');
    }
}

static void append_definitions(struct buf *out, const json_t *list)
{
    size_t i;
    const json_t *item;
    if (json_array_size(list) > 0)
        buf_append_str(out, "definitions, made again from their source:\n");
    json_array_foreach(list, i, item) {
        buf_append_str(out, "  ");
        notebook_about_append_member(out, item, "kind");
        buf_append_char(out, ' ');
        notebook_about_append_member(out, item, "name");
        buf_append_char(out, '\n');
    }
}

static void append_lost(struct buf *out, const json_t *list, bool is_saved)
{
    size_t i;
    const json_t *item;
    if (json_array_size(list) > 0)
        buf_append_str(out, is_saved ? "not saved:\n" : "would not survive:\n");
    json_array_foreach(list, i, item) {
        buf_append_str(out, "  ");
        notebook_about_append_member(out, item, "name");
        buf_append_str(out, " (");
        notebook_about_append_member(out, item, "type");
        buf_append_str(out, "): ");
        notebook_about_append_member(out, item, "advice");
        buf_append_char(out, '\n');
    }
}

static int notebook_about_ask(struct cli_client *c, const char *id, json_t **ret_told,
                              struct err *e)
{
    char path[CLI_NOTEBOOK_PATH_SIZE];
    snprintf(path, sizeof(path), "/v1/notebooks/%s/declarations", id);
    return cli_api_get(c, "GET", path, ret_told, e);
}

int cli_notebook_declarations(const struct cli_args *args, struct cli_client *c,
                              const char *const *words, size_t n_words, struct err *e)
{
    (void)n_words;
    char id[CLI_NOTEBOOK_ID_SIZE];
    _json_ json_t *told = NULL;
    if (cli_notebook_find(c, words[0], id, e) < 0 || notebook_about_ask(c, id, &told, e) < 0)
        return -1;
    if (cli_has(args, "json"))
        return cli_print_json(told) ? 0 : CLI_EXIT_PIPE;
    _buf_ struct buf text = BUF_INIT(TEXT_MAX);
    append_imports(&text, json_object_get(told, "imports"));
    append_definitions(&text, json_object_get(told, "definitions"));
    append_lost(&text, json_object_get(told, "lost"), json_is_true(json_object_get(told, "saved")));
    if (text.len == 0)
        cli_say(STDERR_FILENO, "nothing is declared, and nothing would be lost\n");
    if (json_is_true(json_object_get(told, "busy")))
        cli_say(STDERR_FILENO, "cella: a cell runs; this is how it was after cell %lld\n",
                (long long)cli_json_int(told, "as_of", 0));
    return fd_write_all(STDOUT_FILENO, buf_str(&text), text.len) == 0 ? 0 : CLI_EXIT_PIPE;
}

void cli_notebook_append_lost(struct cli_client *c, const char *id, struct buf *out)
{
    struct err ignored; /* it is busy, or there is no session: then there is nothing to tell */
    _json_ json_t *told = NULL;
    if (notebook_about_ask(c, id, &told, &ignored) < 0)
        return;
    const json_t *lost = json_object_get(told, "lost");
    size_t n = json_array_size(lost);
    for (size_t i = 0; i < MIN(n, (size_t)NAMED_MAX); i++) {
        buf_append_str(out, i == 0 ? "would not survive: " : ", ");
        notebook_about_append_member(out, json_array_get(lost, i), "name");
        buf_append_str(out, " (");
        notebook_about_append_member(out, json_array_get(lost, i), "type");
        buf_append_char(out, ')');
    }
    if (n > NAMED_MAX)
        buf_printf(out, " and %zu more", n - NAMED_MAX);
    if (n > 0)
        buf_printf(out, "; see: cella notebook declarations %.8s\n", id);
}
