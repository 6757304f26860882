"""pdb in a cell: it sees the user's code and not the driver's, and it ends with its cell."""

from __future__ import annotations

import bdb
import types
from typing import Any

_Bdb = bdb.Bdb
_MethodType = types.MethodType
_mro_of = vars(type)["__mro__"].__get__  # no metaclass is asked

_OURS = __name__.rpartition(".")[0] + ".*"


def install() -> None:
    original = _Bdb.__init__

    def __init__(self: Any, skip: Any = None, *args: Any, **options: Any) -> None:
        original(self, [*(skip or ()), _OURS], *args, **options)

    _Bdb.__init__ = __init__  # type: ignore[method-assign]


def is_debugger(trace: Any) -> bool:
    """Is this trace function one of a debugger's? It would stop in the first line of the next
    cell, whoever sent that, if the last step in this one went past its end."""
    if type(trace) is not _MethodType:
        return False
    return any(base is _Bdb for base in _mro_of(type(trace.__self__)))
