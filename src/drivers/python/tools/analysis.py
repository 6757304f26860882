"""What code would call, found in its syntax: for an interpreter that parses it and never runs it.

A text that cannot be parsed is nobody's failure here: whoever runs it will say what is wrong.
"""

from __future__ import annotations

import ast
import json
import math
import re
import textwrap
from typing import Any, Dict, Iterator, List, Optional, Tuple

_STEPS_MAX = 64
_CALLS_MAX = 1000
_DEPTH_MAX = 16  # of arguments
_INT_MAX = 2**63 - 1
_MAGIC_LINE = re.compile(r"^(\s*)(?:[!%].*|.*\?\s*)$")
_MAGIC_VALUE = re.compile(r"^(\s*\w+\s*=\s*)[!%].*$")

try:  # for who looks at the machine's processes
    with open("/proc/self/comm", "w") as comm:
        comm.write("cella-analyst")
except OSError:
    pass

_Names = Dict[str, List[str]]


class _Unplanned(Exception):
    """The code is more than calls with what they need written down: it has to be run."""


def find_calls(code: str, plain: Optional[str], functions: Dict[str, Any]) -> Dict[str, Any]:
    """`functions` has the names of their parameters by place. TOOL, tool_call and CALL name a tool
    in their arguments.

    {"calls": [{"function", "target"?, "line", "args"?}], "steps"?, "why"?}: every call in the code,
    and, if it is nothing but calls, the steps that it is made of:
    [{"call", "name"?, "args", "whole"?, "refs": [{"at": [key…], "name"}]}]."""
    tree = _parse(code) or (_parse(plain) if plain is not None else None)
    if tree is None:
        return {"calls": [], "why": "it is no Python as it stands"}
    calls = [node for node in ast.walk(tree) if _name_of(node) in functions]
    calls.sort(key=lambda node: (node.lineno, node.col_offset))  # type: ignore[attr-defined]
    told: Dict[str, Any] = {"calls": [_tell(node) for node in calls[:_CALLS_MAX]]}
    try:
        told["steps"] = _plan(tree, functions, calls)
    except _Unplanned as error:
        told["why"] = str(error)
    except RecursionError:
        told["why"] = "it is nested too deeply"
    return told


def _parse(code: str) -> Optional[ast.Module]:
    """Lines that are no Python but something of the session's do not hide those that are."""
    for text in (code, textwrap.dedent(code), _without_magics(textwrap.dedent(code))):
        try:
            return ast.parse(text)
        except (SyntaxError, ValueError):
            pass
    return None


def _without_magics(code: str) -> str:
    first, _, rest = code.partition("\n")
    if first.startswith("%%"):
        return f"pass\n{rest}"
    lines = [
        _MAGIC_VALUE.sub(r"\1None", _MAGIC_LINE.sub(r"\1pass", line)) for line in code.split("\n")
    ]
    return "\n".join(lines)


def _name_of(node: ast.AST) -> Optional[str]:
    """Of the function that a node calls by its name."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        return node.func.id
    return None


def _tell(node: Any) -> Dict[str, Any]:
    told: Dict[str, Any] = {"function": node.func.id, "line": node.lineno}
    try:
        target = _target(node)[0]
        if target is not None:
            told["target"] = target
        told["args"] = _arguments(node, None, {})[0]
    except _Unplanned:
        pass
    except RecursionError:
        pass
    return told


def _target(node: ast.Call) -> Tuple[Optional[str], Dict[str, Any]]:
    """The tool that TOOL, tool_call and CALL name, and what a CALL gives it."""
    name = _name_of(node)
    if name not in ("TOOL", "tool_call", "CALL"):
        return None, {}
    first = node.args[0] if node.args else None
    if not isinstance(first, ast.Constant) or not isinstance(first.value, str):
        raise _Unplanned(f"line {node.lineno}: {name}() names its tool only when it runs")
    if name != "CALL":
        return first.value, {}
    try:
        given = json.loads(first.value)
        args = given.get("args", given.get("arguments", {}))
        if isinstance(given["name"], str) and isinstance(args, dict):
            return given["name"], args
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        pass
    raise _Unplanned(f"line {node.lineno}: CALL() takes JSON with a name and args")


# What is planned.


def _plan(tree: ast.Module, functions: _Names, calls: List[Any]) -> List[Dict[str, Any]]:
    if len(tree.body) > _STEPS_MAX:
        raise _Unplanned(f"it has more than {_STEPS_MAX} calls")
    places = {id(node): i for i, node in enumerate(calls)}
    bound: Dict[str, int] = {}
    steps = []
    for number, statement in enumerate(tree.body):
        name, node = _statement(statement)
        if id(node) not in places:
            raise _Unplanned(f"line {statement.lineno}: not the call of a tool")
        if name in functions:
            raise _Unplanned(f"line {statement.lineno}: it gives {name} another meaning")
        args, refs, whole = _arguments(node, functions, bound)
        step: Dict[str, Any] = {"call": places[id(node)], "args": args, "refs": refs}
        if whole:
            step["whole"] = True
        if name is not None:
            step["name"] = name
            bound[name] = number
        steps.append(step)
    return steps


def _statement(statement: ast.stmt) -> Tuple[Optional[str], Any]:
    """Of `x = f(…)` and `f(…)`."""
    if isinstance(statement, ast.Expr):
        return None, statement.value
    if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
        target = statement.targets[0]
        if isinstance(target, ast.Name):
            return target.id, statement.value
    raise _Unplanned(f"line {statement.lineno}: neither x = tool(…) nor tool(…)")


def _arguments(
    node: ast.Call, functions: Optional[_Names], bound: Dict[str, int]
) -> Tuple[Dict[str, Any], List[Dict[str, Any]], bool]:
    """What a call gives its tool by name, where steps before it have a part in that, and whether
    the result is wanted whole. Without `functions` only what is written in it and by name."""
    refs: List[Dict[str, Any]] = []
    function = _name_of(node)
    args: Dict[str, Any] = {}
    whole = False
    positional = list(node.args)
    keywords = list(node.keywords)
    if function in ("TOOL", "tool_call", "CALL"):
        args.update(_target(node)[1])
        del positional[0]
    if function == "tool_call":
        given = dict(zip(("args", "whole"), positional))
        given.update((str(keyword.arg), keyword.value) for keyword in keywords)
        if len(given) != len(positional) + len(keywords) or set(given) - {"args", "whole"}:
            raise _Unplanned(f"line {node.lineno}: tool_call() takes a name, args and whole")
        if "whole" in given:
            flag = given["whole"]
            if not isinstance(flag, ast.Constant) or not isinstance(flag.value, bool):
                raise _Unplanned(f"line {node.lineno}: whole is True or False")
            whole = flag.value
        if "args" in given and not _is_none(given["args"]):
            if not isinstance(given["args"], ast.Dict):
                raise _Unplanned(f"line {node.lineno}: args is a dictionary that is written there")
            args.update(_value(given["args"], [], refs, bound))
        return args, refs, whole
    params: List[str] = (functions or {}).get(str(function)) or []
    if len(positional) > len(params) and (functions is not None or positional):
        raise _Unplanned(f"line {node.lineno}: {function}() is given too much")
    if function == "CALL" and keywords:
        raise _Unplanned(f"line {node.lineno}: CALL() takes one text")
    pairs: List[Tuple[Optional[str], ast.expr]] = [*zip(params, positional)]
    pairs += [(keyword.arg, keyword.value) for keyword in keywords]
    for name, value in pairs:
        if name is None or name in args:
            raise _Unplanned(f"line {node.lineno}: {function}() has arguments that are not known")
        if functions is not None and function != "TOOL" and name not in params:
            raise _Unplanned(f"line {node.lineno}: {function}() takes no {name}")
        if not _is_none(value):
            args[name] = _value(value, [name], refs, bound)
    return args, refs, whole


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _value(
    node: ast.expr, at: List[Any], refs: List[Dict[str, Any]], bound: Dict[str, int]
) -> Any:
    """A value that is written down, with null where a step before will put one."""
    if len(at) > _DEPTH_MAX:
        raise _Unplanned(f"line {node.lineno}: an argument that is nested too deeply")
    if isinstance(node, ast.Name) and node.id in bound:
        refs.append({"at": at, "name": node.id, "step": bound[node.id]})
        return None
    if isinstance(node, ast.Constant):
        return _plain(node)
    if isinstance(node, (ast.List, ast.Tuple)):
        return [_value(item, [*at, i], refs, bound) for i, item in enumerate(node.elts)]
    if isinstance(node, ast.Dict):
        return {key: _value(item, [*at, key], refs, bound) for key, item in _items(node)}
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.USub, ast.UAdd)):
        value = _value(node.operand, at, [], {})
        if type(value) in (int, float):
            return -value if isinstance(node.op, ast.USub) else value
    raise _Unplanned(f"line {node.lineno}: an argument that is neither written there nor a result")


def _items(node: ast.Dict) -> Iterator[Tuple[str, ast.expr]]:
    for key, item in zip(node.keys, node.values):
        if not isinstance(key, ast.Constant) or not isinstance(key.value, str):
            raise _Unplanned(f"line {node.lineno}: a dictionary whose keys are no texts")
        yield _plain(key), item


def _plain(node: ast.Constant) -> Any:
    """What JSON carries without a loss."""
    value = node.value
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int) and abs(value) <= _INT_MAX:
        return value
    if isinstance(value, float) and math.isfinite(value):
        return value
    if isinstance(value, str) and "\0" not in value and not _has_surrogate(value):
        return value
    raise _Unplanned(f"line {node.lineno}: a value that JSON cannot carry")


def _has_surrogate(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return True
    return False
