"""Cells of Python: state, values, errors, exits, await, and the outside of `__main__`."""

import time

import pytest

pytestmark = pytest.mark.semantics


# State lasts.


@pytest.mark.smoke
def test_a_variable_of_one_cell_is_there_in_the_next(session):
    session.exec("x = 41")
    assert session.value("x + 1") == "42"


@pytest.mark.smoke
def test_imports_functions_and_classes_last(session):
    session.exec(
        """
        import math
        def area(r): return math.pi * r * r
        class Point:
            def __init__(self, x): self.x = x
        """
    )
    assert session.value("round(area(1), 2)") == "3.14"
    assert session.value("Point(5).x") == "5"


@pytest.mark.smoke
def test_a_generator_goes_on_where_it_was(session):
    session.exec("g = iter(range(3)); next(g)")
    assert session.value("next(g)") == "1"


@pytest.mark.smoke
def test_an_open_file_stays_open(session):
    session.exec("f = open('/workspace/log', 'w'); f.write('one ')")
    session.exec("f.write('two'); f.close()")
    assert session.out("print(open('/workspace/log').read())") == "one two\n"


def test_what_a_failed_cell_did_before_it_failed_is_kept(session):
    session.fails("a = 1; b = 2; 1 / 0; c = 3")
    assert session.value("a + b") == "3"
    assert session.fails("c").name == "NameError"


def test_a_function_sees_later_changes_of_globals(session):
    session.exec("def f(): return n")
    session.exec("n = 1")
    assert session.value("f()") == "1"
    session.exec("n = 2")
    assert session.value("f()") == "2"


def test_del_and_globals(session):
    session.exec("x = 1; globals()['y'] = 2")
    session.exec("del x")
    assert session.value("y") == "2"
    assert session.fails("x").name == "NameError"


def test_a_fresh_namespace_has_no_driver_in_it(session):
    names = eval(session.value("sorted(n for n in globals() if not n.startswith('__'))"))
    assert set(names) <= {"_", "display"}


def test_future_imports_stay_in_force(session):
    session.exec("from __future__ import annotations")
    session.exec("def f(x: no_such_name): pass")
    assert session.value("f.__annotations__") == "{'x': 'no_such_name'}"


# The last expression's value.


@pytest.mark.parametrize(
    "code, text",
    [
        ("1 + 1", "2"),
        ("'text'", "'text'"),
        ("[1, 2.5, None]", "[1, 2.5, None]"),
        ("x = 5\nx", "5"),
        ("1; 2; 3", "3"),
        ("if True:\n    pass\n7", "7"),
        ("'ünï→😀'", "'ünï→😀'"),
        ("b'\\x00\\xff'", "b'\\x00\\xff'"),
        ("(yes := 4)", "4"),
        ("lambda: 0 or 1", None),
        ("10 ** 50", str(10**50)),
        ("# a comment\n5 # another", "5"),
        ("'''two\nlines'''", "'two\\nlines'"),
        ("True", "True"),
        ("...", "Ellipsis"),
        ("for n in range(2): pass\n'text'", "'text'"),
        ('if True: pass\n"text"', "'text'"),
        ("password = 3\npassword", "3"),
        ("elsewhere = 4\nfor n in (): pass\nelsewhere", "4"),
        ("finally_ = 5\nwith open('/dev/null'): pass\nfinally_", "5"),
        ("if False:\n    1\nelse:\n    2\n3", "3"),
        ("try:\n    1\nexcept OSError:\n    2\n'after'", "'after'"),
        ("(1 +\n2)", "3"),
        ("[\n1\n]", "[1]"),
        ("x = '''\n'''\nlen(x)", "1"),
    ],
)
def test_the_last_expression_is_the_value(session, code, text):
    result = session.exec(code)
    assert result.status == "ok"
    assert result["value"]["type"] == "text"
    assert text is None or result["value"]["text"] == text
    assert (result["stdout"], result["outputs"], result["error"]) == ("", [], None)


@pytest.mark.parametrize(
    "code",
    ["None", "x = 1", "pass", "", "# nothing", "def f(): 1", "import os", "1\nx = 2", "\n\n"],
)
def test_other_cells_have_no_value(session, code):
    result = session.client.call("POST", session.path + "/exec", {"code": code})
    assert (result.status, result["value"]) == ("ok", None)


def test_underscore_is_the_last_value(session):
    session.exec("20 + 1")
    session.exec("nothing = 0")
    assert session.value("_ * 2") == "42"
    session.exec("None")
    assert session.value("_") == "42"


def test_a_trailing_semicolon_hides_the_value(session):
    assert session.exec("1 + 1;")["value"] in (None, {"type": "text", "text": "2"})


def test_a_value_whose_repr_fails_is_shown_with_that_failure(session):
    text = session.value(
        """
        class Bad:
            def __repr__(self): raise RuntimeError('no repr')
        Bad()
        """
    )
    assert "Bad" in text and "RuntimeError: no repr" in text


def test_a_repr_that_exits_does_not_end_the_session(session):
    session.exec("class Bad:\n    def __repr__(self): raise SystemExit(3)\nBad()")
    assert session.value("1") == "1"


def test_a_repr_that_is_no_text_is_shown_with_that_failure(session):
    assert "TypeError" in session.value("class B:\n    def __repr__(self): return 5\nB()")


def test_a_huge_integer_is_an_error_or_a_value_but_never_the_end(session):
    result = session.exec("10 ** 100_000")
    assert result.status in ("ok", "error")
    assert session.value("1") == "1"


def test_a_huge_value_is_cut_to_the_budget(session):
    result = session.exec("'x' * 10_000_000", budget=1000)
    assert result.status == "ok"
    assert len(result["value"]["text"]) <= 2000
    assert result.truncated is True


# Errors.


def test_an_exception_has_name_message_and_traceback(session):
    error = session.fails("1 / 0")
    assert (error.name, error.message) == ("ZeroDivisionError", "division by zero")
    assert error.traceback.startswith("Traceback (most recent call last):\n")
    assert "1 / 0" in error.traceback and "division by zero" not in error.traceback


def test_a_failed_cell_is_not_an_http_error(client, session):
    reply = client.request("POST", session.path + "/exec", {"code": "1/0"})
    assert reply.status == 200
    assert reply.json["status"] == "error"
    assert not {"value", "exit_code"} & set(reply.json)


def test_a_traceback_shows_the_users_lines_with_source_and_nothing_of_the_driver(session):
    error = session.fails(
        """
        def outer():
            return inner()
        def inner():
            raise ValueError('deep')
        outer()
        """
    )
    text = error.traceback
    for line in ("outer()", "return inner()", "raise ValueError('deep')"):
        assert line in text
    assert text.count("File ") == 3
    assert "/cella" not in text and "zygote" not in text and "driver" not in text


def test_a_traceback_through_an_earlier_cell_shows_that_cells_source(session):
    session.exec("def earlier():\n    return {}['missing']")
    text = session.fails("# one\n# two\nearlier()").traceback
    assert "return {}['missing']" in text
    assert "earlier()" in text
    assert "line 3" in text and "line 2" in text


def test_a_traceback_through_a_library_names_the_library_and_shows_the_users_line(session):
    text = session.fails("import json\njson.loads('{')").traceback
    assert "json.decoder" in text
    assert "json.loads('{')" in text


def test_chained_exceptions_are_shown(session):
    text = session.fails(
        """
        try:
            {}['key']
        except KeyError as error:
            raise RuntimeError('second') from error
        """
    ).traceback
    assert "KeyError: 'key'" in text
    assert "direct cause" in text
    assert "raise RuntimeError('second')" in text and "RuntimeError: second" not in text


def test_an_exception_without_a_message(session):
    error = session.fails("raise ValueError")
    assert (error.name, error.message) == ("ValueError", "")


def test_an_exception_whose_str_fails(session):
    error = session.fails(
        """
        class Odd(Exception):
            def __str__(self): raise TypeError('no text')
        raise Odd()
        """
    )
    assert error.name == "Odd"
    assert session.value("1") == "1"


def test_a_base_exception_of_the_users_own(session):
    assert session.fails("class Stop(BaseException): pass\nraise Stop('now')").name == "Stop"
    assert session.value("1") == "1"


def test_exception_groups_and_notes(session):
    if session.value("import sys; sys.version_info >= (3, 11)") != "True":
        pytest.skip("this Python has no exception groups")
    text = session.fails("raise ExceptionGroup('many', [ValueError('a'), KeyError('b')])").traceback
    assert "ValueError: a" in text and "KeyError: 'b'" in text
    text = session.fails("e = ValueError('x'); e.add_note('look here'); raise e").traceback
    assert "look here" in text


def test_a_syntax_error_has_line_and_column(session):
    error = session.fails("x = 1\ny = = 2")
    assert error.name == "SyntaxError"
    assert (error.line, error.column) == (2, 5)
    assert "y = = 2" in error.traceback
    assert "^" in error.traceback
    assert "/cella" not in error.traceback


@pytest.mark.parametrize(
    "code, name",
    [
        ("if True:\nx = 1", "IndentationError"),
        ("  x = 1\n y = 2", "IndentationError"),
        ("if 1:\n\tx = 1\n        y = 2", "TabError"),
        ("print 'x'", "SyntaxError"),
        ("'unterminated", "SyntaxError"),
        ("(", "SyntaxError"),
        ("return 5", "SyntaxError"),
        ("break", "SyntaxError"),
        ("f(a=1, 2)", "SyntaxError"),
        ("x = 08", "SyntaxError"),
    ],
)
def test_code_that_does_not_compile_runs_nothing(session, code, name):
    error = session.fails("print('ran')\n" + code)
    assert error.name == name
    assert error.line >= 2
    assert session.info().output_len == 0


def test_code_that_is_nested_too_deep_for_the_compiler(session):
    result = session.exec("(" * 5000 + ")" * 5000)
    assert result.status == "error"
    assert session.value("1") == "1"


def test_deep_recursion_is_a_recursion_error(session):
    error = session.fails("def f(): return f()\nf()")
    assert error.name == "RecursionError"
    assert len(error.traceback) < 20_000
    assert session.value("1") == "1"


@pytest.mark.slow
def test_recursion_without_a_limit_costs_the_session_at_most(spawn, witness):
    session = spawn("min", limits={"memory_mb": 64})
    result = session.exec(
        """
        import sys
        sys.setrecursionlimit(10**9)
        def f(): return f()
        f()
        """,
        timeout_ms=20_000,
    )
    assert result.status in ("died", "error", "timeout")


def test_warnings_go_to_stderr_with_the_users_line(session):
    result = session.exec("import warnings\nwarnings.warn('careful')")
    assert "careful" in result["stderr"]
    assert "/cella" not in result["stderr"]


# Exits.


@pytest.mark.parametrize(
    "code",
    ["import sys; sys.exit()", "import sys; sys.exit(0)", "exit()", "quit()", "raise SystemExit"],
)
def test_sys_exit_ends_the_cell_not_the_session(session, code):
    session.exec("kept = 1")
    result = session.exec(f"before = 2\n{code}\nafter = 3")
    assert result.status == "ok"
    assert result["error"] is None
    assert result["exit_code"] == 0
    assert session.value("kept + before") == "3"
    assert session.fails("after").name == "NameError"


def test_sys_exit_with_a_status_is_told(session):
    result = session.exec("import sys; sys.exit(3)")
    assert result.status == "error"
    assert result["error"]["name"] == "SystemExit"
    assert "3" in result["error"]["message"]
    assert result["exit_code"] == 3
    assert session.info().state == "idle"


def test_sys_exit_with_a_message_is_told(session):
    result = session.exec("import sys; sys.exit('gave up')")
    assert result.status == "error"
    assert "gave up" in result["error"]["message"] + result["stderr"]


# await


def test_top_level_await(session):
    session.exec("import asyncio\nasync def f(): await asyncio.sleep(0); return 7")
    assert session.value("await f()") == "7"
    assert session.out("x = await f()\nprint(x)") == "7\n"


def test_top_level_async_with_and_for(session):
    assert session.out(
        """
        import asyncio
        async def numbers():
            for n in range(3):
                yield n
        async for n in numbers():
            print(n)
        async with asyncio.Lock():
            print('locked')
        """
    ) == "0\n1\n2\nlocked\n"


def test_asyncio_run_works_too(session):
    assert session.value("import asyncio\nasync def f(): return 1\nasyncio.run(f())") == "1"


def test_a_task_of_one_cell_is_awaited_in_another(session):
    session.exec(
        """
        import asyncio
        async def work():
            await asyncio.sleep(0.01)
            return 'done'
        async def start(): return asyncio.create_task(work())
        task = await start()
        """
    )
    assert session.value("await task") == "'done'"


def test_an_error_in_an_awaited_function_has_a_clean_traceback(session):
    text = session.fails("async def f():\n    raise ValueError('a')\nawait f()").traceback
    assert "raise ValueError('a')" in text
    assert "/cella" not in text and "asyncio/" not in text


# __main__ behaves as in a script.


def test_the_name_of_the_module_is_main(session):
    assert session.value("__name__") == "'__main__'"
    assert session.value("import sys; sys.modules['__main__'].__dict__ is globals()") == "True"
    session.exec("class C: pass")
    assert session.value("C.__module__") == "'__main__'"
    assert session.value("import __main__; __main__.C is C") == "True"


def test_the_main_guard_runs(session):
    assert session.out("if __name__ == '__main__':\n    print('main')") == "main\n"


def test_classes_can_be_pickled(session):
    session.exec("class P:\n    def __init__(self, x): self.x = x")
    assert session.value("import pickle; pickle.loads(pickle.dumps(P(3))).x") == "3"


def test_dataclasses_enums_and_named_tuples(session):
    assert session.value(
        """
        import dataclasses, enum, typing, pickle
        @dataclasses.dataclass
        class D:
            x: int
            y: 'list[int]' = dataclasses.field(default_factory=list)
        class Color(enum.Enum):
            RED = 1
        class N(typing.NamedTuple):
            a: int
        pickle.loads(pickle.dumps((D(1), Color.RED, N(2)))) == (D(1), Color.RED, N(2))
        """
    ) == "True"


def test_inspect_getsource_works_on_cells(session):
    session.exec("def f(x):\n    return x + 1  # plus one")
    session.exec("class K:\n    '''kay'''\n    y = 1")
    out = session.out("import inspect; print(inspect.getsource(f)); print(inspect.getsource(K))")
    assert "return x + 1  # plus one" in out
    assert "class K:" in out and "y = 1" in out


def test_typing_get_type_hints_on_a_cells_class(session):
    assert session.value(
        "import typing\nclass A:\n    x: 'A'\ntyping.get_type_hints(A)['x'] is A"
    ) == "True"


def test_doctest_finds_the_cells_examples(session):
    session.exec("def two():\n    '''\n    >>> two()\n    2\n    '''\n    return 2")
    assert session.value("import doctest; doctest.testmod().attempted") == "1"


def test_argv_and_path_are_those_of_a_script(session):
    assert eval(session.value("import sys; sys.argv")) in ([""], ["-"], ["-c"])
    assert "/cella" not in session.value("sys.path")
    assert session.value("'__file__' in globals()") == "False"


def test_a_module_in_the_workspace_can_be_imported(session):
    session.exec("open('/workspace/mine.py', 'w').write('answer = 42')")
    assert session.value("import mine; mine.answer") == "42"


def test_the_working_directory_and_home_are_the_workspace(session):
    assert session.value("import os; os.getcwd(), os.path.expanduser('~')") == (
        "('/workspace', '/workspace')"
    )


# Random numbers differ between sessions, which are forks of one process.


@pytest.mark.parametrize(
    "expression",
    [
        "__import__('random').random()",
        "__import__('random').Random().random()",
        "__import__('uuid').uuid4()",
        "__import__('uuid').uuid1()",
        "__import__('secrets').token_hex()",
        "__import__('os').urandom(8)",
        "__import__('tempfile').mktemp()",
        "__import__('ssl').RAND_bytes(8)",
    ],
)
@pytest.mark.sampled(4)
def test_random_numbers_differ_between_sessions(spawn, expression):
    values = [spawn().value(f"str({expression})") for _ in range(4)]
    assert len(set(values)) == 4, values


@pytest.mark.parametrize(
    "expression",
    [
        "np.random.random()",
        "np.random.default_rng().random()",
        "np.random.RandomState().rand()",
        "random.random()",
        "stats.norm.rvs()",
        "pd.Series(range(10**6)).sample(1).index[0]",
    ],
)
@pytest.mark.sampled(4)
def test_random_numbers_of_the_data_profile_differ_between_sessions(spawn, expression):
    values = [spawn("data").value(f"str({expression})") for _ in range(4)]
    assert len(set(values)) >= 3, values


def test_a_seed_the_user_set_gives_the_same_numbers(spawn):
    code = "import random; random.seed(1); random.random()"
    assert spawn().value(code) == spawn().value(code)


def test_the_duration_is_measured(session):
    began = time.monotonic()
    result = session.exec("import time; time.sleep(0.05)")
    assert 50 <= result.duration_ms <= (time.monotonic() - began) * 1000
