/* Tries, in the daemon. Owns session->trial. */
#include "session/trial.h"

#include "jail/files/manifest.h"
#include "session/engine_state.h"
#include "session/exec.h"
#include "session/wait.h"
#include "wire/json.h"

enum { PATHS_MAX = 1000 }; /* of each kind in an answer */

int trial_refuse_others(const struct session *session, struct err *e)
{
    if (session->trial.id == 0)
        return 0;
    err_set(e, ERR_CONFLICT, "try %llu is not decided yet", (unsigned long long)session->trial.id);
    return err_advise(e, "Keep it with POST …/tries/%llu/commit or take it back with …/discard.",
                      (unsigned long long)session->trial.id);
}

int trial_refuse_without(const struct session *session, struct err *e)
{
    if (timeline_has_checkpoints(session))
        return 0;
    err_set(e, ERR_CONFLICT, "a session without checkpoints cannot try");
    return err_advise(e, "Create a Python or bash session with \"checkpoints\": \"auto\".");
}

void trial_begin(struct session *session, uint64_t exec_id)
{
    const struct checkpoint *current = session->timeline.current;
    session->trial = (struct trial){.id = exec_id,
                                    .before = current != NULL ? current->id : 0,
                                    .has_files = current == NULL || current->manifest[0] != '\0'};
    if (current != NULL)
        memcpy(session->trial.files, current->manifest, sizeof(session->trial.files));
}

void trial_drop(struct session *session)
{
    session->trial = (struct trial){0};
}

/* ---- what changed ---------------------------------------------------------------------------- */

struct trial_changes {
    json_t *lists[3]; /* by enum manifest_change */
    bool is_cut;
};

static void trial_add_change(void *context, enum manifest_change change,
                             const struct manifest_entry *entry)
{
    struct trial_changes *changes = context;
    if (json_array_size(changes->lists[change]) >= PATHS_MAX) {
        changes->is_cut = true;
        return;
    }
    json_t *path = json_stringn(entry->path, entry->path_len);
    json_array_append_new(changes->lists[change], path != NULL ? path : json_string("(no UTF-8)"));
}

static struct manifest *trial_load(const struct session *session, const char *hex)
{
    struct err e;
    struct blob_hash hash;
    struct manifest *manifest = NULL;
    if (blob_parse_hex(hex, &hash) < 0 ||
        manifest_load(session->engine->blobs, &hash, &manifest, &e) < 0)
        return NULL;
    return manifest;
}

/* What changed since the manifest `before`, "" if there was nothing. NULL if that cannot be told.
 */
static json_t *trial_describe_files(const struct session *session, const char *before,
                                    const struct checkpoint *tip)
{
    struct manifest *old = before[0] != '\0' ? trial_load(session, before) : NULL;
    struct manifest *new = tip->manifest[0] != '\0' ? trial_load(session, tip->manifest) : NULL;
    bool is_known = (old != NULL || before[0] == '\0') && new != NULL;
    json_t *files = NULL;
    if (is_known) {
        struct trial_changes changes = {.lists = {json_array(), json_array(), json_array()}};
        manifest_diff(old, new, trial_add_change, &changes);
        static const char *const kinds[] = {[MANIFEST_CREATED] = "added",
                                            [MANIFEST_CHANGED] = "changed",
                                            [MANIFEST_DELETED] = "removed"};
        files = json_object();
        for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
            if (json_array_size(changes.lists[i]) > 0)
                json_object_set_new(files, kinds[i], changes.lists[i]);
            else
                json_decref(changes.lists[i]);
        if (changes.is_cut)
            json_object_set_new(files, "more", json_true());
    }
    manifest_free(old);
    manifest_free(new);
    return files;
}

/* The reference is taken; NULL if not known. */
static void trial_tell_files(struct exec *exec, json_t *files)
{
    if (exec->extra == NULL)
        exec->extra = json_object();
    if (files == NULL)
        json_object_set_new(exec->extra, "files_unknown", json_true());
    else if (json_object_size(files) > 0)
        json_object_set(exec->extra, "files", files);
    json_decref(files);
}

static struct exec *trial_find_held(const struct session *session)
{
    LIST_EACH(&session->held, node) {
        struct exec *exec = CONTAINER_OF(node, struct exec, kept);
        if (exec->id == session->trial.id && exec->certificate == NULL)
            return exec;
    }
    return NULL;
}

void trial_answer(struct session *session)
{
    const struct checkpoint *tip = session->timeline.current;
    if (session->trial.id == 0 || session->restore != NULL || tip == NULL ||
        timeline_is_due(session) || !timeline_is_settled(tip))
        return;
    struct exec *exec = trial_find_held(session);
    if (exec == NULL)
        return;
    if (exec->extra == NULL)
        exec->extra = json_object();
    const struct trial *trial = &session->trial;
    json_object_set_new(exec->extra, "try_id", json_integer((json_int_t)exec->id));
    trial_tell_files(exec,
                     trial->has_files ? trial_describe_files(session, trial->files, tip) : NULL);
    wait_release(exec);
}

/* ---- the files of any cell ------------------------------------------------------------------- */

void trial_watch_files(struct exec *exec)
{
    const struct checkpoint *current = exec->session->timeline.current;
    exec->knows_files = current == NULL || current->manifest[0] != '\0';
    if (current != NULL)
        snprintf(exec->files_before, sizeof(exec->files_before), "%s", current->manifest);
}

void trial_answer_files(struct session *session)
{
    LIST_EACH(&session->held, node) {
        struct exec *exec = CONTAINER_OF(node, struct exec, kept);
        const struct checkpoint *own = timeline_find(session, exec->checkpoint);
        /* The cell's own checkpoint has its files, or will never have them. */
        bool has_files = own != NULL ? timeline_is_settled(own) : !timeline_is_due(session);
        if (!exec->wants_files || exec->certificate != NULL || session->restore != NULL ||
            !has_files)
            continue;
        exec->wants_files = false;
        session->n_files_wanted--;
        bool is_known = own != NULL && exec->knows_files;
        trial_tell_files(exec,
                         is_known ? trial_describe_files(session, exec->files_before, own) : NULL);
        if (!exec->is_durable)
            wait_release(exec);
    }
}

/* ---- the decision ---------------------------------------------------------------------------- */

int trial_find(struct session *session, uint64_t try_id, struct err *e)
{
    if (session_refuse_if_dead(session, e) < 0)
        return -1;
    if (session->trial.id != try_id || try_id == 0) {
        err_set(e, ERR_NOT_FOUND, "there is no try %llu to decide on", (unsigned long long)try_id);
        return err_advise(e, "POST …/try runs one; it is decided once.");
    }
    if (session->running == NULL && trial_find_held(session) == NULL)
        return 0;
    err_set(e, ERR_CONFLICT, "try %llu still runs", (unsigned long long)try_id);
    return err_advise(e, "Wait for its answer, or interrupt it.");
}

int session_commit(struct session *session, uint64_t try_id, struct err *e)
{
    session_restart_idle(session);
    if (trial_find(session, try_id, e) < 0)
        return -1;
    trial_drop(session);
    return 0;
}
