"""Pictures made of characters: of lines, of distributions, of formulas; and sixels, which some
terminals show as pictures."""

from __future__ import annotations

import math
import re
from typing import Any, Dict, List, Optional, Sequence, Tuple

from .arithmetic import Expression
from .results import Refused

_DOTS = ((0x01, 0x08), (0x02, 0x10), (0x04, 0x20), (0x40, 0x80))


class _Frame:
    """Numbers to places on a grid of dots."""

    def __init__(self, points: Sequence[Tuple[float, float]], width: int, height: int) -> None:
        finite = [(x, y) for x, y in points if math.isfinite(x) and math.isfinite(y)]
        if not finite:
            raise Refused("there is no point that could be drawn", "Give finite numbers.")
        self.points = finite
        self.width, self.height = width, height
        self.left, self.right = _range([x for x, _ in finite])
        self.bottom, self.top = _range([y for _, y in finite])

    def place(self, x: float, y: float) -> Tuple[int, int]:
        across = (x - self.left) / (self.right - self.left) * (self.width - 1)
        down = (self.top - y) / (self.top - self.bottom) * (self.height - 1)
        return round(across), round(down)


def _range(values: List[float]) -> Tuple[float, float]:
    low, high = min(values), max(values)
    if high - low > abs(high) * 1e-12:
        return low, high
    margin = abs(low) * 0.5 or 0.5
    return low - margin, high + margin


def _points(y: Sequence[float], x: Optional[Sequence[float]]) -> List[Tuple[float, float]]:
    if x is None:
        return [(float(place), float(value)) for place, value in enumerate(y)]
    if len(x) != len(y):
        raise Refused(f"x has {len(x)} numbers and y has {len(y)}", "Give as many of each.")
    return [(float(across), float(up)) for across, up in zip(x, y)]


def _line(a: Tuple[int, int], b: Tuple[int, int]) -> List[Tuple[int, int]]:
    steps = max(abs(b[0] - a[0]), abs(b[1] - a[1]), 1)
    return [
        (a[0] + round((b[0] - a[0]) * n / steps), a[1] + round((b[1] - a[1]) * n / steps))
        for n in range(steps + 1)
    ]


def _dots(frame: _Frame, joined: bool) -> List[Tuple[int, int]]:
    places = [frame.place(x, y) for x, y in frame.points]
    if not joined:
        return places
    return [dot for a, b in zip(places, places[1:] or places) for dot in _line(a, b)]


def plot_braille(
    y: Sequence[float],
    x: Optional[Sequence[float]] = None,
    width: int = 60,
    height: int = 15,
    joined: bool = True,
    title: str = "",
) -> str:
    """Points or a line, with eight dots to a character."""
    frame = _Frame(_points(y, x), width * 2, height * 4)
    grid = [[0x2800] * width for _ in range(height)]
    for across, down in _dots(frame, joined):
        grid[down // 4][across // 2] |= _DOTS[down % 4][across % 2]
    lines = ["".join(map(chr, row)) for row in grid]
    return _framed(lines, frame, title)


def _framed(lines: List[str], frame: _Frame, title: str) -> str:
    labels = [f"{frame.top:.4g}", *[""] * (len(lines) - 2), f"{frame.bottom:.4g}"][: len(lines)]
    edge = max(map(len, labels))
    drawn = [f"{label:>{edge}} ┤{line}" for label, line in zip(labels, lines)]
    left, right = f"{frame.left:.4g}", f"{frame.right:.4g}"
    axis = " " * (edge + 2) + left + right.rjust(max(len(lines[0]) - len(left), len(right) + 1))
    return "\n".join(([title] if title else []) + drawn + [axis])


def plot_function(
    expression: str,
    start: float = -10.0,
    stop: float = 10.0,
    width: int = 60,
    height: int = 15,
    variable: str = "x",
) -> str:
    """A function of one variable."""
    if not start < stop:
        raise Refused("start must be less than stop")
    function = Expression(expression, [variable])
    points = []
    for n in range(width * 2):
        at = start + (stop - start) * n / (width * 2 - 1)
        try:
            value = function(**{variable: at})
        except Refused:
            continue  # outside of where it is defined
        if isinstance(value, (int, float)):
            points.append((at, float(value)))
    if not points:
        raise Refused(f"{expression!r} has no value between {start:g} and {stop:g}")
    picture = plot_braille(
        [value for _, value in points], [at for at, _ in points], width, height,
        joined=len(points) == width * 2,
    )  # fmt: skip
    return f"{expression}\n{picture}"


def histogram(values: Sequence[float], bins: int = 10, width: int = 40) -> str:
    """How often values are in which range."""
    numbers = [float(value) for value in values if math.isfinite(value)]
    if not numbers:
        raise Refused("there are no finite numbers")
    low, high = _range(numbers)
    counts = [0] * bins
    for number in numbers:
        counts[min(int((number - low) / (high - low) * bins), bins - 1)] += 1
    most = max(counts)
    edges = [low + (high - low) * n / bins for n in range(bins + 1)]
    lines = []
    for n, count in enumerate(counts):
        label = f"{edges[n]:>10.4g} … {edges[n + 1]:<10.4g}"
        lines.append(f"{label} {'█' * round(width * count / most)} {count}")
    return "\n".join(lines)


def plot_sixel(
    y: Sequence[float], x: Optional[Sequence[float]] = None, width: int = 320, height: int = 120
) -> str:
    """A line as sixels: six dots of a column are one character."""
    frame = _Frame(_points(y, x), width, height)
    bands = [[0] * width for _ in range((height + 5) // 6)]
    for across, down in _dots(frame, True):
        bands[down // 6][across] |= 1 << down % 6
    rows = [_repeated("".join(chr(63 + six) for six in band)) for band in bands]
    return f'\x1bP0;1q"1;1;{width};{height}#0;2;20;60;90#0' + "-".join(rows) + "\x1b\\"


def _repeated(row: str) -> str:
    return re.sub(r"(.)\1{3,}", lambda run: f"!{len(run.group())}{run.group(1)}", row)


# ---- render_math ---------------------------------------------------------------------------------

_SIGNS = {
    "alpha": "α", "beta": "β", "gamma": "γ", "delta": "δ", "epsilon": "ε", "varepsilon": "ε",
    "zeta": "ζ", "eta": "η", "theta": "θ", "iota": "ι", "kappa": "κ", "lambda": "λ", "mu": "μ",
    "nu": "ν", "xi": "ξ", "pi": "π", "rho": "ρ", "sigma": "σ", "tau": "τ", "phi": "φ",
    "varphi": "φ", "chi": "χ", "psi": "ψ", "omega": "ω", "Gamma": "Γ", "Delta": "Δ", "Theta": "Θ",
    "Lambda": "Λ", "Xi": "Ξ", "Pi": "Π", "Sigma": "Σ", "Phi": "Φ", "Psi": "Ψ", "Omega": "Ω",
    "sum": "∑", "prod": "∏", "int": "∫", "partial": "∂", "nabla": "∇", "infty": "∞", "pm": "±",
    "times": "×", "cdot": "·", "div": "÷", "leq": "≤", "le": "≤", "geq": "≥", "ge": "≥",
    "neq": "≠", "ne": "≠", "approx": "≈", "equiv": "≡", "to": "→", "rightarrow": "→",
    "leftarrow": "←", "Rightarrow": "⇒", "in": "∈", "notin": "∉", "subset": "⊂", "cup": "∪",
    "cap": "∩", "forall": "∀", "exists": "∃", "ldots": "…", "cdots": "⋯", "dots": "…",
    "quad": "  ", "left": "", "right": "", ",": " ", ";": " ", "!": "", " ": " ", "\\": "\n",
    "{": "{", "}": "}", "%": "%", "_": "_", "circ": "∘", "propto": "∝", "mathbb": "", "ell": "ℓ",
    "hbar": "ℏ", "emptyset": "∅", "angle": "∠", "perp": "⊥", "parallel": "∥",
}  # fmt: skip
_PLAIN_TEXT = ("text", "mathrm", "mathbf", "mathit", "operatorname", "mathcal")
_UP = dict(
    zip("0123456789+-=()niabcdefghjklmoprstuvwxyz", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁼⁽⁾ⁿⁱᵃᵇᶜᵈᵉᶠᵍʰʲᵏˡᵐᵒᵖʳˢᵗᵘᵛʷˣʸᶻ")
)
_DOWN = dict(zip("0123456789+-=()aeijoruvxhklmnpst", "₀₁₂₃₄₅₆₇₈₉₊₋₌₍₎ₐₑᵢⱼₒᵣᵤᵥₓₕₖₗₘₙₚₛₜ"))


class _Formula:
    """LaTeX, as far as a line of characters can show it."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0

    def read(self, until: str = "") -> str:
        parts: List[str] = []
        while self._at < len(self._text):
            if self._text[self._at] == until:
                self._at += 1
                return "".join(parts)
            parts.append(self._piece())
        if until:
            raise Refused("a { has no }", "Look at the braces of the formula.")
        return "".join(parts)

    def _piece(self) -> str:
        sign = self._text[self._at]
        self._at += 1
        if sign == "\\":
            return self._command()
        if sign == "{":
            return self.read("}")
        if sign == "}":
            raise Refused("a } has no {", "Look at the braces of the formula.")
        if sign in "^_":
            return self._raised(sign, _UP if sign == "^" else _DOWN)
        return "" if sign in "$&" else sign

    def _argument(self) -> str:
        while self._text[self._at : self._at + 1] == " ":
            self._at += 1
        if self._at == len(self._text):
            raise Refused("the formula ends too early", "An argument is missing.")
        return self._piece()

    def _raised(self, sign: str, signs: Dict[str, str]) -> str:
        inner = self._argument()
        if inner and all(one in signs for one in inner):
            return "".join(signs[one] for one in inner)
        return f"{sign}({inner})" if len(inner) > 1 else sign + inner

    def _command(self) -> str:
        match = re.compile(r"[A-Za-z]+|.", re.S).match(self._text, self._at)
        if match is None:
            raise Refused("the formula ends with a backslash")
        self._at = match.end()
        name = match.group()
        if name in ("frac", "dfrac", "tfrac"):
            return f"{_grouped(self._argument())}/{_grouped(self._argument())}"
        if name == "sqrt":
            return self._root()
        if name == "binom":
            return f"C({self._argument()},{self._argument()})"
        if name in _PLAIN_TEXT:
            return self._argument()
        return _SIGNS.get(name, name)

    def _root(self) -> str:
        sign = "√"
        if self._text[self._at : self._at + 1] == "[":
            end = self._text.find("]", self._at)
            if end < 0:
                raise Refused("a [ has no ]", "Look at the root in the formula.")
            order = self._text[self._at + 1 : end]
            self._at = end + 1
            raised = "".join(_UP.get(one, one) for one in order)
            sign = {"3": "∛", "4": "∜"}.get(order, raised + "√")
        inner = self._argument()
        return sign + (inner if len(inner) == 1 else f"({inner})")


def _grouped(text: str) -> str:
    return f"({text})" if re.search(r"[\s+\-*/]", text) else text


def render_math(latex: str) -> Dict[str, Any]:
    """A formula in LaTeX as characters."""
    return {"latex": latex, "text": re.sub(r" {2,}", " ", _Formula(latex).read()).strip()}
