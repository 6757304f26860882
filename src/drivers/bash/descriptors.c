/* The user's open descriptors when the shell is copied. In the shell's process and in its
 * copies. */
/* clang-format off */
#include "drivers/bash/shell.h"
/* clang-format on */

#include "drivers/bash/descriptors.h"

#include "drivers/bash/input.h"
#include "drivers/bash/notes.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/file.h>
#include <sys/stat.h>

enum { FILES_MAX = 256, DESCRIPTORS_MAX = 4200, FDINFO_BYTES = 2048 };

struct open_file {
    int fd;
    int lock; /* LOCK_EX, LOCK_SH or 0 */
    off_t offset;
    char *name; /* path to open again in a branch; NULL if the file itself is opened again */
};

static struct {
    struct open_file items[FILES_MAX];
    size_t n;
} files;

static void note(const char *what, int fd, const char *detail)
{
    char subject[32];
    snprintf(subject, sizeof(subject), "descriptor %d", fd);
    notes_add(what, subject, "%s", detail);
}

/* ---- walking them ---------------------------------------------------------------------------- */

static void walk(void (*visit)(int fd, const struct stat *st, void *context), void *context)
{
    int numbers[DESCRIPTORS_MAX];
    size_t n = 0;
    DIR *dir = opendir("/proc/self/fd");
    if (dir == NULL)
        return;
    for (struct dirent *d; (d = readdir(dir)) != NULL && n < ARRAY_LEN(numbers);)
        if (d->d_name[0] != '.')
            numbers[n++] = (int)strtol(d->d_name, NULL, 10);
    int own = dirfd(dir);
    for (size_t i = 0; i < n; i++) {
        struct stat st;
        if (numbers[i] != own && fstat(numbers[i], &st) == 0)
            visit(numbers[i], &st, context);
    }
    closedir(dir);
}

static bool is_output(int fd)
{
    return fd == STDOUT_FILENO || fd == STDERR_FILENO;
}

static void note_offset(int fd, const struct stat *st, void *context)
{
    (void)context;
    if (!S_ISREG(st->st_mode) || files.n == FILES_MAX || is_output(fd))
        return;
    off_t offset = lseek(fd, 0, SEEK_CUR);
    if (offset >= 0)
        files.items[files.n++] = (struct open_file){.fd = fd, .offset = offset};
}

void descriptors_note_offsets(void)
{
    files.n = 0;
    walk(note_offset, NULL);
}

/* ---- open files of its own ------------------------------------------------------------------- */

/* The kernel tells of locks: "lock: 1: FLOCK  ADVISORY  WRITE 12 00:2a:7 0 EOF". */
static int lock_on(int fd)
{
    char path[48], text[FDINFO_BYTES];
    snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
    int info = open(path, O_RDONLY | O_CLOEXEC);
    if (info < 0)
        return 0;
    ssize_t n = read(info, text, sizeof(text) - 1);
    close(info);
    text[MAX(n, 0)] = '\0';
    const char *lock = strstr(text, "FLOCK");
    if (lock == NULL)
        return 0;
    return strstr(lock, "WRITE") != NULL ? LOCK_EX : LOCK_SH;
}

/* The same file and number, another open file. */
static int open_again(const struct open_file *file)
{
    char path[48];
    int fd = file->fd;
    int flags = fcntl(fd, F_GETFL);
    int is_closed_on_exec = fcntl(fd, F_GETFD);
    if (flags < 0 || is_closed_on_exec < 0)
        return -errno;
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    int again = open(file->name != NULL ? file->name : path,
                     (flags & ~(O_CREAT | O_EXCL | O_TRUNC)) | O_NOCTTY | O_CLOEXEC);
    if (again < 0)
        return -errno;
    lseek(again, file->offset, SEEK_SET);
    dup3(again, fd, is_closed_on_exec & FD_CLOEXEC ? O_CLOEXEC : 0);
    close(again);
    return 0;
}

static void part_from_file(struct open_file *file)
{
    file->lock = lock_on(file->fd);
    int r = open_again(file);
    if (r < 0)
        note("file", file->fd,
             "could not be opened again: what is read or written there moves it for every copy of "
             "this shell");
}

/* ---- pipes, sockets and terminals ------------------------------------------------------------ */

static void part_from_stream(int fd, const struct stat *st, void *context)
{
    bool (*is_own)(int) = *(bool (**)(int))context;
    const char *what = S_ISSOCK(st->st_mode)                ? "socket"
                       : S_ISFIFO(st->st_mode)              ? "pipe"
                       : S_ISCHR(st->st_mode) && isatty(fd) ? "terminal"
                                                            : NULL;
    if (is_own(fd) || what == NULL)
        return;
    note(what, fd, "is closed: open it again if it is needed");
    close(fd);
    if (fd == STDIN_FILENO)
        input_open();
}

static void detach_output(void)
{
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (null < 0)
        return;
    dup2(null, STDOUT_FILENO);
    dup2(null, STDERR_FILENO);
    if (null > STDERR_FILENO)
        close(null);
}

void descriptors_part(bool (*is_own)(int fd))
{
    detach_output();
    walk(part_from_stream, &is_own);
    for (size_t i = 0; i < files.n; i++)
        part_from_file(&files.items[i]);
}

/* ---- in a room of its own -------------------------------------------------------------------- */

static void add_shared(int fd, const struct stat *st, void *context)
{
    bool (*is_own)(int) = *(bool (**)(int))context;
    bool is_shared = S_ISDIR(st->st_mode) || S_ISCHR(st->st_mode);
    if (is_shared && files.n < FILES_MAX && !is_output(fd) && !is_own(fd))
        files.items[files.n++] = (struct open_file){.fd = fd};
}

void descriptors_note_names(bool (*is_own)(int fd))
{
    walk(add_shared, &is_own);
    for (size_t i = 0; i < files.n; i++) {
        char path[48], name[PATH_MAX];
        snprintf(path, sizeof(path), "/proc/self/fd/%d", files.items[i].fd);
        ssize_t n = readlink(path, name, sizeof(name) - 1);
        name[MAX(n, 0)] = '\0';
        files.items[i].name = mem_strdup(name);
    }
}

void descriptors_reopen(void)
{
    if (files.n > 0 && files.items[0].name != NULL)
        detach_output();
    for (size_t i = 0; i < files.n; i++) {
        struct open_file *file = &files.items[i];
        if (file->name != NULL) {
            /* What the shell had open is of the room that it has left. */
            if (open_again(file) < 0) {
                close(file->fd);
                note("file", file->fd,
                     "is closed: what it was open for is not there in the branch");
            }
            free(take_ptr(file->name));
        } else {
            open_again(file);
        }
        if (file->lock != 0 && fcntl(file->fd, F_GETFD) >= 0 &&
            flock(file->fd, file->lock | LOCK_NB) < 0)
            note("lock", file->fd, "is of a file that another process has locked now");
    }
}

void descriptors_note_files(void)
{
    for (size_t i = 0; i < files.n; i++)
        note("file", files.items[i].fd, "is open");
}
