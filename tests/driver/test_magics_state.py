"""What cells with magics leave is saved as what other cells leave."""

from __future__ import annotations

import pathlib
from typing import Iterator, Tuple

import pytest
from peer import Peer
from states import load, lost, save, stream_from


@pytest.fixture
def peers(python: str, image: pathlib.Path) -> Iterator[Tuple[Peer, Peer]]:
    driver = image / "python"
    both = Peer.start(python, driver=driver), Peer.start(python, driver=driver)
    yield both
    for peer in both:
        peer.close()


def test_what_magics_leave_is_saved(peers: Tuple[Peer, Peer], tmp_path: pathlib.Path) -> None:
    session, other = peers
    session.run("%%time\nimport json as j\ndef timed(n):\n    return n + 1")
    session.run("!true\nimport math\ndef listing(word):\n    x = !echo {word}\n    return x")
    session.run("lines = !echo a b\nip = get_ipython()\nr = %timeit -q -o -n 1 -r 1 1")
    session.run("%%capture got\nprint(5)")
    script = tmp_path / "s.py"
    script.write_text("base = 5\ndef based(n):\n    return n + base\n")
    session.run(f"%run {script}")
    records = save(session)
    assert lost(records) == {}
    load(other, stream_from(records))
    assert other.value("timed(1), j.dumps(1), math.floor(2.5)") == "(2, '1', 2)"
    assert other.value("listing('w'), lines.s, lines.fields(1)") == "(['w'], 'a b', ['b'])"
    assert other.value("ip is get_ipython(), r.loops, got.stdout") == "(True, 1, '5\\n')"
    assert other.value("based(1), base") == "(6, 5)"


@pytest.mark.parametrize(
    "code",
    [
        "%%bash\nimport os\ndef f(): pass", "!import x\n%%time", "import os\n!echo\n%%time\n",
        "%%time\n" * 100 + "import os", "import (\n!x", "%%capture\nimport os\n!ls\nclass A: pass",
    ],
)  # fmt: skip
def test_looking_for_declarations_does_no_harm(peers: Tuple[Peer, Peer], code: str) -> None:
    session = peers[0]
    session.run(code)
    session.run("x = 1")
    assert lost(save(session)) == {}
    assert session.value("x") == "1"
