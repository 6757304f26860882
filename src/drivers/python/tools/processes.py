"""Programs: code that runs in a process of its own, commands that a list allows, and what can be
said of code without running it. A process that takes too long is ended with all it has started."""

from __future__ import annotations

import ast
import builtins
import ctypes
import glob
import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import threading
import time
import warnings
from typing import Any, Dict, List, Optional, Sequence, Tuple

from . import workspace
from .results import Refused

_SHELL_SECONDS = 120.0
_SHELL_CHARS = 8000
_OUTPUT_BYTES = 1 << 20
_TOP = "/workspace"
_PR_SET_PDEATHSIG = 1

# What only looks. Not for safety, which is the sandbox's: so that an agent's plan stays a plan.
_ALLOWED = frozenset(
    "ls cat head tail wc grep egrep fgrep find sort uniq cut tr nl diff cmp file stat du df echo "
    "printf pwd date whoami id uname basename dirname realpath readlink md5sum sha1sum sha256sum "
    "which tree rev tac paste join comm column fold seq expr test true false jq git ps free".split()
)
_GIT = frozenset("status log diff branch show ls-files rev-parse".split())
_FORBIDDEN = {
    "find": ("-exec", "-execdir", "-ok", "-okdir", "-delete", "-fprint", "-fprint0", "-fprintf",
             "-fls"),
    "sort": ("-o", "--output", "--compress-program"),
    "git": ("--output", "--ext-diff", "--textconv", "-c", "--exec-path", "-D", "-d", "-m", "-M",
            "--delete", "--move", "--edit-description", "--set-upstream-to"),
    "date": ("-s", "--set"),
    "tree": ("-o",),
}  # fmt: skip


# ---- a process -----------------------------------------------------------------------------------

_libc = ctypes.CDLL(None)


def _end_with_parent() -> None:
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


class Outcome:
    """How a process ended, and the beginning of what it wrote."""

    def __init__(self, code: int, out: bytes, err: bytes, is_late: bool, took: float) -> None:
        self.code = code
        self.out = out.decode("utf-8", "replace")
        self.err = err.decode("utf-8", "replace")
        self.is_late = is_late
        self.took_ms = round(took * 1000, 3)


def _drain(pipe: Any, kept: List[bytes]) -> None:
    """Reads all, so that the writer never waits; keeps what is not too much."""
    size = 0
    while True:
        data = os.read(pipe.fileno(), 1 << 16)
        if not data:
            return
        if size < _OUTPUT_BYTES:
            kept.append(data[: _OUTPUT_BYTES - size])
            size += len(data)


def run(argv: Sequence[str], seconds: float, stdin: str = "") -> Outcome:
    begun = time.monotonic()
    child = subprocess.Popen(
        argv, cwd=_TOP, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        start_new_session=True, preexec_fn=_end_with_parent,
    )  # fmt: skip
    kept: Tuple[List[bytes], List[bytes]] = ([], [])
    threads = [
        threading.Thread(target=_drain, args=(pipe, parts), daemon=True)
        for pipe, parts in zip((child.stdout, child.stderr), kept)
    ]
    feeder = threading.Thread(target=_feed, args=(child, stdin.encode()), daemon=True)
    for thread in (*threads, feeder):
        thread.start()
    is_late = False
    try:
        child.wait(seconds)
    except subprocess.TimeoutExpired:
        is_late = True
    try:  # it may be over, and have left others
        os.killpg(child.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    child.wait()
    for thread in threads:
        thread.join(2.0)
    out, err = (b"".join(parts) for parts in kept)
    return Outcome(child.returncode, out, err, is_late, time.monotonic() - begun)


def _feed(child: Any, data: bytes) -> None:
    try:
        child.stdin.write(data)
        child.stdin.close()
    except OSError:
        pass  # it does not want it


def _cut(text: str, limit: int = _SHELL_CHARS) -> str:
    if len(text) <= limit:
        return text
    half = limit // 2
    return f"{text[:half]}\n[... {len(text) - 2 * half} characters ...]\n{text[-half:]}"


def _late(seconds: float, what: str) -> Refused:
    return Refused(
        f"{what} was not done within {seconds:g} seconds and was ended",
        "Ask for less, or run it in a cell, which can be left running.",
        code="timeout",
    )


# ---- python --------------------------------------------------------------------------------------

Plain = Dict[str, Dict[str, str]]  # arguments that are code, without typographic signs, and notes


def _compiles(code: str) -> bool:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compile(code, "<code>", "exec", dont_inherit=True)
    except (SyntaxError, ValueError, OverflowError, RecursionError, MemoryError):
        return False
    return True


def _runnable(plain: Optional[Plain], **given: str) -> Tuple[List[str], Dict[str, str]]:
    """Code without typographic signs, where it does not compile with them, and what is told of
    it."""
    taken, notes = [], []
    for name, code in given.items():
        other = (plain or {}).get(name)
        if other is not None and not _compiles(code) and _compiles(other["text"]):
            code = other["text"]
            notes.append(other["note"])
        taken.append(code)
    return taken, {"replaced": "; ".join(notes)} if notes else {}


_EVALUATE = """
import ast, json, sys
source = sys.stdin.read()
tree = ast.parse(source)
names = {"__name__": "__main__"}
last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
exec(compile(tree, "<code>", "exec"), names)
if last is not None:
    value = eval(compile(ast.Expression(last.value), "<code>", "eval"), names)
    print("\\n__result__" + json.dumps(repr(value)[:20000]))
"""


def python_eval(
    code: str, timeout: float = 30.0, plain: Optional[Plain] = None
) -> Dict[str, Any]:
    """Runs code in a fresh process; the value of its last expression is the result."""
    (code,), told = _runnable(plain, code=code)
    done = run([_python(), "-c", _EVALUATE], timeout, code)
    if done.is_late:
        raise _late(timeout, "the code")
    out, mark, result = done.out.rpartition("\n__result__")
    return {
        "result": json.loads(result) if mark and done.code == 0 else None,
        "stdout": _cut(out if mark and done.code == 0 else done.out),
        "stderr": _cut(done.err),
        "exit_code": done.code,
        **told,
    }


def run_python_code(
    code: str, stdin_data: str = "", timeout: float = 60.0, plain: Optional[Plain] = None
) -> Dict[str, Any]:
    """Runs a script in a fresh process."""
    (code,), told = _runnable(plain, code=code)
    done = run([_python(), "-c", code], timeout, stdin_data)
    if done.is_late:
        raise _late(timeout, "the code")
    return {
        "stdout": _cut(done.out), "stderr": _cut(done.err), "exit_code": done.code,
        "elapsed_ms": done.took_ms, **told,
    }  # fmt: skip


def _python() -> str:
    return sys.executable or "/usr/bin/python3"


_BENCHMARK = """
import json, sys, timeit
given = json.loads(sys.stdin.read())
timer = timeit.Timer(given["code"], given["setup"])
number = given["number"] or timer.autorange()[0]
times = [t / number * 1e6 for t in timer.repeat(given["repeat"], number)]
print("\\n__result__" + json.dumps({"number": number, "us": times}))
"""


def benchmark_run(
    code: str, setup: str = "pass", number: int = 0, repeat: int = 5, plain: Optional[Plain] = None
) -> Dict[str, Any]:
    """How long a piece of Python takes, in a fresh process."""
    (code, setup), noted = _runnable(plain, code=code, setup=setup)
    given = json.dumps({"code": code, "setup": setup, "number": number, "repeat": repeat})
    done = run([_python(), "-c", _BENCHMARK], 60.0, given)
    if done.is_late:
        raise _late(60.0, "the benchmark")
    _, mark, result = done.out.rpartition("\n__result__")
    if not mark or done.code != 0:
        raise Refused(f"the code failed: {done.err.strip().splitlines()[-1:]}", "Run it by itself.")
    told = json.loads(result)
    times = sorted(told["us"])
    return {
        "number": told["number"], "repeat": repeat, "best_us": round(times[0], 4),
        "median_us": round(times[len(times) // 2], 4), "worst_us": round(times[-1], 4),
        **noted,
    }  # fmt: skip


def run_command(name: str, command: List[str], args: Dict[str, Any], seconds: float) -> Any:
    """A tool of the configuration: it reads its arguments as JSON and writes its result, JSON or a
    text."""
    try:
        done = run(command, seconds, json.dumps(args))
    except OSError as error:
        raise Refused(f"{name}: {command[0]} cannot be started: {error.strerror}",
                      "Is it there, in the sandbox?", code="unavailable") from None
    if done.is_late:
        raise _late(seconds, name)
    if done.code != 0:
        why = done.err.strip() or done.out.strip()
        how = f"signal {-done.code}" if done.code < 0 else f"exit code {done.code}"
        raise Refused(f"{name} failed with {how}: {_cut(why, 300)}",
                      "That is what the command itself says.", code="upstream_failed")
    try:
        return json.loads(done.out)
    except (ValueError, RecursionError):
        return done.out.rstrip("\n")


# ---- run_shell -----------------------------------------------------------------------------------


def _stages(command: str) -> List[List[str]]:
    """The commands of a pipe. Nothing of a shell but | and names with * is known."""
    lexer = shlex.shlex(command, posix=True, punctuation_chars=";&|<>`()")
    lexer.whitespace_split = True
    lexer.commenters = ""
    try:
        words = list(lexer)
    except ValueError as error:
        raise Refused(f"the command cannot be read: {error}", "Look at its quotes.") from None
    stages: List[List[str]] = [[]]
    for word in words:
        if word == "|":
            stages.append([])
        elif set(word) <= set(";&|<>`()"):
            raise Refused(f"{word!r} is not possible here", "One command, or several with |.",
                          code="forbidden")
        else:
            stages[-1].append(word)
    if not all(stages):
        raise Refused("there is no command", "Give one: ls -l")
    return [[stage[0], *_expanded(stage[1:])] for stage in stages]


def _expanded(words: List[str]) -> List[str]:
    found: List[str] = []
    for word in words:
        has_mark = any(mark in word for mark in "*?[") and not word.startswith("-")
        names = sorted(glob.glob(word, root_dir=_TOP)) if has_mark else []
        found.extend(names or [word])
    return found


def _check(stage: List[str]) -> None:
    name, words = stage[0], stage[1:]
    if name not in _ALLOWED:
        raise Refused(f"{name!r} is not among the commands that run_shell runs",
                      f"Those are: {' '.join(sorted(_ALLOWED))}. Others run in a cell.",
                      code="forbidden")
    if name == "git" and (not words or words[0] not in _GIT):
        raise Refused(f"git {words[0] if words else ''} is not possible here",
                      f"git {' | '.join(sorted(_GIT))}", code="forbidden")
    for word in words:
        for forbidden in _FORBIDDEN.get(name, ()):
            if word == forbidden or word.startswith(forbidden + "="):
                raise Refused(f"{name} {forbidden} is not possible here: it changes or runs "
                              "something", "Run it in a cell.", code="forbidden")


def run_shell(command: str, timeout: float = 30.0) -> Dict[str, Any]:
    """A command that only looks, or several with | between them."""
    stages = _stages(command)
    for stage in stages:
        _check(stage)
        if shutil.which(stage[0]) is None:
            raise Refused(f"there is no program {stage[0]} in this sandbox", code="unavailable")
    seconds = min(timeout, _SHELL_SECONDS)
    quoted = " | ".join(" ".join(map(shlex.quote, stage)) for stage in stages)
    done = run(["/bin/sh", "-c", quoted], seconds)
    if done.is_late:
        raise _late(seconds, "the command")
    return {"output": _cut(done.out), "stderr": _cut(done.err), "exit_code": done.code}


def git_status(path: str = ".") -> Dict[str, Any]:
    """The branch of a repository, and what was changed in it."""
    real = workspace.existing(path)
    if shutil.which("git") is None:
        raise Refused("there is no git in this sandbox", "Install git where the daemon runs.",
                      code="unavailable")
    done = run(["git", "-c", f"safe.directory={real}", "-C", real, "status", "--porcelain=v2",
                "--branch", "-z"], 30.0)
    if done.is_late or done.code != 0:
        raise Refused(f"git: {done.err.strip() or 'it took too long'}", "Is it a repository?")
    told: Dict[str, Any] = {"branch": None, "ahead": 0, "behind": 0, "files": []}
    entries = iter(done.out.split("\0"))
    for entry in entries:
        _take_status(entry, entries, told)
    return {**told, "clean": not told["files"]}


def _take_status(entry: str, entries: Any, told: Dict[str, Any]) -> None:
    if entry.startswith("# branch.head "):
        told["branch"] = entry[14:]
    elif entry.startswith("# branch.ab "):
        ahead, behind = entry[12:].split()
        told["ahead"], told["behind"] = int(ahead), -int(behind)
    elif entry.startswith("1 "):
        told["files"].append({"status": entry[2:4], "path": entry.split(" ", 8)[8]})
    elif entry.startswith("2 "):
        renamed = {"status": entry[2:4], "path": entry.split(" ", 9)[9], "from": next(entries)}
        told["files"].append(renamed)
    elif entry.startswith("u "):
        told["files"].append({"status": entry[2:4], "path": entry.split(" ", 10)[10]})
    elif entry.startswith("? "):
        told["files"].append({"status": "??", "path": entry[2:]})


# ---- lint_python ---------------------------------------------------------------------------------


class _Lint(ast.NodeVisitor):
    """What is most likely a mistake."""

    def __init__(self) -> None:
        self.found: List[Dict[str, Any]] = []
        self.imported: Dict[str, ast.AST] = {}
        self.bound: Dict[str, int] = {}
        self.read: Dict[str, ast.AST] = {}

    def tell(self, node: Any, code: str, message: str) -> None:
        self.found.append({"line": getattr(node, "lineno", 1),
                           "column": getattr(node, "col_offset", 0) + 1,
                           "code": code, "message": message})

    def visit_Import(self, node: ast.Import) -> None:
        for name in node.names:
            self.imported[(name.asname or name.name).split(".")[0]] = node

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        for name in node.names:
            if name.name == "*":
                self.tell(node, "star-import", "import * hides where names come from")
            elif node.module != "__future__":
                self.imported[name.asname or name.name] = node

    def visit_Name(self, node: ast.Name) -> None:
        if isinstance(node.ctx, ast.Load):
            self.read.setdefault(node.id, node)
        else:
            self.bound[node.id] = node.lineno

    def visit_FunctionDef(self, node: Any) -> None:
        self.bound[node.name] = node.lineno
        for usual in [*node.args.defaults, *node.args.kw_defaults]:
            if isinstance(usual, (ast.List, ast.Dict, ast.Set)):
                self.tell(usual, "mutable-default", "a default that is shared by all calls")
        self.generic_visit(node)

    visit_AsyncFunctionDef = visit_FunctionDef

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        self.bound[node.name] = node.lineno
        self.generic_visit(node)

    def visit_arg(self, node: ast.arg) -> None:
        self.bound[node.arg] = node.lineno
        self.generic_visit(node)

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> None:
        if node.type is None:
            self.tell(node, "bare-except", "except: also catches an interrupt; name what is meant")
        if node.name:
            self.bound[node.name] = node.lineno
        self.generic_visit(node)

    def visit_Global(self, node: Any) -> None:
        self.bound.update(dict.fromkeys(node.names, node.lineno))

    visit_Nonlocal = visit_Global

    def visit_Compare(self, node: ast.Compare) -> None:
        for kind, side in zip(node.ops, node.comparators):
            is_none = isinstance(side, ast.Constant) and side.value is None
            if is_none and isinstance(kind, (ast.Eq, ast.NotEq)):
                self.tell(node, "none-comparison", "compare with None by `is`")
        self.generic_visit(node)

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        if not any(isinstance(part, ast.FormattedValue) for part in node.values):
            self.tell(node, "empty-f-string", "an f-string without a {value}")
        for part in node.values:  # not their format, which is an f-string of its own
            if isinstance(part, ast.FormattedValue):
                self.visit(part.value)

    def visit_Assert(self, node: ast.Assert) -> None:
        if isinstance(node.test, ast.Tuple) and node.test.elts:
            self.tell(node, "assert-tuple", "an assertion about a tuple is always true")
        self.generic_visit(node)

    def visit_Dict(self, node: ast.Dict) -> None:
        keys = [ast.dump(key) for key in node.keys if isinstance(key, ast.Constant)]
        if len(set(keys)) < len(keys):
            self.tell(node, "repeated-key", "a key of the dictionary is there twice")
        self.generic_visit(node)

    def finish(self, tree: ast.Module) -> None:
        exported = [
            element.value
            for node in ast.walk(tree)
            if isinstance(node, ast.Assign) and isinstance(node.value, (ast.List, ast.Tuple))
            and any(isinstance(to, ast.Name) and to.id == "__all__" for to in node.targets)
            for element in node.value.elts
            if isinstance(element, ast.Constant)
        ]
        for name, where in self.imported.items():
            if name not in self.read and name not in exported:
                self.tell(where, "unused-import", f"{name} is imported and not used")
        has_star = any(one["code"] == "star-import" for one in self.found)
        for name, use in self.read.items():
            is_known = name in self.bound or name in self.imported or hasattr(builtins, name)
            if not is_known and not has_star and not name.startswith("__"):
                self.tell(use, "undefined-name", f"{name} is not defined")


def lint_python(code: Optional[str] = None, path: Optional[str] = None) -> Dict[str, Any]:
    """Likely mistakes in code, which is not run."""
    if (code is None) == (path is None):
        raise Refused("give code or path: one of them")
    source = workspace.load(path) if path is not None else str(code)
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError) as error:
        found = {"line": getattr(error, "lineno", 1) or 1,
                 "column": getattr(error, "offset", 1) or 1,
                 "code": "syntax-error", "message": getattr(error, "msg", str(error))}
        return {"count": 1, "problems": [found]}
    lint = _Lint()
    lint.visit(tree)
    lint.finish(tree)
    lint.found.sort(key=lambda one: (one["line"], one["column"]))
    return {"count": len(lint.found), "problems": lint.found[:500]}
