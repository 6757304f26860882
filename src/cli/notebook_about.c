/* What the code of a notebook's session declared, as people read it. Command line tool. */
#include "cli/notebook.h"
#include "cli/op.h"
#include "cli/terminal.h"

enum { NAMED_MAX = 8 };

static void notebook_about_append_member(struct buf *out, const json_t *item, const char *name)
{
    size_t len = 0;
    const char *text = name != NULL ? cli_json_text(item, name, &len) : json_string_value(item);
    if (text != NULL)
        cli_append_safe(out, text, name != NULL ? len : strlen(text), false);
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

void cli_append_declarations(struct buf *out, const json_t *told)
{
    const json_t *list = json_object_get(told, "imports");
    size_t i;
    const json_t *item;
    if (json_array_size(list) > 0)
        buf_append_str(out, "imports, done again:\n");
    json_array_foreach(list, i, item) {
        buf_append_str(out, "  ");
        notebook_about_append_member(out, item, NULL);
        buf_append_char(out, '\n');
    }
    append_definitions(out, json_object_get(told, "definitions"));
    append_lost(out, json_object_get(told, "lost"), json_is_true(json_object_get(told, "saved")));
}

void cli_notebook_append_lost(struct cli_client *c, const char *id, struct buf *out)
{
    struct err ignored; /* it is busy, or there is no session: then there is nothing to tell */
    _json_ json_t *told = NULL, *asked = json_pack("{s:s}", "session_id", id);
    if (cli_op_ask(c, "notebook.declarations", asked, &told, &ignored) < 0)
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
