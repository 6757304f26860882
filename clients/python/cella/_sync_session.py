# Made by packaging/pages.py from _async_session.py: do not edit.
"""Sessions, as people use them."""

from __future__ import annotations

import os
import typing as t
from pathlib import Path
from urllib.parse import urlsplit

from . import shapes
from ._sync_client import Client, Data
from ._handed import Tools, answer_sync_call, described
from ._table import SESSION_FILE_GET
from ._wire import Event, Op
from .errors import CellaError, ConnectionLost, Gone, NotFound
from .results import Collected, Output, Result, output_of

OUTPUT_BYTES = 1024 * 1024  # of text in a result, unless a budget is given
_GET = Op("image", "GET", "/{path}", (), ("read_only", "has_tail"))

OnOutput = t.Callable[[str, str], t.Any]            # (stdout or stderr, text)
OnInput = t.Callable[[str], str]                    # prompt -> line
Answers = t.Union[OnInput, t.Iterable[str], None]   # to what a cell asks


class Session:
    """A live interpreter in a sandbox of its own. It starts with its first use and ends with the
    `with` block, or with end().

        with Session() as s:
            print(s.run("1 + 1"))

    `runtime` is python, node or bash; further arguments are those of session.create in
    docs/API.md: profile, name, limits, env, cwd, join, timeout_ms, … Without a client, url and key
    say where the daemon is; without these it is this user's own, started if none runs."""

    def __init__(self, runtime: t.Optional[str] = None, *,
                 client: t.Optional[Client] = None, url: t.Optional[str] = None,
                 key: t.Optional[str] = None, data: t.Optional[str] = None,
                 agent: t.Optional[str] = None, **options: t.Any) -> None:
        self._owns_client = client is None
        self.client = client or Client(url, key, data=data, agent=agent)
        self._options = {**options, **({"runtime": runtime} if runtime else {})}
        self._id: t.Optional[str] = None
        self._is_ours = True
        self.files = Files(self)

    @classmethod
    def attach(cls, session: str, *, client: t.Optional[Client] = None,
               url: t.Optional[str] = None, key: t.Optional[str] = None,
               data: t.Optional[str] = None, agent: t.Optional[str] = None) -> Session:
        """One that exists, by its id or name; the end of a `with` block leaves it alive."""
        made = cls(client=client, url=url, key=key, data=data, agent=agent)
        made._id, made._is_ours = session, False
        return made

    @property
    def id(self) -> str:
        if self._id is None:
            raise CellaError("the session has not begun", "use `with`, or call start()", "invalid")
        return self._id

    def start(self) -> Session:
        """Starts it now, instead of with its first use."""
        if self._id is None:
            self._id = (self.client.session_create(**self._options))["session_id"]
        return self

    def _started(self) -> str:
        self.start()
        return self.id

    def end(self, keep_notebook: bool = False) -> None:
        """Ends the session; its notebook goes with it unless that is kept."""
        try:
            if self._id is not None:
                self.client.session_delete(self._id, keep_notebook=keep_notebook or None)
        except (NotFound, Gone):
            pass  # it ended by itself
        finally:
            self._leave()

    def _leave(self) -> None:
        if self._owns_client:
            self.client.close()

    def __enter__(self) -> Session:
        return self.start()

    def __exit__(self, *_: t.Any) -> None:
        if self._is_ours:
            self.end()
        else:
            self._leave()

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self._id or 'not begun'}>"

    # Cells.

    def run(self, code: str, *, timeout: t.Optional[float] = None,
                  wait: t.Optional[float] = None, on_output: t.Optional[OnOutput] = None,
                  input: Answers = None, tools: t.Optional[Tools] = None, check: bool = False,
                  budget: t.Optional[int] = OUTPUT_BYTES, **options: t.Any) -> Result:
        """Runs a cell. `timeout` is in seconds. `on_output` is called with ("stdout" or "stderr",
        text) while it runs. `input` answers what it asks: a function of the prompt, or lines.
        `tools` are functions by their names, which the code calls: TOOL("name", x=1).
        After `wait` seconds the result is told also if the cell still runs: wait() goes on.
        `check` raises CodeFailed if the code fails. Whoever leaves early ends the cell, unless
        `wait` was given."""
        args = {"session_id": self._started(), "code": code, "budget": budget,
                "images": "inline", "html": True, **options}
        if tools:
            args["tools"] = described(tools)
        if timeout is not None:
            args["timeout_ms"] = max(1, round(timeout * 1000))
        if wait is not None:
            args["yield_ms"] = round(wait * 1000)
        else:
            args.setdefault("on_disconnect", "cancel")
        if on_output is None:
            result = self._result(self.client.session_exec(**args))
        else:
            result = self._follow(self.client.session_exec_events(**args), on_output)
        result = self._answer(result, input, tools or {}, on_output, budget)
        return result.check() if check else result

    def _follow(self, events: t.Any, on_output: t.Optional[OnOutput]) -> Result:
        seen = Collected()
        last: t.Optional[shapes.Answer] = None
        with events:
            for event in events:
                seen.take(event.name, event.data)
                if event.name == "output" and on_output is not None:
                    on_output(event.data["stream"], event.data["text"])
                if event.name == "result":
                    last = t.cast(shapes.Answer, event.data)
        if last is None:
            raise ConnectionLost("the stream ended before its result")
        return self._result(seen.complete(last))

    def _answer(self, result: Result, answers: Answers, tools: Tools,
                      on_output: t.Optional[OnOutput], budget: t.Optional[int]) -> Result:
        """Gives the lines that a cell asks for, as long as there are some, and calls what it
        calls."""
        lines = None if answers is None or callable(answers) else iter(answers)
        while (result.status == "input_required" and answers is not None) or (
                result.status == "tool_call_required" and tools):
            before = result
            if result.status == "tool_call_required":
                result = joined(before, self._call(before, tools, on_output, budget))
                continue
            line = next(lines, None) if lines is not None else t.cast(OnInput, answers)(
                result.prompt or "")
            args: t.Dict[str, t.Any] = {
                "session_id": self.id, "budget": budget, "number": result.number,
                **({"eof": True} if line is None else {"text": line})}
            if on_output is None:
                result = self._result(self.client.session_input(**args))
            else:
                result = self._follow(self.client.session_input_events(**args), on_output)
            result = joined(before, result)
        return result

    def _call(self, result: Result, tools: Tools, on_output: t.Optional[OnOutput],
                    budget: t.Optional[int]) -> Result:
        results = []
        for call in result.told.get("tool_calls", []):
            results.append(answer_sync_call(tools, call))
        args: t.Dict[str, t.Any] = {"session_id": self.id, "cell": str(result.number),
                                    "results": results, "budget": budget}
        if on_output is None:
            return self._result(self.client.exec_tool_results(**args))
        return self._follow(self.client.exec_tool_results_events(**args), on_output)

    def stream(self, code: str, **options: t.Any) -> Stream:
        """What a cell does while it does it:

            for event in s.stream("..."):
                print(event.name, event.data)

        Events are output, display, update, clear; `result` of the stream is there after them."""
        return Stream(self, code, options)

    def wait(self, result: Result, seconds: t.Optional[float] = None, *,
                   budget: t.Optional[int] = OUTPUT_BYTES) -> Result:
        """Waits on for a cell that still runs; tells what is new."""
        told = self.client.exec_continue(
            self._started(), str(result.number), budget=budget,
            yield_ms=None if seconds is None else round(seconds * 1000))
        return self._result(told)

    def input(self, text: t.Optional[str], *,
                    budget: t.Optional[int] = OUTPUT_BYTES) -> Result:
        """Gives a line to the cell that waits for one, and waits for it; None is the end."""
        told = self.client.session_input(self._started(), text=text, budget=budget,
                                               eof=True if text is None else None)
        return self._result(told)

    def interrupt(self) -> bool:
        """As Ctrl-C would; False if nothing ran. To be called from elsewhere while run() waits."""
        return (self.client.session_interrupt(self._started()))["interrupted"]

    def _result(self, told: shapes.Answer) -> Result:
        value = told.get("value")
        outputs = [self._output(output) for output in told.get("outputs", [])]
        return Result(told, self._output(value) if value is not None else None, outputs)

    def _output(self, told: shapes.Output) -> Output:
        """Pictures that were too large for the answer are fetched."""
        is_fetched = told["type"] == "image" and "data" not in told and "url" in told
        if not is_fetched:
            return output_of(told)
        path = urlsplit(told["url"]).path.lstrip("/")
        return output_of(told, self.client._bytes(_GET, {"path": path}))

    # The past, and copies of the present.

    def undo(self, to: t.Optional[t.Union[int, Checkpoint]] = None) -> shapes.Restored:
        """Takes the last cell back, or all since a checkpoint; tells what that undid."""
        number = to.number if isinstance(to, Checkpoint) else to
        return self.client.session_undo(self._started(), to=number)

    def redo(self) -> shapes.Restored:
        return self.client.session_redo(self._started())

    def checkpoints(self) -> t.List[Checkpoint]:
        """Where the session can go back to, the oldest first."""
        told = self.client.session_checkpoints(self._started())
        return [Checkpoint(self, entry) for entry in told["checkpoints"]]

    def branch(self, at: t.Optional[int] = None) -> Session:
        """A live copy of the session, with an id of its own."""
        return (self.branches(1, at))[0]

    def branches(self, count: int, at: t.Optional[int] = None) -> t.List[Session]:
        told = self.client.session_branch(self._started(), count=count, at=at)
        found = []
        for entry in told["sessions"]:
            copy = Session.attach(entry["session_id"], client=self.client)
            copy._is_ours = True
            found.append(copy)
        return found

    def try_(self, code: str, *, timeout: t.Optional[float] = None) -> Try:
        """Runs a cell that can be kept or dropped, with all that it did:

            with s.try_("df = df.dropna()") as attempt:
                if attempt.result.ok:
                    attempt.keep()

        What was not kept is dropped at the end of the block."""
        told = self.client.session_try(
            self._started(), code, budget=OUTPUT_BYTES, images="inline", html=True,
            timeout_ms=None if timeout is None else round(timeout * 1000))
        return Try(self, self._result(told))

    # What there is.

    def info(self) -> shapes.Session:
        return self.client.session_get(self._started())

    def names(self) -> t.Dict[str, shapes.Name]:
        """The names that the code has made, with types and short values."""
        told = self.client.session_names(self._started())
        return {entry["name"]: entry for entry in told["items"]}

    def export(self, format: t.Any = "ipynb") -> bytes:
        """The session's notebook: ipynb, html, markdown, script or cells-json."""
        return self.client.notebook_export(self._started(), format=format)

    def suspend(self) -> shapes.Suspended:
        """Saves it and ends its processes; the next cell brings it back."""
        return self.client.session_suspend(self._started())


class Checkpoint:
    """A point in a session's past."""

    def __init__(self, session: Session, told: shapes.Checkpoint) -> None:
        self.session, self.told = session, told

    @property
    def number(self) -> int:
        return self.told["id"]

    def restore(self) -> shapes.Restored:
        """Takes the session back to here."""
        return self.session.undo(self.number)

    def branch(self) -> Session:
        """A copy of the session as it was here."""
        return self.session.branch(self.number)

    def __repr__(self) -> str:
        return f"<Checkpoint {self.number}>"


class Try:
    """A cell that was tried: `result` is what it gave."""

    def __init__(self, session: Session, result: Result) -> None:
        self.session, self.result = session, result
        self.number: t.Optional[int] = result.told.get("try_id")

    def keep(self) -> t.Optional[shapes.TryEnd]:
        return self._end(self.session.client.try_commit)

    def drop(self) -> t.Optional[shapes.TryEnd]:
        return self._end(self.session.client.try_discard)

    def _end(self, end: t.Any) -> t.Optional[shapes.TryEnd]:
        """None if it was decided before."""
        if self.number is None:
            return None
        number, self.number = self.number, None
        return t.cast(shapes.TryEnd, end(self.session.id, number))

    def __enter__(self) -> Try:
        return self

    def __exit__(self, *_: t.Any) -> None:
        self.drop()


class Stream:
    """Events of a cell as they happen; `result` is there once they are over."""

    def __init__(self, session: Session, code: str, options: t.Dict[str, t.Any]) -> None:
        self._session, self._code, self._options = session, code, options
        self._events: t.Any = None
        self._seen = Collected()
        self.result: t.Optional[Result] = None

    def __iter__(self) -> Stream:
        return self

    def __next__(self) -> Event:
        if self._events is None:
            args = {"budget": OUTPUT_BYTES, "images": "inline", "on_disconnect": "cancel",
                    **self._options}
            self._events = self._session.client.session_exec_events(
                self._session._started(), self._code, **args)
        event = t.cast(Event, self._events.__next__())
        self._seen.take(event.name, event.data)
        if event.name == "result":
            told = self._seen.complete(t.cast(shapes.Answer, event.data))
            self.result = self._session._result(told)
        return event

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, *_: t.Any) -> None:
        self.close()

    def close(self) -> None:
        """Ends the cell if it still runs."""
        if self._events is not None:
            self._events.close()


class Files:
    """The files of a session, below /workspace."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def put(self, path: str, data: Data) -> shapes.FilePut:
        """Bytes, text, an open file or pieces; folders on the way are made."""
        return self._session.client.session_file_put(
            self._session._started(), path, data)

    def get(self, path: str) -> bytes:
        return self._session.client.session_file_get(self._session._started(), path)

    def read_text(self, path: str) -> str:
        return (self.get(path)).decode()

    def upload(self, local: t.Union[str, os.PathLike[str]],
                     path: t.Optional[str] = None) -> shapes.FilePut:
        """Puts a file of this machine, piece by piece."""
        with open(local, "rb") as file:
            return self.put(path or Path(local).name, file)

    def download(self, path: str, local: t.Union[str, os.PathLike[str]]) -> None:
        """Gets a file to this machine, piece by piece."""
        client = self._session.client
        args = {"session_id": self._session._started(), "path": path}
        answer = client._send(SESSION_FILE_GET, args)
        with open(local, "wb") as file:
            for piece in answer.pieces():
                file.write(piece)

    def list(self, path: str = "", *, recursive: bool = False,
                   pattern: t.Optional[str] = None) -> t.List[shapes.FileEntry]:
        """All of it, page by page."""
        found: t.List[shapes.FileEntry] = []
        after: t.Optional[str] = None
        while True:
            told = self._session.client.session_file_list(
                self._session._started(), path=path or None, recursive=recursive,
                pattern=pattern, after=after, limit=1000)
            found += told["entries"]
            after = told.get("next")
            if after is None:
                return found

    def stat(self, path: str) -> shapes.FileEntry:
        return self._session.client.session_file_stat(self._session._started(), path)

    def delete(self, path: str, *, recursive: bool = False) -> None:
        self._session.client.session_file_delete(
            self._session._started(), path, recursive=recursive or None)

    def mkdir(self, path: str) -> None:
        self._session.client.session_file_mkdir(self._session._started(), path)

    def move(self, path: str, to: str, *, replace: bool = False) -> shapes.FileEntry:
        return self._session.client.session_file_move(
            self._session._started(), path, to, replace=replace)

    def copy(self, path: str, to: str, *, replace: bool = False) -> shapes.FileEntry:
        return self._session.client.session_file_copy(
            self._session._started(), path, to, replace=replace)


def joined(before: Result, after: Result) -> Result:
    """One result of two answers to the same cell: each tells what the other did not."""
    told = t.cast(shapes.Answer, dict(after.told))
    if before.stdout:
        told["stdout"] = before.stdout + after.stdout
    if before.stderr:
        told["stderr"] = before.stderr + after.stderr
    return Result(told, after.value, before.outputs + after.outputs)
