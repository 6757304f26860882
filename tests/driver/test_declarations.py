"""What a session tells of its imports and definitions, and of what could not be saved."""

from __future__ import annotations

from typing import Any, Dict

from peer import Peer


def declarations(peer: Peer) -> Dict[str, Any]:
    answer = peer.ask({"op": "declarations"})
    assert answer.pop("ev") == "declarations"
    return answer


def test_nothing_was_declared(fresh: Peer) -> None:
    fresh.run("x = 1")
    assert declarations(fresh) == {"imports": [], "definitions": [], "lost": []}


def test_imports_are_told_one_for_each_name(fresh: Peer) -> None:
    fresh.run("import os.path, sys as system\nfrom math import pi, tau as circle")
    fresh.run("import json\ndel json")
    fresh.run("if True:\n    import string")
    assert declarations(fresh)["imports"] == [
        "import os.path",
        "import sys as system",
        "from math import pi",
        "from math import tau as circle",
        "import string",
    ]


def test_imports_of_what_the_profile_has_bound_are_told(python: str) -> None:
    peer = Peer.start(python, preload=("import json as js", "os"))
    peer.run("import json as js\nimport os, sys")
    peer.run("del sys")
    assert declarations(peer)["imports"] == ["import json as js", "import os"]
    peer.close()


def test_definitions_have_their_source(fresh: Peer) -> None:
    fresh.run("import functools\n@functools.cache\ndef f(x):  # it\n    return x\n")
    fresh.run("class K:\n    y = 'é'\n\nasync def g(): pass\ndef gone(): pass\ndef other(): pass")
    fresh.run("del gone\nother = 3")
    assert declarations(fresh)["definitions"] == [
        {"name": "f", "kind": "function",
         "code": "@functools.cache\ndef f(x):  # it\n    return x"},
        {"name": "K", "kind": "class", "code": "class K:\n    y = 'é'"},
        {"name": "g", "kind": "function", "code": "async def g(): pass"},
    ]  # fmt: skip


def test_the_last_definition_of_a_name_counts(fresh: Peer) -> None:
    fresh.run("def f(): return 1")
    fresh.run("def f(): return 2")
    (told,) = declarations(fresh)["definitions"]
    assert told["code"] == "def f(): return 2"


def test_what_could_not_be_saved_is_foreseen(fresh: Peer) -> None:
    fresh.run(
        "import io, queue, socket, threading\n"
        "f = open('/dev/null'); m = io.StringIO('kept'); g = (i for i in ()); s = socket.socket()\n"
        "t = threading.Thread(); q = queue.Queue(); lock = threading.Lock()\n"
        "class Event: pass\n"
        "e = Event(); n = [1]"
    )
    lost = {one["name"]: one for one in declarations(fresh)["lost"]}
    assert set(lost) == {"f", "g", "s", "t", "q", "lock"}
    assert lost["f"]["type"] == "file handle"
    assert lost["f"]["advice"] == "Note: 'f' (file handle) not persisted - reopen file in next cell"
    assert lost["lock"]["type"] == "Lock"


def test_a_type_that_lies_about_itself_does_no_harm(fresh: Peer) -> None:
    fresh.run(
        "class Meta(type):\n"
        "    def __getattribute__(cls, name): raise RuntimeError(name)\n"
        "class Liar(metaclass=Meta): pass\n"
        "liar = Liar.__new__(Liar) if False else object.__new__(Liar)\n"
        "import os"
    )
    told = declarations(fresh)
    assert told["imports"] == ["import os"] and told["lost"] == []
    assert fresh.run("1 + 1").text == "2"


def test_too_many_are_cut_and_said_to_be(fresh: Peer) -> None:
    fresh.run("\n".join(f"def f{i}():\n    return {'x' * 200!r}" for i in range(2000)))
    told = declarations(fresh)
    assert told["more"] is True
    assert 300 < len(told["definitions"]) <= 1000


def test_magics_and_broken_cells_declare_what_they_ran(fresh: Peer) -> None:
    fresh.run("%time x = 1\nimport string")
    fresh.run("import this is no code")
    assert declarations(fresh)["imports"] == ["import string"]
