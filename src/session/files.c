/* Callers' files, in the daemon. Owns the orders of a session and the list of changes that are not
 * saved. */
#include "session/files.h"

#include "jail/files/archive.h"
#include "runtime/pool.h"
#include "session/engine_state.h"
#include "session/saving.h"
#include "session/session.h"
#include "session/tickets.h"
#include "session/trial.h"
#include "wire/json.h"

#include <errno.h>
#include <fcntl.h>

struct file_order {
    struct list node;
    struct session *session;
    struct warden_file_order what;
    int out;                              /* goes along with it; -1: nothing does */
    uint64_t ticket;                      /* 0: it waits */
    uint64_t checkpoint;                  /* whose files are amended; 0: those of the beginning */
    const struct file_listener *listener; /* NULL if nobody waits */
    void *context;
};

/* A change that the durable copy does not have. */
struct file_unsaved {
    struct list node;
    bool is_in_save; /* the one under way has it */
    struct warden_file_order what;
};

/* What leaves the files as they are. */
static bool files_only_reads(enum warden_file_action action)
{
    static const bool only_reads[] = {
        [WARDEN_FILE_GET] = true,  [WARDEN_FILE_STAT] = true,  [WARDEN_FILE_LIST] = true,
        [WARDEN_FILE_PACK] = true, [WARDEN_FILE_WATCH] = true, [WARDEN_FILE_SPACE] = true,
    };
    return only_reads[action];
}

static void files_order_free(struct file_order *order)
{
    if (order->ticket != 0)
        tickets_forget(order->session->engine, order->ticket);
    list_remove(&order->node);
    cleanup_fd(&order->out);
    free(order);
}

static void files_fail(struct file_order *order, const struct err *e)
{
    const struct file_listener *listener = order->listener;
    void *context = order->context;
    files_order_free(order);
    if (listener != NULL)
        listener->on_failed(context, e);
}

void file_forget(struct file_order *order)
{
    order->listener = NULL;
}

static struct file_order *files_first(struct session *session)
{
    struct list *node = list_first(&session->files.orders);
    return node != NULL ? CONTAINER_OF(node, struct file_order, node) : NULL;
}

bool files_are_changing(struct session *session)
{
    const struct file_order *order = files_first(session);
    return order != NULL && order->ticket != 0 && !files_only_reads(order->what.action);
}

/* ---- what is not saved yet ------------------------------------------------------------------- */

static void files_remove_unsaved(struct file_unsaved *change)
{
    list_remove(&change->node);
    free(change);
}

static void files_add_unsaved(struct session *session, const struct warden_file_order *what)
{
    struct list *list = &session->files.unsaved, *previous;
    bool replaces = what->action == WARDEN_FILE_PUT || what->action == WARDEN_FILE_DELETE;
    size_t n = 0;
    /* A file that is put or deleted again makes the older change needless; unless something was
     * moved or copied between the two, which may have been that file. */
    for (struct list *at = list->prev; replaces && at != list; at = previous) {
        struct file_unsaved *change = CONTAINER_OF(at, struct file_unsaved, node);
        enum warden_file_action action = change->what.action;
        previous = at->prev;
        if (action != WARDEN_FILE_PUT && action != WARDEN_FILE_DELETE)
            break;
        if (strcmp(change->what.path, what->path) == 0)
            files_remove_unsaved(change);
    }
    LIST_EACH(list, node)
        n++;
    if (n == FILES_UNSAVED_MAX)
        files_remove_unsaved(CONTAINER_OF(list_first(list), struct file_unsaved, node));
    struct file_unsaved *change = mem_alloc(sizeof(*change));
    change->what = *what;
    change->what.amends = false;
    change->what.max_bytes = UINT64_MAX;
    list_append(list, &change->node);
}

void files_on_save(struct session *session)
{
    LIST_EACH(&session->files.unsaved, node)
        CONTAINER_OF(node, struct file_unsaved, node)->is_in_save = true;
}

void files_on_saved(struct session *session, bool is_safe)
{
    LIST_EACH(&session->files.unsaved, node) {
        struct file_unsaved *change = CONTAINER_OF(node, struct file_unsaved, node);
        if (change->is_in_save && is_safe)
            files_remove_unsaved(change);
        else
            change->is_in_save = false;
    }
}

uint64_t files_repeat(struct session *session)
{
    struct err e;
    uint64_t ticket = 0;
    LIST_EACH(&session->files.unsaved, node) {
        const struct file_unsaved *change = CONTAINER_OF(node, struct file_unsaved, node);
        uint64_t number = pool_new_number(session->engine->pool);
        if (warden_file(session->engine->warden, number, session->room->name, &change->what, -1,
                        &e) == 0)
            ticket = number;
    }
    return ticket;
}

void files_drop_changes(struct session *session)
{
    while (!list_is_empty(&session->files.unsaved))
        files_remove_unsaved(
            CONTAINER_OF(list_first(&session->files.unsaved), struct file_unsaved, node));
}

/* ---- one order ------------------------------------------------------------------------------- */

static int files_read_answer(const char *text, json_t **ret_answer, struct err *e)
{
    if (json_read_object(text, strlen(text), ret_answer, e) < 0)
        return -1;
    json_int_t code = json_integer_value(json_object_get(*ret_answer, "code"));
    if (code == ERR_NONE)
        return 0;
    const char *message = json_string_value(json_object_get(*ret_answer, "message"));
    const char *advice = json_string_value(json_object_get(*ret_answer, "advice"));
    err_set(e, (enum err_code)code, "%s", message != NULL ? message : "");
    return err_advise(e, "%s", advice != NULL ? advice : "");
}

static void files_on_filed(void *context, const struct warden_event *event)
{
    struct file_order *order = context;
    struct session *session = order->session;
    struct err e;
    _json_ json_t *answer = NULL;
    order->ticket = 0;
    if (files_read_answer(event->text, &answer, &e) < 0) {
        files_fail(order, &e);
        session_changed(session);
        return;
    }
    /* The file is there, or gone: the session would go back to that, and is to be saved with it. */
    const char *manifest = json_string_value(json_object_get(answer, "manifest"));
    struct checkpoint *checkpoint = timeline_find(session, order->checkpoint);
    bool is_known = order->checkpoint == 0 || checkpoint != NULL;
    if (manifest != NULL && strlen(manifest) == TIMELINE_HASH_SIZE - 1 && is_known)
        timeline_amend(session, checkpoint, manifest);
    if (!files_only_reads(order->what.action) && saving_is_on(session)) {
        files_add_unsaved(session, &order->what);
        session->files.has_news = true;
    }
    const struct file_listener *listener = order->listener;
    void *caller = order->context;
    struct file_result result = {.bytes =
                                     (uint64_t)json_integer_value(json_object_get(answer, "bytes")),
                                 .is_new = json_is_true(json_object_get(answer, "created")),
                                 .details = json_object_get(answer, "details")};
    const char *hash = json_string_value(json_object_get(answer, "hash"));
    snprintf(result.hash, sizeof(result.hash), "%s", hash != NULL ? hash : "");
    files_order_free(order);
    if (listener != NULL)
        listener->on_done(caller, &result);
    session_changed(session);
}

static void files_begin(struct file_order *order)
{
    struct err e;
    struct session *session = order->session;
    const struct checkpoint *current = session->timeline.current;
    const char *base = timeline_files_at(session, current);
    order->what.amends = base != NULL && !files_only_reads(order->what.action);
    if (base != NULL)
        snprintf(order->what.base, sizeof(order->what.base), "%s", base);
    order->checkpoint = current != NULL ? current->id : 0;
    order->ticket = pool_new_number(session->engine->pool);
    tickets_expect(session->engine, order->ticket, WARDEN_FILED, files_on_filed, order);
    const char *workspace = session->room != NULL ? session->room->name : session->id;
    int r = warden_file(session->engine->warden, order->ticket, workspace, &order->what, order->out,
                        &e);
    cleanup_fd(&order->out);
    order->out = -1;
    if (r < 0)
        files_fail(order, &e);
}

/* The list of files that is to be amended must be known, and nothing may be on its way back. */
static bool files_may_begin(const struct session *session)
{
    const struct checkpoint *current = session->timeline.current;
    bool is_alive = session->state == SESSION_IDLE || session->state == SESSION_BUSY;
    if (session->files.are_left)
        return true;
    return is_alive && session->restore == NULL && (current == NULL || current->ticket == 0) &&
           session->background.ticket == 0;
}

void files_begin_next(struct session *session)
{
    struct file_order *order;
    while ((order = files_first(session)) != NULL && order->ticket == 0 && files_may_begin(session))
        files_begin(order);
}

void files_fail_all(struct session *session, const struct err *e)
{
    struct file_order *order;
    while ((order = files_first(session)) != NULL)
        files_fail(order, e);
}

/* ---- for callers ----------------------------------------------------------------------------- */

static int files_refuse(const struct session *session, enum warden_file_action action,
                        struct err *e)
{
    bool can_be_read = session->files.are_left && files_only_reads(action);
    if ((!can_be_read && session_refuse_if_dead(session, e) < 0) ||
        trial_refuse_others(session, e) < 0)
        return -1;
    if (session->state == SESSION_STARTING) {
        err_set(e, ERR_CONFLICT, "the session is starting");
        return err_advise(e, "Try again in a moment.");
    }
    size_t n = 0;
    LIST_EACH(&session->files.orders, node)
        n++;
    if (n < FILES_WAITING_MAX)
        return 0;
    err_set(e, ERR_LIMIT, "%d files of this session are being put or read", FILES_WAITING_MAX);
    return err_advise(e, "Wait for one of them to be answered.");
}

int session_file(struct session *session, const struct warden_file_order *what, int out,
                 const struct file_listener *listener, void *context, struct file_order **ret_order,
                 struct err *e)
{
    session_restart_idle(session);
    if (archive_check_order(what, e) < 0 || files_refuse(session, what->action, e) < 0)
        return -1;
    _fd_ int own = out >= 0 ? fcntl(out, F_DUPFD_CLOEXEC, 0) : -1;
    if (out >= 0 && own < 0)
        return err_errno(e, ERR_UNAVAILABLE, errno, "there is no descriptor for the bytes");
    struct file_order *order = mem_alloc(sizeof(*order));
    *order = (struct file_order){.session = session,
                                 .what = *what,
                                 .out = take_fd(&own),
                                 .listener = listener,
                                 .context = context};
    order->what.max_bytes = (uint64_t)session->limits.disk_mb * MIB;
    list_append(&session->files.orders, &order->node);
    session_changed(session);
    *ret_order = NULL;
    LIST_EACH(&session->files.orders, node)
        if (node == &order->node)
            *ret_order = order;
    return 0;
}
