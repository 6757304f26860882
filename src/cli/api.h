/* The daemon's REST interface, as far as the verbs use it. Everything that comes back was checked:
 * a function that returns 0 gave what its comment says. */
#pragma once

#include "base/ids.h"
#include "cli/client.h"
#include "wire/json.h"

/* Asks and reads a JSON object. An error of the daemon becomes `e`, code, message and advice. */
int cli_api_call(struct cli_client *c, struct cli_request *request, json_t **ret_object,
                 struct err *e);
int cli_api_read(const char *text, size_t len, json_t **ret_object, struct err *e);

/* Asks for what is no JSON: its bytes. */
int cli_api_fetch(struct cli_client *c, struct cli_request *request, struct buf *ret_body,
                  struct err *e);

/* A WebSocket, by a GET with this key: the connection is one from now on. */
int cli_api_upgrade(struct cli_client *c, const char *path, const char *key, struct err *e);

/* GET, DELETE or an empty POST with the usual deadline. */
int cli_api_get(struct cli_client *c, const char *method, const char *path, json_t **ret_object,
                struct err *e);

/* POST; `deadline_ms` from now. */
int cli_api_post(struct cli_client *c, const char *path, const struct buf *body,
                 uint64_t deadline_ms, json_t **ret_object, struct err *e);

struct cli_session {
    char id[UUID_SIZE];
    char runtime[16];
    int64_t exec_count; /* the last cell's number */
};

/* What a new session shall be; NULL and -1 leave it to the daemon. */
struct cli_session_spec {
    const char *runtime, *profile, *cwd, *agent, *binding, *user;
    const char *name;          /* of the session */
    const char *join;          /* a session's name or id, or the beginning of it */
    json_t *env, *labels;      /* objects of texts */
    int64_t idle_timeout_secs; /* 0: never */
    bool has_debug;            /* false: as the agent's setting says */
};

int cli_session_create(struct cli_client *c, const struct cli_session_spec *spec,
                       struct cli_session *ret, struct err *e);
/* For verbs that take one session and nothing else. */
int cli_session_named(const struct cli_args *args, struct err *e);
/* By its name, its whole id or the beginning of it, if only one starts so. */
int cli_session_find(struct cli_client *c, const char *called, struct cli_session *ret,
                     struct err *e);
int cli_session_kill(struct cli_client *c, const char *id, struct err *e);

/* Tells the daemon that the session is still in use, so that it does not count as idle. */
void cli_session_touch(struct cli_client *c, const char *id);

/* All pages of the list; every element is an object with a valid "session_id". `query` is what goes
 * behind the path: "" or "&member=value"... */
int cli_session_list(struct cli_client *c, const char *query, json_t **ret_sessions, struct err *e);

/* Members with their types checked; the fallback serves for what is absent or of another type. */
const char *cli_json_text(const json_t *object, const char *name, size_t *ret_len); /* or NULL */
int64_t cli_json_int(const json_t *object, const char *name, int64_t fallback);
double cli_json_number(const json_t *object, const char *name, double fallback);
bool cli_json_is(const json_t *object, const char *name, const char *text); /* is that text */
