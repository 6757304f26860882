"""Expressions that are calculated without being run: what the parser finds is walked through, and
only numbers, operators and functions of mathematics are known."""

from __future__ import annotations

import ast
import cmath
import math
import operator
from typing import Any, Callable, Dict, Mapping, Optional

from .results import Refused

_MAX_BITS = 64 * 1024  # of a whole number
_MAX_CHARS = 2000
_MAX_STEPS = 10_000

_CONSTANTS: Dict[str, Any] = {
    "pi": math.pi, "e": math.e, "tau": math.tau, "inf": math.inf, "nan": math.nan, "j": 1j,
    "True": True, "False": False,
}  # fmt: skip
_REAL = (
    "sin cos tan asin acos atan atan2 sinh cosh tanh asinh acosh atanh exp expm1 log log2 log10 "
    "log1p sqrt floor ceil trunc degrees radians hypot erf erfc gamma lgamma fabs fmod copysign "
    "gcd isqrt dist"
).split()
_UNARY = {
    ast.UAdd: operator.pos, ast.USub: operator.neg, ast.Invert: operator.invert,
    ast.Not: operator.not_,
}  # fmt: skip
_BINARY: Dict[type, Callable[[Any, Any], Any]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul,
    ast.Div: operator.truediv, ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod,
    ast.BitAnd: operator.and_, ast.BitOr: operator.or_, ast.BitXor: operator.xor,
    ast.RShift: operator.rshift,
}  # fmt: skip
_COMPARED: Dict[type, Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt, ast.LtE: operator.le,
    ast.Gt: operator.gt, ast.GtE: operator.ge,
}  # fmt: skip


def _power(base: Any, exponent: Any) -> Any:
    if isinstance(base, int) and isinstance(exponent, int):
        if abs(base) > 1 and base.bit_length() * exponent > _MAX_BITS:
            raise Refused("a power is too large", "Use floating-point numbers: 10.0 ** 300.")
    return base**exponent


def _shift(value: Any, by: Any) -> Any:
    if by > _MAX_BITS:
        raise Refused("a shift is too far", f"At most {_MAX_BITS} bits.")
    return value << by


def _factorial(number: Any) -> int:
    if number > 5000:
        raise Refused("a factorial is too large", "At most of 5000.")
    return math.factorial(number)


def _combinations(total: int, chosen: int) -> int:
    if total > 20_000:
        raise Refused("comb() of too large a number", "At most of 20000.")
    return math.comb(total, chosen)


def _permutations(total: int, chosen: int) -> int:
    if chosen > 5000:
        raise Refused("perm() of too large a number", "At most 5000 of them.")
    return math.perm(total, chosen)


def _sqrt(value: Any) -> Any:
    is_real = not isinstance(value, complex) and value >= 0
    return math.sqrt(value) if is_real else cmath.sqrt(value)


FUNCTIONS: Dict[str, Callable[..., Any]] = {
    **{name: getattr(math, name) for name in _REAL},
    "sqrt": _sqrt, "factorial": _factorial, "comb": _combinations, "perm": _permutations,
    "abs": abs, "round": round, "min": min, "max": max, "sum": lambda *v: math.fsum(_flat(v)),
    "ln": math.log, "int": int, "float": float, "pow": _power, "phase": cmath.phase,
}  # fmt: skip


def _flat(values: Any) -> Any:
    return values[0] if len(values) == 1 and isinstance(values[0], (list, tuple)) else values


class Expression:
    """Parsed and checked once, calculated as often as wanted."""

    def __init__(
        self, text: str, names: Any = (), functions: Optional[Dict[str, Any]] = None
    ) -> None:
        """`functions` take the place of ours: of arrays, for instance."""
        self._functions = FUNCTIONS if functions is None else functions
        if len(text) > _MAX_CHARS:
            raise Refused("the expression is too long", f"At most {_MAX_CHARS} characters.")
        self._text = text
        try:
            self._tree = ast.parse(text.strip().replace("^", "**"), mode="eval").body
        except (SyntaxError, ValueError, RecursionError) as error:
            raise Refused(
                f"{text!r} is no expression: {error}", "Write it as in Python: 2 * (x + 1)."
            ) from None
        self._names: Mapping[str, Any] = {}
        self._steps = 0
        self._check(self._tree, set(names))

    def __call__(self, **names: Any) -> Any:
        self._names = names
        self._steps = 0
        try:
            return self._value(self._tree)
        except Refused:
            raise
        except (ArithmeticError, ValueError, TypeError) as error:
            raise Refused(f"{self._text}: {error}", "Look at the numbers that it is given.")

    def _check(self, tree: ast.AST, names: Any) -> None:
        for node in ast.walk(tree):
            if isinstance(node, ast.Name) and node.id not in names:
                if node.id not in _CONSTANTS and node.id not in self._functions:
                    raise Refused(
                        f"{self._text!r} has the unknown name {node.id!r}",
                        f"Known: {', '.join([*names, *list(_CONSTANTS)[:5], *self._functions])}.",
                    )

    def _value(self, node: Any) -> Any:
        self._steps += 1
        if self._steps > _MAX_STEPS:
            raise Refused("the expression takes too many steps")
        kind = type(node)
        if kind is ast.Constant:
            if isinstance(node.value, (int, float, complex)):
                return node.value
        elif kind is ast.Name:
            if node.id in self._names:
                return self._names[node.id]
            if node.id in _CONSTANTS:
                return _CONSTANTS[node.id]
        elif kind is ast.UnaryOp:
            return _UNARY[type(node.op)](self._value(node.operand))
        elif kind is ast.BinOp:
            return self._binary(node)
        elif kind is ast.Compare:
            return self._compare(node)
        elif kind is ast.IfExp:
            return self._value(node.body if self._value(node.test) else node.orelse)
        elif kind is ast.BoolOp:
            return self._boolean(node)
        elif kind is ast.List or kind is ast.Tuple:
            return [self._value(one) for one in node.elts]
        elif kind is ast.Call and isinstance(node.func, ast.Name) and not node.keywords:
            return self._call(node.func.id, node.args)
        raise Refused(
            f"{self._text!r} has something that is no arithmetic: {kind.__name__}",
            "Numbers, operators and functions of mathematics only.",
        )

    def _binary(self, node: ast.BinOp) -> Any:
        left, right = self._value(node.left), self._value(node.right)
        for side in (left, right):
            if isinstance(side, list):
                raise Refused("a list cannot be calculated with", "Use sum([...]) or max([...]).")
        if isinstance(node.op, ast.Pow):
            return _power(left, right)
        if isinstance(node.op, ast.LShift):
            return _shift(left, right)
        if type(node.op) not in _BINARY:
            raise Refused(f"{self._text!r} has an operator that is not known here")
        found = _BINARY[type(node.op)](left, right)
        if isinstance(found, int) and found.bit_length() > _MAX_BITS:
            raise Refused("a number becomes too large", "Use floating-point numbers.")
        return found

    def _compare(self, node: ast.Compare) -> Any:
        left = self._value(node.left)
        for kind, right_node in zip(node.ops, node.comparators):
            right = self._value(right_node)
            if type(kind) not in _COMPARED or not _COMPARED[type(kind)](left, right):
                return False
            left = right
        return True

    def _boolean(self, node: ast.BoolOp) -> Any:
        value: Any = None
        for one in node.values:
            value = self._value(one)
            if bool(value) != isinstance(node.op, ast.And):
                return value
        return value

    def _call(self, name: str, args: Any) -> Any:
        function: Optional[Callable[..., Any]] = self._functions.get(name)
        if function is None:
            raise Refused(f"{self._text!r} calls {name!r}, which is no function of mathematics")
        return function(*[self._value(one) for one in args])


def calculate(expression: str, variables: Optional[Mapping[str, Any]] = None) -> Dict[str, Any]:
    """An expression's value."""
    given = dict(variables or {})
    return {"expression": expression, "result": Expression(expression, given)(**given)}
