/* The saved part of a session's history as JSON, in the daemon. */
#include "session/line.h"

#include "session/engine_state.h"
#include "session/session.h"
#include "wire/json.h"

enum {
    LINE_CELLS_MAX = 100, /* whose numbers are written for one checkpoint; the last ones */
    LINE_READ_MAX = 256,  /* checkpoints that are read */
};

/* ---- writing --------------------------------------------------------------------------------- */

/* One that is being saved counts: the row is written before its state is, and both or none are
 * there after a crash. */
static bool line_is_safe(const struct session *session, const struct checkpoint *checkpoint)
{
    const struct saving *saving = &session->saving;
    return checkpoint->is_saved ||
           (saving->state != SAVING_NONE && checkpoint->id == saving->next_checkpoint);
}

/* The number of the oldest that is written: the states of older ones go when this save is done. */
static uint64_t line_oldest_kept(const struct session *session)
{
    const struct list *all = &session->timeline.checkpoints;
    size_t n = 0;
    for (const struct list *node = all->prev; node != all; node = node->prev) {
        const struct checkpoint *checkpoint = CONTAINER_OF(node, struct checkpoint, node);
        n += line_is_safe(session, checkpoint);
        if (n == session->engine->config.checkpoints_kept)
            return checkpoint->id;
    }
    return 0;
}

static bool line_is_kept(const struct session *session, const struct checkpoint *checkpoint,
                         uint64_t oldest)
{
    return line_is_safe(session, checkpoint) &&
           (checkpoint->id >= oldest || checkpoint == session->timeline.current);
}

static void line_put_checkpoint(struct json_out *json, const struct session *session,
                                const struct checkpoint *checkpoint, uint64_t oldest)
{
    const struct checkpoint *parent = checkpoint->parent;
    while (parent != NULL && !line_is_kept(session, parent, oldest))
        parent = parent->parent;
    struct timeline_cells cells = timeline_cells_between(parent, checkpoint);
    size_t n = MIN(cells.n, (size_t)LINE_CELLS_MAX);
    json_put_object(json);
    json_put_member_int(json, "id", (int64_t)checkpoint->id);
    json_put_member_int(json, "parent", parent != NULL ? (int64_t)parent->id : 0);
    json_put_member_int(json, "cell", (int64_t)checkpoint->last_cell);
    json_put_member_int(json, "at_ms", (int64_t)checkpoint->at_ms);
    json_put_member_str(json, "files", checkpoint->manifest);
    if (checkpoint->explored[0] != '\0')
        json_put_member_str(json, "explored", checkpoint->explored);
    json_put_member_bool(json, "cut_off", timeline_is_cut_off(checkpoint, parent));
    json_put_key(json, "cells");
    json_put_array(json);
    for (size_t i = cells.n - n; i < cells.n; i++)
        json_put_int(json, (int64_t)cells.ids[i]);
    json_put_array_end(json);
    json_put_member_int(json, "more_cells", (int64_t)(cells.n_more + cells.n - n));
    json_put_object_end(json);
    timeline_cells_free(&cells);
}

char *line_write(const struct session *session)
{
    const struct timeline *timeline = &session->timeline;
    _buf_ struct buf out = BUF_INIT(STORE_ROW_BYTES / 2);
    struct json_out json = JSON_OUT(&out);
    uint64_t oldest = line_oldest_kept(session);
    json_put_object(&json);
    json_put_key(&json, "checkpoints");
    json_put_array(&json);
    LIST_EACH(&timeline->checkpoints, node) {
        const struct checkpoint *checkpoint = CONTAINER_OF(node, struct checkpoint, node);
        if (line_is_kept(session, checkpoint, oldest))
            line_put_checkpoint(&json, session, checkpoint, oldest);
    }
    json_put_array_end(&json);
    json_put_key(&json, "redo");
    json_put_array(&json);
    for (size_t i = 0; i < timeline->n_redo; i++)
        json_put_int(&json, (int64_t)timeline->redo[i]);
    json_put_array_end(&json);
    if (session->saving.has_beginning)
        json_put_member_str(&json, "begun", timeline->begun);
    json_put_object_end(&json);
    return mem_strdup(out.overflowed ? "{}" : buf_str(&out));
}

/* ---- reading --------------------------------------------------------------------------------- */

static uint64_t line_number(const json_t *object, const char *member)
{
    json_int_t value = json_integer_value(json_object_get(object, member));
    return value > 0 ? (uint64_t)value : 0;
}

static void line_read_checkpoint(struct session *session, const json_t *told)
{
    uint64_t id = line_number(told, "id");
    const char *files = json_string_value(json_object_get(told, "files"));
    if (id == 0 || timeline_find(session, id) != NULL)
        return;
    struct checkpoint *checkpoint =
        timeline_add_saved(session, id, line_number(told, "cell"), files != NULL ? files : "");
    const char *explored = json_string_value(json_object_get(told, "explored"));
    if (explored != NULL && strlen(explored) == TIMELINE_HASH_SIZE - 1)
        timeline_amend_explored(session, checkpoint, explored);
    checkpoint->parent = timeline_find(session, line_number(told, "parent"));
    checkpoint->at_ms = line_number(told, "at_ms");
    checkpoint->is_cut_off = json_is_true(json_object_get(told, "cut_off"));
    const json_t *cells = json_object_get(told, "cells");
    for (size_t i = 0; i < json_array_size(cells); i++) {
        uint64_t cell = (uint64_t)json_integer_value(json_array_get(cells, i));
        timeline_cells_add(&checkpoint->cells, &cell, 1);
    }
    checkpoint->cells.n_more += line_number(told, "more_cells");
}

void line_read(struct session *session, const char *text)
{
    struct err e;
    struct timeline *timeline = &session->timeline;
    _json_ json_t *line = NULL;
    if (text == NULL || json_read_object(text, strlen(text), &line, &e) < 0)
        return;
    const json_t *list = json_object_get(line, "checkpoints");
    for (size_t i = 0; i < MIN(json_array_size(list), (size_t)LINE_READ_MAX); i++)
        line_read_checkpoint(session, json_array_get(list, i));
    const json_t *redo = json_object_get(line, "redo");
    for (size_t i = 0; i < MIN(json_array_size(redo), (size_t)LINE_READ_MAX); i++)
        timeline_add_redo(session, (uint64_t)json_integer_value(json_array_get(redo, i)));
    const char *begun = json_string_value(json_object_get(line, "begun"));
    session->saving.has_beginning = begun != NULL;
    if (begun != NULL && strlen(begun) == TIMELINE_HASH_SIZE - 1)
        timeline_amend(session, NULL, begun);
    timeline->current = timeline_find(session, session->saving.checkpoint);
}
