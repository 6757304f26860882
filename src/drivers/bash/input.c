/* Descriptor 0: builtins that read the empty input ask the cell's caller. In the shell's process;
 * owns the hook on read(). */
/* clang-format off */
#include "drivers/bash/shell.h"
/* clang-format on */

#include "drivers/bash/input.h"

#include "drivers/bash/imports.h"
#include "drivers/bash/interrupts.h"
#include "drivers/bash/request.h"
#include "wire/json.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>

enum {
    PROMPT_BYTES_MAX = 4000,
    /* Marks our /dev/null, and only ours: it stays with the open file through dup and fork. */
    MARK = O_APPEND,
    TIMED_OUT = 128 + SIGALRM, /* the status of `read -t` */
};

#define TYPED_MAX (16 * MIB)
#define WAIT_SECONDS_MAX 1e9

/* What the running builtin said about how it reads. */
struct question {
    bool is_ours; /* it reads our stdin; else none of the rest matters */
    int fd;
    const char *prompt; /* the caller's */
    bool is_password;
    double timeout; /* seconds; negative: none */
    int64_t deadline_ns;
    bool is_late;
};

static struct {
    struct channel *channel;
    pid_t group; /* the session's; a job in the background under set -m has its own */
    int64_t cell;
    struct buf typed; /* a line that came and was not read to its end */
    size_t taken;     /* bytes of it that were */
    bool is_in_builtin;
    struct question question;
    struct bash_request answer;
    sh_builtin_func_t *read;
    sh_builtin_func_t *mapfile;
} input;

int input_open(void)
{
    int null = open("/dev/null", O_RDWR | MARK | O_CLOEXEC);
    if (null < 0)
        return -errno;
    if (dup2(null, STDIN_FILENO) < 0)
        return -errno;
    if (null != STDIN_FILENO)
        close(null);
    return 0;
}

static bool is_ours(int fd)
{
    struct stat st;
    int flags = fcntl(fd, F_GETFL);
    return flags >= 0 && (flags & MARK) && (flags & O_ACCMODE) == O_RDWR && fstat(fd, &st) == 0 &&
           S_ISCHR(st.st_mode) && st.st_rdev == makedev(1, 3) &&
           !(subshell_environment & SUBSHELL_ASYNC) && getpgrp() == input.group;
}

/* ---- asking ---------------------------------------------------------------------------------- */

static int64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static int64_t ms_left(const struct question *q)
{
    if (q->timeout < 0)
        return -1;
    int64_t left = (q->deadline_ns - now_ns() + 999999) / 1000000;
    return MAX(left, (int64_t)0);
}

/* A line is in `typed` afterwards, or nothing at the end of the input. */
static int take_answer(void)
{
    char *payload;
    size_t len;
    int r = channel_receive(input.channel, &payload, &len);
    if (r < 0)
        return r;
    struct bash_request *a = &input.answer;
    if (!request_read(a, payload, len))
        return -ECONNRESET;
    if (a->op != REQUEST_INPUT || a->id != input.cell)
        return -EAGAIN;
    buf_clear(&input.typed);
    input.taken = 0;
    if (!a->is_eof && a->text.data != NULL) {
        buf_append(&input.typed, a->text.data, a->text.len);
        buf_append_char(&input.typed, '\n');
    }
    return 0;
}

static int ask(struct question *q)
{
    fflush(stdout);
    fflush(stderr);
    _buf_ struct buf frame = BUF_INIT(64 * KIB);
    struct json_out json = JSON_OUT(&frame);
    json_put_object(&json);
    json_put_member_str(&json, "ev", "input");
    json_put_member_int(&json, "id", input.cell);
    json_put_member_text(&json, "prompt", q->prompt, strnlen(q->prompt, PROMPT_BYTES_MAX));
    json_put_member_bool(&json, "password", q->is_password);
    json_put_object_end(&json);
    int r = channel_lock(input.channel);
    if (r < 0)
        return r;
    r = channel_send(input.channel, &frame);
    if (r == 0)
        q->prompt = ""; /* of the first line only */
    for (bool is_asked = r == 0; is_asked;) {
        r = interrupts_wait(input.channel, ms_left(q));
        if (r == 0)
            q->is_late = true;
        if (r > 0)
            r = take_answer();
        is_asked = r == -EAGAIN;
    }
    channel_unlock(input.channel);
    return r;
}

/* ---- reading --------------------------------------------------------------------------------- */

/* One byte at a time, as from a pipe: what a builtin does not want stays here. */
static ssize_t read_typed(struct question *q, char *to)
{
    if (input.taken == input.typed.len) {
        int r = q->is_late ? 0 : ask(q);
        if (r < 0) {
            errno = -r;
            return -1;
        }
        if (q->is_late || input.taken == input.typed.len)
            return 0;
    }
    *to = input.typed.data[input.taken++];
    return 1;
}

static ssize_t read_of_shell(int fd, void *to, size_t size)
{
    if (input.is_in_builtin ? !input.question.is_ours || fd != input.question.fd
                            : fd != STDIN_FILENO || !is_ours(fd))
        return read(fd, to, size);
    if (size == 0)
        return 0;
    if (input.is_in_builtin)
        return read_typed(&input.question, to);
    /* `select` reads without a builtin that we could see, after it has shown its menu and PS3. */
    const char *prompt = get_string_value("PS3");
    struct question q = {.prompt = prompt == NULL ? "#? " : prompt, .timeout = -1};
    return read_typed(&q, to);
}

/* ---- the builtins ---------------------------------------------------------------------------- */

static double seconds_of(const char *text)
{
    char *end;
    double seconds = strtod(text, &end);
    return *text == '\0' || *end != '\0' || !isfinite(seconds) ? -1
                                                               : MIN(seconds, WAIT_SECONDS_MAX);
}

static void note_option(struct question *q, char option, const char *value)
{
    switch (option) {
    case 'p':
        q->prompt = value;
        break;
    case 's':
        q->is_password = true;
        break;
    case 't':
        q->timeout = seconds_of(value);
        break;
    case 'u':
        q->fd = (int)strtol(value, NULL, 10);
        break;
    default:
        break;
    }
}

/* The options of one word; returns the last word that belongs to them. What is wrong with them is
 * for bash to say. */
static WORD_LIST *note_options(struct question *q, WORD_LIST *word, const char *with_value)
{
    for (const char *at = word->word->word + 1; *at != '\0'; at++) {
        if (strchr(with_value, *at) == NULL) {
            note_option(q, *at, "");
        } else if (at[1] != '\0') {
            note_option(q, *at, at + 1);
            return word;
        } else if (word->next != NULL) {
            note_option(q, *at, word->next->word->word);
            return word->next;
        }
    }
    return word;
}

static struct question question_of(WORD_LIST *args, const char *with_value)
{
    const char *timeout = get_string_value("TMOUT");
    struct question q = {.prompt = "", .timeout = timeout == NULL ? -1 : seconds_of(timeout)};
    for (WORD_LIST *word = args; word != NULL; word = word->next) {
        const char *text = word->word->word;
        if (text[0] != '-' || text[1] == '\0' || strcmp(text, "--") == 0)
            break;
        word = note_options(&q, word, with_value);
    }
    q.is_ours = is_ours(q.fd);
    q.deadline_ns = q.timeout < 0 ? 0 : now_ns() + (int64_t)(q.timeout * 1e9);
    return q;
}

static void leave_builtin(char *ignored)
{
    (void)ignored;
    input.is_in_builtin = false;
}

static int run_builtin(sh_builtin_func_t *builtin, WORD_LIST *args, struct question q)
{
    static char frame[] = "cella input";
    begin_unwind_frame(frame);
    /* bash declares it without parameters. */
    ((void (*)(void (*)(char *), char *))add_unwind_protect)(leave_builtin, NULL);
    input.question = q;
    input.is_in_builtin = true;
    this_shell_builtin = builtin;
    int status = builtin(args);
    bool is_late = q.is_ours && input.question.is_late;
    run_unwind_frame(frame);
    return is_late ? TIMED_OUT : status;
}

static int read_and_ask(WORD_LIST *args)
{
    struct question q = question_of(args, "adinptuN");
    if (q.is_ours && q.timeout == 0) /* is there something to read? */
        return input.taken < input.typed.len ? EXECUTION_SUCCESS : EXECUTION_FAILURE;
    return run_builtin(input.read, args, q);
}

static int mapfile_and_ask(WORD_LIST *args)
{
    struct question q = question_of(args, "dnOsuCc");
    q.timeout = -1;
    q.is_password = false; /* its -s is something else */
    return run_builtin(input.mapfile, args, q);
}

static sh_builtin_func_t *replace_builtin(const char *name, sh_builtin_func_t *function)
{
    struct builtin *found = builtin_address_internal((char *)(uintptr_t)name, 1);
    if (found == NULL)
        return NULL;
    sh_builtin_func_t *old = found->function;
    found->function = function;
    return old;
}

void input_renew(void)
{
    input.group = getpgrp();
}

void input_install(struct channel *channel)
{
    input.channel = channel;
    input_renew();
    input.typed = BUF_INIT(TYPED_MAX);
    if (!imports_replace("read", read_of_shell))
        return;
    input.read = replace_builtin("read", read_and_ask);
    input.mapfile = replace_builtin("mapfile", mapfile_and_ask);
    replace_builtin("readarray", mapfile_and_ask);
}

void input_begin_cell(int64_t id)
{
    input.cell = id;
    input.is_in_builtin = false;
    buf_clear(&input.typed); /* what one cell was told is not for the next */
    input.taken = 0;
}
