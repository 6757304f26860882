/* The box that becomes pdftotext: PDF from descriptor 0, text to 1, complaints to 2. Its walls
 * stand before exec and stay; whatever is refused fails, because libraries of others look for many
 * things that they can do without. */
#include "explore/pdf.h"
#include "loop/walls.h"

#include <errno.h>
#include <fcntl.h>
#include <seccomp.h>

static const char *const pdf_programs[] = {"/usr/bin/pdftotext", "/usr/local/bin/pdftotext"};

static int pdf_set_filter(void)
{
    /* execve: of this program alone, says Landlock. */
    static const int calls[] = {
        SCMP_SYS(execve),
        SCMP_SYS(read),
        SCMP_SYS(pread64),
        SCMP_SYS(lseek),
        SCMP_SYS(close),
        SCMP_SYS(fstat),
        SCMP_SYS(stat),
        SCMP_SYS(lstat),
        SCMP_SYS(newfstatat),
        SCMP_SYS(statx),
        SCMP_SYS(fstatfs),
        SCMP_SYS(statfs),
        SCMP_SYS(access),
        SCMP_SYS(faccessat),
        SCMP_SYS(faccessat2),
        SCMP_SYS(readlink),
        SCMP_SYS(readlinkat),
        SCMP_SYS(getdents64),
        SCMP_SYS(getcwd),
        SCMP_SYS(fcntl),
        SCMP_SYS(dup),
        SCMP_SYS(arch_prctl),
        SCMP_SYS(set_tid_address),
        SCMP_SYS(set_robust_list),
        SCMP_SYS(rseq),
        SCMP_SYS(futex),
        SCMP_SYS(getrandom),
        SCMP_SYS(rt_sigaction),
        SCMP_SYS(rt_sigprocmask),
        SCMP_SYS(rt_sigreturn),
        SCMP_SYS(sigaltstack),
        SCMP_SYS(clock_gettime),
        SCMP_SYS(gettimeofday),
        SCMP_SYS(time),
        SCMP_SYS(getpid),
        SCMP_SYS(gettid),
        SCMP_SYS(getuid),
        SCMP_SYS(geteuid),
        SCMP_SYS(getgid),
        SCMP_SYS(getegid),
        SCMP_SYS(uname),
        SCMP_SYS(sysinfo),
        SCMP_SYS(sched_getaffinity),
        SCMP_SYS(sched_yield),
    };
    struct walls_filter filter = walls_filter(true);
    walls_allow(&filter, calls, ARRAY_LEN(calls));
    walls_allow_on(&filter, SCMP_SYS(write), STDOUT_FILENO);
    walls_allow_on(&filter, SCMP_SYS(write), STDERR_FILENO);
    walls_allow_on(&filter, SCMP_SYS(writev), STDERR_FILENO);
    walls_allow_opening(&filter);
    walls_allow_memory(&filter);
    walls_allow_mapping(&filter);
    return walls_load(&filter);
}

int pdf_box_close(void)
{
    static const struct walls_limits limits = {.seconds = EXPLORE_JOB_MS / 1000 + 1,
                                               .memory = PDF_MEMORY_MAX,
                                               .file_bytes = PDF_TEXT_MAX,
                                               .n_fds = STDERR_FILENO + 1};
    static const struct walls_path paths[] = {
        {"/usr/bin/pdftotext", WALLS_EXECUTE},
        {"/usr/local/bin/pdftotext", WALLS_EXECUTE},
        {"/lib64/ld-linux-x86-64.so.2", WALLS_EXECUTE},
        {"/lib/ld-linux-aarch64.so.1", WALLS_EXECUTE},
        {"/lib", WALLS_READ},
        {"/lib64", WALLS_READ},
        {"/usr/lib", WALLS_READ},
        {"/usr/lib64", WALLS_READ},
        {"/usr/local/lib", WALLS_READ},
        {"/usr/share/fonts", WALLS_READ},
        {"/usr/share/fontconfig", WALLS_READ},
        {"/usr/share/poppler", WALLS_READ},
        {"/var/cache/fontconfig", WALLS_READ},
        {"/etc/fonts", WALLS_READ},
        {"/etc/ld.so.cache", WALLS_READ},
        {"/etc/localtime", WALLS_READ},
    };
    int error = walls_limit(&limits);
    if (error == 0)
        error = walls_files(paths, ARRAY_LEN(paths));
    return error < 0 ? error : pdf_set_filter();
}

int pdf_box_main(void)
{
    char *const argv[] = {(char[]){"pdftotext"}, (char[]){"-enc"}, (char[]){"UTF-8"},
                          (char[]){"-"},         (char[]){"-"},    NULL};
    char *const environment[] = {(char[]){"LC_ALL=C.UTF-8"}, (char[]){"HOME=/nonexistent"}, NULL};
    const char *program = NULL;
    for (size_t i = 0; program == NULL && i < ARRAY_LEN(pdf_programs); i++)
        if (access(pdf_programs[i], X_OK) == 0)
            program = pdf_programs[i];
    if (program == NULL)
        return BOX_NO_LIBRARY;
    /* The text goes to the caller's file, complaints are the answer. */
    int answer = fcntl(BOX_ANSWER, F_DUPFD_CLOEXEC, BOX_N_FDS);
    if (answer < 0 || dup2(BOX_TO, STDOUT_FILENO) < 0 || dup2(answer, STDERR_FILENO) < 0)
        return BOX_MISUSED;
    if (pdf_box_close() < 0)
        return BOX_NO_WALLS;
    execve(program, argv, environment);
    _exit(BOX_NO_WALLS);
}
