/* What is sent to callers while the next orders are carried out: a file's bytes, a directory as an
 * archive, news of what changes. Archivist; a thread for each, which a slow client may hold up and
 * which ends when the other end of its pipe is closed. A descriptor of a session's file never
 * leaves this process: whoever closes it last may have to wait for the file system. */
#include "base/clock.h"
#include "base/fd.h"
#include "jail/files/files_parts.h"
#include "jail/message.h"
#include "wire/json.h"
#include "wire/tar.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <sys/inotify.h>
#include <sys/sendfile.h>

enum {
    STREAMS_MAX = 128,       /* at a time */
    STREAMS_OF_ONE_MAX = 16, /* workspace */
    STREAMS_STACK_BYTES = 512 * 1024,
    ZEROS = 64 * 1024,
    WATCHED_MAX = 10000,     /* names that are watched */
    WATCHED_DIRS_MAX = 1000, /* by inotify */
    COALESCE_MS = 100,       /* at least, from the first change to the news */
    COALESCE_WALKS = 10,     /* and so many times what a look takes */
    LOOK_MS = 2000,          /* where the kernel does not tell */
    NEWS_MAX = 200,          /* changes in one line; of more the number is told */
    LINE_MAX_BYTES = 48 * 1024,
};

struct stream {
    struct stream *next;
    enum file_stream_kind kind;
    int out, source;
    uint64_t first, length;
    char place[WORKSPACE_NAME_MAX];
    char path[WARDEN_PATH_SIZE];
};

static struct {
    pthread_mutex_t lock;
    struct stream *first;
    size_t n;
} streams = {.lock = PTHREAD_MUTEX_INITIALIZER};

static const char stream_zeros[ZEROS];

/* ---- bytes ----------------------------------------------------------------------------------- */

static bool stream_write(const struct stream *s, const void *data, size_t len)
{
    return fd_write_all(s->out, data, len) == 0;
}

/* All of it, with zeros in place of what the file has lost meanwhile. `pads`: false if that is an
 * error, which the reader sees because bytes are missing. */
static bool stream_send_file(const struct stream *s, int file, uint64_t first, uint64_t length,
                             bool pads)
{
    off_t at = (off_t)first;
    while (length > 0) {
        ssize_t n = sendfile(s->out, file, &at, (size_t)MIN(length, (uint64_t)MIB));
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            break;
        length -= (uint64_t)n;
    }
    while (length > 0 && pads) {
        size_t n = (size_t)MIN(length, (uint64_t)ZEROS);
        if (!stream_write(s, stream_zeros, n))
            return false;
        length -= n;
    }
    return length == 0;
}

/* ---- archives -------------------------------------------------------------------------------- */

struct stream_packing {
    const struct stream *s;
    struct tar_entry entry;
    struct buf head;
    bool is_broken;
};

static enum tree_step stream_pack_one(void *context, const struct tree_found *found)
{
    struct stream_packing *p = context;
    struct tar_entry *entry = &p->entry;
    struct stat st = found->st;
    *entry = (struct tar_entry){.type = S_ISREG(st.st_mode)   ? TAR_FILE
                                        : S_ISDIR(st.st_mode) ? TAR_DIR
                                        : S_ISLNK(st.st_mode) ? TAR_LINK
                                                              : TAR_OTHER};
    if (entry->type == TAR_OTHER)
        return TREE_GO_ON; /* pipes, sockets and devices have no bytes */
    _fd_ int file = entry->type == TAR_FILE ? tree_open(found->dir, found->name, O_RDONLY, 0) : -1;
    if (entry->type == TAR_FILE && (file < 0 || fstat(file, &st) < 0 || !S_ISREG(st.st_mode)))
        return TREE_GO_ON; /* something else by now */
    if (entry->type == TAR_LINK &&
        readlinkat(found->dir, found->name, entry->target, TAR_PATH_MAX) <= 0)
        return TREE_GO_ON;
    memcpy(entry->path, found->path, found->path_len + 1);
    entry->mode = st.st_mode & 0777;
    entry->mtime_s = st.st_mtim.tv_sec;
    entry->size = entry->type == TAR_FILE ? (uint64_t)st.st_size : 0;
    buf_clear(&p->head);
    tar_put_head(&p->head, entry);
    p->is_broken =
        !stream_write(p->s, p->head.data, p->head.len) ||
        (entry->size > 0 && (!stream_send_file(p->s, file, 0, entry->size, true) ||
                             !stream_write(p->s, stream_zeros, tar_padding(entry->size))));
    return p->is_broken ? TREE_STOP : TREE_GO_ON;
}

static void stream_pack(const struct stream *s)
{
    struct stream_packing *p = mem_alloc(sizeof(*p));
    p->s = s;
    p->head = BUF_INIT(TAR_EXTENSION_MAX + 4 * TAR_BLOCK);
    if (tree_walk(s->source, stream_pack_one, p)) {
        buf_clear(&p->head);
        tar_put_end(&p->head);
        buf_append_char(&p->head, 1); /* the byte that says that it is whole */
        stream_write(s, p->head.data, p->head.len);
    }
    buf_free(&p->head);
    free(p);
}

/* ---- news ------------------------------------------------------------------------------------ */

struct stream_seen {
    char *path;
    size_t path_len;
    struct archive_seen seen;
    mode_t mode;
};

/* All names at one moment, in the order of manifests. */
struct stream_look {
    struct stream_seen *seen;
    size_t n, cap;
    int notify;
    size_t n_dirs;
};

static void stream_look_free(struct stream_look *look)
{
    for (size_t i = 0; i < look->n; i++)
        free(look->seen[i].path);
    free(look->seen);
    *look = (struct stream_look){0};
}

/* By way of the working directory, which is this thread's own: a watch takes a path, and no path of
 * a session's is ever resolved. */
static void stream_watch_dir(struct stream_look *look, int dir)
{
    if (look->notify < 0 || look->n_dirs++ >= WATCHED_DIRS_MAX || fchdir(dir) < 0)
        return;
    inotify_add_watch(look->notify, ".",
                      IN_CREATE | IN_DELETE | IN_MODIFY | IN_MOVED_FROM | IN_MOVED_TO | IN_ATTRIB |
                          IN_DELETE_SELF | IN_ONLYDIR);
}

static enum tree_step stream_look_at(void *context, const struct tree_found *found)
{
    struct stream_look *look = context;
    if (look->n == WATCHED_MAX)
        return TREE_STOP;
    if (S_ISDIR(found->st.st_mode)) {
        _fd_ int dir = tree_open(found->dir, found->name, O_RDONLY | O_DIRECTORY, 0);
        if (dir >= 0)
            stream_watch_dir(look, dir);
    }
    if (strncmp(found->name, ".cella-", 7) == 0)
        return TREE_PASS_OVER; /* being written by us */
    if (look->n == look->cap) {
        look->cap = MAX(2 * look->cap, (size_t)64);
        look->seen = mem_realloc(look->seen, look->cap * sizeof(*look->seen));
    }
    look->seen[look->n++] = (struct stream_seen){.path = mem_strdup(found->path),
                                                 .path_len = found->path_len,
                                                 .seen = archive_see(&found->st, 0),
                                                 .mode = found->st.st_mode};
    return TREE_GO_ON;
}

static void stream_take_look(const struct stream *s, int notify, struct stream_look *ret)
{
    *ret = (struct stream_look){.notify = notify};
    stream_watch_dir(ret, s->source);
    tree_walk(s->source, stream_look_at, ret);
}

static bool stream_is_changed(const struct stream_seen *a, const struct stream_seen *b)
{
    if (S_ISDIR(a->mode) && S_ISDIR(b->mode))
        return a->mode != b->mode; /* what is in it tells for itself */
    return a->mode != b->mode || a->seen.inode != b->seen.inode || a->seen.size != b->seen.size ||
           a->seen.mtime_ns != b->seen.mtime_ns;
}

struct stream_news {
    struct buf text;
    struct json_out o;
    size_t n, n_left_out;
};

static void stream_tell(struct stream_news *news, const char *change, const struct stream_seen *of,
                        const struct stream *s)
{
    char path[2 * TREE_PATH_MAX];
    if (news->n == NEWS_MAX || news->text.len > LINE_MAX_BYTES) {
        news->n_left_out++;
        return;
    }
    news->n++;
    snprintf(path, sizeof(path), "%s%s%s", s->path, s->path[0] != '\0' ? "/" : "", of->path);
    json_put_object(&news->o);
    json_put_member_str(&news->o, "change", change);
    json_put_member_str(&news->o, "path", path);
    json_put_member_str(&news->o, "type",
                        S_ISDIR(of->mode)   ? "folder"
                        : S_ISREG(of->mode) ? "file"
                                            : "other");
    if (S_ISREG(of->mode) && strcmp(change, "deleted") != 0)
        json_put_member_int(&news->o, "bytes", (int64_t)of->seen.size);
    json_put_object_end(&news->o);
}

/* False if the reader is gone. */
static bool stream_compare(const struct stream *s, const struct stream_look *old,
                           const struct stream_look *new)
{
    struct stream_news news = {.text = BUF_INIT(LINE_MAX_BYTES + 64 * KIB)};
    news.o = JSON_OUT(&news.text);
    json_put_object(&news.o);
    json_put_key(&news.o, "changes");
    json_put_array(&news.o);
    size_t i = 0, j = 0;
    while (i < old->n || j < new->n) {
        const struct stream_seen *a = i < old->n ? &old->seen[i] : NULL;
        const struct stream_seen *b = j < new->n ? &new->seen[j] : NULL;
        int order = a == NULL   ? 1
                    : b == NULL ? -1
                                : manifest_order(a->path, a->path_len, b->path, b->path_len);
        if (order < 0)
            stream_tell(&news, "deleted", a, s);
        else if (order > 0)
            stream_tell(&news, "created", b, s);
        else if (stream_is_changed(a, b))
            stream_tell(&news, "changed", b, s);
        i += order <= 0;
        j += order >= 0;
    }
    json_put_array_end(&news.o);
    if (news.n_left_out > 0)
        json_put_member_int(&news.o, "left_out", (int64_t)news.n_left_out);
    if (new->n == WATCHED_MAX)
        json_put_member_bool(&news.o, "too_many", true);
    json_put_object_end(&news.o);
    buf_append_char(&news.text, '\n');
    bool is_read = news.n == 0 || stream_write(s, news.text.data, news.text.len);
    buf_free(&news.text);
    return is_read;
}

/* Waits for something to change; then a little longer, so that one line tells of many changes.
 * False: nobody reads any more, or the directory is gone. */
static bool stream_await_change(const struct stream *s, int notify, uint64_t took_ms)
{
    char events[4096];
    struct stat st;
    struct pollfd waits[] = {{.fd = s->out}, {.fd = notify, .events = POLLIN}};
    int ready = poll(waits, 2, notify < 0 ? LOOK_MS : -1);
    if (ready < 0 && errno != EINTR)
        return false;
    int pause_ms = (int)MAX(COALESCE_WALKS * took_ms, (uint64_t)COALESCE_MS);
    if (waits[0].revents != 0 || poll(waits, 1, pause_ms) > 0)
        return false;
    while (notify >= 0 && read(notify, events, sizeof(events)) > 0)
        ;
    return fstat(s->source, &st) == 0 && st.st_nlink > 0;
}

/* The kernel says when to look, the look says what changed: so it does not matter which events were
 * lost, came twice or were meant to deceive. */
static void stream_watch(const struct stream *s)
{
    struct stream_look old, new;
    _fd_ int notify = unshare(CLONE_FS) == 0 ? inotify_init1(IN_NONBLOCK | IN_CLOEXEC) : -1;
    stream_take_look(s, notify, &old);
    uint64_t took_ms = 0;
    bool goes_on = stream_write(s, "{\"changes\":[]}\n", 15); /* from now on */
    while (goes_on && stream_await_change(s, notify, took_ms)) {
        uint64_t began_ms = clock_mono_ms();
        stream_take_look(s, notify, &new);
        goes_on = stream_compare(s, &old, &new);
        took_ms = clock_mono_ms() - began_ms;
        stream_look_free(&old);
        old = new;
    }
    stream_look_free(&old);
}

/* ---- their threads --------------------------------------------------------------------------- */

static void stream_free(struct stream *s)
{
    close(s->out);
    close(s->source);
    free(s);
}

static void stream_end(struct stream *s)
{
    pthread_mutex_lock(&streams.lock);
    struct stream **at = &streams.first;
    while (*at != s)
        at = &(*at)->next;
    *at = s->next;
    streams.n--;
    pthread_mutex_unlock(&streams.lock);
    stream_free(s);
}

static void *stream_run(void *context)
{
    struct stream *s = context;
    if (s->kind == FILE_STREAM_BYTES)
        stream_send_file(s, s->source, s->first, s->length, false);
    else if (s->kind == FILE_STREAM_PACK)
        stream_pack(s);
    else
        stream_watch(s);
    stream_end(s);
    return NULL;
}

static bool stream_add(struct stream *s)
{
    size_t n = 0;
    pthread_mutex_lock(&streams.lock);
    for (const struct stream *other = streams.first; other != NULL; other = other->next)
        n += strcmp(other->place, s->place) == 0;
    bool is_welcome = n < STREAMS_OF_ONE_MAX && streams.n < STREAMS_MAX;
    if (is_welcome) {
        s->next = streams.first;
        streams.first = s;
        streams.n++;
    }
    pthread_mutex_unlock(&streams.lock);
    return is_welcome;
}

static int stream_start(struct stream *s)
{
    pthread_attr_t attributes;
    pthread_t thread;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STREAMS_STACK_BYTES);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    int e = pthread_create(&thread, &attributes, stream_run, s);
    pthread_attr_destroy(&attributes);
    return -e;
}

int file_stream(const struct file_job *j, enum file_stream_kind kind, int source, uint64_t first,
                uint64_t length)
{
    struct stream *s = mem_alloc(sizeof(*s));
    s->kind = kind;
    s->source = source;
    s->first = first;
    s->length = length;
    s->out = j->bytes_out >= 0 ? fcntl(j->bytes_out, F_DUPFD_CLOEXEC, 0) : -1;
    snprintf(s->place, sizeof(s->place), "%s", j->place);
    snprintf(s->path, sizeof(s->path), "%s", j->order->path);
    struct err *e = &j->out->err;
    if (s->out < 0) {
        close(source);
        free(s);
        err_set(e, ERR_UNAVAILABLE, "there is no way for the bytes");
        return err_advise(e, "Try again.");
    }
    if (!stream_add(s)) {
        stream_free(s);
        err_set(e, ERR_LIMIT, "too many files of this session, or of all, are being read");
        return err_advise(e, "Wait for one of them to end, and read the others to their end.");
    }
    if (stream_start(s) == 0)
        return 0;
    stream_end(s);
    err_set(e, ERR_UNAVAILABLE, "the machine has no thread for it");
    return err_advise(e, "Try again in a moment.");
}
