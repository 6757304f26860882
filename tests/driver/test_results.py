"""Values and sources of earlier cells: `_`, `__`, `_3`, `Out`, `In`, `_i`. What they keep alive."""

from __future__ import annotations

import pytest
from peer import Peer


def test_the_last_three_values(fresh: Peer) -> None:
    for code in ("1", "'two'", "x = 0", "[3]"):
        fresh.run(code)
    assert fresh.value("_, __, ___") == "([3], 'two', 1)"


def test_a_value_that_is_not_shown_is_none_of_them(fresh: Peer) -> None:
    fresh.run("1")
    fresh.run("2;")
    assert fresh.value("_") == "1"


def test_values_by_the_numbers_of_their_cells(fresh: Peer) -> None:
    first = fresh.run("'a' * 3").id
    fresh.run("None")
    third = fresh.run("7").id
    assert fresh.value(f"_{third} + 1, _{first}, Out[{third}]") == "(8, 'aaa', 7)"
    assert fresh.value(f"list(Out)[:2] == [{first}, {third}], _oh is Out") == "(True, True)"
    assert fresh.run("_99").error["name"] == "NameError"
    error = fresh.run("Out[99]").error
    assert error["name"] == "KeyError" and "give it a name in its cell" in error["message"]


def test_values_of_functions_that_are_called_later(fresh: Peer) -> None:
    first = fresh.run("5").id
    fresh.run(f"def f():\n    return _{first}")
    fresh.run("6")
    assert fresh.value("f()") == "5"


def test_sources_by_the_numbers_of_their_cells(fresh: Peer) -> None:
    first = fresh.run("x = 1\n").id
    assert fresh.value(f"In[{first}] == _i{first} == _i, _i, _ih is In") == "(True, 'x = 1', True)"
    fresh.run("y = 2")
    assert fresh.value("_ii[:3], _i") == "('In[', 'y = 2')"
    assert fresh.value("In[-1], len(In)") == f"('In[-1], len(In)', {first + 5})"
    assert fresh.value("_iii") == "'y = 2'"
    assert fresh.value("type(In[:]), In == list(In)") == "(list, True)"


def test_names_of_the_users_own_are_theirs(fresh: Peer) -> None:
    fresh.run("_, In, Out = 'mine', 'too', 'and this'")
    fresh.run("5")
    assert fresh.value("_, In, Out") == "('mine', 'too', 'and this')"
    fresh.run("del _, In, Out")
    assert fresh.value("_[0], len(Out) > 0, In[1][:4]") == "('mine', True, '_, I')"


def test_they_are_no_names_of_the_session(fresh: Peer) -> None:
    fresh.run("5")
    fresh.run("_ + _1")
    assert fresh.value("[n for n in globals() if n[:1] in '_IO' and n[:2] != '__']") == "[]"
    assert fresh.run("%who").stdout == "Interactive namespace is empty.\n"


def test_a_copy_of_them_is_a_plain_one(fresh: Peer) -> None:
    fresh.run("5")
    fresh.run("import copy, pickle")
    assert fresh.value("pickle.loads(pickle.dumps(Out)), type(copy.copy(In))") == "({1: 5}, list)"


WATCH = """
class Watched:
    gone = 0
    def __del__(self): Watched.gone += 1
"""


def test_what_cannot_be_weighed_is_kept_as_one_of_three(fresh: Peer) -> None:
    fresh.run(WATCH)
    number = fresh.run("Watched()").id
    assert fresh.run(f"_{number}").error["name"] == "NameError"
    fresh.run("1")
    assert fresh.value("__.__class__.__name__, Watched.gone") == "('Watched', 0)"
    fresh.run("2")
    fresh.run("3")
    assert fresh.value("Watched.gone") == "1"


@pytest.mark.parametrize(
    "code", ["'x' * (5 << 20)", "[[0]] * 3000", "{0: [], 1: Watched()}", "[Watched()]"]
)
def test_what_is_large_is_not_in_out(fresh: Peer, code: str) -> None:
    fresh.run(WATCH)
    number = fresh.run(code).id
    assert fresh.value(f"{number} in Out, {number + 1} in Out") == "(False, False)"
    assert fresh.value(f"{number + 1} in Out") == "True"


@pytest.mark.parametrize(
    ("code", "is_kept"),
    [
        ("list(range(10_000))", True), ("list(range(10_001))", False),
        ("dict.fromkeys(range(400), [1.5])", True), ("dict.fromkeys(range(4000), [1.5])", False),
    ],
)  # fmt: skip
def test_only_so_many_items_are_looked_at(fresh: Peer, code: str, is_kept: bool) -> None:
    number = fresh.run(code).id
    assert fresh.value(f"{number} in Out") == str(is_kept)


def test_a_list_of_more_than_64_mib_goes_when_the_next_one_comes(fresh: Peer) -> None:
    fresh.run("[None] * (9 << 20)")
    assert fresh.value("len(_) >> 20") == "9"
    fresh.run("1")
    assert fresh.run("___").error["name"] == "NameError"


def test_a_value_of_more_than_64_mib_goes_when_the_next_one_comes(fresh: Peer) -> None:
    assert fresh.run("b'x' * (65 << 20);\n'y' * (65 << 20)").status == "ok"
    assert fresh.value("len(_) >> 20") == "65"
    assert fresh.value("_") == "65"
    assert fresh.run("___").error["name"] == "NameError"


def test_out_is_bounded(fresh: Peer) -> None:
    first = fresh.run("'a' * (3 << 20)").id
    for _ in range(10):
        fresh.run("'b' * (3 << 20)")
    assert fresh.value(f"{first} in Out, len(Out)") == "(False, 10)"
    assert fresh.run(f"_{first}").error["name"] == "NameError"


def test_reset_forgets_them(fresh: Peer) -> None:
    fresh.run("5")
    fresh.run("_1")
    fresh.run("%reset -f")
    assert fresh.value("len(Out)") == "0"
    assert fresh.run("_1").error["name"] == "NameError"


def test_where_the_session_was(fresh: Peer) -> None:
    start = fresh.run("import os; os.getcwd()").text
    fresh.run("%cd -q /tmp")
    assert fresh.value("_dh") == f"[{start}, '/tmp']"


def test_arrays_weigh_what_they_keep_alive(fresh: Peer) -> None:
    if fresh.run("import numpy as np").status != "ok":
        pytest.skip("no numpy")
    small = fresh.run("np.arange(3)").id
    part = fresh.run("np.zeros(1 << 20)[:3]").id
    assert fresh.value(f"{small} in Out, {part} in Out") == "(True, False)"


def test_tables_weigh_what_they_keep_alive(fresh: Peer) -> None:
    if fresh.run("import pandas as pd, numpy as np").status != "ok":
        pytest.skip("no pandas")
    small = fresh.run("pd.DataFrame({'a': [1, 2], 'b': ['x', 'y']})").id
    column = fresh.run("_['b']").id
    part = fresh.run("pd.DataFrame(np.zeros((1 << 20, 2))).head()").id
    assert fresh.value(f"{small} in Out, {column} in Out, {part} in Out") == "(True, True, False)"
    assert fresh.value("__.shape") == "(5, 2)"


def test_names_that_only_end_like_a_reference_bind_nothing(fresh: Peer) -> None:
    fresh.run("1")
    fresh.run("value_1 = a_i1 = __1 = 2")
    bound = "import builtins; [n for n in ('1', 'i1') if '_' + n in vars(builtins)]"
    assert fresh.value(bound) == "[]"
