#include "runtime/pool.h"

#include "base/map.h"
#include "loop/loop.h"

#include <assert.h>
#include <inttypes.h>
#include <signal.h>

enum {
    REFILL_MS = 2, /* after a head was taken: its session's first cell goes first */
    /* After one was taken for a moment, unless it is over before: forking takes a core for longer
     * than all that is done with such a head. */
    BRIEF_MS = 10,
    FIRST_PAUSE_MS = 100,
    FAILURES_MAX = 8, /* then nothing more is tried until somebody asks for a session */
    ENTER_MS = 30 * 1000,
    KEY_SIZE = 24,
};

/* One profile. */
struct shelf {
    struct pool *pool;
    struct template zygote;
    struct list ready;    /* heads, oldest first */
    struct list waiting;  /* heads of sessions, for the zygote */
    struct head *filling; /* the one being made for the shelf */
    size_t n_ready;
    uint64_t hits, misses;    /* see struct pool_stats */
    unsigned failures;        /* of entering, in a row */
    struct loop_timer *timer; /* filling: its deadline; else the next refill */
    bool is_patient;          /* the next refill waits for the end of a head */
    bool has_states;          /* heads of it were taken to begin or end with a state */
};

struct pool {
    struct pool_config config;
    struct warden *warden;
    uv_loop_t *loop;
    struct map heads;     /* by number: all that are not released */
    struct map snapshots; /* likewise */
    struct map rooms;     /* by jail number */
    uint64_t last_number;
    struct shelf *shelves; /* one for each profile */
    bool is_stopping;
};

static const char *key_of(uint64_t number, char out[KEY_SIZE])
{
    snprintf(out, KEY_SIZE, "%" PRIx64, number);
    return out;
}

/* `name` of its workspace; NULL: a new one. */
static struct room *make_room(struct pool *pool, const char *name, const struct jail_limits *limits)
{
    char key[KEY_SIZE], new_name[UUID_SIZE];
    ids_uuid(new_name);
    struct room *room =
        room_new(pool->warden, ++pool->last_number, name != NULL ? name : new_name, limits);
    map_set(&pool->rooms, key_of(room->jail, key), room);
    return room;
}

static struct head *make_head(struct shelf *shelf, struct room *room,
                              const struct head_listener *listener, void *owner)
{
    char key[KEY_SIZE];
    struct pool *pool = shelf->pool;
    bool is_first = list_is_empty(&room->heads);
    struct head *head = head_new(room, pool->loop, ++pool->last_number);
    if (is_first) /* a session's files are found under its id */
        memcpy(head->name, room->name, sizeof(head->name));
    head->profile = shelf->zygote.profile;
    head->listener = listener;
    head->owner = owner;
    map_set(&pool->heads, key_of(head->number, key), head);
    return head;
}

static void end_if_deserted(struct pool *pool, struct room *room)
{
    char key[KEY_SIZE];
    if (!room_is_deserted(room))
        return;
    map_remove(&pool->rooms, key_of(room->jail, key));
    room_free(room);
}

static void stop_waiting(struct pool *pool, const struct runtime_profile *profile);

void pool_release(struct pool *pool, struct head *head)
{
    if (head == NULL)
        return;
    char key[KEY_SIZE];
    struct room *room = head->room;
    stop_waiting(pool, head->profile);
    map_remove(&pool->heads, key_of(head->number, key));
    head_free(head);
    end_if_deserted(pool, room);
}

/* ---- snapshots ---------------------------------------------------------------------------------
 */

uint64_t pool_new_number(struct pool *pool)
{
    return ++pool->last_number;
}

void pool_hold(struct room *room)
{
    room->n_holds++;
}

void pool_let_go(struct pool *pool, struct room *room)
{
    room->n_holds--;
    end_if_deserted(pool, room);
}

struct snapshot *pool_snapshot(struct pool *pool, struct head *head, uint64_t id,
                               const struct snapshot_listener *listener, void *owner, struct err *e)
{
    char key[KEY_SIZE];
    struct snapshot *snapshot = snapshot_take(head, pool_new_number(pool), id, listener, owner, e);
    if (snapshot != NULL)
        map_set(&pool->snapshots, key_of(snapshot->number, key), snapshot);
    return snapshot;
}

void pool_forget(struct pool *pool, struct snapshot *snapshot)
{
    if (snapshot == NULL)
        return;
    char key[KEY_SIZE];
    struct room *room = snapshot->room;
    map_remove(&pool->snapshots, key_of(snapshot->number, key));
    snapshot_free(snapshot);
    end_if_deserted(pool, room);
}

struct room *pool_make_room(struct pool *pool, const char *name, const struct jail_limits *limits)
{
    return make_room(pool, name, limits);
}

int pool_wake(struct pool *pool, struct snapshot *snapshot, const struct head_listener *listener,
              void *owner, struct head **ret_head, struct err *e)
{
    return pool_wake_in(pool, snapshot, snapshot->room, -1, listener, owner, ret_head, e);
}

int pool_wake_in(struct pool *pool, struct snapshot *snapshot, struct room *room, int room_key,
                 const struct head_listener *listener, void *owner, struct head **ret_head,
                 struct err *e)
{
    char key[KEY_SIZE];
    struct head *head = head_new(room, pool->loop, pool_new_number(pool));
    head->profile = snapshot->profile;
    head->listener = listener;
    head->owner = owner;
    map_set(&pool->heads, key_of(head->number, key), head);
    if (snapshot_wake(snapshot, head, room_key, e) < 0) {
        pool_release(pool, head);
        return -1;
    }
    *ret_head = head;
    return 0;
}

/* ---- filling -----------------------------------------------------------------------------------
 */

static const struct head_listener shelf_listener;

static uint32_t size_of(const struct shelf *shelf)
{
    return shelf->zygote.profile->is_cold ? 0 : shelf->pool->config.size;
}

static void refill_soon(struct shelf *shelf, uint64_t in_ms)
{
    const struct pool *pool = shelf->pool;
    bool is_full = shelf->n_ready >= size_of(shelf);
    if (pool->is_stopping || is_full || shelf->filling != NULL ||
        shelf->zygote.state != TEMPLATE_READY || shelf->failures >= FAILURES_MAX ||
        loop_timer_is_set(shelf->timer))
        return;
    loop_timer_set(shelf->timer, in_ms);
    shelf->is_patient = in_ms == BRIEF_MS;
}

static void stop_waiting(struct pool *pool, const struct runtime_profile *profile)
{
    struct shelf *shelf = &pool->shelves[profile - pool->config.profiles];
    if (!shelf->is_patient || shelf->filling != NULL || !loop_timer_is_set(shelf->timer))
        return;
    shelf->is_patient = false;
    loop_timer_set(shelf->timer, REFILL_MS);
}

static void filling_failed(struct shelf *shelf, const char *why)
{
    struct pool *pool = shelf->pool;
    pool_release(pool, take_ptr(shelf->filling));
    loop_timer_clear(shelf->timer);
    shelf->failures++;
    pool->config.on_notice(pool->config.context, "pool_refill_failed", why);
    refill_soon(shelf, (uint64_t)FIRST_PAUSE_MS << (shelf->failures - 1));
}

static void fill_one(struct shelf *shelf)
{
    struct err e;
    struct pool *pool = shelf->pool;
    shelf->filling =
        make_head(shelf, make_room(pool, NULL, &pool->config.limits), &shelf_listener, shelf);
    if (head_enter(shelf->filling, shelf->zygote.number, &e) < 0)
        filling_failed(shelf, e.message);
    else
        loop_timer_set(shelf->timer, ENTER_MS);
}

static void on_shelf_timer(void *context)
{
    struct shelf *shelf = context;
    if (shelf->filling != NULL)
        filling_failed(shelf, "an interpreter did not become ready in time");
    else if (shelf->zygote.state == TEMPLATE_READY)
        fill_one(shelf);
}

static void on_filled(struct head *head, const json_t *notes)
{
    (void)notes;
    struct shelf *shelf = head->owner;
    assert(shelf->filling == head);
    shelf->filling = NULL;
    shelf->failures = 0;
    list_append(&shelf->ready, &head->node);
    shelf->n_ready++;
    loop_timer_clear(shelf->timer);
    if (shelf->has_states)
        head_rehearse(head);
    refill_soon(shelf, 0);
}

static void on_lost_head(struct head *head, const struct head_end_facts *facts)
{
    struct shelf *shelf = head->owner;
    if (shelf->filling == head && facts->how == HEAD_BROKEN && head->has_process) {
        /* How it ends says more than that its channel closed. */
        head_signal(head, SIGKILL);
        return;
    }
    if (shelf->filling == head) {
        char why[320];
        head_describe_end(facts, why, sizeof(why));
        filling_failed(shelf, why);
        return;
    }
    shelf->n_ready--;
    pool_release(shelf->pool, head);
    refill_soon(shelf, FIRST_PAUSE_MS);
}

/* A head on the shelf runs no cell: it has nothing else to say. */
static void unexpected_display(struct head *head, json_t *output, bool is_update)
{
    (void)head;
    (void)output;
    (void)is_update;
}

static void unexpected_done(struct head *head, const struct head_verdict *verdict)
{
    (void)head;
    (void)verdict;
}

static void unexpected_set(struct head *head)
{
    (void)head;
}

static void unexpected_clear(struct head *head, bool waits)
{
    (void)head;
    (void)waits;
}

static void unexpected_input(struct head *head, const struct head_prompt *prompt)
{
    (void)head;
    (void)prompt;
}

static void unexpected_names(struct head *head, json_t *names)
{
    (void)head;
    (void)names;
}

static void ignore_denied(struct head *head, const char *call)
{
    (void)head;
    (void)call;
}

static void ignore_signal(struct head *head)
{
    (void)head;
}

static void ignore_quota(struct head *head, uint64_t bytes)
{
    (void)head;
    (void)bytes;
}

static const struct head_listener shelf_listener = {
    .on_ready = on_filled,
    .on_set = unexpected_set,
    .on_input = unexpected_input,
    .on_names = unexpected_names,
    .on_denied = ignore_denied,
    .on_display = unexpected_display,
    .on_clear = unexpected_clear,
    .on_done = unexpected_done,
    .on_signaled = ignore_signal,
    .on_over_quota = ignore_quota,
    .on_end = on_lost_head,
};

/* ---- zygotes -----------------------------------------------------------------------------------
 */

static void refuse(struct head *head, const char *why)
{
    list_remove(&head->node);
    head->state = HEAD_ENDED;
    head->listener->on_end(head, &(struct head_end_facts){.how = HEAD_REFUSED, .text = why});
}

static void on_zygote_ready(struct template *zygote)
{
    struct shelf *shelf = zygote->owner;
    struct pool *pool = shelf->pool;
    while (!list_is_empty(&shelf->waiting)) {
        struct err e;
        struct head *head = CONTAINER_OF(list_first(&shelf->waiting), struct head, node);
        list_remove(&head->node);
        if (head_enter(head, zygote->number, &e) < 0)
            refuse(head, e.message);
    }
    shelf->failures = 0;
    refill_soon(shelf, REFILL_MS);
    pool->config.on_zygote_ready(pool->config.context, zygote);
}

static void on_zygote_ended(struct template *zygote)
{
    struct shelf *shelf = zygote->owner;
    struct pool *pool = shelf->pool;
    char text[640];
    snprintf(text, sizeof(text), "the profile %s ended: %s", zygote->profile->name,
             zygote->failure);
    if (shelf->filling == NULL)
        loop_timer_clear(shelf->timer);
    while (!list_is_empty(&shelf->waiting))
        refuse(CONTAINER_OF(list_first(&shelf->waiting), struct head, node), text);
    pool->config.on_notice(pool->config.context, "zygote_ended", text);
    pool->config.on_zygote_ended(pool->config.context, zygote);
}

static const struct template_listener template_listener = {
    .on_ready = on_zygote_ready,
    .on_ended = on_zygote_ended,
};

/* ---- the pool ----------------------------------------------------------------------------------
 */

static void shelf_init(struct shelf *shelf, struct pool *pool,
                       const struct runtime_profile *profile)
{
    shelf->pool = pool;
    list_init(&shelf->ready);
    list_init(&shelf->waiting);
    shelf->timer = loop_timer_new(pool->loop, on_shelf_timer, shelf);
    template_init(&shelf->zygote, profile, pool->warden, pool->loop, &template_listener, shelf);
}

struct pool *pool_new(const struct pool_config *config, struct warden *warden, uv_loop_t *loop)
{
    struct pool *pool = mem_alloc(sizeof(*pool));
    pool->config = *config;
    pool->warden = warden;
    pool->loop = loop;
    pool->shelves = mem_alloc(config->n_profiles * sizeof(*pool->shelves));
    for (size_t i = 0; i < config->n_profiles; i++)
        shelf_init(&pool->shelves[i], pool, &config->profiles[i]);
    return pool;
}

void pool_free(struct pool *pool)
{
    if (pool == NULL)
        return;
    pool->is_stopping = true;
    for (size_t i = 0; i < pool->config.n_profiles; i++) {
        struct shelf *shelf = &pool->shelves[i];
        pool_release(pool, take_ptr(shelf->filling));
        LIST_EACH(&shelf->ready, node)
        pool_release(pool, CONTAINER_OF(node, struct head, node));
        assert(list_is_empty(&shelf->waiting));
        loop_timer_close(take_ptr(shelf->timer), NULL);
        template_close(&shelf->zygote);
    }
    assert(pool->heads.count == 0 && pool->snapshots.count == 0 && pool->rooms.count == 0);
    map_free(&pool->heads);
    map_free(&pool->snapshots);
    map_free(&pool->rooms);
    free(pool->shelves);
    free(pool);
}

static struct shelf *find_shelf(struct pool *pool, const char *profile)
{
    for (size_t i = 0; i < pool->config.n_profiles; i++)
        if (strcmp(pool->config.profiles[i].name, profile) == 0)
            return &pool->shelves[i];
    return NULL;
}

/* The names of a runtime's profiles, or of all if it is NULL. */
static void list_profiles(const struct pool *pool, const struct runtime *runtime, struct buf *out)
{
    for (size_t i = 0; i < pool->config.n_profiles; i++) {
        const struct runtime_profile *profile = &pool->config.profiles[i];
        if (runtime == NULL || profile->runtime == runtime)
            buf_printf(out, "%s%s", out->len > 0 ? ", " : "", profile->name);
    }
}

static int no_such_profile(const struct pool *pool, const char *profile, struct err *e)
{
    _buf_ struct buf names = BUF_INIT(KIB);
    list_profiles(pool, NULL, &names);
    err_set(e, ERR_INVALID, "there is no profile \"%.64s\"", profile);
    return err_advise(e, "Use one of: %s; or add it to the configuration.", buf_str(&names));
}

static int wrong_profile(const struct pool *pool, const struct pool_request *request, struct err *e)
{
    _buf_ struct buf names = BUF_INIT(KIB);
    list_profiles(pool, request->runtime, &names);
    err_set(e, ERR_INVALID, "the profile \"%.64s\" is not one of %s", request->profile,
            request->runtime->name);
    return err_advise(e, "Leave it out, or use one of: %s.", buf_str(&names));
}

int pool_warm(struct pool *pool, const char *profile, struct err *e)
{
    struct shelf *shelf = find_shelf(pool, profile);
    return shelf == NULL ? no_such_profile(pool, profile, e) : template_want(&shelf->zygote, e);
}

/* One that waits, else the one that is being made for the shelf anyway. */
static struct head *take_from_shelf(struct shelf *shelf, bool is_brief)
{
    struct head *head;
    if (shelf->n_ready > 0) {
        head = CONTAINER_OF(list_first(&shelf->ready), struct head, node);
        list_remove(&head->node);
        shelf->n_ready--;
    } else {
        head = take_ptr(shelf->filling);
        if (head != NULL)
            loop_timer_clear(shelf->timer);
    }
    refill_soon(shelf, is_brief ? BRIEF_MS : REFILL_MS);
    return head;
}

static const char *usual_profile(const struct pool *pool, const struct runtime *runtime)
{
    return runtime == &runtime_python ? pool->config.default_profile : runtime->name;
}

/* NULL if there is no such shelf. */
static struct shelf *choose_shelf(struct pool *pool, const struct pool_request *request,
                                  struct err *e)
{
    const char *profile =
        request->profile != NULL ? request->profile : usual_profile(pool, request->runtime);
    struct shelf *shelf = find_shelf(pool, profile);
    if (shelf == NULL)
        no_such_profile(pool, profile, e);
    else if (shelf->zygote.profile->runtime != request->runtime)
        wrong_profile(pool, request, e);
    else
        return shelf;
    return NULL;
}

static bool is_usual(const struct pool *pool, const struct pool_request *request)
{
    return request->join == NULL && request->workspace == NULL &&
           (request->limits == NULL ||
            memcmp(request->limits, &pool->config.limits, sizeof(*request->limits)) == 0);
}

static int make_for(struct shelf *shelf, const struct pool_request *request, struct head **ret_head,
                    struct err *e)
{
    struct pool *pool = shelf->pool;
    if (template_want(&shelf->zygote, e) < 0)
        return -1;
    shelf->failures = 0;
    const struct jail_limits *limits =
        request->limits != NULL ? request->limits : &pool->config.limits;
    struct room *room =
        request->join != NULL ? request->join : make_room(pool, request->workspace, limits);
    struct head *head = make_head(shelf, room, request->listener, request->owner);
    if (shelf->zygote.state != TEMPLATE_READY) {
        list_append(&shelf->waiting, &head->node);
    } else if (head_enter(head, shelf->zygote.number, e) < 0) {
        pool_release(pool, head);
        return -1;
    }
    *ret_head = head;
    return 0;
}

int pool_take(struct pool *pool, const struct pool_request *request, struct head **ret_head,
              struct err *e)
{
    struct shelf *shelf = choose_shelf(pool, request, e);
    if (shelf == NULL)
        return -1;
    if (is_usual(pool, request) && shelf->n_ready > 0)
        shelf->hits++;
    else
        shelf->misses++;
    shelf->has_states |= request->has_state;
    struct head *head = is_usual(pool, request) ? take_from_shelf(shelf, request->is_brief) : NULL;
    if (head == NULL)
        return make_for(shelf, request, ret_head, e);
    head->listener = request->listener;
    head->owner = request->owner;
    *ret_head = head;
    return 0;
}

void pool_set_limits(struct pool *pool, const struct jail_limits *limits, uint32_t size)
{
    bool is_same = memcmp(limits, &pool->config.limits, sizeof(*limits)) == 0;
    pool->config.limits = *limits;
    pool->config.size = size;
    for (size_t i = 0; i < pool->config.n_profiles; i++) {
        struct shelf *shelf = &pool->shelves[i];
        if (!is_same && shelf->filling != NULL) {
            loop_timer_clear(shelf->timer);
            pool_release(pool, take_ptr(shelf->filling));
        }
        while (shelf->n_ready > (is_same ? size : 0)) {
            shelf->n_ready--;
            pool_release(pool, CONTAINER_OF(list_first(&shelf->ready), struct head, node));
        }
        refill_soon(shelf, REFILL_MS);
    }
}

static void on_zygote_event(struct pool *pool, const struct warden_event *event)
{
    for (size_t i = 0; i < pool->config.n_profiles; i++)
        if (pool->shelves[i].zygote.number == event->zygote)
            template_on_event(&pool->shelves[i].zygote, event);
}

static void tell_head(struct pool *pool, uint64_t number, const struct warden_event *event)
{
    char key[KEY_SIZE];
    struct head *head = map_get(&pool->heads, key_of(number, key));
    struct snapshot *snapshot = map_get(&pool->snapshots, key);
    if (head != NULL)
        head_on_event(head, event);
    else if (snapshot != NULL)
        snapshot_on_event(snapshot, event);
}

/* Concerns everybody in a room. Who hears of it may leave, and make others leave: so they are
 * called by number. */
static void on_room_event(struct pool *pool, const struct warden_event *event)
{
    char key[KEY_SIZE];
    struct room *room = map_get(&pool->rooms, key_of(event->jail, key));
    if (room == NULL)
        return;
    if (event->type == WARDEN_GONE)
        room->is_known = false;
    size_t n = 0;
    LIST_EACH(&room->heads, node)
    n++;
    LIST_EACH(&room->snapshots, node)
    n++;
    _free_ uint64_t *numbers = mem_alloc(n * sizeof(*numbers) + 1);
    size_t i = 0;
    LIST_EACH(&room->heads, node)
    numbers[i++] = CONTAINER_OF(node, struct head, room_node)->number;
    LIST_EACH(&room->snapshots, node)
    numbers[i++] = CONTAINER_OF(node, struct snapshot, room_node)->number;
    for (i = 0; i < n; i++)
        tell_head(pool, numbers[i], event);
}

/* The numbers of all that a map holds: who is called may leave, and make others leave. */
static size_t list_numbers(const struct map *map, uint64_t **ret)
{
    size_t n = 0, at = 0;
    const char *key;
    void *ignored;
    *ret = mem_alloc((map->count + 1) * sizeof(**ret));
    while (map_next(map, &at, &key, &ignored))
        (*ret)[n++] = strtoull(key, NULL, 16);
    return n;
}

/* All jails and zygotes are gone. Workspaces are not: the daemon knows which are of use. */
static void lose_all(struct pool *pool, const struct warden_event *event)
{
    size_t at = 0;
    const char *key;
    void *room;
    while (map_next(&pool->rooms, &at, &key, &room))
        ((struct room *)room)->is_known = false;
    for (size_t i = 0; i < pool->config.n_profiles; i++)
        template_lose(&pool->shelves[i].zygote);
    _free_ uint64_t *numbers = NULL;
    size_t n = list_numbers(&pool->heads, &numbers);
    for (size_t i = 0; i < n; i++)
        tell_head(pool, numbers[i], event);
    free(take_ptr(numbers));
    n = list_numbers(&pool->snapshots, &numbers);
    for (size_t i = 0; i < n; i++)
        tell_head(pool, numbers[i], event);
}

static void come_back(struct pool *pool)
{
    for (size_t i = 0; i < pool->config.n_profiles; i++)
        template_resume(&pool->shelves[i].zygote);
}

void pool_on_event(struct pool *pool, const struct warden_event *event)
{
    if (event->type == WARDEN_LOST) {
        lose_all(pool, event);
        return;
    }
    if (event->type == WARDEN_BACK) {
        come_back(pool);
        return;
    }
    if (event->type == WARDEN_ZYGOTE_READY || event->type == WARDEN_ZYGOTE_EXITED) {
        on_zygote_event(pool, event);
        return;
    }
    if (event->type == WARDEN_OVER_QUOTA || event->type == WARDEN_GONE)
        on_room_event(pool, event);
    else
        tell_head(pool, event->head, event);
}

size_t pool_n_ready(const struct pool *pool)
{
    size_t n = 0;
    for (size_t i = 0; i < pool->config.n_profiles; i++)
        n += pool->shelves[i].n_ready;
    return n;
}

bool pool_stats(const struct pool *pool, size_t index, struct pool_stats *ret)
{
    if (index >= pool->config.n_profiles)
        return false;
    const struct shelf *shelf = &pool->shelves[index];
    *ret = (struct pool_stats){.zygote = &shelf->zygote,
                               .size = size_of(shelf),
                               .ready = (uint32_t)shelf->n_ready,
                               .hits = shelf->hits,
                               .misses = shelf->misses};
    return true;
}
