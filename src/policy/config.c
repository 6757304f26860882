/* The configuration, found and read as a whole. Daemon at its start and on SIGHUP, and `cella
 * config`. */
#include "policy/config.h"

#include "base/fd.h"
#include "policy/config_env.h"

#include <errno.h>
#include <fcntl.h>

#define SYSTEM_FILE "/etc/cella/cella.yaml"

static int unreadable(const char *path, int errnum, struct err *e)
{
    if (errnum == EFBIG) {
        err_set(e, ERR_INVALID, "%s: larger than %d bytes", path, CONFIG_FILE_MAX);
        return err_advise(e, "Is this the right file? A configuration has a few hundred lines.");
    }
    err_errno(e, ERR_INVALID, errnum, "cannot read the configuration %s", path);
    return err_advise(e, "Check the path and that this user (%u) may read it.", geteuid());
}

/* 1 if there is no such file. */
static int load_file(const char *path, struct config *ret_config, struct err *e)
{
    _free_ char *text = NULL;
    size_t len;
    int r = fd_read_file(AT_FDCWD, path, CONFIG_FILE_MAX, &text, &len);
    if (r == -ENOENT || r == -ENOTDIR)
        return 1;
    if (r < 0)
        return unreadable(path, -r, e);
    return config_parse(text, len, path, ret_config, e);
}

static int load_usual(struct config *ret_config, struct err *e)
{
    struct arena scratch = {0};
    const char *base = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME"), *mine = NULL;
    if (base != NULL && base[0] == '/')
        mine = arena_printf(&scratch, "%s/cella/cella.yaml", base);
    else if (home != NULL && home[0] == '/')
        mine = arena_printf(&scratch, "%s/.config/cella/cella.yaml", home);
    int r = mine != NULL ? load_file(mine, ret_config, e) : 1;
    arena_free(&scratch);
    if (r == 1)
        r = load_file(SYSTEM_FILE, ret_config, e);
    if (r == 1)
        r = config_parse("", 0, NULL, ret_config, e);
    return r;
}

int config_load(const char *path, struct config *ret_config, struct err *e)
{
    struct config config;
    int r = path != NULL ? load_file(path, &config, e) : load_usual(&config, e);
    if (r == 1)
        return unreadable(path, ENOENT, e);
    if (r < 0)
        return -1;
    if (config_take_environment(&config, e) < 0) {
        config_free(&config);
        return -1;
    }
    *ret_config = config;
    return 0;
}

void config_free(struct config *c)
{
    arena_free(&c->arena);
    *c = (struct config){0};
}

const struct config_profile *config_find_profile(const struct config *c, const char *name)
{
    for (size_t i = 0; i < c->n_profiles; i++)
        if (strcmp(c->profiles[i].name, name) == 0)
            return &c->profiles[i];
    return NULL;
}

const struct config_agent *config_find_agent(const struct config *c, const char *id)
{
    for (size_t i = 0; i < c->n_agents; i++)
        if (strcmp(c->agents[i].id, id) == 0)
            return &c->agents[i];
    return NULL;
}
