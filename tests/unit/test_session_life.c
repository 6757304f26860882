/* How sessions begin and how they end by themselves: directory and environment, sharing a jail,
 * idleness and age. */
#include "runtime/pool.h"
#include "session/lifespan.h"
#include "session/setup.h"
#include "session_world.h"

#include <fcntl.h>

/* ---- directory and environment --------------------------------------------------------------- */

static void test_directories(void **state)
{
    static const struct {
        const char *given, *path; /* NULL if refused */
    } cases[] = {
        {NULL, "/workspace"},
        {"a/b", "/workspace/a/b"},
        {"./a//b/", "/workspace/a/b"},
        {"a/../b", "/workspace/b"},
        {"/workspace", "/workspace"},
        {"/workspace/x/.", "/workspace/x"},
        {"/tmp/x", "/tmp/x"},
        {"../tmp/x", "/tmp/x"},
        {"..", NULL},
        {"../..", NULL},
        {"/", NULL},
        {"/etc", NULL},
        {"/workspacex", NULL},
        {"/tmp/../etc", NULL},
        {"../../..", NULL},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        char cwd[SESSION_CWD_SIZE];
        struct err e;
        int rc = setup_check(&(struct session_request){.cwd = cases[i].given}, cwd, &e);
        assert_int_equal(rc, cases[i].path != NULL ? 0 : -1);
        if (rc == 0)
            assert_string_equal(cwd, cases[i].path);
        else
            assert_int_equal(e.code, ERR_INVALID);
    }
}

static void test_environments(void **state)
{
    static const struct {
        const char *json;
        bool is_good;
    } cases[] = {
        {"{}", true},           {"{\"A_1\":\"x\"}", true}, {"{\"1A\":\"x\"}", false},
        {"{\"\":\"\"}", false}, {"{\"A=B\":\"\"}", false}, {"{\"A\":1}", false},
    };
    (void)state;
    char cwd[SESSION_CWD_SIZE];
    struct err e;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        json_t *env = json_loads(cases[i].json, 0, NULL);
        int rc = setup_check(&(struct session_request){.env = env}, cwd, &e);
        assert_int_equal(rc, cases[i].is_good ? 0 : -1);
        json_decref(env);
    }
    char *big = mem_alloc(SETUP_ENV_BYTES + 1);
    memset(big, 'x', SETUP_ENV_BYTES);
    json_t *env = json_pack("{ss}", "A", big);
    assert_int_equal(setup_check(&(struct session_request){.env = env}, cwd, &e), -1);
    json_decref(env);
    free(big);
}

static void test_a_session_is_set_up(void **state)
{
    struct world *w = *state;
    struct heard h;
    char cwd[64];
    snprintf(cwd, sizeof(cwd), "/tmp/cella-test-cwd-%d/sub", (int)getpid());
    json_t *env = json_pack("{ss}", "WORD", "h\xc3\xa9");
    struct session *s = create_with(w, (struct session_request){.cwd = cwd, .env = env});
    json_decref(env);
    run(w, s, "import os; os.getcwd(), os.environ['WORD']", &h);
    assert_non_null(strstr(h.value, cwd));
    assert_non_null(strstr(h.value, "h\xc3\xa9"));
    assert_string_equal(s->cwd, cwd);
    *strrchr(cwd, '/') = '\0';
    char sub[80];
    snprintf(sub, sizeof(sub), "%s/sub", cwd);
    rmdir(sub);
    rmdir(cwd);
}

static void test_a_directory_that_cannot_be(void **state)
{
    struct world *w = *state;
    char path[64];
    snprintf(path, sizeof(path), "/tmp/cella-test-file-%d", (int)getpid());
    int fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    close(fd);
    struct session *s = create_with(w, (struct session_request){.cwd = path});
    unlink(path);
    assert_int_equal(s->state, SESSION_DEAD);
    assert_int_equal(s->ending.wish, DEATH_BY_SETUP);
    assert_string_equal(s->death.name, "NotStarted");
    assert_non_null(strstr(s->death.message, path));
}

/* Its cell is being killed for its time limit, after which the session would have gone back. */
static void test_one_that_is_about_to_go_back_is_deleted(void **state)
{
    struct world *w = *state;
    struct heard h = {0};
    struct session *s = create(w, NULL);
    s->timeline.mode = TIMELINE_AUTO;
    begin(s, "import time; time.sleep(60)", 60000, 4000, &h);
    session_kill(s, DEATH_BY_LIMIT, NULL);
    assert_int_not_equal(s->state, SESSION_DEAD);
    session_delete(s);
    assert_true(h.is_over);
}

/* ---- sharing a jail -------------------------------------------------------------------------- */

static void test_join(void **state)
{
    struct world *w = *state;
    struct err e;
    struct session *other;
    struct session *first = create(w, NULL);
    struct session *second = create_with(w, (struct session_request){.join = first});
    assert_string_equal(second->joined, first->id);
    assert_string_not_equal(second->id, first->id);
    assert_ptr_equal(second->head->room, first->head->room);
    struct jail_limits limits = JAIL_LIMITS_DEFAULT;
    struct session_request request = {.runtime = &runtime_python, .join = first, .limits = &limits};
    assert_int_equal(session_create(w->engine, &request, &other, &e), -1);
    assert_int_equal(e.code, ERR_INVALID);
    struct heard h;
    run(w, first, "import os; os._exit(1)", &h);
    assert_int_equal(h.status, CELL_DIED);
    request.limits = NULL;
    assert_int_equal(session_create(w->engine, &request, &other, &e), -1);
    assert_int_equal(e.code, ERR_CONFLICT);
    run(w, second, "40 + 2", &h);
    assert_string_equal(h.value, "42");
}

/* ---- ends by themselves ---------------------------------------------------------------------- */

static void test_idle_session_ends(void **state)
{
    struct world *w = *state;
    struct heard h;
    uint32_t one = 1, never = 0;
    struct session *kept = create_with(w, (struct session_request){.idle_timeout_secs = &never});
    struct session *s = create_with(w, (struct session_request){.idle_timeout_secs = &one});
    uint64_t began_ms = clock_mono_ms();
    run(w, s, "import time; time.sleep(1.3)", &h); /* a cell that runs is no idleness */
    assert_int_equal(h.status, CELL_COMPLETED);
    WAIT_FOR(w, s->state == SESSION_DEAD);
    assert_true(clock_mono_ms() - began_ms >= 2300);
    assert_string_equal(s->death.name, "IdleLimit");
    assert_non_null(strstr(s->death.message, "for 1 s"));
    assert_int_equal(kept->state, SESSION_IDLE);
}

static void test_old_session_ends(void **state)
{
    struct world *w = *state;
    struct heard h;
    struct session *s = create(w, NULL);
    begin(s, "import time; time.sleep(30)", 30000, 1000, &h);
    s->life.max_age_secs = 1;
    s->life.born_ms = clock_mono_ms();
    lifespan_watch(s);
    WAIT_FOR(w, h.is_over);
    assert_int_equal(h.status, CELL_DIED);
    assert_string_equal(h.error, "AgeLimit");
    assert_int_equal(s->state, SESSION_DEAD);
}

/* ---- the end of the warden ------------------------------------------------------------------- */

static int set_up_pool(void **state)
{
    return set_up_with(state, 1);
}

static void lose_warden(bool is_final)
{
    for (size_t i = 0; i < fake.n_heads; i++) {
        if (fake.heads[i].pid == 0)
            continue;
        kill(-fake.heads[i].pid, SIGKILL);
        waitpid(fake.heads[i].pid, NULL, 0);
        fake.heads[i].pid = 0;
    }
    fake.on_event(fake.context, &(struct warden_event){
                                    .type = WARDEN_LOST, .is_final = is_final, .text = "it fell"});
}

static void test_a_new_warden_serves_new_sessions(void **state)
{
    struct world *w = *state;
    struct err e;
    struct session *none;
    WAIT_FOR(w, w->is_ready && pool_n_ready(engine_pool(w->engine)) == 1);
    struct session *s = create_with(w, (struct session_request){0});
    lose_warden(false);
    assert_false(w->is_lost);
    assert_int_equal(s->state, SESSION_DEAD);
    assert_string_equal(s->death.name, "SandboxLost");
    assert_non_null(strstr(s->death.message, "it fell"));
    assert_int_equal(pool_n_ready(engine_pool(w->engine)), 0);

    /* Until there is one, nobody waits in vain. */
    assert_int_equal(
        session_create(w->engine, &(struct session_request){.runtime = &runtime_python}, &none, &e),
        -1);
    assert_int_equal(e.code, ERR_UNAVAILABLE);
    assert_non_null(strstr(e.message, "keeps the sandboxes"));

    unsigned n_started = fake.n_started;
    fake.on_event(fake.context, &(struct warden_event){.type = WARDEN_BACK, .text = ""});
    assert_true(w->is_back);
    WAIT_FOR(w, pool_n_ready(engine_pool(w->engine)) == 1);
    assert_int_equal(fake.n_started, n_started + 1);
    s = create_with(w, (struct session_request){0});
    assert_int_equal(s->state, SESSION_IDLE);
    lose_warden(true);
    assert_true(w->is_lost);
    assert_int_equal(s->state, SESSION_DEAD);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
        cmocka_unit_test(test_directories),
        cmocka_unit_test(test_environments),
        TEST(test_a_session_is_set_up),
        TEST(test_a_directory_that_cannot_be),
        TEST(test_one_that_is_about_to_go_back_is_deleted),
        TEST(test_join),
        TEST(test_idle_session_ends),
        TEST(test_old_session_ends),
        cmocka_unit_test_setup_teardown(test_a_new_warden_serves_new_sessions, set_up_pool,
                                        tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
