"""What callers call sessions, and how they find them: names, labels, lists with filters and pages;
what sessions use; suspending and resuming them, and how long they may live."""

import json
import urllib.parse

import pytest

from harness import host
from harness.client import ApiError, Result, Session
from harness.shell import Shell

MIN = "default_profile: min\n"


def refused(client, method, path, body=None):
    with pytest.raises(ApiError) as error:
        client.call(method, path, body)
    return error.value


def listed(client, **query):
    return client.call("GET", "/v1/sessions?" + urllib.parse.urlencode(query))


def names_of(answer):
    return [session.get("name") for session in answer.sessions]


@pytest.mark.smoke
def test_a_name_stands_wherever_an_id_does(client, spawn):
    session = spawn("min", name="etl.1", labels={"team": "data", "run/id": "7"})
    assert (session.spawned.name, session.spawned.labels) == ("etl.1", {"team": "data",
                                                                      "run/id": "7"})
    by_name = Session(client, Result({"session_id": "etl.1"}))
    assert by_name.value("6 * 7") == "42"
    assert by_name.info().session_id == session.id
    assert by_name.put("a", b"1").status == 201
    assert client.call("POST", f"{by_name.path}/undo", {}).session_id == session.id
    assert client.call("GET", "/v1/notebooks/etl.1").notebook_id == session.id
    joined = spawn("min", join="etl.1")
    assert joined.spawned.joined == session.id
    assert by_name.kill().session_id == session.id
    assert refused(client, "GET", "/v1/sessions/etl.1").status == 404


@pytest.mark.smoke
def test_a_name_is_one_living_sessions_of_its_agent(client, spawn):
    first = spawn("min", name="one")
    taken = refused(client, "POST", "/v1/sessions", {"profile": "min", "name": "one"})
    assert taken.status == 409 and first.id in str(taken.reply.json)
    client.call("PATCH", first.path, {"name": "two"})
    second = spawn("min", name="one")
    assert refused(client, "PATCH", second.path, {"name": "two"}).status == 409
    assert client.call("PATCH", second.path, {"name": "one"}).name == "one"  # its own
    assert "name" not in client.call("PATCH", first.path, {"name": ""})
    assert client.call("PATCH", second.path, {"name": "two"}).name == "two"


@pytest.mark.parametrize("body", [
    {"name": "-x"}, {"name": "a b"}, {"name": "ä"}, {"name": "x" * 65}, {"name": "a/b"},
    {"name": "0b9c8d7e-0000-4000-8000-000000000000"}, {"labels": {"": "x"}},
    {"labels": {"a b": "x"}}, {"labels": {"k": "v" * 257}}, {"labels": {"k": 1}},
    {"labels": {f"k{n}": "v" for n in range(17)}},
])
def test_what_cannot_be_a_name_or_a_label(client, session, body):
    for method, path in (("POST", "/v1/sessions"), ("PATCH", session.path)):
        assert refused(client, method, path, body).status in (400, 413)
    assert "name" not in session.info() and "labels" not in session.info()


def test_labels_change_one_by_one(client, spawn):
    session = spawn("min", labels={"a": "1", "b": "2"})
    assert client.call("PATCH", session.path, {"labels": {"a": "", "c": "3"}}).labels == {
        "b": "2", "c": "3"}
    full = {f"k{n}": "v" for n in range(14)}
    assert len(client.call("PATCH", session.path, {"labels": full}).labels) == 16
    assert refused(client, "PATCH", session.path, {"labels": {"more": "x"}}).status == 400
    assert len(session.info().labels) == 16


def test_branches_have_the_labels_and_no_name(client, spawn):
    session = spawn("min", name="trunk", labels={"a": "1"})
    session.exec("x = 1")
    (branch,) = client.call("POST", "/v1/sessions/trunk/branch", {}).sessions
    assert branch["labels"] == {"a": "1"} and "name" not in branch
    client.call("DELETE", f"/v1/sessions/{branch['session_id']}")


@pytest.mark.smoke
def test_lists_are_filtered_sorted_and_told_in_pages(launch):
    client = launch(config=MIN).client
    made = [client.spawn("min", name=f"s{n}", labels={"even": str(n % 2 == 0), "all": "x"})
            for n in range(5)]
    client.call("POST", "/v1/sessions", {"runtime": "bash", "name": "shell"})
    made[1].exec("x = 1")
    made[4].exec("import os, signal; os.kill(os.getpid(), signal.SIGKILL)")  # comes back
    assert names_of(listed(client))[:2] == ["s4", "s1"]  # last used first
    assert names_of(listed(client, sort="created"))[0] == "shell"
    assert names_of(listed(client, label="even=True", sort="name")) == ["s0", "s2", "s4"]
    assert names_of(listed(client, label="all", name="s[01]", sort="name")) == ["s0", "s1"]
    assert names_of(listed(client, label="nobody")) == []
    assert names_of(listed(client, runtime="bash")) == ["shell"]
    assert listed(client, agent="default").total == 6
    for sort in ("used", "created", "memory", "cpu", "name"):
        told, cursor = [], None
        while cursor != "":
            page = listed(client, sort=sort, limit=2, **({"cursor": cursor} if cursor else {}))
            assert (page.total, page["count"]) == (6, 2)
            told += names_of(page)
            cursor = page.get("next", "")
        if sort not in ("memory", "cpu"):  # which change meanwhile
            assert sorted(told) == ["s0", "s1", "s2", "s3", "s4", "shell"]
    assert refused(client, "GET", "/v1/sessions?cursor=7").status == 400
    assert refused(client, "GET", "/v1/sessions?sort=x").status == 400


def test_those_that_have_ended_come_last(launch):
    client = launch(config=MIN).client
    brief = client.spawn("min", name="brief", max_age_secs=1)
    lasting = client.spawn("min", name="lasting")
    host.eventually(lambda: brief.info().state == "dead")
    assert names_of(listed(client)) == ["lasting", "brief"]
    assert names_of(listed(client, state="living")) == ["lasting"]
    assert names_of(listed(client, state="dead")) == ["brief"]
    assert client.call("GET", "/v1/sessions/brief").session_id == brief.id
    again = client.spawn("min", name="brief")  # the name is free
    assert client.call("GET", "/v1/sessions/brief").session_id == again.id
    assert refused(client, "PATCH", brief.path, {"name": "x"}).status == 410
    lasting.kill()


@pytest.mark.privilege
def test_what_a_session_uses_is_told(session):
    session.exec("x = bytearray(b'x') * (64 << 20)")
    session.exec("for i in range(2_000_000): pass")
    info = session.info()
    assert info.memory_bytes > 64 << 20
    assert info.cpu_ms > 0
    assert info.used_at >= info.spawned_at


@pytest.mark.smoke
def test_a_session_is_suspended_and_resumed_by_its_callers(client, spawn):
    session = spawn("min", name="nap")
    session.exec("x = 41; g = (i for i in ())")
    told = client.call("POST", f"{session.path}/suspend")
    assert (told.state, told.saved_through) == ("suspended", 1)
    assert [lost["name"] for lost in told.lost] == ["g"]
    assert client.call("POST", f"{session.path}/suspend").state == "suspended"
    info = session.info()
    assert info.state == "suspended" and "memory_bytes" not in info
    back = client.call("POST", "/v1/sessions/nap/resume")
    assert (back.state, back.resumed["restored_from"]) == ("idle", "durable")
    assert client.call("POST", f"{session.path}/resume").state == "idle"
    answer = session.exec("x + 1")
    assert answer["value"]["text"] == "42" and "resumed" not in answer


@pytest.mark.parametrize("runtime", ["node", "bash"])
def test_other_languages_too(spawn_runtime, runtime):
    session = spawn_runtime(runtime)
    session.exec("x=41")
    assert session.client.call("POST", f"{session.path}/suspend").state == "suspended"
    assert session.client.call("POST", f"{session.path}/resume").state == "idle"
    code = "console.log(x)" if runtime == "node" else "echo $x"
    assert session.out(code) == "41\n"


def test_what_cannot_be_suspended_says_why(client, spawn):
    busy = spawn("min")
    busy.exec("import time; time.sleep(600)", yield_ms=0)
    assert refused(client, "POST", f"{busy.path}/suspend").status == 409
    busy.interrupt()
    host.eventually(lambda: busy.info().state == "idle")
    assert client.call("POST", f"{busy.path}/suspend").state == "suspended"
    unsaved = spawn("min", durable="off")
    error = refused(client, "POST", f"{unsaved.path}/suspend")
    assert error.status == 409 and "durable" in str(error.reply.json)
    assert unsaved.value("1") == "1"


def test_names_labels_and_leases_outlive_the_daemon(launch):
    data = launch.new_data()
    first = launch(data=data, config=MIN)
    session = first.client.spawn("min", name="kept", labels={"a": "1"}, idle_timeout_secs=900)
    session.exec("x = 1", durable=True)
    used_at = session.info().used_at
    changed = first.client.call("PATCH", "/v1/sessions/kept", {
        "labels": {"b": "2"}, "idle_timeout_secs": 1800, "max_age_secs": 0})
    assert (changed.idle_timeout_secs, changed.max_age_secs) == (1800, 0)
    first.stop()
    second = launch(data=data, config=MIN)
    info = second.client.call("GET", "/v1/sessions/kept")
    assert (info.session_id, info.state, info.labels) == (session.id, "suspended",
                                                          {"a": "1", "b": "2"})
    assert (info.idle_timeout_secs, info.max_age_secs, info.used_at) == (1800, 0, used_at)
    assert refused(second.client, "POST", "/v1/sessions", {"name": "kept"}).status == 409
    assert second.client.call("PATCH", "/v1/sessions/kept", {"name": "other"}).state == "suspended"
    assert Session(second.client, Result({"session_id": "other"})).value("x") == "1"
    second.kill()
    third = launch(data=data, config=MIN)
    assert third.client.call("GET", "/v1/sessions/other").session_id == session.id


def test_a_lease_that_is_extended_holds(launch):
    """The timer is set for the time that holds now, earlier or later than before."""
    client = launch(config=MIN).client
    session = client.spawn("min", max_age_secs=3600)
    client.call("PATCH", session.path, {"max_age_secs": 1})
    host.eventually(lambda: session.info().state == "dead")


@pytest.mark.one_mode
def test_names_on_the_command_line(launch):
    daemon = launch(config=MIN)
    shell = Shell(daemon.binary, daemon.user, daemon.data)
    made = shell("exec", "--new", "--name", "cli", "--label", "team=data", "x = 20", check=0)
    assert "session " in made.stderr
    shell("exec", "--new", "--name", "other", "1", check=0)
    assert shell("exec", "--session", "cli", "x + 1", check=0).stdout == "21\n"
    head, row = shell("ps", "--label", "team=data", check=0).stdout.splitlines()
    assert head.split() == ["SESSION", "NAME", "STATE", "RUNTIME", "PROFILE", "AGENT", "USED",
                            "AGE", "CELLS", "QUEUED", "MEMORY", "CPU", "EXIT", "CWD"]
    (listed,) = json.loads(shell("ps", "--label", "team", "--json", check=0).stdout)["sessions"]
    assert row.split()[:2] == [listed["session_id"][:8], "cli"]
    rows = shell("ps", "--sort", "name", check=0).stdout.splitlines()
    assert [row.split()[1] for row in rows] == ["NAME", "cli", "other"]
    assert "already" in shell("exec", "--new", "--name", "cli", "1").stderr
    assert "cannot be" in shell("exec", "--new", "--name", "-c", "1").stderr
    assert "KEY=VALUE" in shell("exec", "--new", "--label", "team", "1").stderr
    assert shell("kill", "cli", check=0).stdout.startswith(f"killed {listed['session_id']}")
    assert "no session" in shell("exec", "--session", "cli", "1").stderr
