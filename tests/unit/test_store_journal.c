#include "store_world.h"

#include <fcntl.h>
#include <signal.h>
#include <sqlite3.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>

/* What was put without waiting, after the daemon was killed. CELLA_CRASH_ROUNDS=n makes the last
 * test n times as long. */

#define ONE "11111111-2222-4333-8444-555555555555"
#define TWO "99999999-2222-4333-8444-555555555555"

static const char *const files[] = {"cella.db", "cella.db-wal", "cells.journal", "cells.journal.2"};
enum { N_FILES = ARRAY_LEN(files), FIRST_JOURNAL = 2 };

/* ---- files ----------------------------------------------------------------------------------- */

static const char *path_in(const char *dir, const char *name)
{
    static char paths[2][256];
    static unsigned turn;
    turn = !turn;
    snprintf(paths[turn], sizeof(paths[turn]), "%s/%s", dir, name);
    return paths[turn];
}

static void copy_file(const char *from_dir, const char *to_dir, const char *name)
{
    _free_ char *data = NULL;
    size_t len = 0;
    unlink(path_in(to_dir, name));
    if (fd_read_file(AT_FDCWD, path_in(from_dir, name), 64 * MIB, &data, &len) < 0)
        return;
    int fd = open(path_in(to_dir, name), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(fd_write_all(fd, data, len), 0);
    close(fd);
}

static size_t file_bytes(const char *dir, const char *name)
{
    struct stat st;
    return stat(path_in(dir, name), &st) < 0 ? 0 : (size_t)st.st_size;
}

/* ---- a daemon that is killed at a moment of our choice --------------------------------------- */

struct scene {
    struct world *w;
    void (*play)(struct world *w);
    char dir[64]; /* what is left of it */
};

/* The store's thread cannot commit while this is called. */
static void play(void *context, const struct store_session *row)
{
    struct scene *scene = context;
    (void)row;
    scene->play(scene->w);
    for (size_t i = 0; i < N_FILES; i++)
        copy_file(scene->w->dir, scene->dir, files[i]);
}

/* Plays it, and leaves what a kill in that moment would leave. */
static void kill_after(struct scene *scene, void (*what)(struct world *w))
{
    struct err e;
    scene->w = world_new();
    scene->play = what;
    snprintf(scene->dir, sizeof(scene->dir), "/tmp/cella-killed-XXXXXX");
    assert_non_null(mkdtemp(scene->dir));
    world_put_session(scene->w, ONE);
    world_put_notebook(scene->w, ONE);
    world_put_cell(scene->w, ONE, 1, "committed", &e);
    world_barrier(scene->w, NULL);
    world_ok(scene->w);
    assert_int_equal(store_each_session(scene->w->store, play, scene, &e), 0);
}

static void scene_free(struct scene *scene)
{
    world_free(scene->w);
    nftw(scene->dir, world_remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

static void on_cells(void *context, const struct store_cell *list, size_t n, uint64_t count,
                     const struct err *e)
{
    struct world *w = context;
    world_note(w, e);
    w->count = count;
    buf_clear(&w->text);
    for (size_t i = 0; i < n; i++)
        buf_printf(&w->text, "%s:%s:%.*s:%s ", list[i].id, list[i].state,
                   (int)MIN(list[i].source_len, 20UL), list[i].source,
                   list[i].outputs == NULL ? "-" : list[i].outputs);
}

static const char *list(struct world *w)
{
    store_get_cells(w->store, ONE, 0, STORE_PAGE_MAX, true, on_cells, w);
    world_wait(w);
    return buf_str(&w->text);
}

/* A world in a directory that is there. */
static struct world *open_dir(const char *dir)
{
    struct world *w = mem_alloc(sizeof(*w));
    w->text = BUF_INIT(16 * MIB);
    snprintf(w->dir, sizeof(w->dir), "%s", dir);
    uv_loop_init(&w->loop);
    world_open(w);
    return w;
}

static void leave_dir(struct world *w)
{
    if (w->store != NULL)
        world_close(w);
    uv_loop_close(&w->loop);
    buf_free(&w->text);
    free(w);
}

/* ---- the journal ----------------------------------------------------------------------------- */

static void put_run(struct world *w, const char *id, const char *state, const char *outputs)
{
    struct err e;
    struct store_cell cell = {.id = id,
                              .state = state,
                              .outputs = outputs,
                              .outputs_len = outputs == NULL ? 0 : strlen(outputs)};
    assert_int_equal(store_put_cell(w->store, ONE, &cell, &e), 0);
}

static void put_three(struct world *w)
{
    struct err e;
    assert_int_equal(world_put_cell(w, ONE, 2, "two", &e), 0);
    assert_int_equal(world_put_cell(w, ONE, 3, "three", &e), 0);
    put_run(w, "cell-2", "error", "[{\"type\":\"error\"}]");
}

#define ALL_THREE                                                                                  \
    "cell-1:completed:committed:- cell-2:error:two:[{\"type\":\"error\"}] "                        \
    "cell-3:completed:three:- "

static void on_changed(void *context, const struct store_cell *now, uint64_t n_cells,
                       int64_t last_place, const struct err *e)
{
    (void)now;
    (void)n_cells;
    (void)last_place;
    world_note(context, e);
}

/* Applied once: not again to what was changed since. */
static void what_was_put_is_there(void **state)
{
    (void)state;
    struct scene scene;
    kill_after(&scene, put_three);
    assert_true(file_bytes(scene.dir, "cells.journal") > 0);
    char kept[80];
    snprintf(kept, sizeof(kept), "%s/kept", scene.dir);
    mkdir(kept, 0700);
    copy_file(scene.dir, kept, "cells.journal");
    struct world *w = open_dir(scene.dir);
    assert_int_equal(file_bytes(scene.dir, "cells.journal"), 0);
    assert_string_equal(list(w), ALL_THREE);
    store_change_cells(w->store, ONE,
                       &(struct store_change){.what = CHANGE_REMOVE, .cell = "cell-3"}, on_changed,
                       w);
    world_wait(w);
    world_ok(w);
    world_close(w);
    copy_file(kept, scene.dir, "cells.journal");
    world_open(w);
    assert_string_equal(list(w), "cell-1:completed:committed:- "
                                 "cell-2:error:two:[{\"type\":\"error\"}] ");
    leave_dir(w);
    scene_free(&scene);
}

static void put_notebook_and_delete(struct world *w)
{
    struct err e;
    assert_non_null(store_delete_notebook(w->store, ONE, NULL, NULL, &e));
    world_put_notebook(w, ONE);
    put_three(w);
    world_put_notebook(w, TWO); /* it has no row yet */
    assert_int_equal(world_put_cell(w, TWO, 1, "new", &e), 0);
}

/* What was not journalled (a deletion that nobody waited for) did not happen; the rest did. */
static void notebooks_are_journalled_too(void **state)
{
    (void)state;
    struct scene scene;
    kill_after(&scene, put_notebook_and_delete);
    struct world *w = open_dir(scene.dir);
    assert_string_equal(list(w), ALL_THREE);
    store_get_cells(w->store, TWO, 0, 9, true, on_cells, w);
    world_wait(w);
    assert_string_equal(buf_str(&w->text), "cell-1:completed:new:- ");
    leave_dir(w);
    /* The journal of another database says nothing. */
    for (size_t i = 0; i < FIRST_JOURNAL; i++)
        unlink(path_in(scene.dir, files[i]));
    copy_file(scene.w->dir, scene.dir, "cells.journal");
    w = open_dir(scene.dir);
    list(w);
    assert_int_equal(w->error.code, ERR_NOT_FOUND);
    leave_dir(w);
    scene_free(&scene);
}

/* The records up to the first that is not whole count. */
static void a_torn_journal(void **state)
{
    (void)state;
    struct scene scene;
    kill_after(&scene, put_three);
    char kept[80];
    snprintf(kept, sizeof(kept), "%s/kept", scene.dir);
    mkdir(kept, 0700);
    for (size_t i = 0; i < N_FILES; i++)
        copy_file(scene.dir, kept, files[i]);
    size_t bytes = file_bytes(kept, "cells.journal");
    unsigned seen[4] = {0};
    for (size_t cut = 0; cut < bytes; cut += 1 + cut % 5) {
        for (size_t i = 0; i < N_FILES; i++)
            copy_file(kept, scene.dir, files[i]);
        if (cut % 2 == 0) {
            assert_int_equal(truncate(path_in(scene.dir, "cells.journal"), (off_t)cut), 0);
        } else { /* a byte that changed */
            int fd = open(path_in(scene.dir, "cells.journal"), O_RDWR | O_CLOEXEC);
            char c;
            assert_int_equal(pread(fd, &c, 1, (off_t)cut), 1);
            c ^= 0x10;
            assert_int_equal(pwrite(fd, &c, 1, (off_t)cut), 1);
            close(fd);
        }
        struct world *w = open_dir(scene.dir);
        const char *text = list(w);
        bool is_whole = strcmp(text, ALL_THREE) == 0;
        unsigned n = is_whole ? 3 : (unsigned)w->count - 1;
        assert_true(n < 3); /* each record is changed by any cut before its end */
        assert_null(strstr(text, "error"));
        seen[n]++;
        leave_dir(w);
    }
    assert_true(seen[0] > 0 && seen[1] > 0 && seen[2] > 0);
    scene_free(&scene);
}

static void put_under_way(struct world *w)
{
    struct err e;
    world_put_cell(w, ONE, 2, "two", &e);
    world_put_cell(w, ONE, 3, "three", &e);
    put_run(w, "cell-1", "queued", NULL);
    put_run(w, "cell-2", "running", "[{\"type\":\"text\",\"text\":\"so far\"}]");
}

#define LOST                                                                                       \
    "{\"type\":\"error\",\"name\":\"Lost\",\"message\":\"the daemon ended while the cell ran\"}"

static void cells_that_ran_are_lost(void **state)
{
    (void)state;
    struct scene scene;
    kill_after(&scene, put_under_way);
    struct world *w = open_dir(scene.dir);
    for (int i = 0; i < 2; i++) { /* and once only */
        assert_string_equal(list(w),
                            "cell-1:died:committed:[" LOST "] "
                            "cell-2:died:two:[{\"type\":\"text\",\"text\":\"so far\"}," LOST
                            "] cell-3:completed:three:- ");
        world_close(w);
        world_open(w);
    }
    leave_dir(w);
    scene_free(&scene);
}

/* Files take turns, and neither grows beyond some megabytes, however much is put. */
static void the_journal_does_not_grow(void **state)
{
    (void)state;
    struct err e;
    struct world *w = world_new();
    _free_ char *text = mem_alloc(100 * KIB + 1);
    memset(text, 'x', 100 * KIB);
    world_put_notebook(w, ONE);
    size_t most = 0;
    for (uint64_t i = 0; i < 300; i++) {
        assert_int_equal(world_put_cell(w, ONE, i + 1, text, &e), 0);
        if (i % 10 == 9)
            world_barrier(w, NULL);
        size_t bytes = file_bytes(w->dir, files[2]) + file_bytes(w->dir, files[3]);
        most = MAX(most, bytes);
    }
    assert_true(most > 1 * MIB && most < 5 * MIB);
    world_close(w);
    assert_int_equal(file_bytes(w->dir, files[2]) + file_bytes(w->dir, files[3]), 0);
    world_open(w);
    list(w);
    assert_int_equal(w->count, 300);
    world_free(w);
}

static void limit_files(rlim_t bytes)
{
    struct rlimit limit;
    getrlimit(RLIMIT_FSIZE, &limit);
    limit.rlim_cur = MIN(bytes, limit.rlim_max);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

/* Half of a record is cut off again, so that those after it count. */
static void put_beyond_the_limit(struct world *w)
{
    struct err e;
    world_put_cell(w, ONE, 2, "two", &e);
    limit_files(file_bytes(w->dir, "cells.journal") + 100);
    assert_int_equal(world_put_cell(w, ONE, 3, "not journalled", &e), 0);
    limit_files(RLIM_INFINITY);
    world_put_cell(w, ONE, 4, "four", &e);
}

static void a_full_disk_tears_nothing(void **state)
{
    (void)state;
    struct scene scene;
    kill_after(&scene, put_beyond_the_limit);
    struct world *w = open_dir(scene.dir);
    assert_string_equal(list(w), "cell-1:completed:committed:- cell-2:completed:two:- "
                                 "cell-4:completed:four:- ");
    leave_dir(w);
    /* The one that was not killed has all of them. */
    world_barrier(scene.w, NULL);
    world_ok(scene.w);
    list(scene.w);
    assert_int_equal(scene.w->count, 4);
    scene_free(&scene);
}

/* ---- killed at any moment -------------------------------------------------------------------- */

enum { KILLS = 20, CELLS = 16, REMOVALS = 4096 };

/* What was answered: seen by both, and a kill does not undo it. */
struct answered {
    _Atomic uint64_t begun;             /* rounds of the one that is killed, over all its lives */
    _Atomic uint64_t put[CELLS];        /* the last exec_id that was put */
    _Atomic uint64_t edited;            /* the last text that was told to be there */
    _Atomic uint64_t removed[REMOVALS]; /* by id: told to be gone */
};

static struct answered *map_answered(const char *path)
{
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    assert_true(fd >= 0 && ftruncate(fd, sizeof(struct answered)) == 0);
    void *at = mmap(NULL, sizeof(struct answered), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    assert_true(at != MAP_FAILED);
    close(fd);
    return at;
}

struct told {
    _Atomic uint64_t *to;
    uint64_t value;
};

static void on_told(void *context, const struct store_cell *now, uint64_t n_cells,
                    int64_t last_place, const struct err *e)
{
    struct told *told = context;
    (void)now;
    (void)n_cells;
    (void)last_place;
    if (e == NULL)
        *told->to = told->value;
    free(told);
}

static void ask(struct world *w, const struct store_change *change, _Atomic uint64_t *to,
                uint64_t value)
{
    struct told *told = mem_alloc(sizeof(*told));
    *told = (struct told){.to = to, .value = value};
    store_change_cells(w->store, ONE, change, on_told, told);
}

static void put_version(struct world *w, struct answered *a, uint64_t n)
{
    struct err e;
    char id[16], outputs[64];
    snprintf(id, sizeof(id), "c%d", (int)(n % CELLS));
    snprintf(outputs, sizeof(outputs), "[{\"type\":\"text\",\"text\":\"%d\"}]", (int)n);
    struct store_cell cell = {.id = id,
                              .state = "completed",
                              .source = n % 3 == 0 ? NULL : "source",
                              .source_len = n % 3 == 0 ? 0 : 6,
                              .exec_id = 1, /* of one run */
                              .count = n,
                              .outputs = outputs,
                              .outputs_len = strlen(outputs)};
    bool is_there = a->put[n % CELLS] != 0;
    if (cell.source == NULL && !is_there)
        return; /* nothing to tell of */
    if (store_put_cell(w->store, ONE, &cell, &e) == 0)
        a->put[n % CELLS] = n;
}

static void change_something(struct world *w, struct answered *a, uint64_t n)
{
    char text[24];
    snprintf(text, sizeof(text), "%d", (int)n);
    struct store_cell cell = {.id = text, .kind = 0, .source = text, .source_len = strlen(text)};
    struct err e;
    if (n % 2 == 0) { /* put, then removed: it must not come back */
        if (store_put_cell(w->store, ONE, &cell, &e) == 0)
            ask(w, &(struct store_change){.what = CHANGE_REMOVE, .cell = text},
                &a->removed[n % REMOVALS], n);
    } else {
        ask(w, &(struct store_change){.what = CHANGE_EDIT, .cell = "edited", .to = &cell},
            &a->edited, n);
    }
}

static _Noreturn void put_for_ever(const char *dir, const char *path)
{
    struct answered *a = map_answered(path);
    struct world *w = open_dir(dir);
    struct err e;
    world_put_notebook(w, ONE);
    store_put_cell(
        w->store, ONE,
        &(struct store_cell){.id = "edited", .source = "0", .source_len = 1, .revision = 1}, &e);
    for (;;) {
        uint64_t n = ++a->begun;
        put_version(w, a, n);
        if (n % 11 == 0)
            change_something(w, a, n);
        uv_run(&w->loop, UV_RUN_NOWAIT);
        if (n % 64 == 0)
            usleep(1000);
    }
}

struct found {
    struct world *w;
    const struct answered *a;
    unsigned n_seen;
    uint64_t n_read, count;
};

static void check_cells(void *context, const struct store_cell *list, size_t n, uint64_t count,
                        const struct err *e)
{
    struct found *f = context;
    f->w->calls++;
    if (e != NULL)
        fail_msg("%s", e->message);
    f->count = count;
    assert_true(n > 0 || count == 0);
    for (size_t i = 0; i < n; i++) {
        const struct store_cell *cell = &list[i];
        assert_int_equal(cell->number, f->n_read++);
        uint64_t number = strtoull(cell->id + (cell->id[0] == 'c'), NULL, 10);
        if (strcmp(cell->id, "edited") == 0) {
            assert_true(strtoull(cell->source, NULL, 10) >= f->a->edited);
        } else if (cell->id[0] == 'c') {
            char outputs[64];
            snprintf(outputs, sizeof(outputs), "[{\"type\":\"text\",\"text\":\"%d\"}]",
                     (int)cell->count);
            assert_string_equal(cell->outputs, outputs);
            assert_true(cell->count >= f->a->put[number]);
            f->n_seen++;
        } else if (f->a->removed[number % REMOVALS] == number) {
            fail_msg("cell %s was removed and is there", cell->id);
        }
    }
}

static void check(const char *dir, const struct answered *a)
{
    struct world *w = open_dir(dir);
    struct found f = {.w = w, .a = a};
    unsigned n_put = 0;
    for (unsigned i = 0; i < CELLS; i++)
        n_put += a->put[i] != 0;
    do { /* removals that were not answered leave more than a page of cells, in the end */
        store_get_cells(w->store, ONE, f.n_read, STORE_PAGE_MAX, true, check_cells, &f);
        world_wait(w);
    } while (f.n_read < f.count);
    assert_true(f.n_seen >= n_put);
    leave_dir(w);
}

static unsigned rounds(void)
{
    const char *text = getenv("CELLA_CRASH_ROUNDS");
    unsigned long n = text == NULL ? 1 : strtoul(text, NULL, 10);
    return n == 0 ? 1 : (unsigned)n;
}

static void killed_at_any_moment(void **state)
{
    (void)state;
    char dir[] = "/tmp/cella-journal-XXXXXX";
    assert_non_null(mkdtemp(dir));
    char path[64];
    snprintf(path, sizeof(path), "%s.answered", dir);
    struct answered *a = map_answered(path);
    for (unsigned i = 0; i < KILLS * rounds(); i++) {
        uint64_t before = a->begun;
        uint32_t ms;
        int status;
        pid_t pid = fork();
        if (pid == 0) {
            execl("/proc/self/exe", "putter", dir, path, NULL);
            _exit(127);
        }
        ids_random(&ms, sizeof(ms));
        while (a->begun == before)
            usleep(500);
        usleep(ms % 150000);
        kill(pid, SIGKILL);
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_true(WIFSIGNALED(status));
        check(dir, a);
    }
    print_message("%d puts, edited through %d\n", (int)a->begun, (int)a->edited);
    assert_true(a->edited > 0);
    munmap(a, sizeof(*a));
    unlink(path);
    nftw(dir, world_remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

int main(int argc, char **argv)
{
    signal(SIGXFSZ, SIG_IGN);
    if (argc == 3) /* the one to be killed is a program of its own */
        put_for_ever(argv[1], argv[2]);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_put_is_there),
        cmocka_unit_test(notebooks_are_journalled_too),
        cmocka_unit_test(a_torn_journal),
        cmocka_unit_test(cells_that_ran_are_lost),
        cmocka_unit_test(the_journal_does_not_grow),
        cmocka_unit_test(a_full_disk_tears_nothing),
        cmocka_unit_test(killed_at_any_moment),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
