/* The shell's state as source, item by item into a stream. In a copy of the shell's process, so
 * that cells go on meanwhile. */
/* clang-format off */
#include "drivers/bash/shell.h"
/* clang-format on */

#include "drivers/bash/save.h"

#include "drivers/bash/builtins.h"
#include "drivers/bash/names.h"
#include "drivers/bash/notes.h"
#include "drivers/bash/records.h"

#include <limits.h>

enum {
    SMALL_BYTES = 1024, /* such variables share one body */
    LISTED_MAX = 500,   /* names in a header */
    NAME_BYTES_MAX = 100,
    TOLD_BYTES_MAX = 30 * 1024, /* of sources that people read; escaped they are longer */
};

#define ITEM_MAX ((size_t)1 << 31)

static struct {
    int fd;
    size_t left; /* bytes that bodies may still have */
    size_t max_bytes;
    bool has_failed;  /* too large, or nobody reads */
    struct buf item;  /* source of one */
    struct buf small; /* body of the small variables */
    struct buf names; /* of those, as JSON */
    size_t n_names;
    struct buf body;
} save;

/* ---- records --------------------------------------------------------------------------------- */

static void put(const struct buf *header, const struct buf *body)
{
    if (!save.has_failed && records_put(save.fd, header, body) < 0)
        save.has_failed = true;
}

static void put_simple(const char *rec, const char *message)
{
    _buf_ struct buf header = BUF_INIT(RECORD_HEADER_MAX);
    struct json_out json = JSON_OUT(&header);
    json_put_object(&json);
    json_put_member_str(&json, "rec", rec);
    if (message != NULL)
        json_put_member_str(&json, "message", message);
    json_put_object_end(&json);
    put(&header, NULL);
}

static void fail_for_size(void)
{
    char text[200];
    snprintf(text, sizeof(text),
             "State is more than STATE_MAX_SIZE_MB = %zu: keep large data in files",
             save.max_bytes / MIB);
    put_simple("failed", text);
    save.has_failed = true;
}

/* `names` is the inside of an array of JSON. */
static void put_blob(const char *kind, const struct buf *names, const struct buf *body)
{
    _buf_ struct buf header = BUF_INIT(RECORD_HEADER_MAX);
    struct json_out json = JSON_OUT(&header);
    if (save.has_failed || body->len == 0)
        return;
    if (body->overflowed || body->len > save.left) {
        fail_for_size();
        return;
    }
    save.left -= body->len;
    json_put_object(&json);
    json_put_member_str(&json, "rec", "blob");
    json_put_member_str(&json, "kind", kind);
    json_put_key(&json, "names");
    json_put_array(&json);
    if (names->len > 0)
        json_put_raw(&json, names->data, names->len);
    json_put_array_end(&json);
    json_put_member_bool(&json, "body", true);
    json_put_object_end(&json);
    put(&header, body);
}

/* ---- items ----------------------------------------------------------------------------------- */

static void add_item(struct buf *body, enum save_kind kind, const char *name, const char *source)
{
    buf_append_char(body, (char)kind);
    buf_append(body, name, strlen(name) + 1);
    buf_append(body, source, strlen(source) + 1);
}

static void add_name(struct buf *names, const char *name)
{
    struct json_out json = {.buf = names, .needs_comma = names->len > 0};
    json_put_text(&json, name, strnlen(name, NAME_BYTES_MAX));
}

static void print_variable(void *variable)
{
    show_var_attributes(variable, 1, 0);
}

static const char *source_of(SHELL_VAR *variable)
{
    buf_clear(&save.item);
    builtins_capture(print_variable, variable, &save.item);
    return buf_str(&save.item);
}

static void save_variable(SHELL_VAR *variable)
{
    source_of(variable);
    if (save.item.overflowed && !save.has_failed)
        fail_for_size();
    if (save.has_failed)
        return;
    if (save.item.len > SMALL_BYTES) {
        _buf_ struct buf names = BUF_INIT(RECORD_HEADER_MAX);
        buf_clear(&save.body);
        add_name(&names, variable->name);
        add_item(&save.body, SAVE_VARIABLE, variable->name, buf_str(&save.item));
        put_blob("variables", &names, &save.body);
        return;
    }
    add_item(&save.small, SAVE_VARIABLE, variable->name, buf_str(&save.item));
    if (save.n_names++ < LISTED_MAX)
        add_name(&save.names, variable->name);
}

/* Those that were there in the beginning and are gone. */
static void save_unset(const char *name)
{
    char source[256];
    if (snprintf(source, sizeof(source), "unset -v %s", name) < (int)sizeof(source))
        add_item(&save.small, SAVE_VARIABLE, name, source);
}

static void add_lines(struct buf *body, enum save_kind kind, const char *command)
{
    buf_clear(&save.item);
    builtins_run(command, &save.item);
    char *end = NULL;
    for (char *line = strtok_r(save.item.data, "\n", &end); line != NULL;
         line = strtok_r(NULL, "\n", &end))
        add_item(body, kind, line, line);
}

static void save_function(SHELL_VAR *function)
{
    add_item(&save.body, SAVE_FUNCTION, function->name, source_of(function));
    if (save.n_names++ < LISTED_MAX)
        add_name(&save.names, function->name);
}

/* All but variables. */
static void put_declarations(void)
{
    buf_clear(&save.body);
    buf_clear(&save.names);
    save.n_names = 0;
    add_lines(&save.body, SAVE_OPTION, "umask -p");
    add_lines(&save.body, SAVE_OPTION, "shopt -p");
    WORD_LIST *words = list_rest_of_args();
    buf_clear(&save.item);
    buf_append_str(&save.item, "set --");
    for (WORD_LIST *word = words; word != NULL; word = word->next) {
        char *quoted = sh_single_quote(word->word->word);
        buf_printf(&save.item, " %s", quoted);
        free(quoted);
    }
    if (words != NULL)
        add_item(&save.body, SAVE_ARGUMENTS, "arguments", buf_str(&save.item));
    dispose_words(words);
    names_each_function(save_function);
    alias_t **list = all_aliases(); /* sorted */
    for (alias_t **alias = list; list != NULL && *alias != NULL; alias++)
        add_item(&save.body, SAVE_ALIAS, (*alias)->name, (*alias)->value);
    free(list);
    char folder[PATH_MAX], status[16];
    if (getcwd(folder, sizeof(folder)) != NULL)
        add_item(&save.body, SAVE_FOLDER, folder, folder);
    snprintf(status, sizeof(status), "%d", last_command_exit_value);
    add_item(&save.body, SAVE_STATUS, "status", status);
    /* One command may have several lines: they are a single item. */
    buf_clear(&save.item);
    builtins_run("trap -p", &save.item);
    if (save.item.len > 0)
        add_item(&save.body, SAVE_TRAP, "traps", buf_str(&save.item));
    add_lines(&save.body, SAVE_SWITCH, "set +o");
    put_blob("declarations", &save.names, &save.body);
}

/* ---- what is lost ---------------------------------------------------------------------------- */

static const char *advice_for(const char *what)
{
    static const char *const advice[][2] = {
        {"process", "start it again"}, {"coproc", "start it again"},
        {"file", "open it again"},     {"pipe", "open it again"},
        {"socket", "connect again"},   {"directory stack", "pushd again"},
    };
    for (size_t i = 0; i < ARRAY_LEN(advice); i++)
        if (strcmp(advice[i][0], what) == 0)
            return advice[i][1];
    return "make it again";
}

static void put_lost(const char *what, const char *subject, void *context)
{
    (void)context;
    _buf_ struct buf header = BUF_INIT(RECORD_HEADER_MAX);
    struct json_out json = JSON_OUT(&header);
    char text[400];
    snprintf(text, sizeof(text), "Note: '%s' (%s) not persisted - %s", subject, what,
             advice_for(what));
    json_put_object(&json);
    json_put_member_str(&json, "rec", "lost");
    json_put_member_str(&json, "name", subject);
    json_put_member_str(&json, "type", what);
    json_put_member_str(&json, "advice", text);
    json_put_object_end(&json);
    put(&header, NULL);
}

/* ---- for people ------------------------------------------------------------------------------ */

static struct {
    struct json_out *json;
    size_t left; /* bytes of sources */
    size_t n;
    bool has_more;
} listed;

static void list_function(SHELL_VAR *function)
{
    const char *source = source_of(function);
    size_t len = save.item.len;
    if (save.item.overflowed || len > listed.left || listed.n == LISTED_MAX ||
        strlen(function->name) > NAME_BYTES_MAX) {
        listed.has_more = true;
        return;
    }
    listed.left -= len;
    listed.n++;
    json_put_object(listed.json);
    json_put_member_text(listed.json, "name", function->name, strlen(function->name));
    json_put_member_str(listed.json, "kind", "function");
    json_put_member_text(listed.json, "code", source, len);
    json_put_object_end(listed.json);
}

static void put_no(struct json_out *json, const char *list)
{
    json_put_key(json, list);
    json_put_array(json);
    json_put_array_end(json);
}

static void list_functions(struct json_out *json)
{
    listed.json = json;
    listed.left = TOLD_BYTES_MAX;
    listed.n = 0;
    listed.has_more = false;
    put_no(json, "imports");
    json_put_key(json, "definitions");
    json_put_array(json);
    names_each_function(list_function);
    json_put_array_end(json);
    put_no(json, "lost");
    if (listed.has_more)
        json_put_member_bool(json, "more", true);
}

void save_put_functions(struct json_out *json)
{
    save.item = BUF_INIT(TOLD_BYTES_MAX + 1);
    list_functions(json);
    buf_free(&save.item);
}

/* For the daemon, which tells it while there is no shell to ask. */
static void put_overview(void)
{
    buf_clear(&save.body);
    buf_clear(&save.names);
    struct json_out json = JSON_OUT(&save.body);
    json_put_object(&json);
    list_functions(&json);
    json_put_object_end(&json);
    put_blob("overview", &save.names, &save.body);
}

void save_write(int fd, const struct bash_request *order)
{
    save.fd = fd;
    save.max_bytes = order->max_bytes > 0 ? (size_t)order->max_bytes : ITEM_MAX;
    save.left = save.max_bytes;
    save.item = save.small = save.body = BUF_INIT(MIN(save.max_bytes + MIB, ITEM_MAX));
    save.names = BUF_INIT(RECORD_HEADER_MAX);
    if (order->format.data == NULL || strcmp(order->format.data, "state") != 0) {
        put_simple("failed", "bash saves its state in the format \"state\" only");
        return;
    }
    _buf_ struct buf header = BUF_INIT(RECORD_HEADER_MAX);
    struct json_out json = JSON_OUT(&header);
    json_put_object(&json);
    json_put_member_str(&json, "rec", "begin");
    json_put_member_str(&json, "format", "state");
    json_put_member_str(&json, "runtime", "bash");
    json_put_member_str(&json, "version", dist_version);
    json_put_object_end(&json);
    put(&header, NULL);
    put_declarations();
    put_overview();
    buf_clear(&save.names);
    save.n_names = 0;
    names_each_variable(save_variable, save_unset);
    put_blob("variables", &save.names, &save.small);
    notes_each(put_lost, NULL);
    WORD_LIST *folders = get_directory_stack(0);
    if (folders != NULL && folders->next != NULL)
        put_lost("directory stack", "DIRSTACK", NULL);
    dispose_words(folders);
    if (!save.has_failed)
        put_simple("end", NULL);
}
