/* The durable copy, in the daemon. Owns session->saving. */
#include "session/saving.h"

#include "base/channel.h"
#include "base/clock.h"
#include "loop/loop.h"
#include "runtime/pool.h"
#include "session/engine_state.h"
#include "session/exec.h"
#include "session/line.h"
#include "session/restore.h"
#include "session/session.h"
#include "session/spec.h"
#include "session/tickets.h"
#include "session/wait.h"
#include "wire/json.h"

#include <assert.h>
#include <errno.h>
#include <signal.h>

enum {
    DEADLINE_MS = 120 * 1000, /* of one save */
    PAUSE_FACTOR = 4,         /* a save that took long is not repeated before that much more */
    STATES_KEPT = 1,          /* beside those that the history names */
    SAVING_LOST_MAX = 100,    /* in one answer */
    KEPT_MAX = 256,
};

const char *const saving_modes[] = {"auto", "off", NULL};

void saving_init(struct session *session, enum saving_mode mode)
{
    session->saving = (struct saving){.mode = mode, .sock = -1};
    list_init(&session->saving.node);
    turn_init(&session->saving.turn, session);
}

bool saving_is_on(const struct session *session)
{
    return session->saving.mode == SAVING_AUTO && session->engine->store != NULL;
}

bool saving_is_under_way(const struct session *session)
{
    return session->saving.state != SAVING_NONE;
}

static void saving_move(struct saving *saving, enum saving_state to)
{
    static const bool is_legal[][SAVING_STORING + 1] = {
        [SAVING_NONE] = {[SAVING_FILES] = true, [SAVING_FORKING] = true},
        [SAVING_FILES] = {[SAVING_FORKING] = true},
        [SAVING_FORKING] = {[SAVING_INGESTING] = true},
        [SAVING_INGESTING] = {[SAVING_STORING] = true},
        [SAVING_STORING] = {0},
    };
    assert(to == SAVING_NONE || is_legal[saving->state][to]);
    saving->state = to;
}

/* ---- the row --------------------------------------------------------------------------------- */

/* The row that says how to make the session again. */
static int saving_put_row(struct session *session, struct err *e)
{
    _free_ char *spec = spec_write(session);
    _free_ char *line = line_write(session);
    struct store_session row = {.id = session->id,
                                .spec = spec,
                                .line = line,
                                .created_ms = session->life.spawned_at_us / 1000,
                                .used_ms = clock_wall_ms(),
                                .n_execs = session->n_execs,
                                .n_checkpoints = session->timeline.last_id};
    if (store_put_session(session->engine->store, &row, e) < 0)
        return -1;
    session->saving.has_row = true;
    return 0;
}

void saving_know(struct session *session)
{
    struct err ignored; /* what was saved before is there */
    saving_put_row(session, &ignored);
}

/* ---- when ------------------------------------------------------------------------------------ */

static void saving_on_due(void *context)
{
    struct engine *engine = context;
    uint64_t now_ms = clock_mono_ms(), next_ms = UINT64_MAX;
    LIST_EACH(&engine->to_save, node) {
        struct session *session =
            CONTAINER_OF(CONTAINER_OF(node, struct saving, node), struct session, saving);
        if (session->saving.due_ms > now_ms) {
            next_ms = MIN(next_ms, session->saving.due_ms);
            continue;
        }
        list_remove(node);
        session->saving.is_due = true;
        session_changed(session);
    }
    if (next_ms != UINT64_MAX)
        loop_timer_set(engine->saving, next_ms - now_ms);
}

static void saving_schedule(struct session *session, uint64_t in_ms)
{
    struct engine *engine = session->engine;
    struct saving *saving = &session->saving;
    if (saving->is_due || !list_is_empty(&saving->node))
        return;
    if (engine->saving == NULL)
        engine->saving = loop_timer_new(engine->loop, saving_on_due, engine);
    saving->due_ms = clock_mono_ms() + in_ms;
    list_append(&engine->to_save, &saving->node);
    if (!loop_timer_is_set(engine->saving))
        loop_timer_set(engine->saving, in_ms);
}

void saving_add_cell(struct session *session, const struct exec *exec)
{
    if (!saving_is_on(session))
        return;
    session->saving.has_news = true;
    if (exec->is_durable)
        saving_hurry(session);
    else
        saving_schedule(session,
                        MAX((uint64_t)SAVING_AFTER_MS, session->saving.took_ms * PAUSE_FACTOR));
}

void saving_add_news(struct session *session)
{
    session->saving.has_news = true;
    saving_add_file(session);
}

void saving_add_file(struct session *session)
{
    if (saving_is_on(session))
        saving_schedule(session,
                        MAX((uint64_t)SAVING_AFTER_MS, session->saving.took_ms * PAUSE_FACTOR));
}

void saving_hurry(struct session *session)
{
    if (!saving_is_on(session) || saving_is_complete(session))
        return;
    list_remove(&session->saving.node);
    session->saving.is_due = true;
}

bool saving_is_complete(const struct session *session)
{
    return session->saving.through >= session->ended_exec && !session->saving.has_news &&
           !session->saving.looks_again && list_is_empty(&session->files.unsaved);
}

bool saving_is_safe(const struct session *session)
{
    return session->saving.has_row && session->saving.is_current && saving_is_complete(session);
}

void saving_stop(struct engine *engine)
{
    loop_timer_close(take_ptr(engine->saving), NULL);
}

/* ---- the end of one -------------------------------------------------------------------------- */

/* Whoever waits for what is safe now, or for what will not be (`trouble`). */
static void saving_release_held(struct session *session, uint64_t through, const char *trouble)
{
    LIST_EACH(&session->held, node) {
        struct exec *exec = CONTAINER_OF(node, struct exec, kept);
        if (!exec->is_durable || exec->certificate != NULL || exec->id > through)
            continue;
        json_t *lost = session->saving.next_lost;
        if (exec->extra == NULL)
            exec->extra = json_object();
        if (trouble != NULL)
            json_object_set_new(exec->extra, "durable_error", json_string(trouble));
        else if (lost != NULL)
            json_object_set(exec->extra, "not_saved", lost);
        if (trouble == NULL && session->saving.next_files_reason[0] != '\0')
            json_object_set_new(exec->extra, "files_not_saved",
                                json_string(session->saving.next_files_reason));
        wait_release(exec);
    }
}

static void saving_let_go(struct session *session)
{
    struct saving *saving = &session->saving;
    struct err ignored;
    turn_give(&saving->turn);
    loop_poll_close(take_ptr(saving->poll), NULL);
    if (saving->sock >= 0)
        channel_close(take_fd(&saving->sock));
    if (saving->call != NULL)
        store_forget(take_ptr(saving->call));
    if (saving->ticket != 0)
        tickets_forget(session->engine, saving->ticket);
    saving->ticket = 0;
    if (saving->number == 0)
        return;
    warden_signal(session->engine->warden, saving->number, SIGKILL, &ignored);
    tickets_forget(session->engine, saving->number);
    saving->number = 0;
}

/* What the rest of the session makes of it is decided in settle.c. */
static void saving_end(struct session *session, const char *trouble)
{
    struct saving *saving = &session->saving;
    saving_let_go(session);
    saving_move(saving, SAVING_NONE);
    saving->has_ended = true;
    saving->has_succeeded = trouble == NULL;
    saving->took_ms = clock_mono_ms() - saving->began_ms;
    snprintf(saving->trouble, sizeof(saving->trouble), "%s", trouble != NULL ? trouble : "");
    saving_release_held(session, saving->next_through, trouble);
    json_decref(take_ptr(saving->next_lost));
    if (trouble != NULL && session->state != SESSION_DEAD && !saving_is_complete(session))
        saving_schedule(session, SAVING_AFTER_MS + saving->took_ms * PAUSE_FACTOR);
}

/* A session that sends us descriptors would do so with every save. */
static void saving_fail(struct session *session, const struct err *e)
{
    bool is_hostile = e->code == ERR_FORBIDDEN && session->head != NULL;
    saving_end(session, e->message);
    if (is_hostile && session->head != NULL)
        session_kill(session, DEATH_BY_CHANNEL, e->message);
    session_changed(session);
}

/* The newest ones. A checkpoint that has no process either is of no use without its state. */
static void saving_keep_states(struct session *session)
{
    struct err ignored;
    struct timeline *timeline = &session->timeline;
    size_t most = MIN(session->engine->config.checkpoints_kept, (uint32_t)KEPT_MAX), n = 0;
    uint64_t kept[KEPT_MAX + 3]; /* and where it stands, where it goes, the beginning */
    for (struct list *node = timeline->checkpoints.prev; node != &timeline->checkpoints;) {
        struct checkpoint *checkpoint = CONTAINER_OF(node, struct checkpoint, node);
        node = node->prev;
        if (!checkpoint->is_saved)
            continue;
        /* Where the session is on its way to is needed as much as where it stands. */
        bool is_target = session->restore != NULL && checkpoint == session->restore->target;
        if (n < most || checkpoint == timeline->current || is_target) {
            kept[n++] = checkpoint->id;
            continue;
        }
        checkpoint->is_saved = false;
        if (checkpoint->snapshot == NULL)
            timeline_remove(checkpoint);
    }
    if (session->saving.has_beginning)
        kept[n++] = 0;
    store_keep_states(session->engine->store, session->id, kept, n, STATES_KEPT, &ignored);
}

static void saving_on_stored(void *context, const struct err *e)
{
    struct session *session = context;
    struct saving *saving = &session->saving;
    saving->call = NULL;
    if (e == NULL) {
        saving->through = saving->next_through;
        saving->checkpoint = saving->next_checkpoint;
        memcpy(saving->files, saving->next_files, sizeof(saving->files));
        saving->is_current = true;
        saving->has_beginning |= saving->checkpoint == 0;
        json_decref(saving->lost);
        saving->lost = saving->next_lost != NULL ? json_incref(saving->next_lost) : json_array();
        struct checkpoint *saved = timeline_find(session, saving->checkpoint);
        if (saved != NULL)
            saved->is_saved = true;
        saving_keep_states(session);
    }
    saving_end(session, e != NULL ? e->message : NULL);
    session_changed(session);
}

static void saving_on_ingested(void *context, struct store_state *state,
                               const struct store_saved *at, const struct err *e)
{
    struct session *session = context;
    struct saving *saving = &session->saving;
    struct err refused;
    (void)at;
    saving->call = NULL;
    turn_give(&saving->turn); /* its process is done; what is left is the store's */
    if (e != NULL) {
        saving_fail(session, e);
        return;
    }
    saving_move(saving, SAVING_STORING);
    if (saving->has_news && saving_put_row(session, &refused) == 0)
        saving->has_news = false; /* else the store's trouble is told by the save that follows */
    if (state->n_lost > 0) {
        _buf_ struct buf text = BUF_INIT(MIB);
        store_state_put_lost(state, SAVING_LOST_MAX, &text);
        saving->next_lost = json_loadb(buf_str(&text), text.len, 0, NULL);
    }
    struct store_saved place = {.checkpoint = saving->next_checkpoint,
                                .through = saving->next_through};
    memcpy(place.files, saving->next_files, sizeof(place.files));
    memcpy(place.explored, saving->next_explored, sizeof(place.explored));
    if (saving_put_row(session, &refused) == 0)
        saving->call = store_put_state(session->engine->store, session->id, &place, state,
                                       saving_on_stored, session, &refused);
    store_state_unref(state);
    if (saving->call != NULL)
        return;
    saving_end(session, refused.message);
    session_changed(session);
}

/* ---- the stream ------------------------------------------------------------------------------ */

static void saving_ingest(struct session *session)
{
    struct saving *saving = &session->saving;
    struct store_limits limits = {.max_bytes = (uint64_t)session->engine->config.state_mb * MIB,
                                  .deadline_ms = DEADLINE_MS};
    saving_move(saving, SAVING_INGESTING);
    saving->call = store_ingest(session->engine->store, take_fd(&saving->sock), &limits,
                                saving_on_ingested, session);
}

static void saving_on_saver_event(void *context, const struct warden_event *event)
{
    struct session *session = context;
    if (event->type == WARDEN_ENTERED) {
        saving_ingest(session);
    } else if (event->type == WARDEN_REFUSED) {
        saving_end(session, event->text);
        session_changed(session);
    }
}

/* Its first byte tells the warden who it is; an interpreter that saves by itself is known. */
static void saving_on_first_byte(void *context, int events)
{
    struct session *session = context;
    struct saving *saving = &session->saving;
    struct err e;
    char byte;
    (void)events;
    bool is_other = saving->number != 0;
    ssize_t n = is_other ? channel_peek(saving->sock) : channel_recv(saving->sock, &byte, 1, NULL);
    if (n == -EAGAIN)
        return;
    loop_poll_close(take_ptr(saving->poll), NULL);
    if (n != 1) {
        saving_end(session, "the process that saves the state ended before it sent anything");
        session_changed(session);
    } else if (!is_other) {
        saving_ingest(session);
    } else {
        tickets_expect_all(session->engine, saving->number, saving_on_saver_event, session);
        if (warden_adopt(session->engine->warden, session->room->jail, saving->number, WARDEN_SAVER,
                         saving->sock, &e) < 0)
            saving_fail(session, &e);
    }
}

static void saving_open_stream(struct session *session)
{
    struct saving *saving = &session->saving;
    struct err e;
    int socks[2];
    saving_move(saving, SAVING_FORKING);
    if (head_socketpair(socks, &e) < 0) {
        saving_end(session, e.message);
        return;
    }
    saving->sock = socks[0];
    /* Node.js cannot be forked: it writes its state itself. */
    bool forks = session->runtime != &runtime_node;
    saving->number = forks ? pool_new_number(session->engine->pool) : 0;
    struct checkpoint *current = session->timeline.current;
    bool sleeps = timeline_has_checkpoints(session) && current != NULL && current->snapshot != NULL;
    struct head_save save = {.id = saving->next_through,
                             .format = HEAD_SAVE_STATE,
                             .max_bytes = (uint64_t)session->engine->config.state_mb * MIB};
    if ((sleeps ? snapshot_save(current->snapshot, &save, socks[1], &e)
                : head_save(session->head, &save, socks[1], &e)) < 0) {
        saving->number = 0;
        saving_end(session, e.message);
        return;
    }
    saving->poll =
        loop_poll_read(session->engine->loop, saving->sock, saving_on_first_byte, session);
    if (saving->poll == NULL)
        saving_end(session, "the state could not be saved: its socket cannot be watched");
}

/* ---- the beginning of one -------------------------------------------------------------------- */

static void saving_on_recorded(void *context, const struct warden_event *event)
{
    struct session *session = context;
    struct err e;
    _json_ json_t *answer = NULL;
    session->saving.ticket = 0;
    const char *manifest = NULL;
    if (json_read_object(event->text, strlen(event->text), &answer, &e) == 0)
        manifest = json_string_value(json_object_get(answer, "manifest"));
    const char *reason = json_string_value(json_object_get(answer, "reason"));
    if (manifest != NULL && strlen(manifest) == STORE_HASH_SIZE - 1)
        memcpy(session->saving.next_files, manifest, STORE_HASH_SIZE);
    else
        snprintf(session->saving.next_files_reason, sizeof(session->saving.next_files_reason), "%s",
                 reason != NULL ? reason : "the files could not be read");
    bool is_at_rest = session->head != NULL && session->head->state == HEAD_IDLE;
    if (is_at_rest && session->saving.next_files[0] != '\0')
        background_note(session, session->saving.next_files);
    session->saving.looks_again &= !is_at_rest;
    if (!is_at_rest)
        saving_end(session, "the session went on before it could be saved");
    else if (saving_is_safe(session) &&
             strcmp(session->saving.files, session->saving.next_files) == 0)
        saving_end(session, NULL); /* nothing is new */
    else
        saving_open_stream(session);
    session_changed(session);
}

void saving_begin(struct session *session)
{
    struct saving *saving = &session->saving;
    const struct checkpoint *current = session->timeline.current;
    saving->is_due = false;
    saving->began_ms = clock_mono_ms();
    saving->next_through = session->ended_exec;
    saving->next_files[0] = saving->next_files_reason[0] = '\0';
    snprintf(saving->next_explored, sizeof(saving->next_explored), "%s",
             timeline_explored_at(session, session->timeline.current));
    bool has_checkpoints = timeline_has_checkpoints(session);
    saving->next_checkpoint = !has_checkpoints  ? saving->next_through
                              : current != NULL ? current->id
                                                : 0;
    /* What the checkpoint could not see of the files, or saw while they changed, is looked at
     * again: the session rests. */
    bool is_covered = has_checkpoints && current != NULL && current->files == FILES_COVERED;
    if (is_covered && !session->life.wants_rest) {
        memcpy(saving->next_files, current->manifest, sizeof(saving->next_files));
        saving_open_stream(session);
        return;
    }
    struct err e;
    saving_move(saving, SAVING_FILES);
    saving->ticket = pool_new_number(session->engine->pool);
    tickets_expect(session->engine, saving->ticket, WARDEN_RECORDED, saving_on_recorded, session);
    struct archive_budget budget = timeline_budget(session);
    if (warden_record(session->engine->warden, saving->ticket, session->room->name,
                      session->timeline.base, &budget, &e) < 0)
        saving_end(session, e.message);
}

/* The checkpoint of the present state is complete, or there are none. While a cell runs, the one
 * before it can be saved from its sleeping copy. */
static bool saving_is_ready(const struct session *session)
{
    const struct checkpoint *current = session->timeline.current;
    bool is_idle = session->state == SESSION_IDLE && session->head->state == HEAD_IDLE;
    if ((!is_idle && session->state != SESSION_BUSY) || session->restore != NULL)
        return false;
    if (!timeline_has_checkpoints(session))
        return is_idle;
    if (timeline_is_due(session))
        return false;
    if (current == NULL) /* nothing has run: there are the files that callers put */
        return is_idle;
    if (!timeline_is_settled(current))
        return false;
    return is_idle || (current->snapshot != NULL && current->files == FILES_COVERED);
}

bool saving_is_to_begin(struct session *session)
{
    struct saving *saving = &session->saving;
    if (!saving->is_due || saving_is_under_way(session) || !saving_is_ready(session))
        return false;
    saving->is_due = !saving_is_complete(session);
    return saving->is_due;
}

enum turns_lane saving_lane(struct session *session)
{
    struct turn *turn = &session->saving.turn;
    bool is_awaited = false;
    LIST_EACH(&session->held, node)
        is_awaited |= CONTAINER_OF(node, struct exec, kept)->is_durable;
    if (!turn_is_slow(turn))
        return is_awaited ? TURNS_AWAITED : TURNS_SAVES;
    turn->is_first |= is_awaited;
    return TURNS_SLOW;
}

void saving_put_off(struct session *session)
{
    struct saving *saving = &session->saving;
    saving_let_go(session);
    saving_move(saving, SAVING_NONE);
    json_decref(take_ptr(saving->next_lost));
    saving->has_ended = saving->is_due = true;
    saving->has_succeeded = false;
}

void saving_on_restored(struct session *session)
{
    struct saving *saving = &session->saving;
    const struct checkpoint *current = session->timeline.current, *saved = current;
    if (saving_is_under_way(session))
        saving_end(session, "the session went back to an earlier checkpoint meanwhile");
    session->ended_exec = current != NULL ? current->last_cell : 0;
    if (!saving_is_on(session) || !saving->has_row)
        return;
    while (saved != NULL && !saved->is_saved)
        saved = saved->parent;
    /* What is safe is the nearest saved state of the present line, if there is one. */
    struct err ignored; /* the store's trouble is told by the save that follows */
    saving->is_current = saved != NULL;
    saving->through = saved != NULL ? saved->last_cell : 0;
    saving->checkpoint = saved != NULL ? saved->id : 0;
    saving->has_beginning &= saved != NULL;
    snprintf(saving->files, sizeof(saving->files), "%s", saved != NULL ? saved->manifest : "");
    store_resume_from(session->engine->store, session->id, saving->checkpoint, &ignored);
    saving_put_row(session, &ignored);
    if (current == NULL || !current->is_saved)
        saving_schedule(session, SAVING_AFTER_MS);
}

void saving_on_resumed(struct session *session)
{
    if (saving_is_on(session) && !saving_is_complete(session))
        saving_schedule(session, SAVING_AFTER_MS);
}

bool saving_is_resumable(const struct session *session)
{
    return session->saving.has_row && session->saving.is_current;
}

void saving_abort(struct session *session, const char *why)
{
    session->saving.is_due = false; /* none begins where one ends */
    if (saving_is_under_way(session))
        saving_end(session, why);
    turn_give(&session->saving.turn);
    list_remove(&session->saving.node);
    saving_release_held(session, UINT64_MAX, why);
    /* What ran since is gone with its processes. */
    session->ended_exec = session->saving.through;
    session->saving.has_news = false;
}

void saving_drop(struct session *session)
{
    struct err ignored;
    if (!session->saving.has_row || session->engine->store == NULL)
        return;
    store_delete_session(session->engine->store, session->id, &ignored);
    if (session->room == NULL) /* else the files go with the jail */
        warden_remove_workspace(session->engine->warden, session->id, &ignored);
    session->saving.has_row = false;
}

void saving_free(struct session *session)
{
    struct saving *saving = &session->saving;
    list_remove(&saving->node);
    turn_give(&saving->turn);
    if (saving->state != SAVING_NONE)
        saving_let_go(session);
    saving_move(saving, SAVING_NONE);
    saving->is_due = false;
    saving_release_held(session, UINT64_MAX, "the session ended before its state was safe");
    json_decref(take_ptr(saving->next_lost));
    json_decref(take_ptr(saving->lost));
    saving->has_news = false;
}
