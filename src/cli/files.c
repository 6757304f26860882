/* `cella ls`, `put`, `get`, `cp`, `mv`, `mkdir`, `rm`: files of sessions. Command line tool. */
#include "cli/api.h"
#include "cli/show.h"
#include "cli/table.h"
#include "cli/terminal.h"
#include "cli/transfer.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>

enum { ENTRY_LINE_MAX = 16 << 20, FILES_CALL_MS = 600 * 1000 };

/* ---- what verbs share ------------------------------------------------------------------------ */

static int files_refuse_local(const char *word, struct err *e)
{
    err_set(e, ERR_INVALID, "'%.128s' names no file of a session", word);
    return err_advise(e, "write ID:PATH, with the session's id or name: 0b9c:out/plot.png "
                         "(see cella ps)");
}

/* The session that a place is in. */
static int files_find(struct cli_client *c, const struct cli_place *place, struct cli_session *ret,
                      struct err *e)
{
    if (place->session == NULL)
        return files_refuse_local(place->text, e);
    return cli_session_find(c, place->session, ret, e);
}

static const char *files_base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

static int files_post(struct cli_client *c, const char *session_id, const char *what,
                      const json_t *body, json_t **ret, struct err *e)
{
    char path[128];
    _buf_ struct buf text = BUF_INIT(64 * KIB);
    struct json_out out = JSON_OUT(&text);
    json_put_value(&out, body);
    snprintf(path, sizeof(path), "/v1/sessions/%s/%s", session_id, what);
    return cli_api_post(c, path, &text, FILES_CALL_MS, ret, e);
}

/* ---- ls -------------------------------------------------------------------------------------- */

static const struct cli_flag ls_flags[] = {
    {"recursive", 'R', NULL, "what is in folders, too"},
    {"long", 'l', NULL, "with type, mode, size and time"},
    {"pattern", 'p', "GLOB", "only names that match: '*.csv'; with a slash, paths: '**/test_*'"},
    {0},
};

static void ls_show(const json_t *entries, const char *top, bool is_long)
{
    _buf_ struct buf out = BUF_INIT(ENTRY_LINE_MAX);
    _json_ json_t *rows = json_array();
    json_array_append_new(rows, json_pack("[s, s, s, s]", "mode", "bytes", "modified", "path"));
    size_t top_len = strlen(top);
    for (size_t i = 0; i < json_array_size(entries); i++) {
        const json_t *entry = json_array_get(entries, i);
        const char *path = cli_json_text(entry, "path", NULL);
        const char *mode = cli_json_text(entry, "mode", NULL);
        const char *at = cli_json_text(entry, "modified_at", NULL);
        const char *target = cli_json_text(entry, "target", NULL);
        if (path == NULL)
            continue;
        if (top_len > 0 && strncmp(path, top, top_len) == 0 && path[top_len] == '/')
            path += top_len + 1;
        _buf_ struct buf name = BUF_INIT(64 * KIB);
        cli_append_safe(&name, path, strlen(path), false);
        buf_append_str(&name, cli_json_is(entry, "type", "folder") ? "/" : "");
        if (is_long && target != NULL) {
            buf_append_str(&name, " -> ");
            cli_append_safe(&name, target, strlen(target), false);
        }
        if (!is_long) {
            buf_printf(&out, "%s\n", buf_str(&name));
            continue;
        }
        char bytes[24];
        snprintf(bytes, sizeof(bytes), "%lld", (long long)cli_json_int(entry, "bytes", 0));
        json_array_append_new(rows, json_pack("[s, s, s, s]", mode != NULL ? mode : "", bytes,
                                              at != NULL ? at : "", buf_str(&name)));
    }
    if (is_long && json_array_size(rows) > 1)
        cli_append_table(&out, rows, "lrll");
    size_t done = 0;
    cli_write(STDOUT_FILENO, buf_str(&out), out.len, &done);
}

static int ls_work(const struct cli_args *args, struct cli_client *c, void *context, struct err *e)
{
    struct cli_place *place = context;
    struct cli_session session;
    const char *pattern = cli_value(args, "pattern");
    _buf_ struct buf query = BUF_INIT(4 * KIB);
    _json_ json_t *entries = NULL;
    if (cli_has(args, "recursive"))
        buf_append_str(&query, "&recursive=true");
    if (pattern != NULL) {
        buf_append_str(&query, "&pattern=");
        cli_append_path(&query, pattern, true);
    }
    if (files_find(c, place, &session, e) < 0 ||
        cli_file_list(c, session.id, place->path, buf_str(&query), &entries, e) < 0)
        return -1;
    if (cli_has(args, "json")) {
        _json_ json_t *answer = json_pack("{s:O}", "entries", entries);
        cli_print_json(answer);
        return 0;
    }
    ls_show(entries, place->path, cli_has(args, "long"));
    return 0;
}

static int ls_run(const struct cli_args *args, struct err *e)
{
    if (args->n_words != 1) {
        err_set(e, ERR_INVALID, "name one session, or a folder of it");
        return err_advise(e, "cella ls 0b9c, or: cella ls 0b9c:out");
    }
    char whole[PATH_MAX];
    bool is_session = strchr(args->words[0], ':') == NULL && strchr(args->words[0], '/') == NULL;
    snprintf(whole, sizeof(whole), "%s%s", args->words[0], is_session ? ":" : "");
    struct cli_place place = cli_place_of(whole);
    int status = cli_client_with(args, false, ls_work, &place, e);
    cli_place_free(&place);
    return status;
}

const struct cli_verb cli_ls_verb = {
    .name = "ls",
    .subject = OP_ON_FILES,
    .summary = "list a session's files",
    .usage = "[OPTION...] ID[:FOLDER]",
    .about = "Lists what is in the workspace of a session, or in a folder of it.",
    .flags = ls_flags,
    .is_client = true,
    .examples = "cella ls 0b9c\n"
                "cella ls -l 0b9c:out\n"
                "cella ls -R 0b9c --pattern '*.csv'",
    .run = ls_run,
};

/* ---- put, get, cp ---------------------------------------------------------------------------- */

struct files_copying {
    struct cli_place *from;
    size_t n;
    struct cli_place to;
    struct cli_transfer transfer;
    json_t *done; /* what is where now, for --json */
    bool is_quiet;
};

static void copying_note(struct files_copying *job, const char *from, const char *session,
                         const char *path)
{
    json_array_append_new(
        job->done, json_pack("{ss ss? ss}", "from", from, "session_id", session, "path", path));
}

/* Where something of this name goes: into a folder that is there, else under the path itself. */
static int copying_remote_path(struct cli_client *c, const struct files_copying *job,
                               const char *session_id, const char *name, struct buf *out,
                               struct err *e)
{
    struct err missing;
    _json_ json_t *entry = NULL;
    const struct cli_place *to = &job->to;
    bool is_there = cli_file_stat(c, session_id, to->path, &entry, &missing) == 0;
    if (!is_there && missing.code != ERR_NOT_FOUND) {
        *e = missing;
        return -1;
    }
    bool is_into = to->path[0] == '\0' || to->is_folder || job->n > 1 ||
                   (is_there && cli_json_is(entry, "type", "folder"));
    if (is_into && name == NULL) {
        err_set(e, ERR_INVALID, "standard input has no name");
        return err_advise(e, "name the file: cella put - ID:data.csv");
    }
    buf_append_str(out, to->path);
    if (is_into)
        buf_printf(out, "%s%s", to->path[0] != '\0' ? "/" : "", name);
    return 0;
}

/* The last name of a local path, "." and "a/.." too. */
static const char *copying_local_name(const char *path, char out[PATH_MAX])
{
    char whole[PATH_MAX];
    const char *resolved = realpath(path, whole) != NULL ? whole : path;
    snprintf(out, PATH_MAX, "%s", files_base_name(resolved));
    return out;
}

static int copying_put(struct cli_client *c, struct files_copying *job, const char *local,
                       struct err *e)
{
    struct cli_session session;
    struct stat st;
    char name[PATH_MAX];
    bool is_stdin = strcmp(local, "-") == 0;
    _buf_ struct buf path = BUF_INIT(8 * KIB);
    _fd_ int fd = is_stdin ? dup(STDIN_FILENO) : open(local, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (fd < 0 || fstat(fd, &st) < 0)
        return err_errno(e, ERR_NOT_FOUND, errno, "%.200s", local);
    if (files_find(c, &job->to, &session, e) < 0 ||
        copying_remote_path(c, job, session.id, is_stdin ? NULL : copying_local_name(local, name),
                            &path, e) < 0)
        return -1;
    int status = S_ISDIR(st.st_mode)
                     ? cli_folder_put(c, session.id, local, buf_str(&path), &job->transfer, e)
                     : cli_file_put(c, session.id, fd, buf_str(&path), &job->transfer, e);
    if (status == 0)
        copying_note(job, local, session.id, buf_str(&path));
    return status < 0 ? err_context(e, "%.100s", local) : 0;
}

static int copying_get(struct cli_client *c, struct files_copying *job,
                       const struct cli_place *from, struct err *e)
{
    struct cli_session session;
    struct stat st;
    char local[PATH_MAX];
    _json_ json_t *entry = NULL;
    if (files_find(c, from, &session, e) < 0 ||
        cli_file_stat(c, session.id, from->path, &entry, e) < 0)
        return -1;
    const char *to = job->to.text, *mode = cli_json_text(entry, "mode", NULL);
    const char *name = from->path[0] != '\0' ? files_base_name(from->path) : session.id;
    bool is_folder = cli_json_is(entry, "type", "folder"), is_stdout = strcmp(to, "-") == 0;
    bool is_into = job->to.is_folder || job->n > 1 || (stat(to, &st) == 0 && S_ISDIR(st.st_mode));
    cli_transfer_begin(&job->transfer, name, (uint64_t)cli_json_int(entry, "bytes", 0));
    int n = snprintf(local, sizeof(local), "%s%s%s", to, is_into ? "/" : "", is_into ? name : "");
    if (n >= PATH_MAX)
        return err_set(e, ERR_INVALID, "the path is too long");
    int status;
    if (is_stdout)
        status =
            is_folder
                ? cli_folder_get_packed(c, session.id, from->path, STDOUT_FILENO, &job->transfer, e)
                : cli_file_get(c, session.id, from->path, STDOUT_FILENO, &job->transfer, e);
    else if (is_folder)
        status = cli_folder_get(c, session.id, from->path, local, &job->transfer, e);
    else
        status = cli_file_get_to(c, session.id, from->path, local,
                                 mode != NULL ? (uint32_t)strtoul(mode, NULL, 8) : 0644,
                                 &job->transfer, e);
    if (status == 0)
        copying_note(job, from->text, NULL, is_stdout ? "-" : local);
    return status < 0 ? err_context(e, "%.100s", from->text) : 0;
}

static int copying_within(struct cli_client *c, struct files_copying *job,
                          const struct cli_place *from, const char *what, struct err *e)
{
    struct cli_session source, target;
    _buf_ struct buf path = BUF_INIT(8 * KIB);
    _json_ json_t *answer = NULL;
    if (files_find(c, from, &source, e) < 0 || files_find(c, &job->to, &target, e) < 0)
        return -1;
    if (strcmp(source.id, target.id) != 0) {
        err_set(e, ERR_INVALID, "the files are in two sessions");
        return err_advise(e, "by way of here: cella get %.64s - | cella put - %.64s", from->text,
                          job->to.text);
    }
    if (copying_remote_path(c, job, target.id, files_base_name(from->path), &path, e) < 0)
        return -1;
    _json_ json_t *body =
        json_pack("{ss ss sb}", "path", from->path, "to", buf_str(&path), "replace", 1);
    if (files_post(c, target.id, what, body, &answer, e) < 0)
        return err_context(e, "%.100s", from->text);
    copying_note(job, from->text, target.id, buf_str(&path));
    return 0;
}

static int copying_work(const struct cli_args *args, struct cli_client *c, void *context,
                        struct err *e)
{
    struct files_copying *job = context;
    bool is_move = strcmp(args->verb->name, "mv") == 0;
    int status = 0;
    for (size_t i = 0; i < job->n && status == 0; i++) {
        const struct cli_place *from = &job->from[i];
        if (from->session != NULL && job->to.session != NULL)
            status = copying_within(c, job, from, is_move ? "move" : "copy", e);
        else if (job->to.session != NULL)
            status = copying_put(c, job, from->text, e);
        else
            status = copying_get(c, job, from, e);
    }
    if (status < 0 && job->transfer.left_by != 0)
        return 128 + job->transfer.left_by;
    if (status == 0 && cli_has(args, "json") && strcmp(job->to.text, "-") != 0) {
        _json_ json_t *answer = json_pack("{s:O}", "copied", job->done);
        cli_print_json(answer);
    }
    return status;
}

/* All words but the last are where from, the last is where to. */
static int copying_read(const struct cli_args *args, struct files_copying *job, struct err *e)
{
    const char *verb = args->verb->name;
    size_t n = args->n_words;
    bool is_get = strcmp(verb, "get") == 0, is_put = strcmp(verb, "put") == 0;
    const char *last = n > 0 ? args->words[n - 1] : NULL;
    if (last != NULL)
        job->to = cli_place_of(last);
    if (is_get && last != NULL && job->to.session != NULL) { /* to here */
        cli_place_free(&job->to);
        job->to = cli_place_of("./");
        n++;
    }
    if (n < 2) {
        err_set(e, ERR_INVALID, "name what to copy and where to");
        return err_advise(e, "cella %s %s", verb,
                          is_get   ? "0b9c:out/plot.png ."
                          : is_put ? "data.csv 0b9c:"
                                   : "0b9c:a.csv 0b9c:b.csv");
    }
    if (is_put && job->to.session == NULL && strchr(last, '/') == NULL) {
        char whole[PATH_MAX]; /* a session alone is its workspace */
        snprintf(whole, sizeof(whole), "%s:", last);
        job->to = cli_place_of(whole);
        job->to.text = last;
    }
    job->n = n - 1;
    job->from = mem_alloc(job->n * sizeof(*job->from));
    for (size_t i = 0; i < job->n; i++) {
        job->from[i] = cli_place_of(args->words[i]);
        bool is_here = job->from[i].session == NULL;
        if (is_put && !is_here && access(args->words[i], F_OK) == 0) {
            cli_place_free(&job->from[i]); /* a file whose name has a colon */
            job->from[i] = (struct cli_place){.text = args->words[i]};
            is_here = true;
        }
        bool must_be_there = is_get || strcmp(verb, "mv") == 0 || job->to.session == NULL;
        if ((must_be_there && is_here) || (is_put && job->to.session == NULL))
            return files_refuse_local(is_put ? last : args->words[i], e);
        if (is_put && !is_here)
            return err_set(e, ERR_INVALID, "there is no file %.128s here", args->words[i]);
    }
    if (strcmp(verb, "mv") == 0 && job->to.session == NULL)
        return files_refuse_local(last, e);
    return 0;
}

static int copying_run(const struct cli_args *args, struct err *e)
{
    struct files_copying job = {.done = json_array()};
    job.transfer.shows = !cli_has(args, "json") && isatty(STDERR_FILENO);
    int status = copying_read(args, &job, e);
    if (status == 0) {
        cli_signals_take();
        status = cli_client_with(args, false, copying_work, &job, e);
    }
    for (size_t i = 0; i < job.n && job.from != NULL; i++)
        cli_place_free(&job.from[i]);
    free(job.from);
    cli_place_free(&job.to);
    json_decref(job.done);
    return status;
}

static const struct cli_flag no_flags[] = {{0}};

const struct cli_verb cli_put_verb = {
    .name = "put",
    .subject = OP_ON_FILES,
    .summary = "put files into a session",
    .usage = "[OPTION...] FILE... ID[:PATH]",
    .about = "Puts files and folders from here into the workspace of a session. '-' is standard\n"
             "input. They go into PATH if that is a folder, or ends in a slash; else PATH is the\n"
             "new name. What is there is replaced. Links are left out.",
    .flags = no_flags,
    .is_client = true,
    .examples = "cella put data.csv 0b9c:\n"
                "cella put src tests 0b9c:project/\n"
                "pg_dump shop | cella put - 0b9c:shop.sql",
    .run = copying_run,
};

const struct cli_verb cli_get_verb = {
    .name = "get",
    .subject = OP_ON_FILES,
    .summary = "get files out of a session",
    .usage = "[OPTION...] ID:PATH... [FILE]",
    .about =
        "Gets files and folders of a session's workspace: into FILE if that is a folder here,\n"
        "or ends in a slash; else FILE is the new name; without it, into the current folder.\n"
        "'-' is standard output; a folder goes there as a tar archive. Links are left out.",
    .flags = no_flags,
    .is_client = true,
    .examples = "cella get 0b9c:out/plot.png\n"
                "cella get 0b9c:out results/\n"
                "cella get 0b9c:table.csv - | head",
    .run = copying_run,
};

const struct cli_verb cli_cp_verb = {
    .name = "cp",
    .subject = OP_ON_FILES,
    .summary = "copy files into, out of or within a session",
    .usage = "[OPTION...] FROM... TO",
    .about = "Copies files and folders. FROM and TO are paths here, or ID:PATH in a session; at\n"
             "least one side is a session's. See also put and get.",
    .flags = no_flags,
    .is_client = true,
    .examples = "cella cp data.csv 0b9c:\n"
                "cella cp 0b9c:out .\n"
                "cella cp 0b9c:model.pkl 0b9c:backup/",
    .run = copying_run,
};

const struct cli_verb cli_mv_verb = {
    .name = "mv",
    .subject = OP_ON_FILES,
    .summary = "move files within a session",
    .usage = "[OPTION...] ID:FROM... ID:TO",
    .about = "Moves files and folders of a session's workspace, or gives them other names.",
    .flags = no_flags,
    .is_client = true,
    .examples = "cella mv 0b9c:draft.md 0b9c:report.md",
    .run = copying_run,
};

/* ---- rm, mkdir ------------------------------------------------------------------------------- */

static const struct cli_flag rm_flags[] = {
    {"recursive", 'r', NULL, "folders with all that is in them"},
    {0},
};

static int rm_one(const struct cli_args *args, struct cli_client *c, const struct cli_place *place,
                  struct err *e)
{
    struct cli_session session;
    _buf_ struct buf url = BUF_INIT(8 * KIB);
    _json_ json_t *answer = NULL;
    if (files_find(c, place, &session, e) < 0)
        return -1;
    if (strcmp(args->verb->name, "mkdir") == 0) {
        _json_ json_t *body = json_pack("{ss}", "path", place->path);
        return files_post(c, session.id, "mkdir", body, &answer, e);
    }
    cli_session_path(&url, session.id, "files", place->path);
    if (cli_has(args, "recursive"))
        buf_append_str(&url, "?recursive=true");
    return cli_api_get(c, "DELETE", buf_str(&url), &answer, e);
}

static int rm_work(const struct cli_args *args, struct cli_client *c, void *context, struct err *e)
{
    (void)context;
    _json_ json_t *done = json_array();
    for (size_t i = 0; i < args->n_words; i++) {
        struct cli_place place = cli_place_of(args->words[i]);
        int status = rm_one(args, c, &place, e);
        cli_place_free(&place);
        if (status < 0)
            return err_context(e, "%.100s", args->words[i]);
        json_array_append_new(done, json_string(args->words[i]));
    }
    if (cli_has(args, "json")) {
        bool is_rm = strcmp(args->verb->name, "rm") == 0;
        _json_ json_t *answer = json_pack("{s:O}", is_rm ? "deleted" : "made", done);
        cli_print_json(answer);
    }
    return 0;
}

static int rm_run(const struct cli_args *args, struct err *e)
{
    if (args->n_words == 0)
        return files_refuse_local("", e);
    return cli_client_with(args, false, rm_work, NULL, e);
}

const struct cli_verb cli_rm_verb = {
    .name = "rm",
    .subject = OP_ON_FILES,
    .summary = "delete files of a session",
    .usage = "[OPTION...] ID:PATH...",
    .about =
        "Deletes files of a session's workspace. undo brings back what an older checkpoint has.",
    .flags = rm_flags,
    .is_client = true,
    .examples = "cella rm 0b9c:data.csv\n"
                "cella rm -r 0b9c:out",
    .run = rm_run,
};

const struct cli_verb cli_mkdir_verb = {
    .name = "mkdir",
    .subject = OP_ON_FILES,
    .summary = "make folders in a session",
    .usage = "[OPTION...] ID:PATH...",
    .about = "Makes folders in a session's workspace, with those on the way to them.",
    .flags = no_flags,
    .is_client = true,
    .examples = "cella mkdir 0b9c:out/plots",
    .run = rm_run,
};
