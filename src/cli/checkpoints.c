/* What a session can be taken back to, as a table, and drawn by `cella tree`. Command line tool. */
#include "base/fd.h"
#include "cli/api.h"
#include "cli/show.h"
#include "cli/timeline.h"

enum { CHECKPOINTS_SHOWN_MAX = 16 << 20 };

void cli_append_checkpoints(struct buf *out, const json_t *timeline)
{
    const json_t *checkpoints = json_object_get(timeline, "checkpoints");
    int64_t current = cli_json_int(timeline, "current", -1);
    buf_printf(out, "  %4s %6s  %-16s %5s %9s  %s\n", "ID", "PARENT", "CELLS", "AGE", "MEMORY",
               "RESTORE");
    for (size_t i = 0; i < json_array_size(checkpoints); i++) {
        const json_t *checkpoint = json_array_get(checkpoints, i);
        _buf_ struct buf cells = BUF_INIT(4 * KIB), age = BUF_INIT(64), size = BUF_INIT(64);
        int64_t parent = cli_json_int(checkpoint, "parent", -1);
        int64_t bytes = cli_json_int(checkpoint, "memory_bytes", -1);
        cli_describe_cells(&cells, json_object_get(checkpoint, "cells"));
        cli_describe_age(&age, cli_json_text(checkpoint, "at", NULL));
        if (bytes >= 0)
            cli_describe_size(&size, (uint64_t)bytes);
        buf_printf(out, "%c %4lld ", (cli_json_int(checkpoint, "id", -2) == current) ? '*' : ' ',
                   (long long)cli_json_int(checkpoint, "id", 0));
        if (parent >= 0)
            buf_printf(out, "%6lld", (long long)parent);
        else
            buf_printf(out, "%6s", "-");
        buf_printf(out, "  %-16s %5s %9s  ", cells.len > 0 ? buf_str(&cells) : "-", buf_str(&age),
                   size.len > 0 ? buf_str(&size) : "-");
        cli_describe_files(out, checkpoint);
        buf_append_str(out, ", ");
        cli_describe_restore(out, checkpoint);
        buf_append_char(out, '\n');
    }
}

static int tree_show(const struct cli_args *args, struct cli_client *c, void *context,
                     struct err *e)
{
    (void)context;
    _json_ json_t *timeline = NULL;
    if (cli_timeline_get(args, c, &timeline, e) < 0)
        return -1;
    if (cli_has(args, "json"))
        return cli_print_json(timeline) ? 0 : CLI_EXIT_PIPE;
    _buf_ struct buf out = BUF_INIT(CHECKPOINTS_SHOWN_MAX);
    cli_draw_tree(&out, timeline, cli_has(args, "ascii") || !cli_is_utf8());
    return fd_write_all(STDOUT_FILENO, buf_str(&out), out.len) < 0 ? CLI_EXIT_PIPE : 0;
}

static int tree_run(const struct cli_args *args, struct err *e)
{
    if (cli_session_named(args, e) < 0)
        return -1;
    return cli_client_with(args, false, tree_show, NULL, e);
}

static const struct cli_flag tree_flags[] = {
    {"ascii", 0, NULL, "draw with ASCII characters (the default where the locale is not UTF-8)"},
    {0},
};

const struct cli_verb cli_tree_verb = {
    .name = "tree",
    .subject = OP_ON_HISTORY,
    .summary = "draw the checkpoints of a session",
    .usage = "[OPTION...] SESSION",
    .about =
        "Draws the points that a session can be taken back to: the cells since the one before,\n"
        "age, memory, whether it has the files (perhaps half-written if they changed while they\n"
        "were read), and whether it can be restored, only from disk, or why not. Branches are\n"
        "what was undone and then done in another way. 0 is the beginning.",
    .flags = tree_flags,
    .is_client = true,
    .examples = "cella tree 0b9c\n"
                "cella tree 0b9c --json | jq '.checkpoints[] | select(.restore == \"no\")'",
    .run = tree_run,
};
