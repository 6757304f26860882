"""The table of operations. Made by packaging/pages.py from the program's table of operations: do not edit."""

from ._wire import Op

SESSION_EXEC = Op("session.exec", "POST", "/v1/sessions/{session_id}/exec", (),
                  ("mutating", "streams", "runs_code"))
EXEC_CONTINUE = Op("exec.continue", "POST", "/v1/sessions/{session_id}/exec/{cell}/continue", (),
                   ("read_only", "streams"))
EXEC = Op("exec", "POST", "/v1/exec", (), ("mutating", "streams", "makes_session", "runs_code"))
SESSION_INPUT = Op("session.input", "POST", "/v1/sessions/{session_id}/input", (),
                   ("mutating", "streams", "runs_code"))
EXEC_TOOL_RESULTS = Op("exec.tool_results", "POST",
                       "/v1/sessions/{session_id}/exec/{cell}/tool_results", (),
                       ("mutating", "streams", "runs_code"))
SESSION_INTERRUPT = Op("session.interrupt", "POST", "/v1/sessions/{session_id}/interrupt", (),
                       ("mutating",))
SESSION_OUTPUT = Op("session.output", "GET", "/v1/sessions/{session_id}/output",
                    ("number", "offset", "limit", "stream"), ("read_only",))
SESSION_NAMES = Op("session.names", "GET", "/v1/sessions/{session_id}/names", ("max",),
                   ("read_only",))
SESSION_FILE_PUT = Op("session.file_put", "PUT", "/v1/sessions/{session_id}/files/{path}", (),
                      ("mutating", "takes_bytes", "has_tail"))
SESSION_FILE_GET = Op("session.file_get", "GET", "/v1/sessions/{session_id}/files/{path}", (),
                      ("read_only", "has_tail"))
SESSION_FILE_DELETE = Op("session.file_delete", "DELETE", "/v1/sessions/{session_id}/files/{path}",
                         ("recursive",), ("mutating", "has_tail"))
SESSION_FILE_LIST = Op("session.file_list", "GET", "/v1/sessions/{session_id}/files",
                       ("path", "recursive", "pattern", "after", "limit"), ("read_only",))
SESSION_FILE_STAT = Op("session.file_stat", "GET", "/v1/sessions/{session_id}/stat/{path}", (),
                       ("read_only", "has_tail"))
SESSION_FILE_MKDIR = Op("session.file_mkdir", "POST", "/v1/sessions/{session_id}/mkdir", (),
                        ("mutating",))
SESSION_FILE_MOVE = Op("session.file_move", "POST", "/v1/sessions/{session_id}/move", (),
                       ("mutating",))
SESSION_FILE_COPY = Op("session.file_copy", "POST", "/v1/sessions/{session_id}/copy", (),
                       ("mutating",))
SESSION_ARCHIVE_GET = Op("session.archive_get", "GET", "/v1/sessions/{session_id}/archive",
                         ("path",), ("read_only",))
SESSION_ARCHIVE_PUT = Op("session.archive_put", "PUT", "/v1/sessions/{session_id}/archive",
                         ("path",), ("mutating", "takes_bytes"))
SESSION_FILE_EVENTS = Op("session.file_events", "GET", "/v1/sessions/{session_id}/changes",
                         ("path",), ("read_only", "streams", "only_streams"))
CONTEXT_LOAD = Op("context.load", "POST", "/v1/sessions/{session_id}/contexts", (), ("mutating",))
CONTEXT_PUT = Op("context.put", "PUT", "/v1/sessions/{session_id}/contexts/{name}", (),
                 ("mutating", "takes_bytes"))
CONTEXT_GET = Op("context.get", "GET", "/v1/sessions/{session_id}/contexts/{name}", (),
                 ("read_only",))
CONTEXT_LIST = Op("context.list", "GET", "/v1/sessions/{session_id}/contexts", (), ("read_only",))
CONTEXT_DELETE = Op("context.delete", "DELETE", "/v1/sessions/{session_id}/contexts/{name}", (),
                    ("mutating",))
EXPLORE_PEEK = Op("explore.peek", "POST", "/v1/sessions/{session_id}/explore/peek", (),
                  ("read_only",))
EXPLORE_GREP = Op("explore.grep", "POST", "/v1/sessions/{session_id}/explore/grep", (),
                  ("read_only",))
EXPLORE_CHUNKS = Op("explore.chunks", "POST", "/v1/sessions/{session_id}/explore/chunks", (),
                    ("read_only",))
EXPLORE_CODE_SEARCH = Op("explore.code_search", "POST",
                         "/v1/sessions/{session_id}/explore/code_search", (), ("read_only",))
EXPLORE_DOC_SEARCH = Op("explore.doc_search", "POST",
                        "/v1/sessions/{session_id}/explore/doc_search", (), ("read_only",))
SEARCH_FIND = Op("search.find", "POST", "/v1/search", (), ("read_only",))
EXPLORE_SUMMARIZE_CHUNKS = Op("explore.summarize_chunks", "POST",
                              "/v1/sessions/{session_id}/explore/summaries", (), ("read_only",))
EXPLORE_ARCHIVE_OPEN = Op("explore.archive_open", "POST",
                          "/v1/sessions/{session_id}/explore/archive_open", (), ("read_only",))
EXPLORE_ARCHIVE_FILE = Op("explore.archive_file", "POST",
                          "/v1/sessions/{session_id}/explore/archive_file", (), ("read_only",))
EXPLORE_ARCHIVE_SEARCH = Op("explore.archive_search", "POST",
                            "/v1/sessions/{session_id}/explore/archive_search", (), ("read_only",))
EXPLORE_ARCHIVE_EXTRACT = Op("explore.archive_extract", "POST",
                             "/v1/sessions/{session_id}/explore/archive_extract", (), ("mutating",))
EXPLORE_WEB_FETCH = Op("explore.web_fetch", "POST", "/v1/sessions/{session_id}/explore/web_fetch",
                       (), ("read_only",))
EXPLORE_LIST_DIR = Op("explore.list_dir", "POST", "/v1/sessions/{session_id}/explore/list_dir", (),
                      ("read_only",))
EXPLORE_FILE_INFO = Op("explore.file_info", "POST", "/v1/sessions/{session_id}/explore/file_info",
                       (), ("read_only",))
EXPLORE_MARK_FINDING = Op("explore.mark_finding", "POST",
                          "/v1/sessions/{session_id}/explore/findings", (), ("mutating",))
EXPLORE_LIST_FINDINGS = Op("explore.list_findings", "GET",
                           "/v1/sessions/{session_id}/explore/findings", (), ("read_only",))
EXPLORE_FINAL = Op("explore.final", "POST", "/v1/sessions/{session_id}/explore/final", (),
                   ("mutating",))
EXPLORE_STUCK = Op("explore.stuck", "POST", "/v1/sessions/{session_id}/explore/stuck", (),
                   ("mutating",))
EXPLORE_STATE = Op("explore.state", "GET", "/v1/sessions/{session_id}/state", (), ("read_only",))
EXPLORE_TELL = Op("explore.tell", "POST", "/v1/sessions/{session_id}/explore/state", (),
                  ("read_only",))
TOOLBOX_LIST = Op("toolbox.list", "GET", "/v1/sessions/{session_id}/toolbox", ("name", "category"),
                  ("read_only",))
TOOLBOX_CALL = Op("toolbox.call", "POST", "/v1/sessions/{session_id}/toolbox/{name}", (),
                  ("mutating",))
TOOLBOX_LOG = Op("toolbox.log", "GET", "/v1/sessions/{session_id}/toolbox/log", ("limit",),
                 ("read_only",))
EXPLORE_RESET = Op("explore.reset", "POST", "/v1/sessions/{session_id}/reset", (), ("mutating",))
EXPLORE_NODES = Op("explore.nodes", "POST", "/v1/sessions/{session_id}/explore/nodes", (),
                   ("read_only",))
EXPLORE_RESEARCH = Op("explore.research", "GET", "/v1/sessions/{session_id}/explore/research", (),
                      ("read_only",))
EXPLORE_SET_RESEARCH = Op("explore.set_research", "PUT",
                          "/v1/sessions/{session_id}/explore/research", (), ("mutating",))
EXPLORE_MARK = Op("explore.mark", "POST", "/v1/sessions/{session_id}/explore/mark", (),
                  ("mutating",))
EXPLORE_RECALL = Op("explore.recall", "POST", "/v1/sessions/{session_id}/explore/recall", (),
                    ("read_only",))
EXPLORE_OUTCOME = Op("explore.outcome", "POST", "/v1/sessions/{session_id}/explore/outcome", (),
                     ("mutating",))
SESSION_DECLARATIONS = Op("session.declarations", "GET", "/v1/sessions/{session_id}/declarations",
                          (), ("read_only",))
SESSION_IS_COMPLETE = Op("session.is_complete", "POST", "/v1/sessions/{session_id}/is_complete", (),
                         ("read_only",))
SESSION_COMPLETE = Op("session.complete", "POST", "/v1/sessions/{session_id}/complete", (),
                      ("read_only",))
SESSION_INSPECT = Op("session.inspect", "POST", "/v1/sessions/{session_id}/inspect", (),
                     ("read_only",))
SESSION_PORT = Op("session.port", "GET", "/v1/sessions/{session_id}/ports/{port}", (),
                  ("mutating", "tunnels"))
SESSION_TERMINAL = Op("session.terminal", "GET", "/v1/sessions/{session_id}/terminal",
                      ("command", "rows", "cols", "term"), ("mutating", "runs_code"))
NOTEBOOK_DECLARATIONS = Op("notebook.declarations", "GET",
                           "/v1/notebooks/{session_id}/declarations", (), ("read_only",))
NOTEBOOK_IMAGE = Op("notebook.image", "GET", "/v1/notebooks/{session_id}/cells/{cell}/images/{n}",
                    ("width", "height"), ("read_only",))
NOTEBOOK_REFERENCE = Op("notebook.reference", "GET", "/v1/notebooks/{session_id}/reference",
                        ("uri", "data", "width", "height"), ("read_only",))
SESSION_CHECKPOINTS = Op("session.checkpoints", "GET", "/v1/sessions/{session_id}/checkpoints", (),
                         ("read_only",))
SESSION_UNDO = Op("session.undo", "POST", "/v1/sessions/{session_id}/undo", (), ("mutating",))
SESSION_REDO = Op("session.redo", "POST", "/v1/sessions/{session_id}/redo", (), ("mutating",))
SESSION_CELLS = Op("session.cells", "GET", "/v1/sessions/{session_id}/cells", ("offset", "limit"),
                   ("read_only",))
SESSION_BRANCH = Op("session.branch", "POST", "/v1/sessions/{session_id}/branch", (),
                    ("mutating", "makes_session"))
SESSION_TRY = Op("session.try", "POST", "/v1/sessions/{session_id}/try", (),
                 ("mutating", "runs_code"))
TRY_COMMIT = Op("try.commit", "POST", "/v1/sessions/{session_id}/tries/{try_id}/commit", (),
                ("mutating",))
TRY_DISCARD = Op("try.discard", "POST", "/v1/sessions/{session_id}/tries/{try_id}/discard", (),
                 ("mutating",))
SESSION_CREATE = Op("session.create", "POST", "/v1/sessions", (), ("mutating", "makes_session"))
SESSION_LIST = Op("session.list", "GET", "/v1/sessions",
                  ("state", "runtime", "label", "name", "agent", "sort", "limit", "cursor"),
                  ("read_only",))
SESSION_GET = Op("session.get", "GET", "/v1/sessions/{session_id}", (), ("read_only",))
SESSION_EDIT = Op("session.edit", "PATCH", "/v1/sessions/{session_id}", (), ("mutating",))
SESSION_SUSPEND = Op("session.suspend", "POST", "/v1/sessions/{session_id}/suspend", (),
                     ("mutating",))
SESSION_RESUME = Op("session.resume", "POST", "/v1/sessions/{session_id}/resume", (), ("mutating",))
SESSION_DELETE = Op("session.delete", "DELETE", "/v1/sessions/{session_id}", ("keep_notebook",),
                    ("mutating",))
CELL_RUN = Op("cell.run", "POST", "/v1/notebooks/{session_id}/cells/{cell}/run", (),
              ("mutating", "streams", "runs_code"))
CELL_ADD = Op("cell.add", "POST", "/v1/notebooks/{session_id}/cells", (),
              ("mutating", "streams", "runs_code"))
CELL_GET = Op("cell.get", "GET", "/v1/notebooks/{session_id}/cells/{cell}", ("outputs",),
              ("read_only",))
CELL_EDIT = Op("cell.edit", "PATCH", "/v1/notebooks/{session_id}/cells/{cell}", (), ("mutating",))
CELL_DELETE = Op("cell.delete", "DELETE", "/v1/notebooks/{session_id}/cells/{cell}", (),
                 ("mutating",))
CELL_MOVE = Op("cell.move", "POST", "/v1/notebooks/{session_id}/cells/{cell}/move", (),
               ("mutating",))
CELL_CLEAR = Op("cell.clear", "POST", "/v1/notebooks/{session_id}/cells/{cell}/clear", (),
                ("mutating",))
CELL_LIST = Op("cell.list", "GET", "/v1/notebooks/{session_id}/cells",
               ("offset", "limit", "outputs"), ("read_only",))
NOTEBOOK_RUN = Op("notebook.run", "POST", "/v1/notebooks/{session_id}/run", (),
                  ("mutating", "streams", "runs_code"))
NOTEBOOK_EVENTS = Op("notebook.events", "GET", "/v1/notebooks/{session_id}/events", (),
                     ("read_only", "streams", "only_streams"))
NOTEBOOK_EXPORT = Op("notebook.export", "GET", "/v1/notebooks/{session_id}/export", ("format",),
                     ("read_only",))
NOTEBOOK_CLEAR = Op("notebook.clear", "POST", "/v1/notebooks/{session_id}/clear", (), ("mutating",))
NOTEBOOK_RESET = Op("notebook.reset", "POST", "/v1/notebooks/{session_id}/reset", (), ("mutating",))
NOTEBOOK_IMPORT = Op("notebook.import", "POST", "/v1/notebooks/import", (), ("mutating",))
NOTEBOOK_CREATE = Op("notebook.create", "POST", "/v1/notebooks", (), ("mutating", "makes_session"))
NOTEBOOK_LIST = Op("notebook.list", "GET", "/v1/notebooks", ("user", "offset", "limit"),
                   ("read_only",))
NOTEBOOK_GET = Op("notebook.get", "GET", "/v1/notebooks/{session_id}",
                  ("outputs", "offset", "limit"), ("read_only",))
NOTEBOOK_EDIT = Op("notebook.edit", "PATCH", "/v1/notebooks/{session_id}", (), ("mutating",))
NOTEBOOK_DELETE = Op("notebook.delete", "DELETE", "/v1/notebooks/{session_id}", (), ("mutating",))
FILE_GET = Op("file.get", "GET", "/v1/files/{token}/{name}", (), ("read_only", "public"))
HEALTH = Op("health", "GET", "/health", (), ("read_only", "public"))
HEALTH_DETAILED = Op("health.detailed", "GET", "/health/detailed", (), ("read_only",))
OAUTH_RESOURCE = Op("oauth.resource", "GET", "/.well-known/oauth-protected-resource", (),
                    ("read_only", "public"))
OAUTH_RESOURCE_MCP = Op("oauth.resource_mcp", "GET", "/.well-known/oauth-protected-resource/mcp",
                        (), ("read_only", "public"))
API_INDEX = Op("api.index", "GET", "/v1", (), ("read_only", "public"))
API_OPENAPI = Op("api.openapi", "GET", "/openapi.json", (), ("read_only", "public"))
API_ROOT = Op("api.root", "GET", "/", (), ("read_only", "public"))
OPERATION_LIST = Op("operation.list", "GET", "/v1/operations", (), ("read_only",))
AGENT_LIST = Op("agent.list", "GET", "/v1/agents", (), ("read_only",))
SESSION_PLAN_ENTER = Op("session.plan.enter", "PUT", "/v1/sessions/{session_id}/plan", (),
                        ("mutating",))
SESSION_PLAN_LEAVE = Op("session.plan.leave", "DELETE", "/v1/sessions/{session_id}/plan", (),
                        ("mutating",))
AGENT_PLAN_ENTER = Op("agent.plan.enter", "PUT", "/v1/agents/{agent}/plan", (), ("mutating",))
AGENT_PLAN_LEAVE = Op("agent.plan.leave", "DELETE", "/v1/agents/{agent}/plan", (), ("mutating",))
MEMORY_LIST = Op("memory.list", "GET", "/v1/memories", ("user", "offset", "limit"), ("read_only",))
MEMORY_DELETE = Op("memory.delete", "DELETE", "/v1/memories/{memory}", (), ("mutating",))
MEMORY_CLEAR = Op("memory.clear", "DELETE", "/v1/memories", ("user",), ("mutating",))
STATE_LIST = Op("state.list", "GET", "/v1/states", (), ("read_only",))
STATE_GET = Op("state.get", "GET", "/v1/states/{name}", ("with_state",), ("read_only",))
STATE_DELETE = Op("state.delete", "DELETE", "/v1/states/{name}", (), ("mutating",))
REPL = Op("repl", "POST", "/v1/repl", (), ("mutating", "makes_session", "runs_code"))
TOOL_RUN = Op("tool.run", "POST", "/v1/tools/run", (),
              ("mutating", "streams", "makes_session", "runs_code"))
TOOL_WAIT = Op("tool.wait", "POST", "/v1/tools/wait", (), ("mutating", "streams", "runs_code"))
TOOL_BACK = Op("tool.back", "POST", "/v1/tools/back", (),
               ("mutating", "makes_session", "runs_code"))
TOOL_LOOK = Op("tool.look", "POST", "/v1/tools/look", (), ("read_only",))
TOOL_CONTEXT = Op("tool.context", "POST", "/v1/tools/context", (), ("mutating",))
TOOL_PEEK = Op("tool.peek", "POST", "/v1/tools/peek", (), ("read_only",))
TOOL_GREP = Op("tool.grep", "POST", "/v1/tools/grep", (), ("read_only",))
TOOL_EXPLORE = Op("tool.explore", "POST", "/v1/tools/explore", (), ("mutating",))
TOOL_RECALL = Op("tool.recall", "POST", "/v1/tools/recall", (), ("read_only",))
TOOL_OUTCOME = Op("tool.outcome", "POST", "/v1/tools/outcome", (), ("mutating",))
TOOL_FILE = Op("tool.file", "POST", "/v1/tools/file", (), ("mutating", "makes_session"))
TOOL_EXECUTE_CELL = Op("tool.execute_cell", "POST", "/v1/tools/execute_cell", (),
                       ("mutating", "streams", "makes_session", "runs_code"))
TOOL_RERUN_CELL = Op("tool.rerun_cell", "POST", "/v1/tools/rerun_cell", (),
                     ("mutating", "streams", "runs_code"))
TOOL_SHOW_CELL = Op("tool.show_cell", "POST", "/v1/tools/show_cell", (), ("read_only",))
TOOL_SHOW_NOTEBOOK = Op("tool.show_notebook", "POST", "/v1/tools/show_notebook", (), ("read_only",))
TOOL_DELETE_CELL = Op("tool.delete_cell", "POST", "/v1/tools/delete_cell", (), ("mutating",))
TOOL_CLEAR_NOTEBOOK = Op("tool.clear_notebook", "POST", "/v1/tools/clear_notebook", (),
                         ("mutating",))
TOOL_CREATE_NOTEBOOK = Op("tool.create_notebook", "POST", "/v1/tools/create_notebook", (),
                          ("mutating", "makes_session"))
TOOL_EXPORT_IPYNB = Op("tool.export_ipynb", "POST", "/v1/tools/export_ipynb", (), ("mutating",))
TOOL_LIST = Op("tool.list", "GET", "/v1/tools", ("sets",), ("read_only", "public"))
