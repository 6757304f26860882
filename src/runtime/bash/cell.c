/* clang-format off */
#include "runtime/bash/shell.h"
/* clang-format on */

#include "runtime/bash/cell.h"

#include "runtime/bash/interrupts.h"
#include "runtime/bash/messages.h"

static pid_t session_pid;

/* How the last command of a cell came to its end. */
enum ending {
    ENDED,         /* in the usual way */
    ENDED_SYNTAX,  /* it could not be read */
    ENDED_ERREXIT, /* set -e */
    ENDED_FATAL,   /* an error that would end a script */
    ENDED_INTERRUPTED,
};

/* The command that runs; static because a jump must not lose it. */
static struct {
    COMMAND *command;
    struct fd_bitmap *fds;
    bool is_parsing;
} now;

/* The start script shows in no message and in no variable. */
static void forget_script(void)
{
    static const char *const stacks[] = {"BASH_SOURCE", "BASH_LINENO", "FUNCNAME"};
    for (size_t i = 0; i < ARRAY_LEN(stacks); i++) {
        SHELL_VAR *variable = find_variable(stacks[i]);
        if (variable != NULL && array_p(variable))
            array_shift(array_cell(variable), 1, AS_DISPOSE);
    }
    xfree(dollar_vars[0]);
    dollar_vars[0] = savestring("bash");
    bind_variable("_", dollar_vars[0], 0);
}

void cell_prepare(void)
{
    session_pid = getpid();
    /* What bash meant to do after this builtin, it does not do: we never return. */
    run_unwind_protects();
    if (default_buffered_input >= 0) {
        close_buffered_fd(default_buffered_input); /* the start script */
        default_buffered_input = -1;
    }
    forget_script();
    expand_aliases = expaliases_flag = 1;
    no_exit_on_failed_exec = 1; /* `exec` of a misspelt name is no reason to end */
    bash_history_disable();
}

static void dispose_now(void)
{
    if (now.command != NULL)
        dispose_command(take_ptr(now.command));
    if (now.fds != NULL)
        dispose_fd_bitmap(take_ptr(now.fds));
}

static bool run_one(void)
{
    now.is_parsing = true;
    int failed = parse_command();
    now.is_parsing = false;
    if (failed)
        return false;
    now.command = take_ptr(global_command);
    if (now.command == NULL || read_but_dont_execute)
        return true;
    now.fds = new_fd_bitmap(FD_BITMAP_SIZE);
    execute_command_internal(now.command, 0, NO_PIPE, NO_PIPE, now.fds);
    QUIT;
    return true;
}

/* After a jump out of the middle of something. Bash's own loop does the same. */
static void clear_the_deck(void)
{
    run_unwind_protects();
    dispose_now();
    if (running_trap > 0) {
        run_trap_cleanup(running_trap - 1);
        running_trap = 0;
    }
    loop_level = breaking = continuing = funcnest = sourcelevel = 0;
    executing_list = comsub_ignore_return = return_catch_flag = executing_builtin = 0;
    restore_sigmask();
}

/* `exit` has a code of its own since bash 5.2; then the other one is an interrupt's too. */
#ifndef EXITBLTIN
#define EXITBLTIN EXITPROG
#endif

static enum ending ending_of(int code, bool was_parsing)
{
    if (code == EXITBLTIN)
        exit_shell(last_command_exit_value);
    if (interrupts_hit())
        return ENDED_INTERRUPTED;
    if (code == EXITPROG)
        exit_shell(last_command_exit_value);
    if (was_parsing)
        return ENDED_SYNTAX;
    if (code == DISCARD)
        return ENDED;
    return code == ERREXIT && exit_immediately_on_error ? ENDED_ERREXIT : ENDED_FATAL;
}

/* Something jumped out of the middle of a command. */
static enum ending land(int code)
{
    bool was_parsing = now.is_parsing;
    now.is_parsing = false;
    clear_the_deck();
    /* A function in a pipeline, say, jumps out of a process of its own. */
    if (getpid() != session_pid)
        exit_shell(last_command_exit_value);
    if (last_command_exit_value == 0 && code != EXITBLTIN)
        last_command_exit_value = EXECUTION_FAILURE;
    return ending_of(code, was_parsing);
}

static void begin_reading(char *code)
{
    reset_parser();
    with_input_from_string(code, dollar_vars[0]);
    EOF_Reached = 0;
    line_number = 0;
    read_but_dont_execute = 0; /* set -n: for the cell that says so */
    now.command = NULL;
    now.fds = NULL;
}

static enum ending run_commands(int *ret_line)
{
    int code = setjmp_nosigs(top_level);
    if (code != 0) {
        *ret_line = line_number;
        enum ending ending = land(code);
        if (ending != ENDED)
            return ending;
    }
    QUIT;
    while (*bash_input.location.string != '\0' || parser_expanding_alias()) {
        messages_forget();
        if (!run_one()) {
            *ret_line = line_number;
            return ENDED_SYNTAX;
        }
        dispose_now();
    }
    return ENDED;
}

/* The rest of the verdict on a cell that did not come to its end. */
static void describe(enum ending ending, struct cell_verdict *v)
{
    char *message = v->message;
    size_t size = sizeof(v->message);
    v->status = CELL_ERROR;
    switch (ending) {
    case ENDED:
        v->status = CELL_OK;
        break;
    case ENDED_SYNTAX:
        v->name = "SyntaxError";
        v->last_status = EX_USAGE;
        snprintf(message, size, "%s", messages_first());
        break;
    case ENDED_ERREXIT:
        v->name = "ErrExit";
        snprintf(message, size, "a command failed with status %d, and set -e is on",
                 v->last_status);
        break;
    case ENDED_FATAL:
        v->name = "ShellError";
        snprintf(message, size, "%s", messages_last());
        break;
    case ENDED_INTERRUPTED:
        v->status = CELL_INTERRUPTED;
        v->name = "Interrupted";
        snprintf(message, size, "the cell was interrupted");
        break;
    }
}

void cell_run(const char *code, struct cell_verdict *ret)
{
    int line = 0;
    char *copy = mem_strdup(code); /* the channel's buffer is needed for input */
    begin_reading(copy);
    interrupts_begin_cell();
    enum ending ending = run_commands(&line);
    if (getpid() != session_pid)
        exit_shell(last_command_exit_value);
    interrupts_end_cell();
    dispose_now();
    free(copy);
    if (ending == ENDED_SYNTAX)
        last_command_exit_value = EX_USAGE;
    last_command_exit_value &= 0xff;
    *ret = (struct cell_verdict){.last_status = last_command_exit_value,
                                 .line = ending == ENDED ? 0 : line};
    describe(ending, ret);
    fflush(stdout);
    fflush(stderr);
}
