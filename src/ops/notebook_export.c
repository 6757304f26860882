/* notebook.export: the document read from the store, written by a worker thread into a file that is
 * sent. Daemon; on the loop, and the worker. */
#include "base/fd.h"
#include "notebook/formats.h"
#include "ops/notebook_call.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <uv.h>

static const char *const notebook_export_formats[] = {
    [NOTEBOOK_IPYNB] = "ipynb",   [NOTEBOOK_CELLS_JSON] = "cells-json",
    [NOTEBOOK_HTML] = "html",     [NOTEBOOK_MARKDOWN] = "markdown",
    [NOTEBOOK_SCRIPT] = "script", NULL};

static const struct op_param notebook_export_params[] = {
    OP_PARAM_NOTEBOOK,
    {.name = "format",
     .type = OP_CHOICE,
     .place = OP_IN_QUERY,
     .choices = notebook_export_formats,
     .doc = "As what; default ipynb."},
    {0},
};

#define HELD_MAX (1 * MIB) /* larger ones lie on the disk while their readers take their time */

/* A document on its way through a worker thread. */
struct exporting {
    uv_work_t uv;
    struct call *call; /* NULL if the caller went away */
    int dir;           /* where a file without a name may be made; borrowed */
    struct task *under_way;
    struct document *doc;
    enum notebook_format format;
    int fd; /* what was written; -1: `err` says why there is none */
    uint64_t bytes;
    struct err err;
};

static void exporting_free(struct exporting *x)
{
    notebook_free(x->doc);
    if (x->fd >= 0)
        close(x->fd);
    free(x);
}

static int write_all(int fd, const char *data, size_t len)
{
    while (len > 0) {
        ssize_t n = write(fd, data, len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return -1;
        data += n;
        len -= (size_t)n;
    }
    return lseek(fd, 0, SEEK_SET) == 0 ? 0 : -1;
}

static int make_file(const struct exporting *x, size_t bytes)
{
    int fd = bytes > HELD_MAX ? openat(x->dir, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600) : -1;
    return fd >= 0 ? fd : memfd_create("notebook", MFD_CLOEXEC);
}

static void write_in_worker(uv_work_t *uv)
{
    struct exporting *x = CONTAINER_OF(uv, struct exporting, uv);
    _buf_ struct buf out = BUF_INIT(NOTEBOOK_BYTES_MAX);
    if (notebook_write(x->doc, x->format, &out, &x->err) < 0)
        return;
    if (out.overflowed) {
        err_set(&x->err, ERR_TOO_LARGE, "the notebook has more than %d MiB in this format",
                (int)(NOTEBOOK_BYTES_MAX / MIB));
        err_advise(&x->err, "Clear outputs that are not needed, or read its cells page by page.");
        return;
    }
    _fd_ int fd = make_file(x, out.len);
    if (fd < 0 || write_all(fd, buf_str(&out), out.len) < 0) {
        err_errno(&x->err, ERR_UNAVAILABLE, errno, "the notebook could not be written");
        return;
    }
    x->bytes = out.len;
    x->fd = take_fd(&fd);
}

static const char *suffix_of(const struct exporting *x)
{
    switch (x->format) {
    case NOTEBOOK_IPYNB:
        return ".ipynb";
    case NOTEBOOK_CELLS_JSON:
        return ".json";
    case NOTEBOOK_HTML:
        return ".html";
    case NOTEBOOK_MARKDOWN:
        return ".md";
    case NOTEBOOK_SCRIPT:
        break;
    }
    return notebook_language(x->doc)->suffix;
}

static const char *type_of(const struct exporting *x)
{
    static const char *const types[] = {[NOTEBOOK_IPYNB] = "application/x-ipynb+json",
                                        [NOTEBOOK_CELLS_JSON] = "application/json",
                                        [NOTEBOOK_HTML] = "text/html; charset=utf-8",
                                        [NOTEBOOK_MARKDOWN] = "text/markdown; charset=utf-8",
                                        [NOTEBOOK_SCRIPT] = "text/plain; charset=utf-8"};
    return types[x->format];
}

/* Named after its title as far as that makes a file name. */
static const char *notebook_export_name_of(struct call *call, const struct exporting *x)
{
    const char *title = x->doc->title;
    bool is_name = title != NULL && title[0] != '\0' && title[0] != '.' &&
                   strpbrk(title, "/\\\r\n") == NULL && strlen(title) < 200;
    _buf_ struct buf name = BUF_INIT(KIB);
    const char *suffix = suffix_of(x);
    const char *base = is_name ? title : "notebook";
    size_t len = strlen(base), suffix_len = strlen(suffix);
    bool has_suffix = len > suffix_len && strcmp(base + len - suffix_len, suffix) == 0;
    buf_printf(&name, "%s%s", base, has_suffix ? "" : suffix);
    return arena_strdup(&call->arena, buf_str(&name));
}

static void notebook_export_on_written(uv_work_t *uv, int status)
{
    (void)status;
    struct exporting *x = CONTAINER_OF(uv, struct exporting, uv);
    struct call *call = x->call;
    struct documents *documents = call != NULL ? call->documents : NULL;
    if (call != NULL && x->fd < 0) {
        call_fail(call, &x->err);
    } else if (call != NULL) {
        call_send_file(call, &(struct call_file){.fd = take_fd(&x->fd),
                                                 .bytes = x->bytes,
                                                 .name = notebook_export_name_of(call, x),
                                                 .type = type_of(x)});
    }
    exporting_free(x);
    documents_done(documents);
}

/* A worker has it, or does not even begin now. */
static void on_writer_lost(struct call *call)
{
    struct exporting *x = call->op_state;
    x->call = NULL;
    uv_cancel((uv_req_t *)&x->uv);
    documents_done(call->documents);
}

static void notebook_export_on_document(void *context, struct document *doc, const struct err *e)
{
    struct exporting *x = context;
    if (e != NULL) {
        call_fail(x->call, e);
        exporting_free(x);
        return;
    }
    x->doc = doc;
    x->call->on_gone = on_writer_lost;
    uv_queue_work(engine_loop(x->call->engine), &x->uv, write_in_worker,
                  notebook_export_on_written);
}

static void notebook_export_on_gone(struct call *call)
{
    struct exporting *x = call->op_state;
    task_forget(x->under_way);
    exporting_free(x);
}

static void notebook_export_run(struct call *call)
{
    if (!call_has_notebooks(call))
        return;
    const char *id = call_text(call, "session_id", "");
    struct exporting *x = mem_alloc(sizeof(*x));
    *x = (struct exporting){.call = call, .fd = -1, .dir = store_blobs(engine_store(call->engine))};
    while (strcmp(notebook_export_formats[x->format], call_text(call, "format", "ipynb")) != 0)
        x->format++;
    call->op_state = x;
    call->on_gone = notebook_export_on_gone;
    call->must_notice_end = true; /* others wait for their turn */
    x->under_way = documents_read(call->documents, id, notebook_export_on_document, x);
}

const struct op op_notebook_export = {
    .name = "notebook.export",
    .method = "GET",
    .path = "/v1/notebooks/{session_id}/export",
    .subject = OP_ON_NOTEBOOK,
    .flags = OP_READ_ONLY,
    .params = notebook_export_params,
    .doc = "A notebook as a file: for Jupyter, to read, or to run.",
    .run = notebook_export_run,
    .sends = "the notebook as a file",
    .errors = OP_ERR(CONFLICT),
    .example = "{\"session_id\": \"$notebook\", \"format\": \"markdown\"}",
};
