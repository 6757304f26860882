/* `cella repl`: a conversation with a session; whether a block is complete is the interpreter's to
 * say. Command line tool. */
#include "base/clock.h"
#include "base/fd.h"
#include "cli/args.h"
#include "cli/assist.h"
#include "cli/cell.h"
#include "cli/launch.h"
#include "cli/lines.h"
#include "cli/picture.h"
#include "cli/spec.h"
#include "cli/terminal.h"

#include <ctype.h>
#include <limits.h>
#include <signal.h>

static const struct cli_flag repl_flags[] = {
    {"session", 's', "ID", "work in this session (the beginning of its id is enough)"},
    {"keep", 'k', NULL, "leave the new session alive at the end and tell its id"},
    CLI_FLAGS_SPEC,
    {"timeout", 't', "DURATION", "stop a cell after this time (30s)"},
    {"save-images", 0, "DIR", "write images there instead of only noting them"},
    {0},
};

/* A new session is kept from being idle as long as the conversation lasts; this is for one whose
 * program was killed, or stopped with Ctrl-Z for that long. */
enum { ABANDONED_SECS = 1800 };

#define PICTURE_MAX (128 * MIB) /* as the terminal takes it */

struct repl {
    const struct cli_args *args;
    struct cli_client *client;
    struct cli_session_spec spec;
    struct cli_session session;
    const struct cli_language *language;
    bool is_own; /* made here: replaced when it dies, destroyed at the end */
    bool is_json;
    int64_t timeout_ms;
    int64_t number; /* that the next cell will have */
    bool has_failed;
    bool is_over; /* the session ended itself: so does the conversation */
    int exit_code;
    struct cli_lines *lines;
    struct buf block;
    struct buf line;
    bool is_line_kept; /* `line` was read and belongs to the next block */
    bool goes_on;      /* the block could run, and what follows may belong to it */
    int signal;        /* that came while the interpreter was asked, or 0 */
    struct cli_show show;
    struct cli_asker asker;
    enum cli_picture_way pictures; /* how the terminal shows them */
    bool knows_pictures;           /* it was asked, or need not be */
    char image_dir[64]; /* where pictures are saved that the terminal cannot show; "" before the
                           first */
};

enum repl_step { STEP_RUN, STEP_AGAIN, STEP_END };

/* --- reading a block -------------------------------------------------------------------------- */

static bool repl_is_blank(const struct buf *line)
{
    return strspn(buf_str(line), " \t\r\n") == line->len;
}

static enum cli_line repl_read_line(struct repl *r)
{
    char prompt[48];
    int width = snprintf(prompt, sizeof(prompt), "[%lld] ", (long long)r->number);
    if (r->block.len > 0)
        snprintf(prompt, sizeof(prompt), "%*s%s", width, "", r->language->more_prompt);
    else
        snprintf(prompt + width, sizeof(prompt) - (size_t)width, "%s", r->language->prompt);
    return cli_lines_read(r->lines, prompt, &r->line);
}

/* For input that comes without empty lines behind its blocks: whether `line` begins something new,
 * as "x = 1" does behind an indented block, and "else:" or a comment does not. */
static bool ends_block(const struct repl *r, const struct buf *line)
{
    const char *text = buf_str(line);
    if (!r->goes_on || !r->language->has_indented_blocks || strchr(" \t\r\n#", text[0]) != NULL)
        return false; /* an empty line, too */
    for (const char *const *word = r->language->continuations; *word != NULL; word++) {
        size_t len = strlen(*word);
        if (strncmp(text, *word, len) == 0 && text[len] != '_' && !isalnum((uint8_t)text[len]))
            return false;
    }
    return true;
}

static bool repl_take_signal(void *context, int signo)
{
    struct repl *r = context;
    r->signal = signo;
    return false;
}

enum block {
    BLOCK_WHOLE, /* can run, or never will */
    BLOCK_OPEN,
    BLOCK_GOES_ON, /* can run, but what follows may belong to it */
};

/* What the session's interpreter makes of the block so far. */
static enum block judge(struct repl *r)
{
    char path[96];
    struct err ignored; /* running it tells what is wrong */
    _json_ json_t *answer = NULL;
    _buf_ struct buf body = BUF_INIT(8 * CLI_CODE_MAX);
    struct json_out out = JSON_OUT(&body);
    json_put_object(&out);
    json_put_member_text(&out, "code", buf_str(&r->block), r->block.len);
    json_put_object_end(&out);
    snprintf(path, sizeof(path), "/v1/sessions/%s/is_complete", r->session.id);
    struct cli_request request = {
        .method = "POST",
        .path = path,
        .body = buf_str(&body),
        .body_len = body.len,
        .deadline_ms = clock_mono_ms() + CLI_DEADLINE_SHORT_MS,
        .on_signal = repl_take_signal,
        .context = r,
    };
    r->goes_on = false;
    if (cli_api_call(r->client, &request, &answer, &ignored) < 0)
        return BLOCK_WHOLE;
    /* A busy interpreter cannot say it: then an empty line ends what is typed, and what comes
     * through a pipe goes on until it can. */
    bool is_unknown = cli_cell_is_status(answer, "unknown");
    bool is_typed = cli_lines_is_interactive(r->lines);
    if (cli_cell_is_status(answer, "incomplete") || (is_unknown && !is_typed))
        return BLOCK_OPEN;
    r->goes_on = json_is_true(json_object_get(answer, "goes_on")) || is_unknown;
    return r->goes_on ? BLOCK_GOES_ON : BLOCK_WHOLE;
}

/* At the prompt, as Python has it. A cell that is indented as a whole would run as if it were not,
 * and here it may be the rest of something that was torn. */
static bool refuse_indented(struct repl *r)
{
    const char *text = buf_str(&r->line), *code = text + strspn(text, " \t");
    if (!r->language->has_indented_blocks || code == text || *code == '#')
        return false;
    _buf_ struct buf shown = BUF_INIT(CLI_LINE_MAX * 4);
    cli_append_safe(&shown, code, strcspn(code, "\n"), false);
    cli_say(STDERR_FILENO,
            "  File \"<cell %lld>\", line 1\n    %s\nIndentationError: unexpected indent\n",
            (long long)r->number, buf_str(&shown));
    return true;
}

/* What is not for the interpreter: a question what a name is, a command. */
static bool run_own_line(struct repl *r)
{
    const char *line = buf_str(&r->line);
    if (cli_assist_is_command(line))
        cli_assist_run(r->client, r->args, r->session.id, line);
    else if (cli_assist_is_question(line))
        cli_assist_answer(r->client, r->session.id, line, cli_is_coloured(STDOUT_FILENO));
    else
        return false;
    return true;
}

/* The block so far, and the line up to the cursor. */
static json_t *complete_line(void *context, const char *line, size_t len)
{
    struct repl *r = context;
    _buf_ struct buf code = BUF_INIT(CLI_CODE_MAX + CLI_LINE_MAX);
    buf_append(&code, buf_str(&r->block), r->block.len);
    buf_append(&code, line, len);
    return cli_assist_complete(r->client, r->session.id, buf_str(&code), code.len);
}

/* Whether an empty line ends the block: not if more of it is there already, which was pasted. */
static bool is_typed_end(struct repl *r)
{
    _buf_ struct buf next = BUF_INIT(CLI_LINE_MAX);
    return repl_is_blank(&r->line) && (!cli_lines_peek(r->lines, &next) || ends_block(r, &next));
}

/* Takes `line` into the block. */
static enum repl_step add_line(struct repl *r)
{
    bool is_typed = cli_lines_is_interactive(r->lines);
    bool is_pasted = is_typed && memchr(buf_str(&r->line), '\n', r->line.len) != NULL;
    if (r->block.len == 0 && repl_is_blank(&r->line))
        return STEP_AGAIN;
    if (r->block.len == 0 && is_typed && (refuse_indented(r) || run_own_line(r)))
        return STEP_AGAIN;
    if (!is_typed && ends_block(r, &r->line)) {
        r->is_line_kept = true;
        return STEP_RUN;
    }
    buf_append(&r->block, buf_str(&r->line), r->line.len);
    buf_append_char(&r->block, '\n');
    enum block block = judge(r);
    if (r->signal != 0)
        return STEP_END;
    if (block == BLOCK_GOES_ON)
        return is_pasted || (is_typed && is_typed_end(r)) ? STEP_RUN : STEP_AGAIN;
    return block == BLOCK_WHOLE ? STEP_RUN : STEP_AGAIN;
}

static enum repl_step read_block(struct repl *r)
{
    buf_clear(&r->block);
    r->goes_on = false;
    enum repl_step repl_step = STEP_AGAIN;
    while (repl_step == STEP_AGAIN) {
        enum cli_line got = r->is_line_kept ? CLI_LINE_READ : repl_read_line(r);
        r->is_line_kept = false;
        switch (got) {
        case CLI_LINE_READ:
            repl_step = add_line(r);
            if (r->signal != SIGINT || !cli_lines_is_interactive(r->lines))
                break;
            r->signal = 0; /* at the prompt, as far as the user can see */
            repl_step = STEP_AGAIN;
            buf_clear(&r->block);
            break;
        case CLI_LINE_INTERRUPTED:
            buf_clear(&r->block);
            if (!cli_lines_is_interactive(r->lines))
                return STEP_END;
            break;
        case CLI_LINE_TOO_LONG:
            cli_say(STDERR_FILENO, "cella: a line longer than a cell may be\n");
            return STEP_END;
        case CLI_LINE_LEFT:
            return STEP_END;
        case CLI_LINE_END:
            return !cli_lines_is_interactive(r->lines) && r->block.len > 0 ? STEP_RUN : STEP_END;
        }
    }
    return repl_step;
}

static bool is_farewell(const struct repl *r)
{
    for (const char *const *word = r->language->farewells; *word != NULL; word++) {
        size_t len = strlen(*word);
        if (r->block.len == len + 1 && memcmp(r->block.data, *word, len) == 0)
            return true;
    }
    return false;
}

/* --- running it ------------------------------------------------------------------------------- */

static void repl_touch_session(void *context)
{
    struct repl *r = context;
    cli_session_touch(r->client, r->session.id);
}

static int start_session(struct repl *r, struct err *e)
{
    const char *id = cli_value(r->args, "session");
    r->is_own = id == NULL;
    if (id != NULL ? cli_session_find(r->client, id, &r->session, e) < 0
                   : cli_session_create(r->client, &r->spec, &r->session, e) < 0)
        return -1;
    r->language = cli_language_find(r->session.runtime);
    if (r->language == NULL)
        r->language = &cli_languages[0];
    r->number = r->session.exec_count + 1;
    return 0;
}

/* The session is gone: with it the state, but not the conversation. */
static int replace_session(struct repl *r, struct err *e)
{
    if (!r->is_own) {
        err_set(e, ERR_GONE, "session %s is gone", r->session.id);
        return err_advise(e, "start a new one with: cella repl");
    }
    struct err ignored;
    cli_session_kill(r->client, r->session.id, &ignored);
    if (start_session(r, e) < 0)
        return -1;
    if (!r->is_json)
        cli_say(STDERR_FILENO, "cella: its state is lost; this is a new session, %.8s\n",
                r->session.id);
    return 0;
}

/* A time limit that had to be enforced by killing leaves a dead session behind, others do not. */
static bool is_session_dead(struct repl *r)
{
    char path[64];
    snprintf(path, sizeof(path), "/v1/sessions/%s", r->session.id);
    struct err ignored;
    _json_ json_t *session = NULL;
    if (cli_api_get(r->client, "GET", path, &session, &ignored) < 0)
        return ignored.code == ERR_NOT_FOUND || ignored.code == ERR_GONE;
    return cli_json_is(session, "state", "dead");
}

static int repl_show_answer(struct repl *r, struct cli_cell *cell, const json_t *answer,
                            struct err *e)
{
    int status = cli_cell_exit_status(answer);
    r->has_failed = r->has_failed || status != 0;
    r->number = cli_json_int(answer, "number", r->number) + 1;
    if (cli_cell_finish(cell, answer) == CLI_EXIT_PIPE)
        return err_set(e, ERR_UNAVAILABLE, "nobody reads the output any more");
    if (!r->is_json && r->show.is_out_mid_line && cli_lines_is_interactive(r->lines))
        cli_show_stream(&r->show, false, "\n", 1);
    /* What ends a cell ends a conversation through a pipe, as it ends a script. Somebody who types
     * must have meant to leave: `exit 3` alone does, `os._exit(3)` in the midst of something does
     * not. */
    bool leaves = !cli_lines_is_interactive(r->lines);
    for (const char *const *word = r->language->exits; *word != NULL; word++)
        leaves = leaves || strncmp(buf_str(&r->block), *word, strlen(*word)) == 0;
    if (leaves && cli_cell_left_with(answer) >= 0) {
        r->is_over = true;
        r->exit_code = status;
        return 0;
    }
    if (!r->is_json && status > 0 && cli_cell_is_status(answer, "error") &&
        cli_cell_left_with(answer) >= 0)
        cli_say(STDERR_FILENO, "cella: it left with exit code %d; the session goes on\n", status);
    bool may_be_dead = cli_cell_is_status(answer, "died") || cli_cell_is_status(answer, "timeout");
    return may_be_dead && is_session_dead(r) ? replace_session(r, e) : 0;
}

/* Errors that leave the conversation possible are shown; others end it. */
static int run_block(struct repl *r, struct err *e)
{
    if (cli_cell_check_code(buf_str(&r->block), r->block.len, e) < 0) {
        cli_say(STDERR_FILENO, "cella: %s\n", e->message);
        r->has_failed = true;
        return 0;
    }
    r->show.problem = 0;
    struct cli_cell cell = {
        .session_id = r->session.id,
        .code = buf_str(&r->block),
        .code_len = r->block.len,
        .timeout_ms = r->timeout_ms,
        .budget = -1,
        .yield_ms = -1,
        .show = r->is_json ? NULL : &r->show,
        .asker = &r->asker,
    };
    _json_ json_t *answer = NULL;
    if (cli_cell_run(r->client, &cell, &answer, e) == 0)
        return repl_show_answer(r, &cell, answer, e);
    r->has_failed = true;
    bool is_gone = e->code == ERR_NOT_FOUND || e->code == ERR_GONE;
    bool goes_on = is_gone || e->code == ERR_CONFLICT || e->code == ERR_LIMIT;
    if (!goes_on || !cli_lines_is_interactive(r->lines))
        return -1;
    cli_say(STDERR_FILENO, "cella: %s\n", e->message);
    return is_gone ? replace_session(r, e) : 0;
}

static int converse(struct repl *r, struct err *e)
{
    bool is_typed = cli_lines_is_interactive(r->lines);
    if (is_typed && !r->is_json)
        cli_say(STDERR_FILENO,
                "Cella %s, %s, session %.8s. Tab completes, name? explains, :help has more.\n",
                CELLA_VERSION, r->language->name, r->session.id);
    int status = 0;
    while (status == 0 && !r->is_over && read_block(r) == STEP_RUN && !(is_typed && is_farewell(r)))
        status = run_block(r, e);
    if (status < 0 || r->is_over)
        return status < 0 ? -1 : r->exit_code;
    return r->has_failed && !is_typed ? CLI_EXIT_FAILED : 0;
}

/* --- the verb --------------------------------------------------------------------------------- */

/* $XDG_STATE_HOME/cella_history_LANGUAGE, else below the home directory; NULL if neither can be.
 * Beside the data directory and not in it: that is the daemon's. */
static char *history_path(const struct cli_language *language)
{
    const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
    char dir[PATH_MAX];
    if (state != NULL && state[0] == '/')
        snprintf(dir, sizeof(dir), "%s", state);
    else if (home != NULL && home[0] == '/')
        snprintf(dir, sizeof(dir), "%s/.local/state", home);
    else
        return NULL;
    struct err ignored;
    if (cli_make_dirs(dir, &ignored) < 0)
        return NULL;
    _buf_ struct buf path = BUF_INIT(PATH_MAX);
    buf_printf(&path, "%s/cella_history_%s", dir, language->runtime);
    return path.overflowed ? NULL : mem_strdup(buf_str(&path));
}

static bool show_picture(void *context, const char *format, const struct buf *bytes)
{
    struct repl *r = context;
    _buf_ struct buf out = BUF_INIT(PICTURE_MAX);
    if (!r->knows_pictures)
        r->knows_pictures = cli_picture_by_asking(&r->pictures);
    if (cli_picture_append(&out, r->pictures, format, bytes->data, bytes->len)) {
        cli_show_stream(&r->show, false, buf_str(&out), out.len);
        return true;
    }
    /* A place for pictures that the terminal cannot show; they stay when the conversation ends. */
    const char *tmp = getenv("TMPDIR");
    if (r->show.image_dir == NULL) {
        snprintf(r->image_dir, sizeof(r->image_dir), "%.40s/cella-images-XXXXXX",
                 tmp != NULL && tmp[0] == '/' ? tmp : "/tmp");
        if (mkdtemp(r->image_dir) != NULL)
            r->show.image_dir = r->image_dir;
    }
    return false;
}

static int run_repl(const struct cli_args *args, struct cli_client *c, void *context, struct err *e)
{
    (void)args;
    struct repl *r = context;
    r->client = c;
    if (start_session(r, e) < 0)
        return -1;
    _free_ char *path = history_path(r->language);
    r->lines = cli_lines_new(path);
    cli_lines_complete_with(r->lines, complete_line, r);
    if (cli_lines_is_interactive(r->lines) && isatty(STDOUT_FILENO)) {
        r->pictures = cli_picture_by_environment();
        r->knows_pictures = r->pictures != CLI_PICTURE_NONE;
        r->show.on_picture = show_picture;
        r->show.picture_context = r;
    }
    cli_lines_while_waiting(r->lines, repl_touch_session, r);
    r->asker = (struct cli_asker){
        .lines = r->lines, .has_stdin = true, .show = r->is_json ? NULL : &r->show};
    int status = converse(r, e);
    cli_lines_free(r->lines);
    struct err ignored;
    if (r->session.id[0] != '\0' && r->is_own) {
        if (cli_has(r->args, "keep"))
            cli_say(STDERR_FILENO, "session %s\n", r->session.id);
        else
            cli_session_kill(r->client, r->session.id, &ignored);
    }
    return status;
}

static int read_arguments(struct repl *r, struct err *e)
{
    const struct cli_args *args = r->args;
    const char *timeout = cli_value(args, "timeout"), *of_new = cli_spec_given(args);
    if (args->n_words > 0)
        return err_set(e, ERR_INVALID, "repl takes no arguments; code is run with: cella exec");
    if (cli_has(args, "session") && of_new != NULL)
        return err_set(e, ERR_INVALID, "--session names a session that exists; --%s makes one",
                       of_new);
    if (timeout != NULL && cli_parse_duration(timeout, &r->timeout_ms, e) < 0)
        return -1;
    if (cli_spec_read(args, NULL, &r->spec, e) < 0)
        return -1;
    if (r->spec.idle_timeout_secs < 0 && !cli_has(args, "keep"))
        r->spec.idle_timeout_secs = ABANDONED_SECS;
    return 0;
}

static int repl_run(const struct cli_args *args, struct err *e)
{
    struct repl r = {
        .args = args,
        .is_json = cli_has(args, "json"),
        .block = BUF_INIT(CLI_CODE_MAX + KIB),
        .line = BUF_INIT(CLI_LINE_MAX),
    };
    int status = cli_show_read(args, &r.show, e) < 0 ? -1 : read_arguments(&r, e);
    if (status == 0) {
        cli_signals_take();
        status = cli_client_with(args, true, run_repl, &r, e);
    }
    cli_spec_free(&r.spec);
    buf_free(&r.block);
    buf_free(&r.line);
    return status;
}

const struct cli_verb cli_repl_verb = {
    .name = "repl",
    .subject = OP_ON_CODE,
    .summary = "work in a session interactively",
    .usage = "[OPTION...]",
    .about =
        "Reads Python, JavaScript or bash and runs it block by block: one line, or several\n"
        "while a bracket, a string, a here-document or a loop is open; an indented block of\n"
        "Python ends with an empty line. Ctrl-C clears the line or interrupts the running\n"
        "cell, Ctrl-D ends. Tab completes, `name?` says what something is and `name??` shows\n"
        "its source; `:undo`, `:redo`, `:tree`, `:names`, `:files` and `:branch` are about the\n"
        "session, `:help` lists them. Pictures are shown where the terminal can (kitty, iTerm2,\n"
        "sixels), else saved. Code that asks for input gets the next line. The session is\n"
        "new, and destroyed at the end unless --keep or --session is given. `exit 3` leaves\n"
        "with that exit code. What is pasted is one block: Enter runs it. Input may come\n"
        "through a pipe; then the exit status is 1 if a block failed, and code that ends\n"
        "itself ends this. With --json each answer is one line.",
    .flags = repl_flags,
    .is_client = true,
    .examples = "cella repl\n"
                "cella repl --runtime node\n"
                "cella repl -r bash --env LANG=C --cwd work\n"
                "cella repl --profile min --keep\n"
                "cella repl --session 0b9c\n"
                "printf 'x = 20\\nx + 1\\n' | cella repl",
    .run = repl_run,
};
