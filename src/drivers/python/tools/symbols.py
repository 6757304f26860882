"""Formulas with letters: SymPy does the work, where it is installed. What is given is parsed here
and built from objects of SymPy, because SymPy's own parser runs what it is given."""

from __future__ import annotations

import ast
from typing import Any, Dict, List, Optional

from .results import Refused

_FUNCTIONS = (
    "sin cos tan asin acos atan sinh cosh tanh exp log sqrt Abs sign factorial gamma erf floor "
    "ceiling cot sec csc"
).split()
_RENAMED = {"ln": "log", "abs": "Abs", "ceil": "ceiling", "arcsin": "asin", "arccos": "acos",
            "arctan": "atan"}  # fmt: skip
_CHARS = 1000
_POWER = 1000


class _Reader:
    def __init__(self) -> None:
        import sympy

        self.sympy: Any = sympy

    def read(self, text: str) -> Any:
        if len(text) > _CHARS:
            raise Refused("the formula is too long", f"At most {_CHARS} characters.")
        try:
            tree = ast.parse(text.strip().replace("^", "**"), mode="eval").body
        except (SyntaxError, ValueError, RecursionError) as error:
            raise Refused(f"{text!r} is no formula: {error}",
                          "Write it as in Python: 2*x**2 + sin(x).") from None
        return self._made(tree, text)

    def equation(self, text: str) -> Any:
        """left = right, or what is to be nothing."""
        left, mark, right = text.replace("==", "=").partition("=")
        if "=" in right:
            raise Refused(f"{text!r} has more than one =", "Give several equations as a list.")
        return self.read(left) - self.read(right) if mark else self.read(left)

    def _made(self, node: Any, text: str) -> Any:
        sympy = self.sympy
        kind = type(node)
        if kind is ast.Constant and isinstance(node.value, (int, float)):
            return sympy.Integer(node.value) if isinstance(node.value, int) else (
                sympy.Rational(str(node.value)))
        if kind is ast.Name:
            known = {"pi": sympy.pi, "e": sympy.E, "E": sympy.E, "I": sympy.I, "oo": sympy.oo}
            return known.get(node.id) or sympy.Symbol(node.id)
        if kind is ast.UnaryOp and isinstance(node.op, (ast.UAdd, ast.USub)):
            inner = self._made(node.operand, text)
            return -inner if isinstance(node.op, ast.USub) else inner
        if kind is ast.BinOp:
            return self._joined(node, text)
        if kind is ast.Call and isinstance(node.func, ast.Name) and not node.keywords:
            name = _RENAMED.get(node.func.id, node.func.id)
            if name in _FUNCTIONS:
                return getattr(sympy, name)(*[self._made(one, text) for one in node.args])
            raise Refused(f"{text!r}: there is no function {name}", f"{' '.join(_FUNCTIONS)}")
        raise Refused(f"{text!r} has something that is no formula: {kind.__name__}",
                      "Numbers, letters, operators and functions only.")

    def _joined(self, node: ast.BinOp, text: str) -> Any:
        left, right = self._made(node.left, text), self._made(node.right, text)
        if isinstance(node.op, ast.Add):
            return left + right
        if isinstance(node.op, ast.Sub):
            return left - right
        if isinstance(node.op, ast.Mult):
            return left * right
        if isinstance(node.op, ast.Div):
            return left / right
        if isinstance(node.op, ast.Pow):
            if right.is_number and abs(right) > _POWER:
                raise Refused(f"{text!r} has a power that is too large", f"At most {_POWER}.")
            return left**right
        raise Refused(f"{text!r} has an operator that is not known here")


def symbolic_solve(equation: Any, variable: Any = None) -> Dict[str, Any]:
    """What makes an equation, or several, true."""
    reader = _Reader()
    texts: List[str] = [equation] if isinstance(equation, str) else list(equation)
    made = [reader.equation(text) for text in texts]
    letters = sorted(set().union(*[one.free_symbols for one in made]), key=str)
    wanted = [variable] if isinstance(variable, str) else list(variable or ())
    chosen = [reader.sympy.Symbol(name) for name in wanted] or letters[: len(made)]
    if not chosen:
        raise Refused("the equation has no letter to solve for")
    try:
        found = reader.sympy.solve(made, chosen, dict=True)
    except NotImplementedError as error:
        raise Refused(f"no solution can be found by rules: {error}",
                      "optimize() finds one by numbers.") from None
    solutions = [{str(name): str(value) for name, value in one.items()} for one in found]
    told: Dict[str, Any] = {"variables": [str(one) for one in chosen], "solutions": solutions}
    numbers = [_numeric(one) for one in found]
    if all(number is not None for number in numbers):
        told["numeric"] = numbers
    return told


def _numeric(solution: Any) -> Optional[Dict[str, Any]]:
    told: Dict[str, Any] = {}
    for name, value in solution.items():
        if value.free_symbols:
            return None
        number = complex(value.evalf())
        told[str(name)] = number.real if abs(number.imag) < 1e-12 else number
    return told


def math_simplify(expression: str) -> Dict[str, Any]:
    """A shorter form, and each rule that changed something on the way."""
    reader = _Reader()
    sympy = reader.sympy
    at = reader.read(expression)
    steps: List[Dict[str, str]] = []
    for name in ("expand", "cancel", "trigsimp", "factor", "simplify"):
        try:
            changed = getattr(sympy, name)(at)
        except (sympy.PolynomialError, NotImplementedError, ValueError):
            continue  # a rule for something else
        if changed != at and (name == "expand" or changed.count_ops() <= at.count_ops()):
            steps.append({"rule": name, "result": str(changed)})
            at = changed
    shortest = min([reader.read(expression), at], key=lambda one: one.count_ops())
    return {"simplified": str(shortest), "steps": steps}
