/* `cella tree`: draw the checkpoints of a session. Command line tool. */
#include "base/fd.h"
#include "cli/api.h"
#include "cli/show.h"
#include "cli/timeline.h"

enum { TREE_MAX = 16 << 20 };

static const struct cli_flag flags[] = {
    {"ascii", 0, NULL, "draw with ASCII characters (the default where the locale is not UTF-8)"},
    {0},
};

static int draw(const struct cli_args *args, struct cli_client *c, void *context, struct err *e)
{
    (void)context;
    _json_ json_t *timeline = NULL;
    if (cli_timeline_get(args, c, &timeline, e) < 0)
        return -1;
    if (cli_has(args, "json"))
        return cli_print_json(timeline) ? 0 : CLI_EXIT_PIPE;
    _buf_ struct buf out = BUF_INIT(TREE_MAX);
    cli_draw_tree(&out, timeline, cli_has(args, "ascii") || !cli_is_utf8());
    return fd_write_all(STDOUT_FILENO, buf_str(&out), out.len) < 0 ? CLI_EXIT_PIPE : 0;
}

static int tree_run(const struct cli_args *args, struct err *e)
{
    if (cli_session_named(args, e) < 0)
        return -1;
    return cli_client_with(args, false, draw, NULL, e);
}

const struct cli_verb cli_tree_verb = {
    .name = "tree",
    .summary = "draw the checkpoints of a session",
    .usage = "[OPTION...] SESSION",
    .about =
        "Draws the points that a session can be taken back to: the cells since the one before,\n"
        "age, memory, whether it has the files (perhaps half-written if they changed while they\n"
        "were read), and whether it can be restored, only from disk, or why not. Branches are\n"
        "what was undone and then done in another way. 0 is the beginning.",
    .flags = flags,
    .is_client = true,
    .examples = "cella tree 0b9c\n"
                "cella tree 0b9c --json | jq '.checkpoints[] | select(.restore == \"no\")'",
    .run = tree_run,
};
