/* What agents remember of explorations. Owns the table memories. Daemon; applied by the store's
 * writer thread. */
#include "store/memories.h"

#include "base/clock.h"
#include "store/internal.h"

#include <math.h>

/* Q as the database has it. */
#define MEMORIES_Q_SCALE 1e9

#define MEMORIES_COLUMNS                                                                           \
    "key, id, agent, user, session, task, action, outcome, log, q, n_outcomes, created_ms,"        \
    " updated_ms"

static const char *memories_copy(struct arena *memory, const char *text)
{
    return text != NULL ? arena_strdup(memory, text) : NULL;
}

static void memories_read(sqlite3_stmt *s, struct arena *memory, struct store_memory *ret)
{
    *ret = (struct store_memory){
        .id = memories_copy(memory, db_text(s, 1)),
        .agent = memories_copy(memory, db_text(s, 2)),
        .user = memories_copy(memory, db_text(s, 3)),
        .session = memories_copy(memory, db_text(s, 4)),
        .task = memories_copy(memory, db_text(s, 5)),
        .action = memories_copy(memory, db_text(s, 6)),
        .outcome = memories_copy(memory, db_text(s, 7)),
        .log = memories_copy(memory, db_text(s, 8)),
        .q = (double)db_number(s, 9) / MEMORIES_Q_SCALE,
        .n_outcomes = db_number(s, 10),
        .created_ms = db_number(s, 11),
        .updated_ms = db_number(s, 12),
    };
}

/* ---- learning -------------------------------------------------------------------------------- */

struct memories_learn_call {
    struct store_call call;
    struct store_lesson lesson; /* its texts in the call's memory */
    char id[MEMORY_ID_SIZE];
    struct store_memory row;
    uint64_t n_dropped;
};

/* The row as it is; 0: there is none. */
static int memories_find(struct store *store, struct memories_learn_call *learn, uint64_t *ret_key,
                         struct err *e)
{
    static const struct db_sql sql = {"SELECT " MEMORIES_COLUMNS
                                      " FROM memories WHERE agent=?1 AND user=?2 AND id=?3"};
    sqlite3_stmt *s;
    int got = db_first(&store->db, &sql, &s, e, DB_TEXT(learn->lesson.agent),
                       DB_TEXT(learn->lesson.user), DB_TEXT(learn->id));
    if (got > 0) {
        memories_read(s, &learn->call.memory, &learn->row);
        *ret_key = db_number(s, 0);
        sqlite3_reset(s);
    }
    return got;
}

static int memories_insert(struct store *store, const struct memories_learn_call *learn,
                           uint64_t now_ms, struct err *e)
{
    static const struct db_sql sql = {
        "INSERT INTO memories(id, agent, user, session, task, action, outcome, log, q, n_outcomes,"
        " created_ms, updated_ms, embedding) VALUES(?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11,?11,?12)"};
    const struct store_lesson *lesson = &learn->lesson;
    bool has_outcome = lesson->outcome != MEMORY_OPEN;
    double q = has_outcome ? memory_learn(MEMORY_Q_FIRST, lesson->reward) : MEMORY_Q_FIRST;
    int8_t vector[EMBED_DIM];
    embed_text(lesson->task, strlen(lesson->task), vector);
    return db_do(&store->db, &sql, e, DB_TEXT(learn->id), DB_TEXT(lesson->agent),
                 DB_TEXT(lesson->user), DB_TEXT(lesson->session), DB_TEXT(lesson->task),
                 DB_TEXT(lesson->action), DB_TEXT(memory_outcomes[lesson->outcome]),
                 DB_TEXT(lesson->log), DB_NUMBER((uint64_t)llround(q * MEMORIES_Q_SCALE)),
                 DB_NUMBER(has_outcome), DB_NUMBER(now_ms), DB_BYTES(vector, sizeof(vector)));
}

/* An outcome that is open says nothing about one that was told. */
static int memories_update(struct store *store, const struct memories_learn_call *learn,
                           uint64_t key, uint64_t now_ms, struct err *e)
{
    static const struct db_sql sql = {
        "UPDATE memories SET session=?2, outcome=?3, log=coalesce(?4, log), q=?5, n_outcomes=?6,"
        " updated_ms=?7 WHERE key=?1"};
    const struct store_lesson *lesson = &learn->lesson;
    bool has_outcome = lesson->outcome != MEMORY_OPEN;
    double q = has_outcome ? memory_learn(learn->row.q, lesson->reward) : learn->row.q;
    return db_do(&store->db, &sql, e, DB_NUMBER(key), DB_TEXT(lesson->session),
                 DB_TEXT(has_outcome ? memory_outcomes[lesson->outcome] : learn->row.outcome),
                 DB_TEXT(lesson->log), DB_NUMBER((uint64_t)llround(q * MEMORIES_Q_SCALE)),
                 DB_NUMBER(learn->row.n_outcomes + has_outcome), DB_NUMBER(now_ms));
}

/* The agent has room for so many; the user who has the most gives way, so that one user cannot take
 * another's. Never the memory that is new. */
static int memories_drop_surplus(struct store *store, struct memories_learn_call *learn,
                                 uint64_t key, struct err *e)
{
    static const struct db_sql count = {"SELECT count(*) FROM memories WHERE agent=?1"},
                               drop = {
                                   "DELETE FROM memories WHERE key=(SELECT key FROM memories"
                                   " WHERE agent=?1 AND key<>?3 AND user=(SELECT user FROM memories"
                                   " WHERE agent=?1 GROUP BY user ORDER BY count(*) DESC, user=?2"
                                   " LIMIT 1) ORDER BY q, updated_ms, key LIMIT 1)"};
    const struct store_lesson *lesson = &learn->lesson;
    size_t keep = lesson->keep > 0 ? lesson->keep : MEMORIES_OF_AGENT;
    sqlite3_stmt *s;
    if (db_first(&store->db, &count, &s, e, DB_TEXT(lesson->agent)) < 0)
        return -1;
    uint64_t n = db_number(s, 0);
    sqlite3_reset(s);
    for (; n > keep; n--) {
        if (db_do(&store->db, &drop, e, DB_TEXT(lesson->agent), DB_TEXT(lesson->user),
                  DB_NUMBER(key)) < 0)
            return -1;
        learn->n_dropped++;
    }
    return 0;
}

static int memories_apply_learn(struct store *store, struct store_call *call, struct err *e)
{
    struct memories_learn_call *learn = CONTAINER_OF(call, struct memories_learn_call, call);
    uint64_t key = 0, now_ms = clock_wall_ms();
    learn->n_dropped = 0; /* a group that failed is applied again */
    int got = memories_find(store, learn, &key, e);
    if (got < 0)
        return -1;
    if (got > 0 ? memories_update(store, learn, key, now_ms, e) < 0
                : memories_insert(store, learn, now_ms, e) < 0)
        return -1;
    if (memories_find(store, learn, &key, e) < 0)
        return -1;
    return got > 0 ? 0 : memories_drop_surplus(store, learn, key, e);
}

static void memories_deliver_learnt(struct store_call *call, const struct err *e)
{
    struct memories_learn_call *learn = CONTAINER_OF(call, struct memories_learn_call, call);
    ((store_memory_fn)call->fn)(call->context, e == NULL ? &learn->row : NULL, learn->n_dropped, e);
}

static const struct call_type memories_learn_type = {.apply = memories_apply_learn,
                                                     .deliver = memories_deliver_learnt,
                                                     .is_write = true,
                                                     .needs_disk = true};

struct store_call *store_learn(struct store *store, const struct store_lesson *lesson,
                               store_memory_fn fn, void *context, struct err *e)
{
    struct memories_learn_call *learn = call_new(store, &memories_learn_type, sizeof(*learn), NULL);
    struct arena *memory = &learn->call.memory;
    learn->lesson = *lesson;
    learn->lesson.agent = arena_strdup(memory, lesson->agent);
    learn->lesson.user = arena_strdup(memory, lesson->user);
    learn->lesson.session = arena_strdup(memory, lesson->session);
    learn->lesson.task = arena_strdup(memory, lesson->task);
    learn->lesson.action = arena_strdup(memory, lesson->action);
    learn->lesson.log = memories_copy(memory, lesson->log);
    memory_id(lesson->agent, lesson->user, lesson->task, lesson->action, learn->id);
    learn->call.bytes += strlen(lesson->task) + (lesson->log != NULL ? strlen(lesson->log) : 0);
    learn->call.fn = (void *)fn;
    learn->call.context = context;
    learn->call.is_awaited = fn != NULL;
    return call_queue(&learn->call, e) < 0 ? NULL : &learn->call;
}

/* ---- looking --------------------------------------------------------------------------------- */

struct memories_look_call {
    struct store_call call;
    const char *agent, *user; /* NULL for all */
    int8_t query[EMBED_DIM];
    uint64_t offset;
    uint32_t limit;
    struct store_memory *list; /* in the call's memory, as its texts */
    size_t n;
    uint64_t count;
};

static struct memories_look_call *memories_look_new(struct store *store,
                                                    const struct call_type *type, const char *agent,
                                                    const char *user, size_t n)
{
    struct memories_look_call *look = call_new(store, type, sizeof(*look), NULL);
    look->agent = memories_copy(&look->call.memory, agent);
    look->user = memories_copy(&look->call.memory, user);
    look->list = arena_alloc(&look->call.memory, n * sizeof(*look->list));
    return look;
}

static void memories_deliver_list(struct store_call *call, const struct err *e)
{
    struct memories_look_call *look = CONTAINER_OF(call, struct memories_look_call, call);
    ((store_memories_fn)call->fn)(call->context, look->list, e == NULL ? look->n : 0,
                                  e == NULL ? look->count : 0, e);
}

/* Compares the task with every one that is kept. */
static int memories_scan(struct store *store, struct memories_look_call *look,
                         struct memory_finding *ret, struct err *e)
{
    static const struct db_sql sql = {
        "SELECT key, q, embedding FROM memories WHERE agent=?1 AND user=?2"};
    sqlite3_stmt *s = db_ask(&store->db, &sql, e, DB_TEXT(look->agent), DB_TEXT(look->user));
    int got = s == NULL ? -1 : 0;
    while (s != NULL && (got = db_step(&store->db, s, e)) > 0) {
        look->count++;
        if (sqlite3_column_bytes(s, 2) != EMBED_DIM)
            continue;
        float similarity = embed_cosine(look->query, sqlite3_column_blob(s, 2));
        memory_find_add(ret, db_number(s, 0), (double)db_number(s, 1) / MEMORIES_Q_SCALE,
                        (double)similarity);
    }
    return got;
}

static int memories_apply_recall(struct store *store, struct store_call *call, struct err *e)
{
    static const struct db_sql sql = {"SELECT " MEMORIES_COLUMNS " FROM memories WHERE key=?1"};
    struct memories_look_call *look = CONTAINER_OF(call, struct memories_look_call, call);
    struct memory_finding finding = {.n = 0};
    look->n = 0;
    look->count = 0;
    if (memories_scan(store, look, &finding, e) < 0)
        return -1;
    size_t n = memory_find_end(&finding);
    for (size_t i = 0; i < n; i++) {
        sqlite3_stmt *s;
        int got = db_first(&store->db, &sql, &s, e, DB_NUMBER(finding.nearest[i].key));
        if (got < 0)
            return -1;
        if (got == 0)
            continue;
        struct store_memory *row = &look->list[look->n++];
        memories_read(s, &call->memory, row);
        row->similarity = finding.nearest[i].similarity;
        row->score = finding.nearest[i].score;
        sqlite3_reset(s);
    }
    return 0;
}

static const struct call_type memories_recall_type = {
    .apply = memories_apply_recall, .deliver = memories_deliver_list, .is_read = true};

struct store_call *store_recall(struct store *store, const char *agent, const char *user,
                                const char *query, store_memories_fn fn, void *context)
{
    struct memories_look_call *look =
        memories_look_new(store, &memories_recall_type, agent, user, MEMORY_RESULTS);
    embed_text(query, strlen(query), look->query);
    return call_ask(&look->call, (void *)fn, context);
}

static int memories_apply_list(struct store *store, struct store_call *call, struct err *e)
{
    static const struct db_sql count = {"SELECT count(*) FROM memories WHERE"
                                        " (?1 IS NULL OR agent=?1) AND (?2 IS NULL OR user=?2)"},
                               sql = {"SELECT " MEMORIES_COLUMNS " FROM memories WHERE"
                                      " (?1 IS NULL OR agent=?1) AND (?2 IS NULL OR user=?2)"
                                      " ORDER BY updated_ms DESC, key DESC LIMIT ?3 OFFSET ?4"};
    struct memories_look_call *look = CONTAINER_OF(call, struct memories_look_call, call);
    sqlite3_stmt *s;
    look->n = 0;
    if (db_first(&store->db, &count, &s, e, DB_TEXT(look->agent), DB_TEXT(look->user)) < 0)
        return -1;
    look->count = db_number(s, 0);
    sqlite3_reset(s);
    s = db_ask(&store->db, &sql, e, DB_TEXT(look->agent), DB_TEXT(look->user),
               DB_NUMBER(look->limit), DB_NUMBER(look->offset));
    int got = s == NULL ? -1 : 0;
    while (s != NULL && (got = db_step(&store->db, s, e)) > 0)
        memories_read(s, &call->memory, &look->list[look->n++]);
    return got;
}

static const struct call_type memories_list_type = {
    .apply = memories_apply_list, .deliver = memories_deliver_list, .is_read = true};

struct store_call *store_list_memories(struct store *store, const char *agent, const char *user,
                                       uint64_t offset, uint32_t limit, store_memories_fn fn,
                                       void *context)
{
    limit = MIN(limit, (uint32_t)STORE_PAGE_MAX);
    struct memories_look_call *look =
        memories_look_new(store, &memories_list_type, agent, user, limit);
    look->offset = offset;
    look->limit = limit;
    return call_ask(&look->call, (void *)fn, context);
}

/* ---- forgetting ------------------------------------------------------------------------------ */

struct memories_forget_call {
    struct store_call call;
    const char *agent, *user, *id; /* NULL for all */
    uint64_t n;
};

static int memories_apply_forget(struct store *store, struct store_call *call, struct err *e)
{
    static const struct db_sql sql = {
        "DELETE FROM memories WHERE (?1 IS NULL OR agent=?1) AND (?2 IS NULL OR user=?2)"
        " AND (?3 IS NULL OR id=?3)"};
    struct memories_forget_call *gone = CONTAINER_OF(call, struct memories_forget_call, call);
    if (db_do(&store->db, &sql, e, DB_TEXT(gone->agent), DB_TEXT(gone->user), DB_TEXT(gone->id)) <
        0)
        return -1;
    gone->n = (uint64_t)sqlite3_changes(store->db.handle);
    return 0;
}

static void memories_deliver_forgotten(struct store_call *call, const struct err *e)
{
    struct memories_forget_call *gone = CONTAINER_OF(call, struct memories_forget_call, call);
    ((store_forgotten_fn)call->fn)(call->context, gone->n, e);
}

static const struct call_type memories_forget_type = {.apply = memories_apply_forget,
                                                      .deliver = memories_deliver_forgotten,
                                                      .is_write = true,
                                                      .needs_disk = true};

struct store_call *store_delete_memories(struct store *store, const char *agent, const char *user,
                                         const char *id, store_forgotten_fn fn, void *context,
                                         struct err *e)
{
    struct memories_forget_call *gone = call_new(store, &memories_forget_type, sizeof(*gone), NULL);
    struct arena *memory = &gone->call.memory;
    gone->agent = memories_copy(memory, agent);
    gone->user = memories_copy(memory, user);
    gone->id = memories_copy(memory, id);
    gone->call.fn = (void *)fn;
    gone->call.context = context;
    gone->call.is_awaited = true;
    return call_queue(&gone->call, e) < 0 ? NULL : &gone->call;
}
