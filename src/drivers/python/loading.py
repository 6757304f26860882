"""A session's state, read from a stream into a session that has just begun.

Whatever fails costs its own variables, and they are named. A definition that does not come back as
it was saved is made again from its source.
"""

from __future__ import annotations

import _pickle
import gc
from typing import Any, Callable, Dict, List, Optional, Tuple

from . import (
    handlers, hints, jsontext, namespaces, packing, rebuild, records, saving, surroundings,
)  # fmt: skip

_MAX_LOST = 100
_MAX_ENTRY_HEADER_BYTES = 1 << 20
_MAX_SMALL_BYTES = 64 << 20

_quote = jsontext.quote
_read_object = jsontext.read_object
_int_from_bytes = int.from_bytes
_describe = saving.describe


class _Unpickler(_pickle.Unpickler):
    """What says __main__ means the session, also where sys.modules was changed."""

    def find_class(self, module_name: str, name: str) -> Any:
        if module_name == "__main__":
            return rebuild.named(*name.split("."))
        return super().find_class(module_name, name)


class Loader:
    def __init__(
        self,
        subject: saving.Subject,
        registry: handlers.Registry,
        set_futures: Callable[[int], None],
    ) -> None:
        self._subject = subject
        self._registry = registry
        self._set_futures = set_futures
        self._restored: Dict[str, None] = {}
        self._lost: Dict[str, Tuple[str, str]] = {}  # type and advice
        self._definitions: Dict[str, str] = {}
        self._imports: Dict[str, str] = {}
        self._message: Optional[str] = None

    def run(self, fd: int) -> str:
        """Members of the answer, as JSON. Never raises."""
        was_collecting = gc.isenabled()
        gc.disable()  # nothing of what is made here is garbage
        try:
            self._read(records.Reader(fd))
        except BaseException as error:
            self._message = f"The state cannot be read: {_describe(error)}"
        finally:
            if was_collecting:
                gc.enable()
        return self._answer()

    def _read(self, reader: records.Reader) -> None:
        found = reader.records()
        first = next(found, None)
        if first is None or first.get("rec") != "begin":
            raise records.Broken("it does not begin as one")
        if first.get("runtime") not in (None, "python"):
            raise records.Broken(f"it is one of {first.get('runtime')}")
        for header in found:
            if header.get("body"):
                body = reader.body()
                try:
                    self._blob(header, body)
                finally:
                    body.skip()
            elif header.get("rec") == "lost":
                self._lose(header.get("name"), header.get("type"), header.get("advice"))
        self._make_missing()

    def _blob(self, header: Any, body: records.Body) -> None:
        kind = header.get("kind")
        if kind == "namespace":
            self._load_namespace(packing.Decompressor(body.next_chunk))
            return
        names = [name for name in header.get("names") or () if type(name) is str]
        kind = header.get("kind")
        try:
            file = packing.Decompressor(body.next_chunk)
            if kind == "declarations":
                self._declare(file)
            elif kind == "variables":
                self._load_entries(file)
        except records.Broken:
            raise
        except BaseException as error:
            if kind == "namespace":  # one pickle: all of it or nothing
                self._message = f"The state cannot be read: {_describe(error)}"
            self._fail(names, error)

    # Declarations

    def _declare(self, file: packing.Decompressor) -> None:
        content = _Unpickler(file).load()
        self._definitions = content["definitions"]
        self._imports = content["imports"]
        self._set_futures(content["futures"])
        for source in (*self._imports.values(), *self._definitions.values()):
            self._subject.sources.note(source)  # for the next save
        try:
            self._subject.place.restore(content["surroundings"])
        except surroundings.Unusable as error:
            self._lose("cwd", "directory", f"Note: the working directory is gone - {error}")
        for name, module_name in content["modules"].items():
            self._bind(name, lambda: rebuild.imported(module_name))
        for name, (module_name, qualname) in content["references"].items():
            self._bind(name, lambda: _imported(module_name, qualname))
        self._subject.place.restore_random(content["surroundings"])

    def _bind(self, name: str, make: Callable[[], Any]) -> None:
        try:
            rebuild.namespace[name] = make()
            self._restored[name] = None
        except BaseException as error:
            if not self._run_statement(name, self._imports):
                self._fail([name], error)

    # Variables

    def _load_entries(self, file: packing.Decompressor) -> None:
        while True:
            head = file.read(4)
            if not head:
                return
            size = _int_from_bytes(head, "little")
            if size > _MAX_ENTRY_HEADER_BYTES:
                raise packing.Unreadable("an entry is too long")
            header = _read_object(file.read(size).decode())
            size = _int_from_bytes(file.read(8), "little")
            if size == saving.TO_THE_END:
                self._load_entry(header, file)
                return
            if size > _MAX_SMALL_BYTES:
                raise packing.Unreadable("an entry is too long")
            self._load_entry(header, _Small(file.read(size)))

    def _load_entry(self, header: Any, file: Any) -> None:
        names: List[str] = header["names"]
        try:
            if header["as"] == "source":
                self._execute(file.read().decode())
            else:
                values = _Unpickler(file).load()
                file.finish()
                if header["as"] == "handler":
                    self._registry.register(*values)
                rebuild.namespace.update(zip(names, values))
        except BaseException as error:
            self._fail(names, error)
            return
        for name in names:
            self._restored[name] = None
            self._lost.pop(name, None)

    def _load_namespace(self, file: packing.Decompressor) -> None:
        values = namespaces.load(file)
        rebuild.namespace.update(values)
        self._restored.update(dict.fromkeys(values))

    # What fails

    def _fail(self, names: List[str], error: BaseException) -> None:
        for name in names:
            if name in self._restored or self._run_statement(name, self._definitions):
                continue
            advice = hints.not_loaded(name, _describe(error))
            self._lose(name, "unknown", advice)

    def _run_statement(self, name: str, statements: Dict[str, str]) -> bool:
        source = statements.get(name)
        if source is None:
            return False
        try:
            self._execute(source)
        except BaseException:
            return False
        self._restored[name] = None
        self._lost.pop(name, None)
        return name in rebuild.namespace

    def _execute(self, source: str) -> None:
        """As a cell would, and not with the __future__ imports of this module."""
        flags = self._subject.futures()
        exec(compile(source, "<restored>", "exec", flags, True), rebuild.namespace)

    def _make_missing(self) -> None:
        """Definitions that could not be made when it was their turn."""
        for name in list(self._lost):
            self._run_statement(name, self._definitions)

    def _lose(self, name: Any, kind: Any, advice: Any) -> None:
        if type(name) is str and name not in self._restored:
            self._lost[name] = (str(kind), str(advice))

    def _answer(self) -> str:
        lost = ",".join(
            f'{{"name":{_quote(name)},"type":{_quote(kind[:200])},"advice":{_quote(advice[:600])}}}'
            for name, (kind, advice) in list(self._lost.items())[:_MAX_LOST]
        )
        message = "null" if self._message is None else _quote(self._message)
        return f'"restored":{len(self._restored)},"lost":[{lost}],"message":{message}'


class _Small:
    """A file that is held as a whole."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def read(self, size: int = -1) -> bytes:
        end = len(self._data) if size < 0 else self._at + size
        part = self._data[self._at : end]
        self._at += len(part)
        return part

    def readline(self) -> bytes:
        end = self._data.find(b"\n", self._at) + 1
        return self.read(end - self._at if end else -1)

    def finish(self) -> None:
        pass


def _imported(module_name: str, qualname: str) -> Any:
    found: Any = rebuild.imported(module_name)
    for part in qualname.split("."):
        found = getattr(found, part)
    return found
