/* JAIL_LIB/launch PROGRAM ARG...: the zygote of interpreters that cannot be forked once they run.
 * It is the empty shell of one: each child walks into a jail and becomes PROGRAM there. The
 * session's socket is descriptor ZYGOTE_CONTROL_FD of the program, and the only one beside 0, 1
 * and 2. */
#include "base/fd.h"
#include "jail/inside/zygote_serve.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

static const char ready[] = "{\"ready\":true}";

/* Now rather than in every session: the words reach whoever asked for the first one. */
static bool can_run(const char *program)
{
    struct stat st;
    int errnum = access(program, X_OK) < 0 || stat(program, &st) < 0 ? errno : 0;
    if (errnum == 0 && !S_ISREG(st.st_mode))
        errnum = EACCES;
    if (errnum != 0)
        fprintf(stderr, "cannot start %s: %s\n", program, strerror(errnum));
    return errnum == 0;
}

/* Libraries of numbers have one thread in what is copied by fork (jail/warden/zygote.c). What these
 * interpreters start is not, and nproc believes such a variable: it may be as many as the jail is
 * told that there are processors. */
static bool use_all_processors(void)
{
    static const char *const names[] = {"OMP_NUM_THREADS",  "OPENBLAS_NUM_THREADS",
                                        "MKL_NUM_THREADS",  "NUMEXPR_NUM_THREADS",
                                        "BLIS_NUM_THREADS", "NUMBA_NUM_THREADS"};
    char count[24];
    snprintf(count, sizeof(count), "%ld", MAX(sysconf(_SC_NPROCESSORS_ONLN), 1L));
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (setenv(names[i], count, 1) < 0)
            return false;
    return true;
}

int main(int argc, char **argv)
{
    static const struct zygote_hooks none;
    if (argc < 2) {
        fprintf(stderr, "usage: launch PROGRAM [ARG...]\n");
        return 2;
    }
    char **command = argv + 1;
    /* No terminal: what wants to know should not think of colours. */
    if (!can_run(command[0]) || setenv("TERM", "dumb", 1) < 0 ||
        fd_send(ZYGOTE_CONTROL_FD, ready, strlen(ready), NULL, 0) < 0)
        return 127;
    int sock = zygote_serve(ZYGOTE_CONTROL_FD, &none, true);
    if (sock < 0)
        return 1; /* the warden is gone */
    if (use_all_processors() && fcntl(sock, F_SETFD, 0) == 0)
        execv(command[0], command);
    int errnum = errno;
    char doing[256];
    snprintf(doing, sizeof(doing), "cannot start %s", command[0]);
    zygote_send_fatal(sock, doing, errnum);
    _exit(127);
}
