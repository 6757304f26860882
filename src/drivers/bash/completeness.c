/* In the shell's process: a child of it parses the text, with the shell's aliases and options. */

/* clang-format off */
#include "drivers/bash/shell.h"
/* clang-format on */

#include "drivers/bash/completeness.h"

#include "base/buf.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/wait.h>

enum verdict { COMPLETE, INCOMPLETE, INVALID, UNKNOWN };

static enum verdict parse(const char *code)
{
    char *text = mem_strdup(code);
    reset_parser();
    with_input_from_string(text, "");
    EOF_Reached = 0;
    if (setjmp_nosigs(top_level) != 0)
        return EOF_Reached ? INCOMPLETE : INVALID;
    while (*bash_input.location.string != '\0' || parser_expanding_alias())
        if (parse_command() != 0)
            return EOF_Reached ? INCOMPLETE : INVALID;
    return COMPLETE;
}

static bool ends_in_backslash(const char *code)
{
    size_t len = strlen(code), n = 0;
    if (len > 0 && code[len - 1] == '\n')
        len--;
    while (n < len && code[len - 1 - n] == '\\')
        n++;
    return n % 2 == 1;
}

/* A here-document that is still open is no error to bash, and takes a line that would be one. */
static bool swallows_more(const char *code)
{
    _buf_ struct buf longer = BUF_INIT(64 * MIB);
    if (strstr(code, "<<") == NULL)
        return false;
    buf_printf(&longer, "%s\n)\n", code);
    return parse(buf_str(&longer)) == COMPLETE;
}

_Noreturn static void judge(const char *code)
{
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    dup2(null, STDOUT_FILENO);
    dup2(null, STDERR_FILENO);
    enum verdict verdict = parse(code);
    if (verdict == COMPLETE && (ends_in_backslash(code) || swallows_more(code)))
        verdict = INCOMPLETE;
    _exit((int)verdict);
}

const char *completeness_of(const char *code)
{
    static const char *const names[] = {
        [COMPLETE] = "complete", [INCOMPLETE] = "incomplete", [INVALID] = "invalid"};
    int status = 0;
    /* Bash would take the child's end for that of one of its jobs. */
    sigset_t chld, before;
    sigemptyset(&chld);
    sigaddset(&chld, SIGCHLD);
    sigprocmask(SIG_BLOCK, &chld, &before);
    pid_t pid = fork();
    if (pid == 0)
        judge(code);
    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
        continue;
    sigprocmask(SIG_SETMASK, &before, NULL);
    bool is_told = pid > 0 && WIFEXITED(status) && WEXITSTATUS(status) < UNKNOWN;
    return is_told ? names[WEXITSTATUS(status)] : "unknown";
}
