"""What a cell asks its caller for: lines, by input(), getpass.getpass() and sys.stdin.

Descriptor 0 is /dev/null, for children too. The Python names above it lead to `ask`, which sends
the question to the daemon and waits. An answer of several lines serves as many questions; what a
cell leaves of it is forgotten when the next one begins.
"""

from __future__ import annotations

import builtins
import getpass
import io
import sys
from typing import Any, Callable, Optional, Tuple

_BufferedIOBase = io.BufferedIOBase
_TextIOWrapper = io.TextIOWrapper

_MAX_PROMPT_BYTES = 4096
_LONG_PROMPT_CHARS = 1000  # at most four bytes each
_END = "EOF when reading a line"


class Inputs:
    """`ask` takes a prompt and whether the answer is secret; None is the end of the input."""

    def __init__(self, ask: Callable[[str, bool], Optional[str]]) -> None:
        self._ask = ask
        self._rest = b""  # of an answer
        self._stdin: Optional[io.TextIOWrapper] = None
        self._input = self._make_input(builtins.input)
        self._getpass = self._make_getpass(getpass.getpass)

    def install(self) -> None:
        """In the process that becomes the session."""
        builtins.input = self._input
        getpass.getpass = self._getpass

    def make_stdin(self) -> io.TextIOWrapper:
        reader = Reader(self)
        self._stdin = _TextIOWrapper(
            reader,  # type: ignore[arg-type]
            encoding="utf-8",
            errors="surrogateescape",
        )
        self._stdin.mode = "r"  # type: ignore[misc]
        return self._stdin

    def forget(self) -> None:
        self._rest = b""

    def take(self, limit: int, prompt: str = "", is_secret: bool = False) -> bytes:
        """Up to the end of a line, and no more than `limit` bytes unless that is negative. Nothing
        at the end of the input."""
        data = self._rest
        if not data:
            text = self._ask(prompt, is_secret)
            if text is None:
                return b""
            data = text.encode("utf-8", "replace") + b"\n"
        end = data.find(b"\n") + 1
        if 0 <= limit < end:
            end = limit
        self._rest = data[end:]
        return data[:end]

    def line(self, prompt: str) -> str:
        """As input() asks for it, whatever the user made of that."""
        return self._line(prompt, False)

    def _line(self, prompt: object, is_secret: bool) -> str:
        data = self.take(-1, _fit(str(prompt)), is_secret)
        if not data:
            raise EOFError(_END)
        return data[:-1].decode()

    def _has_stdin(self) -> bool:
        return getattr(sys, "stdin", None) is self._stdin

    def _make_input(self, original: Callable[[object], str]) -> Callable[..., str]:
        inputs = self

        def input(prompt: object = "", /) -> str:
            """Ask the caller of this session for a line."""
            return inputs._line(prompt, False) if inputs._has_stdin() else original(prompt)

        input.__module__ = "builtins"
        return input

    def _make_getpass(self, original: Callable[..., str]) -> Callable[..., str]:
        inputs = self

        def getpass(prompt: str = "Password: ", stream: Any = None, **options: Any) -> str:
            """Ask the caller of this session for a line that is not to be shown."""
            if inputs._has_stdin():
                return inputs._line(prompt, True)
            return original(prompt, stream, **options)

        getpass.__module__ = "getpass"
        return getpass


class Reader(_BufferedIOBase):
    """The binary layer of sys.stdin. Reads no further than it must: the next line may never come.
    Closing it has no effect: it belongs to the session."""

    mode = "rb"
    name = "<stdin>"

    def __init__(self, inputs: Inputs) -> None:
        self._take = inputs.take

    @property
    def raw(self) -> "Reader":
        return self

    def readable(self) -> bool:
        return True

    def close(self) -> None:
        pass

    def fileno(self) -> int:
        return 0

    def read1(self, size: Optional[int] = -1, /) -> bytes:
        return b"" if size == 0 else self._take(-1 if size is None else size)

    def readline(self, size: Optional[int] = -1, /) -> bytes:
        return self.read1(size)

    def read(self, size: Optional[int] = -1, /) -> bytes:
        left = -1 if size is None else size
        parts = []
        while left != 0:
            part = self.read1(left)
            if not part:
                break
            parts.append(part)
            left -= len(part) if left > 0 else 0
        return b"".join(parts)


def _fit(prompt: str) -> str:
    """As much as a question may carry; what stands before it in a long prompt is written out."""
    prompt = prompt.replace("\0", "\\x00")
    if len(prompt) * 4 <= _MAX_PROMPT_BYTES and prompt.isprintable():
        return prompt
    shown = prompt.encode("utf-8", "backslashreplace")
    if len(shown) <= _MAX_PROMPT_BYTES:
        return shown.decode()
    before, last = _split(shown.decode())
    sys.stdout.write(before)
    return last


def _split(prompt: str) -> Tuple[str, str]:
    """Where a line begins, if one does."""
    last = prompt[-_LONG_PROMPT_CHARS:]
    last = last[last.rstrip("\n").rfind("\n") + 1 :]
    return prompt[: -len(last)], last
