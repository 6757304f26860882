/* What the daemon asks of the warden, each a message. */
#include "base/buf.h"
#include "jail/client/warden_parts.h"
#include "jail/message.h"
#include "jail/witness.h"

#include <errno.h>

static int send_request(struct warden *w, const struct request *r, struct err *e)
{
    return warden_send(w, r, sizeof(*r), -1, e);
}

int warden_start_zygote(struct warden *w, uint32_t zygote, const char *const *argv, struct err *e)
{
    _buf_ struct buf message = BUF_INIT(sizeof(struct request) + MESSAGE_TEXT_MAX);
    struct request r = {.type = REQUEST_ZYGOTE_START, .zygote = zygote};
    buf_append(&message, &r, sizeof(r));
    size_t n_args = 0;
    for (; argv[n_args] != NULL; n_args++)
        buf_append(&message, argv[n_args], strlen(argv[n_args]) + 1);
    if (message.overflowed || n_args > ZYGOTE_ARGS_MAX)
        return err_set(e, ERR_INVALID, "the profile's list of imports is too long");
    return warden_send(w, message.data, message.len, -1, e);
}

int warden_stop_zygote(struct warden *w, uint32_t zygote, struct err *e)
{
    return send_request(w, &(struct request){.type = REQUEST_ZYGOTE_STOP, .zygote = zygote}, e);
}

static int name_workspace(struct request *r, const char *name, struct err *e)
{
    if (strlen(name) >= sizeof(r->workspace) || strchr(name, '/') || name[0] == '.' ||
        name[0] == '\0')
        return err_set(e, ERR_INVALID, "not a workspace's name: %.80s", name);
    snprintf(r->workspace, sizeof(r->workspace), "%s", name);
    return 0;
}

int warden_enter(struct warden *w, uint64_t jail, uint64_t head, uint32_t zygote,
                 const char *workspace, const struct jail_limits *limits, int session_sock,
                 struct err *e)
{
    struct request r = {
        .type = REQUEST_ENTER, .jail = jail, .head = head, .zygote = zygote, .limits = *limits};
    if (name_workspace(&r, workspace, e) < 0)
        return -1;
    return warden_send(w, &r, sizeof(r), session_sock, e);
}

int warden_make_room(struct warden *w, uint64_t source, uint64_t jail, const char *workspace,
                     const struct jail_limits *limits, struct err *e)
{
    struct request r = {.type = REQUEST_ROOM, .jail = jail, .since = source, .limits = *limits};
    return name_workspace(&r, workspace, e) < 0 ? -1 : send_request(w, &r, e);
}

int warden_signal(struct warden *w, uint64_t head, int sig, struct err *e)
{
    return send_request(w, &(struct request){.type = REQUEST_SIGNAL, .head = head, .number = sig},
                        e);
}

int warden_adopt(struct warden *w, uint64_t jail, uint64_t head, enum warden_kind kind, int channel,
                 struct err *e)
{
    _fd_ int writer = witness_writer(channel);
    if (writer == -EBADMSG)
        return err_set(e, ERR_FORBIDDEN, "a copy sent a descriptor to the daemon");
    struct request r = {.type = REQUEST_ADOPT, .jail = jail, .head = head, .number = (int)kind};
    r.is_end = writer == -EPIPE || writer == -ESRCH;
    return warden_send(w, &r, sizeof(r), writer, e);
}

int warden_clear(struct warden *w, uint64_t head, uint64_t jail, uint64_t since, struct err *e)
{
    struct request r = {.type = REQUEST_CLEAR, .jail = jail, .head = head, .since = since};
    return send_request(w, &r, e);
}

int warden_clear_holding(struct warden *w, uint64_t head, uint64_t jail, uint64_t since,
                         struct err *e)
{
    struct request r = {
        .type = REQUEST_CLEAR, .jail = jail, .head = head, .since = since, .number = CLEAR_HOLDING};
    return send_request(w, &r, e);
}

int warden_look(struct warden *w, uint64_t jail, uint64_t ticket, struct err *e)
{
    struct request r = {.type = REQUEST_LOOK, .jail = jail, .head = ticket};
    return send_request(w, &r, e);
}

int warden_terminate(struct warden *w, uint64_t jail, struct err *e)
{
    return send_request(w, &(struct request){.type = REQUEST_TERMINATE, .jail = jail}, e);
}

int warden_measure(struct warden *w, uint64_t head, struct err *e)
{
    return send_request(w, &(struct request){.type = REQUEST_MEASURE, .head = head}, e);
}

int warden_make_socket(struct warden *w, uint64_t jail, uint64_t ticket, int family, struct err *e)
{
    struct request r = {.type = REQUEST_SOCKET, .jail = jail, .head = ticket, .number = family};
    return send_request(w, &r, e);
}

int warden_watch(struct warden *w, uint64_t jail, bool is_busy, struct err *e)
{
    struct request r = {.type = REQUEST_WATCH, .jail = jail, .number = is_busy};
    return send_request(w, &r, e);
}

int warden_destroy(struct warden *w, uint64_t jail, bool keep_workspace, struct err *e)
{
    struct request r = {.type = REQUEST_DESTROY, .jail = jail, .number = keep_workspace};
    return send_request(w, &r, e);
}

static int send_archive(struct warden *w, struct request *r, const char *workspace,
                        const char *manifest, struct err *e)
{
    struct blob_hash hash;
    if (name_workspace(r, workspace, e) < 0)
        return -1;
    if (manifest[0] != '\0' && blob_parse_hex(manifest, &hash) < 0)
        return err_set(e, ERR_INVALID, "not a manifest's name: %.80s", manifest);
    snprintf(r->manifest, sizeof(r->manifest), "%s", manifest);
    return send_request(w, r, e);
}

int warden_record(struct warden *w, uint64_t ticket, const char *workspace, const char *base,
                  const struct archive_budget *budget, struct err *e)
{
    struct request r = {.type = REQUEST_RECORD, .head = ticket, .budget = *budget};
    return send_archive(w, &r, workspace, base, e);
}

int warden_restore(struct warden *w, uint64_t ticket, const char *workspace, const char *manifest,
                   struct err *e)
{
    struct request r = {.type = REQUEST_RESTORE, .head = ticket};
    return send_archive(w, &r, workspace, manifest, e);
}

int warden_file(struct warden *w, uint64_t ticket, const char *workspace,
                const struct warden_file_order *order, struct err *e)
{
    struct {
        struct request request;
        struct warden_file_order order;
    } message = {.request = {.type = REQUEST_FILE, .head = ticket}, .order = *order};
    if (name_workspace(&message.request, workspace, e) < 0)
        return -1;
    return warden_send(w, &message, sizeof(message), -1, e);
}

int warden_remove_workspace(struct warden *w, const char *name, struct err *e)
{
    struct request r = {.type = REQUEST_REMOVE};
    return name_workspace(&r, name, e) < 0 ? -1 : send_request(w, &r, e);
}
