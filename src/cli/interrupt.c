/* `cella interrupt`: stop the cell that runs and keep its session. Command line tool. */
#include "base/clock.h"
#include "cli/api.h"
#include "cli/show.h"
#include "cli/terminal.h"

static int interrupt(const struct cli_args *args, struct cli_client *c, void *context,
                     struct err *e)
{
    (void)context;
    struct cli_session session;
    if (cli_session_find(c, args->words[0], &session, e) < 0)
        return -1;
    char path[128];
    snprintf(path, sizeof(path), "/v1/sessions/%s/interrupt", session.id);
    struct cli_request request = {
        .method = "POST",
        .path = path,
        .body = "{}",
        .body_len = 2,
        .deadline_ms = clock_mono_ms() + CLI_DEADLINE_SHORT_MS,
    };
    _json_ json_t *answer = NULL;
    if (cli_api_call(c, &request, &answer, e) < 0)
        return -1;
    if (cli_has(args, "json"))
        return cli_print_json(answer) ? 0 : CLI_EXIT_PIPE;
    bool was_running = json_is_true(json_object_get(answer, "interrupted"));
    cli_say(STDOUT_FILENO, was_running ? "interrupted %s\n" : "nothing runs in %s\n", session.id);
    return 0;
}

static int interrupt_run(const struct cli_args *args, struct err *e)
{
    if (cli_session_named(args, e) < 0)
        return -1;
    return cli_client_with(args, false, interrupt, NULL, e);
}

const struct cli_verb cli_interrupt_verb = {
    .name = "interrupt",
    .summary = "stop the cell that runs and keep its session",
    .usage = "[OPTION...] SESSION",
    .about =
        "Does to the running cell of a session what Ctrl-C does at a terminal. The session and\n"
        "its state stay; what the cell gave is fetched with `cella continue`.",
    .is_client = true,
    .examples = "cella interrupt 0b9c",
    .run = interrupt_run,
};
