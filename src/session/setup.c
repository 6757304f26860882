/* The directory and the environment of a session, in the daemon: checked, and told to its driver.
 */
#include "session/setup.h"

#include "runtime/head.h"
#include "wire/json.h"

/* ---- the directory --------------------------------------------------------------------------- */

static int setup_refuse_cwd(const char *cwd, struct err *e)
{
    err_set(e, ERR_INVALID, "\"cwd\" is no directory that a session can work in: %.200s", cwd);
    return err_advise(e, "Give a path inside /workspace or /tmp; a relative one begins in "
                         "/workspace. It is made if it does not exist.");
}

/* Appends one component to the path; false if it leads above the root or is too long. */
static bool setup_step(char path[SESSION_CWD_SIZE], const char *name, size_t len)
{
    size_t used = strlen(path);
    if (len == 0 || (len == 1 && name[0] == '.'))
        return true;
    if (len == 2 && name[0] == '.' && name[1] == '.') {
        char *slash = strrchr(path, '/');
        if (slash == NULL)
            return false;
        *slash = '\0';
        return true;
    }
    if (used + 1 + len >= SESSION_CWD_SIZE)
        return false;
    path[used] = '/';
    memcpy(path + used + 1, name, len);
    path[used + 1 + len] = '\0';
    return true;
}

static bool setup_is_inside(const char *path, const char *dir)
{
    size_t len = strlen(dir);
    return strncmp(path, dir, len) == 0 && (path[len] == '/' || path[len] == '\0');
}

/* What symbolic links make of it is the jail's business: nothing outside of it can be reached. */
static int setup_check_cwd(const char *cwd, char ret_cwd[SESSION_CWD_SIZE], struct err *e)
{
    snprintf(ret_cwd, SESSION_CWD_SIZE, "%s", JAIL_WORKSPACE);
    if (cwd == NULL)
        return 0;
    if (cwd[0] == '/')
        ret_cwd[0] = '\0';
    for (const char *at = cwd; *at != '\0';) {
        size_t len = strcspn(at, "/");
        if (!setup_step(ret_cwd, at, len))
            return setup_refuse_cwd(cwd, e);
        at += len + (at[len] == '/');
    }
    if (!setup_is_inside(ret_cwd, JAIL_WORKSPACE) && !setup_is_inside(ret_cwd, "/tmp"))
        return setup_refuse_cwd(cwd, e);
    return 0;
}

/* ---- the environment ------------------------------------------------------------------------- */

static bool setup_is_name(const char *name)
{
    bool is_word = name[0] != '\0' && !(name[0] >= '0' && name[0] <= '9');
    for (const char *c = name; *c != '\0'; c++)
        is_word = is_word && (*c == '_' || (*c >= '0' && *c <= '9') || (*c >= 'A' && *c <= 'Z') ||
                              (*c >= 'a' && *c <= 'z'));
    return is_word;
}

static int setup_check_env(const json_t *env, struct err *e)
{
    const char *name;
    json_t *value;
    size_t bytes = 0;
    if (json_object_size(env) > SETUP_ENV_MAX)
        return err_set(e, ERR_INVALID, "\"env\" has more than %d variables", SETUP_ENV_MAX);
    json_object_foreach((json_t *)(uintptr_t)env, name, value) {
        if (!setup_is_name(name)) {
            err_set(e, ERR_INVALID, "\"env\" has a variable of the name \"%.64s\"", name);
            return err_advise(e, "Names are made of letters, digits and _, no digit first.");
        }
        if (!json_is_string(value))
            return err_set(e, ERR_INVALID, "\"env.%.64s\" must be a string", name);
        bytes += strlen(name) + json_string_length(value) + 2;
    }
    if (bytes > SETUP_ENV_BYTES)
        return err_set(e, ERR_INVALID, "\"env\" has more than %d bytes", SETUP_ENV_BYTES);
    return 0;
}

int setup_check(const struct session_request *request, char ret_cwd[SESSION_CWD_SIZE],
                struct err *e)
{
    if (setup_check_cwd(request->cwd, ret_cwd, e) < 0)
        return -1;
    return request->env != NULL ? setup_check_env(request->env, e) : 0;
}

/* ---- telling it ------------------------------------------------------------------------------ */

bool setup_begin(struct session *session)
{
    struct err e;
    bool has_cwd = strcmp(session->cwd, JAIL_WORKSPACE) != 0;
    _json_ json_t *env = json_incref(session->env);
    /* Leaks are not looked for in other sessions, where that would fail (jail/warden/zygote.c). */
    static const char leaks[] = "LSAN_OPTIONS";
    if (session->limits.debug != 0 && json_object_get(env, leaks) == NULL) {
        json_decref(env);
        env = session->env != NULL ? json_copy(session->env) : json_object();
        json_object_set_new(env, leaks, json_string(""));
    }
    if (!has_cwd && env == NULL)
        return false;
    if (head_setup(session->head, has_cwd ? session->cwd : NULL, env, &e) < 0)
        session_kill(session, DEATH_BY_CHANNEL, e.message);
    session->is_set_up = true;
    return true;
}
