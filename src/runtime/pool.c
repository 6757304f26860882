#include "runtime/pool.h"

#include "base/map.h"
#include "loop/loop.h"

#include <assert.h>
#include <inttypes.h>
#include <signal.h>

enum {
    REFILL_MS = 2, /* after a head was taken: its session's first cell goes first */
    FIRST_PAUSE_MS = 100,
    FAILURES_MAX = 8, /* then nothing more is tried until somebody asks for a session */
    ENTER_MS = 30 * 1000,
    JAIL_KEY_SIZE = 24,
};

/* One profile. */
struct shelf {
    struct pool *pool;
    struct template zygote;
    struct list ready;    /* heads, oldest first */
    struct list waiting;  /* heads of sessions, for the zygote */
    struct head *filling; /* the one being made for the shelf */
    size_t n_ready;
    unsigned failures;        /* of entering, in a row */
    struct loop_timer *timer; /* filling: its deadline; else the next refill */
};

struct pool {
    struct pool_config config;
    struct warden *warden;
    uv_loop_t *loop;
    struct map heads; /* by jail number: all that are not released */
    uint64_t last_jail;
    struct shelf *shelves; /* one for each profile */
    bool is_stopping;
};

static const char *jail_key(uint64_t jail, char out[JAIL_KEY_SIZE])
{
    snprintf(out, JAIL_KEY_SIZE, "%" PRIx64, jail);
    return out;
}

static struct head *make_head(struct pool *pool, const struct jail_limits *limits,
                              const struct head_listener *listener, void *owner)
{
    char key[JAIL_KEY_SIZE];
    struct head *head = head_new(pool->warden, pool->loop, ++pool->last_jail, limits);
    head->listener = listener;
    head->owner = owner;
    map_set(&pool->heads, jail_key(head->jail, key), head);
    return head;
}

void pool_release(struct pool *pool, struct head *head)
{
    if (head == NULL)
        return;
    char key[JAIL_KEY_SIZE];
    map_remove(&pool->heads, jail_key(head->jail, key));
    head_free(head);
}

/* ---- filling -----------------------------------------------------------------------------------
 */

static const struct head_listener shelf_listener;

static void refill_soon(struct shelf *shelf, uint64_t in_ms)
{
    const struct pool *pool = shelf->pool;
    bool is_full = shelf->n_ready >= pool->config.size;
    if (pool->is_stopping || is_full || shelf->filling != NULL ||
        shelf->zygote.state != TEMPLATE_READY || shelf->failures >= FAILURES_MAX ||
        loop_timer_is_set(shelf->timer))
        return;
    loop_timer_set(shelf->timer, in_ms);
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
    shelf->filling = make_head(shelf->pool, &shelf->pool->config.limits, &shelf_listener, shelf);
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

static void on_filled(struct head *head)
{
    struct shelf *shelf = head->owner;
    assert(shelf->filling == head);
    shelf->filling = NULL;
    shelf->failures = 0;
    list_append(&shelf->ready, &head->node);
    shelf->n_ready++;
    loop_timer_clear(shelf->timer);
    refill_soon(shelf, 0);
}

static void on_lost_head(struct head *head, const struct head_end_facts *facts)
{
    struct shelf *shelf = head->owner;
    if (shelf->filling == head && facts->how == HEAD_BROKEN) {
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
static void unexpected_display(struct head *head, json_t *output)
{
    (void)head;
    (void)output;
}

static void unexpected_done(struct head *head, const struct head_verdict *verdict)
{
    (void)head;
    (void)verdict;
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
    .on_display = unexpected_display,
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
    template_init(&shelf->zygote, &runtime_python, profile, pool->warden, pool->loop,
                  &template_listener, shelf);
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
    assert(pool->heads.count == 0);
    map_free(&pool->heads);
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

static int no_such_profile(const struct pool *pool, const char *profile, struct err *e)
{
    _buf_ struct buf names = BUF_INIT(256);
    for (size_t i = 0; i < pool->config.n_profiles; i++)
        buf_printf(&names, "%s%s", i > 0 ? ", " : "", pool->config.profiles[i].name);
    err_set(e, ERR_INVALID, "there is no profile \"%.64s\"", profile);
    return err_advise(e, "Use one of: %s; or add it to the configuration.", buf_str(&names));
}

int pool_warm(struct pool *pool, const char *profile, struct err *e)
{
    struct shelf *shelf = find_shelf(pool, profile);
    return shelf == NULL ? no_such_profile(pool, profile, e) : template_want(&shelf->zygote, e);
}

/* One that waits, else the one that is being made for the shelf anyway. */
static struct head *take_from_shelf(struct shelf *shelf)
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
    refill_soon(shelf, REFILL_MS);
    return head;
}

int pool_take(struct pool *pool, const char *profile, const struct jail_limits *limits,
              const struct head_listener *listener, void *owner, struct head **ret_head,
              struct err *e)
{
    struct shelf *shelf = find_shelf(pool, profile);
    if (shelf == NULL)
        return no_such_profile(pool, profile, e);
    const struct jail_limits *usual = &pool->config.limits;
    bool is_usual = limits == NULL || memcmp(limits, usual, sizeof(*limits)) == 0;
    struct head *head = is_usual ? take_from_shelf(shelf) : NULL;
    if (head != NULL) {
        head->listener = listener;
        head->owner = owner;
        *ret_head = head;
        return 0;
    }
    if (template_want(&shelf->zygote, e) < 0)
        return -1;
    shelf->failures = 0;
    head = make_head(pool, is_usual ? usual : limits, listener, owner);
    if (shelf->zygote.state != TEMPLATE_READY) {
        list_append(&shelf->waiting, &head->node);
    } else if (head_enter(head, shelf->zygote.number, e) < 0) {
        pool_release(pool, head);
        return -1;
    }
    *ret_head = head;
    return 0;
}

static void on_zygote_event(struct pool *pool, const struct warden_event *event)
{
    for (size_t i = 0; i < pool->config.n_profiles; i++)
        if (pool->shelves[i].zygote.number == event->zygote)
            template_on_event(&pool->shelves[i].zygote, event);
}

void pool_on_event(struct pool *pool, const struct warden_event *event)
{
    if (event->type == WARDEN_ZYGOTE_READY || event->type == WARDEN_ZYGOTE_EXITED) {
        on_zygote_event(pool, event);
        return;
    }
    char key[JAIL_KEY_SIZE];
    struct head *head = map_get(&pool->heads, jail_key(event->jail, key));
    if (head != NULL)
        head_on_event(head, event);
}

const char *pool_profile_name(const struct pool *pool, const char *profile)
{
    for (size_t i = 0; i < pool->config.n_profiles; i++)
        if (strcmp(pool->config.profiles[i].name, profile) == 0)
            return pool->config.profiles[i].name;
    return NULL;
}

size_t pool_n_ready(const struct pool *pool)
{
    size_t n = 0;
    for (size_t i = 0; i < pool->config.n_profiles; i++)
        n += pool->shelves[i].n_ready;
    return n;
}
