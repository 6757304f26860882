#!/usr/bin/python3
"""Writes docs/SANDBOX.md from what differences.py knows; with --check it says if it is there."""

import pathlib
import sys

from differences import ALIKE, CLOSED

PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs/SANDBOX.md"

HEAD = """\
# What differs from a plain Linux

```sh
cella exec -r bash 'id; pwd; df -h /tmp; cat /etc/hostname'   # look around
```

A session is meant to be a place where programs simply work. `tests/habitat/` runs some 380 everyday
commands and calls (shell, system programs, build tools, Python, Node.js, data libraries, servers)
outside as an ordinary user and in a session, for a daemon of root and for one of an ordinary user:
status and output are the same, but for what is listed here. [SECURITY.md](SECURITY.md) tells why
the walls are where they are.

This page is written by `python3 tests/habitat/sandbox_page.py` from `tests/habitat/differences.py`.

"""

FIGURES = """
## Suites of libraries

Their own tests, outside as an ordinary user and in a cell of a session of root's daemon, on a busy
machine with two cores (`python3 tests/habitat/suites.py`), once each. "Differ" are those that pass
outside and not inside, twice. Of anyio's 209 fail outside, too: 140 of them pass inside.

| library | version | tests | pass outside | pass inside | differ | why |
|---|---|--:|--:|--:|--:|---|
| psutil | 7.2.2 | 597 | 424 | 393 | 30 | disks 11, limits 10, counters 5, process 1 3, `ionice` 1 |
| tornado | 6.6.1 | 1626 | 1459 | 1464 | 0 | |
| pexpect | 4.9.0 | 257 | 256 | 253 | 1 | set-user-id bits |
| anyio, a part | 4.16.0 | 1621 | 1314 | 1314 | 140 | `AI_ADDRCONFIG` 123, others 17 |
| networkx, a part | 3.6.1 | 2503 | 2499 | 2499 | 0 | |
| click | 8.5.1 | 2459 | 2434 | 2434 | 0 | |
| attrs | 26.1.0 | 1386 | 1376 | 1376 | 0 | |
| dask, gRPC, Flask, FastAPI: ours | | 19 | 19 | 18 | 1 | watching for reads |

With a daemon of an ordinary user attrs and click are the same.
"""


def page():
    shown = [one for one in (*ALIKE.values(), *CLOSED.values()) if one.title]
    return HEAD + "\n".join(f"- **{one.title}.** {one.text}" for one in shown) + "\n" + FIGURES


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
