"""Magics about names: what there is, what it is, and forgetting it."""

from __future__ import annotations

import builtins
import fnmatch
import inspect
import re
import sys
from typing import Any, Dict, List, Optional

from . import magics_table

_MAX_TEXT_CHARS = 10_000
_MAX_DOC_CHARS = 20_000
_MAX_SOURCE_CHARS = 100_000
_MAX_FOUND = 200
_COLUMN = 80

_options = magics_table.options
_UsageError = magics_table.UsageError
_STEPS = re.compile(r"\.?([^\W\d]\w*)|\[(-?\d+)\]")


def users_names(shell: Any, kinds: str = "") -> List[str]:
    """Those that the user made, of these types if any are named."""
    wanted = kinds.split()
    found = []
    for name, value in list(shell.user_ns.items()):
        if type(name) is not str or name.startswith("_") or shell.is_given(name):
            continue
        if not wanted or type(value).__name__ in wanted:
            found.append(name)
    return sorted(found)


@magics_table.line_magic("who_ls")
def _who_ls(shell: Any, line: str, cell: Optional[str]) -> List[str]:
    """%who_ls [TYPE ...]: the names that were made in this session, as a list."""
    return users_names(shell, line)


@magics_table.line_magic("who")
def _who(shell: Any, line: str, cell: Optional[str]) -> None:
    """%who [TYPE ...]: the names that were made in this session."""
    found = users_names(shell, line)
    if not found:
        print("No variables match your requested type." if line.strip() else _EMPTY)
        return
    text = ""
    for name in found:
        text += name + "\t "
        if len(text) - text.rfind("\n") > _COLUMN:
            text += "\n"
    print(text)


_EMPTY = "Interactive namespace is empty."


@magics_table.line_magic("whos")
def _whos(shell: Any, line: str, cell: Optional[str]) -> None:
    """%whos [TYPE ...]: likewise, with types and values."""
    found = users_names(shell, line)
    if not found:
        print("No variables match your requested type." if line.strip() else _EMPTY)
        return
    rows = [(name, type(shell.user_ns[name]).__name__, _info(shell.user_ns[name]))
            for name in found]  # fmt: skip
    first = max(len("Variable"), *(len(row[0]) for row in rows))
    second = max(len("Type"), *(len(row[1]) for row in rows))
    print(f"{'Variable':{first}}   {'Type':{second}}   Data/Info")
    print("-" * (first + second + 15))
    for name, kind, info in rows:
        print(f"{name:{first}}   {kind:{second}}   {info}")


def _info(value: Any) -> str:
    kind = type(value)
    if kind in (list, tuple, dict, set, frozenset):
        return f"n={len(value)}"
    try:
        shape = getattr(value, "shape", None)
        if type(shape) is tuple:
            return "x".join(map(str, shape)) + f": {getattr(value, 'dtype', '')}".rstrip(" :")
        text = " ".join(str(value)[:1000].split())
    except Exception as error:
        return f"<its text could not be made: {type(error).__name__}>"
    return text if len(text) <= 60 else f"{text[:28]}<...>{text[-27:]}"


@magics_table.line_magic("reset")
def _reset(shell: Any, line: str, cell: Optional[str]) -> None:
    """%reset [-f]: forgets the names that were made in this session; asks first unless -f."""
    found, _ = _options(line, "fs")
    if "f" not in found and not _is_sure(shell, "Once deleted, variables cannot be recovered."):
        print("Nothing done.")
        return
    shell.reset()


@magics_table.line_magic("reset_selective")
def _reset_selective(shell: Any, line: str, cell: Optional[str]) -> None:
    """%reset_selective [-f] PATTERN: forgets the names in which a regular expression is found."""
    found, pattern = _options(line, "f")
    if not pattern:
        raise _UsageError("%reset_selective wants a regular expression")
    is_wanted = re.compile(pattern).search
    names = [name for name in users_names(shell) if is_wanted(name)]
    question = f"Once deleted, variables cannot be recovered: {', '.join(names)}."
    if "f" not in found and not _is_sure(shell, question):
        print("Nothing done.")
        return
    for name in names:
        del shell.user_ns[name]


@magics_table.line_magic("xdel")
def _xdel(shell: Any, line: str, cell: Optional[str]) -> None:
    """%xdel NAME: forgets a name."""
    name = line.strip()
    if name not in shell.user_ns:
        raise NameError(f"name {name!r} is not defined")
    del shell.user_ns[name]


def _is_sure(shell: Any, text: str) -> bool:
    try:
        return bool(shell.ask(f"{text} Proceed (y/[n])? ").strip().lower().startswith("y"))
    except EOFError:
        return False


# What it is


class _Missing(Exception):
    pass


def _look_up(shell: Any, target: str) -> Any:
    steps = list(_STEPS.finditer(target))
    if not steps or "".join(step.group() for step in steps) != target:
        raise _Missing
    name = steps[0].group(1)
    frame = shell.caller()
    value: Any = None
    for names in (frame.f_locals, shell.user_ns, vars(builtins), sys.modules):
        if name in names:
            value = names[name]
            break
    else:
        raise _Missing
    for step in steps[1:]:
        try:
            value = getattr(value, step.group(1)) if step.group(1) else value[int(step.group(2))]
        except Exception:
            raise _Missing from None
    return value


@magics_table.line_magic("pinfo")
def _pinfo(shell: Any, line: str, cell: Optional[str]) -> None:
    """NAME? or %pinfo NAME: what it is."""
    _describe(shell, line.strip(), False)


@magics_table.line_magic("pinfo2")
def _pinfo2(shell: Any, line: str, cell: Optional[str]) -> None:
    """NAME?? or %pinfo2 NAME: likewise, with its source where there is one."""
    _describe(shell, line.strip(), True)


@magics_table.line_magic("pdoc")
def _pdoc(shell: Any, line: str, cell: Optional[str]) -> None:
    """%pdoc NAME: its documentation."""
    print(_doc_of(_found(shell, line.strip())) or "No documentation found")


@magics_table.line_magic("psource")
def _psource(shell: Any, line: str, cell: Optional[str]) -> None:
    """%psource NAME: its source."""
    print(_source_of(_found(shell, line.strip())) or "No source found")


def _found(shell: Any, target: str) -> Any:
    try:
        return _look_up(shell, target)
    except _Missing:
        raise NameError(f"there is no object {target!r} to tell about") from None


def _describe(shell: Any, target: str, has_source: bool) -> None:
    marks = target[: len(target) - len(target.lstrip("%"))]
    name = target.lstrip("%")
    if marks:
        text = shell.text_of_magic(name, marks == "%%")
        print(text if text else f"There is no magic {target}. %lsmagic lists them all.")
        return
    try:
        value = _look_up(shell, target)
    except _Missing:
        text = shell.text_of_magic(name, False) or shell.text_of_magic(name, True)
        print(text if text else f"Object `{target}` not found.")
        return
    print(_description(target, value, has_source))


def _description(name: str, value: Any, has_source: bool) -> str:
    rows: List[str] = []
    source = _source_of(value) if has_source else ""
    is_code = callable(value)
    if is_code:
        rows.append(_row("Signature", _signature(name, value)))
    rows.append(_row("Type", type(value).__name__))
    if not is_code:
        rows.append(_row("String form", _short(value)))
        if hasattr(type(value), "__len__"):
            rows.append(_row("Length", _length(value)))
    if source:
        rows.append(f"Source:\n{source}")
    else:
        rows.append(_row("Docstring", _doc_of(value) or "<no docstring>"))
    rows.append(_row("File", _file_of(value)))
    return "\n".join(row for row in rows if row)


def _row(title: str, text: str) -> str:
    if not text:
        return ""
    if "\n" in text:
        return f"{title}:\n{text}"
    return f"{title + ':':<12} {text}"


def _signature(name: str, value: Any) -> str:
    try:
        return name.rpartition(".")[2] + str(inspect.signature(value))
    except Exception:
        return ""


def _length(value: Any) -> str:
    try:
        return str(len(value))
    except Exception:
        return ""


def _short(value: Any) -> str:
    try:
        text = str(value)
    except Exception as error:
        return f"<its text could not be made: {type(error).__name__}>"
    if len(text) > _MAX_TEXT_CHARS:
        text = f"{text[:_MAX_TEXT_CHARS]} ... ({len(text) - _MAX_TEXT_CHARS} characters more)"
    return text


def _doc_of(value: Any) -> str:
    try:
        return (inspect.getdoc(value) or "")[:_MAX_DOC_CHARS]
    except Exception:
        return ""


def _source_of(value: Any) -> str:
    try:
        return inspect.getsource(value).rstrip()[:_MAX_SOURCE_CHARS]
    except Exception:
        return ""


def _file_of(value: Any) -> str:
    try:
        return inspect.getfile(inspect.unwrap(value) if callable(value) else value)
    except Exception:
        return ""


@magics_table.line_magic("psearch")
def _psearch(shell: Any, line: str, cell: Optional[str]) -> None:
    """*PART*? or %psearch PATTERN: the names that are like it, of the session or of an object."""
    pattern = line.strip()
    before, dot, last = pattern.rpartition(".")
    try:
        if dot:
            found = [f"{before}.{name}" for name in dir(_look_up(shell, before))]
        else:
            found = [*shell.user_ns, *vars(builtins)]
    except _Missing:
        found = []
    names: Dict[str, None] = {}
    for name in sorted(filter(lambda one: type(one) is str, found)):
        is_hidden = name.rpartition(".")[2].startswith("_") and not last.startswith("_")
        if not is_hidden and fnmatch.fnmatchcase(name.lower(), pattern.lower()):
            names[name] = None
    print("\n".join(list(names)[:_MAX_FOUND]) or f"No name is like {pattern}.")
