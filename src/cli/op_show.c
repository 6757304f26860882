/* Answers of operations as people read them: a table of what is a list, lines of what is an object,
 * by the shapes that operations declare; and views of their own where that says too little. Command
 * line tool. */
#include "base/fd.h"
#include "base/utf8.h"
#include "cli/names.h"
#include "cli/notebook.h"
#include "cli/op.h"
#include "cli/show.h"
#include "cli/table.h"
#include "cli/terminal.h"
#include "cli/timeline.h"

enum {
    OP_SHOW_SHOWN_MAX = 64 << 20,
    OP_SHOW_COLUMNS_MAX = 24,
    COLUMN_BYTES = 60, /* of a text in a table */
    BRANCHES_MAX = 1000,
};

static int write_out(const struct buf *out)
{
    return fd_write_all(STDOUT_FILENO, buf_str(out), out->len) < 0 ? CLI_EXIT_PIPE : 0;
}

/* ---- plain ----------------------------------------------------------------------------------- */

static bool is_empty(const json_t *value)
{
    return value == NULL || json_is_null(value) ||
           (json_is_string(value) && json_string_length(value) == 0) ||
           (json_is_array(value) && json_array_size(value) == 0) ||
           (json_is_object(value) && json_object_size(value) == 0);
}

/* One value in one line. */
static void append_scalar(struct buf *out, const struct op_member *m, const json_t *value,
                          size_t max)
{
    if (json_is_string(value) && m != NULL && m->type == OP_TIME && max < OP_SHOW_SHOWN_MAX)
        cli_describe_age(out, json_string_value(value));
    else if (json_is_string(value)) {
        const char *text = json_string_value(value);
        size_t len = json_string_length(value), line = strcspn(text, "\n");
        size_t shown = line > max ? utf8_valid_prefix(text, max) : line;
        cli_append_safe(out, text, shown, false);
        if (shown < len)
            buf_append_str(out, "…");
    } else if (json_is_integer(value) && m != NULL && m->type == OP_SIZE)
        cli_describe_size(out, (uint64_t)MAX(json_integer_value(value), (json_int_t)0));
    else if (json_is_integer(value))
        buf_printf(out, "%lld", (long long)json_integer_value(value));
    else if (json_is_real(value))
        buf_printf(out, "%.1f", json_real_value(value));
    else if (json_is_boolean(value))
        buf_append_str(out, json_is_true(value) ? "yes" : "no");
    else if (json_is_array(value))
        for (size_t i = 0; i < json_array_size(value); i++) {
            buf_append_str(out, i > 0 ? ", " : "");
            append_scalar(out, NULL, json_array_get(value, i), max);
        }
    else if (!is_empty(value)) {
        _free_ char *text = json_dumps(value, JSON_COMPACT);
        cli_append_safe(out, text, strlen(text), false);
    }
}

static void append_list(struct buf *out, const struct op_shape *shape, const json_t *list)
{
    char sides[OP_SHOW_COLUMNS_MAX + 1] = "";
    size_t n = 0;
    _json_ json_t *rows = json_array(), *head = json_array();
    for (const struct op_member *m = shape->members; m->name != NULL && n < OP_SHOW_COLUMNS_MAX;
         m++) {
        if (m->column == NULL)
            continue;
        bool is_number =
            m->type == OP_INT || m->type == OP_SIZE || m->type == OP_NUMBER || m->type == OP_TIME;
        json_array_append_new(head, json_string(m->column));
        sides[n++] = is_number ? 'r' : 'l';
    }
    json_array_append(rows, head);
    for (size_t i = 0; i < json_array_size(list); i++) {
        json_t *row = json_array();
        for (const struct op_member *m = shape->members; m->name != NULL; m++) {
            if (m->column == NULL)
                continue;
            _buf_ struct buf text = BUF_INIT(64 * KIB);
            append_scalar(&text, m, json_object_get(json_array_get(list, i), m->name),
                          COLUMN_BYTES);
            json_array_append_new(row, json_string(text.len > 0 ? buf_str(&text) : "-"));
        }
        json_array_append_new(rows, row);
    }
    cli_append_table(out, rows, sides);
}

static bool has_columns(const struct op_shape *shape)
{
    for (const struct op_member *m = shape->members; m->name != NULL; m++)
        if (m->column != NULL)
            return true;
    return false;
}

static void append_object(struct buf *out, const struct op_shape *shape, const json_t *object,
                          int indent)
{
    int width = 0;
    for (const struct op_member *m = shape->members; m->name != NULL; m++)
        if (!is_empty(json_object_get(object, m->name)))
            width = MAX(width, (int)strlen(m->name));
    for (const struct op_member *m = shape->members; m->name != NULL; m++) {
        const json_t *value = json_object_get(object, m->name);
        if (is_empty(value))
            continue;
        buf_printf(out, "%*s%-*s  ", indent, "", width, m->name);
        if (m->shape != NULL && m->type == OP_OBJECT) {
            buf_append_char(out, '\n');
            append_object(out, m->shape, value, indent + 2);
        } else if (m->shape != NULL && m->type == OP_LIST) {
            buf_append_char(out, '\n');
            for (size_t i = 0; i < json_array_size(value); i++)
                append_object(out, m->shape, json_array_get(value, i), indent + 2);
        } else {
            append_scalar(out, m, value, OP_SHOW_SHOWN_MAX);
            buf_append_char(out, '\n');
        }
    }
}

/* ---- views of their own ---------------------------------------------------------------------- */

static const char *id_of(const json_t *object, const char *member)
{
    const char *id = cli_json_text(object, member, NULL);
    return id != NULL ? id : "?";
}

static int show_sessions(struct cli_client *c, const json_t *args, const json_t *answer)
{
    (void)c, (void)args;
    return cli_show_sessions(answer);
}

static int show_session(struct cli_client *c, const json_t *args, const json_t *answer)
{
    (void)c, (void)args;
    cli_say(STDOUT_FILENO, "%.64s\n", id_of(answer, "session_id"));
    return 0;
}

static int show_notebook(struct cli_client *c, const json_t *args, const json_t *answer)
{
    (void)c, (void)args;
    cli_say(STDOUT_FILENO, "notebook %.64s\n", id_of(answer, "notebook_id"));
    return 0;
}

static int show_interrupted(struct cli_client *c, const json_t *args, const json_t *answer)
{
    (void)c;
    bool was_running = json_is_true(json_object_get(answer, "interrupted"));
    cli_say(STDOUT_FILENO, was_running ? "interrupted %.64s\n" : "nothing runs in %.64s\n",
            id_of(args, "session_id"));
    return 0;
}

static int show_branches(struct cli_client *c, const json_t *args, const json_t *answer)
{
    (void)c, (void)args;
    const json_t *sessions = json_object_get(answer, "sessions");
    for (size_t i = 0; i < json_array_size(sessions) && i < BRANCHES_MAX; i++)
        cli_say(STDOUT_FILENO, "%.64s\n", id_of(json_array_get(sessions, i), "session_id"));
    return 0;
}

static int show_undone(struct cli_client *c, const json_t *args, const json_t *answer)
{
    _buf_ struct buf out = BUF_INIT(MIB);
    _json_ json_t *told = json_copy((json_t *)(uintptr_t)answer);
    /* What the only cell ran, if it can be had: its number says little. */
    const json_t *cells = json_object_get(told, "cells");
    int64_t id = json_integer_value(json_array_get(cells, 0));
    if (json_array_size(cells) == 1 && id >= 1) {
        struct err ignored;
        _json_ json_t *list = NULL,
                      *asked = json_pack("{s:s, s:I, s:i}", "session_id", id_of(args, "session_id"),
                                         "offset", (json_int_t)id - 1, "limit", 1);
        if (cli_op_ask(c, "session.cells", asked, &list, &ignored) >= 0) {
            const json_t *cell = json_array_get(json_object_get(list, "cells"), 0);
            if (cli_json_int(cell, "number", 0) == id)
                json_object_set(told, "code", json_object_get(cell, "code"));
        }
    }
    cli_describe_rollback(&out, "took back", told);
    return write_out(&out);
}

static int show_redone(struct cli_client *c, const json_t *args, const json_t *answer)
{
    cli_say(STDOUT_FILENO, "redone; ");
    return show_undone(c, args, answer);
}

static int show_names(struct cli_client *c, const json_t *args, const json_t *answer)
{
    (void)c, (void)args;
    if (cli_json_int(answer, "total", 0) == 0)
        cli_say(STDERR_FILENO, "no names yet\n");
    cli_show_names(STDOUT_FILENO, answer);
    if (json_is_true(json_object_get(answer, "busy")))
        cli_say(STDERR_FILENO, "cella: a cell runs; this is how it was after cell %lld\n",
                (long long)cli_json_int(answer, "as_of", 0));
    return 0;
}

static int show_checkpoints(struct cli_client *c, const json_t *args, const json_t *answer)
{
    (void)c, (void)args;
    _buf_ struct buf out = BUF_INIT(OP_SHOW_SHOWN_MAX);
    cli_append_checkpoints(&out, answer);
    return write_out(&out);
}

static int show_killed(struct cli_client *c, const json_t *args, const json_t *answer)
{
    (void)c, (void)args;
    const char *id = id_of(answer, "session_id"),
               *notebook = cli_json_text(answer, "notebook", NULL);
    if (notebook == NULL)
        cli_say(STDOUT_FILENO, "killed %.64s\n", id);
    else if (strcmp(notebook, "kept") == 0)
        cli_say(STDOUT_FILENO, "killed %.64s; its notebook stays: cella notebook show %.8s\n", id,
                id);
    else
        cli_say(STDOUT_FILENO,
                "killed %.64s; its notebook is deleted, too (--keep-notebook keeps it)\n", id);
    return 0;
}

static int show_plan(struct cli_client *c, const json_t *args, const json_t *answer)
{
    (void)c, (void)args;
    const char *agent = cli_json_text(answer, "agent", NULL);
    bool is_on = json_is_object(json_object_get(answer, "plan"));
    _buf_ struct buf out = BUF_INIT(4 * KIB);
    buf_append_str(&out, agent != NULL ? "agent " : "session ");
    const char *name = agent != NULL ? agent : id_of(answer, "session_id");
    cli_append_safe(&out, name, strlen(name), false);
    buf_append_str(&out, is_on ? " is in plan mode\n" : " left plan mode\n");
    return write_out(&out);
}

static int show_output(struct cli_client *c, const json_t *args, const json_t *answer)
{
    (void)c, (void)args;
    size_t len = 0;
    const char *text = cli_json_text(answer, "text", &len);
    int64_t end = cli_json_int(answer, "end", 0), next = cli_json_int(answer, "next_offset", 0);
    if (text != NULL && fd_write_all(STDOUT_FILENO, text, len) < 0)
        return CLI_EXIT_PIPE;
    if (next < end)
        cli_say(STDERR_FILENO, "cella: up to byte %lld of %lld; go on with --offset %lld\n",
                (long long)next, (long long)end, (long long)next);
    return 0;
}

static int show_declarations(struct cli_client *c, const json_t *args, const json_t *answer)
{
    (void)c, (void)args;
    _buf_ struct buf out = BUF_INIT(OP_SHOW_SHOWN_MAX);
    cli_append_declarations(&out, answer);
    if (out.len == 0)
        cli_say(STDERR_FILENO, "nothing is declared, and nothing would be lost\n");
    if (json_is_true(json_object_get(answer, "busy")))
        cli_say(STDERR_FILENO, "cella: a cell runs; this is how it was after cell %lld\n",
                (long long)cli_json_int(answer, "as_of", 0));
    return write_out(&out);
}

static int show_changed_cell(struct cli_client *c, const json_t *args, const json_t *answer)
{
    (void)c, (void)args;
    cli_notebook_say_changed(answer);
    return 0;
}

static const struct {
    const char *op;
    int (*show)(struct cli_client *c, const json_t *args, const json_t *answer);
} views[] = {
    {"session.create", show_session},
    {"session.list", show_sessions},
    {"session.delete", show_killed},
    {"session.interrupt", show_interrupted},
    {"session.names", show_names},
    {"session.output", show_output},
    {"session.undo", show_undone},
    {"session.redo", show_redone},
    {"session.branch", show_branches},
    {"session.checkpoints", show_checkpoints},
    {"session.declarations", show_declarations},
    {"session.plan.enter", show_plan},
    {"session.plan.leave", show_plan},
    {"agent.plan.enter", show_plan},
    {"agent.plan.leave", show_plan},
    {"notebook.create", show_notebook},
    {"notebook.declarations", show_declarations},
    {"cell.move", show_changed_cell},
};

int cli_op_show(struct cli_client *c, const struct op *op, const json_t *args, const json_t *answer)
{
    for (size_t i = 0; i < ARRAY_LEN(views); i++)
        if (strcmp(views[i].op, op->name) == 0)
            return views[i].show(c, args, answer);
    _buf_ struct buf out = BUF_INIT(OP_SHOW_SHOWN_MAX);
    for (const struct op_member *m = op->result->members; m->name != NULL; m++) {
        if (m->type != OP_LIST || m->shape == NULL || !has_columns(m->shape))
            continue;
        const json_t *list = json_object_get(answer, m->name);
        append_list(&out, m->shape, list);
        int64_t shown = (int64_t)json_array_size(list), from = cli_json_int(args, "offset", 0);
        int64_t count = cli_json_int(answer, "count", shown);
        if (shown > 0 && from + shown < count)
            cli_say(STDERR_FILENO, "cella: %lld to %lld of %lld; go on with --offset %lld\n",
                    (long long)from + 1, (long long)(from + shown), (long long)count,
                    (long long)(from + shown));
        return write_out(&out);
    }
    append_object(&out, op->result, answer, 0);
    return write_out(&out);
}
