"""Functions with which the code of a cell explores what is too large to be shown: texts that the
session holds as contexts, and files of its workspace.

They ask the daemon, which has boxed processes for it; nothing of a context is in this process
unless it is asked for. What goes wrong comes back as a value, `[ERROR: …]`, so that a model sees it
where it looks.
"""

from __future__ import annotations

import builtins
import json
import types
from typing import Any, Callable, Dict, Iterator, List, Optional, Union

Call = Callable[[str, Dict[str, Any]], Any]
ListNames = Callable[[], List[Dict[str, str]]]  # of the user's variables: name, type, text

_MAIN = "context"  # the name of the context that functions mean if none is named
_PIECE_CHARS = 200_000  # of a context that is copied
_PATTERN_CHARS = 10_000  # of a text that is searched for by the daemon


class Refused(Exception):
    """What the daemon says instead of an answer."""

    def __init__(self, code: str, message: str, advice: str) -> None:
        super().__init__(f"{message}. {advice}" if advice else message)
        self.code = code
        self.message = message


class Finished(BaseException):
    """Raised by FINAL() and STUCK(): the cell is done, and nothing after it is to run."""


class Table(Dict[str, Any]):
    """A dictionary that is shown in few tokens."""

    def __init__(self, members: Dict[str, Any], shown: Optional[str]) -> None:
        super().__init__(members)
        self._shown = shown

    def __repr__(self) -> str:
        return super().__repr__() if self._shown is None else self._shown

    __str__ = __repr__


class Hits(List[Dict[str, Any]]):
    """Lines that were found, which are shown in few tokens, with what is not among them: `note` has
    that in words, and is empty if nothing is missing."""

    def __init__(self, told: Dict[str, Any]) -> None:
        super().__init__(told["hits"])
        self.note: str = told.get("note", "")
        self._shown: Optional[str] = told.get("toon")

    def __reduce__(self) -> Any:
        return Hits, ({"hits": list(self), "note": self.note, "toon": self._shown},)

    def __repr__(self) -> str:
        if self._shown is not None:
            return self._shown
        return super().__repr__() + (f"\n{self.note}" if self.note else "")

    __str__ = __repr__


class Texts:
    """Asks the daemon for parts of texts. What is saved with the user's variables, as a Chunk is,
    has no reference to it, and finds it here when it is loaded."""

    def __init__(self, call: Call) -> None:
        self.call = call

    def length(self, name: str) -> int:
        chars: int = self.call("context.get", {"name": name})["chars"]
        return chars

    def read(self, args: Dict[str, Any]) -> str:
        """What explore.peek answers to these arguments, however many answers it takes: one holds a
        megabyte."""
        told = self.call("explore.peek", args)
        parts = [told["text"]]
        while told.get("is_cut") and told["text"]:
            taken = len(told["text"])
            args = {**args, "n": args["n"] - taken, "offset": args["offset"] + taken, "quiet": True}
            told = self.call("explore.peek", args)
            parts.append(told["text"])
        return "".join(parts)

    def has(self, name: str, text: str) -> bool:
        args = {"context": name, "pattern": text, "literal": True, "context_lines": 0}
        args.update(max_results=1, case=True, quiet=True)
        return bool(self.call("explore.grep", args)["count"])


_texts: Optional[Texts] = None  # as install() was told


def texts() -> Texts:
    if _texts is None:
        raise RuntimeError("this session does not explore, so it has no such text")
    return _texts


class Context:
    """A text that the daemon holds: slices and characters of it are fetched when they are wanted,
    str() copies all of it."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __len__(self) -> int:
        return texts().length(self._name)

    def __getitem__(self, place: Union[int, slice]) -> str:
        total = len(self)
        if isinstance(place, int):
            index = place + total if place < 0 else place
            if not 0 <= index < total:
                raise IndexError("the context has no such character")
            return self._read(index, index + 1)
        start, stop, step = place.indices(total)
        if step == 1:
            return self._read(start, stop)
        return str(self)[place]

    def __contains__(self, text: object) -> bool:
        if not isinstance(text, str):
            raise TypeError("only a text can be in a context")
        if text == "":
            return True
        if "\n" not in text and len(text) <= _PATTERN_CHARS:
            return texts().has(self._name, text)
        rest = ""  # what is searched for by lines has none of their ends
        for piece in self._pieces(0, len(self)):
            if text in rest + piece:
                return True
            rest = (rest + piece)[1 - len(text) :]
        return False

    def __iter__(self) -> Iterator[str]:
        """Its lines."""
        rest = ""
        for piece in self._pieces(0, len(self)):
            *whole, rest = (rest + piece).split("\n")
            yield from whole
        if rest:
            yield rest

    def __str__(self) -> str:
        return self._read(0, len(self))

    def __repr__(self) -> str:
        return f"<{self._name}: {len(self)} chars>"

    def _pieces(self, start: int, stop: int) -> Iterator[str]:
        for at in range(start, stop, _PIECE_CHARS):
            n = min(_PIECE_CHARS, stop - at)
            yield texts().read({"context": self._name, "offset": at, "n": n, "quiet": True})

    def _read(self, start: int, stop: int) -> str:
        return "".join(self._pieces(start, stop))


class Chunk(Dict[str, Any]):
    """A piece of the context: {index, start, end, text, char_count}. Its text is fetched when
    something asks for it, by whatever way of a dictionary."""

    def __init__(self, told: Dict[str, Any]) -> None:
        members = {"index": None, "start": None, "end": None, "text": None, **told}
        super().__init__(members)

    def _fill(self) -> None:
        if super().get("text", "") is None:
            place = slice(super().__getitem__("start"), super().__getitem__("end"))
            super().__setitem__("text", Context(_MAIN)[place])

    def __getitem__(self, key: str) -> Any:
        if key == "text":
            self._fill()
        return super().__getitem__(key)

    def __iter__(self) -> Iterator[str]:  # with this, dict(chunk) and **chunk ask __getitem__
        return super().__iter__()

    def __reduce__(self) -> Any:
        return Chunk, (self._told(),)

    def __repr__(self) -> str:
        return repr({**self._told(), "text": Unshown(self)})

    def _told(self) -> Dict[str, Any]:
        """As it is; what dict has of its own for that would ask for the text."""
        return {name: super(Chunk, self).__getitem__(name) for name in self}

    __str__ = __repr__


class Unshown:
    """Stands for the text of a chunk where that is shown."""

    def __init__(self, chunk: Chunk) -> None:
        self._chunk = chunk

    def __repr__(self) -> str:
        return f"<{self._chunk['char_count']} chars>"


def _filled(name: str) -> Callable[..., Any]:
    method = getattr(dict, name)

    def function(self: Chunk, *args: Any, **keywords: Any) -> Any:
        self._fill()
        return method(self, *args, **keywords)

    function.__name__ = function.__qualname__ = name
    return function


for _name in ("get", "items", "values", "copy", "pop", "popitem", "setdefault", "__eq__", "__ne__"):
    setattr(Chunk, _name, _filled(_name))


class Research:
    """The research tree, or the exploration log, that the daemon keeps of this session."""

    def __init__(self, member: str) -> None:
        self._member = member

    def to_dict(self) -> Dict[str, Any]:
        """All of it, to be kept anywhere."""
        told: Dict[str, Any] = texts().call("explore.research", {})[self._member]
        return told

    def from_dict(self, kept: Dict[str, Any]) -> "Research":
        """What to_dict() gave takes the place of what there is."""
        texts().call("explore.set_research", {self._member: kept})
        return self

    def __repr__(self) -> str:
        kept = self.to_dict()
        if self._member == "tree":
            return f"<research tree: {len(kept['nodes'])} nodes>"
        return f"<exploration log: {kept['total_events']} events>"


class Log(Research):
    """The exploration log: also what the exploration was like."""

    def __init__(self) -> None:
        super().__init__("log")

    def strategy(self) -> Dict[str, Any]:
        """{total_events, function_counts, total_tokens, strategy_type}"""
        told: Dict[str, Any] = texts().call("explore.research", {})["worth"]["strategy"]
        return told

    def efficiency(self) -> Dict[str, Any]:
        """{exploration_tokens, result_tokens, efficiency_ratio, total_events}"""
        told: Dict[str, Any] = texts().call("explore.research", {})["worth"]["efficiency"]
        return told

    def __reduce__(self) -> Any:
        return Log, ()


class Functions:
    """What install() binds. `call` asks the daemon for an operation."""

    def __init__(self, call: Call, namespace: Dict[str, Any], list_names: ListNames) -> None:
        self._call = call
        self._namespace = namespace
        self._list_names = list_names
        self._archive = ""  # that was opened last

    # For code.

    def context_len(self) -> Union[int, str]:
        """How many characters the context has."""
        return self._told(lambda: texts().length(_MAIN))

    def peek(
        self, n: Union[int, str] = 500, file_path: Optional[str] = None, offset: int = 0
    ) -> str:
        """n characters of the context, or of a file, from offset on."""
        if isinstance(n, str):  # peek(path), as the note about a cut output says
            n, file_path = 500, n
        args = {"n": n, "offset": offset, **_place(file_path)}
        return self._told(lambda: texts().read(args))

    def grep(
        self, pattern: str, file_path: Optional[str] = None, context_lines: int = 2
    ) -> List[str]:
        """Lines of the context, or of a file, that match a regular expression, whatever their
        case, with the lines around them."""
        args = {"pattern": pattern, "context_lines": context_lines, **_place(file_path)}
        try:
            lines: List[str] = self._call("explore.grep", args)["lines"]
            return lines
        except Refused as error:
            kind = "REGEX ERROR" if error.code == "invalid" else "ERROR"
            return [f"[{kind}: {error}]"]

    def code_search(self, query: str, limit: int = 5, corpus: Optional[str] = None) -> Any:
        """Functions, classes and methods of the workspace that fit the query best:
        {results: [{file, lines, score, unit, signature}], index, query}. A corpus is a folder that
        the configuration names."""
        args = {"query": query, "limit": limit, **({} if corpus is None else {"corpus": corpus})}
        return self._table("explore.code_search", args)

    def doc_search(self, query: str, limit: int = 5, corpus: Optional[str] = None) -> Any:
        """The same of sections in documents."""
        args = {"query": query, "limit": limit, **({} if corpus is None else {"corpus": corpus})}
        return self._table("explore.doc_search", args)

    def chunk_context(self, n_chunks: int = 4, overlap: int = 200) -> Any:
        """The context in pieces: [{index, start, end, text, char_count}]."""
        args = {"n_chunks": n_chunks, "overlap": overlap}
        return self._told(
            lambda: [Chunk(told) for told in self._call("explore.chunks", args)["chunks"]]
        )

    def summarize_chunks(self, task: str = "", n_chunks: int = 4, overlap: int = 200) -> Any:
        """The context in pieces, each with its place, its lines and how it begins, and what the
        configured model says of it, if there is one: [{index, start, end, char_count, line_count,
        first_line, summary}]."""
        args = {"task": task, "n_chunks": n_chunks, "overlap": overlap}
        return self._told(lambda: self._call("explore.summarize_chunks", args)["chunks"])

    def list_dir(self, path: str = ".") -> Any:
        """{path, files, total} of a folder of the workspace."""
        return self._table("explore.list_dir", {"path": path})

    def file_info(self, path: str) -> Any:
        """{path, exists, type, size, modified, extension} of a file of the workspace."""
        return self._table("explore.file_info", {"path": path})

    def archive_open(self, path: str) -> Any:
        """What is in an archive of the workspace; archive_file() and the others mean it then."""
        self._archive = path
        return self._table("explore.archive_open", {"file_path": path})

    def archive_file(self, name: str, path: Optional[str] = None, n: int = 10_000) -> str:
        """The text of a file in the archive."""
        args = {"file_path": self._opened(path), "member": name, "n": n}
        return self._told(lambda: _noted(self._call("explore.archive_file", args)))

    def archive_search(self, query: str, path: Optional[str] = None) -> Any:
        """Lines of the archive's text files that have this text: [{archive, file, line, match}]."""
        args = {"file_path": self._opened(path), "query": query, "toon": True}
        return self._told(lambda: Hits(self._call("explore.archive_search", args)))

    def archive_extract(self, path: Optional[str] = None, to: str = "") -> Any:
        """Unpacks the archive into a folder of the workspace."""
        args = {"file_path": self._opened(path), "to": to}
        return self._told(lambda: self._call("explore.archive_extract", args))

    def web_fetch(self, url: str, max_chars: int = 10_000) -> str:
        """The text of a page, of a domain that this daemon's configuration lists."""
        args = {"url": url, "max_chars": max_chars}
        return self._told(lambda: _noted(self._call("explore.web_fetch", args)))

    def tool_call(
        self, name: str, args: Optional[Dict[str, Any]] = None, whole: bool = False
    ) -> Any:
        """What a tool of the toolbox answers; list_tools() has them. A long result is a file in
        /workspace/results and what it begins with; with whole=True it is the result itself."""
        return self._use("tool_call", name, dict(args or {}), whole)

    def TOOL(self, name: str, /, **args: Any) -> Any:
        """tool_call() with the arguments by their names."""
        return self._use("TOOL", name, args)

    def CALL(self, text: str) -> Any:
        """tool_call() with JSON: {"name": …, "args": {…}}."""
        try:
            given = json.loads(text)
            name, args = given["name"], given.get("args", given.get("arguments", {}))
        except (ValueError, TypeError, KeyError, AttributeError):
            return '[ERROR: CALL() takes JSON: {"name": "calculate", "args": {…}}]'
        if not isinstance(name, str) or not isinstance(args, dict):
            return '[ERROR: CALL() takes a "name", which is a text, and "args", an object]'
        return self._use("CALL", name, args)

    def llm_call(self, prompt: str, **options: Any) -> Any:
        """What a model answers, if the configuration has one: system, max_tokens, temperature."""
        return self._use("llm_call", "llm_call", {"prompt": prompt, **options}, True)

    def llm_batch(self, prompts: List[str], **options: Any) -> Any:
        """What it answers to each of several questions."""
        return self._use("llm_batch", "llm_batch", {"prompts": list(prompts), **options}, True)

    def run_shell(self, command: str, timeout: Optional[float] = None) -> Any:
        """What a command that only looks writes, in the workspace."""
        return self._use("TOOL", "run_shell", _given(command=command, timeout=timeout))

    def run_python_code(
        self, code: str, stdin_data: Optional[str] = None, timeout: Optional[float] = None
    ) -> Any:
        """What a program writes, in an interpreter of its own."""
        args = _given(code=code, stdin_data=stdin_data, timeout=timeout)
        return self._use("TOOL", "run_python_code", args)

    def file_write_safe(self, path: str, content: str) -> Any:
        """Writes a file of the workspace; what was there stays as .bak.TIME."""
        return self._use("TOOL", "file_write_safe", {"path": path, "content": content})

    def log_append(self, path: str, message: str, level: Optional[str] = None) -> Any:
        """Appends a line with the time to a file of the workspace."""
        args = _given(path=path, message=message, level=level)
        return self._use("TOOL", "log_append", args)

    def benchmark_run(
        self,
        code: str,
        setup: Optional[str] = None,
        number: Optional[int] = None,
        repeat: Optional[int] = None,
    ) -> Any:
        """How long a piece of code takes."""
        args = _given(code=code, setup=setup, number=number, repeat=repeat)
        return self._use("TOOL", "benchmark_run", args)

    def list_tools(self, name: Optional[str] = None, category: Optional[str] = None) -> Any:
        """The tools there are: their names and what they do; of one, all of its entry."""
        if name is not None:
            return self._told(lambda: self._call("toolbox.list", {"name": name})["tools"][0])
        args = {} if category is None else {"category": category}
        return self._told(
            lambda: [_briefly(tool) for tool in self._call("toolbox.list", args)["tools"]]
        )

    def mark_finding(
        self,
        content: str,
        tags: Optional[List[str]] = None,
        source_file: Optional[str] = None,
        source_page: Optional[int] = None,
        source_section: Optional[str] = None,
    ) -> str:
        """Notes something worth keeping."""
        args: Dict[str, Any] = {"content": content, "tags": ",".join(tags or ()) or None}
        args["source_file"] = source_file
        args.update(source_page=source_page, source_section=source_section)
        given = {name: value for name, value in args.items() if value is not None}
        return self._told(lambda: f"Finding {self._call('explore.mark_finding', given)['id']}")

    def list_findings(self) -> Any:
        """What was noted so far."""
        return self._told(lambda: self._call("explore.list_findings", {})["findings"])

    def mark_analyzed(self, node: str) -> str:
        """A node of the research tree has been looked into."""
        return self._mark(node, "analyzed")

    def mark_stale(self, node: str) -> str:
        """A node of the research tree is not true any more."""
        return self._mark(node, "stale")

    def get_unanalyzed(self) -> Any:
        """Nodes of the research tree that nobody has looked into."""
        return self._told(lambda: self._call("explore.nodes", {"which": "unanalyzed"})["nodes"])

    def get_lineage(self, node: str) -> Any:
        """A node of the research tree and what led to it, the first one first."""
        args = {"which": "lineage", "node": node}
        return self._told(lambda: self._call("explore.nodes", args)["nodes"])

    def recall(self, query: str) -> Any:
        """How similar tasks were explored before, in any session, and how well that went:
        {results, best_action, confidence}. The query is the task from now on."""
        return self._table("explore.recall", {"query": query})

    def outcome(
        self,
        outcome: str,
        task: Optional[str] = None,
        action: Optional[str] = None,
        gate_failures: int = 0,
        escalations: int = 0,
    ) -> Any:
        """What became of the task, "success", "partial" or "failure": recall() tells it later
        sessions. How it was explored is taken from the log unless action says it."""
        args: Dict[str, Any] = {"outcome": outcome, "task": task, "action": action}
        args.update(gate_failures=gate_failures, escalations=escalations)
        given = {name: value for name, value in args.items() if value is not None}
        return self._told(lambda: self._call("explore.outcome", given))

    def get_research(self) -> Research:
        """The research tree: to_dict() tells all of it, from_dict() replaces it."""
        return Research("tree")

    def get_exploration_log(self) -> Log:
        """How often what was called: to_dict() and from_dict(), likewise; strategy() and
        efficiency() say what it was like."""
        return Log()

    def get_state(self) -> str:
        """What is known so far: contexts, names, the research tree."""
        args = {
            "variables": [item for item in self._list_names() if item["name"] != "artifacts"],
            "artifacts": _values(self._namespace.get("artifacts")),
        }
        return self._told(lambda: self._call("explore.tell", args)["text"])

    def FINAL(self, answer: object) -> None:
        """The answer to the task: the cell ends with it."""
        if callable(answer):
            raise TypeError("FINAL() takes the answer itself, not a function: call it first")
        self._end("explore.final", {"answer": answer if isinstance(answer, str) else str(answer)})

    def FINAL_VAR(self, name: str) -> None:
        """The answer is what `artifacts` has under this name."""
        kept = self._namespace.get("artifacts") or {}
        if name not in kept:
            there = ", ".join(map(str, list(kept)[:20])) or "nothing"
            raise KeyError(f"artifacts has no {name!r}; it has: {there}")
        self.FINAL(kept[name])

    def STUCK(self, reason: str = "") -> None:
        """There is no way on: the cell ends with the reason."""
        self._end("explore.stuck", {"reason": str(reason)})

    def _use(self, function: str, name: str, args: Dict[str, Any], whole: bool = False) -> Any:
        asked = {"name": name, "args": args, "via": function, "whole": whole}
        return self._told(lambda: self._call("toolbox.call", asked)["result"])

    def _opened(self, path: Optional[str]) -> str:
        if not path and not self._archive:
            raise ValueError("open an archive first: archive_open(path)")
        return path or self._archive

    def _mark(self, node: str, status: str) -> str:
        args = {"node": node, "status": status}
        return self._told(lambda: f"{self._call('explore.mark', args)['node']}: {status}")

    def _table(self, op: str, args: Dict[str, Any]) -> Any:
        def ask() -> Table:
            told = self._call(op, {**args, "toon": True})
            return Table(told, told.pop("toon", None))

        return self._told(ask)

    def _told(self, ask: Callable[[], Any]) -> Any:
        try:
            return ask()
        except Refused as error:
            return f"[ERROR: {error}]"

    def _end(self, op: str, args: Dict[str, Any]) -> None:
        try:
            self._call(op, args)
        except Refused as error:
            raise RuntimeError(str(error)) from None
        raise Finished()


def _given(**args: Any) -> Dict[str, Any]:
    return {name: value for name, value in args.items() if value is not None}


def _briefly(tool: Dict[str, Any]) -> Dict[str, Any]:
    """An entry in one line: what must be given, what may be."""
    needed = tool.get("schema", {}).get("required") or ()
    taken = []
    for name, told in tool["parameters"].items():
        is_told = isinstance(told, dict)
        is_needed = name in needed or (is_told and told.get("required"))
        default = told.get("default") if is_told else None
        taken.append(name if is_needed else f"{name}={default!r}")
    call = f"{tool['name']}({', '.join(taken)})"
    return {"name": tool["name"], "call": call, "does": tool["description"]}


def _noted(told: Dict[str, Any]) -> str:
    """A text; what is not in it stands in its last line."""
    text: str = told["text"]
    if "note" not in told:
        return text
    return text + ("" if not text or text.endswith("\n") else "\n") + str(told["note"])


def _values(kept: object) -> List[Dict[str, str]]:
    """The first entries of a dictionary, each as a short text."""
    if not isinstance(kept, dict):
        return []
    first = list(kept.items())[:50]
    return [{"name": str(name)[:80], "text": str(value)[:200]} for name, value in first]


def _place(file_path: Optional[str]) -> Dict[str, Any]:
    return {} if file_path is None else {"file_path": file_path}


_BOUND = (
    "context_len", "peek", "grep", "code_search", "doc_search", "chunk_context", "summarize_chunks",
    "list_dir", "file_info",
    "archive_open", "archive_file", "archive_search", "archive_extract", "web_fetch",
    "tool_call", "TOOL", "CALL", "list_tools", "llm_call", "llm_batch", "run_shell",
    "run_python_code", "file_write_safe", "log_append", "benchmark_run",
    "mark_finding", "list_findings", "mark_analyzed", "mark_stale", "get_unanalyzed",
    "get_lineage", "recall", "outcome", "get_research", "get_exploration_log", "get_state", "FINAL",
    "FINAL_VAR", "STUCK",
)  # fmt: skip


def install(call: Call, namespace: Dict[str, Any], list_names: ListNames) -> None:
    """Binds the functions for all code of the session, and `artifacts` among its variables."""
    global _texts
    _texts = Texts(call)
    functions = Functions(call, namespace, list_names)
    for name in _BOUND:
        setattr(builtins, name, _plain(getattr(functions, name)))
    setattr(builtins, _MAIN, Context(_MAIN))
    namespace.setdefault("artifacts", {})


def _plain(method: Any) -> Callable[..., Any]:
    """A function as a module would have it, so that help() and inspection show it so."""

    def function(*args: Any, **keywords: Any) -> Any:
        return method(*args, **keywords)

    function.__name__ = function.__qualname__ = method.__name__
    function.__doc__ = method.__doc__
    function.__wrapped__ = types.MethodType(method.__func__, method.__self__)  # type: ignore
    function.__module__ = "builtins"
    return function
