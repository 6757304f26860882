"""Functions of the caller that the code of a cell calls as tools."""

from __future__ import annotations

import inspect
import typing as t

Tools = t.Mapping[str, t.Any]  # name -> function, or {"call": function, "description", …}

_TYPES = {str: "string", int: "integer", float: "number", bool: "boolean", list: "array",
          dict: "object", "str": "string", "int": "integer", "float": "number",
          "bool": "boolean", "list": "array", "dict": "object"}


def described(tools: Tools) -> t.List[t.Dict[str, t.Any]]:
    """What the daemon is told of them: parameters and description are those of the functions,
    unless something else is said."""
    return [_entry(name, tool) for name, tool in tools.items()]


def answer_sync_call(tools: Tools, call: t.Mapping[str, t.Any]) -> t.Dict[str, t.Any]:
    """What a call's function returns, or what it raised, for the daemon."""
    try:
        return {"id": call["id"], "result": _function(tools[call["name"]])(**call["args"])}
    except Exception as error:  # whatever it is, the cell is told
        return _failed(call, error)


async def answer_async_call(tools: Tools, call: t.Mapping[str, t.Any]) -> t.Dict[str, t.Any]:
    """Likewise; the function may be a coroutine."""
    told = answer_sync_call(tools, call)
    if inspect.isawaitable(told.get("result")):
        try:
            told["result"] = await told["result"]
        except Exception as error:
            return _failed(call, error)
    return told


def _failed(call: t.Mapping[str, t.Any], error: Exception) -> t.Dict[str, t.Any]:
    words = str(error) or "no message"
    return {"id": call["id"], "error": f"{type(error).__name__}: {words}"[:1000]}


def _function(tool: t.Any) -> t.Callable[..., t.Any]:
    found: t.Callable[..., t.Any] = tool["call"] if isinstance(tool, t.Mapping) else tool
    return found


def _entry(name: str, tool: t.Any) -> t.Dict[str, t.Any]:
    function = _function(tool)
    entry = {"name": name, "description": (inspect.getdoc(function) or "")[:1000],
             "parameters": _parameters(function)}
    if isinstance(tool, t.Mapping):
        entry.update({key: value for key, value in tool.items() if key != "call"})
    return entry


def _parameters(function: t.Callable[..., t.Any]) -> t.Dict[str, t.Any]:
    try:
        taken = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return {"type": "object"}  # it does not say: anything
    if any(one.kind is one.VAR_KEYWORD for one in taken):
        return {"type": "object"}
    return {one.name: _parameter(one) for one in taken if one.kind is not one.VAR_POSITIONAL}


def _parameter(one: inspect.Parameter) -> t.Dict[str, t.Any]:
    kind = _TYPES.get(one.annotation) if _is_hashable(one.annotation) else None
    told: t.Dict[str, t.Any] = {"type": kind} if kind else {}
    if one.default is one.empty:
        told["required"] = True
    return told


def _is_hashable(value: t.Any) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True
