/* cells.json, for tools that read notebooks as files: a notebook that changed is written a moment
 * later, as a whole, by a worker, and takes the place of the file before it in one step. */
#include "base/clock.h"
#include "base/fd.h"
#include "book/state.h"
#include "notebook/formats.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <uv.h>

enum {
    AFTER_MS = 300,
    PAUSE_FACTOR = 10, /* what took long is not repeated before that much more */
    USER_SIZE = 65,
};

#define FOLDER "notebooks"
#define FILE_NAME "cells.json"

struct mirror {
    struct book_call call;
    struct book *book; /* NULL: it is gone; the file is written all the same */
    char id[UUID_SIZE];
    uv_work_t work;
    struct document *doc;
    int data_dir;
    uint64_t began_ms; /* monotonic; 0: it waits */
    bool has_changed;  /* since then */
};

static void end_mirror(struct book_call *call)
{
    struct mirror *mirror = (struct mirror *)call;
    if (mirror->book != NULL)
        mirror->book->mirror = NULL;
    notebook_free(mirror->doc);
}

/* ---- the file ----------------------------------------------------------------------------------
 */

/* A name that is no way to another folder. */
static void file_name_of(const char *user, char out[USER_SIZE])
{
    size_t n = 0;
    for (; user != NULL && user[n] != '\0' && n < USER_SIZE - 1; n++) {
        char c = user[n];
        bool is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                        (c >= '0' && c <= '9') || c == '-' || c == '_' || (c == '.' && n > 0);
        out[n] = is_plain ? c : '_';
    }
    out[n] = '\0';
    if (n == 0)
        snprintf(out, USER_SIZE, "default");
}

/* A descriptor, or -errno. */
static int enter(int dir, const char *name, bool makes)
{
    if (makes && mkdirat(dir, name, 0700) < 0 && errno != EEXIST)
        return -errno;
    int fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    return fd < 0 ? -errno : fd;
}

static int open_folder(const struct mirror *mirror, const char *user, bool makes)
{
    char name[USER_SIZE];
    file_name_of(user, name);
    const char *const parts[] = {FOLDER, name, mirror->id, "mcp_repl"};
    int dir = mirror->data_dir;
    for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
        int next = enter(dir, parts[i], makes);
        if (dir != mirror->data_dir)
            close(dir);
        if (next < 0)
            return next;
        dir = next;
    }
    return dir;
}

static void write_file(int dir, const struct buf *text)
{
    static const char temporary[] = "." FILE_NAME ".new";
    unlinkat(dir, temporary, 0);
    int fd = openat(dir, temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        return;
    bool is_written = fd_write_all(fd, text->data, text->len) == 0;
    close(fd);
    if (!is_written || renameat(dir, temporary, dir, FILE_NAME) < 0)
        unlinkat(dir, temporary, 0);
}

/* A notebook without cells has no file. */
static void work(uv_work_t *request)
{
    struct mirror *mirror = request->data;
    struct err e;
    _buf_ struct buf text = BUF_INIT(NOTEBOOK_BYTES_MAX);
    bool has_cells = notebook_write(mirror->doc, NOTEBOOK_CELLS_JSON, &text, &e) == 0;
    int dir = open_folder(mirror, mirror->doc->user_id, has_cells);
    if (dir < 0)
        return;
    if (has_cells)
        write_file(dir, &text);
    else
        unlinkat(dir, FILE_NAME, 0);
    close(dir);
}

/* ---- when --------------------------------------------------------------------------------------
 */

static void begin(struct book_call *call);

static void after(struct mirror *mirror)
{
    uint64_t took_ms = clock_mono_ms() - mirror->began_ms;
    bool goes_on = mirror->has_changed && !mirror->call.is_forgotten;
    notebook_free(take_ptr(mirror->doc));
    mirror->began_ms = 0;
    mirror->has_changed = false;
    if (goes_on)
        book_call_later(&mirror->call, begin, AFTER_MS + took_ms * PAUSE_FACTOR);
    else
        book_call_end(&mirror->call);
}

static void after_work(uv_work_t *request, int status)
{
    struct mirror *mirror = request->data;
    (void)status;
    mirror->call.is_busy = false;
    after(mirror);
}

static void on_document(void *context, struct document *doc, const struct err *e)
{
    struct mirror *mirror = context;
    if (e != NULL) { /* it is gone, or larger than a document: there is nothing to write */
        after(mirror);
        return;
    }
    mirror->doc = doc;
    mirror->work.data = mirror;
    mirror->call.is_busy = true;
    uv_queue_work(mirror->call.books->loop, &mirror->work, work, after_work);
}

static void begin(struct book_call *call)
{
    struct mirror *mirror = (struct mirror *)call;
    mirror->began_ms = clock_mono_ms();
    book_document(call->books, mirror->id, on_document, mirror);
}

void mirror_changed(struct book *book)
{
    struct books *books = book->books;
    struct mirror *mirror = book->mirror;
    if (!books->config.has_cells_json || books->is_closing)
        return;
    if (mirror != NULL) {
        mirror->has_changed = mirror->began_ms > 0;
        return;
    }
    mirror = book_call_new(books, sizeof(*mirror), end_mirror);
    mirror->book = book;
    mirror->data_dir = books->config.data_dir;
    memcpy(mirror->id, book->id, sizeof(mirror->id));
    book->mirror = mirror;
    book_call_later(&mirror->call, begin, AFTER_MS);
}

void mirror_changed_id(struct books *books, const char *id)
{
    if (!books->config.has_cells_json)
        return;
    struct book *book = book_ensure(books, id);
    book_hold(book);
    mirror_changed(book);
    book_let_go(book);
}

static void remove_in(int folder, const char *user, const char *id)
{
    char path[300];
    snprintf(path, sizeof(path), "%.64s/%s/mcp_repl/" FILE_NAME, user, id);
    if (unlinkat(folder, path, 0) < 0)
        return;
    snprintf(path, sizeof(path), "%.64s/%s/mcp_repl", user, id);
    unlinkat(folder, path, AT_REMOVEDIR);
    snprintf(path, sizeof(path), "%.64s/%s", user, id);
    unlinkat(folder, path, AT_REMOVEDIR);
}

void mirror_remove(struct books *books, const char *id)
{
    if (!books->config.has_cells_json)
        return;
    int folder = enter(books->config.data_dir, FOLDER, false);
    DIR *users = folder < 0 ? NULL : fdopendir(folder);
    const struct dirent *entry;
    while (users != NULL && (entry = readdir(users)) != NULL)
        if (entry->d_name[0] != '.')
            remove_in(folder, entry->d_name, id);
    if (users != NULL)
        closedir(users);
    else if (folder >= 0)
        close(folder);
}

void mirror_stop(struct book *book)
{
    if (book->mirror != NULL)
        book->mirror->book = NULL;
    book->mirror = NULL;
}
