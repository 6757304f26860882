"""What the cells of a notebook show, here and in Jupyter: every output with all its forms, compared
one by one. What differs between two runs of Jupyter's own is nobody's fault."""

import collections
import difflib
import re

VERDICTS = EQUAL, UNSTEADY, MEANT, DIFFERENT = "as jupyter's", "unsteady", "meant", "other"
MAX_LINES = 12
MAX_COLUMNS = 160

# Names of cells, and what no two processes have in common.
RULES = [
    (re.compile(r"\x1b\[[0-9;]*m"), ""),
    (re.compile(r"0x[0-9a-f]{6,}"), "0x"),
    (re.compile(r"(/tmp/ipykernel_\d+/\d+\.py|<ipython-input-[^>]+>|<cell \d+>)"), "<cell>"),
    (re.compile(r"\(\d+\.py, line"), "(<cell>, line"),
    (re.compile(r"/tmp/jupyter-\w+/workspace"), "/workspace"),
    (re.compile(r"-3\] Temporary failure in name resolution|-2\] Name or service not known"),
     "no such host"),
    (re.compile(r'id="sk-[\w-]+"|for="sk-[\w-]+"|#sk-container-id-\d+|id="T_\w+|#T_\w+'), "id"),
]
TIMES = [
    (re.compile(r"\b(Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d+ \w{3} \d{4}"), "DATE"),
    (re.compile(r"\b\d\d:\d\d:\d\d(\.\d+)?"), "TIME"),
    (re.compile(r"[\d.]+ \S+ ± .* loops? each\)"), "TIME"),
    (re.compile(r"\b[\d.]+ ?(s|ms|us|µs|ns|sec|seconds)\b"), "TIME"),
]


def joined(value):
    return "".join(value) if isinstance(value, list) else value


def items(cell):
    """{name: forms} of a cell's outputs, in their order. A stream is one, wherever it was written
    to; forms are texts by MIME type, of images only that there is one."""
    found, counts = {}, collections.Counter()
    for output in cell.get("outputs", []):
        kind = output["output_type"]
        if kind == "stream":
            forms = found.setdefault(output["name"], {"text": ""})
            forms["text"] += joined(output["text"])
            continue
        counts[kind] += 1
        if kind == "error":
            found[kind] = {"ename": output["ename"], "evalue": output["evalue"]}
            continue
        found[f"{kind} {counts[kind]}"] = {
            mime: "" if is_binary(mime) else str(joined(value))
            for mime, value in output["data"].items()
        }
    return found


def is_binary(mime):
    return mime.startswith("image/") and mime != "image/svg+xml"


def order(cell):
    """Displays and streams as they came; stderr has a way of its own to Jupyter's clients."""
    kinds = [o.get("name", o["output_type"]) for o in cell.get("outputs", [])]
    kinds = [kind for kind in kinds if kind != "stderr"]
    return [kind for i, kind in enumerate(kinds) if i == 0 or kinds[i - 1] != kind]


def settled(text, rules):
    text = "\n".join(line.rstrip() for line in text.strip("\n").split("\n"))
    for pattern, replacement in rules:
        text = pattern.sub(replacement, text)
    return text


def is_same(one, other):
    if one is None or other is None or one.keys() != other.keys():
        return one == other
    return all(settled(one[k], RULES + TIMES) == settled(other[k], RULES + TIMES) for k in one)


def difference(theirs, ours):
    """What differs, in a few lines: - is Jupyter's, + is Cella's."""
    if theirs is None or ours is None:
        found = [f"+ {shorten(v)}" for v in (ours or {}).values()]
        return [f"- {shorten(v)}" for v in (theirs or {}).values()] + found
    lines = [f"- has {mime}" for mime in theirs.keys() - ours.keys()]
    lines += [f"+ has {mime}" for mime in ours.keys() - theirs.keys()]
    for mime in theirs.keys() & ours.keys():
        old = settled(theirs[mime], RULES + TIMES).split("\n")
        new = settled(ours[mime], RULES + TIMES).split("\n")
        changed = [line[:MAX_COLUMNS] for line in difflib.ndiff(old[:400], new[:400])
                   if line[0] in "-+"] if old != new else []
        lines += changed[:MAX_LINES]
    return lines


def shorten(text):
    text = settled(text, RULES).replace("\n", "\\n")
    return text if len(text) <= MAX_COLUMNS else text[:MAX_COLUMNS] + "…"


def find_meaning(name, theirs, ours):
    """What Cella does otherwise on purpose; None if it is not that."""
    theirs, ours = theirs or {}, ours or {}
    if ours.get("ename") == "TimeLimit" and theirs.get("ename") == "KeyboardInterrupt":
        return "a time limit has an error of its own"
    if ours.get("ename") == "OutOfMemory":
        return "a session has less memory"
    if theirs.get("ename") == "StdinNotImplementedError":
        return "input is at its end"
    if ours.get("text", "").startswith("Signature:") and not theirs:
        return "help is text, and not for a pager"
    usage = "UsageError"
    if ours.get("ename") == usage or theirs.get("text", "").startswith(usage):
        return "a magic that fails is an error of its cell"
    if theirs.get("text/plain", "").startswith("<Figure") and not ours:
        return "a figure that is the value is not shown once more"
    if "zmq" in theirs.get("text/plain", "") or "'kernel'" in ours.get("evalue", ""):
        return "there is no kernel of IPython's"
    return None


def compare_cells(ours, theirs, again):
    """[(name, verdict, difference)]; `again` is what Jupyter made of it in another run."""
    mine, wanted, second = items(ours), items(theirs), items(again)
    # Its time was over: how far it came says nothing.
    is_cut = any(run.get("error", {}).get("ename") == "KeyboardInterrupt"
                 for run in (wanted, second))
    for name in dict.fromkeys([*wanted, *mine]):
        if is_same(mine.get(name), wanted.get(name)):
            yield name, EQUAL, []
            continue
        meaning = find_meaning(name, wanted.get(name), mine.get(name))
        if meaning is not None:
            yield name, MEANT, [meaning]
        elif is_cut or not is_same(wanted.get(name), second.get(name)):
            yield name, UNSTEADY, []
        else:
            yield name, DIFFERENT, difference(wanted.get(name), mine.get(name))
    old, new = order(theirs), order(ours)
    if old == order(again) != new and sorted(old) == sorted(new):
        if [k for k in old if k != "error"] == [k for k in new if k != "error"]:
            yield "order", MEANT, ["the error of a cell comes last"]
        else:
            yield "order", DIFFERENT, [f"- {old}", f"+ {new}"]


def compare(ours, theirs, again):
    """The same for a notebook: [(number of the code cell, name, verdict, difference)]."""
    of = [[c for c in notebook["cells"] if c["cell_type"] == "code"]
          for notebook in (ours, theirs, again)]
    for number, cells in enumerate(zip(*of)):
        for name, verdict, lines in compare_cells(*cells):
            yield number, name, verdict, lines
