/* Exploring, in the daemon: where texts lie, who is asked about them, what came of it. Owns
 * session->exploring. */
#include "session/exploring.h"

#include "cell/redact.h"
#include "explore/log.h"
#include "explore/research.h"
#include "explore/worker.h"
#include "jail/files/manifest.h"
#include "session/engine_state.h"
#include "session/exec.h"
#include "session/session.h"
#include "store/store.h"
#include "wire/json.h"

#include <errno.h>

enum {
    EXPLORING_STATE_MAX = 16 * 1024 * 1024, /* bytes of the state as JSON */
};
#define EXPLORING_FOLDER "contexts"
#define EXPLORING_SPILL "spill"
#define EXPLORING_STATE "state.json"

/* ---- the state ------------------------------------------------------------------------------- */

const json_t *exploring_get(const struct session *session, const char *member)
{
    return json_object_get(session->exploring.state, member);
}

void exploring_set(struct session *session, const char *member, json_t *value)
{
    struct exploring *x = &session->exploring;
    json_t *next = x->state != NULL ? json_copy(x->state) : json_object();
    if (value != NULL)
        json_object_set_new(next, member, value);
    else
        json_object_del(next, member);
    json_decref(x->state);
    x->state = next;
    x->has_changed = true;
}

bool exploring_redacts(const struct session *session)
{
    const struct engine_config *config = &session->engine->config;
    return config->redacts_all || (config->redacts_credentials && session->exploring.is_on);
}

void exploring_note(struct session *session, const char *tool, const char *query,
                    const char *content, size_t len)
{
    char id[RESEARCH_ID_SIZE];
    const json_t *tree = exploring_get(session, "tree"), *log = exploring_get(session, "log");
    _json_ json_t *new_tree = tree == NULL ? research_new() : NULL;
    _json_ json_t *new_log = log == NULL ? explore_log_new() : NULL;
    _buf_ struct buf safe_query = BUF_INIT(SIZE_MAX / 4), safe = BUF_INIT(SIZE_MAX / 4);
    struct research_call call = {.tool = tool,
                                 .query = query,
                                 .content = content,
                                 .len = len,
                                 .similar = session->engine->config.least_resemblance};
    if (exploring_redacts(session)) { /* the tree is shown, too */
        redact_text(query, strlen(query), &safe_query);
        redact_text(content, len, &safe);
        call.query = buf_str(&safe_query);
        call.content = buf_str(&safe);
        call.len = safe.len;
    }
    exploring_set(session, "tree", research_add(tree != NULL ? tree : new_tree, &call, id));
    exploring_set(session, "log", explore_log_add(log != NULL ? log : new_log, tool, len));
}

void exploring_conclude(struct session *session, json_t *final)
{
    if (exploring_redacts(session))
        redact_output(final);
    exploring_set(session, "final", final);
    session->exploring.final_exec = session->running != NULL ? session->running->id : 0;
}

void exploring_reset(struct session *session)
{
    static const char *const stay[] = {"contexts", "spills"};
    json_t *before = take_ptr(session->exploring.state);
    session->exploring.has_changed = true;
    for (size_t i = 0; i < ARRAY_LEN(stay); i++)
        if (json_object_get(before, stay[i]) != NULL)
            exploring_set(session, stay[i], json_incref(json_object_get(before, stay[i])));
    json_decref(before);
}

/* ---- kept ------------------------------------------------------------------------------------ */

static int exploring_put_entry(struct buf *out, const char *path, const char *hex, uint64_t bytes)
{
    struct manifest_entry entry = {
        .type = MANIFEST_FILE, .mode = 0600, .size = bytes, .path = path, .path_len = strlen(path)};
    entry.target = "";
    int r = blob_parse_hex(hex, &entry.hash);
    if (r == 0)
        manifest_append(out, &entry);
    return r;
}

static void exploring_put_folder(struct buf *out, const char *path)
{
    struct manifest_entry entry = {.type = MANIFEST_DIR, .mode = 0700, .path = path, .target = ""};
    entry.path_len = strlen(path);
    manifest_append(out, &entry);
}

static int exploring_by_name(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* A folder of the list, with the blobs that the state names under these names. */
static size_t exploring_put_blobs(struct buf *out, const char *folder, const json_t *entries,
                                  const char **names, size_t n)
{
    exploring_put_folder(out, folder);
    qsort(names, n, sizeof(*names), exploring_by_name);
    for (size_t i = 0; i < n; i++) {
        char path[sizeof(EXPLORING_FOLDER) + EXPLORING_NAME_MAX + 1];
        const json_t *entry = json_object_get(entries, names[i]);
        snprintf(path, sizeof(path), "%s/%s", folder, names[i]);
        exploring_put_entry(out, path, json_string_value(json_object_get(entry, "hash")),
                            (uint64_t)json_integer_value(json_object_get(entry, "bytes")));
    }
    return n + 1;
}

/* The state, its contexts and its spilled outputs, as a list of files that the store keeps. */
static int exploring_write(int blobs, json_t *state, struct blob_put *ret)
{
    const char *names[MAX(EXPLORING_CONTEXTS_MAX, EXPLORING_SPILLS_MAX)], *name;
    size_t n = 0, n_entries = 2; /* the top and the state */
    json_t *contexts = json_object_get(state, "contexts"),
           *spills = json_object_get(state, "spills");
    json_t *entry;
    _json_ json_t *by_name = json_object();
    _buf_ struct buf text = BUF_INIT(EXPLORING_STATE_MAX), list = BUF_INIT(MANIFEST_BYTES_MAX);
    struct json_out json = JSON_OUT(&text);
    json_put_value(&json, state);
    int r = text.overflowed ? -EFBIG : blob_put_bytes(blobs, text.data, text.len, ret);
    if (r < 0)
        return r;
    manifest_begin(&list);
    exploring_put_folder(&list, "");
    json_object_foreach(contexts, name, entry)
        if (n < EXPLORING_CONTEXTS_MAX)
            names[n++] = name;
    n_entries += exploring_put_blobs(&list, EXPLORING_FOLDER, contexts, names, n);
    for (n = 0; n < MIN(json_array_size(spills), (size_t)EXPLORING_SPILLS_MAX); n++) {
        entry = json_array_get(spills, n);
        names[n] = json_string_value(json_object_get(entry, "name"));
        json_object_set(by_name, names[n], entry);
    }
    n_entries += exploring_put_blobs(&list, EXPLORING_SPILL, by_name, names, n);
    char hex[BLOB_HEX_SIZE];
    exploring_put_entry(&list, EXPLORING_STATE, blob_hex(&ret->hash, hex), text.len);
    manifest_end(&list, n_entries);
    return blob_put_bytes(blobs, list.data, list.len, ret);
}

const char *exploring_keep(struct session *session)
{
    struct exploring *x = &session->exploring;
    struct blob_put put;
    char hex[BLOB_HEX_SIZE];
    if (!x->has_changed || session->engine->blobs < 0)
        return x->kept;
    x->has_changed = false;
    if (x->state == NULL)
        timeline_hold_files(session, x->kept, "");
    else if (exploring_write(session->engine->blobs, x->state, &put) == 0)
        timeline_hold_files(session, x->kept, blob_hex(&put.hash, hex));
    else
        x->has_changed = true; /* a disk that refuses: it is tried again with the next checkpoint */
    return x->kept;
}

static json_t *exploring_read(int blobs, const char *kept)
{
    struct blob_hash hash;
    struct manifest *list = NULL;
    struct err ignored;
    _free_ char *text = NULL;
    size_t len;
    json_t *state = NULL;
    if (blob_parse_hex(kept, &hash) < 0 || manifest_load(blobs, &hash, &list, &ignored) < 0)
        return NULL;
    const struct manifest_entry *entry =
        manifest_find(list, EXPLORING_STATE, strlen(EXPLORING_STATE));
    if (entry != NULL && blob_read(blobs, &entry->hash, EXPLORING_STATE_MAX, &text, &len) == 0)
        json_read_object(text, len, &state, &ignored);
    manifest_free(list);
    return state;
}

void exploring_go_to(struct session *session, const char *kept)
{
    struct exploring *x = &session->exploring;
    if (!x->has_changed && strcmp(x->kept, kept) == 0)
        return;
    json_decref(x->state);
    x->state = kept[0] != '\0' ? exploring_read(session->engine->blobs, kept) : NULL;
    x->has_changed = false;
    x->is_on |= exploring_get(session, "contexts") != NULL;
    timeline_hold_files(session, x->kept, kept);
}

/* ---- contexts -------------------------------------------------------------------------------- */

bool exploring_is_name(const char *name)
{
    size_t len = strlen(name);
    bool is_fit = len > 0 && len <= EXPLORING_NAME_MAX && name[0] != '.';
    for (const char *c = name; *c != '\0'; c++)
        is_fit = is_fit && (strchr("_.-", *c) != NULL || (*c >= '0' && *c <= '9') ||
                            (*c >= 'A' && *c <= 'Z') || (*c >= 'a' && *c <= 'z'));
    return is_fit;
}

const json_t *exploring_context(const struct session *session, const char *name, struct err *e)
{
    const json_t *found = json_object_get(exploring_get(session, "contexts"), name);
    if (found != NULL)
        return found;
    err_set(e, ERR_NOT_FOUND, "the session has no context \"%.64s\"", name);
    err_advise(e, "Load one first: context.load takes a file of the session or a text, context.put "
                  "takes bytes.");
    return NULL;
}

void exploring_put_context(struct session *session, const char *name, json_t *context)
{
    json_t *contexts = (json_t *)(uintptr_t)exploring_get(session, "contexts");
    contexts = contexts != NULL ? json_copy(contexts) : json_object();
    if (context != NULL)
        json_object_set_new(contexts, name, context);
    else
        json_object_del(contexts, name);
    exploring_set(session, "contexts", contexts);
}

int exploring_drop_context(struct session *session, const char *name, struct err *e)
{
    if (exploring_context(session, name, e) == NULL)
        return -1;
    exploring_put_context(session, name, NULL);
    return 0;
}

/* ---- outputs that are files ------------------------------------------------------------------ */

json_t *exploring_add_spill(struct session *session, json_t *entry)
{
    const json_t *before = exploring_get(session, "spills");
    json_t *spills = before != NULL ? json_copy((json_t *)(uintptr_t)before) : json_array();
    json_t *dropped = NULL;
    uint64_t bytes = 0;
    json_array_append_new(spills, entry);
    for (size_t i = 0; i < json_array_size(spills); i++)
        bytes += (uint64_t)json_integer_value(json_object_get(json_array_get(spills, i), "bytes"));
    while (json_array_size(spills) > 1 &&
           (json_array_size(spills) > EXPLORING_SPILLS_MAX || bytes > EXPLORING_SPILLS_BYTES)) {
        json_t *oldest = json_array_get(spills, 0);
        bytes -= (uint64_t)json_integer_value(json_object_get(oldest, "bytes"));
        if (dropped == NULL)
            dropped = json_array();
        json_array_append(dropped, oldest);
        json_array_remove(spills, 0);
    }
    exploring_set(session, "spills", spills);
    return dropped;
}

void exploring_spill_path(const struct session *session, const json_t *entry,
                          char ret[EXPLORING_SPILL_PATH_SIZE])
{
    snprintf(ret, EXPLORING_SPILL_PATH_SIZE, "%s/%.48s", session->engine->config.spill_dir,
             json_string_value(json_object_get(entry, "name")));
}

bool exploring_find_spill(const struct session *session, const char *path, const json_t **ret,
                          struct err *e)
{
    const char *dir = session->engine->config.spill_dir;
    const json_t *spills = exploring_get(session, "spills");
    _buf_ struct buf there = BUF_INIT(4 * KIB);
    size_t len = strlen(dir);
    if (strncmp(path, dir, len) != 0 || path[len] != '/')
        return false;
    *ret = NULL;
    for (size_t i = json_array_size(spills); i-- > 0;) {
        char known[EXPLORING_SPILL_PATH_SIZE];
        const json_t *entry = json_array_get(spills, i);
        exploring_spill_path(session, entry, known);
        if (strcmp(known, path) == 0)
            *ret = entry;
        buf_printf(&there, "%s%s", there.len > 0 ? ", " : "", known);
    }
    if (*ret != NULL)
        return true;
    err_set(e, ERR_NOT_FOUND, "there is no output %.128s, or not any more", path);
    err_advise(e, "There are: %.400s.", there.len > 0 ? buf_str(&there) : "none");
    return true;
}

/* ---- life ------------------------------------------------------------------------------------ */

void exploring_init(struct session *session)
{
    list_init(&session->exploring.orders);
}

void exploring_free(struct session *session)
{
    struct exploring *x = &session->exploring;
    explore_worker_free(take_ptr(x->worker));
    json_decref(take_ptr(x->state));
    timeline_hold_files(session, x->kept, "");
    timeline_hold_files(session, x->begun, "");
}
