/* `cella demo`: play a short, real demonstration. Command line tool. */
#include "base/clock.h"
#include "base/fd.h"
#include "cli/args.h"
#include "cli/cell.h"
#include "cli/launch.h"
#include "cli/terminal.h"
#include "jail/warden/idmap.h"

#include <signal.h>

enum { POOL_DEADLINE_MS = 5000, DEMO_WIDTH = 78, DEMO_BUDGET = 4 << 20 };

struct demo {
    struct cli_client *client;
    struct cli_session session;
    bool is_json, is_coloured;
    json_t *report; /* one object for each step */
};

/* What a step must give: a status, and text that must be found in its output. */
struct step {
    const char *title;
    const char *code;
    int64_t timeout_ms;
    const char *status;
    const char *expect; /* in the value, the error or stdout; NULL if nothing */
    bool expects_image;
};

static const struct step steps[] = {
    {"State is kept: one cell defines a name ...",
     "prices = [3.50, 2.25, 9.99]\n"
     "total = sum(prices)",
     5000, "ok", NULL, false},
    {"... and another cell uses it", "f'{len(prices)} things cost {total:.2f}'", 5000, "ok",
     "3 things cost 15.74", false},
    {"A table: pandas is already imported",
     "trips = pd.DataFrame({'city': ['Oslo', 'Rome', 'Oslo', 'Rome'],\n"
     "                      'km': [12.5, 3.0, 7.5, 9.0]})\n"
     "trips.to_csv('trips.csv', index=False)\n"
     "trips.groupby('city').km.agg(['count', 'sum', 'mean'])",
     10000, "ok", "Oslo", false},
    {"A plot comes back as an image",
     "x = np.linspace(0, 4 * np.pi, 400)\n"
     "plt.plot(x, np.sin(x) * np.exp(-x / 6))\n"
     "plt.show()",
     15000, "ok", NULL, true},
    {"A mistake: the traceback shows your lines",
     "def mean(numbers):\n"
     "    return sum(numbers) / len(numbers)\n"
     "\n"
     "mean([])",
     5000, "error", "ZeroDivisionError", false},
    {"An endless loop is stopped by its limit of 0.5 s",
     "n = 0\n"
     "while True:\n"
     "    n += 1",
     500, "timeout", NULL, false},
    {"The session is still there, and so is its state", "total, n > 0", 5000, "ok", "(15.74, True)",
     false},
};

/* Steps of other runtimes, in the sandbox of the Python session. */
static const struct {
    const char *runtime;
    struct step step;
} guests[] = {
    {"node",
     {"Node.js in the same sandbox reads the same file",
      "const text = require('fs').readFileSync('trips.csv', 'utf8')\n"
      "const kms = text.trim().split('\\n').slice(1).map(row => Number(row.split(',')[1]))\n"
      "Math.max(...kms)",
      5000, "ok", "12.5", false}},
    {"bash",
     {"And so does bash", "sort -t, -k2 -n trips.csv | tail -n 1", 5000, "ok", "Oslo,12.5", false}},
};

static const struct cli_session_spec data_session = {.profile = "data", .idle_timeout_secs = -1};

/* --- the layout ------------------------------------------------------------------------------- */

static const char *paint(const struct demo *d, const char *colour)
{
    return d->is_coloured ? colour : "";
}

static void append_margin(const struct demo *d, struct buf *out, const char *mark,
                          const char *colour, const char *text, size_t len)
{
    const char *end = text + len;
    while (text < end) {
        const char *line_end = memchr(text, '\n', (size_t)(end - text));
        size_t n = (size_t)((line_end != NULL ? line_end : end) - text);
        buf_printf(out, "   %s%s%s ", paint(d, colour), mark, paint(d, "\033[0m"));
        cli_append_safe(out, text, n, true);
        buf_append_char(out, '\n');
        text += n + (line_end != NULL);
    }
}

static void demo_append_member(const struct demo *d, struct buf *out, const json_t *object,
                               const char *name, const char *colour)
{
    size_t len = 0;
    const char *text = cli_json_text(object, name, &len);
    if (text != NULL)
        append_margin(d, out, " ", colour, text, len);
}

static void demo_append_output(const struct demo *d, struct buf *out, const json_t *output)
{
    if (!json_is_object(output))
        return;
    _buf_ struct buf text = BUF_INIT(1 * MIB);
    cli_describe_output(&text, output);
    append_margin(d, out, " ", "", buf_str(&text), text.len);
}

static void show_step(const struct demo *d, const struct step *step, const json_t *answer,
                      double took_ms)
{
    _buf_ struct buf out = BUF_INIT(4 * MIB);
    char took[32];
    snprintf(took, sizeof(took), "%.1f ms", took_ms);
    buf_printf(&out, "\n%s%-*s%s%s%10s%s\n", paint(d, "\033[1m"), DEMO_WIDTH - 10, step->title,
               paint(d, "\033[0m"), paint(d, "\033[36m"), took, paint(d, "\033[0m"));
    append_margin(d, &out, ">", "\033[34m", step->code, strlen(step->code));
    demo_append_member(d, &out, answer, "stdout", "");
    demo_append_member(d, &out, answer, "stderr", "");
    const json_t *outputs = json_object_get(answer, "outputs");
    for (size_t i = 0; i < json_array_size(outputs); i++)
        demo_append_output(d, &out, json_array_get(outputs, i));
    demo_append_output(d, &out, json_object_get(answer, "value"));
    _buf_ struct buf error = BUF_INIT(1 * MIB);
    cli_describe_error(&error, answer);
    append_margin(d, &out, " ", "", buf_str(&error), error.len);
    if (cli_cell_is_status(answer, "timeout"))
        demo_append_member(d, &out, json_object_get(answer, "error"), "message", "");
    fd_write_all(STDOUT_FILENO, buf_str(&out), out.len);
}

/* --- the steps -------------------------------------------------------------------------------- */

static bool demo_contains(const json_t *object, const char *name, const char *expected)
{
    size_t len = 0;
    const char *text = cli_json_text(object, name, &len);
    return text != NULL && memmem(text, len, expected, strlen(expected)) != NULL;
}

static bool has_image(const json_t *outputs)
{
    for (size_t i = 0; i < json_array_size(outputs); i++)
        if (demo_contains(json_array_get(outputs, i), "type", "image"))
            return true;
    return false;
}

static int check_step(const struct step *step, const json_t *answer, struct err *e)
{
    const json_t *error = json_object_get(answer, "error");
    const char *status = cli_json_text(answer, "status", NULL);
    if (strcmp(status, step->status) != 0) {
        const char *message = cli_json_text(error, "message", NULL);
        return err_set(e, ERR_INTERNAL,
                       "the step should end with '%s' but ended with '%.32s': %.256s", step->status,
                       status, message != NULL ? message : "no message");
    }
    if (step->expects_image && !has_image(json_object_get(answer, "outputs")))
        return err_set(e, ERR_INTERNAL, "the step should give an image");
    if (step->expect == NULL || demo_contains(answer, "stdout", step->expect) ||
        demo_contains(json_object_get(answer, "value"), "text", step->expect) ||
        demo_contains(error, "name", step->expect))
        return 0;
    return err_set(e, ERR_INTERNAL, "the step should say '%s'", step->expect);
}

static int play_step(struct demo *d, const char *session_id, const struct step *step, struct err *e)
{
    struct cli_cell cell = {
        .session_id = session_id,
        .code = step->code,
        .code_len = strlen(step->code),
        .timeout_ms = step->timeout_ms,
        .budget = DEMO_BUDGET,
        .yield_ms = -1,
    };
    _json_ json_t *answer = NULL;
    uint64_t started_ns = clock_mono_ns();
    int status = cli_cell_run(d->client, &cell, &answer, e);
    double took_ms = (double)(clock_mono_ns() - started_ns) / 1e6;
    if (status < 0)
        return err_context(e, "%s", step->title);
    if (!d->is_json)
        show_step(d, step, answer, took_ms);
    json_array_append_new(d->report,
                          json_pack("{s:s, s:s, s:f, s:O}", "title", step->title, "code",
                                    step->code, "duration_ms", took_ms, "answer", answer));
    return check_step(step, answer, e) < 0 ? err_context(e, "%s", step->title) : 0;
}

/* The data libraries are what a machine may lack. */
static int play_data_step(struct demo *d, const struct step *step, struct err *e)
{
    if (play_step(d, d->session.id, step, e) == 0)
        return 0;
    return err_advise(e, "are pandas and matplotlib installed for /usr/bin/python3? "
                         "(apt install python3-pandas python3-matplotlib)");
}

/* An interpreter that this machine does not have is no failure. */
static int play_guest(struct demo *d, size_t guest, struct err *e)
{
    struct cli_session_spec spec = {
        .runtime = guests[guest].runtime, .join = d->session.id, .idle_timeout_secs = -1};
    struct cli_session session;
    struct err why;
    if (cli_session_create(d->client, &spec, &session, &why) < 0) {
        if (!d->is_json)
            cli_say(STDOUT_FILENO, "\n%s is left out: %s\n", spec.runtime, why.message);
        return 0;
    }
    return play_step(d, session.id, &guests[guest].step, e);
}

/* The pool of ready sessions fills while the daemon is already up; what it is for is to be shown.
 */
static void await_pool(struct cli_client *client)
{
    uint64_t deadline_ms = clock_mono_ms() + POOL_DEADLINE_MS;
    struct err ignored;
    while (clock_mono_ms() < deadline_ms) {
        _json_ json_t *health = NULL;
        if (cli_api_get(client, "GET", "/health", &health, &ignored) < 0 ||
            cli_json_int(health, "pooled", 1) > 0)
            return;
        if (cli_wait(-1, 0, clock_mono_ms() + 20) < 0)
            return;
    }
}

static int play(struct demo *d, const struct cli_endpoint *endpoint, double ready_ms, struct err *e)
{
    struct cli_client client = {.fd = -1};
    d->client = &client;
    int status = cli_client_open(&client, endpoint, false, e);
    if (status == 0)
        await_pool(&client);
    uint64_t started_ns = clock_mono_ns();
    if (status == 0)
        status = cli_session_create(&client, &data_session, &d->session, e);
    double spawned_ms = (double)(clock_mono_ns() - started_ns) / 1e6;
    if (status == 0 && !d->is_json)
        cli_say(STDOUT_FILENO, "%-*s%10.1f ms\n%-*s%10.1f ms\n", DEMO_WIDTH - 13,
                "The daemon is up: Python with the data libraries, loaded once", ready_ms,
                DEMO_WIDTH - 13, "A sandboxed session with all of them imported", spawned_ms);
    for (size_t i = 0; status == 0 && i < ARRAY_LEN(steps); i++)
        status = play_data_step(d, &steps[i], e);
    for (size_t i = 0; status == 0 && i < ARRAY_LEN(guests); i++)
        status = play_guest(d, i, e);
    struct err ignored;
    if (d->session.id[0] != '\0')
        cli_session_kill(&client, d->session.id, &ignored);
    cli_client_close(&client);
    return status;
}

/* --- around them ------------------------------------------------------------------------------ */

/* Runs the demonstration on a daemon that lives only for it. */
static int play_embedded(struct demo *d, struct cli_endpoint *endpoint, struct err *e)
{
    struct cli_daemon daemon = {.data_dir = endpoint->data_dir, .listen = "127.0.0.1:0"};
    uint64_t started_ns = clock_mono_ns();
    pid_t pid;
    if (cli_daemon_spawn(&daemon, &pid, e) < 0)
        return -1;
    double ready_ms = (double)(clock_mono_ns() - started_ns) / 1e6;
    int status = play(d, endpoint, ready_ms, e);
    struct err problem;
    if (cli_daemon_stop(pid, &problem) < 0 && status == 0) {
        *e = problem;
        status = -1;
    }
    return status;
}

static int demo_run(const struct cli_args *args, struct err *e)
{
    if (args->n_words > 0)
        return err_set(e, ERR_INVALID, "demo takes no arguments");
    char dir[PATH_MAX];
    if (cli_make_temporary("demo", dir, e) < 0)
        return -1;
    signal(SIGPIPE, SIG_IGN);
    cli_signals_take();
    struct demo d = {.is_json = cli_has(args, "json"),
                     .is_coloured = cli_is_coloured(STDOUT_FILENO),
                     .report = json_array()};
    struct cli_endpoint endpoint = {.data_dir = dir};
    int status = play_embedded(&d, &endpoint, e);
    struct err problem;
    if (idmap_remove_tree(dir, &problem) < 0 && status == 0) {
        *e = problem;
        status = -1;
    }
    if (status == 0 && d.is_json) {
        _json_ json_t *object = json_pack("{s:O}", "steps", d.report);
        cli_print_json(object);
    } else if (status == 0) {
        cli_say(STDOUT_FILENO, "\nThe daemon is stopped; nothing is left running. "
                               "Go on with: cella repl\n");
    }
    json_decref(d.report);
    return status;
}

const struct cli_verb cli_demo_verb = {
    .name = "demo",
    .subject = OP_ON_DAEMON,
    .summary = "play a short, real demonstration",
    .usage = "[OPTION...]",
    .about = "Starts a daemon of its own on a temporary directory, runs a few cells in a session,\n"
             "shows what came back and how long it took, and leaves nothing behind. Exit status 0\n"
             "only if every step gave what it should.",
    .examples = "cella demo\n"
                "cella demo --json | jq '.steps[] | {title, duration_ms}'",
    .run = demo_run,
};
