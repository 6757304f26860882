#!/usr/bin/python3
"""How well search finds what is meant, and what it costs:

- quality on a labelled set: each function of Python's standard library whose documentation begins
  with a sentence of five words or more is asked for by that sentence; the documentation is taken
  out of the files first. How often it is among the first five (recall@5), and the mean of one over
  its place (MRR, 0 beyond 20): by words, with the built-in embedder, with matrices of the encoder
  beside this file, which has no model and stands for one;
- the index of the library's folder as it is: seconds and bytes;
- MaxSim beside numpy.

    python3 tests/bench/search/search.py             prints the tables
    python3 tests/bench/search/search.py --update    ... and writes them into docs/SEARCH.md

It needs `make build` and numpy (packaging/deps.sh data); some ten minutes."""

import argparse
import ast
import ctypes
import itertools
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
SOURCE = HERE.parents[2]
sys.path[:0] = [str(SOURCE / "tests"), str(HERE)]

from harness.daemon import Daemon, find_binary  # noqa: E402
from harness.pages import write_between  # noqa: E402

LIBRARY = pathlib.Path(os.__file__).resolve().parent
LEFT_OUT = {"test", "tests", "idlelib", "site-packages", "dist-packages", "lib2to3", "__pycache__"}
FIRST, DEEPEST = 5, 20
NUMBERS = itertools.count()


def sources(most):
    found = sorted(path for path in LIBRARY.rglob("*.py")
                   if not LEFT_OUT & set(path.relative_to(LIBRARY).parts))
    random.Random(7).shuffle(found)
    return found[:most]


def first_sentence(doc):
    text = " ".join(doc.split("\n\n")[0].split())
    return text.split(". ")[0].rstrip(".")


def strip(source, tree):
    """The lines without documentation; what it said of each function: (name, line, sentence)."""
    lines, labels = source.split("\n"), []
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Module)
    inner = {id(deep) for node in ast.walk(tree) if isinstance(node, kinds[:2])
             for deep in ast.walk(node) if deep is not node}
    for node in ast.walk(tree):
        doc = ast.get_docstring(node, clean=True) if isinstance(node, kinds) else None
        if doc is None:
            continue
        place = node.body[0]
        for line in range(place.lineno, place.end_lineno + 1):
            lines[line - 1] = ""
        if len(node.body) == 1 and not isinstance(node, ast.Module):
            lines[place.lineno - 1] = " " * place.col_offset + "pass"
        sentence = first_sentence(doc)
        if isinstance(node, kinds[:2]) and id(node) not in inner and len(sentence.split()) >= 5:
            labels.append((node.name, node.lineno, sentence[:900]))
    return "\n".join(lines), labels


def make_set(folder, n_files, n_questions):
    labels = []
    for path in sources(n_files):
        name = str(path.relative_to(LIBRARY))
        try:
            source = path.read_text()
            text, told = strip(source, ast.parse(source))
        except (SyntaxError, UnicodeDecodeError):
            continue
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
        labels += [(name, *label) for label in told]
    random.Random(7).shuffle(labels)
    return labels[:n_questions]


def place_of(label, results):
    name, function, line, _ = label
    for place, result in enumerate(results, 1):
        first, last = map(int, result["lines"].split("-"))
        is_it = result["file"] == name and first <= line <= last
        if is_it and result["unit"].split(":")[-1].split(".")[-1] == function:
            return place
    return 0


def measure(client, labels, **more):
    places, notes = [], set()
    for label in labels:
        told = client.call("POST", "/v1/search", {
            "query": label[3], "corpus": "lib", "limit": DEEPEST, **more})
        places.append(place_of(label, told["results"]))
        notes.add(told.get("notes", ""))
    found = [place for place in places if place > 0]
    return (sum(place <= FIRST for place in found) / len(places),
            sum(1 / place for place in found) / len(places), notes)


def start(folder, corpus, encoder):
    config = (f"default_profile: min\nsearch:\n  corpora: [{{name: lib, path: {corpus}}}]\n"
                      + (f"  encoder: {{command: [/usr/bin/python3, {encoder}]}}\n" if encoder
                         else ""))
    return Daemon(find_binary(), folder / f"data{next(NUMBERS)}", config=config)


def index_bytes(daemon):
    place = pathlib.Path(daemon.data) / "search" / "corpora" / "lib"
    return sum(file.stat().st_size for file in place.iterdir())


def ask_until_ready(client):
    """Seconds until all vectors are there."""
    began = time.monotonic()
    while True:
        told = client.call("POST", "/v1/search", {"query": "anything at all", "corpus": "lib"})
        if "no vectors yet" not in told.get("notes", ""):
            return time.monotonic() - began, told.get("notes", "")


def quality(folder, n_files, n_questions):
    corpus = folder / "set"
    corpus.mkdir()
    labels = make_set(corpus, n_files, n_questions)
    rows = []
    encoder = folder / "encoder.py"
    shutil.copy(HERE / "encoder.py", encoder)
    for path in [folder, *folder.rglob("*")]:
        path.chmod(0o755 if path.is_dir() else 0o644)
    daemon = start(folder, corpus, None)
    try:
        rows.append(("words alone (BM25)", *measure(daemon.client, labels, words_only=True)))
        rows.append(("and the built-in embedder", *measure(daemon.client, labels)))
    finally:
        daemon.stop()
    daemon = start(folder, corpus, encoder)
    try:
        seconds, notes = ask_until_ready(daemon.client)
        if notes:
            raise SystemExit(f"the encoder: {notes}")
        rows.append(("and late interaction (the test's encoder)",
                     *measure(daemon.client, labels)))
    finally:
        daemon.stop()
    for name, _, _, notes in rows:
        if notes != {""}:
            raise SystemExit(f"{name}: {notes}")
    text = [f"{len(labels)} questions, {sum(1 for _ in corpus.rglob('*.py'))} files. The encoder "
            f"took {seconds:.0f} s for all of them.", "",
            "| ranked by | recall@5 | MRR |", "|---|---|---|"]
    return text + [f"| {name} | {recall:.3f} | {mrr:.3f} |" for name, recall, mrr, _ in rows]


def cost(folder):
    daemon = start(folder, LIBRARY, None)
    try:
        began = time.monotonic()
        question = {"query": "parse a header", "corpus": "lib"}
        told = daemon.client.call("POST", "/v1/search", question)
        first = time.monotonic() - began
        took = []
        for _ in range(10):
            began = time.monotonic()
            daemon.client.call("POST", "/v1/search", question)
            took.append(time.monotonic() - began)
        size = index_bytes(daemon)
    finally:
        daemon.stop()
    files = [path for path in LIBRARY.rglob("*.py") if path.is_file()]
    total = sum(path.stat().st_size for path in files)
    assert told["results"], told
    return [f"The folder of Python's library as it is ({len(files)} files of Python, "
            f"{total / 1e6:.1f} MB): the first question {first:.1f} s, the index "
            f"{size / 1e6:.1f} MB; each further one {sorted(took)[5] * 1000:.0f} ms, with a look "
            "at every file."]


def maxsim(folder):
    """The same matrices, by our library's code and by numpy, in turns; one thread each."""
    import numpy
    library = folder / "maxsim.so"
    subprocess.run(["gcc", "-O3", "-shared", "-fPIC", "-D_GNU_SOURCE", f"-I{SOURCE / 'src'}",
                    str(HERE / "maxsim_all.c"), str(SOURCE / "src/search/maxsim.c"), "-o",
                    str(library), "-lm"], check=True)
    ours = ctypes.CDLL(str(library)).maxsim_all
    texts, rows, asked, dims = 2000, 100, 32, 128
    chance = numpy.random.default_rng(1)
    question = chance.standard_normal((asked, dims)).astype(numpy.float32)
    matrices = chance.standard_normal((texts, rows, dims)).astype(numpy.float32)
    question /= numpy.linalg.norm(question, axis=1, keepdims=True)
    matrices /= numpy.linalg.norm(matrices, axis=2, keepdims=True)
    small_q = numpy.rint(question * 127).astype(numpy.int8)
    small = numpy.rint(matrices * 127).astype(numpy.int8)
    sums = numpy.zeros(texts, numpy.int64)
    flat = matrices.reshape(-1, dims)

    def one_by_one():
        return numpy.array([(question @ text.T).max(axis=1).sum() for text in matrices])

    def at_once():
        return (question @ flat.T).reshape(asked, texts, rows).max(axis=2).sum(axis=0)

    def cella():
        pointers = [array.ctypes.data_as(ctypes.c_void_p) for array in (small_q, small, sums)]
        ours(pointers[0], ctypes.c_size_t(asked), pointers[1], ctypes.c_size_t(texts),
             ctypes.c_size_t(rows), ctypes.c_size_t(dims), pointers[2])
        return sums

    took = {}
    for _ in range(15):
        for way in (cella, one_by_one, at_once):
            began = time.perf_counter()
            way()
            took.setdefault(way, []).append(time.perf_counter() - began)
    best = {way: min(times) * 1000 for way, times in took.items()}
    agreement = numpy.corrcoef(cella(), one_by_one())[0, 1]
    rival = min(best[one_by_one], best[at_once])
    return [f"MaxSim of a question of {asked} vectors with {texts} texts of {rows}, {dims} numbers "
            "each, one thread, the best of 15 turns:", "",
            "| | ms |", "|---|---|",
            f"| cella, 8 bits | {best[cella]:.1f} |",
            f"| numpy, float32, text by text | {best[one_by_one]:.1f} |",
            f"| numpy, float32, one product for all | {best[at_once]:.1f} |", "",
            f"{rival / best[cella]:.1f} times as fast as the faster of numpy's; the sums correlate "
            f"by {agreement:.4f}."]


def main():
    args = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    args.add_argument("--update", action="store_true")
    args.add_argument("--files", type=int, default=120)
    args.add_argument("--questions", type=int, default=200)
    given = args.parse_args()
    if os.environ.get("OPENBLAS_NUM_THREADS") != "1":
        os.execve(sys.executable, [sys.executable, *sys.argv],
                  {**os.environ, "OPENBLAS_NUM_THREADS": "1"})
    folder = pathlib.Path(tempfile.mkdtemp(prefix="cella-search-"))
    folder.chmod(0o755)
    try:
        lines = [*quality(folder, given.files, given.questions), "", *cost(folder), "",
                 *maxsim(folder)]
    finally:
        shutil.rmtree(folder)
    print("\n".join(lines))
    if given.update:
        write_between("docs/SEARCH.md", "tests/bench/search/search.py", "\n".join(lines))


if __name__ == "__main__":
    main()
