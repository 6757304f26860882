/* What we use of bash. Its headers are made for loadable builtins; a few names that they leave out
 * are declared here, as bash 5.1 to 5.3 have them. They come before ours: banned.h poisons names
 * that their macros use. */
#pragma once

/* config.h comes first */
/* clang-format off */
#include <config.h>
#include <bashtypes.h>
#include <builtins.h>
#include <shell.h>
#include <alias.h>
#include <bashjmp.h>
#include <builtins/common.h>
#include <execute_cmd.h>
#include <jobs.h>
#include <quit.h>
#include <sig.h>
#include <version.h>
/* clang-format on */

/* input.h: where the parser reads. */
extern struct shell_input {
    int type;
    char *name;
    union {
        FILE *file;
        char *string;
        int buffered_fd;
    } location;
    int (*getter)(void);
    int (*ungetter)(int);
} bash_input;

extern int default_buffered_input;
void with_input_from_string(char *text, const char *name);
int close_buffered_fd(int fd);
int parser_expanding_alias(void);
int find_reserved_word(char *word);
void bash_history_disable(void);

#ifndef EXIT_TRAP
#define EXIT_TRAP 0
#endif

/* `exit` has a code of its own since bash 5.2, and the older one is an interrupt's alone. */
#ifndef EXITBLTIN
#define EXITBLTIN EXITPROG
#endif

/* trap.h, flags.h and the state of the executor. */
int signal_is_trapped(int sig);
int signal_is_ignored(int sig);
void run_trap_cleanup(int sig);
void run_interrupt_trap(int will_throw);
int run_exit_trap(void);
void restore_default_signal(int sig);
void initialize_traps(void);
void trap_handler(int sig);
void restore_sigmask(void);
void adjust_shell_level(int change);
extern int running_trap;
extern int wait_intr_flag, wait_signal_received;
extern int read_but_dont_execute;
extern int exit_immediately_on_error;
extern int expand_aliases, expaliases_flag;
extern int no_exit_on_failed_exec;
extern int loop_level, breaking, continuing, funcnest, sourcelevel;
extern int executing_list, comsub_ignore_return, return_catch_flag, executing_builtin;
extern int EOF_Reached, line_number, current_command_line_count;
