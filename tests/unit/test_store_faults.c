#include "blob/blob.h"
#include "store_world.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sqlite3.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>

/* Real trouble: a full disk, files that cannot grow, bytes that changed, other programs. */

#define SESSION "11111111-2222-4333-8444-555555555555"
#define OTHER "99999999-2222-4333-8444-555555555555"

static void put_state(struct world *w, uint64_t checkpoint)
{
    struct err e = {0};
    struct store_saved at = {.checkpoint = checkpoint, .through = checkpoint};
    if (store_put_state(w->store, SESSION, &at, w->state, on_done, w, &e) == NULL)
        fail_msg("put_state: %s", e.message);
    world_wait(w);
}

static void save(struct world *w, uint64_t checkpoint, unsigned seed, const size_t *sizes, size_t n)
{
    world_make_state(w, seed, sizes, n);
    put_state(w, checkpoint);
    world_ok(w);
}

static void get_state(struct world *w, uint64_t checkpoint)
{
    store_get_state(w->store, SESSION, checkpoint, on_state, w);
    world_wait(w);
}

static char *path_of(struct world *w, const char *name)
{
    static char path[256];
    snprintf(path, sizeof(path), "%s/%s", w->dir, name);
    return path;
}

static void write_at(const char *path, off_t offset, const void *data, size_t len)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(pwrite(fd, data, len, offset), len);
    close(fd);
}

/* ---- bytes that changed ---------------------------------------------------------------------- */

static void damage_blob(struct world *w, const char *hex)
{
    char name[128];
    snprintf(name, sizeof(name), "blobs/%.2s/%s", hex, hex + 2);
    chmod(path_of(w, name), 0600);
    write_at(path_of(w, name), 1000, "damage", 6);
}

static void a_damaged_blob_costs_its_names_only(void **state)
{
    (void)state;
    static const size_t sizes[] = {100, 80000, 90000};
    struct world *w = world_new();
    _buf_ struct buf out = BUF_INIT(MIB);
    world_put_session(w, SESSION);
    save(w, 1, 1, sizes, ARRAY_LEN(sizes));
    damage_blob(w, w->state->records[2].hash);
    get_state(w, 1);
    world_ok(w);
    world_export(w, &out);
    world_ok(w);
    assert_int_equal(w->n_damaged, 1);
    assert_non_null(strstr(buf_str(&w->text), "\"name\":\"v1\""));
    /* What was sent is a whole state without it. */
    struct store_limits limits;
    world_limits(&limits);
    world_ingest(w, &out, &limits);
    world_ok(w);
    assert_int_equal(w->state->n_lost, 1);
    assert_int_equal(w->state->bytes, 90100);
    /* Who saves the same bytes again gets them written anew. */
    save(w, 2, 1, sizes, ARRAY_LEN(sizes));
    get_state(w, 2);
    out.len = 0;
    world_export(w, &out);
    assert_int_equal(w->n_damaged, 0);
    world_free(w);
}

static void a_damaged_row_costs_its_names_only(void **state)
{
    (void)state;
    static const size_t sizes[] = {100, 200};
    struct world *w = world_new();
    _buf_ struct buf out = BUF_INIT(MIB);
    world_put_session(w, SESSION);
    save(w, 1, 1, sizes, ARRAY_LEN(sizes));
    world_close(w);
    sqlite3 *db;
    assert_int_equal(sqlite3_open(path_of(w, "cella.db"), &db), SQLITE_OK);
    assert_int_equal(
        sqlite3_exec(db, "UPDATE bodies SET data=zeroblob(200) WHERE bytes=200", NULL, NULL, NULL),
        SQLITE_OK);
    sqlite3_close(db);
    world_open(w);
    get_state(w, 1);
    world_ok(w);
    world_export(w, &out);
    world_ok(w);
    assert_int_equal(w->n_damaged, 1);
    assert_non_null(strstr(buf_str(&w->text), "\"name\":\"v1\""));
    world_free(w);
}

static void assert_not_opened(struct world *w, const char *text, const char *advice)
{
    struct err e = {0};
    struct store *store;
    assert_int_equal(store_open(w->dir, &w->loop, &store, &e), -1);
    if (strstr(e.message, text) == NULL || strstr(e.advice, advice) == NULL)
        fail_msg("got: %s (%s)", e.message, e.advice);
}

static void a_damaged_database_is_not_touched(void **state)
{
    (void)state;
    struct world *w = world_new();
    static char noise[4096];
    world_put_session(w, SESSION);
    world_close(w);
    ids_random(noise, sizeof(noise));
    write_at(path_of(w, "cella.db"), 0, noise, 100);
    assert_not_opened(w, "is damaged", ".recover");
    struct stat before, after;
    assert_int_equal(stat(path_of(w, "cella.db"), &before), 0);
    assert_not_opened(w, "is damaged", "move cella.db");
    assert_int_equal(stat(path_of(w, "cella.db"), &after), 0);
    assert_int_equal(before.st_size, after.st_size);
    assert_int_equal(unlink(path_of(w, "cella.db")), 0);
    world_open(w);
    world_free(w);
}

/* A daemon that dropped its rights reaches its directory by a descriptor only. */
static void messages_name_the_file_that_people_know(void **state)
{
    (void)state;
    struct err e = {0};
    struct store *store;
    char by_fd[64];
    struct world *w = world_new();
    world_close(w);
    write_at(path_of(w, "cella.db"), 0, "damage", 6);
    int fd = open(w->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    snprintf(by_fd, sizeof(by_fd), "/proc/self/fd/%d", fd);
    assert_int_equal(store_open(by_fd, &w->loop, &store, &e), -1);
    assert_non_null(strstr(e.message, path_of(w, "cella.db")));
    assert_int_equal(unlink(path_of(w, "cella.db")), 0);
    assert_int_equal(store_open(by_fd, &w->loop, &w->store, &e), 0);
    world_put_session(w, SESSION);
    world_barrier(w, NULL);
    world_ok(w);
    world_free(w);
    close(fd);
}

static void a_newer_database_is_refused(void **state)
{
    (void)state;
    struct world *w = world_new();
    sqlite3 *db;
    world_close(w);
    assert_int_equal(sqlite3_open(path_of(w, "cella.db"), &db), SQLITE_OK);
    sqlite3_exec(db, "PRAGMA user_version=99", NULL, NULL, NULL);
    sqlite3_close(db);
    assert_not_opened(w, "newer program", "Install the newer");
    world_free(w);
}

static void one_store_at_a_time(void **state)
{
    (void)state;
    struct world *w = world_new();
    /* From another process: the lock is one between processes. */
    pid_t pid = fork();
    if (pid == 0) {
        struct err e = {0};
        uv_loop_t loop;
        struct store *store;
        uv_loop_init(&loop);
        int rc = store_open(w->dir, &loop, &store, &e);
        _exit(rc < 0 && e.code == ERR_CONFLICT && strstr(e.message, "another program") ? 0 : 1);
    }
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    world_free(w);
}

/* ---- a disk that takes no more --------------------------------------------------------------- */

static void on_trouble(void *context, const struct err *e)
{
    struct world *w = context;
    w->count += e == NULL ? 100 : 1;
}

static void put_cell(struct world *w, uint64_t exec_id)
{
    struct err e = {0};
    assert_int_equal(world_put_cell(w, SESSION, exec_id, "x", &e), 0);
}

static void on_cells(void *context, const struct store_cell *list, size_t n, uint64_t count,
                     const struct err *e)
{
    struct world *w = context;
    (void)list;
    (void)n;
    world_note(w, e);
    w->at.through = count;
}

static uint64_t count_cells(struct world *w)
{
    store_list_cells(w->store, SESSION, 0, 1, on_cells, w);
    world_wait(w);
    return w->has_failed ? UINT64_MAX : w->at.through;
}

static void on_cell(void *context, const struct store_cell *cell, const struct err *e)
{
    struct world *w = context;
    world_note(w, e);
    assert_true(cell != NULL || e->code == ERR_NOT_FOUND);
}

static bool has_cell(struct world *w, const char *id)
{
    store_get_cell(w->store, SESSION, id, on_cell, w);
    world_wait(w);
    return !w->has_failed;
}

static void on_changed(void *context, const struct store_cell *now, uint64_t n_cells,
                       int64_t last_place, const struct err *e)
{
    (void)now;
    (void)n_cells;
    (void)last_place;
    world_note(context, e);
}

/* Somebody waits for a change: it is done, or they are told. */
static void insert_cell(struct world *w, const char *id)
{
    struct store_cell cell = {.id = id, .source = "x", .source_len = 1};
    struct store_change change = {.what = CHANGE_INSERT, .to = &cell};
    store_change_cells(w->store, SESSION, &change, on_changed, w);
    world_wait(w);
}

static void count_row(void *context, const struct store_session *row)
{
    struct world *w = context;
    (void)row;
    w->n_damaged++;
}

/* What could not be written stays queued; who waits is told; it is written once that is possible,
 * and what was safe before is there all the time. `spoil` and `mend` make the trouble. */
static void survive(struct world *w, void (*spoil)(struct world *w), void (*mend)(struct world *w),
                    const char *text)
{
    static const size_t sizes[] = {100, 80000}, large[] = {3 * MIB};
    world_close(w); /* else what made the tables leaves room in the database's log */
    world_open(w);
    store_on_trouble(w->store, on_trouble, w);
    world_put_session(w, SESSION);
    world_put_notebook(w, SESSION);
    save(w, 1, 1, sizes, ARRAY_LEN(sizes));
    put_cell(w, 1);
    world_barrier(w, SESSION);
    world_ok(w);
    w->count = 0;
    spoil(w);
    for (uint64_t i = 2; i < 2000; i++)
        put_cell(w, i);
    world_put_session(w, OTHER); /* in the same group as its end and its new beginning */
    store_delete_session(w->store, OTHER, &w->error);
    world_put_session(w, OTHER);
    insert_cell(w, "told");
    assert_true(w->has_failed);
    assert_int_equal(w->error.code, ERR_UNAVAILABLE);
    world_barrier(w, SESSION);
    assert_true(w->has_failed);
    assert_int_equal(w->error.code, ERR_UNAVAILABLE);
    if (strstr(w->error.message, text) == NULL)
        fail_msg("got: %s", w->error.message);
    assert_int_equal(w->count, 1);
    struct store_health health;
    store_health(w->store, &health);
    assert_true(health.is_failing && health.queued >= 1998);
    /* Who reads is answered: with what is there and what waits, without what was refused. */
    assert_int_equal(count_cells(w), 1999);
    assert_false(has_cell(w, "told"));
    assert_int_equal(count_cells(w), 1999);
    /* A new state with large bodies: the caller is told while it is read. */
    struct store_limits limits;
    _buf_ struct buf stream = BUF_INIT(8 * MIB);
    world_limits(&limits);
    put_stream(&stream, 5, large, 1);
    world_ingest(w, &stream, &limits);
    assert_true(w->has_failed);
    assert_int_equal(w->error.code, ERR_UNAVAILABLE);
    mend(w);
    world_barrier(w, SESSION);
    world_ok(w);
    assert_int_equal(w->count, 101);
    assert_int_equal(count_cells(w), 1999);
    w->n_damaged = 0;
    assert_int_equal(store_each_session(w->store, count_row, w, &w->error), 0);
    assert_int_equal(w->n_damaged, 2);
    insert_cell(w, "told");
    world_ok(w);
    get_state(w, 1);
    world_ok(w);
    _buf_ struct buf out = BUF_INIT(MIB);
    world_export(w, &out);
    assert_int_equal(w->n_damaged, 0);
    world_close(w);
    world_open(w);
    assert_int_equal(count_cells(w), 1999);
}

static void limit_files(struct world *w)
{
    struct rlimit limit;
    struct stat st;
    assert_int_equal(stat(path_of(w, "cella.db-wal"), &st), 0);
    getrlimit(RLIMIT_FSIZE, &limit);
    limit.rlim_cur = (rlim_t)st.st_size + 10;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

static void unlimit_files(struct world *w)
{
    struct rlimit limit;
    (void)w;
    getrlimit(RLIMIT_FSIZE, &limit);
    limit.rlim_cur = limit.rlim_max;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

static void files_that_cannot_grow(void **state)
{
    (void)state;
    struct world *w = world_new();
    survive(w, limit_files, unlimit_files, "cella.db");
    world_free(w);
}

static void fill_disk(struct world *w)
{
    static char block[4096];
    int fd = open(path_of(w, "ballast"), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    while (write(fd, block, sizeof(block)) > 0)
        continue;
    close(fd);
}

static void free_disk(struct world *w)
{
    assert_int_equal(unlink(path_of(w, "ballast")), 0);
}

/* In a mount namespace of its own, which needs root. */
static void a_full_disk(void **state)
{
    (void)state;
    pid_t pid = fork();
    if (pid == 0) {
        char dir[] = "/tmp/cella-full-XXXXXX";
        if (mkdtemp(dir) == NULL)
            _exit(1);
        if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
            mount("none", dir, "tmpfs", 0, "size=4m") < 0) {
            rmdir(dir);
            _exit(77);
        }
        struct world *w = mem_alloc(sizeof(*w));
        w->text = BUF_INIT(MIB);
        snprintf(w->dir, sizeof(w->dir), "%s", dir);
        uv_loop_init(&w->loop);
        world_open(w);
        survive(w, fill_disk, free_disk, "is full");
        world_close(w);
        umount(dir);
        _exit(rmdir(dir) == 0 ? 0 : 1);
    }
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
        skip();
    assert_int_equal(status, 0);
}

/* A directory that belongs to another, or a disk that was mounted read-only. */
static int refused_without_rights(void)
{
    struct err e = {0};
    struct store *store;
    if (geteuid() == 0 && (setgid(65534) < 0 || setuid(65534) < 0))
        return 1;
    struct world *w = world_new();
    world_close(w);
    chmod(path_of(w, "cella.db"), 0400);
    chmod(w->dir, 0500);
    int rc = store_open(w->dir, &w->loop, &store, &e);
    chmod(w->dir, 0700);
    chmod(path_of(w, "cella.db"), 0600);
    world_open(w);
    world_free(w);
    return rc < 0 && e.code == ERR_UNAVAILABLE && strstr(e.message, "cannot be written") ? 0 : 1;
}

static void a_directory_that_cannot_be_written(void **state)
{
    (void)state;
    int status;
    pid_t pid = fork();
    if (pid == 0)
        _exit(refused_without_rights());
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

int main(void)
{
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_damaged_blob_costs_its_names_only),
        cmocka_unit_test(a_damaged_row_costs_its_names_only),
        cmocka_unit_test(a_damaged_database_is_not_touched),
        cmocka_unit_test(messages_name_the_file_that_people_know),
        cmocka_unit_test(a_newer_database_is_refused),
        cmocka_unit_test(one_store_at_a_time),
        cmocka_unit_test(files_that_cannot_grow),
        cmocka_unit_test(a_full_disk),
        cmocka_unit_test(a_directory_that_cannot_be_written),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
