/* Daemons that are measured: configured, started, stopped. cella-bench; owns their directories. */
#include "base/clock.h"
#include "base/fd.h"
#include "bench/bench.h"
#include "cli/terminal.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

enum { KEY_FILE_MAX = 4096 };

int bench_pause(uint64_t ms, struct err *e)
{
    if (cli_wait(-1, 0, clock_mono_ms() + ms) == -EINTR)
        return err_set(e, ERR_UNAVAILABLE, "interrupted");
    return 0;
}

static int read_address(struct bench_daemon *d, const char *url, struct err *e)
{
    const char *host = strncmp(url, "http://", 7) == 0 ? url + 7 : url;
    const char *colon = strrchr(host, ':');
    if (colon == NULL)
        return err_set(e, ERR_INTERNAL, "the daemon's address is not understood: %.100s", url);
    snprintf(d->host, sizeof(d->host), "%.*s", (int)(colon - host), host);
    snprintf(d->port, sizeof(d->port), "%.*s", (int)strspn(colon + 1, "0123456789"), colon + 1);
    return 0;
}

static int read_key(struct bench_daemon *d, struct err *e)
{
    char path[PATH_MAX];
    snprintf(path, sizeof(path), "%s/key", d->dir);
    _free_ char *text = NULL;
    size_t len = 0;
    int status = fd_read_file(AT_FDCWD, path, KEY_FILE_MAX, &text, &len);
    if (status < 0)
        return err_errno(e, ERR_UNAVAILABLE, -status, "reading %.256s", path);
    snprintf(d->key, sizeof(d->key), "%.*s", (int)strcspn(text, "\r\n"), text);
    return 0;
}

/* The configuration is named, so that one of the user's is not read instead. */
static int write_config(const char *path, unsigned pool, const char *more, struct err *e)
{
    _buf_ struct buf text = BUF_INIT(64 * KIB);
    buf_printf(&text, "default_profile: data\npool: %u\n%s", pool, more);
    int status = fd_create_file(AT_FDCWD, path, buf_str(&text), text.len, 0600);
    return status < 0 ? err_errno(e, ERR_UNAVAILABLE, -status, "writing %.256s", path) : 0;
}

static int start(struct bench *b, struct bench_daemon *d, const char *name, unsigned pool,
                 const char *more, struct err *e)
{
    if (d->pid > 0)
        return 0;
    char dir[PATH_MAX + 16], config[PATH_MAX + 32], url[CLI_URL_MAX] = "";
    snprintf(dir, sizeof(dir), "%s/%s", b->dir, name);
    snprintf(config, sizeof(config), "%s/%s.yaml", b->dir, name);
    if (write_config(config, pool, more, e) < 0 || cli_make_dirs(dir, e) < 0)
        return -1;
    d->dir = mem_strdup(dir);
    struct cli_daemon daemon = {.data_dir = d->dir,
                                .listen = "127.0.0.1:0",
                                .config = config,
                                .program = b->program,
                                .url = url};
    if (cli_daemon_spawn(&daemon, &d->pid, e) < 0)
        return -1;
    if (read_address(d, url, e) < 0 || read_key(d, e) < 0)
        return -1;
    d->over_unix = (struct cli_endpoint){.data_dir = d->dir};
    d->over_tcp =
        (struct cli_endpoint){.data_dir = d->dir, .host = d->host, .port = d->port, .key = d->key};
    return bench_pause(b->is_quick ? 400 : 1000, e); /* the pool fills */
}

int bench_need_warm(struct bench *b, struct err *e)
{
    return start(b, &b->warm, "warm", 4, "", e);
}

int bench_need_without(struct bench *b, struct err *e)
{
    return start(b, &b->without, "without-pool", 0, "", e);
}

int bench_need_tools(struct bench *b, const char *config, struct err *e)
{
    return start(b, &b->tools, "tools", 1, config, e);
}

static int stop(struct bench_daemon *d, struct err *e)
{
    int status = d->pid > 0 ? cli_daemon_stop(d->pid, e) : 0;
    free(d->dir);
    *d = (struct bench_daemon){0};
    return status;
}

int bench_daemons_stop(struct bench *b, struct err *e)
{
    int status = stop(&b->warm, e);
    struct err second;
    struct bench_daemon *const others[] = {&b->without, &b->tools};
    for (size_t i = 0; i < ARRAY_LEN(others); i++) {
        if (stop(others[i], &second) == 0 || status < 0)
            continue;
        *e = second;
        status = -1;
    }
    return status;
}
