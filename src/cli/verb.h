/* cli: the command line tool, one file for each verb. Promises: a verb talks to the daemon as any
 * other client does, over HTTP, and believes nothing it says before its type and size were checked;
 * exit statuses are stable (0 done, 1 the code that was run failed, or what its interpreter said;
 * 75 it still runs, 124 it was stopped by its time limit, 130 by Ctrl-C, others from
 * err_exit_status); `--json` everywhere. Owns the terminal. May
 * call serve and every room below; no room calls it. */
#pragma once

#include "base/err.h"
#include "ops/op.h"

struct cli_args;

struct cli_flag {
    const char *name;  /* "timeout", given as --timeout; NULL ends the list */
    char letter;       /* 'f', given as -f; 0 if there is none */
    const char *value; /* what follows it, "DURATION" or "NAME VALUE"; NULL if it is a switch */
    const char *doc;   /* NULL if it is for tests, and no help tells of it */
};

struct cli_verb {
    const char *name;    /* one word, or two: "notebook move" */
    const char *summary; /* one line of `cella --help` */
    const char *usage;   /* what follows "cella NAME" */
    const char *about;   /* the paragraph of `cella NAME --help` */
    const struct cli_flag *flags;
    bool is_client; /* also takes cli_client_flags */
    const char *examples;
    /* The exit status, or -1 with the error, which main prints. */
    int (*run)(const struct cli_args *args, struct err *e);
    const struct op *op;     /* that it was made from; NULL if it is hand-written */
    enum op_subject subject; /* of a hand-written one: its chapter in the help */
};

enum {
    CLI_EXIT_FAILED = 1,
    CLI_EXIT_RUNNING = 75, /* not yet: the code runs on, or waits for input */
    CLI_EXIT_TIMEOUT = 124,
    CLI_EXIT_INTERRUPTED = 130,
    CLI_EXIT_PIPE = 141
};

/* All of them, NULL-terminated: the hand-written ones and those of the table of operations. */
const struct cli_verb *const *cli_verbs(void);
extern const struct cli_flag cli_common_flags[]; /* of every verb */
extern const struct cli_flag cli_client_flags[]; /* where the daemon is */

extern const struct cli_verb cli_call_verb;
extern const struct cli_verb cli_convert_verb;
extern const struct cli_verb cli_serve_verb;
extern const struct cli_verb cli_stop_verb;
extern const struct cli_verb cli_exec_verb;
extern const struct cli_verb cli_attach_verb;
extern const struct cli_verb cli_ls_verb;
extern const struct cli_verb cli_put_verb;
extern const struct cli_verb cli_get_verb;
extern const struct cli_verb cli_cp_verb;
extern const struct cli_verb cli_mv_verb;
extern const struct cli_verb cli_rm_verb;
extern const struct cli_verb cli_mkdir_verb;
extern const struct cli_verb cli_notebook_verb;
extern const struct cli_verb cli_repl_verb;
extern const struct cli_verb cli_run_verb;
extern const struct cli_verb cli_continue_verb;
extern const struct cli_verb cli_input_verb;
extern const struct cli_verb cli_pipe_verb;
extern const struct cli_verb cli_mcp_verb;
extern const struct cli_verb cli_try_verb;
extern const struct cli_verb cli_tree_verb;
extern const struct cli_verb cli_config_verb;
extern const struct cli_verb cli_doctor_verb;
extern const struct cli_verb cli_demo_verb;

int cli_main(int argc, char **argv);
const struct cli_verb *cli_verb_find(const char *name);
