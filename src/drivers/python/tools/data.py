"""JSON, tables with commas, and questions in SQL."""

from __future__ import annotations

import csv
import io
import json
import re
import sqlite3
import time
from typing import Any, Callable, Dict, Iterable, List, Optional, Tuple

from . import workspace
from .results import Refused, Table

_SQL_SECONDS = 20.0
_SQL_ROWS = 10_000
_QUERY_CHARS = 2000
_QUERY_VALUES = 1_000_000


def _given(data: Any, path: Optional[str], what: str) -> Any:
    """The text or the value that a tool is about: given, or in a file."""
    if (data is None) == (path is None):
        raise Refused(f"give {what} or path: one of them")
    return workspace.load(path) if path is not None else data


def _parsed(data: Any, path: Optional[str]) -> Any:
    data = _given(data, path, "data")
    if not isinstance(data, str):
        return data
    try:
        return json.loads(data)
    except ValueError as error:
        lines = [line for line in data.splitlines() if line.strip()]
        try:  # one value on each line
            return [json.loads(line) for line in lines]
        except ValueError:
            raise Refused(f"the data is no JSON: {error}", "Look at it with peek().") from None


# ---- json_query ----------------------------------------------------------------------------------

_TOKEN = re.compile(
    r"\s*(?:(?P<number>-?\d+(?:\.\d+)?)|(?P<text>\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*')"
    r"|(?P<name>[A-Za-z_$@][\w$]*)|(?P<mark>\.\.|==|!=|<=|>=|//|[.\[\]{}()|,:<>*?+\-/]))"
)
_Stream = Iterable[Any]
_Step = Callable[[Any], _Stream]


class _Query:
    """A subset of jq: paths (.a.b[0], .[], .[1:3], ..name), `|`, `,`, comparisons, and/or/not,
    arithmetic, select(), map(), sort_by() and others, {a: .b}, [ .x ]. A query that begins with $
    is a JSONPath: $.a[*].b, $..b, $.a[?(@.n > 1)]."""

    def __init__(self, text: str) -> None:
        if len(text) > _QUERY_CHARS:
            raise Refused("the query is too long", f"At most {_QUERY_CHARS} characters.")
        self._text = text
        self._tokens: List[Tuple[str, str]] = []
        self._at = 0
        self._made = 0
        at = 0
        text = text.rstrip()
        while at < len(text):
            match = _TOKEN.match(text, at)
            if match is None:
                raise self._wrong(f"{text[at:at + 12]!r} is not understood")
            kind = str(match.lastgroup)
            self._tokens.append((kind, match.group(kind)))
            at = match.end()
        self._step = self._pipe() if self._tokens else lambda value: [value]
        if self._at < len(self._tokens):
            raise self._wrong(f"{self._tokens[self._at][1]!r} is not expected there")

    def run(self, value: Any) -> List[Any]:
        return list(self._step(value))

    def _wrong(self, why: str) -> Refused:
        return Refused(
            f"the query {self._text!r}: {why}",
            'Write paths as .users[0].name or $.users[*].name; ".[] | select(.n > 1) | .name"; '
            "functions: " + " ".join(sorted([*_PLAIN, *_WITH])),
        )

    # the text

    def _peek(self, *marks: str) -> bool:
        return self._at < len(self._tokens) and self._tokens[self._at][1] in marks

    def _take(self, *marks: str) -> Optional[str]:
        if not self._peek(*marks):
            return None
        self._at += 1
        return self._tokens[self._at - 1][1]

    def _need(self, mark: str) -> None:
        if self._take(mark) is None:
            raise self._wrong(f"{mark!r} is missing")

    def _next(self) -> Tuple[str, str]:
        if self._at == len(self._tokens):
            raise self._wrong("it ends too early")
        self._at += 1
        return self._tokens[self._at - 1]

    def _pipe(self) -> _Step:
        left = self._comma()
        while self._take("|"):
            left = self._then(left, self._comma())
        return left

    def _then(self, first: _Step, second: _Step) -> _Step:
        return lambda value: (b for a in first(value) for b in self._counted(second(a)))

    def _counted(self, values: _Stream) -> _Stream:
        for value in values:
            self._made += 1
            if self._made > _QUERY_VALUES:
                raise Refused("the query makes too many values", "Select fewer of them.")
            yield value

    def _comma(self) -> _Step:
        steps = [self._either()]
        while self._take(","):
            steps.append(self._either())
        if len(steps) == 1:
            return steps[0]
        return lambda value: (one for step in steps for one in step(value))

    def _either(self) -> _Step:
        left = self._both()
        while self._take("or"):
            left = self._pair(left, self._both(), lambda a, b: _truth(a) or _truth(b))
        return left

    def _both(self) -> _Step:
        left = self._compared()
        while self._take("and"):
            left = self._pair(left, self._compared(), lambda a, b: _truth(a) and _truth(b))
        return left

    def _compared(self) -> _Step:
        left = self._summed()
        mark = self._take("==", "!=", "<", "<=", ">", ">=")
        return left if mark is None else self._pair(left, self._summed(), _COMPARED[mark])

    def _summed(self) -> _Step:
        left = self._multiplied()
        while self._peek("+", "-", "//"):
            mark = self._next()[1]
            left = self._pair(left, self._multiplied(), _ARITHMETIC[mark])
        return left

    def _multiplied(self) -> _Step:
        left = self._term()
        while self._peek("*", "/"):
            mark = self._next()[1]
            left = self._pair(left, self._term(), _ARITHMETIC[mark])
        return left

    def _pair(self, left: _Step, right: _Step, join: Callable[[Any, Any], Any]) -> _Step:
        return lambda value: (join(a, b) for b in right(value) for a in left(value))

    def _term(self) -> _Step:
        step = self._primary()
        while True:
            if self._peek(".", ".."):
                step = self._then(step, self._member())
            elif self._take("["):
                step = self._then(step, self._index())
            elif not self._take("?"):
                return step

    def _primary(self) -> _Step:
        kind, text = self._next()
        if kind == "number":
            number = float(text) if "." in text else int(text)
            return lambda value: [number]
        if kind == "text":
            string = _unquote(text)
            return lambda value: [string]
        if text in ("$", "@"):
            return lambda value: [value]
        if text in (".", ".."):
            self._at -= 1
            return self._member()
        if text == "(":
            inner = self._pipe()
            self._need(")")
            return inner
        if text == "[":
            return self._list()
        if text == "{":
            return self._object()
        if kind == "name":
            return self._function(text)
        raise self._wrong(f"{text!r} is not expected there")

    def _member(self) -> _Step:
        """.name, ."name", . alone, ..name (wherever it is), .*"""
        is_deep = self._take("..") is not None
        if not is_deep:
            self._need(".")
        if self._at < len(self._tokens):
            kind, text = self._tokens[self._at]
            if kind in ("name", "text"):
                self._at += 1
                name = _unquote(text) if kind == "text" else text
                if is_deep:
                    return lambda value: _deep(value, name)
                return lambda value: [_get(value, name)]
            if text == "*":
                self._at += 1
                return lambda value: _each(value)
        if is_deep:
            return lambda value: _all(value)
        return lambda value: [value]

    def _index(self) -> _Step:
        if self._take("]"):
            return lambda value: _each(value)
        if self._peek("*"):
            self._at += 1
            self._need("]")
            return lambda value: _each(value)
        if self._take("?"):  # JSONPath: [?(@.n > 1)]
            self._need("(")
            test = self._pipe()
            self._need(")")
            self._need("]")
            return lambda value: (one for one in _each(value) if any(map(_truth, test(one))))
        first = None if self._peek(":") else self._pipe()
        if self._take(":"):
            last = None if self._peek("]") else self._pipe()
            self._need("]")
            return lambda value: [_slice(value, _one(first, value), _one(last, value))]
        self._need("]")
        assert first is not None
        return lambda value: [_get(value, key) for key in first(value)]

    def _list(self) -> _Step:
        if self._take("]"):
            return lambda value: [[]]
        inner = self._pipe()
        self._need("]")
        return lambda value: [list(inner(value))]

    def _object(self) -> _Step:
        members: List[Tuple[str, _Step]] = []
        while not self._take("}"):
            kind, text = self._next()
            if kind not in ("name", "text"):
                raise self._wrong("an object needs names: {name: .path}")
            name = _unquote(text) if kind == "text" else text
            members.append((name, self._either() if self._take(":") else _getter(name)))
            if not self._peek("}"):
                self._need(",")
        return lambda value: [{name: _one(step, value) for name, step in members}]

    def _function(self, name: str) -> _Step:
        if name in _CONSTANTS:
            constant = _CONSTANTS[name]
            return lambda value: [constant]
        if name in _WITH:
            self._need("(")
            inner = self._pipe()
            self._need(")")
            function = _WITH[name]
            return lambda value: function(value, inner)
        if name in _PLAIN:
            plain = _PLAIN[name]
            return lambda value: [plain(value)]
        raise self._wrong(f"there is no function {name!r}")


_CONSTANTS = {"true": True, "false": False, "null": None}


def _unquote(text: str) -> str:
    if text[0] == "'":
        text = '"' + text[1:-1].replace('"', '\\"').replace("\\'", "'") + '"'
    return str(json.loads(text))


def _truth(value: Any) -> bool:
    return value is not None and value is not False


def _one(step: Optional[_Step], value: Any) -> Any:
    return None if step is None else next(iter(step(value)), None)


def _getter(name: str) -> _Step:
    return lambda value: [_get(value, name)]


def _get(value: Any, key: Any) -> Any:
    if value is None:
        return None
    if isinstance(value, dict) and isinstance(key, str):
        return value.get(key)
    if isinstance(value, list) and isinstance(key, int):
        return value[key] if -len(value) <= key < len(value) else None
    raise Refused(f"{_kind(value)} has no {key!r}", "Look at its shape with: keys, type.")


def _each(value: Any) -> List[Any]:
    if isinstance(value, dict):
        return list(value.values())
    if isinstance(value, list):
        return value
    raise Refused(f"{_kind(value)} has no entries that could be gone through")


def _slice(value: Any, first: Any, last: Any) -> Any:
    if not isinstance(value, (list, str)):
        raise Refused(f"{_kind(value)} has no range")
    return value[first:last]


def _all(value: Any) -> Iterable[Any]:
    waiting = [value]
    while waiting:
        one = waiting.pop()
        yield one
        if isinstance(one, (dict, list)):
            waiting.extend(reversed(_each(one)))


def _deep(value: Any, name: str) -> Iterable[Any]:
    return (one[name] for one in _all(value) if isinstance(one, dict) and name in one)


def _kind(value: Any) -> str:
    names = {dict: "an object", list: "a list", str: "a text", bool: "true or false"}
    return "null" if value is None else names.get(type(value), "a number")


def _order(value: Any) -> Any:
    """As jq has it: null, false, true, numbers, texts, lists, objects."""
    if value is None:
        return (0, 0)
    if isinstance(value, bool):
        return (1, value)
    if isinstance(value, (int, float)):
        return (2, value)
    if isinstance(value, str):
        return (3, value)
    return (4, [_order(one) for one in value]) if isinstance(value, list) else (
        5, sorted((key, _order(one)) for key, one in value.items()))


def _plus(a: Any, b: Any) -> Any:
    if a is None or b is None:
        return b if a is None else a
    return {**a, **b} if isinstance(a, dict) and isinstance(b, dict) else a + b


def _arithmetic(join: Callable[[Any, Any], Any], mark: str) -> Callable[[Any, Any], Any]:
    def joined(a: Any, b: Any) -> Any:
        try:
            return join(a, b)
        except (TypeError, ZeroDivisionError, ValueError):
            raise Refused(f"{_kind(a)} {mark} {_kind(b)} cannot be calculated") from None

    return joined


_COMPARED: Dict[str, Callable[[Any, Any], Any]] = {
    "==": lambda a, b: _order(a) == _order(b), "!=": lambda a, b: _order(a) != _order(b),
    "<": lambda a, b: _order(a) < _order(b), "<=": lambda a, b: _order(a) <= _order(b),
    ">": lambda a, b: _order(a) > _order(b), ">=": lambda a, b: _order(a) >= _order(b),
}  # fmt: skip
_ARITHMETIC: Dict[str, Callable[[Any, Any], Any]] = {
    "+": _arithmetic(_plus, "+"), "-": _arithmetic(lambda a, b: a - b, "-"),
    "*": _arithmetic(lambda a, b: float(a) * b if isinstance(a, float) else a * _number(b), "*"),
    "/": _arithmetic(lambda a, b: a / b, "/"),
    "//": lambda a, b: a if _truth(a) else b,
}  # fmt: skip


def _number(value: Any) -> Any:
    if isinstance(value, (int, float)):
        return value
    raise TypeError


def _sum(value: Any) -> Any:
    total = None
    for one in _each(value):
        total = _ARITHMETIC["+"](total, one)
    return total


def _least(value: Any) -> Any:
    return min(_each(value), key=_order, default=None)


def _most(value: Any) -> Any:
    return max(_each(value), key=_order, default=None)


def _unique(value: Any) -> Any:
    kept: List[Any] = []
    for one in sorted(_each(value), key=_order):
        if not kept or _order(kept[-1]) != _order(one):
            kept.append(one)
    return kept


def _length(value: Any) -> int:
    if value is None:
        return 0
    if isinstance(value, (dict, list, str)):
        return len(value)
    raise Refused(f"{_kind(value)} has no length")


def _keys(value: Any) -> Any:
    if isinstance(value, dict):
        return sorted(value)
    return list(range(_length(value)))


def _flatten(value: Any) -> List[Any]:
    flat: List[Any] = []
    for one in _each(value):
        flat.extend(_flatten(one) if isinstance(one, list) else [one])
    return flat


def _grouped(value: Any, step: _Step) -> List[List[Any]]:
    groups: Dict[str, List[Any]] = {}
    for one in _sorted(value, step):
        groups.setdefault(json.dumps(_one(step, one), sort_keys=True), []).append(one)
    return list(groups.values())


def _sorted(value: Any, step: _Step) -> List[Any]:
    return sorted(_each(value), key=lambda one: _order(_one(step, one)))


def _tonumber(value: Any) -> Any:
    try:
        return value if isinstance(value, (int, float)) else json.loads(value)
    except (ValueError, TypeError):
        raise Refused(f"{value!r} is no number") from None


_PLAIN: Dict[str, Callable[[Any], Any]] = {
    "length": _length, "keys": _keys, "values": _each, "type": _kind, "add": _sum, "sum": _sum,
    "min": _least, "max": _most, "unique": _unique, "flatten": _flatten,
    "first": lambda v: next(iter(_each(v)), None), "last": lambda v: (_each(v) or [None])[-1],
    "reverse": lambda v: list(reversed(_each(v))), "sort": lambda v: sorted(_each(v), key=_order),
    "not": lambda v: not _truth(v), "tostring": lambda v: v if isinstance(v, str)
    else json.dumps(v), "tonumber": _tonumber,
    "to_entries": lambda v: [{"key": key, "value": one} for key, one in v.items()],
    "from_entries": lambda v: {str(one["key"]): one["value"] for one in _each(v)},
    "any": lambda v: any(map(_truth, _each(v))), "all": lambda v: all(map(_truth, _each(v))),
    "ascii_downcase": lambda v: v.lower(), "ascii_upcase": lambda v: v.upper(),
}  # fmt: skip
_WITH: Dict[str, Callable[[Any, _Step], _Stream]] = {
    "select": lambda v, step: [v for one in step(v) if _truth(one)],
    "map": lambda v, step: [[one for entry in _each(v) for one in step(entry)]],
    "sort_by": lambda v, step: [_sorted(v, step)],
    "group_by": lambda v, step: [_grouped(v, step)],
    "unique_by": lambda v, step: [[group[0] for group in _grouped(v, step)]],
    "min_by": lambda v, step: [next(iter(_sorted(v, step)), None)],
    "max_by": lambda v, step: [(_sorted(v, step) or [None])[-1]],
    "has": lambda v, step: [_one(step, v) in v if isinstance(v, dict)
                            else 0 <= int(_one(step, v)) < _length(v)],
    "contains": lambda v, step: [_one(step, v) in v],
    "startswith": lambda v, step: [str(v).startswith(str(_one(step, v)))],
    "endswith": lambda v, step: [str(v).endswith(str(_one(step, v)))],
    "split": lambda v, step: [str(v).split(str(_one(step, v)))],
    "join": lambda v, step: [str(_one(step, v)).join(map(str, _each(v)))],
    "limit": lambda v, step: [_each(v)[: int(_one(step, v) or 0)]],
}  # fmt: skip


def json_query(query: str, data: Any = None, path: Optional[str] = None) -> Dict[str, Any]:
    """What a query finds in JSON."""
    found = _Query(query).run(_parsed(data, path))
    return {"count": len(found), "results": found}


# ---- tables --------------------------------------------------------------------------------------


def _typed(text: str) -> Any:
    """A number if it is written as one: not 007, and not 1_000."""
    if re.fullmatch(r"-?(0|[1-9]\d*)", text):
        return int(text)
    if re.fullmatch(r"-?\d+\.\d*([eE][-+]?\d+)?|-?\d+[eE][-+]?\d+", text):
        return float(text)
    return None if text == "" else {"true": True, "false": False}.get(text.lower(), text)


def _rows(text: str, delimiter: str, header: bool, types: bool) -> Tuple[List[str], List[Any]]:
    try:
        lines = [row for row in csv.reader(io.StringIO(text), delimiter=delimiter, strict=True)]
    except csv.Error as error:
        raise Refused(f"the table cannot be read: {error}", "Look at its quotes.") from None
    lines = [row for row in lines if row]
    width = max(map(len, lines), default=0)
    names = lines.pop(0) if header and lines else []
    names = [name or f"column{place + 1}" for place, name in enumerate(names)]
    names += [f"column{place + 1}" for place in range(len(names), width)]
    read = _typed if types else str
    return names, [dict(zip(names, map(read, row))) for row in lines]


def csv_to_json(
    text: Optional[str] = None,
    path: Optional[str] = None,
    delimiter: str = ",",
    header: bool = True,
    types: bool = True,
) -> Dict[str, Any]:
    """A table as a list of objects."""
    names, rows = _rows(_given(text, path, "text"), delimiter, header, types)
    return {"columns": names, "count": len(rows), "rows": rows}


def json_to_csv(data: Any = None, path: Optional[str] = None, delimiter: str = ",") -> str:
    """A list of objects as a table; the columns in the order they come up."""
    rows = _parsed(data, path)
    if isinstance(rows, dict):
        rows = rows.get("rows", [rows])
    if not isinstance(rows, list) or not all(isinstance(row, (dict, list)) for row in rows):
        raise Refused("the data is no list of objects", 'Give [{"a": 1}, {"a": 2}].')
    out = io.StringIO()
    writer = csv.writer(out, delimiter=delimiter, lineterminator="\n")
    names = list(dict.fromkeys(key for row in rows if isinstance(row, dict) for key in row))
    if names:
        writer.writerow(names)
    for row in rows:
        cells = [row.get(name) for name in names] if isinstance(row, dict) else row
        writer.writerow([_cell(cell) for cell in cells])
    return Table(out.getvalue())


def _cell(value: Any) -> Any:
    if isinstance(value, (dict, list)):
        return json.dumps(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    return "" if value is None else value


# ---- sql_query -----------------------------------------------------------------------------------


def _open(database: Optional[str], write: bool) -> sqlite3.Connection:
    if database is None:
        return sqlite3.connect(":memory:")
    real = workspace.place(database) if write else workspace.existing(database)
    mode = "rwc" if write else "ro"
    quoted = real.replace("%", "%25").replace("?", "%3f").replace("#", "%23")
    return sqlite3.connect(f"file:{quoted}?mode={mode}", uri=True)


def _fill(connection: sqlite3.Connection, name: str, rows: Any) -> None:
    if isinstance(rows, str):
        names, rows = _rows(rows, ",", True, True)
    elif isinstance(rows, list) and all(isinstance(row, dict) for row in rows):
        names = list(dict.fromkeys(key for row in rows for key in row))
    else:
        raise Refused(f"the table {name!r} is no list of objects and no CSV")
    if not names:
        raise Refused(f"the table {name!r} has no columns")
    columns = ", ".join(_quoted(column) for column in names)
    connection.execute(f"CREATE TEMP TABLE {_quoted(name)} ({columns})")
    places = ", ".join("?" * len(names))
    connection.executemany(
        f"INSERT INTO {_quoted(name)} VALUES ({places})",
        ([_cell(row.get(column)) if isinstance(row.get(column), (dict, list)) else row.get(column)
          for column in names] for row in rows),
    )  # fmt: skip


def _quoted(name: str) -> str:
    return '"' + str(name).replace('"', '""') + '"'


def _guard(action: int, *_: Any) -> int:
    return sqlite3.SQLITE_DENY if action in (24, 25) else sqlite3.SQLITE_OK  # attach, detach


def sql_query(
    query: str,
    tables: Optional[Dict[str, Any]] = None,
    files: Optional[Dict[str, str]] = None,
    database: Optional[str] = None,
    params: Any = (),
    write: bool = False,
    limit: int = 1000,
) -> Dict[str, Any]:
    """One statement of SQL over tables that are given, tables in files, and a database's."""
    try:
        connection = _open(database, write)
    except sqlite3.Error as error:
        raise Refused(f"{database} cannot be opened: {error}", "Is it a database of SQLite?")
    ends = time.monotonic() + _SQL_SECONDS
    try:
        for name, rows in (tables or {}).items():
            _fill(connection, name, rows)
        for name, path in (files or {}).items():
            text = workspace.load(path)
            _fill(connection, name, _parsed(text, None) if path.endswith("json") else text)
        connection.commit()
        if not write:
            connection.execute("PRAGMA query_only = 1")
        connection.set_authorizer(_guard)
        connection.set_progress_handler(lambda: time.monotonic() > ends, 10_000)
        cursor = connection.execute(query, params)
        names = [column[0] for column in cursor.description or ()]
        rows = cursor.fetchmany(min(limit, _SQL_ROWS) + 1)
        connection.commit()
    except (sqlite3.Error, sqlite3.Warning) as error:
        raise Refused(f"SQL: {error}", _advise(str(error), write)) from None
    finally:
        connection.close()
    told = {
        "columns": names,
        "rows": [list(row) for row in rows[:limit]],
        "count": min(len(rows), limit),
        "truncated": len(rows) > limit,
    }
    if cursor.rowcount >= 0 and not names:
        told["changed"] = cursor.rowcount
    return told


def _advise(message: str, write: bool) -> str:
    if "readonly" in message and not write:
        return "A statement that changes something needs write=True."
    if "interrupted" in message:
        return f"It took more than {_SQL_SECONDS:g} seconds: make it smaller."
    if "no such table" in message:
        return 'Give tables={"name": [{…}]}, files={"name": "data.csv"} or database="x.db".'
    return "It is SQLite's dialect, one statement at a time."
