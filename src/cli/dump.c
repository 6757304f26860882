/* `cella --dump WHAT`: the tables of operations, verbs and errors, from which packaging/pages.py
 * makes pages, completions and clients, and the entries for clients of MCP; all as JSON. Command
 * line tool; needs no daemon. */
#include "cli/dump.h"

#include "base/buf.h"
#include "base/err_page.h"
#include "base/fd.h"
#include "cli/mcp_config.h"
#include "ops/describe.h"
#include "wire/json.h"

enum { DUMP_MAX = 16 << 20 };

static void dump_operations(struct buf *out)
{
    describe_operations(op_table, out);
}

static void dump_openapi(struct buf *out)
{
    describe_openapi(op_table, out);
}

static void put_flags(struct json_out *json, const char *key, const struct cli_flag *flags)
{
    json_put_key(json, key);
    json_put_array(json);
    for (const struct cli_flag *f = flags; f != NULL && f->name != NULL; f++) {
        if (f->doc == NULL)
            continue;
        char letter[] = {f->letter, '\0'};
        json_put_object(json);
        json_put_member_str(json, "name", f->name);
        json_put_member_str(json, "letter", letter);
        json_put_member_str(json, "value", f->value);
        json_put_member_str(json, "doc", f->doc);
        json_put_object_end(json);
    }
    json_put_array_end(json);
}

static void dump_verbs(struct buf *out)
{
    struct json_out json = JSON_OUT(out);
    json_put_object(&json);
    json_put_key(&json, "verbs");
    json_put_array(&json);
    for (const struct cli_verb *const *verb = cli_verbs(); *verb != NULL; verb++) {
        json_put_object(&json);
        json_put_member_str(&json, "name", (*verb)->name);
        json_put_member_str(&json, "operation", (*verb)->op != NULL ? (*verb)->op->name : NULL);
        json_put_member_str(&json, "summary", (*verb)->summary);
        json_put_member_str(&json, "usage", (*verb)->usage);
        json_put_member_str(&json, "about", (*verb)->about);
        json_put_member_bool(&json, "is_client", (*verb)->is_client);
        put_flags(&json, "flags", (*verb)->flags);
        json_put_object_end(&json);
    }
    json_put_array_end(&json);
    put_flags(&json, "client_flags", cli_client_flags);
    put_flags(&json, "common_flags", cli_common_flags);
    json_put_object_end(&json);
}

static void dump_errors(struct buf *out)
{
    struct json_out json = JSON_OUT(out);
    json_put_object(&json);
    json_put_key(&json, "errors");
    json_put_array(&json);
    for (unsigned code = ERR_INVALID; code <= ERR_INTERNAL; code++) {
        json_put_object(&json);
        json_put_member_str(&json, "code", err_code_name(code));
        json_put_member_int(&json, "http_status", err_http_status(code));
        json_put_member_int(&json, "exit_status", err_exit_status(code));
        json_put_member_str(&json, "when", err_when(code));
        json_put_member_str(&json, "remedy", err_remedy(code));
        json_put_object_end(&json);
    }
    json_put_array_end(&json);
    json_put_object_end(&json);
}

static void dump_mcp_configs(struct buf *out)
{
    static const char *const none[] = {NULL};
    struct json_out json = JSON_OUT(out);
    json_put_object(&json);
    json_put_key(&json, "clients");
    json_put_array(&json);
    for (const struct mcp_config_client *c = mcp_config_clients; c->name != NULL; c++) {
        _buf_ struct buf entry = BUF_INIT(64 * KIB);
        mcp_config_append(c, "/usr/local/bin/cella", none, &entry);
        json_put_object(&json);
        json_put_member_str(&json, "name", c->name);
        json_put_member_str(&json, "title", c->title);
        json_put_member_str(&json, "where", c->where);
        json_put_member_str(&json, "entry", buf_str(&entry));
        json_put_object_end(&json);
    }
    json_put_array_end(&json);
    json_put_object_end(&json);
}

static const struct {
    const char *what;
    void (*write)(struct buf *out);
} dumps[] = {
    {"operations", dump_operations}, {"openapi", dump_openapi},         {"verbs", dump_verbs},
    {"errors", dump_errors},         {"mcp_configs", dump_mcp_configs},
};

int cli_dump(const char *what, struct err *e)
{
    _buf_ struct buf known = BUF_INIT(KIB), out = BUF_INIT(DUMP_MAX);
    for (size_t i = 0; i < ARRAY_LEN(dumps); i++) {
        buf_printf(&known, "%s%s", i > 0 ? ", " : "", dumps[i].what);
        if (strcmp(dumps[i].what, what) != 0)
            continue;
        dumps[i].write(&out);
        buf_append_char(&out, '\n');
        return fd_write_all(STDOUT_FILENO, buf_str(&out), out.len) < 0 ? CLI_EXIT_PIPE : 0;
    }
    err_set(e, ERR_INVALID, "'%.32s' cannot be dumped", what);
    return err_advise(e, "one of these can: %s", buf_str(&known));
}
