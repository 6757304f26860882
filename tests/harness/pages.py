"""What the pages of the documentation show, block by block."""

import json
import re

from .daemon import SOURCE

BLOCK = re.compile(r"^```([a-z]*)\n(.*?)^```$", re.M | re.S)


def blocks(page, *kinds):
    """The texts of a page's blocks of these kinds."""
    return [text for kind, text in all_blocks(page) if kind in kinds]


def all_blocks(page):
    """[(kind, text)] of a page, in order; the kind is what stands behind the fence, and "answer" of
    JSON that follows commands at once: what the last of them writes."""
    found, end_of_commands = [], -1
    for block in BLOCK.finditer((SOURCE / page).read_text()):
        is_answer = block[1] == "json" and block.start() == end_of_commands + len("\n\n")
        found.append(("answer" if is_answer else block[1], block[2]))
        end_of_commands = block.end() if block[1] == "sh" else -1
    return found


def differs(told, expected):
    """Whether an answer is not the one that the page shows."""
    if expected == "…":
        return isinstance(told, (dict, list))
    if isinstance(expected, list) and isinstance(told, list):
        return len(told) != len(expected) or any(map(differs, told, expected))
    if isinstance(expected, dict) and isinstance(told, dict):
        return told.keys() != expected.keys() or any(differs(told[k], expected[k]) for k in told)
    return told != expected


def last_object(text):
    """The JSON object on the last line that a command wrote."""
    return json.loads(text.strip().splitlines()[-1])


def write_between(page, program, text):
    """What stands between the marks of a program on a page becomes the text."""
    begin, end = f"<!-- {program} --update -->\n", f"<!-- end of {program} -->\n"
    before, rest = (SOURCE / page).read_text().split(begin)
    after = rest.split(end)[1]
    (SOURCE / page).write_text(f"{before}{begin}\n{text}\n{end}{after}")
