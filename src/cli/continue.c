/* `cella continue`: wait for a cell that was left running. Command line tool. */
#include "cli/args.h"
#include "cli/cell.h"
#include "cli/terminal.h"

static const struct cli_flag continue_flags[] = {
    {"yield", 'y', "DURATION", "come back after this time if it still runs"},
    {"budget", 'b', "SIZE", "with --json: how much output the answer holds (8k)"},
    {"names", 0, NULL, "show the session's names afterwards"},
    {"save-images", 0, "DIR", "write images there instead of only noting them"},
    {0},
};

static int continue_wait_for(const struct cli_args *args, struct cli_client *c, void *context,
                             struct err *e)
{
    struct cli_cell *cell = context;
    struct cli_session session;
    if (cli_session_find(c, args->words[0], &session, e) < 0)
        return -1;
    cell->session_id = session.id;
    if (cell->number == 0)
        cell->number = session.exec_count;
    if (cell->number == 0)
        return err_set(e, ERR_NOT_FOUND, "the session has run no cell yet");
    _json_ json_t *answer = NULL;
    int status = cli_cell_continue(c, cell, &answer, e);
    if (status < 0)
        return cell->left_by != 0 ? 128 + cell->left_by : -1;
    return cli_cell_finish(cell, answer);
}

static int continue_run(const struct cli_args *args, struct err *e)
{
    struct cli_show show;
    struct cli_asker asker = {.show = cli_has(args, "json") ? NULL : &show};
    struct cli_cell cell = {.budget = -1, .yield_ms = -1, .show = asker.show};
    const char *yield = cli_value(args, "yield"), *budget = cli_value(args, "budget");
    cell.wants_names = cli_has(args, "names");
    if (args->n_words < 1 || args->n_words > 2) {
        err_set(e, ERR_INVALID, "name a session, and the number of a cell if it is not the last");
        return err_advise(e, "list the sessions with: cella ps");
    }
    if (args->n_words == 2 && !cli_parse_number(args->words[1], 1, &cell.number))
        return err_set(e, ERR_INVALID, "'%.32s' is not the number of a cell", args->words[1]);
    if (cli_show_read(args, &show, e) < 0 ||
        (yield != NULL && cli_parse_duration(yield, &cell.yield_ms, e) < 0) ||
        (budget != NULL && cli_parse_size(budget, &cell.budget, e) < 0))
        return -1;
    /* Only a person at a terminal answers here; others have `cella input`. */
    asker.has_stdin = isatty(STDIN_FILENO) && yield == NULL;
    cell.asker = asker.has_stdin ? &asker : NULL;
    cli_signals_take();
    int status = cli_client_with(args, false, continue_wait_for, &cell, e);
    cli_asker_free(&asker);
    return status;
}

const struct cli_verb cli_continue_verb = {
    .name = "continue",
    .subject = OP_ON_CODE,
    .summary = "wait for a cell that was left running",
    .usage = "[OPTION...] SESSION [CELL]",
    .about =
        "Waits for a cell that still ran when its caller came back or went away, the last one\n"
        "if no number is given, and shows what it wrote since. Ctrl-C interrupts it. Exit\n"
        "statuses are those of exec; 75 if it still runs or waits for input.",
    .flags = continue_flags,
    .is_client = true,
    .examples = "cella exec --new --yield 1s 'import time; time.sleep(5); 42'\n"
                "cella continue 0b9c\n"
                "cella continue 0b9c 3 --yield 500ms --json",
    .run = continue_run,
};
