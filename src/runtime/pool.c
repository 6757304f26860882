/* The pool: interpreters that are ready, those in use, and what the warden tells of them. Daemon;
 * owns every head, room and checkpoint's process. */
#include "runtime/pool.h"

#include "loop/loop.h"
#include "runtime/pool_parts.h"

#include <assert.h>
#include <inttypes.h>

enum { KEY_SIZE = 24 };

static const char *key_of(uint64_t number, char out[KEY_SIZE])
{
    snprintf(out, KEY_SIZE, "%" PRIx64, number);
    return out;
}

/* `name` of its workspace; NULL for a new one. */
struct room *pool_make_room(struct pool *pool, const char *name, const struct jail_limits *limits)
{
    char key[KEY_SIZE], new_name[UUID_SIZE];
    ids_uuid(new_name);
    struct room *room =
        room_new(pool->warden, ++pool->last_number, name != NULL ? name : new_name, limits);
    map_set(&pool->rooms, key_of(room->jail, key), room);
    return room;
}

struct head *pool_make_head(struct shelf *shelf, struct room *room,
                            const struct head_listener *listener, void *owner)
{
    char key[KEY_SIZE];
    struct pool *pool = shelf->pool;
    bool is_first = list_is_empty(&room->heads);
    struct head *head = head_new(room, pool->loop, ++pool->last_number);
    if (is_first) /* a session's files are found under its id */
        memcpy(head->name, room->name, sizeof(head->name));
    head->profile = shelf->zygote.profile;
    head->report = head->profile->is_cold ? &shelf->zygote.report : NULL;
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
    if (room->is_known && !room->keeps_workspace)
        map_set(&pool->leaving, key, mem_strdup(room->name));
    room_free(room);
}

static void forget_leaving(struct pool *pool)
{
    size_t at = 0;
    const char *key;
    void *name;
    while (map_next(&pool->leaving, &at, &key, &name))
        free(name);
    map_free(&pool->leaving);
}

bool pool_is_leaving(const struct pool *pool, const char *workspace)
{
    size_t at = 0;
    const char *key;
    void *name;
    while (map_next(&pool->leaving, &at, &key, &name))
        if (strcmp(name, workspace) == 0)
            return true;
    return false;
}

void pool_release(struct pool *pool, struct head *head)
{
    if (head == NULL)
        return;
    char key[KEY_SIZE];
    struct room *room = head->room;
    shelf_stop_waiting(pool, head->profile);
    map_remove(&pool->heads, key_of(head->number, key));
    head_free(head);
    end_if_deserted(pool, room);
}

/* ---- snapshots ------------------------------------------------------------------------------- */

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

void pool_drop(struct pool *pool, struct snapshot *snapshot)
{
    if (snapshot == NULL)
        return;
    char key[KEY_SIZE];
    struct room *room = snapshot->room;
    map_remove(&pool->snapshots, key_of(snapshot->number, key));
    snapshot_free(snapshot);
    end_if_deserted(pool, room);
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

/* ---- the pool -------------------------------------------------------------------------------- */

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
        runtime_zygote_close(&shelf->zygote);
    }
    assert(pool->heads.count == 0 && pool->snapshots.count == 0 && pool->rooms.count == 0);
    map_free(&pool->heads);
    map_free(&pool->snapshots);
    map_free(&pool->rooms);
    forget_leaving(pool);
    free(pool->shelves);
    free(pool);
}

/* ---- taking a head --------------------------------------------------------------------------- */

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

int pool_warm(struct pool *pool, const char *profile, struct err *e)
{
    struct shelf *shelf = find_shelf(pool, profile);
    return shelf == NULL ? no_such_profile(pool, profile, e)
                         : runtime_zygote_want(&shelf->zygote, e);
}

/* NULL if there is no such shelf. */
static struct shelf *choose_shelf(struct pool *pool, const struct pool_request *request,
                                  struct err *e)
{
    const struct runtime *runtime = request->runtime;
    const char *usual = runtime == &runtime_python ? pool->config.default_profile : runtime->name;
    const char *profile = request->profile != NULL ? request->profile : usual;
    struct shelf *shelf = find_shelf(pool, profile);
    if (shelf == NULL) {
        no_such_profile(pool, profile, e);
        return NULL;
    }
    if (shelf->zygote.profile->runtime == runtime)
        return shelf;
    _buf_ struct buf names = BUF_INIT(KIB);
    list_profiles(pool, runtime, &names);
    err_set(e, ERR_INVALID, "the profile \"%.64s\" is not one of %s", request->profile,
            runtime->name);
    err_advise(e, "Leave it out, or use one of: %s.", buf_str(&names));
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
    if (runtime_zygote_want(&shelf->zygote, e) < 0)
        return -1;
    shelf->failures = 0;
    const struct jail_limits *limits =
        request->limits != NULL ? request->limits : &pool->config.limits;
    struct room *room =
        request->join != NULL ? request->join : pool_make_room(pool, request->workspace, limits);
    struct head *head = pool_make_head(shelf, room, request->listener, request->owner);
    if (shelf->zygote.state != ZYGOTE_READY) {
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
    struct head *head = is_usual(pool, request) ? shelf_take(shelf, request->is_brief) : NULL;
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
        shelf_refill_soon(shelf, SHELF_REFILL_MS);
    }
}

/* ---- what the warden tells ------------------------------------------------------------------- */

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

static void on_left(struct pool *pool, uint64_t jail)
{
    char key[KEY_SIZE];
    _free_ char *name = map_get(&pool->leaving, key_of(jail, key));
    if (name == NULL)
        return;
    map_remove(&pool->leaving, key);
    if (pool->config.on_left != NULL)
        pool->config.on_left(pool->config.context, name);
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

void pool_on_event(struct pool *pool, const struct warden_event *event)
{
    if (event->type == WARDEN_LOST) {
        /* All jails and zygotes are gone. Workspaces are not: the daemon knows which are of use. */
        size_t at = 0;
        const char *key;
        void *room;
        while (map_next(&pool->rooms, &at, &key, &room))
            ((struct room *)room)->is_known = false;
        forget_leaving(pool);
        for (size_t i = 0; i < pool->config.n_profiles; i++)
            runtime_zygote_lose(&pool->shelves[i].zygote);
        _free_ uint64_t *numbers = NULL;
        size_t n = list_numbers(&pool->heads, &numbers);
        for (size_t i = 0; i < n; i++)
            tell_head(pool, numbers[i], event);
        free(take_ptr(numbers));
        n = list_numbers(&pool->snapshots, &numbers);
        for (size_t i = 0; i < n; i++)
            tell_head(pool, numbers[i], event);
        return;
    }
    if (event->type == WARDEN_BACK) {
        for (size_t i = 0; i < pool->config.n_profiles; i++)
            runtime_zygote_resume(&pool->shelves[i].zygote);
        return;
    }
    if (event->type == WARDEN_ZYGOTE_READY || event->type == WARDEN_ZYGOTE_EXITED) {
        for (size_t i = 0; i < pool->config.n_profiles; i++)
            if (pool->shelves[i].zygote.number == event->zygote)
                runtime_zygote_on_event(&pool->shelves[i].zygote, event);
        return;
    }
    if (event->type == WARDEN_GONE)
        on_left(pool, event->jail);
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
                               .size = shelf_size(shelf),
                               .ready = (uint32_t)shelf->n_ready,
                               .hits = shelf->hits,
                               .misses = shelf->misses};
    return true;
}
