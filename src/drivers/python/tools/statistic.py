"""Numbers by chance: what values have in common, and simulations. A seed makes them repeatable."""

from __future__ import annotations

import math
import random
import statistics as _statistics
from typing import Any, Callable, Dict, List, Optional, Sequence

from .arithmetic import Expression
from .results import Refused

_PERCENTILES = (5, 25, 50, 75, 95)


def _numbers(values: Sequence[Any]) -> List[float]:
    if not all(math.isfinite(value) for value in values):
        raise Refused("a value is not finite", "Leave it out.")
    return [float(value) for value in values]


def _percentile(ordered: Sequence[float], percent: float) -> float:
    at = (len(ordered) - 1) * percent / 100
    low = math.floor(at)
    high = min(low + 1, len(ordered) - 1)
    return float(ordered[low] + (ordered[high] - ordered[low]) * (at - low))


def statistics(values: Sequence[Any], percentiles: Sequence[float] = ()) -> Dict[str, Any]:
    """What is usual to know of numbers."""
    numbers = _numbers(values)
    ordered = sorted(numbers)
    count = len(numbers)
    mean = math.fsum(numbers) / count
    variance = _statistics.variance(numbers) if count > 1 else 0.0
    spread = math.sqrt(math.fsum((one - mean) ** 2 for one in numbers) / count)
    told: Dict[str, Any] = {
        "count": count, "sum": math.fsum(numbers), "mean": mean,
        "median": _percentile(ordered, 50), "min": ordered[0], "max": ordered[-1],
        "variance": variance, "stdev": math.sqrt(variance),
        "q1": _percentile(ordered, 25), "q3": _percentile(ordered, 75),
        "mode": _statistics.mode(values),
        "skewness": math.fsum((one - mean) ** 3 for one in numbers) / count / spread**3
        if spread else 0.0,
    }  # fmt: skip
    if percentiles:
        told["percentiles"] = {f"{p:g}": _percentile(ordered, p) for p in percentiles}
    return told


# ---- distributions -------------------------------------------------------------------------------

_SHAPES: Dict[str, Sequence[str]] = {
    "uniform": ("low", "high"), "normal": ("mean", "stdev"), "lognormal": ("mean", "stdev"),
    "exponential": ("rate",), "triangular": ("low", "high", "mode"), "bernoulli": ("p",),
    "constant": ("value",),
}  # fmt: skip


def _parameters(name: str, told: Any) -> Any:
    kind = told.get("distribution") if isinstance(told, dict) else None
    if kind not in _SHAPES:
        raise Refused(
            f"the distribution of {name} is not known: {kind!r}",
            "; ".join(f"{one}({', '.join(needs)})" for one, needs in _SHAPES.items()),
        )
    try:
        given = [float(told[need]) for need in _SHAPES[kind]]
    except (KeyError, TypeError, ValueError):
        needed = ", ".join(_SHAPES[kind])
        raise Refused(f"{name}: the distribution {kind} needs {needed}", "As numbers.") from None
    if kind == "exponential" and given[0] <= 0 or kind == "bernoulli" and not 0 <= given[0] <= 1:
        raise Refused(f"{name}: {_SHAPES[kind][0]} is out of range")
    return kind, given


def _sampler(name: str, told: Any, chance: random.Random) -> Callable[[], float]:
    kind, given = _parameters(name, told)
    draws: Dict[str, Callable[[], float]] = {
        "uniform": lambda: chance.uniform(*given),
        "normal": lambda: chance.gauss(*given),
        "lognormal": lambda: chance.lognormvariate(*given),
        "exponential": lambda: chance.expovariate(*given),
        "triangular": lambda: chance.triangular(*given),
        "bernoulli": lambda: float(chance.random() < given[0]),
        "constant": lambda: given[0],
    }
    return draws[kind]


def _summary(samples: Sequence[float]) -> Dict[str, Any]:
    ordered = sorted(samples)
    count = len(ordered)
    mean = math.fsum(ordered) / count
    variance = math.fsum((one - mean) ** 2 for one in ordered) / max(count - 1, 1)
    return {
        "n": count, "mean": mean, "stdev": math.sqrt(variance),
        "standard_error": math.sqrt(variance / count), "min": ordered[0], "max": ordered[-1],
        "percentiles": {str(p): _percentile(ordered, p) for p in _PERCENTILES},
    }  # fmt: skip


def monte_carlo(
    expression: str, variables: Dict[str, Any], n: int = 10_000, seed: Optional[int] = None
) -> Dict[str, Any]:
    """What an expression comes to if its variables are drawn by chance."""
    chance = random.Random(seed)
    draws = {name: _sampler(name, told, chance) for name, told in variables.items()}
    function = Expression(expression, list(draws))
    samples = [float(function(**{name: draw() for name, draw in draws.items()})) for _ in range(n)]
    return _summary(samples)


def monte_carlo_native(
    expression: str, variables: Dict[str, Any], n: int = 1_000_000, seed: Optional[int] = None
) -> Dict[str, Any]:
    """The same with arrays of NumPy: a hundred times as many samples in the same time."""
    import numpy

    chance = numpy.random.default_rng(seed)
    drawn = {name: _array(name, told, chance, n) for name, told in variables.items()}
    samples = numpy.broadcast_to(
        numpy.asarray(_vectorized(expression, list(drawn))(**drawn), dtype=float), (n,)
    )
    if not numpy.isfinite(samples).all():
        raise Refused("the expression is not finite for all samples", "Look at its divisions.")
    spread = float(samples.std(ddof=1)) if n > 1 else 0.0
    return {
        "n": n, "mean": float(samples.mean()), "stdev": spread,
        "standard_error": spread / math.sqrt(n), "min": float(samples.min()),
        "max": float(samples.max()),
        "percentiles": {str(p): float(numpy.percentile(samples, p)) for p in _PERCENTILES},
    }  # fmt: skip


def _array(name: str, told: Any, chance: Any, n: int) -> Any:
    kind, given = _parameters(name, told)
    draws: Dict[str, Callable[[], Any]] = {
        "uniform": lambda: chance.uniform(*given, n),
        "normal": lambda: chance.normal(*given, n),
        "lognormal": lambda: chance.lognormal(*given, n),
        "exponential": lambda: chance.exponential(1 / given[0], n),
        "triangular": lambda: chance.triangular(given[0], given[2], given[1], n),
        "bernoulli": lambda: (chance.random(n) < given[0]).astype(float),
        "constant": lambda: given[0],
    }
    return draws[kind]()


def _vectorized(expression: str, names: List[str]) -> Expression:
    import numpy

    same = "sin cos tan sinh cosh tanh exp expm1 log log2 log10 log1p sqrt floor ceil abs hypot"
    functions = {name: getattr(numpy, name) for name in same.split()}
    functions.update(
        asin=numpy.arcsin, acos=numpy.arccos, atan=numpy.arctan, atan2=numpy.arctan2,
        ln=numpy.log, pow=numpy.power, min=numpy.minimum, max=numpy.maximum,
    )  # fmt: skip
    return Expression(expression, names, functions)


# ---- chains and searches -------------------------------------------------------------------------


def mcmc(
    log_density: str,
    initial: Dict[str, float],
    n: int = 5000,
    burn_in: int = 1000,
    step: float = 0.5,
    seed: Optional[int] = None,
) -> Dict[str, Any]:
    """Samples of a density by the rule of Metropolis; the step is fitted while it burns in."""
    chance = random.Random(seed)
    names = list(initial)
    function = Expression(log_density, names)
    at = {name: float(value) for name, value in initial.items()}
    level = float(function(**at))
    kept: Dict[str, List[float]] = {name: [] for name in names}
    accepted = accepted_late = 0
    for turn in range(burn_in + n):
        tried = {name: value + chance.gauss(0, step) for name, value in at.items()}
        try:
            height = float(function(**tried))
        except Refused:
            height = -math.inf  # outside of where the density is
        if height - level >= 0 or chance.random() < math.exp(height - level):
            at, level = tried, height
            accepted += 1
            accepted_late += turn >= burn_in
        if turn < burn_in and turn % 100 == 99:
            step *= 1.2 if accepted > 35 else 0.8
            accepted = 0
        if turn >= burn_in:
            for name in names:
                kept[name].append(at[name])
    return {
        "samples": n, "acceptance": round(accepted_late / n, 4), "step": step,
        "parameters": {name: _summary(values) for name, values in kept.items()},
    }  # fmt: skip


def bayesopt(
    expression: str,
    bounds: Dict[str, Sequence[float]],
    n: int = 25,
    maximize: bool = False,
    seed: Optional[int] = None,
) -> Dict[str, Any]:
    """The least value of an expression that is dear to calculate: a Gaussian process says where
    to look next (expected improvement)."""
    import numpy

    chance = numpy.random.default_rng(seed)
    names = list(bounds)
    low = numpy.array([float(bounds[name][0]) for name in names])
    high = numpy.array([float(bounds[name][1]) for name in names])
    if not (low < high).all():
        raise Refused("a bound is empty", 'Give {"x": [low, high]}.')
    function = Expression(expression, names)
    sign = -1.0 if maximize else 1.0

    def look(unit: Any) -> float:
        values = low + unit * (high - low)
        return sign * float(function(**dict(zip(names, map(float, values)))))

    tried = list(chance.random((min(n, max(4, 2 * len(names))), len(names))))
    seen = [look(unit) for unit in tried]
    while len(tried) < n:
        unit = _most_promising(numpy.array(tried), numpy.array(seen), chance, len(names))
        tried.append(unit)
        seen.append(look(unit))
    best = int(numpy.argmin(seen))
    values = low + tried[best] * (high - low)
    return {
        "best": dict(zip(names, map(float, values))), "value": sign * seen[best],
        "evaluations": n,
        "history": [sign * min(seen[: place + 1]) for place in range(n)],
    }  # fmt: skip


def _most_promising(tried: Any, seen: Any, chance: Any, dimensions: int) -> Any:
    import numpy

    scale = seen.std() or 1.0
    level = (seen - seen.mean()) / scale
    length = 0.25 * math.sqrt(dimensions)

    def kernel(a: Any, b: Any) -> Any:
        apart = ((a[:, None, :] - b[None, :, :]) ** 2).sum(-1)
        return numpy.exp(-apart / (2 * length**2))

    lower = numpy.linalg.cholesky(kernel(tried, tried) + 1e-6 * numpy.eye(len(tried)))
    weights = numpy.linalg.solve(lower.T, numpy.linalg.solve(lower, level))
    near = tried[seen.argmin()] + chance.normal(0, 0.05, (256, dimensions))
    places = numpy.clip(numpy.vstack([chance.random((1024, dimensions)), near]), 0, 1)
    cross = kernel(places, tried)
    mean = cross @ weights
    narrowed = numpy.linalg.solve(lower, cross.T)
    spread = numpy.sqrt(numpy.maximum(1 - (narrowed**2).sum(0), 1e-12))
    z = (level.min() - mean) / spread
    normal = numpy.exp(-(z**2) / 2) / math.sqrt(2 * math.pi)
    below = 0.5 * (1 + numpy.vectorize(math.erf)(z / math.sqrt(2)))
    return places[int(numpy.argmax(spread * (z * below + normal)))]
