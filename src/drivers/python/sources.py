"""The sources of cells, where traceback, inspect, warnings and pdb look for them: in linecache,
under the name `<cell N>`. Bounded in number and size; the oldest go first."""

from __future__ import annotations

import collections
import inspect
import linecache
import re
from typing import Any, Deque, List, Optional, Tuple

_MAX_CELLS = 4096
_MAX_CHARS = 16 << 20

_cache = linecache.cache
_inspect_getfile = inspect.getfile
_isclass = inspect.isclass
_re_compile = re.compile
_re_escape = re.escape


class Sources:
    def __init__(self) -> None:
        self._kept: Deque[Tuple[str, int]] = collections.deque()
        self._chars = 0

    def add(self, name: str, source: str) -> None:
        lines = [line + "\n" for line in source.split("\n")]
        # Without a modification time linecache.checkcache() leaves the entry alone.
        _cache[name] = (len(source), None, lines, name)
        self._kept.append((name, len(source)))
        self._chars += len(source)
        if self._chars > _MAX_CHARS or len(self._kept) > _MAX_CELLS:
            self._trim()

    def _trim(self) -> None:
        while len(self._kept) > 1 and (self._chars > _MAX_CHARS or len(self._kept) > _MAX_CELLS):
            name, size = self._kept.popleft()
            self._chars -= size
            _cache.pop(name, None)

    def forget_last(self) -> None:
        name, size = self._kept.pop()
        self._chars -= size
        _cache.pop(name, None)

    def kept(self) -> List[Tuple[str, str]]:
        """Names and texts, the oldest first."""
        cells = [(name, _cache[name][2]) for name, _ in self._kept if name in _cache]
        return [(name, "".join(lines)[:-1]) for name, lines in cells]

    def teach_inspect(self) -> None:
        """A class knows its module but not its file, and __main__ has none: without help
        inspect.getsource fails for every class made in a cell."""
        sources = self

        def getfile(object: Any) -> str:
            """Work out which source or compiled file an object was defined in."""
            if _isclass(object) and getattr(object, "__module__", None) == "__main__":
                name = sources._cell_of_class(object)
                if name is not None:
                    return name
            return _inspect_getfile(object)

        inspect.getfile = getfile

    def _cell_of_class(self, cls: type) -> Optional[str]:
        """The newest cell with such a class statement (on that line, where Python tells it)."""
        name = cls.__qualname__.rpartition(".")[2]
        statement = _re_compile(rf"\s*class\s+{_re_escape(name)}\b")
        first_line = vars(cls).get("__firstlineno__")
        for cell, _ in reversed(self._kept):
            lines = _cache[cell][2] if cell in _cache else []
            if any(map(statement.match, lines)):
                if first_line is None or _has_class_near(lines, first_line, statement):
                    return cell
        return None


def _has_class_near(lines: list[str], first_line: int, statement: re.Pattern[str]) -> bool:
    """`first_line` counts from 1 and is that of the first decorator, if there is one."""
    for line in lines[first_line - 1 :]:
        if statement.match(line):
            return True
        if not line.lstrip().startswith(("@", "#")) and line.strip():
            return False
    return False
