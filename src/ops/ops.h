/* What the files of this room share: the operations themselves and how a session is written. */
#pragma once

#include "ops/op.h"
#include "ops/shapes.h"

struct config_repl;
struct jail_limits;
struct json_out;
struct plan;
struct session;
struct store_call;

extern const struct op op_cell_add;
extern const struct op op_cell_clear;
extern const struct op op_cell_delete;
extern const struct op op_cell_edit;
extern const struct op op_cell_get;
extern const struct op op_cell_list;
extern const struct op op_cell_move;
extern const struct op op_cell_run;
extern const struct op op_notebook_clear;
extern const struct op op_notebook_create;
extern const struct op op_notebook_delete;
extern const struct op op_notebook_edit;
extern const struct op op_notebook_events;
extern const struct op op_notebook_export;
extern const struct op op_notebook_get;
extern const struct op op_notebook_import;
extern const struct op op_notebook_list;
extern const struct op op_notebook_reset;
extern const struct op op_notebook_run;
extern const struct op op_checkpoint_list;
extern const struct op op_context_delete;
extern const struct op op_context_get;
extern const struct op op_context_list;
extern const struct op op_context_load;
extern const struct op op_context_put;
extern const struct op op_explore_archive_extract;
extern const struct op op_explore_archive_file;
extern const struct op op_explore_archive_open;
extern const struct op op_explore_archive_search;
extern const struct op op_explore_web_fetch;
extern const struct op op_explore_chunks;
extern const struct op op_explore_code_search;
extern const struct op op_explore_doc_search;
extern const struct op op_search_find;
extern const struct op op_explore_research;
extern const struct op op_explore_set_research;
extern const struct op op_explore_summarize_chunks;
extern const struct op op_explore_file_info;
extern const struct op op_explore_final;
extern const struct op op_explore_grep;
extern const struct op op_explore_list_dir;
extern const struct op op_explore_list_findings;
extern const struct op op_explore_mark;
extern const struct op op_explore_mark_finding;
extern const struct op op_explore_nodes;
extern const struct op op_explore_outcome;
extern const struct op op_explore_peek;
extern const struct op op_explore_recall;
extern const struct op op_explore_reset;
extern const struct op op_explore_state;
extern const struct op op_explore_stuck;
extern const struct op op_explore_tell;
extern const struct op op_toolbox_call;
extern const struct op op_toolbox_list;
extern const struct op op_toolbox_log;
extern const struct op op_exec_continue;
extern const struct op op_tool_context;
extern const struct op op_tool_grep;
extern const struct op op_tool_outcome;
extern const struct op op_tool_explore;
extern const struct op op_tool_peek;
extern const struct op op_tool_recall;
extern const struct op op_exec_oneshot;
extern const struct op op_agent_list;
extern const struct op op_api_index;
extern const struct op op_api_openapi;
extern const struct op op_api_root;
extern const struct op op_file_get;
extern const struct op op_health;
extern const struct op op_memory_clear;
extern const struct op op_memory_delete;
extern const struct op op_memory_list;
extern const struct op op_health_detailed;
extern const struct op op_oauth_resource;
extern const struct op op_oauth_resource_mcp;
extern const struct op op_operation_list;
extern const struct op op_plan_agent_enter;
extern const struct op op_plan_agent_leave;
extern const struct op op_plan_session_enter;
extern const struct op op_plan_session_leave;
extern const struct op op_repl;
extern const struct op op_state_delete;
extern const struct op op_state_get;
extern const struct op op_state_list;
extern const struct op op_session_complete;
extern const struct op op_session_create;
extern const struct op op_session_inspect;
extern const struct op op_notebook_declarations;
extern const struct op op_notebook_image;
extern const struct op op_notebook_reference;
extern const struct op op_session_declarations;
extern const struct op op_session_is_complete;
extern const struct op op_session_delete;
extern const struct op op_session_edit;
extern const struct op op_session_exec;
extern const struct op op_session_archive_get;
extern const struct op op_session_archive_put;
extern const struct op op_session_file_copy;
extern const struct op op_session_file_delete;
extern const struct op op_session_file_events;
extern const struct op op_session_file_get;
extern const struct op op_session_file_list;
extern const struct op op_session_file_mkdir;
extern const struct op op_session_file_move;
extern const struct op op_session_file_put;
extern const struct op op_session_file_stat;
extern const struct op op_session_get;
extern const struct op op_exec_tool_results;
extern const struct op op_session_input;
extern const struct op op_session_interrupt;
extern const struct op op_session_list;
extern const struct op op_session_names;
extern const struct op op_session_output;
extern const struct op op_session_port;
extern const struct op op_session_redo;
extern const struct op op_session_terminal;
extern const struct op op_session_resume;
extern const struct op op_session_suspend;
extern const struct op op_session_undo;
extern const struct op op_session_branch;
extern const struct op op_session_cells;
extern const struct op op_try_commit;
extern const struct op op_try_discard;
extern const struct op op_try_run;
extern const struct op op_tool_list;
extern const struct op op_tool_run;
extern const struct op op_tool_wait;
extern const struct op op_tool_back;
extern const struct op op_tool_file;
extern const struct op op_tool_look;
extern const struct op op_tool_execute_cell;
extern const struct op op_tool_rerun_cell;
extern const struct op op_tool_show_cell;
extern const struct op op_tool_show_notebook;
extern const struct op op_tool_delete_cell;
extern const struct op op_tool_clear_notebook;
extern const struct op op_tool_create_notebook;
extern const struct op op_tool_export_ipynb;

/* What the call asks for, else what its session was made with, else what holds for its agent; the
 * gate has checked that. */
uint32_t call_timeout_ms(const struct call *call);
/* `usual` is the budget where the caller says none. */
size_t call_budget(const struct call *call, size_t usual);
bool call_has_budget(const struct call *call);               /* the caller did */
bool call_wants_images(const struct call *call);             /* with their data */
size_t call_pictures(const struct call *call, size_t usual); /* bytes beside the budget */
const struct jail_limits *call_limits(struct call *call);    /* in its arena */
const char *call_owner(const struct call *call);             /* of what it makes; never NULL */
/* Whether the call may know of what belongs to this agent (NULL for the default one). */
bool call_sees(const struct call *call, const char *agent);

/* The session that the call names; NULL if the call was answered with the error. */
struct session *call_session(struct call *call);

void call_reply(struct call *call, int http_status, const struct buf *json);
void call_fail(struct call *call, const struct err *e);
void call_failed(void *call, const struct err *e); /* the same, of listeners whose context it is */
void call_send_file(struct call *call, const struct call_file *file);
const char *call_type_of_file(const char *name); /* of its content, by its suffix */

#define CALL_REPLY_MAX (128 * MIB) /* the largest budget, escaped */

/* The parameter that most operations begin with. */
#define OP_PARAM_SESSION                                                                           \
    {                                                                                              \
        .name = "session_id", .type = OP_TEXT, .place = OP_IN_PATH, .is_required = true, .min = 1, \
        .max = 64, .means = OP_MEANS_SESSION, .doc = "The session."                                \
    }

/* Of those that an agent's plan mode is about, and why. */
#define OP_PARAM_AGENT                                                                             \
    {                                                                                              \
        .name = "agent", .type = OP_TEXT, .place = OP_IN_PATH, .is_required = true, .min = 1,      \
        .max = 64, .means = OP_MEANS_AGENT, .doc = "The agent, as the configuration names it."     \
    }
#define OP_PARAM_REASON                                                                            \
    {                                                                                              \
        .name = "reason", .type = OP_TEXT, .max = 1024,                                            \
        .doc = "Why: told to whoever is refused meanwhile."                                        \
    }

/* Of a state that is kept under a name. */
#define OP_PARAM_STATE                                                                             \
    {                                                                                              \
        .name = "name", .type = OP_TEXT, .place = OP_IN_PATH, .is_required = true, .min = 1,       \
        .max = 128, .means = OP_MEANS_STATE, .doc = "The name that a run gave it as state_name."   \
    }

/* Of lists that are told page by page. */
#define OP_PARAM_OFFSET                                                                            \
    {                                                                                              \
        .name = "offset", .type = OP_INT, .place = OP_IN_QUERY, .max = INT64_MAX,                  \
        .doc = "How many to pass over; default 0."                                                 \
    }
#define OP_PARAM_LIMIT                                                                             \
    {                                                                                              \
        .name = "limit", .type = OP_INT, .place = OP_IN_QUERY, .min = 1, .max = STORE_PAGE_MAX,    \
        .doc = "How many at most; default 100. Fewer come if they are large."                      \
    }
uint64_t call_offset(const struct call *call);
uint32_t call_limit(const struct call *call);

struct store_named;
void put_named(struct json_out *json, const struct store_named *state); /* the members */
/* The store; NULL if the call was answered with the error. */
struct store *call_store(struct call *call);
/* All that the call waits for is this; the store forgets a caller that goes away. */
void call_await(struct call *call, struct store_call *asked);
/* Answers that what has this name is deleted, or with the error. */
void reply_deleted(struct call *call, const char *member, const char *name, const struct err *e);

/* "plan", its reason and when it was entered; nothing if there is none. NULL is no plan. */
void put_plan(struct json_out *json, const struct plan *plan);
/* Answers with the plan of the session, or of the call's agent, once it is on disk. */
void reply_session_plan(struct call *call, struct session *session);
void reply_agent_plan(struct call *call);

/* "max_limits":{...}, those that are given. */
void put_ceiling(struct json_out *json, const struct jail_limits *ceiling);
/* "repl":{...} as the configuration has it. */
void put_repl(struct json_out *json, const struct config_repl *repl);

void put_session(struct json_out *json, const struct session *session);
