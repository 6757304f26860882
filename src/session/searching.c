/* Searches in a session's files, in the daemon: recorded, then asked about. Owns the orders that
 * are under way. */
#include "session/searching.h"

#include "runtime/pool.h"
#include "session/engine_state.h"
#include "session/files.h"
#include "session/session.h"
#include "session/tickets.h"
#include "wire/json.h"

#include <string.h>

/*   the session is there --file--> recorded --ticket--> asked --ask--> told */
struct searching_order {
    struct list node;
    struct session *session;
    char *query;
    const char *kind;
    uint64_t limit;
    bool words_only;
    struct file_order *file;    /* the archivist is asked whether there is a workspace; else NULL */
    uint64_t ticket;            /* it records; 0: it does not */
    struct search_order *asked; /* the index is; else NULL */
    search_fn fn;
    void *context;
    struct err *early; /* session_search has not returned: what would be told; else NULL */
};

static void searching_free_order(struct searching_order *o)
{
    if (o->file != NULL)
        file_forget(o->file);
    if (o->ticket != 0)
        tickets_forget(o->session->engine, o->ticket);
    search_forget(o->asked);
    list_remove(&o->node);
    free(o->query);
    free(o);
}

void searching_forget(struct searching_order *o)
{
    if (o != NULL)
        searching_free_order(o);
}

static void searching_end(struct searching_order *o, json_t *result, const struct err *e)
{
    search_fn fn = o->fn;
    void *context = o->context;
    if (o->early != NULL) {
        *o->early = *e;
        o->early = NULL;
        return;
    }
    searching_free_order(o);
    fn(context, result, e);
}

/* ---- asked ----------------------------------------------------------------------------------- */

static void searching_on_found(void *context, json_t *result, const struct err *e)
{
    struct searching_order *o = context;
    o->asked = NULL;
    searching_end(o, result, e);
}

static int searching_ask(struct searching_order *o, const char *list, struct err *e)
{
    struct session *session = o->session;
    struct engine *engine = session->engine;
    struct searching *s = &session->searching;
    struct search_place place = {
        .blobs = engine->blobs, .parent = engine->searches, .name = session->id};
    if (s->library == NULL)
        s->library = search_library_new(engine->loop, &place, e);
    if (s->library == NULL)
        return -1;
    struct search_question question = {.list = list,
                                       .kind = o->kind,
                                       .query = o->query,
                                       .limit = o->limit,
                                       .words_only = o->words_only};
    o->asked = search_ask(s->library, &question, searching_on_found, o, e);
    return o->asked != NULL ? 0 : -1;
}

/* ---- recorded -------------------------------------------------------------------------------- */

static int searching_read_record(const struct warden_event *event, json_t **ret, struct err *e)
{
    if (event->type != WARDEN_RECORDED)
        return err_set(e, ERR_UNAVAILABLE, "the files could not be recorded");
    if (json_read_object(event->text, strlen(event->text), ret, e) < 0)
        return -1;
    if (json_is_string(json_object_get(*ret, "manifest")))
        return 0;
    const char *reason = json_string_value(json_object_get(*ret, "reason"));
    err_set(e, ERR_UNAVAILABLE, "the files could not be recorded: %.300s",
            reason != NULL ? reason : "nothing says why");
    return err_advise(e, "Searching takes files that checkpoints can record: fewer, or smaller.");
}

static void searching_on_recorded(void *context, const struct warden_event *event)
{
    struct searching_order *o = context;
    struct err e;
    _json_ json_t *report = NULL;
    o->ticket = 0;
    if (searching_read_record(event, &report, &e) < 0 ||
        searching_ask(o, json_string_value(json_object_get(report, "manifest")), &e) < 0)
        searching_end(o, NULL, &e);
}

static int searching_record(struct searching_order *o, struct err *e)
{
    struct session *session = o->session;
    struct engine *engine = session->engine;
    struct archive_budget budget = timeline_budget(session);
    if (session->room == NULL)
        return err_set(e, ERR_UNAVAILABLE, "the session has no files at this moment");
    o->ticket = pool_new_number(engine->pool);
    tickets_expect(engine, o->ticket, WARDEN_RECORDED, searching_on_recorded, o);
    if (warden_record(engine->warden, o->ticket, session->room->name, session->timeline.base,
                      &budget, e) == 0)
        return 0;
    tickets_forget(engine, o->ticket);
    o->ticket = 0;
    return -1;
}

/* ---- there ----------------------------------------------------------------------------------- */

static void searching_on_there(void *context, const struct file_result *result)
{
    struct searching_order *o = context;
    struct err e;
    (void)result;
    o->file = NULL;
    if (searching_record(o, &e) < 0)
        searching_end(o, NULL, &e);
}

static void searching_on_not_there(void *context, const struct err *e)
{
    struct searching_order *o = context;
    o->file = NULL;
    searching_end(o, NULL, e);
}

static const struct file_listener searching_listener = {.on_done = searching_on_there,
                                                        .on_failed = searching_on_not_there};

static int searching_check(const struct session *session, struct err *e)
{
    size_t n = 0;
    LIST_EACH(&session->searching.orders, node)
        n++;
    if (session_refuse_if_dead(session, e) < 0)
        return -1;
    if (session->engine->blobs < 0 || session->engine->searches < 0)
        return err_set(e, ERR_UNAVAILABLE, "this daemon has no place for an index");
    if (n < SEARCHING_ORDERS_MAX)
        return 0;
    err_set(e, ERR_LIMIT, "the session answers %d searches", SEARCHING_ORDERS_MAX);
    return err_advise(e, "Ask again in a moment.");
}

struct searching_order *session_search(struct session *session,
                                       const struct search_question *question, search_fn fn,
                                       void *context, struct err *e)
{
    struct warden_file_order what = {.action = WARDEN_FILE_STAT};
    struct file_order *file = NULL;
    if (searching_check(session, e) < 0)
        return NULL;
    struct searching_order *o = mem_alloc(sizeof(*o));
    *o = (struct searching_order){.session = session,
                                  .query = mem_strdup(question->query),
                                  .kind = question->kind,
                                  .limit = question->limit,
                                  .words_only = question->words_only,
                                  .fn = fn,
                                  .context = context,
                                  .early = e};
    list_append(&session->searching.orders, &o->node);
    int r = session_file(session, &what, -1, &searching_listener, o, &file, e);
    if (r == 0 && o->early != NULL) {
        o->early = NULL;
        o->file = file;
        return o;
    }
    searching_free_order(o);
    return NULL;
}

/* ---- life ------------------------------------------------------------------------------------ */

void searching_init(struct session *session)
{
    list_init(&session->searching.orders);
}

void searching_end_all(struct session *session)
{
    struct list *orders = &session->searching.orders;
    struct err e;
    err_set(&e, ERR_GONE, "the session has ended");
    while (!list_is_empty(orders))
        searching_end(CONTAINER_OF(list_first(orders), struct searching_order, node), NULL, &e);
}

void searching_free(struct session *session)
{
    struct searching *s = &session->searching;
    if (s->library == NULL)
        return;
    search_library_free(take_ptr(s->library));
    search_remove(session->engine->searches, session->id);
}
