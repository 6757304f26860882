/* The daemon's REST interface as verbs use it: one call, its answer or its error; sessions found by
 * the beginning of their id. Command line tool. */
#include "cli/api.h"

#include "base/clock.h"
#include "cli/advice.h"
#include "cli/terminal.h"

enum {
    API_PATH_SIZE = 128,
    QUERY_MAX = 4096,
    CURSOR_SIZE = 160,
    API_NAME_BYTES_MAX = 64, /* of a session */
    SESSIONS_MAX = 100000,
    PAGE_SESSIONS = 1000,
    CREATE_MAX = 1 << 20,
};

#define NAME_CHARS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-"
#define CURSOR_CHARS NAME_CHARS ":"

const char *cli_json_text(const json_t *object, const char *name, size_t *ret_len)
{
    const json_t *value = json_object_get(object, name);
    if (!json_is_string(value))
        return NULL;
    if (ret_len != NULL)
        *ret_len = json_string_length(value);
    return json_string_value(value);
}

int64_t cli_json_int(const json_t *object, const char *name, int64_t fallback)
{
    const json_t *value = json_object_get(object, name);
    return json_is_integer(value) ? json_integer_value(value) : fallback;
}

double cli_json_number(const json_t *object, const char *name, double fallback)
{
    const json_t *value = json_object_get(object, name);
    return json_is_number(value) ? json_number_value(value) : fallback;
}

bool cli_json_is(const json_t *object, const char *name, const char *text)
{
    const char *value = cli_json_text(object, name, NULL);
    return value != NULL && strcmp(value, text) == 0;
}

static int refuse_answer(const char *what, struct err *e)
{
    err_set(e, ERR_INTERNAL, "the daemon's answer makes no sense: %s", what);
    return err_advise(e, "is the daemon of another version? Try: cella stop, then again");
}

/* Not json_read_object: a cell may have printed NUL, and results may be larger than requests. */
int cli_api_read(const char *text, size_t len, json_t **ret_object, struct err *e)
{
    json_error_t problem;
    json_t *value = json_loadb(text, len, JSON_ALLOW_NUL, &problem);
    if (json_is_object(value)) {
        *ret_object = value;
        return 0;
    }
    json_decref(value);
    return refuse_answer("it is not a JSON object", e);
}

static enum err_code code_from_name(const char *name, int http_status)
{
    for (int code = ERR_INVALID; code <= ERR_INTERNAL; code++)
        if (name != NULL && strcmp(name, err_code_name(code)) == 0)
            return code;
    for (int code = ERR_INVALID; code <= ERR_INTERNAL; code++)
        if (err_http_status(code) == http_status)
            return code;
    return http_status >= 500 ? ERR_INTERNAL : ERR_INVALID;
}

static int api_take_error(int http_status, const json_t *object, struct err *e)
{
    const json_t *error = json_object_get(object, "error");
    size_t message_len = 0, advice_len = 0;
    const char *message = cli_json_text(error, "message", &message_len);
    const char *advice = cli_json_text(error, "advice", &advice_len);
    enum err_code code = code_from_name(cli_json_text(error, "code", NULL), http_status);
    if (message == NULL)
        return err_set(e, code, "the daemon answered with status %d", http_status);
    _buf_ struct buf safe = BUF_INIT(64 * KIB);
    cli_append_advice(&safe, message, message_len);
    err_set(e, code, "%s", buf_str(&safe));
    if (code == ERR_UNAUTHORIZED)
        return err_advise(e, "give the daemon's key (the file 'key' in its data directory) with "
                             "--key or CELLA_KEY");
    if (json_is_object(json_object_get(object, "refusal"))) {
        const json_t *refusal = json_object_get(object, "refusal");
        size_t since_len = 0, reason_len = 0;
        const char *since = cli_json_text(refusal, "entered_at", &since_len);
        const char *reason = cli_json_text(refusal, "entered_reason", &reason_len);
        _buf_ struct buf text = BUF_INIT(64 * KIB);
        if (since != NULL) {
            buf_append_str(&text, "since ");
            cli_append_safe(&text, since, since_len, false);
        }
        if (reason != NULL && reason_len > 0) {
            buf_append_str(&text, ", because: ");
            cli_append_safe(&text, reason, MIN(reason_len, (size_t)160), false);
        }
        return err_advise(e, "%s%sleave it with: cella unplan SESSION, or cella agent unplan NAME",
                          buf_str(&text), text.len > 0 ? "; " : "");
    }
    if (advice == NULL)
        return -1;
    buf_clear(&safe);
    cli_append_advice(&safe, advice, advice_len);
    return err_advise(e, "%s", buf_str(&safe));
}

int cli_api_call(struct cli_client *c, struct cli_request *request, json_t **ret_object,
                 struct err *e)
{
    struct cli_reply reply;
    if (cli_client_ask(c, request, &reply, e) < 0)
        return -1;
    _json_ json_t *object = NULL;
    int status = 0;
    bool is_error = reply.status < 200 || reply.status > 299;
    if (!reply.was_stream) {
        struct err problem;
        status = cli_api_read(buf_str(&reply.body), reply.body.len, &object, &problem);
        if (is_error)
            status = api_take_error(reply.status, object, e);
        else if (status < 0)
            *e = problem;
    }
    cli_reply_free(&reply);
    *ret_object = status == 0 ? take_ptr(object) : NULL;
    return status;
}

int cli_api_fetch(struct cli_client *c, struct cli_request *request, struct buf *ret_body,
                  struct err *e)
{
    struct cli_reply reply;
    if (cli_client_ask(c, request, &reply, e) < 0)
        return -1;
    if (reply.status >= 200 && reply.status <= 299) {
        *ret_body = reply.body;
        return 0;
    }
    struct err ignored;
    _json_ json_t *object = NULL;
    cli_api_read(buf_str(&reply.body), reply.body.len, &object, &ignored);
    int status = api_take_error(reply.status, object, e);
    cli_reply_free(&reply);
    return status;
}

int cli_api_upgrade(struct cli_client *c, const char *path, const char *key, struct err *e)
{
    struct cli_reply reply;
    struct err ignored;
    _json_ json_t *object = NULL;
    struct cli_request request = {.method = "GET",
                                  .path = path,
                                  .upgrade = key,
                                  .deadline_ms = clock_mono_ms() + CLI_DEADLINE_SHORT_MS};
    if (cli_client_ask(c, &request, &reply, e) < 0)
        return -1;
    int status = 0;
    if (reply.status != 101) {
        cli_api_read(buf_str(&reply.body), reply.body.len, &object, &ignored);
        status = api_take_error(reply.status, object, e);
    }
    cli_reply_free(&reply);
    return status;
}

int cli_api_get(struct cli_client *c, const char *method, const char *path, json_t **ret_object,
                struct err *e)
{
    struct cli_request request = {
        .method = method,
        .path = path,
        .deadline_ms = clock_mono_ms() + CLI_DEADLINE_SHORT_MS,
    };
    return cli_api_call(c, &request, ret_object, e);
}

int cli_api_post(struct cli_client *c, const char *path, const struct buf *body,
                 uint64_t deadline_ms, json_t **ret_object, struct err *e)
{
    struct cli_request request = {
        .method = "POST",
        .path = path,
        .body = buf_str(body),
        .body_len = body->len,
        .deadline_ms = clock_mono_ms() + deadline_ms,
    };
    return cli_api_call(c, &request, ret_object, e);
}

/* --- sessions --------------------------------------------------------------------------------- */

static bool read_session(const json_t *object, struct cli_session *ret)
{
    size_t len = 0;
    const char *id = cli_json_text(object, "session_id", &len);
    if (id == NULL || !ids_is_uuid(id, len))
        return false;
    memcpy(ret->id, id, UUID_SIZE);
    const char *runtime = cli_json_text(object, "runtime", NULL);
    snprintf(ret->runtime, sizeof(ret->runtime), "%s", runtime != NULL ? runtime : "");
    ret->exec_count = cli_json_int(object, "exec_count", 0);
    return true;
}

int cli_session_list(struct cli_client *c, const char *query, json_t **ret_sessions, struct err *e)
{
    char next[CURSOR_SIZE] = "";
    _json_ json_t *all = json_array();
    do {
        /* One page; `next` becomes where the page after it begins, "" behind the last. */
        char path[API_PATH_SIZE + QUERY_MAX + CURSOR_SIZE];
        snprintf(path, sizeof(path), "/v1/sessions?limit=%d%s%s%s", PAGE_SESSIONS, query,
                 next[0] != '\0' ? "&cursor=" : "", next);
        _json_ json_t *object = NULL;
        if (cli_api_get(c, "GET", path, &object, e) < 0)
            return -1;
        json_t *sessions = json_object_get(object, "sessions");
        if (!json_is_array(sessions) ||
            json_array_size(sessions) + json_array_size(all) > SESSIONS_MAX)
            return refuse_answer("no list of sessions", e);
        for (size_t i = 0; i < json_array_size(sessions); i++) {
            struct cli_session ignored;
            if (!read_session(json_array_get(sessions, i), &ignored))
                return refuse_answer("a session without an id", e);
        }
        const char *cursor = cli_json_text(object, "next", NULL);
        snprintf(next, CURSOR_SIZE, "%s", cursor != NULL ? cursor : "");
        if (strspn(next, CURSOR_CHARS) != strlen(next) ||
            (cursor != NULL && json_array_size(sessions) == 0))
            return refuse_answer("a page of sessions without an end", e);
        json_array_extend(all, sessions);
    } while (next[0] != '\0');
    *ret_sessions = take_ptr(all);
    return 0;
}

static size_t find_by_prefix(const json_t *sessions, const char *prefix, struct cli_session *ret)
{
    size_t n_found = 0;
    for (size_t i = 0; i < json_array_size(sessions); i++) {
        struct cli_session session;
        read_session(json_array_get(sessions, i), &session);
        if (strncmp(session.id, prefix, strlen(prefix)) != 0)
            continue;
        *ret = session;
        n_found++;
    }
    return n_found;
}

int cli_session_named(const struct cli_args *args, struct err *e)
{
    if (args->n_words == 1)
        return 0;
    err_set(e, ERR_INVALID, "name one session");
    return err_advise(e, "list the sessions with: cella ps");
}

int cli_session_find(struct cli_client *c, const char *called, struct cli_session *ret,
                     struct err *e)
{
    size_t len = strlen(called);
    bool is_prefix = len > 0 && len < UUID_SIZE && strspn(called, "0123456789abcdef-") == len;
    bool can_be_name = len > 0 && len <= API_NAME_BYTES_MAX && strspn(called, NAME_CHARS) == len;
    if (!is_prefix && !can_be_name) {
        err_set(e, ERR_NOT_FOUND, "there is no session '%.64s'", called);
        return err_advise(e, "list the sessions with: cella ps");
    }
    _json_ json_t *sessions = NULL;
    if (cli_session_list(c, "", &sessions, e) < 0)
        return -1;
    /* The last session of that name is taken; sessions that have ended count if none lives. */
    size_t n_found = 0;
    bool has_living = false;
    for (size_t i = 0; i < json_array_size(sessions); i++) {
        const json_t *session = json_array_get(sessions, i);
        bool is_dead = cli_json_is(session, "state", "dead");
        if (!cli_json_is(session, "name", called) || (is_dead && n_found > 0))
            continue;
        n_found = has_living ? n_found + 1 : 1;
        has_living = has_living || !is_dead;
        read_session(session, ret);
    }
    bool is_name = n_found > 0;
    if (!is_name && is_prefix)
        n_found = find_by_prefix(sessions, called, ret);
    if (n_found == 1)
        return 0;
    if (n_found == 0)
        err_set(e, ERR_NOT_FOUND, "there is no session %.64s", called);
    else
        err_set(e, ERR_INVALID, "%zu sessions %s %.64s", n_found,
                is_name ? "of different agents are called" : "begin with", called);
    return err_advise(e, "list the sessions with: cella ps");
}

int cli_session_create(struct cli_client *c, const struct cli_session_spec *spec,
                       struct cli_session *ret, struct err *e)
{
    struct cli_session host;
    if (spec->join != NULL && cli_session_find(c, spec->join, &host, e) < 0)
        return -1;
    _buf_ struct buf body = BUF_INIT(CREATE_MAX);
    struct json_out out = JSON_OUT(&body);
    const struct {
        const char *name, *value;
    } members[] = {{"runtime", spec->runtime}, {"profile", spec->profile},
                   {"cwd", spec->cwd},         {"agent", spec->agent},
                   {"binding", spec->binding}, {"join", spec->join != NULL ? host.id : NULL},
                   {"name", spec->name},       {"user", spec->user}};
    json_put_object(&out);
    for (size_t i = 0; i < ARRAY_LEN(members); i++)
        if (members[i].value != NULL)
            json_put_member_str(&out, members[i].name, members[i].value);
    if (spec->idle_timeout_secs >= 0)
        json_put_member_int(&out, "idle_timeout_secs", spec->idle_timeout_secs);
    if (spec->has_debug)
        json_put_member_bool(&out, "debug", true);
    if (spec->env != NULL) {
        json_put_key(&out, "env");
        json_put_value(&out, spec->env);
    }
    if (spec->labels != NULL) {
        json_put_key(&out, "labels");
        json_put_value(&out, spec->labels);
    }
    json_put_object_end(&out);
    if (body.overflowed)
        return err_set(e, ERR_TOO_LARGE, "the options of the session are too long");
    struct cli_request request = {
        .method = "POST",
        .path = "/v1/sessions",
        .body = body.data,
        .body_len = body.len,
        /* The first session of a profile waits until its libraries are loaded. */
        .deadline_ms = clock_mono_ms() + 4 * CLI_DEADLINE_SHORT_MS,
    };
    _json_ json_t *object = NULL;
    if (cli_api_call(c, &request, &object, e) < 0)
        return -1;
    return read_session(object, ret) ? 0 : refuse_answer("a session without an id", e);
}

int cli_session_kill(struct cli_client *c, const char *id, struct err *e)
{
    char path[API_PATH_SIZE];
    snprintf(path, sizeof(path), "/v1/sessions/%s", id);
    _json_ json_t *object = NULL;
    return cli_api_get(c, "DELETE", path, &object, e);
}

void cli_session_touch(struct cli_client *c, const char *id)
{
    char path[API_PATH_SIZE];
    snprintf(path, sizeof(path), "/v1/sessions/%s", id);
    _json_ json_t *object = NULL;
    struct err ignored; /* what is wrong is told when the session is used */
    cli_api_get(c, "GET", path, &object, &ignored);
}
