"""What a session's names are: the manifest of GET …/names, and what each cell changed."""

import pytest

MAKE = {
    "python": "count = 3; text = 'hello'; numbers = [1, 2, 3]\ndef f(): pass",
    "node": "var count = 3; let text = 'hello'; const numbers = [1, 2, 3]; function f() {}",
    "bash": "count=3; text=hello; numbers=(1 2 3); f() { :; }",
}
CHANGE = {
    "python": "count = 4; del text; other = None",
    "node": "count = 4; var other = 0",
    "bash": "count=4; unset text; other=1",
}


@pytest.fixture(params=["python", "node", "bash"])
def runtime(request):
    return request.param


def names(session, **query):
    text = "&".join(f"{k}={v}" for k, v in query.items())
    return session.client.call("GET", f"{session.path}/names?{text}")


@pytest.mark.smoke
def test_a_fresh_session_has_no_names(spawn_runtime, runtime):
    assert names(spawn_runtime(runtime))["total"] == 0


def test_names_have_types_and_sizes(spawn_runtime, runtime):
    session = spawn_runtime(runtime)
    session.exec(MAKE[runtime])
    found = {item["name"]: item for item in names(session)["items"]}
    assert set(found) == {"count", "text", "numbers", "f"}
    assert all(item["type"] for item in found.values())
    assert found["numbers"]["len"] == 3
    assert "3" in found["count"]["text"]


def test_each_answer_tells_what_its_cell_changed(spawn_runtime, runtime):
    session = spawn_runtime(runtime)
    made = session.exec(MAKE[runtime])["names"]
    assert sorted(made["added"]) == ["count", "f", "numbers", "text"]
    changed = session.exec(CHANGE[runtime])["names"]
    assert changed["added"] == ["other"]
    assert "count" in changed["changed"]
    if runtime != "node":
        assert changed["removed"] == ["text"]


def test_the_whole_manifest_comes_with_an_answer_that_asked_for_it(spawn_runtime, runtime):
    result = spawn_runtime(runtime).exec(MAKE[runtime], names=True)
    assert {i["name"] for i in result["names"]["items"]} == {"count", "text", "numbers", "f"}


def test_an_answer_that_wants_no_names_has_none(spawn_runtime, runtime):
    assert "names" not in spawn_runtime(runtime).exec(MAKE[runtime], names=False)


def test_a_manifest_of_many_names_is_bounded(spawn_runtime, runtime):
    session = spawn_runtime(runtime)
    many = {"python": "globals().update({f'n{i}': i for i in range(5000)})",
            "node": "for (let i = 0; i < 5000; i++) globalThis['n' + i] = i",
            "bash": "for ((i = 0; i < 5000; i++)); do declare n$i=$i; done; unset i"}
    session.exec(many[runtime])
    answer = names(session, max=10)
    assert answer["total"] == 5000 and len(answer["items"]) == 10
    assert len(names(session)["items"]) <= 1000


@pytest.mark.smoke
@pytest.mark.one_mode
def test_names_while_a_cell_runs_are_those_of_the_last(spawn_runtime):
    session = spawn_runtime("python")
    first = session.exec("x = 1", names=True)
    session.exec("y = 2\nwhile True: pass", yield_ms=20)
    answer = names(session)
    assert answer["busy"] is True and answer["as_of"] == first.number
    assert [i["name"] for i in answer["items"]] == ["x"]
    session.interrupt()
