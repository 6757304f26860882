/* Commands and servers that make vectors, in the daemon. Owns what is under way. */
#include "search/encoder.h"

#include "base/clock.h"
#include "base/fd.h"
#include "explore/fetch.h"
#include "explore/fetch_url.h"
#include "loop/box.h"
#include "wire/json.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/mman.h>

enum { ENCODER_ARGS_MAX = 60 };

/* Of the daemon; NULL before the first. */
static struct loop_boxes *encoder_commands;
static struct explore_boxes *encoder_servers;

struct search_encoding {
    json_t *command; /* NULL if a server is asked */
    int request, answer;
    struct loop_box *box;
    struct explore_job *job;
    search_encoded_fn fn;
    void *context;
};

void search_encoder_stop(void)
{
    loop_boxes_free(take_ptr(encoder_commands));
    explore_boxes_free(take_ptr(encoder_servers));
}

static void encoding_free(void *context)
{
    struct search_encoding *x = context;
    json_decref(x->command);
    cleanup_fd(&x->request);
    cleanup_fd(&x->answer);
    free(x);
}

void search_encoding_forget(struct search_encoding *x)
{
    if (x == NULL)
        return;
    if (x->box != NULL) {
        loop_box_forget(x->box); /* its on_freed frees it */
        return;
    }
    explore_job_forget(x->job);
    encoding_free(x);
}

/* ---- a command ------------------------------------------------------------------------------- */

static int encoding_on_start(void *context, pid_t *ret_pid)
{
    struct search_encoding *x = context;
    char *argv[ENCODER_ARGS_MAX + 1] = {NULL};
    sigset_t all, none;
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    for (size_t i = 0; i < MIN(json_array_size(x->command), (size_t)ENCODER_ARGS_MAX); i++)
        argv[i] = (char *)(uintptr_t)json_string_value(json_array_get(x->command, i));
    sigfillset(&all);
    sigemptyset(&none);
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
    posix_spawnattr_setsigdefault(&attributes, &all);
    posix_spawnattr_setsigmask(&attributes, &none);
    int error = posix_spawn_file_actions_adddup2(&actions, x->request, STDIN_FILENO);
    if (error == 0)
        error = posix_spawn_file_actions_adddup2(&actions, x->answer, STDOUT_FILENO);
    if (error == 0)
        error = posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    if (error == 0)
        error = posix_spawnp(ret_pid, argv[0], &actions, &attributes, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    return -error;
}

static void encoding_on_end(void *context, const struct loop_box_end *end)
{
    struct search_encoding *x = context;
    struct err e;
    const char *program = json_string_value(json_array_get(x->command, 0));
    bool is_done = end->how == BOX_EXITED && end->value == 0;
    x->box = NULL;
    if (end->how == BOX_FAILED)
        err_errno(&e, ERR_UPSTREAM, -end->value, "the encoder %.100s cannot be started", program);
    else if (end->how == BOX_LATE || end->how == BOX_CROWDED)
        err_set(&e, ERR_TIMEOUT, "the encoder %.100s took longer than %d s", program,
                ENCODER_MS / 1000);
    else
        err_set(&e, ERR_UPSTREAM, "the encoder %.100s ended with %s %d", program,
                end->how == BOX_EXITED ? "status" : "signal", end->value);
    x->fn(x->context, is_done ? x->answer : -1, is_done ? NULL : &e);
}

static int encoding_run(uv_loop_t *loop, struct search_encoding *x, struct err *e)
{
    static const struct loop_boxes_limits limits = {
        .at_work = 2, .waiting = 32, .queue_ms = ENCODER_MS};
    static const struct loop_box_events events = {
        .start = encoding_on_start, .on_end = encoding_on_end, .on_freed = encoding_free};
    if (encoder_commands == NULL)
        encoder_commands = loop_boxes_new(loop, &limits);
    x->box = loop_box_new(encoder_commands, clock_scaled_ms(ENCODER_MS), &events, x);
    return x->box != NULL ? 0 : err_set(e, ERR_LIMIT, "too many texts wait for the encoder");
}

/* ---- a server -------------------------------------------------------------------------------- */

static void encoding_on_fetched(void *context, json_t *result, const struct err *e)
{
    struct search_encoding *x = context;
    struct err bad;
    json_int_t status = json_integer_value(json_object_get(result, "status"));
    x->job = NULL;
    if (result != NULL && (status < 200 || status > 299)) {
        err_set(&bad, ERR_UPSTREAM, "the encoder's server answered with status %lld",
                (long long)status);
        e = &bad;
        result = NULL;
    }
    x->fn(x->context, result != NULL ? x->answer : -1, e);
    encoding_free(x);
}

static int encoding_fetch(uv_loop_t *loop, struct search_encoding *x, const json_t *setting,
                          const char *body, struct err *e)
{
    struct fetch_url parsed;
    const char *url = json_string_value(json_object_get(setting, "http"));
    char domain[FETCH_HOST_MAX + 16];
    const char *domains[] = {domain};
    if (url == NULL)
        url = json_string_value(json_object_get(setting, "openai"));
    if (url == NULL || fetch_url_parse(url, &parsed, e) < 0)
        return -1;
    bool is_six = strchr(parsed.host, ':') != NULL;
    snprintf(domain, sizeof(domain), "%s%s%s:%u", is_six ? "[" : "", parsed.host, is_six ? "]" : "",
             parsed.port);
    struct fetch_request request = {.url = url,
                                    .domains = domains,
                                    .n_domains = 1,
                                    .body = body,
                                    .headers = json_object_get(setting, "headers"),
                                    .to = fcntl(x->answer, F_DUPFD_CLOEXEC, 0)};
    if (encoder_servers == NULL)
        encoder_servers = explore_boxes_new(loop);
    x->job = fetch_page(encoder_servers, &request, encoding_on_fetched, x, e);
    return x->job != NULL ? 0 : -1;
}

/* ---- both ------------------------------------------------------------------------------------ */

struct search_encoding *search_encode(uv_loop_t *loop, const json_t *setting, json_t *texts,
                                      bool is_question, search_encoded_fn fn, void *context,
                                      struct err *e)
{
    json_t *model = json_object_get(setting, "model");
    _json_ json_t *body = json_object_get(setting, "openai") != NULL &&
                                  json_is_string(json_object_get(setting, "openai"))
                              ? json_pack("{s:O?, s:o}", "model", model, "input", texts)
                              : json_pack("{s:o, s:s}", "texts", texts, "input_type",
                                          is_question ? "query" : "document");
    _free_ char *text = json_dumps(body, JSON_COMPACT);
    struct search_encoding *x = mem_alloc(sizeof(*x));
    *x = (struct search_encoding){.fn = fn, .context = context};
    x->command = json_incref(json_object_get(setting, "command"));
    x->request = memfd_create("cella-texts", MFD_CLOEXEC);
    x->answer = memfd_create("cella-vectors", MFD_CLOEXEC);
    err_set(e, ERR_UNAVAILABLE, "there is no place for the texts to encode");
    bool is_ready = text != NULL && x->request >= 0 && x->answer >= 0 &&
                    fd_write_all(x->request, text, strlen(text)) == 0 &&
                    lseek(x->request, 0, SEEK_SET) == 0;
    int r = !is_ready            ? -1
            : x->command != NULL ? encoding_run(loop, x, e)
                                 : encoding_fetch(loop, x, setting, text, e);
    if (r == 0)
        return x;
    encoding_free(x);
    return NULL;
}
