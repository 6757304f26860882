"""A session's state, written to a stream. Runs in a copy of the session that ends afterwards, so
what user code does here (__getstate__, __reduce__) happens to that copy alone.

    begin · declarations · overview · variables, group by group · what was lost · end

The body of `variables`, once expanded, is a row of entries: a length and JSON (`names`, and `as`:
"pickle" or "source"), eight bytes of length, and as many bytes. Small groups share a body. A large
group has one to itself, whose length is not known while it flows: its length is _TO_THE_END.
"""

from __future__ import annotations

import platform
from typing import Any, Callable, Dict, List, Optional, Sequence, Set

from . import (
    declarations, definitions, grouping, handlers, hints, jsontext, overview, packing, records,
    rebuild, reducing, surroundings,
)  # fmt: skip

TO_THE_END = (1 << 64) - 1
_SMALL_BYTES = 32 << 10  # of a pickle that shares a body with others
_PACK_BYTES = 128 << 10
_PACK_NAMES = 400
_SPOOL_BYTES = 8 << 20  # compressed; more than this of a blob is sent before it is known to work
_MAX_LOST = 1000
_MAX_REASON_CHARS = 300
_SHOWN_SIZES = 3
_OVERVIEW_CHARS = 48 << 10  # the daemon reads it where it is, in the database

_quote = jsontext.quote
_MIB = 1 << 20
_VERSION = platform.python_version()


class Subject:
    """What there is to save. Made once, in the session."""

    def __init__(self, given: Dict[str, Any], registry: handlers.Registry) -> None:
        self._given = given
        self.registry = registry
        self.sources = declarations.Sources()
        self.place = surroundings.Place()
        self.futures: Callable[[], int] = int

    def variables(self) -> Dict[str, Any]:
        """The user's, by name: not what the profile bound, as long as it still is that."""
        given = self._given
        nothing = object()
        return {
            name: value
            for name, value in list(rebuild.namespace.items())
            if type(name) is str and given.get(name, nothing) is not value and _is_text(name)
        }


def _is_text(name: str) -> bool:
    return name != "__warningregistry__" and "\0" not in name and name.isprintable()


def describe(error: BaseException) -> str:
    """Never raises, whatever __str__ does."""
    try:
        text = str(error)
    except BaseException:
        text = ""
    kind = type(error).__name__
    if type(error) is RecursionError:
        text = "it is nested too deeply"
    elif type(error) not in _PLAIN or not text:
        text = f"{kind}: {text}" if text else kind
    return text[:_MAX_REASON_CHARS]


# Their texts say it all.
_PLAIN = (TypeError, ValueError, AttributeError, records.Broken, packing.Unreadable,
          rebuild.Unusable)  # fmt: skip


class Losses:
    """What could not be saved, by name."""

    def __init__(self) -> None:
        self._records: Dict[str, str] = {}

    def add(self, name: str, value: Any, error: BaseException) -> None:
        kind, advice = hints.describe(name, value, describe(error))
        self._records[name] = (
            f'{{"rec":"lost","name":{_quote(name[:200])},"type":{_quote(kind)},'
            f'"advice":{_quote(advice)}}}'
        )

    def write(self, writer: records.Writer) -> None:
        for record in list(self._records.values())[:_MAX_LOST]:
            writer.record(record)


def begin(writer: records.Writer, form: str) -> None:
    writer.record(
        f'{{"rec":"begin","format":"{form}","runtime":"python",'
        f'"version":{_quote(_VERSION)}}}'
    )


def fail_by_size(writer: records.Writer, max_bytes: int, sizes: Dict[str, int]) -> None:
    largest = sorted(sizes.items(), key=lambda item: -item[1])[:_SHOWN_SIZES]
    shown = ", ".join(f"{name[:60]} ({_in_megabytes(size)} MB)" for name, size in largest)
    message = (
        f"State is {_in_megabytes(writer.body_bytes)} MB, more than STATE_MAX_SIZE_MB = "
        f"{_in_megabytes(max_bytes)}. Delete what is no longer needed"
    )
    message += f"; the largest: {shown}." if shown else "."
    writer.record(f'{{"rec":"failed","message":{_quote(message)}}}')


def _in_megabytes(size: int) -> str:
    return str(size // _MIB) if size % _MIB == 0 or size >= 10 * _MIB else f"{size / _MIB:.2g}"


class Saver:
    def __init__(self, subject: Subject, writer: records.Writer, max_bytes: int) -> None:
        self._subject = subject
        self._writer = writer
        self._max_bytes = max_bytes
        self._losses = Losses()
        self._sizes: Dict[str, int] = {}
        self._pack = _Pack(writer)
        self._needs: Set[int] = set()  # of the group at hand
        self._declared = subject.sources.find()
        self._changes = subject.place.changes()
        self._variables: Dict[str, Any] = {}
        self._known = definitions.Definitions({})
        self._kept_arrays: Set[int] = set()

    def run(self, has_overview: bool = True) -> None:
        """Whatever one variable does, the others are saved."""
        begin(self._writer, "state")
        everything = self._subject.variables()
        self._save_declarations(everything)
        if has_overview:
            self._save_overview(everything)
        self._known = definitions.Definitions(self._variables)
        groups = grouping.Groups(self._variables, self._known)
        self._kept_arrays = groups.kept_arrays
        for place, group in enumerate(groups.all):
            self._save_group(place, group)
        self._save_handlers()
        self._pack.close()
        self._losses.write(self._writer)
        if self._writer.is_over:
            fail_by_size(self._writer, self._max_bytes, self._sizes)
        else:
            self._writer.record('{"rec":"end"}')

    def _save_declarations(self, everything: Dict[str, Any]) -> None:
        """What can be imported is declared; the rest are variables."""
        modules: Dict[str, str] = {}
        references: Dict[str, Any] = {}
        for name, value in everything.items():
            module_name = _module_name(value)
            if module_name is not None:
                modules[name] = module_name
            elif _is_reference(value):
                references[name] = (value.__module__, value.__qualname__)
            else:
                self._variables[name] = value
        content = {
            "modules": modules,
            "references": references,
            "imports": _only(self._declared.imports, everything),
            "definitions": _only(self._declared.definitions, self._variables),
            "futures": self._subject.futures(),
            "surroundings": self._changes,
        }
        blob = _Blob(self._writer, "declarations", [*modules, *references])
        blob.write(reducing.dump_plain(content))
        blob.close()

    def _save_overview(self, everything: Dict[str, Any]) -> None:
        """For the daemon, which tells it while there is no interpreter to ask."""
        told = overview.describe(self._subject.sources, everything, _OVERVIEW_CHARS)
        self._writer.begin_blob("overview", ())
        self._writer.chunk(f"{{{told}}}".encode())
        self._writer.end_blob()

    # One group

    def _save_group(self, place: int, group: grouping.Group) -> None:
        self._needs = group.needs
        before = self._writer.body_bytes
        self._try_group(place, group.names)
        size = self._writer.body_bytes - before
        if size:
            self._sizes[", ".join(group.names[:3])] = size

    def _try_group(self, place: int, names: Sequence[str]) -> None:
        error = self._try_to_save(place, names)
        if error is None:
            return
        if len(names) == 1:
            self._give_up(place, names[0], error)
            return
        good = [name for name in names if self._works_alone(place, name)]
        if len(good) < len(names):
            if good:
                self._try_group(place, good)
        else:  # each does, but not together: then apart
            for name in names:
                self._try_group(place, [name])

    def _works_alone(self, place: int, name: str) -> bool:
        try:
            self._dump(_Nowhere(), [name])
        except BaseException as error:
            self._give_up(place, name, error)
            return False
        return True

    def _close_needed_pack(self) -> None:
        """Before a blob leaves that needs what waits in the pack."""
        if not self._pack.places.isdisjoint(self._needs):
            self._pack.close()

    def _try_to_save(self, place: int, names: Sequence[str]) -> Optional[BaseException]:
        sink = _Sink(self._writer, names, self._close_needed_pack)
        try:
            self._dump(sink, names)
        except BaseException as error:
            sink.abandon()
            return error
        small = sink.finish()
        if small is not None:
            self._pack.add(place, names, "pickle", small)
        return None

    def _dump(self, sink: Any, names: Sequence[str]) -> None:
        self._pickler(sink, set(names)).dump(tuple([self._variables[name] for name in names]))

    def _pickler(self, sink: Any, here: Set[str]) -> reducing.StatePickler:
        registry = self._subject.registry
        return reducing.StatePickler(sink, self._known, registry, here, self._kept_arrays)

    def _give_up(self, place: int, name: str, error: BaseException) -> None:
        """A definition is made again from its source; what refers to its name can go on so."""
        value = self._variables[name]
        source = self._declared.definitions.get(name)
        if source is not None and (callable(value) or type(value) in _WRAPPERS):
            self._pack.add(place, [name], "source", source.encode())
        else:
            self._known.drop(name)
            self._losses.add(name, value, error)

    def _save_handlers(self) -> None:
        for kind, functions in self._subject.registry.users.items():
            content = [kind, *functions]
            sink = _Sink(self._writer, [], self._pack.close)
            try:
                self._pickler(sink, set()).dump(content)
            except BaseException:
                sink.abandon()
                continue
            small = sink.finish()
            if small is not None:
                self._pack.add(-1, [], "handler", small)


def _module_name(value: Any) -> Optional[str]:
    """Of a module that `import` gives again."""
    if type(value) is not definitions.ModuleType:
        return None
    name = getattr(value, "__name__", None)
    return name if definitions.is_module(name, value) else None


_REFERENCES = definitions.REFERENCES
_WRAPPERS = (staticmethod, classmethod, property)  # a definition may be one, without being callable


def _is_reference(value: Any) -> bool:
    kind = type(value)
    return (kind in _REFERENCES or issubclass(kind, type)) and definitions.is_importable(value)


def _only(statements: Dict[str, str], names: Dict[str, Any]) -> Dict[str, str]:
    return {name: text for name, text in statements.items() if name in names or name == "*"}


# Where pickles go


class _Nowhere:
    def write(self, data: Any) -> None:
        pass


class _Blob:
    """Compressed as it is written. The first part is held back, because what fails early should
    leave no trace. `before` is called when it begins to leave."""

    def __init__(
        self,
        writer: records.Writer,
        kind: str,
        names: Sequence[str],
        before: Optional[Callable[[], None]] = None,
    ) -> None:
        self._before = before
        self._writer = writer
        self._kind = kind
        self._names = names
        self._held: Optional[List[bytes]] = []
        self._held_bytes = 0
        self._compressor = packing.Compressor(self._emit)
        self.write = self._compressor.write

    def _emit(self, data: bytes) -> None:
        if self._held is None:
            self._writer.chunk(data)
            return
        self._held.append(data)
        self._held_bytes += len(data)
        if self._held_bytes > _SPOOL_BYTES:
            self._release()

    def _release(self) -> None:
        if self._held is not None:
            if self._before is not None:
                self._before()
            self._writer.begin_blob(self._kind, self._names)
            for data in self._held:
                self._writer.chunk(data)
            self._held = None

    def close(self) -> None:
        self._compressor.close()
        self._release()
        self._writer.end_blob()

    def abandon(self) -> None:
        """If it has left already it ends here, incomplete: loading it will fail, and says so only
        if its names come in no other blob."""
        if self._held is None:
            self._writer.end_blob()


class _Sink:
    """A file for a pickler: held as long as it is small, then a blob of its own."""

    def __init__(
        self, writer: records.Writer, names: Sequence[str], before: Callable[[], None]
    ) -> None:
        self._writer = writer
        self._names = names
        self._before = before
        self._small = bytearray()
        self._blob: Optional[_Blob] = None

    def write(self, data: Any) -> None:
        if self._blob is None:
            view = memoryview(data).cast("B")
            if len(self._small) + len(view) <= _SMALL_BYTES:
                self._small += view
                return
            self._blob = _Blob(self._writer, "variables", self._names, self._before)
            self._blob.write(entry_head(self._names, "pickle", TO_THE_END))
            self._blob.write(self._small)
            self._small = bytearray()
        self._blob.write(data)

    def finish(self) -> Optional[bytearray]:
        """The whole, if it is small."""
        if self._blob is None:
            return self._small
        self._blob.close()
        return None

    def abandon(self) -> None:
        if self._blob is not None:
            self._blob.abandon()


class _Pack:
    """Small groups, and sources of definitions."""

    def __init__(self, writer: records.Writer) -> None:
        self._writer = writer
        self._begin()

    def _begin(self) -> None:
        self._data = bytearray()
        self._names: List[str] = []
        self.places: Set[int] = set()  # of the groups in it

    def add(self, place: int, names: Sequence[str], form: str, content: bytes) -> None:
        self._data += entry_head(names, form, len(content))
        self._data += content
        self._names += names
        self.places.add(place)
        if len(self._data) > _PACK_BYTES or len(self._names) > _PACK_NAMES:
            self.close()

    def close(self) -> None:
        if self._data:
            blob = _Blob(self._writer, "variables", self._names)
            blob.write(self._data)
            blob.close()
            self._begin()


def entry_head(names: Sequence[str], form: str, size: int) -> bytes:
    listed = ",".join(map(_quote, names))
    header = f'{{"names":[{listed}],"as":"{form}"}}'.encode()
    return len(header).to_bytes(4, "little") + header + size.to_bytes(8, "little")
