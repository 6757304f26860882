/* The box that reads one archive: request from descriptor 3, archive from 0, answer to 1, bytes of
 * members to 2. Before the first byte of any of them is read it has given up all the rest. */
#include "explore/archive.h"
#include "explore/archive_lib.h"
#include "explore/archive_walk.h"
#include "loop/walls.h"
#include "wire/json.h"

#include <errno.h>
#include <seccomp.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>

#define ARCHIVE_BOX_MEMORY (1024 * MIB) /* addresses: libraries, windows, an archive inside */

int archive_box_close(void)
{
    static const struct walls_limits limits = {.seconds = EXPLORE_JOB_MS / 1000 + 1,
                                               .memory = ARCHIVE_BOX_MEMORY,
                                               .file_bytes = 2 * ARCHIVE_UNPACKED_MAX,
                                               .n_fds = BOX_N_FDS};
    int error = walls_limit(&limits);
    if (error < 0)
        return error;
    struct walls_filter filter = walls_filter(false);
    walls_allow_on(&filter, SCMP_SYS(pread64), BOX_IN);
    walls_allow_on(&filter, SCMP_SYS(read), BOX_REQUEST);
    walls_allow_on(&filter, SCMP_SYS(write), BOX_ANSWER);
    walls_allow_on(&filter, SCMP_SYS(write), BOX_TO);
    walls_allow_memory(&filter);
    return walls_load(&filter);
}

static ssize_t archive_box_read(void *context, void *data, size_t len, uint64_t offset)
{
    (void)context;
    ssize_t n = pread(BOX_IN, data, len, (off_t)offset);
    return n < 0 ? -errno : n;
}

static int archive_box_write(void *context, const void *data, size_t len)
{
    (void)context;
    return explore_box_write(BOX_TO, data, len);
}

static bool archive_box_understand(const json_t *request, struct archive_order *ret)
{
    static const char *const ops[] = {[ARCHIVE_LIST] = "archive_list",
                                      [ARCHIVE_READ] = "archive_read",
                                      [ARCHIVE_SEARCH] = "archive_search",
                                      [ARCHIVE_UNPACK] = "archive_unpack"};
    const char *op = json_string_value(json_object_get(request, "op"));
    *ret = (struct archive_order){
        .member = json_string_value(json_object_get(request, "member")),
        .query = json_string_value(json_object_get(request, "query")),
        .max_results = (size_t)json_integer_value(json_object_get(request, "max_results")),
        .max_bytes = (uint64_t)json_integer_value(json_object_get(request, "max_bytes")),
        .write = archive_box_write,
        .limits = &archive_limits};
    for (size_t i = 0; op != NULL && i < ARRAY_LEN(ops); i++) {
        ret->op = (enum archive_op)i;
        if (strcmp(op, ops[i]) == 0)
            return (ret->op != ARCHIVE_READ || ret->member != NULL) &&
                   (ret->op != ARCHIVE_SEARCH || ret->query != NULL);
    }
    return false;
}

int archive_box_main(void)
{
    struct archive_order order;
    struct stat st;
    struct err e;
    struct buf answer = BUF_INIT(EXPLORE_REPORT_MAX);
    explore_box_warm_up();
    signal(SIGPIPE, SIG_IGN);
    if (!archive_lib_load())
        return BOX_NO_LIBRARY;
    if (fstat(BOX_IN, &st) < 0)
        return BOX_MISUSED;
    if (archive_box_close() < 0)
        return BOX_NO_WALLS;
    struct archive_input in = {.read_at = archive_box_read, .size = (uint64_t)st.st_size};
    const json_t *request = explore_box_request();
    if (request == NULL || !archive_box_understand(request, &order))
        _exit(BOX_MISUSED);
    if (archive_walk(&in, &order, &answer, &e) < 0)
        explore_box_fail(&e);
    explore_box_answer(&answer);
}
