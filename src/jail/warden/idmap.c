/* Ranges of user ids for the sessions of an ordinary user. Guardian, doctor and command line tool.
 */
#include "jail/warden/idmap.h"

#include "base/clock.h"
#include "base/fd.h"
#include "jail/files/tree.h"
#include "jail/inside/enter.h"
#include "jail/syscalls.h"

#include <fcntl.h>
#include <grp.h>
#include <libgen.h>
#include <limits.h>
#include <poll.h>
#include <pwd.h>
#include <sched.h>
#include <signal.h>
#include <sys/pidfd.h>
#include <sys/wait.h>

#define SUBUID "/etc/subuid"
#define SUBGID "/etc/subgid"

enum {
    FILE_BYTES_MAX = 1024 * 1024,
    TOOL_MS = 4000,
    TOOL_WORDS_SIZE = 200,
    NO_SUCH_TOOL = 127,
};

/* ---- the files ------------------------------------------------------------------------------- */

/* A decimal number and nothing else up to `end`. */
static bool read_number(const char *at, const char *end, uint64_t *ret)
{
    uint64_t value = 0;
    if (at == end || end - at > 10) /* digits of 2^32 */
        return false;
    for (; at < end; at++) {
        if (*at < '0' || *at > '9')
            return false;
        value = value * 10 + (uint64_t)(*at - '0');
    }
    *ret = value;
    return true;
}

static bool is_word(const char *at, const char *end, const char *word)
{
    return word != NULL && end > at && (size_t)(end - at) == strlen(word) &&
           memcmp(at, word, strlen(word)) == 0;
}

/* owner:first:count. False: not a line of this owner, or not such a line. */
static bool read_line(const char *line, const char *end, const char *name, const char *number,
                      uint64_t *ret_first, uint64_t *ret_count)
{
    const char *first = memchr(line, ':', (size_t)(end - line));
    const char *count = first ? memchr(first + 1, ':', (size_t)(end - first - 1)) : NULL;
    if (count == NULL || (!is_word(line, first, name) && !is_word(line, first, number)))
        return false;
    return read_number(first + 1, count, ret_first) && read_number(count + 1, end, ret_count);
}

int idmap_parse(const char *text, const char *name, unsigned uid, unsigned *ret_first)
{
    char number[16];
    int r = -ENOENT;
    snprintf(number, sizeof(number), "%u", uid);
    for (const char *line = text; *line != '\0';) {
        const char *end = strchrnul(line, '\n');
        uint64_t first, count;
        if (read_line(line, end, name, number, &first, &count)) {
            /* A range that reaches down to accounts, or that the user itself is in, would make
             * sessions somebody. The greatest number is no id but the word for none. */
            bool has_user = uid >= first && uid < first + count;
            if (count >= IDMAP_COUNT && first >= IDMAP_LOWEST && first + count <= UINT32_MAX &&
                !has_user) {
                /* The last ones: containers of the user use the first. */
                *ret_first = (unsigned)(first + count - IDMAP_COUNT);
                return 0;
            }
            r = -ERANGE;
        }
        line = *end == '\n' ? end + 1 : end;
    }
    return r;
}

static int find_range(const char *path, const char *name, unsigned *ret_first, struct err *e)
{
    _free_ char *text = NULL;
    int r = fd_read_file(AT_FDCWD, path, FILE_BYTES_MAX, &text, NULL);
    if (r < 0)
        return err_errno(e, ERR_UNAVAILABLE, r, "%s", path);
    r = idmap_parse(text, name, geteuid(), ret_first);
    if (r == -ERANGE)
        return err_set(e, ERR_UNAVAILABLE, "%s gives this user no range of %d ids from %d on", path,
                       IDMAP_COUNT, IDMAP_LOWEST);
    return r < 0 ? err_set(e, ERR_UNAVAILABLE, "%s gives this user no ids", path) : 0;
}

int idmap_find(struct idmap *ret, struct err *e)
{
    const struct passwd *user = getpwuid(geteuid());
    const char *name = user != NULL ? user->pw_name : NULL;
    if (find_range(SUBUID, name, &ret->first_uid, e) < 0)
        return -1;
    return find_range(SUBGID, name, &ret->first_gid, e);
}

/* ---- the programs ---------------------------------------------------------------------------- */

static _Noreturn void become_tool(const char *tool, pid_t pid, unsigned own, unsigned first,
                                  int words)
{
    char target[16], id[16], above[16], outside[16], count[16];
    snprintf(target, sizeof(target), "%d", (int)pid);
    snprintf(id, sizeof(id), "%u", own);
    snprintf(above, sizeof(above), "%d", JAIL_UID);
    snprintf(outside, sizeof(outside), "%u", first);
    snprintf(count, sizeof(count), "%d", IDMAP_COUNT);
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (null < 0 || dup2(null, STDIN_FILENO) < 0 || dup2(null, STDOUT_FILENO) < 0 ||
        dup2(words, STDERR_FILENO) < 0)
        _exit(1);
    execlp(tool, tool, target, "0", id, "1", above, outside, count, (char *)NULL);
    _exit(errno == ENOENT ? NO_SUCH_TOOL : 1);
}

static int run_tool(const char *tool, pid_t pid, unsigned own, unsigned first, struct err *e)
{
    int pipe_fds[2], status = 0;
    if (pipe2(pipe_fds, O_CLOEXEC) < 0)
        return err_errno(e, ERR_UNAVAILABLE, errno, "cannot make a pipe");
    _fd_ int words = pipe_fds[0];
    _fd_ int theirs = pipe_fds[1];
    _fd_ int pidfd = -1;
    pid_t child = sys_clone3(0, SIGCHLD, &pidfd, -1);
    if (child == 0)
        become_tool(tool, pid, own, first, theirs);
    if (child < 0)
        return err_errno(e, ERR_UNAVAILABLE, child, "cannot start %s", tool);
    struct pollfd wait = {.fd = pidfd, .events = POLLIN};
    bool has_ended = poll(&wait, 1, (int)clock_scaled_ms(TOOL_MS)) == 1;
    if (!has_ended)
        pidfd_send_signal(pidfd, SIGKILL, NULL, 0);
    waitpid(child, &status, 0);
    if (!has_ended)
        return err_set(e, ERR_UNAVAILABLE, "%s did not end in %d s", tool, TOOL_MS / 1000);
    if (status == 0)
        return 0;
    if (WIFEXITED(status) && WEXITSTATUS(status) == NO_SUCH_TOOL)
        return err_set(e, ERR_UNAVAILABLE, "%s is not installed", tool);
    char text[TOOL_WORDS_SIZE];
    /* What the tool wrote before it ended, on one line. */
    fd_set_nonblocking(words, true);
    ssize_t n = read(words, text, TOOL_WORDS_SIZE - 1);
    text[MAX(n, 0)] = '\0';
    for (char *at = text; *at != '\0'; at++)
        if (*at < ' ' || *at > '~')
            *at = at[1] == '\0' ? '\0' : ' ';
    return err_set(e, ERR_UNAVAILABLE, "%s failed (%s)", tool, text[0] ? text : "without a word");
}

int idmap_write(pid_t pid, const struct idmap *map, struct err *e)
{
    if (run_tool("newuidmap", pid, geteuid(), map->first_uid, e) < 0)
        return -1;
    return run_tool("newgidmap", pid, getegid(), map->first_gid, e);
}

/* ---- a namespace for a moment ---------------------------------------------------------------- */

int idmap_run(int (*run)(void *context), void *context, struct err *e)
{
    struct idmap map;
    int go[2], status = 0;
    if (idmap_find(&map, e) < 0)
        return -1;
    if (pipe2(go, O_CLOEXEC) < 0)
        return err_errno(e, ERR_UNAVAILABLE, errno, "cannot make a pipe");
    _fd_ int theirs = go[0];
    _fd_ int ours = go[1];
    pid_t pid = sys_clone3(CLONE_NEWUSER, SIGCHLD, NULL, -1);
    if (pid == 0) {
        close(take_fd(&ours)); /* or our own end would keep us waiting */
        char byte;
        if (read(theirs, &byte, 1) != 1 || setgroups(0, NULL) < 0 || setresgid(0, 0, 0) < 0 ||
            setresuid(0, 0, 0) < 0)
            _exit(1);
        _exit(run(context) == 0 ? 0 : 1);
    }
    if (pid < 0)
        return err_errno(e, ERR_UNAVAILABLE, pid, "cannot make a user namespace");
    int r = idmap_write(pid, &map, e);
    if (r == 0 && write(ours, "g", 1) != 1)
        r = err_set(e, ERR_UNAVAILABLE, "the child ended");
    close(take_fd(&ours)); /* without a word it ends */
    waitpid(pid, &status, 0);
    if (r == 0 && status != 0)
        r = err_set(e, ERR_UNAVAILABLE, "what was to be done with the ids failed");
    return r;
}

/* ---- removing -------------------------------------------------------------------------------- */

static int idmap_remove_inside(void *context)
{
    const char *path = context;
    char above[PATH_MAX], last[PATH_MAX];
    snprintf(above, sizeof(above), "%s", path);
    snprintf(last, sizeof(last), "%s", path);
    _fd_ int dir = open(dirname(above), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int64_t r = dir < 0 ? -errno : tree_remove(dir, basename(last));
    return r < 0 ? (int)r : 0;
}

int idmap_remove_tree(const char *path, struct err *e)
{
    struct err inside;
    _free_ char *copy = mem_strdup(path);
    int r = idmap_remove_inside(copy);
    if (r == 0 || (geteuid() != 0 && idmap_run(idmap_remove_inside, copy, &inside) == 0))
        return 0;
    err_errno(e, ERR_UNAVAILABLE, r, "%.256s could not be removed", path);
    if (geteuid() == 0)
        return -1;
    return err_advise(e,
                      "If files in it belong to ids that " SUBUID " gave to this user and gives no "
                      "more (%.200s), root can remove it: sudo rm -r %.256s",
                      inside.message, path);
}
