/* `cella input`: answer a cell that waits for a line of input. Command line tool. */
#include "cli/args.h"
#include "cli/cell.h"
#include "cli/terminal.h"

static const struct cli_flag input_flags[] = {
    {"eof", 0, NULL, "no line but the end of the input"},
    {"yield", 'y', "DURATION", "come back after this time if it still runs"},
    {"budget", 'b', "SIZE", "with --json: how much output the answer holds (8k)"},
    {"save-images", 0, "DIR", "write images there instead of only noting them"},
    {0},
};

static int give(const struct cli_args *args, struct cli_client *c, void *context, struct err *e)
{
    struct cli_cell *cell = context;
    struct cli_session session;
    if (cli_session_find(c, args->words[0], &session, e) < 0)
        return -1;
    cell->session_id = session.id;
    const char *text = args->n_words == 2 ? args->words[1] : NULL;
    _json_ json_t *answer = NULL;
    if (cli_cell_input(c, cell, text, text != NULL ? strlen(text) : 0, &answer, e) < 0)
        return cell->left_by != 0 ? 128 + cell->left_by : -1;
    return cli_cell_finish(cell, answer);
}

static int input_run(const struct cli_args *args, struct err *e)
{
    struct cli_show show;
    struct cli_cell cell = {
        .budget = -1, .yield_ms = -1, .show = cli_has(args, "json") ? NULL : &show};
    const char *yield = cli_value(args, "yield"), *budget = cli_value(args, "budget");
    if (args->n_words != (cli_has(args, "eof") ? 1 : 2)) {
        err_set(e, ERR_INVALID, "name a session and give one line for it, or --eof");
        return err_advise(e, "quote the line: cella input 0b9c 'a line'");
    }
    if (cli_show_read(args, &show, e) < 0 ||
        (yield != NULL && cli_parse_duration(yield, &cell.yield_ms, e) < 0) ||
        (budget != NULL && cli_parse_size(budget, &cell.budget, e) < 0))
        return -1;
    cli_signals_take();
    return cli_client_with(args, false, give, &cell, e);
}

const struct cli_verb cli_input_verb = {
    .name = "input",
    .subject = OP_ON_CODE,
    .summary = "answer a cell that waits for a line of input",
    .usage = "[OPTION...] SESSION TEXT | --eof",
    .about =
        "Gives TEXT to the cell that asked for input with input(), read or readline, waits for\n"
        "the cell as `cella continue` does, and shows what it wrote since.",
    .flags = input_flags,
    .is_client = true,
    .examples = "cella input 0b9c Ada\n"
                "cella input 0b9c --eof",
    .run = input_run,
};
