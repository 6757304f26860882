/* `cella pipe`: run requests from standard input, for programs. Command line tool. */
#include "base/clock.h"
#include "cli/api.h"
#include "cli/args.h"
#include "cli/pipe_frames.h"
#include "cli/terminal.h"

#include <errno.h>
#include <poll.h>

enum { PIPE_READ_STEP = 64 * 1024 };

#define REQUEST_MAX (96 * MIB) /* a state of 64 MiB in base64, and the code */
#define ANSWER_MAX (1024 * MIB)

static const struct cli_flag pipe_flags[] = {
    {"runtime", 'r', "NAME", "of requests that name none: python (the default), node, bash"},
    {"profile", 'p', "NAME", "likewise: what is imported already (see the configuration)"},
    {"timeout", 't', "DURATION", "likewise: stop the code after this time (30s)"},
    {0},
};

/* What a request gets that does not say it itself. */
struct defaults {
    const char *runtime, *profile;
    int64_t timeout_ms; /* 0: the daemon's */
};

struct filter {
    struct cli_client *client;
    struct defaults defaults;
    struct pipe_reader reader;
    bool has_failed; /* a request was cut off by the end of the input */
    bool is_closed;  /* nobody reads the answers any more */
};

/* ---- answers --------------------------------------------------------------------------------- */

static void pipe_write_out(struct filter *f, const char *text, size_t len)
{
    size_t done = 0;
    if (!f->is_closed && cli_write(STDOUT_FILENO, text, len, &done) < 0)
        f->is_closed = true;
}

static void respond(struct filter *f, const char *json, size_t len)
{
    static const char start[] = PIPE_RESPONSE_START "\n", end[] = "\n" PIPE_RESPONSE_END "\n";
    pipe_write_out(f, start, sizeof(start) - 1);
    pipe_write_out(f, json, len);
    pipe_write_out(f, end, sizeof(end) - 1);
}

/* A request that could not be run is answered as if its code had failed: whoever reads answers of
 * this shape needs no other. */
static void respond_failure(struct filter *f, const struct err *e)
{
    _buf_ struct buf out = BUF_INIT(64 * KIB), text = BUF_INIT(32 * KIB);
    buf_append_str(&text, e->message);
    if (e->advice[0] != '\0')
        buf_printf(&text, "\n%s", e->advice);
    struct json_out json = JSON_OUT(&out);
    json_put_object(&json);
    json_put_member_str(&json, "stdout", "");
    json_put_member_text(&json, "stderr", buf_str(&text), text.len);
    json_put_member_int(&json, "exit_code", CLI_EXIT_FAILED);
    json_put_member_null(&json, "state");
    json_put_key(&json, "files");
    json_put_array(&json);
    json_put_array_end(&json);
    json_put_member_str(&json, "error", e->message);
    json_put_object_end(&json);
    respond(f, buf_str(&out), out.len);
}

static void respond_problem(struct filter *f, enum pipe_event event)
{
    struct err e;
    if (event == PIPE_TOO_LARGE) {
        err_set(&e, ERR_TOO_LARGE, "the request is larger than %lld MB",
                (long long)(REQUEST_MAX / MIB));
        err_advise(&e, "Keep large data in files, or the state on the daemon under a name.");
    } else {
        err_set(&e, ERR_INVALID, "the request was not ended by " PIPE_REQUEST_END);
        err_advise(&e, "Put it on a line of its own behind the JSON.");
    }
    respond_failure(f, &e);
}

/* ---- requests -------------------------------------------------------------------------------- */

static void set_default(json_t *request, const char *name, json_t *value)
{
    if (json_object_get(request, name) == NULL)
        json_object_set(request, name, value);
    json_decref(value);
}

static int forward(struct filter *f, const char *text, size_t len, json_t **ret_answer,
                   struct err *e)
{
    const struct defaults *d = &f->defaults;
    _json_ json_t *request = NULL;
    if (json_read_object(text, len, &request, e) < 0)
        return -1;
    if (d->runtime != NULL)
        set_default(request, "runtime", json_string(d->runtime));
    if (d->profile != NULL)
        set_default(request, "profile", json_string(d->profile));
    if (d->timeout_ms > 0)
        set_default(request, "timeout_ms", json_integer(d->timeout_ms));
    char *body = json_dumps(request, JSON_COMPACT);
    if (body == NULL)
        return err_set(e, ERR_INVALID, "the request cannot be sent");
    struct cli_request ask = {
        .method = "POST", .path = "/v1/exec", .body = body, .body_len = strlen(body)};
    int status = cli_api_call(f->client, &ask, ret_answer, e);
    free(body);
    return status;
}

static void pipe_serve(struct filter *f)
{
    struct err e;
    _json_ json_t *answer = NULL;
    const struct buf *body = &f->reader.body;
    if (forward(f, buf_str(body), body->len, &answer, &e) < 0) {
        respond_failure(f, &e);
        return;
    }
    _buf_ struct buf text = BUF_INIT(ANSWER_MAX);
    struct json_out out = JSON_OUT(&text);
    json_put_value(&out, answer);
    respond(f, buf_str(&text), text.len);
}

static int pipe_read_all(struct filter *f, struct err *e)
{
    char chunk[PIPE_READ_STEP];
    while (!f->is_closed) {
        int ready = cli_wait(STDIN_FILENO, POLLIN, 0);
        if (ready == -EINTR)
            return 128 + cli_signal_taken();
        ssize_t n = read(STDIN_FILENO, chunk, sizeof(chunk));
        if (n < 0 && errno != EAGAIN)
            return err_errno(e, ERR_UNAVAILABLE, errno, "standard input");
        if (n == 0)
            break;
        const char *data = chunk;
        size_t len = (size_t)MAX(n, (ssize_t)0);
        while (len > 0 && !f->is_closed) {
            size_t used;
            enum pipe_event event = pipe_feed(&f->reader, data, len, &used);
            data += used;
            len -= used;
            if (event == PIPE_REQUEST)
                pipe_serve(f);
            else if (event != PIPE_MORE)
                respond_problem(f, event);
        }
    }
    if (pipe_end(&f->reader) == PIPE_CUT_OFF) {
        f->has_failed = true;
        respond_problem(f, PIPE_CUT_OFF);
    }
    return f->is_closed ? CLI_EXIT_PIPE : f->has_failed;
}

/* ---- being ready ----------------------------------------------------------------------------- */

/* The one of that name, or the default one. */
static const json_t *pipe_find_profile(const json_t *health, const char *name)
{
    const json_t *sandbox = json_object_get(health, "sandbox");
    const json_t *profiles = json_object_get(sandbox, "profiles");
    const char *wanted = name != NULL ? name : cli_json_text(sandbox, "default_profile", NULL);
    for (size_t i = 0; wanted != NULL && i < json_array_size(profiles); i++) {
        const json_t *profile = json_array_get(profiles, i);
        const char *own = cli_json_text(profile, "profile", NULL);
        if (own != NULL && strcmp(own, wanted) == 0)
            return profile;
    }
    return NULL;
}

/* The first line: whoever reads it knows that code can be run, and with what. */
static int tell_ready(struct filter *f, struct err *e)
{
    _json_ json_t *health = NULL;
    if (cli_api_get(f->client, "GET", "/health/detailed", &health, e) < 0)
        return -1;
    const json_t *profile = pipe_find_profile(health, f->defaults.profile);
    json_t *modules = json_object_get(profile, "preloaded_modules");
    json_t *version = json_object_get(profile, "python_version");
    _json_ json_t *line = json_pack(
        "{ss so so ss}", "status", "ready", "preloaded_modules",
        modules != NULL ? json_incref(modules) : json_array(), "python_version",
        version != NULL ? json_incref(version) : json_null(), "working_dir", "/workspace");
    char *text = json_dumps(line, JSON_COMPACT);
    if (text == NULL)
        return err_set(e, ERR_INTERNAL, "the daemon's answer makes no sense");
    pipe_write_out(f, text, strlen(text));
    pipe_write_out(f, "\n", 1);
    free(text);
    return 0;
}

static int filter(const struct cli_args *args, struct cli_client *c, void *context, struct err *e)
{
    (void)args;
    struct filter f = {.client = c,
                       .defaults = *(const struct defaults *)context,
                       .reader = PIPE_READER_INIT(REQUEST_MAX)};
    int status = tell_ready(&f, e);
    if (status == 0)
        status = pipe_read_all(&f, e);
    pipe_reader_free(&f.reader);
    return status;
}

static int pipe_run(const struct cli_args *args, struct err *e)
{
    struct defaults defaults = {.runtime = cli_value(args, "runtime"),
                                .profile = cli_value(args, "profile")};
    const char *timeout = cli_value(args, "timeout");
    if (args->n_words > 0) {
        err_set(e, ERR_INVALID, "pipe takes no arguments");
        return err_advise(e, "requests come on standard input; see: cella pipe --help");
    }
    if (timeout != NULL && cli_parse_duration(timeout, &defaults.timeout_ms, e) < 0)
        return -1;
    cli_signals_take();
    return cli_client_with(args, true, filter, &defaults, e);
}

const struct cli_verb cli_pipe_verb = {
    .name = "pipe",
    .subject = OP_ON_CODE,
    .summary = "run requests from standard input, for programs",
    .usage = "[OPTION...]",
    .about =
        "A filter: reads requests from standard input, runs each once in a sandbox of its own\n"
        "that ends with it, and writes the answers to standard output, in the same order. The\n"
        "first line is {\"status\":\"ready\",...}; then each request is a JSON object between two\n"
        "lines, and so is each answer:\n"
        "\n"
        "  >>> REQUEST_START <<<\n"
        "  {\"code\": \"print('Hello')\", \"state\": null, \"capture_state\": false}\n"
        "  >>> REQUEST_END <<<\n"
        "\n"
        "  >>> RESPONSE_START <<<\n"
        "  "
        "{\"stdout\":\"Hello\\n\",\"stderr\":\"\",\"exit_code\":0,\"state\":null,\"files\":[],...}"
        "\n"
        "  >>> RESPONSE_END <<<\n"
        "\n"
        "Members of a request are those of POST /v1/exec. What cannot be run at all is answered\n"
        "in the same shape, with an exit_code of 1. Lines between requests are skipped. It ends\n"
        "with its input. A daemon is started if none runs.",
    .flags = pipe_flags,
    .is_client = true,
    .examples =
        "cella pipe --profile min\n"
        "printf '>>> REQUEST_START <<<\\n{\"code\":\"6*7\"}\\n>>> REQUEST_END <<<\\n' | cella pipe",
    .run = pipe_run,
};
