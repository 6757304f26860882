/* An answer's losses and late output, as lines for people. Command line tool. */
#include "cli/news.h"

#include "cli/api.h"
#include "cli/terminal.h"
#include "cli/timeline.h"

enum {
    NEWS_NAMES_MAX = 10,
    NEWS_NAME_BYTES_MAX = 80,
    REASON_BYTES_MAX = 200,
    LATE_BYTES_MAX = 4000
};

static void news_append_text(struct buf *out, const json_t *value, size_t max)
{
    cli_append_safe(out, json_string_value(value), MIN(json_string_length(value), max), false);
}

void cli_describe_names(struct buf *out, const json_t *list)
{
    size_t n = json_array_size(list);
    for (size_t i = 0; i < MIN(n, (size_t)NEWS_NAMES_MAX); i++) {
        const json_t *item = json_array_get(list, i);
        const json_t *name = json_is_object(item) ? json_object_get(item, "name") : item;
        const json_t *type = json_object_get(item, "type");
        buf_append_str(out, i > 0 ? ", " : "");
        if (json_is_string(name))
            news_append_text(out, name, NEWS_NAME_BYTES_MAX);
        else
            buf_append_char(out, '?');
        if (!json_is_string(type))
            continue;
        buf_append_str(out, " (");
        news_append_text(out, type, NEWS_NAME_BYTES_MAX);
        buf_append_char(out, ')');
    }
    if (n > NEWS_NAMES_MAX)
        buf_printf(out, " and %zu more", n - NEWS_NAMES_MAX);
}

static void news_describe_list(struct buf *out, const char *intro, const json_t *list,
                               const json_t *reason)
{
    if (json_array_size(list) == 0)
        return;
    buf_printf(out, "cella: %s: ", intro);
    cli_describe_names(out, list);
    if (json_is_string(reason)) {
        buf_append_str(out, ": ");
        news_append_text(out, reason, REASON_BYTES_MAX);
    }
    buf_append_char(out, '\n');
}

static void describe_reason(struct buf *out, const char *intro, const json_t *reason)
{
    if (!json_is_string(reason))
        return;
    buf_printf(out, "cella: %s: ", intro);
    news_append_text(out, reason, REASON_BYTES_MAX);
    buf_append_char(out, '\n');
}

static void news_describe_files(struct buf *out, const json_t *object)
{
    const json_t *lost = json_object_get(object, "files_lost");
    const json_t *reason = json_object_get(object, "files_reason");
    if (json_array_size(lost) > 0)
        news_describe_list(out, "files that are lost", lost, reason);
    else
        describe_reason(out, "the files could not be put back", reason);
}

/* What earlier cells wrote after their answers. */
static void describe_late(struct buf *out, const json_t *list)
{
    static const char *const streams[] = {"stdout", "stderr"};
    for (size_t i = 0; i < MIN(json_array_size(list), (size_t)NEWS_NAMES_MAX); i++) {
        const json_t *entry = json_array_get(list, i);
        buf_printf(out, "cella: cell %lld wrote meanwhile:\n",
                   (long long)cli_json_int(entry, "number", 0));
        for (size_t k = 0; k < ARRAY_LEN(streams); k++) {
            const json_t *text = json_object_get(entry, streams[k]);
            size_t len = MIN(json_string_length(text), (size_t)LATE_BYTES_MAX);
            if (len == 0)
                continue;
            cli_append_safe(out, json_string_value(text), len, true);
            if (out->data[out->len - 1] != '\n')
                buf_append_char(out, '\n');
        }
    }
}

void cli_describe_news(struct buf *out, const json_t *answer)
{
    describe_late(out, json_object_get(answer, "late"));
    describe_reason(out, "the code did not compile", json_object_get(answer, "replaced"));
    const json_t *resumed = json_object_get(answer, "resumed");
    news_describe_list(out, "the session came back from disk without",
                       json_object_get(resumed, "lost"), NULL);
    news_describe_files(out, resumed);
    const json_t *cells = json_object_get(answer, "rolled_back_cells");
    bool is_of_this = cli_json_is(answer, "status", "died");
    if (json_array_size(cells) != 0) {
        buf_append_str(out, is_of_this
                                ? "cella: undone: "
                                : "cella: the interpreter ended since the last cell; undone: ");
        cli_describe_cells(out, cells);
        buf_append_char(out, '\n');
    }
    news_describe_list(out, "the session came back without", json_object_get(answer, "lost"), NULL);
    news_describe_files(out, answer);
    news_describe_list(out, "not saved", json_object_get(answer, "not_saved"), NULL);
    describe_reason(out, "the files were not saved", json_object_get(answer, "files_not_saved"));
    describe_reason(out, "not saved", json_object_get(answer, "durable_error"));
}
