#!/usr/bin/python3
"""The shape of the sources, to be compared before and after a change.

    python3 tests/shape.py [TREE]          rooms: lines, files, functions, knots, struct tags
    python3 tests/shape.py --paths [TREE]  also builds TREE so that the daemon can be traced, and
                                           counts the functions on the way of some requests

TREE is the top of a checkout; this one if it is not given. A knot is a strongly connected component
of the .c files of a room, where a file points to another if it names an external function or
variable that the other defines."""

import ast
import os
import pathlib
import re
import signal
import struct
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
SUFFIXES = {".c", ".h", ".py", ".js", ".bash"}
APART = {"python", "node", "bash"}  # folders of drivers
PLAIN_ROOMS = {"base", "wire", "loop"}  # not counted on the way of a request
ROUNDS = 3  # of each request; that with the fewest functions counts
CONTROL = {"if", "for", "while", "switch", "catch", "with"}


def without_comments(text):
    return re.sub(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"', " ", text, flags=re.S)


def room_of(path, src):
    parts = path.relative_to(src).parts
    is_driver = len(parts) > 2 and parts[0] == "drivers" and parts[1] in APART
    return "/".join(parts[:2]) if is_driver else parts[0]


def count_functions(path, text):
    if path.suffix == ".py":
        kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
        return sum(isinstance(node, kinds) for node in ast.walk(ast.parse(text)))
    if path.suffix == ".js":
        heads = re.findall(r"^\s*(?:async |static |get |set )*(?:function\*? )?#?(\w+)\(.*\) \{$",
                           text, re.M)
        return sum(head not in CONTROL for head in heads)
    if path.suffix == ".bash":
        return len(re.findall(r"^\w+\(\) \{$", text, re.M))
    return len(re.findall(r"\)\n\{$", text, re.M))  # as clang-format writes them


def defined_names(code):
    """The external functions and variables of a .c file. Only they begin in the first column
    without `static`, `extern` or `typedef`."""
    functions = re.findall(r"^(?!(?:\w+ )?static|extern|typedef)\w[\w \*]*?\b(\w+)"
                           r"\([^;{}]*\)\s*\n\{$", code, re.M)
    variables = re.findall(r"^(?!static|extern|typedef)\w[\w \*]*?\b(\w+)(?:\[[^\]\n]*\])* = ",
                           code, re.M)
    return set(functions) | set(variables)


def largest_knot(files):
    """`files`: {path: code} of one room. The paths of the largest component (Tarjan)."""
    owners = {name: path for path, code in files.items() for name in defined_names(code)}
    words = re.compile(r"(?<![\w.>])[a-z_]\w*")  # no members
    edges = {path: {owners[word] for word in words.findall(code) if word in owners}
             for path, code in files.items()}
    numbers, low, stack, largest = {}, {}, [], []

    def visit(path):
        nonlocal largest
        numbers[path] = low[path] = len(numbers)
        stack.append(path)
        for target in edges[path]:
            if target not in numbers:
                visit(target)
            if target in stack:
                low[path] = min(low[path], low[target])
        if low[path] == numbers[path]:
            cut = stack.index(path)
            largest = max(largest, stack[cut:], key=len)
            del stack[cut:]

    for path in edges:
        if path not in numbers:
            visit(path)
    return largest


def double_tags(files):
    """Struct tags that several files define: {tag: [paths]}."""
    places = {}
    for path, code in files.items():
        for tag in set(re.findall(r"\b(?:struct|union)\s+(\w+)\s*\{", code)):
            places.setdefault(tag, []).append(path)
    return {tag: paths for tag, paths in sorted(places.items()) if len(paths) > 1}


def show_rooms(top):
    src = top / "src"
    rooms, codes = {}, {}
    for path in sorted(src.rglob("*")):
        if path.suffix in SUFFIXES and path.is_file():
            rooms.setdefault(room_of(path, src), {})[path] = path.read_text()
    print(f"{'room':16}{'files':>6}{'lines':>8}{'functions':>11}{'per 1000':>10}{'knot':>6}")
    sums, c_sums = [0, 0, 0], [0, 0, 0]
    for room, texts in rooms.items():
        code = {path: without_comments(text) for path, text in texts.items()
                if path.suffix in (".c", ".h")}
        codes.update(code)
        knot = largest_knot({path: text for path, text in code.items() if path.suffix == ".c"})
        row = [len(texts), sum(text.count("\n") for text in texts.values()),
               sum(count_functions(path, text) for path, text in texts.items())]
        c_row = [len(code), sum(texts[path].count("\n") for path in code),
                 sum(count_functions(path, texts[path]) for path in code)]
        sums = [a + b for a, b in zip(sums, row)]
        c_sums = [a + b for a, b in zip(c_sums, c_row)]
        show_row(room, row, f"{len(knot) or '':>6}")
    show_row("all", sums)
    show_row("of it C", c_sums)
    for folder in ("bench", "tests"):
        texts = [path.read_text() for path in (top / folder).rglob("*") if path.suffix in SUFFIXES]
        if texts:
            print(f"{folder:16}{len(texts):6}{sum(text.count(chr(10)) for text in texts):8}")
    tags = double_tags(codes)
    print(f"\nstruct tags that are defined more than once: {len(tags)}")
    for tag, paths in tags.items():
        print(f"  {tag}: {' '.join(str(path.relative_to(src)) for path in paths)}")


def show_row(name, row, end=""):
    files, lines, functions = row
    print(f"{name:16}{files:6}{lines:8}{functions:11}{1000 * functions / lines:10.1f}{end}")


# --- the way of a request -------------------------------------------------------------------------


def build_traced(top):
    """The daemon with a call at the beginning of every function, and what that call does."""
    folder = top / "build-test/traced"
    # What runs inside of a jail has nothing to call.
    left_out = "jail/inside/init_main,drivers/bash,drivers/node"
    if not (folder / "build.ninja").exists():
        subprocess.run(["meson", "setup", str(folder), str(top), "-Doptimization=0",
                        # addr2line finds the headers of inline functions in this form only.
                        "-Dc_args=-gdwarf-4 -finstrument-functions "
                        f"-finstrument-functions-exclude-file-list={left_out}"],
                       check=True, stdout=subprocess.DEVNULL)
    subprocess.run(["ninja", "-C", str(folder), "cella"], check=True, stdout=subprocess.DEVNULL)
    library = folder / "shape_trace.so"
    subprocess.run(["cc", "-D_GNU_SOURCE", "-O1", "-shared", "-fPIC", "-o", str(library),
                    str(HERE / "shape_trace.c")], check=True)
    return folder / "cella", library


def trace(daemon, work):
    """Has the daemon note what it enters while `work` is done."""
    mark = signal.SIGRTMIN + 1
    os.kill(daemon.pid, mark)
    time.sleep(0.05)  # no event tells that the signal was handled
    work()
    os.kill(daemon.pid, mark)
    time.sleep(0.3)


def requests(client):
    """(name, work) of what is traced, each after what has to be there for it."""
    def settle():
        time.sleep(2)  # checkpoints and what is saved are not on the way of the next request

    session = client.spawn("min")
    for _ in range(5):
        session.exec("1+1")
    settle()
    yield "exec 1+1", lambda: session.exec("1+1")
    settle()
    yield "undo", lambda: client.call("POST", f"/v1/sessions/{session.id}/undo", {})
    settle()
    book = client.spawn("min")
    for number in range(7):
        book.exec(f"{number} + 1")
    settle()
    yield "notebook run, 7 cells", lambda: client.call(
        "POST", f"/v1/notebooks/{book.id}/run", {})


def read_sets(path):
    """The sets of addresses that the daemon wrote, a zero behind each."""
    sets = [[]]
    for (address,) in struct.iter_unpack("=Q", path.read_bytes()):
        if address:
            sets[-1].append(address)
        else:
            sets.append([])
    return sets[:-1]


def resolve(binary, addresses):
    """{(function, file)} of addresses; files as they stand below src/."""
    text = "\n".join(f"{address:#x}" for address in addresses)
    done = subprocess.run(["addr2line", "-f", "-e", str(binary)], input=text, text=True,
                          capture_output=True, check=True)
    lines = done.stdout.splitlines()
    found = set()
    for function, place in zip(lines[::2], lines[1::2]):
        inside = re.search(r"/src/([^:]+):", place)
        if inside:
            found.add((function, os.path.normpath(inside[1])))
    return found


def show_paths(top):
    binary, library = build_traced(top)
    os.environ["CELLA"] = str(binary)
    sys.path.insert(0, str(HERE))
    from harness.daemon import Daemon
    with tempfile.TemporaryDirectory() as scratch:
        out = pathlib.Path(scratch, "trace")
        env = {"LD_PRELOAD": str(library), "CELLA_SHAPE_TRACE": str(out)}
        daemon = Daemon(binary, pathlib.Path(scratch, "data"), None, "default_profile: min\n",
                        env=env)
        names = []
        for _ in range(ROUNDS):
            for name, work in requests(daemon.client):
                names.append(name)
                trace(daemon, work)
        daemon.stop()
        sets = [resolve(binary, addresses) for addresses in read_sets(out)]
    print("\nfunctions and files of the daemon's loop until the answer is there, without base, "
          "wire and loop;\nin brackets with them")
    for name in dict.fromkeys(names):
        found = min((s for n, s in zip(names, sets, strict=True) if n == name), key=len)
        own = {(function, file) for function, file in found
               if file.split("/")[0] not in PLAIN_ROOMS}
        print(f"{name:24}{len(own):4} / {len({file for _, file in own}):2}"
              f"   ({len(found)} / {len({file for _, file in found})})")


def main():
    args = sys.argv[1:]
    has_paths = "--paths" in args
    tops = [arg for arg in args if not arg.startswith("-")]
    top = pathlib.Path(tops[0] if tops else HERE.parent).resolve()
    show_rooms(top)
    if has_paths:
        show_paths(top)


if __name__ == "__main__":
    main()
