/* What a notebook wrote. Command line tool. */
#include "cli/written.h"

#include "cli/api.h"
#include "cli/terminal.h"
#include "jail/files/archive.h"

#include <limits.h>

enum { DESCRIBED_MAX = 10 };

json_t *cli_written_look(struct cli_client *c, const char *session_id)
{
    struct err ignored;
    json_t *entries = NULL;
    if (cli_file_list(c, session_id, "", "&recursive=true", &entries, &ignored) < 0)
        return NULL;
    return entries;
}

json_t *cli_written_since(struct cli_client *c, const char *session_id, const json_t *before)
{
    json_t *written = json_array();
    _json_ json_t *known = json_object(), *now = NULL;
    if (before != NULL)
        now = cli_written_look(c, session_id);
    for (size_t i = 0; now != NULL && i < json_array_size(before); i++) {
        json_t *entry = json_array_get(before, i);
        const char *path = cli_json_text(entry, "path", NULL);
        if (path != NULL)
            json_object_set(known, path, entry);
    }
    for (size_t i = 0; i < json_array_size(now); i++) {
        const json_t *entry = json_array_get(now, i);
        const char *path = cli_json_text(entry, "path", NULL);
        const json_t *was = path != NULL ? json_object_get(known, path) : NULL;
        bool is_result = path != NULL && path[0] != '.' && strstr(path, "/.") == NULL &&
                         strstr(path, "__pycache__") == NULL &&
                         strstr(path, "node_modules/") == NULL;
        if (!is_result || !cli_json_is(entry, "type", "file") ||
            (was != NULL && json_equal(was, entry)))
            continue;
        json_array_append_new(written, json_pack("{ss sI ss?}", "path", path, "bytes",
                                                 (json_int_t)cli_json_int(entry, "bytes", 0),
                                                 "mode", cli_json_text(entry, "mode", NULL)));
    }
    return written;
}

int cli_written_fetch(struct cli_client *c, const char *session_id, const json_t *written,
                      const char *folder, struct cli_transfer *t, struct err *e)
{
    for (size_t i = 0; i < json_array_size(written); i++) {
        const json_t *entry = json_array_get(written, i);
        const char *path = cli_json_text(entry, "path", NULL);
        const char *mode = cli_json_text(entry, "mode", NULL);
        char local[PATH_MAX];
        if (archive_check_path(path, e) < 0)
            return -1;
        if (snprintf(local, sizeof(local), "%s/%s", folder, path) >= PATH_MAX)
            return err_set(e, ERR_INVALID, "a path is too long");
        cli_transfer_begin(t, path, (uint64_t)cli_json_int(entry, "bytes", 0));
        if (cli_file_get_to(c, session_id, path, local,
                            mode != NULL ? (uint32_t)strtoul(mode, NULL, 8) : 0644, t, e) < 0)
            return err_context(e, "%.100s", path);
    }
    return 0;
}

void cli_written_describe(const json_t *written, struct buf *out)
{
    size_t n = json_array_size(written), shown = MIN(n, (size_t)DESCRIBED_MAX);
    for (size_t i = 0; i < shown; i++) {
        const json_t *entry = json_array_get(written, i);
        const char *path = cli_json_text(entry, "path", NULL);
        buf_append_str(out, i > 0 ? ", " : "");
        cli_append_safe(out, path, strlen(path), false);
        int64_t bytes = cli_json_int(entry, "bytes", 0);
        if (bytes < 1000)
            buf_printf(out, " (%lld bytes)", (long long)bytes);
        else if (bytes < 1000 * 1000)
            buf_printf(out, " (%.1f kB)", (double)bytes / 1e3);
        else
            buf_printf(out, " (%.1f MB)", (double)bytes / 1e6);
    }
    if (n > shown)
        buf_printf(out, " and %zu more", n - shown);
}
