#include "blob/blob.h"
#include "jail/files/manifest.h"
#include "store_world.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sqlite3.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/wait.h>

/* A process that saves all the time is killed, or its file system loses power, at random moments.
 * After each end: everything that it was told is safe is there, and whole. CELLA_CRASH_ROUNDS=n
 * makes it n times as long. */

#define SESSION "11111111-2222-4333-8444-555555555555"
#define ALBUM "99999999-2222-4333-8444-555555555555" /* a notebook of pictures */

enum { KILLS = 15, CUTS = 4, ACK_FD = 9, ALBUM_CELLS = 24 };

/* Sizes of the variables of state n: small ones, one that is a blob, one that never changes. */
static size_t sizes_of(uint64_t n, size_t sizes[4])
{
    sizes[0] = 10 + n % 50;
    sizes[1] = 3000;
    sizes[2] = (n % 2 ? 70000 : 5000) + n % 7 * 9000;
    sizes[3] = 0;
    return 4;
}

static unsigned rounds(void)
{
    const char *text = getenv("CELLA_CRASH_ROUNDS");
    unsigned long n = text == NULL ? 1 : strtoul(text, NULL, 10);
    return n == 0 ? 1 : (unsigned)n;
}

/* ---- the one that is killed ------------------------------------------------------------------ */

struct ack {
    int fd;
    uint64_t n;
};

static void on_safe(void *context, const struct err *e)
{
    struct ack *ack = context;
    if (e == NULL && write(ack->fd, &ack->n, sizeof(ack->n)) < 0)
        _exit(1);
    free(ack);
}

static void make_files(struct world *w, uint64_t n, char hex[BLOB_HEX_SIZE])
{
    char text[64];
    struct blob_put file, put;
    struct err e;
    int fd;
    _buf_ struct buf out = BUF_INIT(MIB);
    assert_int_equal(blob_open_store(w->dir, &fd, &e), 0);
    snprintf(text, sizeof(text), "file of %d", (int)n);
    assert_int_equal(blob_put_bytes(fd, text, strlen(text), &file), 0);
    struct manifest_entry top = {.type = MANIFEST_DIR, .mode = 0755, .path = "", .target = ""};
    struct manifest_entry entry = {.type = MANIFEST_FILE,
                                   .mode = 0644,
                                   .size = strlen(text),
                                   .hash = file.hash,
                                   .path = "a",
                                   .path_len = 1,
                                   .target = ""};
    manifest_begin(&out);
    manifest_append(&out, &top);
    manifest_append(&out, &entry);
    manifest_end(&out, 2);
    assert_int_equal(blob_put_bytes(fd, out.data, out.len, &put), 0);
    blob_hex(&put.hash, hex);
    close(fd);
}

/* Picture n: some are small, some take many blocks. */
static void paint(struct buf *out, uint64_t n)
{
    size_t len = 2000 + (size_t)(n % 5) * 40000;
    while (out->len < len)
        buf_printf(out, "<svg %d>", (int)n);
}

static void on_kept(void *context, const char *hash, uint64_t bytes, const struct err *e)
{
    struct world *w = context;
    (void)bytes;
    world_note(w, e);
    buf_clear(&w->text);
    buf_append_str(&w->text, hash != NULL ? hash : "");
}

/* As a cell that shows one: its bytes first, then the row that has their name. A cell of the album
 * is used again and again, so old ones become garbage. */
static void show_one(struct world *w, uint64_t n)
{
    char id[24], source[24], outputs[256];
    struct err e;
    _buf_ struct buf text = BUF_INIT(MIB);
    paint(&text, n);
    struct store_picture picture = {.text = text.data, .len = text.len};
    store_put_image(w->store, &picture, on_kept, w);
    world_wait(w);
    snprintf(id, sizeof(id), "show-%d", (int)(n % ALBUM_CELLS));
    snprintf(source, sizeof(source), "%d", (int)n);
    int len = snprintf(outputs, sizeof(outputs),
                       "[{\"type\":\"svg\",\"format\":\"svg\",\"bytes\":%zu,\"hash\":\"%s\"}]",
                       text.len, buf_str(&w->text));
    struct store_cell cell = {.id = id,
                              .place = (int64_t)(n % ALBUM_CELLS + 1) * STORE_PLACE_GAP,
                              .exec_id = n,
                              .source = source,
                              .source_len = strlen(source),
                              .state = "completed",
                              .outputs = w->has_failed ? NULL : outputs,
                              .outputs_len = (size_t)len};
    store_put_cell(w->store, ALBUM, &cell, &e);
}

static void save_one(struct world *w, uint64_t n, int ack_fd)
{
    struct err e;
    size_t sizes[4];
    char code[32];
    struct store_saved at = {.checkpoint = n, .through = n};
    struct ack *ack = mem_alloc(sizeof(*ack));
    *ack = (struct ack){.fd = ack_fd, .n = n};
    snprintf(code, sizeof(code), "cell %d", (int)n);
    make_files(w, n, at.files);
    world_make_state(w, (unsigned)n, sizes, sizes_of(n, sizes));
    world_put_cell(w, SESSION, n, code, &e);
    show_one(w, n);
    if (store_put_state(w->store, SESSION, &at, w->state, on_safe, ack, &e) == NULL)
        _exit(1);
    store_keep_states(w->store, SESSION, NULL, 0, 3, &e);
}

/* Everything is on disk and nothing is being read: what is unused may go. */
static void sweep(struct world *w)
{
    world_barrier(w, NULL);
    world_age_blobs(w);
    store_sweep(w->store, NULL, NULL); /* it goes on beside what comes next */
}

static _Noreturn void save_for_ever(const char *dir, uint64_t n, int ack_fd)
{
    struct world *w = mem_alloc(sizeof(*w));
    w->text = BUF_INIT(MIB);
    snprintf(w->dir, sizeof(w->dir), "%s", dir);
    uv_loop_init(&w->loop);
    world_open(w);
    world_put_session(w, SESSION);
    world_put_notebook(w, SESSION);
    world_put_notebook(w, ALBUM);
    for (;; n++) {
        save_one(w, n, ack_fd);
        if (n % 13 == 0)
            sweep(w);
    }
}

/* ---- afterwards ------------------------------------------------------------------------------ */

static uint64_t read_acks(int fd, uint64_t last)
{
    uint64_t n;
    while (read(fd, &n, sizeof(n)) == sizeof(n))
        last = n;
    return last;
}

static uint64_t last_ack(int fd, uint64_t last)
{
    last = read_acks(fd, last);
    close(fd);
    return last;
}

static void check_bodies(struct world *w)
{
    size_t sizes[4];
    size_t count = sizes_of(w->at.checkpoint, sizes);
    _buf_ struct buf stream = BUF_INIT(MIB);
    struct store_state *found = store_state_ref(w->state);
    struct store_limits limits;
    world_limits(&limits);
    put_stream(&stream, (unsigned)w->at.checkpoint, sizes, count);
    world_ingest(w, &stream, &limits);
    world_ok(w);
    assert_int_equal(found->n_records, w->state->n_records);
    for (size_t i = 0; i < found->n_records; i++)
        assert_string_equal(found->records[i].hash, w->state->records[i].hash);
    store_state_unref(found);
}

static void check_files(struct world *w, const char *hex)
{
    struct err e = {0};
    struct blob_hash hash;
    struct manifest *manifest;
    int store;
    assert_int_equal(blob_open_store(w->dir, &store, &e), 0);
    assert_int_equal(blob_parse_hex(hex, &hash), 0);
    if (manifest_load(store, &hash, &manifest, &e) < 0)
        fail_msg("manifest: %s", e.message);
    int fd = blob_open_checked(store, &manifest->entries[1].hash);
    assert_true(fd >= 0);
    close(fd);
    close(store);
    manifest_free(manifest);
}

static void on_cells(void *context, const struct store_cell *list, size_t n, uint64_t count,
                     const struct err *e)
{
    struct world *w = context;
    (void)list;
    (void)n;
    world_note(w, e);
    w->count = count;
}

struct shown {
    struct world *w;
    uint64_t n; /* which picture the cell has */
    char hash[STORE_HASH_SIZE];
};

static void on_cell(void *context, const struct store_cell *cell, const struct err *e)
{
    struct shown *shown = context;
    world_note(shown->w, e);
    if (cell != NULL)
        shown->n = strtoull(cell->source, NULL, 10);
}

static void on_image(void *context, const struct store_image *image, const struct err *e)
{
    struct shown *shown = context;
    world_note(shown->w, e);
    if (image != NULL)
        snprintf(shown->hash, sizeof(shown->hash), "%s", image->hash);
}

/* A picture is whole, or it is not there and that is said; what was acknowledged is there. */
static bool check_picture(struct world *w, const char *id, uint64_t acked)
{
    struct shown shown = {.w = w};
    struct blob_hash hash;
    struct err e;
    size_t len;
    int store;
    store_get_cell(w->store, ALBUM, id, on_cell, &shown);
    world_wait(w);
    if (w->has_failed) {
        assert_int_equal(w->error.code, ERR_NOT_FOUND);
        return false;
    }
    store_get_image(w->store, ALBUM, id, 0, on_image, &shown);
    world_wait(w);
    if (w->has_failed) {
        assert_int_equal(w->error.code, ERR_NOT_FOUND);
        assert_true(shown.n > acked);
        return false;
    }
    _free_ char *bytes = NULL;
    _buf_ struct buf wanted = BUF_INIT(MIB);
    paint(&wanted, shown.n);
    assert_int_equal(blob_open_store(w->dir, &store, &e), 0);
    assert_int_equal(blob_parse_hex(shown.hash, &hash), 0);
    assert_int_equal(blob_read(store, &hash, MIB, &bytes, &len), 0);
    close(store);
    assert_int_equal(len, wanted.len);
    assert_memory_equal(bytes, wanted.data, len);
    return true;
}

/* How many there are. */
static size_t check_album(struct world *w, uint64_t acked)
{
    size_t n = 0;
    for (int i = 0; i < ALBUM_CELLS; i++) {
        char id[24];
        snprintf(id, sizeof(id), "show-%d", i);
        n += check_picture(w, id, acked);
    }
    return n;
}

/* The number of the state that is there; it is whole, and not older than what was acknowledged. */
static uint64_t check(const char *dir, uint64_t acked)
{
    struct world *w = mem_alloc(sizeof(*w));
    w->text = BUF_INIT(MIB);
    snprintf(w->dir, sizeof(w->dir), "%s", dir);
    uv_loop_init(&w->loop);
    world_open(w);
    store_get_state(w->store, SESSION, STORE_RESUME, on_state, w);
    world_wait(w);
    if (acked > 0)
        world_ok(w);
    uint64_t found = w->has_failed ? 0 : w->at.checkpoint;
    assert_true(found >= acked);
    if (found > 0) {
        struct store_saved at = w->at;
        _buf_ struct buf out = BUF_INIT(MIB);
        world_export(w, &out);
        world_ok(w);
        assert_int_equal(w->n_damaged, 0);
        w->at = at;
        check_bodies(w);
        check_files(w, at.files);
        store_list_cells(w->store, SESSION, 0, 1, on_cells, w);
        world_wait(w);
        assert_true(w->count >= found); /* each state came after its cell */
    }
    assert_true(check_album(w, acked) >= MIN(acked, (uint64_t)1));
    store_state_unref(w->state);
    world_close(w);
    uv_loop_close(&w->loop);
    buf_free(&w->text);
    free(w);
    return found;
}

static pid_t start_saver(const char *dir, uint64_t n, int *ret_acks)
{
    int acks[2];
    assert_int_equal(pipe2(acks, O_CLOEXEC), 0);
    pid_t pid = fork();
    if (pid == 0) {
        char number[24];
        int null = open("/dev/null", O_RDWR | O_CLOEXEC);
        snprintf(number, sizeof(number), "%d", (int)n);
        dup2(acks[1], ACK_FD);
        dup2(null, STDERR_FILENO); /* once the power is cut it has a lot to complain about */
        execl("/proc/self/exe", "saver", dir, number, NULL);
        _exit(127);
    }
    close(acks[1]);
    *ret_acks = acks[0];
    return pid;
}

static void sleep_ms(unsigned ms)
{
    struct timespec t = {.tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000) * 1000000};
    nanosleep(&t, NULL);
}

static unsigned random_below(unsigned n)
{
    uint32_t x;
    ids_random(&x, sizeof(x));
    return x % n;
}

static void await_ack(int acks)
{
    struct pollfd wait = {.fd = acks, .events = POLLIN};
    assert_int_equal(poll(&wait, 1, PATIENCE_MS), 1);
}

static void killed_at_any_moment(void **state)
{
    (void)state;
    char dir[] = "/tmp/cella-crash-XXXXXX";
    uint64_t n = 0, acked = 0;
    assert_non_null(mkdtemp(dir));
    for (unsigned i = 0; i < KILLS * rounds(); i++) {
        int acks, status;
        pid_t pid = start_saver(dir, n + 1, &acks);
        if (i % 3 == 0) /* a slow machine may not come as far as a state otherwise */
            await_ack(acks);
        sleep_ms(1 + random_below(120));
        kill(pid, SIGKILL);
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_true(WIFSIGNALED(status));
        acked = last_ack(acks, acked);
        n = check(dir, acked);
    }
    assert_true(acked > 0);
    print_message("%d states, %d acknowledged\n", (int)n, (int)acked);
    nftw(dir, world_remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

/* ---- power cuts ------------------------------------------------------------------------------ */

static int run(const char *const *argv)
{
    int status;
    pid_t pid = fork();
    if (pid == 0) {
        int null = open("/dev/null", O_RDWR | O_CLOEXEC);
        dup2(null, STDOUT_FILENO);
        dup2(null, STDERR_FILENO);
        execvp(argv[0], (char *const *)argv);
        _exit(127);
    }
    return waitpid(pid, &status, 0) == pid ? status : -1;
}

/* Others on this machine may want a loop device at the same moment, and only one gets the next. */
static bool attach(const char *image, const char *dir)
{
    for (int i = 0; i < 400; i++) {
        if (run((const char *const[]){"mount", "-o", "loop", image, dir, NULL}) == 0)
            return true;
        sleep_ms(50);
    }
    return false;
}

/* From now on nothing reaches the disk, as if its cable were pulled. */
static void cut_power(const char *dir)
{
    enum { SHUTDOWN_WITHOUT_FLUSH = 2 };
    int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    uint32_t how = SHUTDOWN_WITHOUT_FLUSH;
    assert_true(fd >= 0);
    assert_int_equal(ioctl(fd, _IOR('X', 125, uint32_t), &how), 0);
    close(fd);
}

/* The store asks the kernel whether the machine was started since; here it was not. */
static void pretend_boot(const char *dir)
{
    char path[128];
    sqlite3 *db;
    snprintf(path, sizeof(path), "%s/cella.db", dir);
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    sqlite3_exec(db, "UPDATE about SET value='another'", NULL, NULL, NULL);
    sqlite3_close(db);
}

static void cut_at_random(const char *image, const char *dir)
{
    uint64_t n = 0, acked = 0;
    for (unsigned i = 0; i < CUTS * rounds(); i++) {
        int acks, status;
        pid_t pid = start_saver(dir, n + 1, &acks);
        sleep_ms(50 + random_below(300));
        /* Every other time between two of its system calls, so that all it has said counts. In
         * the middle of one only what was heard before does: an fdatasync that is under way when
         * the power goes may still return 0. */
        if (i % 2 == 0) {
            kill(pid, SIGSTOP);
            assert_int_equal(waitpid(pid, &status, WUNTRACED), pid);
        }
        fcntl(acks, F_SETFL, O_NONBLOCK);
        acked = read_acks(acks, acked);
        cut_power(dir);
        close(acks);
        kill(pid, SIGKILL);
        assert_int_equal(waitpid(pid, &status, 0), pid);
        while (umount(dir) < 0 && errno == EBUSY)
            sleep_ms(1);
        assert_true(attach(image, dir));
        pretend_boot(dir);
        n = check(dir, acked);
    }
    print_message("%d states, %d acknowledged\n", (int)n, (int)acked);
}

/* On a file system of its own in a file, in a mount namespace of its own. */
static int survive_cuts(const char *top)
{
    char image[64], dir[64];
    snprintf(image, sizeof(image), "%s/disk", top);
    snprintf(dir, sizeof(dir), "%s/data", top);
    int fd = open(image, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    bool is_made = fd >= 0 && ftruncate(fd, 64 * (off_t)MIB) == 0 && mkdir(dir, 0700) == 0;
    close(fd);
    if (!is_made || unshare(CLONE_NEWNS) < 0 ||
        mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
        run((const char *const[]){"mkfs.ext4", "-q", "-F", image, NULL}) != 0 ||
        !attach(image, dir))
        return 77;
    cut_at_random(image, dir);
    return umount(dir);
}

static void power_cut_at_any_moment(void **state)
{
    (void)state;
    char top[] = "/tmp/cella-cut-XXXXXX";
    int status;
    if (geteuid() != 0)
        skip();
    assert_non_null(mkdtemp(top));
    pid_t pid = fork();
    if (pid == 0)
        _exit(survive_cuts(top));
    assert_int_equal(waitpid(pid, &status, 0), pid);
    nftw(top, world_remove_entry, 16, FTW_DEPTH | FTW_PHYS);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
        skip();
    assert_int_equal(status, 0);
}

int main(int argc, char **argv)
{
    signal(SIGPIPE, SIG_IGN);
    /* The one to be killed is a program of its own: no test to return to, no threads of another. */
    if (argc == 3)
        save_for_ever(argv[1], strtoull(argv[2], NULL, 10), ACK_FD);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(killed_at_any_moment),
        cmocka_unit_test(power_cut_at_any_moment),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
