#!/usr/bin/python3
"""compare.py PROGRAM NODE MODULES [N [SEED]]: our TOON beside the reference implementation.

N values are made, the same for each seed. Both encode each: the bytes must be the same. Both decode
what was encoded: that must be the value. Then texts that were damaged are decoded by both: both
refuse, or both read the same. PROGRAM is toon_lines of the build, MODULES the folder in which npm
has put @toon-format/toon. Prints what was compared, and what differed."""

import json
import math
import random
import string
import struct
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
N_DAMAGED = 2  # texts of each value
# What we refuse and the reference does not: jansson's names hold no NUL, and the reference
# overlooks an empty name of a field that comes twice.
OURS_ALONE = ["a NUL in a name", 'the name "" comes twice']
SHOWN = 10

AWKWARD = [
    "", " ", "  x", "x ", "\t", "a\tb", "a\nb", "a\r\nb", "\0", "\x1f\x7f", "true", "false", "null",
    "True", "NULL", "nullable", "0", "-0", "05", "-05", "+5", "1.5", "1.", ".5", "1e5", "1E+5",
    "1e", "--1", "-", "- x", "-x", "#", "# x", "a#b", ":", "a:b", "a: b", ",", "a,b", "|", "a|b",
    "[]", "[1]", "{}", "a{b}", "[2]: 1,2", "\"", "\"quoted\"", "\\", "\\n", "C:\\dir", "'", "`",
    "ä", "日本語", "😀", "e\u0301", "\u00a0", "\u00a0x", "\u2028", "\ufeff", "\ufeffx", "\u200b",
    "NaN", "Infinity", "1_000", "0x10", "2025-01-01", "12:30", "a b c", "x" * 300, "१२",
]
NAMES = ["id", "name", "value", "type", "size", "a", "b", "x.y", "_", "A1", "user name", "1", "0",
         "10", "01", "-1", "", "ä", "a:b", "a,b", "[0]", "{", "\"", "\\", "\n", "#", "true", "null",
         "__proto__", "constructor", "length", "a-b", "é.è", "$", "😀"]
DAMAGE = list("\",:[]{}-# \n\t|\\01a.") + ["  ", "- ", "[2]:", "\n\n", ": ", "\\u0041", "\r\n"]


def number(rng):
    kind = rng.randrange(9)
    if kind == 0:
        return rng.randrange(-10, 100)
    if kind == 1:
        return rng.randrange(-2**53, 2**53)
    if kind == 2:
        return round(rng.uniform(-1000, 1000), rng.randrange(6))
    if kind == 3:
        return rng.choice([0.0, -0.0, 1e6, 1e20, 1e21, 1.5e21, 1e-6, 1e-7, 5e-324, 1e300, 123e-9,
                           1.7976931348623157e308, 2.2250738585072014e-308, 0.1 + 0.2, 1 / 3])
    if kind == 4:
        return rng.choice([-1, 1]) * 2.0 ** rng.randrange(-1074, 1024)
    if kind == 5:
        return rng.choice([-1, 1]) * 10.0 ** rng.randrange(-30, 30) * rng.randrange(1, 1000)
    if kind == 6:
        return rng.randrange(10**15, 10**19) / 10 ** rng.randrange(25)
    while True:
        value = struct.unpack("d", rng.randbytes(8))[0]
        if math.isfinite(value):
            return value


def text(rng):
    kind = rng.randrange(4)
    if kind == 0:
        return rng.choice(AWKWARD)
    if kind == 1:
        return "".join(rng.choices(string.ascii_letters + " ", k=rng.randrange(1, 20)))
    if kind == 2:
        return "".join(rng.choices(string.printable + "äß€😀\0\x1b", k=rng.randrange(12)))
    return rng.choice(AWKWARD) + rng.choice(AWKWARD)


def scalar(rng):
    kind = rng.randrange(6)
    if kind < 2:
        return number(rng)
    return text(rng) if kind < 5 else rng.choice([True, False, None])


def name(rng):
    return rng.choice(NAMES) if rng.random() < 0.7 else text(rng).replace("\0", "")


def ordered(pairs):
    """As JavaScript keeps names: those that are array indices come first, by number."""
    def place(key):
        is_index = key.isascii() and key.isdigit() and str(int(key)) == key and int(key) < 2**32 - 1
        return (0, int(key)) if is_index else (1, 0)
    pairs = dict(pairs)
    return {key: pairs[key] for key in sorted(pairs, key=place)}


def rows(rng, count, depth):
    """Objects with the same names, now and then with one that is not like the others."""
    names = list(dict.fromkeys(name(rng) for _ in range(rng.randrange(1, 5))))
    groups = {n: rows_schema(rng, depth) for n in names if rng.random() < 0.2}
    found = []
    for _ in range(count):
        row = [(n, grouped(rng, groups[n]) if n in groups else scalar(rng)) for n in names]
        if rng.random() < 0.3:
            rng.shuffle(row)
        found.append(ordered(row))
    if found and rng.random() < 0.15:
        odd = rng.choice(found)
        odd[rng.choice(list(odd))] = value(rng, depth + 1)
    return found


def rows_schema(rng, depth):
    names = list(dict.fromkeys(name(rng) for _ in range(rng.randrange(1, 4))))
    return {n: rows_schema(rng, depth + 1) if depth < 4 and rng.random() < 0.2 else None
            for n in names}


def grouped(rng, schema):
    return ordered((n, grouped(rng, inner) if inner else scalar(rng))
                   for n, inner in schema.items())


def value(rng, depth=0):
    kind = rng.randrange(10) if depth < 5 else 0
    count = rng.choice([0, 1, 1, 2, 2, 3, 4, 6])
    if kind < 2:
        return scalar(rng)
    if kind < 4:
        return [scalar(rng) for _ in range(count)]
    if kind == 4:
        return [value(rng, depth + 1) for _ in range(count)]
    if kind == 5:
        return rows(rng, count, depth + 1)
    if kind == 6:
        return ordered((name(rng), row) for row in rows(rng, count, depth + 1))
    return ordered((name(rng), value(rng, depth + 1)) for _ in range(count))


def damaged(rng, toon):
    for _ in range(rng.randrange(1, 4)):
        at, kind = rng.randrange(len(toon) + 1), rng.randrange(4)
        if kind == 0:
            toon = toon[:at] + rng.choice(DAMAGE) + toon[at:]
        elif kind == 1:
            toon = toon[:at] + toon[at + rng.randrange(1, 4):]
        else:
            lines = toon.split("\n")
            line = rng.randrange(len(lines))
            if kind == 2:
                lines.insert(rng.randrange(len(lines) + 1), lines[line])
            else:
                lines[line] = rng.choice(["  ", " ", "- ", "#", ""]) + lines[line].lstrip(" ")
            toon = "\n".join(lines)
    return toon


def same(a, b):
    """Numbers by what a double holds, names in whatever order, and true is not 1."""
    if isinstance(a, bool) or isinstance(b, bool) or a is None or b is None:
        return a is b
    if isinstance(a, (int, float)) and isinstance(b, (int, float)):
        return float(a) == float(b)
    if type(a) is not type(b):
        return False
    if isinstance(a, list):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(same(a[key], b[key]) for key in a)
    return a == b


def spelled(subject):
    """A value as reference.mjs takes it."""
    if isinstance(subject, list):
        return ["array", *map(spelled, subject)]
    if isinstance(subject, dict):
        return ["object", *([key, spelled(member)] for key, member in subject.items())]
    return subject


def ask(command, requests):
    lines = "".join(json.dumps(request) + "\n" for request in requests)
    done = subprocess.run(command, input=lines.encode(), capture_output=True, check=False)
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    if done.returncode != 0 or len(answers) != len(requests):
        raise RuntimeError(f"{command[0]} answered {len(answers)} of {len(requests)}: "
                           f"{done.stderr.decode()[-2000:]}")
    return answers


class Comparison:
    def __init__(self, program, node, modules):
        self.ours = [str(program)]
        self.reference = [str(node), str(HERE / "reference.mjs"), str(modules)]
        self.counts = {"values": 0, "damaged texts": 0, "damaged texts that are valid": 0,
                       "refused by us alone": 0}
        self.differences = []

    def ask_both(self, verb, subjects):
        requests = [[verb, subject] for subject in subjects]
        return ask(self.ours, requests), ask(self.reference, [[verb, spelled(subject)]
                                                              for subject in subjects])

    def encode(self, values):
        texts = []
        for subject, ours, other in zip(values, *self.ask_both("encode", values)):
            texts.append(other["result"])
            if ours != other:
                self.differences.append(("encode", subject, ours, other))
        return texts

    def decode(self, values, texts):
        """Without values the texts are damaged, and may be refused."""
        for index, (toon, ours, other) in enumerate(zip(texts, *self.ask_both("decode", texts))):
            if "result" in other and any(e in ours.get("error", "") for e in OURS_ALONE):
                self.counts["refused by us alone"] += 1
                continue
            is_same = ours.keys() == other.keys() and same(ours.get("result"), other.get("result"))
            if values is not None:
                is_same = "result" in ours and is_same and same(ours["result"], values[index])
            else:
                self.counts["damaged texts"] += 1
                self.counts["damaged texts that are valid"] += "result" in other
            if not is_same:
                self.differences.append(("decode", toon, ours, other))

    def run(self, n, seed):
        rng = random.Random(seed)
        values = [value(rng) for _ in range(n)]
        self.counts["values"] += n
        texts = self.encode(values)
        self.decode(values, texts)
        self.decode(None, [damaged(rng, toon) for toon in texts for _ in range(N_DAMAGED)])

    def report(self):
        told = ", ".join(f"{n} {what}" for what, n in self.counts.items())
        shown = [f"{verb} {json.dumps(subject)}\n  ours      {json.dumps(ours)}\n"
                 f"  reference {json.dumps(other)}"
                 for verb, subject, ours, other in self.differences[:SHOWN]]
        return "\n".join([f"{told}: {len(self.differences)} differences", *shown])


def main(args):
    if len(args) < 3:
        print(__doc__, file=sys.stderr)
        return 2
    comparison = Comparison(*args[:3])
    comparison.run(int(args[3]) if len(args) > 3 else 10000, int(args[4]) if len(args) > 4 else 1)
    print(comparison.report())
    return 1 if comparison.differences else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
