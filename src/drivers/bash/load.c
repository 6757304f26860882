/* A saved state put back item by item; what fails is told by name. In a fresh shell's process. */
/* clang-format off */
#include "drivers/bash/shell.h"
/* clang-format on */

#include "drivers/bash/load.h"

#include "drivers/bash/builtins.h"
#include "drivers/bash/cell.h"
#include "drivers/bash/records.h"
#include "drivers/bash/save.h"

#include <errno.h>

enum { LOST_MAX = 100, TEXT_BYTES_MAX = 400 };

#define STATE_MAX ((size_t)1 << 31)

static struct {
    struct buf items; /* bodies, one after the other */
    struct buf lost;  /* the inside of an array of JSON */
    size_t n_lost;
    int64_t restored;  /* variables and functions */
    struct buf before; /* lines of options that are in force already */
    int status;        /* $? */
} load;

static void add_lost(const char *name, const char *type, const char *advice)
{
    struct json_out json = {.buf = &load.lost, .needs_comma = load.lost.len > 0};
    if (load.n_lost++ >= LOST_MAX)
        return;
    json_put_object(&json);
    json_put_member_text(&json, "name", name, strnlen(name, TEXT_BYTES_MAX));
    json_put_member_text(&json, "type", type, strnlen(type, TEXT_BYTES_MAX));
    json_put_member_text(&json, "advice", advice, strnlen(advice, TEXT_BYTES_MAX));
    json_put_object_end(&json);
}

static void fail(const char *name, const char *type, const char *why)
{
    char advice[TEXT_BYTES_MAX];
    snprintf(advice, sizeof(advice), "Note: '%s' (%s) not restored - %.200s", name, type, why);
    add_lost(name, type, advice);
}

/* ---- putting back ---------------------------------------------------------------------------- */

static bool run(const char *name, const char *type, const char *source)
{
    struct cell_verdict verdict;
    cell_run(source, true, &verdict);
    if (verdict.status == CELL_OK && verdict.last_status == 0)
        return true;
    char why[64];
    snprintf(why, sizeof(why), "status %d", verdict.last_status);
    fail(name, type, verdict.message[0] == '\0' ? why : verdict.message);
    return false;
}

/* `before` has it between newlines. */
static bool is_in_force(const char *line)
{
    const char *found = load.before.len == 0 ? NULL : load.before.data;
    size_t len = strlen(line);
    while (found != NULL && (found = strstr(found, line)) != NULL) {
        if (found[-1] == '\n' && found[len] == '\n')
            return true;
        found++;
    }
    return false;
}

static void go_to(const char *path)
{
    if (chdir(path) < 0) {
        fail(path, "folder", strerror(errno));
        return;
    }
    set_working_directory((char *)(uintptr_t)path);
    set_pwd();
}

static void put_back(enum save_kind kind, const char *name, const char *source)
{
    switch (kind) {
    case SAVE_OPTION:
    case SAVE_SWITCH:
        if (!is_in_force(source) && builtins_run(source, NULL) != EXECUTION_SUCCESS)
            fail(source, "option", "this shell does not take it");
        break;
    case SAVE_VARIABLE:
        load.restored += run(name, "variable", source);
        break;
    case SAVE_FUNCTION:
        load.restored += run(name, "function", source);
        break;
    case SAVE_ARGUMENTS:
        run(name, "arguments", source);
        break;
    case SAVE_TRAP:
        run(name, "trap", source);
        break;
    case SAVE_ALIAS:
        add_alias((char *)(uintptr_t)name, (char *)(uintptr_t)source);
        break;
    case SAVE_FOLDER:
        go_to(source);
        break;
    case SAVE_STATUS:
        load.status = (int)strtol(source, NULL, 10) & 0xff;
        break;
    }
}

/* Items of one kind, of all bodies. Each is two texts with their NULs, which a body that was cut or
 * made by somebody else may lack: the buffer has one at its end. */
static void put_back_all(enum save_kind kind)
{
    const char *at = load.items.data, *end = at + load.items.len;
    while (at < end) {
        const char *name = at, *source = name + strlen(name) + 1;
        if (source >= end)
            return;
        at = source + strlen(source) + 1;
        if (name[0] == (char)kind)
            put_back(kind, name + 1, source);
    }
}

/* ---- reading --------------------------------------------------------------------------------- */

/* 0 at the end of the state. */
static int read_records(int fd)
{
    _buf_ struct buf header = BUF_INIT(2 * RECORD_HEADER_MAX);
    _buf_ struct buf body = BUF_INIT(STATE_MAX);
    struct bash_request record;
    for (;;) {
        int r = records_take(fd, &record, &header, &body);
        if (r < 0)
            return r;
        if (strcmp(record.rec.data, "end") == 0)
            return 0;
        bool is_ours = record.kind.data == NULL || strcmp(record.kind.data, "overview") != 0;
        if (strcmp(record.rec.data, "blob") == 0 && is_ours)
            buf_append(&load.items, body.data, body.len);
        else if (strcmp(record.rec.data, "lost") == 0 && record.name.data != NULL &&
                 record.type.data != NULL && record.advice.data != NULL)
            add_lost(record.name.data, record.type.data, record.advice.data);
    }
}

static const char *message_for(int r)
{
    if (r == 0)
        return NULL;
    return r == -EPIPE ? "the saved state is cut short" : "the saved state is not one of bash";
}

void load_read(int fd, struct json_out *json)
{
    load.items = load.before = BUF_INIT(STATE_MAX);
    load.lost = BUF_INIT(128 * KIB);
    load.n_lost = 0;
    load.restored = 0;
    int r = read_records(fd);
    if (r == 0 && load.items.len > 0 && !load.items.overflowed) {
        static const enum save_kind order[] = {SAVE_OPTION,   SAVE_VARIABLE, SAVE_ARGUMENTS,
                                               SAVE_FUNCTION, SAVE_ALIAS,    SAVE_FOLDER,
                                               SAVE_TRAP,     SAVE_SWITCH,   SAVE_STATUS};
        load.status = last_command_exit_value;
        buf_append_char(&load.before, '\n');
        builtins_run("umask -p", &load.before);
        builtins_run("shopt -p", &load.before);
        builtins_run("set +o", &load.before);
        for (size_t i = 0; i < ARRAY_LEN(order); i++)
            put_back_all(order[i]);
        last_command_exit_value = load.status;
    }
    json_put_member_int(json, "restored", load.restored);
    json_put_key(json, "lost");
    json_put_array(json);
    if (load.lost.len > 0)
        json_put_raw(json, load.lost.data, load.lost.len);
    json_put_array_end(json);
    json_put_key(json, "message");
    json_put_str(json, message_for(r)); /* null if all went well */
    buf_free(&load.items);
    buf_free(&load.before);
    buf_free(&load.lost);
}
