/* Resources. Daemon, on the loop; owns what it reads of a file. */
#include "mcp/resources.h"

#include "base/ids.h"
#include "base/utf8.h"
#include "ops/ops.h"
#include "session/session.h"
#include "wire/base64.h"
#include "wire/target.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RESOURCE_MAX (4 * MIB) /* bytes of one; larger files are for HTTP */
#define NOTEBOOK_SCHEME "notebook://"
#define WORKSPACE_SCHEME "workspace://"

enum {
    RESOURCES_LISTED_MAX = 200, /* on a page */
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

static int resources_compare(const void *a, const void *b)
{
    return strcmp((*(struct session *const *)a)->id, (*(struct session *const *)b)->id);
}

/* In the order of their ids, which never changes: a page goes on behind the last id of the one
 * before, whatever came and went meanwhile. Returns that id if there are more, else NULL. */
static const char *resources_put_sessions(struct mcp_request *rq, struct json_out *json,
                                          const char *after)
{
    const struct call call = {.agent = rq->agent};
    struct engine *engine = rq->mcp->config.engine;
    size_t n = 0, max = 0;
    for (struct session *s = session_next(engine, NULL); s != NULL; s = session_next(engine, s))
        max++;
    struct session **seen = arena_alloc(&rq->arena, MAX(max, (size_t)1) * sizeof(struct session *));
    for (struct session *s = session_next(engine, NULL); s != NULL; s = session_next(engine, s))
        if (!s->is_unlisted && call_sees(&call, s->agent) && strcmp(s->id, after) > 0)
            seen[n++] = s;
    qsort(seen, n, sizeof(struct session *), resources_compare);
    for (size_t i = 0; i < MIN(n, (size_t)RESOURCES_LISTED_MAX); i++) {
        char uri[RESOURCES_SESSION_SIZE + 32], name[RESOURCES_SESSION_SIZE];
        snprintf(name, sizeof(name), "%s", seen[i]->name != NULL ? seen[i]->name : seen[i]->id);
        snprintf(uri, sizeof(uri), NOTEBOOK_SCHEME "%s", seen[i]->id);
        resources_put(json, "uri", uri, name, "What the session ran and showed, as Markdown.",
                      "text/markdown");
    }
    return n > RESOURCES_LISTED_MAX ? seen[RESOURCES_LISTED_MAX - 1]->id : NULL;
}

static void resources_reply_list(struct mcp_request *rq, const char *what, const char *after)
{
    const char *next = NULL;
    _buf_ struct buf out = BUF_INIT(RPC_MESSAGE_MAX);
    struct json_out json = JSON_OUT(&out);
    json_put_object(&json);
    json_put_key(&json, what);
    json_put_array(&json);
    if (strcmp(what, "resources") == 0) {
        next = resources_put_sessions(rq, &json, after);
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
    if (rq->mcp->more != NULL && after[0] == '\0')
        rq->mcp->more->list(rq->mcp, what, &json);
    json_put_array_end(&json);
    if (next != NULL)
        json_put_member_str(&json, "nextCursor", next);
    request_put_hints(rq, &json, RESOURCES_TTL_MS);
    json_put_object_end(&json);
    request_reply(rq, &out);
}

void resources_list(struct mcp_request *rq)
{
    const json_t *cursor = json_object_get(rq->params, "cursor");
    const char *after = json_string_value(cursor);
    if (cursor != NULL && (after == NULL || !ids_is_uuid(after, strlen(after))))
        request_fail(rq, RPC_INVALID_PARAMS,
                     "the cursor is not the nextCursor of a page: leave it out for the first one");
    else
        resources_reply_list(rq, "resources", after != NULL ? after : "");
}

void resources_list_templates(struct mcp_request *rq)
{
    if (request_check_cursor(rq))
        resources_reply_list(rq, "resourceTemplates", "");
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

bool resources_parse(const char *uri, struct resources_uri *ret, const char **ret_why)
{
    bool is_file = uri != NULL && strncmp(uri, WORKSPACE_SCHEME, strlen(WORKSPACE_SCHEME)) == 0;
    *ret_why = "there is no such resource: see resources/templates/list";
    if (uri == NULL || strlen(uri) > RESOURCES_URI_MAX ||
        (!is_file && strncmp(uri, NOTEBOOK_SCHEME, strlen(NOTEBOOK_SCHEME)) != 0))
        return false;
    snprintf(ret->text, sizeof(ret->text), "%s", strstr(uri, "://") + 3);
    size_t len = strcspn(ret->text, "/");
    if (len == 0 || len >= RESOURCES_SESSION_SIZE)
        return false;
    memcpy(ret->session, ret->text, len);
    ret->session[len] = '\0';
    ret->rest = ret->text + len;
    ret->file = is_file ? ret->text + len + (ret->text[len] == '/') : NULL;
    if (target_decode(ret->session) && (!is_file || target_decode(ret->file)))
        return true;
    *ret_why = "the URI is not percent-encoded UTF-8 without NUL: a percent sign itself is %25";
    return false;
}

/* "/cell/C", "/cell/C/image/N" or nothing. */
static void resources_read_notebook(struct mcp_request *rq, const char *session, const char *rest)
{
    char cell[64] = "";
    long long n;
    int end = 0;
    if (rest[0] == '\0' || strcmp(rest, "/") == 0) {
        resources_call(rq, "notebook.export",
                       json_pack("{s:s,s:s}", "session_id", session, "format", "markdown"));
    } else if (sscanf(rest, "/cell/%63[^/]/image/%lld%n", cell, &n, &end) == 2 &&
               rest[end] == '\0' && target_decode(cell)) {
        resources_call(
            rq, "notebook.image",
            json_pack("{s:s,s:s,s:I}", "session_id", session, "cell", cell, "n", (json_int_t)n));
    } else if (sscanf(rest, "/cell/%63[^/]%n", cell, &end) == 1 && rest[end] == '\0' &&
               target_decode(cell)) {
        resources_call(rq, "cell.get", json_pack("{s:s,s:s}", "session_id", session, "cell", cell));
    } else {
        resources_refuse(rq, "there is no such resource: see resources/templates/list");
    }
}

void resources_read(struct mcp_request *rq)
{
    struct resources_uri uri;
    const char *why;
    if (!resources_parse(rpc_text(rq->params, "uri"), &uri, &why))
        resources_refuse(rq, why);
    else if (uri.file == NULL)
        resources_read_notebook(rq, uri.session, uri.rest);
    else
        resources_call(rq, "session.file_get",
                       json_pack("{s:s,s:s}", "session_id", uri.session, "path", uri.file));
}
