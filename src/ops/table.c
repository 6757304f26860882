#include "ops/ops.h"

const struct op *const op_table[] = {
    &op_session_exec, /* first: routes are tried in this order */
    &op_exec_continue,
    &op_exec_oneshot,
    &op_session_input,
    &op_session_interrupt,
    &op_session_output,
    &op_session_names,
    &op_checkpoint_list,
    &op_session_undo,
    &op_session_redo,
    &op_session_create,
    &op_session_list,
    &op_session_get,
    &op_session_delete,
    &op_file_get,
    &op_health,
    &op_health_detailed,
    &op_agent_list,
    &op_plan_session_enter,
    &op_plan_session_leave,
    &op_plan_agent_enter,
    &op_plan_agent_leave,
    &op_repl,
    NULL,
};
