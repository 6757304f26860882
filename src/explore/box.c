/* The other side of worker.c: a process that holds the texts of one session. It was started by
 * exec, so nothing of the daemon is in its memory. Requests and descriptors of texts come from
 * descriptor 0, answers go there; before the first request is read it has given up all the rest.
 *
 *   {"map":KEY}    with a descriptor: maps it; no answer
 *   {"drop":KEY}   no answer
 *   {"op":…}       an answer */
#include "base/fd.h"
#include "explore/crew.h"
#include "explore/desk.h"
#include "explore/worker.h"
#include "wire/frame.h"

#include <errno.h>
#include <malloc.h>
#include <seccomp.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#if defined(__SANITIZE_ADDRESS__)
#define BOX_HAS_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define BOX_HAS_SANITIZER 1
#endif
#endif
#ifndef BOX_HAS_SANITIZER
#define BOX_HAS_SANITIZER 0
#endif

#define BOX_MEMORY (512 * MIB)                   /* that can be written, the program's included */
#define BOX_ADDRESSES ((rlim_t)1024 * 256 * MIB) /* texts included */

/* ---- walls ----------------------------------------------------------------------------------- */

/* Never more than there is already. */
static int box_limit(__rlimit_resource_t resource, rlim_t most)
{
    struct rlimit now;
    if (getrlimit(resource, &now) < 0)
        return -errno;
    most = MIN(most, now.rlim_max);
    return setrlimit(resource, &(struct rlimit){most, most}) < 0 ? -errno : 0;
}

static int box_limit_all(void)
{
    int error = box_limit(RLIMIT_CORE, 0);
    if (error == 0)
        error = box_limit(RLIMIT_FSIZE, 0);
    /* A sanitizer reserves terabytes of addresses. */
    if (error == 0 && !BOX_HAS_SANITIZER)
        error = box_limit(RLIMIT_AS, BOX_ADDRESSES);
    if (error == 0 && !BOX_HAS_SANITIZER)
        error = box_limit(RLIMIT_DATA, BOX_MEMORY);
    return error;
}

/* Files can be read where they are mapped and no more. What is anonymous may be executed when it is
 * mapped, because compiled patterns are; it cannot become so later. */
static int box_allow_memory(scmp_filter_ctx filter)
{
    static const int calls[] = {SCMP_SYS(brk), SCMP_SYS(munmap), SCMP_SYS(mremap),
                                SCMP_SYS(madvise)};
    int error = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(mmap), 1,
                                 SCMP_A3(SCMP_CMP_MASKED_EQ, MAP_ANONYMOUS, MAP_ANONYMOUS));
    if (error == 0)
        error = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(mmap), 2,
                                 SCMP_A2(SCMP_CMP_EQ, PROT_READ, 0),
                                 SCMP_A3(SCMP_CMP_MASKED_EQ, MAP_SHARED, 0));
    if (error == 0)
        error = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(mprotect), 1,
                                 SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0));
    for (size_t i = 0; error == 0 && i < ARRAY_LEN(calls); i++)
        error = seccomp_rule_add(filter, SCMP_ACT_ALLOW, calls[i], 0);
    return error;
}

/* Whatever is not named here ends the process, all of its threads. */
static int box_set_filter(void)
{
    static const int of_socket[] = {SCMP_SYS(recvmsg), SCMP_SYS(sendmsg)};
    /* Reading JSON with long texts takes random numbers. */
    static const int any[] = {SCMP_SYS(futex), SCMP_SYS(fstat), SCMP_SYS(close),
                              SCMP_SYS(getrandom), SCMP_SYS(exit_group)};
    scmp_filter_ctx filter = seccomp_init(SCMP_ACT_KILL_PROCESS);
    if (filter == NULL)
        return -ENOMEM;
    int error = seccomp_attr_set(filter, SCMP_FLTATR_CTL_TSYNC, 1);
    for (size_t i = 0; error == 0 && i < ARRAY_LEN(of_socket); i++)
        error = seccomp_rule_add(filter, SCMP_ACT_ALLOW, of_socket[i], 1,
                                 SCMP_A0(SCMP_CMP_EQ, STDIN_FILENO, 0));
    for (size_t i = 0; error == 0 && i < ARRAY_LEN(any); i++)
        error = seccomp_rule_add(filter, SCMP_ACT_ALLOW, any[i], 0);
    if (error == 0)
        error = box_allow_memory(filter);
    if (error == 0 && BOX_HAS_SANITIZER)
        error = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(sigaltstack), 0);
    if (error == 0)
        error = seccomp_load(filter);
    seccomp_release(filter);
    return error;
}

int explore_box_close(void)
{
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0 ||
        prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
        syscall(SYS_close_range, STDERR_FILENO + 1, ~0U, 0) < 0)
        return -errno;
    int error = box_limit_all();
    return error < 0 ? error : box_set_filter();
}

/* ---- the work -------------------------------------------------------------------------------- */

struct box {
    const struct explore_box_desk *desk;
    struct frame_reader in;
    int fds[EXPLORE_SOURCES_MAX]; /* that came and were not asked for yet, oldest first */
    size_t n_fds;
};

static int box_send(const char *data, size_t len)
{
    while (len > 0) {
        ssize_t n = fd_send(STDIN_FILENO, data, len, NULL, 0);
        if (n < 0)
            return (int)n;
        data += n;
        len -= (size_t)n;
    }
    return 0;
}

static int box_map(struct box *box, const char *key)
{
    if (box->n_fds == 0)
        return -EBADMSG;
    box->desk->map(box->desk->context, key, box->fds[0]);
    memmove(box->fds, box->fds + 1, --box->n_fds * sizeof(box->fds[0]));
    return 0;
}

static int box_answer(struct box *box, const json_t *request)
{
    _buf_ struct buf out = BUF_INIT(2 * EXPLORE_ANSWER_MAX);
    size_t mark = frame_begin(&out);
    box->desk->answer(box->desk->context, request, &out);
    return frame_end(&out, mark) ? box_send(out.data, out.len) : -EMSGSIZE;
}

static int box_obey(struct box *box, const char *payload, size_t len)
{
    static const struct json_limits limits = {.depth = 8, .values = 1000};
    struct err ignored;
    _json_ json_t *order = NULL;
    if (json_read_file_object(payload, len, &limits, &order, &ignored) < 0)
        return -EBADMSG;
    const char *mapped = json_string_value(json_object_get(order, "map"));
    const char *dropped = json_string_value(json_object_get(order, "drop"));
    if (mapped != NULL)
        return box_map(box, mapped);
    if (dropped == NULL)
        return box_answer(box, order);
    box->desk->drop(box->desk->context, dropped);
    return 0;
}

static int box_read_all(struct box *box)
{
    for (;;) {
        const char *payload;
        size_t len;
        struct err ignored;
        int fd = -1;
        ssize_t n = frame_fill_with(&box->in, STDIN_FILENO, &fd);
        if (n <= 0)
            return (int)n;
        if (fd >= 0) {
            if (box->n_fds == ARRAY_LEN(box->fds))
                return -EBADMSG;
            box->fds[box->n_fds++] = fd;
        }
        int is_frame;
        while ((is_frame = frame_next(&box->in, &payload, &len, &ignored)) > 0) {
            int error = box_obey(box, payload, len);
            if (error < 0)
                return error;
        }
        if (is_frame < 0)
            return -EBADMSG;
    }
}

int explore_box_serve(const struct explore_box_desk *desk)
{
    struct box box = {.desk = desk, .in = FRAME_READER_INIT};
    return box_read_all(&box) == 0 ? EXPLORE_END_DONE : EXPLORE_END_MISUSED;
}

static void box_map_text(void *context, const char *key, int fd)
{
    desk_map(context, key, fd);
}

static void box_drop_text(void *context, const char *key)
{
    desk_drop(context, key);
}

static void box_answer_about(void *context, const json_t *request, struct buf *out)
{
    desk_answer(context, request, out);
}

/* What libraries do once, with calls that are not allowed later. */
static void box_warm_up(void)
{
    struct err ignored;
    json_t *object = NULL;
    mallopt(M_ARENA_MAX, EXPLORE_THREADS_MAX); /* else malloc looks into /sys how many cores */
    if (json_read_object("{\"a\":1}", 7, &object, &ignored) == 0)
        json_decref(object); /* jansson has its seed now */
    signal(SIGBUS, SIG_DFL); /* of a text that became shorter: a sanitizer would catch it */
}

int explore_box_main(void)
{
    box_warm_up();
    struct explore_box_desk desk = {.map = box_map_text,
                                    .drop = box_drop_text,
                                    .answer = box_answer_about,
                                    .context = desk_new(crew_new(0))};
    if (explore_box_close() < 0)
        return EXPLORE_END_NO_WALLS;
    /* At once: what others left to be done at the end of the program is not allowed here. */
    _exit(explore_box_serve(&desk));
}
