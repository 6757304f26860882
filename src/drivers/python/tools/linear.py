"""Matrices, differential equations, and the least value of a function."""

from __future__ import annotations

import math
from typing import Any, Callable, Dict, List, Optional, Sequence

from .arithmetic import Expression
from .results import Refused

_STEPS = 200_000


def _matrix(rows: Any, name: str = "matrix", is_square: bool = True) -> Any:
    import numpy

    if len({len(row) for row in rows}) != 1:
        raise Refused(f"the rows of {name} are not equally long", "Give [[1, 2], [3, 4]].")
    made = numpy.array(rows, dtype=float)
    if is_square and made.shape[0] != made.shape[1]:
        raise Refused(f"{name} has {made.shape[0]} rows and {made.shape[1]} columns",
                      "It has to be square.")
    return made


def matrix_solve(a: Any, b: Any) -> Dict[str, Any]:
    """x of a·x = b; the nearest one if there are more equations than unknowns."""
    import numpy

    left = _matrix(a, "a", is_square=False)
    right = numpy.array(b, dtype=float)
    if right.shape[0] != left.shape[0]:
        raise Refused(f"a has {left.shape[0]} rows and b has {right.shape[0]}",
                      "Give as many of each.")
    is_square = left.shape[0] == left.shape[1]
    try:
        if is_square:
            x = numpy.linalg.solve(left, right)
        else:
            x = numpy.linalg.lstsq(left, right, rcond=None)[0]
    except numpy.linalg.LinAlgError:
        raise Refused("the matrix is singular: there is no single solution",
                      "matrix_svd() shows its rank.") from None
    residual = float(numpy.linalg.norm(left @ x - right))
    return {"x": x, "residual": residual, "method": "exact" if is_square else "least squares"}


def matrix_eigenvalues(matrix: Any, vectors: bool = False) -> Dict[str, Any]:
    """Eigenvalues, the largest first; vectors are the columns that belong to them."""
    import numpy

    made = _matrix(matrix)
    is_symmetric = bool(numpy.allclose(made, made.T))
    values, columns = (numpy.linalg.eigh if is_symmetric else numpy.linalg.eig)(made)
    order = numpy.argsort(-numpy.abs(values), kind="stable")
    told: Dict[str, Any] = {
        "eigenvalues": _real(values[order]), "symmetric": is_symmetric,
        "determinant": float(numpy.linalg.det(made)), "trace": float(made.trace()),
    }  # fmt: skip
    if vectors:
        told["eigenvectors"] = _real(columns[:, order])
    return told


def _real(values: Any) -> Any:
    import numpy

    return values.real if not numpy.iscomplexobj(values) or not values.imag.any() else values


def matrix_svd(matrix: Any, vectors: bool = False) -> Dict[str, Any]:
    """Singular values, the rank and the condition."""
    import numpy

    made = _matrix(matrix, is_square=False)
    u, values, vt = numpy.linalg.svd(made, full_matrices=False)
    limit = values.max(initial=0.0) * max(made.shape) * numpy.finfo(float).eps
    told: Dict[str, Any] = {
        "singular_values": values, "rank": int((values > limit).sum()),
        "condition": float(values[0] / values[-1]) if values[-1] > limit else None,
    }  # fmt: skip
    if vectors:
        told.update(u=u, vt=vt)
    return told


# ---- solve_ode -----------------------------------------------------------------------------------

_NODES = (0.0, 0.2, 0.3, 0.8, 8 / 9, 1.0, 1.0)
_STAGES: Sequence[Sequence[float]] = (
    (), (0.2,), (3 / 40, 9 / 40), (44 / 45, -56 / 15, 32 / 9),
    (19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729),
    (9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656),
    (35 / 384, 0.0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84),
)  # fmt: skip
_ERROR = (
    71 / 57600, 0.0, -71 / 16695, 71 / 1920, -17253 / 339200, 22 / 525, -1 / 40,
)  # fmt: skip

_Slope = Callable[[float, List[float]], List[float]]


def solve_ode(
    equations: Dict[str, str],
    initial: Dict[str, float],
    t_end: float,
    t_start: float = 0.0,
    points: int = 50,
    tolerance: float = 1e-6,
) -> Dict[str, Any]:
    """x(t) of equations x' = f(t, x): Dormand's and Prince's method, whose step fits itself."""
    names = list(equations)
    if set(names) != set(initial):
        raise Refused("equations and initial have different names", "Each needs both.")
    if t_end <= t_start:
        raise Refused("t_end must be later than t_start")
    functions = [Expression(text, ["t", *names]) for text in equations.values()]

    def slope(t: float, x: List[float]) -> List[float]:
        given = dict(zip(names, x), t=t)
        return [float(function(**given)) for function in functions]

    at = [float(initial[name]) for name in names]
    times = [t_start + (t_end - t_start) * n / (points - 1) for n in range(points)]
    rows = [at]
    step, taken = (t_end - t_start) / 100, 0
    for begin, end in zip(times, times[1:]):
        t = begin
        while t < end - 1e-12 * abs(end - begin):
            step = min(step, end - t)
            moved, error = _try_step(slope, t, at, step)
            scale = max(tolerance * max(1.0, *map(abs, at)), 1e-300)
            taken += 1
            if taken > _STEPS or not all(map(math.isfinite, moved)) or step < 1e-14 * (end - begin):
                raise Refused(f"the solution cannot be followed beyond t = {t:g}",
                              "It may not exist there, or be stiff.")
            if error <= scale:
                t, at = t + step, moved
            step *= min(4.0, max(0.2, 0.9 * (scale / max(error, 1e-300)) ** 0.2))
        rows.append(at)
    return {
        "t": times, "x": {name: [row[place] for row in rows] for place, name in enumerate(names)},
        "final": dict(zip(names, at)), "steps": taken,
    }  # fmt: skip


def _try_step(slope: _Slope, t: float, at: List[float], step: float) -> Any:
    slopes: List[List[float]] = []
    moved = at
    for node, row in zip(_NODES, _STAGES):
        moved = [
            x + step * math.fsum(factor * one[place] for factor, one in zip(row, slopes))
            for place, x in enumerate(at)
        ]
        slopes.append(slope(t + node * step, moved))
    error = max(
        abs(step * math.fsum(factor * one[place] for factor, one in zip(_ERROR, slopes)))
        for place in range(len(at))
    )
    return moved, error


# ---- optimize ------------------------------------------------------------------------------------


def optimize(
    expression: str,
    initial: Dict[str, float],
    bounds: Optional[Dict[str, Sequence[float]]] = None,
    maximize: bool = False,
    tolerance: float = 1e-9,
    max_steps: int = 5000,
) -> Dict[str, Any]:
    """The least value near a beginning, by the simplex of Nelder and Mead."""
    names = list(initial)
    function = Expression(expression, names)
    limits = [(bounds or {}).get(name, (-math.inf, math.inf)) for name in names]
    if any(not limit[0] < limit[1] for limit in limits):
        raise Refused("a bound is empty", 'Give {"x": [low, high]}.')
    sign = -1.0 if maximize else 1.0

    def look(x: List[float]) -> float:
        try:
            return sign * float(function(**dict(zip(names, x))))
        except Refused:
            return math.inf  # outside of where it is defined

    def within(x: List[float]) -> List[float]:
        return [min(max(one, low), high) for one, (low, high) in zip(x, limits)]

    begin = within([float(initial[name]) for name in names])
    if not math.isfinite(look(begin)):
        function(**dict(zip(names, begin)))  # raises what is wrong there
        raise Refused("the expression is not finite at the beginning")
    best, value, steps, has_converged = _simplex(look, within, begin, tolerance, max_steps)
    best, value, more, has_converged = _simplex(look, within, best, tolerance, max_steps)
    return {
        "x": dict(zip(names, best)), "value": sign * value, "steps": steps + more,
        "converged": has_converged,
    }  # fmt: skip


def _simplex(
    look: Callable[[List[float]], float],
    within: Callable[[List[float]], List[float]],
    begin: List[float],
    tolerance: float,
    max_steps: int,
) -> Any:
    corners = [begin]
    for place, value in enumerate(begin):
        away = begin.copy()
        away[place] = value + (0.1 * abs(value) or 0.25)
        moved = within(away)
        if moved == begin:
            away[place] = value - (0.1 * abs(value) or 0.25)
            moved = within(away)
        corners.append(moved)
    known = sorted(((look(corner), corner) for corner in corners), key=lambda one: one[0])
    for turn in range(max_steps):
        low, high = known[0], known[-1]
        size = max(abs(a - b) for a, b in zip(low[1], high[1]))
        if high[0] - low[0] <= tolerance * (abs(low[0]) + tolerance) and size <= tolerance**0.5:
            return low[1], low[0], turn, True
        middle = [
            math.fsum(corner[place] for _, corner in known[:-1]) / len(begin)
            for place in range(len(begin))
        ]

        def toward(factor: float) -> Any:
            moved = within([m + factor * (m - h) for m, h in zip(middle, high[1])])
            return look(moved), moved

        tried = toward(1.0)
        if tried[0] < low[0]:
            tried = min(tried, toward(2.0), key=lambda one: one[0])
        elif tried[0] >= known[-2][0]:
            tried = toward(0.5 if tried[0] < high[0] else -0.5)
        if tried[0] < high[0]:
            known[-1] = tried
        else:  # all come nearer to the best
            known[1:] = [
                (look(near), near)
                for near in ([(a + b) / 2 for a, b in zip(low[1], one)] for _, one in known[1:])
            ]
        known.sort(key=lambda one: one[0])
    return known[0][1], known[0][0], max_steps, False
