/* Checkpoints as words and as a tree, from answers of the daemon. Command line tool. */
#include "cli/timeline.h"

#include "base/utf8.h"
#include "cli/api.h"
#include "cli/news.h"
#include "cli/op.h"
#include "cli/show.h"
#include "cli/terminal.h"

#include <langinfo.h>
#include <locale.h>

enum { CHECKPOINTS_MAX = 10000, TIMELINE_WORDS_MAX = 200, TIMELINE_LISTED_MAX = 50, CODE_MAX = 60 };

int cli_timeline_get(const struct cli_args *args, struct cli_client *c, json_t **ret, struct err *e)
{
    struct cli_session session;
    if (cli_session_find(c, args->words[0], &session, e) < 0)
        return -1;
    _json_ json_t *timeline = NULL, *asked = json_pack("{s:s}", "session_id", session.id);
    if (cli_op_ask(c, "session.checkpoints", asked, &timeline, e) < 0)
        return -1;
    const json_t *list = json_object_get(timeline, "checkpoints");
    bool is_good = json_is_array(list) && json_array_size(list) <= CHECKPOINTS_MAX;
    for (size_t i = 0; is_good && i < json_array_size(list); i++)
        is_good = cli_json_int(json_array_get(list, i), "id", -1) >= 0;
    if (!is_good) {
        err_set(e, ERR_INTERNAL, "the daemon's answer makes no sense: no list of checkpoints");
        return err_advise(e, "is the daemon of another version? Try: cella stop, then again");
    }
    *ret = take_ptr(timeline);
    return 0;
}

bool cli_is_utf8(void)
{
    setlocale(LC_CTYPE, "");
    return strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
}

/* ---- words ----------------------------------------------------------------------------------- */

static void append_words(struct buf *out, const json_t *object, const char *member)
{
    size_t len = 0;
    const char *text = cli_json_text(object, member, &len);
    if (text != NULL)
        cli_append_safe(out, text, MIN(len, (size_t)TIMELINE_WORDS_MAX), false);
}

static int64_t cell_at(const json_t *cells, size_t i)
{
    return json_integer_value(json_array_get(cells, i));
}

void cli_describe_cells(struct buf *out, const json_t *cells)
{
    size_t n = json_array_size(cells);
    if (n == 0)
        return;
    buf_append_str(out, n == 1 ? "cell " : "cells ");
    for (size_t i = 0; i < n && i < TIMELINE_LISTED_MAX; i++) {
        size_t last = i;
        while (last + 1 < n && cell_at(cells, last + 1) == cell_at(cells, last) + 1)
            last++;
        buf_printf(out, "%s%lld", i > 0 ? ", " : "", (long long)cell_at(cells, i));
        if (last > i)
            buf_printf(out, "%s%lld", last > i + 1 ? "-" : ", ", (long long)cell_at(cells, last));
        i = last;
    }
}

void cli_describe_files(struct buf *out, const json_t *checkpoint)
{
    if (cli_json_is(checkpoint, "files", "covered")) {
        buf_append_str(out, "with files");
        return;
    }
    /* Files that were written while they were read. */
    buf_append_str(out, cli_json_is(checkpoint, "files", "torn")
                            ? "with files, perhaps half-written"
                            : "without files");
    if (json_is_string(json_object_get(checkpoint, "files_reason"))) {
        buf_append_str(out, " (");
        append_words(out, checkpoint, "files_reason");
        buf_append_char(out, ')');
    }
}

void cli_describe_restore(struct buf *out, const json_t *checkpoint)
{
    bool is_saved = json_is_true(json_object_get(checkpoint, "saved"));
    if (cli_json_is(checkpoint, "restore", "process"))
        buf_append_str(out, "can be restored");
    else if (cli_json_is(checkpoint, "restore", "durable"))
        buf_append_str(out, "can be restored from disk");
    else
        buf_append_str(out, "cannot be restored");
    if (json_is_string(json_object_get(checkpoint, "reason"))) {
        buf_append_str(out, " (");
        append_words(out, checkpoint, "reason");
        buf_append_char(out, ')');
    }
    if (is_saved && cli_json_is(checkpoint, "restore", "process"))
        buf_append_str(out, ", saved");
}

static void timeline_describe_list(struct buf *out, const json_t *list, const char *intro,
                                   const char *const members[3])
{
    for (size_t i = 0; i < json_array_size(list) && i < TIMELINE_LISTED_MAX; i++) {
        const json_t *item = json_array_get(list, i);
        buf_printf(out, "  %s: ", intro);
        append_words(out, item, members[0]);
        if (members[1] != NULL && json_is_string(json_object_get(item, members[1]))) {
            buf_append_str(out, " (");
            append_words(out, item, members[1]);
            buf_append_char(out, ')');
        }
        if (json_is_string(json_object_get(item, members[2]))) {
            buf_append_str(out, ": ");
            append_words(out, item, members[2]);
        }
        buf_append_char(out, '\n');
    }
}

void cli_describe_rollback(struct buf *out, const char *verb, const json_t *answer)
{
    static const char *const effect[] = {"what", NULL, "detail"};
    static const char *const loss[] = {"name", "type", "advice"};
    const json_t *cells = json_object_get(answer, "cells");
    int64_t to = cli_json_int(answer, "to", 0), ended = cli_json_int(answer, "ended_processes", 0);
    if (json_array_size(cells) > 0) {
        buf_printf(out, "%s ", verb);
        cli_describe_cells(out, cells);
        /* " (x * 2)": the first line, if it is not too long. */
        size_t len = 0;
        const char *code = cli_json_text(answer, "code", &len);
        if (code != NULL) {
            size_t line = strcspn(code, "\n"), shown = line;
            if (shown > CODE_MAX)
                shown = utf8_valid_prefix(code, CODE_MAX);
            buf_append_str(out, " (");
            cli_append_safe(out, code, shown, false);
            buf_append_str(
                out, shown < len && code[shown + strspn(code + shown, "\n")] != '\0' ? "…)" : ")");
        }
        buf_append_str(out, "; ");
    }
    if (to == 0)
        buf_append_str(out, "now at the beginning\n");
    else
        buf_printf(out, "now at checkpoint %lld\n", (long long)to);
    if (cli_json_is(answer, "restored_from", "durable"))
        buf_append_str(out, "  restored from its saved copy\n");
    int64_t changed = cli_json_int(answer, "files_changed", 0);
    if (cli_json_is(answer, "files", "not_covered"))
        buf_append_str(out, "  the files are as they were: the checkpoint does not cover them\n");
    else if (changed > 0)
        buf_printf(out, "  %lld file%s put back\n", (long long)changed, changed == 1 ? "" : "s");
    if (json_array_size(json_object_get(answer, "files_lost")) != 0) {
        buf_append_str(out, "  files that are lost: ");
        cli_describe_names(out, json_object_get(answer, "files_lost"));
        buf_append_char(out, '\n');
    }
    if (ended > 0)
        buf_printf(out, "  %lld process%s ended\n", (long long)ended, ended == 1 ? "" : "es");
    timeline_describe_list(out, json_object_get(answer, "not_undone"), "not undone", effect);
    timeline_describe_list(out, json_object_get(answer, "lost"), "lost", loss);
}

/* ---- the tree -------------------------------------------------------------------------------- */

struct style {
    const char *fork, *last, *bar, *gap; /* before a child, and before what is below it */
    const char *node, *here, *mark;
};

static const struct style unicode = {"├─", "└─", "│ ", "  ", "○", "●", "← here"};
static const struct style ascii = {"|-", "`-", "| ", "  ", "o", "*", "<- here"};

enum { INDENT_MAX = 64 }; /* levels that are drawn */

struct node {
    int64_t id;
    const json_t *checkpoint; /* NULL for the beginning, which the daemon does not list */
    size_t parent;            /* index; of the beginning: itself */
};

struct tree {
    struct node *nodes; /* by id, rising; the first is the beginning */
    size_t n;
    int64_t current;
    const struct style *style;
    struct buf *out;
    const char *indent[INDENT_MAX];
    size_t depth;
    size_t width; /* of the widest left part, in characters */
    bool is_measuring;
};

static int by_id(const void *a, const void *b)
{
    const struct node *left = a, *right = b;
    return (left->id > right->id) - (left->id < right->id);
}

static size_t find(const struct tree *t, int64_t id)
{
    for (size_t i = 0; i < t->n; i++)
        if (t->nodes[i].id == id)
            return i;
    return 0; /* it was dropped: what is left hangs on the beginning */
}

static size_t next_child(const struct tree *t, size_t of, size_t after)
{
    for (size_t i = MAX(after, of) + 1; i < t->n; i++)
        if (t->nodes[i].parent == of)
            return i;
    return 0;
}

static void draw_node(struct tree *t, size_t index, const char *joint)
{
    const struct node *node = &t->nodes[index];
    bool is_here = node->id == t->current;
    _buf_ struct buf left = BUF_INIT(64 * KIB);
    for (size_t i = 0; i < MIN(t->depth, (size_t)INDENT_MAX); i++)
        buf_append_str(&left, t->indent[i]);
    buf_printf(&left, "%s%s %lld  ", joint, is_here ? t->style->here : t->style->node,
               (long long)node->id);
    if (index == 0)
        buf_append_str(&left, "the beginning");
    else
        cli_describe_cells(&left, json_object_get(node->checkpoint, "cells"));
    size_t width = utf8_count(buf_str(&left), left.len);
    if (t->is_measuring) {
        t->width = MAX(t->width, width);
        return;
    }
    buf_append(t->out, buf_str(&left), left.len);
    buf_printf(t->out, "%*s", (int)(t->width - MIN(width, t->width)), "");
    if (index != 0) {
        _buf_ struct buf age = BUF_INIT(64), size = BUF_INIT(64);
        int64_t bytes = cli_json_int(node->checkpoint, "memory_bytes", -1);
        cli_describe_age(&age, cli_json_text(node->checkpoint, "at", NULL));
        if (bytes >= 0)
            cli_describe_size(&size, (uint64_t)bytes);
        buf_printf(t->out, "  %4s  %8s  ", buf_str(&age), size.len > 0 ? buf_str(&size) : "-");
        cli_describe_files(t->out, node->checkpoint);
        buf_append_str(t->out, ", ");
        cli_describe_restore(t->out, node->checkpoint);
    }
    if (is_here)
        buf_printf(t->out, "  %s", t->style->mark);
    while (t->out->len > 0 && t->out->data[t->out->len - 1] == ' ')
        t->out->len--;
    buf_append_char(t->out, '\n');
}

/* An only child stands below its parent; several are drawn as branches. */
static void draw_from(struct tree *t, size_t index, const char *joint, const char *below)
{
    draw_node(t, index, joint);
    bool is_indented = below[0] != '\0' && t->depth < INDENT_MAX;
    if (is_indented)
        t->indent[t->depth++] = below;
    for (;;) {
        size_t first = next_child(t, index, 0);
        if (first == 0 || next_child(t, index, first) != 0)
            break;
        index = first;
        draw_node(t, index, "");
    }
    for (size_t child = next_child(t, index, 0); child != 0;) {
        size_t following = next_child(t, index, child);
        bool is_last = following == 0;
        draw_from(t, child, is_last ? t->style->last : t->style->fork,
                  is_last ? t->style->gap : t->style->bar);
        child = following;
    }
    if (is_indented)
        t->depth--;
}

void cli_draw_tree(struct buf *out, const json_t *timeline, bool is_ascii)
{
    const json_t *list = json_object_get(timeline, "checkpoints");
    struct tree t = {.current = cli_json_int(timeline, "current", 0),
                     .style = is_ascii ? &ascii : &unicode,
                     .out = out,
                     .is_measuring = true};
    _free_ struct node *nodes = mem_alloc((json_array_size(list) + 1) * sizeof(*nodes));
    t.nodes = nodes;
    /* A parent is older than its child; whatever claims otherwise would make a circle. */
    t.nodes[0] = (struct node){.id = 0};
    t.n = 1;
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *checkpoint = json_array_get(list, i);
        int64_t id = cli_json_int(checkpoint, "id", -1);
        if (id > 0)
            t.nodes[t.n++] = (struct node){.id = id, .checkpoint = checkpoint};
        else if (id == 0)
            t.nodes[0].checkpoint = checkpoint;
    }
    qsort(t.nodes, t.n, sizeof(*t.nodes), by_id);
    for (size_t i = 1; i < t.n; i++) {
        size_t parent = find(&t, cli_json_int(t.nodes[i].checkpoint, "parent", 0));
        t.nodes[i].parent = parent < i ? parent : 0;
    }
    draw_from(&t, 0, "", "");
    t.is_measuring = false;
    draw_from(&t, 0, "", "");
}
