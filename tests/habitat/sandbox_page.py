#!/usr/bin/python3
"""Writes docs/SANDBOX.md from what differences.py knows; with --check it says if it is there."""

import pathlib
import sys

from differences import ALIKE, CLOSED

PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs/SANDBOX.md"

HEAD = """\
# What differs from a plain Linux

A session is meant to be a place where programs simply work. `tests/habitat/` runs some 380 everyday
commands and calls (shell, system programs, build tools, Python, Node.js, data libraries, servers)
outside as an ordinary user and in a session, for a daemon of root and for one of an ordinary user:
status and output are the same, but for what is listed here. [SECURITY.md](SECURITY.md) tells why
the walls are where they are.

This page is written by `python3 tests/habitat/sandbox_page.py` from `tests/habitat/differences.py`.

"""


def page():
    shown = [one for one in (*ALIKE.values(), *CLOSED.values()) if one.title]
    return HEAD + "\n".join(f"- **{one.title}.** {one.text}" for one in shown) + "\n"


def main(args):
    if args == ["--check"]:
        is_there = PAGE.exists() and PAGE.read_text() == page()
        if not is_there:
            print("docs/SANDBOX.md is not what tests/habitat/sandbox_page.py writes: run it")
        return 0 if is_there else 1
    PAGE.write_text(page())
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
