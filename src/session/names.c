/* The names of a session's variables, in the daemon. Owns session->names. */
#include "session/names.h"

#include "loop/loop.h"
#include "runtime/head.h"
#include "runtime/names.h"
#include "session/engine_state.h"
#include "session/exec.h"

/* A thread of the user's may keep an idle interpreter from answering. */
enum { NAMES_PATIENCE_MS = 2000 };

struct names_wait {
    struct list node; /* in the session's list */
    struct session *session;
    const struct names_listener *listener;
    void *context;
    struct loop_timer *timer;
};

static void names_remember(struct session *session, json_t *names, uint64_t as_of)
{
    json_decref(session->names.known);
    session->names.known = json_incref(names);
    session->names.as_of = as_of;
}

void names_forget(struct names_wait *wait)
{
    list_remove(&wait->node);
    loop_timer_close(take_ptr(wait->timer), NULL);
    free(wait);
}

static void names_tell(const struct session *session, const struct names_listener *listener,
                       void *context, bool is_busy)
{
    struct names_told told = {
        .names = session->names.known, .as_of = session->names.as_of, .is_busy = is_busy};
    listener->on_names(context, &told);
}

static void names_answer(struct names_wait *wait, bool is_busy)
{
    struct session *session = wait->session;
    const struct names_listener *listener = wait->listener;
    void *context = wait->context;
    names_forget(wait);
    names_tell(session, listener, context, is_busy);
}

static void names_on_impatience(void *context)
{
    names_answer(context, true);
}

json_t *names_news(json_t *names)
{
    static const char *const members[] = {"items", "added", "changed", "removed"};
    for (size_t i = 0; i < ARRAY_LEN(members); i++)
        if (json_array_size(json_object_get(names, members[i])) > 0)
            return names;
    return NULL;
}

/* Of a name that the cell added or changed nobody has told more than that: it is listed alone. */
static void names_replace_items(json_t *items, const json_t *news, const char *member,
                                bool is_there)
{
    size_t i;
    const json_t *name;
    json_array_foreach(json_object_get(news, member), i, name) {
        size_t k;
        const json_t *item;
        json_array_foreach(items, k, item) {
            const char *other = json_string_value(json_object_get(item, "name"));
            if (other != NULL && strcmp(other, json_string_value(name)) == 0) {
                json_array_remove(items, k);
                break;
            }
        }
        if (is_there && json_array_size(items) < NAMES_MAX)
            json_array_append_new(
                items, json_pack("{sO ss}", "name", (json_t *)(uintptr_t)name, "type", "?"));
    }
}

/* So that a session that is busy can be asked, too. Cells that change hundreds of names are told by
 * the interpreter when it is asked. */
static void names_bring_up_to_date(struct session *session, const json_t *news, uint64_t as_of)
{
    enum { NEWS_MAX = 50 };
    static const char *const members[] = {"added", "changed", "removed"};
    for (size_t i = 0; i < ARRAY_LEN(members); i++)
        if (json_array_size(json_object_get(news, members[i])) > NEWS_MAX)
            return;
    json_t *known = session->names.known != NULL ? json_copy(session->names.known) : json_object();
    json_t *items = json_object_get(known, "items");
    items = items != NULL ? json_copy(items) : json_array(); /* who was told has the old list */
    json_object_set_new(known, "items", items);
    for (size_t i = 0; i < ARRAY_LEN(members); i++)
        names_replace_items(items, news, members[i], i < 2);
    const json_t *total = json_object_get(news, "total");
    if (total != NULL)
        json_object_set(known, "total", (json_t *)(uintptr_t)total);
    names_remember(session, known, as_of);
    json_decref(known);
}

enum { NAMES_RECENT = 64 }; /* cells */

static bool names_list_has(const json_t *list, const json_t *name)
{
    size_t i;
    const json_t *other;
    json_array_foreach(list, i, other) {
        if (json_equal((json_t *)(uintptr_t)other, (json_t *)(uintptr_t)name))
            return true;
    }
    return false;
}

json_t *names_undone(const struct session *session, const struct timeline_cells *cells)
{
    /* What came goes, what changed is as it was, what went is back. */
    static const struct {
        const char *done, *undone;
    } ways[] = {{"added", "removed"}, {"changed", "changed"}, {"removed", "added"}};
    json_t *undone = json_object();
    for (size_t w = 0; w < ARRAY_LEN(ways); w++) {
        json_t *list = json_array();
        const json_t *entry, *name;
        size_t i, k;
        json_array_foreach(session->names.recent, i, entry) {
            uint64_t number = (uint64_t)json_integer_value(json_object_get(entry, "number"));
            const json_t *names = json_object_get(entry, "names");
            if (!timeline_cells_have(cells, number))
                continue;
            json_array_foreach(json_object_get(names, ways[w].done), k, name) {
                bool is_gone = names_list_has(json_object_get(undone, "removed"), name);
                if (!is_gone && !names_list_has(list, name))
                    json_array_append(list, (json_t *)(uintptr_t)name);
            }
        }
        if (json_array_size(list) > 0)
            json_object_set(undone, ways[w].undone, list);
        json_decref(list);
    }
    if (json_object_size(undone) > 0)
        return undone;
    json_decref(undone);
    return NULL;
}

void names_on_verdict(struct exec *exec, json_t *names)
{
    struct session *session = exec->session;
    session->ended_exec = exec->id;
    json_t *news = names_news(names);
    if (news != NULL) {
        if (session->names.recent == NULL)
            session->names.recent = json_array();
        json_array_append_new(session->names.recent,
                              json_pack("{sI sO}", "number", (json_int_t)exec->id, "names", news));
        if (json_array_size(session->names.recent) > NAMES_RECENT)
            json_array_remove(session->names.recent, 0);
    }
    if (json_object_get(names, "items") != NULL)
        names_remember(session, names, exec->id);
    else if (names != NULL)
        names_bring_up_to_date(session, names, exec->id);
}

void names_on_told(struct session *session, json_t *names)
{
    names_remember(session, names, session->ended_exec);
    while (!list_is_empty(&session->names.waits))
        names_answer(CONTAINER_OF(list_first(&session->names.waits), struct names_wait, node),
                     false);
}

void names_end_all(struct session *session)
{
    struct err e;
    session_refuse_if_dead(session, &e);
    while (!list_is_empty(&session->names.waits)) {
        struct names_wait *wait =
            CONTAINER_OF(list_first(&session->names.waits), struct names_wait, node);
        const struct names_listener *listener = wait->listener;
        void *context = wait->context;
        names_forget(wait);
        listener->on_failed(context, &e);
    }
    json_decref(take_ptr(session->names.known));
    json_decref(take_ptr(session->names.recent));
}

int session_names(struct session *session, const struct names_listener *listener, void *context,
                  struct names_wait **ret_wait, struct err *e)
{
    *ret_wait = NULL;
    session_restart_idle(session);
    if (session_refuse_if_dead(session, e) < 0)
        return -1;
    if (session->state != SESSION_IDLE || session->ending.wish != DEATH_UNWISHED) {
        names_tell(session, listener, context, true);
        return 0;
    }
    if (!session->head->is_asked && head_ask_names(session->head, NAMES_MAX, e) < 0)
        return -1;
    struct names_wait *wait = mem_alloc(sizeof(*wait));
    wait->session = session;
    wait->listener = listener;
    wait->context = context;
    wait->timer = loop_timer_new(session->engine->loop, names_on_impatience, wait);
    loop_timer_set(wait->timer, NAMES_PATIENCE_MS);
    list_append(&session->names.waits, &wait->node);
    *ret_wait = wait;
    return 0;
}
