"""Every operation as a method. Made by packaging/pages.py from the program's table of operations: do not edit."""

from __future__ import annotations

import typing as t

from . import shapes
from ._table import (
    AGENT_LIST, AGENT_PLAN_ENTER, AGENT_PLAN_LEAVE, API_INDEX, API_OPENAPI, API_ROOT, CELL_ADD,
    CELL_CLEAR, CELL_DELETE, CELL_EDIT, CELL_GET, CELL_LIST, CELL_MOVE, CELL_RUN,
    CONTEXT_DELETE, CONTEXT_GET, CONTEXT_LIST, CONTEXT_LOAD, CONTEXT_PUT, EXEC, EXEC_CONTINUE,
    EXEC_TOOL_RESULTS, EXPLORE_ARCHIVE_EXTRACT, EXPLORE_ARCHIVE_FILE, EXPLORE_ARCHIVE_OPEN,
    EXPLORE_ARCHIVE_SEARCH, EXPLORE_CHUNKS, EXPLORE_CODE_SEARCH, EXPLORE_DOC_SEARCH,
    EXPLORE_FILE_INFO, EXPLORE_FINAL, EXPLORE_GREP, EXPLORE_LIST_DIR, EXPLORE_LIST_FINDINGS,
    EXPLORE_MARK, EXPLORE_MARK_FINDING, EXPLORE_NODES, EXPLORE_OUTCOME, EXPLORE_PEEK,
    EXPLORE_RECALL, EXPLORE_RESEARCH, EXPLORE_RESET, EXPLORE_SET_RESEARCH, EXPLORE_STATE,
    EXPLORE_STUCK, EXPLORE_SUMMARIZE_CHUNKS, EXPLORE_TELL, EXPLORE_WEB_FETCH, FILE_GET, HEALTH,
    HEALTH_DETAILED, MEMORY_CLEAR, MEMORY_DELETE, MEMORY_LIST, NOTEBOOK_CLEAR, NOTEBOOK_CREATE,
    NOTEBOOK_DECLARATIONS, NOTEBOOK_DELETE, NOTEBOOK_EDIT, NOTEBOOK_EVENTS, NOTEBOOK_EXPORT,
    NOTEBOOK_GET, NOTEBOOK_IMAGE, NOTEBOOK_IMPORT, NOTEBOOK_LIST, NOTEBOOK_REFERENCE,
    NOTEBOOK_RESET, NOTEBOOK_RUN, OAUTH_RESOURCE, OAUTH_RESOURCE_MCP, OPERATION_LIST, REPL,
    SEARCH_FIND, SESSION_ARCHIVE_GET, SESSION_ARCHIVE_PUT, SESSION_BRANCH, SESSION_CELLS,
    SESSION_CHECKPOINTS, SESSION_COMPLETE, SESSION_CREATE, SESSION_DECLARATIONS, SESSION_DELETE,
    SESSION_EDIT, SESSION_EXEC, SESSION_FILE_COPY, SESSION_FILE_DELETE, SESSION_FILE_EVENTS,
    SESSION_FILE_GET, SESSION_FILE_LIST, SESSION_FILE_MKDIR, SESSION_FILE_MOVE,
    SESSION_FILE_PUT, SESSION_FILE_STAT, SESSION_GET, SESSION_INPUT, SESSION_INSPECT,
    SESSION_INTERRUPT, SESSION_IS_COMPLETE, SESSION_LIST, SESSION_NAMES, SESSION_OUTPUT,
    SESSION_PLAN_ENTER, SESSION_PLAN_LEAVE, SESSION_PORT, SESSION_REDO, SESSION_RESUME,
    SESSION_SUSPEND, SESSION_TERMINAL, SESSION_TRY, SESSION_UNDO, STATE_DELETE, STATE_GET,
    STATE_LIST, TOOLBOX_CALL, TOOLBOX_LIST, TOOLBOX_LOG, TOOL_BACK, TOOL_CLEAR_NOTEBOOK,
    TOOL_CONTEXT, TOOL_CREATE_NOTEBOOK, TOOL_DELETE_CELL, TOOL_EXECUTE_CELL, TOOL_EXPLORE,
    TOOL_EXPORT_IPYNB, TOOL_FILE, TOOL_GREP, TOOL_LIST, TOOL_LOOK, TOOL_OUTCOME, TOOL_PEEK,
    TOOL_RECALL, TOOL_RERUN_CELL, TOOL_RUN, TOOL_SHOW_CELL, TOOL_SHOW_NOTEBOOK, TOOL_WAIT,
    TRY_COMMIT, TRY_DISCARD
)
from ._wire import Op

if t.TYPE_CHECKING:
    from ._async_client import AsyncEvents, AsyncSocket, Data, Reply


class AsyncOperations:
    """One method for each operation; docs/API.md has examples. Arguments that are None are
    not sent, and what is empty is left out of answers."""

    async def _json(self, op: Op, args: t.Mapping[str, t.Any],
                    data: t.Optional[Data] = None) -> t.Any:
        raise NotImplementedError

    async def _text(self, op: Op, args: t.Mapping[str, t.Any]) -> str:
        raise NotImplementedError

    async def _bytes(self, op: Op, args: t.Mapping[str, t.Any]) -> bytes:
        raise NotImplementedError

    def _events(self, op: Op, args: t.Mapping[str, t.Any]) -> AsyncEvents:
        raise NotImplementedError

    async def _socket(self, op: Op, args: t.Mapping[str, t.Any]) -> AsyncSocket:
        raise NotImplementedError

    async def _tunnel(self, op: Op, args: t.Mapping[str, t.Any], method: str, path: str,
                      data: t.Optional[Data],
                      headers: t.Optional[t.Mapping[str, str]]) -> Reply:
        raise NotImplementedError

    async def session_exec(self, session_id: str, code: str, *, timeout_ms: t.Optional[int] = None,
                           budget: t.Optional[int] = None, yield_ms: t.Optional[int] = None,
                           on_disconnect: t.Optional[t.Literal["continue", "cancel"]] = None,
                           names: t.Optional[bool] = None, durable: t.Optional[bool] = None,
                           images: t.Optional[t.Literal["reference", "inline"]] = None,
                           html: t.Optional[bool] = None, files: t.Optional[bool] = None,
                           structured: t.Optional[bool] = None,
                           tools: t.Optional[t.Sequence[t.Mapping[str, t.Any]]] = None,
                           tool_deadline_ms: t.Optional[int] = None) -> shapes.Answer:
        """Runs a cell in a session and answers with its output, value and error.

        session_id: The session.
        code: The cell: source code, at most 1 MiB.
        timeout_ms: How long the cell may run before it is interrupted; default: the session's
            timeout_ms, else the agent's timeout_secs, 30 seconds if nothing else is configured;
            with yield_ms its max_timeout_secs, a day.
        budget: How many bytes of output the answer may hold; default: the session's or the agent's
            budget, else 8 KiB come whole, and of more the first and last lines, 3 KiB; pictures
            have up to 4 MiB beside that. At most the agent's max_output_bytes.
        yield_ms: Answer after this time with what there is so far, also if the cell still runs;
            without it the answer comes at the end.
        on_disconnect: What becomes of the cell if the client goes away before the answer: continue
            (default; the answer is kept) or cancel. If it is given, a client that closes only its
            own side counts as gone too.
        names: true: the answer lists the session's names; false: it says nothing about them;
            without it, which ones the cell added, changed or removed.
        durable: The answer comes when what the cell did is safe on disk.
        images: reference (default): the answer says where images are kept, what they are and how
            large; inline: it has their data, too, within the budget.
        html: true: outputs come with their HTML, tables with their types and first rows. Without it
            an output that has a text is that; the notebook has all of it.
        files: The answer says which files of /workspace the cell added, changed or removed; it
            waits until they are recorded.
        structured: true: the code is looked at before it runs. If it is nothing but x = tool(...)
            and tool(...), the daemon makes the calls, those that only read at once, and writes what
            came of them; default: the session's. Python, in sessions that explore.
        tools: Tools that the caller hands in: code calls them as those of the toolbox, the answer
            is tool_call_required then, and exec.tool_results answers them.
        tool_deadline_ms: How long such a call may wait for its result before the cell is stopped;
            default: five minutes.
        """
        given: t.Dict[str, t.Any] = {"session_id": session_id, "code": code,
            "timeout_ms": timeout_ms, "budget": budget, "yield_ms": yield_ms,
            "on_disconnect": on_disconnect, "names": names, "durable": durable, "images": images,
            "html": html, "files": files, "structured": structured, "tools": tools,
            "tool_deadline_ms": tool_deadline_ms}
        return t.cast(shapes.Answer, await self._json(SESSION_EXEC, given))

    async def session_exec_text(self, session_id: str, code: str, *,
                                timeout_ms: t.Optional[int] = None, budget: t.Optional[int] = None,
                                yield_ms: t.Optional[int] = None,
                                on_disconnect: t.Optional[t.Literal["continue", "cancel"]] = None,
                                names: t.Optional[bool] = None, durable: t.Optional[bool] = None,
                                images: t.Optional[t.Literal["reference", "inline"]] = None,
                                html: t.Optional[bool] = None, files: t.Optional[bool] = None,
                                structured: t.Optional[bool] = None,
                                tools: t.Optional[t.Sequence[t.Mapping[str, t.Any]]] = None,
                                tool_deadline_ms: t.Optional[int] = None) -> str:
        """Runs a cell in a session and answers with its output, value and error. The same as text
        for a model, in the order in which it happened."""
        given: t.Dict[str, t.Any] = {"session_id": session_id, "code": code,
            "timeout_ms": timeout_ms, "budget": budget, "yield_ms": yield_ms,
            "on_disconnect": on_disconnect, "names": names, "durable": durable, "images": images,
            "html": html, "files": files, "structured": structured, "tools": tools,
            "tool_deadline_ms": tool_deadline_ms}
        return await self._text(SESSION_EXEC, given)

    def session_exec_events(self, session_id: str, code: str, *, timeout_ms: t.Optional[int] = None,
                            budget: t.Optional[int] = None, yield_ms: t.Optional[int] = None,
                            on_disconnect: t.Optional[t.Literal["continue", "cancel"]] = None,
                            names: t.Optional[bool] = None, durable: t.Optional[bool] = None,
                            images: t.Optional[t.Literal["reference", "inline"]] = None,
                            html: t.Optional[bool] = None, files: t.Optional[bool] = None,
                            structured: t.Optional[bool] = None,
                            tools: t.Optional[t.Sequence[t.Mapping[str, t.Any]]] = None,
                            tool_deadline_ms: t.Optional[int] = None) -> AsyncEvents:
        """Runs a cell in a session and answers with its output, value and error. Its events as they
        happen; the last one is `result`."""
        given: t.Dict[str, t.Any] = {"session_id": session_id, "code": code,
            "timeout_ms": timeout_ms, "budget": budget, "yield_ms": yield_ms,
            "on_disconnect": on_disconnect, "names": names, "durable": durable, "images": images,
            "html": html, "files": files, "structured": structured, "tools": tools,
            "tool_deadline_ms": tool_deadline_ms}
        return self._events(SESSION_EXEC, given)

    async def exec_continue(self, session_id: str, cell: str, *, budget: t.Optional[int] = None,
                            yield_ms: t.Optional[int] = None,
                            on_disconnect: t.Optional[t.Literal["continue", "cancel"]] = None) -> shapes.Answer:
        """Waits on for a cell that still ran when it was last asked about; answers with what is
        new.

        session_id: The session.
        cell: The cell, by the number or the cell_id of its first answer.
        budget: How many bytes of output the answer may hold; default: the session's or the agent's
            budget, else 8 KiB come whole, and of more the first and last lines, 3 KiB; pictures
            have up to 4 MiB beside that. At most the agent's max_output_bytes.
        yield_ms: Answer after this time with what there is so far, also if the cell still runs;
            without it the answer comes at the end.
        on_disconnect: What becomes of the cell if the client goes away before the answer: continue
            (default; the answer is kept) or cancel. If it is given, a client that closes only its
            own side counts as gone too.
        """
        given: t.Dict[str, t.Any] = {"session_id": session_id, "cell": cell, "budget": budget,
            "yield_ms": yield_ms, "on_disconnect": on_disconnect}
        return t.cast(shapes.Answer, await self._json(EXEC_CONTINUE, given))

    async def exec_continue_text(self, session_id: str, cell: str, *,
                                 budget: t.Optional[int] = None, yield_ms: t.Optional[int] = None,
                                 on_disconnect: t.Optional[t.Literal["continue", "cancel"]] = None) -> str:
        """Waits on for a cell that still ran when it was last asked about; answers with what is
        new. The same as text for a model, in the order in which it happened."""
        given: t.Dict[str, t.Any] = {"session_id": session_id, "cell": cell, "budget": budget,
            "yield_ms": yield_ms, "on_disconnect": on_disconnect}
        return await self._text(EXEC_CONTINUE, given)

    def exec_continue_events(self, session_id: str, cell: str, *, budget: t.Optional[int] = None,
                             yield_ms: t.Optional[int] = None,
                             on_disconnect: t.Optional[t.Literal["continue", "cancel"]] = None) -> AsyncEvents:
        """Waits on for a cell that still ran when it was last asked about; answers with what is
        new. Its events as they happen; the last one is `result`."""
        given: t.Dict[str, t.Any] = {"session_id": session_id, "cell": cell, "budget": budget,
            "yield_ms": yield_ms, "on_disconnect": on_disconnect}
        return self._events(EXEC_CONTINUE, given)

    async def exec(self, code: str, *,
                   runtime: t.Optional[t.Literal["python", "node", "bash"]] = None,
                   profile: t.Optional[str] = None, state: t.Optional[str] = None,
                   capture_state: t.Optional[bool] = None, state_name: t.Optional[str] = None,
                   state_ttl_secs: t.Optional[int] = None,
                   files: t.Optional[t.Mapping[str, str]] = None, stdin: t.Optional[str] = None,
                   timeout_ms: t.Optional[int] = None, budget: t.Optional[int] = None,
                   html: t.Optional[bool] = None, agent: t.Optional[str] = None,
                   binding: t.Optional[str] = None) -> shapes.Run:
        """Runs code once, in a sandbox of its own that ends with it.

        code: What to run: source code, at most 1 MiB.
        runtime: The interpreter.
        profile: What is already imported, by the name of a profile of the configuration.
        state: The variables to begin with: the state of an earlier answer. Python only.
        capture_state: Whether the answer is to hold the variables, for another run to begin with.
        state_name: A name under which the state is kept here: loaded before, if there is one, and
            saved after the code has succeeded.
        state_ttl_secs: How long it is kept under its name; 0 is for ever. Default as configured.
        files: Files that it finds in its directory: their text by their path; of bytes that are no
            text data:;base64, and the bytes in base64.
        stdin: What it reads from its standard input, at most 1 MiB; lines of at most 64 KiB.
        timeout_ms: How long the cell may run before it is interrupted; default: the session's
            timeout_ms, else the agent's timeout_secs, 30 seconds if nothing else is configured;
            with yield_ms its max_timeout_secs, a day.
        budget: How many bytes of output the answer may hold; default: the session's or the agent's
            budget, else 8 KiB come whole, and of more the first and last lines, 3 KiB; pictures
            have up to 4 MiB beside that. At most the agent's max_output_bytes.
        html: true: outputs come with their HTML, tables with their types and first rows. Without it
            an output that has a text is that; the notebook has all of it.
        agent: On whose behalf, by a name of the configuration; without it the agent "default".
        binding: The inbound binding through which the agent was asked.
        """
        given: t.Dict[str, t.Any] = {"code": code, "runtime": runtime, "profile": profile,
            "state": state, "capture_state": capture_state, "state_name": state_name,
            "state_ttl_secs": state_ttl_secs, "files": files, "stdin": stdin,
            "timeout_ms": timeout_ms, "budget": budget, "html": html, "agent": agent,
            "binding": binding}
        return t.cast(shapes.Run, await self._json(EXEC, given))

    def exec_events(self, code: str, *,
                    runtime: t.Optional[t.Literal["python", "node", "bash"]] = None,
                    profile: t.Optional[str] = None, state: t.Optional[str] = None,
                    capture_state: t.Optional[bool] = None, state_name: t.Optional[str] = None,
                    state_ttl_secs: t.Optional[int] = None,
                    files: t.Optional[t.Mapping[str, str]] = None, stdin: t.Optional[str] = None,
                    timeout_ms: t.Optional[int] = None, budget: t.Optional[int] = None,
                    html: t.Optional[bool] = None, agent: t.Optional[str] = None,
                    binding: t.Optional[str] = None) -> AsyncEvents:
        """Runs code once, in a sandbox of its own that ends with it. Its events as they happen; the
        last one is `result`."""
        given: t.Dict[str, t.Any] = {"code": code, "runtime": runtime, "profile": profile,
            "state": state, "capture_state": capture_state, "state_name": state_name,
            "state_ttl_secs": state_ttl_secs, "files": files, "stdin": stdin,
            "timeout_ms": timeout_ms, "budget": budget, "html": html, "agent": agent,
            "binding": binding}
        return self._events(EXEC, given)

    async def session_input(self, session_id: str, *, text: t.Optional[str] = None,
                            eof: t.Optional[bool] = None, number: t.Optional[int] = None,
                            budget: t.Optional[int] = None, yield_ms: t.Optional[int] = None,
                            on_disconnect: t.Optional[t.Literal["continue", "cancel"]] = None) -> shapes.Answer:
        """Gives a line to the cell that waits for one, and waits for its next answer.

        session_id: The session.
        text: The line, without its newline; either this or eof.
        eof: There is no more input: the reader sees its end.
        number: The number of the cell that is meant; without it the one that waits.
        budget: How many bytes of output the answer may hold; default: the session's or the agent's
            budget, else 8 KiB come whole, and of more the first and last lines, 3 KiB; pictures
            have up to 4 MiB beside that. At most the agent's max_output_bytes.
        yield_ms: Answer after this time with what there is so far, also if the cell still runs;
            without it the answer comes at the end.
        on_disconnect: What becomes of the cell if the client goes away before the answer: continue
            (default; the answer is kept) or cancel. If it is given, a client that closes only its
            own side counts as gone too.
        """
        given: t.Dict[str, t.Any] = {"session_id": session_id, "text": text, "eof": eof,
            "number": number, "budget": budget, "yield_ms": yield_ms,
            "on_disconnect": on_disconnect}
        return t.cast(shapes.Answer, await self._json(SESSION_INPUT, given))

    async def session_input_text(self, session_id: str, *, text: t.Optional[str] = None,
                                 eof: t.Optional[bool] = None, number: t.Optional[int] = None,
                                 budget: t.Optional[int] = None, yield_ms: t.Optional[int] = None,
                                 on_disconnect: t.Optional[t.Literal["continue", "cancel"]] = None) -> str:
        """Gives a line to the cell that waits for one, and waits for its next answer. The same as
        text for a model, in the order in which it happened."""
        given: t.Dict[str, t.Any] = {"session_id": session_id, "text": text, "eof": eof,
            "number": number, "budget": budget, "yield_ms": yield_ms,
            "on_disconnect": on_disconnect}
        return await self._text(SESSION_INPUT, given)

    def session_input_events(self, session_id: str, *, text: t.Optional[str] = None,
                             eof: t.Optional[bool] = None, number: t.Optional[int] = None,
                             budget: t.Optional[int] = None, yield_ms: t.Optional[int] = None,
                             on_disconnect: t.Optional[t.Literal["continue", "cancel"]] = None) -> AsyncEvents:
        """Gives a line to the cell that waits for one, and waits for its next answer. Its events as
        they happen; the last one is `result`."""
        given: t.Dict[str, t.Any] = {"session_id": session_id, "text": text, "eof": eof,
            "number": number, "budget": budget, "yield_ms": yield_ms,
            "on_disconnect": on_disconnect}
        return self._events(SESSION_INPUT, given)

    async def exec_tool_results(self, session_id: str, cell: str,
                                results: t.Sequence[t.Mapping[str, t.Any]], *,
                                budget: t.Optional[int] = None, yield_ms: t.Optional[int] = None,
                                on_disconnect: t.Optional[t.Literal["continue", "cancel"]] = None) -> shapes.Answer:
        """Answers calls of tools that the caller has handed in, and waits for the cell's next
        answer.

        session_id: The session.
        cell: The cell, by the number or the cell_id of its first answer.
        results: What became of calls, by their ids: of each a result or an error.
        budget: How many bytes of output the answer may hold; default: the session's or the agent's
            budget, else 8 KiB come whole, and of more the first and last lines, 3 KiB; pictures
            have up to 4 MiB beside that. At most the agent's max_output_bytes.
        yield_ms: Answer after this time with what there is so far, also if the cell still runs;
            without it the answer comes at the end.
        on_disconnect: What becomes of the cell if the client goes away before the answer: continue
            (default; the answer is kept) or cancel. If it is given, a client that closes only its
            own side counts as gone too.
        """
        given: t.Dict[str, t.Any] = {"session_id": session_id, "cell": cell, "results": results,
            "budget": budget, "yield_ms": yield_ms, "on_disconnect": on_disconnect}
        return t.cast(shapes.Answer, await self._json(EXEC_TOOL_RESULTS, given))

    async def exec_tool_results_text(self, session_id: str, cell: str,
                                     results: t.Sequence[t.Mapping[str, t.Any]], *,
                                     budget: t.Optional[int] = None,
                                     yield_ms: t.Optional[int] = None,
                                     on_disconnect: t.Optional[t.Literal["continue", "cancel"]] = None) -> str:
        """Answers calls of tools that the caller has handed in, and waits for the cell's next
        answer. The same as text for a model, in the order in which it happened."""
        given: t.Dict[str, t.Any] = {"session_id": session_id, "cell": cell, "results": results,
            "budget": budget, "yield_ms": yield_ms, "on_disconnect": on_disconnect}
        return await self._text(EXEC_TOOL_RESULTS, given)

    def exec_tool_results_events(self, session_id: str, cell: str,
                                 results: t.Sequence[t.Mapping[str, t.Any]], *,
                                 budget: t.Optional[int] = None, yield_ms: t.Optional[int] = None,
                                 on_disconnect: t.Optional[t.Literal["continue", "cancel"]] = None) -> AsyncEvents:
        """Answers calls of tools that the caller has handed in, and waits for the cell's next
        answer. Its events as they happen; the last one is `result`."""
        given: t.Dict[str, t.Any] = {"session_id": session_id, "cell": cell, "results": results,
            "budget": budget, "yield_ms": yield_ms, "on_disconnect": on_disconnect}
        return self._events(EXEC_TOOL_RESULTS, given)

    async def session_interrupt(self, session_id: str) -> shapes.Interrupted:
        """Interrupts the running cell, as Ctrl-C would; the session keeps its state.

        session_id: The session.
        """
        given: t.Dict[str, t.Any] = {"session_id": session_id}
        return t.cast(shapes.Interrupted, await self._json(SESSION_INTERRUPT, given))

    async def session_output(self, session_id: str, *, number: t.Optional[int] = None,
                             offset: t.Optional[int] = None, limit: t.Optional[int] = None,
                             stream: t.Optional[t.Literal["stdout", "stderr"]] = None) -> shapes.OutputPage:
        """Reads what cells wrote, page by page; the oldest bytes may have been dropped.

        session_id: The session.
        number: Only what the cell with this number wrote; without it the whole session's output.
        offset: Where to begin, in bytes; default 0. Go on with the next_offset of the answer.
        limit: Bytes at most; default 65536.
        stream: Which of the two; default stdout.
        """
        given: t.Dict[str, t.Any] = {"session_id": session_id, "number": number, "offset": offset,
            "limit": limit, "stream": stream}
        return t.cast(shapes.OutputPage, await self._json(SESSION_OUTPUT, given))

    async def session_names(self, session_id: str, *,
                            max: t.Optional[int] = None) -> shapes.NameList:
        """Lists the names that the session's code has made, with types and sizes; of a busy session
        those after an earlier cell.

        session_id: The session.
        max: How many names at most; default 1000.
        """
        given: t.Dict[str, t.Any] = {"session_id": session_id, "max": max}
        return t.cast(shapes.NameList, await self._json(SESSION_NAMES, given))

    async def session_file_put(self, session_id: str, path: str, data: Data) -> shapes.FilePut:
        """Puts a file into the session's workspace, or in place of one: the body is its bytes.

        session_id: The session.
        path: The file, below /workspace: data/points.csv. Slashes may stand as they are.
        """
        given: t.Dict[str, t.Any] = {"session_id": session_id, "path": path}
        return t.cast(shapes.FilePut, await self._json(SESSION_FILE_PUT, given, data))

    async def session_file_get(self, session_id: str, path: str) -> bytes:
        """A file of the session's workspace, as it is now; parts of it by the Range header.

        session_id: The session.
        path: The file, below /workspace: data/points.csv. Slashes may stand as they are.
        """
        given: t.Dict[str, t.Any] = {"session_id": session_id, "path": path}
        return await self._bytes(SESSION_FILE_GET, given)

    async def session_file_delete(self, session_id: str, path: str, *,
                                  recursive: t.Optional[bool] = None) -> shapes.DeletedFile:
        """Deletes a file or folder of the workspace; a link is deleted, not what it leads to.

        session_id: The session.
        path: The file, below /workspace: data/points.csv. Slashes may stand as they are.
        recursive: Deletes a folder with all that is in it.
        """
        given: t.Dict[str, t.Any] = {"session_id": session_id, "path": path,
            "recursive": recursive}
        return t.cast(shapes.DeletedFile, await self._json(SESSION_FILE_DELETE, given))

    async def session_file_list(self, session_id: str, *, path: t.Optional[str] = None,
                                recursive: t.Optional[bool] = None, pattern: t.Optional[str] = None,
                                after: t.Optional[str] = None,
                                limit: t.Optional[int] = None) -> shapes.FileList:
        """What is in a folder of the session's workspace, page by page.

        session_id: The session.
        path: A folder below /workspace; default: /workspace itself.
        recursive: Lists what is in folders of it, too.
        pattern: Only names that match: *.csv. With a slash, paths from the folder on: **/test_*.py.
        after: The next page: what the last answer has as its next.
        limit: How many at most; default 200. Fewer come if their names are long.
        """
        given: t.Dict[str, t.Any] = {"session_id": session_id, "path": path,
            "recursive": recursive, "pattern": pattern, "after": after, "limit": limit}
        return t.cast(shapes.FileList, await self._json(SESSION_FILE_LIST, given))

    async def session_file_stat(self, session_id: str, path: str) -> shapes.FileEntry:
        """What a path of the workspace is: its type, bytes, mode and time.

        session_id: The session.
        path: The file, below /workspace: data/points.csv. Slashes may stand as they are.
        """
        given: t.Dict[str, t.Any] = {"session_id": session_id, "path": path}
        return t.cast(shapes.FileEntry, await self._json(SESSION_FILE_STAT, given))

    async def session_file_mkdir(self, session_id: str, path: str) -> shapes.FolderMade:
        """Makes a folder in the session's workspace; one that is there already is fine.

        session_id: The session.
        path: The folder, below /workspace. Folders on the way are made.
        """
        given: t.Dict[str, t.Any] = {"session_id": session_id, "path": path}
        return t.cast(shapes.FolderMade, await self._json(SESSION_FILE_MKDIR, given))

    async def session_file_move(self, session_id: str, path: str, to: str, *,
                                replace: t.Optional[bool] = None) -> shapes.FileEntry:
        """Moves a file or folder of the workspace, or gives it another name.

        session_id: The session.
        path: The file or folder, below /workspace.
        to: Its new path. Folders on the way are made.
        replace: Takes the place of a file that is there.
        """
        given: t.Dict[str, t.Any] = {"session_id": session_id, "path": path, "to": to,
            "replace": replace}
        return t.cast(shapes.FileEntry, await self._json(SESSION_FILE_MOVE, given))

    async def session_file_copy(self, session_id: str, path: str, to: str, *,
                                replace: t.Optional[bool] = None) -> shapes.FileEntry:
        """Copies a file, or a folder with all that is in it, within the workspace.

        session_id: The session.
        path: The file or folder, below /workspace.
        to: Its new path. Folders on the way are made.
        replace: Takes the place of a file that is there.
        """
        given: t.Dict[str, t.Any] = {"session_id": session_id, "path": path, "to": to,
            "replace": replace}
        return t.cast(shapes.FileEntry, await self._json(SESSION_FILE_COPY, given))

    async def session_archive_get(self, session_id: str, *, path: t.Optional[str] = None) -> bytes:
        """A folder of the workspace as a tar archive, packed while it is sent.

        session_id: The session.
        path: A folder below /workspace; default: /workspace itself.
        """
        given: t.Dict[str, t.Any] = {"session_id": session_id, "path": path}
        return await self._bytes(SESSION_ARCHIVE_GET, given)

    async def session_archive_put(self, session_id: str, data: Data, *,
                                  path: t.Optional[str] = None) -> shapes.Unpacked:
        """Unpacks a tar archive, the body, into a folder of the workspace: all of it or nothing.

        session_id: The session.
        path: A folder below /workspace; default: /workspace itself.
        """
        given: t.Dict[str, t.Any] = {"session_id": session_id, "path": path}
        return t.cast(shapes.Unpacked, await self._json(SESSION_ARCHIVE_PUT, given, data))

    def session_file_events(self, session_id: str, *, path: t.Optional[str] = None) -> AsyncEvents:
        """What changes in a folder of the workspace, as server-sent events, while it does.

        session_id: The session.
        path: A folder below /workspace; default: /workspace itself.
        """
        given: t.Dict[str, t.Any] = {"session_id": session_id, "path": path}
        return self._events(SESSION_FILE_EVENTS, given)

    async def context_load(self, session_id: str, *, name: t.Optional[str] = None,
                           path: t.Optional[str] = None, member: t.Optional[str] = None,
                           url: t.Optional[str] = None,
                           text: t.Optional[str] = None) -> shapes.Context:
        """Makes a file of the workspace, or a text, a context: it is explored with peek and grep,
        and never read into the interpreter unless code asks for that.

        session_id: The session.
        name: Its name; default: context.
        path: A file below /workspace,
        member: a file in it, if it is an archive,
        url: or a page of a domain that web_domains lists for its agent,
        text: or the text itself.
        """
        given: t.Dict[str, t.Any] = {"session_id": session_id, "name": name, "path": path,
            "member": member, "url": url, "text": text}
        return t.cast(shapes.Context, await self._json(CONTEXT_LOAD, given))

    async def context_put(self, session_id: str, name: str, data: Data) -> shapes.Context:
        """Makes the body a context, however large it is.

        session_id: The session.
        name: Its name.
        """
        given: t.Dict[str, t.Any] = {"session_id": session_id, "name": name}
        return t.cast(shapes.Context, await self._json(CONTEXT_PUT, given, data))

    async def context_get(self, session_id: str, name: str) -> shapes.Context:
        """Tells how large a context is.

        session_id: The session.
        name: Its name.
        """
        given: t.Dict[str, t.Any] = {"session_id": session_id, "name": name}
        return t.cast(shapes.Context, await self._json(CONTEXT_GET, given))

    async def context_list(self, session_id: str) -> shapes.Contexts:
        """Lists the contexts of a session.

        session_id: The session.
        """
        given: t.Dict[str, t.Any] = {"session_id": session_id}
        return t.cast(shapes.Contexts, await self._json(CONTEXT_LIST, given))

    async def context_delete(self, session_id: str, name: str) -> shapes.ContextDeleted:
        """Forgets a context; checkpoints from before still have it.

        session_id: The session.
        name: Its name.
        """
        given: t.Dict[str, t.Any] = {"session_id": session_id, "name": name}
        return t.cast(shapes.ContextDeleted, await self._json(CONTEXT_DELETE, given))

    async def explore_peek(self, session_id: str, *, n: t.Optional[int] = None,
                           offset: t.Optional[int] = None, context: t.Optional[str] = None,
                           file_path: t.Optional[str] = None,
                           quiet: t.Optional[bool] = None) -> shapes.Peek:
        """Shows some characters of a context, or of a file of the workspace, from anywhere in it.

        session_id: The session.
        n: How many characters; default 500.
        offset: How many characters come before; default 0.
        context: The context by its name; default: the one called context.
        file_path: Instead of a context: a file below /workspace.
        quiet: Leaves the call out of the research tree and the log.
        """
        given: t.Dict[str, t.Any] = {"session_id": session_id, "n": n, "offset": offset,
            "context": context, "file_path": file_path, "quiet": quiet}
        return t.cast(shapes.Peek, await self._json(EXPLORE_PEEK, given))

    async def explore_grep(self, session_id: str, pattern: str, *,
                           context_lines: t.Optional[int] = None,
                           max_results: t.Optional[int] = None, literal: t.Optional[bool] = None,
                           case: t.Optional[bool] = None, context: t.Optional[str] = None,
                           file_path: t.Optional[str] = None,
                           quiet: t.Optional[bool] = None) -> shapes.Grep:
        """Searches a context, or a file of the workspace, for a regular expression, line by line.

        session_id: The session.
        pattern: A regular expression, as PCRE has them; upper and lower case are the same.
        context_lines: How many lines around each match are shown; default 2.
        max_results: How many matches at most; default: max_grep_results of the configuration, 100.
        literal: The pattern is a text that is looked for as it is.
        case: Upper and lower case are not the same.
        context: The context by its name; default: the one called context.
        file_path: Instead of a context: a file below /workspace.
        quiet: Leaves the call out of the research tree and the log.
        """
        given: t.Dict[str, t.Any] = {"session_id": session_id, "pattern": pattern,
            "context_lines": context_lines, "max_results": max_results, "literal": literal,
            "case": case, "context": context, "file_path": file_path, "quiet": quiet}
        return t.cast(shapes.Grep, await self._json(EXPLORE_GREP, given))

    async def explore_chunks(self, session_id: str, *, n_chunks: t.Optional[int] = None,
                             overlap: t.Optional[int] = None, text: t.Optional[bool] = None,
                             context: t.Optional[str] = None, file_path: t.Optional[str] = None,
                             quiet: t.Optional[bool] = None) -> shapes.Chunks:
        """Divides a context, or a file of the workspace, into pieces of about the same size.

        session_id: The session.
        n_chunks: How many; default 4.
        overlap: How many characters two of them share; default 200.
        text: Each with its text, as far as an answer holds it.
        context: The context by its name; default: the one called context.
        file_path: Instead of a context: a file below /workspace.
        quiet: Leaves the call out of the research tree and the log.
        """
        given: t.Dict[str, t.Any] = {"session_id": session_id, "n_chunks": n_chunks,
            "overlap": overlap, "text": text, "context": context, "file_path": file_path,
            "quiet": quiet}
        return t.cast(shapes.Chunks, await self._json(EXPLORE_CHUNKS, given))

    async def explore_code_search(self, session_id: str, query: str, *,
                                  limit: t.Optional[int] = None,
                                  words_only: t.Optional[bool] = None,
                                  corpus: t.Optional[str] = None, toon: t.Optional[bool] = None,
                                  quiet: t.Optional[bool] = None) -> shapes.Search:
        """Finds functions, classes and methods in the code of the workspace by what they say.

        session_id: The session.
        query: What is looked for, in words or as names.
        limit: How many results at most; default 5.
        words_only: Ranks by words alone, without vectors.
        corpus: Instead of the session's files: a folder that the configuration names.
        toon: Adds the answer as TOON, where that is shorter.
        quiet: Leaves the call out of the research tree and the log.
        """
        given: t.Dict[str, t.Any] = {"session_id": session_id, "query": query, "limit": limit,
            "words_only": words_only, "corpus": corpus, "toon": toon, "quiet": quiet}
        return t.cast(shapes.Search, await self._json(EXPLORE_CODE_SEARCH, given))

    async def explore_doc_search(self, session_id: str, query: str, *,
                                 limit: t.Optional[int] = None, words_only: t.Optional[bool] = None,
                                 corpus: t.Optional[str] = None, toon: t.Optional[bool] = None,
                                 quiet: t.Optional[bool] = None) -> shapes.Search:
        """Finds sections in the documents of the workspace by what they say.

        session_id: The session.
        query: What is looked for, in words or as names.
        limit: How many results at most; default 5.
        words_only: Ranks by words alone, without vectors.
        corpus: Instead of the session's files: a folder that the configuration names.
        toon: Adds the answer as TOON, where that is shorter.
        quiet: Leaves the call out of the research tree and the log.
        """
        given: t.Dict[str, t.Any] = {"session_id": session_id, "query": query, "limit": limit,
            "words_only": words_only, "corpus": corpus, "toon": toon, "quiet": quiet}
        return t.cast(shapes.Search, await self._json(EXPLORE_DOC_SEARCH, given))

    async def search_find(self, query: str, *, kind: t.Optional[t.Literal["code", "doc"]] = None,
                          corpus: t.Optional[str] = None, session_id: t.Optional[str] = None,
                          limit: t.Optional[int] = None,
                          words_only: t.Optional[bool] = None) -> shapes.Search:
        """Finds code, or sections of documents, in a corpus or in the files of a session.

        query: What is looked for, in words or as names.
        kind: Code, or sections of documents; default code.
        corpus: A folder that the configuration names in search.corpora.
        session_id: Or a session, whose files are searched.
        limit: How many results at most; default 5.
        words_only: Ranks by words alone, without vectors.
        """
        given: t.Dict[str, t.Any] = {"query": query, "kind": kind, "corpus": corpus,
            "session_id": session_id, "limit": limit, "words_only": words_only}
        return t.cast(shapes.Search, await self._json(SEARCH_FIND, given))

    async def explore_summarize_chunks(self, session_id: str, *, task: t.Optional[str] = None,
                                       n_chunks: t.Optional[int] = None,
                                       overlap: t.Optional[int] = None,
                                       context: t.Optional[str] = None,
                                       file_path: t.Optional[str] = None,
                                       quiet: t.Optional[bool] = None) -> shapes.ChunkSummaries:
        """Divides a text as explore.chunks does and says of each piece where it lies, how many
        lines it has and how it begins; the model of the configuration (toolbox.llm) says what is in
        it.

        session_id: The session.
        task: What the summaries are for.
        n_chunks: How many pieces; default 4.
        overlap: How many characters two of them share; default 200.
        context: The context by its name; default: the one called context.
        file_path: Instead of a context: a file below /workspace.
        quiet: Leaves the call out of the research tree and the log.
        """
        given: t.Dict[str, t.Any] = {"session_id": session_id, "task": task, "n_chunks": n_chunks,
            "overlap": overlap, "context": context, "file_path": file_path, "quiet": quiet}
        return t.cast(shapes.ChunkSummaries, await self._json(EXPLORE_SUMMARIZE_CHUNKS, given))

    async def explore_archive_open(self, session_id: str, file_path: str, *,
                                   inside: t.Optional[str] = None, quiet: t.Optional[bool] = None,
                                   toon: t.Optional[bool] = None) -> shapes.Archive:
        """Lists an archive of the workspace.

        session_id: The session.
        file_path: The archive, below /workspace: zip, tar, gz, bz2, xz, zstd or 7z; or a PDF.
        inside: An archive inside of it, by its name: inner.zip
        quiet: Leaves the call out of the research tree and the log.
        toon: Adds the answer as TOON, where that is shorter.
        """
        given: t.Dict[str, t.Any] = {"session_id": session_id, "file_path": file_path,
            "inside": inside, "quiet": quiet, "toon": toon}
        return t.cast(shapes.Archive, await self._json(EXPLORE_ARCHIVE_OPEN, given))

    async def explore_archive_file(self, session_id: str, file_path: str, member: str, *,
                                   n: t.Optional[int] = None, offset: t.Optional[int] = None,
                                   quiet: t.Optional[bool] = None) -> shapes.Peek:
        """Shows some characters of a file in an archive; of a PDF in it, of its text.

        session_id: The session.
        file_path: The archive, below /workspace: zip, tar, gz, bz2, xz, zstd or 7z; or a PDF.
        member: The file, as it is listed; of an archive inside: inner.zip!/notes.txt
        n: How many characters; default 10000.
        offset: How many come before; default 0.
        quiet: Leaves the call out of the research tree and the log.
        """
        given: t.Dict[str, t.Any] = {"session_id": session_id, "file_path": file_path,
            "member": member, "n": n, "offset": offset, "quiet": quiet}
        return t.cast(shapes.Peek, await self._json(EXPLORE_ARCHIVE_FILE, given))

    async def explore_archive_search(self, session_id: str, file_path: str, query: str, *,
                                     max_results: t.Optional[int] = None,
                                     quiet: t.Optional[bool] = None,
                                     toon: t.Optional[bool] = None) -> shapes.ArchiveHits:
        """Searches the text files of an archive for a text.

        session_id: The session.
        file_path: The archive, below /workspace: zip, tar, gz, bz2, xz, zstd or 7z; or a PDF.
        query: A text; upper and lower case are the same.
        max_results: How many at most; default 50.
        quiet: Leaves the call out of the research tree and the log.
        toon: Adds the answer as TOON, where that is shorter.
        """
        given: t.Dict[str, t.Any] = {"session_id": session_id, "file_path": file_path,
            "query": query, "max_results": max_results, "quiet": quiet, "toon": toon}
        return t.cast(shapes.ArchiveHits, await self._json(EXPLORE_ARCHIVE_SEARCH, given))

    async def explore_archive_extract(self, session_id: str, file_path: str, *,
                                      to: t.Optional[str] = None,
                                      quiet: t.Optional[bool] = None) -> shapes.Extracted:
        """Unpacks an archive of the workspace into a folder of it.

        session_id: The session.
        file_path: The archive, below /workspace: zip, tar, gz, bz2, xz, zstd or 7z; or a PDF.
        to: The folder below /workspace; default: /workspace itself.
        quiet: Leaves the call out of the research tree and the log.
        """
        given: t.Dict[str, t.Any] = {"session_id": session_id, "file_path": file_path, "to": to,
            "quiet": quiet}
        return t.cast(shapes.Extracted, await self._json(EXPLORE_ARCHIVE_EXTRACT, given))

    async def explore_web_fetch(self, session_id: str, url: str, *,
                                max_chars: t.Optional[int] = None,
                                quiet: t.Optional[bool] = None) -> shapes.Page:
        """Fetches a page of the web as text, from domains that the configuration lists; of others
        none.

        session_id: The session.
        url: http or https, of a domain that the configuration lists for the session's agent.
        max_chars: How many characters of its text; default 10000.
        quiet: Leaves the call out of the research tree and the log.
        """
        given: t.Dict[str, t.Any] = {"session_id": session_id, "url": url, "max_chars": max_chars,
            "quiet": quiet}
        return t.cast(shapes.Page, await self._json(EXPLORE_WEB_FETCH, given))

    async def explore_list_dir(self, session_id: str, *, path: t.Optional[str] = None,
                               quiet: t.Optional[bool] = None,
                               toon: t.Optional[bool] = None) -> shapes.Dir:
        """Lists a folder of the workspace, for code that explores.

        session_id: The session.
        path: Below /workspace; default: /workspace itself.
        quiet: Leaves the call out of the research tree and the log.
        toon: Adds the answer as TOON, where that is shorter.
        """
        given: t.Dict[str, t.Any] = {"session_id": session_id, "path": path, "quiet": quiet,
            "toon": toon}
        return t.cast(shapes.Dir, await self._json(EXPLORE_LIST_DIR, given))

    async def explore_file_info(self, session_id: str, *, path: t.Optional[str] = None,
                                quiet: t.Optional[bool] = None,
                                toon: t.Optional[bool] = None) -> shapes.FileInfo:
        """Tells of a file or folder of the workspace, for code that explores.

        session_id: The session.
        path: Below /workspace; default: /workspace itself.
        quiet: Leaves the call out of the research tree and the log.
        toon: Adds the answer as TOON, where that is shorter.
        """
        given: t.Dict[str, t.Any] = {"session_id": session_id, "path": path, "quiet": quiet,
            "toon": toon}
        return t.cast(shapes.FileInfo, await self._json(EXPLORE_FILE_INFO, given))

    async def explore_mark_finding(self, session_id: str, content: str, *,
                                   tags: t.Optional[str] = None,
                                   source_file: t.Optional[str] = None,
                                   source_page: t.Optional[int] = None,
                                   source_section: t.Optional[str] = None) -> shapes.Finding:
        """Notes something that was found, so that it is there later.

        session_id: The session.
        content: What was found.
        tags: Words to find it by, with commas between them.
        source_file: Where: the file,
        source_page: its page,
        source_section: its section.
        """
        given: t.Dict[str, t.Any] = {"session_id": session_id, "content": content, "tags": tags,
            "source_file": source_file, "source_page": source_page,
            "source_section": source_section}
        return t.cast(shapes.Finding, await self._json(EXPLORE_MARK_FINDING, given))

    async def explore_list_findings(self, session_id: str) -> shapes.Findings:
        """Lists what was noted as found.

        session_id: The session.
        """
        given: t.Dict[str, t.Any] = {"session_id": session_id}
        return t.cast(shapes.Findings, await self._json(EXPLORE_LIST_FINDINGS, given))

    async def explore_final(self, session_id: str, answer: str) -> shapes.Final:
        """Gives the answer to the agent's task; the answer of the cell that calls it has it.

        session_id: The session.
        answer: The answer to the agent's task.
        """
        given: t.Dict[str, t.Any] = {"session_id": session_id, "answer": answer}
        return t.cast(shapes.Final, await self._json(EXPLORE_FINAL, given))

    async def explore_stuck(self, session_id: str, *,
                            reason: t.Optional[str] = None) -> shapes.Stuck:
        """Says that the agent's task cannot be done, and why.

        session_id: The session.
        reason: Why there is no way on.
        """
        given: t.Dict[str, t.Any] = {"session_id": session_id, "reason": reason}
        return t.cast(shapes.Stuck, await self._json(EXPLORE_STUCK, given))

    async def explore_state(self, session_id: str) -> shapes.ExploreState:
        """Tells what was explored so far, as a text for models and in parts.

        session_id: The session.
        """
        given: t.Dict[str, t.Any] = {"session_id": session_id}
        return t.cast(shapes.ExploreState, await self._json(EXPLORE_STATE, given))

    async def explore_tell(self, session_id: str, *,
                           variables: t.Optional[t.Sequence[t.Mapping[str, t.Any]]] = None,
                           artifacts: t.Optional[t.Sequence[t.Mapping[str, t.Any]]] = None) -> shapes.ExploreText:
        """Tells what was explored so far, with variables that the caller knows of: get_state() in a
        cell.

        session_id: The session.
        variables: The names that code has made, as it sees them now.
        artifacts: Likewise what it keeps in artifacts.
        """
        given: t.Dict[str, t.Any] = {"session_id": session_id, "variables": variables,
            "artifacts": artifacts}
        return t.cast(shapes.ExploreText, await self._json(EXPLORE_TELL, given))

    async def toolbox_list(self, session_id: str, *, name: t.Optional[str] = None,
                           category: t.Optional[str] = None) -> shapes.Toolbox:
        """Lists the tools that code of this session can call, with what they take.

        session_id: The session.
        name: Only this tool.
        category: Only those of this category.
        """
        given: t.Dict[str, t.Any] = {"session_id": session_id, "name": name, "category": category}
        return t.cast(shapes.Toolbox, await self._json(TOOLBOX_LIST, given))

    async def toolbox_call(self, session_id: str, name: str, *,
                           args: t.Optional[t.Mapping[str, t.Any]] = None,
                           json: t.Optional[str] = None, whole: t.Optional[bool] = None,
                           via: t.Optional[t.Literal["tool_call", "TOOL", "CALL", "llm_call", "llm_batch"]] = None) -> shapes.ToolboxResult:
        """Calls a tool of the toolbox: in the session's sandbox, with its files.

        session_id: The session.
        name: The tool, as toolbox.list has it.
        args: Its arguments, as its parameters say.
        json: The arguments as a text that is JSON, in place of args.
        whole: The result as it is, however long; default: more than 5000 characters are a file in
            /workspace/results, and the result tells where and how it begins.
        via: The function by which code has called, for the research tree.
        """
        given: t.Dict[str, t.Any] = {"session_id": session_id, "name": name, "args": args,
            "json": json, "whole": whole, "via": via}
        return t.cast(shapes.ToolboxResult, await self._json(TOOLBOX_CALL, given))

    async def toolbox_log(self, session_id: str, *,
                          limit: t.Optional[int] = None) -> shapes.Invocations:
        """The newest calls of tools in this session, with who called and how it went.

        session_id: The session.
        limit: The newest so many; default 100.
        """
        given: t.Dict[str, t.Any] = {"session_id": session_id, "limit": limit}
        return t.cast(shapes.Invocations, await self._json(TOOLBOX_LOG, given))

    async def explore_reset(self, session_id: str) -> shapes.ExploreReset:
        """Forgets the research tree, the log, findings and the answer; contexts, outputs and
        variables stay.

        session_id: The session.
        """
        given: t.Dict[str, t.Any] = {"session_id": session_id}
        return t.cast(shapes.ExploreReset, await self._json(EXPLORE_RESET, given))

    async def explore_nodes(self, session_id: str, which: t.Literal["unanalyzed", "lineage"], *,
                            node: t.Optional[str] = None) -> shapes.Nodes:
        """Lists nodes of the research tree.

        session_id: The session.
        which: Those that nobody has looked into, or what led to one.
        node: That one: G1.
        """
        given: t.Dict[str, t.Any] = {"session_id": session_id, "which": which, "node": node}
        return t.cast(shapes.Nodes, await self._json(EXPLORE_NODES, given))

    async def explore_research(self, session_id: str) -> shapes.Research:
        """Tells the research tree and the exploration log: to_dict() in a cell.

        session_id: The session.
        """
        given: t.Dict[str, t.Any] = {"session_id": session_id}
        return t.cast(shapes.Research, await self._json(EXPLORE_RESEARCH, given))

    async def explore_set_research(self, session_id: str, *,
                                   tree: t.Optional[t.Mapping[str, t.Any]] = None,
                                   log: t.Optional[t.Mapping[str, t.Any]] = None,
                                   worth: t.Optional[t.Mapping[str, t.Any]] = None) -> shapes.Research:
        """Puts a research tree and an exploration log that were told before in place of those that
        there are: from_dict() in a cell.

        session_id: The session.
        tree: A research tree, as explore.research tells it,
        log: and a log. What is not given stays.
        worth: Is not read: it follows from the log.
        """
        given: t.Dict[str, t.Any] = {"session_id": session_id, "tree": tree, "log": log,
            "worth": worth}
        return t.cast(shapes.Research, await self._json(EXPLORE_SET_RESEARCH, given))

    async def explore_mark(self, session_id: str, node: str,
                           status: t.Literal["analyzed", "stale"]) -> shapes.Mark:
        """Marks a node of the research tree as analyzed, or as not true any more.

        session_id: The session.
        node: Its id: G1.
        status: What it is from now on.
        """
        given: t.Dict[str, t.Any] = {"session_id": session_id, "node": node, "status": status}
        return t.cast(shapes.Mark, await self._json(EXPLORE_MARK, given))

    async def explore_recall(self, session_id: str, query: str, *, toon: t.Optional[bool] = None,
                             quiet: t.Optional[bool] = None) -> shapes.Recall:
        """Looks for similar tasks that the session's agent and user explored before, in any
        session, and how that went.

        session_id: The session.
        query: The task, as a text: it is the session's from now on.
        toon: Adds the answer as TOON, where that is shorter.
        quiet: Leaves the call out of the research tree and the log.
        """
        given: t.Dict[str, t.Any] = {"session_id": session_id, "query": query, "toon": toon,
            "quiet": quiet}
        return t.cast(shapes.Recall, await self._json(EXPLORE_RECALL, given))

    async def explore_outcome(self, session_id: str,
                              outcome: t.Literal["success", "partial", "failure"], *,
                              task: t.Optional[str] = None, action: t.Optional[str] = None,
                              gate_failures: t.Optional[int] = None,
                              escalations: t.Optional[int] = None) -> shapes.Outcome:
        """Remembers how the session explored its task and what became of it, for recall in later
        sessions of the same agent and user.

        session_id: The session.
        outcome: What became of the task.
        task: The task; default: the last query of recall.
        action: How it was explored, in words that the next one may act on; default: what was
            called, as the log has it.
        gate_failures: How often a check refused what was done: 0.1 less each.
        escalations: How often somebody else had to help: 0.15 less each.
        """
        given: t.Dict[str, t.Any] = {"session_id": session_id, "outcome": outcome, "task": task,
            "action": action, "gate_failures": gate_failures, "escalations": escalations}
        return t.cast(shapes.Outcome, await self._json(EXPLORE_OUTCOME, given))

    async def session_declarations(self, session_id: str) -> shapes.Declarations:
        """What the code has imported and defined, as source that can be run again, and what could
        not be saved, with advice.

        session_id: The session.
        """
        given: t.Dict[str, t.Any] = {"session_id": session_id}
        return t.cast(shapes.Declarations, await self._json(SESSION_DECLARATIONS, given))

    async def session_is_complete(self, session_id: str, code: str) -> shapes.Completeness:
        """Whether a text is a whole piece of code to the session's interpreter, which does not run
        it: complete, incomplete, invalid, or unknown if the session is busy or the text is longer
        than 64 KiB.

        session_id: The session.
        code: The cell: source code, at most 1 MiB.
        """
        given: t.Dict[str, t.Any] = {"session_id": session_id, "code": code}
        return t.cast(shapes.Completeness, await self._json(SESSION_IS_COMPLETE, given))

    async def session_complete(self, session_id: str, code: str, *,
                               cursor: t.Optional[int] = None) -> shapes.Completions:
        """Tells how a text could go on at a place: names, attributes, keys, files. Of a busy
        session only names are known, those after an earlier cell.

        session_id: The session.
        code: The text, at most 64 KiB; nothing of it runs.
        cursor: Where in it: how many characters come before; default: its end.
        """
        given: t.Dict[str, t.Any] = {"session_id": session_id, "code": code, "cursor": cursor}
        return t.cast(shapes.Completions, await self._json(SESSION_COMPLETE, given))

    async def session_inspect(self, session_id: str, code: str, *, cursor: t.Optional[int] = None,
                              detail: t.Optional[int] = None) -> shapes.Meaning:
        """Tells what stands at a place of a text: type, short value, signature, documentation. A
        busy session is refused.

        session_id: The session.
        code: The text, at most 64 KiB; nothing of it runs.
        cursor: Where in it: how many characters come before; default: its end.
        detail: 1: with the source, how a value is shown, and more of the documentation; default 0.
        """
        given: t.Dict[str, t.Any] = {"session_id": session_id, "code": code, "cursor": cursor,
            "detail": detail}
        return t.cast(shapes.Meaning, await self._json(SESSION_INSPECT, given))

    async def session_port(self, session_id: str, port: int, *, method: str = "GET", path: str = "",
                           data: t.Optional[Data] = None,
                           headers: t.Optional[t.Mapping[str, str]] = None) -> Reply:
        """Passes the request, of any method, on to an HTTP or WebSocket server in the session: what
        follows the port is the path there.

        session_id: The session.
        port: A TCP port on which a process of the session listens, on its own loopback.
        """
        given: t.Dict[str, t.Any] = {"session_id": session_id, "port": port}
        return await self._tunnel(SESSION_PORT, given, method, path, data, headers)

    async def session_terminal(self, session_id: str, *, command: t.Optional[str] = None,
                               rows: t.Optional[int] = None, cols: t.Optional[int] = None,
                               term: t.Optional[str] = None) -> AsyncSocket:
        """Opens a terminal in the session, as a WebSocket: binary messages are what is typed and
        shown.

        session_id: The session.
        command: A line that bash runs at the terminal; an interactive bash if it is left out.
        rows: Of the terminal; default 24.
        cols: Of the terminal; default 80.
        term: What TERM says; default "xterm-256color".
        """
        given: t.Dict[str, t.Any] = {"session_id": session_id, "command": command, "rows": rows,
            "cols": cols, "term": term}
        return await self._socket(SESSION_TERMINAL, given)

    async def notebook_declarations(self, session_id: str) -> shapes.Declarations:
        """What the code has imported and defined, as source that can be run again, and what could
        not be saved, with advice.

        session_id: The notebook, by the id that it shares with its session.
        """
        given: t.Dict[str, t.Any] = {"session_id": session_id}
        return t.cast(shapes.Declarations, await self._json(NOTEBOOK_DECLARATIONS, given))

    async def notebook_image(self, session_id: str, cell: str, n: int, *,
                             width: t.Optional[int] = None,
                             height: t.Optional[int] = None) -> bytes:
        """An image that a cell has shown, as it is or smaller.

        session_id: The notebook, by the id that it shares with its session.
        cell: The cell: its cell_id, or its index from 0 on; -1 is the last, #3 the one whose last
            run had the number 3.
        n: Which of its images, from 0.
        width: Pixels that it may be wide: a larger PNG or JPEG is scaled down and keeps its shape.
        height: Pixels that it may be high.
        """
        given: t.Dict[str, t.Any] = {"session_id": session_id, "cell": cell, "n": n,
            "width": width, "height": height}
        return await self._bytes(NOTEBOOK_IMAGE, given)

    async def notebook_reference(self, session_id: str, uri: str, *, data: t.Optional[bool] = None,
                                 width: t.Optional[int] = None,
                                 height: t.Optional[int] = None) -> shapes.Reference:
        """What a notebook:// reference stands for: format, size and address of an image, and the
        image itself if that is asked for.

        session_id: The notebook, by the id that it shares with its session.
        uri: notebook://NOTEBOOK/cell/CELL/image/N, or without the notebook:
            notebook://cell/CELL/image/N.
        data: Whether the answer is to hold the image itself, as base64.
        width: Pixels that it may be wide: a larger PNG or JPEG is scaled down and keeps its shape.
        height: Pixels that it may be high.
        """
        given: t.Dict[str, t.Any] = {"session_id": session_id, "uri": uri, "data": data,
            "width": width, "height": height}
        return t.cast(shapes.Reference, await self._json(NOTEBOOK_REFERENCE, given))

    async def session_checkpoints(self, session_id: str) -> shapes.CheckpointList:
        """Lists the points of a session's history that it can go back to.

        session_id: The session.
        """
        given: t.Dict[str, t.Any] = {"session_id": session_id}
        return t.cast(shapes.CheckpointList, await self._json(SESSION_CHECKPOINTS, given))

    async def session_undo(self, session_id: str, *, to: t.Optional[int] = None) -> shapes.Restored:
        """Takes a session back to a checkpoint, with its variables, files and processes.

        session_id: The session.
        to: The checkpoint to go to; 0 is the beginning. Default: the one before the last cells.
        """
        given: t.Dict[str, t.Any] = {"session_id": session_id, "to": to}
        return t.cast(shapes.Restored, await self._json(SESSION_UNDO, given))

    async def session_redo(self, session_id: str) -> shapes.Restored:
        """Takes a session to where its last undo came from.

        session_id: The session.
        """
        given: t.Dict[str, t.Any] = {"session_id": session_id}
        return t.cast(shapes.Restored, await self._json(SESSION_REDO, given))

    async def session_cells(self, session_id: str, *, offset: t.Optional[int] = None,
                            limit: t.Optional[int] = None) -> shapes.RanCells:
        """Lists the cells that a session has run, with their code.

        session_id: The session.
        offset: How many to pass over; default 0.
        limit: How many at most; default 100. Fewer come if they are large.
        """
        given: t.Dict[str, t.Any] = {"session_id": session_id, "offset": offset, "limit": limit}
        return t.cast(shapes.RanCells, await self._json(SESSION_CELLS, given))

    async def session_branch(self, session_id: str, *, at: t.Optional[int] = None,
                             count: t.Optional[int] = None) -> shapes.Branches:
        """Makes live copies of a session, each with its own sandbox, files and limits.

        session_id: The session.
        at: The checkpoint to branch from; default: the present state.
        count: How many branches; default 1.
        """
        given: t.Dict[str, t.Any] = {"session_id": session_id, "at": at, "count": count}
        return t.cast(shapes.Branches, await self._json(SESSION_BRANCH, given))

    async def session_try(self, session_id: str, code: str, *, timeout_ms: t.Optional[int] = None,
                          budget: t.Optional[int] = None,
                          images: t.Optional[t.Literal["reference", "inline"]] = None,
                          html: t.Optional[bool] = None) -> shapes.Answer:
        """Runs a cell and answers with what it changed; then it is kept or taken back.

        session_id: The session.
        code: The cell: source code, at most 1 MiB.
        timeout_ms: How long the cell may run before it is interrupted; default: the session's
            timeout_ms, else the agent's timeout_secs, 30 seconds if nothing else is configured;
            with yield_ms its max_timeout_secs, a day.
        budget: How many bytes of output the answer may hold; default: the session's or the agent's
            budget, else 8 KiB come whole, and of more the first and last lines, 3 KiB; pictures
            have up to 4 MiB beside that. At most the agent's max_output_bytes.
        images: reference (default): the answer says where images are kept, what they are and how
            large; inline: it has their data, too, within the budget.
        html: true: outputs come with their HTML, tables with their types and first rows. Without it
            an output that has a text is that; the notebook has all of it.
        """
        given: t.Dict[str, t.Any] = {"session_id": session_id, "code": code,
            "timeout_ms": timeout_ms, "budget": budget, "images": images, "html": html}
        return t.cast(shapes.Answer, await self._json(SESSION_TRY, given))

    async def session_try_text(self, session_id: str, code: str, *,
                               timeout_ms: t.Optional[int] = None, budget: t.Optional[int] = None,
                               images: t.Optional[t.Literal["reference", "inline"]] = None,
                               html: t.Optional[bool] = None) -> str:
        """Runs a cell and answers with what it changed; then it is kept or taken back. The same as
        text for a model, in the order in which it happened."""
        given: t.Dict[str, t.Any] = {"session_id": session_id, "code": code,
            "timeout_ms": timeout_ms, "budget": budget, "images": images, "html": html}
        return await self._text(SESSION_TRY, given)

    async def try_commit(self, session_id: str, try_id: int) -> shapes.TryEnd:
        """Keeps what a try did.

        session_id: The session.
        try_id: The try, by the number that its answer had.
        """
        given: t.Dict[str, t.Any] = {"session_id": session_id, "try_id": try_id}
        return t.cast(shapes.TryEnd, await self._json(TRY_COMMIT, given))

    async def try_discard(self, session_id: str, try_id: int) -> shapes.TryEnd:
        """Takes back what a try did, with its variables, files and processes.

        session_id: The session.
        try_id: The try, by the number that its answer had.
        """
        given: t.Dict[str, t.Any] = {"session_id": session_id, "try_id": try_id}
        return t.cast(shapes.TryEnd, await self._json(TRY_DISCARD, given))

    async def session_create(self, *,
                             runtime: t.Optional[t.Literal["python", "node", "bash"]] = None,
                             profile: t.Optional[str] = None,
                             limits: t.Optional[t.Mapping[str, t.Any]] = None,
                             cwd: t.Optional[str] = None,
                             env: t.Optional[t.Mapping[str, str]] = None,
                             join: t.Optional[str] = None, agent: t.Optional[str] = None,
                             binding: t.Optional[str] = None, user: t.Optional[str] = None,
                             idle_timeout_secs: t.Optional[int] = None,
                             max_age_secs: t.Optional[int] = None,
                             checkpoints: t.Optional[t.Literal["auto", "every", "off"]] = None,
                             timeout_ms: t.Optional[int] = None, budget: t.Optional[int] = None,
                             images: t.Optional[t.Literal["reference", "inline"]] = None,
                             durable: t.Optional[t.Literal["auto", "off"]] = None,
                             explore: t.Optional[bool] = None, structured: t.Optional[bool] = None,
                             debug: t.Optional[bool] = None,
                             isolation: t.Optional[t.Literal["shared", "per_cell"]] = None,
                             name: t.Optional[str] = None,
                             labels: t.Optional[t.Mapping[str, str]] = None,
                             tools: t.Optional[t.Sequence[t.Mapping[str, t.Any]]] = None,
                             tool_deadline_ms: t.Optional[int] = None) -> shapes.Session:
        """Starts a session: an interpreter of its own in a sandbox of its own.

        runtime: The interpreter.
        profile: What is already imported, by the name of a profile of the configuration.
        limits: Limits of this session; what is not given is as the configuration says. At most its
            max_limits.
        cwd: Where it works: a directory inside /workspace (also relative to it) or /tmp, made if it
            does not exist.
        env: Environment variables besides the usual ones, by name; up to 64 KiB in all.
        join: A session whose sandbox it shares: files, processes and limits.
        agent: On whose behalf, by a name of the configuration; without it the agent "default".
        binding: The inbound binding through which the agent was asked.
        user: The agent's user for whom it is, by any name: explorations are remembered for each
            apart.
        idle_timeout_secs: It is suspended when nobody used it for this long; 0 is never. Default as
            configured.
        max_age_secs: It ends at this age; 0 is never. Default as configured.
        checkpoints: When its state is kept to come back to: after a moment of rest (auto, the
            default unless the agent's checkpoints says otherwise), after every cell, or never.
        timeout_ms: How long its cells may run that name no time of their own; default: the agent's
            timeout_secs.
        budget: Bytes of output in answers to cells that name no budget of their own; default: the
            agent's budget, else 8 KiB.
        images: How answers have pictures where a cell does not say: reference (unless the agent's
            images says otherwise) or inline.
        durable: Whether its state is kept on disk, to outlive the daemon: auto (the default) or
            off.
        explore: Its code has peek, grep and the other functions that explore contexts from the
            start, not only once there is a context. Of Python.
        structured: Its cells are structured unless they say otherwise, see session.exec. With
            explore.
        debug: Whether its processes may trace each other, for gdb, strace, py-spy and leak checks;
            off unless the agent's setting is always, refused if that is never.
        isolation: shared (the default): its cells run in one process; per_cell: each has a fresh
            one, with the state that could be saved after the one before.
        name: What it can be called instead of its id: letters, digits, ".", "_" and "-". No other
            living session of the agent may have it.
        labels: Texts to find it by, up to 16, by name.
        tools: Tools that the caller hands in: code calls them as those of the toolbox, the answer
            is tool_call_required then, and exec.tool_results answers them.
        tool_deadline_ms: How long such a call may wait for its result before the cell is stopped;
            default: five minutes.
        """
        given: t.Dict[str, t.Any] = {"runtime": runtime, "profile": profile, "limits": limits,
            "cwd": cwd, "env": env, "join": join, "agent": agent, "binding": binding,
            "user": user, "idle_timeout_secs": idle_timeout_secs, "max_age_secs": max_age_secs,
            "checkpoints": checkpoints, "timeout_ms": timeout_ms, "budget": budget,
            "images": images, "durable": durable, "explore": explore, "structured": structured,
            "debug": debug, "isolation": isolation, "name": name, "labels": labels,
            "tools": tools, "tool_deadline_ms": tool_deadline_ms}
        return t.cast(shapes.Session, await self._json(SESSION_CREATE, given))

    async def session_list(self, *,
                           state: t.Optional[t.Literal["living", "starting", "idle", "busy", "suspended", "dead"]] = None,
                           runtime: t.Optional[t.Literal["python", "node", "bash"]] = None,
                           label: t.Optional[str] = None, name: t.Optional[str] = None,
                           agent: t.Optional[str] = None,
                           sort: t.Optional[t.Literal["used", "created", "memory", "cpu", "name"]] = None,
                           limit: t.Optional[int] = None,
                           cursor: t.Optional[str] = None) -> shapes.SessionList:
        """Lists sessions page by page, those that have ended last; these stay until they are
        deleted.

        state: Only those in this state; living: all that have not ended.
        runtime: Only those of this interpreter.
        label: Only those with this label: KEY, or KEY=VALUE.
        name: Only those whose name is like this; * stands for any characters.
        agent: Only those of this agent, for whom the call speaks.
        sort: Last used first (used, the default), newest first (created), by memory or processor
            time, most first, or by name; those that have ended come last.
        limit: How many at most; default 100.
        cursor: Where the page before ended: its "next".
        """
        given: t.Dict[str, t.Any] = {"state": state, "runtime": runtime, "label": label,
            "name": name, "agent": agent, "sort": sort, "limit": limit, "cursor": cursor}
        return t.cast(shapes.SessionList, await self._json(SESSION_LIST, given))

    async def session_get(self, session_id: str) -> shapes.Session:
        """Shows one session.

        session_id: The session.
        """
        given: t.Dict[str, t.Any] = {"session_id": session_id}
        return t.cast(shapes.Session, await self._json(SESSION_GET, given))

    async def session_edit(self, session_id: str, *, name: t.Optional[str] = None,
                           labels: t.Optional[t.Mapping[str, str]] = None,
                           idle_timeout_secs: t.Optional[int] = None,
                           max_age_secs: t.Optional[int] = None) -> shapes.Session:
        """Changes a session's name, its labels, or how long it may be idle and how old it may
        become.

        session_id: The session.
        name: What it can be called instead of its id; an empty text takes the name away.
        labels: Labels to set; one with an empty text is removed, others stay.
        idle_timeout_secs: It is suspended when nobody used it for this long from now on; 0 is
            never.
        max_age_secs: It ends at this age, counted from its start or its last resumption; 0 is
            never.
        """
        given: t.Dict[str, t.Any] = {"session_id": session_id, "name": name, "labels": labels,
            "idle_timeout_secs": idle_timeout_secs, "max_age_secs": max_age_secs}
        return t.cast(shapes.Session, await self._json(SESSION_EDIT, given))

    async def session_suspend(self, session_id: str) -> shapes.Suspended:
        """Gives up the processes of an idle session. Answered when all of it that can be saved is
        on disk; what cannot be is in "lost". A cell or a resumption brings it back.

        session_id: The session.
        """
        given: t.Dict[str, t.Any] = {"session_id": session_id}
        return t.cast(shapes.Suspended, await self._json(SESSION_SUSPEND, given))

    async def session_resume(self, session_id: str) -> shapes.Awake:
        """Brings a suspended session back without a cell, and says what of it is lost.

        session_id: The session.
        """
        given: t.Dict[str, t.Any] = {"session_id": session_id}
        return t.cast(shapes.Awake, await self._json(SESSION_RESUME, given))

    async def session_delete(self, session_id: str, *,
                             keep_notebook: t.Optional[bool] = None) -> shapes.Killed:
        """Ends a session with every process and file of it; who works in it gets SIGTERM first, and
        two seconds.

        session_id: The session.
        keep_notebook: The cells that it ran stay, as a notebook; default false.
        """
        given: t.Dict[str, t.Any] = {"session_id": session_id, "keep_notebook": keep_notebook}
        return t.cast(shapes.Killed, await self._json(SESSION_DELETE, given))

    async def cell_run(self, session_id: str, cell: str, *, timeout_ms: t.Optional[int] = None,
                       budget: t.Optional[int] = None, yield_ms: t.Optional[int] = None,
                       on_disconnect: t.Optional[t.Literal["continue", "cancel"]] = None,
                       names: t.Optional[bool] = None, durable: t.Optional[bool] = None,
                       images: t.Optional[t.Literal["reference", "inline"]] = None,
                       html: t.Optional[bool] = None,
                       files: t.Optional[bool] = None) -> shapes.Answer:
        """Runs a cell of a notebook, again or for the first time, and answers as session.exec does.

        session_id: The notebook, by the id that it shares with its session.
        cell: The cell: its cell_id, or its index from 0 on; -1 is the last, #3 the one whose last
            run had the number 3.
        timeout_ms: How long the cell may run before it is interrupted; default: the session's
            timeout_ms, else the agent's timeout_secs, 30 seconds if nothing else is configured;
            with yield_ms its max_timeout_secs, a day.
        budget: How many bytes of output the answer may hold; default: the session's or the agent's
            budget, else 8 KiB come whole, and of more the first and last lines, 3 KiB; pictures
            have up to 4 MiB beside that. At most the agent's max_output_bytes.
        yield_ms: Answer after this time with what there is so far, also if the cell still runs;
            without it the answer comes at the end.
        on_disconnect: What becomes of the cell if the client goes away before the answer: continue
            (default; the answer is kept) or cancel. If it is given, a client that closes only its
            own side counts as gone too.
        names: true: the answer lists the session's names; false: it says nothing about them;
            without it, which ones the cell added, changed or removed.
        durable: The answer comes when what the cell did is safe on disk.
        images: reference (default): the answer says where images are kept, what they are and how
            large; inline: it has their data, too, within the budget.
        html: true: outputs come with their HTML, tables with their types and first rows. Without it
            an output that has a text is that; the notebook has all of it.
        files: The answer says which files of /workspace the cell added, changed or removed; it
            waits until they are recorded.
        """
        given: t.Dict[str, t.Any] = {"session_id": session_id, "cell": cell,
            "timeout_ms": timeout_ms, "budget": budget, "yield_ms": yield_ms,
            "on_disconnect": on_disconnect, "names": names, "durable": durable, "images": images,
            "html": html, "files": files}
        return t.cast(shapes.Answer, await self._json(CELL_RUN, given))

    async def cell_run_text(self, session_id: str, cell: str, *, timeout_ms: t.Optional[int] = None,
                            budget: t.Optional[int] = None, yield_ms: t.Optional[int] = None,
                            on_disconnect: t.Optional[t.Literal["continue", "cancel"]] = None,
                            names: t.Optional[bool] = None, durable: t.Optional[bool] = None,
                            images: t.Optional[t.Literal["reference", "inline"]] = None,
                            html: t.Optional[bool] = None, files: t.Optional[bool] = None) -> str:
        """Runs a cell of a notebook, again or for the first time, and answers as session.exec does.
        The same as text for a model, in the order in which it happened."""
        given: t.Dict[str, t.Any] = {"session_id": session_id, "cell": cell,
            "timeout_ms": timeout_ms, "budget": budget, "yield_ms": yield_ms,
            "on_disconnect": on_disconnect, "names": names, "durable": durable, "images": images,
            "html": html, "files": files}
        return await self._text(CELL_RUN, given)

    def cell_run_events(self, session_id: str, cell: str, *, timeout_ms: t.Optional[int] = None,
                        budget: t.Optional[int] = None, yield_ms: t.Optional[int] = None,
                        on_disconnect: t.Optional[t.Literal["continue", "cancel"]] = None,
                        names: t.Optional[bool] = None, durable: t.Optional[bool] = None,
                        images: t.Optional[t.Literal["reference", "inline"]] = None,
                        html: t.Optional[bool] = None,
                        files: t.Optional[bool] = None) -> AsyncEvents:
        """Runs a cell of a notebook, again or for the first time, and answers as session.exec does.
        Its events as they happen; the last one is `result`."""
        given: t.Dict[str, t.Any] = {"session_id": session_id, "cell": cell,
            "timeout_ms": timeout_ms, "budget": budget, "yield_ms": yield_ms,
            "on_disconnect": on_disconnect, "names": names, "durable": durable, "images": images,
            "html": html, "files": files}
        return self._events(CELL_RUN, given)

    async def cell_add(self, session_id: str, code: str, *,
                       kind: t.Optional[t.Literal["code", "markdown", "raw"]] = None,
                       at: t.Optional[int] = None, cell_id: t.Optional[str] = None,
                       metadata: t.Optional[t.Mapping[str, t.Any]] = None,
                       run: t.Optional[bool] = None, timeout_ms: t.Optional[int] = None,
                       budget: t.Optional[int] = None, yield_ms: t.Optional[int] = None,
                       on_disconnect: t.Optional[t.Literal["continue", "cancel"]] = None,
                       names: t.Optional[bool] = None, durable: t.Optional[bool] = None,
                       images: t.Optional[t.Literal["reference", "inline"]] = None,
                       html: t.Optional[bool] = None,
                       files: t.Optional[bool] = None) -> t.Union[shapes.CellChange, shapes.Answer]:
        """Puts a cell into a notebook, and runs it if that is wanted.

        session_id: The notebook, by the id that it shares with its session.
        code: What it says, at most 1 MiB.
        kind: code (the default), markdown or raw.
        at: The index that it is to have, from 0 on; without it, or with -1, it comes last.
        cell_id: Its id: letters, digits, - and _, and not only digits; one is made if none is
            given.
        metadata: An object of the caller's own, up to 256 KiB; it replaces the one before.
        run: Whether it is run at once; then the answer is that of cell.run.
        timeout_ms: How long the cell may run before it is interrupted; default: the session's
            timeout_ms, else the agent's timeout_secs, 30 seconds if nothing else is configured;
            with yield_ms its max_timeout_secs, a day.
        budget: How many bytes of output the answer may hold; default: the session's or the agent's
            budget, else 8 KiB come whole, and of more the first and last lines, 3 KiB; pictures
            have up to 4 MiB beside that. At most the agent's max_output_bytes.
        yield_ms: Answer after this time with what there is so far, also if the cell still runs;
            without it the answer comes at the end.
        on_disconnect: What becomes of the cell if the client goes away before the answer: continue
            (default; the answer is kept) or cancel. If it is given, a client that closes only its
            own side counts as gone too.
        names: true: the answer lists the session's names; false: it says nothing about them;
            without it, which ones the cell added, changed or removed.
        durable: The answer comes when what the cell did is safe on disk.
        images: reference (default): the answer says where images are kept, what they are and how
            large; inline: it has their data, too, within the budget.
        html: true: outputs come with their HTML, tables with their types and first rows. Without it
            an output that has a text is that; the notebook has all of it.
        files: The answer says which files of /workspace the cell added, changed or removed; it
            waits until they are recorded.
        """
        given: t.Dict[str, t.Any] = {"session_id": session_id, "code": code, "kind": kind,
            "at": at, "cell_id": cell_id, "metadata": metadata, "run": run,
            "timeout_ms": timeout_ms, "budget": budget, "yield_ms": yield_ms,
            "on_disconnect": on_disconnect, "names": names, "durable": durable, "images": images,
            "html": html, "files": files}
        return t.cast(t.Union[shapes.CellChange, shapes.Answer], await self._json(CELL_ADD, given))

    async def cell_add_text(self, session_id: str, code: str, *,
                            kind: t.Optional[t.Literal["code", "markdown", "raw"]] = None,
                            at: t.Optional[int] = None, cell_id: t.Optional[str] = None,
                            metadata: t.Optional[t.Mapping[str, t.Any]] = None,
                            run: t.Optional[bool] = None, timeout_ms: t.Optional[int] = None,
                            budget: t.Optional[int] = None, yield_ms: t.Optional[int] = None,
                            on_disconnect: t.Optional[t.Literal["continue", "cancel"]] = None,
                            names: t.Optional[bool] = None, durable: t.Optional[bool] = None,
                            images: t.Optional[t.Literal["reference", "inline"]] = None,
                            html: t.Optional[bool] = None, files: t.Optional[bool] = None) -> str:
        """Puts a cell into a notebook, and runs it if that is wanted. The same as text for a model,
        in the order in which it happened."""
        given: t.Dict[str, t.Any] = {"session_id": session_id, "code": code, "kind": kind,
            "at": at, "cell_id": cell_id, "metadata": metadata, "run": run,
            "timeout_ms": timeout_ms, "budget": budget, "yield_ms": yield_ms,
            "on_disconnect": on_disconnect, "names": names, "durable": durable, "images": images,
            "html": html, "files": files}
        return await self._text(CELL_ADD, given)

    def cell_add_events(self, session_id: str, code: str, *,
                        kind: t.Optional[t.Literal["code", "markdown", "raw"]] = None,
                        at: t.Optional[int] = None, cell_id: t.Optional[str] = None,
                        metadata: t.Optional[t.Mapping[str, t.Any]] = None,
                        run: t.Optional[bool] = None, timeout_ms: t.Optional[int] = None,
                        budget: t.Optional[int] = None, yield_ms: t.Optional[int] = None,
                        on_disconnect: t.Optional[t.Literal["continue", "cancel"]] = None,
                        names: t.Optional[bool] = None, durable: t.Optional[bool] = None,
                        images: t.Optional[t.Literal["reference", "inline"]] = None,
                        html: t.Optional[bool] = None,
                        files: t.Optional[bool] = None) -> AsyncEvents:
        """Puts a cell into a notebook, and runs it if that is wanted. Its events as they happen;
        the last one is `result`."""
        given: t.Dict[str, t.Any] = {"session_id": session_id, "code": code, "kind": kind,
            "at": at, "cell_id": cell_id, "metadata": metadata, "run": run,
            "timeout_ms": timeout_ms, "budget": budget, "yield_ms": yield_ms,
            "on_disconnect": on_disconnect, "names": names, "durable": durable, "images": images,
            "html": html, "files": files}
        return self._events(CELL_ADD, given)

    async def cell_get(self, session_id: str, cell: str, *,
                       outputs: t.Optional[bool] = None) -> shapes.Cell:
        """Shows one cell of a notebook with its outputs.

        session_id: The notebook, by the id that it shares with its session.
        cell: The cell: its cell_id, or its index from 0 on; -1 is the last, #3 the one whose last
            run had the number 3.
        outputs: Whether it comes with its outputs; default true.
        """
        given: t.Dict[str, t.Any] = {"session_id": session_id, "cell": cell, "outputs": outputs}
        return t.cast(shapes.Cell, await self._json(CELL_GET, given))

    async def cell_edit(self, session_id: str, cell: str, *, code: t.Optional[str] = None,
                        kind: t.Optional[t.Literal["code", "markdown", "raw"]] = None,
                        metadata: t.Optional[t.Mapping[str, t.Any]] = None,
                        revision: t.Optional[int] = None) -> shapes.CellChange:
        """Changes code, kind or metadata of a cell.

        session_id: The notebook, by the id that it shares with its session.
        cell: The cell: its cell_id, or its index from 0 on; -1 is the last, #3 the one whose last
            run had the number 3.
        code: What it says from now on, at most 1 MiB.
        kind: code (the default), markdown or raw.
        metadata: An object of the caller's own, up to 256 KiB; it replaces the one before.
        revision: The revision that this is a change of: if the cell has another by now, nothing is
            changed.
        """
        given: t.Dict[str, t.Any] = {"session_id": session_id, "cell": cell, "code": code,
            "kind": kind, "metadata": metadata, "revision": revision}
        return t.cast(shapes.CellChange, await self._json(CELL_EDIT, given))

    async def cell_delete(self, session_id: str, cell: str) -> shapes.CellChange:
        """Removes a cell from its notebook; what it did stays done.

        session_id: The notebook, by the id that it shares with its session.
        cell: The cell: its cell_id, or its index from 0 on; -1 is the last, #3 the one whose last
            run had the number 3.
        """
        given: t.Dict[str, t.Any] = {"session_id": session_id, "cell": cell}
        return t.cast(shapes.CellChange, await self._json(CELL_DELETE, given))

    async def cell_move(self, session_id: str, cell: str, to: int) -> shapes.CellChange:
        """Puts a cell at another place of its notebook.

        session_id: The notebook, by the id that it shares with its session.
        cell: The cell: its cell_id, or its index from 0 on; -1 is the last, #3 the one whose last
            run had the number 3.
        to: The index that it is to have; -1, or one too large: the last.
        """
        given: t.Dict[str, t.Any] = {"session_id": session_id, "cell": cell, "to": to}
        return t.cast(shapes.CellChange, await self._json(CELL_MOVE, given))

    async def cell_clear(self, session_id: str, cell: str) -> shapes.CellChange:
        """Removes the outputs of a cell.

        session_id: The notebook, by the id that it shares with its session.
        cell: The cell: its cell_id, or its index from 0 on; -1 is the last, #3 the one whose last
            run had the number 3.
        """
        given: t.Dict[str, t.Any] = {"session_id": session_id, "cell": cell}
        return t.cast(shapes.CellChange, await self._json(CELL_CLEAR, given))

    async def cell_list(self, session_id: str, *, offset: t.Optional[int] = None,
                        limit: t.Optional[int] = None,
                        outputs: t.Optional[bool] = None) -> shapes.CellList:
        """Lists the cells of a notebook in their order, page by page.

        session_id: The notebook, by the id that it shares with its session.
        offset: How many to pass over; default 0.
        limit: How many at most; default 100. Fewer come if they are large.
        outputs: Whether they come with their outputs; default false.
        """
        given: t.Dict[str, t.Any] = {"session_id": session_id, "offset": offset, "limit": limit,
            "outputs": outputs}
        return t.cast(shapes.CellList, await self._json(CELL_LIST, given))

    async def notebook_run(self, session_id: str, *, from_: t.Optional[str] = None,
                           to: t.Optional[str] = None, stop_on_error: t.Optional[bool] = None,
                           timeout_ms: t.Optional[int] = None,
                           on_disconnect: t.Optional[t.Literal["continue", "cancel"]] = None) -> shapes.NotebookRun:
        """Runs the code of a notebook from one cell to another, one after the other.

        session_id: The notebook, by the id that it shares with its session.
        from_: The first cell, by cell_id or index; default: the first there is.
        to: The last cell, by cell_id or index; default: the last there is.
        stop_on_error: Whether a cell that fails is the last one that runs, unless it is tagged
            raises-exception; default true.
        timeout_ms: How long the cell may run before it is interrupted; default: the session's
            timeout_ms, else the agent's timeout_secs, 30 seconds if nothing else is configured;
            with yield_ms its max_timeout_secs, a day.
        on_disconnect: What becomes of it if the client goes away: continue (default), or cancel:
            the cell that runs is interrupted, and no other begins.
        """
        given: t.Dict[str, t.Any] = {"session_id": session_id, "from": from_, "to": to,
            "stop_on_error": stop_on_error, "timeout_ms": timeout_ms,
            "on_disconnect": on_disconnect}
        return t.cast(shapes.NotebookRun, await self._json(NOTEBOOK_RUN, given))

    def notebook_run_events(self, session_id: str, *, from_: t.Optional[str] = None,
                            to: t.Optional[str] = None, stop_on_error: t.Optional[bool] = None,
                            timeout_ms: t.Optional[int] = None,
                            on_disconnect: t.Optional[t.Literal["continue", "cancel"]] = None) -> AsyncEvents:
        """Runs the code of a notebook from one cell to another, one after the other. Its events as
        they happen; the last one is `result`."""
        given: t.Dict[str, t.Any] = {"session_id": session_id, "from": from_, "to": to,
            "stop_on_error": stop_on_error, "timeout_ms": timeout_ms,
            "on_disconnect": on_disconnect}
        return self._events(NOTEBOOK_RUN, given)

    def notebook_events(self, session_id: str) -> AsyncEvents:
        """What happens to a notebook, as server-sent events, until it is deleted.

        session_id: The notebook, by the id that it shares with its session.
        """
        given: t.Dict[str, t.Any] = {"session_id": session_id}
        return self._events(NOTEBOOK_EVENTS, given)

    async def notebook_export(self, session_id: str, *,
                              format: t.Optional[t.Literal["ipynb", "cells-json", "html", "markdown", "script"]] = None) -> bytes:
        """A notebook as a file: for Jupyter, to read, or to run.

        session_id: The notebook, by the id that it shares with its session.
        format: As what; default ipynb.
        """
        given: t.Dict[str, t.Any] = {"session_id": session_id, "format": format}
        return await self._bytes(NOTEBOOK_EXPORT, given)

    async def notebook_clear(self, session_id: str,
                             what: t.Literal["outputs", "cells"]) -> shapes.CellChange:
        """Removes all outputs of a notebook, or all its cells; never variables.

        session_id: The notebook, by the id that it shares with its session.
        what: outputs: the cells stay; cells: all of them go. Variables stay as they are.
        """
        given: t.Dict[str, t.Any] = {"session_id": session_id, "what": what}
        return t.cast(shapes.CellChange, await self._json(NOTEBOOK_CLEAR, given))

    async def notebook_reset(self, session_id: str) -> shapes.Reset:
        """Gives a notebook a fresh interpreter; cells and files stay as they are.

        session_id: The notebook, by the id that it shares with its session.
        """
        given: t.Dict[str, t.Any] = {"session_id": session_id}
        return t.cast(shapes.Reset, await self._json(NOTEBOOK_RESET, given))

    async def notebook_import(self, content: t.Union[str, t.Mapping[str, t.Any]], *,
                              format: t.Optional[t.Literal["ipynb", "cells-json"]] = None,
                              title: t.Optional[str] = None,
                              runtime: t.Optional[t.Literal["python", "node", "bash"]] = None,
                              profile: t.Optional[str] = None,
                              agent: t.Optional[str] = None) -> shapes.Notebook:
        """Makes a notebook of a file: an ipynb of Jupyter's, or a cells.json.

        content: The notebook: the text of the file, or the object that is in it.
        format: What it is; default: what it looks like.
        title: What to call it.
        runtime: What will run it; default: what its language says.
        profile: What is already imported then, by the name of a profile of the configuration.
        agent: Whose it is, by a name of the configuration; without it the agent "default"'s.
        """
        given: t.Dict[str, t.Any] = {"content": content, "format": format, "title": title,
            "runtime": runtime, "profile": profile, "agent": agent}
        return t.cast(shapes.Notebook, await self._json(NOTEBOOK_IMPORT, given))

    async def notebook_create(self, *, title: t.Optional[str] = None,
                              metadata: t.Optional[t.Mapping[str, t.Any]] = None,
                              cells: t.Optional[t.Sequence[t.Mapping[str, t.Any]]] = None,
                              runtime: t.Optional[t.Literal["python", "node", "bash"]] = None,
                              profile: t.Optional[str] = None,
                              limits: t.Optional[t.Mapping[str, t.Any]] = None,
                              cwd: t.Optional[str] = None,
                              env: t.Optional[t.Mapping[str, str]] = None,
                              join: t.Optional[str] = None, agent: t.Optional[str] = None,
                              binding: t.Optional[str] = None, user: t.Optional[str] = None,
                              idle_timeout_secs: t.Optional[int] = None,
                              max_age_secs: t.Optional[int] = None,
                              checkpoints: t.Optional[t.Literal["auto", "every", "off"]] = None,
                              timeout_ms: t.Optional[int] = None, budget: t.Optional[int] = None,
                              images: t.Optional[t.Literal["reference", "inline"]] = None,
                              durable: t.Optional[t.Literal["auto", "off"]] = None,
                              explore: t.Optional[bool] = None, structured: t.Optional[bool] = None,
                              debug: t.Optional[bool] = None,
                              isolation: t.Optional[t.Literal["shared", "per_cell"]] = None) -> shapes.Notebook:
        """Makes a notebook and the session that runs it.

        title: What to call it.
        metadata: An object of the caller's own, up to 256 KiB; it replaces the one before.
        cells: The cells that it begins with; none of them is run.
        runtime: The interpreter.
        profile: What is already imported, by the name of a profile of the configuration.
        limits: Limits of this session; what is not given is as the configuration says. At most its
            max_limits.
        cwd: Where it works: a directory inside /workspace (also relative to it) or /tmp, made if it
            does not exist.
        env: Environment variables besides the usual ones, by name; up to 64 KiB in all.
        join: A session whose sandbox it shares: files, processes and limits.
        agent: On whose behalf, by a name of the configuration; without it the agent "default".
        binding: The inbound binding through which the agent was asked.
        user: The agent's user for whom it is, by any name: explorations are remembered for each
            apart.
        idle_timeout_secs: It is suspended when nobody used it for this long; 0 is never. Default as
            configured.
        max_age_secs: It ends at this age; 0 is never. Default as configured.
        checkpoints: When its state is kept to come back to: after a moment of rest (auto, the
            default unless the agent's checkpoints says otherwise), after every cell, or never.
        timeout_ms: How long its cells may run that name no time of their own; default: the agent's
            timeout_secs.
        budget: Bytes of output in answers to cells that name no budget of their own; default: the
            agent's budget, else 8 KiB.
        images: How answers have pictures where a cell does not say: reference (unless the agent's
            images says otherwise) or inline.
        durable: Whether its state is kept on disk, to outlive the daemon: auto (the default) or
            off.
        explore: Its code has peek, grep and the other functions that explore contexts from the
            start, not only once there is a context. Of Python.
        structured: Its cells are structured unless they say otherwise, see session.exec. With
            explore.
        debug: Whether its processes may trace each other, for gdb, strace, py-spy and leak checks;
            off unless the agent's setting is always, refused if that is never.
        isolation: shared (the default): its cells run in one process; per_cell: each has a fresh
            one, with the state that could be saved after the one before.
        """
        given: t.Dict[str, t.Any] = {"title": title, "metadata": metadata, "cells": cells,
            "runtime": runtime, "profile": profile, "limits": limits, "cwd": cwd, "env": env,
            "join": join, "agent": agent, "binding": binding, "user": user,
            "idle_timeout_secs": idle_timeout_secs, "max_age_secs": max_age_secs,
            "checkpoints": checkpoints, "timeout_ms": timeout_ms, "budget": budget,
            "images": images, "durable": durable, "explore": explore, "structured": structured,
            "debug": debug, "isolation": isolation}
        return t.cast(shapes.Notebook, await self._json(NOTEBOOK_CREATE, given))

    async def notebook_list(self, *, user: t.Optional[str] = None, offset: t.Optional[int] = None,
                            limit: t.Optional[int] = None) -> shapes.NotebookList:
        """Lists the notebooks that have begun, by a first cell or change, the newest first, also
        those whose session is gone.

        user: Only those of this agent; default: everybody's. Who speaks for an agent sees its own.
        offset: How many to pass over; default 0.
        limit: How many at most; default 100. Fewer come if they are large.
        """
        given: t.Dict[str, t.Any] = {"user": user, "offset": offset, "limit": limit}
        return t.cast(shapes.NotebookList, await self._json(NOTEBOOK_LIST, given))

    async def notebook_get(self, session_id: str, *, outputs: t.Optional[bool] = None,
                           offset: t.Optional[int] = None,
                           limit: t.Optional[int] = None) -> shapes.Notebook:
        """Shows a notebook and its cells, page by page.

        session_id: The notebook, by the id that it shares with its session.
        outputs: Whether the cells come with their outputs; default false.
        offset: How many to pass over; default 0.
        limit: How many at most; default 100. Fewer come if they are large.
        """
        given: t.Dict[str, t.Any] = {"session_id": session_id, "outputs": outputs,
            "offset": offset, "limit": limit}
        return t.cast(shapes.Notebook, await self._json(NOTEBOOK_GET, given))

    async def notebook_edit(self, session_id: str, *, title: t.Optional[str] = None,
                            metadata: t.Optional[t.Mapping[str, t.Any]] = None) -> shapes.Notebook:
        """Changes the title or the metadata of a notebook.

        session_id: The notebook, by the id that it shares with its session.
        title: What to call it.
        metadata: An object of the caller's own, up to 256 KiB; it replaces the one before.
        """
        given: t.Dict[str, t.Any] = {"session_id": session_id, "title": title,
            "metadata": metadata}
        return t.cast(shapes.Notebook, await self._json(NOTEBOOK_EDIT, given))

    async def notebook_delete(self, session_id: str) -> shapes.DeletedNotebook:
        """Deletes a notebook with its cells and images; a session that it has lives on.

        session_id: The notebook, by the id that it shares with its session.
        """
        given: t.Dict[str, t.Any] = {"session_id": session_id}
        return t.cast(shapes.DeletedNotebook, await self._json(NOTEBOOK_DELETE, given))

    async def file_get(self, token: str, name: str) -> bytes:
        """A file that a run made, as long as it is kept.

        token: Which file, as the answer that named it says.
        name: Its name; whatever it says, the token decides.
        """
        given: t.Dict[str, t.Any] = {"token": token, "name": name}
        return await self._bytes(FILE_GET, given)

    async def health(self) -> shapes.Health:
        """Whether the daemon is ready to run code."""
        given: t.Dict[str, t.Any] = {}
        return t.cast(shapes.Health, await self._json(HEALTH, given))

    async def health_detailed(self) -> shapes.HealthDetailed:
        """Runs a line of code, and tells what is ready for more and what is not."""
        given: t.Dict[str, t.Any] = {}
        return t.cast(shapes.HealthDetailed, await self._json(HEALTH_DETAILED, given))

    async def oauth_resource(self) -> shapes.OauthResource:
        """Where clients get tokens for this server, if the configuration names issuers."""
        given: t.Dict[str, t.Any] = {}
        return t.cast(shapes.OauthResource, await self._json(OAUTH_RESOURCE, given))

    async def oauth_resource_mcp(self) -> shapes.OauthResource:
        """The same for the MCP endpoint."""
        given: t.Dict[str, t.Any] = {}
        return t.cast(shapes.OauthResource, await self._json(OAUTH_RESOURCE_MCP, given))

    async def api_index(self) -> shapes.Index:
        """What there is: every operation with its path, in short."""
        given: t.Dict[str, t.Any] = {}
        return t.cast(shapes.Index, await self._json(API_INDEX, given))

    async def api_openapi(self) -> shapes.Openapi:
        """The API as OpenAPI 3.1: every operation, parameter and answer."""
        given: t.Dict[str, t.Any] = {}
        return t.cast(shapes.Openapi, await self._json(API_OPENAPI, given))

    async def api_root(self) -> shapes.Index:
        """What there is: every operation with its path, in short. A short page for people who
        accept text/html or text/plain."""
        given: t.Dict[str, t.Any] = {}
        return t.cast(shapes.Index, await self._json(API_ROOT, given))

    async def operation_list(self) -> shapes.OperationList:
        """Lists all operations: their paths, their parameters and what they use."""
        given: t.Dict[str, t.Any] = {}
        return t.cast(shapes.OperationList, await self._json(OPERATION_LIST, given))

    async def agent_list(self) -> shapes.AgentList:
        """Lists the agents of the configuration, what they may do and who is in plan mode."""
        given: t.Dict[str, t.Any] = {}
        return t.cast(shapes.AgentList, await self._json(AGENT_LIST, given))

    async def session_plan_enter(self, session_id: str, *,
                                 reason: t.Optional[str] = None) -> shapes.SessionPlan:
        """Puts a session in plan mode: until it is left, nothing that changes the session runs.

        session_id: The session.
        reason: Why: told to whoever is refused meanwhile.
        """
        given: t.Dict[str, t.Any] = {"session_id": session_id, "reason": reason}
        return t.cast(shapes.SessionPlan, await self._json(SESSION_PLAN_ENTER, given))

    async def session_plan_leave(self, session_id: str) -> shapes.SessionPlan:
        """Leaves the plan mode of a session.

        session_id: The session.
        """
        given: t.Dict[str, t.Any] = {"session_id": session_id}
        return t.cast(shapes.SessionPlan, await self._json(SESSION_PLAN_LEAVE, given))

    async def agent_plan_enter(self, agent: str, *,
                               reason: t.Optional[str] = None) -> shapes.AgentPlan:
        """Puts an agent in plan mode, with all its sessions, also those to come.

        agent: The agent, as the configuration names it.
        reason: Why: told to whoever is refused meanwhile.
        """
        given: t.Dict[str, t.Any] = {"agent": agent, "reason": reason}
        return t.cast(shapes.AgentPlan, await self._json(AGENT_PLAN_ENTER, given))

    async def agent_plan_leave(self, agent: str) -> shapes.AgentPlan:
        """Leaves the plan mode of an agent; sessions may be in plan mode by themselves.

        agent: The agent, as the configuration names it.
        """
        given: t.Dict[str, t.Any] = {"agent": agent}
        return t.cast(shapes.AgentPlan, await self._json(AGENT_PLAN_LEAVE, given))

    async def memory_list(self, *, user: t.Optional[str] = None, offset: t.Optional[int] = None,
                          limit: t.Optional[int] = None) -> shapes.MemoryList:
        """Lists what an agent remembers of explorations.

        user: Those of this user alone; empty: of none in particular.
        offset: How many to pass over; default 0.
        limit: How many at most; default 100. Fewer come if they are large.
        """
        given: t.Dict[str, t.Any] = {"user": user, "offset": offset, "limit": limit}
        return t.cast(shapes.MemoryList, await self._json(MEMORY_LIST, given))

    async def memory_delete(self, memory: str) -> shapes.DeletedMemory:
        """Forgets what is remembered of one exploration.

        memory: The memory by its id.
        """
        given: t.Dict[str, t.Any] = {"memory": memory}
        return t.cast(shapes.DeletedMemory, await self._json(MEMORY_DELETE, given))

    async def memory_clear(self, *, user: t.Optional[str] = None) -> shapes.ClearedMemories:
        """Forgets all that an agent remembers of explorations, or what it does for one user.

        user: Those of this user alone; empty: of none in particular.
        """
        given: t.Dict[str, t.Any] = {"user": user}
        return t.cast(shapes.ClearedMemories, await self._json(MEMORY_CLEAR, given))

    async def state_list(self) -> shapes.StateList:
        """Lists the states that are kept under a name: the first thousand."""
        given: t.Dict[str, t.Any] = {}
        return t.cast(shapes.StateList, await self._json(STATE_LIST, given))

    async def state_get(self, name: str, *, with_state: t.Optional[bool] = None) -> shapes.State:
        """A state that is kept under a name: its size, how long it is kept, and itself.

        name: The name that a run gave it as state_name.
        with_state: Whether the answer is to hold the state itself, as base64.
        """
        given: t.Dict[str, t.Any] = {"name": name, "with_state": with_state}
        return t.cast(shapes.State, await self._json(STATE_GET, given))

    async def state_delete(self, name: str) -> shapes.DeletedState:
        """Forgets the state that is kept under a name, if there is one.

        name: The name that a run gave it as state_name.
        """
        given: t.Dict[str, t.Any] = {"name": name}
        return t.cast(shapes.DeletedState, await self._json(STATE_DELETE, given))

    async def repl(self, action: str, *, session_id: t.Optional[str] = None,
                   runtime: t.Optional[str] = None, code: t.Optional[str] = None,
                   cwd: t.Optional[str] = None, limits: t.Optional[t.Mapping[str, t.Any]] = None,
                   timeout_ms: t.Optional[int] = None, agent: t.Optional[str] = None,
                   binding: t.Optional[str] = None) -> shapes.ReplAnswer:
        """The repl tool: spawn, exec, read, kill and list sessions of an agent.

        action: spawn, exec, read, kill or list.
        session_id: The session; for exec, read and kill.
        runtime: python, node or bash; for spawn.
        code: What to run, or the line that running code asked for; for exec. At most 1 MiB.
        cwd: Where to begin, in /workspace or /tmp; for spawn.
        limits: Limits of the session; what is not given is as the configuration says. For spawn.
        timeout_ms: How long the call waits for the code, which goes on afterwards; without it as
            long as the agent's timeout_secs says. For exec.
        agent: On whose behalf; without it the agent "default".
        binding: The plugin through which the agent was asked.
        """
        given: t.Dict[str, t.Any] = {"action": action, "session_id": session_id,
            "runtime": runtime, "code": code, "cwd": cwd, "limits": limits,
            "timeout_ms": timeout_ms, "agent": agent, "binding": binding}
        return t.cast(shapes.ReplAnswer, await self._json(REPL, given))

    async def tool_run(self, code: str, *,
                       language: t.Optional[t.Literal["python", "node", "bash"]] = None,
                       session: t.Optional[str] = None, timeout_ms: t.Optional[int] = None,
                       yield_ms: t.Optional[int] = None, max_tokens: t.Optional[int] = None,
                       tools: t.Optional[t.Sequence[t.Mapping[str, t.Any]]] = None,
                       tool_deadline_ms: t.Optional[int] = None) -> shapes.ToolResult:
        """Runs code in a live session whose variables and files stay; without a session in the
        caller's own, which is made if there is none.

        code: Source.
        language: Default python.
        session: Name; a new one makes a session. Default: yours.
        timeout_ms: Interrupt it then.
        yield_ms: Answer by then, default 25000; wait() goes on.
        max_tokens: Of output.
        tools: Tools that the caller hands in: code calls them as those of the toolbox, the answer
            is tool_call_required then, and exec.tool_results answers them.
        tool_deadline_ms: How long such a call may wait for its result before the cell is stopped;
            default: five minutes.
        """
        given: t.Dict[str, t.Any] = {"code": code, "language": language, "session": session,
            "timeout_ms": timeout_ms, "yield_ms": yield_ms, "max_tokens": max_tokens,
            "tools": tools, "tool_deadline_ms": tool_deadline_ms}
        return t.cast(shapes.ToolResult, await self._json(TOOL_RUN, given))

    def tool_run_events(self, code: str, *,
                        language: t.Optional[t.Literal["python", "node", "bash"]] = None,
                        session: t.Optional[str] = None, timeout_ms: t.Optional[int] = None,
                        yield_ms: t.Optional[int] = None, max_tokens: t.Optional[int] = None,
                        tools: t.Optional[t.Sequence[t.Mapping[str, t.Any]]] = None,
                        tool_deadline_ms: t.Optional[int] = None) -> AsyncEvents:
        """Runs code in a live session whose variables and files stay; without a session in the
        caller's own, which is made if there is none. Its events as they happen; the last one is
        `result`."""
        given: t.Dict[str, t.Any] = {"code": code, "language": language, "session": session,
            "timeout_ms": timeout_ms, "yield_ms": yield_ms, "max_tokens": max_tokens,
            "tools": tools, "tool_deadline_ms": tool_deadline_ms}
        return self._events(TOOL_RUN, given)

    async def tool_wait(self, *, session: t.Optional[str] = None, input: t.Optional[str] = None,
                        interrupt: t.Optional[bool] = None, yield_ms: t.Optional[int] = None,
                        max_tokens: t.Optional[int] = None,
                        results: t.Optional[t.Sequence[t.Mapping[str, t.Any]]] = None) -> shapes.ToolResult:
        """Waits on for code that still runs, and answers with what is new; gives it a line, or
        interrupts it.

        session: Name; default: yours.
        input: The line it asks for.
        interrupt: Stop it first.
        yield_ms: Answer by then, default 25000; wait() goes on.
        max_tokens: Of output.
        results: What became of calls, by their ids: of each a result or an error.
        """
        given: t.Dict[str, t.Any] = {"session": session, "input": input, "interrupt": interrupt,
            "yield_ms": yield_ms, "max_tokens": max_tokens, "results": results}
        return t.cast(shapes.ToolResult, await self._json(TOOL_WAIT, given))

    def tool_wait_events(self, *, session: t.Optional[str] = None, input: t.Optional[str] = None,
                         interrupt: t.Optional[bool] = None, yield_ms: t.Optional[int] = None,
                         max_tokens: t.Optional[int] = None,
                         results: t.Optional[t.Sequence[t.Mapping[str, t.Any]]] = None) -> AsyncEvents:
        """Waits on for code that still runs, and answers with what is new; gives it a line, or
        interrupts it. Its events as they happen; the last one is `result`."""
        given: t.Dict[str, t.Any] = {"session": session, "input": input, "interrupt": interrupt,
            "yield_ms": yield_ms, "max_tokens": max_tokens, "results": results}
        return self._events(TOOL_WAIT, given)

    async def tool_back(self,
                        action: t.Literal["list", "undo", "redo", "branch", "try", "keep", "drop", "end"],
                        *, to: t.Optional[int] = None, code: t.Optional[str] = None,
                        session: t.Optional[str] = None) -> shapes.ToolResult:
        """Goes back and forth in a session's history: undo, redo, branches, tries, the list of
        checkpoints; or ends it.

        action: What to do.
        to: Checkpoint for undo, branch; default: before the last cell, now.
        code: For try.
        session: Name; default: yours.
        """
        given: t.Dict[str, t.Any] = {"action": action, "to": to, "code": code, "session": session}
        return t.cast(shapes.ToolResult, await self._json(TOOL_BACK, given))

    async def tool_look(self, *, what: t.Optional[t.Literal["names", "files", "sessions"]] = None,
                        name: t.Optional[str] = None, output: t.Optional[int] = None,
                        offset: t.Optional[int] = None, search: t.Optional[str] = None,
                        session: t.Optional[str] = None,
                        max_tokens: t.Optional[int] = None) -> shapes.ToolResult:
        """Shows what there is: names, one of them in detail, files, sessions, the output of an
        earlier cell or lines of it.

        what: Default names.
        name: One name in detail.
        output: All output of this cell.
        offset: Bytes of output to skip.
        search: Only lines, names or files with this text.
        session: Name; default: yours.
        max_tokens: Of output.
        """
        given: t.Dict[str, t.Any] = {"what": what, "name": name, "output": output,
            "offset": offset, "search": search, "session": session, "max_tokens": max_tokens}
        return t.cast(shapes.ToolResult, await self._json(TOOL_LOOK, given))

    async def tool_context(self, *, file: t.Optional[str] = None, name: t.Optional[str] = None,
                           session: t.Optional[str] = None) -> shapes.ToolResult:
        """Holds a file of the session as a context, or lists the contexts.

        file: File of the session to hold; none: lists contexts.
        name: Default context.
        session: Name; default: yours.
        """
        given: t.Dict[str, t.Any] = {"file": file, "name": name, "session": session}
        return t.cast(shapes.ToolResult, await self._json(TOOL_CONTEXT, given))

    async def tool_peek(self, *, chars: t.Optional[int] = None, offset: t.Optional[int] = None,
                        context: t.Optional[str] = None, file: t.Optional[str] = None,
                        session: t.Optional[str] = None) -> shapes.ToolResult:
        """Shows some characters of a context, or of a file.

        chars: Default 500.
        offset: Chars before.
        context: Its name, if not context.
        file: Or a file of the session.
        session: Name; default: yours.
        """
        given: t.Dict[str, t.Any] = {"chars": chars, "offset": offset, "context": context,
            "file": file, "session": session}
        return t.cast(shapes.ToolResult, await self._json(TOOL_PEEK, given))

    async def tool_grep(self, pattern: str, *, around: t.Optional[int] = None,
                        context: t.Optional[str] = None, file: t.Optional[str] = None,
                        session: t.Optional[str] = None) -> shapes.ToolResult:
        """Searches a context, or a file, for a regular expression.

        pattern: Regular expression; case is ignored.
        around: Lines around each match, default 2.
        context: Its name, if not context.
        file: Or a file of the session.
        session: Name; default: yours.
        """
        given: t.Dict[str, t.Any] = {"pattern": pattern, "around": around, "context": context,
            "file": file, "session": session}
        return t.cast(shapes.ToolResult, await self._json(TOOL_GREP, given))

    async def tool_explore(self,
                           action: t.Literal["code_search", "doc_search", "list_dir", "file_info", "archive_open", "archive_file", "archive_search", "archive_extract", "web_fetch", "chunk_context", "summarize_chunks", "mark_finding", "list_findings", "get_state", "FINAL", "STUCK"],
                           *, path: t.Optional[str] = None, text: t.Optional[str] = None,
                           session: t.Optional[str] = None) -> shapes.ToolResult:
        """Archives, pages, folders, chunks, findings and the answer: what code has as functions of
        these names.

        action: Which function.
        path: Archive, file, folder or URL.
        text: Member, query, where to, finding, answer.
        session: Name; default: yours.
        """
        given: t.Dict[str, t.Any] = {"action": action, "path": path, "text": text,
            "session": session}
        return t.cast(shapes.ToolResult, await self._json(TOOL_EXPLORE, given))

    async def tool_recall(self, query: str, *,
                          session: t.Optional[str] = None) -> shapes.ToolResult:
        """Tells how similar tasks were explored before, and how well that went.

        query: Your task.
        session: Name; default: yours.
        """
        given: t.Dict[str, t.Any] = {"query": query, "session": session}
        return t.cast(shapes.ToolResult, await self._json(TOOL_RECALL, given))

    async def tool_outcome(self, outcome: t.Literal["success", "partial", "failure"], *,
                           action: t.Optional[str] = None, task: t.Optional[str] = None,
                           session: t.Optional[str] = None) -> shapes.ToolResult:
        """Remembers how the task was explored and what became of it, for recall.

        outcome: Of your task.
        action: What worked, or did not.
        task: Default: what recall was asked.
        session: Name; default: yours.
        """
        given: t.Dict[str, t.Any] = {"outcome": outcome, "action": action, "task": task,
            "session": session}
        return t.cast(shapes.ToolResult, await self._json(TOOL_OUTCOME, given))

    async def tool_file(self, action: t.Literal["put", "get", "list", "delete"], *,
                        path: t.Optional[str] = None, content: t.Optional[str] = None,
                        offset: t.Optional[int] = None, session: t.Optional[str] = None,
                        max_tokens: t.Optional[int] = None) -> shapes.ToolResult:
        """Puts, gets, lists or deletes files of a session's workspace.

        action: What to do.
        path: In /workspace.
        content: For put: text, or data:;base64,…
        offset: For get: bytes to skip.
        session: Name; default: yours.
        max_tokens: Of output.
        """
        given: t.Dict[str, t.Any] = {"action": action, "path": path, "content": content,
            "offset": offset, "session": session, "max_tokens": max_tokens}
        return t.cast(shapes.ToolResult, await self._json(TOOL_FILE, given))

    async def tool_execute_cell(self, code: str, *, notebook: t.Optional[str] = None,
                                timeout_ms: t.Optional[int] = None,
                                yield_ms: t.Optional[int] = None) -> shapes.ToolResult:
        """Adds a cell to a notebook and runs it.

        code: Source.
        notebook: Name; default: yours.
        timeout_ms: Interrupt it then.
        yield_ms: Answer by then, default 25000; the tool wait goes on.
        """
        given: t.Dict[str, t.Any] = {"code": code, "notebook": notebook, "timeout_ms": timeout_ms,
            "yield_ms": yield_ms}
        return t.cast(shapes.ToolResult, await self._json(TOOL_EXECUTE_CELL, given))

    def tool_execute_cell_events(self, code: str, *, notebook: t.Optional[str] = None,
                                 timeout_ms: t.Optional[int] = None,
                                 yield_ms: t.Optional[int] = None) -> AsyncEvents:
        """Adds a cell to a notebook and runs it. Its events as they happen; the last one is
        `result`."""
        given: t.Dict[str, t.Any] = {"code": code, "notebook": notebook, "timeout_ms": timeout_ms,
            "yield_ms": yield_ms}
        return self._events(TOOL_EXECUTE_CELL, given)

    async def tool_rerun_cell(self, cell: int, *, code: t.Optional[str] = None,
                              notebook: t.Optional[str] = None, timeout_ms: t.Optional[int] = None,
                              yield_ms: t.Optional[int] = None) -> shapes.ToolResult:
        """Runs a cell of a notebook again, with other code if that is given.

        cell: Number from 0; -1: the last.
        code: To replace its code.
        notebook: Name; default: yours.
        timeout_ms: Interrupt it then.
        yield_ms: Answer by then, default 25000; the tool wait goes on.
        """
        given: t.Dict[str, t.Any] = {"cell": cell, "code": code, "notebook": notebook,
            "timeout_ms": timeout_ms, "yield_ms": yield_ms}
        return t.cast(shapes.ToolResult, await self._json(TOOL_RERUN_CELL, given))

    def tool_rerun_cell_events(self, cell: int, *, code: t.Optional[str] = None,
                               notebook: t.Optional[str] = None, timeout_ms: t.Optional[int] = None,
                               yield_ms: t.Optional[int] = None) -> AsyncEvents:
        """Runs a cell of a notebook again, with other code if that is given. Its events as they
        happen; the last one is `result`."""
        given: t.Dict[str, t.Any] = {"cell": cell, "code": code, "notebook": notebook,
            "timeout_ms": timeout_ms, "yield_ms": yield_ms}
        return self._events(TOOL_RERUN_CELL, given)

    async def tool_show_cell(self, cell: int, *,
                             notebook: t.Optional[str] = None) -> shapes.ToolResult:
        """Shows a cell of a notebook: its code and what it showed.

        cell: Number from 0; -1: the last.
        notebook: Name; default: yours.
        """
        given: t.Dict[str, t.Any] = {"cell": cell, "notebook": notebook}
        return t.cast(shapes.ToolResult, await self._json(TOOL_SHOW_CELL, given))

    async def tool_show_notebook(self, *, notebook: t.Optional[str] = None) -> shapes.ToolResult:
        """Shows all cells of a notebook.

        notebook: Name; default: yours.
        """
        given: t.Dict[str, t.Any] = {"notebook": notebook}
        return t.cast(shapes.ToolResult, await self._json(TOOL_SHOW_NOTEBOOK, given))

    async def tool_delete_cell(self, cell: int, *,
                               notebook: t.Optional[str] = None) -> shapes.ToolResult:
        """Removes a cell from a notebook; what it did stays done.

        cell: Number from 0; -1: the last.
        notebook: Name; default: yours.
        """
        given: t.Dict[str, t.Any] = {"cell": cell, "notebook": notebook}
        return t.cast(shapes.ToolResult, await self._json(TOOL_DELETE_CELL, given))

    async def tool_clear_notebook(self, *, notebook: t.Optional[str] = None) -> shapes.ToolResult:
        """Removes all cells of a notebook; variables stay.

        notebook: Name; default: yours.
        """
        given: t.Dict[str, t.Any] = {"notebook": notebook}
        return t.cast(shapes.ToolResult, await self._json(TOOL_CLEAR_NOTEBOOK, given))

    async def tool_create_notebook(self, name: str) -> shapes.ToolResult:
        """Makes a notebook, which is the caller's own from then on.

        name: Its title.
        """
        given: t.Dict[str, t.Any] = {"name": name}
        return t.cast(shapes.ToolResult, await self._json(TOOL_CREATE_NOTEBOOK, given))

    async def tool_export_ipynb(self, path: str, *,
                                notebook: t.Optional[str] = None) -> shapes.ToolResult:
        """Writes a notebook as .ipynb into its session's workspace.

        path: In /workspace.
        notebook: Name; default: yours.
        """
        given: t.Dict[str, t.Any] = {"path": path, "notebook": notebook}
        return t.cast(shapes.ToolResult, await self._json(TOOL_EXPORT_IPYNB, given))

    async def tool_list(self, *, sets: t.Optional[str] = None) -> shapes.ToolList:
        """The tools of one or more sets as models are given them; POST /v1/tools/NAME calls one.

        sets: Sets of tools, with commas between: core, repl, notebook; default core.
        """
        given: t.Dict[str, t.Any] = {"sets": sets}
        return t.cast(shapes.ToolList, await self._json(TOOL_LIST, given))
