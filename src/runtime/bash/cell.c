/* clang-format off */
#include "runtime/bash/shell.h"
/* clang-format on */

#include "runtime/bash/cell.h"

#include "runtime/bash/imports.h"
#include "runtime/bash/interrupts.h"
#include "runtime/bash/messages.h"

static pid_t session_pid;

/* Bytes of bash's exit_shell() that its first calls are in. */
enum { EXIT_SHELL_HEAD = 64 };

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
    bool is_running;
    bool is_parsing;
    bool is_interrupted; /* the cell; what runs is the trap on INT */
} now;

/* The start script shows in no message and in no variable: it is as if one called "bash" ran. */
static void forget_script(void)
{
    xfree(dollar_vars[0]);
    dollar_vars[0] = savestring("bash");
    SHELL_VAR *sources = find_variable("BASH_SOURCE");
    if (sources != NULL && array_p(sources))
        array_insert(array_cell(sources), 0, dollar_vars[0]);
    bind_variable("_", dollar_vars[0], 0);
}

_Noreturn static void leave(void)
{
    now.is_running = false;
    exit_shell(last_command_exit_value);
}

/* With set -e bash leaves where it reports some errors, and does not throw as it does elsewhere.
 * What it calls of libc on the way out is fflush, first of all: there we throw for it. */
static int fflush_of_shell(FILE *stream)
{
    uintptr_t caller = (uintptr_t)__builtin_return_address(0);
    bool is_leaving = caller - (uintptr_t)exit_shell < EXIT_SHELL_HEAD;
    if (is_leaving && now.is_running && getpid() == session_pid)
        jump_to_top_level(FORCE_EOF);
    return fflush(stream);
}

void cell_renew(void)
{
    session_pid = getpid();
}

void cell_prepare(void)
{
    cell_renew();
    imports_replace("fflush", fflush_of_shell);
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
    execute_command(now.command);
    return true;
}

/* After a jump out of the middle of something. Bash's own loop does the same. */
static void clear_the_deck(void)
{
    run_unwind_protects();
    dispose_now();
    if (already_making_children) { /* the next command would wait for those of this one */
        cleanup_the_pipeline();
        stop_making_children();
    }
    if (running_trap > 0) {
        run_trap_cleanup(running_trap - 1);
        running_trap = 0;
    }
    loop_level = breaking = continuing = funcnest = sourcelevel = 0;
    executing_list = comsub_ignore_return = return_catch_flag = executing_builtin = 0;
    make_funcname_visible(0);
    restore_sigmask();
}

/* `exit` has a code of its own since bash 5.2, and the older one is an interrupt's alone. */
#ifndef EXITBLTIN
#define EXITBLTIN EXITPROG
#endif

/* On INT: after the interrupt has ended the cell's commands. A trap that jumps, to leave or because
 * of another interrupt, lands where the cell did. */
static void run_users_trap(void)
{
    if (!signal_is_trapped(SIGINT) || signal_is_ignored(SIGINT) || now.is_interrupted)
        return;
    now.is_interrupted = true;
    run_interrupt_trap(0);
}

static enum ending ending_of(int code, bool was_parsing)
{
    /* A job of its own (set -m) that died of SIGINT ends the cell too. */
    if (now.is_interrupted || (code == EXITPROG && last_command_exit_value == 128 + SIGINT))
        return ENDED_INTERRUPTED;
    if (was_parsing)
        return ENDED_SYNTAX;
    if (code == DISCARD && !exit_immediately_on_error) /* a script goes on after its command, too */
        return ENDED;
    return code == ERREXIT && exit_immediately_on_error ? ENDED_ERREXIT : ENDED_FATAL;
}

/* Something jumped out of the middle of a command. */
static enum ending land(int code)
{
    bool was_parsing = now.is_parsing;
    bool is_hit = interrupts_take_hit();
    now.is_parsing = false;
    clear_the_deck();
    /* A function in a pipeline, say, jumps out of a process of its own. */
    if (getpid() != session_pid || (code == EXITBLTIN && !(is_hit && EXITBLTIN == EXITPROG)))
        leave();
    if (last_command_exit_value == 0)
        last_command_exit_value = EXECUTION_FAILURE;
    if (is_hit)
        run_users_trap();
    now.is_interrupted |= is_hit;
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
    now.is_interrupted = false;
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
        if (messages_first_line() > 0)
            v->line = messages_first_line();
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
    now.is_running = true;
    interrupts_begin_cell();
    enum ending ending = run_commands(&line);
    if (getpid() != session_pid)
        leave();
    now.is_running = false;
    interrupts_end_cell();
    dispose_now();
    free(copy);
    if (ending == ENDED_SYNTAX)
        last_command_exit_value = EX_USAGE;
    if (ending == ENDED_INTERRUPTED)
        last_command_exit_value = 128 + SIGINT;
    last_command_exit_value &= 0xff;
    *ret = (struct cell_verdict){.last_status = last_command_exit_value,
                                 .line = ending == ENDED ? 0 : line};
    describe(ending, ret);
    fflush(stdout);
    fflush(stderr);
}
