/* The checkpoints of a session as people see them: told in words, and drawn as a tree. */
#pragma once

#include "base/buf.h"
#include "base/err.h"
#include "cli/args.h"
#include "cli/client.h"

#include <jansson.h>

/* GET .../checkpoints of the session that the first word names: an object whose "checkpoints" is a
 * list of objects with an "id". */
int cli_timeline_get(const struct cli_args *args, struct cli_client *c, json_t **ret,
                     struct err *e);

/* Whether the terminal's characters are Unicode. */
bool cli_is_utf8(void);

/* The tree, a line for each checkpoint; box drawing characters unless `is_ascii`. */
void cli_draw_tree(struct buf *out, const json_t *timeline, bool is_ascii);

/* A table of the checkpoints, a line for each. */
void cli_append_checkpoints(struct buf *out, const json_t *timeline);

/* "cells 3, 5-7", and what of a checkpoint could be had again. */
void cli_describe_cells(struct buf *out, const json_t *cells);
void cli_describe_files(struct buf *out, const json_t *checkpoint);
void cli_describe_restore(struct buf *out, const json_t *checkpoint);

/* What undo, redo and a discarded try answer: "took back cell 2 (x * 2); now at checkpoint 1", by
 * the `verb` and, if the answer has one, the "code" of its only cell. */
void cli_describe_rollback(struct buf *out, const char *verb, const json_t *answer);
