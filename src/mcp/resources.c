/* Resources. Daemon, on the loop; owns what it reads of a file. */
#include "mcp/resources.h"

#include "base/utf8.h"
#include "ops/ops.h"
#include "session/session.h"
#include "wire/base64.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define RESOURCE_MAX (4 * MIB) /* bytes of one; larger files are for HTTP */
#define NOTEBOOK_SCHEME "notebook://"
#define WORKSPACE_SCHEME "workspace://"

enum {
    RESOURCES_LISTED_MAX = 200,
    RESOURCES_TTL_MS = 5000,
};

/* ---- lists ----------------------------------------------------------------------------------- */

static void resources_put(struct json_out *json, const char *key, const char *uri, const char *name,
                          const char *doc, const char *type)
{
    json_put_object(json);
    json_put_member_str(json, key, uri);
    json_put_member_str(json, "name", name);
    json_put_member_str(json, "description", doc);
    json_put_member_str(json, "mimeType", type);
    json_put_object_end(json);
}

static void resources_put_sessions(struct mcp_request *rq, struct json_out *json)
{
    const struct call call = {.agent = rq->agent};
    struct engine *engine = rq->mcp->config.engine;
    size_t n = 0;
    for (struct session *s = session_next(engine, NULL); s != NULL && n < RESOURCES_LISTED_MAX;
         s = session_next(engine, s)) {
        char uri[RESOURCES_SESSION_SIZE + 32], name[RESOURCES_SESSION_SIZE];
        if (s->is_unlisted || !call_sees(&call, s->agent))
            continue;
        snprintf(name, sizeof(name), "%s", s->name != NULL ? s->name : s->id);
        snprintf(uri, sizeof(uri), NOTEBOOK_SCHEME "%s", s->id);
        resources_put(json, "uri", uri, name, "What the session ran and showed, as Markdown.",
                      "text/markdown");
        n++;
    }
}

static void resources_reply_list(struct mcp_request *rq, const char *what)
{
    _buf_ struct buf out = BUF_INIT(RPC_MESSAGE_MAX);
    struct json_out json = JSON_OUT(&out);
    json_put_object(&json);
    json_put_key(&json, what);
    json_put_array(&json);
    if (strcmp(what, "resources") == 0) {
        resources_put_sessions(rq, &json);
    } else {
        resources_put(&json, "uriTemplate", NOTEBOOK_SCHEME "{session}", "notebook",
                      "What a session ran and showed.", "text/markdown");
        resources_put(&json, "uriTemplate", NOTEBOOK_SCHEME "{session}/cell/{cell}", "cell",
                      "One cell with its outputs.", "application/json");
        resources_put(&json, "uriTemplate", NOTEBOOK_SCHEME "{session}/cell/{cell}/image/{n}",
                      "image", "An image that a cell has shown.", "image/png");
        resources_put(&json, "uriTemplate", WORKSPACE_SCHEME "{session}/{+path}", "file",
                      "A file of the session's workspace.", "application/octet-stream");
    }
    if (rq->mcp->more != NULL)
        rq->mcp->more->list(rq->mcp, what, &json);
    json_put_array_end(&json);
    request_put_hints(rq, &json, RESOURCES_TTL_MS);
    json_put_object_end(&json);
    request_reply(rq, &out);
}

void resources_list(struct mcp_request *rq)
{
    if (request_check_cursor(rq))
        resources_reply_list(rq, "resources");
}

void resources_list_templates(struct mcp_request *rq)
{
    if (request_check_cursor(rq))
        resources_reply_list(rq, "resourceTemplates");
}

/* ---- reading --------------------------------------------------------------------------------- */

static void resources_refuse(struct mcp_request *rq, const char *why)
{
    const char *uri = rpc_text(rq->params, "uri");
    bool is_legacy = rq->era == MCP_LEGACY;
    request_fail_with(rq, is_legacy ? RPC_RESOURCE_NOT_FOUND : RPC_INVALID_PARAMS,
                      json_pack("{s:s}", "uri", uri != NULL ? uri : ""), "%s", why);
}

/* Text if it is UTF-8 and not said to be something else. */
static void resources_reply(struct mcp_request *rq, const char *type, const char *data, size_t len)
{
    const char *uri = rpc_text(rq->params, "uri");
    char plain[128];
    snprintf(plain, sizeof(plain), "%.*s", (int)strcspn(type, ";"), type);
    bool is_text = strncmp(plain, "image/", 6) != 0 && strncmp(plain, "audio/", 6) != 0 &&
                   strncmp(plain, "video/", 6) != 0 && memchr(data, '\0', len) == NULL &&
                   utf8_valid_prefix(data, len) == len;
    _buf_ struct buf out = BUF_INIT(8 * RESOURCE_MAX), blob = BUF_INIT(2 * RESOURCE_MAX);
    struct json_out json = JSON_OUT(&out);
    json_put_object(&json);
    json_put_key(&json, "contents");
    json_put_array(&json);
    json_put_object(&json);
    json_put_member_str(&json, "uri", uri);
    json_put_member_str(&json, "mimeType", plain);
    if (is_text) {
        json_put_member_text(&json, "text", data, len);
    } else {
        base64_encode(&blob, data, len);
        json_put_member_text(&json, "blob", buf_str(&blob), blob.len);
    }
    json_put_object_end(&json);
    json_put_array_end(&json);
    request_put_hints(rq, &json, 0);
    json_put_object_end(&json);
    request_reply(rq, &out);
}

static void resources_on_reply(struct mcp_request *rq, int status, const struct buf *json)
{
    if (status >= 400)
        resources_refuse(rq, "this cannot be read now");
    else
        resources_reply(rq, "application/json", buf_str(json), json->len);
}

static void resources_on_fail(struct mcp_request *rq, const struct err *e)
{
    char why[600];
    snprintf(why, sizeof(why), "%.500s", e->message);
    resources_refuse(rq, why);
}

/* A file that comes, in the request's arena. */
struct resources_file {
    struct mcp_request *rq;
    int fd;
    struct loop_poll *poll; /* NULL if it is no pipe */
    struct buf bytes;
    size_t wanted;
    const char *type;
};

static void resources_file_end(struct mcp_request *rq)
{
    struct resources_file *file = (struct resources_file *)(uintptr_t)rq->own;
    loop_poll_close(file->poll, NULL);
    close(file->fd);
    buf_free(&file->bytes);
}

static void resources_file_done(struct resources_file *file)
{
    struct buf bytes = file->bytes;
    file->bytes = BUF_INIT(0);
    if (bytes.len == file->wanted)
        resources_reply(file->rq, file->type, buf_str(&bytes), bytes.len);
    else
        resources_refuse(file->rq, "the file could not be read to its end");
    buf_free(&bytes);
}

/* True if all of it is there, or no more will come. */
static bool resources_file_read(struct resources_file *file)
{
    while (file->bytes.len < file->wanted) {
        size_t room = file->wanted - file->bytes.len;
        buf_reserve(&file->bytes, room);
        ssize_t n = read(file->fd, file->bytes.data + file->bytes.len, room);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN)
            return false;
        if (n <= 0)
            return true;
        file->bytes.len += (size_t)n;
        file->bytes.data[file->bytes.len] = '\0';
    }
    return true;
}

static void resources_on_pipe(void *context, int events)
{
    struct resources_file *file = context;
    (void)events;
    if (resources_file_read(file))
        resources_file_done(file);
}

static void resources_on_file(struct mcp_request *rq, const struct call_file *sent)
{
    if (sent->bytes < 0 || (uint64_t)sent->bytes > RESOURCE_MAX) {
        close(sent->fd);
        resources_refuse(rq,
                         "it is larger than 4 MiB: fetch it over HTTP, or read a part in a cell");
        return;
    }
    struct resources_file *file = arena_alloc(&rq->arena, sizeof(*file));
    file->rq = rq;
    file->fd = sent->fd;
    file->wanted = (size_t)sent->bytes;
    file->bytes = BUF_INIT(RESOURCE_MAX + 1);
    file->type = arena_strdup(&rq->arena, sent->type);
    rq->own = file;
    rq->on_end = resources_file_end;
    if (sent->is_pipe)
        file->poll = loop_poll_new(rq->mcp->config.loop, file->fd, resources_on_pipe, file);
    if (file->poll != NULL)
        loop_poll_want(file->poll, LOOP_READ);
    else if (resources_file_read(file))
        resources_file_done(file);
}

static void resources_call(struct mcp_request *rq, const char *op_name, json_t *args)
{
    struct err e;
    const struct op *op = op_find(op_name);
    rq->on_reply = resources_on_reply;
    rq->on_fail = resources_on_fail;
    rq->on_file = resources_on_file;
    if (op_check(op, args, &e) < 0) {
        json_decref(args);
        resources_on_fail(rq, &e);
        return;
    }
    request_call(rq, op, args, false);
}

bool resources_session(const char *uri, char session[RESOURCES_SESSION_SIZE])
{
    const char *at = strstr(uri, "://");
    size_t len = at != NULL ? strcspn(at + 3, "/") : 0;
    if (len == 0 || len >= RESOURCES_SESSION_SIZE ||
        (strncmp(uri, NOTEBOOK_SCHEME, strlen(NOTEBOOK_SCHEME)) != 0 &&
         strncmp(uri, WORKSPACE_SCHEME, strlen(WORKSPACE_SCHEME)) != 0))
        return false;
    memcpy(session, at + 3, len);
    session[len] = '\0';
    return true;
}

const char *resources_file_path(const char *uri)
{
    size_t scheme = strlen(WORKSPACE_SCHEME);
    const char *slash =
        strncmp(uri, WORKSPACE_SCHEME, scheme) == 0 ? strchr(uri + scheme, '/') : NULL;
    return slash != NULL && slash[1] != '\0' ? slash + 1 : NULL;
}

/* "/cell/C", "/cell/C/image/N" or nothing. */
static void resources_read_notebook(struct mcp_request *rq, const char *session, const char *rest)
{
    char cell[64];
    long long n;
    int end = 0;
    if (rest[0] == '\0' || strcmp(rest, "/") == 0) {
        resources_call(rq, "notebook.export",
                       json_pack("{s:s,s:s}", "session_id", session, "format", "markdown"));
    } else if (sscanf(rest, "/cell/%63[^/]/image/%lld%n", cell, &n, &end) == 2 &&
               rest[end] == '\0') {
        resources_call(
            rq, "notebook.image",
            json_pack("{s:s,s:s,s:I}", "session_id", session, "cell", cell, "n", (json_int_t)n));
    } else if (sscanf(rest, "/cell/%63[^/]%n", cell, &end) == 1 && rest[end] == '\0') {
        resources_call(rq, "cell.get", json_pack("{s:s,s:s}", "session_id", session, "cell", cell));
    } else {
        resources_refuse(rq, "there is no such resource: see resources/templates/list");
    }
}

void resources_read(struct mcp_request *rq)
{
    const char *uri = rpc_text(rq->params, "uri");
    char session[RESOURCES_SESSION_SIZE];
    if (uri == NULL || strlen(uri) > RESOURCES_URI_MAX || !resources_session(uri, session)) {
        resources_refuse(rq, "there is no such resource: see resources/templates/list");
        return;
    }
    const char *rest = strstr(uri, "://") + 3 + strlen(session);
    if (strncmp(uri, NOTEBOOK_SCHEME, strlen(NOTEBOOK_SCHEME)) == 0)
        resources_read_notebook(rq, session, rest);
    else
        resources_call(
            rq, "session.file_get",
            json_pack("{s:s,s:s}", "session_id", session, "path", rest[0] == '/' ? rest + 1 : ""));
}
