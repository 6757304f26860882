"""Everyday commands and calls, which do in a session what they do on a plain Linux.

Each case runs outside as an ordinary user and inside; status and output must be the same. What
differs by nature (`but`) or on purpose (`closed`) is named, and differences.py tells why. Cases of
debuggers run in a session that has `debug`."""

import shutil
import subprocess
from dataclasses import dataclass

PYTHON = "/usr/bin/python3"
# Where cases find programs; the last ones are where the makers of Go and Rust have them put.
PROGRAMS = "/usr/local/bin:/usr/bin:/bin:/usr/local/go/bin:/usr/local/cargo/bin"


@dataclass(frozen=True)
class Case:
    name: str
    way: str           # sh, py, js: a process of its own; cell bash, ...: code for the session
    code: str
    needs: tuple = ()  # programs, and modules of Python as "py:name"
    but: tuple = ()    # names of differences that do not count here
    closed: str = ""   # the name of the difference that this case shows
    debug: bool = False  # in a session whose processes may trace each other
    closed_user: str = ""  # the same, of a daemon of an ordinary user only; it need not differ

    def argv(self):
        """How the case is run as a process of its own."""
        kind = self.way.removeprefix("cell ")
        if kind == "value":
            tail = "import ast; t = ast.parse(CODE); last = ast.Expression(t.body.pop().value); " \
                   "g = {}; exec(compile(t, '', 'exec'), g); " \
                   "print(repr(eval(compile(last, '', 'eval'), g)))"
            return [PYTHON, "-c", tail.replace("CODE", repr(self.code))]
        return {"sh": ["bash", "-c"], "bash": ["bash", "-c"], "py": [PYTHON, "-c"],
                "python": [PYTHON, "-c"], "data": [PYTHON, "-c"], "js": ["node", "-e"],
                "node": ["node", "-e"]}[kind] + [self.code]


TABLE = []


def case(way, name, code, needs="", but="", **options):
    TABLE.append(Case(name, way, code.strip("\n"), tuple(needs.split()),
                      tuple(filter(None, but.split(", "))), **options))


def sh(*args, **options):
    case("sh", *args, **options)


def py(*args, **options):
    case("py", *args, **options)


def js(name, code, needs="", **options):
    case("js", name, code, f"node {needs}", **options)


def missing(found_case):
    """What the case needs and this machine does not have; empty: it can run."""
    return [need for need in found_case.needs if not is_here(need)]


known = {}


def is_here(need):
    if need not in known:
        if need.startswith("py:"):
            known[need] = subprocess.run(
                [PYTHON, "-c", f"import importlib.util as u; exit(not u.find_spec('{need[3:]}'))"],
                stderr=subprocess.DEVNULL).returncode == 0
        else:
            known[need] = bool(shutil.which(need, path=PROGRAMS))
    return known[need]
