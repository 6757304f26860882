"""Commands: `!cmd`, what they are given of the namespace, and what comes back.

They are started by posix_spawn and waited for here, without the subprocess module: a user who has
replaced `len` can still look around. Each is the head of a process group, so that an interrupt ends
all of it.
"""

from __future__ import annotations

import _string
import codecs
import os
import re
import select
import signal
import sys
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple

from . import streams

_posix_spawnp = os.posix_spawnp
_waitpid = os.waitpid
_killpg = os.killpg
_pipe = os.pipe
_read = os.read
_write = os.write
_close = os.close
_lseek = os.lseek
_open_file = os.open
_memfd_create = getattr(os, "memfd_create", None)
_poll = select.poll
_environ = os.environ
_access = os.access
_WIFSIGNALED, _WTERMSIG, _WEXITSTATUS = os.WIFSIGNALED, os.WTERMSIG, os.WEXITSTATUS
_DUP2 = os.POSIX_SPAWN_DUP2
_WNOHANG = os.WNOHANG
_POLLIN = select.POLLIN
_SIGINT, _SIGKILL = signal.SIGINT, signal.SIGKILL
_DEFAULT_SIGNALS = (signal.SIGINT, signal.SIGPIPE, signal.SIGXFSZ)
_make_decoder = codecs.getincrementaldecoder("utf-8")
_fields_of = _string.formatter_parser

_CHUNK_BYTES = 64 << 10
_GRACE_MS = 300  # after an interrupt, less than the daemon's
_STEP_MS = 10

Take = Callable[[str], Any]  # takes a piece of output


def find_shell() -> str:
    return "/bin/bash" if _access("/bin/bash", os.X_OK) else "/bin/sh"


class Lines(list):
    """What a command wrote: a list of lines; `.n` and `.s` are the same as one text."""

    __slots__ = ()

    @property
    def l(self) -> List[str]:  # noqa: E743
        return self

    list = l

    @property
    def n(self) -> str:
        return "\n".join(self)

    nlstr = n

    @property
    def s(self) -> str:
        return " ".join(self)

    spstr = s

    def grep(self, pattern: Any, prune: bool = False, field: Optional[int] = None) -> "Lines":
        """Those lines that a regular expression, or a function, finds something in."""
        is_wanted = pattern if callable(pattern) else re.compile(pattern, re.I).search

        def subject(line: str) -> str:
            parts = line.split()
            return line if field is None else parts[field] if field < len(parts) else ""

        return Lines([one for one in self if bool(is_wanted(subject(one))) != prune])

    def fields(self, *numbers: int) -> List[Any]:
        """Each line split at white space; or of each those fields, joined."""
        split = [line.split() for line in self]
        if not numbers:
            return split
        chosen = [[parts[n] for n in numbers if -len(parts) <= n < len(parts)] for parts in split]
        return Lines(map(" ".join, chosen))


Lines.__module__ = "cella"  # where code in a session finds it, and a saved state too
Lines.__name__ = Lines.__qualname__ = "SList"


class Commands:
    """Children of one session."""

    def __init__(self, session_streams: streams.Streams) -> None:
        self._streams = session_streams

    def run(self, argv: Sequence[str], body: Optional[str] = None) -> int:
        """Its output goes where print() writes now; returns the exit status."""
        self._streams.flush()
        out, err = sys.stdout, sys.stderr
        if self._streams.are_own(out, err):
            return self._run_bare(argv, body)
        return self.run_with(argv, body, writer(out), writer(err))

    def _run_bare(self, argv: Sequence[str], body: Optional[str]) -> int:
        pipes = self._streams.late_pipes()
        actions = [] if pipes is None else [(_DUP2, pipes.out, 1), (_DUP2, pipes.err, 2)]
        child = _Child(argv, actions, body)
        try:
            return child.wait()
        except BaseException:
            child.end()
            raise

    def run_with(
        self, argv: Sequence[str], body: Optional[str], out: Take, err: Optional[Take]
    ) -> int:
        """Its output goes to `out` and `err`, piece by piece; all of it to `out` without `err`."""
        pipes = [_pipe(), *([] if err is None else [_pipe()])]
        actions = [(_DUP2, pipes[0][1], 1), (_DUP2, pipes[-1][1], 2)]
        takers = {pipes[0][0]: out}
        if err is not None:
            takers[pipes[1][0]] = err
        try:
            try:
                child = _Child(argv, actions, body)
            finally:
                for _, write_end in pipes:
                    _close(write_end)
            try:
                _pump(takers)
                return child.wait()
            except BaseException:
                child.end()
                raise
        finally:
            for read_end, _ in pipes:
                _close(read_end)


class _Child:
    def __init__(
        self, argv: Sequence[str], actions: List[Tuple[int, ...]], body: Optional[str]
    ) -> None:
        stdin = -1 if body is None else _file_with(body)
        if stdin >= 0:
            actions = [*actions, (_DUP2, stdin, 0)]
        try:
            self._pid = _posix_spawnp(
                argv[0], list(argv), _environment(), file_actions=actions, setpgroup=0,
                setsigmask=(), setsigdef=_DEFAULT_SIGNALS,
            )  # fmt: skip
        finally:
            if stdin >= 0:
                _close(stdin)

    def wait(self) -> int:
        status = _waitpid(self._pid, 0)[1]
        self._pid = 0
        return _exit_code(status)

    def end(self) -> None:
        """Whoever breaks into the wait ends the command, and what that has started."""
        if self._pid == 0:
            return
        group = self._pid
        try:
            _signal_group(group, _SIGINT)
            left_ms = _GRACE_MS
            while left_ms > 0 and not self._is_over():
                _poll().poll(_STEP_MS)
                left_ms -= _STEP_MS
        finally:
            _signal_group(group, _SIGKILL)
        if not self._is_over():
            _waitpid(group, 0)
        self._pid = 0

    def _is_over(self) -> bool:
        if self._pid == 0:
            return True
        try:
            if _waitpid(self._pid, _WNOHANG)[0] != 0:
                self._pid = 0
        except ChildProcessError:
            self._pid = 0
        return self._pid == 0


def _signal_group(group: int, number: int) -> None:
    try:
        _killpg(group, number)
    except (ProcessLookupError, PermissionError):
        pass


def _exit_code(status: int) -> int:
    """As Python tells it: negative for a signal. A shell tells those of its children so too."""
    if _WIFSIGNALED(status):
        return -_WTERMSIG(status)
    code = _WEXITSTATUS(status)
    return 128 - code if code > 128 else code


def _environment() -> Any:
    """Bytes, as they are kept: reading them one by one is code that a user may have broken."""
    return getattr(_environ, "_data", _environ)


def _file_with(text: str) -> int:
    """Read by the child at its own pace, however long it is."""
    data = text.encode("utf-8", "surrogateescape")
    try:
        fd = _memfd_create("cell", 1) if _memfd_create is not None else -1  # 1: close on exec
    except OSError:
        fd = -1
    if fd < 0:
        fd = _open_file("/tmp", os.O_TMPFILE | os.O_RDWR | os.O_CLOEXEC, 0o600)
    while data:
        data = data[_write(fd, data) :]
    _lseek(fd, 0, 0)
    return fd


def _pump(takers: Dict[int, Take]) -> None:
    """Until all ends are closed."""
    poller = _poll()
    decoders = {}
    for fd in takers:
        poller.register(fd, _POLLIN)
        decoders[fd] = _make_decoder("replace")
    while decoders:
        for fd, _ in poller.poll():
            data = _read(fd, _CHUNK_BYTES)
            text = decoders[fd].decode(data, not data)
            if text:
                takers[fd](text)
            if not data:
                poller.unregister(fd)
                del decoders[fd]


def writer(stream: Any) -> Take:
    def write(text: str) -> None:
        stream.write(text)
        stream.flush()

    return write


# What a command is given of the namespace

_MARKS = re.compile(r"\{\{|\}\}|\{|\$\$?([^\W\d]\w*(?:\.[^\W\d]\w*)*)?")
_QUOTES = re.compile(r"'|\"|\\.", re.S)
_BRACES = re.compile(r"[{}]")
_MAX_FIELD_CHARS = 10_000
_MAX_SPEC_CHARS = 100  # of a format that has fields itself


def expand(text: str, scope: "Scope", is_format: bool = False) -> str:
    """`{expr}` and `$name` by their values. What has none stays as it is, for the shell."""
    if "{" not in text and "$" not in text:
        return text
    parts: List[str] = []
    at = 0
    ends: Dict[int, int] = {}
    quote = ""  # that of the shell in which we are
    while True:
        mark = _MARKS.search(text, at)
        if mark is None:
            parts.append(text[at:])
            return "".join(parts)
        quote = _quote_after(quote, text, at, mark.start())
        parts.append(text[at : mark.start()])
        at = mark.end()
        found = mark.group()
        if found in ("{{", "}}"):
            parts.append(found[0])
        elif found == "{":
            if text.startswith("$", mark.start() - 1) and mark.start() > 0:
                parts.append(found)  # the shell's own ${name}
                continue
            ends = ends or _ends_of_fields(text)
            end = ends.get(mark.start(), at + _MAX_FIELD_CHARS)
            is_field = end < at + _MAX_FIELD_CHARS
            value = scope.format(text[mark.start() : end], is_format) if is_field else None
            if value is None:
                parts.append(found)
            else:
                parts.append(value)
                at = end
        elif found.startswith("$$"):
            parts.append(found[1:] if mark.group(1) else found)
        elif mark.group(1) and quote != "'":
            parts.append(scope.dotted(mark.group(1)))
        else:
            parts.append(found)


def _quote_after(quote: str, text: str, at: int, end: int) -> str:
    for found in _QUOTES.finditer(text, at, end):
        char = found.group()
        if quote == "":
            quote = char if len(char) == 1 else ""
        elif char == quote or (quote == "'" and char == "\\'"):
            quote = ""
    return quote


def _ends_of_fields(text: str) -> Dict[int, int]:
    """Behind the brace that closes each."""
    ends: Dict[int, int] = {}
    open_braces: List[int] = []
    for brace in _BRACES.finditer(text):
        if brace.group() == "{":
            open_braces.append(brace.start())
        elif open_braces:
            ends[open_braces.pop()] = brace.end()
    return ends


class Scope:
    """Where the names in a command have their values: those of the code that it stands in."""

    def __init__(self, global_names: Dict[str, Any], local_names: Any) -> None:
        self._globals = global_names
        self._locals = local_names

    def evaluate(self, expression: str) -> Any:
        return eval(expression.strip(), self._globals, self._locals)

    def format(self, field: str, is_nested: bool) -> Optional[str]:
        """`{expr!conversion:format}`; None if that cannot be. Fields of a format have none."""
        try:
            ((literal, name, spec, conversion),) = _fields_of(field)
            if literal or not name:
                return None
            if spec and "{" in spec:
                if is_nested or len(spec) > _MAX_SPEC_CHARS:
                    return None
                spec = expand(spec, self, True)
            value = self.evaluate(name)
            if conversion:
                value = {"r": repr, "s": str, "a": ascii}[conversion](value)
            return format(value, spec or "")
        except Exception:
            return None

    def dotted(self, path: str) -> str:
        """`$name` and `$name.attribute`; a part that is no attribute is text."""
        names = path.split(".")
        if names[0] in self._locals:
            value = self._locals[names[0]]
        elif names[0] in self._globals:
            value = self._globals[names[0]]
        else:
            return "$" + path
        try:
            for number, name in enumerate(names[1:], 1):
                if not hasattr(value, name):
                    return ".".join([str(value), *names[number:]])
                value = getattr(value, name)
            return str(value)
        except Exception:
            return "$" + path
