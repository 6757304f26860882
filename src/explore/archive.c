/* The daemon's side: what can be refused without looking into the archive. */
#include "explore/archive.h"

#include <string.h>
#include <sys/stat.h>

static const struct explore_kind archive_kind = {
    .word = ARCHIVE_BOX_WORD,
    .subject = "the archive",
    .late = "Read single files of it, or unpack it in the workspace with its own tools.",
    .killed = "It is damaged, or made to do harm. Nothing else was touched.",
    .walls = "seccomp",
    .install = "Install libarchive (Debian: libarchive13).",
    .large = "what the archive unpacks to is too large",
    .conclude = explore_read_report,
};

/* Takes request and descriptors in any case. */
static struct explore_job *archive_order(struct explore_boxes *boxes, int fd, int to,
                                         json_t *request, explore_answer_fn fn, void *context,
                                         struct err *e)
{
    struct stat st;
    if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
        err_set(e, ERR_INVALID, "an archive is a regular file");
    else if ((uint64_t)st.st_size > ARCHIVE_BYTES_MAX) {
        err_set(e, ERR_TOO_LARGE, "the archive has %lld MiB, and %llu MiB are the most",
                (long long)(st.st_size / (off_t)MIB),
                (unsigned long long)(ARCHIVE_BYTES_MAX / MIB));
        err_advise(e, "Unpack it in the workspace with its own tools, within the limits of the "
                      "session.");
    } else {
        struct explore_order order = {.kind = &archive_kind,
                                      .request = request,
                                      .in = fd,
                                      .to = to,
                                      .fn = fn,
                                      .context = context};
        return explore_order(boxes, &order, e);
    }
    json_decref(request);
    cleanup_fd(&fd);
    cleanup_fd(&to);
    return NULL;
}

struct explore_job *archive_list(struct explore_boxes *boxes, int fd, const char *inside,
                                 explore_answer_fn fn, void *context, struct err *e)
{
    json_t *request = json_pack("{s:s,s:s*}", "op", "archive_list", "member", inside);
    return archive_order(boxes, fd, -1, request, fn, context, e);
}

struct explore_job *archive_read(struct explore_boxes *boxes, int fd, const char *member,
                                 uint64_t max_bytes, int to, explore_answer_fn fn, void *context,
                                 struct err *e)
{
    json_t *request = json_pack("{s:s,s:s,s:I}", "op", "archive_read", "member", member,
                                "max_bytes", (json_int_t)MIN(max_bytes, ARCHIVE_MEMBER_MAX));
    return archive_order(boxes, fd, to, request, fn, context, e);
}

struct explore_job *archive_search(struct explore_boxes *boxes, int fd, const char *query,
                                   size_t max_results, explore_answer_fn fn, void *context,
                                   struct err *e)
{
    size_t len = strlen(query);
    if (len == 0 || len > ARCHIVE_QUERY_MAX) {
        close(fd);
        err_set(e, ERR_INVALID, "a search looks for 1 to %d bytes", ARCHIVE_QUERY_MAX);
        return NULL;
    }
    size_t most = max_results == 0 ? ARCHIVE_HITS_MAX : MIN(max_results, (size_t)ARCHIVE_HITS_MAX);
    json_t *request = json_pack("{s:s,s:s,s:I}", "op", "archive_search", "query", query,
                                "max_results", (json_int_t)most);
    return archive_order(boxes, fd, -1, request, fn, context, e);
}

struct explore_job *archive_unpack(struct explore_boxes *boxes, int fd, const char *inside, int to,
                                   explore_answer_fn fn, void *context, struct err *e)
{
    json_t *request = json_pack("{s:s,s:s*}", "op", "archive_unpack", "member", inside);
    return archive_order(boxes, fd, to, request, fn, context, e);
}
