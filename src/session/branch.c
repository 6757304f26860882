/* Branches, in the daemon. Owns session->branches. */
#include "session/branch.h"

#include "base/clock.h"
#include "jail/warden.h"
#include "loop/loop.h"
#include "runtime/pool.h"
#include "session/engine_state.h"
#include "session/restore.h"
#include "session/session.h"
#include "session/tickets.h"
#include "session/trial.h"

#include <errno.h>

/* All that are made by one call. */
struct branching {
    struct list node;       /* of its source; empty once it has begun */
    struct session *source; /* NULL once it is over */
    uint64_t at;
    char manifest[TIMELINE_HASH_SIZE];
    unsigned n_wanted, n_open;
    struct session *sessions[BRANCH_MAX]; /* that live */
    size_t n_sessions;
    char trouble[256];
    const struct branch_listener *listener; /* NULL if nobody waits */
    void *context;
};

/* One of them while it is made. */
struct branch {
    struct branching *all;
    struct session *session;
    uint64_t ticket; /* of the order under way */
    int key;         /* to its room; -1: none */
};

void branching_forget(struct branching *branching)
{
    branching->listener = NULL;
}

/* ---- the end --------------------------------------------------------------------------------- */

static void branch_finish(struct branching *all)
{
    const struct branch_listener *listener = all->listener;
    if (listener != NULL && all->n_sessions > 0) {
        listener->on_branched(all->context, all->at, all->sessions, all->n_sessions,
                              all->trouble[0] != '\0' ? all->trouble : NULL);
    } else if (listener != NULL) {
        struct err e;
        err_set(&e, ERR_UNAVAILABLE, "no branch could be made: %s", all->trouble);
        err_advise(&e, "Look at GET …/checkpoints for one that can be restored, or try again.");
        listener->on_failed(all->context, &e);
    }
    list_remove(&all->node);
    free(all);
}

static void branch_free(struct branch *branch)
{
    struct session *session = branch->session;
    if (branch->ticket != 0)
        tickets_forget(session->engine, branch->ticket);
    if (branch->key >= 0)
        close(branch->key);
    session->branches.own = NULL;
    free(branch);
}

/* One has started, or never will. */
static void branch_on_started(void *context, struct session *session)
{
    struct branching *all = context;
    if (session->state == SESSION_DEAD) {
        snprintf(all->trouble, sizeof(all->trouble), "%.250s", session->death.message);
        session->settling.is_discarded = true; /* its id was never told to anybody */
    } else {
        all->sessions[all->n_sessions++] = session;
    }
    if (--all->n_open == 0)
        branch_finish(all);
}

static void branch_give_up(struct branch *branch, const char *why)
{
    struct session *session = branch->session;
    session->ending.wish = DEATH_BY_REFUSAL;
    snprintf(session->end.detail, sizeof(session->end.detail), "%.250s", why);
    session->ending.detail = session->end.detail;
    branch_free(branch);
    session_conclude(session);
}

void branching_end(struct session *session)
{
    if (session->branches.own != NULL)
        branch_free(session->branches.own);
    LIST_EACH(&session->branches.ordered, node) {
        struct branching *all = CONTAINER_OF(node, struct branching, node);
        all->source = NULL;
        snprintf(all->trouble, sizeof(all->trouble), "the session ended meanwhile");
        if (all->n_open == 0)
            branch_finish(all);
        else
            list_remove(&all->node);
    }
}

/* ---- one branch ------------------------------------------------------------------------------ */

static void branch_wake(struct branch *branch)
{
    struct err e;
    struct session *session = branch->session, *source = branch->all->source;
    /* The checkpoint, or its process, may have gone since the room was ordered. */
    const struct checkpoint *at = source != NULL ? timeline_find(source, branch->all->at) : NULL;
    struct snapshot *snapshot = at != NULL ? at->snapshot : NULL;
    if (snapshot == NULL) {
        branch_give_up(branch, "the checkpoint was lost meanwhile");
        return;
    }
    if (pool_wake_in(session->engine->pool, snapshot, session->room, take_fd(&branch->key),
                     session->engine->hooks->head, session, &session->head, &e) < 0)
        branch_give_up(branch, e.message);
    else
        branch_free(branch); /* its interpreter tells the rest */
}

static void branch_on_files(void *context, const struct warden_event *event)
{
    struct branch *branch = context;
    (void)event; /* what could not be copied is missing there, as if it had been deleted */
    branch->ticket = 0;
    branch_wake(branch);
}

static void branch_on_room(void *context, const struct warden_event *event)
{
    struct err e;
    struct branch *branch = context;
    struct session *session = branch->session;
    const char *manifest = branch->all->manifest;
    if (event->type == WARDEN_REFUSED) {
        session->room->is_known = false;
        branch_give_up(branch, event->text);
    }
    if (event->type != WARDEN_ROOM)
        return;
    branch->key = event->fd;
    tickets_forget(session->engine, branch->ticket);
    branch->ticket = 0;
    if (manifest[0] == '\0') {
        branch_wake(branch);
        return;
    }
    branch->ticket = pool_new_number(session->engine->pool);
    tickets_expect(session->engine, branch->ticket, WARDEN_RESTORED, branch_on_files, branch);
    if (warden_restore(session->engine->warden, branch->ticket, session->room->name, manifest, &e) <
        0)
        branch_give_up(branch, e.message);
}

/* Another like the source. */
static struct session_request branch_request_of(struct branching *all)
{
    const struct session *source = all->source;
    const struct handed_tools *tools = source->handed.tools;
    return (struct session_request){.runtime = source->runtime,
                                    .profile = source->profile,
                                    .limits = &source->limits,
                                    .agent = source->agent,
                                    .binding = source->binding,
                                    .person = source->person,
                                    .labels = source->labels,
                                    .cwd = source->cwd,
                                    .env = source->env,
                                    .max_output_bytes = source->rings[OUTPUT_STDOUT].max,
                                    .idle_timeout_secs = &source->life.idle_timeout_secs,
                                    .max_age_secs = &source->life.max_age_secs,
                                    .usual = source->usual,
                                    .checkpoints = source->timeline.mode,
                                    .durable = source->saving.mode,
                                    .explores = source->exploring.is_on,
                                    .tools = tools != NULL ? tools->list : NULL,
                                    .tool_deadline_ms = tools != NULL ? tools->deadline_ms : 0,
                                    .exit_ends = source->exit_ends,
                                    .on_started = branch_on_started,
                                    .context = all};
}

static int branch_begin_one(struct branching *all, struct err *e)
{
    struct session *source = all->source;
    struct engine *engine = source->engine;
    struct session_request request = branch_request_of(all);
    struct branch *branch = mem_alloc(sizeof(*branch));
    *branch = (struct branch){.all = all, .key = -1};
    if (session_make_branch(engine, source, &request, &branch->session, e) < 0) {
        free(branch);
        return -1;
    }
    struct session *session = branch->session;
    const char *explored = timeline_explored_at(source, timeline_find(source, all->at));
    timeline_amend_explored(session, NULL, explored);
    exploring_go_to(session, explored);
    session->branches.own = branch;
    all->n_open++;
    branch->ticket = session->room->jail;
    tickets_expect_all(engine, branch->ticket, branch_on_room, branch);
    if (warden_make_room(engine->warden, source->room->jail, session->room->jail,
                         session->room->name, &session->limits, e) == 0) {
        session->room->is_known = true;
        return 0;
    }
    branch_give_up(branch, e->message);
    return 0;
}

/* ---- one branch of a saved state ------------------------------------------------------------- */

static void branch_on_restored(void *context, const struct restore_report *report)
{
    struct session *session = context;
    (void)report;
    session_tell_starter(session);
}

static void branch_on_not_restored(void *context, const struct err *e)
{
    struct session *session = context;
    session->ending.wish = DEATH_UNWISHED;
    session_note_ending(session, DEATH_BY_REFUSAL, e->message);
    session_conclude(session);
}

static const struct restore_listener branch_saved_listener = {.on_restored = branch_on_restored,
                                                              .on_failed = branch_on_not_restored};

/* Its state becomes the first checkpoint of a session that is brought back at once. */
static int branch_begin_saved(struct branching *all, struct err *e)
{
    struct session *source = all->source;
    struct engine *engine = source->engine;
    struct session_request request = branch_request_of(all);
    char id[UUID_SIZE];
    uint64_t first = 1;
    ids_uuid(id);
    struct session *session = session_make_suspended(engine, id, &request, e);
    if (session == NULL)
        return -1;
    memcpy(session->branches.from, source->id, sizeof(session->branches.from));
    session->life.spawned_at_us = clock_wall_us();
    session->life.suspended_at_ms = session->life.spawned_at_us / 1000;
    timeline_add_saved(session, first, 0, all->manifest);
    saving_know(session);
    all->n_open++;
    if (store_copy_state(engine->store, source->id, all->at, id, first, e) == 0 &&
        session_undo(session, &first, &branch_saved_listener, session, e) == 0)
        return 0;
    branch_on_not_restored(session, e);
    return 0;
}

/* ---- all of them ----------------------------------------------------------------------------- */

static bool branch_is_asleep(const struct checkpoint *checkpoint)
{
    return checkpoint->snapshot != NULL && checkpoint->snapshot->state == SNAPSHOT_ASLEEP;
}

static void branch_begin_all(struct branching *all, const struct checkpoint *checkpoint)
{
    struct err e;
    all->at = checkpoint->id;
    memcpy(all->manifest, checkpoint->manifest, sizeof(all->manifest));
    all->n_open = 1; /* until all have begun */
    for (unsigned i = 0; i < all->n_wanted; i++) {
        if ((branch_is_asleep(checkpoint) ? branch_begin_one : branch_begin_saved)(all, &e) == 0)
            continue;
        snprintf(all->trouble, sizeof(all->trouble), "%.250s", e.message);
        break;
    }
    if (--all->n_open == 0)
        branch_finish(all);
}

void branching_begin(struct session *session)
{
    LIST_EACH(&session->branches.ordered, node) {
        struct branching *all = CONTAINER_OF(node, struct branching, node);
        struct checkpoint *tip = session->timeline.current;
        if (all->n_open > 0 || all->n_sessions > 0)
            continue;
        if (timeline_is_due(session) || tip == NULL || !timeline_is_settled(tip))
            return;
        if (tip->snapshot != NULL || tip->is_saved) {
            branch_begin_all(all, tip);
        } else {
            snprintf(all->trouble, sizeof(all->trouble), "%s", tip->reason);
            branch_finish(all);
        }
    }
}

static int branch_find_checkpoint(struct session *session, uint64_t at, struct checkpoint **ret,
                                  struct err *e)
{
    *ret = timeline_find(session, at);
    if (*ret == NULL) {
        err_set(e, ERR_NOT_FOUND, "the session has no checkpoint %llu to branch from",
                (unsigned long long)at);
        return err_advise(e, "GET …/checkpoints lists those that are kept.");
    }
    if (branch_is_asleep(*ret) || (*ret)->is_saved)
        return 0;
    err_set(e, ERR_CONFLICT, "checkpoint %llu cannot be branched: %s", (unsigned long long)at,
            (*ret)->reason);
    return err_advise(e, "GET …/checkpoints lists those that can be restored.");
}

static int branch_refuse(const struct session *session, bool has_at, struct err *e)
{
    if (!timeline_has_checkpoints(session)) {
        err_set(e, ERR_CONFLICT, "this session has no checkpoints");
        return err_advise(e, "Create a Python or bash session with \"checkpoints\": \"auto\".");
    }
    bool is_at_rest = session->state == SESSION_IDLE || session->state == SESSION_SUSPENDED ||
                      session_is_settling(session);
    if (has_at || (is_at_rest && session->restore == NULL))
        return 0;
    err_set(e, ERR_CONFLICT, "the session is busy");
    return err_advise(e, "Wait for its cell, or name a checkpoint to branch \"at\".");
}

int session_branch(struct session *session, const uint64_t *at, unsigned count,
                   const struct branch_listener *listener, void *context,
                   struct branching **ret_branching, struct err *e)
{
    struct checkpoint *checkpoint = NULL;
    session_restart_idle(session);
    if (branch_refuse(session, at != NULL, e) < 0 ||
        (at != NULL && branch_find_checkpoint(session, *at, &checkpoint, e) < 0))
        return -1;
    if (session->state == SESSION_SUSPENDED && checkpoint == NULL)
        checkpoint = session->timeline.current;
    bool is_settling = session_is_settling(session);
    if (checkpoint == NULL && is_settling)
        session->pace.keeps_now = true; /* a checkpoint, as soon as the session is idle */
    else if (checkpoint == NULL)
        timeline_take(session);
    if (checkpoint == NULL && !is_settling && session->timeline.current == NULL) {
        err_set(e, ERR_CONFLICT, "nothing has run yet: there is nothing to branch from");
        return err_advise(e, "Create another session instead.");
    }
    struct branching *all = mem_alloc(sizeof(*all));
    *all = (struct branching){
        .source = session, .n_wanted = count, .listener = listener, .context = context};
    list_append(&session->branches.ordered, &all->node);
    *ret_branching = all;
    if (checkpoint != NULL)
        branch_begin_all(all, checkpoint);
    else
        session_changed(session);
    return 0;
}
