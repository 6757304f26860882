/* Runs a cell as the shell would run a line. In the shell's process; owns the session's pid, by
 * which a forked child is told apart. */
/* clang-format off */
#include "drivers/bash/shell.h"
/* clang-format on */

#include "drivers/bash/cell.h"

#include "drivers/bash/imports.h"
#include "drivers/bash/input.h"
#include "drivers/bash/interrupts.h"
#include "drivers/bash/messages.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/wait.h>

static pid_t session_pid;

/* Bytes of bash's exit_shell() that its first calls are in. */
enum { EXIT_SHELL_HEAD = 64 };

/* How the last command of a cell came to its end. */
enum ending {
    ENDED,         /* in the usual way */
    ENDED_SYNTAX,  /* it could not be read */
    ENDED_EXIT,    /* exit, or exec of a program */
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
    bool exit_ends;      /* the shell, and not only the cell */
    bool has_exited;     /* where a script would have ended */
} now;

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

/* ---- exec ------------------------------------------------------------------------------------ */

_Noreturn static void become(const char *path, char *const args[], char *const env[], int errors)
{
    execve(path, args, env);
    if (errno == ENOEXEC) {
        /* What bash does with a file that is no program: it runs it as a script. */
        size_t n = 0;
        while (args[n] != NULL)
            n++;
        char **with_shell = mem_alloc((n + 3) * sizeof(*with_shell));
        with_shell[0] = dollar_vars[0];
        with_shell[1] = (char *)(uintptr_t)path;
        for (size_t i = 1; i < n; i++)
            with_shell[i + 1] = args[i];
        execve("/proc/self/exe", with_shell, env);
    }
    int error = errno;
    ssize_t ignored = write(errors, &error, sizeof(error));
    (void)ignored;
    _exit(EX_NOEXEC);
}

/* The errno of a program that could not be started, or 0 and how it ended. */
static int run_instead(const char *path, char *const args[], char *const env[], int *ret_status)
{
    int errors[2];
    if (pipe2(errors, O_CLOEXEC) < 0)
        return errno;
    /* Bash would take the child's end for that of one of its jobs. */
    sigset_t chld, before;
    sigemptyset(&chld);
    sigaddset(&chld, SIGCHLD);
    sigprocmask(SIG_BLOCK, &chld, &before);
    pid_t pid = fork();
    int error = pid < 0 ? errno : 0;
    if (pid == 0) {
        sigprocmask(SIG_SETMASK, &before, NULL);
        become(path, args, env, errors[1]);
    }
    close(errors[1]);
    while (pid > 0 && waitpid(pid, ret_status, 0) < 0 && errno == EINTR)
        continue;
    if (pid > 0 && read(errors[0], &error, sizeof(error)) != sizeof(error))
        error = 0;
    close(errors[0]);
    sigprocmask(SIG_SETMASK, &before, NULL);
    return error;
}

/* `exec prog` in the session's own shell: a child becomes the program, and the cell ends with it.
 * Bash is ready to be replaced when it calls this; what it did for that is undone as bash undoes it
 * when `exec` fails, by which the traps are lost. */
static int execve_of_shell(const char *path, char *const args[], char *const env[])
{
    int status;
    if (getpid() != session_pid || !now.is_running || now.exit_ends)
        return execve(path, args, env);
    int error = run_instead(path, args, env, &status);
    if (error != 0) {
        errno = error;
        return -1;
    }
    initialize_traps();
    initialize_signals(1);
    if (job_control)
        restart_job_control();
    if (env[0] != NULL) /* not exec -c */
        adjust_shell_level(1);
    input_open(); /* `exec prog <file` is for the program */
    last_command_exit_value = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    jump_to_top_level(EXITBLTIN);
    return -1;
}

/* ---- before the first cell ------------------------------------------------------------------- */

void cell_renew(void)
{
    session_pid = getpid();
}

void cell_prepare(void)
{
    cell_renew();
    imports_replace("fflush", fflush_of_shell);
    imports_replace("execve", execve_of_shell);
    /* What bash meant to do after this builtin, it does not do: we never return. */
    run_unwind_protects();
    if (default_buffered_input >= 0) {
        close_buffered_fd(default_buffered_input); /* the start script */
        default_buffered_input = -1;
    }
    /* The start script shows in no message and in no variable, as if "bash" were its name. */
    xfree(dollar_vars[0]);
    dollar_vars[0] = savestring("bash");
    SHELL_VAR *sources = find_variable("BASH_SOURCE");
    if (sources != NULL && array_p(sources))
        array_insert(array_cell(sources), 0, dollar_vars[0]);
    bind_variable("_", dollar_vars[0], 0);
    expand_aliases = expaliases_flag = 1;
    no_exit_on_failed_exec = 1; /* `exec` of a misspelt name is no reason to end */
    bash_history_disable();
}

/* ---- commands -------------------------------------------------------------------------------- */

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

static enum ending ending_of(int code, bool was_parsing)
{
    /* A job of its own (set -m) that died of SIGINT ends the cell too. */
    if (now.is_interrupted || (code == EXITPROG && last_command_exit_value == 128 + SIGINT))
        return ENDED_INTERRUPTED;
    if (was_parsing)
        return ENDED_SYNTAX;
    if (code == EXITBLTIN)
        return ENDED_EXIT;
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
    bool is_exit = code == EXITBLTIN && !(is_hit && EXITBLTIN == EXITPROG);
    /* A function in a pipeline, say, jumps out of a process of its own. */
    if (getpid() != session_pid || (is_exit && now.exit_ends))
        leave();
    if (last_command_exit_value == 0 && !is_exit)
        last_command_exit_value = EXECUTION_FAILURE;
    /* On INT: after the interrupt has ended the cell's commands. A trap that jumps, to leave or
     * because of another interrupt, lands where the cell did. */
    if (is_hit && signal_is_trapped(SIGINT) && !signal_is_ignored(SIGINT) && !now.is_interrupted) {
        now.is_interrupted = true;
        run_interrupt_trap(0);
    }
    now.is_interrupted |= is_hit;
    enum ending ending = ending_of(code, was_parsing);
    bool is_end = is_exit || ending == ENDED_ERREXIT || ending == ENDED_FATAL;
    if (is_end && !now.exit_ends) {
        /* On EXIT: where a script would have ended. It runs once, as it would there. */
        now.has_exited = true;
        if (signal_is_trapped(EXIT_TRAP))
            last_command_exit_value = run_exit_trap();
        clear_the_deck();
        /* A part of the trap may have jumped out of a process of its own. */
        if (getpid() != session_pid)
            leave();
        run_trap_cleanup(EXIT_TRAP);
        restore_default_signal(EXIT_TRAP);
        now.is_interrupted |= interrupts_take_hit();
    }
    return now.is_interrupted ? ENDED_INTERRUPTED : ending;
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
        messages_drop();
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
    case ENDED_EXIT:
        if (v->last_status == 0) {
            v->status = CELL_OK;
            v->line = 0;
            break;
        }
        v->name = "SystemExit";
        snprintf(message, size, "%d", v->last_status);
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

void cell_run(const char *code, bool exit_ends, struct cell_verdict *ret)
{
    int line = 0;
    char *copy = mem_strdup(code); /* the channel's buffer is needed for input */
    reset_parser();
    with_input_from_string(copy, dollar_vars[0]);
    EOF_Reached = 0;
    line_number = 0;
    read_but_dont_execute = 0; /* set -n: for the cell that says so */
    now.command = NULL;
    now.is_interrupted = now.has_exited = false;
    now.exit_ends = exit_ends;
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
                                 .has_exited = now.has_exited,
                                 .line = ending == ENDED ? 0 : line};
    describe(ending, ret);
    fflush(stdout);
    fflush(stderr);
}
