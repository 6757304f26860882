/* `cella --dump WHAT`: the tables of operations and verbs, as others read them. Command line tool;
 * needs no daemon. */
#include "cli/dump.h"

#include "base/buf.h"
#include "base/fd.h"
#include "ops/describe.h"

enum { DUMP_MAX = 16 << 20 };

static const struct {
    const char *what;
    void (*write)(const struct op *const *table, struct buf *out);
} dumps[] = {
    {"operations", describe_operations},
    {"openapi", describe_openapi},
};

int cli_dump(const char *what, struct err *e)
{
    _buf_ struct buf known = BUF_INIT(KIB), out = BUF_INIT(DUMP_MAX);
    for (size_t i = 0; i < ARRAY_LEN(dumps); i++) {
        buf_printf(&known, "%s%s", i > 0 ? ", " : "", dumps[i].what);
        if (strcmp(dumps[i].what, what) != 0)
            continue;
        dumps[i].write(op_table, &out);
        return fd_write_all(STDOUT_FILENO, buf_str(&out), out.len) < 0 ? CLI_EXIT_PIPE : 0;
    }
    err_set(e, ERR_INVALID, "'%.32s' cannot be dumped", what);
    return err_advise(e, "one of these can: %s", buf_str(&known));
}
