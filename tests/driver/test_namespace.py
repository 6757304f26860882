"""__main__ behaves as in a script; state lasts from cell to cell."""

from __future__ import annotations

from peer import Peer


def test_names_last(shared: Peer) -> None:
    shared.run(
        "import math\nx = [1]\ndef f(): return math.pi + len(x)\ng = (n for n in range(3))\n"
        "next(g)"
    )
    shared.run("x.append(2)")
    assert shared.value("f() > 5") == "True"
    assert shared.value("next(g)") == "1"


def test_nothing_of_the_driver_is_in_the_namespace(fresh: Peer) -> None:
    assert fresh.value("sorted(n for n in globals() if not n.startswith('__'))") == "[]"
    assert fresh.value("__name__") == "'__main__'"
    assert fresh.value("__import__('sys').modules['__main__'].__dict__ is globals()") == "True"
    assert fresh.value("'__file__' in globals()") == "False"
    assert fresh.value("__import__('sys').argv") == "['']"
    assert fresh.run("import frames").error["name"] == "ModuleNotFoundError"
    assert fresh.run("import zygote").error["name"] == "ModuleNotFoundError"
    assert fresh.value("__import__('sys').path[0]") == "''"


def test_classes_can_be_pickled(shared: Peer) -> None:
    shared.run("class Point:\n    def __init__(self, x): self.x = x")
    assert shared.value("import pickle\npickle.loads(pickle.dumps(Point(3))).x") == "3"


def test_dataclasses_and_typing(shared: Peer) -> None:
    shared.run(
        "from dataclasses import dataclass\n@dataclass\nclass D:\n    a: int\n"
        "    b: 'D' = None"
    )
    assert shared.value("D(1)") == "D(a=1, b=None)"
    assert shared.value("import typing\ntyping.get_type_hints(D)['b'] is D") == "True"


def test_sources_of_functions_and_classes(shared: Peer) -> None:
    shared.run("import inspect")
    shared.run("def f():\n    return 1  # one")
    shared.run("class A:\n    '''doc'''\n    n = 1\n    class Inner:\n        m = 2\n")
    shared.run("from dataclasses import dataclass\n@dataclass\nclass Only:\n    field: int\n")
    assert "# one" in shared.value("inspect.getsource(f)")
    assert shared.run("print(inspect.getsource(A))").stdout.startswith("class A:\n    '''doc'''")
    assert "m = 2" in shared.value("inspect.getsource(A.Inner)")
    assert "field: int" in shared.value("inspect.getsource(Only)")
    shared.run("class A:\n    n = 'newer'")
    assert "newer" in shared.value("inspect.getsource(A)")
    assert "class JSONDecoder" in shared.value(
        "import json\ninspect.getsource(json.JSONDecoder)[:30]"
    )
    assert shared.run("inspect.getsource(int)").error["name"] == "TypeError"


def test_sources_are_bounded(fresh: Peer) -> None:
    big = "x = '''" + "y" * 1_000_000 + "'''"
    for _ in range(20):
        fresh.run(big)
    code = (
        "import linecache\n"
        "sum(len(''.join(e[2])) for n, e in linecache.cache.items() if n[:5] == '<cell')"
    )
    assert int(fresh.value(code)) < 18 << 20


def test_future_imports_last(shared: Peer) -> None:
    shared.run("from __future__ import annotations")
    assert shared.value(
        "def f(a: undefined_name): pass\nf.__annotations__"
    ) == "{'a': 'undefined_name'}"


def test_annotations_of_main(shared: Peer) -> None:
    assert shared.run("count: int = 5").status == "ok"


def test_multiprocessing_and_executors(fresh: Peer) -> None:
    code = (
        "import multiprocessing as mp\ndef square(n): return n * n\n"
        "with mp.get_context('fork').Pool(2) as pool:\n"
        "    result = pool.map(square, range(4))\nresult"
    )
    assert fresh.value(code) == "[0, 1, 4, 9]"
    code = (
        "from concurrent.futures import ThreadPoolExecutor\n"
        "with ThreadPoolExecutor() as pool:\n    result = list(pool.map(square, range(4)))\nresult"
    )
    assert fresh.value(code) == "[0, 1, 4, 9]"


class TestAwait:
    def test_top_level_await(self, shared: Peer) -> None:
        assert shared.value("import asyncio\nawait asyncio.sleep(0, 'slept')") == "'slept'"
        assert shared.value("x = await asyncio.sleep(0, 3)\nx + 1") == "4"
        code = (
            "async def agen():\n    yield 1\n    yield 2\nr = []\nasync for n in agen():\n"
            "    r.append(n)\nr"
        )
        assert shared.value(code) == "[1, 2]"

    def test_tasks_go_on_while_later_cells_await(self, shared: Peer) -> None:
        shared.run(
            "import asyncio\nasync def work():\n    await asyncio.sleep(0.01)\n"
            "    return 'done'"
        )
        assert shared.run("task = asyncio.create_task(work())").status == "ok"
        assert shared.value("task.done()") == "False"
        assert shared.value("await task") == "'done'"

    def test_task_and_await_in_one_cell(self, shared: Peer) -> None:
        code = "import asyncio\nt = asyncio.create_task(asyncio.sleep(0, 5))\nawait t"
        assert shared.value(code) == "5"

    def test_asyncio_run_works_too(self, shared: Peer) -> None:
        assert shared.value("import asyncio\nasyncio.run(asyncio.sleep(0, 'ran'))") == "'ran'"
        code = (
            "async def m():\n    return await asyncio.create_task(asyncio.sleep(0, 1))\n"
            "asyncio.run(m())"
        )
        assert shared.value(code) == "1"
        assert shared.value("await asyncio.sleep(0, 'still')") == "'still'"
        code = "loop = asyncio.new_event_loop()\nloop.run_until_complete(asyncio.sleep(0, 'own'))"
        assert shared.value(code) == "'own'"

    def test_errors_in_awaited_code(self, shared: Peer) -> None:
        shared.run("import asyncio")
        answer = shared.run("async def bad():\n    1/0\nawait bad()")
        assert answer.error["name"] == "ZeroDivisionError" and "await bad()" in answer.traceback
        assert "/drivers/python/" not in answer.traceback and answer.stderr == ""
        assert shared.run("import sys\nawait asyncio.sleep(0)\nsys.exit(0)").status == "ok"

    def test_a_closed_loop_is_replaced(self, shared: Peer) -> None:
        shared.run("import asyncio\nawait asyncio.sleep(0)\nl = asyncio.get_running_loop()")
        shared.run("l.close()")
        assert shared.value("await asyncio.sleep(0, 1)") == "1"
