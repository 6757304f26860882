/* The shapes of answers that several operations share. */
#pragma once

#include "ops/op.h"

extern const struct op_shape shape_failure; /* {"error": {...}}: every answer that is no success */

extern const struct op_shape shape_session;
extern const struct op_shape shape_session_list;
extern const struct op_shape shape_plan;
extern const struct op_shape shape_session_plan;
extern const struct op_shape shape_agent_plan;
extern const struct op_shape shape_repl_rules;
extern const struct op_shape shape_max_limits;

extern const struct op_shape shape_output; /* a typed output */
extern const struct op_shape shape_tool_call;
extern const struct op_shape shape_answer; /* of a cell that was run */
extern const struct op_shape shape_restored;
extern const struct op_shape shape_lost;
extern const struct op_shape shape_names;
extern const struct op_shape shape_undone;
extern const struct op_shape shape_resumed;
extern const struct op_shape shape_late;
extern const struct op_shape shape_declarations;
extern const struct op_shape shape_name;
extern const struct op_event exec_events[];
extern const struct op_event run_events[]; /* of code that runs once */

extern const struct op_shape shape_cell;
extern const struct op_shape shape_notebook;
extern const struct op_shape shape_cell_change;

extern const struct op_shape shape_state;

/* The members of which several shapes are made: those of an undo, which a try that is taken back
 * has, too. */
#define SHAPE_RESTORED                                                                             \
    {"from", OP_INT, .doc = "The checkpoint that it was at."},                                     \
        {"to", OP_INT, .doc = "The checkpoint that it is at; 0: the beginning."},                  \
        {"restored_from", OP_TEXT,                                                                 \
         .doc = "process: a copy that still lived; durable: from disk."},                          \
        {"cells", OP_INT_LIST, .doc = "The cells that were taken back, by their number."},         \
        {"more_cells", OP_INT, .doc = "How many more there were."},                                \
        {"files", OP_TEXT, .doc = "restored, or not_covered: the files are as they were."},        \
        {"files_changed", OP_INT, .doc = "How many files were put back."},                         \
        {"files_reason", OP_TEXT, .doc = "Why the files are not as they were."},                   \
        {"files_lost", OP_TEXT_LIST, .doc = "Files that could not be put back."},                  \
        {"names", OP_OBJECT, .shape = &shape_names,                                                \
         .doc = "Names that are gone, as they were, or back."},                                    \
        {"ended_processes", OP_INT, .doc = "How many processes were ended."},                      \
    {                                                                                              \
        "not_undone", OP_LIST, .shape = &shape_undone, .doc = "What could not be taken back."      \
    }
