// Made by packaging/pages.py from the program's table of operations: do not edit.

const SESSION_EXEC = {
  name: "session.exec",
  method: "POST",
  path: "/v1/sessions/{session_id}/exec",
  query: [],
  flags: ["mutating", "streams", "runs_code"],
};
const EXEC_CONTINUE = {
  name: "exec.continue",
  method: "POST",
  path: "/v1/sessions/{session_id}/exec/{cell}/continue",
  query: [],
  flags: ["read_only", "streams"],
};
const EXEC = {
  name: "exec",
  method: "POST",
  path: "/v1/exec",
  query: [],
  flags: ["mutating", "streams", "makes_session", "runs_code"],
};
const SESSION_INPUT = {
  name: "session.input",
  method: "POST",
  path: "/v1/sessions/{session_id}/input",
  query: [],
  flags: ["mutating", "streams", "runs_code"],
};
const EXEC_TOOL_RESULTS = {
  name: "exec.tool_results",
  method: "POST",
  path: "/v1/sessions/{session_id}/exec/{cell}/tool_results",
  query: [],
  flags: ["mutating", "streams", "runs_code"],
};
const SESSION_INTERRUPT = {
  name: "session.interrupt",
  method: "POST",
  path: "/v1/sessions/{session_id}/interrupt",
  query: [],
  flags: ["mutating"],
};
const SESSION_OUTPUT = {
  name: "session.output",
  method: "GET",
  path: "/v1/sessions/{session_id}/output",
  query: ["number", "offset", "limit", "stream"],
  flags: ["read_only"],
};
const SESSION_NAMES = {
  name: "session.names",
  method: "GET",
  path: "/v1/sessions/{session_id}/names",
  query: ["max"],
  flags: ["read_only"],
};
const SESSION_FILE_PUT = {
  name: "session.file_put",
  method: "PUT",
  path: "/v1/sessions/{session_id}/files/{path}",
  query: [],
  flags: ["mutating", "takes_bytes", "has_tail"],
};
const SESSION_FILE_GET = {
  name: "session.file_get",
  method: "GET",
  path: "/v1/sessions/{session_id}/files/{path}",
  query: [],
  flags: ["read_only", "has_tail"],
};
const SESSION_FILE_DELETE = {
  name: "session.file_delete",
  method: "DELETE",
  path: "/v1/sessions/{session_id}/files/{path}",
  query: ["recursive"],
  flags: ["mutating", "has_tail"],
};
const SESSION_FILE_LIST = {
  name: "session.file_list",
  method: "GET",
  path: "/v1/sessions/{session_id}/files",
  query: ["path", "recursive", "pattern", "after", "limit"],
  flags: ["read_only"],
};
const SESSION_FILE_STAT = {
  name: "session.file_stat",
  method: "GET",
  path: "/v1/sessions/{session_id}/stat/{path}",
  query: [],
  flags: ["read_only", "has_tail"],
};
const SESSION_FILE_MKDIR = {
  name: "session.file_mkdir",
  method: "POST",
  path: "/v1/sessions/{session_id}/mkdir",
  query: [],
  flags: ["mutating"],
};
const SESSION_FILE_MOVE = {
  name: "session.file_move",
  method: "POST",
  path: "/v1/sessions/{session_id}/move",
  query: [],
  flags: ["mutating"],
};
const SESSION_FILE_COPY = {
  name: "session.file_copy",
  method: "POST",
  path: "/v1/sessions/{session_id}/copy",
  query: [],
  flags: ["mutating"],
};
const SESSION_ARCHIVE_GET = {
  name: "session.archive_get",
  method: "GET",
  path: "/v1/sessions/{session_id}/archive",
  query: ["path"],
  flags: ["read_only"],
};
const SESSION_ARCHIVE_PUT = {
  name: "session.archive_put",
  method: "PUT",
  path: "/v1/sessions/{session_id}/archive",
  query: ["path"],
  flags: ["mutating", "takes_bytes"],
};
const SESSION_FILE_EVENTS = {
  name: "session.file_events",
  method: "GET",
  path: "/v1/sessions/{session_id}/changes",
  query: ["path"],
  flags: ["read_only", "streams", "only_streams"],
};
const CONTEXT_LOAD = {
  name: "context.load",
  method: "POST",
  path: "/v1/sessions/{session_id}/contexts",
  query: [],
  flags: ["mutating"],
};
const CONTEXT_PUT = {
  name: "context.put",
  method: "PUT",
  path: "/v1/sessions/{session_id}/contexts/{name}",
  query: [],
  flags: ["mutating", "takes_bytes"],
};
const CONTEXT_GET = {
  name: "context.get",
  method: "GET",
  path: "/v1/sessions/{session_id}/contexts/{name}",
  query: [],
  flags: ["read_only"],
};
const CONTEXT_LIST = {
  name: "context.list",
  method: "GET",
  path: "/v1/sessions/{session_id}/contexts",
  query: [],
  flags: ["read_only"],
};
const CONTEXT_DELETE = {
  name: "context.delete",
  method: "DELETE",
  path: "/v1/sessions/{session_id}/contexts/{name}",
  query: [],
  flags: ["mutating"],
};
const EXPLORE_PEEK = {
  name: "explore.peek",
  method: "POST",
  path: "/v1/sessions/{session_id}/explore/peek",
  query: [],
  flags: ["read_only"],
};
const EXPLORE_GREP = {
  name: "explore.grep",
  method: "POST",
  path: "/v1/sessions/{session_id}/explore/grep",
  query: [],
  flags: ["read_only"],
};
const EXPLORE_CHUNKS = {
  name: "explore.chunks",
  method: "POST",
  path: "/v1/sessions/{session_id}/explore/chunks",
  query: [],
  flags: ["read_only"],
};
const EXPLORE_CODE_SEARCH = {
  name: "explore.code_search",
  method: "POST",
  path: "/v1/sessions/{session_id}/explore/code_search",
  query: [],
  flags: ["read_only"],
};
const EXPLORE_DOC_SEARCH = {
  name: "explore.doc_search",
  method: "POST",
  path: "/v1/sessions/{session_id}/explore/doc_search",
  query: [],
  flags: ["read_only"],
};
const SEARCH_FIND = {
  name: "search.find",
  method: "POST",
  path: "/v1/search",
  query: [],
  flags: ["read_only"],
};
const EXPLORE_SUMMARIZE_CHUNKS = {
  name: "explore.summarize_chunks",
  method: "POST",
  path: "/v1/sessions/{session_id}/explore/summaries",
  query: [],
  flags: ["read_only"],
};
const EXPLORE_ARCHIVE_OPEN = {
  name: "explore.archive_open",
  method: "POST",
  path: "/v1/sessions/{session_id}/explore/archive_open",
  query: [],
  flags: ["read_only"],
};
const EXPLORE_ARCHIVE_FILE = {
  name: "explore.archive_file",
  method: "POST",
  path: "/v1/sessions/{session_id}/explore/archive_file",
  query: [],
  flags: ["read_only"],
};
const EXPLORE_ARCHIVE_SEARCH = {
  name: "explore.archive_search",
  method: "POST",
  path: "/v1/sessions/{session_id}/explore/archive_search",
  query: [],
  flags: ["read_only"],
};
const EXPLORE_ARCHIVE_EXTRACT = {
  name: "explore.archive_extract",
  method: "POST",
  path: "/v1/sessions/{session_id}/explore/archive_extract",
  query: [],
  flags: ["mutating"],
};
const EXPLORE_WEB_FETCH = {
  name: "explore.web_fetch",
  method: "POST",
  path: "/v1/sessions/{session_id}/explore/web_fetch",
  query: [],
  flags: ["read_only"],
};
const EXPLORE_LIST_DIR = {
  name: "explore.list_dir",
  method: "POST",
  path: "/v1/sessions/{session_id}/explore/list_dir",
  query: [],
  flags: ["read_only"],
};
const EXPLORE_FILE_INFO = {
  name: "explore.file_info",
  method: "POST",
  path: "/v1/sessions/{session_id}/explore/file_info",
  query: [],
  flags: ["read_only"],
};
const EXPLORE_MARK_FINDING = {
  name: "explore.mark_finding",
  method: "POST",
  path: "/v1/sessions/{session_id}/explore/findings",
  query: [],
  flags: ["mutating"],
};
const EXPLORE_LIST_FINDINGS = {
  name: "explore.list_findings",
  method: "GET",
  path: "/v1/sessions/{session_id}/explore/findings",
  query: [],
  flags: ["read_only"],
};
const EXPLORE_FINAL = {
  name: "explore.final",
  method: "POST",
  path: "/v1/sessions/{session_id}/explore/final",
  query: [],
  flags: ["mutating"],
};
const EXPLORE_STUCK = {
  name: "explore.stuck",
  method: "POST",
  path: "/v1/sessions/{session_id}/explore/stuck",
  query: [],
  flags: ["mutating"],
};
const EXPLORE_STATE = {
  name: "explore.state",
  method: "GET",
  path: "/v1/sessions/{session_id}/state",
  query: [],
  flags: ["read_only"],
};
const EXPLORE_TELL = {
  name: "explore.tell",
  method: "POST",
  path: "/v1/sessions/{session_id}/explore/state",
  query: [],
  flags: ["read_only"],
};
const TOOLBOX_LIST = {
  name: "toolbox.list",
  method: "GET",
  path: "/v1/sessions/{session_id}/toolbox",
  query: ["name", "category"],
  flags: ["read_only"],
};
const TOOLBOX_CALL = {
  name: "toolbox.call",
  method: "POST",
  path: "/v1/sessions/{session_id}/toolbox/{name}",
  query: [],
  flags: ["mutating"],
};
const TOOLBOX_LOG = {
  name: "toolbox.log",
  method: "GET",
  path: "/v1/sessions/{session_id}/toolbox/log",
  query: ["limit"],
  flags: ["read_only"],
};
const EXPLORE_RESET = {
  name: "explore.reset",
  method: "POST",
  path: "/v1/sessions/{session_id}/reset",
  query: [],
  flags: ["mutating"],
};
const EXPLORE_NODES = {
  name: "explore.nodes",
  method: "POST",
  path: "/v1/sessions/{session_id}/explore/nodes",
  query: [],
  flags: ["read_only"],
};
const EXPLORE_RESEARCH = {
  name: "explore.research",
  method: "GET",
  path: "/v1/sessions/{session_id}/explore/research",
  query: [],
  flags: ["read_only"],
};
const EXPLORE_SET_RESEARCH = {
  name: "explore.set_research",
  method: "PUT",
  path: "/v1/sessions/{session_id}/explore/research",
  query: [],
  flags: ["mutating"],
};
const EXPLORE_MARK = {
  name: "explore.mark",
  method: "POST",
  path: "/v1/sessions/{session_id}/explore/mark",
  query: [],
  flags: ["mutating"],
};
const EXPLORE_RECALL = {
  name: "explore.recall",
  method: "POST",
  path: "/v1/sessions/{session_id}/explore/recall",
  query: [],
  flags: ["read_only"],
};
const EXPLORE_OUTCOME = {
  name: "explore.outcome",
  method: "POST",
  path: "/v1/sessions/{session_id}/explore/outcome",
  query: [],
  flags: ["mutating"],
};
const SESSION_DECLARATIONS = {
  name: "session.declarations",
  method: "GET",
  path: "/v1/sessions/{session_id}/declarations",
  query: [],
  flags: ["read_only"],
};
const SESSION_IS_COMPLETE = {
  name: "session.is_complete",
  method: "POST",
  path: "/v1/sessions/{session_id}/is_complete",
  query: [],
  flags: ["read_only"],
};
const SESSION_COMPLETE = {
  name: "session.complete",
  method: "POST",
  path: "/v1/sessions/{session_id}/complete",
  query: [],
  flags: ["read_only"],
};
const SESSION_INSPECT = {
  name: "session.inspect",
  method: "POST",
  path: "/v1/sessions/{session_id}/inspect",
  query: [],
  flags: ["read_only"],
};
const SESSION_PORT = {
  name: "session.port",
  method: "GET",
  path: "/v1/sessions/{session_id}/ports/{port}",
  query: [],
  flags: ["mutating", "tunnels"],
};
const SESSION_TERMINAL = {
  name: "session.terminal",
  method: "GET",
  path: "/v1/sessions/{session_id}/terminal",
  query: ["command", "rows", "cols", "term"],
  flags: ["mutating", "runs_code"],
};
const NOTEBOOK_DECLARATIONS = {
  name: "notebook.declarations",
  method: "GET",
  path: "/v1/notebooks/{session_id}/declarations",
  query: [],
  flags: ["read_only"],
};
const NOTEBOOK_IMAGE = {
  name: "notebook.image",
  method: "GET",
  path: "/v1/notebooks/{session_id}/cells/{cell}/images/{n}",
  query: ["width", "height"],
  flags: ["read_only"],
};
const NOTEBOOK_REFERENCE = {
  name: "notebook.reference",
  method: "GET",
  path: "/v1/notebooks/{session_id}/reference",
  query: ["uri", "data", "width", "height"],
  flags: ["read_only"],
};
const SESSION_CHECKPOINTS = {
  name: "session.checkpoints",
  method: "GET",
  path: "/v1/sessions/{session_id}/checkpoints",
  query: [],
  flags: ["read_only"],
};
const SESSION_UNDO = {
  name: "session.undo",
  method: "POST",
  path: "/v1/sessions/{session_id}/undo",
  query: [],
  flags: ["mutating"],
};
const SESSION_REDO = {
  name: "session.redo",
  method: "POST",
  path: "/v1/sessions/{session_id}/redo",
  query: [],
  flags: ["mutating"],
};
const SESSION_CELLS = {
  name: "session.cells",
  method: "GET",
  path: "/v1/sessions/{session_id}/cells",
  query: ["offset", "limit"],
  flags: ["read_only"],
};
const SESSION_BRANCH = {
  name: "session.branch",
  method: "POST",
  path: "/v1/sessions/{session_id}/branch",
  query: [],
  flags: ["mutating", "makes_session"],
};
const SESSION_TRY = {
  name: "session.try",
  method: "POST",
  path: "/v1/sessions/{session_id}/try",
  query: [],
  flags: ["mutating", "runs_code"],
};
const TRY_COMMIT = {
  name: "try.commit",
  method: "POST",
  path: "/v1/sessions/{session_id}/tries/{try_id}/commit",
  query: [],
  flags: ["mutating"],
};
const TRY_DISCARD = {
  name: "try.discard",
  method: "POST",
  path: "/v1/sessions/{session_id}/tries/{try_id}/discard",
  query: [],
  flags: ["mutating"],
};
const SESSION_CREATE = {
  name: "session.create",
  method: "POST",
  path: "/v1/sessions",
  query: [],
  flags: ["mutating", "makes_session"],
};
const SESSION_LIST = {
  name: "session.list",
  method: "GET",
  path: "/v1/sessions",
  query: ["state", "runtime", "label", "name", "agent", "sort", "limit", "cursor"],
  flags: ["read_only"],
};
const SESSION_GET = {
  name: "session.get",
  method: "GET",
  path: "/v1/sessions/{session_id}",
  query: [],
  flags: ["read_only"],
};
const SESSION_EDIT = {
  name: "session.edit",
  method: "PATCH",
  path: "/v1/sessions/{session_id}",
  query: [],
  flags: ["mutating"],
};
const SESSION_SUSPEND = {
  name: "session.suspend",
  method: "POST",
  path: "/v1/sessions/{session_id}/suspend",
  query: [],
  flags: ["mutating"],
};
const SESSION_RESUME = {
  name: "session.resume",
  method: "POST",
  path: "/v1/sessions/{session_id}/resume",
  query: [],
  flags: ["mutating"],
};
const SESSION_DELETE = {
  name: "session.delete",
  method: "DELETE",
  path: "/v1/sessions/{session_id}",
  query: ["keep_notebook"],
  flags: ["mutating"],
};
const CELL_RUN = {
  name: "cell.run",
  method: "POST",
  path: "/v1/notebooks/{session_id}/cells/{cell}/run",
  query: [],
  flags: ["mutating", "streams", "runs_code"],
};
const CELL_ADD = {
  name: "cell.add",
  method: "POST",
  path: "/v1/notebooks/{session_id}/cells",
  query: [],
  flags: ["mutating", "streams", "runs_code"],
};
const CELL_GET = {
  name: "cell.get",
  method: "GET",
  path: "/v1/notebooks/{session_id}/cells/{cell}",
  query: ["outputs"],
  flags: ["read_only"],
};
const CELL_EDIT = {
  name: "cell.edit",
  method: "PATCH",
  path: "/v1/notebooks/{session_id}/cells/{cell}",
  query: [],
  flags: ["mutating"],
};
const CELL_DELETE = {
  name: "cell.delete",
  method: "DELETE",
  path: "/v1/notebooks/{session_id}/cells/{cell}",
  query: [],
  flags: ["mutating"],
};
const CELL_MOVE = {
  name: "cell.move",
  method: "POST",
  path: "/v1/notebooks/{session_id}/cells/{cell}/move",
  query: [],
  flags: ["mutating"],
};
const CELL_CLEAR = {
  name: "cell.clear",
  method: "POST",
  path: "/v1/notebooks/{session_id}/cells/{cell}/clear",
  query: [],
  flags: ["mutating"],
};
const CELL_LIST = {
  name: "cell.list",
  method: "GET",
  path: "/v1/notebooks/{session_id}/cells",
  query: ["offset", "limit", "outputs"],
  flags: ["read_only"],
};
const NOTEBOOK_RUN = {
  name: "notebook.run",
  method: "POST",
  path: "/v1/notebooks/{session_id}/run",
  query: [],
  flags: ["mutating", "streams", "runs_code"],
};
const NOTEBOOK_EVENTS = {
  name: "notebook.events",
  method: "GET",
  path: "/v1/notebooks/{session_id}/events",
  query: [],
  flags: ["read_only", "streams", "only_streams"],
};
const NOTEBOOK_EXPORT = {
  name: "notebook.export",
  method: "GET",
  path: "/v1/notebooks/{session_id}/export",
  query: ["format"],
  flags: ["read_only"],
};
const NOTEBOOK_CLEAR = {
  name: "notebook.clear",
  method: "POST",
  path: "/v1/notebooks/{session_id}/clear",
  query: [],
  flags: ["mutating"],
};
const NOTEBOOK_RESET = {
  name: "notebook.reset",
  method: "POST",
  path: "/v1/notebooks/{session_id}/reset",
  query: [],
  flags: ["mutating"],
};
const NOTEBOOK_IMPORT = {
  name: "notebook.import",
  method: "POST",
  path: "/v1/notebooks/import",
  query: [],
  flags: ["mutating"],
};
const NOTEBOOK_CREATE = {
  name: "notebook.create",
  method: "POST",
  path: "/v1/notebooks",
  query: [],
  flags: ["mutating", "makes_session"],
};
const NOTEBOOK_LIST = {
  name: "notebook.list",
  method: "GET",
  path: "/v1/notebooks",
  query: ["user", "offset", "limit"],
  flags: ["read_only"],
};
const NOTEBOOK_GET = {
  name: "notebook.get",
  method: "GET",
  path: "/v1/notebooks/{session_id}",
  query: ["outputs", "offset", "limit"],
  flags: ["read_only"],
};
const NOTEBOOK_EDIT = {
  name: "notebook.edit",
  method: "PATCH",
  path: "/v1/notebooks/{session_id}",
  query: [],
  flags: ["mutating"],
};
const NOTEBOOK_DELETE = {
  name: "notebook.delete",
  method: "DELETE",
  path: "/v1/notebooks/{session_id}",
  query: [],
  flags: ["mutating"],
};
const FILE_GET = {
  name: "file.get",
  method: "GET",
  path: "/v1/files/{token}/{name}",
  query: [],
  flags: ["read_only", "public"],
};
const HEALTH = {
  name: "health",
  method: "GET",
  path: "/health",
  query: [],
  flags: ["read_only", "public"],
};
const HEALTH_DETAILED = {
  name: "health.detailed",
  method: "GET",
  path: "/health/detailed",
  query: [],
  flags: ["read_only"],
};
const OAUTH_RESOURCE = {
  name: "oauth.resource",
  method: "GET",
  path: "/.well-known/oauth-protected-resource",
  query: [],
  flags: ["read_only", "public"],
};
const OAUTH_RESOURCE_MCP = {
  name: "oauth.resource_mcp",
  method: "GET",
  path: "/.well-known/oauth-protected-resource/mcp",
  query: [],
  flags: ["read_only", "public"],
};
const API_INDEX = {
  name: "api.index",
  method: "GET",
  path: "/v1",
  query: [],
  flags: ["read_only", "public"],
};
const API_OPENAPI = {
  name: "api.openapi",
  method: "GET",
  path: "/openapi.json",
  query: [],
  flags: ["read_only", "public"],
};
const API_ROOT = {
  name: "api.root",
  method: "GET",
  path: "/",
  query: [],
  flags: ["read_only", "public"],
};
const OPERATION_LIST = {
  name: "operation.list",
  method: "GET",
  path: "/v1/operations",
  query: [],
  flags: ["read_only"],
};
const AGENT_LIST = {
  name: "agent.list",
  method: "GET",
  path: "/v1/agents",
  query: [],
  flags: ["read_only"],
};
const SESSION_PLAN_ENTER = {
  name: "session.plan.enter",
  method: "PUT",
  path: "/v1/sessions/{session_id}/plan",
  query: [],
  flags: ["mutating"],
};
const SESSION_PLAN_LEAVE = {
  name: "session.plan.leave",
  method: "DELETE",
  path: "/v1/sessions/{session_id}/plan",
  query: [],
  flags: ["mutating"],
};
const AGENT_PLAN_ENTER = {
  name: "agent.plan.enter",
  method: "PUT",
  path: "/v1/agents/{agent}/plan",
  query: [],
  flags: ["mutating"],
};
const AGENT_PLAN_LEAVE = {
  name: "agent.plan.leave",
  method: "DELETE",
  path: "/v1/agents/{agent}/plan",
  query: [],
  flags: ["mutating"],
};
const MEMORY_LIST = {
  name: "memory.list",
  method: "GET",
  path: "/v1/memories",
  query: ["user", "offset", "limit"],
  flags: ["read_only"],
};
const MEMORY_DELETE = {
  name: "memory.delete",
  method: "DELETE",
  path: "/v1/memories/{memory}",
  query: [],
  flags: ["mutating"],
};
const MEMORY_CLEAR = {
  name: "memory.clear",
  method: "DELETE",
  path: "/v1/memories",
  query: ["user"],
  flags: ["mutating"],
};
const STATE_LIST = {
  name: "state.list",
  method: "GET",
  path: "/v1/states",
  query: [],
  flags: ["read_only"],
};
const STATE_GET = {
  name: "state.get",
  method: "GET",
  path: "/v1/states/{name}",
  query: ["with_state"],
  flags: ["read_only"],
};
const STATE_DELETE = {
  name: "state.delete",
  method: "DELETE",
  path: "/v1/states/{name}",
  query: [],
  flags: ["mutating"],
};
const REPL = {
  name: "repl",
  method: "POST",
  path: "/v1/repl",
  query: [],
  flags: ["mutating", "makes_session", "runs_code"],
};
const TOOL_RUN = {
  name: "tool.run",
  method: "POST",
  path: "/v1/tools/run",
  query: [],
  flags: ["mutating", "streams", "makes_session", "runs_code"],
};
const TOOL_WAIT = {
  name: "tool.wait",
  method: "POST",
  path: "/v1/tools/wait",
  query: [],
  flags: ["mutating", "streams", "runs_code"],
};
const TOOL_BACK = {
  name: "tool.back",
  method: "POST",
  path: "/v1/tools/back",
  query: [],
  flags: ["mutating", "makes_session", "runs_code"],
};
const TOOL_LOOK = {
  name: "tool.look",
  method: "POST",
  path: "/v1/tools/look",
  query: [],
  flags: ["read_only"],
};
const TOOL_CONTEXT = {
  name: "tool.context",
  method: "POST",
  path: "/v1/tools/context",
  query: [],
  flags: ["mutating"],
};
const TOOL_PEEK = {
  name: "tool.peek",
  method: "POST",
  path: "/v1/tools/peek",
  query: [],
  flags: ["read_only"],
};
const TOOL_GREP = {
  name: "tool.grep",
  method: "POST",
  path: "/v1/tools/grep",
  query: [],
  flags: ["read_only"],
};
const TOOL_EXPLORE = {
  name: "tool.explore",
  method: "POST",
  path: "/v1/tools/explore",
  query: [],
  flags: ["mutating"],
};
const TOOL_RECALL = {
  name: "tool.recall",
  method: "POST",
  path: "/v1/tools/recall",
  query: [],
  flags: ["read_only"],
};
const TOOL_OUTCOME = {
  name: "tool.outcome",
  method: "POST",
  path: "/v1/tools/outcome",
  query: [],
  flags: ["mutating"],
};
const TOOL_FILE = {
  name: "tool.file",
  method: "POST",
  path: "/v1/tools/file",
  query: [],
  flags: ["mutating", "makes_session"],
};
const TOOL_EXECUTE_CELL = {
  name: "tool.execute_cell",
  method: "POST",
  path: "/v1/tools/execute_cell",
  query: [],
  flags: ["mutating", "streams", "makes_session", "runs_code"],
};
const TOOL_RERUN_CELL = {
  name: "tool.rerun_cell",
  method: "POST",
  path: "/v1/tools/rerun_cell",
  query: [],
  flags: ["mutating", "streams", "runs_code"],
};
const TOOL_SHOW_CELL = {
  name: "tool.show_cell",
  method: "POST",
  path: "/v1/tools/show_cell",
  query: [],
  flags: ["read_only"],
};
const TOOL_SHOW_NOTEBOOK = {
  name: "tool.show_notebook",
  method: "POST",
  path: "/v1/tools/show_notebook",
  query: [],
  flags: ["read_only"],
};
const TOOL_DELETE_CELL = {
  name: "tool.delete_cell",
  method: "POST",
  path: "/v1/tools/delete_cell",
  query: [],
  flags: ["mutating"],
};
const TOOL_CLEAR_NOTEBOOK = {
  name: "tool.clear_notebook",
  method: "POST",
  path: "/v1/tools/clear_notebook",
  query: [],
  flags: ["mutating"],
};
const TOOL_CREATE_NOTEBOOK = {
  name: "tool.create_notebook",
  method: "POST",
  path: "/v1/tools/create_notebook",
  query: [],
  flags: ["mutating", "makes_session"],
};
const TOOL_EXPORT_IPYNB = {
  name: "tool.export_ipynb",
  method: "POST",
  path: "/v1/tools/export_ipynb",
  query: [],
  flags: ["mutating"],
};
const TOOL_LIST = {
  name: "tool.list",
  method: "GET",
  path: "/v1/tools",
  query: ["sets"],
  flags: ["read_only", "public"],
};

/** One method for each operation: docs/API.md has examples. */
export class Operations {
  /** Runs a cell in a session and answers with its output, value and error. */
  sessionExec(args, options) {
    return this._json(SESSION_EXEC, args, options);
  }

  /** Runs a cell in a session and answers with its output, value and error. */
  sessionExecText(args, options) {
    return this._text(SESSION_EXEC, args, options);
  }

  /** Runs a cell in a session and answers with its output, value and error. */
  sessionExecEvents(args, options) {
    return this._events(SESSION_EXEC, args, options);
  }

  /** Waits on for a cell that still ran when it was last asked about; answers with what is new. */
  execContinue(args, options) {
    return this._json(EXEC_CONTINUE, args, options);
  }

  /** Waits on for a cell that still ran when it was last asked about; answers with what is new. */
  execContinueText(args, options) {
    return this._text(EXEC_CONTINUE, args, options);
  }

  /** Waits on for a cell that still ran when it was last asked about; answers with what is new. */
  execContinueEvents(args, options) {
    return this._events(EXEC_CONTINUE, args, options);
  }

  /** Runs code once, in a sandbox of its own that ends with it. */
  exec(args, options) {
    return this._json(EXEC, args, options);
  }

  /** Runs code once, in a sandbox of its own that ends with it. */
  execEvents(args, options) {
    return this._events(EXEC, args, options);
  }

  /** Gives a line to the cell that waits for one, and waits for its next answer. */
  sessionInput(args, options) {
    return this._json(SESSION_INPUT, args, options);
  }

  /** Gives a line to the cell that waits for one, and waits for its next answer. */
  sessionInputText(args, options) {
    return this._text(SESSION_INPUT, args, options);
  }

  /** Gives a line to the cell that waits for one, and waits for its next answer. */
  sessionInputEvents(args, options) {
    return this._events(SESSION_INPUT, args, options);
  }

  /** Answers calls of tools that the caller has handed in, and waits for the cell's next answer. */
  execToolResults(args, options) {
    return this._json(EXEC_TOOL_RESULTS, args, options);
  }

  /** Answers calls of tools that the caller has handed in, and waits for the cell's next answer. */
  execToolResultsText(args, options) {
    return this._text(EXEC_TOOL_RESULTS, args, options);
  }

  /** Answers calls of tools that the caller has handed in, and waits for the cell's next answer. */
  execToolResultsEvents(args, options) {
    return this._events(EXEC_TOOL_RESULTS, args, options);
  }

  /** Interrupts the running cell, as Ctrl-C would; the session keeps its state. */
  sessionInterrupt(args, options) {
    return this._json(SESSION_INTERRUPT, args, options);
  }

  /** Reads what cells wrote, page by page; the oldest bytes may have been dropped. */
  sessionOutput(args, options) {
    return this._json(SESSION_OUTPUT, args, options);
  }

  /**
   * Lists the names that the session's code has made, with types and sizes; of a busy session
   * those after an earlier cell.
   */
  sessionNames(args, options) {
    return this._json(SESSION_NAMES, args, options);
  }

  /** Puts a file into the session's workspace, or in place of one: the body is its bytes. */
  sessionFilePut(args, data, options) {
    return this._json(SESSION_FILE_PUT, args, data, options);
  }

  /** A file of the session's workspace, as it is now; parts of it by the Range header. */
  sessionFileGet(args, options) {
    return this._bytes(SESSION_FILE_GET, args, options);
  }

  /** Deletes a file or folder of the workspace; a link is deleted, not what it leads to. */
  sessionFileDelete(args, options) {
    return this._json(SESSION_FILE_DELETE, args, options);
  }

  /** What is in a folder of the session's workspace, page by page. */
  sessionFileList(args, options) {
    return this._json(SESSION_FILE_LIST, args, options);
  }

  /** What a path of the workspace is: its type, bytes, mode and time. */
  sessionFileStat(args, options) {
    return this._json(SESSION_FILE_STAT, args, options);
  }

  /** Makes a folder in the session's workspace; one that is there already is fine. */
  sessionFileMkdir(args, options) {
    return this._json(SESSION_FILE_MKDIR, args, options);
  }

  /** Moves a file or folder of the workspace, or gives it another name. */
  sessionFileMove(args, options) {
    return this._json(SESSION_FILE_MOVE, args, options);
  }

  /** Copies a file, or a folder with all that is in it, within the workspace. */
  sessionFileCopy(args, options) {
    return this._json(SESSION_FILE_COPY, args, options);
  }

  /** A folder of the workspace as a tar archive, packed while it is sent. */
  sessionArchiveGet(args, options) {
    return this._bytes(SESSION_ARCHIVE_GET, args, options);
  }

  /** Unpacks a tar archive, the body, into a folder of the workspace: all of it or nothing. */
  sessionArchivePut(args, data, options) {
    return this._json(SESSION_ARCHIVE_PUT, args, data, options);
  }

  /** What changes in a folder of the workspace, as server-sent events, while it does. */
  sessionFileEvents(args, options) {
    return this._events(SESSION_FILE_EVENTS, args, options);
  }

  /**
   * Makes a file of the workspace, or a text, a context: it is explored with peek and grep, and
   * never read into the interpreter unless code asks for that.
   */
  contextLoad(args, options) {
    return this._json(CONTEXT_LOAD, args, options);
  }

  /** Makes the body a context, however large it is. */
  contextPut(args, data, options) {
    return this._json(CONTEXT_PUT, args, data, options);
  }

  /** Tells how large a context is. */
  contextGet(args, options) {
    return this._json(CONTEXT_GET, args, options);
  }

  /** Lists the contexts of a session. */
  contextList(args, options) {
    return this._json(CONTEXT_LIST, args, options);
  }

  /** Forgets a context; checkpoints from before still have it. */
  contextDelete(args, options) {
    return this._json(CONTEXT_DELETE, args, options);
  }

  /** Shows some characters of a context, or of a file of the workspace, from anywhere in it. */
  explorePeek(args, options) {
    return this._json(EXPLORE_PEEK, args, options);
  }

  /** Searches a context, or a file of the workspace, for a regular expression, line by line. */
  exploreGrep(args, options) {
    return this._json(EXPLORE_GREP, args, options);
  }

  /** Divides a context, or a file of the workspace, into pieces of about the same size. */
  exploreChunks(args, options) {
    return this._json(EXPLORE_CHUNKS, args, options);
  }

  /** Finds functions, classes and methods in the code of the workspace by what they say. */
  exploreCodeSearch(args, options) {
    return this._json(EXPLORE_CODE_SEARCH, args, options);
  }

  /** Finds sections in the documents of the workspace by what they say. */
  exploreDocSearch(args, options) {
    return this._json(EXPLORE_DOC_SEARCH, args, options);
  }

  /** Finds code, or sections of documents, in a corpus or in the files of a session. */
  searchFind(args, options) {
    return this._json(SEARCH_FIND, args, options);
  }

  /**
   * Divides a text as explore.chunks does and says of each piece where it lies, how many lines
   * it has and how it begins; the model of the configuration (toolbox.llm) says what is in it.
   */
  exploreSummarizeChunks(args, options) {
    return this._json(EXPLORE_SUMMARIZE_CHUNKS, args, options);
  }

  /** Lists an archive of the workspace. */
  exploreArchiveOpen(args, options) {
    return this._json(EXPLORE_ARCHIVE_OPEN, args, options);
  }

  /** Shows some characters of a file in an archive; of a PDF in it, of its text. */
  exploreArchiveFile(args, options) {
    return this._json(EXPLORE_ARCHIVE_FILE, args, options);
  }

  /** Searches the text files of an archive for a text. */
  exploreArchiveSearch(args, options) {
    return this._json(EXPLORE_ARCHIVE_SEARCH, args, options);
  }

  /** Unpacks an archive of the workspace into a folder of it. */
  exploreArchiveExtract(args, options) {
    return this._json(EXPLORE_ARCHIVE_EXTRACT, args, options);
  }

  /**
   * Fetches a page of the web as text, from domains that the configuration lists; of others
   * none.
   */
  exploreWebFetch(args, options) {
    return this._json(EXPLORE_WEB_FETCH, args, options);
  }

  /** Lists a folder of the workspace, for code that explores. */
  exploreListDir(args, options) {
    return this._json(EXPLORE_LIST_DIR, args, options);
  }

  /** Tells of a file or folder of the workspace, for code that explores. */
  exploreFileInfo(args, options) {
    return this._json(EXPLORE_FILE_INFO, args, options);
  }

  /** Notes something that was found, so that it is there later. */
  exploreMarkFinding(args, options) {
    return this._json(EXPLORE_MARK_FINDING, args, options);
  }

  /** Lists what was noted as found. */
  exploreListFindings(args, options) {
    return this._json(EXPLORE_LIST_FINDINGS, args, options);
  }

  /** Gives the answer to the agent's task; the answer of the cell that calls it has it. */
  exploreFinal(args, options) {
    return this._json(EXPLORE_FINAL, args, options);
  }

  /** Says that the agent's task cannot be done, and why. */
  exploreStuck(args, options) {
    return this._json(EXPLORE_STUCK, args, options);
  }

  /** Tells what was explored so far, as a text for models and in parts. */
  exploreState(args, options) {
    return this._json(EXPLORE_STATE, args, options);
  }

  /**
   * Tells what was explored so far, with variables that the caller knows of: get_state() in a
   * cell.
   */
  exploreTell(args, options) {
    return this._json(EXPLORE_TELL, args, options);
  }

  /** Lists the tools that code of this session can call, with what they take. */
  toolboxList(args, options) {
    return this._json(TOOLBOX_LIST, args, options);
  }

  /** Calls a tool of the toolbox: in the session's sandbox, with its files. */
  toolboxCall(args, options) {
    return this._json(TOOLBOX_CALL, args, options);
  }

  /** The newest calls of tools in this session, with who called and how it went. */
  toolboxLog(args, options) {
    return this._json(TOOLBOX_LOG, args, options);
  }

  /**
   * Forgets the research tree, the log, findings and the answer; contexts, outputs and variables
   * stay.
   */
  exploreReset(args, options) {
    return this._json(EXPLORE_RESET, args, options);
  }

  /** Lists nodes of the research tree. */
  exploreNodes(args, options) {
    return this._json(EXPLORE_NODES, args, options);
  }

  /** Tells the research tree and the exploration log: to_dict() in a cell. */
  exploreResearch(args, options) {
    return this._json(EXPLORE_RESEARCH, args, options);
  }

  /**
   * Puts a research tree and an exploration log that were told before in place of those that
   * there are: from_dict() in a cell.
   */
  exploreSetResearch(args, options) {
    return this._json(EXPLORE_SET_RESEARCH, args, options);
  }

  /** Marks a node of the research tree as analyzed, or as not true any more. */
  exploreMark(args, options) {
    return this._json(EXPLORE_MARK, args, options);
  }

  /**
   * Looks for similar tasks that the session's agent and user explored before, in any session,
   * and how that went.
   */
  exploreRecall(args, options) {
    return this._json(EXPLORE_RECALL, args, options);
  }

  /**
   * Remembers how the session explored its task and what became of it, for recall in later
   * sessions of the same agent and user.
   */
  exploreOutcome(args, options) {
    return this._json(EXPLORE_OUTCOME, args, options);
  }

  /**
   * What the code has imported and defined, as source that can be run again, and what could not
   * be saved, with advice.
   */
  sessionDeclarations(args, options) {
    return this._json(SESSION_DECLARATIONS, args, options);
  }

  /**
   * Whether a text is a whole piece of code to the session's interpreter, which does not run it:
   * complete, incomplete, invalid, or unknown if the session is busy or the text is longer than
   * 64 KiB.
   */
  sessionIsComplete(args, options) {
    return this._json(SESSION_IS_COMPLETE, args, options);
  }

  /**
   * Tells how a text could go on at a place: names, attributes, keys, files. Of a busy session
   * only names are known, those after an earlier cell.
   */
  sessionComplete(args, options) {
    return this._json(SESSION_COMPLETE, args, options);
  }

  /**
   * Tells what stands at a place of a text: type, short value, signature, documentation. A busy
   * session is refused.
   */
  sessionInspect(args, options) {
    return this._json(SESSION_INSPECT, args, options);
  }

  /**
   * Passes the request, of any method, on to an HTTP or WebSocket server in the session: what
   * follows the port is the path there.
   */
  sessionPort(args, options) {
    return this._tunnel(SESSION_PORT, args, options);
  }

  /**
   * Opens a terminal in the session, as a WebSocket: binary messages are what is typed and
   * shown.
   */
  sessionTerminal(args, options) {
    return this._socket(SESSION_TERMINAL, args, options);
  }

  /**
   * What the code has imported and defined, as source that can be run again, and what could not
   * be saved, with advice.
   */
  notebookDeclarations(args, options) {
    return this._json(NOTEBOOK_DECLARATIONS, args, options);
  }

  /** An image that a cell has shown, as it is or smaller. */
  notebookImage(args, options) {
    return this._bytes(NOTEBOOK_IMAGE, args, options);
  }

  /**
   * What a notebook:// reference stands for: format, size and address of an image, and the image
   * itself if that is asked for.
   */
  notebookReference(args, options) {
    return this._json(NOTEBOOK_REFERENCE, args, options);
  }

  /** Lists the points of a session's history that it can go back to. */
  sessionCheckpoints(args, options) {
    return this._json(SESSION_CHECKPOINTS, args, options);
  }

  /** Takes a session back to a checkpoint, with its variables, files and processes. */
  sessionUndo(args, options) {
    return this._json(SESSION_UNDO, args, options);
  }

  /** Takes a session to where its last undo came from. */
  sessionRedo(args, options) {
    return this._json(SESSION_REDO, args, options);
  }

  /** Lists the cells that a session has run, with their code. */
  sessionCells(args, options) {
    return this._json(SESSION_CELLS, args, options);
  }

  /** Makes live copies of a session, each with its own sandbox, files and limits. */
  sessionBranch(args, options) {
    return this._json(SESSION_BRANCH, args, options);
  }

  /** Runs a cell and answers with what it changed; then it is kept or taken back. */
  sessionTry(args, options) {
    return this._json(SESSION_TRY, args, options);
  }

  /** Runs a cell and answers with what it changed; then it is kept or taken back. */
  sessionTryText(args, options) {
    return this._text(SESSION_TRY, args, options);
  }

  /** Keeps what a try did. */
  tryCommit(args, options) {
    return this._json(TRY_COMMIT, args, options);
  }

  /** Takes back what a try did, with its variables, files and processes. */
  tryDiscard(args, options) {
    return this._json(TRY_DISCARD, args, options);
  }

  /** Starts a session: an interpreter of its own in a sandbox of its own. */
  sessionCreate(args = {}, options) {
    return this._json(SESSION_CREATE, args, options);
  }

  /** Lists sessions page by page, those that have ended last; these stay until they are deleted. */
  sessionList(args = {}, options) {
    return this._json(SESSION_LIST, args, options);
  }

  /** Shows one session. */
  sessionGet(args, options) {
    return this._json(SESSION_GET, args, options);
  }

  /** Changes a session's name, its labels, or how long it may be idle and how old it may become. */
  sessionEdit(args, options) {
    return this._json(SESSION_EDIT, args, options);
  }

  /**
   * Gives up the processes of an idle session. Answered when all of it that can be saved is on
   * disk; what cannot be is in "lost". A cell or a resumption brings it back.
   */
  sessionSuspend(args, options) {
    return this._json(SESSION_SUSPEND, args, options);
  }

  /** Brings a suspended session back without a cell, and says what of it is lost. */
  sessionResume(args, options) {
    return this._json(SESSION_RESUME, args, options);
  }

  /**
   * Ends a session with every process and file of it; who works in it gets SIGTERM first, and
   * two seconds.
   */
  sessionDelete(args, options) {
    return this._json(SESSION_DELETE, args, options);
  }

  /** Runs a cell of a notebook, again or for the first time, and answers as session.exec does. */
  cellRun(args, options) {
    return this._json(CELL_RUN, args, options);
  }

  /** Runs a cell of a notebook, again or for the first time, and answers as session.exec does. */
  cellRunText(args, options) {
    return this._text(CELL_RUN, args, options);
  }

  /** Runs a cell of a notebook, again or for the first time, and answers as session.exec does. */
  cellRunEvents(args, options) {
    return this._events(CELL_RUN, args, options);
  }

  /** Puts a cell into a notebook, and runs it if that is wanted. */
  cellAdd(args, options) {
    return this._json(CELL_ADD, args, options);
  }

  /** Puts a cell into a notebook, and runs it if that is wanted. */
  cellAddText(args, options) {
    return this._text(CELL_ADD, args, options);
  }

  /** Puts a cell into a notebook, and runs it if that is wanted. */
  cellAddEvents(args, options) {
    return this._events(CELL_ADD, args, options);
  }

  /** Shows one cell of a notebook with its outputs. */
  cellGet(args, options) {
    return this._json(CELL_GET, args, options);
  }

  /** Changes code, kind or metadata of a cell. */
  cellEdit(args, options) {
    return this._json(CELL_EDIT, args, options);
  }

  /** Removes a cell from its notebook; what it did stays done. */
  cellDelete(args, options) {
    return this._json(CELL_DELETE, args, options);
  }

  /** Puts a cell at another place of its notebook. */
  cellMove(args, options) {
    return this._json(CELL_MOVE, args, options);
  }

  /** Removes the outputs of a cell. */
  cellClear(args, options) {
    return this._json(CELL_CLEAR, args, options);
  }

  /** Lists the cells of a notebook in their order, page by page. */
  cellList(args, options) {
    return this._json(CELL_LIST, args, options);
  }

  /** Runs the code of a notebook from one cell to another, one after the other. */
  notebookRun(args, options) {
    return this._json(NOTEBOOK_RUN, args, options);
  }

  /** Runs the code of a notebook from one cell to another, one after the other. */
  notebookRunEvents(args, options) {
    return this._events(NOTEBOOK_RUN, args, options);
  }

  /** What happens to a notebook, as server-sent events, until it is deleted. */
  notebookEvents(args, options) {
    return this._events(NOTEBOOK_EVENTS, args, options);
  }

  /** A notebook as a file: for Jupyter, to read, or to run. */
  notebookExport(args, options) {
    return this._bytes(NOTEBOOK_EXPORT, args, options);
  }

  /** Removes all outputs of a notebook, or all its cells; never variables. */
  notebookClear(args, options) {
    return this._json(NOTEBOOK_CLEAR, args, options);
  }

  /** Gives a notebook a fresh interpreter; cells and files stay as they are. */
  notebookReset(args, options) {
    return this._json(NOTEBOOK_RESET, args, options);
  }

  /** Makes a notebook of a file: an ipynb of Jupyter's, or a cells.json. */
  notebookImport(args, options) {
    return this._json(NOTEBOOK_IMPORT, args, options);
  }

  /** Makes a notebook and the session that runs it. */
  notebookCreate(args = {}, options) {
    return this._json(NOTEBOOK_CREATE, args, options);
  }

  /**
   * Lists the notebooks that have begun, by a first cell or change, the newest first, also those
   * whose session is gone.
   */
  notebookList(args = {}, options) {
    return this._json(NOTEBOOK_LIST, args, options);
  }

  /** Shows a notebook and its cells, page by page. */
  notebookGet(args, options) {
    return this._json(NOTEBOOK_GET, args, options);
  }

  /** Changes the title or the metadata of a notebook. */
  notebookEdit(args, options) {
    return this._json(NOTEBOOK_EDIT, args, options);
  }

  /** Deletes a notebook with its cells and images; a session that it has lives on. */
  notebookDelete(args, options) {
    return this._json(NOTEBOOK_DELETE, args, options);
  }

  /** A file that a run made, as long as it is kept. */
  fileGet(args, options) {
    return this._bytes(FILE_GET, args, options);
  }

  /** Whether the daemon is ready to run code. */
  health(args = {}, options) {
    return this._json(HEALTH, args, options);
  }

  /** Runs a line of code, and tells what is ready for more and what is not. */
  healthDetailed(args = {}, options) {
    return this._json(HEALTH_DETAILED, args, options);
  }

  /** Where clients get tokens for this server, if the configuration names issuers. */
  oauthResource(args = {}, options) {
    return this._json(OAUTH_RESOURCE, args, options);
  }

  /** The same for the MCP endpoint. */
  oauthResourceMcp(args = {}, options) {
    return this._json(OAUTH_RESOURCE_MCP, args, options);
  }

  /** What there is: every operation with its path, in short. */
  apiIndex(args = {}, options) {
    return this._json(API_INDEX, args, options);
  }

  /** The API as OpenAPI 3.1: every operation, parameter and answer. */
  apiOpenapi(args = {}, options) {
    return this._json(API_OPENAPI, args, options);
  }

  /**
   * What there is: every operation with its path, in short. A short page for people who accept
   * text/html or text/plain.
   */
  apiRoot(args = {}, options) {
    return this._json(API_ROOT, args, options);
  }

  /** Lists all operations: their paths, their parameters and what they use. */
  operationList(args = {}, options) {
    return this._json(OPERATION_LIST, args, options);
  }

  /** Lists the agents of the configuration, what they may do and who is in plan mode. */
  agentList(args = {}, options) {
    return this._json(AGENT_LIST, args, options);
  }

  /** Puts a session in plan mode: until it is left, nothing that changes the session runs. */
  sessionPlanEnter(args, options) {
    return this._json(SESSION_PLAN_ENTER, args, options);
  }

  /** Leaves the plan mode of a session. */
  sessionPlanLeave(args, options) {
    return this._json(SESSION_PLAN_LEAVE, args, options);
  }

  /** Puts an agent in plan mode, with all its sessions, also those to come. */
  agentPlanEnter(args, options) {
    return this._json(AGENT_PLAN_ENTER, args, options);
  }

  /** Leaves the plan mode of an agent; sessions may be in plan mode by themselves. */
  agentPlanLeave(args, options) {
    return this._json(AGENT_PLAN_LEAVE, args, options);
  }

  /** Lists what an agent remembers of explorations. */
  memoryList(args = {}, options) {
    return this._json(MEMORY_LIST, args, options);
  }

  /** Forgets what is remembered of one exploration. */
  memoryDelete(args, options) {
    return this._json(MEMORY_DELETE, args, options);
  }

  /** Forgets all that an agent remembers of explorations, or what it does for one user. */
  memoryClear(args = {}, options) {
    return this._json(MEMORY_CLEAR, args, options);
  }

  /** Lists the states that are kept under a name: the first thousand. */
  stateList(args = {}, options) {
    return this._json(STATE_LIST, args, options);
  }

  /** A state that is kept under a name: its size, how long it is kept, and itself. */
  stateGet(args, options) {
    return this._json(STATE_GET, args, options);
  }

  /** Forgets the state that is kept under a name, if there is one. */
  stateDelete(args, options) {
    return this._json(STATE_DELETE, args, options);
  }

  /** The repl tool: spawn, exec, read, kill and list sessions of an agent. */
  repl(args, options) {
    return this._json(REPL, args, options);
  }

  /**
   * Runs code in a live session whose variables and files stay; without a session in the
   * caller's own, which is made if there is none.
   */
  toolRun(args, options) {
    return this._json(TOOL_RUN, args, options);
  }

  /**
   * Runs code in a live session whose variables and files stay; without a session in the
   * caller's own, which is made if there is none.
   */
  toolRunEvents(args, options) {
    return this._events(TOOL_RUN, args, options);
  }

  /**
   * Waits on for code that still runs, and answers with what is new; gives it a line, or
   * interrupts it.
   */
  toolWait(args = {}, options) {
    return this._json(TOOL_WAIT, args, options);
  }

  /**
   * Waits on for code that still runs, and answers with what is new; gives it a line, or
   * interrupts it.
   */
  toolWaitEvents(args = {}, options) {
    return this._events(TOOL_WAIT, args, options);
  }

  /**
   * Goes back and forth in a session's history: undo, redo, branches, tries, the list of
   * checkpoints; or ends it.
   */
  toolBack(args, options) {
    return this._json(TOOL_BACK, args, options);
  }

  /**
   * Shows what there is: names, one of them in detail, files, sessions, the output of an earlier
   * cell or lines of it.
   */
  toolLook(args = {}, options) {
    return this._json(TOOL_LOOK, args, options);
  }

  /** Holds a file of the session as a context, or lists the contexts. */
  toolContext(args = {}, options) {
    return this._json(TOOL_CONTEXT, args, options);
  }

  /** Shows some characters of a context, or of a file. */
  toolPeek(args = {}, options) {
    return this._json(TOOL_PEEK, args, options);
  }

  /** Searches a context, or a file, for a regular expression. */
  toolGrep(args, options) {
    return this._json(TOOL_GREP, args, options);
  }

  /**
   * Archives, pages, folders, chunks, findings and the answer: what code has as functions of
   * these names.
   */
  toolExplore(args, options) {
    return this._json(TOOL_EXPLORE, args, options);
  }

  /** Tells how similar tasks were explored before, and how well that went. */
  toolRecall(args, options) {
    return this._json(TOOL_RECALL, args, options);
  }

  /** Remembers how the task was explored and what became of it, for recall. */
  toolOutcome(args, options) {
    return this._json(TOOL_OUTCOME, args, options);
  }

  /** Puts, gets, lists or deletes files of a session's workspace. */
  toolFile(args, options) {
    return this._json(TOOL_FILE, args, options);
  }

  /** Adds a cell to a notebook and runs it. */
  toolExecuteCell(args, options) {
    return this._json(TOOL_EXECUTE_CELL, args, options);
  }

  /** Adds a cell to a notebook and runs it. */
  toolExecuteCellEvents(args, options) {
    return this._events(TOOL_EXECUTE_CELL, args, options);
  }

  /** Runs a cell of a notebook again, with other code if that is given. */
  toolRerunCell(args, options) {
    return this._json(TOOL_RERUN_CELL, args, options);
  }

  /** Runs a cell of a notebook again, with other code if that is given. */
  toolRerunCellEvents(args, options) {
    return this._events(TOOL_RERUN_CELL, args, options);
  }

  /** Shows a cell of a notebook: its code and what it showed. */
  toolShowCell(args, options) {
    return this._json(TOOL_SHOW_CELL, args, options);
  }

  /** Shows all cells of a notebook. */
  toolShowNotebook(args = {}, options) {
    return this._json(TOOL_SHOW_NOTEBOOK, args, options);
  }

  /** Removes a cell from a notebook; what it did stays done. */
  toolDeleteCell(args, options) {
    return this._json(TOOL_DELETE_CELL, args, options);
  }

  /** Removes all cells of a notebook; variables stay. */
  toolClearNotebook(args = {}, options) {
    return this._json(TOOL_CLEAR_NOTEBOOK, args, options);
  }

  /** Makes a notebook, which is the caller's own from then on. */
  toolCreateNotebook(args, options) {
    return this._json(TOOL_CREATE_NOTEBOOK, args, options);
  }

  /** Writes a notebook as .ipynb into its session's workspace. */
  toolExportIpynb(args, options) {
    return this._json(TOOL_EXPORT_IPYNB, args, options);
  }

  /** The tools of one or more sets as models are given them; POST /v1/tools/NAME calls one. */
  toolList(args = {}, options) {
    return this._json(TOOL_LIST, args, options);
  }
}
