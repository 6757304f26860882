/* What the commands of `cella notebook` share: finding a notebook, sending, titles. Command line
 * tool; owns nothing. */
#include "base/clock.h"
#include "cli/notebook.h"
#include "cli/show.h"
#include "cli/terminal.h"

#include <ctype.h>

enum { NOTEBOOK_SHARED_PAGE = 1000, NOTEBOOKS_MAX = 100000, BODY_MAX = 8 << 20, TITLE_MAX = 60 };

static bool notebook_shared_is_word(const char *text, size_t max)
{
    size_t len = strlen(text);
    if (len == 0 || len > max)
        return false;
    for (; *text != '\0'; text++)
        if (!isalnum((unsigned char)*text) && *text != '-' && *text != '_')
            return false;
    return true;
}

static int refuse_notebook(const char *prefix, size_t n_found, struct err *e)
{
    if (n_found == 0)
        err_set(e, ERR_NOT_FOUND, "there is no notebook '%.64s'", prefix);
    else
        err_set(e, ERR_INVALID, "%zu notebooks begin with %.64s", n_found, prefix);
    return err_advise(e, "list the notebooks with: cella notebook list");
}

int cli_notebook_find(struct cli_client *c, const char *prefix, char ret_id[CLI_NOTEBOOK_ID_SIZE],
                      struct err *e)
{
    if (!notebook_shared_is_word(prefix, CLI_NOTEBOOK_ID_SIZE - 1))
        return refuse_notebook(prefix, 0, e);
    snprintf(ret_id, CLI_NOTEBOOK_ID_SIZE, "%s", prefix);
    if (ids_is_uuid(prefix, strlen(prefix)))
        return 0;
    size_t n_found = 0, seen = 0, n_page = 0;
    do {
        char path[CLI_NOTEBOOK_PATH_SIZE];
        _json_ json_t *answer = NULL;
        snprintf(path, sizeof(path), "/v1/notebooks?offset=%zu&limit=%d", seen,
                 NOTEBOOK_SHARED_PAGE);
        if (cli_api_get(c, "GET", path, &answer, e) < 0)
            return -1;
        const json_t *page = json_object_get(answer, "notebooks");
        n_page = json_array_size(page);
        seen += n_page;
        size_t i;
        const json_t *item;
        json_array_foreach(page, i, item) {
            const char *id = cli_json_text(item, "notebook_id", NULL);
            if (id == NULL || !notebook_shared_is_word(id, CLI_NOTEBOOK_ID_SIZE - 1) ||
                strncmp(id, prefix, strlen(prefix)) != 0)
                continue;
            snprintf(ret_id, CLI_NOTEBOOK_ID_SIZE, "%s", id);
            n_found++;
        }
    } while (n_page > 0 && seen < NOTEBOOKS_MAX);
    /* A session that has run nothing yet has a notebook that is not listed. */
    struct cli_session session;
    struct err ignored;
    if (n_found == 0 && cli_session_find(c, prefix, &session, &ignored) == 0) {
        snprintf(ret_id, CLI_NOTEBOOK_ID_SIZE, "%s", session.id);
        return 0;
    }
    return n_found == 1 ? 0 : refuse_notebook(prefix, n_found, e);
}

int cli_notebook_cell_path(const char *id, const char *cell, const char *more,
                           char ret_path[CLI_NOTEBOOK_PATH_SIZE], struct err *e)
{
    if (!notebook_shared_is_word(cell, CLI_NOTEBOOK_ID_SIZE - 1)) {
        err_set(e, ERR_INVALID, "'%.64s' is no cell", cell);
        return err_advise(e, "name it by its id or its number from 0 on; -1 is the last");
    }
    snprintf(ret_path, CLI_NOTEBOOK_PATH_SIZE, "/v1/notebooks/%s/cells/%s%s", id, cell, more);
    return 0;
}

int cli_notebook_send(const struct cli_args *args, struct cli_client *c, const char *method,
                      const char *path, json_t *body, void (*say)(const json_t *answer),
                      struct err *e)
{
    _free_ char *text = body != NULL ? json_dumps(body, JSON_COMPACT) : NULL;
    bool has_body = strcmp(method, "GET") != 0 && strcmp(method, "DELETE") != 0;
    struct cli_request request = {
        .method = method,
        .path = path,
        .body = text != NULL ? text
                : has_body   ? "{}"
                             : NULL,
        .body_len = text != NULL ? strlen(text)
                    : has_body   ? 2
                                 : 0,
        .deadline_ms = clock_mono_ms() + CLI_DEADLINE_SHORT_MS,
    };
    if (request.body_len > BODY_MAX)
        return err_set(e, ERR_TOO_LARGE, "the source is longer than a cell may be (1 MiB)");
    _json_ json_t *answer = NULL;
    if (cli_api_call(c, &request, &answer, e) < 0)
        return -1;
    if (cli_has(args, "json"))
        return cli_print_json(answer) ? 0 : CLI_EXIT_PIPE;
    if (say != NULL)
        say(answer);
    return 0;
}

void cli_notebook_append_title(struct buf *out, const char *source, size_t len)
{
    const char *end = source + len;
    while (source < end && isspace((unsigned char)*source))
        source++;
    const char *newline = source < end ? memchr(source, '\n', (size_t)(end - source)) : NULL;
    size_t line = (size_t)((newline != NULL ? newline : end) - source);
    cli_append_safe(out, source, MIN(line, (size_t)TITLE_MAX), false);
    if (line > TITLE_MAX || newline != NULL)
        buf_append_str(out, " ...");
}
