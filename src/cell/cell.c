/* The object and the names of its states. Runs in the daemon's loop, and in the command line tool
 * for the names; a cell is owned by its references: the session's run and the notebook's record. */
#include "cell/cell.h"

#include "base/clock.h"

#include <assert.h>
#include <string.h>
#include <strings.h>

static const struct {
    const char *name, *status, *document;
} cell_states[CELL_STATES] = {
    [CELL_IDLE] = {"idle", "idle", "IDLE"},
    [CELL_QUEUED] = {"queued", "queued", NULL},
    [CELL_RUNNING] = {"running", "running", "RUNNING"},
    [CELL_INPUT] = {"running", "input_required", NULL},
    [CELL_TOOLS] = {"running", "tool_call_required", NULL},
    [CELL_COMPLETED] = {"completed", "ok", "COMPLETED"},
    [CELL_ERROR] = {"error", "error", "ERROR"},
    [CELL_TIMEOUT] = {"timeout", "timeout", "TIMEOUT"},
    [CELL_INTERRUPTED] = {"interrupted", "interrupted", "INTERRUPTED"},
    [CELL_DIED] = {"died", "died", "DIED"},
};

const char *cell_state_name(enum cell_state state)
{
    return cell_states[state].name;
}

const char *cell_state_status(enum cell_state state)
{
    return cell_states[state].status;
}

const char *cell_status_of(const char *name)
{
    for (size_t i = 0; name != NULL && i < CELL_STATES; i++)
        if (strcmp(cell_states[i].name, name) == 0)
            return cell_states[i].status;
    return cell_states[CELL_IDLE].status;
}

const char *cell_state_document(enum cell_state state)
{
    return cell_states[state].document;
}

bool cell_find_state(const char *name, enum cell_state *ret)
{
    for (size_t i = 0; name != NULL && i < CELL_STATES; i++) {
        const char *document = cell_states[i].document;
        if (document == NULL || strcasecmp(document, name) != 0)
            continue;
        *ret = (enum cell_state)i;
        return true;
    }
    return false;
}

bool cell_find_status(const char *name, enum cell_state *ret)
{
    for (size_t i = CELL_COMPLETED; name != NULL && i < CELL_STATES; i++) {
        if (strcmp(cell_states[i].status, name) != 0)
            continue;
        *ret = (enum cell_state)i;
        return true;
    }
    return false;
}

const char *cell_kind_name(enum cell_kind kind)
{
    static const char *const names[] = {
        [CELL_CODE] = "code", [CELL_MARKDOWN] = "markdown", [CELL_RAW] = "raw"};
    return names[kind];
}

bool cell_is_id(const char *id, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        char c = id[i];
        bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
        if (!is_letter && !(c >= '0' && c <= '9') && c != '-' && c != '_')
            return false;
    }
    return len > 0 && len <= CELL_ID_MAX;
}

bool cell_has_tag(const json_t *metadata, const char *tag)
{
    const json_t *tags = json_object_get(metadata, "tags"), *item;
    size_t i;
    json_array_foreach(tags, i, item) {
        const char *text = json_string_value(item);
        if (text != NULL && strcmp(text, tag) == 0)
            return true;
    }
    return false;
}

struct cell *cell_new(uint64_t exec_id, const char *source, size_t len, struct output_ring *rings)
{
    struct cell *cell = mem_alloc(sizeof(*cell));
    cell->refs = 1;
    cell->exec_id = exec_id;
    cell->source = mem_copy(source, len);
    cell->source_len = len;
    cell->state = CELL_QUEUED;
    cell->created_ms = clock_wall_ms();
    transcript_init(&cell->transcript, exec_id, cell->id, rings);
    return cell;
}

void cell_move(struct cell *cell, enum cell_state to)
{
    static const bool is_legal[CELL_STATES][CELL_STATES] = {
        [CELL_QUEUED] = {[CELL_RUNNING] = true, [CELL_INTERRUPTED] = true},
        [CELL_RUNNING] = {[CELL_COMPLETED] = true,
                          [CELL_ERROR] = true,
                          [CELL_TIMEOUT] = true,
                          [CELL_INTERRUPTED] = true,
                          [CELL_DIED] = true},
    };
    assert(is_legal[cell->state][to]);
    cell->state = to;
}

struct cell *cell_ref(struct cell *cell)
{
    cell->refs++;
    return cell;
}

void cell_release(struct cell *cell)
{
    if (cell == NULL || --cell->refs > 0)
        return;
    transcript_free(&cell->transcript);
    free(cell->source);
    free(cell);
}

void cell_leave(struct cell *cell)
{
    if (cell->refs > 1)
        transcript_detach(&cell->transcript);
    cell_release(cell);
}
