/* Where an interpreter lives on the host. Daemon, at its start; owns the paths it found. */
#include "runtime/interpreter.h"

#include "base/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <libgen.h>
#include <limits.h>
#include <sys/stat.h>

enum { PYVENV_CFG_MAX = 64 * 1024 };

static bool is_below(const char *path, const char *directory)
{
    size_t len = strlen(directory);
    return strncmp(path, directory, len) == 0 && (path[len] == '/' || path[len] == '\0');
}

static bool is_hidden(const char *path)
{
    return is_below(path, "/tmp") || is_below(path, "/var/tmp") || is_below(path, "/run") ||
           is_below(path, "/workspace");
}

static bool exists(const char *directory, const char *pattern)
{
    char path[PATH_MAX + 32];
    glob_t found;
    snprintf(path, sizeof(path), "%s/%s", directory, pattern);
    bool any = glob(path, GLOB_NOSORT, NULL, &found) == 0;
    if (any)
        globfree(&found);
    return any;
}

/* A directory is shown only if it is an interpreter's installation: a python that was put into
 * somebody's ~/bin must not open the whole home directory. */
static bool is_installation(const char *directory)
{
    return exists(directory, "pyvenv.cfg") || exists(directory, "lib/python3*") ||
           exists(directory, "lib64/python3*") || exists(directory, "include/node") ||
           exists(directory, "lib/node_modules") || exists(directory, "share/doc/bash");
}

static void add(struct interpreter_dirs *dirs, const char *directory)
{
    if (strcmp(directory, "/") == 0 || is_below(directory, "/usr") || !is_installation(directory))
        return;
    for (size_t i = 0; i < dirs->count; i++)
        if (is_below(directory, dirs->paths[i]))
            return;
    if (dirs->count < INTERPRETER_DIRS_MAX)
        dirs->paths[dirs->count++] = mem_strdup(directory);
}

/* PREFIX of PREFIX/bin/python. */
static void add_prefix_of(struct interpreter_dirs *dirs, const char *program)
{
    char path[PATH_MAX];
    snprintf(path, sizeof(path), "%s", program);
    char *directory = dirname(path);
    add(dirs, dirname(directory));
}

int interpreter_find_dirs(const char *program, struct interpreter_dirs *ret, struct err *e)
{
    *ret = (struct interpreter_dirs){0};
    char real[PATH_MAX];
    if (program[0] != '/') {
        err_set(e, ERR_INVALID, "the interpreter %s is not an absolute path", program);
        return err_advise(e, "name it in the configuration with its whole path");
    }
    if (realpath(program, real) == NULL || access(real, X_OK) < 0) {
        err_errno(e, ERR_UNAVAILABLE, errno, "cannot use the interpreter %s", program);
        return err_advise(e, "install it, or name another one in the configuration");
    }
    if (is_hidden(program) || is_hidden(real)) {
        err_set(e, ERR_INVALID, "the interpreter %s is where jails have a directory of their own",
                program);
        return err_advise(e, "put it into another place than /tmp, /var/tmp, /run and /workspace");
    }
    add_prefix_of(ret, program);
    /* A virtual environment names the bin directory of its base in pyvenv.cfg. */
    char path[PATH_MAX + 16], copy[PATH_MAX];
    snprintf(copy, sizeof(copy), "%s", program);
    char *directory = dirname(copy);
    snprintf(path, sizeof(path), "%s/pyvenv.cfg", dirname(directory));
    _free_ char *text = NULL;
    if (fd_read_file(AT_FDCWD, path, PYVENV_CFG_MAX, &text, NULL) >= 0) {
        char *save = NULL;
        for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
            char home[PATH_MAX];
            if (sscanf(line, "home = %4095[^\n]", home) == 1 && home[0] == '/')
                add(ret, dirname(home));
        }
    }
    add_prefix_of(ret, real);
    return 0;
}

void interpreter_free_dirs(struct interpreter_dirs *dirs)
{
    for (size_t i = 0; i < dirs->count; i++)
        free(dirs->paths[i]);
    *dirs = (struct interpreter_dirs){0};
}
