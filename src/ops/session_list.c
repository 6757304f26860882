/* session.list: those that the caller may see, filtered, sorted, a page at a time. Daemon; on the
 * loop; memory is measured for the page only. */
#include "ops/naming.h"
#include "policy/config.h"
#include "session/session.h"
#include "wire/json.h"

#include <fnmatch.h>

enum { SESSION_LIST_LIMIT_MAX = 1000, SESSION_LIST_LIMIT_DEFAULT = 100, CURSOR_SIZE = 64 };

static const char *const states[] = {"living",    "starting", "idle", "busy",
                                     "suspended", "dead",     NULL};
enum sort { SORT_USED, SORT_CREATED, SORT_MEMORY, SORT_CPU, SORT_NAME };
static const char *const sorts[] = {
    [SORT_USED] = "used", [SORT_CREATED] = "created", [SORT_MEMORY] = "memory",
    [SORT_CPU] = "cpu",   [SORT_NAME] = "name",       NULL};

static const struct op_param session_list_params[] = {
    {.name = "state",
     .type = OP_CHOICE,
     .place = OP_IN_QUERY,
     .choices = states,
     .doc = "Only those in this state; living: all that have not ended."},
    {.name = "runtime",
     .type = OP_CHOICE,
     .letter = 'r',
     .place = OP_IN_QUERY,
     .choices = runtime_names,
     .doc = "Only those of this interpreter."},
    {.name = "label",
     .type = OP_TEXT,
     .letter = 'l',
     .place = OP_IN_QUERY,
     .min = 1,
     .max = NAMING_KEY_MAX + NAMING_VALUE_MAX + 1,
     .doc = "Only those with this label: KEY, or KEY=VALUE."},
    {.name = "name",
     .type = OP_TEXT,
     .letter = 'n',
     .place = OP_IN_QUERY,
     .min = 1,
     .max = NAMING_NAME_MAX,
     .doc = "Only those whose name is like this; * stands for any characters."},
    {.name = "agent",
     .type = OP_TEXT,
     .place = OP_IN_QUERY,
     .min = 1,
     .max = CONFIG_AGENT_BYTES,
     .means = OP_MEANS_SPEAKER,
     .doc = "Only those of this agent, for whom the call speaks."},
    {.name = "sort",
     .type = OP_CHOICE,
     .place = OP_IN_QUERY,
     .choices = sorts,
     .doc = "Last used first (used, the default), newest first (created), by memory or processor "
            "time, most first, or by name; those that have ended come last."},
    {.name = "limit",
     .type = OP_INT,
     .place = OP_IN_QUERY,
     .min = 1,
     .max = SESSION_LIST_LIMIT_MAX,
     .doc = "How many at most; default 100."},
    {.name = "cursor",
     .type = OP_TEXT,
     .place = OP_IN_QUERY,
     .min = 1,
     .max = CURSOR_SIZE + NAMING_NAME_MAX,
     .doc = "Where the page before ended: its \"next\"."},
    {0},
};

/* One that is to be listed, with what it is sorted by. */
struct listed {
    struct session *session;
    bool is_dead;
    uint64_t key;     /* the larger one comes first; 0 if they are sorted by name */
    const char *name; /* "" unless they are */
};

struct listing {
    struct call *call;
    enum sort sort;
    struct listed *entries;
    size_t n;
};

/* ---- which ----------------------------------------------------------------------------------- */

static bool has_label(const struct session *session, const char *wanted)
{
    size_t len = strcspn(wanted, "=");
    char key[NAMING_KEY_MAX + 1];
    snprintf(key, sizeof(key), "%.*s", (int)MIN(len, sizeof(key) - 1), wanted);
    const char *value = json_string_value(json_object_get(session->labels, key));
    if (len > NAMING_KEY_MAX || value == NULL)
        return false;
    return wanted[len] == '\0' || strcmp(value, wanted + len + 1) == 0;
}

static bool is_in_state(const struct session *session, const char *wanted)
{
    if (strcmp(wanted, states[0]) == 0)
        return session->state != SESSION_DEAD;
    return strcmp(session_state_name(session->state), wanted) == 0;
}

static bool is_wanted(const struct call *call, const struct session *session)
{
    const char *state = call_text(call, "state", NULL), *runtime = call_text(call, "runtime", NULL),
               *label = call_text(call, "label", NULL), *name = call_text(call, "name", NULL);
    return !session->is_unlisted && call_sees(call, session->agent) &&
           (state == NULL || is_in_state(session, state)) &&
           (runtime == NULL || strcmp(session->runtime->name, runtime) == 0) &&
           (label == NULL || has_label(session, label)) &&
           (name == NULL ||
            (session->name != NULL && fnmatch(name, session->name, FNM_NOESCAPE) == 0));
}

/* ---- in which order -------------------------------------------------------------------------- */

static uint64_t key_of(const struct session *session, enum sort sort)
{
    switch (sort) {
    case SORT_USED:
        return session->life.last_cell_at_us;
    case SORT_CREATED:
        return session->life.spawned_at_us;
    case SORT_MEMORY:
        return session->usage.memory_bytes;
    case SORT_CPU:
        return session->usage.cpu_us;
    case SORT_NAME:
        return 0;
    }
    return 0;
}

static int compare_places(bool is_dead, uint64_t key, const char *name, const char *id,
                          const struct listed *b)
{
    if (is_dead != b->is_dead)
        return is_dead ? 1 : -1;
    if (key != b->key)
        return key > b->key ? -1 : 1;
    /* What has no name comes behind what has one. */
    if ((name[0] == '\0') != (b->name[0] == '\0'))
        return name[0] == '\0' ? 1 : -1;
    int order = strcmp(name, b->name);
    return order != 0 ? order : strcmp(id, b->session->id);
}

static int compare(const void *left, const void *right)
{
    const struct listed *a = left, *b = right;
    return compare_places(a->is_dead, a->key, a->name, a->session->id, b);
}

/* How many stand before what the cursor says, and with it. Sessions that moved meanwhile may be
 * told twice or not at all; those that did not are told once. */
static int find_cursor(const struct listing *l, size_t *ret, struct err *e)
{
    const char *cursor = call_text(l->call, "cursor", NULL);
    char id[UUID_SIZE] = "", name[NAMING_NAME_MAX + 1] = "";
    int is_dead = 0, used = 0;
    unsigned long long key = 0;
    *ret = 0;
    if (cursor == NULL)
        return 0;
    int n =
        sscanf(cursor, "%d:%llu:%36[0-9a-f-]:%n%64[A-Za-z0-9._-]", &is_dead, &key, id, &used, name);
    if (n < 3 || used == 0 || !ids_is_uuid(id, strlen(id)) ||
        strlen(cursor) != (size_t)used + strlen(name)) {
        err_set(e, ERR_INVALID, "\"cursor\" is not the \"next\" of a page");
        return err_advise(e, "Leave it out for the first page.");
    }
    while (*ret < l->n && compare_places(is_dead != 0, key, name, id, &l->entries[*ret]) >= 0)
        ++*ret;
    return 0;
}

/* ---- telling --------------------------------------------------------------------------------- */

static struct listing gather(struct call *call)
{
    struct listing l = {.call = call};
    const char *sort = call_text(call, "sort", sorts[SORT_USED]);
    while (strcmp(sorts[l.sort], sort) != 0)
        l.sort++;
    size_t cap = 0;
    for (struct session *s = session_next(call->engine, NULL); s != NULL;
         s = session_next(call->engine, s))
        cap += is_wanted(call, s);
    l.entries = arena_alloc(&call->arena, (cap + 1) * sizeof(*l.entries));
    for (struct session *s = session_next(call->engine, NULL); s != NULL;
         s = session_next(call->engine, s))
        if (is_wanted(call, s))
            l.entries[l.n++] = (struct listed){
                .session = s,
                .is_dead = s->state == SESSION_DEAD,
                .key = key_of(s, l.sort),
                .name = l.sort == SORT_NAME && s->name != NULL ? s->name : "",
            };
    qsort(l.entries, l.n, sizeof(*l.entries), compare);
    return l;
}

static void tell(void *context)
{
    struct err e;
    struct call *call = context;
    struct listing l = gather(call);
    size_t from, limit = (size_t)call_int(call, "limit", SESSION_LIST_LIMIT_DEFAULT);
    if (find_cursor(&l, &from, &e) < 0) {
        call_fail(call, &e);
        return;
    }
    size_t end = MIN(l.n, from + limit);
    _buf_ struct buf out = BUF_INIT(CALL_REPLY_MAX);
    struct json_out json = JSON_OUT(&out);
    json_put_object(&json);
    json_put_key(&json, "sessions");
    json_put_array(&json);
    for (size_t i = from; i < end; i++)
        put_session(&json, l.entries[i].session);
    json_put_array_end(&json);
    json_put_member_int(&json, "count", (int64_t)(end - from));
    json_put_member_int(&json, "total", (int64_t)l.n);
    if (end < l.n && end > from) {
        const struct listed *last = &l.entries[end - 1];
        char cursor[CURSOR_SIZE + NAMING_NAME_MAX + 1];
        snprintf(cursor, sizeof(cursor), "%d:%llu:%s:%s", last->is_dead,
                 (unsigned long long)last->key, last->session->id, last->name);
        json_put_member_str(&json, "next", cursor);
    }
    json_put_object_end(&json);
    call_reply(call, 200, &out);
}

static void session_list_on_gone(struct call *call)
{
    usage_forget(call->op_state);
}

/* What they use is asked first: of the page, or of all if they are sorted by it. */
static void session_list_run(struct call *call)
{
    struct err e;
    struct usage_asking *asking;
    struct listing l = gather(call);
    bool is_by_use = l.sort == SORT_MEMORY || l.sort == SORT_CPU;
    size_t from, limit = (size_t)call_int(call, "limit", SESSION_LIST_LIMIT_DEFAULT);
    if (find_cursor(&l, &from, &e) < 0) {
        call_fail(call, &e);
        return;
    }
    size_t begin = is_by_use ? 0 : from, n = is_by_use ? l.n : MIN(l.n - from, limit);
    struct session **sessions = arena_alloc(&call->arena, (n + 1) * sizeof(struct session *));
    for (size_t i = 0; i < n; i++)
        sessions[i] = l.entries[begin + i].session;
    usage_ask(call->engine, sessions, n, tell, call, &asking);
    if (asking == NULL)
        return; /* and the call is over */
    call->op_state = asking;
    call->on_gone = session_list_on_gone;
}

static const struct op_verb session_list_verb = {
    .words = "ps",
    .summary = "list the sessions",
    .about =
        "Lists the daemon's sessions: id, state (plan: in plan mode), runtime, profile, agent,\n"
        "age, cells run, cells waiting, output, the exit code of one that ended, directory.",
    .examples = "cella ps\n"
                "cella ps --json | jq -r '.sessions[] | select(.runtime == \"bash\").session_id'",
};

const struct op op_session_list = {
    .name = "session.list",
    .method = "GET",
    .path = "/v1/sessions",
    .subject = OP_ON_SESSION,
    .flags = OP_READ_ONLY,
    .params = session_list_params,
    .doc = "Lists sessions page by page, those that have ended last; these stay until they are "
           "deleted.",
    .run = session_list_run,
    .result = &shape_session_list,
    .example = "{}",
    .verb = &session_list_verb,
};
