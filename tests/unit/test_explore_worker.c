/* Texts through the whole way: a box is this program, run again. */
#include "base/buf.h"
#include "explore/explore.h"
#include "explore/worker.h"
#include "loop/loop.h"
#include "unit.h"
#include "wire/json.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>

struct world {
    uv_loop_t loop;
    struct explore_worker *worker;
};

struct answer {
    unsigned n; /* how often it came */
    json_t *result;
    struct err err;
};

static void on_answer(void *context, json_t *result, const struct err *e)
{
    struct answer *answer = context;
    answer->n++;
    answer->result = json_incref(result);
    answer->err = e != NULL ? *e : (struct err){0};
}

static int setup(void **state)
{
    struct world *w = mem_alloc(sizeof(*w));
    uv_loop_init(&w->loop);
    w->worker = explore_worker_new(&w->loop);
    *state = w;
    return 0;
}

/* Whatever a test did, nothing of it is left. */
static int teardown(void **state)
{
    struct world *w = *state;
    explore_worker_free(w->worker);
    uv_run(&w->loop, UV_RUN_DEFAULT);
    int rc = uv_loop_close(&w->loop);
    free(w);
    return rc != 0 || waitpid(-1, NULL, WNOHANG) != -1 || errno != ECHILD;
}

/* Keys are names here: nothing of them is looked at. */
static struct explore_source source(const char *key, const void *data, size_t len)
{
    struct explore_source s = {.fd = memfd_create("text", MFD_CLOEXEC)};
    snprintf(s.key, sizeof(s.key), "%s", key);
    assert_int_equal(write(s.fd, data, len), len);
    return s;
}

static struct explore_ask *ask(struct world *w, json_t *request, const struct explore_source *s,
                               struct answer *answer)
{
    struct err e;
    *answer = (struct answer){0};
    struct explore_ask *asked =
        explore_ask(w->worker, request, s, s != NULL, PATIENCE_MS, on_answer, answer, &e);
    assert_non_null(asked);
    assert_int_equal(answer->n, 0);
    return asked;
}

static void wait_for(struct world *w, const struct answer *answer)
{
    while (answer->n == 0)
        uv_run(&w->loop, UV_RUN_ONCE);
    assert_int_equal(answer->n, 1);
}

static struct answer asked(struct world *w, json_t *request, const struct explore_source *s)
{
    struct answer answer;
    ask(w, request, s, &answer);
    wait_for(w, &answer);
    return answer;
}

static json_t *result_of(struct world *w, json_t *request, const struct explore_source *s)
{
    struct answer answer = asked(w, request, s);
    if (answer.result == NULL)
        fail_msg("%s", answer.err.message);
    return answer.result;
}

static json_int_t number(const json_t *result, const char *name)
{
    assert_true(json_is_integer(json_object_get(result, name)));
    return json_integer_value(json_object_get(result, name));
}

static const char *text_of(const json_t *result, const char *name)
{
    assert_true(json_is_string(json_object_get(result, name)));
    return json_string_value(json_object_get(result, name));
}

static json_t *peek(const char *key, json_int_t n, json_int_t offset)
{
    return json_pack("{s:s,s:s,s:I,s:I}", "op", "peek", "source", key, "n", n, "offset", offset);
}

/* ---- tests ----------------------------------------------------------------------------------- */

static void a_text_is_opened_and_peeked_at(void **state)
{
    struct world *w = *state;
    static const char text[] = "gr\xc3\xbc\xc3\x9f dich\nsecond \xff line";
    struct explore_source s = source("one", text, sizeof(text) - 1);
    assert_int_equal(explore_worker_pid(w->worker), 0);
    _json_ json_t *opened = result_of(w, json_pack("{s:s,s:s}", "op", "open", "source", "one"), &s);
    assert_int_equal(number(opened, "bytes"), sizeof(text) - 1);
    assert_int_equal(number(opened, "chars"), sizeof(text) - 3);
    assert_int_equal(number(opened, "lines"), 2);
    assert_true(json_is_true(json_object_get(opened, "is_text")));
    pid_t pid = explore_worker_pid(w->worker);
    assert_true(pid > 0);
    _json_ json_t *peeked = result_of(w, peek("one", 4, 2), &s);
    assert_string_equal(text_of(peeked, "text"), "\xc3\xbc\xc3\x9f d");
    assert_int_equal(number(peeked, "offset"), 2);
    assert_int_equal(number(peeked, "chars"), sizeof(text) - 3);
    _json_ json_t *invalid = result_of(w, peek("one", 8, 14), &s);
    assert_string_equal(text_of(invalid, "text"), "nd \xef\xbf\xbd lin");
    assert_int_equal(explore_worker_pid(w->worker), pid);
    close(s.fd);
}

static json_t *grep(const char *key, const char *pattern, json_int_t context, json_int_t max)
{
    return json_pack("{s:s,s:s,s:s,s:I,s:I}", "op", "grep", "source", key, "pattern", pattern,
                     "context_lines", context, "max_results", max);
}

static const json_t *hit(const json_t *result, size_t i)
{
    const json_t *found = json_array_get(json_object_get(result, "hits"), i);
    assert_non_null(found);
    return found;
}

static void a_text_is_searched(void **state)
{
    struct world *w = *state;
    static const char text[] = "one\ntwo\nThree err 5\r\nfour\nfive Err 66\nsix";
    struct explore_source s = source("t", text, sizeof(text) - 1);
    _json_ json_t *found = result_of(w, grep("t", "err \\d+", 2, 100), &s);
    assert_int_equal(number(found, "count"), 2);
    assert_false(json_is_true(json_object_get(found, "is_cut")));
    assert_int_equal(number(hit(found, 0), "line"), 3);
    assert_string_equal(text_of(hit(found, 0), "text"), "Three err 5");
    _json_ json_t *before = json_pack("[s,s]", "one", "two");
    _json_ json_t *after = json_pack("[s]", "six");
    assert_true(json_equal(json_object_get(hit(found, 0), "before"), before));
    assert_true(json_equal(json_object_get(hit(found, 1), "after"), after));
    _json_ json_t *cut = result_of(w, grep("t", "err", 0, 1), &s);
    assert_int_equal(number(cut, "count"), 1);
    assert_true(json_is_true(json_object_get(cut, "is_cut")));
    struct answer wrong = asked(w, grep("t", "(", 0, 1), &s);
    assert_null(wrong.result);
    assert_int_equal(wrong.err.code, ERR_INVALID);
    assert_non_null(strstr(wrong.err.message, "position 1"));
    close(s.fd);
}

/* The part of a long line that is shown has the match; answers have a limit whatever is asked. */
static void long_lines_and_large_answers_are_cut(void **state)
{
    struct world *w = *state;
    enum { N = 4000000 };
    _free_ char *text = mem_alloc(N);
    memset(text, 'x', N);
    memcpy(text + N - 3000, "needle", 6);
    struct explore_source s = source("long", text, N);
    _json_ json_t *found = result_of(w, grep("long", "needle", 2, 100), &s);
    assert_int_equal(number(hit(found, 0), "column"), N - 3000 - 100);
    assert_int_equal(strlen(text_of(hit(found, 0), "text")), EXPLORE_LINE_CHARS);
    assert_non_null(strstr(text_of(hit(found, 0), "text"), "needle"));
    _json_ json_t *peeked = result_of(w, peek("long", N, 0), &s);
    assert_true(json_is_true(json_object_get(peeked, "is_cut")));
    size_t len = strlen(text_of(peeked, "text"));
    assert_true(len > EXPLORE_ANSWER_MAX / 2 && len < EXPLORE_ANSWER_MAX);
    close(s.fd);
    for (size_t i = 0; i < N; i++)
        text[i] = i % 100 == 0 ? '\n' : i % 2 == 0 ? '\0' : 'x';
    struct explore_source controls = source("controls", text, N);
    _json_ json_t *many = result_of(w, grep("controls", "x", 50, 10000), &controls);
    assert_true(json_is_true(json_object_get(many, "is_cut")));
    assert_int_equal(json_array_size(json_object_get(many, "hits")), number(many, "count"));
    assert_true(number(many, "count") > 10);
    close(controls.fd);
}

static void chunks_cover_a_text(void **state)
{
    struct world *w = *state;
    struct explore_source s = source("t", "0123456789", 10);
    json_t *request =
        json_pack("{s:s,s:s,s:i,s:i}", "op", "chunk", "source", "t", "n_chunks", 3, "overlap", 2);
    _json_ json_t *got = result_of(w, request, &s);
    _json_ json_t *wanted = json_loads("[{\"index\":0,\"start\":0,\"end\":6,\"char_count\":6},"
                                       "{\"index\":1,\"start\":4,\"end\":10,\"char_count\":6},"
                                       "{\"index\":2,\"start\":8,\"end\":10,\"char_count\":2}]",
                                       0, NULL);
    assert_true(json_equal(json_object_get(got, "chunks"), wanted));
    close(s.fd);
}

/* More texts than are held: the one that was not used for longest goes, and comes again. */
static void the_least_used_text_goes(void **state)
{
    struct world *w = *state;
    char key[16];
    struct explore_source kept = source("key0", "key0", 4);
    for (int i = 0; i <= EXPLORE_SOURCES_MAX; i++) {
        snprintf(key, sizeof(key), "key%d", i);
        struct explore_source s = source(key, key, strlen(key));
        _json_ json_t *peeked = result_of(w, peek(key, 10, 0), &s);
        assert_string_equal(text_of(peeked, "text"), key);
        close(s.fd);
        /* The first is used again and again. */
        _json_ json_t *first = result_of(w, peek("key0", 10, 0), &kept);
        assert_string_equal(text_of(first, "text"), "key0");
    }
    close(kept.fd);
    struct answer gone = asked(w, peek("key1", 10, 0), NULL);
    assert_int_equal(gone.err.code, ERR_NOT_FOUND);
    struct explore_source again = source("key1", "again", 5);
    _json_ json_t *peeked = result_of(w, peek("key1", 10, 0), &again);
    assert_string_equal(text_of(peeked, "text"), "again");
    close(again.fd);
}

static void what_cannot_be_mapped_is_told(void **state)
{
    struct world *w = *state;
    struct explore_source pipe_end = {.key = "pipe", .fd = open("/dev/zero", O_RDONLY | O_CLOEXEC)};
    struct answer answer = asked(w, peek("pipe", 1, 0), &pipe_end);
    assert_int_equal(answer.err.code, ERR_UNAVAILABLE);
    close(pipe_end.fd);
    struct explore_source good = source("pipe", "good", 4);
    _json_ json_t *peeked = result_of(w, peek("pipe", 10, 0), &good);
    assert_string_equal(text_of(peeked, "text"), "good");
    struct explore_source empty = source("empty", "", 0);
    _json_ json_t *opened =
        result_of(w, json_pack("{s:s,s:s}", "op", "open", "source", "empty"), &empty);
    assert_int_equal(number(opened, "lines"), 0);
    struct answer unknown = asked(w, json_pack("{s:s}", "op", "fly"), NULL);
    assert_int_equal(unknown.err.code, ERR_INVALID);
    close(good.fd);
    close(empty.fd);
}

/* A text that becomes shorter ends the process, and nothing else. */
static void a_text_that_shrinks_is_told(void **state)
{
    struct world *w = *state;
    _free_ char *text = mem_alloc(MIB);
    memset(text, 'x', MIB);
    struct explore_source s = source("shrinks", text, MIB), other = source("stays", "here", 4);
    json_decref(result_of(w, peek("shrinks", 10, 0), &s));
    pid_t pid = explore_worker_pid(w->worker);
    assert_int_equal(ftruncate(s.fd, 10), 0);
    struct answer answer = asked(w, peek("shrinks", 10, MIB - 100), &s);
    assert_null(answer.result);
    assert_int_equal(answer.err.code, ERR_CONFLICT);
    assert_non_null(strstr(answer.err.message, "shorter"));
    _json_ json_t *next = result_of(w, peek("stays", 10, 0), &other);
    assert_string_equal(text_of(next, "text"), "here");
    assert_int_not_equal(explore_worker_pid(w->worker), pid);
    close(s.fd);
    close(other.fd);
}

static struct explore_source slow_source(void)
{
    enum { N = 64 << 20 };
    char *text = mem_alloc(N);
    for (size_t i = 0; i < N; i++)
        text[i] = i % 30 == 0 ? '\n' : 'a';
    struct explore_source s = source("slow", text, N);
    free(text);
    return s;
}

static void what_takes_too_long_is_killed(void **state)
{
    struct world *w = *state;
    struct explore_source s = slow_source(), other = source("stays", "here", 4);
    struct answer late = {0}, counted = {0}, next = {0};
    struct err e;
    assert_non_null(explore_ask(w->worker, grep("slow", "^(a+a*)+[b]$", 0, 100), &s, 1, 1,
                                on_answer, &late, &e));
    assert_non_null(explore_ask(w->worker, json_pack("{s:s, s:s}", "op", "open", "source", "slow"),
                                &s, 1, 1, on_answer, &counted, &e));
    assert_non_null(
        explore_ask(w->worker, peek("stays", 10, 0), &other, 1, PATIENCE_MS, on_answer, &next, &e));
    close(s.fd);
    close(other.fd);
    wait_for(w, &next);
    assert_int_equal(late.n, 1);
    assert_int_equal(late.err.code, ERR_TIMEOUT);
    assert_true(late.err.advice[0] != '\0');
    assert_int_equal(counted.err.code, ERR_TIMEOUT);
    assert_string_equal(text_of(next.result, "text"), "here");
    json_decref(next.result);
}

static void many_wait_and_more_are_refused(void **state)
{
    struct world *w = *state;
    struct explore_source s = source("one", "text", 4);
    struct answer answers[EXPLORE_QUEUE_MAX];
    struct err e;
    for (size_t i = 0; i < EXPLORE_QUEUE_MAX; i++)
        ask(w, peek("one", (json_int_t)i, 0), &s, &answers[i]);
    assert_null(explore_ask(w->worker, peek("one", 1, 0), &s, 1, PATIENCE_MS, on_answer, NULL, &e));
    assert_int_equal(e.code, ERR_LIMIT);
    close(s.fd);
    for (size_t i = 0; i < EXPLORE_QUEUE_MAX; i++) {
        wait_for(w, &answers[i]);
        assert_int_equal(strlen(text_of(answers[i].result, "text")), MIN(i, 4u));
        json_decref(answers[i].result);
    }
}

static void who_is_forgotten_is_silent(void **state)
{
    struct world *w = *state;
    struct explore_source s = source("one", "text", 4);
    struct answer answers[3];
    struct explore_ask *asks[3];
    for (size_t i = 0; i < ARRAY_LEN(asks); i++)
        asks[i] = ask(w, peek("one", 4, 0), &s, &answers[i]);
    uv_run(&w->loop, UV_RUN_NOWAIT);
    explore_ask_forget(asks[0]); /* at work, or about to be */
    explore_ask_forget(asks[2]); /* waits */
    explore_ask_forget(NULL);
    wait_for(w, &answers[1]);
    assert_string_equal(text_of(answers[1].result, "text"), "text");
    json_decref(answers[1].result);
    assert_int_equal(answers[0].n + answers[2].n, 0);
    close(s.fd);
}

static void the_end_ends_all(void **state)
{
    struct world *w = *state;
    struct explore_source s = slow_source();
    struct answer answers[3];
    for (size_t i = 0; i < ARRAY_LEN(answers); i++)
        ask(w, grep("slow", "b", 0, 1), &s, &answers[i]);
    uv_run(&w->loop, UV_RUN_NOWAIT);
    explore_worker_free(take_ptr(w->worker));
    close(s.fd);
    uv_run(&w->loop, UV_RUN_DEFAULT);
    assert_int_equal(answers[0].n + answers[1].n + answers[2].n, 0);
}

/* Without requests the process goes by itself, and the next request starts another. The scale of
 * built-in waits is set in main. */
static void an_idle_process_goes(void **state)
{
    struct world *w = *state;
    struct explore_source s = source("one", "text", 4);
    json_decref(result_of(w, peek("one", 4, 0), &s));
    pid_t pid = explore_worker_pid(w->worker);
    struct answer forgotten;
    explore_ask_forget(ask(w, peek("one", 4, 0), &s, &forgotten)); /* before it began */
    uv_run(&w->loop, UV_RUN_DEFAULT); /* to where nothing is left that could wake it */
    assert_int_equal(explore_worker_pid(w->worker), 0);
    assert_int_equal(kill(pid, 0), -1);
    _json_ json_t *second = result_of(w, peek("one", 4, 0), &s);
    assert_string_equal(text_of(second, "text"), "text");
    close(s.fd);
}

/* A process that ends while nobody asks is noticed, and nobody is told. */
static void a_process_that_ended_is_replaced(void **state)
{
    struct world *w = *state;
    struct explore_source s = source("one", "text", 4);
    json_decref(result_of(w, peek("one", 4, 0), &s));
    kill(explore_worker_pid(w->worker), SIGKILL);
    while (explore_worker_pid(w->worker) != 0)
        uv_run(&w->loop, UV_RUN_ONCE);
    _json_ json_t *second = result_of(w, peek("one", 4, 0), &s);
    assert_string_equal(text_of(second, "text"), "text");
    close(s.fd);
}

/* ---- walls ----------------------------------------------------------------------------------- */

/* The walls, as whoever took the box over would meet them. */
static void walls_hold(void **state)
{
    (void)state;
    static const char *const tries[] = {"open",  "socket", "fork",   "exec-file", "exec-later",
                                        "write", "kill",   "stderr", "thread",    "send"};
    for (size_t i = 0; i < ARRAY_LEN(tries); i++) {
        pid_t pid = fork();
        if (pid == 0) {
            execl("/proc/self/exe", "test", "walls", tries[i], NULL);
            _exit(99);
        }
        int status;
        assert_int_equal(waitpid(pid, &status, 0), pid);
        if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGSYS)
            fail_msg("%s was possible: status %x", tries[i], (unsigned)status);
    }
}

/* ---- the box that tries its walls ------------------------------------------------------------ */

static void *do_nothing(void *context)
{
    return context;
}

static int try_walls(const char *what)
{
    pthread_t thread;
    int text = memfd_create("text", MFD_CLOEXEC);
    if (dup2(text, STDIN_FILENO) < 0 || ftruncate(STDIN_FILENO, 4096) < 0)
        return 98;
    void *page = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (explore_box_close() < 0)
        return 97;
    if (strcmp(what, "open") == 0)
        open("/etc/passwd", O_RDONLY | O_CLOEXEC);
    else if (strcmp(what, "socket") == 0)
        socket(1, 1, 0);
    else if (strcmp(what, "fork") == 0)
        fork();
    else if (strcmp(what, "exec-file") == 0)
        mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, STDIN_FILENO, 0);
    else if (strcmp(what, "exec-later") == 0)
        mprotect(page, 4096, PROT_READ | PROT_EXEC);
    else if (strcmp(what, "write") == 0)
        mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, STDIN_FILENO, 0);
    else if (strcmp(what, "kill") == 0)
        kill(getppid(), 0);
    else if (strcmp(what, "stderr") == 0 && write(2, "x", 1) < 0)
        _exit(96);
    else if (strcmp(what, "thread") == 0)
        pthread_create(&thread, NULL, do_nothing, NULL);
    else if (strcmp(what, "send") == 0)
        sendmsg(1, &(struct msghdr){0}, 0);
    _exit(0);
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], EXPLORE_BOX_WORD) == 0)
        return explore_box_main();
    if (argc == 3)
        return try_walls(argv[2]);
    setenv("CELLA_TEST_TIME_SCALE", "0.02", 1); /* idle after 1.2 s */
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_text_is_opened_and_peeked_at, setup, teardown),
        cmocka_unit_test_setup_teardown(a_text_is_searched, setup, teardown),
        cmocka_unit_test_setup_teardown(long_lines_and_large_answers_are_cut, setup, teardown),
        cmocka_unit_test_setup_teardown(chunks_cover_a_text, setup, teardown),
        cmocka_unit_test_setup_teardown(the_least_used_text_goes, setup, teardown),
        cmocka_unit_test_setup_teardown(what_cannot_be_mapped_is_told, setup, teardown),
        cmocka_unit_test_setup_teardown(a_text_that_shrinks_is_told, setup, teardown),
        cmocka_unit_test_setup_teardown(what_takes_too_long_is_killed, setup, teardown),
        cmocka_unit_test_setup_teardown(many_wait_and_more_are_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(who_is_forgotten_is_silent, setup, teardown),
        cmocka_unit_test_setup_teardown(the_end_ends_all, setup, teardown),
        cmocka_unit_test_setup_teardown(an_idle_process_goes, setup, teardown),
        cmocka_unit_test_setup_teardown(a_process_that_ended_is_replaced, setup, teardown),
        cmocka_unit_test(walls_hold),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
